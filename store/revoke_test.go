package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// A worker that dies leaves more than one page; what others hold, and what it
// holds on another chain by another Run, stays.
func TestWhatAWorkerHoldsIsGivenBack(t *testing.T) {
	b := newBank(t, func(p *withdrawal.Policy) { p.Chain.Nonces = false })
	elsewhere := named("another chain")
	b.wallet(t, named("a wallet of another chain"), elsewhere)
	for range 250 {
		b.pending(t)
	}
	ctx := context.Background()
	mine, others := turn(t, b.Payments(chain, "w"), 240), turn(t, b.Payments(chain, "other"), 10)
	if len(mine) != 240 || len(others) != 10 {
		t.Fatalf("%d and %d", len(mine), len(others))
	}
	holding := func(holder string) int {
		page, err := b.List(ctx, store.ListWithdrawals{Filter: withdrawal.Filter{Holder: holder}, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return len(page)
	}
	run := func(source store.WithdrawalSource) { // one that is stopped at once
		stopped, cancel := context.WithCancel(ctx)
		cancel()
		err := worker.Run(stopped, source, func(context.Context, withdrawal.Withdrawal) store.HeldWithdrawal { return store.HeldWithdrawal{} }, worker.Options[withdrawal.Withdrawal, store.HeldWithdrawal]{})
		if err != nil {
			t.Fatal(err)
		}
	}
	run(b.Payments(elsewhere, "w"))
	if n := holding("w"); n != 240 {
		t.Fatalf("a Run on another chain left %d", n)
	}
	n, err := b.Revoke(ctx, withdrawal.By{Actor: "other", Role: withdrawal.WithdrawalWorker}, statemachine.Revocation{Holder: "w"})
	if n != 0 || !errors.Is(err, statemachine.ErrForbidden) {
		t.Fatalf("by another worker: %d, %v", n, err)
	}
	if n, err := b.Revoke(ctx, as(withdrawal.Operator), statemachine.Revocation{Holder: "other", Reason: "gone"}); n != 10 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	b.open(t, b.store, b.Policy()) // the process died, and another one begins
	run(b.Payments(chain, "w"))
	if holding("w") != 0 || holding("other") != 0 {
		t.Fatalf("%d and %d are held", holding("w"), holding("other"))
	}
	_, err = b.DoHeld(ctx, result(mine[0].Work, mine[0].Work.GivenBack(withdrawal.By{Actor: "w", Role: withdrawal.WithdrawalWorker})))
	refused(t, err, statemachine.ErrConflict)
}

// Sources of one process under one name, such as those of batches beside Payments: the
// first one that ends takes nothing from the others, whose attempts it would consume,
// and the last one gives back what the name holds.
func TestSourcesOfOneNameEndTogether(t *testing.T) {
	ctx := context.Background()
	revoke := func(t *testing.T, source any) {
		if err := source.(worker.Revoking).Revoke(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, batchFirst := range []bool{false, true} {
		b := newBank(t, func(p *withdrawal.Policy) { p.Chain.Nonces = false })
		request := b.pending(t).Request.ID
		build, alone, elsewhere := b.batches.Payments(chain, "w", 8), b.Payments(chain, "w"), b.Payments(named("another chain"), "w")
		turn(t, elsewhere, 1)
		held := func() bool {
			w, err := b.Get(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			return w.Job.Lease.Holder == "w"
		}
		var first, last any = alone, build
		if batchFirst {
			first, last = build, alone
			turn(t, alone, 1)
			if items, _, err := build.Turn(ctx, nil, 1); err != nil || len(items) > 0 {
				t.Fatal(len(items), err)
			}
		} else {
			claimBatch(t, build)
			turn(t, alone, 1)
		}
		revoke(t, first)
		if !held() {
			t.Errorf("batches end first %v: the other one has lost its lease", batchFirst)
		}
		revoke(t, first) // as of a Run that did nothing
		if !held() {
			t.Errorf("batches end first %v: the other one has lost its lease to one that did nothing", batchFirst)
		}
		revoke(t, last) // that of another chain goes on
		if held() {
			t.Errorf("batches end first %v: nobody works under the name, and it holds a lease", batchFirst)
		}
	}
}

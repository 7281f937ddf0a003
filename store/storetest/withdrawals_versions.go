package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

func (w *withdrawals) activeJob(t *testing.T) {
	old := w.pending(t, evm, start)
	// As if the rule of package withdrawal were forgotten.
	forged := old
	forged.Request.Status, forged.Job = withdrawal.RequestApproved, withdrawal.Job{}
	second := w.enqueued(start, withdrawal.Normal)
	second.Wallets = []withdrawal.HotWallet{old.Wallet}
	for _, state := range []withdrawal.Event{nil, withdrawal.Claimed{By: workerAt(start)}} {
		if state != nil {
			w.do(t, old.Request.ID, state)
		}
		taken(t, w.save(w.change(t, forged, second)), withdrawal.ErrActiveJob, old.Job.ID)
	}
	a := w.do(t, old.Request.ID, withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Permanent, Error: "bad address"},
		withdrawal.Requeued{By: by(withdrawal.Operator, start), Job: old.Job.ID, Reason: "corrected"}, second)
	if a.Job.ID != second.Job || a.Job.Status != withdrawal.JobPending {
		t.Fatalf("a failed job is not active, and the latest is %+v", a.Job)
	}
	same(t, "the latest job", w.get(t, old.Request.ID).Job, a.Job)
	noError(t, w.service.Verify(ctx, old.Job.ID), "the trail of the first job")
}

func (w *withdrawals) slots(t *testing.T) {
	chain := w.payingChain(t)
	first, second := w.pending(t, chain, start), w.pending(t, chain, start)
	w.do(t, first.Request.ID, withdrawal.Claimed{By: workerAt(start)})
	claim := w.change(t, second, withdrawal.Claimed{By: workerAt(start)})
	taken(t, w.save(claim), withdrawal.ErrSlotTaken, first.Job.ID)
	w.do(t, first.Request.ID, withdrawal.Snoozed{By: workerAt(start), Fence: 1, For: time.Hour})
	noError(t, w.save(claim), "the slot is free again")
	free := []withdrawal.Withdrawal{w.processing(t, utxos, start), w.processing(t, utxos, start)}
	if free[0].Job.Slot.Valid || free[0].Job.Wallet != free[1].Job.Wallet {
		t.Fatal("a chain without nonces has no slots")
	}
}

func (w *withdrawals) duplicateTxs(t *testing.T) {
	a := w.processing(t, utxos, start)
	c := w.change(t, a, prepared(&a, start))
	noError(t, w.save(c))
	// As if a job had forgotten what it has on file.
	for _, forge := range []func(*withdrawal.Tx){func(tx *withdrawal.Tx) { tx.Hash = "another" }, func(tx *withdrawal.Tx) { tx.Seq = 2 }} {
		again := w.change(t, c.New, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: c.New.Job.TxHash})
		again.Txs = []withdrawal.Tx{c.Txs[0]}
		forge(&again.Txs[0])
		refusedWith(t, w.save(again), statemachine.ErrConflict, "a transaction that is on file")
	}
	same(t, "transactions on file", w.get(t, a.Request.ID).Txs, c.Txs)
}

// incidents: each one of a change is stored, once.
func (w *withdrawals) incidents(t *testing.T) {
	a := w.confirming(t, evm, start)
	a = w.do(t, a.Request.ID, receipt(&a, start, 3))
	evidence := receipt(&a, start.Add(time.Hour), 5)
	evidence.Reverted = true
	c := w.change(t, a, evidence)
	want := append(c.Incidents, c.Incidents[0])
	want[1].BlockHash = "b11"
	c.Incidents = want
	noError(t, w.save(c))
	for range 2 {
		w.do(t, a.Request.ID, evidence)
	}
	same(t, "after incidents", w.get(t, a.Request.ID).Job, a.Job)
	for _, limit := range []int{1, 10} {
		same(t, "incidents", everyPage(t, limit, w.service.Incidents), want)
	}
}

// everyPage reads a numbered list to its end.
func everyPage[V any](t testing.TB, limit int, read func(context.Context, int64, int) ([]V, int64, error)) (all []V) {
	t.Helper()
	for cursor := int64(0); ; {
		page, next, err := read(ctx, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > limit || len(page) == 0 && next != cursor {
			t.Fatalf("a page of %d, of %d at most, moves the cursor from %d to %d", len(page), limit, cursor, next)
		}
		if len(page) == 0 {
			return all
		}
		all, cursor = append(all, page...), next
	}
}

func (w *withdrawals) concurrentWindows(t *testing.T) {
	live(w.Store)
	requests := make([]uuid.UUID, concurrentAttempts)
	for i := range requests {
		requests[i] = w.id()
	}
	var approved atomic.Int32
	for i, err := range atOnce(len(requests), func(i int) error {
		ev := submission(requests[i], evm, time.Time{})
		ev.Asset, ev.Amount = limitedAsset, "100"
		a, err := w.service.Submit(ctx, ev)
		if err == nil && a.Request.Status == withdrawal.RequestApproved {
			approved.Add(1)
		}
		return err
	}) {
		if err != nil {
			t.Fatalf("submission %d: %v", i, err)
		}
	}
	if approved.Load() != 2 {
		t.Fatalf("%d of 100 each were approved automatically, the window holds 250", approved.Load())
	}
}

func (w *withdrawals) reservations(t *testing.T) {
	ids := make([]uuid.UUID, 16)
	for i := range ids {
		ids[i] = w.approved(t, utxos, start).Request.ID
	}
	noError(t, errors.Join(atOnce(len(ids), func(i int) error {
		_, err := w.service.Do(ctx, ids[i], w.enqueued(start.Add(time.Duration(i)*time.Minute), withdrawal.Normal))
		return err
	})...))
	wallet := w.get(t, ids[0]).Wallet
	if wallet.BalanceReserved != "24000000000000000000" || !wallet.LastUsedAt.Equal(start.Add(15*time.Minute)) {
		t.Fatalf("16 jobs of 1.5 reserve %s, last used %v", wallet.BalanceReserved, wallet.LastUsedAt)
	}
	at := start.Add(time.Hour)
	noError(t, errors.Join(atOnce(len(ids), func(i int) error {
		_, err := w.service.Do(ctx, ids[i], withdrawal.Claimed{By: workerAt(at)},
			withdrawal.AttemptFailed{By: workerAt(at), Fence: 1, Failure: withdrawal.Permanent, Error: "no"})
		return err
	})...))
	if wallet = w.get(t, ids[0]).Wallet; wallet.BalanceReserved != "0" {
		t.Fatalf("after the end of all jobs %s is reserved", wallet.BalanceReserved)
	}
}

package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// batchLists: each filter lists what its function says of the stored batches.
func (w *withdrawals) batchLists(t *testing.T) {
	all := w.owed(t, start)
	op := operatorAt(start)
	claimed := withdrawal.BatchClaimed{By: workerAt(all[0].Batch.Lease.Until)}
	claimed.Actor = "worker-2"
	for i, ev := range []withdrawal.BatchEvent{claimed, withdrawal.BatchSent{By: workerAt(start), Fence: 1, Hash: all[1].Batch.TxHash, Done: true}, minedBatch(&all[2], start, all[2].Batch.TxHash, 0)} {
		w.batch(t, all[i].Batch.ID, ev)
	}
	w.do(t, all[1].Members[0].Request.ID, withdrawal.Held{By: op, Reason: "look"})
	w.batch(t, all[3].Batch.ID, withdrawal.BatchCannotTell{By: by(withdrawal.ConfirmationWorker, start), Other: "x"})
	for i := range all {
		all[i] = must(w.service.GetBatch(ctx, all[i].Batch.ID))(t)
	}
	moved := moments(all, 10, func(b *withdrawal.Payout) []time.Time {
		return []time.Time{start, b.Batch.Lease.Until, b.Batch.NextCheckAt}
	})
	slices.SortFunc(all, func(a, b withdrawal.Payout) int { return withdrawal.CompareListedBatches(&a.Batch, &b.Batch) })
	for _, kind := range append([]withdrawal.ListKind{0}, withdrawal.ListKind(0).Values()...) {
		listed := 0
		for _, now := range moved {
			for _, f := range []withdrawal.Filter{{}, {Chain: all[0].Batch.Chain}, {Wallet: all[3].Batch.Wallet}, {Holder: worker1}, {Holder: "worker-2", Chain: all[0].Batch.Chain}, {User: aUser}} {
				f.Kind = kind
				listed += w.listedBatches(t, all, f, now)
			}
		}
		if listed == 0 {
			t.Errorf("nothing is ever listed by kind %v: the rule is not tested", kind)
		}
	}
	for name, q := range map[string]store.ListBatches{"no limit": {}, "a limit too high": {Limit: store.MaxPage + 1},
		"no such kind": {Limit: 1, Filter: withdrawal.Filter{Kind: 99}}, "a NUL": {Limit: 1, Filter: withdrawal.Filter{Holder: "a\x00"}}} {
		if _, err := w.service.ListBatches(ctx, q); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (w *withdrawals) listedBatches(t testing.TB, stored []withdrawal.Payout, f withdrawal.Filter, now time.Time) int {
	t.Helper()
	want := slices.DeleteFunc(slices.Clone(stored), func(b withdrawal.Payout) bool { return !f.HasBatch(&b, now) })
	for _, backwards := range []bool{false, true} {
		if backwards {
			slices.Reverse(want)
		}
		inPages(t, fmt.Sprintf("batches of %+v at %v, backwards %v", f, now.Sub(start), backwards), want, func(after *withdrawal.Payout, _ int) ([]withdrawal.Payout, error) {
			q := store.ListBatches{Filter: f, Now: now, Backwards: backwards, Limit: 2}
			if after != nil {
				q.After = &after.Batch
			}
			return w.service.ListBatches(ctx, q)
		})
	}
	return len(want)
}

func (w *withdrawals) batchesByHash(t *testing.T) {
	e := batchOf(w.id(), start, w.behind(t, 2)...)
	e.Hash = "0xAbCd" + strings.ReplaceAll(e.Batch.String(), "-", "")
	b := w.batch(t, e.Batch, e)
	nobody := replacedBatch(&b, start, "", 0)
	nobody.Pays, nobody.Hash = nil, "Cancel"+e.Hash
	if b = w.batch(t, e.Batch, nobody); len(b.Txs) != 2 {
		t.Fatalf("its versions are %+v", b.Txs)
	}
	for hash, found := range map[string]bool{e.Hash: true, strings.ToLower(e.Hash[2:]): true, strings.ToUpper(e.Hash): statemachine.SameHash(strings.ToUpper(e.Hash), e.Hash),
		nobody.Hash: true, strings.ToLower(nobody.Hash): false, "nobody's": false} {
		var want []uuid.UUID
		if found {
			want = []uuid.UUID{e.Batch}
		}
		if got, err := w.service.BatchesByHash(ctx, hash); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is of %v, %v", hash, got, err)
		}
	}
}

func (w *withdrawals) batchJournal(t *testing.T) {
	live(w.Store)
	e := batchOf(w.id(), start, w.behind(t, 2)...)
	b := w.batch(t, e.Batch, e)
	ev := minedBatch(&b, start, "another", 0)
	var err error
	for _, role := range []withdrawal.Role{withdrawal.ConfirmationWorker, withdrawal.Operator} { // who is no operator is not kept
		ev.By, ev.Reason = by(role, start), "seen"
		if _, err = w.service.Batch(ctx, e.Batch, ev); !errors.Is(err, statemachine.ErrInvalid) {
			t.Fatal(err)
		}
	}
	page, _, failed := w.service.Refusals(ctx, 0, 10)
	if failed != nil || len(page) != 1 || page[0].At.IsZero() {
		t.Fatalf("the journal: %+v, %v", page, failed)
	}
	page[0].At = time.Time{}
	same(t, "the journal", page[0], withdrawal.Refused{Request: e.Batch, Event: "BatchMined", Actor: "olga", Role: withdrawal.Operator, Error: err.Error()})
	if now, err := w.service.GetBatch(ctx, e.Batch); err != nil || now.Batch.Version != b.Batch.Version {
		t.Errorf("it is at version %d, %v", now.Batch.Version, err)
	}
}

func (w *withdrawals) batchNonceAgain(t *testing.T) {
	e := batchOf(w.id(), start, w.behind(t, 2)...)
	b := w.batch(t, e.Batch, e)
	b = w.batch(t, e.Batch, replacedBatch(&b, start, "v2", 0))
	b = w.batch(t, e.Batch, minedBatch(&b, start, b.Batch.TxHash, 0))
	due := b.Members[1].Job.ScheduledAt
	again := w.do(t, b.Members[1].Request.ID, withdrawal.Claimed{By: workerAt(due)})
	p := prepared(&again, due)
	p.Nonce, p.ChainNonce, p.HasChainNonce = e.Nonce, e.Nonce, true
	taken(t, errOf(w.service.Do(ctx, again.Request.ID, p)), withdrawal.ErrNonceTaken, b.Batch.Owner)
}

// batchBesideMembers: a batch whose event is refused keeps none from being given
// back that came in the same result.
func (w *withdrawals) batchBesideMembers(t *testing.T) {
	live(w.Store)
	chain := w.payingChain(t)
	for range 3 {
		w.pending(t, chain, time.Time{})
	}
	source := w.service.BatchPayments(chain, "builder", 10)
	items, _, err := source.Turn(ctx, nil, 1)
	if err != nil || len(items) != 1 || len(items[0].Work.Members) != 3 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	m := items[0].Work.Members
	e := batchOf(w.id(), time.Time{}, m[:2]...)
	e.Actor = "builder"
	b := w.batch(t, e.Batch, e)
	late := withdrawal.BatchSent{By: e.By, Fence: b.Batch.Lease.Fence + 1, Hash: e.Hash, Done: true}
	busy := withdrawal.Snoozed{By: e.By, Fence: m[2].Job.Lease.Fence, For: time.Minute, Reason: "busy"}
	_, _, err = source.Turn(ctx, []store.BatchResult{{Batch: e.Batch, Events: []withdrawal.BatchEvent{late},
		Members: []store.HeldWithdrawal{{Withdrawal: m[2], Events: []withdrawal.Event{busy}}}}}, 0)
	if !errors.Is(err, statemachine.ErrFenced) {
		t.Errorf("the refusal is not told: %v", err)
	}
	if now := w.get(t, m[2].Request.ID); now.Job.Status != withdrawal.JobPending {
		t.Errorf("the member is %v", now.Job.Status)
	}
}

// batchGivenBack: of three members one has moved on; the others are given back, by
// Release, by a panic, and by a worker that ends. What is sent is given back too.
func (w *withdrawals) batchGivenBack(t *testing.T) {
	live(w.Store)
	for _, give := range []func(store.BatchSource, store.BatchWork) store.BatchResult{
		store.BatchSource.Release,
		func(s store.BatchSource, b store.BatchWork) store.BatchResult { return s.Panicked(b, "oops") },
	} {
		chain := w.payingChain(t)
		for range 3 {
			w.pending(t, chain, time.Time{})
		}
		source := w.service.BatchPayments(chain, "builder", 10)
		items, _, err := source.Turn(ctx, nil, 1)
		if err != nil || len(items) != 1 {
			t.Fatalf("%d items, %v", len(items), err)
		}
		m := items[0].Work.Members
		w.do(t, m[1].Request.ID, withdrawal.Revoked{By: operatorAt(time.Time{}), Revocation: statemachine.Revocation{Holder: "builder", Reason: "its lease is another's"}})
		if _, _, err := source.Turn(ctx, []store.BatchResult{give(source, items[0].Work)}, 0); !errors.Is(err, statemachine.ErrFenced) {
			t.Errorf("one that is refused: %v", err)
		}
		for i := range m {
			if now := w.get(t, m[i].Request.ID); now.Job.Status != withdrawal.JobPending {
				t.Errorf("member %d is %v", i, now.Job.Status)
			}
		}
	}
	chain := w.payingChain(t)
	w.pending(t, chain, time.Time{})
	source := w.service.BatchPayments(chain, "builder", 10)
	items, _, err := source.Turn(ctx, nil, 1)
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	e := batchOf(w.id(), time.Time{}, items[0].Work.Members...)
	e.Actor = "builder"
	w.batch(t, e.Batch, e)
	other := w.service.BatchPayments(chain, "other", 10)
	if again, _, err := other.Turn(ctx, nil, 2); err != nil || len(again) > 0 {
		t.Fatalf("another sends what its maker has: %d items, %v", len(again), err)
	}
	if err := source.(worker.Revoking).Revoke(ctx); err != nil { // it begins anew
		t.Fatal(err)
	}
	items, _, err = other.Turn(ctx, nil, 2)
	if err != nil || len(items) != 1 || items[0].Work.Payout.Batch.ID != e.Batch {
		t.Fatalf("%d items after it was given back, %v", len(items), err)
	}
	if again, _, err := source.Turn(ctx, nil, 2); err != nil || len(again) > 0 {
		t.Fatalf("two workers send one batch: %d items, %v", len(again), err)
	}
	if err := other.Renew(ctx, items); err != nil {
		t.Errorf("who has it: %v", err)
	}
	if _, _, err := other.Turn(ctx, []store.BatchResult{other.Release(items[0].Work)}, 0); err != nil {
		t.Error(err)
	}
	var lost *worker.LostError
	if err := other.Renew(ctx, items); !errors.As(err, &lost) {
		t.Errorf("given back: %v", err)
	}
	if b, err := w.service.GetBatch(ctx, e.Batch); err != nil || b.Batch.Lease.Holder != "" || b.Batch.Rebroadcast {
		t.Errorf("given back, it is leased to %q, to be sent again %v, %v", b.Batch.Lease.Holder, b.Batch.Rebroadcast, err)
	}
}

package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// reads counts the aggregates that are read.
type reads struct {
	store.Store[store.Unit]
	n int
}

func (r *reads) Update(ctx context.Context, fn func(store.Unit) error) error {
	return r.Store.Update(ctx, func(tx store.Unit) error { return fn(countedUnit{tx, r}) })
}

type countedUnit struct {
	store.Unit
	in *reads
}

func (u countedUnit) Withdrawals() store.WithdrawalRecords {
	return countedRecords{u.Unit.Withdrawals(), u.in}
}

type countedRecords struct {
	store.WithdrawalRecords
	in *reads
}

func (c countedRecords) Get(ids ...uuid.UUID) ([]withdrawal.Withdrawal, error) {
	c.in.n += len(ids)
	return c.WithdrawalRecords.Get(ids...)
}

func TestWhatWasHandedOutIsNotReadAgain(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	b.pending(t)
	counted := &reads{Store: b.store}
	b.open(t, counted, b.Policy())
	items, _, err := b.Payments(chain, "w").Turn(ctx, nil, 1)
	if err != nil || len(items) != 1 {
		t.Fatalf("claimed %d, %v", len(items), err)
	}
	counted.n = 0
	p := prepared(&items[0].Work)
	held, err := b.DoHeld(ctx, result(items[0].Work, p))
	if err != nil || counted.n != 0 {
		t.Fatalf("an item of a turn was read %d times, %v", counted.n, err)
	}
	if held, err = b.DoHeld(ctx, result(held[0], withdrawal.Broadcast{By: p.By, Fence: p.Fence, Hash: p.Hash})); err != nil || counted.n != 0 {
		t.Fatalf("what Held returned was read %d times, %v", counted.n, err)
	}
	held[0].Job.ErrorMessage = "changed"
	if held, err = b.DoHeld(ctx, result(held[0])); err != nil || counted.n != 1 || held[0].Job.ErrorMessage != "" {
		t.Fatalf("what was changed was read %d times, %v: %q", counted.n, err, held[0].Job.ErrorMessage)
	}
}

// A copy from a transaction that was taken back has a version that somebody else
// has made meanwhile.
func TestAHeldCopyThatWasNeverCommittedCountsForNothing(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	first := b.do(t, b.pending(t).Request.ID, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)})
	back := errors.New("taken back")
	var lost []withdrawal.Withdrawal
	err := b.store.Update(ctx, func(tx store.Unit) (err error) {
		if lost, err = b.Within(tx).DoHeld(ctx, result(first, prepared(&first))); err == nil {
			err = back
		}
		return err
	})
	if !errors.Is(err, back) {
		t.Fatal(err)
	}
	other := prepared(&first)
	other.Hash = "other"
	b.do(t, first.Request.ID, other)
	_, err = b.DoHeld(ctx, result(lost[0], withdrawal.Broadcast{By: other.By, Fence: other.Fence, Hash: lost[0].Job.TxHash}))
	if w := b.do(t, first.Request.ID); w.Job.TxHash != "other" {
		t.Fatalf("transaction %s is on file, and the job has sent %s, %v", w.Txs[0].Hash, w.Job.TxHash, err)
	}
}

// What moves no version is compared with nothing: the same event again of a copy that
// is stale tells its holder that it may go on, and it would pay once more.
func TestAStaleCopyThatNothingMovesIsAConflict(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	by := as(withdrawal.WithdrawalWorker)
	first := b.do(t, b.pending(t).Request.ID, withdrawal.Claimed{By: by})
	dispatched := withdrawal.Dispatched{By: by, Fence: first.Job.Lease.Fence, Reference: "ref"}
	held, err := b.DoHeld(ctx, result(first, dispatched))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.DoHeld(ctx, result(held[0], dispatched)); err != nil || text(t, again) != text(t, held) {
		t.Fatalf("the same event again gave %v, %v", again, err)
	}
	another, err := store.NewWithdrawals(b.store, b.Policy()) // another process
	if err != nil {
		t.Fatal(err)
	}
	w, err := another.Do(ctx, first.Request.ID, withdrawal.AttemptFailed{By: by, Fence: dispatched.Fence, Failure: withdrawal.Unclear, Error: "?"})
	if err != nil {
		t.Fatal(err)
	}
	notSent := withdrawal.Resolved{By: as(withdrawal.Operator), Job: w.Job.ID, Reason: "the signer has no such reference"}
	notSent.Version = w.Job.Version
	if w, err = another.Do(ctx, first.Request.ID, notSent); err != nil || w.Job.Status != withdrawal.JobPending {
		t.Fatalf("the job is %v, %v", w.Job.Status, err)
	}
	b.now = b.now.Add(time.Minute) // due again, and the first lease would not be over
	if w, err = another.Do(ctx, first.Request.ID, withdrawal.Claimed{By: by, Fence: w.Job.Lease.Fence + 1}); err != nil {
		t.Fatal(err)
	}
	_, err = b.DoHeld(ctx, result(held[0], dispatched))
	if !errors.Is(err, statemachine.ErrConflict) && !errors.Is(err, statemachine.ErrFenced) {
		t.Fatalf("the copy of before gave %v", err)
	}
}

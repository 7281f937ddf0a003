package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
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
	held, err := b.Held(ctx, result(items[0].Work, prepared(&items[0].Work)))
	if err != nil || counted.n != 0 {
		t.Fatalf("an item of a turn was read %d times, %v", counted.n, err)
	}
	if held, err = b.Held(ctx, result(held[0])); err != nil || counted.n != 0 {
		t.Fatalf("what Held returned was read %d times, %v", counted.n, err)
	}
	held[0].Job.ErrorMessage = "changed"
	if held, err = b.Held(ctx, result(held[0])); err != nil || counted.n != 1 || held[0].Job.ErrorMessage != "" {
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
		if lost, err = b.Within(tx).Held(ctx, result(first, prepared(&first))); err == nil {
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
	_, err = b.Held(ctx, result(lost[0], withdrawal.Broadcast{By: other.By, Fence: other.Fence, Hash: lost[0].Job.TxHash}))
	if w := b.do(t, first.Request.ID); w.Job.TxHash != "other" {
		t.Fatalf("transaction %s is on file, and the job has sent %s, %v", w.Txs[0].Hash, w.Job.TxHash, err)
	}
}

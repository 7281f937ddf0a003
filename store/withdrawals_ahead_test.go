package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/settlehq/settle/withdrawal"
)

// Everything that the store's clock put off while it was far ahead is taken at once when the clock
// is right again, by the sources and sweeps that take what is due, and behind what is due.
func TestNothingWaitsForAClockThatWasAhead(t *testing.T) {
	ctx, far := context.Background(), 100*24*time.Hour
	payments := func(n int) func(*testing.T, *bank) int {
		return func(t *testing.T, b *bank) int { return len(turn(t, b.Payments(chain, "w"), n)) }
	}
	for name, c := range map[string]struct {
		make func(*testing.T, *bank)
		take func(*testing.T, *bank) int
	}{
		"claim": {func(t *testing.T, b *bank) { b.pending(t) }, payments(1)},
		"snoozed": {func(t *testing.T, b *bank) {
			b.now = b.now.Add(-98 * 24 * time.Hour) // less ahead than the longest snooze
			by := as(withdrawal.WithdrawalWorker)
			b.do(t, b.pending(t).Request.ID, withdrawal.Claimed{By: by}, withdrawal.GivenBack{By: by, Fence: 1, For: time.Hour, Reason: "r"})
		}, payments(1)},
		"stamped": {func(t *testing.T, b *bank) {
			b.now = b.now.Add(-100*24*time.Hour + time.Microsecond)
			b.pending(t)
		}, payments(1)},
		"rescue": {func(t *testing.T, b *bank) {
			b.do(t, b.pending(t).Request.ID, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)})
		}, func(t *testing.T, b *bank) int {
			all, _, err := b.Rescue(ctx, as(withdrawal.System), 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}},
		"look-up": {func(t *testing.T, b *bank) { b.confirming(t) },
			func(t *testing.T, b *bank) int { return len(turn(t, b.Lookups(chain, "c"), 1)) }},
		"sent again": {func(t *testing.T, b *bank) {
			w := b.confirming(t)
			b.do(t, w.Request.ID, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: w.Job.TxHash})
		}, payments(1)},
		"enqueue": {func(t *testing.T, b *bank) {
			b.do(t, b.approved(t).Request.ID, withdrawal.PutOff{By: as(withdrawal.System)})
		}, func(t *testing.T, b *bank) int {
			all, _, err := b.EnqueueDue(ctx, chain, 10, b.order)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}},
		"refund": {func(t *testing.T, b *bank) {
			w := b.do(t, b.pending(t).Request.ID, withdrawal.Cancelled{By: as(withdrawal.Operator), Reason: "r"})
			b.do(t, w.Request.ID, withdrawal.PutOff{By: as(withdrawal.System)})
		}, func(t *testing.T, b *bank) int {
			all, _, err := b.RefundsDue(ctx, 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}},
		"group": {func(t *testing.T, b *bank) { b.pending(t) }, func(t *testing.T, b *bank) int {
			return len(claimBatch(t, b.batches.Payments(chain, "payer", 10)).Work.Members)
		}},
		"batch looked up": {makeBatch(true), func(t *testing.T, b *bank) int {
			items, _, err := b.batches.Lookups(chain, "c").Turn(ctx, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			return len(items)
		}},
		"batch sent again": {makeBatch(false), func(t *testing.T, b *bank) int {
			claimBatch(t, b.batches.Payments(chain, "another", 10))
			return 1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBank(t)
			right := b.now
			b.now = right.Add(far)
			c.make(t, b)
			b.now = right
			if n := c.take(t, b); n != 1 {
				t.Errorf("%d are taken", n)
			}
			if n := c.take; name == "look-up" && n(t, b) != 0 {
				t.Error("it is looked up again at once: its time is not that of the right clock")
			}
		})
	}
}

func makeBatch(sent bool) func(*testing.T, *bank) {
	return func(t *testing.T, b *bank) {
		b.pending(t)
		members := claimBatch(t, b.batches.Payments(chain, "payer", 10)).Work.Members
		signed := signedTogether(members, 0)
		p, err := b.batches.Do(context.Background(), signed.Batch, signed)
		if err != nil {
			t.Fatal(err)
		}
		if sent {
			b.missed(t, p)
			b.now = b.now.Add(-withdrawal.DefaultPolicy().CheckEvery)
		}
	}
}

// What is due is taken first, and one job of a wallet at a time is claimed.
func TestWhatIsDueComesBeforeWhatAClockThatWasAheadHasPutOff(t *testing.T) {
	b := newBank(t)
	right := b.now
	b.now = right.Add(100 * 24 * time.Hour)
	ahead := b.pending(t)
	b.now = right
	due := b.pending(t)
	source := b.Payments(chain, "w")
	for i, want := range []withdrawal.Withdrawal{due, ahead} {
		got := turn(t, source, 10)
		if len(got) != 1 || got[0].Work.Request.ID != want.Request.ID {
			t.Fatalf("turn %d: %d items", i, len(got))
		}
		w := got[0].Work
		b.do(t, w.Request.ID, withdrawal.AttemptFailed{By: withdrawal.By{Actor: "w", Role: withdrawal.WithdrawalWorker}, Fence: w.Job.Lease.Fence,
			Failure: withdrawal.Permanent, Error: "no"})
	}
}

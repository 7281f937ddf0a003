package withdrawal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/withdrawal"
)

var batch1 = id(90)

// claimedMembers are n requests claimed for a batch: the first holds the slot.
// Request i pays 100+i to "0xpayee<i>".
func claimedMembers(t testing.TB, p withdrawal.Policy, n int) (members []withdrawal.Withdrawal) {
	t.Helper()
	for i := range n {
		sub := submitted(t0)
		sub.Request, sub.ToAddress, sub.Amount = id(100+byte(i)), fmt.Sprintf("0xpayee%d", i), fmt.Sprint(100+i)
		enq := enqueued(t0, id(150+byte(i)))
		w := runWith(t, p, withdrawal.Withdrawal{}, sub, withdrawal.Approved{By: by(withdrawal.Approver, t0)}, enq,
			withdrawal.Claimed{By: worker(t0), Behind: i > 0})
		members = append(members, w)
	}
	return members
}

func transferOf(w *withdrawal.Withdrawal, output uint32) withdrawal.Transfer {
	return withdrawal.Transfer{Output: output, Payee: w.Request.ToAddress, AssetOnChain: w.Job.AssetOnChain, AmountRaw: w.Request.AmountRaw}
}

// pays are one output for each of the members, by their index in the batch.
func pays(members []withdrawal.Withdrawal, which ...int) (all []withdrawal.Pay) {
	for _, i := range which {
		w := &members[i]
		all = append(all, withdrawal.Pay{Request: w.Request.ID, Fence: w.Job.Lease.Fence, Transfer: transferOf(w, uint32(i))})
	}
	return all
}

func transfers(members []withdrawal.Withdrawal, which ...int) (all []withdrawal.Transfer) {
	for _, p := range pays(members, which...) {
		all = append(all, p.Transfer)
	}
	return all
}

func batchPrepared(at time.Time, members []withdrawal.Withdrawal) withdrawal.BatchPrepared {
	all := make([]int, len(members))
	for i := range all {
		all[i] = i
	}
	return withdrawal.BatchPrepared{By: worker(at), Batch: batch1, Pays: pays(members, all...), Hash: "v1", Raw: []byte("v1"), Nonce: 7, HasNonce: true,
		ChainNonce: 7, HasChainNonce: true}
}

func batchMined(at time.Time, tx string, shown ...withdrawal.Transfer) withdrawal.BatchMined {
	return withdrawal.BatchMined{By: checker(at), Block: block(3), Tx: tx, GasUsed: "90000", GasPrice: "7", Transfers: shown}
}

func batchReplaced(at time.Time, b withdrawal.Payout, hash string, which ...int) withdrawal.BatchReplaced {
	w := worker(at)
	w.Version = b.Batch.Version
	return withdrawal.BatchReplaced{By: w, Fence: b.Batch.Lease.Fence, Pays: pays(b.Members, which...), Hash: hash, Raw: []byte(hash)}
}

// claimedBatch is b, leased to worker-1 at a time.
func claimedBatch(t testing.TB, b withdrawal.Payout, at time.Time) withdrawal.Payout {
	t.Helper()
	return runBatch(t, b, withdrawal.BatchClaimed{By: worker(at)})
}

func batchSent(at time.Time, b withdrawal.Payout, hash string) withdrawal.BatchSent {
	return withdrawal.BatchSent{By: worker(at), Fence: b.Batch.Lease.Fence, Hash: hash, Done: true}
}

// freeAt is when the next check of a batch is due and nobody has its lease.
func freeAt(b withdrawal.Payout) time.Time {
	if h := &b.Batch; h.Lease.Until.After(h.NextCheckAt) {
		return h.Lease.Until
	}
	return b.Batch.NextCheckAt
}

func outside(ev withdrawal.BatchMined) withdrawal.BatchMined {
	ev.Nonce, ev.HasNonce, ev.Looked = 7, true, true
	return ev
}

// runBatch applies events that must all be accepted and checks each result.
func runBatch(t testing.TB, b withdrawal.Payout, events ...withdrawal.BatchEvent) withdrawal.Payout {
	t.Helper()
	for _, ev := range events {
		c, err := policy.ApplyBatch(b, ev, time.Time{})
		if err != nil {
			t.Fatalf("%T: %v", ev, err)
		}
		if err := c.Complete(); err != nil {
			t.Fatal(err)
		}
		for i := range c.Members {
			sound(t, c.Members[i])
			if err := c.Members[i].Complete(); err != nil {
				t.Fatal(err)
			}
		}
		if err := withdrawal.CheckBatch(c.New); err != nil && !errors.Is(err, withdrawal.ErrPaidTwice) &&
			!errors.Is(err, withdrawal.ErrPaidAndRefunded) {
			t.Fatalf("%T: %v", ev, err)
		}
		b = c.New
	}
	return b
}

// newBatch is a batch of n, on file.
func newBatch(t testing.TB, n int) withdrawal.Payout {
	t.Helper()
	members := claimedMembers(t, policy, n)
	return runBatch(t, withdrawal.Payout{Members: members}, batchPrepared(t0, members))
}

// where says in one word each where the members are: "in" the batch, or the
// state of the job.
func where(b withdrawal.Payout) string {
	var all []string
	for i := range b.Members {
		w := &b.Members[i]
		s := w.Job.Status.String()
		if w.Job.Review {
			s = "review"
		}
		if b.Has(w) {
			s = strings.Replace(s, "confirming", "in", 1)
			if w.Job.Review {
				s += " in"
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

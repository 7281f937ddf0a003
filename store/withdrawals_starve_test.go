package store_test

import (
	"context"
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// A re-broadcast that the node refuses ("nonce too low": it is mined already)
// must not keep the look-up away that would find the receipt.
func TestARefusedRebroadcastDoesNotStarveTheLookup(t *testing.T) {
	b := newBank(t)
	ctx := context.Background()
	w := b.confirming(t)
	b.now = b.now.Add(b.Policy().CheckEvery)
	b.do(t, w.Request.ID, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: w.Job.TxHash, Error: "time-out"})
	pay, look := b.Payments(chain, "payer"), b.Lookups(chain, "checker")
	var done []store.HeldWithdrawal
	resent := 0
	for range 100 { // a look each half of CheckEvery, both workers prompt
		b.now = b.now.Add(b.Policy().CheckEvery / 2)
		items, _, err := pay.Turn(ctx, done, 1)
		if err != nil {
			t.Fatal(err)
		}
		done = nil
		for _, it := range items {
			resent++
			j := it.Work.Job
			done = append(done, store.HeldWithdrawal{Withdrawal: it.Work, Events: []withdrawal.Event{withdrawal.Rebroadcast{
				By: withdrawal.By{Actor: "payer", Role: withdrawal.WithdrawalWorker}, Fence: j.Lease.Fence, Hash: j.TxHash, Done: false}}})
		}
		if _, _, err := pay.Turn(ctx, done, 0); err != nil {
			t.Fatal(err)
		}
		done = nil
		found, _, err := look.Turn(ctx, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return
		}
	}
	t.Fatalf("sent %d times, never looked up", resent)
}

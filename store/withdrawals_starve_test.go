package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
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

// S14: a wallet with many transactions that the node forgets leaves another one
// its turn: each offers its lowest, by the time of the next check.
func TestNoWalletStarvesTheRebroadcastsOfAnother(t *testing.T) {
	ctx, b := context.Background(), newBank(t)
	second := named("second wallet")
	b.wallet(t, second, chain)
	wallet := func(id uuid.UUID) []withdrawal.HotWallet {
		return []withdrawal.HotWallet{{ID: id, Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}}
	}
	for i := range 41 {
		order := b.order(withdrawal.Request{})
		if order.Wallets = wallet(hot); i == 40 {
			order.Wallets = wallet(second)
		}
		w := b.do(t, b.approved(t).Request.ID, order)
		w = b.do(t, w.Request.ID, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)})
		p := prepared(&w)
		b.do(t, w.Request.ID, p, withdrawal.Broadcast{By: p.By, Fence: p.Fence, Hash: p.Hash})
	}
	pay, look := b.Payments(chain, "payer"), b.Lookups(chain, "checker")
	again := map[uuid.UUID]int{}
	for range 20 * 60 { // seconds, with one re-broadcast each
		b.now = b.now.Add(time.Second)
		found, _, err := look.Turn(ctx, nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		var missing []store.HeldWithdrawal
		for _, it := range found {
			missing = append(missing, store.HeldWithdrawal{Withdrawal: it.Work, Events: []withdrawal.Event{
				withdrawal.Missing{By: withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}, Tx: it.Work.Job.TxHash}}})
		}
		if _, _, err := look.Turn(ctx, missing, 0); err != nil {
			t.Fatal(err)
		}
		items, _, err := pay.Turn(ctx, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		var done []store.HeldWithdrawal
		for _, it := range items {
			j := it.Work.Job
			again[j.Wallet]++
			done = append(done, store.HeldWithdrawal{Withdrawal: it.Work, Events: []withdrawal.Event{
				withdrawal.Rebroadcast{By: withdrawal.By{Actor: "payer", Role: withdrawal.WithdrawalWorker}, Fence: j.Lease.Fence, Hash: j.TxHash, Done: true}}})
		}
		if _, _, err := pay.Turn(ctx, done, 0); err != nil {
			t.Fatal(err)
		}
	}
	if again[second] < 10 || again[hot] < 10 {
		t.Errorf("sent again: %d of the wallet with forty, %d of the one with one", again[hot], again[second])
	}
}

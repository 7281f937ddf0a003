package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// transfer is one output of a transaction, as the chain shows it, and the request that
// an operator has found for it in the service's own books.
type transfer struct {
	withdrawal.Transfer
	request withdrawal.Submitted
}

// bringIn tells a store that was restored from a copy of a transaction of the wallet that it
// has forgotten: each request that it pays is looked up and confirmed by it, and none is
// paid again. The chain is paused meanwhile. What bringIn did before it was broken off, it
// may do again.
func bringIn(ctx context.Context, w *store.Withdrawals, hash string, nonce uint64, wallet withdrawal.HotWallet, paid []transfer) error {
	system := withdrawal.By{Actor: "restore", Role: withdrawal.System}
	operator := withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	for i, t := range paid {
		r := t.request
		known, err := w.Get(ctx, r.Request)
		if err != nil && !errors.Is(err, statemachine.ErrNotFound) {
			return err
		}
		first := i == 0
		if !first { // a nonce of a wallet is of one job
			nonce = 0
		}
		var ev withdrawal.Event = withdrawal.PaidBy{By: operator, Tx: hash, Output: t.Output, Payee: t.Payee, AssetOnChain: t.AssetOnChain,
			AmountRaw: t.AmountRaw, Nonce: nonce, HasNonce: first, Reason: "paid before the restore"}
		if known.Job.Status == 0 { // it has had no job
			ev = withdrawal.Imported{By: system, Request: r.Request, User: r.User, Asset: r.Asset, Chain: r.Chain, ToAddress: r.ToAddress, Memo: r.Memo,
				Amount: r.Amount, Decimals: r.Decimals, Job: uuid.New(), AssetOnChain: t.AssetOnChain, Hash: hash, ByOutput: true, Output: t.Output,
				Nonce: nonce, HasNonce: first, Wallets: []withdrawal.HotWallet{wallet}}
		}
		if _, err := w.Do(ctx, r.Request, ev); err != nil {
			return err
		}
	}
	return nil
}

// A batch of four was signed and sent after the copy was made. In the copy one of its
// requests is queued, one is approved, one waits for approval, and one does not exist.
func ExampleWithdrawals_restored() {
	ctx := context.Background()
	chain, asset := uuid.New(), uuid.New()
	db := memory.New(memory.Options{})
	policy := withdrawal.DefaultPolicy()
	before, err := store.NewWithdrawals(db, policy)
	if err != nil {
		log.Fatal(err)
	}
	wallet := withdrawal.HotWallet{ID: uuid.New(), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	if err := before.PutHotWallet(ctx, wallet); err != nil {
		log.Fatal(err)
	}
	system := withdrawal.By{Actor: "intake", Role: withdrawal.System}
	var paid []transfer
	for i := range uint32(4) {
		r := withdrawal.Submitted{By: system, Request: uuid.New(), User: uuid.New(), Asset: asset, Chain: chain, ToAddress: fmt.Sprint("payee-", i), Amount: "5"}
		life := []withdrawal.Event{r, withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
			withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: asset, Priority: withdrawal.Normal}}
		if _, err := before.Do(ctx, r.Request, life[:3-i]...); i < 3 && err != nil {
			log.Fatal(err)
		}
		paid = append(paid, transfer{withdrawal.Transfer{Output: i, Payee: r.ToAddress, AssetOnChain: asset, AmountRaw: "5"}, r})
	}

	policy.Chain.Paused = true // nothing is paid until all is brought in
	w, err := store.NewWithdrawals(db, policy)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := bringIn(ctx, w, "tx-1", 7, wallet, paid); err != nil {
			log.Fatal(err)
		}
	}

	// Look-ups go on, each request by its own receipt.
	for _, t := range paid {
		done, err := w.Do(ctx, t.request.Request, withdrawal.Receipt{By: withdrawal.By{Actor: "checker-1", Role: withdrawal.ConfirmationWorker}, Tx: "tx-1",
			Block: withdrawal.Block{Height: 1, Hash: "block", Canonical: "block", Head: 12}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Payee, done.Request.Status)
	}
	stats, err := w.StatsOf(ctx, chain, time.Hour, map[uuid.UUID]uint64{wallet.ID: 7})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(stats.Gaps), "gaps,", stats.Incidents, "incidents")
	// Output:
	// payee-0 completed
	// payee-1 completed
	// payee-2 completed
	// payee-3 completed
	// 0 gaps, 0 incidents
}

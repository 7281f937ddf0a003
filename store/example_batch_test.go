package store_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// One transaction pays three requests: one worker claims, signs, stores and sends,
// another one tells what the chain shows. The third transfer is not there, and an
// operator gets that request.
func ExampleBatches_Payments() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	chain, asset := uuid.New(), uuid.New()
	policy := withdrawal.DefaultPolicy()
	policy.CheckEvery, policy.Chain.Confirmations = time.Second, 1
	batches, err := store.NewBatches(memory.New(memory.Options{}), policy)
	if err != nil {
		log.Fatal(err)
	}
	w := batches.Withdrawals()
	if err := w.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System},
		withdrawal.HotWallet{ID: uuid.New(), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}); err != nil {
		log.Fatal(err)
	}
	system := withdrawal.By{Actor: "intake", Role: withdrawal.System}
	for i := range 3 {
		id := uuid.New()
		_, err := w.Do(ctx, id, withdrawal.Submitted{By: system, Request: id, User: uuid.New(), Asset: asset, Chain: chain, ToAddress: fmt.Sprint("payee-", i), Amount: "5"},
			withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
			withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: asset, Priority: withdrawal.Normal})
		if err != nil {
			log.Fatal(err)
		}
	}
	payer, checker := worker.NewName("payer"), worker.NewName("checker") // no other process has them
	pay := func(ctx context.Context, work store.BatchWork) (r store.BatchResult) {
		by := withdrawal.By{Actor: payer, Role: withdrawal.WithdrawalWorker}
		if len(work.Payout.Unwanted()) > 0 { // an operator has some: nothing of it is sent, but a version without them
			return r
		}
		if len(work.Members) == 0 { // send the newest version again
			newest := work.Payout.Txs[len(work.Payout.Txs)-1]
			return store.BatchResult{Batch: work.Payout.Batch.ID, Events: []withdrawal.BatchEvent{withdrawal.BatchSent{By: by, Fence: work.Payout.Batch.Lease.Fence, Hash: newest.Hash, Done: true}}}
		}
		e := withdrawal.BatchPrepared{By: by, Batch: uuid.New(), Hash: "tx-1", Raw: []byte("signed"), Nonce: 7, HasNonce: true, ChainNonce: 7, HasChainNonce: true}
		for i, m := range work.Members {
			e.Pays = append(e.Pays, withdrawal.Pay{Request: m.Request.ID, Fence: m.Job.Lease.Fence, Transfer: withdrawal.Transfer{Output: uint32(i),
				Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Request.AmountRaw}})
		}
		b, err := batches.Do(ctx, e.Batch, e)
		if err != nil { // nothing is sent
			return r
		}
		// Here the bytes go to the node.
		return store.BatchResult{Batch: e.Batch, Events: []withdrawal.BatchEvent{withdrawal.BatchSent{By: by, Fence: b.Batch.Lease.Fence, Hash: e.Hash, Done: true}}}
	}
	look := func(_ context.Context, work store.BatchWork) store.BatchResult {
		b := &work.Payout
		e := withdrawal.BatchMined{By: withdrawal.By{Actor: checker, Role: withdrawal.ConfirmationWorker}, Tx: "tx-1",
			Block: withdrawal.Block{Height: 1, Hash: "block", Canonical: "block", Head: 1}} // what the node says
		for i := range b.Members {
			m := &b.Members[i]
			if output, pays := b.Pays(e.Tx, m); pays && output < 2 {
				e.Transfers = append(e.Transfers, withdrawal.Transfer{Output: output, Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Request.AmountRaw})
			}
		}
		defer cancel()
		return store.BatchResult{Batch: b.Batch.ID, Events: []withdrawal.BatchEvent{e}}
	}
	options := worker.Options[store.BatchWork, store.BatchResult]{CallTimeout: 500 * time.Millisecond}
	done := make(chan error)
	payments, lookups := batches.Payments(chain, payer, 100), batches.Lookups(chain, checker)
	go func() { done <- worker.Run(ctx, payments, pay, options) }()
	go func() { done <- worker.Run(ctx, lookups, look, options) }()
	if err := <-done; err != nil {
		log.Fatal(err)
	}
	if err := <-done; err != nil {
		log.Fatal(err)
	}
	stats, err := w.Stats(context.Background(), time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Requests[withdrawal.RequestCompleted], "completed,", stats.InReview, "for an operator")
	// Output: 2 completed, 1 for an operator
}

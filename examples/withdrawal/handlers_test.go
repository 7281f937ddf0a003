package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// byHand starts workers for one payment on a chain that mines when the test
// says so.
func byHand(t *testing.T) (*office, uuid.UUID) {
	t.Helper()
	o := byHandOf(t, good, func(ctx context.Context, o *office) {
		_ = work(ctx, o.batches, o.client, "worker", 0, 0, slog.New(slog.DiscardHandler))
	})
	return o, o.rows[0].Request
}

// byHandOf is the same for other rows and workers.
func byHandOf(t *testing.T, rows string, workers ...func(context.Context, *office)) *office {
	t.Helper()
	o := newOffice(t, inMemory(), filepath.Join(t.TempDir(), "ledger"), header+rows, node.Faults{})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	t.Cleanup(stop)
	for _, w := range workers {
		wg.Go(func() { w(ctx, o) })
	}
	wg.Go(func() { o.clerk(ctx) })
	if err := o.intake(ctx); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *office) misbehave(f node.Faults) {
	o.t.Helper()
	if err := o.client.Misbehave(o.t.Context(), f); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) ticks(n int) {
	o.t.Helper()
	for range n {
		if err := o.chain.Tick(); err != nil {
			o.t.Fatal(err)
		}
	}
}

// eventually returns the withdrawal when it is as it should be.
func (o *office) eventually(request uuid.UUID, what string, is func(withdrawal.Withdrawal) bool) withdrawal.Withdrawal {
	o.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		w, err := o.service.Get(o.t.Context(), request)
		if err == nil && is(w) {
			return w
		}
		time.Sleep(10 * time.Millisecond)
	}
	w, err := o.service.Get(o.t.Context(), request)
	o.t.Fatalf("it never was %s: %+v, %v", what, w, err)
	return w
}

func confirming(w withdrawal.Withdrawal) bool { return w.Job.Status == withdrawal.JobConfirming }
func completed(w withdrawal.Withdrawal) bool {
	return w.Request.Status == withdrawal.RequestCompleted
}

// A transaction that waits since the price of gas rose is replaced, once, by
// one of the same nonce that pays enough.
func TestStuckTransactionIsBumped(t *testing.T) {
	t.Parallel()
	o, request := byHand(t)
	o.eventually(request, "confirming", confirming)
	o.misbehave(node.Faults{Spike: 1000})
	o.ticks(3)
	w := o.eventually(request, "bumped", func(w withdrawal.Withdrawal) bool { return len(w.Txs) == 2 })
	if w.Txs[0].Nonce != w.Txs[1].Nonce {
		t.Errorf("nonces %d and %d", w.Txs[0].Nonce, w.Txs[1].Nonce)
	}
	o.eventually(request, "sent", func(w withdrawal.Withdrawal) bool { return confirming(w) && !w.Job.Rebroadcast })
	o.ticks(node.Finality)
	w = o.eventually(request, "completed", completed)
	if len(w.Txs) != 2 || w.Request.FinalTxHash != w.Txs[1].Hash || w.Job.GasPrice != "100" {
		t.Errorf("final is %s at %s, transactions %d", w.Request.FinalTxHash, w.Job.GasPrice, len(w.Txs))
	}
	o.proven(t.Context())
}

// Another transaction took the nonce: below the depth nothing happens, at depth
// the payment is made with another nonce.
func TestUsurpedNonceIsPaidAgainAtDepth(t *testing.T) {
	t.Parallel()
	o, request := byHand(t)
	o.eventually(request, "confirming", confirming)
	o.misbehave(node.Faults{Usurp: 1000})
	o.ticks(1)
	o.misbehave(node.Faults{})
	o.ticks(node.Finality - 2)
	time.Sleep(300 * time.Millisecond)
	if w := o.eventually(request, "confirming", confirming); len(w.Txs) != 1 {
		t.Fatal("there is another transaction before the first is proven dead")
	}
	o.ticks(1)
	off := o.eventually(request, "switched off", func(w withdrawal.Withdrawal) bool { return w.Wallet.Status == withdrawal.WalletUnknown })
	stats, err := o.service.Stats(t.Context(), time.Hour)
	if err != nil || !slices.Equal(stats.WalletsOff, []uuid.UUID{off.Wallet.ID}) || len(stats.UnknownOutbound) != 1 {
		t.Errorf("%v, off is %v by %v", err, stats.WalletsOff, stats.UnknownOutbound)
	}
	desk, over := operators{service: o.service, node: o.client, keys: demoKeys, idle: time.Millisecond}, make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { desk.explain(ctx); close(over) }()
	defer func() { stop(); <-over }()
	w := o.eventually(request, "signed again", func(w withdrawal.Withdrawal) bool { return len(w.Txs) == 2 && confirming(w) })
	if w.Job.TxsDead != 1 || w.Txs[1].Nonce != w.Txs[0].Nonce+1 {
		t.Errorf("dead %d, nonces %d and %d", w.Job.TxsDead, w.Txs[0].Nonce, w.Txs[1].Nonce)
	}
	o.ticks(node.Finality)
	o.eventually(request, "completed", completed)
	o.proven(t.Context())
	stats, err = o.service.Stats(t.Context(), time.Hour)
	if err != nil || len(stats.WalletsOff)+len(stats.UnknownOutbound) > 0 || desk.explained.Load() != 1 {
		t.Errorf("%v, off is %v by %v, %d were explained", err, stats.WalletsOff, stats.UnknownOutbound, desk.explained.Load())
	}
}

// A transaction that left the mempool is sent again: the same bytes.
func TestDroppedTransactionIsSentAgain(t *testing.T) {
	t.Parallel()
	o, request := byHand(t)
	o.eventually(request, "confirming", confirming)
	o.misbehave(node.Faults{Drop: 1000})
	o.ticks(2)
	o.misbehave(node.Faults{})
	var w withdrawal.Withdrawal
	for range 1000 { // it may be sent between two blocks
		o.ticks(1)
		if w, _ = o.service.Get(t.Context(), request); completed(w) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !completed(w) || len(w.Txs) != 1 {
		t.Errorf("%s with %d transactions", w.Request.Status, len(w.Txs))
	}
	o.proven(t.Context())
}

// A transaction that pays somebody whom an operator has is replaced by one that
// does not, before it is mined, and by one that pays nobody if it pays nobody else.
func TestAStoppedBatchIsReplaced(t *testing.T) {
	t.Parallel()
	queued := make(chan bool)
	run := func(source func(*office) store.BatchSource, handle func(*office, context.Context, store.BatchWork) store.BatchResult) func(context.Context, *office) {
		return func(ctx context.Context, o *office) {
			select {
			case <-queued:
			case <-ctx.Done():
			}
			from := source(o)
			opts := worker.Options[store.BatchWork, store.BatchResult]{Concurrency: 8, Poll: statemachine.Backoff{Base: 20 * time.Millisecond, Cap: 400 * time.Millisecond, JitterPercent: 50},
				CallTimeout: o.service.Policy().CheckEvery / 2, Log: slog.New(slog.DiscardHandler)}
			_ = worker.Run(ctx, from, func(ctx context.Context, w store.BatchWork) store.BatchResult { return handle(o, ctx, w) }, opts)
		}
	}
	o := byHandOf(t, good+good+good,
		run(func(o *office) store.BatchSource { return o.batches.Payments(chainID, "builder", 8) }, func(o *office, ctx context.Context, w store.BatchWork) store.BatchResult {
			return (&builder{&payer{o.service, o.client, demoKeys, "builder", time.Now}, o.batches}).handle(ctx, w)
		}),
		run(func(o *office) store.BatchSource { return o.batches.Lookups(chainID, "watcher") }, func(o *office, ctx context.Context, w store.BatchWork) store.BatchResult {
			return (&watcher{o.client, demoKeys, "watcher", time.Now}).handle(ctx, w)
		}))
	ctx := t.Context()
	for _, r := range o.rows {
		o.eventually(r.Request, "queued", func(w withdrawal.Withdrawal) bool { return w.Job.Status == withdrawal.JobPending })
	}
	close(queued)
	batch := o.eventually(o.rows[0].Request, "in a batch", func(w withdrawal.Withdrawal) bool { return w.Job.Batch != uuid.Nil }).Job.Batch
	b, err := o.batches.Get(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Members {
		m := &b.Members[i]
		if _, err := o.service.Do(ctx, m.Request.ID, withdrawal.PaidBy{By: operator("olga"), Block: withdrawal.Block{Height: 1, Hash: "b", Canonical: "b", Head: 99},
			Tx: fmt.Sprint("of another wallet ", i), Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Request.AmountRaw, Reason: "the explorer shows it"}); err != nil {
			t.Fatal(err)
		}
		last := i == len(b.Members)-1
		o.eventually(m.Request.ID, "dropped", func(w withdrawal.Withdrawal) bool {
			now, err := o.batches.Get(ctx, batch)
			_, pays := now.Pays(now.Batch.TxHash, &w)
			return err == nil && !pays && !now.Batch.Rebroadcast && (last || len(now.Payable()) > 0)
		})
	}
	o.ticks(node.Finality)
	for i := range b.Members {
		w := o.eventually(b.Members[i].Request.ID, "an operator's alone", func(w withdrawal.Withdrawal) bool { return w.Job.Batch == uuid.Nil && w.Job.Review })
		if w.Request.Status != withdrawal.RequestQueued {
			t.Errorf("%v is %v", w.Request.ID, w.Request.Status)
		}
	}
	end, err := o.batches.Get(ctx, batch)
	if err != nil || end.Batch.Status != withdrawal.BatchConfirmed || len(end.Txs) > len(b.Members)+1 {
		t.Errorf("%v: the batch is %v with %d versions", err, end.Batch.Status, len(end.Txs))
	}
}

func TestTooLittleFundsFails(t *testing.T) {
	t.Parallel()
	row := fmt.Sprintf("ann,USDX,demo,%s,%s,normal\n", goodTo, plenty) // in whole units, so 10^6 times too much
	o := newOffice(t, inMemory(), filepath.Join(t.TempDir(), "ledger"), header+row, node.Faults{})
	if r := o.work(1); r.Failures["the hot wallet has too little USDX"] != 1 || r.Transactions != 0 {
		t.Errorf("%+v", r)
	}
}

func TestSigningIsDeterministic(t *testing.T) {
	wallets := hotWallets("g", 2)
	job := withdrawal.Job{Request: statemachine.ID("request", "r"), Wallet: wallets[0], AssetOnChain: assets["USDX"].id("USDX"), ToAddress: goodTo, AmountRaw: "5"}
	a, hashA, errA := demoKeys.sign(&job, 3, 10)
	b, hashB, errB := demoKeys.sign(&job, 3, 10)
	if errA != nil || errB != nil || hashA != hashB || !bytes.Equal(a, b) {
		t.Error("the same payment has other bytes")
	}
	tx, err := node.Parse(a)
	if err != nil || tx.From() != demoKeys.address(wallets[0]) || tx.From() == demoKeys.address(wallets[1]) {
		t.Errorf("%+v, %v", tx, err)
	}
	job.AssetOnChain = uuid.New()
	if _, _, err := demoKeys.sign(&job, 3, 10); err == nil {
		t.Error("an unknown asset is signed for")
	}
}

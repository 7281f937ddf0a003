package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// claimBatch claims what is due, which is one item.
func claimBatch(t *testing.T, source store.BatchSource, done ...store.BatchResult) worker.Item[store.BatchWork] {
	t.Helper()
	items, _, err := source.Turn(context.Background(), done, 1)
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	return items[0]
}

func signedTogether(members []withdrawal.Withdrawal, nonce uint64) withdrawal.BatchPrepared {
	e := withdrawal.BatchPrepared{By: withdrawal.By{Actor: "payer", Role: withdrawal.WithdrawalWorker}, Batch: uuid.New(), Hash: "tx " + uuid.NewString(), Raw: []byte{1},
		Nonce: nonce, HasNonce: true, ChainNonce: nonce, HasChainNonce: true}
	for i, m := range members {
		e.Pays = append(e.Pays, withdrawal.Pay{Request: m.Request.ID, Fence: m.Job.Lease.Fence, Transfer: withdrawal.Transfer{Output: uint32(i),
			Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Request.AmountRaw}})
	}
	return e
}

// missed is a batch that its worker sent, and that a look-up misses since an hour.
func (b *bank) missed(t *testing.T, p withdrawal.Payout) {
	t.Helper()
	_, err := b.batches.Do(context.Background(), p.Batch.ID,
		withdrawal.BatchSent{By: withdrawal.By{Actor: "payer", Role: withdrawal.WithdrawalWorker}, Fence: p.Batch.Lease.Fence, Hash: p.Batch.TxHash, Done: true},
		withdrawal.BatchMissing{By: withdrawal.By{Actor: "c", Role: withdrawal.ConfirmationWorker}})
	if err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(withdrawal.DefaultPolicy().CheckEvery)
}

// An item lives as long as one of its members is leased or signed: a hold of one,
// or the signature, is no reason to stop the handler.
func TestRenewOfABatch(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	for range 3 {
		b.pending(t)
	}
	source := b.batches.Payments(chain, "payer", 10)
	item := claimBatch(t, source)
	if len(item.Work.Members) != 3 {
		t.Fatalf("%d members", len(item.Work.Members))
	}
	op := withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	renew := func() error { return source.Renew(ctx, []worker.Item[store.BatchWork]{item}) }
	b.do(t, item.Work.Members[2].Request.ID, withdrawal.Held{By: op})
	if err := renew(); err != nil {
		t.Errorf("one is held: %v", err)
	}
	e := signedTogether(item.Work.Members[:2], 7)
	p, err := b.batches.Do(ctx, e.Batch, e)
	if err != nil {
		t.Fatal(err)
	}
	if err := renew(); err != nil {
		t.Errorf("signed: %v", err)
	}
	mined := withdrawal.BatchMined{By: withdrawal.By{Actor: "c", Role: withdrawal.ConfirmationWorker}, Tx: p.Batch.TxHash, Block: withdrawal.Block{Height: 1, Hash: "b", Canonical: "b", Head: 99}}
	if _, err := b.batches.Do(ctx, e.Batch, mined); err != nil {
		t.Fatal(err)
	}
	var lost *worker.LostError
	if err := renew(); !errors.As(err, &lost) || lost.Keys[0] != item.Key {
		t.Errorf("over: %v", err)
	}
}

// Claims of one are for what is owed a broadcast and for what is to be paid in
// turn; what an operator has a member of is handed out once after each look-up, to be
// replaced.
func TestClaimsOfOneForBatches(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	source := b.batches.Payments(chain, "payer", 1)
	var batches []uuid.UUID
	for i := range 3 {
		b.pending(t)
		item := claimBatch(t, source)
		if len(item.Work.Members) == 0 {
			item = claimBatch(t, source)
		}
		e := signedTogether(item.Work.Members, uint64(7+i))
		p, err := b.batches.Do(ctx, e.Batch, e)
		if err != nil {
			t.Fatal(err)
		}
		b.missed(t, p)
		batches = append(batches, e.Batch)
	}
	b.pending(t)
	kinds := ""
	for range 3 {
		items, _, err := source.Turn(ctx, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			if len(item.Work.Members) > 0 {
				kinds += "pay "
			} else {
				kinds += "send "
			}
		}
	}
	if kinds != "send pay send " && kinds != "send pay " {
		t.Errorf("claimed %q", kinds)
	}
	// All are put off; one is owed a broadcast again, and an operator has its member.
	w, err := b.batches.Get(ctx, batches[0])
	if err != nil {
		t.Fatal(err)
	}
	m := &w.Members[0]
	b.do(t, m.Request.ID, withdrawal.PaidBy{By: withdrawal.By{Actor: "olga", Role: withdrawal.Operator}, Block: withdrawal.Block{Height: 1, Hash: "b", Canonical: "b", Head: 99}, Tx: "elsewhere",
		Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Request.AmountRaw, Reason: "seen"})
	for range 2 {
		if w, err = b.batches.Get(ctx, batches[0]); err != nil {
			t.Fatal(err)
		}
		b.missed(t, w)
		if p := claimBatch(t, source).Work.Payout; len(p.Unwanted()) != 1 || p.Unwanted()[0] != m.Request.ID {
			t.Errorf("it is to be replaced without %v", p.Unwanted())
		}
		if items, _, err := source.Turn(ctx, nil, 10); err != nil || len(items) > 0 {
			t.Errorf("it is handed out again before the next look-up: %d items, %v", len(items), err)
		}
	}
	if _, err := b.batches.Do(ctx, uuid.New(), withdrawal.BatchMissing{By: withdrawal.By{Actor: "c", Role: withdrawal.ConfirmationWorker}}); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("an unknown batch: %v", err)
	}
}

// owedBatches are n batches of one member that a look-up has missed, on a chain
// without nonces, beside as many pending jobs.
func (b *bank) owedBatches(t *testing.T, source store.BatchSource, n int) {
	t.Helper()
	for i := range n {
		b.pending(t)
		item := claimBatch(t, source)
		e := signedTogether(item.Work.Members, 0)
		e.HasNonce, e.HasChainNonce, e.Input = false, false, fmt.Sprint("coin ", i)
		if _, err := b.batches.Do(context.Background(), e.Batch, e, withdrawal.BatchSent{By: e.By, Fence: 1, Hash: e.Hash, Done: true}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := b.batches.List(context.Background(), store.ListBatches{Limit: 10})
	if err != nil || len(all) != n {
		t.Fatalf("%d batches, %v", len(all), err)
	}
	for i := range all {
		if _, err := b.batches.Do(context.Background(), all[i].Batch.ID, withdrawal.BatchMissing{By: as(withdrawal.ConfirmationWorker)}); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		b.pending(t)
	}
	b.now = b.now.Add(b.Policy().CheckEvery)
}

// kindsOf is what a turn hands out.
func kindsOf(t *testing.T, source store.BatchSource, n int) (kinds string) {
	t.Helper()
	items, _, err := source.Turn(context.Background(), nil, n)
	if err != nil || len(items) > n {
		t.Fatalf("%d items of %d, %v", len(items), n, err)
	}
	for _, item := range items {
		kind := "pay "
		if len(item.Work.Members) == 0 {
			kind = "send "
		}
		kinds += kind
	}
	return kinds
}

// Claims of one are for what is owed a broadcast and for what is to be paid in turn, for
// as long as there is both; half of a larger claim is for what is owed.
func TestClaimsOfOneAreInTurn(t *testing.T) {
	for n, want := range map[int]string{1: "send pay send pay send pay ", 2: "send pay send pay send pay ", 6: "send send send pay pay pay "} {
		b := newBank(t, func(p *withdrawal.Policy) { p.Chain.Nonces = false })
		source := b.batches.Payments(chain, "payer", 1)
		b.owedBatches(t, source, 3)
		if got := kindsOf(t, source, 0); got != "" {
			t.Errorf("claims of none: %q", got)
		}
		got := ""
		for range 6 / n {
			got += kindsOf(t, source, n)
		}
		if got != want {
			t.Errorf("claims of %d: %q, expected %q", n, got, want)
		}
	}
}

// A chain that is paused begins no group, and all that is owed of it is sent.
func TestAPausedChainSendsItsBatches(t *testing.T) {
	b := newBank(t, func(p *withdrawal.Policy) { p.Chain.Nonces = false })
	b.owedBatches(t, b.batches.Payments(chain, "payer", 1), 3)
	p := b.Policy()
	p.Chain.Paused = true
	paused, err := store.NewBatches(b.store, p)
	if err != nil {
		t.Fatal(err)
	}
	source := paused.Payments(chain, "payer", 1)
	if got := kindsOf(t, source, 2) + kindsOf(t, source, 2); got != "send send send " {
		t.Errorf("%q", got)
	}
	if _, _, err := paused.Payments(uuid.Nil, "payer", 1).Turn(context.Background(), nil, 1); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("of no chain: %v", err)
	}
}

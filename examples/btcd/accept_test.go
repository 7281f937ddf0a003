package main

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

// TestTheNodeAcceptsWhatIsBuilt: payments at the lowest rate that nodes relay,
// replacements that pay the least that they may, with what they evict, and
// children are all accepted by a real mempool; one satoshi less is not.
func TestTheNodeAcceptsWhatIsBuilt(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	binary, err := buildNode(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	address, err := regtestAddress("miner")
	if err != nil {
		t.Fatal(err)
	}
	miner, _, err := newNode(binary, dir, "miner", address, "")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { miner.keep(ctx); close(ended) }()
	t.Cleanup(func() { <-ended })
	w := &world{random: rand.New(rand.NewPCG(1, 1)), miner: miner, file: filepath.Join(dir, "none")}
	if err := w.until(ctx, "the node answers", func() bool { _, _, err := miner.tip(ctx); return err == nil }); err != nil {
		t.Fatal(err)
	}
	b := &bench{TB: t, world: w, policy: walletPolicy, Ledger: utxo.NewLedger(walletPolicy)}
	b.do(utxo.WalletOpened{Wallet: walletID, Birth: 1})
	if err := w.mine(ctx, 101); err != nil {
		t.Fatal(err)
	}
	b.connect()
	first, err := miner.hashAt(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	block, err := miner.block(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	amounts := make([]int64, 150)
	for i := range amounts {
		amounts[i] = 600 + w.random.Int64N(60_000)
	}
	funds, err := w.pay(wire.OutPoint{Hash: block.Transactions[0].TxHash()}, 20_000, amounts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := miner.send(ctx, funds); err != nil {
		t.Fatal(err)
	}
	if err := w.mine(ctx, 1); err != nil {
		t.Fatal(err)
	}
	b.connect()
	for round := range 60 {
		b.round(round)
	}
	t.Logf("%d payments, %d replacements, %d of them at the least fee, %d children", b.payments, b.replacements, b.tight, b.children)
	if b.payments < 20 || b.replacements < 20 || b.tight < 5 || b.children < 5 {
		t.Error("too little was tried")
	}
}

type bench struct {
	testing.TB
	*world
	*utxo.Ledger
	policy                                  utxo.Policy
	payments, replacements, tight, children int
}

func (b *bench) do(ev utxo.Event) {
	b.Helper()
	if _, err := b.DoAt(ev, time.Now()); err != nil {
		b.Fatal(err)
	}
}

// connect brings the ledger to the node's tip.
func (b *bench) connect() {
	b.Helper()
	height, _, err := b.miner.tip(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	ours, ok, _ := b.Tip()
	for next := ours.Height + 1; next <= height; next++ {
		if !ok {
			next, ok = 1, true
		}
		hash, err := b.miner.hashAt(b.Context(), next)
		if err != nil {
			b.Fatal(err)
		}
		block, err := b.miner.block(b.Context(), hash)
		if err != nil {
			b.Fatal(err)
		}
		b.do(utxo.Connected{Txs: block.Transactions, Block: utxo.Block{Height: next, Hash: hash, Prev: block.Header.PrevBlock, Time: block.Header.Timestamp}})
	}
}

func (b *bench) candidates() []coinselect.Candidate {
	b.Helper()
	c, err := coinselect.Candidates(b.policy, b.Ledger, coinselect.Query{Wallet: walletID, At: time.Now(), Fees: true})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// send submits, and has the node take it.
func (b *bench) send(what string, tx *wire.MsgTx, replaces ...coinselect.Rewrite) utxo.TxID {
	b.Helper()
	ev := utxo.Submitted{Wallet: walletID, Tx: tx}
	for _, r := range replaces {
		ev.Replaces = r.Replaces
	}
	b.do(ev)
	if err := b.miner.send(b.Context(), tx); err != nil {
		b.Fatalf("%s: %v", what, err)
	}
	id := utxo.TxID{Wallet: walletID, Hash: tx.TxHash()}
	b.do(utxo.Broadcasted{ID: id})
	return id
}

// build signs a transaction of a selection.
func (b *bench) build(s coinselect.Selection, outs ...*wire.TxOut) *wire.MsgTx {
	b.Helper()
	tx := wire.NewMsgTx(2)
	for _, in := range s.Inputs {
		tx.AddTxIn(&wire.TxIn{PreviousOutPoint: in.OutPoint, Sequence: wire.MaxTxInSequenceNum - 2})
	}
	if s.Change > 0 {
		outs = append(outs, wire.NewTxOut(s.Change, script("change")))
	}
	tx.TxOut = outs
	if err := signOwn(tx, s.Inputs); err != nil {
		b.Fatal(err)
	}
	return tx
}

func (b *bench) round(n int) {
	b.Helper()
	if n%8 == 7 {
		if err := b.mine(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
		b.connect()
	}
	rate := coinselect.FeeRate(1000 + b.random.Int64N(2000)*b.random.Int64N(2))
	amount := 400 + b.random.Int64N(40_000)
	payment, err := coinselect.Pay(wire.NewTxOut(amount, payee(n)))
	if err != nil {
		b.Fatal(err)
	}
	sel, err := coinselect.Select(b.candidates(), coinselect.Request{Payment: payment, ChangeScript: script("change"), FeeRate: rate,
		Algorithm: []coinselect.Algorithm{coinselect.Auto, coinselect.LargestFirst, coinselect.OldestFirst}[n%3], MaxInputs: 4})
	if err != nil {
		b.Logf("round %d: %v", n, err)
		return
	}
	id := b.send("payment", b.build(sel, wire.NewTxOut(amount, payee(n))))
	b.payments++
	how := coinselect.Request{FeeRate: rate, ChangeScript: script("change")}
	req := coinselect.ReplaceRequest{Coins: how}
	if sel.Change > 0 {
		req.Change = new(uint32)
		*req.Change = 1
		if n%2 == 0 { // something hangs on it
			how.FeeRate = 2 * rate
			if s, err := coinselect.Bump(b.candidates(), id.Hash, how); err == nil {
				req.Evict = append(req.Evict, b.send("child", b.build(s)).Hash)
				b.children++
			}
		}
	}
	for range 1 + n%3 {
		o, err := coinselect.ReadOriginal(b.Ledger, id)
		if err != nil {
			b.Fatal(err)
		}
		req.Coins.FeeRate = o.FeeRate + 1 + coinselect.FeeRate(b.random.Int64N(400))
		r, err := coinselect.Replace(o, b.candidates(), req)
		if errors.Is(err, coinselect.ErrInsufficientFunds) {
			return
		} else if err != nil {
			b.Fatal(err)
		}
		b.refuses(o, r)
		if err := signOwn(r.Tx, r.Inputs); err != nil {
			b.Fatal(err)
		}
		id = b.send("replacement", r.Tx, r)
		b.replacements++
		if req.Evict = nil; len(r.Tx.TxOut) < 2 {
			req.Change = nil
		} else {
			req.Change = new(uint32)
			*req.Change = 1
		}
	}
}

// refuses has the node refuse the replacement where it pays a satoshi less than
// the least.
func (b *bench) refuses(o coinselect.Original, r coinselect.Rewrite) {
	b.Helper()
	tx := r.Tx.Copy()
	if r.Change == 0 || r.Fee != o.EvictedFee+coinselect.FeeRate(1000).Fee(r.Weight) {
		return
	}
	tx.TxOut[len(tx.TxOut)-1].Value++
	if err := signOwn(tx, r.Inputs); err != nil {
		b.Fatal(err)
	}
	if weight := int64(3*tx.SerializeSizeStripped() + tx.SerializeSize()); (weight+3)/4 != (r.Weight+3)/4 {
		return // a signature is short
	}
	answer := (*rpcError)(nil)
	if err := b.miner.send(b.Context(), tx); !errors.As(err, &answer) {
		b.Errorf("a satoshi less: %v", err)
	}
	b.tight++
}

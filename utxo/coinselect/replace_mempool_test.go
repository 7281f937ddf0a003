package coinselect_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"pgregory.net/rapid"
)

// accept is the policy of a mempool, written a second time: it returns what is wrong with a
// replacement, "" if nothing is.
func (b *till) accept(tx *wire.MsgTx) string {
	var direct, evicted []*wire.MsgTx
	for _, p := range b.pool {
		if shares(p, tx) {
			direct = append(direct, p)
		}
	}
	evicted = slices.Clone(direct)
	for i := 0; i < len(evicted); i++ {
		for _, p := range b.pool {
			for j := range evicted[i].TxOut {
				if op := (wire.OutPoint{Hash: evicted[i].TxHash(), Index: uint32(j)}); spends(p, op) && !slices.Contains(evicted, p) {
					evicted = append(evicted, p)
				}
			}
		}
	}
	fees := int64(0)
	for _, p := range evicted {
		fees += b.fee(p)
	}
	fee, size := b.fee(tx), vsize(tx)
	for _, in := range tx.TxIn {
		op := in.PreviousOutPoint
		if !b.coins[op] && !slices.ContainsFunc(direct, func(p *wire.MsgTx) bool { return spends(p, op) }) {
			return "a new unconfirmed input"
		}
		if slices.ContainsFunc(evicted, func(p *wire.MsgTx) bool { return p.TxHash() == op.Hash }) {
			return "it spends what it evicts"
		}
	}
	for _, p := range direct {
		if fee*1000/size <= b.fee(p)*1000/vsize(p) {
			return "the rate is not above a direct rival's"
		}
	}
	switch {
	case len(direct) == 0:
		return "it replaces nothing"
	case fee < fees:
		return "the fee is below that of what is evicted"
	case fee-fees < size:
		return "it does not pay for its own relay"
	case len(evicted) > 100:
		return "too many are evicted"
	}
	return ""
}

// TestReplacePaysForWhatAStrangerMadeOfIt: a transaction that concerns no wallet spends the
// payee's output, so that the node alone knows its fee.
func TestReplacePaysForWhatAStrangerMadeOfIt(t *testing.T) {
	b := newTill(t)
	original := b.observe(b.tx(b.fund(100_000), pays(9, 50_000), pays(1, 49_000)))
	stranger := b.observe(b.tx([]wire.OutPoint{{Hash: original.TxHash()}}, pays(9, 40_000)))
	paid := b.fee(original) + b.fee(stranger)
	for _, c := range []struct {
		evicted int
		fee     int64
		refused string
		err     error
	}{
		{0, 0, "the fee is below that of what is evicted", nil},
		{2, paid - 1, "it does not pay for its own relay", nil},
		{2, paid, "", nil},
		{coinselect.MaxEvicted, paid, "", nil},
		{coinselect.MaxEvicted + 1, paid, "", coinselect.ErrTooManyEvicted},
		{-1, paid, "", statemachine.ErrInvalid},
		{2, -1, "", statemachine.ErrInvalid},
		{2, utxo.MaxMoney + 1, "", statemachine.ErrInvalid},
		{2, utxo.MaxMoney, "", coinselect.ErrInsufficientFunds},
	} {
		r, err := b.replace(original, coinselect.ReplaceRequest{Change: index(1), Evicted: c.evicted, EvictedFee: c.fee, Coins: atRate(10_000)})
		if !errors.Is(err, c.err) {
			t.Errorf("%d evicted that paid %d: %v, want %v", c.evicted, c.fee, err, c.err)
		} else if err == nil && b.accept(sign(r.Tx)) != c.refused {
			t.Errorf("%d evicted that paid %d: the mempool says %q, want %q", c.evicted, c.fee, b.accept(r.Tx), c.refused)
		}
	}
	// What the ledger knows counts where it is more.
	child := b.observe(b.tx([]wire.OutPoint{{Hash: original.TxHash(), Index: 1}}, pays(1, 20_000)))
	for _, fee := range []int64{0, 1, b.fee(original)} {
		r, err := b.replace(original, coinselect.ReplaceRequest{
			Change: index(1), Evicted: 1, EvictedFee: fee, Evict: []chainhash.Hash{child.TxHash()}, Coins: atRate(10_000),
		})
		if known := b.fee(original) + b.fee(child); err != nil || r.Fee != known+(r.Weight+3)/4 {
			t.Errorf("the node says %d: fee %d, the ledger knows of %d, %v", fee, r.Fee, known, err)
		}
	}
}

// TestReplaceAgainstTheMempool: a replacement that is built keeps inputs and payees, and
// the mempool accepts it. Where Replace refuses for lack of money, no set of confirmed
// coins could pay.
func TestReplaceAgainstTheMempool(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newTill(t)
		amount := rapid.Int64Range(300, 60_000)
		funds := b.fund(rapid.SliceOfN(amount, 1, 5).Draw(rt, "funds")...)
		n := rapid.IntRange(1, min(2, len(funds))).Draw(rt, "inputs")
		in := funds[:n]
		spare := int64(0)
		for _, op := range in {
			spare += b.worth[op]
		}
		spare -= rapid.Int64Range(100, 1500).Draw(rt, "fee")
		if spare < 600 {
			return
		}
		payee := rapid.Int64Range(300, spare).Draw(rt, "payee")
		outs := []*wire.TxOut{pays(rapid.SampledFrom([]byte{1, 2, 9}).Draw(rt, "to"), payee)}
		if spare-payee >= 294 {
			outs = append(outs, pays(1, spare-payee))
		}
		original := b.observe(b.tx(in, outs...))
		req := coinselect.ReplaceRequest{Coins: atRate(coinselect.FeeRate(rapid.Int64Range(900, 30_000).Draw(rt, "rate")))}
		req.Coins.DustLimit = 294
		if len(outs) == 2 {
			req.Change = index(1)
		} else if rapid.Bool().Draw(rt, "shrink") {
			req.Shrink = index(0)
		}
		if out := rapid.IntRange(-1, len(outs)-1).Draw(rt, "child of"); out >= 0 && outs[out].Value > 700 {
			child := b.observe(b.tx([]wire.OutPoint{{Hash: original.TxHash(), Index: uint32(out)}},
				pays(outs[out].PkScript[2], outs[out].Value-rapid.Int64Range(50, 400).Draw(rt, "child's fee"))))
			if outs[out].PkScript[2] == 9 { // a stranger's, of which the node alone knows
				req.Evicted, req.EvictedFee = 2, b.fee(original)+b.fee(child)
			} else {
				req.Evict = append(req.Evict, child.TxHash())
			}
		}
		r, err := b.replace(original, req)
		if err == nil {
			tx := sign(r.Tx)
			if why := b.accept(tx); why != "" {
				rt.Fatalf("%s: %+v", why, r)
			}
			if b.fee(tx) != r.Fee || vsize(tx) != (r.Weight+3)/4 && r.Change > 0 || b.fee(tx)*1000 < int64(req.Coins.FeeRate)*vsize(tx) {
				rt.Fatalf("fee %d of %d virtual bytes, said %d of %d units", b.fee(tx), vsize(tx), r.Fee, r.Weight)
			}
			for i, op := range in {
				if tx.TxIn[i].PreviousOutPoint != op {
					rt.Fatalf("input %v is gone", op)
				}
			}
			if req.Shrink == nil && (tx.TxOut[0].Value != payee || string(tx.TxOut[0].PkScript) != string(outs[0].PkScript)) {
				rt.Fatalf("the payee gets %d of %d", tx.TxOut[0].Value, payee)
			}
			if req.Shrink != nil && len(r.Added) > 0 {
				rt.Fatal("a payee shrinks and inputs are added")
			}
			b.do(utxo.Submitted{Wallet: 1, Tx: tx, Replaces: r.Replaces})
		}
		if errors.Is(err, coinselect.ErrLowFeeRate) {
			if int64(req.Coins.FeeRate) > b.fee(original)*1000/vsize(original) {
				rt.Fatal(err)
			}
			return
		}
		// Every set of the confirmed coins that bring more than their fee.
		rest := funds[n:]
		if req.Shrink != nil {
			rest = nil
		}
		possible, lean := false, len(r.Added) == 0
		for mask := range 1 << len(rest) {
			tx := wire.NewMsgTx(2)
			for i, op := range append(slices.Clone(in), rest...) {
				if i < n || mask>>(i-n)&1 == 1 {
					tx.AddTxIn(wire.NewTxIn(&op, nil, nil))
				}
			}
			tx.AddTxOut(outs[0])
			if req.Shrink != nil {
				tx.TxOut[0] = pays(outs[0].PkScript[2], 294)
			}
			sign(tx)
			if b.accept(tx) == "" && b.fee(tx)*1000 >= int64(req.Coins.FeeRate)*vsize(tx) {
				possible = true
				lean = lean || mask == 0
			}
		}
		if possible != (err == nil) || err == nil && lean != (len(r.Added) == 0) {
			rt.Fatalf("%v, added %v; possible %v, without another input %v", err, r.Added, possible, lean)
		}
	})
}

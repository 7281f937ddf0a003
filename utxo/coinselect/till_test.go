package coinselect_test

import (
	"slices"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

// till is a ledger of wallets 1 and 2 that knows, beside it, what every output is worth.
type till struct {
	testing.TB
	*utxo.Ledger
	policy utxo.Policy
	height int32
	tip    chainhash.Hash
	seq    int64
	salt   uint32
	worth  map[wire.OutPoint]int64
	pool   []*wire.MsgTx // live and unconfirmed
	coins  map[wire.OutPoint]bool
}

func newTill(t testing.TB) *till {
	policy := utxo.Policy{Owner: func(s []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: utxo.WalletID(s[2])}, len(s) == 22 && (s[2] == 1 || s[2] == 2)
	}}
	b := &till{TB: t, Ledger: utxo.NewLedger(policy), policy: policy, worth: map[wire.OutPoint]int64{}, coins: map[wire.OutPoint]bool{}}
	b.do(utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.WalletOpened{Wallet: 2, Birth: 1})
	return b
}

func (b *till) do(events ...utxo.Event) {
	b.Helper()
	for _, ev := range events {
		if _, err := b.DoAt(ev, noon); err != nil {
			b.Fatal(err)
		}
	}
}

func pkh(wallet byte) []byte                     { return append([]byte{0, 20, wallet}, make([]byte, 19)...) }
func pays(wallet byte, amount int64) *wire.TxOut { return wire.NewTxOut(amount, pkh(wallet)) }
func vsize(tx *wire.MsgTx) int64                 { return int64(3*tx.SerializeSizeStripped()+tx.SerializeSize()+3) / 4 }
func shares(a, b *wire.MsgTx) bool {
	return slices.ContainsFunc(a.TxIn, func(in *wire.TxIn) bool { return spends(b, in.PreviousOutPoint) })
}
func spends(tx *wire.MsgTx, op wire.OutPoint) bool {
	return slices.ContainsFunc(tx.TxIn, func(in *wire.TxIn) bool { return in.PreviousOutPoint == op })
}

// sign gives each input a witness of the largest size.
func sign(tx *wire.MsgTx) *wire.MsgTx {
	for _, in := range tx.TxIn {
		in.Witness = wire.TxWitness{make([]byte, 72), make([]byte, 33)}
	}
	return tx
}

// tx spends outpoints, or one that nobody knows.
func (b *till) tx(in []wire.OutPoint, outs ...*wire.TxOut) *wire.MsgTx {
	tx := wire.NewMsgTx(2)
	b.salt++
	tx.LockTime = b.salt
	if in == nil {
		in = []wire.OutPoint{{Hash: chainhash.HashH([]byte("unknown")), Index: b.salt}}
	}
	for _, op := range in {
		tx.AddTxIn(&wire.TxIn{PreviousOutPoint: op, Sequence: wire.MaxTxInSequenceNum - 2})
	}
	for i, o := range outs {
		tx.AddTxOut(o)
		b.worth[wire.OutPoint{Hash: tx.TxHash(), Index: uint32(i)}] = o.Value
	}
	for i, o := range tx.TxOut {
		b.worth[wire.OutPoint{Hash: tx.TxHash(), Index: uint32(i)}] = o.Value
	}
	return sign(tx)
}

func (b *till) fee(tx *wire.MsgTx) (fee int64) {
	for _, in := range tx.TxIn {
		worth, ok := b.worth[in.PreviousOutPoint]
		if !ok {
			b.Fatalf("nobody knows what %v is worth", in.PreviousOutPoint)
		}
		fee += worth
	}
	for _, o := range tx.TxOut {
		fee -= o.Value
	}
	return fee
}

func (b *till) connect(txs ...*wire.MsgTx) {
	b.Helper()
	b.height++
	block := utxo.Block{Height: b.height, Prev: b.tip, Hash: chainhash.Hash{byte(b.height), 9}, Time: noon}
	b.tip = block.Hash
	coinbase := b.tx([]wire.OutPoint{{Index: wire.MaxPrevOutIndex}}, wire.NewTxOut(1, p2tr))
	b.do(utxo.Connected{Block: block, Txs: append([]*wire.MsgTx{coinbase}, txs...)})
	for _, tx := range txs {
		for i, o := range tx.TxOut {
			b.coins[wire.OutPoint{Hash: tx.TxHash(), Index: uint32(i)}] = o.PkScript[2] == 1
		}
		b.pool = slices.DeleteFunc(b.pool, func(p *wire.MsgTx) bool { return p.TxHash() == tx.TxHash() })
	}
}

// fund confirms coins of wallet 1.
func (b *till) fund(amounts ...int64) (ops []wire.OutPoint) {
	b.Helper()
	var outs []*wire.TxOut
	for _, a := range amounts {
		outs = append(outs, pays(1, a))
	}
	tx := b.tx(nil, outs...)
	b.connect(tx)
	for i := range outs {
		ops = append(ops, wire.OutPoint{Hash: tx.TxHash(), Index: uint32(i)})
	}
	return ops
}

func (b *till) observe(tx *wire.MsgTx) *wire.MsgTx {
	b.Helper()
	b.seq++
	b.do(utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: b.seq, Tip: b.tip})
	b.pool = append(b.pool, tx)
	return tx
}

func (b *till) replace(tx *wire.MsgTx, req coinselect.ReplaceRequest) (coinselect.Rewrite, error) {
	o, err := coinselect.ReadOriginal(b.Ledger, utxo.TxID{Wallet: 1, Hash: tx.TxHash()})
	if err != nil {
		return coinselect.Rewrite{}, err
	}
	candidates, err := coinselect.Candidates(b.policy, b.Ledger, coinselect.Query{Wallet: 1, At: noon})
	if err != nil {
		return coinselect.Rewrite{}, err
	}
	return coinselect.Replace(o, candidates, req)
}

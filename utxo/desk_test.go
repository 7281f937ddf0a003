package utxo_test

import (
	"testing"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// desk is a ledger of wallet 1 with a chain.
type desk struct {
	testing.TB
	*utxo.Ledger
	salt  uint32
	worth map[wire.OutPoint]int64 // of the outputs of all that was made
	tip   utxo.Block
}

func newDesk(t testing.TB) *desk {
	b := &desk{TB: t, Ledger: utxo.NewLedger(utxotest.Policy()), worth: map[wire.OutPoint]int64{}}
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 1, Birth: 1})
	return b
}

func mine(tag byte) []byte                       { return utxotest.Script(1, string(tag)) }
func ins(ops ...wire.OutPoint) []wire.OutPoint   { return ops }
func out(tx *wire.MsgTx, i uint32) wire.OutPoint { return utxotest.Out(tx, i) }

// tx spends the outpoints in equal parts to the scripts. Without outpoints it spends one
// that no wallet knows, with 100,000 satoshi to each script.
func (b *desk) tx(in []wire.OutPoint, scripts ...[]byte) *wire.MsgTx {
	b.salt++
	if in == nil {
		in = ins(utxotest.External(b.salt))
	}
	each := int64(0)
	for _, op := range in {
		if worth, known := b.worth[op]; known {
			each += worth / int64(len(scripts))
		} else {
			each += 100_000
		}
	}
	outs := make([]*wire.TxOut, len(scripts))
	for i, s := range scripts {
		outs[i] = utxotest.Pay(each, s)
	}
	tx := utxotest.NewTx(b.salt, in, outs...)
	for i := range outs {
		b.worth[out(tx, uint32(i))] = each
	}
	return tx
}

// next is the block after the tip, which has no coinbase.
func (b *desk) next(txs ...*wire.MsgTx) utxo.Connected {
	ev := utxo.Connected{Block: utxotest.NewBlock(b.tip.Height+1, b.tip.Hash, 0), Txs: txs}
	for i := range txs {
		ev.Positions = append(ev.Positions, int32(i)+1)
	}
	return ev
}

func (b *desk) connect(txs ...*wire.MsgTx) {
	ev := b.next(txs...)
	b.tip = ev.Block
	do(b, b.Ledger, ev)
}

func (b *desk) observe(tx *wire.MsgTx) *wire.MsgTx {
	do(b, b.Ledger, b.seen(1, tx))
	return tx
}

func (b *desk) seen(seq int64, tx *wire.MsgTx) utxo.Observed {
	return utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: seq, Tip: b.tip.Hash}
}

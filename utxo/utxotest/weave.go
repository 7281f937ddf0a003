package utxotest

import (
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// Weave opens wallets 1 to n of a store. It gives each wallet a coin, an observed payment
// to the next wallet, and a submitted one. next makes one block after the other: in every
// block a stranger pays each wallet, and each wallet pays the next one from its own coin,
// so that every wallet knows transactions of two others.
func Weave(do func(utxo.Event) error, n int) (next func() utxo.Connected, err error) {
	say := func(ev utxo.Event) {
		if err == nil {
			err = do(ev)
		}
	}
	salt, tip := uint32(0), utxo.Block{Height: -1}
	own := func(i int) []byte { return Script(utxo.WalletID(i%n+1), "main") }
	const deposit, paid, fee = 100_000_000, 1000, 1
	coins, left, waiting := make([]wire.OutPoint, n), make([]int64, n), make([]*wire.MsgTx, 0, 2*n)
	pay := func(i int) *wire.MsgTx {
		salt++
		left[i] -= paid + fee
		tx := NewTx(salt, []wire.OutPoint{coins[i]}, Pay(paid, own(i+1)), Pay(left[i], own(i)))
		coins[i] = Out(tx, 1)
		return tx
	}
	block := func(txs ...*wire.MsgTx) utxo.Connected {
		salt++
		tip = NewBlock(tip.Height+1, tip.Hash, 0)
		return utxo.Connected{Block: tip, Txs: append([]*wire.MsgTx{NewCoinbase(salt, Pay(1, Foreign))}, txs...), By: utxo.By{At: tip.Time}}
	}
	stranger := func(i int) *wire.MsgTx {
		salt++
		return NewTx(salt, []wire.OutPoint{External(salt)}, Pay(deposit, own(i)))
	}
	say(block())
	var deposits []*wire.MsgTx
	for i := range n {
		say(utxo.WalletOpened{Wallet: utxo.WalletID(i + 1), By: utxo.By{At: Start}})
		deposits = append(deposits, stranger(i))
		coins[i], left[i] = Out(deposits[i], 0), deposit
	}
	say(block(deposits...))
	for i := range n {
		waiting = append(waiting, pay(i))
		say(utxo.Observed{Txs: waiting[len(waiting)-1:], Tip: tip.Hash, By: utxo.By{At: Start}})
		waiting = append(waiting, pay(i))
		say(utxo.Submitted{Wallet: utxo.WalletID(i + 1), Tx: waiting[len(waiting)-1], By: utxo.By{At: Start}})
	}
	return func() utxo.Connected {
		txs := waiting
		waiting = nil
		for i := range n {
			txs = append(txs, stranger(i), pay(i))
		}
		return block(txs...)
	}, err
}

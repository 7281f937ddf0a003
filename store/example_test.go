package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

// A wallet receives a coin, pays with it, and sees the payment confirmed.
func ExampleWallets() {
	ctx := context.Background()
	wallets, err := store.NewWallets(memory.New(memory.Options{}), utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: 1}, bytes.Equal(script, ours)
	}})
	if err != nil {
		log.Fatal(err)
	}
	do := func(events ...utxo.Event) { // each call is one transaction
		if _, err := wallets.Do(ctx, events...); err != nil {
			log.Fatal(err)
		}
	}
	do(utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.Connected{Block: block1, Txs: []*wire.MsgTx{deposit}})

	lock := utxo.LockID(sha256.Sum256([]byte("payment 1"))) // one lock for each payment, the same when it is tried again
	payment, _ := coinselect.Pay(wire.NewTxOut(60_000, theirs))
	coins, err := wallets.SelectAndLease(ctx, store.Spend{
		Wallet: 1, Lock: lock, Duration: time.Minute, // nobody else can choose these coins
		Request: coinselect.Request{Payment: payment, ChangeScript: ours, FeeRate: 2_000},
	})
	if err != nil {
		log.Fatal(err)
	}
	tx := build(coins)                                // and sign it
	do(utxo.Submitted{Wallet: 1, Tx: tx, Lock: lock}) // stored before anybody sees it
	owed, _, _ := wallets.Next(ctx, 1, time.Time{})   // broadcast it; after a crash, Next says it again
	do(utxo.Broadcasted{ID: owed[0].ID})
	do(utxo.Connected{Block: block2, Txs: []*wire.MsgTx{tx}})
	balance, _ := wallets.Balance(ctx, 1, nil, 1)

	fmt.Println(owed[0].Kind, balance.Confirmed)
	// Output: broadcast 39718
}

var (
	ours   = append([]byte{0, 20}, bytes.Repeat([]byte{1}, 20)...) // P2WPKH
	theirs = append([]byte{0, 20}, bytes.Repeat([]byte{2}, 20)...)
	block1 = utxo.Block{Height: 1, Hash: chainhash.HashH([]byte("block 1"))}
	block2 = utxo.Block{Height: 2, Hash: chainhash.HashH([]byte("block 2")), Prev: block1.Hash}

	deposit = &wire.MsgTx{
		TxIn:  []*wire.TxIn{{PreviousOutPoint: wire.OutPoint{Hash: chainhash.HashH([]byte("somebody's coin"))}}},
		TxOut: []*wire.TxOut{{Value: 100_000, PkScript: ours}},
	}
)

// build has in each witness the room of a signature and a key, which a signer fills:
// nothing is broadcast that has no witness.
func build(coins coinselect.Selection) *wire.MsgTx {
	tx := wire.NewMsgTx(2)
	for _, in := range coins.Inputs {
		tx.AddTxIn(wire.NewTxIn(&in.OutPoint, nil, wire.TxWitness{make([]byte, 72), make([]byte, 33)}))
	}
	tx.AddTxOut(wire.NewTxOut(60_000, theirs))
	if coins.Change > 0 {
		tx.AddTxOut(wire.NewTxOut(coins.Change, ours))
	}
	return tx
}

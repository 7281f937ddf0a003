// Quickstart receives a coin, pays with it, and sees the payment confirmed.
// Replace package memory by store/sqlstore and nothing is lost in a crash.
package main

import (
	"bytes"
	"context"
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

var (
	ours   = append([]byte{0, 20}, bytes.Repeat([]byte{1}, 20)...) // a P2WPKH script of this wallet
	theirs = append([]byte{0, 20}, bytes.Repeat([]byte{2}, 20)...) // who is paid
	lock   = utxo.LockID{1}                                        // names the payment
)

func main() {
	if err := payment(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func payment(ctx context.Context) error {
	wallets := store.NewWallets(memory.New(memory.Options{}), utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: 1, Tag: "alice"}, bytes.Equal(script, ours)
	}})

	// A block pays us.
	deposit := wire.NewMsgTx(2)
	deposit.AddTxIn(wire.NewTxIn(&wire.OutPoint{Hash: chainhash.HashH([]byte("somebody's coin"))}, nil, nil))
	deposit.AddTxOut(wire.NewTxOut(100_000, ours))
	first := utxo.Block{Height: 1, Hash: chainhash.HashH([]byte("block 1"))}
	if _, err := wallets.Do(ctx,
		utxo.WalletOpened{Wallet: 1, Birth: 1},
		utxo.Connected{Block: first, Txs: []*wire.MsgTx{deposit}},
	); err != nil {
		return err
	}

	// Choose coins for a payment, and keep others from choosing them.
	output := wire.NewTxOut(60_000, theirs)
	pay, err := coinselect.Pay(output)
	if err != nil {
		return err
	}
	coins, err := wallets.SelectAndLease(ctx, store.Spend{
		Wallet: 1, Lock: lock, Duration: time.Minute,
		Request: coinselect.Request{Payment: pay, ChangeScript: ours, FeeRate: 2_000},
	})
	if err != nil {
		return err
	}
	fmt.Printf("selected %d coin, fee %d, change %d\n", len(coins.Inputs), coins.Fee, coins.Change)

	// Build the transaction; the host's signer signs it here. It is stored
	// before anybody can see it.
	tx := wire.NewMsgTx(2)
	for _, in := range coins.Inputs {
		tx.AddTxIn(wire.NewTxIn(&in.OutPoint, nil, nil))
	}
	tx.AddTxOut(output)
	if coins.Change > 0 {
		tx.AddTxOut(wire.NewTxOut(coins.Change, ours))
	}
	if _, err := wallets.Do(ctx, utxo.Submitted{Wallet: 1, Tx: tx, Lock: lock}); err != nil {
		return err
	}

	// Send what is owed to the network. After a crash, Next says it again.
	actions, _, err := wallets.Next(ctx, 1, time.Time{})
	if err != nil {
		return err
	}
	for _, a := range actions {
		fmt.Println(a.Kind, a.ID.Hash == tx.TxHash())
		if _, err := wallets.Do(ctx, utxo.Broadcasted{ID: a.ID}); err != nil {
			return err
		}
	}

	// A block has it.
	second := utxo.Block{Height: 2, Hash: chainhash.HashH([]byte("block 2")), Prev: first.Hash}
	if _, err := wallets.Do(ctx, utxo.Connected{Block: second, Txs: []*wire.MsgTx{tx}}); err != nil {
		return err
	}
	balance, err := wallets.Balance(ctx, 1, nil, 1)
	if err != nil {
		return err
	}
	fmt.Printf("confirmed %d, unconfirmed %d\n", balance.Confirmed, balance.Unconfirmed)
	return nil
}

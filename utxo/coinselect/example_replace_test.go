package coinselect_test

import (
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

// A payment is stuck: it is replaced at a higher rate, or a child pays for it.
func ExampleReplace() {
	ours := append([]byte{0, 20}, make([]byte, 20)...)      // P2WPKH
	theirs := append([]byte{0x51, 32}, make([]byte, 32)...) // P2TR
	policy := utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: 1}, string(script) == string(ours)
	}}
	ledger := utxo.NewLedger(policy)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	do := func(ev utxo.Event) {
		if _, err := ledger.DoAt(ev, now); err != nil {
			fmt.Println(err)
		}
	}
	coinbase, deposit, payment := wire.NewMsgTx(2), wire.NewMsgTx(2), wire.NewMsgTx(2)
	coinbase.AddTxIn(wire.NewTxIn(&wire.OutPoint{Index: wire.MaxPrevOutIndex}, nil, nil))
	coinbase.AddTxOut(wire.NewTxOut(312_500_000, theirs))
	deposit.AddTxIn(wire.NewTxIn(&wire.OutPoint{Index: 1}, nil, nil))
	deposit.AddTxOut(wire.NewTxOut(100_000, ours))
	signature := wire.TxWitness{make([]byte, 72), make([]byte, 33)}
	payment.AddTxIn(&wire.TxIn{PreviousOutPoint: wire.OutPoint{Hash: deposit.TxHash()},
		Sequence: wire.MaxTxInSequenceNum - 2, Witness: signature})
	payment.AddTxOut(wire.NewTxOut(60_000, theirs))
	payment.AddTxOut(wire.NewTxOut(39_800, ours)) // change
	id := utxo.TxID{Wallet: 1, Hash: payment.TxHash()}
	do(utxo.WalletOpened{Wallet: 1, Birth: 1})
	do(utxo.Connected{Block: utxo.Block{Height: 1, Hash: chainhash.Hash{1}, Time: now}, Txs: []*wire.MsgTx{coinbase, deposit}})
	do(utxo.Submitted{Wallet: 1, Tx: payment})
	do(utxo.Broadcasted{ID: id})

	candidates, err := coinselect.Candidates(policy, ledger, coinselect.Query{Wallet: 1, At: now, Fees: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	how := coinselect.Request{FeeRate: 10_000, ChangeScript: ours}
	child, err := coinselect.Bump(candidates, id.Hash, how)
	fmt.Printf("a child pays %d, %d of it for its parent, %v\n", child.Fee, child.AncestorFee, err)

	original, err := coinselect.ReadOriginal(ledger, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	change := uint32(1)
	r, err := coinselect.Replace(original, candidates, coinselect.ReplaceRequest{Change: &change, Coins: how})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range r.Tx.TxIn {
		in.Witness = signature // sign it
	}
	do(utxo.Submitted{Wallet: 1, Tx: r.Tx, Replaces: r.Replaces})
	fmt.Printf("a replacement pays %d, the payee %d, change %d\n", r.Fee, r.Tx.TxOut[0].Value, r.Change)

	// Output:
	// a child pays 2430, 1330 of it for its parent, <nil>
	// a replacement pays 1530, the payee 60000, change 38470
}

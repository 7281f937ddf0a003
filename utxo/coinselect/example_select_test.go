package coinselect_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

// A wallet holds three coins and pays 250,000 satoshi at 5 satoshi per virtual byte. Then
// it tries to pay more than it has.
func ExampleSelect() {
	const wallet = 1
	ours := append([]byte{0, 20, 'u', 's'}, make([]byte, 18)...) // P2WPKH
	theirs := append([]byte{0, 20, 't', 'h'}, make([]byte, 18)...)
	policy := utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: wallet}, string(script) == string(ours)
	}}
	ledger := utxo.NewLedger(policy)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	coinbase, deposit := wire.NewMsgTx(2), wire.NewMsgTx(2)
	coinbase.AddTxIn(wire.NewTxIn(&wire.OutPoint{Index: wire.MaxPrevOutIndex}, nil, nil))
	coinbase.AddTxOut(wire.NewTxOut(312_500_000, ours))
	deposit.AddTxIn(wire.NewTxIn(&wire.OutPoint{Index: 1}, nil, nil))
	for _, amount := range []int64{150_000, 251_000, 300} {
		deposit.AddTxOut(wire.NewTxOut(amount, ours))
	}
	for _, event := range []utxo.Event{
		utxo.WalletOpened{Wallet: wallet, Birth: 800_000, By: utxo.By{At: now}},
		utxo.Connected{Block: utxo.Block{Height: 800_000, Hash: chainhash.Hash{8}}, Txs: []*wire.MsgTx{coinbase, deposit}, By: utxo.By{At: now}},
	} {
		if _, err := ledger.Do(event); err != nil {
			fmt.Println(err)
			return
		}
	}

	candidates, err := coinselect.Candidates(policy, ledger, coinselect.Query{Wallet: wallet, At: now})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, amount := range []int64{250_000, 300_000, 500_000} {
		payment, err := coinselect.Pay(wire.NewTxOut(amount, theirs))
		if err != nil {
			fmt.Println(err)
			return
		}
		s, err := coinselect.Select(candidates, coinselect.Request{Payment: payment, ChangeScript: ours, FeeRate: 5000})
		if err != nil {
			fmt.Println(err)
			fmt.Println("wait for maturity:", errors.Is(err, utxo.ErrImmature))
			return
		}
		fmt.Printf("%s: %d inputs, fee %d, change %d\n", s.Algorithm, len(s.Inputs), s.Fee, s.Change)
	}

	// Output:
	// branch_and_bound: 1 inputs, fee 1000, change 0
	// largest_first: 2 inputs, fee 1045, change 99955
	// coin selection: insufficient funds: 500210 satoshi needed, 400320 selectable, 300 uneconomic, 312499660 immature
	// wait for maturity: true
}

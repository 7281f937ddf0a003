package utxotest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// Start is the moment at which histories begin.
var Start = time.Date(2024, 2, 29, 23, 59, 0, 0, time.UTC)

// Script returns the output script that [Policy] gives to an owner. It is no valid Bitcoin
// script; the rules never look inside a script.
func Script(w utxo.WalletID, tag string) []byte { return fmt.Appendf(nil, "%d/%s", w, tag) }

// Foreign is an output script that nobody owns.
var Foreign = []byte("foreign")

// Policy owns the scripts that [Script] returns. It has a maturity of 3 blocks and a final
// depth of 2, so that short histories reach both.
func Policy() utxo.Policy {
	return utxo.Policy{Owner: ownerOf, Maturity: 3, FinalDepth: 2}
}

func ownerOf(script []byte) (utxo.Owner, bool) {
	wallet, tag, ok := strings.Cut(string(script), "/")
	id, err := strconv.ParseInt(wallet, 10, 64)
	return utxo.Owner{Wallet: utxo.WalletID(id), Tag: tag}, ok && err == nil
}

// Pay returns an output.
func Pay(amount int64, script []byte) *wire.TxOut { return wire.NewTxOut(amount, script) }

// NewTx builds a transaction from its arguments alone. Different salts give different
// hashes to transactions that are equal otherwise.
func NewTx(salt uint32, inputs []wire.OutPoint, outputs ...*wire.TxOut) *wire.MsgTx {
	tx := wire.NewMsgTx(2)
	tx.LockTime = salt
	for _, op := range inputs {
		tx.AddTxIn(wire.NewTxIn(&op, nil, wire.TxWitness{{byte(salt)}}))
	}
	for _, out := range outputs {
		tx.AddTxOut(out)
	}
	return tx
}

// NewCoinbase builds the first transaction of a block.
func NewCoinbase(salt uint32, outputs ...*wire.TxOut) *wire.MsgTx {
	return NewTx(salt, []wire.OutPoint{{Index: wire.MaxPrevOutIndex}}, outputs...)
}

// Out names an output of a transaction.
func Out(tx *wire.MsgTx, index uint32) wire.OutPoint {
	return wire.OutPoint{Hash: tx.TxHash(), Index: index}
}

// External names an output of a transaction that nobody will ever see.
func External(n uint32) wire.OutPoint {
	return wire.OutPoint{Hash: chainhash.HashH([]byte("external")), Index: n}
}

// NewBlock builds a block from its arguments alone; salt tells apart siblings.
func NewBlock(height int32, prev chainhash.Hash, salt uint32) utxo.Block {
	return utxo.Block{
		Height: height, Prev: prev, Hash: chainhash.HashH(fmt.Appendf(nil, "block %d %s %d", height, prev, salt)),
		Time: Start.Add(time.Duration(height) * 10 * time.Minute),
	}
}

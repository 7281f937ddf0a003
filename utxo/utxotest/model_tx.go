package utxotest

import (
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// spends reports whether op is an input of f.
func (f *fact) spends(op wire.OutPoint) bool { return spends(f.tx, op) }

func spends(tx *wire.MsgTx, op wire.OutPoint) bool {
	for _, in := range tx.TxIn {
		if in.PreviousOutPoint == op && !isNull(op) {
			return true
		}
	}
	return false
}

// childOf reports whether f spends an output of parent.
func (f *fact) childOf(parent *fact) bool { return isChild(f.tx, parent.hash) }

func isChild(tx *wire.MsgTx, parent chainhash.Hash) bool {
	for _, in := range tx.TxIn {
		if in.PreviousOutPoint.Hash == parent && !isNull(in.PreviousOutPoint) {
			return true
		}
	}
	return false
}

// rivalOf reports whether two transactions share an input.
func (f *fact) rivalOf(other *fact) bool { return f.hash != other.hash && sharesInput(f.tx, other.tx) }

func sharesInput(a, b *wire.MsgTx) bool {
	for _, in := range a.TxIn {
		if spends(b, in.PreviousOutPoint) {
			return true
		}
	}
	return false
}

// spentTwice reports whether an outpoint occurs twice among the inputs.
func spentTwice(txs ...*wire.MsgTx) bool {
	seen := map[wire.OutPoint]bool{}
	for _, tx := range txs {
		for _, in := range tx.TxIn {
			if op := in.PreviousOutPoint; !isNull(op) {
				if seen[op] {
					return true
				}
				seen[op] = true
			}
		}
	}
	return false
}

func isNull(op wire.OutPoint) bool {
	return op.Hash == chainhash.Hash{} && op.Index == wire.MaxPrevOutIndex
}

func isCoinbase(tx *wire.MsgTx) bool {
	return len(tx.TxIn) == 1 && isNull(tx.TxIn[0].PreviousOutPoint)
}

// wellFormed refuses what no transaction may be: nil, without inputs, without outputs, one
// that spends the null outpoint and is no coinbase, or one that spends an outpoint twice.
func wellFormed(tx *wire.MsgTx) error {
	if tx == nil || len(tx.TxIn) == 0 || len(tx.TxOut) == 0 {
		return fmt.Errorf("%w: a transaction has inputs and outputs", statemachine.ErrInvalid)
	}
	for _, in := range tx.TxIn {
		if isNull(in.PreviousOutPoint) && len(tx.TxIn) > 1 {
			return fmt.Errorf("%w: only a coinbase spends the null outpoint", statemachine.ErrInvalid)
		}
	}
	if spentTwice(tx) {
		return fmt.Errorf("%w: %s spends an outpoint twice", utxo.ErrSelfConflict, tx.TxHash())
	}
	return nil
}

func micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

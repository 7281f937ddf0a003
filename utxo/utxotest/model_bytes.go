package utxotest

import (
	"bytes"
	"slices"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// prove takes the witnesses that a mempool or a block shows: all rows have these from now
// on, and a row that had others takes a step.
func (m *Model) prove(f *fact, tx *wire.MsgTx, on utxo.Trigger) {
	if !tx.HasWitness() {
		return
	}
	f.proof = tx.Copy()
	for _, r := range m.rowsOf(f) {
		if !sameBytes(r.bytes, tx) {
			r.bytes = f.proof
			if on != 0 {
				m.moveRow(r, on, r.status)
			}
		}
	}
}

// lacking is the number of inputs that have neither a script nor a witness. No script in
// the histories needs a witness besides.
func lacking(tx *wire.MsgTx) int {
	n := 0
	for _, in := range tx.TxIn {
		if len(in.SignatureScript) == 0 && len(in.Witness) == 0 {
			n++
		}
	}
	return n
}

// mostSigned returns the bytes of the row that lacks the fewest signatures; of several such
// rows, of the one in the wallet with the lowest id.
func mostSigned(rows []*row) *wire.MsgTx {
	best := rows[0]
	for _, r := range rows {
		if a, b := lacking(r.bytes), lacking(best.bytes); a < b || a == b && r.wallet < best.wallet {
			best = r
		}
	}
	return best.bytes
}

func sameBytes(a, b *wire.MsgTx) bool {
	var one, other bytes.Buffer
	return a.Serialize(&one) == nil && b.Serialize(&other) == nil && bytes.Equal(one.Bytes(), other.Bytes())
}

// signed adds the witnesses of a submission to a row of its wallet. Before the network has
// the transaction, a new witness replaces the old one; afterwards it only fills a missing
// one.
func (m *Model) signed(r *row, tx *wire.MsgTx) {
	merged := r.bytes.Copy()
	for i := range tx.TxIn {
		have := len(r.bytes.TxIn[i].Witness) > 0 || len(r.bytes.TxIn[i].SignatureScript) > 0
		if len(tx.TxIn[i].Witness) > 0 && (!have || !r.public) {
			merged.TxIn[i].Witness = slices.Clone(tx.TxIn[i].Witness)
		}
	}
	if sameBytes(merged, r.bytes) {
		return
	}
	r.bytes = merged
	if slices.Contains(m.had[r.fact], r) {
		m.moveRow(r, onSigned, r.status)
	}
}

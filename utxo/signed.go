package utxo

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/wire/v2"
)

// Unsigned returns the inputs that cannot be valid yet: those without a script and without
// a witness, and those whose script is that of a witness program within P2SH (BIP 141)
// while the witness is missing. A witness of only empty items counts as none.
//
// The signature of such an input is no part of the hash of its transaction, and may come
// later, see [Submitted]. Unsigned does not verify signatures: an input that it leaves out
// has some script or witness, which may be wrong. Nodes accept a few outputs without script
// and witness, such as pay-to-anchor. A transaction that spends one never counts as signed
// here; the host has to broadcast it.
func Unsigned(tx *wire.MsgTx) []int {
	var open []int
	for i, in := range tx.TxIn {
		if !signed(in) {
			open = append(open, i)
		}
	}
	return open
}

func signed(in *wire.TxIn) bool {
	for _, item := range in.Witness {
		if len(item) > 0 {
			return true
		}
	}
	return len(in.SignatureScript) > 0 && !nested(in.SignatureScript)
}

// nested reports whether a script is one push of a witness program.
func nested(script []byte) bool {
	n := len(script)
	if n < 5 || n > 43 || int(script[0]) != n-1 || int(script[2]) != n-3 {
		return false
	}
	version := script[1]
	return version == 0 || version >= 0x51 && version <= 0x60
}

// The bytes of a row are a fact of their own, since the same hash can have different
// signatures. Bytes that a mempool or a block shows are valid, and become the bytes of all
// rows. Bytes that were only submitted belong to the row of the submitting wallet: later
// signatures replace earlier ones until the network has the transaction, and after that
// only fill what is missing. No event takes a signature away.

// newRaw returns the bytes that replace the stored ones, nil for none.
func (n *row) newRaw() []byte {
	if n.oldRaw == nil {
		return nil
	}
	return n.tx.Raw
}

// mend gives a row other bytes of the same hash (nil leaves the bytes as they are) and
// reports whether that changes a stored row.
func (n *row) mend(raw []byte) bool {
	if raw == nil || bytes.Equal(n.tx.Raw, raw) {
		return false
	}
	if n.old != nil && n.oldRaw == nil {
		n.oldRaw = n.tx.Raw
	}
	n.tx.Raw = raw
	return n.old != nil
}

// readBytes makes the stored bytes of these rows known.
func (pl *plan) readBytes(rows []*row) error {
	var ids []TxID
	var ask []*row
	for _, n := range rows {
		if n.old != nil && n.tx.Raw == nil {
			ids, ask = append(ids, n.tx.ID), append(ask, n)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	raws, err := pl.r.Raw(ids...)
	if err != nil {
		return err
	}
	for i, n := range ask {
		n.tx.Raw = raws[i]
	}
	return nil
}

// readShown reads the stored bytes of the transactions that an event shows with witnesses.
// Without a witness the bytes of a hash are always the same.
func (pl *plan) readShown(txs []seen) error {
	var rows []*row
	for i := range txs {
		if v := pl.graph.vertices[txs[i].hash]; v != nil && txs[i].msg.HasWitness() {
			rows = append(rows, v.rows...)
		}
	}
	return pl.readBytes(rows)
}

// prove notes the bytes of v that the event shows, for all rows of v. A host may show a
// transaction without its witnesses; this changes nothing.
func (pl *plan) prove(v *vertex) error {
	if v.shownOn == 0 || len(v.rows) == 0 || !v.shown.msg.HasWitness() {
		return nil
	}
	if err := pl.readBytes(v.rows); err != nil {
		return err
	}
	raw, err := pl.serialize(v.shown.msg)
	v.proof = raw
	return err
}

// serialize returns the bytes of a transaction with its witnesses.
func (pl *plan) serialize(msg *wire.MsgTx) ([]byte, error) {
	pl.buf.Reset()
	if err := msg.Serialize(&pl.buf); err != nil {
		return nil, invalid("transaction %s: %v", msg.TxHash(), err)
	}
	return bytes.Clone(pl.buf.Bytes()), nil
}

// mendAll gives the rows of v the bytes that the event shows, and moves the version of a
// row whose bytes change.
func (pl *plan) mendAll(v *vertex, on Trigger) error {
	for _, n := range v.rows {
		if n.mend(v.proof) {
			if err := pl.step(n, on, "", nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// complete adds missing signatures to the rows of a published transaction from a mempool
// list whose sequence number is too old to change anything else.
func (pl *plan) complete(v *vertex, s *seen) error {
	if v.confirmed() || !s.msg.HasWitness() {
		return nil
	}
	raw, err := pl.serialize(s.msg)
	if err != nil {
		return err
	}
	for _, n := range v.rows {
		stored, err := ParseTx(n.tx.Raw)
		if err != nil {
			return err
		}
		if len(Unsigned(stored)) > 0 && n.mend(raw) {
			if err := pl.step(n, onObserved, "", nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// sign takes the signatures of a submission into the row of its wallet.
func (pl *plan) sign(n *row, msg *wire.MsgTx) error {
	if err := pl.readBytes([]*row{n}); err != nil {
		return err
	}
	stored, err := ParseTx(n.tx.Raw)
	if err != nil {
		return err
	}
	for i, in := range msg.TxIn {
		if of := stored.TxIn[i]; signed(in) && !(n.tx.Public && signed(of)) {
			of.Witness = in.Witness
		}
	}
	if size := stored.SerializeSize(); size > maxTxSize {
		return invalid("transaction %s has %d bytes with all its signatures, at most %d are possible", n.tx.ID, size, maxTxSize)
	}
	raw, err := pl.serialize(stored)
	if err != nil || !n.mend(raw) {
		return err
	}
	return pl.step(n, onSigned, "", nil)
}

// mostSigned returns the bytes of that row of v, stored or new, that lacks the fewest
// signatures; of several such rows, of the one in the wallet with the lowest id.
func (pl *plan) mostSigned(v *vertex) ([]byte, error) {
	if err := pl.readBytes(v.rows); err != nil {
		return nil, err
	}
	rows := slices.Clone(v.rows)
	slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.tx.ID.Wallet, b.tx.ID.Wallet) })
	best, least := rows[0].tx.Raw, -1
	for _, n := range rows {
		if len(rows) == 1 {
			break
		}
		tx, err := ParseTx(n.tx.Raw)
		if err != nil {
			return nil, err
		}
		if open := len(Unsigned(tx)); least < 0 || open < least {
			best, least = n.tx.Raw, open
		}
	}
	return best, nil
}

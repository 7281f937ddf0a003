package coinselect

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// MaxEvicted is the number of transactions that one replacement may remove from a mempool,
// the replaced ones included (BIP 125).
const MaxEvicted = 100

// ErrNotLatest: another version of the transaction is to replace it already.
var ErrNotLatest = statemachine.NewSentinel("not-latest", "transaction has a later version")

// Original is a live unconfirmed transaction, together with what a mempool would evict for
// a replacement that keeps its inputs.
type Original struct {
	ID     utxo.TxID
	Tx     *wire.MsgTx   // as it is stored, with witness
	Spends []*wire.TxOut // the outputs that are its inputs, nil where not known
	// Versions are the live transactions of its wallet that share an input, for
	// [utxo.Submitted.Replaces]: first the transaction itself, then the older versions that
	// it is to replace.
	Versions []chainhash.Hash
	// Descendants are the live ones of all that shares an input, in any wallet.
	Descendants []chainhash.Hash
	// Evicted is the most transactions that a mempool would evict, and EvictedFee the most
	// that they have paid, in satoshi. Of versions that exclude each other a mempool holds
	// only one.
	Evicted    int
	EvictedFee int64
	// FeeRate is the highest of those that share an input, rounded down.
	FeeRate FeeRate
	// Unknown are those of all these whose fee is not known.
	Unknown []chainhash.Hash
	// Signals: an input allows replacement (BIP 125). Nodes that do not accept every
	// replacement refuse to replace a transaction that neither signals nor descends from an
	// unconfirmed one that does.
	Signals bool
}

// ReadOriginal reads a transaction that is to be replaced.
//
// Errors: [statemachine.ErrNotFound]; [statemachine.ErrIllegal] if it is
// confirmed or dead; [ErrNotLatest], which names the version to replace.
func ReadOriginal(r utxo.Reader, id utxo.TxID) (Original, error) {
	rows, err := r.Txs(id)
	if err != nil {
		return Original{}, err
	}
	if len(rows) == 0 {
		return Original{}, &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: utxo.TxMachine.Name(), ID: id.String(), Event: "replace"}
	}
	tx := rows[0]
	if tx.Confirmed() || !tx.Live() {
		why := "a dead transaction is not replaced"
		if tx.Confirmed() {
			why = fmt.Sprintf("it is confirmed at height %d", tx.Height)
		}
		return Original{}, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: utxo.TxMachine.Name(), ID: id.String(),
			State: tx.Status.String(), Event: "replace", Reason: why}
	}
	o := Original{ID: id, Versions: []chainhash.Hash{id.Hash}}
	rivals, err := o.readRivals(r, tx)
	if err != nil {
		return Original{}, err
	}
	// A mempool holds tx, or what tx is to replace, each with its descendants.
	below, err := readBelow(r, []*utxo.Tx{tx})
	if err != nil {
		return Original{}, err
	}
	besides, err := readBelow(r, rivals)
	if err != nil {
		return Original{}, err
	}
	payers, err := readPayers(r, slices.Concat([]*utxo.Tx{tx}, rivals, below, besides))
	if err != nil {
		return Original{}, err
	}
	for _, t := range append(rivals, tx) {
		o.FeeRate = max(o.FeeRate, payers[t.ID.Hash].rate())
	}
	seen := map[chainhash.Hash]bool{}
	for _, held := range [][]*utxo.Tx{append(below, tx), append(besides, rivals...)} {
		fee := int64(0)
		for _, t := range held {
			p := payers[t.ID.Hash]
			fee += p.fee
			if !seen[t.ID.Hash] && !p.known {
				o.Unknown = append(o.Unknown, t.ID.Hash)
			}
			seen[t.ID.Hash] = true
		}
		o.Evicted, o.EvictedFee = max(o.Evicted, len(held)), max(o.EvictedFee, fee)
	}
	for _, t := range append(below, besides...) {
		if !slices.Contains(o.Descendants, t.ID.Hash) {
			o.Descendants = append(o.Descendants, t.ID.Hash)
		}
	}
	slices.SortFunc(o.Descendants, compareHashes)
	slices.SortFunc(o.Unknown, compareHashes)
	p := payers[id.Hash]
	o.Tx, o.Spends = p.msg, p.spends
	o.Signals = slices.ContainsFunc(p.msg.TxIn, func(in *wire.TxIn) bool { return in.Sequence <= maxReplaceable })
	return o, nil
}

// maxReplaceable is the highest sequence of an input that signals replaceability (BIP 125).
const maxReplaceable = wire.MaxTxInSequenceNum - 2

func compareHashes(a, b chainhash.Hash) int { return bytes.Compare(a[:], b[:]) }

// readRivals reads the live transactions that share an input with tx, in any wallet, each
// once, and adds those of tx's own wallet to Versions.
func (o *Original) readRivals(r utxo.Reader, tx *utxo.Tx) (rivals []*utxo.Tx, err error) {
	spenders, err := r.Spenders(tx.Inputs...)
	if err != nil {
		return nil, err
	}
	for _, t := range spenders {
		if t.ID.Hash == o.ID.Hash || !t.Live() {
			continue
		}
		if t.ID.Wallet == o.ID.Wallet {
			o.Versions = append(o.Versions, t.ID.Hash)
		}
		if !slices.ContainsFunc(rivals, func(other *utxo.Tx) bool { return other.ID.Hash == t.ID.Hash }) {
			rivals = append(rivals, t)
		}
	}
	if len(rivals) == 0 {
		return nil, nil
	}
	for _, t := range rivals { // what its wallet has no row of is another's, and newer
		if !slices.Contains(o.Versions, t.ID.Hash) {
			return nil, fmt.Errorf("transaction %s: %w: %s", o.ID, ErrNotLatest, t.ID)
		}
	}
	edges, err := r.Replacements(o.ID)
	if err != nil {
		return nil, err
	}
	for _, e := range edges {
		if e.Loser == o.ID.Hash && slices.Contains(o.Versions, e.Winner) {
			return nil, fmt.Errorf("transaction %s: %w: %s", o.ID, ErrNotLatest, e.Winner)
		}
	}
	return rivals, nil
}

// readBelow reads the live descendants of the transactions in all wallets, each once.
func readBelow(r utxo.Reader, txs []*utxo.Tx) (below []*utxo.Tx, err error) {
	seen := map[chainhash.Hash]bool{}
	var hashes []chainhash.Hash
	for _, t := range txs {
		seen[t.ID.Hash] = true
		hashes = append(hashes, t.ID.Hash)
	}
	if len(hashes) == 0 {
		return nil, nil
	}
	found, err := r.Descendants(hashes...)
	for _, t := range found {
		if !seen[t.ID.Hash] {
			seen[t.ID.Hash] = true
			below = append(below, t)
		}
	}
	return below, err
}

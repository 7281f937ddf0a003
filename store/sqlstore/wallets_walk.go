package sqlstore

import (
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/utxo"
)

// A walk is one recursive query over transactions, whichever wallets have rows
// of them, so that depth costs no round trips. UNION drops what was reached
// before: each transaction is expanded once. The column go_on says whether the
// walk continues from it.
const walked = ") {walk " + txColumns + "@transactions t WHERE t.tx_hash = w.tx_hash}"

var descendants = statement{set: "tx_hash bytes", text: "WITH RECURSIVE walk(tx_hash, go_on) AS (" +
	"SELECT r.tx_hash, 1 FROM {set} UNION " +
	"{walk SELECT t.tx_hash, CASE WHEN t.block_height IS NULL THEN 1 ELSE 0 END " +
	"FROM @tx_inputs i CROSS JOIN @transactions t WHERE w.go_on = 1 AND i.prev_hash = w.tx_hash " +
	"AND t.id = i.tx_id AND t.status IN ('pending', 'published')}" + walked}

// Descendants implements [utxo.Reader].
func (w wallets) Descendants(hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	f, err := w.collect(&descendants, hashesOf(hashes))
	if err != nil {
		return nil, err
	}
	named := make(map[chainhash.Hash]bool, len(hashes))
	for _, h := range hashes {
		named[h] = true
	}
	f.rows = slices.DeleteFunc(f.rows, func(r txRow) bool { return named[r.tx.ID.Hash] })
	return f.inArrival().complete(nil)
}

const (
	// within is utxo.Reach. It does not say IS NULL: without statistics, as
	// after the first big block, PostgreSQL would take the index of the
	// unconfirmed transactions for it and read all of them at each step.
	within = "($1 = 1 AND t.status <> 'published' OR $1 = 2 AND coalesce(t.block_height, -1) < 0)"
	// firstRow is one row of each transaction: their inputs are the same.
	firstRow  = "NOT EXISTS (SELECT 1 FROM @transactions o WHERE o.tx_hash = t.tx_hash AND o.wallet_id < t.wallet_id)"
	ancestors = "WITH RECURSIVE walk(tx_hash) AS (SELECT r.tx_hash FROM {set} UNION " +
		"{walk SELECT i.prev_hash FROM @transactions t CROSS JOIN @tx_inputs i WHERE t.tx_hash = w.tx_hash AND " + within + " AND " + firstRow +
		" AND i.wallet_id = t.wallet_id AND i.tx_id = t.id}) {walk " + txColumns + "@transactions t WHERE t.tx_hash = w.tx_hash AND " + within +
		"}"
)

var ancestorsWithin = statement{set: "tx_hash bytes", text: ancestors}

// Ancestors implements [utxo.Reader].
func (w wallets) Ancestors(reach utxo.Reach, hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	f, err := w.collect(&ancestorsWithin, hashesOf(hashes), int64(reach))
	return f.inArrival().complete(err)
}

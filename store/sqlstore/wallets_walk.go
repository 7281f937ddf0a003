package sqlstore

import (
	"slices"

	"github.com/settlehq/settle/utxo"
)

// A walk is one recursive query, so that depth costs no round trips. UNION
// drops what was reached before: each transaction is expanded once. The column
// go_on says whether the walk continues from a row.
const walked = ") {walk " + txColumns + "@transactions t WHERE t.id = w.id}"

var descendants = statement{set: "wallet_id int, tx_hash bytes", text: "WITH RECURSIVE walk(id, wallet_id, tx_hash, go_on) AS (" +
	"SELECT t.id, t.wallet_id, t.tx_hash, 1 FROM {set} CROSS JOIN @transactions t " +
	"WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id UNION " +
	"{walk SELECT t.id, t.wallet_id, t.tx_hash, CASE WHEN t.block_height IS NULL THEN 1 ELSE 0 END " +
	"FROM @tx_inputs i CROSS JOIN @transactions t WHERE w.go_on = 1 AND i.prev_hash = w.tx_hash AND i.wallet_id = w.wallet_id " +
	"AND t.id = i.tx_id AND t.status IN ('pending', 'published')}" + walked}

// Descendants implements [utxo.Reader].
func (w wallets) Descendants(ids ...utxo.TxID) ([]*utxo.Tx, error) {
	f, err := w.collect(&descendants, names(ids))
	if err != nil {
		return nil, err
	}
	named := make(map[utxo.TxID]bool, len(ids))
	for _, id := range ids {
		named[id] = true
	}
	f.rows = slices.DeleteFunc(f.rows, func(r txRow) bool { return named[r.tx.ID] })
	return f.inArrival().complete(nil)
}

const (
	// within is utxo.Reach. It does not say IS NULL: without statistics, as
	// after the first big block, PostgreSQL would take the index of the
	// unconfirmed transactions for it and read all of them at each step.
	within    = "($1 = 1 AND t.status <> 'published' OR $1 = 2 AND coalesce(t.block_height, -1) < 0)"
	ancestors = "WITH RECURSIVE walk(id, wallet_id) AS (" +
		"SELECT t.id, t.wallet_id FROM {set} CROSS JOIN @transactions t " +
		"WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id AND " + within + " UNION " +
		"{walk SELECT t.id, t.wallet_id FROM @tx_inputs i CROSS JOIN @transactions t " +
		"WHERE i.wallet_id = w.wallet_id AND i.tx_id = w.id AND t.tx_hash = i.prev_hash AND t.wallet_id = w.wallet_id AND " + within + "}" + walked
)

var ancestorsWithin = statement{set: "wallet_id int, tx_hash bytes", text: ancestors}

// Ancestors implements [utxo.Reader].
func (w wallets) Ancestors(reach utxo.Reach, ids ...utxo.TxID) ([]*utxo.Tx, error) {
	f, err := w.collect(&ancestorsWithin, names(ids), int64(reach))
	return f.inArrival().complete(err)
}

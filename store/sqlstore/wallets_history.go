package sqlstore

import (
	"database/sql"
	"strconv"
	"strings"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

var (
	historyUnconfirmed = statement{text: txColumns +
		"@transactions t WHERE t.wallet_id = $1 AND t.block_height IS NULL AND NOT t.is_context " +
		"ORDER BY t.first_seen DESC, t.tx_hash DESC LIMIT $2"}
	historyUnconfirmedAfter = statement{text: txColumns +
		"@transactions t WHERE t.wallet_id = $1 AND t.block_height IS NULL AND NOT t.is_context " +
		"AND (t.first_seen, t.tx_hash) < ($3, $4) ORDER BY t.first_seen DESC, t.tx_hash DESC LIMIT $2"}
	historyConfirmed = statement{text: txColumns +
		"@transactions t WHERE t.wallet_id = $1 AND t.block_height IS NOT NULL AND NOT t.is_context " +
		"ORDER BY t.block_height DESC, t.block_position DESC LIMIT $2"}
	historyConfirmedAfter = statement{text: txColumns +
		"@transactions t WHERE t.wallet_id = $1 AND t.block_height IS NOT NULL AND NOT t.is_context " +
		"AND (t.block_height, t.block_position) < ($3, $4) ORDER BY t.block_height DESC, t.block_position DESC LIMIT $2"}
)

// History implements [utxo.Queries]. A page is one range of an index, or two
// where it crosses from the unconfirmed transactions to the confirmed ones.
func (w wallets) History(id utxo.WalletID, after *utxo.HistoryKey, limit int) ([]*utxo.Tx, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	f := &foundTxs{wallets: w, at: map[int64]int{}}
	var err error
	switch {
	case after == nil:
		err = w.read(&historyUnconfirmed, nil, f.scan, int64(id), int64(limit))
	case after.Height == utxo.Unconfirmed:
		err = w.read(&historyUnconfirmedAfter, nil, f.scan, int64(id), int64(limit), after.FirstSeen, after.Hash[:])
	}
	if err == nil && len(f.rows) < limit {
		rest := int64(limit - len(f.rows))
		if after == nil || after.Height == utxo.Unconfirmed {
			err = w.read(&historyConfirmed, nil, f.scan, int64(id), rest)
		} else {
			err = w.read(&historyConfirmedAfter, nil, f.scan, int64(id), rest, int64(after.Height), int64(after.Position))
		}
	}
	if err == nil && len(f.rows) == 0 {
		err = w.known(id)
	}
	return f.complete(err)
}

const edgeColumns = "SELECT l.wallet_id, l.tx_hash, n.tx_hash, e.declared FROM "

var (
	edgesOf = statement{set: "wallet_id int, tx_hash bytes",
		text: "WITH named AS (SELECT t.wallet_id, t.id FROM {set} CROSS JOIN @transactions t " +
			"WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id), edge AS (" +
			"SELECT e.wallet_id, e.replaced_tx_id, e.replacement_tx_id FROM named CROSS JOIN @tx_replacements e WHERE e.wallet_id = " +
			"named.wallet_id AND e.replaced_tx_id = named.id UNION " +
			"SELECT e.wallet_id, e.replaced_tx_id, e.replacement_tx_id FROM named CROSS JOIN @tx_replacements e WHERE e.wallet_id = " +
			"named.wallet_id AND e.replacement_tx_id = named.id) " +
			edgeColumns + "edge k CROSS JOIN @tx_replacements e JOIN @transactions l ON l.id = e.replaced_tx_id JOIN @transactions n ON n.id = " +
			"e.replacement_tx_id " +
			"WHERE e.wallet_id = k.wallet_id AND e.replaced_tx_id = k.replaced_tx_id AND e.replacement_tx_id = k.replacement_tx_id ORDER BY 1, 2, 3"}
	edges = statement{text: edgeColumns + "@tx_replacements e JOIN @transactions l ON l.id = e.replaced_tx_id " +
		"JOIN @transactions n ON n.id = e.replacement_tx_id ORDER BY 1, 2, 3"}
)

// Replacements implements [utxo.Reader].
func (w wallets) Replacements(ids ...utxo.TxID) ([]utxo.Replacement, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return w.edges(&edgesOf, names(ids))
}

func (w wallets) edges(st *statement, set *batch) ([]utxo.Replacement, error) {
	var all []utxo.Replacement
	err := w.read(st, set, func(rows *sql.Rows) error {
		var r utxo.Replacement
		err := rows.Scan(&r.Wallet, (*hashColumn)(&r.Loser), (*hashColumn)(&r.Winner), &r.Declared)
		all = append(all, r)
		return err
	})
	return all, err
}

// Transitions implements [utxo.Queries].
func (w wallets) Transitions(id utxo.TxID) ([]statemachine.Transition[utxo.TxID], error) {
	log, err := transitions(w.tx, utxo.TxMachine.Name(), id)
	if err == nil && len(log) == 0 {
		err = unknownTx(id)
	}
	return log, err
}

// Head implements [store.Feed].
func (w wallets) Head() (store.Cursor, error) { return w.head() }

// Follow implements [store.Feed].
func (w wallets) Follow(after store.Cursor, limit int) ([]statemachine.Transition[utxo.TxID], store.Cursor, error) {
	return followBut(w.tx, utxo.ContextLine, after, limit, parseTxID, utxo.TxMachine.Name())
}

func parseTxID(s string) (id utxo.TxID, err error) {
	wallet, hash, _ := strings.Cut(s, "/")
	n, err := strconv.ParseInt(wallet, 10, 64)
	if err != nil {
		return id, err
	}
	id.Wallet = utxo.WalletID(n)
	return id, chainhash.Decode(&id.Hash, hash)
}

var (
	allRaw    = statement{text: "SELECT id, raw_tx FROM @transactions"}
	allTxs    = statement{text: txColumns + "@transactions t ORDER BY t.wallet_id, t.tx_hash"}
	allOwners = statement{text: "SELECT o.wallet_id, o.owner_tag, o.birth_height FROM @wallet_owners o ORDER BY 1, 2"}
	allLeases = statement{text: leaseColumns +
		"@utxo_leases l JOIN @utxos u ON " + isLeased + " JOIN @transactions t ON t.id = u.tx_id ORDER BY 1, 2, 3"}
)

// Snapshot implements [utxo.Queries].
func (w wallets) Snapshot() (s utxo.Snapshot, err error) {
	if s.Blocks, err = w.Blocks(0, 1<<31-1); err != nil {
		return s, err
	}
	if s.Wallets, err = w.Wallets(); err != nil {
		return s, err
	}
	err = w.read(&allOwners, nil, func(rows *sql.Rows) error {
		var o utxo.Owned
		err := rows.Scan(&o.Wallet, &o.Tag, &o.Birth)
		s.Owners = append(s.Owners, o)
		return err
	})
	if err != nil {
		return s, err
	}
	f, err := w.collect(&allTxs, nil)
	if s.Txs, err = f.complete(err); err != nil {
		return s, err
	}
	err = w.read(&allRaw, nil, func(rows *sql.Rows) error {
		var id int64
		var raw []byte
		err := rows.Scan(&id, &raw)
		if i, known := f.at[id]; known { // another may have been added since
			t := *s.Txs[i] // other reads share the one without
			t.Raw, t.Arrival = raw, 0
			s.Txs[i] = &t
		}
		return err
	})
	if err != nil {
		return s, err
	}
	if s.Replaced, err = w.edges(&edges, nil); err != nil {
		return s, err
	}
	err = w.leases(&allLeases, nil, func(l utxo.Lease) { s.Leases = append(s.Leases, l) })
	return s, err
}

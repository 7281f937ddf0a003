package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/utxo"
)

// Save implements [store.WalletRecords].
func (w wallets) Save(sets ...utxo.ChangeSet) error {
	return w.save("utxo.wallet", func() error {
		for i := range sets {
			if err := sets[i].Complete(); err != nil {
				return err
			}
		}
		s := &savingWallets{w, txIDs{}}
		for id, t := range w.loaded {
			s.ids[id] = t.Arrival
		}
		w.loaded = nil
		for _, set := range utxo.Merge(sets...) {
			if err := s.apply(&set); err != nil {
				return err
			}
		}
		return nil
	})
}

// savingWallets is one Save.
type savingWallets struct {
	wallets
	ids txIDs
}

// txIDs are the keys of rows of transactions, which never change: statements that have them
// need not look for hashes.
type txIDs map[utxo.TxID]int64

// of returns the key of a wallet's row of a transaction. One that is not stored is 0, which
// is no id and breaks a reference or a comparison.
func (ids txIDs) of(w utxo.WalletID, hash chainhash.Hash) int64 {
	return ids[utxo.TxID{Wallet: w, Hash: hash}]
}

// orNone is of, or nil for no transaction.
func (ids txIDs) orNone(w utxo.WalletID, hash chainhash.Hash) any {
	if hash == (chainhash.Hash{}) {
		return nil
	}
	return ids.of(w, hash)
}

var selectTxIDs = statement{each: "wallet_id int, tx_hash bytes",
	text: "SELECT t.id, t.wallet_id, t.tx_hash FROM @transactions t WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id"}

// findIDs reads the keys of the stored transactions that a set names and that nobody has read
// before it.
func (w *savingWallets) findIDs(set *utxo.ChangeSet) error {
	inserted := make(map[utxo.TxID]bool, len(set.Inserts))
	for _, t := range set.Inserts {
		inserted[t.ID] = true
	}
	var unknown []utxo.TxID
	name := func(wallet utxo.WalletID, hashes ...chainhash.Hash) {
		for _, hash := range hashes {
			id := utxo.TxID{Wallet: wallet, Hash: hash}
			if _, known := w.ids[id]; !known && hash != (chainhash.Hash{}) && !inserted[id] {
				w.ids[id] = 0
				unknown = append(unknown, id)
			}
		}
	}
	for _, t := range set.Inserts {
		for i := range t.Outputs {
			name(t.ID.Wallet, t.Outputs[i].SpentBy)
		}
	}
	for i := range set.Updates {
		name(set.Updates[i].ID.Wallet, set.Updates[i].ID.Hash)
	}
	for i := range set.Joined {
		name(set.Joined[i].ID.Wallet, set.Joined[i].ID.Hash, set.Joined[i].Output.SpentBy)
	}
	for _, s := range set.Spends {
		name(s.Wallet, s.OutPoint.Hash, s.Old, s.New)
	}
	for _, r := range slices.Concat(set.Replaced, set.Declared) {
		name(r.Wallet, r.Loser, r.Winner)
	}
	for _, c := range set.Leases {
		name(c.New.Wallet, c.New.OutPoint.Hash)
	}
	return w.read(&selectTxIDs, names(unknown), w.haveID)
}

// haveID reads a key, the wallet and the hash of a transaction.
func (w *savingWallets) haveID(rows *sql.Rows) error {
	var key int64
	var id utxo.TxID
	err := rows.Scan(&key, &id.Wallet, (*hashColumn)(&id.Hash))
	w.ids[id] = key
	return err
}

// apply writes one change set, in the order that references ask for: a block
// before what is in it, transactions before inputs before outputs before
// spenders. Every update compares what it replaces.
func (w *savingWallets) apply(set *utxo.ChangeSet) error {
	for _, step := range []func(*utxo.ChangeSet) error{
		w.findIDs, w.insertBlocks, w.saveSeq, w.saveWallets, w.saveSums, w.insertTxs, w.updateTxs, w.insertOutputs,
		w.moveSpenders, w.saveEdges, w.saveLeases,
	} {
		if err := step(set); err != nil {
			return err
		}
	}
	if err := logTransitions(w.tx, set.Log); err != nil {
		return err
	}
	return w.deleteBlocks(set.Disconnect)
}

var moveSeq = statement{text: "UPDATE @chain_tip SET last_seq = $2 WHERE last_seq = $1"}

func (w *savingWallets) saveSeq(set *utxo.ChangeSet) error {
	if set.Seq == (utxo.SeqChange{}) {
		return nil
	}
	return w.one("the mempool sequence", &moveSeq, set.Seq.Old, set.Seq.New)
}

var (
	insertBlocks = statement{key: 1, rows: "block_height int, block_hash bytes, prev_hash bytes, block_time time",
		text: "INSERT INTO @blocks (block_height, block_hash, prev_hash, block_time) " +
			"SELECT r.block_height, r.block_hash, r.prev_hash, r.block_time FROM {rows}"}
	// All between a height and the tip, which SQLite deletes one after the other.
	deleteBlocks = statement{key: 1, rows: "block_height int, block_hash bytes",
		text: "DELETE FROM @blocks WHERE (block_height, block_hash) IN (SELECT r.block_height, r.block_hash FROM {rows}) " +
			"AND block_height BETWEEN $1 AND $2 AND (SELECT max(block_height) FROM @blocks) <= $2"}

	insertWallets = statement{key: 1, rows: "id int, birth_height int, scanned_to int, follows_tip bool, announced int",
		text: "INSERT INTO @wallets (id, birth_height, scanned_to, follows_tip, announced) " +
			"SELECT r.id, r.birth_height, r.scanned_to, r.follows_tip, r.announced FROM {rows}"}
	updateWallets = statement{key: 1, rows: "id int, old int, followed bool, was int, scanned_to int, follows_tip bool, announced int",
		text: "UPDATE @wallets AS w SET " +
			"scanned_to = r.scanned_to, follows_tip = r.follows_tip, announced = r.announced FROM {rows} " +
			"WHERE w.id = r.id AND w.follows_tip = r.followed AND (r.followed OR w.scanned_to = r.old) AND w.announced = r.was"}
	insertScans = statement{key: 2, rows: "wallet_id int, scan_id int, scanned_to int",
		text: "INSERT INTO @wallet_scans (wallet_id, scan_id, scanned_to) " +
			"SELECT r.wallet_id, r.scan_id, r.scanned_to FROM {rows}"}
	updateScans = statement{key: 2, rows: "wallet_id int, scan_id int, old int, scanned_to int",
		text: "UPDATE @wallet_scans AS s SET scanned_to = r.scanned_to FROM {rows} " +
			"WHERE s.wallet_id = r.wallet_id AND s.scan_id = r.scan_id AND s.scanned_to = r.old"}
	deleteScans = statement{key: 2, rows: "wallet_id int, scan_id int, scanned_to int", text: "DELETE FROM @wallet_scans " +
		"WHERE (wallet_id, scan_id, scanned_to) IN (SELECT r.wallet_id, r.scan_id, r.scanned_to FROM {rows})"}
	insertOwners = statement{key: 2, rows: "wallet_id int, owner_tag text, birth_height int",
		text: "INSERT INTO @wallet_owners (wallet_id, owner_tag, birth_height, scan_id) " +
			"SELECT r.wallet_id, r.owner_tag, r.birth_height, 0 FROM {rows}"}
	updateOwners = statement{key: 2, rows: "wallet_id int, owner_tag text, old int, birth_height int",
		text: "UPDATE @wallet_owners AS o SET birth_height = r.birth_height FROM {rows} " +
			"WHERE o.wallet_id = r.wallet_id AND o.owner_tag = r.owner_tag AND o.birth_height = r.old"}
	scanOwners = statement{key: 2, rows: "wallet_id int, owner_tag text, scan_id int",
		text: "UPDATE @wallet_owners AS o SET scan_id = r.scan_id FROM {rows} " +
			"WHERE o.wallet_id = r.wallet_id AND o.owner_tag = r.owner_tag"}
)

func (w *savingWallets) insertBlocks(set *utxo.ChangeSet) error {
	rows := new(batch)
	for _, b := range set.Connect {
		rows.add(b.Height, b.Hash, b.Prev, b.Time)
	}
	return w.writeAll("blocks", writing{&insertBlocks, rows})
}

// deleteBlocks takes blocks off the chain that are one above the other: the first is the tip, and
// as many rows are deleted as there are heights.
func (w *savingWallets) deleteBlocks(gone []utxo.Block) error {
	if len(gone) == 0 {
		return nil
	}
	rows := new(batch)
	for _, b := range gone {
		rows.add(b.Height, b.Hash)
	}
	what := fmt.Sprintf("block %d", gone[0].Height)
	n, err := w.write(&deleteBlocks, rows, int64(gone[len(gone)-1].Height), int64(gone[0].Height))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return want(len(gone), n, what)
}

func (w *savingWallets) saveWallets(set *utxo.ChangeSet) error {
	added, moved := new(batch), new(batch)
	began, advanced, ended, scanned := new(batch), new(batch), new(batch), new(batch)
	for _, c := range set.Wallets {
		id := int64(c.New.ID)
		if c.Old.ID == 0 {
			added.add(id, c.New.Birth, c.New.ScannedTo, c.New.Follows, c.New.Announced)
		} else { // also if only an owner moves: the wallet must be as it was read
			moved.add(id, c.Old.ScannedTo, c.Old.Follows, c.Old.Announced, c.New.ScannedTo, c.New.Follows, c.New.Announced)
		}
		was := map[int64]utxo.OwnerScan{}
		for _, o := range c.Old.Behind {
			was[o.ID] = o
		}
		for _, o := range c.New.Behind {
			old, known := was[o.ID]
			delete(was, o.ID)
			switch {
			case !known:
				began.add(id, o.ID, o.ScannedTo)
				for _, tag := range o.Tags {
					scanned.add(id, tag, o.ID)
				}
			case old.ScannedTo != o.ScannedTo:
				advanced.add(id, o.ID, old.ScannedTo, o.ScannedTo)
			}
		}
		for _, o := range c.Old.Behind {
			if _, gone := was[o.ID]; gone {
				ended.add(id, o.ID, o.ScannedTo)
			}
		}
	}
	named, reborn := new(batch), new(batch)
	for _, c := range set.Owners {
		if c.Old == (utxo.Owned{}) {
			named.add(int64(c.New.Wallet), c.New.Tag, c.New.Birth)
		} else {
			reborn.add(int64(c.New.Wallet), c.New.Tag, c.Old.Birth, c.New.Birth)
		}
	}
	return w.writeAll("wallets", writing{&insertWallets, added}, writing{&updateWallets, moved}, writing{&insertOwners, named},
		writing{&updateOwners, reborn},
		writing{&deleteScans, ended}, writing{&updateScans, advanced}, writing{&insertScans, began}, writing{&scanOwners, scanned})
}

// writing is a batch that must change one row for each of its own.
type writing struct {
	*statement
	rows *batch
}

// nameFirst names the first row of a batch.
func nameFirst[S fmt.Stringer](b *batch, name S) {
	if b.first == nil {
		b.first = name
	}
}

func (t *tx) writeAll(what string, all ...writing) error {
	for _, a := range all {
		if a.rows.len() == 0 {
			continue
		}
		n, err := t.write(a.statement, a.rows)
		if err != nil {
			return fmt.Errorf("%s: %w", a.named(what), err)
		}
		if n != int64(a.rows.len()) {
			return want(a.rows.len(), n, a.named(what))
		}
	}
	return nil
}

// named names the first row of a batch, as package utxo does.
func (a writing) named(what string) string {
	switch {
	case a.rows.first != nil:
		what += " " + a.rows.first.String()
	case a.key == 0:
		return what
	default:
		for i, v := range a.rows.values[:a.key] {
			what += fmt.Sprint([]string{" ", "/"}[i], v)
		}
	}
	if more := a.rows.len() - 1; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	return what
}

// insertTxs has one text for each dialect: SQLite, which has one writer, is told the keys, and
// PostgreSQL tells them. lastTx is the highest one.
var insertTxs = map[Dialect]*statement{
	SQLite: {rows: "id int, " + txRows, text: "INSERT INTO @transactions (id, " + columnNames(txRows, "") + ") " +
		"SELECT r.id, " + columnNames(txRows, "r.") + " FROM {rows}"},
	Postgres: {once: true, rows: txRows + ", n int", text: "INSERT INTO @transactions (" + columnNames(txRows, "") + ") " +
		"SELECT " + columnNames(txRows, "r.") + " FROM {rows} ORDER BY r.n RETURNING id, wallet_id, tx_hash"},
}

const txRows = "wallet_id int, tx_hash bytes, status text, block_height int, block_position int, is_coinbase bool, " +
	"first_seen time, seq int, label text, is_context bool, is_public bool, version int, raw_tx bytes"

var (
	insertInputs = statement{rows: "tx_id int, wallet_id int, input_index int, prev_hash bytes, prev_index int",
		text: "INSERT INTO @tx_inputs (wallet_id, tx_id, input_index, prev_hash, prev_index) " +
			"SELECT r.wallet_id, r.tx_id, r.input_index, r.prev_hash, r.prev_index FROM {rows}"}
	// Most changes leave the height alone, and with it the indexes that have it.
	restateTxs = statement{rows: "id int, old int, status text, seq int, label text, is_context bool, is_public bool, version int",
		text: "UPDATE @transactions AS t SET status = r.status, seq = r.seq, label = r.label, is_context = r.is_context, is_public = " +
			"r.is_public, version = r.version FROM {rows} WHERE t.id = r.id AND t.version = r.old"}
	updateTxs = statement{
		rows: "id int, old int, status text, block_height int, block_position int, seq int, label text, is_context bool, is_public bool, " +
			"version int",
		text: "UPDATE @transactions AS t SET status = r.status, block_height = r.block_height, block_position = r.block_position, seq = r.seq, " +
			"label = r.label, is_context = r.is_context, is_public = r.is_public, version = r.version FROM {rows} " +
			"WHERE t.id = r.id AND t.version = r.old"}
	// The version that a change of the bytes has moved is compared once more.
	resignTxs = statement{rows: "id int, version int, raw_tx bytes",
		text: "UPDATE @transactions AS t SET raw_tx = r.raw_tx FROM {rows} WHERE t.id = r.id AND t.version = r.version"}
)

func height(h int32) any {
	if h == utxo.Unconfirmed {
		return nil
	}
	return h
}

func (w *savingWallets) insertTxs(set *utxo.ChangeSet) error {
	if len(set.Inserts) == 0 {
		return nil
	}
	txs, inputs := new(batch), new(batch)
	insert := insertTxs[w.store.Dialect]
	row := func(t *utxo.Tx) []any {
		return []any{int64(t.ID.Wallet), t.ID.Hash, t.Status, height(t.Height), t.Position, t.Coinbase, t.FirstSeen, t.Seq, t.Label, t.Context,
			t.Public, t.Version, t.Raw}
	}
	txs.first, inputs.first = set.Inserts[0].ID, set.Inserts[0].ID
	var err error
	if w.store.Dialect == SQLite {
		var last int64
		if err = w.read(&lastTx, nil, func(rows *sql.Rows) error { return rows.Scan(&last) }); err != nil {
			return err
		}
		for _, t := range set.Inserts {
			last++
			w.ids[t.ID] = last
			txs.add(append([]any{last}, row(t)...)...)
		}
		err = w.writeAll("transactions", writing{insert, txs})
	} else {
		for i, t := range set.Inserts {
			txs.add(append(row(t), i)...)
		}
		if err = w.writeReturning(insert, txs, w.haveID); err != nil {
			err = fmt.Errorf("%s: %w", writing{insert, txs}.named("transactions"), err)
		}
	}
	if err != nil {
		return err
	}
	for _, t := range set.Inserts {
		id := w.ids[t.ID]
		for at, op := range t.Inputs {
			inputs.add(id, int64(t.ID.Wallet), at, op.Hash, op.Index)
		}
	}
	return w.writeAll("inputs", writing{&insertInputs, inputs})
}

func (w *savingWallets) updateTxs(set *utxo.ChangeSet) error {
	moved, stay, resigned := new(batch), new(batch), new(batch)
	for i := range set.Updates {
		u := &set.Updates[i]
		id, to := w.ids[u.ID], moved
		if u.Raw != nil {
			nameFirst(resigned, u.ID)
			resigned.add(id, u.New.Version, u.Raw)
		}
		if u.Old.Height == u.New.Height && u.Old.Position == u.New.Position {
			to = stay
			stay.add(id, u.FromVersion, u.New.Status, u.New.Seq, u.New.Label, u.New.Context, u.New.Public, u.New.Version)
		} else {
			moved.add(id, u.FromVersion, u.New.Status, height(u.New.Height), u.New.Position, u.New.Seq, u.New.Label, u.New.Context, u.New.Public,
				u.New.Version)
		}
		nameFirst(to, u.ID)
	}
	return w.writeAll("transactions", writing{&updateTxs, moved}, writing{&restateTxs, stay}, writing{&resignTxs, resigned})
}

// spendingInput is the input of the row's spender that takes its output. It is not looked for
// where there is none.
const spendingInput = "CASE WHEN r.spent_by IS NOT NULL THEN (SELECT i.input_index FROM @tx_inputs i WHERE i.prev_hash = r.tx_hash " +
	"AND i.prev_index = r.output_index AND i.wallet_id = r.wallet_id AND i.tx_id = r.spent_by) END"

var (
	insertOutputs = statement{
		rows: "tx_id int, wallet_id int, output_index int, amount int, script bytes, owner_tag text, spent_by int, tx_hash bytes",
		text: "INSERT INTO @utxos (wallet_id, tx_id, output_index, amount, script, owner_tag, spent_by_tx_id, spent_input_index) " +
			"SELECT r.wallet_id, r.tx_id, r.output_index, r.amount, r.script, r.owner_tag, r.spent_by, " + spendingInput + " FROM {rows}"}
	moveSpenders = statement{rows: "wallet_id int, tx_id int, output_index int, old int, spent_by int, tx_hash bytes",
		text: "UPDATE @utxos AS u SET spent_by_tx_id = r.spent_by, spent_input_index = " + spendingInput + " FROM {rows} " +
			"WHERE u.wallet_id = r.wallet_id AND u.tx_id = r.tx_id AND u.output_index = r.output_index " +
			"AND u.spent_by_tx_id IS NOT DISTINCT FROM r.old"}
)

func (w *savingWallets) insertOutputs(set *utxo.ChangeSet) error {
	rows := new(batch)
	add := func(id utxo.TxID, o *utxo.Output) {
		script, by := o.Script, w.ids.orNone(id.Wallet, o.SpentBy)
		if script == nil {
			script = []byte{}
		}
		var hash any // to find the spender's input
		if by != nil {
			hash = id.Hash
		}
		nameFirst(rows, coinName{id, o.Index})
		rows.add(w.ids[id], int64(id.Wallet), o.Index, o.Amount, script, o.Tag, by, hash)
	}
	for _, t := range set.Inserts {
		for i := range t.Outputs {
			add(t.ID, &t.Outputs[i])
		}
	}
	for i := range set.Joined {
		add(set.Joined[i].ID, &set.Joined[i].Output)
	}
	return w.writeAll("outputs", writing{&insertOutputs, rows})
}

// coinName names an output in a refusal.
type coinName struct {
	utxo.TxID
	index uint32
}

func (c coinName) String() string { return fmt.Sprintf("%v:%d", c.TxID, c.index) }

func (w *savingWallets) moveSpenders(set *utxo.ChangeSet) error {
	rows := new(batch)
	for _, s := range set.Spends {
		nameFirst(rows, coinName{utxo.TxID{Wallet: s.Wallet, Hash: s.OutPoint.Hash}, s.OutPoint.Index})
		rows.add(int64(s.Wallet), w.ids.of(s.Wallet, s.OutPoint.Hash), s.OutPoint.Index, w.ids.orNone(s.Wallet, s.Old),
			w.ids.orNone(s.Wallet, s.New), s.OutPoint.Hash)
	}
	return w.writeAll("spent outputs", writing{&moveSpenders, rows})
}

const utxoID = "r.tx_id * 4294967296 + r.output_index"

var (
	insertEdges = statement{rows: "wallet_id int, loser int, winner int, declared bool", text: "INSERT INTO @tx_replacements " +
		"(wallet_id, replaced_tx_id, replacement_tx_id, declared) SELECT r.wallet_id, r.loser, r.winner, r.declared FROM {rows}"}
	declareEdges = statement{rows: "wallet_id int, loser int, winner int",
		text: "UPDATE @tx_replacements AS e SET declared = true FROM {rows} " +
			"WHERE e.wallet_id = r.wallet_id AND e.replaced_tx_id = r.loser AND e.replacement_tx_id = r.winner AND NOT e.declared"}
	insertLeases = statement{rows: "wallet_id int, tx_id int, output_index int, lock_id bytes, expires_at time, leased_at time",
		text: "INSERT INTO @utxo_leases (wallet_id, utxo_id, lock_id, expires_at, leased_at) SELECT r.wallet_id, " + utxoID +
			", r.lock_id, r.expires_at, r.leased_at FROM {rows}"}
	updateLeases = statement{
		rows: "wallet_id int, tx_id int, output_index int, lock_id bytes, expires_at time, leased_at time, old_lock bytes, old_end time",
		text: "UPDATE @utxo_leases AS l SET lock_id = r.lock_id, expires_at = r.expires_at, leased_at = r.leased_at FROM {rows} " +
			"WHERE l.wallet_id = r.wallet_id AND l.utxo_id = " + utxoID + " AND l.lock_id = r.old_lock AND l.expires_at = r.old_end"}
	deleteLeases = statement{rows: "wallet_id int, tx_id int, output_index int, lock_id bytes, expires_at time",
		text: "DELETE FROM @utxo_leases WHERE (wallet_id, utxo_id, lock_id, expires_at) IN " +
			"(SELECT r.wallet_id, " + utxoID + ", r.lock_id, r.expires_at FROM {rows})"}
)

func (w *savingWallets) saveEdges(set *utxo.ChangeSet) error {
	rows, declared := new(batch), new(batch)
	for _, r := range set.Replaced {
		nameFirst(rows, utxo.TxID{Wallet: r.Wallet, Hash: r.Loser})
		rows.add(int64(r.Wallet), w.ids.of(r.Wallet, r.Loser), w.ids.of(r.Wallet, r.Winner), r.Declared)
	}
	for _, r := range set.Declared {
		nameFirst(declared, utxo.TxID{Wallet: r.Wallet, Hash: r.Loser})
		declared.add(int64(r.Wallet), w.ids.of(r.Wallet, r.Loser), w.ids.of(r.Wallet, r.Winner))
	}
	return w.writeAll("replacements", writing{&insertEdges, rows}, writing{&declareEdges, declared})
}

func (w *savingWallets) saveLeases(set *utxo.ChangeSet) error {
	added, moved, gone := new(batch), new(batch), new(batch)
	for _, c := range set.Leases {
		wallet, id, index := int64(c.New.Wallet), w.ids.of(c.New.Wallet, c.New.OutPoint.Hash), c.New.OutPoint.Index
		old, lock := chainhash.Hash(c.Old.Lock), chainhash.Hash(c.New.Lock)
		name := coinName{utxo.TxID{Wallet: c.New.Wallet, Hash: c.New.OutPoint.Hash}, index}
		switch {
		case c.New.Until.IsZero():
			nameFirst(gone, name)
			gone.add(wallet, id, index, old, c.Old.Until)
		case c.Old.Until.IsZero():
			nameFirst(added, name)
			added.add(wallet, id, index, lock, c.New.Until, c.New.Since)
		default:
			nameFirst(moved, name)
			moved.add(wallet, id, index, lock, c.New.Until, c.New.Since, old, c.Old.Until)
		}
	}
	return w.writeAll("leases", writing{&deleteLeases, gone}, writing{&updateLeases, moved}, writing{&insertLeases, added})
}

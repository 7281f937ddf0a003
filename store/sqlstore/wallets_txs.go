package sqlstore

import (
	"database/sql"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// loadedTxs are the complete transactions that were read since the last write or lock. A plan needs the same ones
// again: for their rivals, and for the values of their outputs.
type loadedTxs map[utxo.TxID]*utxo.Tx

// foundTxs collects transactions, each once, and completes them with their inputs
// and outputs.
type foundTxs struct {
	wallets
	rows []txRow
	at   map[int64]int
}

type txRow struct {
	id int64
	tx *utxo.Tx
}

const txColumns = "SELECT t.id, t.wallet_id, t.tx_hash, t.status, t.block_height, t.block_position, t.is_coinbase, " +
	"t.first_seen, t.seq, t.label, t.is_context, t.is_public, t.version FROM "

func (f *foundTxs) scan(rows *sql.Rows) error {
	var id int64
	t := new(utxo.Tx)
	err := rows.Scan(&id, &t.ID.Wallet, (*hashColumn)(&t.ID.Hash), &t.Status, (*heightColumn)(&t.Height), &t.Position, &t.Coinbase,
		(*timeColumn)(&t.FirstSeen), &t.Seq, &t.Label, &t.Context, &t.Public, &t.Version)
	if err != nil {
		return located(err, "transactions", t.ID)
	}
	t.Arrival = id
	if _, again := f.at[id]; !again {
		f.at[id] = len(f.rows)
		f.rows = append(f.rows, txRow{id, t})
	}
	return nil
}

var (
	inputsOf = statement{each: "wallet_id int, tx_id int", text: "SELECT i.tx_id, i.input_index, i.prev_hash, i.prev_index " +
		"FROM @tx_inputs i WHERE i.wallet_id = r.wallet_id AND i.tx_id = r.tx_id"}
	outputsOf = statement{each: "wallet_id int, tx_id int",
		text: "SELECT u.tx_id, u.output_index, u.amount, u.script, u.owner_tag, s.tx_hash " +
			"FROM @utxos u LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id WHERE u.wallet_id = r.wallet_id AND u.tx_id = r.tx_id"}
)

// collect reads transactions without their inputs and outputs.
func (w wallets) collect(st *statement, set *batch, args ...any) (*foundTxs, error) {
	f := &foundTxs{wallets: w, at: map[int64]int{}}
	return f, w.read(st, set, f.scan, args...)
}

// complete reads the inputs and outputs of what was found and is not loaded.
func (f *foundTxs) complete(err error) ([]*utxo.Tx, error) {
	if err != nil || len(f.rows) == 0 {
		return nil, err
	}
	if f.loaded == nil {
		f.loaded = make(loadedTxs, len(f.rows))
	}
	all := make([]*utxo.Tx, len(f.rows))
	first := make(map[chainhash.Hash]*utxo.Tx, len(f.rows)) // the inputs are the same in every wallet
	inputs, outputs := new(batch), new(batch)
	for i, r := range f.rows {
		if all[i] = f.loaded[r.tx.ID]; all[i] != nil {
			first[r.tx.ID.Hash] = all[i]
		}
	}
	for i, r := range f.rows {
		if all[i] != nil {
			continue
		}
		all[i] = r.tx
		outputs.add(int64(r.tx.ID.Wallet), r.id)
		if first[r.tx.ID.Hash] == nil {
			first[r.tx.ID.Hash] = r.tx
			inputs.add(int64(r.tx.ID.Wallet), r.id)
		}
	}
	if err := f.read(&inputsOf, inputs, f.input); err != nil {
		return nil, err
	}
	if err := f.read(&outputsOf, outputs, f.output); err != nil {
		return nil, err
	}
	for _, t := range all {
		t.Inputs = first[t.ID.Hash].Inputs
		slices.SortFunc(t.Outputs, func(a, b utxo.Output) int { return int(int64(a.Index) - int64(b.Index)) })
		if !f.direct { // a host can write, and roll back, beside us
			f.loaded[t.ID] = t
		}
	}
	return all, nil
}

func (f *foundTxs) input(rows *sql.Rows) error {
	var id int64
	var at int
	var op wire.OutPoint
	if err := rows.Scan(&id, &at, (*hashColumn)(&op.Hash), (*indexColumn)(&op.Index)); err != nil {
		return err
	}
	t := f.rows[f.at[id]].tx
	for len(t.Inputs) <= at {
		t.Inputs = append(t.Inputs, wire.OutPoint{})
	}
	t.Inputs[at] = op
	return nil
}

func (f *foundTxs) output(rows *sql.Rows) error {
	var id int64
	var out utxo.Output
	err := rows.Scan(&id, (*indexColumn)(&out.Index), &out.Amount, &out.Script, &out.Tag, (*hashColumn)(&out.SpentBy))
	t := f.rows[f.at[id]].tx
	t.Outputs = append(t.Outputs, out)
	return err
}

// inArrival sorts by the surrogate id, which is the order of arrival.
func (f *foundTxs) inArrival() *foundTxs {
	slices.SortFunc(f.rows, func(a, b txRow) int { return int(a.id - b.id) })
	for i, r := range f.rows {
		f.at[r.id] = i
	}
	return f
}

var (
	txsNamed = statement{each: "wallet_id int, tx_hash bytes", text: txColumns +
		"@transactions t WHERE t.tx_hash = r.tx_hash AND (t.wallet_id = r.wallet_id OR r.wallet_id = 0)"}
	txsSpending = statement{each: "prev_hash bytes, prev_index int", text: txColumns +
		"@tx_inputs i CROSS JOIN @transactions t WHERE i.prev_hash = r.prev_hash AND i.prev_index = r.prev_index AND t.id = i.tx_id"}
	txsBelow = statement{each: "tx_hash bytes", text: txColumns +
		"@tx_inputs i CROSS JOIN @transactions t WHERE i.prev_hash = r.tx_hash AND t.id = i.tx_id"}
	txsAt = statement{text: txColumns + "@transactions t WHERE t.block_height BETWEEN $1 AND $2 " +
		"ORDER BY t.block_height, t.wallet_id, t.block_position"}
	txsLive = statement{text: txColumns + "@transactions t WHERE t.wallet_id = $1 AND t.block_height IS NULL " +
		"AND t.status IN ('pending', 'published') AND NOT t.is_context ORDER BY t.id"}
	// By the sign SQLite reads transactions_live and sorts; else it would read all
	// transactions in the order of their ids.
	txsPendingElsewhere = statement{text: txColumns + "@transactions t WHERE t.wallet_id <> $1 AND t.block_height IS NULL " +
		"AND t.status IN ('pending', 'published') AND NOT t.is_context AND t.status = 'pending' ORDER BY +t.id"} // as its index says
	selectSeq = statement{text: "SELECT last_seq FROM @chain_tip"}
)

// names makes a batch of transaction ids.
func names(ids []utxo.TxID) *batch {
	set := new(batch)
	for _, id := range ids {
		set.add(int64(id.Wallet), id.Hash)
	}
	return set
}

// hashesOf makes a batch of transaction hashes.
func hashesOf(hashes []chainhash.Hash) *batch {
	set := new(batch)
	for _, h := range hashes {
		set.add(h)
	}
	return set
}

// outpoints makes a batch of outpoints.
func outpoints(ops []wire.OutPoint) *batch {
	set := new(batch)
	for _, op := range ops {
		set.add(op.Hash, op.Index)
	}
	return set
}

// Txs implements [utxo.Reader].
func (w wallets) Txs(ids ...utxo.TxID) ([]*utxo.Tx, error) {
	f, err := w.collect(&txsNamed, names(ids))
	return f.complete(err)
}

// Spenders implements [utxo.Reader].
func (w wallets) Spenders(ops ...wire.OutPoint) ([]*utxo.Tx, error) {
	f, err := w.collect(&txsSpending, outpoints(ops))
	return f.inArrival().complete(err)
}

// Children implements [utxo.Reader].
func (w wallets) Children(hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	f, err := w.collect(&txsBelow, hashesOf(hashes))
	return f.inArrival().complete(err)
}

// Seq implements [utxo.Reader].
func (w wallets) Seq() (seq int64, err error) {
	err = w.read(&selectSeq, nil, func(rows *sql.Rows) error { return rows.Scan(&seq) })
	return seq, err
}

// ConfirmedAt implements [utxo.Reader].
func (w wallets) ConfirmedAt(from, to int32) ([]*utxo.Tx, error) {
	f, err := w.collect(&txsAt, nil, int64(from), int64(to))
	return f.complete(err)
}

// LiveUnconfirmed implements [utxo.Queries].
func (w wallets) LiveUnconfirmed(id utxo.WalletID) ([]*utxo.Tx, error) {
	f, err := w.collect(&txsLive, nil, int64(id))
	if err == nil && len(f.rows) == 0 {
		err = w.known(id)
	}
	return f.complete(err)
}

// PendingElsewhere implements [utxo.Queries].
func (w wallets) PendingElsewhere(id utxo.WalletID) ([]*utxo.Tx, error) {
	f, err := w.collect(&txsPendingElsewhere, nil, int64(id))
	return f.complete(err)
}

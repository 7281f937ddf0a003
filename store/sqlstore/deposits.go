package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// Deposits are the deposits that package follow keeps, and what the wallets know of
// them, in one transaction. What is a rule of theirs is in package utxo.
type Deposits struct{ wallets }

// DepositsOf returns the deposits in a transaction of this package:
// [statemachine.ErrInvalid] for one of another store, [store.ErrNoDomain] for a
// database without wallets.
func DepositsOf(u store.Unit) (Deposits, error) {
	t, ok := u.(*tx)
	if !ok {
		return Deposits{}, fmt.Errorf("%w: a %T is no transaction of sqlstore", statemachine.ErrInvalid, u)
	}
	if none, lacks := t.lacks(store.DomainWallets); lacks {
		return Deposits{}, none.Cause
	}
	return Deposits{wallets{t}}, nil
}

// storedDeposit is a row: a deposit, and the height that it is looked for by.
type storedDeposit struct {
	utxo.Deposit
	deepAt int64
}

var (
	depositTable = newTable(table[storedDeposit]{
		name: "deposits",
		keys: 2,
		fixed: func(d *storedDeposit) list {
			return list{{"tx_hash bytes", hashField{&d.OutPoint.Hash}},
				{"output_index int", indexField{&d.OutPoint.Index}}, {"wallet_id int", always(&d.Wallet)},
				{"owner_tag text", always(&d.Tag)}, {"amount int", always(&d.Amount)}}
		},
		state: func(d *storedDeposit) list {
			return list{{"block_height int", heightField{&d.Height}}, {"block_hash bytes", hashField{&d.Block}},
				{"in_chain bool", always(&d.InChain)}, {"state text", always(&d.State)}, {"round int", always(&d.Round)},
				{"depth int", always(&d.Depth)}, {"deep_at int", always(&d.deepAt)}, {"reversed_by text", always(&d.Actor)},
				{"reason text", always(&d.Reason)}, {"changed_at time", always(&d.At)}}
		},
	})

	depositsNamed = statement{each: "tx_hash bytes, output_index int", text: "SELECT " + depositTable.columns("x.") +
		" FROM @deposits x WHERE x.tx_hash = r.tx_hash AND x.output_index = r.output_index"}
	depositsWaiting = statement{text: "SELECT " + depositTable.columns("x.") + " FROM @deposits x " +
		"WHERE x.in_chain AND x.state <> 'credited' AND (x.block_height, x.tx_hash, x.output_index) > ($1, $2, $3) " +
		"AND (x.amount >= $4 OR x.state = 'reversed') " +
		"ORDER BY x.block_height, x.tx_hash, x.output_index LIMIT $5"}
	depositsShaken = statement{text: "SELECT " + depositTable.columns("x.") + " FROM @deposits x WHERE x.state = 'credited' " +
		"AND (x.deep_at, x.tx_hash, x.output_index) > ($1, $2, $3) ORDER BY x.deep_at, x.tx_hash, x.output_index LIMIT $4"}
	tallyWaiting = statement{text: "SELECT count(*), CAST(coalesce(sum(x.amount), 0) AS {int}), min(x.changed_at) FROM @deposits x " +
		"WHERE x.in_chain AND x.state <> 'credited' AND (x.amount >= $1 OR x.state = 'reversed')"}
	tallyShaken = statement{text: "SELECT count(*), CAST(coalesce(sum(x.amount), 0) AS {int}) FROM @deposits x " +
		"WHERE x.state = 'credited' AND x.deep_at > $1"}
	moveDeposits = statement{once: true,
		rows: depositTable.state(new(storedDeposit)).spec() + ", tx_hash bytes, output_index int, old_state text, old_round int",
		text: "UPDATE @deposits AS x SET " + assignments(depositTable.state(new(storedDeposit)).spec()) +
			" FROM {rows} WHERE x.tx_hash = r.tx_hash AND x.output_index = r.output_index " +
			"AND x.state = r.old_state AND x.round = r.old_round"}

	lastTx = statement{text: "SELECT coalesce(max(id), 0) FROM @transactions"}

	// A sight is one statement, so that its parts are of one moment where each statement
	// of a transaction sees what was committed before it.
	sightsOfTxs     = statement{each: "wallet_id int, tx_hash bytes", text: sightColumns + sightOf}
	sightsOfOutputs = statement{each: "wallet_id int, tx_hash bytes, output_index int",
		text: sightColumns + sightOf + " AND u.output_index = r.output_index"}
	sightsBetween = statement{text: sightColumns + " AND t.id > $1 AND t.id <= $2 AND t.block_height IS NOT NULL"}
)

const sightOf = " AND t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id"

const sightColumns = "SELECT t.wallet_id, t.tx_hash, u.output_index, u.amount, u.owner_tag, t.status, t.is_coinbase, " +
	"t.block_height, b.block_hash, p.height, coalesce(s.scanned_to, CASE WHEN w.follows_tip THEN p.height ELSE w.scanned_to END) " +
	"FROM @transactions t CROSS JOIN @utxos u CROSS JOIN @wallets w " +
	"CROSS JOIN (SELECT coalesce(max(block_height), -1) AS height FROM @blocks) p " +
	"LEFT JOIN @blocks b ON b.block_height = t.block_height " +
	"LEFT JOIN @wallet_owners o ON o.wallet_id = u.wallet_id AND o.owner_tag = u.owner_tag " +
	"LEFT JOIN @wallet_scans s ON s.wallet_id = o.wallet_id AND s.scan_id = o.scan_id " +
	"WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND w.id = t.wallet_id"

// OfLines returns what is known of the owned outputs of transactions, by the ids that
// their lines in the log have.
func (d Deposits) OfLines(ids ...string) ([]utxo.DepositSight, error) {
	set, known := new(batch), map[utxo.TxID]bool{}
	for _, text := range ids {
		id, err := parseTxID(text)
		if err != nil {
			return nil, fmt.Errorf("%w: a transaction %q: %w", statemachine.ErrCorrupt, text, err)
		}
		if !known[id] {
			set.add(int64(id.Wallet), id.Hash)
		}
		known[id] = true
	}
	return d.sights(&sightsOfTxs, set)
}

// LastTx is the highest number that a stored transaction has, 0 for none.
func (d Deposits) LastTx() (last int64, err error) {
	err = d.read(&lastTx, nil, func(rows *sql.Rows) error { return rows.Scan(&last) })
	return last, err
}

// Between returns what is known of the owned outputs of confirmed transactions whose numbers are above
// after, and no higher than to.
func (d Deposits) Between(after, to int64) ([]utxo.DepositSight, error) {
	return d.sights(&sightsBetween, nil, after, to)
}

func (d Deposits) sights(st *statement, set *batch, args ...any) (all []utxo.DepositSight, err error) {
	var s utxo.DepositSight
	err = d.read(st, set, func(rows *sql.Rows) error {
		err := rows.Scan(&s.Wallet, (*hashColumn)(&s.OutPoint.Hash), (*indexColumn)(&s.OutPoint.Index), &s.Amount, &s.Tag, &s.Status,
			&s.Coinbase, (*heightColumn)(&s.Height), (*hashColumn)(&s.Block), &s.Tip, &s.Scanned)
		if err != nil {
			return located(err, "transactions", utxo.TxID{Wallet: s.Wallet, Hash: s.OutPoint.Hash})
		}
		all = append(all, s)
		return nil
	}, args...)
	return all, err
}

// Sights returns what is known of the outputs of deposits, in their order. Where the
// wallet has no such output, a sight knows the tip alone.
func (d Deposits) Sights(deposits ...utxo.Deposit) ([]utxo.DepositSight, error) {
	set := new(batch)
	for i := range deposits {
		set.add(int64(deposits[i].Wallet), deposits[i].OutPoint.Hash, deposits[i].OutPoint.Index)
	}
	found, err := d.sights(&sightsOfOutputs, set)
	if err != nil {
		return nil, err
	}
	at := map[wire.OutPoint]int{}
	for i := range found {
		at[found[i].OutPoint] = i
	}
	all := make([]utxo.DepositSight, len(deposits))
	for i := range deposits {
		if j, ok := at[deposits[i].OutPoint]; ok {
			all[i] = found[j]
			continue
		}
		tip, ok, err := d.Tip()
		if err != nil {
			return nil, err
		}
		if !ok {
			tip.Height = -1
		}
		all[i] = utxo.DepositSight{Owner: deposits[i].Owner, OutPoint: deposits[i].OutPoint, Height: utxo.Unconfirmed,
			Tip: tip.Height, Scanned: -1}
	}
	return all, nil
}

// Named returns those of the outputs that are deposits on file, in any order.
func (d Deposits) Named(ops ...wire.OutPoint) ([]utxo.Deposit, error) {
	return d.find(&depositsNamed, outpoints(ops))
}

// Waiting returns up to limit deposits that are in the best chain and not credited, by height and outpoint, after the
// given one: those of at least the minimum, and those that were credited before and reversed, whatever their amount.
func (d Deposits) Waiting(minimum int64, after *utxo.Deposit, limit int) ([]utxo.Deposit, error) {
	if after == nil {
		return d.find(&depositsWaiting, nil, int64(-1), []byte{}, int64(-1), minimum, int64(limit))
	}
	return d.find(&depositsWaiting, nil, int64(after.Height), after.OutPoint.Hash[:], int64(after.OutPoint.Index), minimum, int64(limit))
}

// Shaken returns up to limit deposits that are shaken at the height of a tip, by the
// height at which they are not and by outpoint, after the given one.
func (d Deposits) Shaken(tip int32, after *utxo.Deposit, limit int) ([]utxo.Deposit, error) {
	if after == nil {
		return d.find(&depositsShaken, nil, int64(tip)+1, []byte{}, int64(-1), int64(limit))
	}
	return d.find(&depositsShaken, nil, int64(after.DeepAt()), after.OutPoint.Hash[:], int64(after.OutPoint.Index), int64(limit))
}

func (d Deposits) find(st *statement, set *batch, args ...any) (all []utxo.Deposit, err error) {
	err = depositTable.read(d.tx, st, set, func(s *storedDeposit) { all = append(all, s.Deposit) }, args...)
	return all, err
}

// DepositTally is what a store counts of deposits.
type DepositTally struct {
	Waiting, Shaken             int
	WaitingAmount, ShakenAmount int64     // satoshi
	WaitsSince                  time.Time // of the oldest that waits; zero for none
}

// Tally counts the deposits that Waiting and Shaken return.
func (d Deposits) Tally(minimum int64, tip int32) (t DepositTally, err error) {
	err = d.read(&tallyWaiting, nil, func(rows *sql.Rows) error {
		return rows.Scan(&t.Waiting, &t.WaitingAmount, maybe(&t.WaitsSince))
	}, minimum)
	if err == nil {
		err = d.read(&tallyShaken, nil, func(rows *sql.Rows) error { return rows.Scan(&t.Shaken, &t.ShakenAmount) }, int64(tip))
	}
	return t, err
}

// Insert puts deposits on file.
func (d Deposits) Insert(deposits ...utxo.Deposit) error {
	rows := new(batch)
	for i := range deposits {
		depositTable.insertRow(rows, &storedDeposit{deposits[i], int64(deposits[i].DeepAt())})
	}
	return d.some(&depositTable.insertOne, rows)
}

// Move writes deposits whose rows still have the state and the round that were read:
// [statemachine.ErrConflict] if one has not.
func (d Deposits) Move(old, now []utxo.Deposit) error {
	rows := new(batch)
	for i := range now {
		row := &storedDeposit{now[i], int64(now[i].DeepAt())}
		rows.add(append(cells(depositTable.state(row), depositTable.fixed(row)[:depositTable.keys]), old[i].State, old[i].Round)...)
	}
	if rows.len() == 0 {
		return nil
	}
	n, err := d.write(&moveDeposits, rows)
	if err != nil {
		return err
	}
	return want(rows.len(), n, "deposits")
}

// hashField is a hash; NULL is the zero hash.
type hashField struct{ at *chainhash.Hash }

func (f hashField) Scan(src any) error { return (*hashColumn)(f.at).Scan(src) }

func (f hashField) Value() (driver.Value, error) {
	if *f.at == (chainhash.Hash{}) {
		return nil, nil
	}
	return f.at[:], nil
}

// heightField is the height of a block; NULL is [utxo.Unconfirmed].
type heightField struct{ at *int32 }

func (f heightField) Scan(src any) error { return (*heightColumn)(f.at).Scan(src) }

func (f heightField) Value() (driver.Value, error) {
	if *f.at == utxo.Unconfirmed {
		return nil, nil
	}
	return int64(*f.at), nil
}

// indexField is the number of an output.
type indexField struct{ at *uint32 }

func (f indexField) Scan(src any) error { return (*indexColumn)(f.at).Scan(src) }

func (f indexField) Value() (driver.Value, error) { return int64(*f.at), nil }

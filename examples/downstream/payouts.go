package downstream

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// What follows keeps the withdrawals of settle in tables of the host's own, for a host that pays each request by a
// transaction of its own (without batches). It is meant to be copied: docs/tables.md says what each rule is for.
//
//	payouts          one row for each request of a customer
//	payout_attempts  what was tried to pay it: orders, their executions, and transactions; and the nonces that are taken
//	payout_log       what is never changed: history, incidents, acknowledgements, statements, the journal
//	payout_setup     what is of no payout: hot wallets, switches, processes
//
// Columns are what some query, some unique rule or the host's own code needs; the rest of a record is JSON in details.
// SQLite has one writer at a time, and a [Store] has one connection, so that each rule is read, compared and written
// within a transaction, and the unique indexes only stand behind it.

// Schema makes the tables. State of payouts and payout_attempts has the host's words, see [requestStates] and
// [jobStates]; times are microseconds since 1970.
const Schema = `
CREATE TABLE payouts (
	id TEXT PRIMARY KEY, customer TEXT NOT NULL, coin TEXT NOT NULL, network TEXT NOT NULL, address TEXT NOT NULL,
	amount TEXT NOT NULL, state TEXT NOT NULL, requested_at INTEGER NOT NULL, refunded_at INTEGER, revision INTEGER NOT NULL,
	details TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX payouts_by_time ON payouts (requested_at, id);
CREATE INDEX payouts_of_customer ON payouts (customer, coin, requested_at);
CREATE INDEX payouts_open ON payouts (state, network) WHERE state <> 'paid' AND refunded_at IS NULL;

CREATE TABLE payout_attempts (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	kind TEXT NOT NULL,    -- order, execution, transaction, stray or filler
	payout TEXT REFERENCES payouts, -- NULL: a filler, which pays nobody
	job TEXT,              -- the order
	number INTEGER,        -- of an execution its fence, of an order 0, else the number within the payout
	state TEXT,            -- of an order
	due_at INTEGER,        -- of an order that has not ended: nothing of it is due before
	slot TEXT,             -- the wallet that the order holds while it works
	network TEXT,          -- of an order, and of what has a hash
	wallet TEXT, nonce INTEGER, -- that this row was the first to take
	hash TEXT,             -- in the form in which hashes are compared
	output INTEGER,        -- NULL: the whole transaction
	details TEXT NOT NULL);
CREATE UNIQUE INDEX payout_attempts_job ON payout_attempts (job, number) WHERE kind IN ('order', 'execution');
CREATE UNIQUE INDEX payout_attempts_number ON payout_attempts (payout, kind, number) WHERE kind IN ('transaction', 'stray');
CREATE UNIQUE INDEX payout_attempts_active ON payout_attempts (payout) WHERE kind = 'order' AND state <> 'given up';
CREATE UNIQUE INDEX payout_attempts_slot ON payout_attempts (slot) WHERE slot IS NOT NULL;
CREATE UNIQUE INDEX payout_attempts_nonce ON payout_attempts (wallet, nonce) WHERE nonce IS NOT NULL;
CREATE INDEX payout_attempts_due ON payout_attempts (state, due_at) WHERE kind = 'order' AND state NOT IN ('done', 'given up');
CREATE INDEX payout_attempts_hash ON payout_attempts (hash, network) WHERE hash IS NOT NULL;
CREATE INDEX payout_attempts_of ON payout_attempts (payout, n);

CREATE TABLE payout_log (
	n INTEGER PRIMARY KEY AUTOINCREMENT, -- with one writer it grows in the order of commits
	kind TEXT NOT NULL,    -- history, incident, acknowledgement, statement, switch or journal
	subject TEXT NOT NULL, -- the record, the payout, or the network
	unique_key TEXT,       -- NULL: the same may be said again
	details TEXT NOT NULL);
CREATE UNIQUE INDEX payout_log_key ON payout_log (kind, unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX payout_log_kind ON payout_log (kind, n);
CREATE INDEX payout_log_subject ON payout_log (kind, subject, n);
CREATE TRIGGER payout_log_kept BEFORE UPDATE ON payout_log BEGIN SELECT raise(ABORT, 'payout_log is never changed'); END;
CREATE TRIGGER payout_log_whole BEFORE DELETE ON payout_log BEGIN SELECT raise(ABORT, 'payout_log is never changed'); END;

CREATE TABLE payout_setup (
	kind TEXT NOT NULL,    -- wallet, switch or process
	key TEXT NOT NULL,
	network TEXT,          -- of a wallet
	details TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;
`

// Store is a [store.Store] on the tables of [Schema].
type Store struct {
	db  *sql.DB
	now func() time.Time
}

var _ store.Store[*Unit] = (*Store)(nil)

// New returns a store on a SQLite database that has the tables. A transaction that writes must begin with the lock of the
// writer, and a commit must be on the disk when it returns: with modernc.org/sqlite the name of the database ends with
// ?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full). New bounds db to one
// connection. now is the clock of leases and due times; nil means [time.Now].
func New(db *sql.DB, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	db.SetMaxOpenConns(1)
	return &Store{db, now}
}

// Update implements [store.Store]. fn runs once, since nobody else writes meanwhile.
func (s *Store) Update(ctx context.Context, fn func(*Unit) error) error {
	u, err := s.run(ctx, fn, true)
	if u == nil || err == nil {
		return err
	}
	lines := statemachine.Undone(u.said, err)
	if len(lines) == 0 {
		return err
	}
	// What a person tried stays in the journal, whatever became of it, and also if ctx has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if _, lost := s.run(ctx, func(u *Unit) error { return u.Journal().Append(lines...) }, true); lost != nil {
		return fmt.Errorf("%w (and the journal lacks %+v: %w)", err, lines, lost)
	}
	return err
}

// View implements [store.Store].
func (s *Store) View(ctx context.Context, fn func(*Unit) error) error {
	_, err := s.run(ctx, fn, false)
	return err
}

func (s *Store) run(ctx context.Context, fn func(*Unit) error, writable bool) (*Unit, error) {
	if fn == nil {
		return nil, fmt.Errorf("%w: the function is nil", statemachine.ErrInvalid)
	}
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: !writable})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // also if fn panics; nothing after a commit
	u := &Unit{ctx: ctx, tx: tx, now: s.now, writable: writable}
	defer func() { u.writable = false }()
	if err := fn(u); err != nil {
		return u, err
	}
	if u.failed != nil { // fn must not commit past a refused write
		return u, u.failed
	}
	if !writable {
		return u, nil
	}
	return u, tx.Commit()
}

// Unit is one transaction. It has no method of batches: a [store.Withdrawals] of it pays each request alone.
type Unit struct {
	ctx      context.Context
	tx       *sql.Tx
	now      func() time.Time
	writable bool
	failed   error                      // the first write that was refused
	said     []statemachine.JournalLine // that the journal was given
}

var _ store.WithdrawalUnit = (*Unit)(nil)

// Exec runs a statement of the host's own in the transaction: its rows are committed with those of settle, or not at all.
func (u *Unit) Exec(query string, args ...any) (sql.Result, error) {
	return u.tx.ExecContext(u.ctx, query, args...)
}

// Now implements [store.Clock].
func (u *Unit) Now() (time.Time, error) { return u.now().UTC().Truncate(time.Microsecond), nil }

// The parts of [store.WithdrawalUnit].

func (u *Unit) Withdrawals() store.WithdrawalRecords { return records{Unit: u} }
func (u *Unit) HotWallets() store.HotWalletRecords   { return wallets{Unit: u} }
func (u *Unit) Switches() store.SwitchRecords        { return switchRecords{Unit: u} }
func (u *Unit) Journal() store.JournalRecords        { return journal{Unit: u} }
func (u *Unit) Processes() store.ProcessRecords      { return processRecords{Unit: u} }

// write runs a write. One that is refused ends the transaction.
func (u *Unit) write(fn func() error) error {
	if !u.writable {
		return fmt.Errorf("%w: a write outside an update", statemachine.ErrIllegal)
	}
	if u.failed == nil {
		u.failed = fn()
	}
	return u.failed
}

// exec runs a statement and reports whether it has changed a row.
func (u *Unit) exec(query string, args ...any) (changed bool, err error) {
	done, err := u.Exec(query, args...)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// read returns the rows of a query. into names where the columns of one go.
func read[T any](u *Unit, into func(*T) []any, query string, args ...any) (all []T, err error) {
	rows, err := u.tx.QueryContext(u.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := rows.Scan(into(&row)...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// list is read of the one column details; column is read of another one.
func list[T any](u *Unit, query string, args ...any) ([]T, error) {
	return read(u, func(v *T) []any { return []any{details{v}} }, query, args...)
}

func column[T any](u *Unit, query string, args ...any) ([]T, error) {
	return read(u, func(v *T) []any { return []any{v} }, query, args...)
}

// first is the first of what was read, zero if there is none.
func first[T any](all []T, err error) (v T, ok bool, _ error) {
	if err != nil || len(all) == 0 {
		return v, false, err
	}
	return all[0], true, nil
}

// details, moment and state are how values lie in a column. Each holds a pointer, and is both written from it and read
// into it.
type (
	details struct{ of any }
	moment  struct{ *time.Time }

	state[S comparable] struct {
		of    *S
		names map[S]string
	}
)

func (d details) Value() (driver.Value, error) {
	text, err := json.Marshal(d.of)
	return string(text), err
}

func (d details) Scan(src any) error {
	text, _ := src.(string)
	if err := json.Unmarshal([]byte(text), d.of); err != nil {
		return fmt.Errorf("%w: %w", statemachine.ErrCorrupt, err)
	}
	return nil
}

func (m moment) Value() (driver.Value, error) {
	if m.IsZero() {
		return nil, nil
	}
	return m.UnixMicro(), nil
}

func (m moment) Scan(src any) error {
	*m.Time = time.Time{}
	if micros, ok := src.(int64); ok {
		*m.Time = time.UnixMicro(micros).UTC()
	}
	return nil
}

func (s state[S]) Value() (driver.Value, error) { return s.names[*s.of], nil }

func (s state[S]) Scan(src any) error {
	for is, name := range s.names {
		if name == src {
			*s.of = is
			return nil
		}
	}
	return fmt.Errorf("%w: a state %v", statemachine.ErrCorrupt, src)
}

// The host's words for the states of settle.
var (
	requestStates = map[withdrawal.RequestStatus]string{
		withdrawal.RequestPending: "requested", withdrawal.RequestApproved: "accepted", withdrawal.RequestQueued: "paying",
		withdrawal.RequestCompleted: "paid", withdrawal.RequestFailed: "unpaid", withdrawal.RequestRejected: "refused",
		withdrawal.RequestCancelled: "withdrawn"}
	jobStates = map[withdrawal.JobStatus]string{
		withdrawal.JobPending: "waiting", withdrawal.JobProcessing: "working", withdrawal.JobConfirming: "sent",
		withdrawal.JobConfirmed: "done", withdrawal.JobFailed: "given up"}
)

// conflict is the refusal of a write of what is not stored any more as it was read.
func conflict(machine string, id any, why string) error {
	return refusal(statemachine.ErrConflict, machine, id, "save", why)
}

func refusal(err error, machine string, id any, event, why string) error {
	return &statemachine.Refusal{Err: err, Machine: machine, ID: fmt.Sprint(id), Event: event, Reason: why}
}

// readable reports whether something could be read: an error that says that its record is broken is no error of others.
func readable(err error) (bool, error) {
	if errors.Is(err, statemachine.ErrCorrupt) {
		return false, nil
	}
	return err == nil, err
}

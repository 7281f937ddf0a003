package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// session is a connection, or a transaction of one, with its prepared
// statements. PostgreSQL drivers keep theirs by themselves: stmts is nil.
type session struct {
	db interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
	stmts map[string]*sql.Stmt
	close func() error
}

func (c *session) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := c.stmts[text]; st != nil {
		return st, nil
	}
	st, err := c.db.PrepareContext(ctx, text)
	if err == nil {
		c.stmts[text] = st
	}
	return st, err
}

func (c *session) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if c.stmts == nil {
		return c.db.QueryContext(ctx, text, args...)
	}
	st, err := c.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (c *session) exec(ctx context.Context, text string, args ...any) (int64, error) {
	var res sql.Result
	var err error
	if c.stmts == nil {
		res, err = c.db.ExecContext(ctx, text, args...)
	} else {
		var st *sql.Stmt
		if st, err = c.prepare(ctx, text); err == nil {
			res, err = st.ExecContext(ctx, args...)
		}
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c *session) end() error {
	for _, st := range c.stmts {
		_ = st.Close()
	}
	return c.close()
}

var errDone = errors.New("the transaction is over")

// tx is one transaction over all domains. Writes are delayed until the next
// read or the end, so that a change costs few statements.
type tx struct {
	ctx     context.Context
	late    context.Context // that of its statements, which may end later
	store   *Store
	run     *session
	start   func() error // sends BEGIN; nil: it was sent
	patient func()       // see unit
	last    bool         // no statement follows the writes that wait
	landed  bool         // they are committed, see alone
	view    bool
	direct  bool                       // nothing is delayed
	host    *sql.Tx                    // of UpdateTx, for the host's statements
	open    []*sql.Rows                // what these returned
	said    []statemachine.JournalLine // lines that the journal was given
	wrote   bool                       // a statement was sent that may have written
	pending []func() error             // delayed writes
	writing bool                       // they are being carried out
	stages  []stage                    // writes of theirs that are sent together, see later
	looked  bool                       // the caller has read, and would read anew in another transaction
	loaded  loadedTxs                  // what package utxo has read, see wallets.go
	stale   string                     // the record and the old version that a refused save had
	before  string                     // what stale was when this transaction ran the last time
	err     error                      // the first failure of the database, which ends the transaction
}

var _ store.Unit = (*tx)(nil)

func (s *Store) within(ctx context.Context, host *sql.Tx) (*tx, error) {
	t := &tx{ctx: ctx, late: ctx, store: s, run: &session{db: host}, direct: true}
	if s.Dialect == Postgres {
		err := checkPostgres(ctx, host)
		if err == nil {
			err = checkIsolation(ctx, host)
		}
		if err != nil {
			return nil, err
		}
		return t, nil
	}
	t.run.stmts = map[string]*sql.Stmt{} // they end with the transaction
	if err := checkPragmas(ctx, host); err != nil {
		return nil, err
	}
	// The write lock is taken now, if the host has not begun IMMEDIATE.
	_, err := host.ExecContext(ctx, s.expand(lockFile))
	return t, err
}

// save delays a write. Name is the record that a View refuses to write.
func (t *tx) save(name string, write func() error) error {
	if t.view {
		return &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: name, Event: "save", Reason: "a View writes nothing"}
	}
	if t.err != nil {
		return t.err
	}
	t.pending = append(t.pending, write)
	if t.direct {
		return t.flush()
	}
	return nil
}

// flush carries the delayed writes out.
func (t *tx) flush() error {
	writes, was := t.pending, t.writing
	t.pending, t.writing = nil, true
	end := t.settle
	if t.last && !was {
		end = t.alone
	}
	for _, write := range append(writes, end) {
		if t.err != nil {
			break
		}
		if err := write(); err != nil {
			t.err = err
		}
	}
	t.writing = was
	return t.err
}

// begin sends BEGIN before the first statement that needs it. The clock needs none, so that a transaction which only
// asks it and then writes one statement is that statement, see alone.
func (t *tx) begin() error {
	start := t.start
	if t.start = nil; start == nil {
		return nil
	}
	return t.fail(start())
}

// again reports whether running the transaction again, after it failed with err, may succeed. The database may have let
// another one go first, or a connection may have led to a server that takes no writes, see demoted. On PostgreSQL
// another transaction may also have changed a row between a read and a write of this one; then the next run reads the
// new row. Any other conflict stays: a record that was read before the transaction began has the same old version in
// the next run, and the rules of a domain refuse again. On SQLite nobody writes between a read and a write.
func (t *tx) again(err error) bool {
	switch {
	case errors.Is(err, store.ErrUnknownCommit):
		return false
	case transient(err), errors.Is(err, store.ErrRetry), // fn may have met it by a look of its own
		t.demoted(err):
		return true
	}
	old := func(refusal error) bool { return errors.Is(err, refusal) && errors.Is(t.err, refusal) }
	return t.store.Dialect == Postgres && t.looked && (old(statemachine.ErrConflict) || old(statemachine.ErrFenced)) &&
		(t.stale == "" || t.stale != t.before)
}

// demoted reports an error of a connection to a server that takes no writes, such as one that was the
// primary until a failover. The pool would hand the connection out for ever.
func (t *tx) demoted(err error) bool {
	return t.store.Dialect == Postgres && (errors.Is(err, ErrReadOnly) || state(err) == "25006") // the latter of a host's statement
}

// maxTexts is how many texts a statement has. Drivers and servers keep each.
const maxTexts = 64

// texts are those of one statement, by the columns that are sent once.
type texts struct {
	mu sync.Mutex
	of map[columns]string
}

// text returns a statement in the database's dialect, for a batch with these
// columns sent once, or with none if it has too many texts already.
func (t *tx) text(st *statement, once columns) (string, columns) {
	kept, ok := t.store.texts.Load(st)
	if !ok {
		kept, _ = t.store.texts.LoadOrStore(st, &texts{of: map[columns]string{}})
	}
	all := kept.(*texts)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.of[once] == "" && len(all.of) >= maxTexts && !once.has(0) { // that of a single row is always there
		once &= severalRows
	}
	if all.of[once] == "" {
		all.of[once] = t.store.statement(st, once)
	}
	return all.of[once], once
}

// read runs a query after the delayed writes. set is the batch of a look-up, or
// nil; an empty one finds nothing. scan is called for each row.
func (t *tx) read(st *statement, set *batch, scan func(*sql.Rows) error, scalars ...any) error {
	if err := t.flush(); err != nil {
		return err
	}
	t.looked = t.looked || !t.writing && st != &selectNow
	if set != nil && set.len() == 0 {
		return set.err
	}
	text, args, err := t.bind(st, set, scalars)
	if err != nil {
		return err
	}
	if err := t.ctx.Err(); err != nil {
		return t.fail(err)
	}
	if st != &selectNow {
		if err := t.begin(); err != nil {
			return err
		}
	}
	t.wrote = t.wrote || !strings.HasPrefix(text, "SELECT")
	rows, err := t.run.query(t.late, text, args...)
	if err != nil {
		return t.fail(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return t.fail(rows.Err())
}

// write runs a statement for a batch of rows, or once for nil, and returns how
// many rows it changed.
func (t *tx) write(st *statement, rows *batch, scalars ...any) (int64, error) {
	t.wrote = true
	if err := t.settle(); err != nil {
		return 0, err
	}
	if rows == nil || t.store.Dialect == Postgres {
		text, args, err := t.bind(st, rows, scalars)
		if err != nil {
			return 0, err
		}
		if err := t.ctx.Err(); err != nil {
			return 0, t.fail(err)
		}
		if err := t.begin(); err != nil {
			return 0, err
		}
		n, err := t.run.exec(t.late, text, args...)
		return n, t.fail(meaning(err))
	}
	if rows.err != nil {
		return 0, rows.err
	}
	if err := t.ctx.Err(); err != nil {
		return 0, t.fail(err)
	}
	one, _ := t.text(st, 0)
	several, atOnce, once := "", together*rows.width, columns(0)
	if len(rows.values) >= atOnce && st.takesSeveral() {
		several, once = t.text(st, rows.once()|severalRows)
	}
	// A short statement is not worth the goroutine that watches a context.
	ctx := context.WithoutCancel(t.ctx)
	args := t.scalars(scalars)
	for c, v := range rows.values[:rows.width] {
		if once.has(c) {
			args = append(args, sqliteValue(v))
		}
	}
	fixed := len(args)
	var hit int64
	for rest := rows.values; len(rest) > 0; {
		text, n := several, atOnce
		if several == "" || len(rest) < atOnce {
			text, n, once, fixed = one, rows.width, 0, len(scalars)
		}
		args = args[:fixed]
		for i, v := range rest[:n] {
			if !once.has(i % rows.width) {
				args = append(args, sqliteValue(v))
			}
		}
		rest = rest[n:]
		changed, err := t.run.exec(ctx, text, args...)
		if err != nil {
			return hit, t.fail(meaning(err))
		}
		hit += changed
	}
	return hit, nil
}

// sqliteValue is a value of a batch as SQLite keeps it.
func sqliteValue(v any) any {
	if at, ok := v.(time.Time); ok {
		return at.UTC().Format(timeFormat)
	}
	return v
}

// writeReturning runs an INSERT of PostgreSQL that returns its rows.
func (t *tx) writeReturning(st *statement, rows *batch, scan func(*sql.Rows) error) error {
	t.wrote = true
	text, args, err := t.bind(st, rows, nil)
	if err != nil {
		return err
	}
	if err := t.ctx.Err(); err != nil {
		return t.fail(err)
	}
	if err := t.begin(); err != nil {
		return err
	}
	found, err := t.run.query(t.late, text, args...)
	if err != nil {
		return t.fail(meaning(err))
	}
	defer found.Close()
	for found.Next() {
		if err := scan(found); err != nil {
			return err
		}
	}
	return t.fail(meaning(found.Err()))
}

// bind returns a statement's text and its arguments: the scalars, then the
// batch, each in the form that the dialect takes.
func (t *tx) bind(st *statement, set *batch, scalars []any) (text string, args []any, err error) {
	var once columns
	if set != nil && set.err != nil {
		return "", nil, set.err
	}
	if set != nil && st.once && t.store.Dialect == Postgres {
		once = set.once()
	}
	text, once = t.text(st, once)
	args = t.scalars(scalars)
	switch {
	case set == nil:
	case t.store.Dialect == Postgres:
		var columns []any
		columns, err = set.args(once)
		args = append(args, columns...)
	default:
		var doc string
		doc, err = set.json()
		args = append(args, doc)
	}
	return text, args, err
}

func (t *tx) scalars(scalars []any) []any {
	args := make([]any, 0, len(scalars)+8)
	for _, v := range scalars {
		switch x := v.(type) {
		case time.Time:
			v = x.UTC().Format(timeFormat)
			if t.store.Dialect == Postgres {
				v = x.UTC()
			}
		case [32]byte:
			v = x[:]
		}
		args = append(args, v)
	}
	return args
}

// fail remembers that the transaction cannot go on.
func (t *tx) fail(err error) error {
	err = cause(err)
	if err != nil && t.err == nil {
		t.err = err
	}
	return err
}

// Now implements [store.Clock].
func (t *tx) Now() (time.Time, error) {
	if t.store.opts.Now != nil {
		return t.store.opts.Now().UTC().Truncate(time.Microsecond), nil
	}
	if t.store.Dialect == SQLite {
		return time.Now().UTC().Truncate(time.Microsecond), nil
	}
	var now time.Time
	err := t.read(&selectNow, nil, func(rows *sql.Rows) error {
		var is bool
		if err := rows.Scan(&now, &is); err != nil || t.view {
			return err
		}
		return newer(is)
	})
	return now.UTC(), err
}

// selectNow is nearly every transaction's first statement, so that a process stops at once which a migration
// leaves no room for, also where it writes no line of the log.
var selectNow = statement{text: "SELECT clock_timestamp(), {newer}"}

// one requires that a write changed exactly one row.
func (t *tx) one(what string, st *statement, scalars ...any) error {
	n, err := t.write(st, nil, scalars...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return want(1, n, what)
}

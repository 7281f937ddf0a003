package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Tx is the transaction of [Store.UpdateTx] for the host's own statements: what
// *sql.Tx and *sql.Conn have in common, and what generated code asks for. Only
// UpdateTx ends the transaction. A statement that begins with a word that would,
// or that changes a setting of the connection (BEGIN, COMMIT, ROLLBACK, SAVEPOINT,
// SET, PRAGMA and their like), is [statemachine.ErrInvalid] and is not sent.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

var (
	// ErrAborted: PostgreSQL has undone the transaction of [Store.UpdateTx], since a
	// statement of its function had failed and the function returned no error. Nothing
	// was written. The function must return every error of its statements.
	ErrAborted = errors.New("a statement of the function failed and its error was not returned: nothing was written")
	// ErrEnded: the function of [Store.UpdateTx] has ended the transaction by a text
	// that hid it, or a failed statement did so on SQLite. What was sent before may
	// have been committed by that text: the error is [store.ErrUnknownCommit] too.
	ErrEnded = fmt.Errorf("%w: the transaction was ended inside of the function", statemachine.ErrInvalid)

	errNested = fmt.Errorf("%w: the context is that of a function of UpdateTx, and another transaction of the same store "+
		"would wait for that one: use its store.Unit, as with Withdrawals.Within", statemachine.ErrInvalid)
)

// inside marks the context of a function of UpdateTx.
type inside struct{ store *Store }

// UpdateTx runs fn in one transaction of the host's rows and ours: what fn writes through tx and through unit, or a
// service's Within(unit), is committed together or not at all. On PostgreSQL the transaction is READ COMMITTED; on
// SQLite it has the store's only writer, so fn must be short.
//
// UpdateTx is [Store.Update] with nothing delayed: a statement of tx sees everything that unit was told before. As with
// Update, fn may run more than once: after [store.ErrRetry], after conflicts and after [ErrReadOnly]; SQLSTATE 40001,
// 40P01 and 25006 of the host's own statements count too, if fn returns them, wrapped or not. So fn has no other
// effects than SQL. fn runs in one goroutine, closes its rows before its next statement, and returns every error of its
// statements. An error that tx has returned ends the transaction even if fn returns none; one that only a Row, Rows or
// Stmt has returned is [ErrAborted] on PostgreSQL, and on SQLite undoes only its statement. A transaction that fn
// itself has ended, by a text that Tx does not recognise, is [ErrEnded].
// An event that a service's Within(unit) has refused has written nothing and ends nothing: fn returns the refusal, else
// what fn has written for the event is committed without it.
//
// The context of fn is marked: Update, View and UpdateTx of this store return [statemachine.ErrInvalid] for it at once,
// where they would otherwise wait for fn.
//
// After [store.ErrUnknownCommit] the caller calls again. An event of ours that has landed changes nothing then. The
// host's row needs a unique key that is made of what is posted, or of a line's machine, id and version, and ON CONFLICT
// DO NOTHING.
//
// What people tried inside of fn is in the journal, see [store.Journal], even if fn returns an error, as with Update.
// An event that was done and then undone by an error of the host that is no refusal leaves no line.
func (s *Store) UpdateTx(ctx context.Context, fn func(ctx context.Context, tx Tx, unit store.Unit) error) error {
	if fn == nil {
		return errNilFunc
	}
	err := s.repeat(ctx, func(t *tx) error {
		err := fn(context.WithValue(ctx, inside{s}, true), hostTx{t}, t)
		if failed := t.closeRows(); err == nil {
			err = failed
		}
		return err
	}, s.beginHost)
	if transient(err) {
		err = because(store.ErrRetry, "", err)
	}
	return err
}

// hostTx is the part of a transaction that a host sees.
type hostTx struct{ t *tx }

func (h hostTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := h.admit(query); err != nil {
		return nil, err
	}
	res, err := h.t.host.ExecContext(ctx, query, args...)
	return res, h.failed(err)
}

func (h hostTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := h.admit(query); err != nil {
		return nil, err
	}
	rows, err := h.t.host.QueryContext(ctx, query, args...)
	if err == nil {
		h.t.open = append(h.t.open, rows)
	}
	return rows, h.failed(err)
}

func (h hostTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := h.admit(query); err != nil {
		return refusedRow(err)
	}
	row := h.t.host.QueryRowContext(ctx, query, args...)
	_ = h.failed(row.Err())
	return row
}

func (h hostTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := h.admit(query); err != nil {
		return nil, err
	}
	st, err := h.t.host.PrepareContext(ctx, query)
	return st, h.failed(err)
}

// admit refuses a statement of a transaction that is over, or that would end it.
func (h hostTx) admit(query string) error {
	if h.t.err != nil {
		return h.t.err
	}
	word := h.t.store.keyword(query)
	if !ends[word] {
		return nil
	}
	return h.failed(fmt.Errorf("%w: a statement that begins with %s is not for a transaction that UpdateTx ends",
		statemachine.ErrInvalid, word))
}

// failed remembers that the transaction cannot go on. The tables are the host's,
// so that only what concerns the whole database gets a cause.
func (h hostTx) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case transient(err):
		err = because(store.ErrRetry, "", err)
	case unreachable(err, state(err)):
		err = because(ErrConnection, "", err)
	}
	if h.t.err == nil {
		h.t.err = err
	}
	return err
}

// closeRows closes rows that the host has left open, which would keep PostgreSQL's connection busy, and returns an
// error that ended one of them. The end of a context also ends rows, at any point: it counts only if a statement has
// failed by it.
func (t *tx) closeRows() error {
	for _, rows := range t.open {
		_ = rows.Close()
		if err := rows.Err(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return hostTx{t}.failed(err)
		}
	}
	return nil
}

// ends has the first words of statements that end a transaction, nest in it, or
// outlive it as a setting of the connection.
var ends = map[string]bool{"BEGIN": true, "START": true, "COMMIT": true, "END": true, "ROLLBACK": true, "ABORT": true,
	"SAVEPOINT": true, "RELEASE": true, "PREPARE": true, "SET": true, "RESET": true, "DISCARD": true, "PRAGMA": true,
	"ATTACH": true, "DETACH": true, "VACUUM": true}

// keyword returns the first word of a statement in upper case, behind blanks,
// empty statements and comments.
func (d Dialect) keyword(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\r\n\f\v;\ufeff")
		switch {
		case strings.HasPrefix(text, "--"):
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*"):
			text = d.behindComment(text)
		default:
			end := strings.IndexFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
			if end < 0 {
				end = len(text)
			}
			return strings.ToUpper(text[:end])
		}
	}
}

// behindComment returns what follows the comment that a text begins with. Comments
// nest on PostgreSQL alone.
func (d Dialect) behindComment(text string) string {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			if d == Postgres || depth == 0 {
				depth++
			}
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				return text[i+1:]
			}
		}
	}
	return ""
}

// refusedRow returns a row whose Scan fails with err. Nothing but a query makes a
// sql.Row, so that one is asked of a database that cannot be reached for this reason.
func refusedRow(err error) *sql.Row {
	db := sql.OpenDB(unreached{err})
	defer db.Close()
	return db.QueryRowContext(context.Background(), "")
}

type unreached struct{ err error }

func (u unreached) Connect(context.Context) (driver.Conn, error) { return nil, u.err }
func (u unreached) Driver() driver.Driver                        { return nil }

// beginHost begins a transaction as database/sql has it, which closes what a host
// leaves open when it ends.
func (s *Store) beginHost(ctx context.Context) (unit, error) {
	if s.Dialect == Postgres {
		return s.beginHostPostgres(ctx)
	}
	return s.beginHostSQLite(ctx)
}

// beginHostPostgres marks the transaction by the time of its begin, which differs from that of every other transaction.
// Asking for this time costs one round trip here and one at the end, where it also shows whether the transaction was
// aborted.
func (s *Store) beginHostPostgres(ctx context.Context) (unit, error) {
	u, err := s.beginPostgres(ctx, false)
	if err == nil {
		u, err = u.started()
	}
	if err != nil {
		return u, err
	}
	const began = "SELECT extract(epoch FROM now())::text"
	var mark, now string
	t, commit := u.db.(*sql.Tx), u.commit
	if err := t.QueryRowContext(u.late, began).Scan(&mark); err != nil {
		u.rollback()
		return u, err
	}
	u.host, u.commit = t, func() error {
		err := t.QueryRowContext(u.late, began).Scan(&now)
		switch {
		case err == nil && now == mark:
			return commit()
		case err == nil:
			u.spoil()
			err = fmt.Errorf("%w: %w", ErrEnded, store.ErrUnknownCommit)
		case state(err) == "25P02":
			err = fmt.Errorf("%w: %w", ErrAborted, err)
		}
		u.rollback()
		return err
	}
	return u, nil
}

// lockFile takes the write lock of SQLite's file and changes nothing.
const lockFile = "UPDATE @transitions SET n = n WHERE 0"

// beginHostSQLite marks the transaction by a savepoint, which ends with it.
func (s *Store) beginHostSQLite(ctx context.Context) (unit, error) {
	c, err := s.writer.take(ctx)
	if err != nil {
		return unit{}, err
	}
	// The end of a transaction does not depend on the caller's patience.
	always := context.WithoutCancel(ctx)
	t, err := c.db.(*sql.Conn).BeginTx(always, nil)
	if err != nil {
		s.writer.drop(c)
		return unit{}, err
	}
	end := func(keep bool) {
		if err := t.Rollback(); !keep || err != nil && !errors.Is(err, sql.ErrTxDone) {
			s.writer.drop(c) // SQLite has rolled back already, or the connection is gone
			return
		}
		s.writer.put(c)
	}
	for _, text := range []string{s.expand(lockFile), "SAVEPOINT settle_host"} {
		if _, err := t.ExecContext(ctx, text); err != nil {
			end(true)
			return unit{}, err
		}
	}
	commit := func() error {
		if _, err := t.ExecContext(always, "RELEASE settle_host"); err != nil {
			ended := strings.Contains(err.Error(), "no such savepoint")
			end(!ended)
			if ended {
				err = fmt.Errorf("%w: %w: %w", ErrEnded, store.ErrUnknownCommit, err)
			}
			return err
		}
		err := t.Commit()
		if err != nil && (code(err) == 0 || code(err)&0xff == sqliteIOErr) {
			err = fmt.Errorf("%w: %w", store.ErrUnknownCommit, err)
		}
		end(err == nil)
		return err
	}
	// Our statements are those of the transaction too: on its connection beside it, one
	// that the driver answers with ErrBadConn would wait for ever for the transaction's end.
	own := &session{db: t, stmts: map[string]*sql.Stmt{}} // they end with the transaction
	return unit{session: own, host: t, late: ctx, commit: commit, rollback: func() { end(true) }}, nil
}

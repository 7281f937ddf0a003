package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// checkPostgres refuses a server that forgets commits.
func checkPostgres(ctx context.Context, q queryer) error {
	var version int
	var durable string
	err := q.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit')").Scan(&version,
		&durable)
	switch {
	case err != nil:
		return err
	case version < 130000:
		return fmt.Errorf("%w: PostgreSQL %d is older than 13", statemachine.ErrInvalid, version)
	case durable == "off":
		return fmt.Errorf("%w: synchronous_commit is off: a crash would forget a committed intent, and pay twice", statemachine.ErrInvalid)
	}
	return nil
}

// checkIsolation refuses a transaction of the host whose reads are of one old
// moment: what waits for a lock must then see what its holder has committed.
func checkIsolation(ctx context.Context, q queryer) error {
	var level string
	if err := q.QueryRowContext(ctx, "SELECT current_setting('transaction_isolation')").Scan(&level); err != nil {
		return err
	}
	if level != "read committed" {
		return fmt.Errorf("%w: the transaction is %s and must be read committed", statemachine.ErrInvalid, level)
	}
	return nil
}

// beginPostgres takes a connection. The unit that it returns sends BEGIN when start is called, and its commit and
// rollback have nothing to end before.
func (s *Store) beginPostgres(ctx context.Context, view bool) (unit, error) {
	level := sql.LevelReadCommitted
	if view {
		level = sql.LevelRepeatableRead
	}
	conn, err := s.dials.take(ctx)
	if err != nil {
		return unit{}, err
	}
	var committing atomic.Bool
	late, cancel := outlast(ctx, func() time.Duration {
		if committing.Load() {
			return commitWait
		}
		return statementWait
	})
	run, spoiled := &session{db: conn}, false
	var t *sql.Tx
	start := func() (err error) {
		if t, err = conn.BeginTx(late, &sql.TxOptions{Isolation: level, ReadOnly: view}); err == nil {
			run.db = t
		}
		return err
	}
	giveBack := func(err error) error {
		if spoiled {
			discard(conn)
		}
		_ = conn.Close()
		cancel()
		return err
	}
	rollback := func() error {
		if t == nil {
			return giveBack(nil)
		}
		return giveBack(t.Rollback())
	}
	commit := func() error {
		if t == nil {
			return giveBack(nil)
		}
		committing.Store(true)
		return committed(late, giveBack(t.Commit()))
	}
	if view {
		commit = rollback
	}
	return unit{session: run, start: start, late: late, patient: func() { committing.Store(true) }, spoil: func() { spoiled = true },
		commit: commit, rollback: func() { _ = rollback() }}, nil
}

// started is a unit that has sent BEGIN.
func (u unit) started() (unit, error) {
	start := u.start
	if u.start = nil; start == nil {
		return u, nil
	}
	err := start()
	if err != nil {
		u.rollback()
	}
	return u, err
}

// committed turns the error of COMMIT into its outcome. Only the server's refusal, or that of database/sql before
// anything was sent, proves that the commit did not land. A server that goes away, or loses its disk, can report an
// error after it has committed.
func committed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil:
		return ctx.Err()
	case refusesCommit(state(err)):
		return meaning(err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknownCommit, err)
}

// landed turns the error of a statement that was sent without BEGIN into the outcome of its transaction. It is that of
// a COMMIT, but for the SQLSTATEs that only the execution of a statement fails with.
func landed(err error) error {
	s := state(err)
	switch {
	case err == nil:
		return nil
	case refusesCommit(s) || len(s) == 5 && slices.Contains([]string{"0A", "22", "25", "26", "42", "55"}, s[:2]):
		return meaning(err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknownCommit, err)
}

// refusesCommit reports the SQLSTATEs that a COMMIT fails with before it is
// written: a deferred constraint or trigger (classes 23, 27, P0), or a conflict
// of transactions (class 40, but for 40003: nobody knows).
func refusesCommit(state string) bool {
	if len(state) != 5 || state == "40003" {
		return false
	}
	switch state[:2] {
	case "23", "27", "40", "P0":
		return true
	}
	return false
}

package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// What is wrong with a database. The driver's own error is wrapped beside.
var (
	// ErrConnection: the server cannot be reached, or the connection was lost
	// while nothing was being committed. Nothing landed; try again later.
	ErrConnection = errors.New("no connection to the database")
	// ErrCannotOpen: there is nothing at the address that this process may use.
	ErrCannotOpen = errors.New("the database cannot be opened")
	// ErrReadOnly: the database is there and cannot be written: a file without
	// the right to write, or a standby.
	ErrReadOnly = errors.New("the database is read-only")
	// ErrNotADatabase: the file is none of SQLite.
	ErrNotADatabase = errors.New("the file is not a database")
	// ErrDamaged: the database has found its own pages to be wrong.
	ErrDamaged = errors.New("the database is damaged")
	// ErrDialect: it is another database than the [Dialect] says.
	ErrDialect = errors.New("the database is of another dialect")
	// ErrNoTables: [Migrate] has not run here, or the tables are gone.
	ErrNoTables = errors.New("the tables are missing")
	// ErrOldTables: [Migrate] has not run since this package was updated.
	ErrOldTables = errors.New("the tables are old")
	// ErrNewerTables: a later version of this package has migrated them, before they were opened or since.
	ErrNewerTables = errors.New("the tables are newer than this package")
	// ErrForeignTables: tables with the names of ours, which Migrate has not
	// made.
	ErrForeignTables = errors.New("the tables are not ours")
)

// state returns the SQLSTATE of a PostgreSQL error, "" for none.
func state(err error) string {
	var e interface{ SQLState() string }
	if errors.As(err, &e) {
		return e.SQLState()
	}
	return ""
}

// code returns the extended result code of an SQLite error, 0 for none.
func code(err error) int {
	var e interface{ Code() int }
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// The primary result codes of SQLite are the low byte of the extended ones.
const (
	sqliteError    = 1
	sqliteBusy     = 5
	sqliteLocked   = 6
	sqliteReadOnly = 8
	sqliteIOErr    = 10
	sqliteCorrupt  = 11
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

// transient reports errors after which the same transaction can succeed:
// another writer had the database, or PostgreSQL broke a deadlock.
func transient(err error) bool {
	switch state(err) {
	case "40001", "40P01":
		return true
	}
	primary := code(err) & 0xff
	return primary == sqliteBusy || primary == sqliteLocked
}

// duplicate reports the violation of a unique rule or primary key, or of the
// trigger that comes before them.
func duplicate(err error) bool {
	c := code(err)
	return state(err) == "23505" || c == 2067 || c == 1555 || c == 2579 || c == 1811 && strings.Contains(err.Error(), "no second ")
}

// meaning gives the errors of a write the sentinel that they stand for: a row
// that is there already was not there when the caller read.
func meaning(err error) error {
	switch s := state(err); {
	case err == nil:
		return nil
	case duplicate(err):
		return fmt.Errorf("%w: %w", statemachine.ErrConflict, err)
	case s == "22021" || s == "22P05" || s == "22001":
		return fmt.Errorf("%w: %w", statemachine.ErrInvalid, err)
	}
	return err
}

// cause names what is behind an error that is not of one row: the connection,
// the file, the tables, or another transaction.
func cause(err error) error {
	s, c := state(err), code(err)&0xff
	switch {
	case err == nil || errors.Is(err, store.ErrUnknownCommit):
		return err
	case transient(err):
		return because(store.ErrRetry, "", err)
	case s == "42P01" || s == "3F000" || c == sqliteError && strings.Contains(err.Error(), "no such table"):
		return because(ErrNoTables, "run Migrate", err)
	case s == "42P05" || s == "26000" || s == "08P01" && strings.Contains(err.Error(), "prepared statement"):
		return because(ErrConnection,
			"something between us and the server, such as pgbouncer in transaction pooling, gives one connection to several sessions, "+
				"and prepared statements get mixed up: with pgx set default_query_exec_mode=cache_describe, exec or simple_protocol", err)
	case s == "25006" || c == sqliteReadOnly:
		return because(ErrReadOnly, "", err)
	case c == sqliteCantOpen:
		return because(ErrCannotOpen,
			"what was given to sql.Open is no path of a file, its folder is missing, or this process may not write there", err)
	case c == sqliteNotADB:
		return because(ErrNotADatabase, "", err)
	case c == sqliteCorrupt || s == "XX001" || s == "XX002":
		return because(ErrDamaged, "restore it from a backup, and begin no payment before what Restored says has been looked up", err)
	case s == "3D000" || strings.HasPrefix(s, "28"): // no such database; who may not log in
		return because(ErrCannotOpen, "", err)
	case unreachable(err, s):
		return because(ErrConnection, "", err)
	}
	return err
}

// because wraps an error once.
func because(sentinel error, advice string, err error) error {
	switch {
	case errors.Is(err, sentinel):
		return err
	case advice == "":
		return fmt.Errorf("%w: %w", sentinel, err)
	}
	return fmt.Errorf("%w: %s: %w", sentinel, advice, err)
}

// unreachable reports that the server is not there, shuts down, or takes no
// more connections.
func unreachable(err error, s string) bool {
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return false
	case strings.HasPrefix(s, "08") || strings.HasPrefix(s, "57P") || s == "53300":
		return true
	case s != "" || code(err) != 0: // the database has answered
		return false
	}
	return errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "conn closed")
}

// want reports ErrConflict unless a compare-and-swap hit all its rows.
func want(rows int, hit int64, what string) error {
	if hit == int64(rows) {
		return nil
	}
	return fmt.Errorf("%s: %w: %d of %d rows are as they were read", what, statemachine.ErrConflict, hit, rows)
}

// dangling reports a reference to a row that does not exist.
func dangling(err error) bool { return state(err) == "23503" || code(err) == 787 }

package sqlstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/settlehq/settle/statemachine"
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
	sqliteBusy   = 5
	sqliteLocked = 6
	sqliteIOErr  = 10
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
	return state(err) == "23505" || c == 2067 || c == 1555 || c == 2579 || c == 1811 && strings.Contains(err.Error(), "no second INSERT")
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

// want reports ErrConflict unless a compare-and-swap hit all its rows.
func want(rows int, hit int64, what string) error {
	if hit == int64(rows) {
		return nil
	}
	return fmt.Errorf("%s: %w: %d of %d rows are as they were read", what, statemachine.ErrConflict, hit, rows)
}

// dangling reports a reference to a row that does not exist.
func dangling(err error) bool { return state(err) == "23503" || code(err) == 787 }

// Package sqlstore keeps the records of all domains in SQLite or PostgreSQL,
// with one code for both: hand-written SQL, a few macros where the dialects
// differ (see dialect.go), and no driver of its own.
//
// [Migrate] makes the tables, [Open] checks the database and returns a
// [store.Store], and [Store.Within] joins a transaction that the host has
// begun, so that its own rows and ours commit together.
//
// # SQLite
//
// 3.39 or newer. Tables are STRICT; the journal is a write-ahead log with
// synchronous=FULL, because an intent that is lost after its effect pays twice.
// Pragmas belong to a connection, so Open takes connections of its own out of
// the pool, one writer and a few readers, and keeps them until [Store.Close].
// Writers queue behind a Go lock before they ask SQLite for its lock.
//
// # PostgreSQL
//
// 13 or newer. Updates run at READ COMMITTED: every write compares the version
// that was read, and what must not interleave waits at a named row (the chain's
// tip, a wallet) or at an advisory lock (submissions of one user). A View is
// REPEATABLE READ, so that it sees one moment.
//
// Set the idle connections of the *sql.DB to as many as work at once, with
// SetMaxIdleConns: database/sql keeps two, and every other transaction then
// opens a connection and prepares its statements again, at half the speed.
//
// # Drivers
//
// A driver must give its errors one of the methods SQLState() string
// (PostgreSQL: pgx, lib/pq) or Code() int (SQLite: modernc.org/sqlite), and
// take text for every parameter.
package sqlstore

// Package sqlstore keeps the records of all domains in SQLite or PostgreSQL,
// with one code for both: hand-written SQL, a few macros where the dialects
// differ (see dialect.go), and no driver of its own.
//
// [Migrate] makes the tables, and [Open] checks the database and returns a
// [store.Store]. [Store.UpdateTx] commits the host's own rows together with ours;
// [Store.Within] joins a transaction that a host must begin and end itself. A fault of the
// database is one of this package's errors, each with its cause: [ErrConnection],
// [ErrCannotOpen], [ErrReadOnly], [ErrNotADatabase], [ErrDamaged], [ErrDialect],
// [ErrNoTables], [ErrOldTables], [ErrNewerTables], [ErrForeignTables].
//
// # Migrations
//
// Migrate may run in every process at its start. It makes the tables of the shared
// log and of the domains in [Options.Domains], and of nothing else; another domain
// may come later. A host that runs migrations with a goose of its own gives it
// [Migrations] and the name of its version table, [Options.VersionTable]; each has a
// Down. Any other tool, and a reader, takes [Script].
//
// The table settle_versions has the migrations that were run, and for each the oldest migration that a
// binary must know to use the tables afterwards. So a rolling deploy needs no pause: old binaries go on
// beside a migration that only adds, and log it when they open the database. A migration that an old
// binary cannot work with makes Open refuse with [ErrNewerTables], and in a process that is running it
// refuses each transaction that asks the switch or the database for the time, as every beginning does,
// or that writes a line of the log. Numbers grow over all domains, and a domain that is added later has
// lower ones missing: the set of migrations that were run counts, not the highest number.
//
// [Options.Schema] keeps our tables apart from others: a schema on PostgreSQL, the
// beginning of all names on SQLite.
//
// # SQLite
//
// 3.39 or newer. Tables are STRICT; the journal is a write-ahead log with
// synchronous=FULL, because an intent that is lost after its effect pays twice.
// Pragmas belong to a connection, so Open takes connections of its own out of
// the pool, one writer and up to four readers, and closes them in [Store.Close].
// Leave SetMaxOpenConns at 0, or at 6 or more. Writers queue behind a Go lock
// before they ask SQLite for its lock.
//
// A host that joins with its own transaction opens a pool for that as
//
//	file:PATH?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_txlock=immediate
//
// or sets the same pragmas on its connection and begins IMMEDIATE.
//
// # PostgreSQL
//
// 13 or newer. Updates run at READ COMMITTED: every write compares the version
// that was read, and transactions that must not interleave wait for a named row (the chain's
// tip, a wallet) or for an advisory lock (submissions of one user). A View is
// REPEATABLE READ, so that it sees one moment. Update runs its function again
// after a deadlock or a serialization failure, and after a conflict if the
// function has read in the transaction: another transaction may have written in between, and the
// next run reads what it wrote. A change of a record that was read before the transaction is
// refused at once. An Update that does no more than ask the time and then write one statement is
// sent without BEGIN and COMMIT: the server commits that statement by itself, at the isolation that is
// the connection's default. If its answer is lost, the error is [store.ErrUnknownCommit].
//
// Set SetMaxIdleConns of the *sql.DB to the number of transactions that run at once: database/sql
// keeps two, and every other transaction then opens a connection and prepares its statements again,
// which takes two to three times as long. Open logs a warning where it sees that.
//
// Behind pgbouncer in transaction pooling a session may get another session's prepared statements.
// With pgx add default_query_exec_mode=cache_describe to the URL (or exec, or simple_protocol); its
// default, cache_statement, fails there, and the error says so.
//
// # Time-outs
//
// A call whose context ends returns its error and costs the next call nothing, so that an overload
// in which calls run out of time ends with its cause. Connecting goes on, for up to 15 s, and the
// next call has the connection. On PostgreSQL the running statement may end too, and the connection
// is kept with its prepared statements: so a call returns up to a second after the end of its
// context or, while the server does not answer COMMIT, up to 5 s. On SQLite nothing interrupts a
// COMMIT.
//
// # Drivers
//
// A driver must give its errors one of the methods SQLState() string
// (PostgreSQL: pgx, lib/pq) or Code() int (SQLite: modernc.org/sqlite), and
// take text for every parameter.
package sqlstore

package ops

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// Answer is what [Doctor.Ask] says of one thing.
type Answer struct {
	Check string // what was looked at; stable
	Fine  bool
	Is    string // what it is
	Why   string // why it matters; empty where it is fine
	Do    string // what to do; empty where it is fine
}

// Doctor looks whether a database keeps what settle needs of it. It only reads; with SelfCheck set it also writes, and
// takes everything back. What the role of the database may not see is an answer that is not fine.
type Doctor struct {
	DB      *sql.DB
	Dialect sqlstore.Dialect
	Options sqlstore.Options // of the host; Log is not written to
	// SelfCheck runs [store.SelfCheck], which writes and takes back; of a store of all domains.
	SelfCheck bool
	Limits    DoctorLimits // zero: [DefaultDoctorLimits]

	now func() time.Time // of this host, in tests
}

// DoctorLimits are what is not fine any more.
type DoctorLimits struct {
	Wait        time.Duration // for each answer
	Clock       time.Duration // between the clocks of this host and the database
	Transaction time.Duration // the age of a transaction, or of its view of the data
	DeadRows    int64         // of a table, where they are a fifth of it too
	Unanalyzed  int64         // rows of a table without statistics
}

// DefaultDoctorLimits are 2 s, 1 s, 1 min, 100,000 and 10,000.
func DefaultDoctorLimits() DoctorLimits {
	return DoctorLimits{2 * time.Second, time.Second, time.Minute, 100_000, 10_000}
}

// ill is what is not fine; zero if nothing is.
type ill struct{ is, why, do string }

// check is one look at the database.
type check struct {
	name string
	of   sqlstore.Dialect // zero: of both
	ask  func(*Doctor, context.Context) (ill, error)
	fine string // what it is if nothing is wrong
}

var checks = []check{
	{"tables", 0, (*Doctor).tables, "this version of settle can work on the database"},
	{"place", sqlstore.Postgres, (*Doctor).place, "the database is where it was"},
	{"server", sqlstore.Postgres, (*Doctor).server, "the server takes writes"},
	{"durability", sqlstore.Postgres, (*Doctor).durability, "a commit survives a crash"},
	{"standbys", sqlstore.Postgres, (*Doctor).standbys, "commits wait for nobody who is away"},
	{"clock", 0, (*Doctor).clock, "the clocks of this host and of the database agree"},
	{"pool", 0, (*Doctor).pool, "nobody has waited for a connection"},
	{"pooler", sqlstore.Postgres, (*Doctor).pooler, "each connection has a server process of its own"},
	{"old transactions", sqlstore.Postgres, (*Doctor).transactions, "no transaction is old"},
	{"dead rows", sqlstore.Postgres, (*Doctor).deadRows, "tables are vacuumed"},
	{"statistics", sqlstore.Postgres, (*Doctor).statistics, "large tables have statistics"},
	{"journal", sqlstore.SQLite, (*Doctor).journal, "the file is in WAL mode"},
	{"synchronous", sqlstore.SQLite, (*Doctor).synchronous, "a commit of the host's own connections survives a power cut"},
	{"self-check", 0, (*Doctor).selfCheck, "the store keeps its rules"},
}

// Ask asks everything, in a fixed order. A question that the database does not answer in
// time is an answer that is not fine, and the next one is asked all the same.
func (d *Doctor) Ask(ctx context.Context) (all []Answer) {
	if d.Limits == (DoctorLimits{}) {
		d.Limits = DefaultDoctorLimits()
	}
	if d.now == nil {
		d.now = time.Now
	}
	for _, c := range checks {
		if c.of != 0 && c.of != d.Dialect || c.name == "self-check" && !d.SelfCheck {
			continue
		}
		wait := d.Limits.Wait
		if c.name == "tables" || c.name == "self-check" {
			wait *= 5 // several statements
		}
		asking, cancel := context.WithTimeout(ctx, wait)
		found, err := c.ask(d, asking)
		cancel()
		switch {
		case err != nil:
			found = ill{"it could not be asked: " + err.Error(), "nobody knows whether it is right",
				"see that the database answers and that its user may read this"}
		case found == ill{}:
			found.is = c.fine
		}
		all = append(all, Answer{c.name, found.is == c.fine, found.is, found.why, found.do})
	}
	return all
}

// quiet are the options of a store that is opened to look at it.
func (d *Doctor) quiet() sqlstore.Options {
	o := d.Options
	o.Log = slog.New(slog.DiscardHandler)
	return o
}

func (d *Doctor) tables(ctx context.Context) (ill, error) {
	db, err := sqlstore.Open(ctx, d.DB, d.Dialect, d.quiet())
	if err == nil {
		return ill{}, db.Close()
	}
	do := "mend what it says"
	for of, what := range map[error]string{
		sqlstore.ErrNoTables:      "run settle migrate up",
		sqlstore.ErrOldTables:     "run settle migrate up",
		sqlstore.ErrNewerTables:   "use a later version of settle",
		sqlstore.ErrForeignTables: "name the schema of settle's tables: --schema",
		store.ErrRestored:         "follow docs/restore.md: settle restored begin",
		sqlstore.ErrDialect:       "name the right kind of database",
	} {
		if errors.Is(err, of) {
			do = what
		}
	}
	return ill{err.Error(), "no process with these settings can work on the database", do}, nil
}

func (d *Doctor) place(ctx context.Context) (ill, error) {
	db, err := sqlstore.Open(ctx, d.DB, d.Dialect, d.quiet())
	if err != nil {
		return ill{}, err
	}
	stats, err := sqlstore.StatsOf(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil || !stats.Moved {
		return ill{}, err
	}
	return ill{"the database is not where it was: another server, a copy, or a standby that took over",
		"it may have forgotten payments; nothing is sent",
		"follow docs/restore.md: settle restored begin"}, nil
}

func (d *Doctor) server(ctx context.Context) (ill, error) {
	var standby, readOnly bool
	err := d.DB.QueryRowContext(ctx, "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')::bool").
		Scan(&standby, &readOnly)
	const why = "nothing can be written here, a stop neither"
	switch {
	case standby:
		return ill{"the server is in recovery: a standby", why, "connect to the primary; a standby is for reads"}, nil
	case readOnly:
		return ill{"default_transaction_read_only is on", why, "connect without it, or with another user"}, nil
	}
	return ill{}, err
}

func (d *Doctor) durability(ctx context.Context) (ill, error) {
	var commit, fsync, pages string
	err := d.DB.QueryRowContext(ctx, "SELECT current_setting('synchronous_commit'), current_setting('fsync'), "+
		"current_setting('full_page_writes')").Scan(&commit, &fsync, &pages)
	var off []string
	for _, s := range [][2]string{{"synchronous_commit", commit}, {"fsync", fsync}, {"full_page_writes", pages}} {
		if s[1] == "off" {
			off = append(off, s[0])
		}
	}
	if err != nil || len(off) == 0 {
		return ill{}, err
	}
	return ill{strings.Join(off, ", ") + " off",
		"a crash forgets what was committed, and settle pays it again",
		"set it to on, for the server and for the user"}, nil
}

func (d *Doctor) standbys(ctx context.Context) (ill, error) {
	var names, commit string
	var waiting, all int
	err := d.DB.QueryRowContext(ctx, "SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit'), "+
		"(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')), (SELECT count(*) FROM pg_stat_replication)").
		Scan(&names, &commit, &waiting, &all)
	switch {
	case err != nil || names == "" && all == 0:
	case names == "":
		return ill{fmt.Sprintf("%d standbys, none of them synchronous", all),
			"one that takes over lacks the last commits: settle stops then until somebody has said what was lost",
			"set synchronous_standby_names, or know docs/restore.md by heart"}, nil
	case commit == "local":
		return ill{"synchronous_commit is local beside synchronous_standby_names", "a standby that takes over lacks commits", "set it to on"}, nil
	case waiting == 0:
		return ill{"commits wait for " + names + ", and no synchronous standby is connected",
			"every commit hangs, a stop too",
			"bring a standby back, or take it out of synchronous_standby_names"}, nil
	}
	return ill{}, err
}

func (d *Doctor) clock(ctx context.Context) (ill, error) {
	ask := "SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
	if d.Dialect == sqlstore.Postgres {
		ask = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
	}
	var ms int64
	if err := d.DB.PingContext(ctx); err != nil { // so that no connection is made between the two looks at this host's clock
		return ill{}, err
	}
	before := d.now()
	if err := d.DB.QueryRowContext(ctx, ask).Scan(&ms); err != nil {
		return ill{}, err
	}
	off := time.UnixMilli(ms).Sub(before.Add(d.now().Sub(before) / 2))
	if off.Abs() <= d.Limits.Clock {
		return ill{}, nil
	}
	return ill{fmt.Sprintf("the clock of the database is %v from that of this host", off.Round(time.Millisecond)),
		"leases go by the database's clock and evidence by the hosts': what waits is measured wrongly",
		"let a time service slew both; never set a clock by hand while workers run"}, nil
}

func (d *Doctor) pool(context.Context) (ill, error) {
	s := d.DB.Stats()
	const why = "work takes longer than it has to, and leases may end"
	switch {
	case s.WaitCount > 0:
		return ill{fmt.Sprintf("connections were waited for %d times, %v in all; SetMaxOpenConns is %d", s.WaitCount, s.WaitDuration,
			s.MaxOpenConnections), why, "raise SetMaxOpenConns"}, nil
	case s.MaxIdleClosed > 100:
		return ill{fmt.Sprintf("%d connections were closed because too many were idle", s.MaxIdleClosed), why,
			"call SetMaxIdleConns with as many as work at once"}, nil
	}
	return ill{}, nil
}

func (d *Doctor) pooler(ctx context.Context) (ill, error) {
	one, err := d.DB.Conn(ctx)
	if err != nil {
		return ill{}, err
	}
	defer one.Close()
	other, err := d.DB.Conn(ctx)
	if err != nil {
		return ill{}, err
	}
	defer other.Close()
	shared, err := sharesServer(ctx, one, other)
	if err != nil || !shared {
		return ill{}, err
	}
	return ill{"two connections at once have one server process: a pooler in transaction mode is in between",
		"settings of a session are lost, and prepared statements may fail in the middle of work",
		"connect directly, or use the pooler in session mode"}, nil
}

// sharesServer reports whether two connections that are open at once are served by one process.
func sharesServer(ctx context.Context, one, other *sql.Conn) (bool, error) {
	var a, b int64
	const ask = "SELECT pg_backend_pid()"
	err := one.QueryRowContext(ctx, ask).Scan(&a)
	if err == nil {
		err = other.QueryRowContext(ctx, ask).Scan(&b)
	}
	return a == b, err
}

func (d *Doctor) transactions(ctx context.Context) (ill, error) {
	var tracked bool
	err := d.DB.QueryRowContext(ctx, "SELECT current_setting('track_activities')::bool").Scan(&tracked)
	if err != nil {
		return ill{}, err
	}
	if !tracked {
		return ill{"track_activities is off", "nobody can see which transaction holds the others up", "set it to on"}, nil
	}
	var pid int64
	var seconds float64
	var application, state, database string
	err = d.DB.QueryRowContext(ctx, "SELECT pid, extract(epoch FROM clock_timestamp() - xact_start), coalesce(application_name, ''), "+
		"coalesce(state, ''), coalesce(datname, '') FROM pg_stat_activity "+
		"WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY xact_start LIMIT 1").
		Scan(&pid, &seconds, &application, &state, &database)
	age := time.Duration(seconds * float64(time.Second))
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && age <= d.Limits.Transaction:
		return ill{}, nil
	case err != nil:
		return ill{}, err
	}
	return ill{fmt.Sprintf("pid %d of %q in database %q (%s) has run a transaction for %v", pid, application, database, state,
		age.Round(time.Second)),
		"what follows the log gets no new lines if it writes, and dead rows stay",
		"find out what it is, let it end, or pg_terminate_backend of it"}, nil
}

// ours is the condition on a table of statistics s that it is in settle's schema, which is $1.
const ours = "s.schemaname = coalesce(nullif($1::text, ''), current_schema())"

func (d *Doctor) deadRows(ctx context.Context) (ill, error) {
	var table string
	var dead int64
	var last sql.NullTime
	err := d.DB.QueryRowContext(ctx, "SELECT s.relname, s.n_dead_tup, greatest(s.last_autovacuum, s.last_vacuum) FROM pg_stat_user_tables s "+
		"WHERE "+ours+" AND s.n_dead_tup > $2 AND s.n_dead_tup * 5 > s.n_live_tup ORDER BY s.n_dead_tup DESC LIMIT 1",
		d.Options.Schema, d.Limits.DeadRows).Scan(&table, &dead, &last)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ill{}, nil
	case err != nil:
		return ill{}, err
	}
	was := "never"
	if last.Valid {
		was = last.Time.UTC().Format(time.RFC3339)
	}
	return ill{fmt.Sprintf("%s has %d dead rows, and was vacuumed last: %s", table, dead, was),
		"what is due takes longer and longer to find",
		"see that autovacuum is on and that no old transaction holds it up; VACUUM the table"}, nil
}

func (d *Doctor) statistics(ctx context.Context) (ill, error) {
	var table string
	var rows int64
	err := d.DB.QueryRowContext(ctx, "SELECT s.relname, s.n_live_tup FROM pg_stat_user_tables s WHERE "+ours+
		" AND s.n_live_tup > $2 AND s.last_analyze IS NULL AND s.last_autoanalyze IS NULL ORDER BY s.n_live_tup DESC LIMIT 1",
		d.Options.Schema, d.Limits.Unanalyzed).Scan(&table, &rows)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ill{}, nil
	case err != nil:
		return ill{}, err
	}
	return ill{fmt.Sprintf("%s has %d rows and no statistics", table, rows),
		"the planner guesses, and may read whole tables for what is due",
		"ANALYZE; see that autovacuum is on"}, nil
}

func (d *Doctor) journal(ctx context.Context) (ill, error) {
	var mode string
	if err := d.DB.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil || mode == "wal" {
		return ill{}, err
	}
	return ill{"journal_mode is " + mode, "readers and the writer wait for each other",
		"open it once by settle, which sets it, on a local disk"}, nil
}

func (d *Doctor) synchronous(ctx context.Context) (ill, error) {
	var level int
	if err := d.DB.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level); err != nil || level >= 2 {
		return ill{}, err
	}
	return ill{fmt.Sprintf("synchronous is %d on connections of the host's pool", level),
		"a transaction of the host that settle joins is forgotten in a power cut, and paid again",
		"add _pragma=synchronous(full) to the DSN; settle's own connections have it"}, nil
}

func (d *Doctor) selfCheck(ctx context.Context) (ill, error) {
	db, err := sqlstore.Open(ctx, d.DB, d.Dialect, d.quiet())
	if err != nil {
		return ill{}, err
	}
	err = store.SelfCheck(ctx, db)
	if closed := db.Close(); err == nil {
		return ill{}, closed
	}
	return ill{err.Error(), "the store does not keep what settle relies on", "use the tables and triggers of this version as they are"}, nil
}

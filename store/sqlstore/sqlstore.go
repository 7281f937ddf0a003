package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Options of [Open] and [Migrate]. The zero value is the default.
type Options struct {
	// Schema keeps our tables apart from others: a lower-case identifier. On
	// PostgreSQL it is the schema that holds them, and empty means the first of the
	// connection's search path. On SQLite, which has none, the names of all tables,
	// indexes and triggers begin with it and "_".
	Schema string
	// Domains are the domains whose tables are made and opened; empty means all. Another domain may come later, and
	// services with different domains may share a database. A call that needs a domain which is not there is
	// [store.ErrNoDomain].
	Domains []store.Domain
	// Now is what leases and due times are measured by. nil means the
	// database's, so that hosts whose clocks differ agree.
	Now func() time.Time
	// VersionTable is where [Migrate] notes for goose which migrations were run;
	// empty means settle_db_version. Name the table of your own goose here if that
	// runs our [Migrations] too. It is in Schema unless the name says otherwise.
	VersionTable string
	// LosslessPromotion says that a standby which takes over never lacks a commit, since
	// it is synchronous. Then work goes on after a promotion. Otherwise everything is
	// recovering from then on, until somebody says what was lost: see [Restored]. It
	// concerns PostgreSQL, and is the same in all processes of one database.
	LosslessPromotion bool
	// Mark is where processes that write keep a text outside of the database, from which [Open] and [Store.KeepMark]
	// see that the database was put back: the only way on SQLite, and for a snapshot of a disk. Everything is
	// recovering then, as after [Restored]. nil: a person has to say it.
	Mark Mark
	// Log gets what [Open] and [Migrate] tell and warn of; nil means [slog.Default].
	Log *slog.Logger
	// Retries is how often Update runs again after a deadlock, after a
	// conflict that reading again can end, or where a connection led to a server of
	// PostgreSQL that takes no writes; 0 means 10, negative means never.
	Retries int

	files fs.FS // instead of our migrations, in tests
}

const identifier = `[a-z_][a-z0-9_]{0,62}`

var (
	schemaName  = regexp.MustCompile("^" + identifier + "$")
	tableName   = regexp.MustCompile("^" + identifier + `(\.` + identifier + ")?$")
	defaultName = "settle_db_version"
)

func (o Options) syntax(d Dialect) (syntax, error) {
	s := syntax{Dialect: d, versions: cmp.Or(o.VersionTable, defaultName), files: o.files, domains: o.Domains, lossless: o.LosslessPromotion,
		log: cmp.Or(o.Log, slog.Default())}
	if s.files == nil {
		s.files = migrations
	}
	if o.Schema != "" {
		s.prefix = o.Schema + map[Dialect]string{SQLite: "_", Postgres: "."}[d]
	}
	switch {
	case d != SQLite && d != Postgres:
		return s, fmt.Errorf("%w: %v", statemachine.ErrInvalid, d)
	case !tableName.MatchString(s.versions):
		return s, fmt.Errorf("%w: version table %q is no lower-case identifier", statemachine.ErrInvalid, s.versions)
	case d == SQLite && strings.Contains(s.versions, "."):
		return s, fmt.Errorf("%w: version table %q is in a schema, and SQLite has none", statemachine.ErrInvalid, s.versions)
	case o.Schema != "" && !schemaName.MatchString(o.Schema):
		return s, fmt.Errorf("%w: schema %q is no lower-case identifier", statemachine.ErrInvalid, o.Schema)
	}
	for _, domain := range o.Domains {
		if !slices.ContainsFunc(s.steps(), func(m step) bool { return m.domain == domain && domain != shared }) {
			return s, fmt.Errorf("%w: there is no domain %q", statemachine.ErrInvalid, domain)
		}
	}
	if !strings.Contains(s.versions, ".") {
		s.versions = s.prefix + s.versions
	}
	return s, nil
}

// ErrClosed: the store was closed.
var ErrClosed = errors.New("the store is closed")

// Store is a database that holds our tables.
type Store struct {
	syntax
	db     *sql.DB
	dials  *dials
	opts   Options
	texts  sync.Map // *statement -> *texts, and of several *fusedTexts
	writer *pool    // SQLite
	reader *pool
	unread unread
	// generation is that of the database when it was opened, see Restored.
	generation int64
}

var _ store.Store[store.Unit] = (*Store)(nil)

// Open checks that db keeps what it commits and has the current tables, see [Migrate]. On SQLite it takes connections
// of db, which Close closes; a limit of db's open connections must leave room for them, else it is
// [statemachine.ErrInvalid]. db stays the caller's.
//
// A fault of the database is one of the errors of this package, and then nothing was changed.
func Open(ctx context.Context, db *sql.DB, d Dialect, opts Options) (*Store, error) {
	s, err := open(ctx, db, d, opts, syntax.checkRestored)
	if err != nil || opts.Mark == nil {
		return s, err
	}
	return openMarked(ctx, db, d, opts, s)
}

type look func(syntax, context.Context, queryer) error

func open(ctx context.Context, db *sql.DB, d Dialect, opts Options, last look) (*Store, error) {
	syn, err := opts.syntax(d)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errNilDB
	}
	opts.Retries = cmp.Or(opts.Retries, 10)
	opts.Log = cmp.Or(opts.Log, slog.Default())
	s := &Store{syntax: syn, db: db, dials: newDials(db), opts: opts}
	err = s.checkPool()
	if err == nil {
		err = s.check(ctx, last)
	}
	if err == nil && d == SQLite {
		err = s.openPools(ctx)
	}
	if err != nil {
		return nil, errors.Join(wrapped("open "+d.String(), err), s.Close())
	}
	s.warnIdle(ctx)
	s.warnReadOnly(ctx)
	return s, nil
}

// check looks at a database and changes nothing.
func (s *Store) check(ctx context.Context, last look) error {
	conn, err := s.dials.lend(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := s.checkDialect(ctx, conn); err != nil {
		return err
	}
	if s.Dialect == SQLite {
		err := whileBusy(ctx, func() error { return errors.Join(checkFile(ctx, conn), s.current(ctx, conn)) })
		if err == nil {
			err = whileBusy(ctx, func() error { return s.readPlace(ctx, conn) })
		}
		return err
	}
	return inTurn(
		func() error { return checkPostgres(ctx, conn) },
		func() error { return s.current(ctx, conn) },
		func() error { return last(s.syntax, ctx, conn) },
		func() error { return s.readPlace(ctx, conn) })
}

// checkDialect asks what only the right database can answer.
func (s syntax) checkDialect(ctx context.Context, q queryer) error {
	ask := "SELECT sqlite_version()"
	if s.Dialect == Postgres {
		ask = "SELECT current_setting('server_version_num')"
	}
	var version string
	err := whileBusy(ctx, func() error { return q.QueryRowContext(ctx, ask).Scan(&version) })
	if state(err) == "42883" || code(err)&0xff == sqliteError { // there is no such function
		return fmt.Errorf("%w: it is not %v: %w", ErrDialect, s.Dialect, err)
	}
	return err
}

// HasDomain reports whether the store was opened with a domain, see [Options].
func (s *Store) HasDomain(d store.Domain) bool { return s.has(d) && d != shared }

// lacks reports whether the store is without a domain, and what its records answer then.
func (t *tx) lacks(d store.Domain) (none store.Unimplemented, lacks bool) {
	if t.store.has(d) {
		return none, false
	}
	return store.Unimplemented{Cause: fmt.Errorf("%w: %s is not among Options.Domains, %q", store.ErrNoDomain, d, t.store.domains)}, true
}

// Close waits for running transactions on SQLite and closes the connections
// that Open took: no setting of ours goes back to the pool. The *sql.DB stays
// open.
func (s *Store) Close() error { return errors.Join(s.writer.close(), s.reader.close()) }

// Update implements [store.Store].
func (s *Store) Update(ctx context.Context, fn func(store.Unit) error) error {
	if fn == nil {
		return errNilFunc
	}
	return s.repeat(ctx, func(t *tx) error { return fn(t) }, func(ctx context.Context) (unit, error) { return s.begin(ctx, false) })
}

// View implements [store.Store].
func (s *Store) View(ctx context.Context, fn func(store.Unit) error) error {
	if fn == nil {
		return errNilFunc
	}
	_, err := s.once(ctx, new(string), new([]statemachine.JournalLine), func(t *tx) error { t.view = true; return fn(t) },
		func(ctx context.Context) (unit, error) { return s.begin(ctx, true) })
	return err
}

var errNilFunc = fmt.Errorf("%w: the function is nil", statemachine.ErrInvalid)

// repeat runs fn in one transaction, and again where another run can do better. What
// people tried in the last run is in the journal, however that ended.
func (s *Store) repeat(ctx context.Context, fn func(*tx) error, begin func(context.Context) (unit, error)) error {
	var said []statemachine.JournalLine
	err := s.retried(ctx, &said, fn, begin)
	return s.untold(ctx, said, err)
}

func (s *Store) retried(ctx context.Context, said *[]statemachine.JournalLine, fn func(*tx) error,
	begin func(context.Context) (unit, error)) error {
	stale := ""
	for attempt := 0; ; attempt++ {
		again, err := s.once(ctx, &stale, said, fn, begin)
		if err == nil || attempt >= s.opts.Retries || !again {
			return err
		}
		pause := min(time.Millisecond<<min(attempt, 7), 100*time.Millisecond)
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(rand.N(pause) + pause/4):
		}
	}
}

// once runs fn in one transaction, and reports whether running it again after an error may succeed. stale names the
// record that the last run found at another version. said gets the journal lines that fn appended and that were not
// stored.
func (s *Store) once(ctx context.Context, stale *string, said *[]statemachine.JournalLine, fn func(*tx) error,
	begin func(context.Context) (unit, error)) (again bool, err error) {
	*said = nil
	if ctx.Value(inside{s}) != nil {
		return false, errNested
	}
	u, err := begin(ctx)
	if err != nil {
		return transient(err), ended(ctx, cause(err))
	}
	committing := false
	defer func() {
		if !committing { // an error, a panic, or Goexit
			u.rollback()
		}
	}()
	t := &tx{ctx: ctx, late: u.late, store: s, run: u.session, start: u.start, patient: u.patient, host: u.host, direct: u.host != nil,
		before: *stale}
	defer func() { *stale, *said = t.stale, t.said }()
	err = fn(t)
	var refusal error
	if t.tells(err) {
		refusal, err = err, nil
	}
	if err == nil {
		t.last = true
		err = t.flush() // or an error that fn did not look at, which it must not commit past
	}
	if err == nil && !t.landed {
		err = ctx.Err()
	}
	again = t.again(err)
	t.err = errDone
	if err != nil {
		if t.demoted(err) { // a new connection may reach the server that has taken over
			u.spoil()
		}
		return again, ended(ctx, err)
	}
	committing = true
	if err = u.commit(); err == nil {
		t.said = nil
		return false, ended(ctx, refusal)
	}
	return t.again(err), ended(ctx, cause(err))
}

// unit is a transaction of the database.
type unit struct {
	*session
	start    func() error    // sends BEGIN; nil: it was sent
	host     *sql.Tx         // of UpdateTx: the same transaction, for the host's statements
	late     context.Context // of its statements
	patient  func()          // the next statement is waited for as long as a COMMIT
	spoil    func()          // the connection does not go back to the pool
	commit   func() error    // rolls back if it fails
	rollback func()
}

func (s *Store) begin(ctx context.Context, view bool) (unit, error) {
	if s.Dialect == Postgres {
		u, err := s.beginPostgres(ctx, view)
		if view && err == nil {
			u, err = u.started() // all that it reads is of one moment
		}
		return u, err
	}
	return s.beginSQLite(ctx, view)
}

// Within is for a host that must own the transaction; any other takes [Store.UpdateTx]. It joins a transaction that the
// host has begun: what the returned unit writes commits, or not, with tx. Nothing is delayed, and nothing is retried;
// after an error the host rolls back, and after [store.ErrRetry] it begins again.
//
// On SQLite the host begins IMMEDIATE, on a connection with foreign_keys on and synchronous FULL, which are checked;
// see the package for a whole DSN. On PostgreSQL its isolation is READ COMMITTED; any other is
// [statemachine.ErrInvalid]. Two commands of one transaction lock their rows in the order of the commands: hosts that
// lock in different orders can deadlock, which is ErrRetry for one of them.
func (s *Store) Within(ctx context.Context, tx *sql.Tx) (store.Unit, error) {
	if tx == nil {
		return nil, fmt.Errorf("%w: the *sql.Tx is nil", statemachine.ErrInvalid)
	}
	t, err := s.within(ctx, tx)
	err = cause(err)
	if err != nil {
		return nil, err
	}
	return t, nil
}

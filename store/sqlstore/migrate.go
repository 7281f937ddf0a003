package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// migrateWait is how long Migrate goes on trying where another process is in
// its way.
const migrateWait = time.Minute

// Migrate makes the tables of [Options.Domains] as this package needs them, in one transaction: whatever stops it
// leaves the database as it was. It runs each migration that is not noted in settle_versions, in the order of their
// numbers. Running it again changes nothing, and any number of processes may run it at once. On PostgreSQL it makes the
// schema if it is missing.
//
// A later version of this package may have migrated the database already. Each migration says from which version on a
// binary may go on beside it: Migrate logs migrations that it does not know, or refuses with [ErrNewerTables]. Foreign
// tables that have the names of ours are [ErrForeignTables]. Nothing is changed then.
func Migrate(ctx context.Context, db *sql.DB, d Dialect, opts Options) error {
	return migrating(ctx, db, d, opts, "migrate", syntax.migrate)
}

// migrating does something to the tables in one transaction, again while another process is in its way.
func migrating(ctx context.Context, db *sql.DB, d Dialect, opts Options, what string, do func(syntax, context.Context, *sql.Conn) error,
) error {
	s, err := opts.syntax(d)
	if err == nil && db == nil {
		err = errNilDB
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	until := time.Now().Add(migrateWait)
	for {
		err := s.migrateOnce(ctx, db, do)
		if err == nil || !transient(err) || time.Now().After(until) {
			return wrapped(what, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(wrapped(what, err), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, cause(err))
}

// migrateOnce calls do in a transaction of a connection that does not go back: its settings are ours.
func (s syntax) migrateOnce(ctx context.Context, db *sql.DB, do func(syntax, context.Context, *sql.Conn) error) (err error) {
	conn, err := newDials(db).lend(ctx)
	if err != nil {
		return err
	}
	defer discard(conn)
	if err := s.checkDialect(ctx, conn); err != nil {
		return err
	}
	begin := []string{"BEGIN ISOLATION LEVEL READ COMMITTED"}
	if s.Dialect == SQLite {
		begin = []string{fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout), "BEGIN IMMEDIATE"}
	}
	if err := execAll(ctx, conn, begin...); err != nil {
		return err
	}
	if s.Dialect == Postgres { // SQLite has one writer
		if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('settle migrations '||$1, 0))", s.prefix); err != nil {
			return err
		}
	}
	if err := do(s, ctx, conn); err != nil {
		return err // discarding the connection rolls back
	}
	return execAll(ctx, conn, "COMMIT")
}

func execAll(ctx context.Context, conn *sql.Conn, texts ...string) error {
	for _, text := range texts {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// migrate runs inside of the transaction.
func (s syntax) migrate(ctx context.Context, conn *sql.Conn) error {
	if s.Dialect == Postgres {
		if schema := strings.TrimSuffix(s.prefix, "."); schema != "" {
			if _, err := conn.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema); err != nil {
				return fmt.Errorf("create schema %s: %w", schema, err)
			}
		}
	}
	known, err := s.applied(ctx, conn)
	if err != nil {
		return err
	}
	if err := s.mayJoin(known); err != nil {
		return err
	}
	files := slices.DeleteFunc(s.steps(), func(m step) bool { _, done := known[m.version]; return done })
	for _, m := range files {
		for _, name := range m.creates() {
			taken, err := s.exists(ctx, conn, s.prefix+name)
			switch {
			case err != nil:
				return err
			case taken:
				return fmt.Errorf("%w: %s%s is there already, and %ssettle_versions does not say that it is ours: "+
					"Options.Schema keeps our tables apart, in a schema of PostgreSQL or behind a prefix on SQLite",
					ErrForeignTables, s.prefix, name, s.prefix)
			}
		}
	}
	found, err := s.exists(ctx, conn, s.versions)
	switch {
	case err != nil:
		return err
	case !found && len(known) > 0:
		return fmt.Errorf("%w: there is a table %ssettle_versions and no %s: if a goose of your own ran our migrations, name its table in "+
			"Options.VersionTable",
			ErrForeignTables, s.prefix, s.versions)
	case !found:
		if err := execAll(ctx, conn, s.versionTable()); err != nil {
			return err
		}
	}
	for _, m := range files {
		if err := execAll(ctx, conn, s.up(m)); err != nil {
			return fmt.Errorf("migration %d: %w", m.version, err)
		}
	}
	return nil
}

// Script returns what [Migrate] does to an empty database as one text of SQL, with the rows of the version table: for a
// tool that is not goose, and to read. It begins and commits nothing. Migrations that an existing database lacks, or
// that a new domain needs, are in the files of [Migrations].
func Script(d Dialect, opts Options) (string, error) {
	s, err := opts.syntax(d)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	if schema := strings.TrimSuffix(s.prefix, "."); d == Postgres && schema != "" {
		fmt.Fprintf(&all, "CREATE SCHEMA IF NOT EXISTS %s;\n\n", schema)
	}
	all.WriteString(s.versionTable())
	for _, m := range s.steps() {
		all.WriteString("\n" + s.up(m))
	}
	return all.String(), nil
}

// shared is the domain of what all have.
const shared store.Domain = "shared"

// step is one migration, with its macros.
type step struct {
	version  int64
	domain   store.Domain
	up, down string
}

// domainOf is the domain in the name of a migration, NNNNN_<domain>.sql or
// NNNNN_<domain>_<subject>.sql.
func domainOf(name string) store.Domain {
	_, name, _ = strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
	name, _, _ = strings.Cut(name, "_")
	return store.Domain(name)
}

// latest are the last migrations of the chosen domains, in the order of their numbers.
func (s syntax) latest() iter.Seq2[store.Domain, int64] {
	steps := s.steps()
	return func(yield func(store.Domain, int64) bool) {
		for i, m := range steps {
			later := slices.ContainsFunc(steps[i+1:], func(n step) bool { return n.domain == m.domain })
			if !later && !yield(m.domain, m.version) {
				return
			}
		}
	}
}

// has reports whether a domain is among the chosen ones.
func (s syntax) has(d store.Domain) bool {
	return d == shared || d == store.DomainSwitches || len(s.domains) == 0 || slices.Contains(s.domains, d)
}

// steps are the migrations of the chosen domains, in their order.
func (s syntax) steps() []step {
	names, err := fs.Glob(s.files, "*.sql")
	if err != nil {
		panic(err) // embedded
	}
	var all []step
	for _, name := range names {
		text, err := fs.ReadFile(s.files, name)
		if err != nil {
			panic(err)
		}
		m := step{domain: domainOf(name)}
		if !s.has(m.domain) {
			continue
		}
		if _, err := fmt.Sscanf(name, "%d_", &m.version); err != nil {
			panic("sqlstore: migration " + name + " has no number")
		}
		_, m.up, _ = strings.Cut(string(text), "-- +goose Up\n")
		m.up, m.down, _ = strings.Cut(m.up, "-- +goose Down\n")
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b step) int { return cmp.Compare(a.version, b.version) })
	return all
}

var (
	created     = regexp.MustCompile(`(?m)^CREATE (?:TABLE|VIEW) @(\w+)`)
	annotations = regexp.MustCompile(`(?m)^-- \+goose .*\n`)
)

// creates returns the names of the tables and views that a migration makes.
func (m step) creates() (names []string) {
	for _, c := range created.FindAllStringSubmatch(m.up, -1) {
		names = append(names, c[1])
	}
	return names
}

// up is the text that runs a migration and notes it.
func (s syntax) up(m step) string {
	return annotations.ReplaceAllString(s.migration(m.up), "") + s.note(m.version)
}

func (s syntax) note(version int64) string {
	yes := "1"
	if s.Dialect == Postgres {
		yes = "true"
	}
	return fmt.Sprintf("INSERT INTO %s (version_id, is_applied) VALUES (%d, %s);\n", s.versions, version, yes)
}

// versionTable makes the table in which goose notes what it has run.
func (s syntax) versionTable() string {
	columns := "id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT " +
		"(datetime('now'))"
	if s.Dialect == Postgres {
		columns = "id integer PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, version_id bigint NOT NULL, is_applied boolean NOT NULL, tstamp " +
			"timestamp NOT NULL DEFAULT now()"
	}
	return fmt.Sprintf("CREATE TABLE %s (%s);\n%s", s.versions, columns, s.note(0))
}

// exists reports whether a table or view is there: in the schema that is named,
// or in the one that CREATE would take.
func (s syntax) exists(ctx context.Context, q queryer, name string) (is bool, err error) {
	ask := "SELECT count(*) > 0 FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?2 COLLATE NOCASE AND ?1 = ''"
	if s.Dialect == Postgres {
		ask = "SELECT count(*) > 0 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace " +
			"WHERE n.nspname = coalesce(nullif($1::text, ''), current_schema()) AND c.relname = $2::text"
	}
	schema, table, found := strings.Cut(name, ".")
	if !found {
		schema, table = "", name
	}
	err = q.QueryRowContext(ctx, ask, schema, table).Scan(&is)
	return is, err
}

// noted is a row of settle_versions.
type noted struct {
	domain store.Domain
	oldest int64 // the least number that a binary must know of the domain
}

// applied are the migrations that were run, by number; none if there is no table
// that says so.
func (s syntax) applied(ctx context.Context, q queryer) (map[int64]noted, error) {
	if found, err := s.exists(ctx, q, s.prefix+"settle_versions"); err != nil || !found {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, s.expand("SELECT version, domain, oldest FROM @settle_versions"))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[int64]noted{}
	for rows.Next() {
		var version int64
		var n noted
		if err := rows.Scan(&version, &n.domain, &n.oldest); err != nil {
			return nil, err
		}
		all[version] = n
	}
	return all, rows.Err()
}

// mayJoin returns [ErrNewerTables] if a migration that this package does not know
// leaves no room for it beside those who know it.
func (s syntax) mayJoin(known map[int64]noted) error {
	latest, ours := maps.Collect(s.latest()), map[int64]bool{}
	for _, m := range s.steps() {
		ours[m.version] = true
	}
	var later []int64
	for _, version := range slices.Sorted(maps.Keys(known)) {
		n := known[version]
		switch at, chosen := latest[n.domain]; {
		case ours[version] || !chosen:
		case n.oldest > at:
			return fmt.Errorf("%w: migration %d of %s needs a package that knows migration %d, and this one knows %d: use a later one",
				ErrNewerTables,
				version, n.domain, n.oldest, at)
		default:
			later = append(later, version)
		}
	}
	if later != nil {
		s.log.Info("the database has later migrations than this version of settle, which goes on beside them", "migrations", later)
	}
	return nil
}

// current reports an error unless the tables of the chosen domains are there and
// this package may use them.
func (s syntax) current(ctx context.Context, q queryer) error {
	known, err := s.applied(ctx, q)
	if err != nil {
		return err
	}
	if known == nil {
		ours, err := s.exists(ctx, q, s.prefix+"transitions")
		if err == nil && ours {
			err = fmt.Errorf("%w: there is a table %[2]stransitions and no %[2]ssettle_versions: Options.Schema keeps our tables apart, "+
				"in a schema of PostgreSQL or behind a prefix on SQLite", ErrForeignTables, s.prefix)
		}
		return cmp.Or(err, fmt.Errorf("%w: run Migrate", ErrNoTables))
	}
	if err := s.mayJoin(known); err != nil {
		return err
	}
	for _, m := range s.steps() {
		if _, done := known[m.version]; done {
			continue
		}
		for _, n := range known {
			if n.domain == m.domain {
				return fmt.Errorf("%w: migration %d of %s is missing: run Migrate", ErrOldTables, m.version, m.domain)
			}
		}
		return fmt.Errorf("%w: those of %s: run Migrate, or leave it out of Options.Domains", ErrNoTables, m.domain)
	}
	return nil
}

var errNilDB = fmt.Errorf("%w: the *sql.DB is nil", statemachine.ErrInvalid)

package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// migrateWait is how long Migrate goes on trying where another process is in
// its way.
const migrateWait = time.Minute

// Migrate brings the tables to the version that this package needs, in one
// transaction: whatever stops it leaves the database as it was. Running it again
// changes nothing, and any number of processes may run it at once. On PostgreSQL
// it makes the schema if it is missing.
//
// Tables of a later version are [ErrNewerTables], and tables that have the names
// of ours and are not [ErrForeignTables]; then nothing is changed.
func Migrate(ctx context.Context, db *sql.DB, d Dialect, opts Options) error {
	s, err := opts.syntax(d)
	if err == nil && db == nil {
		err = errNilDB
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	until := time.Now().Add(migrateWait)
	for {
		err := s.migrateOnce(ctx, db)
		if err == nil || !transient(err) || time.Now().After(until) {
			return wrapped("migrate", err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(wrapped("migrate", err), ctx.Err())
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

// migrateOnce runs what is pending on a connection that does not go back: its
// settings are ours.
func (s syntax) migrateOnce(ctx context.Context, db *sql.DB) (err error) {
	conn, err := lend(ctx, db)
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
	if err := s.migrate(ctx, conn); err != nil {
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
	if s.Dialect == Postgres { // SQLite has one writer
		if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('settle migrations '||$1, 0))", s.prefix); err != nil {
			return err
		}
		if schema := strings.TrimSuffix(s.prefix, "."); schema != "" {
			if _, err := conn.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema); err != nil {
				return fmt.Errorf("create schema %s: %w", schema, err)
			}
		}
	}
	at, found, err := s.version(ctx, conn)
	if err != nil {
		return err
	}
	if at > s.latest() {
		return s.newer(at)
	}
	files := slices.DeleteFunc(s.steps(), func(m step) bool { return m.version <= at })
	for _, m := range files {
		for _, name := range m.creates() {
			taken, err := s.exists(ctx, conn, s.prefix+name)
			switch {
			case err != nil:
				return err
			case taken:
				return fmt.Errorf("%w: %s%s is there already, and %s does not say that it is ours", ErrForeignTables, s.prefix, name, s.versions)
			}
		}
	}
	if !found {
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

// Script returns what [Migrate] does to an empty database as one text of SQL,
// with the rows of the version table: for a tool that is not goose, and to read.
// It begins and commits nothing. What is pending of an older version is in the
// files of [Migrations].
func Script(d Dialect, opts Options) (string, error) {
	s, err := opts.syntax(d)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	if schema := strings.TrimSuffix(s.prefix, "."); schema != "" {
		fmt.Fprintf(&all, "CREATE SCHEMA IF NOT EXISTS %s;\n\n", schema)
	}
	all.WriteString(s.versionTable())
	for _, m := range s.steps() {
		all.WriteString("\n" + s.up(m))
	}
	return all.String(), nil
}

// step is one migration, with its macros.
type step struct {
	version  int64
	up, down string
}

// steps are all migrations, in their order.
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
		var m step
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
	return annotations.ReplaceAllString(s.migration(m.up), "") + s.noted(m.version)
}

func (s syntax) noted(version int64) string {
	yes := "1"
	if s.Dialect == Postgres {
		yes = "true"
	}
	return fmt.Sprintf("INSERT INTO %s (version_id, is_applied) VALUES (%d, %s);\n", s.versions, version, yes)
}

// versionTable makes the table in which goose notes what it has run.
func (s syntax) versionTable() string {
	columns := "id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now'))"
	if s.Dialect == Postgres {
		columns = "id integer PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, version_id bigint NOT NULL, is_applied boolean NOT NULL, tstamp timestamp NOT NULL DEFAULT now()"
	}
	return fmt.Sprintf("CREATE TABLE %s (%s);\n%s", s.versions, columns, s.noted(0))
}

// latest is the version that the newest migration makes.
func (s syntax) latest() int64 {
	all := s.steps()
	return all[len(all)-1].version
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

// version is the number of the newest migration that was run; found is whether
// there is a version table.
func (s syntax) version(ctx context.Context, q queryer) (at int64, found bool, err error) {
	if found, err = s.exists(ctx, q, s.versions); err != nil || !found {
		return 0, false, err
	}
	err = q.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+s.versions+" WHERE is_applied").Scan(&at)
	return at, true, err
}

// current reports an error unless the tables are those of this package.
func (s syntax) current(ctx context.Context, q queryer) error {
	at, found, err := s.version(ctx, q)
	switch {
	case err != nil:
		return err
	case at > s.latest():
		return s.newer(at)
	case at == s.latest():
		return nil
	case at > 0:
		return fmt.Errorf("%w: they are at version %d, this package needs %d: run Migrate", ErrOldTables, at, s.latest())
	}
	ours, err := s.exists(ctx, q, s.prefix+"transitions")
	switch {
	case err != nil:
		return err
	case ours && !found:
		return fmt.Errorf("%w: there is a table %stransitions and no %s: if a goose of your own ran our migrations, name its table in Options.VersionTable",
			ErrForeignTables, s.prefix, s.versions)
	}
	return fmt.Errorf("%w: run Migrate", ErrNoTables)
}

func (s syntax) newer(at int64) error {
	return fmt.Errorf("%w: they are at version %d, this package knows %d: use a later one", ErrNewerTables, at, s.latest())
}

var errNilDB = fmt.Errorf("%w: the *sql.DB is nil", statemachine.ErrInvalid)

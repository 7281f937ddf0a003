package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/settlehq/settle/statemachine"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable is goose's own table, under our name so that it does not mix
// with the migrations of the host.
const versionTable = "settle_db_version"

// Migrate brings the tables to the version that this package needs. Running it
// again changes nothing. On PostgreSQL it makes the schema if it is missing, and
// concurrent calls wait for each other; on SQLite run it once, before [Open].
func Migrate(ctx context.Context, db *sql.DB, d Dialect, opts Options) error {
	s, err := opts.syntax(d)
	if err != nil {
		return err
	}
	files, err := Migrations(d, opts)
	if err != nil {
		return err
	}
	settings := []goose.ProviderOption{goose.WithTableName(s.prefix + versionTable), goose.WithDisableGlobalRegistry(true)}
	dialect := goose.DialectSQLite3
	if d == Postgres {
		dialect = goose.DialectPostgres
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		settings = append(settings, goose.WithSessionLocker(locker))
		if opts.Schema != "" {
			if _, err := db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+opts.Schema); err != nil && !duplicate(err) {
				return fmt.Errorf("create schema %s: %w", opts.Schema, err)
			}
		}
	}
	provider, err := goose.NewProvider(dialect, db, files, settings...)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// Migrations returns the migrations as goose reads them, for a host that runs
// them with its own.
func Migrations(d Dialect, opts Options) (fs.FS, error) {
	s, err := opts.syntax(d)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(migrations, "migrations")
	return expandedFS{files, s}, err
}

// latest is the version that the newest migration makes.
func latest() int64 {
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		panic(err) // embedded
	}
	version, err := goose.NumericComponent(entries[len(entries)-1].Name())
	if err != nil {
		panic(err)
	}
	return version
}

// current reports an error unless the tables are those of this package.
func current(ctx context.Context, db *sql.DB, s syntax) error {
	var at sql.NullInt64
	err := db.QueryRowContext(ctx, s.expand("SELECT max(version_id) FROM @"+versionTable)).Scan(&at)
	if err != nil {
		return fmt.Errorf("the tables are missing, run Migrate: %w", err)
	}
	if at.Int64 != latest() {
		return fmt.Errorf("%w: the tables are at version %d, this package needs %d: run Migrate", statemachine.ErrInvalid, at.Int64, latest())
	}
	return nil
}

// expandedFS expands the macros of the files that it opens.
type expandedFS struct {
	fs.FS
	syntax syntax
}

func (e expandedFS) Open(name string) (fs.File, error) {
	f, err := e.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return f, err
	}
	text, err := io.ReadAll(f)
	return expandedFile{f, strings.NewReader(e.syntax.migration(string(text)))}, err
}

type expandedFile struct {
	fs.File
	text *strings.Reader
}

func (f expandedFile) Read(p []byte) (int, error) { return f.text.Read(p) }

var (
	only = regexp.MustCompile(`(?ms)^-- \{(sqlite|postgres)$\n(.*?)^-- \}$\n`)
	keep = regexp.MustCompile(`(?m)^\{(append only|no delete) (\w+)\}$`)
	once = regexp.MustCompile(`(?m)^\{(insert once|insert or ignore) (\w+): ([^}]+)\}\n`)
)

// migration expands a migration. Beside the macros of [syntax] it has
//
//	-- {sqlite         lines for one dialect,
//	...
//	-- }
//	{append only t}    triggers that refuse UPDATE and DELETE,
//	{no delete t}      or only DELETE, of any row of t.
//	{insert once t: a; b, c}       On SQLite REPLACE deletes without these
//	{insert or ignore t: a; b, c}  triggers: others refuse, or ignore, a row whose
//	                               key is there, a or (b, c). The second kind is
//	                               for ON CONFLICT DO NOTHING.
func (s syntax) migration(text string) string {
	text = only.ReplaceAllStringFunc(text, func(block string) string {
		m := only.FindStringSubmatch(block)
		if m[1] == s.String() {
			return m[2]
		}
		return ""
	})
	text = keep.ReplaceAllStringFunc(text, func(line string) string {
		m := keep.FindStringSubmatch(line)
		events := []string{"DELETE"}
		if m[1] == "append only" {
			events = append(events, "UPDATE")
		}
		if s.Dialect == Postgres {
			return fmt.Sprintf("CREATE TRIGGER keep_%s BEFORE %s OR TRUNCATE ON @%s EXECUTE FUNCTION @settle_keep();",
				m[2], strings.Join(events, " OR "), m[2])
		}
		var all []string
		for _, e := range events {
			all = append(all, fmt.Sprintf("-- +goose StatementBegin\nCREATE TRIGGER keep_%[1]s_%[2]s BEFORE %[2]s ON %[1]s BEGIN\n"+
				"\tSELECT RAISE(ABORT, '%[1]s keeps its history: no %[2]s');\nEND;\n-- +goose StatementEnd", m[2], e))
		}
		return strings.Join(all, "\n")
	})
	text = once.ReplaceAllStringFunc(text, func(line string) string {
		m := once.FindStringSubmatch(line)
		if s.Dialect == Postgres {
			return ""
		}
		var keys []string
		for _, key := range strings.Split(m[3], "; ") {
			var same []string
			for _, c := range strings.Split(key, ", ") {
				same = append(same, c+" = NEW."+c)
			}
			keys = append(keys, fmt.Sprintf("EXISTS (SELECT 1 FROM %s WHERE %s)", m[2], strings.Join(same, " AND ")))
		}
		action := fmt.Sprintf("ABORT, '%s keeps its history: no second INSERT'", m[2])
		if m[1] == "insert or ignore" {
			action = "IGNORE"
		}
		return fmt.Sprintf("-- +goose StatementBegin\nCREATE TRIGGER keep_%[1]s_INSERT BEFORE INSERT ON %[1]s WHEN %[2]s BEGIN\n"+
			"\tSELECT RAISE(%[3]s);\nEND;\n-- +goose StatementEnd\n", m[2], strings.Join(keys, " OR "), action)
	})
	return s.expand(text)
}

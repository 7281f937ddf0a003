package sqlstore_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/sqlstore"
)

// schemaOf lists all that migrations make, but for the version table.
func (d database) schemaOf(t *testing.T) []string {
	t.Helper()
	text := "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE '%db_version%' AND tbl_name NOT LIKE 'sqlite_%'"
	if d.dialect == sqlstore.Postgres {
		text = strings.ReplaceAll(`
SELECT concat_ws(' ', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, pg_get_expr(f.adbin, f.adrelid), l.collname)
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef f ON f.adrelid = c.oid AND f.adnum = a.attnum LEFT JOIN pg_collation l ON l.oid = a.attcollation
	WHERE c.relnamespace = '$'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped AND c.relname NOT LIKE '%db_version%'
UNION ALL SELECT concat_ws(' ', 'index', indexdef) FROM pg_indexes WHERE schemaname = '$' AND tablename NOT LIKE '%db_version%'
UNION ALL SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
	WHERE connamespace = '$'::regnamespace AND conrelid::regclass::text NOT LIKE '%db_version%'
UNION ALL SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid)) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = '$'::regnamespace AND NOT tgisinternal
UNION ALL SELECT concat_ws(' ', 'function', proname) FROM pg_proc WHERE pronamespace = '$'::regnamespace`, "$", d.opts.Schema)
	}
	rows, err := d.Query(text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		if d.opts.Schema != "" {
			line = strings.ReplaceAll(line, d.opts.Schema+".", "")
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

func sameSchema(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s has besides: %s", what, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s lacks: %s", what, line)
		}
	}
}

// versions are those that the version table notes, in order.
func (d database) versions(t *testing.T, table string) (all []int64) {
	t.Helper()
	rows, err := d.Query("SELECT version_id FROM " + d.table(table) + " ORDER BY version_id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var v int64
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// numbers are the versions of the migrations, 0 first.
func (d database) numbers(t *testing.T) []int64 {
	t.Helper()
	files, err := sqlstore.Migrations(d.dialect, d.opts)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	all := []int64{0}
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			t.Fatal(err)
		}
		if v != all[len(all)-1]+1 {
			t.Errorf("%s comes after %d: each number comes once, and none is left out", name, all[len(all)-1])
		}
		all = append(all, v)
	}
	return all
}

// The host's own goose runs our migrations, both ways, and makes the same
// tables; Open and Migrate find them under the name of its table.
func TestTheHostsGooseRunsTheMigrations(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx := context.Background()
		ours := newMigrated(t, d)
		want := ours.schemaOf(t)
		db := newDatabase(t, d)
		db.opts.VersionTable = "goose_db_version"
		if d == sqlstore.Postgres {
			if _, err := db.Exec("CREATE SCHEMA " + db.opts.Schema); err != nil {
				t.Fatal(err)
			}
		}
		files, err := sqlstore.Migrations(d, db.opts)
		if err != nil {
			t.Fatal(err)
		}
		host, err := goose.NewProvider(map[sqlstore.Dialect]goose.Dialect{sqlstore.SQLite: goose.DialectSQLite3, sqlstore.Postgres: goose.DialectPostgres}[d],
			db.DB, files, goose.WithTableName(db.table("goose_db_version")))
		if err != nil {
			t.Fatal(err)
		}
		for round := range 2 {
			if _, err := host.Up(ctx); err != nil {
				t.Fatal(err)
			}
			sameSchema(t, "what goose made", db.schemaOf(t), want)
			db.migrate(t)
			s := db.open(t)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			forgot := db.opts
			forgot.VersionTable = ""
			if s, err = sqlstore.Open(ctx, db.DB, d, forgot); err != nil || s.Close() != nil {
				t.Errorf("Open without the name of the table: %v", err)
			}
			if err := sqlstore.Migrate(ctx, db.DB, d, forgot); !errors.Is(err, sqlstore.ErrForeignTables) || !strings.Contains(err.Error(), "VersionTable") {
				t.Errorf("Migrate without the name of the table: %v", err)
			}
			if round > 0 {
				break
			}
			if _, err := host.DownTo(ctx, 0); err != nil {
				t.Fatal(err)
			}
			sameSchema(t, "after all steps down", db.schemaOf(t), nil)
		}
		// And it takes over what Migrate has made.
		theirs, err := goose.NewProvider(map[sqlstore.Dialect]goose.Dialect{sqlstore.SQLite: goose.DialectSQLite3, sqlstore.Postgres: goose.DialectPostgres}[d],
			ours.DB, files, goose.WithTableName(ours.table("settle_db_version")))
		if err != nil {
			t.Fatal(err)
		}
		if pending, err := theirs.HasPending(ctx); err != nil || pending {
			t.Errorf("after Migrate goose has something to do, %v", err)
		}
	})
}

func TestScriptMakesTheSameTables(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		want := newMigrated(t, d)
		db := newDatabase(t, d)
		text, err := sqlstore.Script(d, db.opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
		sameSchema(t, "what the script made", db.schemaOf(t), want.schemaOf(t))
		if got, all := db.versions(t, "settle_db_version"), db.numbers(t); !slices.Equal(got, all) || !slices.Equal(want.versions(t, "settle_db_version"), all) {
			t.Errorf("the script notes versions %v, want %v", got, all)
		}
		db.open(t)
	})
}

// Tables that a later version has made are not touched.
func TestNewerTablesAreLeftAlone(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, db := context.Background(), newMigrated(t, d)
		later := db.numbers(t)
		next := later[len(later)-1] + 1
		db.exec(t, fmt.Sprintf("INSERT INTO %%s (version, domain, oldest) VALUES (%d, 'wallets', 3)", next), "settle_versions") // this package knows 2 of wallets
		want := db.schemaOf(t)
		if err := sqlstore.Migrate(ctx, db.DB, d, db.opts); !errors.Is(err, sqlstore.ErrNewerTables) {
			t.Errorf("Migrate: %v", err)
		}
		if _, err := sqlstore.Open(ctx, db.DB, d, db.opts); !errors.Is(err, sqlstore.ErrNewerTables) || !strings.Contains(err.Error(), fmt.Sprint("migration ", next)) {
			t.Errorf("Open: %v", err)
		}
		sameSchema(t, "the database", db.schemaOf(t), want)
		if got := db.versions(t, "settle_db_version"); !slices.Equal(got, later) {
			t.Errorf("versions are %v", got)
		}
		db.exec(t, "UPDATE %s SET oldest = 2 WHERE oldest = 3 AND domain = 'wallets'", "settle_versions")
		db.migrate(t)
		db.open(t)
	})
}

// A database of somebody else is as it was, to the byte.
func TestForeignDatabaseIsLeftAsItWas(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, db := context.Background(), newDatabase(t, d)
		setup := []string{"CREATE TABLE " + db.table("blocks") + " (n int)", "INSERT INTO " + db.table("blocks") + " VALUES (7)"}
		if d == sqlstore.Postgres {
			setup = append([]string{"CREATE SCHEMA " + db.opts.Schema}, setup...)
		}
		for _, text := range setup {
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		want := db.schemaOf(t)
		var path string
		var before []byte
		if d == sqlstore.SQLite {
			if err := db.QueryRow("SELECT file FROM pragma_database_list").Scan(&path); err != nil {
				t.Fatal(err)
			}
			before, _ = os.ReadFile(path)
		}
		if err := sqlstore.Migrate(ctx, db.DB, d, db.opts); !errors.Is(err, sqlstore.ErrForeignTables) || !strings.Contains(err.Error(), "blocks") || !strings.Contains(err.Error(), "Options.Schema") {
			t.Errorf("Migrate: %v", err)
		}
		if _, err := sqlstore.Open(ctx, db.DB, d, db.opts); !errors.Is(err, sqlstore.ErrNoTables) {
			t.Errorf("Open: %v", err)
		}
		sameSchema(t, "the foreign database", db.schemaOf(t), want)
		if d == sqlstore.SQLite {
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed, %v", err)
			}
			if more, _ := filepath.Glob(path + "?*"); len(more) > 0 {
				t.Errorf("there is also %v", more)
			}
			return
		}
		var found bool
		if err := db.QueryRow("SELECT to_regclass($1) IS NOT NULL", db.table("settle_db_version")).Scan(&found); err != nil || found {
			t.Errorf("a version table was left, %v", err)
		}
	})
}

// A migration that fails in the middle leaves nothing.
func TestMigrationThatFailsLeavesNothing(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, db := context.Background(), newDatabase(t, d)
		setup := []string{"CREATE TABLE " + db.table("host") + " (n int)", "CREATE INDEX transactions_live ON " + db.table("host") + " (n)"}
		if d == sqlstore.Postgres {
			setup = append([]string{"CREATE SCHEMA " + db.opts.Schema}, setup...)
		}
		for _, text := range setup {
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		want := db.schemaOf(t)
		if err := sqlstore.Migrate(ctx, db.DB, d, db.opts); err == nil || !strings.Contains(err.Error(), "migration 2") {
			t.Errorf("an index has the name of ours: %v", err)
		}
		sameSchema(t, "the database", db.schemaOf(t), want)
		if _, err := db.Exec("DROP INDEX " + db.table("transactions_live")); err != nil {
			t.Fatal(err)
		}
		db.migrate(t)
		db.open(t)
	})
}

func TestMigrateRefuses(t *testing.T) {
	pgtest.Beside(t)
	ctx, db := context.Background(), newDatabase(t, sqlstore.SQLite)
	for name, migrate := range map[string]func() error{
		"nil database":    func() error { return sqlstore.Migrate(ctx, nil, sqlstore.SQLite, sqlstore.Options{}) },
		"unknown dialect": func() error { return sqlstore.Migrate(ctx, db.DB, 9, sqlstore.Options{}) },
		"version table in quotes": func() error {
			return sqlstore.Migrate(ctx, db.DB, sqlstore.SQLite, sqlstore.Options{VersionTable: `a" (n int); --`})
		},
		"version table in a schema of SQLite": func() error {
			return sqlstore.Migrate(ctx, db.DB, sqlstore.SQLite, sqlstore.Options{VersionTable: "a.b"})
		},
		"Update of nothing":          func() error { db.migrate(t); return db.open(t).Update(ctx, nil) },
		"Within a nil transaction":   func() error { db.migrate(t); _, err := db.open(t).Within(ctx, nil); return err },
		"Restored of a nil database": func() error { return sqlstore.Restored(ctx, nil, sqlstore.Postgres, sqlstore.Options{}, burned(1)) },
		"Open of a nil database": func() error {
			_, err := sqlstore.Open(ctx, nil, sqlstore.Postgres, sqlstore.Options{})
			return err
		},
	} {
		if err := migrate(); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// child is what another process of a test does: it waits for a line, migrates,
// opens, and says so.
func child(job string) int {
	name, rest, _ := strings.Cut(job, " ")
	schema, address, _ := strings.Cut(rest, " ")
	d := map[string]sqlstore.Dialect{"sqlite": sqlstore.SQLite, "pgx": sqlstore.Postgres}[name]
	ctx, opts := context.Background(), sqlstore.Options{Schema: strings.Trim(schema, "-")}
	db, err := sql.Open(name, address)
	if err == nil {
		db.SetMaxIdleConns(4)
		fmt.Println("ready")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		err = sqlstore.Migrate(ctx, db, d, opts)
	}
	if err == nil {
		_, err = sqlstore.Open(ctx, db, d, opts)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// Processes that start together on an empty database all migrate and open it,
// also when some of them are killed on the way.
func TestProcessesMigrateTogether(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		const processes, rounds = 4, 2
		for round := range rounds {
			db := newDatabase(t, d)
			job := "pgx " + db.opts.Schema + " " + db.url
			if d == sqlstore.SQLite {
				job = "sqlite - " + db.url
			}
			var all []*exec.Cmd
			var gates, outputs []*os.File
			for range processes {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), childJob+"="+job)
				stdin, gate, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				output, stdout, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stdout
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				stdin.Close()
				stdout.Close()
				defer gate.Close()
				defer output.Close()
				all, gates, outputs = append(all, cmd), append(gates, gate), append(outputs, output)
			}
			said := make([]*bufio.Reader, processes)
			for i := range all {
				said[i] = bufio.NewReader(outputs[i])
				if line, err := said[i].ReadString('\n'); line != "ready\n" {
					t.Fatalf("a process says %q, %v", line, err)
				}
			}
			for _, gate := range gates {
				gate.Close()
			}
			killed := 2
			if round == 0 {
				killed = 0
			}
			for i := range killed {
				time.Sleep(rand.N(20 * time.Millisecond))
				_ = all[i].Process.Kill()
			}
			for i, cmd := range all {
				line, _ := said[i].ReadString('\n')
				if err := cmd.Wait(); i >= killed && (err != nil || line != "") {
					t.Errorf("round %d: a process fails: %v %s", round, err, line)
				}
			}
			db.open(t)
			if got, want := db.versions(t, "settle_db_version"), db.numbers(t); !slices.Equal(got, want) {
				t.Errorf("round %d: versions are %v, want %v", round, got, want)
			}
		}
	})
}

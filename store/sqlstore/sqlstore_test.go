package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store/sqlstore"
)

// childJob is what a process does that a test has started.
const childJob = "SETTLE_TEST_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		os.Exit(child(job))
	}
	rc := pgtest.Main(m)
	if err := dropRecycled(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		rc = 1
	}
	os.Exit(rc)
}

// database is an empty database of one dialect.
type database struct {
	*sql.DB
	dialect sqlstore.Dialect
	opts    sqlstore.Options
	url     string
}

// table names a table where the database has a schema.
func (d database) table(name string) string {
	switch {
	case d.opts.Schema == "":
		return name
	case d.dialect == sqlstore.SQLite:
		return d.opts.Schema + "_" + name
	}
	return d.opts.Schema + "." + name
}

func newDatabase(t testing.TB, d sqlstore.Dialect) database {
	t.Helper()
	if d == sqlstore.Postgres {
		url := pgtest.URL(t)
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxIdleConns(16) // of a connection that is closed the prepared statements are lost
		t.Cleanup(func() { db.Close() })
		return database{db, d, sqlstore.Options{Schema: pgtest.Schema(t, db)}, url}
	}
	path := filepath.Join(t.TempDir(), "settle.db")
	return database{openFile(t, path), d, sqlstore.Options{}, pgtest.FileURL(path)}
}

// newMigrated is one with the tables.
func newMigrated(t testing.TB, d sqlstore.Dialect) database {
	t.Helper()
	if d == sqlstore.SQLite {
		return emptyFile(t)
	}
	db := newDatabase(t, d)
	db.migrate(t)
	return db
}

func openFile(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", pgtest.FileURL(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func (d database) migrate(t testing.TB) {
	t.Helper()
	if err := sqlstore.Migrate(context.Background(), d.DB, d.dialect, d.opts); err != nil {
		t.Fatal(err)
	}
}

// at opens the database with a clock that stands; at zero the times of events count,
// as in a test of the rules alone.
func (d database) at(t testing.TB, now time.Time) *sqlstore.Store {
	t.Helper()
	d.opts.Now = func() time.Time { return now }
	return d.open(t)
}

func (d database) open(t testing.TB) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(context.Background(), d.DB, d.dialect, d.opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// session is a connection whose settings nobody else gets.
func session(t testing.TB, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	})
	return conn
}

// both runs a test on each dialect, on both at once: one is this process's work,
// the other one the server's.
func both(t *testing.T, test func(t *testing.T, d sqlstore.Dialect)) {
	for _, d := range []sqlstore.Dialect{sqlstore.SQLite, sqlstore.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

func uuidOf(t *testing.T, text string) uuid.UUID {
	t.Helper()
	id, err := uuid.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

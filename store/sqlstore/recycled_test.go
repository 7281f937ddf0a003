package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// The conformance suites want hundreds of empty stores, and making the tables
// takes longer than most of their tests: files are copied, and the schemas of
// PostgreSQL emptied and used again. A test that changes tables takes [newStore].

// A suite on PostgreSQL has the server for itself, since what follows a feed
// waits for every transaction of the server; two servers run two at once.

// recycled is a migrated schema.
type recycled struct {
	database
	reset string // makes it as it was
}

// server lends schemas to one suite at a time.
type server struct {
	url       string
	db        *sql.DB
	free, all []*recycled
}

var (
	first, second server
	idle          = make(chan *server, 2)
	find          sync.Once
)

// suite runs a conformance suite on each dialect, beside others.
func suite(t *testing.T, run func(t *testing.T, open func(testing.TB) store.Store[store.Unit])) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, func(tb testing.TB) store.Store[store.Unit] { return emptyFile(tb) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		find.Do(func() {
			first.url = url
			idle <- &first
			if second.url = pgtest.Second(t); second.url != "" {
				idle <- &second
			}
		})
		s := <-idle
		t.Cleanup(func() { idle <- s })
		run(t, func(tb testing.TB) store.Store[store.Unit] { return s.emptySchema(tb) })
	})
}

// template is the file of an empty store.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "settle-template-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "settle.db")
	db, err := sql.Open("sqlite", pgtest.FileURL(path))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(sqlstore.Migrate(context.Background(), db, sqlstore.SQLite, sqlstore.Options{}), db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// emptyFile is a store for a suite that does not touch the tables themselves.
func emptyFile(t testing.TB) *sqlstore.Store {
	t.Helper()
	text, err := template()
	path := filepath.Join(t.TempDir(), "settle.db")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return database{openFile(t, path), sqlstore.SQLite, sqlstore.Options{}, pgtest.FileURL(path)}.open(t)
}

// emptySchema is the same on PostgreSQL.
func (s *server) emptySchema(t testing.TB) *sqlstore.Store {
	t.Helper()
	var r *recycled
	if n := len(s.free); n > 0 {
		r, s.free = s.free[n-1], s.free[:n-1]
	} else {
		r = s.newRecycled(t)
		s.all = append(s.all, r)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := r.ExecContext(ctx, r.reset); err != nil {
			t.Errorf("the schema cannot be used again: %v", err)
			return
		}
		s.free = append(s.free, r)
	})
	return r.open(t)
}

func (s *server) newRecycled(t testing.TB) *recycled {
	t.Helper()
	if s.db == nil {
		db, err := sql.Open("pgx", s.url)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxIdleConns(16)
		s.db = db
	}
	schema := fmt.Sprintf("settle_spare_%d_%d", os.Getpid(), len(s.all))
	r := &recycled{database: database{s.db, sqlstore.Postgres, sqlstore.Options{Schema: schema}, s.url}}
	r.migrate(t)
	// Triggers that keep history are not for us.
	reset := []string{"BEGIN", "SET LOCAL session_replication_role = replica"}
	var first []string
	for _, table := range r.texts(t, "SELECT tablename FROM pg_tables WHERE schemaname = '"+schema+"' AND tablename <> 'settle_db_version'") {
		reset = append(reset, "DELETE FROM "+r.table(table))
		var rows int
		if err := r.QueryRow("SELECT count(*) FROM " + r.table(table)).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if rows > 0 {
			first = append(first, "CREATE TABLE "+r.table("first_"+table)+" AS TABLE "+r.table(table))
			reset = append(reset, "INSERT INTO "+r.table(table)+" SELECT * FROM "+r.table("first_"+table))
		}
	}
	for _, seq := range r.texts(t, "SELECT sequencename FROM pg_sequences WHERE schemaname = '"+schema+"' AND sequencename NOT LIKE '%version%'") {
		reset = append(reset, "SELECT setval('"+r.table(seq)+"', 1, false)")
	}
	r.reset = strings.Join(append(reset, "COMMIT"), ";\n")
	for _, text := range first {
		if _, err := r.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// dropRecycled leaves nothing on a server that is not ours alone.
func dropRecycled() error {
	var errs []error
	if os.Getenv("SETTLE_TEST_POSTGRES") == "" {
		return nil
	}
	for _, r := range first.all {
		_, err := r.Exec("DROP SCHEMA " + r.opts.Schema + " CASCADE")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

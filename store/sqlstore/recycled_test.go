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
	"github.com/settlehq/settle/store/sqlstore"
)

// The conformance suites want hundreds of empty stores, and making the tables
// takes longer than most of their tests: files are copied, and the schemas of
// PostgreSQL emptied and used again. A test that changes tables takes [newStore].

// recycled is a migrated schema.
type recycled struct {
	database
	reset string // makes it as it was
}

var spare struct {
	sync.Mutex
	db        *sql.DB
	free, all []*recycled
}

// template is the file of an empty store.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "settle-template-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "settle.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(sqlstore.Migrate(context.Background(), db, sqlstore.SQLite, sqlstore.Options{}), db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// emptyStore is a store for a suite that does not touch the tables themselves.
func emptyStore(t testing.TB, d sqlstore.Dialect) *sqlstore.Store {
	t.Helper()
	if d == sqlstore.SQLite {
		text, err := template()
		path := filepath.Join(t.TempDir(), "settle.db")
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return database{openFile(t, path), d, sqlstore.Options{}, "file:" + path}.open(t)
	}
	url := pgtest.URL(t)
	spare.Lock()
	defer spare.Unlock()
	var r *recycled
	if n := len(spare.free); n > 0 {
		r, spare.free = spare.free[n-1], spare.free[:n-1]
	} else {
		r = newRecycled(t, url)
		spare.all = append(spare.all, r)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := r.ExecContext(ctx, r.reset)
		if err != nil {
			t.Errorf("the schema cannot be used again: %v", err)
			return
		}
		spare.Lock()
		defer spare.Unlock()
		spare.free = append(spare.free, r)
	})
	return r.open(t)
}

func newRecycled(t testing.TB, url string) *recycled {
	t.Helper()
	if spare.db == nil {
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxIdleConns(16)
		spare.db = db
	}
	schema := fmt.Sprintf("settle_spare_%d_%d", os.Getpid(), len(spare.all))
	r := &recycled{database: database{spare.db, sqlstore.Postgres, sqlstore.Options{Schema: schema}, url}}
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
	for _, r := range spare.all {
		_, err := r.Exec("DROP SCHEMA " + r.opts.Schema + " CASCADE")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

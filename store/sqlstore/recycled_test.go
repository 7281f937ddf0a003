package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// Hundreds of tests want an empty store, and making the tables takes longer than
// most of them: files are copied, and the schemas of PostgreSQL emptied and used
// again, over connections that know their statements. A schema whose tables a
// test has changed is not used again.

// A suite on PostgreSQL has the server for itself, since what follows a feed
// waits for every transaction of the server: two servers run two at once, beside
// the one of all other tests.

// recycled is a migrated schema.
type recycled struct {
	database
	reset  string // makes it as it was, on the server's cleaner
	tables string // what describes its tables
}

// server lends schemas.
type server struct {
	sync.Mutex
	url       string
	db        *sql.DB
	cleaner   *sql.DB // its one session fires no trigger, and keeps its plans
	made      int
	free, all []*recycled
}

var (
	first server                  // of all tests but suites
	idle  = make(chan *server, 2) // of suites
	find  sync.Once
)

// servers finds the servers, or skips the test.
func servers(t testing.TB) {
	t.Helper()
	url := pgtest.URL(t)
	find.Do(func() {
		if first.url = url; !pgtest.Own() {
			idle <- &first
			return
		}
		for range cap(idle) {
			idle <- &server{url: pgtest.Another(t)}
		}
	})
}

// suite runs a conformance suite on each dialect, beside others, after the tests
// that run alone. Its rules use stores one after the other: one that is emptied
// keeps its connections, and what these have read of the tables and prepared. They
// are opened with one domain; on SQLite the others have no tables.
func suite(t *testing.T, domain store.Domain, run func(t *testing.T, open func(testing.TB) store.Store[store.Unit])) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		var free []*recycledFile
		run(t, func(tb testing.TB) store.Store[store.Unit] {
			var r *recycledFile
			if n := len(free); n > 0 {
				r, free = free[n-1], free[:n-1]
			} else {
				r = newRecycledFile(t, domain)
			}
			tb.Cleanup(func() {
				r.hears.onlyListed(tb, sqlstore.SQLite)
				if err := r.empty(); err != nil {
					tb.Errorf("the file cannot be used again: %v", err)
				} else if !tb.Failed() {
					free = append(free, r)
				}
			})
			return suited{r.store, database{r.db, sqlstore.SQLite, sqlstore.Options{Domains: []store.Domain{domain}}, ""}}
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		servers(t)
		s := <-idle
		t.Cleanup(func() { idle <- s })
		opened := map[*recycled]*sqlstore.Store{}
		var of database
		var hears *hearing
		run(t, func(tb testing.TB) store.Store[store.Unit] {
			r := s.emptySchema(tb, false)
			d := r.database
			d.opts.Domains = []store.Domain{domain}
			back := d
			if opened[r] == nil {
				if hears == nil {
					of, hears = d.heard(t)
				}
				d.DB = of.DB
				opened[r] = d.open(t)
			}
			tb.Cleanup(func() { hears.onlyListed(tb, sqlstore.Postgres) })
			return suited{opened[r], back}
		})
	})
}

// recycledFile is an open store on a file whose pages are known.
type recycledFile struct {
	store *sqlstore.Store
	db    *sql.DB  // for one connection that is none of the store's
	pages [][]byte // of the file as it was made
	hears *hearing // what the store sends
}

func newRecycledFile(t testing.TB, domain store.Domain) *recycledFile {
	t.Helper()
	d := newDatabase(t, sqlstore.SQLite)
	d.opts.Domains = []store.Domain{domain}
	d.migrate(t)
	db, err := sql.Open("sqlite", d.url+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	of, hears := d.heard(t)
	r := &recycledFile{store: of.open(t), db: db, hears: hears}
	if err := r.compare(func(_ int, page []byte) { r.pages = append(r.pages, slices.Clone(page)) }); err != nil {
		t.Fatal(err)
	}
	return r
}

// compare visits the pages of the file.
func (r *recycledFile) compare(visit func(n int, page []byte)) error {
	rows, err := r.db.Query("SELECT data FROM sqlite_dbpage ORDER BY pgno")
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		var page sql.RawBytes
		if err := rows.Scan(&page); err != nil {
			return err
		}
		visit(n, page)
	}
	return rows.Err()
}

// empty writes the pages that were changed as they were, past the triggers that
// keep history: the version of the tables stays, so that no connection reads them
// again.
func (r *recycledFile) empty() error {
	var changed []int
	if err := r.compare(func(n int, page []byte) {
		if n < len(r.pages) && !bytes.Equal(page, r.pages[n]) {
			changed = append(changed, n)
		}
	}); err != nil {
		return err
	}
	tx, err := r.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, n := range changed {
		if _, err := tx.Exec("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", r.pages[n], n+1); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// newStore is an open store on an empty database, for a test that runs alone.
func newStore(t testing.TB, d sqlstore.Dialect) (*sqlstore.Store, database) {
	t.Helper()
	if d == sqlstore.SQLite {
		db := emptyFile(t)
		return db.open(t), db
	}
	servers(t)
	db := first.emptySchema(t, true).database
	return db.open(t), db
}

// emptyFile is a file with the tables.
func emptyFile(t testing.TB) database {
	t.Helper()
	text, err := sqlstore.EmptyFile()
	path := filepath.Join(t.TempDir(), "settle.db")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return database{openFile(t, path), sqlstore.SQLite, sqlstore.Options{}, pgtest.FileURL(path)}
}

// emptySchema is a schema with the tables. A test that sees them may change them.
func (s *server) emptySchema(t testing.TB, seen bool) *recycled {
	t.Helper()
	r := s.lend(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var tables string
		if seen {
			if err := r.QueryRowContext(ctx, describe, r.opts.Schema).Scan(&tables); err != nil {
				t.Error(err)
			}
		}
		text := r.reset
		if seen && tables != r.tables {
			text = "DROP SCHEMA IF EXISTS " + r.opts.Schema + " CASCADE"
		}
		if _, err := s.cleaner.ExecContext(ctx, text); err != nil {
			t.Errorf("the schema cannot be used again: %v", err)
			return
		}
		if text == r.reset {
			s.Lock()
			s.free = append(s.free, r)
			s.Unlock()
		}
	})
	return r
}

func (s *server) lend(t testing.TB) (r *recycled) {
	t.Helper()
	s.Lock()
	defer s.Unlock()
	if n := len(s.free); n > 0 {
		r, s.free = s.free[n-1], s.free[:n-1]
	} else {
		r = s.newRecycled(t)
		s.all = append(s.all, r)
	}
	return r
}

// describe names what tests change about the tables of a schema: they make or
// rename a table, drop a constraint, switch a trigger off, migrate down, and
// gather statistics.
const describe = `WITH t AS (SELECT oid, relname, reltuples FROM pg_class WHERE relnamespace = to_regnamespace($1))
SELECT (SELECT string_agg(relname || reltuples, ' ' ORDER BY relname) FROM t)
	|| (SELECT count(*) FROM pg_constraint WHERE conrelid = ANY (ARRAY(SELECT oid FROM t)))
	|| (SELECT string_agg(tgenabled, '') FROM pg_trigger WHERE tgrelid = ANY (ARRAY(SELECT oid FROM t)))
	|| (SELECT count(*) FROM pg_attribute WHERE attrelid = ANY (ARRAY(SELECT oid FROM t)))`

func (s *server) newRecycled(t testing.TB) *recycled {
	t.Helper()
	if s.db == nil {
		db, err := sql.Open("pgx", s.url)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxIdleConns(16)
		s.db = db
		// Triggers that keep history are not for us. A session that switches them off
		// forgets its plans, so that it is not one of those that the tests use.
		cleaner, err := sql.Open("pgx", pgtest.With(t, s.url, "session_replication_role", "replica"))
		if err != nil {
			t.Fatal(err)
		}
		cleaner.SetMaxOpenConns(1)
		s.cleaner = cleaner
	}
	s.made++
	schema := fmt.Sprintf("settle_spare_%d_%d", os.Getpid(), s.made)
	r := &recycled{database: database{s.db, sqlstore.Postgres, sqlstore.Options{Schema: schema}, s.url}}
	r.migrate(t)
	var reset, first []string
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
		reset = append(reset, "PERFORM setval('"+r.table(seq)+"', 1, false)")
	}
	first = append(first, "CREATE FUNCTION "+r.table("reset")+"() RETURNS void LANGUAGE plpgsql AS $$ BEGIN "+strings.Join(reset, ";\n")+"; END $$")
	r.reset = "SELECT " + r.table("reset") + "()"
	for _, text := range first {
		if _, err := r.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.QueryRow(describe, schema).Scan(&r.tables); err != nil {
		t.Fatal(err)
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
		_, err := r.Exec("DROP SCHEMA IF EXISTS " + r.opts.Schema + " CASCADE")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

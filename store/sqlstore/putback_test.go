package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// suited is a store of a suite, which the suite puts back: an SQLite file from its copy, a schema of PostgreSQL
// from a dump, into another database.
type suited struct {
	*sqlstore.Store
	of database
}

var dumps atomic.Int64

func (s suited) PutBack(t testing.TB, now time.Time) store.Store[store.Unit] {
	t.Helper()
	d := s.of
	if d.dialect == sqlstore.SQLite {
		path := filepath.Join(t.TempDir(), "back.db")
		if _, err := d.Exec("VACUUM INTO '" + path + "'"); err != nil {
			t.Fatal(err)
		}
		d.DB = openFile(t, path)
	} else {
		text, err := pgtest.Tool(t, "pg_dump", "--schema", d.opts.Schema, d.url).Output()
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("back", dumps.Add(1))
		if _, err := d.Exec("CREATE DATABASE " + name); err != nil {
			t.Fatal(err)
		}
		of := d.DB
		t.Cleanup(func() {
			if _, err := of.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
				t.Error(err)
			}
		})
		u, err := url.Parse(d.url)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + name
		restore := pgtest.Tool(t, "psql", "-q", "-v", "ON_ERROR_STOP=1", u.String())
		restore.Stdin = bytes.NewReader(text)
		if out, err := restore.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if d.DB, err = sql.Open("pgx", u.String()); err != nil {
			t.Fatal(err)
		}
		d.SetMaxIdleConns(4)
		t.Cleanup(func() { d.DB.Close() })
	}
	d.opts.Now = func() time.Time { return now }
	lost := burned(1)
	lost.Lost = now // by the clock of the copy
	if err := sqlstore.Restored(context.Background(), d.DB, d.dialect, d.opts, lost); err != nil {
		t.Fatal(err)
	}
	d.opts.Now = nil
	return d.open(t)
}

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

func TestWithinJoinsTheHostsTransaction(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db := newStore(t, d)
		ctx := context.Background()
		if _, err := db.Exec("CREATE TABLE " + db.table("host") + " (n int)"); err != nil {
			t.Fatal(err)
		}
		host := db.DB
		if d == sqlstore.SQLite {
			host = hostDB(t, db, "_pragma=busy_timeout(5000)&_pragma=synchronous(2)&_pragma=foreign_keys(1)&_txlock=immediate")
		}
		for _, commit := range []bool{false, true} {
			tx, err := host.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("INSERT INTO " + db.table("host") + " VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			ours, err := s.Within(ctx, tx)
			if err != nil {
				t.Fatal(err)
			}
			if err := ours.Wallets().Lock(1); err != nil {
				t.Fatal(err)
			}
			if err := ours.Wallets().Save(opened(1)); err != nil {
				t.Fatal(err)
			}
			if err := ours.Wallets().Save(opened(1)); !errors.Is(err, statemachine.ErrConflict) && commit == false {
				t.Errorf("a conflict comes back at once: %v", err)
			}
			if !commit {
				_ = tx.Rollback()
				if ids := stored(t, s); len(ids) != 0 {
					t.Errorf("rolled back, but there is %v", ids)
				}
				continue
			}
			_ = tx.Rollback() // the conflict ended this one; the next commits
			tx, err = host.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if ours, err = s.Within(ctx, tx); err != nil {
				t.Fatal(err)
			}
			if err := ours.Wallets().Save(opened(1)); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if ids := stored(t, s); len(ids) != 1 {
				t.Errorf("committed, but there is %v", ids)
			}
		}
	})
}

// hostDB is a pool of the host on the same SQLite file.
func hostDB(t *testing.T, db database, settings string) *sql.DB {
	t.Helper()
	var path string
	var seq int
	var name string
	if err := db.QueryRow("PRAGMA database_list").Scan(&seq, &name, &path); err != nil {
		t.Fatal(err)
	}
	host, err := sql.Open("sqlite", pgtest.FileURL(path)+"?"+settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	return host
}

func TestWithinChecksTheHostsPragmas(t *testing.T) {
	s, db := newStore(t, sqlstore.SQLite)
	for settings, why := range map[string]string{
		"_pragma=synchronous(2)":                         "foreign_keys",
		"_pragma=synchronous(1)&_pragma=foreign_keys(1)": "synchronous",
	} {
		tx, err := hostDB(t, db, settings).Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Within(context.Background(), tx); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", settings, err)
		}
		_ = tx.Rollback()
	}
}

// Another process that writes for a moment delays us; it does not fail us.
func TestBusyDatabaseIsWaitedFor(t *testing.T) {
	db := emptyFile(t)
	s := db.open(t)
	other := hostDB(t, db, "_txlock=immediate")
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(150 * time.Millisecond)
		_ = tx.Rollback()
	}()
	if err := s.Update(context.Background(), open(1)); err != nil {
		t.Error(err)
	}
}

func TestConnectionsOfAStore(t *testing.T) {
	db := emptyFile(t)
	s := db.open(t)
	if in := db.Stats().InUse; in != 2 {
		t.Errorf("Open takes %d connections, want a writer and a reader", in)
	}
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for range 6 {
		wg.Go(func() {
			_ = s.View(context.Background(), func(tx store.Unit) error { <-gate; return nil })
		})
	}
	deadline := time.Now().Add(2 * time.Minute) // only what hangs reaches it
	for db.Stats().InUse < 5 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if in := db.Stats().InUse; in != 5 {
		t.Errorf("six Views hold %d connections, want four and the writer", in)
	}
	close(gate)
	wg.Wait()
}

package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// What Open took is not seen by the host after Close: it can write, and open
// again, on every connection of its pool.
func TestCloseLeavesNoSettingInThePool(t *testing.T) {
	pgtest.Beside(t)
	for _, limit := range []int{0, 6, 8} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			ctx := context.Background()
			db, err := sql.Open("sqlite", emptyFile(t).url+"?_pragma=busy_timeout(1234)&_pragma=cache_size(-100)")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(limit)
			db.SetMaxIdleConns(8)
			if _, err := db.Exec("CREATE TABLE host (n int)"); err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
					t.Fatal(err)
				}
				s, err := sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{})
				if err != nil {
					t.Fatalf("open %d: %v", round, err)
				}
				if err := s.Update(ctx, open(utxo.WalletID(1+round))); err != nil {
					t.Fatal(err)
				}
				stored(t, s)
				stored(t, s)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				var conns []*sql.Conn // all of the pool at once
				for i := range 6 {
					conn, err := db.Conn(ctx)
					if err != nil {
						t.Fatal(err)
					}
					conns = append(conns, conn)
					if _, err := conn.ExecContext(ctx, "INSERT INTO host VALUES (1)"); err != nil {
						t.Errorf("connection %d cannot write: %v", i, err)
					}
					var readOnly, busy, cache int
					for pragma, dst := range map[string]*int{"query_only": &readOnly, "busy_timeout": &busy, "cache_size": &cache} {
						if err := conn.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(dst); err != nil {
							t.Fatal(err)
						}
					}
					if readOnly != 0 || busy != 1234 || cache != -100 {
						t.Errorf("connection %d: query_only %d, busy_timeout %d, cache_size %d", i, readOnly, busy, cache)
					}
				}
				for _, conn := range conns {
					conn.Close()
				}
			}
		})
	}
}

// A pool that could make us or the host wait for ever is refused at once.
func TestOpenRefusesASmallPool(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	db := emptyFile(t)
	for limit := 1; limit <= 5; limit++ {
		db.SetMaxOpenConns(limit)
		_, err := sqlstore.Open(ctx, db.DB, db.dialect, db.opts) // one that waits for a connection says so
		if !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprint("SetMaxOpenConns is ", limit, " and must be 6")) {
			t.Errorf("%d connections: %v", limit, err)
		}
	}
	// With six, all readers and the writer run, and the host has one.
	db.SetMaxOpenConns(6)
	s := db.open(t)
	var inside, over sync.WaitGroup
	gate := make(chan struct{})
	inside.Add(5)
	for i := range 5 {
		over.Go(func() {
			run := s.View
			if i == 0 {
				run = s.Update
			}
			if err := run(ctx, func(store.Unit) error { inside.Done(); <-gate; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	inside.Wait()
	var n int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM wallets").Scan(&n); err != nil {
		t.Errorf("the host's own query: %v", err)
	}
	close(gate)
	over.Wait()
}

// Where the host uses its limit up itself, Open says so instead of hanging.
func TestOpenDoesNotHangOnAUsedUpPool(t *testing.T) {
	t.Parallel() // it waits, and begins no transaction
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, db := context.Background(), newDatabase(t, d)
		db.SetMaxOpenConns(6)
		for range 6 {
			conn, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		_, err := sqlstore.Open(ctx, db.DB, d, db.opts)
		if !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), "no connection was free") || !strings.Contains(err.Error(), "6 are in use") {
			t.Errorf("Open says %v", err)
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := sqlstore.Open(short, db.DB, d, db.opts); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's deadline: %v", err)
		}
	})
}

// database/sql keeps two idle connections unless it is told to keep more.
func TestOpenWarnsOfIdleConnections(t *testing.T) {
	_, migrated := newStore(t, sqlstore.Postgres)
	for idle, warns := range map[int]bool{0: true, 2: true, 3: false, 16: false} {
		db, err := sql.Open("pgx", migrated.url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetMaxIdleConns(idle)
		opts := migrated.opts
		var out bytes.Buffer
		opts.Log = slog.New(slog.NewTextHandler(&out, nil))
		if _, err := sqlstore.Open(context.Background(), db, sqlstore.Postgres, opts); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "SetMaxIdleConns"); got != warns {
			t.Errorf("%d idle connections: Open logs %q", idle, out.String())
		}
		db.SetMaxOpenConns(1) // one is never closed and opened again
		out.Reset()
		if _, err := sqlstore.Open(context.Background(), db, sqlstore.Postgres, opts); err != nil || out.Len() > 0 {
			t.Errorf("one connection: %v, %q", err, out.String())
		}
	}
}

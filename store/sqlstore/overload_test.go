package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// throughSlow opens the store of a new database behind a server that connects slowly.
func throughSlow(t *testing.T, cost time.Duration) (*sqlstore.Store, database, *pgtest.Slow) {
	t.Helper()
	_, near := newStore(t, sqlstore.Postgres)
	slow := pgtest.NewSlow(t, near.url, 0)
	db, err := sql.Open("pgx", slow.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxIdleConns(8)
	far := near
	far.DB, far.url = db, slow.URL
	s := far.open(t)
	slow.Cost.Store(int64(cost))
	return s, near, slow
}

// Every connection is lost, and a new one takes five times as long as a call may take,
// one after another. The work goes on all the same: a connection that came too late for
// its call is there for the next one.
func TestWorkGoesOnBehindSlowConnections(t *testing.T) {
	const loops, call = 6, 125 * time.Millisecond
	s, _, slow := throughSlow(t, 5*call)
	slow.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // only what hangs reaches it
	defer cancel()
	var running sync.WaitGroup
	for l := range loops {
		running.Go(func() {
			for ctx.Err() == nil {
				short, cancel := context.WithTimeout(ctx, call)
				err := s.Update(short, open(utxo.WalletID(1+l)))
				cancel()
				if err == nil {
					return
				}
				time.Sleep(call)
			}
		})
	}
	running.Wait()
	if ids := stored(t, s); len(ids) != loops {
		t.Errorf("%d of %d loops have stored anything behind %d connections", len(ids), loops, slow.Made.Load())
	}
}

// A statement that waits when the time of its call is over does not cost the
// connection, with what is prepared on it: it comes to its end soon, or is cut off.
func TestATimeOutKeepsTheConnection(t *testing.T) {
	s, near, slow := throughSlow(t, 0)
	other := near.open(t)
	if err := other.Update(t.Context(), open(1)); err != nil {
		t.Fatal(err)
	}
	lock := func(tx store.Unit) error { return tx.Wallets().Lock(1) }
	if err := s.Update(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	for name, ends := range map[string]bool{"the statement ends": true, "the statement waits on": false} {
		before := slow.Made.Load()
		locked, release := make(chan struct{}), make(chan struct{})
		var holding sync.WaitGroup
		holding.Go(func() {
			err := other.Update(context.WithoutCancel(t.Context()), func(tx store.Unit) error {
				err := lock(tx)
				close(locked)
				<-release
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-locked
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if ends {
			context.AfterFunc(ctx, func() { close(release) })
		}
		err := s.Update(ctx, lock)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if !ends {
			close(release)
		}
		holding.Wait()
		if err := s.Update(t.Context(), lock); err != nil {
			t.Error(err)
		}
		if made := slow.Made.Load() - before; (made == 0) != ends {
			t.Errorf("%s: %d new connections", name, made)
		}
	}
}

// The same on SQLite, where what is waited for is another process that writes: the one
// connection that writes is neither closed nor opened anew.
func TestABusyFileCostsNoConnection(t *testing.T) {
	db := emptyFile(t)
	s := db.open(t)
	if err := s.Update(t.Context(), open(1)); err != nil {
		t.Fatal(err)
	}
	other := hostDB(t, db, "_txlock=immediate")
	writer := sqlstore.Writer(s)
	for range 3 {
		tx, err := other.Begin()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err = s.Update(ctx, open(2))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("behind another writer: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Update(t.Context(), open(2)); err != nil {
		t.Fatal(err)
	}
	if sqlstore.Writer(s) != writer {
		t.Error("another connection writes")
	}
}

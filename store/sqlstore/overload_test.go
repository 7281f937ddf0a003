package sqlstore_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
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

// Whole workers lose every connection, and a new one takes long for as long as the test runs: with the hastiest settings
// that a policy of 250 ms allows five times as long as a call may take, with the default settings two seconds. Each
// request is paid once, and nothing is done by hand.
func TestWholeWorkersGoOnBehindSlowConnections(t *testing.T) {
	const call = 125 * time.Millisecond
	t.Run("hasty", func(t *testing.T) { goOnBehindSlow(t, 2*call, call, 5*call) })
	t.Run("default", func(t *testing.T) {
		if os.Getenv("SETTLE_SOAK") == "" {
			t.Skip("half a minute: SETTLE_SOAK=1 runs it")
		}
		goOnBehindSlow(t, 0, 0, 2*time.Second)
	})
}

// goOnBehindSlow has five requests paid by workers with the settings, 0 for the default, behind connections of a cost.
func goOnBehindSlow(t *testing.T, checkEvery, call, cost time.Duration) {
	const requests, poll = 5, 125 * time.Millisecond
	far, near, slow := throughSlow(t, 0)
	b := bankOf(t, near, near.open(t), withdrawal.HotWallet{ID: named("payer"), Chain: named("no nonces")})
	for range requests {
		b.pending(t, named("no nonces"))
	}
	policy := b.policy
	policy.CheckEvery = cmp.Or(checkEvery, policy.CheckEvery)
	s, err := store.NewWithdrawals(far, policy)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type held = store.HeldWithdrawal
	pay := func(ctx context.Context, w withdrawal.Withdrawal) held {
		p := prepared(&w)
		if w.Job.Status == withdrawal.JobConfirming { // the answer to its preparation was lost
			again := withdrawal.Rebroadcast{By: p.By, Fence: p.Fence, Hash: w.Job.TxHash, Done: true}
			return held{Withdrawal: w, Events: []withdrawal.Event{again}}
		}
		stored, err := s.DoHeld(ctx, held{Withdrawal: w, Events: []withdrawal.Event{p}})
		if err != nil {
			return held{Withdrawal: w}
		}
		return held{Withdrawal: stored[0], Events: []withdrawal.Event{withdrawal.Broadcast{By: p.By, Fence: p.Fence, Hash: p.Hash}}}
	}
	look := func(_ context.Context, w withdrawal.Withdrawal) held {
		return held{Withdrawal: w, Events: []withdrawal.Event{withdrawal.Receipt{By: as(withdrawal.ConfirmationWorker), Tx: w.Job.TxHash,
			Block: withdrawal.Block{Height: 1, Hash: "b", Canonical: "b", Head: 90}}}}
	}
	slow.Cost.Store(int64(cost))
	slow.Cut()
	var running sync.WaitGroup
	run := func(source store.WithdrawalSource, handle func(context.Context, withdrawal.Withdrawal) held) {
		running.Go(func() {
			o := worker.Options[withdrawal.Withdrawal, held]{CallTimeout: call}
			if err := worker.Run(ctx, source, handle, o); err != nil {
				t.Error(err)
			}
		})
	}
	run(s.Payments(named("no nonces"), "payer"), pay)
	run(s.Lookups(named("no nonces"), "checker"), look)
	for {
		open, err := b.List(t.Context(), store.ListWithdrawals{Filter: withdrawal.Filter{Kind: withdrawal.ListOpen}, Limit: requests})
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == 0 {
			break
		}
		time.Sleep(poll)
	}
	cancel()
	running.Wait()
	var prepared int
	count := "SELECT count(*) FROM " + near.table("transitions") + " WHERE machine = 'withdrawal_job' AND trigger = 'prepare'"
	if err := near.DB.QueryRow(count).Scan(&prepared); err != nil || prepared != requests {
		t.Errorf("%d payments were prepared for %d requests, %v", prepared, requests, err)
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

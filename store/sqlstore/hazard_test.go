package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
	"github.com/settlehq/settle/withdrawal"
)

// A transaction that reads one old moment sees nothing of what it waited for.
func TestWithinNeedsReadCommitted(t *testing.T) {
	s, db := newStore(t, sqlstore.Postgres)
	ctx := context.Background()
	for level, want := range map[sql.IsolationLevel]error{sql.LevelDefault: nil, sql.LevelReadCommitted: nil,
		sql.LevelReadUncommitted: statemachine.ErrInvalid, sql.LevelRepeatableRead: statemachine.ErrInvalid, sql.LevelSerializable: statemachine.ErrInvalid} {
		host, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Within(ctx, host); !errors.Is(err, want) {
			t.Errorf("%v: got error %v, want %v", level, err, want)
		}
		if err := host.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

// Who waited at the tip for a wallet to be opened must then hold the wallet.
func TestLockOfAWalletThatIsBeingOpened(t *testing.T) {
	s, _ := newStore(t, sqlstore.Postgres)
	ctx := context.Background()
	service := walletsOf(t, s, utxotest.Policy())
	opened, waits, locked, release := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	errs := make(chan error, 2)
	go func() {
		errs <- s.Update(ctx, func(tx store.Unit) error {
			_, err := service.Within(tx).Do(ctx, utxo.WalletOpened{Wallet: 1})
			close(opened)
			<-waits
			time.Sleep(100 * time.Millisecond)
			return err
		})
	}()
	<-opened
	go func() {
		errs <- s.Update(ctx, func(tx store.Unit) error {
			close(waits)
			err := tx.Wallets().Lock(1)
			close(locked)
			<-release
			return err
		})
	}()
	<-locked
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if err := s.Update(short, func(tx store.Unit) error { return tx.Wallets().Lock(1) }); err == nil {
		t.Error("two transactions hold the lock of a wallet")
	}
	close(release)
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
}

// A request that cannot be read may have sent what has its nonce, and hides no gap.
func TestGapsBesideWhatCannotBeRead(t *testing.T) {
	ctx, wallet := context.Background(), named("hot wallet")
	b := newBank(t, sqlstore.SQLite)
	bad, next := b.confirming(t, bsc), b.confirming(t, bsc)
	conn, err := b.DB.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range []string{"PRAGMA ignore_check_constraints = ON", "UPDATE {withdrawal_queue} SET priority = 'urgent' WHERE id = '" + bad.Job.ID.String() + "'"} {
		if _, err := conn.ExecContext(ctx, b.tables(text)); err != nil {
			t.Fatal(err)
		}
	}
	if next.Job.Nonce != bad.Job.Nonce+1 {
		t.Fatalf("nonces %d and %d", bad.Job.Nonce, next.Job.Nonce)
	}
	gaps, err := b.Gaps(ctx, map[uuid.UUID]uint64{wallet: bad.Job.Nonce}, 10)
	if err != nil || len(gaps) > 0 {
		t.Errorf("gaps %v, %v", gaps, err)
	}
}

// One row that cannot be read must not stop the work on the others.
func TestDueLeavesOutWhatCannotBeRead(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, now, chain := context.Background(), time.Now().UTC(), named("without nonces")
		b := newBank(t, d, withdrawal.HotWallet{ID: named("payer"), Chain: chain})
		drop := "PRAGMA ignore_check_constraints = ON"
		if d == sqlstore.Postgres {
			drop = "ALTER TABLE {withdrawal_queue} DROP CONSTRAINT withdrawal_queue_priority_check"
		}
		conn, err := b.DB.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, kind := range []struct {
			withdrawal.DueKind
			make func(testing.TB, *bank) withdrawal.Withdrawal
		}{
			{withdrawal.DueClaim, func(t testing.TB, b *bank) withdrawal.Withdrawal { return b.pending(t, chain) }},
			{withdrawal.DueRescue, func(t testing.TB, b *bank) withdrawal.Withdrawal { return b.claimed(t, chain) }},
			{withdrawal.DueCheck, func(t testing.TB, b *bank) withdrawal.Withdrawal { return b.confirming(t, chain) }},
		} {
			bad, good := kind.make(t, b), kind.make(t, b)
			for _, text := range []string{drop, "UPDATE {withdrawal_queue} SET priority = 'urgent', scheduled_at = created_at WHERE id = '" + bad.Job.ID.String() + "'"} {
				if _, err := conn.ExecContext(ctx, b.tables(text)); err != nil && !strings.Contains(err.Error(), "does not exist") {
					t.Fatal(err)
				}
			}
			for _, limit := range []int{1, 10} {
				var due []withdrawal.Withdrawal
				err := b.Update(ctx, func(tx store.Unit) (err error) {
					due, err = tx.Withdrawals().Due(store.DueWithdrawals{Kind: kind.DueKind, Chain: chain, Now: now.Add(time.Hour), Limit: limit})
					return err
				})
				if err != nil || len(due) != 1 || due[0].Job.ID != good.Job.ID {
					t.Errorf("%v, limit %d: %d are due, %v", kind.DueKind, limit, len(due), err)
				}
			}
			if _, err := b.Get(ctx, bad.Request.ID); err == nil {
				t.Error("Get names what cannot be read")
			}
			stats, err := sqlstore.StatsOf(ctx, b.Store)
			if err != nil || !slices.ContainsFunc(sqlstore.Alerts(stats, sqlstore.Thresholds{}), func(a statemachine.Alert) bool {
				return a.Name == "unreadable" && strings.Contains(a.Text, bad.Job.ID.String()) &&
					!strings.Contains(a.Text, good.Job.ID.String())
			}) {
				t.Errorf("%v: no alert names what cannot be read: %+v, %v", kind.DueKind, stats.Unreadable, err)
			}
			mended := "UPDATE {withdrawal_queue} SET priority = 'normal' WHERE id = '" + bad.Job.ID.String() + "'"
			if _, err := conn.ExecContext(ctx, b.tables(mended)); err != nil {
				t.Fatal(err)
			}
			noErr := b.Update(ctx, func(tx store.Unit) error {
				_, err := tx.Withdrawals().Due(store.DueWithdrawals{Kind: kind.DueKind, Chain: chain, Now: now.Add(time.Hour), Limit: 10})
				return err
			})
			if stats, err = sqlstore.StatsOf(ctx, b.Store); err != nil || noErr != nil || len(stats.Unreadable) > 0 {
				t.Errorf("%v: it can be read again, and there is %+v, %v, %v", kind.DueKind, stats.Unreadable, err, noErr)
			}
		}
	})
}

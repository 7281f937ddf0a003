package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// hosts are two transactions of a host, open at once.
func (b *bank) hosts(t *testing.T, ctx context.Context) (all [2]*sql.Tx, services [2]*store.Withdrawals) {
	t.Helper()
	for i := range all {
		host, err := b.DB.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = host.Rollback() })
		tx, err := b.Store.Within(ctx, host)
		if err != nil {
			t.Fatal(err)
		}
		all[i], services[i] = host, b.Withdrawals.Within(tx)
	}
	return all, services
}

// Two commands in each of two host transactions, of other requests and other
// wallets: what they count, in opposite orders, makes neither wait.
func TestCountersMakeNobodyWait(t *testing.T) {
	chains := []uuid.UUID{named("chain a"), named("chain b"), named("chain c"), named("chain d")}
	var wallets []withdrawal.HotWallet
	for i, chain := range chains {
		wallets = append(wallets, withdrawal.HotWallet{ID: named(fmt.Sprint("wallet ", i)), Chain: chain})
	}
	b := newBank(t, sqlstore.Postgres, wallets...)
	for round := range 8 {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // one that waits fails
		completes := []withdrawal.Withdrawal{b.confirming(t, chains[0]), b.confirming(t, chains[1])}
		fails := []withdrawal.Withdrawal{b.claimed(t, chains[2]), b.claimed(t, chains[3])}
		host, service := b.hosts(t, ctx)
		complete := func(i int) error {
			_, err := service[i].Do(ctx, completes[i].Request.ID, mined(&completes[i]))
			return err
		}
		fail := func(i int) error {
			_, err := service[i].Do(ctx, fails[i].Request.ID, withdrawal.AttemptFailed{By: as(withdrawal.WithdrawalWorker), Fence: fails[i].Job.Lease.Fence,
				Failure: withdrawal.Permanent, Error: "Invalid destination address"})
			return err
		}
		err := errors.Join(complete(0), fail(1), fail(0), complete(1), host[0].Commit(), host[1].Commit())
		cancel()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	stats, err := b.Stats(context.Background(), time.Hour)
	if err != nil || stats.Jobs[withdrawal.JobConfirmed] != 16 || stats.Jobs[withdrawal.JobFailed] != 16 || stats.Requests[withdrawal.RequestCompleted] != 16 {
		t.Errorf("counted are %v and %v, %v", stats.Jobs, stats.Requests, err)
	}
}

// What hosts lock in opposite orders ends in a deadlock for one of them, which
// is told so and begins again.
func TestADeadlockOfHostTransactionsIsToBeginAgain(t *testing.T) {
	ctx := context.Background()
	b := newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("wallet of a"), Chain: named("chain a")},
		withdrawal.HotWallet{ID: named("wallet of b"), Chain: named("chain b")})
	chains := [2]uuid.UUID{named("chain a"), named("chain b")}
	approved := func(chain uuid.UUID) withdrawal.Request {
		s := b.submission(chain)
		return b.do(t, s.Request, s, withdrawal.Approved{By: as(withdrawal.Approver)}).Request
	}
	enqueue := func(s *store.Withdrawals, r withdrawal.Request) error {
		_, err := s.Do(ctx, r.ID, withdrawal.Enqueued{By: as(withdrawal.System), Job: r.ID, AssetOnChain: named("usdt"), Priority: withdrawal.Normal})
		return err
	}
	first := [2]withdrawal.Request{approved(chains[0]), approved(chains[1])}
	second := [2]withdrawal.Request{approved(chains[1]), approved(chains[0])} // the other wallet
	host, service := b.hosts(t, ctx)
	for i := range host {
		if err := enqueue(service[i], first[i]); err != nil {
			t.Fatal(err)
		}
	}
	errs := make([]error, 2)
	if err := atOnce(2, func(i int) error {
		if errs[i] = enqueue(service[i], second[i]); errs[i] == nil {
			return host[i].Commit()
		}
		return host[i].Rollback()
	}); err != nil {
		t.Fatal(err)
	}
	loser := 0
	if errs[0] == nil {
		loser = 1
	}
	because(t, "the deadlock", errs[loser], store.ErrRetry)
	if errs[1-loser] != nil {
		t.Errorf("the other one: %v", errs[1-loser])
	}
	if err := inHostTx(b, true, func(tx store.Unit) error {
		s := b.Withdrawals.Within(tx)
		return errors.Join(enqueue(s, first[loser]), enqueue(s, second[loser]))
	}); err != nil {
		t.Errorf("begun again: %v", err)
	}
}

// Another process that writes makes a host's transaction on SQLite begin again.
func TestABusyFileIsToBeginAgain(t *testing.T) {
	ctx, b := context.Background(), newBank(t, sqlstore.SQLite)
	settings := "_pragma=journal_mode(WAL)&_pragma=busy_timeout(10)&_pragma=synchronous(2)&_pragma=foreign_keys(1)"
	other, err := hostDB(t, b.database, settings+"&_txlock=immediate").Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	host, err := hostDB(t, b.database, settings).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer host.Rollback()
	_, err = b.Store.Within(ctx, host)
	because(t, "Within of a busy file", err, store.ErrRetry)
}

// impatient opens a store of PostgreSQL that finds a deadlock soon and tries nothing again.
func impatient(t *testing.T, opts sqlstore.Options) *sqlstore.Store {
	t.Helper()
	db, err := sql.Open("pgx", pgtest.With(t, pgtest.URL(t), "deadlock_timeout", "10ms"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxIdleConns(8)
	opts.Retries = -1
	s, err := sqlstore.Open(context.Background(), db, sqlstore.Postgres, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Renewals of many leases and saves of many jobs, each in an order of its own,
// never wait in a circle.
func TestRenewalsAndSavesDoNotDeadlock(t *testing.T) {
	const jobs, rounds = 30, 40
	chain := named("many")
	b := newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("payer"), Chain: chain})
	ctx := context.Background()
	s := impatient(t, b.opts)
	service, err := store.NewWithdrawals(s, b.policy)
	if err != nil {
		t.Fatal(err)
	}
	// Jobs that confirm and are claimed for another broadcast have a lease, and
	// are looked up meanwhile.
	all := make([]withdrawal.Withdrawal, jobs)
	for i := range all {
		all[i] = b.confirming(t, chain)
		all[i] = b.do(t, all[i].Request.ID, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: all[i].Job.TxHash}, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)})
	}
	var renewed, looked atomic.Int64
	err = atOnce(6, func(n int) error {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for range rounds {
			order := r.Perm(jobs)
			err := s.Update(ctx, func(tx store.Unit) error {
				now, err := tx.Now()
				if err != nil {
					return err
				}
				if n%2 == 0 {
					leases := make([]store.Lease[uuid.UUID], jobs)
					for i, at := range order {
						leases[i] = store.Lease[uuid.UUID]{ID: all[at].Job.ID, Fence: all[at].Job.Lease.Fence, Until: now.Add(time.Hour)}
					}
					lost, err := tx.Withdrawals().Renew(now, leases...)
					renewed.Add(int64(jobs - len(lost)))
					return err
				}
				commands := make([]store.WithdrawalCommand, jobs)
				for i, at := range order {
					commands[i] = store.WithdrawalCommand{Request: all[at].Request.ID, Events: []withdrawal.Event{withdrawal.Looking{By: as(withdrawal.ConfirmationWorker)}}}
				}
				_, err = service.Within(tx).DoAll(ctx, commands...)
				return err
			})
			if err == nil && n%2 == 1 {
				looked.Add(1)
			}
			if errors.Is(err, store.ErrRetry) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if renewed.Load() == 0 || looked.Load() == 0 {
		t.Errorf("%d leases were renewed, %d batches looked up", renewed.Load(), looked.Load())
	}
}

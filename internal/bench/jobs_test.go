package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// jobs is a queue in a schema of its own. work returns when n are done, durably.
type jobs interface {
	fill(ctx context.Context, n int) error
	work(ctx context.Context, n int) error
	done(ctx context.Context) (int, error)
}

// pool is a database for both, with a schema for each queue.
type pool struct {
	t   testing.TB
	db  *sql.DB       // ours
	px  *pgxpool.Pool // the peer's
	url string
}

const connections = 16

func newPool(t testing.TB) *pool {
	url := pgtest.URL(t)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(connections)
	t.Cleanup(func() { db.Close() })
	return &pool{t, db, openPool(t, url), url}
}

// withdrawals are our queue: the smallest complete job is a claimed execution
// that fails for good, with its request, its attempt, its reservation and three
// lines of the audit trail.
type withdrawals struct {
	*store.Withdrawals
	*pool
	schema  string
	workers int
}

var onChain = uuid.MustParse("00000000-0000-4000-8000-000000000001")

func (p *pool) withdrawals(ctx context.Context, workers int) (*withdrawals, error) {
	opts := sqlstore.Options{Schema: pgtest.Schema(p.t, p.db)}
	if err := sqlstore.Migrate(ctx, p.db, sqlstore.Postgres, opts); err != nil {
		return nil, err
	}
	s, err := sqlstore.Open(ctx, p.db, sqlstore.Postgres, opts)
	if err != nil {
		return nil, err
	}
	policy := withdrawal.DefaultPolicy()
	policy.Chain = withdrawal.Chain{Confirmations: 3} // no nonces: a wallet pays many at once
	w := &withdrawals{pool: p, schema: opts.Schema, workers: workers}
	if w.Withdrawals, err = store.NewWithdrawals(s, policy); err != nil {
		return nil, err
	}
	for range 8 {
		if err := w.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System},
			withdrawal.HotWallet{ID: uuid.New(), Chain: onChain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func as(role withdrawal.Role) withdrawal.By { return withdrawal.By{Actor: role.String(), Role: role} }

func (w *withdrawals) fill(ctx context.Context, n int) error {
	for ; n > 0; n -= 1000 {
		if _, err := w.DoAll(ctx, enqueued(min(n, 1000))...); err != nil {
			return err
		}
	}
	return w.settled(ctx, w.schema)
}

// enqueued are commands for new requests.
func enqueued(n int) []store.WithdrawalCommand {
	commands := make([]store.WithdrawalCommand, n)
	for i := range commands {
		request := uuid.New()
		commands[i] = store.WithdrawalCommand{Request: request, Events: []withdrawal.Event{
			withdrawal.Submitted{By: as(withdrawal.System), Request: request, User: uuid.New(), Asset: onChain, Chain: onChain,
				ToAddress: "0xABC", Amount: "1", Decimals: 18},
			withdrawal.Approved{By: as(withdrawal.Approver)},
			withdrawal.Enqueued{By: as(withdrawal.System), Job: uuid.New(), AssetOnChain: onChain, Priority: withdrawal.Normal},
		}}
	}
	return commands
}

// settled brings the statistics of the tables that were filled up to date, so
// that neither side waits for that in some rounds. Those that are still empty are
// left alone: a plan for a table that is known to be empty is bad when it is not.
func (p *pool) settled(ctx context.Context, schema string) error {
	rows, err := p.px.Query(ctx, "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = $1", schema)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, table := range tables {
		var filled bool
		if err := p.px.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+table+")").Scan(&filled); err != nil {
			return err
		}
		if filled {
			if _, err := p.px.Exec(ctx, "VACUUM ANALYZE "+table); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *withdrawals) work(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var left atomic.Int64
	left.Store(int64(n))
	errs := make([]error, w.workers)
	var all sync.WaitGroup
	for i := range errs {
		by := withdrawal.By{Actor: fmt.Sprint("worker ", i), Role: withdrawal.WithdrawalWorker}
		source := w.Payments(onChain, by.Actor)
		all.Go(func() {
			errs[i] = worker.Run(ctx, source, func(_ context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
				return store.HeldWithdrawal{Withdrawal: w, Events: []withdrawal.Event{withdrawal.AttemptFailed{
					By: by, Fence: w.Job.Lease.Fence, Failure: withdrawal.Permanent, Error: "no-op"}}}
			}, worker.Options[withdrawal.Withdrawal, store.HeldWithdrawal]{
				Concurrency: 100, Batch: 100, Linger: time.Second, // full batches: results never wait when no handler runs
				Hooks: worker.Hooks[withdrawal.Withdrawal, store.HeldWithdrawal]{
					Stored: func(worker.Item[withdrawal.Withdrawal], time.Duration) {
						if left.Add(-1) == 0 {
							cancel()
						}
					},
				},
			})
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *withdrawals) done(ctx context.Context) (n int, err error) {
	stats, err := w.Stats(ctx, time.Hour)
	return int(stats.Requests[withdrawal.RequestFailed]), err
}

// noop is the peer's job.
type noop struct {
	Num int `json:"num"`
}

func (noop) Kind() string { return "noop" }

type noopWorker struct{ river.WorkerDefaults[noop] }

func (noopWorker) Work(context.Context, *river.Job[noop]) error { return nil }

// riverJobs are River with the settings of its own benchmark, in which its
// authors looked for the highest throughput.
type riverJobs struct {
	*pool
	schema string
	client *river.Client[pgx.Tx]
}

func (p *pool) river(ctx context.Context) (*riverJobs, error) {
	r := &riverJobs{pool: p, schema: pgtest.Schema(p.t, p.db)}
	if _, err := p.px.Exec(ctx, "CREATE SCHEMA "+r.schema); err != nil {
		return nil, err
	}
	driver, quiet := riverpgxv5.New(p.px), slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Schema: r.schema, Logger: quiet})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, noopWorker{})
	r.client, err = river.NewClient(driver, &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}},
		Schema: r.schema, Workers: workers, Logger: quiet,
	})
	if err == nil {
		p.t.Cleanup(func() { _ = r.client.StopAndCancel(context.Background()) }) // else its connections stay in use
	}
	return r, err
}

func (r *riverJobs) fill(ctx context.Context, n int) error {
	all := make([]river.InsertManyParams, n)
	for i := range all {
		all[i].Args = noop{i}
	}
	if _, err := r.client.InsertManyFast(ctx, all); err != nil {
		return err
	}
	return r.settled(ctx, r.schema)
}

func (r *riverJobs) work(ctx context.Context, n int) error {
	completed, cancel := r.client.SubscribeConfig(&river.SubscribeConfig{ChanSize: n, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	if err := r.client.Start(ctx); err != nil {
		return err
	}
	for range n {
		select {
		case <-completed:
		case <-time.After(time.Minute):
			return errors.New("a minute without a completed job")
		}
	}
	return nil
}

func (r *riverJobs) done(ctx context.Context) (n int, err error) {
	err = r.px.QueryRow(ctx, "SELECT count(*) FROM "+r.schema+".river_job WHERE state = 'completed'").Scan(&n)
	return n, err
}

// TestJobs works the same number of jobs through both.
func TestJobs(t *testing.T) {
	p := newPool(t)
	ctx := t.Context()
	const n = 250
	r, err := p.river(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.withdrawals(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []jobs{r, w} {
		if err := q.fill(ctx, n); err != nil {
			t.Fatal(err)
		}
		if err := q.work(ctx, n); err != nil {
			t.Fatal(err)
		}
		if got, err := q.done(ctx); got != n || err != nil {
			t.Errorf("%T: %d of %d are done, %v", q, got, n, err)
		}
	}
}

// BenchmarkJobs works 10,000 jobs that do nothing: claimed, ended, and on file.
// How they got there is not measured. The workers are loops of ours with batches
// of 100; the peer is one client with batches as large as it wants.
func BenchmarkJobs(b *testing.B) {
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			const n = 10_000
			p, ctx := newPool(b), b.Context()
			var r *riverJobs
			var w *withdrawals
			race(b, unit{"us/job", time.Microsecond, nil}, func() (err error) {
				if r != nil {
					if err := r.client.Stop(ctx); err != nil {
						return err
					}
				}
				if r, err = p.river(ctx); err != nil {
					return err
				}
				if w, err = p.withdrawals(ctx, workers); err != nil {
					return err
				}
				return errors.Join(r.fill(ctx, n), w.fill(ctx, n))
			}, side{"river", n, func() error { return r.work(ctx, n) }}, side{"ours", n, func() error { return w.work(ctx, n) }})
		})
	}
}

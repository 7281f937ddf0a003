package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

const (
	hazardJobs    = 500
	hazardWorkers = 8
)

// sent counts the broadcasts of each job.
type sent struct {
	mu    sync.Mutex
	total int
	of    map[string]int
}

func (s *sent) broadcast(job string) (total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[job]++
	s.total++
	return s.total
}

// The workers of the source document select a job and then update it, as the
// document writes it. Two that select before either updates both pay.
func TestSelectThenUpdatePaysTwice(t *testing.T) {
	ctx := context.Background()
	db, err := sql.Open("pgx", pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	schema := pgtest.Schema(t, db)
	for _, text := range []string{
		"CREATE SCHEMA " + schema,
		`CREATE TABLE ` + schema + `.withdrawal_queue (
			id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
			chain_id TEXT NOT NULL,
			status VARCHAR(20) NOT NULL DEFAULT 'pending',
			priority VARCHAR(20) NOT NULL DEFAULT 'normal',
			tx_hash VARCHAR(100),
			retry_count INTEGER NOT NULL DEFAULT 0,
			scheduled_at TIMESTAMPTZ NOT NULL DEFAULT NOW())`,
		fmt.Sprintf("INSERT INTO %s.withdrawal_queue (chain_id) SELECT 'bsc' FROM generate_series(1, %d)", schema, hazardJobs),
	} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	node := sent{of: map[string]int{}}
	var together sync.WaitGroup // all have selected once before one updates
	together.Add(hazardWorkers)
	work := func() error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.ExecContext(ctx, "SET search_path = "+schema); err != nil {
			return err
		}
		for first := true; ; first = false {
			var job string
			err := conn.QueryRowContext(ctx, `SELECT id FROM withdrawal_queue
				WHERE status = 'pending'
				  AND scheduled_at <= NOW()
				  AND chain_id = 'bsc'
				ORDER BY priority DESC, scheduled_at ASC
				LIMIT 1`).Scan(&job)
			if first {
				together.Done()
				together.Wait()
			}
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err == nil {
				_, err = conn.ExecContext(ctx, `UPDATE withdrawal_queue
					SET status = 'processing', retry_count = retry_count + 1
					WHERE id = $1`, job)
			}
			if err == nil {
				node.broadcast(job)
				_, err = conn.ExecContext(ctx, `UPDATE withdrawal_queue
					SET status = 'confirming', tx_hash = '0xDEF...'
					WHERE id = $1`, job)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := atOnce(hazardWorkers, func(int) error { return work() }); err != nil {
		t.Fatal(err)
	}
	if node.total <= hazardJobs {
		t.Errorf("%d broadcasts of %d jobs: the hazard is gone?", node.total, hazardJobs)
	}
	t.Logf("select, then update: %d broadcasts of %d jobs", node.total, hazardJobs)
}

// The same work through the service makes one broadcast of each job.
func TestClaimsPayOnce(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		chain := named("no nonces")
		b, ctx := newBank(t, d, withdrawal.HotWallet{ID: named("payer"), Chain: chain}), context.Background()
		if _, err := b.DoAll(ctx, b.enqueued(chain, hazardJobs)...); err != nil {
			t.Fatal(err)
		}
		node := sent{of: map[string]int{}}
		var left atomic.Int64
		left.Store(hazardJobs)
		err := atOnce(hazardWorkers, func(i int) error {
			source := b.Payments(chain, fmt.Sprint("worker ", i))
			var done []store.HeldWithdrawal
			for left.Load() > 0 || len(done) > 0 {
				items, _, err := source.Turn(ctx, done, 7)
				if err != nil {
					return err
				}
				done = done[:0]
				for _, item := range items {
					held, err := b.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: item.Work, Events: []withdrawal.Event{prepared(&item.Work)}})
					if err != nil {
						return err
					}
					node.broadcast(item.Work.Job.ID.String())
					left.Add(-1)
					done = append(done, store.HeldWithdrawal{Withdrawal: held[0], Events: []withdrawal.Event{broadcast(&held[0])}})
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		stats, err := b.Stats(ctx, 1<<40)
		if err != nil || node.total != hazardJobs || len(node.of) != hazardJobs || stats.Jobs[withdrawal.JobConfirming] != hazardJobs {
			t.Errorf("%d broadcasts of %d jobs out of %d, %v are stored, %v", node.total, len(node.of), hazardJobs, stats.Jobs, err)
		}
	})
}

// enqueued are the commands that bring n requests into the queue.
func (b *bank) enqueued(chain uuid.UUID, n int) []store.WithdrawalCommand {
	commands := make([]store.WithdrawalCommand, n)
	for i := range commands {
		s := b.submission(chain)
		commands[i] = store.WithdrawalCommand{Request: s.Request, Events: []withdrawal.Event{s, withdrawal.Approved{By: as(withdrawal.Approver)},
			withdrawal.Enqueued{By: as(withdrawal.System), Job: b.id(), AssetOnChain: named("usdt on chain"), Priority: withdrawal.Normal}}}
	}
	return commands
}

func atOnce(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

package sqlstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// payers is a bank with eight hot wallets on a chain without nonces, where a
// claim can take many jobs of a wallet.
func payers(b *testing.B, d sqlstore.Dialect) (*bank, uuid.UUID) {
	chain := named("no nonces")
	var wallets []withdrawal.HotWallet
	for i := range 8 {
		wallets = append(wallets, withdrawal.HotWallet{ID: named(fmt.Sprint("payer ", i)), Chain: chain})
	}
	return newBank(b, d, wallets...), chain
}

// BenchmarkWithdrawal pays: five durable commits for each group of requests, from
// the submission to the confirmation at depth. ns/op is of one withdrawal.
func BenchmarkWithdrawal(b *testing.B) {
	for _, c := range []struct {
		dialect        sqlstore.Dialect
		group, workers int
	}{
		{sqlstore.SQLite, 1, 1}, {sqlstore.SQLite, 100, 1},
		{sqlstore.Postgres, 1, 1}, {sqlstore.Postgres, 1, 8}, {sqlstore.Postgres, 100, 1}, {sqlstore.Postgres, 100, 8},
	} {
		b.Run(fmt.Sprintf("%v/groups of %d/workers %d", c.dialect, c.group, c.workers), func(b *testing.B) {
			bank, chain := payers(b, c.dialect)
			ctx := context.Background()
			left, unpaid := atomic.Int64{}, atomic.Int64{}
			left.Store(int64(b.N))
			unpaid.Store(int64(b.N))
			b.ResetTimer()
			err := atOnce(c.workers, func(i int) error {
				source := bank.Payments(chain, fmt.Sprint("worker ", i))
				for unpaid.Load() > 0 {
					n := min(int64(c.group), left.Add(-int64(c.group))+int64(c.group))
					if n > 0 {
						if _, err := bank.DoAll(ctx, bank.enqueued(chain, int(n))...); err != nil {
							return err
						}
					}
					items, _, err := source.Turn(ctx, nil, c.group)
					if err != nil {
						return err
					}
					if n <= 0 && len(items) == 0 { // who has the rest pays it; a worker loop waits, and does not ask all the time
						return nil
					}
					held := make([]store.HeldWithdrawal, len(items))
					for i := range items {
						held[i].Withdrawal = items[i].Work
					}
					for _, step := range []func(*withdrawal.Withdrawal) withdrawal.Event{
						func(w *withdrawal.Withdrawal) withdrawal.Event { return prepared(w) },
						func(w *withdrawal.Withdrawal) withdrawal.Event { return broadcast(w) },
						func(w *withdrawal.Withdrawal) withdrawal.Event { return mined(w) },
					} {
						for i := range held {
							held[i].Events = []withdrawal.Event{step(&held[i].Withdrawal)}
						}
						ws, err := bank.DoHeld(ctx, held...)
						if err != nil {
							return err
						}
						for i := range ws {
							held[i].Withdrawal = ws[i]
						}
					}
					unpaid.Add(-int64(len(items)))
				}
				return nil
			})
			b.StopTimer()
			if err != nil {
				b.Fatal(err)
			}
			rate(b)
			stats, err := bank.Stats(ctx, time.Hour)
			if err != nil || stats.Requests[withdrawal.RequestCompleted] != int64(b.N) {
				b.Fatalf("%d of %d are completed, %v", stats.Requests[withdrawal.RequestCompleted], b.N, err)
			}
		})
	}
}

func rate(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "withdrawals/s")
}

// BenchmarkClaimAndComplete ends claimed jobs without doing anything and claims
// the next in the same transaction, with all rows of the audit trail.
func BenchmarkClaimAndComplete(b *testing.B) {
	for _, c := range []struct {
		dialect        sqlstore.Dialect
		group, workers int
	}{{sqlstore.SQLite, 100, 1}, {sqlstore.Postgres, 100, 1}, {sqlstore.Postgres, 100, 8}} {
		b.Run(fmt.Sprintf("%v/groups of %d/workers %d", c.dialect, c.group, c.workers), func(b *testing.B) {
			bank, chain := payers(b, c.dialect)
			ctx := context.Background()
			for n := b.N; n > 0; n -= 1000 {
				if _, err := bank.DoAll(ctx, bank.enqueued(chain, min(n, 1000))...); err != nil {
					b.Fatal(err)
				}
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			err := atOnce(c.workers, func(i int) error {
				source := bank.Payments(chain, fmt.Sprint("worker ", i))
				var done []store.HeldWithdrawal
				for left.Load() > 0 || len(done) > 0 {
					items, _, err := source.Turn(ctx, done, c.group)
					if err != nil {
						return err
					}
					left.Add(-int64(len(items)))
					done = done[:0]
					for _, item := range items {
						done = append(done, store.HeldWithdrawal{Withdrawal: item.Work, Events: []withdrawal.Event{withdrawal.AttemptFailed{
							By: prepared(&item.Work).By, Fence: item.Work.Job.Lease.Fence, Failure: withdrawal.Permanent, Error: "no-op"}}})
					}
				}
				return nil
			})
			b.StopTimer()
			if err != nil {
				b.Fatal(err)
			}
			rate(b)
		})
	}
}

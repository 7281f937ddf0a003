package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// payer takes withdrawals through their life: submitted, approved and enqueued; claimed;
// prepared; broadcast; confirmed. Each of the five is a commit of a group.
type payer interface {
	submit(ctx context.Context, n int) error
	turn(ctx context.Context, worker int) (paid int, err error) // the other four of a group
	done(ctx context.Context) (int, error)
}

// pays takes n withdrawals through their life, by workers that each submit a group and pay one.
func pays(ctx context.Context, p payer, n, group, workers int) error {
	var left, unpaid atomic.Int64
	left.Store(int64(n))
	unpaid.Store(int64(n))
	errs := make([]error, workers)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for unpaid.Load() > 0 && errs[i] == nil {
				mine := min(int64(group), left.Add(-int64(group))+int64(group))
				if mine > 0 {
					errs[i] = p.submit(ctx, int(mine))
				}
				if errs[i] == nil {
					var paid int
					paid, errs[i] = p.turn(ctx, i)
					unpaid.Add(-int64(paid))
					if paid == 0 && mine <= 0 {
						return // who has the rest pays it
					}
				}
			}
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

// lives are withdrawals of ours.
type lives struct {
	*withdrawals
	group   int
	sources []store.WithdrawalSource
}

func (p *pool) lives(ctx context.Context, group, workers int) (*lives, error) {
	w, err := p.withdrawals(ctx, workers)
	if err != nil {
		return nil, err
	}
	l := &lives{withdrawals: w, group: group}
	for i := range workers {
		l.sources = append(l.sources, w.Payments(onChain, fmt.Sprint("worker ", i)))
	}
	return l, nil
}

func (l *lives) submit(ctx context.Context, n int) error {
	_, err := l.DoAll(ctx, enqueued(n)...)
	return err
}

func (l *lives) turn(ctx context.Context, worker int) (int, error) {
	items, _, err := l.sources[worker].Turn(ctx, nil, l.group)
	if err != nil || len(items) == 0 {
		return 0, err
	}
	held := make([]store.HeldWithdrawal, len(items))
	for i := range items {
		held[i].Withdrawal = items[i].Work
	}
	by := withdrawal.By{Actor: items[0].Work.Job.Lease.Holder, Role: withdrawal.WithdrawalWorker}
	for _, next := range []func(j *withdrawal.Job, hash string) withdrawal.Event{
		func(j *withdrawal.Job, hash string) withdrawal.Event {
			return withdrawal.Prepared{By: by, Fence: j.Lease.Fence, Hash: hash, Raw: make([]byte, 110), Input: hash}
		},
		func(j *withdrawal.Job, hash string) withdrawal.Event {
			return withdrawal.Broadcast{By: by, Fence: j.Lease.Fence, Hash: hash}
		},
		func(_ *withdrawal.Job, hash string) withdrawal.Event {
			return withdrawal.Receipt{By: as(withdrawal.ConfirmationWorker), Tx: hash, GasUsed: "21000", GasPrice: "5000000000",
				Block: withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 12}}
		},
	} {
		for i := range held {
			j := &held[i].Withdrawal.Job
			held[i].Events = []withdrawal.Event{next(j, "0x"+j.ID.String())}
		}
		now, err := l.DoHeld(ctx, held...)
		if err != nil {
			return 0, err
		}
		for i := range now {
			held[i].Withdrawal = now[i]
		}
	}
	return len(items), nil
}

func (l *lives) done(ctx context.Context) (int, error) {
	stats, err := l.Stats(ctx, time.Hour)
	return int(stats.Requests[withdrawal.RequestCompleted]), err
}

// serverTime is what the processes of PostgreSQL have used, where it runs on this machine.
func (p *pool) serverTime() time.Duration {
	var file string
	if p.px.QueryRow(p.t.Context(), "SELECT pg_read_file('postmaster.pid')").Scan(&file) != nil {
		return 0
	}
	postmaster, _, _ := strings.Cut(file, "\n")
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	var ticks int64
	for _, path := range all {
		text, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(text), ") ") // behind the name of the program
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			continue
		}
		sum := func(fields []string) {
			for _, f := range fields {
				n, _ := strconv.ParseInt(f, 10, 64)
				ticks += n
			}
		}
		if fields[1] == postmaster {
			sum(fields[11:13])
		} else if filepath.Base(filepath.Dir(path)) == postmaster {
			sum(fields[11:15]) // with those of its processes that have ended
		}
	}
	return time.Duration(ticks) * time.Second / 100
}

func TestPay(t *testing.T) {
	p, ctx := newPool(t), t.Context()
	const n, group, workers = 40, 7, 2
	h, err := p.hand(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.lives(ctx, group, workers)
	if err != nil {
		t.Fatal(err)
	}
	for _, payer := range []payer{h, l} {
		if err := pays(ctx, payer, n, group, workers); err != nil {
			t.Fatalf("%T: %v", payer, err)
		}
		if got, err := payer.done(ctx); got != n || err != nil {
			t.Errorf("%T: %d of %d are paid, %v", payer, got, n, err)
		}
	}
}

// BenchmarkPayJobs pays in groups of 100 and one by one. A connection has paid ten groups before, or the
// plans of its statements would be most of what is measured. The processor time is that of the
// server too.
func BenchmarkPayJobs(b *testing.B) {
	for _, c := range []struct{ n, group, workers int }{{8000, 100, 8}, {4000, 100, 1}, {800, 1, 8}, {400, 1, 1}} {
		b.Run(fmt.Sprintf("groups=%d/workers=%d", c.group, c.workers), func(b *testing.B) {
			p, ctx := newPool(b), b.Context()
			var h *hand
			var l *lives
			warm := 10 * c.workers * c.group
			race(b, unit{"us/withdrawal", time.Microsecond, p.serverTime}, func() (err error) {
				if h, err = p.hand(ctx, c.group); err == nil {
					l, err = p.lives(ctx, c.group, c.workers)
				}
				if err == nil {
					err = errors.Join(pays(ctx, h, warm, c.group, c.workers), pays(ctx, l, warm, c.group, c.workers))
				}
				return err
			}, side{"hand", c.n, func() error { return pays(ctx, h, c.n, c.group, c.workers) }},
				side{"ours", c.n, func() error { return pays(ctx, l, c.n, c.group, c.workers) }})
		})
	}
}

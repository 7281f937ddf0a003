package refresher_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store/refresher"
)

// Processes that are killed, stopped and started again.

// Processes are killed and started all the time. No job is lost, no wallet has two jobs running
// at the same time, and every watcher ends.
func TestKills(t *testing.T) {
	for seed := range 4 {
		virtual(t, func(c *refresh.Policy) { c.MaxWalletProcesses = 5 }, func(t *testing.T, s *system) {
			const wallets = 12
			s.node.took = 900 * time.Millisecond
			for n := range wallets {
				s.node.transfer(n, incoming("r", "asset"))
				s.enqueue(n, refresh.Sync, "", "")
				s.enqueue(n, refresh.InvoiceCreated, fmt.Sprint("p", n), "")
			}
			var all []*process
			for i := range 12 {
				p := s.start(fmt.Sprintf("w%d.%d", seed, i))
				all = append(all, p)
				time.Sleep(time.Duration(1300+(i*i*977+seed*3331)%9000) * time.Millisecond)
				switch victim := all[(i*7+seed)%len(all)]; i % 3 {
				case 0:
					victim.kill()
				case 1:
					victim.cut(true) // and it goes on, without the store
				case 2:
					victim.end()
				}
			}
			last := s.start("last")
			time.Sleep(3 * time.Minute)
			done := incoming("r", "asset")
			done.Status = refresh.TransferSettled
			for n := range wallets {
				s.node.transfer(n, done)
			}
			time.Sleep(30 * time.Minute)
			for n := range wallets {
				w := s.get(n)
				for _, j := range w.Jobs {
					if j.Status != refresh.JobCompleted {
						t.Errorf("seed %d, wallet %d: %+v", seed, n, j)
					}
				}
				for _, x := range w.Watchers {
					if x.Status == refresh.Watching {
						t.Errorf("seed %d, wallet %d: %+v", seed, n, x)
					}
				}
			}
			if overlaps, _, _ := s.node.seen(); overlaps > 0 {
				t.Errorf("seed %d: %d overlaps", seed, overlaps)
			}
			s.audit(wallets)
			for _, p := range all {
				p.cut(true)
			}
			last.end()
		})
	}
}

// A graceful stop gives the attempt and the slots back at once.
func TestStop(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.took = 20 * time.Second
		s.enqueue(0, refresh.Sync, "", "")
		p := s.start("w1")
		time.Sleep(5 * time.Second)
		p.end()
		w := s.get(0)
		if j := w.Jobs[0]; j.Status != refresh.JobPending || j.Attempts != 0 || w.Wallet.Status != refresh.Unserved ||
			w.Lock != (refresh.Lock{}) {
			t.Errorf("%+v", w)
		}
	})
}

// A start adds one recovery job to a wallet with an active watcher; a second start adds none
// while this job is live.
func TestRestart(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.transfer(0, incoming("r", "asset"))
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1").end()
		p := s.start("w2")
		time.Sleep(time.Minute)
		recoveries := func() (n int) {
			for _, j := range s.get(0).Jobs {
				if j.Cause == refresh.Recovery {
					n++
				}
			}
			return n
		}
		before := recoveries() // one of w2, if w1 has served the wallet
		p.kill()
		s.node.takes(10 * time.Second)
		s.start("w3")
		s.start("w4")
		time.Sleep(2 * time.Minute)
		if n := recoveries() - before; n != 1 {
			t.Errorf("%d recovery jobs of two starts", n)
		}
		if x := s.watcher(0, "r"); x.Status != refresh.Watching || x.RefreshCount < 3 {
			t.Errorf("%+v", x)
		}
	})
}

// A stop lets the job under way end, and begins no other.
func TestStopBeginsNothing(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.took = time.Second
		for range 5 {
			s.enqueue(0, refresh.Sync, "", "")
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			done <- refresher.Run(ctx, s.service, &caller{node: s.node, of: &process{name: "w1"}}, refresher.Options{Name: "w1", Grace: time.Minute})
		}()
		time.Sleep(1500 * time.Millisecond)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		completed := 0
		for _, j := range s.get(0).Jobs {
			if j.Status == refresh.JobCompleted {
				completed++
			} else if j.Status != refresh.JobPending || j.Attempts != 0 {
				t.Errorf("%+v", j)
			}
		}
		if completed != 1 {
			t.Errorf("%d jobs were done", completed)
		}
	})
}

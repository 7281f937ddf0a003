package refresher_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/store/refresher"
)

// What processes survive: long calls, lost stores, kills, wallets that hang.

// A pass of which one listing fails plans nothing from the others.
func TestPartOfAListing(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		old := incoming("old", "first")
		old.Expiration = s.begin.Unix() - 1
		s.node.transfer(0, old)
		s.node.transfer(0, incoming("r", "first"))
		s.node.transfer(0, incoming("x", "second"))
		s.node.wallet(refreshtest.Wallet(0).XpubVan).unlisted = "second"
		s.node.keep = true
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(2 * time.Second)
		w := s.get(0)
		if len(w.Watchers) != 0 || w.Jobs[0].Status != refresh.JobPending || w.Jobs[0].Attempts != 1 || w.Lock != (refresh.Lock{}) {
			t.Errorf("%+v", w)
		}
		if _, _, log := s.node.seen(); len(log) != 5 {
			t.Errorf("calls %v", log)
		}
	})
}

// A pass takes (2 + assets) x HTTP_TIMEOUT at most, though none of its calls times
// out, and 2 of them while its assets are not known; no call starts at the end.
func TestPassIsBounded(t *testing.T) {
	for _, c := range []struct {
		took   time.Duration
		assets int
		over   time.Duration
		calls  int
	}{
		{59 * time.Second, 0, 2 * time.Minute, 3},
		{40*time.Second + time.Millisecond, 0, 2 * time.Minute, 3},
		{60*time.Second - time.Nanosecond, 1, 2 * time.Minute, 3},
		{60 * time.Second / 2, 0, 90 * time.Second, 3}, // it has its three calls
		{39 * time.Second, 1, 3 * time.Minute, 5},      // refresh, two lists, and the first of twenty cancellations
		{36 * time.Second, 1, 3 * time.Minute, 5},      // the next cancellation would start at the very end
	} {
		virtual(t, nil, func(t *testing.T, s *system) {
			s.node.took, s.node.keep = c.took, true
			for i := range 20 * c.assets { // and 20 cancellations
				old := incoming(fmt.Sprint("r", i), "asset")
				old.Expiration, old.Index = s.begin.Unix()-1, int32(i)
				s.node.transfer(0, old)
			}
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(c.over - time.Millisecond)
			if w := s.get(0); w.Wallet.HungRounds != 0 || w.Jobs[0].Status != refresh.JobProcessing {
				t.Errorf("calls of %v, %d assets, before %v: %+v", c.took, c.assets, c.over, w)
			}
			time.Sleep(2 * time.Millisecond)
			w, inTime := s.get(0), c.took <= 30*time.Second
			if (w.Wallet.HungRounds == 0) != inTime || w.Jobs[0].Status == refresh.JobProcessing {
				t.Errorf("calls of %v, %d assets, after %v: %+v", c.took, c.assets, c.over, w)
			}
			_, _, log := s.node.seen()
			log = slices.DeleteFunc(log, func(call string) bool { return strings.HasSuffix(call, " ended") })
			if len(log) != c.calls {
				t.Errorf("calls of %v, %d assets: %v", c.took, c.assets, log)
			}
		})
	}
}

// A call longer than the lock is renewed, and nobody else comes in.
func TestLongCallIsRenewed(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.took = 39 * time.Second
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(370 * time.Millisecond)
		s.start("w2")
		time.Sleep(5 * time.Minute)
		if j := s.get(0).Jobs[0]; j.Status != refresh.JobCompleted || j.Attempts != 1 {
			t.Errorf("%+v", j)
		}
		if overlaps, _, _ := s.node.seen(); overlaps > 0 {
			t.Error("two processes were in one wallet")
		}
	})
}

// The lock is taken over from a holder that cannot reach the store and is still
// running: its call is cancelled at the end of the lock, its result is refused.
func TestTakeoverWithTheOldHolderStillRunning(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.took, s.node.keep = 25*time.Second, true
		s.enqueue(0, refresh.Sync, "", "")
		old := s.start("w1")
		time.Sleep(12 * time.Second)
		old.cut(true)
		time.Sleep(370 * time.Millisecond)
		s.start("w2")
		time.Sleep(33 * time.Second) // past the last renewal of the old one
		old.cut(false)
		time.Sleep(10 * time.Minute)
		j := s.get(0).Jobs[0]
		if j.Status != refresh.JobCompleted || j.Attempts != 2 {
			t.Errorf("%+v", j)
		}
		if overlaps, _, log := s.node.seen(); overlaps > 0 {
			t.Errorf("two processes were in one wallet: %v", log)
		}
		s.audit(1)
	})
}

// cut takes the store away from a process, or gives it back.
func (p *process) cut(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = away
}

// Processes are killed and started all the time: no job is lost, none is done
// twice at the same time for one wallet, every watcher ends.
func TestKills(t *testing.T) {
	for seed := range 4 {
		virtual(t, func(c *refresh.Config) { c.MaxWalletProcesses = 5 }, func(t *testing.T, s *system) {
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

// The first call that times out ends the round; the wallet rests 30, 60, ... and
// does not keep its slot from others meanwhile.
func TestHungWallet(t *testing.T) {
	virtual(t, func(c *refresh.Config) { c.MaxWalletProcesses = 1 }, func(t *testing.T, s *system) {
		s.node.wallet(refreshtest.Wallet(0).XpubVan).hang = 3
		s.node.keep = true
		s.enqueue(0, refresh.InvoiceCreated, "p", "")
		time.Sleep(time.Millisecond)
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(time.Second)
		s.enqueue(1, refresh.Sync, "", "")
		time.Sleep(62 * time.Second)
		if w := s.get(0).Wallet; w.HungRounds != 1 || w.NotBefore.Sub(s.begin).Truncate(time.Second) != 90*time.Second {
			t.Errorf("%+v", w)
		}
		if j := s.get(1).Jobs[0]; j.Status != refresh.JobCompleted {
			t.Errorf("another wallet waits for one that hangs: %+v", j)
		}
		time.Sleep(2 * time.Minute)
		if p := s.watcher(0, "p"); p.EndReason != refresh.EndProvisional && p.Status != refresh.Watching {
			t.Errorf("%+v", p)
		}
		time.Sleep(20 * time.Minute)
		w := s.get(0)
		if w.Wallet.HungRounds != 0 || w.Jobs[1].Status != refresh.JobCompleted || w.Jobs[1].Attempts != 4 {
			t.Errorf("%+v %+v", w.Wallet, w.Jobs)
		}
		if p := s.watcher(0, "p"); p.EndedAt.Sub(p.ExpiresAt) > 3*time.Second {
			t.Errorf("a provisional expiry came %v late", p.EndedAt.Sub(p.ExpiresAt))
		}
	})
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
		if j := w.Jobs[0]; j.Status != refresh.JobPending || j.Attempts != 0 || w.Wallet.Status != refresh.Unserved || w.Lock != (refresh.Lock{}) {
			t.Errorf("%+v", w)
		}
	})
}

// A start adds one recovery job to a wallet with an active watcher; a second
// start adds nothing while it is live.
func TestRestart(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.transfer(0, incoming("r", "asset"))
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1").end()
		p := s.start("w2")
		time.Sleep(time.Minute)
		p.kill()
		s.node.takes(10 * time.Second)
		s.start("w3")
		s.start("w4")
		time.Sleep(2 * time.Minute)
		recoveries := 0
		for _, j := range s.get(0).Jobs {
			if j.Cause == refresh.Recovery {
				recoveries++
			}
		}
		if recoveries != 1 {
			t.Errorf("%d recovery jobs", recoveries)
		}
		if x := s.watcher(0, "r"); x.Status != refresh.Watching || x.RefreshCount < 3 {
			t.Errorf("%+v", x)
		}
	})
}

// A lock that is not renewed: no call starts at or after its end, and the one that
// runs then is cancelled.
func TestNoCallAfterTheLock(t *testing.T) {
	for took, want := range map[time.Duration]string{
		15 * time.Second: "0s refresh, 15s listtransfers, ", // the third would start at the very end
		12 * time.Second: "0s refresh, 12s listtransfers, 24s listassets, 30s ended",
	} {
		virtual(t, func(c *refresh.Config) { c.RenewLock, c.HTTPTimeout = false, 30*time.Second }, func(t *testing.T, s *system) {
			s.node.took, s.node.keep = took, true
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(31 * time.Second)
			_, _, log := s.node.seen()
			got := ""
			for _, call := range log[:min(len(log), strings.Count(want, ", ")+1)] {
				at, rest, _ := strings.Cut(call, " ")
				if d, err := time.ParseDuration(at); err != nil || d > 30*time.Second {
					break
				}
				words := strings.Fields(rest)
				got += at + " " + words[2] + ", "
			}
			if strings.TrimSuffix(got, ", ") != strings.TrimSuffix(want, ", ") {
				t.Errorf("calls of %v: %s, want %s", took, got, want)
			}
		})
	}
}

// The first call that times out is the last one of its round.
func TestNothingAfterATimeout(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.keep = true
		for i := range 3 {
			old := incoming(fmt.Sprint("r", i), "asset")
			old.Expiration, old.Index = s.begin.Unix()-1, int32(i)
			s.node.transfer(0, old)
		}
		s.node.wallet(refreshtest.Wallet(0).XpubVan).hangOn = "failtransfers"
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(65 * time.Second)
		_, _, log := s.node.seen()
		calls := 0
		for _, call := range log {
			if strings.Contains(call, "failtransfers") {
				calls++
			}
		}
		if w := s.get(0); calls != 1 || w.Wallet.HungRounds != 1 || w.Wallet.Status != refresh.Unserved {
			t.Errorf("%d cancellations, %+v: %v", calls, w.Wallet, log)
		}
	})
}

// The end of a lock counts from before the claim was sent, not from its answer.
func TestLockCountsFromBeforeTheClaim(t *testing.T) {
	virtual(t, func(c *refresh.Config) { c.RenewLock, c.HTTPTimeout = false, 30*time.Second }, func(t *testing.T, s *system) {
		s.node.took, s.node.keep = 14*time.Second, true
		s.enqueue(0, refresh.Sync, "", "")
		p := s.start("w1")
		p.slowDown(3 * time.Second)
		time.Sleep(42 * time.Second)
		_, _, log := s.node.seen()
		// The claim was sent at 9 s and answered at 12 s: until 39 s.
		if got := fmt.Sprint(log); got != "[12s w1 xpub-van-000 refresh 26s w1 xpub-van-000 listtransfers  39s w1 xpub-van-000 ended]" {
			t.Errorf("calls %v", log)
		}
	})
}

func (p *process) slowDown(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = d
}

// A lock that nobody gives back is swept after its end, though its wallet has
// nothing to do.
func TestLocksAreSwept(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(2 * time.Second)
		ctx := context.Background()
		if _, err := s.service.Step(ctx, refreshtest.Wallet(0).XpubVan, refresh.Locked{By: refresh.By{Actor: "api", Role: refresh.API}}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			after time.Duration
			locks int64
		}{{29 * time.Second, 1}, {35 * time.Second, 0}} {
			time.Sleep(c.after)
			if stats, err := s.service.Stats(ctx); err != nil || stats.Locks != c.locks {
				t.Errorf("%d locks, %v", stats.Locks, err)
			}
		}
	})
}

// A listing beyond its bound is a failure of the job, which says so, and of the
// tick, whose watchers are asked for again.
func TestListingBeyondItsBound(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.transfer(0, incoming("r", "asset"))
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(2 * time.Second)
		s.node.mu.Lock()
		s.node.wallet(refreshtest.Wallet(0).XpubVan).transfers = slices.Repeat([]refresh.Transfer{incoming("r", "asset")}, refresh.MaxTransfers+1)
		s.node.mu.Unlock()
		s.enqueue(0, refresh.Sync, "", "")
		time.Sleep(31 * time.Second)
		w := s.get(0)
		if j := w.Jobs[1]; j.Status != refresh.JobPending || j.Attempts != 3 || !strings.Contains(j.Error, "more than 100000 transfers") || w.Lock != (refresh.Lock{}) {
			t.Errorf("%+v", j)
		}
		if x := s.watcher(0, "r"); x.Status != refresh.Watching || !strings.Contains(x.LastError, "more than 100000 transfers") || x.NextAt.Sub(s.begin) < 60*time.Second {
			t.Errorf("%+v", x)
		}
	})
}

// A host that panics costs its own job an attempt, and nobody else anything; one that
// panics always is called once in an interval.
func TestPanicOfTheHost(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		broken := s.node.wallet(refreshtest.Wallet(0).XpubVan)
		broken.panics = 1
		s.node.transfer(0, incoming("r", "asset"))
		s.enqueue(0, refresh.Sync, "", "")
		s.enqueue(1, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(2 * time.Second)
		if j := s.get(1).Jobs[0]; j.Status != refresh.JobCompleted {
			t.Errorf("%+v", j)
		}
		time.Sleep(2 * time.Minute)
		if j := s.get(0).Jobs[0]; j.Status != refresh.JobCompleted || j.Attempts != 2 {
			t.Errorf("%+v", j)
		}
		s.node.mu.Lock()
		broken.panics = 1000
		s.node.mu.Unlock()
		time.Sleep(2 * time.Minute)
		s.node.mu.Lock()
		if n := 1000 - broken.panics; n < 2 || n > 5 {
			t.Errorf("it was called %d times", n)
		}
		broken.panics = 0
		s.node.mu.Unlock()
		time.Sleep(2 * time.Minute)
		s.audit(2)
	})
}

// A call that panics is an unknown answer, whichever it is: a job's attempt counts at
// once and the tenth fails, a provisional watcher ends in time, every other one is asked
// for again each interval and ends once its look-up is answered. Nothing that the panic
// said is stored.
func TestEachCallThatPanics(t *testing.T) {
	for _, c := range []struct {
		on   string
		want refresh.JobStatus
		gone string // of the watcher that lives WATCHER_TTL, when its time is over
	}{
		{"refresh", refresh.JobFailed, "expired"},
		{"listtransfers", refresh.JobFailed, "watching"}, // nobody has looked
		{"listassets", refresh.JobFailed, "watching"},
		{"failtransfers", refresh.JobCompleted, "expired"},
	} {
		virtual(t, nil, func(t *testing.T, s *system) {
			old := incoming("r", "asset")
			old.Expiration = s.begin.Unix() - 1
			s.node.transfer(0, incoming("r", "asset"))
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(2 * time.Second)
			if c.on == "failtransfers" {
				s.node.transfer(0, old)
			}
			s.enqueue(0, refresh.InvoiceCreated, "p", "")
			s.node.mu.Lock()
			s.node.wallet(refreshtest.Wallet(0).XpubVan).panicsOn = c.on
			s.node.mu.Unlock()
			manual := s.enqueue(0, refresh.Manual, "", "")
			s.enqueue(1, refresh.Sync, "", "")
			time.Sleep(5 * time.Second)
			if j := s.job(0, manual); j.Attempts < 1 || j.Status != refresh.JobCompleted && (j.Status != refresh.JobPending || !strings.Contains(j.Error, "panicked")) {
				t.Errorf("%s, the attempt: %+v", c.on, j)
			}
			if j := s.get(1).Jobs[0]; j.Status != refresh.JobCompleted {
				t.Errorf("%s: another wallet waits: %+v", c.on, j)
			}
			time.Sleep(190 * time.Second)
			if p := s.watcher(0, "p"); p.EndReason != refresh.EndProvisional || p.EndedAt.Sub(p.ExpiresAt) > 6*time.Second {
				t.Errorf("%s: %+v", c.on, p)
			}
			r := s.watcher(0, "r")
			if r.Status != refresh.Watching || !r.NextAt.After(time.Now().Add(-6*time.Second)) || c.on != "failtransfers" && !strings.Contains(r.LastError, "panicked") {
				t.Errorf("%s: %+v", c.on, r)
			}
			time.Sleep(24 * time.Hour)
			if r := s.watcher(0, "r"); r.Status.String() != c.gone {
				t.Errorf("%s: %+v", c.on, r)
			}
			if j := s.job(0, manual); j.Status != c.want || c.want == refresh.JobFailed && j.Attempts != 10 {
				t.Errorf("%s: %+v", c.on, j)
			}
			if w := s.get(0); strings.Contains(fmt.Sprintf("%+v", w), "swordfish") || !strings.Contains(s.logged.String(), "swordfish") {
				t.Errorf("%s: stored, or not logged", c.on)
			}
			s.node.mu.Lock()
			s.node.wallet(refreshtest.Wallet(0).XpubVan).panicsOn = ""
			s.node.mu.Unlock()
			time.Sleep(31 * time.Second)
			if r := s.watcher(0, "r"); r.Status == refresh.Watching {
				t.Errorf("%s: it was answered: %+v", c.on, r)
			}
		})
	}
}

// A call that never returns, though its context is done, is left behind after
// HTTP_TIMEOUT and LockTTL/3: lock and slot are free, others are served, another
// process goes on, what it says at last is not stored, and this process calls the
// wallet again only then. With one number for all.
func TestEachCallThatNeverReturns(t *testing.T) {
	for _, on := range []string{"refresh", "listtransfers", "listassets", "failtransfers"} {
		for _, tick := range []bool{false, true} {
			virtual(t, func(c *refresh.Config) { c.MaxWalletProcesses = 1 }, func(t *testing.T, s *system) {
				old := incoming("r", "asset")
				old.Expiration = s.begin.Unix() - 1
				stuck := s.node.wallet(refreshtest.Wallet(0).XpubVan)
				if s.node.transfer(0, old); tick {
					s.node.transfer(0, incoming("r", "asset"))
					s.enqueue(0, refresh.Sync, "", "")
					s.start("w1")
					time.Sleep(29 * time.Second)
					s.node.transfer(0, old)
				} else {
					s.enqueue(0, refresh.Sync, "", "")
				}
				s.node.mu.Lock()
				stuck.stuckOn = on
				s.node.mu.Unlock()
				began := time.Now()
				if !tick {
					s.start("w1")
				}
				time.Sleep(10 * time.Second)
				s.enqueue(1, refresh.Sync, "", "")
				time.Sleep(58 * time.Second) // 68 s; a tick began a few seconds later
				w := s.get(0)
				held := w.Lock != refresh.Lock{}
				if locked := on == "refresh" || on == "failtransfers" || !tick; held != locked || w.Wallet.Status != refresh.Served {
					t.Errorf("%s, tick %v: %+v %+v", on, tick, w.Wallet, w.Lock)
				}
				time.Sleep(12 * time.Second)
				w = s.get(0)
				if w.Lock != (refresh.Lock{}) || w.Wallet.HungRounds != 1 || !tick && (on != "failtransfers" && w.Jobs[0].Status != refresh.JobPending || w.Jobs[0].Attempts != 1) {
					t.Errorf("%s, tick %v: %+v", on, tick, w)
				}
				if j := s.get(1).Jobs[0]; j.Status != refresh.JobCompleted {
					t.Errorf("%s, tick %v: another wallet waits for %v: %+v", on, tick, time.Since(began), j)
				}
				s.node.mu.Lock()
				s.node.keep = true
				s.node.mu.Unlock()
				s.enqueue(0, refresh.Manual, "", "")
				time.Sleep(3 * time.Minute)
				if _, _, log := s.node.seen(); slices.ContainsFunc(log, func(call string) bool { return strings.Contains(call, "w1 xpub-van-000") }) {
					t.Errorf("%s, tick %v: called beside the call that is left: %v", on, tick, log)
				}
				if w := s.get(0); w.Wallet.HungRounds < 2 || !strings.Contains(s.logged.String(), "has not returned") || w.Jobs[len(w.Jobs)-1].Attempts != 0 {
					t.Errorf("%s, tick %v: %+v", on, tick, w)
				}
				other := s.start("w2")
				time.Sleep(10 * time.Minute)
				before := s.get(0)
				if j := before.Jobs[len(before.Jobs)-1]; j.Status != refresh.JobCompleted && j.Status != refresh.JobPending {
					t.Errorf("%s, tick %v: %+v", on, tick, j)
				}
				close(s.node.release)
				time.Sleep(time.Millisecond)
				if after := s.get(0); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("%s, tick %v: a late answer was stored\n%+v\n%+v", on, tick, before, after)
				}
				other.end()
				time.Sleep(20 * time.Minute)
				for _, j := range s.get(0).Jobs {
					if j.Status != refresh.JobCompleted {
						t.Errorf("%s, tick %v: %+v", on, tick, j)
					}
				}
			})
		}
	}
}

// A pass that may take more than ten calls is told.
func TestLongPass(t *testing.T) {
	for assets, want := range map[int]bool{8: false, 9: true} {
		virtual(t, nil, func(t *testing.T, s *system) {
			for i := range assets {
				s.node.transfer(0, incoming(fmt.Sprint("r", i), fmt.Sprint("asset", i)))
			}
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(time.Second)
			if told := strings.Contains(s.logged.String(), "long pass"); told != want {
				t.Errorf("%d assets: told %v", assets, told)
			}
		})
	}
}

// Between two calls of a tick a job that came goes first: between its listings, after
// them, between its cancellations and after them.
func TestAJobThatComesDuringATick(t *testing.T) {
	const tick, cancels = "listtransfers , listassets, listtransfers asset, listtransfers other", "failtransfers 1, failtransfers 3"
	for calls, expiration := range map[string]int64{
		"listtransfers ":                                  0,
		"listtransfers , listassets":                      0,
		"listtransfers , listassets, listtransfers asset": 0,
		tick:                                0,
		tick + ", failtransfers 1":          40,
		tick + ", " + cancels:               40,
		tick + ", " + cancels + ", refresh": 41, // and here the tick is over
	} {
		virtual(t, nil, func(t *testing.T, s *system) {
			for i, asset := range []string{"asset", "other", "asset"} { // the second stays open
				x := incoming(fmt.Sprint("r", i), asset)
				if x.Index = int32(i + 1); expiration > 0 && i != 1 {
					x.Expiration = s.begin.Unix() + expiration
				}
				s.node.transfer(0, x)
			}
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(59 * time.Second)
			s.node.mu.Lock()
			s.node.keep, s.node.took = true, time.Second
			s.node.mu.Unlock()
			before := strings.Split(calls, ", ")
			for n := 0; n < len(before); { // until the last call before the job's is under way
				time.Sleep(100 * time.Millisecond)
				_, _, log := s.node.seen()
				n = len(log)
			}
			manual := s.enqueue(0, refresh.Manual, "", "")
			time.Sleep(15 * time.Second)
			_, _, log := s.node.seen()
			for i, call := range append(before, "refresh", "listtransfers ", "listassets") {
				if i >= len(log) || !strings.HasSuffix(log[i], " "+call) {
					t.Fatalf("%s, call %d: %q, want %q", calls, i, log, call)
				}
			}
			if j := s.job(0, manual); j.Status != refresh.JobCompleted {
				t.Errorf("%s: %+v", calls, j)
			}
			for i := range 3 { // and the tick is made up for
				if x := s.watcher(0, fmt.Sprint("r", i)); x.Status == refresh.Watching && x.RefreshCount < 3 || x.LastError != "" {
					t.Errorf("%s: %+v", calls, x)
				}
			}
		})
	}
}

// At the expiry each cancellation is called twice before its watcher ends, also where
// each time that an earlier one of the round hangs the later ones are not called.
func TestCancellationsThatHangAtTheExpiry(t *testing.T) {
	virtual(t, func(c *refresh.Config) { c.WatcherTTL = 5 * time.Minute }, func(t *testing.T, s *system) {
		s.node.keep = true
		for i := range 3 {
			old := incoming(fmt.Sprint("r", i), "asset")
			old.Expiration, old.Index = s.begin.Unix()-24*60*60-60, int32(i)
			s.node.transfer(0, old)
		}
		s.node.wallet(refreshtest.Wallet(0).XpubVan).hangOn = "failtransfers"
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(6 * time.Hour)
		_, _, log := s.node.seen()
		for i := range 3 {
			x, late := s.watcher(0, fmt.Sprint("r", i)), 0
			for _, call := range log {
				at, what, _ := strings.Cut(call, " ")
				if d, err := time.ParseDuration(at); err == nil && strings.HasSuffix(what, fmt.Sprint("failtransfers ", i)) && !s.begin.Add(d).Before(x.ExpiresAt) {
					late++
				}
			}
			if x.EndReason != refresh.EndOpen || late != 2 {
				t.Errorf("%d calls at the expiry: %+v", late, x)
			}
		}
	})
}

// A cancellation that times out in a tick ends the round; the watchers have had their
// turn.
func TestTimeoutInATick(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		x := incoming("r", "asset")
		x.Expiration = s.begin.Unix() + 20
		s.node.transfer(0, x)
		s.node.wallet(refreshtest.Wallet(0).XpubVan).hangOn = "failtransfers"
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(95 * time.Second) // the tick at 30 s hung until 90 s
		w, r := s.get(0).Wallet, s.watcher(0, "r")
		if w.HungRounds != 1 || !strings.Contains(r.LastError, "HTTP_TIMEOUT") || r.NextAt.Sub(s.begin) < 60*time.Second || r.RefreshCount != 1 {
			t.Errorf("%+v %+v", w, r)
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

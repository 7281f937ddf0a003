package refresher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
)

// Hosts that list a part or too much, panic, or do not return.

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

// A listing beyond its bound fails the attempt of a job, whose Error says so. In a tick it counts
// as no answer, and the watchers are due again.
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
		if j := w.Jobs[1]; j.Status != refresh.JobPending || j.Attempts != 3 || !strings.Contains(j.Error, "more than 100000 transfers") ||
			w.Lock != (refresh.Lock{}) {
			t.Errorf("%+v", j)
		}
		if x := s.watcher(0, "r"); x.Status != refresh.Watching || !strings.Contains(x.LastError, "more than 100000 transfers") ||
			x.NextAt.Sub(s.begin) < 60*time.Second {
			t.Errorf("%+v", x)
		}
	})
}

// A host that panics costs only its own job an attempt; if it always panics, it is called once in
// an interval.
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

// A panic of any call is an unknown answer. The attempt of a job counts at once and the tenth
// fails the job; a provisional watcher ends in time; every other watcher is due again each
// interval and ends once its look-up is answered. The text of the panic is not stored.
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
		const ttl = time.Hour // a call is made every few seconds, and a day of them proves no more
		virtual(t, func(c *refresh.Policy) { c.WatcherTTL = ttl }, func(t *testing.T, s *system) {
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
			if j := s.job(0, manual); j.Attempts < 1 ||
				j.Status != refresh.JobCompleted && (j.Status != refresh.JobPending || !strings.Contains(j.Error, "panicked")) {
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
			if r.Status != refresh.Watching || !r.NextAt.After(time.Now().Add(-6*time.Second)) ||
				c.on != "failtransfers" && !strings.Contains(r.LastError, "panicked") {
				t.Errorf("%s: %+v", c.on, r)
			}
			time.Sleep(ttl)
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

// A call that never returns, though its context is done, is left behind after HTTP_TIMEOUT and
// LockTTL/3. Lock and slot are then free, so other wallets are served (there is one number for
// all) and another process goes on with this one. The late answer is not stored, and only after
// it does this process call the wallet again.
func TestEachCallThatNeverReturns(t *testing.T) {
	for _, on := range []string{"refresh", "listtransfers", "listassets", "failtransfers"} {
		for _, tick := range []bool{false, true} {
			virtual(t, func(c *refresh.Policy) { c.MaxWalletProcesses = 1 }, func(t *testing.T, s *system) {
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
				if w.Lock != (refresh.Lock{}) || w.Wallet.HungRounds != 1 ||
					!tick && (on != "failtransfers" && w.Jobs[0].Status != refresh.JobPending || w.Jobs[0].Attempts != 1) {
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
				if w := s.get(0); w.Wallet.HungRounds < 2 || !strings.Contains(s.logged.String(), "has not returned") ||
					w.Jobs[len(w.Jobs)-1].Attempts != 0 {
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

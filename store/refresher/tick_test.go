package refresher_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
)

// What comes between the calls of a tick.

// A job that comes between two calls of a tick goes first: between the listings, after them,
// between the cancellations and after them.
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

// At the expiry each cancellation is called twice before its watcher ends, also where an earlier
// call of the round hangs each time, so that the later ones are not called.
func TestCancellationsThatHangAtTheExpiry(t *testing.T) {
	virtual(t, func(c *refresh.Policy) { c.WatcherTTL = 5 * time.Minute }, func(t *testing.T, s *system) {
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
				if d, err := time.ParseDuration(at); err == nil && strings.HasSuffix(what, fmt.Sprint("failtransfers ", i)) &&
					!s.begin.Add(d).Before(x.ExpiresAt) {
					late++
				}
			}
			if x.EndReason != refresh.EndOpen || late != 2 {
				t.Errorf("%d calls at the expiry: %+v", late, x)
			}
		}
	})
}

// A cancellation that always hangs keeps the recipient's other cancellation from being called for
// one round, and the watcher from its end for two tries; in ticks and in passes.
func TestABatchThatAlwaysHangs(t *testing.T) {
	for _, pass := range []bool{false, true} {
		virtual(t, func(c *refresh.Policy) { c.WatcherTTL = 5 * time.Minute }, func(t *testing.T, s *system) {
			x := s.node.wallet(refreshtest.Wallet(0).XpubVan)
			for i := range int32(2) {
				old := incoming("r", "asset")
				old.Expiration, old.Index = s.begin.Unix()-24*60*60-60, i+1
				x.transfers = append(x.transfers, old)
			}
			x.hangOn, s.node.keep = "failtransfers 1", true
			s.enqueue(0, refresh.Sync, "", "")
			s.start("w1")
			time.Sleep(70 * time.Second) // the first round hung
			if pass {
				s.enqueue(0, refresh.Manual, "", "")
			}
			time.Sleep(30 * time.Second)
			_, _, log := s.node.seen()
			calls := strings.Join(log, ", ")
			if n := strings.Count(calls, "failtransfers 1"); n != 2 || strings.Count(calls, "failtransfers 2") != 1 ||
				strings.LastIndex(calls, "failtransfers 1") < strings.Index(calls, "failtransfers 2") {
				t.Errorf("pass %v: %s", pass, calls)
			}
			time.Sleep(2 * time.Hour)
			if r := s.watcher(0, "r"); r.EndReason != refresh.EndOpen {
				t.Errorf("pass %v: %+v", pass, r)
			}
		})
	}
}

// While all cancellations of a recipient hang, each is called once or twice at the expiry, and
// then the watcher ends, however many there are and with whichever the first round after the
// expiry begins.
func TestAllBatchesOfARecipientHang(t *testing.T) {
	for _, batches := range []int{2, 3, 4} {
		for _, life := range []time.Duration{5 * time.Minute, 15 * time.Minute} {
			virtual(t, func(c *refresh.Policy) { c.WatcherTTL = life }, func(t *testing.T, s *system) {
				x := s.node.wallet(refreshtest.Wallet(0).XpubVan)
				for i := range batches {
					old := incoming("r", "asset")
					old.Expiration, old.Index = s.begin.Unix()-24*60*60-60, int32(i+1)
					x.transfers = append(x.transfers, old)
				}
				x.transfers = append(x.transfers, incoming("r", "asset"))
				x.transfers[batches].Index = 9
				x.hangOn, s.node.keep = "failtransfers", true
				s.enqueue(0, refresh.Sync, "", "")
				s.start("w1")
				time.Sleep(3 * time.Hour)
				r, late := s.watcher(0, "r"), map[string]int{}
				_, _, log := s.node.seen()
				for _, call := range log {
					at, what, _ := strings.Cut(call, " ")
					if d, err := time.ParseDuration(at); err == nil && strings.Contains(what, "failtransfers") && !s.begin.Add(d).Before(r.ExpiresAt) {
						late[what[len(what)-1:]]++
					}
				}
				for i := range batches {
					if n := late[fmt.Sprint(i+1)]; n < 1 || n > 2 {
						t.Errorf("%d batches, %v: %v calls at the expiry", batches, life, late)
					}
				}
				if r.EndReason != refresh.EndOpen {
					t.Errorf("%d batches, %v: %+v", batches, life, r)
				}
			})
		}
	}
}

// A job that a held lock puts off again and again does not make a tick begin again, though the
// tick takes longer than the job is put off. The job is done once the lock ends.
func TestATickUnderAHeldLockIsNotBegunAgain(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.node.transfer(0, incoming("r", "asset"))
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(57 * time.Second) // the next tick begins 3 s later
		_, err := s.service.Step(context.Background(), refreshtest.Wallet(0).XpubVan,
			refresh.Locked{By: refresh.By{Actor: "api", Role: refresh.API}})
		if err != nil {
			t.Fatal(err)
		}
		job := s.enqueue(0, refresh.Manual, "", "")
		s.node.mu.Lock()
		s.node.keep, s.node.took = true, 3*time.Second
		s.node.mu.Unlock()
		time.Sleep(29 * time.Second)
		_, _, log := s.node.seen()
		if n := strings.Count(fmt.Sprint(log), "listassets"); n != 1 || len(log) != 3 {
			t.Errorf("%d look-ups under a held lock: %v", n, log)
		}
		if j := s.job(0, job); j.Status != refresh.JobPending || j.Attempts != 0 {
			t.Errorf("%+v", j)
		}
		time.Sleep(20 * time.Second)
		if j := s.job(0, job); j.Status != refresh.JobCompleted {
			t.Errorf("%+v", j)
		}
	})
}

// A cancellation that times out in a tick ends the round; the watchers are then due at their next
// tick.
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

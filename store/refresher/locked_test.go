package refresher_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
)

// Who may call, while locks are renewed, lost and swept.

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

// The lock is taken over from a holder that cannot reach the store and is still running: the
// holder's call is cancelled at the end of the lock, and its result is refused.
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

// When a lock is not renewed, no call starts at or after its end, and a call that runs then is
// cancelled.
func TestNoCallAfterTheLock(t *testing.T) {
	for took, want := range map[time.Duration]string{
		15 * time.Second: "0s refresh, 15s listtransfers, ", // the third would start at the very end
		12 * time.Second: "0s refresh, 12s listtransfers, 24s listassets, 30s ended",
	} {
		virtual(t, func(c *refresh.Policy) { c.RenewLock, c.HTTPTimeout = false, 30*time.Second }, func(t *testing.T, s *system) {
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

// The end of a lock counts from before the claim was sent, not from its answer.
func TestLockCountsFromBeforeTheClaim(t *testing.T) {
	virtual(t, func(c *refresh.Policy) { c.RenewLock, c.HTTPTimeout = false, 30*time.Second }, func(t *testing.T, s *system) {
		s.node.took, s.node.keep = 14*time.Second, true
		s.enqueue(0, refresh.Sync, "", "")
		s.slow = 3 * time.Second
		s.start("w1")
		time.Sleep(48 * time.Second)
		_, _, log := s.node.seen()
		// The claim was sent at 15 s, behind the sweep and the note of the process, and answered at
		// 18 s: until 45 s.
		if got := fmt.Sprint(log); got != "[18s w1 xpub-van-000 refresh 32s w1 xpub-van-000 listtransfers  45s w1 xpub-van-000 ended]" {
			t.Errorf("calls %v", log)
		}
	})
}

// A claim or a look-up whose answer was lost after it was stored is sent again and goes on: it
// costs no second attempt, no lease has to end first, and the refresh is made.
func TestALostAnswerOfWhatTakesTheLock(t *testing.T) {
	for _, tick := range []bool{false, true} {
		virtual(t, nil, func(t *testing.T, s *system) {
			s.node.transfer(0, incoming("r", "asset"))
			first, second := s.enqueue(0, refresh.Sync, "", ""), s.enqueue(0, refresh.Sync, "", "")
			s.lost = func() bool {
				w := s.get(0)
				works := slices.ContainsFunc(w.Jobs, func(j refresh.Job) bool { return j.Status == refresh.JobProcessing })
				return w.Lock != (refresh.Lock{}) && works != tick
			}
			p := s.start("w1")
			time.Sleep(time.Second)
			if tick {
				s.enqueue(0, refresh.Manual, "", "")
				time.Sleep(5 * time.Second)
			}
			for _, id := range []uuid.UUID{first, second} {
				if j := s.job(0, id); j.Status != refresh.JobCompleted || j.Attempts != 1 {
					t.Errorf("tick %v: %+v", tick, j)
				}
			}
			for _, j := range s.get(0).Jobs {
				if j.Status != refresh.JobCompleted {
					t.Errorf("tick %v: %+v", tick, j)
				}
			}
			want := 3 // two jobs and the first tick
			if tick {
				want = 4
			}
			if n := len(s.node.refreshes(0)); n != want || s.get(0).Lock != (refresh.Lock{}) {
				t.Errorf("tick %v: %d refreshes, %+v", tick, n, s.get(0).Lock)
			}
			if p.mu.Lock(); p.lost != nil {
				t.Error("no answer was lost")
			}
			p.mu.Unlock()
		})
	}
}

// A lock that nobody gives back is deleted after its end, also where its wallet has no work.
func TestLocksAreSwept(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		s.enqueue(0, refresh.Sync, "", "")
		s.start("w1")
		time.Sleep(2 * time.Second)
		ctx := context.Background()
		if _, err := s.service.Step(ctx, refreshtest.Wallet(0).XpubVan,
			refresh.Locked{By: refresh.By{Actor: "api", Role: refresh.API}}); err != nil {
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

package refresh_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// These tests move the store's clock between commits. The wallet's sequence, and no time, must
// decide what happened first.

// steps are how far the store's clock is moved between two commits.
var steps = []time.Duration{-48 * time.Hour, -5 * time.Second, -2 * time.Second, -time.Microsecond, 0, time.Microsecond,
	5 * time.Second, 48 * time.Hour}

// ways are how a watcher of "r" ends at a time: as made by a pass, or provisional.
var ways = map[string]struct {
	provisional bool
	end         func(x *world, at time.Time)
	reason      refresh.EndReason
}{
	"a provisional expiry": {true, func(x *world, at time.Time) { x.do(refresh.Elapsed{By: worker(at), Slot: x.serve(at)}) },
		refresh.EndProvisional},
	"a provisional expiry in a tick": {true, func(x *world, at time.Time) {
		x.do(refresh.Looked{By: worker(at), Slot: x.serve(at), Lock: x.fence(), Began: at, Error: "no answer"})
	}, refresh.EndProvisional},
	"expired open": {false, func(x *world, at time.Time) { x.tick(at, listing(at, open("r", "a")), done) }, refresh.EndOpen},
	"expired gone": {false, func(x *world, at time.Time) { x.tick(at, listing(at), done) }, refresh.EndGone},
	"settled":      {false, func(x *world, at time.Time) { x.tick(at, listing(at, ended("r", "a", 2)), done) }, refresh.EndTransfer},
	"failed":       {false, func(x *world, at time.Time) { x.tick(at, listing(at, ended("r", "a", 3)), done) }, refresh.EndTransfer},
	"cancelled": {false, func(x *world, at time.Time) {
		old := open("r", "a")
		old.Expiration = t0.Unix() - 1
		x.tick(at, listing(at, old), done)
	}, refresh.EndCancelled},
	"settled in a pass": {false, func(x *world, at time.Time) {
		x.do(enqueued(at, 9, refresh.Sync, "", ""))
		x.pass(at, listing(at, ended("r", "a", 2)))
	}, refresh.EndTransfer},
}

// watched is a world in which "r" is watched, and the time of its expiry.
func watched(t *testing.T, name string) (*world, time.Time) {
	x := newWorld(t)
	if ways[name].provisional {
		x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
		x.claim(t0)
		return x, after(180 * time.Second)
	}
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	return x, after(24 * time.Hour)
}

// endedAt is a world in which the watcher of "r" has ended, at the time that is returned.
func endedAt(t *testing.T, name string) (*world, time.Time) {
	x, end := watched(t, name)
	ways[name].end(x, end)
	if w := x.watcher("r"); w.EndReason != ways[name].reason {
		t.Fatalf("%s: %+v", name, w)
	}
	return x, end
}

// The clock is moved behind each end of a watcher, and again between the claim of the next job
// and its commit. Whatever the clock says, a job that lists the transfer as open must watch it
// again, and no alert is left.
func TestTheClockStepsBehindAnEnd(t *testing.T) {
	for name := range ways {
		for _, first := range steps {
			for _, second := range steps {
				x, end := endedAt(t, name)
				now := end.Add(first)
				x.do(reconciled(now), enqueued(now, 2, refresh.Manual, "", ""))
				h := x.claim(now)
				if now = now.Add(second); second > 30*time.Second {
					_, err := x.try(refresh.JobDone{By: worker(now), Fences: h, Listing: listing(now, open("r", "a"))}, now)
					refused(t, err, statemachine.ErrFenced) // its lease is over, and a later attempt looks
					x.claim(now)                            // returns the job
					now = now.Add(time.Hour)
					h = x.claim(now)
				}
				x.do(refresh.JobDone{By: worker(now), Fences: h, Listing: listing(now, open("r", "a"))})
				if w := x.watcher("r"); w.Status != refresh.Watching || w.ExpiresAt.Sub(now) != 24*time.Hour {
					t.Errorf("%s, the clock steps %v, then %v: %+v", name, first, second, w)
				}
				if s := refresh.StatsOf([]refresh.Work{x.w}, now); s.ExpiredOpen != 0 {
					t.Errorf("%s: %+v", name, s)
				}
			}
		}
	}
}

// A listing under a lock that was taken before the watcher's end must not watch the transfer
// again, however far the clock was moved: the listing may be from before the end.
func TestAListingFromBeforeAnEnd(t *testing.T) {
	for name := range ways {
		if name == "settled in a pass" { // a second pass has no lock
			continue
		}
		for _, step := range steps {
			x, end := watched(t, name)
			x.do(enqueued(end, 2, refresh.Manual, "", ""))
			h := x.claim(end)
			ways[name].end(x, end)
			if x.watcher("r").Status == refresh.Watching { // what needs the lock waits for it
				continue
			}
			now := end.Add(min(step, 29*time.Second))
			before := x.watcher("r")
			x.do(refresh.JobDone{By: worker(now), Fences: h, Listing: listing(now, open("r", "a"))})
			if w := x.watcher("r"); w != before {
				t.Errorf("%s, the clock steps %v: %+v", name, step, w)
			}
		}
	}
}

// A failed job, or a watcher that expired open, needs an operator until a job that was made
// later has refreshed the wallet, whatever the clock said of either. A job that was made before
// settles nothing.
func TestTheClockStepsBeforeAnAlertIsSettled(t *testing.T) {
	for _, step := range steps {
		for _, made := range []string{"before", "after"} {
			x, end := endedAt(t, "expired open")
			x.do(enqueued(end, 3, refresh.Sync, "", ""))
			early := enqueued(end.Add(step), 4, refresh.Manual, "", "")
			if made == "before" {
				x.do(early)
			}
			h := x.claim(end)
			if h.Job != id(3) {
				continue // the other one is older by its time, and goes first
			}
			x.do(refresh.JobNotDone{By: worker(end), Fences: h, Outcome: failed, Permanent: true, Error: "unknown wallet"})
			now := end.Add(step)
			x.do(reconciled(now))
			if made == "after" {
				x.do(early)
			}
			now = now.Add(time.Minute)
			x.pass(now, listing(now))
			if j := x.job(4); j.Status != refresh.JobCompleted {
				t.Fatalf("%+v", j)
			}
			for _, at := range []time.Time{now, now.Add(96 * time.Hour)} {
				s := refresh.StatsOf([]refresh.Work{x.w}, at)
				if got, want := fmt.Sprint(s.ExpiredOpen, s.FailedWallets), map[string]string{"before": "0 1", "after": "0 0"}[made]; got != want {
					t.Errorf("the clock steps %v, the job was made %s the failure: expired open, failed: %s, want %s", step, made, got, want)
				}
			}
		}
	}
}

func refused(t *testing.T, err, sentinel error) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Fatalf("%v, expected %v", err, sentinel)
	}
}

package refresh_test

import (
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// In each state of each machine that is neither an end nor rest, an alert names the record a
// bounded time after it entered the state, whatever events repeat meanwhile.

// unfinished has, for each state, how to get there, how long the state may last without an
// alert, which event may repeat for ever, and which alert names the record.
var unfinished = map[string]struct {
	begin  func(x *world)
	bound  time.Duration
	repeat func(x *world, now time.Time)
	alert  string
}{
	"refresh_job pending": {func(x *world) { x.do(enqueued(t0, 1, refresh.Sync, "", "")) }, 2 * time.Hour, deferredAgain, "job age"},
	"refresh_job processing": {func(x *world) { x.do(enqueued(t0, 1, refresh.Sync, "", "")); x.claim(t0) }, 2 * time.Hour,
		deferredAgain, "job age"},
	"refresh_watcher watching": {func(x *world) { x.do(enqueued(t0, 1, refresh.Sync, "", "")); x.pass(t0, listing(t0, open("r", "a"))) },
		25 * time.Hour, unansweredAgain, "past expiry"},
	"refresh_wallet unserved": {func(x *world) { x.do(enqueued(t0, 1, refresh.Sync, "", "")) }, 2 * time.Hour,
		func(x *world, now time.Time) {
			x.do(refresh.RoundEnded{By: worker(now), Slot: x.serve(now), End: refresh.EndYield})
		}, "job age"},
	"refresh_wallet served": {func(x *world) { x.do(enqueued(t0, 1, refresh.Sync, "", "")); x.serve(t0) }, 2 * time.Hour,
		func(x *world, now time.Time) {
			x.serve(now)
			if x.w.Lock = (refresh.Lock{}); !now.Before(x.job(1).AvailableAt) { // somebody's lock is met each time
				x.do(refresh.Locked{By: by(refresh.API, now), Fence: x.fence()})
				x.claim(now)
			}
		}, "job age"},
}

// deferredAgain gives each attempt back.
func deferredAgain(x *world, now time.Time) {
	if x.job(1).Status == refresh.JobProcessing && !x.job(1).Lease.Held(now) {
		x.w.Jobs[0].Lease.Until = now.Add(time.Minute) // it was renewed all the time
		x.w.Lock.Lease.Until = now.Add(time.Minute)
	}
	slot := x.serve(now)
	if j := x.job(1); j.Status == refresh.JobProcessing {
		x.do(refresh.JobNotDone{By: worker(now), Fences: refresh.Fences{Slot: slot, Job: j.ID, Fence: j.Lease.Fence, Lock: x.w.Lock.Lease.Fence},
			Outcome: statemachine.Deferred})
	}
	x.claim(now)
}

// unansweredAgain makes ticks that nobody answers.
func unansweredAgain(x *world, now time.Time) {
	x.do(refresh.Looked{By: worker(now), Slot: x.serve(now), Lock: x.fence(), Began: now, Error: "no answer"})
}

// states are the names of the states of a machine in which something is unfinished.
func states[S, T statemachine.Label](m *statemachine.Machine[S, T], ended ...S) (all []string) {
	for _, s := range m.States() {
		if !m.Terminal(s) && !slices.Contains(ended, s) {
			all = append(all, m.Name()+" "+s.String())
		}
	}
	return all
}

func TestWhatIsUnfinishedIsOverdue(t *testing.T) {
	all := slices.Concat(states(refresh.JobMachine), states(refresh.WalletMachine),
		states(refresh.WatcherMachine, refresh.Settled, refresh.Failed, refresh.Expired)) // which watch again, and are an end until then
	if len(all) != len(unfinished) {
		t.Errorf("%v", all)
	}
	for _, state := range all {
		u, known := unfinished[state]
		if !known {
			t.Errorf("%s: nothing says when it is overdue", state)
			continue
		}
		for _, silent := range []bool{true, false} {
			x := newWorld(t)
			u.begin(x)
			alerts := func(at time.Duration) (names []string) {
				for _, a := range refresh.Alerts(refresh.StatsOf([]refresh.Work{x.w}, after(at)), refresh.DefaultThresholds()) {
					names = append(names, a.Name)
				}
				return names
			}
			if got := alerts(0); len(got) > 0 {
				t.Errorf("%s: at once %v", state, got)
			}
			for at := time.Minute; at < u.bound && !silent; at += time.Minute {
				u.repeat(x, after(at))
			}
			if got := alerts(u.bound); slices.Contains(got, u.alert) {
				t.Errorf("%s, silent %v: at its bound %v", state, silent, got)
			}
			if got := alerts(u.bound + time.Microsecond); !slices.Contains(got, u.alert) {
				t.Errorf("%s, silent %v: behind its bound %v, expected %s", state, silent, got, u.alert)
			}
		}
	}
}

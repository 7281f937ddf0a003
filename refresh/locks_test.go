package refresh_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// What a tick does beside others, and what nobody may store.

// A watcher whose tick meets a held lock keeps its count and is due again after an interval. A
// watcher that the look-up ends is ended in spite of the held lock.
func TestTickUnderAHeldLock(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a"), open("s", "a")))
	x.do(refresh.Locked{By: by(refresh.API, t0), Fence: x.fence()})
	c := x.tick(t0, listing(t0, open("r", "a"), ended("s", "a", 2)), done)
	if w := x.watcher("r"); w.RefreshCount != 0 || !w.NextAt.Equal(after(30*time.Second)) || !c.Tick.Held || len(c.Log) != 1 {
		t.Errorf("%+v %+v", w, c.Tick)
	}
	if x.watcher("s").Status != refresh.Settled {
		t.Error("a terminal status needs no lock")
	}
	x.do(refresh.Unlocked{By: by(refresh.API, t0), Fence: 2})
	now := after(30 * time.Second)
	slot, lock := x.serve(now), x.fence()
	x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: lock, Began: now, Listing: listing(now, open("r", "a"))})
	x.do(refresh.Ticked{By: worker(now), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: now, Listing: listing(now, open("r", "a")),
		Recipients: []string{"r"}, Refreshed: failed, Error: "busy"})
	if w := x.watcher("r"); w.RefreshCount != 0 || w.LastError != "busy" || !w.NextAt.Equal(after(60*time.Second)) {
		t.Errorf("a failed refresh counts: %+v", w)
	}
	if x.w.Lock != (refresh.Lock{}) {
		t.Error("the lock is held still")
	}
}

// Between two calls of a round a due job goes first, as long as the round may still take a job.
func TestADueJobGoesFirst(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(enqueued(t0, 2, refresh.Sync, "", ""))
	slot := x.serve(t0)
	look := refresh.Looked{By: worker(t0), Slot: slot, Lock: x.fence(), Began: t0, Listing: listing(t0, open("r", "a")), JobFirst: true}
	if c := x.do(look); !c.Tick.JobFirst || c.Tick.Locked() || !x.watcher("r").NextAt.Equal(t0) {
		t.Errorf("%+v", c.Tick)
	}
	look.JobFirst, look.Lock = false, x.fence()
	if c := x.do(look); !c.Tick.Refresh {
		t.Errorf("%+v", c.Tick)
	}
	// After the cancellations and before the refresh: it is owed still.
	x.do(refresh.Ticked{By: worker(t0), Fences: refresh.Fences{Slot: slot, Lock: look.Lock}, Began: t0, Listing: look.Listing,
		Recipients: []string{"r"}})
	if w := x.watcher("r"); w.RefreshCount != 0 || !w.NextAt.Equal(t0) {
		t.Errorf("%+v", w)
	}
}

// Nothing is stored under a lock, a job or a slot that is no longer held.
func TestFences(t *testing.T) {
	end := after(config.LockTTL)
	for _, c := range []struct {
		name string
		at   time.Time
		lose func(x *world)
	}{
		{"all held", end.Add(-time.Microsecond), func(x *world) {}},
		{"the slot's lease has ended", end.Add(-time.Microsecond), func(x *world) { x.w.Wallet.Lease.Until = end.Add(-time.Microsecond) }},
		{"another holds the slot", t0, func(x *world) { x.w.Wallet.Lease.Fence++ }},
		{"the job's lease has ended", end.Add(-time.Microsecond), func(x *world) { x.w.Jobs[0].Lease.Until = end.Add(-time.Microsecond) }},
		{"another holds the job", t0, func(x *world) { x.w.Jobs[0].Lease.Fence++ }},
		{"the lock has ended", end.Add(-time.Microsecond), func(x *world) { x.w.Lock.Lease.Until = end.Add(-time.Microsecond) }},
		{"another holds the lock", t0, func(x *world) { x.w.Lock.Lease.Fence++ }},
		{"the lock was swept", t0, func(x *world) { x.w.Lock = refresh.Lock{} }},
		{"all have ended", end, func(x *world) {}},
	} {
		want := error(statemachine.ErrFenced)
		if c.name == "all held" {
			want = nil
		}
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		h := x.claim(t0)
		c.lose(x)
		for _, ev := range []refresh.Event{
			refresh.JobNotDone{By: worker(c.at), Fences: h, Outcome: failed},
			refresh.JobDone{By: worker(c.at), Fences: h, Listing: listing(t0, open("r", "a"))},
		} {
			_, err := config.ApplyAt(x.load(ev, c.at), ev, c.at)
			if !errors.Is(err, want) {
				t.Errorf("%s: %T: %v", c.name, ev, err)
			}
		}
		if c.name == "all held" || strings.Contains(c.name, "job") {
			continue
		}
		x = newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, open("r", "a")))
		slot, lock := x.serve(t0), x.fence()
		x.do(refresh.Looked{By: worker(t0), Slot: slot, Lock: lock, Began: t0, Listing: listing(t0, open("r", "a"))})
		c.lose(x)
		ev := refresh.Ticked{By: worker(c.at), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: t0, Listing: listing(t0, open("r", "a")),
			Recipients: []string{"r"}, Refreshed: done}
		if _, err := config.ApplyAt(x.load(ev, c.at), ev, c.at); !errors.Is(err, want) {
			t.Errorf("%s: %T: %v", c.name, ev, err)
		}
	}
}

// A holder that takes the lock again is held off like everybody.
func TestLock(t *testing.T) {
	x := newWorld(t)
	lock := func(now time.Time, fence int64) refresh.Locked {
		return refresh.Locked{By: by(refresh.API, now), Fence: fence}
	}
	if _, err := x.try(lock(t0, 1), t0); !errors.Is(err, statemachine.ErrNotFound) {
		t.Error(err)
	}
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.do(lock(t0, 5))
	end := after(30 * time.Second)
	if _, err := x.try(lock(end.Add(-time.Microsecond), 6), end.Add(-time.Microsecond)); !errors.Is(err, statemachine.ErrHeld) {
		t.Error(err)
	}
	for _, old := range []int64{0, 4, 5} {
		if _, err := x.try(lock(end, old), end); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("fence %d repeats: %v", old, err)
		}
	}
	x.do(lock(end, 6))
	for _, fence := range []int64{5, 7} {
		if _, err := x.try(refresh.Unlocked{By: by(refresh.API, end), Fence: fence}, end); !errors.Is(err, statemachine.ErrFenced) {
			t.Error(err)
		}
	}
	if _, err := x.try(refresh.Unlocked{By: by(refresh.Operator, end), Fence: 6}, end); !errors.Is(err, statemachine.ErrFenced) {
		t.Error("another's lock:", err)
	}
	x.do(refresh.Unlocked{By: by(refresh.API, end), Fence: 6})
	if x.w.Lock != (refresh.Lock{}) {
		t.Error("held still")
	}
}

// A job that a held lock puts off does not go before a tick, neither by the look-up nor by the
// next Step, which reports the lock as held.
func TestAHeldLockLetsNoJobGoFirst(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(enqueued(t0, 2, refresh.Sync, "", ""))
	if step := x.c.Next(x.w, t0); step.Do != refresh.DoJob || step.Held {
		t.Errorf("%+v", step)
	}
	x.do(refresh.Locked{By: by(refresh.API, t0), Fence: x.fence()})
	if step := x.c.Next(x.w, t0); step.Do != refresh.DoJob || !step.Held {
		t.Errorf("%+v", step)
	}
	look := refresh.Looked{By: worker(t0), Slot: x.serve(t0), Lock: x.fence(), Began: t0, Listing: listing(t0, open("r", "a")), JobFirst: true}
	if c := x.do(look); c.Tick.JobFirst || !c.Tick.Held || !x.watcher("r").NextAt.Equal(after(30*time.Second)) {
		t.Errorf("%+v", c.Tick)
	}
	x.do(refresh.Unlocked{By: by(refresh.API, t0), Fence: 2})
	x.claim(t0)
	x.w.Lock = refresh.Lock{} // swept, and the job works still
	x.do(enqueued(t0, 3, refresh.Sync, "", ""))
	if step := x.c.Next(x.w, t0); step.Do != refresh.DoJob || !step.Held {
		t.Errorf("%+v", step)
	}
}

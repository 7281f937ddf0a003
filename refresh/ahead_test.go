package refresh_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/statemachine"
)

func reconciled(now time.Time) refresh.Reconciled {
	return refresh.Reconciled{By: by(refresh.Orchestrator, now)}
}

// A process claimed while the store's clock was an hour ahead, and died. Without Reconciled
// nobody gets its wallet for an hour; with it, the wallet is free after one lease.
func TestWhatAClockThatWasAheadLeaves(t *testing.T) {
	ahead := after(time.Hour)
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(ahead, listing(ahead, open("r", "a")))
	x.do(enqueued(ahead, 2, refresh.Sync, "", ""), enqueued(ahead, 3, refresh.Sync, "", ""))
	x.claim(ahead)
	slot := refresh.SlotElapsed{By: by(refresh.Orchestrator, t0)}
	if _, err := x.try(slot, t0); !errors.Is(err, statemachine.ErrHeld) {
		t.Fatal(err)
	}
	c := x.do(reconciled(t0))
	if held, until := c.MovedLeases(); len(held) != 2 || !until.Equal(after(30*time.Second)) || len(c.Log) != 0 {
		t.Errorf("moved %+v to %v, %d lines", held, until, len(c.Log))
	}
	if again := x.do(reconciled(t0)); !again.Empty() {
		t.Error("a second one moves more")
	}
	if w := x.watcher("r"); !w.NextAt.Equal(t0) {
		t.Errorf("%+v", w)
	}
	for _, end := range []struct {
		at  time.Time
		err error
	}{{after(30*time.Second - time.Microsecond), statemachine.ErrHeld}, {after(30 * time.Second), nil}} {
		if _, err := x.try(refresh.Locked{By: by(refresh.API, end.at), Fence: 100}, end.at); !errors.Is(err, end.err) {
			t.Errorf("the lock at %v: %v", end.at, err)
		}
		slot.At = end.at
		if _, err := x.try(slot, end.at); !errors.Is(err, end.err) {
			t.Errorf("the slot at %v: %v", end.at, err)
		}
	}
	x.do(refresh.Unlocked{By: by(refresh.API, after(30*time.Second)), Fence: 100})
	if h := x.claim(after(31 * time.Second)); h.Job != id(3) { // the other one waits for its retry
		t.Errorf("claimed %v", h.Job)
	}
}

// Each time just at the latest that the rules set stays, a moment later it is brought back.
func TestLatestTimes(t *testing.T) {
	for name, c := range map[string]struct {
		at      func(w *refresh.Work) *time.Time
		longest time.Duration
		to      time.Duration
	}{
		"slot":         {func(w *refresh.Work) *time.Time { return &w.Wallet.Lease.Until }, 30 * time.Second, 30 * time.Second},
		"lock":         {func(w *refresh.Work) *time.Time { return &w.Lock.Lease.Until }, 30 * time.Second, 30 * time.Second},
		"job's lease":  {func(w *refresh.Work) *time.Time { return &w.Jobs[1].Lease.Until }, 30 * time.Second, 30 * time.Second},
		"available at": {func(w *refresh.Work) *time.Time { return &w.Jobs[2].AvailableAt }, 30 * time.Second, 0},
		"retry at":     {func(w *refresh.Work) *time.Time { w.Jobs[2].Attempts = 1; return &w.Jobs[2].AvailableAt }, 2560 * time.Second, 0},
		"next at":      {func(w *refresh.Work) *time.Time { return &w.Watchers[0].NextAt }, 30 * time.Second, 0},
		"not before":   {func(w *refresh.Work) *time.Time { return &w.Wallet.NotBefore }, 15 * time.Minute, 0},
		"unserved":     {func(w *refresh.Work) *time.Time { return &w.Wallet.UnservedSince }, 30 * time.Second, 0},
	} {
		for _, later := range []bool{false, true} {
			x := newWorld(t)
			x.do(enqueued(t0, 1, refresh.Sync, "", ""))
			x.pass(t0, listing(t0, open("r", "a")))
			x.do(enqueued(t0, 2, refresh.Sync, "", ""), enqueued(t0, 3, refresh.Sync, "", ""))
			x.claim(t0)
			if name == "not before" || name == "unserved" {
				x.do(refresh.RoundEnded{By: worker(t0), Slot: x.w.Wallet.Lease.Fence, End: refresh.EndHung})
			}
			at, want := c.at(&x.w), after(c.longest)
			if *at = want; later {
				*at, want = want.Add(time.Microsecond), after(c.to)
			}
			latest := config.Latest(t0)
			if latest.Passed(&x.w) != later {
				t.Errorf("%s: passed %v", name, !later)
			}
			if x.do(reconciled(t0)); !c.at(&x.w).Equal(want) {
				t.Errorf("%s, later %v: %v, want %v", name, later, *c.at(&x.w), want)
			}
			if err := refresh.Check(x.w); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// After random histories the clock goes back. Then Reconciled must bring every time within the
// longest delay of its rule, change nothing else, and end no lock before its holder, who counts
// by a clock of its own, stops working under it.
func TestReconciledAgreesWithTheNaiveRules(t *testing.T) {
	moved := 0
	randomly(t, func(t *rapid.T) {
		w := refresh.Work{}
		adversary := refreshtest.Adversary{Of: refreshtest.Wallet(1), Policy: config}
		now := refreshtest.Start
		for range rapid.IntRange(20, 60).Draw(t, "events") {
			now = now.Add(refreshtest.Pause(t))
			ev := adversary.Event(t, w, now)
			if c, err := config.ApplyAt(refreshtest.Load(w, refresh.Needs(ev), now), ev, now); err == nil {
				w = refreshtest.Store(w, c)
			}
		}
		if w.Wallet.Status == 0 {
			return
		}
		now = now.Add(-rapid.SampledFrom([]time.Duration{0, time.Microsecond, 20 * time.Second, time.Hour, 48 * time.Hour}).Draw(t, "back"))
		ev := reconciled(now)
		c, err := config.ApplyAt(refreshtest.Load(w, refresh.Needs(ev), now), ev, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := refreshtest.Sound(c); err != nil {
			t.Fatal(err)
		}
		latest := config.Latest(now)
		if latest.Passed(&w) == c.Empty() {
			t.Fatalf("passed %v, and it changes %v: %+v", latest.Passed(&w), !c.Empty(), w)
		}
		was := w
		if w = refreshtest.Store(w, c); !c.Empty() {
			moved++
		}
		naive := func(old, at time.Time, longest, to time.Duration) time.Time {
			if old.Sub(now) > longest {
				old = now.Add(to)
			}
			if !at.Equal(old) {
				t.Fatalf("%v, want %v at %v: %+v", at, old, now, was)
			}
			return at
		}
		const lease = 30 * time.Second
		live := false
		naive(was.Wallet.Lease.Until, w.Wallet.Lease.Until, lease, lease)
		naive(was.Lock.Lease.Until, w.Lock.Lease.Until, lease, lease)
		for i, j := range w.Jobs {
			o := was.Jobs[i]
			if j.Status != o.Status || j.Version != o.Version || j.Attempts != o.Attempts {
				t.Fatalf("%+v was %+v", j, o)
			}
			naive(o.Lease.Until, j.Lease.Until, lease, lease)
			if j.Status == refresh.JobPending {
				longest := 2560 * time.Second
				if j.Attempts == 0 {
					longest = 30 * time.Second
				}
				naive(o.AvailableAt, j.AvailableAt, longest, 0)
			}
			live = live || j.Status == refresh.JobPending || j.Status == refresh.JobProcessing
		}
		for i, x := range w.Watchers {
			if x.Status == refresh.Watching {
				live = true
				naive(was.Watchers[i].NextAt, x.NextAt, 30*time.Second, 0)
			} else if x != was.Watchers[i] {
				t.Fatalf("%+v was %+v", x, was.Watchers[i])
			}
		}
		if live {
			naive(was.Wallet.NotBefore, w.Wallet.NotBefore, 15*time.Minute, 0)
			naive(was.Wallet.UnservedSince, w.Wallet.UnservedSince, lease, 0)
		} else if was.Wallet.Version != w.Wallet.Version {
			t.Fatalf("%+v was %+v", w.Wallet, was.Wallet)
		}
	})
	if moved == 0 {
		t.Error("nothing was ever brought back")
	}
}

// An idle wallet waits for nobody: since when it is unserved is of no account.
func TestAnIdleWalletIsNotReconciled(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0))
	x.do(refresh.RoundEnded{By: worker(t0), Slot: x.w.Wallet.Lease.Fence, End: refresh.EndYield})
	early := after(-time.Hour)
	latest := config.Latest(early)
	if c := x.do(reconciled(early)); !c.Empty() || latest.Passed(&x.w) {
		t.Errorf("%+v", c.New.Wallet)
	}
}

package refresh_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Who serves a wallet, and how a round ends.

// A wallet whose calls time out rests 30, 60, ... 900 s; only the expiries of provisional
// watchers are still on time.
func TestHungRounds(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""), enqueued(t0, 2, refresh.InvoiceCreated, "p", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.claim(t0)
	x.do(enqueued(t0, 3, refresh.Sync, "", ""))
	now := t0
	for k, pause := range []time.Duration{30, 60, 120, 240, 480, 900, 900} {
		slot := x.serve(now)
		x.do(refresh.RoundEnded{By: worker(now), Slot: slot, End: refresh.EndHung})
		w := x.w.Wallet
		if int(w.HungRounds) != k+1 || w.NotBefore.Sub(now) != pause*time.Second || w.Status != refresh.Unserved || w.Slot != 0 {
			t.Fatalf("round %d: %+v", k+1, w)
		}
		if h := x.claim(w.NotBefore.Add(-time.Microsecond)); h.Job != uuid.Nil {
			t.Fatalf("round %d: a job was claimed during the pause", k+1)
		}
		if j := x.job(3); !j.Due(&w).Equal(w.NotBefore) {
			t.Errorf("due at %v", j.Due(&w))
		}
		if r := x.watcher("r"); !r.Due(&w).Equal(w.NotBefore) {
			t.Errorf("due at %v", r.Due(&w))
		}
		if p := x.watcher("p"); p.Due(&w).After(p.ExpiresAt) {
			t.Errorf("a provisional expiry is put off to %v", p.Due(&w))
		}
		x.do(refresh.RoundEnded{By: worker(w.NotBefore.Add(-time.Microsecond)), Slot: x.w.Wallet.Lease.Fence, End: refresh.EndYield})
		now = w.NotBefore
	}
	h := x.claim(now)
	if h.Job != id(3) {
		t.Fatal("not due after the pause")
	}
	c := x.do(refresh.JobDone{By: worker(now), Fences: h, Listing: listing(now)})
	if w := c.New.Wallet; w.HungRounds != 0 || !w.NotBefore.IsZero() || w.Status != refresh.Served {
		t.Errorf("%+v", w)
	}
}

// After a restore nobody gets a slot or a lock while a call that began under a lock which the
// database has forgotten may still run at the node.
func TestNobodyIsServedWhileAForgottenCallMayRun(t *testing.T) {
	free := t0.Add(config.LockTTL + config.HTTPTimeout)
	for _, at := range []time.Time{t0, free.Add(-time.Microsecond), free} {
		for _, ev := range []refresh.Event{slotClaimed(at, 1), refresh.Locked{By: by(refresh.API, at), Fence: 1}} {
			x := newWorld(t)
			x.do(enqueued(at, 1, refresh.Recovery, "", "")) // a wallet that the copy does not know
			w := x.w
			w.RestoredAt = t0
			c, err := config.ApplyAt(w, ev, at)
			if at.Before(free) != errors.Is(err, switches.ErrOnHold) || !at.Before(free) && err != nil || !c.New.RestoredAt.IsZero() && err == nil {
				t.Errorf("%T %v after the restore: %v", ev, at.Sub(t0), err)
			}
		}
	}
}

// A tick whose refresh was answered ends a series of hung rounds; its first half alone does
// not.
func TestAnsweredTicks(t *testing.T) {
	hung := func() *world {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, open("r", "a")))
		x.do(refresh.RoundEnded{By: worker(t0), Slot: x.serve(t0), End: refresh.EndHung})
		return x
	}
	now := after(30 * time.Second)
	x := hung()
	x.do(refresh.Looked{By: worker(now), Slot: x.serve(now), Lock: x.fence(), Began: now, Listing: listing(now, open("r", "a"))})
	if x.w.Wallet.HungRounds != 1 {
		t.Error("the refresh was not answered yet")
	}
	x = hung()
	x.tick(now, listing(now, open("r", "a")), done)
	if x.w.Wallet.HungRounds != 0 {
		t.Error("answered")
	}
	x = hung()
	x.tick(now, listing(now, ended("r", "a", 2)), done)
	if x.w.Wallet.HungRounds != 0 {
		t.Error("answered, and nothing was left to do")
	}
}

// An idle exit is stored only if the same commit finds no live job, no watching row, and the
// work sequence at which the wallet was found idle.
func TestIdleExit(t *testing.T) {
	type prepare func(x *world)
	for name, c := range map[string]struct {
		prepare
		ok bool
	}{
		"nothing":       {func(x *world) {}, true},
		"a pending job": {func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")) }, false},
		"a job that is not due": {func(x *world) {
			x.do(enqueued(t0, 2, refresh.Sync, "", ""))
			x.w.Jobs[1].AvailableAt = after(time.Hour)
		}, false},
		"a job in processing": {func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")); x.claim(t0) }, false},
		"a watching row": {func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")); x.pass(t0, listing(t0, open("r", "a"))) },
			false},
		"work that came and went": {func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")); x.pass(t0, listing(t0)) }, false},
	} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0))
		seq := x.w.Wallet.WorkSeq
		c.prepare(x)
		slot := x.serve(t0)
		ev := refresh.RoundEnded{By: worker(t0), Slot: slot, End: refresh.EndIdle, WorkSeq: seq}
		_, err := x.try(ev, t0)
		if c.ok && (err != nil || x.w.Wallet.Status != refresh.Unserved) ||
			!c.ok && (!errors.Is(err, statemachine.ErrIllegal) || x.w.Wallet.Status != refresh.Served) {
			t.Errorf("%s: %v, %v", name, err, x.w.Wallet.Status)
		}
		if c.ok {
			if again := x.do(ev); !again.Empty() {
				t.Error("stored twice")
			}
		}
	}
}

// The slot is a lease: who holds it, who may take it over, and under which fence.
func TestSlots(t *testing.T) {
	x := newWorld(t)
	if _, err := x.try(slotClaimed(t0, 1), t0); !errors.Is(err, statemachine.ErrIllegal) {
		t.Error(err)
	}
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	for _, n := range []int32{-1, 0, 51} {
		if _, err := x.try(slotClaimed(t0, n), t0); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("slot %d: %v", n, err)
		}
	}
	x.do(slotClaimed(t0, 50))
	if w := x.w.Wallet; w.Slot != 50 || !w.UnservedSince.IsZero() || w.Lease.Holder != "w1" || w.Lease.Until.Sub(t0) != 30*time.Second {
		t.Errorf("%+v", w)
	}
	for _, now := range []time.Time{t0, after(30*time.Second - time.Microsecond)} {
		if _, err := x.try(slotClaimed(now, 2), now); !errors.Is(err, statemachine.ErrHeld) {
			t.Error("a holder that claims again:", err)
		}
		if _, err := x.try(refresh.SlotElapsed{By: by(refresh.Orchestrator, now)}, now); !errors.Is(err, statemachine.ErrHeld) {
			t.Error(err)
		}
	}
	same := slotClaimed(t0, 50)
	same.Fence = 1
	if c := x.do(same); !c.Empty() {
		t.Error("the same claim again")
	}
	end := after(30 * time.Second)
	x.do(refresh.SlotElapsed{By: by(refresh.Orchestrator, end.Add(time.Minute))})
	if w := x.w.Wallet; w.Status != refresh.Unserved || !w.UnservedSince.Equal(end) || w.Lease.Fence != 1 {
		t.Errorf("it waits from the end of the lease: %+v", w)
	}
	if c := x.do(refresh.SlotElapsed{By: by(refresh.Orchestrator, end.Add(time.Minute))}); !c.Empty() {
		t.Error("elapsed twice")
	}
	x.do(slotClaimed(end.Add(time.Minute), 1))
	_, err := x.try(refresh.JobClaimed{By: worker(end.Add(time.Minute)), Slot: 1, Lock: 1}, end.Add(time.Minute))
	if !errors.Is(err, statemachine.ErrFenced) {
		t.Error("an old fence:", err)
	}
	other := refresh.JobClaimed{By: worker(end.Add(time.Minute)), Slot: 2, Lock: 1}
	other.Actor = "w2"
	if _, err := x.try(other, end.Add(time.Minute)); !errors.Is(err, statemachine.ErrFenced) {
		t.Error("another process:", err)
	}
}

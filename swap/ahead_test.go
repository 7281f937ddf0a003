package swap_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

// A lease, and what is put off, is waited for as long as a rule can say, to the microsecond. What
// is later was given by a clock that was ahead.
func TestWhatAClockThatWasAheadGaveIsNotWaitedFor(t *testing.T) {
	longest := policy.Longest()
	for name, c := range map[string]struct {
		set     func(i *swap.Item, at time.Time)
		longest time.Duration
		waited  error
	}{
		"lease": {func(i *swap.Item, at time.Time) { i.Lease.Holder, i.Lease.Until = "other", at }, policy.Lease, statemachine.ErrHeld},
		"check": {func(i *swap.Item, at time.Time) { i.CheckAt = at }, longest, statemachine.ErrIllegal},
	} {
		for d, ahead := range map[time.Duration]bool{c.longest - 1000: false, c.longest: false, c.longest + 1000: true, 90000 * time.Hour: true} {
			r := ready(t).release()
			c.set(&r.item.Item, r.now.Add(d))
			ev := swap.Claimed{By: r.worker()}
			if !ahead {
				r.refused(ev, c.waited)
			} else if r.do(ev); r.i().Lease.Holder != "worker" || !r.i().CheckAt.Equal(r.now.Add(policy.LookEvery)) {
				t.Errorf("%s %v ahead: %+v, due %v", name, d, r.i().Lease, r.i().CheckAt)
			}
		}
	}
	// The longest pauses of the rules are no longer than that.
	for name, d := range map[string]time.Duration{"deferral": swap.MaxDeferral, "cooldown": policy.Cooldown, "stale": policy.StaleAfter,
		"refund": policy.RefundTimeout, "confirmation": policy.ConfirmTimeout, "overdue": policy.RefundTimeout + policy.OverdueAfter} {
		if d >= longest {
			t.Errorf("%s: %v, at most %v", name, d, longest)
		}
	}
}

// What a clock ten years ahead has left, in every state: a worker gets it at once, then it is due
// and overdue within the longest pause, and a worker is not sent to it again and again meanwhile.
func TestEveryStateAfterAClockThatWasAhead(t *testing.T) {
	rightly(t, depositStatesOf(t))
	rightly(t, creditStatesOf(t))
}

func rightly[A any](t *testing.T, states map[string]func() *run[A]) {
	for name, make := range states {
		r := make().release()
		if r.i().CheckAt.IsZero() {
			continue
		}
		r.now = t0.Add(-90000 * time.Hour)
		r.do(swap.Claimed{By: r.worker()})
		i, latest := r.i(), r.now.Add(policy.Longest())
		if i.DueAt().After(latest) || i.OverdueAt.After(latest) || i.Entered.After(r.now) || !i.CheckAt.After(r.now) {
			t.Errorf("%s: due %v, overdue %v, entered %v", name, i.DueAt(), i.OverdueAt, i.Entered)
		}
		version := i.Version
		if r.release().wait(25 * time.Hour).do(swap.Claimed{By: r.worker()}); r.i().Version != version {
			t.Errorf("%s: its times are right, and a claim is a version", name)
		}
	}
}

// The cooldown of an attempt of the future is over.
func TestTheNextAttemptAfterOneOfTheFuture(t *testing.T) {
	r := toBeRefunded(t).wait(90000 * time.Hour).begin(swap.Refund).answer(statemachine.Failed).missing(1).release()
	r.now = t0.Add(time.Hour)
	r.do(swap.Claimed{By: r.worker()})
	if step := r.p.NextDeposit(r.item, open, r.now); len(step.Tasks) != 1 || step.Tasks[0].Do != swap.Begin {
		t.Errorf("owed: %+v", step)
	}
	r.do(r.begun(swap.Refund))
}

// A look-back is of the generation in which it was made, whatever the store's clock said then:
// one of before a restore proves nothing, though its time is of the future, or has passed since.
func TestALookBackOfBeforeARestoreProvesNothing(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, 72 * time.Hour} {
		for _, first := range []bool{true, false} {
			r := restored(ready(t).release().wait(time.Hour)).wait(time.Hour)
			clock := r.now
			back := func() {
				r.now = clock.Add(ahead)
				r.now = later(r.now, r.ctl.RecoveredAt.Add(time.Hour))
				r.missing(0)
				r.now = later(r.now, clock)
			}
			if first {
				back()
			}
			restored(r)
			if !first {
				back()
			}
			r.now = later(clock, r.ctl.RecoveredAt).Add(100 * time.Hour) // all these times have passed
			r.claim().do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
			if first {
				r.refused(r.begun(swap.Send), switches.ErrUnsettled)
			} else {
				r.do(r.begun(swap.Send))
			}
		}
	}
}

// Each time that a claim sets right, alone: one of the future counts as now, one of now stays.
func TestAClaimSetsEachTimeRight(t *testing.T) {
	day := 24 * time.Hour
	at := map[string]func(*swap.Credit) *time.Time{
		"Entered":   func(c *swap.Credit) *time.Time { return &c.Entered },
		"Hold.At":   func(c *swap.Credit) *time.Time { return &c.Hold.At },
		"CountedAt": func(c *swap.Credit) *time.Time { return &c.CountedAt },
		"GoneAt":    func(c *swap.Credit) *time.Time { return &c.GoneAt },
	}
	for name, field := range at {
		for ahead, wrong := range map[time.Duration]bool{-time.Microsecond: false, 0: false, time.Microsecond: true, 10 * day: true} {
			r := sending(t).release().order(swap.Held{})
			r.now = r.i().CheckAt.Add(time.Hour)
			*field(&r.item) = r.now.Add(ahead)
			version, want := r.i().Version, r.now.Add(min(ahead, 0))
			if r.do(swap.Claimed{By: r.worker()}); !field(&r.item).Equal(want) || (r.i().Version > version) != wrong {
				t.Errorf("%s %v ahead: %v at %v, version %d of %d", name, ahead, *field(&r.item), r.now, r.i().Version, version)
			}
		}
	}
	// OverdueAt may be ahead by as much as a rule can say.
	for ahead, wrong := range map[time.Duration]bool{policy.Longest(): false, policy.Longest() + time.Microsecond: true} {
		r := ripe(t).release()
		r.now = r.i().CheckAt.Add(time.Hour)
		r.i().OverdueAt = r.now.Add(ahead)
		version := r.i().Version
		if r.do(swap.Claimed{By: r.worker()}); r.i().OverdueAt.Equal(r.now.Add(ahead)) == wrong || (r.i().Version > version) != wrong {
			t.Errorf("overdue %v ahead: %v at %v", ahead, r.i().OverdueAt, r.now)
		}
	}
}

// A credit that a clock which was ahead has stored vanishes like any other, and is not paid.
func TestACreditThatWasStoredInTheFutureVanishes(t *testing.T) {
	r := ripe(t)
	r.item.Stored = t0.Add(72 * time.Hour)
	r.now = t0.Add(time.Hour)
	if r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Gone: true}); !r.item.GoneAt.Equal(r.now) {
		t.Errorf("stored at %v, gone at %v", r.item.Stored, r.item.GoneAt)
	}
}

// What denies a credit is not kept away by a count of the future.
func TestACreditOfAClockThatWasAheadVanishes(t *testing.T) {
	r := ripe(t)
	r.now = t0.Add(90000 * time.Hour)
	for _, n := range []uint64{3, 2} {
		r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Count: n})
	}
	if !r.item.CountedAt.Equal(r.now) {
		t.Fatalf("counted at %v", r.item.CountedAt)
	}
	r.now = t0.Add(time.Hour)
	r.do(swap.Claimed{By: r.worker()}).wait(time.Second)
	if r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Gone: true}); r.item.GoneAt.IsZero() {
		t.Errorf("counted at %v, gone at %v", r.item.CountedAt, r.item.GoneAt)
	}
}

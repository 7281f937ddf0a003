package relaysync_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

// An unfinished relay that waits for no person is overdue a bounded time after it entered its
// phase, whatever events repeat meanwhile, and an alert with the default thresholds says so. A
// phase that is added to the table must be added here.
func TestWhatIsUnfinishedIsOverdue(t *testing.T) {
	limits := relaysync.DefaultThresholds()
	phases := map[relaysync.Phase]func() *log{
		relaysync.PhaseDue:     func() *log { return begun(t) },
		relaysync.PhaseSyncing: func() *log { return begun(t, claimed(t0)) },
		relaysync.PhaseWaiting: func() *log { return begun(t, claimed(t0), finished(t0, 1, statemachine.Failed, "no")) },
		relaysync.PhaseClean:   func() *log { return begun(t, claimed(t0), finished(t0, 1, statemachine.Done, "")) },
		relaysync.PhaseExhausted: func() *log {
			l := begun(t)
			for n := range int64(7) {
				at := l.s.Timer.Due
				l.do(claimed(at), finished(at, n+1, statemachine.Failed, "no"))
			}
			return l
		},
	}
	finish := func(o statemachine.Outcome) func(*log, time.Time) {
		return func(l *log, at time.Time) {
			l.try(claimed(at))
			l.try(finished(at, l.s.Timer.Lease.Fence, o, "no"))
		}
	}
	repeated := map[string]func(*log, time.Time){
		"silence":  func(*log, time.Time) {},
		"claims":   func(l *log, at time.Time) { l.try(claimed(at)) },
		"deferred": finish(statemachine.Deferred), "unknown": finish(statemachine.Unknown), "failed": finish(statemachine.Failed),
		"revoked": func(l *log, at time.Time) {
			l.try(claimed(at))
			l.try(relaysync.Revoked{By: by(relaysync.Operator, at), Revocation: statemachine.Revocation{Holder: "reactor-1", Reason: "dead"}})
		},
		"changes":      func(l *log, at time.Time) { l.try(updated(at, "b")) },
		"late":         func(l *log, at time.Time) { l.try(claimed(at)); l.try(finished(at, 1, statemachine.Unknown, "no")) },
		"reconciled":   func(l *log, at time.Time) { l.try(relaysync.Reconciled{By: by(relaysync.Reactor, at)}) },
		"an impatient": func(l *log, at time.Time) { l.try(relaysync.Retried{By: by(relaysync.Operator, at)}) },
		"changed while": func(l *log, at time.Time) {
			l.try(claimed(at))
			l.try(updated(at, "b"))
			l.try(finished(at, l.s.Timer.Lease.Fence, statemachine.Done, ""))
		},
	}
	for _, phase := range relaysync.Machine.States() {
		if relaysync.Machine.Terminal(phase) {
			continue
		}
		if phases[phase] == nil {
			t.Errorf("no relay that is %v is tried", phase)
			continue
		}
		for what, again := range repeated {
			l, told := phases[phase](), []string(nil)
			if at := l.s.Phase(); at != phase {
				t.Fatalf("it is %v, not %v", at, phase)
			}
			entered := l.last.Log[0].At
			owed := phase != relaysync.PhaseClean && phase != relaysync.PhaseExhausted
			for at := entered; at.Sub(entered) <= limits.Owed+time.Second; at = at.Add(30 * time.Second) {
				again(l, at)
			}
			end := entered.Add(limits.Owed + time.Second)
			for _, a := range relaysync.Alerts(l.stats(end), limits) {
				told = append(told, a.Name)
			}
			switch now := l.s.Phase(); {
			case phase == relaysync.PhaseExhausted && now == phase, now == relaysync.PhaseExhausted:
				if !slices.Contains(told, "exhausted") {
					t.Errorf("%v, %s: no person is told, but %v", phase, what, told)
				}
			case now == relaysync.PhaseClean:
				if len(told) > 0 {
					t.Errorf("%v, %s: nothing is owed, and there is %v", phase, what, told)
				}
			case owed && !slices.Contains(told, "relay owed"):
				t.Errorf("%v, %s: %v since %v, and there is %v", phase, what, now, l.s.Timer.Since, told)
			}
			if owed && l.s.Phase() != relaysync.PhaseExhausted && !l.s.Timer.Since.Equal(t0) {
				t.Errorf("%v, %s: it waits since %v", phase, what, l.s.Timer.Since)
			}
		}
	}
}

// try sends an event, which may be refused.
func (l *log) try(ev relaysync.Event) {
	if c, err := policy.Apply(l.s, ev); err == nil {
		l.take(c)
	}
}

func (l *log) stats(at time.Time) relaysync.Stats {
	s := relaysync.Stats{At: at, Phases: map[relaysync.Phase]int64{}}
	s.Add(&l.s)
	return s
}

// begun is a relay of t0.
func begun(t *testing.T, events ...relaysync.Event) *log {
	t.Helper()
	l := &log{t: t}
	l.do(append([]relaysync.Event{created(t0)}, events...)...)
	return l
}

// A person had it, or nobody: it waits since then. A clock that was ahead is said so.
func TestSinceWhenASyncIsOwed(t *testing.T) {
	l := begun(t)
	for n := range int64(7) {
		at := l.s.Timer.Due
		l.do(claimed(at), finished(at, n+1, statemachine.Failed, "no"))
	}
	if !l.s.Timer.Since.IsZero() {
		t.Errorf("exhausted, and it waits since %v", l.s.Timer.Since)
	}
	l.do(relaysync.Retried{By: by(relaysync.Operator, sec(9000))}, claimed(sec(9000)), finished(sec(9001), 8, statemachine.Failed, "no"))
	if !l.s.Timer.Since.Equal(sec(9000)) {
		t.Errorf("retried, and it waits since %v", l.s.Timer.Since)
	}
	l.s.Timer.Since = time.Time{} // another writer's
	if s := l.stats(sec(20000)); !s.OldestOwed.Equal(l.s.Timer.Due) {
		t.Errorf("it waits since %v", s.OldestOwed)
	}
	ahead := begun(t, updated(sec(864000), "b"))
	ahead.s.Timer.Due, ahead.s.Timer.Since = sec(864000), sec(864000)
	for at, want := range map[float64]int{0: 1, 864000 - 3601: 1, 864000 - 3600: 0} {
		got := relaysync.Alerts(ahead.stats(sec(at)), relaysync.DefaultThresholds())
		if len(got) != want || want > 0 && got[0].Name != "relay ahead" {
			t.Errorf("at %v: %v", at, got)
		}
	}
	ahead.do(relaysync.Reconciled{By: by(relaysync.Reactor, t0)}) // the right clock mends it
	if got := ahead.s.Timer; !got.Since.Equal(t0) || !got.Due.Equal(sec(900)) {
		t.Errorf("%+v", got)
	}
}

func TestDefaultThresholds(t *testing.T) {
	limits := relaysync.DefaultThresholds()
	for over, want := range map[time.Duration]string{0: "[]", time.Microsecond: "[relay due wait relay owed relay ahead]"} {
		s := relaysync.Stats{At: t0, OldestDue: t0.Add(-limits.DueWait - over), OldestOwed: t0.Add(-limits.Owed - over),
			Latest: t0.Add(limits.Ahead + over)}
		names := []string{}
		for _, a := range relaysync.Alerts(s, limits) {
			names = append(names, a.Name)
		}
		if fmt.Sprint(names) != want || limits.DueWait == 0 || limits.Owed == 0 || limits.Ahead == 0 || limits.FailureRate == 0 {
			t.Errorf("%v over the limits: %v", over, names)
		}
	}
}

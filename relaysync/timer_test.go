package relaysync_test

import (
	"math"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

// The delays of the source, exactly: 30 s doubled, at most 15 min, six times.
func TestDelays(t *testing.T) {
	for n, want := range map[int32]time.Duration{0: 30, 1: 30, 2: 60, 3: 120, 4: 240, 5: 480, 6: 900} {
		due, ok := policy.Retry("r", n, t0, t0)
		if !ok || due != t0.Add(want*time.Second) {
			t.Errorf("failure %d: due %v (%v), expected %v s", n, due.Sub(t0), ok, int(want))
		}
	}
	for _, n := range []int32{7, 8, math.MaxInt32} {
		if _, ok := policy.Retry("r", n, t0, t0); ok {
			t.Errorf("failure %d does not give up", n)
		}
	}
	p := policy
	p.MaxAttempts = 1000
	for _, n := range []int32{7, 35, 36, 63, 64, 65, 1000} {
		if due, _ := p.Retry("r", n, t0, t0); due != t0.Add(15*time.Minute) {
			t.Errorf("failure %d: %v, expected the cap", n, due.Sub(t0))
		}
	}
}

// The due time lies between now and now + delay, whatever the clock did.
func TestDueTimeIsClamped(t *testing.T) {
	for _, c := range []struct {
		name        string
		failed, due float64 // seconds from now
	}{
		{"just now", 0, 30}, {"a while ago", -10, 20}, {"just over", -30, 0}, {"long ago", -1000, 0}, {"a clock that went back", 3600, 30},
		{"by a second", 1, 30},
	} {
		if due, ok := policy.Retry("r", 1, sec(c.failed), t0); !ok || due != sec(c.due) {
			t.Errorf("%s: due in %v, expected %v s", c.name, due.Sub(t0), c.due)
		}
	}
}

func TestJitterOnlyShortens(t *testing.T) {
	p := policy
	p.Backoff.JitterPercent = 50
	seen := map[time.Time]bool{}
	for i := range 50 {
		id := "relay" + string(rune('a'+i))
		due, _ := p.Retry(id, 3, t0, t0)
		if due.Before(sec(60)) || due.After(sec(120)) {
			t.Errorf("%v is outside of 60 to 120 s", due.Sub(t0))
		}
		if due.Nanosecond()%1000 != 0 {
			t.Errorf("%v is finer than a store keeps", due)
		}
		if again, _ := p.Retry(id, 3, t0, t0); again != due {
			t.Error("the same retry has another delay")
		}
		seen[due] = true
	}
	if len(seen) < 40 {
		t.Errorf("50 relays share %d due times", len(seen))
	}
}

// The test follows the syncs of a relay that always fails, with and without restarts: a record
// that is read again must be the same record.
func TestFailingRelay(t *testing.T) {
	for name, c := range map[string]struct {
		takes float64 // seconds from the claim to the record of the failure
		want  []float64
	}{
		"answers at once":  {0, []float64{0, 30, 90, 210, 450, 930, 1830}},
		"time-outs of 5 s": {5, []float64{0, 35, 100, 225, 470, 955, 1860}},
	} {
		l := start(t)
		var at []float64
		for l.s.Phase() != relaysync.PhaseExhausted {
			due, ok := l.s.DueAt()
			if !ok || len(at) > 7 {
				t.Fatalf("%s: %v, no due time after %d syncs", name, l.s.Phase(), len(at))
			}
			l.refused(statemachine.ErrIllegal, claimed(due.Add(-time.Microsecond)))
			now := due
			s := l.do(claimed(now), relaysync.Reconciled{By: by(relaysync.Reactor, now)})
			at = append(at, now.Sub(t0).Seconds())
			now = now.Add(time.Duration(c.takes * float64(time.Second)))
			l.do(finished(now, s.Timer.Lease.Fence, statemachine.Unknown, "time-out"))
			l.nothing(relaysync.Reconciled{By: by(relaysync.Reactor, now)})
		}
		if len(at) != len(c.want) {
			t.Fatalf("%s: syncs at %v, expected %v", name, at, c.want)
		}
		for i := range at {
			if at[i] != c.want[i] {
				t.Fatalf("%s: syncs at %v, expected %v", name, at, c.want)
			}
		}
		nothing, err := policy.Apply(l.s, relaysync.Reconciled{By: by(relaysync.Reactor, l.s.History.Newest)})
		if !l.last.GivesUp() || nothing.GivesUp() || err != nil {
			t.Errorf("%s: given up with the failure %v, with what changes nothing %v, %v", name, l.last.GivesUp(), nothing.GivesUp(), err)
		}
		if l.last.Log[0].Reason != "retries exhausted; awaiting manual intervention" {
			t.Errorf("%s: the end is reported as %q", name, l.last.Log[0].Reason)
		}
		// Nothing revives it but a person, or a change.
		for _, now := range []time.Time{sec(2000), sec(1e6)} {
			l.nothing(relaysync.Reconciled{By: by(relaysync.Reactor, now)})
			l.refused(statemachine.ErrIllegal, claimed(now))
		}
		s := l.do(relaysync.Retried{By: by(relaysync.Operator, sec(1e6)), Reason: "the server is back"})
		if s.Phase() != relaysync.PhaseDue || s.Timer.Due != sec(1e6) || s.History.Streak != 0 {
			t.Errorf("%s: after a retry %v at %v, streak %d", name, s.Phase(), s.Timer.Due, s.History.Streak)
		}
		if s = l.fail(sec(1e6), "again"); s.Timer.Due != sec(1e6+30) {
			t.Errorf("%s: the streak did not begin anew: %v", name, s.Timer.Due)
		}
	}
}

func TestStreak(t *testing.T) {
	f, c, u, r := relaysync.FailRelaySync, relaysync.CompleteRelaySync, relaysync.UpdateRelay, relaysync.RetryRelaySync
	for _, tt := range []struct {
		name string
		list []string // newest last
		at   []int    // seconds; none: 1, 2, 3, ...
		want int32
	}{
		{"nothing", nil, nil, 0}, {"one failure", []string{f}, nil, 1}, {"a success before", []string{c, f, f}, nil, 2},
		{"a success after", []string{f, f, c}, nil, 0}, {"an update between", []string{f, f, u, f}, nil, 1},
		{"a retry at the head", []string{f, f, f, r}, nil, 0}, {"an activity of the host", []string{f, "archive_relay", f}, nil, 1},
		{"ties go by sequence", []string{f, u, f, f}, []int{5, 5, 5, 5}, 2}, {"a tie that ends it", []string{f, f, u}, []int{5, 5, 5}, 0},
		{"time before sequence", []string{u, f, f}, []int{9, 1, 2}, 0}, {"an older success written late", []string{f, f, c}, []int{5, 6, 1}, 2},
	} {
		var all []relaysync.Activity
		for i, kind := range tt.list {
			at := i
			if tt.at != nil {
				at = tt.at[i]
			}
			all = append(all,
				relaysync.Activity{Sequence: int64(i + 1), ResourceType: relaysync.ResourceRelay, Type: kind, CreatedAt: sec(float64(at))})
		}
		for range 2 {
			if h := relaysync.HistoryOf(all); h.Streak != tt.want {
				t.Errorf("%s: %d, expected %d", tt.name, h.Streak, tt.want)
			}
			for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 { // the order of the rows does not matter
				all[i], all[j] = all[j], all[i]
			}
		}
	}
}

// The store sets in each commit what Handle asks for.
func TestHandleAgreesWithTheCommit(t *testing.T) {
	for kind, want := range map[string]relaysync.Reaction{
		relaysync.CreateRelay: relaysync.SyncNow, relaysync.UpdateRelay: relaysync.SyncNow, relaysync.ActivateRelay: relaysync.SyncNow,
		relaysync.DeactivateRelay: relaysync.SyncNow, relaysync.RetryRelaySync: relaysync.SyncNow,
		relaysync.FailRelaySync: relaysync.ScheduleRetry, relaysync.CompleteRelaySync: relaysync.Ignore, relaysync.DeleteRelay: relaysync.Ignore,
		"archive_relay": relaysync.Ignore,
	} {
		for _, resource := range []string{relaysync.ResourceRelay, relaysync.ResourceTenant, "", "Relay"} {
			if resource != relaysync.ResourceRelay {
				want = relaysync.Ignore
			}
			if got := relaysync.Handle(relaysync.Activity{ResourceType: resource, Type: kind}); got != want && resource == relaysync.ResourceRelay ||
				got != relaysync.Ignore && resource != relaysync.ResourceRelay {
				t.Errorf("%s of %q: %v", kind, resource, got)
			}
		}
	}
	l := start(t)
	check := func() {
		t.Helper()
		for _, a := range l.last.Activities {
			due := l.s.Timer.Due
			switch relaysync.Handle(a) {
			case relaysync.SyncNow:
				if due.IsZero() || due.After(a.CreatedAt) {
					t.Errorf("%s: due at %v", a.Type, due)
				}
			case relaysync.ScheduleRetry:
				want, ok := policy.Retry(l.s.Relay.ID, relaysync.HistoryOf(l.all).Streak, a.CreatedAt, a.CreatedAt)
				if due != want || ok == l.s.Timer.Exhausted {
					t.Errorf("%s: due at %v, expected %v", a.Type, due, want)
				}
			}
		}
	}
	check()
	at := t0
	for range 9 {
		at = at.Add(time.Hour)
		if l.s.Phase() == relaysync.PhaseExhausted {
			l.do(relaysync.Retried{By: by(relaysync.Operator, at)})
			check()
		}
		l.fail(at, "no")
		check()
	}
	for i, ev := range []relaysync.Event{updated(sec(1e5), "b"), relaysync.Deactivated{By: by(relaysync.Biller, sec(2e5))},
		relaysync.Activated{By: by(relaysync.Host, sec(3e5))}} {
		l.do(ev)
		check()
		l.succeed(sec(float64(i+1)*1e5 + 1))
		check()
	}
	l.do(relaysync.Retried{By: by(relaysync.Operator, sec(4e5))})
	check()
}

// An update during the back-off begins the streak anew, makes the sync due at once, and removes
// the old due time.
func TestUpdateDuringBackoff(t *testing.T) {
	l := start(t)
	l.fail(t0, "no")
	l.fail(sec(30), "no")
	s := l.do(updated(sec(40), "b"))
	if s.Phase() != relaysync.PhaseDue || s.Timer.Due != sec(40) || s.Relay.SyncError != "no" || s.Relay.Synced {
		t.Fatalf("%v at %v, error %q", s.Phase(), s.Timer.Due, s.Relay.SyncError)
	}
	gen := s.Timer.Generation
	s = l.do(updated(sec(41), "c"))
	if s.Timer.Due != sec(40) || s.Timer.Generation != gen+1 {
		t.Errorf("another update moved the relay back in the queue: %v", s.Timer.Due)
	}
	if s = l.fail(sec(41), "no"); s.Timer.Due != sec(71) || s.History.Streak != 1 {
		t.Errorf("due at %v after failure %d", s.Timer.Due.Sub(t0), s.History.Streak)
	}
}

// A change during a sync waits for its end, and is sent then, as a PATCH.
func TestUpdateDuringSync(t *testing.T) {
	for name, o := range map[string]statemachine.Outcome{"success": statemachine.Done, "failure": statemachine.Failed,
		"nothing sent": statemachine.Deferred} {
		l := start(t, claimed(t0), updated(sec(1), "b"))
		l.refused(statemachine.ErrHeld, claimed(sec(2)))
		s := l.do(finished(sec(3), 1, o, "no"))
		if s.Phase() != relaysync.PhaseDue || s.Timer.Due != sec(1) || s.Relay.Synced {
			t.Errorf("%s: %v at %v", name, s.Phase(), s.Timer.Due)
		}
		wantError, streak := "", int32(0)
		if o == statemachine.Failed {
			wantError, streak = "no", 1
		}
		if s.Relay.SyncError != wantError || s.History.Streak != streak || s.History.Completed != (o == statemachine.Done) {
			t.Errorf("%s: error %q, %+v", name, s.Relay.SyncError, s.History)
		}
		l.do(claimed(sec(3)))
		a, err := policy.Attempt(l.s)
		if err != nil || (len(a.Requests) == 1) != (o == statemachine.Done) {
			t.Errorf("%s: %d requests follow, %v", name, len(a.Requests), err)
		}
		if s = l.do(finished(sec(4), 2, statemachine.Done, "")); !s.Relay.Synced || s.Phase() != relaysync.PhaseClean {
			t.Errorf("%s: the second sync leaves %v", name, s.Phase())
		}
	}
}

// A change of another writer, who counts the revision and knows no timers.
func TestRevisionOfAnotherWriter(t *testing.T) {
	l := start(t, claimed(t0))
	l.s.Relay.Revision++
	l.s.Relay.Version++
	c, err := policy.Apply(l.s, finished(sec(1), 1, statemachine.Done, ""))
	if s := c.New; err != nil || s.Relay.Synced || s.Phase() != relaysync.PhaseDue || s.Timer.Due != sec(1) || !s.History.Completed {
		t.Errorf("%v at %v, synced %v, %v", s.Phase(), s.Timer.Due, s.Relay.Synced, err)
	}
}

// A failure leaves the relay unsynced, whatever another writer says meanwhile.
func TestFailureUnsyncs(t *testing.T) {
	l := start(t, claimed(t0))
	l.s.Relay.Synced = true
	if s := l.do(finished(sec(1), 1, statemachine.Failed, "no")); s.Relay.Synced || s.Phase() != relaysync.PhaseWaiting {
		t.Errorf("%v, synced %v", s.Phase(), s.Relay.Synced)
	}
}

// Who changes a relay makes it unsynced, whatever it was, and keeps the error.
func TestEveryChangeUnsyncs(t *testing.T) {
	l := start(t)
	l.succeed(t0)
	l.nothing(created(sec(1)))
	for i, ev := range []relaysync.Event{updated(sec(10), "a"), relaysync.Activated{By: by(relaysync.Host, sec(20))},
		relaysync.Deactivated{By: by(relaysync.Host, sec(30))}, relaysync.Deactivated{By: by(relaysync.Host, sec(40))}} {
		s := l.do(ev)
		if s.Relay.Synced || s.Relay.Revision != int64(i)+2 {
			t.Errorf("%T: synced %v, revision %d", ev, s.Relay.Synced, s.Relay.Revision)
		}
		l.refused(statemachine.ErrIllegal, created(sec(1))) // it has the same documents, and was changed since
		l.succeed(sec(float64(i)*10 + 11))
	}
	// With its revision, the same change again is the same change.
	u := updated(sec(60), "z")
	u.Revision = 6
	l.do(u)
	l.nothing(u)
	u.Subdomain = "two"
	l.refused(statemachine.ErrConflict, u)
	l.nothing(relaysync.Deactivated{By: by(relaysync.Host, sec(60)), Revision: 6})
	l.refused(statemachine.ErrConflict, relaysync.Activated{By: by(relaysync.Host, sec(60)), Revision: 8})
}

// Rows that another writer left without a timer.
func TestReconcile(t *testing.T) {
	reconciled := relaysync.Reconciled{By: by(relaysync.Reactor, sec(1000))}
	untimed := func(synced bool, text string, failures int) *log {
		l := start(t)
		l.succeed(t0)
		l.s.Relay.Synced, l.s.Relay.SyncError = synced, text
		for i := range failures {
			l.all = append(l.all, relaysync.Activity{Sequence: 100 + int64(i), ResourceType: relaysync.ResourceRelay, ResourceID: "relay_1",
				Type: relaysync.FailRelaySync, CreatedAt: sec(990)})
		}
		l.s.History = relaysync.HistoryOf(l.all)
		return l
	}
	for _, tt := range []struct {
		name     string
		synced   bool
		text     string
		failures int
		phase    relaysync.Phase
		due      float64
	}{
		{"unsynced, blank", false, "", 0, relaysync.PhaseDue, 1000},
		{"unsynced, white space of every kind", false, " \t\r\n\v\u00a0\u2003", 0, relaysync.PhaseDue, 1000},
		{"unsynced, blank, though it failed", false, "", 3, relaysync.PhaseDue, 1000},
		{"an error without a failure", false, "no", 0, relaysync.PhaseWaiting, 1030},
		{"one failure", false, "no", 1, relaysync.PhaseWaiting, 1020},
		{"synced with an error", true, "no", 2, relaysync.PhaseWaiting, 1050},
		{"six failures", false, "no", 6, relaysync.PhaseWaiting, 1890},
		{"seven failures", false, "no", 7, relaysync.PhaseExhausted, 0},
	} {
		l := untimed(tt.synced, tt.text, tt.failures)
		s := l.do(reconciled)
		if s.Phase() != tt.phase || tt.due > 0 && s.Timer.Due != sec(tt.due) {
			t.Errorf("%s: %v, due %v", tt.name, s.Phase(), s.Timer.Due.Sub(t0))
		}
		l.nothing(reconciled)
	}
	l := untimed(true, " \t", 0)
	l.nothing(reconciled)
}

// Reconciled never postpones a timer and never changes a generation. It only brings back a time
// that a clock which has gone back left too far away.
func TestReconcileWithATimer(t *testing.T) {
	l := start(t)
	s := l.fail(t0, "no")
	for _, at := range []float64{-1e6, 0, 29, 30, 1e6} {
		if due := s.Timer.Due.Sub(sec(at)); due <= 15*time.Minute {
			l.nothing(relaysync.Reconciled{By: by(relaysync.Reactor, sec(at))})
			continue
		}
		c, err := policy.Apply(s, relaysync.Reconciled{By: by(relaysync.Reactor, sec(at))})
		if err != nil || c.New.Timer.Due != sec(at).Add(15*time.Minute) || c.New.Timer.Generation != s.Timer.Generation ||
			c.New.Phase() != relaysync.PhaseWaiting {
			t.Errorf("at %v: due %v, %v", at, c.New.Timer.Due, err)
		}
	}
	for _, d := range []time.Duration{0, time.Microsecond} { // the boundary of 15 minutes
		c, err := policy.Apply(s, relaysync.Reconciled{By: by(relaysync.Reactor, s.Timer.Due.Add(-15*time.Minute-d))})
		if err != nil || c.Empty() != (d == 0) {
			t.Errorf("%v more than 15 min away: %v, %v", d, c.Empty(), err)
		}
	}
	s = l.do(claimed(sec(30)))
	l.nothing(relaysync.Reconciled{By: by(relaysync.Reactor, sec(30))})
	c, err := policy.Apply(s, relaysync.Reconciled{By: by(relaysync.Reactor, sec(29))})
	if err != nil || c.New.Timer.Lease.Until != sec(29+30) || c.New.Phase() != relaysync.PhaseSyncing {
		t.Errorf("a lease that ends too far away: %v, %v", c.New.Timer.Lease.Until, err)
	}
}

func TestActivitiesNeverGoBack(t *testing.T) {
	l := start(t)
	l.fail(sec(100), "no")
	s := l.do(updated(sec(50), "b")) // the clock went back
	if l.last.Activities[0].CreatedAt != sec(100) || s.History.Streak != 0 {
		t.Errorf("the update is at %v, streak %d", l.last.Activities[0].CreatedAt, s.History.Streak)
	}
	if s = l.fail(sec(51), "no"); s.Timer.Due != sec(81) || s.History.Streak != 1 {
		t.Errorf("due %v, streak %d", s.Timer.Due, s.History.Streak)
	}
}

package relaysync_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

func TestLeaseBoundaries(t *testing.T) {
	l := start(t, claimed(t0))
	l.nothing(relaysync.Claimed{By: by(relaysync.Reactor, sec(1)), Fence: 1})
	l.refused(statemachine.ErrFenced, relaysync.Claimed{By: by(relaysync.Reactor, sec(1)), Fence: 3})
	other := claimed(sec(30).Add(-time.Microsecond))
	other.Actor = "reactor-2"
	l.refused(statemachine.ErrHeld, other)
	other.At = sec(30)
	s := l.do(other)
	if s.Timer.Lease.Fence != 2 || s.Timer.Lapses != 1 || s.History.Streak != 0 || l.last.Activities != nil {
		t.Errorf("a takeover: %+v, %+v", s.Timer, s.History)
	}
	l.refused(statemachine.ErrFenced, finished(sec(31), 2, statemachine.Done, "")) // of reactor-1, though the lease is reactor-2's
	l.refused(statemachine.ErrFenced, finished(sec(31), 3, statemachine.Done, ""))
	l.refused(statemachine.ErrFenced, finished(sec(31), 0, statemachine.Done, ""))
}

// A lease that ends later than any lease given now could is from a clock that has gone back, and
// counts as ended.
func TestLeaseOfAClockThatWentBack(t *testing.T) {
	l := start(t, claimed(t0))
	l.refused(statemachine.ErrHeld, claimed(t0))
	if s := l.do(claimed(sec(-0.000001))); s.Timer.Lease.Fence != 2 || s.Timer.UnansweredAt != sec(30-0.000001) { // it may be sending
		t.Errorf("%+v", s.Timer)
	}
}

// A result that comes after the lease ended, before anybody took it over, is still the result of
// the latest request, and counts.
func TestResultAfterTheLease(t *testing.T) {
	l := start(t, claimed(t0))
	if s := l.do(finished(sec(100), 1, statemachine.Done, "")); !s.Relay.Synced {
		t.Errorf("%v", s.Phase())
	}
	l.nothing(finished(sec(101), 1, statemachine.Done, ""))
	l.nothing(finished(sec(101), 1, statemachine.Failed, "no"))
}

// A holder with an old fence writes no result, but what it sent is sent over.
func TestLateHolder(t *testing.T) {
	second := func(at time.Time) relaysync.Claimed {
		c := claimed(at)
		c.Actor = "reactor-2"
		return c
	}
	end := func(at time.Time, o statemachine.Outcome) relaysync.Finished {
		f := finished(at, 2, o, "no")
		f.Actor = "reactor-2"
		return f
	}
	for _, o := range []statemachine.Outcome{statemachine.Done, statemachine.Failed, statemachine.Unknown} {
		for name, events := range map[string][]relaysync.Event{
			"while another syncs":   {second(sec(30))},
			"after a success":       {second(sec(30)), end(sec(31), statemachine.Done)},
			"after a failure":       {second(sec(30)), end(sec(31), statemachine.Failed)},
			"after a clean success": {second(sec(60)), end(sec(61), statemachine.Done)},
		} {
			l := start(t, claimed(t0))
			before := l.do(events...).History
			s := l.do(finished(sec(62), 1, o, "late"))
			if s.Relay.Synced || s.History != before || s.Relay.SyncError == "late" || s.Timer.Due.IsZero() ||
				s.Timer.Due.After(sec(62)) && o != statemachine.Done {
				t.Errorf("%v %s: %v, due %v, %+v", o, name, s.Phase(), s.Timer.Due.Sub(t0), s.History)
			}
			if unanswered := s.Timer.UnansweredAt == sec(62); unanswered != (o == statemachine.Unknown) {
				t.Errorf("%v %s: unanswered at %v", o, name, s.Timer.UnansweredAt)
			}
			l.nothing(finished(sec(62), 1, o, "late"))
		}
	}
	l := start(t, claimed(t0), second(sec(30)), end(sec(31), statemachine.Failed))
	l.nothing(finished(sec(62), 1, statemachine.Deferred, "")) // it sent nothing

	// While another syncs: its success is not the last word.
	l = start(t, claimed(t0), second(sec(60)), finished(sec(61), 1, statemachine.Done, ""))
	s := l.do(end(sec(62), statemachine.Done))
	if s.Relay.Synced || s.Phase() != relaysync.PhaseDue || !s.History.Completed {
		t.Errorf("%v", s.Phase())
	}
	if s = l.succeed(sec(63)); !s.Relay.Synced {
		t.Errorf("%v", s.Phase())
	}
	// An exhausted relay too: it is not as anybody left it.
	l = start(t, claimed(t0), second(sec(30)), end(sec(31), statemachine.Failed))
	for l.s.Phase() != relaysync.PhaseExhausted {
		l.fail(l.s.Timer.Due, "no")
	}
	if s = l.do(finished(sec(1e6), 1, statemachine.Unknown, "")); s.Phase() != relaysync.PhaseDue || s.History.Streak != 7 {
		t.Errorf("%v, %+v", s.Phase(), s.History)
	}
}

// A success that was sent within 30 s of a request without an answer is followed by one more
// sync, 30 s later.
func TestUnansweredRequest(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   float64 // when the update, and with it the sync, comes
		more bool
	}{{"at once", 5, true}, {"just before 30 s", 34.999999, true}, {"after 30 s", 35, false}} {
		l := start(t, claimed(t0), finished(sec(5), 1, statemachine.Unknown, "time-out"), updated(sec(tt.at), "b"))
		s := l.succeed(sec(tt.at))
		if s.Relay.SyncError != "" || !s.History.Completed || s.Relay.Synced == tt.more {
			t.Fatalf("%s: %+v", tt.name, s.Relay)
		}
		if !tt.more {
			continue
		}
		if s.Phase() != relaysync.PhaseDue || s.Timer.Due != sec(tt.at+30) {
			t.Errorf("%s: %v at %v", tt.name, s.Phase(), s.Timer.Due.Sub(t0))
		}
		l.nothing(relaysync.Retried{By: by(relaysync.Operator, sec(tt.at+1))})
		if s = l.succeed(sec(tt.at + 30)); !s.Relay.Synced || !s.Timer.UnansweredAt.IsZero() {
			t.Errorf("%s: the sync that follows leaves %v", tt.name, s.Phase())
		}
	}
	// An update between does not make it forget.
	l := start(t, claimed(t0), finished(sec(5), 1, statemachine.Unknown, "time-out"), updated(sec(6), "b"))
	l.succeed(sec(6))
	l.do(updated(sec(7), "c"))
	if s := l.succeed(sec(7)); s.Relay.Synced || s.Timer.Due != sec(37) {
		t.Errorf("%v at %v", s.Phase(), s.Timer.Due.Sub(t0))
	}
	// A crash: the holder may have sent until its lease ended.
	l = start(t, claimed(t0))
	if s := l.succeed(sec(59.999999)); s.Relay.Synced {
		t.Error("30 s after the end of the lease are not over")
	}
	l = start(t, claimed(t0))
	if s := l.succeed(sec(60)); !s.Relay.Synced {
		t.Error("30 s after the end of the lease are over")
	}
	// An answered failure is no such request.
	l = start(t, claimed(t0), finished(sec(5), 1, statemachine.Failed, "no"), updated(sec(6), "b"))
	if s := l.succeed(sec(6)); !s.Relay.Synced {
		t.Error("an answered request lingers")
	}
	// A clock that went back by an hour does not make an hour of syncs.
	l = start(t, claimed(sec(3600)), finished(sec(3605), 1, statemachine.Unknown, ""), updated(t0, "b"))
	l.succeed(t0)
	l.succeed(sec(30))
	if s := l.succeed(sec(60)); !s.Relay.Synced {
		t.Error("the unanswered request is still in the future")
	}
}

func TestOperator(t *testing.T) {
	retried := func(at float64) relaysync.Retried { return relaysync.Retried{By: by(relaysync.Operator, sec(at))} }
	recreated := func(at float64) relaysync.Recreated { return relaysync.Recreated{By: by(relaysync.Operator, sec(at))} }
	l := start(t)
	l.nothing(retried(0)) // due
	l.do(claimed(t0))
	l.nothing(retried(1)) // syncing
	l.do(finished(sec(1), 1, statemachine.Done, ""))
	s := l.do(retried(2)) // a resync, as a PATCH
	if s.Relay.Synced || s.Timer.Due != sec(2) || l.last.Activities[0].Type != relaysync.RetryRelaySync {
		t.Errorf("%+v", s)
	}
	l.do(claimed(sec(2)))
	if a, err := policy.Attempt(l.s); err != nil || len(a.Requests) != 1 || a.Requests[0].Method != "PATCH" {
		t.Errorf("%+v, %v", a, err)
	}
	// Recreate during that sync: its success is not the one that was asked for.
	l.do(recreated(3))
	l.nothing(recreated(3))
	if s = l.do(finished(sec(4), 2, statemachine.Done, "")); s.Relay.Synced || !s.Relay.Recreate {
		t.Errorf("%+v", s)
	}
	for i, o := range []statemachine.Outcome{statemachine.Failed, statemachine.Done} {
		at := 5 + 30*float64(i)
		l.do(claimed(sec(at)))
		a, err := policy.Attempt(l.s)
		if err != nil || len(a.Requests) != 2 || a.Requests[0].Method != "POST" {
			t.Errorf("%v: %+v", err, a)
		}
		l.do(finished(sec(at), l.s.Timer.Lease.Fence, o, "no"))
	}
	if !l.s.Relay.Synced || l.s.Relay.Recreate {
		t.Errorf("after the success: %+v", l.s.Relay)
	}
	// One that waits, or was given up meanwhile, is due again.
	l.do(recreated(100))
	l.fail(sec(100), "no")
	if s = l.do(recreated(101)); s.Phase() != relaysync.PhaseDue || s.Timer.Due != sec(101) {
		t.Errorf("%v, due %v", s.Phase(), s.Timer.Due)
	}
	for at := sec(101); l.s.Phase() != relaysync.PhaseExhausted; at = l.s.Timer.Due {
		l.fail(at, "no")
	}
	if s = l.do(recreated(1e6)); s.Phase() != relaysync.PhaseDue || s.History.Streak != 0 {
		t.Errorf("%v", s.Phase())
	}
	l.nothing(recreated(1e6))
}

func TestDelete(t *testing.T) {
	deleted := relaysync.Deleted{By: by(relaysync.Host, sec(10))}
	l := start(t, claimed(t0), deleted)
	s := l.s
	if s.Phase() != relaysync.PhaseDeleted || s.Relay.Pending() || !s.Timer.Due.IsZero() || s.Timer.Lease.Holder != "" {
		t.Errorf("%+v", s)
	}
	l.nothing(deleted)
	l.nothing(finished(sec(11), 1, statemachine.Done, "")) // gone: silently
	l.nothing(relaysync.Reconciled{By: by(relaysync.Reactor, sec(11))})
	l.refused(statemachine.ErrIllegal, created(sec(12)))
	l.refused(statemachine.ErrIllegal, updated(sec(12), "b"))
	l.refused(statemachine.ErrIllegal, claimed(sec(12)))
	l.refused(statemachine.ErrIllegal, relaysync.Retried{By: by(relaysync.Operator, sec(12))})
	l.refused(statemachine.ErrIllegal,
		relaysync.Recreated{By: by(relaysync.Operator, sec(12)), Reason: string(make([]byte, 1001))}) // the state before the input
	if step := policy.Next(s, sec(1e6)); len(step.Actions) > 0 || !step.Due.IsZero() {
		t.Errorf("a deleted relay owes %+v", step)
	}
}

func TestSpeakersAndBounds(t *testing.T) {
	l := start(t)
	for _, ev := range []relaysync.Event{
		relaysync.Claimed{By: by(relaysync.Host, t0)}, relaysync.Retried{By: by(relaysync.Reactor, t0)},
		relaysync.Deleted{By: by(relaysync.Biller, t0)},
		relaysync.Activated{By: by(relaysync.Biller, t0)}, relaysync.Updated{By: by(0, t0)}, relaysync.Finished{By: by(relaysync.Operator, t0)},
	} {
		l.refused(statemachine.ErrForbidden, ev)
	}
	for _, b := range []relaysync.By{{Role: relaysync.Host, At: t0}, {Actor: "a\x00", Role: relaysync.Host, At: t0},
		{Actor: "a", Role: relaysync.Host},
		{Actor: "a", Role: relaysync.Host, At: t0.AddDate(8000, 0, 0)}, {Actor: string(make([]byte, 201)), Role: relaysync.Host, At: t0}} {
		l.refused(statemachine.ErrInvalid, relaysync.Deleted{By: b})
	}
	stale := by(relaysync.Host, t0)
	stale.Version = 9
	l.refused(statemachine.ErrConflict, relaysync.Deleted{By: stale})
	l.refused(statemachine.ErrInvalid, relaysync.Recreated{By: by(relaysync.Operator, t0), Reason: string(make([]byte, 1001))})
	if _, err := policy.Apply(relaysync.Sync{}, claimed(t0)); err == nil {
		t.Error("a relay that does not exist was claimed")
	}
	if _, err := policy.Apply(l.s, nil); err == nil {
		t.Error("no event was taken")
	}
}

// A sync whose lease was revoked is due. When its holder sends something afterwards, the relay is
// sent once more.
func TestRevokedReactor(t *testing.T) {
	of := statemachine.Revocation{Holder: "reactor-1", Reason: "its machine burnt"}
	l := start(t, claimed(t0))
	other := by(relaysync.Reactor, sec(1))
	other.Actor = "reactor-2"
	l.refused(statemachine.ErrForbidden, relaysync.Revoked{By: other, Revocation: of})
	l.refused(statemachine.ErrForbidden, relaysync.Revoked{By: by(relaysync.Host, sec(1)), Revocation: of})
	l.refused(statemachine.ErrInvalid,
		relaysync.Revoked{By: by(relaysync.Operator, sec(1)), Revocation: statemachine.Revocation{Holder: "reactor-1"}})
	l.nothing(relaysync.Revoked{By: by(relaysync.Operator, sec(1)), Revocation: statemachine.Revocation{Holder: "reactor-2", Reason: "x"}})
	s := l.do(relaysync.Revoked{By: by(relaysync.Operator, sec(1)), Revocation: of})
	if s.Phase() != relaysync.PhaseDue || !s.Timer.Due.Equal(sec(1)) || s.Timer.Lease != (statemachine.Lease{Fence: 1}) || s.Relay.Synced ||
		s.History.Streak != 0 ||
		!s.Timer.UnansweredAt.Equal(sec(30)) || s.Timer.LapsedFence != 1 {
		t.Errorf("%+v", s.Timer)
	}
	l.nothing(relaysync.Revoked{By: by(relaysync.Reactor, sec(1)), Revocation: of})

	second := claimed(sec(100))
	second.Actor = "reactor-2"
	end := finished(sec(101), 2, statemachine.Done, "")
	end.Actor = "reactor-2"
	if s := l.do(second, end); s.Phase() != relaysync.PhaseClean {
		t.Fatalf("%v: %+v", s.Phase(), s.Timer)
	}
	if s := l.do(finished(sec(102), 1, statemachine.Done, "")); s.Phase() != relaysync.PhaseDue {
		t.Errorf("what the old holder sent after the new one is not sent over: %v", s.Phase())
	}

	l = start(t, claimed(t0), relaysync.Revoked{By: by(relaysync.Reactor, sec(1)), Revocation: of})
	if s := l.do(finished(sec(2), 1, statemachine.Unknown, "")); !s.Timer.UnansweredAt.Equal(sec(2)) || s.History.Streak != 0 {
		t.Errorf("a request of the old holder without an answer: %+v", s.Timer)
	}
	l.nothing(finished(sec(3), 1, statemachine.Done, ""))
}

// Another writer has left an error on a relay that is synced. A success clears it as any other;
// where one more sync is to follow, the relay is not synced before that sync.
func TestASuccessOfARelayWithAnErrorLeft(t *testing.T) {
	for name, then := range map[string]func(x *log){
		"after a lease that ended": func(x *log) {
			x.do(claimed(sec(1130)), relaysync.Claimed{By: relaysync.By{Actor: "reactor-2", Role: relaysync.Reactor, At: sec(1160)}})
			f := finished(sec(1161), x.s.Timer.Lease.Fence, statemachine.Done, "")
			f.Actor = "reactor-2"
			x.do(f)
		},
		"of what another writer has changed": func(x *log) {
			x.do(claimed(sec(1130)))
			x.s.Relay.Revision++
			x.do(finished(sec(1131), x.s.Timer.Lease.Fence, statemachine.Done, ""))
		},
	} {
		x := start(t)
		x.succeed(t0)
		x.s.Relay.SyncError = "left"
		x.do(relaysync.Reconciled{By: by(relaysync.Reactor, sec(1000))})
		then(x)
		if x.s.Relay.Synced || x.s.Relay.SyncError != "" || x.s.Phase() != relaysync.PhaseDue {
			t.Errorf("%s: %v, synced %v", name, x.s.Phase(), x.s.Relay.Synced)
		}
	}
}

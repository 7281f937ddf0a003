package relaysync_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// A relay that failed is claimed at its due time, and not a microsecond before.
func TestARelayIsClaimedAtItsDueTime(t *testing.T) {
	l := start(t)
	l.fail(t0, "no answer")
	due, _ := l.s.DueAt()
	l.refused(statemachine.ErrIllegal, claimed(due.Add(-time.Microsecond)))
	if s := l.do(claimed(due)); s.Phase() != relaysync.PhaseSyncing {
		t.Errorf("at its due time the relay is %v", s.Phase())
	}
}

// A switch that stops relays refuses each claim, that of a lease which has ended too, and takes nothing of what has
// begun.
func TestAStopOfRelaysRefusesClaims(t *testing.T) {
	for level, stops := range map[switches.Level]bool{0: false, switches.On: false, switches.Begin: true, switches.Send: true} {
		for _, l := range []*log{start(t), start(t, claimed(t0))} {
			at, fence := sec(3600), l.s.Timer.Lease.Fence
			l.s.Level = level
			if stops {
				l.refused(switches.ErrOnHold, claimed(at))
			} else if s := l.do(claimed(at)); s.Timer.Lease.Fence != fence+1 || s.Level != 0 {
				t.Errorf("at %v: %+v", level, s)
			}
		}
		l := start(t, claimed(t0))
		l.s.Level = level
		if s := l.do(finished(sec(1), 1, statemachine.Done, "")); s.Phase() != relaysync.PhaseClean {
			t.Errorf("at %v a sync ends as %v", level, s.Phase())
		}
	}
}

// After a restore relays are started once none is clean: those that wait for a person, and those
// that are deleted, keep nobody back.
func TestRelaysAreStartedOnceNoneIsClean(t *testing.T) {
	for _, phase := range relaysync.Phase(0).Values() {
		err := relaysync.Unsettled(relaysync.Stats{Phases: map[relaysync.Phase]int64{phase: 1}})
		if got, want := errors.Is(err, switches.ErrUnsettled), phase == relaysync.PhaseClean; got != want || err != nil && !got {
			t.Errorf("%v: %v", phase, err)
		}
	}
}

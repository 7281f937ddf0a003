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

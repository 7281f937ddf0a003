package relaysync_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
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

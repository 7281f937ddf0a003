package relaysync

import (
	"cmp"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine/switches"
)

// DueAt is when a sync can be claimed: at the due time, or, while it is under a lease, at the
// lease's end. ok is false where there is nothing to claim.
func (s *Sync) DueAt() (at time.Time, ok bool) {
	switch s.Phase() {
	case PhaseDue, PhaseWaiting:
		return s.Timer.Due, true
	case PhaseSyncing:
		return s.Timer.Lease.Until, true
	}
	return time.Time{}, false
}

// DueIn reports whether relays are offered to reactors in a state of the switch: none while nothing may
// begin.
func DueIn(s switches.State) bool { return s.Begins() }

// Unsettled returns why relays may not be started after a restore; nil if they may. Nobody knows what
// the server got since the copy was made, so each relay must be sent again, and none may be clean.
func Unsettled(s Stats) error {
	if n := s.Phases[PhaseClean]; n > 0 {
		return fmt.Errorf("%w: Retried of each relay is needed, and %d are not due", switches.ErrUnsettled, n)
	}
	return nil
}

// Resyncs reports whether a relay is sent again after a restore.
func (s *Sync) Resyncs() bool { return s.Relay.Version != 0 && s.Relay.DeletedAt.IsZero() }

// NeedsOperator reports whether only a person moves the relay on.
func (s *Sync) NeedsOperator() bool { return s.Phase() == PhaseExhausted }

// CompareDue is the order of claims: by due time, then by id in byte order.
func CompareDue(a, b *Sync) int {
	x, _ := a.DueAt()
	y, _ := b.DueAt()
	return cmp.Or(x.Compare(y), cmp.Compare(a.Relay.ID, b.Relay.ID))
}

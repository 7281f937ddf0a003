package relaysync

import (
	"cmp"
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

// DueIn reports whether syncs are offered where the switch says s of relays: none while
// nothing begins.
func DueIn(s switches.State) bool { return s.Begins() }

// NeedsOperator reports whether only a person moves the relay on.
func (s *Sync) NeedsOperator() bool { return s.Phase() == PhaseExhausted }

// CompareDue is the order of claims: by due time, then by id in byte order.
func CompareDue(a, b *Sync) int {
	x, _ := a.DueAt()
	y, _ := b.DueAt()
	return cmp.Or(x.Compare(y), cmp.Compare(a.Relay.ID, b.Relay.ID))
}

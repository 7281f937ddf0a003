package swap

import (
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// DueAt is when an item is due for a worker: at CheckAt, and not before the
// lease has ended; zero: never by itself. It is due from that moment on.
func (i *Item) DueAt() time.Time {
	switch {
	case i.CheckAt.IsZero():
		return time.Time{}
	case i.Lease.Holder != "" && i.Lease.Until.After(i.CheckAt):
		return i.Lease.Until
	}
	return i.CheckAt
}

// Due reports whether the item is due for a worker at now. It is claimed also where it is due
// later than the rules can say, see [Policy.Longest].
func (i *Item) Due(now time.Time) bool {
	at := i.DueAt()
	return !at.IsZero() && !now.Before(at)
}

// Longest is the longest time for which the rules put an item off. An item whose due time is further ahead of now was
// put off by a clock that was ahead, and is due now, see [statemachine.Due].
// All processes of a store need the same policy.
func (p *Policy) Longest() time.Duration {
	longest := max(p.LookEvery, p.Lease, p.Cooldown, p.DeferFor, MaxDeferral, p.ConfirmTimeout, p.StaleAfter, p.RefundTimeout+p.OverdueAfter)
	return longest + time.Microsecond
}

// due reports whether what is put off until a time is due at now.
func (p *Policy) due(at, now time.Time) bool { return statemachine.Due(now, at, p.Longest()) }

// CompareDue is the order in which due items are claimed, and in which a pass
// goes through them: the oldest first, then by id in byte order.
func CompareDue(a, b *Item) int {
	if c := a.At.Compare(b.At); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

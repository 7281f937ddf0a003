package dunning

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Policy is what a host may choose. Start from [DefaultPolicy] and check with
// [Policy.Validate].
type Policy struct {
	Grace       time.Duration // age of the oldest open invoice at which the tenant is churned
	FreshGrace  time.Duration // age of an invoice before which no message is sent, since the tenant sees it in the app first
	NoticeEvery time.Duration // least time between two messages about one invoice
	ChargeAgain time.Duration // pause from the intent of a charge that failed, or that a second look-up did not find, to the next charge
	// Tick is the longest time between two steps while something is open. While steps come more than
	// one Tick after they were due, no age grows. Tick is also the pause after Deferred, and the first
	// pause after Unknown, which grows to ChargeAgain.
	Tick        time.Duration
	Hold        time.Duration // how long a step may take before another process takes it for crashed
	Linger      time.Duration // how long what a step has sent may still arrive at the provider, the time-out of the call included
	UnknownFor  time.Duration // age of an unknown charge at which it is an alert
	RecoveredAt time.Time     // counts instead of [Account].RecoveredAt where it is later, for a store without a switch; mostly zero
	// ChurnNeedsNotice: the tenant is not churned before a message that named the oldest open invoice
	// was answered, or Hold has passed since its intent.
	ChurnNeedsNotice bool
}

// DefaultPolicy is the source's: 7 days, 24 hours, 12 days, an hourly tick.
func DefaultPolicy() Policy {
	const day = 24 * time.Hour
	return Policy{Grace: 7 * day, FreshGrace: day, NoticeEvery: 12 * day, ChargeAgain: day, Tick: time.Hour,
		Hold: 5 * time.Minute, Linger: 2 * time.Minute, UnknownFor: day}
}

// Validate returns [statemachine.ErrInvalid] with the first limit that is out of bounds.
func (p Policy) Validate() error {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"Grace", p.Grace}, {"FreshGrace", p.FreshGrace}, {"NoticeEvery", p.NoticeEvery}, {"ChargeAgain", p.ChargeAgain},
		{"Tick", p.Tick}, {"Hold", p.Hold}, {"Linger", p.Linger}, {"UnknownFor", p.UnknownFor},
	} {
		if d.d < time.Second || d.d > 3660*24*time.Hour || d.d%time.Second != 0 {
			return fmt.Errorf("%w: dunning policy: %s is %v, whole seconds from 1 s to ten years are possible", statemachine.ErrInvalid, d.name, d.d)
		}
	}
	return nil
}

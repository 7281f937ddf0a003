package withdrawal

import (
	"time"

	"github.com/settlehq/settle/statemachine"
)

// LookedUp returns what a look-up that was given out at a time has found: a [Missing]
// without a time of its own is of that time, since the node may have been asked then.
func LookedUp(ev Event, given time.Time) Event {
	if e, ok := ev.(Missing); ok && e.At.IsZero() {
		e.At = given
		return e
	}
	return ev
}

// looking puts the next look-up off while one is under way. It proves nothing
// and moves nothing.
func (p *Policy) looking(c *step, e *Looking) error {
	if err := c.jobVersion(); err != nil {
		return err
	}
	j := &c.New.Job
	if j.Status != JobConfirming {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	j.NextCheckAt = c.by.At.Add(p.CheckEvery)
	return nil
}

package withdrawal

import "github.com/settlehq/settle/statemachine"

// LookedUp returns what a look-up of w, as it was given out, has found: a [Missing]
// without a time of its own is of the time at which the look-up was given out, since the node may have been
// asked then. A lease beside it is of a sender, and was perhaps given by a clock that was ahead.
func (p *Policy) LookedUp(ev Event, w *Withdrawal) Event {
	if e, ok := ev.(Missing); ok && e.At.IsZero() && w.Job.Status == JobConfirming {
		e.At = w.Job.NextCheckAt.Add(-p.CheckEvery)
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

package withdrawal

import "github.com/settlehq/settle/statemachine"

// looking puts the next look-up off while one is under way. It proves nothing
// and moves nothing.
func (p *Policy) looking(c *Change, e *Looking) error {
	if err := c.admit(&e.By, byChecker, "Looking"); err != nil {
		return err
	}
	if err := c.jobVersion(&e.By, "Looking"); err != nil {
		return err
	}
	j := &c.New.Job
	if j.Status != JobConfirming {
		return c.refuse("Looking", statemachine.ErrIllegal, "")
	}
	j.NextCheckAt = e.At.Add(p.CheckEvery)
	return nil
}

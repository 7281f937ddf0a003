package withdrawal

import "github.com/settlehq/settle/statemachine"

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

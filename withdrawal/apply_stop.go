package withdrawal

import (
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Until the first irreversible step an operator can always cancel or hold a request, and a wallet or chain that is
// switched off begins nothing new. Transactions that are out are looked up, sent again and replaced as before.

// off says why no execution may begin or go on to its first irreversible step;
// empty if it may.
func (p *Policy) off(w *Withdrawal) string {
	open, stops := w.outbound()
	switch hot := &w.Wallet; {
	case w.Request.Held:
		return "the request is held"
	case p.chain(w.Request.Chain).Paused:
		return "its chain is paused"
	case w.Level >= switches.Begin:
		return stopped(w.Level)
	case hot.ID != uuid.Nil && hot.ID == w.Job.Wallet && !JobMachine.Terminal(w.Job.Status) && !hot.Pays():
		return "its wallet is " + hot.Role + ", " + hot.Status
	case stops:
		return open.String()
	}
	return ""
}

// stopped says that the switch stops the chain.
func stopped(l switches.Level) string { return "its chain is stopped at " + l.String() }

// Begins reports whether the policy lets payments of a chain begin: it is not paused.
// What is due of a paused chain nobody asks for.
func (p *Policy) Begins(chain uuid.UUID) bool { return !p.chain(chain).Paused }

// begins refuses the steps that lead to a payment: those of a flagged request,
// whatever led there, and of one that is switched off.
func (p *Policy) begins(c *step) error {
	if c.Old.Request.flagged() {
		return c.refuse(statemachine.ErrIllegal, maybePaid)
	}
	if why := p.off(&c.Old); why != "" {
		if c.Old.Recovering && why == stopped(c.Old.Level) {
			return c.refuse(ErrUnsettled, "its chain is recovering")
		}
		if open, stops := c.Old.outbound(); stops {
			return p.unsettled(c, open, nil)
		}
		return c.refuse(ErrOnHold, why)
	}
	return nil
}

// reopens refuses what makes an order to pay while it is not known what was paid before a restore.
func (c *step) reopens() error {
	switch {
	case c.Old.Recovering:
		return c.refuseRequest(ErrUnsettled, "its chain is recovering")
	case c.Old.Unclaimed != "":
		return c.refuseRequest(ErrUnclaimed, c.Old.Unclaimed)
	}
	return nil
}

// cancel ends a request at the latest before anything of it is out; the job of
// a queued one ends in the same commit.
func (p *Policy) cancel(c *step, e *Cancelled) error {
	r, j := &c.New.Request, &c.New.Job
	if r.Status != RequestQueued {
		return c.stop(onCancel, RequestCancelled, e.Reason)
	}
	if err := c.requestVersion(); err != nil {
		return err
	}
	if err := c.allows(jobStop); err != nil {
		return err
	}
	if c.maybeSent() {
		return c.refuse(statemachine.ErrIllegal, "a transaction of this job may be on its way")
	}
	reason := statemachine.Bounded(e.Reason, MaxText)
	c.newPair()
	if j.Status == JobProcessing {
		c.stopExecution("cancelled")
	}
	j.ErrorMessage = "cancelled"
	c.finish()
	if err := c.moveJob(jobStop, reason); err != nil {
		return err
	}
	r.ClosedBy, r.CloseReason = c.by.Actor, reason
	return c.moveRequest(onCancel, reason)
}

// stopExecution closes the open attempt and gives it back.
func (c *step) stopExecution(text string) {
	j := &c.New.Job
	c.closeAttempt(c.by.At, statemachine.Deferred, text, "")
	j.RetryCount--
	j.StoppedFence = c.Old.Job.Lease.Fence
}

func (p *Policy) hold(c *step, e *Held) error {
	r := &c.New.Request
	if err := c.requestVersion(); err != nil && !r.Held {
		return err
	}
	if err := c.allowsRequest(onHold); err != nil || r.Held {
		return err
	}
	return c.stopped(e.Reason)
}

// stopped holds a request that is not held: what is out goes on.
func (c *step) stopped(reason string) error {
	j := &c.New.Job
	reason = statemachine.Bounded(reason, MaxText)
	c.newPair()
	c.New.Request.Held = true
	if err := c.moveRequest(onHold, reason); err != nil {
		return err
	}
	switch {
	case j.Status == JobPending:
		return c.moveJob(jobHold, reason)
	case j.Status == JobProcessing && c.maybeSent():
		return c.moveJob(jobHoldOut, reason)
	case j.Status == JobProcessing:
		c.stopExecution("held")
		at, from := j.ScheduledAt, j.ScheduledFrom // its place in the queue stays
		c.requeueAt(at)
		j.ScheduledFrom = from
		return c.moveJob(jobHold, reason)
	}
	return nil // what is confirming is held if it returns
}

func (p *Policy) release(c *step, e *Released) error {
	r, j := &c.New.Request, &c.New.Job
	if err := c.requestVersion(); err != nil && r.Held {
		return err
	}
	if err := c.allowsRequest(onRelease); err != nil || !r.Held {
		return err
	}
	if c.Old.Unclaimed != "" {
		return c.refuseRequest(ErrUnclaimed, c.Old.Unclaimed)
	}
	reason := statemachine.Bounded(e.Reason, MaxText)
	c.newPair()
	r.Held = false
	if err := c.moveRequest(onRelease, reason); err != nil {
		return err
	}
	switch j.Status {
	case JobPending:
		j.OfferAt = time.Time{}
		return c.moveJob(jobRelease, reason)
	case JobProcessing:
		return c.moveJob(jobRelease, reason)
	}
	return nil
}

// putOff keeps what was refused from being offered again at once.
func (p *Policy) putOff(c *step) error {
	r, j := &c.New.Request, &c.New.Job
	switch {
	case r.Status == RequestApproved:
		if err := c.requestVersion(); err != nil {
			return err
		}
		r.OfferAt = c.by.At.Add(p.EnqueueEvery)
	case j.Status == JobPending:
		if err := c.jobVersion(); err != nil {
			return err
		}
		j.OfferAt = c.by.At.Add(p.CheckEvery)
	case r.awaitsRefund():
		if err := c.requestVersion(); err != nil {
			return err
		}
		r.OfferAt = p.refundAgain(&c.Old, c.by.At)
	default:
		return c.refuse(statemachine.ErrIllegal, "")
	}
	return nil
}

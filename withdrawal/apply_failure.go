package withdrawal

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

func (p *Policy) attemptFailed(c *step, e *AttemptFailed) error {
	text := statemachine.Bounded(e.Error, MaxText)
	outcome := statemachine.Failed
	switch {
	case e.Failure == InsufficientBalance && p.HoldInsufficient:
		outcome = statemachine.Deferred
	case e.Failure == Unclear:
		outcome = statemachine.Unknown
	}
	if c.stoppedUnder(e.Fence) || c.closedWith(e.Fence, outcome, text) || c.closedWith(e.Fence, statemachine.Deferred, text) {
		return nil
	}
	if err := c.fenced(e.Fence); err != nil {
		return err
	}
	if err := c.allows(jobRetry); err != nil {
		return err
	}
	if c.Old.Job.Review {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	if !e.Failure.Valid() {
		return c.refuse(statemachine.ErrInvalid, "unknown failure "+e.Failure.String())
	}
	if c.maybeSent() {
		return c.lookUp(text)
	}
	switch {
	case e.Failure != Permanent && p.off(&c.Old) != "": // no fault of the payment
		return c.giveBack(jobSnooze, c.by.At, text)
	case e.Failure == Permanent, e.Failure == InsufficientBalance && !p.HoldInsufficient:
		return c.fail(jobPermanent, text, text, outcome)
	case outcome == statemachine.Deferred:
		k := c.Old.Job.Deferrals
		err := c.giveBack(jobSnooze, p.holdUntil(k, c.by.At), text)
		c.New.Job.Deferrals = min(k, 1<<30) + 1
		return err
	}
	return c.retry(p, jobRetry, text, outcome)
}

func (p *Policy) snooze(c *step, e *GivenBack) error {
	text := statemachine.Bounded(e.Reason, MaxText)
	if c.stoppedUnder(e.Fence) || c.closedWith(e.Fence, statemachine.Deferred, text) {
		return nil
	}
	if err := c.fenced(e.Fence); err != nil {
		return err
	}
	if err := c.allows(jobSnooze); err != nil {
		return err
	}
	if e.For < 0 || e.For > MaxSnooze {
		return c.refuse(statemachine.ErrInvalid, "a snooze lasts 0 to "+MaxSnooze.String())
	}
	if c.maybeSent() {
		return c.lookUp(text)
	}
	k := c.Old.Job.Deferrals
	err := c.giveBack(jobSnooze, c.by.At.Add(e.For.Truncate(time.Microsecond)), text)
	if e.refused { // what the worker reports of it is no news
		c.New.Job.StoppedFence = e.Fence
		if e.For > 0 {
			c.New.Job.Deferrals = min(k, 1<<30) + 1
		}
	}
	return err
}

// MaxSnooze bounds GivenBack.For.
const MaxSnooze = 30 * 24 * time.Hour

// maybeSent: something was prepared or dispatched, so no failure is a proof.
func (c *step) maybeSent() bool { return c.Old.Job.Live() || !c.Old.Job.DispatchedAt.IsZero() }

// lookUp ends an execution that may have sent: what is on file is looked up
// and sent again; what is not on file only an operator can tell.
func (c *step) lookUp(text string) error {
	j := &c.New.Job
	j.ErrorMessage = text
	c.closeAttempt(c.by.At, statemachine.Unknown, text, j.TxHash)
	if j.Live() {
		c.startConfirming(c.by.At, j.TxHash, c.by.At, true)
		return c.moveJob(jobUnknown, text)
	}
	j.Review = true
	j.letGo()
	return c.moveJob(jobPark, text)
}

// retry ends execution k = retry_count: back to the queue while k < max_retries.
func (c *step) retry(p *Policy, t JobTrigger, text string, outcome statemachine.Outcome) error {
	j := &c.New.Job
	if j.RetryCount >= j.MaxRetries {
		return c.fail(jobMaxRetries, "Max retries exceeded", text, outcome)
	}
	if j.Status == JobProcessing && !c.Old.Job.Review {
		c.closeAttempt(c.by.At, outcome, text, "")
	}
	j.ErrorMessage = text
	c.requeueAt(p.retryAt(j.ID, j.RetryCount, c.by.At))
	return c.moveJob(t, text)
}

// giveBack ends an execution that was not tried.
func (c *step) giveBack(t JobTrigger, at time.Time, text string) error {
	j := &c.New.Job
	c.closeAttempt(c.by.At, statemachine.Deferred, text, "")
	j.RetryCount--
	j.ErrorMessage = text
	c.requeueAt(at)
	return c.moveJob(t, text)
}

// requeueAt sets the columns of a job of which nothing can be mined.
func (c *step) requeueAt(at time.Time) {
	j := &c.New.Job
	j.ScheduledAt, j.ScheduledFrom, j.Deferrals = at, c.by.At, 0
	j.DispatchedAt, j.DispatchRef, j.Review = time.Time{}, "", false
	j.Nonce, j.HasNonce, j.TxHash, j.Batch = 0, false, "", uuid.Nil
	j.BroadcastAt, j.NextCheckAt, j.Rebroadcast = time.Time{}, time.Time{}, false
	j.letGo()
}

// fail ends job and request. The attempt is closed, with what itself saw, where
// one is open; the job's line of the log keeps that too.
func (c *step) fail(t JobTrigger, text, seen string, outcome statemachine.Outcome) error {
	j := &c.New.Job
	c.newPair()
	if j.Status == JobProcessing && !j.Review {
		c.closeAttempt(c.by.At, outcome, seen, "")
	}
	j.ErrorMessage = text
	c.finish()
	why := text
	if seen != "" { // the trigger says the rest
		why = seen
	}
	if err := c.moveJob(t, why); err != nil {
		return err
	}
	return c.moveRequest(onFailed, text)
}

// finish sets the columns of a terminal job and releases its amount.
func (c *step) finish() {
	j := &c.New.Job
	j.ProcessedAt = c.by.At
	j.OfferAt, j.Batch = time.Time{}, uuid.Nil
	j.DispatchedAt, j.DispatchRef, j.Review = time.Time{}, "", false
	j.NextCheckAt, j.Rebroadcast = time.Time{}, false
	j.letGo()
	c.Reservations = append(c.Reservations, Reservation{Wallet: j.Wallet, Job: j.ID, Amount: j.AmountRaw, Release: true})
}

// dispatching is the memory of a step that ends a request's first dispatch.
type dispatching struct {
	log        [1]statemachine.Transition[uuid.UUID]
	dispatches [1]Attempt
}

// closeAttempt closes the execution of the current lease. All that the row
// needs is on the job, so the attempt need not be loaded.
func (c *step) closeAttempt(at time.Time, outcome statemachine.Outcome, text, hash string) {
	old := &c.Old.Job
	c.New.Attempt = Attempt{Job: old.ID, Fence: old.Lease.Fence, Worker: old.Lease.Holder, StartedAt: old.ClaimedAt,
		EndedAt: at, Outcome: outcome, Error: text, Hash: hash, DispatchedAt: old.DispatchedAt, DispatchRef: old.DispatchRef}
	if !old.DispatchedAt.IsZero() { // its signer may answer yet, or again
		if c.ended == nil {
			c.ended = slices.Clip(c.Old.Dispatches)
		}
		if len(c.ended) == 0 && c.Log == nil {
			m := new(dispatching)
			c.Log, c.ended = m.log[:0], m.dispatches[:0]
		}
		c.New.Dispatches = append(c.ended, c.New.Attempt)
		c.New.Job.Dispatches++
	}
}

// stoppedUnder reports whether a hold or a stop ended the execution under
// fence: what its worker reports afterwards is no error.
func (c *step) stoppedUnder(fence int64) bool { return fence != 0 && fence == c.Old.Job.StoppedFence }

// closedWith reports whether the execution under fence was closed by the same report.
func (c *step) closedWith(fence int64, outcome statemachine.Outcome, text string) bool {
	a := &c.Old.Attempt
	if a.Job != c.Old.Job.ID || a.Fence != fence || c.Old.Job.Lease.Fence != fence || a.EndedAt.IsZero() {
		return false
	}
	return a.Error == text && (a.Outcome == outcome || a.Outcome == statemachine.Unknown)
}

const leaseEnded = "Lease expired"

// elapsed rescues an execution whose lease has ended.
func (p *Policy) elapsed(c *step, e *Elapsed) error {
	j := &c.Old.Job
	if c.Old.Request.Status == 0 {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	if j.Status != JobProcessing || j.Review || j.Lease.Taken(c.by.At, p.Lease) {
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	return p.rescue(c, leaseEnded)
}

// rescue ends an execution that nobody works on any more, by what is on file.
func (p *Policy) rescue(c *step, text string) error {
	if c.maybeSent() {
		return c.lookUp(text)
	}
	if p.off(&c.Old) != "" { // no fault of the payment
		return c.giveBack(jobRescue, c.by.At, text)
	}
	return c.retry(p, jobRescue, text, statemachine.Failed)
}

// revoke is elapsed before the lease has ended. Of a lease to send again only the
// lease ends: what is owed stays.
func (p *Policy) revoke(c *step, e *Revoked) error {
	j := &c.Old.Job
	if err := e.Check(c.by.Actor, c.by.Role == WithdrawalWorker); err != nil {
		return c.refuse(err, "")
	}
	switch {
	case c.Old.Request.Status == 0:
		return c.refuse(statemachine.ErrIllegal, "")
	case j.Lease.Holder != e.Holder:
		return nil
	}
	if err := c.jobVersion(); err != nil {
		return err
	}
	if j.Status == JobProcessing {
		return p.rescue(c, statemachine.Bounded(e.Because("Lease revoked"), MaxText))
	}
	c.New.Job.Lease = j.Lease.Release()
	return nil
}

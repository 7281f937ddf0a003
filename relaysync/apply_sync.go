package relaysync

import (
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// giveUp is the source's text for the end of the retries.
const giveUp = "retries exhausted; awaiting manual intervention"

// held reports whether the lease is held. A lease that ends later than any lease given now could
// was given by a clock that has gone back since, and counts as ended.
func (p *Policy) held(t *Timer, now time.Time) bool {
	return t.Lease.Held(now) && !t.Lease.Until.After(now.Add(p.Lease))
}

// claim takes the due time away and gives the lease, before anything is sent. The paths that the
// request may bring to the server are stored with the claim.
func (p *Policy) claim(c *step, e *Claimed) error {
	t := &c.New.Timer
	at := c.Old.Phase()
	held := at == PhaseSyncing && p.held(t, c.by.At)
	if e.Fence != 0 && e.Fence == t.Lease.Fence && held && t.Lease.Holder == c.by.Actor {
		return nil
	}
	if e.Fence != 0 && e.Fence != t.Lease.Fence+1 {
		return c.refuse(statemachine.ErrFenced, fmt.Sprintf("the next fence is %d", t.Lease.Fence+1))
	}
	if err := c.version(); err != nil {
		return err
	}
	on := onClaim
	switch {
	case held:
		return c.refuse(statemachine.ErrHeld, "by "+t.Lease.Holder)
	case c.Old.Level >= switches.Begin:
		return c.refuse(switches.ErrOnHold, "relays, at "+c.Old.Level.String())
	case at == PhaseSyncing: // the holder may have sent until its lease ended
		on = onTakeover
		t.Lapses++
		t.LapsedFence = t.Lease.Fence
		t.UnansweredAt = later(t.UnansweredAt, t.Lease.Until)
	case at != PhaseDue && at != PhaseWaiting:
		return c.refuse(statemachine.ErrIllegal, "")
	case c.by.At.Before(t.Due):
		return c.refuse(statemachine.ErrIllegal, "not due before "+t.Due.Format(time.RFC3339))
	}
	l, err := t.Lease.Release().Claim(c.by.Actor, c.by.At, p.Lease)
	if err != nil {
		return c.refuse(statemachine.ErrInvalid, err.Error())
	}
	t.Lease, t.ClaimedAt, t.Revision = l, c.by.At, c.New.Relay.Revision
	t.Due, t.Backoff = time.Time{}, false
	t.UnansweredAt = until(t.UnansweredAt, c.by.At.Add(p.Lease)) // it is later after a clock that went back
	r := &c.New.Relay
	body, err := p.body(r)
	known, err2 := r.Sent.parse()
	if err == nil && err2 == nil && known.grow(body, r.room()) == nil { // else the attempt says so, as a failure
		r.Sent = known.text()
	}
	return c.move(on, "")
}

func (p *Policy) finish(c *step, e *Finished) error {
	t := &c.New.Timer
	at := c.Old.Phase()
	switch {
	case at == PhaseDeleted:
		return nil
	case e.Fence < 1 || e.Fence > t.Lease.Fence:
		return c.refuse(statemachine.ErrFenced, fmt.Sprintf("the latest fence is %d", t.Lease.Fence))
	case !e.Outcome.Valid():
		return c.refuse(statemachine.ErrInvalid, "a sync ends with an outcome")
	case e.Fence < t.Lease.Fence, at != PhaseSyncing && e.Fence == t.LapsedFence:
		return p.late(c, e)
	case at != PhaseSyncing:
		return nil // the result is here
	case t.Lease.Holder != c.by.Actor:
		return c.refuse(statemachine.ErrFenced, "it is "+t.Lease.Holder+"'s")
	}
	if err := c.version(); err != nil {
		return err
	}
	t.Lease, t.Lapses = t.Lease.Release(), 0
	claimed := t.ClaimedAt
	t.ClaimedAt = time.Time{}
	switch e.Outcome {
	case statemachine.Done:
		return p.succeed(c, claimed)
	case statemachine.Deferred:
		if t.Due.IsZero() {
			t.Due = c.by.At
			t.Generation++
		}
		return c.move(onRelease, statemachine.Bounded(c.New.Relay.Redact(e.Error), MaxError))
	}
	if e.Outcome == statemachine.Unknown {
		t.UnansweredAt = later(t.UnansweredAt, c.by.At)
	}
	return p.fail(c, e.Error)
}

// succeed takes a success. The relay is clean only if it has not changed since it was sent, and if no
// request that was sent earlier can arrive after this one.
func (p *Policy) succeed(c *step, claimed time.Time) error {
	r, t := &c.New.Relay, &c.New.Timer
	stale := t.Revision != r.Revision || !t.Due.IsZero()
	lingers := !t.UnansweredAt.IsZero() && claimed.Before(t.UnansweredAt.Add(p.Linger))
	r.SyncError, r.Synced = "", false // another writer may have left an error on a synced one
	c.append(CompleteRelaySync)
	if !lingers {
		t.UnansweredAt = time.Time{}
	}
	if stale {
		if t.Due.IsZero() { // another writer has counted a revision
			t.Due = c.by.At
			t.Generation++
		}
		return c.move(onStaleSuccess, "")
	}
	recreated := r.Recreate
	r.Recreate = false
	if lingers {
		t.Due = c.by.At.Add(p.Linger)
		t.Generation++
		return c.move(onFollow, "")
	}
	if body, err := p.body(r); recreated && err == nil { // the server has just that
		only := tree{}
		only.add(body)
		r.Sent = only.text()
	}
	r.Synced = true
	return c.move(onSuccess, "")
}

func (p *Policy) fail(c *step, text string) error {
	r, t := &c.New.Relay, &c.New.Timer
	r.Synced = false
	r.SyncError = c.errorText(text)
	failed := c.append(FailRelaySync)
	if !t.Due.IsZero() {
		return c.move(onStaleFailure, r.SyncError)
	}
	due, ok := p.Retry(r.ID, c.New.History.Streak, failed.CreatedAt, c.by.At)
	if !ok {
		t.Exhausted = true
		return c.move(onExhausted, giveUp)
	}
	t.Due, t.Backoff = due, true
	t.Generation++
	return c.move(onFailure, r.SyncError)
}

// revoke takes a lease before its end, without giving it to another holder. A holder whom an
// operator takes for dead may go on sending until the lease would have ended.
func (p *Policy) revoke(c *step, e *Revoked) error {
	t := &c.New.Timer
	if err := e.Check(c.by.Actor, c.by.Role == Reactor); err != nil {
		return c.refuse(err, "")
	}
	if err := c.version(); err != nil {
		return err
	}
	if t.Lease.Holder != e.Holder {
		return nil
	}
	sent := c.by.At
	if c.by.Role == Operator {
		sent = later(sent, t.Lease.Until)
	}
	t.Lapses, t.LapsedFence, t.UnansweredAt = 0, t.Lease.Fence, later(t.UnansweredAt, sent)
	t.Lease, t.ClaimedAt = t.Lease.Release(), time.Time{}
	c.dueNow()
	return c.move(onRelease, statemachine.Bounded(c.New.Relay.Redact(e.Because("revoked")), MaxError))
}

// late handles the Finished of a holder whose lease was taken over or revoked. It stores no
// result, but makes the relay due, since this holder's request may have arrived after the
// requests that were sent since.
func (p *Policy) late(c *step, e *Finished) error {
	t := &c.New.Timer
	if e.Outcome == statemachine.Deferred || e.Fence > t.LapsedFence {
		return nil
	}
	dueAlready := !c.Old.Relay.Synced && !t.Due.IsZero() && !t.Due.After(c.by.At) && !t.Backoff
	unanswered := e.Outcome == statemachine.Unknown && c.by.At.After(t.UnansweredAt)
	if dueAlready && !unanswered {
		return nil
	}
	if unanswered {
		t.UnansweredAt = c.by.At
	}
	c.dueNow()
	return c.move(onLateSend, fmt.Sprintf("under fence %d, the latest is %d", e.Fence, t.Lease.Fence))
}

// reconcile corrects what this package never stores: a relay of another writer that needs a due time
// and has none, and times that were set by a clock which was ahead.
func (p *Policy) reconcile(c *step) error {
	if err := c.version(); err != nil {
		return err
	}
	r, t := &c.New.Relay, &c.New.Timer
	switch c.Old.Phase() {
	case PhaseDeleted, PhaseExhausted:
		return nil
	case PhaseDue, PhaseWaiting:
		if latest := c.by.At.Add(p.Backoff.Cap); t.Due.After(latest) {
			t.Due = latest
			return c.move(onReconcile, "the due time was too far away")
		}
		return nil
	case PhaseSyncing:
		if latest := c.by.At.Add(p.Lease); t.Lease.Until.After(latest) {
			t.Lease.Until = latest // a holder that lives renews it
			return c.move(onReconcile, "the lease ended too far away")
		}
		return nil
	}
	need := Reconcile(*r)
	if need != Ignore {
		r.SyncError = r.Error()
	}
	switch need {
	case SyncNow:
		c.dueNow()
		return c.move(onReconcile, "")
	case ScheduleRetry:
		due, ok := p.Retry(r.ID, c.New.History.Streak, c.New.History.Newest, c.by.At)
		if !ok {
			t.Exhausted = true
			return c.move(onReconcileGiveUp, giveUp)
		}
		t.Due, t.Backoff = due, true
		t.Generation++
		return c.move(onReconcileError, "")
	}
	return nil
}

// errorText is the stored form of an error: without the credentials of the relay, bounded, never
// blank.
func (c *step) errorText(text string) string {
	text = strings.TrimSpace(statemachine.Bounded(strings.TrimSpace(c.New.Relay.Redact(text)), MaxError))
	if text == "" {
		return unknownError
	}
	return text
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

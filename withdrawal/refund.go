package withdrawal

import (
	"errors"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// The rules for money that the host gives back. A refund that the host posts in its books is a fact of the record too:
// a request that is refunded is never paid by a later order, and one that may still be paid is not refunded.

// endedUnpaid reports whether the request has ended without a payment, as far as the
// record knows.
func (r *Request) endedUnpaid() bool {
	return r.Status == RequestFailed || r.Status == RequestCancelled || r.Status == RequestRejected
}

// maybePaidBeside reports whether somebody has said that the request was paid, or that
// its signer did something that nobody can tell.
func (r *Request) maybePaidBeside() bool { return r.Mined != "" || r.Disproved != "" || r.Taken != "" }

// toRefund reports whether the request has ended unpaid, is not refunded, and was not
// paid beside its end, which an operator's Acknowledged has settled.
func (r *Request) toRefund() bool {
	return r.endedUnpaid() && r.RefundReference == "" && !(r.Mined != "" && r.Acknowledged)
}

// awaitsRefund reports whether the system may refund the request, now or at some time.
func (r *Request) awaitsRefund() bool {
	return r.toRefund() && r.StraysSent == 0 && !r.maybePaidBeside()
}

// paidAndRefunded reports whether people have to settle a payment beside the refund.
func (r *Request) paidAndRefunded() bool { return r.PaidAfter != "" && !r.Acknowledged }

// Refundable says when the money of w may be given back, by [Refunded] of role, System or Operator: now (the zero time,
// nil), from a time on (that time, nil), or not before somebody says something (an error, a [statemachine.Refusal]).
// Dispatches must be loaded. All of these must hold:
//
//   - The request has ended unpaid and is not refunded, its chain is not recovering, and no unclaimed transfer and
//     no unknown outbound of the chain ([OutboundOf]) may have paid it.
//   - No transaction of it is live, or the last live one reverted or was replaced by a cancelling transaction, at
//     depth.
//   - StraysSent is 0, and Mined, Disproved and Taken are empty. For an operator, who has looked, they may also be
//     acknowledged.
//   - [Chain.AnswerWithin] has passed since the end of each dispatched execution, answered or not. If AnswerWithin is
//     zero the system may never refund; an operator may, and gives as reason what the history of the signer shows. The
//     same holds if the end of an execution lies more than a day ahead of now, since a clock that was ahead set it. A
//     clock that went forward since the end shortens the wait by as much: so AnswerWithin includes how far the store's
//     clock may be wrong.
func (p Policy) Refundable(w Withdrawal, role Role, now time.Time) (at time.Time, why error) {
	at, reason, err := p.refundable(&w, role, now)
	if err != nil {
		err = &statemachine.Refusal{Err: err, Machine: RequestMachine.Name(), ID: w.Request.ID.String(), State: w.Request.Status.String(),
			Event: statemachine.EventName(Refunded{}), Reason: reason}
	}
	return at, err
}

func (p *Policy) refundable(w *Withdrawal, role Role, now time.Time) (at time.Time, reason string, err error) {
	r, j := &w.Request, &w.Job
	within := p.chain(r.Chain).AnswerWithin
	open, stops := w.outbound()
	illegal := func(reason string) (time.Time, string, error) { return time.Time{}, reason, statemachine.ErrIllegal }
	switch {
	case role != System && role != Operator:
		return at, role.String() + " refunds nothing", statemachine.ErrForbidden
	case r.RefundReference != "":
		return at, "as " + r.RefundReference, ErrRefunded
	case !r.endedUnpaid() || j.Status != 0 && j.Status != JobFailed:
		return illegal("it has not ended unpaid")
	case w.Recovering:
		return at, "its chain is recovering", ErrUnsettled
	case stops:
		return at, "", &UnsettledError{Open: open}
	case w.Unclaimed != "":
		return at, w.Unclaimed, ErrUnclaimed
	case j.Live() && j.EvidenceHash == "":
		return illegal("a transaction on file is not proven dead")
	case r.StraysSent > 0:
		return illegal("a signer says that it was sent: first PaidBy or ProvenDead of that hash")
	case r.maybePaidBeside() && !(role == Operator && r.Acknowledged):
		return illegal("it may have been paid: an operator looks at it, says Acknowledged, and refunds it")
	case int(j.Dispatches) != len(w.Dispatches):
		return at, notAllLoaded, statemachine.ErrInvalid
	case len(w.Dispatches) > 0 && within == 0 && role != Operator:
		return at, "its signer may answer at any time: an operator looks at the history of the signer", statemachine.ErrForbidden
	}
	for i := range w.Dispatches {
		if end := w.Dispatches[i].EndedAt.Add(within); end.After(now) && end.After(at) {
			at = end
		}
	}
	if statemachine.Ahead(now, at, within+askAgain) {
		if role != Operator {
			return time.Time{}, aheadEnd, statemachine.ErrForbidden
		}
		at = time.Time{}
	}
	return at, "", nil
}

// refund closes the request in the host's books.
func (p *Policy) refund(c *step, e *Refunded) error {
	r := &c.New.Request
	if e.Already && c.by.Role != Operator {
		return c.refuseRequest(statemachine.ErrForbidden, "what was refunded before the restore an operator says")
	}
	if r.RefundReference != "" {
		if r.RefundReference == e.Reference {
			return nil
		}
		return c.refuseRequest(statemachine.ErrConflict, "it was refunded as "+r.RefundReference)
	}
	if err := c.requestVersion(); err != nil {
		return err
	}
	if err := c.allowsRequest(onRefund); err != nil {
		return err
	}
	if e.Already {
		if !c.Old.Recovering {
			return c.refuseRequest(statemachine.ErrIllegal, "its chain is not recovering: what is refunded now is said without Already")
		}
	} else if at, reason, err := p.refundable(&c.Old, c.by.Role, c.by.At); err != nil {
		return c.refuseRequest(err, reason)
	} else if !at.IsZero() {
		return c.refuseRequest(statemachine.ErrIllegal, "its signer may answer until "+at.Format(time.RFC3339Nano))
	}
	switch {
	case !word(e.Reference):
		return c.refuseRequest(statemachine.ErrInvalid, "a reference of 1 to 100 bytes is needed")
	case c.by.Role == Operator && e.Reason == "":
		return c.refuseRequest(statemachine.ErrInvalid, "an operator gives a reason")
	}
	r.RefundedAt, r.RefundedBy, r.RefundReference, r.OfferAt = c.by.At, c.by.Actor, e.Reference, time.Time{}
	if err := c.toldBefore(); err != nil {
		return err
	}
	text := e.Reference
	if e.Already {
		text += ", before the restore"
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return c.moveRequest(onRefund, statemachine.Bounded(text, MaxText))
}

// toldBefore empties Told at a refund, so that a claim told before the refund is news when it comes again. A claim that
// nobody has acknowledged (possible only for a refund made before a restore) makes the request paid and refunded: its
// latest word stays in Told, or the first stray that is sent and not settled.
func (c *step) toldBefore() error {
	r, before := &c.New.Request, c.Old.Request.Told.list()
	if c.Old.Request.Told.More() {
		before = before[:len(before)-1]
	}
	r.Told = ""
	if len(before) > 0 && !r.Acknowledged {
		news := before[len(before)-1]
		c.tell(news, news.hash)
		return nil
	}
	if r.StraysSent == 0 {
		return nil
	}
	i := slices.IndexFunc(c.Old.Strays, func(s Stray) bool { return s.Claim == ClaimSent && s.SettledAt.IsZero() })
	if i < 0 {
		return c.refuseRequest(statemachine.ErrInvalid, notAllLoaded)
	}
	c.tell(told{claim: ClaimSent, hash: c.Old.Strays[i].Hash}, c.Old.Strays[i].Hash)
	return nil
}

// aheadEnd is the reason of a refusal. Since when the signer has not answered is unknown, so that
// no time that passes lets the system refund.
const aheadEnd = "a clock that was ahead dated the end of an execution: an operator looks at the history of the signer"

// askAgain is how often a refund is looked at that only a person, or another policy,
// lets the system make.
const askAgain = 24 * time.Hour

// refundAgain is when a refund that was due, and was not made, is due again.
func (p *Policy) refundAgain(w *Withdrawal, now time.Time) time.Time {
	at, _, err := p.refundable(w, System, now)
	switch {
	case err != nil && !errors.Is(err, ErrUnsettled):
		return now.Add(askAgain)
	case at.IsZero(): // the host could not post it, or the chain is not settled
		return now.Add(p.EnqueueEvery)
	}
	return at
}

package dunning

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// tick touches DueAt alone, unless a clock that jumped has left something to mend.
func (p *Policy) tick(c *step) error {
	if err := c.version(); err != nil {
		return err
	}
	if err := p.redate(c); err != nil {
		return err
	}
	if next := p.Next(c.New, c.by.At); next.Action == nil {
		c.New.Tenant.DueAt = next.Due
	} else {
		c.New.Tenant.DueAt = c.by.At.Add(p.Hold)
	}
	return nil
}

// intend puts the intent of a charge on file. It is refused unless Next asks for this charge: the
// charge is due, and no other one is out.
func (p *Policy) intend(c *step, e *ChargeIntended) error {
	i, err := c.find(e.Invoice)
	if err != nil {
		return err
	}
	if i.Charge == ChargeOpen && i.ChargeKey == e.Key {
		return c.repeat(i.ChargeBy, p.Ends(&c.Old), i.Owed())
	}
	if err := c.version(); err != nil {
		return err
	}
	if c.Old.Level >= switches.Begin {
		return c.refuse(switches.ErrOnHold, "charges, at "+c.Old.Level.String())
	}
	do := p.Next(c.Old, c.by.At).Action
	if do == nil || do.Do != DoCharge || do.Invoices[0] != i.ID {
		return c.refuse(statemachine.ErrIllegal, "a charge of this invoice is not due now")
	}
	if e.Key != do.Key {
		return c.refuse(statemachine.ErrConflict, "the key of the next charge is "+do.Key)
	}
	if do.Key != i.ChargeKey {
		i.Missed = 0
	}
	i.Attempts, i.ChargeMethod = c.Old.next(&i)
	i.Charge, i.ChargeKey, i.ChargeBy, i.ChargeAt, i.ChargeAmount = ChargeOpen, e.Key, c.by.Actor, c.by.At, i.Amount
	i.ChargeAfter = p.lookAt(c.by.At)
	return c.move(onCharge, i)
}

// repeat lets the actor that stored an intent do what the intent is for, after an answer of the store
// was lost. It is refused once another process may take the intent over, the tenant is churned, or
// nothing is owed any more.
func (c *step) repeat(by string, ends time.Time, owed bool) error {
	if err := c.own(by); err != nil {
		return err
	}
	if !owed || !c.by.At.Before(ends) || c.Old.Tenant.Status() != TenantActive {
		return c.refuse(statemachine.ErrIllegal, "it is too late for it")
	}
	return nil
}

// own refuses every actor but the one that stored the intent, since the effect would happen twice if
// two processes did it.
func (c *step) own(by string) error {
	if by != c.by.Actor {
		return c.refuse(statemachine.ErrHeld, "it is "+by+"'s")
	}
	return nil
}

// attempt reads the number of the charge in a key of this invoice. ok is false if no charge of the
// invoice had the key.
func (i *Invoice) attempt(key string) (n int32, ok bool) {
	number, found := strings.CutPrefix(key, i.ID+"/")
	k, err := strconv.ParseInt(number, 10, 32)
	if !found || err != nil || strconv.Itoa(int(k)) != number || k < 0 {
		return 0, false
	}
	return int32(k), int32(k) < i.Attempts || i.ChargeKey == key
}

// answer records what became of a charge. Done counts whenever it comes, and for the key of any charge
// of the invoice.
func (p *Policy) answer(c *step, id, key string, outcome statemachine.Outcome, text string) error {
	i, err := c.find(id)
	if err != nil {
		return err
	}
	n, ok := i.attempt(key)
	if !ok {
		return c.refuse(statemachine.ErrInvalid, "no charge of this invoice had this key: one that was made, and that a "+
			"restored database has forgotten, is Paid, with the key as its id")
	}
	if outcome.Valid() && i.known(charged(n)) {
		return nil // it is done, whatever is said later
	}
	latest := n == i.Attempts
	late := outcome == statemachine.Unknown && i.ChargeBy == c.by.Actor && c.Old.out() == nil && // it was sent late
		(i.ChargeAmount == i.Amount || i.Status() != InvoiceOpen)
	if outcome != statemachine.Done && (!latest || i.Charge == ChargeNone && outcome != statemachine.Failed && !late) {
		return nil // it is known already, or tells nothing new
	}
	if outcome == statemachine.Deferred && i.Charge == ChargeOpen {
		if err := c.own(i.ChargeBy); err != nil {
			return err // nobody else knows what its holder does
		}
	}
	if err := c.version(); err != nil {
		return err
	}
	t := &c.New.Tenant
	if latest && outcome != statemachine.Unknown {
		i.Charge, i.ChargeAfter = ChargeNone, time.Time{}
	}
	switch outcome {
	case statemachine.Done:
		if n+1 >= i.Attempts { // a later one that failed has its error still
			i.PaymentError, t.PaymentError = "", ""
		}
		return c.receive(i, charged(n), c.by.At, onCharged)
	case statemachine.Failed:
		i.Attempts, i.Missed = i.Attempts+1, 0
		i.ChargeAfter = c.unlessSwitched(&i, i.ChargeAt.Add(p.ChargeAgain))
		i.PaymentError = statemachine.Bounded(text, MaxText)
		t.PaymentError, c.reason = i.PaymentError, i.PaymentError
		return c.move(onRefused, i)
	case statemachine.Unknown:
		i.ChargeAfter = c.by.At.Add(max(p.Tick, min(c.by.At.Sub(i.ChargeAt), p.ChargeAgain)))
		if at := p.lookAt(i.ChargeAt); at.After(i.ChargeAfter) && p.waits(c.by.At, at) {
			i.ChargeAfter = at
		}
		if i.Charge == ChargeUnknown && c.Old.Invoice(id).ChargeAfter == i.ChargeAfter {
			return nil
		}
		i.Charge = ChargeUnknown
		c.reason = statemachine.Bounded(text, MaxText)
		return c.move(onUnclear, i)
	case statemachine.Deferred:
		if c.Old.Invoice(id).Charge == ChargeUnknown {
			return c.refuse(statemachine.ErrIllegal, "the charge may have arrived")
		}
		i.ChargeAfter = c.unlessSwitched(&i, c.by.At.Add(p.Tick))
		c.reason = statemachine.Bounded(text, MaxText)
		return c.move(onDefer, i)
	}
	return c.refuse(statemachine.ErrInvalid, "a charge has an outcome")
}

// unlessSwitched returns when to charge again: at the given time, or at once if the tenant chose
// another method while the charge was out. A charge that may still arrive is made again by its own
// method, at the given time.
func (c *step) unlessSwitched(i *Invoice, at time.Time) time.Time {
	if c.Old.Tenant.Method != i.ChargeMethod && !i.doubted() {
		return time.Time{}
	}
	return at
}

// missing takes a complete look-up that did not find a charge. The charge is made again at once under
// the same key; from the second such look-up on, only Policy.ChargeAgain after its intent.
func (p *Policy) missing(c *step, e *ChargeMissing) error {
	i, err := c.find(e.Invoice)
	if err != nil {
		return err
	}
	n, ok := i.attempt(e.Key)
	if !ok {
		return c.refuse(statemachine.ErrInvalid, "no charge of this invoice had this key")
	}
	asked, err := statemachine.Time(e.Asked)
	if err != nil {
		return c.refuse(statemachine.ErrInvalid, "a look-up has the time at which it began")
	}
	if i.Charge == ChargeNone || n != i.Attempts || !p.complete(&i, asked, c.by.At) {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	i.Charge, i.ChargeAfter = ChargeNone, time.Time{}
	if i.Missed++; i.Missed > 1 {
		i.ChargeAfter = i.ChargeAt.Add(p.ChargeAgain)
	}
	return c.move(onNeverArrived, i)
}

// lookedBack records that the restored database has forgotten no payment of the invoice.
func (p *Policy) lookedBack(c *step, e *LookedBack) error {
	i, err := c.find(e.Invoice)
	if err != nil {
		return err
	}
	asked, err := statemachine.Time(e.Asked)
	if err != nil {
		return c.refuse(statemachine.ErrInvalid, "a look-up has the time at which it began")
	}
	one := Account{Invoices: []Invoice{i}, RecoveredAt: c.Old.RecoveredAt}
	if p.forgotten(&one) == nil || asked.After(c.by.At) || !reached(asked, p.lookAt(p.recoveredAt(&one))) ||
		c.Old.Tenant.Status() != TenantActive {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	i.LookedBack = p.recoveredAt(&one)
	return c.move(onLookBack, i)
}

// resolve takes a person's word about a charge. It refuses that the charge failed until a look-up could
// be complete: before that, the actor of the intent may still be about to charge.
func (p *Policy) resolve(c *step, e *Resolved) error {
	i, err := c.find(e.Invoice)
	if err != nil {
		return err
	}
	if err := c.because(e.Reason); err != nil {
		return err
	}
	if e.Outcome != statemachine.Done && e.Outcome != statemachine.Failed {
		return c.refuse(statemachine.ErrInvalid, "a charge is resolved as done or as failed")
	}
	if e.Outcome == statemachine.Failed && i.unsure() && i.ChargeKey == e.Key && p.mayArrive(&c.Old.Tenant, &i, c.by.At) {
		return c.refuse(statemachine.ErrHeld, "it may still be sent by "+i.ChargeBy)
	}
	return p.answer(c, e.Invoice, e.Key, e.Outcome, e.Reason)
}

// churn churns the tenant. It is refused unless Next asks for it: the oldest invoice is old enough, and
// no charge may be out.
func (p *Policy) churn(c *step) error {
	t := &c.New.Tenant
	if t.Status() == TenantChurned {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	if do := p.Next(c.Old, c.by.At).Action; do == nil || do.Do != DoChurn {
		return c.refuse(statemachine.ErrIllegal, "a churn is not due now")
	}
	t.ChurnedAt = c.by.At
	return c.move(onChurn)
}

// notice stamps the invoices that a message names before the message is sent, so that a message which
// gets lost is not sent again. If more invoices are due by now than when Next was asked, the message
// has another key, and the event is refused.
func (p *Policy) notice(c *step, e *NoticeIntended) error {
	t := &c.New.Tenant
	if e.Notice != "" && t.Notice == e.Notice {
		if t.NoticeBy == "" {
			return c.refuse(statemachine.ErrIllegal, "the message was sent")
		}
		paid := func(i Invoice) bool { return i.Notice == e.Notice && !i.Owed() }
		return c.repeat(t.NoticeBy, t.NoticeAfter, !slices.ContainsFunc(c.Old.Invoices, paid))
	}
	if err := c.version(); err != nil {
		return err
	}
	do := p.Next(c.Old, c.by.At).Action
	if do == nil || do.Do != DoNotify {
		return c.refuse(statemachine.ErrIllegal, "no message is due now")
	}
	if e.Notice != do.Key {
		return c.refuse(statemachine.ErrConflict, "the key of the next message is "+do.Key)
	}
	t.Notice, t.NoticeBy, t.NoticeAfter, c.reason = e.Notice, c.by.Actor, p.heldUntil(c.by.At), e.Notice
	due, _ := p.reminders(&c.Old, c.by.At)
	stamped := make([]Invoice, len(due))
	for k, i := range due {
		stamped[k] = *i
		stamped[k].Notice, stamped[k].PriorNotifiedAt, stamped[k].NotifiedAt = e.Notice, i.NotifiedAt, c.by.At
	}
	return c.move(onNotice, stamped...)
}

// noticeAnswered takes one answer to the latest message, from the actor of its intent or from the host.
// Once another message follows, the message counts as sent.
func (p *Policy) noticeAnswered(c *step, e *NoticeAnswered) error {
	t := &c.New.Tenant
	if !e.Outcome.Valid() || e.Notice == "" {
		return c.refuse(statemachine.ErrInvalid, "the answer to a message has its key and an outcome")
	}
	sent := e.Outcome == statemachine.Done || e.Outcome == statemachine.Unknown
	switch {
	case t.Notice != e.Notice:
		return nil
	case t.NoticeBy == "" && sent:
		return nil
	case t.NoticeBy == "":
		return c.refuse(statemachine.ErrIllegal, "the message was sent")
	case c.by.Role == Biller:
		if err := c.own(t.NoticeBy); err != nil {
			return err
		}
	}
	if err := c.version(); err != nil {
		return err
	}
	t.NoticeBy, t.NoticeAfter, c.reason = "", time.Time{}, e.Notice
	if sent {
		return c.move(onNoticeSent)
	}
	t.Notice, t.NoticeAfter = "", c.by.At.Add(p.Tick)
	var restored []Invoice
	for _, i := range c.Old.Invoices {
		if i.Notice == e.Notice && i.Status() == InvoiceOpen {
			i.NotifiedAt, i.PriorNotifiedAt, i.Notice = i.PriorNotifiedAt, time.Time{}, ""
			restored = append(restored, i)
		}
	}
	return c.move(onNoticeFailed, restored...)
}

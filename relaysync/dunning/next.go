package dunning

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Do is a kind of [Action].
// Values: DoLookUp, DoCharge, DoChurn, DoNotify, DoLookBack.
type Do = statemachine.Enum[do]

const (
	DoLookUp Do = iota + 1 // ask the provider for Key, then ChargeAnswered or ChargeMissing
	DoCharge               // send ChargeIntended, charge under Key at once, then ChargeAnswered
	DoChurn                // send Churned
	DoNotify               // send NoticeIntended, write the message under Key, then NoticeAnswered
	// DoLookBack: ask the provider, and the host's own books, for any payment of the invoice, then send Paid or
	// LookedBack. Report a charge whose key the restored database does not know as Paid too, with that key as the id of
	// the payment.
	DoLookBack
)

type do struct{}

func (do) Kind() string    { return "dunning action" }
func (do) Names() []string { return doNames }

var doNames = []string{"look up", "charge", "churn", "notify", "look back"}

// Action is something that must be done now. Plain data.
type Action struct {
	Do       Do
	Key      string // idempotency key
	By       Role
	Tenant   string
	Invoices []string `json:",omitempty"` // the one to charge or to look up; those that the message names
	Amount   int64    `json:",omitempty"` // to charge, in base units
	Method   Method   `json:",omitzero"`  // to charge by, or that it was charged by
}

// Step says what is owed: one action, or when to ask again, or nothing.
type Step struct {
	Action *Action
	Due    time.Time // zero: nothing is due before another event
}

// whole is the second that t lies in; ages are differences of these.
func whole(t time.Time) time.Time { return time.Unix(t.Unix(), 0).UTC() }

// reached reports now >= at in whole seconds.
func reached(now, at time.Time) bool { return now.Unix() >= at.Unix() }

// began is when the age of an invoice begins.
func (t *Tenant) began(i *Invoice) time.Time { return whole(t.owes(i)) }

// dated is the time from which on an active tenant owes an invoice by the stored dates of both, as if
// no clock had ever jumped.
func (t *Tenant) dated(i *Invoice) time.Time {
	if t.ReinstatedAt.After(i.CreatedAt) {
		return t.ReinstatedAt
	}
	return i.CreatedAt
}

// owes is the time from which on an active tenant owes an invoice, without time that no step has seen.
func (t *Tenant) owes(i *Invoice) time.Time {
	at := since(i.CreatedAt, i.Since)
	if again := since(t.ReinstatedAt, t.Since); again.After(at) {
		at = again
	}
	return at
}

// oldest returns the invoice that is owed for longest, nil if none is.
func (a *Account) oldest() (oldest *Invoice) {
	for k := range a.Invoices {
		if i := &a.Invoices[k]; i.Owed() && (oldest == nil || a.Tenant.owes(i).Before(a.Tenant.owes(oldest))) {
			oldest = i
		}
	}
	return oldest
}

// out returns the invoice whose charge may be on its way, nil if none is.
func (a *Account) out() *Invoice {
	for i := range a.Invoices {
		if c := a.Invoices[i].Charge; c == ChargeOpen || c == ChargeUnknown {
			return &a.Invoices[i]
		}
	}
	return nil
}

// recoveredAt is when charges were last started on a restored database; zero: never. It is the later of
// the time that the store gives and the time in the policy.
func (p *Policy) recoveredAt(a *Account) time.Time {
	if p.RecoveredAt.After(a.RecoveredAt) {
		return p.RecoveredAt.UTC().Truncate(time.Microsecond) // as it is stored
	}
	return a.RecoveredAt
}

// forgotten returns the first owed invoice of which a restored database may have forgotten a payment, nil if there is
// none. Such an invoice was stored before charges were started: it is dated at most twice the longer of Policy.Tick and
// Policy.Hold after that start, or a clock that was ahead has dated it, so that no time says when it was stored.
func (p *Policy) forgotten(a *Account) *Invoice {
	at := p.recoveredAt(a)
	if at.IsZero() {
		return nil
	}
	for k := range a.Invoices {
		i := &a.Invoices[k]
		moved := !i.Since.IsZero() && i.Since.Before(i.CreatedAt)
		if i.Owed() && (moved || !p.ahead(i.CreatedAt, at)) && !i.LookedBack.Equal(at) {
			return i
		}
	}
	return nil
}

// chargeAt is when an invoice is charged next; ok is false for never.
func (p *Policy) chargeAt(a *Account, i *Invoice, now time.Time) (at time.Time, ok bool) {
	at = whole(since(i.CreatedAt, i.Since))
	if i.ChargeAfter.After(at) && p.waits(now, i.ChargeAfter) {
		at = whole(i.ChargeAfter)
	}
	return at, charges(a.Tenant.Method) && i.Owed()
}

// churnAt is when the tenant is churned for its oldest invoice.
func (p *Policy) churnAt(t *Tenant, oldest *Invoice) (at time.Time, ok bool) {
	noticed := !oldest.NotifiedAt.IsZero() && !oldest.NotifiedAt.Before(t.began(oldest))
	return t.began(oldest).Add(p.Grace), noticed || !p.ChurnNeedsNotice
}

// noticeAt is when a message is to name an invoice.
func (p *Policy) noticeAt(t *Tenant, i *Invoice, now time.Time) time.Time {
	at := t.began(i).Add(p.FreshGrace)
	if !i.NotifiedAt.IsZero() {
		if again := whole(i.NotifiedAt).Add(p.NoticeEvery); again.After(at) {
			at = again
		}
	}
	if t.NoticeAfter.After(at) && p.waits(now, t.NoticeAfter) {
		at = whole(t.NoticeAfter)
	}
	return at
}

// heldUntil is when other processes may take over what begins now: Policy.Hold later, rounded up to a
// whole second so that nobody is early.
func (p *Policy) heldUntil(now time.Time) time.Time {
	return whole(now.Add(p.Hold + time.Second - time.Microsecond))
}

// lookAt is when a charge is looked up whose intent was stored at a given time. By then nobody sends
// the charge any more, and what was sent has arrived.
func (p *Policy) lookAt(intent time.Time) time.Time { return p.heldUntil(intent).Add(p.Linger) }

// complete reports whether a look-up that began at asked covers everything that was sent of a charge. It does if Next
// could already ask for it then, so that it also began after the latest answer that said Unknown. A time that a clock
// which was ahead gave the intent, or that answer, does not count.
func (p *Policy) complete(i *Invoice, asked, now time.Time) bool {
	for _, at := range []time.Time{i.ChargeAfter, p.lookAt(i.ChargeAt)} {
		if !reached(asked, at) && (reached(now, at) || p.waits(now, at)) {
			return false
		}
	}
	return !asked.After(now)
}

// mayArrive reports whether a charge may still be sent, or be on its way, so that nobody's word
// that it failed counts. After such a word the next charge has another key, and the provider
// could take both; after a look-up the charge is made again under the same key, and cannot be
// taken twice. Therefore the time on the clock is not enough here. The clock may have jumped
// forward unseen by up to two of the longest steps, so these are added to the time to wait. Where
// a step of the tenant is late, either the clock has jumped or no biller was running, and that
// step must be made first. An intent that was made while the clock was ahead counts as made at the
// next step by the right clock, see redate.
func (p *Policy) mayArrive(t *Tenant, i *Invoice, now time.Time) bool {
	at := p.lookAt(i.ChargeAt)
	if i.Status() != InvoiceOpen { // no charge follows
		return p.waits(now, at)
	}
	return p.late(t, now) || !reached(now, at.Add(2*p.longest()))
}

// Ends is when a step of an account ends at the latest, if its handler renews it: after that time the
// handler sends nothing. Zero: the step has no end.
func (p *Policy) Ends(a *Account) time.Time {
	if i := a.out(); i != nil && i.Charge == ChargeOpen {
		return i.ChargeAfter.Add(-p.Linger)
	}
	return a.Tenant.DueAt
}

// waits reports whether something waits at now until a given time. A time that is later than any rule
// can set it was set by a clock that was ahead, and is not waited for.
func (p *Policy) waits(now, until time.Time) bool {
	return !reached(now, until) && !until.After(now.Add(max(p.Hold+p.Linger, p.Tick, p.ChargeAgain)+time.Second)) // heldUntil rounds up
}

// Next gives one effect at a time, in this order: the look-up of a charge that may be out, the look-back for what a
// restored database has forgotten ([Account].RecoveredAt), a charge, a churn, a message. A look-up and a look-back hold
// back everything after them; a message on its way does so for Policy.Hold at most. Where nothing is due, Due is the
// exact time at which something is, an hour (Policy.Tick) from now at the latest. A tenant whose charge the switch
// stops waits, and is asked for again each Policy.Hold.
func (p Policy) Next(a Account, now time.Time) Step {
	t := &a.Tenant
	act := func(do Do, key string) *Action { return &Action{Do: do, Key: key, By: Biller, Tenant: t.ID} }
	if t.Status() == 0 {
		return Step{}
	}
	if i := a.out(); i != nil {
		for _, at := range []time.Time{i.ChargeAfter, p.lookAt(i.ChargeAt)} { // before that one no look-up is complete
			if p.waits(now, at) {
				return p.sleep(now, whole(at))
			}
		}
		do := act(DoLookUp, i.ChargeKey)
		do.Invoices, do.Method = []string{i.ID}, i.ChargeMethod
		return Step{Action: do}
	}
	oldest := a.oldest()
	if t.Status() == TenantChurned || oldest == nil {
		return Step{}
	}
	if i := p.forgotten(&a); i != nil {
		if at := p.lookAt(p.recoveredAt(&a)); !reached(now, at) {
			return p.sleep(now, at)
		}
		do := act(DoLookBack, "look back/"+i.ID)
		do.Invoices = []string{i.ID}
		return Step{Action: do}
	}
	if t.NoticeBy != "" && p.waits(now, t.NoticeAfter) {
		return p.sleep(now, t.NoticeAfter)
	}
	var times []time.Time
	for k := range a.Invoices {
		i := &a.Invoices[k]
		at, ok := p.chargeAt(&a, i, now)
		if ok && reached(now, at) && a.Level >= switches.Begin { // nobody is churned, or reminded, for what is not charged
			return p.sleep(now, p.heldUntil(now))
		}
		if ok && reached(now, at) {
			n, method := a.next(i)
			do := act(DoCharge, i.key(n))
			do.Invoices, do.Amount, do.Method = []string{i.ID}, i.Amount, method
			return Step{Action: do}
		}
		if ok {
			times = append(times, at)
		}
	}
	if at, ok := p.churnAt(t, oldest); ok {
		switch {
		case reached(now, at) && p.late(t, now): // a tick comes first, and takes what nobody has seen out of the age
			return Step{Due: now}
		case reached(now, at):
			return Step{Action: act(DoChurn, fmt.Sprintf("churn/%s/%d", t.ID, t.Version))}
		}
		times = append(times, at)
	}
	due, next := p.reminders(&a, now)
	if len(due) > 0 {
		// While the version stays the same, invoices become due and none stops being due. So the number
		// of invoices tells one message from the next.
		do := act(DoNotify, fmt.Sprintf("%s/%d:%d", t.ID, t.Version, len(due)))
		for _, i := range due {
			do.Invoices = append(do.Invoices, i.ID)
		}
		return Step{Action: do}
	}
	return p.sleep(now, append(times, next...)...)
}

// reminders lists the invoices that a message is to name now, and when the
// others are due for one.
func (p *Policy) reminders(a *Account, now time.Time) (due []*Invoice, next []time.Time) {
	for k := range a.Invoices {
		i := &a.Invoices[k]
		if !i.Owed() {
			continue
		}
		if at := p.noticeAt(&a.Tenant, i, now); reached(now, at) {
			due = append(due, i)
		} else {
			next = append(next, at)
		}
	}
	return due, next
}

// Overslept reports that a clock which was ahead has set the next step of a tenant: no clock in step
// with the present one puts a step off for so long.
func (p *Policy) Overslept(t *Tenant, now time.Time) bool {
	return statemachine.Ahead(now, t.DueAt, p.longest())
}

// LatestDue is the latest time to which a step at now puts off the next one.
func (p *Policy) LatestDue(now time.Time) time.Time { return now.Add(p.longest()) }

// sleep returns the step that is due at the first of the given times, Policy.Tick from now at the
// latest.
func (p *Policy) sleep(now time.Time, times ...time.Time) Step {
	due := now.Add(p.Tick)
	for _, t := range times {
		if t.Before(due) {
			due = t
		}
	}
	return Step{Due: due}
}

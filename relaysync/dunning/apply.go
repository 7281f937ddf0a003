package dunning

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Apply takes one step. It is pure: the same arguments give the same result, and
// it never writes to what a holds.
//
// The same event again (its key is in the record) gives an empty change and no
// error. A refusal changes nothing and is a [statemachine.Refusal] around its
// sentinel. Where several reasons hold, the first of these is given: role or
// actor, existence, version, state, input.
func (p Policy) Apply(a Account, ev Event) (Change, error) { return p.ApplyAt(a, ev, time.Time{}) }

// ApplyAt is [Policy.Apply]; now is the store's time, see [statemachine.EventTime].
func (p Policy) ApplyAt(a Account, ev Event, now time.Time) (Change, error) {
	c := step{Change: Change{Old: a, New: a}, ev: ev}
	err := c.begin(now)
	if err == nil {
		err = p.take(&c)
	}
	if err != nil {
		return Change{Old: a, New: a}, err
	}
	_, tick := ev.(StepBegun)
	hides := c.New.Tenant.Status() == TenantActive && c.New.oldest() != nil && p.late(&c.Old.Tenant, c.by.At) // the next tick must see it
	if !tick && len(c.Log) > 0 && !hides {
		c.New.Tenant.DueAt = p.wake(&c)
	}
	return c.Change, nil
}

// wake is when the next step of an account is due: at once where Next has something to do. After an event of a biller
// it is not before the end of that biller's step, since the biller itself goes on with the account.
func (p *Policy) wake(c *step) time.Time {
	now, begun := c.by.At, c.Old.Tenant.DueAt
	switch next, held := p.Next(c.New, now), now.Add(p.Hold); {
	case next.Action == nil:
		return next.Due
	case c.by.Role != Biller:
		return now
	case begun.IsZero() || begun.After(held):
		return held
	}
	return begun
}

func (p *Policy) take(c *step) error {
	if e, ok := c.ev.(Enrolled); ok {
		return c.enrol(&e)
	}
	if c.Old.Tenant.Status() == 0 {
		return c.refuse(statemachine.ErrNotFound, "")
	}
	switch e := c.ev.(type) {
	case MethodSet:
		return c.method(&e)
	case Issued:
		return p.issue(c, &e)
	case Amended:
		return c.amend(&e)
	case Paid:
		return p.pay(c, &e)
	case Voided:
		return c.void(&e)
	case Provisioned:
		return c.provision()
	case Reinstated:
		return c.reinstate()
	case StepBegun:
		return p.tick(c)
	case ChargeIntended:
		return p.intend(c, &e)
	case ChargeAnswered:
		return p.answer(c, e.Invoice, e.Key, e.Outcome, e.Error)
	case ChargeMissing:
		return p.missing(c, &e)
	case LookedBack:
		return p.lookedBack(c, &e)
	case Churned:
		return p.churn(c)
	case NoticeIntended:
		return p.notice(c, &e)
	case NoticeAnswered:
		return p.noticeAnswered(c, &e)
	case Resolved:
		return p.resolve(c, &e)
	case Acknowledged:
		return c.acknowledge(&e)
	}
	return fmt.Errorf("%w: no event", statemachine.ErrInvalid)
}

// Speakers are the roles that may send an event; none for what is no event of the domain.
func Speakers(ev Event) statemachine.Roles[Role] {
	switch ev.(type) {
	case Enrolled, MethodSet, Issued, Amended, Paid, Voided, Provisioned, Reinstated:
		return byHost | byOperator
	case ChargeAnswered, NoticeAnswered, LookedBack:
		return byBiller | byHost
	case StepBegun, ChargeIntended, ChargeMissing, Churned, NoticeIntended:
		return byBiller
	case Resolved, Acknowledged:
		return byOperator
	}
	return 0
}

// Events returns an empty one of each event, in no order that means anything.
func Events() []Event {
	return []Event{
		Enrolled{}, MethodSet{}, Issued{}, Amended{}, Paid{}, Voided{}, Provisioned{}, Reinstated{}, ChargeAnswered{},
		NoticeAnswered{}, LookedBack{}, StepBegun{}, ChargeIntended{}, ChargeMissing{}, Churned{}, NoticeIntended{}, Resolved{},
		Acknowledged{},
	}
}

// roles is a set of [Role].
type roles = statemachine.Roles[Role]

const (
	byHost     roles = 1 << Host
	byOperator roles = 1 << Operator
	byBiller   roles = 1 << Biller
)

// step is the work on one event.
type step struct {
	Change
	ev     Event
	by     By
	reason string
}

func (c *step) event() string { return statemachine.EventName(c.ev) }

// begin checks role and actor, which is the first of all checks, and brings the time of the event to
// UTC microseconds.
func (c *step) begin(now time.Time) error {
	var reason string
	var err error
	if c.by, _, reason, err = statemachine.Begin(c.ev, Speakers(c.ev), now); err != nil {
		return c.refuse(err, reason)
	}
	return nil
}

func (c *step) version() error {
	if c.by.Version != 0 && c.by.Version != c.Old.Tenant.Version {
		return c.refuse(statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", c.by.Version, c.Old.Tenant.Version))
	}
	return nil
}

// find returns a copy of an invoice, to be changed and passed to move.
func (c *step) find(id string) (Invoice, error) {
	if i := c.Old.Invoice(id); i != nil {
		return *i, nil
	}
	return Invoice{}, c.refuse(statemachine.ErrNotFound, "no invoice "+statemachine.Bounded(id, MaxID))
}

// move is the only place that sets a version. It takes the changed invoices as they are to be stored, and checks each
// status against the table; for an event of the tenant alone it takes none. Every event moves the tenant, once.
func (c *step) move(on Trigger, invoices ...Invoice) error {
	t := &c.New.Tenant
	status := c.Old.Tenant.Status()
	if err := c.line(t.ID, func(l *statemachine.Transition[string]) error {
		return statemachine.Move(TenantMachine, &status, &t.Version, on, l)
	}); err != nil {
		return err
	}
	if status != t.Status() {
		return c.refuse(statemachine.ErrCorrupt, "the tenant's status is not the table's")
	}
	if len(invoices) > 0 {
		c.New.Invoices = slices.Clone(c.New.Invoices)
	}
	for _, i := range invoices {
		old := c.New.Invoice(i.ID)
		var status InvoiceStatus
		if old != nil {
			status = old.Status()
		}
		if err := c.line(i.ID, func(l *statemachine.Transition[string]) error {
			return statemachine.Move(InvoiceMachine, &status, &i.Version, InvoiceTrigger(on), l)
		}); err != nil {
			return err
		}
		if status != i.Status() {
			return c.refuse(statemachine.ErrCorrupt, "the invoice's status is not the table's")
		}
		if old != nil {
			*old = i
		} else {
			c.New.Invoices = insert(c.New.Invoices, i)
		}
	}
	return nil
}

func (c *step) line(id string, move func(*statemachine.Transition[string]) error) error {
	l := statemachine.Transition[string]{ID: id, At: c.by.At, Actor: c.by.Actor, Role: c.by.Role.String(), Trace: c.by.Trace, Reason: c.reason}
	if err := move(&l); err != nil {
		return c.refuse(err, "")
	}
	c.Log = append(c.Log, l)
	return nil
}

func (c *step) refuse(err error, reason string) error {
	id := c.Old.Tenant.ID
	if e, ok := c.ev.(Enrolled); ok {
		id = e.Tenant
	}
	state := ""
	if s := c.Old.Tenant.Status(); s != 0 {
		state = s.String()
	}
	return &statemachine.Refusal{Err: err, Machine: TenantMachine.Name(), ID: statemachine.Bounded(id, MaxID), State: state,
		Event: c.event(), Reason: reason}
}

// word reports whether s can be an id or a key.
func word(s string) bool { return s != "" && len(s) <= MaxID && statemachine.Storable(s) }

package dunning

import (
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

func (c *step) enrol(e *Enrolled) error {
	anchor := e.BillingAnchor
	if !anchor.IsZero() {
		t, err := statemachine.Time(anchor)
		if err != nil {
			return c.refuse(statemachine.ErrInvalid, "billing anchor: "+err.Error())
		}
		anchor = t
	}
	if old := &c.Old.Tenant; old.Status() != 0 {
		if old.ID == e.Tenant && old.Method == e.Method && old.BillingAnchor == anchor {
			return nil
		}
		at := func(t time.Time) string { return t.Format(time.RFC3339) }
		return c.refuse(statemachine.ErrIllegal, fmt.Sprintf(
			"there is a tenant of this id: its method is %v and its billing anchor %s, and not %v and %s",
			old.Method, at(old.BillingAnchor), e.Method, at(anchor)))
	}
	if err := c.version(); err != nil {
		return err
	}
	if !word(e.Tenant) || !e.Method.Valid() {
		return c.refuse(statemachine.ErrInvalid, "a tenant needs an id of 1 to 100 bytes and a method")
	}
	c.New = Account{Tenant: Tenant{ID: e.Tenant, Method: e.Method, BillingAnchor: anchor, CreatedAt: c.by.At}}
	return c.move(onEnrol)
}

// method makes charges due at once that wait after a failure. The time of a look-up stays, and so does
// the time of a charge that may still arrive.
func (c *step) method(e *MethodSet) error {
	if c.Old.Tenant.Method == e.Method {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	if !e.Method.Valid() {
		return c.refuse(statemachine.ErrInvalid, "no such method")
	}
	c.New.Tenant.Method = e.Method
	var changed []Invoice
	for _, i := range c.Old.Invoices {
		if i.Status() == InvoiceOpen && i.Charge == ChargeNone && !i.ChargeAfter.IsZero() && !i.doubted() {
			i.ChargeAfter = time.Time{}
			changed = append(changed, i)
		}
	}
	return c.move(onMethod, changed...)
}

func (p *Policy) issue(c *step, e *Issued) error {
	created := e.CreatedAt
	if created.IsZero() {
		created = c.by.At
	}
	created, err := statemachine.Time(created)
	if err != nil {
		return c.refuse(statemachine.ErrInvalid, "created at: "+err.Error())
	}
	if old := c.Old.Invoice(e.Invoice); old != nil {
		amount := e.Amount == old.Issued || old.Issued < 0 && e.Amount >= old.Amount
		if amount && (e.CreatedAt.IsZero() || created == old.CreatedAt) {
			return nil // it may have been lowered since
		}
		if amount && (created == old.Since || old.Status() == InvoiceOpen && p.ahead(old.CreatedAt, c.by.At) && created.Before(old.CreatedAt)) {
			return c.reissue(*old, created)
		}
		return c.refuse(statemachine.ErrIllegal, fmt.Sprintf("there is an invoice of this id: it is of %d and from %s, and not of %d and from %s",
			old.Issued, old.CreatedAt.Format(time.RFC3339Nano), e.Amount, created.Format(time.RFC3339Nano)))
	}
	if e.Taken != "" && e.Taken != c.Old.Tenant.ID {
		return c.refuse(statemachine.ErrIllegal, "tenant "+statemachine.Bounded(e.Taken, MaxID)+" has an invoice of this id")
	}
	if err := c.version(); err != nil {
		return err
	}
	if !word(e.Invoice) || e.Amount < 0 {
		return c.refuse(statemachine.ErrInvalid, "an invoice needs an id of 1 to 100 bytes and an amount that is not negative")
	}
	if len(e.Invoice) > MaxID-12 {
		return c.refuse(statemachine.ErrInvalid, "an invoice's id leaves 12 bytes for the number of a charge")
	}
	if p.ahead(created, c.by.At) {
		return c.refuse(statemachine.ErrInvalid, "it is dated in the future, at "+created.Format(time.RFC3339))
	}
	open := 0
	for i := range c.Old.Invoices {
		if c.Old.Invoices[i].Status() == InvoiceOpen {
			open++
		}
	}
	if open >= MaxInvoices {
		return c.refuse(statemachine.ErrInvalid, fmt.Sprintf("%d invoices are open", open))
	}
	return c.move(onIssue, Invoice{ID: e.Invoice, Tenant: c.Old.Tenant.ID, Amount: e.Amount, Issued: e.Amount,
		CreatedAt: created, Charge: ChargeNone})
}

func (c *step) amend(e *Amended) error {
	i, err := c.find(e.Invoice)
	if err != nil || i.Amount == e.Amount {
		return err
	}
	if err := c.version(); err != nil {
		return err
	}
	switch {
	case i.Status() != InvoiceOpen:
		return c.refuse(statemachine.ErrIllegal, "the invoice is "+i.Status().String())
	case i.unsure():
		return c.refuse(statemachine.ErrHeld, "charge "+i.ChargeKey+" of it may arrive: until it is answered it can be voided alone")
	case e.Amount < 0 || e.Amount > i.Amount:
		return c.refuse(statemachine.ErrInvalid, fmt.Sprintf("what is owed is lowered from %d", i.Amount))
	}
	i.Amount = e.Amount
	return c.move(onAmend, i)
}

func (p *Policy) pay(c *step, e *Paid) error {
	i, err := c.find(e.Invoice)
	if err != nil {
		return err
	}
	if _, charged := i.attempt(e.Payment); charged {
		return p.answer(c, i.ID, e.Payment, statemachine.Done, "")
	}
	entry := received(e.Method, e.Payment)
	if e.Method.Valid() && i.known(entry) {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	if !e.Method.Valid() {
		return c.refuse(statemachine.ErrInvalid, "no such method")
	}
	if !statemachine.Storable(e.Payment) {
		return c.refuse(statemachine.ErrInvalid, "the id of a payment is a text")
	}
	return c.receive(i, entry, c.by.At, onPay)
}

func (c *step) void(e *Voided) error {
	i, err := c.find(e.Invoice)
	if err != nil || i.Status() == InvoiceVoid {
		return err
	}
	if err := c.version(); err != nil {
		return err
	}
	if i.Status() != InvoiceOpen {
		return c.refuse(statemachine.ErrIllegal, "the invoice is "+i.Status().String())
	}
	i.VoidedAt = c.by.At
	return c.move(onVoid, i)
}

func (c *step) provision() error {
	if err := c.version(); err != nil {
		return err
	}
	return c.move(onProvision)
}

func (c *step) reinstate() error {
	t := &c.New.Tenant
	if t.Status() == TenantActive {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	t.ChurnedAt, t.ReinstatedAt, t.Since = time.Time{}, c.by.At, time.Time{}
	return c.move(onReinstate)
}

func (c *step) acknowledge(e *Acknowledged) error {
	i, err := c.find(e.Invoice)
	if err != nil {
		return err
	}
	entry := i.find(i.Overpaid, e.Key)
	if entry == "" && i.find(i.Repaid, e.Key) != "" {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	if entry == "" {
		return c.refuse(statemachine.ErrConflict, "what is overpaid are "+strings.Join(i.Overpayments(), ", "))
	}
	if err := c.because(e.Reason); err != nil {
		return err
	}
	i.Overpaid, i.Repaid = i.Overpaid.without(entry), i.Repaid.with(entry)
	if i.Overpaid == "" {
		i.OverpaidAt = time.Time{}
	}
	return c.move(onAcknowledge, i)
}

// because takes the reason that an operator must give.
func (c *step) because(reason string) error {
	if reason == "" || len(reason) > MaxText || !statemachine.Storable(reason) {
		return c.refuse(statemachine.ErrInvalid, "a reason of 1 to 1000 bytes is needed")
	}
	c.reason = reason
	return nil
}

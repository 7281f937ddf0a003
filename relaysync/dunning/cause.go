package dunning

import (
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Cause is what tenants of a list wait for.
type Cause struct {
	Party  Role   // who moves them on
	Method Method `json:",omitzero"` // how the tenant pays, where a charge is waited for
	Reason string
	Error  string `json:",omitempty"` // of the last charge, as it was reported, where the next charge is waited for
}

// ByCause groups a page of a list by what its tenants wait for at now, the largest group first. Tenants whose last
// charge failed are grouped by its error. A tenant for whom a person is needed counts only as waiting for the person. A
// tenant who owes nothing is left out.
func (p Policy) ByCause(page []Account, now time.Time) []statemachine.Caused[Cause] {
	return statemachine.ByCause(page, func(a *Account) Cause { return p.waitsFor(a, now) })
}

func (p *Policy) waitsFor(a *Account, now time.Time) Cause {
	t := &a.Tenant
	for k := range a.Invoices {
		switch i := &a.Invoices[k]; {
		case !i.OverpaidAt.IsZero():
			return Cause{Party: Operator, Reason: "a person: an overpayment"}
		case t.NeverArrives(i):
			return Cause{Party: Operator, Method: i.ChargeMethod, Reason: "a person: a charge that never arrives"}
		}
	}
	step := p.Next(*a, now)
	do := Do(0)
	if step.Action != nil {
		do = step.Action.Do
	}
	switch out := a.out(); {
	case out != nil && out.Charge == ChargeUnknown:
		return Cause{Party: Biller, Method: out.ChargeMethod, Reason: "the answer to a charge"}
	case do != 0:
		return Cause{Party: step.Action.By, Reason: do.String()}
	case out != nil:
		return Cause{Party: Biller, Method: out.ChargeMethod, Reason: "the answer to a charge"}
	case a.oldest() == nil || t.Status() != TenantActive:
		return Cause{}
	case a.Level >= switches.Begin:
		return Cause{Party: Operator, Reason: "the switch of charges"}
	case p.forgotten(a) != nil:
		return Cause{Party: Biller, Reason: DoLookBack.String()}
	case !charges(t.Method):
		return Cause{Party: Host, Method: t.Method, Reason: "a payment"}
	case t.PaymentError != "":
		return Cause{Biller, t.Method, "its next charge", t.PaymentError}
	}
	return Cause{Party: Biller, Method: t.Method, Reason: "its time"}
}

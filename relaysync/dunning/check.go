package dunning

import (
	"fmt"
	"slices"

	"github.com/settlehq/settle/statemachine"
)

type rule struct {
	holds bool
	text  string
}

// Check returns [statemachine.ErrCorrupt] with the first invariant that the
// account breaks.
func Check(a Account) error {
	t := &a.Tenant
	if t.Status() == 0 && len(a.Invoices) == 0 {
		return nil // does not exist yet
	}
	out, moves := 0, int64(0)
	for k := range a.Invoices {
		i := &a.Invoices[k]
		if i.Charge != ChargeNone {
			out++
		}
		moves = max(moves, i.Version)
		if broken := first(i.rules(t)); broken != "" {
			return fmt.Errorf("%w: invoice %s: %s", statemachine.ErrCorrupt, statemachine.Bounded(i.ID, MaxID), broken)
		}
	}
	if broken := first([]rule{
		{t.Version >= 1 && t.Method.Valid() && word(t.ID), "a tenant has a version, a method and an id"},
		{t.Version > moves, "every event of an invoice moves its tenant"},
		{out <= 1, "at most one charge is out"},
		{slices.IsSortedFunc(a.Invoices, CompareInvoices), "invoices are in order"},
		{t.ChurnedAt.IsZero() || !since(t.ReinstatedAt, t.Since).After(t.ChurnedAt), "a reinstatement ends a churn"},
		{out == 0 || !t.DueAt.IsZero(), "a charge that may be out is looked up"},
		{t.Status() == TenantChurned || a.oldest() == nil || !t.DueAt.IsZero(), "what is owed is due at some time"},
		{len(t.PaymentError) <= MaxText, "an error is bounded"},
	}); broken != "" {
		return fmt.Errorf("%w: tenant %s: %s", statemachine.ErrCorrupt, statemachine.Bounded(t.ID, MaxID), broken)
	}
	return nil
}

func (i *Invoice) rules(t *Tenant) []rule {
	out := i.Charge != ChargeNone
	return []rule{
		{i.Version >= 1 && i.Tenant == t.ID && word(i.ID) && i.Amount >= 0 && !i.CreatedAt.IsZero(),
			"an invoice has a version, its tenant, an amount and a time"},
		{i.Issued == -1 || i.Issued >= i.Amount, "an amount is lowered, never raised"},
		{i.PaidAt.IsZero() || i.VoidedAt.IsZero(), "an invoice is paid or void"},
		{i.PaidAt.IsZero() == (i.Method == 0), "exactly a paid invoice says how"},
		{i.Charge.Valid() && i.Attempts >= 0, "a charge has a state, a count is not negative"},
		{!out || i.ChargeKey == i.Key() && !i.ChargeAt.IsZero() && !i.ChargeAfter.IsZero(),
			"a charge that is out has its key, its time and its look-up"},
		{!out || i.Status() != InvoiceOpen || i.ChargeAmount == i.Amount, "a charge that is out is of what is owed"},
		{i.PaidKey == "" || !i.PaidAt.IsZero(), "what a charge or a payment paid is paid"},
		{i.OverpaidAt.IsZero() == (i.Overpaid == "") && (i.Overpaid == "" || i.Status() != InvoiceOpen),
			"an overpayment is of what was paid or void"},
		{(i.Notice == "" || !i.NotifiedAt.IsZero()) && !i.PriorNotifiedAt.After(i.NotifiedAt), "a message has its time, after the one before"},
		{len(i.PaymentError) <= MaxText, "an error is bounded"},
	}
}

func first(rules []rule) string {
	for _, r := range rules {
		if !r.holds {
			return r.text
		}
	}
	return ""
}

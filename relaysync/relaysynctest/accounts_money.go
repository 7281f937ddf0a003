package relaysynctest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// sendings checks that an invoice is charged under a new key only after each earlier charge was
// answered, or was not tried: whoever stored an intent may make its charge whenever it wakes,
// whatever the clock says and whatever a look-up has found meanwhile.
func (h *AccountHistory) sendings(ev dunning.Event, c *dunning.Change) error {
	switch e := ev.(type) {
	case dunning.ChargeIntended:
		if len(c.Log) == 0 {
			return nil
		}
		for key, n := range h.out {
			if strings.HasPrefix(key, e.Invoice+"/") && key != e.Key && n > 0 {
				return fmt.Errorf("%s is charged while %s may still arrive", e.Key, key)
			}
		}
		h.out[e.Key]++
	case dunning.ChargeAnswered:
		was := c.Old.Invoice(e.Invoice)
		switch {
		case was == nil || len(c.Log) == 0:
		case e.Outcome == statemachine.Done || e.Outcome == statemachine.Failed:
			h.out[e.Key] = 0
		case e.Outcome == statemachine.Deferred:
			h.out[e.Key]--
		case e.Outcome == statemachine.Unknown && was.Charge == dunning.ChargeNone: // it was sent all the same
			h.out[e.Key]++
		}
	case dunning.Resolved:
		if len(c.Log) > 0 {
			h.out[e.Key] = 0
		}
	}
	return nil
}

// payments checks that all money that was seen is on file, each payment once, in whatever order
// the payments became known: one of them has paid an invoice that is not void, and the others are
// to be paid back.
func (h *AccountHistory) payments(ev dunning.Event, c *dunning.Change) error {
	var id, key string
	switch e := ev.(type) {
	case dunning.Paid:
		if id, key = e.Invoice, e.Method.String(); e.Payment != "" {
			key += ":" + e.Payment
		}
	case dunning.ChargeAnswered:
		if e.Outcome == statemachine.Done {
			id, key = e.Invoice, e.Key
		}
	case dunning.Resolved:
		if e.Outcome == statemachine.Done {
			id, key = e.Invoice, e.Key
		}
	case dunning.Acknowledged:
		h.money[e.Invoice][e.Key] = true
	}
	if id != "" {
		if h.money[id] == nil {
			h.money[id] = map[string]bool{}
		}
		if _, ok := h.money[id][key]; !ok { // one that was paid back stays so
			h.money[id][key] = false
		}
	}
	for k := range c.New.Invoices {
		i := &c.New.Invoices[k]
		payer, back := "", []string{}
		for key, repaid := range h.money[i.ID] {
			if i.Status() == dunning.InvoicePaid && (payer == "" || before(i, key, payer)) {
				payer = key
			}
			if !repaid {
				back = append(back, key)
			}
		}
		if !inexact(i, payer) {
			back = slices.DeleteFunc(back, func(key string) bool { return key == payer })
		}
		over := i.Overpayments()
		slices.Sort(over)
		slices.Sort(back)
		paidBy := i.PaidKey
		if i.Status() == dunning.InvoicePaid && !strings.HasPrefix(paidBy, i.ID+"/") {
			if paidBy = i.Method.String(); i.PaidKey != "" {
				paidBy += ":" + i.PaidKey
			}
		}
		if paidBy != payer || !slices.Equal(over, back) {
			return fmt.Errorf("invoice %s says paid by %q, overpaid %q; what came: %v", i.ID, paidBy, over, h.money[i.ID])
		}
	}
	return nil
}

// inexact: a charge but the latest, or of another amount than is owed.
func inexact(i *dunning.Invoice, key string) bool {
	return i.Amount == 0 || strings.HasPrefix(key, i.ID+"/") && (key != i.ChargeKey || i.ChargeAmount != i.Amount)
}

// before reports which of two payments has paid an invoice. A charge that may be of another amount
// than is owed comes last. Of the others a payment that is no charge comes first, in byte order,
// then the charge with the lower number.
func before(i *dunning.Invoice, a, b string) bool {
	rank := func(key string) string {
		number, isCharge := strings.CutPrefix(key, i.ID+"/")
		if !isCharge {
			return "0 0 " + key
		}
		if inexact(i, key) {
			return fmt.Sprintf("1 1 %08s", number)
		}
		return fmt.Sprintf("0 1 %08s", number)
	}
	return rank(a) < rank(b)
}

package dunning

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Payments are payments of one invoice, with a space between two: a charge is written as the number in its key, a
// payment that the host saw as its method, a colon and its id. Their order does not depend on which became known first.
type Payments string

// charged is the text of a charge in [Payments], received the text of a payment that the host saw.
func charged(n int32) string { return strconv.Itoa(int(n)) }

func received(m Method, id string) string {
	if len(id) > MaxID {
		sum := sha256.Sum256([]byte(id))
		id = "sha256:" + hex.EncodeToString(sum[:])
	}
	return m.String() + ":" + statemachine.Word(id)
}

// number returns that of a charge, ok is false for another payment.
func number(entry string) (n int32, ok bool) {
	k, err := strconv.ParseInt(entry, 10, 32)
	return int32(k), err == nil
}

// paymentKey is the name of a payment for an operator: the key of a charge, or the method of a payment
// that the host saw, followed by a colon and its id if it has one.
func (i *Invoice) paymentKey(entry string) string {
	if n, ok := number(entry); ok {
		return i.key(n)
	}
	method, id, _ := strings.Cut(entry, ":")
	if id == "" {
		return method
	}
	return method + ":" + statemachine.Unword(id)
}

// Overpayments are the names of the payments that wait for an [Acknowledged]: the key of a charge, or
// the method and id of a payment that the host saw, such as "manual:77". A payment without an id has
// the method alone.
func (i *Invoice) Overpayments() (keys []string) {
	for _, entry := range i.Overpaid.list() {
		keys = append(keys, i.paymentKey(entry))
	}
	return keys
}

// find returns the entry with a key in a list, empty if there is none.
func (i *Invoice) find(in Payments, key string) string {
	for _, entry := range in.list() {
		if i.paymentKey(entry) == key {
			return entry
		}
	}
	return ""
}

func (p Payments) list() []string {
	return strings.FieldsFunc(string(p), func(r rune) bool { return r == ' ' })
}

func (p Payments) has(entry string) bool { return slices.Contains(p.list(), entry) }

func (p Payments) with(entry string) Payments {
	if p.has(entry) {
		return p
	}
	all := append(p.list(), entry)
	slices.SortFunc(all, compareEntries)
	return Payments(strings.Join(all, " "))
}

func (p Payments) without(entry string) Payments {
	return Payments(strings.Join(slices.DeleteFunc(p.list(), func(one string) bool { return one == entry }), " "))
}

// compareEntries puts charges first, by number, then other payments in byte order.
func compareEntries(a, b string) int {
	x, isCharge := number(a)
	y, isToo := number(b)
	switch {
	case isCharge && isToo:
		return cmp.Compare(x, y)
	case isCharge != isToo:
		return map[bool]int{true: -1, false: 1}[isCharge]
	}
	return strings.Compare(a, b)
}

// payer is the entry of the payment that paid, empty where none has.
func (i *Invoice) payer() string {
	if i.PaidAt.IsZero() {
		return ""
	}
	if n, ok := i.attempt(i.PaidKey); ok {
		return charged(n)
	}
	return received(i.Method, i.PaidKey)
}

// known reports whether a payment is on file.
func (i *Invoice) known(entry string) bool {
	return i.payer() == entry || i.Overpaid.has(entry) || i.Repaid.has(entry)
}

// exact reports whether a payment is known to be of the amount that is owed. No payment is if nothing
// is owed, nor a charge before the latest one, whose amount the record does not have.
func (i *Invoice) exact(entry string) bool {
	n, isCharge := number(entry)
	return i.Amount > 0 && (!isCharge || i.key(n) == i.ChargeKey && i.ChargeAmount == i.Amount)
}

// paysBefore reports whether, of two payments, a has paid the invoice and b is to be paid back. When they became known
// does not count. A payment that the host saw comes before a charge, since a charge can be paid back by its key, where
// it was made.
func (i *Invoice) paysBefore(a, b string) bool {
	if x, y := i.exact(a), i.exact(b); x != y {
		return x
	}
	_, isCharge := number(a)
	if _, isToo := number(b); isCharge != isToo {
		return isToo
	}
	return compareEntries(a, b) < 0
}

// receive files money that came for an invoice, in every state of the invoice. Each payment either is the one that paid
// or is in Overpaid; which one is which follows from the payments alone, not from their order. A payment of an invoice
// of nothing is both. If the lists are full, nothing is stored and the caller gets an error.
func (c *step) receive(i Invoice, entry string, at time.Time, on Trigger) error {
	old, is, payer := i, i.Status(), i.payer()
	over := func(entry string) {
		if !i.Repaid.has(entry) {
			i.OverpaidAt, i.Overpaid, c.reason = at, i.Overpaid.with(entry), i.paymentKey(entry)
		}
	}
	pays := is == InvoiceOpen || is == InvoicePaid && i.paysBefore(entry, payer)
	if pays {
		if n, ok := number(entry); ok {
			i.PaidKey, i.Method = i.key(n), i.ChargeMethod
		} else {
			method, id, _ := strings.Cut(entry, ":")
			i.PaidKey = statemachine.Unword(id)
			for _, m := range Method(0).Values() {
				if m.String() == method {
					i.Method = m
				}
			}
		}
	}
	switch {
	case is == InvoiceOpen:
		i.PaidAt = at
	case pays:
		// While a payment counted as the one that paid, an operator paid back only its difference to
		// what is owed, and acknowledged that. Now another payment counts, so all of this one is to be
		// paid back. The record does not say how much of it was paid back before.
		if i.Amount > 0 {
			i.Repaid = i.Repaid.without(payer)
		}
		over(payer)
		c.reason = i.paymentKey(entry)
	default:
		over(entry)
	}
	if pays && !i.exact(entry) {
		over(entry)
	}
	if is != InvoiceOpen {
		on = onOverpaid
	}
	if n := len(i.Overpaid.list()) + len(i.Repaid.list()); n > MaxOverpaid && n > len(old.Overpaid.list())+len(old.Repaid.list()) {
		return c.refuse(statemachine.ErrInvalid, fmt.Sprintf("%d payments beside the one that paid are on file, and no more are taken: "+
			"of %s nothing is stored", MaxOverpaid, i.paymentKey(entry)))
	}
	return c.move(on, i)
}

package dunning

import (
	"fmt"
	"math"
	"time"
)

// Stats is what a store counts at the moment At.
type Stats struct {
	At            time.Time
	Tenants       map[TenantStatus]int64
	Open          int64     // invoices that are owed
	Owed          int64     // sum of their amounts, in base units; the largest int64 if it is more
	OldestDue     time.Time // the least DueAt at or before At; zero: none
	Out           int64     // charges that may be out
	OldestUnknown time.Time // the least charge_at of the charges that are unknown; zero: none
	Overpaid      int64     // overpayments that no operator has acknowledged
}

// AddTenant counts a tenant; At is set.
func (s *Stats) AddTenant(t *Tenant) {
	s.Tenants[t.Status()]++
	if !t.DueAt.IsZero() && !t.DueAt.After(s.At) && (s.OldestDue.IsZero() || t.DueAt.Before(s.OldestDue)) {
		s.OldestDue = t.DueAt
	}
}

// AddInvoice counts an invoice.
func (s *Stats) AddInvoice(i *Invoice) {
	if i.Owed() {
		s.Open++
		if s.Owed += i.Amount; s.Owed < 0 {
			s.Owed = math.MaxInt64
		}
	}
	if i.Charge != ChargeNone {
		s.Out++
	}
	if i.Charge == ChargeUnknown && (s.OldestUnknown.IsZero() || i.ChargeAt.Before(s.OldestUnknown)) {
		s.OldestUnknown = i.ChargeAt
	}
	if !i.OverpaidAt.IsZero() {
		s.Overpaid++
	}
}

// Thresholds are the limits of [Alerts]. A zero duration is not watched; a count
// alerts when it exceeds its limit.
type Thresholds struct {
	DueWait    time.Duration // a step is not taken
	UnknownFor time.Duration // a charge is unknown: Policy.UnknownFor
	Overpaid   int64
}

// Alert is one limit that is exceeded.
type Alert struct {
	Name string // stable: "due wait", "charge unknown", "overpaid"
	Text string
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []Alert {
	var out []Alert
	wait := func(name string, since time.Time, limit time.Duration, what string) {
		if limit > 0 && !since.IsZero() && s.At.Sub(since) > limit {
			out = append(out, Alert{Name: name, Text: fmt.Sprintf("%s since %s, longer than %v", what, since.UTC().Format(time.RFC3339), limit)})
		}
	}
	wait("due wait", s.OldestDue, t.DueWait, "a tenant is due")
	wait("charge unknown", s.OldestUnknown, t.UnknownFor, "a charge is unknown")
	if s.Overpaid > t.Overpaid {
		out = append(out, Alert{Name: "overpaid", Text: fmt.Sprintf("%d overpayments, more than %d", s.Overpaid, t.Overpaid)})
	}
	return out
}

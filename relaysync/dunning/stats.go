package dunning

import (
	"fmt"
	"math"
	"time"
)

// Stats is what a store counts at the moment At.
type Stats struct {
	At         time.Time
	Tenants    map[TenantStatus]int64
	Open       int64     // invoices that are owed
	Owed       int64     // sum of their amounts, in base units; the largest int64 if it is more
	OldestDue  time.Time // the least DueAt at or before At; zero: none
	Out        int64     // charges that may be out
	OldestOut  time.Time // the least charge_at of these; zero: none
	OldestOwed time.Time // the least time since when an active tenant owes; zero: none
	Overpaid   int64     // invoices with overpayments that no operator has acknowledged
}

// Add counts a tenant and its invoices; At is set.
func (s *Stats) Add(a *Account) {
	t := &a.Tenant
	s.Tenants[t.Status()]++
	if at, ok := t.Due(); ok && !at.After(s.At) {
		earliest(&s.OldestDue, at)
	}
	for k := range a.Invoices {
		i := &a.Invoices[k]
		s.add(i)
		if since := i.CreatedAt; i.Owed() && t.Status() == TenantActive {
			if t.ReinstatedAt.After(since) {
				since = t.ReinstatedAt
			}
			earliest(&s.OldestOwed, since)
		}
	}
}

func earliest(least *time.Time, t time.Time) {
	if least.IsZero() || t.Before(*least) {
		*least = t
	}
}

func (s *Stats) add(i *Invoice) {
	if i.Owed() {
		s.Open++
		if s.Owed += i.Amount; s.Owed < 0 {
			s.Owed = math.MaxInt64
		}
	}
	if i.Charge != ChargeNone {
		s.Out++
		earliest(&s.OldestOut, i.ChargeAt)
	}
	if !i.OverpaidAt.IsZero() {
		s.Overpaid++
	}
}

// Thresholds are the limits of [Alerts]. A zero duration is not watched; a count
// alerts when it exceeds its limit.
type Thresholds struct {
	DueWait    time.Duration // a step is not taken
	UnknownFor time.Duration // a charge may be out, asked for or not: Policy.UnknownFor
	OwedFor    time.Duration // a tenant is not churned: above Policy.Grace by two of Policy.Tick
	Overpaid   int64
}

// Alert is one limit that is exceeded.
type Alert struct {
	Name string // stable: "due wait", "charge unknown", "owed", "overpaid"
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
	wait("charge unknown", s.OldestOut, t.UnknownFor, "a charge may be out")
	wait("owed", s.OldestOwed, t.OwedFor, "an active tenant owes")
	if s.Overpaid > t.Overpaid {
		out = append(out, Alert{Name: "overpaid", Text: fmt.Sprintf("%d invoices are overpaid, more than %d", s.Overpaid, t.Overpaid)})
	}
	return out
}

package dunning

import (
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Stats is what a store counts at the moment At.
type Stats struct {
	At         time.Time
	Tenants    map[TenantStatus]int64
	Open       int64     // invoices that are owed
	OldestDue  time.Time // the least DueAt at or before At; zero: none
	Out        int64     // charges that may be out
	OldestOut  time.Time // the least charge_at of these; zero: none
	OldestOwed time.Time // the least time since when an active tenant owes, or owed before a clock jumped; zero: none
	Missed     int64     // invoices whose charge never arrives, see [Tenant.NeverArrives]
	Overpaid   int64     // invoices with overpayments that no operator has acknowledged
	// Money is in base units, of invoices. Open: the amounts owed. Unknown: the charges that may be out, also of an
	// invoice that is paid or void. Stuck: the amounts owed of invoices whose charge never arrives. Review: the amounts
	// of invoices for which a person is needed, also paid or void ones, see [Tenant.NeedsOperator].
	Money statemachine.Money
	// Latest is the latest of these stored times: when a tenant is due or was churned, since when an active tenant
	// owes, when a charge that may be out was begun. A clock in step with the present one sets none of them later than
	// a tick after At. Zero: there is none.
	Latest time.Time
}

// Add counts a tenant and its invoices; At is set.
func (s *Stats) Add(a *Account) {
	t := &a.Tenant
	s.Tenants[t.Status()]++
	at, ok := t.Due()
	if ok && !at.After(s.At) {
		earliest(&s.OldestDue, at)
	}
	s.latest(at)
	s.latest(t.ChurnedAt)
	for k := range a.Invoices {
		i := &a.Invoices[k]
		s.add(i)
		if t.NeverArrives(i) {
			s.Missed++
			s.Money.Stuck = s.Money.Stuck.Add(statemachine.SumOf(i.Amount))
		}
		if t.NeedsOperator(i, s.At) {
			s.Money.Review = s.Money.Review.Add(statemachine.SumOf(i.Amount))
		}
		if i.Owed() && t.Status() == TenantActive {
			owes := t.owes(i)
			earliest(&s.OldestOwed, owes)
			earliest(&s.OldestOwed, t.dated(i))
			s.latest(owes)
		}
	}
}

func (s *Stats) latest(t time.Time) {
	if t.After(s.Latest) {
		s.Latest = t
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
		s.Money.Open = s.Money.Open.Add(statemachine.SumOf(i.Amount))
	}
	if i.Charge != ChargeNone {
		s.Out++
		s.Money.Unknown = s.Money.Unknown.Add(statemachine.SumOf(i.ChargeAmount))
		earliest(&s.OldestOut, i.ChargeAt)
		s.latest(i.ChargeAt)
	}
	if !i.OverpaidAt.IsZero() {
		s.Overpaid++
	}
}

// Thresholds are the limits of [Alerts]. A zero duration is not watched; a count alerts when it exceeds its limit. Each
// time counts from a moment that no repeated event moves, so that nothing waits for ever unseen: a charge from its
// intent, an owed amount from its issue or from a reinstatement.
type Thresholds struct {
	DueWait    time.Duration // a step is not taken
	UnknownFor time.Duration // a charge may be out, asked for or not: Policy.UnknownFor
	OwedFor    time.Duration // a tenant is not churned: above Policy.Grace by two of Policy.Tick
	Ahead      time.Duration // a time lies in the future: two of Policy.Tick
	Missed     int64
	Overpaid   int64
}

// DefaultThresholds watch everything: a step that is half an hour late, and what is
// right for [DefaultPolicy]. A host that changes the policy changes them with it.
func DefaultThresholds() Thresholds {
	p := DefaultPolicy()
	return Thresholds{DueWait: 30 * time.Minute, UnknownFor: p.UnknownFor, OwedFor: p.Grace + 2*p.Tick, Ahead: 2 * p.Tick}
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	a.Wait("tenant due wait", s.OldestDue, t.DueWait, "a tenant is due")
	a.Wait("charge unknown", s.OldestOut, t.UnknownFor, "a charge may be out")
	a.Wait("tenant owed", s.OldestOwed, t.OwedFor, "an active tenant owes")
	a.Add(t.Ahead > 0 && s.Latest.Sub(s.At) > t.Ahead, "tenant ahead",
		"a time of a tenant is %s, more than %v from now: a clock was ahead, or is behind",
		s.Latest.UTC().Format(time.RFC3339), t.Ahead)
	a.Add(s.Missed > t.Missed, "never arrives", "the charges of %d invoices never arrive, more than %d", s.Missed, t.Missed)
	a.Add(s.Overpaid > t.Overpaid, "overpaid", "%d invoices are overpaid, more than %d", s.Overpaid, t.Overpaid)
	return a.Alerts
}

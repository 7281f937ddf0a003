package relaysynctest

import (
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
)

// Naive says what is owed, written in another way than [dunning.Policy.Next]: "look up",
// "charge", "churn" or "notify" with the invoices, or "".
func Naive(p dunning.Policy, a dunning.Account, now time.Time) string {
	sec, most := now.Unix(), max(24*time.Hour, p.Tick) // nothing is waited for longer, but with a clock that was ahead
	made := func(i dunning.Invoice) int64 {            // Since counts, where there is one
		if i.Since.Unix() > 0 {
			return i.Since.Unix()
		}
		return i.CreatedAt.Unix()
	}
	back := a.Tenant.ReinstatedAt
	if !a.Tenant.Since.IsZero() {
		back = a.Tenant.Since
	}
	age := func(i dunning.Invoice) int64 { return sec - max(made(i), back.Unix()) }
	began := func(i dunning.Invoice) time.Time {
		at := i.CreatedAt
		if !i.Since.IsZero() {
			at = i.Since
		}
		if back.After(at) {
			at = back
		}
		return at
	}
	open := func(i dunning.Invoice) bool { return i.PaidAt.IsZero() && i.VoidedAt.IsZero() && i.Amount > 0 }
	for _, i := range a.Invoices {
		if i.Charge != dunning.ChargeNone {
			arrived := i.ChargeAt.Add(p.Hold + p.Linger + time.Second - 1).Truncate(time.Second) // at most a day away, or a clock was ahead
			if (sec >= i.ChargeAfter.Unix() || i.ChargeAfter.Sub(now) > most+time.Second) && (sec >= arrived.Unix() ||
				arrived.Sub(now) > most+time.Second) {
				return "look up " + i.ID
			}
			return ""
		}
	}
	asked := p.RecoveredAt.Add(2 * max(p.Tick, p.Hold)) // an invoice of before may be dated as late
	for _, i := range a.Invoices {
		dated := !i.Since.IsZero() && i.Since.Before(i.CreatedAt) && !p.RecoveredAt.IsZero() // by a clock that was ahead, nobody knows when
		if open(i) && a.Tenant.ChurnedAt.IsZero() && (dated || !i.CreatedAt.After(asked)) && !i.LookedBack.Equal(p.RecoveredAt) {
			if sec >= p.RecoveredAt.Add(p.Hold+p.Linger+time.Second-1).Unix() {
				return "look back " + i.ID
			}
			return ""
		}
	}
	pause := a.Tenant.NoticeAfter.Unix() - sec // at most a day, or a clock was ahead
	quiet := pause > 0 && a.Tenant.NoticeAfter.Sub(now) <= most+time.Second
	if a.Tenant.Version == 0 || !a.Tenant.ChurnedAt.IsZero() || quiet && a.Tenant.NoticeBy != "" {
		return ""
	}
	for _, i := range a.Invoices {
		if open(i) && a.Tenant.Method != dunning.Manual && sec >= made(i) && (i.ChargeAfter.IsZero() || sec >= i.ChargeAfter.Unix() ||
			i.ChargeAfter.Sub(now) > most+time.Second) {
			return "charge " + i.ID
		}
	}
	oldest, named := dunning.Invoice{}, ""
	for _, i := range a.Invoices {
		if open(i) && (oldest.ID == "" || began(i).Before(began(oldest))) {
			oldest = i
		}
	}
	told := !oldest.NotifiedAt.IsZero() && oldest.NotifiedAt.Unix() >= back.Unix() && oldest.NotifiedAt.Unix() >= made(oldest)
	if oldest.ID != "" && age(oldest) >= int64(p.Grace/time.Second) && (told || !p.ChurnNeedsNotice) {
		if now.Sub(a.Tenant.DueAt) > max(p.Tick, p.Hold) { // nobody was there
			return ""
		}
		return "churn"
	}
	for _, i := range a.Invoices {
		if !open(i) {
			continue
		}
		if age(i) >= int64(p.FreshGrace/time.Second) && (i.NotifiedAt.IsZero() ||
			sec-i.NotifiedAt.Unix() >= int64(p.NoticeEvery/time.Second)) && !quiet {
			named += " " + i.ID
		}
	}
	if named != "" {
		return "notify" + named
	}
	return ""
}

package dunning_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// What is unfinished is overdue a bounded time after it entered its state, whatever is
// repeated meanwhile, and an alert of the thresholds that a host starts with says so. A
// state that the tables get must be here.
func TestWhatIsUnfinishedIsOverdue(t *testing.T) {
	invoice := func(s dunning.InvoiceStatus, c dunning.Charge) *account {
		x := open(t, dunning.Stripe)
		if c != dunning.ChargeNone {
			x.do(intended(0, "i1/0"))
		}
		if c == dunning.ChargeUnknown {
			x.do(answered(0, "i1/0", statemachine.Unknown))
		}
		switch s {
		case dunning.InvoiceOpen:
		case dunning.InvoicePaid:
			x.do(dunning.Paid{By: by(dunning.Host, t0), Invoice: "i1", Method: dunning.Manual})
		case dunning.InvoiceVoid:
			x.do(dunning.Voided{By: by(dunning.Host, t0), Invoice: "i1"})
		default:
			t.Fatalf("an invoice that is %v is not tried", s)
		}
		return x
	}
	type tried struct {
		name string
		x    *account
		idle bool // nothing is unfinished
	}
	var all []tried
	for _, s := range dunning.InvoiceMachine.States() {
		for _, c := range dunning.Charge(0).Values() {
			all = append(all, tried{fmt.Sprintf("%v invoice, charge %v", s, c), invoice(s, c), s != dunning.InvoiceOpen && c == dunning.ChargeNone})
		}
	}
	for _, s := range dunning.TenantMachine.States() {
		switch s {
		case dunning.TenantActive:
			all = append(all, tried{"active, pays by hand", open(t, dunning.Manual), false},
				tried{"active, charge never arrives", open(t, dunning.Stripe).do(intended(0, "i1/0"), asked(hour, hour, "i1/0")), false})
		case dunning.TenantChurned: // the host or a person reinstates
			out := open(t, dunning.Stripe).do(intended(0, "i1/0"), missing("i1/0"), intended(6*day+20*hour, "i1/0"), asked(7*day, 7*day, "i1/0"),
				dunning.Churned{By: by(dunning.Biller, after(7*day))}, answered(7*day, "i1/0", statemachine.Unknown)) // it was sent late
			all = append(all, tried{"churned", open(t, dunning.Manual).do(dunning.Churned{By: by(dunning.Biller, after(7*day))}), true},
				tried{"churned, a charge is out", out, false})
		default:
			t.Fatalf("a tenant who is %v is not tried", s)
		}
	}
	all = append(all, tried{"overpaid", open(t, dunning.Manual).do(paid(0, dunning.Manual, "w1"), paid(0, dunning.Manual, "w2")), false})
	repeated := map[string]func(x *account, d time.Duration) []dunning.Event{
		"silence": func(*account, time.Duration) []dunning.Event { return nil },
		"ticks": func(_ *account, d time.Duration) []dunning.Event {
			return []dunning.Event{dunning.StepBegun{By: by(dunning.Biller, after(d))}}
		},
		"relays": func(_ *account, d time.Duration) []dunning.Event {
			return []dunning.Event{dunning.Provisioned{By: by(dunning.Host, after(d))}}
		},
		"methods": func(x *account, d time.Duration) []dunning.Event {
			return []dunning.Event{dunning.MethodSet{By: by(dunning.Host, after(d)), Method: dunning.Stripe + 3 - x.a.Tenant.Method - 1}}
		},
		"refusals": attempts(statemachine.Failed), "deferred": attempts(statemachine.Deferred), "unknown": attempts(statemachine.Unknown),
		"never arrives": attempts(0),
	}
	for _, a := range all {
		for what, events := range repeated {
			x, begun, first := *a.x, time.Duration(0), time.Duration(-1)
			if x.a.Tenant.Status() == dunning.TenantChurned {
				begun = 7 * day
			}
			bound := begun + policy.Grace + 2*policy.Tick + time.Second
			for d := begun + hour; d <= bound+3*day; d += hour {
				if d > bound && d-hour < bound {
					d = bound
				}
				for _, ev := range append(events(&x, d), dunning.StepBegun{By: by(dunning.Biller, after(d))}) {
					if _, silent := ev.(dunning.StepBegun); silent && what == "silence" {
						continue
					}
					if c, err := x.p.Apply(x.a, ev); err == nil {
						x.a = c.New
					}
				}
				alerts := dunning.Alerts(x.statsAt(d), dunning.DefaultThresholds())
				switch {
				case a.idle && len(alerts) > 0:
					t.Fatalf("%s, %s: nothing is unfinished, and after %v there is %v", a.name, what, d, alerts)
				case a.idle || x.a.Tenant.Status() == dunning.TenantActive && x.a.Invoices[0].Status() == dunning.InvoicePaid &&
					x.a.Invoices[0].Charge == dunning.ChargeNone && x.a.Invoices[0].Overpaid == "":
					first = 0 // done
				case len(alerts) > 0 && first < 0:
					first = d
				case len(alerts) == 0 && d >= bound && x.p.Next(x.a, after(d)) != dunning.Step{}:
					t.Fatalf("%s, %s: nobody is told after %v: %+v", a.name, what, d, x.a)
				}
			}
		}
	}
}

// attempts are charges with an outcome, 0 for one that a look-up does not find.
func attempts(o statemachine.Outcome) func(*account, time.Duration) []dunning.Event {
	return func(x *account, d time.Duration) (all []dunning.Event) {
		b, i := by(dunning.Biller, after(d)), x.a.Invoices[0]
		if i.Charge == dunning.ChargeNone {
			do := x.p.Next(x.a, after(d)).Action
			if do == nil || do.Do != dunning.DoCharge {
				return nil
			}
			all, i.ChargeKey = append(all, dunning.ChargeIntended{By: b, Invoice: "i1", Key: do.Key}), do.Key
		}
		if o == 0 {
			return append(all, dunning.ChargeMissing{By: b, Invoice: "i1", Key: i.ChargeKey, Asked: after(d)})
		}
		return append(all, dunning.ChargeAnswered{By: b, Invoice: "i1", Key: i.ChargeKey, Outcome: o})
	}
}

// Each limit, and nothing before it.
func TestDefaultThresholds(t *testing.T) {
	limits := dunning.DefaultThresholds()
	for _, r := range []struct {
		name  string
		limit time.Duration
		set   func(s *dunning.Stats, at time.Time)
	}{
		{"tenant due wait", limits.DueWait, func(s *dunning.Stats, at time.Time) { s.OldestDue = at }},
		{"charge unknown", limits.UnknownFor, func(s *dunning.Stats, at time.Time) { s.OldestOut = at }},
		{"tenant owed", limits.OwedFor, func(s *dunning.Stats, at time.Time) { s.OldestOwed = at }},
		{"tenant ahead", -limits.Ahead, func(s *dunning.Stats, at time.Time) { s.Latest = at }},
	} {
		for _, over := range []time.Duration{0, time.Microsecond} {
			s := dunning.Stats{At: t0}
			if r.set(&s, t0.Add(-r.limit-over)); r.limit < 0 {
				r.set(&s, t0.Add(-r.limit+over))
			}
			got := dunning.Alerts(s, limits)
			if len(got) != int(min(over, 1)) || over > 0 && got[0].Name != r.name || r.limit == 0 {
				t.Errorf("%s, %v over its limit: %v", r.name, over, got)
			}
		}
	}
	for name, s := range map[string]dunning.Stats{"never arrives": {Missed: 1}, "overpaid": {Overpaid: 1}} {
		if got := dunning.Alerts(s, limits); len(got) != 1 || got[0].Name != name {
			t.Errorf("%s: %v", name, got)
		}
	}
}

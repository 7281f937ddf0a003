package dunning_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

func TestStatsAndAlerts(t *testing.T) {
	s := dunning.Stats{At: after(day), Tenants: map[dunning.TenantStatus]int64{}}
	for _, x := range []*account{open(t, dunning.Manual), open(t, dunning.Stripe).do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Unknown)),
		open(t, dunning.NWC).do(intended(0, "i1/0"), dunning.Voided{By: by(dunning.Host, t0), Invoice: "i1"}, answered(0, "i1/0", statemachine.Done))} {
		s.Add(&x.a)
	}
	want := dunning.Stats{At: after(day), Tenants: map[dunning.TenantStatus]int64{dunning.TenantActive: 3}, Open: 2,
		Money:     statemachine.Money{Open: "200", Unknown: "100", Review: "200"},
		OldestDue: after(hour), Out: 1, OldestOut: t0, OldestOwed: t0, Overpaid: 1, Latest: after(hour)}
	if fmt.Sprint(s) != fmt.Sprint(want) {
		t.Errorf("%+v, expected %+v", s, want)
	}
	if got := dunning.Alerts(s, dunning.Thresholds{DueWait: 23 * hour, UnknownFor: day, OwedFor: day, Overpaid: 1}); got != nil {
		t.Errorf("at the limits: %v", got)
	}
	var names []string
	for _, a := range dunning.Alerts(s, dunning.Thresholds{DueWait: 23*hour - 1, UnknownFor: day - 1, OwedFor: day - 1}) {
		names = append(names, a.Name)
	}
	if want := []string{"tenant due wait", "charge unknown", "tenant owed", "overpaid"}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
}

// Which sums of the statistics an invoice of 7, whose latest charge was of 5, belongs to.
func TestMoneyOfStatistics(t *testing.T) {
	charge := func(c dunning.Charge) func(*dunning.Tenant, *dunning.Invoice) {
		return func(_ *dunning.Tenant, i *dunning.Invoice) {
			i.Charge, i.ChargeAmount, i.ChargeAfter = c, 5, after(hour)
		}
	}
	missed := func(n int32, more func(*dunning.Tenant, *dunning.Invoice)) func(*dunning.Tenant, *dunning.Invoice) {
		return func(t *dunning.Tenant, i *dunning.Invoice) {
			i.Missed, i.ChargeAmount, i.ChargeKey, i.ChargeAt = n, 5, i.Key(), t0
			if more != nil {
				more(t, i)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		of    func(*dunning.Tenant, *dunning.Invoice)
		at    time.Duration
		money statemachine.Money
	}{
		{"open", func(*dunning.Tenant, *dunning.Invoice) {}, 0, statemachine.Money{Open: "7"}},
		{"its charge is out", charge(dunning.ChargeOpen), hour - time.Microsecond, statemachine.Money{Open: "7", Unknown: "5"}},
		{"its charge is looked up", charge(dunning.ChargeOpen), hour, statemachine.Money{Open: "7", Unknown: "5", Review: "7"}},
		{"nobody knows of its charge", charge(dunning.ChargeUnknown), 0, statemachine.Money{Open: "7", Unknown: "5", Review: "7"}},
		{"its charge did not arrive once", missed(1, nil), 0, statemachine.Money{Open: "7"}},
		{"its charge never arrives", missed(2, nil), 0, statemachine.Money{Open: "7", Review: "7", Stuck: "7"}},
		{"its charge did not arrive, and is not made again", missed(1, func(t *dunning.Tenant, _ *dunning.Invoice) { t.Method = dunning.Manual }), 0,
			statemachine.Money{Open: "7", Review: "7", Stuck: "7"}},
		{"its charge did not arrive, and the tenant is churned", missed(1, func(t *dunning.Tenant, _ *dunning.Invoice) { t.ChurnedAt = t0 }), 0,
			statemachine.Money{Open: "7", Review: "7", Stuck: "7"}},
		{"its charge never arrived, and it is paid", missed(2, func(_ *dunning.Tenant, i *dunning.Invoice) { i.PaidAt = t0 }), 0, statemachine.Money{}},
	} {
		x := open(t, dunning.Stripe)
		i := &x.a.Invoices[0]
		i.Amount = 7
		tt.of(&x.a.Tenant, i)
		if got := x.statsAt(tt.at).Money; got != tt.money {
			t.Errorf("%s: %+v, expected %+v", tt.name, got, tt.money)
		}
	}
}

// Each look-up hangs, or each churn: ticks put the step off for ever, so that nothing
// is due for long. The charge is counted from its intent, what is owed from its issue.
func TestAStepThatIsNeverDoneIsCounted(t *testing.T) {
	count := func(x *account, at time.Duration) dunning.Stats {
		x.do(dunning.StepBegun{By: by(dunning.Biller, after(at))})
		s := dunning.Stats{At: after(at), Tenants: map[dunning.TenantStatus]int64{}}
		s.Add(&x.a)
		return s
	}
	x := open(t, dunning.Stripe)
	x.do(intended(hour, "i1/0"))
	i, looked, tenant := &x.a.Invoices[0], hour+policy.Hold+policy.Linger, &x.a.Tenant
	if tenant.NeedsOperator(i, after(looked-time.Microsecond)) || !tenant.NeedsOperator(i, after(looked)) {
		t.Error("a person is awaited from when the charge is looked up")
	}
	if s := count(x, 30*day); !s.OldestOut.Equal(after(hour)) || !s.OldestDue.IsZero() || !s.OldestOwed.Equal(t0) {
		t.Errorf("a charge: %+v", s)
	}
	x = open(t, dunning.Manual)
	if s := count(x, 30*day); !s.OldestOwed.Equal(t0) || !s.OldestOut.IsZero() || !s.OldestDue.IsZero() {
		t.Errorf("a churn: %+v", s)
	}
	x.do(dunning.Churned{By: by(dunning.Biller, after(30*day))})
	if s := count(x, 31*day); !s.OldestOwed.IsZero() {
		t.Errorf("churned: %+v", s)
	}
	x.do(dunning.Reinstated{By: by(dunning.Host, after(31*day))})
	if s := count(x, 31*day); !s.OldestOwed.Equal(after(31 * day)) {
		t.Errorf("reinstated: %+v", s)
	}
}

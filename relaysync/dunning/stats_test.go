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

// Each look-up hangs, or each churn: ticks put the step off for ever, so that nothing
// is due for long. The charge is counted from its intent, what is owed from its issue.
func TestAStepThatIsNeverDoneIsCounted(t *testing.T) {
	count := func(x *account, at time.Duration) dunning.Stats {
		x.do(dunning.Ticked{By: by(dunning.Biller, after(at))})
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

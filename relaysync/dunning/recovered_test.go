package dunning_test

import (
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

func lookedBack(began, d time.Duration, invoice string) dunning.LookedBack {
	return dunning.LookedBack{By: by(dunning.Biller, after(d)), Invoice: invoice, Asked: after(began)}
}

// A restored database has forgotten who has paid: each open invoice from before is
// looked up at the provider and in the host's books, and before that nothing is
// charged, nobody churned and nobody written to.
func TestARestoredDatabaseAsksWhoHasPaid(t *testing.T) {
	for _, r := range []struct {
		name, then string
		method     dunning.Method
		at         time.Duration // of the restore
	}{
		{"charge", "charge i1", dunning.Stripe, hour},
		{"message", "notify i1", dunning.Manual, 2 * day},
		{"churn", "churn", dunning.Manual, 8 * day},
	} {
		for _, store := range []bool{true, false} {
			restored := func(x *account, at time.Duration) {
				if x.p.RecoveredAt, x.a.RecoveredAt = after(at), after(at-1); store { // the later one counts
					x.p.RecoveredAt, x.a.RecoveredAt = x.a.RecoveredAt, x.p.RecoveredAt
				}
			}
			x := open(t, r.method)
			restored(x, r.at)
			askWhoHasPaid(x, r.then, r.at, restored)
		}
	}
	// What is issued since was not forgotten; a charge that was out is looked up first.
	x := open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"))
	x.p.RecoveredAt = after(hour)
	// What is dated two ticks later may have been stored before.
	x.do(dunning.Issued{By: by(dunning.Host, after(hour)), Invoice: "i2", Amount: 1, CreatedAt: after(3 * hour)})
	x.do(dunning.Issued{By: by(dunning.Host, after(3*hour)), Invoice: "i3", Amount: 1, CreatedAt: after(3*hour + time.Microsecond)})
	x.expect(3*hour, "look up i1")
	x.do(asked(3*hour, 3*hour, "i1/0"))
	x.expect(3*hour, "look back i1")
	x.do(lookedBack(3*hour, 3*hour, "i1"))
	x.expect(3*hour, "look back i2")
	x.do(lookedBack(3*hour, 3*hour, "i2"), intended(3*hour, "i1/0"), answered(3*hour, "i1/0", statemachine.Done))
	x.expect(3*hour, "charge i2")
	x.do(intended(3*hour, "i2/0"), dunning.ChargeAnswered{By: by(dunning.Biller, after(3*hour)), Invoice: "i2", Key: "i2/0", Outcome: statemachine.Done})
	x.expect(3*hour+time.Microsecond, "charge i3")
	// What was dated by a clock that was ahead was stored before, whatever its date says.
	x = open(t, dunning.Stripe)
	x.jumps = true
	x.do(dunning.Issued{By: by(dunning.Host, after(10*day)), Invoice: "i2", Amount: 1})
	x.p.RecoveredAt = after(hour)
	x.do(dunning.StepBegun{By: by(dunning.Biller, after(2*hour))}, lookedBack(2*hour, 2*hour, "i1"))
	x.expect(2*hour, "look back i2")
	x.do(lookedBack(2*hour, 2*hour, "i2"), dunning.Paid{By: by(dunning.Host, after(2*hour)), Invoice: "i1", Method: dunning.Manual})
	x.expect(2*hour, "charge i2")
	// A look-back by a clock that was ahead is of its own restore, and not of a later one; nor is
	// one of an earlier restore.
	for _, began := range []time.Duration{10 * day, hour} {
		x = open(t, dunning.Stripe)
		x.jumps = true
		x.p.RecoveredAt = after(began - hour/2)
		x.do(lookedBack(began, began, "i1"))
		x.p.RecoveredAt = after(2 * day)
		x.do(dunning.StepBegun{By: by(dunning.Biller, after(3*day))})
		for _, d := range []time.Duration{3 * day, 11 * day} {
			x.expect(d, "look back i1")
		}
		x.nothing(lookedBack(day, 3*day, "i1"))
		x.do(lookedBack(3*day, 3*day, "i1"))
		x.expect(3*day, "charge i1")
	}
	// Of who is churned nothing is asked before they are back.
	x = open(t, dunning.Manual)
	x.do(dunning.Churned{By: by(dunning.Biller, after(7*day))})
	x.p.RecoveredAt = after(8 * day)
	x.nothing(lookedBack(9*day, 9*day, "i1"))
	x.do(dunning.Reinstated{By: by(dunning.Host, after(9*day))})
	x.expect(9*day, "look back i1")
}

// askWhoHasPaid goes through a restore at a time, of an account with one open invoice.
func askWhoHasPaid(x *account, then string, at time.Duration, restored func(*account, time.Duration)) {
	arrived := policy.Hold + policy.Linger
	x.expect(at, "wait 7m0s") // what was sent until then arrives
	x.expect(at+arrived-time.Second, "wait 1s")
	x.expect(at+arrived, "look back i1")
	x.refused(statemachine.ErrIllegal, dunning.Churned{By: by(dunning.Biller, after(at+arrived))})
	x.refused(statemachine.ErrIllegal, intended(at+arrived, "i1/0"))
	for _, began := range []time.Duration{0, at + arrived - time.Second, at + day + time.Second} { // early, or by a clock that is ahead
		x.nothing(lookedBack(began, at+day, "i1"))
	}
	x.refused(statemachine.ErrInvalid, dunning.LookedBack{By: by(dunning.Biller, after(at+day)), Invoice: "i1"})
	x.refused(statemachine.ErrNotFound, lookedBack(at+arrived, at+arrived, "i9"))
	paid := *x
	x.do(lookedBack(at+arrived, at+arrived, "i1"))
	x.nothing(lookedBack(at+arrived, at+arrived, "i1"))
	x.expect(at+arrived, then)
	paid.do(dunning.Paid{By: by(dunning.Host, after(at+arrived)), Invoice: "i1", Method: dunning.Stripe, Payment: "ch_1"})
	paid.expect(at+arrived, "nothing")
	// Another restore forgets anew, also what was looked for.
	restored(x, at+day)
	x.expect(at+day+arrived, "look back i1")
}

// A charge that never arrives is made again at once, and once more each day: what
// comes after it, and whoever counts what is owed, is not kept waiting for ever.
func TestAChargeThatNeverArrives(t *testing.T) {
	x := open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"), missing("i1/0"))
	x.expect(hour, "charge i1")
	x.do(intended(hour, "i1/0"), asked(2*hour, 2*hour, "i1/0"))
	x.expect(2*hour, "wait 1h0m0s")
	x.expect(day+hour-time.Second, "notify i1")
	x.expect(day+hour, "charge i1")
	if i := x.a.Invoices[0]; !x.a.Tenant.NeedsOperator(&i, after(2*hour)) || !x.a.Tenant.NeverArrives(&i) {
		t.Error("nobody is told that the provider does not get it")
	}
	// Whatever the tenant chooses: the same charge, until it is answered, or a person says
	// that it failed.
	switched := *x
	switched.do(dunning.MethodSet{By: by(dunning.Host, after(3*hour)), Method: dunning.NWC})
	switched.expect(day, "notify i1")
	switched.do(dunning.Resolved{By: by(dunning.Operator, after(4*hour)), Invoice: "i1", Key: "i1/0", Outcome: statemachine.Failed,
		Reason: "no longer our provider"})
	switched.expect(4*hour, "charge i1")
	if i := switched.a.Invoices[0]; switched.a.Tenant.NeedsOperator(&i, after(4*hour)) {
		t.Error("it is another charge")
	}
	switched.do(intended(4*hour, "i1/1"), asked(5*hour, 5*hour, "i1/1")) // the first of another key
	switched.expect(5*hour, "charge i1")
	y := open(t, dunning.Stripe)
	y.do(intended(0, "i1/0"), missing("i1/0"), intended(6*day+20*hour, "i1/0"), asked(7*day, 7*day, "i1/0"))
	y.expect(7*day, "churn")
}

// A charge that no look-up has found, and that is not made again: who pays by hand now, or
// is churned. A person is named at once, whose word ends it; so does the method.
func TestAChargeThatIsNotMadeAgain(t *testing.T) {
	method := func(d time.Duration, m dunning.Method) dunning.Event {
		return dunning.MethodSet{By: by(dunning.Host, after(d)), Method: m}
	}
	manual := method(2*hour, dunning.Manual)
	amended := func(d time.Duration) dunning.Event {
		return dunning.Amended{By: by(dunning.Host, after(d)), Invoice: "i1", Amount: 50}
	}
	told := func(x *account, d time.Duration, want bool) {
		t.Helper()
		alerts := dunning.Alerts(x.statsAt(d), dunning.DefaultThresholds())
		alert := slices.ContainsFunc(alerts, func(a statemachine.Alert) bool { return a.Name == "never arrives" })
		if got := x.a.Tenant.NeedsOperator(&x.a.Invoices[0], after(d)); got != want || alert != want {
			t.Errorf("a person is named: %v, alerts %v, expected %v", got, alerts, want)
		}
	}
	for name, x := range map[string]*account{
		"missing, then by hand": open(t, dunning.Stripe).do(intended(0, "i1/0"), missing("i1/0"), manual),
		"by hand, then missing": open(t, dunning.Stripe).do(intended(0, "i1/0"), manual, asked(2*hour, 2*hour, "i1/0")),
		"missing, then churned": open(t, dunning.Manual).do(method(0, dunning.Stripe), intended(6*day+23*hour, "i1/0"),
			asked(7*day, 7*day, "i1/0"),
			method(7*day, dunning.Manual), dunning.Churned{By: by(dunning.Biller, after(7*day))}, method(7*day, dunning.Stripe)),
	} {
		t.Log(name)
		y := *x
		told(x, 8*day, true)
		x.refused(statemachine.ErrHeld, amended(8*day))
		x.do(dunning.Resolved{By: by(dunning.Operator, after(8*day)), Invoice: "i1", Key: "i1/0", Outcome: statemachine.Failed,
			Reason: "not known there"})
		told(x, 8*day, false)
		x.do(amended(8 * day))
		if y.a.Tenant.Status() == dunning.TenantActive {
			y.do(dunning.MethodSet{By: by(dunning.Host, after(3*hour)), Method: dunning.NWC})
			told(&y, 3*hour, false)
			y.expect(3*hour, "charge i1")
		}
	}
}

// A clock that was ahead when a charge failed keeps nobody from the next one.
func TestAChargeAfterAClockThatWentBack(t *testing.T) {
	x := open(t, dunning.Stripe)
	x.do(intended(30*day, "i1/0"), answered(30*day, "i1/0", statemachine.Failed))
	x.expect(30*day-time.Second, "churn") // a second is no such clock
	x.expect(29*day, "charge i1")
	x.expect(hour, "charge i1")
}

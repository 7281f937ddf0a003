package dunning_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab/looplabtest"
	"github.com/settlehq/settle/statemachine/switches"
)

func TestTablesAgreeWithLooplab(t *testing.T) {
	looplabtest.Agree(t, dunning.TenantMachine)
	looplabtest.Agree(t, dunning.InvoiceMachine)
}

func TestBoundaries(t *testing.T) {
	// 24 hours to the message, 7 days to the churn; ages are whole seconds.
	x := open(t, dunning.Manual)
	x.expect(0, "wait 1h0m0s")
	x.expect(22*hour, "wait 1h0m0s")
	x.expect(23*hour+30*time.Minute, "wait 30m0s")
	x.expect(24*hour-time.Second, "wait 1s")
	x.expect(24*hour-time.Microsecond, "wait 1µs")
	x.expect(24*hour, "notify i1")
	x.expect(24*hour+time.Second, "notify i1")
	x.expect(7*day-time.Second, "notify i1")
	x.expect(7*day, "churn") // the message is overtaken
	x.notify(24 * hour)
	x.expect(24*hour, "wait 5m0s")
	x.expect(25*hour, "wait 1h0m0s")
	x.expect(7*day-time.Second, "wait 1s")
	x.refused(statemachine.ErrIllegal, dunning.Churned{By: by(dunning.Biller, after(7*day-time.Second))})
	x.expect(7*day, "churn")
	x.do(dunning.Churned{By: by(dunning.Biller, after(7*day))})
	if !x.last.Churned() {
		t.Error("the change does not say that it churned")
	}
	x.nothing(dunning.Churned{By: by(dunning.Biller, after(8*day))})
	for d := 7 * day; d < 60*day; d += hour {
		x.expect(d, "nothing") // once, and no message after it
	}
	// Fractions of a second do not count.
	x = &account{t: t, p: policy}
	x.do(dunning.Enrolled{By: by(dunning.Host, t0), Tenant: "tenant", Method: dunning.Manual},
		dunning.Issued{By: by(dunning.Host, after(900*time.Millisecond)), Invoice: "i1", Amount: 100})
	x.expect(24*hour-time.Microsecond, "wait 1µs")
	x.expect(24*hour, "notify i1")
	// 12 days between two messages about one invoice.
	x = open(t, dunning.Manual)
	x.p.Grace = 100 * day
	x.notify(3 * day)
	x.expect(15*day-time.Second, "wait 1s")
	x.expect(15*day, "notify i1")
	x.notify(20 * day) // late: the next is 12 days from then
	x.expect(31*day, "wait 1h0m0s")
	x.expect(32*day, "notify i1")
}

// A clock that went back: what lies in the future is not due.
func TestClocksThatGoBack(t *testing.T) {
	for _, m := range []dunning.Method{dunning.Manual, dunning.Stripe} {
		x := open(t, m)
		x.expect(-hour, "wait 1h0m0s")
		x.expect(-1000*day, "wait 1h0m0s")
	}
	x := open(t, dunning.Manual)
	x.notify(2 * day)
	x.expect(day, "wait 1h0m0s")
	x = open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"), answered(time.Second, "i1/0", statemachine.Failed))
	x.expect(-day, "wait 1h0m0s")
	x.do(dunning.StepBegun{By: by(dunning.Biller, after(-hour))})
	if x.a.Tenant.DueAt != after(0) {
		t.Errorf("asked again in %v", x.a.Tenant.DueAt.Sub(after(-day)))
	}
}

func TestCharges(t *testing.T) {
	x := open(t, dunning.NWC)
	x.expect(0, "charge i1")
	if a := x.p.Next(x.a, t0).Action; a.Key != "i1/0" || a.Amount != 100 || a.Method != dunning.NWC {
		t.Errorf("%+v", a)
	}
	x.refused(statemachine.ErrConflict, dunning.ChargeIntended{By: by(dunning.Biller, t0), Invoice: "i1", Key: "i1/1"})
	x.do(intended(0, "i1/0"))
	x.nothing(intended(time.Second, "i1/0"))
	// Found open by a later tick or a restart: a look-up, never a charge.
	x.expect(0, "wait 7m0s")
	x.expect(7*time.Minute, "look up i1")
	x.expect(10*day, "look up i1")
	x.refused(statemachine.ErrIllegal, dunning.Churned{By: by(dunning.Biller, after(10*day))})
	x.refused(statemachine.ErrHeld, dunning.Amended{By: by(dunning.Host, after(day)), Invoice: "i1", Amount: 50})
	// Unknown: no charge, no churn and no message meanwhile; looked up each hour.
	x.do(answered(time.Minute, "i1/0", statemachine.Unknown))
	x.expect(2*time.Minute, "wait 59m0s")
	x.expect(20*day, "look up i1")
	x.refused(statemachine.ErrIllegal, answered(time.Hour, "i1/0", statemachine.Deferred))
	// It never arrived: again, under the same key.
	x.do(asked(2*hour, 2*hour, "i1/0"))
	x.nothing(asked(2*hour, 2*hour, "i1/0"))
	x.expect(2*hour, "charge i1")
	x.do(intended(2*hour, "i1/0"))
	// Failed: another key, 24 hours after the intent.
	x.do(answered(2*hour+time.Minute, "i1/0", statemachine.Failed))
	x.nothing(answered(3*hour, "i1/0", statemachine.Failed))
	x.nothing(answered(3*hour, "i1/0", statemachine.Unknown))
	x.refused(statemachine.ErrInvalid, answered(3*hour, "i1/00", statemachine.Done)) // one key has one spelling
	x.refused(statemachine.ErrInvalid, answered(3*hour, "i1/1", statemachine.Done))  // no such charge was made yet
	x.refused(statemachine.ErrInvalid, answered(3*hour, "i1/-1", statemachine.Done))
	if i := x.a.Invoices[0]; i.Attempts != 1 || i.PaymentError != "declined" || x.a.Tenant.PaymentError != "declined" {
		t.Errorf("%+v", i)
	}
	x.expect(26*hour-time.Second, "notify i1")
	x.notify(25 * hour)
	x.expect(26*hour-time.Second, "wait 1s")
	x.expect(26*hour, "charge i1")
	x.refused(statemachine.ErrConflict, intended(26*hour, "i1/0"))
	x.do(intended(26*hour, "i1/1"), answered(26*hour, "i1/1", statemachine.Deferred))
	// Deferred: not before an hour, and it holds back nothing.
	x.expect(26*hour, "wait 1h0m0s")
	x.expect(7*day, "charge i1") // autopay comes before churn
	x.do(intended(7*day, "i1/1"), answered(7*day, "i1/1", statemachine.Deferred))
	x.expect(7*day, "churn")
	// A changed method is due at once.
	x.do(dunning.MethodSet{By: by(dunning.Host, after(7*day)), Method: dunning.Stripe})
	x.nothing(dunning.MethodSet{By: by(dunning.Host, after(7*day)), Method: dunning.Stripe})
	x.expect(7*day, "charge i1")
	x.do(intended(7*day, "i1/2"), answered(7*day, "i1/2", statemachine.Done))
	x.nothing(answered(8*day, "i1/2", statemachine.Done))
	if i := x.a.Invoices[0]; i.Status() != dunning.InvoicePaid || i.Method != dunning.Stripe || i.PaidKey != "i1/2" || x.a.Tenant.PaymentError != "" {
		t.Errorf("%+v", i)
	}
	x.expect(100*day, "nothing")
	x.refused(statemachine.ErrInvalid, answered(8*day, "i1/3", statemachine.Done))
	x.refused(statemachine.ErrInvalid, answered(8*day, "i1/01", statemachine.Done))
	x.refused(statemachine.ErrNotFound, answered(8*day, "i9/0", statemachine.Done))
}

// A charge that never arrived is made again at once, not when it would have been
// looked up.
// A switch that stops charges refuses a new intent, and not the same one again nor its answer.
func TestAStopOfChargesRefusesIntents(t *testing.T) {
	for level, stops := range map[switches.Level]bool{0: false, switches.On: false, switches.Begin: true, switches.Send: true} {
		x, out := open(t, dunning.Stripe), open(t, dunning.Stripe).do(intended(0, "i1/0"))
		for _, a := range []*account{x, out} {
			a.a.Charging(switches.State{Level: level}, t0)
		}
		if stops {
			x.refused(switches.ErrOnHold, intended(0, "i1/0"))
		} else {
			x.do(intended(0, "i1/0"))
		}
		out.nothing(intended(0, "i1/0"))
		out.do(answered(hour, "i1/0", statemachine.Done))
	}
	x := open(t, dunning.Stripe)
	x.a.Charging(switches.State{Recovering: true, RecoveredAt: t0}, after(hour))
	if !x.a.RecoveredAt.Equal(after(hour)) {
		t.Errorf("while charges are recovering they are started at %v", x.a.RecoveredAt)
	}
}

func TestNeverArrived(t *testing.T) {
	for _, o := range []statemachine.Outcome{0, statemachine.Unknown} {
		x := open(t, dunning.Stripe)
		x.do(intended(0, "i1/0"))
		if o != 0 {
			x.do(answered(0, "i1/0", o))
		}
		x.do(missing("i1/0"))
		x.expect(hour, "charge i1")
	}
}

// Two billers of one tenant: the second one's intent is no repetition, or both
// would charge, and both would write.
func TestAnIntentIsOneBillers(t *testing.T) {
	x := open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"))
	other := intended(0, "i1/0")
	other.Actor = "another"
	x.refused(statemachine.ErrHeld, other)
	x.do(answered(0, "i1/0", statemachine.Unknown))
	x.refused(statemachine.ErrIllegal, intended(time.Second, "i1/0"))
	x = open(t, dunning.Manual)
	key := x.notify(day)
	late := dunning.NoticeIntended{By: by(dunning.Biller, after(day)), Notice: key}
	x.nothing(late)
	late.Actor = "another"
	x.refused(statemachine.ErrHeld, late)
}

// A charge that stays unknown is looked up less and less, once a day in the end.
func TestLookUpsBackOff(t *testing.T) {
	x := open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"))
	at, want := time.Duration(0), []time.Duration{hour, hour, 2 * hour, 4 * hour, 8 * hour, 16 * hour, day, day}
	for _, pause := range want {
		x.do(answered(at, "i1/0", statemachine.Unknown))
		at += pause
		x.expect(at-time.Second, "wait 1s")
		x.expect(at, "look up i1")
	}
}

// A method that changes while a charge is out is due at once when that ends.
func TestMethodChangesDuringACharge(t *testing.T) {
	for _, o := range []statemachine.Outcome{statemachine.Failed, statemachine.Deferred} {
		x := open(t, dunning.Stripe)
		x.do(intended(0, "i1/0"), dunning.MethodSet{By: by(dunning.Host, after(time.Second)), Method: dunning.NWC}, answered(time.Minute, "i1/0", o))
		x.expect(time.Minute, "charge i1")
		if a := x.p.Next(x.a, after(time.Minute)).Action; a.Method != dunning.NWC {
			t.Errorf("%v: charged by %v", o, a.Method)
		}
	}
}

// Money that comes for what needs none any more.
func TestOverpaid(t *testing.T) {
	for name, closing := range map[string]dunning.Event{
		"paid": dunning.Paid{By: by(dunning.Host, after(hour)), Invoice: "i1", Method: dunning.Manual},
		"void": dunning.Voided{By: by(dunning.Host, after(hour)), Invoice: "i1"},
	} {
		x := open(t, dunning.Stripe)
		x.do(intended(0, "i1/0"), closing)
		x.nothing(closing)
		x.expect(2*hour, "look up i1")
		before := x.a.Invoices[0]
		x.do(answered(2*hour, "i1/0", statemachine.Done))
		x.nothing(answered(3*hour, "i1/0", statemachine.Done))
		i := x.a.Invoices[0]
		if i.PaidAt != before.PaidAt || i.VoidedAt != before.VoidedAt || i.Method != before.Method || !slices.Equal(i.Overpayments(), []string{"i1/0"}) || i.OverpaidAt != after(2*hour) {
			t.Errorf("%s: %+v", name, i)
		}
		x.expect(2*hour, "nothing")
		x.refused(statemachine.ErrInvalid, dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: "i1/0"})
		x.refused(statemachine.ErrConflict, dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: "i1/1", Reason: "paid back"})
		x.do(dunning.Acknowledged{By: by(dunning.Operator, after(day)), Invoice: "i1", Key: "i1/0", Reason: "paid back"})
		x.nothing(answered(3*day, "i1/0", statemachine.Done))
		// Failed or missing after the end changes nothing of it.
		x = open(t, dunning.Stripe)
		x.do(intended(0, "i1/0"), closing, answered(2*hour, "i1/0", statemachine.Failed))
		x.expect(2*hour, "nothing")
	}
	// A charge that was declared failed, and is done: the next one is out.
	x := open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Failed), intended(day, "i1/1"), answered(day+hour, "i1/0", statemachine.Done))
	if i := x.a.Invoices[0]; i.PaidKey != "i1/0" || i.Charge != dunning.ChargeOpen {
		t.Errorf("%+v", i)
	}
	x.do(answered(day+2*hour, "i1/1", statemachine.Done))
	if i := x.a.Invoices[0]; i.PaidKey != "i1/1" || !slices.Equal(i.Overpayments(), []string{"i1/0"}) {
		t.Errorf("%+v", i)
	}
}

// A message by a clock that was ahead is not waited for when the right clock comes to its time.
func TestAMessageOfAClockThatWasAheadHoldsNothingUp(t *testing.T) {
	x := open(t, dunning.Manual)
	x.p.Grace = 400 * day
	x.notify(10 * day)
	x.jumps = true
	x.do(dunning.StepBegun{By: by(dunning.Biller, after(day))})
	x.expect(10*day, "wait 1h0m0s")
}

// Late by days: each due thing once, and no burst.
func TestLateTick(t *testing.T) {
	x := open(t, dunning.Manual)
	x.p.Grace = 400 * day
	x.notify(300 * day)
	x.expect(300*day+5*time.Minute, "wait 1h0m0s")
	x.expect(312*day-time.Second, "wait 1s")
	x = open(t, dunning.Stripe)
	x.do(intended(30*day, "i1/0"), answered(30*day, "i1/0", statemachine.Failed))
	x.expect(30*day, "churn")
	x.do(dunning.Churned{By: by(dunning.Biller, after(30*day))})
	x.expect(30*day, "nothing")
}

func TestAfterChurn(t *testing.T) {
	x := open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Failed), dunning.MethodSet{By: by(dunning.Host, after(hour)), Method: dunning.Manual})
	x.do(dunning.Churned{By: by(dunning.Biller, after(7*day))}, dunning.MethodSet{By: by(dunning.Host, after(8*day)), Method: dunning.Stripe},
		dunning.Issued{By: by(dunning.Host, after(8*day)), Invoice: "i2", Amount: 5})
	x.expect(40*day, "nothing")
	x.refused(statemachine.ErrIllegal, intended(40*day, "i1/1"))
	// A payment does not undo it.
	x.do(dunning.Paid{By: by(dunning.Host, after(41*day)), Invoice: "i1", Method: dunning.Manual})
	if x.a.Tenant.Status() != dunning.TenantChurned {
		t.Error("a payment undid a churn")
	}
	// A reinstatement does; ages begin anew.
	x.do(dunning.MethodSet{By: by(dunning.Host, after(42*day)), Method: dunning.Manual}, dunning.Reinstated{By: by(dunning.Operator, after(42*day))})
	x.nothing(dunning.Reinstated{By: by(dunning.Operator, after(43*day))})
	x.expect(43*day-time.Second, "wait 1s")
	x.expect(43*day, "notify i2")
	x.expect(49*day-time.Second, "notify i2")
	x.expect(49*day, "churn")
}

// A biller goes on by itself: after its events the next step is not for others
// before it would have been. What a host or an operator says wakes at once.
func TestABillerGoesOnItself(t *testing.T) {
	x := open(t, dunning.Stripe)
	due := func(want time.Duration) {
		t.Helper()
		if got := x.a.Tenant.DueAt; !got.Equal(after(want)) {
			t.Errorf("due after %v, expected %v", got.Sub(t0), want)
		}
	}
	due(0)
	x.do(dunning.StepBegun{By: by(dunning.Biller, after(2*day))})
	due(2*day + 5*time.Minute)
	x.do(intended(2*day, "i1/0"), answered(2*day+time.Minute, "i1/0", statemachine.Failed)) // and a message is due
	due(2*day + 6*time.Minute)
	x.do(dunning.Provisioned{By: by(dunning.Host, after(2*day+2*time.Minute))})
	due(2*day + 2*time.Minute)
	x.do(dunning.NoticeAnswered{By: by(dunning.Biller, after(2*day+3*time.Minute)), Notice: x.notify(2*day + 2*time.Minute), Outcome: statemachine.Done})
	due(2*day + 63*time.Minute)
	x.do(dunning.Issued{By: by(dunning.Host, after(2*day+4*time.Minute)), Invoice: "i2", Amount: 1}, intended(2*day+4*time.Minute, "i2/0"),
		dunning.Issued{By: by(dunning.Host, after(2*day+4*time.Minute)), Invoice: "i3", Amount: 1}) // it waits for the charge
	due(2*day + 11*time.Minute)
	x.do(answered(2*day+8*time.Minute, "i2/0", statemachine.Done))
	due(2*day + 11*time.Minute)
	x.do(intended(2*day+8*time.Minute, "i3/0"), answered(2*day+8*time.Minute, "i3/0", statemachine.Unknown),
		dunning.Issued{By: by(dunning.Host, after(2*day+9*time.Minute)), Invoice: "i4", Amount: 1}, answered(2*day+40*time.Minute, "i3/0", statemachine.Done))
	due(2*day + 45*time.Minute) // not as late as the look-up was
	x.do(intended(2*day+40*time.Minute, "i4/0"), dunning.Resolved{By: by(dunning.Operator, after(2*day+170*time.Minute)), Invoice: "i4", Key: "i4/0",
		Outcome: statemachine.Failed, Reason: "seen"},
		dunning.MethodSet{By: by(dunning.Operator, after(2*day+170*time.Minute)), Method: dunning.NWC})
	due(2*day + 170*time.Minute)
}

// Nobody looks a charge up before Policy.Hold and Policy.Linger are over, to the
// microsecond.
func TestHeldToTheWholeSecond(t *testing.T) {
	const begun = 900 * time.Millisecond
	for _, hold := range []time.Duration{time.Second, policy.Hold} {
		x := open(t, dunning.Stripe)
		x.p.Hold = hold
		x.do(intended(begun, "i1/0"))
		x.expect(begun+hold+policy.Linger-time.Microsecond, "wait 100.001ms")
		x.expect(hold+policy.Linger+time.Second, "look up i1")
	}
	x := open(t, dunning.Stripe) // also where no time is longer than the hold
	x.p.Hold = x.p.ChargeAgain
	x.do(intended(begun, "i1/0"))
	x.expect(begun, "wait 1h0m0s")
}

// A charge of a clock that was ahead for years is looked up now, and not then.
func TestLookUpAfterAClockThatWentBack(t *testing.T) {
	const ahead = 3650 * day
	x := open(t, dunning.Stripe)
	x.do(intended(ahead, "i1/0"))
	x.expect(ahead, "wait 7m0s")
	for _, o := range []statemachine.Outcome{0, statemachine.Unknown} {
		if o != 0 {
			x.do(answered(ahead, "i1/0", o))
		}
		x.expect(ahead-23*hour, "wait 1h0m0s")
		x.expect(ahead-25*hour, "look up i1")
		x.expect(hour, "look up i1")
		x.nothing(asked(ahead-23*hour, ahead-23*hour, "i1/0"))
	}
	x.do(answered(hour, "i1/0", statemachine.Unknown))
	x.expect(hour, "wait 1h0m0s")
	x.nothing(missing("i1/0"))
	x.do(asked(2*hour, 2*hour, "i1/0"))
	x.expect(2*hour, "charge i1")
}

// One charge at a time, in the order of (created_at, id).
func TestOrderOfCharges(t *testing.T) {
	x := open(t, dunning.Stripe)
	x.do(dunning.Issued{By: by(dunning.Host, after(time.Second)), Invoice: "i0", Amount: 3, CreatedAt: t0}, dunning.Issued{By: by(dunning.Host, after(time.Second)), Invoice: "i3", Amount: 3})
	var order []string
	for d := time.Second; ; d += time.Second {
		step := x.p.Next(x.a, after(d))
		if step.Action == nil {
			break
		}
		i := step.Action.Invoices[0]
		order = append(order, i)
		x.do(intended(d, i+"/0"))
		for _, other := range []string{"i0", "i1", "i3"} {
			if other != i && x.a.Invoice(other).Charge == dunning.ChargeNone {
				x.refused(statemachine.ErrIllegal, intended(d, fmt.Sprintf("%s/%d", other, x.a.Invoice(other).Attempts)))
			}
		}
		x.do(answered(d, i+"/0", statemachine.Failed))
	}
	if want := []string{"i0", "i1", "i3"}; !slices.Equal(order, want) {
		t.Errorf("charged in the order %v, expected %v", order, want)
	}
}

func TestInput(t *testing.T) {
	x := open(t, dunning.Stripe)
	host := by(dunning.Host, t0)
	for _, ev := range []dunning.Event{
		dunning.Issued{By: host, Invoice: "", Amount: 1}, dunning.Issued{By: host, Invoice: "n", Amount: -1}, dunning.Issued{By: host, Invoice: strings.Repeat("n", 89), Amount: 1},
		dunning.Issued{By: host, Invoice: "n", Amount: 1, CreatedAt: t0.AddDate(8000, 0, 0)}, dunning.Amended{By: host, Invoice: "i1", Amount: 101},
		dunning.Amended{By: host, Invoice: "i1", Amount: -1}, dunning.MethodSet{By: host}, dunning.Paid{By: host, Invoice: "i1"},
		dunning.NoticeAnswered{By: by(dunning.Biller, t0), Notice: "", Outcome: statemachine.Failed}, dunning.NoticeAnswered{By: by(dunning.Biller, t0), Notice: "n"},
		dunning.Voided{By: dunning.By{Role: dunning.Host, At: t0}, Invoice: "i1"}, dunning.Voided{By: dunning.By{Actor: "a", Role: dunning.Host}, Invoice: "i1"},
	} {
		x.refused(statemachine.ErrInvalid, ev)
	}
	stale := by(dunning.Host, t0)
	stale.Version = 1
	x.refused(statemachine.ErrConflict, dunning.Voided{By: stale, Invoice: "i1"})
	x.refused(statemachine.ErrForbidden, dunning.Churned{By: host})
	x.refused(statemachine.ErrForbidden, dunning.Resolved{By: by(dunning.Biller, t0)})
	x.refused(statemachine.ErrForbidden, dunning.Paid{By: by(dunning.Biller, t0)})
	x.nothing(dunning.Issued{By: host, Invoice: "i1", Amount: 100})
	x.refused(statemachine.ErrIllegal, dunning.Issued{By: host, Invoice: "i1", Amount: 99})
	x.nothing(dunning.Enrolled{By: host, Tenant: "tenant", Method: dunning.Stripe})
	x.refused(statemachine.ErrIllegal, dunning.Enrolled{By: host, Tenant: "tenant", Method: dunning.NWC})
	empty := &account{t: t, p: policy}
	empty.refused(statemachine.ErrNotFound, dunning.Voided{By: host, Invoice: "i1"})
	empty.refused(statemachine.ErrInvalid, dunning.Enrolled{By: host, Tenant: "x"})
	x.do(dunning.Voided{By: host, Invoice: "i1"})
	x.refused(statemachine.ErrIllegal, dunning.Amended{By: host, Invoice: "i1", Amount: 1})
	for i := range dunning.MaxInvoices {
		x.do(dunning.Issued{By: host, Invoice: fmt.Sprint("n", i), Amount: 0})
		if i > 20 && testing.Short() {
			return
		}
	}
	x.refused(statemachine.ErrInvalid, dunning.Issued{By: host, Invoice: "one more", Amount: 0})
}

// The longest sleep is an hour; a step is held for five minutes at most.
func TestOverslept(t *testing.T) {
	x := open(t, dunning.Manual)
	for _, p := range []dunning.Policy{policy, func() dunning.Policy { p := policy; p.Tick = time.Minute; return p }()} {
		x.a.Tenant.DueAt = after(max(p.Tick, p.Hold))
		if p.Overslept(&x.a.Tenant, t0) || !p.Overslept(&x.a.Tenant, after(-time.Microsecond)) {
			t.Errorf("the boundary with a tick of %v", p.Tick)
		}
	}
	if policy.Overslept(&dunning.Tenant{}, t0) {
		t.Error("nothing is owed")
	}
}

// A tick takes the step for its process, for so long; where nothing is due it
// names the next time.
func TestTick(t *testing.T) {
	x := open(t, dunning.Manual)
	for d, want := range map[time.Duration]time.Duration{0: hour, 24*hour - time.Minute: time.Minute, 24 * hour: 5 * time.Minute, 8 * day: 5 * time.Minute} {
		y := *x
		c, err := x.p.Apply(y.lived(after(d)).a, dunning.StepBegun{By: by(dunning.Biller, after(d))})
		if got := c.New.Tenant.DueAt.Sub(after(d)); err != nil || got != want || len(c.Log) > 0 {
			t.Errorf("after %v the next step is in %v, %v, expected %v", d, got, err, want)
		}
	}
	x.do(dunning.Voided{By: by(dunning.Host, t0), Invoice: "i1"})
	if !x.a.Tenant.DueAt.IsZero() {
		t.Errorf("nothing is owed, and a step is due at %v", x.a.Tenant.DueAt)
	}
}

func TestPolicyBounds(t *testing.T) {
	if err := policy.Validate(); err != nil {
		t.Error(err)
	}
	for _, d := range []time.Duration{0, -day, time.Second / 2, time.Second * 3 / 2, 1 << 62} {
		for i := range 8 {
			p := policy
			*[]*time.Duration{&p.Grace, &p.FreshGrace, &p.NoticeEvery, &p.ChargeAgain, &p.Tick, &p.Hold, &p.Linger, &p.UnknownFor}[i] = d
			if p.Validate() == nil {
				t.Errorf("duration %d of %v is taken", i, d)
			}
		}
	}
}

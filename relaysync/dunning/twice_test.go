package dunning_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// What must not happen twice: a charge, a message.

func missing(key string) dunning.ChargeMissing {
	return asked(hour, hour, key)
}

// A biller sleeps between its intent and its charge. Another one finds that the
// charge never arrived and makes the next: the same one, so that the provider takes
// both for one, whatever the tenant has chosen meanwhile. A lower amount waits.
func TestWhatMayStillArriveIsChargedAgainAndNothingElse(t *testing.T) {
	host := by(dunning.Host, after(hour))
	method := func(m dunning.Method) dunning.Event { return dunning.MethodSet{By: host, Method: m} }
	for name, between := range map[string][]dunning.Event{
		"nothing changed":            nil,
		"another method":             {method(dunning.NWC)},
		"the method there and back":  {method(dunning.NWC), method(dunning.Stripe)},
		"a method that does not":     {method(dunning.Manual), method(dunning.NWC)},
		"another actor's not trying": {intended(hour, "i1/0"), answered(hour, "i1/0", statemachine.Deferred), method(dunning.NWC)},
	} {
		for _, early := range []bool{false, true} { // the change came before the finding
			x := open(t, dunning.Stripe)
			if x.do(intended(0, "i1/0")); early && len(between) > 0 {
				if _, ok := between[0].(dunning.MethodSet); !ok {
					continue
				}
				x.do(between...).do(missing("i1/0"))
			} else {
				x.do(missing("i1/0")).do(between...)
			}
			x.refused(statemachine.ErrHeld, dunning.Amended{By: host, Invoice: "i1", Amount: 50})
			a := x.p.Next(x.a, after(day)).Action
			if a == nil || a.Key != "i1/0" || a.Method != dunning.Stripe || a.Amount != 100 {
				t.Fatalf("%s: the next charge is %+v", name, a)
			}
			x.refused(statemachine.ErrConflict, intended(day, "i1/1"))
			x.do(intended(day, "i1/0"), answered(day, "i1/0", statemachine.Failed))
			// Now the old key is of a charge that was refused, for good.
			x.do(dunning.Amended{By: by(dunning.Host, after(day)), Invoice: "i1", Amount: 50})
			if a := x.p.Next(x.a, after(2*day)).Action; a.Key != "i1/1" || a.Method != x.a.Tenant.Method || a.Amount != 50 {
				t.Errorf("%s: after a refusal the next charge is %+v", name, a)
			}
		}
	}
	// A tenant who pays by hand is not charged.
	x := open(t, dunning.Stripe).do(intended(0, "i1/0"), missing("i1/0"), method(dunning.Manual))
	x.expect(hour, "wait 1h0m0s")
	// One that was not tried leaves its key alone: nothing was sent under it.
	x = open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Deferred), dunning.MethodSet{By: host, Method: dunning.NWC}, intended(hour, "i1/1"))
	// Whoever said so has sent it all the same, and of more than is owed.
	x = open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Deferred), dunning.Amended{By: host, Invoice: "i1", Amount: 50},
		answered(2*hour, "i1/0", statemachine.Done))
	if i := x.a.Invoices[0]; i.Status() != dunning.InvoicePaid || !slices.Equal(i.Overpayments(), []string{"i1/0"}) {
		t.Errorf("100 were paid for 50, and nobody is told: %+v", i)
	}
}

// While the one who stored an intent may be about to charge, nobody else says
// that it was not tried; and nobody at all that it never arrived.
func TestAChargeIsItsHoldersUntilItIsLookedUp(t *testing.T) {
	other := func(d dunning.Event) dunning.Event {
		switch e := d.(type) {
		case dunning.ChargeAnswered:
			e.Actor = "another"
			return e
		}
		return d
	}
	x := open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"))
	x.refused(statemachine.ErrHeld, other(answered(hour, "i1/0", statemachine.Deferred)))
	x.do(answered(0, "i1/0", statemachine.Deferred)) // it knows what it did
}

// A charge is on its way for Policy.Hold, when the last one may be sent, and
// Policy.Linger. Only a look-up that began then has seen it, however slow it is.
func TestALookUpThatBeganBeforeTheChargeArrivedProvesNothing(t *testing.T) {
	arrived := policy.Hold + policy.Linger
	for _, o := range []statemachine.Outcome{0, statemachine.Unknown} {
		x := open(t, dunning.Stripe)
		x.p.Tick = time.Second
		x.do(intended(0, "i1/0"))
		if o != 0 {
			x.do(answered(0, "i1/0", o))
		}
		x.expect(arrived-time.Second, "wait 1s")
		x.expect(arrived, "look up i1")
		for _, d := range []time.Duration{-time.Second, 0, policy.Hold, arrived - time.Second} {
			x.nothing(asked(d, max(d, 0), "i1/0"))
			x.nothing(asked(d, day, "i1/0"))
		}
		x.nothing(asked(arrived+time.Second, arrived, "i1/0")) // its clock is ahead
		x.refused(statemachine.ErrInvalid, dunning.ChargeMissing{By: by(dunning.Biller, after(day)), Invoice: "i1", Key: "i1/0"})
		x.do(asked(arrived, arrived, "i1/0"))
	}
	// An intent of a policy that held for less: Next does not ask before it is complete.
	late := open(t, dunning.Stripe).do(intended(0, "i1/0"))
	late.p.Hold += 10 * time.Minute
	late.expect(arrived, "wait 10m0s")
	late.expect(arrived+10*time.Minute, "look up i1")
	// It is of the charge that was out then, and not of the next one, by the same key.
	x := open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"), missing("i1/0"), intended(hour, "i1/0"), answered(hour, "i1/0", statemachine.Unknown))
	x.nothing(asked(hour, 2*hour, "i1/0"))
	x.do(asked(2*hour, 2*hour, "i1/0"))
}

// A look-up counts if Next asks for it at the moment at which it begins, whatever is said
// before it ends: an Unknown that comes in between is of a charge that it may have missed.
// The other order gives the same: whoever sent the charge says Unknown behind the look-up.
func TestALookUpThatBeganBeforeAnUnknownProvesNothing(t *testing.T) {
	arrived := policy.Hold + policy.Linger
	times := []time.Duration{time.Minute, arrived, arrived + time.Second, hour, 2*hour - time.Second, 2 * hour, 3 * hour, 4 * hour, day}
	counted := 0
	for _, unknown := range times {
		for _, began := range times {
			for _, ended := range times {
				if began > ended || unknown > ended {
					continue
				}
				x := open(t, dunning.Stripe).do(intended(0, "i1/0"), answered(unknown, "i1/0", statemachine.Unknown))
				asks := began >= unknown && x.owes(after(began)) == "look up i1"
				if missing := asked(began, ended, "i1/0"); !asks {
					x.nothing(missing)
				} else {
					x.do(missing)
					x.expect(ended, "charge i1")
					counted++
				}
			}
		}
	}
	if counted == 0 {
		t.Fatal("no look-up counts")
	}
	x := open(t, dunning.Stripe).do(intended(0, "i1/0"), asked(hour, hour, "i1/0"), answered(2*hour, "i1/0", statemachine.Unknown))
	y := open(t, dunning.Stripe).do(intended(0, "i1/0"), answered(2*hour, "i1/0", statemachine.Unknown))
	y.nothing(asked(hour, 2*hour, "i1/0"))
	for _, d := range []time.Duration{4*hour - time.Second, 4 * hour} {
		want := "look up i1"
		if d < 4*hour {
			want = "wait 1s"
		}
		x.expect(d, want)
		y.expect(d, want)
	}
}

// Whoever sent a charge, and says it when a look-up has found nothing, sent it late.
func TestAChargeThatWasSentLateIsLookedUpAgain(t *testing.T) {
	sent := func(d time.Duration) *account {
		return open(t, dunning.Stripe).do(intended(0, "i1/0"), missing("i1/0"))
	}
	unknown := answered(hour, "i1/0", statemachine.Unknown)
	x := sent(0)
	x.do(unknown)
	x.expect(2*hour, "look up i1")
	other := unknown
	other.Actor = "another"
	sent(0).nothing(other)
	x = sent(0)
	x.do(dunning.Voided{By: by(dunning.Host, after(hour)), Invoice: "i1"}, unknown)
	x.expect(2*hour, "look up i1")
	// One charge is out at a time, and of what is owed.
	x = sent(0)
	x.do(dunning.Issued{By: by(dunning.Host, after(hour)), Invoice: "i0", Amount: 1, CreatedAt: t0}, intended(hour, "i0/0"))
	x.nothing(unknown)
	for _, amount := range []int64{50, 0} {
		x = sent(0)
		x.refused(statemachine.ErrHeld, dunning.Amended{By: by(dunning.Host, after(hour)), Invoice: "i1", Amount: amount})
		x = open(t, dunning.Stripe).do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Deferred))
		x.do(dunning.Amended{By: by(dunning.Host, after(hour)), Invoice: "i1", Amount: amount})
		x.nothing(unknown)
	}
}

// Whoever lost the answer to an intent asks again, and goes on to its effect: not
// for what is not owed any more, and not when others take it for left behind.
func TestARepeatedIntentIsNoLicenceForWhatIsOver(t *testing.T) {
	host := by(dunning.Host, after(2*day))
	paid := dunning.Paid{By: host, Invoice: "i1", Method: dunning.Manual}
	for _, r := range []struct {
		name    string
		between []dunning.Event
		later   time.Duration
		want    error
	}{
		{"at once", nil, 0, nil},
		{"just before its end", nil, policy.Hold - time.Second, nil},
		{"a clock that went back", nil, -hour, nil},
		{"at its end", nil, policy.Hold, statemachine.ErrIllegal},
		{"paid", []dunning.Event{paid}, 0, statemachine.ErrIllegal},
		{"void", []dunning.Event{dunning.Voided{By: host, Invoice: "i1"}}, 0, statemachine.ErrIllegal},
	} {
		charge := open(t, dunning.Stripe).do(intended(2*day, "i1/0")).do(r.between...)
		x := open(t, dunning.Manual)
		x.do(dunning.Issued{By: by(dunning.Host, t0), Invoice: "i2", Amount: 1})
		key := x.notify(2 * day)
		x.do(r.between...)
		for y, ev := range map[*account]dunning.Event{charge: intended(2*day+r.later, "i1/0"), x: dunning.NoticeIntended{By: by(dunning.Biller, after(2*day+r.later)), Notice: key}} {
			if r.want == nil {
				y.nothing(ev)
			} else {
				y.refused(r.want, ev)
			}
		}
	}
	x := open(t, dunning.Manual)
	key := x.notify(7*day - policy.Hold)
	x.do(dunning.Churned{By: by(dunning.Biller, after(7*day))})
	x.refused(statemachine.ErrIllegal, dunning.NoticeIntended{By: by(dunning.Biller, after(7*day-time.Second)), Notice: key}) // its clock is behind
}

// Each charge that was done beside the one that paid awaits an operator, until
// that very one is acknowledged.
func TestEveryOverpayment(t *testing.T) {
	x := open(t, dunning.Stripe)
	for n := range 3 {
		key, d := fmt.Sprint("i1/", n), time.Duration(n)*day
		x.do(intended(d, key), answered(d, key, statemachine.Failed))
	}
	paid := dunning.Paid{By: by(dunning.Host, after(3*day)), Invoice: "i1", Method: dunning.Manual}
	x.do(paid, answered(3*day, "i1/1", statemachine.Done), answered(3*day, "i1/0", statemachine.Done))
	x.nothing(answered(3*day, "i1/1", statemachine.Done))
	acknowledged := func(key string) dunning.Acknowledged {
		return dunning.Acknowledged{By: by(dunning.Operator, after(4*day)), Invoice: "i1", Key: key, Reason: "paid back"}
	}
	x.refused(statemachine.ErrConflict, acknowledged("i1/2"))
	x.do(acknowledged("i1/0"))
	if i := x.a.Invoices[0]; !x.a.Tenant.NeedsOperator(&i, after(day)) || !slices.Equal(i.Overpayments(), []string{"i1/1"}) {
		t.Errorf("of two one is acknowledged: %+v", i)
	}
	x.nothing(acknowledged("i1/0"))
	x.nothing(answered(5*day, "i1/0", statemachine.Done)) // not filed again
	x.do(acknowledged("i1/1"))
	if i := x.a.Invoices[0]; x.a.Tenant.NeedsOperator(&i, after(day)) || i.Overpayments() != nil {
		t.Errorf("all are acknowledged: %+v", i)
	}
	// What is kept is bounded, and the rest is refused.
	many := &x.a.Invoices[0]
	many.Attempts = 2 * dunning.MaxOverpaid
	for n := range many.Attempts {
		if done := answered(5*day, fmt.Sprint("i1/", n), statemachine.Done); n < dunning.MaxOverpaid {
			x.do(done)
		} else {
			x.refused(statemachine.ErrInvalid, done)
		}
	}
}

// What an operator has paid back of an invoice of nothing is not paid back again, when another
// payment comes that counts as the one that paid.
func TestWhatWasPaidBackOfNothingStaysPaidBack(t *testing.T) {
	x := open(t, dunning.Manual)
	pay := func(id string) dunning.Paid {
		return dunning.Paid{By: by(dunning.Host, after(hour)), Invoice: "i0", Method: dunning.Manual, Payment: id}
	}
	x.do(dunning.Issued{By: by(dunning.Host, t0), Invoice: "i0"}, pay("b"),
		dunning.Acknowledged{By: by(dunning.Operator, after(hour)), Invoice: "i0", Key: "manual:b", Reason: "paid back"}, pay("a"))
	if i := x.a.Invoice("i0"); i.PaidKey != "a" || !slices.Equal(i.Overpayments(), []string{"manual:a"}) || !strings.Contains(string(i.Repaid), "b") {
		t.Errorf("%+v", i)
	}
}

// One answer counts, and only of whoever had the intent, or of the host.
func TestAMessageIsAnsweredOnce(t *testing.T) {
	for _, first := range []statemachine.Outcome{statemachine.Done, statemachine.Unknown} {
		x := open(t, dunning.Manual)
		key := x.notify(day)
		answer := func(role dunning.Role, actor string, o statemachine.Outcome) dunning.NoticeAnswered {
			b := by(role, after(day+hour))
			b.Actor = actor
			return dunning.NoticeAnswered{By: b, Notice: key, Outcome: o}
		}
		for _, o := range statemachine.Outcome(0).Values() {
			x.refused(statemachine.ErrHeld, answer(dunning.Biller, "another", o))
		}
		x.do(answer(dunning.Biller, "somebody", first))
		for _, o := range []statemachine.Outcome{statemachine.Failed, statemachine.Deferred} {
			x.refused(statemachine.ErrIllegal, answer(dunning.Biller, "somebody", o))
			x.refused(statemachine.ErrIllegal, answer(dunning.Host, "host", o))
		}
		// A second process of the same name would send it again.
		x.refused(statemachine.ErrIllegal, dunning.NoticeIntended{By: by(dunning.Biller, after(day+hour)), Notice: key})
		x.expect(day+hour, "wait 1h0m0s")
	}
	for _, o := range []statemachine.Outcome{statemachine.Failed, statemachine.Deferred} {
		x := open(t, dunning.Manual)
		key := x.notify(day)
		failed := dunning.NoticeAnswered{By: by(dunning.Host, after(day)), Notice: key, Outcome: o}
		x.do(failed)
		x.nothing(failed)
		x.refused(statemachine.ErrIllegal, dunning.NoticeIntended{By: by(dunning.Biller, after(day)), Notice: key})
		x.expect(day+hour, "notify i1")
		if x.notify(day+hour) == key {
			t.Error("two messages have one key")
		}
	}
	// All that it names is paid for: nobody sends it again all the same.
	x := open(t, dunning.Manual)
	key := x.notify(day)
	x.do(dunning.Paid{By: by(dunning.Host, after(day)), Invoice: "i1", Method: dunning.Manual},
		dunning.NoticeAnswered{By: by(dunning.Biller, after(day)), Notice: key, Outcome: statemachine.Done})
	x.refused(statemachine.ErrIllegal, dunning.NoticeIntended{By: by(dunning.Biller, after(day)), Notice: key})
}

// An invoice is issued once, as it is said first.
func TestIssuedOnce(t *testing.T) {
	x := open(t, dunning.Manual)
	issue := func(amount int64) dunning.Issued {
		return dunning.Issued{By: by(dunning.Host, after(hour)), Invoice: "i1", Amount: amount}
	}
	x.nothing(issue(100))
	x.refused(statemachine.ErrIllegal, issue(101))
	x.refused(statemachine.ErrIllegal, issue(99))
	x.do(dunning.Amended{By: by(dunning.Host, after(hour)), Invoice: "i1", Amount: 40})
	x.nothing(issue(100))
	x.refused(statemachine.ErrIllegal, issue(40))
	x.refused(statemachine.ErrIllegal, issue(101))
	x.a.Invoices[0].Issued = -1 // of a store before this was kept
	x.nothing(issue(100))
	x.refused(statemachine.ErrIllegal, issue(39))
	taken := issue(7)
	taken.Invoice, taken.Taken = "i7", "bob"
	x.refused(statemachine.ErrIllegal, taken)
	taken.Taken = "tenant"
	x.do(taken)
}

package dunning_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

func TestResolved(t *testing.T) {
	resolved := func(d time.Duration, o statemachine.Outcome) dunning.Resolved {
		return dunning.Resolved{By: by(dunning.Operator, after(d)), Invoice: "i1", Key: "i1/0", Outcome: o, Reason: "seen at the provider"}
	}
	for _, o := range []statemachine.Outcome{statemachine.Done, statemachine.Failed} {
		x := open(t, dunning.Stripe)
		x.do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Unknown))
		x.refused(statemachine.ErrInvalid, resolved(3*day, statemachine.Unknown))
		other := resolved(3*day, o)
		other.Invoice, other.Reason = "i9", ""
		x.refused(statemachine.ErrNotFound, other)
		bare := resolved(3*day, o)
		bare.Reason = ""
		x.refused(statemachine.ErrInvalid, bare)
		if arrived := policy.Hold + policy.Linger + 2*policy.Tick; o == statemachine.Failed { // another one may be sending it
			x.refused(statemachine.ErrHeld, resolved(arrived-time.Second, o))
			open(t, dunning.Stripe).do(intended(0, "i1/0"), resolved(arrived, o))
		}
		x.do(resolved(3*day, o))
		x.nothing(resolved(3*day, o))
		want := map[statemachine.Outcome]string{statemachine.Done: "nothing", statemachine.Failed: "charge i1"}[o]
		x.expect(3*day, want)
	}
}

// A clock that jumped forward makes nobody's word count while the charge may be on its way: it
// would be followed by a charge by another method, under another key.
func TestNobodySaysThatAChargeFailedWhichAClockHasMadeOld(t *testing.T) {
	resolved := func(d time.Duration) dunning.Resolved {
		return dunning.Resolved{By: by(dunning.Operator, after(d)), Invoice: "i1", Key: "i1/0", Outcome: statemachine.Failed, Reason: "not known there"}
	}
	nwc := dunning.MethodSet{By: by(dunning.Host, t0), Method: dunning.NWC}
	for _, unclear := range []bool{false, true} {
		for _, jump := range []time.Duration{8 * time.Minute, policy.Hold + policy.Linger + time.Hour, 5 * hour, 30 * day} {
			x := open(t, dunning.Stripe).do(intended(0, "i1/0"))
			x.jumps = true
			if unclear {
				x.do(answered(0, "i1/0", statemachine.Unknown))
			}
			before := *x
			x.do(nwc).refused(statemachine.ErrHeld, resolved(jump))
			before.refused(statemachine.ErrHeld, resolved(jump)) // and then the method
		}
	}
	// A biller that came in time has seen the clock go.
	x := open(t, dunning.Stripe).do(intended(0, "i1/0"), nwc, resolved(policy.Hold+policy.Linger+2*policy.Tick))
	x.expect(3*hour, "charge i1")
}

// A look-up which a jump of the clock made complete finds nothing while the charge is on its way: a
// person's word that it failed waits all the same. It counts at a time, and not before it.
func TestNobodySaysThatAChargeFailedWhichALookUpDidNotFindYet(t *testing.T) {
	arrived := policy.Hold + policy.Linger + 2*policy.Tick
	nwc := dunning.MethodSet{By: by(dunning.Host, after(8*time.Minute)), Method: dunning.NWC}
	for d, held := range map[time.Duration]bool{8 * time.Minute: true, arrived - time.Second: true, arrived: false, arrived + time.Second: false} {
		for name, between := range map[string][]dunning.Event{
			"method, look-up": {nwc, asked(8*time.Minute, 8*time.Minute, "i1/0")},
			"look-up, method": {asked(8*time.Minute, 8*time.Minute, "i1/0"), nwc},
		} {
			failed := dunning.Resolved{By: by(dunning.Operator, after(d)), Invoice: "i1", Key: "i1/0", Outcome: statemachine.Failed, Reason: "not known there"}
			x := open(t, dunning.Stripe).do(intended(0, "i1/0")).do(between...).lived(after(d))
			if held {
				x.refused(statemachine.ErrHeld, failed)
				failed.Outcome = statemachine.Done // money that came is taken at any time
			}
			if x.do(failed); !held && x.p.Next(x.a, after(3*hour)).Action.Key != "i1/1" {
				t.Errorf("%s, after %v: %s", name, d, x.owes(after(3*hour)))
			}
		}
	}
}

// An intent by a clock that was ahead says nothing of when the charge was sent. The next step of
// the right clock dates it anew; nobody's word that the charge failed counts before that step, nor
// until what was sent has arrived, counted from there.
func TestNobodySaysThatAChargeFailedOfAClockThatWasAhead(t *testing.T) {
	arrived := policy.Hold + policy.Linger + 2*policy.Tick
	resolved := func(d time.Duration) dunning.Resolved {
		return dunning.Resolved{By: by(dunning.Operator, after(d)), Invoice: "i1", Key: "i1/0", Outcome: statemachine.Failed, Reason: "not known there"}
	}
	for ahead, mended := range map[time.Duration]bool{2 * policy.Tick: false, 2*policy.Tick + time.Second: true, 10 * day: true} {
		for _, looked := range []bool{false, true} { // a look-up by the right clock finds nothing, at once
			x := open(t, dunning.Stripe)
			x.jumps = true
			x.do(intended(ahead, "i1/0"), dunning.MethodSet{By: by(dunning.Host, t0), Method: dunning.NWC})
			if looked {
				x.do(asked(0, 0, "i1/0"))
			}
			x.refused(statemachine.ErrHeld, resolved(0))
			x.do(dunning.StepBegun{By: by(dunning.Biller, t0)}).refused(statemachine.ErrHeld, resolved(0))
			from := ahead
			if mended {
				from = 0
			}
			if i := x.a.Invoices[0]; i.ChargeAt != after(from) {
				t.Errorf("ahead by %v: the intent is of %v", ahead, i.ChargeAt.Sub(t0))
			}
			if mended && !looked { // who stored the intent sends it no later than a step lasts
				x.nothing(intended(policy.Hold-time.Second, "i1/0"))
				x.refused(statemachine.ErrIllegal, intended(policy.Hold, "i1/0"))
			}
			x.jumps = false // the biller comes from now on
			x.refused(statemachine.ErrHeld, resolved(from+arrived-time.Second))
			x.lived(after(from + arrived)).do(resolved(from + arrived))
		}
	}
}

// Of what is paid or void no charge follows: a person's word waits as a look-up does.
func TestSomebodySaysThatAChargeFailedOfWhatIsNotOwed(t *testing.T) {
	for _, end := range []dunning.Event{dunning.Paid{By: by(dunning.Host, t0), Invoice: "i1", Method: dunning.Manual},
		dunning.Voided{By: by(dunning.Host, t0), Invoice: "i1"}} {
		for ahead, from := range map[time.Duration]time.Duration{0: policy.Hold + policy.Linger, 10 * day: 0} {
			resolved := func(d time.Duration) dunning.Resolved {
				return dunning.Resolved{By: by(dunning.Operator, after(d)), Invoice: "i1", Key: "i1/0", Outcome: statemachine.Failed, Reason: "not known there"}
			}
			x := open(t, dunning.Stripe)
			x.jumps = true
			if x.do(intended(ahead, "i1/0"), end); from > 0 {
				x.refused(statemachine.ErrHeld, resolved(from-time.Second))
			}
			x.do(resolved(from)).expect(from, "nothing")
		}
	}
}

// A charge that a look-up did not find, that was made again and then not tried, is made again by
// its own method at its time, though the tenant chose another one meanwhile.
func TestWhatMayArriveKeepsItsTimeWhenTheMethodChanged(t *testing.T) {
	x := open(t, dunning.Stripe).do(intended(0, "i1/0"), missing("i1/0"), intended(hour, "i1/0"),
		dunning.MethodSet{By: by(dunning.Host, after(hour)), Method: dunning.NWC}, answered(hour, "i1/0", statemachine.Deferred))
	x.expect(2*hour-time.Second, "wait 1s")
	x.expect(2*hour, "charge i1")
}

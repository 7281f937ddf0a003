package swap_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/swap"
)

// open counts the discrepancies that nobody has dealt with.
func (r *run[A]) open() (n int) {
	for _, d := range r.i().Discrepancies {
		if d.ClosedBy == "" {
			n++
		}
	}
	return n
}

// What came in has vanished after it was paid, and is there again for good: the discrepancy ends,
// in whichever order the two are told. It opens anew where it vanishes anew.
func TestACreditThatCameBackIsNotGone(t *testing.T) {
	told := func(r *run[swap.Credit], asked time.Duration, n uint64) *run[swap.Credit] {
		r.t.Helper()
		return r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now.Add(asked), Count: n, Gone: n == 0})
	}
	final := policy.FinalConfirmations
	for name, make := range map[string]func(*testing.T) *run[swap.Credit]{
		"awaiting": awaiting, "refunded": refunded,
		"processed": func(t *testing.T) *run[swap.Credit] { return awaiting(t).found(1, 10).is("processed") },
	} {
		t.Run(name, func(t *testing.T) {
			fresh := func() *run[swap.Credit] { return make(t).release().wait(time.Hour) }
			r := told(fresh(), 0, 0).kinds(swap.InboundGone)
			told(r, -time.Microsecond, final) // asked before
			told(r.wait(time.Second), 0, final-1)
			if told(r, -2*time.Second, final); r.open() != 1 {
				t.Errorf("a count of before, or below finality: %+v", r.i().Discrepancies)
			}
			if told(r.wait(time.Second), 0, final); r.open() != 0 || !r.item.GoneAt.IsZero() {
				t.Errorf("it is back for good: %+v", r.i().Discrepancies)
			}
			if told(r.wait(time.Second), 0, 0); r.open() != 1 {
				t.Errorf("it vanished anew: %+v", r.i().Discrepancies)
			}
			if told(told(r.wait(time.Second), 0, 3).wait(time.Second), 0, final); r.open() != 0 {
				t.Errorf("it is back for good by two counts: %+v", r.i().Discrepancies)
			}
			late := fresh()
			if told(told(late, 0, final), -time.Second, 0); late.open() != 0 || !late.item.GoneAt.IsZero() {
				t.Errorf("told in the other order: %+v, gone at %v", late.i().Discrepancies, late.item.GoneAt)
			}
			once := told(fresh(), 0, 0)
			if told(told(once.wait(time.Second), 0, final), -time.Second, 0); once.open() != 0 {
				t.Errorf("that it vanished is told again: %+v", once.i().Discrepancies)
			}
		})
	}
	// What a person has dropped stays a person's.
	r := told(pending(t).wait(time.Hour), 0, 0).order(swap.Dropped{}).is("processed as fees")
	if told(r.wait(time.Hour), 0, final); r.open() != 2 {
		t.Errorf("dropped: %+v", r.i().Discrepancies)
	}
	r.do(swap.Acknowledged{By: r.operator(), Number: 1, Reason: "x"}, swap.Acknowledged{By: r.operator(), Number: 2, Reason: "x"})
	if told(r.wait(time.Hour), 0, final+1); r.open() != 0 {
		t.Errorf("dealt with: %+v", r.i().Discrepancies)
	}
}

// A credit that a reorganisation has moved to a block of another time is the same one; with
// another amount or sender it is not. A deposit is final when it is seen, and its time is a fact.
func TestACreditOfAnotherBlockIsTheSame(t *testing.T) {
	r := pending(t).wait(3 * time.Hour)
	o := observedCredit("tx1", amount)
	o.At = r.now
	for _, o.Time = range []time.Time{t0.Add(2 * time.Hour), t0.Add(-2 * time.Hour), t0} {
		r.do(o).kinds()
	}
	for _, change := range []func(*swap.Observed){func(o *swap.Observed) { o.Amount++ }, func(o *swap.Observed) { o.From = "x" }} {
		r, o := pending(t), o
		change(&o)
		r.do(o).kinds(swap.InboundChanged)
	}
	d := detected(t).wait(3 * time.Hour)
	moved := observedDeposit("sig1", amount)
	moved.At, moved.Time = d.now, t0.Add(-time.Hour)
	d.do(moved).kinds(swap.InboundChanged).do(swap.Acknowledged{By: d.operator(), Number: 1, Reason: "x"})
	if d.open() != 0 {
		t.Error("a person has dealt with it")
	}
}

// That another item has a transaction on file, too, ends where the chain takes the transaction back,
// or the other item gives it up; it is there again when the transaction is.
func TestWhatTheChainTakesBackIsNotContested(t *testing.T) {
	contested := func(t *testing.T) (*run[swap.Deposit], swap.Sighting) {
		r := debited(t)
		s := sighting(r.latest(), 1, false)
		s.TxID, s.Rival = "ab02", "sig2"
		return r.outbound(s).kinds(swap.SecondOutbound, swap.Contested), s
	}
	is := func(r *run[swap.Deposit], open bool, what string) {
		r.t.Helper()
		if d := r.i().Discrepancies[1]; d.Kind != swap.Contested || (d.ClosedBy == "") != open {
			r.t.Errorf("%s: %+v", what, d)
		}
	}
	r, s := contested(t)
	is(r, true, "it is seen")
	is(r.wait(time.Hour).missing(2), false, "it is gone for good")
	if in := r.i().Intent(2); in.Proof == 0 {
		t.Fatalf("%+v", in)
	}
	is(r.wait(time.Hour).do(swap.Looked{By: r.worker(), Number: 2, Finding: swap.LookFound, Seen: s}), true, "it is there again")
	r, s = contested(t)
	s.Errored, s.Confirmations = true, 10
	is(r.wait(time.Hour).outbound(s), false, "it has landed with an error")
	r, s = contested(t)
	s.Rival, s.Confirmations = "", 10
	r.wait(time.Hour)
	look := swap.Looked{By: r.worker(), Number: 2, Finding: swap.LookFound, Seen: s}
	is(r.do(look, look), false, "the other item has given it up")
	r, _ = contested(t)
	is(r.do(swap.Acknowledged{By: r.operator(), Number: 2, Reason: "x"}).wait(time.Hour).found(1, 10), false, "a person has dealt with it")
}

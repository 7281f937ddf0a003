package swap_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// unsolved are the kinds of the discrepancies that nobody has dealt with.
func (r *run[A]) unsolved(want ...swap.DiscrepancyKind) *run[A] {
	r.t.Helper()
	was := r.i().Discrepancies
	r.i().Discrepancies = nil
	for _, d := range was {
		if d.ClosedBy == "" {
			r.i().Discrepancies = append(r.i().Discrepancies, d)
		}
	}
	r.kinds(want...)
	r.i().Discrepancies = was
	return r
}

// What a sighting below finality says and the chain takes back leaves nothing for a
// person: nothing was paid twice.
func TestWhatAChainTakesBackIsNoDiscrepancy(t *testing.T) {
	twice := func(t *testing.T) *run[swap.Deposit] {
		r := ready(t).begin(swap.Send).answer(statemachine.Failed).prove().release().wait(policy.Cooldown).begin(swap.Send).answer(statemachine.Done)
		r.found(1, 9).is(debitedText).unsolved(swap.LateOutbound).attended()
		if !r.i().Overdue(r.now.Add(time.Microsecond)) {
			t.Error("two that may both pay, and nobody is told")
		}
		return r
	}
	t.Run("the late one", func(t *testing.T) {
		twice(t).found(2, 10).is("debit_confirmed").wait(time.Hour).missing(1).unsolved().over()
	})
	t.Run("the later one", func(t *testing.T) {
		twice(t).found(1, 10).found(1, 10).is("debit_confirmed").wait(time.Hour).missing(2).unsolved(swap.LateOutbound).over()
	})
	t.Run("one that landed with an error, and is there after all", func(t *testing.T) {
		twice(t).failedOnChain(1).unsolved().found(1, 1).unsolved(swap.LateOutbound)
	})
	t.Run("none", func(t *testing.T) {
		twice(t).found(2, 9).found(1, 10).unsolved(swap.LateOutbound).found(2, 10).found(2, 10).unsolved(swap.LateOutbound, swap.DoublePayout)
	})
	t.Run("what settled a quarantined credit", func(t *testing.T) {
		r := awaiting(t).order(swap.QuarantineOrdered{}).found(1, 1).unsolved(swap.PaidWhileQuarantined)
		r.wait(time.Hour).missing(1).unsolved(swap.OutboundLost).attended().order(swap.Requeued{}).unsolved().release().begin(swap.Quarantine)
	})
	t.Run("a loss", func(t *testing.T) {
		r := toBeQuarantined(t).begin(swap.Quarantine).answer(statemachine.Done).wait(time.Hour).missing(1).unsolved(swap.OutboundLost)
		r.found(1, 1).unsolved(swap.LateOutbound).found(1, 10).unsolved(swap.LateOutbound).over()
	})
	t.Run("a loss whose place an earlier one takes, and is lost too", func(t *testing.T) {
		r := refundPending(t).begin(swap.Refund).answer(statemachine.Failed).failedOnChain(1).release().wait(policy.Cooldown)
		r.begin(swap.Refund).answer(statemachine.Done).is("refunded").wait(time.Hour).failedOnChain(2).unsolved(swap.OutboundLost)
		r.found(1, 1).unsolved(swap.LateOutbound).failedOnChain(1).unsolved(swap.OutboundLost)
	})
}

// A second transaction of one intent that the chain takes back, and a mismatch that its own
// final evidence refutes, are over by that evidence, with the hold. What two transactions
// have paid for good, or what nobody has explained, waits for a person.
func TestWhatEvidenceRefutesIsNoDiscrepancy(t *testing.T) {
	twice := func(t *testing.T) *run[swap.Deposit] {
		r := debited(t)
		return r.do(swap.Answered{By: r.worker(), Number: 1, Outcome: statemachine.Done, TxID: "other"}).unsolved(swap.SecondOutbound)
	}
	t.Run("the second transaction is not there", func(t *testing.T) {
		r := twice(t).found(1, 10).found(2, 1).unsolved(swap.SecondOutbound).wait(time.Hour).missing(2).unsolved().elapse()
		r.is("debit_confirmed").over()
	})
	t.Run("the first transaction is not there", func(t *testing.T) {
		r := twice(t).found(2, 1).found(2, 10).found(2, 10).unsolved(swap.SecondOutbound).wait(time.Hour).missing(1).unsolved()
		r.is("debit_confirmed").over()
	})
	t.Run("both are there", func(t *testing.T) {
		r := twice(t).found(1, 10).found(2, 1).found(2, 10)
		r.found(2, 10).unsolved(swap.SecondOutbound, swap.DoublePayout)
	})
	misread := func(t *testing.T) (*run[swap.Credit], swap.Sighting) {
		r := sending(t)
		s := sighting(r.latest(), 1, false)
		s.Amount--
		if r.outbound(s).unsolved(swap.Mismatch); r.i().Hold.Kind != swap.ByMismatch {
			t.Fatalf("hold %v", r.i().Hold)
		}
		return r, s
	}
	released := func(r *run[swap.Credit]) *run[swap.Credit] {
		t.Helper()
		if r.unsolved(); r.i().Hold.Kind != 0 {
			t.Errorf("it is held still: %v", r.i().Hold)
		}
		return r
	}
	t.Run("the final sighting fits", func(t *testing.T) {
		r, _ := misread(t)
		if r.found(1, 1).is(awaitingText).unsolved(swap.Mismatch); r.i().Hold.Kind != swap.ByMismatch {
			t.Error("a sighting below finality refutes nothing")
		}
		released(r.found(1, 10)).is("processed").over()
	})
	t.Run("it landed with an error", func(t *testing.T) {
		r, _ := misread(t)
		released(r.failedOnChain(1))
	})
	t.Run("it is not there and cannot land", func(t *testing.T) {
		r, s := misread(t)
		r.answer(statemachine.Failed).unsolved(swap.Mismatch)
		released(r.wait(time.Hour).missing(1))
		r.outbound(s).unsolved() // what was refuted is told again by a node that is behind
		s.Finalized, s.Confirmations = true, 10
		if r.outbound(s).unsolved(swap.Mismatch); r.i().Hold.Kind != swap.ByMismatch {
			t.Error("a final one is for a person, whatever was proved")
		}
		r.do(swap.NotSent{By: r.operator(), TxID: s.TxID, Reason: "seen"}).outbound(s).unsolved()
	})
	t.Run("on Nexus the intent has no transaction yet", func(t *testing.T) {
		misread := func() (*run[swap.Deposit], swap.Sighting) {
			r := ready(t).begin(swap.Send)
			s := sighting(r.latest(), 1, false)
			s.TxID, s.Amount = "aa11", s.Amount-1
			return r.outbound(s).unsolved(swap.Mismatch), s
		}
		r, s := misread()
		if r.wait(time.Hour).missing(1).unsolved(); r.i().Hold.Kind != 0 {
			t.Errorf("it is held still: %v", r.i().Hold)
		}
		s.Confirmations = 10
		if r.outbound(s).unsolved(swap.Mismatch); r.i().Hold.Kind != swap.ByMismatch {
			t.Error("a final one is for a person, whatever was proved")
		}
		r, _ = misread()
		r.found(1, 1).unsolved(swap.Mismatch).found(1, 10).found(1, 10).unsolved().is("debit_confirmed").over()
		r = ready(t).begin(swap.Send)
		s = sighting(r.latest(), 1, false)
		s.TxID, s.Reference = "bb22", s.Reference+1
		r.outbound(s).unsolved(swap.Mismatch).wait(time.Hour).missing(1).unsolved(swap.Mismatch) // nothing was asked about it
	})
	t.Run("of no intent, and it landed with an error", func(t *testing.T) {
		r := sending(t)
		s := sighting(r.latest(), 1, false)
		s.TxID = "foreign"
		r.outbound(s).unsolved(swap.Mismatch)
		s.Errored = true
		r.outbound(s).unsolved(swap.Mismatch) // below finality an error may become a payment
		s.Finalized, s.Confirmations = true, 10
		r.do(swap.Outbound{By: by(swap.Observer, r.now), Asked: r.now, Seen: s}).unsolved(swap.Mismatch) // no later than it was seen to pay
		released(r.wait(time.Microsecond).outbound(s))
	})
	t.Run("what is final later is for a person", func(t *testing.T) {
		r, s := misread(t)
		s.Finalized, s.Confirmations = true, 10
		r.outbound(s).outbound(s).answer(statemachine.Failed).prove().unsolved(swap.Mismatch)
		if r.i().Hold.Kind != swap.ByMismatch {
			t.Error("it is not held")
		}
	})
	t.Run("final evidence against a final mismatch", func(t *testing.T) {
		r := sending(t).found(1, 1).found(1, 10).is("processed")
		s := sighting(r.latest(), 10, true)
		s.Amount--
		r.outbound(s).unsolved(swap.Mismatch).found(1, 10).unsolved(swap.Mismatch)
	})
}

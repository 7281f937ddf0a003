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
		r := awaiting(t).order(swap.OrderQuarantine).found(1, 1).unsolved(swap.PaidWhileQuarantined)
		r.wait(time.Hour).missing(1).unsolved(swap.OutboundLost).attended().order(swap.Requeue).unsolved().release().begin(swap.Quarantine)
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

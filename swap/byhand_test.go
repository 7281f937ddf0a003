package swap_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

func (r *run[A]) byHand(reference string) swap.Settled {
	return swap.Settled{By: r.operator(), Reference: reference, Reason: "the customer asked"}
}

// givenBack takes an operator's word, and requires that nothing more is owed or begun.
func givenBack[A any](r *run[A]) *run[A] {
	r.t.Helper()
	r.release().refused(swap.Settled{By: r.worker(), Reference: "refund 1", Reason: "x"}, statemachine.ErrForbidden)
	for _, reference := range []string{"", strings.Repeat("x", swap.MaxReferenceText+1), "\xff"} {
		r.refused(r.byHand(reference), statemachine.ErrInvalid)
	}
	silent := r.byHand("refund 1")
	silent.Reason = ""
	r.refused(silent, statemachine.ErrInvalid)
	r.do(r.byHand("refund 1")).over().do(r.byHand("refund 1")).refused(r.byHand("refund 2"), statemachine.ErrConflict)
	requeue := swap.Requeued{By: r.operator(), Reason: "x"}
	if r.refused(requeue, swap.ErrSettled).refused(requeue, statemachine.ErrIllegal); !r.i().OverdueAt.IsZero() {
		r.t.Errorf("overdue at %v", r.i().OverdueAt)
	}
	r.refused(swap.Held{By: r.operator(), Reason: "x"}, statemachine.ErrIllegal).elapse().over()
	m := any(&r.item).(interface{ Money() swap.Money }).Money()
	if m.Held != 0 || m.GivenBack+m.Quarantined+m.Fees != m.Deposited {
		r.t.Errorf("money %+v", m)
	}
	return r
}

func quarantineFailed(t *testing.T) *run[swap.Deposit] {
	return depositWaits[swap.DepositQuarantineFailed].enter(t)
}

func TestWhatIsGivenBackByHandIsPaidNoMore(t *testing.T) {
	aside := func(t *testing.T) *run[swap.Deposit] {
		return toBeQuarantined(t).begin(swap.Quarantine).answer(statemachine.Done)
	}
	moved := func(t *testing.T) *run[swap.Credit] {
		return quarantined(t).begin(swap.Quarantine).answer(statemachine.Done)
	}
	givenBack(quarantineFailed(t)).is("quarantine failed")
	givenBack(quarantineFailed(t).order(swap.Held{}))
	givenBack(aside(t).found(1, 10))
	givenBack(aside(t).wait(time.Hour).missing(1).unsolved(swap.OutboundLost)).unsolved()
	givenBack(moved(t).found(1, 10))
	givenBack(moved(t).wait(time.Hour).missing(1))
	givenBack(refunded(t).wait(time.Hour).missing(1)).is("refunded").unsolved()
	r := givenBack(quarantined(t)) // its move was owed
	begun := swap.Begun{By: r.worker(), Fence: r.i().Lease.Fence, Number: 1, Action: swap.Quarantine, Reference: 200, Control: r.ctl}
	r.i().Lease = statemachine.Lease{Holder: "worker", Fence: begun.Fence, Until: r.now.Add(time.Hour)}
	r.refused(begun, swap.ErrSettled)
	// Not while an outbound may pay, not what was paid, and nowhere else.
	aside(t).refused(r.byHand("x"), statemachine.ErrHeld)
	refunded(t).found(1, 10).refused(r.byHand("x"), statemachine.ErrIllegal)
	refunded(t).refused(r.byHand("x"), statemachine.ErrIllegal)
	awaiting(t).order(swap.QuarantineOrdered{}).refused(r.byHand("x"), statemachine.ErrHeld).found(1, 10).found(1, 10).refused(r.byHand("x"), statemachine.ErrIllegal)
	for s, w := range depositWaits {
		if d := w.enter(t); s != swap.DepositQuarantined && s != swap.DepositQuarantineFailed {
			d.refused(d.byHand("x"), statemachine.ErrIllegal)
		}
	}
	for s, w := range creditWaits {
		if c := w.enter(t); s != swap.CreditQuarantined {
			c.refused(c.byHand("x"), statemachine.ErrIllegal)
		}
	}
	// What nobody has explained is explained first.
	held := quarantineFailed(t)
	s := sighting(held.latest(), 10, true)
	s.TxID, s.Amount = "another", 5
	held.outbound(s).refused(held.byHand("x"), statemachine.ErrHeld)
}

// Evidence is taken as ever, and what was paid beside the books is somebody's.
func TestWhatIsPaidAndGivenBackIsADiscrepancy(t *testing.T) {
	r := givenBack(quarantined(t).release().begin(swap.Quarantine).answer(statemachine.Failed).prove())
	r.found(1, 10).found(1, 10).unsolved(swap.LateOutbound).over() // the house's own
	late := func(t *testing.T) *run[swap.Credit] {
		return givenBack(refundPending(t).begin(swap.Refund).answer(statemachine.Failed).prove().order(swap.QuarantineOrdered{}))
	}
	r = late(t).found(1, 9).attended().unsolved(swap.LateOutbound, swap.PaidWhileQuarantined)
	r.wait(time.Hour).missing(1).attended().unsolved() // it was taken back
	r = late(t).found(1, 10).found(1, 10).over().unsolved(swap.LateOutbound, swap.PaidWhileQuarantined, swap.PaidAndGivenBack)
	r.refused(swap.Requeued{By: r.operator(), Reason: "x"}, swap.ErrSettled)
	d := givenBack(quarantineFailed(t))
	d.do(d.paidBy(swap.Refund, "byhand")).attended().found(4, 10).found(4, 10).attended().unsolved(swap.PaidAndGivenBack)
	if !errors.Is(swap.ErrSettled, statemachine.ErrIllegal) {
		t.Error("a refusal of its own")
	}
	// A refund that was lost, given back, and is there after all.
	lost := givenBack(refunded(t).wait(time.Hour).missing(1)).found(1, 10).found(1, 10)
	lost.is("refunded").over().unsolved(swap.LateOutbound, swap.PaidAndGivenBack)
}

// After an operator's hold in the place of the policy's a person is told what to order.
func TestAfterAHoldAnOrderIsNamed(t *testing.T) {
	d := debited(t)
	d.p.OnTimeout = swap.OnTimeoutHold
	d.wait(11 * time.Minute).missing(1)
	names := func(orders ...string) {
		t.Helper()
		for _, order := range orders {
			if s := d.attended().next(); s.Party != swap.Operator || !strings.Contains(s.Why, order) {
				t.Errorf("%q is not named: %+v", order, s)
			}
		}
	}
	names("order a refund", "a quarantine")
	d.order(swap.Held{})
	names("release it")
	d.order(swap.Released{})
	names("order a refund", "order a quarantine", "paid_by")
	d.order(swap.RefundOrdered{}).is(toBeRefundedText).begin(swap.Refund)
}

package swap_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// attended is whether somebody is named, in every state after this one.
func (r *run[A]) attended() *run[A] {
	r.t.Helper()
	w := swaptest.World[A]{Item: r.item, Now: r.now, Control: r.ctl, Rules: &swaptest.Rules[A]{Head: r.head,
		Apply: func(a A, ev swap.Event, now time.Time) (swap.Change[A], error) { return r.apply(r.p, a, ev, now) },
		Next: func(a A, c swap.Control, now time.Time) swap.Step {
			switch a := any(a).(type) {
			case swap.Deposit:
				return r.p.NextDeposit(a, c, now)
			case swap.Credit:
				return r.p.NextCredit(a, c, now)
			}
			return swap.Step{}
		}}}
	if err := w.Attended(); err != nil {
		r.t.Fatalf("%s: %v", r.state(&r.item), err)
	}
	return r
}

// over requires that nothing is owed any more.
func (r *run[A]) over() *run[A] {
	r.t.Helper()
	if s := r.attended().next(); s.Party != 0 || !r.i().CheckAt.IsZero() {
		r.t.Fatalf("owed: %+v, due %v", s, r.i().CheckAt)
	}
	return r
}

// What landed while something else was open, or in a state from which nothing leads
// there, is followed as soon as it can be.
func TestAnItemFollowsWhatHasPaid(t *testing.T) {
	t.Run("a refund is ordered of a debit that is final", func(t *testing.T) {
		debited(t).order(swap.RefundOrdered{}).found(1, 10).attended().is(debitedText).found(1, 10).is("debit_confirmed").over()
	})
	t.Run("a quarantine that failed for good has paid", func(t *testing.T) {
		r := toBeQuarantined(t)
		for range 3 {
			r.wait(6 * time.Minute).begin(swap.Quarantine).answer(statemachine.Failed)
			if r.state(&r.item) != "quarantine failed" {
				r.prove()
			}
		}
		r.is("quarantine failed").attended().found(3, 1).attended().found(3, 10).attended().order(swap.Requeued{}).attended()
		r.elapse().is("quarantine sent, awaiting confirmation").over()
	})
	t.Run("a debit is final, and the refund after it fails", func(t *testing.T) {
		r := debited(t).wait(11 * time.Minute).missing(1).is(toBeRefundedText).begin(swap.Refund).answer(statemachine.Done)
		r.found(1, 1).found(1, 10).attended().failedOnChain(2).is("to be quarantined").attended()
		r.elapse().is(debitedText).attended().elapse().is("debit_confirmed").over()
	})
	t.Run("a quarantine has paid behind a debit that landed with an error", func(t *testing.T) {
		r := ready(t).begin(swap.Send).answer(statemachine.Failed).prove().order(swap.QuarantineOrdered{}).release().begin(swap.Quarantine).answer(statemachine.Failed)
		r.found(1, 1).is(debitedText).failedOnChain(1).is(toBeRefundedText).found(2, 1).attended().found(2, 10).is(toBeRefundedText).attended()
		if s := r.next(); s.Party != swap.Operator {
			t.Fatalf("owed: %+v", s)
		}
		r.order(swap.QuarantineOrdered{}).attended().elapse().is("quarantine sent, awaiting confirmation").over()
	})
	late := func(t *testing.T) *run[swap.Credit] {
		return sending(t).answer(statemachine.Failed).missing(1).wait(6*time.Minute).begin(swap.Send).found(1, 1)
	}
	t.Run("the late one is final before the later one is known", func(t *testing.T) {
		late(t).found(1, 10).attended().wait(time.Hour).missing(2).is(awaitingText).attended().elapse().is("processed").over()
	})
	t.Run("the later one was deferred, and the late one is taken back", func(t *testing.T) {
		r := late(t).answer(statemachine.Deferred).attended().wait(time.Hour).missing(1).missing(2).attended().elapse()
		if r.i().Hold.Kind != 0 {
			t.Fatalf("hold %v", r.i().Hold)
		}
		r.attended().release().begin(swap.Send)
	})
	t.Run("both have paid", func(t *testing.T) {
		r := late(t).answer(statemachine.Done).attended().found(1, 10).attended()
		r.found(2, 10).attended().found(1, 10).found(2, 10).elapse().is("processed").over().kinds(swap.LateOutbound, swap.DoublePayout)
	})
	t.Run("paid_by beside a refund that is sent", func(t *testing.T) {
		r := refundSent(t).do(swap.PaidBy{By: by(swap.Operator, t0), Action: swap.Send, TxID: "manual", Amount: 5_000_000, Reason: "x"})
		r.found(2, 1).kinds().attended().found(1, 10).found(2, 10).is("refund_confirmed").over().kinds(swap.DoublePayout)
	})
	t.Run("a refund that was paid by hand, and is not there", func(t *testing.T) {
		r := refundSent(t).wait(time.Hour)
		r.do(swap.PaidBy{By: r.operator(), Action: swap.Refund, TxID: "manual", Reason: "x"}).missing(1).attended().is("to be quarantined")
		r.claim().refused(r.begun(swap.Quarantine), switches.ErrOnHold)
		r.found(2, 1).is("refund sent, awaiting confirmation").attended().found(2, 10).is("refund_confirmed").over()
	})
}

// What took the place of a lost outbound ends the loss; nobody is told to pay again.
func TestALossEndsWithWhatHasPaidSince(t *testing.T) {
	byHand := func(r *run[swap.Deposit], a swap.Action) *run[swap.Deposit] {
		r.do(swap.PaidBy{By: r.operator(), Action: a, TxID: "byhand", Reason: "x"})
		return r
	}
	lost := func() *run[swap.Deposit] {
		return toBeQuarantined(t).begin(swap.Quarantine).answer(statemachine.Done).wait(time.Hour).missing(1)
	}
	r := lost()
	if s := r.attended().next(); r.i().Lost != 1 || !strings.Contains(s.Why, "intent 1 is lost: requeue it") {
		t.Fatalf("owed: %+v", s)
	}
	byHand(r, swap.Quarantine).found(2, 1).attended().found(2, 10).over()
	if m := r.item.Money(); r.i().Lost != 0 || m.Quarantined != 9_900_000 || m.Held != 0 {
		t.Errorf("lost %d, money %+v", r.i().Lost, m)
	}
	// One that is lost, too.
	r = byHand(lost(), swap.Quarantine).found(2, 1).wait(time.Hour).missing(2).attended()
	if r.i().Lost != 2 {
		t.Errorf("lost %d", r.i().Lost)
	}
	// Paid otherwise: the order follows the payment.
	r = byHand(lost(), swap.Refund).found(2, 10).attended()
	if s := r.next(); !strings.Contains(s.Why, "intent 2, a refund, has paid") {
		t.Errorf("owed: %+v", s)
	}
	r.found(2, 10).order(swap.Requeued{}).attended().elapse().attended().elapse().is("refund_confirmed").over()
}

// A credit that was never mapped ends in quarantine like any other, and its move is
// ordered again where it is.
func TestALostMoveOfAnUnmappedCreditIsRequeued(t *testing.T) {
	r := collecting(t).order(swap.QuarantineOrdered{}).begin(swap.Quarantine).answer(statemachine.Done)
	r.wait(time.Hour).missing(1).attended().order(swap.Requeued{}).is("quarantined").attended().begin(swap.Quarantine)
	// After three attempts, too.
	r = collecting(t).order(swap.QuarantineOrdered{})
	for range 3 {
		r.wait(6 * time.Minute).begin(swap.Quarantine).answer(statemachine.Failed).prove()
	}
	if s := r.attended().next(); s.Party != swap.Operator {
		t.Errorf("owed: %+v", s)
	}
	r.order(swap.Requeued{}).attended().wait(6 * time.Minute).begin(swap.Quarantine)
	// A lost refund goes back to where it came from.
	back := collecting(t).begin(swap.Refund).answer(statemachine.Done).is("refunded").wait(time.Hour).missing(1)
	back.order(swap.Requeued{}).is("collecting refund").begin(swap.Refund)
}

// Each fact is a version: what settled a quarantined credit too.
func TestSettlingIsAVersion(t *testing.T) {
	for _, confirmations := range []uint64{1, 10} {
		r := awaiting(t).order(swap.QuarantineOrdered{}).is("quarantined")
		v := r.i().Version
		r.found(1, confirmations)
		if r.item.SettledBy != 1 || r.i().Version != v+1 || len(r.last.Log) != 1 || len(r.last.Notes) != 1 {
			t.Errorf("settled by %d at version %d after %d: %+v", r.item.SettledBy, r.i().Version, v, r.last.Notes)
		}
		r.attended().found(1, 10).over().kinds(swap.PaidWhileQuarantined)
	}
}

func TestACreditThatVanishesOnItsWayIsDropped(t *testing.T) {
	gone := swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Gone: true}
	drop := func(by swap.By) swap.Dropped { return swap.Dropped{By: by, Reason: "x"} }
	for name, make := range map[string]func(*testing.T) *run[swap.Credit]{
		"ready": creditReady, "balance check": balanceCheck, "collecting": collecting, "refund pending": refundPending,
		"sending": func(t *testing.T) *run[swap.Credit] { return sending(t).answer(statemachine.Failed).prove() },
	} {
		r := make(t).do(gone).attended()
		if s := r.next(); s.Why == "" {
			t.Errorf("%s: owed %+v", name, s)
		}
		r.order(swap.Dropped{}).is("processed as fees").over()
		if m := r.item.Money(); m != (swap.Money{}) {
			t.Errorf("%s: money %+v", name, m)
		}
	}
	// The move of a quarantined one is owed, and must not move what never came.
	begun := func(r *run[swap.Credit]) swap.Begun { r.claim(); return r.begun(swap.Quarantine) }
	r := quarantined(t).do(gone).kinds(swap.InboundGone).attended()
	if s := r.next(); !strings.Contains(s.Why, "vanished") || len(s.Tasks) != 1 || s.Tasks[0].Do != swap.CountConfirmations || !r.i().Overdue(r.now.Add(time.Microsecond)) {
		t.Errorf("quarantined: owed %+v, overdue at %v", s, r.i().OverdueAt)
	}
	r.refused(begun(r), switches.ErrOnHold)
	back := swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Count: 2}
	r.do(back).attended() // it is there again
	r.do(begun(r)).answer(statemachine.Failed).do(gone).attended().refused(drop(r.operator()), statemachine.ErrIllegal).prove().attended()
	r.order(swap.Dropped{}).is("processed as fees").kinds(swap.InboundGone).over()
	if m := r.item.Money(); m != (swap.Money{}) {
		t.Errorf("a quarantined one that was dropped: %+v", m)
	}
	// One that is there again after that stays dropped, and a person is told once.
	r.do(back).is("processed as fees").kinds(swap.InboundGone, swap.InboundGone)
	if m, err := r.item.Money(), swap.CheckCredit(r.item); m != (swap.Money{}) || err != nil || r.item.GoneAt.IsZero() {
		t.Errorf("one that came back: %+v, %v", m, err)
	}
	if r.do(back); !r.last.Empty() {
		t.Error("it is told of twice")
	}
	// A lost move or refund is not made again.
	lost := quarantined(t).begin(swap.Quarantine).answer(statemachine.Done).do(gone)
	lost.wait(time.Hour).missing(1).attended().order(swap.Requeued{}).attended().refused(begun(lost), switches.ErrOnHold).order(swap.Dropped{}).over()
	lost = refunded(t).do(gone).wait(time.Hour).missing(1).attended().order(swap.Requeued{}).is("refund pending").attended().claim()
	lost.refused(lost.begun(swap.Refund), switches.ErrOnHold).order(swap.Dropped{}).is("processed as fees").over()
	// What has gone out stays as it is.
	quarantined(t).begin(swap.Quarantine).answer(statemachine.Done).found(1, 10).do(gone).kinds(swap.InboundGone).over().is("quarantined").
		refused(drop(by(swap.Operator, t0)), statemachine.ErrIllegal)
	// Not while something is out.
	sending(t).do(gone).kinds(swap.InboundGone).attended().refused(drop(by(swap.Operator, t0)), statemachine.ErrIllegal)
	r = awaiting(t).do(gone).kinds(swap.InboundGone).attended().refused(drop(by(swap.Operator, t0)), statemachine.ErrIllegal)
	r.found(1, 10).is("processed").over()
	creditReady(t).refused(drop(by(swap.Operator, t0)), statemachine.ErrIllegal)
}

// Two rows that are sound: a micro credit that vanished after its end, and a
// mapping to nowhere.
func TestSoundRowsAreNotCorrupt(t *testing.T) {
	gone := swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Gone: true}
	r := credits(t).do(observedCredit("tx1", 400_000), swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Count: 2}).is("processed as fees").do(gone).kinds(swap.InboundGone)
	if m := r.item.Money(); m.Fees != 400_000 || m.Deposited != 400_000 {
		t.Errorf("money %+v", m)
	}
	r = ripe(t).claim()
	m := r.mapping()
	m.Account = ""
	r.do(m).is("ready for processing").attended().elapse().is("refund pending")
}

func TestAFeeThatLeavesNothingToMoveIsAnOperators(t *testing.T) {
	r := quarantined(t)
	r.p.Credits.Quarantine = amount
	r.order(swap.Held{}).order(swap.Released{}) // its schedule is derived anew
	if s := r.attended().next(); s.Party != swap.Operator || s.Why == "" || !r.i().CheckAt.IsZero() {
		t.Errorf("owed: %+v", s)
	}
	r.elapse().is("quarantined")
	r.p = policy
	r.release().order(swap.Requeued{}).begin(swap.Quarantine)
}

// A policy's hold waits for a payment to be given up. One that lands ends it.
func TestAPaymentThatLandsEndsThePolicysHold(t *testing.T) {
	r := awaiting(t)
	r.p.OnTimeout = swap.OnTimeoutHold
	r.wait(11*time.Minute).missing(1).found(1, 10)
	if r.i().Hold.Kind != 0 {
		t.Errorf("hold %v", r.i().Hold)
	}
	r.attended().found(1, 10).is("processed").over()
}

// An order that is carried out already changes nothing, its reason neither.
func TestAnOrderThatIsCarriedOutGivesNoReason(t *testing.T) {
	r := toBeRefunded(t)
	r.item.Reason = 0
	before := r.item
	if r.order(swap.RefundOrdered{}); !reflect.DeepEqual(r.item, before) || !r.last.Empty() {
		t.Errorf("it changed %+v", r.item)
	}
}

// Begun again is a no-op for who may still hand the intent over, and no leave for
// anybody else.
func TestBegunAgainIsFenced(t *testing.T) {
	r := ready(t).begin(swap.Send)
	ev := swap.Begun{By: r.worker(), Fence: r.i().Lease.Fence, Number: 1, Action: swap.Send, Reference: r.latest().Reference, Control: r.ctl}
	at := func(d time.Duration) swap.Begun { again := ev; again.At = r.latest().SendBy.Add(d); return again }
	r.do(ev, at(-time.Microsecond)).refused(at(0), statemachine.ErrFenced)
	other := ev
	other.Actor = "other"
	r.refused(other, statemachine.ErrFenced)
	other = ev
	other.Fence++
	r.refused(other, statemachine.ErrFenced)
	other = ev
	other.Action = swap.Refund
	r.refused(other, statemachine.ErrConflict)
	r.answer(statemachine.Unknown).refused(ev, statemachine.ErrFenced)
}

// What only a person can move on is told of at once, and a finished item that is held
// for a day.
func TestSomebodyIsToldOfWhatWaitsForAPerson(t *testing.T) {
	told := func(r interface{ i() *swap.Item }, now, at time.Time) {
		t.Helper()
		if got := r.i().OverdueAt; !got.Equal(at) || r.i().Overdue(at) || !r.i().Overdue(at.Add(time.Microsecond)) {
			t.Errorf("overdue at %v, expected %v (now %v)", got, at, now)
		}
		s := swap.Stats{At: at.Add(time.Microsecond)}
		tally := swap.NewTally(s.At, time.Microsecond)
		switch r := r.(type) {
		case *run[swap.Deposit]:
			tally.Deposit(&r.item)
		case *run[swap.Credit]:
			tally.Credit(&r.item)
		}
		if s = tally.Stats(); s.Overdue != 1 {
			t.Errorf("%+v", s)
		}
	}
	r := quarantined(t)
	for range 3 {
		if r.wait(6 * time.Minute).begin(swap.Quarantine).answer(statemachine.Failed).prove(); r.attended().next().Party == swap.Worker {
			told(r, r.now, r.i().Entered.Add(policy.OverdueAfter))
		}
	}
	told(r, r.now, r.now)
	r.order(swap.Requeued{})
	told(r, r.now, r.i().Entered.Add(policy.OverdueAfter))
	held := quarantined(t).order(swap.Held{})
	told(held, held.now, held.now.Add(24*time.Hour))
	held.order(swap.Released{})
	told(held, held.now, held.i().Entered.Add(policy.OverdueAfter))
	waits := creditReady(t).order(swap.Held{}) // by its age
	if !waits.i().OverdueAt.IsZero() {
		t.Errorf("held: overdue at %v", waits.i().OverdueAt)
	}
	failed := toBeQuarantined(t)
	for range 3 {
		failed.wait(6 * time.Minute).begin(swap.Quarantine).answer(statemachine.Failed)
		if failed.state(&failed.item) != "quarantine failed" {
			failed.prove()
		}
	}
	told(failed.prove(), failed.now, failed.now)
	since := failed.now // a look that finds nothing puts the alert off no more
	failed.wait(time.Hour).do(swap.Looked{By: failed.worker(), Number: 1, Finding: swap.LookUnknown, View: failed.view(1)})
	told(failed, failed.now, since)
	// An hour without confirmations says how many there are.
	few := pending(t).do(swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Count: 1})
	if s := few.attended().next(); s.Party != swap.Worker || !strings.Contains(s.Why, "1 of 2 confirmations") {
		t.Errorf("owed: %+v", s)
	}
	told(few, few.now, t0.Add(time.Hour))
}

// A move that was lost is not owed once a refund turned out to be paid, and requeue
// takes that back no more.
func TestRequeueLeavesWhatSettledACredit(t *testing.T) {
	r := refundPending(t).begin(swap.Refund).answer(statemachine.Failed).prove().order(swap.QuarantineOrdered{})
	r.release().begin(swap.Quarantine).answer(statemachine.Done).wait(time.Hour).missing(2).kinds(swap.OutboundLost)
	r.found(1, 1).kinds(swap.OutboundLost, swap.LateOutbound, swap.PaidWhileQuarantined).attended()
	requeue := swap.Requeued{By: r.operator(), Reason: "x"}
	r.refused(requeue, statemachine.ErrIllegal)
	if r.item.SettledBy != 1 || r.i().Lost != 0 {
		t.Errorf("settled by %d, lost %d", r.item.SettledBy, r.i().Lost)
	}
	// As an older version has stored it.
	old := *r
	old.item.Lost = 2
	if old.order(swap.Requeued{}); old.item.SettledBy != 1 || old.i().Lost != 0 {
		t.Errorf("settled by %d, lost %d", old.item.SettledBy, old.i().Lost)
	}
	// The move lands after all: both have paid. It is lost again: the refund stands.
	r.found(2, 1).kinds(swap.OutboundLost, swap.LateOutbound, swap.PaidWhileQuarantined, swap.LateOutbound)
	r.missing(2).attended()
	if r.item.SettledBy != 1 || r.i().Lost != 0 {
		t.Errorf("settled by %d, lost %d", r.item.SettledBy, r.i().Lost)
	}
	r.found(1, 10).over()
	if m := r.item.Money(); m.Refunded != 9_999_000 || m.Held != 0 {
		t.Errorf("money %+v", m)
	}
}

// A move that took the place of a lost refund is what the credit waits for: somebody is
// told if that is lost, too.
func TestAMoveInThePlaceOfALostRefundIsWaitedFor(t *testing.T) {
	for name, lose := range map[string]func(*run[swap.Credit]){
		"not sent": func(r *run[swap.Credit]) { r.notSent(2) },
		"errored":  func(r *run[swap.Credit]) { r.failedOnChain(2) },
		"missing":  func(r *run[swap.Credit]) { r.wait(time.Hour).missing(2) },
	} {
		t.Run(name, func(t *testing.T) {
			r := refundPending(t).begin(swap.Refund).answer(statemachine.Failed).order(swap.QuarantineOrdered{}).found(1, 1)
			r.failedOnChain(1).kinds(swap.LateOutbound, swap.PaidWhileQuarantined, swap.OutboundLost)
			if r.item.SettledBy != 1 || r.i().Lost != 1 {
				t.Fatalf("settled by %d, lost %d", r.item.SettledBy, r.i().Lost)
			}
			r.do(r.paidBy(swap.Quarantine, "ab")).found(2, 1)
			if r.item.SettledBy != 0 || r.i().Lost != 0 {
				t.Errorf("settled by %d, lost %d", r.item.SettledBy, r.i().Lost)
			}
			lose(r)
			r.kinds(swap.LateOutbound, swap.PaidWhileQuarantined, swap.OutboundLost, swap.OutboundLost).attended()
			if s := r.next(); r.i().Lost != 2 || s.Party != swap.Operator || !r.i().Overdue(r.now.Add(time.Microsecond)) {
				t.Errorf("lost %d, owed: %+v", r.i().Lost, s)
			}
			r.order(swap.Requeued{}).begin(swap.Quarantine)
		})
	}
}

package swap_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// mismatched is an item of which the vault has paid something that is none of its
// intents, and that sighting.
func mismatched(t *testing.T) (*run[swap.Deposit], swap.Sighting) {
	t.Helper()
	x := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "byhand", Memo: "refundSig:sig1", Amount: 9_900_000, Destination: "alice-solana", Token: "USDC", Finalized: true, Confirmations: 10}
	return ready(t).outbound(x).kinds(swap.Mismatch), x
}

// A mismatch of one chain is not explained by an action of the other: its look-up would
// prove that nothing was paid.
func TestAMismatchIsExplainedOnItsChain(t *testing.T) {
	r, x := mismatched(t)
	r.refused(r.paidBy(swap.Send, x.TxID), statemachine.ErrInvalid)
	if r.i().Hold.Kind != swap.ByMismatch || len(r.i().Intents) > 0 {
		t.Fatalf("%+v", r.i())
	}
	r.do(r.paidBy(swap.Refund, x.TxID)).is("to be refunded")
	if r.i().Hold.Kind != 0 {
		t.Errorf("held: %+v", r.i().Hold)
	}
}

// not_sent of a mismatch that a person has filed is not_sent of that intent: it holds up
// nothing, and its transaction is another item's to claim.
func TestNotSentOfAMismatchEndsWhatWasFiled(t *testing.T) {
	look := func(r *run[swap.Deposit], n int64, amount uint64) {
		x := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "aa", Amount: amount, Destination: "emil", Token: "USDD", Confirmations: 10}
		r.do(swap.Looked{By: r.worker(), Number: n, Finding: swap.LookFound, Seen: x})
	}
	filed := func() *run[swap.Deposit] {
		r := ready(t)
		r.do(r.paidBy(swap.Send, "aa"))
		look(r, 1, 5)
		return r.kinds(swap.Mismatch)
	}
	no := func(r *run[swap.Deposit], txid string) {
		r.do(swap.NotSent{By: r.operator(), TxID: txid, Reason: "another's"})
	}
	r := filed()
	no(r, "0xAA")
	if in := r.latest(); in.Proof != swap.Said || in.Claim != "" || r.i().Hold.Kind != 0 {
		t.Fatalf("%+v, hold %v", in, r.i().Hold)
	}
	version := r.i().Version
	if no(r, "aa"); r.i().Version != version {
		t.Error("the same again is a version")
	}
	r.attended().release().begin(swap.Send)
	// A row in which that was said before the two were one.
	r = filed()
	r.i().Hold = swap.Hold{}
	r.i().Discrepancies[0].ClosedBy, r.i().Discrepancies[0].ClosedAt = "oscar", t0
	if no(r, "aa"); r.latest().Proof != swap.Said {
		t.Errorf("%+v", r.latest())
	}
	// What has landed stays: a chain has shown it.
	r = filed()
	paid := r.paidBy(swap.Send, "aa")
	r.do(paid)
	look(r, 1, 5)
	r.i().Discrepancies[0].ClosedBy, r.i().Discrepancies[0].ClosedAt = "", time.Time{}
	no(r, "aa")
	if in := r.latest(); !in.Landed() {
		t.Errorf("%+v", r.latest())
	}
}

// paid_by ends the hold of a mismatch whose transaction is final by then, too.
func TestPaidByOfAFinalMismatchEndsItsHold(t *testing.T) {
	r := debited(t)
	x := sighting(r.latest(), 10, true)
	wrong := x
	wrong.Token = "another"
	r.outbound(wrong).kinds(swap.Mismatch)
	r.outbound(x).is("debit_confirmed")
	if r.i().Hold.Kind != swap.ByMismatch || !r.latest().Final {
		t.Fatalf("%+v", r.i())
	}
	r.do(r.paidBy(swap.Send, x.TxID)).over()
	if in := r.latest(); r.i().Hold.Kind != 0 || in.Net != 9_890_000 {
		t.Errorf("%+v, hold %v", in, r.i().Hold)
	}
}

// Of two payments of one kind that have landed one is lost: the state waits for the
// other, nothing is held and nothing moves.
func TestOfTwoPaymentsTheOtherOneIsWaitedFor(t *testing.T) {
	for _, policy := range swap.OnTimeout(0).Values() {
		r := ready(t).begin(swap.Send).answer(statemachine.Failed).prove().wait(5 * time.Minute).begin(swap.Send)
		r.p.OnTimeout = policy
		r.found(1, 1).answer(statemachine.Done).elapse().is(debitedText).kinds(swap.LateOutbound)
		r.wait(time.Hour).missing(2).is(debitedText).attended()
		if r.i().Hold.Kind != 0 {
			t.Errorf("%v: hold %v", policy, r.i().Hold)
		}
		r.found(1, 10).is("debit_confirmed").over()
	}
}

// A quarantined credit of which two payments have landed is settled by the first.
func TestTwoPaymentsSettleAQuarantine(t *testing.T) {
	r := creditReady(t).begin(swap.Send).answer(statemachine.Failed).prove().wait(5 * time.Minute).begin(swap.Send)
	r.found(1, 1).answer(statemachine.Done).elapse().is(awaitingText).order(swap.QuarantineOrdered{})
	r.found(1, 10).found(1, 10).found(2, 10)
	if r.item.SettledBy != 1 {
		t.Errorf("settled by %d", r.item.SettledBy)
	}
	r.attended()
}

// A quarantined credit whose move lands is not settled by a refund that was found
// while the move was open: it is a double payout.
func TestARefundBesideTheMoveSettlesNothing(t *testing.T) {
	r := refundPending(t).begin(swap.Refund).answer(statemachine.Failed).prove().order(swap.QuarantineOrdered{}).is("quarantined")
	r.begin(swap.Quarantine).found(1, 10).found(2, 10).found(1, 10).found(2, 10).elapse().found(1, 10)
	if r.item.SettledBy != 0 || !slices.ContainsFunc(r.i().Discrepancies, func(d swap.Discrepancy) bool { return d.Kind == swap.DoublePayout }) {
		t.Errorf("settled by %d, %+v", r.item.SettledBy, r.i().Discrepancies)
	}
}

// A credit that vanished is paid after all: that is on file, whoever paid it.
func TestWhatVanishedAndIsPaidIsOnFile(t *testing.T) {
	r := creditReady(t)
	r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Gone: true}).kinds()
	r.do(r.paidBy(swap.Send, "byhand")).kinds()
	r.found(1, 1).kinds(swap.InboundGone)
	r.found(1, 10).is("processed").kinds(swap.InboundGone)
}

// A credit that was settled, lost that and vanished is dropped as a sound record.
func TestADroppedCreditIsSettledByNothing(t *testing.T) {
	r := awaiting(t).order(swap.QuarantineOrdered{}).found(1, 1)
	if r.item.SettledBy != 1 {
		t.Fatalf("settled by %d", r.item.SettledBy)
	}
	r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Gone: true}).wait(time.Hour).missing(1).order(swap.Dropped{}).is("processed as fees")
}

// Two that had landed and were taken back say nothing of an excess of today.
func TestAnExcessIsOnFileAfterTwoWereTakenBack(t *testing.T) {
	r := ready(t).begin(swap.Send).answer(statemachine.Failed).prove().wait(5 * time.Minute).begin(swap.Send)
	r.found(1, 1).answer(statemachine.Done).elapse().wait(time.Hour).missing(1).missing(2).is(toBeRefundedText)
	more := r.paidBy(swap.Refund, "byhand")
	more.Amount = amount + 1
	r.do(more).found(3, 10).found(3, 10).is("refund_confirmed").kinds(swap.LateOutbound, swap.Overpaid)
}

// What somebody else signed keeps no negative away, and an error of another
// transaction does not, either.
func TestAScanOfOthersIsANegative(t *testing.T) {
	for name, x := range map[string]swap.Sighting{
		"not the vault's": {Chain: swap.Nexus, TxID: "dust", Reference: 101, Amount: 1, Destination: "carol", Token: "USDD", Confirmations: 10},
		"an error":        {VaultSigned: true, Chain: swap.Nexus, TxID: "bb", Reference: 101, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10, Errored: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := debited(t).wait(time.Hour).watch(1)
			x.Reference = r.latest().Reference
			events := r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), swap.History{Chain: swap.Nexus, Outbound: []swap.Sighting{x}, View: r.view(1)})
			r.do(events...).is(toBeRefundedText)
		})
	}
	// Once it has paid, an error of another transaction is no news: it is asked again later.
	paid := debited(t)
	x := sighting(paid.latest(), 10, true)
	x.TxID, x.Errored = "bb", true
	paid.claim().wait(paid.p.LookEvery).do(swap.Looked{By: paid.worker(), Number: 1, Finding: swap.LookFound, Seen: x}).is(debitedText)
	if at := paid.i().CheckAt; !at.Equal(paid.now.Add(paid.p.LookEvery)) {
		t.Errorf("asked again at %v, it is %v", at, paid.now)
	}
	// The transaction itself, with an error, is no negative: below finality it can change.
	r := debited(t).wait(time.Hour)
	x = sighting(r.latest(), 1, false)
	x.Errored = true
	r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), swap.History{Chain: swap.Nexus, Outbound: []swap.Sighting{x}, View: r.view(1)})...).is(debitedText)
}

// A loss is a generation of its own, whatever the clocks said before and say now, and each scan is
// owed again.
func TestALossIsNotToldByTheClock(t *testing.T) {
	c := open
	c.RecoveredAt = t0.Add(90000 * time.Hour) // said by a clock that was ahead
	for _, now := range []time.Time{t0, t0.Add(-time.Minute), t0.Add(-3 * time.Hour), {}} {
		lost := c.Restored(now)
		if !lost.Recovering() || lost.Version != c.Version+1 || lost.Generation != c.Generation+1 || !lost.RecoveredAt.Equal(now) {
			t.Errorf("at %v: %+v", now, lost)
		}
		if half := lost.Scanned(swap.Nexus); !half.Recovering() || half.Scanned(swap.Solana).Recovering() {
			t.Error("two scans are owed")
		}
	}
	if lost := policy.Restored(c, t0); !lost.RecoveredAt.Equal(t0.Add(policy.WaterlineMargin)) {
		t.Errorf("by a clock that may be behind it was lost at %v", lost.RecoveredAt)
	}
}

// A tip that is ahead of the store's clock says that this clock is behind: what came in
// before a loss would have come after it.
func TestAScanAheadOfTheStoreIsRefused(t *testing.T) {
	for ahead, want := range map[time.Duration]bool{policy.WaterlineMargin: true, policy.WaterlineMargin + time.Microsecond: false} {
		if _, err := policy.CheckScan(swap.Scan{Began: t0, Tip: t0.Add(ahead)}, t0); (err == nil) != want {
			t.Errorf("%v ahead: %v", ahead, err)
		}
	}
}

// A look-up that does not say when it was asked proves nothing, also of what can land up
// to a height alone: a host that forgets it is told, and waits for nothing. What a scan
// has found is heard although it says of nothing that it is missing.
func TestANegativeSaysWhenItWasAsked(t *testing.T) {
	r := ready(t).begin(swap.Send).answer(statemachine.Failed).wait(time.Hour)
	views := []swap.View{r.view(1), r.view(1)}
	for k := range views {
		ev := swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: views[0], Nexus: views[1]}
		if k == 1 {
			ev.Number = 0
		}
		[]*swap.View{&ev.View, &ev.Nexus}[k].Asked = time.Time{}
		r.refused(ev, statemachine.ErrInvalid)
		ev.View.Asked, ev.Number = time.Time{}, 0
		r.refused(ev, statemachine.ErrInvalid)
		ev.Finding = swap.LookUnknown
		r.do(ev)
	}
	scan := swap.History{Chain: swap.Nexus, View: views[0]}
	scan.View.Asked = time.Time{}
	for _, ev := range r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scan) {
		r.refused(ev, statemachine.ErrInvalid)
	}
	if events := r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), swap.History{Chain: swap.Nexus}, swap.History{Chain: swap.Solana}); len(events) > 0 {
		t.Errorf("without a view: %+v", events)
	}
	in := swap.Intent{Chain: swap.Solana, At: t0, LastValid: 1000}
	v := swap.View{From: t0.Add(-policy.WaterlineMargin), Asked: t0, ByID: true, Before: 1001, After: 1001}
	if !policy.Complete(in, v, t0) {
		t.Error("it says when")
	}
	if v.Asked = (time.Time{}); policy.Complete(in, v, t0) {
		t.Error("it does not say when")
	}
}

// A person's word against a chain's is on file, whatever the state waits for.
func TestNotSentOfAFinalPaymentIsOnFile(t *testing.T) {
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "aa", Reference: 3, Amount: amount, Destination: policy.USDDQuarantineAccount, Token: "USDD", Confirmations: 10}
	r := credits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedCredit("tx1", amount), Action: swap.Quarantine, Seen: seen})
	second := r.paidBy(swap.Quarantine, "ab")
	second.Amount = 100_000
	r.do(second).found(2, 10).found(2, 10).kinds(swap.DoublePayout)
	r.notSent(1).kinds(swap.DoublePayout, swap.OutboundLost)
}

// What a row was rebuilt from, and names the item by its memo, is not taken back by a
// person's word where that would let it be paid again. On Nexus nothing names the item: an
// operator says not_sent, with a discrepancy, and requeues it.
func TestNotSentOfWhatNamesARebuiltItemIsRefused(t *testing.T) {
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "aa", Memo: "quarantinedSig:sig1", Amount: 9_900_000, Destination: policy.USDCQuarantineAccount, Token: "USDC", Finalized: true}
	ev := swap.Recovered{By: by(swap.System, t0), Observed: observedDeposit("sig1", amount), Memo: "hello", Action: swap.Quarantine, Seen: seen}
	d := deposits(t).do(ev).wait(time.Hour)
	d.refused(swap.NotSent{By: d.operator(), Number: 1, Reason: "x"}, statemachine.ErrIllegal)
	d.refused(swap.Requeued{By: d.operator(), Reason: "x"}, statemachine.ErrIllegal)
	for _, memo := range []string{"", "quarantinedSig:sig2", "hello"} {
		ev.Seen.Memo = memo
		deposits(t).refused(ev, statemachine.ErrInvalid)
	}
	seen = swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "ab", Reference: 3, Amount: 9_999_000, Destination: "bob-nexus", Token: "USDD", Confirmations: 10}
	for _, seen.Memo = range []string{"", "a note"} {
		c := credits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedCredit("tx1", amount), Action: swap.Refund, Seen: seen})
		c.notSent(1).is("refunded").kinds(swap.OutboundLost).order(swap.Requeued{}).is("refund pending")
	}
}

// What came to rest for a reason is owed a look back after a loss: the reason is told,
// since without a mended policy no order makes it due.
func TestWhatRestsForAReasonNamesIt(t *testing.T) {
	r := credits(t)
	r.p.Credits.Quarantine = amount
	r.do(observedCredit("tx1", amount), swap.Confirmations{By: by(swap.Observer, t0), Count: 2}).claim()
	r.do(r.mapping(), swap.AccountChecked{By: r.worker(), State: swap.AccountClosed}).release().order(swap.QuarantineOrdered{})
	restored(r.wait(time.Hour)).wait(time.Hour)
	if s := r.next(); s.Party != swap.Operator || !strings.Contains(s.Why, "mend the policy") {
		t.Fatalf("owed: %+v", s)
	}
	r.p.Credits.Quarantine = 0
	r.order(swap.Requeued{}).missing(0).begin(swap.Quarantine)
}

// Sums of more than 2^64 - 1 are that, and no small numbers.
func TestMoneyDoesNotWrap(t *testing.T) {
	r := memo(deposits(t).do(observedDeposit("sig1", swap.MaxAmount)), "nexus:carol")
	for k, id := range []string{"aa", "ab", "ac"} {
		paid := r.paidBy(swap.Send, id)
		paid.Amount = swap.MaxAmount
		n := int64(k) + 1
		r.do(paid).found(n, 10).found(n, 10)
	}
	if m := r.item.Money(); m.PaidOut != math.MaxUint64 || m.Held != 0 || m.Excess != math.MaxUint64-swap.MaxAmount || m.Fees != 0 {
		t.Errorf("%+v", m)
	}
	if text := swap.FormatAmount(r.item.Money().Excess); !strings.HasPrefix(text, "922337203685") {
		t.Error(text)
	}
}

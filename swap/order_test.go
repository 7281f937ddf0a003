package swap_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

// paid_by of a credit that is not confirmed would be a refund of what may never
// have come in.
func TestPaidByDoesNotMoveACreditBelowTwoConfirmations(t *testing.T) {
	order := swap.PaidBy{By: by(swap.Operator, t0), Action: swap.Refund, TxID: "typo", Reason: "x"}
	pending(t).refused(order, statemachine.ErrIllegal)
	pending(t).do(swap.Confirmations{By: by(swap.Observer, t0), Count: 1}).refused(order, statemachine.ErrIllegal)
	ripe(t).do(order).is("refund pending")
}

// A person's hold ends by that person's word, whatever else holds the item.
func TestAnOperatorsHoldIsNotLost(t *testing.T) {
	foreign := func(r *run[swap.Credit]) swap.Sighting {
		return swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "foreign", Memo: "nexus_txid:" + r.i().ID, Amount: 1, Destination: "x", Token: "USDC", Finalized: true}
	}
	held := func(r *run[swap.Credit], kind swap.HoldKind) *run[swap.Credit] {
		r.t.Helper()
		if r.i().Hold.Kind != kind {
			r.t.Fatalf("hold %v, expected %v", r.i().Hold, kind)
		}
		return r
	}
	t.Run("a late outbound, before and after", func(t *testing.T) {
		late := func() *run[swap.Credit] {
			return sending(t).answer(statemachine.Failed).prove().wait(6 * time.Minute).release().begin(swap.Send)
		}
		r := late().order(swap.Held{})
		held(r.found(1, 1), swap.ByOperator)
		r = held(late().found(1, 1), swap.ByLate).order(swap.Held{})
		held(r.wait(time.Hour).missing(2), swap.ByOperator).is(awaitingText)
		held(r.missing(1), swap.ByOperator).is("refund pending")
		r.i().Lease = statemachine.Lease{Holder: "worker", Fence: 9, Until: r.now.Add(time.Hour)}
		r.refused(r.begun(swap.Refund), switches.ErrOnHold).order(swap.Released{}).do(r.begun(swap.Refund))
	})
	t.Run("a mismatch", func(t *testing.T) {
		r := creditReady(t).order(swap.Held{})
		held(r.wait(time.Minute).outbound(foreign(r)), swap.ByOperator)
		held(r.order(swap.Released{}), swap.ByMismatch)
		since := r.i().Hold.At
		r.wait(time.Minute).order(swap.Held{})
		if !r.i().Hold.At.Equal(since) {
			t.Errorf("held since %v, not %v", r.i().Hold.At, since)
		}
		held(r, swap.ByOperator).do(swap.NotSent{By: r.operator(), TxID: "foreign", Reason: "x"})
		held(r, swap.ByOperator).order(swap.Released{})
		held(r, 0)
	})
	t.Run("a recovery", func(t *testing.T) {
		r := credits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedCredit("tx1", amount)})
		r.do(swap.Confirmations{By: by(swap.Observer, t0), Count: 2})
		held(r, swap.ByRecovery).order(swap.Held{})
		r.do(swap.PaidBy{By: r.operator(), Action: swap.Send, TxID: "typo", Reason: "x"})
		held(r, swap.ByOperator)
	})
	t.Run("a policy", func(t *testing.T) {
		r := awaiting(t)
		r.p.OnTimeout = swap.OnTimeoutHold
		held(r.wait(11*time.Minute).missing(1), swap.ByPolicy).order(swap.Held{})
		held(r.order(swap.RefundOrdered{}), swap.ByOperator)
	})
	t.Run("a policy, and a mismatch", func(t *testing.T) {
		r := awaiting(t)
		r.p.OnTimeout = swap.OnTimeoutHold
		held(r.wait(11*time.Minute).missing(1).outbound(foreign(r)), swap.ByPolicy)
		held(r.order(swap.RefundOrdered{}), swap.ByMismatch)
	})
	t.Run("a policy, released", func(t *testing.T) {
		r := awaiting(t)
		r.p.OnTimeout = swap.OnTimeoutHold
		r.wait(11 * time.Minute).missing(1).order(swap.Held{}).order(swap.Released{})
		if s := r.next(); s.Party != swap.Operator || s.Why == "" {
			t.Errorf("owed: %+v", s)
		}
		r.order(swap.RefundOrdered{}).is("refund pending")
	})
}

// A mistaken paid_by, and a payment that moved something else, are corrected.
func TestPaidByIsCorrected(t *testing.T) {
	paidBy := func(r *run[swap.Deposit], amount uint64) swap.PaidBy {
		return swap.PaidBy{By: r.operator(), Action: swap.Send, TxID: "manual", Amount: amount, Reason: "x"}
	}
	ends := func(r *run[swap.Deposit], s swap.Sighting) {
		r.t.Helper()
		look := swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s}
		r.do(look, look).is("debit_confirmed")
		if m := r.item.Money(); m.PaidOut != s.Amount || m.Held != 0 || m.Excess != 0 {
			t.Errorf("money %+v", m)
		}
	}
	for _, again := range []uint64{9_000_000, 0} { // 0: as the chain shows it
		r := ready(t)
		r.do(paidBy(r, 0))
		s := sighting(r.latest(), 10, true)
		s.Amount = 9_000_000
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s}).kinds(swap.Mismatch)
		r.do(paidBy(r, again))
		if r.i().Hold.Kind != 0 {
			t.Errorf("hold %v", r.i().Hold)
		}
		ends(r, s)
	}
	r := ready(t)
	r.do(paidBy(r, 0), paidBy(r, 7_000_000))
	if in := r.latest(); in.Net != 7_000_000 || in.Fee != 3_000_000 || len(r.i().Intents) != 1 {
		t.Errorf("%+v", in)
	}
	t.Run("one that was begun here and moved something else", func(t *testing.T) {
		r := debited(t)
		s := sighting(r.latest(), 10, true)
		s.Amount, s.Destination = 9_000_000, "elsewhere"
		r.outbound(s).kinds(swap.Mismatch)
		order := paidBy(r, 0)
		order.TxID, order.Action = s.TxID, swap.Send
		r.do(order)
		look := swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s}
		r.do(look).is("debit_confirmed")
		if m := r.item.Money(); m.PaidOut != 9_000_000 || m.Fees != 1_000_000 {
			t.Errorf("money %+v", m)
		}
	})
	t.Run("for something else", func(t *testing.T) {
		r := toBeRefunded(t)
		order := paidBy(r, 0)
		order.Action = swap.Refund
		r.do(order)
		order.Action = swap.Quarantine
		r.refused(order, statemachine.ErrConflict)
	})
	t.Run("a quarantine of what is ready", func(t *testing.T) {
		r := creditReady(t)
		r.do(swap.PaidBy{By: r.operator(), Action: swap.Quarantine, TxID: "aside", Reason: "x"}).is("quarantined")
		r.found(1, 10).found(1, 10)
		if m := r.item.Money(); m.Quarantined != amount {
			t.Errorf("money %+v", m)
		}
	})
}

// paid_by of what was begun here and is proved not to have paid reopens it: its
// look-up decides, and nothing is begun before that.
func TestPaidByReopensWhatIsProved(t *testing.T) {
	paidBy := func(r *run[swap.Credit], txid string, a swap.Action) swap.PaidBy {
		return swap.PaidBy{By: r.operator(), Action: a, TxID: txid, Reason: "x"}
	}
	reopened := func(t *testing.T, r *run[swap.Credit]) {
		t.Helper()
		if in := r.i().Intents[0]; in.Outcome != statemachine.Unknown || in.Proof != 0 || !in.ClosedAt.IsZero() {
			t.Fatalf("not reopened: %+v", in)
		}
		r.wait(time.Hour).claim().do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable}).refused(r.begun(swap.Send), switches.ErrOnHold)
		if s := r.next(); len(s.Tasks) != 1 || s.Tasks[0].Do != swap.LookUp || s.Tasks[0].Number != 1 {
			t.Fatalf("owed: %+v", s)
		}
	}
	notSent := func(r *run[swap.Credit]) {
		r.wait(time.Hour).do(swap.NotSent{By: r.operator(), Number: 1, Height: 1001, Reason: "a mistake"})
	}
	for name, prove := range map[string]func(*run[swap.Credit]){
		"said":     notSent,
		"negative": func(r *run[swap.Credit]) { r.prove() },
		"errored":  func(r *run[swap.Credit]) { r.failedOnChain(1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := sending(t)
			prove(r)
			for _, amount := range []uint64{0, r.latest().Net} {
				r := *r
				order := paidBy(&r, r.latest().Signature, swap.Send)
				order.Amount = amount
				reopened(t, r.do(order, order))
				r.found(1, 10).is(awaitingText).found(1, 10).is("processed").kinds()
			}
			reopened(t, r.do(paidBy(r, r.latest().Signature, swap.Send)))
			r.missing(1).release().begin(swap.Send) // it did not pay, after all
		})
	}
	t.Run("of another amount", func(t *testing.T) {
		r := sending(t).prove()
		s := sighting(r.latest(), 10, true)
		s.Amount, s.Destination = 9_000_000, "elsewhere"
		reopened(t, r.outbound(s).kinds(swap.Mismatch).do(paidBy(r, s.TxID, swap.Send)))
		look := swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s}
		r.do(look).is(awaitingText).do(look).is("processed")
		if m := r.item.Money(); m.PaidOut != 9_000_000 || m.Fees != 1_000_000 || m.Excess != 0 {
			t.Errorf("money %+v", m)
		}
	})
	t.Run("while another one is open", func(t *testing.T) {
		r := sending(t)
		notSent(r)
		first := r.latest().Signature
		r.release().begin(swap.Send).refused(paidBy(r, first, swap.Send), statemachine.ErrHeld)
	})
	t.Run("a lost refund", func(t *testing.T) {
		r := refunded(t).wait(time.Hour).missing(1).kinds(swap.OutboundLost)
		r.do(paidBy(r, r.latest().TxID, swap.Refund)).order(swap.Requeued{}).is("refund pending").claim().refused(r.begun(swap.Refund), switches.ErrOnHold)
		r.found(1, 10).is("refunded").found(1, 10)
	})
}

// More than came in is on file as soon as it is final, whoever paid it, and on
// whatever row.
func TestWhatAPersonPaysTooMuchIsOnFile(t *testing.T) {
	pays := func(r *run[swap.Deposit], a swap.Action, amount uint64) *run[swap.Deposit] {
		order := r.paidBy(a, "byhand")
		order.Amount = amount
		return r.do(order)
	}
	excess := func(t *testing.T, r interface{ i() *swap.Item }, m swap.Money, want uint64) {
		t.Helper()
		if all := r.i().Discrepancies; m.Excess != want || len(all) != 1 || all[0].Kind != swap.Overpaid || all[0].Other != want {
			t.Errorf("money %+v, %+v", m, all)
		}
	}
	for _, c := range []struct{ amount, want uint64 }{{amount, 0}, {amount + 1, 1}, {swap.MaxAmount, swap.MaxAmount - amount}} {
		r := pays(ready(t), swap.Send, c.amount).found(1, 10).is(debitedText).found(1, 10).is("debit_confirmed")
		if c.want == 0 {
			r.kinds()
			continue
		}
		excess(t, r, r.item.Money(), c.want)
		r.found(1, 10).outbound(sighting(r.latest(), 10, true)).over()
		if len(r.i().Discrepancies) != 1 {
			t.Errorf("recorded again: %+v", r.i().Discrepancies)
		}
	}
	// What is kept as fee, and what was given up.
	micro := memo(deposits(t).do(observedDeposit("sig1", 100_000)), "nexus:carol").elapse().is("processed, amount after fees <= 0")
	pays(micro, swap.Refund, 60_000).found(1, 10).kinds().found(1, 10)
	excess(t, micro, micro.item.Money(), 60_000)
	gone := ripe(t).do(swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Gone: true}).order(swap.Dropped{})
	gone.do(gone.paidBy(swap.Refund, "byhand")).found(1, 10).found(1, 10).kinds(swap.InboundGone, swap.Overpaid)
	if m := gone.item.Money(); m.Excess != 9_999_000 {
		t.Errorf("money %+v", m)
	}
	// Two that paid are a double payout, and that says it.
	r := debited(t).found(1, 10)
	pays(r, swap.Refund, amount).found(2, 10).found(2, 10).kinds(swap.DoublePayout)
}

// A refund that an operator orders ends a policy's hold also where the item is on its
// way to one already, and not while what was filed is open.
func TestAnOrderEndsAPolicysHoldWhereverTheItemIs(t *testing.T) {
	held := func(t *testing.T, a swap.Action) *run[swap.Credit] {
		r := awaiting(t)
		r.p.OnTimeout = swap.OnTimeoutHold
		r.wait(11 * time.Minute).missing(1)
		r.do(r.paidBy(a, "ab")).is("refund pending")
		r.refused(swap.RefundOrdered{By: r.operator(), Reason: "x"}, statemachine.ErrHeld)
		r.notSent(2)
		if r.attended().i().Hold.Kind != swap.ByPolicy {
			t.Errorf("hold %v", r.i().Hold)
		}
		return r.refused(swap.Released{By: r.operator()}, statemachine.ErrIllegal)
	}
	for _, a := range []swap.Action{swap.Send, swap.Refund} {
		r := held(t, a).order(swap.RefundOrdered{}).is("refund pending").attended()
		if r.i().Hold.Kind != 0 || len(r.last.Log) != 1 {
			t.Errorf("hold %v, %+v", r.i().Hold, r.last.Log)
		}
		if r.order(swap.RefundOrdered{}); !r.last.Empty() {
			t.Error("twice")
		}
		r.begin(swap.Refund)
	}
	held(t, swap.Send).order(swap.QuarantineOrdered{}).is("quarantined").begin(swap.Quarantine)
	d := debited(t)
	d.p.OnTimeout = swap.OnTimeoutHold
	d.wait(11 * time.Minute).missing(1)
	d.do(d.paidBy(swap.Refund, "ab")).is(toBeRefundedText).notSent(2).order(swap.RefundOrdered{}).is(toBeRefundedText).begin(swap.Refund)
}

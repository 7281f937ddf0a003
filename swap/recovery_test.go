package swap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// restored is a copy that was taken up again at the run's time, its scans complete.
func restored[A any](r *run[A]) *run[A] {
	r.ctl = r.ctl.Restored(r.now)
	r.ctl = r.ctl.Scanned(swap.Solana, r.now).Scanned(swap.Nexus, r.now)
	return r
}

// next of either machine.
func (r *run[A]) next() swap.Step {
	switch a := any(r.item).(type) {
	case swap.Deposit:
		return r.p.NextDeposit(a, r.ctl, r.now)
	case swap.Credit:
		return r.p.NextCredit(a, r.ctl, r.now)
	}
	panic("no such item")
}

// owes compares the one task that is owed, and when nothing is owed until.
func (r *run[A]) owes(do swap.Do) *run[A] {
	r.t.Helper()
	if s := r.next(); len(s.Tasks) != 1 || s.Tasks[0].Do != do {
		r.t.Fatalf("owed: %+v, expected %v", s, do)
	}
	return r
}

// An item of a copy is not paid before all that went out since is on file: also an
// attempt that was begun after the copy was made, whatever the copy shows.
func TestARestoredCopyPaysNothingBeforeALookBack(t *testing.T) {
	for name, r := range map[string]*run[swap.Deposit]{
		"a send": ready(t), "a refund": toBeRefunded(t), "a quarantine": toBeQuarantined(t),
		"a second attempt": ready(t).begin(swap.Send).answer(statemachine.Failed).prove(),
	} {
		t.Run(name, func(t *testing.T) {
			restoredCopy(t, r, map[string]swap.Action{"a refund": swap.Refund, "a quarantine": swap.Quarantine}[name])
		})
	}
	for name, r := range map[string]*run[swap.Credit]{"a credit's send": creditReady(t), "a credit's refund": refundPending(t), "a credit's move": quarantined(t), "a second attempt of a credit": sending(t).answer(statemachine.Failed).prove()} {
		t.Run(name, func(t *testing.T) {
			restoredCopy(t, r, map[string]swap.Action{"a credit's refund": swap.Refund, "a credit's move": swap.Quarantine}[name])
		})
	}
}

func restoredCopy[A any](t *testing.T, r *run[A], a swap.Action) {
	r.t = t
	if a == 0 {
		a = swap.Send
	}
	restored(r.release().wait(time.Hour))
	bar := r.now.Add(r.p.Lease + r.p.CallTimeout)
	r.claim()
	if a == swap.Send {
		r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	}
	r.refused(r.begun(a), statemachine.ErrHeld)
	if s := r.next(); len(s.Tasks) > 0 {
		t.Fatalf("owed while an old sender may still send: %+v", s)
	}
	r.now = bar
	r.missing(0).refused(r.begun(a), statemachine.ErrFenced) // the lease is over
	r.now = bar.Add(time.Microsecond)
	r.claim()
	if a == swap.Send {
		r.i().Checked = true
	}
	r.owes(swap.LookBack).refused(r.begun(a), statemachine.ErrHeld)
	r.missing(0).owes(swap.Begin).do(r.begun(a))
	// A second loss begins anew.
	r.answer(statemachine.Failed).release().prove()
	restored(r.wait(time.Hour)).claim()
	if a == swap.Send {
		r.i().Checked = true
	}
	r.refused(r.begun(a), statemachine.ErrHeld)
}

// What is kept as fee was not paid before the loss either.
func TestNothingIsBookedAsFeeBeforeALookBack(t *testing.T) {
	r := memo(deposits(t).do(observedDeposit("sig1", 100_000)), "x").is("to be refunded").release()
	restored(r.wait(time.Hour)).elapse().is("to be refunded").wait(10 * time.Minute).owes(swap.LookBack)
	r.missing(0).elapse().is("processed, amount after fees <= 0")
}

// What went out after the copy is found by memo on Solana, and on Nexus by
// destination and amount: the item is held for a person, who says paid_by.
func TestALookBackFindsWhatIsNotOnFile(t *testing.T) {
	scans := func(r interface{ view(int64) swap.View }, solana, nexus []swap.Sighting) []swap.History {
		return []swap.History{{Chain: swap.Solana, Outbound: solana, View: r.view(0)}, {Chain: swap.Nexus, Outbound: nexus, View: r.view(0)}}
	}
	t.Run("a debit", func(t *testing.T) {
		r := ready(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		debit := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "lostdebit", Reference: 7, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10, Time: t0.Add(-r.p.WaterlineMargin)}
		others := []swap.Sighting{debit, debit, debit, debit, debit}
		others[0].Destination = "dave"
		others[1].Amount--
		others[2].VaultSigned = false
		others[3].Errored = true
		others[4].Time = debit.Time.Add(-time.Microsecond)
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, append(others, debit))...)...).kinds(swap.Mismatch)
		if r.i().Hold.Kind != swap.ByMismatch || r.i().LookedBack.After(r.ctl.RecoveredAt) {
			t.Fatalf("hold %v, looked back %v", r.i().Hold, r.i().LookedBack)
		}
		r.do(swap.Ordered{By: r.operator(), Order: swap.PaidBy, Action: swap.Send, TxID: "lostdebit", Reason: "seen"})
		if r.i().LookedBack.After(r.ctl.RecoveredAt) {
			t.Error("paid_by is no look-back")
		}
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: debit}).is(debitedText)
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: debit}).is("debit_confirmed")
	})
	t.Run("a debit under past fees, that is another's", func(t *testing.T) {
		r := ready(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		old := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "old", Amount: 9_800_000, Destination: "carol", Token: "USDD"}
		events := r.p.RecoverDeposit(r.item, r.ctl, []swap.Fees{{Flat: 200_000}}, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{old})...)
		r.do(events...).kinds(swap.Mismatch)
		r.do(swap.Ordered{By: r.operator(), Order: swap.NotSent, TxID: "old", Reason: "it is of another deposit"})
		r.do(r.p.RecoverDeposit(r.item, r.ctl, []swap.Fees{{Flat: 200_000}}, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{old})...)...)
		r.begin(swap.Send)
	})
	t.Run("a refund", func(t *testing.T) {
		r := toBeRefunded(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		refund := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "lostrefund", Memo: "refundSig:sig1 invalid memo", Amount: 9_900_000, Destination: "alice-solana", Token: "USDC", Finalized: true}
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, []swap.Sighting{refund}, nil)...)...).kinds(swap.Mismatch)
		if r.i().LookedBack.After(r.ctl.RecoveredAt) {
			t.Error("nothing was found")
		}
	})
	t.Run("a credit's refund", func(t *testing.T) {
		r := refundPending(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		refund := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "lostrefund", Reference: 9, Amount: 9_999_000, Destination: "bob-nexus", Token: "USDD"}
		r.do(r.p.RecoverCredit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{refund})...)...).kinds(swap.Mismatch)
	})
	t.Run("nothing", func(t *testing.T) {
		r := ready(t).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, nil)...)...).begin(swap.Send)
	})
	t.Run("a debit of a deposit whose memo nobody can read", func(t *testing.T) {
		r := detected(t).claim().do(swap.MemoFetched{By: by(swap.Worker, t0), Failed: true}).release()
		restored(r.wait(5 * time.Hour)).elapse().is("detected").wait(time.Hour).elapse().is("detected") // the clock begins anew
		r.wait(time.Microsecond).attended().elapse().is(toBeRefundedText).owes(swap.LookBack)
		debit := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "lostdebit", Reference: 7, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10, Time: t0}
		other := debit
		other.Amount--
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{other, debit})...)...).kinds(swap.Mismatch)
		r.attended()
		r.do(swap.Ordered{By: r.operator(), Order: swap.PaidBy, Action: swap.Send, TxID: "lostdebit", Reason: "it is this one"})
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: debit}, swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: debit}).is("debit_confirmed")
	})
	t.Run("a move to a quarantine account of another day", func(t *testing.T) {
		r := quarantined(t).release()
		r.p.OwnAccounts = append([]string{"old-quarantine"}, r.p.OwnAccounts...)
		restored(r.wait(time.Hour)).wait(time.Hour)
		move := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "lostmove", Reference: 9, Amount: amount, Destination: "old-quarantine", Token: "USDD"}
		r.do(r.p.RecoverCredit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{move})...)...).kinds(swap.Mismatch)
	})
	t.Run("what is on file", func(t *testing.T) {
		r := ready(t).begin(swap.Send).release()
		restored(r.wait(time.Hour)).wait(time.Hour)
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), scans(r, nil, []swap.Sighting{sighting(r.latest(), 10, true)})...)...).is(debitedText).kinds()
	})
}

// What was at rest in a copy is offered to no worker, so it is an operator's, by
// whose order the look back comes first.
func TestAnItemAtRestInACopyIsAnOperators(t *testing.T) {
	r := quarantined(t)
	r.p.Credits.Quarantine = amount
	restored(r.order(swap.HoldItem).order(swap.Release).release().wait(time.Hour)).wait(time.Hour)
	for _, p := range []swap.Policy{r.p, policy} { // also when the fee is mended
		r.p = p
		if s := r.attended().next(); s.Party != swap.Operator || s.Why == "" || len(s.Tasks) > 0 {
			t.Errorf("owed: %+v, due %v", s, r.i().CheckAt)
		}
	}
	r.order(swap.Requeue).attended().claim().owes(swap.LookBack).refused(r.begun(swap.Quarantine), statemachine.ErrHeld)
	r.missing(0).do(r.begun(swap.Quarantine))
	over := toBeQuarantined(t)
	for range 3 {
		over.wait(6 * time.Minute).begin(swap.Quarantine).answer(statemachine.Failed)
		if over.state(&over.item) != "quarantine failed" {
			over.prove()
		}
	}
	if s := restored(over.release().wait(time.Hour)).attended().next(); s.Why == "" {
		t.Errorf("owed: %+v", s)
	}
}

// Whether an item came in after the loss is told by the clocks of two machines.
func TestAnItemIsYoungerThanTheLossByTheMargin(t *testing.T) {
	for _, c := range []struct {
		at     time.Duration
		behind bool
	}{{2*time.Minute - time.Second, true}, {2 * time.Minute, false}} {
		r := deposits(t)
		restored(r)
		o := observedDeposit("sig1", amount)
		o.Time, o.Control = t0.Add(c.at), r.ctl
		o.By.At = t0.Add(time.Hour)
		r.now = o.By.At
		memo(r.do(o), "nexus:carol").do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
		if err := r.try(r.begun(swap.Send)); (err != nil) != c.behind {
			t.Errorf("an item of %v after the loss: %v", c.at, err)
		}
	}
}

// Rows that were imported without what their status says went out.
func TestAnImportedRowThatLacksItsIntentIsNotSentAgain(t *testing.T) {
	imported := func(r *run[swap.Credit]) *run[swap.Credit] {
		r.item.Intents, r.item.Attempts, r.item.Lease = nil, swap.Attempts{}, statemachine.Lease{Holder: "worker", Fence: 9, Until: r.now.Add(time.Hour)}
		return r
	}
	r := imported(sending(t))
	r.i().Checked = true
	r.refused(r.begun(swap.Send), statemachine.ErrHeld).elapse().is("sending")
	if s := r.next(); s.Party != swap.Operator || len(s.Tasks) > 0 || s.Why == "" {
		t.Errorf("owed: %+v", s)
	}
	r.order(swap.OrderRefund).is("refund pending").do(r.begun(swap.Refund))
	r = imported(quarantined(t))
	r.item.Terms = swap.Terms{}
	r.refused(r.begun(swap.Quarantine), statemachine.ErrHeld)
	if s := r.next(); s.Party != swap.Operator || len(s.Tasks) > 0 {
		t.Errorf("owed: %+v", s)
	}
	r.do(swap.Ordered{By: r.operator(), Order: swap.PaidBy, Action: swap.Quarantine, TxID: "moved", Reason: "x"})
	r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: sighting(r.latest(), 10, true)})
	r.found(1, 10)
	if m := r.item.Money(); m.Quarantined != amount {
		t.Errorf("money %+v", m)
	}
	// A refund of which only the status is known: an operator names it, or says so.
	d := refundSent(t)
	d.item.Intents, d.item.Attempts = nil, swap.Attempts{}
	if s := d.next(); s.Party != swap.Operator {
		t.Errorf("owed: %+v", s)
	}
	d.do(swap.Ordered{By: d.operator(), Order: swap.PaidBy, Action: swap.Refund, TxID: "named", Reason: "x"})
	d.wait(10 * time.Minute).missing(1).is("refund sent, awaiting confirmation").wait(time.Microsecond).missing(1).is("to be quarantined")
}

// Two transactions of the vault with one reference: the second is filed, found, and
// a double payout on file, whatever order and whichever spelling.
func TestTwoTransactionsWithOneReference(t *testing.T) {
	for name, say := range map[string]func(r *run[swap.Deposit], s swap.Sighting){
		"in the history": func(r *run[swap.Deposit], s swap.Sighting) { r.outbound(s) },
		"in a look-up": func(r *run[swap.Deposit], s swap.Sighting) {
			r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s})
		},
		"in an answer": func(r *run[swap.Deposit], s swap.Sighting) {
			r.do(swap.Answered{By: r.worker(), Fence: r.i().Lease.Fence, Number: 1, Outcome: statemachine.Done, TxID: s.TxID})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := debited(t)
			s := sighting(*r.i().Intent(1), 10, true)
			s.TxID = "ABCDEF01"
			say(r, s)
			r.kinds(swap.SecondOutbound)
			if in := r.latest(); in.Number != 2 || in.TxID != "abcdef01" || !in.Open() || r.i().Hold.Kind != swap.ByLate {
				t.Fatalf("filed %+v, hold %v", in, r.i().Hold)
			}
			r.do(swap.Looked{By: r.worker(), Number: 2, Finding: swap.LookFound, Seen: s}).kinds(swap.SecondOutbound, swap.DoublePayout)
			r.outbound(s).found(1, 10)
			for range 3 {
				r.elapse().outbound(s).found(1, 10)
			}
			r.is("debit_confirmed").kinds(swap.SecondOutbound, swap.DoublePayout)
			if m := r.item.Money(); m.PaidOut != 2*9_890_000 || m.Excess == 0 {
				t.Errorf("money %+v", m)
			}
		})
	}
	t.Run("the second one failed", func(t *testing.T) {
		r := debited(t)
		s := sighting(*r.i().Intent(1), 10, true)
		s.TxID, s.Errored = "another", true
		r.outbound(s).is(debitedText).kinds()
		r.found(1, 10).is("debit_confirmed")
	})
	t.Run("the second one moved something else", func(t *testing.T) {
		r := debited(t)
		s := sighting(*r.i().Intent(1), 10, true)
		s.TxID, s.Amount = "another", 5
		r.outbound(s).kinds(swap.Mismatch)
	})
}

// One outbound is one item's: what was filed for an item and names another, or was
// answered and carries another reference, proves nothing.
func TestAnOutboundOfAnotherItemProvesNothing(t *testing.T) {
	filed := swap.Ordered{By: by(swap.Operator, t0), Order: swap.PaidBy, Action: swap.Send, TxID: "theirs", Reason: "x"}
	look := func(in swap.Intent, change func(*swap.Sighting)) swap.Looked {
		s := sighting(in, 10, true)
		change(&s)
		return swap.Looked{By: by(swap.Worker, t0.Add(time.Hour)), Number: 1, Finding: swap.LookFound, Seen: s}
	}
	d := ready(t).do(filed)
	theirs := look(d.latest(), func(s *swap.Sighting) { s.Reference, s.Of, s.Destination = 77, "sig2", "carol" })
	d.do(theirs, theirs).kinds(swap.Mismatch).is("ready for processing").attended()
	if text := d.i().Discrepancies[0].Text; !strings.Contains(text, "of sig2") {
		t.Errorf("it reads %q", text)
	}
	no := swap.Ordered{By: d.wait(time.Hour).operator(), Order: swap.NotSent, TxID: "theirs", Reason: "x"}
	of := no
	of.TxID, of.Number = "", 1
	d.do(no, of).begin(swap.Send)
	for _, memo := range []string{"nexus_txid:tx2", "refundSig:tx1"} {
		c := creditReady(t).do(filed)
		c.do(look(c.latest(), func(s *swap.Sighting) { s.Memo, s.Destination = memo, "bob-usdc" })).kinds(swap.Mismatch).is("refund pending")
	}
	c := creditReady(t).do(filed)
	c.do(look(c.latest(), func(s *swap.Sighting) { s.Memo, s.Destination = "nexus_txid:tx1", "bob-usdc" })).kinds().is(awaitingText)
	// An answer that names a transaction of another reference.
	d = ready(t).begin(swap.Send).answer(statemachine.Done)
	d.do(look(d.latest(), func(s *swap.Sighting) { s.Reference++ })).kinds(swap.Mismatch).is(debitedText).attended().found(1, 10)
}

// A credit has one id, however its transaction is written.
func TestASpellingIsNoOtherCredit(t *testing.T) {
	const id = "ab12cd34"
	first := credits(t).do(observedCredit(id, amount))
	for _, c := range []struct {
		id  string
		err error
	}{
		{id, nil}, {"AB12CD34", statemachine.ErrInvalid}, {"Ab12cd34", statemachine.ErrInvalid}, {"0xab12cd34", statemachine.ErrInvalid}, {"0Xab12cd34", statemachine.ErrInvalid},
		{"0xAB12CD34", statemachine.ErrInvalid}, {id + ":1", nil}, {id + ":ab", nil}, {id + ":", statemachine.ErrInvalid}, {id + ":01", statemachine.ErrInvalid}, {id + ":0", nil},
		{id + ":AB", statemachine.ErrInvalid}, {id + ":0x1", statemachine.ErrInvalid}, {"AB12CD34:1", statemachine.ErrInvalid}, {"0xab12cd34:1", statemachine.ErrInvalid},
		{" " + id, statemachine.ErrInvalid}, {id + " ", statemachine.ErrInvalid}, {"", statemachine.ErrInvalid}, {"no-hex", nil},
	} {
		seen := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "s1", Memo: "nexus_txid:" + c.id, Amount: 9_490_000, Token: "USDC", Finalized: true}
		o := observedCredit(c.id, amount)
		for _, ev := range []swap.Event{o, swap.Recovered{By: by(swap.System, t0), Observed: o, Action: swap.Send, Seen: seen}} {
			r := credits(t)
			if c.err != nil {
				r.refused(ev, c.err)
			} else if r.do(ev); r.i().ID != c.id {
				t.Errorf("%q is stored as %q", c.id, r.i().ID)
			}
		}
		if c.err == nil && c.id == id {
			if first.do(o); !first.last.Empty() {
				t.Errorf("%q again changes %+v", c.id, first.last)
			}
		}
	}
	// A memo names the credit in any spelling, also of an older house.
	for memo, want := range map[string]string{"nexus_txid:AB12CD34": id, "nexus_txid:0xab12cd34 x": id, "processedTxid:0xAB12CD34:1": id + ":1", "nexus_txid:no-Hex": "no-Hex", "refundSig:AB": "AB"} {
		if _, _, got, ok := swap.ReadMemo(memo); !ok || got != want {
			t.Errorf("%q names %q", memo, got)
		}
	}
	paid := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "s1", Memo: "nexus_txid:0xAB12CD34", Amount: 9_490_000, Token: "USDC", Finalized: true, Destination: "x"}
	lost := policy.RecoverMissing(swap.Lost{Credits: []swap.Observed{observedCredit(id, amount)}, Solana: swap.History{Chain: swap.Solana, Outbound: []swap.Sighting{paid}}}, by(swap.System, t0))
	if len(lost.Credits) != 1 || lost.Credits[0].Action != swap.Send {
		t.Errorf("recovered: %+v", lost)
	}
	// On the way out: of a refund, however it is written, there is one.
	out := refundPending(t).begin(swap.Refund)
	for _, txid := range []string{"AB", "0xab", "ab", "0XAB"} {
		out.do(swap.Answered{By: out.worker(), Fence: out.i().Lease.Fence, Number: 1, Outcome: statemachine.Done, TxID: txid})
		s := sighting(out.latest(), 1, false)
		s.TxID = txid
		out.outbound(s).kinds().is("refunded")
		out.do(swap.Ordered{By: out.operator(), Order: swap.PaidBy, Action: swap.Refund, TxID: txid, Reason: "x"})
	}
	if len(out.i().Intents) != 1 || out.latest().TxID != "ab" {
		t.Errorf("on file: %+v", out.i().Intents)
	}
	rebuilt := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "0xAB", Reference: 3, Amount: 9_999_000, Destination: "bob-nexus", Token: "USDD", Confirmations: 10}
	again := credits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedCredit(id, amount), Action: swap.Refund, Seen: rebuilt})
	if in := again.latest(); in.TxID != "ab" || in.Claim != "nexus ab" {
		t.Errorf("rebuilt: %+v", in)
	}
}

// paid_by of a credit that is not confirmed would be a refund of what may never
// have come in.
func TestPaidByDoesNotMoveACreditBelowTwoConfirmations(t *testing.T) {
	order := swap.Ordered{By: by(swap.Operator, t0), Order: swap.PaidBy, Action: swap.Refund, TxID: "typo", Reason: "x"}
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
		r := late().order(swap.HoldItem)
		held(r.found(1, 1), swap.ByOperator)
		r = held(late().found(1, 1), swap.ByLate).order(swap.HoldItem)
		held(r.wait(time.Hour).missing(2), swap.ByOperator).is(awaitingText)
		held(r.missing(1), swap.ByOperator).is("refund pending")
		r.i().Lease = statemachine.Lease{Holder: "worker", Fence: 9, Until: r.now.Add(time.Hour)}
		r.refused(r.begun(swap.Refund), statemachine.ErrHeld).order(swap.Release).do(r.begun(swap.Refund))
	})
	t.Run("a mismatch", func(t *testing.T) {
		r := creditReady(t).order(swap.HoldItem)
		held(r.wait(time.Minute).outbound(foreign(r)), swap.ByOperator)
		held(r.order(swap.Release), swap.ByMismatch)
		since := r.i().Hold.At
		r.wait(time.Minute).order(swap.HoldItem)
		if !r.i().Hold.At.Equal(since) {
			t.Errorf("held since %v, not %v", r.i().Hold.At, since)
		}
		held(r, swap.ByOperator).do(swap.Ordered{By: r.operator(), Order: swap.NotSent, TxID: "foreign", Reason: "x"})
		held(r, swap.ByOperator).order(swap.Release)
		held(r, 0)
	})
	t.Run("a recovery", func(t *testing.T) {
		r := credits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedCredit("tx1", amount)})
		r.do(swap.Confirmations{By: by(swap.Observer, t0), Count: 2})
		held(r, swap.ByRecovery).order(swap.HoldItem)
		r.do(swap.Ordered{By: r.operator(), Order: swap.PaidBy, Action: swap.Send, TxID: "typo", Reason: "x"})
		held(r, swap.ByOperator)
	})
	t.Run("a policy", func(t *testing.T) {
		r := awaiting(t)
		r.p.OnTimeout = swap.OnTimeoutHold
		held(r.wait(11*time.Minute).missing(1), swap.ByPolicy).order(swap.HoldItem)
		held(r.order(swap.OrderRefund), swap.ByOperator)
	})
	t.Run("a policy, and a mismatch", func(t *testing.T) {
		r := awaiting(t)
		r.p.OnTimeout = swap.OnTimeoutHold
		held(r.wait(11*time.Minute).missing(1).outbound(foreign(r)), swap.ByPolicy)
		held(r.order(swap.OrderRefund), swap.ByMismatch)
	})
	t.Run("a policy, released", func(t *testing.T) {
		r := awaiting(t)
		r.p.OnTimeout = swap.OnTimeoutHold
		r.wait(11 * time.Minute).missing(1).order(swap.HoldItem).order(swap.Release)
		if s := r.next(); s.Party != swap.Operator || s.Why == "" {
			t.Errorf("owed: %+v", s)
		}
		r.order(swap.OrderRefund).is("refund pending")
	})
}

func TestAReferenceThatWasSeenIsNotUsedAgain(t *testing.T) {
	r := ready(t).claim()
	r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	r.ctl.Reference = 41
	for _, c := range []struct {
		reference uint64
		want      error
	}{{40, statemachine.ErrConflict}, {41, statemachine.ErrConflict}, {42, nil}} {
		ev := r.begun(swap.Send)
		ev.Reference = c.reference
		if c.want != nil {
			r.refused(ev, c.want)
		} else {
			r.do(ev)
		}
	}
}

func TestOneSpellingOfATxid(t *testing.T) {
	for id, want := range map[string]error{
		"0123abcdef": nil, "0123abcdef:7": nil, "tx1": nil, "0123ABCDEF": statemachine.ErrInvalid, "0x0123abcdef": statemachine.ErrInvalid,
		"0123Abcdef:7": statemachine.ErrInvalid,
	} {
		if want == nil {
			credits(t).do(observedCredit(id, amount))
		} else {
			credits(t).refused(observedCredit(id, amount), want)
		}
	}
	deposits(t).do(observedDeposit("ABCDEF", amount)) // a signature is not a number
	// An operator's and a chain's spelling are one.
	r := ready(t).order(swap.OrderRefund)
	r.do(swap.Ordered{By: r.operator(), Order: swap.PaidBy, Action: swap.Send, TxID: "0xABCDEF", Reason: "x"})
	r.do(swap.Ordered{By: r.operator(), Order: swap.PaidBy, Action: swap.Send, TxID: "abcdef", Reason: "x"})
	if len(r.i().Intents) != 1 || r.latest().TxID != "abcdef" {
		t.Errorf("filed: %+v", r.i().Intents)
	}
	s := sighting(r.latest(), 10, true)
	s.TxID = "ABCdef"
	r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s}).is(debitedText)
}

// A mistaken paid_by, and a payment that moved something else, are corrected.
func TestPaidByIsCorrected(t *testing.T) {
	paidBy := func(r *run[swap.Deposit], amount uint64) swap.Ordered {
		return swap.Ordered{By: r.operator(), Order: swap.PaidBy, Action: swap.Send, TxID: "manual", Amount: amount, Reason: "x"}
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
		r.do(swap.Ordered{By: r.operator(), Order: swap.PaidBy, Action: swap.Quarantine, TxID: "aside", Reason: "x"}).is("quarantined")
		r.found(1, 10).found(1, 10)
		if m := r.item.Money(); m.Quarantined != amount {
			t.Errorf("money %+v", m)
		}
	})
}

// A scan that began while somebody of before the loss might still send has not seen
// the last reference number.
func TestAScanCountsOnceNobodyMaySendWhatWasLost(t *testing.T) {
	lost := swap.Control{RecoveredAt: t0}
	bar := policy.Lease + policy.CallTimeout
	for _, c := range []struct {
		name  string
		house swap.Control
		own   bool
		began time.Duration
		want  bool
	}{
		{"at the end of the last lease and call", lost, true, bar, false},
		{"after it", lost, true, bar + time.Microsecond, true},
		{"nothing was lost", swap.Control{}, true, 0, true},
		{"of what came in", lost, false, time.Hour, false},
	} {
		w := swap.Waterline{Chain: swap.Nexus, Own: c.own}
		got := policy.Scanned(c.house, w, swap.Scan{Began: t0.Add(c.began), From: t0.Add(-time.Hour), Complete: true, Tip: t0})
		if (got.Version > c.house.Version) != c.want || !got.NexusScanned.IsZero() != c.want {
			t.Errorf("%s: scanned %v", c.name, got.NexusScanned)
		}
	}
}

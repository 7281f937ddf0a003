package swap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

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
			r.do(swap.Looked{By: r.worker(), Number: 2, Finding: swap.LookFound, Seen: s}).kinds(swap.SecondOutbound)
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
	filed := swap.PaidBy{By: by(swap.Operator, t0), Action: swap.Send, TxID: "theirs", Reason: "x"}
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
	no := swap.NotSent{By: d.wait(time.Hour).operator(), TxID: "theirs", Reason: "x"}
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

// Rows that were imported without what their status says went out.
func TestAnImportedRowThatLacksItsIntentIsNotSentAgain(t *testing.T) {
	imported := func(r *run[swap.Credit]) *run[swap.Credit] {
		r.item.Intents, r.item.Attempts, r.item.Lease = nil, swap.Attempts{}, statemachine.Lease{Holder: "worker", Fence: 9, Until: r.now.Add(time.Hour)}
		return r
	}
	r := imported(sending(t))
	r.i().Checked = true
	r.refused(r.begun(swap.Send), switches.ErrOnHold).elapse().is("sending")
	if s := r.next(); s.Party != swap.Operator || len(s.Tasks) > 0 || s.Why == "" {
		t.Errorf("owed: %+v", s)
	}
	r.order(swap.RefundOrdered{}).is("refund pending").do(r.begun(swap.Refund))
	r = imported(quarantined(t))
	r.item.Terms = swap.Terms{}
	r.refused(r.begun(swap.Quarantine), switches.ErrOnHold)
	if s := r.next(); s.Party != swap.Operator || len(s.Tasks) > 0 {
		t.Errorf("owed: %+v", s)
	}
	r.do(swap.PaidBy{By: r.operator(), Action: swap.Quarantine, TxID: "moved", Reason: "x"})
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
	d.do(swap.PaidBy{By: d.operator(), Action: swap.Refund, TxID: "named", Reason: "x"})
	d.wait(10 * time.Minute).missing(1).is("refund sent, awaiting confirmation").wait(time.Microsecond).missing(1).is("to be quarantined")
}

// When no more may be begun a person is named, who can finish it.
func TestAfterTheLastIntentAnOperatorHasIt(t *testing.T) {
	r := ready(t)
	r.p.StaleAfter = 2 * swap.MaxIntents * swap.MaxDeferral
	for n := 1; n <= swap.MaxIntents; n++ {
		if s := r.next(); s.Party != swap.Worker || s.Why != "" {
			t.Fatalf("intent %d: owed %+v", n, s)
		}
		r.begin(swap.Send).answer(statemachine.Deferred).prove().wait(swap.MaxDeferral)
	}
	r.release().attended()
	stale := r.i().At.Add(r.p.StaleAfter + time.Microsecond)
	if s := r.next(); s.Party != swap.Operator || len(s.Tasks) > 0 || !strings.Contains(s.Why, "paid_by") || !r.i().Overdue(r.now) || !s.Due.Equal(stale) || !r.i().CheckAt.Equal(stale) {
		t.Fatalf("owed: %+v, overdue at %v, due at %v", s, r.i().OverdueAt, r.i().CheckAt)
	}
	old := *r // nobody does: it is put aside when it is stale, and that is a person's
	old.now = stale
	old.owes(swap.Tell).elapse().is("to be quarantined").attended()
	if s := old.next(); s.Party != swap.Operator || len(s.Tasks) > 0 || !strings.Contains(s.Why, "paid_by") || !old.i().CheckAt.IsZero() {
		t.Errorf("put aside: %+v, due at %v", s, old.i().CheckAt)
	}
	r.do(swap.PaidBy{By: r.operator(), Action: swap.Send, TxID: "byhand", Reason: "x"})
	r.found(swap.MaxIntents+1, 1).is(debitedText).found(swap.MaxIntents+1, 10).is("debit_confirmed").over()
}

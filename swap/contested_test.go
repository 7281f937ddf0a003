package swap_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// paidBy files an outbound for an item.
func (r *run[A]) paidBy(a swap.Action, txid string) swap.PaidBy {
	return swap.PaidBy{By: r.operator(), Action: a, TxID: txid, Reason: "by hand"}
}

func (r *run[A]) notSent(number int64) *run[A] {
	r.t.Helper()
	return r.wait(time.Hour).do(swap.NotSent{By: r.operator(), Number: number, Reason: "another's"})
}

// What an operator has filed for another item refuses no evidence of this one: it is
// on file without a claim, and somebody is told.
func TestARivalsClaimRefusesNoEvidence(t *testing.T) {
	t.Run("a second transaction of one reference", func(t *testing.T) {
		r := debited(t)
		s := sighting(r.latest(), 10, true)
		s.TxID, s.Rival = "ab02", "sig2"
		r.outbound(s).kinds(swap.SecondOutbound, swap.Contested)
		if in := r.latest(); in.Number != 2 || in.Claim != "" || !in.Open() || r.i().Hold.Kind != swap.ByLate {
			t.Fatalf("filed %+v, hold %v", in, r.i().Hold)
		}
		look := swap.Looked{By: r.worker(), Number: 2, Finding: swap.LookFound, Seen: s}
		r.do(look, look, look).found(1, 10).kinds(swap.SecondOutbound, swap.Contested, swap.DoublePayout) // its reference is this item's
		if in := r.i().Intent(2); !in.Final || in.Claim != "" {
			t.Errorf("%+v", in)
		}
	})
	t.Run("a second transaction in an answer", func(t *testing.T) {
		r := debited(t)
		r.do(swap.Answered{By: r.worker(), Fence: r.i().Lease.Fence, Number: 1, Outcome: statemachine.Done, TxID: "ab02", Rival: "sig2"})
		r.kinds(swap.SecondOutbound, swap.Contested).attended()
		s := sighting(r.latest(), 10, true)
		s.Rival = "sig2" // and no reference of this item's
		r.do(swap.Looked{By: r.worker(), Number: 2, Finding: swap.LookFound, Seen: s}).kinds(swap.SecondOutbound, swap.Contested, swap.Mismatch)
		if in := r.i().Intent(2); in.Landed() {
			t.Errorf("%+v", in)
		}
	})
	t.Run("one that an operator had declared not sent, and that names the item", func(t *testing.T) {
		r := creditReady(t)
		r.do(r.paidBy(swap.Send, "theirs")).notSent(1)
		if in := r.latest(); in.Claim != "" {
			t.Fatalf("%+v", in)
		}
		s := sighting(r.latest(), 10, true)
		s.Memo, s.Destination, s.Rival = "nexus_txid:tx1", "bob-usdc", "sig2"
		r.outbound(s).kinds(swap.Contested, swap.LateOutbound).is(awaitingText)
		if in := r.latest(); !in.Landed() || in.Claim != "" {
			t.Errorf("%+v", in)
		}
		s.Rival = ""
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s}).is("processed")
		if in := r.latest(); in.Claim != "solana theirs" {
			t.Errorf("nobody else has it: %+v", in)
		}
	})
	t.Run("a row that shares its transaction, from before one could be claimed", func(t *testing.T) {
		r := toBeRefunded(t)
		r.do(r.paidBy(swap.Refund, "theirs"))
		r.i().Intents[0].Claim = ""
		s := sighting(r.latest(), 10, true)
		s.Rival, s.Memo, s.Destination = "sig2", "", "alice"
		look := swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s}
		r.do(look, look).kinds(swap.Mismatch).is("to be refunded").attended()
		again := r.paidBy(swap.Refund, "theirs")
		again.Rival = "sig2"
		r.refused(again, statemachine.ErrConflict)
		again.Rival, look.Seen.Rival = "", "" // it was taken back there
		r.do(again)
		if in := r.latest(); in.Claim != "solana theirs" || r.i().Hold.Kind != 0 {
			t.Errorf("%+v, hold %v", in, r.i().Hold)
		}
		r.do(look, look).is("refund_confirmed")
	})
	t.Run("of another item, an operator files it only once it was taken back there", func(t *testing.T) {
		r := ready(t)
		order := r.paidBy(swap.Send, "theirs")
		order.Rival = "tx7"
		r.refused(order, statemachine.ErrConflict)
	})
	t.Run("a finished item of a lost database", func(t *testing.T) {
		seen := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "s1", Memo: "nexus_txid:tx1", Amount: 9_490_000, Destination: "bob-usdc", Token: "USDC", Finalized: true, Rival: "sig2"}
		r := credits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedCredit("tx1", amount), Action: swap.Send, Seen: seen})
		if r.is("processed").kinds(swap.Contested); r.latest().Claim != "" {
			t.Errorf("%+v", r.latest())
		}
		seen = swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "ab", Reference: 3, Amount: 9_999_000, Destination: "bob-nexus", Token: "USDD", Confirmations: 10, Rival: "sig2"}
		r = credits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedCredit("tx1", amount), Action: swap.Refund, Seen: seen})
		if r.is("pending_receival"); r.i().Hold.Kind != swap.ByRecovery || len(r.i().Intents) > 0 {
			t.Errorf("%+v", r.i())
		}
	})
}

// A person who filed an outbound takes that back after it was found, too: it went out
// for something else. A chain's word of what was begun here is not taken back.
func TestNotSentTakesBackWhatWasFiled(t *testing.T) {
	d := ready(t)
	d.do(d.paidBy(swap.Send, "ab"))
	d.found(1, 1).is(debitedText).notSent(1).is("to be refunded").attended()
	if in := d.latest(); in.Proof != swap.Said || in.Claim != "" {
		t.Errorf("%+v", in)
	}
	// And that was wrong: it is looked up again.
	d.do(d.paidBy(swap.Send, "ab")).found(1, 10).is(debitedText).found(1, 10).is("debit_confirmed")
	if in := d.latest(); in.Number != 1 || in.Claim != "nexus ab" {
		t.Errorf("%+v", in)
	}
	c := refundPending(t)
	c.do(c.paidBy(swap.Refund, "ab"))
	c.found(1, 10).found(1, 10).is("refunded").notSent(1).is("refunded").kinds(swap.OutboundLost).attended()
	c.order(swap.Requeued{}).is("refund pending").begin(swap.Refund)

	d = ready(t)
	d.do(d.paidBy(swap.Send, "ab"))
	d.found(1, 10).found(1, 10).is("debit_confirmed").notSent(1).is("debit_confirmed").kinds(swap.OutboundLost)
	if in := d.latest(); in.Claim != "" || !in.Final {
		t.Errorf("%+v", in)
	}
	version := d.i().Version
	if d.notSent(1); d.i().Version != version {
		t.Error("the same again is a version")
	}

	d = debited(t).wait(time.Hour)
	d.refused(swap.NotSent{By: d.operator(), Number: 1, Reason: "x"}, statemachine.ErrIllegal)
}

// not_sent of what was filed and never claimed, since another item had it, is on file
// where nothing leads out of the state, once.
func TestNotSentOfAContestedPaymentIsSaid(t *testing.T) {
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "s1", Memo: "nexus_txid:tx1", Amount: 9_490_000, Destination: "bob-usdc", Token: "USDC", Finalized: true, Rival: "sig2"}
	r := credits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedCredit("tx1", amount), Action: swap.Send, Seen: seen})
	r.notSent(1).is("processed").kinds(swap.Contested, swap.OutboundLost)
	version := r.i().Version
	if r.notSent(1); r.i().Version != version {
		t.Error("the same again is a version")
	}
	// Filed again and taken back again: that is on file, too.
	order := r.paidBy(swap.Send, "s1")
	r.do(order)
	if r.latest().Claim == "" {
		t.Errorf("%+v", r.latest())
	}
	r.notSent(1)
	if r.latest().Claim != "" || r.i().Version != version+2 {
		t.Errorf("%+v at %d", r.latest(), r.i().Version)
	}
}

// A debit that was answered as failed, and that a person has filed by its id: its
// reference says that the two are one.
func TestWhatIsFiledAndWasBegunIsOnePayment(t *testing.T) {
	for _, proved := range []bool{false, true} {
		r := ready(t).begin(swap.Send).answer(statemachine.Failed)
		if proved {
			r.prove()
		}
		r.do(r.paidBy(swap.Send, "ab"))
		s := sighting(r.i().Intents[0], 10, true)
		s.TxID = "0xAB"
		for _, number := range []int64{2, 1} {
			r.do(swap.Looked{By: r.worker(), Number: number, Finding: swap.LookFound, Seen: s})
		}
		r.is("debit_confirmed").kinds(swap.LateOutbound).over()
		if first, filed := r.i().Intents[0], r.i().Intents[1]; !first.Final || first.TxID != "ab" || filed.Proof == 0 || filed.Claim != "" {
			t.Errorf("%+v and %+v", first, filed)
		}
		if m := r.item.Money(); m.PaidOut != 9_890_000 || m.Excess+m.Held != 0 {
			t.Errorf("money %+v", m)
		}
	}
}

// A person's paid_by of a mismatch is found although it has the reference of an intent
// that it does not pay: nothing is paid a second time.
func TestPaidByOfAMismatchWithAReferenceTakesEffect(t *testing.T) {
	for name, spoil := range map[string]func(*swap.Sighting){
		"another amount":      func(s *swap.Sighting) { s.Amount = 9_000_000 },
		"another destination": func(s *swap.Sighting) { s.Destination = "elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t).begin(swap.Send).answer(statemachine.Unknown)
			x := sighting(r.latest(), 10, true)
			x.TxID = "ab"
			spoil(&x)
			look := func(n int64) swap.Looked {
				return swap.Looked{By: r.worker(), Number: n, Finding: swap.LookFound, Seen: x}
			}
			r.do(look(1), look(1)).kinds(swap.Mismatch)
			if r.i().Hold.Kind != swap.ByMismatch || r.i().Intents[0].Landed() {
				t.Fatalf("hold %v, %+v", r.i().Hold, r.latest())
			}
			r.notSent(1).do(r.paidBy(swap.Send, "ab"))
			if r.i().Hold.Kind != 0 || len(r.i().Intents) != 2 {
				t.Fatalf("hold %v, %+v", r.i().Hold, r.i().Intents)
			}
			scanned := *r // its whole history says the same
			for range 2 {
				scan := swap.History{Chain: swap.Nexus, Outbound: []swap.Sighting{x}, View: scanned.view(1)}
				scanned.do(policy.RecoverDeposit(scanned.item, open, nil, by(swap.Observer, scanned.now), scan)...)
			}
			r.do(look(2)).is(debitedText).do(look(2))
			for _, r := range []*run[swap.Deposit]{r, &scanned} {
				r.is("debit_confirmed").kinds(swap.Mismatch).over()
				if m := r.item.Money(); m.PaidOut != x.Amount || m.Held+m.Excess != 0 {
					t.Errorf("money %+v", m)
				}
			}
		})
	}
}

// What was filed and has landed stays that one's, although an intent with its reference
// was never proved.
func TestWhatWasFiledAndLandedIsNotPaidTwice(t *testing.T) {
	r := ready(t).begin(swap.Send).answer(statemachine.Failed)
	x := sighting(r.latest(), 10, true)
	x.TxID = "ab"
	other := x
	other.Reference = 0
	r.do(r.paidBy(swap.Send, "ab"))
	r.do(swap.Looked{By: r.worker(), Number: 2, Finding: swap.LookFound, Seen: other}).is(debitedText)
	for _, n := range []int64{1, 2, 1} {
		r.do(swap.Looked{By: r.worker(), Number: n, Finding: swap.LookFound, Seen: x})
	}
	r.is("debit_confirmed").kinds().attended()
	if m := r.item.Money(); m.PaidOut != 9_890_000 || m.Excess != 0 {
		t.Errorf("money %+v", m)
	}
	r.prove()
	r.wait(time.Hour).missing(1).over()
}

// An error on chain settles the intent of its reference, and the one that was filed.
func TestAnErrorOfWhatWasFiledSettlesBoth(t *testing.T) {
	r := ready(t).begin(swap.Send).answer(statemachine.Failed)
	x := sighting(r.latest(), 10, true)
	x.TxID, x.Errored = "ab", true
	r.do(r.paidBy(swap.Send, "ab"))
	for _, n := range []int64{2, 2} {
		r.do(swap.Looked{By: r.worker(), Number: n, Finding: swap.LookFound, Seen: x})
	}
	for _, in := range r.i().Intents {
		if in.Proof != swap.Errored {
			t.Errorf("%+v", in)
		}
	}
}

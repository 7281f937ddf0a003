package swap_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// Copies of two time lines were restored one after the other, and both lines have drawn
// one reference number. The store has it for item x; the chain has a debit of item y.

// branched is what the chain shows, as the service brings it to y.
func branched(x *run[swap.Deposit], of string) swap.Sighting {
	s := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "bb", Reference: x.latest().Reference, Amount: 9_890_000, Destination: "dave", Token: "USDD", Confirmations: 10, Time: t0, Of: of}
	s.Denied = of != "" && policy.Denied(&x.item, s)
	return s
}

// Where the number is on file the transaction is a mismatch, of an intent that is open or
// was answered as done alike. A person says not_sent of it, and then a look-up that finds
// nothing else proves that the intent has not paid.
func TestAReferenceOfAnotherTimeLineEndsByNotSent(t *testing.T) {
	for _, o := range []statemachine.Outcome{statemachine.Unknown, statemachine.Failed, statemachine.Done} {
		for _, history := range []bool{false, true} {
			x := ready(t).begin(swap.Send).answer(o)
			seen := branched(x, "")
			status := x.state(&x.item)
			look := func(v swap.View) {
				t.Helper()
				if history { // a scan of the vault's whole history says the same
					scan := swap.History{Chain: swap.Nexus, Outbound: []swap.Sighting{seen}, View: v}
					x.do(x.p.RecoverDeposit(x.item, x.ctl, nil, by(swap.Observer, x.now), scan)...)
					return
				}
				x.do(swap.Looked{By: x.worker(), Number: 1, Finding: swap.LookFound, Seen: seen, View: v})
			}
			x.release().wait(time.Hour).watch(1)
			look(x.view(1))
			look(x.view(1))
			if x.is(status).kinds(swap.Mismatch).attended(); x.latest().Proof != 0 || x.i().Hold.Kind != swap.ByMismatch {
				t.Fatalf("%v: %+v, hold %v", o, x.latest(), x.i().Hold)
			}
			x.do(swap.NotSent{By: x.operator(), TxID: "bb", Reason: "it is y's"}).wait(time.Microsecond).attended()
			part := x.view(1)
			part.CannotLand = false
			if look(part); x.latest().Proof != 0 {
				t.Errorf("%v: what was not covered is a proof", o)
			}
			if look(x.view(1)); x.latest().Proof != swap.Negative {
				t.Fatalf("%v, by the history %v: %+v", o, history, x.latest())
			}
			version := x.i().Version
			if look(x.view(1)); x.i().Version != version {
				t.Error("the same again is a version")
			}
			x.attended().kinds(swap.Mismatch)
			if o == statemachine.Done {
				x.is(toBeRefundedText).begin(swap.Refund)
			} else {
				x.begin(swap.Send)
			}
		}
	}
}

// It may be what the item owes, to the unit: then it is taken for the item's, and once it
// is final a look-up that finds nothing else proves that what was answered has not paid.
func TestAReferenceOfAnotherTimeLineThatFits(t *testing.T) {
	x := ready(t).begin(swap.Send).answer(statemachine.Done).release().wait(time.Hour).watch(1)
	seen := branched(x, "")
	seen.Destination, seen.Confirmations = "carol", 9
	look := func() {
		t.Helper()
		x.do(swap.Looked{By: x.worker(), Number: 1, Finding: swap.LookFound, Seen: seen, View: x.view(1)})
	}
	for range 3 {
		look()
	}
	if look(); x.is(debitedText).kinds(swap.SecondOutbound).i().Intents[0].Proof != 0 {
		t.Fatalf("what is not final has settled it: %+v", x.i().Intents)
	}
	seen.Confirmations = 10
	look()
	if look(); x.i().Intents[0].Proof != swap.Negative {
		t.Fatalf("%+v", x.i().Intents)
	}
	if m := x.is("debit_confirmed").over().item.Money(); m.PaidOut != 9_890_000 || m.Excess != 0 {
		t.Errorf("money %+v", m)
	}
}

// What a person has said nothing of, what somebody else has signed, and what is of
// another number, proves nothing, however much was covered.
func TestALookUpThatFindsSomethingIsNoNegative(t *testing.T) {
	for name, c := range map[string]struct {
		said  bool
		spoil func(*swap.Sighting)
	}{
		"not explained":      {false, func(*swap.Sighting) {}},
		"signed by somebody": {true, func(s *swap.Sighting) { s.VaultSigned = false }},
		"of another number":  {true, func(s *swap.Sighting) { s.Reference++ }},
		"it is what was answered": {true, func(s *swap.Sighting) {
			s.TxID = "txB"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			x := ready(t).begin(swap.Send).answer(statemachine.Done).release().wait(time.Hour)
			seen := branched(x, "")
			look := swap.Looked{By: x.worker(), Number: 1, Finding: swap.LookFound, Seen: seen, View: x.view(1)}
			x.do(look)
			if c.said {
				x.do(swap.NotSent{By: x.operator(), TxID: "bb", Reason: "it is y's"})
			}
			if c.spoil(&look.Seen); x.do(look).latest().Proof != 0 {
				t.Errorf("%+v", x.latest())
			}
		})
	}
}

// The item that was paid is held for a person, who says paid_by. That takes effect,
// although the number is another item's, once a person has said not_sent of it there: it
// is not what that one pays. One of the two words alone pays nobody.
func TestAReferenceOfAnotherTimeLineEndsByPaidBy(t *testing.T) {
	x := ready(t).begin(swap.Send).release()
	y := memo(deposits(t).do(observedDeposit("sig2", amount)), "nexus:dave").release()
	restored(y.wait(time.Hour)).wait(time.Hour)
	seen := branched(x, "sig1")
	y.do(y.p.RecoverDeposit(y.item, y.ctl, nil, by(swap.Observer, y.now), swap.History{Chain: swap.Nexus, Outbound: []swap.Sighting{seen}, View: y.view(0)}, swap.History{Chain: swap.Solana, View: y.view(0)})...)
	y.kinds(swap.Mismatch).refused(y.begun(swap.Send), statemachine.ErrFenced)
	y.do(y.paidBy(swap.Send, "bb"))
	look := swap.Looked{By: y.worker(), Number: 1, Finding: swap.LookFound, Seen: seen}
	y.do(look)
	if in := y.latest(); in.Landed() {
		t.Fatalf("by one word: %+v", in)
	}
	x.do(swap.Outbound{By: by(swap.Observer, x.now), Seen: branched(x, "")})
	if look.Seen = branched(x, "sig1"); look.Seen.Denied {
		t.Fatal("nobody has said not_sent of it")
	}
	x.do(swap.NotSent{By: x.operator(), TxID: "bb", Reason: "it is y's"})
	look.Seen = branched(x, "sig1")
	y.do(look).is(debitedText).do(look).is("debit_confirmed").over()
	if in := y.latest(); in.Claim != "nexus bb" {
		t.Errorf("%+v", in)
	}
	// x gets no claim to it.
	order := x.paidBy(swap.Send, "bb")
	order.Rival = "sig2"
	x.refused(order, statemachine.ErrConflict)
}

// What the item with the number pays, or has on file, is that one's, whatever a person
// says at another item.
func TestWhatFitsAReferenceIsOfItsItem(t *testing.T) {
	x := ready(t).begin(swap.Send)
	for name, c := range map[string]struct {
		spoil  func(*swap.Sighting)
		misfit bool
	}{
		"what it pays":        {func(s *swap.Sighting) { s.Destination = "carol" }, false},
		"another destination": {func(*swap.Sighting) {}, true},
		"another amount":      {func(s *swap.Sighting) { s.Destination = "carol"; s.Amount-- }, true},
		"another token":       {func(s *swap.Sighting) { s.Destination = "carol"; s.Token = "USDC" }, true},
		"another number":      {func(s *swap.Sighting) { s.Destination = "carol"; s.Reference++ }, true},
		"what it has on file": {func(s *swap.Sighting) { s.TxID = "0xaa" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			filed := *x
			filed.t = t
			seen := branched(&filed, "sig1")
			c.spoil(&seen)
			if statemachine.SameHash(seen.TxID, "aa") {
				filed.do(swap.Answered{By: x.worker(), Fence: x.i().Lease.Fence, Number: 1, Outcome: statemachine.Done, TxID: "aa"})
			}
			if misfit := policy.Misfit(&filed.item, seen); misfit != c.misfit || seen.Denied {
				t.Fatalf("a misfit: %v, denied by nobody: %v", misfit, seen.Denied)
			}
			seen.Denied = c.misfit
			y := memo(deposits(t).do(observedDeposit("sig2", seen.Amount+110_000)), "nexus:dave")
			y.do(y.paidBy(swap.Send, seen.TxID))
			y.i().Intents[0].Net = seen.Amount
			y.do(swap.Looked{By: y.worker(), Number: 1, Finding: swap.LookFound, Seen: seen})
			if in := y.latest(); in.Landed() != (c.misfit && seen.Token == "USDD") {
				t.Errorf("%+v", y.latest())
			}
		})
	}
}

// A row that is rebuilt never takes a number that another item has on file.
func TestARebuiltRowTakesNoReferenceOfAnother(t *testing.T) {
	x := ready(t).begin(swap.Send)
	seen := branched(x, "sig1")
	y := deposits(t).do(swap.Recovered{By: by(swap.System, t0), Observed: observedDeposit("sig2", amount), Memo: "nexus:dave", Action: swap.Send, Seen: seen}).is("detected").attended()
	if y.i().Hold.Kind != swap.ByRecovery || len(y.i().Intents) > 0 {
		t.Fatalf("hold %v, %+v", y.i().Hold, y.i().Intents)
	}
	y.do(y.paidBy(swap.Send, "bb"), swap.Looked{By: y.worker(), Number: 1, Finding: swap.LookFound, Seen: seen}).kinds(swap.Mismatch)
	x.do(swap.Outbound{By: by(swap.Observer, x.now), Seen: branched(x, "")}, swap.NotSent{By: x.operator(), TxID: "bb", Reason: "it is y's"})
	look := swap.Looked{By: y.worker(), Number: 1, Finding: swap.LookFound, Seen: branched(x, "sig1")}
	y.do(look).do(look).is("debit_confirmed").do(y.paidBy(swap.Send, "bb")).over() // which ends the mismatch
}

// What is not final, of another chain, or of no number at all, is no other one of an
// intent, whatever a host has covered: nothing is proved by it, and nothing breaks.
func TestWhatIsNotFinalOrHasNoNumberIsNoOther(t *testing.T) {
	x := ready(t).begin(swap.Send).answer(statemachine.Done).release().wait(time.Hour).watch(1)
	seen := branched(x, "")
	look := swap.Looked{By: x.worker(), Number: 1, Finding: swap.LookFound, Seen: seen, View: x.view(1)}
	x.do(look, swap.NotSent{By: x.operator(), TxID: "bb", Reason: "it is y's"})
	look.Seen.Confirmations = policy.FinalConfirmations - 1
	if x.do(look); x.latest().Proof != 0 {
		t.Errorf("denied, and not final: %+v", x.latest())
	}
	z := ready(t).begin(swap.Send).answer(statemachine.Done).release().wait(time.Hour).watch(1)
	look = swap.Looked{By: z.worker(), Number: 1, Finding: swap.LookFound, Seen: branched(z, ""), View: z.view(1)}
	look.Seen.Errored, look.Seen.Confirmations = true, 1
	if z.do(look); z.latest().Proof != 0 {
		t.Errorf("an error beside, and not final: %+v", z.latest())
	}
	look.Seen.Confirmations = policy.FinalConfirmations
	if z.do(look); z.latest().Proof != swap.Negative {
		t.Errorf("a final error beside: %+v", z.latest())
	}
	look.Seen.TxID, look.Seen.Chain, look.Seen.Finalized = "cc", swap.Solana, true // with the number of a Nexus intent
	if z = ready(t).begin(swap.Send).answer(statemachine.Done).release().wait(time.Hour).watch(1); z.do(look).latest().Proof != 0 {
		t.Errorf("of another chain: %+v", z.latest())
	}
	y := memo(deposits(t).do(observedDeposit("sig2", amount)), "nexus:dave")
	y.do(y.paidBy(swap.Send, "bb")).wait(time.Hour).watch(1)
	for name, seen := range map[string]swap.Sighting{
		"an error":      {VaultSigned: true, Chain: swap.Nexus, TxID: "cc", Errored: true, Confirmations: 10},
		"another chain": {VaultSigned: true, Chain: swap.Solana, TxID: "cc", Errored: true, Finalized: true},
	} {
		if y.do(swap.Looked{By: y.worker(), Number: 1, Finding: swap.LookFound, Seen: seen, View: y.view(1)}); y.latest().Proof != 0 {
			t.Errorf("%s without a number: %+v", name, y.latest())
		}
	}
}

// Who looks before the sender's time is over, and says so late, has seen nothing. When a person
// looked is known by the person's clock: the store's may have been set forward, unless look-ups
// have seen the time pass.
func TestNotSentCountsFromWhenThePersonLooked(t *testing.T) {
	x := ready(t).begin(swap.Send).release()
	over := x.latest().SendBy.Add(policy.CallTimeout)
	order := swap.NotSent{By: by(swap.Operator, over), Number: 1, Reason: "nothing is there"}
	for _, c := range []struct {
		looked time.Time
		ok     bool
	}{{over, false}, {over.Add(time.Microsecond), true}, {time.Time{}, false}} {
		order.At = c.looked
		if _, err := policy.ApplyDeposit(x.item, order, over.Add(time.Hour)); (err == nil) != c.ok {
			t.Errorf("looked at %v: %v", c.looked, err)
		}
	}
	order.At = time.Time{}
	if _, err := policy.ApplyDeposit(x.watch(1).item, order, x.now); err != nil {
		t.Errorf("look-ups have seen the time pass: %v", err)
	}
}

// A mismatch that ends by paid_by is the item's own: nobody has denied it.
func TestAMismatchThatIsPaidByIsNotDenied(t *testing.T) {
	x := ready(t).begin(swap.Send).answer(statemachine.Failed).release()
	x.do(swap.Outbound{By: by(swap.Observer, x.now), Seen: branched(x, "")}).kinds(swap.Mismatch)
	x.do(x.paidBy(swap.Send, "bb"))
	if x.item.Discrepancies[0].ClosedBy == "" || policy.Denied(&x.item, branched(x, "")) {
		t.Errorf("%+v", x.item.Discrepancies)
	}
}

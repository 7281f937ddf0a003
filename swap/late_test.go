package swap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// A late answer of an intent whose transaction a person has filed meanwhile: it is one
// payment, and its reference settles both, whatever the person said that it moved.
func TestALateAnswerOfWhatWasFiledIsNoSecondPayment(t *testing.T) {
	for name, c := range map[string]struct {
		before statemachine.Outcome // of the intent, when it was filed
		number int64                // whose look-up comes after the late answer
		moved  uint64
	}{
		"failed, by the own look-up":          {statemachine.Failed, 1, 9_890_000},
		"failed, by that of the filed one":    {statemachine.Failed, 2, 9_890_000},
		"deferred, by the own look-up":        {statemachine.Deferred, 1, 9_890_000},
		"failed, and it moved something else": {statemachine.Failed, 1, 9_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t).begin(swap.Send).answer(c.before)
			x := sighting(r.latest(), 10, true)
			x.TxID, x.Amount = "ab", c.moved
			filed := r.paidBy(swap.Send, "ab")
			filed.Amount = c.moved
			other := x // as the first node shows it
			other.Reference = 0
			look := func(n int64, s swap.Sighting) swap.Looked {
				return swap.Looked{By: r.worker(), Number: n, Finding: swap.LookFound, Seen: s}
			}
			r.do(filed, look(2, other)).is(debitedText)
			answer := swap.Answered{By: r.worker(), Fence: r.i().Lease.Fence, Number: 1, Outcome: statemachine.Done, TxID: "0xAB"}
			r.do(answer).kinds()
			r.do(look(2, x)).is("debit_confirmed").do(look(c.number, x), answer).kinds().over()
			if first := r.i().Intents[0]; first.Landed() || first.Proof == 0 {
				t.Errorf("%+v", first)
			}
			if m := r.item.Money(); m.PaidOut != c.moved || m.Excess != 0 {
				t.Errorf("money %+v", m)
			}
		})
	}
	// Only what is final settles it, once, and it settles no other intent.
	r := ready(t).begin(swap.Send).answer(statemachine.Failed).prove().wait(policy.Cooldown).begin(swap.Send).answer(statemachine.Failed)
	r.i().Intents[0].Proof = 0
	r.do(r.paidBy(swap.Send, "ab"))
	x := sighting(r.i().Intents[0], 10, true)
	x.TxID, x.Reference = "ab", 0
	look := swap.Looked{By: r.worker(), Number: 3, Finding: swap.LookFound, Seen: x}
	look.Seen.Confirmations = 1
	r.do(look)
	look.Seen.Reference = r.i().Intents[0].Reference
	if r.do(look); r.i().Intents[0].Proof != 0 {
		t.Error("what is not final has settled it")
	}
	look.Seen.Confirmations = 10
	r.do(look, look)
	version := r.i().Version
	if r.do(look, look); r.i().Intents[0].Proof == 0 || r.i().Intents[1].Proof != 0 || r.i().Version != version {
		t.Errorf("%+v, version %d", r.i().Intents, r.i().Version)
	}
	c := creditReady(t).begin(swap.Send).answer(statemachine.Failed) // Solana has no references
	c.do(c.paidBy(swap.Send, "byhand")).found(2, 10).found(2, 10).found(2, 10)
	if first := c.i().Intents[0]; first.Proof != 0 {
		t.Errorf("%+v", first)
	}
	// Two transactions of one reference have both paid.
	r = debited(t)
	x = sighting(r.latest(), 10, true)
	x.TxID = "ab"
	look = swap.Looked{By: r.worker(), Number: 2, Finding: swap.LookFound, Seen: x}
	r.outbound(x).do(look, look, look, look, look)
	if first := r.i().Intents[0]; !first.Landed() {
		t.Errorf("%+v", first)
	}
	// While it is open the answer closes it, and the item goes on.
	r = ready(t).begin(swap.Send).answer(statemachine.Failed)
	r.do(r.paidBy(swap.Send, "ab")).found(2, 1)
	r.i().Intents[0].Outcome, r.i().Intents[0].ClosedAt = statemachine.Unknown, time.Time{}
	r.do(swap.Answered{By: r.worker(), Fence: r.i().Lease.Fence, Number: 1, Outcome: statemachine.Done, TxID: "ab"}).kinds()
	if first := r.i().Intents[0]; first.Open() || first.Landed() || first.Proof != 0 {
		t.Errorf("%+v", first)
	}
}

// A move that is lost after it was a double payout, and is requeued: the other payment
// stands, and the move is not owed any more.
func TestALostMoveOfADoublePayoutIsNotOwed(t *testing.T) {
	r := refundPending(t).begin(swap.Refund).answer(statemachine.Failed).prove().release().order(swap.QuarantineOrdered{})
	r.begin(swap.Quarantine).answer(statemachine.Done).found(1, 10).kinds(swap.LateOutbound)
	if r.item.SettledBy != 0 {
		t.Fatalf("settled by %d", r.item.SettledBy)
	}
	r.failedOnChain(2).order(swap.Requeued{}).is("quarantined")
	if r.item.SettledBy != 1 || r.item.Lost != 0 {
		t.Errorf("settled by %d, lost %d", r.item.SettledBy, r.item.Lost)
	}
	r.found(1, 10).over()
	// And where the one that settled it is lost in turn.
	r = refundPending(t).begin(swap.Refund).answer(statemachine.Failed).prove().wait(policy.Cooldown)
	r.begin(swap.Refund).answer(statemachine.Failed).prove().release().order(swap.QuarantineOrdered{})
	r.found(1, 1).kinds(swap.LateOutbound, swap.PaidWhileQuarantined).found(2, 10)
	r.failedOnChain(1)
	if r.item.SettledBy != 1 || r.item.Lost != 1 {
		t.Fatalf("settled by %d, lost %d", r.item.SettledBy, r.item.Lost)
	}
	r.order(swap.Requeued{})
	if r.item.SettledBy != 2 || r.item.Lost != 0 {
		t.Errorf("settled by %d, lost %d", r.item.SettledBy, r.item.Lost)
	}
	r.found(2, 10).over()
}

// A look-up that says "missing" counts from when it was asked: one of before the
// time-out refunds nothing, and one of before the credit was stored stops nothing.
func TestALateNegativeCountsFromWhenItWasAsked(t *testing.T) {
	r := balanceCheck(t).claim()
	entered := r.i().Entered
	nobody := r.unmapped() // no honest host forgets it
	nobody.Asked = time.Time{}
	r.refused(nobody, statemachine.ErrInvalid)
	nobody.Finding = swap.MappingFound // of another one, which is as if there were none
	nobody.TxID = "another"
	r.refused(nobody, statemachine.ErrInvalid)
	for name, c := range map[string]struct {
		asked time.Time
		want  string
	}{
		"when it entered its state": {entered, "collecting refund"},
		"just before":               {entered.Add(-time.Microsecond), "trade balance to be checked"},
		"in the future":             {r.now.Add(time.Microsecond), "trade balance to be checked"},
	} {
		t.Run(name, func(t *testing.T) {
			r := *r
			for _, finding := range []swap.MappingFinding{swap.MappingMissing, swap.MappingFound} {
				r := r
				r.t = t
				r.do(swap.MappingLooked{By: r.worker(), Asked: c.asked, Finding: finding, TxID: "another"}).is(c.want)
			}
		})
	}
	found := r.mapping() // what is found is there, whenever it was asked
	found.Asked = time.Time{}
	r.do(found).is("ready for processing")
	ripe := ripe(t).wait(time.Minute)
	gone := func(r *run[swap.Credit], asked time.Time, count uint64) bool {
		r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: asked, Count: count, Gone: count == 0})
		return !r.item.GoneAt.IsZero()
	}
	for name, c := range map[string]struct {
		asked time.Time
		want  bool
	}{
		"when it was stored": {ripe.i().Stored, true},
		"just before":        {ripe.i().Stored.Add(-time.Microsecond), false},
		"now":                {ripe.now, true},
		"in the future":      {ripe.now.Add(time.Microsecond), false},
	} {
		r := *ripe
		if got := gone(&r, c.asked, 0); got != c.want || got && !r.item.GoneAt.Equal(c.asked) {
			t.Errorf("%s: gone at %v", name, r.item.GoneAt)
		}
	}
	// What was counted before it vanished does not bring it back.
	at := ripe.now
	if !gone(ripe, at, 0) {
		t.Fatal("it is there")
	}
	ripe.wait(time.Minute)
	for _, ev := range []swap.Confirmations{{Count: 2}, {Gone: true}} {
		ev.By = by(swap.Observer, ripe.now)
		ripe.refused(ev, statemachine.ErrInvalid)
	}
	for _, asked := range []time.Time{at.Add(-time.Microsecond), ripe.now.Add(time.Microsecond)} {
		if !gone(ripe, asked, 2) {
			t.Errorf("%v brought it back", asked)
		}
	}
	if gone(ripe, at, 2) {
		t.Error("it is not back")
	}
}

// What a row is rebuilt from is held to the rules of what came in.
func TestARebuiltRowIsOfWhatMayCount(t *testing.T) {
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "ab", Reference: 3, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10, Time: t0}
	ev := swap.Recovered{By: by(swap.System, t0), Memo: "nexus:carol", Action: swap.Send, Seen: seen}
	for name, spoil := range map[string]func(*swap.Observed){
		"it failed":       func(o *swap.Observed) { o.Success = false },
		"it is not final": func(o *swap.Observed) { o.Finalized = false },
		"it has an owner": func(o *swap.Observed) { o.Owner = "bob" },
	} {
		t.Run(name, func(t *testing.T) {
			ev := ev
			ev.Observed = observedDeposit("sig1", amount)
			spoil(&ev.Observed)
			deposits(t).refused(ev, statemachine.ErrInvalid)
		})
	}
	ev.Observed = observedDeposit("sig1", amount)
	ev.Observed.From = "solana-vault" // a transfer between own accounts
	r := deposits(t).do(ev)
	if r.i().Version != 0 || len(r.last.Notes) != 1 || r.last.Notes[0].Kind != swap.OwnSender {
		t.Errorf("%+v, %+v", r.item, r.last.Notes)
	}
	c := credits(t)
	refund := swap.Recovered{By: by(swap.System, t0), Observed: observedCredit("tx1", amount), Action: swap.Refund, Seen: seen}
	refund.Seen.Amount, refund.Seen.Destination, refund.Observed.Success = 9_999_000, "bob-nexus", false
	c.refused(refund, statemachine.ErrInvalid)
	refund.Observed.Success = true
	c.do(refund).is("refunded")
}

// RecoverMissing reads a memo as it is stored, so that each row which it names can be
// rebuilt, and a memo that is too long pays nobody, as when it first came.
func TestAMemoOfAnyLengthIsRebuilt(t *testing.T) {
	lost := func(memo string) swap.Recovery {
		d := observedDeposit("sig1", amount)
		return policy.RecoverMissing(swap.Lost{Deposits: []swap.LostDeposit{{Observed: d, Memo: memo}}, Nexus: swap.History{Chain: swap.Nexus, Outbound: []swap.Sighting{
			{VaultSigned: true, Chain: swap.Nexus, TxID: "ab", Reference: 3, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10, Time: t0}}}}, by(swap.System, t0))
	}
	for n, want := range map[int]bool{566: true, swap.MaxMemo: true, swap.MaxMemo + 1: false} {
		memo := "nexus:" + strings.Repeat(" ", n-len("nexus:carol")) + "carol"
		r := lost(memo)
		if got := len(r.Deposits) == 1; got != want || !want && len(r.Unattributed) != 1 {
			t.Fatalf("%d bytes: %+v", n, r)
		}
		if want {
			deposits(t).do(r.Deposits[0]).is("debit_confirmed")
		}
	}
}

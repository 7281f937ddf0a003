package swap_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

func TestACreditIsPaidOnce(t *testing.T) {
	r := sending(t)
	in := r.latest()
	if in.Memo != "nexus_txid:tx1" || in.Net != 9_490_000 || in.Fee != 510_000 || in.Destination != "bob-usdc" || in.Chain != swap.Solana {
		t.Fatalf("intent %+v", in)
	}
	r.answer(statemachine.Done).is("sig created, awaiting confirmations").found(1, 5).is("sig created, awaiting confirmations").found(1, 10).is("processed")
	if m := r.item.Money(); m != (swap.Money{Deposited: amount, PaidOut: 9_490_000, Fees: 510_000}) {
		t.Errorf("money %+v", m)
	}
}

func TestNothingLeavesPendingBelowTwoConfirmations(t *testing.T) {
	count := func(r *run[swap.Credit], n uint64) {
		r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Count: n})
	}
	r := pending(t)
	count(r, 1)
	r.claim().do(r.mapping()).is("pending_receival").do(r.unmapped()).wait(2 * time.Hour).elapse().is("pending_receival")
	if !r.i().Overdue(r.now) {
		t.Error("it is not overdue")
	}
	r.refused(swap.RefundOrdered{By: r.operator(), Reason: "x"}, statemachine.ErrIllegal)
	count(r, 2)
	r.do(r.mapping()).is("ready for processing")
	t.Run("taken back by a reorganisation", func(t *testing.T) {
		r := ripe(t)
		count(r, 1)
		r.claim().do(r.mapping()).is("pending_receival")
		count(r, 2)
		r.do(r.mapping()).is("ready for processing")
	})
}

// A policy that demands fewer confirmations counts for what is pending, whether more
// come or not.
func TestFewerConfirmationsAreDemanded(t *testing.T) {
	for _, n := range []uint64{3, 4} {
		r := pending(t)
		r.p.CreditConfirmations = 6
		counted(r, 3).is("pending_receival")
		r.p.CreditConfirmations = 2
		counted(r, n).claim().do(r.mapping()).is("ready for processing")
	}
}

func TestMicroCredits(t *testing.T) {
	for amount, want := range map[uint64]string{1: "processed as fees", 500_501: "processed as fees", 500_502: "pending_receival"} {
		r := credits(t).do(observedCredit("tx1", amount)).is("pending_receival")
		r.do(swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Count: 1}).is("pending_receival")
		r.do(swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Count: 2}).is(want)
		if net := r.i().Terms.Net; amount == 500_502 && net != 1 || amount < 500_502 && net != 0 {
			t.Errorf("%d pays %d", amount, net)
		}
	}
	// Terms are of that moment, whatever the policy is later.
	r := ripe(t)
	r.p.Credits.Flat, r.p.Credits.Minimum = 9_999_999, 1<<40
	r.claim().do(r.mapping()).begin(swap.Send)
	if r.latest().Net != 9_490_000 {
		t.Errorf("net %d", r.latest().Net)
	}
}

func TestMappings(t *testing.T) {
	for name, spoil := range map[string]func(*swap.MappingLooked){
		"another owner": func(m *swap.MappingLooked) { m.Owner = "mallory" },
		"another txid":  func(m *swap.MappingLooked) { m.TxID = "tx2" },
		"none":          func(m *swap.MappingLooked) { m.Finding = swap.MappingMissing },
		"unknown":       func(m *swap.MappingLooked) { m.Finding = swap.MappingUnknown },
	} {
		r := ripe(t).claim()
		m := r.mapping()
		spoil(&m)
		r.do(m).is("pending_receival")
		if r.i().Tried != (name != "unknown") {
			t.Errorf("%s: tried is %v", name, r.i().Tried)
		}
	}
	limit := time.Hour
	r := ripe(t).claim()
	r.do(r.unmapped())
	r.now = t0.Add(limit)
	r.elapse().is("pending_receival").wait(time.Microsecond).elapse().is("trade balance to be checked")
	ripe(t).wait(2 * limit).elapse().is("pending_receival") // nobody looked
	t.Run("found after all", func(t *testing.T) {
		r := balanceCheck(t)
		r.do(r.mapping()).is("ready for processing")
	})
	t.Run("look-up error", func(t *testing.T) {
		r := balanceCheck(t)
		r.do(swap.MappingLooked{By: r.worker(), Finding: swap.MappingUnknown}).is("trade balance to be checked")
	})
	t.Run("to an own account", func(t *testing.T) {
		r := balanceCheck(t)
		m := r.mapping()
		m.Account = "solana-vault"
		r.do(m).is("refund pending")
	})
	t.Run("to a closed account", func(t *testing.T) {
		r := balanceCheck(t)
		m := r.mapping()
		m.State = swap.AccountClosed
		r.do(m).is("refund pending")
	})
	t.Run("still missing", func(t *testing.T) { collecting(t) })
	t.Run("to something that is no address", func(t *testing.T) {
		r := ripe(t).claim()
		m := r.mapping()
		m.Account = "no address"
		r.do(m).is("ready for processing").elapse().is("refund pending")
	})
}

func TestAccountsThatCannotBePaid(t *testing.T) {
	for _, s := range swap.AccountState(0).Values() {
		want := "refund pending"
		if s == swap.AccountUsable || s == swap.AccountUnknown {
			want = "ready for processing"
		}
		creditReady(t).do(swap.AccountChecked{By: by(swap.Worker, t0), State: s}).is(want)
	}
	// A check is good for one intent.
	r := creditReady(t).claim().refused(swap.Begun{By: by(swap.Worker, t0), Fence: 1, Number: 1, Action: swap.Send, Signature: "s", LastValid: 9, Control: open}, statemachine.ErrIllegal)
	r.begin(swap.Send).answer(statemachine.Failed).prove().release().claim()
	r.refused(r.begun(swap.Send), statemachine.ErrIllegal)
	r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable}).do(r.begun(swap.Send))
	// With an intent open the account cannot end the payment.
	r.refused(swap.AccountChecked{By: r.worker(), State: swap.AccountFrozen}, statemachine.ErrHeld)
}

func TestASignatureAloneStaysSending(t *testing.T) {
	r := sending(t).is("sending").answer(statemachine.Unknown).is("sending").wait(time.Hour).elapse().is("sending")
	r.found(1, 1).is("sig created, awaiting confirmations")
	r = sending(t)
	for range 2 {
		r.answer(statemachine.Failed).is("sending").prove().release().begin(swap.Send).is("sending")
	}
	r.answer(statemachine.Failed).is("refund pending")
	// Found and final at once: one event, one edge; the next look-up ends it.
	sending(t).found(1, 10).is("sig created, awaiting confirmations").found(1, 10).is("processed")
}

func TestCreditRefunds(t *testing.T) {
	r := refunded(t)
	if in := r.latest(); in.Net != 9_999_000 || in.Fee != 1_000 || in.Destination != "bob-nexus" || in.Reference == 0 {
		t.Errorf("intent %+v", in)
	}
	if m := r.item.Money(); m.Held != amount {
		t.Errorf("an unconfirmed refund is not held: %+v", m)
	}
	r.found(1, 9).is("refunded").found(1, 10).is("refunded")
	if m := r.item.Money(); m != (swap.Money{Deposited: amount, Refunded: 9_999_000, Fees: 1_000}) {
		t.Errorf("money %+v", m)
	}
	t.Run("three attempts", func(t *testing.T) {
		for _, r := range []*run[swap.Credit]{refundPending(t), collecting(t)} {
			for range 2 {
				r.begin(swap.Refund).answer(statemachine.Failed).prove().release()
			}
			r.begin(swap.Refund).answer(statemachine.Failed).is("quarantined")
		}
	})
	t.Run("nothing left", func(t *testing.T) {
		r := refundPending(t)
		r.p.Credits.Refund = amount
		r.elapse().is("processed as fees")
	})
	t.Run("without a sender", func(t *testing.T) {
		o := observedCredit("tx1", amount)
		o.From = ""
		r := credits(t).do(o, swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Count: 2}).claim()
		r.do(r.mapping(), swap.AccountChecked{By: r.worker(), State: swap.AccountMissing}).is("refund pending").elapse().is("quarantined")
		if len(r.i().Intents) != 0 {
			t.Error("a refund was begun")
		}
	})
	t.Run("lost, and ordered again", func(t *testing.T) {
		for name, r := range map[string]*run[swap.Credit]{
			"refund pending":    refunded(t),
			"collecting refund": collecting(t).begin(swap.Refund).answer(statemachine.Done),
		} {
			r.refused(swap.Requeued{By: r.operator(), Reason: "x"}, statemachine.ErrIllegal)
			r.wait(time.Hour).missing(1).is("refunded").kinds(swap.OutboundLost)
			r.order(swap.Requeued{}).is(name)
			if r.i().Attempts.Of(swap.Refund) != 0 {
				t.Error("the attempts are not reset")
			}
			r.release().begin(swap.Refund).answer(statemachine.Done).is("refunded").found(2, 10)
		}
	})
}

func TestQuarantinedCreditsOweTheMove(t *testing.T) {
	r := quarantined(t)
	if r.i().CheckAt.IsZero() {
		t.Fatal("nothing is owed")
	}
	r.begin(swap.Quarantine)
	if in := r.latest(); in.Net != amount || in.Fee != 0 || in.Destination != "nexus-quarantine" {
		t.Errorf("intent %+v", in)
	}
	r.answer(statemachine.Done).is("quarantined").found(1, 10)
	if m := r.item.Money(); m.Quarantined != amount || !r.i().CheckAt.IsZero() {
		t.Errorf("money %+v, due %v", m, r.i().CheckAt)
	}
	t.Run("three attempts, then the operator", func(t *testing.T) {
		r := quarantined(t)
		for range 3 {
			r.release().begin(swap.Quarantine).answer(statemachine.Failed).is("quarantined").prove()
		}
		if s := r.p.NextCredit(r.item, open, r.now); s.Party != swap.Operator || len(s.Tasks) > 0 {
			t.Errorf("owed: %+v", s)
		}
		r.i().Lease, r.now = statemachine.Lease{Holder: "worker", Fence: 9, Until: r.now.Add(2 * time.Hour)}, r.now.Add(time.Hour)
		r.refused(r.begun(swap.Quarantine), statemachine.ErrIllegal)
		r.order(swap.Requeued{}).release().begin(swap.Quarantine)
	})
	t.Run("lost", func(t *testing.T) {
		r := quarantined(t).begin(swap.Quarantine).answer(statemachine.Done).wait(time.Hour).missing(1).kinds(swap.OutboundLost)
		r.i().Lease = statemachine.Lease{Holder: "worker", Fence: 9, Until: r.now.Add(time.Hour)}
		r.refused(r.begun(swap.Quarantine), switches.ErrOnHold)
		r.order(swap.Requeued{}).is("quarantined").release().begin(swap.Quarantine).answer(statemachine.Done)
	})
	t.Run("an earlier refund was paid", func(t *testing.T) {
		r := refundPending(t).begin(swap.Refund).answer(statemachine.Failed).order(swap.QuarantineOrdered{}).is("quarantined")
		r.claim().refused(r.begun(swap.Quarantine), switches.ErrOnHold)
		r.found(1, 10).is("quarantined").kinds(swap.LateOutbound, swap.PaidWhileQuarantined)
		if r.item.SettledBy != 1 {
			t.Error("the move is owed still")
		}
		r.found(1, 10)
		if m := r.item.Money(); m.Refunded != 9_999_000 || m.Held != 0 {
			t.Errorf("money %+v", m)
		}
		r.refused(r.begun(swap.Quarantine), switches.ErrOnHold)
	})
	t.Run("an earlier refund was paid, and is taken back", func(t *testing.T) {
		r := refundPending(t).begin(swap.Refund).answer(statemachine.Failed).order(swap.QuarantineOrdered{}).found(1, 1).wait(time.Hour).missing(1)
		r.kinds(swap.LateOutbound, swap.PaidWhileQuarantined, swap.OutboundLost)
		r.i().Lease = statemachine.Lease{Holder: "worker", Fence: 9, Until: r.now.Add(time.Hour)}
		r.refused(r.begun(swap.Quarantine), switches.ErrOnHold)
		if s := r.p.NextCredit(r.item, open, r.now); s.Party != swap.Operator {
			t.Errorf("owed: %+v", s)
		}
		r.order(swap.Requeued{}).do(r.begun(swap.Quarantine))
	})
	t.Run("an earlier refund is found after the move", func(t *testing.T) {
		r := refundPending(t).begin(swap.Refund).answer(statemachine.Failed).prove().order(swap.QuarantineOrdered{})
		r.release().begin(swap.Quarantine).answer(statemachine.Done).found(1, 10).found(1, 10).is("quarantined").kinds(swap.LateOutbound).found(2, 10).kinds(swap.LateOutbound, swap.DoublePayout)
		if d := r.i().Discrepancies[1]; d.Amount != amount || d.Other != 9_999_000 {
			t.Errorf("%+v", d)
		}
	})
}

func TestACreditThatVanishes(t *testing.T) {
	r := ripe(t).do(swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Gone: true}).is("pending_receival")
	r.claim().do(r.mapping()).is("pending_receival")
	if _, waits := r.item.Waits(t0); !waits {
		t.Error("the waterline passes it too early")
	}
	if _, waits := r.item.Waits(t0.Add(time.Microsecond)); waits {
		t.Error("the waterline waits for it for ever")
	}
	r.order(swap.Dropped{}).is("processed as fees").kinds(swap.InboundGone)
	if m := r.item.Money(); m != (swap.Money{}) {
		t.Errorf("money %+v", m)
	}
	t.Run("and comes back", func(t *testing.T) {
		r := ripe(t).do(swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Gone: true}).do(swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Count: 2})
		r.claim().do(r.mapping()).is("ready for processing").refused(swap.Dropped{By: r.operator(), Reason: "x"}, statemachine.ErrIllegal)
	})
	t.Run("after its mapping: nothing is paid", func(t *testing.T) {
		r := creditReady(t).do(swap.Confirmations{By: by(swap.Observer, t0), Asked: t0, Gone: true}).claim()
		r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable}).refused(r.begun(swap.Send), switches.ErrOnHold)
	})
	pending(t).refused(swap.Dropped{By: by(swap.Operator, t0), Reason: "x"}, statemachine.ErrIllegal)
}

func TestALostRefundThatIsFoundIsNotLost(t *testing.T) {
	r := refunded(t).wait(time.Hour).missing(1).kinds(swap.OutboundLost).found(1, 10).is("refunded").found(1, 10)
	r.refused(swap.Requeued{By: r.operator(), Reason: "x"}, statemachine.ErrIllegal)
	if m := r.item.Money(); m.Refunded != 9_999_000 {
		t.Errorf("money %+v", m)
	}
}

func TestWhatABegunMayNotBe(t *testing.T) {
	r := creditReady(t).claim()
	r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	r.p.OwnAccounts = append([]string{"bob-usdc"}, r.p.OwnAccounts...)
	r.refused(r.begun(swap.Send), statemachine.ErrIllegal)
	// One intent, one signature.
	r = sending(t).answer(statemachine.Failed).prove().release().claim()
	r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	ev := r.begun(swap.Send)
	ev.Signature = r.i().Intents[0].Signature
	r.refused(ev, statemachine.ErrConflict)
	for name, spoil := range map[string]func(*swap.Begun){
		"no signature": func(e *swap.Begun) { e.Signature = "" }, "no last height": func(e *swap.Begun) { e.LastValid = 0 },
		"a reference": func(e *swap.Begun) { e.Reference = 5 }, "too many bytes": func(e *swap.Begun) { e.Raw = make([]byte, swap.MaxRaw+1) },
		"a number too many": func(e *swap.Begun) { e.Number++ },
	} {
		ev := r.begun(swap.Send)
		spoil(&ev)
		if err := r.try(ev); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func counted(r *run[swap.Credit], n uint64) *run[swap.Credit] {
	r.t.Helper()
	return r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Count: n})
}

func vanished(r *run[swap.Credit]) *run[swap.Credit] {
	r.t.Helper()
	return r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Gone: true})
}

// asksCount: the confirmations are asked for, and nothing is begun.
func asksCount(r *run[swap.Credit]) *run[swap.Credit] {
	r.t.Helper()
	asked := false
	for _, task := range r.claim().next().Tasks {
		asked = asked || task.Do == swap.CountConfirmations
		if task.Do == swap.Begin || task.Do == swap.CheckAccount || task.Do == swap.LookUpMapping {
			r.t.Errorf("owed: %+v", task)
		}
	}
	if !asked {
		r.t.Errorf("nobody counts: %+v", r.next())
	}
	return r
}

// The last look at a mapping waits for confirmations, and they are counted again.
func TestConfirmationsAreCountedInTradeBalanceCheck(t *testing.T) {
	for name, unripe := range map[string]func(*run[swap.Credit]){
		"it vanished and is back": func(r *run[swap.Credit]) { counted(vanished(r), 1) },
		"more are demanded":       func(r *run[swap.Credit]) { r.p.CreditConfirmations = 6 },
		"one was taken back":      func(r *run[swap.Credit]) { counted(r, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := balanceCheck(t)
			unripe(r)
			asksCount(r.release())
			r.do(r.mapping()).is("trade balance to be checked")
			asksCount(counted(r, r.p.CreditConfirmations-1).wait(time.Hour))
			if !counted(r, r.p.CreditConfirmations-1).i().Overdue(r.now) {
				t.Error("it is not overdue")
			}
			counted(r, r.p.CreditConfirmations).wait(time.Minute).claim()
			if s := r.next(); len(s.Tasks) != 1 || s.Tasks[0].Do != swap.LookUpMapping {
				t.Errorf("owed: %+v", s)
			}
			r.do(r.mapping()).is("ready for processing")
		})
	}
}

// Whatever moved a credit on, nothing goes out for it below the confirmations.
func TestNothingIsBegunBelowTwoConfirmations(t *testing.T) {
	again := func(t *testing.T) *run[swap.Credit] {
		return sending(t).answer(statemachine.Failed).prove().wait(6 * time.Minute).release()
	}
	for name, c := range map[string]struct {
		at  func(*testing.T) *run[swap.Credit]
		act swap.Action
	}{
		"ready": {creditReady, swap.Send}, "sending": {again, swap.Send}, "refund pending": {refundPending, swap.Refund},
		"collecting refund": {collecting, swap.Refund}, "quarantined": {quarantined, swap.Quarantine},
	} {
		for n := range uint64(3) {
			t.Run(fmt.Sprint(name, ", back with ", n), func(t *testing.T) {
				r := vanished(c.at(t))
				counted(r, n).attended().claim()
				if c.act == swap.Send {
					r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
				}
				if n < 2 {
					asksCount(r).refused(r.begun(c.act), switches.ErrOnHold)
					if !r.i().Overdue(r.now.Add(2 * time.Hour)) {
						t.Error("it is never overdue")
					}
				}
				counted(r, 2).do(r.begun(c.act))
			})
		}
	}
	// Time moves nothing meanwhile.
	r := ripe(t)
	r.item.From = ""
	r.claim().do(r.mapping(), swap.AccountChecked{By: r.worker(), State: swap.AccountMissing}).is("refund pending")
	counted(r, 1).elapse().is("refund pending")
	counted(r, 2).elapse().is("quarantined")
	// What has gone out waits for its end alone.
	r = counted(awaiting(t), 1).wait(time.Minute)
	if s := r.next(); len(s.Tasks) != 1 || s.Tasks[0].Do != swap.LookUp {
		t.Errorf("owed: %+v", s)
	}
	r.found(1, 10).is("processed")
}

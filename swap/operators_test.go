package swap_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

func TestOperators(t *testing.T) {
	orders := []swap.Event{swap.RefundOrdered{By: by(swap.Operator, t0.Add(time.Hour)), Reason: "because"},
		swap.QuarantineOrdered{By: by(swap.Operator, t0.Add(time.Hour)), Reason: "because"}}
	// Every order in every state: the new state, "-" for none, or the refusal.
	depositStates := map[string]func() *run[swap.Deposit]{
		"detected": func() *run[swap.Deposit] { return detected(t) }, "ready": func() *run[swap.Deposit] { return ready(t) },
		"debited": func() *run[swap.Deposit] { return debited(t) }, "to be refunded": func() *run[swap.Deposit] { return toBeRefunded(t) },
		"refund sent": func() *run[swap.Deposit] { return refundSent(t) }, "to be quarantined": func() *run[swap.Deposit] { return toBeQuarantined(t) },
		"processed": func() *run[swap.Deposit] { return debited(t).found(1, 10) },
	}
	for state, want := range map[string][2]string{
		"detected": {toBeRefundedText, "to be quarantined"}, "ready": {toBeRefundedText, "to be quarantined"},
		"debited": {toBeRefundedText, "to be quarantined"}, "to be refunded": {toBeRefundedText, "to be quarantined"},
		"refund sent": {"refund sent, awaiting confirmation", "illegal"}, "to be quarantined": {"illegal", "to be quarantined"},
		"processed": {"illegal", "illegal"},
	} {
		for k, o := range orders {
			r := depositStates[state]()
			got := "illegal"
			if err := r.try(o); err == nil {
				got = r.state(&r.item)
			}
			if got != want[k] {
				t.Errorf("%T in %s: %s, expected %s", o, state, got, want[k])
			}
		}
	}
	creditStates := map[string]func() *run[swap.Credit]{
		"pending": func() *run[swap.Credit] { return ripe(t) }, "ready": func() *run[swap.Credit] { return creditReady(t) },
		"sending": func() *run[swap.Credit] { return sending(t).answer(statemachine.Failed) }, "awaiting": func() *run[swap.Credit] { return awaiting(t) },
		"balance check": func() *run[swap.Credit] { return balanceCheck(t) }, "collecting": func() *run[swap.Credit] { return collecting(t) },
		"refund pending": func() *run[swap.Credit] { return refundPending(t) }, "refunded": func() *run[swap.Credit] { return refunded(t) },
	}
	for state, want := range map[string][2]string{
		"pending": {"refund pending", "illegal"}, "ready": {"refund pending", "illegal"}, "sending": {"refund pending", "illegal"},
		"awaiting": {"refund pending", "quarantined"}, "balance check": {"refund pending", "illegal"},
		"collecting": {"collecting refund", "quarantined"}, "refund pending": {"refund pending", "quarantined"}, "refunded": {"refunded", "illegal"},
	} {
		for k, o := range orders {
			r := creditStates[state]()
			got := "illegal"
			if err := r.try(o); err == nil {
				got = r.state(&r.item)
			}
			if got != want[k] {
				t.Errorf("%T in %s: %s, expected %s", o, state, got, want[k])
			}
		}
	}
	t.Run("not sent", func(t *testing.T) {
		r := sending(t)
		no := swap.NotSent{By: r.operator(), Number: 1, Height: 1001, Reason: "seen in the explorer"}
		no.At = r.latest().SendBy.Add(30 * time.Second)
		r.refused(no, statemachine.ErrIllegal)
		no.At = no.At.Add(time.Microsecond)
		no.Height = 1000
		r.refused(no, statemachine.ErrIllegal)
		no.Height = 1001
		r.do(no).is("sending")
		if in := r.latest(); in.Proof != swap.Said || r.i().Attempts.Of(swap.Send) != 1 {
			t.Errorf("%+v", in)
		}
		awaiting(t).refused(swap.NotSent{By: by(swap.Operator, t0.Add(time.Hour)), Number: 1, Height: 2000, Reason: "x"}, statemachine.ErrIllegal)
	})
	t.Run("held: nothing is begun, evidence goes on", func(t *testing.T) {
		r := creditReady(t).order(swap.Held{}).order(swap.Held{}).claim()
		r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable}).refused(r.begun(swap.Send), switches.ErrOnHold)
		r.order(swap.Released{}).order(swap.Released{}).do(r.begun(swap.Send)).order(swap.Held{}).found(1, 1).is(awaitingText).found(1, 10).is("processed")
	})
	t.Run("a reason is needed, and a person", func(t *testing.T) {
		r := ready(t)
		r.refused(swap.RefundOrdered{By: r.operator()}, statemachine.ErrInvalid)
		r.refused(swap.RefundOrdered{By: r.worker(), Reason: "x"}, statemachine.ErrForbidden)
	})
}

func TestTheHouseIsStopped(t *testing.T) {
	begun := func(c swap.Control) (swap.Begun, *run[swap.Deposit], swap.Begun, *run[swap.Deposit]) {
		send := ready(t).claim()
		send.do(swap.AccountChecked{By: send.worker(), State: swap.AccountUsable})
		send.ctl = c
		refund := toBeRefunded(t).claim()
		refund.ctl = c
		return send.begun(swap.Send), send, refund.begun(swap.Refund), refund
	}
	for _, x := range []struct {
		level         switches.Level
		sends, others bool
	}{{0, true, true}, {switches.On, true, true}, {switches.Begin, false, true}, {switches.All, false, false}, {switches.Send, false, false}} {
		stopped := open.With(switches.State{Level: x.level})
		s, sr, r, rr := begun(stopped)
		owes := func(r *run[swap.Deposit]) []swap.Task { return r.p.NextDeposit(r.item, stopped, r.now).Tasks }
		for name, y := range map[string]struct {
			owed []swap.Task
			err  error
			may  bool
		}{"a send": {owes(sr), sr.try(s), x.sends}, "a refund": {owes(rr), rr.try(r), x.others}} {
			if slices.ContainsFunc(y.owed, func(t swap.Task) bool { return t.Do == swap.Begin }) != y.may {
				t.Errorf("at %v %s is owed: %+v", x.level, name, y.owed)
			}
			if (y.err == nil) != y.may || y.err != nil && !errors.Is(y.err, switches.ErrOnHold) {
				t.Errorf("at %v %s: %v", x.level, name, y.err)
			}
		}
	}
	for name, c := range map[string]swap.Control{
		"never scanned":            {},
		"one chain is not scanned": {SolanaScanned: true},
		"scanned before the loss":  open.Restored(t0.Add(-72 * time.Hour)),
	} {
		s, sr, r, rr := begun(c)
		if sr.try(s) == nil || rr.try(r) == nil {
			t.Errorf("%s: something is begun", name)
		}
	}
	// An item from before the loss needs a look-up of its own.
	lost, _ := open.Restored(t0.Add(time.Hour)).SaysMissing(by(swap.System, t0), t0)
	lost = lost.Scanned(swap.Solana).Scanned(swap.Nexus)
	o := observedDeposit("sig1", amount)
	o.Control = lost
	o.At = t0.Add(2 * time.Hour)
	d := deposits(t)
	d.ctl, d.now = lost, o.At
	memo(d.do(o), "nexus:carol").do(swap.AccountChecked{By: d.worker(), State: swap.AccountUsable}).refused(d.begun(swap.Send), switches.ErrOnHold)
	d.now = d.ctl.RecoveredAt.Add(5*time.Minute + 30*time.Second + time.Microsecond)
	d.i().LookedBack = open.Generation
	for name, spoil := range map[string]func(*swap.View){
		"from after the item": func(v *swap.View) { v.From = v.From.Add(time.Microsecond) },
		"not by memo":         func(v *swap.View) { v.ByMemo = false },
		"it may land still":   func(v *swap.View) { v.CannotLand = false },
	} {
		v := d.view(0)
		spoil(&v)
		if d.do(swap.Looked{By: d.worker(), Finding: swap.LookMissing, View: v, Nexus: v, Control: d.ctl}); d.i().LookedBack == lost.Generation {
			t.Errorf("%s excludes everything", name)
		}
	}
	early := d.worker()
	early.At = d.now.Add(-time.Microsecond)
	if d.do(swap.Looked{By: early, Finding: swap.LookMissing, View: d.view(0), Nexus: d.view(0), Control: d.ctl}); d.i().LookedBack == lost.Generation {
		t.Error("a sender from before the loss may still send")
	}
	d.i().Lease.Until = d.now.Add(time.Hour)
	d.missing(0).do(d.begun(swap.Send))
}

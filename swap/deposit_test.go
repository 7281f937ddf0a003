package swap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

func TestADepositIsPaidOnce(t *testing.T) {
	r := debited(t)
	in := r.latest()
	if in.Net != 9_890_000 || in.Fee != 110_000 || in.Destination != "carol" || in.Reference == 0 || in.Number != 1 || in.Attempt != 1 {
		t.Fatalf("intent %+v", in)
	}
	r.found(1, 9).is("debited, awaiting confirmation").found(1, 10).is("debit_confirmed")
	if m := r.item.Money(); m != (swap.Money{Deposited: amount, PaidOut: 9_890_000, Fees: 110_000}) {
		t.Errorf("money %+v", m)
	}
	if r.i().Attempts.Of(swap.Send) != 1 || !r.i().CheckAt.IsZero() {
		t.Errorf("attempts %v, due %v", r.i().Attempts, r.i().CheckAt)
	}
}

func TestMemos(t *testing.T) {
	for _, c := range []struct {
		name  string
		memos []string
		state string
	}{
		{"none", nil, "to be refunded"},
		{"valid", []string{"nexus:carol"}, "ready for processing"},
		{"prefix in capitals, spaces around the address", []string{"NeXuS:  carol\n"}, "ready for processing"},
		{"two that are equal", []string{"nexus:carol", "nexus:carol"}, "ready for processing"},
		{"two that differ", []string{"nexus:carol", "nexus:dave"}, "to be refunded"},
		{"no prefix", []string{"carol"}, "to be refunded"},
		{"a second colon", []string{"nexus:carol:1"}, "to be refunded"},
		{"empty address", []string{"nexus: "}, "to be refunded"},
		{"white space inside", []string{"nexus:ca rol"}, "to be refunded"},
		{"a control character", []string{"nexus:ca\x07rol"}, "to be refunded"},
		{"128 bytes", []string{"nexus:" + strings.Repeat("c", 128)}, "ready for processing"},
		{"129 bytes", []string{"nexus:" + strings.Repeat("c", 129)}, "to be refunded"},
		{"an own account", []string{"nexus:nexus-treasury"}, "to be refunded"},
		{"the quarantine account", []string{"nexus:nexus-quarantine"}, "to be refunded"},
		{"longer than is kept", []string{"nexus:carol" + strings.Repeat(" ", 1000)}, "to be refunded"},
		{"not UTF-8", []string{"nexus:\xff"}, "to be refunded"},
	} {
		t.Run(c.name, func(t *testing.T) { memo(detected(t), c.memos...).is(c.state) })
	}
}

func TestAMemoOfOursFromOutsideIsHeld(t *testing.T) {
	for _, text := range []string{"nexus_txid:abc", "refundSig:abc", "quarantinedSig:abc", "processedTxid:abc", "REFUNDSIG:abc"} {
		r := memo(detected(t), text).is("detected")
		if r.i().Hold.Kind != swap.ByMemo {
			t.Errorf("%q: hold %v", text, r.i().Hold)
		}
		r.wait(48 * time.Hour).elapse().is("detected").order(swap.Released{}).elapse().is("to be refunded")
	}
}

func TestMicroDeposits(t *testing.T) {
	for amount, want := range map[uint64]string{1: "fees", 100_101: "fees", 100_102: "1", 100_103: "2"} {
		r := memo(deposits(t).do(observedDeposit("sig1", amount)), "nexus:carol").is("ready for processing")
		if want == "fees" {
			r.refused(swap.AccountChecked{By: r.worker(), State: swap.AccountMissing}, statemachine.ErrIllegal)
			r.elapse().is("processed, amount after fees <= 0")
			if r.item.Fees != amount {
				t.Errorf("%d: fees %d", amount, r.item.Fees)
			}
			continue
		}
		r.elapse().is("ready for processing").begin(swap.Send)
		if got := swap.FormatAmount(r.latest().Net); got != "0.00000"+want {
			t.Errorf("%d pays %s", amount, got)
		}
	}
}

func TestTheMinimumIsNeverAppliedToRefunds(t *testing.T) {
	r := memo(deposits(t).do(observedDeposit("sig1", 100_001)), "x").is("to be refunded").elapse().is("to be refunded").begin(swap.Refund)
	if r.latest().Net != 1 {
		t.Errorf("refund of %d", r.latest().Net)
	}
	memo(deposits(t).do(observedDeposit("sig1", 100_000)), "x").is("to be refunded").elapse().is("processed, amount after fees <= 0")
}

func TestAMemoThatCannotBeFetched(t *testing.T) {
	limit := time.Hour
	r := detected(t)
	r.wait(limit + time.Microsecond).elapse().is("detected") // nobody tried
	r = detected(t).claim().do(swap.MemoFetched{By: by(swap.Worker, t0), Failed: true}).is("detected")
	r.now = t0.Add(limit)
	r.elapse().is("detected").wait(time.Microsecond).elapse().is("to be refunded")
	// By its own time and by when it was first stored.
	late := observedDeposit("sig1", amount)
	late.Time = t0.Add(-2 * limit)
	r = deposits(t).do(late).claim().do(swap.MemoFetched{By: by(swap.Worker, t0), Failed: true})
	r.now = t0.Add(limit)
	r.elapse().is("detected").wait(time.Microsecond).elapse().is("to be refunded")
}

func TestStaleDeposits(t *testing.T) {
	limit := 24 * time.Hour
	checked := func(r *run[swap.Deposit]) *run[swap.Deposit] {
		return r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUnknown})
	}
	r := checked(ready(t))
	r.now = t0.Add(limit)
	r.elapse().is("ready for processing").wait(time.Microsecond).elapse().is("to be quarantined")
	t.Run("nobody tried", func(t *testing.T) { ready(t).wait(2 * limit).elapse().is("ready for processing") })
	t.Run("an open intent", func(t *testing.T) {
		ready(t).begin(swap.Send).answer(statemachine.Unknown).wait(2 * limit).elapse().is("ready for processing")
	})
	t.Run("an intent that is not proved", func(t *testing.T) {
		r := ready(t).begin(swap.Send).answer(statemachine.Failed).wait(2 * limit).elapse().is("ready for processing")
		r.prove().elapse().is("to be quarantined")
	})
	t.Run("held", func(t *testing.T) {
		r := checked(ready(t)).order(swap.Held{}).wait(limit).order(swap.Released{})
		r.now = t0.Add(2 * limit)
		r.elapse().is("ready for processing").wait(time.Microsecond).elapse().is("to be quarantined")
	})
	t.Run("stopped", func(t *testing.T) {
		r := checked(ready(t))
		r.wait(2 * limit)
		r.ctl = r.ctl.With(switches.State{Level: switches.Begin})
		r.elapse().is("ready for processing")
		r.now = t0.Add(3 * limit)
		r.ctl = r.ctl.With(switches.State{Level: switches.On, RunsSince: t0.Add(2 * limit)})
		r.elapse().is("ready for processing").wait(time.Microsecond).elapse().is("to be quarantined")
	})
	t.Run("stopped when it is stale already", func(t *testing.T) {
		r := checked(ready(t)).wait(limit + time.Microsecond)
		r.ctl = r.ctl.With(switches.State{Level: switches.Begin})
		r.elapse().is("ready for processing")
		r.ctl = r.ctl.With(switches.State{Level: switches.On, RunsSince: r.now})
		r.elapse().wait(limit).elapse().is("ready for processing").wait(time.Microsecond).elapse().is("to be quarantined")
	})
	t.Run("after a recovery", func(t *testing.T) { // a recovery is no stop of a person
		all, own := switches.Switch{Scope: switches.Everything}, switches.Switch{Scope: swap.Scope(swap.ToUSDD)}
		said := func(row *switches.Switch, ev switches.Event, at time.Time) {
			c, err := switches.Apply(*row, ev, at)
			if err != nil {
				t.Fatal(err)
			}
			*row = c.New
		}
		who := switches.By{Actor: "olga", Role: switches.Operator}
		r := checked(ready(t))
		said(&all, switches.Recovering{By: who, Scope: switches.Everything, Level: switches.Send, Generation: 1, Reason: "x"}, r.now)
		r.wait(3 * limit)
		r.ctl = r.ctl.With(switches.Of(all, own))
		r.elapse().is("ready for processing")
		said(&own, switches.Started{By: who, Scope: own.Scope, Recovery: true, Reason: "x", All: all}, r.now)
		r.ctl = r.ctl.With(switches.Of(all, own))
		r.elapse().wait(limit).elapse().is("ready for processing").wait(time.Microsecond).elapse().is("to be quarantined")
	})
	t.Run("stored since the direction runs", func(t *testing.T) {
		r := deposits(t)
		r.ctl = r.ctl.With(switches.State{Level: switches.On, RunsSince: r.now})
		o := observedDeposit("sig1", amount)
		o.Control = r.ctl
		r = checked(memo(r.do(o), "nexus:carol"))
		r.now = t0.Add(limit)
		r.elapse().is("ready for processing").wait(time.Microsecond).elapse().is("to be quarantined")
	})
	t.Run("detected: the refund comes first", func(t *testing.T) {
		r := detected(t).claim().do(swap.MemoFetched{By: by(swap.Worker, t0), Failed: true})
		r.wait(2 * limit).elapse().is("to be refunded")
	})
	t.Run("detected, where the refund is later", func(t *testing.T) {
		r := detected(t)
		r.p.RefundTimeout = 100 * time.Hour
		r.claim().do(swap.MemoFetched{By: by(swap.Worker, t0), Failed: true}).wait(limit + time.Microsecond).elapse().is("to be quarantined")
	})
}

func TestThreeAttemptsOfEachAction(t *testing.T) {
	t.Run("send", func(t *testing.T) {
		r := ready(t)
		for k := range 3 {
			r.begin(swap.Send)
			if k == 2 {
				r.answer(statemachine.Failed).is("to be refunded")
				break
			}
			r.answer(statemachine.Failed).is("ready for processing").prove().release()
		}
		if r.i().Attempts.Of(swap.Send) != 3 || r.i().Reason != swap.ReasonSend {
			t.Errorf("attempts %v, reason %v", r.i().Attempts, r.i().Reason)
		}
		// The third is not proved yet: no refund before that.
		r.claim().refused(r.begun(swap.Refund), switches.ErrOnHold).prove().release().begin(swap.Refund)
	})
	t.Run("refund", func(t *testing.T) {
		r := toBeRefunded(t)
		for range 2 {
			r.begin(swap.Refund).answer(statemachine.Failed).is("to be refunded").prove().release()
		}
		r.begin(swap.Refund).answer(statemachine.Failed).is("to be quarantined")
	})
	t.Run("quarantine", func(t *testing.T) {
		r := toBeQuarantined(t)
		for range 2 {
			r.begin(swap.Quarantine).answer(statemachine.Failed).is("to be quarantined").prove().release()
		}
		r.begin(swap.Quarantine).answer(statemachine.Failed).is("quarantine failed").prove()
		r.order(swap.Requeued{}).is("to be quarantined")
		if r.i().Attempts.Of(swap.Quarantine) != 0 || r.latest().Number != 3 {
			t.Errorf("attempts %v after %d intents", r.i().Attempts, r.latest().Number)
		}
		r.release().begin(swap.Quarantine).answer(statemachine.Done).is("quarantine sent, awaiting confirmation")
		if r.latest().Number != 4 {
			t.Errorf("intent number %d", r.latest().Number)
		}
	})
	t.Run("an unknown that turns into a negative is one", func(t *testing.T) {
		r := ready(t)
		for range 2 {
			r.begin(swap.Send).answer(statemachine.Unknown).prove().is("ready for processing").release()
		}
		r.begin(swap.Send).answer(statemachine.Unknown).prove().is("to be refunded")
	})
	t.Run("no answer at all is one too", func(t *testing.T) {
		r := ready(t).begin(swap.Send).wait(5 * time.Minute)
		r.prove().is("ready for processing")
		if r.i().Attempts.Of(swap.Send) != 1 {
			t.Errorf("attempts %v", r.i().Attempts)
		}
	})
	t.Run("deferred gives it back", func(t *testing.T) {
		r := ready(t)
		for range 5 {
			r.begin(swap.Send).answer(statemachine.Deferred).is("ready for processing").prove().release()
		}
		if r.i().Attempts.Of(swap.Send) != 0 || r.latest().Number != 5 || r.latest().Attempt != 1 {
			t.Errorf("attempts %v, latest %+v", r.i().Attempts, r.latest())
		}
	})
}

func TestCooldown(t *testing.T) {
	r := ready(t).begin(swap.Send)
	at := r.latest().At
	r.answer(statemachine.Failed).prove()
	r.now = at.Add(5*time.Minute - time.Microsecond)
	r.i().Lease.Until = r.now.Add(time.Hour)
	r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	r.refused(r.begun(swap.Send), statemachine.ErrIllegal).wait(time.Microsecond).do(r.begun(swap.Send))
	// Another action is not cooled.
	r = ready(t).begin(swap.Send).answer(statemachine.Failed).prove().order(swap.RefundOrdered{})
	r.i().Lease.Until = r.now.Add(time.Hour)
	r.do(r.begun(swap.Refund))
	// After a deferred one it is a minute, from the answer, then twice as long after
	// each further one, up to a day, and a minute again after one that was tried.
	minutes := []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440}
	r = ready(t)
	for k := range 2 * len(minutes) {
		r.begin(swap.Send).answer(statemachine.Deferred)
		closed := r.latest().ClosedAt
		r.prove()
		r.now = closed.Add(minutes[k%len(minutes)]*time.Minute - time.Microsecond)
		r.i().Lease.Until = r.now.Add(time.Hour)
		r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
		r.refused(r.begun(swap.Send), statemachine.ErrIllegal).wait(time.Microsecond)
		if r.release(); k == len(minutes)-1 {
			r.begin(swap.Send).answer(statemachine.Failed).prove().wait(time.Hour)
		}
	}
	// A policy that postpones for longer is kept.
	r = ready(t)
	r.p.DeferFor = 2 * swap.MaxDeferral
	r.begin(swap.Send).answer(statemachine.Deferred)
	closed := r.latest().ClosedAt
	r.prove().release()
	if r.begin(swap.Send); r.latest().At.Before(closed.Add(2 * swap.MaxDeferral)) {
		t.Errorf("the next one is at %v", r.latest().At)
	}
}

func TestTheConfirmationTimeoutNeedsTimeAndProof(t *testing.T) {
	limit := 10 * time.Minute
	r := debited(t)
	at := r.latest().At
	r.now = at.Add(limit)
	r.missing(1).is("debited, awaiting confirmation")
	for name, spoil := range map[string]func(*swap.View){
		"from too late":         func(v *swap.View) { v.From = at.Add(time.Microsecond - policy.WaterlineMargin) },
		"no beginning":          func(v *swap.View) { v.From = time.Time{} },
		"not by reference":      func(v *swap.View) { v.ByID = false },
		"a node that fell back": func(v *swap.View) { v.After = v.Before - 1 },
		"no height":             func(v *swap.View) { v.Before, v.After = 0, 0 },
		"it may land still":     func(v *swap.View) { v.CannotLand = false },
	} {
		r.wait(time.Microsecond)
		v := r.view(1)
		spoil(&v)
		if r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: v}).state(&r.item) != "debited, awaiting confirmation" {
			t.Errorf("%s is a complete negative", name)
		}
	}
	r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookUnknown}).is("debited, awaiting confirmation")
	r.wait(24 * time.Hour).elapse().is("debited, awaiting confirmation")
	if !r.i().Overdue(r.now) {
		t.Error("it is not overdue")
	}
	r.missing(1).is("to be refunded")
	if in := r.latest(); in.Proof != swap.Negative || in.Outcome != statemachine.Failed {
		t.Errorf("intent %+v", in)
	}
	t.Run("just after the limit", func(t *testing.T) {
		r := debited(t)
		r.now = r.latest().At.Add(limit + time.Microsecond)
		r.missing(1).is("to be refunded")
	})
	t.Run("policy quarantine", func(t *testing.T) {
		r := debited(t)
		r.p.OnTimeout = swap.OnTimeoutQuarantine
		r.wait(time.Hour).missing(1).is("to be quarantined")
	})
	t.Run("policy hold", func(t *testing.T) {
		r := debited(t)
		r.p.OnTimeout = swap.OnTimeoutHold
		r.wait(time.Hour).missing(1).is("debited, awaiting confirmation").refused(swap.Released{By: r.operator()}, statemachine.ErrIllegal)
		r.order(swap.RefundOrdered{}).is("to be refunded").begin(swap.Refund)
	})
	t.Run("an error on chain moves at once", func(t *testing.T) { debited(t).failedOnChain(1).is("to be refunded") })
	t.Run("an error that is not final moves nothing", func(t *testing.T) {
		r := debited(t)
		s := sighting(r.latest(), 9, false)
		s.Errored = true
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookFound, Seen: s}).is("debited, awaiting confirmation")
	})
}

func TestRefunds(t *testing.T) {
	r := refundSent(t)
	if in := r.latest(); in.Memo != "refundSig:sig1 invalid memo" || in.Net != 9_900_000 || in.Destination != "alice-solana" || in.Chain != swap.Solana {
		t.Errorf("intent %+v", in)
	}
	r.found(1, 3).is("refund sent, awaiting confirmation").found(1, 10).is("refund_confirmed")
	if m := r.item.Money(); m != (swap.Money{Deposited: amount, Refunded: 9_900_000, Fees: 100_000}) {
		t.Errorf("money %+v", m)
	}
	refundSent(t).failedOnChain(1).is("to be quarantined")
	r = refundSent(t)
	r.now = r.latest().At.Add(10 * time.Minute)
	r.missing(1).is("refund sent, awaiting confirmation").wait(time.Microsecond).missing(1).is("to be quarantined")
	r = refundSent(t)
	r.p.OnTimeout = swap.OnTimeoutHold // is of payments
	r.wait(time.Hour).missing(1).is("to be quarantined")
	t.Run("without a sender", func(t *testing.T) {
		o := observedDeposit("sig1", amount)
		o.From = ""
		r := memo(deposits(t).do(o), "x").is("to be refunded").elapse().is("to be quarantined").begin(swap.Quarantine)
		if in := r.latest(); in.Memo != "quarantinedSig:sig1" || in.Destination != "solana-quarantine" || in.Net != 9_900_000 {
			t.Errorf("intent %+v", in)
		}
	})
}

func TestQuarantinedDepositsAreWatchedUntilFinal(t *testing.T) {
	r := toBeQuarantined(t).begin(swap.Quarantine).answer(statemachine.Done).is("quarantine sent, awaiting confirmation")
	if r.item.Money().Held != amount || r.i().CheckAt.IsZero() {
		t.Errorf("money %+v, due %v", r.item.Money(), r.i().CheckAt)
	}
	r.found(1, 10).is("quarantine sent, awaiting confirmation")
	if r.item.Money().Quarantined != 9_900_000 || !r.i().CheckAt.IsZero() {
		t.Errorf("money %+v, due %v", r.item.Money(), r.i().CheckAt)
	}
	r = toBeQuarantined(t).begin(swap.Quarantine).answer(statemachine.Done)
	r.refused(swap.Requeued{By: r.operator(), Reason: "x"}, statemachine.ErrIllegal)
	r.wait(time.Hour).missing(1).is("quarantine sent, awaiting confirmation").kinds(swap.OutboundLost)
	r.order(swap.Requeued{}).is("to be quarantined").begin(swap.Quarantine).answer(statemachine.Done).found(2, 10).is("quarantine sent, awaiting confirmation")
}

func TestObservedAgain(t *testing.T) {
	r := detected(t)
	r.do(observedDeposit("sig1", amount))
	if !r.last.Empty() {
		t.Error("the same facts changed something")
	}
	other := observedDeposit("sig1", amount+1)
	r.do(other).do(other).kinds(swap.InboundChanged)
	back := detected(t) // told again by a clock that was set back
	again := observedDeposit("sig1", amount)
	again.At = t0.Add(-time.Minute)
	back.do(again).kinds()
	if r.item.Amount != amount {
		t.Error("the amount changed")
	}
	for name, spoil := range map[string]func(*swap.Observed){
		"failed on chain": func(o *swap.Observed) { o.Success = false },
		"not finalized":   func(o *swap.Observed) { o.Finalized = false },
		"nothing":         func(o *swap.Observed) { o.Amount = 0 },
		"no id":           func(o *swap.Observed) { o.ID = "" },
		"an owner":        func(o *swap.Observed) { o.Owner = "x" },
		"a long id":       func(o *swap.Observed) { o.ID = strings.Repeat("x", 201) },
	} {
		o := observedDeposit("sig2", amount)
		spoil(&o)
		if err := deposits(t).try(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	o := observedDeposit("sig2", amount)
	o.Time = t0.Add(time.Hour)
	if r := deposits(t).do(o); !r.i().At.Equal(t0) {
		t.Errorf("a time above now is stored as %v", r.i().At)
	}
	o = observedDeposit("sig2", amount)
	o.From = "solana-vault"
	c, err := policy.ApplyDeposit(swap.Deposit{}, o, t0)
	if err != nil || c.New.Version != 0 || len(c.Notes) != 1 || c.Notes[0].Kind != swap.OwnSender || c.Notes[0].Item != "" {
		t.Errorf("an own sender: %+v, %v", c, err)
	}
}

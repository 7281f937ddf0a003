package swap_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

const debitedText, toBeRefundedText, awaitingText = "debited, awaiting confirmation", "to be refunded", "sig created, awaiting confirmations"

func (r *run[A]) outbound(s swap.Sighting) *run[A] {
	r.t.Helper()
	return r.do(swap.Outbound{By: by(swap.Observer, r.now), Seen: s})
}

func TestNothingIsBegunBeforeEveryEarlierIntentIsProved(t *testing.T) {
	for _, o := range []statemachine.Outcome{statemachine.Failed, statemachine.Deferred} {
		r := ready(t).begin(swap.Send).answer(o).wait(time.Hour).release().claim()
		r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
		r.refused(r.begun(swap.Send), switches.ErrOnHold)
		r.missing(1).do(r.begun(swap.Send))
	}
	r := ready(t).begin(swap.Send).answer(statemachine.Unknown)
	r.refused(swap.RefundOrdered{By: r.operator(), Reason: "x"}, statemachine.ErrHeld)
	// An answer under the lease moves SendBy.
	r = ready(t).begin(swap.Send)
	sent, lease := r.now, r.i().Lease.Until
	r.wait(time.Second).answer(statemachine.Failed)
	if by := r.latest().SendBy; !by.Equal(sent.Add(time.Second)) {
		t.Errorf("send by %v, lease until %v", by, lease)
	}
	// It holds before it is kept as fees, too.
	rr := memo(deposits(t).do(observedDeposit("sig1", 150_000)), "nexus:carol").begin(swap.Send).answer(statemachine.Failed).order(swap.RefundOrdered{})
	rr.p.Deposits.Refund = 150_000
	rr.elapse().is(toBeRefundedText).prove().elapse().is("processed, amount after fees <= 0")
}

func TestOnSolanaOnlyTheHeightProves(t *testing.T) {
	r := sending(t).answer(statemachine.Failed).wait(time.Hour)
	v := r.view(1)
	v.Before = 1000
	v.CannotLand = true
	r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: v})
	if r.latest().Proof != 0 {
		t.Error("proved at the last valid height")
	}
	v.Before, v.After = 1001, 1001
	v.ByMemo = false
	r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: v})
	if r.latest().Proof != 0 {
		t.Error("proved without a look-up by memo")
	}
	v.ByMemo, v.CannotLand = true, false
	r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: v})
	if r.latest().Proof != swap.Negative {
		t.Error("not proved above the last valid height")
	}
}

func TestAnswers(t *testing.T) {
	all := statemachine.Outcome(0).Values()
	// first, second: outcome and state of the intent afterwards.
	for _, c := range []struct {
		first, second, want statemachine.Outcome
		kinds               []swap.DiscrepancyKind
	}{
		{statemachine.Done, statemachine.Failed, statemachine.Done, nil},
		{statemachine.Done, statemachine.Unknown, statemachine.Done, nil},
		{statemachine.Done, statemachine.Deferred, statemachine.Done, nil},
		{statemachine.Done, statemachine.Done, statemachine.Done, nil},
		{statemachine.Failed, statemachine.Done, statemachine.Done, []swap.DiscrepancyKind{swap.LateOutbound}},
		{statemachine.Failed, statemachine.Failed, statemachine.Failed, nil},
		{statemachine.Failed, statemachine.Unknown, statemachine.Failed, nil},
		{statemachine.Failed, statemachine.Deferred, statemachine.Failed, nil},
		{statemachine.Deferred, statemachine.Done, statemachine.Done, []swap.DiscrepancyKind{swap.LateOutbound}},
		{statemachine.Deferred, statemachine.Failed, statemachine.Deferred, nil},
		{statemachine.Deferred, statemachine.Unknown, statemachine.Deferred, nil},
		{statemachine.Deferred, statemachine.Deferred, statemachine.Deferred, nil},
		{statemachine.Unknown, statemachine.Done, statemachine.Done, nil},
		{statemachine.Unknown, statemachine.Failed, statemachine.Failed, nil},
		{statemachine.Unknown, statemachine.Deferred, statemachine.Unknown, nil},
		{statemachine.Unknown, statemachine.Unknown, statemachine.Unknown, nil},
	} {
		r := ready(t).begin(swap.Send).answer(c.first).answer(c.second)
		if r.latest().Outcome != c.want {
			t.Errorf("%v, then %v: %v", c.first, c.second, r.latest().Outcome)
		}
		r.kinds(c.kinds...)
	}
	if len(all)*len(all) != 16 {
		t.Error("a pair is missing")
	}
	t.Run("done with another id", func(t *testing.T) {
		r := debited(t)
		r.do(swap.Answered{By: r.worker(), Number: 1, Outcome: statemachine.Done, TxID: "other"}).kinds(swap.SecondOutbound)
		if in := r.latest(); in.Number != 2 || in.TxID != "other" || !in.Open() {
			t.Errorf("%+v", in)
		}
		r.found(1, 10).is("debit_confirmed").found(2, 1).kinds(swap.SecondOutbound).found(2, 10).found(2, 10).kinds(swap.SecondOutbound, swap.DoublePayout)
	})
	t.Run("on Solana with another signature", func(t *testing.T) {
		r := sending(t)
		r.do(swap.Answered{By: r.worker(), Number: 1, Outcome: statemachine.Done, TxID: "other"}).is("sending").kinds(swap.SecondOutbound)
		r.found(1, 1).is("sending").wait(time.Hour).watch(2) // the other one is open
		v := r.view(2)
		r.do(swap.Looked{By: r.worker(), Number: 2, Finding: swap.LookMissing, View: v}).is(awaitingText)
		if r.i().Hold.Kind != 0 {
			t.Error("it is held still")
		}
	})
	t.Run("to no intent", func(t *testing.T) {
		ready(t).refused(swap.Answered{By: by(swap.Worker, t0), Number: 1, Outcome: statemachine.Done, TxID: "x"}, statemachine.ErrInvalid)
	})
}

func TestAnOutboundThatPaidAfterAll(t *testing.T) {
	t.Run("nothing later: the item follows the money", func(t *testing.T) {
		r := ready(t).begin(swap.Send).answer(statemachine.Failed).prove().order(swap.RefundOrdered{}).found(1, 1).is(debitedText).kinds(swap.LateOutbound)
		if r.latest().Proof != 0 {
			t.Error("the proof stands")
		}
		r.found(1, 10).is("debit_confirmed")
		toBeRefunded(t).begin(swap.Refund).answer(statemachine.Failed).prove().order(swap.QuarantineOrdered{}).found(1, 1).is("refund sent, awaiting confirmation")
		ready(t).begin(swap.Send).answer(statemachine.Failed).order(swap.QuarantineOrdered{}).found(1, 1).is(debitedText)
		sending(t).answer(statemachine.Failed).order(swap.RefundOrdered{}).found(1, 1).is(awaitingText).kinds(swap.LateOutbound)
	})
	t.Run("a later one is open: held until both are settled", func(t *testing.T) {
		later := func(t *testing.T) *run[swap.Credit] {
			r := sending(t).answer(statemachine.Failed).prove().order(swap.RefundOrdered{}).release().begin(swap.Refund)
			r.found(1, 10).is("refund pending").kinds(swap.LateOutbound)
			if r.i().Hold.Kind != swap.ByLate {
				t.Errorf("hold %v", r.i().Hold)
			}
			return r.refused(swap.Released{By: r.operator()}, statemachine.ErrIllegal)
		}
		later(t).prove().is(awaitingText).found(1, 10).is("processed")
		r := later(t).answer(statemachine.Failed).is(awaitingText)
		if r.i().Hold.Kind != 0 {
			t.Error("held")
		}
		r = later(t).answer(statemachine.Done).is("refund pending").kinds(swap.LateOutbound).elapse().found(1, 10).found(2, 10).kinds(swap.LateOutbound, swap.DoublePayout)
		if d := r.i().Discrepancies[1]; d.Amount != 9_999_000 || d.Other != 9_490_000 {
			t.Errorf("%+v", d)
		}
	})
	t.Run("a later one is done", func(t *testing.T) {
		r := sending(t).answer(statemachine.Failed).prove().order(swap.RefundOrdered{}).release().begin(swap.Refund).answer(statemachine.Done).is("refunded")
		r.found(1, 1).is("refunded").found(1, 10).kinds(swap.LateOutbound).found(2, 10).kinds(swap.LateOutbound, swap.DoublePayout)
		r.found(1, 10).outbound(sighting(*r.i().Intent(1), 20, true))
		if len(r.i().Discrepancies) != 2 {
			t.Error("recorded twice")
		}
	})
	t.Run("a debit beside a refund that is not final", func(t *testing.T) {
		later := func() *run[swap.Deposit] {
			r := debited(t).wait(time.Hour).missing(1).is(toBeRefundedText).release().begin(swap.Refund).answer(statemachine.Done)
			r.found(1, 10).is("refund sent, awaiting confirmation").kinds(swap.LateOutbound)
			if !r.i().Overdue(r.now.Add(time.Microsecond)) {
				t.Error("not overdue")
			}
			return r
		}
		later().found(2, 10).is("refund_confirmed").kinds(swap.LateOutbound).found(1, 10).kinds(swap.LateOutbound, swap.DoublePayout)
		later().failedOnChain(2).is("to be quarantined").elapse().is(debitedText).found(1, 10).is("debit_confirmed")
	})
	t.Run("on a finished row", func(t *testing.T) {
		r := ready(t).begin(swap.Send).answer(statemachine.Failed).prove().release().begin(swap.Send).answer(statemachine.Done).found(2, 10).is("debit_confirmed")
		r.outbound(sighting(*r.i().Intent(1), 1, false)).is("debit_confirmed").kinds(swap.LateOutbound).found(1, 10).kinds(swap.LateOutbound, swap.DoublePayout)
	})
}

func TestMismatches(t *testing.T) {
	for name, spoil := range map[string]func(*swap.Sighting){
		"another amount":      func(s *swap.Sighting) { s.Amount-- },
		"another destination": func(s *swap.Sighting) { s.Destination = "mallory" },
		"another mint":        func(s *swap.Sighting) { s.Token = "FAKE" },
		"another signature":   func(s *swap.Sighting) { s.TxID = "foreign" },
	} {
		t.Run(name, func(t *testing.T) {
			r := sending(t)
			s := sighting(r.latest(), 10, true)
			spoil(&s)
			r.outbound(s).outbound(s).is("sending").kinds(swap.Mismatch)
			if r.i().Hold.Kind != swap.ByMismatch {
				t.Fatalf("hold %v", r.i().Hold)
			}
			r.answer(statemachine.Failed).prove().release()
			r.refused(swap.Released{By: r.operator()}, statemachine.ErrIllegal)
			r.refused(swap.Acknowledged{By: r.operator(), Number: 1, Reason: "x"}, statemachine.ErrIllegal)
			r.do(swap.NotSent{By: r.operator(), TxID: s.TxID, Reason: "a test of ours"})
			if r.i().Hold.Kind != 0 {
				t.Error("it is held still")
			}
			r.begin(swap.Send)
		})
	}
	t.Run("what the vault did not sign proves nothing", func(t *testing.T) {
		r := sending(t)
		s := sighting(r.latest(), 10, true)
		s.VaultSigned = false
		r.outbound(s).is("sending")
		if len(r.last.Log) > 0 {
			t.Error("it changed something")
		}
	})
	t.Run("an error on chain that is none of its intents moves nothing", func(t *testing.T) {
		r := sending(t)
		s := sighting(r.latest(), 10, true)
		s.TxID, s.Errored = "foreign", true
		r.outbound(s)
		if len(r.last.Log) > 0 {
			t.Error("it changed something")
		}
	})
	t.Run("paid by", func(t *testing.T) {
		r := creditReady(t)
		s := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "foreign", Memo: "nexus_txid:tx1", Amount: 9_490_001, Destination: "x", Token: "USDC", Finalized: true}
		r.outbound(s).kinds(swap.Mismatch)
		r.do(swap.PaidBy{By: r.operator(), Action: swap.Send, TxID: "foreign", Reason: "by hand"}).is("refund pending")
		r.claim().refused(r.begun(swap.Refund), switches.ErrOnHold)
		r.found(1, 10).is(awaitingText).found(1, 10).is("processed")
		if m := r.item.Money(); m.PaidOut != 9_490_001 || m.Held != 0 || m.Excess != 0 {
			t.Errorf("money %+v", m)
		}
	})
	t.Run("an outbound that names another item", func(t *testing.T) {
		sending(t).refused(swap.Outbound{By: by(swap.Observer, t0), Seen: swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "a", Memo: "nexus_txid:tx2", Amount: 1}}, statemachine.ErrInvalid)
	})
}

func TestLeases(t *testing.T) {
	r := ready(t).release().claim()
	fence := r.i().Lease.Fence
	r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	other := by(swap.Worker, r.now)
	other.Actor = "other"
	ev := r.begun(swap.Send)
	ev.By = other
	r.refused(ev, statemachine.ErrFenced).refused(swap.Claimed{By: other}, statemachine.ErrHeld)
	ev = r.begun(swap.Send)
	ev.Fence--
	r.refused(ev, statemachine.ErrFenced)
	r.wait(5*time.Minute).refused(r.begun(swap.Send), statemachine.ErrFenced)
	r.do(swap.Claimed{By: swap.By{Actor: "other", Role: swap.Worker, At: r.now}, Fence: fence + 1})
	stale := r.begun(swap.Send)
	stale.Fence = fence
	r.refused(stale, statemachine.ErrFenced)
	// An answer needs no lease.
	r = ready(t).begin(swap.Send).wait(time.Hour).answer(statemachine.Done).is(debitedText)
	version := r.i().Version
	old := swap.Elapsed{By: by(swap.System, r.now)}
	old.Version = version - 1
	r.refused(old, statemachine.ErrConflict)
}

func TestFromQuarantineFailedLookUpsGoOn(t *testing.T) {
	r := toBeQuarantined(t)
	for range 2 {
		r.begin(swap.Quarantine).answer(statemachine.Failed).prove().release()
	}
	r.begin(swap.Quarantine).answer(statemachine.Failed).is("quarantine failed")
	if s := r.p.NextDeposit(r.item, open, r.now.Add(time.Hour)); len(s.Tasks) != 1 || s.Tasks[0].Do != swap.LookUp {
		t.Errorf("owed: %+v", s)
	}
	r.found(3, 10).is("quarantine failed").kinds(swap.LateOutbound)
	r.order(swap.Requeued{}).is("to be quarantined").elapse().is("quarantine sent, awaiting confirmation").found(3, 10)
	if m := r.item.Money(); m.Quarantined != 9_900_000 || m.Held != 0 {
		t.Errorf("money %+v", m)
	}
}

// Everything that was said once, said again after the end, changes nothing at all.
func TestAReplayHasNoEffect(t *testing.T) {
	replay := func(name string, again func() bool) {
		if !again() {
			t.Errorf("%s: a replay has an effect", name)
		}
	}
	d := debited(t).found(1, 10).is("debit_confirmed")
	in := *d.i().Intent(1)
	for name, ev := range map[string]swap.Event{
		"observed": observedDeposit("sig1", amount), "history": swap.Outbound{By: by(swap.Observer, d.now), Seen: sighting(in, 99, true)},
		"answer": swap.Answered{By: d.worker(), Number: 1, Outcome: statemachine.Done, TxID: in.TxID}, "memo": swap.MemoFetched{By: d.worker(), Memos: []string{"nexus:carol"}},
		"look-up": swap.Looked{By: d.worker(), Number: 1, Finding: swap.LookFound, Seen: sighting(in, 99, true)}, "negative": swap.Looked{By: d.worker(), Number: 1, Finding: swap.LookMissing, View: d.view(1)},
		"time": swap.Elapsed{By: by(swap.System, d.now.Add(1000*time.Hour)), Control: open},
	} {
		replay(name, func() bool { d.do(ev); return d.last.Empty() })
	}
	c := refunded(t)
	seen := sighting(*c.i().Intent(1), 1, false)
	c.do(swap.Outbound{By: by(swap.Observer, c.now.Add(time.Hour)), Seen: seen})
	for name, ev := range map[string]swap.Event{
		"observed": observedCredit("tx1", amount), "history": swap.Outbound{By: by(swap.Observer, c.now.Add(time.Hour)), Seen: seen},
		"confirmations": swap.Confirmations{By: by(swap.Observer, c.now), Count: 2},
	} {
		replay(name, func() bool { c.do(ev); return c.last.Empty() })
	}
	p := ripe(t)
	replay("confirmations of a pending credit", func() bool {
		p.do(swap.Confirmations{By: by(swap.Observer, p.now.Add(time.Hour)), Count: 5})
		return p.last.Empty()
	})
}

// Nobody but a worker can put an item off.
func TestDustHoldsNothingUp(t *testing.T) {
	r := sending(t).wait(time.Hour)
	dust := sighting(r.latest(), 10, true)
	dust.VaultSigned = false
	before := r.i().CheckAt
	r.outbound(dust)
	if !r.last.Empty() || !r.i().CheckAt.Equal(before) {
		t.Error("an inbound transaction with our memo moved something")
	}
}

// A negative counts from when it was asked: what a sender hands over later is not in
// it, however late it is told.
func TestAnOldNegativeProvesNoLaterSend(t *testing.T) {
	for _, c := range []struct {
		asked  time.Duration // since the latest look-up
		proved bool
	}{{-time.Minute, false}, {0, false}, {time.Microsecond, true}, {time.Hour, true}, {time.Hour + time.Microsecond, false}} { // the last one from the future
		r := ready(t).begin(swap.Send).answer(statemachine.Failed).watch(1)
		v := r.view(1)
		v.Asked = r.latest().MissedAt.Add(c.asked)
		r.now = r.latest().MissedAt.Add(time.Hour)
		if r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: v}); (r.latest().Proof == swap.Negative) != c.proved {
			t.Errorf("asked %v after the latest look-up: %v", c.asked, r.latest().Proof)
		}
	}
	// The time-out of what was answered as sent, on both chains.
	for _, c := range []struct {
		asked time.Duration
		state string
	}{{10 * time.Minute, "stays"}, {10*time.Minute + time.Microsecond, "moves"}} {
		d, cr := debited(t), awaiting(t)
		d.wait(time.Hour).watch(1)
		cr.wait(time.Hour)
		v, w := d.view(1), cr.view(1)
		v.Asked, w.Asked = t0.Add(c.asked), t0.Add(c.asked)
		d.do(swap.Looked{By: d.worker(), Number: 1, Finding: swap.LookMissing, View: v}).is(map[string]string{"stays": debitedText, "moves": toBeRefundedText}[c.state])
		cr.do(swap.Looked{By: cr.worker(), Number: 1, Finding: swap.LookMissing, View: w}).is(map[string]string{"stays": awaitingText, "moves": "refund pending"}[c.state])
	}
	// A look back, alone and from two scans of which one is older.
	d := restored(ready(t).release().wait(time.Hour))
	bar := d.now.Add(d.p.Lease + d.p.CallTimeout + time.Microsecond)
	d.wait(time.Hour)
	for _, c := range []struct {
		solana, nexus time.Time
		back          bool
	}{{bar.Add(-time.Microsecond), bar, false}, {bar, bar.Add(-time.Microsecond), false}, {bar, bar, true}} {
		r := *d
		s, n := r.view(0), r.view(0)
		s.Asked, n.Asked = c.solana, c.nexus
		r.do(r.p.RecoverDeposit(r.item, r.ctl, nil, by(swap.Observer, r.now), swap.History{Chain: swap.Solana, View: s}, swap.History{Chain: swap.Nexus, View: n})...)
		if (r.i().LookedBack == r.ctl.Generation) != c.back {
			t.Errorf("asked at %v and %v: looked back until %v", c.solana, c.nexus, r.i().LookedBack)
		}
	}
}

// look misses the first intent, asked now and told now.
func look[A any](r *run[A]) *run[A] {
	r.t.Helper()
	return r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: r.view(1)})
}

// What proves that a sender has ended is the time that look-ups in a row have seen to pass: to the
// microsecond what the sender had, a call, and twice the pause between look-ups.
func TestTimeCountsThatLookUpsHaveSeen(t *testing.T) {
	const tick = time.Microsecond
	every := 2 * policy.LookEvery
	need := policy.Lease + policy.CallTimeout + every // 6 m 30 s
	for name, c := range map[string]struct {
		gaps   []time.Duration // between the look-ups; the first one is that long after the commit
		missed time.Duration   // 0: it is proved
	}{
		"at what is needed": {[]time.Duration{every, every, every, every, every, every, need - 6*every}, need},
		"above it":          {[]time.Duration{every, every, every, every, every, every, need - 6*every + tick}, 0},
		"a gap":             {[]time.Duration{every, every, every, every, every, every + tick, need - 6*every + tick}, need - every + tick},
		"a day":             {[]time.Duration{24 * time.Hour}, 0},
		"set forward":       {[]time.Duration{every, every, every, every, every, 6 * time.Minute, tick}, 5*every + tick},
		"set back":          {[]time.Duration{every, every, every, -2 * time.Hour, every, every}, 5 * every},
		"set back and on":   {[]time.Duration{every, every, every, -2 * time.Hour, every, every, every, need - 6*every + tick}, 0},
	} {
		r := ready(t).begin(swap.Send)
		for _, gap := range c.gaps {
			look(r.wait(gap))
		}
		if in := r.latest(); (in.Proof == swap.Negative) != (c.missed == 0 && name != "a day") || in.Proof == 0 && in.Missed != c.missed {
			t.Errorf("%s: proof %v, missed for %v, expected %v", name, in.Proof, in.Missed, c.missed)
		}
	}
	// Enough is enough: while something may be on its way, no further version is made.
	r := ready(t).begin(swap.Send).watch(1)
	version := r.i().Version
	v := r.wait(time.Minute).view(1)
	v.CannotLand = false
	if r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: v}); r.i().Version != version {
		t.Errorf("version %d, %d before", r.i().Version, version)
	}
	// What does not cover the intent has seen nothing.
	r = ready(t).begin(swap.Send).wait(time.Minute)
	v = r.view(1)
	v.From = r.latest().At
	if r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: v}); r.latest().Missed != 0 {
		t.Errorf("missed for %v", r.latest().Missed)
	}
}

// Who answers under the lease is done with it, and its call may be under way: the time begins anew,
// and is shorter. An answer without the lease ends nothing.
func TestAnAnswerUnderTheLeaseBeginsTheTimeAnew(t *testing.T) {
	r := ready(t).begin(swap.Send)
	for range 4 {
		look(r.wait(time.Minute))
	}
	late := *r
	late.do(swap.Answered{By: by(swap.Worker, r.now), Fence: 7, Number: 1, Outcome: statemachine.Failed, Reason: "late"})
	if in := late.latest(); in.Missed != 4*time.Minute || !in.SendBy.Equal(in.At.Add(policy.Lease)) {
		t.Errorf("late: %+v", in)
	}
	r.answer(statemachine.Failed)
	if in := r.latest(); in.Missed != 0 || !in.MissedAt.Equal(r.now) || !in.SendBy.Equal(r.now) {
		t.Fatalf("%+v", in)
	}
	for range 5 {
		if look(r.wait(time.Minute)); r.latest().Proof != 0 {
			t.Fatalf("a call may be under way: %+v", r.latest())
		}
	}
	if look(r.wait(30*time.Second + time.Microsecond)); r.latest().Proof != swap.Negative {
		t.Errorf("%+v", r.latest())
	}
}

// A clock that was ahead when the lease was given gives its sender no more time than a lease has,
// and once it is right the item ends as ever.
func TestAnIntentOfAClockThatWasAhead(t *testing.T) {
	r := ready(t).claim()
	r.do(swap.AccountChecked{By: r.worker(), State: swap.AccountUsable})
	r.item.Lease.Until = r.now.Add(time.Hour) // given by a clock that was ahead
	if r.do(r.begun(swap.Send)); !r.latest().SendBy.Equal(r.now.Add(policy.Lease)) {
		t.Errorf("send by %v", r.latest().SendBy)
	}
	x := ready(t).wait(10 * 365 * 24 * time.Hour).begin(swap.Send).answer(statemachine.Done)
	x.now = t0.Add(time.Hour)
	for range 3 {
		look(x.wait(time.Minute))
	}
	x.is(toBeRefundedText)
}

package swap_test

import (
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// told is evidence of the latest intent: asked at a time after r.now, and told an hour after that.
func told[A any](r *run[A], found bool, asked time.Duration) swap.Looked {
	in := r.latest()
	ev := swap.Looked{By: by(swap.Worker, r.now.Add(time.Hour)), Number: in.Number, Finding: swap.LookMissing, View: r.view(in.Number)}
	if ev.View.Asked = r.now.Add(asked); found {
		ev.Finding, ev.Seen, ev.View = swap.LookFound, sighting(in, 1, false), swap.View{Asked: ev.View.Asked}
	}
	return ev
}

// errorOf is told of a look-up that finds the latest intent with a final error.
func errorOf[A any](r *run[A], asked time.Duration) swap.Looked {
	ev := told(r, true, asked)
	ev.Seen = sighting(r.latest(), 10, true)
	ev.Seen.Errored = true
	return ev
}

// A complete negative, or a final error, that was asked before the latest sighting, or with it,
// begins no refund, whichever of the two is told first. Asked after it, it counts.
func TestTheNewestEvidenceDecides(t *testing.T) {
	const seen = time.Minute
	items := map[string]func(t *testing.T, asked time.Duration, errored, first bool) (paid bool, kinds []swap.DiscrepancyKind){
		"deposit": func(t *testing.T, asked time.Duration, errored, first bool) (bool, []swap.DiscrepancyKind) {
			return evidenceOf(debited(t).wait(time.Hour).watch(1), asked, errored, first)
		},
		"credit": func(t *testing.T, asked time.Duration, errored, first bool) (bool, []swap.DiscrepancyKind) {
			return evidenceOf(awaiting(t).wait(time.Hour), asked, errored, first)
		},
		"refund of a deposit": func(t *testing.T, asked time.Duration, errored, first bool) (bool, []swap.DiscrepancyKind) {
			return evidenceOf(refundSent(t).wait(time.Hour), asked, errored, first)
		},
		"refund of a credit": func(t *testing.T, asked time.Duration, errored, first bool) (bool, []swap.DiscrepancyKind) {
			return evidenceOf(refunded(t).wait(time.Hour).watch(1), asked, errored, first)
		},
	}
	for name, of := range items {
		for _, errored := range []bool{false, true} {
			const tick = time.Microsecond
			for asked, newer := range map[time.Duration]bool{0: false, seen - tick: false, seen: false, seen + tick: true, 2 * seen: true} {
				if paid, kinds := of(t, asked, errored, true); paid == newer || !newer && len(kinds) > 0 {
					t.Errorf("%s: seen first, then missing (an error: %v) asked %v: has paid %v, %v", name, errored, asked, paid, kinds)
				}
				// Told first, the negative is believed until the sighting is told: nothing was begun
				// yet, and the item follows the money. An older sighting is looked up again, too.
				if paid, _ := of(t, asked, errored, false); !paid {
					t.Errorf("%s: missing (an error: %v) asked %v, then seen: it has not paid", name, errored, asked)
				}
			}
		}
	}
}

// evidenceOf tells a sighting of the latest intent that was asked for after a minute and what
// denies it, the sighting first or last, and once more what denies it where that is newer.
func evidenceOf[A any](r *run[A], asked time.Duration, errored, first bool) (paid bool, kinds []swap.DiscrepancyKind) {
	positive, negative := told(r, true, time.Minute), told(r, false, asked)
	if errored {
		negative = errorOf(r, asked)
	}
	pair := []swap.Event{positive, negative}
	if !first {
		slices.Reverse(pair)
	}
	n := r.latest().Number
	r.do(pair...)
	if r.now = r.now.Add(time.Hour); !first && asked > time.Minute {
		last := *r // what was believed for nothing is found out by the next look-up
		if last.do(negative); last.i().Intent(n).Landed() {
			r.t.Errorf("asked %v and told again: it has paid", asked)
		}
	}
	for _, d := range r.i().Discrepancies {
		if d.ClosedBy == "" {
			kinds = append(kinds, d.Kind)
		}
	}
	return r.i().Intent(n).Landed(), kinds
}

// The sighting may come by the history, without a time, and often: the latest one counts. What
// nobody can tell to be of the intent makes no negative old.
func TestWhatWasSeenLast(t *testing.T) {
	type deposit = run[swap.Deposit]
	history := func(asked time.Duration) func(*deposit) swap.Event {
		return func(r *deposit) swap.Event {
			ev := swap.Outbound{By: by(swap.Observer, r.now.Add(time.Hour)), Seen: sighting(r.latest(), 1, false)}
			if asked != 0 {
				ev.Asked = r.now.Add(asked)
			}
			return ev
		}
	}
	look := func(asked time.Duration) func(*deposit) swap.Event {
		return func(r *deposit) swap.Event { return told(r, true, asked) }
	}
	changed := func(change func(*swap.Sighting)) func(*deposit) swap.Event {
		return func(r *deposit) swap.Event {
			ev := told(r, true, time.Minute)
			change(&ev.Seen)
			return ev
		}
	}
	for name, c := range map[string]struct {
		told   []func(*deposit) swap.Event
		newest time.Duration // of what was seen; 0: nothing was
	}{
		"by the history":                       {[]func(*deposit) swap.Event{history(time.Minute)}, time.Minute},
		"by the history, nobody says when":     {[]func(*deposit) swap.Event{history(0)}, time.Hour},
		"twice":                                {[]func(*deposit) swap.Event{look(time.Minute), look(3 * time.Minute)}, 3 * time.Minute},
		"twice, the later one told first":      {[]func(*deposit) swap.Event{look(3 * time.Minute), history(time.Minute)}, 3 * time.Minute},
		"with a time of the future":            {[]func(*deposit) swap.Event{look(48 * time.Hour)}, time.Hour},
		"another amount":                       {[]func(*deposit) swap.Event{changed(func(s *swap.Sighting) { s.Amount-- })}, time.Minute},
		"by no vault":                          {[]func(*deposit) swap.Event{changed(func(s *swap.Sighting) { s.VaultSigned = false })}, 0},
		"an error below finality":              {[]func(*deposit) swap.Event{changed(func(s *swap.Sighting) { s.Errored = true })}, 0},
		"another transaction of the reference": {[]func(*deposit) swap.Event{changed(func(s *swap.Sighting) { s.TxID = "other" })}, 0},
	} {
		for d, counts := range map[time.Duration]bool{-time.Microsecond: false, 0: false, time.Microsecond: true} {
			r := debited(t).wait(time.Hour).watch(1)
			var all []swap.Event
			for _, ev := range c.told {
				all = append(all, ev(r))
			}
			last := told(r, false, c.newest+d)
			last.At = r.now.Add(2 * time.Hour)
			if r.do(all...); c.newest == 0 {
				counts = true
			}
			version := r.i().Version
			if r.do(all...); r.i().Version != version && len(r.i().Intents) == 1 { // what was filed is looked up
				t.Errorf("%s: told again, it is a version", name)
			}
			if r.do(last); (r.i().Intents[0].Proof == swap.Negative) != counts {
				t.Errorf("%s, asked %v after it: %+v", name, d, r.i().Intents[0])
			}
		}
	}
}

// A sighting that was stamped by a clock which was ahead holds no negative up once that clock is
// right: the first one sets it right, the next one counts.
func TestASightingOfAClockThatWasAhead(t *testing.T) {
	r := debited(t).wait(10*24*time.Hour).watch(1).found(1, 1)
	if r.i().Intents[0].SeenAt != r.now {
		t.Fatalf("seen at %v", r.i().Intents[0].SeenAt)
	}
	r.now = t0.Add(2 * time.Hour)
	missing := func() {
		r.do(swap.Looked{By: r.worker(), Number: 1, Finding: swap.LookMissing, View: r.view(1)})
	}
	if missing(); r.i().Intents[0].Proof != 0 || !r.i().Intents[0].SeenAt.Equal(r.now) {
		t.Fatalf("%+v", r.i().Intents[0])
	}
	if r.wait(time.Microsecond); true {
		missing()
	}
	r.is(toBeRefundedText)
}

// A count of a credit that came in is denied only by what was asked since.
func TestACountIsDeniedByWhatWasAskedSince(t *testing.T) {
	for asked, gone := range map[time.Duration]bool{-time.Microsecond: false, 0: true, time.Microsecond: true} {
		for _, before := range []uint64{0, 2} { // with the count the version moves anyway, or it is no other count
			for _, first := range []bool{true, false} {
				r := pending(t)
				if before > 0 {
					r.do(swap.Confirmations{By: by(swap.Observer, r.now), Asked: r.now, Count: before})
				}
				at := r.now.Add(time.Minute)
				r.wait(time.Hour)
				events := []swap.Event{swap.Confirmations{By: by(swap.Observer, r.now), Asked: at, Count: 2},
					swap.Confirmations{By: by(swap.Observer, r.now), Asked: at.Add(asked), Gone: true}}
				if !first {
					slices.Reverse(events)
				}
				if r.do(events...); first && r.item.GoneAt.IsZero() == gone || !first && asked <= 0 && !r.item.GoneAt.IsZero() {
					t.Errorf("gone asked %v after the count of 2 behind %d, the count first %v: gone at %v", asked, before, first, r.item.GoneAt)
				}
			}
		}
	}
}

// What denies an outbound that is final moves nothing and is on file, with an alert, until a
// person acknowledges it or the chain shows it final again.
func TestWhatDeniesAFinalOutbound(t *testing.T) {
	margin := policy.WaterlineMargin
	type deposit = run[swap.Deposit]
	seen := func(confirmations uint64, asked, toldAt time.Duration) func(*deposit) swap.Event {
		return func(r *deposit) swap.Event {
			ev := swap.Outbound{By: by(swap.Observer, r.now.Add(toldAt)), Seen: sighting(r.latest(), confirmations, confirmations >= 10)}
			if asked != 0 {
				ev.Asked = r.now.Add(asked)
			}
			return ev
		}
	}
	missing := func(asked time.Duration) func(*deposit) swap.Event {
		return func(r *deposit) swap.Event { return told(r, false, asked) }
	}
	for name, c := range map[string]struct {
		ev   func(*deposit) swap.Event
		want bool
	}{
		"missing, asked before it was seen": {missing(-time.Microsecond), false},
		"missing, asked as it was seen":     {missing(0), false},
		"missing, asked since":              {missing(time.Microsecond), true},
		"missing, but not all was covered": {func(r *deposit) swap.Event {
			ev := told(r, false, time.Minute)
			ev.View.ByID = false
			return ev
		}, false},
		"an error, asked as it was seen":          {func(r *deposit) swap.Event { return errorOf(r, 0) }, false},
		"an error":                                {func(r *deposit) swap.Event { return errorOf(r, time.Microsecond) }, true},
		"below finality by a node that is behind": {seen(9, margin, time.Hour), false},
		"below finality":                          {seen(9, margin+time.Microsecond, time.Hour), true},
		"below finality, nobody says since when":  {seen(9, 0, time.Hour), false},
		"not in a block any more":                 {seen(0, margin+time.Microsecond, time.Hour), true},
		"final as ever":                           {seen(99, time.Minute, time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := debited(t).wait(time.Hour).found(1, 10).is("debit_confirmed")
			before := r.item
			if r.do(c.ev(r)).is("debit_confirmed").over(); !r.i().Intents[0].Final || r.item.Money() != before.Money() {
				t.Errorf("it moved: %+v", r.i().Intents[0])
			}
			if !c.want {
				if r.unsolved(); r.i().Version != before.Version {
					t.Error("no news is a version")
				}
				return
			}
			r.unsolved(swap.FinalDenied)
			version, same := r.i().Version, c.ev(r)
			if r.do(same); r.i().Version != version {
				t.Error("the same again is a version")
			}
			r.wait(2 * time.Hour)
			again := *r
			again.do(seen(10, time.Hour, time.Hour)(&again)).unsolved().is("debit_confirmed") // the chain shows it
			r.do(swap.Acknowledged{By: r.operator(), Number: 1, Reason: "a node was wrong"}).unsolved()
			r.do(same).unsolved()                    // it was asked before the person looked
			r.do(c.ev(r)).unsolved(swap.FinalDenied) // it was asked since
		})
	}
	other := debited(t).wait(time.Hour).found(1, 10)
	s := sighting(other.latest(), 10, true)
	s.TxID = "other" // with the same reference, at depth
	other.wait(time.Minute).outbound(s).is("debit_confirmed").unsolved(swap.SecondOutbound)
}

// An operator's word of what an intent has paid by stays, whatever its sender answers later: what
// contradicts it is on file, and the chain decides.
func TestAnAnswerTakesNoPersonsWordBack(t *testing.T) {
	for _, o := range statemachine.Outcome(0).Values() {
		// A worker of before a restore answers the number under which a person has filed the payment.
		filed := ready(t)
		filed.do(filed.paidBy(swap.Send, "ab"))
		// A person says that a transaction which a look-up did not find has paid after all.
		reopened := debited(t).wait(time.Hour).missing(1).is(toBeRefundedText)
		reopened.do(reopened.paidBy(swap.Send, reopened.latest().TxID))
		for name, r := range map[string]*run[swap.Deposit]{"filed": filed, "reopened": reopened} {
			in := r.latest()
			for _, txid := range []string{in.TxID, "cd"} {
				r := *r
				r.t = t
				r.do(swap.Answered{By: r.worker(), Number: 1, Outcome: o, TxID: txid, Reason: "late"})
				switch is := r.i().Intents[0]; {
				case is.TxID != in.TxID || is.Landed() != (o == statemachine.Done && txid == in.TxID) || is.Outcome == statemachine.Failed:
					t.Errorf("%s, answered %v %s: %+v", name, o, txid, is)
				case o == statemachine.Done && txid == "cd":
					second := func(d swap.Discrepancy) bool { return d.Kind == swap.SecondOutbound && d.TxID == "cd" }
					if got := r.i().Discrepancies; len(r.i().Intents) != 2 || !slices.ContainsFunc(got, second) {
						t.Errorf("%s, answered %v %s: %+v", name, o, txid, got)
					}
				case len(r.i().Intents) != 1:
					t.Errorf("%s, answered %v %s: %+v", name, o, txid, r.i().Intents)
				}
			}
		}
	}
	// A signature that is open is named by a person before its sender answers, or a look-up does.
	r := sending(t)
	sig := r.latest().Signature
	r.do(r.paidBy(swap.Send, sig))
	if in := r.latest(); in.TxID != sig || !in.SeenAt.Equal(r.now) {
		t.Fatalf("%+v", in)
	}
	version := r.i().Version
	if r.do(r.paidBy(swap.Send, sig)).answer(statemachine.Failed); r.i().Version != version || !r.i().Intents[0].Open() {
		t.Errorf("%+v", r.i().Intents[0])
	}
	r.wait(time.Hour).do(told(r, false, -time.Hour)) // asked before the person said so
	if in := r.i().Intents[0]; in.Proof != 0 {
		t.Errorf("%+v", in)
	}
	r.wait(time.Hour).do(told(r, false, 0))
	if in := r.i().Intents[0]; in.Proof != swap.Negative {
		t.Errorf("%+v", in)
	}
}

// What a person says of an intent that was proved not to have paid is denied only by what was
// asked after that.
func TestAReopenedIntentIsDeniedByWhatWasAskedSince(t *testing.T) {
	d := debited(t).wait(time.Hour).missing(1).is(toBeRefundedText).wait(time.Hour)
	d.do(d.paidBy(swap.Send, d.latest().TxID)).wait(time.Hour)
	if d.do(told(d, false, -time.Hour)); d.latest().Proof != 0 {
		t.Errorf("asked with the word: %+v", d.latest())
	}
	if d.wait(time.Hour).do(told(d, false, -2*time.Hour+time.Microsecond)); d.latest().Proof != swap.Negative {
		t.Errorf("asked after the word: %+v", d.latest())
	}
	c := sending(t).answer(statemachine.Failed).wait(time.Hour)
	c.missing(1).do(c.paidBy(swap.Send, c.latest().Signature))
	c.answer(statemachine.Failed)
	if in := c.latest(); !in.Open() || in.TxID != in.Signature {
		t.Errorf("answered after the word: %+v", in)
	}
}

package swaptest

import (
	"fmt"
	"reflect"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// Run plays n moves of a world with one item, from its first sighting, and checks after each: the record is sound, its
// log has each version, a refusal changes nothing, a repeated event changes nothing, and nothing is paid twice while
// the host keeps its contract. At the end, when everything is known, the money of the record must be the money of the
// chains. replay is the replay of the item's machine.
func Run[A any](t *rapid.T, n int, rules *Rules[A], first swap.Observed, replay func([]statemachine.Transition[string]) error) World[A] {
	w := World[A]{Trail: []statemachine.Transition[string]{}, Now: Start, Control: Control(), Limit: 12, Crew: 2,
		Orders: rapid.IntRange(0, 2).Draw(t, "orders"), Copies: rapid.IntRange(0, 1).Draw(t, "copies")}
	apart := rapid.SampledFrom([]time.Duration{0, time.Second, rules.Policy.WaterlineMargin})
	w.Slow, w.Lag = apart.Draw(t, "slow"), apart.Draw(t, "lag")
	w.Jumps = rapid.IntRange(0, 2).Draw(t, "jumps")
	w.Forks, w.Slips = rapid.IntRange(0, 2).Draw(t, "forks"), rapid.IntRange(0, 2).Draw(t, "slips")
	var said []swap.Event
	var asked, wrong []swap.Looked // negatives that are told later, and those of what is there
	checked := *rules
	checked.Apply = func(a A, ev swap.Event, now time.Time) (swap.Change[A], error) {
		c, err := rules.Apply(a, ev, now)
		if err != nil && (!c.Empty() || rules.Head(&c.New).Version != rules.Head(&a).Version) {
			t.Fatalf("%T: a refusal changed something: %v", ev, err)
		}
		if err == nil && stale(rules.Head(&a), ev) {
			t.Fatalf("%T: it comes under an old fence and is not refused", ev)
		}
		if old, now := rules.Head(&a), rules.Head(&c.New); err == nil && old.Version == now.Version &&
			!(reflect.DeepEqual(old.Intents, now.Intents) && reflect.DeepEqual(old.Discrepancies, now.Discrepancies)) {
			t.Fatalf("%T: it changes what is on file, and no version", ev)
		}
		if l := rules.Head(&c.New).Lease; err == nil && l.Holder != "" && l.Until.IsZero() {
			t.Fatalf("%T: a lease without an end", ev)
		}
		return c, err
	}
	w.Rules = &checked
	// look at what a move did.
	look := func(name string, to World[A]) {
		if err := rules.Check(to.Item); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := to.Attended(); err != nil {
			t.Fatalf("%s: %v (%s)", name, err, describe(&to))
		}
		if possible := to.Possible(); possible > 1 {
			t.Fatalf("%s: %d outbounds paid or may still pay", name, possible)
		}
		if to.Restores > w.Restores {
			said, asked, wrong = nil, nil, nil // it was said to another store
		} else if to.Head().Lease.Fence < w.Head().Lease.Fence {
			t.Fatalf("%s: the fence went back", name)
		}
		w = to
	}
	// keep is Take that remembers what was said, and the log.
	keep := func(name string, ev swap.Event) {
		to, ok := w.Take(ev)
		if !ok {
			return
		}
		look(name, to)
		if len(said) < 200 {
			said = append(said, ev)
		}
	}
	keep("observed", first)
	for range n {
		switch kind := rapid.IntRange(0, 11).Draw(t, "kind"); {
		case kind == 0:
			d := rapid.SampledFrom([]time.Duration{time.Microsecond, time.Second, 31 * time.Second, 61 * time.Second, 3 * time.Minute,
				5 * time.Minute, 10*time.Minute + 1000, time.Hour, 25 * time.Hour}).Draw(t, "time")
			w.Now = w.Now.Add(d)
		case kind == 1 && rapid.IntRange(0, 2).Draw(t, "watched") == 0:
			for range rapid.IntRange(2, 9).Draw(t, "look-ups") {
				w.Now = w.Now.Add(2 * rules.Policy.LookEvery)
				for k := range w.Head().Intents {
					if w.Head().Intents[k].Outcome != 0 || !w.Now.Before(w.Head().Intents[k].SendBy) {
						w.look(int64(k)+1, func(name string, to World[A]) { look(name, to) })
					}
				}
			}
		case kind == 1 && len(said) > 0: // late, again, out of order
			keep("again", rapid.SampledFrom(said).Draw(t, "again"))
		case kind == 4 && rapid.IntRange(0, 3).Draw(t, "late") == 0: // a worker that has lost its lease
			keep("late", swap.GivenBack{By: w.by(swap.Worker, "late"), Fence: w.Head().Lease.Fence})
		case kind < 4:
			keep("outside", outside(t, &w))
		case kind == 10 && len(w.Places) > 0:
			n := rapid.IntRange(1, len(w.Places)).Draw(t, "asked")
			switch {
			case w.Places[n-1] < Errored:
				asked = append(asked, w.negative(n))
			case w.Places[n-1] == Landed:
				wrong = append(wrong, w.wrong(n))
			}
			if in := w.Head().Intents[n-1]; in.TxID+in.Signature != "" { // which is right or not: its look-up decides
				keep("oscar says paid by", swap.PaidBy{By: w.by(swap.Operator, "oscar"), Action: in.Action, TxID: txid(&in), Reason: "by mistake"})
			}
		case kind == 11 && len(wrong) > 0 && rapid.Bool().Draw(t, "wrong"): // what a node did not see is told behind a sighting of later
			ev := rapid.SampledFrom(wrong).Draw(t, "told")
			if w.Now = w.Now.Add(time.Second); w.Places[ev.Number-1] == Landed {
				keep("shown", swap.Outbound{By: w.by(swap.Observer, "scanner"), Asked: w.Now, Seen: w.sighting(w.Head().Intent(ev.Number))})
				ev.By = w.by(swap.Worker, "late")
				keep("a negative from before", ev)
			}
		case kind == 11 && len(asked) > 0:
			ev := rapid.SampledFrom(asked).Draw(t, "told")
			ev.By = w.by(swap.Worker, "late")
			keep("an old negative", ev)
		default:
			moves := w.Moves()
			if len(moves) == 0 {
				continue
			}
			m := moves[rapid.IntRange(0, len(moves)-1).Draw(t, "move")]
			look(m.Name, m.To)
		}
	}
	if err := replay(w.Trail); err != nil || int64(len(w.Trail)) != w.Head().Version {
		t.Fatalf("the trail has %d lines for version %d: %v", len(w.Trail), w.Head().Version, err)
	}
	if w.Head().Version == 0 {
		t.Fatal("nothing is stored")
	}
	w.end(t)
	return w
}

// stale reports whether an event is under a fence that its speaker does not hold.
func stale(i *swap.Item, ev swap.Event) bool {
	l := i.Lease
	lost := func(by swap.By, fence int64) bool { return l.Fenced(fence, by.At) != nil || l.Holder != by.Actor }
	switch e := ev.(type) {
	case swap.GivenBack:
		return lost(e.By, e.Fence) && !(l.Holder == "" && l.Fence == e.Fence)
	case swap.Begun:
		return lost(e.By, e.Fence) && i.Intent(e.Number) == nil
	}
	return false
}

// outside draws what others say: confirmations, memos, accounts, mappings.
func outside[A any](t *rapid.T, w *World[A]) swap.Event {
	i := w.Head()
	observer, worker := w.by(swap.Observer, "observer"), w.by(swap.Worker, "reader")
	switch rapid.IntRange(0, 4).Draw(t, "outside") {
	case 0:
		return swap.Confirmations{By: observer, Asked: w.Now, Count: rapid.SampledFrom([]uint64{2, 3, 2, 1, 0}).Draw(t, "confirmations")}
	case 1:
		return swap.MemoFetched{By: worker, Memos: rapid.SampledFrom([][]string{{"nexus:carol"}, {"nexus:carol"}, {"nexus:carol"}, {"hello"},
			{"refundSig:x"}, nil}).Draw(t, "memo"), Failed: rapid.IntRange(0, 3).Draw(t, "failed") == 0}
	case 2:
		return swap.AccountChecked{By: worker, State: rapid.SampledFrom([]swap.AccountState{swap.AccountUsable, swap.AccountUsable,
			swap.AccountUnknown, swap.AccountUsable, swap.AccountMissing}).Draw(t, "account")}
	case 3:
		return swap.MappingLooked{By: worker, Asked: w.Now, Finding: rapid.SampledFrom([]swap.MappingFinding{swap.MappingFound, swap.MappingFound,
			swap.MappingMissing, swap.MappingUnknown}).Draw(t, "mapping"), TxID: i.ID, Owner: "bob", Account: "bob-usdc"}
	}
	return swap.Elapsed{By: w.by(swap.System, "clock"), Control: w.Control}
}

// end lets the world go on fairly until all is known, and compares the money.
func (w World[A]) end(t *rapid.T) {
	w.Workers = [2]Worker{}
	for range 200 {
		w.Now = w.Now.Add(2 * w.Rules.Policy.LookEvery)
		for k, p := range w.Places {
			switch in := &w.Head().Intents[k]; {
			case p == Landed, p == Flight && canLand(in, w.real(in)):
				w = w.put(k, Final)
			case p == Flight, p == Nowhere:
				w = w.put(k, Dead)
			}
		}
		w = w.settleStrays()
		if w.Known() {
			break
		}
		for k := range w.Head().Intents {
			w.look(int64(k)+1, func(_ string, to World[A]) { w = to })
			if w.Places[k] == Final {
				w, _ = w.Take(swap.Outbound{By: w.by(swap.Observer, "scanner"), Seen: w.sighting(&w.Head().Intents[k])})
			}
		}
	}
	n, sum := w.Paid()
	m := w.Rules.Money(&w.Item)
	if got := m.PaidOut + m.Refunded + m.Quarantined; !w.Known() || n > 1 || got != sum {
		t.Fatalf("the chains paid %d in %d outbounds, the record says %+v (%s)", sum, n, m, describe(&w))
	}
	for _, err := range []error{w.Rumours(), w.Books()} {
		if err != nil {
			t.Fatalf("%v (%s)", err, describe(&w))
		}
	}
}

func describe[A any](w *World[A]) string {
	return fmt.Sprintf("%+v at %v, places %v, strays %+v", w.Item, w.Now, w.Places, w.Strays)
}

// Amounts draws amounts around the minimum and up to the largest.
func Amounts() *rapid.Generator[uint64] {
	return rapid.Custom(func(t *rapid.T) uint64 {
		least := rapid.SampledFrom([]uint64{700_000, 700_000, 700_000, 700_000, 1}).Draw(t, "least")
		return least + rapid.OneOf(rapid.Uint64Range(0, 600_000), rapid.Uint64Range(0, 1e9),
			rapid.Uint64Range(0, swap.MaxAmount-700_000)).Draw(t, "more")
	})
}

// Arrivals draws what came in, for either machine.
func Arrivals(d swap.Direction) *rapid.Generator[swap.Observed] {
	return rapid.Custom(func(t *rapid.T) swap.Observed {
		id := `[1-9A-HJ-NP-Za-km-z]{8,88}` // a Solana signature
		if d == swap.ToUSDC {
			id = `[0-9a-f]{8,64}(:(0|[1-9][0-9]{0,2}))?` // a Nexus txid: any other spelling of it is refused
		}
		o := swap.Observed{By: swap.By{Actor: "observer", Role: swap.Observer, At: Start}, ID: rapid.StringMatching(id).Draw(t, "id"),
			Amount: Amounts().Draw(t, "amount"), Time: Start.Add(-time.Duration(rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 3600)).Draw(t,
				"ago")) * time.Second), Success: true, Finalized: true, Control: Control()}
		if rapid.IntRange(0, 9).Draw(t, "sender") > 0 {
			o.From = "alice"
		}
		if d == swap.ToUSDC {
			o.To, o.Owner = "treasury", "bob"
		}
		return o
	})
}

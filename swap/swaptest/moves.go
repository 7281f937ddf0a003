package swaptest

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// Moves are all steps that may come next, in a fixed order.
func (w World[A]) Moves() []Move[A] {
	var out []Move[A]
	add := func(name string, to World[A]) { out = append(out, Move[A]{name, to}) }
	take := func(name string, ev swap.Event) {
		if to, ok := w.Take(ev); ok {
			add(name, to)
		}
	}
	for k := range max(w.Crew, 1) {
		w.work(k, add)
	}
	w.chain(add)
	w.jump(add)
	w.restore(add)
	i := w.Head()
	for k := range i.Intents {
		if !i.Intents[k].Settled() {
			w.look(int64(k)+1, add)
		}
		if w.Places[k] >= Landed {
			take(fmt.Sprintf("the history shows %d", k+1), swap.Outbound{By: w.by(swap.Observer, "scanner"), Seen: w.sighting(&i.Intents[k])})
		}
	}
	w.slip(add)
	for _, seen := range w.Old {
		take("an old sighting is told", swap.Outbound{By: w.by(swap.Observer, "scanner"), Seen: seen})
	}
	take("time is told", swap.Elapsed{By: w.by(swap.System, "clock"), Control: w.Control})
	if w.Orders > 0 {
		oscar := w.by(swap.Operator, "oscar")
		for _, ev := range []swap.Event{swap.RefundOrdered{By: oscar, Reason: "because"}, swap.QuarantineOrdered{By: oscar, Reason: "because"},
			swap.Requeued{By: oscar, Reason: "because", Control: w.Control}, swap.Held{By: oscar, Reason: "because"}} {
			if to, ok := w.Take(ev); ok {
				to.Orders--
				add("oscar says "+statemachine.EventName(ev), to)
			}
		}
	}
	if w.Orders > 0 {
		if to, ok := w.Take(swap.Settled{By: w.by(swap.Operator, "oscar"), Reference: "refund 1", Reason: "the customer asked"}); ok {
			to.Orders--
			add("oscar gives it back by hand", to)
		}
	}
	take("oscar releases it", swap.Released{By: w.by(swap.Operator, "oscar")})
	if w.Hour {
		w.Now = w.Now.Add(time.Hour)
		add("an hour passes", w)
	}
	return out
}

// slip is what a node or a sender says that is not so, and that later evidence refutes.
func (w World[A]) slip(add func(string, World[A])) {
	if w.Slips == 0 {
		return
	}
	says := func(name string, ev swap.Event) {
		if to, ok := w.Take(ev); ok {
			to.Slips--
			add(name, to)
		}
	}
	for k := range w.Head().Intents {
		in := &w.Head().Intents[k]
		if w.Places[k] == Landed {
			seen := w.sighting(in)
			seen.Amount--
			says(fmt.Sprintf("a node misreads %d", k+1), swap.Outbound{By: w.by(swap.Observer, "scanner"), Seen: seen})
		}
		if !in.Filed && (in.Landed() || in.Chain == swap.Solana) {
			says(fmt.Sprintf("an answer names another transaction for %d", k+1), swap.Answered{By: w.by(swap.Worker, "late"), Number: in.Number,
				Outcome: statemachine.Done, TxID: fmt.Sprint("slip", len(w.Places))})
		}
	}
}

// work is what one worker does: claim, put an intent on file, hand it over,
// answer. It may crash or wait between any two of them.
func (w World[A]) work(k int, add func(string, World[A])) {
	name := fmt.Sprintf("worker %d ", k+1)
	me := w.Workers[k]
	by := w.by(swap.Worker, name)
	emit := func(what string, to World[A], next Worker) {
		to.Workers[k] = next
		add(name+what, to)
	}
	if me.Intent == 0 {
		if to, ok := w.begin(by); ok {
			i := to.Head()
			emit("begins", to, Worker{Intent: int64(len(i.Intents)), Fence: i.Lease.Fence})
		}
		return
	}
	in := w.Head().Intent(me.Intent)
	if w.real(in).Before(in.SendBy) {
		emit("crashes", w, Worker{})
	} else { // it may send no more, and its call times out
		emit("gives up", w, Worker{})
	}
	if !me.Sent && w.real(in).Before(in.SendBy) {
		to := w
		if to.Places[me.Intent-1] == Nowhere {
			to = to.put(int(me.Intent-1), Flight)
		}
		emit(fmt.Sprintf("hands %d over", me.Intent), to, Worker{me.Intent, me.Fence, true})
	}
	for _, o := range statemachine.Outcome(0).Values() {
		place := w.Places[me.Intent-1]
		if o == statemachine.Done && (place < Flight || place == Dead) {
			continue // that would be a lie about a payment
		}
		ev := swap.Answered{By: by, Fence: me.Fence, Number: me.Intent, Outcome: o, Reason: "said so"}
		if o == statemachine.Done {
			ev.TxID = txid(in)
		}
		if to, ok := w.Take(ev); ok {
			if l := to.Head().Lease; l.Held(to.Now) && l.Fence == me.Fence {
				to, _ = to.Take(swap.GivenBack{By: by, Fence: me.Fence})
			}
			emit(fmt.Sprintf("answers %d with %v", me.Intent, o), to, Worker{})
		}
	}
}

// begin claims, has the account checked, and puts on file what is owed.
func (w World[A]) begin(by swap.By) (World[A], bool) {
	if w.Head().CheckAt.IsZero() || len(w.Head().Intents) >= w.Limit {
		return w, false
	}
	for round := range 2 {
		for _, t := range w.Rules.Next(w.Item, w.Control, w.Now).Tasks {
			if round == 0 && !w.Head().Lease.Held(w.Now) {
				var ok bool
				if w, ok = w.Take(swap.Claimed{By: by}); !ok {
					return w, false
				}
			}
			fence := w.Head().Lease.Fence
			switch t.Do {
			case swap.CheckAccount:
				w, _ = w.Take(swap.AccountChecked{By: by, State: swap.AccountUsable})
			case swap.Begin:
				ev := swap.Begun{By: by, Fence: fence, Number: t.Number, Action: t.Action, Control: w.Control}
				if t.Chain == swap.Nexus {
					ev.Reference = w.Control.Reference + uint64(t.Number) // a restore has raised the counter
				} else {
					ev.Signature, ev.LastValid = fmt.Sprintf("sig%d", ev.Number+1000*int64(w.Restores)), 1000
				}
				return w.Take(ev)
			}
		}
	}
	return w, false
}

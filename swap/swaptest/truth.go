package swaptest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/settlehq/settle/swap"
)

// Paid is what really went out, for a comparison with [swap.Money]: how many
// outbounds paid, and their sum.
func (w *World[A]) Paid() (n int, sum uint64) {
	for k, p := range w.Places {
		if p >= Landed {
			n++
			sum += w.Head().Intents[k].Net
		}
	}
	for k := range w.Strays {
		if w.Strays[k].Place >= Landed {
			n++
			sum += w.Strays[k].Intent.Net
		}
	}
	return n, sum
}

// Possible is how many outbounds paid or may still pay.
func (w *World[A]) Possible() (n int) {
	for k := range w.Places {
		if in := &w.Head().Intents[k]; w.Places[k] >= Landed || w.Places[k] != Errored && !w.over(in) {
			n++
		}
	}
	for k := range w.Strays {
		if s := &w.Strays[k]; s.Place >= Landed || s.Place != Errored && !cannotLand(&s.Intent, s.Place, w.then(s)) {
			n++
		}
	}
	return n
}

// Attended returns an error if nothing is named that moves the item on. An item that is not finished, or has an
// outbound that is not settled, must owe something that its store offers to a worker, or name an operator and why. A
// task Tell, by which the item asks to be told the time, must change something.
func (w *World[A]) Attended() error {
	i := w.Head()
	if i.Version == 0 {
		return nil
	}
	open := any(&w.Item).(swap.Record).Place() == swap.Unprocessed && i.ByHand == swap.ByHand{}
	for k := range i.Intents {
		open = open || !i.Intents[k].Settled()
	}
	late := w.Now.Add(1000 * time.Hour) // every wait is over then
	step := w.Rules.Next(w.Item, w.Control, late)
	for _, t := range step.Tasks {
		if t.Do != swap.Tell {
			continue
		}
		c, err := w.Rules.Apply(w.Item, swap.Elapsed{By: swap.By{Actor: "clock", Role: swap.System, At: late}, Control: w.Control}, late)
		if err != nil || len(c.Log) == 0 {
			return fmt.Errorf("time is told and changes nothing: %v", err)
		}
	}
	place := any(&w.Item).(swap.Record).Place()
	if place == swap.Unprocessed && i.Hold.Kind == 0 && i.ByHand == (swap.ByHand{}) && !i.Overdue(late) {
		return fmt.Errorf("it is not finished, and nobody is ever told: overdue at %v", i.OverdueAt)
	}
	switch {
	case step.Party == swap.Operator && step.Why != "":
	case step.Party == swap.Worker && len(step.Tasks) > 0 && !i.CheckAt.IsZero():
	case step.Party == 0 && !open:
	default:
		return fmt.Errorf("nobody is named: %+v, due %v, hold %v", step, i.CheckAt, i.Hold)
	}
	return nil
}

// Rumours is an error if a discrepancy is open that says what did not happen, once all
// is known and nothing was paid twice.
func (w *World[A]) Rumours() error {
	i := w.Head()
	for _, d := range i.Discrepancies {
		n, _ := strconv.ParseInt(d.Key, 10, 64)
		in := i.Intent(n)
		switch {
		case d.ClosedBy != "":
		case d.Kind == swap.LateOutbound && in != nil && in.Final, d.Kind == swap.PaidWhileQuarantined && in != nil && in.Final:
		case d.Kind == swap.OutboundLost && i.Lost == n:
		case d.Kind == swap.PaidAndGivenBack && in != nil && in.Final && i.ByHand != swap.ByHand{}:
		default:
			return fmt.Errorf("it is not so, and open: %+v", d)
		}
	}
	return nil
}

// Books is an error if the item was given back by hand and is paid or refunded for
// good, too, and no open discrepancy says so.
func (w *World[A]) Books() error {
	i := w.Head()
	for k := range i.Intents {
		in := &i.Intents[k]
		if w.Places[k] != Final || !in.Final || in.Action == swap.Quarantine || i.ByHand.At.IsZero() {
			continue
		}
		if !slices.ContainsFunc(i.Discrepancies, func(d swap.Discrepancy) bool { return d.Kind == swap.PaidAndGivenBack && d.ClosedBy == "" }) {
			return fmt.Errorf("intent %d has paid what was given back by hand, and nobody is told", in.Number)
		}
	}
	return nil
}

// Ended reports whether nothing is left to be done, or an operator is named.
func (w *World[A]) Ended() bool {
	step := w.Rules.Next(w.Item, w.Control, w.Now)
	return step.Party == 0 || step.Party == swap.Operator
}

// Known reports whether the record knows all that was paid, finally.
func (w *World[A]) Known() bool {
	if slices.ContainsFunc(w.Strays, func(s Stray) bool { return s.Place >= Landed }) {
		return false
	}
	for k, p := range w.Places {
		if in := &w.Head().Intents[k]; in.Final != (p == Final) || p == Landed || !in.Settled() {
			return false
		}
	}
	return true
}

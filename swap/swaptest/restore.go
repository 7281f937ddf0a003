package swaptest

import (
	"slices"
	"time"

	"github.com/settlehq/settle/swap"
)

// Stray is an outbound that went out, or may still, and that the copy from which the
// store was restored does not know.
type Stray struct {
	Intent swap.Intent
	Place  Place
	Block  time.Time // as in Blocks
	Then   time.Duration
}

// restore are the moves of a store that is backed up, and restored from that copy
// while the chains went on.
func (w World[A]) restore(add func(string, World[A])) {
	if w.Copies > 0 && w.Kept == nil && w.Head().Version > 0 {
		to := w
		to.Kept = &w.Item
		add("a copy is made", to)
	}
	if w.Kept != nil {
		add("the copy is restored", w.restored())
	}
	for k := range w.Strays {
		s := &w.Strays[k]
		become := func(what string, p Place) {
			to := w
			to.Strays = slices.Clone(w.Strays)
			if to.Strays[k].Place = p; p == Landed {
				to.Strays[k].Block = w.Now.Add(-w.Lag)
			}
			add("a stray "+what, to)
		}
		switch {
		case s.Place == Nowhere && w.then(s).Before(s.Intent.SendBy): // by a process of before
			become("is handed over", Flight)
		case s.Place == Flight && canLand(&s.Intent, w.then(s)):
			become("lands", Landed)
			become("lands with an error", Errored)
			if s.Intent.Chain == swap.Nexus {
				become("is dropped for good", Dead)
			}
		case s.Place == Landed:
			become("is final", Final)
		}
	}
	w.lookBack(add)
}

// then is now by the clock of before the restore, as it went when a stray was begun.
func (w *World[A]) then(s *Stray) time.Time { return w.Now.Add(w.Behind + s.Then - w.Ahead) }

// restored is the store as the copy has it: its workers are gone, the vault's history
// was scanned again.
func (w World[A]) restored() World[A] {
	known := len(w.Rules.Head(w.Kept).Intents)
	for k := range known { // what is over stays so by any clock
		if in := &w.Head().Intents[k]; w.Places[k] < Errored && w.over(in) {
			w = w.put(k, Dead)
		}
	}
	w.Strays = slices.Clone(w.Strays)
	for k := known; k < len(w.Places); k++ {
		w.Strays = append(w.Strays, Stray{w.Head().Intents[k], w.Places[k], w.Blocks[k], w.Then[k]})
	}
	w.Item, w.Kept, w.Places, w.Blocks, w.Then, w.Workers = *w.Kept, nil, slices.Clone(w.Places[:known]), slices.Clone(w.Blocks[:known]),
		slices.Clone(w.Then[:known]), [2]Worker{}
	w.Old = nil
	w.Now, w.Behind = w.Now.Add(-w.Slow), w.Behind+w.Slow
	w.Copies--
	w.Restores++
	w.Control = w.Rules.Policy.Restored(w.Control, w.Now)
	w.Control = w.Control.Scanned(swap.Solana).Scanned(swap.Nexus)
	if w.Trail != nil {
		w.Trail = slices.Clone(w.Trail[:w.Head().Version])
	}
	return w
}

// lookBack is an honest one: it finds what a chain shows, by memo or by amount, which
// an operator then files, and says that there is no more when nothing can land.
func (w World[A]) lookBack(add func(string, World[A])) {
	over := true
	for k := range w.Strays {
		s := &w.Strays[k]
		over = over && (s.Place != Flight || cannotLand(&s.Intent, s.Place, w.then(s))) // what is not handed over is not seen
		if s.Place < Landed {
			continue
		}
		seen := sighting(&s.Intent, s.Place, s.Block)
		found := swap.Event(swap.Outbound{By: w.by(swap.Observer, "scanner"), Seen: seen})
		if seen.Chain == swap.Nexus {
			found = swap.Looked{By: w.by(swap.Observer, "scanner"), Finding: swap.LookFound, Seen: seen}
		}
		to, ok := w.Take(found)
		if ok {
			add("a stray is found", to)
		}
		filed := swap.PaidBy{By: w.by(swap.Operator, "oscar"), Action: s.Intent.Action, TxID: seen.TxID, Reason: "it is there"}
		if to, ok = to.Take(filed); ok && len(to.Places) > len(w.Places) {
			to.Places[len(to.Places)-1], to.Blocks[len(to.Blocks)-1] = s.Place, s.Block
			to.Strays = slices.Delete(slices.Clone(w.Strays), k, k+1)
			add("oscar files a stray", to)
		}
	}
	for k, name := range []string{"all since it came in is on file", "all is on file"} {
		from := w.Head().At.Add(-25 * time.Hour * time.Duration(k))
		found := slices.ContainsFunc(w.Strays, func(s Stray) bool { return s.Place >= Landed && !s.Block.Before(from) })
		if w.Restores == 0 || !over || found {
			continue
		}
		v := swap.View{From: from, Asked: w.Now, ByID: true, ByMemo: true, Before: 1001, After: 1001, CannotLand: true}
		if to, ok := w.Take(swap.Looked{By: w.by(swap.Observer, "scanner"), Finding: swap.LookMissing, View: v,
			Nexus: v, Control: w.Control}); ok {
			add(name, to)
		}
	}
}

// settleStrays takes what the chains still do with strays to its end, and files what
// has paid.
func (w World[A]) settleStrays() World[A] {
	w.Strays = slices.Clone(w.Strays)
	for k := range w.Strays {
		switch s := &w.Strays[k]; {
		case s.Place == Landed, s.Place == Flight && canLand(&s.Intent, w.then(s)):
			if s.Place == Flight {
				s.Block = w.Now.Add(-w.Lag)
			}
			s.Place = Final
		case s.Place < Errored:
			s.Place = Dead
		}
	}
	if len(w.Strays) > 0 {
		w, _ = w.Take(swap.Confirmations{By: w.by(swap.Observer, "observer"), Count: 2})
	}
	for range w.Strays {
		w.lookBack(func(_ string, to World[A]) { w = to })
	}
	return w
}

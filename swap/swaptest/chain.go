package swaptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/swap"
)

// chain is what happens to a transaction by itself.
func (w World[A]) chain(add func(string, World[A])) {
	for k, place := range w.Places {
		in := &w.Head().Intents[k]
		become := func(what string, p Place) {
			add(fmt.Sprintf("%d %s", k+1, what), w.put(k, p))
		}
		switch {
		case place == Flight && canLand(in, w.real(in)):
			become("lands", Landed)
			become("lands with an error", Errored)
			if in.Chain == swap.Nexus {
				become("is dropped for good", Dead)
			}
		case place == Landed:
			become("is final", Final)
			if w.Forks > 0 {
				to := w.put(k, Flight)
				to.Old = append(slices.Clone(w.Old), w.sighting(in))
				to.Forks--
				add(fmt.Sprintf("%d is taken back", k+1), to)
			}
		}
	}
}

func canLand(in *swap.Intent, now time.Time) bool {
	return in.Chain == swap.Nexus || !now.After(in.At.Add(Land))
}

// over: nothing of the intent can land any more, really.
func (w *World[A]) over(in *swap.Intent) bool {
	return cannotLand(in, w.Places[in.Number-1], w.real(in))
}

// gone: as far as an honest host can see, nothing of the intent can land any more. What its
// sender may still hand over on Nexus is not on its way, and no host sees it.
func (w *World[A]) gone(in *swap.Intent) bool {
	return w.over(in) || in.Chain == swap.Nexus && w.Places[in.Number-1] != Flight
}

func cannotLand(in *swap.Intent, place Place, now time.Time) bool {
	switch place {
	case Nowhere:
		return !now.Before(in.SendBy) || in.Chain == swap.Solana && !canLand(in, now)
	case Flight:
		return !canLand(in, now)
	}
	return place == Dead
}

func txid(in *swap.Intent) string {
	switch {
	case in.TxID != "":
		return in.TxID
	case in.Chain == swap.Solana:
		return in.Signature
	}
	return fmt.Sprintf("nexus%d", in.Reference)
}

func (w *World[A]) sighting(in *swap.Intent) swap.Sighting {
	return sighting(in, w.Places[in.Number-1], w.Blocks[in.Number-1])
}

func sighting(in *swap.Intent, place Place, block time.Time) swap.Sighting {
	s := Sighting(in, place != Landed)
	s.Errored, s.Time = place == Errored, block
	return s
}

// Sighting is what a chain shows of an intent that has paid, to the unit.
func Sighting(in *swap.Intent, final bool) swap.Sighting {
	s := swap.Sighting{VaultSigned: true, Chain: in.Chain, TxID: txid(in), Memo: in.Memo, Reference: in.Reference, Amount: in.Net,
		Destination: in.Destination, Token: map[swap.Chain]string{swap.Solana: "USDC", swap.Nexus: "USDD"}[in.Chain], Confirmations: 1}
	if final {
		s.Confirmations, s.Finalized = 100, true
	}
	return s
}

// look is an honest look-up, or one that lies while lies are left.
func (w World[A]) look(n int64, add func(string, World[A])) {
	in := w.Head().Intent(n)
	ev := swap.Looked{By: w.by(swap.Worker, "looker"), Number: n, Finding: swap.LookFound}
	if p := w.Places[n-1]; p >= Errored {
		ev.Seen = w.sighting(in)
		if to, ok := w.Take(ev); ok {
			add(fmt.Sprintf("%d is found", n), to)
		}
		if p >= Landed && w.Blocks[n-1].Before(in.At) {
			ev.Finding, ev.View = swap.LookMissing, w.view(in, in.Chain == swap.Nexus || !canLand(in, w.real(in)))
			ev.View.From = in.At // its block is older
			if to, ok := w.Take(ev); ok {
				add(fmt.Sprintf("a scan from its commit on does not show %d", n), to)
			}
		}
		return
	}
	for _, lie := range []bool{false, true} {
		if lie && (w.Lies == 0 || w.gone(in)) {
			continue
		}
		ev.Finding, ev.View = swap.LookMissing, w.view(in, lie || w.gone(in))
		to, ok := w.Take(ev)
		if !ok {
			continue
		}
		name := fmt.Sprintf("%d is not found", n)
		if lie {
			to.Lies--
			name += ", which is a lie"
		}
		add(name, to)
	}
}

// view of a look-up that finds nothing now. over: nothing can land any more.
func (w *World[A]) view(in *swap.Intent, over bool) swap.View {
	v := swap.View{From: in.At.Add(-time.Hour), Asked: w.Now, ByID: true, ByMemo: true, Before: 1000, After: 1000}
	if over {
		v.CannotLand, v.Before, v.After = true, 1001, 1001
	}
	return v
}

// negative is a look-up of an intent that is not found, and on Nexus is not on its way:
// it says nothing about what is handed over later.
func (w *World[A]) negative(n int) swap.Looked {
	in := w.Head().Intent(int64(n))
	return swap.Looked{Number: in.Number, Finding: swap.LookMissing, View: w.view(in, w.gone(in))}
}

// wrong is a look-up by a node that does not see what is there.
func (w *World[A]) wrong(n int) swap.Looked {
	return swap.Looked{Number: int64(n), Finding: swap.LookMissing, View: w.view(w.Head().Intent(int64(n)), true)}
}

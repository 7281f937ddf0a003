package swap

import (
	"fmt"
	"slices"
	"time"
)

// refute closes the discrepancies that this step's evidence has refuted. A discrepancy may
// rest on a sighting that is not final, and then the chain takes the transaction back, or the
// final sighting shows something else. Only evidence of this very step counts: a sighting that
// contradicts evidence on file is for a person. A transaction that turns up again is a
// discrepancy again, see [LateOutbound] and [DoublePayout].
func (s *step) refute() {
	for k := range s.item.Intents {
		in := s.item.Intents[k]
		was := s.old.Intent(in.Number)
		proved := in.Proof != 0 && (was == nil || was.Proof == 0)
		if proved {
			s.refuteSecond()
			s.uncontested(&in)
		}
		final := in.Final && (was == nil || !was.Final)
		if proved && in.Proof != Said || final {
			s.refuteMismatch(&in)
		}
	}
}

// refuteSecond closes each SecondOutbound of which one transaction at most may have paid.
func (s *step) refuteSecond() {
	for k := range s.item.Discrepancies {
		d := &s.item.Discrepancies[k]
		filed := slices.IndexFunc(s.item.Intents, func(in Intent) bool { return in.Filed && in.Chain == d.Chain && sameTx(&in, d.TxID) })
		if d.Kind != SecondOutbound || d.ClosedBy != "" || filed < 0 {
			continue
		}
		f := s.item.Intents[filed]
		other := func(in Intent) bool {
			return in.Number != f.Number && in.Action == f.Action && in.Attempt == f.Attempt && in.Proof == 0
		}
		if f.Proof != 0 || !slices.ContainsFunc(s.item.Intents, other) {
			s.own()
			d = &s.item.Discrepancies[k]
			d.ClosedBy, d.ClosedAt = s.by.Actor, s.by.At
		}
	}
}

// refuteMismatch closes the Mismatch of a transaction that is an intent's own: the transaction cannot have paid, or
// what it finally moved is what the intent pays. On Nexus an intent may have no transaction yet. There a Mismatch that
// is not firm has the reference of an intent, and closes when the reference of each intent is used up by a final
// payment, or when nothing with that reference can land. The hold ends with the last Mismatch.
func (s *step) refuteMismatch(in *Intent) {
	used := in.Chain == Nexus && !in.Filed && !slices.ContainsFunc(s.item.Intents, func(o Intent) bool {
		return o.Chain == Nexus && !o.Filed && !o.Final && o.Proof != Negative
	})
	own := func(d Discrepancy) bool {
		return d.Kind == Mismatch && d.ClosedBy == "" && !d.Firm && d.Chain == in.Chain &&
			(used || in.TxID != "" && d.mismatch(in.TxID) || in.Signature != "" && d.mismatch(in.Signature))
	}
	for {
		k := slices.IndexFunc(s.item.Discrepancies, own)
		if k < 0 {
			return
		}
		if s.mismatches(s.item.Discrepancies[k].TxID, false) == 0 && s.item.Hold.Kind == ByMismatch {
			s.free()
		}
	}
}

// deny records evidence against an outbound that is final: the outbound is missing, has failed,
// or is not final any more. Either the chain went back further than its finality, or a node was
// wrong. The record stays, and a person looks. Evidence from before the latest sighting, or from
// before somebody has seen to the discrepancy, says nothing new.
func (s *step) deny(n int64, asked time.Time, what string) error {
	in, is := s.item.Intent(n), s.denial(n)
	if !asked.After(in.SeenAt) || is != nil && (is.ClosedBy == "" || !asked.After(is.ClosedAt)) {
		return nil
	}
	text := fmt.Sprintf("%s %d was final, but %s", in.Action, in.Number, what)
	s.found(Discrepancy{Kind: FinalDenied, Key: number(n), Chain: in.Chain, TxID: in.TxID, Amount: in.Net, Text: text})
	return s.note(text)
}

// denial is what deny has recorded of an intent, nil if it has not.
func (s *step) denial(n int64) *Discrepancy {
	k := slices.IndexFunc(s.item.Discrepancies, func(d Discrepancy) bool { return d.Kind == FinalDenied && d.Key == number(n) })
	if k < 0 {
		return nil
	}
	return &s.item.Discrepancies[k]
}

// again takes a sighting of an outbound that was taken before. If both sightings are final, the later one ends a denial
// that came between them. A sighting below finality denies a final one only if it says when it was asked for, and that
// was more than [Policy.WaterlineMargin] later: a sighting that is reported late, or by a node that is a little behind,
// is no news.
func (s *step) again(n int64, t *Sighting, asked time.Time) error {
	in, is := s.item.Intent(n), s.denial(n)
	switch at := s.at(asked); {
	case !in.Final:
	case !s.p.final(t) && !asked.IsZero() && at.After(in.SeenAt.Add(s.p.WaterlineMargin)):
		return s.deny(n, at, fmt.Sprintf("has %d confirmations", t.Confirmations))
	case s.p.final(t) && is != nil && is.ClosedBy == "" && at.After(is.At):
		in = s.intent(n)
		in.SeenAt = at
		s.mended(FinalDenied, in)
		return s.note(fmt.Sprintf("%s %d was seen final again", in.Action, in.Number))
	}
	return nil
}

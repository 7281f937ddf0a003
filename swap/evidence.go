package swap

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Complete reports whether a look-up that did not find an intent proves that the intent has not paid and never will.
// All of these must hold:
//
//   - The look-up begins [Policy.WaterlineMargin] before the intent's commit or earlier, since a
//     chain's clock is compared with the store's. It was asked by signature or reference and,
//     where there is one, by memo.
//   - Its answer is at least as high as the height that was read before it.
//   - The intent cannot land any more. With a last valid block height: the finalized height that
//     was read before the look-up is above it. Without one: the host says so in CannotLand, and
//     the intent's sender has ended. That is so when the time that look-ups have seen pass without
//     the intent, [Intent].Missed with this look-up, is longer than the sender's time,
//     SendBy - At, plus [Policy].CallTimeout and twice LookEvery. An intent that was final has no
//     sender any more.
func (p Policy) Complete(in Intent, v View, now time.Time) bool {
	switch {
	case !p.covers(&in, &v, now):
		return false
	case in.LastValid > 0:
		return v.Before > in.LastValid
	case in.Final:
		return v.CannotLand
	}
	missed, at := p.missed(&in, v.Asked, now)
	return v.CannotLand && at.After(in.MissedAt) && missed > p.sends(&in)
}

// covers reports whether a look-up would have shown an intent that was there.
func (p *Policy) covers(in *Intent, v *View, now time.Time) bool {
	return v.whole(in.At.Add(-p.WaterlineMargin), now) && (in.Memo == "" || v.ByMemo)
}

// whole reports whether a look-up covers everything from a moment on and was not made
// in the future.
func (v *View) whole(from, now time.Time) bool {
	return !v.From.IsZero() && !v.From.After(from) && v.ByID && v.Before > 0 && v.After >= v.Before && !v.Asked.IsZero() && !v.Asked.After(now)
}

// final reports whether no reorganisation takes a transaction back.
func (p *Policy) final(t *Sighting) bool {
	if t.Chain == Solana {
		return t.Finalized
	}
	return t.Confirmations >= p.FinalConfirmations
}

func (s *step) looked(e *Looked) error {
	in := s.item.Intent(e.Number)
	switch {
	case in == nil && e.Number != 0 || !e.Finding.Valid():
		return s.refuse(statemachine.ErrInvalid, fmt.Sprintf("intent %d and a finding are needed", e.Number))
	case e.Finding == LookMissing && (e.View.Asked.IsZero() || in == nil && e.Nexus.Asked.IsZero()):
		return s.refuse(statemachine.ErrInvalid, "of a missing one it is needed when it was asked")
	}
	switch {
	case e.Finding == LookFound:
		err := s.sighted(&e.Seen, e.View.Asked)
		if err != nil || len(s.log) > 0 || in == nil || in.Settled() || !s.another(in, &e.Seen) {
			return err
		}
		if !s.p.Complete(*in, e.View, s.by.At) {
			return s.incomplete(in, &e.View)
		}
	case e.Finding == LookUnknown:
		s.later = true
		return nil
	case in == nil:
		return s.lookedBack(e)
	case in.Proof != 0:
		return nil
	case !s.p.Complete(*in, e.View, s.by.At):
		return s.incomplete(in, &e.View)
	case in.Final:
		return s.deny(in.Number, e.View.Asked, "a complete look-up does not find it")
	}
	return s.missing(s.intent(e.Number), e.View.Asked)
}

// lookedBack takes a complete look-back, which says that every outbound of the item is on file. The host says that no
// transaction which was begun before the loss can land any more; the lease of its sender has ended by then.
func (s *step) lookedBack(e *Looked) error {
	if !s.item.behind(e.Control) {
		return nil
	}
	for _, v := range []View{e.View, e.Nexus} {
		if !v.whole(s.p.Since(s.side.direction(), s.item.At), s.by.At) || !e.View.ByMemo || !v.CannotLand ||
			v.Asked.Before(s.p.lookBackAt(e.Control)) {
			s.later = true
			return nil
		}
	}
	s.item.LookedBack = e.Control.Generation
	return s.note("every outbound is on file")
}

// lookBackAt is the time from which on a look-back counts: by then nobody still sends what was begun before the loss.
func (p *Policy) lookBackAt(c Control) time.Time {
	return after(p.Lease+p.CallTimeout, c.RecoveredAt)
}

// waitsFor reports whether an intent is the one that the item's state waits for: the latest intent of the state's
// action that went out or, if none did, any that may have gone out. A settled quarantined credit waits for the intent
// that settled it.
func (s *step) waitsFor(in *Intent) bool {
	if c, ok := s.side.(*creditSide); ok && c.c.SettledBy != 0 {
		return c.c.SettledBy == in.Number
	}
	g := s.side.stage()
	if g.awaits != in.Action {
		return false
	}
	if w := s.item.awaited(g.awaits); w != nil {
		return w.Number == in.Number
	}
	return !g.finished() && in.Proof == 0
}

// missing takes a complete look-up that did not find an intent which is not settled: the intent cannot pay any more.
// If the state of the item waits for this intent, the look-up counts only if it was asked more than
// [Policy.ConfirmTimeout] after the intent's commit.
func (s *step) missing(in *Intent, asked time.Time) error {
	if old, err := s.outdated(in, asked); old {
		return err
	}
	switch {
	case s.waitsFor(in):
		if age := asked.Sub(in.At); age >= 0 && age <= s.p.ConfirmTimeout { // before its commit: a clock was ahead
			return s.unseen(in, asked)
		}
		return s.lost(in, Negative)
	case in.Open():
		return s.failed(in, Negative, "it is not there and cannot land any more")
	case !in.Landed():
		in.Proof = Negative
		return s.note(fmt.Sprintf("%s %d did not pay", in.Action, in.Number))
	}
	return s.takenBack(in, Negative)
}

// takenBack takes proof that an outbound has not paid which was taken to have paid, and which the state of the item
// does not wait for.
func (s *step) takenBack(in *Intent, proof Proof) error {
	in.Outcome, in.Proof = statemachine.Failed, proof
	s.mended(LateOutbound, in)
	s.mended(PaidWhileQuarantined, in)
	return s.note(fmt.Sprintf("%s %d did not pay after all: %s", in.Action, in.Number, proof))
}

// loses sets the number of the intent that a finished item rests on and that cannot have paid; 0: there is none. A
// finished item rests on one intent at a time, so the discrepancy of an earlier lost intent is closed.
func (s *step) loses(number int64) {
	if was := s.item.Intent(s.item.Lost); was != nil && was.Number != number {
		s.mended(OutboundLost, was)
	}
	s.item.Lost = number
}

// lost takes proof that the outbound which the state of the item waits for has not paid and never will.
func (s *step) lost(in *Intent, proof Proof) error {
	in.Outcome, in.Proof = statemachine.Failed, proof
	if in.ClosedAt.IsZero() {
		in.ClosedAt = s.by.At
	}
	s.mended(LateOutbound, in)
	s.mended(PaidWhileQuarantined, in)
	text := fmt.Sprintf("%s %d did not pay: %s", in.Action, in.Number, proof)
	if s.item.givenBack() { // nothing rests on it
		return s.note(text)
	}
	if g := s.side.stage(); g.finished() && (g.awaits != in.Action || s.item.awaited(in.Action) == nil) {
		s.loses(in.Number)
		s.found(Discrepancy{Kind: OutboundLost, Key: number(in.Number), Chain: in.Chain, TxID: in.TxID, Amount: in.Net, Text: text})
		return s.note(text)
	}
	if in.Action == Send {
		s.refundFor(ReasonSend)
	}
	switch {
	case s.item.awaited(in.Action) != nil: // the other one is waited for
		return s.note(text)
	case proof == Errored:
		return s.move(errored, text)
	case in.Action == Send && s.p.OnTimeout == OnTimeoutHold:
		s.hold(ByPolicy, text)
		return s.note(text)
	case in.Action == Send && s.p.OnTimeout == OnTimeoutQuarantine:
		return s.move(timeoutAside, text)
	}
	return s.move(confirmTimeout, text)
}

func (s *step) outbound(e *Outbound) error { return s.sighted(&e.Seen, e.Asked) }

// sighted takes an outbound that a chain shows. It counts only if the vault signed it, and if it names the item it must
// be one of the item's intents, to the unit. The time when it was asked for is stored with its intent: see outdated.
func (s *step) sighted(t *Sighting, asked time.Time) (err error) {
	if !t.VaultSigned {
		s.later = true
		return nil
	}
	if !t.sound() {
		return s.refuse(statemachine.ErrInvalid, "a malformed sighting")
	}
	t.TxID = form(t.Chain, t.TxID)
	in := s.find(t)
	switch {
	case in == nil && t.Errored:
		return s.movedNothing(t, s.at(asked))
	case in == nil:
		if t.Chain == Solana && !s.names(t, s.item.ID) {
			return s.refuse(statemachine.ErrInvalid, "the transaction does not name this item")
		}
		return s.conflict(t)
	case t.Errored && in.Chain == Nexus && in.Landed() && !sameTx(in, t.TxID):
		s.later = true // another transaction with the same reference has paid
		return nil
	case t.Errored:
		return s.failedOnChain(s.intent(in.Number), t, s.at(asked))
	}
	in = s.intent(in.Number)
	own := in.TxID == "" || sameTx(in, t.TxID)
	if at := s.at(asked); own && at.After(in.SeenAt) && !in.Settled() && !s.item.denies(t.TxID) {
		in.SeenAt = at
		defer func() { // if the sighting changes nothing else, the new SeenAt is stored all the same
			if err == nil && len(s.log) == 0 {
				err = s.note(fmt.Sprintf("%s %d was seen", in.Action, in.Number))
			}
		}()
	}
	switch {
	case in.Filed && (s.foreign(t) || in.Claim == "" && t.Rival != "" && !s.names(t, s.item.ID)):
		return s.conflict(t) // the operator was wrong: a transaction belongs to one item
	case !s.p.fits(in, t):
		return s.conflict(t)
	case !in.Landed():
		in.TxID, in.SeenAt = t.TxID, later(in.SeenAt, s.at(asked))
		return s.paid(in, t.Rival)
	case !sameTx(in, t.TxID): // two transactions have one reference
		return s.second(in, t.TxID, t.Rival, s.at(asked))
	case s.p.final(t) && !in.Final:
		if moved, err := s.reconcile(); moved || err != nil {
			return err // the next look-up ends it
		}
		s.claims(in, t.Rival)
		return s.finish(in)
	}
	if moved, err := s.reconcile(); moved || err != nil {
		return err
	}
	if err := s.again(in.Number, t, asked); err != nil || len(s.log) > 0 {
		return err
	}
	for _, o := range s.item.Intents { // its reference is used up
		if in.Final && o.Reference != 0 && o.Reference == t.Reference && o.TxID == "" && !o.Settled() {
			return s.missing(s.intent(o.Number), s.at(asked))
		}
	}
	s.later = !in.Final
	return nil
}

// movedNothing takes a transaction with an error that is none of the item's intents. It proves nothing of the
// intents. If it is final, it closes the Mismatch that an earlier sighting below finality had recorded of it.
func (s *step) movedNothing(t *Sighting, asked time.Time) error {
	rumour := func(d Discrepancy) bool {
		return d.mismatch(t.TxID) && !d.Firm && d.ClosedBy == "" && asked.After(d.At)
	}
	if !s.p.final(t) || !slices.ContainsFunc(s.item.Discrepancies, rumour) {
		return nil
	}
	if s.mismatches(t.TxID, false) == 0 && s.item.Hold.Kind == ByMismatch {
		s.free()
	}
	return s.note("it landed with an error: " + t.TxID)
}

// refers reports whether a transaction has the reference of an intent that was begun here.
func (s *step) refers(t *Sighting) bool {
	return t.Reference != 0 && slices.ContainsFunc(s.item.Intents, func(in Intent) bool { return !in.Filed && in.Reference == t.Reference })
}

// names reports whether a transaction names the item of an id: by the reference of
// one of its intents on Nexus, by its memo on Solana.
func (s *step) names(t *Sighting, id string) bool {
	if t.Chain == Nexus {
		return t.Reference != 0 && slices.ContainsFunc(s.item.Intents, func(in Intent) bool { return in.Reference == t.Reference })
	}
	d, _, of, ok := ReadMemo(t.Memo)
	return ok && d == s.side.direction() && of == id
}

// foreign reports whether a transaction names another item.
func (s *step) foreign(t *Sighting) bool {
	_, _, _, named := ReadMemo(t.Memo)
	return t.Of != "" && !t.Denied || t.Chain == Solana && named && !s.names(t, s.item.ID)
}

// sound reports whether a sighting can be a transaction of its chain. Nothing is stored of a transaction that the
// vault did not sign, so its memo, amount and destination are not checked.
func (t *Sighting) sound() bool {
	return t.Chain.Valid() && word(t.TxID, MaxID) && (!t.VaultSigned || len(t.Memo) <= MaxMemo && statemachine.Storable(t.Memo) &&
		t.Amount <= MaxAmount && (t.Destination == "" || word(t.Destination, MaxAddress)))
}

// find returns the intent that a sighting belongs to: by signature on Solana, by reference on Nexus (where an answer
// may have named another transaction), and by transaction id for a filed intent. A filed intent with the transaction's
// id comes before an intent that has the reference but pays something else.
func (s *step) find(t *Sighting) (found *Intent) {
	for k := range s.item.Intents {
		in := &s.item.Intents[k]
		switch {
		case in.Chain != t.Chain:
		case in.Chain == Solana && in.signed(t.TxID), in.Chain == Nexus && (in.Filed || in.Reference == t.Reference) &&
			sameTx(in, t.TxID), s.mine(in, t):
			return in
		case in.Chain == Nexus && in.Reference != 0 && in.Reference == t.Reference:
			found = in
		}
	}
	return found
}

// mine reports whether a transaction has the reference of an intent and is what the intent pays. It is asked of
// intents for which no answer has named a transaction yet.
func (s *step) mine(in *Intent, t *Sighting) bool {
	filed := func(f Intent) bool { return f.landedAs(t.Chain, t.TxID) }
	return in.Chain == Nexus && in.TxID == "" && in.Reference != 0 && in.Reference == t.Reference &&
		!slices.ContainsFunc(s.item.Intents, filed) &&
		(t.Errored && !in.Settled() || !t.Errored && s.p.fits(in, t))
}

// fits reports whether a transaction moved what an intent pays, to the unit.
func (p *Policy) fits(in *Intent, t *Sighting) bool {
	return t.Amount == in.Net && t.Token == p.token(in.Chain) && (in.Destination == "" || alike(in.Chain, t.Destination, in.Destination))
}

// Misfit reports whether an outbound is neither paid as the record's intent with its reference says nor on file as that
// intent's transaction. It happens when copies of two time lines, restored one after the other, have drawn one number
// for two items.
func (p Policy) Misfit(r Record, t Sighting) bool {
	return !slices.ContainsFunc(r.Head().Intents, func(in Intent) bool {
		return in.Chain == t.Chain && in.Reference == t.Reference && (p.fits(&in, &t) || sameTx(&in, t.TxID))
	})
}

// Denied reports whether an outbound is a misfit of which a person has said not_sent. The outbound may then belong to
// another item: a person says paid_by of that item. The not_sent alone gives it to no item.
func (p Policy) Denied(r Record, t Sighting) bool { return p.Misfit(r, t) && r.Head().denies(t.TxID) }

// denies reports whether a person has said of the transaction of a mismatch that it is no payment of the item.
func (i *Item) denies(tx string) bool {
	return slices.ContainsFunc(i.Discrepancies, func(d Discrepancy) bool { return d.mismatch(tx) && d.Firm && d.ClosedBy != "" })
}

// another reports whether a transaction that has the reference of an intent is known not to be that intent's: it
// settled another intent, a person has said not_sent of it, or it has an error and the intent has paid. Below finality
// nothing is known: a reorganisation may remove the transaction, or turn the failed one into a payment.
func (s *step) another(in *Intent, t *Sighting) bool {
	if !t.VaultSigned || t.Chain != Nexus || in.Chain != Nexus || in.Reference == 0 || in.Reference != t.Reference ||
		sameTx(in, t.TxID) || !s.p.final(t) {
		return false
	}
	if f := s.find(t); f.Number != in.Number {
		return f.Settled()
	}
	return t.Errored && in.Landed() || s.item.denies(t.TxID)
}

// failedOnChain takes a sighting of an intent's transaction that landed with an error. It proves nothing below
// finality, nor if the transaction was seen to have paid later.
func (s *step) failedOnChain(in *Intent, t *Sighting, asked time.Time) error {
	switch {
	case in.Final && s.p.final(t):
		return s.deny(in.Number, asked, "it landed with an error")
	case in.Settled():
		return nil
	case !s.p.final(t):
		s.later = true
		return nil
	}
	if old, err := s.outdated(in, asked); old {
		return err
	}
	switch {
	case s.waitsFor(in):
		return s.lost(in, Errored)
	case in.Open():
		in.TxID = t.TxID
		return s.failed(in, Errored, "it landed with an error")
	case !in.Landed():
		in.Proof = Errored
		return s.note(fmt.Sprintf("%s %d landed with an error", in.Action, in.Number))
	}
	return s.takenBack(in, Errored)
}

// finish takes a final sighting of an outbound that has paid: no reorganisation takes it back.
func (s *step) finish(in *Intent) error {
	in.Final = true
	text := fmt.Sprintf("%s %d is final", in.Action, in.Number)
	if s.item.givenBack() && in.Action != Quarantine {
		s.found(Discrepancy{Kind: PaidAndGivenBack, Key: number(in.Number), Chain: in.Chain, TxID: in.TxID, Amount: in.Net,
			Text: text + ", and " + s.item.ByHand.Actor + " has given it back by hand under " + s.item.ByHand.Reference})
	}
	if s.double(); !s.item.discrepant(DoublePayout) && s.side.money().Excess > 0 {
		m := s.side.money()
		s.discrepancy(Discrepancy{Kind: Overpaid, Key: number(in.Number), Chain: in.Chain, TxID: in.TxID, Amount: in.Net, Other: m.Excess,
			Text: FormatAmount(m.Excess) + " more has gone out than came in"})
	}
	if s.waitsFor(in) {
		return s.moveOrNote(confirmed, text)
	}
	return s.note(text)
}

// conflict records a mismatch: the vault paid something that names the item and is none of its intents, or differs from
// the intent. Nothing is begun until a person has looked or, below finality, until evidence refutes the mismatch: see
// refute. A refuted mismatch is opened again when its transaction becomes final all the same.
func (s *step) conflict(t *Sighting) error {
	hold := func() { s.stop(ByMismatch, "the vault paid something else in its name: "+t.TxID) }
	if k := slices.IndexFunc(s.item.Discrepancies, func(d Discrepancy) bool { return d.mismatch(t.TxID) }); k >= 0 {
		if s.item.Discrepancies[k].Firm || !s.p.final(t) {
			return nil
		}
		s.own()
		if d := &s.item.Discrepancies[k]; d.ClosedBy != "" {
			d.ClosedBy, d.ClosedAt = "", time.Time{}
			hold()
		}
		s.item.Discrepancies[k].Firm = true
		return s.note("it is final, and no intent of this item: " + t.TxID)
	}
	text := fmt.Sprintf("%s of %.20q to %.100q is no intent of this item", FormatAmount(t.Amount), t.Token, t.Destination)
	if t.Of != "" {
		text += ", but of " + t.Of
	}
	s.discrepancy(Discrepancy{Kind: Mismatch, Key: t.TxID, Chain: t.Chain, TxID: t.TxID, Amount: t.Amount, Text: text,
		Firm: s.p.final(t) || t.Chain == Nexus && !s.refers(t)})
	hold()
	return s.note("an outbound of the vault is no intent of this item")
}

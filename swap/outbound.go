package swap

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// begins puts an intent on file. It refuses every intent that could pay the item a second time.
func (s *step) begins(e *Begun) error {
	i := s.item
	if in := i.Intent(e.Number); in != nil {
		switch {
		case in.Action != e.Action || in.Signature != e.Signature || in.Chain == Nexus && e.Reference != 0 && in.Reference != e.Reference:
			return s.refuse(statemachine.ErrConflict, fmt.Sprintf("intent %d is another one", e.Number))
		case !s.by.At.Before(in.SendBy): // what it signed may not be sent any more
			return s.refuse(statemachine.ErrFenced, "its sender's lease is over")
		}
		return s.fenced(e.Fence)
	}
	if err := s.fenced(e.Fence); err != nil {
		return err
	}
	if !e.Action.Valid() || s.side.stage().performs != e.Action || !s.side.allows(begun) {
		return s.refuse(statemachine.ErrIllegal, "no "+e.Action.String()+" in this state")
	}
	chain, destination := s.side.pays(s.p, e.Action)
	if err := s.mayBegin(e, chain, destination); err != nil {
		return err
	}
	in := Intent{Number: e.Number, Action: e.Action, Attempt: i.Attempts.Of(e.Action) + 1, Chain: chain, Destination: destination,
		At: s.by.At, SendBy: i.Lease.Until, MissedAt: s.by.At}
	if end := in.At.Add(s.p.Lease); in.SendBy.After(end) { // of a clock that was ahead
		in.SendBy = end
	}
	in.Net, in.Fee = s.terms(e.Action)
	if chain == Solana {
		in.Memo = WriteMemo(e.Action, i.ID, i.Reason)
		in.Signature, in.Raw, in.LastValid = e.Signature, slices.Clone(e.Raw), e.LastValid
	} else {
		in.Reference = e.Reference
	}
	s.own()
	i.Intents = append(i.Intents, in)
	i.Attempts[e.Action-1]++
	i.Checked = false
	return s.move(begun, fmt.Sprintf("%s %d, attempt %d", e.Action, in.Number, in.Attempt))
}

// terms returns what an action pays: the frozen terms for a send, the present policy's for a refund and a quarantine.
func (s *step) terms(a Action) (net, fee uint64) {
	if a == Send {
		return s.item.Terms.Net, s.item.Terms.Fee
	}
	return s.p.fees(s.side.direction()).pays(a, s.item.Amount)
}

// mayBegin refuses an intent that a rule forbids.
func (s *step) mayBegin(e *Begun, chain Chain, destination string) error {
	i := s.item
	if err := s.mayPay(e.Control, e.Action); err != nil {
		return err
	}
	net, _ := s.terms(e.Action)
	switch at := i.beginAt(s.p, e.Action); {
	case i.Attempts.Of(e.Action) >= s.p.MaxAttempts:
		return s.refuse(statemachine.ErrIllegal, "all attempts were made")
	case !s.p.due(at, s.by.At):
		return s.refuse(statemachine.ErrIllegal, "not before "+at.Format(time.RFC3339Nano))
	case e.Action == Send && (!i.Terms.Frozen || i.Terms.micro(i.Amount)) || net == 0:
		return s.refuse(statemachine.ErrIllegal, "nothing is left to pay")
	case e.Action == Send && !i.Checked:
		return s.refuse(statemachine.ErrIllegal, "the account was not checked for this attempt")
	case !s.p.payable(e.Action, chain, destination):
		return s.refuse(statemachine.ErrIllegal, "there is no account to pay to")
	case e.Number != int64(len(i.Intents))+1 || e.Number > MaxIntents:
		return s.refuse(statemachine.ErrInvalid, fmt.Sprintf("the next intent is %d of at most %d", len(i.Intents)+1, MaxIntents))
	case chain == Solana && (!word(e.Signature, MaxID) || e.LastValid == 0 || e.LastValid > MaxAmount ||
		len(e.Raw) > MaxRaw || e.Reference != 0):
		return s.refuse(statemachine.ErrInvalid, "an intent on Solana needs a signature and a last valid block height")
	case chain == Nexus && (e.Reference == 0 || !e.Control.follows(e.Reference) && e.Reference > e.Control.Reference || e.Signature != "" ||
		len(e.Raw) > 0 || e.LastValid != 0):
		return s.refuse(statemachine.ErrInvalid, "an intent on Nexus needs a reference number")
	case chain == Nexus && e.Reference <= e.Control.Reference:
		return s.refuse(statemachine.ErrConflict, fmt.Sprintf("references up to %d were drawn or seen", e.Control.Reference))
	case chain == Solana && slices.ContainsFunc(i.Intents, func(in Intent) bool { return in.signed(e.Signature) }):
		return s.refuse(statemachine.ErrConflict, "one intent, one signature: sign again")
	}
	return nil
}

// mayPay refuses an action while the item or its direction is stopped, or an outbound of the item may have paid or
// may still pay.
func (s *step) mayPay(c Control, a Action) error {
	i := s.item
	switch in := i.unproved(); {
	case i.givenBack():
		return s.refuse(ErrSettled, "under "+i.ByHand.Reference)
	case i.Hold.Kind != 0:
		return s.refuse(switches.ErrOnHold, "held: "+i.Hold.Kind.String())
	case c.Recovering():
		return s.refuse(ErrUnsettled, "the vault's own history is not scanned yet")
	case c.stops(a) != "":
		return s.refuse(switches.ErrOnHold, c.stops(a))
	case i.behind(c):
		return s.refuse(ErrUnsettled, "an outbound from before the store was lost is not excluded yet")
	case lacksIntent(s.side, i):
		return s.refuse(switches.ErrOnHold, "its status says that something went out, and nothing is on file")
	case i.Lost != 0:
		return s.refuse(switches.ErrOnHold, fmt.Sprintf("intent %d is lost: an operator requeues the item", i.Lost))
	case in != nil:
		return s.refuse(switches.ErrOnHold, fmt.Sprintf("intent %d (%s) may have paid or may still pay", in.Number, in.Action))
	}
	if c, ok := s.side.(*creditSide); ok && (c.c.uncounted(s.p) || a == Quarantine && c.c.SettledBy != 0) {
		return s.refuse(switches.ErrOnHold, "what came in has vanished or has too few confirmations, or was paid already")
	}
	return nil
}

// lacksIntent reports that the status says something went out, but no intent on file has paid or may still pay: the row
// was imported, or its payment was proved not to land and nobody has moved the item on. Then nothing is begun, and an
// operator has the item. A row that settle wrote is never quarantined before its terms are frozen.
func lacksIntent(x side, i *Item) bool {
	if g := x.stage(); g.awaits != 0 && !g.finished() {
		n, _ := i.landed()
		return n == 0 && i.openIntent() == 0
	}
	c, ok := x.(*creditSide)
	return ok && len(i.Intents) == 0 && (c.c.Status == CreditSending || c.c.Status == CreditQuarantined && !i.Terms.Frozen)
}

// beginAt is when the next intent of an action may be begun: a cooldown after the commit of the last intent that was
// not deferred, and a pause after the last deferred one, which doubles with each further deferral in a row.
func (i *Item) beginAt(p *Policy, a Action) (at time.Time) {
	deferral := statemachine.Backoff{Base: p.DeferFor, Cap: max(p.DeferFor, MaxDeferral)}
	deferred := 0
	for k := range i.Intents {
		in := &i.Intents[k]
		if in.Action != a || in.Filed {
			continue
		}
		next := in.At.Add(p.Cooldown)
		if in.Outcome == statemachine.Deferred {
			next = in.ClosedAt.Add(deferral.Delay(deferred, 0))
			deferred++
		} else {
			deferred = 0
		}
		if next.After(at) {
			at = next
		}
	}
	return at
}

// answer takes what the sender of an intent says of it. It changes no other intent.
func (s *step) answer(e *Answered) error {
	if s.item.Intent(e.Number) == nil || !e.Outcome.Valid() {
		return s.refuse(statemachine.ErrInvalid, fmt.Sprintf("intent %d and an outcome are needed", e.Number))
	}
	if e.Outcome == statemachine.Done && !word(e.TxID, MaxID) {
		return s.refuse(statemachine.ErrInvalid, "a transaction id is needed")
	}
	in := s.item.Intent(e.Number)
	e.TxID = form(in.Chain, e.TxID)
	switch {
	case e.Outcome == statemachine.Done && in.Landed() && sameTx(in, e.TxID):
		return nil
	case e.Outcome != statemachine.Done && (!in.Open() || in.named() || e.Outcome == in.Outcome ||
		in.Outcome == statemachine.Unknown && e.Outcome == statemachine.Deferred):
		return nil // closed, a person's word, said before, or not to be believed any more
	case e.Outcome == statemachine.Done && slices.ContainsFunc(s.item.Intents, func(f Intent) bool { return f.landedAs(in.Chain, e.TxID) }):
		if !in.Open() {
			return nil // a person has filed the same transaction: it is one payment
		}
		return s.failed(s.intent(e.Number), 0, "its transaction was filed")
	}
	in = s.intent(e.Number)
	if s.fenced(e.Fence) == nil && in.SendBy.After(s.by.At) {
		in.SendBy, in.Missed, in.MissedAt = s.by.At, 0, s.by.At // the sender is done, though one of its calls may be under way
	}
	text := func(what string) string { return fmt.Sprintf("%s %d %s: %s", in.Action, in.Number, what, e.Reason) }
	switch e.Outcome {
	case statemachine.Done:
		if in.Landed() || in.named() && !sameTx(in, e.TxID) || in.Chain == Solana && !in.signed(e.TxID) {
			return s.second(in, e.TxID, e.Rival, time.Time{})
		}
		in.TxID = e.TxID
		return s.paid(in, e.Rival)
	case statemachine.Failed:
		return s.failed(in, 0, e.Reason)
	case statemachine.Deferred:
		in.Outcome, in.ClosedAt = statemachine.Deferred, s.by.At
		s.item.Attempts[in.Action-1]--
		s.item.Tried = true
		return s.note(text("deferred"))
	}
	in.Outcome = statemachine.Unknown
	return s.note(text("may have gone out"))
}

// form brings an id or an address of a chain to its one spelling. Nexus writes both in hexadecimal; on Solana upper
// and lower case differ, so the text stays.
func form(c Chain, text string) string {
	if c == Nexus {
		return statemachine.HashForm(text)
	}
	return text
}

// alike reports whether two texts are one id or address of a chain.
func alike(c Chain, a, b string) bool { return form(c, a) == form(c, b) }

// sameTx compares what the chain calls an intent.
func sameTx(in *Intent, id string) bool {
	return (in.TxID != "" || in.Chain == Solana) && alike(in.Chain, in.TxID, id)
}

// signed reports whether an intent on Solana is a transaction.
func (i *Intent) signed(signature string) bool {
	return i.Signature == signature || i.Filed && i.TxID == signature
}

// named reports whether a person has said by which transaction an open intent paid. Until a
// chain shows what became of that transaction, no answer takes the word back.
func (i *Intent) named() bool { return i.Open() && i.TxID != "" }

// stop holds the item because of evidence, in the place of no hold or of a hold ByLate. Any other hold stays; when it
// ends, free holds the item again if an outbound is still unexplained.
func (s *step) stop(kind HoldKind, reason string) {
	if k := s.item.Hold.Kind; k == 0 || k == ByLate {
		s.rehold(kind, reason)
	}
}

// paid takes an answer or a sighting that an intent went out. If nothing else of the item is out, the item moves to
// the state that waits for this outbound.
func (s *step) paid(in *Intent, rival string) error {
	late := !in.Open()
	s.claims(in, rival)
	for k := range s.item.Intents { // an operator has filed the same transaction too, and did not know that it is this intent's
		if d := &s.item.Intents[k]; d != in && d.Filed && d.Open() && d.Chain == in.Chain && sameTx(d, in.TxID) {
			d.Outcome, d.Proof, d.ClosedAt = statemachine.Failed, Negative, s.by.At
		}
	}
	in.Outcome, in.Proof = statemachine.Done, 0
	if g := s.side.stage(); s.item.Lost == in.Number || g.finished() && g.awaits == in.Action {
		if c, ok := s.side.(*creditSide); ok && s.item.Lost != in.Number && c.c.SettledBy == s.item.Lost {
			c.c.SettledBy = 0 // the outbound that settled it is lost: the move is waited for
		}
		s.loses(0) // the intent was not lost, or another one has taken its place
	}
	if s.item.Hold.Kind == ByPolicy {
		s.free() // it can land after all
	}
	if in.ClosedAt.IsZero() {
		in.ClosedAt = s.by.At
	}
	text := fmt.Sprintf("%s %d went out: %s", in.Action, in.Number, in.TxID)
	s.mended(OutboundLost, in)
	if late {
		s.found(Discrepancy{Kind: LateOutbound, Key: number(in.Number), Chain: in.Chain, TxID: in.TxID, Amount: in.Net,
			Text: "it was closed, and has paid"})
	}
	if c, ok := s.side.(*creditSide); ok && !c.c.GoneAt.IsZero() {
		s.vanished("it vanished, and is paid")
	}
	open := s.item.openIntent()
	n, _ := s.item.landed()
	switch {
	case open != 0:
		s.stop(ByLate, fmt.Sprintf("intent %d has paid while intent %d is open", in.Number, open))
		return s.note(text)
	case n > 1: // one of them may be taken back yet: see finish
		return s.note(text)
	}
	s.settle(in)
	return s.moveOrNote(landing(in.Action), text)
}

// settle records that an outbound has paid a credit that was quarantined: the move to the quarantine account is not
// owed any more.
func (s *step) settle(in *Intent) bool {
	c, ok := s.side.(*creditSide)
	if !ok || c.c.Status != CreditQuarantined || c.c.SettledBy != 0 || s.item.awaited(Quarantine) != nil {
		return false
	}
	c.c.SettledBy = in.Number
	s.loses(0) // a move that was lost is not owed any more, either
	s.found(Discrepancy{Kind: PaidWhileQuarantined, Key: number(in.Number), Chain: in.Chain, TxID: in.TxID, Amount: in.Net,
		Text: fmt.Sprintf("intent %d (%s) has paid", in.Number, in.Action)})
	return true
}

// follows is the trigger by which an item follows what has paid; 0: none.
func follows(x side, i *Item) (on trigger, in *Intent) {
	g := x.stage()
	for k := len(i.Intents) - 1; k >= 0 && !g.finished(); k-- {
		switch in := &i.Intents[k]; {
		case !in.Landed():
		case x.allows(landing(in.Action)):
			return landing(in.Action), in
		case in.Final && g.awaits == in.Action:
			return confirmed, in
		}
	}
	return 0, nil
}

// double records each pair of outbounds that paid for good. Before both are final a reorganisation may undo one of
// them, so that the item was paid only once; until both are final the item is overdue.
func (s *step) double() {
	var first *Intent
	for k := range s.item.Intents {
		in := &s.item.Intents[k]
		switch {
		case !in.Final:
		case first == nil:
			first = in
		default:
			s.discrepancy(Discrepancy{Kind: DoublePayout, Key: number(first.Number) + "+" + number(in.Number), Chain: in.Chain, TxID: in.TxID,
				Amount: in.Net, Other: first.Net, Text: fmt.Sprintf("intents %d (%s) and %d (%s) have paid", first.Number,
					first.Action, in.Number, in.Action)})
		}
	}
}

// reconcile ends a hold ByLate and moves the item to the state that fits what has paid, once no intent of the item is
// open.
func (s *step) reconcile() (moved bool, err error) {
	if s.item.openIntent() != 0 {
		return false, nil
	}
	n, in := s.item.landed()
	if s.item.Hold.Kind == ByLate {
		s.free()
		moved = true
	}
	if on, by := follows(s.side, s.item); on != 0 {
		return true, s.move(on, fmt.Sprintf("%s %d has paid: %s", by.Action, by.Number, by.TxID))
	}
	if n > 0 && s.settle(in) || moved {
		return true, s.note("nothing is open any more")
	}
	return false, nil
}

// failed closes an open intent that did not pay. If it was the last attempt, the item moves on in the same step.
func (s *step) failed(in *Intent, proof Proof, reason string) error {
	if proof != 0 && s.waitsFor(in) {
		return s.lost(in, proof)
	}
	in.Outcome, in.Proof, in.ClosedAt = statemachine.Failed, proof, s.by.At
	text := fmt.Sprintf("%s %d failed: %s", in.Action, in.Number, reason)
	s.item.Tried = true
	if moved, err := s.follow(); moved || err != nil {
		return err
	}
	if s.side.stage().performs == in.Action && s.item.Attempts.Of(in.Action) >= s.p.MaxAttempts && s.side.allows(maxAttempts) && !in.Filed {
		if in.Action == Send {
			s.refundFor(ReasonSend)
		}
		return s.move(maxAttempts, text)
	}
	return s.note(text)
}

// follow calls reconcile if something has paid already.
func (s *step) follow() (bool, error) {
	if n, _ := s.item.landed(); n == 0 && s.item.Hold.Kind != ByLate {
		return false, nil
	}
	return s.reconcile()
}

// refundFor keeps the first reason.
func (s *step) refundFor(r RefundReason) {
	if s.item.Reason == 0 {
		s.item.Reason = r
	}
}

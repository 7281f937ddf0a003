package swap

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// ordered takes an order of an operator. An order chooses how the item ends. Only NotSent and PaidBy take the place
// of evidence, and their proof is marked as a person's word ([Said], [Intent].Filed).
func (s *step) ordered() error {
	switch e := s.ev.(type) {
	case RefundOrdered:
		return s.because(&e.Reason, func() error { return s.redirect(orderRefund, Refund, e.Reason) })
	case QuarantineOrdered:
		return s.because(&e.Reason, func() error { return s.redirect(orderQuarantine, Quarantine, e.Reason) })
	case Requeued:
		return s.because(&e.Reason, func() error { return s.requeue(&e) })
	case Held:
		return s.because(&e.Reason, func() error { return s.heldBy(e.Reason) })
	case Released:
		return s.unhold(statemachine.Bounded(e.Reason, MaxText))
	case NotSent:
		return s.because(&e.Reason, func() error { return s.notSent(&e) })
	case PaidBy:
		return s.because(&e.Reason, func() error { return s.paidBy(&e) })
	case Dropped:
		return s.because(&e.Reason, func() error { return s.drop(e.Reason) })
	case Acknowledged:
		return s.because(&e.Reason, func() error { return s.acknowledge(&e) })
	}
	return s.refuse(statemachine.ErrIllegal, "")
}

// because carries out an order that has a reason.
func (s *step) because(reason *string, order func() error) error {
	if *reason == "" {
		return s.refuse(statemachine.ErrInvalid, "a reason is needed")
	}
	*reason = statemachine.Bounded(*reason, MaxText)
	return order()
}

// heldBy holds the item in an operator's name. A hold ByMemo is left as it is, since only Released ends it too.
func (s *step) heldBy(reason string) error {
	if k := s.item.Hold.Kind; k == ByOperator || k == ByMemo {
		return nil
	}
	if g := s.side.stage(); g.finished() && g.performs == 0 || s.item.givenBack() {
		return s.refuse(statemachine.ErrIllegal, "there is nothing to stop")
	}
	s.rehold(ByOperator, reason)
	return s.note("held: " + reason)
}

// redirect moves the item to where the action is performed.
func (s *step) redirect(on trigger, a Action, reason string) error {
	g := s.side.stage()
	there := g.performs == a || g.awaits == a
	c, credit := s.side.(*creditSide)
	switch n := s.item.openIntent(); {
	case there && s.item.Hold.Kind != ByPolicy:
		return nil // so it is already
	case !there && !s.side.allows(on):
		return s.refuse(statemachine.ErrIllegal, "")
	case credit && c.c.Status == CreditPending && !c.c.ripe(s.p):
		return s.refuse(statemachine.ErrIllegal, "nothing leaves this state before two confirmations")
	case n != 0:
		return s.refuse(statemachine.ErrHeld, fmt.Sprintf("intent %d is open: its look-up decides", n))
	}
	if s.item.Hold.Kind == ByPolicy {
		s.free()
	}
	if there { // by paid_by, say
		return s.note(reason)
	}
	if a == Refund {
		s.refundFor(ReasonOperator)
	}
	return s.move(on, reason)
}

// requeue orders once more an action that has failed for good or was lost.
func (s *step) requeue(e *Requeued) error {
	a, on := s.side.stage().awaits, requeued
	owed := s.item.Lost != 0
	switch x := s.side.(type) {
	case *depositSide:
		if x.d.Status == DepositQuarantineFailed {
			a, owed = Quarantine, true
		}
	case *creditSide:
		if x.c.Status == CreditQuarantined && x.c.SettledBy == 0 && s.item.awaited(a) == nil && s.item.openIntent() == 0 {
			owed = owed || s.item.Attempts.Of(a) >= s.p.MaxAttempts || s.item.CheckAt.IsZero() && s.item.Hold.Kind == 0 && !lacksIntent(x, s.item)
		}
		if x.c.Collecting && x.c.Status == CreditRefunded {
			on = requeuedCollecting
		}
		if owed && x.c.SettledBy == s.item.Lost {
			x.c.SettledBy = 0
		}
	}
	switch {
	case s.item.givenBack():
		return s.refuse(ErrSettled, "under "+s.item.ByHand.Reference)
	case !s.side.allows(on):
		return s.refuse(statemachine.ErrIllegal, "")
	case !owed && s.side.stage().performs == a && s.item.Attempts.Of(a) == 0:
		return nil // so it is already
	case !owed:
		return s.refuse(statemachine.ErrIllegal, "nothing is lost and attempts are left")
	case s.item.behind(e.Control):
		return s.refuse(ErrUnsettled,
			"it may have been paid before the store was restored: first tell what RecoverDeposit or RecoverCredit makes of both histories")
	}
	if n, in := s.item.landed(); n > 0 {
		s.settle(in) // after a double payout the other outbound stands
	}
	s.loses(0)
	s.item.Attempts[a-1] = 0
	return s.move(on, e.Reason)
}

// unhold ends a hold that a person may end. Holds for a mismatch or a late outbound end by evidence.
func (s *step) unhold(reason string) error {
	switch k := s.item.Hold.Kind; k {
	case 0:
		return nil
	case ByOperator, ByMemo, ByRecovery:
		s.free()
		return s.note("released: " + reason)
	default:
		return s.refuse(statemachine.ErrIllegal, endOf(k))
	}
}

// endOf says what ends a hold.
func endOf(k HoldKind) string {
	switch k {
	case ByPolicy:
		return "order a refund or a quarantine"
	case ByMismatch:
		return "say paid_by or not_sent of the transaction"
	case ByLate:
		return "it ends when no intent is open"
	case ByRecovery:
		return "say paid_by of what paid for it, or release it if nothing did"
	}
	return "release it"
}

// notSent closes an intent as proved not to have paid, or records that the transaction of a mismatch is no payment of
// this item.
func (s *step) notSent(e *NotSent) error {
	if e.TxID != "" {
		return s.resolve(e)
	}
	in := s.item.Intent(e.Number)
	switch {
	case in == nil:
		return s.refuse(statemachine.ErrInvalid, "an intent or a transaction is needed")
	case in.Proof != 0:
		return nil
	// a rebuilt one that its chain names would be paid again
	case in.Landed() && (!in.Filed || in.Chain == Solana && in.Memo != "" && s.side.allows(requeued)):
		return s.refuse(statemachine.ErrIllegal, "it has paid; only a chain takes that back")
	case in.Missed > s.p.sends(in) && s.said.After(in.MissedAt): // its sender has ended
	case in.LastValid == 0 && e.At.IsZero():
		return s.refuse(statemachine.ErrIllegal,
			"it may still be sent, since no look-ups have seen the time pass: say when you looked, by another clock")
	case !s.said.After(in.SendBy.Add(s.p.CallTimeout)):
		return s.refuse(statemachine.ErrIllegal, "it may still be sent until "+in.SendBy.Add(s.p.CallTimeout).Format(time.RFC3339))
	case in.LastValid > 0 && e.Height <= in.LastValid:
		return s.refuse(statemachine.ErrIllegal, fmt.Sprintf("it may land up to block height %d", in.LastValid))
	}
	return s.unsent(s.intent(e.Number), e.Reason)
}

// unsent takes a person's word that an intent has not paid.
func (s *step) unsent(in *Intent, reason string) error {
	if in.Open() {
		return s.failed(in, Said, "not_sent: "+reason)
	}
	if in.Landed() {
		return s.disowned(in, "not_sent: "+reason)
	}
	in.Proof = Said
	return s.note(fmt.Sprintf("%s %d not_sent: %s", in.Action, in.Number, reason))
}

// resolve takes an operator's word that the transaction of a mismatch is no payment of this item. If the transaction
// was filed as an intent, the intent is closed as proved not to have paid. When no mismatch is open any more, the
// hold ends.
func (s *step) resolve(e *NotSent) error {
	filed := slices.IndexFunc(s.item.Intents, func(in Intent) bool {
		return in.Filed && in.Proof == 0 && !in.Landed() && sameTx(&in, e.TxID)
	})
	k := slices.IndexFunc(s.item.Discrepancies, func(d Discrepancy) bool { return d.mismatch(e.TxID) })
	switch {
	case k < 0:
		return s.refuse(statemachine.ErrNotFound, "no mismatch of that transaction")
	case s.item.Discrepancies[k].ClosedBy != "" && filed < 0:
		return nil
	}
	if s.mismatches(e.TxID, true) == 0 && s.item.Hold.Kind == ByMismatch {
		s.free()
	}
	if filed >= 0 {
		return s.unsent(s.intent(s.item.Intents[filed].Number), e.Reason)
	}
	return s.note("not_sent: " + e.TxID + ": " + e.Reason)
}

// rival refuses a transaction that another item has on file.
func (s *step) rival(of string) error {
	return s.refuse(statemachine.ErrConflict, "it is on file for "+of+": say not_sent there, if it is not that one's")
}

// meet moves the item to a state from which the table follows an outbound of the named action, if nothing else of the
// item may be out.
func (s *step) meet(e *PaidBy) error {
	for range 2 {
		on := orderRefund
		if e.Action == Quarantine && s.side.allows(orderQuarantine) {
			on = orderQuarantine
		}
		if s.side.stage().finished() || s.side.allows(landing(e.Action)) || s.item.unproved() != nil || !s.side.allows(on) {
			return nil
		}
		s.refundFor(ReasonOperator)
		if err := s.move(on, "paid_by: "+e.Reason); err != nil {
			return err
		}
	}
	return nil
}

// seen returns the amount that an outbound moved, as the operator says or as the chain shows it; 0 stands for the
// amount that its action pays. open reports whether the outbound is the transaction of an open mismatch.
func (s *step) seen(e *PaidBy) (amount uint64, open bool) {
	amount = e.Amount
	for k := range s.item.Discrepancies {
		if d := &s.item.Discrepancies[k]; d.mismatch(e.TxID) {
			open = open || d.ClosedBy == ""
			if amount == 0 {
				amount = d.Amount
			}
		}
	}
	return amount, open
}

// correct takes over what a transaction on file moved, and to whom.
func (s *step) correct(in *Intent, e *PaidBy) error {
	if in.Action != e.Action {
		return s.refuse(statemachine.ErrConflict, fmt.Sprintf("it is intent %d, a %s", in.Number, in.Action))
	}
	net, open := s.seen(e)
	switch unclaimed := in.Filed && in.Claim == ""; {
	case unclaimed && e.Rival != "":
		return s.rival(e.Rival)
	case in.Proof != 0: // what proved it, not_sent or a look-up, may be wrong: it is looked up again
		if n := s.item.openIntent(); n != 0 {
			return s.refuse(statemachine.ErrHeld, fmt.Sprintf("intent %d is open: its look-up comes first", n))
		}
		if err := s.meet(e); err != nil {
			return err
		}
		in.Outcome, in.Proof, in.ClosedAt, in.TxID, in.SeenAt = statemachine.Unknown, 0, time.Time{}, form(in.Chain, e.TxID), s.by.At
		s.claims(in, "")
	case unclaimed:
		s.claims(in, "")
	case in.Open() && !in.named(): // signed, and nobody has said yet what became of it
		in.TxID, in.SeenAt = e.TxID, s.by.At
	case !open && (in.Final || net == 0 || net == in.Net):
		return nil
	}
	if !in.Final && net != 0 {
		in.Net, in.Fee = net, rest(s.item.Amount, net)
		if in.Filed || s.item.discrepant(Mismatch) { // else it went where it was to go, or its look-up conflicts
			in.Destination = ""
		}
	}
	return s.explained(e, number(in.Number))
}

// explained ends what waited for an operator's paid_by.
func (s *step) explained(e *PaidBy, intent string) error {
	if k := s.item.Hold.Kind; s.mismatches(e.TxID, true) == 0 && k == ByMismatch || k == ByRecovery {
		s.free()
	}
	return s.note(fmt.Sprintf("%s %s paid_by %s: %s", e.Action, intent, e.TxID, e.Reason))
}

// mismatches closes the Mismatch of a transaction and returns how many others are open. said: a person has said what
// the transaction is, so that no evidence opens the Mismatch again.
func (s *step) mismatches(txid string, said bool) (open int) {
	s.own()
	for k := range s.item.Discrepancies {
		d := &s.item.Discrepancies[k]
		if d.mismatch(txid) && d.ClosedBy == "" {
			d.ClosedBy, d.ClosedAt, d.Firm = s.by.Actor, s.by.At, said
		}
		if d.Kind == Mismatch && d.ClosedBy == "" {
			open++
		}
	}
	return open
}

// drop gives up a credit that has vanished: nothing was deposited.
func (s *step) drop(reason string) error {
	c, ok := s.side.(*creditSide)
	switch {
	case !ok || c.c.Status == CreditAsFees && c.c.Fees != 0:
		return s.refuse(statemachine.ErrIllegal, "")
	case c.c.Status == CreditAsFees:
		return nil
	case !s.side.allows(inboundGone) || c.c.GoneAt.IsZero() || s.item.unproved() != nil:
		return s.refuse(statemachine.ErrIllegal, "only a credit that has vanished and paid nothing is dropped")
	}
	s.discrepancy(s.gone(reason))
	s.item.Hold, s.item.Lost, c.c.SettledBy = Hold{}, 0, 0
	return s.move(inboundGone, reason)
}

// acknowledge records that a person has dealt with a discrepancy, which ends its alert. A Mismatch is closed by
// PaidBy or NotSent instead.
func (s *step) acknowledge(e *Acknowledged) error {
	if e.Number < 1 || e.Number > int64(len(s.item.Discrepancies)) {
		return s.refuse(statemachine.ErrInvalid, fmt.Sprintf("there are %d discrepancies", len(s.item.Discrepancies)))
	}
	s.own()
	switch d := &s.item.Discrepancies[e.Number-1]; {
	case d.ClosedBy != "":
		return nil
	case d.Kind == Mismatch:
		return s.refuse(statemachine.ErrIllegal, "say paid_by or not_sent of the transaction")
	default:
		d.ClosedBy, d.ClosedAt = s.by.Actor, s.by.At
		return s.note("acknowledged: " + d.Kind.String() + ": " + e.Reason)
	}
}

package swap

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// creditSide is the machine of credits, as the shared half sees it.
type creditSide struct{ c Credit }

func (x *creditSide) direction() Direction { return ToUSDC }
func (x *creditSide) machine() string      { return CreditMachine.Name() }
func (x *creditSide) state() string        { return x.c.Status.String() }
func (x *creditSide) stage() stage         { return creditStages[x.c.Status] }
func (x *creditSide) money() Money         { return x.c.Money() }

func (x *creditSide) allows(on trigger) bool {
	_, ok := CreditMachine.Next(x.c.Status, CreditTrigger(on))
	return ok
}

func (x *creditSide) move(on trigger, line *statemachine.Transition[string]) error {
	err := statemachine.Move(CreditMachine, &x.c.Status, &x.c.Version, CreditTrigger(on), line)
	switch x.c.Status {
	case CreditCollectingRefund:
		x.c.Collecting = true
	case CreditRefundPending:
		x.c.Collecting = false
	}
	return err
}

func (x *creditSide) pays(p *Policy, a Action) (Chain, string) {
	switch a {
	case Send:
		return Solana, x.c.Account
	case Refund:
		return Nexus, x.c.From
	}
	return Nexus, p.USDDQuarantineAccount
}

func (x *creditSide) take(s *step) error {
	switch e := s.ev.(type) {
	case Confirmations:
		return x.confirmations(s, &e)
	case MappingLooked:
		return x.mappingLooked(s, &e)
	case AccountChecked:
		if x.c.Status != CreditReady && x.c.Status != CreditSending {
			return s.refuse(statemachine.ErrIllegal, "")
		}
		return s.checked(e.State)
	}
	return s.refuse(statemachine.ErrIllegal, "of deposits only")
}

// confirmations takes the number of confirmations of the inbound transaction, or that the transaction has vanished.
// When there are [Policy].CreditConfirmations, 2 or more, the terms are frozen, and a credit that is too small is
// kept as a fee; only afterwards a mapping is looked up, or a time-out counts.
func (x *creditSide) confirmations(s *step, e *Confirmations) error {
	c := &x.c
	asked, _ := statemachine.Time(e.Asked)
	stale := asked.After(s.by.At) || asked.Before(c.Stored) && !c.Stored.After(s.by.At) || // a Stored of the future says nothing
		asked.Before(c.GoneAt) || e.Gone && asked.Before(c.CountedAt)
	back := c.vanishes() && e.Count >= s.p.FinalConfirmations && !stale && !asked.Before(c.CountedAt)
	switch {
	case e.Gone && e.Count > 0 || e.Count > MaxAmount:
		return s.refuse(statemachine.ErrInvalid, "what is gone has no confirmations")
	case (e.Gone || !c.GoneAt.IsZero()) && e.Asked.IsZero():
		return s.refuse(statemachine.ErrInvalid, "when it was asked is needed")
	case stale && (e.Gone || !c.GoneAt.IsZero()):
		s.later = true // the answer is older than what is known, or does not say when it was asked
		return nil
	case c.dropped(): // it stays dropped: if it is there again, a person pays it
		if e.Count > 0 && s.discrepancy(Discrepancy{Kind: InboundGone, Key: c.ID + " is back", Chain: Nexus, TxID: c.ID, Amount: c.Amount,
			Text: "it is there again after it was dropped"}) {
			return s.note("the inbound transaction is there again")
		}
		return nil
	case e.Gone && c.GoneAt.IsZero():
		switch {
		case c.stage().finished():
			s.vanished("it vanished after its end")
		case s.item.unproved() != nil:
			s.vanished("it vanished after an outbound was begun")
		}
		c.GoneAt, c.Confirmations = asked, 0
		return s.note("the inbound transaction has vanished")
	case e.Gone, !back && !c.unpaid() && c.GoneAt.IsZero(),
		!back && c.GoneAt.IsZero() && (e.Count == c.Confirmations || min(e.Count, c.Confirmations) >= s.p.CreditConfirmations) &&
			(c.Status != CreditPending || c.Terms.Frozen || e.Count < s.p.CreditConfirmations): // else the policy demands fewer since
		s.later = true
		if e.Count > 0 && !stale && asked.After(c.CountedAt) { // a Gone that was asked for before this count does not count any more
			c.CountedAt = asked
			return s.note("it is there")
		}
		return nil
	}
	if c.GoneAt, c.Confirmations = (time.Time{}), e.Count; e.Count > 0 {
		c.CountedAt = later(c.CountedAt, s.at(e.Asked))
	}
	if back {
		s.close(func(d *Discrepancy) bool { return d.Kind == InboundGone && d.Key == c.ID })
	}
	if c.Status != CreditPending || e.Count < s.p.CreditConfirmations {
		s.later = true
		return s.note(fmt.Sprintf("%d confirmations", e.Count))
	}
	if !c.Terms.Frozen {
		s.freeze()
	}
	if c.Terms.micro(c.Amount) && c.Hold.Kind == 0 {
		if err := s.idle(Send, e.Control); err != nil || len(s.log) > 0 {
			return err
		}
	}
	return s.note(fmt.Sprintf("%d confirmations", e.Count))
}

// vanished records that the inbound transaction has vanished. When the transaction is final again the discrepancy is
// closed, unless the credit was dropped meanwhile.
func (s *step) vanished(text string) { s.found(s.gone(text)) }

func (s *step) gone(text string) Discrepancy {
	return Discrepancy{Kind: InboundGone, Key: s.item.ID, Chain: Nexus, TxID: s.item.ID, Amount: s.item.Amount, Text: text}
}

// vanishes reports whether the discrepancy is open that the inbound transaction has vanished.
func (c *Credit) vanishes() bool {
	return slices.ContainsFunc(c.Discrepancies, func(d Discrepancy) bool { return d.Kind == InboundGone && d.Key == c.ID && d.ClosedBy == "" })
}

// dropped reports whether an operator gave the credit up since its inbound transaction had vanished.
func (c *Credit) dropped() bool { return c.Status == CreditAsFees && !c.GoneAt.IsZero() && c.Fees == 0 }

// stage of the status.
func (c *Credit) stage() stage { return creditStages[c.Status] }

// unpaid reports whether something may still go out for the credit: it is not finished, or it is quarantined and its
// amount was not moved yet.
func (c *Credit) unpaid() bool {
	return !c.stage().finished() || c.Status == CreditQuarantined && c.SettledBy == 0 && c.awaited(Quarantine) == nil
}

// ripe reports whether the inbound transaction is there and has enough confirmations.
func (c *Credit) ripe(p *Policy) bool {
	return c.Terms.Frozen && c.Confirmations >= p.CreditConfirmations && c.GoneAt.IsZero()
}

// uncounted reports whether the credit waits for confirmations of its inbound transaction. Without them no mapping is
// taken and nothing is sent, in whatever way the credit came to its state.
func (c *Credit) uncounted(p *Policy) bool {
	if c.Status == CreditPending || c.Status == CreditTradeBalanceCheck {
		return !c.ripe(p)
	}
	return c.stage().performs != 0 && c.unpaid() && (!c.GoneAt.IsZero() || c.Confirmations < p.CreditConfirmations)
}

// mappingLooked takes a look-up of the mapping. A mapping counts only if it names this credit, and its owner is the
// owner that the credit names.
func (x *creditSide) mappingLooked(s *step, e *MappingLooked) error {
	c := &x.c
	last := c.Status == CreditTradeBalanceCheck
	if c.Status != CreditPending && !last {
		return s.refuse(statemachine.ErrIllegal, "")
	}
	found := e.Finding == MappingFound && alike(Nexus, e.TxID, c.ID) && alike(Nexus, e.Owner, c.Owner) && c.Owner != ""
	if !e.Finding.Valid() || e.Finding != MappingUnknown && !found && e.Asked.IsZero() {
		return s.refuse(statemachine.ErrInvalid, "a finding is needed, and of a missing one when it was asked")
	}
	if !c.ripe(s.p) || c.Terms.micro(c.Amount) {
		s.later = true
		return nil // before that the credit stays pending, and a credit that is too small gets no mapping
	}
	switch {
	case e.Finding == MappingUnknown, !found && (e.Asked.Before(c.Entered) || e.Asked.After(s.by.At)):
		s.later = true
		return nil
	case found && last && (!word(e.Account, MaxAddress) || s.p.own(Solana, e.Account) || e.State != 0 &&
		e.State != AccountUsable && e.State != AccountUnknown):
		s.refundFor(ReasonAccount)
		return s.move(accountUnusable, "")
	case found: // what cannot be paid is refunded from the next state
		c.Account = statemachine.Bounded(e.Account, MaxAddress)
		return s.move(mappingFound, "")
	case last:
		s.refundFor(ReasonMapping)
		return s.move(missingConfirmed, "")
	}
	return s.tried("no mapping yet")
}

// elapsed ends the wait for a mapping, or keeps a credit as a fee that is too small.
func (x *creditSide) elapsed(s *step, house Control) error {
	c := &x.c
	switch {
	case c.uncounted(s.p):
		return nil
	case c.Status == CreditPending && c.Terms.micro(c.Amount):
		return s.idle(Send, house)
	case c.Status == CreditPending && c.Tried && s.over(s.p.RefundTimeout, 0):
		return s.move(mappingTimeout, "")
	}
	return s.idle(c.stage().performs, house)
}

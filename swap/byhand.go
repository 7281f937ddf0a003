package swap

import (
	"fmt"

	"github.com/settlehq/settle/statemachine"
)

// ErrSettled refuses a payment of an item whose amount an operator has given back by hand. It is also
// [statemachine.ErrIllegal].
var ErrSettled = statemachine.NewSentinel("settled-by-hand", "an operator has given it back by hand", statemachine.ErrIllegal)

// handed takes an operator's word that he has given the amount of the item back by hand. No outbound of the item may
// still pay: each intent is proved not to have paid, or has moved the amount to the quarantine account for good.
func (s *step) handed(e *Settled) error {
	i := s.item
	switch is := i.ByHand.Reference; {
	case i.givenBack() && is == e.Reference:
		return nil
	case i.givenBack():
		return s.refuse(statemachine.ErrConflict, "it was given back by hand under "+is)
	case !s.side.allows(byHand), s.side.stage().awaits == Refund && i.Lost == 0:
		return s.refuse(statemachine.ErrIllegal, "only what is quarantined, failed for good or lost is given back by hand")
	case i.Hold.Kind != 0 && i.Hold.Kind != ByOperator:
		return s.refuse(statemachine.ErrHeld, "held, "+i.Hold.Kind.String()+": "+endOf(i.Hold.Kind))
	}
	for k := range i.Intents {
		switch in := &i.Intents[k]; {
		case !in.Settled():
			return s.refuse(statemachine.ErrHeld, fmt.Sprintf("intent %d (%s) may have paid or may still pay", in.Number, in.Action))
		case in.Final && in.Action != Quarantine:
			return s.refuse(statemachine.ErrIllegal, fmt.Sprintf("intent %d, a %s, has paid", in.Number, in.Action))
		}
	}
	if e.Reference == "" || len(e.Reference) > MaxReferenceText || !statemachine.Storable(e.Reference) || e.Reason == "" {
		return s.refuse(statemachine.ErrInvalid, fmt.Sprintf("a reference of 1 to %d bytes and a reason are needed", MaxReferenceText))
	}
	if in := i.Intent(i.Lost); in != nil {
		s.mended(OutboundLost, in)
	}
	i.Lost, i.Hold = 0, Hold{}
	i.ByHand = ByHand{Reference: e.Reference, Actor: s.by.Actor, At: s.by.At}
	return s.move(byHand, e.Reference+": "+e.Reason)
}

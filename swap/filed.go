package swap

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Filed outbounds: an intent with Filed was not begun here. A person has named its transaction ([PaidBy]), or an
// answer or a chain has named a second transaction of an intent. It is looked up like any other intent, and its
// transaction belongs to one item, which has the claim.

// paidBy files an outbound, and its look-up then finishes the item. The item is first moved to a state from which the
// table lets that outbound finish it. An outbound that is on file with another amount is corrected.
func (s *step) paidBy(e *PaidBy) error {
	if !e.Action.Valid() || !word(e.TxID, MaxID) || e.Amount > MaxAmount {
		return s.refuse(statemachine.ErrInvalid, "an action and a transaction are needed")
	}
	chain, _ := s.side.pays(s.p, e.Action)
	if slices.ContainsFunc(s.item.Discrepancies, func(d Discrepancy) bool { return d.mismatch(e.TxID) && d.Chain != chain }) {
		return s.refuse(statemachine.ErrInvalid, fmt.Sprintf("it is not on %s, where a %s goes", chain, e.Action))
	}
	for k := range s.item.Intents {
		if in := &s.item.Intents[k]; in.Chain == chain && (sameTx(in, e.TxID) || in.signed(e.TxID)) {
			return s.correct(s.intent(in.Number), e)
		}
	}
	if e.Rival != "" {
		return s.rival(e.Rival)
	}
	if n := s.item.openIntent(); n != 0 {
		return s.refuse(statemachine.ErrHeld, fmt.Sprintf("intent %d is open: its look-up comes first", n))
	}
	if c, ok := s.side.(*creditSide); ok && c.c.Status == CreditPending && !c.c.ripe(s.p) {
		return s.refuse(statemachine.ErrIllegal, "nothing leaves this state before two confirmations")
	}
	if len(s.item.Intents) >= maxFiled {
		return s.refuse(statemachine.ErrInvalid, "too many intents")
	}
	in := Intent{Action: e.Action, Chain: chain, TxID: form(chain, e.TxID)}
	if in.Net, in.Fee = s.terms(e.Action); in.Net == 0 {
		in.Net, in.Fee = s.p.fees(s.side.direction()).pays(e.Action, s.item.Amount)
	}
	if net, _ := s.seen(e); net != 0 {
		in.Net, in.Fee = net, rest(s.item.Amount, net)
	}
	if in.Net == 0 {
		return s.refuse(statemachine.ErrInvalid, "an amount is needed")
	}
	if err := s.meet(e); err != nil {
		return err
	}
	s.file(in, "")
	return s.explained(e, number(int64(len(s.item.Intents))))
}

// second files a transaction with which an intent was answered although the intent already had another one, so that
// both are looked up. seen is when the chain that shows it was asked, zero if no chain shows it.
func (s *step) second(in *Intent, txid, rival string, seen time.Time) error {
	for k := range s.item.Intents {
		if sameTx(&s.item.Intents[k], txid) {
			return nil
		}
	}
	if !s.discrepancy(Discrepancy{Kind: SecondOutbound, Key: txid, Chain: in.Chain, TxID: txid, Amount: in.Net,
		Text: fmt.Sprintf("intent %d was answered with another transaction", in.Number)}) {
		return nil
	}
	if len(s.item.Intents) < maxFiled {
		s.file(Intent{Action: in.Action, Attempt: in.Attempt, Chain: in.Chain, Destination: in.Destination, Net: in.Net, Fee: in.Fee,
			TxID: txid, SeenAt: seen}, rival)
	}
	s.stop(ByLate, fmt.Sprintf("intent %d was answered with a second transaction", in.Number))
	return s.note("a second transaction was answered")
}

// maxFiled bounds the intents of an item together with those that are filed. It is above MaxIntents: when no more may
// be begun, a person pays by hand, and that payment is filed.
const maxFiled = MaxIntents + MaxIntents/10

// file adds an outbound that was not begun here: it may have paid.
func (s *step) file(in Intent, rival string) {
	s.own()
	in.Number, in.At, in.SendBy, in.Filed, in.Outcome = int64(len(s.item.Intents))+1, s.by.At, s.by.At, true, statemachine.Unknown
	in.MissedAt = s.by.At
	s.claims(&in, rival)
	s.item.Intents = append(s.item.Intents, in)
}

// claims makes the item the owner of the transaction of a filed intent. If another item, the rival,
// owns the transaction already, a discrepancy is recorded, and both items go on to look it up. If the
// transaction itself names neither item, a person says which of the two it paid for.
func (s *step) claims(in *Intent, rival string) {
	switch {
	case !in.Filed || in.Claim != "":
	case rival == "":
		in.Claim = claim(in.Chain, in.TxID)
		s.uncontested(in)
	default:
		d := Discrepancy{Kind: Contested, Key: in.TxID, Chain: in.Chain, TxID: in.TxID, Amount: in.Net,
			Text: "it is on file for " + rival + ", too"}
		if in.Proof != 0 { // it was proved not to have paid, which has closed it
			s.found(d)
		} else {
			s.discrepancy(d)
		}
	}
}

// uncontested closes the discrepancy that two items have a transaction on file: the transaction is this item's alone,
// or has not paid.
func (s *step) uncontested(in *Intent) {
	s.close(func(d *Discrepancy) bool { return d.Kind == Contested && d.Key == in.TxID && d.Chain == in.Chain })
}

// disowned takes an operator's word that the transaction which a person has filed for this item paid for something
// else. If no edge leads out of the item's state, the item stays there, with a discrepancy.
func (s *step) disowned(in *Intent, text string) error {
	switch g := s.side.stage(); {
	case !s.waitsFor(in):
		if in.Final {
			s.discrepancy(Discrepancy{Kind: OutboundLost, Key: number(in.Number), Chain: in.Chain, TxID: in.TxID, Amount: in.Net, Text: text})
		}
		in.Final = false
		return s.takenBack(in, Said)
	case !g.finished() || s.side.allows(requeued):
		in.Final = false
		return s.lost(in, Said)
	}
	claimed := in.Claim != ""
	in.Claim = ""
	if !s.discrepancy(Discrepancy{Kind: OutboundLost, Key: number(in.Number), Chain: in.Chain, TxID: in.TxID,
		Amount: in.Net, Text: text}) && !claimed {
		return nil
	}
	return s.note(fmt.Sprintf("%s %d %s", in.Action, in.Number, text))
}

// landedAs reports whether a transaction was filed as this intent and has landed. No other intent takes the
// transaction then.
func (i *Intent) landedAs(c Chain, txid string) bool {
	return i.Filed && i.Landed() && i.Chain == c && sameTx(i, txid)
}

// ClaimOf is the claim that an event may take for a record; empty: it takes none. A service looks up which item has
// the claim, and names that item in Rival.
func ClaimOf(r Record, ev Event) string {
	seen := func(t Sighting) string {
		if t.TxID == "" {
			return ""
		}
		return claim(t.Chain, t.TxID)
	}
	switch e := ev.(type) {
	case Answered:
		if in := r.Head().Intent(e.Number); in != nil && e.TxID != "" {
			return claim(in.Chain, e.TxID)
		}
	case Looked:
		return seen(e.Seen)
	case Outbound:
		return seen(e.Seen)
	case Recovered:
		return seen(e.Seen)
	case PaidBy:
		if _, deposit := r.(*Deposit); deposit == (e.Action == Send) {
			return claim(Nexus, e.TxID)
		}
		return claim(Solana, e.TxID)
	}
	return ""
}

// claim is the text of [Intent].Claim for a transaction.
func claim(c Chain, txid string) string { return c.String() + " " + form(c, txid) }

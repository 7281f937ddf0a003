package swap

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// History is a scan of the vault's own transactions on one chain.
type History struct {
	Chain    Chain
	Outbound []Sighting
	View     View // how much it covers
}

// RecoverDeposit returns the events that complete scans mean for a stored deposit:
// its outbounds, a look-up of each intent that is not settled and was not found,
// and after a lost database the look back. Whether that proves anything is decided
// by Apply. An outbound on Nexus that is on file for another item may be left out
// of a scan; past are the fees that were in force, beside today's.
func (p Policy) RecoverDeposit(d Deposit, c Control, past []Fees, by By, scans ...History) []Event {
	return p.recoverItem(&d.Item, &depositSide{d: d}, c, past, by, scans)
}

// RecoverCredit is [Policy.RecoverDeposit] for a credit.
func (p Policy) RecoverCredit(cr Credit, c Control, past []Fees, by By, scans ...History) []Event {
	return p.recoverItem(&cr.Item, &creditSide{c: cr}, c, past, by, scans)
}

func (p *Policy) recoverItem(i *Item, x side, c Control, past []Fees, by By, scans []History) (out []Event) {
	by.Version = 0
	s := step{p: p, item: i}
	covered := map[Chain]View{}
	seen := map[int64]bool{}
	foreign := false // something went out that is not on file
	for _, h := range scans {
		covered[h.Chain] = h.View
		for _, t := range h.Outbound {
			in := s.find(&t)
			dir, _, id, named := ReadMemo(t.Memo)
			known := slices.ContainsFunc(i.Discrepancies, func(d Discrepancy) bool { return d.mismatch(t.TxID) })
			switch {
			case in != nil:
				seen[in.Number] = true
				out = append(out, Outbound{By: by, Seen: t})
			case t.Chain == Solana && named && dir == x.direction() && id == i.ID:
				foreign = foreign || t.VaultSigned && !t.Errored && !known
				out = append(out, Outbound{By: by, Seen: t})
			case t.VaultSigned && !t.Errored && !known && i.behind(c) && p.resembles(x, i, past, &t) != 0:
				foreign = true
				out = append(out, Looked{By: by, Finding: LookFound, Seen: t})
			}
		}
	}
	for k := range i.Intents {
		if in := &i.Intents[k]; !in.Settled() && !seen[in.Number] {
			if v, ok := covered[in.Chain]; ok {
				out = append(out, Looked{By: by, Number: in.Number, Finding: LookMissing, View: v})
			}
		}
	}
	if solana, ok := covered[Solana]; ok && i.behind(c) && !foreign {
		if nexus, ok := covered[Nexus]; ok {
			v := solana
			v.From, v.ByID, v.CannotLand = later(v.From, nexus.From), v.ByID && nexus.ByID, v.CannotLand && nexus.CannotLand
			v.Before, v.After = min(v.Before, nexus.Before), min(v.After, nexus.After)
			out = append(out, Looked{By: by, Finding: LookMissing, View: v, Control: c})
		}
	}
	return out
}

// resembles returns the action of an item that an outbound on Nexus could be, 0:
// none. It names no item there: the destination is the action's, and anything where
// nobody has read yet who is to be paid; the amount is what today's fees, frozen ones
// or any of the past leave, and by the clocks of two chains it is not older.
func (p *Policy) resembles(x side, i *Item, past []Fees, t *Sighting) Action {
	for _, a := range Action(0).Values() {
		chain, to := x.pays(p, a)
		d, deposit := x.(*depositSide)
		unread := deposit && a == Send && !d.d.Read
		aside := a == Quarantine && p.own(t.Destination) // the account of today or another day
		if chain != Nexus || t.Chain != Nexus || !unread && !aside && (to == "" || to != t.Destination) || !t.Time.IsZero() && t.Time.Before(i.At.Add(-p.WaterlineMargin)) {
			continue
		}
		pays := func(f Fees) bool { net, _ := f.pays(a, i.Amount); return net == t.Amount && net > 0 }
		if pays(*p.fees(x.direction())) || slices.ContainsFunc(past, pays) || a == Send && i.Terms.Frozen && i.Terms.Net == t.Amount {
			return a
		}
	}
	return 0
}

// Lost is what the chains still know after a database was lost: all that came
// in, and the vault's own history on both chains, both complete.
type Lost struct {
	Deposits []LostDeposit
	Credits  []Observed
	Solana   History
	Nexus    History
	// Past are the fees that were in force beside today's, by direction: an
	// amount that none of them explains is nobody's.
	PastDeposits, PastCredits []Fees
}

// LostDeposit is a deposit as its chain shows it.
type LostDeposit struct {
	Observed
	Memo string
}

// Recovery is what [Policy.RecoverMissing] makes of it: events for items that
// are not stored. An item without any outbound is in neither list: it is
// Observed like a new one, and looked back for.
type Recovery struct {
	Deposits, Credits []Recovered
	Unattributed      []Sighting
}

// RecoverMissing rebuilds finished rows from memos and references. Memos name
// their item. An outbound on Nexus names none: it belongs to the one item whose
// destination and amount it has, if it is the only one and has no other
// candidate. Everything else that could be somebody's holds those items for the
// operator.
func (p Policy) RecoverMissing(l Lost, by By) Recovery {
	type candidate struct {
		seen   *Sighting
		action Action
	}
	found := map[string][]candidate{} // by direction and id
	claims := map[*Sighting][]string{}
	key := func(d Direction, id string) string { return d.String() + " " + id }
	known := map[string]bool{}
	add := func(d Direction, id string, t *Sighting, a Action) {
		k := key(d, id)
		found[k] = append(found[k], candidate{t, a})
		claims[t] = append(claims[t], k)
	}
	for _, d := range l.Deposits {
		known[key(ToUSDD, d.ID)] = true
	}
	for _, c := range l.Credits {
		known[key(ToUSDC, c.ID)] = true
	}
	var r Recovery
	each := func(h History, attribute func(*Sighting)) {
		for k := range h.Outbound {
			if t := &h.Outbound[k]; t.VaultSigned && !t.Errored {
				attribute(t)
				if len(claims[t]) == 0 {
					r.Unattributed = append(r.Unattributed, *t)
				}
			}
		}
	}
	each(l.Solana, func(t *Sighting) {
		if d, a, id, ok := ReadMemo(t.Memo); ok && known[key(d, id)] {
			add(d, id, t, a)
		}
	})
	each(l.Nexus, func(t *Sighting) {
		for _, d := range l.Deposits {
			i := Item{ID: d.ID, Amount: d.Amount, From: d.From, At: d.Time.Truncate(time.Second)}
			if a := p.resembles(&depositSide{d: Deposit{Item: i, Memo: d.Memo, Read: true}}, &i, l.PastDeposits, t); a != 0 {
				add(ToUSDD, d.ID, t, a)
			}
		}
		for _, c := range l.Credits {
			i := Item{ID: c.ID, Amount: c.Amount, From: c.From, At: c.Time.Truncate(time.Second)}
			if a := p.resembles(&creditSide{c: Credit{Item: i}}, &i, l.PastCredits, t); a != 0 {
				add(ToUSDC, c.ID, t, a)
			}
		}
	})
	// decide rebuilds an item that one outbound names alone, and holds others.
	decide := func(d Direction, o Observed) (Recovered, bool) {
		all := found[key(d, o.ID)]
		if len(all) == 0 {
			return Recovered{}, false
		}
		ev := Recovered{By: by, Observed: o}
		t := all[0].seen
		if len(all) == 1 && len(claims[t]) == 1 && p.final(t) && t.Token == p.token(t.Chain) && t.Amount <= o.Amount {
			ev.Action, ev.Seen = all[0].action, *t
		}
		return ev, true
	}
	for _, d := range l.Deposits {
		if ev, ok := decide(ToUSDD, d.Observed); ok {
			r.Deposits = append(r.Deposits, ev)
		}
	}
	for _, c := range l.Credits {
		if ev, ok := decide(ToUSDC, c); ok {
			r.Credits = append(r.Credits, ev)
		}
	}
	return r
}

// Unattributed is the record of an outbound of the vault that names no item. What an
// [Outbound] cannot be is refused as there.
func Unattributed(t Sighting, by By) (Discrepancy, error) {
	if by.Role != Observer && by.Role != System {
		return Discrepancy{}, fmt.Errorf("%w: the role of who saw an outbound is %v", statemachine.ErrForbidden, by.Role)
	}
	if err := statemachine.Actor(by.Actor); err != nil {
		return Discrepancy{}, err
	}
	if !t.sound() {
		return Discrepancy{}, fmt.Errorf("%w: a malformed sighting of %.50q on %v", statemachine.ErrInvalid, t.TxID, t.Chain)
	}
	t.TxID = txForm(t.Chain, t.TxID)
	return Discrepancy{Kind: UnattributedOutbound, Key: t.Chain.String() + " " + t.TxID, Chain: t.Chain, TxID: t.TxID, Amount: t.Amount,
		Text: FormatAmount(t.Amount) + " went out and names no item", Actor: by.Actor, At: by.At}, nil
}

// recovered rebuilds a finished item: it came in, and the chains show what went
// out for it.
func (s *step) recovered(e *Recovered) error {
	if s.old.Version > 0 {
		if s.item.Intent(1) != nil && sameTx(&s.item.Intents[0], e.Seen.TxID) {
			return nil
		}
		if e.Action == 0 && s.item.Hold.Kind == ByRecovery {
			return nil
		}
		return s.refuse(statemachine.ErrConflict, "it is stored already")
	}
	o := e.Observed
	if e.Action == 0 || e.Seen.Rival != "" && !s.names(&e.Seen, o.ID) {
		if err := s.observe(&o); err != nil || len(s.log) == 0 {
			return err
		}
		s.hold(ByRecovery, "it cannot be told what was paid for it")
		return nil
	}
	chain, _ := s.side.pays(s.p, e.Action)
	switch {
	case !e.Action.Valid() || !e.Seen.VaultSigned || e.Seen.Errored || e.Seen.Chain != chain || !word(e.Seen.TxID, MaxID) ||
		e.Seen.Amount == 0 || e.Seen.Amount > MaxAmount || !s.p.final(&e.Seen) || e.Seen.Token != s.p.token(chain) ||
		e.Seen.Destination != "" && !word(e.Seen.Destination, MaxAddress):
		return s.refuse(statemachine.ErrInvalid, "a final outbound of the vault is needed")
	case s.side.direction() == ToUSDC && (!word(o.To, MaxAddress) || !word(o.Owner, MaxAddress)) || o.From != "" && !word(o.From, MaxAddress):
		return s.refuse(statemachine.ErrInvalid, "a credit has the account that got it and an owner")
	case s.side.direction() == ToUSDC && !nexusID(o.ID):
		return s.refuse(statemachine.ErrInvalid, "a txid in another spelling would be another credit")
	case !word(o.ID, MaxID) || o.Amount == 0 || o.Amount > MaxAmount || o.Amount < e.Seen.Amount:
		return s.refuse(statemachine.ErrInvalid, "what came in is at least what went out")
	}
	at, err := statemachine.Time(o.Time)
	if err != nil {
		return s.refuse(statemachine.ErrInvalid, "a time is needed")
	}
	s.create(&o, at.Truncate(time.Second))
	t := &e.Seen
	s.file(Intent{Action: e.Action, Chain: chain, Destination: t.Destination, Net: t.Amount, Fee: o.Amount - t.Amount, TxID: txForm(chain, t.TxID), Reference: t.Reference, Memo: t.Memo}, t.Rival)
	in := &s.item.Intents[0]
	if in.Reference > MaxSeen { // a person's
		in.Reference = 0
	}
	in.Outcome, in.Final, in.ClosedAt = statemachine.Done, true, s.by.At
	return s.move(recovering(e.Action), "from the chains: "+t.TxID)
}

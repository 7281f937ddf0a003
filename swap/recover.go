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
	View     View // how much the scan covers; with the zero View it proves no absence
}

// RecoverDeposit returns the events that follow from complete scans for a stored deposit: its outbounds, a look-up of
// each intent that is not settled and was not found, and, after a database was lost, the look-back. Apply decides
// whether these prove anything. A scan may leave out an outbound on Nexus that is on file for another item; past are
// the fees that were in force before today's.
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
		if h.View != (View{}) {
			covered[h.Chain] = h.View
		}
		for _, t := range h.Outbound {
			if !t.VaultSigned { // it proves nothing, and keeps no negative away
				continue
			}
			in := s.find(&t)
			dir, _, id, named := ReadMemo(t.Memo)
			known := slices.ContainsFunc(i.Discrepancies, func(d Discrepancy) bool { return d.mismatch(t.TxID) })
			switch {
			case in != nil:
				seen[in.Number] = seen[in.Number] || !s.another(in, &t)
				out = append(out, Outbound{By: by, Asked: h.View.Asked, Seen: t})
			case t.Chain == Solana && named && dir == x.direction() && id == i.ID:
				foreign = foreign || !t.Errored && !known
				out = append(out, Outbound{By: by, Asked: h.View.Asked, Seen: t})
			case !t.Errored && !known && i.behind(c) && p.resembles(x, i, past, &t) != 0:
				foreign = true
				out = append(out, Looked{By: by, Finding: LookFound, Seen: t, View: View{Asked: h.View.Asked}})
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
	if i.behind(c) && !foreign && len(covered) == 2 {
		out = append(out, Looked{By: by, Finding: LookMissing, View: covered[Solana], Nexus: covered[Nexus], Control: c})
	}
	return out
}

// resembles returns the action of an item that an outbound on Nexus could be; 0: it could be none. An outbound on
// Nexus names no item, so destination and amount are compared.
func (p *Policy) resembles(x side, i *Item, past []Fees, t *Sighting) Action {
	for _, a := range Action(0).Values() {
		if t.Chain == Nexus && p.owes(x, i, a, past, t) {
			return a
		}
	}
	return 0
}

// Since is the time from which on an outbound may exist for an item that came in at at: [Policy.WaterlineMargin] before
// it, since the clocks of two chains are compared. For an item that came in on Nexus it is [Policy.GoneAfter] earlier
// still: the item may have been paid when its transfer was in an earlier block, which a reorganisation has replaced.
func (p Policy) Since(d Direction, at time.Time) time.Time {
	if at = at.Add(-p.WaterlineMargin); Inbound(d) == Nexus {
		at = at.Add(-p.GoneAfter)
	}
	return at
}

// owes reports whether an outbound can be an action of an item: it goes to the action's destination (or anywhere, if
// nobody has read yet who is to be paid), its amount is what today's fees, frozen fees or any of the past fees leave,
// and it is not older than the item, by the clocks of two chains.
func (p *Policy) owes(x side, i *Item, a Action, past []Fees, t *Sighting) bool {
	chain, to := x.pays(p, a)
	unread := false
	switch x := x.(type) {
	case *depositSide:
		unread = a == Send && !x.d.Read
	case *creditSide:
		unread = a == Send && x.c.Account == ""
	}
	aside := a == Quarantine && p.own(chain, t.Destination) // the account of today or another day
	if chain != t.Chain || !unread && !aside && (to == "" || !alike(chain, to, t.Destination)) || !t.Time.IsZero() &&
		t.Time.Before(p.Since(x.direction(), i.At)) {
		return false
	}
	pays := func(f Fees) bool { net, _ := f.pays(a, i.Amount); return net == t.Amount && net > 0 }
	return pays(*p.fees(x.direction())) || slices.ContainsFunc(past, pays) || a == Send && i.Terms.Frozen && i.Terms.Net == t.Amount
}

// Lost is what the chains still know after a database was lost: all that came
// in, and the vault's own history on both chains, both complete.
type Lost struct {
	Deposits []LostDeposit
	Credits  []Observed
	Solana   History
	Nexus    History
	// PastDeposits and PastCredits are the fees that were in force before today's, by direction. An outbound whose
	// amount none of the fees explains is taken for no item's.
	PastDeposits, PastCredits []Fees
}

// LostDeposit is a deposit as its chain shows it.
type LostDeposit struct {
	Observed
	Memo string
}

// Recovery is what [Policy.RecoverMissing] returns: events for items that are not stored. An item without any outbound
// is in neither list: the host sends Observed as for a new item, and looks back for it.
type Recovery struct {
	Deposits, Credits []Recovered
	Unattributed      []Sighting
}

// RecoverMissing rebuilds finished rows from memos and references. A memo names its item. An outbound on Nexus names
// none: it belongs to the one item that has its destination and amount, if there is one such item and that item has no
// other candidate. If an outbound could belong to several items, or names an item and is not what the item owes, these
// items are held for the operator. Nobody knows any more whom a credit was to pay: for its payment only the amount is
// compared.
func (p Policy) RecoverMissing(l Lost, by By) Recovery {
	type candidate struct {
		seen   *Sighting
		action Action
	}
	type item struct {
		x    side
		i    Item
		past []Fees
		all  []candidate
		ev   Recovered // without what went out
	}
	items := make([]item, 0, len(l.Deposits)+len(l.Credits))
	named := map[string]int{} // by direction and id
	claims := map[*Sighting]int{}
	key := func(d Direction, id string) string { return d.String() + " " + id }
	came := func(o *Observed) Item {
		return Item{ID: o.ID, Amount: o.Amount, From: o.From, At: o.Time.Truncate(time.Second)}
	}
	for _, d := range l.Deposits {
		named[key(ToUSDD, d.ID)] = len(items)
		i := came(&d.Observed)
		items = append(items, item{x: &depositSide{d: Deposit{Item: i, Memo: statemachine.Bounded(d.Memo, MaxMemo), Read: true}}, i: i,
			past: l.PastDeposits, ev: Recovered{By: by, Observed: d.Observed, Memo: d.Memo, Past: l.PastDeposits}})
	}
	for _, c := range l.Credits {
		named[key(ToUSDC, c.ID)] = len(items)
		i := came(&c)
		items = append(items, item{x: &creditSide{c: Credit{Item: i}}, i: i, past: l.PastCredits,
			ev: Recovered{By: by, Observed: c, Past: l.PastCredits}})
	}
	var r Recovery
	for _, h := range []History{l.Solana, l.Nexus} {
		for k := range h.Outbound {
			t := &h.Outbound[k]
			if !t.VaultSigned || t.Errored {
				continue
			}
			d, a, id, ok := ReadMemo(t.Memo)
			if n, known := named[key(d, id)]; ok && known && t.Chain == Solana {
				items[n].all = append(items[n].all, candidate{t, a})
				claims[t]++
			}
			for n := range items {
				if a := p.resembles(items[n].x, &items[n].i, items[n].past, t); a != 0 {
					items[n].all = append(items[n].all, candidate{t, a})
					claims[t]++
				}
			}
			if claims[t] == 0 {
				r.Unattributed = append(r.Unattributed, *t)
			}
		}
	}
	for k := range items {
		it := &items[k]
		if len(it.all) == 0 {
			continue
		}
		// An item that exactly one outbound names is rebuilt, any other one is held.
		if a, t := it.all[0].action, it.all[0].seen; len(it.all) == 1 && claims[t] == 1 && p.final(t) && t.Token == p.token(t.Chain) &&
			p.owes(it.x, &it.i, a, it.past, t) {
			it.ev.Action, it.ev.Seen = a, *t
		}
		if it.x.direction() == ToUSDD {
			r.Deposits = append(r.Deposits, it.ev)
		} else {
			r.Credits = append(r.Credits, it.ev)
		}
	}
	return r
}

// Unattributed returns the discrepancy of an outbound of the vault that names no item. It refuses what [Outbound]
// refuses.
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
	t.TxID = form(t.Chain, t.TxID)
	return Discrepancy{Kind: UnattributedOutbound, Key: t.Chain.String() + " " + t.TxID, Chain: t.Chain, TxID: t.TxID, Amount: t.Amount,
		Text: FormatAmount(t.Amount) + " went out and names no item", Actor: by.Actor, At: by.At}, nil
}

// recovered rebuilds the row of a finished item from its inbound transaction and from the outbound that the chains
// show for it.
func (s *step) recovered(e *Recovered) error {
	unsure := e.Action == 0 || e.Seen.Of != "" || e.Seen.Rival != "" && !s.names(&e.Seen, e.Observed.ID)
	if s.old.Version > 0 {
		if s.item.Intent(1) != nil && sameTx(&s.item.Intents[0], e.Seen.TxID) {
			return nil
		}
		if unsure && s.item.Hold.Kind == ByRecovery {
			return nil
		}
		return s.refuse(statemachine.ErrConflict, "it is stored already")
	}
	o := e.Observed
	if unsure {
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
		e.Seen.Destination != "" && !word(e.Seen.Destination, MaxAddress) || chain == Solana && !s.names(&e.Seen, o.ID):
		return s.refuse(statemachine.ErrInvalid, "a final outbound of the vault is needed, on Solana one that names the item")
	}
	legible(&o, s.side.direction())
	if made, err := s.arrive(&o); !made {
		return err
	}
	s.item.Hold = Hold{} // of an unknown time: what paid for it is known
	if d, ok := s.side.(*depositSide); ok {
		d.d.Memo, d.d.Read = statemachine.Bounded(e.Memo, MaxMemo), true
	}
	t := &e.Seen
	if !s.p.owes(s.side, s.item, e.Action, e.Past, t) {
		return s.refuse(statemachine.ErrInvalid, "its destination or amount is not what the item owes")
	}
	s.file(Intent{Action: e.Action, Chain: chain, Destination: t.Destination, Net: t.Amount, Fee: o.Amount - t.Amount,
		TxID: form(chain, t.TxID), Reference: t.Reference, Memo: t.Memo}, t.Rival)
	in := &s.item.Intents[0]
	if in.Reference > MaxSeen { // a person's
		in.Reference = 0
	}
	in.Outcome, in.Final, in.ClosedAt, in.SeenAt = statemachine.Done, true, s.by.At, s.by.At
	return s.move(recovering(e.Action), "from the chains: "+t.TxID)
}

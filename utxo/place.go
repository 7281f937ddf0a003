package utxo

import (
	"fmt"
	"slices"

	"github.com/settlehq/settle/statemachine"
)

// evidence is why a transaction is placed.
type evidence struct {
	on       Trigger
	height   int32 // of the block, or [Unconfirmed] for the mempool
	position int32
	seq      int64 // of the mempool observation, 0 for none
}

func (e evidence) block() bool { return e.height != Unconfirmed }

// place is the one conflict rule. The transaction and its ancestors that are
// not published (the lift) become published and take their inputs; their live
// rivals lose, with all live descendants. It refuses when an ancestor is an
// orphaned coinbase, when the transaction conflicts with itself or an ancestor,
// when the confirmed chain spends an input, and when a rival was observed later.
func (pl *plan) place(t *node, ev evidence) error {
	lift, err := pl.lift(t)
	if err != nil {
		return err
	}
	for _, m := range lift {
		if m != t && m.tx.Status == Orphaned {
			return pl.refuse(t, ErrDeadParent, "orphaned coinbase "+m.tx.ID.String())
		}
	}
	rivals, losers, err := pl.conflicts(t, lift)
	if err != nil {
		return err
	}
	for _, l := range losers {
		if ev.seq > 0 && l.tx.Seq > ev.seq {
			return pl.refuse(t, ErrStale, fmt.Sprintf("%s, which would lose, was observed later", l.tx.ID))
		}
	}
	if !ev.block() {
		if err := pl.inOrder(t, Unconfirmed); err != nil {
			return err
		}
	}
	if err := pl.replace(rivals); err != nil {
		return err
	}
	// The winners come first: a loser may be a child of one, never a parent.
	for _, m := range lift {
		for i := range m.from {
			pl.take(m, i)
		}
		on := OnProven
		if m == t {
			on = ev.on
		}
		if err := pl.step(m, on, "", func(tx *Tx) {
			if m == t && ev.block() {
				tx.Height, tx.Position = ev.height, ev.position
			}
			tx.Seq = max(tx.Seq, ev.seq)
		}); err != nil {
			return err
		}
	}
	return pl.kill(losers, func(l *node) (Trigger, string) {
		switch {
		case l.rival != t.lifted:
			return OnParentDied, ""
		case ev.block() || l.tx.Status == Pending:
			return OnDoubleSpent, ""
		}
		return OnReplaced, ""
	})
}

// lift returns the ancestors of t that are not published, parents first, then t.
func (pl *plan) lift(t *node) ([]*node, error) {
	if err := pl.loadParents([]*node{t}); err != nil {
		return nil, err
	}
	var ids []TxID
	unpublished(t, func(p *node) { ids = append(ids, p.tx.ID) })
	pl.mark++
	t.lifted = pl.mark
	members := []*node{t}
	if len(ids) == 0 {
		return members, pl.loadRivals(members)
	}
	if err := pl.load(pl.r.Ancestors(NotPublished, ids...)); err != nil {
		return nil, err
	}
	for i := 0; i < len(members); i++ {
		members[i].place = i
		unpublished(members[i], func(p *node) {
			if p.lifted != pl.mark {
				p.lifted = pl.mark
				members = append(members, p)
			}
		})
	}
	order := make([]*node, 0, len(members))
	for _, i := range topological(len(members), func(i int, add func(int)) {
		unpublished(members[i], func(p *node) { add(p.place) })
	}) {
		order = append(order, members[i])
	}
	if err := pl.loadParents(order); err != nil {
		return nil, err
	}
	return order, pl.loadRivals(order)
}

// unpublished calls each for the parents of n that are not published.
func unpublished(n *node, each func(*node)) {
	for i := range n.from {
		if p := n.parent(i); p != nil && p.tx.Status != Published {
			each(p)
		}
	}
}

// rivalry is one direct conflict.
type rivalry struct{ loser, winner *node }

// conflicts finds the live rivals of a lift, and all that would die with them:
// the rivals and their live descendants.
//
// The walk ends at a confirmed transaction, since that refuses the placing
// anyway; a conflict with an ancestor that lies behind one is therefore
// reported as ErrSpentByConfirmed.
func (pl *plan) conflicts(t *node, lift []*node) ([]rivalry, []*node, error) {
	inLift := pl.mark
	var rivals []rivalry
	var heads []*node
	for _, m := range lift {
		for i, op := range m.tx.Inputs {
			for _, s := range m.from[i].kids.of(op.Index) {
				switch c := s.by; {
				case c == m || c.tx.ID.Wallet != m.tx.ID.Wallet:
				case c.lifted == inLift:
					return nil, nil, pl.refuse(t, ErrSelfConflict, op.String()+" is spent twice")
				case c.tx.Live() && c.rival != inLift:
					c.rival = inLift
					rivals = append(rivals, rivalry{c, m})
					heads = append(heads, c)
				}
			}
		}
	}
	if len(heads) == 0 {
		return nil, nil, nil
	}
	losers, err := pl.withDescendants(heads)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range lift {
		lost := m.lost == pl.mark
		for i := range m.from {
			p := m.parent(i)
			lost = lost || p != nil && p.lost == pl.mark
		}
		if lost {
			return nil, nil, pl.refuse(t, ErrSelfConflict, "it would replace its own ancestor")
		}
	}
	for _, l := range losers {
		if l.tx.Confirmed() {
			return nil, nil, pl.refuse(t, ErrSpentByConfirmed, l.tx.ID.String())
		}
	}
	return rivals, losers, nil
}

// kill moves losers to their dead state and frees their inputs. An input that
// another live transaction wants, a declared replacement, passes to that one.
func (pl *plan) kill(losers []*node, why func(*node) (Trigger, string)) error {
	if len(losers) == 0 {
		return nil
	}
	if err := pl.loadParents(losers); err != nil {
		return err
	}
	if err := pl.loadRivals(losers); err != nil {
		return err
	}
	pl.expect(len(losers))
	pl.respent = slices.Grow(pl.respent, len(losers))
	for _, l := range losers {
		on, reason := why(l)
		if err := pl.step(l, on, reason, nil); err != nil {
			return err
		}
	}
	for _, l := range losers {
		for i, op := range l.tx.Inputs {
			pl.spend(l, i, l.tx.ID.Hash, l.from[i].claimant(l.tx.ID.Wallet, op.Index))
		}
	}
	return nil
}

// replace records the edges that are not stored yet.
func (pl *plan) replace(rivals []rivalry) error {
	if len(rivals) == 0 {
		return nil
	}
	ids := make([]TxID, len(rivals))
	for i, r := range rivals {
		ids[i] = r.loser.tx.ID
	}
	stored, err := pl.r.Replacements(ids...)
	if err != nil {
		return err
	}
	for _, r := range rivals {
		edge := Replacement{r.loser.tx.ID.Wallet, r.loser.tx.ID.Hash, r.winner.tx.ID.Hash}
		if !slices.Contains(stored, edge) {
			pl.set.Replaced = append(pl.set.Replaced, edge)
		}
	}
	return nil
}

// broadcast places a pending transaction by the mempool rule.
func (pl *plan) broadcast(ev Broadcasted) error {
	n, err := pl.one(ev.ID)
	if err != nil {
		return err
	}
	switch n.tx.Status {
	case Published:
		return nil
	case Pending:
		return pl.place(n, evidence{on: OnBroadcast, height: Unconfirmed})
	}
	return pl.refuse(n, statemachine.ErrIllegal, "a dead transaction needs evidence")
}

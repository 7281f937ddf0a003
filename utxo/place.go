package utxo

import (
	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/internal/topological"
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

// place is the one conflict rule. The transaction and its unpublished ancestors (the lift)
// become published and take their inputs; their live rivals lose, with all live
// descendants. place refuses when an ancestor is an orphaned coinbase, when the transaction
// conflicts with itself or an ancestor, when the confirmed chain spends an input, and when
// a rival was observed at the same time or later.
func (pl *plan) place(t *vertex, ev evidence) error {
	lift, err := pl.lift(t)
	if err != nil {
		return err
	}
	for _, m := range lift {
		if m != t && m.status == Orphaned {
			return pl.refuse(t, ErrDeadParent, "orphaned coinbase "+m.hash.String())
		}
	}
	rivals, losers, err := pl.conflicts(t, lift)
	if err != nil {
		return err
	}
	for _, l := range losers {
		if l.listed {
			return pl.refuse(t, ErrInputSpent, l.hash.String()+" of the same list conflicts with it")
		}
	}
	for _, l := range losers {
		if ev.seq > 0 && l.seq >= ev.seq { // of one reading the first wins
			return pl.refuse(t, ErrStale, l.hash.String()+", which would lose, was not observed before")
		}
	}
	if !ev.block() {
		if err := pl.inOrder(t, Unconfirmed); err != nil {
			return err
		}
	}
	if err := pl.readRaw(lift); err != nil { // after this nothing is refused
		return err
	}
	if err := pl.prove(t); err != nil {
		return err
	}
	pl.rivalries = append(pl.rivalries, rivals...)
	inLift := t.lifted
	// The winners come first: a loser may be a child of one, never a parent.
	for _, m := range lift {
		on := onProven
		if m == t {
			on = ev.on
		}
		if err := pl.move(m, on, "", func(f *facts) {
			if m == t {
				f.height, f.position = ev.height, ev.position
			}
			f.seq, f.public = max(f.seq, ev.seq), true
		}); err != nil {
			return err
		}
	}
	if err := pl.spreadRows(lift); err != nil {
		return err
	}
	if err := pl.kill(losers, func(l *vertex) (Trigger, string) {
		switch {
		case l.rival != inLift:
			return onParentDied, ""
		case ev.block() || l.status == Pending:
			return onDoubleSpent, ""
		}
		return onReplaced, ""
	}); err != nil {
		return err
	}
	return pl.spreadAround()
}

// move takes a transaction along an edge of the table, in every row.
func (pl *plan) move(v *vertex, on Trigger, reason string, change func(*facts)) error {
	to, ok := TxMachine.Next(v.status, on)
	if !ok {
		return pl.refuse(v, statemachine.ErrIllegal, "")
	}
	dies := to != Published
	if v.status != to {
		pl.graph.moved(v)
	}
	v.status = to
	if change != nil {
		change(&v.facts)
	}
	for _, n := range v.rows {
		by := on
		if _, ok := TxMachine.Next(n.tx.Status, on); !ok { // a wallet that gave up what it had submitted
			if dies {
				continue
			}
			by = onProven
		}
		err := pl.step(n, by, reason, func(t *Tx) { t.Height, t.Position, t.Seq, t.Public = v.height, v.position, v.seq, v.public })
		if err != nil {
			return err
		}
		n.mend(v.proof)
	}
	return nil
}

// lift returns the ancestors of t that are not published, parents first, then t.
func (pl *plan) lift(t *vertex) ([]*vertex, error) {
	if err := pl.graph.loadParents([]*vertex{t}); err != nil {
		return nil, err
	}
	var hashes []chainhash.Hash
	unpublished(t, func(p *vertex) { hashes = append(hashes, p.hash) })
	pl.graph.mark++
	t.lifted = pl.graph.mark
	members := []*vertex{t}
	if len(hashes) == 0 {
		return members, pl.graph.loadRivals(members)
	}
	mark := pl.graph.mark
	if err := pl.graph.load(pl.r.Ancestors(NotPublished, hashes...)); err != nil {
		return nil, err
	}
	for i := 0; i < len(members); i++ {
		members[i].place = i
		unpublished(members[i], func(p *vertex) {
			if p.lifted != mark {
				p.lifted = mark
				members = append(members, p)
			}
		})
	}
	order := make([]*vertex, 0, len(members))
	for _, i := range topological.Order(len(members), func(i int, add func(int)) {
		unpublished(members[i], func(p *vertex) { add(p.place) })
	}) {
		order = append(order, members[i])
	}
	if err := pl.graph.loadParents(order); err != nil {
		return nil, err
	}
	return order, pl.graph.loadRivals(order)
}

// unpublished calls each for the known parents of v that are not published.
func unpublished(v *vertex, each func(*vertex)) {
	for _, p := range v.from {
		if p.status != 0 && p.status != Published {
			each(p)
		}
	}
}

// taker returns the member of the lift that shares an input with v; of several inputs the
// first that any member spends counts.
func (v *vertex) taker(lift uint32) *vertex {
	for i, op := range v.inputs {
		for _, s := range v.from[i].kids.of(op.Index) {
			if s.by.lifted == lift {
				return s.by
			}
		}
	}
	return nil
}

// rivalry is one direct conflict.
type rivalry struct{ loser, winner *vertex }

// conflicts finds the live rivals of a lift, and everything that would die with them: the
// rivals and their live descendants.
//
// The walk ends at a confirmed transaction, since a confirmed transaction refuses the
// placing anyway. A conflict with an ancestor that lies behind a confirmed transaction is
// therefore reported as ErrSpentByConfirmed.
func (pl *plan) conflicts(t *vertex, lift []*vertex) ([]rivalry, []*vertex, error) {
	inLift := t.lifted
	var rivals []rivalry
	var heads []*vertex
	for _, m := range lift {
		for i, op := range m.inputs {
			for _, s := range m.from[i].kids.of(op.Index) {
				switch c := s.by; {
				case c == m:
				case c.lifted == inLift:
					return nil, nil, pl.refuse(t, ErrSelfConflict, op.String()+" is spent twice")
				case c.live() && c.rival != inLift:
					c.rival = inLift
					rivals = append(rivals, rivalry{c, c.taker(inLift)})
					heads = append(heads, c)
				}
			}
		}
	}
	if len(heads) == 0 {
		return nil, nil, nil
	}
	losers, err := pl.graph.withDescendants(heads)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range lift {
		lost := m.lost == pl.graph.mark
		for _, p := range m.from {
			lost = lost || p.lost == pl.graph.mark
		}
		if lost {
			return nil, nil, pl.refuse(t, ErrSelfConflict, "it would replace its own ancestor")
		}
	}
	for _, l := range losers {
		if l.confirmed() {
			return nil, nil, pl.refuse(t, ErrSpentByConfirmed, l.hash.String())
		}
	}
	return rivals, losers, nil
}

// kill moves losers to their dead state and frees their inputs. An input that another live
// transaction spends too, as a declared replacement, passes to that transaction.
func (pl *plan) kill(losers []*vertex, why func(*vertex) (Trigger, string)) error {
	if len(losers) == 0 {
		return nil
	}
	if err := pl.graph.loadParents(losers); err != nil {
		return err
	}
	if err := pl.graph.loadRivals(losers); err != nil {
		return err
	}
	pl.expect(len(losers))
	for _, l := range losers {
		on, reason := why(l)
		if err := pl.move(l, on, reason, nil); err != nil {
			return err
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
		return pl.place(n.at, evidence{on: onBroadcast, height: Unconfirmed})
	}
	return pl.refuse(n.at, statemachine.ErrIllegal, "a dead transaction needs evidence")
}

func (pl *plan) refuse(v *vertex, why error, reason string) error {
	id := v.hash.String()
	if w := Scope(pl.ev); w != 0 {
		id = TxID{w, v.hash}.String()
	}
	r := &statemachine.Refusal{Err: why, Machine: TxMachine.Name(), ID: id, Event: pl.event(), Reason: reason}
	if v.status != 0 {
		r.State = v.status.String()
	}
	return r
}

// inOrder refuses a transaction whose height would be below that of an ancestor, or above
// that of a descendant: no chain can hold it, and a rollback would orphan a transaction
// that stays confirmed. inOrder looks through unconfirmed ancestors. It looks through
// unconfirmed descendants only of a coinbase and of a transaction that arrives after its
// child, since only these can have confirmed descendants; so confirming a long chain costs
// nothing extra.
func (pl *plan) inOrder(v *vertex, height int32) error {
	low, high := height, height // of what v stands on, and of what stands on v
	pl.graph.mark++
	var below []*vertex
	for _, s := range v.kids {
		if s.by.live() && s.by.lost != pl.graph.mark {
			s.by.lost = pl.graph.mark
			below = append(below, s.by)
		}
	}
	if high == Unconfirmed && len(below) == 0 {
		return nil
	}
	above, err := pl.graph.withUnconfirmedAncestors(v)
	if err != nil {
		return err
	}
	for _, a := range above {
		for _, p := range a.from {
			low = max(low, p.height)
		}
	}
	if low == Unconfirmed {
		return nil
	}
	if len(below) > 0 && (v.coinbase || v.status == 0) {
		if below, err = pl.graph.withDescendants(below); err != nil {
			return err
		}
	}
	for _, d := range below {
		if d.confirmed() && (high == Unconfirmed || d.height < high) {
			high = d.height
		}
	}
	if high != Unconfirmed && high < low {
		return invalid("transaction %s would make height %d descend from height %d", v.hash, high, low)
	}
	return nil
}

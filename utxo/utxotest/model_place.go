package utxotest

import (
	"fmt"
	"slices"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// evidence is why a transaction becomes published.
type evidence struct {
	trigger          utxo.Trigger
	seq              int64 // of the observation, 0 where sequences play no part
	block            bool
	height, position int32
	listed           []*fact // of the same list, placed before
}

// place publishes t with its unpublished ancestors: the one conflict rule. A refusal leaves
// the model half changed; [Model.Apply] then throws the model away.
func (m *Model) place(t *fact, e evidence) error {
	lift := m.lift(t)
	for _, r := range lift {
		if r != t && r.coinbase { // a coinbase that is not published is orphaned
			return fmt.Errorf("%w: coinbase %s is orphaned", utxo.ErrDeadParent, r.hash)
		}
	}
	rivals := m.rivals(lift)
	losers := m.withDescendants(rivals)
	if err := conflict(lift, losers); err != nil {
		return err
	}
	for _, loser := range losers {
		if slices.Contains(e.listed, loser) {
			return fmt.Errorf("%w: %s is in the same list", utxo.ErrInputSpent, loser.hash)
		}
	}
	for _, loser := range losers {
		if e.seq > 0 && loser.seq >= e.seq {
			return fmt.Errorf("%w: %s, which would lose, was not seen before", utxo.ErrStale, loser.hash)
		}
	}
	if !e.block {
		if err := m.inOrder(t, utxo.Unconfirmed); err != nil {
			return err
		}
	}

	for _, loser := range losers {
		switch {
		case !slices.Contains(rivals, loser):
			m.move(loser, onParentDied, utxo.Failed)
		case !e.block && loser.status == utxo.Published:
			m.move(loser, onReplaced, utxo.Replaced)
		default:
			m.move(loser, onDoubleSpent, utxo.Failed)
		}
	}
	for _, loser := range rivals {
		m.won = append(m.won, [2]*fact{loser, taker(loser, lift)})
	}
	for _, r := range lift {
		m.show1(r)
		r.public = true
		r.seq = max(r.seq, e.seq) // what proves the child proves it
		if r != t {
			m.move(r, onProven, utxo.Published)
		}
	}
	m.move(t, e.trigger, utxo.Published)
	if e.block {
		t.height, t.position = e.height, e.position
	}
	return nil
}

// taker is the one of lift that takes the loser's first input that any takes.
func taker(loser *fact, lift []*fact) *fact {
	for _, in := range loser.tx.TxIn {
		for _, winner := range lift {
			if winner.spends(in.PreviousOutPoint) {
				return winner
			}
		}
	}
	return nil
}

// conflict says why the transactions of lift may not win.
func conflict(lift, losers []*fact) error {
	for i, r := range lift {
		if spentTwice(r.tx) {
			return fmt.Errorf("%w: %s spends an outpoint twice", utxo.ErrSelfConflict, r.hash)
		}
		for _, other := range lift[:i] {
			if r.rivalOf(other) {
				return fmt.Errorf("%w: %s and %s spend the same outpoint", utxo.ErrSelfConflict, other.hash, r.hash)
			}
		}
	}
	for _, loser := range losers {
		for _, r := range lift {
			if loser == r || r.childOf(loser) {
				return fmt.Errorf("%w: %s stands on its rival or on what would die with it, %s", utxo.ErrSelfConflict, r.hash, loser.hash)
			}
		}
	}
	for _, loser := range losers {
		if loser.confirmed() {
			return fmt.Errorf("%w: by %s", utxo.ErrSpentByConfirmed, loser.hash)
		}
	}
	return nil
}

// lift returns t and its known ancestors that are not published, parents first, and
// otherwise in order of arrival.
func (m *Model) lift(t *fact) []*fact {
	members := []*fact{t}
	for grown := true; grown; {
		grown = false
		for _, r := range m.facts {
			if r.status == 0 || r.status == utxo.Published || slices.Contains(members, r) {
				continue
			}
			if slices.ContainsFunc(members, func(c *fact) bool { return c.childOf(r) }) {
				members = append(members, r)
				grown = true
			}
		}
	}
	var order []*fact
	for len(order) < len(members) {
		for _, r := range m.facts {
			waits := func(p *fact) bool { return r.childOf(p) && !slices.Contains(order, p) }
			if slices.Contains(members, r) && !slices.Contains(order, r) && !slices.ContainsFunc(members, waits) {
				order = append(order, r)
				break
			}
		}
	}
	return order
}

// rivals returns the live transactions outside lift that share an input with a member.
func (m *Model) rivals(lift []*fact) []*fact {
	var rivals []*fact
	for _, r := range m.facts {
		if r.live() && !slices.Contains(lift, r) && slices.ContainsFunc(lift, r.rivalOf) {
			rivals = append(rivals, r)
		}
	}
	return rivals
}

// withDescendants returns the transactions and their live descendants, without those below
// a confirmed transaction.
func (m *Model) withDescendants(from []*fact) []*fact {
	all := slices.Clone(from)
	for grown := true; grown; {
		grown = false
		for _, r := range m.facts {
			if !r.live() || slices.Contains(all, r) {
				continue
			}
			if slices.ContainsFunc(all, func(p *fact) bool { return !p.confirmed() && r.childOf(p) }) {
				all = append(all, r)
				grown = true
			}
		}
	}
	return all
}

// inOrder refuses a transaction that would stand in a lower block than an ancestor, which
// no chain can hold. The nearest confirmed ancestors and descendants count, reached through
// unconfirmed ones, and t at the height that it is about to have. If t is known already and
// no coinbase, only its children count as descendants: those further down were tested when
// they came.
func (m *Model) inOrder(t *fact, height int32) error {
	low, high := height, height // of what t stands on, of what stands on t
	for _, r := range m.reach(t, func(from, r *fact) bool { return from.childOf(r) }) {
		low = max(low, r.height)
	}
	for _, r := range m.reach(t, func(from, r *fact) bool { return r.live() && r.childOf(from) }) {
		near := r.childOf(t) || t.coinbase || t.status == 0
		if near && r.confirmed() && (high == utxo.Unconfirmed || r.height < high) {
			high = r.height
		}
	}
	if high != utxo.Unconfirmed && high < low {
		return fmt.Errorf("%w: %s would make a transaction at height %d descend from one at %d", statemachine.ErrInvalid, t.hash, high, low)
	}
	return nil
}

// reach walks from t to what next leads to, and not on from a confirmed one.
func (m *Model) reach(t *fact, next func(from, to *fact) bool) []*fact {
	all := []*fact{t}
	for grown := true; grown; {
		grown = false
		for _, r := range m.facts {
			steps := func(from *fact) bool { return (from == t || !from.confirmed()) && next(from, r) }
			if !slices.Contains(all, r) && slices.ContainsFunc(all, steps) {
				all = append(all, r)
				grown = true
			}
		}
	}
	return all[1:]
}

package utxo

import (
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/internal/topological"
	"github.com/settlehq/settle/statemachine"
)

// collect writes the difference between what is stored and what is planned.
func (pl *plan) collect() error {
	set := &pl.set
	if err := pl.replaced(); err != nil {
		return err
	}
	pl.spendAll()
	pl.parentsFirst()
	inserts, updates := 0, 0
	for _, s := range pl.graph.steps {
		switch {
		case s.before > 0:
		case s.of.old == nil:
			inserts++
		default:
			updates++
		}
	}
	set.Inserts = slices.Grow(set.Inserts, inserts)
	set.Updates = slices.Grow(set.Updates, updates)
	for _, s := range pl.graph.steps {
		switch n := s.of; {
		case s.before > 0:
		case n.old == nil:
			set.Inserts = append(set.Inserts, &n.tx)
		default:
			set.Updates = append(set.Updates, TxUpdate{
				ID: n.tx.ID, FromVersion: n.old.Version, Old: n.old.state(), New: n.tx.state(), OldRaw: n.oldRaw, Raw: n.newRaw(),
			})
		}
	}
	pl.sums()
	set.Spends = slices.Grow(set.Spends, len(pl.graph.respent))
	for _, n := range pl.graph.respent {
		for i := range n.tx.Outputs {
			is := &n.tx.Outputs[i]
			was := n.old.Output(is.Index)
			switch {
			case was == nil:
				set.Joined = append(set.Joined, JoinedOutput{n.tx.ID, *is})
			case was.SpentBy != is.SpentBy:
				op := wire.OutPoint{Hash: n.tx.ID.Hash, Index: is.Index}
				set.Spends = append(set.Spends, Spend{n.tx.ID.Wallet, op, was.SpentBy, is.SpentBy})
			}
		}
	}
	return nil
}

// spendAll points every owned output that a change touches to its live spender.
func (pl *plan) spendAll() {
	point := func(v *vertex, n *row, out *Output) {
		by := v.claimant(n.tx.ID.Wallet, out.Index)
		if out.SpentBy != by {
			pl.graph.outputs(n)
			n.tx.Output(out.Index).SpentBy = by
		}
	}
	for _, v := range pl.graph.changed {
		for i, op := range v.inputs {
			v.from[i].owner(op.Index, func(n *row, out *Output) { point(v.from[i], n, out) })
		}
	}
	for _, n := range pl.graph.fresh {
		for i := range n.tx.Outputs {
			point(n.at, n, &n.tx.Outputs[i])
		}
	}
}

// replaced adds the edges from losers to winners, in every wallet that has both
// transactions, also where one of them has joined the wallet only now.
func (pl *plan) replaced() error {
	if len(pl.joined) == 0 && len(pl.rivalries) == 0 {
		return nil
	}
	var ids []TxID
	into := map[chainhash.Hash][]WalletID{}
	stored := func(v *vertex) {
		for _, n := range v.rows {
			if n.old != nil {
				ids = append(ids, n.tx.ID)
			}
		}
	}
	for _, r := range pl.rivalries {
		stored(r.loser)
	}
	for _, id := range pl.joined {
		if into[id.Hash] == nil {
			stored(pl.graph.vertices[id.Hash])
		}
		into[id.Hash] = append(into[id.Hash], id.Wallet)
	}
	known, err := pl.r.Replacements(ids...)
	if err != nil {
		return err
	}
	var ends []chainhash.Hash
	for _, e := range known {
		for _, h := range []chainhash.Hash{e.Loser, e.Winner} {
			if v := pl.graph.vertices[h]; v == nil || len(v.rows) == 0 {
				ends = append(ends, h)
			}
		}
	}
	if err := pl.graph.loadRows(ends); err != nil {
		return err
	}
	add := func(w WalletID, loser, winner chainhash.Hash) {
		same := func(e Replacement) bool { return e.Wallet == w && e.Loser == loser && e.Winner == winner }
		if pl.graph.get(TxID{w, loser}) != nil && pl.graph.get(TxID{w, winner}) != nil &&
			!slices.ContainsFunc(known, same) && !slices.ContainsFunc(pl.set.Replaced, same) {
			pl.set.Replaced = append(pl.set.Replaced, Replacement{Wallet: w, Loser: loser, Winner: winner})
		}
	}
	for _, r := range pl.rivalries {
		for _, n := range r.loser.rows {
			add(n.tx.ID.Wallet, r.loser.hash, r.winner.hash)
		}
	}
	for _, e := range known {
		if !e.Declared {
			for _, w := range slices.Concat(into[e.Loser], into[e.Winner]) {
				add(w, e.Loser, e.Winner)
			}
		}
	}
	return nil
}

// parentsFirst moves the steps of every transaction behind the steps of its parents. They
// are rarely out of order: it happens when a descendant is lost over two paths of different
// length, or when a later transaction of the same block changes its parent.
func (pl *plan) parentsFirst() {
	parents := func(n *row, each func(*row)) {
		for _, p := range n.at.from {
			if of := p.in(n.tx.ID.Wallet); of != nil {
				each(of)
			}
		}
	}
	inOrder := true
	for line, s := range pl.graph.steps {
		parents(s.of, func(p *row) { inOrder = inOrder && p.last <= line })
	}
	if inOrder {
		return
	}
	log, steps := pl.set.Log, pl.graph.steps
	pl.set.Log, pl.graph.steps = make([]statemachine.Transition[TxID], 0, len(log)), make([]step, 0, len(log))
	for _, line := range topological.Order(len(steps), func(line int, add func(int)) {
		s := steps[line]
		if s.before > 0 {
			add(s.before - 1)
		}
		parents(s.of, func(p *row) {
			if p.last > 0 {
				add(p.last - 1)
			}
		})
	}) {
		pl.set.Log, pl.graph.steps = append(pl.set.Log, log[line]), append(pl.graph.steps, steps[line])
	}
}

package utxo

import (
	"slices"

	"github.com/settlehq/settle/internal/topological"
	"github.com/settlehq/settle/statemachine"
)

// invalidate fails what the host gives up, with everything that depends on it.
func (pl *plan) invalidate(ev Invalidated) error {
	n, err := pl.one(ev.ID)
	if err != nil {
		return err
	}
	if n.tx.Confirmed() {
		return pl.refuse(n.at, statemachine.ErrIllegal, "it is confirmed")
	}
	if !n.tx.Live() {
		return nil
	}
	losers, err := pl.graph.withDescendants([]*vertex{n.at})
	if err != nil {
		return err
	}
	for _, l := range losers {
		if l.confirmed() {
			return pl.refuse(n.at, statemachine.ErrIllegal, "its descendant "+l.hash.String()+" is confirmed")
		}
	}
	reason := statemachine.Bounded(ev.Reason, 500)
	if n.tx.Status == Pending {
		return pl.giveUp(n, losers, reason)
	}
	return pl.kill(losers, func(l *vertex) (Trigger, string) {
		if l == n.at {
			return onInvalidated, reason
		}
		return onParentDied, ""
	})
}

// giveUp fails the pending row n, which belongs to its wallet alone, and the pending rows
// that descend from it: those of the same wallet, and those of other wallets where no
// wallet has a live row of the parent any more.
func (pl *plan) giveUp(n *row, losers []*vertex, reason string) error {
	if err := pl.graph.loadParents(losers); err != nil {
		return err
	}
	if err := pl.graph.loadRivals(losers); err != nil {
		return err
	}
	for i, l := range losers {
		l.place = i
	}
	inWalk := pl.graph.mark
	for _, i := range topological.Order(len(losers), func(i int, add func(int)) {
		for _, p := range losers[i].from {
			if p.lost == inWalk {
				add(p.place)
			}
		}
	}) {
		v := losers[i]
		for _, row := range v.rows {
			on, why := onParentDied, ""
			switch {
			case row == n:
				on, why = onInvalidated, reason
			case !row.tx.Live() || !deadParent(row):
				continue
			}
			if err := pl.step(row, on, why, nil); err != nil {
				return err
			}
			pl.graph.moved(v)
		}
		v.status = 0
		for _, row := range v.rows {
			v.learn(&row.tx)
		}
	}
	return nil
}

// deadParent reports whether a parent of the row is dead: in the row's own wallet, or,
// where this wallet has no row of the parent, in all wallets.
func deadParent(n *row) bool {
	return slices.ContainsFunc(n.at.from, func(p *vertex) bool {
		if own := p.in(n.tx.ID.Wallet); own != nil {
			return !own.tx.Live()
		}
		return p.status != 0 && !p.live()
	})
}

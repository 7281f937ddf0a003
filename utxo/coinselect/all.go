package coinselect

import (
	"slices"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// takeAll takes every coin that fits, tier by tier, the most valuable first. Room only
// shrinks, so a coin that is passed over would not fit later either. If the coins taken do
// not pay, takeAll starts again from a set that does.
func (s *selector) takeAll(tiers [tiers][]input) (Selection, error) {
	var pool []input
	for _, tier := range tiers {
		slices.SortFunc(tier, largestFirst)
		pool = append(pool, tier...)
	}
	p, taken, left := s.fill(pool, nil)
	if !s.pays(p) {
		p, taken, left = s.fill(pool, s.packed(pool))
	}
	if !s.pays(p) {
		why := ErrInsufficientFunds
		if s.canPay(pool) {
			why = s.limitedBy(func() bool {
				p, _, _ := s.fill(pool, nil)
				return s.pays(p)
			})
		}
		return Selection{}, s.failed(why, pool)
	}
	sel := s.finish(LargestFirst, taken)
	left = append(left, s.barred...)
	slices.SortFunc(left, func(a, b LeftOut) int { return utxo.CompareOutPoints(a.OutPoint, b.OutPoint) })
	sel.LeftOut = left
	return distinct(sel)
}

// packed searches for a set that pays, whatever is left out.
func (s *selector) packed(pool []input) map[wire.OutPoint]bool {
	sorted := slices.Clone(pool)
	slices.SortFunc(sorted, largestFirst)
	set := map[wire.OutPoint]bool{}
	for _, in := range s.search(sorted, anyExcess, true) {
		set[in.OutPoint] = true
	}
	return set
}

// fill takes what fits of a pool, in its order, those of a set before the others.
func (s *selector) fill(pool []input, set map[wire.OutPoint]bool) (p *pick, taken []*input, left []LeftOut) {
	p = s.start()
	omit := func(in *input, why Bar) {
		left = append(left, LeftOut{OutPoint: in.OutPoint, Amount: in.Amount, Bar: why})
	}
	for _, first := range []bool{true, false} {
		for i := range pool {
			in := &pool[i]
			if set[in.OutPoint] != first {
				continue
			}
			p.add(*in)
			if bar := s.tooDeep(p); s.tooMany(p) {
				p.remove(*in)
				omit(in, BarNoRoom)
			} else if bar != 0 {
				p.remove(*in)
				omit(in, bar)
			} else {
				taken = append(taken, in)
			}
		}
	}
	// From the 253rd input on, the count of inputs takes two more virtual bytes: the inputs
	// beyond the 252nd have to be worth these too.
	if short := maxShortCount - len(s.pinned); short > 0 && len(taken) > short {
		q := s.start()
		for _, in := range taken[:short] {
			q.add(*in)
		}
		if s.excess(q) >= s.excess(p) {
			for _, in := range taken[short:] {
				omit(in, BarUneconomic)
			}
			p, taken = q, taken[:short]
		}
	}
	return p, taken, left
}

package coinselect

import (
	"slices"

	"github.com/settlehq/settle/utxo"
)

// takeAll takes every coin that fits, tier by tier, the most valuable first.
// As room only shrinks, no coin that is left out would fit in the end.
func (s *selector) takeAll(tiers [tiers][]input) (Selection, error) {
	p, pool := s.start(), []input(nil)
	var taken []*input
	left := slices.Clone(s.barred)
	omit := func(in *input, why Bar) {
		left = append(left, LeftOut{OutPoint: in.OutPoint, Amount: in.Amount, Bar: why})
	}
	for _, tier := range tiers {
		slices.SortFunc(tier, largestFirst)
		pool = append(pool, tier...)
		for i := range tier {
			p.add(tier[i])
			switch {
			case s.tooMany(p):
				p.remove(tier[i])
				omit(&tier[i], BarNoRoom)
			case s.tooDeep(p):
				p.remove(tier[i])
				omit(&tier[i], BarAncestors)
			default:
				taken = append(taken, &tier[i])
			}
		}
	}
	// The 253rd input makes the count of inputs two virtual bytes longer: what
	// is beyond it has to be worth that too.
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
	if !s.pays(p) {
		why := ErrInsufficientFunds
		if s.canPay(pool) {
			why = ErrTooManyInputs
			if limit := s.ancestorLimit; limit < noAncestorLimit {
				s.ancestorLimit = noAncestorLimit
				if _, err := s.takeAll(tiers); err == nil {
					why = ErrTooManyAncestors
				}
				s.ancestorLimit = limit
			}
		}
		return Selection{}, s.failed(why, pool)
	}
	sel := s.finish(LargestFirst, taken)
	slices.SortFunc(left, func(a, b LeftOut) int { return utxo.CompareOutPoints(a.OutPoint, b.OutPoint) })
	sel.LeftOut = left
	return distinct(sel)
}

package coinselect

import (
	"container/heap"
	"math"
	"math/bits"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/utxo"
)

// maxTries bounds a search, as Bitcoin Core's TOTAL_TRIES does.
const maxTries = 100_000

// anyExcess as the window of a search accepts every set that pays.
const anyExcess = math.MaxInt64

// pick is a set of inputs under construction: its sums, not its members.
type pick struct {
	n         int
	amount    int64 // satoshi
	value     int64 // units, before what ancestors lack
	weight    int64 // of the inputs
	shortfall int64 // satoshi, what the ancestors lack of the rate, each once
	ancestors map[chainhash.Hash]shared
	above     int64                // virtual bytes of all ancestors, each once
	lacks     func(Ancestor) int64 // nil if nobody pays for ancestors
}

// shared is an ancestor of a set of inputs.
type shared struct {
	n     int   // how many inputs descend from it
	below int64 // virtual bytes of it and of what hangs on it
}

// start returns the pinned inputs and more.
func (s *selector) start(more ...input) *pick {
	p := &pick{ancestors: map[chainhash.Hash]shared{}}
	if s.payAncestors {
		p.lacks = s.shortfall
	}
	for _, in := range s.pinned {
		p.add(in)
	}
	for _, in := range more {
		p.add(in)
	}
	return p
}

func (p *pick) add(in input) {
	p.n, p.amount, p.value, p.weight = p.n+1, p.amount+in.Amount, p.value+in.gross(), p.weight+int64(in.weight)
	for _, a := range in.Ancestors {
		at := p.ancestors[a.Hash]
		at.n, at.below = at.n+1, a.DescendantsSize
		p.ancestors[a.Hash] = at
		if at.n > 1 {
			continue
		}
		p.above += a.Size
		if p.lacks != nil {
			p.shortfall += p.lacks(a)
		}
	}
}

func (p *pick) remove(in input) {
	p.n, p.amount, p.value, p.weight = p.n-1, p.amount-in.Amount, p.value-in.gross(), p.weight-int64(in.weight)
	for _, a := range in.Ancestors {
		at := p.ancestors[a.Hash]
		if at.n--; at.n > 0 {
			p.ancestors[a.Hash] = at
			continue
		}
		delete(p.ancestors, a.Hash)
		p.above -= a.Size
		if p.lacks != nil {
			p.shortfall -= p.lacks(a)
		}
	}
}

func (s *selector) tooMany(p *pick) bool {
	return p.n > s.maxInputs || s.weight(p, s.changeWeight) > s.maxWeight
}

// weight is that of the transaction, with another output of this weight.
func (s *selector) weight(p *pick, output int64) int64 {
	return s.base + countWeight(p.n) + p.weight + output
}

// fee is what the transaction owes, with another output of this weight.
func (s *selector) fee(p *pick, output int64) int64 {
	w := s.weight(p, output)
	fee := s.rate.Fee(w)
	if s.evicted > 0 {
		fee = max(fee, s.evicted+s.incremental.Fee(w))
	}
	return fee + p.shortfall
}

// excess is what the set brings above payment and fee, without change.
func (s *selector) excess(p *pick) int64 { return p.amount - s.amount - s.fee(p, 0) }

// change is what a change output would get.
func (s *selector) change(p *pick) int64 { return p.amount - s.amount - s.fee(p, s.changeWeight) }

func (s *selector) pays(p *pick) bool { return s.excess(p) >= 0 }

// draw takes inputs in the given order until they pay. Where the number or the weight is
// exceeded, it drops the input with the least effective value, so that the most valuable
// ones remain. It returns nil if they do not pay in the end.
func (s *selector) draw(order []input) []*input {
	p, taken := s.start(), leastFirst{}
	for i := range order {
		if s.pays(p) {
			break
		}
		p.add(order[i])
		if s.tooDeep(p) != 0 {
			p.remove(order[i])
			continue
		}
		heap.Push(&taken, &order[i])
		for s.tooMany(p) && len(taken) > 0 {
			p.remove(*heap.Pop(&taken).(*input))
		}
	}
	if !s.pays(p) {
		return nil
	}
	return taken
}

// leastFirst is a heap with the input on top that LargestFirst would take last.
type leastFirst []*input

func (h leastFirst) Len() int           { return len(h) }
func (h leastFirst) Less(i, j int) bool { return largestFirst(*h[i], *h[j]) > 0 }
func (h leastFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *leastFirst) Push(x any)        { *h = append(*h, x.(*input)) }
func (h *leastFirst) Pop() any {
	last := len(*h) - 1
	in := (*h)[last]
	*h = (*h)[:last]
	return in
}

// search is branch and bound, after Bitcoin Core's SelectCoinsBnB and section 4.1.2 of
// Murch, "An Evaluation of Coin Selection Strategies". It goes depth first through a pool
// in the order of largestFirst; each input is first taken and then left out. A branch ends
// where the excess is above the window, where the rest of the pool cannot pay, or, while
// inputs cost more now than in the long term, where the branch has wasted more than the
// best set. search returns the set with the least waste (with first, the first set that it
// finds), or nil.
func (s *selector) search(pool []input, window int64, first bool) []*input {
	rest := make([]int64, len(pool)+1) // value from here on
	for i := len(pool) - 1; i >= 0; i-- {
		rest[i] = rest[i+1] + pool[i].gross()
	}
	var taken, best []int
	found, leastWaste := false, int64(math.MaxInt64)
	inWindow := func(p *pick, excess int64) bool {
		return window == anyExcess || excess*perSatoshi <= window && s.change(p) < s.minChange
	}
	p, i := s.start(), 0
	for i < len(pool) && s.evicted == 0 && p.value+pool[i].value-s.need(p.n+1)-p.shortfall*perSatoshi-s.rounding() > window {
		i++ // is in no set
	}
	for range maxTries {
		excess := s.excess(p)
		waste := s.inputWaste(p.weight)
		more := excess < 0 && i < len(pool) && p.value+rest[i] >= s.need(p.n)+p.shortfall*perSatoshi &&
			(s.rate <= s.longTerm || waste <= leastWaste)
		if excess >= 0 && inWindow(p, excess) && (!found || waste+excess*perSatoshi < leastWaste) {
			found, leastWaste = true, waste+excess*perSatoshi
			best = slices.Clone(taken)
			if first {
				break
			}
		}
		if more {
			omitted := i > 0 && (len(taken) == 0 || taken[len(taken)-1] != i-1)
			if !(omitted && pool[i].like(pool[i-1])) {
				if p.add(pool[i]); s.tooMany(p) || s.tooDeep(p) != 0 {
					p.remove(pool[i])
				} else {
					taken = append(taken, i)
				}
			}
			i++
			continue
		}
		if len(taken) == 0 {
			break
		}
		last := len(taken) - 1
		i = taken[last] + 1
		p.remove(pool[taken[last]])
		taken = taken[:last]
	}
	if !found {
		return nil
	}
	set := make([]*input, len(best))
	for j, i := range best {
		set[j] = &pool[i]
	}
	return set
}

// like reports whether a branch with in instead of other gives nothing new.
func (in input) like(other input) bool {
	return in.value == other.value && in.weight == other.weight && len(in.Ancestors) == 0 && len(other.Ancestors) == 0
}

// inputWaste is what the inputs cost now above the long term, in units.
func (s *selector) inputWaste(weight int64) int64 { return (s.rate - s.longTerm).units(weight) }

// shuffled returns the pool in random order (Fisher-Yates). The bias of the
// multiplication is below len(pool)/2^64.
func shuffled(pool []input, random interface{ Uint64() uint64 }) []input {
	pool = slices.Clone(pool)
	for i := len(pool) - 1; i > 0; i-- {
		j, _ := bits.Mul64(random.Uint64(), uint64(i+1))
		pool[i], pool[j] = pool[j], pool[i]
	}
	return pool
}

// finish adds the pinned inputs and settles fee and change.
func (s *selector) finish(a Algorithm, picked []*input) Selection {
	slices.SortFunc(picked, func(a, b *input) int { return utxo.CompareOutPoints(a.OutPoint, b.OutPoint) })
	all := slices.Clone(s.pinned)
	for _, in := range picked {
		all = append(all, *in)
	}
	p := s.start()
	for _, in := range picked {
		p.add(*in)
	}
	sel := Selection{Algorithm: a, Weight: s.weight(p, 0), AncestorFee: p.shortfall}
	for _, in := range all {
		sel.Inputs = append(sel.Inputs, *in.Candidate)
		sel.Parents = appendParents(sel.Parents, in.Ancestors)
	}
	excess := s.excess(p)
	sel.Fee = s.fee(p, 0)
	waste := s.inputWaste(p.weight)
	switch change := s.change(p); {
	case s.rest:
		sel.Change = s.minChange + excess
	case change >= s.minChange:
		sel.Weight, sel.Fee, sel.Change = s.weight(p, s.changeWeight), s.fee(p, s.changeWeight), change
		waste += s.costOfChange
	default:
		sel.Fee += excess
		waste += excess * perSatoshi
	}
	sel.Waste = waste / perSatoshi
	if waste%perSatoshi < 0 {
		sel.Waste--
	}
	return sel
}

// appendParents adds the pending ancestors that are not listed yet. Each list has parents
// first and contains all parents of its members, so the joined list has parents first too.
// A selection has less than MaxAncestorLimit ancestors.
func appendParents(parents []chainhash.Hash, ancestors []Ancestor) []chainhash.Hash {
	for _, a := range ancestors {
		if a.Pending && !slices.Contains(parents, a.Hash) {
			parents = append(parents, a.Hash)
		}
	}
	return parents
}

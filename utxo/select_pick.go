package utxo

import (
	"container/heap"
	"math"
	"math/bits"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
)

// maxTries bounds a search, as Bitcoin Core's TOTAL_TRIES does.
const maxTries = 100_000

// anyExcess as the window of a search accepts every set that pays.
const anyExcess = math.MaxInt64

// pick is a set of inputs under construction: its sums, not its members.
type pick struct {
	n         int
	value     int64                  // units
	weight    int64                  // of the inputs
	ancestors map[chainhash.Hash]int // how many inputs descend from each
}

func (s *selector) start() *pick {
	p := &pick{ancestors: map[chainhash.Hash]int{}}
	for _, in := range s.pinned {
		p.add(in)
	}
	return p
}

func (p *pick) add(in input) {
	p.n, p.value, p.weight = p.n+1, p.value+in.value, p.weight+in.weight
	for _, a := range in.Ancestors {
		p.ancestors[a.Hash]++
	}
}

func (p *pick) remove(in input) {
	p.n, p.value, p.weight = p.n-1, p.value-in.value, p.weight-in.weight
	for _, a := range in.Ancestors {
		if p.ancestors[a.Hash]--; p.ancestors[a.Hash] == 0 {
			delete(p.ancestors, a.Hash)
		}
	}
}

func (s *selector) tooMany(p *pick) bool {
	return p.n > s.maxInputs || s.base+countWeight(p.n)+p.weight+s.changeWeight > s.maxWeight
}

func (s *selector) tooDeep(p *pick) bool {
	return len(p.ancestors) > 0 && len(p.ancestors)+1 > s.ancestorLimit
}

func (s *selector) pays(p *pick) bool { return p.value >= s.need(p.n) }

// draw takes inputs in the given order until they pay. Where one too many
// exceeds the number or the weight, the one of the least effective value goes,
// so that what remains in the end is worth the most. It returns nil if that
// does not pay.
func (s *selector) draw(order []input) []*input {
	p, taken := s.start(), leastFirst{}
	for i := range order {
		if s.pays(p) {
			break
		}
		p.add(order[i])
		if s.tooDeep(p) {
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

// search is branch and bound, after Bitcoin Core's SelectCoinsBnB and section
// 4.1.2 of Murch, "An Evaluation of Coin Selection Strategies": depth first
// over a pool in the order of largestFirst, with each input first taken and
// then left out. A branch ends where the excess is above the window, where the
// rest of the pool cannot pay, or where inputs that cost more now than in the
// long term have wasted more than the best set. It returns the set with the
// least waste, or the first one, or nil.
func (s *selector) search(pool []input, window int64, first bool) []*input {
	rest := make([]int64, len(pool)+1) // value from here on
	for i := len(pool) - 1; i >= 0; i-- {
		rest[i] = rest[i+1] + pool[i].value
	}
	var taken, best []int
	found, leastWaste := false, int64(math.MaxInt64)
	p, i := s.start(), 0
	for i < len(pool) && p.value+pool[i].value-s.need(p.n+1) > window {
		i++ // is in no set
	}
	for range maxTries {
		excess := p.value - s.need(p.n)
		waste := s.inputWaste(p.weight)
		more := excess < 0 && excess+rest[i] >= 0 && (s.rate <= s.longTerm || waste <= leastWaste)
		if excess >= 0 && excess <= window && (!found || waste+excess < leastWaste) {
			found, leastWaste = true, waste+excess
			best = slices.Clone(taken)
			if first {
				break
			}
		}
		if more {
			omitted := i > 0 && (len(taken) == 0 || taken[len(taken)-1] != i-1)
			if !(omitted && pool[i].like(pool[i-1])) {
				if p.add(pool[i]); s.tooMany(p) || s.tooDeep(p) {
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
	slices.SortFunc(picked, func(a, b *input) int { return compareOutPoints(a.OutPoint, b.OutPoint) })
	all := slices.Clone(s.pinned)
	for _, in := range picked {
		all = append(all, *in)
	}
	p := &pick{ancestors: map[chainhash.Hash]int{}}
	sel := Selection{Algorithm: a}
	spare := -s.amount // satoshi for fee and change
	for _, in := range all {
		p.add(in)
		spare += in.Amount
		sel.Inputs = append(sel.Inputs, *in.Candidate)
		sel.Parents = appendParents(sel.Parents, in.Ancestors)
	}
	sel.Weight = s.base + countWeight(p.n) + p.weight
	excess := p.value - s.need(p.n)
	sel.Fee = spare
	waste := s.inputWaste(p.weight) + excess
	// Decided in units, as search decides, so that its sets have no change.
	if excess-s.rate.units(s.changeWeight) >= s.minChange*perSatoshi {
		sel.Weight += s.changeWeight
		sel.Fee = s.rate.Fee(sel.Weight)
		sel.Change = spare - sel.Fee
		waste = s.inputWaste(p.weight) + s.costOfChange
	}
	sel.Waste = waste / perSatoshi
	if waste%perSatoshi < 0 {
		sel.Waste--
	}
	return sel
}

// appendParents adds the pending ancestors that are not listed yet. As every
// list has parents first and is closed, so is the sum. A selection has less
// than MaxAncestorLimit ancestors.
func appendParents(parents []chainhash.Hash, ancestors []Ancestor) []chainhash.Hash {
	for _, a := range ancestors {
		if a.Pending && !slices.Contains(parents, a.Hash) {
			parents = append(parents, a.Hash)
		}
	}
	return parents
}

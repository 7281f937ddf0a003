package explore

import (
	"fmt"
	"math"
	"slices"
)

// Model describes all runs of a system.
type Model[S any] struct {
	// Init lists the states to begin with, at least one.
	Init []S
	// Next calls step once for every step that may follow s, in a fixed order, with what
	// happened, in words, and the state that the step leads to.
	Next func(s S, step func(action string, to S))
	// Limit is the highest number of distinct states, at most 2^32 - 1. Zero
	// means [DefaultLimit].
	Limit int
}

// DefaultLimit is the state limit of a [Model] that names none.
const DefaultLimit = 1 << 20

// Result says how much was explored. After an error it covers the states that were visited before
// the error.
type Result struct {
	States      int // distinct states
	Transitions int // steps between them, steps back to the same state included
	Depth       int // length of the longest shortest run
}

// String reads like a sentence.
func (r Result) String() string {
	return fmt.Sprintf("%d states and %d transitions, at most %d steps deep", r.States, r.Transitions, r.Depth)
}

// LimitError: the model has more states than its limit. No property was broken in the states
// within the limit; [Reachable], [CanFinish] and [EndsFairly] were not judged.
type LimitError struct {
	Limit int
	Depth int // every run shorter than this was explored
}

// Error names the limit and how far the exploration got.
func (e *LimitError) Error() string {
	return fmt.Sprintf("explore: the model has more than %d states; all runs shorter than %d steps were explored", e.Limit, e.Depth)
}

// Check explores m and judges the properties. The error is nil, a
// [*Counterexample], or a [*LimitError].
//
// It stops at the first state that breaks [Always], [Valid] or [NoDeadlock]. Where one state
// breaks several of them, the first in the list is reported, NoDeadlock last. [CanFinish],
// [EndsFairly] and [Reachable] are judged when all states are visited, in the order of the list. No shorter run
// than the reported one breaks the property.
//
// It panics on a model without Init or Next, or with a limit out of bounds.
func Check[S comparable](m Model[S], properties ...Property[S]) (Result, error) {
	return CheckBy(m, func(s S) S { return s }, properties...)
}

// CheckBy is [Check] for states that cannot be compared, such as a struct with slices, or that
// differ in ways that do not matter. Two states with the same key count as one state, so every
// rule of the model must treat them alike.
func CheckBy[S any, K comparable](m Model[S], key func(S) K, properties ...Property[S]) (Result, error) {
	if len(m.Init) == 0 || m.Next == nil || m.Limit < 0 || uint64(m.Limit) > math.MaxUint32 {
		panic("explore: a model needs Init, Next, and a limit from 0 to 2^32 - 1")
	}
	x := &explorer[S, K]{
		model:      m,
		key:        key,
		properties: properties,
		index:      make(map[K]uint32),
		met:        make([]bool, len(properties)),
		ends:       make([][]bool, len(properties)),
		fair:       make([]*fairness, len(properties)),
	}
	if x.model.Limit == 0 {
		x.model.Limit = DefaultLimit
	}
	for i, p := range properties {
		if p.kind == endsFairly {
			x.fair[i] = &fairness{names: []string{""}, index: map[string]uint8{}}
		}
		x.keepEdges = x.keepEdges || p.kind == canFinish || p.kind == endsFairly
	}
	err := x.run()
	return x.result, err
}

type explorer[S any, K comparable] struct {
	model      Model[S]
	key        func(S) K
	properties []Property[S]
	met        []bool // per property: reached, for Reachable

	index  map[K]uint32
	visits []visit // in order of discovery: breadth first
	// States are kept until they are expanded: level are those of the depth that is being
	// expanded, next those one step deeper.
	level, next []S
	ends        [][]bool // per property: of each state whether it is an end, for CanFinish

	from   uint32 // the state that is being expanded
	nth    uint32 // how many steps out of it were listed before
	leaves bool   // a step leads away from it
	broken error  // what stops the exploration

	keepEdges bool
	targets   []uint32 // targets of all transitions, by source
	bounds    []int    // bounds[i] is where the targets of state i end
	fair      []*fairness

	levels int // states this many steps deep are not all known yet
	result Result
}

// visit is how a state was reached first: by which of the steps out of its parent.
type visit struct {
	parent uint32 // itself: an initial state
	nth    uint32 // from 0; of an initial state its place in Init
}

func (x *explorer[S, K]) run() error {
	for nth, s := range x.model.Init {
		if _, err := x.visit(s, visit{parent: uint32(len(x.visits)), nth: uint32(nth)}); err != nil {
			return err
		}
	}
	step := x.step
	for i := uint32(0); len(x.next) > 0; {
		x.result.Depth = x.levels
		x.levels++
		clear(x.level)
		x.level, x.next = x.next, x.level[:0]
		for _, s := range x.level {
			if err := x.expand(i, s, step); err != nil {
				return err
			}
			i++
		}
	}
	for i, p := range x.properties {
		if p.kind == reachable && !x.met[i] {
			return &Counterexample[S]{Property: p.name, Reason: fmt.Sprintf("no state of %d fulfils it", x.result.States)}
		}
		if p.kind == canFinish {
			if err := x.judgeFinish(i); err != nil {
				return err
			}
		}
		if p.kind == endsFairly {
			if err := x.judgeFair(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// visit returns the index of s and judges it if it is new.
func (x *explorer[S, K]) visit(s S, from visit) (uint32, error) {
	k := x.key(s)
	if i, ok := x.index[k]; ok {
		return i, nil
	}
	if len(x.visits) == x.model.Limit {
		return 0, &LimitError{Limit: x.model.Limit, Depth: x.levels}
	}
	i := uint32(len(x.visits))
	x.index[k] = i
	x.visits = append(x.visits, from)
	x.next = append(x.next, s)
	x.result.States++
	for j, p := range x.properties {
		switch p.kind {
		case always:
			if err := p.check(s); err != nil {
				return i, x.counterexample(p, err.Error(), i)
			}
		case reachable:
			x.met[j] = x.met[j] || p.holds(s)
		case canFinish:
			x.ends[j] = append(x.ends[j], p.holds(s))
		case endsFairly:
			x.fair[j].rests = append(x.fair[j].rests, p.holds(s))
		}
	}
	return i, nil
}

func (x *explorer[S, K]) expand(i uint32, s S, step func(string, S)) error {
	x.from, x.nth, x.leaves, x.broken = i, 0, false, nil
	x.model.Next(s, step)
	if x.broken != nil {
		return x.broken
	}
	if x.keepEdges {
		x.bounds = append(x.bounds, len(x.targets))
	}
	for _, p := range x.properties {
		if p.kind == noDeadlock && !x.leaves && !p.holds(s) {
			return x.counterexample(p, "nothing leaves this state", i)
		}
	}
	return nil
}

// step takes one transition out of the state that is being expanded.
func (x *explorer[S, K]) step(action string, to S) {
	if x.broken != nil {
		return
	}
	var i uint32
	if i, x.broken = x.visit(to, visit{parent: x.from, nth: x.nth}); x.broken != nil {
		return
	}
	x.nth++
	x.result.Transitions++
	x.leaves = x.leaves || i != x.from
	if x.keepEdges {
		x.targets = append(x.targets, i)
	}
	for j, f := range x.fair {
		if f != nil {
			f.actors = append(f.actors, f.actor(action, x.properties[j].actor))
		}
	}
}

// judgeFinish walks backwards from the finishing states.
func (x *explorer[S, K]) judgeFinish(property int) error {
	starts, sources := x.reverse()
	can := x.ends[property]
	var queue []uint32
	for i, end := range can {
		if end {
			queue = append(queue, uint32(i))
		}
	}
	for len(queue) > 0 {
		to := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range sources[starts[to]:starts[to+1]] {
			if !can[from] {
				can[from] = true
				queue = append(queue, from)
			}
		}
	}
	for i := range can {
		if !can[i] {
			return x.counterexample(x.properties[property], "no run from here fulfils it", uint32(i))
		}
	}
	return nil
}

// reverse returns the transitions by target: sources[starts[i]:starts[i+1]] are the states from
// which a transition leads to state i.
func (x *explorer[S, K]) reverse() (starts []int, sources []uint32) {
	starts = make([]int, len(x.visits)+1)
	for _, to := range x.targets {
		starts[to]++
	}
	sum := 0
	for i, n := range starts {
		sum += n
		starts[i] = sum
	}
	sources = make([]uint32, len(x.targets))
	at := len(x.targets)
	for from := len(x.bounds) - 1; from >= 0; from-- {
		begin := 0
		if from > 0 {
			begin = x.bounds[from-1]
		}
		for ; at > begin; at-- {
			to := x.targets[at-1]
			starts[to]--
			sources[starts[to]] = uint32(from)
		}
	}
	return starts, sources
}

// counterexample takes the steps to a state once more, since only their numbers were kept.
func (x *explorer[S, K]) counterexample(p Property[S], reason string, at uint32) *Counterexample[S] {
	path := []visit{x.visits[at]}
	for ; x.visits[at].parent != at; at = x.visits[at].parent {
		path = append(path, x.visits[x.visits[at].parent])
	}
	slices.Reverse(path)
	trace := []Step[S]{{State: x.model.Init[path[0].nth]}}
	for _, v := range path[1:] {
		nth, from := uint32(0), trace[len(trace)-1].State
		x.model.Next(from, func(action string, to S) {
			if nth == v.nth {
				trace = append(trace, Step[S]{action, to})
			}
			nth++
		})
	}
	return &Counterexample[S]{Property: p.name, Reason: reason, Trace: trace}
}

package explore

import (
	"fmt"
	"slices"
	"strings"
)

// EndsFairly is broken by a run that never again has a state on which rests is true, although the
// scheduler is fair: it goes in circles, or it ends where nobody has to act. Where [CanFinish]
// says that the end is possible, EndsFairly says that it comes.
//
// actor says who takes a step, by its action: any text, of at most 255 in a model. Fair means that
// an actor who can act again and again, however often in between it cannot, acts at last. Steps of
// which actor says "" need never be taken: a crash, a lost answer, what a person may do or leave.
// Steps whose actor is finer than a person, such as "worker claims" and "worker sends", ask the
// scheduler for more: that each of them is taken at last.
//
// rests is true where a run may stay: at the end, or where a named person is told and has to act.
//
// The reported state is one of those that the run visits again and again, or where it ends.
func EndsFairly[S any](name string, rests func(S) bool, actor func(action string) string) Property[S] {
	return Property[S]{name: name, kind: endsFairly, holds: rests, actor: actor}
}

// fairness is what is kept for one EndsFairly.
type fairness struct {
	rests  []bool  // by state
	actors []uint8 // by transition, beside explorer.targets; 0 is nobody
	names  []string
	index  map[string]uint8 // by action
}

func (f *fairness) actor(action string, of func(string) string) uint8 {
	if a, ok := f.index[action]; ok {
		return a
	}
	name := of(action)
	at := slices.Index(f.names, name)
	if at < 0 {
		if at = len(f.names); at > 255 {
			panic("explore: EndsFairly has more than 255 actors")
		}
		f.names = append(f.names, name)
	}
	f.index[action] = uint8(at)
	return uint8(at)
}

// set is a set of actors.
type set [4]uint64

func (s *set) add(a uint8) {
	if a > 0 {
		s[a/64] |= 1 << (a % 64)
	}
}

func (s *set) within(other *set) bool {
	for i := range s {
		if s[i]&^other[i] != 0 {
			return false
		}
	}
	return true
}

// judgeFair looks for states that a fair run may visit for ever: a strongly connected component, in
// which every actor who can act somewhere acts somewhere without leaving it. Where an actor does
// not, a fair run leaves the states in which it can act; what is left of the component is looked
// at again.
func (x *explorer[S, K]) judgeFair(property int) error {
	p, f := x.properties[property], x.fair[property]
	const resting = 0
	region := make([]uint32, len(x.visits)) // states of one region are looked at together
	var first []uint32
	for i := range region {
		if f.rests[i] {
			continue
		}
		region[i] = 1
		first = append(first, uint32(i))
	}
	found, reason := uint32(0), ""
	number := uint32(1)
	for work := [][]uint32{first}; len(work) > 0; {
		states := work[len(work)-1]
		work = work[:len(work)-1]
		x.components(states, region, func(component []uint32) {
			number++
			for _, s := range component {
				region[s] = number
			}
			var taken set
			for _, s := range component {
				for from, to := x.out(s); from < to; from++ {
					if region[x.targets[from]] == number {
						taken.add(f.actors[from])
					}
				}
			}
			var stay []uint32
			for _, s := range component {
				var can set
				for from, to := x.out(s); from < to; from++ {
					can.add(f.actors[from])
				}
				if can.within(&taken) {
					stay = append(stay, s)
				} else {
					region[s] = resting
				}
			}
			switch at := slices.Min(component); {
			case len(stay) == 0:
			case len(stay) < len(component):
				work = append(work, stay)
			case reason == "" || at < found:
				var names []string
				for a, name := range f.names {
					if taken[a/64]&(1<<(a%64)) != 0 {
						names = append(names, name)
					}
				}
				found, reason = at, "a fair run ends here: nobody has to act"
				if len(names) > 0 {
					reason = fmt.Sprintf("a fair run never rests: it visits %d states from here again and again, by %s",
						len(component), strings.Join(names, ", "))
				}
			}
		})
	}
	if reason != "" {
		return x.counterexample(p, reason, found)
	}
	return nil
}

// out returns where the transitions of a state are in targets.
func (x *explorer[S, K]) out(state uint32) (from, to int) {
	if state > 0 {
		from = x.bounds[state-1]
	}
	return from, x.bounds[state]
}

// components calls found with each strongly connected component of the given states, all of which
// belong to one region. It is Tarjan's algorithm, without recursion.
func (x *explorer[S, K]) components(states, region []uint32, found func([]uint32)) {
	type frame struct {
		state uint32
		edge  int
	}
	order, low := make(map[uint32]uint32, len(states)), make(map[uint32]uint32, len(states))
	on := make(map[uint32]bool, len(states))
	var stack []uint32
	var calls []frame
	var all [][]uint32
	enter := func(s uint32) {
		order[s] = uint32(len(order)) + 1
		low[s], on[s] = order[s], true
		stack = append(stack, s)
		from, _ := x.out(s)
		calls = append(calls, frame{s, from})
	}
	for _, s := range states {
		if order[s] != 0 {
			continue
		}
		enter(s)
		for len(calls) > 0 {
			top := &calls[len(calls)-1]
			if _, to := x.out(top.state); top.edge < to {
				next := x.targets[top.edge]
				top.edge++
				switch {
				case region[next] != region[s]:
				case order[next] == 0:
					enter(next)
				case on[next]:
					low[top.state] = min(low[top.state], order[next])
				}
				continue
			}
			at := top.state
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				up := calls[len(calls)-1].state
				low[up] = min(low[up], low[at])
			}
			if low[at] == order[at] {
				i := slices.Index(stack, at)
				component := slices.Clone(stack[i:])
				for _, c := range component {
					on[c] = false
				}
				stack = stack[:i]
				all = append(all, component)
			}
		}
	}
	for _, component := range all { // found changes the regions
		found(component)
	}
}

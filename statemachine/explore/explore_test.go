package explore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine/explore"
)

// graph is a model in which the states are the numbers of its nodes.
type graph [][]int

func (g graph) model(init ...int) explore.Model[int] {
	return explore.Model[int]{
		Init: init,
		Next: func(s int, step func(string, int)) {
			for _, to := range g[s] {
				step(fmt.Sprintf("to %d", to), to)
			}
		},
	}
}

func is(want ...int) func(int) bool {
	return func(s int) bool { return slices.Contains(want, s) }
}

func not(f func(int) bool) func(int) bool { return func(s int) bool { return !f(s) } }

func TestCheckJudgesEachProperty(t *testing.T) {
	//      0 -> 1 -> 2 -> 3 (loop to itself)
	//      |         ^    4 -> 2, never reached
	//      +-> 5 -> 6 <-> 7
	g := graph{0: {1, 5}, 1: {2}, 2: {3}, 3: {3}, 4: {2}, 5: {6}, 6: {7, 2}, 7: {6}}
	trap := graph{0: {1, 5}, 1: {2}, 2: {3}, 3: {3}, 4: {2}, 5: {6}, 6: {7}, 7: {6}}
	for _, c := range []struct {
		rule     string
		g        graph
		property explore.Property[int]
		want     string // empty: it holds
	}{
		{"always: holds everywhere", g, explore.Always("p", not(is(4))), ""},
		{"always: broken at first", g, explore.Always("p", not(is(0))), "\"p\" is broken after 0 steps: this state breaks it\n   0. at first: 0"},
		{"always: broken after one step", g, explore.Always("p", not(is(5))),
			"\"p\" is broken after 1 step: this state breaks it\n   0. at first: 0\n   1. to 5: 5"},
		{"always: the shorter of two runs", g, explore.Always("p", not(is(2))),
			"\"p\" is broken after 2 steps: this state breaks it\n   0. at first: 0\n   1. to 1: 1\n   2. to 2: 2"},
		{"valid: the reason is told", g, explore.Valid("p", func(s int) error {
			if s == 1 {
				return errors.New("one is odd")
			}
			return nil
		}), "\"p\" is broken after 1 step: one is odd\n   0. at first: 0\n   1. to 1: 1"},
		{"reachable: somewhere", g, explore.Reachable("p", is(7)), ""},
		{"reachable: at first", g, explore.Reachable("p", is(0)), ""},
		{"reachable: nowhere", g, explore.Reachable("p", is(4)), `"p" is broken: no state of 7 fulfils it`},
		{"deadlock: a state that may end", g, explore.NoDeadlock("p", is(3)), ""},
		{"deadlock: a loop to itself is no way out", g, explore.NoDeadlock("p", is(0)),
			"\"p\" is broken after 3 steps: nothing leaves this state\n   0. at first: 0\n   1. to 1: 1\n   2. to 2: 2\n   3. to 3: 3"},
		{"finish: from everywhere", g, explore.CanFinish("p", is(3)), ""},
		{"finish: two ways to end", trap, explore.CanFinish("p", is(3, 7)), ""},
		{"finish: a circle without a way out", trap, explore.CanFinish("p", is(3)),
			"\"p\" is broken after 1 step: no run from here fulfils it\n   0. at first: 0\n   1. to 5: 5"},
		{"finish: a finishing state that is passed does not count", g, explore.CanFinish("p", is(2)),
			"\"p\" is broken after 3 steps: no run from here fulfils it\n   0. at first: 0\n   1. to 1: 1\n   2. to 2: 2\n   3. to 3: 3"},
		{"finish: nowhere", g, explore.CanFinish("p", is(4)), "\"p\" is broken after 0 steps: no run from here fulfils it\n   0. at first: 0"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, err := explore.Check(c.g.model(0), c.property)
			if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCheckReportsTheFirstInTheList(t *testing.T) {
	g := graph{0: {1}, 1: nil}
	broken := func(s int) bool { return s == 0 }
	never := func(int) bool { return false }
	for _, c := range []struct {
		rule       string
		properties []explore.Property[int]
		want       string
	}{
		{"of two on one state", []explore.Property[int]{explore.Always("a", broken), explore.Always("b", broken)}, "a"},
		{"deadlock comes last on one state", []explore.Property[int]{explore.NoDeadlock("a", never), explore.Always("b", broken)}, "b"},
		{"what needs all states comes later", []explore.Property[int]{explore.Reachable("a", never), explore.NoDeadlock("b", never)}, "b"},
		{"reachable before finish", []explore.Property[int]{explore.Reachable("a", never), explore.CanFinish("b", never)}, "a"},
		{"finish before reachable", []explore.Property[int]{explore.CanFinish("a", never), explore.Reachable("b", never)}, "a"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, err := explore.Check(g.model(0), c.properties...)
			var broken *explore.Counterexample[int]
			if !errors.As(err, &broken) || broken.Property != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestCheckCountsExactly(t *testing.T) {
	line := explore.Model[int]{Init: []int{0}, Next: func(s int, step func(string, int)) {
		if s < 9 {
			step("up", s+1)
		}
	}}
	for _, c := range []struct {
		rule string
		m    explore.Model[int]
		want explore.Result
	}{
		{"one state", graph{0: nil}.model(0), explore.Result{States: 1}},
		{"a step to itself is a transition", graph{0: {0}}.model(0), explore.Result{States: 1, Transitions: 1}},
		{"two actions with one target are two", graph{0: {1, 1}, 1: nil}.model(0), explore.Result{States: 2, Transitions: 2, Depth: 1}},
		{"an initial state twice is one", graph{0: {1}, 1: nil}.model(0, 0), explore.Result{States: 2, Transitions: 1, Depth: 1}},
		{"depth is from the nearest initial state", graph{0: {1}, 1: {2}, 2: nil}.model(0, 1),
			explore.Result{States: 3, Transitions: 2, Depth: 1}},
		{"a line", line, explore.Result{States: 10, Transitions: 9, Depth: 9}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := explore.Check(c.m)
			if got != c.want || err != nil {
				t.Errorf("%v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestCheckStopsAtTheLimit(t *testing.T) {
	tree := func(limit int, init ...int) explore.Model[int] {
		return explore.Model[int]{Init: init, Limit: limit, Next: func(s int, step func(string, int)) {
			if s < 8 {
				step("left", 2*s)
				step("right", 2*s+1)
			}
		}}
	}
	for _, c := range []struct {
		rule   string
		m      explore.Model[int]
		states int
		want   *explore.LimitError // nil: within the limit
	}{
		{"exactly as many states as the limit", tree(15, 1), 15, nil},
		{"one state more than the limit", tree(14, 1), 14, &explore.LimitError{Limit: 14, Depth: 3}},
		{"the limit is full at the end of a level", tree(7, 1), 7, &explore.LimitError{Limit: 7, Depth: 3}},
		{"a limit of one", tree(1, 1), 1, &explore.LimitError{Limit: 1, Depth: 1}},
		{"more initial states than the limit", tree(1, 1, 2), 1, &explore.LimitError{Limit: 1, Depth: 0}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			result, err := explore.Check(c.m, explore.Reachable("nothing", func(int) bool { return false }))
			var limit *explore.LimitError
			if errors.As(err, &limit) != (c.want != nil) || limit != nil && *limit != *c.want || result.States != c.states {
				t.Errorf("%v, %v, want %d states and %v", result, err, c.states, c.want)
			}
		})
	}
	got, want := (&explore.LimitError{Limit: 7, Depth: 3}).Error(),
		"explore: the model has more than 7 states; all runs shorter than 3 steps were explored"
	if got != want {
		t.Errorf("says %q", got)
	}
}

func TestCheckByTreatsOneKeyAsOneState(t *testing.T) {
	type set struct{ members []int }
	m := explore.Model[set]{Init: []set{{}}, Next: func(s set, step func(string, set)) {
		for n := range 4 {
			if !slices.Contains(s.members, n) {
				step(fmt.Sprintf("add %d", n), set{append(slices.Clone(s.members), n)})
			}
		}
	}}
	key := func(s set) string {
		sorted := slices.Clone(s.members)
		slices.Sort(sorted)
		return fmt.Sprint(sorted)
	}
	result, err := explore.CheckBy(m, key, explore.CanFinish("full", func(s set) bool { return len(s.members) == 4 }))
	if want := (explore.Result{States: 16, Transitions: 32, Depth: 4}); result != want || err != nil {
		t.Errorf("%v, %v, want the subsets of four: %v", result, err, want)
	}
}

func TestCheckPanicsOnAMalformedModel(t *testing.T) {
	next := func(int, func(string, int)) {}
	for rule, m := range map[string]explore.Model[int]{
		"no initial state":   {Next: next},
		"no Next":            {Init: []int{0}},
		"a negative limit":   {Init: []int{0}, Next: next, Limit: -1},
		"a limit of 33 bits": {Init: []int{0}, Next: next, Limit: 1 << 32},
	} {
		t.Run(rule, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_, _ = explore.Check(m)
		})
	}
}

// Random graphs against distances by repeated relaxation.
func TestCheckAgreesWithANaiveSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "nodes")
		node := rapid.IntRange(0, n-1)
		g := make(graph, n)
		for i := range g {
			g[i] = rapid.SliceOfN(node, 0, 3).Draw(t, "edges")
		}
		init := rapid.SliceOfN(node, 1, 2).Draw(t, "init")
		marked := is(rapid.SliceOf(node).Draw(t, "marked")...)

		const far = 1000
		distances := func(from ...int) []int {
			d := slices.Repeat([]int{far}, n)
			for _, i := range from {
				d[i] = 0
			}
			for range n {
				for i, targets := range g {
					for _, to := range targets {
						d[to] = min(d[to], d[i]+1)
					}
				}
			}
			return d
		}
		depth := distances(init...)
		nearest := func(broken func(int) bool) int {
			best := far
			for s, d := range depth {
				if d < best && broken(s) {
					best = d
				}
			}
			return best
		}
		leaves := func(s int) bool {
			return slices.ContainsFunc(g[s], func(to int) bool { return to != s })
		}
		finishes := func(s int) bool {
			for to, d := range distances(s) {
				if d < far && marked(to) {
					return true
				}
			}
			return false
		}

		for _, c := range []struct {
			property explore.Property[int]
			broken   func(int) bool
		}{
			{explore.Always("always", not(marked)), marked},
			{explore.NoDeadlock("deadlock", marked), func(s int) bool { return !leaves(s) && !marked(s) }},
			{explore.CanFinish("finish", marked), not(finishes)},
		} {
			_, err := explore.Check(g.model(init...), c.property)
			want := nearest(c.broken)
			var ce *explore.Counterexample[int]
			if errors.As(err, &ce) != (want < far) {
				t.Fatalf("%v, want a counterexample of %d steps", err, want)
			}
			if ce == nil {
				continue
			}
			last := ce.Trace[len(ce.Trace)-1].State
			if len(ce.Trace)-1 != want || !c.broken(last) || !slices.Contains(init, ce.Trace[0].State) {
				t.Fatalf("%v\nwant %d steps", ce, want)
			}
			for i, s := range ce.Trace[1:] {
				if !slices.Contains(g[ce.Trace[i].State], s.State) || s.Action != fmt.Sprintf("to %d", s.State) {
					t.Fatalf("%v\nstep %d is not one of the model", ce, i+1)
				}
			}
		}

		var want explore.Result
		for s, d := range depth {
			if d < far {
				want.States++
				want.Transitions += len(g[s])
				want.Depth = max(want.Depth, d)
			}
		}
		_, err := explore.Check(g.model(init...), explore.Reachable("reachable", marked))
		if (err == nil) != (nearest(marked) < far) {
			t.Fatalf("reachable: %v", err)
		}
		if got, err := explore.Check(g.model(init...)); got != want || err != nil {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	})
}

func BenchmarkMillionStates(b *testing.B) {
	type point struct{ x, y, z, w uint8 }
	const side = 32
	m := explore.Model[point]{Init: []point{{}}, Next: func(p point, step func(string, point)) {
		step("x", point{(p.x + 1) % side, p.y, p.z, p.w})
		step("y", point{p.x, (p.y + 1) % side, p.z, p.w})
		step("z", point{p.x, p.y, (p.z + 1) % side, p.w})
		step("w", point{p.x, p.y, p.z, (p.w + 1) % side})
	}}
	b.ReportAllocs()
	for b.Loop() {
		result, err := explore.Check(m,
			explore.Always("inside", func(p point) bool { return p.x < side }),
			explore.CanFinish("home", func(p point) bool { return p == point{} }),
		)
		if err != nil || result.States != side*side*side*side {
			b.Fatal(result, err)
		}
	}
}

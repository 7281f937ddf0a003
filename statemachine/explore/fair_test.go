package explore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine/explore"
)

// A lock that two workers want, each for one piece of work. The lock has no order: whoever asks
// while it is free gets it, and "again" lets a worker come back for ever.
type lock struct {
	holder int     // 0: free
	done   [3]bool // by worker, from 1
}

func locks(again bool) explore.Model[lock] {
	return explore.Model[lock]{Init: []lock{{}}, Next: func(s lock, step func(string, lock)) {
		for w := 1; w <= 2; w++ {
			to := s
			switch {
			case s.holder == 0 && (!s.done[w] || again):
				to.holder = w
				step(fmt.Sprint(w, " takes"), to)
			case s.holder == w:
				to.holder, to.done[w] = 0, true
				step(fmt.Sprint(w, " works"), to)
			}
		}
	}}
}

func TestEndsFairlyFindsAWorkerWhoStarves(t *testing.T) {
	done := func(s lock) bool { return s.done[2] }
	who := func(action string) string { return action[:1] }
	first := func(action string) string { return strings.TrimSuffix(who(action), "2") } // nobody makes worker 2 act
	for _, c := range []struct {
		name  string
		again bool
		actor func(string) string
		want  string
	}{
		{"each takes it once", false, who, ""},
		{"worker 1 comes back, and worker 2 acts at last", true, who, ""},
		{"worker 1 comes back, and worker 2 need not act", true, first,
			"a fair run ends here: nobody has to act"}, // worker 2 has taken it, and does nothing
		{"worker 1 comes back, and worker 2 need not take it", true, func(action string) string { return strings.TrimPrefix(action, "2 takes") },
			"a fair run never rests: it visits 2 states from here again and again, by 1 takes, 1 works"},
		{"worker 2 need not act, and nobody else can", false, first, "a fair run ends here: nobody has to act"},
	} {
		can := explore.CanFinish("worker 2 works", done)
		fairly := explore.EndsFairly("worker 2 works", done, c.actor)
		_, err := explore.Check(locks(c.again), can, fairly)
		var found *explore.Counterexample[lock]
		if errors.As(err, &found); (found == nil) != (c.want == "") || found != nil && found.Reason != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	stuck := graph{0: {1}, 1: {}}
	if _, err := explore.Check(stuck.model(0), explore.EndsFairly("p", is(0), who)); err == nil || !strings.Contains(err.Error(), "nobody has to act") {
		t.Errorf("a state without a way out: %v", err)
	}
}

// Random graphs against every set of states, one after the other.
func TestEndsFairlyAgreesWithEverySetOfStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "states")
		type edge struct{ to, actor int }
		edges := make([][]edge, n)
		for i := range edges {
			edges[i] = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) edge {
				return edge{rapid.IntRange(0, n-1).Draw(t, "to"), rapid.IntRange(0, 3).Draw(t, "actor")}
			}), 0, 4).Draw(t, "edges")
		}
		rests := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "rests")
		m := explore.Model[int]{Init: []int{0}, Next: func(s int, step func(string, int)) {
			for _, e := range edges[s] {
				step(fmt.Sprint(e.actor), e.to)
			}
		}}
		reached := reaches(n, 0, func(s int) (to []int) {
			for _, e := range edges[s] {
				to = append(to, e.to)
			}
			return to
		})
		broken := false
		for subset := 1; subset < 1<<n; subset++ {
			in := func(s int) bool { return subset&(1<<s) != 0 }
			ok := true
			var can, taken [4]bool
			for s := range n {
				if !in(s) {
					continue
				}
				ok = ok && reached[s] && !rests[s]
				within := reaches(n, s, func(s int) (to []int) {
					for _, e := range edges[s] {
						if in(e.to) {
							to = append(to, e.to)
						}
					}
					return to
				})
				for other := range n {
					ok = ok && (!in(other) || within[other])
				}
				for _, e := range edges[s] {
					can[e.actor] = true
					taken[e.actor] = taken[e.actor] || in(e.to)
				}
			}
			for actor := 1; actor < 4; actor++ {
				ok = ok && (!can[actor] || taken[actor])
			}
			broken = broken || ok
		}
		_, err := explore.Check(m, explore.EndsFairly("it rests", func(s int) bool { return rests[s] },
			func(action string) string { return strings.Trim(action, "0") }))
		if (err != nil) != broken {
			t.Fatalf("%v, expected a fair run that never rests: %v", err, broken)
		}
	})
}

// reaches are the states at the end of runs from s, s itself too.
func reaches(n, s int, next func(int) []int) []bool {
	all, queue := make([]bool, n), []int{s}
	for len(queue) > 0 {
		at := queue[0]
		if queue = queue[1:]; !all[at] {
			all[at] = true
			queue = append(queue, next(at)...)
		}
	}
	return all
}

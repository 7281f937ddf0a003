package looplabtest_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab/looplabtest"
)

type (
	label = statemachine.Enum[letters]
	edge  = statemachine.Edge[label, label]

	letters struct{}
)

func (letters) Kind() string    { return "letter" }
func (letters) Names() []string { return []string{"a", "b", "c", "d"} }

func line() *statemachine.Machine[label, label] {
	return statemachine.Must("line", []edge{
		{From: 0, Trigger: 1, To: 1}, {From: 1, Trigger: 1, To: 1}, {From: 1, Trigger: 2, To: 2},
		{From: 2, Trigger: 3, To: 3}, {From: 3, Trigger: 4, To: 4},
	})
}

func TestAgreeOnASoundMachine(t *testing.T) {
	looplabtest.Agree(t, line())
}

// A line through all states that uses all triggers, and any edges besides that
// do not leave its end.
func TestAgreeOnAnyMachine(t *testing.T) {
	letter := func(from, to int) *rapid.Generator[label] {
		return rapid.Map(rapid.IntRange(from, to), func(n int) label { return label(n) })
	}
	rapid.Check(t, func(t *rapid.T) {
		var edges []edge
		taken := make(map[[2]label]bool)
		add := func(e edge) {
			if cell := [2]label{e.From, e.Trigger}; !taken[cell] {
				taken[cell] = true
				edges = append(edges, e)
			}
		}
		for i, on := range rapid.Permutation(label(0).Values()).Draw(t, "line") {
			add(edge{From: label(i), Trigger: on, To: label(i + 1)})
		}
		for range rapid.IntRange(0, 12).Draw(t, "besides") {
			add(edge{From: letter(0, 3).Draw(t, "from"), Trigger: letter(1, 4).Draw(t, "on"), To: letter(1, 4).Draw(t, "to")})
		}
		m, err := statemachine.New("random", edges)
		if err != nil {
			t.Fatal(err)
		}
		var r recorder
		looplabtest.Agree(&r, m)
		if len(r.errors) > 0 {
			t.Fatal(r.errors)
		}
	})
}

// The edges are shared with the machine, so changing one makes its list and
// its look-up differ.
func TestAgreeReportsEachDifference(t *testing.T) {
	for _, c := range []struct {
		rule  string
		plant func(edges []edge)
		want  []string
	}{
		{"another target", func(e []edge) { e[3].To = 1 },
			[]string{"line: b --c-->: the table goes to c (allowed: true), looplab to a (allowed: true)"}},
		{"another source", func(e []edge) { e[3].From = 1 }, []string{
			"line: a --c-->: the table goes to a (allowed: false), looplab to c (allowed: true)",
			"line: b --c-->: the table goes to c (allowed: true), looplab to b (allowed: false)",
			"line: the table calls b terminal: false, looplab can leave it: false",
		}},
		{"a terminal state that can be left", func(e []edge) { e[1] = edge{From: 4, Trigger: 1, To: 1} }, []string{
			"line: a --a-->: the table goes to a (allowed: true), looplab to a (allowed: false)",
			"line: d --a-->: the table goes to d (allowed: false), looplab to a (allowed: true)",
			"line: the table calls d terminal: true, looplab can leave it: true",
		}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := line()
			c.plant(m.Edges())
			var r recorder
			looplabtest.Agree(&r, m)
			if got, want := strings.Join(r.errors, "\n"), strings.Join(c.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

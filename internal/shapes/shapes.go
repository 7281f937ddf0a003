// Package shapes compares changes of records with the edges that a model has explored. A shape is
// what a model keeps of a record, in words; an edge is a shape, a trigger, and the shape that it
// leads to.
package shapes

import (
	"slices"
	"strings"
)

// Edge is one step: From and To are shapes.
type Edge struct{ From, Trigger, To string }

func (e Edge) String() string { return e.From + " --" + e.Trigger + "--> " + e.To }

// Set is a set of edges.
type Set map[Edge]bool

// Parse reads what [Set.String] has written. A line that begins with "//" is left out.
func Parse(text string) Set {
	s := Set{}
	for line := range strings.Lines(text) {
		from, rest, ok := strings.Cut(strings.TrimSpace(line), " --")
		trigger, to, more := strings.Cut(rest, "--> ")
		if ok && more && !strings.HasPrefix(line, "//") {
			s[Edge{from, trigger, to}] = true
		}
	}
	return s
}

// String has one edge a line, in order.
func (s Set) String() string {
	var lines []string
	for e := range s {
		lines = append(lines, e.String()+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Path reports whether the set has a path from a shape to another by the triggers, in their order.
// Without triggers it is the same shape.
func (s Set) Path(from string, triggers []string, to string) bool {
	at := map[string]bool{from: true}
	for _, trigger := range triggers {
		next := map[string]bool{}
		for e := range s {
			if e.Trigger == trigger && at[e.From] {
				next[e.To] = true
			}
		}
		at = next
	}
	return at[to]
}

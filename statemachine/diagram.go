package statemachine

import (
	"fmt"
	"strings"
)

// Mermaid draws the machine as a Mermaid state diagram. Initial and terminal states are drawn as
// [*]; extension edges are marked with "(ext)" and listed with their reasons in comments.
func (m *Machine[S, T]) Mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stateDiagram-v2\n")
	for i, s := range m.states {
		fmt.Fprintf(&b, "    state %q as s%d\n", s.String(), i+1)
	}
	for _, e := range m.edges {
		from, mark := "[*]", ""
		if e.From != 0 {
			from = fmt.Sprintf("s%d", e.From)
		}
		if e.Extension != "" {
			fmt.Fprintf(&b, "    %%%% extension: %s\n", oneLine(e.Extension))
			mark = " (ext)"
		}
		fmt.Fprintf(&b, "    %s --> s%d : %s%s\n", from, e.To, e.Trigger, mark)
	}
	for _, s := range m.states {
		if m.Terminal(s) {
			fmt.Fprintf(&b, "    s%d --> [*]\n", s)
		}
	}
	return b.String()
}

// DOT draws the machine in the Graphviz language. Terminal states have a double border; extension
// edges are dashed and have their reason as a tooltip.
func (m *Machine[S, T]) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n    rankdir=LR;\n    \"\" [shape=point];\n", m.name)
	for _, s := range m.states {
		shape := "box"
		if m.Terminal(s) {
			shape = "box, peripheries=2"
		}
		fmt.Fprintf(&b, "    %q [shape=%s];\n", s.String(), shape)
	}
	for _, e := range m.edges {
		from, style := "", ""
		if e.From != 0 {
			from = e.From.String()
		}
		if e.Extension != "" {
			style = fmt.Sprintf(", style=dashed, tooltip=%q", oneLine(e.Extension))
		}
		fmt.Fprintf(&b, "    %q -> %q [label=%q%s];\n", from, e.To.String(), e.Trigger.String(), style)
	}
	b.WriteString("}\n")
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

package statemachine

import (
	"fmt"
	"slices"
)

// Label is what states and triggers are made of: an [Enum].
type Label interface {
	~uint8
	fmt.Stringer
	Valid() bool
}

// Edge allows one step. Creation is an edge from the zero state.
type Edge[S, T Label] struct {
	From    S
	Trigger T
	To      S
	// Extension is the reason for an edge that the source document does not draw; empty for the
	// edges that it draws.
	Extension string
}

// Machine is a table: which trigger leads from which state to which. It is
// made once, never changes, and is safe for concurrent use.
type Machine[S, T Label] struct {
	name     string
	edges    []Edge[S, T]
	states   []S
	triggers []T
	next     []S // next[state*width + trigger]; zero: refused
	width    int
	terminal []bool
}

// New builds a machine from its edges. It returns [ErrInvalid] for
//
//   - a state or trigger with an empty text, or two with the same text, the "none" of zero
//     included;
//   - an edge with a label outside its enumeration, or to the zero state;
//   - two edges for one (state, trigger);
//   - a trigger without an edge;
//   - a state that cannot be reached from zero;
//   - a state from which no terminal state can be reached, unless the whole machine has no
//     terminal state and is declared as [Cyclic].
func New[S, T Label](name string, edges []Edge[S, T], opts ...Option) (*Machine[S, T], error) {
	m := &Machine[S, T]{name: name, edges: slices.Clone(edges), states: labels[S](), triggers: labels[T]()}
	for _, text := range []string{textFault(m.states), textFault(m.triggers)} {
		if text != "" {
			return nil, fmt.Errorf("%w: %s: %s", ErrInvalid, name, text)
		}
	}
	m.width = len(m.triggers) + 1
	m.next = make([]S, (len(m.states)+1)*m.width)
	m.terminal = make([]bool, len(m.states)+1)
	for i := range m.states {
		m.terminal[i+1] = true
	}
	used := make([]bool, m.width)
	for _, e := range edges {
		if e.From != 0 && !e.From.Valid() || !e.Trigger.Valid() || !e.To.Valid() {
			return nil, fmt.Errorf("%w: %s: edge %v --%v--> %v has an unknown label", ErrInvalid, name, e.From, e.Trigger, e.To)
		}
		cell := &m.next[int(e.From)*m.width+int(e.Trigger)]
		if *cell != 0 {
			return nil, fmt.Errorf("%w: %s: two edges for %v --%v-->", ErrInvalid, name, e.From, e.Trigger)
		}
		*cell = e.To
		used[e.Trigger] = true
		if e.From != e.To {
			m.terminal[e.From] = false
		}
	}
	for _, t := range m.triggers {
		if !used[t] {
			return nil, fmt.Errorf("%w: %s: trigger %v has no edge", ErrInvalid, name, t)
		}
	}
	if err := m.checkReach(opts); err != nil {
		return nil, err
	}
	return m, nil
}

// Must is [New] for package variables: it panics on a malformed table.
func Must[S, T Label](name string, edges []Edge[S, T], opts ...Option) *Machine[S, T] {
	m, err := New(name, edges, opts...)
	if err != nil {
		panic(err)
	}
	return m
}

// Option declares something unusual about a table.
type Option uint8

// Cyclic declares that no state of the machine is terminal.
const Cyclic Option = 1

// Name returns the machine's name, the first column of the audit trail.
func (m *Machine[S, T]) Name() string { return m.name }

// Next looks up one step. ok is false where the table refuses the step. A look-up costs one array
// access and allocates nothing.
func (m *Machine[S, T]) Next(from S, on T) (to S, ok bool) {
	i := int(from)*m.width + int(on)
	if int(on) >= m.width || i >= len(m.next) {
		return 0, false
	}
	to = m.next[i]
	return to, to != 0
}

// Step is [Machine.Next] with [ErrIllegal] for a refusal. It allocates nothing; the caller wraps
// the error in a [Refusal] that names the record.
func (m *Machine[S, T]) Step(from S, on T) (S, error) {
	to, ok := m.Next(from, on)
	if !ok {
		return from, ErrIllegal
	}
	return to, nil
}

// Terminal reports whether no edge leads from s to another state.
func (m *Machine[S, T]) Terminal(s S) bool { return int(s) < len(m.terminal) && m.terminal[s] }

// Edges returns the table's edges in the order they were given. The slice is
// shared: do not change it.
func (m *Machine[S, T]) Edges() []Edge[S, T] { return m.edges }

// States returns all states, in order. The slice is shared: do not change it.
func (m *Machine[S, T]) States() []S { return m.states }

// Triggers returns all triggers, in order. The slice is shared: do not change it.
func (m *Machine[S, T]) Triggers() []T { return m.triggers }

func (m *Machine[S, T]) trigger(text string) (T, bool) {
	for _, t := range m.triggers {
		if t.String() == text {
			return t, true
		}
	}
	return 0, false
}

// checkReach finds states that cannot be reached and states that cannot end.
func (m *Machine[S, T]) checkReach(opts []Option) error {
	cyclic := false
	for _, o := range opts {
		cyclic = cyclic || o == Cyclic
	}
	reached := make([]bool, len(m.states)+1)
	reached[0] = true
	ends := make([]bool, len(m.states)+1)
	anyTerminal := false
	for _, s := range m.states {
		ends[s] = m.terminal[s]
		anyTerminal = anyTerminal || m.terminal[s]
	}
	for changed := true; changed; {
		changed = false
		for _, e := range m.edges {
			if reached[e.From] && !reached[e.To] {
				reached[e.To], changed = true, true
			}
			if ends[e.To] && !ends[e.From] {
				ends[e.From], changed = true, true
			}
		}
	}
	for _, s := range m.states {
		if !reached[s] {
			return fmt.Errorf("%w: %s: state %v cannot be reached", ErrInvalid, m.name, s)
		}
		if !ends[s] && !cyclic {
			return fmt.Errorf("%w: %s: state %v cannot end", ErrInvalid, m.name, s)
		}
	}
	if cyclic && anyTerminal {
		return fmt.Errorf("%w: %s: declared cyclic, but has a terminal state", ErrInvalid, m.name)
	}
	return nil
}

// textFault says what is wrong with the texts of a set of labels, "" if nothing.
func textFault[L Label](all []L) string {
	seen := map[string]bool{L(0).String(): true}
	for _, l := range all {
		switch text := l.String(); {
		case text == "":
			return fmt.Sprintf("label %d has no text", l)
		case seen[text]:
			return fmt.Sprintf("two labels have the text %q", text)
		default:
			seen[text] = true
		}
	}
	return ""
}

func labels[L Label]() []L {
	var all []L
	for l := L(1); l.Valid(); l++ {
		all = append(all, l)
	}
	return all
}

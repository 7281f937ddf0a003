package statemachine_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
)

func TestMachineChecksItsStructure(t *testing.T) {
	parcels := func(change func([]edge) []edge) error {
		_, err := statemachine.New("parcel", change(append([]edge(nil), Parcels.Edges()...)))
		return err
	}
	plus := func(more ...edge) error {
		return parcels(func(e []edge) []edge { return append(e, more...) })
	}
	without := func(drop ...int) error {
		return parcels(func(all []edge) []edge {
			var kept []edge
			for i, e := range all {
				dropped := false
				for _, d := range drop {
					dropped = dropped || d == i
				}
				if !dropped {
					kept = append(kept, e)
				}
			}
			return kept
		})
	}
	bend := func(i int, to status) error {
		return parcels(func(e []edge) []edge { e[i].To = to; return e })
	}
	for _, c := range []struct {
		rule string
		err  error
		says string // empty: legal
	}{
		{"the table as it is", plus(), ""},
		{"an edge to a state that has one already", plus(edge{From: Waiting, Trigger: Deliver, To: Delivered}), ""},
		{"an edge to zero", plus(edge{From: Waiting, Trigger: Scan, To: 0}), "edge waiting --scan--> none has an unknown label"},
		{"an edge to a number after the last state", plus(edge{From: Waiting, Trigger: Scan, To: 5}), "(parcel status 5) has an unknown label"},
		{"an edge from a number after the last state", plus(edge{From: 5, Trigger: Scan, To: Waiting}),
			"edge (parcel status 5) --scan--> waiting has an unknown label"},
		{"an edge from the highest number", plus(edge{From: 255, Trigger: Scan, To: Waiting}), "has an unknown label"},
		{"an edge on trigger zero", plus(edge{From: Waiting, Trigger: 0, To: Returned}), "edge waiting --none--> returned has an unknown label"},
		{"an edge on a number after the last trigger", plus(edge{From: Waiting, Trigger: 7, To: Returned}), "has an unknown label"},
		{"two edges for one cell", plus(edge{From: Travelling, Trigger: Deliver, To: Returned}), "two edges for travelling --deliver-->"},
		{"the same edge twice", plus(Parcels.Edges()[0]), "two edges for none --accept-->"},
		{"a trigger without an edge", without(2), "trigger scan has no edge"},
		{"no creation edge", bend(0, Travelling), "state waiting cannot be reached"},
		{"a state that only itself leads to", bend(4, Delivered), ""},
		{"a state that no edge leads to", func() error {
			return parcels(func(e []edge) []edge { e[4].To, e[5].To = Delivered, Delivered; return e })
		}(), "state returned cannot be reached"},
		{"a pair of states that turns for ever", plus(
			edge{From: Delivered, Trigger: Recall, To: Returned}, edge{From: Returned, Trigger: Recall, To: Delivered}),
			"cannot end"},
		{"a table without edges", parcels(func([]edge) []edge { return nil }), "trigger accept has no edge"},
	} {
		t.Run(c.rule, func(t *testing.T) { wantInvalid(t, c.err, c.says) })
	}
}

func wantInvalid(t *testing.T, err error, says string) {
	t.Helper()
	switch {
	case says == "" && err != nil:
		t.Errorf("refused: %v", err)
	case says == "":
	case !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), says):
		t.Errorf("got %v\nwant ErrInvalid that says %q", err, says)
	}
}

func TestMachineCyclic(t *testing.T) {
	const on, off = lamp(1), lamp(2)
	ring := []statemachine.Edge[lamp, lamp]{
		{From: 0, Trigger: on, To: on}, {From: on, Trigger: off, To: off}, {From: off, Trigger: on, To: on},
	}
	line := ring[:2]
	for _, c := range []struct {
		rule  string
		edges []statemachine.Edge[lamp, lamp]
		opts  []statemachine.Option
		says  string
	}{
		{"a ring that says so", ring, []statemachine.Option{statemachine.Cyclic}, ""},
		{"a ring that does not say so", ring, nil, "state on cannot end"},
		{"a line", line, nil, ""},
		{"a line that calls itself cyclic", line, []statemachine.Option{statemachine.Cyclic}, "declared cyclic, but has a terminal state"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m, err := statemachine.New("lamp", c.edges, c.opts...)
			wantInvalid(t, err, c.says)
			if err != nil && m != nil {
				t.Error("a refused table gives a machine")
			}
		})
	}
}

func TestMachineRefusesUnusableTexts(t *testing.T) {
	type twice = statemachine.Enum[twiceNames]
	type blank = statemachine.Enum[blankNames]
	type none = statemachine.Enum[noneNames]
	_, err := statemachine.New("m", []statemachine.Edge[twice, lamp]{{Trigger: 1, To: 1}, {Trigger: 2, To: 2}})
	wantInvalid(t, err, `two labels have the text "a"`)
	_, err = statemachine.New("m", []statemachine.Edge[lamp, twice]{{Trigger: 1, To: 1}, {Trigger: 2, To: 2}})
	wantInvalid(t, err, `two labels have the text "a"`)
	_, err = statemachine.New("m", []statemachine.Edge[blank, lamp]{{Trigger: 1, To: 1}, {Trigger: 2, To: 1}})
	wantInvalid(t, err, "label 1 has no text")
	_, err = statemachine.New("m", []statemachine.Edge[none, lamp]{{Trigger: 1, To: 1}, {Trigger: 2, To: 1}})
	wantInvalid(t, err, `two labels have the text "none"`)
}

func TestMustPanicsOnAMalformedTable(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("recovered %v", err)
		}
	}()
	statemachine.Must[status, trigger]("parcel", nil)
}

func TestMachineNeverChanges(t *testing.T) {
	edges := append([]edge(nil), Parcels.Edges()...)
	m := statemachine.Must("parcel", edges)
	edges[0].To = Returned
	if m.Edges()[0].To != Waiting {
		t.Error("the caller's slice is the machine's")
	}
}

// Every cell of the table, also for numbers outside both enumerations, is compared with a search
// through the list of edges.
func TestMachineLookUpAgreesWithTheEdges(t *testing.T) {
	for from := range 256 {
		for on := range 256 {
			var want status
			for _, e := range Parcels.Edges() {
				if int(e.From) == from && int(e.Trigger) == on {
					want = e.To
				}
			}
			to, ok := Parcels.Next(status(from), trigger(on))
			if to != want || ok != (want != 0) {
				t.Errorf("Next(%d, %d) = %v, %v, want %v", from, on, to, ok, want)
			}
			step, err := Parcels.Step(status(from), trigger(on))
			switch {
			case want != 0 && (step != want || err != nil):
				t.Errorf("Step(%d, %d) = %v, %v, want %v", from, on, step, err, want)
			case want == 0 && (int(step) != from || !errors.Is(err, statemachine.ErrIllegal)):
				t.Errorf("Step(%d, %d) = %v, %v, want the same state and ErrIllegal", from, on, step, err)
			}
		}
	}
}

func TestMachineTerminalStates(t *testing.T) {
	for s := range 256 {
		want := status(s) == Delivered || status(s) == Returned
		if got := Parcels.Terminal(status(s)); got != want {
			t.Errorf("Terminal(%v) = %v", status(s), got)
		}
	}
	lone := statemachine.Must("m", []statemachine.Edge[lamp, lamp]{
		{From: 0, Trigger: 1, To: 1}, {From: 1, Trigger: 1, To: 2}, {From: 2, Trigger: 2, To: 2},
	})
	if !lone.Terminal(2) {
		t.Error("an edge from a state to itself ends its being terminal")
	}
}

// The largest machine that one byte can hold: 254 states and triggers.
func TestMachineOfTheLargestEnumeration(t *testing.T) {
	type big = statemachine.Enum[bigNames]
	var edges []statemachine.Edge[big, big]
	for _, s := range big(0).Values() {
		edges = append(edges, statemachine.Edge[big, big]{From: s - 1, Trigger: s, To: s})
	}
	m := statemachine.Must("big", edges)
	rapid.Check(t, func(t *rapid.T) {
		from, on := big(rapid.Uint8().Draw(t, "from")), big(rapid.Uint8().Draw(t, "on"))
		to, ok := m.Next(from, on)
		if want := on.Valid() && from+1 == on; ok != want || ok && to != on {
			t.Fatalf("Next(%d, %d) = %v, %v", from, on, to, ok)
		}
	})
}

func TestMachineAllocatesNothing(t *testing.T) {
	for name, f := range map[string]func(){
		"Next":             func() { Parcels.Next(Waiting, Dispatch) },
		"refusal by Next":  func() { Parcels.Next(Delivered, Dispatch) },
		"Step":             func() { _, sinkErr = Parcels.Step(Waiting, Dispatch) },
		"refusal by Step":  func() { _, sinkErr = Parcels.Step(Delivered, Dispatch) },
		"text of a status": func() { _ = Waiting.String() },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

var (
	sink    status
	sinkErr error
)

func BenchmarkLookUp(b *testing.B) {
	b.ReportAllocs()
	s := Waiting
	for b.Loop() {
		s, _ = Parcels.Next(Travelling, Scan)
	}
	sink = s
}

func BenchmarkRefusal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sink, sinkErr = Parcels.Step(Delivered, Recall)
	}
}

type lamp = statemachine.Enum[lampNames]

type (
	lampNames  struct{}
	twiceNames struct{}
	blankNames struct{}
	noneNames  struct{}
	bigNames   struct{}
)

func (lampNames) Kind() string     { return "lamp" }
func (lampNames) Names() []string  { return []string{"on", "off"} }
func (twiceNames) Kind() string    { return "twice" }
func (twiceNames) Names() []string { return []string{"a", "a"} }
func (blankNames) Kind() string    { return "blank" }
func (blankNames) Names() []string { return []string{""} }
func (noneNames) Kind() string     { return "none" }
func (noneNames) Names() []string  { return []string{"none"} }
func (bigNames) Kind() string      { return "big" }
func (bigNames) Names() []string   { return bigTexts }

var bigTexts = func() []string {
	texts := make([]string, 254)
	for i := range texts {
		texts[i] = strings.Repeat("x", i+1)
	}
	return texts
}()

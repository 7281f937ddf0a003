package looplab_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/looplab/fsm"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab"
)

// oddState and the types below make a machine with every text that callbacks could mistake: a
// state and a trigger "paid", and texts with the prefixes of looplab.
type (
	oddState   = statemachine.Enum[oddStates]
	oddTrigger = statemachine.Enum[oddTriggers]

	oddStates   struct{}
	oddTriggers struct{}
)

func (oddStates) Kind() string      { return "state" }
func (oddStates) Names() []string   { return []string{"paid", "before_paid", "enter_x"} }
func (oddTriggers) Kind() string    { return "trigger" }
func (oddTriggers) Names() []string { return []string{"paid", "after_pay", "pay"} }

var odd = statemachine.Must("odd", []statemachine.Edge[oddState, oddTrigger]{
	{From: 0, Trigger: 3, To: 2}, {From: 2, Trigger: 1, To: 1}, {From: 1, Trigger: 2, To: 3},
})

func TestNewRefusesCallbacksThatLooplabMisreads(t *testing.T) {
	for _, c := range []struct {
		rule  string
		names []string
		says  string // empty: sound
	}{
		{"full forms", []string{"before_paid", "leave_paid", "enter_paid", "after_paid"}, "its prefix"},
		{"full forms of a plain name", []string{"before_pay", "leave_paid", "enter_paid", "after_paid"}, ""},
		{"those of every state and event", []string{"before_event", "leave_state", "enter_state", "after_event"}, ""},
		{"the full form of a prefixed state", []string{"enter_before_paid", "leave_enter_x"}, ""},
		{"the full form of a prefixed trigger", []string{"before_after_pay", "after_after_pay"}, ""},
		{"the short form of a trigger", []string{"pay"}, ""},
		{"the short form of a prefixed state that looplab reads as another", []string{"before_paid"}, "its prefix"},
		{"the short form of a prefixed state that looplab drops", []string{"enter_x"}, "its prefix"},
		{"the short form of a prefixed trigger", []string{"after_pay"}, "its prefix"},
		{"a text that is a state and a trigger", []string{"paid"}, "it names a state and a trigger"},
		{"a misspelt name", []string{"payed"}, "there is no such state or event"},
		{"the empty name", []string{""}, "there is no such state or event"},
		{"a misspelt state", []string{"enter_payed"}, `there is no state "payed"`},
		{"a trigger where a state belongs", []string{"leave_pay"}, `there is no state "pay"`},
		{"a state where a trigger belongs", []string{"before_enter_x"}, `there is no event "enter_x"`},
		{"event where state belongs", []string{"enter_event"}, `there is no state "event"`},
		{"the short and the full form of one", []string{"after_pay", "pay"}, "its prefix"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			callbacks := fsm.Callbacks{}
			for _, name := range c.names {
				callbacks[name] = func(context.Context, *fsm.Event) {}
			}
			_, err := looplab.New(odd, 0, callbacks)
			wantNameError(t, err, c.says)
		})
	}
	noop := func(context.Context, *fsm.Event) {}
	_, err := looplab.New(parcels, 0, fsm.Callbacks{"after_scan": noop, "scan": noop})
	wantNameError(t, err, `it means the same as "after_scan"`)
	_, err = looplab.New(parcels, 0, fsm.Callbacks{"waiting": noop, "enter_waiting": noop})
	wantNameError(t, err, `it means the same as "enter_waiting"`)
	_, err = looplab.New(parcels, 0, fsm.Callbacks{"scan": nil})
	wantNameError(t, err, "there is no function")
}

func wantNameError(t *testing.T, err error, says string) {
	t.Helper()
	var name *looplab.NameError
	switch {
	case says == "" && err != nil:
		t.Errorf("refused: %v", err)
	case says == "":
	case !errors.As(err, &name) || !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), says):
		t.Errorf("got %v\nwant a NameError that says %q", err, says)
	}
}

type (
	reservedStates   struct{}
	reservedTriggers struct{}
)

func (reservedStates) Kind() string      { return "state" }
func (reservedStates) Names() []string   { return []string{"state", "event"} }
func (reservedTriggers) Kind() string    { return "trigger" }
func (reservedTriggers) Names() []string { return []string{"event", "state"} }

func TestEventsRefusesReservedNames(t *testing.T) {
	type (
		state   = statemachine.Enum[reservedStates]
		trigger = statemachine.Enum[reservedTriggers]
	)
	a := statemachine.Must("m", []statemachine.Edge[state, oddTrigger]{
		{From: 0, Trigger: 1, To: 2}, {From: 2, Trigger: 2, To: 1}, {From: 0, Trigger: 3, To: 1},
	})
	_, err := looplab.Events(a)
	wantNameError(t, err, `cannot use the state "state"`)
	b := statemachine.Must("m", []statemachine.Edge[oddState, trigger]{
		{From: 0, Trigger: 2, To: 1}, {From: 1, Trigger: 2, To: 2}, {From: 2, Trigger: 1, To: 3},
	})
	_, err = looplab.New(b, 0, nil)
	wantNameError(t, err, `cannot use the trigger "event"`)
}

// The test shows on looplab itself what the bridge guards against: when one of these checks fails
// after an upgrade, the guard and its documentation can go.
func TestLooplabStillBehavesAsDocumented(t *testing.T) {
	count := func(n *int) fsm.Callback { return func(context.Context, *fsm.Event) { *n++ } }
	ctx := context.Background()

	t.Run("a callback for the event called event is called for every event", func(t *testing.T) {
		n := 0
		f := fsm.NewFSM("a", fsm.Events{{Name: "event", Src: []string{"b"}, Dst: "c"}, {Name: "go", Src: []string{"a"}, Dst: "b"}},
			fsm.Callbacks{"before_event": count(&n)})
		if err := f.Event(ctx, "go"); err != nil || n != 1 {
			t.Error(err, n)
		}
	})
	t.Run("the short form of a prefixed state is dropped", func(t *testing.T) {
		n := 0
		f := fsm.NewFSM("a", fsm.Events{{Name: "go", Src: []string{"a"}, Dst: "enter_b"}}, fsm.Callbacks{"enter_b": count(&n)})
		if err := f.Event(ctx, "go"); err != nil || n != 0 {
			t.Error(err, n)
		}
	})
	t.Run("the full form of a prefixed state works", func(t *testing.T) {
		n := 0
		f := fsm.NewFSM("a", fsm.Events{{Name: "go", Src: []string{"a"}, Dst: "enter_b"}}, fsm.Callbacks{"enter_enter_b": count(&n)})
		if err := f.Event(ctx, "go"); err != nil || n != 1 {
			t.Error(err, n)
		}
	})
	t.Run("the last of two targets wins", func(t *testing.T) {
		f := fsm.NewFSM("a", fsm.Events{{Name: "go", Src: []string{"a"}, Dst: "b"}, {Name: "go", Src: []string{"a"}, Dst: "c"}}, nil)
		if err := f.Event(ctx, "go"); err != nil || f.Current() != "c" {
			t.Error(err, f.Current())
		}
	})
	t.Run("a context that ends during a step blocks the machine for ever", func(t *testing.T) {
		ending, cancel := context.WithCancel(ctx)
		f := fsm.NewFSM("a", fsm.Events{{Name: "go", Src: []string{"a"}, Dst: "b"}},
			fsm.Callbacks{"leave_a": func(context.Context, *fsm.Event) { cancel() }})
		if err := f.Event(ending, "go"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		var blocked fsm.InTransitionError
		if err := f.Event(ctx, "go"); !errors.As(err, &blocked) {
			t.Error(err)
		}
	})
}

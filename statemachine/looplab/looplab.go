package looplab

import (
	"context"
	"fmt"

	"github.com/looplab/fsm"

	"github.com/settlehq/settle/statemachine"
)

// Events lists the table of m in the form of looplab, one entry per edge, in the same order. The
// zero state is called "none". A machine with a name that looplab reserves is a [NameError].
func Events[S, T statemachine.Label](m *statemachine.Machine[S, T]) (fsm.Events, error) {
	events := make(fsm.Events, len(m.Edges()))
	for i, e := range m.Edges() {
		src, dst, on := e.From.String(), e.To.String(), e.Trigger.String()
		switch {
		case src == "state" || dst == "state":
			return nil, &NameError{"state", "state", `looplab takes its callbacks "enter_state" and "leave_state" for those of every state`}
		case on == "event":
			return nil, &NameError{"trigger", "event", `looplab takes its callbacks "before_event" and "after_event" for those of every event`}
		}
		events[i] = fsm.EventDesc{Name: on, Src: []string{src}, Dst: dst}
	}
	return events, nil
}

// New returns a looplab machine that follows m and is in the state current. It returns a
// [NameError] for a callback that looplab would drop or mistake for another, and for a name that
// looplab reserves.
func New[S, T statemachine.Label](m *statemachine.Machine[S, T], current S, callbacks fsm.Callbacks) (*fsm.FSM, error) {
	if current != 0 && !current.Valid() {
		return nil, fmt.Errorf("%w: %s cannot be in %v", statemachine.ErrInvalid, m.Name(), current)
	}
	events, err := Events(m)
	if err != nil {
		return nil, err
	}
	if err := checkCallbacks(events, callbacks); err != nil {
		return nil, err
	}
	return fsm.NewFSM(current.String(), events, callbacks), nil
}

// Fire sends a trigger to f and answers as the table does: nil for a step (also for one back to
// the same state) and [statemachine.ErrIllegal] for a refusal. The error of a callback is
// returned as looplab gives it.
//
// The context is checked once, before the step: if it has ended, its error is returned and
// nothing happens. Callbacks see its values but not its end, because looplab refuses every later
// event if the context ends in the middle of a step.
func Fire[T statemachine.Label](ctx context.Context, f *fsm.FSM, on T, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	event, from := on.String(), f.Current()
	refusal := &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: "looplab machine", State: from, Event: event}
	switch err := f.Event(context.WithoutCancel(ctx), event, args...).(type) {
	case fsm.NoTransitionError:
		return err.Err
	case fsm.InvalidEventError:
		// A callback may report the refusal of an event that it sent itself.
		if err.Event != event || err.State != from {
			return err
		}
		return refusal
	case fsm.UnknownEventError:
		if err.Event != event {
			return err
		}
		return refusal
	default:
		return err
	}
}

// Edges reads a list of looplab events as the edges of a table. The looplab state with the name
// zero becomes the zero state: use the state that a record has before it is stored, or "none" for
// a list that [Events] has written. A name that the enumerations do not have is a
// [statemachine.UnknownTextError]. Two targets for one event and source are an [AmbiguousError],
// since looplab would follow the last one without an error; the same entry twice counts once.
func Edges[S, T statemachine.Label](events []fsm.EventDesc, zero string) ([]statemachine.Edge[S, T], error) {
	states, triggers := byText[S](), byText[T]()
	states[zero] = 0
	type cell struct {
		from S
		on   T
	}
	seen := make(map[cell]S)
	var edges []statemachine.Edge[S, T]
	for _, e := range events {
		where := fmt.Sprintf("looplab event %q", e.Name)
		on, ok := triggers[e.Name]
		if !ok {
			return nil, &statemachine.UnknownTextError{Kind: "trigger", Text: e.Name, Where: where}
		}
		to, ok := states[e.Dst]
		if !ok {
			return nil, &statemachine.UnknownTextError{Kind: "state", Text: e.Dst, Where: where}
		}
		for _, src := range e.Src {
			from, ok := states[src]
			if !ok {
				return nil, &statemachine.UnknownTextError{Kind: "state", Text: src, Where: where}
			}
			switch first, again := seen[cell{from, on}]; {
			case again && first != to:
				return nil, &AmbiguousError{Event: e.Name, Src: src, Dst: [2]string{first.String(), e.Dst}}
			case !again:
				seen[cell{from, on}] = to
				edges = append(edges, statemachine.Edge[S, T]{From: from, Trigger: on, To: to})
			}
		}
	}
	return edges, nil
}

func byText[L statemachine.Label]() map[string]L {
	all := make(map[string]L)
	for l := L(1); l.Valid(); l++ {
		all[l.String()] = l
	}
	return all
}

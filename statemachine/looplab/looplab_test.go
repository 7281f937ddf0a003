package looplab_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/looplab/fsm"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab"
)

func TestEventsThereAndBackAgain(t *testing.T) {
	events, err := looplab.Events(parcels)
	if err != nil {
		t.Fatal(err)
	}
	if want := (fsm.EventDesc{Name: "accept", Src: []string{"none"}, Dst: "waiting"}); !reflect.DeepEqual(events[0], want) {
		t.Errorf("the creation is %v, want %v", events[0], want)
	}
	edges, err := looplab.Edges[status, trigger](events, "none")
	if err != nil || !reflect.DeepEqual(edges, parcels.Edges()) {
		t.Errorf("%v, %v\nwant %v", edges, err, parcels.Edges())
	}
}

func TestNewStartsInTheGivenState(t *testing.T) {
	for from, want := range map[status]string{0: "none", Travelling: "travelling"} {
		if f, err := looplab.New(parcels, from, nil); err != nil || f.Current() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := looplab.New(parcels, 4, nil); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a state outside the enumeration: %v", err)
	}
}

func TestFireAnswersAsTheTable(t *testing.T) {
	broken := errors.New("printer broken")
	fire := func(from status, on trigger, callbacks fsm.Callbacks) (*fsm.FSM, error) {
		f, err := looplab.New(parcels, from, callbacks)
		if err != nil {
			t.Fatal(err)
		}
		return f, looplab.Fire(context.Background(), f, on)
	}
	report := func(err error) fsm.Callback {
		return func(_ context.Context, e *fsm.Event) { e.Err = err }
	}
	for _, c := range []struct {
		rule      string
		from      status
		on        trigger
		callbacks fsm.Callbacks
		to        string
		want      error
	}{
		{"a step", Waiting, Dispatch, nil, "travelling", nil},
		{"a creation", 0, Accept, nil, "waiting", nil},
		{"a step to the same state is a step", Travelling, Scan, nil, "travelling", nil},
		{"a refusal", Waiting, Deliver, nil, "waiting", statemachine.ErrIllegal},
		{"a trigger outside the enumeration", Waiting, 9, nil, "waiting", statemachine.ErrIllegal},
		{"a callback's error after a step", Waiting, Dispatch, fsm.Callbacks{"after_dispatch": report(broken)}, "travelling", broken},
		{"a callback's error after a step to the same state", Travelling, Scan,
			fsm.Callbacks{"after_scan": report(broken)}, "travelling", broken},
		{"a step that a callback cancels", Waiting, Dispatch, fsm.Callbacks{
			"leave_waiting": func(_ context.Context, e *fsm.Event) { e.Cancel(broken) },
		}, "waiting", broken},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f, err := fire(c.from, c.on, c.callbacks)
			if !errors.Is(err, c.want) || f.Current() != c.to {
				t.Errorf("%v in %s, want %v in %s", err, f.Current(), c.want, c.to)
			}
		})
	}
	t.Run("a refusal inside a callback is not the step's own", func(t *testing.T) {
		for _, inner := range []string{"accept", "dispatch", "no such event"} {
			f, err := fire(Waiting, Dispatch, fsm.Callbacks{
				"enter_travelling": func(ctx context.Context, e *fsm.Event) { e.Err = e.FSM.Event(ctx, inner) },
			})
			if err == nil || errors.Is(err, statemachine.ErrIllegal) || f.Current() != "travelling" {
				t.Errorf("%s: %v in %s", inner, err, f.Current())
			}
		}
	})
}

func TestFireKeepsTheMachineUsableWhenTheContextEnds(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
	f, err := looplab.New(parcels, Waiting, fsm.Callbacks{"leave_waiting": func(ctx context.Context, _ *fsm.Event) {
		cancel()
		if ctx.Err() != nil || ctx.Value(key{}) != "value" {
			t.Errorf("the callback sees %v and %v", ctx.Err(), ctx.Value(key{}))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := looplab.Fire(ctx, f, Dispatch); err != nil || f.Current() != "travelling" {
		t.Errorf("the context ends in the middle: %v in %s", err, f.Current())
	}
	if err := looplab.Fire(ctx, f, Deliver); !errors.Is(err, context.Canceled) || f.Current() != "travelling" {
		t.Errorf("the context ended before: %v in %s", err, f.Current())
	}
	if err := looplab.Fire(context.Background(), f, Deliver); err != nil || f.Current() != "delivered" {
		t.Errorf("later: %v in %s", err, f.Current())
	}
}

func TestEdgesRefusesWhatLooplabWouldTake(t *testing.T) {
	for _, c := range []struct {
		rule   string
		events fsm.Events
		want   error
	}{
		{"an unknown event", fsm.Events{{Name: "lose", Src: []string{"waiting"}, Dst: "delivered"}},
			&statemachine.UnknownTextError{Kind: "trigger", Text: "lose", Where: `looplab event "lose"`}},
		{"an unknown source", fsm.Events{{Name: "scan", Src: []string{"waiting", "lost"}, Dst: "delivered"}},
			&statemachine.UnknownTextError{Kind: "state", Text: "lost", Where: `looplab event "scan"`}},
		{"an unknown target", fsm.Events{{Name: "scan", Src: []string{"waiting"}, Dst: ""}},
			&statemachine.UnknownTextError{Kind: "state", Text: "", Where: `looplab event "scan"`}},
		{"two targets in two entries", fsm.Events{
			{Name: "scan", Src: []string{"waiting", "travelling"}, Dst: "travelling"},
			{Name: "scan", Src: []string{"travelling"}, Dst: "delivered"},
		}, &looplab.AmbiguousError{Event: "scan", Src: "travelling", Dst: [2]string{"travelling", "delivered"}}},
		{"zero as a second target", fsm.Events{
			{Name: "scan", Src: []string{"waiting"}, Dst: "outside"},
			{Name: "scan", Src: []string{"waiting"}, Dst: "travelling"},
		}, &looplab.AmbiguousError{Event: "scan", Src: "waiting", Dst: [2]string{"none", "travelling"}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			edges, err := looplab.Edges[status, trigger](c.events, "outside")
			if !reflect.DeepEqual(err, c.want) || !errors.Is(err, statemachine.ErrInvalid) || edges != nil {
				t.Errorf("%v, %#v\nwant %#v", edges, err, c.want)
			}
		})
	}
	once, err := looplab.Edges[status, trigger](fsm.Events{
		{Name: "scan", Src: []string{"waiting", "waiting"}, Dst: "travelling"},
		{Name: "scan", Src: []string{"waiting"}, Dst: "travelling"},
		{Name: "deliver", Dst: "delivered"},
	}, "none")
	if err != nil || len(once) != 1 {
		t.Errorf("the same entry twice, and one that never fires: %v, %v", once, err)
	}
}

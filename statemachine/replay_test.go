package statemachine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
)

func trail(t interface{ Fatal(...any) }, triggers ...trigger) []statemachine.Transition[int] {
	p := Parcel{ID: 7}
	for _, on := range triggers {
		var err error
		if p, err = p.Move(on, noon); err != nil {
			t.Fatal(err)
		}
	}
	return p.Log
}

func TestReplayFindsCorruption(t *testing.T) {
	type log = []statemachine.Transition[int]
	for _, c := range []struct {
		rule    string
		corrupt func(log) log
		state   status
		says    string // empty: sound
	}{
		{"a complete trail", func(l log) log { return l }, Delivered, ""},
		{"an empty trail is a record that does not exist", func(log) log { return nil }, 0, ""},
		{"a trail that ends early is sound", func(l log) log { return l[:2] }, Travelling, ""},
		{"the first line missing", func(l log) log { return l[1:] }, 0, "expected version 1"},
		{"a line missing in the middle", func(l log) log { return slices.Delete(l, 2, 3) }, Travelling, "expected version 3"},
		{"a line twice", func(l log) log { return slices.Insert(l, 1, l[0]) }, Waiting, "expected version 2"},
		{"two lines swapped", func(l log) log { l[1], l[2] = l[2], l[1]; return l }, Waiting, "expected version 2"},
		{"a version that starts at zero", func(l log) log { l[0].Version = 0; return l }, 0, "expected version 1"},
		{"another record's line", func(l log) log { l[2].ID = 8; return l }, Travelling, "belongs to another record"},
		{"another machine's line", func(l log) log { l[2].Machine = "letter"; return l }, Travelling, "belongs to another record"},
		{"another machine's trail", func(l log) log {
			for i := range l {
				l[i].Machine = "letter"
			}
			return l
		}, 0, "belongs to another record"},
		{"a break between two lines", func(l log) log { l[2].From = "waiting"; return l }, Travelling, "the record was travelling"},
		{"a state before the creation", func(l log) log { l[0].From = "none"; return l }, 0, "the record was none"},
		{"a state lost on the way", func(l log) log { l[2].From = ""; return l }, Travelling, "the record was travelling"},
		{"an unknown state before", func(l log) log { l[2].From = "lost"; return l }, Travelling, "the record was travelling"},
		{"an unknown trigger", func(l log) log { l[2].Trigger = "lose"; return l }, Travelling, "unknown trigger"},
		{"no trigger", func(l log) log { l[2].Trigger = ""; return l }, Travelling, "unknown trigger"},
		{"the text of trigger zero", func(l log) log { l[2].Trigger = "none"; return l }, Travelling, "unknown trigger"},
		{"a trigger that the table refuses here", func(l log) log { l[2].Trigger = "recall"; return l }, Travelling,
			"the table has no such edge"},
		{"another target", func(l log) log { l[3].To = "returned"; return l }, Travelling, "the table has no such edge"},
		{"an unknown target", func(l log) log { l[3].To = "lost"; return l }, Travelling, "the table has no such edge"},
		{"a line after a terminal state", func(l log) log {
			return append(l, statemachine.Transition[int]{Machine: "parcel", ID: 7, Version: 5, From: "delivered", Trigger: "scan", To: "delivered"})
		}, Delivered, "the table has no such edge"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			state, err := statemachine.Replay(Parcels, c.corrupt(trail(t, Accept, Dispatch, Scan, Deliver)))
			if state != c.state {
				t.Errorf("ends in %v, want the last sound state %v", state, c.state)
			}
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says == "":
			case !errors.Is(err, statemachine.ErrCorrupt) || !strings.HasSuffix(err.Error(), c.says):
				t.Errorf("got %v\nwant ErrCorrupt that ends in %q", err, c.says)
			}
		})
	}
}

func TestReplayOfAnyWalkEndsWhereTheWalkEnded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Parcel{ID: rapid.Int().Draw(t, "id")}
		for _, on := range rapid.SliceOf(rapid.SampledFrom(Parcels.Triggers())).Draw(t, "triggers") {
			p, _ = p.Move(on, noon)
		}
		state, err := statemachine.Replay(Parcels, p.Log)
		if err != nil || state != p.Status || int64(len(p.Log)) != p.Version {
			t.Fatalf("%v, %v after %d lines; the record is %v at version %d", state, err, len(p.Log), p.Status, p.Version)
		}
	})
}

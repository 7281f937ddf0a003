package statemachine_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

func TestComplete(t *testing.T) {
	type line = statemachine.Transition[int]
	a := func(v int64) line { return line{Machine: "a", ID: 1, Version: v} }
	b := func(v int64) line { return line{Machine: "b", ID: 1, Version: v} }
	records := []statemachine.Versions[int]{{Machine: "a", ID: 1, Old: 3, New: 5}, {Machine: "b", ID: 1, Old: 0, New: 1}}
	for _, test := range []struct {
		what string
		log  []line
		want error
	}{
		{"a line for each version", []line{a(4), b(1), a(5)}, nil},
		{"in another order of records", []line{b(1), a(4), a(5)}, nil},
		{"in another order of versions", []line{a(5), a(4), b(1)}, statemachine.ErrInvalid},
		{"no line", nil, statemachine.ErrInvalid},
		{"one too few", []line{a(4), b(1)}, statemachine.ErrInvalid},
		{"none of a new record", []line{a(4), a(5)}, statemachine.ErrInvalid},
		{"one too many", []line{a(4), a(5), a(6), b(1)}, statemachine.ErrInvalid},
		{"twice", []line{a(4), a(4), b(1)}, statemachine.ErrInvalid},
		{"from before", []line{a(3), a(4), b(1)}, statemachine.ErrInvalid},
		{"of another machine", []line{a(4), a(5), {Machine: "c", ID: 1, Version: 1}}, statemachine.ErrInvalid},
		{"of another record", []line{a(4), {Machine: "a", ID: 2, Version: 5}, b(1)}, statemachine.ErrInvalid},
	} {
		if err := statemachine.Complete(test.log, slices.Clone(records)...); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, expected %v", test.what, err, test.want)
		}
	}
	var many []statemachine.Versions[int]
	var log []line
	for i := range 1000 {
		many, log = append(many, statemachine.Versions[int]{Machine: "a", ID: i, Old: 6, New: 7}),
			append(log, line{Machine: "a", ID: i, Version: 7})
	}
	if err := statemachine.Complete(log, slices.Clone(many)...); err != nil {
		t.Errorf("many records: %v", err)
	}
	log[500].Version++
	if err := statemachine.Complete(log, many...); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a gap among many records: %v", err)
	}
	if err := statemachine.Complete(nil, statemachine.Versions[int]{Machine: "a", ID: 1, Old: 3, New: 3}); err != nil {
		t.Errorf("a record that stays: %v", err)
	}
	err := statemachine.Complete([]line{a(4)}, statemachine.Versions[int]{Machine: "a", ID: 1, Old: 4, New: 3},
		statemachine.Versions[int]{Machine: "a", ID: 2, Old: 0, New: 2})
	if err == nil {
		t.Error("a version that goes back is complete")
	}
}

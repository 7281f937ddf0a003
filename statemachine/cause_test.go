package statemachine_test

import (
	"reflect"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

func TestByCause(t *testing.T) {
	of := func(s *string) string { return *s }
	for _, tt := range []struct {
		name string
		page []string
		want []statemachine.Caused[string]
	}{
		{"an empty page", nil, nil},
		{"what waits for nothing is left out", []string{"", "a", ""}, []statemachine.Caused[string]{{Cause: "a", Items: []int{1}}}},
		{"the largest group is first", []string{"a", "b", "b"}, []statemachine.Caused[string]{{Cause: "b", Items: []int{1, 2}}, {Cause: "a", Items: []int{0}}}},
		{"of equal groups the earlier one", []string{"b", "a", "b", "a"}, []statemachine.Caused[string]{{Cause: "b", Items: []int{0, 2}}, {Cause: "a", Items: []int{1, 3}}}},
	} {
		if got := statemachine.ByCause(tt.page, of); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

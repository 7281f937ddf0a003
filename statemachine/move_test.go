package statemachine_test

import (
	"errors"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

func TestMove(t *testing.T) {
	var at status
	var version int64
	line := statemachine.Transition[string]{ID: "p1", Actor: "me", Role: "clerk", Reason: "why", Data: "{}"}
	if err := statemachine.Move(Parcels, &at, &version, Accept, &line); err != nil {
		t.Fatal(err)
	}
	want := statemachine.Transition[string]{Machine: "parcel", ID: "p1", Version: 1, Trigger: "accept", To: "waiting", Actor: "me",
		Role: "clerk", Reason: "why", Data: "{}"}
	if at != Waiting || version != 1 || line != want {
		t.Errorf("status %v, version %d, line %+v", at, version, line)
	}
	before := line
	if err := statemachine.Move(Parcels, &at, &version, Accept, &line); !errors.Is(err, statemachine.ErrIllegal) {
		t.Errorf("a second creation: %v", err)
	}
	if at != Waiting || version != 1 || line != before {
		t.Error("a refusal changed something")
	}
	if n := testing.AllocsPerRun(100, func() {
		s, v := at, version
		_ = statemachine.Move(Parcels, &s, &v, Dispatch, &line)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

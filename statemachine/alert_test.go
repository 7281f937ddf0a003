package statemachine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
)

func TestAlarms(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	late := statemachine.AlertKind{Name: "late", Ends: "when the node answers"}
	many := statemachine.AlertKind{Name: "many", Person: true, Ends: "settle them"}
	a := statemachine.Alarms{At: now, Kinds: []statemachine.AlertKind{late, many}}

	a.Wait("late", time.Time{}, time.Hour, "nothing waits")
	a.Wait("late", now.Add(-time.Hour), time.Hour, "it waits as long as it may")
	a.Wait("late", now.Add(-time.Hour), 0, "nobody watches")
	a.Add(false, "many", "%d", 1)
	if len(a.Alerts) != 0 {
		t.Fatalf("alerts within the limits: %v", a.Alerts)
	}
	a.Add(true, "many", "%d of %d", 3, 2)
	a.Wait("late", now.Add(-time.Hour-1), time.Hour, "an item waits")
	want := []statemachine.Alert{
		{AlertKind: many, Text: "3 of 2"},
		{AlertKind: late, Text: "an item waits since 2026-01-02T02:04:04Z, longer than 1h0m0s"},
	}
	if !slices.Equal(a.Alerts, want) {
		t.Errorf("%+v, want %+v", a.Alerts, want)
	}

	defer func() {
		if recover() == nil {
			t.Error("a name that is in no list is no error")
		}
	}()
	a.Add(false, "typo", "")
}

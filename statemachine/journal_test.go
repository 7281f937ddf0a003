package statemachine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

func journalLine(outcome string) statemachine.JournalLine {
	return statemachine.JournalLine{Actor: "olga", Role: "operator", Domain: "withdrawals", Machine: "withdrawal_request", ID: "1",
		Event: "Held", Outcome: outcome}
}

// What people say is kept, and what a machine says is not.
func TestPerson(t *testing.T) {
	for role, want := range map[string]bool{"operator": true, "approver": true, "system": false, "withdrawal worker": false, "": false} {
		l := journalLine(statemachine.JournalDone)
		if l.Role = role; statemachine.Person(role) != want || (l.Check() == nil) != want {
			t.Errorf("%q: %v, %v", role, statemachine.Person(role), l.Check())
		}
	}
}

// An attempt is kept as done, as a word that the caller has set, or by the code of its refusal. What decided nothing is
// not kept.
func TestTried(t *testing.T) {
	lost := errors.New("no connection")
	for _, tt := range []struct {
		outcome string
		err     error
		want    string // empty: it is not kept
	}{
		{"", nil, statemachine.JournalDone},
		{statemachine.JournalSame, nil, statemachine.JournalSame},
		{"", fmt.Errorf("hold: %w", statemachine.ErrIllegal), "illegal"},
		{statemachine.JournalSame, statemachine.ErrConflict, "conflict"},
		{"", lost, ""},
	} {
		l, kept := journalLine(tt.outcome).Tried(tt.err)
		if kept != (tt.want != "") || kept && (l.Outcome != tt.want || (l.Error != "") != (tt.err != nil)) {
			t.Errorf("%q, %v: %+v, %v", tt.outcome, tt.err, l, kept)
		}
	}
	long := journalLine("")
	long.Actor, long.ID, long.Trace, long.Via = strings.Repeat("a", 1000), strings.Repeat("b", 1000), strings.Repeat("c", 100), strings.Repeat("d", 100)
	if l, kept := long.Tried(fmt.Errorf("%w: %s", statemachine.ErrInvalid, strings.Repeat("e", 5000))); !kept || l.Check() != nil {
		t.Errorf("%v, %v", kept, l.Check())
	}
}

// Of a transaction that was undone a refusal stays, and what was done counts as refused, or as not tried.
func TestUndone(t *testing.T) {
	lost := errors.New("no connection")
	for _, tt := range []struct {
		outcome string
		err     error
		want    string
	}{
		{"illegal", lost, "illegal"}, {"illegal", statemachine.ErrConflict, "illegal"},
		{statemachine.JournalDone, statemachine.ErrConflict, "conflict"}, {statemachine.JournalSame, statemachine.ErrConflict, "conflict"},
		{statemachine.JournalDone, lost, ""}, {statemachine.JournalSame, lost, ""},
	} {
		got := ""
		for _, l := range statemachine.Undone([]statemachine.JournalLine{journalLine(tt.outcome)}, tt.err) {
			got += l.Outcome
		}
		if got != tt.want {
			t.Errorf("%q undone by %v is %q, not %q", tt.outcome, tt.err, got, tt.want)
		}
	}
}

package statemachine

import (
	"fmt"
	"time"
)

// Transition is one line of the audit trail: how a record came to one version.
// ID is the domain's own identifier, so that writing a line costs no
// formatting.
type Transition[ID comparable] struct {
	Machine string    // [Machine.Name]
	ID      ID        // the record
	Version int64     // the version that this transition made, from 1 without gaps
	From    string    // text of the state before; empty at creation
	Trigger string    // text of the trigger
	To      string    // text of the state after; equal to From where the status stays
	At      time.Time // when the host says that it happened, UTC microseconds
	Actor   string    // who caused it, may be empty
	Role    string    // text of the role in which the actor spoke, may be empty
	Trace   string    // By.Trace of the event, may be empty
	Reason  string    // bounded text, may be empty
	Data    string    // JSON with facts of this step, may be empty
}

// Replay walks a record's audit trail through the table and returns the state
// that it ends in. log must be complete and in order of version. A gap, another
// record's line, a break between two lines, or an edge that the table does not
// have is [ErrCorrupt].
func Replay[ID comparable, S, T Label](m *Machine[S, T], log []Transition[ID]) (S, error) {
	var state S
	for i, t := range log {
		corrupt := func(why string) error {
			return fmt.Errorf("%w: %s %v version %d (%s --%s--> %s): %s",
				ErrCorrupt, t.Machine, t.ID, t.Version, t.From, t.Trigger, t.To, why)
		}
		from := ""
		if state != 0 {
			from = state.String()
		}
		trigger, known := m.trigger(t.Trigger)
		switch {
		case t.Machine != m.Name() || t.ID != log[0].ID:
			return state, corrupt("belongs to another record")
		case t.Version != int64(i)+1:
			return state, corrupt(fmt.Sprintf("expected version %d", i+1))
		case t.From != from:
			return state, corrupt("the record was " + state.String())
		case !known:
			return state, corrupt("unknown trigger")
		}
		to, ok := m.Next(state, trigger)
		if !ok || to.String() != t.To {
			return state, corrupt("the table has no such edge")
		}
		state = to
	}
	return state, nil
}

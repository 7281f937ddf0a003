package relaysync

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Do is a kind of [Action].
// Values: DoReconcile, DoClaim, DoSend, DoRetry.
type Do = statemachine.Enum[do]

const (
	DoReconcile Do = iota + 1 // send Reconciled
	DoClaim                   // send Claimed
	DoSend                    // under the lease: the requests of Attempt, then Finished
	DoRetry                   // a person finds out, then Retried or Recreated
)

type do struct{}

func (do) Kind() string    { return "relay sync action" }
func (do) Names() []string { return doNames }

var doNames = []string{"reconcile", "claim", "send", "retry"}

// Action is something that must be done now. Plain data; no secrets.
type Action struct {
	Do    Do
	Key   string // idempotency key: the same for every retry of the same action
	By    Role
	Relay string
	Fence int64 // of the lease to act under; for DoClaim the one to claim
}

// Step says what is owed.
type Step struct {
	Actions []Action
	// Due is when to ask again; zero: only Party can move it on.
	Due time.Time
	// Party is who moves it on; zero where nothing is owed.
	Party Role `json:",omitzero"`
}

// Next says what the record owes at now. It is level-triggered: it looks at nothing but the
// record, so a restart needs no replay. Level, where it is given, leaves out what the switch
// stops.
func (p Policy) Next(s Sync, now time.Time) Step {
	t := &s.Timer
	act := func(do Do, by Role, n int64) Step {
		return Step{Actions: []Action{{Do: do, Key: fmt.Sprintf("%s/%s/%d", do, s.Relay.ID, n), By: by, Relay: s.Relay.ID, Fence: n}}, Party: by}
	}
	if at, due := s.DueAt(); due && !now.Before(at) && s.Level >= switches.Begin {
		return Step{Party: Operator} // starts relays
	}
	switch s.Phase() {
	case PhaseExhausted:
		return act(DoRetry, Operator, t.Lease.Fence)
	case PhaseClean:
		if Reconcile(s.Relay) == Ignore {
			return Step{}
		}
		return act(DoReconcile, Reactor, t.Lease.Fence)
	case PhaseSyncing:
		if p.held(t, now) {
			step := act(DoSend, Reactor, t.Lease.Fence)
			step.Due = t.Lease.Until
			return step
		}
		return act(DoClaim, Reactor, t.Lease.Fence+1)
	case PhaseDue, PhaseWaiting:
		if now.Before(t.Due) {
			return Step{Due: t.Due, Party: Reactor}
		}
		return act(DoClaim, Reactor, t.Lease.Fence+1)
	}
	return Step{}
}

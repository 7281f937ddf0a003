package withdrawal

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Acknowledgement says that an operator has settled an [Incident]: it counts as
// open no more. It changes no record; see [Acknowledged] for what a request
// carries. Append-only, one for each incident.
type Acknowledgement struct {
	Request   uuid.UUID
	Hash      string        // with Claim and BlockHash the key of the incident, as stored
	Claim     IncidentClaim `json:",omitzero"`
	BlockHash string
	Actor     string
	Role      Role // Operator
	Reason    string
	At        time.Time
}

// Checked returns a as every store keeps it. At that is absent becomes now.
// [statemachine.ErrForbidden] for anybody but an operator;
// [statemachine.ErrInvalid] without an actor or a reason, or with a text that no
// store can keep.
func (a Acknowledgement) Checked(now time.Time) (Acknowledgement, error) {
	refuse := func(err error, reason string) (Acknowledgement, error) {
		return a, &statemachine.Refusal{Err: err, Machine: RequestMachine.Name(), ID: a.Request.String(), Event: "acknowledge", Reason: reason}
	}
	if a.At.IsZero() {
		a.At = now
	}
	var err error
	switch a.At, err = statemachine.Time(a.At); {
	case a.Role != Operator:
		return refuse(statemachine.ErrForbidden, fmt.Sprintf("%v acknowledges no incident", a.Role))
	case err != nil:
		return a, err
	case statemachine.Actor(a.Actor) != nil:
		return refuse(statemachine.Actor(a.Actor), "")
	case !a.Claim.Valid():
		return refuse(statemachine.ErrInvalid, "the claim is "+a.Claim.String())
	case a.Reason == "" || len(a.Reason) > MaxText || !statemachine.Storable(a.Reason):
		return refuse(statemachine.ErrInvalid, fmt.Sprintf("a reason has 1 to %d bytes", MaxText))
	}
	return a, nil
}

// Refused is a line of the journal of what people tried and were refused.
// Append-only.
type Refused struct {
	Request uuid.UUID // or the batch, of a [BatchEvent]
	Event   string    // what was tried
	Actor   string    // bounded, as Error
	Role    Role      `json:",omitzero"`
	At      time.Time
	Error   string // what was answered
}

// RefusedOf returns the line of the journal for an event that was refused, at
// the store's time. Only what operators and approvers try is kept: workers are
// refused every day, as when a lease has ended. What was decided on an old version
// is no attempt at something forbidden.
func RefusedOf[E interface{ by() By }](request uuid.UUID, ev E, err error, now time.Time) (line Refused, keep bool) {
	var refusal *statemachine.Refusal
	if statemachine.NoEvent(ev) != "" || !errors.As(err, &refusal) || errors.Is(err, statemachine.ErrConflict) {
		return line, false
	}
	by := ev.by()
	if by.Role != Operator && by.Role != Approver {
		return line, false
	}
	name := statemachine.EventName(ev)
	return Refused{Request: request, Event: name, Actor: statemachine.Bounded(by.Actor, MaxActor), Role: by.Role, At: now, Error: statemachine.Bounded(err.Error(), MaxText)}, true
}

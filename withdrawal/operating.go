package withdrawal

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Acknowledgement says that an operator has settled an [Incident], which then no longer counts as open. It changes no
// record; see [Acknowledged] for the claims that a request carries. Append-only, one for each incident.
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

// Checked returns a as every store keeps it; a zero At becomes now. It returns [statemachine.ErrForbidden] for anybody
// but an operator, and [statemachine.ErrInvalid] without an actor or a reason, or for a text that no store can keep.
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

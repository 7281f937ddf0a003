package dunning

import (
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Event is something that the host saw or decided. The set is closed.
type Event interface{ by() By }

// By says who speaks, in which capacity, when, and about which version.
type By struct {
	Actor string // at most MaxActor bytes, not empty
	Role  Role   `json:",omitzero"`
	// At is when, UTC, in microseconds. Leave it zero in a service: then the
	// store's clock counts, which gives the leases. A time that is said is
	// believed, also about leases: a clock that is ahead takes what is held.
	At time.Time
	// Version, if not zero, is the version of the tenant that the decision was
	// made on. Another one is ErrConflict.
	Version int64 `json:",omitempty"`
}

func (b By) by() By { return b }

// Events of the host.
type (
	// Enrolled makes a tenant. Key: Tenant.
	Enrolled struct {
		By
		Tenant        string
		Method        Method `json:",omitzero"`
		BillingAnchor time.Time
	}
	// MethodSet says how the tenant pays from now on. Charges that waited
	// after a failure are due at once. Key: Method.
	MethodSet struct {
		By
		Method Method `json:",omitzero"`
	}
	// Issued makes an invoice; of nothing, if Amount is 0. Key: Invoice.
	Issued struct {
		By
		Invoice   string
		Amount    int64     // base units
		CreatedAt time.Time // zero: By.At
	}
	// Amended lowers what is owed; ErrHeld while a charge is out. Key: Amount.
	Amended struct {
		By
		Invoice string
		Amount  int64
	}
	// Paid: paid in full by other means than our charge. Key: Invoice.
	Paid struct {
		By
		Invoice string
		Method  Method `json:",omitzero"`
	}
	// Voided: it is owed no longer. Key: Invoice.
	Voided struct {
		By
		Invoice string
	}
	// Provisioned comes with a relay that the host makes or activates for the
	// tenant, in one transaction. It is refused for a tenant who is churned, and
	// moves the version: a churn of that very moment sees the relay, or comes
	// first. It has no key: each is another one.
	Provisioned struct{ By }
	// Reinstated ends a churn, and ages begin anew. Relays stay inactive until
	// the host activates them. Key: the tenant.
	Reinstated struct{ By }
)

// Events of the biller.
type (
	// Ticked begins a step: it puts DueAt off by Policy.Hold, so that no other
	// process begins it too, or to when something is due. Outside the version.
	Ticked struct{ By }
	// ChargeIntended comes before a charge that Next asks for. Key: Key and
	// Actor; to another actor it is ErrHeld.
	ChargeIntended struct {
		By
		Invoice string
		Key     string
	}
	// ChargeAnswered: Done; Failed, only for a definite refusal; Unknown; or
	// Deferred, not tried. Key: Key and Outcome.
	ChargeAnswered struct {
		By
		Invoice string
		Key     string
		Outcome statemachine.Outcome `json:",omitzero"`
		Error   string               // bounded and stored; the host redacts secrets
	}
	// ChargeMissing: a complete look-up says that the charge never arrived and
	// is not under way. Key: Key.
	ChargeMissing struct {
		By
		Invoice string
		Key     string
	}
	// Churned ends the service of the tenant; refused before it is due. Key:
	// the tenant.
	Churned struct{ By }
	// NoticeIntended comes before a message that Next asks for. It stamps all
	// invoices that are due for one. Key: Notice and Actor; to another actor it
	// is ErrHeld.
	NoticeIntended struct {
		By
		Notice string
	}
	// NoticeAnswered: Done and Unknown count as sent; Failed and Deferred give
	// the reminder back to the next tick. Key: Notice.
	NoticeAnswered struct {
		By
		Notice  string
		Outcome statemachine.Outcome `json:",omitzero"`
	}
)

// Events of an operator.
type (
	// Resolved ends a charge that no look-up ends: Done or Failed. Key: Key and
	// Outcome.
	Resolved struct {
		By
		Invoice string
		Key     string
		Outcome statemachine.Outcome `json:",omitzero"`
		Reason  string               // required: the proof
	}
	// Acknowledged: the overpayment is dealt with. Key: Invoice and Key.
	Acknowledged struct {
		By
		Invoice string
		Key     string // Invoice.OverpaidKey
		Reason  string // required
	}
)

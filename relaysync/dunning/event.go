package dunning

import (
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Event is something that the host saw or decided. The set is closed.
type Event interface{ statemachine.Event[Role] }

// By says who speaks, in which capacity, when, and about which version of the tenant. At
// counts for no event: all goes by the store's clock.
type By = statemachine.By[Role]

// Events of the host.
type (
	// Enrolled makes a tenant. Key: Tenant.
	Enrolled struct {
		By
		Tenant        string
		Method        Method `json:",omitzero"`
		BillingAnchor time.Time
	}
	// MethodSet says how the tenant pays from now on. Charges that waited after a failure are due at once. A charge
	// that may still arrive is made again by its own method, at its time, until it is answered. Another card of the
	// same method is no other method: to make the waiting charges due, set Manual and then the method again, in one
	// transaction. Key: Method.
	MethodSet struct {
		By
		Method Method `json:",omitzero"`
	}
	// Issued makes an invoice; an Amount of 0 makes one that owes nothing. Derive the id Invoice from the tenant and
	// the period, so that an invoice which a restored database has forgotten is issued again under the same id: another
	// id would be another debt. Key: Invoice, Amount, and CreatedAt if it is given; the same id with another amount or
	// time is ErrIllegal. One exception: if the stored time lies more than two of Policy.Tick in the future, an earlier
	// CreatedAt is taken for the right one, see Invoice.Since.
	Issued struct {
		By
		Invoice   string
		Amount    int64     // base units
		CreatedAt time.Time // zero: the time of the event; two of Policy.Tick later than that at most
		Taken     string    `json:"-"` // the tenant with an invoice of this id, empty for none: store.Tenants finds out
	}
	// Amended lowers what is owed. It is ErrHeld while a charge is out. It is also ErrHeld while a charge that a
	// look-up did not find may still arrive: until that charge is made again and answered or, if it is not made again,
	// until an operator's Resolved, see [Tenant.NeverArrives]. Key: Amount.
	Amended struct {
		By
		Invoice string
		Amount  int64
	}
	// Paid says that the invoice was paid in full by other means than our charge. Key: Invoice, Method and Payment. A
	// payment is a fact and is filed in every state of the invoice: if the invoice is paid already, void, or of
	// nothing, then this payment, or the one that had paid before, is in Invoice.Overpaid. Two payments without an id
	// by one method count as one; one id by two methods counts as two payments. If MaxOverpaid payments beside the one
	// that paid are on file, Paid is ErrInvalid and nothing is stored.
	Paid struct {
		By
		Invoice string
		Method  Method `json:",omitzero"`
		// Payment is the id of the payment, empty if it has none. For an id above MaxID bytes, such as a whole invoice
		// of Lightning, "sha256:" and the hash in hexadecimal digits are stored instead. A charge that a restored
		// database has forgotten is reported as Paid with its key as the id. With the key of a charge that is on file,
		// Paid is the same as ChargeAnswered with Done.
		Payment string
	}
	// Voided: it is owed no longer; ErrIllegal once it is paid. Key: Invoice.
	Voided struct {
		By
		Invoice string
	}
	// Provisioned comes with a relay that the host makes or activates for the tenant, in one transaction. It is refused
	// for a churned tenant. It moves the version, so that a churn at the same moment either comes first or sees the
	// relay. It has no key: each one counts as new.
	Provisioned struct{ By }
	// Reinstated ends a churn, and ages begin anew. Relays stay inactive until the host activates them. The host does
	// both in one transaction, since everything open is charged at once. Void or amend first what is not owed because
	// relays were off. Key: the tenant.
	Reinstated struct{ By }
)

// Events of the biller.
type (
	// StepBegun begins a step. It moves DueAt on: by Policy.Hold if Next has something to do, so that no other process
	// begins the step too, else to the time when something is due. StepBegun is outside the version, unless it comes
	// late or the clock went back: then it takes the time that no step has seen out of the ages of what is owed, see
	// Invoice.Since and "Clocks" of the package. A biller sends it before each use of Next: while a step is late, a
	// churn is refused.
	StepBegun struct{ By }
	// ChargeIntended stores the intent before a charge that Next asks for. Key: Key and Actor; it is ErrHeld for
	// another actor, and ErrIllegal once the invoice is not owed or the time for the charge is over. The actor charges
	// at once, and sends nothing any more from the first whole second that is Policy.Hold later, nor once its handler's
	// context has ended. Policy.Linger after that, any biller looks the charge up, may find that it never arrived, and
	// then charges.
	ChargeIntended struct {
		By
		Invoice string
		Key     string
	}
	// ChargeAnswered is the answer to a charge: Done; Failed, only for a definite refusal; Unknown; or Deferred for a
	// charge that was not tried, which only the actor of the intent can know. Key: Key and Outcome. Done is filed in
	// every state of the invoice, see [Paid], and is ErrInvalid if the list of payments is full. Done under a key that
	// is not the latest, or of another amount than is owed, pays what is open and is in Invoice.Overpaid as well.
	// Unknown from the actor of the intent, after a look-up that found nothing, makes the charge be looked up again. A
	// key that no charge on file has had is ErrInvalid: report a charge that a restored database has forgotten as Paid,
	// with the key as its id.
	ChargeAnswered struct {
		By
		Invoice string
		Key     string
		Outcome statemachine.Outcome `json:",omitzero"`
		Error   string               // bounded and stored; the host redacts secrets
	}
	// ChargeMissing says that a complete look-up found that the charge never arrived and is not under way. A look-up
	// proves nothing, and changes nothing, if it began before Next could ask for it (for this charge, and after the
	// latest Unknown), since it does not cover a request that is sent later. Key: Key.
	ChargeMissing struct {
		By
		Invoice string
		Key     string
		Asked   time.Time // when the look-up began, or before, by the store's clock; zero: ErrInvalid
	}
	// LookedBack says of an invoice that was stored before Account.RecoveredAt that no payment of it is known and none
	// is under way: not at the provider, under any key of the invoice, whatever number the key ends in, and not in the
	// host's books. Report a payment that is found as Paid instead, with the provider's key as its id. Until LookedBack
	// the tenant is not charged, churned or written to. A look-up proves nothing, and changes nothing, if it began
	// before every request that was sent until RecoveredAt had arrived. Key: Invoice, after the present RecoveredAt.
	// While charges are recovering no LookedBack counts.
	LookedBack struct {
		By
		Invoice string
		Asked   time.Time // as in ChargeMissing
	}
	// Churned ends the service of the tenant; refused before it is due. Key:
	// the tenant.
	Churned struct{ By }
	// NoticeIntended stores the intent before a message that Next asks for, and stamps the invoices that the message
	// names; if other invoices are due by now than when Next was asked, it is ErrConflict. Like a charge, the message
	// is sent at once or not at all: until it is answered, for Policy.Hold at most, nothing else is done. Key: Notice
	// and Actor; it is ErrHeld for another actor, and ErrIllegal once the message is answered, one of the invoices is
	// not owed, or the time for it is over.
	NoticeIntended struct {
		By
		Notice string
	}
	// NoticeAnswered is the answer to a message: Done and Unknown count as sent; after Failed and Deferred the reminder
	// is due again at the next tick. The first answer of the intent's actor or of the host counts: a Failed or Deferred
	// after it is ErrIllegal, and one of another biller ErrHeld. Key: Notice.
	NoticeAnswered struct {
		By
		Notice  string
		Outcome statemachine.Outcome `json:",omitzero"`
	}
)

// Events of an operator.
type (
	// Resolved ends, as Done or Failed, a charge that no look-up ends. Failed is ErrHeld until two of Policy.Tick (or
	// of Policy.Hold, where it is longer) after a look-up could be complete, and while a step of the tenant is late,
	// since the clock may have jumped. Once a step has seen a jump, no stored time says how old the intent is, and
	// Failed rests on the person's word: see "Clocks" of the package. Key: Key and Outcome.
	Resolved struct {
		By
		Invoice string
		Key     string
		Outcome statemachine.Outcome `json:",omitzero"`
		Reason  string               // required: the proof
	}
	// Acknowledged: one overpayment is paid back. Key: Invoice and Key.
	Acknowledged struct {
		By
		Invoice string
		Key     string // one of Invoice.Overpayments
		Reason  string // required
	}
)

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
	// MethodSet says how the tenant pays from now on. Charges that waited
	// after a failure are due at once; one that may still arrive is made again by its own
	// method, at its time, until it is answered. Another card of the same method is no other
	// method: Manual and then it again, in one transaction, make them due. Key: Method.
	MethodSet struct {
		By
		Method Method `json:",omitzero"`
	}
	// Issued makes an invoice; of nothing, if Amount is 0. Invoice is made of the tenant and the
	// period, so that the invoice of a period which a restored database has forgotten is issued
	// again as what it was: under another id it is another debt. Key: Invoice, Amount, and
	// CreatedAt if it is given; of another amount or time it is ErrIllegal. Only where the
	// stored time lies more than two of Policy.Tick in the future, an earlier one is taken
	// for the right one, see Invoice.Since.
	Issued struct {
		By
		Invoice   string
		Amount    int64     // base units
		CreatedAt time.Time // zero: the time of the event; two of Policy.Tick later than that at most
		Taken     string    `json:"-"` // the tenant with an invoice of this id, empty for none: store.Tenants finds out
	}
	// Amended lowers what is owed; ErrHeld while a charge is out, or may still arrive
	// though a look-up did not find it: until that charge is made again and answered, or
	// where it is not, until an operator's Resolved, see [Tenant.NeverArrives]. Key: Amount.
	Amended struct {
		By
		Invoice string
		Amount  int64
	}
	// Paid: paid in full by other means than our charge. Key: Invoice, Method and
	// Payment. It is a fact and is filed whatever the invoice is: of what is paid already,
	// void, or of nothing, it is in Invoice.Overpaid, or what had paid is. Two payments without
	// an id by one method are one; one id by two methods is two payments. ErrInvalid where
	// MaxOverpaid payments beside the one that paid are on file: nothing is stored of it.
	Paid struct {
		By
		Invoice string
		Method  Method `json:",omitzero"`
		// Payment is the id of the payment; empty: it has none. Of an id above MaxID bytes, such as a whole
		// invoice of Lightning, "sha256:" and the hash in hexadecimal digits are kept. A charge that a restored
		// database has forgotten is Paid with its key as the id; with the key of one that is on file, Paid is
		// ChargeAnswered, Done.
		Payment string
	}
	// Voided: it is owed no longer; ErrIllegal once it is paid. Key: Invoice.
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
	// the host activates them: it does both in one transaction, since all that is
	// open is charged at once. What relays that were off do not owe is Voided or
	// Amended before. Key: the tenant.
	Reinstated struct{ By }
)

// Events of the biller.
type (
	// StepBegun begins a step: it puts DueAt off by Policy.Hold, so that no other
	// process begins it too, or to when something is due. Outside the version, but where
	// it comes late, or the clock went back: then it takes what nobody has seen out of the
	// ages of what is owed, see Invoice.Since and "Clocks" of the package. It comes before
	// each use of Next: a churn is refused behind a step that is late.
	StepBegun struct{ By }
	// ChargeIntended comes before a charge that Next asks for. Key: Key and
	// Actor; to another actor it is ErrHeld, and ErrIllegal once the invoice is not
	// owed or the time for it is over. Its charge is made at once: from the
	// first whole second on that is Policy.Hold later nothing is sent any more, nor
	// where the handler's context has ended. Policy.Linger after that any biller looks
	// it up, may take it for one that never arrived, and charges.
	ChargeIntended struct {
		By
		Invoice string
		Key     string
	}
	// ChargeAnswered: Done; Failed, only for a definite refusal; Unknown; or
	// Deferred, not tried, which nobody but the actor of the intent knows. Key: Key
	// and Outcome. Done of an invoice whose list of payments is full is ErrInvalid, see
	// [Paid]. Unknown of that actor, behind a look-up that found nothing, is
	// looked up again. A key that no charge on file has had is ErrInvalid: what a restored database has
	// forgotten is Paid, with the key as its id. Done under a key that is not the latest, or of another amount
	// than is owed, pays what is open, and is in Invoice.Overpaid as well. Whatever has
	// paid already, and whatever is void, Done is filed: see Paid.
	ChargeAnswered struct {
		By
		Invoice string
		Key     string
		Outcome statemachine.Outcome `json:",omitzero"`
		Error   string               // bounded and stored; the host redacts secrets
	}
	// ChargeMissing: a complete look-up says that the charge never arrived and
	// is not under way. One that began before Next could ask for it, of this very
	// charge and behind the latest Unknown, proves nothing and changes nothing: what is
	// sent later is not in it.
	// Key: Key.
	ChargeMissing struct {
		By
		Invoice string
		Key     string
		Asked   time.Time // when the look-up began, or before, by the store's clock; zero: ErrInvalid
	}
	// LookedBack: of an invoice that was stored before Account.RecoveredAt no payment is
	// known anywhere, and none is under way: under no key of the provider, whatever
	// number it ends in, and in no book of the host. One that is found is Paid instead, with the key
	// under which the provider has it as its id.
	// Until then nothing is charged, nobody churned or written to. A look-up that began
	// before what was sent until then had arrived proves nothing and changes nothing.
	// Key: Invoice, after the present RecoveredAt. While charges are recovering nothing counts.
	LookedBack struct {
		By
		Invoice string
		Asked   time.Time // as in ChargeMissing
	}
	// Churned ends the service of the tenant; refused before it is due. Key:
	// the tenant.
	Churned struct{ By }
	// NoticeIntended comes before a message that Next asks for. It stamps the
	// invoices that the message names; where others are due than when Next was asked,
	// it is ErrConflict. The message is sent at once or not at all, as a charge is:
	// until it is answered, for Policy.Hold at most, nothing else is done. Key:
	// Notice and Actor; to another actor it is ErrHeld, and ErrIllegal once it is
	// answered, one of them is not owed, or the time for it is over.
	NoticeIntended struct {
		By
		Notice string
	}
	// NoticeAnswered: Done and Unknown count as sent; Failed and Deferred give
	// the reminder back to the next tick. One answer counts, that of the intent's
	// actor or of the host: Failed and Deferred after it are ErrIllegal, and those
	// of another biller ErrHeld. Key: Notice.
	NoticeAnswered struct {
		By
		Notice  string
		Outcome statemachine.Outcome `json:",omitzero"`
	}
)

// Events of an operator.
type (
	// Resolved ends a charge that no look-up ends: Done or Failed. Failed is ErrHeld until two of
	// Policy.Tick (or Policy.Hold, where it is longer) after a look-up could be complete, and
	// while a step of the tenant is late: the clock may have jumped. Once a step has seen the jump, nothing on
	// file says how long ago the intent is, and Failed is the person's word: see "Clocks" of the package. Key:
	// Key and Outcome.
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

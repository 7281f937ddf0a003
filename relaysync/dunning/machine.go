package dunning

import (
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

// TenantStatus is derived from churned_at.
// Values: TenantActive, TenantChurned.
type TenantStatus = statemachine.Enum[tenantStatus]

const (
	// TenantActive: the [Biller] charges, reminds and churns at DueAt. After a crash the tenant is due
	// again Policy.Hold later.
	TenantActive TenantStatus = iota + 1
	// TenantChurned: the relays were made inactive in the commit of the churn. The [Host] or an
	// [Operator] reinstates. Only the look-up of a charge is still owed, at DueAt. A crash changes
	// nothing.
	TenantChurned
)

type tenantStatus struct{}

func (tenantStatus) Kind() string    { return "tenant status" }
func (tenantStatus) Names() []string { return tenantStatusNames }

var tenantStatusNames = []string{"active", "churned"}

// InvoiceStatus is derived from paid_at and voided_at.
// Values: InvoiceOpen, InvoicePaid, InvoiceVoid.
type InvoiceStatus = statemachine.Enum[invoiceStatus]

const (
	// InvoiceOpen: a charge, or an event of the host, moves the invoice on. After a crash the intent of
	// a charge may be on file, which is looked up.
	InvoiceOpen InvoiceStatus = iota + 1
	// InvoicePaid: the invoice is paid in full. Terminal. The [Biller] looks up a charge that may still be out, also
	// after a crash; if this charge is done, it is an overpayment, which an [Operator] acknowledges.
	InvoicePaid
	// InvoiceVoid: the host withdrew it. Terminal; otherwise as InvoicePaid.
	InvoiceVoid
)

type invoiceStatus struct{}

func (invoiceStatus) Kind() string    { return "invoice status" }
func (invoiceStatus) Names() []string { return invoiceStatusNames }

var invoiceStatusNames = []string{"open", "paid", "void"}

// Charge is what is known of an invoice's latest charge.
// Values: ChargeNone, ChargeOpen, ChargeUnknown.
type Charge = statemachine.Enum[charge]

const (
	// ChargeNone: nothing is out. While the invoice is owed and the tenant's method is charged, the
	// [Biller] stores the intent of the next charge at ChargeAfter. A crash changes nothing.
	ChargeNone Charge = iota + 1
	// ChargeOpen: the intent is on file, and there is no answer yet. The actor that stored it charges
	// and answers. After a crash of this actor any [Biller] looks the charge up, from ChargeAfter on.
	ChargeOpen
	// ChargeUnknown: the charge may have been paid. A [Biller] looks it up at ChargeAfter, and never
	// makes it again; if no look-up ends it, an [Operator] does with [Resolved]. A crash changes
	// nothing.
	ChargeUnknown
)

type charge struct{}

func (charge) Kind() string    { return "invoice charge" }
func (charge) Names() []string { return chargeNames }

var chargeNames = []string{"none", "open", "unknown"}

// Method is how a tenant pays.
// Values: NWC, Stripe, Manual.
type Method = statemachine.Enum[method]

const (
	NWC    Method = iota + 1 // charged
	Stripe                   // charged
	Manual                   // not charged: messages alone ask for the money
)

type method struct{}

func (method) Kind() string    { return "payment method" }
func (method) Names() []string { return methodNames }

var methodNames = []string{"nwc", "stripe", "manual"}

// charges reports whether invoices of a tenant with this method are charged.
func charges(m Method) bool { return m == NWC || m == Stripe }

// Trigger is what moves a tenant or an invoice.
// Values: onIssue, onMethod, onAmend, onPay, onVoid, onCharge, onCharged, onRefused, onUnclear, onDefer,
// onNeverArrived, onOverpaid, onAcknowledge, onNotice, onNoticeFailed, onLookBack, onRedate, onEnrol, onChurn, onReinstate,
// onProvision, onNoticeSent.
type Trigger = statemachine.Enum[trigger]

const (
	onIssue        Trigger = iota + 1 // a new invoice
	onMethod                          // the tenant pays in another way
	onAmend                           // less is owed
	onPay                             // the host saw a full payment
	onVoid                            // the host withdrew the invoice
	onCharge                          // the intent of a charge
	onCharged                         // a charge is done
	onRefused                         // a charge failed, definitely
	onUnclear                         // the answer of a charge is missing
	onDefer                           // a charge was not tried
	onNeverArrived                    // a complete look-up: the charge was never received
	onOverpaid                        // a payment of what was paid or void
	onAcknowledge                     // an operator has seen to the overpayment
	onNotice                          // the intent of a message
	onNoticeFailed                    // the message was not sent
	onLookBack                        // what a restored database has forgotten is known
	onRedate                          // a time that a wrong clock gave counts no longer, or counts again
	onEnrol                           // from here on the triggers of a tenant alone
	onChurn
	onReinstate
	onProvision  // the host makes or activates a relay
	onNoticeSent // the message was sent, or may have been
)

type trigger struct{}

func (trigger) Kind() string    { return "dunning trigger" }
func (trigger) Names() []string { return triggerNames }

var triggerNames = []string{"issue", "method", "amend", "pay", "void", "charge", "charged", "charge refused",
	"charge unclear", "charge deferred", "charge never arrived", "overpaid", "acknowledge", "notice", "notice failed", "look back",
	"redate", "enrol", "churn", "reinstate", "provision", "notice sent"}

// InvoiceTrigger is a [Trigger] that moves an invoice too: InvoiceTrigger(onIssue)
// to InvoiceTrigger(onRedate).
type InvoiceTrigger = statemachine.Enum[invoiceTrigger]

type invoiceTrigger struct{}

func (invoiceTrigger) Kind() string    { return "invoice trigger" }
func (invoiceTrigger) Names() []string { return triggerNames[:onEnrol-1] }

const (
	extAnswer = "what is known of a charge is on file, whatever becomes of the invoice and the tenant"
	extHost   = "every event of an invoice, and every relay that is provided for, moves the tenant's version, so that no decision " +
		"outlives it"
	extIntent    = "intent before effect: a charge that is found open is looked up, never made again"
	extClock     = "a clock that was wrong leaves nothing that the right one cannot mend"
	extReinstate = "a payment does not undo a churn: the host or an operator does"
)

// stay makes edges that leave the status as it is.
func stay[S, T statemachine.Label](at S, reason string, triggers ...T) []statemachine.Edge[S, T] {
	edges := make([]statemachine.Edge[S, T], len(triggers))
	for i, t := range triggers {
		edges[i] = statemachine.Edge[S, T]{From: at, Trigger: t, To: at, Extension: reason}
	}
	return edges
}

func join[E any](lists ...[]E) (all []E) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

type (
	tenantEdge  = statemachine.Edge[TenantStatus, Trigger]
	invoiceEdge = statemachine.Edge[InvoiceStatus, InvoiceTrigger]
)

// TenantMachine is the law of a tenant.
var TenantMachine = statemachine.Must("tenant", join(
	[]tenantEdge{{From: 0, Trigger: onEnrol, To: TenantActive}, {From: TenantActive, Trigger: onChurn, To: TenantChurned},
		{From: TenantChurned, Trigger: onReinstate, To: TenantActive, Extension: extReinstate}},
	stay(TenantActive, "", onCharged, onRefused, onNotice),
	stay(TenantActive, extIntent, onCharge),
	stay(TenantActive, extClock, onRedate),
	stay(TenantActive, extHost, onMethod, onIssue, onAmend, onPay, onVoid, onProvision),
	stay(TenantActive, extAnswer, onUnclear, onDefer, onNeverArrived, onOverpaid, onAcknowledge, onNoticeFailed, onNoticeSent, onLookBack),
	stay(TenantChurned, extHost, onMethod, onIssue, onAmend, onPay, onVoid),
	stay(TenantChurned, extClock, onRedate),
	stay(TenantChurned, extAnswer, onCharged, onRefused, onUnclear, onDefer, onNeverArrived, onOverpaid, onAcknowledge,
		onNoticeFailed, onNoticeSent),
), statemachine.Cyclic)

func invs(triggers ...Trigger) (all []InvoiceTrigger) {
	for _, t := range triggers {
		all = append(all, InvoiceTrigger(t))
	}
	return all
}

// InvoiceMachine is the law of an invoice.
var InvoiceMachine = statemachine.Must("invoice", join(
	[]invoiceEdge{{From: 0, Trigger: InvoiceTrigger(onIssue), To: InvoiceOpen}, {From: InvoiceOpen,
		Trigger: InvoiceTrigger(onCharged), To: InvoicePaid},
		{From: InvoiceOpen, Trigger: InvoiceTrigger(onPay), To: InvoicePaid}, {From: InvoiceOpen,
			Trigger: InvoiceTrigger(onVoid), To: InvoiceVoid}},
	stay(InvoiceOpen, "", invs(onRefused, onNotice)...),
	stay(InvoiceOpen, extIntent, invs(onCharge)...),
	stay(InvoiceOpen, extClock, invs(onRedate)...),
	stay(InvoiceOpen, extHost, invs(onMethod, onAmend)...),
	stay(InvoiceOpen, extAnswer, invs(onUnclear, onDefer, onNeverArrived, onNoticeFailed, onLookBack)...),
	stay(InvoicePaid, extAnswer, invs(onRefused, onUnclear, onDefer, onNeverArrived, onOverpaid, onAcknowledge)...),
	stay(InvoiceVoid, extAnswer, invs(onRefused, onUnclear, onDefer, onNeverArrived, onOverpaid, onAcknowledge)...),
))

// Role is in which capacity an actor speaks: relaysync's.
type Role = relaysync.Role

const (
	Host     = relaysync.Host
	Operator = relaysync.Operator
	Biller   = relaysync.Biller
)

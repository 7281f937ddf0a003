package dunning

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Bounds of what comes from outside.
const (
	MaxID       = 100                   // bytes of an id or a key
	MaxActor    = statemachine.MaxActor // bytes of By.Actor
	MaxText     = 1000                  // bytes of an error or a reason
	MaxInvoices = 1000                  // unsettled invoices of one tenant
	MaxOverpaid = 100                   // payments of one invoice in Overpaid and Repaid together
)

// Tenant is a row of tenants.
type Tenant struct {
	ID            string
	Method        Method    `json:",omitzero"`
	BillingAnchor time.Time // carried, not used
	ChurnedAt     time.Time // zero: active
	ReinstatedAt  time.Time // ages of open invoices begin here at the earliest
	Since         time.Time // counts instead of ReinstatedAt where it is set, see Invoice.Since
	PaymentError  string    // of the latest charge that failed; bounded
	Notice        string    // key of the latest intent of a message
	NoticeBy      string    // the actor of that intent, who alone sends the message and answers; empty: it is answered
	NoticeAfter   time.Time // no message is sent before, after one that failed; while a message is on its way, nothing else is done before
	// DueAt is when to take the next step; zero: nothing is owed. It is outside the version.
	DueAt     time.Time
	Version   int64
	CreatedAt time.Time
}

// Invoice is a row of invoices.
type Invoice struct {
	ID        string
	Tenant    string
	Amount    int64 // what is owed, in base units
	Issued    int64 // Amount as it was issued; -1: it was stored before this was kept
	CreatedAt time.Time
	// Since counts instead of CreatedAt where it is set. It is CreatedAt moved by the jumps of the
	// clock, and by the time in which no step was taken. Zero: CreatedAt counts. See [StepBegun].
	Since        time.Time
	PaidAt       time.Time // when the first payment in full became known
	VoidedAt     time.Time
	NotifiedAt   time.Time // of the intent of the latest message that named it
	Method       Method    `json:",omitzero"` // how it was paid
	PaymentError string    // of the latest charge that failed; bounded

	Attempts     int32     // the number in Key; it grows where the next charge needs another key, see Key
	Charge       Charge    `json:",omitzero"`
	ChargeKey    string    // of the latest charge
	ChargeBy     string    // the actor of that intent, who alone makes the charge
	ChargeAt     time.Time // when its intent was stored; where a clock that was ahead said when, the next step of the right one
	ChargeAmount int64
	ChargeMethod Method    `json:",omitzero"`
	ChargeAfter  time.Time // no charge and no look-up before
	Missed       int32     // charges under ChargeKey that a look-up did not find
	// LookedBack is the RecoveredAt for which somebody last looked up what the restored database has
	// forgotten. The RecoveredAt serves as the name of the restore, so it does not matter which clock
	// gave it.
	LookedBack time.Time
	PaidKey    string    // of the charge that paid it, or the id of the payment that did
	OverpaidAt time.Time // when the latest of Overpaid became known; zero: an operator has seen to all
	// Overpaid are the payments that an operator has to pay back and has not acknowledged: all but the
	// one that has paid the invoice, payments of an invoice that is void or of nothing, and a charge of
	// another amount than was owed.
	Overpaid Payments
	Repaid   Payments // those that an operator has acknowledged

	Notice          string    // key of the message that NotifiedAt is of; empty: another was not sent
	PriorNotifiedAt time.Time // NotifiedAt before that message
	Version         int64
}

// Account is a tenant with its invoices, in the order of (created_at, id). It is what commits together.
// The zero value stands for an account that does not exist yet.
type Account struct {
	Tenant   Tenant
	Invoices []Invoice
	// Level is how far the switch stops charges. It is no column: the service sets it for StepBegun,
	// for ChargeIntended and for Next.
	Level switches.Level `json:",omitzero"`
	// RecoveredAt is when charges were last started out of a recovery, by the store's clock; while they are recovering,
	// it is the store's present time. Zero: they never were recovering. It is no column: the service sets it for Next,
	// for LookedBack and for the events of a biller that begin something.
	RecoveredAt time.Time `json:",omitzero"`
}

// Charging gives an account what the switch says of charges. While charges are recovering, a
// payment of each invoice may be forgotten: the account counts as if charges were started now.
func (a *Account) Charging(is switches.State, now time.Time) {
	if a.Level = is.Level; is.Begins() {
		a.Level = 0
	}
	if a.RecoveredAt = is.RecoveredAt; is.Recovering {
		a.RecoveredAt = now
	}
}

// Change is the result of one step. A store writes a record where the stored version is still that of
// Old, the tenant first. New invoices have version 1.
type Change struct {
	Old, New Account
	Log      []statemachine.Transition[string] // one per new version
}

// Touch reports that only Tenant.DueAt changed: save it where the version and
// DueAt are those of Old.
func (c *Change) Touch() bool {
	return len(c.Log) == 0 && c.Old.Tenant.DueAt != c.New.Tenant.DueAt
}

// Empty reports that there is nothing to save.
func (c *Change) Empty() bool { return len(c.Log) == 0 && !c.Touch() }

// Churned reports that the step churned the tenant: in the same commit every
// active relay of the tenant is deactivated.
func (c *Change) Churned() bool {
	return c.Old.Tenant.ChurnedAt.IsZero() && !c.New.Tenant.ChurnedAt.IsZero()
}

// Status is derived from churned_at.
func (t *Tenant) Status() TenantStatus {
	switch {
	case t.Version == 0:
		return 0
	case t.ChurnedAt.IsZero():
		return TenantActive
	}
	return TenantChurned
}

// Status is derived from paid_at and voided_at.
func (i *Invoice) Status() InvoiceStatus {
	switch {
	case i.Version == 0:
		return 0
	case !i.PaidAt.IsZero():
		return InvoicePaid
	case !i.VoidedAt.IsZero():
		return InvoiceVoid
	}
	return InvoiceOpen
}

// Owed reports whether the invoice is open and something is owed.
func (i *Invoice) Owed() bool { return i.PaidAt.IsZero() && i.VoidedAt.IsZero() && i.Amount > 0 }

// Key is the idempotency key of the latest charge or, after a failure, of the next one. A provider answers an old key
// with its old refusal, so the key changes once a charge is proved to have failed. It also changes where a charge that
// was not tried is followed by one by another method or of another amount.
func (i *Invoice) Key() string { return i.key(i.Attempts) }

func (i *Invoice) key(n int32) string { return i.ID + "/" + strconv.Itoa(int(n)) }

// doubted reports whether a charge that a look-up did not find may still arrive. The look-up was complete only by the
// store's clock, which may have jumped. So until the provider answers Done or Failed to this key, the same charge is
// made again, with the same key, method and amount, and the provider takes one key once.
func (i *Invoice) doubted() bool {
	return i.Charge == ChargeNone && i.Missed > 0 && i.ChargeKey == i.Key()
}

// unsure reports whether the latest charge of the invoice may be on its way.
func (i *Invoice) unsure() bool { return i.Charge != ChargeNone || i.doubted() }

// NeverArrives reports that a person must find out what became of a charge of an open invoice which no look-up has
// found. Either the charge was made twice or more under one key, and is made again each [Policy].ChargeAgain; or it is
// not made again, since the tenant's method charges no more or the tenant is churned. The charge keeps its key, method
// and amount until the provider or an operator says that it failed.
func (t *Tenant) NeverArrives(i *Invoice) bool {
	return i.doubted() && i.Status() == InvoiceOpen && (i.Missed > 1 || !charges(t.Method) || t.Status() == TenantChurned)
}

// next is the charge that comes next, by whatever method it is.
func (a *Account) next(i *Invoice) (number int32, method Method) {
	switch {
	case i.doubted():
		return i.Attempts, i.ChargeMethod
	case i.ChargeKey == i.Key() && (i.ChargeMethod != a.Tenant.Method || i.ChargeAmount != i.Amount):
		return i.Attempts + 1, a.Tenant.Method
	}
	return i.Attempts, a.Tenant.Method
}

// Invoice returns the invoice of an id, nil if there is none.
func (a *Account) Invoice(id string) *Invoice {
	for i := range a.Invoices {
		if a.Invoices[i].ID == id {
			return &a.Invoices[i]
		}
	}
	return nil
}

// NeedsOperator reports whether a person must look at an invoice of the tenant: a charge is unknown, is still open
// after the time of its look-up, or never arrives; or more was paid than was owed.
func (t *Tenant) NeedsOperator(i *Invoice, now time.Time) bool {
	return t.NeverArrives(i) || i.Charge == ChargeUnknown || i.Charge == ChargeOpen && !now.Before(i.ChargeAfter) || !i.OverpaidAt.IsZero()
}

// CompareInvoices is the order of an account's invoices.
func CompareInvoices(a, b Invoice) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// insert keeps the order.
func insert(all []Invoice, i Invoice) []Invoice {
	at, _ := slices.BinarySearchFunc(all, i, CompareInvoices)
	return slices.Insert(slices.Clone(all), at, i)
}

package store

import (
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// RelayUnit is the part of a transaction that [Relays] needs.
type RelayUnit interface {
	SwitchUnit
	Relays() RelayRecords
}

// RelayRecords stores the relays of package relaysync with their timers and
// activities. It decides nothing.
type RelayRecords interface {
	// Get returns the relays of these ids, in their order, each with its timer
	// and with what [relaysync.HistoryOf] says of all its activities. Every
	// field comes back as it was saved, times as UTC microseconds. An unknown
	// relay is a zero Sync.
	Get(relays ...string) ([]relaysync.Sync, error)
	// Due returns up to limit (1 to [MaxPage]) relays whose [relaysync.Sync.DueAt]
	// is at or before now, in the order of [relaysync.CompareDue]. They stay
	// locked until the transaction ends; what another transaction holds is
	// skipped, so an empty answer does not mean that nothing is due. A record
	// that cannot be read stops no other: unreadable names it and says why. In a
	// View it is [statemachine.ErrIllegal].
	Due(now time.Time, limit int) (due []relaysync.Sync, unreadable []error, err error)
	// NextDue returns the earliest due time after now; zero if there is none.
	NextDue(now time.Time) (time.Time, error)
	// Pending pages through the ids of the source's list_relays_pending_sync
	// (synced = 0 OR TRIM(sync_error) <> ''), in byte order, behind an id.
	Pending(after string, limit int) ([]string, error)
	// List pages through the ids of all relays, or of a tenant's that are not
	// deleted, in byte order, behind an id.
	List(tenant, after string, limit int) ([]string, error)
	// ForOperator pages through the ids of the relays that
	// [relaysync.Sync.NeedsOperator] names, in byte order, behind an id.
	ForOperator(after string, limit int) ([]string, error)
	// HeldBy pages through the ids of the relays whose lease names a holder,
	// ended or not, in byte order, behind an id.
	HeldBy(holder, after string, limit int) ([]string, error)
	// Activities returns up to limit activities of a resource, newest first by
	// created_at and sequence.
	Activities(resourceType, resourceID string, limit int) ([]relaysync.Activity, error)
	// Save writes changes of different relays; all of them, or none. A relay is inserted if the version in Old is 0,
	// else written by compare-and-swap on the version, and on the holder and the fence of the lease, in Old: another
	// version is [statemachine.ErrConflict], another fence [statemachine.ErrFenced]. Under the same holder and fence
	// the stored end of a lease stays: only Renew moves it. Log has one line for each new version. Activities are
	// appended with the next sequence, in the order of the commits of their relay. A refused Save ends the transaction;
	// the writes, and these errors, may be delayed to the next read or the end of the transaction. In a View it is
	// [statemachine.ErrIllegal].
	Save(changes ...relaysync.Change) error
	// Renew sets the end of leases that are held under their fence at now. It
	// returns the relays whose lease is lost; the others are renewed.
	Renew(now time.Time, leases ...Lease[string]) (lost []string, err error)
	// Transitions returns the audit trail of a relay, oldest first.
	Transitions(relay string) ([]statemachine.Transition[string], error)
	Feed[string]
	// Stats counts what the fields of [relaysync.Stats] say, the rates over
	// [now-window, now).
	Stats(now time.Time, window time.Duration) (relaysync.Stats, error)
}

// TenantUnit is the part of a transaction that [Tenants] needs. A churn
// deactivates relays in its own commit.
type TenantUnit interface {
	RelayUnit
	Tenants() TenantRecords
}

// TenantRecords stores the tenants and invoices of package dunning. It decides
// nothing.
type TenantRecords interface {
	// Get returns the accounts of these tenants, in their order, each with all
	// its invoices in order of (created_at, id). The tenant is never newer than
	// an invoice that is read with it. An unknown tenant is a zero Account.
	Get(tenants ...string) ([]dunning.Account, error)
	// TenantOf returns the tenant of an invoice, [statemachine.ErrNotFound] for
	// an unknown one.
	TenantOf(invoice string) (string, error)
	// Due returns up to limit accounts whose DueAt is at or before now, in the
	// order of [dunning.CompareDue], as [RelayRecords.Due] does.
	Due(now time.Time, limit int) (due []dunning.Account, unreadable []error, err error)
	// NextDue returns the earliest DueAt after now; zero if there is none.
	NextDue(now time.Time) (time.Time, error)
	// Overslept returns up to limit accounts whose DueAt is after latest, in the order of
	// [dunning.CompareDue]: a clock that was ahead has set it. Otherwise as Due.
	Overslept(latest time.Time, limit int) (all []dunning.Account, unreadable []error, err error)
	// List pages through the ids of tenants in byte order, behind an id.
	List(after string, limit int) ([]string, error)
	// ForOperator pages through the ids of the tenants with an invoice that
	// [dunning.Tenant.NeedsOperator] names at now, in byte order, behind an id.
	ForOperator(now time.Time, after string, limit int) ([]string, error)
	// Save writes changes of different tenants; all of them, or none. A record
	// whose version moved is inserted if it was 0 in Old, else written by
	// compare-and-swap on the version in Old; a tenant also on DueAt. A touch
	// ([dunning.Change.Touch]) writes DueAt alone. An invoice of another tenant
	// under the same id is [statemachine.ErrConflict]. Otherwise as
	// [RelayRecords.Save].
	Save(changes ...dunning.Change) error
	// Transitions returns the audit trail of a tenant, oldest first.
	Transitions(tenant string) ([]statemachine.Transition[string], error)
	// InvoiceTransitions returns the audit trail of an invoice, oldest first. It
	// may have the id of a tenant.
	InvoiceTransitions(invoice string) ([]statemachine.Transition[string], error)
	Feed[string]
	// Stats counts what the fields of [dunning.Stats] say.
	Stats(now time.Time) (dunning.Stats, error)
}

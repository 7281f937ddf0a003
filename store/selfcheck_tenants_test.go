package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// billingFault is what a store of relays and tenants does wrong; nil is right.
type billingFault struct {
	relay   func(*relaysync.Sync)
	tenant  func(*dunning.Account)
	relays  func(stored relaysync.Sync, c *relaysync.Change) (skip bool)
	tenants func(stored dunning.Account, c *dunning.Change) (skip bool)
	renew   func(*store.Lease[string])
	list    func([]string) []string
	lines   func(machine string) (lost bool)
	commits bool // what failed
	writes  bool // in a View
}

type billingStore struct {
	good *memory.Store
	billingFault
}

func (b billingStore) Update(ctx context.Context, fn func(store.TenantUnit) error) error {
	var failed error
	err := b.good.Update(ctx, func(tx store.Unit) error {
		failed = fn(billingTx{tx, b.billingFault})
		if b.commits && !errors.Is(failed, statemachine.ErrConflict) {
			return nil
		}
		return failed
	})
	return errors.Join(failed, err)
}

func (b billingStore) View(ctx context.Context, fn func(store.TenantUnit) error) error {
	if b.writes {
		return b.Update(ctx, fn)
	}
	return b.good.View(ctx, func(tx store.Unit) error { return fn(billingTx{tx, b.billingFault}) })
}

type billingTx struct {
	store.Unit
	billingFault
}

func (t billingTx) Relays() store.RelayRecords {
	return wrongRelays{t.Unit.Relays(), t.billingFault}
}

func (t billingTx) Tenants() store.TenantRecords {
	return wrongTenants{t.Unit.Tenants(), t.billingFault}
}

type wrongRelays struct {
	store.RelayRecords
	f billingFault
}

func (r wrongRelays) Get(ids ...string) ([]relaysync.Sync, error) {
	all, err := r.RelayRecords.Get(ids...)
	for i := range all {
		if r.f.relay != nil && all[i].Relay.Version > 0 {
			r.f.relay(&all[i])
		}
	}
	return all, err
}

func (r wrongRelays) Save(changes ...relaysync.Change) error {
	return saveWrong(changes, r.f.relays, func(c *relaysync.Change) ([]relaysync.Sync, error) {
		return r.RelayRecords.Get(c.New.Relay.ID)
	}, r.RelayRecords.Save)
}

func (r wrongRelays) Renew(now time.Time, leases ...store.Lease[string]) ([]string, error) {
	for i := range leases {
		if r.f.renew != nil {
			r.f.renew(&leases[i])
		}
	}
	return r.RelayRecords.Renew(now, leases...)
}

func (r wrongRelays) List(tenant, after string, limit int) ([]string, error) {
	all, err := r.RelayRecords.List(tenant, after, limit)
	if r.f.list != nil {
		all = r.f.list(all)
	}
	return all, err
}

func (r wrongRelays) Transitions(id string) ([]statemachine.Transition[string], error) {
	return r.f.cut(r.RelayRecords.Transitions(id))
}

type wrongTenants struct {
	store.TenantRecords
	f billingFault
}

func (r wrongTenants) Get(ids ...string) ([]dunning.Account, error) {
	all, err := r.TenantRecords.Get(ids...)
	for i := range all {
		if r.f.tenant != nil && all[i].Tenant.Version > 0 {
			r.f.tenant(&all[i])
		}
	}
	return all, err
}

func (r wrongTenants) Save(changes ...dunning.Change) error {
	return saveWrong(changes, r.f.tenants, func(c *dunning.Change) ([]dunning.Account, error) {
		return r.TenantRecords.Get(c.New.Tenant.ID)
	}, r.TenantRecords.Save)
}

func (r wrongTenants) Transitions(id string) ([]statemachine.Transition[string], error) {
	return r.f.cut(r.TenantRecords.Transitions(id))
}

func (r wrongTenants) InvoiceTransitions(id string) ([]statemachine.Transition[string], error) {
	return r.f.cut(r.TenantRecords.InvoiceTransitions(id))
}

func (f billingFault) cut(all []statemachine.Transition[string], err error) ([]statemachine.Transition[string], error) {
	if f.lines != nil && len(all) > 0 && f.lines(all[0].Machine) {
		all = all[:len(all)-1]
	}
	return all, err
}

func saveWrong[A, C any](changes []C, skip func(A, *C) bool, get func(*C) ([]A, error), save func(...C) error) error {
	var kept []C
	for _, c := range changes {
		stored, err := get(&c)
		if err != nil {
			return err
		}
		if skip == nil || !skip(stored[0], &c) {
			kept = append(kept, c)
		}
	}
	return save(kept...)
}

// Each promise of the self-check of relays and tenants is found where a store
// breaks it, and so is it by the check of all domains.
func TestSelfCheckOfTenantsFinds(t *testing.T) {
	relay := func(change func(*relaysync.Sync)) billingFault { return billingFault{relay: change} }
	invoice := func(change func(*dunning.Invoice)) billingFault {
		return billingFault{tenant: func(a *dunning.Account) {
			for i := range a.Invoices {
				change(&a.Invoices[i])
			}
		}}
	}
	loses := func(m string) billingFault { return billingFault{lines: func(of string) bool { return of == m }} }
	for what, f := range map[string]billingFault{
		"":                                 {},
		"the fence is lost":                relay(func(s *relaysync.Sync) { s.Timer.Lease.Fence = 0 }),
		"the holder is lost":               relay(func(s *relaysync.Sync) { s.Timer.Lease.Holder = "" }),
		"the end of a lease is lost":       relay(func(s *relaysync.Sync) { s.Timer.Lease.Until = time.Time{} }),
		"an activity is lost":              relay(func(s *relaysync.Sync) { s.History = relaysync.History{} }),
		"a document is changed":            relay(func(s *relaysync.Sync) { s.Relay.Info += " " }),
		"any fence renews":                 {renew: func(l *store.Lease[string]) { l.Fence = 1 }},
		"a tenant's relays are not listed": {list: func([]string) []string { return nil }},
		"a stale relay is nothing changed": {relays: func(s relaysync.Sync, c *relaysync.Change) bool { return s.Relay.Version != c.Old.Relay.Version }},
		"a second claim is nothing changed": {relays: func(s relaysync.Sync, c *relaysync.Change) bool {
			return s.Relay.Version > c.Old.Relay.Version
		}},
		"a relay's trail is cut":            loses(relaysync.Machine.Name()),
		"a tenant's trail is cut":           loses(dunning.TenantMachine.Name()),
		"an invoice's trail is cut":         loses(dunning.InvoiceMachine.Name()),
		"the key of a charge is lost":       invoice(func(i *dunning.Invoice) { i.ChargeKey = "" }),
		"whose charge it is is lost":        invoice(func(i *dunning.Invoice) { i.ChargeBy = "" }),
		"the amount is a float":             invoice(func(i *dunning.Invoice) { i.ChargeAmount &^= 1023 }),
		"an invoice is lost":                {tenant: func(a *dunning.Account) { a.Invoices = nil }},
		"a stale tenant is nothing changed": {tenants: func(a dunning.Account, c *dunning.Change) bool { return a.Tenant.Version != c.Old.Tenant.Version }},
		"a second charge is nothing changed": {tenants: func(a dunning.Account, c *dunning.Change) bool {
			return a.Tenant.Version > c.Old.Tenant.Version
		}},
		"an invoice of two tenants is kept once": {tenants: func(_ dunning.Account, c *dunning.Change) bool {
			return c.Old.Tenant.Version == 1 && c.Old.Tenant.ID[len(c.Old.Tenant.ID)-2:] == " 2"
		}},
		"what failed is committed": {commits: true},
		"a View writes":            {writes: true},
	} {
		err := store.SelfCheckTenants(context.Background(), billingStore{memory.New(memory.Options{}), f})
		if sound := what == ""; sound != (err == nil) || !sound && !errors.Is(err, statemachine.ErrCorrupt) && !errors.Is(err, statemachine.ErrConflict) {
			t.Errorf("%q: %v", what, err)
		}
	}
}

package memory

import (
	"slices"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// tenantTables are the records of package dunning.
type tenantTables struct {
	tenants  *rows[string, dunning.Tenant]
	invoices *rows[string, dunning.Invoice]
	*trails[string]
}

// The keys of tenants are keyRelay (id) and keyDue (due time, id); that of an
// invoice is its tenant, created_at and id.
func newTenantTables() *tenantTables {
	return &tenantTables{
		tenants: newRows(rows[string, dunning.Tenant]{
			machine: dunning.TenantMachine.Name(),
			key:     func(t *dunning.Tenant) string { return t.ID },
			version: func(t *dunning.Tenant) int64 { return t.Version },
			sorted: func(t *dunning.Tenant) []string {
				keys := []string{keyRelay + t.ID}
				if at, ok := t.Due(); ok {
					keys = append(keys, keyDue+timeKey(at)+t.ID)
				}
				return keys
			},
		}),
		invoices: newRows(rows[string, dunning.Invoice]{
			machine: dunning.InvoiceMachine.Name(),
			key:     func(i *dunning.Invoice) string { return i.ID },
			version: func(i *dunning.Invoice) int64 { return i.Version },
			sorted: func(i *dunning.Invoice) []string {
				return []string{textKey(i.Tenant) + timeKey(i.CreatedAt) + i.ID}
			},
		}),
		trails: newTrails[string](),
	}
}

// Tenants implements [store.TenantUnit].
func (t *tx) Tenants() store.TenantRecords { return tenants{t.store.tenants, t} }

// tenants are the tables within a transaction.
type tenants struct {
	*tenantTables
	tx *tx
}

func (r tenants) Get(ids ...string) ([]dunning.Account, error) {
	return inOrderOf(ids, r.account)
}

func (r tenants) account(id string) (a dunning.Account) {
	t := r.tenants.at[id]
	if t == nil {
		return a
	}
	a.Tenant = *t
	r.invoices.scan(textKey(id), textKey(id), func(_ string, i *dunning.Invoice) bool {
		a.Invoices = append(a.Invoices, *i)
		return true
	})
	return a
}

func (r tenants) TenantOf(invoice string) (string, error) {
	i := r.invoices.at[invoice]
	if i == nil {
		return "", &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: dunning.InvoiceMachine.Name(), ID: invoice}
	}
	return i.Tenant, nil
}

func (r tenants) Due(now time.Time, limit int) (due []dunning.Account, _ []error, err error) {
	due, err = dueOf(r.tx, r.tenants, keyDue, now, limit, r.Get)
	return due, nil, err
}

func (r tenants) NextDue(now time.Time) (time.Time, error) {
	return nextOf(r.tenants, keyDue, now), nil
}

func (r tenants) Overslept(latest time.Time, limit int) (all []dunning.Account, _ []error, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, nil, err
	}
	r.tenants.scan(keyDue, keyDue+timeKey(latest.Add(time.Microsecond)), func(_ string, t *dunning.Tenant) bool {
		if len(all) < limit {
			all = append(all, r.account(t.ID))
		}
		return len(all) < limit
	})
	return all, nil, nil
}

func (r tenants) List(after string, limit int) ([]string, error) {
	return idsOf(r.tenants, keyRelay, after, limit)
}

func (r tenants) ForOperator(now time.Time, after string, limit int) (ids []string, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	for _, i := range r.invoices.at {
		if i.Tenant > after && r.tenants.at[i.Tenant].NeedsOperator(i, now) {
			ids = append(ids, i.Tenant)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(len(ids), limit)], nil
}

func (r tenants) Save(changes ...dunning.Change) error {
	return saveAll(r.tx, changes, r.save)
}

func (r tenants) save(c *dunning.Change) (err error) {
	if err := c.Complete(); err != nil {
		return err
	}
	old, now := &c.Old.Tenant, c.New.Tenant
	if old.Version != now.Version || c.Touch() {
		stored := r.tenants.at[now.ID]
		if stored != nil && stored.Version == old.Version && !stored.DueAt.Equal(old.DueAt) {
			return conflict(dunning.TenantMachine.Name(), now.ID, "its next step was moved")
		}
		if c.Touch() && stored != nil {
			due := now.DueAt
			now = *stored
			now.DueAt = due
		}
		if err := r.tenants.save(r.tx, old.Version, &now); err != nil {
			return err
		}
	}
	c.Changed(func(old, now *dunning.Invoice) {
		if err == nil {
			one := *now
			err = r.invoices.save(r.tx, old.Version, &one)
		}
	})
	if err != nil {
		return err
	}
	return r.add(r.tx, c.Log)
}

func (r tenants) Transitions(tenant string) ([]statemachine.Transition[string], error) {
	return r.trail(tenant, dunning.TenantMachine.Name()), nil
}

func (r tenants) InvoiceTransitions(invoice string) ([]statemachine.Transition[string], error) {
	return r.trail(invoice, dunning.InvoiceMachine.Name()), nil
}

func (r tenants) Stats(now time.Time) (dunning.Stats, error) {
	s := dunning.Stats{At: now, Tenants: map[dunning.TenantStatus]int64{}}
	for id := range r.tenants.at {
		a := r.account(id)
		s.Add(&a)
	}
	return s, nil
}

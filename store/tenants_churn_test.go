package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// countedRelays is a store of tenants that counts the saves of relays and what they save.
type countedRelays struct {
	store.Store[store.Unit]
	saves, changes int
}

func (c *countedRelays) Update(ctx context.Context, fn func(store.TenantUnit) error) error {
	return c.Store.Update(ctx, func(tx store.Unit) error { return fn(churnUnit{tx, c}) })
}

func (c *countedRelays) View(ctx context.Context, fn func(store.TenantUnit) error) error {
	return c.Store.View(ctx, func(tx store.Unit) error { return fn(tx) })
}

type churnUnit struct {
	store.Unit
	by *countedRelays
}

func (u churnUnit) Relays() store.RelayRecords { return churnRecords{u.Unit.Relays(), u.by} }

type churnRecords struct {
	store.RelayRecords
	by *countedRelays
}

func (r churnRecords) Save(changes ...relaysync.Change) error {
	r.by.saves++
	r.by.changes += len(changes)
	return r.RelayRecords.Save(changes...)
}

// The relays of a tenant that churns are saved once all of them have taken it, however
// many pages they are.
func TestAChurnSavesItsRelaysAtOnce(t *testing.T) {
	ctx, start := context.Background(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	db := &countedRelays{Store: memory.New(memory.Options{Now: func() time.Time { return now }})}
	policy := relaysync.DefaultPolicy()
	policy.RelayDomain = "relays.example"
	relays, err1 := store.NewRelays(db, policy)
	tenants, err2 := store.NewTenants(db, relays, dunning.DefaultPolicy())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	info := relaysync.Config{Info: `{"name":"Alice","pubkey":"` + relaysync.Document(strings.Repeat("ab", 32)) + `"}`}
	for _, many := range []int{1, store.MaxPage - 1, store.MaxPage, store.MaxPage + 1} {
		now = start
		tenant, host := fmt.Sprint("tenant_", many), dunning.By{Actor: "host", Role: dunning.Host}
		_, err := tenants.Do(ctx, tenant, dunning.Enrolled{By: host, Tenant: tenant, Method: dunning.Manual}, dunning.Provisioned{By: host},
			dunning.Issued{By: host, Invoice: "of " + tenant, Amount: 50})
		if err != nil {
			t.Fatal(err)
		}
		var commands []store.RelayCommand
		for i := range many {
			id := fmt.Sprintf("relay_%d_%05d", many, i)
			commands = append(commands, store.RelayCommand{Relay: id, Events: []relaysync.Event{relaysync.Created{
				By: relaysync.By{Actor: "host", Role: relaysync.Host}, Relay: id, Tenant: tenant, Subdomain: "sub", Config: info}}})
		}
		if _, err := relays.DoAll(ctx, commands...); err != nil {
			t.Fatal(err)
		}
		biller := dunning.By{Actor: "biller", Role: dunning.Biller}
		for ; now.Before(start.Add(7 * 24 * time.Hour)); now = now.Add(time.Hour) {
			if _, err := tenants.Do(ctx, tenant, dunning.StepBegun{By: biller}); err != nil {
				t.Fatal(err)
			}
		}
		db.saves, db.changes = 0, 0
		if _, err := tenants.Do(ctx, tenant, dunning.Churned{By: biller}); err != nil || db.saves != 1 || db.changes != many {
			t.Errorf("the churn of a tenant with %d relays: %v, %d relays in %d saves", many, err, db.changes, db.saves)
		}
	}
}

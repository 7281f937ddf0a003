package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// SelfCheckTenants is [SelfCheck] for a store that has tenants and relays: a
// relay with its claim (fence, end of the lease) and its activities, a tenant, an
// invoice with the intent of its charge, the trails, and a change of a version
// that is stored no longer. Everything is taken back. It does not look at two
// transactions at once, a crash or a restore.
func SelfCheckTenants[T TenantUnit](ctx context.Context, s Store[T]) error {
	p := relaysync.DefaultPolicy()
	p.RelayDomain = "self-check.example"
	relays, err := NewRelays(s, p)
	if err != nil {
		return err
	}
	tenants, err := NewTenants(s, relays, dunning.DefaultPolicy())
	if err != nil {
		return err
	}
	tenant, relay := "self-check "+uuid.NewString(), "self_check_"+strings.ReplaceAll(uuid.NewString(), "-", "")
	var stale dunning.Change
	write := func(tx T) (err error) {
		stale, err = writeTenant(ctx, tx, relays.Within(tx), tenants.Within(tx), tenant, relay)
		return err
	}
	return selfCheck(ctx, s, probe[T]{
		write: write,
		left: func(tx T) (bool, error) {
			accounts, err1 := tx.Tenants().Get(tenant)
			syncs, err2 := tx.Relays().Get(relay)
			if err := errors.Join(err1, err2); err != nil {
				return false, err
			}
			return accounts[0].Tenant.Version > 0 || syncs[0].Relay.Version > 0, nil
		},
		stale: func(tx T) error { return tx.Tenants().Save(stale) },
		refused: []refusal[T]{outdated(func(tx T) error {
			if err := write(tx); err != nil {
				return err
			}
			return tx.Tenants().Save(stale)
		})},
	})
}

// writeTenant stores one of each, compares what comes back, and returns a change
// of the tenant as it was before the charge.
func writeTenant(ctx context.Context, tx TenantUnit, relays *Relays, tenants *Tenants, tenant, relay string) (stale dunning.Change, err error) {
	host, reactor, biller := relaysync.By{Actor: "self-check é世", Role: relaysync.Host}, relaysync.By{Actor: "self-check", Role: relaysync.Reactor}, dunning.By{Actor: "self-check", Role: dunning.Biller}
	sync, err := relays.Do(ctx, relay, relaysync.Created{By: host, Relay: relay, Tenant: tenant, Subdomain: "self-check",
		Config: relaysync.Config{Info: relaysync.Document(`{"pubkey":"` + strings.Repeat("ab", 32) + `","name":"é世"}`)}}, relaysync.Claimed{By: reactor})
	if err != nil {
		return stale, err
	}
	invoice := tenant + "/1"
	before, err := tenants.Do(ctx, tenant, dunning.Enrolled{By: dunning.By(host), Tenant: tenant, Method: dunning.NWC},
		dunning.Issued{By: dunning.By(host), Invoice: invoice, Amount: 1<<63 - 1})
	if err != nil {
		return stale, err
	}
	charge := dunning.ChargeIntended{By: biller, Invoice: invoice, Key: invoice + "/0"}
	after, err := tenants.Do(ctx, tenant, charge)
	if err != nil {
		return stale, err
	}
	accounts, err1 := tx.Tenants().Get(tenant)
	syncs, err2 := tx.Relays().Get(relay)
	_, err3 := relays.Trail(ctx, relay)
	_, err4 := tenants.InvoiceTrail(ctx, invoice)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return stale, err
	}
	if !reflect.DeepEqual(accounts[0], after) || syncs[0] != sync {
		return stale, fmt.Errorf("%w: what was stored comes back as %+v and %+v", statemachine.ErrCorrupt, accounts[0], syncs[0])
	}
	now, err := tx.Now()
	if err != nil {
		return stale, err
	}
	policy := tenants.Policy()
	return policy.ApplyAt(before, charge, now)
}

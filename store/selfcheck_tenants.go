package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// SelfCheckRelays is [SelfCheck] for a store that has relays. It checks a relay with its claim (holder, fence, end of
// the lease), its activities, its trail and its place in the list of its tenant's relays, a renewal under another
// fence, and a change of a version that is no longer stored. Everything is taken back. It does not check two
// transactions at once, a crash or a restore.
func SelfCheckRelays[T RelayUnit](ctx context.Context, s Store[T]) error {
	p := relaysync.DefaultPolicy()
	p.RelayDomain = "self-check.example"
	relays, err := NewRelays(s, p)
	if err != nil {
		return err
	}
	id := "self_check_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	return probeOf(&relays.relayCore, id, func(tx RelayUnit) (relaysync.Change, error) {
		return writeRelay(ctx, tx,
			relays.Within(tx), id)
	}).run(ctx)
}

// writeRelay stores a relay with its claim, compares what comes back, and returns
// the claim of it as it was before.
func writeRelay(ctx context.Context, tx RelayUnit, relays *Relays, id string) (stale relaysync.Change, err error) {
	host, claim := relaysync.By{Actor: "self-check é世", Role: relaysync.Host},
		relaysync.Claimed{By: relaysync.By{Actor: "self-check", Role: relaysync.Reactor}}
	before, err1 := relays.Do(ctx, id, relaysync.Created{By: host, Relay: id, Tenant: id, Subdomain: "self-check",
		Config: relaysync.Config{Info: relaysync.Document(`{"pubkey":"` + strings.Repeat("ab", 32) + `","name":"é世"}`)}})
	want, err2 := relays.Do(ctx, id, claim)
	now, err3 := tx.Now()
	if err := errors.Join(err1, err2, err3); err != nil {
		return stale, err
	}
	lost, err1 := tx.Relays().Renew(now, Lease[string]{ID: id, Fence: want.Timer.Lease.Fence + 1, Until: now.Add(time.Hour)})
	got, err2 := relays.Get(ctx, id)
	activities, err3 := relays.Activities(ctx, id, 10)
	own, err4 := relays.List(ctx, id, "", 10)
	_, err5 := relays.Trail(ctx, id)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return stale, err
	}
	switch {
	case got != want || relaysync.HistoryOf(activities) != want.History:
		return stale, broken(fmt.Sprintf("stored %+v, read %+v with %+v", want, got, activities))
	case !slices.Equal(lost, []string{id}):
		return stale, broken("a lease was renewed under a fence that nobody has")
	case !slices.Equal(own, []string{id}):
		return stale, broken(fmt.Sprintf("the relays of a tenant with one are %v", own))
	}
	return relays.policy.ApplyAt(before, claim, now)
}

// SelfCheckTenants is [SelfCheck] for a store that has tenants and relays: [SelfCheckRelays], and a tenant, an invoice
// with the intent of its charge, their trails, an invoice of another tenant under its id, and a change of a version
// that is no longer stored.
func SelfCheckTenants[T TenantUnit](ctx context.Context, s Store[T]) error {
	relays := relaysync.DefaultPolicy()
	relays.RelayDomain = "self-check.example"
	r, err := NewRelays(s, relays)
	if err != nil {
		return err
	}
	tenants, err := NewTenants(s, r, dunning.DefaultPolicy())
	if err != nil {
		return err
	}
	id := "self-check " + uuid.NewString()
	write := func(tx TenantUnit) (stale dunning.Change, err error) {
		stale, _, err = writeTenant(ctx, tx, tenants.Within(tx), id)
		return stale, err
	}
	return errors.Join(SelfCheckRelays(ctx, s), probeOf(&tenants.tenantCore, id, write,
		refusal[TenantUnit]{"an invoice under the id of another tenant's", func(tx TenantUnit) error {
			_, other, err := writeTenant(ctx, tx, tenants.Within(tx), id)
			if err == nil {
				err = tx.Tenants().Save(other)
			}
			return err
		}, []error{statemachine.ErrConflict}}).run(ctx))
}

// writeTenant stores a tenant with an invoice and compares what comes back. It returns the change of the charge's
// intent as it was before the intent was stored, and another tenant's invoice of the same id.
func writeTenant(ctx context.Context, tx TenantUnit, tenants *Tenants, id string) (stale, other dunning.Change, err error) {
	host, invoice := dunning.By{Actor: "self-check é世", Role: dunning.Host}, id+"/1"
	issued := dunning.Issued{By: host, Invoice: invoice, Amount: 1<<63 - 1}
	charge := dunning.ChargeIntended{By: dunning.By{Actor: "self-check", Role: dunning.Biller}, Invoice: invoice, Key: invoice + "/0"}
	before, err1 := tenants.Do(ctx, id, dunning.Enrolled{By: host, Tenant: id, Method: dunning.NWC}, issued)
	want, err2 := tenants.Do(ctx, id, charge)
	second, err3 := tenants.Do(ctx, id+" 2", dunning.Enrolled{By: host, Tenant: id + " 2", Method: dunning.NWC})
	got, err4 := tenants.Get(ctx, id)
	_, err5 := tenants.Trail(ctx, id)
	_, err6 := tenants.InvoiceTrail(ctx, invoice)
	now, err7 := tx.Now()
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		return stale, other, err
	}
	if !reflect.DeepEqual(got, want) {
		return stale, other, broken(fmt.Sprintf("stored %+v, read %+v", want, got))
	}
	policy := tenants.Policy()
	stale, err1 = policy.ApplyAt(before, charge, now)
	other, err2 = policy.ApplyAt(second, issued, now)
	return stale, other, errors.Join(err1, err2)
}

package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// Tenants proves the tenants and invoices of a store.
func Tenants[T store.TenantUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	opened := func(t *testing.T) *tenants { return newTenants(t, timedTenants(open(t))) }
	versioned(t, func(t *testing.T) *tenantSubject { return opened(t).tenantSubject }, func(t *testing.T) *tenantSubject {
		return newTenants(t, timedTenants(memory.New(memory.Options{}))).tenantSubject
	})
	t.Run("a copy of any commit charges each debt once, by the procedure", func(t *testing.T) {
		copiesOfCharges(t, func(t testing.TB) store.Store[store.TenantUnit] { return timedTenants(open(t)) }, uint64(usual(2, 6)), usual(40, 80),
			usual(4, 80), "")
	})
	type of = *tenants
	prove(t, opened, []rule[of]{
		{"every field comes back", of.everyTenantField},
		{"a churn deactivates every active relay of the tenant in its commit", of.churnDeactivates},
		{"what comes between makes a churn stale, and a churned tenant gets no relay", of.staleChurn},
		{"charges that are stopped are not begun, nobody is churned for them, and what is out is answered", of.stopped},
		{"a page is grouped by what each waits for, with what the switch says", of.causes},
		{"an invoice belongs to one tenant, and who asks for another's is told so", of.oneTenant},
		{"a tenant and an invoice of one id have two trails", of.trailsApart},
		{"a step that a clock which was ahead has put off is due within the longest sleep", of.overslept},
	})
}

type (
	tenantSubject = subject[store.TenantUnit, string, string, dunning.Account, dunning.Event, dunning.Change]
	tenantStage   = stage[string, dunning.Account, dunning.Event]
)

// tenants is one store under test.
type tenants struct {
	*tenantSubject
	relays  *relays
	service *store.Tenants
	ids     atomic.Int64
}

func newTenants(t *testing.T, s store.Store[store.TenantUnit]) *tenants {
	t.Helper()
	relays := newRelays(t, timing(s, func(tx store.TenantUnit, _ *clock) store.RelayUnit { return tx }))
	p := dunning.DefaultPolicy()
	p.RecoveredAt = start.Add(-3 * time.Hour)
	r := &tenants{relays: relays, service: must(store.NewTenants(s, relays.service, p))(t)}
	r.tenantSubject = r.subject(s)
	return r
}

func (r *tenants) id() string { return fmt.Sprintf("tenant_%06d", r.ids.Add(1)) }

func dunningBy(role dunning.Role, at time.Time) dunning.By {
	return dunning.By{Actor: "somebody", Role: role, At: at}
}

func (r *tenants) churnDeactivates(t *testing.T) {
	tenant := r.id()
	week := start.Add(7 * 24 * time.Hour)
	r.do(t, tenant, append(tenantStages()[1].events(tenant), ticks(start, week)...)...)
	var ids []string
	for i := range 4 {
		id := r.relays.id()
		e := relayCreated(id, start)
		if i > 0 {
			e.Tenant = tenant
		}
		r.relays.do(t, id, e, relaysync.Claimed{By: relayBy(relaysync.Reactor, start)}, relayFinished(start, 1, statemachine.Done))
		ids = append(ids, id)
	}
	r.relays.do(t, ids[1], relaysync.Deactivated{By: relayBy(relaysync.Host, start)}) // already
	news := r.relays.service.Subscribe()
	churned := dunning.Churned{By: dunningBy(dunning.Biller, week)}
	err := r.Update(ctx, func(tx store.TenantUnit) error {
		_, err := r.service.Within(tx).Do(ctx, tenant, churned)
		return errors.Join(err, errRollback)
	})
	refusedWith(t, err, errRollback, "the churn")
	check := func(what string, want ...relaysync.Status) {
		t.Helper()
		for i, id := range ids {
			s, err := r.relays.service.Get(ctx, id)
			if err != nil || s.Relay.Status != want[i] || s.Relay.Synced != (want[i] == relaysync.Active) {
				t.Fatalf("%s: relay %d is %v, synced %v, %v", what, i, s.Relay.Status, s.Relay.Synced, err)
			}
		}
	}
	check("after a rollback", relaysync.Active, relaysync.Inactive, relaysync.Active, relaysync.Active)
	r.do(t, tenant, churned)
	check("after the churn", relaysync.Active, relaysync.Inactive, relaysync.Inactive, relaysync.Inactive)
	for _, id := range ids[2:] {
		if a, err := news.Receive(ctx); err != nil || a.Type != relaysync.DeactivateRelay || a.ResourceID != id {
			t.Errorf("heard %+v, %v", a, err)
		}
		if s, err := r.relays.service.Get(ctx, id); err != nil || !s.Timer.Due.Equal(week) {
			t.Errorf("due at %v, %v", s.Timer.Due, err)
		}
	}
}

func (r *tenants) staleChurn(t *testing.T) {
	late := start.Add(8 * 24 * time.Hour)
	churned := dunning.Churned{By: dunningBy(dunning.Biller, late)}
	owing := func(tenant string) []dunning.Event {
		return append(tenantStages()[1].events(tenant), ticks(start, late)...)
	}
	provide := func(tenant, relay string) error {
		return r.Update(ctx, func(tx store.TenantUnit) error {
			e := relayCreated(relay, start)
			e.Tenant = tenant
			_, err := r.relays.service.Within(tx).Do(ctx, relay, e)
			if err == nil {
				_, err = r.service.Within(tx).Do(ctx, tenant, dunning.Provisioned{By: dunningBy(dunning.Host, start)})
			}
			return err
		})
	}
	for name, between := range map[string]func(a dunning.Account) error{
		"who has paid": func(a dunning.Account) error {
			_, err := r.service.Do(ctx, a.Tenant.ID, dunning.Paid{By: dunningBy(dunning.Host, start),
				Invoice: a.Invoices[0].ID, Method: dunning.Manual})
			return err
		},
		"who has got a relay": func(a dunning.Account) error { return provide(a.Tenant.ID, r.relays.id()) },
	} {
		tenant := r.id()
		a := r.do(t, tenant, owing(tenant)...)
		c, err := r.service.Policy().Apply(a, churned)
		noError(t, errors.Join(err, between(a)))
		refusedWith(t, r.save(c), statemachine.ErrConflict, "the churn of a tenant "+name)
	}
	tenant, relay := r.id(), r.relays.id()
	r.do(t, tenant, append(owing(tenant), churned)...)
	refusedWith(t, provide(tenant, relay), statemachine.ErrIllegal, "a relay for a churned tenant")
	refusedWith(t, errOf(r.relays.service.Get(ctx, relay)), statemachine.ErrNotFound, "the relay of a churned tenant")
}

func (r *tenants) overslept(t *testing.T) {
	awake, asleep, idle := r.id(), r.id(), r.id()
	events := tenantStages()[1].events
	r.do(t, awake, events(awake)...)
	// A step that the store's clock of then, which was ahead, allowed.
	noError(t, r.save(r.change(t, r.do(t, asleep, events(asleep)...), dunning.StepBegun{By: dunningBy(dunning.Biller,
		start.Add(1000*24*time.Hour))})))
	r.do(t, idle, enrolled(idle, dunning.NWC))
	dated(r.Store, start)
	for round, want := range []int{1, 0} {
		// its clock is behind
		last, changed, refused, err := r.service.Reconcile(ctx, dunningBy(dunning.Biller, start.Add(-time.Hour)), "", 100)
		if err != nil || refused != nil || len(changed) != want || last != idle {
			t.Fatalf("round %d: %d changed up to %q, %v, %v", round, len(changed), last, refused, err)
		}
	}
	if a, err := r.service.Get(ctx, asleep); err != nil || !a.Tenant.DueAt.Equal(start.Add(time.Hour)) {
		t.Errorf("due at %v, %v", a.Tenant.DueAt, err)
	}
	// A biller that runs does not wait for that.
	noError(t, r.save(r.change(t, must(r.service.Get(ctx, asleep))(t), dunning.StepBegun{By: dunningBy(dunning.Biller,
		start.Add(1000*24*time.Hour))})))
	dated(r.Store, start.Add(time.Minute))
	if _, _, err := r.service.Work("biller").Turn(ctx, nil, 1); err != nil {
		t.Fatal(err)
	}
	if a, err := r.service.Get(ctx, asleep); err != nil || !a.Tenant.DueAt.Equal(start.Add(time.Hour+time.Minute)) {
		t.Errorf("a biller leaves it due at %v, %v", a.Tenant.DueAt, err)
	}
	noError(t, r.Update(ctx, func(tx store.TenantUnit) error {
		for latest, want := range map[time.Duration][]string{time.Hour + time.Minute - time.Microsecond: {asleep}, time.Hour + time.Minute: nil} {
			all, err := readable(tx.Tenants().Overslept(start.Add(latest), 10))
			var ids []string
			for _, a := range all {
				ids = append(ids, a.Tenant.ID)
			}
			if err != nil || !slices.Equal(ids, want) {
				t.Errorf("due after %v are %v, %v", latest, ids, err)
			}
		}
		return nil
	}))
	refusedWith(t, r.Update(ctx, func(tx store.TenantUnit) error { return errOf(readable(tx.Tenants().Overslept(start, 0))) }),
		statemachine.ErrInvalid, "a limit of 0")
	if last, _, _, err := r.service.Reconcile(ctx, dunningBy(dunning.Biller, start), idle, 100); last != "" || err != nil {
		t.Errorf("behind the last one is %q, %v", last, err)
	}
}

func (r *tenants) oneTenant(t *testing.T) {
	first, second := r.id(), r.id()
	r.do(t, first, enrolled(first, dunning.NWC), issued("same"))
	r.do(t, second, enrolled(second, dunning.NWC))
	refusedWith(t, errOf(r.service.Do(ctx, second, issued("same"))), statemachine.ErrIllegal, "an invoice that another tenant has")
	// Two at once: one of them gets it, and the other hears whose it is.
	errs := atOnce(2, func(i int) error {
		_, err := r.service.Do(ctx, []string{first, second}[i], issued("new"))
		return err
	})
	oneOf(t, errs, statemachine.ErrIllegal)
}

// trailsApart: a tenant and an invoice, also another's, may have one id.
func (r *tenants) trailsApart(t *testing.T) {
	one, two := r.id(), r.id()
	r.do(t, one, enrolled(one, dunning.NWC), issued(one), issued(two))
	r.do(t, two, enrolled(two, dunning.NWC))
	for id, versions := range map[string]int{one: 3, two: 1} {
		trail, err1 := r.service.Trail(ctx, id)
		of, err2 := r.service.InvoiceTrail(ctx, id)
		noError(t, errors.Join(err1, err2))
		if len(trail) != versions || len(of) != 1 || trail[0].Machine != dunning.TenantMachine.Name() ||
			of[0].Machine != dunning.InvoiceMachine.Name() {
			t.Errorf("the trail of tenant %s: %v; of the invoice of the same id: %v", id, trail, of)
		}
	}
	refusedWith(t, errOf(r.service.InvoiceTrail(ctx, "nobody's")), statemachine.ErrNotFound, "the trail of no invoice")
}

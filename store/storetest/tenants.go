package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/relaysync/relaysynctest"
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
	type of = *tenants
	prove(t, opened, []rule[of]{
		{"every field comes back", of.everyTenantField},
		{"a churn deactivates every active relay of the tenant in its commit", of.churnDeactivates},
		{"what comes between makes a churn stale, and a churned tenant gets no relay", of.staleChurn},
		{"charges that are stopped are not begun, nobody is churned for them, and what is out is answered", of.stopped},
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
	p.RecoveredAt = start.Add(-time.Hour)
	r := &tenants{relays: relays, service: must(store.NewTenants(s, relays.service, p))(t)}
	r.tenantSubject = r.subject(s)
	return r
}

func (r *tenants) id() string { return fmt.Sprintf("tenant_%06d", r.ids.Add(1)) }

func dunningBy(role dunning.Role, at time.Time) dunning.By {
	return dunning.By{Actor: "somebody", Role: role, At: at}
}

// everyTenantField goes through a life that sets and moves every field.
func (r *tenants) everyTenantField(t *testing.T) {
	f := newLife(t, r.tenantSubject)
	f.records = func(a *dunning.Account) map[string]any {
		all := map[string]any{"Tenant": a.Tenant}
		for _, i := range a.Invoices {
			all["Invoice"] = i // the latest one
		}
		return all
	}
	by := func(role dunning.Role) dunning.By { return dunningBy(role, f.tick()) }
	biller := func() dunning.By { return by(dunning.Biller) }
	const day = 24 * time.Hour
	pass := func(d time.Duration) { // a biller is there, and does nothing
		f.now = f.now.Add(d)
		before, c := f.a, dunning.Change{Old: f.a, New: f.a}
		for _, ev := range ticks(f.a.Tenant.DueAt, f.now) {
			c.New = f.change(t, c.New, ev).New
		}
		noError(t, f.save(c))
		f.saved(before, &c, "after some time")
	}
	f.do(dunning.Enrolled{By: by(dunning.Host), Tenant: r.id(), Method: dunning.Stripe, BillingAnchor: f.now.Add(day)},
		dunning.Issued{By: by(dunning.Host), Invoice: "é-1", Amount: 1 << 62, CreatedAt: start.Add(-2 * time.Hour)}, dunning.LookedBack{By: biller(), Invoice: "é-1", Asked: start},
		dunning.Amended{By: by(dunning.Host), Invoice: "é-1", Amount: 7},
		dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/0"},
		dunning.ChargeAnswered{By: biller(), Invoice: "é-1", Key: "é-1/0", Outcome: statemachine.Failed, Error: "declined"})
	pass(23*day/24 + time.Hour + 59*time.Minute)
	f.do(dunning.MethodSet{By: by(dunning.Host), Method: dunning.NWC}, dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/1"},
		dunning.ChargeAnswered{By: biller(), Invoice: "é-1", Key: "é-1/1", Outcome: statemachine.Deferred})
	for range 2 {
		f.do(dunning.NoticeIntended{By: biller(), Notice: r.service.Policy().Next(f.a, f.now).Action.Key})
		f.do(dunning.NoticeAnswered{By: biller(), Notice: f.a.Tenant.Notice, Outcome: statemachine.Failed})
		pass(2 * time.Hour)
		f.do(dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/1"}, dunning.ChargeAnswered{By: biller(), Invoice: "é-1", Key: "é-1/1", Outcome: statemachine.Deferred})
	}
	f.do(dunning.NoticeIntended{By: biller(), Notice: r.service.Policy().Next(f.a, f.now).Action.Key})
	pass(8 * day)
	f.do(dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/1"}, dunning.ChargeAnswered{By: biller(), Invoice: "é-1", Key: "é-1/1", Outcome: statemachine.Unknown})
	pass(time.Hour)
	f.do(dunning.ChargeMissing{By: biller(), Invoice: "é-1", Key: "é-1/1", Asked: f.now}, dunning.MethodSet{By: by(dunning.Host), Method: dunning.Manual}, dunning.Churned{By: biller()},
		dunning.Reinstated{By: by(dunning.Operator)})
	pass(13 * day)
	f.do(dunning.Churned{By: biller()}, dunning.Reinstated{By: by(dunning.Operator)})
	pass(2 * day)
	f.do(dunning.NoticeIntended{By: biller(), Notice: r.service.Policy().Next(f.a, f.now).Action.Key})
	f.do(dunning.NoticeAnswered{By: biller(), Notice: f.a.Tenant.Notice, Outcome: statemachine.Done},
		// a clock that is behind, and right again
		dunning.Ticked{By: dunningBy(dunning.Biller, start.Add(-10*day))}, dunning.Ticked{By: biller()},
		dunning.MethodSet{By: by(dunning.Host), Method: dunning.Stripe},
		dunning.ChargeIntended{By: biller(), Invoice: "é-1", Key: "é-1/1"}, dunning.ChargeAnswered{By: biller(), Invoice: "é-1",
			Key: "é-1/1", Outcome: statemachine.Done},
		dunning.ChargeAnswered{By: biller(), Invoice: "é-1", Key: "é-1/0", Outcome: statemachine.Done}, // of what was declared failed
		dunning.Acknowledged{By: by(dunning.Operator), Invoice: "é-1", Key: "é-1/0", Reason: "paid back"},
		dunning.Paid{By: by(dunning.Host), Invoice: "é-1", Method: dunning.Manual, Payment: "é 1"}, // which the charge is paid back for
		dunning.Acknowledged{By: by(dunning.Operator), Invoice: "é-1", Key: "é-1/1", Reason: "paid back"},
		dunning.Issued{By: by(dunning.Host), Invoice: "é-2", Amount: 1}, dunning.Voided{By: by(dunning.Host), Invoice: "é-2"})
	f.end(strings.Fields("Tenant.ID Tenant.BillingAnchor Tenant.CreatedAt Invoice.ID Invoice.Tenant Invoice.CreatedAt Invoice.Issued"),
		map[string]any{"Tenant": dunning.Tenant{}, "Invoice": dunning.Invoice{}}, nil)
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
			_, err := r.service.Do(ctx, a.Tenant.ID, dunning.Paid{By: dunningBy(dunning.Host, start), Invoice: a.Invoices[0].ID, Method: dunning.Manual})
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
	noError(t, r.save(r.change(t, r.do(t, asleep, events(asleep)...), dunning.Ticked{By: dunningBy(dunning.Biller, start.Add(1000*24*time.Hour))})))
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
	noError(t, r.save(r.change(t, must(r.service.Get(ctx, asleep))(t), dunning.Ticked{By: dunningBy(dunning.Biller,
		start.Add(1000*24*time.Hour))})))
	dated(r.Store, start.Add(time.Minute))
	if _, _, err := r.service.Steps("biller").Turn(ctx, nil, 1); err != nil {
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
	refusedWith(t, r.View(ctx, func(tx store.TenantUnit) error { return errOf(readable(tx.Tenants().Overslept(start, 0))) }),
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
		if len(trail) != versions || len(of) != 1 || trail[0].Machine != dunning.TenantMachine.Name() || of[0].Machine != dunning.InvoiceMachine.Name() {
			t.Errorf("the trail of tenant %s: %v; of the invoice of the same id: %v", id, trail, of)
		}
	}
	refusedWith(t, errOf(r.service.InvoiceTrail(ctx, "nobody's")), statemachine.ErrNotFound, "the trail of no invoice")
}

// subject says how to make tenants, for the rules of any versioned record.
func (r *tenants) subject(s store.Store[store.TenantUnit]) *tenantSubject {
	return &tenantSubject{
		Store:   s,
		service: ownTrails{r.service},
		within: func(tx store.TenantUnit) service[string, string, dunning.Account, dunning.Event] {
			return ownTrails{r.service.Within(tx)}
		},
		records: func(tx store.TenantUnit) records[string, string, dunning.Account, dunning.Change] {
			return ownLines{tx.Tenants()}
		},
		held:  r.service.Held,
		apply: r.service.Policy().Apply,
		check: dunning.Check,
		states: func(a *dunning.Account) (all []stored[string]) {
			if a.Tenant.Version > 0 {
				all = append(all, stored[string]{a.Tenant.ID, a.Tenant.Version, a.Tenant.Status().String()})
			}
			for k := range a.Invoices {
				i := &a.Invoices[k]
				all = append(all, stored[string]{i.ID, i.Version, i.Status().String()})
			}
			return all
		},
		newID:  r.id,
		id:     func(a *dunning.Account) string { return a.Tenant.ID },
		stages: tenantStages(),
		speech: &speech[string, dunning.Account, dunning.Event]{store.DomainRelays, dunning.TenantMachine.Name(), dunning.Events(),
			func(ev dunning.Event) uint8 { return uint8(dunning.Speakers(ev)) }, tenantLives()},
		outside: map[string]func(*dunning.Account){"due at": func(a *dunning.Account) { a.Tenant.DueAt = a.Tenant.DueAt.Add(tick) }},
		lists: []list[store.TenantUnit, string, dunning.Account]{
			{"List", func(tx store.TenantUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Tenants().List(after, limit)
			},
				func(*dunning.Account, time.Time) bool { return true }, nil},
			{"ForOperator", func(tx store.TenantUnit, now time.Time, after string, limit int) ([]string, error) {
				return tx.Tenants().ForOperator(now, after, limit)
			}, func(a *dunning.Account, now time.Time) bool {
				return slices.ContainsFunc(a.Invoices, func(i dunning.Invoice) bool { return a.Tenant.NeedsOperator(&i, now) })
			}, func(a *dunning.Account) (at []time.Time) {
				for _, i := range a.Invoices {
					at = append(at, i.OverpaidAt, i.ChargeAt.Add(r.service.Policy().Hold+r.service.Policy().Linger+time.Second).Truncate(time.Second))
				}
				return at
			}},
		},
		also: r.counted,
		stats: func(tx store.TenantUnit, all []dunning.Account, now time.Time) (got, want any, err error) {
			w := dunning.Stats{At: now, Tenants: map[dunning.TenantStatus]int64{}}
			for k := range all {
				w.Add(&all[k])
			}
			got, err = tx.Tenants().Stats(now)
			return got, w, err
		},
		money: tenantMoney,
		overdue: &overdue[store.TenantUnit, dunning.Account]{
			states: slices.Concat(unfinished(dunning.InvoiceMachine), unfinished(dunning.TenantMachine, dunning.TenantActive, dunning.TenantChurned)),
			rests:  func(a *dunning.Account) bool { return a.Tenant.Status() == dunning.TenantChurned }, // until somebody reinstates
			until:  func(*dunning.Account) time.Duration { return dunning.DefaultThresholds().OwedFor },
			alerts: func(tx store.TenantUnit, now time.Time) (names []string, err error) {
				stats, err := tx.Tenants().Stats(now)
				for _, a := range dunning.Alerts(stats, dunning.DefaultThresholds()) {
					if a.Name == "tenant owed" || a.Name == "charge unknown" {
						names = append(names, a.Name)
					}
				}
				return names, err
			},
		},
		limits: map[string]func(int) error{
			"Audit": func(n int) error { return errOf(r.service.Audit(ctx, "", n)) },
			"Reconcile": func(n int) error {
				_, _, _, err := r.service.Reconcile(ctx, dunningBy(dunning.Biller, start), "", n)
				return err
			},
		},
		source: func(name string) source { return sourceOf(steps{r.service.Steps(name)}) },
		owed: func(t testing.TB) dunning.Account {
			id := r.id()
			e := issued(id + "-invoice")
			e.By.At, e.CreatedAt = time.Time{}, start
			return r.do(t, id, enrolled(id, dunning.Stripe), e)
		},
		selfCheck: func(ctx context.Context) error { return store.SelfCheckTenants(ctx, s) },
		due: []dueKind[store.TenantUnit, dunning.Account]{{
			name: "step",
			find: func(tx store.TenantUnit, now time.Time, limit int) ([]dunning.Account, error) {
				return readable(tx.Tenants().Due(now, limit))
			},
			next:    func(tx store.TenantUnit, now time.Time) (time.Time, error) { return tx.Tenants().NextDue(now) },
			at:      func(a *dunning.Account) (time.Time, bool) { return a.Tenant.Due() },
			compare: func(a, b *dunning.Account) int { return dunning.CompareDue(&a.Tenant, &b.Tenant) },
		}},
		draw: func(rt *rapid.T) history[string, dunning.Account, dunning.Event] {
			id, p := r.id()+"_random", r.service.Policy()
			method := rapid.SampledFrom(dunning.Method(0).Values()).Draw(rt, "method")
			adversary, begun := &relaysynctest.AccountAdversary{Prefix: id}, false
			return history[string, dunning.Account, dunning.Event]{id: id, steps: 40, next: func(a *dunning.Account) dunning.Event {
				if !begun {
					begun = true
					return dunning.Enrolled{By: dunningBy(dunning.Host, start), Tenant: id, Method: method}
				}
				return adversary.Next(rt, p, *a)
			}}
		},
	}
}

// ownTrails and ownLines find the trail of a tenant or, as no invoice here has the
// id of one, of an invoice.
type ownTrails struct{ *store.Tenants }

func (o ownTrails) Trail(ctx context.Context, id string) ([]statemachine.Transition[string], error) {
	lines, err := o.Tenants.Trail(ctx, id)
	if errors.Is(err, statemachine.ErrNotFound) {
		return o.InvoiceTrail(ctx, id)
	}
	return lines, err
}

type ownLines struct{ store.TenantRecords }

func (o ownLines) Transitions(id string) ([]statemachine.Transition[string], error) {
	lines, err := o.TenantRecords.Transitions(id)
	if err == nil && len(lines) == 0 {
		return o.InvoiceTransitions(id)
	}
	return lines, err
}

// steps are a source that has no lease to give back.
type steps struct{ *store.Steps }

func (s steps) Release(d store.DueTenant) store.HeldTenant {
	return store.HeldTenant{Account: d.Account}
}

// counted are tenants each of which has the earliest time when it is added, or the
// sum that does not fit: one who was churned and is back owes since then, and a charge
// that has failed is not out.
func (r *tenants) counted(t testing.TB, add func(dunning.Account)) {
	make := func(m dunning.Method, amount int64, events func(invoice string) []dunning.Event) {
		id := r.id()
		e := issued(id + "-invoice")
		e.Amount = amount
		add(r.do(t, id, append([]dunning.Event{enrolled(id, m), e}, events(e.Invoice)...)...))
	}
	late := start.Add(10 * 24 * time.Hour)
	make(dunning.Manual, 100, func(string) []dunning.Event {
		return append(ticks(start, late), dunning.Churned{By: dunningBy(dunning.Biller, late)},
			dunning.Reinstated{By: dunningBy(dunning.Host, late)})
	})
	for _, c := range []struct {
		at      time.Time
		outcome statemachine.Outcome // 0: its biller died at the charge
	}{{start, statemachine.Failed}, {start.Add(time.Second), 0}, {start, 0}, {start, statemachine.Unknown}} {
		make(dunning.Stripe, 100, func(invoice string) []dunning.Event {
			by := dunningBy(dunning.Biller, c.at)
			all := []dunning.Event{dunning.ChargeIntended{By: by, Invoice: invoice, Key: invoice + "/0"},
				dunning.ChargeAnswered{By: by, Invoice: invoice, Key: invoice + "/0", Outcome: c.outcome}}
			return all[:map[bool]int{true: 1, false: 2}[c.outcome == 0]]
		})
	}
	make(dunning.Stripe, 100, func(invoice string) (all []dunning.Event) { // never arrives
		for n := range 2 {
			by, key := dunningBy(dunning.Biller, start.Add(time.Duration(n)*time.Hour)), invoice+"/0"
			asked := by.At.Add(time.Hour - time.Second)
			all = append(all, dunning.ChargeIntended{By: by, Invoice: invoice, Key: key}, dunning.ChargeMissing{By: dunningBy(dunning.Biller,
				asked), Invoice: invoice, Key: key, Asked: asked})
		}
		return all
	})
	missedOnce := func(invoice string) []dunning.Event {
		by, asked := dunningBy(dunning.Biller, start), start.Add(time.Hour-time.Second)
		return []dunning.Event{dunning.ChargeIntended{By: by, Invoice: invoice, Key: invoice + "/0"},
			dunning.ChargeMissing{By: dunningBy(dunning.Biller, asked), Invoice: invoice, Key: invoice + "/0", Asked: asked}}
	}
	make(dunning.Stripe, 100, missedOnce)
	make(dunning.Stripe, 100, func(invoice string) []dunning.Event { // it is not made again
		return append(missedOnce(invoice), dunning.MethodSet{By: dunningBy(dunning.Host, start), Method: dunning.Manual})
	})
	make(dunning.Stripe, 100, func(invoice string) []dunning.Event {
		all := append(missedOnce(invoice), dunning.MethodSet{By: dunningBy(dunning.Host, start.Add(time.Hour)), Method: dunning.Manual})
		all = append(all, ticks(start.Add(time.Hour), late)...)
		return append(all, dunning.Churned{By: dunningBy(dunning.Biller, late)},
			dunning.MethodSet{By: dunningBy(dunning.Host, late), Method: dunning.NWC})
	})
	behind := dunning.Ticked{By: dunningBy(dunning.Biller, start.Add(-10*24*time.Hour))} // its date does not count
	make(dunning.Manual, 100, func(string) []dunning.Event { return []dunning.Event{behind} })
	make(dunning.Manual, 100, func(string) []dunning.Event {
		return append(ticks(start, late), dunning.Churned{By: dunningBy(dunning.Biller, late)},
			dunning.Reinstated{By: dunningBy(dunning.Host, late)}, behind)
	})
	make(dunning.Manual, 100, func(invoice string) []dunning.Event { return []dunning.Event{issued(invoice + "-too")} })
	make(dunning.Manual, 1<<63-1000, func(string) []dunning.Event { return nil })
	make(dunning.Manual, 1000, func(string) []dunning.Event { return nil })
}

// readable takes records that cannot be read for an error.
func readable[A any](due []A, unreadable []error, err error) ([]A, error) {
	return due, errors.Join(append(unreadable, err)...)
}

func enrolled(id string, m dunning.Method) dunning.Enrolled {
	return dunning.Enrolled{By: dunningBy(dunning.Host, start), Tenant: id, Method: m}
}

func issued(id string) dunning.Issued {
	return dunning.Issued{By: dunningBy(dunning.Host, start), Invoice: id, Amount: 100}
}

// ticks are the steps of a biller from a time on up to another one, one each hour: with
// longer gaps the age of an invoice would stop.
func ticks(from, to time.Time) (all []dunning.Event) {
	if from.IsZero() {
		return nil
	}
	for from = from.Add(time.Hour); from.Before(to); from = from.Add(time.Hour) {
		all = append(all, dunning.Ticked{By: dunningBy(dunning.Biller, from)})
	}
	return all
}

func tenantStages() []tenantStage {
	owing := func(m dunning.Method) func(string) []dunning.Event {
		return func(id string) []dunning.Event { return []dunning.Event{enrolled(id, m), issued(id + "-invoice")} }
	}
	rivals := func(a *dunning.Account, i int) dunning.Event { return issued(fmt.Sprint(a.Tenant.ID, "-rival-", i)) }
	touch := func(_ *dunning.Account, at time.Time) dunning.Event {
		return dunning.Ticked{By: dunningBy(dunning.Biller, at)}
	}
	return []tenantStage{
		{name: "a tenant who owes nothing", events: func(id string) []dunning.Event { return []dunning.Event{enrolled(id, dunning.NWC)} }, rivals: rivals,
			back: func(*dunning.Account) []dunning.Event {
				by := dunningBy(dunning.Host, start)
				return []dunning.Event{dunning.MethodSet{By: by, Method: dunning.Manual}, dunning.MethodSet{By: by, Method: dunning.NWC}}
			}},
		{name: "a tenant who owes", events: owing(dunning.Manual), rivals: rivals, touch: touch},
		{name: "a tenant who is charged", rivals: rivals, touch: touch, events: func(id string) []dunning.Event {
			return append(owing(dunning.Stripe)(id), dunning.ChargeIntended{By: dunningBy(dunning.Biller, start), Invoice: id + "-invoice", Key: id + "-invoice/0"})
		}},
		{name: "a tenant who is churned", rivals: rivals, events: func(id string) []dunning.Event {
			week := start.Add(7 * 24 * time.Hour)
			return append(append(owing(dunning.Manual)(id), ticks(start, week)...), dunning.Churned{By: dunningBy(dunning.Biller, week)})
		}},
	}
}

package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

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
		held:  r.service.DoHeld,
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
			states: slices.Concat(unfinished(dunning.InvoiceMachine), unfinished(dunning.TenantMachine,
				dunning.TenantActive, dunning.TenantChurned)),
			rests: func(a *dunning.Account) bool { return a.Tenant.Status() == dunning.TenantChurned }, // until somebody reinstates
			until: func(*dunning.Account) time.Duration { return dunning.DefaultThresholds().OwedFor },
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
		source: func(name string) source { return sourceOf(steps{r.service.Work(name)}) },
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
			next: func(tx store.TenantUnit, now time.Time) (time.Time, error) { return tx.Tenants().NextDue(now) },
			ahead: func(tx store.TenantUnit, later time.Time, limit int) ([]dunning.Account, error) {
				return readable(tx.Tenants().Overslept(later, limit))
			},
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
type steps struct{ *store.TenantWork }

func (s steps) Release(d store.DueTenant) store.HeldTenant {
	return store.HeldTenant{Account: d.Account}
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
		all = append(all, dunning.StepBegun{By: dunningBy(dunning.Biller, from)})
	}
	return all
}

func tenantStages() []tenantStage {
	owing := func(m dunning.Method) func(string) []dunning.Event {
		return func(id string) []dunning.Event { return []dunning.Event{enrolled(id, m), issued(id + "-invoice")} }
	}
	rivals := func(a *dunning.Account, i int) dunning.Event { return issued(fmt.Sprint(a.Tenant.ID, "-rival-", i)) }
	touch := func(_ *dunning.Account, at time.Time) dunning.Event {
		return dunning.StepBegun{By: dunningBy(dunning.Biller, at)}
	}
	return []tenantStage{
		{name: "a tenant who owes nothing", events: func(id string) []dunning.Event {
			return []dunning.Event{enrolled(id,
				dunning.NWC)}
		}, rivals: rivals,
			back: func(*dunning.Account) []dunning.Event {
				by := dunningBy(dunning.Host, start)
				return []dunning.Event{dunning.MethodSet{By: by, Method: dunning.Manual}, dunning.MethodSet{By: by, Method: dunning.NWC}}
			}},
		{name: "a tenant who owes", events: owing(dunning.Manual), rivals: rivals, touch: touch},
		{name: "a tenant who is charged", rivals: rivals, touch: touch, events: func(id string) []dunning.Event {
			return append(owing(dunning.Stripe)(id), dunning.ChargeIntended{By: dunningBy(dunning.Biller, start),
				Invoice: id + "-invoice", Key: id + "-invoice/0"})
		}},
		{name: "a tenant who is churned", rivals: rivals, events: func(id string) []dunning.Event {
			week := start.Add(7 * 24 * time.Hour)
			return append(append(owing(dunning.Manual)(id), ticks(start, week)...), dunning.Churned{By: dunningBy(dunning.Biller, week)})
		}},
	}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store/worker"
)

// Tenants runs the rules of package dunning on a store: load, apply, save. Each method is one transaction. A churn
// deactivates every active relay of the tenant in its own commit. A host that makes or activates a relay sends
// [dunning.Provisioned] in the same transaction, see [Tenants.Within]: then no churn misses the relay, and a churned
// tenant gets none. Tenants is safe for concurrent use.
//
// Commands and times are as with [Relays].
type Tenants struct {
	tenantCore
	policy dunning.Policy
}

type (
	tenantCore      = core[TenantUnit, string, string, dunning.Account, dunning.Event, dunning.Change]
	tenantBatch     = batch[TenantUnit, string, string, dunning.Account, dunning.Event, dunning.Change]
	tenantCommand   = command[string, dunning.Account, dunning.Event]
	tenantAggregate = aggregate[TenantUnit, string, string, dunning.Account, dunning.Event, dunning.Change]
)

// NewTenants returns the service for a store of any transaction type that has tenants and relays. Subscribers of relays
// hear of the relays that a churn deactivates. If relays is nil, or [dunning.Policy.Validate] refuses the policy,
// NewTenants returns [statemachine.ErrInvalid].
func NewTenants[T TenantUnit](s Store[T], relays *Relays, p dunning.Policy) (*Tenants, error) {
	if err := errors.Join(p.Validate(), lacks(s, DomainRelays)); err != nil {
		return nil, err
	}
	if relays == nil {
		return nil, fmt.Errorf("%w: tenants need the service of their relays", statemachine.ErrInvalid)
	}
	t := &Tenants{newCore(s, aggregateOfTenants(&p, relays), func(tx T) TenantUnit { return tx }), p}
	t.update = heard(t.update, relays.news, func(tx TenantUnit, news *[]RelayNews) TenantUnit { return heardTenants{tx, news} })
	return t, nil
}

type heardTenants struct {
	TenantUnit
	news *[]RelayNews
}

func (h heardTenants) Relays() RelayRecords { return heardSaves{h.TenantUnit.Relays(), h.news} }

func aggregateOfTenants(p *dunning.Policy, relays *Relays) *tenantAggregate {
	return &tenantAggregate{
		domain:   DomainRelays,
		workers:  "tenants",
		policy:   p,
		records:  func(tx TenantUnit) records[string, string, dunning.Account, dunning.Change] { return tx.Tenants() },
		machines: []machine[string]{machineOf[string](dunning.TenantMachine), machineOf[string](dunning.InvoiceMachine)},
		id:       func(a *dunning.Account) string { return a.Tenant.ID },
		exists:   func(a *dunning.Account) bool { return a.Tenant.Version != 0 },
		states: func(a *dunning.Account) []state[string] {
			all := []state[string]{{dunning.TenantMachine.Name(), a.Tenant.ID, a.Tenant.Version, a.Tenant.Status().String()}}
			for k := range a.Invoices {
				i := &a.Invoices[k]
				all = append(all, state[string]{dunning.InvoiceMachine.Name(), i.ID, i.Version, i.Status().String()})
			}
			return all
		},
		creates: func(ev dunning.Event) (string, bool) {
			e, ok := ev.(dunning.Enrolled)
			return e.Tenant, ok
		},
		apply:  p.ApplyAt,
		result: func(c *dunning.Change) *dunning.Account { return &c.New },
		empty:  (*dunning.Change).Empty,
		merge:  (*dunning.Change).Merge,
		owner:  func(tx TenantUnit, _ string, invoice string) (string, error) { return tx.Tenants().TenantOf(invoice) },
		beside: func(b *tenantBatch) beside[dunning.Account, dunning.Event, dunning.Change] {
			return &churns{tenantBatch: b, relays: relays}
		},
	}
}

// churns deactivates the relays of a tenant that is churned.
type churns struct {
	*tenantBatch
	relays  *Relays
	charges asked
}

// fill asks the switch, and finds out whose the id of a new invoice is.
func (c *churns) fill(a *dunning.Account, ev dunning.Event) (_ dunning.Event, err error) {
	a.Level, a.RecoveredAt = 0, time.Time{}
	switch ev.(type) {
	case dunning.StepBegun, dunning.ChargeIntended, dunning.NoticeIntended, dunning.Churned, dunning.LookedBack:
		is, err := c.charges.state(c.tx, switches.Charges)
		a.Charging(is, c.now)
		return ev, err
	}
	e, ok := ev.(dunning.Issued)
	if !ok || a.Invoice(e.Invoice) != nil {
		return ev, nil
	}
	taken, err := c.tx.Tenants().TenantOf(e.Invoice)
	if errors.Is(err, statemachine.ErrNotFound) {
		err = nil
	}
	e.Taken = taken
	return e, err
}

func (c *churns) follow(change *dunning.Change) error {
	if !change.Churned() {
		return nil
	}
	line := change.Log[0]
	by := relaysync.By{Actor: line.Actor, Role: relaysync.Biller, At: line.At}
	b, err := c.relays.batch(c.tx)
	if err != nil {
		return err
	}
	for after := ""; ; {
		ids, err := c.tx.Relays().List(change.New.Tenant.ID, after, MaxPage)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return b.save() // all of them, once none was refused
		}
		after = ids[len(ids)-1]
		all, err := c.tx.Relays().Get(ids...)
		if err != nil {
			return err
		}
		for i := range all {
			if ev, serves := all[i].Churned(by); serves {
				if err := b.step(&all[i], all[i].Relay.ID, ev); err != nil {
					return err
				}
			}
		}
	}
}

// Within returns the service inside a transaction that the caller has begun and
// will end.
func (s *Tenants) Within(tx TenantUnit) *Tenants { return &Tenants{s.within(tx), s.policy} }

// Policy returns the policy of the service.
func (s *Tenants) Policy() dunning.Policy { return s.policy }

// HeldTenant is one or more events, in order, for an aggregate that the caller
// has from an earlier call.
type HeldTenant struct {
	Account dunning.Account
	Events  []dunning.Event
}

// Enroll makes a tenant: see [dunning.Enrolled].
func (s *Tenants) Enroll(ctx context.Context, ev dunning.Enrolled) (dunning.Account, error) {
	return s.Do(ctx, ev.Tenant, ev)
}

// Do sends events to a tenant, in order, and returns the account as it is stored
// afterwards. An error of one event changes nothing at all. Enrolled makes a
// tenant; any other event for an unknown one is [statemachine.ErrNotFound].
func (s *Tenants) Do(ctx context.Context, tenant string, events ...dunning.Event) (dunning.Account, error) {
	return only(s.do(ctx, []tenantCommand{{id: tenant, events: events}}))
}

// DoHeld is [Tenants.Do] for an account that the caller still has, as [Relays.DoHeld]
// is for a relay: the versions of the tenant and of each invoice are compared.
func (s *Tenants) DoHeld(ctx context.Context, a dunning.Account, events ...dunning.Event) (dunning.Account, error) {
	return only(s.held(ctx, []tenantCommand{{held: &a, events: events}}, true, nil))
}

// Get returns a tenant with its invoices, [statemachine.ErrNotFound] for an
// unknown one.
func (s *Tenants) Get(ctx context.Context, tenant string) (dunning.Account, error) {
	return read(ctx, s.view, func(tx TenantUnit) (dunning.Account, error) { return s.get(tx, tenant) })
}

// List pages through the ids of tenants in byte order, behind an id.
func (s *Tenants) List(ctx context.Context, after string, limit int) ([]string, error) {
	return read(ctx, s.view, func(tx TenantUnit) ([]string, error) { return tx.Tenants().List(after, limit) })
}

// Reconcile looks at up to limit tenants behind an id, and sends StepBegun to those whose next step was put off too far
// by a clock that was ahead, see [dunning.Policy.Overslept]. It returns the last id that it looked at, empty at the
// end. [TenantWork] does so by itself.
func (s *Tenants) Reconcile(ctx context.Context, by dunning.By, after string, limit int) (last string,
	changed []dunning.Account, refused, err error) {
	return s.sweepPage(ctx, func(tx TenantUnit) ([]string, error) { return tx.Tenants().List(after, limit) },
		func(a *dunning.Account, now time.Time) bool { return s.policy.Overslept(&a.Tenant, now) }, dunning.StepBegun{By: by})
}

// Next says what a tenant owes now, see [dunning.Policy.Next]; Due is on the store's clock.
func (s *Tenants) Next(ctx context.Context, tenant string) (step dunning.Step, now time.Time, err error) {
	return next(ctx, &s.tenantCore, tenant, func(tx TenantUnit, a dunning.Account, now time.Time) (dunning.Step, error) {
		state, err := tx.Switches().Ask(switches.Charges)
		a.Charging(state, now)
		return s.policy.Next(a, now), err
	})
}

// ByCause groups up to [MaxPage] tenants, of which a list gave the ids, by what they wait for now, as
// [dunning.Policy.ByCause] does, with what the switch of charges says. See [Relays.ByCause].
func (s *Tenants) ByCause(ctx context.Context, ids ...string) ([]statemachine.Caused[dunning.Cause], error) {
	return byCause(ctx, &s.tenantCore, ids, func(tx TenantUnit, now time.Time) (func(*dunning.Account) error, error) {
		state, err := tx.Switches().Ask(switches.Charges)
		return func(a *dunning.Account) error { a.Charging(state, now); return nil }, err
	}, s.policy.ByCause)
}

// ForOperator pages through the ids of the tenants that a person must look at, in
// byte order, behind an id, see [dunning.Tenant.NeedsOperator].
func (s *Tenants) ForOperator(ctx context.Context, after string, limit int) ([]string, error) {
	return readNow(ctx, s.view, func(tx TenantUnit, now time.Time) ([]string, error) {
		return tx.Tenants().ForOperator(now, after, limit)
	})
}

// Trail returns the audit trail of a tenant, oldest first, after replaying it
// through the table.
func (s *Tenants) Trail(ctx context.Context, tenant string) ([]statemachine.Transition[string], error) {
	return s.trail(ctx, tenant)
}

// Verify is [Tenants.Trail] for its check alone.
func (s *Tenants) Verify(ctx context.Context, tenant string) error {
	_, err := s.trail(ctx, tenant)
	return err
}

// InvoiceTrail is [Tenants.Trail] of an invoice, which may have a tenant's id.
func (s *Tenants) InvoiceTrail(ctx context.Context, invoice string) ([]statemachine.Transition[string], error) {
	of := *s.of
	of.records = func(tx TenantUnit) records[string, string, dunning.Account, dunning.Change] {
		return invoiceTrails{tx.Tenants()}
	}
	c := s.tenantCore
	c.of = &of
	return c.trail(ctx, invoice)
}

// invoiceTrails are the records of tenants by the trails of their invoices.
type invoiceTrails struct{ TenantRecords }

func (r invoiceTrails) Transitions(invoice string) ([]statemachine.Transition[string], error) {
	return r.InvoiceTransitions(invoice)
}

// Audit checks the invariants of a page of accounts, see [dunning.Check], behind
// an id, as [Relays.Audit] does.
func (s *Tenants) Audit(ctx context.Context, after string, limit int) (last string, err error) {
	return s.audit(ctx, func(tx TenantUnit) ([]string, error) { return tx.Tenants().List(after, limit) }, dunning.Check)
}

// Follow returns up to limit committed transitions of tenants and invoices after
// a cursor, and the cursor to go on with, see [Feed].
func (s *Tenants) Follow(ctx context.Context, after Cursor, limit int) (page []statemachine.Transition[string], next Cursor, err error) {
	return s.follow(ctx, after, limit)
}

// Head returns the cursor after the newest transition.
func (s *Tenants) Head(ctx context.Context) (Cursor, error) { return s.head(ctx) }

// Stats counts at the store's time.
func (s *Tenants) Stats(ctx context.Context) (dunning.Stats, error) {
	return readNow(ctx, s.view, func(tx TenantUnit, now time.Time) (dunning.Stats, error) { return tx.Tenants().Stats(now) })
}

// Alerts counts and compares with limits, see [dunning.Alerts].
func (s *Tenants) Alerts(ctx context.Context, limits dunning.Thresholds) ([]statemachine.Alert, error) {
	stats, err := s.Stats(ctx)
	if err != nil {
		return nil, err
	}
	return dunning.Alerts(stats, limits), nil
}

// TenantWork is the work of a biller for [worker.Run]: tenants for whom something is due, or whose step a clock that
// was ahead has put off too far. A claim puts each tenant off by [dunning.Policy.Hold], so that no other process begins
// the step too. Work holds the store's time of its claim. The handler takes [dunning.Policy.Next] at that time, stores
// an intent with [Tenants.DoHeld] before its effect and the answer with [Tenants.Do] after it, and goes on until
// nothing is owed or its context is done. Then it sends nothing any more, since another process may have the tenant. If
// an intent is refused the handler returns: the tenant is due again at once, or at the end of [dunning.Policy].Hold.
//
// Each process, and each run of one, has a name of its own: an intent belongs to its actor, who may repeat it after a
// lost answer. Two processes of one name would take each other's intent for their own, and both would charge and write.
type TenantWork struct {
	*Tenants
	holder
	unreadable
}

// DueTenant is a tenant for whom something was due at a time.
type DueTenant struct {
	Account dunning.Account
	At      time.Time // the store's
}

// Work returns the work of the biller of this name.
func (s *Tenants) Work(name string) *TenantWork {
	return &TenantWork{Tenants: s, holder: holder{name: name}}
}

// By is who speaks in this work.
func (w *TenantWork) By() dunning.By { return dunning.By{Actor: w.name, Role: dunning.Biller} }

// ShortestLease implements [worker.Source].
func (w *TenantWork) ShortestLease() time.Duration { return w.policy.Hold }

// Turn implements [worker.Source]. A result has nothing to store but what is
// left of its events.
func (w *TenantWork) Turn(ctx context.Context, done []HeldTenant, n int) ([]worker.Item[DueTenant], time.Time, error) {
	commands := mapped(done, func(h *HeldTenant) tenantCommand { return tenantCommand{held: &h.Account, events: h.Events} })
	all, next, err := items(ctx, &w.tenantCore, w.holder, commands, n, func(b *tenantBatch) ([]worker.Item[DueTenant], time.Duration, error) {
		ticked, wait, err := claim(b, claims[dunning.Account, dunning.Event, DueTenant]{
			due: func() ([]dunning.Account, error) {
				w.found = nil
				return dueAndAhead(func(ahead time.Time, limit int) (due []dunning.Account, err error) {
					var unreadable []error
					if ahead.IsZero() {
						due, unreadable, err = b.tx.Tenants().Due(b.now, limit)
					} else {
						due, unreadable, err = b.tx.Tenants().Overslept(ahead, limit)
					}
					w.found = append(w.found, unreadable...)
					return due, err
				}, w.policy.LatestDue(b.now), n)
			},
			next:  func() (time.Time, error) { return b.tx.Tenants().NextDue(b.now) },
			claim: dunning.StepBegun{By: w.By()}, lease: w.policy.Hold, most: w.policy.Tick, saved: true,
			item: func(a *dunning.Account, _ time.Time) (string, DueTenant) { return a.Tenant.ID, DueTenant{*a, b.now} },
		}, n)
		owesNothing := func(i worker.Item[DueTenant]) bool { return w.policy.Next(i.Work.Account, b.now).Action == nil }
		return slices.DeleteFunc(ticked, owesNothing), wait, err
	})
	if err == nil {
		w.tell()
	}
	return all, next, err
}

// Release implements [worker.Source]. A step that was not started needs no result: the tenant is
// due again after [dunning.Policy].Hold.
func (w *TenantWork) Release(d DueTenant) HeldTenant { return HeldTenant{Account: d.Account} }

// Panicked implements [worker.Source], as Release does: nothing was learnt, and what an intent
// has begun is looked up.
func (w *TenantWork) Panicked(d DueTenant, _ any) HeldTenant { return w.Release(d) }

// Renew puts the steps off once more. An intent is not put off: its handler has
// until [dunning.Policy.Ends], that of a look-up as long as it needs.
func (w *TenantWork) Renew(ctx context.Context, items []worker.Item[DueTenant]) error {
	for i := range items {
		err := w.update(ctx, func(tx TenantUnit) error {
			b, err := w.batch(tx)
			if err != nil {
				return err
			}
			a, err := w.get(tx, items[i].Key)
			if err == nil {
				err = b.step(&a, items[i].Key, dunning.StepBegun{By: w.By()})
			}
			if err != nil {
				return err
			}
			items[i].Until = b.began.Add(w.policy.Hold)
			do := w.policy.Next(a, b.now).Action
			if at := w.policy.Ends(&a); !at.IsZero() && (do == nil || do.Do != dunning.DoLookUp) {
				items[i].Until = b.began.Add(min(w.policy.Hold, at.Sub(b.now)))
			}
			return b.save()
		})
		if err != nil {
			return fmt.Errorf("tenant %s: %w", items[i].Key, err)
		}
	}
	return nil
}

package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Refreshes runs the rules of package refresh on a store: lock the wallet, load what the event
// needs, apply, save. Each method is one transaction. It is safe for concurrent use. Events have
// the store's time.
type Refreshes struct {
	refreshCore
	policy refresh.Policy
	late   *late // nil within a transaction
}

type (
	refreshCore  = core[RefreshUnit, string, uuid.UUID, refresh.Work, refresh.Event, refresh.Change]
	refreshBatch = batch[RefreshUnit, string, uuid.UUID, refresh.Work, refresh.Event, refresh.Change]
)

// NewRefreshes returns the service for a store of any transaction type that has
// refreshes. A policy that [refresh.Policy.Validate] refuses is
// [statemachine.ErrInvalid].
func NewRefreshes[T RefreshUnit](s Store[T], c refresh.Policy) (*Refreshes, error) {
	if err := errors.Join(c.Validate(), lacks(s, DomainRefreshes)); err != nil {
		return nil, err
	}
	return &Refreshes{newCore(s, refreshAggregate(&c), func(tx T) RefreshUnit { return tx }), c, new(late)}, nil
}

// refreshAggregate is the domain as the core sees it.
func refreshAggregate(c *refresh.Policy) *aggregate[RefreshUnit, string, uuid.UUID, refresh.Work, refresh.Event, refresh.Change] {
	return &aggregate[RefreshUnit, string, uuid.UUID, refresh.Work, refresh.Event, refresh.Change]{
		domain:  DomainRefreshes,
		workers: "refreshes",
		policy:  c,
		records: func(tx RefreshUnit) records[string, uuid.UUID, refresh.Work, refresh.Change] { return tx.Refreshes() },
		machines: []machine[uuid.UUID]{machineOf[uuid.UUID](refresh.WalletMachine), machineOf[uuid.UUID](refresh.JobMachine),
			machineOf[uuid.UUID](refresh.WatcherMachine)},
		id:     func(w *refresh.Work) string { return w.Wallet.XpubVan },
		exists: func(w *refresh.Work) bool { return w.Wallet.Status != 0 },
		states: refreshStates,
		find:   func(tx RefreshUnit, id uuid.UUID) (refresh.Work, error) { return tx.Refreshes().Find(id) },
		creates: func(ev refresh.Event) (string, bool) {
			e, ok := ev.(refresh.Enqueued)
			return e.XpubVan, ok
		},
		apply:  c.ApplyAt,
		result: func(c *refresh.Change) *refresh.Work { return &c.New },
		empty:  (*refresh.Change).Empty,
		beside: func(b *refreshBatch) beside[refresh.Work, refresh.Event, refresh.Change] {
			return &refreshReads{refreshBatch: b, policy: c}
		},
	}
}

func refreshStates(w *refresh.Work) []state[uuid.UUID] {
	all := []state[uuid.UUID]{{refresh.WalletMachine.Name(), w.Wallet.ID(), w.Wallet.Version, w.Wallet.Status.String()}}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		all = append(all, state[uuid.UUID]{refresh.JobMachine.Name(), j.ID, j.Version, j.Status.String()})
	}
	for i := range w.Watchers {
		watcher := &w.Watchers[i]
		all = append(all, state[uuid.UUID]{refresh.WatcherMachine.Name(), watcher.ID(), watcher.Version, watcher.Status.String()})
	}
	return all
}

// refreshReads loads what [refresh.Needs] says, and draws fences of locks.
type refreshReads struct {
	*refreshBatch
	policy   *refresh.Policy
	switched asked
}

func (b *refreshReads) fill(w *refresh.Work, ev refresh.Event) (refresh.Event, error) {
	w.RestoredAt = time.Time{}
	switch ev.(type) {
	case refresh.SlotClaimed, refresh.Locked:
		is, err := b.switched.state(b.tx, switches.Everything)
		if w.RestoredAt = is.RestoredAt; err != nil {
			return ev, err
		}
	}
	if err := b.save(); err != nil {
		return ev, err
	}
	records := b.tx.Refreshes()
	of := *w
	if e, ok := ev.(refresh.Enqueued); ok {
		of.Wallet.XpubVan = e.XpubVan // perhaps its first
	}
	if err := records.Load(&of, refresh.Needs(ev), b.now); err != nil {
		return ev, err
	}
	w.Jobs, w.Watchers = of.Jobs, of.Watchers
	if !b.policy.TakesLock(*w, ev, b.now) {
		return refresh.WithFence(ev, 0), nil
	}
	fence, err := records.NextFence()
	return refresh.WithFence(ev, fence), err
}

// follow moves the ends of leases that a step moved, which a save does not.
func (b *refreshReads) follow(c *refresh.Change) error {
	held, until := c.MovedLeases()
	if len(held) == 0 {
		return nil
	}
	leases := make([]RefreshLease, len(held))
	for i := range held {
		leases[i] = RefreshLease{c.New.Wallet.XpubVan, held[i]}
	}
	_, err := b.tx.Refreshes().Renew(b.now, until, leases...)
	return err // one that is lost meanwhile is refused by the save
}

// Within returns the service inside a transaction that the caller has begun
// and will end; its methods then commit nothing themselves.
func (s *Refreshes) Within(tx RefreshUnit) *Refreshes { return &Refreshes{s.within(tx), s.policy, nil} }

// Policy returns the policy of the service.
func (s *Refreshes) Policy() refresh.Policy { return s.policy }

// Step sends one event to a wallet and returns the change that was stored. Fences
// of locks are drawn here. Enqueued creates a wallet that does not exist; any
// other event for one is [statemachine.ErrNotFound].
func (s *Refreshes) Step(ctx context.Context, xpub string, ev refresh.Event) (refresh.Change, error) {
	var c refresh.Change
	err := s.update(ctx, func(tx RefreshUnit) (err error) {
		c, err = s.step(tx, xpub, ev)
		return err
	})
	if err != nil {
		return refresh.Change{}, err
	}
	return c, nil
}

// unsaid keeps that events were refused with err before any of them was judged.
func (s *Refreshes) unsaid(tx RefreshUnit, xpub string, events []refresh.Event, err error) error {
	return keep(tx, time.Time{}, s.lines([]command[string, refresh.Work, refresh.Event]{{id: xpub, events: events}}), err)
}

func (s *Refreshes) step(tx RefreshUnit, xpub string, ev refresh.Event) (refresh.Change, error) {
	ws, err := tx.Refreshes().Heads(xpub)
	if err != nil {
		return refresh.Change{}, s.unsaid(tx, xpub, []refresh.Event{ev}, err)
	}
	b, err := s.batch(tx)
	if err != nil {
		return refresh.Change{}, err
	}
	if err := b.step(&ws[0], xpub, ev); err != nil {
		return refresh.Change{}, err
	}
	return b.last, b.save()
}

// Do sends events to a wallet, in order, and returns the wallet as it is stored afterwards. If
// one event fails, nothing is changed.
func (s *Refreshes) Do(ctx context.Context, xpub string, events ...refresh.Event) (w refresh.Work, err error) {
	err = s.update(ctx, func(tx RefreshUnit) error {
		for i, ev := range events {
			if _, err := s.step(tx, xpub, ev); err != nil {
				return s.unsaid(tx, xpub, events[i+1:], err)
			}
		}
		w, err = s.get(tx, xpub)
		return err
	})
	if err != nil {
		return refresh.Work{}, err
	}
	return w, nil
}

// Get returns a wallet with its lock and the latest of its jobs and watchers.
func (s *Refreshes) Get(ctx context.Context, xpub string) (refresh.Work, error) {
	return read(ctx, s.view, func(tx RefreshUnit) (refresh.Work, error) { return s.get(tx, xpub) })
}

// Enqueue makes a job and returns its id, or the id of the job that takes its place. A zero Job
// gets a new id, so each such call asks for another job.
func (s *Refreshes) Enqueue(ctx context.Context, ev refresh.Enqueued) (uuid.UUID, error) {
	if ev.Job == uuid.Nil {
		ev.Job = uuid.New()
	}
	c, err := s.Step(ctx, ev.XpubVan, ev)
	return c.Job, err
}

// Recover makes the recovery jobs of a start, for up to limit wallets after the cursor after. It
// returns the cursor to go on from; empty at the end. A second call adds no job while the first
// ones are pending or processing.
func (s *Refreshes) Recover(ctx context.Context, by refresh.By, after string, limit int) (jobs []uuid.UUID, next string, err error) {
	all, next, err := s.each(ctx, after, limit, func(r RefreshRecords, now time.Time) ([]string, error) {
		return r.Recoverable(now, after, limit)
	}, func() refresh.Event { return refresh.Recovering{By: by, Job: uuid.New()} })
	for i := range all {
		jobs = append(jobs, all[i].Job)
	}
	return jobs, next, err
}

// Reconcile brings back times that a store's clock which was ahead has left, see
// [refresh.Reconciled], for up to limit wallets after the cursor after. It returns how many
// wallets it changed and the cursor to go on from, also after an error; empty at the end.
func (s *Refreshes) Reconcile(ctx context.Context, by refresh.By, after string, limit int) (n int, next string, err error) {
	all, next, err := s.each(ctx, after, limit, func(r RefreshRecords, now time.Time) ([]string, error) {
		return r.Ahead(s.policy.Latest(now), after, limit)
	}, func() refresh.Event { return refresh.Reconciled{By: by} })
	return len(all), next, err
}

// each sends an event to a page of wallets. It returns what changed and the cursor behind the
// page; empty at the end. After an error, such as for a wallet that cannot be read, nothing has
// changed, but the cursor is returned all the same.
func (s *Refreshes) each(ctx context.Context, after string, limit int, find func(RefreshRecords, time.Time) ([]string, error),
	ev func() refresh.Event) (changed []refresh.Change, next string, err error) {
	if err := CheckLimit(limit); err != nil {
		return nil, "", err
	}
	err = s.update(ctx, func(tx RefreshUnit) error {
		changed, next = nil, ""
		now, err := tx.Now()
		if err != nil {
			return err
		}
		xpubs, err := find(tx.Refreshes(), now)
		if err != nil || len(xpubs) == 0 {
			return err
		}
		if len(xpubs) == limit {
			next = xpubs[limit-1]
		}
		ws, err := tx.Refreshes().Heads(xpubs...)
		if err != nil {
			return err
		}
		b, err := s.batch(tx)
		if err != nil {
			return err
		}
		for i, xpub := range xpubs {
			if err := b.step(&ws[i], xpub, ev()); err != nil {
				return err
			}
			if !b.last.Empty() {
				changed = append(changed, b.last)
			}
		}
		return b.save()
	})
	if err != nil {
		return nil, next, err
	}
	return changed, next, nil
}

// Revoke gives back at once the slots, jobs and locks that a process holds, see
// [Withdrawals.Revoke].
func (s *Refreshes) Revoke(ctx context.Context, by refresh.By, of statemachine.Revocation) (n int, err error) {
	if err := of.Check(by.Actor, by.Role == refresh.Worker); err != nil {
		return 0, s.unheard(ctx, of.Holder, refresh.Revoked{By: by, Revocation: of}, err)
	}
	xpubs := func(tx RefreshUnit, after string, limit int) ([]string, error) {
		return tx.Refreshes().HeldBy(of.Holder, after, limit)
	}
	heads := func(tx RefreshUnit, xpubs ...string) ([]refresh.Work, error) { return tx.Refreshes().Heads(xpubs...) }
	return s.revoke(ctx, s.heldBy(xpubs, heads), refresh.Revoked{By: by, Revocation: of})
}

// Trail returns the audit trail of a wallet ([refresh.WalletID]), a job or a watcher
// ([refresh.WatcherID]), oldest first. It first replays the trail through its table and compares
// the end with the stored record.
func (s *Refreshes) Trail(ctx context.Context, id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return s.trail(ctx, id)
}

// Verify is [Refreshes.Trail] for its check alone.
func (s *Refreshes) Verify(ctx context.Context, id uuid.UUID) error {
	_, err := s.Trail(ctx, id)
	return err
}

// Follow returns up to limit committed transitions after a cursor, see [Feed].
func (s *Refreshes) Follow(ctx context.Context, after Cursor, limit int) ([]statemachine.Transition[uuid.UUID], Cursor, error) {
	return s.follow(ctx, after, limit)
}

// Head returns the cursor after the newest transition, see [Feed].
func (s *Refreshes) Head(ctx context.Context) (Cursor, error) { return s.head(ctx) }

// Audit checks up to limit wallets after the cursor after. It returns everything that is wrong,
// and the cursor to go on from; empty at the end.
func (s *Refreshes) Audit(ctx context.Context, after string, limit int) (next string, err error) {
	if err := CheckLimit(limit); err != nil {
		return "", err
	}
	_, err = s.audit(ctx, func(tx RefreshUnit) ([]string, error) {
		xpubs, err := tx.Refreshes().Wallets(after, limit)
		next = ""
		if len(xpubs) == limit {
			next = xpubs[limit-1]
		}
		return xpubs, err
	}, refresh.Check)
	return next, err
}

// Jobs lists, see [RefreshRecords].
func (s *Refreshes) Jobs(ctx context.Context, status refresh.JobStatus, after *refresh.Job, limit int) ([]refresh.Job, error) {
	return read(ctx, s.view, func(tx RefreshUnit) ([]refresh.Job, error) {
		return tx.Refreshes().Jobs(status, after, limit)
	})
}

// Watchers lists, see [RefreshRecords]: [refresh.EndOpen] are an operator's.
func (s *Refreshes) Watchers(ctx context.Context, reason refresh.EndReason, after *refresh.Watcher, limit int) ([]refresh.Watcher, error) {
	return read(ctx, s.view, func(tx RefreshUnit) ([]refresh.Watcher, error) {
		return tx.Refreshes().Watchers(reason, after, limit)
	})
}

// Stats counts at the store's time. It adds the jobs that [Refreshes.EnqueueLogged] of this
// service still has to store.
func (s *Refreshes) Stats(ctx context.Context) (refresh.Stats, error) {
	stats, err := readNow(ctx, s.view, func(tx RefreshUnit, now time.Time) (refresh.Stats, error) { return tx.Refreshes().Stats(now) })
	s.late.count(&stats)
	return stats, err
}

// Alerts counts and compares with limits, see [refresh.Alerts].
func (s *Refreshes) Alerts(ctx context.Context, limits refresh.Thresholds) ([]statemachine.Alert, error) {
	stats, err := s.Stats(ctx)
	if err != nil {
		return nil, err
	}
	return refresh.Alerts(stats, limits), nil
}

// Sweep deletes up to limit locks that have ended, and returns how many.
func (s *Refreshes) Sweep(ctx context.Context, limit int) (n int, err error) {
	return readNow(ctx, s.update, func(tx RefreshUnit, now time.Time) (int, error) { return tx.Refreshes().Sweep(now, limit) })
}

// Next says what the worker of a wallet does next, see [refresh.Policy.Next], and the store's time.
func (s *Refreshes) Next(ctx context.Context, xpub string) (step refresh.Step, now time.Time, err error) {
	step, _, now, err = s.Owed(ctx, xpub)
	return step, now, err
}

// Owed is [Refreshes.Next], and returns the wallet as it was read for this too.
func (s *Refreshes) Owed(ctx context.Context, xpub string) (step refresh.Step, w refresh.Work, now time.Time, err error) {
	err = s.view(ctx, func(tx RefreshUnit) error {
		if now, err = tx.Now(); err != nil {
			return err
		}
		ws, err := tx.Refreshes().Heads(xpub)
		if err != nil {
			return err
		}
		w = ws[0]
		if w.Wallet.Status == 0 {
			return s.of.noRecord(xpub, "")
		}
		step, err = s.owed(tx, &w, now)
		return err
	})
	return step, w, now, err
}

// owed loads what the rules of [refresh.Policy.Next] ask of a wallet, and returns what they say.
func (s *Refreshes) owed(tx RefreshUnit, w *refresh.Work, now time.Time) (step refresh.Step, err error) {
	for _, r := range refresh.NextReads() {
		if err := tx.Refreshes().Load(w, r, now); err != nil {
			return step, err
		}
		if step = s.policy.Next(*w, now); !step.Idle {
			break
		}
	}
	return step, nil
}

// ByCause groups up to [MaxPage] wallets, such as those of a page of [Refreshes.Jobs], each named once, by what they
// wait for now, as [refresh.Policy.ByCause] does. See [Relays.ByCause].
func (s *Refreshes) ByCause(ctx context.Context, xpubs ...string) ([]statemachine.Caused[refresh.WaitCause], error) {
	return byCause(ctx, &s.refreshCore, xpubs, func(tx RefreshUnit, now time.Time) (func(*refresh.Work) error, error) {
		return func(w *refresh.Work) error {
			_, err := s.owed(tx, w, now)
			return err
		}, nil
	}, s.policy.ByCause)
}

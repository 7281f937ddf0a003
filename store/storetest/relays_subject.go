package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// subject says how to make relays, for the rules of any versioned record.
func (r *relays) subject(s store.Store[store.RelayUnit]) *relaySubject {
	return &relaySubject{
		Store:   s,
		service: r.service,
		within: func(tx store.RelayUnit) service[string, string, relaysync.Sync, relaysync.Event] {
			return r.service.Within(tx)
		},
		records: func(tx store.RelayUnit) records[string, string, relaysync.Sync, relaysync.Change] { return tx.Relays() },
		held:    r.service.Held,
		apply:   r.service.Policy().Apply,
		check:   relaysync.Check,
		states: func(s *relaysync.Sync) (all []stored[string]) {
			if s.Relay.Version > 0 {
				all = append(all, stored[string]{s.Relay.ID, s.Relay.Version, s.Phase().String()})
			}
			return all
		},
		newID:  r.id,
		id:     func(s *relaysync.Sync) string { return s.Relay.ID },
		stages: relayStages(),
		outside: map[string]func(*relaysync.Sync){
			"holder": func(s *relaysync.Sync) { s.Timer.Lease.Holder += "x" },
			"fence":  func(s *relaysync.Sync) { s.Timer.Lease.Fence-- },
			"fence and holder": func(s *relaysync.Sync) {
				s.Timer.Lease.Fence--
				s.Timer.Lease.Holder += "x"
			},
		},
		lease: func(s *relaysync.Sync) *statemachine.Lease { return &s.Timer.Lease },
		renew: func(tx store.RelayUnit, now time.Time, s *relaysync.Sync, fence int64, until time.Time) (bool, error) {
			lost, err := tx.Relays().Renew(now, store.RelayLease{Relay: s.Relay.ID, Fence: fence, Until: until})
			return len(lost) > 0, err
		},
		revoke: func(ctx context.Context, of statemachine.Revocation) (int, error) {
			return r.service.Revoke(ctx, relaysync.By{Actor: "op", Role: relaysync.Operator}, of)
		},
		facts: func(tx store.RelayUnit, s *relaysync.Sync) (map[string]any, error) {
			all, err := tx.Relays().Activities(relaysync.ResourceRelay, s.Relay.ID, 1000)
			for i := range all {
				all[i].Sequence = 0 // of the whole store
			}
			return map[string]any{"Activities": all}, err
		},
		lists: []list[store.RelayUnit, string, relaysync.Sync]{
			{"List", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().List("", after, limit)
			},
				func(s *relaysync.Sync, _ time.Time) bool { return true }, nil},
			{"List of a tenant", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().List("tenant", after, limit)
			}, func(s *relaysync.Sync, _ time.Time) bool {
				return s.Relay.Tenant == "tenant" && s.Relay.DeletedAt.IsZero()
			}, nil},
			{"Pending", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().Pending(after, limit)
			},
				func(s *relaysync.Sync, _ time.Time) bool { return s.Relay.Pending() }, nil},
			{"ForOperator", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().ForOperator(after, limit)
			},
				func(s *relaysync.Sync, _ time.Time) bool { return s.NeedsOperator() }, nil},
			{"HeldBy", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().HeldBy(reactor1, after, limit)
			},
				func(s *relaysync.Sync, _ time.Time) bool { return s.Timer.Lease.Holder == reactor1 }, nil},
		},
		also: r.errorsLeft,
		stats: func(tx store.RelayUnit, all []relaysync.Sync, now time.Time) (got, want any, err error) {
			w := relaysync.Stats{At: now, Phases: map[relaysync.Phase]int64{}}
			for i := range all {
				w.Add(&all[i])
				some, err := tx.Relays().Activities(relaysync.ResourceRelay, all[i].Relay.ID, 1000)
				if err != nil {
					return nil, nil, err
				}
				for k := range some {
					w.AddActivity(&some[k], 2*time.Hour)
				}
			}
			got, err = tx.Relays().Stats(now, 2*time.Hour)
			return got, w, err
		},
		limits: map[string]func(int) error{
			"Activities": func(n int) error { return errOf(r.service.Activities(ctx, "a", n)) },
			"Audit":      func(n int) error { return errOf(r.service.Audit(ctx, "", n)) },
			"Reconcile": func(n int) error {
				_, _, _, err := r.service.Reconcile(ctx, relayBy(relaysync.Reactor, start), "", n)
				return err
			},
		},
		source: func(name string) source { return sourceOf(r.service.Syncs(name)) },
		owed: func(t testing.TB) relaysync.Sync {
			id := r.id()
			return r.do(t, id, relayCreated(id, time.Time{}))
		},
		selfCheck: func(ctx context.Context) error { return store.SelfCheckRelays(ctx, s) },
		due: []dueKind[store.RelayUnit, relaysync.Sync]{{
			name: "sync",
			find: func(tx store.RelayUnit, now time.Time, limit int) ([]relaysync.Sync, error) {
				return readable(tx.Relays().Due(now, limit))
			},
			next:    func(tx store.RelayUnit, now time.Time) (time.Time, error) { return tx.Relays().NextDue(now) },
			at:      (*relaysync.Sync).DueAt,
			compare: relaysync.CompareDue,
		}},
		draw: func(rt *rapid.T) history[string, relaysync.Sync, relaysync.Event] {
			first := relaysynctest.Creations().Draw(rt, "creation")
			first.Relay = r.id() + "_random"
			adversary, begun := new(relaysynctest.Adversary), false
			return history[string, relaysync.Sync, relaysync.Event]{id: first.Relay, steps: 40, next: func(s *relaysync.Sync) relaysync.Event {
				if !begun {
					begun = true
					return first
				}
				return adversary.Next(rt, *s)
			}}
		},
	}
}

// errorsLeft are relays that no step leads to: synced with an error left, as another
// writer of the table may leave them, and not synced without a timer; and one of which
// nothing more is tried.
func (r *relays) errorsLeft(t testing.TB, add func(relaysync.Sync)) {
	for i := range r.stages {
		for _, left := range []relaysync.Relay{{Synced: true, SyncError: "left"}, {Synced: true}, {SyncError: "left"}, {}} {
			a := r.make(t, &r.stages[i])
			c := r.change(t, a, relayUpdated(start, "forged"))
			c.New.Relay.Synced, c.New.Relay.SyncError, c.New.Timer = left.Synced, left.SyncError, a.Timer
			noError(t, r.save(c))
			add(r.get(t, a.Relay.ID))
		}
	}
	id, at := r.id(), start
	a := r.do(t, id, relayCreated(id, at))
	for ; a.Phase() != relaysync.PhaseExhausted; at = at.Add(2 * time.Hour) {
		a = r.do(t, id, relaysync.Claimed{By: relayBy(relaysync.Reactor, at)}, relayFinished(at, a.Timer.Lease.Fence+1, statemachine.Failed))
	}
	add(a)
}

func relayStages() []relayStage {
	claim := relaysync.Claimed{By: relayBy(relaysync.Reactor, start)}
	due := func(id string) []relaysync.Event { return []relaysync.Event{relayCreated(id, start)} }
	syncing := func(id string) []relaysync.Event { return append(due(id), claim) }
	clean := func(id string) []relaysync.Event {
		return append(syncing(id), relayFinished(start, 1, statemachine.Done))
	}
	waiting := func(id string) []relaysync.Event {
		return append(syncing(id), relayFinished(start, 1, statemachine.Failed))
	}
	updates := func(s *relaysync.Sync, i int) relaysync.Event {
		u := relayUpdated(start, fmt.Sprint("rival ", i))
		u.Revision = s.Relay.Revision + 1
		return u
	}
	return []relayStage{
		{name: "a relay that is due", events: due, rivals: updates,
			claim: func(*relaysync.Sync) relaysync.Event { return claim },
			back: func(s *relaysync.Sync) []relaysync.Event {
				return []relaysync.Event{claim, relayFinished(start, s.Timer.Lease.Fence+1, statemachine.Deferred)}
			}},
		{name: "a relay that is synced now", events: syncing, rivals: updates,
			back: func(s *relaysync.Sync) []relaysync.Event {
				return []relaysync.Event{relayFinished(start, s.Timer.Lease.Fence, statemachine.Deferred), claim}
			}},
		{name: "a relay that is clean", events: clean, rivals: updates},
		{name: "a relay that waits", events: waiting, rivals: updates},
	}
}

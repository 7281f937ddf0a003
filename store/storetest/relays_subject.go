package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// subject says how to make relays, for the rules of any versioned record.
func (r *relays) subject() *relaySubject {
	return &relaySubject{
		Store:   r.Store,
		service: r.service,
		within: func(tx store.RelayUnit) service[string, string, relaysync.Sync, relaysync.Event] {
			return r.service.Within(tx)
		},
		records: func(tx store.RelayUnit) records[string, string, relaysync.Sync, relaysync.Change] { return tx.Relays() },
		held:    r.service.Held,
		apply:   r.service.Policy().Apply,
		parts: func(c *relaysync.Change) (old, now *relaysync.Sync, log *[]statemachine.Transition[string]) {
			return &c.Old, &c.New, &c.Log
		},
		empty: (*relaysync.Change).Empty,
		check: relaysync.Check,
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
		world: func(tx store.RelayUnit) (map[string]any, error) {
			list, err1 := tx.Relays().List("", "", 1000)
			pending, err2 := tx.Relays().Pending("", 1000)
			exhausted, err3 := tx.Relays().ForOperator("", 1000)
			return map[string]any{"List": list, "Pending": pending, "ForOperator": exhausted}, errors.Join(err1, err2, err3)
		},
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

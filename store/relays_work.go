package store

import (
	"context"
	"fmt"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/store/worker"
)

// RelaySyncs is the work of a reactor for [worker.Run]: relays that are due, each
// claimed, in the order of [relaysync.CompareDue]. The key is the relay.
//
// The lease lasts [relaysync.Policy.Lease] and belongs to name, which no other
// process may use. The handler sends the requests of [relaysync.Policy.Attempt]
// and returns Finished; one without events leaves the lease to end. A result is
// judged by what is stored then.
type RelaySyncs struct {
	*Relays
	name string
}

// Syncs returns the work of the reactor of this name.
func (s *Relays) Syncs(name string) *RelaySyncs { return &RelaySyncs{s, name} }

// By is who speaks in results of this work.
func (w *RelaySyncs) By() relaysync.By {
	return relaysync.By{Actor: w.name, Role: relaysync.Reactor}
}

// Turn implements [worker.Source].
func (w *RelaySyncs) Turn(ctx context.Context, done []HeldRelay, n int) (items []worker.Item[relaysync.Sync], next time.Time, err error) {
	commands := make([]relayCommand, len(done))
	for i := range done {
		commands[i] = relayCommand{done[i].Sync.Relay.ID, &done[i].Sync, done[i].Events}
	}
	next, err = w.turn(ctx, commands, n, func(b *relayBatch) (time.Duration, error) {
		items = nil
		due, err := b.tx.Relays().Due(b.now, n)
		if err != nil {
			return 0, err
		}
		for i := range due {
			refused, err := b.try(&due[i], due[i].Relay.ID, relaysync.Claimed{By: w.By()})
			if err != nil {
				return 0, err
			}
			if refused == nil {
				items = append(items, worker.Item[relaysync.Sync]{Key: due[i].Relay.ID, Until: b.began.Add(w.policy.Lease), Work: due[i]})
			}
		}
		at, err := b.tx.Relays().NextDue(b.now)
		return pause(len(due), n, b.now, at, w.policy.Lease), err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return items, next, nil
}

// Renew implements [worker.Source].
func (w *RelaySyncs) Renew(ctx context.Context, items []worker.Item[relaysync.Sync]) error {
	at := time.Now()
	var lost []string
	err := w.update(ctx, func(tx RelayTx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		leases := make([]RelayLease, len(items))
		for i := range items {
			s := &items[i].Work
			leases[i] = RelayLease{Relay: s.Relay.ID, Fence: s.Timer.Lease.Fence, Until: now.Add(w.policy.Lease)}
		}
		lost, err = tx.Relays().Renew(now, leases...)
		return err
	})
	if err != nil {
		return err
	}
	return renewed(items, lost, at.Add(w.policy.Lease), func(s *relaysync.Sync) string { return s.Relay.ID })
}

// Release gives an item back that was not started.
func (w *RelaySyncs) Release(s relaysync.Sync) HeldRelay {
	return HeldRelay{s, []relaysync.Event{s.GivenBack(w.By())}}
}

// Panicked reports a handler that panicked.
func (w *RelaySyncs) Panicked(s relaysync.Sync, value any) HeldRelay {
	return HeldRelay{s, []relaysync.Event{s.Abandoned(w.By(), fmt.Sprintf("the handler panicked: %v", value))}}
}

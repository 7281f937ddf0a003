package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// RelaySyncs is the work of a reactor for [worker.Run]: relays that are due, each
// claimed, in the order of [relaysync.CompareDue]. The key is the relay.
//
// The lease lasts [relaysync.Policy.Lease] and belongs to name, 1 to 200 bytes,
// which no other process may use. The handler sends the requests of [relaysync.Policy.Attempt]
// and returns Finished; one without events leaves the lease to end. A result is
// judged by what is stored then.
type RelaySyncs struct {
	*Relays
	holder
	unreadable
}

// ClaimedRelay is a relay to be sent.
type ClaimedRelay struct {
	Sync relaysync.Sync
	// Until is when its lease ends, on the clock of this process, if it is not
	// renewed. Nothing is sent that may not be answered before.
	Until time.Time
}

// unreadable tells the host of due records that cannot be read.
type unreadable struct {
	// Unreadable is called after a turn that left out records which cannot be
	// read, with the error that names all of them; nil: nobody is told. Such a
	// record is due again and again.
	Unreadable func(error)
	found      []error // in the latest turn
}

func (u *unreadable) tell() {
	if u.Unreadable != nil && len(u.found) > 0 {
		u.Unreadable(errors.Join(u.found...))
	}
	u.found = nil
}

// Syncs returns the work of the reactor of this name.
func (s *Relays) Syncs(name string) *RelaySyncs {
	return &RelaySyncs{Relays: s, holder: s.runs.holds(name, "")}
}

// By is who speaks in results of this work.
func (w *RelaySyncs) By() relaysync.By {
	return relaysync.By{Actor: w.name, Role: relaysync.Reactor}
}

// ShortestLease implements [worker.Leasing].
func (w *RelaySyncs) ShortestLease() time.Duration { return w.policy.Lease }

// Turn implements [worker.Source].
func (w *RelaySyncs) Turn(ctx context.Context, done []HeldRelay, n int) ([]worker.Item[ClaimedRelay], time.Time, error) {
	commands := make([]relayCommand, len(done))
	for i := range done {
		commands[i] = relayCommand{done[i].Sync.Relay.ID, &done[i].Sync, done[i].Events}
	}
	all, next, err := items(ctx, &w.relayCore, w.holder, commands, n, func(b *relayBatch) (all []worker.Item[ClaimedRelay], wait time.Duration, err error) {
		due, skipped, err := b.tx.Relays().Due(b.now, n)
		w.found = skipped
		if err != nil {
			return nil, 0, err
		}
		taken, err := b.offer(due, func(s *relaysync.Sync) string { return s.Relay.ID }, relaysync.Claimed{By: w.By()}, nil)
		if err != nil {
			return nil, 0, err
		}
		for until := b.began.Add(w.policy.Lease); len(taken) > 0; taken = taken[1:] {
			all = append(all, worker.Item[ClaimedRelay]{Key: taken[0].Relay.ID, Until: until, Work: ClaimedRelay{taken[0], until}})
		}
		at, err := b.tx.Relays().NextDue(b.now)
		return all, pause(len(due), n, b.now, at, w.policy.Lease), err
	})
	if err == nil {
		w.tell()
	}
	return all, next, err
}

// Renew implements [worker.Source]. From ClaimedRelay.Until on nothing is sent: a
// sync that goes on for longer than another [relaysync.Policy.Timeout] hangs, and its
// lease is lost, so that others send the relay and the lapse is counted.
func (w *RelaySyncs) Renew(ctx context.Context, items []worker.Item[ClaimedRelay]) error {
	var hung []string
	for i := range items {
		if time.Now().After(items[i].Work.Until.Add(w.policy.Timeout)) {
			hung = append(hung, items[i].Key)
		}
	}
	return renewLeases(ctx, w.update, items, w.policy.Lease,
		func(c *ClaimedRelay, until time.Time) (string, RelayLease) {
			return c.Sync.Relay.ID, RelayLease{Relay: c.Sync.Relay.ID, Fence: c.Sync.Timer.Lease.Fence, Until: until}
		},
		func(tx RelayUnit, now time.Time, leases ...RelayLease) ([]string, error) {
			lost, err := tx.Relays().Renew(now, slices.DeleteFunc(leases, func(l RelayLease) bool { return slices.Contains(hung, l.Relay) })...)
			return append(lost, hung...), err
		})
}

// Revoke implements [worker.Revoking].
func (w *RelaySyncs) Revoke(ctx context.Context) error {
	return w.end(func() error {
		_, err := w.Relays.Revoke(ctx, w.By(), statemachine.Revocation{Holder: w.name})
		return err
	})
}

// Finish is the result of a sync.
func (w *RelaySyncs) Finish(c ClaimedRelay, ev relaysync.Finished) HeldRelay {
	ev.By, ev.Fence = w.By(), c.Sync.Timer.Lease.Fence
	return HeldRelay{c.Sync, []relaysync.Event{ev}}
}

// Release gives an item back that was not started.
func (w *RelaySyncs) Release(c ClaimedRelay) HeldRelay {
	return HeldRelay{c.Sync, []relaysync.Event{c.Sync.GivenBack(w.By())}}
}

// Panicked reports a handler that panicked.
func (w *RelaySyncs) Panicked(c ClaimedRelay, value any) HeldRelay {
	return HeldRelay{c.Sync, []relaysync.Event{c.Sync.Abandoned(w.By(), fmt.Sprintf("the handler panicked: %v", value))}}
}

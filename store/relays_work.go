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

// RelayWork is the work of a reactor for [worker.Run]: it claims the due relays in the order of
// [relaysync.CompareDue]. The key of an item is the relay's id.
//
// The lease lasts [relaysync.Policy.Lease] and belongs to name, 1 to 200 bytes, which no other
// process may use. The handler sends the requests of [relaysync.Policy.Attempt] and returns
// Finished. A result without events stores nothing, and the lease ends by itself. A result is
// judged against the relay as it is stored when the result arrives.
type RelayWork struct {
	*Relays
	holder
	unreadable
}

// ClaimedRelay is a relay to be sent.
type ClaimedRelay struct {
	Sync relaysync.Sync
	// Until is when the relay's lease ends if it is not renewed, on the clock of this process. No
	// request may be sent whose answer may come later.
	Until time.Time
}

// unreadable tells the host of due records that cannot be read.
type unreadable struct {
	// Unreadable is called after a turn that left out due records which cannot be read, with an
	// error that names them all. Such a record is due again in each turn. nil: nobody is told.
	Unreadable func(error)
	found      []error // in the latest turn
}

func (u *unreadable) tell() {
	if u.Unreadable != nil && len(u.found) > 0 {
		u.Unreadable(errors.Join(u.found...))
	}
	u.found = nil
}

// Work returns the work of the reactor of this name.
func (s *Relays) Work(name string) *RelayWork {
	return &RelayWork{Relays: s, holder: s.runs.holds(name, "")}
}

// By is who speaks in results of this work.
func (w *RelayWork) By() relaysync.By {
	return relaysync.By{Actor: w.name, Role: relaysync.Reactor}
}

// ShortestLease implements [worker.Source].
func (w *RelayWork) ShortestLease() time.Duration { return w.policy.Lease }

// Turn implements [worker.Source].
func (w *RelayWork) Turn(ctx context.Context, done []HeldRelay, n int) ([]worker.Item[ClaimedRelay], time.Time, error) {
	commands := mapped(done, func(h *HeldRelay) relayCommand { return relayCommand{held: &h.Sync, events: h.Events} })
	all, next, err := items(ctx, &w.relayCore, w.holder, commands, n, func(b *relayBatch) ([]worker.Item[ClaimedRelay], time.Duration, error) {
		return claim(b, claims[relaysync.Sync, relaysync.Event, ClaimedRelay]{
			due: func() (due []relaysync.Sync, err error) {
				due, w.found, err = b.tx.Relays().Due(b.now, n)
				return due, err
			},
			next:  func() (time.Time, error) { return b.tx.Relays().NextDue(b.now) },
			claim: relaysync.Claimed{By: w.By()}, lease: w.policy.Lease, most: w.policy.Lease,
			item: func(s *relaysync.Sync, until time.Time) (string, ClaimedRelay) {
				return s.Relay.ID, ClaimedRelay{*s, until}
			},
		}, n)
	})
	if err == nil {
		w.tell()
	}
	return all, next, err
}

// Renew implements [worker.Source]. From ClaimedRelay.Until on a sync sends nothing. A sync that is still running a
// [relaysync.Policy.Timeout] later hangs: its lease is not renewed, so that another reactor can send the relay and a
// lapse is counted.
func (w *RelayWork) Renew(ctx context.Context, items []worker.Item[ClaimedRelay]) error {
	var hung []string
	for i := range items {
		if time.Now().After(items[i].Work.Until.Add(w.policy.Timeout)) {
			hung = append(hung, items[i].Key)
		}
	}
	return renewLeases(ctx, w.update, items, w.policy.Lease,
		func(c *ClaimedRelay) Lease[string] {
			return Lease[string]{ID: c.Sync.Relay.ID, Fence: c.Sync.Timer.Lease.Fence}
		},
		func(tx RelayUnit, now time.Time, leases ...Lease[string]) ([]string, error) {
			lost, err := tx.Relays().Renew(now, slices.DeleteFunc(leases, func(l Lease[string]) bool { return slices.Contains(hung, l.ID) })...)
			return append(lost, hung...), err
		})
}

// Revoke implements [worker.Revoking].
func (w *RelayWork) Revoke(ctx context.Context) error {
	return w.end(func() (int, error) { return w.Relays.Revoke(ctx, w.By(), statemachine.Revocation{Holder: w.name}) })
}

// Finish is the result of a sync.
func (w *RelayWork) Finish(c ClaimedRelay, ev relaysync.Finished) HeldRelay {
	ev.By, ev.Fence = w.By(), c.Sync.Timer.Lease.Fence
	return HeldRelay{c.Sync, []relaysync.Event{ev}}
}

// Release gives an item back that was not started.
func (w *RelayWork) Release(c ClaimedRelay) HeldRelay {
	return HeldRelay{c.Sync, []relaysync.Event{c.Sync.GivenBack(w.By())}}
}

// Panicked reports a handler that panicked.
func (w *RelayWork) Panicked(c ClaimedRelay, value any) HeldRelay {
	return HeldRelay{c.Sync, []relaysync.Event{c.Sync.Abandoned(w.By(), fmt.Sprintf("the handler panicked: %v", value))}}
}

package store

import (
	"context"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
)

// give gives back what a worker holds.
func (s *swapItems[A]) give(ctx context.Context, by swap.By, of statemachine.Revocation) (n int, err error) {
	if err := of.Check(by.Actor, by.Role == swap.Worker); err != nil {
		return 0, s.unheard(ctx, of.Holder, swap.Revoked{By: by, Revocation: of}, err)
	}
	ids := func(tx SwapUnit, after string, limit int) ([]string, error) {
		return s.records(tx).HeldBy(of.Holder, after, limit)
	}
	return s.revoke(ctx, s.heldBy(ids, nil), swap.Revoked{By: by, Revocation: of})
}

// swapWork is the work of one worker in either direction.
type swapWork[A any] struct {
	*swapItems[A]
	holder
}

func (w swapWork[A]) by() swap.By { return swap.By{Actor: w.name, Role: swap.Worker} }

func (w swapWork[A]) claim(ctx context.Context, done []swapCommand[A], n int) ([]worker.Item[A], time.Time, error) {
	return items(ctx, &w.swapCore, w.holder, done, n, func(b *swapBatch[A]) ([]worker.Item[A], time.Duration, error) {
		return claim(b, claims[A, swap.Event, A]{
			due: func() ([]A, error) {
				return dueAndAhead(func(ahead time.Time, limit int) ([]A, error) {
					if ahead.IsZero() {
						return w.records(b.tx).Due(b.now, limit)
					}
					return w.records(b.tx).Overslept(ahead, limit)
				}, b.now.Add(w.policy.Longest()), n)
			},
			next:  func() (time.Time, error) { return w.records(b.tx).NextDue(b.now) },
			claim: swap.Claimed{By: w.by()}, lease: w.policy.Lease, most: w.policy.Lease,
			item: func(a *A, _ time.Time) (string, A) { return swapID(a), *a },
		}, n)
	})
}

// ShortestLease implements [worker.Source].
func (w swapWork[A]) ShortestLease() time.Duration { return w.policy.Lease }

func swapID[A any](a *A) string { return any(a).(swap.Record).Head().ID }

func (w swapWork[A]) Renew(ctx context.Context, all []worker.Item[A]) error {
	lease := func(a *A) Lease[string] {
		h := any(a).(swap.Record).Head()
		return Lease[string]{ID: h.ID, Fence: h.Lease.Fence}
	}
	return renewLeases(ctx, w.update, all, w.policy.Lease, lease, func(tx SwapUnit, now time.Time, leases ...Lease[string]) ([]string, error) {
		return w.records(tx).Renew(now, leases...)
	})
}

// Revoke implements [worker.Revoking].
func (w swapWork[A]) Revoke(ctx context.Context) error {
	return w.end(func() (int, error) { return w.give(ctx, w.by(), statemachine.Revocation{Holder: w.name}) })
}

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
		return 0, err
	}
	ids := func(tx SwapUnit, after string, limit int) ([]string, error) {
		return s.records(tx).HeldBy(of.Holder, after, limit)
	}
	get := func(tx SwapUnit, ids ...string) ([]A, error) { return s.records(tx).Get(ids...) }
	return s.revoke(ctx, heldBy(ids, swapID[A], get), func(a *A) (string, swap.Event) { return swapID(a), swap.Revoked{By: by, Revocation: of} })
}

// swapWork is the work of one worker in either direction.
type swapWork[A any] struct {
	*swapItems[A]
	holder
}

func (w swapWork[A]) by() swap.By { return swap.By{Actor: w.name, Role: swap.Worker} }

func (w swapWork[A]) claim(ctx context.Context, done []swapCommand[A], n int) ([]worker.Item[A], time.Time, error) {
	return items(ctx, &w.swapCore, w.holder, done, n, func(b *swapBatch[A]) (all []worker.Item[A], wait time.Duration, err error) {
		due, err := w.records(b.tx).Due(b.now, n)
		if err != nil {
			return nil, 0, err
		}
		taken, err := b.offer(due, swapID[A], swap.Claimed{By: w.by()}, nil) // what is refused holds up no other
		if err != nil {
			return nil, 0, err
		}
		for i := range taken {
			all = append(all, worker.Item[A]{Key: swapID(&taken[i]), Until: b.began.Add(w.policy.Lease), Work: taken[i]})
		}
		at, err := w.records(b.tx).NextDue(b.now)
		return all, pause(len(due), n, b.now, at, w.policy.Lease), err
	})
}

// ShortestLease implements [worker.Leasing].
func (w swapWork[A]) ShortestLease() time.Duration { return w.policy.Lease }

func swapID[A any](a *A) string { return any(a).(swap.Record).Head().ID }

func (w swapWork[A]) Renew(ctx context.Context, all []worker.Item[A]) error {
	lease := func(a *A, until time.Time) (string, SwapLease) {
		h := any(a).(swap.Record).Head()
		return h.ID, SwapLease{h.ID, h.Lease.Fence, until}
	}
	return renewLeases(ctx, w.update, all, w.policy.Lease, lease, func(tx SwapUnit, now time.Time, leases ...SwapLease) ([]string, error) {
		return w.records(tx).Renew(now, leases...)
	})
}

// Revoke implements [worker.Revoking].
func (w swapWork[A]) Revoke(ctx context.Context) error {
	return w.end(func() error {
		_, err := w.give(ctx, w.by(), statemachine.Revocation{Holder: w.name})
		return err
	})
}

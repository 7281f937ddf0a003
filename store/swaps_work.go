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
	id := func(a *A) string { return any(a).(swap.Record).Head().ID }
	ids := func(tx SwapUnit, after string, limit int) ([]string, error) {
		return s.records(tx).HeldBy(of.Holder, after, limit)
	}
	get := func(tx SwapUnit, ids ...string) ([]A, error) { return s.records(tx).Get(ids...) }
	return s.revoke(ctx, heldBy(ids, id, get), func(a *A) (string, swap.Event) { return id(a), swap.Revoked{By: by, Revocation: of} })
}

// swapWork is the work of one worker in either direction.
type swapWork[A any] struct {
	*swapItems[A]
	holder
}

func (w swapWork[A]) by() swap.By { return swap.By{Actor: w.name, Role: swap.Worker} }

func (w swapWork[A]) claim(ctx context.Context, done []swapCommand[A], n int) (items []worker.Item[A], next time.Time, err error) {
	if err := w.Check(); err != nil {
		return nil, next, err
	}
	next, err = w.turn(ctx, done, n, func(b *swapBatch[A]) (time.Duration, error) {
		items = items[:0]
		due, err := w.records(b.tx).Due(b.now, n)
		if err != nil {
			return 0, err
		}
		for i := range due {
			id := any(&due[i]).(swap.Record).Head().ID
			refused, err := b.try(&due[i], id, swap.Claimed{By: w.by()})
			if err != nil {
				return 0, err
			}
			if refused != nil { // it holds up no other
				continue
			}
			items = append(items, worker.Item[A]{Key: id, Until: b.began.Add(w.policy.Lease), Work: due[i]})
		}
		at, err := w.records(b.tx).NextDue(b.now)
		return pause(len(due), n, b.now, at, w.policy.Lease), err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return items, next, nil
}

func (w swapWork[A]) Renew(ctx context.Context, items []worker.Item[A]) error {
	at := time.Now()
	var lost []string
	err := w.update(ctx, func(tx SwapUnit) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		leases := make([]SwapLease, len(items))
		for i := range items {
			h := any(&items[i].Work).(swap.Record).Head()
			leases[i] = SwapLease{h.ID, h.Lease.Fence, now.Add(w.policy.Lease)}
		}
		lost, err = w.records(tx).Renew(now, leases...)
		return err
	})
	if err != nil {
		return err
	}
	return renewed(items, lost, at.Add(w.policy.Lease), func(a *A) string { return any(a).(swap.Record).Head().ID })
}

// Revoke implements [worker.Revoking].
func (w swapWork[A]) Revoke(ctx context.Context) error {
	_, err := w.give(ctx, w.by(), statemachine.Revocation{Holder: w.name})
	return err
}

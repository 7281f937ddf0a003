package store

import (
	"context"
	"fmt"
	"time"

	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
)

// SwapSource is work on items for [worker.Run]: see Work of [Deposits] and
// [Credits]. Its methods return what Options.Release and Options.Panicked need.
type SwapSource[A any] interface {
	worker.Source[A, HeldSwap[A]]
	// Release gives an item back.
	Release(A) HeldSwap[A]
	// Panicked reports a handler that panicked: the item is due again when its
	// lease has ended.
	Panicked(A, any) HeldSwap[A]
}

// Work is the work of one worker: due items, the oldest first. The lease lasts
// [swap.Policy.Lease] and belongs to name, which no other process may use. Next
// says what a claimed item owes. The handler stores each event with Do or Held,
// [swap.Begun] before it sends anything, and returns the last ones; the item is
// given back behind them. Results are judged by what is stored then. The key is
// the item's id.
func (s *swapItems[A]) Work(name string) SwapSource[A] { return &swapWork[A]{s, name} }

type swapWork[A any] struct {
	*swapItems[A]
	name string
}

func (w *swapWork[A]) by() swap.By { return swap.By{Actor: w.name, Role: swap.Worker} }

func (w *swapWork[A]) Turn(ctx context.Context, done []HeldSwap[A], n int) (items []worker.Item[A], next time.Time, err error) {
	next, err = w.turn(ctx, heldSwaps(done), n, func(b *swapBatch[A]) (time.Duration, error) {
		items = items[:0]
		due, err := w.records(b.tx).Due(b.now, n)
		if err != nil {
			return 0, err
		}
		for i := range due {
			id := any(&due[i]).(swap.Record).Head().ID
			if err := b.step(&due[i], id, swap.Claimed{By: w.by()}); err != nil {
				return 0, err
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

func (w *swapWork[A]) Renew(ctx context.Context, items []worker.Item[A]) error {
	at := time.Now()
	var lost []string
	err := w.update(ctx, func(tx SwapTx) error {
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

func (w *swapWork[A]) Release(a A) HeldSwap[A] {
	return HeldSwap[A]{a, []swap.Event{swap.Released{By: w.by(), Fence: any(&a).(swap.Record).Head().Lease.Fence}}}
}

func (w *swapWork[A]) Panicked(a A, value any) HeldSwap[A] {
	_ = fmt.Sprint(value) // the worker logs it; nothing was learnt
	return HeldSwap[A]{Item: a}
}

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// payment is the work of the example: what to pay, under which claim.
type payment struct {
	id      string
	satoshi int64
	fence   int64
}

// paid is its result. Storing it twice must be a no-op: the fence is the key.
type paid struct {
	id      string
	fence   int64
	outcome statemachine.Outcome
}

// ledger is a source in memory; a real one is a service of package store.
type ledger struct{ open []payment }

func (l *ledger) Turn(_ context.Context, done []paid, n int) (items []worker.Item[payment], next time.Time, err error) {
	for _, p := range done {
		fmt.Println(p.id, p.outcome)
	}
	for ; n > 0 && len(l.open) > 0; n-- {
		items = append(items, worker.Item[payment]{Key: l.open[0].id, Until: time.Now().Add(time.Minute), Work: l.open[0]})
		l.open = l.open[1:]
	}
	return items, time.Time{}, nil
}

func (l *ledger) Renew(_ context.Context, items []worker.Item[payment]) error {
	for i := range items {
		items[i].Until = time.Now().Add(time.Minute)
	}
	return nil
}

func (l *ledger) Release(p payment) paid { return paid{p.id, p.fence, statemachine.Deferred} }

func (l *ledger) Panicked(p payment, _ any) paid { return paid{p.id, p.fence, statemachine.Unknown} }

func (l *ledger) ShortestLease() time.Duration { return time.Minute }

func ExampleRun() {
	source := &ledger{open: []payment{{"rent", 40_000, 1}, {"books", 2_500, 1}}}
	send := func(ctx context.Context, p payment) error {
		if p.satoshi > 10_000 {
			return errors.New("no answer from the node")
		}
		return nil
	}

	err := worker.Run(context.Background(), source, func(ctx context.Context, p payment) paid {
		if err := send(ctx, p); err != nil {
			return paid{p.id, p.fence, statemachine.Unknown} // silence is no proof that it failed
		}
		return paid{p.id, p.fence, statemachine.Done}
	}, worker.Options[payment, paid]{
		Concurrency: 1,
		Idle:        10 * time.Millisecond, // a service runs until its context is done
	})
	fmt.Println("stopped:", err)
	// Output:
	// rent unknown
	// books done
	// stopped: <nil>
}

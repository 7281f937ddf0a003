package refresher_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/refresher"
)

// far is a store behind a connection, which a transaction that runs out of time costs.
type far struct {
	store.Store[store.Unit]
	mu        sync.Mutex
	connects  time.Duration // how long a connection takes
	connected bool
	limits    []time.Duration // that Updates had
}

func (f *far) lose(connects time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.connected, f.connects = false, connects
}

func (f *far) Update(ctx context.Context, fn func(store.Unit) error) error {
	f.mu.Lock()
	wait := time.Millisecond
	if end, ok := ctx.Deadline(); ok {
		f.limits = append(f.limits, time.Until(end))
	}
	if !f.connected {
		wait += f.connects
	}
	f.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	f.connected = true
	f.mu.Unlock()
	return f.Store.Update(ctx, fn)
}

// The connection is lost while no work is due. For ten seconds connecting takes five times as
// long as a call may last; afterwards it takes less than twice as long, but a call that times out
// has to begin connecting anew. If every try had the same time, no wallet would ever be served
// again.
func TestWorkGoesOnAfterAnOverload(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		const call = 5 * time.Second
		f := &far{Store: s.db, connected: true}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		p := &process{name: "w1", s: s}
		go func() {
			done <- refresher.Run(ctx, s.serviceOf(f), &caller{node: s.node, of: p},
				refresher.Options{Name: "w1", Log: slog.New(slog.DiscardHandler)})
		}()
		time.Sleep(time.Second)
		f.lose(5 * call)
		job := s.enqueue(0, refresh.Sync, "", "")
		time.Sleep(10 * time.Second)
		f.mu.Lock()
		f.connects = 9 * time.Second
		f.mu.Unlock()
		time.Sleep(40 * time.Second)
		if j := s.job(0, job); j.Status != refresh.JobCompleted {
			t.Errorf("40 s after the overload the job is %v", j.Status)
		}
		time.Sleep(time.Minute)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		grown, last := time.Duration(0), time.Duration(0)
		for _, l := range f.limits {
			if l > s.policy.LockTTL/2 {
				t.Errorf("a call had %v; the lease is %v", l, s.policy.LockTTL)
			}
			if l > s.policy.LockTTL/3 { // a Turn: what a round stores has that much
				grown = l
			}
		}
		for _, l := range f.limits[:len(f.limits)-2] { // a slot is given back at the end
			last = l
		}
		if grown == 0 || last != call {
			t.Errorf("a call had up to %v, and %v in the end", grown, last)
		}
	})
}

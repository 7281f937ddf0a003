package reactor_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/store"
)

// far is a store behind a connection, which a transaction that runs out of time costs.
type far struct {
	store.Store[store.Unit]
	mu        sync.Mutex
	connects  time.Duration // how long a connection takes
	connected bool
	limits    []time.Duration // that Updates had
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

// The connection is lost. For ten seconds connecting takes five times as long as a call may last;
// afterwards it takes less than twice as long, but a call that times out has to begin connecting
// anew. If every try had the same time, nothing would ever be sent again.
func TestWorkGoesOnAfterAnOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const call = 5 * time.Second
		b := newBench(t)
		policy := relaysynctest.Policy()
		policy.Lease = 30 * time.Second
		f := &far{Store: b.db, connected: true}
		host := b.relays
		var err error
		if b.relays, err = store.NewRelays(f, policy); err != nil {
			t.Fatal(err)
		}
		stop := b.run("w")
		time.Sleep(time.Second)
		f.mu.Lock()
		f.connected, f.connects = false, 5*call
		f.mu.Unlock()
		reactor := b.relays
		b.relays = host
		b.create("a") // by another process
		time.Sleep(10 * time.Second)
		f.mu.Lock()
		f.connects = 9 * time.Second
		f.mu.Unlock()
		time.Sleep(40 * time.Second)
		if sent := b.times("a"); len(sent) == 0 {
			t.Error("nothing is sent 40 s after the overload")
		}
		time.Sleep(time.Minute)
		b.relays = reactor
		if err := stop(); err != nil {
			t.Error(err)
		}
		most, last := slices.Max(f.limits), f.limits[len(f.limits)-2] // behind it all is given back
		if most <= call || most > policy.Lease/2 || last != call {
			t.Errorf("a call had up to %v, and %v in the end; the lease is %v", most, last, policy.Lease)
		}
	})
}

package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// What the broadcast does to a reactor.

// A burst of messages is larger than the broadcast's buffer. The reactor is told that it lags,
// reconciles and goes on.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		stop := b.run("reactor-1")
		time.Sleep(time.Second)
		var all []store.RelayCommand
		for i := range 1501 { // one of which is known already
			id := fmt.Sprint("relay_", i)
			all = append(all, store.RelayCommand{Relay: id, Events: []relaysync.Event{
				relaysync.Created{By: by(relaysync.Host), Relay: id, Tenant: "tenant", Subdomain: "sub", Config: config("a")}}})
		}
		b.ahead("relay_7") // only a reconcile sees that its time is too far away
		if _, err := b.relays.DoAll(context.Background(), all...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		b.expectTimes("relay_7", 901)
		if !strings.Contains(b.log.String(), "missed=476") {
			t.Errorf("the lag is not reported: %s", b.log.String())
		}
		if len(b.got) != len(all) || len(b.secrets) != len(all) || b.overlap {
			t.Errorf("%d requests for %d relays, %d exist, overlapping: %v", len(b.got), len(all), len(b.secrets), b.overlap)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// The end of the broadcast ends the reactor with its own error; a new reactor finds what is due.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New(memory.Options{})
		b := newBench(t)
		b.relays, _ = store.NewRelays(db, relaysynctest.Policy())
		b.faults(func(request) (fault, bool) { return fault{status: 500}, true })
		stop := b.run("reactor-1")
		b.create("a")
		time.Sleep(time.Second)
		b.relays.Close()
		synctest.Wait()
		if err := stop(); !errors.Is(err, store.ErrClosed) {
			t.Fatalf("it ended with %v", err)
		}
		if !strings.Contains(b.log.String(), "the broadcast is closed") {
			t.Errorf("the end is not reported: %s", b.log.String())
		}
		time.Sleep(time.Hour)
		b.expectTimes("a", 0)
		b.relays, _ = store.NewRelays(db, relaysynctest.Policy())
		b.faults(nil)
		stop = b.run("reactor-2")
		time.Sleep(time.Second)
		b.expectTimes("a", 0, 3601)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A message wakes the reactor: a change that its own process commits is sent at once, before the
// reactor polls again.
func TestNewsWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		stop := b.run("reactor-1")
		for i := range 10 {
			time.Sleep(time.Minute + time.Duration(i)*77*time.Millisecond)
			b.start = time.Now()
			id := fmt.Sprint("a", i)
			b.create(id)
			time.Sleep(2 * time.Second)
			if at := b.times(id); len(at) != 1 || at[0] > 0 {
				t.Errorf("sent after %v s", at)
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

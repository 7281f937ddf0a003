package reactor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/relaysync"
)

// When a relay is sent, whatever fails.

// A relay that always fails is sent at 0, 30, 90, 210, 450, 930 and 1830 s, also over restarts,
// and then never again until somebody asks for it.
func TestFailingRelayOverRestarts(t *testing.T) {
	for _, restart := range []time.Duration{0, 7 * time.Second, 100 * time.Second, 1000 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.faults(func(request) (fault, bool) { return fault{status: 503, body: "down"}, true })
			stop := b.run("reactor-1")
			b.create("a")
			for i, end := 0, time.Now().Add(2*time.Hour); time.Now().Before(end); i++ {
				if restart == 0 {
					time.Sleep(time.Hour)
					continue
				}
				time.Sleep(restart)
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				stop = b.run(fmt.Sprint("reactor-", i+2))
			}
			b.expectTimes("a", 0, 30, 90, 210, 450, 930, 1830)
			if s := b.get("a"); s.Phase() != relaysync.PhaseExhausted || s.Relay.SyncError != "status 503: down" {
				t.Errorf("%v, %q", s.Phase(), s.Relay.SyncError)
			}
			if n := strings.Count(b.log.String(), "retries exhausted; awaiting manual intervention"); n != 1 {
				t.Errorf("the end is reported %d times", n)
			}
			b.faults(nil)
			b.do("a", relaysync.Retried{By: by(relaysync.Operator)})
			time.Sleep(time.Second)
			if s := b.get("a"); !s.Relay.Synced || b.secrets["a"] == "" {
				t.Errorf("after a retry %v", s.Phase())
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Time-outs count from when they are recorded: 5 s more each.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.faults(func(request) (fault, bool) { return fault{}, true })
		stop := b.run("reactor-1")
		b.create("a")
		time.Sleep(time.Hour)
		b.expectTimes("a", 0, 35, 100, 225, 470, 955, 1860)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A create whose answer was lost ends synced, with the first secret.
func TestLostCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.faults(func(r request) (fault, bool) { return fault{apply: true}, r.at.Equal(b.start) })
		stop := b.run("reactor-1")
		b.create("a")
		time.Sleep(20 * time.Second)
		if s := b.get("a"); s.Relay.Synced || s.History.Streak != 1 {
			t.Fatalf("%+v", s)
		}
		time.Sleep(time.Minute)
		synctest.Wait() // for what the server wrote
		var methods []string
		for _, r := range b.got {
			methods = append(methods, r.method)
		}
		if want := []string{"POST", "POST", "PATCH"}; !slices.Equal(methods, want) {
			t.Errorf("%v, expected %v", methods, want)
		}
		if s := b.get("a"); !s.Relay.Synced || s.Relay.SyncError != "" || len(b.made) != 2 || b.made[0] == b.made[1] ||
			b.secrets["a"] != b.made[0] {
			t.Errorf("%+v, secrets %d", s.Relay, len(b.made))
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// The time-out of a gateway is no answer of the server: the request arrives after the relay was
// deactivated and sent again. The later request must not be undone.
func TestLateBehindAGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		stop := b.run("reactor-1")
		b.create("a")
		time.Sleep(time.Second)
		b.faults(func(request) (fault, bool) { return fault{status: 504}, true })
		s := b.do("a", relaysync.Activated{By: by(relaysync.Host)})
		time.Sleep(time.Second)
		b.faults(nil)
		b.do("a", relaysync.Deactivated{By: by(relaysync.Host)})
		time.Sleep(time.Second)
		late, err := b.relays.Policy().Attempt(s)
		var doc map[string]any
		if err = errors.Join(err, json.Unmarshal(late.Requests[0].Body, &doc)); err != nil ||
			b.apply(request{method: "PATCH", relay: "a"}, doc) != 200 {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait() // for what the server wrote
		if s := b.get("a"); !s.Relay.Synced || b.bodies["a"]["inactive"] != true {
			t.Errorf("%v, the server has inactive: %v", s.Phase(), b.bodies["a"]["inactive"])
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A relay that a killed process was sending is claimed as soon as its lease ends, without
// counting a failure. The killed process's request may still arrive, so the relay is sent once
// more later.
func TestKilledReactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.create("a")
		items, _, err := b.relays.Work("killed").Turn(context.Background(), nil, 1)
		if err != nil || len(items) != 1 {
			t.Fatal(items, err)
		}
		stop := b.run("reactor-1")
		time.Sleep(10 * time.Minute)
		b.expectTimes("a", 30, 60)
		s := b.get("a")
		trail, err := b.relays.Trail(context.Background(), "a")
		if !s.Relay.Synced || s.History.Streak != 0 || err != nil {
			t.Errorf("%+v, %v", s, err)
		}
		var steps []string
		for _, l := range trail {
			steps = append(steps, l.Trigger)
		}
		if want := []string{"create", "claim", "takeover", "follow", "claim", "success"}; !slices.Equal(steps, want) {
			t.Errorf("%v, expected %v", steps, want)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Two reactors meet updates at any time, slow answers, failures and lost answers. A relay is sent
// by one reactor at a time, always has a due time or a lease, and ends as its last change says.
func TestAtMostOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		faults := []fault{{status: 500}, {}, {apply: true}, {status: 200, apply: true, takes: 4 * time.Second}, {status: 201, apply: true}}
		n := 0
		b.fault = func(r request) (fault, bool) {
			n++
			f := faults[n*7%len(faults)]
			return f, n < 300 && n%3 != 0 && f.status != 201
		}
		stop1, stop2 := b.run("reactor-1"), b.run("reactor-2")
		ids := []string{"a", "b", "c", "d"}
		b.create(ids...)
		for i := range 200 {
			time.Sleep(time.Duration(i*37%50) * time.Second)
			id := ids[i%len(ids)]
			b.do(id, relaysync.Updated{By: by(relaysync.Host), Subdomain: "sub", Config: config(fmt.Sprint(i))})
			for _, id := range ids {
				s := b.get(id)
				if err := relaysync.Check(s); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, id := range ids {
			if s := b.get(id); s.Phase() == relaysync.PhaseExhausted {
				b.do(id, relaysync.Retried{By: by(relaysync.Operator)})
			}
		}
		time.Sleep(2 * time.Hour)
		if b.overlap {
			t.Error("a relay was sent by two at once")
		}
		for _, id := range ids {
			s := b.get(id)
			want := string(s.Relay.Info)
			got, _ := json.Marshal(b.bodies[id]["info"])
			if !s.Relay.Synced || string(got) != want {
				t.Errorf("%s: synced %v, the server has %s, expected %s", id, s.Relay.Synced, got, want)
			}
			if _, err := b.relays.Trail(context.Background(), id); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(stop1(), stop2()); err != nil {
			t.Fatal(err)
		}
	})
}

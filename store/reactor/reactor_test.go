package reactor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/reactor"
)

// A relay that always fails is sent at 0, 30, 90, 210, 450, 930 and 1830 s, over
// restarts, and then never again until somebody asks.
func TestFailingRelayOverRestarts(t *testing.T) {
	for _, restart := range []time.Duration{0, 7 * time.Second, 100 * time.Second, 1000 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.fault = func(request) (fault, bool) { return fault{status: 503, body: "down"}, true }
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
			b.fault = nil
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
		b.fault = func(request) (fault, bool) { return fault{}, true }
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
		b.fault = func(r request) (fault, bool) { return fault{apply: true}, r.at.Equal(b.start) }
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
		if s := b.get("a"); !s.Relay.Synced || s.Relay.SyncError != "" || len(b.made) != 2 || b.made[0] == b.made[1] || b.secrets["a"] != b.made[0] {
			t.Errorf("%+v, secrets %d", s.Relay, len(b.made))
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A gateway's time-out is no answer of the server's: the request arrives after the
// relay was deactivated and sent again, and does not stay.
func TestLateBehindAGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		stop := b.run("reactor-1")
		b.create("a")
		time.Sleep(time.Second)
		b.fault = func(request) (fault, bool) { return fault{status: 504}, true }
		s := b.do("a", relaysync.Activated{By: by(relaysync.Host)})
		time.Sleep(time.Second)
		b.fault = nil
		b.do("a", relaysync.Deactivated{By: by(relaysync.Host)})
		time.Sleep(time.Second)
		late, err := b.relays.Policy().Attempt(s)
		var doc map[string]any
		if err = errors.Join(err, json.Unmarshal(late.Requests[0].Body, &doc)); err != nil || b.apply(request{method: "PATCH", relay: "a"}, doc) != 200 {
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

// What a killed process was sending is claimed when its lease ends, at once and
// as no failure; what it sent may still arrive, so it is sent once more.
func TestKilledReactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.create("a")
		items, _, err := b.relays.Syncs("killed").Turn(context.Background(), nil, 1)
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

// A burst is larger than the broadcast's buffer: the reactor lags, is told so,
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

// The end of the broadcast ends the reactor, with an error of its own; a new one
// finds what is due.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New(memory.Options{})
		b := newBench(t)
		b.relays, _ = store.NewRelays(db, relaysynctest.Policy())
		b.fault = func(request) (fault, bool) { return fault{status: 500}, true }
		stop := b.run("reactor-1")
		b.create("a")
		time.Sleep(time.Second)
		b.relays.Close()
		synctest.Wait()
		if err := stop(); !errors.Is(err, store.ErrClosed) {
			t.Fatalf("it ended with %v", err)
		}
		time.Sleep(time.Hour)
		b.expectTimes("a", 0)
		b.relays, _ = store.NewRelays(db, relaysynctest.Policy())
		b.fault = nil
		stop = b.run("reactor-2")
		time.Sleep(time.Second)
		b.expectTimes("a", 0, 3601)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Two reactors, updates at any time, slow answers, failures and lost answers: a
// relay is sent by one at a time, is never without an owner, and ends as it was
// changed last.
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

// The secret and the signature are in no record, trail, log or error, however
// the server answers with them.
func TestSecretsStayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		echo := func(cut int) func(request) (fault, bool) {
			return func(r request) (fault, bool) {
				secret := b.made[len(b.made)-1]
				text := `{"error":"bad \u0073ecret ` + strings.ToUpper(secret) + ` and ` + secret
				if cut > 0 {
					text = strings.Repeat("x", 64<<10-cut) + secret // the end is not read
				}
				return fault{status: 400, body: text}, true
			}
		}
		stop := b.run("reactor-1")
		b.fault = echo(0)
		b.create("a")
		time.Sleep(10 * time.Second)
		synctest.Wait() // for what the server reads
		b.fault = echo(30)
		b.create("b")
		time.Sleep(time.Hour)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		trace := b.log.String()
		for _, id := range []string{"a", "b"} {
			trail, err := b.relays.Trail(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			trace += fmt.Sprintf("%+v %+v", b.get(id), trail)
		}
		if len(b.made) != 14 {
			t.Errorf("%d secrets were made", len(b.made))
		}
		for _, secret := range b.made {
			for n := len(secret); n >= 16; n-- {
				if strings.Contains(strings.ToLower(trace), secret[:n]) {
					t.Fatalf("%d digits of a secret are in a record or a log", n)
				}
			}
		}
	})
}

// A redirect is an answer like others that are not 2xx.
func TestRedirectsAreNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		status := 0
		b.fault = func(r request) (fault, bool) {
			return fault{status: status, header: http.Header{"Location": {"http://zooid.example/relay/other"}}}, true
		}
		stop := b.run("reactor-1")
		for i, code := range []int{301, 302, 303, 307, 308} {
			status = code
			id := fmt.Sprint("a", code)
			b.create(id)
			time.Sleep(time.Second)
			synctest.Wait() // for what the server wrote
			if len(b.got) != i+1 || !strings.HasPrefix(b.get(id).Relay.SyncError, fmt.Sprint("status ", code)) {
				t.Errorf("%v, %q", b.got, b.get(id).Relay.SyncError)
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// News wake the reactor: what is committed in its process is sent at once, not
// when it asks again.
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

// A sync that cannot be signed is a failure; one that is given back is none.
func TestNothingSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.create("a")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- reactor.Run(ctx, b.relays, reactor.Options{Name: "r", URL: "http://z", Transport: b.server,
				Authorize: func(context.Context, relaysync.AuthEvent) (string, error) {
					return "", errors.New("the signer is locked")
				}})
		}()
		time.Sleep(time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if s := b.get("a"); len(b.got) != 0 || s.Relay.SyncError != "no signature: the signer is locked" || s.Phase() != relaysync.PhaseWaiting || !s.Timer.UnansweredAt.IsZero() {
			t.Errorf("%d requests, %+v", len(b.got), s)
		}
	})
}

// failing is a store whose first updates fail.
type failing struct {
	*memory.Store
	left atomic.Int64
}

func (f *failing) Update(ctx context.Context, fn func(store.Unit) error) error {
	if f.left.Add(-1) >= 0 {
		return errors.New("the database is away")
	}
	return f.Store.Update(ctx, fn)
}

// The reconcile at the start goes on until the database is there, and reports
// what is given up by the history that another writer has left.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, db := newBench(t), &failing{Store: memory.New(memory.Options{})}
		b.relays, _ = store.NewRelays(db, relaysynctest.Policy())
		stop := b.run("reactor-0")
		b.create("a")
		time.Sleep(time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		s := b.get("a")
		p := b.relays.Policy()
		forged, err := p.Apply(s, relaysync.Activated{By: relaysync.By{Actor: "another", Role: relaysync.Host, At: time.Now()}})
		if err != nil || !s.Relay.Synced {
			t.Fatal(s.Phase(), err)
		}
		forged.New.Timer, forged.New.Relay.Synced, forged.New.Relay.SyncError = s.Timer, false, "no"
		forged.Activities[0].Type = relaysync.FailRelaySync
		for len(forged.Activities) < 7 {
			forged.Activities = append(forged.Activities, forged.Activities[0])
		}
		if err := db.Update(context.Background(), func(tx store.Unit) error { return tx.Relays().Save(forged) }); err != nil {
			t.Fatal(err)
		}
		db.left.Store(10)
		stop = b.run("reactor-1")
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		log, now := b.log.String(), b.get("a")
		if n := strings.Count(log, "the database is away"); n < 2 || strings.Count(log, "awaiting manual intervention") != 1 || now.Phase() != relaysync.PhaseExhausted {
			t.Errorf("%v, after %d reports of the database: %s", now.Phase(), n, log)
		}
	})
}

// damaged is a store in which a relay cannot be read.
type damaged struct {
	*memory.Store
	what *string
}

func (d damaged) Update(ctx context.Context, fn func(store.RelayUnit) error) error {
	return d.Store.Update(ctx, func(tx store.Unit) error { return fn(damagedUnit{tx, d.what}) })
}

func (d damaged) View(ctx context.Context, fn func(store.RelayUnit) error) error {
	return d.Store.View(ctx, func(tx store.Unit) error { return fn(tx) })
}

type damagedUnit struct {
	store.RelayUnit
	what *string
}

func (d damagedUnit) Relays() store.RelayRecords { return damagedRelays{d.RelayUnit.Relays(), d.what} }

type damagedRelays struct {
	store.RelayRecords
	what *string
}

func (d damagedRelays) Due(now time.Time, limit int) (due []relaysync.Sync, unreadable []error, err error) {
	due, unreadable, err = d.RelayRecords.Due(now, limit)
	if *d.what != "" {
		unreadable = append(unreadable, errors.New(*d.what))
	}
	return due, unreadable, err
}

// What is due and cannot be read is in the log, once as long as it stays the same,
// and the others are sent.
func TestUnreadableIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		what := "relay x: no such status"
		b.relays, _ = store.NewRelays(damaged{b.db, &what}, relaysynctest.Policy())
		stop := b.run("reactor-1")
		b.create("a")
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.log.String(), what); n != 1 || !b.get("a").Relay.Synced {
			t.Errorf("%d lines: %s", n, b.log.String())
		}
		what = "relay y: no such status"
		stop = b.run("reactor-2")
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.log.String(), what); n != 1 || !strings.Contains(b.log.String(), "relays are due that cannot be read") {
			t.Errorf("%d lines: %s", n, b.log.String())
		}
	})
}

// A reactor that could send nothing does not begin: every relay would be given
// up for a misspelt URL.
func TestOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for name, set := range map[string]func(*reactor.Options){
			"no name": func(o *reactor.Options) { o.Name = "" }, "a long name": func(o *reactor.Options) { o.Name = strings.Repeat("n", 201) },
			"a NUL": func(o *reactor.Options) { o.Name = "a\x00" }, "no signer": func(o *reactor.Options) { o.Authorize = nil },
			"no URL": func(o *reactor.Options) { o.URL = "" }, "no scheme": func(o *reactor.Options) { o.URL = "zooid.example" }, "no host": func(o *reactor.Options) { o.URL = "http://" },
			"another scheme": func(o *reactor.Options) { o.URL = "ftp://z" }, "no URL at all": func(o *reactor.Options) { o.URL = "http://a b" },
			"a query": func(o *reactor.Options) { o.URL = "http://z/?a=b" }, "a password": func(o *reactor.Options) { o.URL = "http://u:p@z" },
			"a negative reconcile": func(o *reactor.Options) { o.Reconcile = -1 }, "a negative concurrency": func(o *reactor.Options) { o.Concurrency = -1 },
		} {
			o := reactor.Options{Name: "r", URL: "http://z", Transport: b.server, Authorize: func(context.Context, relaysync.AuthEvent) (string, error) { return "", nil }}
			set(&o)
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			begun := time.Now()
			if err := reactor.Run(ctx, b.relays, o); !errors.Is(err, statemachine.ErrInvalid) || time.Since(begun) > time.Second {
				t.Errorf("%s: after %v %v", name, time.Since(begun), err)
			}
			cancel()
		}
	})
}

// A reconcile pulls in what a clock that went back has left too far away: at the
// start, or where somebody asks for it from time to time.
func TestReconciles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- reactor.Run(ctx, b.relays, reactor.Options{Name: "r", URL: "http://z", Transport: b.server, Reconcile: 10 * time.Minute,
				Authorize: func(context.Context, relaysync.AuthEvent) (string, error) { return "", nil }})
		}()
		time.Sleep(time.Minute)
		b.ahead("b")
		time.Sleep(time.Hour)
		b.expectTimes("b", 600+900)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.ahead("a")
		stop := b.run("reactor-1")
		time.Sleep(time.Hour)
		b.expectTimes("a", 900)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

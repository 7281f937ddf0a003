package reactor_test

import (
	"context"
	"errors"
	"fmt"
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

// How a reactor begins, and what it reports of records that it cannot send.

// A reactor that could send nothing does not begin: with a misspelt URL it would use up the
// retries of every relay.
func TestOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for name, set := range map[string]func(*reactor.Options){
			"no name": func(o *reactor.Options) { o.Name = "" }, "a long name": func(o *reactor.Options) { o.Name = strings.Repeat("n", 201) },
			"a NUL": func(o *reactor.Options) { o.Name = "a\x00" }, "no signer": func(o *reactor.Options) { o.Authorize = nil },
			"no URL": func(o *reactor.Options) { o.URL = "" }, "no scheme": func(o *reactor.Options) { o.URL = "zooid.example" },
			"no host": func(o *reactor.Options) { o.URL = "http://" }, "another scheme": func(o *reactor.Options) { o.URL = "ftp://z" },
			"no URL at all": func(o *reactor.Options) { o.URL = "http://a b" }, "a query": func(o *reactor.Options) { o.URL = "http://z/?a=b" },
			"a password":             func(o *reactor.Options) { o.URL = "http://u:p@z" },
			"a negative reconcile":   func(o *reactor.Options) { o.Reconcile = -1 },
			"a negative concurrency": func(o *reactor.Options) { o.Concurrency = -1 },
		} {
			o := reactor.Options{Name: "r", URL: "http://z", Transport: b.server,
				Authorize: func(context.Context, relaysync.AuthEvent) (string, error) { return "", nil }}
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

// The reconcile at the start goes on until the database is there, and logs the relays that are
// given up because of the history that another writer has left.
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
		time.Sleep(2 * time.Second)
		if left := db.left.Load(); left < 1 {
			t.Errorf("a database that is away is asked all the time: %d failures are left", left)
		}
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		log, now := b.log.String(), b.get("a")
		if n := strings.Count(log, "the database is away"); n < 2 || strings.Count(log, "awaiting manual intervention") != 1 ||
			now.Phase() != relaysync.PhaseExhausted {
			t.Errorf("%v, after %d reports of the database: %s", now.Phase(), n, log)
		}
	})
}

// A reconcile brings back due times that a clock which was ahead has left too far away: at the
// start, and regularly with Options.Reconcile.
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
		stop = b.run("reactor-2") // where nothing is to be done, nothing is said
		time.Sleep(time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if log := b.log.String(); strings.Count(log, "relays without a timer have one") != 1 ||
			!strings.Contains(log, "reason=startup relays=1") {
			t.Errorf("what a reconcile has done is not reported once: %s", log)
		}
	})
}

// damaged is a store in which a relay cannot be read, and does not wait for a sync.
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

func (d damagedRelays) Pending(after string, limit int) ([]string, error) {
	ids, err := d.RelayRecords.Pending(after, limit)
	if after < "z" && *d.what != "" {
		ids = append(ids, "z")
	}
	return ids, err
}

func (d damagedRelays) Get(ids ...string) ([]relaysync.Sync, error) {
	if slices.Contains(ids, "z") {
		return nil, fmt.Errorf("%w: z", statemachine.ErrCorrupt)
	}
	return d.RelayRecords.Get(ids...)
}

// A due relay that cannot be read is logged once as long as the text stays the same, and the
// other relays are sent.
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
		if log := b.log.String(); strings.Count(log, "relays that cannot be reconciled") != 1 ||
			!strings.Contains(log, "reason=startup error=\"stored record breaks an invariant: z\"") {
			t.Errorf("what cannot be reconciled is not reported: %s", log)
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

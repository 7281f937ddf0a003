package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// Relays proves the relays of a store.
func Relays[T store.RelayUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	opened := func(t *testing.T) *relays { return newRelays(t, timedRelays(open(t))) }
	versioned(t, func(t *testing.T) *relaySubject { return opened(t).relaySubject }, func(t *testing.T) *relaySubject {
		return newRelays(t, timedRelays(memory.New(memory.Options{}))).relaySubject
	})
	type of = *relays
	prove(t, opened, []rule[of]{
		{"every field comes back", of.everyRelayField},
		{"activities are in the order of commits, whatever the clocks say", of.relayActivities},
		{"a reconcile gives a timer to all that need one, and changes nothing again", of.reconciledRelays},
		{"a lease that a clock which went back has left ends after its length", of.leaseOfTheFuture},
		{"relays that are stopped begin no sync, and what has begun ends", of.stopped},
		{"after a restore relays are started once each is due again", of.restored},
		{"a page is grouped by what each waits for, with what the switch says", of.causes},
		{"subscribers hear of what was committed, and of nothing else", of.relayNews},
	})
}

type (
	relaySubject = subject[store.RelayUnit, string, string, relaysync.Sync, relaysync.Event, relaysync.Change]
	relayStage   = stage[string, relaysync.Sync, relaysync.Event]
)

// relays is one store under test.
type relays struct {
	*relaySubject
	service *store.Relays
	ids     atomic.Int64
}

func newRelays(t *testing.T, s store.Store[store.RelayUnit]) *relays {
	t.Helper()
	r := &relays{service: must(store.NewRelays(s, relaysynctest.Policy()))(t)}
	r.relaySubject = r.subject(s)
	return r
}

func (r *relays) id() string { return fmt.Sprintf("relay_%06d", r.ids.Add(1)) }

const reactor1 = "reactor-1"

func relayBy(role relaysync.Role, at time.Time) relaysync.By {
	by := relaysync.By{Actor: "somebody", Role: role, At: at}
	if role == relaysync.Reactor {
		by.Actor = reactor1
	}
	return by
}

func relayConfig(name string) relaysync.Config {
	return relaysync.Config{Info: relaysync.Document(`{"name":"` + name + `","pubkey":"` + strings.Repeat("ab", 32) + `"}`)}
}

func relayCreated(id string, at time.Time) relaysync.Created {
	return relaysync.Created{By: relayBy(relaysync.Host, at), Relay: id, Tenant: "tenant", Subdomain: "sub", Config: relayConfig("a")}
}

func relayUpdated(at time.Time, name string) relaysync.Updated {
	return relaysync.Updated{By: relayBy(relaysync.Host, at), Subdomain: "sub", Config: relayConfig(name)}
}

func relayFinished(at time.Time, fence int64, o statemachine.Outcome) relaysync.Finished {
	return relaysync.Finished{By: relayBy(relaysync.Reactor, at), Fence: fence, Outcome: o, Error: "no"}
}

// everyRelayField goes through lives that set and move every field.
func (r *relays) everyRelayField(t *testing.T) {
	f := newLife(t, r.relaySubject)
	f.records = func(s *relaysync.Sync) map[string]any {
		return map[string]any{"Relay": s.Relay, "Timer": s.Timer, "History": s.History}
	}
	by := func(role relaysync.Role) relaysync.By { return relayBy(role, f.tick()) }
	cfg := relayConfig(`é世 \"quoted\" <b>`)
	full := relayConfig("another name")
	full.Policy, full.Groups, full.Management = `{"a":1.50}`, `{"b":[1,"x",{}]}`, `{"c":{"d":true}}`
	full.Push, full.Roles, full.Blossom, full.Livekit = `{"e":{}}`, `{"f":123456789012345678901234567890}`, `{"g":"h"}`, `{"i":"j"}`
	full.BlossomEnabled, full.LivekitEnabled = 1, -1<<63
	f.do(relaysync.Created{By: by(relaysync.Host), Relay: r.id(), Tenant: "ténant", Subdomain: "first", Config: cfg},
		relaysync.Claimed{By: by(relaysync.Reactor)},
		relaysync.Updated{By: by(relaysync.Host), Subdomain: "second", Config: full})
	f.later()
	f.do(relaysync.Claimed{By: by(relaysync.Reactor)}, // taken over
		relayFinished(f.tick(), 2, statemachine.Unknown))
	for f.later(); f.a.Phase() != relaysync.PhaseExhausted; f.later() {
		f.do(relaysync.Claimed{By: by(relaysync.Reactor)}, relayFinished(f.tick(), f.a.Timer.Lease.Fence+1, statemachine.Failed))
	}
	f.do(relaysync.Recreated{By: by(relaysync.Operator), Reason: "gone"}, relaysync.Deactivated{By: by(relaysync.Biller)},
		relaysync.Claimed{By: by(relaysync.Reactor)}, relayFinished(f.tick(), f.a.Timer.Lease.Fence+1, statemachine.Done))
	f.do(relaysync.Deleted{By: by(relaysync.Host)})
	f.end(strings.Fields("Relay.ID Relay.Tenant Relay.CreatedAt"),
		map[string]any{"Relay": relaysync.Relay{}, "Timer": relaysync.Timer{}, "History": relaysync.History{}}, nil)
}

func (r *relays) relayActivities(t *testing.T) {
	a, b := r.id(), r.id()
	r.do(t, a, relayCreated(a, start.Add(time.Hour)))
	r.do(t, b, relayCreated(b, start))
	s := r.do(t, a, relayUpdated(start, "b"), relaysync.Claimed{By: relayBy(relaysync.Reactor, start)},
		relayFinished(start, 1, statemachine.Failed))
	all, err := r.service.Activities(ctx, a, 10)
	var kinds []string
	for i, x := range all {
		kinds = append(kinds, x.Type)
		if !x.CreatedAt.Equal(start.Add(time.Hour)) || x.ResourceID != a || i > 0 && x.Sequence >= all[i-1].Sequence {
			t.Errorf("%+v", x)
		}
	}
	if want := []string{relaysync.FailRelaySync, relaysync.UpdateRelay, relaysync.CreateRelay}; err != nil || !slices.Equal(kinds, want) {
		t.Errorf("%v, %v", kinds, err)
	}
	if s.History != relaysync.HistoryOf(all) {
		t.Errorf("%+v", s.History)
	}
	if first, err := r.service.Activities(ctx, a, 1); err != nil || len(first) != 1 || first[0] != all[0] {
		t.Errorf("the newest is %+v, %v", first, err)
	}
}

func (r *relays) reconciledRelays(t *testing.T) {
	far := r.id()
	r.do(t, far, relayCreated(far, start.Add(time.Hour))) // its clock was ahead
	near := r.id()
	r.do(t, near, relayCreated(near, start))
	by := relayBy(relaysync.Reactor, start)
	for round, want := range []int{1, 0} {
		last, changed, refused, err := r.service.Reconcile(ctx, by, "", 100)
		if err != nil || refused != nil || len(changed) != want || last != near {
			t.Fatalf("round %d: %d changed up to %q, %v, %v", round, len(changed), last, refused, err)
		}
	}
	s, err := r.service.Get(ctx, far)
	if err != nil || !s.Timer.Due.Equal(start.Add(15*time.Minute)) {
		t.Errorf("due at %v, %v", s.Timer.Due, err)
	}
	if last, _, _, err := r.service.Reconcile(ctx, by, near, 100); last != "" || err != nil {
		t.Errorf("behind the last one is %q, %v", last, err)
	}
}

// leaseOfTheFuture: its holder is dead, and its end is far away; one that a live
// holder has renewed meanwhile stays.
func (r *relays) leaseOfTheFuture(t *testing.T) {
	far, near := r.id(), r.id()
	for id, at := range map[string]time.Time{far: start.Add(24 * time.Hour), near: start} {
		r.do(t, id, relayCreated(id, at), relaysync.Claimed{By: relayBy(relaysync.Reactor, at)})
	}
	length := r.service.Policy().Lease
	for range 2 {
		if _, _, refused, err := r.service.Reconcile(ctx, relayBy(relaysync.Reactor, start), "", 100); err != nil || refused != nil {
			t.Fatal(refused, err)
		}
		for _, id := range []string{far, near} {
			s, err := r.service.Get(ctx, id)
			if err != nil || !s.Timer.Lease.Until.Equal(start.Add(length)) || s.Phase() != relaysync.PhaseSyncing {
				t.Fatalf("%s is %v until %v, %v", id, s.Phase(), s.Timer.Lease.Until, err)
			}
		}
	}
	var due []relaysync.Sync
	err := r.Update(ctx, func(tx store.RelayUnit) (err error) {
		due, err = readable(tx.Relays().Due(start.Add(length), 10))
		return err
	})
	if err != nil || len(due) != 2 {
		t.Errorf("%d relays are due when their leases end, %v", len(due), err)
	}
	if trail, err := r.service.Trail(ctx, far); err != nil || len(trail) != 3 {
		t.Errorf("the trail has %d lines, %v", len(trail), err)
	}
}

func (r *relays) relayNews(t *testing.T) {
	news := r.service.Subscribe()
	id := r.id()
	r.do(t, id, relayCreated(id, start), relayUpdated(start, "b"))
	if _, err := r.service.Do(ctx, id, relayUpdated(start, "c"), relaysync.Finished{By: relayBy(relaysync.Reactor,
		start), Fence: 9}); err == nil {
		t.Fatal("a result of nobody was taken")
	}
	_ = r.Update(ctx, func(tx store.RelayUnit) error {
		_, err := r.service.Within(tx).Do(ctx, id, relayUpdated(start, "d"))
		return errors.Join(err, errRollback)
	})
	r.do(t, id, relaysync.Claimed{By: relayBy(relaysync.Reactor, start)}, relayFinished(start, 1, statemachine.Failed))
	for _, want := range []string{relaysync.CreateRelay, relaysync.UpdateRelay, relaysync.FailRelaySync} {
		if a, err := news.Receive(ctx); err != nil || a.Type != want || a.ResourceID != id {
			t.Fatalf("heard %+v, %v, expected %s", a, err, want)
		}
	}
	quiet, cancel := context.WithCancel(ctx)
	cancel()
	if a, err := news.Receive(quiet); !errors.Is(err, context.Canceled) {
		t.Fatalf("heard %+v, %v", a, err)
	}
}

// subject says how to make relays, for the rules of any versioned record.
func (r *relays) subject(s store.Store[store.RelayUnit]) *relaySubject {
	return &relaySubject{
		Store:   s,
		service: r.service,
		within: func(tx store.RelayUnit) service[string, string, relaysync.Sync, relaysync.Event] {
			return r.service.Within(tx)
		},
		records: func(tx store.RelayUnit) records[string, string, relaysync.Sync, relaysync.Change] { return tx.Relays() },
		held:    r.service.DoHeld,
		apply:   r.service.Policy().Apply,
		check:   relaysync.Check,
		states: func(s *relaysync.Sync) (all []stored[string]) {
			if s.Relay.Version > 0 {
				all = append(all, stored[string]{s.Relay.ID, s.Relay.Version, s.Phase().String()})
			}
			return all
		},
		newID:  r.id,
		id:     func(s *relaysync.Sync) string { return s.Relay.ID },
		stages: relayStages(),
		speech: &speech[string, relaysync.Sync, relaysync.Event]{store.DomainRelays, relaysync.Machine.Name(), relaysync.Events(),
			func(ev relaysync.Event) uint8 { return uint8(relaysync.Speakers(ev)) }, relayLives()},
		outside: map[string]func(*relaysync.Sync){
			"holder": func(s *relaysync.Sync) { s.Timer.Lease.Holder += "x" },
			"fence":  func(s *relaysync.Sync) { s.Timer.Lease.Fence-- },
			"fence and holder": func(s *relaysync.Sync) {
				s.Timer.Lease.Fence--
				s.Timer.Lease.Holder += "x"
			},
		},
		lease: func(s *relaysync.Sync) *statemachine.Lease { return &s.Timer.Lease },
		renew: func(tx store.RelayUnit, now time.Time, s *relaysync.Sync, fence int64, until time.Time) (bool, error) {
			lost, err := tx.Relays().Renew(now, store.Lease[string]{ID: s.Relay.ID, Fence: fence, Until: until})
			return len(lost) > 0, err
		},
		revoke: func(ctx context.Context, of statemachine.Revocation) (int, error) {
			return r.service.Revoke(ctx, relaysync.By{Actor: "op", Role: relaysync.Operator}, of)
		},
		facts: func(tx store.RelayUnit, s *relaysync.Sync) (map[string]any, error) {
			all, err := tx.Relays().Activities(relaysync.ResourceRelay, s.Relay.ID, 1000)
			for i := range all {
				all[i].Sequence = 0 // of the whole store
			}
			return map[string]any{"Activities": all}, err
		},
		lists: []list[store.RelayUnit, string, relaysync.Sync]{
			{"List", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().List("", after, limit)
			},
				func(s *relaysync.Sync, _ time.Time) bool { return true }, nil},
			{"List of a tenant", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().List("tenant", after, limit)
			}, func(s *relaysync.Sync, _ time.Time) bool {
				return s.Relay.Tenant == "tenant" && s.Relay.DeletedAt.IsZero()
			}, nil},
			{"Pending", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().Pending(after, limit)
			},
				func(s *relaysync.Sync, _ time.Time) bool { return s.Relay.Pending() }, nil},
			{"ForOperator", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().ForOperator(after, limit)
			},
				func(s *relaysync.Sync, _ time.Time) bool { return s.NeedsOperator() }, nil},
			{"HeldBy", func(tx store.RelayUnit, _ time.Time, after string, limit int) ([]string, error) {
				return tx.Relays().HeldBy(reactor1, after, limit)
			},
				func(s *relaysync.Sync, _ time.Time) bool { return s.Timer.Lease.Holder == reactor1 }, nil},
		},
		also: r.errorsLeft,
		stats: func(tx store.RelayUnit, all []relaysync.Sync, now time.Time) (got, want any, err error) {
			w := relaysync.Stats{At: now, Phases: map[relaysync.Phase]int64{}}
			for i := range all {
				w.Add(&all[i])
				some, err := tx.Relays().Activities(relaysync.ResourceRelay, all[i].Relay.ID, 1000)
				if err != nil {
					return nil, nil, err
				}
				for k := range some {
					w.AddActivity(&some[k], 2*time.Hour)
				}
			}
			got, err = tx.Relays().Stats(now, 2*time.Hour)
			return got, w, err
		},
		limits: map[string]func(int) error{
			"Activities": func(n int) error { return errOf(r.service.Activities(ctx, "a", n)) },
			"Audit":      func(n int) error { return errOf(r.service.Audit(ctx, "", n)) },
			"Reconcile": func(n int) error {
				_, _, _, err := r.service.Reconcile(ctx, relayBy(relaysync.Reactor, start), "", n)
				return err
			},
		},
		overdue: &overdue[store.RelayUnit, relaysync.Sync]{
			states: unfinished(relaysync.Machine, relaysync.PhaseClean, relaysync.PhaseExhausted), // the latter is a person's
			until:  func(*relaysync.Sync) time.Duration { return relaysync.DefaultThresholds().Owed },
			alerts: func(tx store.RelayUnit, now time.Time) (names []string, err error) {
				stats, err := tx.Relays().Stats(now, 2*time.Hour)
				for _, a := range relaysync.Alerts(stats, relaysync.DefaultThresholds()) {
					if a.Name == "relay owed" {
						names = append(names, a.Name)
					}
				}
				return names, err
			},
			again: func(t testing.TB, s *relaysync.Sync, now time.Time) { // a sync that is not tried
				if at, due := s.DueAt(); due && !at.After(now) {
					r.do(t, s.Relay.ID, relaysync.Claimed{By: relayBy(relaysync.Reactor, now)}, relayFinished(now,
						s.Timer.Lease.Fence+1, statemachine.Deferred))
				}
			},
		},
		source: func(name string) source { return sourceOf(r.service.Work(name)) },
		owed: func(t testing.TB) relaysync.Sync {
			id := r.id()
			return r.do(t, id, relayCreated(id, time.Time{}))
		},
		selfCheck: func(ctx context.Context) error { return store.SelfCheckRelays(ctx, s) },
		due: []dueKind[store.RelayUnit, relaysync.Sync]{{
			name: "sync",
			find: func(tx store.RelayUnit, now time.Time, limit int) ([]relaysync.Sync, error) {
				return readable(tx.Relays().Due(now, limit))
			},
			next:    func(tx store.RelayUnit, now time.Time) (time.Time, error) { return tx.Relays().NextDue(now) },
			at:      (*relaysync.Sync).DueAt,
			compare: relaysync.CompareDue,
		}},
		draw: func(rt *rapid.T) history[string, relaysync.Sync, relaysync.Event] {
			first := relaysynctest.Creations().Draw(rt, "creation")
			first.Relay = r.id() + "_random"
			adversary, begun := new(relaysynctest.Adversary), false
			return history[string, relaysync.Sync, relaysync.Event]{id: first.Relay, steps: 40, next: func(s *relaysync.Sync) relaysync.Event {
				if !begun {
					begun = true
					return first
				}
				return adversary.Next(rt, *s)
			}}
		},
	}
}

// errorsLeft adds relays that no step leads to: relays that another writer of the table may leave, synced with an
// error, or not synced without a timer; one of which nothing more is tried; and a deleted one.
func (r *relays) errorsLeft(t testing.TB, add func(relaysync.Sync)) {
	for i := range r.stages {
		for _, left := range []relaysync.Relay{{Synced: true, SyncError: "left"}, {Synced: true}, {SyncError: "left"}, {}} {
			a := r.make(t, &r.stages[i])
			c := r.change(t, a, relayUpdated(start, "forged"))
			c.New.Relay.Synced, c.New.Relay.SyncError, c.New.Timer = left.Synced, left.SyncError, a.Timer
			noError(t, r.save(c))
			add(r.get(t, a.Relay.ID))
		}
	}
	id, at := r.id(), start
	add(r.do(t, id, relayCreated(id, at), relaysync.Deleted{By: relayBy(relaysync.Host, at)}))
	id = r.id()
	a := r.do(t, id, relayCreated(id, at))
	for ; a.Phase() != relaysync.PhaseExhausted; at = at.Add(2 * time.Hour) {
		a = r.do(t, id, relaysync.Claimed{By: relayBy(relaysync.Reactor, at)}, relayFinished(at, a.Timer.Lease.Fence+1, statemachine.Failed))
	}
	add(a)
}

func relayStages() []relayStage {
	claim := relaysync.Claimed{By: relayBy(relaysync.Reactor, start)}
	due := func(id string) []relaysync.Event { return []relaysync.Event{relayCreated(id, start)} }
	syncing := func(id string) []relaysync.Event { return append(due(id), claim) }
	clean := func(id string) []relaysync.Event {
		return append(syncing(id), relayFinished(start, 1, statemachine.Done))
	}
	waiting := func(id string) []relaysync.Event {
		return append(syncing(id), relayFinished(start, 1, statemachine.Failed))
	}
	updates := func(s *relaysync.Sync, i int) relaysync.Event {
		u := relayUpdated(start, fmt.Sprint("rival ", i))
		u.Revision = s.Relay.Revision + 1
		return u
	}
	return []relayStage{
		{name: "a relay that is due", events: due, rivals: updates,
			claim: func(*relaysync.Sync) relaysync.Event { return claim },
			back: func(s *relaysync.Sync) []relaysync.Event {
				return []relaysync.Event{claim, relayFinished(start, s.Timer.Lease.Fence+1, statemachine.Deferred)}
			}},
		{name: "a relay that is synced now", events: syncing, rivals: updates,
			back: func(s *relaysync.Sync) []relaysync.Event {
				return []relaysync.Event{relayFinished(start, s.Timer.Lease.Fence, statemachine.Deferred), claim}
			}},
		{name: "a relay that is clean", events: clean, rivals: updates},
		{name: "a relay that waits", events: waiting, rivals: updates},
	}
}

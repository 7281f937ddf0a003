package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Relays runs the rules of package relaysync on a store: load, apply, save. Each
// method is one transaction. It is safe for concurrent use.
//
// Every command may be repeated under its key. After [ErrUnknownCommit] a caller sends it again.
// Actor and role of an event come from the caller. Leave At zero: then the store's clock counts,
// which is the same for all hosts.
//
// After a commit its activities go to the subscribers in this process, see [Relays.Subscribe]. An
// activity only wakes a subscriber. The due time is in the database, set in the same commit, so
// nothing depends on the message.
type Relays struct {
	relayCore
	policy relaysync.Policy
	news   *broadcast[RelayNews]
}

type (
	relayCore      = core[RelayUnit, string, string, relaysync.Sync, relaysync.Event, relaysync.Change]
	relayBatch     = batch[RelayUnit, string, string, relaysync.Sync, relaysync.Event, relaysync.Change]
	relayCommand   = command[string, relaysync.Sync, relaysync.Event]
	relayAggregate = aggregate[RelayUnit, string, string, relaysync.Sync, relaysync.Event, relaysync.Change]
)

// RelayNews is an activity that was committed, without its Sequence.
type RelayNews struct {
	relaysync.Activity
	GivenUp bool // retries are exhausted with it
}

// broadcastSize is how many activities a subscriber may be behind.
const broadcastSize = 1024

// NewRelays returns the service for a store of any transaction type that has
// relays. A policy that [relaysync.Policy.Validate] refuses is
// [statemachine.ErrInvalid].
func NewRelays[T RelayUnit](s Store[T], p relaysync.Policy) (*Relays, error) {
	if err := errors.Join(p.Validate(), lacks(s, DomainRelays)); err != nil {
		return nil, err
	}
	r := &Relays{newCore(s, aggregateOfRelays(&p), func(tx T) RelayUnit { return tx }), p, newBroadcast[RelayNews](broadcastSize)}
	r.update = heard(r.update, r.news, func(tx RelayUnit, news *[]RelayNews) RelayUnit { return heardRelays{tx, news} })
	return r, nil
}

// heard sends what an update noted, once it is committed.
func heard[T any](update func(context.Context, func(T) error) error, to *broadcast[RelayNews],
	note func(T, *[]RelayNews) T) func(context.Context, func(T) error) error {
	return func(ctx context.Context, fn func(T) error) error {
		var news []RelayNews
		err := update(ctx, func(tx T) error {
			news = nil // fn may run more than once
			return fn(note(tx, &news))
		})
		if err == nil {
			to.send(news)
		}
		return err
	}
}

func aggregateOfRelays(p *relaysync.Policy) *relayAggregate {
	return &relayAggregate{
		domain:   DomainRelays,
		workers:  "relays",
		policy:   p,
		records:  func(tx RelayUnit) records[string, string, relaysync.Sync, relaysync.Change] { return tx.Relays() },
		machines: []machine[string]{machineOf[string](relaysync.Machine)},
		id:       func(s *relaysync.Sync) string { return s.Relay.ID },
		exists:   func(s *relaysync.Sync) bool { return s.Relay.Version != 0 },
		states: func(s *relaysync.Sync) []state[string] {
			return []state[string]{{relaysync.Machine.Name(), s.Relay.ID, s.Relay.Version, s.Phase().String()}}
		},
		creates: func(ev relaysync.Event) (string, bool) {
			e, ok := ev.(relaysync.Created)
			return e.Relay, ok
		},
		apply:  p.ApplyAt,
		result: func(c *relaysync.Change) *relaysync.Sync { return &c.New },
		empty:  (*relaysync.Change).Empty,
		merge:  (*relaysync.Change).Merge,
		beside: func(b *relayBatch) beside[relaysync.Sync, relaysync.Event, relaysync.Change] {
			return &leaseEnds{relayBatch: b}
		},
	}
}

// leaseEnds asks the switch for claims, and moves the end of a lease that a step moved,
// which a save does not.
type leaseEnds struct {
	*relayBatch
	relays asked
}

func (l *leaseEnds) fill(r *relaysync.Sync, ev relaysync.Event) (_ relaysync.Event, err error) {
	r.Level = 0
	if _, claims := ev.(relaysync.Claimed); claims {
		r.Level, err = l.relays.level(l.tx, switches.Relays)
	}
	return ev, err
}

func (l *leaseEnds) follow(c *relaysync.Change) error {
	was, is := &c.Old.Timer.Lease, &c.New.Timer.Lease
	if is.Holder == "" || was.Fence != is.Fence || was.Until.Equal(is.Until) {
		return nil
	}
	_, err := l.tx.Relays().Renew(c.Log[0].At, Lease[string]{ID: c.New.Relay.ID, Fence: is.Fence, Until: is.Until})
	return err // one that is lost meanwhile is refused by the save
}

// heardRelays and heardSaves note the activities of a transaction.
type heardRelays struct {
	RelayUnit
	news *[]RelayNews
}

func (h heardRelays) Relays() RelayRecords { return heardSaves{h.RelayUnit.Relays(), h.news} }

type heardSaves struct {
	RelayRecords
	news *[]RelayNews
}

func (h heardSaves) Save(changes ...relaysync.Change) error {
	for i := range changes {
		c := &changes[i]
		for k, a := range c.Activities {
			*h.news = append(*h.news, RelayNews{a, k == len(c.Activities)-1 && c.GivesUp()})
		}
	}
	return h.RelayRecords.Save(changes...)
}

// Within returns the service inside a transaction that the caller has begun and will end. Its
// methods then commit nothing themselves, and no subscriber is told of their changes: reactors
// find what is due when they ask again.
func (s *Relays) Within(tx RelayUnit) *Relays { return &Relays{s.within(tx), s.policy, s.news} }

// Policy returns the policy of the service.
func (s *Relays) Policy() relaysync.Policy { return s.policy }

// Subscribe returns a subscription to the activities of relays that this process commits from now
// on. A subscriber that is more than 1,024 activities behind gets a [LaggedError].
func (s *Relays) Subscribe() *RelaySubscription { return &RelaySubscription{s.news.subscribe()} }

// RelaySubscription receives the activities that are committed after it was made. Only one
// goroutine may use it.
type RelaySubscription struct{ from *subscription[RelayNews] }

// Receive waits for the next activity. It returns a [LaggedError], once, if activities were
// overwritten before they were read; [ErrClosed] when the broadcast has ended and everything left
// was received; or the error of ctx.
func (s *RelaySubscription) Receive(ctx context.Context) (RelayNews, error) {
	return s.from.receive(ctx)
}

// Close ends all subscriptions with [ErrClosed], for good, and so the reactors of this process.
// Everything else of the service goes on. Due times stay stored, and a new service can have
// subscribers again.
func (s *Relays) Close() { s.news.close() }

// RelayCommand is one or more events for one relay, in order.
type RelayCommand struct {
	Relay  string
	Events []relaysync.Event
}

// HeldRelay is one or more events, in order, for a relay that the caller still has from an
// earlier call.
type HeldRelay struct {
	Sync   relaysync.Sync
	Events []relaysync.Event
}

// Create makes a relay: see [relaysync.Created].
func (s *Relays) Create(ctx context.Context, ev relaysync.Created) (relaysync.Sync, error) {
	return s.Do(ctx, ev.Relay, ev)
}

// Do sends events to a relay, in order, and returns the relay as it is stored afterwards. If one
// event fails, nothing is changed. Created makes a relay that does not exist; any other event for
// such a relay is [statemachine.ErrNotFound].
func (s *Relays) Do(ctx context.Context, relay string, events ...relaysync.Event) (relaysync.Sync, error) {
	return only(s.DoAll(ctx, RelayCommand{relay, events}))
}

// DoAll is [Relays.Do] for many relays in one transaction: with the first error nothing is
// changed. A relay may occur once.
func (s *Relays) DoAll(ctx context.Context, commands ...RelayCommand) ([]relaysync.Sync, error) {
	return s.do(ctx, mapped(commands, func(c *RelayCommand) relayCommand { return relayCommand{id: c.Relay, events: c.Events} }))
}

// DoHeld is [Relays.Do] for a relay that the caller still has. If the stored relay has another
// version, it is [statemachine.ErrConflict], unless the record has all the events already. Only
// the version of the caller's copy counts: its other fields are read from the store.
func (s *Relays) DoHeld(ctx context.Context, r relaysync.Sync, events ...relaysync.Event) (relaysync.Sync, error) {
	return only(s.held(ctx, []relayCommand{{held: &r, events: events}}, true, nil))
}

// Get returns a relay, [statemachine.ErrNotFound] for an unknown one.
func (s *Relays) Get(ctx context.Context, relay string) (relaysync.Sync, error) {
	return read(ctx, s.view, func(tx RelayUnit) (relaysync.Sync, error) { return s.get(tx, relay) })
}

// Next says what a relay owes now, see [relaysync.Policy.Next]; Due is on the
// store's clock.
func (s *Relays) Next(ctx context.Context, relay string) (step relaysync.Step, now time.Time, err error) {
	return next(ctx, &s.relayCore, relay, func(tx RelayUnit, r relaysync.Sync, now time.Time) (relaysync.Step, error) {
		state, err := tx.Switches().Ask(switches.Relays)
		r.Level = state.Level
		return s.policy.Next(r, now), err
	})
}

// List pages through the ids of all relays, or of a tenant's that are not
// deleted, in byte order, behind an id.
func (s *Relays) List(ctx context.Context, tenant, after string, limit int) ([]string, error) {
	return read(ctx, s.view, func(tx RelayUnit) ([]string, error) { return tx.Relays().List(tenant, after, limit) })
}

// Pending pages through the ids of the relays that are unsynced or have an error, behind an id,
// as the source's list_relays_pending_sync does.
func (s *Relays) Pending(ctx context.Context, after string, limit int) ([]string, error) {
	return read(ctx, s.view, func(tx RelayUnit) ([]string, error) { return tx.Relays().Pending(after, limit) })
}

// ForOperator pages through the ids of the relays that wait for a person, since their retries are
// exhausted, in byte order, behind an id.
func (s *Relays) ForOperator(ctx context.Context, after string, limit int) ([]string, error) {
	return read(ctx, s.view, func(tx RelayUnit) ([]string, error) { return tx.Relays().ForOperator(after, limit) })
}

// ByCause groups up to [MaxPage] relays, of which a list gave the ids, by what they wait for now, as
// [relaysync.Policy.ByCause] does, with what the switch of relays says. Items are indexes of ids; an unknown relay
// waits for nothing. Those that cannot be read are named in the error, beside the groups of the others.
func (s *Relays) ByCause(ctx context.Context, ids ...string) ([]statemachine.Caused[relaysync.Cause], error) {
	return byCause(ctx, &s.relayCore, ids, func(tx RelayUnit, _ time.Time) (func(*relaysync.Sync) error, error) {
		state, err := tx.Switches().Ask(switches.Relays)
		return func(r *relaysync.Sync) error { r.Level = state.Level; return nil }, err
	}, s.policy.ByCause)
}

// Activities returns the newest activities of a relay, newest first.
func (s *Relays) Activities(ctx context.Context, relay string, limit int) ([]relaysync.Activity, error) {
	return read(ctx, s.view, func(tx RelayUnit) ([]relaysync.Activity, error) {
		return tx.Relays().Activities(relaysync.ResourceRelay, relay, limit)
	})
}

// Reconcile sends Reconciled to up to limit relays of [Relays.Pending] behind an id, in one
// transaction. last is the last id that it looked at, empty at the end; changed are the relays
// whose timer it set or brought nearer; refused names the relays that could not be reconciled.
func (s *Relays) Reconcile(ctx context.Context, by relaysync.By, after string, limit int) (last string,
	changed []relaysync.Sync, refused, err error) {
	before := map[string]int64{}
	last, changed, refused, err = s.sweepPage(ctx, func(tx RelayUnit) ([]string, error) { return tx.Relays().Pending(after, limit) },
		func(r *relaysync.Sync, _ time.Time) bool { before[r.Relay.ID] = r.Relay.Version; return true }, relaysync.Reconciled{By: by})
	changed = slices.DeleteFunc(changed, func(r relaysync.Sync) bool { return before[r.Relay.ID] == r.Relay.Version })
	return last, changed, refused, err
}

// Resync sends Retried to up to limit relays behind an id, of all that are not deleted, in one transaction. After a
// restore it is called for every page of them, once the host has sent again what was created, updated, deleted,
// activated and deactivated since the copy was made: before that, a relay which was off would be switched on again at
// the server. [Switches.Start] of relays is refused until every relay is due. last and refused are as with
// [Relays.Reconcile].
func (s *Relays) Resync(ctx context.Context, ev relaysync.Retried, after string, limit int) (last string, refused, err error) {
	last, _, refused, err = s.sweepPage(ctx, func(tx RelayUnit) ([]string, error) { return tx.Relays().List("", after, limit) },
		func(r *relaysync.Sync, _ time.Time) bool { return r.Resyncs() }, ev)
	return last, refused, err
}

// Revoke ends at once the leases that a reactor holds, see [Withdrawals.Revoke]. Their relays
// become due.
func (s *Relays) Revoke(ctx context.Context, by relaysync.By, of statemachine.Revocation) (n int, err error) {
	if err := of.Check(by.Actor, by.Role == relaysync.Reactor); err != nil {
		return 0, s.unheard(ctx, of.Holder, relaysync.Revoked{By: by, Revocation: of}, err)
	}
	ids := func(tx RelayUnit, after string, limit int) ([]string, error) {
		return tx.Relays().HeldBy(of.Holder, after, limit)
	}
	return s.revoke(ctx, s.heldBy(ids, nil), relaysync.Revoked{By: by, Revocation: of})
}

// readable returns the aggregates that can be read, and the errors of those that cannot: one row
// that is damaged, or that a later version of settle has written, must not stop the others.
func readable[K, A any](get func(...K) ([]A, error), ids []K) (all []A, unreadable []error, err error) {
	damaged := func(err error) bool {
		var unknown *statemachine.UnknownTextError
		return errors.As(err, &unknown) || errors.Is(err, statemachine.ErrCorrupt)
	}
	if all, err = get(ids...); !damaged(err) {
		return all, nil, err
	}
	all = nil
	for _, id := range ids {
		switch one, err := get(id); {
		case err == nil:
			all = append(all, one...)
		case damaged(err):
			unreadable = append(unreadable, err)
		default:
			return nil, nil, err
		}
	}
	return all, unreadable, nil
}

// Trail returns the audit trail of a relay, oldest first, after replaying it through the table. A
// trail that does not end in the stored phase and version is [statemachine.ErrCorrupt].
func (s *Relays) Trail(ctx context.Context, relay string) ([]statemachine.Transition[string], error) {
	return s.trail(ctx, relay)
}

// Verify is [Relays.Trail] for its check alone.
func (s *Relays) Verify(ctx context.Context, relay string) error {
	_, err := s.Trail(ctx, relay)
	return err
}

// Audit checks the invariants of a page of relays, see [relaysync.Check], behind an id. It
// returns the last id of the page, empty at the end, and everything that it found wrong.
func (s *Relays) Audit(ctx context.Context, after string, limit int) (last string, err error) {
	return s.audit(ctx, func(tx RelayUnit) ([]string, error) { return tx.Relays().List("", after, limit) }, relaysync.Check)
}

// Follow returns up to limit committed transitions of relays after a cursor, and
// the cursor to go on with, see [Feed].
func (s *Relays) Follow(ctx context.Context, after Cursor, limit int) (page []statemachine.Transition[string], next Cursor, err error) {
	return s.follow(ctx, after, limit)
}

// Head returns the cursor after the newest transition.
func (s *Relays) Head(ctx context.Context) (Cursor, error) { return s.head(ctx) }

// Stats counts at the store's time; rates are over the window before it.
func (s *Relays) Stats(ctx context.Context, window time.Duration) (relaysync.Stats, error) {
	return readNow(ctx, s.view, func(tx RelayUnit, now time.Time) (relaysync.Stats, error) { return tx.Relays().Stats(now, window) })
}

// Alerts counts and compares with limits, see [relaysync.Alerts].
func (s *Relays) Alerts(ctx context.Context, window time.Duration, limits relaysync.Thresholds) ([]statemachine.Alert, error) {
	stats, err := s.Stats(ctx, window)
	if err != nil {
		return nil, err
	}
	return relaysync.Alerts(stats, limits), nil
}

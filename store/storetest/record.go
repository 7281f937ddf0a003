package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// A record that has versions is stored by the same rules in every domain. They
// are here, once; a subject says how to make one.

// service is what the rules need of the service of a domain.
type service[K, L comparable, A, E any] interface {
	Do(ctx context.Context, id K, events ...E) (A, error)
	Get(ctx context.Context, id K) (A, error)
	Trail(ctx context.Context, id L) ([]statemachine.Transition[L], error)
	Follow(ctx context.Context, after store.Cursor, limit int) ([]statemachine.Transition[L], store.Cursor, error)
	Head(ctx context.Context) (store.Cursor, error)
}

// records is what they need of its part of a transaction.
type records[K, L comparable, A, C any] interface {
	Get(ids ...K) ([]A, error)
	Save(changes ...C) error
	Transitions(id L) ([]statemachine.Transition[L], error)
}

// subject is one kind of aggregate in a store under test. K is its id, L that of
// a line of its trails, A what commits together, E an event, C a change.
type subject[T store.Journaled, K, L comparable, A, E, C any] struct {
	store.Store[T]
	service service[K, L, A, E]
	within  func(T) service[K, L, A, E]
	records func(T) records[K, L, A, C]
	held    func(context.Context, A, ...E) (A, error) // the service's Held, of one; nil if it has none
	apply   func(A, E) (C, error)
	// parts are the fields Old, New and Log of a change, where it has others.
	parts  func(*C) (old, now *A, log *[]statemachine.Transition[L])
	check  func(A) error
	states func(*A) []stored[L] // the versioned records of one that exists, its own first

	// named: every event names its aggregate, and makes it where there is none.
	named  bool
	newID  func() K
	id     func(*A) K
	stages []stage[K, A, E]
	// outside forges a column outside the version, by name, of what a change
	// says that it read; nil if nothing is outside.
	outside map[string]func(*A)
	// older makes an aggregate one version older, in the record that a touch
	// writes.
	older func(*A)
	// also makes some that random histories seldom come to, each for add; nil: none.
	also func(t testing.TB, add func(A))
	// lease is the lease of an aggregate, renew moves the end of one at now and
	// reports whether it is lost; nil without leases.
	lease func(*A) *statemachine.Lease
	renew func(tx T, now time.Time, a *A, fence int64, until time.Time) (lost bool, err error)
	// revoke is the service's Revoke, by an operator.
	revoke func(context.Context, statemachine.Revocation) (int, error)
	// more writes in tx what no stage does; nil if there is nothing.
	more func(tx T) error
	// facts are what can be read of one aggregate beside Get and its trails,
	// world what can be read beside aggregates; nil if there is nothing.
	facts func(tx T, a *A) (map[string]any, error)
	world func(tx T) (map[string]any, error)
	due   []dueKind[T, A]
	// lists are pages of ids, stats what the store counts at now and what the domain
	// does; nil where statistics have a rule of their own.
	lists []list[T, K, A]
	stats func(tx T, all []A, now time.Time) (got, want any, err error)
	// money is what the statistics say of amounts at now, and plain sums over all that
	// is stored; nil where nothing is paid.
	money func(tx T, now time.Time) (got, want any, err error)
	// overdue says when an aggregate is overdue; nil only where it is not watched yet.
	overdue *overdue[T, A]
	// speech is what people say, for the law of the journal.
	speech *speech[K, A, E]
	// limits are the methods that take a limit beside those of the feed, of lists, of
	// due work and of a source.
	limits map[string]func(n int) error
	// numbered are the lists whose cursor is a number; nil if there are none.
	numbered map[string]func(after int64) error
	// source is the work of a worker of a name, owed makes what is due for it at once;
	// nil where no worker claims.
	source func(name string) source
	owed   func(testing.TB) A
	// selfCheck is that of package store; nil where another subject has it.
	selfCheck func(context.Context) error
	// sharedFeed: the feed has lines of another subject too, with which the rules
	// of an empty feed are proved.
	sharedFeed bool
	// draw begins a random history; setup stores what it needs, sentinels are
	// the domain's own errors.
	draw      func(*rapid.T) history[K, A, E]
	setup     func(t failer, x any)
	sentinels []error
}

// stored is a versioned record.
type stored[L comparable] struct {
	id      L
	version int64
	status  string
}

// stage is a point in the life of an aggregate.
type stage[K, A, E any] struct {
	name   string
	events func(id K) []E // that make one, the first of them the aggregate itself
	// rivals are events of the same moment that move the version: what one of
	// them was applied to is stale for the others. Any two of them differ.
	rivals func(a *A, i int) E
	back   func(a *A) []E // lead away and back to the same state; nil if nothing does
	touch  func(a *A, at time.Time) E
	claim  func(a *A) E // gives the lease under the next fence, where rivals keep it; nil if nothing does
}

// rule is one that is proved of a subject in a store of its own.
type rule[S any] struct {
	name string
	test func(S, *testing.T)
}

// prove runs each rule in a new store.
func prove[S any](t *testing.T, open func(*testing.T) S, rules []rule[S]) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) { r.test(open(t), t) })
	}
}

// versioned proves the rules of any versioned record. open returns a subject in a new store. memory returns one in a
// store of package memory, with which random histories are compared; it is nil where no history is drawn.
func versioned[T store.Journaled, K, L comparable, A, E, C any](t *testing.T, open, memory func(*testing.T) *subject[T, K, L, A, E, C]) {
	type of = *subject[T, K, L, A, E, C]
	prove(t, open, []rule[of]{
		{"an update that returns an error, panics or is cancelled leaves no trace", of.leavesNoTrace},
		{"a refused write ends the update even if nobody looks at its error", of.ignoredRefusal},
		{"a view writes nothing", of.viewSaves},
		{"a transaction sees its own writes", of.seesOwnWrites},
		{"readers never see half of a commit", of.halfCommit},
		{"what does not exist is a zero aggregate or not found", of.unknown},

		{"a change of a stale version is a conflict", of.staleVersion},
		{"a record that left a state and came back is another version", of.leaveAndReturn},
		{"of concurrent writers of one version exactly one wins", of.oneWriter},
		{"of concurrent creations of one id exactly one wins", of.oneCreation},
		{"an id that exists is not written over", of.insertedOnce},
		{"a touch of a stale version or fence is refused, and moves no version", of.staleTouch},
		{"a change under an old fence is refused", of.staleFence},
		{"a record is written only as it was read", of.asRead},
		{"a lease is renewed under its fence alone and changes no version", of.renewals},
		{"a lease is over when the store's clock says so, whatever time an event brings", of.leaseOver},
		{"a change from before a renewal does not shorten the lease", of.renewedThenSaved},
		{"what a worker holds is given back at once, and it writes nothing more", of.revocation},
		{"the same event of a held aggregate again changes nothing", of.heldAgain},
		{"what a caller changed in its copy is not stored", of.changedCopy},
		{"the changes of one save are stored together or not at all", of.oneSave},

		{"the history has one line per version and replays", of.trails},
		{"a log with a gap, without a line or with a line too many is refused", of.brokenLogs},
		{"followers see every transition, those of a record in order", of.follow},
		{"a cursor is of one line and of no other", of.cursors},
		{"followers miss nothing while others write", of.followWhileWriting},
		{"what people say, done or refused, is in the journal, and nothing else is", of.journal},
		{"what a person tried is in the journal once, however the transaction ends", of.toldOnce},
		{"what is due is what the domain says, in its order, and so is what is due next", of.dueAsDefined},
		{"lists and statistics have what the domain says, at every moment and in pages", of.listedAsDefined},
		{"limits of 0, below it, or enormous are refused by every method", of.limited},
		{"of many workers each item is claimed by one, who renews it and gives it back", of.works},
		{"the self-check passes and leaves nothing", of.checksItself},
	})
	t.Run("what is unfinished is named by an alert a bounded time after it entered its state", func(t *testing.T) { overdueInTime(t, open) })
	if memory != nil {
		t.Run("random histories store the same as the memory adapter", func(t *testing.T) { randomHistories(t, open(t), memory(t)) })
	}
}

// eachStage runs a rule for each stage that it concerns.
func (s *subject[T, K, L, A, E, C]) eachStage(t *testing.T, concerns func(*stage[K, A, E]) bool,
	test func(t *testing.T, g *stage[K, A, E])) {
	t.Helper()
	for i := range s.stages {
		if g := &s.stages[i]; concerns == nil || concerns(g) {
			t.Run(g.name, func(t *testing.T) { test(t, g) })
		}
	}
}

// make makes an aggregate of a stage.
func (s *subject[T, K, L, A, E, C]) make(t failer, g *stage[K, A, E]) A {
	t.Helper()
	id := s.newID()
	return s.do(t, id, g.events(id)...)
}

func (s *subject[T, K, L, A, E, C]) do(t failer, id K, events ...E) A {
	t.Helper()
	a := must(s.service.Do(ctx, id, events...))(t)
	return a
}

func (s *subject[T, K, L, A, E, C]) get(t failer, id K) A {
	t.Helper()
	a := must(s.service.Get(ctx, id))(t)
	return a
}

// change applies an event without saving it.
func (s *subject[T, K, L, A, E, C]) change(t failer, a A, ev E) C {
	t.Helper()
	c := must(s.apply(a, ev))(t)
	if any(&c).(interface{ Empty() bool }).Empty() {
		t.Fatalf("%T %+v changes nothing", ev, ev)
	}
	return c
}

// save saves changes in one update.
func (s *subject[T, K, L, A, E, C]) save(changes ...C) error {
	return s.Update(ctx, func(tx T) error { return s.records(tx).Save(changes...) })
}

// now returns what a change leads to.
func (s *subject[T, K, L, A, E, C]) now(c C) A {
	_, now, _ := s.partsOf(&c)
	return *now
}

// partsOf are the parts of a change.
func (s *subject[T, K, L, A, E, C]) partsOf(c *C) (old, now *A, log *[]statemachine.Transition[L]) {
	if s.parts != nil {
		return s.parts(c)
	}
	field := func(name string) any { return reflect.ValueOf(c).Elem().FieldByName(name).Addr().Interface() }
	return field("Old").(*A), field("New").(*A), field("Log").(*[]statemachine.Transition[L])
}

// sameVersions requires that an aggregate is stored as expected: all of it but
// what belongs to others too.
func (s *subject[T, K, L, A, E, C]) sameVersions(t failer, what string, got, want A) {
	t.Helper()
	same(t, what, fmt.Sprint(s.states(&got)), fmt.Sprint(s.states(&want)))
}

// dump is all that a store says of some aggregates, comparable between stores.
func (s *subject[T, K, L, A, E, C]) dump(t failer, ids ...K) any {
	t.Helper()
	var all []any
	noError(t, s.View(ctx, func(tx T) error {
		all = nil
		as, err := s.records(tx).Get(ids...)
		if err != nil {
			return err
		}
		for i := range as {
			one := map[string]any{"Get": as[i]}
			all = append(all, one)
			inUTC(t, fmt.Sprint(ids[i]), reflect.ValueOf(as[i]))
			for n, r := range s.states(&as[i]) {
				lines, err := s.records(tx).Transitions(r.id)
				if err != nil {
					return err
				}
				inUTC(t, fmt.Sprint("Transitions of ", r.id), reflect.ValueOf(lines))
				one[fmt.Sprint("Transitions ", n)] = lines
			}
			if s.facts == nil || len(s.states(&as[i])) == 0 {
				continue
			}
			facts, err := s.facts(tx, &as[i])
			if err != nil {
				return err
			}
			for name, v := range facts {
				inUTC(t, name, reflect.ValueOf(v))
				one[name] = v
			}
		}
		return nil
	}))
	return json.RawMessage(text(t, all))
}

// snapshot is all that can be read of some aggregates and of the store.
func (s *subject[T, K, L, A, E, C]) snapshot(t failer, ids ...K) any {
	t.Helper()
	all := map[string]any{"aggregates": s.dump(t, ids...)}
	noError(t, s.View(ctx, func(tx T) (err error) {
		for _, l := range s.lists {
			if all[l.name], err = l.page(tx, start, *new(K), 1000); err != nil {
				return err
			}
		}
		if s.world != nil {
			all["world"], err = s.world(tx)
		}
		return err
	}))
	feed, _, err := s.service.Follow(ctx, "", 1000)
	noError(t, err)
	all["Follow"] = feed
	return json.RawMessage(text(t, all))
}

// everything writes one of a stage in tx, of each with the first, moves old, and
// makes delayed writes happen.
func (s *subject[T, K, L, A, E, C]) everything(tx T, g *stage[K, A, E], old A) error {
	in := s.within(tx)
	var ids []K
	for i := range s.stages {
		if of := &s.stages[i]; g != of && g != &s.stages[0] {
			continue
		}
		id := s.newID()
		if _, err := in.Do(ctx, id, s.stages[i].events(id)...); err != nil {
			return fmt.Errorf("%s: %w", s.stages[i].name, err)
		}
		ids = append(ids, id)
	}
	if _, err := in.Do(ctx, s.id(&old), g.rivals(&old, 0)); err != nil {
		return err
	}
	if s.more != nil {
		if err := s.more(tx); err != nil {
			return err
		}
	}
	_, err := s.records(tx).Get(append(ids, s.id(&old))...)
	return err
}

// noTrace runs an update that must fail, for an aggregate of each stage, and
// compares all that can be read.
func (s *subject[T, K, L, A, E, C]) noTrace(t *testing.T, update func(t *testing.T, g *stage[K, A, E], old A) error) {
	t.Helper()
	s.eachStage(t, nil, func(t *testing.T, g *stage[K, A, E]) {
		old := s.make(t, g)
		before := s.snapshot(t, s.id(&old))
		if err := update(t, g, old); err == nil {
			t.Fatal("the update reported no error")
		}
		same(t, "it left a trace", s.snapshot(t, s.id(&old)), before)
		// What was taken back is free for others.
		noError(t, s.Update(ctx, func(tx T) error { return s.everything(tx, g, old) }), "afterwards")
	})
}

// atOnce runs n functions at the same time and returns their errors.
func atOnce(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	ready, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			<-ready
			errs[i] = fn(i)
			done <- struct{}{}
		}()
	}
	close(ready)
	for range n {
		<-done
	}
	return errs
}

// oneOf requires that exactly one succeeded, and the others failed with one of
// the sentinels. It returns the winner.
func oneOf(t testing.TB, errs []error, sentinels ...error) (winner int) {
	t.Helper()
	winner = -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Fatalf("writers %d and %d both won", winner, i)
		case err == nil:
			winner = i
		case !slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(err, s) }):
			t.Fatalf("writer %d: got error %v, expected one of %v", i, err, sentinels)
		}
	}
	if winner < 0 {
		t.Fatalf("nobody won: %v", errs)
	}
	return winner
}

func refusedWith(t testing.TB, err, sentinel error, what string) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Fatalf("%s: got error %v, expected %v", what, err, sentinel)
	}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// The service core: what the service of every domain does with its aggregates,
// see docs/domain.md.

// records is what the core needs of the records of a domain. K is the id of an aggregate; L is the id of a line of its
// trails, mostly the same type; A is what commits together; C is what one step changes.
type records[K, L comparable, A, C any] interface {
	Get(ids ...K) ([]A, error) // in the order of ids; an unknown one is a zero A
	Save(changes ...C) error
	Transitions(id L) ([]statemachine.Transition[L], error)
	Feed[L]
}

// aggregate is one domain as the core sees it. T is its part of a transaction,
// E an event. All functions are pure but records and beside.
type aggregate[T Journaled, K, L comparable, A any, E spoken, C any] struct {
	domain  Domain
	workers string // the domain of its workers among the processes
	policy  any    // by which they work; nil if there are none
	records func(T) records[K, L, A, C]
	// machines are those of the versioned records of A; the first is that of
	// the aggregate's own record, which has its id.
	machines []machine[L]
	id       func(*A) K
	exists   func(*A) bool
	states   func(*A) []state[L]     // the versioned records of one that exists, its own first
	creates  func(E) (id K, ok bool) // the aggregate that an event creates
	apply    func(A, E, time.Time) (C, error)
	result   func(*C) *A
	empty    func(*C) bool
	// merge takes next into first if the two can be saved as one; nil if never.
	merge func(first, next *C) bool
	// owner returns the aggregate of a versioned record that is not its own one;
	// nil if there are no others. Where K and L differ, it is asked for all.
	owner func(tx T, machine string, id L) (K, error)
	// find returns an aggregate that holds the versioned record with an id and no
	// more than it needs to, where all of it is much; nil if it is read by owner.
	find func(tx T, id L) (A, error)
	// order returns the indexes of commands such that locks are taken in one
	// order everywhere; nil if the steps lock nothing.
	order func([]command[K, A, E]) []int
	// kept returns what is stored though all else was refused with an error, by a transaction of its
	// own; nil, or a nil function: nothing is.
	kept func(error) func(T) error
	// signed returns what an event that an aggregate has taken has put on file for a payment; nil if
	// there are no payments.
	signed func(*A, E) (withdrawal.Signed, bool)
	// beside reads what events need; nil if they need nothing.
	beside func(*batch[T, K, L, A, E, C]) beside[A, E, C]
}

// machine is the table of one kind of record.
type machine[L comparable] struct {
	name   string
	replay func([]statemachine.Transition[L]) (status string, err error)
	past   string // status of a record that its aggregate does not hold any more
}

// machineOf returns what the core needs of a table.
func machineOf[L comparable, S, T statemachine.Label](m *statemachine.Machine[S, T]) machine[L] {
	return machine[L]{name: m.Name(), replay: func(trail []statemachine.Transition[L]) (string, error) {
		status, err := statemachine.Replay(m, trail)
		if err != nil {
			return "", err
		}
		return status.String(), nil
	}}
}

// state is where a versioned record is.
type state[L comparable] struct {
	machine string
	id      L
	version int64
	status  string
}

// command is one or more events for an aggregate, in order.
type command[K comparable, A, E any] struct {
	id     K  // not of what is held
	held   *A // what the caller has; nil if it is to be loaded
	events []E
}

// core loads, applies and saves the aggregates of one domain.
type core[T Journaled, K, L comparable, A any, E spoken, C any] struct {
	of     *aggregate[T, K, L, A, E, C]
	update func(context.Context, func(T) error) error
	view   func(context.Context, func(T) error) error
	runs   *runs
	// handed saves the read of what the caller of DoHeld or of a turn has unchanged; nil:
	// all is read.
	handed *handed[K, A]
	lives  *lives // of its workers
}

// newCore returns the core on a store of transactions of type U, of which part
// returns the domain's.
func newCore[U any, T Journaled, K, L comparable, A any, E spoken, C any](s Store[U], of *aggregate[T, K, L, A, E, C],
	part func(U) T) core[T, K, L, A, E, C] {
	s = present(s)
	return core[T, K, L, A, E, C]{of,
		func(ctx context.Context, fn func(T) error) error {
			return s.Update(ctx, func(tx U) error { return fn(part(tx)) })
		},
		func(ctx context.Context, fn func(T) error) error {
			return s.View(ctx, func(tx U) error { return fn(part(tx)) })
		}, &runs{of: map[runsOf]int{}}, nil, newLives(of.workers, of.policy)}
}

// within returns the core inside a transaction that the caller has begun.
func (s core[T, K, L, A, E, C]) within(tx T) core[T, K, L, A, E, C] {
	s.update = joined(tx)
	s.view = s.update
	s.handed = nil // what the transaction takes back would be known all the same
	s.lives = nil  // a note that fails would fail the caller's transaction
	return s
}

// read runs fn in a View and returns its result.
func read[T Clock, R any](ctx context.Context, view func(context.Context, func(T) error) error, fn func(T) (R, error)) (r R, err error) {
	err = view(ctx, func(tx T) error {
		r, err = fn(tx)
		return err
	})
	return r, err
}

// readNow is read at the store's time.
func readNow[T Clock, R any](ctx context.Context, view func(context.Context, func(T) error) error,
	fn func(T, time.Time) (R, error)) (R, error) {
	return read(ctx, view, func(tx T) (r R, err error) {
		now, err := tx.Now()
		if err != nil {
			return r, err
		}
		return fn(tx, now)
	})
}

// next returns what the rules say that an aggregate owes at the store's time, and this time.
func next[T Journaled, K, L comparable, A any, E spoken, C, S any](ctx context.Context, s *core[T, K, L, A, E, C], id K,
	owed func(T, A, time.Time) (S, error)) (step S, now time.Time, err error) {
	err = s.view(ctx, func(tx T) error {
		if now, err = tx.Now(); err != nil {
			return err
		}
		a, err := s.get(tx, id)
		if err == nil {
			step, err = owed(tx, a, now)
		}
		return err
	})
	return step, now, err
}

// only returns the aggregate of a call for one.
func only[A any](as []A, err error) (a A, _ error) {
	if err == nil {
		a = as[0]
	}
	return a, err
}

// mapped returns what of makes of each element.
func mapped[A, B any](all []A, of func(*A) B) []B {
	made := make([]B, len(all))
	for i := range all {
		made[i] = of(&all[i])
	}
	return made
}

// paged is read of a page and the place where the next begins.
func paged[T Clock, R, P any](ctx context.Context, view func(context.Context, func(T) error) error,
	fn func(T) ([]R, P, error)) (page []R, next P, err error) {
	err = view(ctx, func(tx T) error {
		page, next, err = fn(tx)
		return err
	})
	return page, next, err
}

// get returns one aggregate, [statemachine.ErrNotFound] for an unknown one.
func (s *core[T, K, L, A, E, C]) get(tx T, id K) (A, error) {
	as, err := s.of.records(tx).Get(id)
	var none A
	switch {
	case err != nil:
		return none, err
	case !s.of.exists(&as[0]):
		return none, s.of.noRecord(id, "")
	}
	return as[0], nil
}

func (o *aggregate[T, K, L, A, E, C]) noRecord(id any, event string) error {
	return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: o.machines[0].name, ID: fmt.Sprint(id), Event: event}
}

// keeps stores what a refusal leaves behind, and returns the refusal.
func (s *core[T, K, L, A, E, C]) keeps(ctx context.Context, err error) error {
	if err == nil || s.of.kept == nil {
		return err
	}
	if store := s.of.kept(err); store != nil {
		if failed := s.update(ctx, store); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// do loads, applies and saves in one transaction.
func (s *core[T, K, L, A, E, C]) do(ctx context.Context, commands []command[K, A, E]) (as []A, err error) {
	if err := s.distinct(commands); err != nil {
		return nil, err
	}
	err = s.update(ctx, func(tx T) (err error) {
		if as, err = s.load(tx, commands); err != nil {
			return keep(tx, time.Time{}, s.lines(commands), err)
		}
		for i := range commands {
			if len(commands[i].events) == 0 && !s.of.exists(&as[i]) {
				return s.of.noRecord(commands[i].id, "")
			}
		}
		return s.apply(tx, as, commands, true)
	})
	s.signed(ctx, commands, as, err)
	if err != nil {
		return nil, s.keeps(ctx, err)
	}
	return as, nil
}

// lines are those of the journal of what people say in commands.
func (s *core[T, K, L, A, E, C]) lines(commands []command[K, A, E]) (lines []statemachine.JournalLine) {
	for i := range commands {
		for _, ev := range commands[i].events {
			if line, person := lineOf(s.of.domain, s.of.machines[0].name, commands[i].id, ev); person {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func (s *core[T, K, L, A, E, C]) distinct(commands []command[K, A, E]) error {
	if len(commands) < 2 {
		return nil
	}
	seen := make(map[K]struct{}, len(commands))
	for i := range commands {
		if _, twice := seen[commands[i].id]; twice {
			return fmt.Errorf("%w: two commands for %s %v in one call", statemachine.ErrInvalid, s.of.machines[0].name, commands[i].id)
		}
		seen[commands[i].id] = struct{}{}
	}
	return nil
}

func (s *core[T, K, L, A, E, C]) load(tx T, commands []command[K, A, E]) ([]A, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	return s.of.records(tx).Get(mapped(commands, func(c *command[K, A, E]) K { return c.id })...)
}

// apply sends the events of commands to as, saves, and leaves the new
// aggregates in as. fresh says that as was loaded in this transaction.
func (s *core[T, K, L, A, E, C]) apply(tx T, as []A, commands []command[K, A, E], fresh bool) error {
	if len(commands) == 0 {
		return nil
	}
	b, err := s.batch(tx)
	if err != nil {
		return err
	}
	b.room, b.fresh = len(commands), fresh
	var order []int
	if s.of.order != nil {
		order = s.of.order(commands)
	}
	// All first events come before the second ones: what the first ones lock is
	// locked in one order, and before the rest.
	for round, more := 0, true; more; round++ {
		more = false
		for n := range commands {
			i := n
			if order != nil {
				i = order[n]
			}
			if events := commands[i].events; round < len(events) {
				more = more || round+1 < len(events)
				if err := b.step(&as[i], commands[i].id, events[round]); err != nil {
					return keep(tx, b.now, s.lines(unreached(commands, order, round, n)), err)
				}
			}
		}
	}
	if shared, ok := b.beside.(ender[A]); ok {
		shared.end(as)
	}
	return b.save()
}

// unreached returns what was not reached of commands when the event of a round, at a place in
// order, was refused.
func unreached[K comparable, A, E any](commands []command[K, A, E], order []int, round, place int) []command[K, A, E] {
	rest := slices.Clone(commands)
	for n := range rest {
		i, reached := n, round
		if order != nil {
			i = order[n]
		}
		if n <= place {
			reached++
		}
		rest[i].events = rest[i].events[min(reached, len(rest[i].events)):]
	}
	return rest
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// errStale stands for ErrConflict inside of Update, which would run again for
// that.
var errStale = errors.New("stale")

// held applies events to aggregates that the caller has, then calls more. The aggregates are read from the store, and
// only the versions of the caller's copies count. If all copies are as the service handed them out, the first attempt
// applies the events to them without a read. Then they are read only for a second attempt: if the first is refused or
// meets a conflict (an old fence may be a lease that was renewed meanwhile), or if it leaves an aggregate at its
// version, so that no comparison has proved this copy current. If exact, the stored aggregate must be what the caller
// has, or have the events already; otherwise events are judged by what is stored.
func (s *core[T, K, L, A, E, C]) held(ctx context.Context, commands []command[K, A, E], exact bool,
	more func(T) error) (as []A, err error) {
	for i := range commands {
		commands[i].id = s.of.id(commands[i].held)
	}
	if err := s.distinct(commands); err != nil {
		return nil, err
	}
	lines := s.lines(commands)
	// What people say is tried once, so that it has one line in the journal.
	known := len(lines) == 0 && !slices.ContainsFunc(commands, func(c command[K, A, E]) bool { return !s.handed.is(c.id, c.held) })
	runs := 0
	run := func(tx T) (err error) {
		todo, fresh := commands, true
		if runs++; runs == 1 && known {
			as, fresh = make([]A, len(commands)), false
			for i := range commands {
				as[i] = *commands[i].held
			}
		} else if as, err = s.load(tx, commands); err != nil {
			return keep(tx, time.Time{}, lines, err)
		} else if exact {
			if todo, err = s.current(tx, as, commands); err != nil {
				_ = keep(tx, time.Time{}, lines, asConflict(err))
				return err
			}
			if err := s.already(tx, commands, todo); err != nil {
				return err
			}
		}
		if err := s.apply(tx, as, todo, fresh); err != nil {
			return err
		}
		for i := range as {
			if !fresh && s.sameVersions(&as[i], commands[i].held) {
				return errStale
			}
		}
		if more == nil {
			return nil
		}
		return more(tx)
	}
	err = s.update(ctx, run)
	fenced := errors.Is(err, statemachine.ErrFenced)
	first := err
	refusal := new(statemachine.Refusal)
	refused := errors.As(err, &refusal) || errors.Is(err, errStale) || errors.Is(err, statemachine.ErrConflict)
	if len(commands) > 0 && known && runs == 1 && refused {
		err = s.update(ctx, run)
	}
	s.signed(ctx, commands, as, err)
	switch {
	case err == nil:
		for i := range as {
			s.handed.note(commands[i].id, &as[i])
		}
		return as, nil
	case !errors.Is(err, errStale):
	case fenced:
		err = first
	default:
		err = asConflict(err)
	}
	return nil, s.keeps(ctx, err)
}

// asConflict is errStale for callers.
func asConflict(err error) error {
	if errors.Is(err, errStale) {
		err = fmt.Errorf("%w: %w", statemachine.ErrConflict, err)
	}
	return err
}

// current returns what is left to do of commands: all events of an aggregate that is held at the stored version, and
// none of an aggregate that has its events already. Any other aggregate is errStale.
func (s *core[T, K, L, A, E, C]) current(tx T, as []A, commands []command[K, A, E]) ([]command[K, A, E], error) {
	todo := commands
	for i := range as {
		if s.sameVersions(&as[i], commands[i].held) {
			continue
		}
		done, err := s.repeated(tx, &as[i], commands[i].events)
		if err != nil {
			return nil, err
		}
		if !done {
			return nil, fmt.Errorf("%s: %w", describe(s.of.states(commands[i].held)), errStale)
		}
		todo = slices.Clone(todo)
		todo[i].events = nil
	}
	return todo, nil
}

// already keeps that what people say in commands and what is not to be done was done.
func (s *core[T, K, L, A, E, C]) already(tx T, commands, todo []command[K, A, E]) error {
	var dropped []command[K, A, E]
	for i := range commands {
		if todo[i].events == nil {
			dropped = append(dropped, commands[i])
		}
	}
	lines := s.lines(dropped)
	for i := range lines {
		lines[i].Outcome = statemachine.JournalSame
	}
	return keep(tx, time.Time{}, lines, nil)
}

// sameVersions compares the versioned records of two copies of an aggregate.
func (s *core[T, K, L, A, E, C]) sameVersions(a, b *A) bool {
	return slices.EqualFunc(s.of.states(a), s.of.states(b), func(a, b state[L]) bool { return a.id == b.id && a.version == b.version })
}

// describe names the versions of a held aggregate.
func describe[L comparable](states []state[L]) string {
	var b strings.Builder
	for i, r := range states {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %v was held at version %d", r.machine, r.id, r.version)
	}
	return b.String()
}

// repeated reports whether the aggregate has all these events already, by what is
// read beside them.
func (s *core[T, K, L, A, E, C]) repeated(tx T, a *A, events []E) (bool, error) {
	b, err := s.batch(tx)
	if err != nil {
		return false, err
	}
	for _, ev := range events {
		is := *a
		if b.beside != nil {
			if ev, err = b.beside.fill(&is, ev); err != nil {
				return false, err
			}
		}
		change, err := s.of.apply(is, ev, b.now)
		if err != nil || !s.of.empty(&change) {
			return false, nil
		}
	}
	return true, nil
}

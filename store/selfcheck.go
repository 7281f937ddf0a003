package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/settlehq/settle/statemachine"
)

// SelfCheck tells at start-up whether a store of all domains keeps the rules that money depends on: it writes,
// compares, and takes everything back. A broken rule is [statemachine.ErrCorrupt]. Package storetest proves far more.
func SelfCheck(ctx context.Context, s Store[Unit]) error {
	return errors.Join(SelfCheckSwitches(ctx, s), SelfCheckWallets(ctx, s), SelfCheckWithdrawals(ctx, s),
		SelfCheckBatches(ctx, s), SelfCheckTenants(ctx, s),
		SelfCheckSwaps(ctx, s), SelfCheckRefreshes(ctx, s))
}

// probe is what a self-check does with one domain.
type probe[T any] struct {
	update, view func(context.Context, func(T) error) error
	write        func(T) error         // stores records, reads them and compares
	left         func(T) (bool, error) // whether any of them is stored
	stale        func(T) error         // saves a change of a version that is not stored
	refused      []refusal[T]
}

// probeOf is the probe of an aggregate: write stores it, reads it and compares, and
// returns a change of it as it was before.
func probeOf[T Journaled, K, L comparable, A any, E spoken, C any](s *core[T, K, L, A, E, C], id K, write func(T) (C, error),
	refused ...refusal[T]) probe[T] {
	var stale C
	first := func(tx T) (err error) {
		stale, err = write(tx)
		return err
	}
	save := func(tx T) error { return s.of.records(tx).Save(stale) }
	return probe[T]{s.update, s.view, first, func(tx T) (bool, error) {
		as, err := s.of.records(tx).Get(id)
		return err == nil && s.of.exists(&as[0]), err
	}, save, append(refused, outdated(after(first, save)))}
}

// refusal is something that a store must refuse, with one of some errors.
type refusal[T any] struct {
	what string
	do   func(T) error
	is   []error
}

// outdated is the refusal of a change of a version that is stored no longer.
func outdated[T any](save func(T) error) refusal[T] {
	return refusal[T]{"a change of a version that is stored no longer", save, []error{statemachine.ErrConflict}}
}

// after does two things, the second if the first has succeeded.
func after[T any](first, second func(T) error) func(T) error {
	return func(tx T) error {
		if err := first(tx); err != nil {
			return err
		}
		return second(tx)
	}
}

// errTakenBack ends the transaction of a self-check.
var errTakenBack = errors.New("taken back")

func (p probe[T]) run(ctx context.Context) error {
	takenBack := func(do func(T) error) error {
		return p.update(ctx, func(tx T) error {
			if err := do(tx); err != nil {
				return err
			}
			if _, err := p.left(tx); err != nil { // write now
				return err
			}
			return errTakenBack
		})
	}
	if broken := unless(takenBack(p.write), "an update that failed reported", errTakenBack); broken != nil {
		return broken
	}
	err := p.view(ctx, func(tx T) error {
		left, err := p.left(tx)
		if left && err == nil {
			err = broken("an update that failed left a trace")
		}
		return err
	})
	if err != nil {
		return err
	}
	if broken := unless(p.update(ctx, p.stale), "a change of a version that is not stored gave", statemachine.ErrConflict); broken != nil {
		return broken
	}
	if broken := unless(p.view(ctx, p.stale), "a write in a View gave", statemachine.ErrIllegal); broken != nil {
		return broken
	}
	for _, r := range p.refused {
		err := p.refusal(ctx, r.do)
		if broken := unless(err, r.what+" gave", r.is...); broken != nil {
			return broken
		}
	}
	return nil
}

// refusal returns the error of what a store must refuse. The transaction does not end in
// that error, so that nothing of a self-check is left in the journal.
func (p probe[T]) refusal(ctx context.Context, do func(T) error) (refused error) {
	err := p.update(ctx, func(tx T) error {
		if refused = do(tx); refused == nil {
			_, refused = p.left(tx) // write now
		}
		if refused != nil && statemachine.CodeOf(refused) == "" {
			return refused
		}
		return errTakenBack
	})
	if errors.Is(err, errTakenBack) {
		err = refused
	}
	return err
}

// unless returns nil for an error that was expected, one of some, and nothing else.
func unless(err error, what string, expected ...error) error {
	if err == nil {
		return broken(what + " no error")
	}
	for _, e := range expected {
		if errors.Is(err, e) && !errors.Is(err, statemachine.ErrCorrupt) {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

func broken(what string) error {
	return fmt.Errorf("%w: the store breaks a rule: %s", statemachine.ErrCorrupt, what)
}

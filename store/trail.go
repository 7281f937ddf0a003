package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// trail returns the audit trail of a record, oldest first, after replaying it through its table and comparing the end
// with the stored record. If the record's aggregate no longer holds it, such as an earlier job, only its status is
// compared, with the one status that such records have.
func (s *core[T, K, L, A, E, C]) trail(ctx context.Context, id L) ([]statemachine.Transition[L], error) {
	return read(ctx, s.view, func(tx T) ([]statemachine.Transition[L], error) {
		lines, err := s.of.records(tx).Transitions(id)
		switch {
		case err != nil:
			return nil, err
		case len(lines) == 0:
			return nil, s.of.noRecord(id, "")
		}
		return lines, s.verify(tx, id, lines)
	})
}

func (s *core[T, K, L, A, E, C]) verify(tx T, id L, lines []statemachine.Transition[L]) error {
	m := slices.IndexFunc(s.of.machines, func(m machine[L]) bool { return m.name == lines[0].Machine })
	if m < 0 {
		return fmt.Errorf("%w: %v: no machine is called %q", statemachine.ErrCorrupt, id, lines[0].Machine)
	}
	status, err := s.of.machines[m].replay(lines)
	if err != nil {
		return err
	}
	a, err := s.holding(tx, lines[0].Machine, id, m > 0)
	if err != nil {
		return err
	}
	ends := state[L]{lines[0].Machine, id, int64(len(lines)), status}
	stored := state[L]{ends.machine, id, ends.version, s.of.machines[m].past}
	for _, r := range s.of.states(&a) {
		if r.machine == ends.machine && r.id == id {
			stored = r
		}
	}
	if ends != stored {
		return fmt.Errorf("%w: %v: its trail ends in %s at version %d, stored is %s at version %d",
			statemachine.ErrCorrupt, id, ends.status, ends.version, stored.status, stored.version)
	}
	return nil
}

// holding returns an aggregate that holds the record with an id, which has one of
// its own or is a part of one.
func (s *core[T, K, L, A, E, C]) holding(tx T, machine string, id L, part bool) (A, error) {
	if s.of.find != nil {
		return s.of.find(tx, id)
	}
	head, same := any(id).(K)
	if part && s.of.owner != nil || !same {
		var err error
		if head, err = s.of.owner(tx, machine, id); err != nil {
			var none A
			return none, err
		}
	}
	return s.get(tx, head)
}

// audit checks the aggregates that page names and returns the last of them and all
// that is wrong.
func (s *core[T, K, L, A, E, C]) audit(ctx context.Context, page func(T) ([]K, error), check func(A) error) (last K, err error) {
	var broken []error
	err = s.view(ctx, func(tx T) error {
		var none K
		broken, last = nil, none
		ids, err := page(tx)
		if err != nil || len(ids) == 0 {
			return err
		}
		last = ids[len(ids)-1]
		as, unreadable, err := readable(s.of.records(tx).Get, ids)
		broken = append(broken, unreadable...)
		for i := range as {
			broken = append(broken, check(as[i]))
		}
		return err
	})
	return last, errors.Join(append(broken, err)...)
}

// byCause groups the aggregates of a page of ids by what they wait for, with what given adds to each. Those that
// cannot be read are named in the error, and the others are grouped all the same.
func byCause[T Journaled, K, L comparable, A any, E spoken, C any, W comparable](ctx context.Context, s *core[T, K, L, A, E, C], ids []K,
	given func(T, time.Time) (func(*A) error, error),
	group func([]A, time.Time) []statemachine.Caused[W]) (all []statemachine.Caused[W], err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if err := CheckLimit(len(ids)); err != nil {
		return nil, err
	}
	var unreadable []error
	all, err = readNow(ctx, s.view, func(tx T, now time.Time) ([]statemachine.Caused[W], error) {
		var as []A
		var err error
		if as, unreadable, err = readable(s.of.records(tx).Get, ids); err != nil {
			return nil, err
		}
		give, err := given(tx, now)
		if err != nil {
			return nil, err
		}
		for i := range as {
			if err := give(&as[i]); err != nil {
				return nil, err
			}
		}
		all := group(as, now)
		for _, c := range all {
			for k, i := range c.Items { // of what could be read
				c.Items[k] = slices.Index(ids, s.of.id(&as[i]))
			}
		}
		return all, nil
	})
	return all, errors.Join(append(unreadable, err)...)
}

// auditByID is audit behind a place that is the id of what was checked last, empty at the
// beginning and the end.
func auditByID[T Journaled, A any, E spoken, C any](ctx context.Context, s *core[T, uuid.UUID, uuid.UUID, A, E, C], after string,
	page func(T, uuid.UUID) ([]uuid.UUID, error), check func(A) error) (place string, err error) {
	var id uuid.UUID
	if after != "" {
		if id, err = uuid.Parse(after); err != nil {
			return "", fmt.Errorf("%w: the place of an audit: %w", statemachine.ErrInvalid, err)
		}
	}
	last, err := s.audit(ctx, func(tx T) ([]uuid.UUID, error) { return page(tx, id) }, check)
	if last != uuid.Nil {
		place = last.String()
	}
	return place, err
}

// follow returns up to limit committed transitions after a cursor, see [Feed].
func (s *core[T, K, L, A, E, C]) follow(ctx context.Context, after Cursor,
	limit int) (page []statemachine.Transition[L], next Cursor, err error) {
	return paged(ctx, s.view, func(tx T) ([]statemachine.Transition[L], Cursor, error) { return s.of.records(tx).Follow(after, limit) })
}

// head returns the cursor after the newest transition, see [Feed].
func (s *core[T, K, L, A, E, C]) head(ctx context.Context) (Cursor, error) {
	return read(ctx, s.view, func(tx T) (Cursor, error) { return s.of.records(tx).Head() })
}

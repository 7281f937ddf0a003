package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

type (
	swapCore[A any]      = core[SwapUnit, string, string, A, swap.Event, swap.Change[A]]
	swapBatch[A any]     = batch[SwapUnit, string, string, A, swap.Event, swap.Change[A]]
	swapAggregate[A any] = aggregate[SwapUnit, string, string, A, swap.Event, swap.Change[A]]
	swapCommand[A any]   = command[string, A, swap.Event]
)

// SwapCommand is one or more events, in order, for one item.
type SwapCommand struct {
	ID     string
	Events []swap.Event
}

// swapItems is what both services are.
type swapItems[A any] struct {
	swapCore[A]
	policy  swap.Policy
	scope   switches.Scope
	records func(SwapUnit) SwapRecords[A]
	check   func(A) error
	next    func(A, swap.Control, time.Time) swap.Step
}

func newSwapItems[T SwapUnit, A any](s Store[T], p swap.Policy, rows func(SwapUnit) SwapRecords[A], name string,
	scope switches.Scope, m machine[string],
	apply func(A, swap.Event, time.Time) (swap.Change[A], error), check func(A) error, next func(A, swap.Control,
		time.Time) swap.Step) swapItems[A] {
	head := func(a *A) swap.Record { return any(a).(swap.Record) }
	of := &swapAggregate[A]{
		domain:   DomainSwaps,
		workers:  "swaps",
		policy:   p,
		records:  func(tx SwapUnit) records[string, string, A, swap.Change[A]] { return rows(tx) },
		machines: []machine[string]{m},
		id:       swapID[A],
		exists:   func(a *A) bool { return head(a).Head().Version > 0 },
		states: func(a *A) []state[string] {
			if r := head(a); r.Head().Version > 0 {
				return []state[string]{{name, r.Head().ID, r.Head().Version, r.State()}}
			}
			return nil
		},
		creates: func(ev swap.Event) (string, bool) {
			switch e := ev.(type) {
			case swap.Observed:
				return e.ID, true
			case swap.Recovered:
				return e.Observed.ID, true
			}
			return "", false
		},
		apply:  apply,
		result: func(c *swap.Change[A]) *A { return &c.New },
		empty:  (*swap.Change[A]).Empty,
		merge:  (*swap.Change[A]).Merge,
		beside: func(b *swapBatch[A]) beside[A, swap.Event, swap.Change[A]] {
			return &swapHouse[A]{b: b, policy: p, scope: scope}
		},
	}
	return swapItems[A]{swapCore: newCore(s, of, func(tx T) SwapUnit { return tx }), policy: p, scope: scope,
		records: rows, check: check, next: next}
}

// swapHouse brings the control row, and what the switch says of the direction, to the
// events of a batch.
type swapHouse[A any] struct {
	b             *swapBatch[A]
	policy        swap.Policy
	scope         switches.Scope
	switches      asked
	stored, drawn swap.Control
	read, locked  bool
}

func (h *swapHouse[A]) control(lock bool) (swap.Control, error) {
	if h.read && (h.locked || !lock) {
		return h.drawn, nil
	}
	c, err := h.b.tx.SwapHouse().Control(lock)
	h.stored, h.drawn, h.read, h.locked = c, c, true, lock
	return c, err
}

// given is the control row for an event that depends on the switch too.
func (h *swapHouse[A]) given(lock bool) (swap.Control, error) {
	c, err := h.control(lock)
	if err != nil {
		return c, err
	}
	state, err := h.switches.state(h.b.tx, h.scope)
	return c.With(state), err
}

func (h *swapHouse[A]) fill(a *A, ev swap.Event) (swap.Event, error) {
	var err error
	switch e := ev.(type) {
	case swap.Observed:
		e.Control, err = h.given(false)
		return e, err
	case swap.Confirmations:
		e.Control, err = h.control(false)
		return e, err
	case swap.Recovered:
		if err = h.others(a, ev, &e.Seen); err == nil {
			e.Observed.Control, err = h.given(false)
		}
		return e, err
	case swap.Elapsed:
		e.Control, err = h.given(false)
		return e, err
	case swap.Looked:
		if e.Number == 0 {
			e.Control, err = h.control(false)
		}
		if err == nil {
			err = h.others(a, ev, &e.Seen)
		}
		return e, err
	case swap.Outbound:
		err = h.others(a, ev, &e.Seen)
		return e, err
	case swap.Answered:
		e.Rival, err = h.rival(a, ev)
		return e, err
	case swap.Requeued:
		e.Control, err = h.control(false)
		return e, err
	case swap.PaidBy:
		e.Rival, err = h.rival(a, ev)
		return e, err
	case swap.Begun:
		known := any(a).(swap.Record).Head().Intent(e.Number) != nil // it is compared, and draws nothing
		if e.Control, err = h.given(true); err == nil && e.Reference == 0 && e.Signature == "" && !known {
			var next swap.Control
			next, err = h.drawn.Draw()
			e.Reference = next.Reference
		}
		return e, err
	}
	return ev, nil
}

// others says which other item's a transaction is, by its reference or its claim, and
// raises the counter to its reference.
func (h *swapHouse[A]) others(a *A, ev swap.Event, seen *swap.Sighting) (err error) {
	if c, err := h.control(false); err != nil {
		return err
	} else if c.Saw(*seen).Version != c.Version {
		h.read = false
		if err := saw(h.b.tx, *seen); err != nil {
			return err
		}
	}
	seen.Of, seen.Denied = "", false // what a caller says of them does not count
	of := func(in swap.Intent) bool { return in.Reference == seen.Reference }
	if seen.Chain == swap.Nexus && seen.Reference != 0 && !slices.ContainsFunc(any(a).(swap.Record).Head().Intents, of) {
		_, seen.Of, _, seen.Denied, err = ofReference(h.b.tx, h.policy, seen)
	}
	if err == nil {
		seen.Rival, err = h.rival(a, ev)
	}
	return err
}

// rival returns another item that has the transaction of an event on file.
func (h *swapHouse[A]) rival(a *A, ev swap.Event) (string, error) {
	r := any(a).(swap.Record)
	claim := swap.ClaimOf(r, ev)
	of := func(in swap.Intent) bool { return in.Claim == claim }
	if claim == "" || slices.ContainsFunc(r.Head().Intents, of) {
		return "", nil
	}
	_, id, err := h.b.tx.SwapHouse().OfClaim(claim)
	return id, err
}

// follow keeps a reference number that was used.
func (h *swapHouse[A]) follow(c *swap.Change[A]) error {
	added, _ := c.Intents()
	for _, in := range added {
		if in.Reference > h.drawn.Reference && h.locked {
			next, err := h.drawn.Seed(in.Reference)
			if err == nil {
				err = h.b.tx.SwapHouse().SaveControl(h.drawn, next)
			}
			if err != nil {
				return err
			}
			h.drawn = next
		}
	}
	return nil
}

// one sends events to one item.
func (s *swapItems[A]) one(ctx context.Context, id string, events []swap.Event) (A, error) {
	return only(s.do(ctx, []swapCommand[A]{{id: id, events: events}}))
}

func (s *swapItems[A]) all(ctx context.Context, commands []SwapCommand) ([]A, error) {
	return s.do(ctx, mapped(commands, func(c *SwapCommand) swapCommand[A] { return swapCommand[A]{id: c.ID, events: c.Events} }))
}

func (s *swapItems[A]) read(ctx context.Context, id string) (A, error) {
	return read(ctx, s.view, func(tx SwapUnit) (A, error) { return s.get(tx, id) })
}

func (s *swapItems[A]) owes(ctx context.Context, id string) (step swap.Step, now time.Time, err error) {
	err = s.view(ctx, func(tx SwapUnit) error {
		a, err := s.get(tx, id)
		if err != nil {
			return err
		}
		c, err1 := tx.SwapHouse().Control(false)
		state, err2 := tx.Switches().Ask(s.scope)
		now, err = tx.Now()
		step = s.next(a, c.With(state), now)
		return errors.Join(err1, err2, err)
	})
	return step, now, err
}

func (s *swapItems[A]) list(ctx context.Context, place swap.Place, after string, limit int) ([]A, error) {
	if !place.Valid() {
		return nil, fmt.Errorf("%w: place %v", statemachine.ErrInvalid, place)
	}
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	return read(ctx, s.view, func(tx SwapUnit) ([]A, error) { return s.records(tx).List(place, after, limit) })
}

// auditPage goes through the four tables one after the other. A place is the name of a table, a
// slash, and the last id that was read of this table.
func (s *swapItems[A]) auditPage(ctx context.Context, after string, limit int) (string, error) {
	if err := CheckLimit(limit); err != nil {
		return "", err
	}
	place, id := swap.Unprocessed, ""
	if after != "" {
		name, last, _ := strings.Cut(after, "/")
		if err := place.UnmarshalText([]byte(name)); err != nil {
			return "", fmt.Errorf("%w: an audit goes on at the place that the last page ended with: %w", statemachine.ErrInvalid, err)
		}
		id = last
	}
	last, err := s.audit(ctx, func(tx SwapUnit) ([]string, error) {
		page, err := s.records(tx).List(place, id, limit)
		return mapped(page, swapID[A]), err
	}, s.check)
	if last == "" {
		if place++; !place.Valid() {
			return "", err
		}
	}
	return place.String() + "/" + last, err
}

// within is the service inside a transaction that the caller has begun.
func (s swapItems[A]) within(tx SwapUnit) swapItems[A] {
	s.swapCore = s.swapCore.within(tx)
	return s
}

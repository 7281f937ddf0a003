package store

import (
	"context"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

type (
	swapCore[A any]      = core[SwapUnit, string, string, A, swap.Event, swap.Change[A]]
	swapBatch[A any]     = batch[SwapUnit, string, string, A, swap.Event, swap.Change[A]]
	swapAggregate[A any] = aggregate[SwapUnit, string, string, A, swap.Event, swap.Change[A]]
	swapCommand[A any]   = command[string, A, swap.Event]
)

// Deposits runs the rules of package swap for USDC to USDD. It decides nothing:
// it loads, calls [swap.Policy.ApplyDeposit], and saves. Each method is one
// transaction. A zero By.At is the store's time. [swap.Begun] gets its reference
// number here, and every event the control row.
type Deposits struct{ swapItems[swap.Deposit] }

// Credits is [Deposits] for USDD to USDC.
type Credits struct{ swapItems[swap.Credit] }

// SwapCommand is one or more events, in order, for one item.
type SwapCommand struct {
	ID     string
	Events []swap.Event
}

// HeldSwap is one or more events, in order, for an item that the caller has from
// an earlier call.
type HeldSwap[A any] struct {
	Item   A
	Events []swap.Event
}

// swapItems is what both services are.
type swapItems[A any] struct {
	swapCore[A]
	policy  swap.Policy
	records func(SwapUnit) SwapRecords[A]
	check   func(A) error
	next    func(A, swap.Control, time.Time) swap.Step
}

// NewDeposits returns the service for a store of any transaction type that has
// deposits. A policy that is not valid is [statemachine.ErrInvalid].
func NewDeposits[T SwapUnit](s Store[T], p swap.Policy) (*Deposits, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Deposits{newSwapItems(s, p, SwapUnit.Deposits, swap.DepositMachine.Name(), machineOf[string](swap.DepositMachine), p.ApplyDeposit, swap.CheckDeposit, p.NextDeposit)}, nil
}

// NewCredits is [NewDeposits] for credits.
func NewCredits[T SwapUnit](s Store[T], p swap.Policy) (*Credits, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Credits{newSwapItems(s, p, SwapUnit.Credits, swap.CreditMachine.Name(), machineOf[string](swap.CreditMachine), p.ApplyCredit, swap.CheckCredit, p.NextCredit)}, nil
}

func newSwapItems[T SwapUnit, A any](s Store[T], p swap.Policy, rows func(SwapUnit) SwapRecords[A], name string, m machine[string],
	apply func(A, swap.Event, time.Time) (swap.Change[A], error), check func(A) error, next func(A, swap.Control, time.Time) swap.Step) swapItems[A] {
	head := func(a *A) swap.Record { return any(a).(swap.Record) }
	of := &swapAggregate[A]{
		records:  func(tx SwapUnit) records[string, string, A, swap.Change[A]] { return rows(tx) },
		machines: []machine[string]{m},
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
		beside: func(b *swapBatch[A]) beside[A, swap.Event, swap.Change[A]] { return &swapHouse[A]{b: b} },
	}
	return swapItems[A]{swapCore: newCore(s, of, func(tx T) SwapUnit { return tx }), policy: p, records: rows, check: check, next: next}
}

// swapHouse brings the control row to the events of a batch.
type swapHouse[A any] struct {
	b             *swapBatch[A]
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

func (h *swapHouse[A]) fill(a *A, ev swap.Event) (swap.Event, error) {
	var err error
	switch e := ev.(type) {
	case swap.Observed:
		e.Control, err = h.control(false)
		return e, err
	case swap.Recovered:
		e.Observed.Control, err = h.control(false)
		return e, err
	case swap.Elapsed:
		e.Control, err = h.control(false)
		return e, err
	case swap.Looked:
		if e.Number == 0 {
			e.Control, err = h.control(false)
		}
		return e, err
	case swap.Begun:
		known := any(a).(swap.Record).Head().Intent(e.Number) != nil // it is compared, and draws nothing
		if e.Control, err = h.control(true); err == nil && e.Reference == 0 && e.Signature == "" && !known {
			var next swap.Control
			next, err = h.drawn.Draw()
			e.Reference = next.Reference
		}
		return e, err
	}
	return ev, nil
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

// Policy returns the policy of the service.
func (s *swapItems[A]) Policy() swap.Policy { return s.policy }

// Do sends events to one item, in order, in one transaction.
func (s *swapItems[A]) Do(ctx context.Context, id string, events ...swap.Event) (A, error) {
	as, err := s.DoAll(ctx, SwapCommand{id, events})
	if err != nil {
		var none A
		return none, err
	}
	return as[0], nil
}

// DoAll is Do for many items in one transaction: all of it or, with the first
// error, nothing. An item may come once; the results are in the order of the
// commands.
func (s *swapItems[A]) DoAll(ctx context.Context, commands ...SwapCommand) ([]A, error) {
	do := make([]swapCommand[A], len(commands))
	for i, c := range commands {
		do[i].id, do[i].events = c.ID, c.Events
	}
	return s.do(ctx, do)
}

// Held is DoAll for items that the caller still has: it loads nothing, the
// comparison of versions proves that they are current. One that is not is
// [statemachine.ErrConflict], or [statemachine.ErrFenced] where only its lease
// went to another, unless it has its events already. Go on with what it returns.
func (s *swapItems[A]) Held(ctx context.Context, commands ...HeldSwap[A]) ([]A, error) {
	return s.held(ctx, heldSwaps(commands), true, nil)
}

func heldSwaps[A any](held []HeldSwap[A]) []swapCommand[A] {
	commands := make([]swapCommand[A], len(held))
	for i := range held {
		a := &held[i].Item
		commands[i] = swapCommand[A]{any(a).(swap.Record).Head().ID, a, held[i].Events}
	}
	return commands
}

// Get returns one item, [statemachine.ErrNotFound] for an unknown one.
func (s *swapItems[A]) Get(ctx context.Context, id string) (A, error) {
	return read(ctx, s.view, func(tx SwapUnit) (A, error) { return s.get(tx, id) })
}

// Next says what an item owes now, by the store's clock, which it returns too.
func (s *swapItems[A]) Next(ctx context.Context, id string) (step swap.Step, now time.Time, err error) {
	err = s.view(ctx, func(tx SwapUnit) error {
		a, err := s.get(tx, id)
		if err != nil {
			return err
		}
		c, err := tx.SwapHouse().Control(false)
		if err == nil {
			now, err = tx.Now()
		}
		step = s.next(a, c, now)
		return err
	})
	return step, now, err
}

// List pages through one of the four tables by id, after one.
func (s *swapItems[A]) List(ctx context.Context, place swap.Place, after string, limit int) ([]A, error) {
	if !place.Valid() {
		return nil, fmt.Errorf("%w: place %v", statemachine.ErrInvalid, place)
	}
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	return read(ctx, s.view, func(tx SwapUnit) ([]A, error) { return s.records(tx).List(place, after, limit) })
}

// Trail returns the audit trail of an item, replayed and compared.
func (s *swapItems[A]) Trail(ctx context.Context, id string) ([]statemachine.Transition[string], error) {
	return s.trail(ctx, id)
}

// Audit checks a page of one of the four tables and returns the last id that it
// has read, empty at the end, and all that is wrong.
func (s *swapItems[A]) Audit(ctx context.Context, place swap.Place, after string, limit int) (last string, err error) {
	if err := CheckLimit(limit); err != nil {
		return "", err
	}
	return last, s.audit(ctx, func(tx SwapUnit) (ids []string, err error) {
		page, err := s.records(tx).List(place, after, limit)
		for i := range page {
			last = any(&page[i]).(swap.Record).Head().ID
			ids = append(ids, last)
		}
		return ids, err
	}, s.check)
}

// Follow returns committed transitions after a cursor, see [Feed].
func (s *swapItems[A]) Follow(ctx context.Context, after Cursor, limit int) ([]statemachine.Transition[string], Cursor, error) {
	return s.follow(ctx, after, limit)
}

// Head returns the cursor after the newest transition, see [Feed].
func (s *swapItems[A]) Head(ctx context.Context) (Cursor, error) { return s.head(ctx) }

// within is the service inside a transaction that the caller has begun.
func (s swapItems[A]) within(tx SwapUnit) swapItems[A] {
	s.swapCore = s.swapCore.within(tx)
	return s
}

// Within returns the service inside a transaction that the caller has begun and
// will end.
func (s *Deposits) Within(tx SwapUnit) *Deposits { return &Deposits{s.swapItems.within(tx)} }

// Within returns the service inside a transaction that the caller has begun and
// will end.
func (s *Credits) Within(tx SwapUnit) *Credits { return &Credits{s.swapItems.within(tx)} }

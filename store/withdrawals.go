package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// Withdrawals runs the rules of package withdrawal on a store: load, apply,
// save. Each method is one transaction. It is safe for concurrent use.
//
// Every command may be repeated: the same event again changes nothing. After
// [ErrUnknownCommit] a caller sends it again. Actor and role of an event come
// from the caller; a zero At becomes the store's own time, and so does the At of
// a submission that approval windows count.
type Withdrawals struct {
	policy withdrawal.Policy
	update func(context.Context, func(WithdrawalTx) error) error
	view   func(context.Context, func(WithdrawalTx) error) error
}

// NewWithdrawals returns the service for a store of any transaction type that
// has withdrawals. A policy that [withdrawal.Policy.Validate] refuses is
// [statemachine.ErrInvalid].
func NewWithdrawals[T WithdrawalTx](s Store[T], p withdrawal.Policy) (*Withdrawals, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Withdrawals{
		policy: p,
		update: func(ctx context.Context, fn func(WithdrawalTx) error) error {
			return s.Update(ctx, func(tx T) error { return fn(tx) })
		},
		view: func(ctx context.Context, fn func(WithdrawalTx) error) error {
			return s.View(ctx, func(tx T) error { return fn(tx) })
		},
	}, nil
}

// Within returns the service inside a transaction that the caller has begun
// and will end; its methods then commit nothing themselves. An error that an
// adapter delays comes with a later call or at the end of the transaction.
func (s *Withdrawals) Within(tx WithdrawalTx) *Withdrawals {
	run := func(_ context.Context, fn func(WithdrawalTx) error) error { return fn(tx) }
	return &Withdrawals{policy: s.policy, update: run, view: run}
}

// Policy returns the policy of the service.
func (s *Withdrawals) Policy() withdrawal.Policy { return s.policy }

// WithdrawalCommand is one or more events for one request, in order.
type WithdrawalCommand struct {
	Request uuid.UUID
	Events  []withdrawal.Event
}

// HeldWithdrawal is one or more events, in order, for an aggregate that the
// caller has from an earlier call.
type HeldWithdrawal struct {
	Withdrawal withdrawal.Withdrawal
	Events     []withdrawal.Event
}

// Submit creates a request. The sums of the approval windows are read here,
// under a lock of the user; Usage.Listed is the caller's. The same submission
// again returns what is stored; another one under the same id is
// [statemachine.ErrIllegal].
func (s *Withdrawals) Submit(ctx context.Context, ev withdrawal.Submitted) (withdrawal.Withdrawal, error) {
	return s.Do(ctx, ev.Request, ev)
}

// Do sends events to a request, in order, and returns the aggregate as it is
// stored afterwards. An error of one event changes nothing at all.
//
// Submitted and Imported create a request that does not exist; any other event
// for one is [statemachine.ErrNotFound]. Wallets of Enqueued and Imported are
// read here if nil.
func (s *Withdrawals) Do(ctx context.Context, request uuid.UUID, events ...withdrawal.Event) (withdrawal.Withdrawal, error) {
	ws, err := s.DoAll(ctx, WithdrawalCommand{request, events})
	if err != nil {
		return withdrawal.Withdrawal{}, err
	}
	return ws[0], nil
}

// DoAll is [Withdrawals.Do] for many requests in one transaction: all of it or,
// with the first error, nothing. A request may come once; the aggregates are in
// the order of the commands.
func (s *Withdrawals) DoAll(ctx context.Context, commands ...WithdrawalCommand) ([]withdrawal.Withdrawal, error) {
	held := make([]HeldWithdrawal, len(commands))
	for i, c := range commands {
		held[i].Withdrawal.Request.ID, held[i].Events = c.Request, c.Events
	}
	if err := distinct(held); err != nil {
		return nil, err
	}
	var ws []withdrawal.Withdrawal
	err := s.update(ctx, func(tx WithdrawalTx) (err error) {
		if ws, err = load(tx, held); err != nil {
			return err
		}
		return s.apply(tx, ws, held)
	})
	if err != nil {
		return nil, err
	}
	return ws, nil
}

// Held is [Withdrawals.DoAll] for aggregates that the caller still has, such as
// a worker between two steps: it loads nothing, the comparison of versions
// proves that they are current. One that is not is [statemachine.ErrConflict],
// or [statemachine.ErrFenced] where only its lease went to another, unless its
// events are all in the record already, as after [ErrUnknownCommit]. The
// aggregates that it returns are the ones to go on with.
func (s *Withdrawals) Held(ctx context.Context, commands ...HeldWithdrawal) ([]withdrawal.Withdrawal, error) {
	ws, err := s.held(ctx, commands, true, nil)
	if err != nil {
		return nil, err
	}
	return ws, nil
}

// errStale stands for ErrConflict inside of Update, which would run again for
// that.
var errStale = errors.New("stale")

// held applies events to held aggregates, then calls more. Where the first
// attempt meets a conflict or an old fence, the aggregates are loaded: a
// renewed lease is nothing that the caller knows of. If exact, what is loaded
// must be what the caller has, or have the events already; otherwise events are
// judged by what is stored.
func (s *Withdrawals) held(ctx context.Context, commands []HeldWithdrawal, exact bool, more func(WithdrawalTx) error) (ws []withdrawal.Withdrawal, err error) {
	if err := distinct(commands); err != nil {
		return nil, err
	}
	runs := 0
	run := func(tx WithdrawalTx) (err error) {
		if runs++; runs == 1 {
			ws = make([]withdrawal.Withdrawal, len(commands))
			for i := range commands {
				ws[i] = commands[i].Withdrawal
			}
		} else if ws, err = load(tx, commands); err != nil {
			return err
		}
		todo := commands
		for i := range ws {
			old := &commands[i].Withdrawal
			if !exact || sameVersions(&ws[i], old) {
				continue
			}
			done, err := s.repeated(tx, &ws[i], commands[i].Events)
			if err != nil {
				return err
			}
			if !done {
				return fmt.Errorf("withdrawal %s was held at version %d, job %s at version %d: %w",
					old.Request.ID, old.Request.Version, old.Job.ID, old.Job.Version, errStale)
			}
			todo = slices.Clone(todo)
			todo[i].Events = nil
		}
		if err := s.apply(tx, ws, todo); err != nil || more == nil {
			return err
		}
		return more(tx)
	}
	err = s.update(ctx, run)
	fenced := errors.Is(err, statemachine.ErrFenced)
	first := err
	if len(commands) > 0 && runs == 1 && (fenced || errors.Is(err, statemachine.ErrConflict)) {
		err = s.update(ctx, run)
	}
	switch {
	case !errors.Is(err, errStale):
		return ws, err
	case fenced:
		return nil, first
	}
	return nil, fmt.Errorf("%w: %w", statemachine.ErrConflict, err)
}

// repeated reports whether the record has all these events already.
func (s *Withdrawals) repeated(tx WithdrawalTx, w *withdrawal.Withdrawal, events []withdrawal.Event) (bool, error) {
	now, err := tx.Now()
	if err != nil {
		return false, err
	}
	for _, ev := range events {
		change, err := s.policy.ApplyAt(*w, ev, now)
		if err != nil || !change.Empty() {
			return false, nil
		}
	}
	return true, nil
}

func sameVersions(a, b *withdrawal.Withdrawal) bool {
	return a.Request.Version == b.Request.Version && a.Job.ID == b.Job.ID && a.Job.Version == b.Job.Version
}

func distinct(commands []HeldWithdrawal) error {
	if len(commands) < 2 {
		return nil
	}
	seen := make(map[uuid.UUID]struct{}, len(commands))
	for i := range commands {
		id := commands[i].Withdrawal.Request.ID
		if _, twice := seen[id]; twice {
			return fmt.Errorf("%w: two commands for request %s in one call", statemachine.ErrInvalid, id)
		}
		seen[id] = struct{}{}
	}
	return nil
}

func load(tx WithdrawalTx, commands []HeldWithdrawal) ([]withdrawal.Withdrawal, error) {
	ids := make([]uuid.UUID, len(commands))
	for i := range commands {
		ids[i] = commands[i].Withdrawal.Request.ID
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return tx.Withdrawals().Get(ids...)
}

// notFound names a request that does not exist.
func notFound(request uuid.UUID, event string) error {
	return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: withdrawal.RequestMachine.Name(), ID: request.String(), Event: event}
}

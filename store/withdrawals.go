package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// Withdrawals runs the rules of package withdrawal on a store: load, apply,
// save. Each method is one transaction. It is safe for concurrent use.
//
// Every command may be repeated: the same event again changes nothing. After
// [ErrUnknownCommit] a caller sends it again. Actor and role of an event come
// from the caller, the time of an event is the store's.
type Withdrawals struct {
	withdrawalCore
	policy withdrawal.Policy
}

type (
	withdrawalCore    = core[WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Withdrawal, withdrawal.Event, withdrawal.Change]
	withdrawalBatch   = batch[WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Withdrawal, withdrawal.Event, withdrawal.Change]
	withdrawalCommand = command[uuid.UUID, withdrawal.Withdrawal, withdrawal.Event]
	withdrawalRecords = records[uuid.UUID, uuid.UUID, withdrawal.Withdrawal, withdrawal.Change]
)

// NewWithdrawals returns the service for a store of any transaction type that
// has withdrawals. A policy that [withdrawal.Policy.Validate] refuses is
// [statemachine.ErrInvalid].
func NewWithdrawals[T WithdrawalUnit](s Store[T], p withdrawal.Policy) (*Withdrawals, error) {
	if err := errors.Join(p.Validate(), lacks(s, DomainWithdrawals)); err != nil {
		return nil, err
	}
	w := &Withdrawals{newCore(s, withdrawalAggregate(&p), func(tx T) WithdrawalUnit { return tx }), p}
	w.handed = newHanded[uuid.UUID, withdrawal.Withdrawal]()
	return w, nil
}

// withdrawalAggregate is the domain as the core sees it.
func withdrawalAggregate(p *withdrawal.Policy) *aggregate[WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Withdrawal,
	withdrawal.Event, withdrawal.Change] {
	job := machineOf[uuid.UUID](withdrawal.JobMachine)
	job.past = withdrawal.JobFailed.String() // only a failed one has a successor
	return &aggregate[WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Withdrawal, withdrawal.Event, withdrawal.Change]{
		domain:   DomainWithdrawals,
		workers:  "withdrawals",
		policy:   p,
		records:  func(tx WithdrawalUnit) withdrawalRecords { return tx.Withdrawals() },
		machines: []machine[uuid.UUID]{machineOf[uuid.UUID](withdrawal.RequestMachine), job},
		id:       requestID,
		exists:   func(w *withdrawal.Withdrawal) bool { return w.Request.Status != 0 },
		states: func(w *withdrawal.Withdrawal) []state[uuid.UUID] {
			return []state[uuid.UUID]{
				{withdrawal.RequestMachine.Name(), w.Request.ID, w.Request.Version, w.Request.Status.String()},
				{withdrawal.JobMachine.Name(), w.Job.ID, w.Job.Version, w.Job.Status.String()}}
		},
		creates: func(ev withdrawal.Event) (uuid.UUID, bool) {
			switch e := ev.(type) {
			case withdrawal.Submitted:
				return e.Request, true
			case withdrawal.Imported:
				return e.Request, true
			}
			return uuid.Nil, false
		},
		apply:  p.ApplyAt,
		result: func(c *withdrawal.Change) *withdrawal.Withdrawal { return &c.New },
		empty:  (*withdrawal.Change).Empty,
		merge:  (*withdrawal.Change).Merge,
		owner: func(tx WithdrawalUnit, _ string, job uuid.UUID) (uuid.UUID, error) {
			return tx.Withdrawals().RequestOf(job)
		},
		order:  inOrderOfUsers,
		kept:   unknownOutbound[WithdrawalUnit](p),
		signed: (*withdrawal.Withdrawal).Signed,
		beside: func(b *withdrawalBatch) beside[withdrawal.Withdrawal, withdrawal.Event, withdrawal.Change] {
			return &candidates{withdrawalBatch: b, policy: p}
		},
	}
}

// Within returns the service inside a transaction that the caller has begun
// and will end; its methods then commit nothing themselves. An error that an
// adapter delays comes with a later call or at the end of the transaction.
func (s *Withdrawals) Within(tx WithdrawalUnit) *Withdrawals {
	return &Withdrawals{s.within(tx), s.policy}
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

// Submit creates a request. The sums of the approval windows are read here, under a lock of the user; Usage.Listed is
// the caller's. The same submission again returns what is stored; a different one under the same id is
// [statemachine.ErrIllegal].
func (s *Withdrawals) Submit(ctx context.Context, ev withdrawal.Submitted) (withdrawal.Withdrawal, error) {
	return s.Do(ctx, ev.Request, ev)
}

// Import creates a request, or says of one that is on file, that a transaction pays it: see
// [withdrawal.Imported].
func (s *Withdrawals) Import(ctx context.Context, ev withdrawal.Imported) (withdrawal.Withdrawal, error) {
	return s.Do(ctx, ev.Request, ev)
}

// Do sends events to a request, in order, and returns the aggregate as it is stored afterwards. An error of one event
// changes nothing at all.
//
// Each event of an operator or an approver is in the journal, done or refused: see [Journal].
//
// Submitted and Imported create a request that does not exist; any other event for such a request is
// [statemachine.ErrNotFound]. If Wallets of Enqueued or Imported is nil, Do reads the wallets.
func (s *Withdrawals) Do(ctx context.Context, request uuid.UUID, events ...withdrawal.Event) (withdrawal.Withdrawal, error) {
	return only(s.DoAll(ctx, WithdrawalCommand{request, events}))
}

// DoAll is [Withdrawals.Do] for many requests in one transaction: all of it or,
// with the first error, nothing. A request may come once; the aggregates are in
// the order of the commands.
func (s *Withdrawals) DoAll(ctx context.Context, commands ...WithdrawalCommand) ([]withdrawal.Withdrawal, error) {
	return s.do(ctx, mapped(commands, func(c *WithdrawalCommand) withdrawalCommand {
		return withdrawalCommand{id: c.Request, events: c.Events}
	}))
}

// DoHeld is [Withdrawals.DoAll] for aggregates that the caller still has, such as a worker between two steps: the
// comparison of versions proves that they are current. An aggregate that is not current is [statemachine.ErrConflict],
// or [statemachine.ErrFenced] if only its lease went to another, unless the record has all of its events already, as
// after [ErrUnknownCommit]. Go on with the aggregates that DoHeld returns: if these, and those of a Turn, come back
// unchanged to the same service, they are not read again. Of any other copy only the versions count; what a caller
// changed in it is not stored.
func (s *Withdrawals) DoHeld(ctx context.Context, commands ...HeldWithdrawal) ([]withdrawal.Withdrawal, error) {
	return s.held(ctx, heldWithdrawals(commands), true, nil)
}

func requestID(w *withdrawal.Withdrawal) uuid.UUID { return w.Request.ID }

func heldWithdrawals(held []HeldWithdrawal) []withdrawalCommand {
	return mapped(held, func(h *HeldWithdrawal) withdrawalCommand {
		return withdrawalCommand{held: &h.Withdrawal, events: h.Events}
	})
}

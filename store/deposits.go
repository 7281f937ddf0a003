package store

import (
	"context"
	"errors"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
)

// SwapDeposits runs the rules of package swap for USDC to USDD. It decides nothing: it loads, calls
// [swap.Policy.ApplyDeposit], and saves. Each method is one transaction. The time of an event is the store's. The
// service gives [swap.Begun] its reference number, and every event that needs it the control row.
type SwapDeposits struct{ swapItems[swap.Deposit] }

// HeldDeposit is one or more events, in order, for a deposit that the caller has
// from an earlier call.
type HeldDeposit struct {
	Deposit swap.Deposit
	Events  []swap.Event
}

// NewSwapDeposits returns the service for a store of any transaction type that has
// deposits. A policy that is not valid is [statemachine.ErrInvalid].
func NewSwapDeposits[T SwapUnit](s Store[T], p swap.Policy) (*SwapDeposits, error) {
	if err := errors.Join(p.Validate(), lacks(s, DomainSwaps)); err != nil {
		return nil, err
	}
	rows := func(tx SwapUnit) SwapRecords[swap.Deposit] { return tx.Deposits() }
	return &SwapDeposits{newSwapItems(s, p, rows, swap.DepositMachine.Name(), swap.Scope(swap.ToUSDD), machineOf[string](swap.DepositMachine),
		p.ApplyDeposit, swap.CheckDeposit, p.NextDeposit)}, nil
}

// Policy returns the policy of the service.
func (s *SwapDeposits) Policy() swap.Policy { return s.policy }

// Observe puts a deposit on file: see [swap.Observed].
func (s *SwapDeposits) Observe(ctx context.Context, ev swap.Observed) (swap.Deposit, error) {
	return s.Do(ctx, ev.ID, ev)
}

// Do sends events to one deposit, in order, in one transaction.
func (s *SwapDeposits) Do(ctx context.Context, id string, events ...swap.Event) (swap.Deposit, error) {
	return s.one(ctx, id, events)
}

// DoAll is Do for many in one transaction: all of it or, with the first error,
// nothing. A deposit may come once; the results are in the order of the commands.
func (s *SwapDeposits) DoAll(ctx context.Context, commands ...SwapCommand) ([]swap.Deposit, error) {
	return s.all(ctx, commands)
}

// DoHeld is DoAll for deposits that the caller still has: the comparison of versions proves that they are current. A
// deposit that is not current is [statemachine.ErrConflict], unless it has its events already. Go on with the deposits
// that DoHeld returns. Only the versions of the caller's copies count: what a caller changed in a copy is not stored.
func (s *SwapDeposits) DoHeld(ctx context.Context, commands ...HeldDeposit) ([]swap.Deposit, error) {
	return s.held(ctx, heldDeposits(commands), true, nil)
}

func heldDeposits(held []HeldDeposit) []swapCommand[swap.Deposit] {
	return mapped(held, func(h *HeldDeposit) swapCommand[swap.Deposit] {
		return swapCommand[swap.Deposit]{held: &h.Deposit, events: h.Events}
	})
}

// Get returns one deposit, [statemachine.ErrNotFound] for an unknown one.
func (s *SwapDeposits) Get(ctx context.Context, id string) (swap.Deposit, error) {
	return s.read(ctx, id)
}

// Next says what a deposit owes now, by the store's clock, which it returns too.
func (s *SwapDeposits) Next(ctx context.Context, id string) (step swap.Step, now time.Time, err error) {
	return s.owes(ctx, id)
}

// List pages through one of the four tables by id, after one.
func (s *SwapDeposits) List(ctx context.Context, place swap.Place, after string, limit int) ([]swap.Deposit, error) {
	return s.list(ctx, place, after, limit)
}

// Trail returns the audit trail of a deposit, replayed and compared.
func (s *SwapDeposits) Trail(ctx context.Context, id string) ([]statemachine.Transition[string], error) {
	return s.trail(ctx, id)
}

// Verify is [SwapDeposits.Trail] for its check alone.
func (s *SwapDeposits) Verify(ctx context.Context, id string) error {
	_, err := s.Trail(ctx, id)
	return err
}

// Audit checks a page of the four tables behind a place, which is empty at the beginning. It
// returns the place of the next page, empty at the end, and all that is wrong.
func (s *SwapDeposits) Audit(ctx context.Context, after string, limit int) (place string, err error) {
	return s.auditPage(ctx, after, limit)
}

// Follow returns committed transitions after a cursor, see [Feed].
func (s *SwapDeposits) Follow(ctx context.Context, after Cursor, limit int) ([]statemachine.Transition[string], Cursor, error) {
	return s.follow(ctx, after, limit)
}

// Head returns the cursor after the newest transition, see [Feed].
func (s *SwapDeposits) Head(ctx context.Context) (Cursor, error) { return s.head(ctx) }

// Within returns the service inside a transaction that the caller has begun and
// will end.
func (s *SwapDeposits) Within(tx SwapUnit) *SwapDeposits {
	return &SwapDeposits{s.swapItems.within(tx)}
}

// Revoke gives back at once what a worker holds, see [Withdrawals.Revoke]. When an
// item is due stays, and what its intents may have sent is looked up as ever.
func (s *SwapDeposits) Revoke(ctx context.Context, by swap.By, of statemachine.Revocation) (n int, err error) {
	return s.give(ctx, by, of)
}

// Work is the work of one worker: due items, the oldest first. The lease lasts [swap.Policy.Lease] and belongs to name,
// which no other process may use. Next says what a claimed item owes. The handler stores each event with Do or DoHeld,
// [swap.Begun] before it sends anything, and returns the last events; once these are stored the item is given back.
// Results are judged by what is stored then. The key is the item's id.
func (s *SwapDeposits) Work(name string) DepositSource {
	return depositWork{swapWork[swap.Deposit]{&s.swapItems, s.runs.holds(name, "")}}
}

// DepositSource is work on deposits for [worker.Run]. A deposit whose handler panicked is
// due again when its lease has ended.
type DepositSource interface {
	worker.Source[swap.Deposit, HeldDeposit]
	worker.Revoking
}

type depositWork struct{ swapWork[swap.Deposit] }

func (w depositWork) Turn(ctx context.Context, done []HeldDeposit, n int) ([]worker.Item[swap.Deposit], time.Time, error) {
	return w.claim(ctx, heldDeposits(done), n)
}

func (w depositWork) Release(d swap.Deposit) HeldDeposit {
	return HeldDeposit{d, []swap.Event{swap.GivenBack{By: w.by(), Fence: d.Lease.Fence}}}
}

// Panicked says nothing: the worker logs the value, and nothing was learnt.
func (depositWork) Panicked(d swap.Deposit, _ any) HeldDeposit { return HeldDeposit{Deposit: d} }

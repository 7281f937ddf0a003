package store

import (
	"context"
	"errors"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
)

// SwapCredits is [SwapDeposits] for USDD to USDC, by [swap.Policy.ApplyCredit].
type SwapCredits struct{ swapItems[swap.Credit] }

// HeldCredit is [HeldDeposit] for a credit.
type HeldCredit struct {
	Credit swap.Credit
	Events []swap.Event
}

// NewSwapCredits is [NewSwapDeposits] for credits.
func NewSwapCredits[T SwapUnit](s Store[T], p swap.Policy) (*SwapCredits, error) {
	if err := errors.Join(p.Validate(), lacks(s, DomainSwaps)); err != nil {
		return nil, err
	}
	rows := func(tx SwapUnit) SwapRecords[swap.Credit] { return tx.Credits() }
	return &SwapCredits{newSwapItems(s, p, rows, swap.CreditMachine.Name(), swap.Scope(swap.ToUSDC), machineOf[string](swap.CreditMachine),
		p.ApplyCredit, swap.CheckCredit, p.NextCredit)}, nil
}

// Policy returns the policy of the service.
func (s *SwapCredits) Policy() swap.Policy { return s.policy }

// Observe is [SwapDeposits.Observe] for credits.
func (s *SwapCredits) Observe(ctx context.Context, ev swap.Observed) (swap.Credit, error) {
	return s.Do(ctx, ev.ID, ev)
}

// Do is [SwapDeposits.Do] for credits.
func (s *SwapCredits) Do(ctx context.Context, id string, events ...swap.Event) (swap.Credit, error) {
	return s.one(ctx, id, events)
}

// DoAll is [SwapDeposits.DoAll] for credits.
func (s *SwapCredits) DoAll(ctx context.Context, commands ...SwapCommand) ([]swap.Credit, error) {
	return s.all(ctx, commands)
}

// DoHeld is [SwapDeposits.DoHeld] for credits.
func (s *SwapCredits) DoHeld(ctx context.Context, commands ...HeldCredit) ([]swap.Credit, error) {
	return s.held(ctx, heldCredits(commands), true, nil)
}

func heldCredits(held []HeldCredit) []swapCommand[swap.Credit] {
	return mapped(held, func(h *HeldCredit) swapCommand[swap.Credit] {
		return swapCommand[swap.Credit]{held: &h.Credit, events: h.Events}
	})
}

// Get is [SwapDeposits.Get] for credits.
func (s *SwapCredits) Get(ctx context.Context, id string) (swap.Credit, error) {
	return s.read(ctx, id)
}

// Next is [SwapDeposits.Next] for credits.
func (s *SwapCredits) Next(ctx context.Context, id string) (step swap.Step, now time.Time, err error) {
	return s.owes(ctx, id)
}

// List is [SwapDeposits.List] for credits.
func (s *SwapCredits) List(ctx context.Context, place swap.Place, after string, limit int) ([]swap.Credit, error) {
	return s.list(ctx, place, after, limit)
}

// Trail is [SwapDeposits.Trail] for credits.
func (s *SwapCredits) Trail(ctx context.Context, id string) ([]statemachine.Transition[string], error) {
	return s.trail(ctx, id)
}

// Verify is [SwapCredits.Trail] for its check alone.
func (s *SwapCredits) Verify(ctx context.Context, id string) error {
	_, err := s.Trail(ctx, id)
	return err
}

// Audit is [SwapDeposits.Audit] for credits.
func (s *SwapCredits) Audit(ctx context.Context, after string, limit int) (place string, err error) {
	return s.auditPage(ctx, after, limit)
}

// Follow is [SwapDeposits.Follow] for credits.
func (s *SwapCredits) Follow(ctx context.Context, after Cursor, limit int) ([]statemachine.Transition[string], Cursor, error) {
	return s.follow(ctx, after, limit)
}

// Head is [SwapDeposits.Head] for credits.
func (s *SwapCredits) Head(ctx context.Context) (Cursor, error) { return s.head(ctx) }

// Within is [SwapDeposits.Within] for credits.
func (s *SwapCredits) Within(tx SwapUnit) *SwapCredits { return &SwapCredits{s.swapItems.within(tx)} }

// Revoke is [SwapDeposits.Revoke] for credits.
func (s *SwapCredits) Revoke(ctx context.Context, by swap.By, of statemachine.Revocation) (n int, err error) {
	return s.give(ctx, by, of)
}

// Work is [SwapDeposits.Work] for credits.
func (s *SwapCredits) Work(name string) CreditSource {
	return creditWork{swapWork[swap.Credit]{&s.swapItems, s.runs.holds(name, "")}}
}

// CreditSource is [DepositSource] for credits.
type CreditSource interface {
	worker.Source[swap.Credit, HeldCredit]
	worker.Revoking
}

type creditWork struct{ swapWork[swap.Credit] }

func (w creditWork) Turn(ctx context.Context, done []HeldCredit, n int) ([]worker.Item[swap.Credit], time.Time, error) {
	return w.claim(ctx, heldCredits(done), n)
}

func (w creditWork) Release(c swap.Credit) HeldCredit {
	return HeldCredit{c, []swap.Event{swap.GivenBack{By: w.by(), Fence: c.Lease.Fence}}}
}

// Panicked says nothing: the worker logs the value, and nothing was learnt.
func (creditWork) Panicked(c swap.Credit, _ any) HeldCredit { return HeldCredit{Credit: c} }

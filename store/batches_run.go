package store

import (
	"cmp"
	"context"
	"fmt"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// RunBatches is what one process does for withdrawals of which it pays several by one transaction,
// see [Batches.Run]. PayBatch and LookBatch are required, and what RunWithdrawals requires.
type RunBatches struct {
	// RunWithdrawals is of the requests that are paid alone. Its Concurrency is that of batches, and of
	// both kinds of look-ups.
	RunWithdrawals
	// PayBatch is the handler of [Batches.Payments]: it signs, stores and sends for all members.
	PayBatch func(context.Context, BatchWork) BatchResult
	// LookBatch is the handler of [Batches.Lookups].
	LookBatch func(context.Context, BatchWork) BatchResult
	// Size is how many requests one transaction pays at most, 1 to [withdrawal.MaxMembers]; 0 is 100.
	Size int
	// Alone is how many requests are paid alone at once on each chain, beside the batches; 0 is 1.
	Alone int
}

// Run does what [Withdrawals.Run] does, and pays batches on each chain and looks them up. All parts
// have one name.
func (s *Batches) Run(ctx context.Context, r RunBatches) error {
	if r.PayBatch == nil || r.LookBatch == nil {
		return fmt.Errorf("%w: RunBatches.PayBatch and RunBatches.LookBatch are required", statemachine.ErrInvalid)
	}
	loops, err := s.members.loops(&r.RunWithdrawals, cmp.Or(r.Alone, 1))
	if err != nil {
		return err
	}
	for _, chain := range r.Chains {
		payments := s.Payments(chain, r.Name, cmp.Or(r.Size, 100))
		if err := payments.(*batchPayments).sized(); err != nil {
			return fmt.Errorf("RunBatches.Size: %w", err)
		}
		pay, err := ready(&r.RunWithdrawals, payments, r.PayBatch, r.Concurrency)
		if err != nil {
			return fmt.Errorf("batches of chain %s: %w", chain, err)
		}
		look, err := ready(&r.RunWithdrawals, s.Lookups(chain, r.Name), r.LookBatch, r.Concurrency)
		if err != nil {
			return fmt.Errorf("look-ups of batches of chain %s: %w", chain, err)
		}
		loops = append(loops, pay, look)
	}
	return worker.All(ctx, loops...)
}

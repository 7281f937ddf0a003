package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// RunWithdrawals is what one process does for withdrawals, see [Withdrawals.Run]. Chains, Pay and
// Look are required; the zero value of every other field is fit for production.
type RunWithdrawals struct {
	// Chains are those that this process pays on. Other processes may pay on the same.
	Chains []uuid.UUID
	// Pay is the handler of [Withdrawals.Payments]: it signs, stores and sends.
	Pay func(context.Context, withdrawal.Withdrawal) HeldWithdrawal
	// Look is the handler of [Withdrawals.Lookups]: it says what the chain shows of what was sent.
	Look func(context.Context, withdrawal.Withdrawal) HeldWithdrawal
	// Order brings what the host decides of an approved request, see [Withdrawals.EnqueueDue].
	// Nil: this process makes no jobs, and somebody else sends Enqueued.
	Order func(withdrawal.Request) withdrawal.Enqueued

	// Name holds the leases; no other process, and no other Run, may have it. Empty: a name from
	// [worker.NewName].
	Name string
	// Concurrency is how many handlers run at once of each chain, payments and look-ups apart.
	Concurrency int
	Poll, Retry statemachine.Backoff // as in [worker.Options]
	Grace       time.Duration        // as in [worker.Options]
	CallTimeout time.Duration        // as in [worker.Options]
	Log         *slog.Logger         // as in [worker.Options]
}

// sweepOf is how many records one call of a sweep takes at most.
const sweepOf = 100

// Run does everything that withdrawals need of a process until ctx is done: on each chain it pays, looks up what was
// sent, and makes jobs of approved requests, and on all chains it picks up the executions whose worker has died. It
// makes no batches: a host that pays several requests by one transaction calls [Batches.Run] in its place.
//
// A part that cannot start is an error before anything is claimed ([statemachine.ErrInvalid]). At the end nothing more
// is claimed, handlers have Grace to return, results are stored and leases are given back; the error names what was
// left behind. If a part ends before ctx is done, all parts end.
func (s *Withdrawals) Run(ctx context.Context, r RunWithdrawals) error {
	loops, err := s.loops(&r, r.Concurrency)
	if err != nil {
		return err
	}
	return worker.All(ctx, loops...)
}

// loops are the parts of Run, of which alone payments run at once on each chain. It gives r a name.
func (s *Withdrawals) loops(r *RunWithdrawals, alone int) ([]worker.Loop, error) {
	switch {
	case len(r.Chains) == 0 || slices.Contains(r.Chains, uuid.Nil):
		return nil, fmt.Errorf("%w: RunWithdrawals.Chains names one chain or more, and none is zero", statemachine.ErrInvalid)
	case r.Pay == nil || r.Look == nil:
		return nil, fmt.Errorf("%w: RunWithdrawals.Pay and RunWithdrawals.Look are required", statemachine.ErrInvalid)
	}
	if r.Name == "" {
		r.Name = worker.NewName("withdrawals")
	}
	by := withdrawal.By{Actor: r.Name, Role: withdrawal.System}
	loops := []worker.Loop{r.sweep("rescue", func(ctx context.Context) (time.Duration, error) {
		_, wait, err := s.Rescue(ctx, by, sweepOf)
		return wait, err
	})}
	for i, chain := range r.Chains {
		if slices.Contains(r.Chains[:i], chain) {
			return nil, fmt.Errorf("%w: RunWithdrawals.Chains names chain %s twice", statemachine.ErrInvalid, chain)
		}
		pay, err := ready(r, s.Payments(chain, r.Name), r.Pay, alone)
		if err != nil {
			return nil, fmt.Errorf("payments of chain %s: %w", chain, err)
		}
		look, err := ready(r, s.Lookups(chain, r.Name), r.Look, r.Concurrency)
		if err != nil {
			return nil, fmt.Errorf("look-ups of chain %s: %w", chain, err)
		}
		loops = append(loops, pay, look)
		if r.Order == nil {
			continue
		}
		loops = append(loops, r.sweep("enqueue", func(ctx context.Context) (time.Duration, error) {
			_, wait, err := s.EnqueueDue(ctx, chain, sweepOf, r.Order)
			return wait, err
		}))
	}
	return loops, nil
}

func ready[W, R any](r *RunWithdrawals, source worker.Source[W, R], handle func(context.Context, W) R,
	concurrency int) (worker.Loop, error) {
	return worker.Ready(source, handle, worker.Options[W, R]{
		Concurrency: concurrency, Poll: r.Poll, Retry: r.Retry, Grace: r.Grace, CallTimeout: r.CallTimeout, Log: r.Log})
}

func (r *RunWithdrawals) sweep(name string, call func(context.Context) (time.Duration, error)) worker.Loop {
	return worker.Sweep{Name: name, Call: call, Pause: r.Poll.Base, Retry: r.Retry, Log: r.Log}.Run
}

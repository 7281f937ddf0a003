package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
)

// RunSwaps is what one process does for swaps, see [Swaps.Run]. Deposit and Credit are required;
// the zero value of every other field is fit for production.
type RunSwaps struct {
	// Deposit and Credit are the handlers of [SwapDeposits.Work] and [SwapCredits.Work]: they do what Next
	// says, store what came of it, and give the item back.
	Deposit func(context.Context, swap.Deposit) HeldDeposit
	Credit  func(context.Context, swap.Credit) HeldCredit
	// Scan reads what came in, and the vault's own history, on a chain, stores what it finds, and
	// returns when to read again; see [Swaps.Waterline] and [Swaps.Scanned]. Nil: somebody else
	// reads, as one process at a time should.
	Scan func(ctx context.Context, chain swap.Chain) (wait time.Duration, err error)

	// Name holds the leases; no other process, and no other Run, may have it. Empty: a name from
	// [worker.NewName].
	Name string
	// Concurrency is how many handlers run at once in each direction; see [worker.Options], also
	// for the fields below.
	Concurrency int
	Poll, Retry statemachine.Backoff
	Grace       time.Duration
	CallTimeout time.Duration
	Log         *slog.Logger
}

// Run does everything that swaps need of a process until ctx is done: it works on both directions,
// and reads both chains where Scan is given.
//
// What cannot start is an error before anything is claimed ([statemachine.ErrInvalid]). At the end
// nothing more is claimed, handlers have Grace to return, results are stored and leases are given
// back; the error says what was left behind. If a part ends before ctx is done, all parts end.
func (s *Swaps) Run(ctx context.Context, r RunSwaps) error {
	if r.Deposit == nil || r.Credit == nil {
		return fmt.Errorf("%w: RunSwaps.Deposit and RunSwaps.Credit are required", statemachine.ErrInvalid)
	}
	if r.Name == "" {
		r.Name = worker.NewName("swaps")
	}
	deposits, err := loopOf(&r, s.Deposits.Work(r.Name), r.Deposit)
	if err != nil {
		return fmt.Errorf("deposits: %w", err)
	}
	credits, err := loopOf(&r, s.Credits.Work(r.Name), r.Credit)
	if err != nil {
		return fmt.Errorf("credits: %w", err)
	}
	loops := []worker.Loop{deposits, credits}
	for _, chain := range swap.Chain(0).Values() {
		if r.Scan != nil {
			call := func(ctx context.Context) (time.Duration, error) { return r.Scan(ctx, chain) }
			loops = append(loops, worker.Sweep{Name: "scan " + chain.String(), Call: call, Pause: r.Poll.Base, Retry: r.Retry, Log: r.Log}.Run)
		}
	}
	return worker.All(ctx, loops...)
}

func loopOf[A, H any](r *RunSwaps, source worker.Source[A, H], handle func(context.Context, A) H) (worker.Loop, error) {
	return worker.Ready(source, handle, worker.Options[A, H]{
		Concurrency: r.Concurrency, Poll: r.Poll, Retry: r.Retry, Grace: r.Grace, CallTimeout: r.CallTimeout, Log: r.Log})
}

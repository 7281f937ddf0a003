package refresher

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
)

// Host calls the node that has the wallets. A call must be safe to repeat, and must return soon
// after its context is done. An error that is neither [ErrPermanent] nor [ErrDeferred] means that
// nobody knows what happened, or that the call can be tried again.
type Host interface {
	// Refresh brings the wallet's state up to date.
	Refresh(ctx context.Context, w refresh.Credentials) error
	// ListAssets returns the ids of the wallet's assets.
	ListAssets(ctx context.Context, w refresh.Credentials) ([]string, error)
	// ListTransfers returns the transfers of an asset; for an empty asset, the transfers that
	// have no asset yet.
	ListTransfers(ctx context.Context, w refresh.Credentials, asset string) ([]refresh.Transfer, error)
	// FailTransfers looks the transfers with this index up again and cancels them. It returns
	// [ErrPermanent] when one of them has moved.
	FailTransfers(ctx context.Context, w refresh.Credentials, index int32) error
}

var (
	// ErrPermanent, in the chain of a call's error, says that the call did not happen and never
	// will. A job whose refresh or listing returns it fails at once.
	ErrPermanent = errors.New("refused for ever")
	// ErrDeferred, in the chain of a call's error, says that the call was not tried, because the
	// node is busy or paused. It costs the job no attempt.
	ErrDeferred = errors.New("not tried")
)

// Options of [Run]. The zero value is fit for production.
type Options struct {
	// Name of the process, the holder of its leases. No other process may have this name, nor an
	// earlier run of this program. If it is empty, it is made from the machine's name, the
	// process id and random characters.
	Name  string
	Grace time.Duration // how long rounds may go on after a stop; 10 s if zero
	Log   *slog.Logger  // nil means slog.Default
}

// Run makes the recovery jobs of a start, then serves wallets until ctx is done, and gives its
// slots back. It then returns nil, or an error that says what could not be stored. Several Runs
// may use one store, in one process or in many, with one policy.
func Run(ctx context.Context, s *store.Refreshes, host Host, o Options) error {
	if s == nil || host == nil {
		return fmt.Errorf("%w: a refresher needs a service and a host", statemachine.ErrInvalid)
	}
	if o.Name == "" {
		machine, _ := os.Hostname()
		o.Name = fmt.Sprintf("%.100s/%d/%s", machine, os.Getpid(), rand.Text()[:8])
	}
	if err := refresh.ValidActor(o.Name); err != nil {
		return err
	}
	o.Log = cmp.Or(o.Log, slog.Default()).With("process", o.Name)
	c := s.Policy()
	slots := &slots{service: s, host: host, policy: c, name: o.Name, log: o.Log, stopping: ctx, all: map[string]*slot{}}
	if err := slots.recover(ctx); err != nil {
		return nil // stopped before it began
	}
	err := worker.Run(ctx, slots, func(ctx context.Context, r *round) result { return r.run(ctx) }, worker.Options[*round, result]{
		Concurrency: int(c.MaxWalletProcesses),
		Linger:      c.PollInterval / 4,
		Poll:        statemachine.Backoff{Base: c.PollInterval, Cap: c.PollInterval},
		Grace:       o.Grace,
		CallTimeout: min(5*time.Second, c.LockTTL/3),
		Hooks:       worker.Hooks[*round, result]{Lost: func(i worker.Item[*round], _ error) { slots.lost(i.Work) }},
		Log:         o.Log,
	})
	return errors.Join(err, slots.release(ctx))
}

// recover makes the recovery jobs of a start. It returns an error only when ctx
// is done.
func (s *slots) recover(ctx context.Context) error {
	pause := statemachine.Backoff{Base: 100 * time.Millisecond, Cap: 5 * time.Second}
	by := refresh.By{Actor: s.name, Role: refresh.Orchestrator}
	for after, fails := "", 0; ; {
		jobs, next, err := s.service.Recover(ctx, by, after, 100)
		switch {
		case err == nil && next == "":
			return ctx.Err()
		case err == nil:
			after, fails = next, 0
			s.log.Info("recovered", "jobs", len(jobs))
			continue
		case errors.Is(err, statemachine.ErrCorrupt): // asking again changes nothing, and what is due is due without these jobs
			s.log.Error("recovery ended early", "error", err)
			return ctx.Err()
		}
		s.log.Warn("recovery failed", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause.Delay(fails, 0)):
			fails++
		}
	}
}

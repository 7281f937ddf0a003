package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Loop is a part of a service that goes on until ctx is done, such as a [Run].
type Loop func(ctx context.Context) error

// All runs loops at the same time, and returns when all have ended, with all of their errors. The
// first loop that ends, for whatever reason, ends the others: a service without one of its loops
// would leave work undone in silence.
func All(ctx context.Context, loops ...Loop) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, len(loops))
	for _, loop := range loops {
		go func() {
			defer stop()
			ended <- loop(ctx)
		}()
	}
	var errs []error
	for range loops {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

// Sweep calls something again and again, such as a method of a service that looks for what no
// claim finds. The zero value of each field but Call is fit for production.
type Sweep struct {
	// Name of the sweep in the log.
	Name string
	// Call does what is due and returns when to call it again. A Call that fails or panics is
	// logged, and called again after Retry. Its context ends with CallTimeout.
	Call func(ctx context.Context) (wait time.Duration, err error)
	// Pause is the shortest pause between two calls; 100 ms if zero.
	Pause time.Duration
	// Retry is the pause after a Call that failed. 100 ms to 5 s with 50 % jitter if Base is zero.
	Retry statemachine.Backoff
	// CallTimeout bounds each Call; 30 s if zero.
	CallTimeout time.Duration
	Log         *slog.Logger // nil means slog.Default
}

// Run is the [Loop] of the sweep: it calls Call until ctx is done, and returns nil then.
func (s Sweep) Run(ctx context.Context) error {
	log := cmp.Or(s.Log, slog.Default())
	if s.Retry.Base <= 0 {
		s.Retry = defaultPause
	}
	jitter := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for tries := 0; ctx.Err() == nil; {
		wait, err := s.once(ctx)
		if err == nil {
			tries = 0
		} else {
			if ctx.Err() == nil {
				log.Warn("sweep failed", "sweep", s.Name, "error", err)
			}
			wait = max(wait, s.Retry.Delay(tries, jitter.Uint64()))
			tries++
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(wait, cmp.Or(s.Pause, 100*time.Millisecond))):
		}
	}
	return nil
}

func (s Sweep) once(ctx context.Context) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.CallTimeout, 30*time.Second))
	defer cancel()
	if p := try(func() { wait, err = s.Call(ctx) }); p != nil {
		err = p
	}
	return wait, err
}

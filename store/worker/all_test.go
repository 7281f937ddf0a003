package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// The first loop that ends, with an error or without, ends the others, and no error is lost.
func TestAllEndTogether(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	for _, of := range []error{first, nil} {
		bubble(t, func(t *testing.T) {
			waits := func(ctx context.Context) error { <-ctx.Done(); return second }
			err := worker.All(context.Background(), waits, func(context.Context) error { return of }, waits)
			if of != nil && !errors.Is(err, first) || !errors.Is(err, second) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A sweep comes when its last call has asked for it, after a failure or a panic when its retry
// says, and a call that hangs is cut.
func TestSweep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		ctx, stop := context.WithCancel(context.Background())
		s := worker.Sweep{Name: "sweep", Pause: time.Second, Retry: statemachine.Backoff{Base: 3 * time.Second, Cap: 5 * time.Second},
			CallTimeout: 10 * time.Second, Call: func(ctx context.Context) (time.Duration, error) {
				at = append(at, time.Since(began))
				switch len(at) {
				case 1:
					return time.Minute, nil
				case 2:
					return 0, nil // more is waiting: after the shortest pause
				case 3:
					return 0, fmt.Errorf("no database")
				case 4:
					panic("a bug")
				case 5:
					<-ctx.Done()
					return 0, ctx.Err()
				case 6:
					return time.Hour, nil
				}
				stop()
				return 0, nil
			}}
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		// 60 + 1 + 3 + 5 (the cap) + 10 (cut) + 5 + an hour.
		want := []time.Duration{0, 60 * time.Second, 61 * time.Second, 64 * time.Second, 69 * time.Second, 84 * time.Second, time.Hour + 84*time.Second}
		if !slices.Equal(at, want) {
			t.Errorf("called at %v, expected %v", at, want)
		}
	})
}

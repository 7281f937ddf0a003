package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// brief is a source of nothing with a short lease.
type brief struct{ lease time.Duration }

func (brief) Turn(context.Context, []int, int) ([]worker.Item[int], time.Time, error) {
	return nil, time.Now().Add(time.Hour), nil
}
func (brief) Renew(context.Context, []worker.Item[int]) error { return nil }
func (b brief) ShortestLease() time.Duration                  { return b.lease }
func (brief) Release(int) int                                 { return 0 }
func (brief) Panicked(int, any) int                           { return 0 }

// A lease that one slow call of the source outlasts is refused at the start.
func TestALeaseLastsTwoCalls(t *testing.T) {
	for _, tt := range []struct {
		lease, call time.Duration
		want        error
	}{{time.Second, 500 * time.Millisecond, nil}, {time.Second - 1, 500 * time.Millisecond, statemachine.ErrInvalid},
		{0, time.Hour, nil}, {10 * time.Second, 5 * time.Second, nil}, {10*time.Second - 1, 5 * time.Second, statemachine.ErrInvalid},
		{time.Second, 0, nil}} { // by default a call has half of the lease at most
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := worker.Run(ctx, brief{tt.lease}, func(context.Context, int) int { return 0 }, worker.Options[int, int]{CallTimeout: tt.call})
		if !errors.Is(err, tt.want) {
			t.Errorf("a lease of %v and calls of %v: %v, expected %v", tt.lease, tt.call, err, tt.want)
		}
		for _, field := range []string{"Policy.Lease", "Policy.CheckEvery", "Options.CallTimeout", tt.lease.String(), tt.call.String()} {
			if err != nil && !strings.Contains(err.Error(), field) {
				t.Errorf("it does not name %s: %v", field, err)
			}
		}
	}
}

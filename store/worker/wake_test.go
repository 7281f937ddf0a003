package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// asked is a source without work that notes when it is asked; each answer takes a while.
type asked struct {
	at    []time.Duration
	start time.Time
	takes time.Duration
}

func (a *asked) Turn(context.Context, []int, int) ([]worker.Item[int], time.Time, error) {
	a.at = append(a.at, time.Since(a.start))
	time.Sleep(a.takes)
	return nil, time.Time{}, nil
}

func (*asked) Renew(context.Context, []worker.Item[int]) error { return nil }
func (*asked) Release(int) int                                 { return 0 }
func (*asked) Panicked(int, any) int                           { return 0 }
func (*asked) ShortestLease() time.Duration                    { return 0 }

// A wake-up makes Run ask at once. One that comes during a Turn makes it ask again, since the
// Turn may not have seen the new work.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
		defer cancel()
		source := &asked{start: time.Now(), takes: time.Second}
		wake := make(chan struct{}, 1)
		go func() {
			time.Sleep(10 * time.Minute)
			wake <- struct{}{}
			time.Sleep(time.Second / 2)
			wake <- struct{}{}
		}()
		err := worker.Run(ctx, source, func(_ context.Context, n int) int { return n },
			worker.Options[int, int]{Wake: wake, Poll: statemachine.Backoff{Base: 50 * time.Minute, Cap: 50 * time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{0, 10 * time.Minute, 10*time.Minute + time.Second, 60*time.Minute + 2*time.Second,
			110*time.Minute + 3*time.Second}
		if len(source.at) != len(want) {
			t.Fatalf("asked at %v, expected %v", source.at, want)
		}
		for i := range want {
			if source.at[i] != want[i] {
				t.Fatalf("asked at %v, expected %v", source.at, want)
			}
		}
	})
}

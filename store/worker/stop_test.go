package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/store/worker"
)

func TestStopStoresWhatHandlersEndWithinTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "fast", "slow", "never started")
		b.o.Concurrency, b.o.Grace, b.o.Linger = 2, 20*time.Second, time.Hour
		b.handle = func(ctx context.Context, j job) answer {
			d := 3 * time.Second
			if j.key == "slow" {
				d = 15 * time.Second
			}
			if err := sleep(ctx, d); err != nil {
				t.Errorf("%s was cancelled: %v", j.key, err)
			}
			return ok(j)
		}
		b.run()
		time.Sleep(2 * time.Second)
		b.cancel()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		b.mu.Lock()
		b.want("fast", "ok") // at once, the slow one still runs
		b.mu.Unlock()
		if err := <-b.result; err != nil {
			t.Error(err)
		}
		if took := time.Since(b.start); took != 15*time.Second {
			t.Errorf("Run ended after %v, want 15s", took)
		}
		b.want("slow", "ok")
		if b.row("never started").claims != 0 {
			t.Error("claimed after the stop")
		}
		for _, c := range b.calls {
			if c.at.Sub(b.start) >= 2*time.Second && c.n != 0 {
				t.Errorf("a claim after the stop: %+v", c)
			}
		}
		if len(b.renews) != 1 {
			t.Errorf("%d renewals during the grace, want 1", len(b.renews))
		}
	})
}

func TestStopCancelsHandlersAfterTheGrace(t *testing.T) {
	for _, grace := range []time.Duration{5 * time.Second, -1} {
		bubble(t, func(t *testing.T) {
			b := newBed(t, "a")
			b.o.Grace = grace
			var cause error
			b.handle = func(ctx context.Context, j job) answer {
				cause = sleep(ctx, time.Hour)
				time.Sleep(40 * time.Second) // longer than its lease
				return ok(j)
			}
			b.run()
			time.Sleep(time.Second)
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			if took := time.Since(b.start); !errors.Is(cause, worker.ErrStopped) || took != 41*time.Second+max(grace, 0) {
				t.Errorf("cancelled by %v, ended after %v", cause, took)
			}
			b.want("a", "ok")
		})
	}
}

// The stop comes while a Turn is under way. The Turn is not cut off, and the items that it claims
// are given back with their attempts.
func TestStopGivesUnstartedItemsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a", "b")
		b.takes = time.Second
		b.handle = func(_ context.Context, j job) answer { t.Errorf("%s was started", j.key); return ok(j) }
		b.runFor(500 * time.Millisecond)
		for _, key := range []string{"a", "b"} {
			b.want(key, "released")
			if r := b.row(key); r.claims != 0 || r.lease.Fence != 1 || r.lease.Held(time.Now()) {
				t.Errorf("%s: %+v, want it free with its attempt back", key, r)
			}
		}
	})
}

func TestStopReportsUnstartedItemsWhoseReleasePanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.takes = time.Second
		b.release = func(job) answer { panic("no") }
		b.runFor(500 * time.Millisecond)
		if b.lost[job{"a", 1}] == nil {
			t.Errorf("lost: %v", b.lost)
		}
	})
}

func TestStopGivesUpOnADeadStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.before = func(c *call) error {
			if len(c.done) > 0 {
				return errConnection
			}
			return nil
		}
		b.o.CallTimeout = 8 * time.Second
		b.handle = func(ctx context.Context, j job) answer { time.Sleep(time.Second); return ok(j) }
		b.run()
		time.Sleep(500 * time.Millisecond)
		err := b.stop()
		if took := time.Since(b.start); !errors.Is(err, worker.ErrStopped) || !errors.Is(err, errConnection) || took != 9*time.Second {
			t.Errorf("Run returned %v after %v", err, took)
		}
		if !errors.Is(b.refused[job{"a", 1}], errConnection) {
			t.Errorf("refused: %v", b.refused)
		}
	})
}

func TestAStoppedContextClaimsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := worker.Run(ctx, b.fake, b.handle, b.o); err != nil || len(b.calls) != 0 {
			t.Errorf("Run %v, turns %v", err, b.calls)
		}
	})
}

// The last Turn hangs: its context has a time-out.
func TestACallIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		s := stub{turn: func(ctx context.Context, done []answer, n int) ([]worker.Item[job], time.Time, error) {
			if len(done) > 0 {
				<-ctx.Done()
				return nil, time.Time{}, ctx.Err()
			}
			return b.Turn(ctx, done, n)
		}, renew: b.Renew}
		ctx, cancel := context.WithCancel(t.Context())
		b.handle = func(ctx context.Context, j job) answer { cancel(); return ok(j) }
		err := worker.Run(ctx, s, b.handle, b.o)
		if took := time.Since(b.start); !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
			t.Errorf("Run returned %v after %v", err, took)
		}
	})
}

func TestHandlersSeeTheValuesOfTheContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type key struct{}
		b := newBed(t, "a")
		b.o.Idle = time.Second
		var got any
		b.handle = func(ctx context.Context, j job) answer { got = ctx.Value(key{}); return ok(j) }
		if err := worker.Run(context.WithValue(t.Context(), key{}, 7), b.fake, b.handle, b.o); err != nil || got != 7 {
			t.Errorf("Run %v, value %v", err, got)
		}
	})
}

// The stop comes during a long Turn, and the first attempt to give back what the Turn claims
// fails. There is still time for a second attempt.
func TestTheTimeToStoreBeginsAfterTheTurnUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.takes, b.o.CallTimeout = 7*time.Second, 8*time.Second
		failed := false
		b.before = func(c *call) error {
			if len(c.done) > 0 && !failed {
				failed = true
				return errConnection
			}
			return nil
		}
		b.runFor(500 * time.Millisecond)
		b.want("a", "released")
	})
}

package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/store/worker"
)

// named is a source whose leases belong to a name.
type named struct {
	*fake
	revoked func(context.Context) error
}

func (n named) Revoke(ctx context.Context) error { return n.revoked(ctx) }

// The end of a Run gives back what is still held, once, after the last handler and the last
// result.
func TestTheEndGivesBackWhatIsHeld(t *testing.T) {
	for _, err := range []error{nil, errors.New("down")} {
		for name, stop := range map[string]func(*worker.Options[job, answer], context.CancelFunc){
			"a stop":      func(_ *worker.Options[job, answer], cancel context.CancelFunc) { time.AfterFunc(time.Second, cancel) },
			"an idle end": func(o *worker.Options[job, answer], _ context.CancelFunc) { o.Idle = time.Minute },
			"a panic":     func(_ *worker.Options[job, answer], cancel context.CancelFunc) { time.AfterFunc(time.Second, cancel) },
		} {
			bubble(t, func(t *testing.T) {
				b := newBed(t, "a", "b")
				b.panicked = func(job, any) answer { panic("no") } // its item is dropped with its lease
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stop(&b.o, cancel)
				running, revoked := 0, 0
				b.handle = func(_ context.Context, j job) answer {
					running++
					time.Sleep(3 * time.Second)
					running--
					if name == "a panic" && j.key == "b" {
						panic("no")
					}
					return ok(j)
				}
				b.o.Concurrency = 1
				source := named{b.fake, func(ctx context.Context) error {
					if revoked++; ctx.Err() != nil || running > 0 || len(b.stored) == 0 {
						t.Errorf("%s: context %v, %d handlers run, %d stored", name, ctx.Err(), running, len(b.stored))
					}
					return err
				}}
				if err := worker.Run(ctx, source, b.handle, b.o); err != nil || revoked != 1 {
					t.Errorf("%s: %v, given back %d times", name, err, revoked)
				}
			})
		}
	}
}

// A panic of the source is no panic of Run, and a slow one ends.
func TestGivingBackIsBounded(t *testing.T) {
	for name, revoke := range map[string]func(context.Context) error{
		"panics": func(context.Context) error { panic("no") },
		"hangs":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		bubble(t, func(t *testing.T) {
			b := newBed(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := worker.Run(ctx, named{b.fake, revoke}, b.handle, b.o); err != nil || time.Since(b.start) > 5*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(b.start))
			}
		})
	}
}

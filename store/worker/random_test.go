package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// chaos is one random run.
type chaos struct {
	concurrency, batch, keys int
	linger, lease, takes     time.Duration
	longest                  time.Duration // of a handler
	failing                  float64       // share of calls that fail, before and after the commit
	panics                   float64       // share of handlers
	steals                   int
	stopAfter                time.Duration
	deaf                     bool // handlers ignore their contexts
	seed                     uint64
}

func drawChaos(t *rapid.T) chaos {
	ms := func(name string, lo, hi int) time.Duration {
		return time.Duration(rapid.IntRange(lo, hi).Draw(t, name)) * time.Millisecond
	}
	return chaos{
		concurrency: rapid.IntRange(1, 6).Draw(t, "concurrency"),
		batch:       rapid.IntRange(0, 4).Draw(t, "batch"),
		keys:        rapid.IntRange(1, 20).Draw(t, "keys"),
		linger:      ms("linger", 0, 500),
		lease:       ms("lease", 500, 20_000),
		takes:       ms("takes", 0, 300),
		longest:     ms("longest", 0, 30_000),
		failing:     rapid.Float64Range(0, 0.6).Draw(t, "failing"),
		panics:      rapid.Float64Range(0, 0.3).Draw(t, "panics"),
		steals:      rapid.IntRange(0, 5).Draw(t, "steals"),
		stopAfter:   ms("stopAfter", 0, 120_000),
		deaf:        rapid.Bool().Draw(t, "deaf"),
		seed:        rapid.Uint64().Draw(t, "seed"),
	}
}

// In every history: no two handlers of one key run at once, no more than Concurrency run at once,
// every claim that Run knows of is stored exactly once or reported as lost or refused, a store
// that answers again gets everything, and all goroutines end.
func TestRandomHistoriesKeepTheContract(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawChaos(rt)
		var broken error
		synctest.Test(t, func(t *testing.T) { broken = c.run(t) })
		if broken != nil {
			rt.Fatalf("%v", broken)
		}
	})
}

func (c chaos) run(t *testing.T) error {
	var mu sync.Mutex
	var errs []error
	broken := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, fmt.Errorf(format, args...))
	}
	random := rand.New(rand.NewPCG(c.seed, 1))
	roll := func(share float64) bool {
		mu.Lock()
		defer mu.Unlock()
		return random.Float64() < share
	}
	upTo := func(d time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.Int64N(int64(d) + 1))
	}

	b := newBed(t)
	b.o.Concurrency, b.o.Batch, b.o.Linger = c.concurrency, c.batch, c.linger
	b.o.Jitter = rand.New(rand.NewPCG(c.seed, 2))
	b.lease, b.takes = c.lease, c.takes
	for i := range c.keys {
		b.add(fmt.Sprint(i), upTo(time.Minute))
	}
	calm := false // the store has no more trouble; guarded by b.mu
	trouble := []error{errConnection, statemachine.ErrInvalid, statemachine.ErrConflict, statemachine.ErrCorrupt}
	fail := func() error {
		if calm || !roll(c.failing/3) {
			return nil
		}
		return trouble[upTo(time.Duration(len(trouble)-1))]
	}
	b.before = func(*call) error {
		if err := fail(); !errors.Is(err, statemachine.ErrCorrupt) {
			return err
		}
		panic("corrupt row")
	}
	b.after = func(*call) error { // the commit landed, the reply is lost
		if fail() != nil {
			return errConnection
		}
		return nil
	}
	b.renew = func([]string) error { return fail() }

	known, stored, lost, refused := map[job]int{}, map[job]int{}, map[job]int{}, map[job]int{}
	b.o.Hooks = worker.Hooks[job, answer]{
		Claimed: func(i worker.Item[job]) { known[i.Work]++ },
		Stored:  func(i worker.Item[job], _ time.Duration) { stored[i.Work]++ },
		Lost:    func(i worker.Item[job], _ error) { lost[i.Work]++ },
		Refused: func(i worker.Item[job], r answer, _ error) {
			refused[i.Work]++
			if (job{r.key, r.fence}) != i.Work {
				broken("%v was refused with the result of %v", i.Work, r)
			}
		},
	}
	busy := map[string]bool{}
	b.handle = func(ctx context.Context, j job) answer {
		mu.Lock()
		if busy[j.key] {
			errs = append(errs, fmt.Errorf("two handlers of key %s at once", j.key))
		}
		busy[j.key] = true
		if len(busy) > c.concurrency {
			errs = append(errs, fmt.Errorf("%d handlers at once", len(busy)))
		}
		mu.Unlock()
		defer func() { mu.Lock(); delete(busy, j.key); mu.Unlock() }()
		d := upTo(c.longest)
		if c.deaf {
			time.Sleep(d)
		} else if err := sleep(ctx, d); err != nil &&
			!errors.Is(err, statemachine.ErrFenced) && !errors.Is(err, worker.ErrStopped) {
			broken("cancelled by %v", err)
		}
		switch {
		case roll(c.panics / 2):
			panic("boom")
		case roll(c.panics / 2):
			runtime.Goexit()
		case roll(0.3):
			return answer{j.key, j.fence, "again"}
		}
		return ok(j)
	}

	b.run()
	for range c.steals {
		time.Sleep(upTo(c.stopAfter / 5))
		b.steal(fmt.Sprint(int(upTo(time.Duration(c.keys - 1)))))
	}
	time.Sleep(max(0, c.stopAfter-time.Since(b.start)))
	b.mu.Lock()
	calm = true
	b.mu.Unlock()
	if err := b.stop(); err != nil {
		broken("the store was well, but Run returned %v", err)
	}
	synctest.Wait()

	if len(busy) > 0 {
		broken("handlers outlived Run: %v", busy)
	}
	for j, n := range known {
		if n != 1 || stored[j] > 1 || lost[j] > 1 || refused[j] > 1 || stored[j]+refused[j] > 1 || stored[j]+lost[j]+refused[j] == 0 {
			broken("%v: claimed %d, stored %d, lost %d, refused %d", j, n, stored[j], lost[j], refused[j])
		}
		if stored[j] == 1 && b.stored[j] == "" {
			broken("%v was reported as stored and is not", j)
		}
	}
	return errors.Join(errs...)
}

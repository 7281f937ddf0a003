package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

func TestEveryItemIsHandledAndStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a", "b", "c", "d", "e", "f")
		b.runFor(time.Second)
		for _, r := range b.rows {
			b.want(r.key, "ok")
		}
		if len(b.claimed) != 6 || len(b.storedK) != 6 {
			t.Errorf("hooks saw %d claims and %d stores, want 6", len(b.claimed), len(b.storedK))
		}
	})
}

func TestNeverMoreThanConcurrency(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t)
		for i := range 20 {
			b.add(fmt.Sprint(i), 0)
		}
		now, most := 0, 0
		b.o.Concurrency = 3
		b.handle = func(ctx context.Context, j job) answer {
			b.mu.Lock()
			now++
			most = max(most, now)
			b.mu.Unlock()
			time.Sleep(time.Second)
			b.mu.Lock()
			now--
			b.mu.Unlock()
			return ok(j)
		}
		b.runFor(10 * time.Second)
		if most != 3 || len(b.storedK) != 20 {
			t.Errorf("%d handlers at once and %d results, want 3 and 20", most, len(b.storedK))
		}
	})
}

// The source gives a key again while the handler of its lost lease has not returned. The new item
// waits for this handler, and its lease is renewed meanwhile.
func TestOneKeyIsHandledByOneHandlerAtATime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.lease = 3 * time.Second
		b.renew = func([]string) error {
			if time.Since(b.start) < 5*time.Second {
				return errConnection
			}
			return nil
		}
		var spans [][2]time.Duration
		b.handle = func(ctx context.Context, j job) answer {
			from := time.Since(b.start)
			if j.fence == 1 {
				time.Sleep(20 * time.Second) // deaf to its context
			}
			spans = append(spans, [2]time.Duration{from, time.Since(b.start)})
			return ok(j)
		}
		b.runFor(30 * time.Second)
		if len(spans) < 2 || spans[1][0] < spans[0][1] {
			t.Fatalf("handlers of one key ran during %v", spans)
		}
		b.want("a", "ok")
		first := job{"a", 1}
		if !errors.Is(b.lost[first], statemachine.ErrFenced) || !errors.Is(b.refused[first], statemachine.ErrFenced) {
			t.Errorf("the first claim: lost %v, refused %v", b.lost[first], b.refused[first])
		}
	})
}

func TestResultsAndClaimsShareATurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a", "b")
		b.o.Concurrency = 1
		b.handle = func(ctx context.Context, j job) answer { time.Sleep(time.Second); return ok(j) }
		b.runFor(90 * time.Second)
		c := b.calls[1]
		if len(c.done) != 1 || c.done[0].key != "a" || c.n != 1 || c.got != 1 {
			t.Errorf("the second turn is %+v, want a stored and b claimed", c)
		}
	})
}

func TestAResultNeverWaitsForASlowHandler(t *testing.T) {
	for _, linger := range []time.Duration{0, 50 * time.Millisecond} {
		bubble(t, func(t *testing.T) {
			b := newBed(t, "slow", "fast")
			b.o.Linger = linger
			b.o.Concurrency = 2
			b.handle = func(ctx context.Context, j job) answer {
				if j.key == "slow" {
					time.Sleep(20 * time.Second)
				} else {
					time.Sleep(time.Second)
				}
				return ok(j)
			}
			b.run()
			time.Sleep(time.Second + linger + time.Millisecond)
			synctest.Wait()
			b.mu.Lock()
			b.want("fast", "ok")
			b.want("slow", "")
			b.mu.Unlock()
			time.Sleep(20 * time.Second)
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			b.want("slow", "ok")
		})
	}
}

func TestLingerCollectsABatch(t *testing.T) {
	for _, c := range []struct {
		name   string
		linger time.Duration
		batch  int
		takes  time.Duration
		want   []int // sizes of the stored batches
	}{
		{"linger", 250 * time.Millisecond, 0, 0, []int{3, 3, 2}},
		{"batch size", time.Hour, 2, 0, []int{2, 2, 2, 2}},
		{"all idle", time.Hour, 0, 0, []int{8}},
		{"after a slow turn", 250 * time.Millisecond, 0, 400 * time.Millisecond, []int{3, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBed(t, "1", "2", "3", "4", "5", "6", "7", "8")
				b.o.Concurrency, b.o.Linger, b.o.Batch = 9, c.linger, c.batch
				b.takes = c.takes
				b.o.Poll = statemachine.Backoff{Base: 5 * time.Second} // no Turn between that only claims
				b.handle = func(ctx context.Context, j job) answer {
					time.Sleep(time.Duration(j.key[0]-'0') * 100 * time.Millisecond)
					return ok(j)
				}
				b.runFor(10 * time.Second)
				var sizes []int
				for _, c := range b.calls {
					if len(c.done) > 0 {
						sizes = append(sizes, len(c.done))
					}
				}
				if last := b.calls[len(b.calls)-1]; len(last.done) > 0 {
					t.Errorf("only the stop stored the last results: %+v", last)
				}
				if !slices.Equal(sizes, c.want) {
					t.Errorf("batches of %v, want %v", sizes, c.want)
				}
			})
		})
	}
}

func TestNextTellsWhenToAskAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t)
		b.o.Poll = statemachine.Backoff{Base: 100 * time.Millisecond, Cap: time.Minute}
		b.add("later", 1234*time.Millisecond)
		b.runFor(5 * time.Second)
		if at := b.row("later").lease; at.Fence != 1 {
			t.Fatal("never claimed")
		}
		found := slices.ContainsFunc(b.calls, func(c call) bool {
			return c.got == 1 && c.at.Sub(b.start) == 1234*time.Millisecond
		})
		if !found {
			t.Errorf("it was not claimed when it became due: %v", b.calls)
		}
	})
}

// Without a hint the pauses grow from Base to Cap; a hint in the past does not make Run ask
// without pauses.
func TestEmptyTurnsBackOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t)
		b.o.Poll = statemachine.Backoff{Base: 100 * time.Millisecond, Cap: 400 * time.Millisecond}
		b.runFor(2 * time.Second)
		var at []int64
		for _, c := range b.calls {
			at = append(at, c.at.Sub(b.start).Milliseconds())
		}
		if want := []int64{0, 100, 300, 700, 1100, 1500, 1900}; !slices.Equal(at, want) {
			t.Errorf("asked at %v ms, want %v", at, want)
		}
	})
}

func TestAHintInThePastIsBoundedByThePollBase(t *testing.T) {
	bubble(t, func(t *testing.T) {
		turns := 0
		s := stub{turn: func(context.Context, []answer, int) ([]worker.Item[job], time.Time, error) {
			turns++
			return nil, time.Now().Add(-time.Hour), nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 950*time.Millisecond)
		defer cancel()
		o := worker.Options[job, answer]{Poll: statemachine.Backoff{Base: 100 * time.Millisecond, Cap: time.Minute}}
		if err := worker.Run(ctx, s, func(_ context.Context, j job) answer { return ok(j) }, o); err != nil || turns != 10 {
			t.Errorf("%d turns in 950 ms (%v), want 10", turns, err)
		}
	})
}

type constant uint64

func (c constant) Uint64() uint64 { return uint64(c) }

func TestJitterSpreadsThePolls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t)
		b.o.Poll = statemachine.Backoff{Base: time.Second, Cap: time.Second, JitterPercent: 50}
		b.o.Jitter = constant(1 << 63) // takes half of the 50 %
		b.runFor(time.Second)
		if at := b.calls[1].at.Sub(b.start).Round(time.Millisecond); at != 750*time.Millisecond {
			t.Errorf("asked again after %v, want 750ms", at)
		}
	})
}

// The queue looks empty while work is there: others hold the rows for a moment.
func TestAnEmptyTurnIsNoProofOfAnEmptyQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t)
		b.run()
		time.Sleep(time.Minute)
		b.add("a", 0)
		time.Sleep(5 * time.Second) // the longest poll pause
		synctest.Wait()
		b.mu.Lock()
		b.want("a", "ok")
		b.mu.Unlock()
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestIdleTimeOut(t *testing.T) {
	t.Run("after the last item, with a last look", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			b := newBed(t, "a")
			b.o.Idle = 7 * time.Second
			b.handle = func(ctx context.Context, j job) answer { time.Sleep(20 * time.Second); return ok(j) }
			b.run()
			if err := <-b.result; err != nil {
				t.Error(err)
			}
			if took := time.Since(b.start); took != 27*time.Second {
				t.Errorf("Run took %v, want 27s", took)
			}
			if last := b.calls[len(b.calls)-1]; !last.at.Equal(b.start.Add(27*time.Second)) || last.n != 4 {
				t.Errorf("the last turn is %+v, want a claim at the end", last)
			}
			b.cancel()
		})
	})
	t.Run("zero means never", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			b := newBed(t)
			b.run()
			select {
			case err := <-b.result:
				t.Errorf("Run returned %v", err)
			case <-time.After(10 * time.Hour):
			}
			if err := b.stop(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("a store that fails is not idle", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			b := newBed(t)
			b.o.Idle = 7 * time.Second
			b.before = func(*call) error {
				if d := time.Since(b.start); d > time.Second && d < time.Minute {
					return errConnection
				}
				return nil
			}
			b.run()
			<-b.result
			if took := time.Since(b.start); took < 67*time.Second {
				t.Errorf("Run gave up after %v although the store never answered", took)
			}
			b.cancel()
		})
	})
}

func TestHooksMeasureLatency(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.takes = 100 * time.Millisecond
		var latency, took time.Duration
		b.o.Hooks.Stored = func(_ worker.Item[job], d time.Duration) { latency = d }
		b.o.Hooks.Turned = func(_, claimed int, d time.Duration, _ error) { took = d }
		b.handle = func(ctx context.Context, j job) answer { time.Sleep(time.Second); return ok(j) }
		b.runFor(3 * time.Second)
		if latency != 1100*time.Millisecond || took != 100*time.Millisecond {
			t.Errorf("latency %v, turn %v, want 1.1s and 100ms", latency, took)
		}
	})
}

func TestArgumentsAreChecked(t *testing.T) {
	handle := func(_ context.Context, j job) answer { return ok(j) }
	for name, err := range map[string]error{
		"no source":   worker.Run(t.Context(), nil, handle, worker.Options[job, answer]{}),
		"no handler":  worker.Run[job, answer](t.Context(), newFake(), nil, worker.Options[job, answer]{}),
		"concurrency": worker.Run(t.Context(), newFake(), handle, worker.Options[job, answer]{Concurrency: -1}),
		"the source":  worker.Run(t.Context(), nameless{newFake()}, handle, worker.Options[job, answer]{Idle: time.Millisecond}),
	} {
		if !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// nameless is a source that is wrong from the start.
type nameless struct{ *fake }

func (nameless) Check() error { return statemachine.ErrInvalid }

// stub is a source made of functions.
type stub struct {
	turn  func(context.Context, []answer, int) ([]worker.Item[job], time.Time, error)
	renew func(context.Context, []worker.Item[job]) error
}

func (s stub) Turn(ctx context.Context, done []answer, n int) ([]worker.Item[job], time.Time, error) {
	return s.turn(ctx, done, n)
}

func (s stub) Renew(ctx context.Context, items []worker.Item[job]) error { return s.renew(ctx, items) }

func (stub) Release(j job) answer         { return answer{j.key, j.fence, "released"} }
func (stub) Panicked(j job, _ any) answer { return answer{j.key, j.fence, "panicked"} }
func (stub) ShortestLease() time.Duration { return 0 }

func TestASourceThatGivesTooMuchOverloadsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a", "b", "c", "d", "e")
		greedy := stub{turn: func(ctx context.Context, done []answer, n int) ([]worker.Item[job], time.Time, error) {
			return b.Turn(ctx, done, 5*n)
		}, renew: b.Renew}
		b.o.Concurrency, b.o.Idle = 1, time.Second
		now := 0
		err := worker.Run(t.Context(), greedy, func(_ context.Context, j job) answer {
			if now++; now > 1 {
				t.Error("two handlers at once")
			}
			time.Sleep(time.Second)
			now--
			return ok(j)
		}, b.o)
		if err != nil || len(b.storedK) != 5 {
			t.Errorf("Run %v, stored %v", err, b.storedK)
		}
	})
}

func TestTrafficEndsTheBackOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t)
		b.o.Poll = statemachine.Backoff{Base: 100 * time.Millisecond, Cap: time.Minute}
		b.run()
		time.Sleep(10 * time.Minute)
		b.add("a", 0)
		b.mu.Lock()
		b.calls = nil
		b.mu.Unlock()
		time.Sleep(65 * time.Second)
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		if len(b.calls) < 6 || b.calls[2].at.Sub(b.calls[1].at) != 100*time.Millisecond {
			t.Errorf("turns: %+v", b.calls)
		}
	})
}

func TestAHandlersContextEndsWithIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		var kept context.Context
		b.handle = func(ctx context.Context, j job) answer { kept = ctx; return ok(j) }
		b.run()
		time.Sleep(time.Second)
		synctest.Wait()
		if kept.Err() == nil {
			t.Error("the context is still alive after its handler")
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

func has(c *call, key string) bool {
	return slices.ContainsFunc(c.done, func(a answer) bool { return a.key == key })
}

func TestTransientErrorsAreRetriedWithBackoff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.o.Retry = statemachine.Backoff{Base: 100 * time.Millisecond, Cap: time.Second}
		b.before = func(*call) error {
			if time.Since(b.start) < 5*time.Second {
				return errConnection
			}
			return nil
		}
		b.runFor(7 * time.Second)
		b.want("a", "ok")
		var at []int64
		for _, c := range b.calls[:8] {
			at = append(at, c.at.Sub(b.start).Milliseconds())
		}
		if want := []int64{0, 100, 300, 700, 1500, 2500, 3500, 4500}; !slices.Equal(at, want) {
			t.Errorf("asked at %v ms, want %v", at, want)
		}
	})
}

// The database is gone for less than a lease while results wait: none is lost.
func TestResultsSurviveAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a", "b", "c", "d", "e")
		down := func() bool { d := time.Since(b.start); return d > time.Second && d < 20*time.Second }
		b.before = func(*call) error {
			if down() {
				return errConnection
			}
			return nil
		}
		b.renew = func([]string) error { return b.before(nil) }
		b.handle = func(ctx context.Context, j job) answer { time.Sleep(5 * time.Second); return ok(j) }
		b.runFor(time.Minute)
		for _, r := range b.rows {
			b.want(r.key, "ok")
		}
		if len(b.lost)+len(b.refused) != 0 {
			t.Errorf("lost %v, refused %v", b.lost, b.refused)
		}
	})
}

func TestAnUnknownCommitIsRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		errUnknownCommit := errors.New("connection lost during commit")
		b := newBed(t, "a", "b")
		lost := 2
		b.after = func(c *call) error {
			if len(c.done) > 0 && lost > 0 {
				lost--
				return errUnknownCommit
			}
			return nil
		}
		b.runFor(10 * time.Second)
		b.want("a", "ok")
		b.want("b", "ok")
		if len(b.storedK) != 2 || len(b.refused)+len(b.lost) != 0 || lost != 0 {
			t.Errorf("hooks: stored %v, refused %v, lost %v", b.storedK, b.refused, b.lost)
		}
	})
}

func TestAConflictIsNoRefusal(t *testing.T) {
	for _, passing := range []error{statemachine.ErrConflict, statemachine.ErrHeld} {
		bubble(t, func(t *testing.T) {
			b := newBed(t, "a")
			b.before = func(c *call) error {
				if has(c, "a") && time.Since(b.start) < 3*time.Second {
					return passing
				}
				return nil
			}
			b.runFor(10 * time.Second)
			b.want("a", "ok")
		})
	}
}

// Three handlers end together and one result is refused, or makes the store panic. The other two
// are stored at the same moment, and the bad result is reported.
func TestARefusedResultBlocksNoOther(t *testing.T) {
	refusals := map[string]func() error{"panic": func() error { panic("nil map") }}
	for _, err := range []error{
		statemachine.ErrIllegal, statemachine.ErrInvalid, statemachine.ErrForbidden,
		statemachine.ErrFenced, statemachine.ErrNotFound, statemachine.ErrCorrupt,
	} {
		refusals[err.Error()] = func() error { return fmt.Errorf("saving: %w", err) }
	}
	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBed(t, "a", "bad", "c")
				b.o.Linger = time.Millisecond // all three in one batch
				var order, batch []string
				b.handle = func(ctx context.Context, j job) answer { time.Sleep(time.Second); return ok(j) }
				b.before = func(c *call) error {
					if len(c.done) == 1 {
						order = append(order, c.done[0].key)
					} else if len(c.done) > 1 {
						order = append(order, "batch")
						for _, a := range c.done {
							batch = append(batch, a.key)
						}
					}
					if has(c, "bad") {
						return refuse()
					}
					return nil
				}
				b.run()
				time.Sleep(time.Second + time.Millisecond)
				synctest.Wait()
				b.mu.Lock()
				b.want("a", "ok")
				b.want("c", "ok")
				b.want("bad", "")
				if want := append([]string{"batch"}, batch...); !slices.Equal(order, want) {
					t.Errorf("offered %v, want %v", order, want)
				}
				if len(b.refused) != 1 || b.refused[job{"bad", 1}] == nil {
					t.Errorf("refused: %v", b.refused)
				}
				b.mu.Unlock()
				b.add("later", 0)
				time.Sleep(5 * time.Second)
				if err := b.stop(); err != nil {
					t.Error(err)
				}
				b.want("later", "ok")
			})
		})
	}
}

// The store returns an error that is no refusal. The connection may be the reason, so the result
// is kept while its lease lasts; it blocks nothing and is given up in the end.
func TestAResultThatAlwaysFailsIsGivenUpWithItsLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "bad")
		for i := range 100 {
			b.add(fmt.Sprint(i), time.Duration(i)*time.Second/2)
		}
		b.before = func(c *call) error {
			if slices.Contains(c.done, answer{"bad", 1, "ok"}) {
				return errors.New("check constraint violated")
			}
			return nil
		}
		b.run()
		for i := range 100 {
			time.Sleep(time.Second / 2)
			b.mu.Lock()
			if got := len(b.stored); got < i-11 { // the longest poll pause is 5 s
				t.Errorf("only %d of %d stored", got, i)
			}
			b.mu.Unlock()
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		if b.refused[job{"bad", 1}] == nil || b.lost[job{"bad", 1}] == nil {
			t.Errorf("refused %v, lost %v", b.refused, b.lost)
		}
		if len(b.stored) != 101 || b.stored[job{"bad", 2}] != "ok" { // the lease was free for a second claim
			t.Errorf("stored %d", len(b.stored))
		}
	})
}

// A due row cannot be read, so each claim fails: results are stored all the same.
func TestAPoisonedClaimBlocksNoResult(t *testing.T) {
	for _, poison := range []error{statemachine.ErrCorrupt, errConnection} {
		bubble(t, func(t *testing.T) {
			b := newBed(t, "a", "b")
			b.handle = func(ctx context.Context, j job) answer {
				if j.key == "b" {
					time.Sleep(time.Second)
				}
				time.Sleep(time.Second)
				return ok(j)
			}
			b.o.Retry = statemachine.Backoff{Base: 400 * time.Millisecond, Cap: 5 * time.Second}
			b.before = func(c *call) error {
				if c.n > 0 && c.at.After(b.start) {
					return poison
				}
				return nil
			}
			b.run()
			time.Sleep(2500 * time.Millisecond)
			synctest.Wait()
			b.mu.Lock()
			b.want("a", "ok")
			b.want("b", "ok")
			for _, c := range b.calls {
				if c.err != nil && len(c.done) > 0 {
					t.Errorf("a result was offered with a claim that is known to fail: %+v", c)
				}
			}
			b.mu.Unlock()
			if err := b.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAPanicIsOneItemsTrouble(t *testing.T) {
	bad := map[string]func(){
		"panic":     func() { panic("boom") },
		"nil panic": func() { panic(nil) },
		"goexit":    func() { runtime.Goexit() },
	}
	for name, boom := range bad {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBed(t, "a", "bad", "c")
				b.handle = func(_ context.Context, j job) answer {
					if j.key == "bad" {
						boom()
					}
					time.Sleep(time.Second)
					return ok(j)
				}
				b.runFor(10 * time.Second)
				b.want("a", "ok")
				b.want("bad", "panicked")
				b.want("c", "ok")
			})
		})
	}
	for name, panicked := range map[string]func(job, any) answer{
		"a Panicked that panics":   func(job, any) answer { panic("again") },
		"Panicked gets the reason": func(j job, p any) answer { return answer{j.key, j.fence, fmt.Sprint(p)} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBed(t, "bad", "a")
				b.panicked = panicked
				b.handle = func(_ context.Context, j job) answer {
					if j.key == "bad" {
						panic("boom")
					}
					return ok(j)
				}
				b.runFor(10 * time.Second)
				b.want("a", "ok")
				if name == "Panicked gets the reason" {
					b.want("bad", "boom")
				} else if b.lost[job{"bad", 1}] == nil {
					t.Errorf("not reported: %v", b.lost)
				}
			})
		})
	}
}

// The source ends its goroutine, as t.FailNow in a fake would.
func TestASourceThatExitsIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		turns := 0
		s := stub{turn: func(context.Context, []answer, int) ([]worker.Item[job], time.Time, error) {
			if turns++; turns < 3 {
				runtime.Goexit()
			}
			return nil, time.Time{}, nil
		}}
		err := worker.Run(t.Context(), s, func(_ context.Context, j job) answer { return ok(j) }, worker.Options[job, answer]{Idle: time.Second})
		if err != nil || turns < 4 {
			t.Errorf("Run %v after %d turns", err, turns)
		}
	})
}

// The store is away for longer than a lease. A result waits until the store is back, which only
// then says that the lease is over.
func TestAResultWaitsForTheStoreEvenWhenItsLeaseEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.before = func(*call) error {
			if d := time.Since(b.start); d > time.Second && d < time.Minute {
				return errConnection
			}
			return nil
		}
		b.renew = func([]string) error { return b.before(nil) }
		b.handle = func(_ context.Context, j job) answer {
			if j.fence == 1 {
				time.Sleep(5 * time.Second)
			}
			return ok(j)
		}
		var lostAt, refusedAt time.Duration
		b.o.Hooks.Lost = func(worker.Item[job], error) { lostAt = time.Since(b.start) }
		b.o.Hooks.Refused = func(_ worker.Item[job], r answer, err error) {
			refusedAt = time.Since(b.start)
			if !errors.Is(err, statemachine.ErrFenced) || r != (answer{"a", 1, "ok"}) {
				t.Errorf("refused %v: %v", r, err)
			}
		}
		b.runFor(90 * time.Second)
		if lostAt != 30*time.Second || refusedAt < time.Minute {
			t.Errorf("lost after %v, refused after %v", lostAt, refusedAt)
		}
		b.want("a", "ok") // the second claim
	})
}

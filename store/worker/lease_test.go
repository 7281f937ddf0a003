package worker_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

func TestHeartbeatKeepsALongItem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.handle = func(ctx context.Context, j job) answer {
			if err := sleep(ctx, 95*time.Second); err != nil {
				t.Errorf("cancelled: %v", err)
			}
			return ok(j)
		}
		b.runFor(100 * time.Second)
		b.want("a", "ok")
		last := b.start
		for _, at := range append(b.at, b.start.Add(95*time.Second)) {
			if gap := at.Sub(last); gap > 10*time.Second {
				t.Errorf("no renewal for %v, want every third of 30s", gap)
			}
			last = at
		}
		if len(b.at) != 9 {
			t.Errorf("%d renewals, want 9", len(b.at))
		}
	})
}

func TestALostLeaseCancelsItsHandlerOnly(t *testing.T) {
	for _, c := range []struct {
		name  string
		renew func(b *bed) func([]string) error
	}{
		{"named by LostError", func(*bed) func([]string) error { return nil }},
		{"a refusal that names nobody", func(b *bed) func([]string) error {
			return func(keys []string) error {
				if slices.Contains(keys, "a") && time.Since(b.start) > 5*time.Second {
					return statemachine.ErrFenced
				}
				return nil
			}
		}},
		{"a panic", func(b *bed) func([]string) error {
			return func(keys []string) error {
				if slices.Contains(keys, "a") && time.Since(b.start) > 5*time.Second {
					panic("no such row")
				}
				return nil
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBed(t, "a", "b")
				b.renew = c.renew(b)
				causes := map[string]error{}
				var at time.Duration
				b.handle = func(ctx context.Context, j job) answer {
					err := sleep(ctx, 40*time.Second)
					b.mu.Lock()
					defer b.mu.Unlock()
					causes[j.key] = err
					if j.key == "a" {
						at = time.Since(b.start)
					}
					return ok(j)
				}
				b.run()
				time.Sleep(5 * time.Second)
				b.steal("a")
				time.Sleep(40 * time.Second)
				if err := b.stop(); err != nil {
					t.Error(err)
				}
				lost, refused := b.lost[job{"a", 1}], b.refused[job{"a", 1}]
				if at != 10*time.Second || causes["a"] != lost || lost == nil {
					t.Errorf("a was cancelled after %v by %v, reported as %v", at, causes["a"], lost)
				}
				if !errors.Is(lost, statemachine.ErrFenced) {
					t.Errorf("the cause is %v, want ErrFenced", lost)
				}
				if !errors.Is(refused, statemachine.ErrFenced) {
					t.Errorf("the store refused a late result with %v, want ErrFenced", refused)
				}
				for _, c := range b.calls {
					if has(&c, "a") && (len(c.done) > 1 || c.n > 0) {
						t.Errorf("the late result was offered in company: %+v", c)
					}
				}
				if causes["b"] != nil || len(b.lost) != 1 {
					t.Errorf("b: %v, lost: %v", causes["b"], b.lost)
				}
				b.want("b", "ok")
			})
		})
	}
}

func TestALeaseThatCannotBeRenewedCancelsAtUntil(t *testing.T) {
	for name, renew := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return errConnection },
		"hangs": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				start, claimed, tries := time.Now(), false, 0
				s := stub{
					turn: func(_ context.Context, _ []answer, n int) (items []worker.Item[job], next time.Time, err error) {
						if !claimed {
							items = []worker.Item[job]{{Key: "a", Until: start.Add(30 * time.Second), Work: job{"a", 1}}}
						}
						claimed = true
						return
					},
					renew: func(ctx context.Context, _ []worker.Item[job]) error { tries++; return renew(ctx) },
				}
				var cause error
				var at time.Duration
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := worker.Run(ctx, s, func(ctx context.Context, j job) answer {
					cause = sleep(ctx, time.Hour)
					at = time.Since(start)
					return ok(j)
				}, worker.Options[job, answer]{})
				if err != nil || at != 30*time.Second || !errors.Is(cause, statemachine.ErrFenced) || tries < 3 {
					t.Errorf("Run %v; cancelled after %v by %v, %d tries to renew", err, at, cause, tries)
				}
			})
		})
	}
}

func TestARenewalThatFailsIsRetriedInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.renew = func([]string) error {
			if time.Since(b.start) < 20*time.Second {
				return errConnection
			}
			return nil
		}
		b.handle = func(ctx context.Context, j job) answer {
			if err := sleep(ctx, time.Minute); err != nil {
				t.Errorf("cancelled: %v", err)
			}
			return ok(j)
		}
		b.runFor(70 * time.Second)
		b.want("a", "ok")
	})
}

// The store hangs in Turn for longer than a lease: the heartbeat goes on.
func TestAHangingTurnDoesNotStopTheHeartbeat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.o.CallTimeout = time.Minute
		b.o.Concurrency = 2
		inner := b.fake
		slow := stub{
			turn: func(ctx context.Context, done []answer, n int) ([]worker.Item[job], time.Time, error) {
				if len(inner.calls) > 0 && len(done) == 0 {
					time.Sleep(50 * time.Second)
				}
				return inner.Turn(ctx, done, n)
			},
			renew: inner.Renew,
		}
		ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
		defer cancel()
		err := worker.Run(ctx, slow, func(ctx context.Context, j job) answer {
			if err := sleep(ctx, 100*time.Second); err != nil {
				t.Errorf("cancelled: %v", err)
			}
			return ok(j)
		}, b.o)
		if err != nil || len(b.lost) != 0 || len(b.renews) < 9 {
			t.Errorf("Run %v, lost %v, %d renewals", err, b.lost, len(b.renews))
		}
	})
}

func TestAnItemThatArrivesTooLateIsNotStarted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		claimed := false
		s := stub{turn: func(context.Context, []answer, int) (items []worker.Item[job], next time.Time, err error) {
			if !claimed {
				until := time.Now().Add(2 * time.Second)
				time.Sleep(2 * time.Second)
				items = []worker.Item[job]{{Key: "a", Until: until, Work: job{"a", 1}}}
			}
			claimed = true
			return
		}}
		var lost error
		o := worker.Options[job, answer]{Idle: time.Second}
		o.Hooks.Lost = func(_ worker.Item[job], err error) { lost = err }
		err := worker.Run(t.Context(), s, func(_ context.Context, j job) answer {
			t.Error("started")
			return ok(j)
		}, o)
		if err != nil || !errors.Is(lost, statemachine.ErrFenced) {
			t.Errorf("Run %v, lost %v", err, lost)
		}
	})
}

// The Turn that stores an item, and the next claim of the same key, overtake a Renew. Its late
// answer is about a lease that is over and must not touch the new claim.
func TestALateRenewalDoesNotTouchTheNextClaim(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		slow := stub{
			turn: b.Turn,
			renew: func(ctx context.Context, items []worker.Item[job]) error {
				if items[0].Work.fence > 1 {
					return b.Renew(ctx, items)
				}
				time.Sleep(5 * time.Second)
				return &worker.LostError{Keys: []string{"a"}}
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		err := worker.Run(ctx, slow, func(ctx context.Context, j job) answer {
			if j.fence == 1 {
				time.Sleep(11 * time.Second) // the Renew began after 10 s
				return answer{j.key, j.fence, "again"}
			}
			if err := sleep(ctx, 20*time.Second); err != nil {
				t.Errorf("the second claim was cancelled: %v", err)
			}
			return ok(j)
		}, b.o)
		if err != nil || len(b.lost) != 0 {
			t.Errorf("Run %v, lost %v", err, b.lost)
		}
		if b.stored[job{"a", 2}] != "ok" {
			t.Errorf("stored: %v", b.stored)
		}
	})
}

// A Turn holds the lock on what it stores: a Renew would wait for it.
func TestWhatATurnIsStoringIsNotRenewed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a", "b")
		inner := b.fake
		slow := stub{turn: func(ctx context.Context, done []answer, n int) ([]worker.Item[job], time.Time, error) {
			if len(done) > 0 {
				time.Sleep(4 * time.Second)
			}
			return inner.Turn(ctx, done, n)
		}, renew: inner.Renew}
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		err := worker.Run(ctx, slow, func(ctx context.Context, j job) answer {
			time.Sleep(map[string]time.Duration{"a": 9 * time.Second, "b": 25 * time.Second}[j.key])
			return ok(j)
		}, b.o)
		if err != nil || len(b.renews) == 0 || !slices.Equal(b.renews[0], []string{"b"}) {
			t.Errorf("Run %v, renewed %v, want b alone first", err, b.renews)
		}
		b.want("a", "ok")
		b.want("b", "ok")
	})
}

func TestRunWaitsForARenewalUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		active := false
		s := stub{turn: b.Turn, renew: func(ctx context.Context, items []worker.Item[job]) error {
			active = true
			<-ctx.Done()
			time.Sleep(time.Second)
			active = false
			return ctx.Err()
		}}
		b.o.Idle = time.Second
		err := worker.Run(t.Context(), s, func(_ context.Context, j job) answer { time.Sleep(11 * time.Second); return ok(j) }, b.o)
		if took := time.Since(b.start); err != nil || active || took != 13*time.Second {
			t.Errorf("Run %v after %v, Renew still active: %v", err, took, active)
		}
	})
}

// A late Renew reports no lost lease for an item that a Turn is storing, or whose loss was
// reported already.
func TestALeaseIsReportedLostOnlyOnceAndOnlyIfItWas(t *testing.T) {
	for _, c := range []struct {
		name                  string
		handler, turn, renews time.Duration
		want                  int
	}{
		{"while it is stored", 11 * time.Second, 10 * time.Second, 5 * time.Second, 0},
		{"after it ended", 50 * time.Second, 0, 25 * time.Second, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBed(t, "a")
				s := stub{turn: func(ctx context.Context, done []answer, n int) ([]worker.Item[job], time.Time, error) {
					if len(done) == 0 {
						return b.Turn(ctx, done, min(n, 1-len(b.claimed)))
					}
					time.Sleep(c.turn)
					return nil, time.Time{}, nil
				}, renew: func(context.Context, []worker.Item[job]) error {
					time.Sleep(c.renews)
					return &worker.LostError{Keys: []string{"a"}}
				}}
				lost := 0
				b.o.Hooks.Lost = func(worker.Item[job], error) { lost++ }
				b.o.CallTimeout, b.o.Idle = time.Minute, time.Second
				err := worker.Run(t.Context(), s, func(_ context.Context, j job) answer { time.Sleep(c.handler); return ok(j) }, b.o)
				if err != nil || lost != c.want || len(b.storedK) != 1 {
					t.Errorf("Run %v, lost %d times, want %d; stored %v", err, lost, c.want, b.storedK)
				}
			})
		})
	}
}

func TestAResultThatFailedInABatchIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		s := stub{turn: func(ctx context.Context, done []answer, n int) ([]worker.Item[job], time.Time, error) {
			if len(done) > 0 && n > 0 { // over the time of the first renewal
				time.Sleep(3 * time.Second)
				return nil, time.Time{}, errConnection
			}
			return b.Turn(ctx, done, n)
		}, renew: b.Renew}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := worker.Run(ctx, s, func(_ context.Context, j job) answer { time.Sleep(9 * time.Second); return ok(j) }, b.o)
		if err != nil || len(b.at) != 1 || b.at[0].Sub(b.start) != 12*time.Second {
			t.Errorf("Run %v, renewals at %v", err, b.at)
		}
		b.want("a", "ok")
	})
}

package worker_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// server makes connections one after another, also for callers that have given up. During an
// overload it makes none.
type server struct {
	mu   sync.Mutex
	cost time.Duration // of a connection
	over time.Time     // when the overload ends
	busy time.Time     // until when it works on what was asked for
}

func (s *server) connect(ctx context.Context) error {
	s.mu.Lock()
	for _, t := range []time.Time{time.Now(), s.over} {
		if s.busy.Before(t) {
			s.busy = t
		}
	}
	s.busy = s.busy.Add(s.cost)
	ready := time.Until(s.busy)
	s.mu.Unlock()
	return sleep(ctx, ready)
}

// far is a source behind a connection. A call that is cut off costs the connection.
type far struct {
	*fake
	server    *server
	lease     time.Duration
	mu        sync.Mutex
	connected bool
	limits    []time.Duration // the time that each Turn had
}

func (f *far) ShortestLease() time.Duration { return f.lease }

func (f *far) Turn(ctx context.Context, done []answer, n int) ([]worker.Item[job], time.Time, error) {
	end, _ := ctx.Deadline()
	f.limits = append(f.limits, time.Until(end))
	if err := f.call(ctx); err != nil {
		return nil, time.Time{}, err
	}
	return f.fake.Turn(ctx, done, n)
}

func (f *far) call(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.connected {
		if err := f.server.connect(ctx); err != nil {
			return err
		}
	}
	err := sleep(ctx, time.Millisecond)
	f.connected = err == nil
	return err
}

func (f *far) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.connected = false
}

// All connections of twenty workers are lost, and for ten seconds none is made. Then the server
// makes one after another; making all of them takes longer than a call may last. If every try had
// the same time, no work would ever be done again.
func TestWorkGoesOnAfterAnOverload(t *testing.T) {
	for name, c := range map[string]struct {
		o     worker.Options[job, answer]
		lease time.Duration
		cost  time.Duration // of a connection
		soon  time.Duration
	}{
		"default settings": {worker.Options[job, answer]{}, time.Minute, 600 * time.Millisecond, time.Minute},
		"hasty ones": {worker.Options[job, answer]{CallTimeout: 125 * time.Millisecond,
			Retry: statemachine.Backoff{Base: 50 * time.Millisecond, Cap: time.Second, JitterPercent: 50}}, 4 * time.Second,
			60 * time.Millisecond, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				call := c.o.CallTimeout
				if call == 0 {
					call = 5 * time.Second
				}
				s := &server{}
				ctx, stop := context.WithCancel(t.Context())
				var all []*far
				var running sync.WaitGroup
				for range 20 {
					f := &far{fake: newFake("a"), server: s, lease: c.lease}
					f.fake.lease = c.lease
					all = append(all, f)
					running.Go(func() {
						err := worker.Run(ctx, f, func(_ context.Context, j job) answer { return answer{j.key, j.fence, "again"} }, c.o)
						if err != nil {
							t.Error(err)
						}
					})
				}
				time.Sleep(10 * time.Second) // all work
				s.mu.Lock()
				s.cost, s.over = c.cost, time.Now().Add(10*time.Second)
				s.mu.Unlock()
				for _, f := range all {
					f.cut()
				}
				time.Sleep(10*time.Second + c.soon)
				for i, f := range all {
					f.fake.mu.Lock()
					before := len(f.fake.stored)
					f.fake.mu.Unlock()
					time.Sleep(10 * time.Second)
					f.fake.mu.Lock()
					after := len(f.fake.stored)
					f.fake.mu.Unlock()
					if after == before {
						t.Errorf("worker %d does nothing %v after the overload", i, c.soon)
					}
				}
				stop()
				running.Wait()
				for i, f := range all {
					most := slices.Max(f.limits)
					if most <= call || most > c.lease/2 || f.limits[len(f.limits)-1] != call {
						t.Errorf("worker %d: calls had up to %v, and %v in the end; CallTimeout is %v, the lease %v", i,
							most, f.limits[len(f.limits)-1], call, c.lease)
					}
				}
			})
		})
	}
}

// leased is a source of which the lease is known.
type leased struct {
	stub
	lease time.Duration
}

func (l leased) ShortestLease() time.Duration { return l.lease }

// The time for a call doubles with each time-out, up to half of the lease. A success within the
// usual time sets it back; no other error changes it.
func TestATimeOutGrowsWhileItFires(t *testing.T) {
	const lease = 7 * time.Second
	type step struct {
		takes time.Duration
		err   error
		limit time.Duration // that the call has
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for name, c := range map[string]struct {
		leasing bool
		steps   []step
	}{
		"grows to half of the lease": {true,
			[]step{{time.Hour, nil, ms(1000)}, {time.Hour, nil, ms(2000)}, {time.Hour, nil, ms(3500)}, {time.Hour, nil, ms(3500)},
				{ms(3499), nil, ms(3500)}, {ms(1001), nil, ms(3500)}, {ms(1000), nil, ms(3500)}, {0, nil, ms(1000)}}},
		"other errors": {true, []step{{ms(500), errConnection, ms(1000)}, {time.Hour, nil, ms(1000)}, {0, errConnection, ms(2000)},
			{0, nil, ms(2000)}, {0, nil, ms(1000)}}},
		"no known lease": {false, []step{{time.Hour, nil, ms(1000)}, {time.Hour, nil, ms(1000)}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				at := 0
				s := stub{turn: func(ctx context.Context, _ []answer, _ int) ([]worker.Item[job], time.Time, error) {
					end, _ := ctx.Deadline()
					if at == len(c.steps) {
						stop()
						return nil, time.Time{}, nil
					}
					now := c.steps[at]
					if limit := time.Until(end); limit != now.limit {
						t.Errorf("call %d had %v, want %v", at, limit, now.limit)
					}
					at++
					if err := sleep(ctx, now.takes); err != nil {
						return nil, time.Time{}, err
					}
					return nil, time.Time{}, now.err
				}}
				var source worker.Source[job, answer] = s
				if c.leasing {
					source = leased{s, lease}
				}
				err := worker.Run(ctx, source, func(_ context.Context, j job) answer { return ok(j) },
					worker.Options[job, answer]{CallTimeout: time.Second})
				if err != nil {
					t.Error(err)
				}
				if at != len(c.steps) {
					t.Errorf("%d of %d calls", at, len(c.steps))
				}
			})
		})
	}
}

// A stop does not wait for the longer time that calls have got: the call under way is cut off
// CallTimeout after the stop, and the later calls have no more than CallTimeout.
func TestAStopIsBoundedAfterTimeOuts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := leased{stub{turn: func(ctx context.Context, _ []answer, _ int) ([]worker.Item[job], time.Time, error) {
			return nil, time.Time{}, sleep(ctx, time.Hour)
		}}, time.Hour}
		time.AfterFunc(10*time.Minute, stop)
		began := time.Now()
		err := worker.Run(ctx, s, func(_ context.Context, j job) answer { return ok(j) }, worker.Options[job, answer]{CallTimeout: time.Second})
		if took := time.Since(began); err != nil || took > 10*time.Minute+time.Second {
			t.Errorf("Run %v after %v", err, took)
		}
	})
}

// A Turn that stores a result ends before its lease does, however long calls may take.
func TestAGrownTurnLeavesHalfOfALease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lease = time.Minute
		claimed, stores := time.Time{}, 0
		ctx, stop := context.WithCancel(t.Context())
		s := leased{stub{
			turn: func(ctx context.Context, done []answer, n int) (items []worker.Item[job], next time.Time, err error) {
				switch {
				case claimed.IsZero():
					claimed = time.Now()
					return []worker.Item[job]{{Key: "a", Until: claimed.Add(lease), Work: job{"a", 1}}}, next, nil
				case len(done) == 0:
					return nil, next, sleep(ctx, time.Hour)
				}
				end, _ := ctx.Deadline()
				left := time.Until(claimed.Add(lease))
				if limit := time.Until(end); limit > max(time.Second, left/2) {
					t.Errorf("a Turn has %v where the lease has %v", limit, left)
				}
				if stores++; left < 0 {
					stop()
				}
				return nil, next, sleep(ctx, time.Hour)
			},
			renew: func(context.Context, []worker.Item[job]) error { return errConnection },
		}, lease}
		_ = worker.Run(ctx, s, func(_ context.Context, j job) answer { return ok(j) }, worker.Options[job, answer]{CallTimeout: time.Second})
		if stores < 4 {
			t.Errorf("%d tries to store", stores)
		}
	})
}

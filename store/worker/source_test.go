package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// job is the work of the tests, answer its result.
type job struct {
	key   string
	fence int64
}

type answer struct {
	key   string
	fence int64
	kind  string // "ok", "again" (due once more), "released", "panicked"
}

func ok(j job) answer { return answer{j.key, j.fence, "ok"} }

// row is one record of the fake source. Its lease is statemachine's.
type row struct {
	key    string
	due    time.Time
	lease  statemachine.Lease
	closed bool
	claims int // consumed attempts
}

type call struct {
	at   time.Time
	done []answer
	n    int
	got  int
	err  error
}

// fake is a source in memory. It claims rows in the order of due time and key, and stores results
// all or none, under their fences.
type fake struct {
	mu     sync.Mutex
	rows   []*row
	lease  time.Duration // 30 s if zero
	takes  time.Duration // of each call
	calls  []call
	renews [][]string
	at     []time.Time         // of renews
	stored map[job]string      // kind by claim
	before func(c *call) error // an error before anything happened
	after  func(c *call) error // an error after the commit
	renew  func(keys []string) error
	active int // Turns under way
	// release and panicked take the place of what the fake makes, where they are set.
	release  func(job) answer
	panicked func(job, any) answer
}

func (f *fake) Release(j job) answer {
	if f.release != nil {
		return f.release(j)
	}
	return answer{j.key, j.fence, "released"}
}

func (f *fake) Panicked(j job, value any) answer {
	if f.panicked != nil {
		return f.panicked(j, value)
	}
	return answer{j.key, j.fence, "panicked"}
}

// ShortestLease is not known: most tests are of what a worker does without it.
func (f *fake) ShortestLease() time.Duration { return 0 }

func newFake(keys ...string) *fake {
	f := &fake{stored: map[job]string{}}
	for _, k := range keys {
		f.add(k, 0)
	}
	return f
}

// add makes key due after d.
func (f *fake) add(key string, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, &row{key: key, due: time.Now().Add(d)})
}

func (f *fake) row(key string) *row {
	for _, r := range f.rows {
		if r.key == key {
			return r
		}
	}
	return nil
}

// steal gives the lease on key to somebody else.
func (f *fake) steal(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.row(key)
	r.lease = statemachine.Lease{Holder: "other", Fence: r.lease.Fence + 1, Until: time.Now().Add(time.Hour)}
}

func (f *fake) pause(ctx context.Context) error {
	if f.takes == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(f.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) Turn(ctx context.Context, done []answer, n int) (items []worker.Item[job], next time.Time, err error) {
	f.mu.Lock()
	f.active++
	if f.active > 1 {
		panic("two turns at once")
	}
	f.mu.Unlock()
	pauseErr := f.pause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active--
	now := time.Now()
	c := call{at: now, done: slices.Clone(done), n: n, err: pauseErr}
	defer func() {
		c.got, c.err = len(items), err
		f.calls = append(f.calls, c)
	}()
	if pauseErr != nil {
		return nil, next, pauseErr
	}
	if f.before != nil {
		if err := f.before(&c); err != nil {
			return nil, next, err
		}
	}
	for _, a := range done { // all or none
		if f.stored[job{a.key, a.fence}] == a.kind {
			continue
		}
		if err := f.row(a.key).lease.Fenced(a.fence, now); err != nil {
			return nil, next, fmt.Errorf("result of %s: %w", a.key, err)
		}
	}
	for _, a := range done {
		if f.stored[job{a.key, a.fence}] != "" {
			continue
		}
		f.stored[job{a.key, a.fence}] = a.kind
		r := f.row(a.key)
		r.lease = r.lease.Release()
		switch a.kind {
		case "again":
			r.due = now.Add(time.Second)
		case "released":
			r.claims--
		default:
			r.closed = true
		}
	}
	slices.SortStableFunc(f.rows, func(a, b *row) int { return a.due.Compare(b.due) })
	for _, r := range f.rows {
		switch {
		case r.closed || r.lease.Held(now):
		case r.due.After(now):
			if next.IsZero() {
				next = r.due
			}
		case len(items) < n:
			r.lease, _ = r.lease.Claim("us", now, f.leaseTime())
			r.claims++
			items = append(items, worker.Item[job]{Key: r.key, Until: r.lease.Until, Work: job{r.key, r.lease.Fence}})
		}
	}
	if f.after != nil {
		if err := f.after(&c); err != nil {
			return nil, time.Time{}, err
		}
	}
	return items, next, nil
}

func (f *fake) leaseTime() time.Duration {
	if f.lease == 0 {
		return 30 * time.Second
	}
	return f.lease
}

func (f *fake) Renew(ctx context.Context, items []worker.Item[job]) error {
	if err := f.pause(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := make([]string, len(items))
	for i, item := range items {
		keys[i] = item.Key
	}
	f.renews = append(f.renews, keys)
	f.at = append(f.at, time.Now())
	if f.renew != nil {
		if err := f.renew(keys); err != nil {
			return err
		}
	}
	var lost []string
	for i, item := range items {
		r := f.row(item.Key)
		lease, err := r.lease.Renew(item.Work.fence, time.Now(), f.leaseTime())
		if err != nil {
			lost = append(lost, item.Key)
			continue
		}
		r.lease, items[i].Until = lease, lease.Until
	}
	if lost != nil {
		return &worker.LostError{Keys: lost}
	}
	return nil
}

// bed is a worker under test with everything that its hooks told.
type bed struct {
	*fake
	t       *testing.T
	o       worker.Options[job, answer]
	handle  func(context.Context, job) answer
	start   time.Time
	claimed []job
	storedK []job
	lost    map[job]error
	refused map[job]error
	cancel  context.CancelFunc
	result  chan error
}

func newBed(t *testing.T, keys ...string) *bed {
	b := &bed{fake: newFake(keys...), t: t, lost: map[job]error{}, refused: map[job]error{}, start: time.Now()}
	b.o = worker.Options[job, answer]{
		Concurrency: 4,
		Hooks: worker.Hooks[job, answer]{
			Claimed: func(i worker.Item[job]) { b.claimed = append(b.claimed, i.Work) },
			Stored:  func(i worker.Item[job], _ time.Duration) { b.storedK = append(b.storedK, i.Work) },
			Lost:    func(i worker.Item[job], err error) { b.lost[i.Work] = err },
			Refused: func(i worker.Item[job], _ answer, err error) { b.refused[i.Work] = err },
		},
	}
	b.handle = func(_ context.Context, j job) answer { return ok(j) }
	return b
}

// run starts the worker; the bubble ends only when all its goroutines have.
func (b *bed) run() {
	ctx, cancel := context.WithCancel(b.t.Context())
	b.cancel, b.result = cancel, make(chan error, 1)
	go func() { b.result <- worker.Run(ctx, b.fake, b.handle, b.o) }()
}

// stop stops the worker and waits until Run has returned.
func (b *bed) stop() error {
	b.cancel()
	return <-b.result
}

// runFor runs the worker for d and stops it.
func (b *bed) runFor(d time.Duration) {
	b.t.Helper()
	b.run()
	time.Sleep(d)
	if err := b.stop(); err != nil {
		b.t.Fatalf("Run: %v", err)
	}
}

// want fails unless key's last claim was stored as kind; "" means not stored.
func (b *bed) want(key, kind string) {
	b.t.Helper()
	if got := b.stored[job{key, b.row(key).lease.Fence}]; got != kind {
		b.t.Errorf("%s is stored as %q, want %q", key, got, kind)
	}
}

// bubble runs fn in virtual time.
func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, fn)
}

// sleep is work that takes d unless it is cancelled.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errConnection = errors.New("connection refused")

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Source gives the work and takes the results; usually a service of package store makes it. Turn
// and Renew may run at the same time, but no two Turns and no two Renews of one [Run]. Both must
// return soon after ctx is done.
type Source[W, R any] interface {
	// Turn stores done and claims up to n items, in one transaction: an error means that neither
	// happened, or that nobody knows. Turn does not wait for work to appear. Each result in done
	// belongs to an earlier claim of this Run, in the order in which the handlers ended; n may be
	// 0. Turn keeps neither slice.
	//
	// next is when the source knows that more may be due, zero when it does not know. It is a
	// hint: Run may ask earlier, and an empty answer does not prove that nothing is due.
	Turn(ctx context.Context, done []R, n int) (items []Item[W], next time.Time, err error)

	// Renew extends the leases of items, which are in the order of Key, and writes the new Until
	// of each into the slice. When some leases are lost, it still renews the others and returns a
	// [LostError] with the lost keys. Any other error means that none was renewed.
	Renew(ctx context.Context, items []Item[W]) error

	// Release returns the result that gives back an item which was claimed but not started,
	// together with its attempt. Run calls it in its own goroutine. An item whose Release panics
	// is dropped, and its lease ends by itself.
	Release(W) R

	// Panicked returns the result for a handler that panicked with the given value, nil if the
	// handler called [runtime.Goexit]. It runs in the goroutine of the handler, and several calls
	// may run at once. An item whose Panicked panics too is dropped, and its lease ends by itself.
	Panicked(W, any) R

	// ShortestLease is how long the shortest lease lasts that a Turn gives. [Run] refuses a source
	// whose lease is shorter than twice Options.CallTimeout, and lets calls that run out of time
	// take up to half of the lease. Zero: the source does not know, and neither applies.
	ShortestLease() time.Duration
}

// Item is one claimed piece of work.
type Item[W any] struct {
	// Key names what only one handler may work on at a time. A source leases at most one item per
	// key.
	Key string
	// Until is when the lease ends, on the clock of this process. A source whose leases go by
	// another clock adds the lease's duration to the time that this process had before the call.
	// The item is held while now < Until.
	Until time.Time
	// Work is passed to the handler and to the Renew, Release or Panicked of the source. Run only
	// copies it; these functions share what it points to.
	Work W
}

// LostError is what [Source.Renew] returns when the leases of some items are
// gone. It matches [statemachine.ErrFenced].
type LostError struct {
	Keys []string // at least one
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%v: %s", statemachine.ErrFenced, strings.Join(e.Keys, ", "))
}

// Checked is a [Source] that can be unfit from the start, such as one without a name. [Run] calls
// Check before anything else and returns its error.
type Checked interface{ Check() error }

// Revoking is a [Source] whose leases belong to a name. At its end a [Run] gives back at once all
// that this name holds: claims whose reply was lost, work whose result was dropped. So no other
// Run may use the name for the same work, unless the source itself waits with Revoke until the
// last of them ends.
type Revoking interface {
	Revoke(ctx context.Context) error
}

// Is reports a match with [statemachine.ErrFenced].
func (e *LostError) Is(target error) bool { return target == statemachine.ErrFenced }

// ErrStopped is the cause of the cancellation of a handler that was still running after the grace
// period, and the reason for items and results left behind by a stop.
var ErrStopped = errors.New("the worker is stopping")

// Options tune a [Run]. The zero value is fit for production.
type Options[W, R any] struct {
	Concurrency int           // handlers at once, at most 10,000; 16 if zero
	Batch       int           // most results in one Turn; Concurrency if zero
	Linger      time.Duration // how long a result may wait for others while handlers run and no Turn does
	Idle        time.Duration // Run returns after so long with nothing to do; zero: never

	// Poll is the pause after a Turn that found less than it asked for: Base is the shortest
	// pause (a jitter may shorten it), Cap the longest. 100 ms to 5 s with 50 % jitter if Base is
	// zero.
	Poll statemachine.Backoff
	// Wake makes Run ask at once when it receives from the channel: somebody has news of work
	// that Run would otherwise find at its next poll. Nil: Run only polls. The channel must not
	// be closed while Run goes on.
	Wake <-chan struct{}
	// Retry is the pause after a call of the source failed. 100 ms to 5 s with 50 % jitter if
	// Base is zero.
	Retry statemachine.Backoff
	// Jitter spreads the pauses; only Run uses it. Seeded by the clock if nil.
	Jitter interface{ Uint64() uint64 }

	// Grace is how long handlers may go on after a stop; 10 s if zero, none if
	// negative.
	Grace time.Duration
	// CallTimeout bounds each call of the source, and how long a stop goes on trying to store
	// results after the last handler has returned. If zero: 5 s, or half of the source's
	// ShortestLease where this is less. After a call that ran out of time the next calls may take
	// longer, up to half of the source's ShortestLease, until one succeeds within CallTimeout.
	CallTimeout time.Duration

	Log   *slog.Logger // nil means slog.Default
	Hooks Hooks[W, R]
}

// Hooks are told what happens, for metrics. Each may be nil. All are called one at a time from
// the goroutine of Run and must not block.
type Hooks[W, R any] struct {
	// Claimed: the item came from a Turn.
	Claimed func(Item[W])
	// Stored: its result was stored, so long after the claim.
	Stored func(item Item[W], sinceClaim time.Duration)
	// Lost: the item's lease is lost, or the item was dropped before it started or without a
	// result. Lost is called at most once per claim; the handler's result may still follow with
	// Stored or Refused.
	Lost func(Item[W], error)
	// Refused: the item's result is dropped because the store does not accept it. This is the
	// last chance to keep the result as evidence.
	Refused func(Item[W], R, error)
	// Turned: a Turn stored and claimed so many items, none if it failed.
	Turned func(stored, claimed int, took time.Duration, err error)
}

// Run claims and handles items until ctx is done, or until it was idle for Options.Idle. All
// goroutines that it started have ended when it returns. It returns nil if every result was
// stored or refused by then, otherwise an error with the number of results left behind, and
// [statemachine.ErrInvalid] for arguments that make no sense.
func Run[W, R any](ctx context.Context, source Source[W, R], handle func(context.Context, W) R, options Options[W, R]) error {
	run, err := Ready(source, handle, options)
	if err != nil {
		return err
	}
	return run(ctx)
}

// Ready checks all that [Run] checks before it begins, and returns the Run as a [Loop] that has
// not begun. A service with several loops makes all of them ready first, so that none begins
// where another cannot.
func Ready[W, R any](source Source[W, R], handle func(context.Context, W) R, options Options[W, R]) (Loop, error) {
	if source == nil || handle == nil {
		return nil, fmt.Errorf("%w: a worker needs a source and a handler", statemachine.ErrInvalid)
	}
	lease := source.ShortestLease()
	o, err := options.withDefaults(lease)
	if err != nil {
		return nil, err
	}
	if s, ok := source.(Checked); ok {
		if err := s.Check(); err != nil {
			return nil, err
		}
	}
	if lease != 0 && lease < 2*o.CallTimeout {
		return nil, fmt.Errorf("%w: the shortest lease of the source is %v (Policy.Lease; of look-ups of withdrawals Policy.CheckEvery, of "+
			"dunning Policy.Hold), worker.Options.CallTimeout is %v: a lease lasts two calls at least, since one that is slow would lose it",
			statemachine.ErrInvalid, lease, o.CallTimeout)
	}
	return func(ctx context.Context) error { return run(ctx, source, handle, o, lease) }, nil
}

func run[W, R any](ctx context.Context, source Source[W, R], handle func(context.Context, W) R,
	o Options[W, R], lease time.Duration) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	l := &loop[W, R]{
		ctx: ctx, base: base, source: source, handle: handle, o: o,
		tasks:    map[*task[W, R]]struct{}{},
		busy:     map[string]*task[W, R]{},
		finished: make(chan report[W, R], o.Concurrency),
		turned:   make(chan turn[W, R], 1),
		renewed:  make(chan renewal[W, R], 1),
		turns:    newPatience(o.CallTimeout, lease),
		renewals: newPatience(o.CallTimeout, lease),
	}
	err := l.run()
	cancel()
	if l.renewing {
		<-l.renewed
	}
	l.revoke(ctx)
	return err
}

// revoke gives back what is still held. If that fails, it is logged, and the leases end by
// themselves.
func (l *loop[W, R]) revoke(ctx context.Context) {
	s, ok := l.source.(Revoking)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.o.CallTimeout)
	defer cancel()
	var err error
	if p := try(func() { err = s.Revoke(ctx) }); p != nil {
		err = p
	}
	if err != nil {
		l.o.Log.Warn("leases not given back", "error", err)
	}
}

const maxConcurrency = 10_000

// defaultPause is the pause after a poll or a failure where the options name none.
var defaultPause = statemachine.Backoff{Base: 100 * time.Millisecond, Cap: 5 * time.Second, JitterPercent: 50}

// withDefaults is o with its defaults for a source with a shortest lease, zero where the source
// does not know it.
func (o Options[W, R]) withDefaults(lease time.Duration) (Options[W, R], error) {
	for _, f := range []struct {
		name    string
		refused bool
		is      any
		bounds  string
	}{
		{"Concurrency", o.Concurrency < 0 || o.Concurrency > maxConcurrency, o.Concurrency, "0 to 10,000"},
		{"Batch", o.Batch < 0, o.Batch, "0 or more"},
		{"Linger", o.Linger < 0, o.Linger, "0 or more"},
		{"Idle", o.Idle < 0, o.Idle, "0 or more"},
		{"CallTimeout", o.CallTimeout < 0, o.CallTimeout, "0 or more"},
	} {
		if f.refused {
			return o, fmt.Errorf("%w: worker.Options.%s is %v, %s is possible", statemachine.ErrInvalid, f.name, f.is, f.bounds)
		}
	}
	o.Concurrency = cmp.Or(o.Concurrency, 16)
	o.Batch = cmp.Or(o.Batch, o.Concurrency)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	if o.CallTimeout == 0 {
		o.CallTimeout = 5 * time.Second
		if lease > 0 {
			o.CallTimeout = min(o.CallTimeout, lease/2)
		}
	}
	if o.Poll.Base <= 0 {
		o.Poll = defaultPause
	}
	if o.Retry.Base <= 0 {
		o.Retry = defaultPause
	}
	if o.Jitter == nil {
		o.Jitter = rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	h := &o.Hooks
	if h.Claimed == nil {
		h.Claimed = func(Item[W]) {}
	}
	if h.Stored == nil {
		h.Stored = func(Item[W], time.Duration) {}
	}
	if h.Lost == nil {
		h.Lost = func(Item[W], error) {}
	}
	if h.Refused == nil {
		h.Refused = func(Item[W], R, error) {}
	}
	if h.Turned == nil {
		h.Turned = func(int, int, time.Duration, error) {}
	}
	return o, nil
}

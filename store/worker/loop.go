package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// stage is where a task is; it is in exactly one list of the loop.
type stage uint8

const (
	queued  stage = iota // loop.queue: claimed, not started
	running              // loop.busy: its handler has not returned
	done                 // loop.done: its result waits for the next batch
	alone                // loop.alone: its result waits to be offered on its own
	storing              // in the Turn that is under way
)

// task is one claim. Only the goroutine of Run touches it.
type task[W, R any] struct {
	item    Item[W]
	stage   stage
	claimed time.Time
	renewAt time.Time
	lost    bool                    // Hooks.Lost was called; the lease is not renewed any more
	cancel  context.CancelCauseFunc // of the handler's context, while running

	result   R
	finished time.Time
	retryAt  time.Time // while alone
	tries    int       // failed offers on its own
	given    bool      // its result is dropped, and the item is to be given back
	failedAt time.Time // the first of them
	err      error     // the last one's
}

// loop is the state of one Run. One goroutine owns it; handlers and calls of the source run in
// other goroutines and report on the three channels.
type loop[W, R any] struct {
	ctx, base context.Context // base is not cancelled by a stop
	source    Source[W, R]
	handle    func(context.Context, W) R
	o         Options[W, R]

	tasks map[*task[W, R]]struct{} // every claim not yet stored or dropped
	queue []*task[W, R]
	busy  map[string]*task[W, R] // by key
	done  []*task[W, R]          // oldest first
	alone []*task[W, R]

	finished chan report[W, R] // one place per handler: none blocks
	turned   chan turn[W, R]
	renewed  chan renewal[W, R]
	turning  bool               // a Turn is under way
	renewing bool               // a Renew is under way
	cutTurn  context.CancelFunc // ends the Turn that is under way

	turns, renewals patience // with calls of Turn and of Renew

	leaseAt   time.Time // when to look at the leases again
	askAt     time.Time // when to claim again
	empty     int       // claims in a row that found nothing
	fails     int       // claims in a row that failed
	woken     bool      // since the Turn under way began
	turnedAt  time.Time // when the last Turn ended
	lastOK    time.Time // when a Turn last succeeded
	idleSince time.Time // zero while there is something to do or the store fails
	idle      bool      // Options.Idle is over

	stopping bool
	halted   error     // why no call of this Run succeeds any more
	graceAt  time.Time // when handlers are cancelled
	quitAt   time.Time // when results are left behind; set after the last handler
}

// report is what a handler leaves behind. err is set if the handler panicked; ok says that there
// is a result all the same.
type report[W, R any] struct {
	task   *task[W, R]
	result R
	ok     bool
	err    error
}

func (l *loop[W, R]) run() error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	wakeUp := l.ctx.Done()
	for {
		now := time.Now()
		if !l.stopping && (l.ctx.Err() != nil || l.halted != nil) {
			l.stopping, wakeUp, l.graceAt = true, nil, now.Add(l.o.Grace)
			if l.halted != nil { // what runs belongs to a database that is no more
				l.graceAt = now
			}
			l.hurry()
		}
		wake := l.checkLeases(now)
		if l.stopping {
			wake = earlier(wake, l.stop(now))
		}
		l.start()
		if over, err := l.over(now); over {
			return errors.Join(l.halted, err)
		}
		wake = earlier(wake, l.startTurn(now))
		timer.Reset(wake.Sub(now))
		select {
		case <-wakeUp:
		case <-timer.C:
		case <-l.o.Wake:
			l.woken, l.empty = l.turning, 0
			if l.fails == 0 {
				l.askAt = earlier(l.askAt, time.Now())
			}
		case r := <-l.turned:
			l.endTurn(time.Now(), r)
		case r := <-l.renewed:
			l.endRenew(time.Now(), r)
		case r := <-l.finished:
			now := time.Now()
			l.finish(now, r)
			for range len(l.finished) {
				l.finish(now, <-l.finished)
			}
		}
	}
}

// start runs handlers for queued tasks, as many as there is room for. A task whose key is busy
// waits until the earlier handler of this key, which lost its lease, has returned.
func (l *loop[W, R]) start() {
	rest := l.queue[:0]
	for _, t := range l.queue {
		if l.busy[t.item.Key] != nil || len(l.busy) >= l.o.Concurrency {
			rest = append(rest, t)
			continue
		}
		var ctx context.Context
		ctx, t.cancel = context.WithCancelCause(l.base)
		t.stage = running
		l.busy[t.item.Key] = t
		go l.call(ctx, t, t.item.Work)
	}
	clear(l.queue[len(rest):])
	l.queue = rest
}

// call runs the handler and reports, whatever the handler does.
func (l *loop[W, R]) call(ctx context.Context, t *task[W, R], work W) {
	r := report[W, R]{task: t}
	defer func() { l.finished <- r }()
	defer func() {
		if r.ok {
			return
		}
		p := recover()
		r.err = fmt.Errorf("handler panicked: %v\n%s", p, debug.Stack())
		if err := try(func() { r.result = l.source.Panicked(work, p) }); err != nil {
			r.err = errors.Join(r.err, err)
			return
		}
		r.ok = true
	}()
	r.result = l.handle(ctx, work)
	r.ok = true
}

// finish takes over a handler's report.
func (l *loop[W, R]) finish(now time.Time, r report[W, R]) {
	t := r.task
	t.cancel(nil)
	delete(l.busy, t.item.Key)
	if r.err != nil {
		l.o.Log.Error("handler panicked", "key", t.item.Key, "error", r.err)
	}
	if !r.ok {
		l.drop(t, r.err)
		return
	}
	t.result, t.finished = r.result, now
	if t.lost { // the store will probably refuse it: not in company
		l.wait(t, now, nil)
		return
	}
	t.stage = done
	l.done = append(l.done, t)
}

// wait lets t be offered on its own from at on.
func (l *loop[W, R]) wait(t *task[W, R], at time.Time, err error) {
	t.stage, t.retryAt, t.err = alone, at, err
	l.alone = append(l.alone, t)
}

// drop forgets a task that has no result; its lease ends by itself.
func (l *loop[W, R]) drop(t *task[W, R], err error) {
	delete(l.tasks, t)
	if !t.lost {
		t.lost = true
		l.o.Log.Warn("item dropped", "key", t.item.Key, "error", err)
		l.o.Hooks.Lost(t.item, err)
	}
}

// refuse forgets a task whose result the store does not take.
func (l *loop[W, R]) refuse(t *task[W, R], err error) {
	delete(l.tasks, t)
	l.o.Log.Error("result dropped", "key", t.item.Key, "error", err)
	if !t.given { // else Refused was told
		l.o.Hooks.Refused(t.item, t.result, err)
	}
}

// giveBack drops a result that the store does not accept now, and offers the result in its place that
// gives the item back.
func (l *loop[W, R]) giveBack(now time.Time, t *task[W, R], err error) {
	l.o.Log.Warn("result dropped, and its item given back", "key", t.item.Key, "error", err)
	l.o.Hooks.Refused(t.item, t.result, err)
	t.given, t.tries = true, 0
	if p := try(func() { t.result = l.source.Release(t.item.Work) }); p != nil {
		l.o.Log.Error("item not given back", "key", t.item.Key, "error", p)
		delete(l.tasks, t)
		return
	}
	l.wait(t, now, err)
}

// hurry bounds a stop: the Turn under way, which may have been given longer, ends CallTimeout
// from now, and the calls after it have at most CallTimeout.
func (l *loop[W, R]) hurry() {
	l.turns.most = l.o.CallTimeout
	l.turns.now = l.o.CallTimeout
	if l.turning {
		time.AfterFunc(l.o.CallTimeout, l.cutTurn)
	}
}

// stop gives unstarted tasks back, cancels handlers after the grace period, and returns when it
// must be called again.
func (l *loop[W, R]) stop(now time.Time) time.Time {
	for _, t := range l.queue {
		if err := try(func() { t.result = l.source.Release(t.item.Work) }); err != nil {
			l.drop(t, err)
			continue
		}
		t.stage, t.finished = done, now
		l.done = append(l.done, t)
	}
	l.queue = nil
	switch {
	case len(l.busy) > 0 && now.Before(l.graceAt):
		return l.graceAt
	case len(l.busy) > 0:
		for _, t := range l.busy {
			t.cancel(ErrStopped)
		}
		return now.Add(never)
	case l.turning: // it may bring more to give back
		return now.Add(never)
	case l.quitAt.IsZero():
		l.quitAt = now.Add(l.o.CallTimeout)
	}
	return l.quitAt
}

// over reports whether Run has nothing left to do.
func (l *loop[W, R]) over(now time.Time) (bool, error) {
	switch {
	case l.turning:
		return false, nil
	case l.idle:
		return true, nil
	case !l.stopping, len(l.busy) > 0:
		return false, nil
	case len(l.tasks) == 0:
		return true, nil
	case now.Before(l.quitAt):
		return false, nil
	}
	err := ErrStopped
	left := len(l.tasks)
	for t := range l.tasks {
		if t.err != nil {
			err = fmt.Errorf("%w: %w", ErrStopped, t.err)
		}
		l.refuse(t, err)
	}
	return true, fmt.Errorf("%d results not stored: %w", left, err)
}

// never is longer than anything that a loop waits for.
const never = 24 * time.Hour

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// errPanic: a call of the host's code panicked. See law.
var errPanic = errors.New("panic")

// try runs fn and turns a panic into an error.
func try(fn func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	fn()
	return nil
}

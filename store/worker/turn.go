package worker

import (
	"context"
	"errors"
	"slices"
	"time"
)

// errGone: the goroutine of a call ended without an answer.
var errGone = errors.New("the source ended its goroutine")

// turn is one call of [Source.Turn].
type turn[W, R any] struct {
	stored []*task[W, R]
	n      int // asked for
	began  time.Time
	cut    error // of its context, as it ended
	items  []Item[W]
	next   time.Time
	err    error
}

// startTurn starts a Turn if one is due, and returns when to call startTurn again. There are two kinds
// of Turn: a batch of results with a claim, and one result that failed together with others and is
// offered alone. If both are due, the earlier goes first.
func (l *loop[W, R]) startTurn(now time.Time) time.Time {
	if l.turning {
		return now.Add(never)
	}
	free := l.o.Concurrency - len(l.busy) - len(l.queue)
	if l.stopping {
		free = 0
	}
	at := now.Add(never)
	switch {
	case len(l.done) >= l.o.Batch, len(l.done) > 0 && (len(l.busy) == 0 || l.stopping):
		at = now
	case len(l.done) > 0:
		at = later(l.done[0].finished, l.turnedAt).Add(l.o.Linger) // what finished during a Turn waits for the rest too
	case free > 0:
		at = l.askAt
	}
	first := -1
	for i, t := range l.alone {
		if t.retryAt.Before(at) || first < 0 && t.retryAt.Equal(at) {
			first, at = i, t.retryAt
		}
	}
	if now.Before(at) {
		return at
	}
	call := turn[W, R]{n: max(free, 0), began: now, err: errGone}
	switch {
	case first >= 0:
		call.stored, call.n = []*task[W, R]{l.alone[first]}, 0
		l.alone = slices.Delete(l.alone, first, first+1)
	default:
		k := min(len(l.done), l.o.Batch)
		call.stored = slices.Clone(l.done[:k])
		l.done = slices.Delete(l.done, 0, k)
		if l.fails > 0 && now.Before(l.askAt) {
			call.n = 0
		}
	}
	results := make([]R, len(call.stored))
	timeout := l.turns.now
	for i, t := range call.stored {
		t.stage = storing
		results[i] = t.result
		timeout = min(timeout, max(l.o.CallTimeout, t.item.Until.Sub(now)/2)) // what is stored is not renewed meanwhile
	}
	l.turning = true
	ctx, cancel := context.WithTimeout(l.base, timeout)
	l.cutTurn = cancel
	go func() {
		defer func() { l.turned <- call }()
		defer cancel()
		defer func() { call.cut = ctx.Err() }()
		var err error
		if p := try(func() { call.items, call.next, err = l.source.Turn(ctx, results, call.n) }); p != nil {
			err = p
		}
		call.err = err
	}()
	return now.Add(never)
}

func (l *loop[W, R]) endTurn(now time.Time, call turn[W, R]) {
	l.turning, l.turnedAt = false, now
	l.turns.learn(now.Sub(call.began), call.err, call.cut)
	if call.err != nil {
		l.o.Hooks.Turned(0, 0, now.Sub(call.began), call.err)
		l.failed(now, call)
		return
	}
	l.lastOK = now
	l.o.Hooks.Turned(len(call.stored), len(call.items), now.Sub(call.began), nil)
	for _, t := range call.stored {
		delete(l.tasks, t)
		if !t.given {
			l.o.Hooks.Stored(t.item, now.Sub(t.claimed))
		}
	}
	for _, item := range call.items {
		t := &task[W, R]{item: item, claimed: now, renewAt: now.Add(item.Until.Sub(now) / 3)}
		l.tasks[t] = struct{}{}
		l.queue = append(l.queue, t)
		l.leaseAt = earlier(l.leaseAt, t.renewAt)
		l.o.Hooks.Claimed(item)
	}
	if len(l.tasks) > 0 {
		l.idleSince = time.Time{}
	}
	if call.n > 0 {
		l.asked(now, call)
	}
}

// asked decides when to claim again. An empty answer does not prove that nothing is due, and work
// may appear before the next known due time.
func (l *loop[W, R]) asked(now time.Time, call turn[W, R]) {
	l.fails = 0
	if len(call.items) >= call.n {
		l.empty, l.askAt = 0, now
		return
	}
	if len(call.items) > 0 || len(call.stored) > 0 { // there is traffic
		l.empty = 0
	}
	if l.woken { // what it was told of may have come after this claim
		l.woken, l.askAt = false, now
		return
	}
	l.askAt = now.Add(l.o.Poll.Delay(l.empty, l.o.Jitter.Uint64()))
	l.empty++
	if !call.next.IsZero() && call.next.Before(l.askAt) {
		l.askAt = earlier(l.askAt, now.Add(max(call.next.Sub(now), l.o.Poll.Base)))
	}
	if l.o.Idle == 0 || len(l.tasks) > 0 {
		return
	}
	if l.idleSince.IsZero() {
		l.idleSince = now
	}
	end := l.idleSince.Add(l.o.Idle)
	l.idle = !now.Before(end)
	l.askAt = earlier(l.askAt, end) // a last look before going
}

// failed deals with a Turn that returned an error.
func (l *loop[W, R]) failed(now time.Time, call turn[W, R]) {
	says := judge(call.err)
	no := says != retry
	if says == halt && l.halted == nil {
		l.halted = call.err
	}
	l.o.Log.Warn("turn failed", "results", len(call.stored), "claims", call.n, "refused", no, "error", call.err)
	l.idleSince, l.leaseAt = time.Time{}, now
	if call.n > 0 && (len(call.stored) == 0 || !no) {
		l.askAt = now.Add(l.o.Retry.Delay(l.fails, l.o.Jitter.Uint64()))
		l.fails++
	}
	single := len(call.stored) == 1 && call.n == 0 // nothing else can be the reason
	for _, t := range call.stored {
		ended := t.lost || !now.Before(t.item.Until)
		if single && says == giveBack && !t.given && !ended {
			l.giveBack(now, t, call.err)
			continue
		}
		if says == halt || single && (no || ended && t.tries > 0 && l.lastOK.After(t.failedAt)) {
			l.refuse(t, call.err)
			continue
		}
		at := now
		if !no {
			at = now.Add(l.o.Retry.Delay(t.tries, l.o.Jitter.Uint64()))
		}
		if single {
			if t.tries == 0 {
				t.failedAt = now
			}
			t.tries++
		}
		l.wait(t, at, call.err)
	}
}

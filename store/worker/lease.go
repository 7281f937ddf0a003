package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// renewal is one call of [Source.Renew]; errs has one place per task.
type renewal[W, R any] struct {
	tasks []*task[W, R]
	items []Item[W]
	errs  []error
	began time.Time
	cut   error // of its context, as it ended
}

// checkLeases stops the work of tasks that have lost their lease, renews all other leases when
// the first is due, and returns when to look again. A call before this time costs nothing.
func (l *loop[W, R]) checkLeases(now time.Time) time.Time {
	if now.Before(l.leaseAt) {
		return l.leaseAt
	}
	l.leaseAt = now.Add(never)
	due := false
	var held []*task[W, R]
	for t := range l.tasks {
		if t.lost || t.stage == storing { // the Turn under way decides
			continue
		}
		if !now.Before(t.item.Until) {
			l.lose(now, t, fmt.Errorf("%w: it ended at %s", statemachine.ErrFenced, t.item.Until.UTC().Format(time.RFC3339Nano)))
			continue
		}
		l.leaseAt = earlier(l.leaseAt, t.item.Until)
		if t.tries > 0 || l.renewing {
			continue
		}
		held = append(held, t)
		due = due || !now.Before(t.renewAt)
	}
	switch {
	case due:
		l.renew(now, held)
	default:
		for _, t := range held {
			l.leaseAt = earlier(l.leaseAt, t.renewAt)
		}
	}
	return l.leaseAt
}

// lose reports a lost lease and stops the work under it.
func (l *loop[W, R]) lose(now time.Time, t *task[W, R], cause error) {
	t.lost = true
	l.o.Log.Warn("lease lost", "key", t.item.Key, "error", cause)
	l.o.Hooks.Lost(t.item, cause)
	same := func(other *task[W, R]) bool { return other == t }
	switch t.stage {
	case queued:
		delete(l.tasks, t)
		l.queue = slices.DeleteFunc(l.queue, same)
	case running:
		t.cancel(cause)
	case done:
		l.done = slices.DeleteFunc(l.done, same)
		l.wait(t, now, nil)
	}
}

func (l *loop[W, R]) renew(now time.Time, held []*task[W, R]) {
	slices.SortFunc(held, func(a, b *task[W, R]) int { return strings.Compare(a.item.Key, b.item.Key) })
	call := renewal[W, R]{tasks: held, items: make([]Item[W], len(held)), errs: make([]error, len(held)), began: now}
	timeout := l.renewals.now
	for i, t := range held {
		call.items[i], call.errs[i] = t.item, errGone
		timeout = min(timeout, l.third(now, t)) // there must be time for a second try
	}
	l.renewing = true
	go func() {
		defer func() { l.renewed <- call }()
		ctx, cancel := context.WithTimeout(l.base, timeout)
		defer cancel()
		call.errs = renewAll(ctx, l.source, call.items)
		call.cut = ctx.Err()
	}()
}

// third is a third of the remaining lease, at least the shortest retry pause.
func (l *loop[W, R]) third(now time.Time, t *task[W, R]) time.Duration {
	return max(t.item.Until.Sub(now)/3, l.o.Retry.Base)
}

// renewAll renews items and returns one error per item. If a batch is refused and the error does
// not name the lost keys, its items are renewed one by one.
func renewAll[W, R any](ctx context.Context, source Source[W, R], items []Item[W]) []error {
	errs := make([]error, len(items))
	var err error
	if p := try(func() { err = source.Renew(ctx, items) }); p != nil {
		err = p
	}
	var lost *LostError
	named := errors.As(err, &lost) && len(lost.Keys) > 0
	for i := range items {
		switch {
		case named && !slices.Contains(lost.Keys, items[i].Key):
		case !named && refused(err) && len(items) > 1:
			errs[i] = renewAll(ctx, source, items[i:i+1])[0]
		default:
			errs[i] = err
		}
	}
	return errs
}

func (l *loop[W, R]) endRenew(now time.Time, call renewal[W, R]) {
	l.renewing = false
	l.leaseAt = now
	l.renewals.learn(now.Sub(call.began), errors.Join(call.errs...), call.cut)
	for i, t := range call.tasks {
		if _, held := l.tasks[t]; !held || t.lost {
			continue // stored or lost while the call was under way
		}
		switch err := call.errs[i]; {
		case err == nil:
			t.item.Until = call.items[i].Until
			t.renewAt = now.Add(t.item.Until.Sub(now) / 3)
		case t.stage == storing: // the lease may have ended by being stored
		case refused(err):
			if !errors.Is(err, statemachine.ErrFenced) {
				err = fmt.Errorf("%w: %w", statemachine.ErrFenced, err)
			}
			l.lose(now, t, err)
		default:
			l.o.Log.Warn("lease not renewed", "key", t.item.Key, "until", t.item.Until, "error", err)
			t.renewAt = now.Add(l.third(now, t))
		}
	}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// holder is the name of a source of work: that of its leases, and the actor of its
// events.
type holder struct {
	name string
	*sharing
}

// sharing is of a source that holds leases: others of its service may have its name.
type sharing struct {
	runs  *runs
	of    runsOf
	began atomic.Bool
}

// runs counts the sources of a service that are under way, by the name of their
// leases. Nothing else tells these apart.
type runs struct {
	sync.Mutex
	of map[runsOf]int
}

// runsOf is whose leases end together: those of a name, of one part of the work or of
// all of it.
type runsOf struct{ name, part string }

// holds returns the holder of a source that gives its leases back when it ends.
func (r *runs) holds(name, part string) holder {
	return holder{name, &sharing{runs: r, of: runsOf{name, part}}}
}

// begin counts a source that claims.
func (h holder) begin() {
	if h.sharing == nil || h.began.Load() {
		return
	}
	h.runs.Lock()
	defer h.runs.Unlock()
	if !h.began.Swap(true) {
		h.runs.of[h.of]++
	}
}

// end gives back what the name holds, if no other source works under it: what is
// theirs is under way. None begins meanwhile.
func (h holder) end(giveBack func() error) error {
	h.runs.Lock()
	defer h.runs.Unlock()
	if h.began.Swap(false) {
		h.runs.of[h.of]--
	}
	if h.runs.of[h.of] > 0 {
		return nil
	}
	delete(h.runs.of, h.of)
	return giveBack()
}

// Check implements [worker.Checked]: every event of another name would be refused,
// and nothing would ever be done.
func (h holder) Check() error {
	if err := statemachine.Actor(h.name); err != nil {
		return fmt.Errorf("the name of a worker: %w", err)
	}
	return nil
}

// turn stores results and claims up to n more items, or none for 0, in one
// transaction. The results are
// judged by what is stored. claim adds its steps to b, must begin anew each time
// that it is called, and returns for how long nothing else is due.
func (s *core[T, K, L, A, E, C]) turn(ctx context.Context, done []command[K, A, E], n int, claim func(b *batch[T, K, L, A, E, C]) (time.Duration, error)) (next time.Time, err error) {
	if n != 0 {
		if err := CheckLimit(n); err != nil {
			return next, err
		}
	}
	_, err = s.held(ctx, done, false, func(tx T) error {
		next = time.Time{}
		if n == 0 {
			return nil
		}
		b, err := s.batch(tx)
		if err != nil {
			return err
		}
		wait, err := claim(b)
		if err != nil {
			return err
		}
		next = b.began.Add(wait)
		return b.save()
	})
	return next, err
}

// items is turn for a source of items: claim brings them, anew each time that it
// is called.
func items[T Clock, K, L comparable, A, E, C, W any](ctx context.Context, s *core[T, K, L, A, E, C], by holder, done []command[K, A, E], n int,
	claim func(b *batch[T, K, L, A, E, C]) ([]worker.Item[W], time.Duration, error)) (all []worker.Item[W], next time.Time, err error) {
	if err := by.Check(); err != nil {
		return nil, next, err
	}
	by.begin()
	next, err = s.turn(ctx, done, n, func(b *batch[T, K, L, A, E, C]) (wait time.Duration, err error) {
		all, wait, err = claim(b)
		return wait, err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return all, next, nil
}

// offer sends an event to each of due and returns those that took it. refused is
// called for each other one, which must not stop them; nil: it is left as it is.
func (b *batch[T, K, L, A, E, C]) offer(due []A, id func(*A) K, ev E, refused func(*A) error) (taken []A, err error) {
	b.room, taken = len(due), make([]A, 0, len(due))
	for i := range due {
		refusal, err := b.try(&due[i], id(&due[i]), ev)
		switch {
		case err == nil && refusal == nil:
			taken = append(taken, due[i])
			b.handed.note(id(&due[i]), &due[i])
		case err == nil && refused != nil:
			err = refused(&due[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// sweep sends an event to each aggregate that due returns. One whose event is
// refused is left as it is and named in refused; the others are swept all the
// same.
func (s *core[T, K, L, A, E, C]) sweep(ctx context.Context, due func(tx T, now time.Time) ([]A, error), event func(*A) (K, E)) (swept []A, refused error, err error) {
	var refusals []error
	err = s.update(ctx, func(tx T) error {
		swept, refusals = nil, nil
		b, err := s.batch(tx)
		if err != nil {
			return err
		}
		as, err := due(tx, b.now)
		if err != nil {
			return err
		}
		for i := range as {
			id, ev := event(&as[i])
			refusal, err := b.try(&as[i], id, ev)
			switch {
			case err != nil:
				return err
			case refusal != nil:
				refusals = append(refusals, refusal)
			default:
				swept = append(swept, as[i])
			}
		}
		return b.save()
	})
	if err != nil {
		return nil, nil, err
	}
	return swept, errors.Join(refusals...), nil
}

// revokePage is how many leases one transaction of a revocation ends.
const revokePage = 100

// revoke sends an event to each aggregate that held returns, in pages: those of
// which a holder has a lease, behind one, at most limit. It returns how many lost
// it, and what was refused.
func (s *core[T, K, L, A, E, C]) revoke(ctx context.Context, held func(tx T, after *A, limit int) ([]A, error), event func(*A) (K, E)) (n int, err error) {
	var refusals []error
	for after, found := (*A)(nil), revokePage; found == revokePage; {
		var last A
		swept, refused, err := s.sweep(ctx, func(tx T, _ time.Time) ([]A, error) {
			page, err := held(tx, after, revokePage)
			if found = len(page); found > 0 {
				last = page[found-1]
			}
			return page, err
		}, event)
		if err != nil {
			return n, err
		}
		n, after = n+len(swept), &last
		refusals = append(refusals, refused)
	}
	return n, errors.Join(refusals...)
}

// heldBy is the page of a revocation from the ids of the records: those behind
// the id of after.
func heldBy[T, K any, A any](ids func(tx T, after K, limit int) ([]K, error), id func(*A) K, get func(tx T, ids ...K) ([]A, error)) func(T, *A, int) ([]A, error) {
	return func(tx T, after *A, limit int) ([]A, error) {
		var behind K
		if after != nil {
			behind = id(after)
		}
		found, err := ids(tx, behind, limit)
		if err != nil {
			return nil, err
		}
		return get(tx, found...)
	}
}

// pause is how long to wait for more of what is due: not at all where found
// filled the limit, else until next, which is zero where nothing is scheduled,
// but at most for so long.
func pause(found, limit int, now, next time.Time, most time.Duration) time.Duration {
	switch {
	case found >= limit:
		return 0
	case next.IsZero():
		return most
	}
	return max(0, min(next.Sub(now), most))
}

// renewLeases moves the ends of the leases of items, by renew, and names the
// items whose lease is lost. lease returns the id of an item's record and the
// lease with its new end.
func renewLeases[T Clock, K comparable, W, L any](ctx context.Context, update func(context.Context, func(T) error) error, items []worker.Item[W],
	length time.Duration, lease func(*W, time.Time) (K, L), renew func(tx T, now time.Time, leases ...L) ([]K, error)) error {
	began := time.Now()
	var lost []K
	err := update(ctx, func(tx T) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		leases := make([]L, len(items))
		for i := range items {
			_, leases[i] = lease(&items[i].Work, now.Add(length))
		}
		lost, err = renew(tx, now, leases...)
		return err
	})
	if err != nil {
		return err
	}
	return renewed(items, lost, began.Add(length), func(w *W) K {
		id, _ := lease(w, began)
		return id
	})
}

// renewed writes the new end of the leases that are not lost.
func renewed[K comparable, W any](items []worker.Item[W], lost []K, until time.Time, id func(*W) K) error {
	gone := make(map[K]bool, len(lost))
	for _, k := range lost {
		gone[k] = true
	}
	var e worker.LostError
	for i := range items {
		if gone[id(&items[i].Work)] {
			e.Keys = append(e.Keys, items[i].Key)
		} else {
			items[i].Until = until
		}
	}
	if len(e.Keys) > 0 {
		return &e
	}
	return nil
}

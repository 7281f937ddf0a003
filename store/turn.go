package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// end gives back what the name holds once the last source under the name has ended: what
// another one holds is under way. No source of the name begins meanwhile.
func (h holder) end(giveBack func() (int, error)) error {
	h.runs.Lock()
	defer h.runs.Unlock()
	if h.began.Swap(false) {
		h.runs.of[h.of]--
	}
	if h.runs.of[h.of] > 0 {
		return nil
	}
	delete(h.runs.of, h.of)
	_, err := giveBack()
	return err
}

// Check implements [worker.Checked]: every event of another name would be refused,
// and nothing would ever be done.
func (h holder) Check() error {
	if err := statemachine.Actor(h.name); err != nil {
		return fmt.Errorf("the name of a worker: %w", err)
	}
	return nil
}

// turn stores results and claims up to n more items, or none for 0, in one transaction. The results are judged by what
// is stored. claim adds its steps to b, must begin anew each time that it is called, and returns for how long nothing
// else is due. Now and then a further transaction notes that the worker of this name is alive.
func (s *core[T, K, L, A, E, C]) turn(ctx context.Context, name string, done []command[K, A, E], n int,
	claim func(b *batch[T, K, L, A, E, C]) (time.Duration, error)) (next time.Time, err error) {
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
	if err == nil {
		s.alive(ctx, name)
	}
	return next, err
}

// items is turn for a source of items: claim brings them, anew each time that it
// is called.
func items[T Journaled, K, L comparable, A any, E spoken, C, W any](ctx context.Context, s *core[T, K, L, A, E, C], by holder,
	done []command[K, A, E], n int,
	claim func(b *batch[T, K, L, A, E, C]) ([]worker.Item[W], time.Duration, error)) (all []worker.Item[W], next time.Time, err error) {
	if err := by.Check(); err != nil {
		return nil, next, err
	}
	by.begin()
	next, err = s.turn(ctx, by.name, done, n, func(b *batch[T, K, L, A, E, C]) (wait time.Duration, err error) {
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
func (b *batch[T, K, L, A, E, C]) offer(due []A, ev E, refused func(*A) error) (taken []A, err error) {
	b.room, taken = len(due), make([]A, 0, len(due))
	for i := range due {
		id := b.of.id(&due[i])
		refusal, err := b.try(&due[i], id, ev)
		switch {
		case err == nil && refusal == nil:
			taken = append(taken, due[i])
			b.handed.note(id, &due[i])
		case err == nil && refused != nil:
			err = refused(&due[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// claims says how a source claims one kind of due work, and makes an item of each.
type claims[A, E, W any] struct {
	due     func() ([]A, error)
	next    func() (time.Time, error) // when more is due
	claim   E
	lease   time.Duration  // of an item
	most    time.Duration  // until the source is asked again
	refused func(*A) error // see offer
	saved   bool           // what is claimed is saved before next is asked
	item    func(a *A, until time.Time) (key string, work W)
}

// claim claims what is due, of which n were asked for, and says for how long nothing
// else is.
func claim[T Journaled, K, L comparable, A any, E spoken, C, W any](b *batch[T, K, L, A, E, C], of claims[A, E, W],
	n int) (all []worker.Item[W], wait time.Duration, err error) {
	due, err := of.due()
	if err != nil {
		return nil, 0, err
	}
	taken, err := b.offer(due, of.claim, of.refused)
	if err != nil {
		return nil, 0, err
	}
	if of.saved {
		if err := b.save(); err != nil {
			return nil, 0, err
		}
	}
	until := b.began.Add(of.lease)
	all = mapped(taken, func(a *A) worker.Item[W] {
		key, work := of.item(a, until)
		return worker.Item[W]{Key: key, Until: until, Work: work}
	})
	if len(due) >= n {
		return all, 0, nil
	}
	next, err := of.next()
	return all, pause(len(due), n, b.now, next, of.most), err
}

// dueAndAhead returns the items that are due and, if these do not fill the limit, items whose due time is later than
// any rule sets: a clock that was ahead has put them off. find is called with a limit, and for the latter with the
// latest time that a rule may have set.
func dueAndAhead[A any](find func(ahead time.Time, limit int) ([]A, error), latest time.Time, limit int) ([]A, error) {
	due, err := find(time.Time{}, limit)
	if err != nil || len(due) >= limit {
		return due, err
	}
	ahead, err := find(latest, limit-len(due))
	return append(due, ahead...), err
}

// sweep sends an event to each aggregate that due returns. An aggregate that refuses the event is left as it is and
// named in refused; the others are swept all the same.
func (s *core[T, K, L, A, E, C]) sweep(ctx context.Context, due func(tx T, now time.Time) ([]A, error),
	ev E) (swept []A, refused error, err error) {
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
			refusal, err := b.try(&as[i], s.of.id(&as[i]), ev)
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

// sweepPage is sweep of those of a page of ids that late names. It returns the last
// id of the page too, and what cannot be read among what was refused.
func (s *core[T, K, L, A, E, C]) sweepPage(ctx context.Context, page func(T) ([]K, error), late func(*A, time.Time) bool, ev E) (last K,
	swept []A, refused error, err error) {
	var unreadable []error
	swept, refused, err = s.sweep(ctx, func(tx T, now time.Time) (all []A, err error) {
		var none K
		last, unreadable = none, nil
		ids, err := page(tx)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		last = ids[len(ids)-1]
		all, unreadable, err = readable(s.of.records(tx).Get, ids)
		return slices.DeleteFunc(all, func(a A) bool { return !late(&a, now) }), err
	}, ev)
	return last, swept, errors.Join(append(unreadable, refused)...), err
}

// revokePage is how many leases one transaction of a revocation ends.
const revokePage = 100

// revoke sends an event to the aggregates of which a holder has a lease, in pages: held returns at most limit of them
// behind one. revoke returns how many lost their lease, and the refusals.
func (s *core[T, K, L, A, E, C]) revoke(ctx context.Context, held func(tx T, after *A, limit int) ([]A, error), ev E) (n int, err error) {
	var refusals []error
	for after, found := (*A)(nil), revokePage; found == revokePage; {
		var last A
		swept, refused, err := s.sweep(ctx, func(tx T, _ time.Time) ([]A, error) {
			page, err := held(tx, after, revokePage)
			if found = len(page); found > 0 {
				last = page[found-1]
			}
			return page, err
		}, ev)
		if err != nil {
			return n, err
		}
		n, after = n+len(swept), &last
		refusals = append(refusals, refused)
	}
	return n, errors.Join(refusals...)
}

// unheard keeps in the journal that an event about a holder was refused with err, which it
// returns, before any record was read.
func (s *core[T, K, L, A, E, C]) unheard(ctx context.Context, holder string, ev E, err error) error {
	line, person := lineOf(s.of.domain, s.of.machines[0].name, holder, ev)
	if !person {
		return err
	}
	return s.update(ctx, func(tx T) error { return keep(tx, time.Time{}, []statemachine.JournalLine{line}, err) })
}

// heldBy is the page of a revocation from the ids of the records: those behind
// the id of after, as get reads them; nil: all of each.
func (s *core[T, K, L, A, E, C]) heldBy(ids func(tx T, after K, limit int) ([]K, error),
	get func(tx T, ids ...K) ([]A, error)) func(T, *A, int) ([]A, error) {
	if get == nil {
		get = func(tx T, ids ...K) ([]A, error) { return s.of.records(tx).Get(ids...) }
	}
	return func(tx T, after *A, limit int) ([]A, error) {
		var behind K
		if after != nil {
			behind = s.of.id(after)
		}
		found, err := ids(tx, behind, limit)
		if err != nil {
			return nil, err
		}
		return get(tx, found...)
	}
}

// pause is how long to wait before asking for due items again: not at all if found filled the limit, else until next,
// which is zero if nothing is scheduled, but at most for most.
func pause(found, limit int, now, next time.Time, most time.Duration) time.Duration {
	switch {
	case found >= limit:
		return 0
	case next.IsZero():
		return most
	}
	return max(0, min(next.Sub(now), most))
}

// renewLeases moves the ends of the leases of items, by renew, and names the items whose lease is lost. lease returns
// the lease of an item's record, without its end.
func renewLeases[T Clock, K comparable, W any](ctx context.Context, update func(context.Context,
	func(T) error) error, items []worker.Item[W],
	length time.Duration, lease func(*W) Lease[K], renew func(tx T, now time.Time, leases ...Lease[K]) ([]K, error)) error {
	began := time.Now()
	var lost []K
	err := update(ctx, func(tx T) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		lost, err = renew(tx, now, mapped(items, func(i *worker.Item[W]) Lease[K] {
			l := lease(&i.Work)
			l.Until = now.Add(length)
			return l
		})...)
		return err
	})
	if err != nil {
		return err
	}
	gone := make(map[K]bool, len(lost))
	for _, k := range lost {
		gone[k] = true
	}
	return renewed(items, began.Add(length), func(i *worker.Item[W]) bool { return gone[lease(&i.Work).ID] })
}

// extend sends ev, which puts an aggregate off for length, once more to the aggregates of items. An item is lost if
// goesOn says that the stored aggregate, its second argument, no longer is the item's work.
func extend[T Journaled, K, L comparable, A any, E spoken, C, W any](ctx context.Context, s *core[T, K, L, A, E, C],
	items []worker.Item[W], length time.Duration,
	of func(*W) *A, ev E, goesOn func(was, is *A) bool) error {
	began := time.Now()
	lost := map[K]bool{}
	ids := mapped(items, func(i *worker.Item[W]) K { return s.of.id(of(&i.Work)) })
	err := s.update(ctx, func(tx T) error {
		clear(lost)
		as, err := s.of.records(tx).Get(ids...)
		if err != nil {
			return err
		}
		b, err := s.batch(tx)
		if err != nil {
			return err
		}
		for i := range as {
			if !goesOn(of(&items[i].Work), &as[i]) {
				lost[ids[i]] = true
			} else if err := b.step(&as[i], ids[i], ev); err != nil {
				return err
			}
		}
		return b.save()
	})
	if err != nil {
		return err
	}
	return renewed(items, began.Add(length), func(i *worker.Item[W]) bool { return lost[s.of.id(of(&i.Work))] })
}

// renewed writes the new end of the leases that are not lost.
func renewed[W any](items []worker.Item[W], until time.Time, lost func(*worker.Item[W]) bool) error {
	var e worker.LostError
	for i := range items {
		if lost(&items[i]) {
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

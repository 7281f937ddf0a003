package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
)

// source is a worker of one name, and what it has claimed.
type source interface {
	take(n int) (keys []string, err error)
	renew() error
	giveBack() error
	until() time.Time // when the lease of the first one ends, as the worker is told
}

type work[W, R any] struct {
	worker.Source[W, R]
	items []worker.Item[W]
}

func sourceOf[W, R any](of worker.Source[W, R]) source { return &work[W, R]{Source: of} }

func (w *work[W, R]) take(n int) (keys []string, err error) {
	items, _, err := w.Turn(ctx, nil, n)
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	w.items = append(w.items, items...)
	return keys, err
}

func (w *work[W, R]) renew() error     { return w.Renew(ctx, w.items) }
func (w *work[W, R]) until() time.Time { return w.items[0].Until }

// giveBack stores its results twice, as if the first answer were lost.
func (w *work[W, R]) giveBack() error {
	var results []R
	for _, item := range w.items {
		results = append(results, w.Release(item.Work))
	}
	_, _, err1 := w.Turn(ctx, results, 0)
	_, _, err2 := w.Turn(ctx, results, 0)
	return errors.Join(err1, err2)
}

// claimed takes up to n items, of which there are so many.
func claimed[W, R any](t testing.TB, from worker.Source[W, R], n, many int) []worker.Item[W] {
	t.Helper()
	items, _, err := from.Turn(ctx, nil, n)
	if err != nil || len(items) != many {
		t.Fatalf("%d items are claimed, expected %d, %v", len(items), many, err)
	}
	return items
}

func (s *subject[T, K, L, A, E, C]) works(t *testing.T) {
	if s.source == nil {
		t.Skip("no worker claims it")
	}
	live(s.Store)
	for _, name := range []string{"", "a\x00", strings.Repeat("x", 300)} {
		refusedWith(t, errOf(s.source(name).take(1)), statemachine.ErrInvalid, fmt.Sprintf("a worker of the name %.9q", name))
	}
	var owed []K
	for range usual(30, 60) {
		a := s.owed(t)
		owed = append(owed, s.id(&a))
	}
	workers, claimed := make([]source, 4), make([][]string, 4)
	noError(t, errors.Join(atOnce(len(workers), func(i int) error {
		workers[i] = s.source(fmt.Sprint("worker-", i+1))
		for idle := 0; idle < 3; {
			keys, err := workers[i].take(7)
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				idle++
			}
			claimed[i] = append(claimed[i], keys...)
		}
		return nil
	})...))
	all := slices.Sorted(slices.Values(slices.Concat(claimed...)))
	if len(all) != len(owed) || len(slices.Compact(all)) != len(owed) {
		t.Fatalf("%d claims of %d items", len(all), len(owed))
	}
	ends := func(held bool) (all []time.Time) {
		t.Helper()
		for i := 0; i < len(owed) && s.lease != nil; i++ {
			a := s.get(t, owed[i])
			if s.lease(&a).Holder != "" != held {
				t.Fatalf("%v is held by %q", owed[i], s.lease(&a).Holder)
			}
			all = append(all, s.lease(&a).Until)
		}
		return all
	}
	noted := s.alive(t, len(workers))
	before := ends(true)
	for i, w := range workers {
		if len(claimed[i]) > 0 && len(before) > 0 && before[0].Sub(w.until()).Abs() > time.Minute {
			t.Errorf("a worker is told that a lease ends at %v, stored is %v", w.until(), before[0])
		}
		noError(t, w.renew(), "a renewal: ")
	}
	for i, end := range ends(true) {
		if !end.After(before[i]) {
			t.Errorf("a lease until %v was renewed until %v", before[i], end)
		}
	}
	for _, w := range workers {
		noError(t, w.giveBack(), "given back, twice: ")
	}
	ends(false)
	same(t, "what they noted of themselves within a minute", s.alive(t, len(workers)), noted)
}

// alive returns the processes of a store, which are so many workers that have one policy.
func (s *subject[T, K, L, A, E, C]) alive(t testing.TB, workers int) []processes.Process {
	t.Helper()
	all, err := must(store.NewProcesses(s.Store))(t).List(ctx, processes.Key{}, store.MaxPage)
	noError(t, err)
	var now time.Time
	noError(t, s.View(ctx, func(tx T) (err error) {
		now, err = tx.Now()
		return err
	}))
	for i, p := range all {
		if p.Name != fmt.Sprint("worker-", i+1) || p.Domain != all[0].Domain || p.Policy != all[0].Policy || len(p.Policy) != 16 ||
			!p.Live(now) || p.First != p.Last {
			t.Errorf("worker %d is %+v", i+1, p)
		}
	}
	if len(all) != workers {
		t.Errorf("%d workers are %+v", workers, all)
	}
	return all
}

func (s *subject[T, K, L, A, E, C]) checksItself(t *testing.T) {
	if s.selfCheck == nil {
		t.Skip("another subject's self-check checks it too")
	}
	live(s.Store)
	before, journal := s.snapshot(t), readJournal(s.Store)
	journal.more(t)
	noError(t, s.selfCheck(ctx))
	journal.has(t, "a self-check")
	same(t, "it left a trace", s.snapshot(t), before)
}

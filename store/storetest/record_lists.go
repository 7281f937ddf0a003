package storetest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// list is a list of ids in their byte order, as the store and as the domain has it.
type list[T, K, A any] struct {
	name string
	page func(tx T, now time.Time, after K, limit int) ([]K, error)
	has  func(a *A, now time.Time) bool
	// changes are the moments at which has changes; nil: it goes by no time.
	changes func(*A) []time.Time
}

// moments are n of the times that aggregates have, in order, and what is so far from
// each: at the least behind and before it, where nothing is said.
func moments[A any](all []A, n int, of func(*A) []time.Time, far ...time.Duration) (some []time.Time) {
	if far == nil {
		far = []time.Duration{-tick, 0, tick}
	}
	var known []time.Time
	for i := range all {
		known = append(known, slices.DeleteFunc(of(&all[i]), time.Time.IsZero)...)
	}
	slices.SortFunc(known, time.Time.Compare)
	known = slices.CompactFunc(known, time.Time.Equal)
	for i := range min(n, len(known)) {
		for _, d := range far {
			some = append(some, known[i*len(known)/min(n, len(known))].Add(d))
		}
	}
	return some
}

// listedAsDefined compares lists and statistics of a population with the functions of
// the domain.
func (s *subject[T, K, L, A, E, C]) listedAsDefined(t *testing.T) {
	if s.lists == nil && s.stats == nil {
		t.Skip("nothing is listed by id or counted")
	}
	get := func(ids []K) []A {
		t.Helper()
		return must(read(s.Store, func(tx T) ([]A, error) { return s.records(tx).Get(ids...) }))(t)
	}
	counted := func(all []A, now time.Time) {
		t.Helper()
		noError(t, s.View(ctx, func(tx T) error {
			got, want, err := s.stats(tx, all, now)
			same(t, fmt.Sprint("statistics at ", now), got, want)
			return err
		}))
	}
	all := get(s.population(t, func(ids []K) {
		if s.stats != nil {
			counted(get(ids), start)
		}
	}))
	if s.stats != nil {
		for _, after := range []time.Duration{0, 30 * time.Second, time.Hour, 30 * 24 * time.Hour, 1000 * 24 * time.Hour} {
			counted(all, start.Add(after))
		}
	}
	for _, l := range s.lists {
		at := []time.Time{start}
		if l.changes != nil {
			at = append(at, moments(all, 10, l.changes)...)
		}
		listed := 0
		for _, now := range at {
			var want []K
			for i := range all {
				if l.has(&all[i], now) {
					want = append(want, s.id(&all[i]))
				}
			}
			slices.SortFunc(want, func(a, b K) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			listed += len(want)
			inPages(t, fmt.Sprintf("%s at %v", l.name, now), want, func(after *K, limit int) ([]K, error) {
				var behind K
				if after != nil {
					behind = *after
				}
				return read(s.Store, func(tx T) ([]K, error) { return l.page(tx, now, behind, limit) })
			})
		}
		if listed == 0 {
			t.Errorf("%s has nothing at any moment: the rule is not tested", l.name)
		}
	}
}

// inPages reads pages of 7 to the end and compares with what the domain says.
func inPages[V any](t testing.TB, what string, want []V, page func(after *V, limit int) ([]V, error)) {
	t.Helper()
	var got []V
	for after := (*V)(nil); ; after = &got[len(got)-1] {
		next := must(page(after, 7))(t)
		switch {
		case len(next) > 7:
			t.Fatalf("%s: a page of %d, 7 were asked for", what, len(next))
		case len(next) == 0:
			same(t, what+" in pages", got, want)
			return
		}
		if got = append(got, next...); len(got) > len(want) {
			t.Fatalf("%s: there are %d, and the pages have %d already: a cursor or a condition is ignored", what, len(want), len(got))
		}
	}
}

// limited proves [store.CheckLimit] of methods that take a limit, and of turns, which
// claim nothing with none: what is out of bounds is refused, what is within is not. An
// audit of nothing must not say that all is sound.
func (s *subject[T, K, L, A, E, C]) limited(t *testing.T) {
	s.make(t, &s.stages[len(s.stages)-1])
	var none K
	methods := map[string]func(int) error{"Follow": func(n int) error { _, _, err := s.service.Follow(ctx, "", n); return err }}
	maps.Copy(methods, s.limits)
	for _, k := range s.due {
		methods["due: "+k.name] = func(n int) error {
			return s.Update(ctx, func(tx T) error { return errOf(k.find(tx, start, n)) })
		}
	}
	for _, l := range s.lists {
		methods[l.name] = func(n int) error {
			return s.View(ctx, func(tx T) error { return errOf(l.page(tx, start, none, n)) })
		}
	}
	for name, method := range methods {
		refusedWith(t, method(0), statemachine.ErrInvalid, name+" with a limit of 0")
	}
	if s.source != nil {
		methods["Turn"] = func(n int) error { return errOf(s.source("w").take(n)) }
		noError(t, methods["Turn"](0), "a turn that claims nothing: ")
	}
	for name, method := range methods {
		for _, n := range []int{-1, math.MinInt, store.MaxPage + 1, math.MaxInt32, math.MaxInt} {
			refusedWith(t, method(n), statemachine.ErrInvalid, fmt.Sprint(name, " with a limit of ", n))
		}
		for _, n := range []int{1, store.MaxPage} {
			noError(t, method(n), name, " with a limit of ", n, ": ")
		}
	}
}

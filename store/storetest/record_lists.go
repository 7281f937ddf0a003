package storetest

import (
	"fmt"
	"maps"
	"math"
	"reflect"
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
		for _, after := range []time.Duration{0, 30 * time.Second, time.Hour, 3 * time.Hour, 30 * 24 * time.Hour, 1000 * 24 * time.Hour} {
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
				return read(s.Store, func(tx T) ([]K, error) { return l.page(tx, now, orZero(after), limit) })
			})
		}
		if listed == 0 {
			t.Errorf("%s has nothing at any moment: the rule is not tested", l.name)
		}
	}
}

// orZero is what after points to, zero for the first page.
func orZero[K any](after *K) (k K) {
	if after != nil {
		k = *after
	}
	return k
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

// limited proves [store.CheckLimit] of methods that take a limit: a limit out of bounds is refused, one within them is
// not. A Turn also takes 0, and then claims nothing. An audit of nothing must not say that all is sound.
func (s *subject[T, K, L, A, E, C]) limited(t *testing.T) {
	s.make(t, &s.stages[len(s.stages)-1])
	var none K
	methods := map[string]func(int) error{
		"Follow":  func(n int) error { _, _, err := s.service.Follow(ctx, "", n); return err },
		"Journal": func(n int) error { _, _, err := store.NewJournal(s.Store).Page(ctx, "", n); return err },
	}
	maps.Copy(methods, s.limits)
	for _, k := range s.due {
		methods["due: "+k.name] = func(n int) error {
			return s.Update(ctx, func(tx T) error { return errOf(k.find(tx, start, n)) })
		}
		if k.ahead != nil {
			methods["due later: "+k.name] = func(n int) error {
				return s.Update(ctx, func(tx T) error { return errOf(k.ahead(tx, start, n)) })
			}
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
	for name, method := range s.numbered {
		for _, after := range []int64{-1, math.MinInt64} {
			refusedWith(t, method(after), statemachine.ErrInvalid, fmt.Sprint(name, " behind ", after))
		}
		for _, after := range []int64{0, 1, math.MaxInt64} {
			noError(t, method(after), name, " behind ", after, ": ")
		}
	}
}

// tick is the least difference of two times.
const tick = time.Microsecond

// dueKind is one kind of due work, as the store and as the domain has it.
type dueKind[T, A any] struct {
	name    string
	find    func(tx T, now time.Time, limit int) ([]A, error)
	next    func(tx T, now time.Time) (time.Time, error) // zero: never; nil: the store does not say
	at      func(*A) (time.Time, bool)
	compare func(a, b *A) int
	// key is what is used by one at a time; holds says that an aggregate uses
	// it. Then only the first of each free key is due. nil: nothing is.
	key   func(*A) any
	holds func(*A) bool
	// reads: it locks nothing, and a View may ask.
	reads bool
	// hides says that while a is due, b is not; nil: nothing does.
	hides func(a, b *A) bool
	// ahead is find for what is due later than a time, which a clock that was ahead has put
	// off. Only the kinds of mendedElsewhere have none.
	ahead func(tx T, later time.Time, limit int) ([]A, error)
	// late says that an aggregate is put off so, for ahead; nil: it is due later than that time.
	late func(a *A, later time.Time) bool
}

// mendedElsewhere are the aggregates of which no worker looks for due times that a clock which was ahead has set: the
// named mechanism brings these times back, and a test of its own proves it. In any other aggregate a record is also
// found if it is due later than its rules can have set, see [statemachine.Due].
var mendedElsewhere = map[string]string{
	"refresh.Work":   "refresh.Reconciled, at the beginning and end of a round",
	"relaysync.Sync": "a reactor's reconcile when it begins, and the alert of times ahead",
}

// dueAsDefined compares what is due in a population with the domain's function,
// just before, at and after each moment at which something becomes due.
func (s *subject[T, K, L, A, E, C]) dueAsDefined(t *testing.T) {
	if s.due == nil {
		t.Skip("nothing is ever due")
	}
	ids := s.population(t, nil)
	for _, kind := range s.due {
		t.Run(kind.name, func(t *testing.T) {
			all := must(read(s.Store, func(tx T) ([]A, error) { return s.records(tx).Get(ids...) }))(t)
			var moments []time.Time
			for i := range all {
				if at, ok := kind.at(&all[i]); ok && !at.IsZero() {
					moments = append(moments, at)
				}
			}
			slices.SortFunc(moments, time.Time.Compare)
			moments = slices.CompactFunc(moments, time.Time.Equal)
			if len(moments) == 0 {
				moments = []time.Time{start}
			}
			step, found, late := max(1, len(moments)/usual(6, 10)), 0, 0
			for i := 0; i < len(moments); i += step {
				for _, now := range []time.Time{moments[i].Add(-tick), moments[i], moments[i].Add(tick)} {
					found += s.compareDue(t, &kind, all, now, false)
					if kind.ahead != nil {
						late += s.compareDue(t, &kind, all, now, true)
					}
				}
			}
			name := reflect.TypeFor[A]().String()
			if why := mendedElsewhere[name]; (kind.ahead == nil) != (why != "") {
				t.Errorf("what a clock that was ahead has put off of a %s: found %v, or mended by %q", name, kind.ahead != nil, why)
			}
			if found == 0 || late == 0 && kind.ahead != nil && len(moments) > 1 {
				t.Fatal("nothing was ever due, or due later: the rule is not tested")
			}
		})
	}
}

// compareDue compares at one moment and returns how many are due: at now, or, with ahead, later
// than now.
func (s *subject[T, K, L, A, E, C]) compareDue(t *testing.T, kind *dueKind[T, A], all []A, now time.Time, ahead bool) int {
	t.Helper()
	var want []*A
	var next time.Time
	for i := range all {
		switch at, ok := kind.at(&all[i]); {
		case !ok:
		case at.After(now) == ahead && (!ahead || kind.late == nil), ahead && kind.late != nil && kind.late(&all[i], now):
			want = append(want, &all[i])
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	slices.SortFunc(want, kind.compare)
	if kind.hides != nil {
		due := slices.Clone(want)
		want = slices.DeleteFunc(want, func(b *A) bool {
			return slices.ContainsFunc(due, func(a *A) bool { return kind.hides(a, b) })
		})
	}
	if kind.key != nil {
		taken := map[any]bool{}
		for i := range all {
			taken[kind.key(&all[i])] = taken[kind.key(&all[i])] || kind.holds(&all[i])
		}
		want = slices.DeleteFunc(want, func(a *A) bool {
			k := kind.key(a)
			was := taken[k]
			taken[k] = true
			return was
		})
	}
	for _, limit := range []int{len(all) + 1, max(1, len(want)/2), 1} {
		var got []A
		var gotNext time.Time
		noError(t, s.Update(ctx, func(tx T) (err error) {
			find := kind.find
			if ahead {
				find = kind.ahead
			}
			if got, err = find(tx, now, limit); err == nil && kind.next != nil {
				gotNext, err = kind.next(tx, now)
			}
			return err
		}))
		what := fmt.Sprintf("%d at %s, later %v", limit, now.Format(time.RFC3339Nano), ahead)
		expected := want[:min(limit, len(want))]
		if len(got) != len(expected) {
			t.Fatalf("%s: %d are due, by the domain's rule %d", what, len(got), len(expected))
		}
		for i := range got {
			if g, w := s.id(&got[i]), s.id(expected[i]); g != w {
				t.Fatalf("%s: number %d is %v, by the domain's order %v", what, i+1, g, w)
			}
			same(t, what+": what is due is what Get returns", got[i], *expected[i])
		}
		if kind.next != nil && !ahead && !gotNext.Equal(next) {
			t.Fatalf("%s: the next is due at %v, by the domain's rule at %v", what, gotNext, next)
		}
	}
	return len(want)
}

package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

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
	// hides says that while a is due, b is not; nil: nothing does.
	hides func(a, b *A) bool
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
			var all []A
			noError(t, s.View(ctx, func(tx T) (err error) {
				all, err = s.records(tx).Get(ids...)
				return err
			}))
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
			step, found := max(1, len(moments)/usual(6, 10)), 0
			for i := 0; i < len(moments); i += step {
				for _, now := range []time.Time{moments[i].Add(-tick), moments[i], moments[i].Add(tick)} {
					found += s.compareDue(t, &kind, all, now)
				}
			}
			if found == 0 {
				t.Fatal("nothing was ever due: the rule is not tested")
			}
		})
	}
}

// compareDue compares at one moment and returns how many are due.
func (s *subject[T, K, L, A, E, C]) compareDue(t *testing.T, kind *dueKind[T, A], all []A, now time.Time) int {
	t.Helper()
	var want []*A
	var next time.Time
	for i := range all {
		switch at, ok := kind.at(&all[i]); {
		case !ok:
		case !at.After(now):
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
			if got, err = kind.find(tx, now, limit); err == nil && kind.next != nil {
				gotNext, err = kind.next(tx, now)
			}
			return err
		}))
		what := fmt.Sprintf("%d at %s", limit, now.Format(time.RFC3339Nano))
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
		if kind.next != nil && !gotNext.Equal(next) {
			t.Fatalf("%s: the next is due at %v, by the domain's rule at %v", what, gotNext, next)
		}
	}
	return len(want)
}

package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// life takes aggregates through real changes and compares all that is read with all that was saved, field by field. If
// a record gets a new field, end fails and names it until the events both set and change it.
type life[T store.Journaled, K, L comparable, A, E, C any] struct {
	*subject[T, K, L, A, E, C]
	t      *testing.T
	now    time.Time
	a      A // the one under way, as saved
	trails map[L][]statemachine.Transition[L]
	set    map[string]bool // fields that were not zero
	moved  map[string]bool // fields that an update changed

	// follow does to what is expected beside the aggregate what a change does
	// to the store, and notes it.
	follow func(before A, c *C)
	// records are the records of an aggregate, by name.
	records func(*A) map[string]any
	// compareMore reads what Get and the trails do not show.
	compareMore func(tx T, what string) error
}

func newLife[T store.Journaled, K, L comparable, A, E, C any](t *testing.T, s *subject[T, K, L, A, E, C]) *life[T, K, L, A, E, C] {
	return &life[T, K, L, A, E, C]{subject: s, t: t, now: start, trails: map[L][]statemachine.Transition[L]{},
		set: map[string]bool{}, moved: map[string]bool{}}
}

// tick returns a time that is a little later each time, so that no two columns
// have the same.
func (l *life[T, K, L, A, E, C]) tick() time.Time {
	l.now = l.now.Add(time.Second + tick)
	return l.now
}

// later passes leases and back-offs.
func (l *life[T, K, L, A, E, C]) later() { l.now = l.now.Add(2 * time.Hour) }

// do saves the change of each event and compares what is read.
func (l *life[T, K, L, A, E, C]) do(events ...E) {
	l.t.Helper()
	for _, ev := range events {
		before := l.a
		c := l.change(l.t, before, ev)
		what := fmt.Sprintf("after %T", ev)
		if err := l.save(c); err != nil {
			l.t.Fatal(what, ": ", err)
		}
		l.saved(before, &c, what)
	}
}

// saved compares what is read after a change, and notes what it moved.
func (l *life[T, K, L, A, E, C]) saved(before A, c *C, what string) {
	l.t.Helper()
	_, now, log := l.partsOf(c)
	l.a = *now
	for _, line := range *log {
		l.trails[line.ID] = append(l.trails[line.ID], line)
	}
	if l.follow != nil {
		l.follow(before, c)
	}
	l.compare(what)
	old := l.records(&before)
	for name, record := range l.records(&l.a) {
		l.note(name, old[name], record)
	}
}

// compare reads everything that there is of the aggregate under way.
func (l *life[T, K, L, A, E, C]) compare(what string) {
	l.t.Helper()
	noError(l.t, l.View(ctx, func(tx T) error {
		got, err := l.subject.records(tx).Get(l.id(&l.a))
		if err != nil {
			return err
		}
		same(l.t, what+": Get", got[0], l.a)
		inUTC(l.t, what, reflect.ValueOf(got[0]))
		for _, r := range l.states(&l.a) {
			trail, err := l.subject.records(tx).Transitions(r.id)
			if err != nil {
				return err
			}
			same(l.t, what+": Transitions", trail, l.trails[r.id])
			inUTC(l.t, what, reflect.ValueOf(trail))
		}
		if l.compareMore == nil {
			return nil
		}
		return l.compareMore(tx, what)
	}), what)
}

// note remembers which fields of a record were set, and which an update moved;
// before is nil for a record that was made.
func (l *life[T, K, L, A, E, C]) note(name string, before, after any) {
	old := map[string]any{}
	if v := reflect.ValueOf(before); v.IsValid() && !v.IsZero() {
		leaves(name, v, func(path string, v reflect.Value) { old[path] = v.Interface() })
	}
	leaves(name, reflect.ValueOf(after), func(path string, v reflect.Value) {
		l.set[path] = l.set[path] || !v.IsZero()
		was, updated := old[path]
		l.moved[path] = l.moved[path] || updated && !reflect.DeepEqual(was, v.Interface())
	})
}

// end requires that each field of the records was set, and moved if it is not
// among the fixed ones. Facts are never updated.
func (l *life[T, K, L, A, E, C]) end(fixed []string, records, facts map[string]any) {
	l.t.Helper()
	for name, record := range records {
		leaves(name, reflect.ValueOf(record), func(path string, _ reflect.Value) {
			if !slices.Contains(fixed, path) && !l.moved[path] {
				l.t.Errorf("%s is never changed by this rule: it proves nothing of its update", path)
			}
		})
	}
	for _, all := range []map[string]any{records, facts} {
		for name, record := range all {
			leaves(name, reflect.ValueOf(record), func(path string, _ reflect.Value) {
				if !l.set[path] {
					l.t.Errorf("%s is never set by this rule: it proves nothing of it", path)
				}
			})
		}
	}
}

// leaves visits the fields of a record, those of its own structs included.
func leaves(path string, v reflect.Value, visit func(path string, v reflect.Value)) {
	if v.Kind() != reflect.Struct || !strings.Contains(v.Type().PkgPath(), "settlehq/settle/") {
		visit(path, v)
		return
	}
	for i := range v.NumField() {
		leaves(path+"."+v.Type().Field(i).Name, v.Field(i), visit)
	}
}

// inUTC requires that all times within v are UTC: another zone compares equal
// and prints another day.
func inUTC(t failer, what string, v reflect.Value) {
	t.Helper()
	if !v.IsValid() {
		return
	}
	if at, ok := v.Interface().(time.Time); ok {
		if at.Location() != time.UTC || at.Nanosecond()%1000 != 0 {
			t.Fatalf("%s: the time %s (%s) is not in UTC microseconds", what, at.Format(time.RFC3339Nano), at.Location())
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if strings.Contains(v.Type().PkgPath(), "settlehq/settle/") {
			for i := range v.NumField() {
				inUTC(t, what+": "+v.Type().Field(i).Name, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			inUTC(t, what, v.Index(i))
		}
	}
}

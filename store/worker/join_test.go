package worker_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/settlehq/settle/store/worker"
)

// Each hook of each member is called once, in order, and one that is nil is left out. The fields
// are walked, so that a new hook which Join forgets fails here.
func TestJoin(t *testing.T) {
	var called []string
	member := func(name string) (h worker.Hooks[int, int]) {
		v := reflect.ValueOf(&h).Elem()
		for i := range v.NumField() {
			field := v.Type().Field(i)
			v.Field(i).Set(reflect.MakeFunc(field.Type, func([]reflect.Value) []reflect.Value {
				called = append(called, fmt.Sprint(name, field.Name))
				return nil
			}))
		}
		return h
	}
	joined := reflect.ValueOf(worker.Join(member("a"), worker.Hooks[int, int]{}, member("b")))
	var want []string
	for i := range joined.NumField() {
		in := make([]reflect.Value, joined.Field(i).Type().NumIn())
		for k := range in {
			in[k] = reflect.Zero(joined.Field(i).Type().In(k))
		}
		if joined.Field(i).IsNil() {
			t.Fatalf("%s is not joined", joined.Type().Field(i).Name)
		}
		joined.Field(i).Call(in)
		want = append(want, "a"+joined.Type().Field(i).Name, "b"+joined.Type().Field(i).Name)
	}
	if !slices.Equal(called, want) {
		t.Errorf("%q were called, not %q", called, want)
	}
	worker.Join[int, int]().Turned(0, 0, 0, nil)
}

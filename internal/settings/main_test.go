package main

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"
)

func TestThePageIsWhatTheCodeSays(t *testing.T) {
	if err := run("../..", true); err != nil {
		t.Error(err)
	}
}

// The bounds are those that Validate has, to the last unit.
func TestBounds(t *testing.T) {
	type policy struct {
		Count int32
		Small uint8
		Free  int64
		Pause time.Duration
		Whole time.Duration
	}
	p := policy{Count: 5, Small: 7, Pause: time.Minute, Whole: time.Hour}
	validate := func() error {
		switch {
		case p.Count < 2 || p.Count > 1000,
			p.Small < 1 || p.Small > 100,
			p.Pause < 3*time.Millisecond || p.Pause > 48*time.Hour,
			p.Whole < time.Second || p.Whole%time.Second != 0:
			return errors.New("out of bounds")
		}
		return nil
	}
	want := map[string]string{"Count": "2 1000", "Small": "1 100", "Free": "– –", "Pause": "3ms 2 d", "Whole": "1s –"}
	v := reflect.ValueOf(&p).Elem()
	for i := range v.NumField() {
		before := p
		from, to := bounds(v.Field(i), validate)
		if got, name := fmt.Sprintf("%s %s", from, to), v.Type().Field(i).Name; got != want[name] || p != before {
			t.Errorf("%s: %s, want %s; %+v after %+v", name, got, want[name], p, before)
		}
	}
}

package follow

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// A line that fails for ever stops the consumer at its cursor, with what was before it
// done.
func TestStop(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		good, bad := h.order(), h.order()
		fails := h.refusing(bad.String(), func() error { return errors.New("no such account") })
		for range 2 {
			err := Run(ctx, h.store, h.consumer(), fails)
			if s := h.stats(); err == nil || !s.Stopped || s.Error != "no such account" || s.Parked != 0 {
				t.Fatalf("%v: %+v", err, s)
			}
			h.posted(h.count("SELECT count(*) FROM "+h.table+" WHERE aggregate = $1", good.String()))
		}
		if a := Alerts(h.stats(), Thresholds{}); len(a) != 1 || a[0].Name != "consumer stopped" {
			t.Errorf("%+v", a)
		}
		err := Run(ctx, h.store, h.consumer(), h.refusing(bad.String(), func() error { panic("boom") }))
		if s := h.stats(); err == nil || s.Error != "panic: boom" {
			t.Errorf("%v: %+v", err, s)
		}
		if err := settle(ctx, h.runner(h.store, h.consumer(), h.post)); err != nil {
			t.Fatal(err)
		}
		h.posted(h.log())
	})
}

// refusing is post, but for one aggregate.
func (h *host) refusing(aggregate string, with func() error) Func {
	return func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error {
		if err := h.post(ctx, tx, unit, lines); err != nil {
			return err
		}
		for i := range lines {
			if lines[i].Aggregate == aggregate {
				return with()
			}
		}
		return nil
	}
}

// The others go on without the aggregate of a line that fails, whose lines come in
// their order once the first of them can be posted.
func TestPark(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		c := h.consumer()
		c.OnFailure = Park
		bad := h.order()
		h.order()
		boom, given := true, 0
		r := h.runner(h.store, c, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error {
			for i := range lines {
				if lines[i].Aggregate == bad.String() {
					given++
				}
			}
			return h.refusing(bad.String(), func() error {
				if boom {
					return errors.New("no such account")
				}
				return nil
			})(ctx, tx, unit, lines)
		})
		if err := settle(ctx, r); err != nil {
			t.Fatal(err)
		}
		of := h.log() / 2 // lines of one order
		h.posted(of)
		s := h.stats()
		if a := Alerts(s, Thresholds{Parked: of - 1}); s.Parked != of || s.Stopped ||
			!s.Oldest.At.Equal(noon) || s.Oldest.Error != "no such account" || len(a) != 1 || a[0].Name != "consumer parked" {
			t.Errorf("%+v, %+v", s, a)
		}
		h.order() // goes on, and the parked lines are not given
		before := given
		if err := settle(ctx, r); err != nil || given != before {
			t.Errorf("%v: %d parked lines were given early", err, given-before)
		}
		h.posted(2 * of)
		for tries := 2; tries < 4; tries++ { // after one minute, and after two more
			before := given
			h.pass(time.Duration(tries-1)*time.Minute - 1000)
			if err := settle(ctx, r); err != nil || given != before {
				t.Errorf("try %d: %v: %d parked lines were given just before", tries, err, given-before)
			}
			h.pass(1000)
			if err := settle(ctx, r); err != nil || given != before+1 {
				t.Errorf("try %d: %v: %d parked lines were given", tries, err, given-before)
			}
			if n := h.count("SELECT max(tries) FROM " + h.name("settle_parked")); n != tries {
				t.Errorf("%d tries, want %d", n, tries)
			}
			h.posted(2 * of)
		}
		boom = false
		h.pass(4 * time.Minute)
		if err := settle(ctx, r); err != nil {
			t.Fatal(err)
		}
		h.posted(h.log())
		if s := h.stats(); s.Parked != 0 || s.Error != "" {
			t.Errorf("%+v", s)
		}
	})
}

// The line that would be one too many stops the consumer: one that fails, and one
// behind a line that is parked.
func TestNoMoreThanMaxParked(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		c := h.consumer()
		c.OnFailure = Park
		bad := h.order()
		r := h.runner(h.store, c, h.refusing(bad.String(), func() error { return errors.New("no such account") }))
		if _, err := r.step(ctx); err != nil { // the row
			t.Fatal(err)
		}
		for _, free := range []int{0, 1} {
			full := make([]sqlstore.Line, MaxParked-free)
			for i := range full {
				line := statemachine.Transition[string]{Machine: "m", ID: fmt.Sprint(i), Version: 1}
				full[i] = sqlstore.Line{Transition: line, Aggregate: "other", Root: "m"}
			}
			h.exec("DELETE FROM " + h.name("settle_parked"))
			if err := h.store.Update(ctx, func(u store.Unit) error {
				of, err := sqlstore.ConsumersOf(u)
				if err != nil {
					return err
				}
				return of.Park(parkable(c, full, 0, errors.New("no"), h.now)...)
			}); err != nil {
				t.Fatal(err)
			}
			err := settle(ctx, r)
			if s := h.stats(); !errors.Is(err, ErrTooManyParked) || !s.Stopped || s.Parked != MaxParked {
				t.Errorf("room for %d: %v: %+v", free, err, s)
			}
			h.posted(0)
		}
	})
}

// One page has a line that fails alone between lines of an aggregate that is parked already:
// all of them wait behind their aggregate's first line, and each is given once in the end.
func TestALineThatFailsBetweenParkedOnes(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		ctx := t.Context()
		c := h.consumer()
		c.OnFailure = Park
		first, second := h.approved(), h.id()
		bad := map[string]bool{first.String(): true, second.String(): true}
		r := h.runner(h.store, c, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, lines []Line) error {
			for i := range lines {
				if bad[lines[i].Aggregate] {
					return errors.New("no such account")
				}
			}
			return h.post(ctx, tx, unit, lines)
		})
		work := func() {
			t.Helper()
			if err := settle(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		work()
		say := func(id uuid.UUID, ev withdrawal.Event) {
			t.Helper()
			if _, err := h.orders.Do(ctx, id, ev); err != nil {
				t.Fatal(err)
			}
		}
		olga := withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
		say(first, withdrawal.Held{By: olga, Reason: "a call"})
		say(second, withdrawal.Submitted{By: withdrawal.By{Actor: "system", Role: withdrawal.System}, Request: second, User: h.id(), Asset: h.id(),
			Chain: chain, ToAddress: "0xABC", Amount: "100", Decimals: 18})
		say(first, withdrawal.Released{By: olga, Reason: "a call"})
		work()
		if n := h.stats().Parked; n != h.log() {
			t.Errorf("%d of %d lines are parked", n, h.log())
		}
		clear(bad)
		for range h.log() {
			h.pass(24 * time.Hour)
			work()
		}
		h.posted(h.log())
	})
}

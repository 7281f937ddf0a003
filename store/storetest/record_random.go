package storetest

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// history is the life of one aggregate, drawn step by step.
type history[K, A, E any] struct {
	id    K
	setup any        // what must be stored before, for the subject's setup
	next  func(*A) E // the next event for an aggregate as it is stored; the first makes it
	steps int        // how many
}

// sentinels are the errors that two stores must agree in.
var sentinels = []error{statemachine.ErrIllegal, statemachine.ErrInvalid, statemachine.ErrForbidden,
	statemachine.ErrFenced, statemachine.ErrHeld,
	statemachine.ErrNotFound, statemachine.ErrConflict}

// How many random things a suite does: SETTLE_SOAK, if it is set, makes them more,
// and short mode, which is for the race detector, a third. Each event is a commit.
func usual(few, many int) int {
	if os.Getenv("SETTLE_SOAK") != "" {
		return many
	}
	if testing.Short() {
		return (few + 2) / 3
	}
	return few
}

// randomHistories sends the same random events to the store and to the memory adapter and compares answers and records.
// Some histories are the same in each run and come first; the others are drawn.
func randomHistories[T store.Journaled, K, L comparable, A, E, C any](t *testing.T, s, memory *subject[T, K, L, A, E, C]) {
	play := func(rt *rapid.T) { playBoth(rt, s, memory) }
	fixedtest.Run(t, usual(4, 20), play)
	if t.Failed() {
		return
	}
	limit := usual(3, 60)
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "rapid.checks" {
			limit = math.MaxInt
		}
	})
	runs, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if runs++; runs > limit && !failed {
			return
		}
		failed = true // until the end, so that a failure is shrunk
		play(rt)
		failed = false
	})
}

func playBoth[T store.Journaled, K, L comparable, A, E, C any](rt *rapid.T, s, memory *subject[T, K, L, A, E, C]) {
	h := s.draw(rt)
	if s.setup != nil {
		s.setup(rt, h.setup)
		memory.setup(rt, h.setup)
	}
	var a A
	for i := range h.steps {
		ev := h.next(&a)
		got, gotErr := s.service.Do(ctx, h.id, ev)
		want, wantErr := memory.service.Do(ctx, h.id, ev)
		what := fmt.Sprintf("step %d, %T %+v", i, ev, ev)
		for _, sentinel := range append(s.sentinels, sentinels...) {
			if errors.Is(gotErr, sentinel) != errors.Is(wantErr, sentinel) {
				rt.Fatalf("%s: got error %v, the memory adapter %v", what, gotErr, wantErr)
			}
		}
		if (gotErr == nil) != (wantErr == nil) {
			rt.Fatalf("%s: got error %v, the memory adapter %v", what, gotErr, wantErr)
		}
		if wantErr == nil {
			same(rt, what, got, want)
			same(rt, what+", which is stored", memory.get(rt, h.id), want)
			a = want
		}
	}
	same(rt, "the records", s.dump(rt, h.id), memory.dump(rt, h.id))
	if s.money == nil {
		return
	}
	for _, of := range []*subject[T, K, L, A, E, C]{s, memory} {
		for _, now := range []time.Time{start, start.Add(time.Hour), start.Add(1000 * time.Hour)} {
			noError(rt, of.View(ctx, func(tx T) error {
				got, want, err := of.money(tx, now)
				if err == nil {
					same(rt, fmt.Sprint("the money at start ", now.Sub(start)), got, want)
				}
				return err
			}))
		}
	}
}

// population stores random aggregates, the same ones each time, and some of each
// stage. grown is called with the first ones and after each of those that also makes.
func (s *subject[T, K, L, A, E, C]) population(t *testing.T, grown func(ids []K)) (ids []K) {
	if s.also != nil {
		s.also(t, func(a A) {
			if ids = append(ids, s.id(&a)); grown != nil {
				grown(ids)
			}
		})
	}
	for range 3 {
		for i := range s.stages {
			a := s.make(t, &s.stages[i])
			ids = append(ids, s.id(&a))
		}
	}
	for seed := range usual(10, 80) {
		fixedtest.One(t, seed, func(rt *rapid.T) {
			h := s.draw(rt)
			if s.setup != nil {
				s.setup(rt, h.setup)
			}
			var a A
			for range min(h.steps, 4+seed) { // not all at their end
				if next, err := s.service.Do(ctx, h.id, h.next(&a)); err == nil {
					a = next
				}
			}
			if len(s.states(&a)) > 0 {
				ids = append(ids, h.id)
			}
		})
	}
	return ids
}

package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// What becomes of a result of which the source says each error: it is offered until it is stored,
// it is dropped, its item is given back, or the Run ends. Domains have narrower errors, which are
// as their wider ones. Of two that are joined the stronger says it, in both orders.
func TestTheLawOfRefusals(t *testing.T) {
	const stored, dropped, given, halted = "stored", "dropped", "given back", "halted"
	law := []struct { // the stronger before the weaker
		err  error
		want string
	}{
		{store.ErrRestored, halted},
		{statemachine.ErrFenced, dropped}, {statemachine.ErrForbidden, dropped}, {statemachine.ErrInvalid, dropped}, {statemachine.ErrNotFound, dropped},
		{statemachine.ErrCorrupt, dropped}, {&statemachine.UnknownTextError{}, dropped}, {store.ErrCursor, dropped}, {swap.ErrNothing, dropped},
		{switches.ErrOnHold, given}, {switches.ErrUnsettled, given}, {swap.ErrUnsettled, given}, {withdrawal.ErrUnclaimed, given},
		{statemachine.ErrIllegal, dropped}, {swap.ErrSettled, dropped}, {withdrawal.ErrNonceUsed, dropped}, {withdrawal.ErrRefunded, dropped},
		{statemachine.ErrConflict, stored}, {statemachine.ErrHeld, stored}, {withdrawal.ErrNonceGap, stored}, {errConnection, stored},
	}
	try := func(name string, refusal error, want string) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBed(t, "a")
				b.before = func(c *call) error {
					if len(c.done) > 0 && c.done[0].kind == "ok" && time.Since(b.start) < 3*time.Second {
						return fmt.Errorf("saving: %w", refusal)
					}
					return nil
				}
				b.run()
				time.Sleep(4 * time.Second)
				err := b.stop()
				got := "nothing"
				switch kind := b.stored[job{"a", 1}]; {
				case errors.Is(err, store.ErrRestored):
					got = halted
				case kind == "ok":
					got = stored
				case kind == "released":
					got = given
				case b.refused[job{"a", 1}] != nil:
					got = dropped
				}
				if got != want || (want == stored) != (b.refused[job{"a", 1}] == nil) {
					t.Errorf("%v is %s (%v), expected %s; refused %v", refusal, got, err, want, b.refused)
				}
				if want == given && slices.Contains(b.storedK, job{"a", 1}) {
					t.Error("what was dropped counts as stored")
				}
			})
		})
	}
	for i, c := range law {
		try(fmt.Sprint(i), c.err, c.want)
		for j, weaker := range law[i+1:] {
			try(fmt.Sprint(i, " and ", i+1+j), errors.Join(c.err, weaker.err), c.want)
			try(fmt.Sprint(i+1+j, " and ", i), errors.Join(weaker.err, c.err), c.want)
		}
	}
}

// Of three results that end together, one is on hold: the two others are stored, and its item is
// claimed again, as long as it is on hold not more often than it is due.
func TestAResultOnHoldIsGivenBackAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a", "held", "c")
		b.before = func(c *call) error {
			for _, d := range c.done {
				if d.key == "held" && d.kind == "ok" && time.Since(b.start) < 10*time.Second {
					return switches.ErrOnHold
				}
			}
			return nil
		}
		b.runFor(30 * time.Second)
		b.want("a", "ok")
		b.want("c", "ok")
		b.want("held", "ok")
		if b.refused[job{"held", 1}] == nil || b.stored[job{"held", 1}] != "released" {
			t.Errorf("refused %v, stored %v", b.refused, b.stored)
		}
	})
}

// What can neither be stored nor given back is dropped, and its lease ends by itself.
func TestAResultOnHoldThatIsNotGivenBack(t *testing.T) {
	for name, release := range map[string]func(job) answer{"refused": nil, "panic": func(job) answer { panic("nil map") }} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBed(t, "a")
				b.release = release
				b.before = func(c *call) error {
					if has(c, "a") && time.Since(b.start) < 10*time.Second {
						return switches.ErrOnHold
					}
					return nil
				}
				b.runFor(2 * time.Minute)
				if b.refused[job{"a", 1}] == nil || b.stored[job{"a", 1}] != "" || b.stored[job{"a", 2}] != "ok" {
					t.Errorf("refused %v, stored %v", b.refused, b.stored)
				}
			})
		})
	}
}

// A database that was put back ends the Run at once, also one that only claims, and handlers of
// before are told.
func TestARestoredDatabaseEndsARun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBed(t, "a")
		b.add("later", 2*time.Second)
		b.before = func(*call) error {
			if time.Since(b.start) >= time.Second {
				return store.ErrRestored
			}
			return nil
		}
		b.run()
		time.Sleep(3 * time.Second)
		select {
		case err := <-b.result:
			if !errors.Is(err, store.ErrRestored) {
				t.Errorf("it ended with %v", err)
			}
			b.result <- err
		default:
			t.Error("it goes on")
		}
		_ = b.stop()
	})
}

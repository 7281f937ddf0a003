package storetest

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
)

// PutBack is a store that a test can put back as an operator does. A suite that tests what follows a restore
// uses it where the adapter's store has it; else the copy is the store itself, which was told that it is one.
type PutBack[T any] interface {
	store.Store[T]
	// PutBack returns the database as it is at this moment, from a copy of its file, a dump or a standby, after
	// a person has said at now that it was restored, in the adapter's own words.
	PutBack(tb testing.TB, now time.Time) store.Store[T]
}

// putBack puts a store back at its own time; whole reports that the adapter has done it, with all that it says of a
// restore.
func putBack[U store.SwitchUnit](t testing.TB, s store.Store[U]) (back store.Store[U], whole bool) {
	t.Helper()
	now := must(read(s, func(tx U) (time.Time, error) { return tx.Now() }))(t)
	if of, is := s.(interface {
		putBack(testing.TB, time.Time) store.Store[U]
	}); is {
		back = of.putBack(t, now)
	}
	if back != nil {
		return back, true
	}
	_, err := must(store.NewSwitches(s))(t).Recover(ctx, recoveringEvent(switches.Everything, switches.Send, 1))
	noError(t, err)
	return s, false
}

func (s *timed[T, U]) putBack(t testing.TB, now time.Time) store.Store[U] {
	of, is := s.of.(PutBack[T])
	if !is {
		return nil
	}
	back := &timed[T, U]{of: of.PutBack(t, now), unit: s.unit}
	back.setClock(s.clock.at.Load())
	return back
}

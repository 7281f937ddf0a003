package store_test

import (
	"context"
	"testing"

	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// lingering is a store in which a transaction that asked the switch is still open when somebody looks for the first
// and the second time.
type lingering struct {
	store.Store[store.Unit]
	looks *int
}

func (s lingering) Update(ctx context.Context, fn func(store.Unit) error) error {
	return s.Store.Update(ctx, func(tx store.Unit) error { return fn(lingeringTx{tx, s.looks}) })
}

type lingeringTx struct {
	store.Unit
	looks *int
}

func (t lingeringTx) Switches() store.SwitchRecords {
	return lingeringSwitches{t.Unit.Switches(), t.looks}
}

type lingeringSwitches struct {
	store.SwitchRecords
	looks *int
}

func (s lingeringSwitches) Open(scope switches.Scope) ([]store.OpenTransaction, error) {
	if *s.looks++; *s.looks < 3 {
		return []store.OpenTransaction{{PID: 7}}, nil
	}
	return s.SwitchRecords.Open(scope)
}

// Stop waits for the transactions that asked before, and says since when none is open; Quiet without a wait looks once.
func TestStopWaitsForWhoAskedBefore(t *testing.T) {
	ctx, looks, scope := context.Background(), 0, switches.Relays
	s, err := store.NewSwitches[store.Unit](lingering{memory.New(memory.Options{}), &looks})
	if err != nil {
		t.Fatal(err)
	}
	is, q, err := s.Stop(ctx, switches.Stopped{By: switches.By{Actor: "olga", Role: switches.Operator}, Scope: scope,
		Level: switches.Begin, Reason: "a stolen key"})
	if err != nil || is.Level != switches.Begin || q.Since.IsZero() || len(q.Open) > 0 || looks != 3 {
		t.Errorf("%+v, %+v, %v after %d looks", is, q, err, looks)
	}
	looks = 0
	if q, err := s.Quiet(ctx, scope, 0); err != nil || !q.Since.IsZero() || len(q.Open) != 1 || q.Open[0].PID != 7 || looks != 1 {
		t.Errorf("%+v, %v after %d looks", q, err, looks)
	}
}

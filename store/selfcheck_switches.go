package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine/switches"
)

// SelfCheckSwitches is [SelfCheck] for a store that has switches. It checks a chain that is stopped and recovering, the
// state that follows for it, and a change of a version that is no longer stored. Everything is taken back. It does not
// check two transactions at once.
func SelfCheckSwitches[T SwitchUnit](ctx context.Context, s Store[T]) error {
	service, err := NewSwitches(s)
	if err != nil {
		return err
	}
	scope := switches.Chain(uuid.New())
	return probeOf(&service.switchCore, scope, func(tx SwitchUnit) (switches.Change, error) {
		return writeSwitch(ctx, tx, service.Within(tx), scope)
	}).run(ctx)
}

// writeSwitch stores a switch, compares what comes back, and returns the second step of
// it as it was before.
func writeSwitch(ctx context.Context, tx SwitchUnit, service *Switches, scope switches.Scope) (stale switches.Change, err error) {
	by := switches.By{Actor: "self-check é世", Role: switches.Operator}
	stopped, err := service.Do(ctx, scope, switches.Stopped{By: by, Scope: scope, Level: switches.Begin, Reason: "self-check é世"})
	if err != nil {
		return stale, err
	}
	recovering := switches.Recovering{By: by, Scope: scope, Level: switches.Send, Generation: 1<<62 - 1, Reason: "self-check"}
	want, err1 := service.Do(ctx, scope, recovering)
	got, err2 := service.Get(ctx, scope)
	state, err3 := service.State(ctx, scope)
	_, err4 := service.Trail(ctx, scope)
	now, err5 := tx.Now()
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return stale, err
	}
	if got != want || state.Level != switches.Send || !state.Recovering {
		return stale, broken(fmt.Sprintf("stored %+v, read %+v, which count as %+v", want, got, state))
	}
	return switches.Apply(stopped, recovering, now)
}

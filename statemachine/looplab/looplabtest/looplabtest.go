// Package looplabtest checks tables against an independent implementation,
// github.com/looplab/fsm.
package looplabtest

import (
	"context"
	"errors"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab"
)

// Agree fires every trigger of m in every state, zero included, in m and in a
// looplab machine made from its edges. It reports each cell in which one takes
// the step and the other refuses it or ends elsewhere, and each state that m
// calls terminal although looplab can leave it, or the other way round.
func Agree[S, T statemachine.Label](t testing.TB, m *statemachine.Machine[S, T]) {
	t.Helper()
	f, err := looplab.New(m, 0, nil)
	if err != nil {
		t.Errorf("%s: %v", m.Name(), err)
		return
	}
	for _, from := range append([]S{0}, m.States()...) {
		leaves := false
		for _, on := range m.Triggers() {
			f.SetState(from.String())
			can := f.Can(on.String())
			err := looplab.Fire(context.Background(), f, on)
			if err != nil && !errors.Is(err, statemachine.ErrIllegal) {
				t.Errorf("%s: looplab in %v on %v: %v", m.Name(), from, on, err)
				continue
			}
			leaves = leaves || f.Current() != from.String()
			to, ok := m.Next(from, on)
			if !ok {
				to = from
			}
			if ok != can || ok != (err == nil) || f.Current() != to.String() {
				t.Errorf("%s: %v --%v-->: the table goes to %v (allowed: %v), looplab to %s (allowed: %v)",
					m.Name(), from, on, to, ok, f.Current(), err == nil)
			}
		}
		if m.Terminal(from) == leaves {
			t.Errorf("%s: the table calls %v terminal: %v, looplab can leave it: %v", m.Name(), from, m.Terminal(from), leaves)
		}
	}
}

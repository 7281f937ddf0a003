package worker

import (
	"errors"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// ErrRestored is store.ErrRestored: no call succeeds before the process opens the database again.
// It is no refusal, and has no code.
var ErrRestored = errors.New("the database was restored, and its transaction counter went back")

// verdict is what follows from an error of a source.
type verdict uint8

const (
	retry    verdict = iota // passing trouble: asked again, after Options.Retry
	drop                    // asking again changes nothing: the result is dropped
	giveBack                // what the result begins does not begin now: the item is given back
	halt                    // no call of this Run succeeds any more: Run ends
)

// law is the one table of what follows from which error, for all domains. The first row that an error matches counts,
// so that the order of errors in a joined one does not matter. An error that matches no row is retried.
var law = []struct {
	err  error
	says verdict
}{
	{ErrRestored, halt},
	{statemachine.ErrFenced, drop},
	{statemachine.ErrForbidden, drop},
	{statemachine.ErrInvalid, drop},
	{statemachine.ErrNotFound, drop},
	{statemachine.ErrCorrupt, drop},
	{errPanic, drop},
	{switches.ErrOnHold, giveBack}, // before ErrIllegal, which it is too
	{statemachine.ErrIllegal, drop},
	{statemachine.ErrConflict, retry},
	{statemachine.ErrHeld, retry},
}

// judge is what follows from an error of a source.
func judge(err error) verdict {
	for _, line := range law {
		if errors.Is(err, line.err) {
			return line.says
		}
	}
	return retry
}

// refused reports whether the source will give the same answer again.
func refused(err error) bool { return judge(err) != retry }

package swap

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// When evidence was asked for, and which is newer.

// at is when a speaker asked a chain, by the store's clock: when it is told, where the
// speaker does not say, and at the latest.
func (s *step) at(asked time.Time) time.Time {
	if t, err := statemachine.Time(asked); err == nil && !asked.IsZero() && t.Before(s.by.At) {
		return t
	}
	return s.by.At
}

// outdated reports whether what denies an intent was asked before the latest word that it
// went out, or at the same time: then it counts for nothing, whichever of the two came first.
// A word of the future is of a clock that was ahead: it counts as one of now, and the next
// look-up is later.
func (s *step) outdated(in *Intent, asked time.Time) (bool, error) {
	switch {
	case in.SeenAt.After(s.by.At):
		in.SeenAt = s.by.At
		s.later = true
		return true, s.note(fmt.Sprintf("%s %d was seen by a clock that was ahead", in.Action, in.Number))
	case !asked.After(in.SeenAt):
		s.later = true
		return true, nil
	}
	return false, nil
}

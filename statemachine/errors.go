package statemachine

import (
	"errors"
	"fmt"
	"strings"
)

// One sentinel per meaning. Every error that a domain, a service or an adapter
// returns for one of these reasons matches its sentinel with [errors.Is]; the
// text around it says what a person needs to act.
var (
	// ErrIllegal: the state does not accept the event. Nothing changed.
	ErrIllegal = errors.New("illegal in this state")
	// ErrInvalid: the input is malformed or out of its bounds. Nothing changed.
	ErrInvalid = errors.New("invalid input")
	// ErrForbidden: the actor's role may not cause this event. Nothing changed.
	ErrForbidden = errors.New("forbidden for this role")
	// ErrFenced: the write carries an old or expired fence: somebody else has
	// taken the lease over. The caller must stop working on the record.
	ErrFenced = errors.New("fenced off: the lease is no longer yours")
	// ErrHeld: somebody else holds the lease.
	ErrHeld = errors.New("held by another")
	// ErrNotFound: no such record.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the record changed since it was read. Read it and decide again.
	ErrConflict = errors.New("changed since it was read")
	// ErrCorrupt: a stored record breaks an invariant.
	ErrCorrupt = errors.New("stored record breaks an invariant")
)

// A Refusal says which record refused which event, and why. It unwraps to one
// of the sentinels of this package.
type Refusal struct {
	Err     error  // the sentinel, such as [ErrIllegal]
	Machine string // name of the machine or record kind
	ID      string // the record
	State   string // the state it is in
	Event   string // what was refused
	Reason  string // what a person needs to know, may be empty
}

// Error reads like a sentence: machine, record, state, event, reason.
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(r.Machine)
	if r.ID != "" {
		b.WriteString(" " + r.ID)
	}
	if r.State != "" {
		fmt.Fprintf(&b, " (%s)", r.State)
	}
	if r.Event != "" {
		fmt.Fprintf(&b, " refuses %s", r.Event)
	}
	fmt.Fprintf(&b, ": %v", r.Err)
	if r.Reason != "" {
		b.WriteString(": " + r.Reason)
	}
	return b.String()
}

// Unwrap returns the sentinel.
func (r *Refusal) Unwrap() error { return r.Err }

// UnknownTextError: a text that an enumeration does not know. It matches [ErrInvalid]. An adapter
// that reads such a text from a row names the row in Where.
type UnknownTextError struct {
	Kind  string // the enumeration
	Text  string // the text, cut to 100 bytes
	Where string // table and id, if it was read from a store
}

func (e *UnknownTextError) Error() string {
	if e.Where != "" {
		return fmt.Sprintf("unknown %s %q in %s", e.Kind, e.Text, e.Where)
	}
	return fmt.Sprintf("unknown %s %q", e.Kind, e.Text)
}

// Is reports a match with [ErrInvalid].
func (e *UnknownTextError) Is(target error) bool { return target == ErrInvalid }

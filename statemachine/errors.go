package statemachine

import (
	"errors"
	"fmt"
	"strings"
)

// Code is the meaning of a refusal in one short word that never changes: what consoles,
// hosts and tests compare, where a sentence may be rewritten. Each sentinel has one.
type Code string

// sentinel is an error that stands for one meaning.
type sentinel struct {
	code Code
	text string
	of   error // the wider meaning, or nil
}

// NewSentinel returns a sentinel with a code of its own. It matches of too, the sentinel
// of a wider meaning, if one is given.
func NewSentinel(code Code, text string, of ...error) error {
	return &sentinel{code, text, errors.Join(of...)}
}

func (s *sentinel) Error() string {
	if s.of != nil {
		return s.of.Error() + ": " + s.text
	}
	return s.text
}

func (s *sentinel) Unwrap() error { return s.of }

// CodeOf returns the code of the narrowest sentinel that err matches, the first where err
// joins several. It is empty for an error that is no refusal, such as a lost connection,
// and for nil.
func CodeOf(err error) Code {
	var s *sentinel
	switch {
	case errors.As(err, &s):
		return s.code
	case errors.Is(err, ErrInvalid): // a text that an enumeration does not know
		return CodeOf(ErrInvalid)
	}
	return ""
}

// One sentinel per meaning. Every error that a domain, a service or an adapter
// returns for one of these reasons matches its sentinel with [errors.Is]; the
// text around it says what a person needs to act.
var (
	// ErrIllegal: the state does not accept the event. Nothing changed.
	ErrIllegal = NewSentinel("illegal", "illegal in this state")
	// ErrInvalid: the input is malformed or out of its bounds. Nothing changed.
	ErrInvalid = NewSentinel("invalid", "invalid input")
	// ErrForbidden: the actor's role may not cause this event. Nothing changed.
	ErrForbidden = NewSentinel("forbidden", "forbidden for this role")
	// ErrFenced: the write carries an old or expired fence: somebody else has
	// taken the lease over. The caller must stop working on the record.
	ErrFenced = NewSentinel("fenced", "fenced off: the lease is no longer yours")
	// ErrHeld: somebody else holds the lease.
	ErrHeld = NewSentinel("held", "held by another")
	// ErrNotFound: no such record.
	ErrNotFound = NewSentinel("not-found", "not found")
	// ErrConflict: the record changed since it was read. Read it and decide again.
	ErrConflict = NewSentinel("conflict", "changed since it was read")
	// ErrCorrupt: a stored record breaks an invariant.
	ErrCorrupt = NewSentinel("corrupt", "stored record breaks an invariant")
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

// Code returns the code of the sentinel, see [CodeOf].
func (r *Refusal) Code() Code { return CodeOf(r.Err) }

// UnknownTextError: a text that an enumeration does not know. It matches [ErrInvalid]. An adapter
// that reads such a text from a row names the row in Where.
type UnknownTextError struct {
	Kind  string // the enumeration
	Text  string // the text, cut to 100 bytes
	Where string // table and id, if it was read from a store
	OneOf string // the texts that the enumeration knows, with ", " between two; empty: not said
}

func (e *UnknownTextError) Error() string {
	if e.Where != "" {
		return fmt.Sprintf("unknown %s %q in %s", e.Kind, e.Text, e.Where)
	}
	if e.OneOf != "" {
		return fmt.Sprintf("unknown %s %q: it is one of %s", e.Kind, e.Text, e.OneOf)
	}
	return fmt.Sprintf("unknown %s %q", e.Kind, e.Text)
}

// Is reports a match with [ErrInvalid].
func (e *UnknownTextError) Is(target error) bool { return target == ErrInvalid }

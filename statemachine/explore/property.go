package explore

import (
	"errors"
	"fmt"
	"strings"
)

// Property is one rule that [Check] judges. Its name is the rule in words: "at most one payment".
type Property[S any] struct {
	name  string
	kind  kind
	holds func(S) bool
	check func(S) error
	actor func(action string) string
}

type kind uint8

const (
	always kind = iota
	reachable
	noDeadlock
	canFinish
	endsFairly
)

var errBroken = errors.New("this state breaks it")

// Always is broken by the first reachable state on which holds is false.
func Always[S any](name string, holds func(S) bool) Property[S] {
	return Valid(name, func(s S) error {
		if !holds(s) {
			return errBroken
		}
		return nil
	})
}

// Valid is [Always] for a check that says what is wrong: it is broken by the first reachable
// state for which check returns an error.
func Valid[S any](name string, check func(S) error) Property[S] {
	return Property[S]{name: name, kind: always, check: check}
}

// Reachable is broken if holds is false on every reachable state.
func Reachable[S any](name string, holds func(S) bool) Property[S] {
	return Property[S]{name: name, kind: reachable, holds: holds}
}

// NoDeadlock is broken by the first reachable state that no step leaves and on
// which mayEnd is false. A step from a state to itself does not leave it.
func NoDeadlock[S any](name string, mayEnd func(S) bool) Property[S] {
	return Property[S]{name: name, kind: noDeadlock, holds: mayEnd}
}

// CanFinish is broken by the first reachable state from which no run, of any
// length, leads to a state on which finished is true.
func CanFinish[S any](name string, finished func(S) bool) Property[S] {
	return Property[S]{name: name, kind: canFinish, holds: finished}
}

// Counterexample is a broken property and a shortest run to the state that
// breaks it.
type Counterexample[S any] struct {
	Property string
	Reason   string
	// Trace begins with an initial state. It is empty for [Reachable], which
	// no single run breaks.
	Trace []Step[S]
}

// Step is what happened and the state that it led to.
type Step[S any] struct {
	Action string // empty for an initial state
	State  S
}

// Error tells the run, one step a line.
func (c *Counterexample[S]) Error() string {
	if len(c.Trace) == 0 {
		return fmt.Sprintf("%q is broken: %s", c.Property, c.Reason)
	}
	var b strings.Builder
	steps := len(c.Trace) - 1
	plural := "s"
	if steps == 1 {
		plural = ""
	}
	fmt.Fprintf(&b, "%q is broken after %d step%s: %s", c.Property, steps, plural, c.Reason)
	for i, s := range c.Trace {
		action := s.Action
		if i == 0 {
			action = "at first"
		}
		fmt.Fprintf(&b, "\n%4d. %s: %+v", i, action, s.State)
	}
	return b.String()
}

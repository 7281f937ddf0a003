// Package statemachine is the vocabulary that the domains of settle share:
// closed enumerations, transition tables, the four outcomes of an effect,
// leases with fences, back-off, the audit trail, and ids for records that a host names
// otherwise than by a UUID ([ID]).
//
// # Contract
//
// Everything here is a plain value or a pure function: no I/O, no clock, no randomness, no
// goroutine, no package state that changes. Time comes in as an argument. A [Machine] is the
// table of a domain: it says which trigger may lead from which state to which. Every change of a
// state goes through it.
//
// A domain declares its states and triggers as an [Enum] each, and its table as a package
// variable of type [Machine]. It keeps a [Transition] for every version of a record, so that
// [Replay] can prove how the record came to its state. The package example shows a whole machine.
package statemachine

// Package looplab is a bridge between the tables of settle and
// github.com/looplab/fsm: [New] and [Events] for a host that runs its work on
// looplab, [Edges] for one that has a looplab list and wants a table, and
// [Fire], which answers as the table does.
//
// # Where looplab differs
//
// A step back to the same state is a NoTransitionError in looplab; the table
// calls it a step, and so does [Fire].
//
// A list with two targets for one event and source is followed to the last one
// without a word; [Edges] refuses it.
//
// Callbacks are found by name, and a name is read by its prefix first. So a
// trigger "event" and a state "state" cannot have callbacks of their own, the
// short form fails for names that begin with before_, after_, enter_ or leave_
// and for a text that is both a state and a trigger, and a misspelt callback is
// dropped. [New] refuses all of these. Names with such a prefix are sound in
// the full form, "enter_before_payment", and are not refused.
//
// A context that ends during a step leaves a looplab machine in transition for
// ever: every later event is refused. [Fire] keeps the end of the context away
// from it.
//
// A looplab machine knows the state of one record in memory, and no versions,
// leases or audit trail. The stored record stays the truth: make the machine
// from the record, fire, and store the outcome with a compare-and-swap.
package looplab

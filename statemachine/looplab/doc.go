// Package looplab is a bridge between the tables of settle and github.com/looplab/fsm. [New] and
// [Events] are for a host that runs its work on looplab, [Edges] is for a host that has a looplab
// list and wants a table, and [Fire] sends an event to a looplab machine and answers as the table
// does.
//
// # Where looplab differs
//
// A step back to the same state is a NoTransitionError in looplab; the table and [Fire] call it a
// step.
//
// Where a list has two targets for one event and source, looplab follows the last one without an
// error; [Edges] refuses such a list.
//
// looplab finds callbacks by name, and reads the prefix of a name first. So a trigger "event" and
// a state "state" cannot have callbacks of their own; the short form fails for names that begin
// with before_, after_, enter_ or leave_ and for a text that is both a state and a trigger; and a
// misspelt callback is dropped. [New] refuses all of these. Names with such a prefix work in the
// full form, "enter_before_payment", and are not refused.
//
// A context that ends during a step leaves a looplab machine in transition for ever: it refuses
// every later event. [Fire] therefore hides the end of the context from the machine.
//
// A looplab machine knows the state of one record in memory, and no versions,
// leases or audit trail. The stored record stays the truth: make the machine
// from the record, fire, and store the outcome with a compare-and-swap.
package looplab

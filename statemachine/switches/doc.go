// Package switches is the law of the switch that stops payments. It is pure: no
// clock, no I/O.
//
// A [Switch] is one row for each [Scope]: everything, one chain, one direction of
// swaps, charges, relays. A scope without a row runs. What counts for a scope is
// [Of] its own row and that of [Everything]: the higher [Level] of the two.
//
// A stop refuses what begins, and what has begun goes on: it is looked up, sent,
// sent again, replaced and cancelled. At the level [Send] nothing is handed out to
// be sent either, and look-ups go on. So a stop is safe at any moment, and needs
// no look at what is under way first.
//
// A database that was put back to an earlier state has forgotten payments. The row
// then is recovering, with a level of its own beside that of a person: see
// [Recovering]. [Started] ends the one or the other, and says which.
package switches

// Package switches has the rules of the switch that stops payments. It is pure: no clock, no I/O.
//
// A [Switch] is one row for each [Scope]: everything, one chain, one direction of swaps, charges,
// relays. A scope without a row runs. The state of a scope follows from its own row and the row of
// [Everything], see [Of]: the higher [Level] of the two counts.
//
// A stop refuses work that would begin. Work that has begun goes on: it is looked up, sent, sent
// again, replaced and cancelled. At the level [Send] nothing is handed out to be sent either, and
// only look-ups go on. So a stop is safe at any moment, and nobody has to check first what is under
// way.
//
// A database that was put back to an earlier state has forgotten payments. Its row is then
// recovering, with a level of its own beside the level that a person gave: see [Recovering]. A
// [Started] ends either the stop or the recovery, and says which.
package switches

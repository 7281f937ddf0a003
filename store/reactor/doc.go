// Package reactor runs package relaysync over HTTP: it brings relays to a
// relay-hosting server, and tries again after failures.
//
// # Contract
//
//   - What is due is in the store. Messages of the store's broadcast only wake a
//     reactor, so that one that is lost delays nothing for long: a subscriber
//     that lags reconciles, and so does every start.
//   - Any number of processes may run reactors on one store; each has a name of
//     its own. A relay is sent by one of them at a time, under a lease. What a
//     process leaves behind when it dies is claimed again when its lease ends.
//   - Nothing is sent that may not be answered before the end of the lease as it
//     was claimed.
//   - One request is one POST or PATCH with one signature: no retry, no
//     redirect, no connection that is used again.
//   - A secret is made for each POST at the moment of sending, and is in no
//     record, log or error.
//
// A reactor is stopped by the end of its context: it claims nothing more, syncs
// that run have Options.Grace to end, and what is left is given back. The other way
// is [store.Relays.Close], which ends the broadcast for all subscribers of a
// process: [Run] then stops in the same way and returns [store.ErrClosed]. Due
// times stay, for other processes and for the next Run.
package reactor

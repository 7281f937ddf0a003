// Package reactor runs package relaysync over HTTP: it brings relays to a
// relay-hosting server, and tries again after failures.
//
// # Contract
//
//   - The store alone says what is due. Messages of the store's broadcast only wake a
//     reactor, so a lost message delays nothing for long: a subscriber that lags reconciles,
//     and so does every start.
//   - Any number of processes may run reactors on one store; each needs a name of its own.
//     Only one of them sends a relay at a time, under a lease. The relays that a process was
//     sending when it died are claimed again when their leases end.
//   - No request is sent whose answer may come after the end of the lease as it was claimed.
//   - One request is one POST or PATCH with one signature: no retry, no redirect, no
//     connection that is used again.
//   - A secret is made for each POST at the moment of sending, and is in no record, log or
//     error.
//
// The end of its context stops a reactor: it claims nothing more, running syncs have
// Options.Grace to end, and unfinished work is given back. The other way is [store.Relays.Close],
// which ends the broadcast for all subscribers of a process: [Run] then stops in the same way and
// returns [store.ErrClosed]. Due times stay stored, for other processes and for the next Run.
package reactor

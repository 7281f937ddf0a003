// Package worker is the one loop that drives every machine: it claims items
// from a [Source], runs a handler for each, keeps their leases alive, and
// stores the results.
//
// # Contract
//
//   - Handlers of one key never run at the same time in one [Run], and no more than
//     Options.Concurrency handlers run at once. Between processes the lease of the source
//     keeps keys apart.
//   - A result is offered to [Source.Turn] until the source has stored or refused it. It may
//     be offered again after it was stored (a reply can get lost), so storing the same
//     result twice must be a no-op.
//   - Results never wait for a handler that is still running: they are stored after
//     Options.Linger at the latest, together with the next claim.
//   - A batch that fails is offered again one result at a time, without a claim, so a result
//     or a due record that the store cannot handle holds up nothing else. A result that is
//     refused alone is reported and dropped; its lease then ends by itself.
//   - A lease is renewed after a third of its remaining time. A handler whose lease is lost,
//     or could not be renewed in time, has its context cancelled; the cause matches
//     [statemachine.ErrFenced]. The handler's result is still offered: the store decides
//     whether late evidence counts. While a Turn stores a result, its lease is not renewed
//     (the two calls would wait for each other's locks), so leases should last three times
//     Options.CallTimeout or more.
//   - A panic in a handler, a result or a claim is an error of that item alone.
//   - A handler must return soon after its context is done. Run waits for it, since a
//     goroutine left behind could still move money.
//
// # Errors of a source
//
// One table says what follows, for all domains (law.go):
//
//   - ErrFenced, ErrForbidden, ErrInvalid, ErrNotFound, ErrCorrupt and ErrIllegal of statemachine:
//     asking again changes nothing. The result is dropped; its lease ends by itself.
//   - switches.ErrOnHold, which is an ErrIllegal too: what the result begins does not begin now.
//     The result is dropped, and its item is given back at once, by [Source].Release.
//   - ErrRestored: no call succeeds any more. Results are dropped, handlers are
//     cancelled without Options.Grace, and Run returns the error.
//   - Every other error is passing trouble (a lost connection, an unknown commit, ErrConflict,
//     ErrHeld) and is retried with Options.Retry. The lease of a result that keeps failing alone is
//     no longer renewed. The result is dropped when this lease has ended and the store has answered
//     other calls meanwhile.
//
// Of an error that joins several, the first of ErrRestored, the dropping ones, ErrOnHold,
// ErrIllegal and the passing ones counts.
//
// # Overload
//
// Work goes on within seconds after the end of any overload, for these reasons:
//
//   - A call of the source that runs into its time-out gets twice the time at the next try,
//     up to half of the source's ShortestLease. A call that needs longer for a
//     while, as when all processes connect anew at once, can then end, instead of being cut
//     off and begun anew for ever. A call that succeeds within Options.CallTimeout sets the
//     time back to CallTimeout. Turn and Renew have separate times. A source that does not
//     know its lease is never given more than CallTimeout.
//   - The longer time loses no lease. A Renew has at most a third of the rest of a lease, so
//     that there is time for a second try. A Turn that stores results has at most half of
//     the rest of their leases, or CallTimeout, since these leases are not renewed
//     meanwhile; all other leases are renewed during the Turn.
//   - The pause between two tries, Options.Retry, grows to its cap, which bounds both the
//     load of a Run that fails and the time until it asks again.
//
// With a short lease, such as that of look-ups with a Policy.CheckEvery of 250 ms and a
// CallTimeout of 125 ms, the time cannot grow. Then the store must see to it that a call which
// ran out of time costs the next call nothing, as package sqlstore does: it goes on connecting
// after the caller has left, and keeps the connection.
//
// # Stopping
//
// When the context of Run is done, nothing more is claimed, and items that were not started are
// given back through [Source].Release. Running handlers have Options.Grace to end, then their
// contexts are cancelled with [ErrStopped]. Leases are renewed and results stored until the last
// handler has returned, on contexts that the stop does not cancel. At the very end, of a stop or
// of an idle Run, a [Revoking] source gives back what is still held. From the stop on every call,
// also one that is under way, has at most Options.CallTimeout.
package worker

// Package worker is the one loop that drives every machine: it claims items
// from a [Source], runs a handler for each, keeps their leases alive, and
// stores the results.
//
// # Contract
//
//   - Handlers of one key never run at the same time in one [Run], and no more
//     than Options.Concurrency handlers run at once. Between processes the
//     lease of the source keeps keys apart.
//   - A result is offered to [Source.Turn] until the source has stored or
//     refused it. It may be offered again after it landed (a reply can get
//     lost), so storing the same result twice must be a no-op.
//   - Results never wait for a handler that is still running: they are stored
//     after Options.Linger at the latest, together with the next claim.
//   - A batch that fails is offered again one result at a time, without a
//     claim, so a result or a due record that the store chokes on holds up
//     nothing else. A result that is refused alone is reported and dropped; its
//     lease then ends by itself.
//   - A lease is renewed after a third of its remaining time. A handler whose
//     lease is lost, or could not be renewed in time, has its context cancelled;
//     the cause matches [statemachine.ErrFenced]. Its result is still offered:
//     whether late evidence counts is for the store to say. While a Turn stores
//     a result its lease is not renewed (the two would wait for each other's
//     locks), so leases should last three times Options.CallTimeout or more.
//   - A panicking handler, result or claim is an error of that item alone.
//   - A handler must return soon after its context is done. Run waits for it,
//     since a goroutine left behind could still move money.
//
// # Errors of a source
//
// These sentinels of statemachine are a refusal, which asking again does not
// change: ErrIllegal, ErrInvalid, ErrForbidden, ErrFenced, ErrNotFound and
// ErrCorrupt. Every other error is taken as passing trouble (a lost connection,
// an unknown commit, ErrConflict, ErrHeld) and is retried with
// Options.Retry. A result that keeps failing alone is no longer renewed; it is
// dropped when its lease has ended although the store answers others.
//
// # Overload
//
// After any overload ends the work goes on within seconds. What makes it so:
//
//   - A call of the source that runs into its time-out gets twice the time at the next
//     try, up to half of the shortest lease of a [Leasing] source: then a call that once
//     needs longer, as when all connect anew at once, can end instead of being cut off
//     and begun anew for ever. A call that succeeds within Options.CallTimeout sets the
//     time back to it. Turn and Renew learn apart, and a source that does not say its
//     lease is never given more than CallTimeout.
//   - No lease is lost by that: a Renew has at most a third of what is left of a lease,
//     so that there is time for a second try; a Turn that stores results has at most
//     half of what is left of their leases, or CallTimeout, since they are not renewed
//     meanwhile; all other leases are renewed beside the Turn.
//   - The pause between two tries, Options.Retry, grows to its cap, which bounds both the
//     load of a Run that fails and the time until it asks again.
//
// With a short lease, as that of look-ups with a Policy.CheckEvery of 250 ms and a
// CallTimeout of 125 ms, there is no room to grow. Then the store must see to it that a
// call which ran out of time costs the next one nothing, as package sqlstore does: it
// goes on to connect when the caller has left, and keeps the connection.
//
// # Stopping
//
// When the context of Run is done, nothing more is claimed, and items that were
// not started are given back through Options.Release. Running handlers have
// Options.Grace to end, then their contexts are cancelled with [ErrStopped].
// Leases are renewed and results stored until the last handler has returned,
// on contexts that the stop does not cancel. At the very end, of a stop or of an
// idle Run, a [Revoking] source gives back what is still held. From the stop on no call
// has more than Options.CallTimeout, one that is under way included.
package worker

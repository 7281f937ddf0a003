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
// # Stopping
//
// When the context of Run is done, nothing more is claimed, and items that were
// not started are given back through Options.Release. Running handlers have
// Options.Grace to end, then their contexts are cancelled with [ErrStopped].
// Leases are renewed and results stored until the last handler has returned,
// on contexts that the stop does not cancel. At the very end, of a stop or of an
// idle Run, a [Revoking] source gives back what is still held.
package worker

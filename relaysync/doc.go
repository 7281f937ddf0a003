// Package relaysync keeps Nostr relays at a relay-hosting server as a service wants them: it
// knows which relay is to be sent now, which one waits after a failure, which one has been given
// up, and what may happen to a sync in which order. The host sends the requests. The server is
// zooid, whose HTTP interface is POST and PATCH of /relay/{id}, or one with the same interface.
// Billing is in relaysync/dunning. "The source" is the document that these rules were written
// from: its words for columns, activities and queries are kept, so that a service which has such
// tables already finds them here.
//
// # Contract
//
// Everything here is a plain value or a pure function: no I/O, no clock, no
// randomness, no package state that changes. Time comes in with each event, the
// next due time goes out. [Policy.Apply] takes one step and returns what to
// store; [Policy.Next] says what the record owes; [Policy.Attempt] is the
// request as data; [Check] says whether the record is sound. If every step is
// stored by compare-and-swap on the version, together with its activities, then
//
//   - no relay is left unsynced without a due time, a running sync or a record
//     that it was given up;
//   - a relay has at most one due time, and at most one sync under a lease;
//   - after the last change of a relay comes at least one sync that began after
//     it;
//   - a relay that exists at the server keeps the secret that it was made with.
//
// The host brings the HTTP client ([Attempt.Judge] says which request follows), the fresh secret,
// the signature ([AuthEvent]), and a clock.
//
// # A relay, its timer, its history
//
// A [Sync] is what commits together. Its history is append-only. The failures at its head (the
// streak) give the delay, so a restart forgets nothing. The phase of a sync is derived from the
// timer alone:
//
// clean: nothing is scheduled. The relay is synced and has no error, unless
// another writer has changed the row; then a reconcile gives it a due time.
//
// due: to be synced from Timer.Due on, since somebody changed the relay or asked for a sync, or
// since a request without an answer may still arrive. A [Reactor] claims it. A crash leaves it as
// it is.
//
// syncing: claimed and not finished. The holder of the lease sends. After a crash the lease ends;
// then any reactor claims the relay again, at once, and no failure is counted.
//
// waiting: a failure was recorded and the back-off set Timer.Due.
//
// exhausted: too many failures in a row. Nothing happens until an [Operator]
// says [Retried], or somebody changes the relay.
//
// deleted: the row is kept, the timer is gone. Terminal.
//
// # Sent or not
//
// A claim is stored before anything is sent. A request without an answer may arrive long after; a
// success that was sent within [Policy.Linger] of such a request is followed by another sync.
// When the holder of a lease that was taken over reports that it sent something, the relay is due
// again, since nobody knows which request arrived last.
//
// # For stores
//
// A service never needs what is listed here; a store or a suite of tests does. Orders: [CompareDue], [CompareActivities].
// What is due, and when: [DueIn]. What of the activities counts: [HistoryOf]. Who may say what: [Speakers], [Events].
package relaysync

// Package refresh keeps the state of wallets fresh: jobs that refresh a wallet
// once, watchers that follow one transfer to its end, and the lock that keeps
// two refreshes of one wallet apart. It knows what may happen and in which
// order; the host does the I/O.
//
// # Contract
//
// Everything here is a plain value or a pure function: no I/O, no clock, no
// randomness, no package state that changes. Time comes in with each event, the
// next due time goes out. [Config.Apply] takes one step of a wallet and returns
// what to store; [Config.Next] says what its worker does next; [Config.Assign]
// says which wallets get a worker; [Check] says whether records are sound. If
// every step of a wallet is stored under a lock of its row, then
//
//   - no job is lost: it ends as completed, or as failed after its last attempt;
//     one whose calls never return, or are deferred each time, stays due, and
//     [Stats] says how old it is,
//   - no two holders of one wallet's lock may start a call at the same time,
//   - every watcher has ended or has a time at which it is due.
//
// What is left to the host: the node, and that its calls can be repeated. The
// lock orders who may start: the call of a holder that died may run at the node
// up to HTTP_TIMEOUT longer. A host that cannot bear that sets LockTTL to
// HTTP_TIMEOUT or more. FailTransfers looks the transfer up again, answers
// Failed when it has moved, and is never called without an index: at the node
// no index means every transfer. It ends a whole batch: an index is named only when
// all that is listed of it can be cancelled or has failed; any other one counts as a
// cancellation that did not work. What the host refuses for ever is recorded
// ([Watcher].Refused, the trail, Stats.Refused), not asked at each tick, and tried
// again at the expiry: an operator's, unless the next look-up shows that the
// transfer has moved. A call that panics, or that does not return, is one of which
// nobody knows what happened: an attempt of the job, a look-up without an answer.
//
// # Records
//
// A [Job] is one order to refresh a wallet; many may wait, in the order of their
// creation. A [Watcher] follows one transfer, unique by wallet and recipient; its
// row is kept, and watches again when a listing under a later lock shows the transfer open.
// A [Lock] is who may refresh. A [Wallet] is who serves it: the slot is a number
// from 1 to MAX_WALLET_PROCESSES that no other wallet has, so that over all
// processes no more than that many are served at once. Events name the slot by
// the fence of its lease ([Held]), which grows with each claim of the wallet; the
// number says nothing of who holds it.
//
// # Flows
//
// An invoice with asset, a send, a sync, a recovery and a manual job make a pass:
// claim with the lock, refresh, list everything, cancel what [Config.CanCancel]
// allows, then one commit with the watchers, the end of the job and the release
// of the lock ([JobDone]). An invoice without asset needs neither lock nor
// refresh: a provisional watcher that lives 180 s, and the job is done. At its
// expiry a sync job takes over, unless the transfer had its asset before.
//
// A tick serves all due watchers of a wallet with one look-up ([Looked]) and one
// refresh under the lock ([Ticked]). In this order: the asset is taken over, a
// settled or failed transfer ends the watcher, a cancellation that is due is
// made, the expiry ends it, a refresh is counted.
//
// # Time
//
// Intervals are half-open: active while now < t, due and expired from t on. The
// time is that of the store. Expiration times of transfers are unix seconds and
// compared as such. Where the store's clock was ahead and has gone back, times lie further
// ahead than the rules set them: [Reconciled] brings them back. What was to live until a
// time, such as a watcher, lives until then.
//
// No time says what came first. That a listing began after a watcher's end, or a job was
// made after a failure, is told by the wallet's sequence ([Wallet].WorkSeq), which no clock
// can step.
//
// # Storing a change
//
// A wallet's row is the head of everything that is stored for it: lock it before
// the first read. A record whose version changed is written where the version in
// Old still stands, with its line of the log, in one commit with the others of
// the [Change]. Outside the versions are the leases, Job.AvailableAt,
// Wallet.WorkSeq, and of a watcher RefreshCount, NextAt and LastError. The store
// keeps unique: job ids, (xpub, recipient), slots, one lock per wallet, and one
// recovery job per wallet that is pending or processing. Fences of locks come
// from a sequence of the store.
package refresh

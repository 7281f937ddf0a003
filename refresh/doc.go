// Package refresh keeps the state of wallets fresh: jobs that refresh a wallet
// once, watchers that follow one transfer to its end, and the lock that keeps
// two refreshes of one wallet apart. It knows what may happen and in which
// order; the host does the I/O.
//
// # Contract
//
// Everything here is a plain value or a pure function: no I/O, no clock, no randomness, no
// package state that changes. Time comes in with each event, the next due time goes out.
// [Policy.Apply] takes one step of a wallet and returns what to store; [Policy.Next] says what
// its worker does next; [Policy.Assign] says which wallets get a worker; [Check] says whether
// records are sound. If every step of a wallet is stored under a lock of its row, then
//
//   - no job is lost: it ends as completed, or as failed after its last attempt; a job
//     whose calls never return, or are deferred each time, stays due, and [Stats] says how
//     old it is,
//   - no two holders of one wallet's lock may start a call at the same time,
//   - every watcher has ended or has a time at which it is due.
//
// The host must provide the node, whose calls must be safe to repeat. The lock orders who may
// start a call: a call of a holder that died may run at the node up to HTTP_TIMEOUT longer. A
// host that cannot bear this sets LockTTL to HTTP_TIMEOUT or more.
//
// FailTransfers of the host looks the transfer up again and answers Failed when it has moved.
// It is never called without an index: at the node no index means every transfer. A call ends a
// whole batch. An index is therefore named only when all listed transfers that have it can be
// cancelled or have failed; any other index counts as a cancellation that did not work. A
// cancellation that the host refuses for ever is recorded ([Watcher].Refused, the trail,
// Stats.Refused), is not asked for at each tick, and is tried again at the expiry. It needs an
// operator, unless the next look-up shows that the transfer has moved.
//
// When a call panics or does not return, nobody knows what happened: it counts as an attempt of
// the job, or as a look-up without an answer.
//
// # Records
//
// A [Job] is one order to refresh a wallet; many may wait, in the order of their creation. A
// [Watcher] follows one transfer, unique by wallet and recipient; its row is kept after its
// end, and watches again when a listing under a later lock shows the transfer open. A [Lock]
// says who may refresh the wallet. A [Wallet] says who serves it: its slot is a number from 1
// to MAX_WALLET_PROCESSES that no other wallet has, so that over all processes no more than
// that many wallets are served at once. Events name the slot by the fence of its lease
// ([Fences]), which grows with each claim of the wallet; the number does not say who holds it.
//
// # Flows
//
// A pass serves an invoice with an asset, a send, a sync, a recovery and a manual job: claim
// the job with the lock, refresh, list everything, cancel what [Policy.CanCancel] allows. One
// commit then stores the watchers, the end of the job and the release of the lock ([JobDone]).
// An invoice without asset needs neither lock nor refresh: it gets a provisional watcher that
// lives 180 s, and the job is done. At the watcher's expiry a sync job takes over, unless the
// transfer had its asset before.
//
// A tick serves all due watchers of a wallet with one look-up ([Looked]) and one refresh under
// the lock ([Ticked]). For each watcher, in this order: the asset is taken over, a settled or
// failed transfer ends the watcher, a cancellation that is due is made, the expiry ends the
// watcher, a refresh is counted.
//
// # Time
//
// Intervals are half-open: active while now < t, due and expired from t on. The time is the
// store's. Expiration times of transfers are unix seconds and compared as such. Where the
// store's clock was ahead and has gone back, due times and the ends of leases lie further ahead
// than the rules would set them: [Reconciled] brings them back. A record that was to live until
// a given time, such as a watcher, still lives until then.
//
// Times do not decide which of two things came first. The wallet's sequence ([Wallet].WorkSeq),
// which no clock can move, tells that a listing began after a watcher's end, or that a job was
// made after a failure.
//
// # Storing a change
//
// A wallet's row is the head of everything that is stored for it: lock the row before the first
// read. A record whose version changed is written only where the stored version is still that
// of Old, with its line of the log, in one commit with the other records of the [Change].
// Outside the versions are the leases, Job.AvailableAt, Wallet.WorkSeq, and of a watcher
// RefreshCount, NextAt and LastError. The store keeps unique: job ids, (xpub, recipient),
// slots, one lock per wallet, and one recovery job per wallet that is pending or processing.
// Fences of locks come from a sequence of the store.
//
// # For stores
//
// A service never needs what is listed here; a store or a suite of tests does. Orders: [CompareCandidates], [CompareJobs],
// [CompareTicks], [CompareWatchers]. What of a wallet a step reads: [Needs], [NextReads]. Counts: [StatsOf]. Who may say what:
// [Speakers], [Events].
package refresh

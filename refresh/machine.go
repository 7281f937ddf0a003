package refresh

import "github.com/settlehq/settle/statemachine"

// JobStatus is the state of a [Job].
// Values: JobPending, JobProcessing, JobCompleted, JobFailed.
type JobStatus = statemachine.Enum[jobStatus]

const (
	// JobPending: awaits a worker from AvailableAt on. A crash changes nothing.
	JobPending JobStatus = iota + 1
	// JobProcessing: the holder of its lease refreshes the wallet. After a crash the lease
	// ends, which makes the job due work of its wallet: the next claim there returns the job,
	// and the attempt counts.
	JobProcessing
	// JobCompleted: the wallet was refreshed, or the watcher of an invoice without asset exists.
	// Terminal: a crash changes nothing.
	JobCompleted
	// JobFailed: the job was refused for ever, or no attempt is left. Terminal: a crash changes
	// nothing, and an operator makes a new manual job.
	JobFailed
)

type jobStatus struct{}

func (jobStatus) Kind() string    { return "refresh job status" }
func (jobStatus) Names() []string { return jobStatusNames }

var jobStatusNames = []string{"pending", "processing", "completed", "failed"}

// WatcherStatus is the state of a [Watcher].
// Values: Watching, Settled, Failed, Expired.
type WatcherStatus = statemachine.Enum[watcherStatus]

const (
	// Watching: a worker of the wallet ticks the watcher at NextAt. After a crash the watcher is due
	// again.
	Watching WatcherStatus = iota + 1
	// Settled: the transfer was settled, see [Watcher.EndReason]. In this state and in the two below
	// the watcher has ended, and a crash changes nothing. If the listing of a later job shows the
	// transfer open, the transfer is watched again.
	Settled
	// Failed: the transfer failed.
	Failed
	// Expired: the watcher's time is over, or the transfer was cancelled. With [EndOpen] an
	// operator looks what became of the transfer.
	Expired
)

type watcherStatus struct{}

func (watcherStatus) Kind() string    { return "refresh watcher status" }
func (watcherStatus) Names() []string { return watcherStatusNames }

var watcherStatusNames = []string{"watching", "settled", "failed", "expired"}

// WalletStatus says whether a process serves a [Wallet].
// Values: Unserved, Served.
type WalletStatus = statemachine.Enum[walletStatus]

const (
	// Unserved: no process has a slot for the wallet. An orchestrator claims a slot once the
	// wallet needs a worker. A crash changes nothing.
	Unserved WalletStatus = iota + 1
	// Served: the holder of the slot's lease runs rounds. After a crash the lease ends, and any
	// orchestrator frees the slot.
	Served
)

type walletStatus struct{}

func (walletStatus) Kind() string    { return "refresh wallet status" }
func (walletStatus) Names() []string { return walletStatusNames }

var walletStatusNames = []string{"unserved", "served"}

// JobTrigger is what moves a job. The source's column trigger of a job is its [Cause].
// Values: jobEnqueue, jobClaim, jobComplete, jobRetry, jobMaxRetries, jobPermanent, jobDefer,
// jobRelease, jobLeaseExpired.
type JobTrigger = statemachine.Enum[jobTrigger]

const (
	jobEnqueue      JobTrigger = iota + 1
	jobClaim                   // a worker takes it, and the wallet's lock unless it is an invoice without asset
	jobComplete                // done
	jobRetry                   // failed, attempts < MAX_REFRESH_RETRIES
	jobMaxRetries              // attempts >= MAX_REFRESH_RETRIES
	jobPermanent               // the host says that no attempt will ever work
	jobDefer                   // the host did not try: gives the attempt back
	jobRelease                 // the worker stops: gives the attempt back
	jobLeaseExpired            // its worker is gone: costs the attempt
)

type jobTrigger struct{}

func (jobTrigger) Kind() string    { return "refresh job trigger" }
func (jobTrigger) Names() []string { return jobTriggerNames }

var jobTriggerNames = []string{"enqueue", "claim", "complete", "retry", "max retries", "permanent error", "defer",
	"release", "lease expired"}

// WatcherTrigger is what moves a watcher.
// Values: watchInvoice, watchTransfer, watchAsset, watchSettled, watchFailed, watchCancelled,
// watchCancelFailed, watchMoved, watchOpen, watchGone, watchUnanswered.
type WatcherTrigger = statemachine.Enum[watcherTrigger]

const (
	watchInvoice      WatcherTrigger = iota + 1 // an invoice without asset: provisional
	watchTransfer                               // a job lists an open transfer: a new watcher, or an ended one again
	watchAsset                                  // the transfer has an asset now
	watchSettled                                // the transfer is settled
	watchFailed                                 // the transfer failed
	watchCancelled                              // the transfer was cancelled by us
	watchCancelFailed                           // refused for ever, or did not work at the expiry: there once more
	watchMoved                                  // a refusal is explained: the transfer is no longer one to cancel
	watchOpen                                   // expired, and the transfer is open still
	watchGone                                   // expired, and the transfer is not listed
	watchUnanswered                             // a provisional one expired: a sync job looks
)

type watcherTrigger struct{}

func (watcherTrigger) Kind() string    { return "refresh watcher trigger" }
func (watcherTrigger) Names() []string { return watcherTriggerNames }

var watcherTriggerNames = []string{"invoice created", "transfer listed", "asset found", "transfer settled",
	"transfer failed", "transfer cancelled", "cancellation failed", "transfer moved", "expired open", "expired gone",
	"provisional expired"}

// WalletTrigger is what moves a wallet.
// Values: walletFirstJob, walletClaim, walletYield, walletIdle, walletHung, walletAnswered, walletLost,
// walletReconcile.
type WalletTrigger = statemachine.Enum[walletTrigger]

const (
	walletFirstJob  WalletTrigger = iota + 1
	walletClaim                   // an orchestrator gives it a slot
	walletYield                   // its worker gives the slot back: others wait, or it stops
	walletIdle                    // nothing to do for WALLET_WORKER_IDLE_TIMEOUT
	walletHung                    // a call of the round timed out
	walletAnswered                // a call was answered after rounds that hung
	walletLost                    // the slot's lease ended
	walletReconcile               // a time of it was too far away
)

type walletTrigger struct{}

func (walletTrigger) Kind() string    { return "refresh wallet trigger" }
func (walletTrigger) Names() []string { return walletTriggerNames }

var walletTriggerNames = []string{"first job", "claim slot", "yield", "idle", "hung", "answered", "slot lost",
	"reconcile"}

const (
	extBack  = "the source loses the job where it meets a held lock or its worker dies; here it is pending again"
	extAgain = "the transfer is listed as open after the end of its watcher"
	extAsset = "the source keeps the short life of an invoice's watcher when the transfer gets its asset"
	extOnce  = "a cancellation that is due at the expiry is tried twice, one that is refused for ever not at each tick"
	extClock = "a clock of the store that was ahead leaves times that are too far away"
	extSlot  = "the source's processes are a count of one orchestrator; slots hold over all of them"
)

type (
	jobEdge     = statemachine.Edge[JobStatus, JobTrigger]
	watcherEdge = statemachine.Edge[WatcherStatus, WatcherTrigger]
	walletEdge  = statemachine.Edge[WalletStatus, WalletTrigger]
)

// JobMachine is the law of refresh_jobs.
var JobMachine = statemachine.Must("refresh_job", []jobEdge{
	{From: 0, Trigger: jobEnqueue, To: JobPending},
	{From: JobPending, Trigger: jobClaim, To: JobProcessing},
	{From: JobProcessing, Trigger: jobComplete, To: JobCompleted},
	{From: JobProcessing, Trigger: jobMaxRetries, To: JobFailed},
	{From: JobProcessing, Trigger: jobPermanent, To: JobFailed},

	{From: JobProcessing, Trigger: jobRetry, To: JobPending, Extension: extBack},
	{From: JobProcessing, Trigger: jobDefer, To: JobPending, Extension: extBack},
	{From: JobProcessing, Trigger: jobRelease, To: JobPending, Extension: extBack},
	{From: JobProcessing, Trigger: jobLeaseExpired, To: JobPending, Extension: extBack},
})

// WatcherMachine is the law of refresh_watchers.
var WatcherMachine = statemachine.Must("refresh_watcher", []watcherEdge{
	{From: 0, Trigger: watchInvoice, To: Watching},
	{From: 0, Trigger: watchTransfer, To: Watching},
	{From: Watching, Trigger: watchSettled, To: Settled},
	{From: Watching, Trigger: watchFailed, To: Failed},
	{From: Watching, Trigger: watchCancelled, To: Expired},
	{From: Watching, Trigger: watchOpen, To: Expired},
	{From: Watching, Trigger: watchGone, To: Expired},
	{From: Watching, Trigger: watchUnanswered, To: Expired},

	{From: Watching, Trigger: watchAsset, To: Watching, Extension: extAsset},
	{From: Watching, Trigger: watchCancelFailed, To: Watching, Extension: extOnce},
	{From: Watching, Trigger: watchMoved, To: Watching, Extension: extOnce},
	{From: Expired, Trigger: watchTransfer, To: Watching, Extension: extAgain},
	{From: Settled, Trigger: watchTransfer, To: Watching, Extension: extAgain},
	{From: Failed, Trigger: watchTransfer, To: Watching, Extension: extAgain},
}, statemachine.Cyclic)

// WalletMachine is the law of refresh_wallets: who serves a wallet.
var WalletMachine = statemachine.Must("refresh_wallet", []walletEdge{
	{From: 0, Trigger: walletFirstJob, To: Unserved},
	{From: Unserved, Trigger: walletClaim, To: Served},
	{From: Served, Trigger: walletIdle, To: Unserved},

	{From: Served, Trigger: walletYield, To: Unserved, Extension: extSlot},
	{From: Served, Trigger: walletHung, To: Unserved, Extension: extSlot},
	{From: Served, Trigger: walletLost, To: Unserved, Extension: extSlot},
	{From: Served, Trigger: walletAnswered, To: Served, Extension: extSlot},
	{From: Served, Trigger: walletReconcile, To: Served, Extension: extClock},
	{From: Unserved, Trigger: walletReconcile, To: Unserved, Extension: extClock},
}, statemachine.Cyclic)

// Role is in which capacity an actor speaks.
// Values: API, Orchestrator, Worker, Operator.
type Role = statemachine.Enum[role]

const (
	API          Role = iota + 1 // enqueues
	Orchestrator                 // gives slots, recovers
	Worker                       // works on the wallet whose slot it holds
	Operator                     // enqueues by hand
)

type role struct{}

func (role) Kind() string    { return "refresh role" }
func (role) Names() []string { return roleNames }

var roleNames = []string{"api", "orchestrator", "wallet-worker", "operator"}

// Cause is why a job exists: the column trigger of refresh_jobs.
// Values: Sync, AssetSent, InvoiceCreated, Recovery, Manual.
type Cause = statemachine.Enum[cause]

const (
	Sync Cause = iota + 1
	AssetSent
	InvoiceCreated
	Recovery // after a start: at most one of a wallet is pending or processing
	Manual
)

type cause struct{}

func (cause) Kind() string    { return "refresh job cause" }
func (cause) Names() []string { return causeNames }

var causeNames = []string{"sync", "asset_sent", "invoice_created", "recovery", "manual"}

// EndReason says how a watcher ended.
// Values: EndTransfer, EndCancelled, EndOpen, EndGone, EndProvisional.
type EndReason = statemachine.Enum[endReason]

const (
	EndTransfer    EndReason = iota + 1 // settled or failed as its transfer
	EndCancelled                        // we cancelled the transfer
	EndOpen                             // expired while the last look-up said that the transfer is open: an operator's
	EndGone                             // expired while no look-up showed the transfer
	EndProvisional                      // an invoice without asset: the sync job looks
)

type endReason struct{}

func (endReason) Kind() string    { return "refresh watcher end reason" }
func (endReason) Names() []string { return endReasonNames }

var endReasonNames = []string{"transfer", "cancelled", "expired_open", "expired_gone", "provisional"}

// RoundEnd is why a worker gives its slot back.
// Values: EndYield, EndIdle, EndHung, EndStop.
type RoundEnd = statemachine.Enum[roundEnd]

const (
	EndYield RoundEnd = iota + 1 // others wait for a slot
	EndIdle                      // nothing to do for WALLET_WORKER_IDLE_TIMEOUT
	EndHung                      // a call timed out
	EndStop                      // the process stops
)

type roundEnd struct{}

func (roundEnd) Kind() string    { return "end of a refresh round" }
func (roundEnd) Names() []string { return roundEndNames }

var roundEndNames = []string{"yield", "idle", "hung", "stop"}

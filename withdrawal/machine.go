package withdrawal

import "github.com/settlehq/settle/statemachine"

// RequestStatus is the state of a [Request], the intent layer.
// Values: RequestPending, RequestApproved, RequestQueued, RequestCompleted, RequestFailed, RequestRejected,
// RequestCancelled.
type RequestStatus = statemachine.Enum[requestStatus]

const (
	// RequestPending: submitted. An [Approver] moves it on, a second one where two
	// are needed, or an [Operator] cancels it. A crash leaves it as it is.
	RequestPending RequestStatus = iota + 1
	// RequestApproved: ready to execute, without a job. The host enqueues it
	// ([DueEnqueue]), or an Operator cancels or holds it. A crash leaves it due.
	RequestApproved
	// RequestQueued: a job pays it and moves it on, see [JobStatus]. An Operator
	// cancels or holds it while nothing of it is out. A crash leaves it with its
	// job, in one commit.
	RequestQueued
	// RequestCompleted: the payment is confirmed on chain. Terminal: evidence
	// against it is an incident.
	RequestCompleted
	// RequestFailed: the job failed. An Operator may requeue it, once nothing of
	// the failed job can be mined, and unless it is [Refunded].
	RequestFailed
	// RequestRejected: an Approver said no. Terminal.
	RequestRejected
	// RequestCancelled: an Operator withdrew it while nothing of it was out: nothing
	// was signed, or what was is proven dead or declared not sent. Terminal.
	RequestCancelled
)

type requestStatus struct{}

func (requestStatus) Kind() string    { return "withdrawal request status" }
func (requestStatus) Names() []string { return requestStatusNames }

var requestStatusNames = []string{"pending", "approved", "queued", "completed", "failed", "rejected", "cancelled"}

// JobStatus is the state of a [Job], the execution layer.
// Values: JobPending, JobProcessing, JobConfirming, JobConfirmed, JobFailed.
type JobStatus = statemachine.Enum[jobStatus]

const (
	// JobPending: a [WithdrawalWorker] claims it from [Job.DueAt] on, one at a time
	// for each hot wallet of a chain with nonces. A crash leaves it due.
	JobPending JobStatus = iota + 1
	// JobProcessing: the holder of the lease builds, signs and sends, and puts each
	// intent on file first. A crash leaves a lease that ends: [Elapsed] then takes
	// it back to pending where nothing was prepared or dispatched, on to confirming
	// with the bytes on file, and into review after a dispatch. In review it has no
	// lease, and an [Operator] says what became of it ([Resolved]).
	JobProcessing
	// JobConfirming: a transaction may be on its way. A [ConfirmationWorker] looks it up at NextCheckAt until it is
	// mined at depth or proven dead; a transaction that the node does not know a WithdrawalWorker sends again. A crash
	// leaves both due. In review only an Operator moves the job on without evidence.
	JobConfirming
	// JobConfirmed: mined at depth. Terminal.
	JobConfirmed
	// JobFailed: no transaction of the job paid, and none can pay any more, as far as the record knows. TxHash, if
	// there is one, is the one transaction that could still be mined; such a job is never requeued. A payment that
	// became known since is in Request.Mined. Terminal: a requeued request gets another job, and a crash leaves
	// nothing.
	JobFailed
)

type jobStatus struct{}

func (jobStatus) Kind() string    { return "withdrawal job status" }
func (jobStatus) Names() []string { return jobStatusNames }

var jobStatusNames = []string{"pending", "processing", "confirming", "confirmed", "failed"}

// RequestTrigger is what moves a request.
// Values: onSubmit, onFirstApproval, onApprove, onAutomatic, onReject, onCancel, onEnqueue, onConfirmed,
// onFailed, onRequeue, onImport, onHold, onRelease, onFlagged, onRefund.
type RequestTrigger = statemachine.Enum[requestTrigger]

const (
	onSubmit        RequestTrigger = iota + 1
	onFirstApproval                // one of two
	onApprove                      // the last approval that is needed
	onAutomatic                    // the approval policy needs nobody
	onReject
	onCancel
	onEnqueue
	onConfirmed // its job was confirmed
	onFailed    // its job failed
	onRequeue
	onImport
	onHold    // an operator stops it for a while
	onRelease // and lets it go on
	onFlagged // a fact that forbids another payment, or allows it again
	onRefund  // the host gives the money back: closed in its books
)

type requestTrigger struct{}

func (requestTrigger) Kind() string    { return "withdrawal request trigger" }
func (requestTrigger) Names() []string { return requestTriggerNames }

var requestTriggerNames = []string{"submit", "first approval", "approve", "automatic approval", "reject", "cancel",
	"enqueue", "job confirmed", "job failed", "requeue", "import", "hold", "release", "flagged", "refund"}

// JobTrigger is what moves a job.
// Values: jobEnqueue, jobClaim, jobPrepare, jobDispatch, jobBroadcast, jobRebump, jobRetry, jobMaxRetries,
// jobPermanent, jobSnooze, jobRescue, jobUnknown, jobPark, jobFound, jobNotSent, jobConfirm, jobRevert,
// jobCancelled, jobProvenDead, jobImport, jobRevived, jobStop, jobHold, jobHoldOut, jobRelease, jobPaidBy,
// jobLateAnswer, jobBatched.
type JobTrigger = statemachine.Enum[jobTrigger]

const (
	jobEnqueue    JobTrigger = iota + 1
	jobClaim                 // a worker picks it
	jobPrepare               // signed bytes are on file
	jobDispatch              // a signer that also sends is about to be called
	jobBroadcast             // the node took it
	jobRebump                // a replacing transaction is on file
	jobRetry                 // retryable failure, retry_count < max_retries
	jobMaxRetries            // retry_count >= max_retries
	jobPermanent             // permanent failure before anything was signed
	jobSnooze                // not tried, or given back: costs no attempt
	jobRescue                // the lease ended and nothing was prepared
	jobUnknown               // prepared, and nobody knows whether it was sent
	jobPark                  // only an operator can tell: review
	jobFound                 // an operator found the transaction
	jobNotSent               // an operator proved that nothing was sent
	jobConfirm               // mined at depth
	jobRevert                // mined and reverted at depth
	jobCancelled             // the cancelling self-transfer was mined at depth
	jobProvenDead            // no transaction on file can be mined any more
	jobImport
	jobRevived    // one that was declared dead was mined: an operator has it
	jobStop       // its request was cancelled, and nothing of it is out
	jobHold       // held: nothing of it is out
	jobHoldOut    // held while something is out: the hold waits for its return
	jobRelease    // the hold ends
	jobPaidBy     // a transaction that was not on file pays it
	jobLateAnswer // a dispatch that was declared not sent was sent
	jobBatched    // signed as one of a batch
)

type jobTrigger struct{}

func (jobTrigger) Kind() string    { return "withdrawal job trigger" }
func (jobTrigger) Names() []string { return jobTriggerNames }

var jobTriggerNames = []string{"enqueue", "claim", "prepare", "dispatch", "broadcast", "rebump", "retry", "max retries",
	"permanent error", "snooze", "rescue", "unknown", "review", "found", "not sent", "confirm", "reverted",
	"cancel mined", "proven dead", "import", "revived", "stop", "hold", "hold what is out", "release",
	"paid by another", "late answer", "batched"}

const (
	extStop      = "a withdrawal must be stoppable before it is executed"
	extEyes      = "four eyes: the first of two approvals leaves the request pending"
	extImport    = "rows of a service that kept tx_hash on the request enter with their transaction"
	extForgotten = "after a restore, a requeue and the payment that followed it are told: it is not paid again"
	extIntent    = "intent before effect: what may leave the house is on file first"
	extBack      = "retry, snooze and rescue return the job to the queue"
	extReview    = "sent or not is unknown: an operator decides, never a retry"
	extUnknown   = "after signing every failure is a look-up of the same transaction, never a new one"
	extRevived   = "a transaction that was declared dead was mined: it is not paid again, and an operator decides"
	extHold      = "an operator may stop any payment until its first irreversible step"
	extFlagged   = "a fact that forbids another payment, or allows it again, moves the version; terminal still means that no edge leads to " +
		"another state"
	extPaidBy  = "the payment was mined under a hash that was not on file: it is not paid again"
	extLate    = "a dispatch that was declared not sent was sent: it is not paid again"
	extBatched = "one transaction pays many requests: its bytes are on file with the batch, which sends them"
	extRefund  = "what the host gives back is closed here too, or an operator's requeue would pay what was refunded"
	extDead    = "proof that no transaction on file can be mined allows another execution"
)

type (
	requestEdge = statemachine.Edge[RequestStatus, RequestTrigger]
	jobEdge     = statemachine.Edge[JobStatus, JobTrigger]
)

// RequestMachine is the law of the intent layer.
var RequestMachine = statemachine.Must("withdrawal_request", []requestEdge{
	{From: 0, Trigger: onSubmit, To: RequestPending},
	{From: RequestPending, Trigger: onApprove, To: RequestApproved},
	{From: RequestPending, Trigger: onAutomatic, To: RequestApproved},
	{From: RequestApproved, Trigger: onEnqueue, To: RequestQueued},
	{From: RequestQueued, Trigger: onConfirmed, To: RequestCompleted},
	{From: RequestQueued, Trigger: onFailed, To: RequestFailed},

	{From: RequestPending, Trigger: onFirstApproval, To: RequestPending, Extension: extEyes},
	{From: RequestPending, Trigger: onReject, To: RequestRejected, Extension: extStop},
	{From: RequestApproved, Trigger: onReject, To: RequestRejected, Extension: extStop},
	{From: RequestPending, Trigger: onCancel, To: RequestCancelled, Extension: extStop},
	{From: RequestApproved, Trigger: onCancel, To: RequestCancelled, Extension: extStop},
	{From: RequestFailed, Trigger: onRequeue, To: RequestApproved,
		Extension: "an operator may order another job once nothing of the last one can be mined"},
	{From: 0, Trigger: onImport, To: RequestQueued, Extension: extImport},
	{From: RequestPending, Trigger: onImport, To: RequestQueued, Extension: extImport},
	{From: RequestApproved, Trigger: onImport, To: RequestQueued, Extension: extImport},
	{From: RequestQueued, Trigger: onImport, To: RequestQueued, Extension: extImport},
	{From: RequestFailed, Trigger: onImport, To: RequestQueued, Extension: extForgotten},
	{From: RequestQueued, Trigger: onCancel, To: RequestCancelled, Extension: extHold},
	{From: RequestPending, Trigger: onHold, To: RequestPending, Extension: extHold},
	{From: RequestApproved, Trigger: onHold, To: RequestApproved, Extension: extHold},
	{From: RequestQueued, Trigger: onHold, To: RequestQueued, Extension: extHold},
	{From: RequestPending, Trigger: onRelease, To: RequestPending, Extension: extHold},
	{From: RequestApproved, Trigger: onRelease, To: RequestApproved, Extension: extHold},
	{From: RequestQueued, Trigger: onRelease, To: RequestQueued, Extension: extHold},
	{From: RequestApproved, Trigger: onFlagged, To: RequestApproved, Extension: extFlagged},
	{From: RequestQueued, Trigger: onFlagged, To: RequestQueued, Extension: extFlagged},
	{From: RequestCompleted, Trigger: onFlagged, To: RequestCompleted, Extension: extFlagged},
	{From: RequestFailed, Trigger: onFlagged, To: RequestFailed, Extension: extFlagged},
	{From: RequestCancelled, Trigger: onFlagged, To: RequestCancelled, Extension: extFlagged},
	{From: RequestRejected, Trigger: onFlagged, To: RequestRejected, Extension: extFlagged},
	{From: RequestFailed, Trigger: onRefund, To: RequestFailed, Extension: extRefund},
	{From: RequestCancelled, Trigger: onRefund, To: RequestCancelled, Extension: extRefund},
	{From: RequestRejected, Trigger: onRefund, To: RequestRejected, Extension: extRefund},
})

// JobMachine is the law of the execution layer.
var JobMachine = statemachine.Must("withdrawal_job", []jobEdge{
	{From: 0, Trigger: jobEnqueue, To: JobPending},
	{From: JobPending, Trigger: jobClaim, To: JobProcessing},
	{From: JobProcessing, Trigger: jobBroadcast, To: JobConfirming},
	{From: JobConfirming, Trigger: jobConfirm, To: JobConfirmed},
	{From: JobConfirming, Trigger: jobRevert, To: JobFailed},
	{From: JobProcessing, Trigger: jobRetry, To: JobPending},
	{From: JobProcessing, Trigger: jobMaxRetries, To: JobFailed},
	{From: JobProcessing, Trigger: jobPermanent, To: JobFailed},

	{From: JobProcessing, Trigger: jobPrepare, To: JobProcessing, Extension: extIntent},
	{From: JobProcessing, Trigger: jobDispatch, To: JobProcessing, Extension: extIntent},
	{From: JobProcessing, Trigger: jobRebump, To: JobProcessing, Extension: extIntent},
	{From: JobConfirming, Trigger: jobRebump, To: JobConfirming, Extension: extIntent},
	{From: JobProcessing, Trigger: jobSnooze, To: JobPending, Extension: extBack},
	{From: JobProcessing, Trigger: jobRescue, To: JobPending, Extension: extBack},
	{From: JobProcessing, Trigger: jobUnknown, To: JobConfirming, Extension: extUnknown},
	{From: JobProcessing, Trigger: jobPark, To: JobProcessing, Extension: extReview},
	{From: JobConfirming, Trigger: jobPark, To: JobConfirming, Extension: extReview},
	{From: JobProcessing, Trigger: jobFound, To: JobConfirming, Extension: extReview},
	{From: JobConfirming, Trigger: jobFound, To: JobConfirming, Extension: extReview},
	{From: JobProcessing, Trigger: jobNotSent, To: JobPending, Extension: extReview},
	{From: JobConfirming, Trigger: jobCancelled, To: JobFailed, Extension: "a mined self-transfer of the same nonce ends the payment"},
	{From: JobConfirming, Trigger: jobProvenDead, To: JobPending, Extension: extDead},
	{From: JobConfirming, Trigger: jobMaxRetries, To: JobFailed, Extension: extDead},
	{From: JobPending, Trigger: jobRevived, To: JobConfirming, Extension: extRevived},
	{From: JobProcessing, Trigger: jobRevived, To: JobConfirming, Extension: extRevived},
	{From: JobPending, Trigger: jobMaxRetries, To: JobFailed, Extension: extRevived},
	{From: 0, Trigger: jobImport, To: JobConfirming, Extension: extImport},
	{From: JobPending, Trigger: jobStop, To: JobFailed, Extension: extHold},
	{From: JobProcessing, Trigger: jobStop, To: JobFailed, Extension: extHold},
	{From: JobPending, Trigger: jobHold, To: JobPending, Extension: extHold},
	{From: JobProcessing, Trigger: jobHold, To: JobPending, Extension: extHold},
	{From: JobProcessing, Trigger: jobHoldOut, To: JobProcessing, Extension: extHold},
	{From: JobPending, Trigger: jobRelease, To: JobPending, Extension: extHold},
	{From: JobProcessing, Trigger: jobRelease, To: JobProcessing, Extension: extHold},
	{From: JobPending, Trigger: jobPaidBy, To: JobConfirming, Extension: extPaidBy},
	{From: JobProcessing, Trigger: jobPaidBy, To: JobConfirming, Extension: extPaidBy},
	{From: JobConfirming, Trigger: jobPaidBy, To: JobConfirming, Extension: extPaidBy},
	{From: JobPending, Trigger: jobLateAnswer, To: JobConfirming, Extension: extLate},
	{From: JobProcessing, Trigger: jobLateAnswer, To: JobConfirming, Extension: extLate},
	{From: JobProcessing, Trigger: jobBatched, To: JobConfirming, Extension: extBatched},
})

// Role is in which capacity an actor speaks.
// Values: Approver, WithdrawalWorker, ConfirmationWorker, Operator, System.
type Role = statemachine.Enum[role]

const (
	Approver           Role = iota + 1 // approve, reject
	WithdrawalWorker                   // claim, prepare, dispatch, broadcast, rebump, fail, snooze, re-broadcast
	ConfirmationWorker                 // evidence of the chain
	Operator                           // resolve a review, requeue, cancel, refund
	System                             // submit, enqueue, elapsed, import, refund
)

type role struct{}

func (role) Kind() string    { return "withdrawal role" }
func (role) Names() []string { return roleNames }

var roleNames = []string{"approver", "withdrawal-worker", "withdrawal-confirmation-worker", "operator", "system"}

// Priority orders the claims of one chain. Its numeric order is the rank;
// stores sort by [PriorityRank], never by the text.
// Values: Low, Normal, High.
type Priority = statemachine.Enum[priority]

const (
	Low Priority = iota + 1
	Normal
	High
)

type priority struct{}

func (priority) Kind() string    { return "withdrawal priority" }
func (priority) Names() []string { return priorityNames }

var priorityNames = []string{"low", "normal", "high"}

// PriorityRank is what claims sort by, descending: high 2, normal 1, low 0.
func PriorityRank(p Priority) int { return int(p) - 1 }

// Failure says how an execution failed, as the host classifies it. It matters
// only before anything was prepared or dispatched: afterwards every failure is
// unknown, whatever the host believes.
// Values: Retryable, Permanent, InsufficientBalance, Unclear.
type Failure = statemachine.Enum[failure]

const (
	Retryable           Failure = iota + 1 // an RPC time-out, a busy node
	Permanent                              // an address that the chain refuses
	InsufficientBalance                    // the hot wallet cannot pay: permanent, or deferred by [Policy.HoldInsufficient]
	Unclear                                // the host cannot tell; retryable while nothing was prepared
)

type failure struct{}

func (failure) Kind() string    { return "withdrawal failure" }
func (failure) Names() []string { return failureNames }

var failureNames = []string{"retryable", "permanent", "insufficient balance", "unclear"}

// DeathCause says why no transaction on file can be mined any more.
// Values: NonceUsed, InputSpent, WindowEnded, LeftOut.
type DeathCause = statemachine.Enum[deathCause]

const (
	NonceUsed   DeathCause = iota + 1 // another transaction of the wallet used the nonce
	InputSpent                        // another transaction spent the input
	WindowEnded                       // the validity window ended without it
	LeftOut                           // it was mined, of a batch, and its output or transfer to this request is not there: an operator says so
)

type deathCause struct{}

func (deathCause) Kind() string    { return "withdrawal death cause" }
func (deathCause) Names() []string { return deathCauseNames }

var deathCauseNames = []string{"nonce used", "input spent", "validity window over", "left out"}

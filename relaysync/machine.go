package relaysync

import "github.com/settlehq/settle/statemachine"

// Phase is where the sync of a relay stands. It is derived: see [Sync.Phase].
// Values: PhaseClean, PhaseDue, PhaseSyncing, PhaseWaiting, PhaseExhausted, PhaseDeleted.
type Phase = statemachine.Enum[phase]

const (
	// PhaseClean: nothing is scheduled, and nothing needs to be. A change of the relay makes it due. A
	// crash changes nothing.
	PhaseClean Phase = iota + 1
	// PhaseDue: a [Reactor] claims the relay from Timer.Due on. The due time was set by an event other
	// than a failure. A crash changes nothing.
	PhaseDue
	// PhaseSyncing: claimed and not finished. The holder of the lease ends it. After a crash the
	// lease ends, and any reactor claims the relay again, or sooner, once an [Operator] says
	// [Revoked] of the holder.
	PhaseSyncing
	// PhaseWaiting: the last sync failed, and Timer.Due is the end of the back-off. A crash changes
	// nothing.
	PhaseWaiting
	// PhaseExhausted: the failures in a row exceed [Policy.MaxAttempts]. Only an [Operator] who
	// retries, or a change of the relay by the [Host], moves it on.
	PhaseExhausted
	// PhaseDeleted: the host has no such relay any more. Terminal.
	PhaseDeleted
)

type phase struct{}

func (phase) Kind() string    { return "relay sync phase" }
func (phase) Names() []string { return phaseNames }

var phaseNames = []string{"clean", "due", "syncing", "waiting", "exhausted", "deleted"}

// Status is what the host wants of a relay: whether it serves.
// Values: Active, Inactive.
type Status = statemachine.Enum[status]

const (
	// Active: the relay serves. The [Host] makes it inactive, or the [Biller] with a churn. A crash
	// changes nothing.
	Active Status = iota + 1
	// Inactive: the relay is sent with "inactive": true. The [Host] makes it active again. A crash
	// changes nothing.
	Inactive
)

type status struct{}

func (status) Kind() string    { return "relay status" }
func (status) Names() []string { return statusNames }

var statusNames = []string{"active", "inactive"}

// Trigger is what moves a sync.
// Values: onCreate, onUpdate, onActivate, onDeactivate, onDelete, onClaim, onTakeover, onSuccess,
// onStaleSuccess, onFollow, onFailure, onExhausted, onStaleFailure, onRelease, onLateSend, onRetry,
// onRecreate, onReconcile, onReconcileError, onReconcileGiveUp.
type Trigger = statemachine.Enum[trigger]

const (
	onCreate     Trigger = iota + 1
	onUpdate             // the host changed the documents
	onActivate           // the host, or the end of a churn
	onDeactivate         // the host, or a churn
	onDelete
	onClaim           // the due time has come
	onTakeover        // the lease ended without a result
	onSuccess         // the relay is at the server as it is here
	onStaleSuccess    // it was changed, or sent again, since the request was built
	onFollow          // a success within Linger of a request without an answer
	onFailure         // the back-off begins
	onExhausted       // the failure after MaxAttempts retries
	onStaleFailure    // a failure of a relay that is due again already
	onRelease         // nothing was sent
	onLateSend        // a holder that lost its lease has sent something
	onRetry           // an operator asks for a sync
	onRecreate        // an operator asks for a POST
	onReconcile       // unsynced without a due time, or one too far away
	onReconcileError  // the same, with an error: through the back-off
	onReconcileGiveUp // the same, with more failures than there are attempts
)

type trigger struct{}

func (trigger) Kind() string    { return "relay sync trigger" }
func (trigger) Names() []string { return triggerNames }

var triggerNames = []string{"create", "update", "activate", "deactivate", "delete", "claim", "takeover", "success",
	"stale success", "follow", "failure", "retries exhausted", "stale failure", "release", "late send", "retry",
	"recreate", "reconcile", "reconcile error", "reconcile exhausted"}

const (
	extLease    = "many processes share the timers through leases"
	extLate     = "nobody knows what a holder without its lease did last: it is sent again"
	extStale    = "at least one sync comes after the last change"
	extFollow   = "a request without an answer may arrive after this one"
	extOperator = "manual intervention, which the source awaits without an event for it"
	extClock    = "a clock that went back must not postpone anything"
	extDelete   = "a deleted relay loses its timer in the same commit"
)

type edge = statemachine.Edge[Phase, Trigger]

// Machine is the law of a sync.
var Machine = statemachine.Must("relay_sync", []edge{
	{From: 0, Trigger: onCreate, To: PhaseDue},

	{From: PhaseClean, Trigger: onUpdate, To: PhaseDue},
	{From: PhaseDue, Trigger: onUpdate, To: PhaseDue},
	{From: PhaseWaiting, Trigger: onUpdate, To: PhaseDue},
	{From: PhaseExhausted, Trigger: onUpdate, To: PhaseDue},
	{From: PhaseSyncing, Trigger: onUpdate, To: PhaseSyncing, Extension: extStale},
	{From: PhaseClean, Trigger: onActivate, To: PhaseDue},
	{From: PhaseDue, Trigger: onActivate, To: PhaseDue},
	{From: PhaseWaiting, Trigger: onActivate, To: PhaseDue},
	{From: PhaseExhausted, Trigger: onActivate, To: PhaseDue},
	{From: PhaseSyncing, Trigger: onActivate, To: PhaseSyncing, Extension: extStale},
	{From: PhaseClean, Trigger: onDeactivate, To: PhaseDue},
	{From: PhaseDue, Trigger: onDeactivate, To: PhaseDue},
	{From: PhaseWaiting, Trigger: onDeactivate, To: PhaseDue},
	{From: PhaseExhausted, Trigger: onDeactivate, To: PhaseDue},
	{From: PhaseSyncing, Trigger: onDeactivate, To: PhaseSyncing, Extension: extStale},

	{From: PhaseDue, Trigger: onClaim, To: PhaseSyncing},
	{From: PhaseWaiting, Trigger: onClaim, To: PhaseSyncing},
	{From: PhaseSyncing, Trigger: onTakeover, To: PhaseSyncing, Extension: extLease},
	{From: PhaseSyncing, Trigger: onSuccess, To: PhaseClean},
	{From: PhaseSyncing, Trigger: onStaleSuccess, To: PhaseDue, Extension: extStale},
	{From: PhaseSyncing, Trigger: onFollow, To: PhaseDue, Extension: extFollow},
	{From: PhaseSyncing, Trigger: onFailure, To: PhaseWaiting},
	{From: PhaseSyncing, Trigger: onExhausted, To: PhaseExhausted},
	{From: PhaseSyncing, Trigger: onStaleFailure, To: PhaseDue, Extension: extStale},
	{From: PhaseSyncing, Trigger: onRelease, To: PhaseDue, Extension: extLease},
	{From: PhaseClean, Trigger: onLateSend, To: PhaseDue, Extension: extLate},
	{From: PhaseDue, Trigger: onLateSend, To: PhaseDue, Extension: extLate},
	{From: PhaseWaiting, Trigger: onLateSend, To: PhaseDue, Extension: extLate},
	{From: PhaseExhausted, Trigger: onLateSend, To: PhaseDue, Extension: extLate},
	{From: PhaseSyncing, Trigger: onLateSend, To: PhaseSyncing, Extension: extLate},

	{From: PhaseClean, Trigger: onReconcile, To: PhaseDue},
	{From: PhaseClean, Trigger: onReconcileError, To: PhaseWaiting},
	{From: PhaseClean, Trigger: onReconcileGiveUp, To: PhaseExhausted},
	{From: PhaseDue, Trigger: onReconcile, To: PhaseDue, Extension: extClock},
	{From: PhaseWaiting, Trigger: onReconcile, To: PhaseWaiting, Extension: extClock},
	{From: PhaseSyncing, Trigger: onReconcile, To: PhaseSyncing, Extension: extClock},

	{From: PhaseClean, Trigger: onRetry, To: PhaseDue, Extension: extOperator},
	{From: PhaseWaiting, Trigger: onRetry, To: PhaseDue, Extension: extOperator},
	{From: PhaseExhausted, Trigger: onRetry, To: PhaseDue, Extension: extOperator},
	{From: PhaseClean, Trigger: onRecreate, To: PhaseDue, Extension: extOperator},
	{From: PhaseDue, Trigger: onRecreate, To: PhaseDue, Extension: extOperator},
	{From: PhaseWaiting, Trigger: onRecreate, To: PhaseDue, Extension: extOperator},
	{From: PhaseExhausted, Trigger: onRecreate, To: PhaseDue, Extension: extOperator},
	{From: PhaseSyncing, Trigger: onRecreate, To: PhaseSyncing, Extension: extOperator},

	{From: PhaseClean, Trigger: onDelete, To: PhaseDeleted, Extension: extDelete},
	{From: PhaseDue, Trigger: onDelete, To: PhaseDeleted, Extension: extDelete},
	{From: PhaseSyncing, Trigger: onDelete, To: PhaseDeleted, Extension: extDelete},
	{From: PhaseWaiting, Trigger: onDelete, To: PhaseDeleted, Extension: extDelete},
	{From: PhaseExhausted, Trigger: onDelete, To: PhaseDeleted, Extension: extDelete},
})

// Role is in which capacity an actor speaks.
// Values: Host, Reactor, Operator, Biller.
type Role = statemachine.Enum[role]

const (
	Host     Role = iota + 1 // creates, changes, deletes
	Reactor                  // claims, finishes, reconciles
	Operator                 // retries, recreates, and what a host may
	Biller                   // deactivates what is not paid
)

type role struct{}

func (role) Kind() string    { return "relay role" }
func (role) Names() []string { return roleNames }

var roleNames = []string{"host", "reactor", "operator", "biller"}

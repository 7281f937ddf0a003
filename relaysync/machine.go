package relaysync

import "github.com/settlehq/settle/statemachine"

// Phase is where the sync of a relay stands. It is derived: see [Sync.Phase].
// Values: PhaseClean, PhaseDue, PhaseSyncing, PhaseWaiting, PhaseExhausted, PhaseDeleted.
type Phase = statemachine.Enum[phase]

const (
	// PhaseClean: nothing is scheduled, and nothing needs to be. A change of the relay makes it
	// due. A crash leaves it as it is.
	PhaseClean Phase = iota + 1
	// PhaseDue: a [Reactor] claims the relay from Timer.Due on. Anything but a failure has set
	// the due time. A crash leaves it as it is.
	PhaseDue
	// PhaseSyncing: claimed and not finished. The holder of the lease ends it. After a crash the
	// lease ends, and any reactor claims the relay again, or sooner, once an [Operator] says
	// [Revoked] of the holder.
	PhaseSyncing
	// PhaseWaiting: the last sync failed, and Timer.Due is the end of the back-off. A crash
	// leaves it as it is.
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
	// Active: the relay serves. The [Host] makes it inactive, or the [Biller] with a
	// churn; a crash leaves it as it is.
	Active Status = iota + 1
	// Inactive: sent as "inactive": true. The [Host] makes it active again; a crash
	// leaves it as it is.
	Inactive
)

type status struct{}

func (status) Kind() string    { return "relay status" }
func (status) Names() []string { return statusNames }

var statusNames = []string{"active", "inactive"}

// Trigger is what moves a sync.
// Values: OnCreate, OnUpdate, OnActivate, OnDeactivate, OnDelete, OnClaim, OnTakeover, OnSuccess,
// OnStaleSuccess, OnFollow, OnFailure, OnExhausted, OnStaleFailure, OnRelease, OnLateSend, OnRetry,
// OnRecreate, OnReconcile, OnReconcileError, OnReconcileGiveUp.
type Trigger = statemachine.Enum[trigger]

const (
	OnCreate     Trigger = iota + 1
	OnUpdate             // the host changed the documents
	OnActivate           // the host, or the end of a churn
	OnDeactivate         // the host, or a churn
	OnDelete
	OnClaim           // the due time has come
	OnTakeover        // the lease ended without a result
	OnSuccess         // the relay is at the server as it is here
	OnStaleSuccess    // it was changed, or sent again, since the request was built
	OnFollow          // a success within Linger of a request without an answer
	OnFailure         // the back-off begins
	OnExhausted       // the failure after MaxAttempts retries
	OnStaleFailure    // a failure of a relay that is due again already
	OnRelease         // nothing was sent
	OnLateSend        // a holder that lost its lease has sent something
	OnRetry           // an operator asks for a sync
	OnRecreate        // an operator asks for a POST
	OnReconcile       // unsynced without a due time, or one too far away
	OnReconcileError  // the same, with an error: through the back-off
	OnReconcileGiveUp // the same, with more failures than there are attempts
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
	{From: 0, Trigger: OnCreate, To: PhaseDue},

	{From: PhaseClean, Trigger: OnUpdate, To: PhaseDue},
	{From: PhaseDue, Trigger: OnUpdate, To: PhaseDue},
	{From: PhaseWaiting, Trigger: OnUpdate, To: PhaseDue},
	{From: PhaseExhausted, Trigger: OnUpdate, To: PhaseDue},
	{From: PhaseSyncing, Trigger: OnUpdate, To: PhaseSyncing, Extension: extStale},
	{From: PhaseClean, Trigger: OnActivate, To: PhaseDue},
	{From: PhaseDue, Trigger: OnActivate, To: PhaseDue},
	{From: PhaseWaiting, Trigger: OnActivate, To: PhaseDue},
	{From: PhaseExhausted, Trigger: OnActivate, To: PhaseDue},
	{From: PhaseSyncing, Trigger: OnActivate, To: PhaseSyncing, Extension: extStale},
	{From: PhaseClean, Trigger: OnDeactivate, To: PhaseDue},
	{From: PhaseDue, Trigger: OnDeactivate, To: PhaseDue},
	{From: PhaseWaiting, Trigger: OnDeactivate, To: PhaseDue},
	{From: PhaseExhausted, Trigger: OnDeactivate, To: PhaseDue},
	{From: PhaseSyncing, Trigger: OnDeactivate, To: PhaseSyncing, Extension: extStale},

	{From: PhaseDue, Trigger: OnClaim, To: PhaseSyncing},
	{From: PhaseWaiting, Trigger: OnClaim, To: PhaseSyncing},
	{From: PhaseSyncing, Trigger: OnTakeover, To: PhaseSyncing, Extension: extLease},
	{From: PhaseSyncing, Trigger: OnSuccess, To: PhaseClean},
	{From: PhaseSyncing, Trigger: OnStaleSuccess, To: PhaseDue, Extension: extStale},
	{From: PhaseSyncing, Trigger: OnFollow, To: PhaseDue, Extension: extFollow},
	{From: PhaseSyncing, Trigger: OnFailure, To: PhaseWaiting},
	{From: PhaseSyncing, Trigger: OnExhausted, To: PhaseExhausted},
	{From: PhaseSyncing, Trigger: OnStaleFailure, To: PhaseDue, Extension: extStale},
	{From: PhaseSyncing, Trigger: OnRelease, To: PhaseDue, Extension: extLease},
	{From: PhaseClean, Trigger: OnLateSend, To: PhaseDue, Extension: extLate},
	{From: PhaseDue, Trigger: OnLateSend, To: PhaseDue, Extension: extLate},
	{From: PhaseWaiting, Trigger: OnLateSend, To: PhaseDue, Extension: extLate},
	{From: PhaseExhausted, Trigger: OnLateSend, To: PhaseDue, Extension: extLate},
	{From: PhaseSyncing, Trigger: OnLateSend, To: PhaseSyncing, Extension: extLate},

	{From: PhaseClean, Trigger: OnReconcile, To: PhaseDue},
	{From: PhaseClean, Trigger: OnReconcileError, To: PhaseWaiting},
	{From: PhaseClean, Trigger: OnReconcileGiveUp, To: PhaseExhausted},
	{From: PhaseDue, Trigger: OnReconcile, To: PhaseDue, Extension: extClock},
	{From: PhaseWaiting, Trigger: OnReconcile, To: PhaseWaiting, Extension: extClock},
	{From: PhaseSyncing, Trigger: OnReconcile, To: PhaseSyncing, Extension: extClock},

	{From: PhaseClean, Trigger: OnRetry, To: PhaseDue, Extension: extOperator},
	{From: PhaseWaiting, Trigger: OnRetry, To: PhaseDue, Extension: extOperator},
	{From: PhaseExhausted, Trigger: OnRetry, To: PhaseDue, Extension: extOperator},
	{From: PhaseClean, Trigger: OnRecreate, To: PhaseDue, Extension: extOperator},
	{From: PhaseDue, Trigger: OnRecreate, To: PhaseDue, Extension: extOperator},
	{From: PhaseWaiting, Trigger: OnRecreate, To: PhaseDue, Extension: extOperator},
	{From: PhaseExhausted, Trigger: OnRecreate, To: PhaseDue, Extension: extOperator},
	{From: PhaseSyncing, Trigger: OnRecreate, To: PhaseSyncing, Extension: extOperator},

	{From: PhaseClean, Trigger: OnDelete, To: PhaseDeleted, Extension: extDelete},
	{From: PhaseDue, Trigger: OnDelete, To: PhaseDeleted, Extension: extDelete},
	{From: PhaseSyncing, Trigger: OnDelete, To: PhaseDeleted, Extension: extDelete},
	{From: PhaseWaiting, Trigger: OnDelete, To: PhaseDeleted, Extension: extDelete},
	{From: PhaseExhausted, Trigger: OnDelete, To: PhaseDeleted, Extension: extDelete},
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

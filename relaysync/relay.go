package relaysync

import (
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Bounds of what comes from outside, in bytes.
const (
	MaxID      = 63                    // of a relay; it is the server's schema too
	MaxTenant  = 100                   // of a tenant's id
	MaxActor   = statemachine.MaxActor // of By.Actor
	MaxError   = 1000                  // of a sync_error, after redaction
	MaxBody    = 1 << 20               // of a request, the secret included
	MaxPaths   = 4096                  // paths of one relay that the server may know: see Recreated
	MaxAnswer  = 64 << 10              // of an answer that is read
	secretRoom = 128                   // bytes that the secret adds to a body
)

// Relay is a row of relays: what the host wants to be at the server.
type Relay struct {
	ID        string // [a-zA-Z_][a-zA-Z0-9_]*, at most MaxID bytes
	Tenant    string
	Subdomain string // a DNS label
	Status    Status `json:",omitzero"`
	Config
	Synced    bool   // the server has the relay as it is here, as far as is known
	SyncError string // of the last sync; trimmed, redacted, at most MaxError bytes
	Revision  int64  // number of creations, updates and changes of the status
	// Recreate is set by an operator. While it is set, every request is a POST. The next success that
	// finds the relay unchanged since it was sent takes it away.
	Recreate bool
	Sent     Paths // every path that a request may have brought to the server, since the latest Recreate

	Version   int64
	CreatedAt time.Time
	DeletedAt time.Time // zero: it exists
}

// Config is what the body of a request is made of. Documents are JSON objects without null, or
// empty for none.
type Config struct {
	Info       Document // with the pubkey of its owner, 64 hexadecimal digits
	Policy     Document
	Groups     Document
	Management Document
	Push       Document
	Roles      Document

	BlossomEnabled int64 // exactly 1 is on, as in the source
	Blossom        Document
	LivekitEnabled int64
	Livekit        Document
}

// Timer is a row of relay_timers, one for each relay: when the relay is to be synced, and who
// syncs it now.
type Timer struct {
	Generation int64     // number of due times that were set
	Due        time.Time // when the relay is to be synced; zero: never. In syncing: it is to be synced once more
	Backoff    bool      // a failure set Due
	Exhausted  bool      // retries exhausted; awaiting manual intervention
	// Lease is the sync's: nothing is sent but under it.
	Lease     statemachine.Lease
	ClaimedAt time.Time // zero: no sync is under way
	Revision  int64     // of the relay, at the claim
	Lapses    int32     // leases in a row that ended without a result
	// LapsedFence is the fence of the latest claim that was taken over. The result of a claim
	// with a fence above it and below the current lease's is stored already.
	LapsedFence int64
	// UnansweredAt is a time at or after the sending of a request that has no answer. The request
	// may arrive up to Policy.Linger after it. Zero: none.
	UnansweredAt time.Time
	// Since is when the relay left clean, was made, or was moved on by a person after its retries
	// were exhausted. Neither a later change nor a retry moves it; zero where no sync is owed.
	Since time.Time
}

// Resource types of activities.
const (
	ResourceRelay   = "relay"
	ResourceTenant  = "tenant"
	ResourceInvoice = "invoice"
)

// Activity types of relays. The column is open: a host may write others, which [Handle] ignores.
const (
	CreateRelay       = "create_relay"
	UpdateRelay       = "update_relay"
	ActivateRelay     = "activate_relay"
	DeactivateRelay   = "deactivate_relay"
	CompleteRelaySync = "complete_relay_sync"
	FailRelaySync     = "fail_relay_sync"
	RetryRelaySync    = "retry_relay_sync" // extension: an operator's
	DeleteRelay       = "delete_relay"     // extension
)

// Activity is a row of activities. Append-only.
type Activity struct {
	Sequence     int64 // in the order of commits of one resource; set by the store
	ResourceType string
	ResourceID   string
	Type         string `json:"activity_type"`
	CreatedAt    time.Time
}

// History is what the rules need to know of the activities of one relay: see
// [HistoryOf].
type History struct {
	Streak    int32     // fail_relay_sync at the head, newest first
	Completed bool      // there is a complete_relay_sync
	Newest    time.Time // created_at of the newest activity; zero: none
}

// Sync is a relay with its timer and its history: what commits together. The zero value stands
// for a relay that does not exist yet.
type Sync struct {
	Relay   Relay
	Timer   Timer
	History History
	// Level is how far the switch stops relays. It is no column: the service sets it for Claimed and
	// for Next.
	Level switches.Level `json:",omitzero"`
}

// Change is the result of one step. A store writes relay and timer where the stored version is
// still that of Old, together with the line and the activities. A renewal of the lease is no
// event and leaves the version as it is.
type Change struct {
	Old, New   Sync
	Log        []statemachine.Transition[string] // one per new version
	Activities []Activity                        // append-only, without Sequence
}

// Empty reports that there is nothing to save: the event was there already.
func (c *Change) Empty() bool { return len(c.Log) == 0 }

// Phase is where the sync stands. It does not depend on the present time.
func (s *Sync) Phase() Phase {
	t := &s.Timer
	switch {
	case s.Relay.Version == 0:
		return 0
	case !s.Relay.DeletedAt.IsZero():
		return PhaseDeleted
	case !t.ClaimedAt.IsZero():
		return PhaseSyncing
	case t.Exhausted:
		return PhaseExhausted
	case t.Due.IsZero():
		return PhaseClean
	case t.Backoff:
		return PhaseWaiting
	}
	return PhaseDue
}

// Pending is the condition of the source's list_relays_pending_sync: synced is 0, or sync_error is
// not blank after TRIM. Here every kind of white space counts as blank.
func (r *Relay) Pending() bool { return !r.Synced || r.Error() != "" }

// Error is the sync_error without surrounding white space of any kind.
func (r *Relay) Error() string { return strings.TrimSpace(r.SyncError) }

// IsNew decides between POST and PATCH, as the source does: a relay is new where synced is not 1
// and there is no complete_relay_sync.
func IsNew(synced, completed bool) bool { return !synced && !completed }

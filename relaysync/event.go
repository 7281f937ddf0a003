package relaysync

import (
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Event is something that the host saw or decided. The set is closed.
type Event interface{ by() By }

// By says who speaks, in which capacity, when, and about which version.
type By struct {
	Actor string // at most MaxActor bytes, not empty
	Role  Role   `json:",omitzero"`
	// At is when, UTC, in microseconds, by the law of [statemachine.EventTime]: zero is
	// now. It counts for no event: all goes by the store's clock.
	At time.Time
	// Version, if not zero, is the version of the relay that the decision was
	// made on. Another one is ErrConflict.
	Version int64 `json:",omitempty"`
}

func (b By) by() By { return b }

// Events of the host. Each but Deleted makes the relay unsynced and due now; the
// error of the last sync stays.
type (
	// Created makes a relay, active. Key: Relay.
	Created struct {
		By
		Relay     string
		Tenant    string
		Subdomain string
		Config
	}
	// Updated replaces subdomain and documents. Revision is the one that it
	// makes, Relay.Revision + 1; 0 takes whichever is next. Key: Revision.
	Updated struct {
		By
		Revision  int64
		Subdomain string
		Config
	}
	// Activated and Deactivated set the status, also to what it is: no such
	// change is neutral to the sync. Key: Revision, as in Updated.
	Activated struct {
		By
		Revision int64
	}
	Deactivated struct {
		By
		Revision int64
	}
	// Deleted ends the relay here, in any phase, and nothing more is sent for it: a
	// server that has it serves on, whatever was still to be told. A host that wants it
	// off sends Deactivated first, and this once the relay is clean. Its id is never
	// used again. Key: the relay.
	Deleted struct{ By }
)

// Events of the reactor. The holder of a lease is By.Actor.
type (
	// Claimed takes a due relay, or one whose lease has ended. Fence is the
	// next one, Timer.Lease.Fence + 1; 0 takes whichever is next. Key: Fence.
	Claimed struct {
		By
		Fence int64
	}
	// Finished is what became of a sync: Done (2xx), Failed (another answer, or
	// nothing could be sent because of Error), Unknown (sent, no answer), or
	// Deferred (nothing was sent, and it is no failure). Key: Fence.
	//
	// Under an old fence it is no result; unless Deferred, it makes the relay
	// unsynced and due.
	Finished struct {
		By
		Fence   int64
		Outcome statemachine.Outcome `json:",omitzero"`
		Error   string               // bounded when it is stored; the host redacts, see Relay.Redact
	}
	// Revoked takes what Holder holds: a reactor for its own name, an operator
	// for any. As nobody knows what the holder did last, the relay is due. Key:
	// that Holder has no lease.
	Revoked struct {
		By
		statemachine.Revocation
	}
	// Reconciled gives a due time to a relay that needs one and has none. It
	// never postpones one and never revives an exhausted relay. Key: the timer.
	Reconciled struct{ By }
)

// Events of an operator.
type (
	// Retried orders a sync now, also of a relay that is synced. One that is
	// due or syncing already stays as it is. Key: the timer.
	Retried struct {
		By
		Reason string // at most MaxError bytes
	}
	// Recreated orders a sync that begins with a POST, for a relay that the
	// server has lost. Where that ends synced, with nothing else on its way, the
	// paths that the relay has no longer are forgotten: it is the way on for one
	// that has had MaxPaths. One that is due or syncing so already stays as it is.
	// Key: Relay.Recreate and the timer.
	Recreated struct {
		By
		Reason string
	}
)

package relaysync

import (
	"github.com/settlehq/settle/statemachine"
)

// Event is something that the host saw or decided. The set is closed.
type Event interface{ statemachine.Event[Role] }

// By says who speaks, in which capacity, when, and about which version of the relay. At
// counts for no event: all goes by the store's clock.
type By = statemachine.By[Role]

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
	// Updated replaces subdomain and documents. Revision is the number that the relay gets by the update,
	// Relay.Revision + 1; 0 takes the next number, whatever it is. Key: Revision.
	Updated struct {
		By
		Revision  int64
		Subdomain string
		Config
	}
	// Activated and Deactivated set the status. The relay becomes due even if it has this status
	// already. Key: Revision, as in Updated.
	Activated struct {
		By
		Revision int64
	}
	Deactivated struct {
		By
		Revision int64
	}
	// Deleted ends the relay here, in any phase, and nothing more is sent for it: a server that
	// has the relay goes on serving it as the last request said. A host that wants it off there
	// sends Deactivated first, and Deleted once the relay is clean. The id is never used again.
	// Key: the relay.
	Deleted struct{ By }
)

// Events of the reactor. The holder of a lease is By.Actor.
type (
	// Claimed takes a due relay, or one whose lease has ended. Fence must be Timer.Lease.Fence +
	// 1; 0 takes the next fence, whatever it is. Key: Fence.
	Claimed struct {
		By
		Fence int64
	}
	// Finished is what became of a sync: Done (2xx), Failed (another answer, or nothing could be
	// sent because of Error), Unknown (sent, no answer), or Deferred (nothing was sent, which is
	// no failure). Key: Fence.
	//
	// Under an old fence its outcome is not stored as the result; unless the outcome is Deferred,
	// the relay becomes unsynced and due.
	Finished struct {
		By
		Fence   int64
		Outcome statemachine.Outcome `json:",omitzero"`
		Error   string               // bounded when it is stored; the host redacts, see Relay.Redact
	}
	// Revoked takes what Holder holds: a reactor may revoke its own name, an operator any. As
	// nobody knows what the holder did last, the relay becomes due. Key: Holder has no lease.
	Revoked struct {
		By
		statemachine.Revocation
	}
	// Reconciled gives a due time to a relay that needs one and has none. It never postpones a
	// due time and never revives an exhausted relay. Key: the timer.
	Reconciled struct{ By }
)

// Events of an operator.
type (
	// Retried orders a sync now, also of a relay that is synced. A relay that is due or syncing
	// already stays as it is. Key: the timer.
	Retried struct {
		By
		Reason string // at most MaxError bytes
	}
	// Recreated orders a sync that begins with a POST, for a relay that the server has lost. When
	// this sync ends with the relay synced, and no other request can still arrive, the paths that
	// the relay no longer has are forgotten; so it also helps a relay that has reached MaxPaths.
	// A relay that is due or syncing by an earlier Recreated stays as it is. Key: Relay.Recreate
	// and the timer.
	Recreated struct {
		By
		Reason string
	}
)

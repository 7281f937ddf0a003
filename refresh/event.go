package refresh

import (
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Event is something that the host saw or decided about one wallet. The set is
// closed.
type Event interface{ statemachine.Event[Role] }

// By says who speaks, in which capacity, when, and about which version of the wallet. At
// counts for no event: all goes by the store's clock.
type By = statemachine.By[Role]

// ValidActor returns [statemachine.ErrInvalid] unless name is a storable text of 1 to
// MaxActor bytes.
func ValidActor(name string) error {
	return statemachine.Actor(name)
}

// Fences names the leases that a worker works under.
type Fences struct {
	Slot int64 // fence of the wallet's lease, not its number: [Wallet].Slot is the number, which others have later
	Job  uuid.UUID
	// Fence is that of the job's lease, Lock that of the wallet's lock.
	Fence int64
	Lock  int64
}

// Events of the wallet.
type (
	// Enqueued makes a job; the first job of a wallet makes the wallet too. Key: Job. A
	// recovery job changes nothing where another is pending or processing, and with
	// [Policy.Coalesce] a job joins a pending one: [Change.Job] names the job that takes its
	// place.
	Enqueued struct {
		By
		Job uuid.UUID // version 4
		Credentials
		Cause     Cause `json:",omitzero"`
		Recipient string
		Asset     string
	}
	// Recovering makes one recovery job for a wallet with an active watcher
	// (watching, before its expiry) unless one is pending or processing. Key: Job.
	Recovering struct {
		By
		Job uuid.UUID
	}
	// SlotClaimed gives an unserved wallet a slot. The holder is By.Actor. Fence must be
	// Wallet.Lease.Fence + 1; 0 takes the next fence, whatever it is. Key: Fence.
	SlotClaimed struct {
		By
		Slot  int32 // 1 to MAX_WALLET_PROCESSES
		Fence int64
	}
	// SlotElapsed takes the slot from a wallet after the slot's lease has ended, since another wallet
	// needs the number. Key: the wallet is unserved.
	SlotElapsed struct{ By }
	// RoundEnded gives the slot back. With EndIdle it is refused while the wallet has a live job or a
	// watching row, or when its work sequence is no longer WorkSeq. Key: Slot, the fence of the slot's
	// lease.
	RoundEnded struct {
		By
		Slot    int64
		End     RoundEnd `json:",omitzero"`
		WorkSeq int64    // with EndIdle: as it was when the wallet was found idle
	}
	// Revoked takes the slot, jobs and lock that Holder has: a worker may revoke its own name,
	// an operator any. The attempt of a job counts, as at the end of its lease. The node may
	// still work on a call of the holder (see the package). A holder that is alive may start
	// further calls until its next renewal, at most LockTTL/3 later, tells it; so an operator
	// revokes only a holder that has ended. Key: Holder has none of them.
	Revoked struct {
		By
		statemachine.Revocation
	}
	// Reconciled corrects times that lie further ahead than the rules set them, since the store's clock
	// was ahead: see [Policy.Latest]. Key: no time of the wallet is too late.
	Reconciled struct{ By }
	// Locked takes the lock for work outside of jobs and watchers, such as a refresh that a
	// user waits for. Fence is the store's next fence. The lock is not renewed: work under it
	// must end within LockTTL. A wallet that never had a job has no row to lock, and no worker
	// uses it: [statemachine.ErrNotFound].
	Locked struct {
		By
		Fence int64
	}
	// Unlocked gives it back.
	Unlocked struct {
		By
		Fence int64
	}
)

// Events of a job, by the worker that holds the wallet's slot.
type (
	// JobClaimed returns jobs whose lease has ended, then takes the first due job of the
	// wallet, together with the lock, whose next fence is Lock. An invoice without asset is
	// taken without the lock and completed at once. While the lock is held, JobClaimed takes no
	// job and puts the due job off. [Change.Job] names the claimed job. Key: a working job
	// under a lock of the speaker that is later than Known.
	JobClaimed struct {
		By
		Slot  int64
		Lock  int64
		Known int64 // fence of the wallet's lock, as it was read before the event was first sent; 0: it had none
	}
	// JobDone stores the pass: watchers, the end of the job, and the release of the lock.
	// Cancelled has the answers of failtransfers; an index that was not called is not in it.
	// The attempt fails where the job is an invoice with an asset whose recipient no listing
	// shows. Key: Job and Fence.
	JobDone struct {
		By
		Fences
		Listing   Listing
		Cancelled []Cancelled
	}
	// JobNotDone ends the attempt without a result. Key: Job and Fence.
	//
	// The outcomes Failed and Unknown count the attempt: a refresh can be repeated. Deferred
	// gives the attempt back, since the host did not try.
	JobNotDone struct {
		By
		Fences
		Outcome   statemachine.Outcome `json:",omitzero"`
		Permanent bool                 // with Failed: no attempt will ever work
		Stopped   bool                 // with Deferred: the worker stops, so the job is due at once
		Error     string               // bounded and stored; the host redacts secrets
	}
)

// Events of the watchers, by the worker that holds the wallet's slot.
type (
	// Looked is the look-up of a tick. It ends the watchers that the listing ends, and takes the lock
	// where a refresh or a cancellation is due: [Change.Tick] says for which recipients. With an Error
	// nothing was listed, and the due watchers are due again after REFRESH_INTERVAL.
	//
	// Key: a lock of the speaker that is later than Known. A Looked that is sent again takes no second
	// lock. Its Tick says that the refresh is still owed, but neither for whom nor what to cancel,
	// since only the first answer has these; so this refresh is not counted.
	Looked struct {
		By
		Slot  int64
		Lock  int64 // the store's next fence
		Known int64 // as in JobClaimed
		// Began is the store's time when the tick began. Watchers that were due then are
		// ticked, and their next tick counts from it. A time after the event counts as the
		// event's.
		Began   time.Time
		Listing Listing
		Error   string
		// JobFirst: a job may still go first in this round. Where a job is due, nothing else is
		// begun and the watchers stay due.
		JobFirst bool
	}
	// Ticked is the rest of the tick: the answers of failtransfers, and of one refresh for all
	// recipients. It counts the refresh and releases the lock. It is refused unless the speaker
	// still holds this lock.
	Ticked struct {
		By
		Fences
		Began      time.Time // of the tick, as in Looked
		Listing    Listing   // as in Looked
		Recipients []string  // of [Change.Tick]
		Cancelled  []Cancelled
		Refreshed  statemachine.Outcome `json:",omitzero"` // zero: there was none, a due job goes first
		Error      string
	}
	// Elapsed ends the provisional watchers whose time is over, and makes the sync job of each.
	Elapsed struct {
		By
		Slot int64
	}
)

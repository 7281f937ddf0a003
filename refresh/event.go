package refresh

import (
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Event is something that the host saw or decided about one wallet. The set is
// closed.
type Event interface{ by() By }

// By says who speaks, in which capacity, and when.
type By struct {
	Actor string // 1 to MaxActor bytes; of a worker the name of its process, the holder of its leases
	Role  Role   `json:",omitzero"`
	// At is when, UTC, in microseconds, by the law of [statemachine.EventTime]: zero is
	// now. It counts for no event: all goes by the store's clock.
	At time.Time
}

func (b By) by() By { return b }

// ValidActor returns [statemachine.ErrInvalid] unless name is a storable text of 1 to
// MaxActor bytes.
func ValidActor(name string) error {
	return statemachine.Actor(name)
}

// Held names the leases that a worker works under.
type Held struct {
	Slot int64 // fence of the wallet's lease, not its number: [Wallet].Slot is the number, which others have later
	Job  uuid.UUID
	// Fence is that of the job's lease, Lock that of the wallet's lock.
	Fence int64
	Lock  int64
}

// Events of the wallet.
type (
	// Enqueued makes a job, and the wallet with its first one. Key: Job. A
	// recovery job beside one that is pending or processing changes nothing,
	// and [Config.Coalesce] joins a pending one: [Change.Job] names the job
	// that stands for it.
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
	// SlotClaimed gives an unserved wallet a slot. The holder is By.Actor.
	// Fence is the next one, Wallet.Lease.Fence + 1; 0 takes whichever is
	// next. Key: Fence.
	SlotClaimed struct {
		By
		Slot  int32 // 1 to MAX_WALLET_PROCESSES
		Fence int64
	}
	// SlotElapsed: the lease of the slot has ended, and the number is needed.
	// Key: the wallet is unserved.
	SlotElapsed struct{ By }
	// RoundEnded gives the slot back. EndIdle is refused while the wallet has
	// a live job or a watching row, or when its work sequence is no longer
	// WorkSeq. Key: Slot (its fence).
	RoundEnded struct {
		By
		Slot    int64
		End     RoundEnd `json:",omitzero"`
		WorkSeq int64    // with EndIdle: as it was when the wallet was found idle
	}
	// Revoked takes slot, jobs and lock that Holder has: a worker for its own
	// name, an operator for any. A job's attempt counts, as at the end of its
	// lease. The node may still work on a call of the holder, see the package, and
	// one that lives on may start others until it hears of it at its next renewal,
	// LockTTL/3 later at most: an operator revokes what has ended.
	// Key: that Holder has none of them.
	Revoked struct {
		By
		statemachine.Revocation
	}
	// Reconciled brings back what lies further ahead than the rules set it, as after a
	// clock of the store that was ahead: see [Config.Latest]. Key: nothing does.
	Reconciled struct{ By }
	// Locked takes the lock for something outside of jobs and watchers, such
	// as a refresh that a user waits for. Fence is the store's next one. It is
	// not renewed: what is done under it ends within LockTTL. A wallet that never had a
	// job has no row to lock: [statemachine.ErrNotFound]; no worker is in it.
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
	// JobClaimed returns jobs whose lease has ended, then takes the first due
	// one of the wallet: with the lock, whose next fence is Lock, or without
	// and to its end for an invoice without asset. While the lock is held it
	// takes none and puts the job off. [Change.Job] names what was claimed. Key: a job
	// under a lock of the speaker that is later than Known.
	JobClaimed struct {
		By
		Slot  int64
		Lock  int64
		Known int64 // fence of the wallet's lock, as it was read before the event was first sent; 0: it had none
	}
	// JobDone stores the pass: watchers, the end of the job, and the release
	// of the lock. Cancelled are the answers of failtransfers; an index that was not
	// called is not in it. An invoice with an asset that no listing shows is not done:
	// the attempt failed. Key: Job and Fence.
	JobDone struct {
		By
		Held
		Listing   Listing
		Cancelled []Cancelled
	}
	// JobNotDone ends the attempt without a result. Key: Job and Fence.
	//
	// Failed counts the attempt, as does Unknown: a refresh can be repeated.
	// Deferred gives it back: the host did not try.
	JobNotDone struct {
		By
		Held
		Outcome   statemachine.Outcome `json:",omitzero"`
		Permanent bool                 // with Failed: no attempt will ever work
		Stopped   bool                 // with Deferred: the worker stops, so the job is due at once
		Error     string               // bounded and stored; the host redacts secrets
	}
)

// Events of the watchers, by the worker that holds the wallet's slot.
type (
	// Looked is the look-up of a tick. It ends what the listing ends, and
	// takes the lock where a refresh or a cancellation is due: [Change.Tick]
	// says for whom. With an Error nothing was listed: the due watchers ask
	// again after REFRESH_INTERVAL. Key: a lock of the speaker that is later than
	// Known. Sent again it takes no second lock. The refresh has still to be made; for
	// whom, and what to cancel, only the first answer says, so it is not counted.
	Looked struct {
		By
		Slot  int64
		Lock  int64 // the store's next fence
		Known int64 // as in JobClaimed
		// Began is the store's time when the tick began, from which the next one
		// is counted: watchers that were due then are ticked. One after the event
		// counts as of its time.
		Began   time.Time
		Listing Listing
		Error   string
		// JobFirst: a job may still go first in this round. Where one is due,
		// nothing else is begun and the watchers stay due.
		JobFirst bool
	}
	// Ticked is the rest of the tick: answers of failtransfers, and of one
	// refresh for all. It counts the refresh and releases the lock, under which
	// alone it is stored.
	Ticked struct {
		By
		Held
		Began      time.Time // of the tick, as in Looked
		Listing    Listing   // as in Looked
		Recipients []string  // of [Change.Tick]
		Cancelled  []Cancelled
		Refreshed  statemachine.Outcome `json:",omitzero"` // zero: there was none, a due job goes first
		Error      string
	}
	// Elapsed ends the provisional watchers whose time is over, with the sync
	// job of each.
	Elapsed struct {
		By
		Slot int64
	}
)

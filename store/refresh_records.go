package store

import (
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// RefreshUnit is the part of a transaction that [Refreshes] needs.
type RefreshUnit interface {
	SwitchUnit
	Refreshes() RefreshRecords
}

// RefreshRecords stores the records of package refresh. It keeps the unique rules
// that the package names under "Storing a change", and decides nothing.
type RefreshRecords interface {
	// Get returns wallets with their locks and the latest of their jobs and
	// watchers ([refresh.AllJobs], [refresh.AllWatchers]), in the order of xpubs.
	// An unknown one is a zero Work, which is what it is created from.
	Get(xpubs ...string) ([]refresh.Work, error)
	// Heads returns wallets with their locks, without jobs and watchers. In an Update the rows of the wallets stay
	// locked until it ends, so that nothing of a wallet that is read afterwards changes meanwhile; they are locked in
	// the order of their xpubs.
	Heads(xpubs ...string) ([]refresh.Work, error)
	// Free is Heads without waiting: of a wallet whose row another transaction has
	// locked the Work has the XpubVan, and nothing else.
	Free(xpubs ...string) ([]refresh.Work, error)
	// Load puts in the place of w's jobs and watchers those that r names, with
	// the limits and the order of its sets at now.
	Load(w *refresh.Work, r refresh.Reads, now time.Time) error
	// NextFence returns a number for a lock that was never returned by an Update
	// that landed, greater than all of those.
	NextFence() (int64, error)

	// Slots returns all wallets with a slot, by number, and keeps others that ask
	// out until the transaction ends. It comes after Heads and before Free.
	Slots() ([]refresh.Slot, error)
	// Waiting returns the first limit of [refresh.Wallet.Candidate] at now, in the order of
	// [refresh.CompareCandidates]. A wallet with a time that cannot be read is left out, and named in unreadable.
	Waiting(now time.Time, limit int) (all []refresh.Candidate, unreadable []error, err error)
	// HeldBy pages through the xpubs of the wallets of which a holder has the
	// slot, a job or the lock, ended or not, in byte order, behind one.
	HeldBy(holder, after string, limit int) ([]string, error)
	// Recoverable returns up to limit wallets behind after, by xpub, that have a
	// watcher which is Active at now.
	Recoverable(now time.Time, after string, limit int) ([]string, error)
	// Ahead returns up to limit wallets behind after, by xpub, of which a time is later
	// than one of latest, see [refresh.Latest.Passed].
	Ahead(latest refresh.Latest, after string, limit int) ([]string, error)
	// Renew moves the end of leases that are held at now under their fences and
	// returns the wallets of which one is lost; of those nothing is known.
	Renew(now, until time.Time, held ...RefreshLease) (lost []string, err error)
	// Sweep deletes up to limit locks that ended at or before now, in the order
	// of their xpubs, without waiting for others, and returns how many.
	Sweep(now time.Time, limit int) (int, error)

	// Save writes changes of wallets that Heads or Free has locked; all of them, or none. Points 1, 2, 4 and 6 of the
	// contract of [WithdrawalRecords] hold for the wallet, its jobs and its watchers. Not only the version is compared
	// but also the columns outside it, except the end of a lease: another fence is [statemachine.ErrFenced], any other
	// difference ErrConflict. A lock is written where there is none, where it ended at or before LockedAt, or where it
	// has the same fence, else [statemachine.ErrHeld]; it is deleted under its fence, else ErrFenced. A slot that
	// another wallet has, and a second live recovery job of a wallet, is a [refresh.TakenError].
	Save(changes ...refresh.Change) error

	// Find returns the wallet, the job or the watcher with an id, and nothing else
	// of its wallet; [statemachine.ErrNotFound] for an unknown one.
	Find(id uuid.UUID) (refresh.Work, error)
	// Transitions returns the audit trail of a wallet, job or watcher by its id,
	// oldest first.
	Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error)
	Feed[uuid.UUID]
	// Wallets returns up to limit xpubs behind after, in order.
	Wallets(after string, limit int) ([]string, error)
	// Jobs returns up to limit jobs with a status (0: any) behind one, in the
	// order of [refresh.CompareJobs]; nil begins.
	Jobs(status refresh.JobStatus, after *refresh.Job, limit int) ([]refresh.Job, error)
	// Watchers returns up to limit watchers with an end reason (0: that are
	// watching) behind one, by xpub and recipient; nil begins. Of [refresh.EndOpen]
	// those are left out that a job settled, see [refresh.Work.Refreshed].
	Watchers(reason refresh.EndReason, after *refresh.Watcher, limit int) ([]refresh.Watcher, error)
	// Stats counts at now.
	Stats(now time.Time) (refresh.Stats, error)
}

// RefreshLease names what is held of a wallet: the slot if Slot is not 0, the job if
// there is one, the lock if Lock is not 0.
type RefreshLease struct {
	XpubVan string
	refresh.Fences
}

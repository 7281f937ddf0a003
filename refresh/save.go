package refresh

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

var (
	// ErrSlotTaken: another wallet has the number.
	ErrSlotTaken = statemachine.NewSentinel("slot-number-taken", "another wallet has this slot")
	// ErrRecovering: the wallet has a recovery job that is pending or processing.
	ErrRecovering = statemachine.NewSentinel("recovering", "the wallet has a live recovery job")
)

// TakenError says that another record, By (the id of a job, or of a wallet, see [WalletID]),
// already has the value that a unique rule allows only once.
type TakenError struct {
	Err error // such as [ErrSlotTaken]
	By  string
}

func (e *TakenError) Error() string { return fmt.Sprintf("%v: %s", e.Err, e.By) }

// Unwrap returns the sentinel.
func (e *TakenError) Unwrap() error { return e.Err }

// Written calls job and watcher for each record that a store must write, with its old and its
// new value; the old value of a new record is zero.
func (c *Change) Written(job func(old, now *Job), watcher func(old, now *Watcher)) {
	for i := range c.New.Jobs {
		var old Job
		if i < len(c.Old.Jobs) {
			old = c.Old.Jobs[i]
		}
		if now := &c.New.Jobs[i]; old != *now {
			job(&old, now)
		}
	}
	for i := range c.New.Watchers {
		var old Watcher
		if i < len(c.Old.Watchers) {
			old = c.Old.Watchers[i]
		}
		if now := &c.New.Watchers[i]; old != *now {
			watcher(&old, now)
		}
	}
}

// FreesSlot reports whether the wallet has no slot after the change. Such changes are saved
// before others, which may take the freed number.
func (c *Change) FreesSlot() bool { return c.New.Wallet.Slot == 0 }

// Complete checks that the log has exactly one line for each new version of the
// wallet, its jobs and its watchers, see [statemachine.Complete].
func (c *Change) Complete() error {
	all := make([]statemachine.Versions[uuid.UUID], 1, 4)
	all[0] = statemachine.Versions[uuid.UUID]{Machine: WalletMachine.Name(), ID: c.New.Wallet.ID(),
		Old: c.Old.Wallet.Version, New: c.New.Wallet.Version}
	c.Written(func(old, now *Job) {
		all = append(all, statemachine.Versions[uuid.UUID]{Machine: JobMachine.Name(), ID: now.ID, Old: old.Version,
			New: now.Version})
	}, func(old, now *Watcher) {
		all = append(all, statemachine.Versions[uuid.UUID]{Machine: WatcherMachine.Name(), ID: now.ID(),
			Old: old.Version, New: now.Version})
	})
	return statemachine.Complete(c.Log, all...)
}

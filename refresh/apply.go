package refresh

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// Change is one step of a wallet: what to store, in one commit.
//
// New.Jobs and New.Watchers begin with the records of Old, in the same places; new records
// follow. A record whose version changed has a line in Log. A record that differs while its
// version stays has only changed columns outside the version (a touch).
type Change struct {
	Old, New Work
	Log      []statemachine.Transition[uuid.UUID]

	// Job is the job that an Enqueued or a Recovering made or met, or that a JobClaimed
	// claimed; zero if there is none.
	Job uuid.UUID
	// Tick is what a Looked leaves to do.
	Tick Tick
	// Faults are the transfers of a listing that the rules do not know.
	Faults []error
}

// Tick is the second half of a tick, which is done under the lock that Looked took. An empty
// Tick leaves nothing to do.
type Tick struct {
	Recipients []string // for whom
	Cancel     []int32  // call failtransfers once for each
	Refresh    bool     // then refresh once
	Held       bool     // the lock was held: nothing is left to do now
	JobFirst   bool     // a due job goes first; then tick again
}

// Locked reports whether the lock was taken.
func (t *Tick) Locked() bool { return t.Refresh || len(t.Cancel) > 0 }

// Empty reports whether there is nothing to store.
func (c *Change) Empty() bool {
	return len(c.Log) == 0 && c.Old.Wallet == c.New.Wallet && c.Old.Lock == c.New.Lock &&
		slices.Equal(c.Old.Jobs, c.New.Jobs) && slices.Equal(c.Old.Watchers, c.New.Watchers)
}

// Apply takes one step. It is pure: the same arguments give the same result.
//
// The same event again (its key is in the record) gives Old equal to New, an
// empty log and no error, unless By.Version names a version that the wallet has no more:
// then it is ErrConflict, and nothing changes. A refusal changes nothing and is a
// [statemachine.Refusal] around its sentinel. Where several reasons hold, the
// first of these is given: role or actor, version, repetition, slot, job and lock fence,
// state, input. What w must hold is said by [Needs].
func (c Policy) Apply(w Work, ev Event) (Change, error) { return c.ApplyAt(w, ev, time.Time{}) }

// ApplyAt is [Policy.Apply]; now is the store's time, see
// [statemachine.EventTime].
func (c Policy) ApplyAt(w Work, ev Event, now time.Time) (Change, error) {
	s := step{Change: Change{Old: w, New: w}, c: &c, ev: ev}
	s.New.RestoredAt = time.Time{} // of this event alone
	err := s.begin(now)
	if err == nil {
		s.New.Jobs, s.New.Watchers = slices.Clone(w.Jobs), slices.Clone(w.Watchers)
		err = s.version()
	}
	if err == nil {
		err = s.take()
	}
	if err != nil {
		return Change{Old: w, New: w}, err
	}
	return s.Change, nil
}

func (s *step) take() error {
	switch e := s.ev.(type) {
	case Enqueued:
		return s.enqueue(&e)
	case Recovering:
		return s.recover(&e)
	case SlotClaimed:
		return s.claimSlot(&e)
	case SlotElapsed:
		return s.slotElapsed()
	case RoundEnded:
		return s.endRound(&e)
	case Revoked:
		return s.revoke(&e)
	case Reconciled:
		return s.reconcile()
	case Locked:
		return s.lock(e.Fence)
	case Unlocked:
		return s.unlock(e.Fence)
	case JobClaimed:
		return s.claimJob(&e)
	case JobDone:
		return s.jobDone(&e)
	case JobNotDone:
		return s.jobNotDone(&e)
	case Looked:
		return s.looked(&e)
	case Ticked:
		return s.ticked(&e)
	case Elapsed:
		return s.elapsed(e.Slot)
	}
	return fmt.Errorf("%w: no event", statemachine.ErrInvalid)
}

// Speakers are the roles that may send an event; none for what is no event of the domain.
func Speakers(ev Event) statemachine.Roles[Role] {
	switch ev.(type) {
	case Enqueued:
		return byAPI | byOperator
	case Recovering, SlotClaimed, SlotElapsed, Reconciled:
		return byOrchestrator
	case Locked, Unlocked:
		return byAPI | byOperator
	case Revoked:
		return byWorker | byOperator
	case RoundEnded, JobClaimed, JobDone, JobNotDone, Looked, Ticked, Elapsed:
		return byWorker
	}
	return 0
}

// Events returns an empty one of each event, in no order that means anything.
func Events() []Event {
	return []Event{
		Enqueued{}, Recovering{}, SlotClaimed{}, SlotElapsed{}, Reconciled{}, Locked{}, Unlocked{}, Revoked{}, RoundEnded{},
		JobClaimed{}, JobDone{}, JobNotDone{}, Looked{}, Ticked{}, Elapsed{},
	}
}

// roles is a set of [Role].
type roles = statemachine.Roles[Role]

const (
	byAPI          roles = 1 << API
	byOrchestrator roles = 1 << Orchestrator
	byWorker       roles = 1 << Worker
	byOperator     roles = 1 << Operator
)

// step is the work on one event.
type step struct {
	Change
	c  *Policy
	ev Event
	by By
}

// event names what is refused.
func (s *step) event() string { return statemachine.EventName(s.ev) }

// begin checks role and actor, which is the first of all checks, and brings the time of the event to
// UTC microseconds.
func (s *step) begin(now time.Time) error {
	var reason string
	var err error
	if s.by, _, reason, err = statemachine.Begin(s.ev, Speakers(s.ev), now); err != nil {
		return s.refuse(err, reason)
	}
	return nil
}

// version checks the version of the wallet that a decision was made on.
func (s *step) version() error {
	if s.by.Version != 0 && s.by.Version != s.Old.Wallet.Version {
		return s.refuse(statemachine.ErrConflict, fmt.Sprintf("decided on version %d, it is at %d", s.by.Version, s.Old.Wallet.Version))
	}
	return nil
}

// slot checks that the speaker holds the wallet's slot.
func (s *step) slot(fence int64) error {
	l := &s.Old.Wallet.Lease
	if s.Old.Wallet.Status != Served || l.Holder != s.by.Actor || l.Fenced(fence, s.by.At) != nil {
		return s.refuse(statemachine.ErrFenced, "the slot is not held")
	}
	return nil
}

// locked checks that the speaker holds the wallet's lock.
func (s *step) locked(fence int64) error {
	l := &s.Old.Lock.Lease
	if l.Holder != s.by.Actor || l.Fenced(fence, s.by.At) != nil {
		return s.refuse(statemachine.ErrFenced, "the lock is not held")
	}
	return nil
}

// lock takes the wallet's lock under the store's next fence.
func (s *step) lock(fence int64) error {
	w, l := &s.Old.Wallet, &s.Old.Lock
	switch {
	case w.Status == 0:
		return s.refuse(statemachine.ErrNotFound, "the wallet has had no job yet")
	case l.Lease.Held(s.by.At):
		return s.refuse(statemachine.ErrHeld, "by "+l.Lease.Holder)
	case s.restored():
		return s.refuse(switches.ErrOnHold, restoredReason)
	case fence < 1 || fence <= l.Lease.Fence:
		return s.refuse(statemachine.ErrInvalid, fmt.Sprintf("a new fence of the store is needed, not %d", fence))
	}
	s.New.Lock = Lock{XpubVan: w.XpubVan, LockedAt: s.by.At, Seq: s.New.Wallet.WorkSeq,
		Lease: statemachine.Lease{Holder: s.by.Actor, Fence: fence, Until: s.by.At.Add(s.c.LockTTL)}}
	return nil
}

const restoredReason = "a call from before the restore may still run at the node"

// restored reports whether a lock that the restored database has forgotten may still be held, or
// a call that began under it may still run at the node. Nobody gets a slot or a lock then.
func (s *step) restored() bool {
	at := s.Old.RestoredAt
	return !at.IsZero() && s.by.At.Before(at.Add(s.c.LockTTL+s.c.HTTPTimeout))
}

func (s *step) unlock(fence int64) error {
	if err := s.locked(fence); err != nil {
		return err
	}
	s.New.Lock = Lock{}
	return nil
}

// moveJob is the only caller of Move for a job.
func (s *step) moveJob(j *Job, t JobTrigger, reason string) error {
	line := s.newLine(j.ID, reason)
	if err := statemachine.Move(JobMachine, &j.Status, &j.Version, t, line); err != nil {
		return s.refuse(err, fmt.Sprintf("job %s is %v", j.ID, j.Status))
	}
	return nil
}

// moveWatcher is the only caller of Move for a watcher.
func (s *step) moveWatcher(w *Watcher, t WatcherTrigger) error {
	line := s.newLine(w.ID(), "")
	if err := statemachine.Move(WatcherMachine, &w.Status, &w.Version, t, line); err != nil {
		return s.refuse(err, fmt.Sprintf("the watcher of %q is %v", w.Recipient, w.Status))
	}
	return nil
}

// moveWallet is the only caller of Move for a wallet.
func (s *step) moveWallet(t WalletTrigger) error {
	w := &s.New.Wallet
	if err := statemachine.Move(WalletMachine, &w.Status, &w.Version, t, s.newLine(w.ID(), "")); err != nil {
		return s.refuse(err, "")
	}
	return nil
}

// newLine adds a line to the log, in place.
func (s *step) newLine(id uuid.UUID, reason string) *statemachine.Transition[uuid.UUID] {
	s.Log = append(s.Log, statemachine.Transition[uuid.UUID]{ID: id, At: s.by.At, Actor: s.by.Actor,
		Role: s.by.Role.String(), Trace: s.by.Trace, Reason: reason})
	return &s.Log[len(s.Log)-1]
}

// refuse names the wallet.
func (s *step) refuse(err error, reason string) error {
	w := &s.Old.Wallet
	return &statemachine.Refusal{Err: err, Machine: WalletMachine.Name(), ID: w.XpubVan, State: w.Status.String(),
		Event: s.event(), Reason: reason}
}

package refresh

import (
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// What an event must find of its wallet.

// JobSet says which jobs of a wallet an event needs.
type JobSet uint8

const (
	NoJobs     JobSet = iota
	AnyLiveJob        // the first that is pending or processing
	// DueJobs are the jobs in processing and the pending jobs that are due at now, as if NotBefore were
	// not set. Jobs in processing come first, then the order is that of CompareJobs; there are at most
	// MaxDueJobs.
	DueJobs
	JoinableJobs // a live recovery job, then the first that is Joinable in the order of CompareJobs; at most 2
	AllJobs      // the latest MaxHistory, in the order of CompareJobs
)

// MaxDueJobs bounds the due jobs that a claim looks at, and MaxHistory the records that are
// read of a whole wallet.
const (
	MaxDueJobs = 20
	MaxHistory = 10_000
)

// Pick returns the jobs of the set, in the set's order, from all the jobs of a wallet. It may
// reorder its argument. An unknown set has no jobs.
func (set JobSet) Pick(all []Job, now time.Time) []Job {
	is, first, limit := func(*Job) bool { return false }, func(*Job) bool { return false }, 0
	switch set {
	case AnyLiveJob:
		is, limit = (*Job).Live, 1
	case DueJobs:
		first = func(j *Job) bool { return j.Status == JobProcessing }
		is = func(j *Job) bool { return first(j) || j.Status == JobPending && !now.Before(j.due()) }
		limit = MaxDueJobs
	case JoinableJobs:
		first = func(j *Job) bool { return j.Cause == Recovery && j.Live() }
		is = func(j *Job) bool { return first(j) || j.Joinable() }
		limit = 2
	case AllJobs:
		is, limit = func(*Job) bool { return true }, len(all)
	}
	all = slices.DeleteFunc(all, func(j Job) bool { return !is(&j) })
	slices.SortFunc(all, func(a, b Job) int {
		if first(&a) != first(&b) {
			if first(&a) {
				return -1
			}
			return 1
		}
		return CompareJobs(&a, &b)
	})
	all = all[:min(len(all), limit)]
	return all[max(0, len(all)-MaxHistory):]
}

// WatcherSet says which watchers of a wallet an event needs.
type WatcherSet uint8

const (
	NoWatchers     WatcherSet = iota
	AnyWatching               // the first that is watching, in the order of CompareTicks
	DueWatchers               // watching, NextAt at or before now or Lapsed, in the order of CompareTicks; at most MaxTick
	LapsedWatchers            // see Lapsed; in the order of CompareTicks; at most MaxTick
	NewestActive              // the last of those that are Active, in the order of CompareWatchers
	AllWatchers               // the latest MaxHistory, in the order of CompareWatchers
)

// Pick returns the watchers of the set, in the set's order, from all the watchers of a wallet.
// It may reorder its argument. An unknown set has no watchers.
func (set WatcherSet) Pick(all []Watcher, now time.Time) []Watcher {
	is, compare, limit := func(*Watcher) bool { return false }, CompareTicks, MaxTick
	switch set {
	case AnyWatching:
		is, limit = func(w *Watcher) bool { return w.Status == Watching }, 1
	case DueWatchers:
		is = func(w *Watcher) bool { return w.Status == Watching && !now.Before(w.due()) }
	case LapsedWatchers:
		is = func(w *Watcher) bool { return w.Lapsed(now) }
	case NewestActive:
		is, limit = func(w *Watcher) bool { return w.Active(now) }, 1
		compare = func(a, b *Watcher) int { return CompareWatchers(b, a) }
	case AllWatchers:
		is, limit, compare = func(*Watcher) bool { return true }, len(all), CompareWatchers
	}
	all = slices.DeleteFunc(all, func(w Watcher) bool { return !is(&w) })
	slices.SortFunc(all, func(a, b Watcher) int { return compare(&a, &b) })
	all = all[:min(len(all), limit)]
	return all[max(0, len(all)-MaxHistory):]
}

// Reads is what must be loaded of a wallet before an event, beside the wallet
// itself and its lock.
type Reads struct {
	Job        uuid.UUID // this one, if it exists
	Jobs       JobSet
	Watchers   WatcherSet
	Recipients []string // the watchers of these, whatever their status
	// Invoices: the watchers of the recipients of the loaded jobs too.
	Invoices bool
}

// NextReads is what must be loaded for [Policy.Next]. The first Reads has the due records. If the
// wallet looks idle with these, load the second Reads instead, which has records that are not due yet.
func NextReads() [2]Reads {
	return [2]Reads{{Jobs: DueJobs, Watchers: DueWatchers}, {Jobs: AnyLiveJob, Watchers: AnyWatching}}
}

// TakesLock reports whether ev takes the wallet's lock, so that the store has to draw a fence
// for it, see [WithFence]. w must hold what [Needs] says.
func (c Policy) TakesLock(w Work, ev Event, now time.Time) bool {
	with, may := fenced(ev, math.MaxInt64)
	if !may {
		return false
	}
	change, err := c.ApplyAt(w, with, now)
	return err == nil && change.New.Lock != change.Old.Lock
}

// WithFence returns ev with the fence of the lock that it takes.
func WithFence(ev Event, fence int64) Event {
	ev, _ = fenced(ev, fence)
	return ev
}

// fenced is WithFence; may is false of an event that never takes a lock.
func fenced(ev Event, fence int64) (with Event, may bool) {
	switch e := ev.(type) {
	case JobClaimed:
		e.Lock = fence
		return e, true
	case Looked:
		e.Lock = fence
		return e, true
	case Locked:
		e.Fence = fence
		return e, true
	}
	return ev, false
}

// Needs says what Apply must find in [Work] for ev.
func Needs(ev Event) Reads {
	switch e := ev.(type) {
	case Enqueued:
		return Reads{Job: e.Job, Jobs: JoinableJobs}
	case Recovering:
		return Reads{Job: e.Job, Jobs: JoinableJobs, Watchers: NewestActive}
	case RoundEnded:
		if e.End == EndIdle {
			return Reads{Jobs: AnyLiveJob, Watchers: AnyWatching}
		}
	case Revoked:
		return Reads{Jobs: DueJobs}
	case Reconciled:
		return Reads{Jobs: AllJobs, Watchers: AllWatchers}
	case JobClaimed:
		return Reads{Jobs: DueJobs, Invoices: true}
	case JobDone:
		return Reads{Job: e.Job, Recipients: e.Listing.recipients()}
	case JobNotDone:
		return Reads{Job: e.Job}
	case Looked:
		return Reads{Jobs: DueJobs, Watchers: DueWatchers}
	case Ticked:
		return Reads{Jobs: DueJobs, Recipients: e.Recipients}
	case Elapsed:
		return Reads{Watchers: LapsedWatchers}
	}
	return Reads{}
}

// recipients are those of the listing, each once.
func (l *Listing) recipients() (all []string) {
	known := map[string]bool{}
	for i := range l.Transfers {
		if r := l.Transfers[i].Recipient; word(r) && !known[r] {
			known[r] = true
			all = append(all, r)
		}
	}
	return all
}

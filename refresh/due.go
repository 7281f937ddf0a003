package refresh

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"github.com/google/uuid"
)

// What makes a record due, when, and in which order.

// Live reports whether the job is pending or processing.
func (j *Job) Live() bool { return j.Status == JobPending || j.Status == JobProcessing }

// Joinable reports whether a new sync or recovery job may join it.
func (j *Job) Joinable() bool {
	return j.Status == JobPending && j.Attempts == 0 && (j.Cause == Sync || j.Cause == Recovery)
}

// due is when the job itself is due: a pending one from AvailableAt on, one in
// processing when its lease has ended. Zero: never.
func (j *Job) due() time.Time {
	switch j.Status {
	case JobPending:
		return j.AvailableAt
	case JobProcessing:
		return j.Lease.Until
	}
	return time.Time{}
}

// Due is when the job is due work of its wallet; zero: never.
func (j *Job) Due(w *Wallet) time.Time {
	at := j.due()
	if !at.IsZero() && at.Before(w.NotBefore) {
		return w.NotBefore
	}
	return at
}

// CompareJobs orders the jobs of a wallet: the order of creation.
func CompareJobs(a, b *Job) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// Active reports whether the watcher is watching and not past its expiry.
func (w *Watcher) Active(now time.Time) bool { return w.Status == Watching && now.Before(w.ExpiresAt) }

// Lapsed reports whether the watcher ends without a look-up: provisional and
// at or past its expiry.
func (w *Watcher) Lapsed(now time.Time) bool {
	return w.Status == Watching && w.Provisional && !now.Before(w.ExpiresAt)
}

// Due is when the watcher is due work of its wallet; zero: never. NotBefore
// does not put the expiry of a provisional one off.
func (w *Watcher) Due(of *Wallet) time.Time {
	if w.Status != Watching {
		return time.Time{}
	}
	at := w.NextAt
	if at.Before(of.NotBefore) {
		at = of.NotBefore
	}
	if w.Provisional && w.ExpiresAt.Before(at) {
		at = w.ExpiresAt
	}
	return at
}

// CompareTicks orders due watchers: those that wait longest first.
func CompareTicks(a, b *Watcher) int {
	return cmp.Or(a.NextAt.Compare(b.NextAt), strings.Compare(a.Recipient, b.Recipient))
}

// CompareWatchers orders the watchers of a wallet by age.
func CompareWatchers(a, b *Watcher) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.Recipient, b.Recipient))
}

// Candidate is an unserved wallet that needs a worker: it has due work, or a
// watching row.
type Candidate struct {
	XpubVan string
	// Since is from when it waits: the later one of its last release and the
	// time at which its oldest work became or becomes due. At or before now
	// it has due work.
	Since time.Time
}

// Due reports whether the wallet has due work.
func (c *Candidate) Due(now time.Time) bool { return !now.Before(c.Since) }

// CompareCandidates orders wallets that wait: the longest unserved first.
func CompareCandidates(a, b Candidate) int {
	return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.XpubVan, b.XpubVan))
}

// Candidate says whether an unserved wallet needs a worker at now; jobs and
// watchers are all its live ones. Without due work it needs one for a watching
// row, but not while its calls hang.
func (w *Wallet) Candidate(jobs []Job, watchers []Watcher, now time.Time) (Candidate, bool) {
	c := Candidate{XpubVan: w.XpubVan}
	var oldest time.Time
	first := func(at time.Time) {
		if !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	watching := false
	for i := range jobs {
		first(jobs[i].Due(w))
	}
	for i := range watchers {
		first(watchers[i].Due(w))
		watching = watching || watchers[i].Status == Watching
	}
	if w.Status != Unserved || oldest.IsZero() {
		return c, false
	}
	c.Since = oldest
	if oldest.Before(w.UnservedSince) {
		c.Since = w.UnservedSince
	}
	return c, c.Due(now) || watching && !now.Before(w.NotBefore)
}

// JobSet says which jobs of a wallet an event needs.
type JobSet uint8

const (
	NoJobs       JobSet = iota
	AnyLiveJob          // one that is pending or processing, if there is any
	DueJobs             // in processing, or pending and due at now whatever NotBefore says; the first MaxDueJobs in the order of processing first, then CompareJobs
	JoinableJobs        // a live recovery job, then the first that is Joinable in the order of CompareJobs; at most 2
	AllJobs             // the latest MaxHistory, in the order of CompareJobs
)

// MaxDueJobs bounds the due jobs that a claim looks at, MaxHistory what is read
// of a whole wallet.
const (
	MaxDueJobs = 20
	MaxHistory = 10_000
)

// Has reports whether the set holds j at now. AnyLiveJob holds them all, of
// which one is enough.
func (set JobSet) Has(j *Job, now time.Time) bool {
	switch set {
	case AnyLiveJob:
		return j.Live()
	case DueJobs:
		return j.Status == JobProcessing || j.Status == JobPending && !now.Before(j.AvailableAt)
	case JoinableJobs:
		return j.Joinable() || j.Live() && j.Cause == Recovery
	case AllJobs:
		return true
	}
	return false
}

// WatcherSet says which watchers of a wallet an event needs.
type WatcherSet uint8

const (
	NoWatchers     WatcherSet = iota
	AnyWatching               // one that is watching, if there is any
	DueWatchers               // watching, NextAt at or before now, in the order of CompareTicks; at most MaxTick
	LapsedWatchers            // see Lapsed; in the order of CompareTicks; at most MaxTick
	NewestActive              // the last of those that are Active, in the order of CompareWatchers
	AllWatchers               // the latest MaxHistory, in the order of CompareWatchers
)

// Has reports whether the set holds w at now. AnyWatching holds them all, of
// which one is enough; so does NewestActive, of which the last is.
func (set WatcherSet) Has(w *Watcher, now time.Time) bool {
	switch set {
	case AnyWatching:
		return w.Status == Watching
	case DueWatchers:
		return w.Status == Watching && !now.Before(w.NextAt)
	case LapsedWatchers:
		return w.Lapsed(now)
	case NewestActive:
		return w.Active(now)
	case AllWatchers:
		return true
	}
	return false
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

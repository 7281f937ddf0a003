package refresh

import (
	"bytes"
	"cmp"
	"strings"
	"time"
)

// What makes a record due, when, and in which order.

// Live reports whether the job is pending or processing.
func (j *Job) Live() bool { return j.Status == JobPending || j.Status == JobProcessing }

// Joinable reports whether a new sync or recovery job may join it.
func (j *Job) Joinable() bool {
	return j.Status == JobPending && j.Attempts == 0 && (j.Cause == Sync || j.Cause == Recovery)
}

// due is when the job itself is due: a pending job from AvailableAt on, a processing job when
// its lease has ended. Zero: never.
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

// held reports whether no job of the wallet can begin: the wallet's lock is held, or a worker
// holds another job.
func (w *Work) held(now time.Time) bool {
	return w.Lock.Lease.Held(now) || w.working(now)
}

// working reports whether a worker holds a job.
func (w *Work) working(now time.Time) bool {
	return find(w.Jobs, func(j *Job) bool { return j.working(now) }) >= 0
}

// working reports whether a worker holds the job.
func (j *Job) working(now time.Time) bool { return j.Status == JobProcessing && j.Lease.Held(now) }

// CompareJobs orders the jobs of a wallet: the order of creation.
func CompareJobs(a, b *Job) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// Active reports whether the watcher is watching and not past its expiry.
func (w *Watcher) Active(now time.Time) bool { return w.Status == Watching && now.Before(w.ExpiresAt) }

// Lapsed reports whether the watcher ends without a look-up: it is provisional and at or past
// its expiry.
func (w *Watcher) Lapsed(now time.Time) bool {
	return w.Status == Watching && w.Provisional && !now.Before(w.ExpiresAt)
}

// due is when a watching watcher itself is due: at NextAt, a provisional one at its expiry at
// the latest. (The expiry is earlier than NextAt after a tick whose second half never came.)
func (w *Watcher) due() time.Time { return w.noLater(w.NextAt) }

func (w *Watcher) noLater(at time.Time) time.Time {
	if w.Provisional && w.ExpiresAt.Before(at) {
		return w.ExpiresAt
	}
	return at
}

// Due is when the watcher is due work of its wallet; zero: never. The wallet's NotBefore does
// not put off the expiry of a provisional watcher.
func (w *Watcher) Due(of *Wallet) time.Time {
	switch {
	case w.Status != Watching:
		return time.Time{}
	case w.NextAt.Before(of.NotBefore):
		return w.noLater(of.NotBefore)
	}
	return w.due()
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
	// Since is when its waiting began: its last release, or the time at which its oldest work
	// became or becomes due, whichever is later. If Since is at or before now, the wallet has
	// due work.
	Since time.Time
}

// Due reports whether the wallet has due work.
func (c *Candidate) Due(now time.Time) bool { return !now.Before(c.Since) }

// CompareCandidates orders wallets that wait: the longest unserved first.
func CompareCandidates(a, b Candidate) int {
	return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.XpubVan, b.XpubVan))
}

// Candidate says whether an unserved wallet needs a worker at now. jobs and watchers must be
// all its live ones. A wallet without due work needs a worker for a watching row, but not while
// it rests because its calls hang.
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

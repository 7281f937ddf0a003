package refresh

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Stats is what a store counts at the moment At.
type Stats struct {
	At       time.Time
	Jobs     map[JobStatus]int64
	Watchers map[WatcherStatus]int64
	Locks    int64 // rows of wallet_locks: wallets being refreshed, with expired rows not yet swept
	Served   int64 // wallets whose slot is held at At: the active processes

	OldestLive    time.Time // created_at of the oldest live job, however often it was put off; zero: none
	Newest        time.Time // created_at of the newest live job or watching watcher; zero: none
	OldestJob     time.Time // available_at of the oldest due pending job: at or before At; zero: none
	OldestWatcher time.Time // next_at of the oldest due watching watcher; zero: none
	LeaseExpired  int64     // jobs in processing whose lease has ended: the next claim of the wallet returns them
	OldestLapse   time.Time // the end of the lease that ended first of these; zero: none
	PastExpiry    int64     // watching, at or past expires_at: no look-up answered, or one more try
	OldestExpiry  time.Time // expires_at of the one of these that expired first; zero: none
	PastExpiryOf  string    // xpub_van of its wallet; empty: none
	ExpiredOpen   int64     // ended as expired_open, and no later job has refreshed the wallet: an operator's
	Refused       int64     // watching, and the host refuses to cancel the transfer: an operator's
	Hung          int64     // wallets whose last round hung
	NotEnqueued   int64     // jobs that a process could not store yet, or has dropped: the host's count, no store's

	// Failed has the wallets with the most failed jobs and their numbers, the most first, then
	// by xpub; at most MaxFailed. A later job that refreshed the wallet settles a failed one.
	Failed        []WalletCount
	FailedWallets int64 // all of them
}

// WalletCount is a number of one wallet.
type WalletCount struct {
	XpubVan string
	Count   int64
}

// MaxFailed bounds Stats.Failed.
const MaxFailed = 100

// Refreshed is the Seq of the latest job that refreshed the wallet, -1 without one. Such a job settles what had ended
// before the job was made: a failed job, and a watcher that expired open.
func (w *Work) Refreshed() int64 {
	latest := int64(-1)
	for k := range w.Jobs {
		if j := &w.Jobs[k]; j.Status == JobCompleted && !j.Invoice() {
			latest = max(latest, j.Seq)
		}
	}
	return latest
}

// StatsOf counts all wallets, each with all of its jobs and watchers, at now.
func StatsOf(all []Work, now time.Time) Stats {
	s := Stats{At: now, Jobs: map[JobStatus]int64{}, Watchers: map[WatcherStatus]int64{}}
	count := func(n *int64, is bool) {
		if is {
			*n++
		}
	}
	oldest := func(at *time.Time, since time.Time, is bool) {
		if is && !now.Before(since) && (at.IsZero() || since.Before(*at)) {
			*at = since
		}
	}
	newest := func(at time.Time, is bool) {
		if is && at.After(s.Newest) {
			s.Newest = at
		}
	}
	var longest *Watcher
	for i := range all {
		w := &all[i]
		count(&s.Served, w.Wallet.Status == Served && w.Wallet.Lease.Held(now))
		count(&s.Hung, w.Wallet.HungRounds > 0)
		count(&s.Locks, w.Lock != Lock{})
		failed := WalletCount{XpubVan: w.Wallet.XpubVan}
		passed := w.Refreshed()
		for k := range w.Jobs {
			j := &w.Jobs[k]
			s.Jobs[j.Status]++
			oldest(&s.OldestJob, j.due(), j.Status == JobPending)
			lapsed := j.Status == JobProcessing && !j.working(now)
			count(&s.LeaseExpired, lapsed)
			oldest(&s.OldestLapse, j.Lease.Until, lapsed)
			oldest(&s.OldestLive, j.CreatedAt, j.Live())
			newest(j.CreatedAt, j.Live())
			count(&failed.Count, j.Status == JobFailed && passed <= j.EndSeq)
		}
		for k := range w.Watchers {
			x := &w.Watchers[k]
			s.Watchers[x.Status]++
			oldest(&s.OldestWatcher, x.NextAt, x.Status == Watching)
			newest(x.CreatedAt, x.Status == Watching)
			past := x.Status == Watching && !x.Active(now)
			count(&s.PastExpiry, past)
			oldest(&s.OldestExpiry, x.ExpiresAt, past)
			if past && (longest == nil || cmp.Or(x.ExpiresAt.Compare(longest.ExpiresAt),
				strings.Compare(x.XpubVan, longest.XpubVan)) < 0) {
				longest, s.PastExpiryOf = x, x.XpubVan
			}
			count(&s.Refused, x.Status == Watching && x.Refused != "")
			count(&s.ExpiredOpen, x.EndReason == EndOpen && passed <= x.EndSeq)
		}
		if failed.Count > 0 {
			s.Failed = append(s.Failed, failed)
		}
	}
	slices.SortFunc(s.Failed, func(a, b WalletCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.XpubVan, b.XpubVan))
	})
	s.FailedWallets = int64(len(s.Failed))
	s.Failed = s.Failed[:min(len(s.Failed), MaxFailed)]
	return s
}

// Thresholds are the limits of [Alerts], see [DefaultThresholds]. A zero duration switches its
// alert off; a count alerts when it exceeds its limit.
//
// Two of the durations raise their alert even while tries are repeated: JobAge counts from when the
// job was made, and ExpiryWait from the expiry of the watcher, which nothing puts off while it
// watches. The other durations count from times that each try moves.
type Thresholds struct {
	JobAge      time.Duration // a job has not ended, though it may be claimed again and again
	JobWait     time.Duration // a due job is not claimed
	LeaseWait   time.Duration // a job whose lease has ended is not claimed again
	TickWait    time.Duration // a due watcher is not ticked
	ExpiryWait  time.Duration // a watcher past its expiry has not ended
	Ahead       time.Duration // a job or a watcher was made in the future, from which its age and its expiry count
	ExpiredOpen int64
	Refused     int64
	Hung        int64
	NotEnqueued int64
	FailedJobs  int64 // of one wallet
}

// DefaultThresholds watch everything: unfinished work is named at the latest JobAge after a job
// was made, and ExpiryWait after a watcher's expiry. They fit a [DefaultPolicy], whose retries
// of a job end 43 minutes after its first attempt, not counting its calls, and whose wallets
// rest 15 minutes at most.
func DefaultThresholds() Thresholds {
	return Thresholds{JobAge: 2 * time.Hour, JobWait: 20 * time.Minute, LeaseWait: 20 * time.Minute, TickWait: 20 * time.Minute,
		ExpiryWait: time.Hour, Ahead: time.Minute}
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	a.Wait("job age", s.OldestLive, t.JobAge, "a job has not ended")
	a.Wait("job wait", s.OldestJob, t.JobWait, "a due job is not claimed")
	a.Wait("lease expired", s.OldestLapse, t.LeaseWait, fmt.Sprintf("%d jobs have an expired lease, the first", s.LeaseExpired))
	a.Wait("tick wait", s.OldestWatcher, t.TickWait, "a due watcher is not ticked")
	a.Wait("past expiry", s.OldestExpiry, t.ExpiryWait, fmt.Sprintf("%d watchers are past their expiry, the first, of wallet %s,",
		s.PastExpiry, s.PastExpiryOf))
	a.Add(t.Ahead > 0 && s.Newest.Sub(s.At) > t.Ahead, "refresh ahead",
		"a job or a watcher was made at %s, more than %v from now: a clock was ahead, or is behind", s.Newest.UTC().Format(time.RFC3339), t.Ahead)
	a.Add(s.ExpiredOpen > t.ExpiredOpen, "expired open",
		"%d watchers expired while their transfer was open, more than %d", s.ExpiredOpen, t.ExpiredOpen)
	a.Add(s.Refused > t.Refused, "cancellation refused",
		"%d watchers whose transfer the host refuses to cancel, more than %d", s.Refused, t.Refused)
	a.Add(s.Hung > t.Hung, "hung", "%d wallets whose calls time out, more than %d", s.Hung, t.Hung)
	a.Add(s.NotEnqueued > t.NotEnqueued, "not enqueued",
		"%d jobs of API requests are not stored, more than %d: they are tried again, or were dropped", s.NotEnqueued, t.NotEnqueued)
	for _, f := range s.Failed {
		a.Add(f.Count > t.FailedJobs, "failed jobs", "%d failed jobs of wallet %s, more than %d", f.Count, f.XpubVan,
			t.FailedJobs)
	}
	if n := len(s.Failed); n > 0 && s.Failed[n-1].Count > t.FailedJobs {
		more := s.FailedWallets - int64(n)
		a.Add(more > 0, "failed jobs", "failed jobs of %d more wallets", more)
	}
	return a.Alerts
}

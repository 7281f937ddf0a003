package refresh

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stats is what a store counts at the moment At.
type Stats struct {
	At       time.Time
	Jobs     map[JobStatus]int64
	Watchers map[WatcherStatus]int64
	Locks    int64 // rows of wallet_locks: wallets being refreshed, with expired rows not yet swept
	Served   int64 // wallets whose slot is held at At: the active processes

	OldestLive    time.Time // created_at of the oldest live job, however often it was put off; zero: none
	OldestJob     time.Time // available_at of the oldest due pending job: at or before At; zero: none
	OldestWatcher time.Time // next_at of the oldest due watching watcher; zero: none
	LeaseExpired  int64     // jobs in processing whose lease has ended: the next claim of the wallet returns them
	PastExpiry    int64     // watching, at or past expires_at: no look-up answered, or one more try
	PastExpiryOf  string    // xpub_van of the wallet with the one that expired first; empty: there is none
	ExpiredOpen   int64     // ended as expired_open, and no later job has refreshed the wallet: an operator's
	Refused       int64     // watching, and the host refuses to cancel the transfer: an operator's
	Hung          int64     // wallets whose last round hung

	// Failed are the wallets with failed jobs and their number, the most
	// first, then by xpub; at most MaxFailed. A job that was made after the
	// failure and refreshed the wallet settles it.
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
	var longest *Watcher
	for i := range all {
		w := &all[i]
		count(&s.Served, w.Wallet.Status == Served && w.Wallet.Lease.Held(now))
		count(&s.Hung, w.Wallet.HungRounds > 0)
		count(&s.Locks, w.Lock != Lock{})
		failed := WalletCount{XpubVan: w.Wallet.XpubVan}
		passed := int64(-1) // Seq of the latest job that refreshed the wallet
		for k := range w.Jobs {
			if j := &w.Jobs[k]; j.Status == JobCompleted && !j.Invoice() {
				passed = max(passed, j.Seq)
			}
		}
		for k := range w.Jobs {
			j := &w.Jobs[k]
			s.Jobs[j.Status]++
			oldest(&s.OldestJob, j.due(), j.Status == JobPending)
			count(&s.LeaseExpired, j.Status == JobProcessing && !j.working(now))
			oldest(&s.OldestLive, j.CreatedAt, j.Live())
			count(&failed.Count, j.Status == JobFailed && passed <= j.EndSeq)
		}
		for k := range w.Watchers {
			x := &w.Watchers[k]
			s.Watchers[x.Status]++
			oldest(&s.OldestWatcher, x.NextAt, x.Status == Watching)
			past := x.Status == Watching && !x.Active(now)
			count(&s.PastExpiry, past)
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

// Thresholds are the limits of [Alerts]. A zero duration is not watched; a
// count alerts when it exceeds its limit.
type Thresholds struct {
	JobAge       time.Duration // a job has not ended, though it may be claimed again and again
	JobWait      time.Duration // a due job is not claimed
	TickWait     time.Duration // a due watcher is not ticked
	LeaseExpired int64
	PastExpiry   int64
	ExpiredOpen  int64
	Refused      int64
	Hung         int64
	FailedJobs   int64 // of one wallet
}

// Alert is one limit that is exceeded.
type Alert struct {
	Name string // stable: "job wait", "failed jobs", ...
	Text string
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []Alert {
	var out []Alert
	add := func(exceeded bool, name, format string, args ...any) {
		if exceeded {
			out = append(out, Alert{Name: name, Text: fmt.Sprintf(format, args...)})
		}
	}
	wait := func(name string, since time.Time, limit time.Duration, what string) {
		add(limit > 0 && !since.IsZero() && s.At.Sub(since) > limit, name, "%s since %s, longer than %v", what,
			since.UTC().Format(time.RFC3339), limit)
	}
	wait("job age", s.OldestLive, t.JobAge, "a job has not ended")
	wait("job wait", s.OldestJob, t.JobWait, "a due job is not claimed")
	wait("tick wait", s.OldestWatcher, t.TickWait, "a due watcher is not ticked")
	add(s.LeaseExpired > t.LeaseExpired, "lease expired", "%d jobs with an expired lease, more than %d",
		s.LeaseExpired, t.LeaseExpired)
	add(s.PastExpiry > t.PastExpiry, "past expiry",
		"%d watchers past their expiry, more than %d; the longest of wallet %s", s.PastExpiry, t.PastExpiry,
		s.PastExpiryOf)
	add(s.ExpiredOpen > t.ExpiredOpen, "expired open",
		"%d watchers expired while their transfer was open, more than %d", s.ExpiredOpen, t.ExpiredOpen)
	add(s.Refused > t.Refused, "cancellation refused",
		"%d watchers whose transfer the host refuses to cancel, more than %d", s.Refused, t.Refused)
	add(s.Hung > t.Hung, "hung", "%d wallets whose calls time out, more than %d", s.Hung, t.Hung)
	for _, f := range s.Failed {
		add(f.Count > t.FailedJobs, "failed jobs", "%d failed jobs of wallet %s, more than %d", f.Count, f.XpubVan,
			t.FailedJobs)
	}
	if n := len(s.Failed); n > 0 && s.Failed[n-1].Count > t.FailedJobs {
		more := s.FailedWallets - int64(n)
		add(more > 0, "failed jobs", "failed jobs of %d more wallets", more)
	}
	return out
}

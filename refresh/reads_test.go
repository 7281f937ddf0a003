package refresh_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// Each set of a wallet's records: which, in which order, and how many.
func TestSets(t *testing.T) {
	job := func(n byte, created int, cause refresh.Cause, status refresh.JobStatus, attempts int32, available int) refresh.Job {
		return refresh.Job{ID: id(n), CreatedAt: after(time.Duration(created) * time.Second), Cause: cause, Status: status, Attempts: attempts,
			AvailableAt: after(time.Duration(available) * time.Second), Lease: statemachine.Lease{Until: after(time.Hour)}}
	}
	jobs := []refresh.Job{
		job(1, 5, refresh.Sync, refresh.JobPending, 0, 10),
		job(2, 4, refresh.Sync, refresh.JobPending, 0, 11),
		job(3, 3, refresh.Manual, refresh.JobPending, 0, 0),
		job(4, 9, refresh.Recovery, refresh.JobProcessing, 1, 0),
		job(5, 1, refresh.Sync, refresh.JobCompleted, 1, 0),
		job(6, 2, refresh.Sync, refresh.JobPending, 1, 10),
		job(7, 5, refresh.Sync, refresh.JobPending, 0, 10),
	}
	watcher := func(recipient string, created, next, expires int, provisional bool, status refresh.WatcherStatus) refresh.Watcher {
		return refresh.Watcher{Recipient: recipient, CreatedAt: after(time.Duration(created) * time.Second),
			NextAt: after(time.Duration(next) * time.Second), ExpiresAt: after(time.Duration(expires) * time.Second),
			Provisional: provisional, Status: status}
	}
	watchers := []refresh.Watcher{
		watcher("a", 1, 10, 20, false, refresh.Watching),
		watcher("b", 2, 9, 10, true, refresh.Watching),
		watcher("c", 3, 11, 11, true, refresh.Watching),
		watcher("d", 4, 1, 1, false, refresh.Expired),
		watcher("e", 2, 9, 9, false, refresh.Watching),
	}
	now := after(10 * time.Second)
	for set, want := range map[refresh.JobSet]string{
		refresh.NoJobs: "", refresh.AnyLiveJob: "6", refresh.DueJobs: "4 6 3 1 7", refresh.JoinableJobs: "4 2",
		refresh.AllJobs: "5 6 3 2 1 7 4", 99: "",
	} {
		got := ""
		for i, j := range set.Pick(slices.Clone(jobs), now) {
			got += []string{"", " "}[min(i, 1)] + fmt.Sprint(j.ID[15])
		}
		if got != want {
			t.Errorf("set %d: %s, want %s", set, got, want)
		}
	}
	for set, want := range map[refresh.WatcherSet]string{
		refresh.NoWatchers: "", refresh.AnyWatching: "b", refresh.DueWatchers: "bea", refresh.LapsedWatchers: "b", refresh.NewestActive: "c",
		refresh.AllWatchers: "abecd", 99: "",
	} {
		got := ""
		for _, w := range set.Pick(slices.Clone(watchers), now) {
			got += w.Recipient
		}
		if got != want {
			t.Errorf("set %d: %s, want %s", set, got, want)
		}
	}
	many := make([]refresh.Job, refresh.MaxHistory+1)
	for i := range many {
		many[i] = refresh.Job{CreatedAt: after(time.Duration(i) * time.Second), Status: refresh.JobPending, AvailableAt: t0}
	}
	if all := refresh.AllJobs.Pick(slices.Clone(many), now); len(all) != refresh.MaxHistory || !all[0].CreatedAt.Equal(after(time.Second)) {
		t.Errorf("%d jobs from %v", len(all), all[0].CreatedAt)
	}
	if due := refresh.DueJobs.Pick(many, now); len(due) != refresh.MaxDueJobs || !due[0].CreatedAt.Equal(t0) {
		t.Errorf("%d due jobs", len(due))
	}
	if due := refresh.DueWatchers.Pick(slices.Repeat(watchers[:1], refresh.MaxTick+1), now); len(due) != refresh.MaxTick {
		t.Errorf("%d due watchers", len(due))
	}
}

// What each number of the statistics counts, at its boundary.
func TestStatsOf(t *testing.T) {
	lease := func(until time.Time) statemachine.Lease {
		return statemachine.Lease{Holder: "w", Fence: 1, Until: until}
	}
	soon := after(time.Microsecond)
	all := []refresh.Work{
		{Wallet: refresh.Wallet{XpubVan: "a", Status: refresh.Served, Lease: lease(soon), HungRounds: 1},
			Lock: refresh.Lock{XpubVan: "a", Lease: lease(t0)},
			Jobs: []refresh.Job{{Status: refresh.JobPending, AvailableAt: t0}, {Status: refresh.JobPending, AvailableAt: soon},
				{Status: refresh.JobProcessing, Lease: lease(t0)},
				{Status: refresh.JobFailed}, {Status: refresh.JobFailed}},
			Watchers: []refresh.Watcher{{Credentials: refresh.Credentials{XpubVan: "a"}, Status: refresh.Watching, NextAt: after(-time.Minute),
				ExpiresAt: t0}, {Status: refresh.Watching, NextAt: t0, ExpiresAt: soon, Refused: "1"}}},
		{Wallet: refresh.Wallet{XpubVan: "c", Status: refresh.Served, Lease: lease(t0)},
			Jobs: []refresh.Job{{Status: refresh.JobProcessing, Lease: lease(soon)}, {Status: refresh.JobFailed}},
			Watchers: []refresh.Watcher{{Status: refresh.Expired, EndReason: refresh.EndOpen},
				{Status: refresh.Expired, EndReason: refresh.EndGone, Refused: "1"}}},
		{Wallet: refresh.Wallet{XpubVan: "b", Status: refresh.Unserved},
			Jobs: []refresh.Job{{Status: refresh.JobFailed}, {Status: refresh.JobPending, AvailableAt: after(-time.Second)}}},
	}
	for i := range all {
		for k := range all[i].Jobs {
			all[i].Jobs[k].CreatedAt = after(-time.Hour)
		}
	}
	all[1].Jobs[0].CreatedAt = after(-2 * time.Hour)
	all[1].Jobs[1].CreatedAt = after(-3 * time.Hour) // it failed: no longer live
	got := refresh.StatsOf(all, t0)
	want := refresh.Stats{At: t0, Jobs: map[refresh.JobStatus]int64{refresh.JobPending: 3, refresh.JobProcessing: 2, refresh.JobFailed: 4},
		Watchers: map[refresh.WatcherStatus]int64{refresh.Watching: 2, refresh.Expired: 2}, Locks: 1, Served: 1,
		OldestLive: after(-2 * time.Hour), Newest: after(-time.Hour), OldestJob: after(-time.Second),
		OldestWatcher: after(-time.Minute), LeaseExpired: 1, OldestLapse: t0, PastExpiry: 1, OldestExpiry: t0, PastExpiryOf: "a",
		ExpiredOpen: 1, Refused: 1, Hung: 1,
		Failed: []refresh.WalletCount{{XpubVan: "a", Count: 2}, {XpubVan: "b", Count: 1}, {XpubVan: "c", Count: 1}}, FailedWallets: 3}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// The alert of watchers past their expiry names the wallet that has waited longest (of several,
// the first), also where the host refuses its look-ups for ever.
func TestAWalletWhoseLookUpsAreNeverAnsweredIsNamed(t *testing.T) {
	past := func(xpub string, since time.Duration) refresh.Work {
		w := refresh.Watcher{Credentials: refresh.Credentials{XpubVan: xpub}, Status: refresh.Watching, ExpiresAt: after(-since)}
		return refresh.Work{Wallet: refresh.Wallet{XpubVan: xpub}, Watchers: []refresh.Watcher{w}}
	}
	s := refresh.StatsOf([]refresh.Work{past("b", time.Minute), past("d", time.Hour), past("c", time.Hour), past("a", -time.Microsecond)}, t0)
	got := refresh.Alerts(s, refresh.Thresholds{ExpiryWait: time.Hour - 1})
	if s.PastExpiry != 3 || s.PastExpiryOf != "c" || len(got) != 1 || !strings.Contains(got[0].Text, "of wallet c,") {
		t.Errorf("%+v %+v", s, got)
	}
}

// A failed job, or a watcher that expired open, needs an operator until a job that was made
// later has refreshed the wallet. So the alert can end.
func TestWhatALaterPassSettles(t *testing.T) {
	for _, c := range []struct {
		name  string
		later refresh.Job
		open  int64
	}{
		{"a pass", refresh.Job{Cause: refresh.Manual, Status: refresh.JobCompleted, Seq: 8}, 0},
		{"an invoice with asset", refresh.Job{Cause: refresh.InvoiceCreated, Asset: "a", Status: refresh.JobCompleted, Seq: 8}, 0},
		{"an invoice without", refresh.Job{Cause: refresh.InvoiceCreated, Status: refresh.JobCompleted, Seq: 8}, 1},
		{"made before the end", refresh.Job{Cause: refresh.Manual, Status: refresh.JobCompleted, Seq: 7}, 1},
		{"not done yet", refresh.Job{Cause: refresh.Manual, Status: refresh.JobProcessing, Seq: 8}, 1},
	} {
		w := refresh.Work{Wallet: refresh.Wallet{XpubVan: "a"}, Jobs: []refresh.Job{{Status: refresh.JobFailed, EndSeq: 7}, c.later},
			Watchers: []refresh.Watcher{{Status: refresh.Expired, EndReason: refresh.EndOpen, EndSeq: 7}}}
		s := refresh.StatsOf([]refresh.Work{w}, after(time.Minute))
		if s.ExpiredOpen != c.open || int64(len(s.Failed)) != c.open {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// What a store must write: also what changed without a version, and nothing else.
func TestWritten(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a"), open("s", "a")))
	x.do(enqueued(t0, 2, refresh.Sync, "", ""), refresh.Locked{By: by(refresh.API, t0), Fence: x.fence()})
	written := func(c refresh.Change) (all []string) {
		c.Written(func(old, now *refresh.Job) {
			all = append(all, fmt.Sprint("job ", now.ID[15], " ", old.Version, now.Version))
		},
			func(old, now *refresh.Watcher) {
				all = append(all, fmt.Sprint(now.Recipient, " ", old.Version, now.Version))
			})
		return all
	}
	c := x.do(refresh.JobClaimed{By: worker(t0), Slot: x.serve(t0), Lock: x.fence()})
	if got := fmt.Sprint(written(c), len(c.Log)); got != "[job 2 1 1] 0" {
		t.Errorf("a job that is put off: %s", got)
	}
	c = x.do(refresh.Looked{By: worker(t0), Slot: x.serve(t0), Began: t0, Listing: listing(t0, open("r", "a"), ended("s", "a", 2))})
	if got := fmt.Sprint(written(c), len(c.Log)); got != "[r 1 1 s 1 2] 1" {
		t.Errorf("watchers that are put off and that end: %s", got)
	}
	c = x.do(enqueued(t0, 3, refresh.Manual, "", ""))
	if got := fmt.Sprint(written(c)); got != "[job 3 0 1]" {
		t.Errorf("a new job: %s", got)
	}
}

// Wallets with failed jobs beyond those that are named are counted. The alert stays while their
// failed jobs may exceed the limit.
func TestFailedJobsOfMoreWalletsThanAreNamed(t *testing.T) {
	for more, alerts := range map[int]int{0: refresh.MaxFailed, 2: refresh.MaxFailed + 1} {
		var all []refresh.Work
		for i := range refresh.MaxFailed + more {
			all = append(all, refresh.Work{Wallet: refresh.Wallet{XpubVan: fmt.Sprintf("%03d", i), Status: refresh.Unserved},
				Jobs: []refresh.Job{{Status: refresh.JobFailed}}})
		}
		s := refresh.StatsOf(all, t0)
		got := refresh.Alerts(s, refresh.Thresholds{})
		if len(s.Failed) != refresh.MaxFailed || s.FailedWallets != int64(len(all)) || len(got) != alerts {
			t.Errorf("%d more: %d of %d wallets named, %d alerts", more, len(s.Failed), s.FailedWallets, len(got))
		}
		if more > 0 && got[len(got)-1].Text != "failed jobs of 2 more wallets" {
			t.Errorf("%+v", got[len(got)-1])
		}
		if got := refresh.Alerts(s, refresh.Thresholds{FailedJobs: 1}); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	}
}

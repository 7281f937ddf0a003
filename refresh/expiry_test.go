package refresh_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// How a watcher ends, and when it watches again.

// What a look-up says at the end of a watcher.
func TestExpiry(t *testing.T) {
	at := func(d time.Duration) time.Time { return after(24*time.Hour + d) }
	for _, c := range []struct {
		name     string
		when     time.Duration
		answered time.Duration
		listed   []refresh.Transfer
		status   refresh.WatcherStatus
		reason   refresh.EndReason
	}{
		{"before", -time.Microsecond, -time.Microsecond, nil, refresh.Watching, 0},
		{"answered before", time.Second, -time.Microsecond, nil, refresh.Watching, 0},
		{"gone", 0, 0, nil, refresh.Expired, refresh.EndGone},
		{"gone later", time.Hour, time.Hour, nil, refresh.Expired, refresh.EndGone},
		{"waiting for the counterparty", 0, 0, []refresh.Transfer{open("r", "a")}, refresh.Expired, refresh.EndOpen},
		{"waiting for confirmations", 0, 0, []refresh.Transfer{ended("r", "a", 1)}, refresh.Expired, refresh.EndOpen},
		{"terminal first", 0, 0, []refresh.Transfer{ended("r", "a", 2)}, refresh.Settled, refresh.EndTransfer},
		{"failed first", 0, 0, []refresh.Transfer{ended("r", "a", 3)}, refresh.Failed, refresh.EndTransfer},
	} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, open("r", "a")))
		x.w.Watchers[0].NextAt = at(-time.Second)
		l := refresh.Listing{Answered: at(c.answered), Transfers: c.listed}
		x.tick(at(c.when), l, done)
		if w := x.watcher("r"); w.Status != c.status || w.EndReason != c.reason || len(x.w.Jobs) != 1 {
			t.Errorf("%s: %+v, jobs %d", c.name, w, len(x.w.Jobs))
		}
	}
	// Without an answer only a provisional one expires.
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(enqueued(after(24*time.Hour-180*time.Second), 2, refresh.InvoiceCreated, "p", ""))
	x.claim(after(24*time.Hour - 180*time.Second))
	slot := x.serve(at(0))
	x.do(refresh.Looked{By: worker(at(0)), Slot: slot, Lock: x.fence(), Began: at(0), Error: "no answer"})
	if r, p := x.watcher("r"), x.watcher("p"); r.Status != refresh.Watching || r.LastError != "no answer" ||
		!r.NextAt.Equal(at(30*time.Second)) || p.EndReason != refresh.EndProvisional {
		t.Errorf("%+v %+v", r, p)
	}
}

// The last refresh before the expiry is not put off past it.
func TestNextTickIsNotPastTheExpiry(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
	x.claim(t0)
	began := after(160 * time.Second)
	x.tick(began, listing(began), done)
	if w := x.watcher("r"); !w.NextAt.Equal(after(180 * time.Second)) {
		t.Errorf("next at %v", w.NextAt.Sub(t0))
	}
}

// A provisional watcher that a terminal status or a cancellation ends makes no sync job. One
// whose cancellation fails at the expiry makes one.
func TestEndOfAProvisionalWatcher(t *testing.T) {
	end := after(180 * time.Second)
	old := open("r", "")
	old.Expiration = t0.Unix() - 1
	for _, c := range []struct {
		transfer refresh.Transfer
		outcome  statemachine.Outcome
		reason   refresh.EndReason
		jobs     int
	}{
		{ended("r", "", 2), 0, refresh.EndTransfer, 1},
		{ended("r", "", 3), 0, refresh.EndTransfer, 1},
		{old, done, refresh.EndCancelled, 1},
		{old, failed, refresh.EndProvisional, 2},
	} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
		x.claim(t0)
		x.tick(end, listing(end, c.transfer), c.outcome)
		if w := x.watcher("r"); w.EndReason != c.reason || len(x.w.Jobs) != c.jobs {
			t.Errorf("%+v: %+v, %d jobs", c.transfer, w, len(x.w.Jobs))
		}
	}
	// Its expiry waits for no lock.
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
	x.claim(t0)
	locked := refresh.Locked{By: by(refresh.API, end), Fence: x.fence()}
	x.do(locked)
	if c := x.tick(end, listing(end, old), done); c.Tick.Locked() || x.watcher("r").EndReason != refresh.EndProvisional {
		t.Errorf("%+v", x.watcher("r"))
	}
}

// However a row ended, it is watched again only by a listing under a lock that was taken after
// its end, since only such a listing surely began after the end.
func TestWatchedAgain(t *testing.T) {
	for _, how := range []int{0, refresh.TransferSettled, refresh.TransferFailed} {
		for _, again := range []bool{false, true} {
			x := newWorld(t)
			x.do(enqueued(t0, 1, refresh.Sync, "", ""))
			x.pass(t0, listing(t0, open("r", "a")))
			end := after(24 * time.Hour)
			x.w.Watchers[0].NextAt = end
			x.do(enqueued(end, 2, refresh.Manual, "", ""))
			var h refresh.Fences
			if !again {
				h = x.claim(end)
			}
			x.tick(end, listing(end, ended("r", "a", how)), done)
			ended := x.watcher("r")
			if again {
				h = x.claim(end)
			}
			x.do(refresh.JobDone{By: worker(end), Fences: h, Listing: listing(end, open("r", "a"))})
			w := x.watcher("r")
			if again != (w.Status == refresh.Watching) || !again && w != ended {
				t.Errorf("%v, the lock was taken later: %v: %+v", ended.Status, again, w)
			}
			if again && (w.RefreshCount != 0 || w.ExpiresAt.Sub(end) != 24*time.Hour || !w.EndedAt.IsZero() || w.EndReason != 0 || w.EndSeq != 0 ||
				!w.NextAt.Equal(end)) {
				t.Errorf("%+v", w)
			}
		}
	}
}

// Several transfers of one recipient.
func TestSeveralTransfersOfOneRecipient(t *testing.T) {
	with := func(t refresh.Transfer, index int32, hasIndex bool) refresh.Transfer {
		t.Index, t.HasIndex = index, hasIndex
		return t
	}
	old := open("r", "a")
	old.Expiration = t0.Unix() - 1
	settled, failedT := ended("r", "a", 2), ended("r", "a", 3)
	for _, c := range []struct {
		name   string
		listed []refresh.Transfer
		want   string
	}{
		{"open keeps it", []refresh.Transfer{with(settled, 9, true), with(open("r", "a"), 1, true)}, "watching none"},
		{"confirming keeps it", []refresh.Transfer{with(settled, 9, true), with(ended("r", "a", 1), 1, true)}, "watching none"},
		{"highest settled", []refresh.Transfer{with(settled, 2, true), with(failedT, 1, true)}, "settled transfer"},
		{"highest failed", []refresh.Transfer{with(settled, 1, true), with(failedT, 2, true)}, "failed transfer"},
		{"0 is above none", []refresh.Transfer{with(failedT, 0, true), with(settled, 5, false)}, "failed transfer"},
		{"cancelled is the highest", []refresh.Transfer{with(old, 3, true), with(settled, 1, true)}, "expired cancelled"},
		{"settled is above the cancelled one", []refresh.Transfer{with(old, 3, true), with(settled, 4, true)}, "settled transfer"},
		{"one cancelled, one open", []refresh.Transfer{with(old, 3, true), with(open("r", "a"), 1, true)}, "watching none"},
		{"equal indexes", []refresh.Transfer{with(failedT, 1, true), with(settled, 1, true)}, "settled transfer"},
	} {
		for _, reversed := range []bool{false, true} {
			x := newWorld(t)
			x.do(enqueued(t0, 1, refresh.Sync, "", ""))
			x.pass(t0, listing(t0, open("r", "a")))
			l := listing(t0, c.listed...)
			if reversed {
				l.Transfers = []refresh.Transfer{c.listed[1], c.listed[0]}
			}
			x.tick(t0, l, done)
			w := x.watcher("r")
			if got := fmt.Sprint(w.Status, " ", w.EndReason); got != c.want {
				t.Errorf("%s (reversed %v): %s, want %s", c.name, reversed, got, c.want)
			}
		}
	}
}

// When a worker dies between the halves of a tick, the provisional expiry is not put off: the
// watcher is due at its expiry, whatever NextAt the first half set.
func TestAProvisionalExpiryAfterACrash(t *testing.T) {
	end := after(180 * time.Second)
	old := open("r", "")
	old.Expiration = t0.Unix() - 1
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
	x.claim(t0)
	slot := x.serve(end)
	c := x.do(refresh.Looked{By: worker(end), Slot: slot, Lock: x.fence(), Began: end, Listing: listing(end, old)})
	if w := x.watcher("r"); !c.Tick.Locked() || w.Status != refresh.Watching || !w.NextAt.Equal(end.Add(30*time.Second)) {
		t.Fatalf("%+v", w)
	}
	x.w.Lock = refresh.Lock{} // it ended with its worker
	now := end.Add(time.Second)
	if due := refresh.DueWatchers.Pick(slices.Clone(x.w.Watchers), now); len(due) != 1 || config.Next(x.w, now).Do != refresh.DoTick {
		t.Error("the watcher is not due")
	}
	x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: x.fence(), Began: now, Listing: listing(now)})
	if w := x.watcher("r"); w.EndReason != refresh.EndProvisional || len(x.w.Jobs) != 2 {
		t.Errorf("%+v", w)
	}
}

// A provisional watcher ends at its expiry, in a tick or a pass, although its cancellation is
// deferred each time or not called; it makes one sync job.
func TestAProvisionalExpiryWhileCancellationsAreDeferred(t *testing.T) {
	old := open("r", "")
	old.Expiration = t0.Unix() - 1
	deferred := refresh.Cancelled{Index: old.Index, Outcome: statemachine.Deferred}
	for _, how := range []string{"tick", "pass"} {
		for name, answers := range map[string][]refresh.Cancelled{"deferred": {deferred}, "not called": nil} {
			for past, want := range map[time.Duration]string{-time.Microsecond: "watching none 0", 0: "expired provisional 1"} {
				x := newWorld(t)
				x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
				x.claim(t0)
				now := after(180*time.Second + past)
				if how == "pass" {
					x.do(enqueued(now, 2, refresh.Manual, "", ""))
					x.pass(now, listing(now, old), answers...)
				} else {
					slot, lock := x.serve(now), x.fence()
					looked := x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: lock, Began: now, Listing: listing(now, old)})
					if fmt.Sprint(looked.Tick.Cancel) != "[1]" {
						t.Fatalf("asks %v", looked.Tick.Cancel)
					}
					x.do(refresh.Ticked{By: worker(now), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: now, Listing: listing(now, old),
						Recipients: looked.Tick.Recipients, Cancelled: answers, Refreshed: done})
				}
				syncs := 0
				for _, j := range x.w.Jobs {
					if j.Cause == refresh.Sync {
						syncs++
					}
				}
				w := x.watcher("r")
				if got := fmt.Sprint(w.Status, " ", w.EndReason, " ", syncs); got != want {
					t.Errorf("%s, %s, %v past: %s, want %s", how, name, past, got, want)
				}
			}
		}
	}
}

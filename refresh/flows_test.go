package refresh_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

const (
	done   = statemachine.Done
	failed = statemachine.Failed
)

// open is a transfer of a blind receive that waits for its counterparty.
func open(recipient, asset string) refresh.Transfer {
	return refresh.Transfer{Recipient: recipient, Asset: asset, Kind: refresh.ReceiveBlind, Index: 1, HasIndex: true}
}

func ended(recipient, asset string, status int) refresh.Transfer {
	t := open(recipient, asset)
	t.Status = status
	return t
}

func after(d time.Duration) time.Time { return t0.Add(d) }

// Flows 1, 3 and 4: one pass, then ticks every 30 s until the transfer ends.
func TestPassAndTicksUntilTheTransferEnds(t *testing.T) {
	for _, cause := range []refresh.Cause{refresh.InvoiceCreated, refresh.AssetSent, refresh.Sync, refresh.Manual} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, cause, "r", "asset"))
		x.pass(t0, listing(t0, open("r", "asset"), open("other", ""), refresh.Transfer{Kind: refresh.Issuance}))
		if j := x.job(1); j.Status != refresh.JobCompleted || j.Attempts != 1 || x.w.Lock != (refresh.Lock{}) {
			t.Fatalf("%v: %+v, lock %+v", cause, j, x.w.Lock)
		}
		w := x.watcher("r")
		if len(x.w.Watchers) != 2 || w.Asset != "asset" || w.Provisional || x.watcher("other").Provisional || !w.ExpiresAt.Equal(after(24*time.Hour)) || !w.NextAt.Equal(t0) {
			t.Fatalf("%v: %+v", cause, x.w.Watchers)
		}
		x.tick(t0, listing(t0, open("r", "asset")), done)
		for _, n := range []struct {
			at    time.Duration
			count int64
		}{{30*time.Second - time.Microsecond, 1}, {30 * time.Second, 2}, {60*time.Second - time.Microsecond, 2}, {61 * time.Second, 3}, {90 * time.Second, 3}, {91 * time.Second, 4}} {
			x.tick(after(n.at), listing(after(n.at), open("r", "asset")), done)
			if w := x.watcher("r"); w.RefreshCount != n.count {
				t.Errorf("at %v: %d refreshes, want %d", n.at, w.RefreshCount, n.count)
			}
		}
		x.tick(after(130*time.Second), listing(after(130*time.Second), ended("r", "asset", refresh.TransferSettled)), done)
		w = x.watcher("r")
		if w.Status != refresh.Settled || w.EndReason != refresh.EndTransfer || w.RefreshCount != 4 || !w.EndedAt.Equal(after(130*time.Second)) {
			t.Errorf("%v: %+v", cause, w)
		}
		if o := x.watcher("other"); o.Status != refresh.Watching || o.RefreshCount != 5 {
			t.Errorf("one look-up and one refresh serve all due watchers, listed or not: %+v", o)
		}
	}
}

// Flow 2: no lock, no refresh; refreshes at 0, 30, ... 150; at 180 s expired
// with exactly one sync job, in one commit.
func TestInvoiceWithoutAsset(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
	slot := x.serve(t0)
	x.w.Lock = refresh.Lock{XpubVan: "xpub-van", LockedAt: t0, Lease: statemachine.Lease{Holder: "other", Fence: 9, Until: after(time.Second)}}
	c := x.do(refresh.JobClaimed{By: worker(t0), Slot: slot, Lock: 10})
	if j := x.job(1); j.Status != refresh.JobCompleted || j.Attempts != 1 || c.New.Lock != c.Old.Lock || c.Job != id(1) {
		t.Fatalf("%+v", j)
	}
	x.w.Lock, x.n = refresh.Lock{}, 20
	w := x.watcher("r")
	if !w.Provisional || !w.ExpiresAt.Equal(after(180*time.Second)) || !w.NextAt.Equal(t0) {
		t.Fatalf("%+v", w)
	}
	for s := range 180 {
		x.tick(after(time.Duration(s)*time.Second), listing(after(time.Duration(s)*time.Second)), done)
		if want := int64(s/30 + 1); x.watcher("r").RefreshCount != want {
			t.Fatalf("at %d s: %d refreshes, want %d", s, x.watcher("r").RefreshCount, want)
		}
	}
	just := after(180*time.Second - time.Microsecond)
	x.do(refresh.Elapsed{By: worker(just), Slot: x.serve(just)})
	if w := x.watcher("r"); w.Status != refresh.Watching {
		t.Fatal("expired early")
	}
	end := after(180 * time.Second)
	slot = x.serve(end)
	stale := x.load(refresh.Elapsed{}, end)
	c = x.do(refresh.Elapsed{By: worker(end), Slot: slot})
	w = x.watcher("r")
	if w.Status != refresh.Expired || w.EndReason != refresh.EndProvisional || len(x.w.Jobs) != 2 || len(c.Log) != 2 {
		t.Fatalf("%+v %+v", w, x.w.Jobs)
	}
	sync := x.w.Jobs[1]
	if sync.Cause != refresh.Sync || sync.Status != refresh.JobPending || sync.Credentials != alice || sync.Recipient != "" || sync.Asset != "" || x.w.Wallet.WorkSeq != 2 || sync.ID.Version() != 4 {
		t.Errorf("%+v", sync)
	}
	again, err := config.Apply(stale, refresh.Elapsed{By: worker(end), Slot: slot})
	if err != nil || again.New.Jobs[0].ID != sync.ID {
		t.Error("a second worker would make another sync job")
	}
	x.do(refresh.Elapsed{By: worker(end), Slot: slot})
	if len(x.w.Jobs) != 2 {
		t.Error("expired twice")
	}
	// The listing of the sync job began later: watched again, no longer provisional.
	x.pass(after(181*time.Second), listing(after(181*time.Second), open("r", "")))
	if w := x.watcher("r"); w.Status != refresh.Watching || w.Provisional || w.RefreshCount != 0 || !w.ExpiresAt.Equal(after(181*time.Second+24*time.Hour)) || !w.CreatedAt.Equal(t0) {
		t.Errorf("%+v", w)
	}
}

// A row of any status is left alone by an invoice.
func TestInvoiceWithAnExistingRow(t *testing.T) {
	for status := range 4 {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, open("r", "asset")))
		x.tick(t0, listing(t0, ended("r", "asset", status)), done)
		before := x.watcher("r")
		x.do(enqueued(t0, 2, refresh.InvoiceCreated, "r", ""))
		x.claim(t0)
		if x.watcher("r") != before || x.job(2).Status != refresh.JobCompleted {
			t.Errorf("status %d: %+v", status, x.watcher("r"))
		}
	}
}

// An asset clears provisional and gives the long life, in a tick and in a pass;
// an expiry never moves back.
func TestAssetFound(t *testing.T) {
	for _, c := range []struct {
		name       string
		expiration int64
		expires    time.Duration
	}{
		{"no expiration", 0, 24 * time.Hour},
		{"a near expiration", t0.Unix() - 31, 24 * time.Hour},
		{"exactly as long", t0.Unix() - 30, 24 * time.Hour},
		{"a far expiration", t0.Unix() + 3600, 25*time.Hour + 30*time.Second},
		{"ten years", t0.Add(refresh.MaxAhead).Unix(), refresh.MaxAhead + 24*time.Hour + 30*time.Second},
		{"more than ten years", t0.Add(refresh.MaxAhead).Unix() + 1, 24 * time.Hour},
	} {
		for _, pass := range []bool{false, true} {
			x := newWorld(t)
			x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
			x.claim(t0)
			listed := open("r", "asset")
			listed.Status, listed.Expiration = refresh.WaitingConfirmations, c.expiration
			if pass {
				x.do(enqueued(t0, 2, refresh.Sync, "", ""))
				x.pass(t0, listing(t0, listed))
			} else {
				x.tick(t0, listing(t0, listed), done)
			}
			if w := x.watcher("r"); w.Provisional || w.Asset != "asset" || w.ExpiresAt.Sub(t0) != c.expires {
				t.Errorf("%s, pass %v: %v %+v", c.name, pass, w.ExpiresAt.Sub(t0), w)
			}
			x.do(enqueued(after(time.Minute), 3, refresh.InvoiceCreated, "r", "")) // changes nothing
			later := after(time.Minute)
			x.claim(later)
			x.tick(later, listing(later, open("r", "another asset")), done)
			if w := x.watcher("r"); w.Asset != "asset" || w.ExpiresAt.Sub(t0) != c.expires {
				t.Errorf("%s: moved to %v, asset %s", c.name, w.ExpiresAt.Sub(t0), w.Asset)
			}
		}
	}
}

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
		l := refresh.Listing{Began: at(min(c.answered, c.when)), Answered: at(c.answered), Transfers: c.listed}
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
	if r, p := x.watcher("r"), x.watcher("p"); r.Status != refresh.Watching || r.LastError != "no answer" || !r.NextAt.Equal(at(30*time.Second)) || p.EndReason != refresh.EndProvisional {
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

// A cancellation that is due at the expiry and does not work is tried once
// more, an interval later; then the watcher expires.
func TestCancellationAtTheExpiry(t *testing.T) {
	day := after(24 * time.Hour)
	old := open("r", "a")
	old.Expiration = t0.Unix() - 24*3600 // the watcher ends after WATCHER_TTL
	noIndex := old
	noIndex.HasIndex = false
	for _, c := range []struct {
		name     string
		transfer refresh.Transfer
		first    statemachine.Outcome
		second   statemachine.Outcome
		want     string
	}{
		{"works at once", old, done, 0, "expired cancelled 0s"},
		{"works the second time", old, failed, done, "expired cancelled 30s"},
		{"never works", old, failed, failed, "expired expired_open 30s"},
		{"nobody knows", old, statemachine.Unknown, statemachine.Unknown, "expired expired_open 30s"},
		{"no index", noIndex, 0, 0, "expired expired_open 30s"},
	} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, c.transfer)) // nothing was answered: still open
		x.w.Watchers[0].NextAt = day
		x.tick(day, listing(day, c.transfer), c.first)
		if w := x.watcher("r"); w.Status == refresh.Watching {
			if !w.CancelTried || !w.NextAt.Equal(day.Add(30*time.Second)) || w.RefreshCount != 1 {
				t.Errorf("%s: %+v", c.name, w)
			}
			next := day.Add(30 * time.Second)
			x.tick(next.Add(-time.Microsecond), listing(day, c.transfer), failed) // not due
			x.tick(next, listing(next, c.transfer), c.second)
		}
		w := x.watcher("r")
		if got := fmt.Sprint(w.Status, " ", w.EndReason, " ", w.EndedAt.Sub(day)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if w.EndReason == refresh.EndOpen { // an operator watches it again, from the beginning
			later := day.Add(time.Hour)
			x.do(enqueued(later, 2, refresh.Manual, "", ""))
			x.pass(later, listing(later, c.transfer))
			if w := x.watcher("r"); w.Status != refresh.Watching || w.CancelTried || w.LastError != "" {
				t.Errorf("%s: %+v", c.name, w)
			}
		}
	}
	// Before the expiry a failure that is no refusal is tried at every tick, and changes nothing.
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, old))
	for i := range 3 {
		now := after(time.Duration(i) * 30 * time.Second)
		if c := x.tick(now, listing(now, old), statemachine.Unknown); c.New.Watchers[0].CancelTried || c.New.Watchers[0].RefreshCount != int64(i)+1 {
			t.Errorf("%+v", c.New.Watchers[0])
		}
	}
}

// A cancellation that the host refuses for ever is recorded once, not asked at each
// tick, counted for an operator, and tried once more at the expiry; a listing that
// shows that the transfer has moved explains it.
func TestRefusedCancellation(t *testing.T) {
	for _, asset := range []string{"a", ""} {
		for _, first := range []string{"tick", "pass"} {
			old := open("r", asset)
			old.Expiration = t0.Unix() - 24*3600
			x := newWorld(t)
			end := after(24 * time.Hour)
			if asset == "" { // provisional
				end = after(180 * time.Second)
				x.do(enqueued(t0, 9, refresh.InvoiceCreated, "r", ""))
				x.claim(t0)
			} else {
				x.do(enqueued(t0, 1, refresh.Sync, "", ""))
				x.pass(t0, listing(t0, old))
			}
			if first == "pass" {
				x.do(enqueued(t0, 2, refresh.Manual, "", ""))
				x.pass(t0, listing(t0, old), refresh.Cancelled{Index: 1, Outcome: failed})
			}
			var asked []int
			for i := range 6 {
				now := after(time.Duration(i) * 30 * time.Second)
				slot, lock := x.serve(now), x.fence()
				c := x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: lock, Began: now, Listing: listing(now, old)})
				asked = append(asked, len(c.Tick.Cancel))
				e := refresh.Ticked{By: worker(now), Held: refresh.Held{Slot: slot, Lock: lock}, Began: now, Listing: listing(now, old), Recipients: c.Tick.Recipients, Refreshed: done}
				if len(c.Tick.Cancel) > 0 {
					e.Cancelled = []refresh.Cancelled{{Index: 1, Outcome: failed}}
				}
				x.do(e)
			}
			want, versions := "[1 0 0 0 0 0]", int64(2)
			if first == "pass" {
				want = "[0 0 0 0 0 0]"
			}
			w := x.watcher("r")
			if fmt.Sprint(asked) != want || !w.CancelTried || w.Version != versions || w.RefreshCount != 6 || w.Status != refresh.Watching {
				t.Errorf("asset %q, first by a %s: asked %v, %+v", asset, first, asked, w)
			}
			stats := refresh.StatsOf([]refresh.Work{x.w}, t0)
			if alerts := refresh.Alerts(stats, refresh.Thresholds{}); len(alerts) != 1 || alerts[0].Name != "cancellation refused" {
				t.Errorf("%+v", alerts)
			}
			paid := old
			paid.Status = refresh.WaitingConfirmations
			moved := newWorld(t)
			moved.w, moved.n = x.w, x.n
			now := end.Add(-time.Microsecond)
			moved.w.Watchers = slices.Clone(moved.w.Watchers)
			moved.w.Watchers[0].NextAt = now
			moved.tick(now, listing(now, paid), failed)
			if w := moved.watcher("r"); w.CancelTried || w.Version != versions+1 || w.Status != refresh.Watching {
				t.Errorf("it has moved: %+v", w)
			}
			x.w.Watchers[0].NextAt = end
			c := x.do(refresh.Looked{By: worker(end), Slot: x.serve(end), Lock: x.fence(), Began: end, Listing: listing(end, old)})
			if len(c.Tick.Cancel) != 1 {
				t.Errorf("the last try at the expiry: %+v", c.Tick)
			}
			x.do(refresh.Ticked{By: worker(end), Held: refresh.Held{Slot: x.serve(end), Lock: x.n}, Began: end, Listing: listing(end, old), Recipients: c.Tick.Recipients,
				Cancelled: []refresh.Cancelled{{Index: 1, Outcome: failed}}, Refreshed: done})
			if w, want := x.watcher("r"), map[bool]refresh.EndReason{true: refresh.EndProvisional, false: refresh.EndOpen}[asset == ""]; w.EndReason != want || !w.EndedAt.Equal(end) {
				t.Errorf("%+v", w)
			}
		}
	}
}

// A provisional watcher that a terminal status or a cancellation ends makes no
// sync job; one whose cancellation fails at the expiry does.
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

// An ended row is watched again only by a listing that began strictly after its
// end, whatever ended it.
func TestWatchedAgain(t *testing.T) {
	for _, how := range []int{0, refresh.TransferSettled, refresh.TransferFailed} {
		for _, c := range []struct {
			began time.Duration
			again bool
		}{{-time.Second, false}, {0, false}, {time.Microsecond, true}} {
			x := newWorld(t)
			x.do(enqueued(t0, 1, refresh.Sync, "", ""))
			x.pass(t0, listing(t0, open("r", "a")))
			end := after(24 * time.Hour)
			x.w.Watchers[0].NextAt = end
			x.tick(end, listing(end, ended("r", "a", how)), done)
			ended := x.watcher("r")
			now := end.Add(time.Minute)
			x.do(enqueued(now, 2, refresh.Manual, "", ""))
			x.pass(now, listing(end.Add(c.began), open("r", "a")))
			w := x.watcher("r")
			if c.again != (w.Status == refresh.Watching) || !c.again && w != ended {
				t.Errorf("%v, began %v after: %+v", ended.Status, c.began, w)
			}
			if c.again && (w.RefreshCount != 0 || w.ExpiresAt.Sub(now) != 24*time.Hour || !w.EndedAt.IsZero() || w.EndReason != 0 || !w.NextAt.Equal(now)) {
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

// A watcher that meets a held lock keeps its count and asks again after an
// interval; what a look-up ends ends all the same.
func TestTickUnderAHeldLock(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a"), open("s", "a")))
	x.do(refresh.Locked{By: by(refresh.API, t0), Fence: x.fence()})
	c := x.tick(t0, listing(t0, open("r", "a"), ended("s", "a", 2)), done)
	if w := x.watcher("r"); w.RefreshCount != 0 || !w.NextAt.Equal(after(30*time.Second)) || !c.Tick.Held || len(c.Log) != 1 {
		t.Errorf("%+v %+v", w, c.Tick)
	}
	if x.watcher("s").Status != refresh.Settled {
		t.Error("a terminal status needs no lock")
	}
	x.do(refresh.Unlocked{By: by(refresh.API, t0), Fence: 2})
	now := after(30 * time.Second)
	slot, lock := x.serve(now), x.fence()
	x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: lock, Began: now, Listing: listing(now, open("r", "a"))})
	x.do(refresh.Ticked{By: worker(now), Held: refresh.Held{Slot: slot, Lock: lock}, Began: now, Listing: listing(now, open("r", "a")),
		Recipients: []string{"r"}, Refreshed: failed, Error: "busy"})
	if w := x.watcher("r"); w.RefreshCount != 0 || w.LastError != "busy" || !w.NextAt.Equal(after(60*time.Second)) {
		t.Errorf("a failed refresh counts: %+v", w)
	}
	if x.w.Lock != (refresh.Lock{}) {
		t.Error("the lock is held still")
	}
}

// Between two calls of a round a due job goes first, as long as the round may
// have one.
func TestADueJobGoesFirst(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(enqueued(t0, 2, refresh.Sync, "", ""))
	slot := x.serve(t0)
	look := refresh.Looked{By: worker(t0), Slot: slot, Lock: x.fence(), Began: t0, Listing: listing(t0, open("r", "a")), JobFirst: true}
	if c := x.do(look); !c.Tick.JobFirst || c.Tick.Locked() || !x.watcher("r").NextAt.Equal(t0) {
		t.Errorf("%+v", c.Tick)
	}
	look.JobFirst, look.Lock = false, x.fence()
	if c := x.do(look); !c.Tick.Refresh {
		t.Errorf("%+v", c.Tick)
	}
	// After the cancellations and before the refresh: it is owed still.
	x.do(refresh.Ticked{By: worker(t0), Held: refresh.Held{Slot: slot, Lock: look.Lock}, Began: t0, Listing: look.Listing, Recipients: []string{"r"}})
	if w := x.watcher("r"); w.RefreshCount != 0 || !w.NextAt.Equal(t0) {
		t.Errorf("%+v", w)
	}
}

// Nothing is stored under a lock, a job or a slot that is no longer held.
func TestFences(t *testing.T) {
	end := after(config.LockTTL)
	for _, c := range []struct {
		name string
		at   time.Time
		lose func(x *world)
	}{
		{"all held", end.Add(-time.Microsecond), func(x *world) {}},
		{"the slot's lease has ended", end.Add(-time.Microsecond), func(x *world) { x.w.Wallet.Lease.Until = end.Add(-time.Microsecond) }},
		{"another holds the slot", t0, func(x *world) { x.w.Wallet.Lease.Fence++ }},
		{"the job's lease has ended", end.Add(-time.Microsecond), func(x *world) { x.w.Jobs[0].Lease.Until = end.Add(-time.Microsecond) }},
		{"another holds the job", t0, func(x *world) { x.w.Jobs[0].Lease.Fence++ }},
		{"the lock has ended", end.Add(-time.Microsecond), func(x *world) { x.w.Lock.Lease.Until = end.Add(-time.Microsecond) }},
		{"another holds the lock", t0, func(x *world) { x.w.Lock.Lease.Fence++ }},
		{"the lock was swept", t0, func(x *world) { x.w.Lock = refresh.Lock{} }},
		{"all have ended", end, func(x *world) {}},
	} {
		want := error(statemachine.ErrFenced)
		if c.name == "all held" {
			want = nil
		}
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		h := x.claim(t0)
		c.lose(x)
		for _, ev := range []refresh.Event{
			refresh.JobNotDone{By: worker(c.at), Held: h, Outcome: failed},
			refresh.JobDone{By: worker(c.at), Held: h, Listing: listing(t0, open("r", "a"))},
		} {
			_, err := config.ApplyAt(x.load(ev, c.at), ev, c.at)
			if !errors.Is(err, want) {
				t.Errorf("%s: %T: %v", c.name, ev, err)
			}
		}
		if c.name == "all held" || strings.Contains(c.name, "job") {
			continue
		}
		x = newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, open("r", "a")))
		slot, lock := x.serve(t0), x.fence()
		x.do(refresh.Looked{By: worker(t0), Slot: slot, Lock: lock, Began: t0, Listing: listing(t0, open("r", "a"))})
		c.lose(x)
		ev := refresh.Ticked{By: worker(c.at), Held: refresh.Held{Slot: slot, Lock: lock}, Began: t0, Listing: listing(t0, open("r", "a")), Recipients: []string{"r"}, Refreshed: done}
		if _, err := config.ApplyAt(x.load(ev, c.at), ev, c.at); !errors.Is(err, want) {
			t.Errorf("%s: %T: %v", c.name, ev, err)
		}
	}
}

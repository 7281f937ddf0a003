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

// Cancellations that do not work.

// A cancellation that is due at the expiry and does not work is tried once more, an interval
// later; then the watcher expires.
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
		if c := x.tick(now, listing(now, old), statemachine.Unknown); c.New.Watchers[0].CancelTried ||
			c.New.Watchers[0].RefreshCount != int64(i)+1 {
			t.Errorf("%+v", c.New.Watchers[0])
		}
	}
}

// A cancellation that the host refuses for ever is recorded once, counted for an operator, and
// not asked for at each tick; at the expiry it is tried twice as any other. A listing that
// shows that the transfer has moved removes the record.
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
				e := refresh.Ticked{By: worker(now), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: now, Listing: listing(now, old),
					Recipients: c.Tick.Recipients, Refreshed: done}
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
			if fmt.Sprint(asked) != want || w.Refused != "1" || w.CancelTried || w.Version != versions || w.RefreshCount != 6 ||
				w.Status != refresh.Watching {
				t.Errorf("asset %q, first by a %s: asked %v, %+v", asset, first, asked, w)
			}
			stats := refresh.StatsOf([]refresh.Work{x.w}, t0)
			if alerts := refresh.Alerts(stats, refresh.DefaultThresholds()); len(alerts) != 1 || alerts[0].Name != "cancellation refused" {
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
			if w := moved.watcher("r"); w.Refused != "" || w.Version != versions+1 || w.Status != refresh.Watching {
				t.Errorf("it has moved: %+v", w)
			}
			x.w.Watchers[0].NextAt = end
			last := end
			for try := range 2 {
				c := x.do(refresh.Looked{By: worker(last), Slot: x.serve(last), Lock: x.fence(), Began: last, Listing: listing(last, old)})
				if len(c.Tick.Cancel) != 1 {
					t.Errorf("try %d at the expiry: %+v", try+1, c.Tick)
				}
				x.do(refresh.Ticked{By: worker(last), Fences: refresh.Fences{Slot: x.serve(last), Lock: x.n}, Began: last, Listing: listing(last, old),
					Recipients: c.Tick.Recipients, Cancelled: []refresh.Cancelled{{Index: 1, Outcome: failed}}, Refreshed: done})
				if asset == "" { // the sync job tries again
					break
				}
				if w := x.watcher("r"); try == 0 && (w.Status != refresh.Watching || !w.NextAt.Equal(end.Add(30*time.Second))) {
					t.Errorf("after the first try at the expiry: %+v", w)
				}
				last = end.Add(30 * time.Second * time.Duration(1-try))
			}
			reason := map[bool]refresh.EndReason{true: refresh.EndProvisional, false: refresh.EndOpen}[asset == ""]
			if w := x.watcher("r"); w.EndReason != reason || w.Refused != "1" {
				t.Errorf("%+v", w)
			}
		}
	}
}

// A refusal concerns its batch alone: the recipient's other batches are asked for at each tick
// until they are refused as well.
func TestARefusalIsOfItsBatchAlone(t *testing.T) {
	old := func(index int32) refresh.Transfer {
		o := open("r", "a")
		o.Expiration, o.Index = t0.Unix()-1, index
		return o
	}
	later := old(11)
	later.Expiration = t0.Unix() + 60
	l := []refresh.Transfer{old(1), old(2), later}
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, l...), refresh.Cancelled{Index: 1, Outcome: failed}) // the others were not called
	x.do(enqueued(t0, 2, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, l...), refresh.Cancelled{Index: 1, Outcome: failed})
	for i, c := range []struct {
		asks    string
		answers []refresh.Cancelled
		refused string
		version int64
	}{
		{"[2]", []refresh.Cancelled{{Index: 2, Outcome: statemachine.Unknown}}, "1", 2},
		{"[2]", []refresh.Cancelled{{Index: 2, Outcome: failed}}, "1,2", 3},
		{"[]", nil, "1,2", 3}, // at 60 s the third has its time still
		{"[11]", []refresh.Cancelled{{Index: 11, Outcome: failed}}, "1,2,11", 4},
		{"[]", nil, "1,2,11", 4},
	} {
		now := after(time.Duration(i) * 30 * time.Second)
		slot, lock := x.serve(now), x.fence()
		looked := x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: lock, Began: now, Listing: listing(now, l...)})
		x.do(refresh.Ticked{By: worker(now), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: now, Listing: listing(now, l...),
			Recipients: looked.Tick.Recipients, Cancelled: c.answers, Refreshed: done})
		if w := x.watcher("r"); fmt.Sprint(looked.Tick.Cancel) != c.asks || w.Refused != c.refused || w.Version != c.version ||
			w.RefreshCount != int64(i)+1 {
			t.Errorf("tick %d asks %v: %+v", i, looked.Tick.Cancel, w)
		}
	}
	now := after(150 * time.Second)
	moved := old(2)
	moved.Status = refresh.WaitingConfirmations
	x.tick(now, listing(now, old(1), moved, later), 0)
	if w := x.watcher("r"); w.Refused != "1,11" || w.Version != 5 {
		t.Errorf("one has moved: %+v", w)
	}
}

// As many refusals as fit their column are recorded; what is beyond is asked for again.
func TestRefusalsAreBounded(t *testing.T) {
	var l []refresh.Transfer
	for i := range int32(400) {
		o := open("r", "a")
		o.Expiration, o.Index = t0.Unix()-1, i
		l = append(l, o, o)
	}
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, l...))
	x.tick(t0, listing(t0, l...), failed)
	w := x.watcher("r")
	c := x.do(refresh.Looked{By: worker(after(30 * time.Second)), Slot: x.serve(after(30 * time.Second)), Lock: x.fence(),
		Began: after(30 * time.Second), Listing: listing(t0, l...)})
	if n := strings.Count(w.Refused, ",") + 1; len(w.Refused) > refresh.MaxText || len(w.Refused) < refresh.MaxText-10 ||
		len(c.Tick.Cancel) != 400-n {
		t.Errorf("%d recorded in %d bytes, %d asked for", n, len(w.Refused), len(c.Tick.Cancel))
	}
}

// A batch that was not called, because an earlier call of the round timed out, does not count
// as tried: at the expiry the watcher stays due until the batch was tried twice.
func TestABatchThatWasNotCalledIsNotTried(t *testing.T) {
	day := after(24 * time.Hour)
	old := open("r", "a")
	old.Expiration = t0.Unix() - 24*3600
	for _, how := range []string{"tick", "pass"} {
		for name, answers := range map[string][]refresh.Cancelled{"not called": nil, "another was": {{Index: 7, Outcome: statemachine.Unknown}},
			"deferred": {{Index: 1, Outcome: statemachine.Deferred}}} {
			x := newWorld(t)
			x.do(enqueued(t0, 1, refresh.Sync, "", ""))
			x.pass(t0, listing(t0, old))
			x.w.Watchers[0].NextAt = day
			for i, c := range []struct {
				answers []refresh.Cancelled
				want    string
			}{{answers, "watching false"}, {answers, "watching false"},
				{[]refresh.Cancelled{{Index: 1, Outcome: statemachine.Unknown}}, "watching true"},
				{answers, "watching true"}, {[]refresh.Cancelled{{Index: 1, Outcome: failed}}, "expired true"}} {
				now := day.Add(time.Duration(i) * 30 * time.Second)
				if how == "pass" {
					x.do(enqueued(now, byte(2+i), refresh.Sync, "", ""))
					x.pass(now, listing(now, old), c.answers...)
				} else {
					slot, lock := x.serve(now), x.fence()
					looked := x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: lock, Began: now, Listing: listing(now, old)})
					if fmt.Sprint(looked.Tick.Cancel) != "[1]" {
						t.Fatalf("%s, tick %d: asks %v", name, i, looked.Tick.Cancel)
					}
					x.do(refresh.Ticked{By: worker(now), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: now, Listing: listing(now, old),
						Recipients: looked.Tick.Recipients, Cancelled: c.answers, Refreshed: statemachine.Unknown})
				}
				w := x.watcher("r")
				if got := fmt.Sprint(w.Status, " ", w.CancelTried); got != c.want {
					t.Errorf("%s, %s, %s %d: %s, want %s", name, how, how, i, got, c.want)
				}
			}
		}
	}
}

// A cancellation that is due at the expiry and does not work gets one more interval, whether a
// tick or a pass tried it; passes that come meanwhile do not end the watcher.
func TestCancellationsOfPassesAtTheExpiry(t *testing.T) {
	day := after(24 * time.Hour)
	old := open("r", "a")
	old.Expiration = t0.Unix() - 24*3600
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, old))
	x.w.Watchers[0].NextAt = day // as its ticks would have left it
	for n, c := range []struct {
		at   time.Duration
		want string
	}{{0, "watching true"}, {0, "watching true"}, {30*time.Second - time.Microsecond, "watching true"}, {30 * time.Second, "expired true"}} {
		now := day.Add(c.at)
		x.do(enqueued(now, byte(2+n), refresh.Manual, "", ""))
		x.pass(now, listing(now, old), refresh.Cancelled{Index: 1, Outcome: failed})
		w := x.watcher("r")
		if got := fmt.Sprint(w.Status, " ", w.CancelTried); got != c.want {
			t.Errorf("pass %d: %s, want %s", n, got, c.want)
		}
		if w.Status == refresh.Watching && !w.NextAt.Equal(day.Add(30*time.Second)) {
			t.Errorf("pass %d: the second try is due at %v", n, w.NextAt.Sub(day))
		}
	}
	if w := x.watcher("r"); w.EndReason != refresh.EndOpen {
		t.Errorf("%+v", w)
	}
}

// The last try of a cancellation comes an interval after the first one at the expiry, also
// where a job went between the two.
func TestCancellationAtTheExpiryBeforeAJob(t *testing.T) {
	day := after(24 * time.Hour)
	old := open("r", "a")
	old.Expiration = t0.Unix() - 24*3600
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, old))
	slot, lock := x.serve(day), x.fence()
	c := x.do(refresh.Looked{By: worker(day), Slot: slot, Lock: lock, Began: day, Listing: listing(day, old)})
	x.do(refresh.Ticked{By: worker(day), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: day, Listing: listing(day, old),
		Recipients: c.Tick.Recipients, Cancelled: []refresh.Cancelled{{Index: 1, Outcome: failed}}})
	if w := x.watcher("r"); w.Status != refresh.Watching || !w.CancelTried || !w.NextAt.Equal(day.Add(30*time.Second)) {
		t.Errorf("%+v", w)
	}
}

// Where a recipient has two batches, each needs an answer before they count as tried. One
// exception: a call without a known answer may have hung and ended the round, so a round that
// called the last batch counts for all, since the rounds after it begin with the others.
func TestEachBatchOfARecipientIsTried(t *testing.T) {
	day := after(24 * time.Hour)
	old := func(index int32) refresh.Transfer {
		o := open("r", "a")
		o.Expiration, o.Index = t0.Unix()-24*3600, index
		return o
	}
	const unknown, deferred = statemachine.Unknown, statemachine.Deferred
	for _, how := range []string{"tick", "pass"} {
		for _, c := range []struct {
			first, second statemachine.Outcome
			tried         bool
		}{
			{0, 0, false}, {failed, 0, false}, {0, failed, false}, {deferred, 0, false}, {done, 0, false},
			{failed, deferred, false}, {deferred, failed, false}, {deferred, deferred, false}, {unknown, deferred, false}, {unknown, 0, false},
			{failed, failed, true}, {failed, unknown, true}, {unknown, unknown, true}, {done, failed, true}, {0, unknown, true},
		} {
			x := newWorld(t)
			x.do(enqueued(t0, 1, refresh.Sync, "", ""))
			x.pass(t0, listing(t0, old(1), old(2)))
			x.w.Watchers[0].NextAt = day
			var answers []refresh.Cancelled
			for i, outcome := range []statemachine.Outcome{c.first, c.second} {
				if outcome != 0 {
					answers = append(answers, refresh.Cancelled{Index: int32(i + 1), Outcome: outcome})
				}
			}
			l := listing(day, old(1), old(2))
			if how == "pass" {
				x.do(enqueued(day, 2, refresh.Manual, "", ""))
				x.pass(day, l, answers...)
			} else {
				slot, lock := x.serve(day), x.fence()
				looked := x.do(refresh.Looked{By: worker(day), Slot: slot, Lock: lock, Began: day, Listing: l})
				x.do(refresh.Ticked{By: worker(day), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: day, Listing: l,
					Recipients: looked.Tick.Recipients, Cancelled: answers, Refreshed: statemachine.Unknown})
			}
			if w := x.watcher("r"); w.Status != refresh.Watching || w.CancelTried != c.tried {
				t.Errorf("%s, %v and %v: %+v", how, c.first, c.second, w)
			}
		}
	}
}

// After each round that hung another batch is called first.
func TestCancellationsTakeTurns(t *testing.T) {
	var l []refresh.Transfer
	for i := range int32(3) {
		o := open(fmt.Sprint("r", i), "a")
		o.Expiration, o.Index = t0.Unix()-24*3600, i
		l = append(l, o)
	}
	for hung, want := range []string{"[0 1 2]", "[1 2 0]", "[2 0 1]", "[0 1 2]"} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, l...))
		slot := x.serve(t0)
		if x.w.Wallet.HungRounds = int32(hung); hung > 0 {
			x.w.Wallet.NotBefore = t0
		}
		c := x.do(refresh.Looked{By: worker(t0), Slot: slot, Lock: x.fence(), Began: t0, Listing: listing(t0, l...)})
		cancel, _ := config.PlanPass(listing(t0, l...), int32(hung))
		if fmt.Sprint(c.Tick.Cancel) != want || fmt.Sprint(cancel) != want {
			t.Errorf("%d rounds hung: a tick calls %v, a pass %v, want %s", hung, c.Tick.Cancel, cancel, want)
		}
	}
}

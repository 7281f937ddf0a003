package refresh_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/growthtest"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// A transfer that the rules do not know never counts as ended, not even by the cancellation of
// its index.
func TestCancellationDoesNotEndAFaultyTransfer(t *testing.T) {
	old := open("good", "a")
	old.Expiration = t0.Unix() - 1
	strange := open("strange", "a")
	strange.Kind = 9
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, old, strange), refresh.Cancelled{Index: 1, Outcome: done})
	if len(x.w.Watchers) != 1 || x.watcher("strange").Status != refresh.Watching {
		t.Errorf("%+v", x.w.Watchers)
	}
}

// Where a recipient has several transfers, the open ones give the asset and the latest
// expiration, in any order of the listing.
func TestOpenTransfersGiveAssetAndExpiration(t *testing.T) {
	settled, early, late := ended("r", "settled's", 2), open("r", "open's"), open("r", "")
	early.Expiration, late.Expiration = t0.Unix()+3600, t0.Unix()+7200
	for _, order := range [][]refresh.Transfer{{settled, early, late}, {late, early, settled}, {early, late, settled},
		{settled, late, early}} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, order...))
		if w := x.watcher("r"); w.Asset != "open's" || w.ExpiresAt.Sub(t0) != 26*time.Hour+30*time.Second {
			t.Errorf("%+v", w)
		}
	}
}

// Apply works on more records than it needs, and picks the right ones: a tick takes the due
// watchers, and its second half the watchers that the first half named.
func TestTicksOfOthersChangeNothing(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("due", "a"), open("later", "a"), open("other", "a")))
	for i := range x.w.Watchers {
		if x.w.Watchers[i].Recipient == "later" {
			x.w.Watchers[i].NextAt = after(time.Microsecond)
		}
	}
	slot := x.serve(t0)
	ends := listing(t0, open("due", "a"), ended("later", "a", 2), open("other", "a"))
	looked, err := config.Apply(x.w, refresh.Looked{By: worker(t0), Slot: slot, Lock: x.fence(), Began: t0, Listing: ends})
	if err != nil || len(looked.Log) != 0 || len(looked.Tick.Recipients) != 2 {
		t.Fatalf("%v %+v", err, looked.Log)
	}
	ticked, err := config.Apply(looked.New, refresh.Ticked{By: worker(t0), Fences: refresh.Fences{Slot: slot, Lock: x.n}, Began: t0, Listing: ends,
		Recipients: []string{"due"}, Refreshed: done})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ticked.New.Watchers {
		if want := map[string]int64{"due": 1}[w.Recipient]; w.RefreshCount != want || w.Status != refresh.Watching {
			t.Errorf("%+v", w)
		}
	}
}

// The error of a watcher is cleared by the next refresh, and only a refresh that succeeds ends
// a series of hung rounds.
func TestErrorsAreForgotten(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(refresh.RoundEnded{By: worker(t0), Slot: x.serve(t0), End: refresh.EndHung})
	for i, outcome := range []statemachine.Outcome{failed, done} {
		now := after(time.Duration(i+1) * 30 * time.Second)
		slot, lock := x.serve(now), x.fence()
		x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: lock, Began: now, Listing: listing(now, open("r", "a"))})
		x.do(refresh.Ticked{By: worker(now), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: now, Listing: listing(now, open("r", "a")),
			Recipients: []string{"r"}, Refreshed: outcome, Error: "busy"})
		w := x.watcher("r")
		if (w.LastError == "") != (outcome == done) || (x.w.Wallet.HungRounds == 0) != (outcome == done) {
			t.Errorf("%v: %+v, %d hung rounds", outcome, w, x.w.Wallet.HungRounds)
		}
	}
}

// One job at a time, lock or not; and its lock is given back by its own end.
func TestOneJobAtATime(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	h := x.claim(t0)
	_, err := x.try(refresh.Ticked{By: worker(t0), Fences: refresh.Fences{Slot: h.Slot, Lock: h.Lock}, Began: t0,
		Listing: listing(t0), Refreshed: done}, t0)
	if !errors.Is(err, statemachine.ErrIllegal) {
		t.Error("a tick gave the lock of a job back:", err)
	}
	x.w.Lock = refresh.Lock{} // as somebody swept it too early
	x.do(enqueued(t0, 2, refresh.InvoiceCreated, "r", ""), enqueued(t0, 3, refresh.Sync, "", ""))
	if h := x.claim(t0); h.Job != uuid.Nil {
		t.Errorf("job %v was claimed beside another", h.Job)
	}
}

// The time of an answer is never after the store's.
func TestAnswersFromTheFuture(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	now := after(24*time.Hour - time.Microsecond)
	x.w.Watchers[0].NextAt = now
	x.tick(now, refresh.Listing{Answered: now.Add(time.Hour)}, done)
	if w := x.watcher("r"); w.Status != refresh.Watching {
		t.Errorf("%+v", w)
	}
	slot := x.serve(now)
	for reason, l := range map[string]refresh.Listing{
		"a listing needs the time of its answer": {},
		"a listing has at most 100000 transfers": {Answered: now, Transfers: make([]refresh.Transfer, refresh.MaxTransfers+1)},
	} {
		_, err := x.try(refresh.Looked{By: worker(now), Slot: slot, Lock: x.fence(), Began: now, Listing: l}, now)
		if !errors.Is(err, statemachine.ErrInvalid) || !strings.HasSuffix(err.Error(), ": "+reason) {
			t.Errorf("%v, expected: %s", err, reason)
		}
	}
	_, err := x.try(refresh.Looked{By: worker(now), Slot: slot, Lock: x.fence(), Listing: listing(now)}, now)
	if !errors.Is(err, statemachine.ErrInvalid) {
		t.Error("a tick that never began:", err)
	}
	// A tick that began ahead ticks nobody who is not due.
	x.w.Watchers[0].NextAt = now.Add(time.Microsecond)
	c := x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: x.fence(), Began: now.Add(time.Hour), Listing: listing(now)})
	if c.Tick.Locked() || !c.Empty() {
		t.Errorf("a tick from the future: %+v", c.Tick)
	}
}

// Each of the three conditions of an idle exit counts on its own, and a recovery looks only at
// active watchers, whatever else is loaded.
func TestExitAndRecoveryByThemselves(t *testing.T) {
	for name, prepare := range map[string]func(x *world){
		"a live job":     func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")) },
		"a watching row": func(x *world) { x.do(enqueued(t0, 2, refresh.Sync, "", "")); x.pass(t0, listing(t0, open("r", "a"))) },
	} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0))
		prepare(x)
		ev := refresh.RoundEnded{By: worker(t0), Slot: x.serve(t0), End: refresh.EndIdle, WorkSeq: x.w.Wallet.WorkSeq}
		if _, err := x.try(ev, t0); !errors.Is(err, statemachine.ErrIllegal) {
			t.Errorf("%s: %v", name, err)
		}
		if name != "a watching row" {
			continue
		}
		late := refresh.Recovering{By: by(refresh.Orchestrator, after(24*time.Hour)), Job: id(9)}
		if c, err := config.Apply(x.w, late); err != nil || !c.Empty() {
			t.Errorf("recovered for a watcher past its expiry: %v", err)
		}
		older := x.w.Watchers[0]
		older.Recipient, older.XpubCol, older.CreatedAt = "older", "an older one", after(-time.Second)
		for _, both := range [][]refresh.Watcher{{x.w.Watchers[0], older}, {older, x.w.Watchers[0]}} {
			w := x.w
			w.Watchers = both
			late.At = t0
			c, err := config.Apply(w, late)
			if err != nil || c.New.Jobs[len(c.New.Jobs)-1].Credentials != alice {
				t.Errorf("not the credentials of the newest: %+v, %v", c.New.Jobs, err)
			}
		}
	}
}

// A wallet that rests because its calls hang owes nothing but the expiry of provisional
// watchers.
func TestNextOfAHungWallet(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(enqueued(t0, 2, refresh.InvoiceCreated, "p", ""))
	x.claim(t0)
	x.do(enqueued(t0, 3, refresh.Sync, "", ""))
	end := after(180 * time.Second)
	for _, c := range []struct {
		notBefore, now time.Time
		want           string
		tick           bool
	}{
		{time.Time{}, t0, "job", true},
		{after(time.Second), t0, "none", false},
		{after(time.Second), after(time.Second), "job", true},
		{end.Add(time.Second), end.Add(-time.Microsecond), "none", false},
		{end.Add(time.Second), end, "expire", false},
	} {
		x.w.Wallet.NotBefore = c.notBefore
		if step := config.Next(x.w, c.now); step.Do.String() != c.want || step.Tick != c.tick || step.Idle {
			t.Errorf("not before %v, at %v: %+v", c.notBefore.Sub(t0), c.now.Sub(t0), step)
		}
	}
	x.w.Jobs[2].Status = refresh.JobCompleted
	x.w.Wallet.NotBefore = time.Time{}
	if step := config.Next(x.w, t0); step.Do != refresh.DoTick || !step.Tick {
		t.Errorf("%+v", step)
	}
}

func TestIdleOver(t *testing.T) {
	for d, want := range map[time.Duration]bool{60*time.Second - time.Microsecond: false, 60 * time.Second: true, 61 * time.Second: true} {
		if config.IdleOver(t0, after(d)) != want {
			t.Errorf("after %v: %v", d, !want)
		}
	}
}

// A pass in which a cancellation timed out is a round that hung: it does not end the series of
// hung rounds, so the pauses grow.
func TestATimedOutCancellationEndsNoSeries(t *testing.T) {
	old := open("r", "a")
	old.Expiration = t0.Unix() - 1
	for outcome, want := range map[statemachine.Outcome]int32{statemachine.Unknown: 1, failed: 0, done: 0, statemachine.Deferred: 0} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.do(refresh.RoundEnded{By: worker(t0), Slot: x.serve(t0), End: refresh.EndHung})
		now := after(30 * time.Second)
		x.pass(now, listing(now, old), refresh.Cancelled{Index: 1, Outcome: outcome})
		if w := x.w.Wallet; w.HungRounds != want || x.job(1).Status != refresh.JobCompleted {
			t.Errorf("%v: %d hung rounds", outcome, w.HungRounds)
		}
	}
}

// A tick takes no lock while a job works, even where the job's own lock has ended: its Ticked
// would be refused, and the lock would stay.
func TestNoTickBesideAJob(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(enqueued(t0, 2, refresh.Sync, "", ""))
	x.claim(t0)
	x.w.Lock = refresh.Lock{}
	c := x.do(refresh.Looked{By: worker(t0), Slot: x.serve(t0), Lock: x.fence(), Began: t0, Listing: listing(t0, open("r", "a"))})
	if !c.Tick.Held || c.Tick.Locked() || c.New.Lock != (refresh.Lock{}) || !x.watcher("r").NextAt.Equal(after(30*time.Second)) {
		t.Errorf("%+v, lock %+v", c.Tick, c.New.Lock)
	}
}

// The first due job by creation is claimed, in whatever order the jobs are held.
func TestClaimsInTheOrderOfCreation(t *testing.T) {
	x := newWorld(t)
	for n := range byte(4) {
		x.do(enqueued(after(time.Duration(n)*time.Second), n+1, refresh.Sync, "", ""))
	}
	now := after(time.Minute)
	slot := x.serve(now)
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}} {
		w := x.w
		w.Jobs = nil
		for _, i := range order {
			w.Jobs = append(w.Jobs, x.w.Jobs[i])
		}
		c, err := config.Apply(w, refresh.JobClaimed{By: worker(now), Slot: slot, Lock: 1})
		if err != nil || c.Job != id(1) {
			t.Errorf("%v: %v, %v", order, c.Job, err)
		}
	}
}

// An asset that comes later gives no shorter life than the listing that began it.
func TestAnAssetTakesNoTimeAway(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	first := open("r", "")
	first.Expiration = t0.Unix() + 3600
	x.pass(t0, listing(t0, first))
	expires := x.watcher("r").ExpiresAt
	x.tick(t0, listing(t0, open("r", "asset")), done) // without an expiration now
	if w := x.watcher("r"); w.Asset != "asset" || !w.ExpiresAt.Equal(expires) || expires.Sub(t0) != 25*time.Hour+30*time.Second {
		t.Errorf("%+v, before %v", w, expires)
	}
}

// What judges a listing grows with it, and not with its square, up to the longest one.
func TestLongListings(t *testing.T) {
	long := func(n int) refresh.Listing {
		l := listing(t0, make([]refresh.Transfer, n)...)
		for i := range l.Transfers {
			l.Transfers[i] = refresh.Transfer{Recipient: fmt.Sprint("r", i), Kind: refresh.ReceiveBlind, Expiration: t0.Unix() - 1,
				Index: int32(i), HasIndex: true}
		}
		return l
	}
	growthtest.AlmostLinear(t, refresh.MaxTransfers, long, func(l refresh.Listing) {
		cancel, faults := config.PlanPass(l, 0)
		if len(cancel) != len(l.Transfers) || len(faults) != 0 {
			t.Errorf("%d to cancel, %d faults", len(cancel), len(faults))
		}
	})
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	held := x.claim(t0)
	growthtest.AlmostLinear(t, refresh.MaxTransfers, long, func(l refresh.Listing) {
		c, err := config.Apply(x.w, refresh.JobDone{By: worker(t0), Fences: held, Listing: l})
		if err != nil || len(c.New.Watchers) != len(l.Transfers) {
			t.Errorf("%d watchers, %v", len(c.New.Watchers), err)
		}
	})
}

// When the second half of a tick never comes, its watchers wait for the next tick, which the
// first half has set.
func TestATickThatIsLost(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(refresh.Looked{By: worker(after(time.Second)), Slot: x.serve(after(time.Second)), Lock: x.fence(), Began: t0,
		Listing: listing(t0, open("r", "a"))})
	if w := x.watcher("r"); !w.NextAt.Equal(after(30*time.Second)) || w.RefreshCount != 0 || x.w.Lock == (refresh.Lock{}) {
		t.Errorf("%+v", w)
	}
}

// No event takes effect at a time after the store's: its sender could otherwise take or free
// what is still held. An event without a time, or up to a minute ahead, gets the store's time;
// one further ahead is refused.
func TestEventsFromTheFuture(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	h := x.claim(t0)
	held, soon := x.w, t0.Add(time.Microsecond)
	events := func(b refresh.By) []refresh.Event {
		as := func(r refresh.Role) refresh.By { return by(r, b.At) }
		return []refresh.Event{enqueued(b.At, 2, refresh.Sync, "", ""), refresh.Recovering{By: as(refresh.Orchestrator), Job: id(3)},
			slotClaimed(b.At, 1), refresh.Reconciled{By: as(refresh.Orchestrator)},
			refresh.SlotElapsed{By: as(refresh.Orchestrator)}, refresh.RoundEnded{By: as(refresh.Worker), Slot: h.Slot, End: refresh.EndStop},
			refresh.Revoked{By: as(refresh.Operator), Revocation: statemachine.Revocation{Holder: "w1", Reason: "x"}},
			refresh.Locked{By: b, Fence: x.fence()}, refresh.Unlocked{By: b, Fence: h.Lock},
			refresh.JobClaimed{By: as(refresh.Worker), Slot: h.Slot, Lock: x.fence()},
			refresh.JobDone{By: as(refresh.Worker), Fences: h, Listing: listing(t0)},
			refresh.JobNotDone{By: as(refresh.Worker), Fences: h, Outcome: failed},
			refresh.Looked{By: as(refresh.Worker), Slot: h.Slot, Lock: x.fence(), Began: t0, Listing: listing(t0)},
			refresh.Ticked{By: as(refresh.Worker), Fences: h, Began: t0, Listing: listing(t0)}, refresh.Elapsed{By: as(refresh.Worker), Slot: h.Slot}}
	}
	punctual := events(by(refresh.API, t0))
	for _, at := range []time.Time{soon, after(31 * time.Second), after(time.Minute)} {
		for i, ev := range events(by(refresh.API, at)) {
			want, refused := config.ApplyAt(held, punctual[i], t0)
			got, err := config.ApplyAt(held, ev, t0)
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(refused) {
				t.Errorf("%T at %v: %v, expected %v as at the store's time", ev, at, err, refused)
			}
		}
	}
	for _, at := range []time.Time{after(time.Minute + time.Microsecond), after(100 * 365 * 24 * time.Hour)} {
		for _, ev := range events(by(refresh.API, at)) {
			if _, err := config.ApplyAt(held, ev, t0); !errors.Is(err, statemachine.ErrInvalid) ||
				!strings.Contains(err.Error(), "ahead of the store's clock, 2026-01-02T03:04:05Z") {
				t.Errorf("%T at %v: %v", ev, at, err)
			}
		}
	}
	c, err := config.ApplyAt(held, enqueued(time.Time{}, 2, refresh.Sync, "", ""), soon)
	if err != nil || !c.New.Jobs[1].CreatedAt.Equal(soon) {
		t.Errorf("%+v, %v", c.New.Jobs, err)
	}
}

// What a revocation says of a job has no reason where none was given.
func TestTextOfARevocation(t *testing.T) {
	for reason, want := range map[string]string{"": "lease revoked", " ": "lease revoked",
		"its machine burnt": "lease revoked: its machine burnt"} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.claim(t0)
		x.do(refresh.Revoked{By: worker(t0), Revocation: statemachine.Revocation{Holder: "w1", Reason: reason}})
		if j := x.job(1); j.Error != want {
			t.Errorf("%q", j.Error)
		}
	}
}

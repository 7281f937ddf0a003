package refresh_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/statemachine"
)

var (
	t0     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	config = refresh.DefaultPolicy()
	alice  = refresh.Credentials{XpubVan: "xpub-van", XpubCol: "xpub-col", MasterFingerprint: "f00d"}
)

// id is a random identifier in form, and the same for the same n.
func id(n byte) uuid.UUID { return uuid.UUID{6: 0x40, 8: 0x80, 15: n} }

func by(r refresh.Role, at time.Time) refresh.By {
	actor := map[refresh.Role]string{refresh.API: "api", refresh.Orchestrator: "orchestrator", refresh.Worker: "w1",
		refresh.Operator: "olga"}[r]
	return refresh.By{Actor: actor, Role: r, At: at}
}

// randomly runs a random test first on 40 fixed inputs and then on random ones. What the test
// must have seen at its end is found on the fixed inputs, so it does not depend on the number
// of checks or on the seed.
func randomly(t *testing.T, test func(*rapid.T)) {
	fixedtest.Run(t, 40, test)
	rapid.Check(t, test)
}

func worker(at time.Time) refresh.By { return by(refresh.Worker, at) }

func enqueued(at time.Time, n byte, cause refresh.Cause, recipient, asset string) refresh.Enqueued {
	return refresh.Enqueued{By: by(refresh.API, at), Job: id(n), Credentials: alice, Cause: cause, Recipient: recipient, Asset: asset}
}

func slotClaimed(at time.Time, slot int32) refresh.SlotClaimed {
	e := refresh.SlotClaimed{By: by(refresh.Orchestrator, at), Slot: slot}
	e.Actor = "w1" // the process that will work
	return e
}

func listing(answered time.Time, transfers ...refresh.Transfer) refresh.Listing {
	return refresh.Listing{Answered: answered, Transfers: transfers}
}

// world is the stored state of one wallet, whole.
type world struct {
	t testing.TB
	c refresh.Policy
	w refresh.Work
	n int64 // fences of the lock
}

func newWorld(t testing.TB) *world { return &world{t: t, c: config} }

// load reads what an event needs, as a store does.
func (x *world) load(ev refresh.Event, now time.Time) refresh.Work {
	return refreshtest.Load(x.w, refresh.Needs(ev), now)
}

// try applies an event to what it needs and stores the change.
func (x *world) try(ev refresh.Event, now time.Time) (refresh.Change, error) {
	x.t.Helper()
	c, err := x.c.ApplyAt(x.load(ev, now), ev, now)
	if err != nil {
		if len(c.Log) > 0 || !c.Empty() {
			x.t.Fatalf("%T was refused and changed something", ev)
		}
		return c, err
	}
	if err := refreshtest.Sound(c); err != nil {
		x.t.Fatalf("%T: %v", ev, err)
	}
	x.w = refreshtest.Store(x.w, c)
	if err := refresh.Check(x.w); err != nil {
		x.t.Fatalf("%T: %v", ev, err)
	}
	return c, nil
}

// do applies events that must be accepted.
func (x *world) do(events ...refresh.Event) refresh.Change {
	x.t.Helper()
	var c refresh.Change
	for _, ev := range events {
		var err error
		if c, err = x.try(ev, at(ev)); err != nil {
			x.t.Fatalf("%T: %v", ev, err)
		}
	}
	return c
}

func at(ev refresh.Event) time.Time {
	switch e := ev.(type) {
	case refresh.Enqueued:
		return e.At
	case refresh.Recovering:
		return e.At
	case refresh.SlotClaimed:
		return e.At
	case refresh.SlotElapsed:
		return e.At
	case refresh.RoundEnded:
		return e.At
	case refresh.Revoked:
		return e.At
	case refresh.Reconciled:
		return e.At
	case refresh.Locked:
		return e.At
	case refresh.Unlocked:
		return e.At
	case refresh.JobClaimed:
		return e.At
	case refresh.JobDone:
		return e.At
	case refresh.JobNotDone:
		return e.At
	case refresh.Looked:
		return e.At
	case refresh.Ticked:
		return e.At
	case refresh.Elapsed:
		return e.At
	}
	panic("no event")
}

// fence is the store's next one.
func (x *world) fence() int64 { x.n++; return x.n }

// serve gives the wallet slot 1 if it has none, and renews it.
func (x *world) serve(now time.Time) int64 {
	x.t.Helper()
	if x.w.Wallet.Status == refresh.Served && !x.w.Wallet.Lease.Held(now) {
		x.do(refresh.SlotElapsed{By: by(refresh.Orchestrator, now)})
	}
	if x.w.Wallet.Status == refresh.Unserved {
		x.do(slotClaimed(now, 1))
	}
	l, err := x.w.Wallet.Lease.Renew(x.w.Wallet.Lease.Fence, now, x.c.LockTTL)
	if err != nil {
		x.t.Fatal(err)
	}
	x.w.Wallet.Lease = l
	return l.Fence
}

// claim claims the first due job and returns what is held.
func (x *world) claim(now time.Time) refresh.Fences {
	x.t.Helper()
	h := refresh.Fences{Slot: x.serve(now), Lock: x.fence()}
	c := x.do(refresh.JobClaimed{By: worker(now), Slot: h.Slot, Lock: h.Lock, Known: x.w.Lock.Lease.Fence})
	h.Job = c.Job
	for _, j := range x.w.Jobs {
		if j.ID == h.Job {
			h.Fence = j.Lease.Fence
		}
	}
	return h
}

// pass runs one job over a listing.
func (x *world) pass(now time.Time, l refresh.Listing, cancelled ...refresh.Cancelled) refresh.Change {
	x.t.Helper()
	h := x.claim(now)
	return x.do(refresh.JobDone{By: worker(now), Fences: h, Listing: l, Cancelled: cancelled})
}

// tick runs one tick; every cancellation gets outcome, and the refresh is done.
func (x *world) tick(now time.Time, l refresh.Listing, outcome statemachine.Outcome) refresh.Change {
	x.t.Helper()
	slot, lock := x.serve(now), x.fence()
	c := x.do(refresh.Looked{By: worker(now), Slot: slot, Lock: lock, Known: x.w.Lock.Lease.Fence, Began: now, Listing: l})
	if !c.Tick.Locked() {
		return c
	}
	e := refresh.Ticked{By: worker(now), Fences: refresh.Fences{Slot: slot, Lock: lock}, Began: now, Listing: l, Recipients: c.Tick.Recipients,
		Refreshed: statemachine.Done}
	for _, index := range c.Tick.Cancel {
		e.Cancelled = append(e.Cancelled, refresh.Cancelled{Index: index, Outcome: outcome})
	}
	return x.do(e)
}

func (x *world) watcher(recipient string) refresh.Watcher {
	x.t.Helper()
	for _, w := range x.w.Watchers {
		if w.Recipient == recipient {
			return w
		}
	}
	x.t.Fatalf("no watcher of %s", recipient)
	return refresh.Watcher{}
}

func (x *world) job(n byte) refresh.Job {
	x.t.Helper()
	for _, j := range x.w.Jobs {
		if j.ID == id(n) {
			return j
		}
	}
	x.t.Fatalf("no job %d", n)
	return refresh.Job{}
}

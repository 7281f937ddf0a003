package refresh_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
)

// What a worker sends twice, as nobody knows whether the first copy was stored.

// A worker sends a claim again when the first answer was lost. The copy names the job that was
// claimed and leaves the other jobs alone, however the clock moved meanwhile. A claim whose
// Known is the fence of the lock is a new claim.
func TestAClaimIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		back time.Duration // of the clock, before the copy
		same bool
	}{{0, true}, {-5 * time.Second, true}, {-48 * time.Hour, true}, {0, false}} {
		same := c.same
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""), enqueued(t0, 2, refresh.Sync, "", ""))
		now := after(time.Second)
		claim := refresh.JobClaimed{By: worker(now), Slot: x.serve(now), Lock: x.fence()}
		x.do(claim)
		if !same {
			claim.Known = claim.Lock
		}
		claim.At, claim.Lock = after(2*time.Second+c.back), x.fence()
		again := x.do(claim)
		if (again.Job == id(1)) != same || again.Empty() != same || x.job(2).AvailableAt.Equal(t0) != same {
			t.Errorf("%+v: %v %+v", c, again.Job, x.job(2))
		}
	}
	for _, holder := range []string{"api", "w1"} { // another's lock, and one without a job
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		other := by(refresh.API, t0)
		other.Actor = holder
		x.do(refresh.Locked{By: other, Fence: x.fence()})
		if c := x.do(refresh.JobClaimed{By: worker(t0), Slot: x.serve(t0), Lock: x.fence()}); c.Job != uuid.Nil || c.Empty() {
			t.Errorf("under the lock of %s: %v", holder, c.Job)
		}
	}
}

// A look-up that is sent again leaves the refresh to be made under the lock that the first copy
// took, however the clock moved. A look-up whose Known is the fence of this lock meets a held
// lock.
func TestALookUpIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		back time.Duration
		same bool
	}{{0, true}, {-5 * time.Second, true}, {-48 * time.Hour, true}, {0, false}} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, open("r", "a")))
		look := refresh.Looked{By: worker(t0), Slot: x.serve(t0), Lock: x.fence(), Began: t0, Listing: listing(t0, open("r", "a"))}
		x.do(look)
		held := refresh.Fences{Slot: look.Slot, Lock: look.Lock}
		if !c.same {
			look.Known = look.Lock
		}
		look.At, look.Lock = after(time.Second+c.back), x.fence()
		again := x.do(look)
		if again.Tick.Refresh != c.same || !again.Empty() || again.New.Lock.Lease.Fence != held.Lock {
			t.Errorf("%+v: %+v", c, again.Tick)
		}
		x.do(refresh.Ticked{By: worker(look.At), Fences: held, Began: t0, Listing: look.Listing,
			Recipients: again.Tick.Recipients, Refreshed: done})
		if x.w.Lock != (refresh.Lock{}) {
			t.Error("held still")
		}
	}
	x := newWorld(t) // another's lock of that very moment
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	x.pass(t0, listing(t0, open("r", "a")))
	x.do(refresh.Locked{By: by(refresh.API, t0), Fence: x.fence()})
	if c := x.tick(t0, listing(t0, open("r", "a")), done); !c.Tick.Held || c.Tick.Refresh {
		t.Errorf("%+v", c.Tick)
	}
}

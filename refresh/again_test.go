package refresh_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
)

// What a worker sends twice, as nobody knows whether the first copy was stored.

// A claim that is sent again, as its first answer was lost, names the job that it
// claimed, and puts no other off; one that was asked for after the lock was taken is
// another one.
func TestAClaimIsSentAgain(t *testing.T) {
	for asked, same := range map[time.Time]bool{t0: true, after(time.Second): true, after(time.Second + time.Microsecond): false, {}: false} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""), enqueued(t0, 2, refresh.Sync, "", ""))
		now := after(time.Second)
		claim := refresh.JobClaimed{By: worker(now), Slot: x.serve(now), Lock: x.fence(), Asked: asked}
		x.do(claim)
		claim.At, claim.Lock = after(2*time.Second), x.fence()
		c := x.do(claim)
		if (c.Job == id(1)) != same || c.Empty() != same || x.job(2).AvailableAt.Equal(t0) != same {
			t.Errorf("asked at %v: %v %+v", asked, c.Job, x.job(2))
		}
	}
	for _, holder := range []string{"api", "w1"} { // another's lock, and one without a job
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		other := by(refresh.API, t0)
		other.Actor = holder
		x.do(refresh.Locked{By: other, Fence: x.fence()})
		if c := x.do(refresh.JobClaimed{By: worker(t0), Slot: x.serve(t0), Lock: x.fence(), Asked: t0}); c.Job != uuid.Nil || c.Empty() {
			t.Errorf("under the lock of %s: %v", holder, c.Job)
		}
	}
}

// A look-up that is sent again leaves the refresh under the lock that it took; one that
// began later has met a held lock.
func TestALookUpIsSentAgain(t *testing.T) {
	for _, since := range []time.Duration{0, time.Microsecond} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, open("r", "a")))
		look := refresh.Looked{By: worker(t0), Slot: x.serve(t0), Lock: x.fence(), Began: t0, Listing: listing(t0, open("r", "a"))}
		x.do(look)
		held := refresh.Held{Slot: look.Slot, Lock: look.Lock}
		look.At, look.Lock, look.Began = after(time.Second), x.fence(), after(since)
		c := x.do(look)
		if same := since == 0; c.Tick.Refresh != same || !c.Empty() || c.New.Lock.Lease.Fence != held.Lock {
			t.Errorf("%v later: %+v", since, c.Tick)
		}
		x.do(refresh.Ticked{By: worker(look.At), Held: held, Began: t0, Listing: look.Listing, Recipients: c.Tick.Recipients, Refreshed: done})
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

package refresh_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// A revocation takes what a process holds before its leases end: the slot, the job, whose
// attempt counts, and the lock.
func TestRevokedProcess(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.Sync, "", ""))
	h := x.claim(t0)
	of := statemachine.Revocation{Holder: "w1", Reason: "its machine burnt"}
	other := worker(t0)
	other.Actor = "w2"
	for _, bad := range []struct {
		ev   refresh.Revoked
		want error
	}{{refresh.Revoked{By: other, Revocation: of}, statemachine.ErrForbidden},
		{refresh.Revoked{By: by(refresh.API, t0), Revocation: of}, statemachine.ErrForbidden},
		{refresh.Revoked{By: by(refresh.Operator, t0), Revocation: statemachine.Revocation{Holder: "w1"}}, statemachine.ErrInvalid}} {
		x.refused(bad.ev, t0, bad.want)
	}
	if c := x.do(refresh.Revoked{By: by(refresh.Operator, t0), Revocation: statemachine.Revocation{Holder: "w2", Reason: "x"}}); !c.Empty() {
		t.Error("what another process has was taken from this one")
	}
	x.do(refresh.Revoked{By: by(refresh.Operator, t0), Revocation: of})
	j := x.job(1)
	if x.w.Wallet.Status != refresh.Unserved || !x.w.Wallet.UnservedSince.Equal(t0) || x.w.Wallet.Lease != (statemachine.Lease{Fence: 1}) ||
		x.w.Lock != (refresh.Lock{}) {
		t.Errorf("%+v, %+v", x.w.Wallet, x.w.Lock)
	}
	if j.Status != refresh.JobPending || j.Attempts != 1 || j.Lease.Holder != "" || !j.AvailableAt.After(t0) {
		t.Errorf("%+v", j)
	}
	x.refused(refresh.JobDone{By: worker(t0), Fences: h}, t0, statemachine.ErrFenced)
	if c := x.do(refresh.Revoked{By: worker(t0), Revocation: of}); !c.Empty() {
		t.Errorf("given back twice: %+v", c.Log)
	}
}

// refused requires that an event is refused with a sentinel.
func (x *world) refused(ev refresh.Event, now time.Time, sentinel error) {
	x.t.Helper()
	if _, err := x.try(ev, now); !errors.Is(err, sentinel) {
		x.t.Errorf("%T: %v, expected %v", ev, err, sentinel)
	}
}

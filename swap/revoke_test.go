package swap_test

import (
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

// A worker whose lease was revoked begins nothing; what it began is looked up.
func TestRevokedLease(t *testing.T) {
	r := ready(t).claim().do(swap.AccountChecked{By: by(swap.Worker, t0), State: swap.AccountUsable})
	begun := r.begun(swap.Send)
	of := statemachine.Revocation{Holder: "worker", Reason: "its machine burnt"}
	other := r.worker()
	other.Actor = "worker-2"
	r.refused(swap.Revoked{By: other, Revocation: of}, statemachine.ErrForbidden)
	r.refused(swap.Revoked{By: r.operator(), Revocation: statemachine.Revocation{Holder: "worker"}}, statemachine.ErrInvalid)
	r.refused(swap.Revoked{By: by(swap.Observer, r.now), Revocation: of}, statemachine.ErrForbidden)
	due := r.i().CheckAt
	r.do(swap.Revoked{By: r.operator(), Revocation: of})
	if i := r.i(); i.Lease != (statemachine.Lease{Fence: 1}) || !i.CheckAt.Equal(due) || len(r.last.Log) > 0 {
		t.Errorf("%+v, due %v", i.Lease, i.CheckAt)
	}
	r.refused(begun, statemachine.ErrFenced)

	r = ready(t).begin(swap.Send)
	sendBy := r.latest().SendBy
	r.do(swap.Revoked{By: r.worker(), Revocation: of})
	if in := r.latest(); !in.Open() || !in.SendBy.Equal(sendBy) {
		t.Errorf("what may have been sent is closed: %+v", in)
	}
	r.claim().refused(r.begun(swap.Send), switches.ErrOnHold)
}

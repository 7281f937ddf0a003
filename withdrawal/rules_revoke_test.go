package withdrawal_test

import (
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// What a worker holds is given back before its lease ends, as a rescue does at
// its end: what may have been sent is looked up, the attempt counts.
func TestRevokedHoldings(t *testing.T) {
	s := states(t)
	ofWorker := statemachine.Revocation{Holder: "worker-1"}
	own := withdrawal.Revoked{By: worker(t0), Revocation: ofWorker}
	operator := withdrawal.Revoked{By: by(withdrawal.Operator, t0), Revocation: ofWorker}
	operator.Reason = "its machine burnt"
	for state, want := range map[string]string{"processing": "pending", "prepared": "confirming", "dispatched": "processing",
		"pending": "nothing", "confirming": "nothing", "approved": "nothing", "leased confirming": "touch"} {
		for _, ev := range []withdrawal.Revoked{own, operator} {
			c, err := policy.Apply(s[state], ev)
			sound(t, c)
			got := c.New.Job.Status.String()
			switch {
			case c.Touch():
				got = "touch"
			case len(c.Log) == 0:
				got = "nothing"
			}
			if err != nil || got != want || c.New.Job.Lease.Holder != "" || c.New.Job.Lease.Fence != s[state].Job.Lease.Fence {
				t.Errorf("%s: %s, %v, lease %+v, expected %s", state, got, err, c.New.Job.Lease, want)
			}
			if again, err := policy.Apply(c.New, ev); err != nil || !again.Empty() {
				t.Errorf("%s twice: %+v, %v", state, again.Log, err)
			}
		}
	}
	w := expect(t, policy, s["processing"], operator, "pending")
	if w.Job.RetryCount != s["processing"].Job.RetryCount || !strings.Contains(w.Job.ErrorMessage, operator.Reason) {
		t.Errorf("%+v", w.Job)
	}
	expect(t, policy, w, prepared(t0, 1, "tx1", 7), "fenced")
	w = expect(t, policy, s["dispatched"], operator, "processing, review")
	if !w.Job.Review || int(w.Job.Dispatches) != 1 {
		t.Errorf("%+v", w.Job)
	}
	expect(t, policy, w, withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}, "confirming") // the answer is news whenever it comes

	other := own
	other.Actor = "worker-2"
	expect(t, policy, s["processing"], other, "forbidden")
	operator.Reason = strings.Repeat("r", 2*withdrawal.MaxText)
	expect(t, policy, s["processing"], operator, "pending") // cut
	operator.Reason = " "
	expect(t, policy, s["processing"], operator, "invalid")
	operator.Reason, operator.Holder = "x", ""
	expect(t, policy, s["processing"], operator, "invalid")
	operator.Holder = "worker-2"
	expect(t, policy, s["processing"], operator, "-")
	expect(t, policy, s["processing"], withdrawal.Revoked{By: by(withdrawal.System, t0), Revocation: ofWorker}, "forbidden")
}

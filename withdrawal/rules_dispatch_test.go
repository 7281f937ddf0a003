package withdrawal_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// The answer of a signer that also sends counts whenever it comes: refused, an
// operator could find that nothing was sent.
func TestALateAnswerOfADispatchIsKept(t *testing.T) {
	review := states(t)["review"]
	if !review.Job.Review || review.Job.DispatchedAt.IsZero() {
		t.Fatalf("the state is %+v", review.Job)
	}
	late := worker(review.Job.ClaimedAt.Add(24 * policy.Lease))
	answer := withdrawal.Broadcast{By: late, Fence: review.Job.Lease.Fence, Hash: "s1"}
	c, err := policy.Apply(review, answer)
	if err != nil {
		t.Fatal(err)
	}
	if j := c.New.Job; j.Status != withdrawal.JobConfirming || j.Review || j.TxHash != "s1" || len(c.Txs) != 1 || c.Attempt() != nil {
		t.Errorf("the job is %s, review %t, hash %q, with %d transactions and attempt %v to store",
			j.Status, j.Review, j.TxHash, len(c.Txs), c.Attempt())
	}
	if err := withdrawal.Check(c.New); err != nil {
		t.Error(err)
	}
	if again, err := policy.Apply(c.New, answer); err != nil || !again.Empty() {
		t.Errorf("the same answer again: %v, %d lines", err, len(again.Log))
	}
	other := answer
	other.Fence++
	expect(t, policy, review, other, "fenced")

	dispatched := states(t)["dispatched"] // its lease has ended, nobody has rescued it
	late = worker(dispatched.Job.Lease.Until)
	c, err = policy.Apply(dispatched, withdrawal.Broadcast{By: late, Fence: dispatched.Job.Lease.Fence, Hash: "s1"})
	if err != nil || c.New.Job.Status != withdrawal.JobConfirming || c.Attempt() == nil || c.Attempt().Outcome != statemachine.Done {
		t.Errorf("after the lease: %v, %s, attempt %+v", err, c.New.Job.Status, c.Attempt())
	}
}

// Where a transaction that was declared dead has paid already, the answer is
// kept, but an operator keeps the job: nothing of it is sent again.
func TestALateAnswerBesideAPaymentStaysInReview(t *testing.T) {
	review := states(t)["review"]
	review.Request.Mined, review.Request.Disproved, review.Request.DisprovedBy, review.Request.Told = "tx0", "tx0", "olga", "mined:tx0"
	answer := withdrawal.Broadcast{By: worker(review.Job.ClaimedAt.Add(time.Hour)), Fence: review.Job.Lease.Fence, Hash: "s1", Raw: []byte("s1")}
	w := run(t, review, answer)
	if w.Job.Status != withdrawal.JobConfirming || !w.Job.Review {
		t.Fatalf("the job is %s, review %t", w.Job.Status, w.Job.Review)
	}
	at := w.Job.NextCheckAt
	w = run(t, w, withdrawal.Missing{By: checker(at), Tx: "s1"})
	expect(t, policy, w, withdrawal.Claimed{By: worker(at)}, "illegal")
	for _, a := range policy.Next(w, at.Add(time.Hour)).Actions {
		if a.Do == withdrawal.DoRebroadcast || a.Do == withdrawal.DoBroadcast {
			t.Errorf("it owes %v", a.Do)
		}
	}
}

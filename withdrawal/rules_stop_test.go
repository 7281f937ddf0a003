package withdrawal_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

func held(at time.Time) withdrawal.Held {
	return withdrawal.Held{By: by(withdrawal.Operator, at), Reason: "fraud?"}
}
func released(at time.Time) withdrawal.Released {
	return withdrawal.Released{By: by(withdrawal.Operator, at), Reason: "no"}
}

// S5: until something is prepared or dispatched a queued payment can be stopped.
func TestStopCancelsWhatIsNotOut(t *testing.T) {
	s := states(t)
	cancel := withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "the user asked"}
	for name, want := range map[string]string{"job pending": "failed", "processing": "failed", "held": "failed", "not sent": "failed",
		"prepared": "illegal", "dispatched": "illegal", "review": "illegal", "confirming": "illegal", "confirming review": "illegal", "confirmed": "illegal"} {
		c, err := policy.Apply(s[name], cancel)
		if got := word(c, err); got != want {
			t.Errorf("%s: %s (%v), expected %s", name, got, err, want)
		}
		if want != "failed" {
			continue
		}
		sound(t, c)
		w := c.New
		if w.Request.Status != withdrawal.RequestCancelled || w.Job.ErrorMessage != "cancelled" || len(c.Reservations) != 1 || !c.Reservations[0].Release || w.Job.Slot.Valid {
			t.Errorf("%s: %+v", name, w)
		}
		expect(t, policy, w, cancel, "-")
		expect(t, policy, w, withdrawal.Requeued{By: cancel.By, Job: job1, NotRefunded: true}, "illegal")
		if step := policy.Next(w, t0); step.Party != 0 || len(step.Actions) > 0 {
			t.Errorf("%s: it owes %+v", name, step)
		}
	}
	// The worker that was at it is told nothing new, and sends nothing.
	w := run(t, s["processing"], cancel)
	if w.Attempt.Outcome != statemachine.Deferred || w.Job.RetryCount != 0 {
		t.Errorf("%+v", w.Attempt)
	}
	expect(t, policy, w, failedAttempt(t0, 1, withdrawal.Retryable), "-")
	expect(t, policy, w, withdrawal.GivenBack{By: worker(t0), Fence: 1}, "-")
	expect(t, policy, w, prepared(t0, 1, "tx1", 7), "illegal")
	expect(t, policy, w, withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "r"}, "illegal")
	expect(t, policy, w, withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "h"}, "illegal")
}

func TestHoldAndRelease(t *testing.T) {
	s := states(t)
	for _, name := range []string{"rejected", "cancelled", "confirmed", "failed", "none"} {
		expect(t, policy, s[name], held(t0), "illegal")
		expect(t, policy, s[name], released(t0), "illegal")
	}
	for _, name := range []string{"pending", "approved", "job pending", "processing", "prepared", "dispatched", "review", "confirming", "confirming review"} {
		w := run(t, s[name], held(t0))
		expect(t, policy, w, held(t0), "-")
		old := held(t0)
		old.Version = s[name].Request.Version
		expect(t, policy, w, old, "-")
		free := run(t, w, released(t0))
		expect(t, policy, free, released(t0), "-")
		if free.Request.Held {
			t.Errorf("%s: %+v", name, free.Job)
		}
	}
	// Approved: no job. Still approved or stopped by people.
	expect(t, policy, run(t, s["pending"], held(t0)), withdrawal.Approved{By: by(withdrawal.Approver, t0)}, "approved")
	w := run(t, s["approved"], held(t0))
	expect(t, policy, w, enqueued(t0, job1), "on hold")
	if step := policy.Next(w, t0); step.Party != withdrawal.Operator || len(step.Actions) > 0 || !step.Due.IsZero() {
		t.Errorf("it owes %+v", step)
	}
	expect(t, policy, w, withdrawal.Cancelled{By: by(withdrawal.Operator, t0)}, "cancelled")

	// Pending: no execution until it is released.
	w = run(t, s["job pending"], held(t0))
	expect(t, policy, w, withdrawal.Claimed{By: worker(t0)}, "on hold")
	if step := policy.Next(w, t0); step.Party != withdrawal.Operator || len(step.Actions) > 0 {
		t.Errorf("it owes %+v", step)
	}
	expect(t, policy, run(t, w, released(t0)), withdrawal.Claimed{By: worker(t0)}, "processing")

	// In execution with nothing out: at once, and the attempt is given back.
	w = run(t, s["processing"], held(t0))
	if j := w.Job; j.Status != withdrawal.JobPending || j.RetryCount != 0 || j.Lease.Holder != "" || j.Slot.Valid ||
		w.Attempt.Outcome != statemachine.Deferred || w.Attempt.EndedAt.IsZero() {
		t.Errorf("%+v, %+v", w.Job, w.Attempt)
	}
	expect(t, policy, w, failedAttempt(t0, 1, withdrawal.Permanent), "-")
	expect(t, policy, w, withdrawal.GivenBack{By: worker(t0), Fence: 1}, "-")
	expect(t, policy, w, prepared(t0, 1, "tx1", 7), "fenced")
	expect(t, policy, w, withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "r"}, "fenced")
	expect(t, policy, w, withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "h"}, "fenced")
	again := run(t, w, released(t0), withdrawal.Claimed{By: worker(t0), Fence: 2})
	expect(t, policy, again, failedAttempt(t0, 1, withdrawal.Permanent), "-")

	// With something out the hold waits for its return.
	w = run(t, s["prepared"], held(t0), withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"})
	expect(t, policy, w, receipt(t0, "tx1", 3), "confirmed")
	expect(t, policy, w, withdrawal.Claimed{By: worker(t0)}, "touch") // what is out goes on
	w = expect(t, policy, w, dead(t0, "tx1", 3, 7), "pending")
	expect(t, policy, w, withdrawal.Claimed{By: worker(w.Job.ScheduledAt)}, "on hold")
	w = run(t, s["review"], held(t0))
	w = expect(t, policy, w, notSent(w, t0), "pending")
	expect(t, policy, w, withdrawal.Claimed{By: worker(w.Job.ScheduledAt)}, "on hold")
	// A held request may be imported over: a transaction is out.
	expect(t, policy, run(t, s["approved"], held(t0)), imported(t0), "confirming")
}

func imported(at time.Time) withdrawal.Imported {
	return withdrawal.Imported{By: by(withdrawal.System, at), Request: req, Job: job1, AssetOnChain: token, Hash: "old", Wallets: wallets()}
}

// A wallet or a chain that is off begins nothing; what is out goes on.
func TestWhatIsOffBeginsNothing(t *testing.T) {
	paused := policy
	paused.Chain.Paused = true
	retired := func(w withdrawal.Withdrawal) withdrawal.Withdrawal {
		w.Wallet.Status = "retired"
		return w
	}
	same := func(w withdrawal.Withdrawal) withdrawal.Withdrawal { return w }
	for name, off := range map[string]struct {
		p    withdrawal.Policy
		with func(withdrawal.Withdrawal) withdrawal.Withdrawal
	}{"wallet": {policy, retired}, "role": {policy, func(w withdrawal.Withdrawal) withdrawal.Withdrawal { w.Wallet.Role = "cold"; return w }}, "chain": {paused, same}} {
		t.Run(name, func(t *testing.T) {
			s, p := states(t), off.p
			w := func(name string) withdrawal.Withdrawal { return off.with(s[name]) }
			if name == "chain" {
				expect(t, p, s["approved"], enqueued(t0, job1), "on hold")
			}
			expect(t, p, w("job pending"), withdrawal.Claimed{By: worker(t0)}, "on hold")
			expect(t, p, w("processing"), prepared(t0, 1, "tx1", 7), "on hold")
			expect(t, p, w("processing"), withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "r"}, "on hold")
			if step := p.Next(w("job pending"), t0); step.Party != withdrawal.Operator || len(step.Actions) > 0 {
				t.Errorf("it owes %+v", step)
			}
			// No fault of the payment: the attempt is given back, in each way to end it.
			for _, ev := range []withdrawal.Event{failedAttempt(t0, 1, withdrawal.Retryable), failedAttempt(t0, 1, withdrawal.Unclear),
				failedAttempt(t0, 1, withdrawal.InsufficientBalance), withdrawal.Elapsed{By: by(withdrawal.System, t0.Add(policy.Lease))}} {
				last := w("processing")
				last.Job.RetryCount, last.Job.MaxRetries = 1, 1
				got := expect(t, p, last, ev, "pending")
				if got.Job.RetryCount != 0 || got.Attempt.Outcome != statemachine.Deferred {
					t.Errorf("%T: %+v", ev, got.Job)
				}
				expect(t, p, got, ev, "-")
			}
			expect(t, p, w("processing"), failedAttempt(t0, 1, withdrawal.Permanent), "failed")
			expect(t, p, w("prepared"), withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}, "confirming")
			expect(t, p, w("prepared"), withdrawal.Elapsed{By: by(withdrawal.System, t0.Add(policy.Lease))}, "confirming")
			expect(t, p, w("confirming"), withdrawal.Claimed{By: worker(t0)}, "touch")
			expect(t, p, w("leased confirming"), withdrawal.Rebumped{By: worker(t0), Fence: 2, Hash: "tx2", Raw: []byte("b"), Nonce: 7, HasNonce: true}, "confirming")
			expect(t, p, w("confirming"), receipt(t0, "tx1", 3), "confirmed")
		})
	}
}

// S6: a hold that repeats backs off, and its age is the request's.
func TestARepeatedDeferralBacksOff(t *testing.T) {
	p := policy
	p.HoldInsufficient = true
	w, at := states(t)["job pending"], t0
	want := []time.Duration{10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440}
	for k, minutes := range want {
		w = runWith(t, p, w, withdrawal.Claimed{By: worker(at)}, failedAttempt(at, int64(k+1), withdrawal.InsufficientBalance))
		if got := w.Job.ScheduledAt.Sub(at); got != minutes*time.Minute || w.Job.RetryCount != 0 || int(w.Job.Deferrals) != k+1 {
			t.Fatalf("deferral %d waits %v, retry_count %d", k, got, w.Job.RetryCount)
		}
		at = w.Job.ScheduledAt
	}
	if !w.Request.QueuedAt.Equal(t0) || !w.Request.UpdatedAt.Equal(t0) {
		t.Error("the age is gone")
	}
	fence := w.Job.Lease.Fence + 1
	for name, other := range map[string]withdrawal.Event{"retry": failedAttempt(at, fence, withdrawal.Retryable), "snooze": withdrawal.GivenBack{By: worker(at), Fence: fence},
		"rescue": withdrawal.Elapsed{By: by(withdrawal.System, at.Add(p.Lease))}} {
		if w := runWith(t, p, w, withdrawal.Claimed{By: worker(at)}, other); w.Job.Deferrals != 0 {
			t.Errorf("%s: another end resets it", name)
		}
	}
	p.HoldFor = time.Second // the value counts
	if w := runWith(t, p, states(t)["processing"], failedAttempt(t0, 1, withdrawal.InsufficientBalance)); !w.Job.ScheduledAt.Equal(t0.Add(time.Second)) {
		t.Errorf("it waits until %v", w.Job.ScheduledAt)
	}
}

// S17, S27: what was refused is not offered again at once, and moves nothing.
func TestPutOff(t *testing.T) {
	off := withdrawal.PutOff{By: by(withdrawal.System, t0)}
	w := expect(t, policy, states(t)["approved"], off, "touch")
	if !w.Request.OfferAt.Equal(t0.Add(policy.EnqueueEvery)) || w.Request.Version != states(t)["approved"].Request.Version {
		t.Errorf("%+v", w.Request)
	}
	if at, ok := withdrawal.DueAt(withdrawal.DueEnqueue, &w, 0); !ok || !at.Equal(w.Request.OfferAt) {
		t.Errorf("it is offered from %v on", at)
	}
	if step := policy.Next(w, t0); !step.Due.Equal(w.Request.OfferAt) || step.Party != withdrawal.System || len(step.Actions) > 0 {
		t.Errorf("%+v", step)
	}
	expect(t, policy, w, off, "-")
	if w = expect(t, policy, w, enqueued(t0, job1), "pending"); !w.Request.OfferAt.IsZero() {
		t.Error("it has its job")
	}
	w = expect(t, policy, w, off, "touch")
	if !w.Job.DueAt().Equal(t0.Add(policy.CheckEvery)) {
		t.Errorf("due at %v", w.Job.DueAt())
	}
	if step := policy.Next(w, t0); !step.Due.Equal(w.Job.OfferAt) || len(step.Actions) > 0 {
		t.Errorf("%+v", step)
	}
	if w = expect(t, policy, w, withdrawal.Claimed{By: worker(t0)}, "processing"); !w.Job.OfferAt.IsZero() {
		t.Error("it is claimed")
	}
	expect(t, policy, w, off, "illegal")
}

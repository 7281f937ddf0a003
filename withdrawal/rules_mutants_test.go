package withdrawal_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// Changes of the rules that no test noticed once.

// Evidence without a block hash is no evidence, even where both are empty.
func TestEvidenceNeedsABlockHash(t *testing.T) {
	s := states(t)["confirming"]
	at := t0.Add(time.Second)
	mined, gone := receipt(at, "tx1", 3), dead(at, "tx1", 3, 7)
	paid := paidBy(at, withdrawal.ConfirmationWorker, "x")
	paid.Nonce, paid.HasNonce = 7, true
	for _, b := range []*withdrawal.Block{&mined.Block, &gone.Block, &paid.Block} {
		b.Hash, b.Canonical = "", ""
	}
	expect(t, policy, s, mined, "touch")
	expect(t, policy, s, gone, "touch")
	expect(t, policy, s, paid, "touch")
}

// A nonce is of one wallet: the same one of another is another.
func TestANonceOfAnotherWalletExcludesNothing(t *testing.T) {
	w := run(t, states(t)["prepared"], withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "tx2", Raw: []byte("b"), Nonce: 7, HasNonce: true})
	w.Txs[0].Wallet = id(99)
	if err := withdrawal.Check(w); err == nil {
		t.Error("two wallets with one nonce are taken for exclusive")
	}
	bump := withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "tx3", Raw: []byte("c"), Nonce: 7, HasNonce: true}
	expect(t, policy, w, bump, "invalid")
	paid := paidBy(t0, withdrawal.ConfirmationWorker, "x")
	paid.Nonce, paid.HasNonce = 7, true
	expect(t, policy, w, paid, "forbidden")
}

// What is dead is not sent again.
func TestADeadTransactionIsNotSentAgain(t *testing.T) {
	w := run(t, states(t)["confirming"], dead(t0, "tx1", 3, 7))
	at := w.Job.ScheduledAt
	w = run(t, w, withdrawal.Claimed{By: worker(at), Fence: 2}, prepared(at, 2, "tx2", 8), withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"})
	w = run(t, w, withdrawal.Missing{By: checker(w.Job.NextCheckAt), Tx: "tx2"})
	at = w.Job.NextCheckAt
	w = run(t, w, withdrawal.Claimed{By: worker(at), Fence: 3})
	expect(t, policy, w, withdrawal.Rebroadcast{By: worker(at), Fence: 3, Hash: "tx1", Done: true}, "invalid")
	expect(t, policy, w, withdrawal.Rebroadcast{By: worker(at), Fence: 3, Hash: "tx2", Done: true}, "touch")
}

// A report is the same one only with the outcome that closed the attempt.
func TestAnAttemptIsClosedWithItsOutcome(t *testing.T) {
	failed := withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Retryable, Error: "x"}
	snoozed := withdrawal.Snoozed{By: worker(t0), Fence: 1, Reason: "x"}
	w := run(t, states(t)["processing"], failed)
	expect(t, policy, w, failed, "-")
	expect(t, policy, w, snoozed, "fenced")
	if w.Attempt.Outcome != statemachine.Failed {
		t.Errorf("%+v", w.Attempt)
	}
	w = run(t, states(t)["prepared"], withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"})
	done := failed
	done.Error = ""
	expect(t, policy, w, done, "fenced") // it was done
}

// The id of a failed job is not used again.
func TestAFailedJobsIDIsNotUsedAgain(t *testing.T) {
	expect(t, policy, states(t)["requeued"], enqueued(t0, job1), "invalid")
	expect(t, policy, states(t)["requeued"], enqueued(t0, job2), "pending")
}

// A snooze lasts up to 30 days, to the microsecond.
func TestASnoozeLastsThirtyDays(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for d, want := range map[time.Duration]string{month: "pending", month + time.Nanosecond: "invalid", month - time.Microsecond: "pending", -1: "invalid"} {
		w := expect(t, policy, states(t)["processing"], withdrawal.Snoozed{By: worker(t0), Fence: 1, For: d}, want)
		if want == "pending" && !w.Job.ScheduledAt.Equal(t0.Add(d)) {
			t.Errorf("%v: scheduled at %v", d, w.Job.ScheduledAt)
		}
	}
	// S16: whole microseconds, so that what is named as due can be claimed then.
	w := run(t, states(t)["processing"], withdrawal.Snoozed{By: worker(t0), Fence: 1, For: time.Second + 999*time.Nanosecond})
	if !w.Job.ScheduledAt.Equal(t0.Add(time.Second)) {
		t.Errorf("scheduled at %v", w.Job.ScheduledAt)
	}
	p := policy
	p.Backoff.JitterPercent = 33
	for k := byte(1); k < 50; k++ {
		a := states(t)["processing"]
		a.Job.ID, a.Attempt.Job = id(k), id(k)
		for i := range a.Txs {
			a.Txs[i].Job = id(k)
		}
		c, err := p.Apply(a, failedAttempt(t0, 1, withdrawal.Retryable))
		if err != nil || c.New.Job.ScheduledAt.Nanosecond()%1000 != 0 {
			t.Fatalf("scheduled at %v, %v", c.New.Job.ScheduledAt, err)
		}
	}
	p.CheckEvery = time.Second + 1
	if err := p.Validate(); err == nil {
		t.Error("a duration finer than a microsecond is accepted")
	}
}

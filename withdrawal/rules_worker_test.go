package withdrawal_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

func TestRule5IntentBeforeEffect(t *testing.T) {
	s := states(t)
	expect(t, policy, s["processing"], withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}, "illegal")
	expect(t, policy, s["prepared"], withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "other"}, "invalid")
	expect(t, policy, s["prepared"], prepared(t0, 1, "tx2", 8), "illegal")
	expect(t, policy, s["prepared"], withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "r"}, "illegal")
	expect(t, policy, s["dispatched"], prepared(t0, 1, "tx2", 8), "illegal")
	expect(t, policy, s["dispatched"], withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "another"}, "illegal")
	w := expect(t, policy, s["dispatched"], withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx9"}, "confirming")
	if w.Job.TxHash != "tx9" || len(w.Txs) != 1 || w.Job.Slot.Valid || w.Attempt.Outcome != statemachine.Done || w.Attempt.Hash != "tx9" {
		t.Errorf("%+v", w.Job)
	}
}

func TestRule5Rebump(t *testing.T) {
	s := states(t)
	bump := withdrawal.Rebumped{By: worker(t0), Fence: 2, Hash: "tx2", Raw: []byte("tx2"), Nonce: 7, HasNonce: true}
	wrong := bump
	wrong.Nonce = 8
	expect(t, policy, s["leased confirming"], wrong, "invalid")
	expect(t, policy, s["confirming"], bump, "fenced")
	w := expect(t, policy, s["leased confirming"], bump, "confirming")
	if !w.Job.Rebroadcast || !w.Job.NextCheckAt.Equal(t0) || w.Job.TxHash != "tx2" || w.Job.TxsOnFile != 2 {
		t.Errorf("the new bytes are not owed a broadcast: %+v", w.Job)
	}
	if w2 := expect(t, policy, w, receipt(t0, "tx1", 3), "confirmed"); w2.Request.FinalTxHash != "tx1" {
		t.Error("the final hash is not the one that was mined")
	}
	if w2 := expect(t, policy, w, receipt(t0, "tx2", 3), "confirmed"); w2.Request.FinalTxHash != "tx2" {
		t.Error("the final hash is not the one that was mined")
	}
	cancel := bump
	cancel.Cancel, cancel.Hash = true, "tx3"
	w = expect(t, policy, w, cancel, "confirming")
	w = expect(t, policy, w, receipt(t0, "tx3", 3), "failed")
	if w.Request.Status != withdrawal.RequestFailed || w.Job.TxHash != "tx3" || w.Request.FinalTxHash != "" {
		t.Errorf("%+v", w.Job)
	}
	expect(t, policy, w, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}, "illegal")

	// Without nonces a shared input makes two transactions exclusive.
	free := policy
	free.Chain.Nonces = false
	first := withdrawal.Prepared{By: worker(t0), Fence: 1, Hash: "a", Raw: []byte("a"), Input: "out:0"}
	w = runWith(t, free, s["processing"], first)
	utxo := withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "b", Raw: []byte("b"), Input: "out:1"}
	expect(t, free, w, utxo, "invalid")
	utxo.Input = ""
	expect(t, free, w, utxo, "invalid")
	utxo.Input = "out:0"
	expect(t, free, w, utxo, "processing")
}

func TestRule6Failures(t *testing.T) {
	s := states(t)
	hold := policy
	hold.HoldInsufficient = true
	for _, tt := range []struct {
		from    string
		p       withdrawal.Policy
		failure withdrawal.Failure
		want    string
		outcome statemachine.Outcome
		count   int32
	}{
		{"processing", policy, withdrawal.Retryable, "pending", statemachine.Failed, 1},
		{"processing", policy, withdrawal.Unclear, "pending", statemachine.Unknown, 1},
		{"processing", policy, withdrawal.Permanent, "failed", statemachine.Failed, 1},
		{"processing", policy, withdrawal.InsufficientBalance, "failed", statemachine.Failed, 1},
		{"processing", hold, withdrawal.InsufficientBalance, "pending", statemachine.Deferred, 0},
		{"prepared", policy, withdrawal.Retryable, "confirming", statemachine.Unknown, 1},
		{"prepared", policy, withdrawal.Permanent, "confirming", statemachine.Unknown, 1},
		{"prepared", hold, withdrawal.InsufficientBalance, "confirming", statemachine.Unknown, 1},
		{"prepared", policy, withdrawal.Unclear, "confirming", statemachine.Unknown, 1},
		{"dispatched", policy, withdrawal.Retryable, "processing, review", statemachine.Unknown, 1},
		{"dispatched", policy, withdrawal.Permanent, "processing, review", statemachine.Unknown, 1},
		{"dispatched", hold, withdrawal.InsufficientBalance, "processing, review", statemachine.Unknown, 1},
		{"dispatched", policy, withdrawal.Unclear, "processing, review", statemachine.Unknown, 1},
	} {
		w := expect(t, tt.p, s[tt.from], failedAttempt(t0, 1, tt.failure), tt.want)
		if w.Attempt.Outcome != tt.outcome || w.Job.RetryCount != tt.count || w.Job.Lease.Holder != "" {
			t.Errorf("%s, %v: %+v", tt.from, tt.failure, w.Attempt)
		}
		if tt.from == "prepared" && (!w.Job.Rebroadcast || w.Job.TxHash != "tx1" || !w.Job.NextCheckAt.Equal(t0)) {
			t.Errorf("the same bytes are not owed: %+v", w.Job)
		}
		// The same report again, and a different one, too late.
		expect(t, tt.p, w, failedAttempt(t0, 1, tt.failure), "-")
		late := failedAttempt(t0, 1, tt.failure)
		late.Error = "another"
		want := "fenced"
		if w.Job.Status == withdrawal.JobFailed {
			want = "illegal"
		}
		expect(t, tt.p, w, late, want)
	}
}

func TestRule6ProvenDead(t *testing.T) {
	s := states(t)
	for depth, want := range map[uint64]string{1: "touch", 2: "touch", 3: "pending", 4: "pending"} {
		expect(t, policy, s["confirming"], dead(t0.Add(time.Second), "tx1", depth, 7), want)
	}
	expect(t, policy, s["confirming"], dead(t0, "tx1", 3, 8), "invalid")
	own := dead(t0, "tx1", 3, 7)
	own.Other = "tx1"
	expect(t, policy, s["confirming"], own, "invalid")
	own.Other = ""
	expect(t, policy, s["confirming"], own, "invalid")
	own.Cause = withdrawal.WindowEnded
	expect(t, policy, s["confirming"], own, "invalid")
	expect(t, policy, s["confirming review"], dead(t0, "tx1", 3, 0), "forbidden")

	w := expect(t, policy, s["confirming"], dead(t0, "tx1", 3, 7), "pending")
	if !w.Job.ScheduledAt.Equal(t0.Add(time.Minute)) || w.Job.TxsDead != 1 || w.Job.TxHash != "" {
		t.Errorf("%+v", w.Job)
	}
	// A second execution, with its own transaction; the first stays dead.
	at := w.Job.ScheduledAt
	w = run(t, w, withdrawal.Claimed{By: worker(at)}, prepared(at, 2, "tx2", 8))
	expect(t, policy, w, receipt(at, "tx1", 3), "confirming, review")
	w = run(t, w, withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"})
	expect(t, policy, w, dead(at, "tx1", 3, 7), "-")
	expect(t, policy, w, receipt(at, "tx1", 3), "confirming, review")
	again := prepared(at, 2, "tx1", 9)
	expect(t, policy, w, again, "fenced")

	// At the limit it fails, and may be requeued.
	w.Job.RetryCount = w.Job.MaxRetries
	w = expect(t, policy, w, dead(at, "tx2", 3, 8), "failed")
	w = expect(t, policy, w, withdrawal.Requeued{By: by(withdrawal.Operator, at), Job: job1, NotRefunded: true}, "approved")
	w = expect(t, policy, w, enqueued(at, job2), "pending")
	w = expect(t, policy, w, withdrawal.Claimed{By: worker(at)}, "processing")
	w = expect(t, policy, w, prepared(at, 3, "tx3", 9), "processing") // fences go on
	if w.Txs[2].Seq != 3 || w.Job.TxsDead != 2 {
		t.Errorf("%+v", w.Txs[2])
	}
	w.Job.TxsOnFile, w.Txs = 2, w.Txs[:2]
	expect(t, policy, w, prepared(at, 3, "tx2", 9), "invalid") // a dead hash is not prepared again
}

func TestRule7LeaseBoundary(t *testing.T) {
	s := states(t)
	end := t0.Add(policy.Lease)
	for name, want := range map[string]string{"processing": "pending", "prepared": "confirming", "dispatched": "processing, review", "review": "-"} {
		for at, want := range map[time.Time]string{end.Add(-time.Microsecond): "-", end: want, end.Add(time.Microsecond): want} {
			expect(t, policy, s[name], withdrawal.Elapsed{By: by(withdrawal.System, at)}, want)
		}
	}
	// The holder is refused from the same moment on.
	expect(t, policy, s["processing"], prepared(end.Add(-time.Microsecond), 1, "tx1", 7), "processing")
	expect(t, policy, s["processing"], prepared(end, 1, "tx1", 7), "fenced")
	w := run(t, s["processing"], withdrawal.Elapsed{By: by(withdrawal.System, end)})
	if w.Job.RetryCount != 1 || !w.Job.ScheduledAt.Equal(end.Add(time.Minute)) || w.Attempt.Error != "Lease expired" {
		t.Errorf("%+v", w.Job)
	}
	// At the limit.
	w = s["processing"]
	w.Job.RetryCount = w.Job.MaxRetries
	expect(t, policy, w, withdrawal.Elapsed{By: by(withdrawal.System, end)}, "failed")
}

func TestRule7OldFence(t *testing.T) {
	end := t0.Add(policy.Lease)
	w := run(t, states(t)["processing"], withdrawal.Elapsed{By: by(withdrawal.System, end)})
	at := w.Job.ScheduledAt
	w = run(t, w, withdrawal.Claimed{By: worker(at)})
	for _, ev := range []withdrawal.Event{prepared(at, 1, "tx1", 7), withdrawal.Dispatched{By: worker(at), Fence: 1, Reference: "r"},
		withdrawal.Broadcast{By: worker(at), Fence: 1, Hash: "tx1"}, failedAttempt(at, 1, withdrawal.Permanent),
		withdrawal.GivenBack{By: worker(at), Fence: 1}, withdrawal.Claimed{By: worker(at), Fence: 1},
		withdrawal.Rebumped{By: worker(at), Fence: 1, Hash: "x", Raw: []byte("x")}, withdrawal.Rebroadcast{By: worker(at), Fence: 1, Hash: "x"}} {
		expect(t, policy, w, ev, "fenced")
	}
	other := prepared(at, 2, "tx1", 7)
	other.Actor = "worker-2"
	expect(t, policy, w, other, "fenced")
}

func TestRule7GivenBack(t *testing.T) {
	for d, want := range map[time.Duration]time.Time{0: t0, time.Hour: t0.Add(time.Hour)} {
		w := run(t, states(t)["processing"], withdrawal.GivenBack{By: worker(t0), Fence: 1, For: d})
		if w.Job.RetryCount != 0 || !w.Job.ScheduledAt.Equal(want) || w.Attempt.Outcome != statemachine.Deferred {
			t.Errorf("%+v", w.Job)
		}
		expect(t, policy, w, withdrawal.GivenBack{By: worker(t0), Fence: 1, For: d}, "-")
	}
	for _, d := range []time.Duration{-1, withdrawal.MaxSnooze + 1} {
		expect(t, policy, states(t)["processing"], withdrawal.GivenBack{By: worker(t0), Fence: 1, For: d}, "invalid")
	}
}

package withdrawal_test

import (
	"runtime/debug"
	"testing"
	"time"

	"github.com/settlehq/settle/withdrawal"
)

// benchStep is one step with the allocations that it may cost.
type benchStep struct {
	name   string
	from   withdrawal.Withdrawal
	ev     withdrawal.Event
	allocs float64
}

// benchSteps has each kind of step once: none changes nothing, touch only what
// is outside the version, one a single record or fact, pair the request and its job.
func benchSteps(t testing.TB) []benchStep {
	s := states(t)
	late := t0.Add(policy.Lease)
	operator := func(from string) withdrawal.By {
		b := by(withdrawal.Operator, t0)
		b.Version = s[from].Job.Version
		return b
	}
	failed := func(f withdrawal.Failure) withdrawal.AttemptFailed {
		return withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: f, Error: "RPC timeout"}
	}
	step := func(name, from string, ev withdrawal.Event) benchStep { return benchStep{name, s[from], ev, 1} }
	free := func(name, from string, ev withdrawal.Event) benchStep { return benchStep{name, s[from], ev, 0} }
	costs := func(n float64, b benchStep) benchStep {
		b.allocs = n
		return b
	}
	imported := withdrawal.Imported{By: by(withdrawal.System, t0), Job: job1, AssetOnChain: token, Hash: "old", Wallets: wallets()}
	created := imported
	created.Request, created.User, created.Asset, created.Chain = req, user, asset, chain
	created.ToAddress, created.Amount, created.Decimals = "0xabc", "100", 18
	reverted := receipt(t0, "tx1", 3)
	reverted.Reverted = true
	return []benchStep{
		free("none/prepared again", "prepared", prepared(t0, 1, "tx1", 7)),
		free("none/mined again", "confirmed", receipt(t0, "tx1", 3)),
		free("touch/looking", "confirming", withdrawal.Looking{By: checker(t0)}),
		free("touch/below depth", "confirming", receipt(t0, "tx1", 2)),
		free("touch/missing", "confirming", withdrawal.Missing{By: checker(t0), Tx: "tx1"}),
		free("touch/claim to send again", "confirming", withdrawal.Claimed{By: worker(t0), Fence: 2}),
		free("touch/sent again", "leased confirming", withdrawal.Rebroadcast{By: worker(t0), Fence: 2, Hash: "tx1", Done: true}),
		costs(amountAllocs+1, step("one/submit", "none", submitted(t0))),
		step("one/approve", "pending", withdrawal.Approved{By: by(withdrawal.Approver, t0)}),
		step("one/reject", "pending", withdrawal.Rejected{By: by(withdrawal.Approver, t0), Reason: "no"}),
		step("one/cancel", "approved", withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "no"}),
		step("one/requeue", "failed", withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, Reason: "address fixed",
			NotRefunded: true}),
		step("one/claim", "job pending", withdrawal.Claimed{By: worker(t0), Fence: 1}),
		step("one/prepared", "processing", prepared(t0, 1, "tx1", 7)),
		step("one/dispatched", "processing", withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "ref"}),
		step("one/broadcast", "prepared", withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}),
		step("one/answer of the signer", "dispatched", withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}),
		step("one/rebumped", "leased confirming", withdrawal.Rebumped{By: worker(t0), Fence: 2, Hash: "tx2", Raw: []byte("tx2"), Nonce: 7, HasNonce: true}),
		step("one/retry", "processing", failed(withdrawal.Retryable)),
		step("one/snooze", "processing", withdrawal.GivenBack{By: worker(t0), Fence: 1, For: time.Minute, Reason: "busy"}),
		step("one/rescue", "processing", withdrawal.Elapsed{By: by(withdrawal.System, late)}),
		step("one/unknown", "prepared", withdrawal.Elapsed{By: by(withdrawal.System, late)}),
		step("one/review", "dispatched", failed(withdrawal.Unclear)),
		step("one/found", "review", withdrawal.Resolved{By: operator("review"), Job: job1, Sent: true, Hash: "tx1", Reason: "seen"}),
		step("one/not sent", "review", withdrawal.Resolved{By: operator("review"), Job: job1, Reason: "no such reference"}),
		costs(4, step("one/proven dead", "confirming", dead(t0, "tx1", 3, 7))), // and what was mined, an unknown outbound
		costs(2, step("one/incident", "reverted", receipt(t0, "tx1", 3))),      // and what was told
		step("pair/enqueue", "approved", enqueued(t0, job1)),
		step("pair/import", "approved", imported),
		costs(amountAllocs+1, step("pair/submit and import", "none", created)),
		step("pair/confirm", "confirming", receipt(t0, "tx1", 3)),
		step("pair/revert", "confirming", reverted),
		step("pair/fail", "processing", failed(withdrawal.Permanent)),
	}
}

// amountAllocs is what it costs to read an amount for people, once per request.
const amountAllocs = 3

func BenchmarkApply(b *testing.B) {
	// As in a service with a heap of 16 MiB: in one of 4 MiB the garbage
	// collector runs all the time and is what would be measured.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, step := range benchSteps(b) {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := policy.Apply(step.from, step.ev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	w := states(b)["confirming"]
	b.ReportAllocs()
	for b.Loop() {
		policy.Next(w, t0.Add(time.Hour))
	}
}

// At most one allocation: the log, and in the same piece of memory the facts.
// [TestEveryEventInEveryState] holds every legal step to that.
func TestAllocationsOfEachStep(t *testing.T) {
	for _, step := range benchSteps(t) {
		got := testing.AllocsPerRun(100, func() {
			if _, err := policy.Apply(step.from, step.ev); err != nil {
				t.Fatal(err)
			}
		})
		if got != step.allocs {
			t.Errorf("%s: %v allocations, expected %v", step.name, got, step.allocs)
		}
	}
}

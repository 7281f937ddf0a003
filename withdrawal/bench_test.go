package withdrawal_test

import (
	"runtime/debug"
	"testing"
	"time"

	"github.com/settlehq/settle/withdrawal"
)

// mainSteps are the steps of a withdrawal that goes well, and its usual failures.
func mainSteps(t testing.TB) []struct {
	name   string
	from   withdrawal.Withdrawal
	ev     withdrawal.Event
	allocs float64
} {
	s := states(t)
	late := t0.Add(policy.Lease)
	return []struct {
		name   string
		from   withdrawal.Withdrawal
		ev     withdrawal.Event
		allocs float64
	}{
		{"one/approve", s["pending"], withdrawal.Approved{By: by(withdrawal.Approver, t0)}, 1},
		{"one/claim", s["job pending"], withdrawal.Claimed{By: worker(t0), Fence: 1}, 1},
		{"one/prepare", s["processing"], prepared(t0, 1, "tx1", 7), 1},
		{"one/broadcast", s["prepared"], withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}, 1},
		{"one/retry", s["processing"], withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Retryable, Error: "RPC timeout"}, 1},
		{"one/rescue", s["processing"], withdrawal.Elapsed{By: by(withdrawal.System, late)}, 1},
		{"one/unknown", s["prepared"], withdrawal.Elapsed{By: by(withdrawal.System, late)}, 1},
		{"one/proven dead", s["confirming"], dead(t0, "tx1", 3, 7), 1},
		{"one/below depth", s["confirming"], receipt(t0, "tx1", 2), 0},
		{"one/repeat", s["prepared"], prepared(t0, 1, "tx1", 7), 0},
		{"pair/enqueue", s["approved"], enqueued(t0, job1), 1},
		{"pair/confirm", s["confirming"], receipt(t0, "tx1", 3), 1},
		{"pair/fail", s["processing"], withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Permanent, Error: "bad address"}, 1},
	}
}

func BenchmarkApply(b *testing.B) {
	// As in a service with a heap of 16 MiB: in one of 4 MiB the garbage
	// collector runs all the time and is what would be measured.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, step := range mainSteps(b) {
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
func TestAllocationsOfTheMainSteps(t *testing.T) {
	for _, step := range mainSteps(t) {
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

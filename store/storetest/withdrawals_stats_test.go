package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// The memory adapter counts by the domain's function, with which the suite
// compares every other store: here is what it says, counted by hand.
func TestStatisticsCountWhatTheirFieldsSay(t *testing.T) {
	w := newWithdrawals[store.Unit](t, memory.New(memory.Options{}))
	w.countedHistory(t)
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	const odd = 7 * tick
	stats := func(now time.Time) withdrawal.Stats { return w.stats(t, now, time.Hour, uuid.Nil) }
	// Eight approvals in the window took no time, and one 4 minutes.
	same(t, "statistics", stats(start), withdrawal.Stats{At: start,
		Requests: map[withdrawal.RequestStatus]int64{withdrawal.RequestPending: 2, withdrawal.RequestApproved: 2, withdrawal.RequestQueued: 7,
			withdrawal.RequestCompleted: 4, withdrawal.RequestFailed: 1, withdrawal.RequestCancelled: 1},
		Jobs: map[withdrawal.JobStatus]int64{withdrawal.JobPending: 2, withdrawal.JobProcessing: 3, withdrawal.JobConfirming: 2,
			withdrawal.JobConfirmed: 4, withdrawal.JobFailed: 1},
		OldestPending: minute(-9), OldestApproved: minute(-26).Add(odd), OldestQueued: minute(-50), OldestJob: minute(-6), OldestReview: minute(-50), OldestSent: minute(-40),
		InReview: 1, LeaseExpired: 2, CheckOverdue: 1, Incidents: 1, OpenIncidents: 1,
		ApprovalTime: ((4*time.Minute + odd) / 9).Truncate(tick), ConfirmationTime: 10*time.Minute + (odd / 2).Truncate(tick),
		Ended: 3, Completed: 2, Executions: 8, Retries: 1, GasUsed: "36893488147419103234", GasJobs: 2,
	})
	if got := stats(start.In(elsewhere)); got.Ended != 3 || got.Executions != 8 {
		t.Errorf("at the same moment in another zone: %d ended, %d executions", got.Ended, got.Executions)
	}
	if got := stats(minute(-20)); got.Ended != 1 || got.Completed != 1 || got.GasJobs != 1 || got.ConfirmationTime != 10*time.Minute+odd {
		t.Errorf("before the end at the end of the window: %d ended, %d completed, %d jobs in %v", got.Ended, got.Completed, got.GasJobs, got.ConfirmationTime)
	}
	if got := stats(minute(40)); got.Ended != 3 || got.Completed != 2 || got.GasJobs != 2 {
		t.Errorf("with the end at the start of the window: %d ended, %d completed, %d jobs", got.Ended, got.Completed, got.GasJobs)
	}
	if got := stats(minute(-6).Add(-tick)); !got.OldestJob.IsZero() {
		t.Errorf("no job was due yet, the oldest is of %v", got.OldestJob)
	}
	if got := stats(minute(-26)); got.ApprovalTime != 0 || got.OldestJob != (time.Time{}) {
		t.Errorf("what is approved later takes %v", got.ApprovalTime)
	}
	// The lease of the imported job's execution ends now.
	if got := stats(minute(-20).Add(w.policy.Lease)); got.LeaseExpired != 2 {
		t.Errorf("%d leases have ended when the second one ends", got.LeaseExpired)
	}
}

func TestAReviewOfAnImportedPaymentHasAnAge(t *testing.T) {
	w := newWithdrawals[store.Unit](t, memory.New(memory.Options{}))
	w.importedReview(t, evm)
	if got := w.stats(t, start.Add(time.Hour), time.Hour, uuid.Nil); got.InReview != 1 || !got.OldestReview.Equal(start) {
		t.Fatalf("%d in review, the oldest since %v; it was sent at %v", got.InReview, got.OldestReview, start)
	}
}

package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// The memory adapter counts by the domain's function, with which the suite
// compares every other store: here is what it says, counted by hand.
func TestStatisticsCountWhatTheirFieldsSay(t *testing.T) {
	w := newWithdrawals(t, timedWithdrawals(memory.New(memory.Options{})))
	countedHistory(t, w)
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
		OldestToRefund: minute(-30), Latest: minute(60), InReview: 1, LeaseExpired: 2, CheckOverdue: 1, Incidents: 1, OpenIncidents: 1,
		ApprovalTime: ((4*time.Minute + odd) / 9).Truncate(tick), ConfirmationTime: 10*time.Minute + (odd / 2).Truncate(tick),
		Ended: 3, Completed: 2, Executions: 8, Retries: 1, GasUsed: "36893488147419103234", GasJobs: 2,
		UnknownOutbound: []withdrawal.UnknownOutbound{{Wallet: evmHot2, Nonce: 3, Hash: "another"}},
		// On evm one is sent, and one is claimed for longer than its lease; on utxos nine are open.
		Money: []withdrawal.Money{
			{Chain: evm, Asset: anAsset, Decimals: 18,
				Money: statemachine.Money{Open: "2500000000000000000", Stuck: "1000000000000000000"}},
			{Chain: utxos, Asset: anAsset, Decimals: 18, Money: statemachine.Money{Open: "13500000000000000000",
				Review: "1500000000000000000", Unknown: "1500000000000000000", Stuck: "3000000000000000000"}},
		},
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
	w := newWithdrawals(t, timedWithdrawals(memory.New(memory.Options{})))
	w.importedReview(t, evm)
	if got := w.stats(t, start.Add(time.Hour), time.Hour, uuid.Nil); got.InReview != 1 || !got.OldestReview.Equal(start) {
		t.Fatalf("%d in review, the oldest since %v; it was sent at %v", got.InReview, got.OldestReview, start)
	}
}

// countedHistory makes a little of everything that statistics count, at the edges
// of the window that ends at start.
func countedHistory(t *testing.T, w *withdrawals) {
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	const odd = 7 * tick
	oldest := w.id()
	w.do(t, oldest, submission(oldest, utxos, minute(-9)))
	request := w.id()
	w.do(t, request, submission(request, utxos, minute(-8)))
	w.approved(t, utxos, minute(-7))
	w.pending(t, utxos, minute(-6))
	w.pending(t, utxos, minute(60)) // not due
	w.processing(t, utxos, minute(-30))
	w.confirming(t, utxos, minute(-40))
	w.confirming(t, evm, minute(0)) // not overdue, and not in the window
	review := w.processing(t, utxos, minute(-50))
	w.do(t, review.Request.ID, withdrawal.Dispatched{By: workerAt(minute(-50)), Fence: 1, Reference: "r"},
		withdrawal.AttemptFailed{By: workerAt(minute(-50)), Fence: 1, Failure: withdrawal.Unclear})
	const gas = "18446744073709551617"       // above 2^64
	for _, at := range []int{-120, -20, 0} { // one before the window, one in it, one at its end
		a := w.confirming(t, utxos, minute(at-10))
		r := receipt(&a, minute(at), 3)
		r.GasUsed = gas
		w.do(t, a.Request.ID, r)
	}
	edge := w.pending(t, utxos, minute(-75)) // ends at the start of the window
	sent := minute(-70).Add(-odd)
	edge = w.do(t, edge.Request.ID, withdrawal.Claimed{By: workerAt(sent)})
	p := prepared(&edge, sent)
	edge = w.do(t, edge.Request.ID, p, withdrawal.Broadcast{By: workerAt(sent), Fence: 1, Hash: p.Hash})
	r := receipt(&edge, minute(-60), 3)
	r.GasUsed = gas
	w.do(t, edge.Request.ID, r)
	r.Reverted = true
	w.do(t, edge.Request.ID, r) // an incident
	failed := w.processing(t, utxos, minute(-15))
	w.do(t, failed.Request.ID, withdrawal.AttemptFailed{By: workerAt(minute(-15)), Fence: 1, Failure: withdrawal.Retryable},
		withdrawal.Claimed{By: workerAt(minute(-10))}, withdrawal.AttemptFailed{By: workerAt(minute(-10)), Fence: 2, Failure: withdrawal.Permanent})
	late := w.id() // approved some time after its creation
	w.do(t, late, submission(late, utxos, minute(-30)), withdrawal.Approved{By: by(withdrawal.Approver, minute(-26).Add(odd))})
	before := w.id() // approved before the window
	w.do(t, before, submission(before, utxos, minute(-200)), withdrawal.Approved{By: by(withdrawal.Approver, minute(-100))},
		withdrawal.Cancelled{By: by(withdrawal.Operator, minute(-30))})
	imported := w.id() // whose first execution is under fence 2
	w.do(t, imported, withdrawal.Imported{By: by(withdrawal.System, minute(-45)), Request: imported, User: aUser, Asset: anAsset, Chain: evm, ToAddress: "0xabc",
		Amount: "1", Decimals: 18, Job: w.id(), AssetOnChain: tokenOnChain, Hash: "imported", Nonce: 3, HasNonce: true,
		Wallets: []withdrawal.HotWallet{{ID: evmHot2, Chain: evm, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}}},
		withdrawal.Claimed{By: workerAt(minute(-45))},
		withdrawal.ProvenDead{By: by(withdrawal.ConfirmationWorker, minute(-44)), Tx: "imported", Cause: withdrawal.NonceUsed, Other: "another", NotThisPayment: true, Nonce: 3, Block: r.Block})
	w.switchOn(t, evmHot2)
	w.do(t, imported, withdrawal.Claimed{By: workerAt(minute(-20))})
}

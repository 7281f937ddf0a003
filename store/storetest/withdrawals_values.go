package storetest

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
)

func decimalOf(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// exactWithdrawals stores values at the edges of their types and reads them.
func exactWithdrawals[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	latest := time.Date(9000, 12, 31, 23, 59, 59, 999999000, time.UTC)          // that the rules take
	huge := "1" + strings.Repeat("0", 59) + "." + strings.Repeat("0", 17) + "1" // 78 digits
	wide := strings.Repeat("\u4e16\U0001F600", withdrawal.MaxAddress/2)
	for name, ev := range map[string]withdrawal.Submitted{
		"78 digits":             {Amount: huge, Decimals: 18},
		"10^10 of 18 decimals":  {Amount: "10000000000", Decimals: 18},
		"1 unit of 24 decimals": {Amount: "0.000000000000000000000001", Decimals: 24},
		"no decimals":           {Amount: "1", Decimals: 0},
		"trailing zeros":        {Amount: "1.500", Decimals: 6},
		"unicode":               {Amount: "1", ToAddress: wide, Memo: "\u00e9\t\n'\"\\%_\u202e" + strings.Repeat("\U0001F600", 100)},
		"the latest time":       {Amount: "1", By: withdrawal.By{At: latest.Add(-24 * time.Hour)}},
		"an early time":         {Amount: "1", By: withdrawal.By{At: time.Date(1970, 1, 1, 0, 0, 0, 1000, time.UTC)}},
		"the least microsecond": {Amount: "1", By: withdrawal.By{At: start.Truncate(time.Second).Add(time.Microsecond)}},
	} {
		t.Run(name, func(t *testing.T) {
			at := ev.At
			if at.IsZero() {
				at = start
			}
			full := submission(w.id(), utxos, at)
			full.Amount, full.Decimals, full.Memo = ev.Amount, ev.Decimals, ev.Memo
			if ev.ToAddress != "" {
				full.ToAddress = ev.ToAddress
			}
			w.exact(t, full)
		})
	}
}

// exact takes a request through its life and compares each step with what is
// read.
func (w *withdrawals[T]) exact(t *testing.T, ev withdrawal.Submitted) {
	at := ev.At
	hash := strings.Repeat("\u00e9", withdrawal.MaxHash/2-8) + ev.Request.String()[20:] // the end of the id
	raw := bytes.Repeat([]byte{0, 1, 2, 254, 255}, 64<<10/5)
	tx := withdrawal.Prepared{By: workerAt(at), Fence: 1, Hash: hash, Raw: raw, Input: "in"}
	r := withdrawal.Receipt{By: by(withdrawal.ConfirmationWorker, at), Tx: hash, GasUsed: "0",
		GasPrice: withdrawal.Raw(strings.Repeat("9", withdrawal.MaxDigits)),
		Block:    withdrawal.Block{Height: math.MaxInt64 - 2, Hash: "b", Canonical: "b", Head: math.MaxInt64}}
	e := w.enqueued(at, withdrawal.Low)
	if err := w.View(ctx, func(tx T) (err error) { e.Wallets, err = tx.Withdrawals().HotWallets(utxos); return err }); err != nil {
		t.Fatal(err)
	}
	var done withdrawal.Withdrawal
	e.MaxRetries = math.MaxInt32
	for i, ev := range []withdrawal.Event{ev, withdrawal.Approved{By: by(withdrawal.Approver, at)}, e, withdrawal.Claimed{By: workerAt(at)}, tx,
		withdrawal.Broadcast{By: workerAt(at), Fence: 1, Hash: hash}, r} {
		// A store's own clock is not asked: the times of a record may be any.
		c, err := w.policy.Apply(done, ev)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if err := w.Update(ctx, func(tx T) error { return tx.Withdrawals().Save(c) }); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		done = c.New
		if err := withdrawal.Check(done); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		loaded := w.get(t, done.Request.ID)
		// The wallet's row belongs to all its jobs.
		want := done
		loaded.Wallet, want.Wallet = withdrawal.HotWallet{}, withdrawal.HotWallet{}
		same(t, fmt.Sprintf("read after %T", ev), loaded, want)
	}
	attempts, err := w.service.Attempts(ctx, e.Job)
	if err != nil || len(attempts) != 1 {
		t.Fatal(attempts, err)
	}
	same(t, "the attempt", attempts[0], w.get(t, done.Request.ID).Attempt)
}

// usage compares the windows with their definition, at their boundaries.
func usage[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	var all []withdrawal.Request
	add := func(ago time.Duration, amount string, user, asset uuid.UUID, events ...withdrawal.Event) {
		ev := submission(w.id(), evm, start.Add(-ago))
		ev.Amount, ev.User, ev.Asset = amount, user, asset
		all = append(all, w.do(t, ev.Request, append([]withdrawal.Event{ev}, events...)...).Request)
	}
	stop := by(withdrawal.Operator, start)
	add(time.Hour, "0.000000000000000001", aUser, anAsset)
	add(time.Hour+tick, "10", aUser, anAsset)
	add(time.Hour-tick, "100", aUser, anAsset, withdrawal.Approved{By: by(withdrawal.Approver, start)})
	add(tick, "1000", aUser, anAsset)
	add(0, "10000", aUser, anAsset)
	add(time.Minute, "7", aUser, anAsset, withdrawal.Rejected{By: by(withdrawal.Approver, start)})
	add(time.Minute, "7", aUser, anAsset, withdrawal.Cancelled{By: stop})
	add(time.Minute, "7", w.id(), anAsset)
	add(time.Minute, "7", aUser, w.id())
	windows := []withdrawal.Window{{Length: time.Hour, Max: decimalOf("1")}, {Length: time.Minute}, {Length: 240 * time.Hour}, {Length: tick}}
	for _, now := range []time.Time{start.Add(-time.Hour), start, start.Add(tick), start.Add(time.Hour)} {
		err := w.Update(ctx, func(tx T) error {
			got, err := tx.Withdrawals().Usage(aUser, anAsset, windows, now)
			if err == nil {
				same(t, "usage at "+now.String(), got, withdrawal.UsageOf(all, aUser, anAsset, windows, now, false))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func statistics[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
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
		withdrawal.ProvenDead{By: by(withdrawal.ConfirmationWorker, minute(-44)), Tx: "imported", Cause: withdrawal.NonceUsed, Other: "another", NotThisPayment: true, Nonce: 3, Block: r.Block},
		withdrawal.Claimed{By: workerAt(minute(-20))})
	stats := func(now time.Time) (got withdrawal.Stats) {
		err := w.View(ctx, func(tx T) (err error) {
			got, err = tx.Withdrawals().Stats(now, time.Hour, uuid.Nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
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

// importedReview: nobody has claimed an imported payment.
func importedReview[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	request := w.id()
	a := w.do(t, request, withdrawal.Imported{By: by(withdrawal.System, start), Request: request, User: aUser, Asset: anAsset, Chain: evm,
		ToAddress: "0xabc", Amount: "1", Decimals: 18, Job: w.id(), AssetOnChain: tokenOnChain, Hash: "imported"})
	review := w.change(t, a, withdrawal.Looking{By: by(withdrawal.ConfirmationWorker, start.Add(time.Hour))})
	if a.Job.BroadcastAt.IsZero() || !a.Job.ClaimedAt.IsZero() {
		t.Fatalf("imported as %+v", a.Job)
	}
	review.New.Job.Review, review.New.Job.Rebroadcast = true, false // as if nothing was found
	review.New.Job.Version++
	review.Log = []statemachine.Transition[uuid.UUID]{{Machine: withdrawal.JobMachine.Name(), ID: a.Job.ID, Version: review.New.Job.Version,
		From: a.Job.Status.String(), Trigger: "review", To: a.Job.Status.String(), At: start, Actor: "test"}}
	if err := w.save(review); err != nil {
		t.Fatal(err)
	}
	var got withdrawal.Stats
	err := w.View(ctx, func(tx T) (err error) {
		got, err = tx.Withdrawals().Stats(start.Add(time.Hour), time.Hour, uuid.Nil)
		return err
	})
	if err != nil || got.InReview != 1 || !got.OldestReview.Equal(a.Job.BroadcastAt) {
		t.Fatalf("%d in review, the oldest since %v, %v; it was sent at %v", got.InReview, got.OldestReview, err, a.Job.BroadcastAt)
	}
}

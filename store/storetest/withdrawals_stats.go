package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// statistics: what is counted of each chain, and of all, is what the domain's
// function counts of the records.
func statistics[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	idle := w.id()
	chains := []uuid.UUID{w.payingChain(t), w.payingChain(t), utxos, idle}
	for n, chain := range chains[:3] {
		for range n + 1 {
			a := w.confirming(t, chain, start)
			w.do(t, a.Request.ID, receipt(&a, start.Add(time.Minute), 12))
		}
		failed := w.pending(t, chain, start)
		w.do(t, failed.Request.ID, withdrawal.Claimed{By: workerAt(start)},
			withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Permanent, Error: "no such address"})
		w.approved(t, chain, start)
		w.contradicted(t, start) // on a chain of its own choice
	}
	w.declaredNotSent(t, chains[0])
	w.do(t, w.approved(t, chains[1], start).Request.ID, withdrawal.Cancelled{By: operatorAt(start), Reason: "no"})
	w.importedReview(t, w.payingChain(t))
	w.countedHistory(t)
	all, err := w.counted()
	if err != nil {
		t.Fatal(err)
	}
	parts := []uuid.UUID{{}, idle}
	for i := range all {
		if !slices.Contains(parts, all[i].Request.Chain) {
			parts = append(parts, all[i].Request.Chain)
		}
	}
	moments := []time.Time{start.In(elsewhere), start.Add(-6*time.Minute - tick), start.Add(-20 * time.Minute), start.Add(-26 * time.Minute), start.Add(40 * time.Minute),
		start.Add(w.policy.Lease - 20*time.Minute)}
	for _, later := range []time.Duration{time.Hour, time.Minute + tick, time.Minute, tick, 0, -tick} {
		moments = append(moments, start.Add(later))
	}
	for _, chain := range parts {
		of := slices.DeleteFunc(slices.Clone(all), func(c withdrawal.Counted) bool { return chain != uuid.Nil && chain != c.Request.Chain })
		for _, now := range moments {
			for _, window := range []time.Duration{2 * time.Hour, time.Hour, time.Minute} {
				what := fmt.Sprintf("chain %v at start %v, window %v", chain, now.Sub(start), window)
				same(t, what, w.stats(t, now, window, chain), withdrawal.StatsOf(of, now, window))
			}
		}
	}
	total := withdrawal.StatsOf(all, start.Add(time.Hour), 2*time.Hour)
	if total.Completed == 0 || total.Incidents == 0 || total.Requests[withdrawal.RequestCancelled] == 0 || total.Jobs[withdrawal.JobFailed] == 0 || total.InReview == 0 || total.Retries == 0 {
		t.Errorf("too little is counted: %+v", total)
	}
	if service, err := w.service.StatsOf(ctx, idle, time.Hour, nil); err != nil || len(service.Requests) != 0 || service.GasUsed != "" {
		t.Errorf("a chain without requests has %+v, %v", service, err)
	}
}

func (w *withdrawals[T]) stats(t testing.TB, now time.Time, window time.Duration, chain uuid.UUID) (got withdrawal.Stats) {
	t.Helper()
	if err := w.View(ctx, func(tx T) (err error) { got, err = tx.Withdrawals().Stats(now, window, chain); return err }); err != nil {
		t.Fatal(err)
	}
	return got
}

// countedHistory makes a little of everything that statistics count, at the edges
// of the window that ends at start.
func (w *withdrawals[T]) countedHistory(t testing.TB) {
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
}

// importedReview is an imported payment, which nobody has claimed, in review.
func (w *withdrawals[T]) importedReview(t testing.TB, chain uuid.UUID) {
	request := w.id()
	a := w.do(t, request, withdrawal.Imported{By: by(withdrawal.System, start), Request: request, User: aUser, Asset: anAsset, Chain: chain,
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
}

// counted reads what the domain's function needs of all that is stored.
func (w *withdrawals[T]) counted() (all []withdrawal.Counted, err error) {
	listed, err := w.service.List(ctx, store.ListWithdrawals{Limit: 1000})
	if err != nil {
		return nil, err
	}
	incidents, _, err := w.service.Incidents(ctx, 0, 1000)
	if err != nil {
		return nil, err
	}
	for _, a := range listed {
		c := withdrawal.Counted{Request: a.Request, Latest: a.Job, Wallet: a.Wallet}
		jobs, err1 := w.service.Jobs(ctx, a.Request.ID)
		trail, err2 := w.service.Trail(ctx, a.Request.ID)
		settled, err3 := w.service.Acknowledgements(ctx, a.Request.ID)
		for _, j := range jobs {
			attempts, err := w.service.Attempts(ctx, j.ID)
			c.Jobs, c.Attempts = append(c.Jobs, j), append(c.Attempts, attempts)
			err1 = errors.Join(err1, err)
		}
		for i := range trail {
			if withdrawal.IsApproval(&trail[i]) {
				c.Approved = trail[i].At
			}
		}
		for _, i := range incidents {
			if i.Request == a.Request.ID {
				c.Incidents = append(c.Incidents, i)
			}
		}
		c.Settled = len(settled)
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// contradicted makes a request of a chain of its own whose dead transaction was
// mined: it is in review with another transaction out, whose bytes are on file.
func (w *withdrawals) contradicted(t testing.TB, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	chain := w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: chain})
	a := w.confirming(t, chain, at)
	checker := by(withdrawal.ConfirmationWorker, at)
	dead := receipt(&a, at, 9)
	a = w.do(t, a.Request.ID, withdrawal.ProvenDead{By: checker, Tx: dead.Tx, Cause: withdrawal.NonceUsed, Other: "another", NotThisPayment: true, Nonce: a.Job.Nonce, Block: dead.Block})
	at = a.Job.ScheduledAt
	a = w.do(t, a.Request.ID, withdrawal.Claimed{By: workerAt(at)})
	p := prepared(&a, at)
	p.Hash = "second"
	a = w.do(t, a.Request.ID, p, withdrawal.Broadcast{By: workerAt(at), Fence: p.Fence, Hash: p.Hash})
	dead.At, checker.At = at, at
	return w.do(t, a.Request.ID, dead, withdrawal.Missing{By: checker, Tx: p.Hash})
}

// concurrentClaims: sources of many workers on one queue.
func (w *withdrawals) concurrentClaims(t *testing.T) {
	live(w.Store)
	const jobs = 60
	for range jobs {
		w.pending(t, utxos, start)
	}
	name := func(i int) string { return fmt.Sprint("worker-", i) }
	source := func(i int) worker.Source[withdrawal.Withdrawal, store.HeldWithdrawal] {
		return w.service.Payments(utxos, name(i))
	}
	eachOnce(t, jobs, source, func(i int, items []worker.Item[withdrawal.Withdrawal]) error {
		for _, item := range items {
			if l := item.Work.Job.Lease; l.Holder != name(i) || l.Fence != 1 {
				return fmt.Errorf("%s claimed %s under %+v", name(i), item.Key, l)
			}
		}
		return nil
	})
}

package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// contradicted makes a request of a chain of its own whose dead transaction was
// mined: it is in review with another transaction out, whose bytes are on file.
func (w *withdrawals[T]) contradicted(t testing.TB, at time.Time) withdrawal.Withdrawal {
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
func concurrentClaims[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	const jobs = 60
	for range jobs {
		w.pending(t, utxos, start)
	}
	var mu sync.Mutex
	claimed := map[uuid.UUID]string{}
	total := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(claimed)
	}
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, err := range atOnce(concurrentAttempts, func(i int) error {
		name := fmt.Sprint("worker-", i)
		source := w.service.Payments(utxos, name)
		for bounded.Err() == nil {
			items, _, err := source.Turn(bounded, nil, 4)
			if err != nil {
				return fmt.Errorf("with %d of %d jobs claimed: %w", total(), jobs, err)
			}
			mu.Lock()
			for _, item := range items {
				j := &item.Work.Job
				if other, twice := claimed[j.ID]; twice || j.Lease.Holder != name || j.Lease.Fence != 1 {
					t.Errorf("%s claimed %s under %+v, it was claimed by %q", name, j.ID, j.Lease, other)
				}
				claimed[j.ID] = name
			}
			all := len(claimed) == jobs
			mu.Unlock()
			if all {
				return nil
			}
		}
		return fmt.Errorf("only %d of %d jobs were claimed", total(), jobs)
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

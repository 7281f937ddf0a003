package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// eightWorkers pays on a chain with nonces and on one without, through the
// worker loop, and counts what reaches the node.
func (w *withdrawals) eightWorkers(t *testing.T) {
	live(w.Store)
	const workers = 8
	jobs := usual(120, 500)
	for i := range 6 {
		w.putWallet(t, withdrawal.HotWallet{ID: named(fmt.Sprint("another wallet", i)), Chain: evm})
	}
	requests := make([]uuid.UUID, jobs)
	var commands []store.WithdrawalCommand
	for i := range requests {
		requests[i] = w.id()
		chain := evm
		if i%2 == 0 {
			chain = utxos
		}
		commands = append(commands, store.WithdrawalCommand{Request: requests[i],
			Events: []withdrawal.Event{submission(requests[i], chain, time.Time{}),
				withdrawal.Approved{By: by(withdrawal.Approver, time.Time{})}, w.enqueued(time.Time{}, withdrawal.Priority(1+i%3))}})
	}
	must(w.service.DoAll(ctx, commands...))(t)
	node := node{sent: map[uuid.UUID]int{}, nonces: map[string]uuid.UUID{}}
	running, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	var last atomic.Pointer[error] // that a worker met and went on from
	handle := func(_ context.Context, a withdrawal.Withdrawal) store.HeldWithdrawal {
		p := prepared(&a, time.Time{})
		p.Actor = a.Job.Lease.Holder
		held, err := w.service.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: a, Events: []withdrawal.Event{p}})
		if err != nil {
			t.Errorf("%s: %v", a.Request.ID, err)
			stop()
			return store.HeldWithdrawal{Withdrawal: a}
		}
		if node.send(t, &held[0].Txs[0]) == jobs {
			stop()
		}
		return store.HeldWithdrawal{Withdrawal: held[0], Events: []withdrawal.Event{withdrawal.Broadcast{By: p.By, Fence: p.Fence, Hash: p.Hash}}}
	}
	errs := atOnce(workers, func(i int) error {
		source := w.service.Payments([]uuid.UUID{evm, utxos}[i%2], fmt.Sprint("worker-", i))
		return worker.Run(running, source, handle, worker.Options[withdrawal.Withdrawal, store.HeldWithdrawal]{Concurrency: 8,
			Poll: statemachine.Backoff{Base: time.Millisecond, Cap: 20 * time.Millisecond, JitterPercent: 50},
			Hooks: worker.Hooks[withdrawal.Withdrawal, store.HeldWithdrawal]{
				Turned: func(_, _ int, _ time.Duration, err error) {
					if err != nil {
						last.Store(&err)
					}
				}}})
	})
	if err := last.Load(); err != nil && len(node.sent) < jobs {
		t.Errorf("the last error of a worker: %v", *err)
	}
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	for _, request := range requests {
		if n := node.sent[request]; n != 1 {
			t.Fatalf("request %s was broadcast %d times", request, n)
		}
	}
	if len(node.sent) != jobs {
		t.Fatalf("%d broadcasts of %d jobs", len(node.sent), jobs)
	}
	for place := must(w.service.Audit(ctx, "", 100))(t); place != ""; {
		place = must(w.service.Audit(ctx, place, 100))(t)
	}
	stats, err := w.service.Stats(ctx, time.Hour)
	if err != nil || stats.Jobs[withdrawal.JobConfirming] != int64(jobs) || stats.Executions != int64(jobs) {
		t.Fatalf("stored are %v in %d executions, %v", stats.Jobs, stats.Executions, err)
	}
}

// node counts what is sent to it.
type node struct {
	mu     sync.Mutex
	total  int
	sent   map[uuid.UUID]int
	nonces map[string]uuid.UUID
}

func (n *node) send(t testing.TB, tx *withdrawal.Tx) (total int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent[tx.Request]++
	n.total++
	if tx.HasNonce {
		key := fmt.Sprint(tx.Wallet, tx.Nonce)
		if other, used := n.nonces[key]; used {
			t.Errorf("nonce %d of wallet %s was used for %s and %s", tx.Nonce, tx.Wallet, other, tx.Request)
		}
		n.nonces[key] = tx.Request
	}
	return n.total
}

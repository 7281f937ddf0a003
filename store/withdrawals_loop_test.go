package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// flakyNode loses every third message before it arrives and every fifth answer.
type flakyNode struct {
	mu    sync.Mutex
	calls int
	sent  map[string]bool
	paid  map[uuid.UUID][]string
}

var errTimeout = errors.New("time-out")

func (n *flakyNode) send(tx withdrawal.Tx) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	if n.calls%3 == 0 {
		return errTimeout
	}
	if !n.sent[tx.Hash] {
		n.sent[tx.Hash] = true
		n.paid[tx.Request] = append(n.paid[tx.Request], tx.Hash)
	}
	if n.calls%5 == 0 {
		return errTimeout
	}
	return nil
}

func (n *flakyNode) has(hash string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent[hash]
}

// Everything at once, in virtual time: submissions, payments, look-ups and
// rescues against a node that loses messages.
func TestWorkersPayEachRequestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const requests = 60
		b := &bank{}
		b.store = memory.New(memory.Options{})
		policy := withdrawal.DefaultPolicy()
		policy.Chain.Confirmations = 3
		b.open(t, b.store, policy)
		for i := range 4 {
			b.wallet(t, named(fmt.Sprint("wallet", i)), chain)
		}
		for range requests {
			b.pending(t)
		}
		node := &flakyNode{sent: map[string]bool{}, paid: map[uuid.UUID][]string{}}
		ctx, stop := context.WithCancel(context.Background())
		var group sync.WaitGroup
		run := func(source store.WithdrawalSource, handle func(context.Context, withdrawal.Withdrawal) store.HeldWithdrawal) {
			group.Go(func() {
				err := worker.Run(ctx, source, handle, worker.Options[withdrawal.Withdrawal, store.HeldWithdrawal]{})
				if err != nil {
					t.Error(err)
				}
			})
		}
		calls := 0
		var mu sync.Mutex
		pay := func(_ context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
			by := withdrawal.By{Actor: w.Job.Lease.Holder, Role: withdrawal.WithdrawalWorker}
			fence := w.Job.Lease.Fence
			time.Sleep(time.Second) // of virtual time
			mu.Lock()
			calls++
			broken := calls%7 == 0
			mu.Unlock()
			if w.Job.Status == withdrawal.JobConfirming {
				return result(w, withdrawal.Rebroadcast{By: by, Fence: fence, Hash: w.Job.TxHash, Done: node.send(w.Txs[len(w.Txs)-1]) == nil})
			}
			if broken {
				panic("a bug in the handler")
			}
			held, err := b.Held(ctx, result(w, prepared(&w)))
			if err != nil {
				t.Error(err)
				return result(w)
			}
			w = held[0]
			if err := node.send(w.Txs[0]); err != nil {
				return result(w, withdrawal.AttemptFailed{By: by, Fence: fence, Failure: withdrawal.Unclear, Error: err.Error()})
			}
			return result(w, withdrawal.Broadcast{By: by, Fence: fence, Hash: w.Job.TxHash})
		}
		look := func(_ context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
			time.Sleep(time.Second)
			by := withdrawal.By{Actor: "c", Role: withdrawal.ConfirmationWorker}
			if !node.has(w.Job.TxHash) {
				return result(w, withdrawal.Missing{By: by, Tx: w.Job.TxHash})
			}
			r := mined(w.Job.TxHash)
			r.By = by
			return result(w, r)
		}
		run(b.Payments(chain, "w1"), pay)
		run(b.Payments(chain, "w2"), pay)
		run(b.Lookups(chain, "c"), look)
		for completed := int64(0); completed < requests; {
			time.Sleep(time.Minute)
			if _, _, err := b.Rescue(ctx, as(withdrawal.System), 100); err != nil {
				t.Fatal(err)
			}
			stats, err := b.Stats(ctx, 24*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			completed = stats.Requests[withdrawal.RequestCompleted]
			if now := stats.At; now.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) > 24*time.Hour {
				t.Fatalf("not done after a day: %+v", stats)
			}
		}
		stop()
		group.Wait()
		for request, hashes := range node.paid {
			if len(hashes) != 1 {
				t.Errorf("request %s was paid by %v", request, hashes)
			}
		}
		if last, err := b.Audit(context.Background(), nil, requests); err != nil || last == nil {
			t.Error(err)
		}
	})
}

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

// Everything at once, in virtual time, by two processes that call Run and nothing else: approved
// requests, payments, look-ups and rescues, against a node that loses messages. What a handler
// without a result leaves behind is picked up by the rescue.
func TestRunPaysEachRequestOnce(t *testing.T) {
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
			b.approved(t)
		}
		node := &flakyNode{sent: map[string]bool{}, paid: map[uuid.UUID][]string{}}
		ctx, stop := context.WithCancel(context.Background())
		var group sync.WaitGroup
		calls := 0
		var mu sync.Mutex
		pay := func(_ context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
			by := withdrawal.By{Actor: w.Job.Lease.Holder, Role: withdrawal.WithdrawalWorker}
			fence := w.Job.Lease.Fence
			time.Sleep(time.Second) // of virtual time
			mu.Lock()
			calls++
			broken, dies := calls%7 == 0, calls%11 == 0
			mu.Unlock()
			if w.Job.Status == withdrawal.JobConfirming {
				return result(w, withdrawal.Rebroadcast{By: by, Fence: fence, Hash: w.Job.TxHash, Done: node.send(w.Txs[len(w.Txs)-1]) == nil})
			}
			if broken {
				panic("a bug in the handler")
			}
			if dies {
				return result(w) // as a process that dies: the lease ends by itself
			}
			held, err := b.DoHeld(ctx, result(w, prepared(&w)))
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
		for _, name := range []string{"w1", "w2"} {
			group.Go(func() {
				err := b.Run(ctx, store.RunWithdrawals{Name: name, Chains: []uuid.UUID{chain}, Pay: pay, Look: look, Order: b.order})
				if err != nil {
					t.Error(err)
				}
			})
		}
		for completed := int64(0); completed < requests; {
			time.Sleep(time.Minute)
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
		if last, err := b.Audit(context.Background(), "", requests); err != nil || last == "" {
			t.Error(err)
		}
	})
}

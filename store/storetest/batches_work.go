package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/internal/fixedtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

// fullBatch: as many requests as one transaction may pay are claimed, signed,
// replaced by a version without one of them, and paid.
func (w *batches) fullBatch(t *testing.T) {
	live(w.Store)
	chain := w.payingChain(t)
	n := usual(60, withdrawal.MaxMembers)
	for made := 0; made < n; {
		var some []store.WithdrawalCommand
		for ; made < n && len(some) < 100; made++ {
			id := w.id()
			some = append(some, store.WithdrawalCommand{Request: id, Events: []withdrawal.Event{submission(id, chain, start),
				withdrawal.Approved{By: by(withdrawal.Approver, start)},
				w.enqueued(start, withdrawal.Normal)}})
		}
		must(w.service.DoAll(ctx, some...))(t)
	}
	members := claimed(t, w.batches.Payments(chain, "builder", n), 1, 1)[0].Work.Members
	if len(members) != n {
		t.Fatalf("%d members of %d", len(members), n)
	}
	e := batchOf(w.id(), time.Time{}, members...)
	e.Actor, e.Raw = "builder", make([]byte, withdrawal.MaxRaw)
	b := w.batch(t, e.Batch, e)
	r := replacedBatch(&b, time.Time{}, "without one", 0)
	r.Actor, r.Pays = "builder", paysOf(b.Members)[1:]
	b = w.batch(t, e.Batch, r, withdrawal.BatchSent{By: r.By, Fence: r.Fence, Hash: r.Hash, Done: true})
	b = w.batch(t, e.Batch, minedBatch(&b, time.Time{}, r.Hash, 0))
	for i := range b.Members {
		if m := &b.Members[i]; (m.Request.Status == withdrawal.RequestCompleted) != (i > 0) || i == 0 && m.Job.Status != withdrawal.JobPending {
			t.Fatalf("number %d of %d is %v, its job %v", i, len(b.Members), m.Request.Status, m.Job.Status)
		}
	}
	if got, err := w.batches.Get(ctx, e.Batch); err != nil || len(got.Members) != n || len(got.Txs) != 2 {
		t.Fatalf("%d members and %d versions, %v", len(got.Members), len(got.Txs), err)
	}
	must(w.batches.Audit(ctx, "", 10))(t)
}

// batchClaims: several workers claim groups at once.
func (w *batches) batchClaims(t *testing.T) {
	live(w.Store)
	chain := w.payingChain(t)
	w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: chain})
	const jobs = 9
	for range jobs {
		w.pending(t, chain, start)
	}
	var mu sync.Mutex
	owner := map[uuid.UUID]int{}
	groups := 0
	atOnce(4, func(i int) error {
		source := w.batches.Payments(chain, fmt.Sprint("builder-", i), 4)
		items, _, err := source.Turn(ctx, nil, 3)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, item := range items {
			groups++
			for k, m := range item.Work.Members {
				if other, twice := owner[m.Job.ID]; twice {
					t.Errorf("job %v is claimed by %d and %d", m.Job.ID, other, i)
				}
				owner[m.Job.ID] = i
				if m.Job.Slot.Valid != (k == 0) || m.Job.Wallet != item.Work.Members[0].Job.Wallet || item.Key != m.Job.Wallet.String() {
					t.Errorf("member %d of wallet %v holds slot %v, key %s", k, m.Job.Wallet, m.Job.Slot, item.Key)
				}
			}
			if len(item.Work.Members) > 4 {
				t.Errorf("%d members", len(item.Work.Members))
			}
		}
		return nil
	})
	if groups != 2 || len(owner) < 2 || len(owner) > 8 {
		t.Fatalf("%d groups of %d jobs, of two wallets and 9 jobs by at most 4", groups, len(owner))
	}
	for name, size := range map[string]int{"none": 0, "too many": withdrawal.MaxMembers + 1} {
		if _, _, err := w.batches.Payments(chain, "b", size).Turn(ctx, nil, 1); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// batchHistories: workers, an operator and a chain, some of them late.
func (w *batches) batchHistories(t *testing.T) {
	b := must(store.NewBatches(w.db, withdrawaltest.BatchPolicy()))(t)
	fixedtest.Run(t, usual(2, 40), func(rt *rapid.T) { withdrawaltest.RunBatches(rt, 40, b.Withdrawals(), b, new(time.Time)) })
}

// batchWorkers: two builders, one of which crashes at times, pay 30 requests of
// one wallet; a confirmation worker shows what was sent.
func (w *batches) batchWorkers(t *testing.T) {
	live(w.Store)
	chain := w.payingChain(t)
	const jobs = 30
	var requests []uuid.UUID
	for range jobs {
		requests = append(requests, w.pending(t, chain, time.Time{}).Request.ID)
	}
	builder := w.batches.Payments(chain, "builder", 7)
	lookups := w.batches.Lookups(chain, "looker")
	sent := map[string]bool{}
	var built []store.BatchResult
	for round := range 40 {
		items, _, err := builder.Turn(ctx, built, 2)
		noError(t, err)
		built = nil
		for _, item := range items {
			if item.Work.Members == nil {
				t.Fatal("what was sent is sent again")
			}
			if round%3 == 2 { // given back
				built = append(built, builder.Release(item.Work))
				continue
			}
			e := batchOf(w.id(), time.Time{}, item.Work.Members...)
			e.Actor = "builder"
			b := w.batch(t, e.Batch, e)
			sent[b.Batch.TxHash] = true
			built = append(built, store.BatchResult{Batch: e.Batch, Events: []withdrawal.BatchEvent{withdrawal.BatchSent{By: e.By,
				Fence: b.Batch.Lease.Fence, Hash: e.Hash, Done: true}}})
		}
	}
	if _, _, err := builder.Turn(ctx, built, 0); err != nil {
		t.Fatal(err)
	}
	claimed(t, lookups, 10, 0) // at once
	noError(t, w.db.Update(ctx, func(tx store.BatchUnit) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		due, err := tx.Batches().Due(store.DueBatches{Kind: withdrawal.DueBatchCheck, Chain: chain, Now: now.Add(time.Hour), Limit: 100})
		if len(due) != len(sent) {
			t.Errorf("%d batches are due, %d were sent", len(due), len(sent))
		}
		for i := range due {
			if _, err := w.batches.Within(tx).Do(ctx, due[i].Batch.ID, minedBatch(&due[i], time.Time{}, due[i].Batch.TxHash, 0)); err != nil {
				return err
			}
		}
		return err
	}))
	paid := map[string]int{}
	for _, id := range requests {
		a := w.get(t, id)
		if a.Request.Status != withdrawal.RequestCompleted || !sent[a.Request.FinalTxHash] {
			t.Errorf("%v is %v by %q", id, a.Request.Status, a.Request.FinalTxHash)
		}
		paid[a.Request.FinalTxHash]++
	}
	if len(paid) != len(sent) || len(sent) > 6 {
		t.Errorf("%d transactions pay %d requests", len(sent), jobs)
	}
	must(w.batches.Audit(ctx, "", 100))(t)
}

package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// batchFault is what a store of batches does wrong; nil is right.
type batchFault struct {
	fault // of the requests
	get   func(*withdrawal.Payout)
	save  func(stored withdrawal.Payout, c *withdrawal.BatchChange) (skip bool)
	moved bool // a member that has moved is written over by nothing
	renew func(*store.Lease[uuid.UUID])
}

type brokenBatchStore struct {
	*memory.Store
	batchFault
}

func (s brokenBatchStore) Update(ctx context.Context, fn func(store.Unit) error) error {
	return s.Store.Update(ctx, func(tx store.Unit) error { return fn(brokenBatchTx{tx, s.batchFault}) })
}

type brokenBatchTx struct {
	store.Unit
	batchFault
}

func (t brokenBatchTx) Batches() store.BatchRecords {
	return brokenBatches{t.Unit.Batches(), t.Unit.Withdrawals(), t.batchFault}
}

func (t brokenBatchTx) Withdrawals() store.WithdrawalRecords {
	return brokenRecords{t.Unit.Withdrawals(), t.batchFault.fault}
}

type brokenBatches struct {
	store.BatchRecords
	requests store.WithdrawalRecords
	batchFault
}

func (r brokenBatches) Get(ids ...uuid.UUID) ([]withdrawal.Payout, error) {
	all, err := r.BatchRecords.Get(ids...)
	for i := range all {
		if r.get != nil && all[i].Batch.Status != 0 {
			r.get(&all[i])
		}
	}
	return all, err
}

func (r brokenBatches) Save(changes ...withdrawal.BatchChange) error {
	var kept []withdrawal.BatchChange
	for _, c := range changes {
		stored, err := r.BatchRecords.Get(c.New.Batch.ID)
		if err != nil {
			return err
		}
		if r.moved {
			c.Members = slices.DeleteFunc(slices.Clone(c.Members), func(m withdrawal.Change) bool {
				ws, err := r.requests.Get(m.New.Request.ID)
				return err == nil && ws[0].Request.Version != m.Old.Request.Version
			})
		}
		if r.save == nil || !r.save(stored[0], &c) {
			kept = append(kept, c)
		}
	}
	return r.BatchRecords.Save(kept...)
}

func (r brokenBatches) Renew(now time.Time, leases ...store.Lease[uuid.UUID]) ([]uuid.UUID, error) {
	for i := range leases {
		if r.renew != nil {
			r.renew(&leases[i])
		}
	}
	return r.BatchRecords.Renew(now, leases...)
}

// Each fault of batches by which money could be lost is found at the start.
func TestSelfCheckFindsFaultsOfBatches(t *testing.T) {
	check := func(f batchFault) error {
		return store.SelfCheckBatches[store.Unit](t.Context(), brokenBatchStore{memory.New(memory.Options{}), f})
	}
	if err := check(batchFault{}); err != nil {
		t.Fatalf("a sound store: %v", err)
	}
	for what, f := range map[string]batchFault{
		"the bytes of the first version are lost": {get: func(p *withdrawal.Payout) { p.Txs[0].Raw = nil }},
		"a member is lost":                        {get: func(p *withdrawal.Payout) { p.Members = p.Members[1:] }},
		"the nonce is a float":                    {get: func(p *withdrawal.Payout) { p.Batch.Nonce = uint64(float64(p.Batch.Nonce)) }},
		"the holder is lost":                      {get: func(p *withdrawal.Payout) { p.Batch.Lease.Holder = "" }},
		"a stale save is nothing changed": {save: func(stored withdrawal.Payout, c *withdrawal.BatchChange) bool {
			return stored.Batch.Version > c.Old.Batch.Version
		}},
		"members are not compared": {save: func(_ withdrawal.Payout, c *withdrawal.BatchChange) bool {
			c.Members = nil
			return false
		}},
		"the nonce of a batch is not kept": {save: func(_ withdrawal.Payout, c *withdrawal.BatchChange) bool {
			c.New.Batch.HasNonce = false
			return false
		}},
		"a member that has moved is left out": {moved: true},
		"the nonce of another is left out": {fault: fault{save: func(_ withdrawal.Withdrawal, c *withdrawal.Change) bool {
			for i := range c.Txs {
				c.Txs[i].HasNonce = c.Txs[i].Hash != "0xsecond"
			}
			return false
		}}},
		"a lease of another fence is renewed": {renew: func(l *store.Lease[uuid.UUID]) { l.Fence = 1 }},
	} {
		if err := check(f); !errors.Is(err, statemachine.ErrCorrupt) && !errors.Is(err, statemachine.ErrConflict) && !errors.Is(err, statemachine.ErrInvalid) || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

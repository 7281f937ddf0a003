package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// brokenStore is a store of withdrawals with one fault.
type brokenStore struct {
	good *memory.Store
	fault
}

// fault is what a store does wrong; nil is right.
type fault struct {
	get     func(*withdrawal.Withdrawal)
	save    func(stored withdrawal.Withdrawal, c *withdrawal.Change) (skip bool)
	due     func(store.WithdrawalRecords, store.DueWithdrawals) ([]withdrawal.Withdrawal, error)
	renew   func(*store.Lease[uuid.UUID])
	lines   func([]statemachine.Transition[uuid.UUID]) []statemachine.Transition[uuid.UUID]
	commits bool // what failed
	writes  bool // in a View
}

func (b brokenStore) Update(ctx context.Context, fn func(store.WithdrawalUnit) error) error {
	var failed error
	err := b.good.Update(ctx, func(tx store.Unit) error {
		failed = fn(brokenTx{tx, b.fault})
		if b.commits && !errors.Is(failed, statemachine.ErrConflict) {
			return nil
		}
		return failed
	})
	return errors.Join(failed, err)
}

func (b brokenStore) View(ctx context.Context, fn func(store.WithdrawalUnit) error) error {
	if b.writes {
		return b.Update(ctx, fn)
	}
	return b.good.View(ctx, func(tx store.Unit) error { return fn(brokenTx{tx, b.fault}) })
}

type brokenTx struct {
	store.Unit
	fault
}

func (t brokenTx) Withdrawals() store.WithdrawalRecords {
	return brokenRecords{t.Unit.Withdrawals(), t.fault}
}

type brokenRecords struct {
	store.WithdrawalRecords
	fault
}

func (r brokenRecords) Get(ids ...uuid.UUID) ([]withdrawal.Withdrawal, error) {
	ws, err := r.WithdrawalRecords.Get(ids...)
	for i := range ws {
		if r.get != nil && ws[i].Request.Status != 0 {
			r.get(&ws[i])
		}
	}
	return ws, err
}

func (r brokenRecords) Save(changes ...withdrawal.Change) error {
	var kept []withdrawal.Change
	for _, c := range changes {
		ws, err := r.WithdrawalRecords.Get(c.New.Request.ID)
		if err != nil {
			return err
		}
		if r.save == nil || !r.save(ws[0], &c) {
			kept = append(kept, c)
		}
	}
	return r.WithdrawalRecords.Save(kept...)
}

func (r brokenRecords) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	if r.due != nil {
		return r.due(r.WithdrawalRecords, q)
	}
	return r.WithdrawalRecords.Due(q)
}

func (r brokenRecords) Renew(now time.Time, leases ...store.Lease[uuid.UUID]) ([]uuid.UUID, error) {
	for i := range leases {
		if r.renew != nil {
			r.renew(&leases[i])
		}
	}
	return r.WithdrawalRecords.Renew(now, leases...)
}

func (r brokenRecords) Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	all, err := r.WithdrawalRecords.Transitions(id)
	if r.lines != nil {
		all = r.lines(all)
	}
	return all, err
}

// Each fault by which money was lost, or could be, is found at the start.
func TestSelfCheckFinds(t *testing.T) {
	withdrawals := func(f fault) error {
		return store.SelfCheckWithdrawals(context.Background(), brokenStore{memory.New(memory.Options{}), f})
	}
	if err := withdrawals(fault{}); err != nil {
		t.Fatalf("a sound store: %v", err)
	}
	get := func(change func(*withdrawal.Withdrawal)) fault { return fault{get: change} }
	stale := func(stored withdrawal.Withdrawal, c *withdrawal.Change) bool {
		return stored.Request.Version > c.Old.Request.Version || stored.Job.Version > c.Old.Job.Version && stored.Job.ID == c.Old.Job.ID
	}
	var once []withdrawal.Withdrawal
	var holder uuid.UUID
	taken := func(c *withdrawal.Change) bool {
		switch was, is := c.Old.Job.Slot.Valid, c.New.Job.Slot.Valid; {
		case was && !is:
			holder = uuid.Nil
		case is && !was && holder != uuid.Nil && holder != c.New.Job.ID:
			return true
		case is:
			holder = c.New.Job.ID
		}
		return false
	}
	for what, f := range map[string]fault{
		"the end of a lease is lost": get(func(w *withdrawal.Withdrawal) { w.Job.Lease.Until = time.Time{} }),
		"the fence is lost":          get(func(w *withdrawal.Withdrawal) { w.Job.Lease.Fence = 0 }),
		"the holder is lost":         get(func(w *withdrawal.Withdrawal) { w.Job.Lease.Holder = "" }),
		"the slot is lost":           get(func(w *withdrawal.Withdrawal) { w.Job.Slot = uuid.NullUUID{} }),
		"the bytes are lost": get(func(w *withdrawal.Withdrawal) {
			for i := range w.Txs {
				w.Txs[i].Raw = nil
			}
		}),
		"the nonce is a float": get(func(w *withdrawal.Withdrawal) {
			w.Job.Nonce = uint64(float64(w.Job.Nonce))
			for i := range w.Txs {
				w.Txs[i].Nonce = w.Job.Nonce
			}
		}),
		"the attempt is lost":     get(func(w *withdrawal.Withdrawal) { w.Attempt = withdrawal.Attempt{} }),
		"the reservation is lost": get(func(w *withdrawal.Withdrawal) { w.Wallet.BalanceReserved = "0" }),
		"the next nonce is lost":  get(func(w *withdrawal.Withdrawal) { w.Wallet.NextNonce = 0 }),
		"hashes are in lower case": get(func(w *withdrawal.Withdrawal) {
			if w.Job.TxHash != "" {
				w.Job.TxHash = "0xself-check"
			}
		}),
		"times are whole hours": get(func(w *withdrawal.Withdrawal) { w.Request.CreatedAt = w.Request.CreatedAt.Truncate(time.Hour) }),
		"slots are not stored": {save: func(_ withdrawal.Withdrawal, c *withdrawal.Change) bool {
			c.New.Job.Slot = uuid.NullUUID{}
			return false
		}},
		"a stale save is nothing changed": {save: func(stored withdrawal.Withdrawal, c *withdrawal.Change) bool { return stale(stored, c) }},
		"a second claim is nothing changed": {save: func(stored withdrawal.Withdrawal, c *withdrawal.Change) bool {
			return stale(stored, c) && c.Old.Job.Version > 0
		}},
		"the second in a slot is left out": {save: func(_ withdrawal.Withdrawal, c *withdrawal.Change) bool { return taken(c) }},
		"the nonce of another is left out": {save: func(_ withdrawal.Withdrawal, c *withdrawal.Change) bool {
			for i := range c.Txs {
				c.Txs[i].HasNonce = c.Txs[i].Hash != "0xsecond"
			}
			return false
		}},
		"what is claimed is due": {due: func(r store.WithdrawalRecords, q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
			found, err := r.Due(q)
			if len(found) > 0 {
				once = found
			}
			return once, err
		}},
		"a lease of another fence is renewed": {renew: func(l *store.Lease[uuid.UUID]) { l.Fence = 1 }},
		"a line of the trail is lost": {lines: func(all []statemachine.Transition[uuid.UUID]) []statemachine.Transition[uuid.UUID] {
			return all[:len(all)-1]
		}},
		"what failed is committed": {commits: true},
		"a View writes":            {writes: true},
	} {
		if err := withdrawals(f); !errors.Is(err, statemachine.ErrCorrupt) && !errors.Is(err, statemachine.ErrConflict) || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

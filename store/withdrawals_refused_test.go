package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// eager is a store that offers for a claim what is held too, as one that is
// wrong, or behind, may do.
type eager struct{ store.Store[store.Unit] }

func (s eager) Update(ctx context.Context, fn func(store.WithdrawalUnit) error) error {
	return s.Store.Update(ctx, func(tx store.Unit) error { return fn(eagerTx{tx}) })
}

func (s eager) View(ctx context.Context, fn func(store.WithdrawalUnit) error) error {
	return s.Store.View(ctx, func(tx store.Unit) error { return fn(tx) })
}

type eagerTx struct{ store.WithdrawalUnit }

func (t eagerTx) Withdrawals() store.WithdrawalRecords {
	return eagerRecords{t.WithdrawalUnit.Withdrawals()}
}

type eagerRecords struct{ store.WithdrawalRecords }

func (r eagerRecords) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	due, err := r.WithdrawalRecords.Due(q)
	if err != nil || q.Kind != withdrawal.DueClaim {
		return due, err
	}
	all, err := r.Requests(withdrawal.RequestQueued, nil, 100)
	for i := range all {
		ws, err := r.Get(all[i].ID)
		if err != nil {
			return nil, err
		}
		if w := ws[0]; w.Request.Held && w.Job.Status == withdrawal.JobPending && !w.Job.DueAt().After(q.Now) {
			due = slices.Insert(due, 0, w) // before the others
		}
	}
	return due, err
}

// S27: what a Turn is refused is put off, and stops nobody.
func TestARefusedClaimStopsNoOther(t *testing.T) {
	ctx, now := context.Background(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := newBank(t)
	s := memory.New(memory.Options{Now: func() time.Time { return now }})
	service, err := store.NewWithdrawals[store.WithdrawalUnit](eager{s}, b.Policy())
	if err != nil {
		t.Fatal(err)
	}
	if err := service.PutHotWallet(ctx, withdrawal.HotWallet{ID: hot, Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}); err != nil {
		t.Fatal(err)
	}
	var all []withdrawal.Withdrawal
	for range 3 {
		sub := b.submission()
		w, err := service.Do(ctx, sub.Request, sub, withdrawal.Approved{By: as(withdrawal.Approver)})
		if err == nil {
			w, err = service.Do(ctx, sub.Request, b.order(w.Request))
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	held, err := service.Do(ctx, all[0].Request.ID, withdrawal.Held{By: as(withdrawal.Operator), Reason: "fraud?"})
	if err != nil {
		t.Fatal(err)
	}
	items, _, err := service.Payments(chain, "worker").Turn(ctx, nil, 10)
	if err != nil || len(items) != 1 || items[0].Work.Request.ID != all[1].Request.ID {
		t.Fatalf("%d items, %v", len(items), err)
	}
	w, err := service.Get(ctx, held.Request.ID)
	if err != nil || !w.Job.OfferAt.Equal(now.Add(b.Policy().CheckEvery)) || w.Job.Version != held.Job.Version || w.Job.Status != withdrawal.JobPending {
		t.Errorf("what was refused is %+v, %v", w.Job, err)
	}
}

// A chain that is paused begins nothing, and what is out of it goes on.
func TestAPausedChainBeginsNothing(t *testing.T) {
	ctx := context.Background()
	b := newBank(t)
	approved, pending := b.approved(t), b.pending(t)
	out := b.confirming(t)
	out = b.do(t, out.Request.ID, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: out.Job.TxHash})
	p := b.Policy()
	p.Chain.Paused = true
	paused, err := store.NewWithdrawals(b.store, p)
	if err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(time.Hour)
	items, _, err := paused.Payments(chain, "worker").Turn(ctx, nil, 10)
	if err != nil || len(items) != 1 || items[0].Work.Request.ID != out.Request.ID {
		t.Fatalf("%d items, %v", len(items), err)
	}
	ws, _, err := paused.EnqueueDue(ctx, chain, 10, b.order)
	if err != nil || len(ws) > 0 {
		t.Errorf("%d jobs, %v", len(ws), err)
	}
	for _, w := range []withdrawal.Withdrawal{approved, pending} {
		if step, err := paused.Next(ctx, w.Request.ID); err != nil || step.Party != withdrawal.Operator || len(step.Actions) > 0 {
			t.Errorf("it owes %+v, %v", step, err)
		}
	}
}

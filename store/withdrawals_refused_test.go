package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// eager is a store that offers for a claim what is held too, as one that is
// wrong, or behind, may do: in the answers to these questions, nil for all.
type eager struct {
	store.Store[store.Unit]
	asked func(store.DueWithdrawals) bool
}

func (s eager) Update(ctx context.Context, fn func(store.BatchUnit) error) error {
	return s.Store.Update(ctx, func(tx store.Unit) error { return fn(eagerTx{tx, s.asked}) })
}

func (s eager) View(ctx context.Context, fn func(store.BatchUnit) error) error {
	return s.Store.View(ctx, func(tx store.Unit) error { return fn(tx) })
}

type eagerTx struct {
	store.BatchUnit
	asked func(store.DueWithdrawals) bool
}

func (t eagerTx) Withdrawals() store.WithdrawalRecords {
	return eagerRecords{t.BatchUnit.Withdrawals(), t.asked}
}

type eagerRecords struct {
	store.WithdrawalRecords
	asked func(store.DueWithdrawals) bool
}

func (r eagerRecords) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	due, err := r.WithdrawalRecords.Due(q)
	if err != nil || q.Kind != withdrawal.DueClaim || !q.Ahead.IsZero() || r.asked != nil && !r.asked(q) {
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

// threePending are three pending jobs in an eager store, of which the first is held.
func threePending(t *testing.T, now time.Time, asked func(store.DueWithdrawals) bool,
	change ...func(*withdrawal.Policy)) (*store.Batches, []withdrawal.Withdrawal) {
	t.Helper()
	ctx, b := context.Background(), newBank(t, change...)
	batches, err := store.NewBatches[store.BatchUnit](eager{memory.New(memory.Options{Now: func() time.Time { return now }}),
		asked}, b.Policy())
	if err != nil {
		t.Fatal(err)
	}
	service := batches.Withdrawals()
	if err := service.PutHotWallet(ctx, as(withdrawal.System),
		withdrawal.HotWallet{ID: hot, Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}); err != nil {
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
	if all[0], err = service.Do(ctx, all[0].Request.ID, withdrawal.Held{By: as(withdrawal.Operator), Reason: "fraud?"}); err != nil {
		t.Fatal(err)
	}
	return batches, all
}

// putOff requires that what was refused is not offered again at once, and nothing else.
func putOff(t *testing.T, service *store.Withdrawals, held withdrawal.Withdrawal, now time.Time) {
	t.Helper()
	w, err := service.Get(context.Background(), held.Request.ID)
	if err != nil || !w.Job.OfferAt.Equal(now.Add(service.Policy().CheckEvery)) || w.Job.Version != held.Job.Version ||
		w.Job.Status != withdrawal.JobPending {
		t.Errorf("what was refused is %+v, %v", w.Job, err)
	}
}

// What a Turn is refused is put off, and stops nobody.
func TestARefusedClaimStopsNoOther(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	batches, all := threePending(t, now, nil)
	service := batches.Withdrawals()
	items, _, err := service.Payments(chain, "worker").Turn(context.Background(), nil, 10)
	if err != nil || len(items) != 1 || items[0].Work.Request.ID != all[1].Request.ID {
		t.Fatalf("%d items, %v", len(items), err)
	}
	putOff(t, service, all[0], now)
}

// The same of a batch: a refused lead makes no group, a refused member is left out of
// it; both are put off. Who is claimed for a group leads no other one.
func TestARefusedMemberIsPutOff(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, asked := range map[string]func(store.DueWithdrawals) bool{
		"the lead": nil, "a member": func(q store.DueWithdrawals) bool { return q.Wallet != uuid.Nil },
	} {
		for _, nonces := range []bool{true, false} {
			batches, all := threePending(t, now, asked, func(p *withdrawal.Policy) { p.Chain.Nonces = nonces })
			items, _, err := batches.Payments(chain, "worker", 10).Turn(context.Background(), nil, 10)
			if err != nil || len(items) != 1 {
				t.Fatalf("%s: %d groups, %v", name, len(items), err)
			}
			var got []uuid.UUID
			for _, m := range items[0].Work.Members {
				got = append(got, m.Request.ID)
			}
			if want := []uuid.UUID{all[1].Request.ID, all[2].Request.ID}; !slices.Equal(got, want) {
				t.Errorf("%s: members %v, expected %v", name, got, want)
			}
			putOff(t, batches.Withdrawals(), all[0], now)
			for _, w := range all[1:] { // and nobody who is claimed is
				if got, err := batches.Withdrawals().Get(context.Background(), w.Request.ID); err != nil || !got.Job.OfferAt.IsZero() || got.Job.Lease.Fence != 1 {
					t.Errorf("%s: %+v, %v", name, got.Job, err)
				}
			}
		}
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
		if step, _, err := paused.Next(ctx, w.Request.ID); err != nil || step.Party != withdrawal.Operator || len(step.Actions) > 0 {
			t.Errorf("it owes %+v, %v", step, err)
		}
	}
}

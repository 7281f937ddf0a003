package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

func (w *withdrawals) withdrawalViews(t *testing.T) {
	hot := withdrawal.HotWallet{ID: w.id(), Chain: evm, Role: "r", Status: "s"}
	refusedWith(t, w.View(ctx, func(tx store.WithdrawalUnit) error { return tx.Withdrawals().PutHotWallet(hot) }), statemachine.ErrIllegal, "PutHotWallet in a View")
	refusedWith(t, w.View(ctx, func(tx store.WithdrawalUnit) error {
		return errOf(tx.Withdrawals().Due(store.DueWithdrawals{Kind: withdrawal.DueClaim, Now: start, Limit: 1}))
	}), statemachine.ErrIllegal, "Due in a View")
}

func (w *withdrawals) ownWithdrawals(t *testing.T) {
	request, pending := w.id(), w.pending(t, utxos, start)
	noError(t, w.Update(ctx, func(tx store.WithdrawalUnit) error {
		s := w.service.Within(tx)
		if _, err := s.Do(ctx, pending.Request.ID, withdrawal.Claimed{By: workerAt(start)}); err != nil {
			return err
		}
		due, err := tx.Withdrawals().Due(store.DueWithdrawals{Kind: withdrawal.DueClaim, Chain: utxos, Now: start, Limit: 1})
		if err != nil {
			return err
		}
		if len(due) > 0 {
			t.Errorf("due after its claim: %+v", due)
		}
		done, err := s.Do(ctx, request, submission(request, evm, start))
		if err != nil {
			return err
		}
		loaded, err := s.Get(ctx, request)
		if err != nil {
			return err
		}
		same(t, "a request that was saved just now", loaded.Request, done.Request)
		sums, err := tx.Withdrawals().Usage(aUser, anAsset, []withdrawal.Window{{Length: time.Hour}}, start.Add(tick))
		if err != nil {
			return err
		}
		same(t, "the sum with a request that was saved just now", sums.Sums, []string{"3"})
		_, err = s.Do(ctx, request, withdrawal.Approved{By: by(withdrawal.Approver, start)})
		return err
	}))
	if a := w.get(t, request); a.Request.Status != withdrawal.RequestApproved || a.Request.Version != 2 {
		t.Fatalf("two saves in one update ended in %v at version %d", a.Request.Status, a.Request.Version)
	}
}

func (w *withdrawals) unknownWithdrawals(t *testing.T) {
	known := w.approved(t, evm, start)
	if attempts, err := w.service.Attempts(ctx, w.id()); err != nil || len(attempts) > 0 {
		t.Errorf("the attempts of an unknown job are %v, %v", attempts, err)
	}
	if wallets, err := w.service.HotWallets(ctx, w.id()); err != nil || len(wallets) > 0 {
		t.Errorf("the wallets of an unknown chain are %v, %v", wallets, err)
	}
	for what, id := range map[string]uuid.UUID{"an unknown job": w.id(), "a request's id": known.Request.ID} {
		refusedWith(t, errOf(w.service.RequestOf(ctx, id)), statemachine.ErrNotFound, what)
	}
}

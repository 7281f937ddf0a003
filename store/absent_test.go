package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// A store or a transaction that is nil is an error of the first call.
func TestNilStoresAndTransactions(t *testing.T) {
	ctx := context.Background()
	var none *memory.Store
	stores := map[string]store.Store[store.Unit]{"no store": nil, "a nil pointer": none}
	for name, s := range stores {
		w, err := store.NewWithdrawals(s, withdrawal.DefaultPolicy())
		if err == nil {
			_, err = w.Get(ctx, uuid.New())
		}
		if !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: withdrawals: %v", name, err)
		}
		if _, _, err := store.NewWallets(s, utxo.Policy{}).Tip(ctx); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: wallets: %v", name, err)
		}
		if err := store.SelfCheck(ctx, s); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: self-check: %v", name, err)
		}
	}
	s := memory.New(memory.Options{})
	w, err := store.NewWithdrawals(s, withdrawal.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Within(nil).Get(ctx, uuid.New()); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("withdrawals within nil: %v", err)
	}
	if _, _, err := store.NewWallets(s, utxo.Policy{}).Within(nil).Tip(ctx); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("wallets within nil: %v", err)
	}
	if err := s.Update(ctx, nil); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a nil function: %v", err)
	}
}

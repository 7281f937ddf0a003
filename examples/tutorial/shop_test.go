package main

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
)

func newShop(t *testing.T) *shop {
	t.Helper()
	s, err := openShop(t.Context(), filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	return s
}

// has fails the test unless an account has so many cents.
func (s *shop) has(t *testing.T, account string, want int64) {
	t.Helper()
	if cents, err := s.balance(context.WithoutCancel(t.Context()), account); err != nil || cents != want {
		t.Errorf("%s has %d cents, not %d: %v", account, cents, want, err)
	}
}

func TestAnOrderHoldsItsAmountOnce(t *testing.T) {
	s, ann, id := newShop(t), account(customer("ann")), uuid.New()
	for range 2 { // whoever got no answer asks again
		if err := s.fund(t.Context(), "first payment", "ann", 2000); err != nil {
			t.Fatal(err)
		}
		if err := s.withdraw(t.Context(), id, "ann", "address of ann", "12.50"); err != nil {
			t.Fatal(err)
		}
	}
	s.has(t, ann, 750)
	s.has(t, "held", 1250)

	refused := uuid.New()
	if err := s.withdraw(t.Context(), refused, "ann", "address of ann", "7.51"); !errors.Is(err, errFunds) {
		t.Errorf("a cent too much: %v", err)
	}
	if _, err := s.withdrawals.Get(t.Context(), refused); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("a request without a hold: %v", err)
	}
	if err := s.withdraw(t.Context(), uuid.New(), "ann", "address of ann", "184467440737095516.17"); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("an amount that an int64 cannot hold: %v", err)
	}
	s.has(t, ann, 750)
}

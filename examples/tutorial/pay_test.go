package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// decided takes an order of 12.50 and sends an event to it.
func (s *shop) decided(t *testing.T, decision withdrawal.Event) (id uuid.UUID) {
	t.Helper()
	id = uuid.New()
	err := s.fund(t.Context(), "first payment", "ann", 2000)
	if err == nil {
		err = s.withdraw(t.Context(), id, "ann", "address of ann", "12.50")
	}
	if err == nil {
		_, err = s.withdrawals.Do(t.Context(), id, decision)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

var olga = withdrawal.By{Actor: "olga", Role: withdrawal.Approver}

// until runs loops until a condition holds.
func until(t *testing.T, holds func() bool, loops ...func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	for _, loop := range loops {
		go func() { ended <- loop(ctx) }()
	}
	for !holds() {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	stop()
	for range loops {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestAPaymentIsSentOnceThroughALossyNode(t *testing.T) {
	s, node := newShop(t), &chain{file: filepath.Join(t.TempDir(), "chain.txt")}
	id := s.decided(t, withdrawal.Approved{By: olga})
	completed := func() bool {
		w, err := s.withdrawals.Get(t.Context(), id)
		return err == nil && w.Request.Status == withdrawal.RequestCompleted
	}
	until(t, completed, payer{s, node}.run)
	if blocks, err := node.blocks(); err != nil || len(blocks) != 3 { // genesis, the payment, an empty block
		t.Errorf("%d blocks: %v", len(blocks), err)
	}
}

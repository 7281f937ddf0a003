package main

import (
	"path/filepath"
	"testing"

	"github.com/settlehq/settle/withdrawal"
)

func TestAHoldIsCapturedOrReleased(t *testing.T) {
	for _, c := range []struct {
		name      string
		decision  withdrawal.Event
		ann, bank int64
	}{
		{"paid", withdrawal.Approved{By: olga}, 750, -750},
		{"rejected", withdrawal.Rejected{By: olga, Reason: "not this address"}, 2000, -2000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, node := newShop(t), &chain{file: filepath.Join(t.TempDir(), "chain.txt")}
			s.decided(t, c.decision)
			nothingHeld := func() bool {
				held, err := s.balance(t.Context(), "held")
				return err == nil && held == 0
			}
			until(t, nothingHeld, payer{s, node}.run, s.follow, s.refunds)
			s.has(t, account(customer("ann")), c.ann)
			s.has(t, "bank", c.bank)
		})
	}
}

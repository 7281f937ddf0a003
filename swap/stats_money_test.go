package swap_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// Which sums of the statistics an item belongs to: each row is one deposit and one credit
// of 7 base units.
func TestMoneyOfStatistics(t *testing.T) {
	const usdd, usdc = swap.ToUSDD, swap.ToUSDC
	for _, tt := range []struct {
		name  string
		of    func(*swap.Item)
		money statemachine.Money
	}{
		{"unprocessed", func(*swap.Item) {}, statemachine.Money{Open: "7"}},
		{"at its limit", func(i *swap.Item) { i.OverdueAt = t0 }, statemachine.Money{Open: "7"}},
		{"overdue", func(i *swap.Item) { i.OverdueAt = t0.Add(-time.Microsecond) }, statemachine.Money{Open: "7", Stuck: "7"}},
		{"held", func(i *swap.Item) { i.Hold.Kind = swap.ByOperator }, statemachine.Money{Open: "7", Review: "7"}},
		{"held and overdue", func(i *swap.Item) { i.Hold.Kind, i.OverdueAt = swap.ByPolicy, t0.Add(-time.Hour) },
			statemachine.Money{Open: "7", Review: "7", Stuck: "7"}},
		{"of an open intent, overdue", func(i *swap.Item) { i.Intents, i.OverdueAt = []swap.Intent{{Number: 1}}, t0.Add(-time.Hour) },
			statemachine.Money{Open: "7", Unknown: "7", Stuck: "7"}},
		{"given back by hand, overdue", func(i *swap.Item) { i.ByHand.At, i.OverdueAt = t0, t0.Add(-time.Hour) }, statemachine.Money{}},
	} {
		c := swap.NewTally(t0, time.Hour)
		d, cr := swap.Deposit{Status: swap.DepositReady}, swap.Credit{Status: swap.CreditReady}
		d.Amount, cr.Amount = 7, 7
		tt.of(&d.Item)
		tt.of(&cr.Item)
		c.Deposit(&d)
		if got := c.Stats().Money; got[usdd] != tt.money || got[usdc] != (statemachine.Money{}) {
			t.Errorf("a deposit %s: %+v, expected %+v", tt.name, got, tt.money)
		}
		c.Credit(&cr)
		if got := c.Stats().Money; got[usdd] != tt.money || got[usdc] != tt.money {
			t.Errorf("a credit %s: %+v, expected %+v", tt.name, got, tt.money)
		}
	}
}

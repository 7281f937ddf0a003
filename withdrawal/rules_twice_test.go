package withdrawal_test

import (
	"errors"
	"testing"

	"github.com/settlehq/settle/withdrawal"
)

// One transaction that pays a request by two outputs has paid it twice, in whatever order the
// outputs are shown, and whatever became of the request. The same output again is no news.
func TestOneTransactionPaysARequestByTwoOutputs(t *testing.T) {
	output := func(n uint32) withdrawal.PaidBy {
		e := paidBy(t0, withdrawal.Operator, "x")
		e.Output = n
		return e
	}
	for name, w := range map[string]withdrawal.Withdrawal{
		"queued": states(t)["job pending"],
		"failed": states(t)["failed"],
		"paid":   states(t)["confirmed"],
	} {
		for _, order := range [][]uint32{{0, 1}, {1, 0}, {4, 2}} {
			first := run(t, w, output(order[0]))
			if c, err := policy.Apply(first, output(order[0])); err != nil || len(c.Log) > 0 {
				t.Errorf("%s, %v: the first again: %v, %+v", name, order, err, c.Log)
			}
			c, err := policy.Apply(first, output(order[1]))
			if err != nil || len(c.Incidents) != 1 || c.Incidents[0].Claim != withdrawal.ClaimMined || len(c.Log) != 1 {
				t.Fatalf("%s, %v: the second: %v, %+v, %+v", name, order, err, c.Incidents, c.Log)
			}
			sound(t, c)
			twice := c.New
			if err := withdrawal.Check(twice); (name != "failed") != errors.Is(err, withdrawal.ErrPaidTwice) {
				t.Errorf("%s, %v: Check says %v", name, order, err)
			}
			for _, n := range order {
				if c, err := policy.Apply(twice, output(n)); err != nil || len(c.Log) > 0 {
					t.Errorf("%s, %v: output %d again: %v, %+v", name, order, n, err, c.Log)
				}
			}
			if ended := run(t, twice, acknowledged(t0)); withdrawal.Check(ended) != nil {
				t.Errorf("%s, %v: acknowledged, Check says %v", name, order, withdrawal.Check(ended))
			}
		}
	}
}

// A batch that pays a member by its output, and by another one that is equal, has paid it twice.
func TestABatchPaysAMemberByTwoOutputs(t *testing.T) {
	for _, extra := range []struct {
		name  string
		show  func(withdrawal.Transfer) withdrawal.Transfer
		twice bool
	}{
		{"equal", func(t withdrawal.Transfer) withdrawal.Transfer { return t }, true},
		{"another amount", func(t withdrawal.Transfer) withdrawal.Transfer { t.AmountRaw += "0"; return t }, false},
		{"another payee", func(t withdrawal.Transfer) withdrawal.Transfer { t.Payee = "0xchange"; return t }, false},
	} {
		b := newBatch(t, 2)
		var shown []withdrawal.Transfer
		for i := range b.Members {
			m := &b.Members[i]
			shown = append(shown, withdrawal.Transfer{Output: m.Txs[0].Output, Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain,
				AmountRaw: m.Request.AmountRaw})
		}
		further := extra.show(shown[0])
		further.Output = 9
		e := batchMined(t0, b.Batch.TxHash, append(shown, further)...)
		for round := range 2 {
			c, err := policy.ApplyBatch(b, e, t0)
			if err != nil {
				t.Fatalf("%s: %v", extra.name, err)
			}
			if err := c.Complete(); err != nil {
				t.Fatalf("%s: %v", extra.name, err)
			}
			if lines := 0; round == 1 {
				for i := range c.Members {
					lines += len(c.Members[i].Log)
				}
				if lines > 0 {
					t.Errorf("%s: said again it writes %d lines", extra.name, lines)
				}
			}
			b = c.New
			twice := 0
			for i := range b.Members {
				if b.Members[i].Request.Status != withdrawal.RequestCompleted {
					t.Errorf("%s: member %d is %v", extra.name, i, b.Members[i].Request.Status)
				}
				if errors.Is(withdrawal.Check(b.Members[i]), withdrawal.ErrPaidTwice) {
					twice++
				}
			}
			if twice == 1 != extra.twice {
				t.Errorf("%s, round %d: %d members are paid twice", extra.name, round, twice)
			}
		}
	}
}

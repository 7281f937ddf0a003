package withdrawal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// What is seen of a batch after members have left it, or after its end.

// A node that leaves logs out, and shows them later in the same block: the member
// that has left meanwhile is paid by what was decided on, and silence would pay it
// again.
func TestAFullerAnswerAfterTheEndIsHeard(t *testing.T) {
	b := newBatch(t, 2)
	m := b.Members
	end := runBatch(t, b, outside(batchMined(t0, "x", transfers(m, 0)...)))
	if got := where(end); got != "confirmed, pending" {
		t.Fatal(got)
	}
	fuller := outside(batchMined(t0, "x", transfers(m, 0, 1)...))
	if c, err := policy.ApplyBatch(end, fuller, t0); !errors.Is(err, statemachine.ErrForbidden) || !c.Empty() {
		t.Errorf("by the checker: %v", err)
	}
	fuller.By, fuller.Reason = by(withdrawal.Operator, t0), "the receipt has both"
	if got := where(runBatch(t, end, fuller)); got != "confirmed, confirmed" {
		t.Errorf("by an operator: %s", got)
	}
}

// A nonce belongs to the wallet of the batch. A later job of a member may have
// another wallet, where the same number is another transaction's.
func TestTheNonceOfABatchIsNoneOfAnotherWallet(t *testing.T) {
	b := newBatch(t, 2)
	end := runBatch(t, b, outside(batchMined(t0, "x0", transfers(b.Members, 0)...)))
	w := &end.Members[1]
	if w.Job.Status != withdrawal.JobPending {
		t.Fatal(where(end))
	}
	w.Job.Wallet, w.Wallet = id(77), withdrawal.HotWallet{ID: id(77), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	late := outside(batchMined(t0, "x1", transfers(b.Members, 1)...))
	late.By, late.Reason, late.Block.Hash, late.Canonical = by(withdrawal.Operator, t0), "another chain won", "b11", "b11"
	got := runBatch(t, end, late).Members[1]
	if got.Request.Status != withdrawal.RequestCompleted || got.Txs[1].HasNonce || got.Txs[1].Nonce != 0 {
		t.Errorf("nothing of it is out: %v by %+v", got.Request.Status, got.Txs[1])
	}
	at := w.Job.ScheduledAt
	out := run(t, *w, withdrawal.Claimed{By: worker(at)}, prepared(at, w.Job.Lease.Fence+1, "tx1", 7))
	end.Members[1] = out
	got = runBatch(t, end, late).Members[1]
	if where(withdrawal.Payout{Members: []withdrawal.Withdrawal{got}}) != "review" || len(got.Strays) != 1 || got.Strays[0].HasNonce || got.Request.Mined != "x1" {
		t.Errorf("its own is out: %+v", got.Job)
	}
	late.By, late.Reason = checker(t0), ""
	if _, err := policy.ApplyBatch(end, late, t0); !errors.Is(err, statemachine.ErrForbidden) {
		t.Errorf("its own is out, by the checker: %v", err)
	}
}

// A version that counts as dead is in a block, and its receipt does not show whom
// it pays: that is refused aloud, and once the batch says it, nobody is paid twice.
func TestABareReceiptOfADeadVersionIsHeard(t *testing.T) {
	b := newBatch(t, 3)
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0, 1))
	end := runBatch(t, b, batchMined(t0, "v2", transfers(b.Members, 0, 1)...))
	reverted := receipt(t0, "v2", 3)
	reverted.Reverted = true
	for name, tt := range map[string]struct {
		member int
		ev     withdrawal.Receipt
		is     error
	}{
		"of one that is pending":                {2, receipt(t0, "v1", 3), withdrawal.ErrInBatch},
		"of one that another version paid":      {0, receipt(t0, "v1", 3), withdrawal.ErrInBatch},
		"below the depth":                       {2, receipt(t0, "v1", 2), nil},
		"of the version that paid":              {0, receipt(t0, "v2", 3), nil},
		"of the version that paid, as reverted": {0, reverted, withdrawal.ErrInBatch},
	} {
		if c, err := policy.Apply(end.Members[tt.member], tt.ev); !errors.Is(err, tt.is) || !c.Empty() {
			t.Errorf("%s: %v", name, err)
		}
	}
	stopped := runBatch(t, end, batchMined(t0, "v1", transfers(b.Members, 0, 1, 2)...)).Members[2]
	if stopped.Request.Disproved != "v1" || !stopped.Job.Review {
		t.Errorf("said of the batch: %+v", stopped.Job)
	}
}

// A member that is completed by a transaction outside of the batch, in whose place
// another one is mined: its payment is gone, and somebody hears of it.
func TestThePaymentOfAMemberByAnotherTransactionIsGone(t *testing.T) {
	b := newBatch(t, 2)
	m := b.Members
	end := runBatch(t, b, outside(batchMined(t0, "x", transfers(m, 0)...)))
	other := func(tx string, shown ...withdrawal.Transfer) withdrawal.BatchMined {
		e := outside(batchMined(t0, tx, shown...))
		e.Block.Hash, e.Canonical = "b11", "b11"
		return e
	}
	for name, tt := range map[string]struct {
		ev    withdrawal.BatchMined
		claim string
	}{
		"another one":               {other("y"), "dead"},
		"a version":                 {other("v1", transfers(m, 1)...), "dead"},
		"the same, which pays less": {other("x"), "left out"},
		"the same, as it was seen":  {other("x", transfers(m, 0)...), ""},
	} {
		c, err := policy.ApplyBatch(end, tt.ev, time.Time{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		for _, change := range c.Members {
			for _, i := range change.Incidents {
				if i.Request == m[0].Request.ID {
					got = i.Claim
				}
			}
		}
		if got != tt.claim || c.New.Members[0].Request.Status != withdrawal.RequestCompleted {
			t.Errorf("%s: incident %q, expected %q", name, got, tt.claim)
		}
	}
}

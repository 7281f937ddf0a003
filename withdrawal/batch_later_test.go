package withdrawal_test

import (
	"errors"
	"slices"
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

// An operator says of the transaction of a batch, which was declared dead, that it pays a member. The
// same word again is no second one. Somebody else's is, and so is his own once he has looked at what
// became of the first.
func TestAnOperatorsWordOfADeadVersionSaidTwiceIsSaidOnce(t *testing.T) {
	b := newBatch(t, 3)
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0, 1))
	w := runBatch(t, b, batchMined(t0, "v2", transfers(b.Members, 0, 1)...)).Members[2]
	said := paidBy(t0, withdrawal.Operator, "v1")
	said.Output, said.Payee, said.AmountRaw, said.AssetOnChain = w.Txs[0].Output, w.Request.ToAddress, w.Request.AmountRaw, w.Job.AssetOnChain
	said.Block = block(3)
	for _, version := range []int64{0, w.Job.Version} {
		said.Version = version
		revived := run(t, w, said)
		if revived.Request.Disproved != "v1" || revived.Request.DisprovedBy != said.Actor || !revived.Job.Review {
			t.Fatalf("said once: %+v", revived.Job)
		}
		for range 3 {
			if c, err := policy.Apply(revived, said); err != nil || !c.Empty() {
				t.Fatalf("said at version %d, and again: %v, %v", version, err, c.New.Request.Status)
			}
		}
		another, looked := said, said
		another.Actor, another.Version = "another operator", 0
		looked.Version = revived.Job.Version
		for name, ev := range map[string]withdrawal.PaidBy{"another's word": another, "who has looked": looked} {
			if done := run(t, revived, ev); done.Request.Status != withdrawal.RequestCompleted || done.Request.FinalTxHash != "v1" {
				t.Errorf("%s: %v", name, done.Request.Status)
			}
		}
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
		"another one": {other("y"), "dead"},
		"another one, which pays it something else": {other("y", less(m, 0)), "dead"},
		"a version":                 {other("v1", transfers(m, 1)...), "dead"},
		"the same, which pays less": {other("x"), "left out"},
		"the same, and something else by another output": {other("x", transfers(m, 0)[0], another(less(m, 0), 9)), ""},
		"the same, as it was seen":                       {other("x", transfers(m, 0)...), ""},
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
					got = i.Claim.String()
				}
			}
		}
		if got != tt.claim || c.New.Members[0].Request.Status != withdrawal.RequestCompleted {
			t.Errorf("%s: incident %q, expected %q", name, got, tt.claim)
		}
	}
}

// less is a part of what is due to a member.
func less(m []withdrawal.Withdrawal, i int) withdrawal.Transfer {
	part := transfers(m, i)[0]
	part.AmountRaw = "1"
	return part
}

func another(t withdrawal.Transfer, output uint32) withdrawal.Transfer {
	t.Output = output
	return t
}

// What pays a member in part nobody can judge. As long as the batch has it an operator
// gets it; of one that has left it the evidence is refused, or it would be paid in
// full beside that.
func TestAPartOfWhatIsDueAfterTheEndIsHeard(t *testing.T) {
	b := newBatch(t, 2)
	m := b.Members
	end := runBatch(t, b, outside(batchMined(t0, "x", transfers(m, 0)...)))
	part := outside(batchMined(t0, "x", transfers(m, 0)[0], less(m, 1)))
	elsewhere := part
	elsewhere.Block.Hash, elsewhere.Canonical = "b11", "b11"
	seen := elsewhere
	seen.By, seen.Reason = by(withdrawal.Operator, t0), "seen"
	own := runBatch(t, newBatch(t, 2), part)
	if got := where(own); got != "confirmed, review" {
		t.Fatal(got)
	}
	settled := own
	settled.Members = slices.Clone(own.Members)
	dead := withdrawal.ProvenDead{By: seen.By, Block: block(3), Tx: "v1", Cause: withdrawal.NonceUsed, Other: "x", Nonce: 7, NotThisPayment: true, Reason: "a part"}
	settled.Members[1] = run(t, own.Members[1], dead)
	told := end
	told.Members = slices.Clone(end.Members)
	told.Members[1] = run(t, end.Members[1], withdrawal.PaidBy{By: seen.By, Tx: "x", Output: 1, Payee: "0xpayee1", AssetOnChain: token, AmountRaw: m[1].Request.AmountRaw, Reason: "in two halves"})
	for name, tt := range map[string]struct {
		b  withdrawal.Payout
		ev withdrawal.BatchMined
		is error
	}{
		"a fuller answer of the same block":    {end, part, statemachine.ErrForbidden},
		"of another block":                     {end, elsewhere, statemachine.ErrForbidden},
		"by an operator":                       {end, seen, statemachine.ErrInvalid},
		"the same, told twice":                 {own, part, nil},
		"of another block, while one has it":   {own, elsewhere, statemachine.ErrForbidden},
		"after the operator said that it does": {told, elsewhere, nil},
		"after the operator said it does not":  {settled, elsewhere, statemachine.ErrForbidden},
	} {
		if c, err := policy.ApplyBatch(tt.b, tt.ev, t0); !errors.Is(err, tt.is) || !c.Empty() {
			t.Errorf("%s: %v, %d members", name, err, len(c.Members))
		}
	}
}

// Beside what was decided on, an operator's word that is refused is not swallowed: a
// member was dispatched anew, and what is said of it has not its reference.
func TestWhatAnOperatorSaysAgainIsNotSwallowed(t *testing.T) {
	b := newBatch(t, 2)
	end := runBatch(t, b, outside(batchMined(t0, "x", transfers(b.Members, 0)...)))
	w := &end.Members[1]
	at := w.Job.ScheduledAt
	*w = run(t, *w, withdrawal.Claimed{By: worker(at)}, withdrawal.Dispatched{By: worker(at), Fence: w.Job.Lease.Fence + 1, Reference: "key"})
	fuller := outside(batchMined(at, "x", transfers(b.Members, 0, 1)...))
	fuller.By, fuller.Reason = by(withdrawal.Operator, at), "the receipt has both"
	if c, err := policy.ApplyBatch(end, fuller, at); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
		t.Errorf("%v, %d members", err, len(c.Members))
	}
}

// One member in review is told of a transaction that pays the others too: it names the
// output, or the batch is told. As the member's alone it would keep the others out.
func TestATransactionOfManyIsNotOneMembers(t *testing.T) {
	b := runBatch(t, newBatch(t, 3), withdrawal.BatchCannotTell{By: checker(t0), Other: "y"})
	for i := range b.Members[:2] { // twins
		w := &b.Members[i]
		w.Request.ToAddress, w.Job.ToAddress = "0xtwin", "0xtwin"
		first := &b.Members[0]
		w.Request.Amount, w.Request.AmountRaw, w.Job.AmountRaw = first.Request.Amount, first.Request.AmountRaw, first.Job.AmountRaw
	}
	found := saidSent(&b.Members[0], "y")
	found.ByOutput = false
	if c, err := policy.Apply(b.Members[0], found); !errors.Is(err, withdrawal.ErrInBatch) || !c.Empty() {
		t.Errorf("as its own: %v", err)
	}
	found.Version--
	expect(t, policy, b.Members[0], found, "conflict")
	version := saidSent(&b.Members[0], "v1")
	version.ByOutput = false
	run(t, b.Members[0], version)
	found.Version, found.ByOutput, found.Output = b.Members[0].Job.Version, true, 1
	b.Members[0] = run(t, b.Members[0], found)
	y := outside(batchMined(t0, "y", transfers(b.Members, 0, 1, 2)...))
	if got := where(runBatch(t, b, y)); got != "confirmed, confirmed, confirmed" {
		t.Error(got)
	}
	if got := b.PaidOutputs(&y); !slices.Equal(got, []int64{1, 0, 2}) {
		t.Errorf("by outputs %v", got)
	}
}

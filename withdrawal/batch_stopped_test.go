package withdrawal_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// paidElsewhere is an operator's word that another transaction paid w, which can be
// mined beside what is live.
func paidElsewhere(w *withdrawal.Withdrawal) withdrawal.PaidBy {
	return withdrawal.PaidBy{By: by(withdrawal.Operator, t0), Block: block(3), Tx: "elsewhere", Payee: w.Request.ToAddress, AssetOnChain: token, AmountRaw: w.Request.AmountRaw, Reason: "seen"}
}

// saidSent is an operator's word that a transaction was sent.
func saidSent(w *withdrawal.Withdrawal, hash string) withdrawal.Resolved {
	op := by(withdrawal.Operator, t0)
	op.Version = w.Job.Version
	return withdrawal.Resolved{By: op, Job: w.Job.ID, Sent: true, Hash: hash, Nonce: 7, HasNonce: true, ByOutput: true, Reason: "I think so"}
}

// stoppedBatch is a batch of three, of which the last is paid elsewhere.
func stoppedBatch(t testing.TB) withdrawal.Payout {
	t.Helper()
	b := newBatch(t, 3)
	b.Members = slices.Clone(b.Members)
	b.Members[2] = run(t, b.Members[2], paidElsewhere(&b.Members[2]))
	return b
}

// owed is what a withdrawal worker owes of a batch when its next check is due.
func owed(b withdrawal.Payout) (does withdrawal.Do, without []uuid.UUID) {
	for _, a := range policy.NextBatch(b, freeAt(b)).Actions {
		if a.By == withdrawal.WithdrawalWorker {
			does, without = a.Do, a.Without
		}
	}
	return does, without
}

// While an operator has a member, the newest version that pays it is not sent
// again: it is looked up, and after each look-up the builder is asked once for a
// version without the member. So no stop leaves the others waiting.
func TestAStoppedBatchIsReplaced(t *testing.T) {
	b := stoppedBatch(t)
	third := []uuid.UUID{b.Members[2].Request.ID}
	now := t0
	for _, ev := range []withdrawal.BatchEvent{withdrawal.BatchMissing{By: checker(now)}, withdrawal.BatchLooking{By: checker(now)}, withdrawal.BatchMissing{By: checker(now), Error: "no answer"}} {
		asked := runBatch(t, b, ev)
		if does, without := owed(asked); does != withdrawal.DoReplace || !slices.Equal(without, third) {
			t.Fatalf("after %T: %v without %v", ev, does, without)
		}
		if at, ok := withdrawal.BatchDueAt(withdrawal.DueBatchSend, &asked.Batch, 0); !ok || !at.Equal(freeAt(asked)) {
			t.Fatalf("after %T the builder is asked at %v, %v", ev, at, ok)
		}
		given := runBatch(t, asked, batchSent(now, asked, "v1")) // it was given back, or gas is dear
		if does, _ := owed(given); does != 0 {
			t.Fatalf("it is asked again before the next look-up: %v", does)
		}
		if at, ok := withdrawal.BatchDueAt(withdrawal.DueBatchCheck, &given.Batch, time.Hour); !ok || !at.Equal(now.Add(policy.CheckEvery)) {
			t.Fatalf("it is looked up at %v, %v", at, ok)
		}
	}
	cannot := runBatch(t, newBatch(t, 2), withdrawal.BatchCannotTell{By: checker(now), Other: "x"})
	if does, without := owed(cannot); does != withdrawal.DoReplace || len(without) != 2 {
		t.Errorf("nobody can tell: %v without %v", does, without)
	}
	two := runBatch(t, b, batchReplaced(t0, b, "v2", 0, 1))
	if does, _ := owed(two); does != withdrawal.DoRebroadcast {
		t.Errorf("a version without it: %v", does)
	}
	end := runBatch(t, two, batchMined(t0, "v2", transfers(two.Members, 0, 1)...))
	if got := where(end); got != "confirmed, confirmed, review" {
		t.Fatal(got)
	}
	gone := dead(t0, "v1", 3, 7)
	gone.By, gone.Other = by(withdrawal.Operator, t0), "v2"
	third2 := run(t, end.Members[2], gone, receipt(t0, "elsewhere", 3))
	if third2.Request.FinalTxHash != "elsewhere" {
		t.Errorf("the third: %v by %q", third2.Request.Status, third2.Request.FinalTxHash)
	}
}

// An operator who says that the version was sent, of a member that is paid
// elsewhere, ends the review and no more: it is not sent again, and replaced as
// before.
func TestSentOfWhoIsPaidElsewhere(t *testing.T) {
	b := stoppedBatch(t)
	b.Members[2] = run(t, b.Members[2], saidSent(&b.Members[2], "v1"))
	if b.Members[2].Job.Review {
		t.Fatal("the review goes on")
	}
	b = runBatch(t, b, withdrawal.BatchMissing{By: checker(t0)})
	if does, without := owed(b); does != withdrawal.DoReplace || !slices.Equal(without, []uuid.UUID{b.Members[2].Request.ID}) {
		t.Fatalf("%v without %v", does, without)
	}
	if _, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v2", 0, 1, 2), t0); !errors.Is(err, statemachine.ErrIllegal) {
		t.Errorf("another version pays it: %v", err)
	}
	two := runBatch(t, b, batchReplaced(t0, b, "v2", 0, 1))
	two = runBatch(t, two, batchMined(t0, "v2", transfers(two.Members, 0, 1)...))
	if got := where(two); got != "confirmed, confirmed, confirming" || two.Members[2].Job.TxHash != "elsewhere" {
		t.Errorf("%s, the third by %q", got, two.Members[2].Job.TxHash)
	}
	both := runBatch(t, b, batchMined(t0, "v1", transfers(b.Members, 0, 1, 2)...)) // it was out
	if err := withdrawal.Check(both.Members[2]); !errors.Is(err, withdrawal.ErrPaidTwice) {
		t.Errorf("paid twice, and nobody is told: %v", err)
	}
}

// The same of a payment alone, whatever was said of it: what is live is not sent
// beside something that may have paid, nor replaced by another payment, and an
// operator has it again in the end.
func TestSentAloneOfWhoIsPaidElsewhere(t *testing.T) {
	s := states(t)
	for name, w := range map[string]withdrawal.Withdrawal{
		"sent, and paid by another":     run(t, s["confirming"], paidElsewhere(ptr(s["confirming"]))),
		"prepared, and paid by another": run(t, s["prepared"], paidElsewhere(ptr(s["prepared"]))),
		"sent, and a signer answers":    s["sent unfiled"],
	} {
		if !w.Job.Review {
			t.Fatalf("%s: no operator has it", name)
		}
		w = run(t, w, saidSent(&w, "tx1"))
		missing := run(t, w, withdrawal.Missing{By: checker(w.Job.BroadcastAt), Tx: "tx1"})
		if missing.Job.Rebroadcast || missing.Job.Review {
			t.Errorf("%s: to be sent again %v, review %v", name, missing.Job.Rebroadcast, missing.Job.Review)
		}
		alert := w.Job.BroadcastAt.Add(policy.AlertAfter)
		if got := run(t, w, withdrawal.Missing{By: checker(alert), Tx: "tx1"}); !got.Job.Review {
			t.Errorf("%s: missing for long, and nobody is named", name)
		}
		leased := run(t, w, withdrawal.Claimed{By: worker(alert)})
		bump := withdrawal.Rebumped{By: worker(alert), Fence: leased.Job.Lease.Fence, Hash: "tx2", Raw: []byte("tx2"), Nonce: 7, HasNonce: true}
		expect(t, policy, leased, bump, "illegal")
		bump.Cancel = true // which pays nobody
		cancel := run(t, leased, bump, withdrawal.Rebroadcast{By: worker(alert), Fence: bump.Fence, Hash: "tx2", Done: true})
		if got := run(t, cancel, withdrawal.Missing{By: checker(alert), Tx: "tx2"}); !got.Job.Rebroadcast {
			t.Errorf("%s: what cancels it is not sent again", name)
		}
	}
	// Once it is on file as live it is the payment, and is sent again as any other.
	x := paidElsewhere(ptr(s["confirming"]))
	x.Raw = []byte("elsewhere")
	joined := run(t, s["confirming"], x, func() withdrawal.ProvenDead {
		e := dead(t0, "tx1", 3, 7)
		e.By, e.Other = by(withdrawal.Operator, t0), "a third"
		return e
	}(), withdrawal.Missing{By: checker(t0), Tx: "elsewhere"})
	if !joined.Job.Rebroadcast {
		t.Errorf("what was mined, and is gone, is not sent again: %+v", joined.Job)
	}
	// Until the first one is mined after all: the proof of its death was wrong.
	wrong := run(t, joined, withdrawal.Receipt{By: checker(t0), Block: block(3), Tx: "tx1"})
	wrong = run(t, wrong, saidSent(&wrong, "elsewhere"))
	if again := run(t, wrong, withdrawal.Missing{By: checker(wrong.Job.BroadcastAt), Tx: "elsewhere"}); again.Job.Rebroadcast {
		t.Error("what was declared dead is mined, and another one is sent")
	}
}

func ptr(w withdrawal.Withdrawal) *withdrawal.Withdrawal { return &w }

// A member that was dropped and is held is not taken back into a version; one that
// the newest version pays goes on, since it is out.
func TestAHeldMemberIsNotTakenBack(t *testing.T) {
	b := newBatch(t, 2)
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0))
	b.Members = slices.Clone(b.Members)
	for i := range b.Members {
		b.Members[i] = run(t, b.Members[i], withdrawal.Held{By: by(withdrawal.Operator, t0)})
	}
	if c, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v3", 0, 1), t0); !errors.Is(err, statemachine.ErrIllegal) || !c.Empty() {
		t.Errorf("taken back: %v", err)
	}
	if all := b.Payable(); len(all) != 1 || all[0].Request.ID != b.Members[0].Request.ID {
		t.Errorf("%d can be paid", len(all))
	}
	runBatch(t, b, batchReplaced(t0, b, "v3", 0))
}

// What is live of a member beside the batch keeps it out of another version: both
// could be mined.
func TestAMemberWithSomethingElseLiveIsNotReplaced(t *testing.T) {
	b := newBatch(t, 2)
	b.Members = slices.Clone(b.Members)
	w := &b.Members[1]
	w.Txs = append(slices.Clone(w.Txs), withdrawal.Tx{Request: w.Request.ID, Seq: 2, Job: w.Job.ID, Hash: "x", Wallet: w.Job.Wallet, Nonce: 8, HasNonce: true})
	w.Job.TxsOnFile = 2
	if c, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v2", 0, 1), t0); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
		t.Fatal(err)
	}
	if _, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v2", 0), t0); err != nil {
		t.Fatalf("without it: %v", err)
	}
}

// Of a member whose transactions were not loaded nobody knows what is live.
func TestAReplacementNeedsWhatIsOnFile(t *testing.T) {
	b := newBatch(t, 2)
	b = runBatch(t, b, batchReplaced(t0, b, "v2", 0))
	b.Members = slices.Clone(b.Members)
	b.Members[1].Txs = nil
	if c, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v3", 0, 1), t0); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
		t.Fatal(err)
	}
}

// A second payment beside the one that joined the file: the first is not sent again.
func TestSentOfWhoIsPaidTwiceElsewhere(t *testing.T) {
	w := states(t)["confirming"]
	first := paidElsewhere(&w)
	first.Raw = []byte("elsewhere")
	gone := dead(t0, "tx1", 3, 7)
	gone.By, gone.Other = by(withdrawal.Operator, t0), "a third"
	w = run(t, w, first, gone)
	second := paidElsewhere(&w)
	second.Tx = "a second"
	w = run(t, w, second)
	w = run(t, w, saidSent(&w, "elsewhere"), withdrawal.Missing{By: checker(t0), Tx: "elsewhere"})
	if w.Job.Rebroadcast || w.Job.Review {
		t.Errorf("to be sent again %v, review %v", w.Job.Rebroadcast, w.Job.Review)
	}
}

// A wallet offers its lowest nonce, whatever was missed the longest.
func TestBatchesAreSentByNonce(t *testing.T) {
	a := withdrawal.Batch{ID: id(2), Wallet: id(8), Nonce: 1, HasNonce: true}
	b := withdrawal.Batch{ID: id(1), Wallet: id(8), Nonce: 2, HasNonce: true}
	if !withdrawal.LowerBatch(&a, &b) || withdrawal.LowerBatch(&b, &a) {
		t.Error("the lower nonce is first")
	}
	b.Wallet = id(9)
	if withdrawal.LowerBatch(&a, &b) {
		t.Error("of another wallet")
	}
	a.HasNonce, b.HasNonce, b.Wallet = false, false, a.Wallet
	if withdrawal.LowerBatch(&a, &b) || withdrawal.LowerBatch(&b, &a) {
		t.Error("without nonces there is no order")
	}
}

// What a sender has claimed is looked up as before, whatever becomes of the sender: a batch that is mined already is not kept from its confirmation.
func TestSendersKeepNobodyFromTheLookUp(t *testing.T) {
	b := newBatch(t, 2)
	for range 3 {
		at := b.Batch.NextCheckAt
		b = claimedBatch(t, b, freeAt(b)) // it crashes
		if due, ok := withdrawal.BatchDueAt(withdrawal.DueBatchSend, &b.Batch, 0); !ok || !due.Equal(b.Batch.Lease.Until) {
			t.Fatalf("it is sent again at %v, before its lease has ended", due)
		}
		due, ok := withdrawal.BatchDueAt(withdrawal.DueBatchCheck, &b.Batch, policy.CheckEvery)
		if !ok || !due.Equal(at.Add(policy.CheckEvery)) {
			t.Fatalf("it is looked up at %v, %v", due, ok)
		}
		b = runBatch(t, b, withdrawal.BatchLooking{By: checker(due)}, withdrawal.BatchMissing{By: checker(due)})
		if does, _ := owed(b); does != withdrawal.DoRebroadcast {
			t.Fatalf("after the look-up a worker does %v", does)
		}
	}
}

// A member of whom a person has said already what was mined, without the nonce, is paid by it when the batch ends, as a
// member of whom nobody has spoken is.
func TestABatchThatIsOverHasNobody(t *testing.T) {
	b := stoppedBatch(t)
	ev := batchMined(t0, "elsewhere", transfers(b.Members, 2)...)
	ev.Looked = true
	end := runBatch(t, b, outside(ev))
	w := &end.Members[2]
	if got := where(end); end.Batch.Status != withdrawal.BatchFailed || w.Job.Batch != uuid.Nil || w.Job.Review ||
		w.Job.Status != withdrawal.JobConfirmed {
		t.Fatalf("%v: %s, the batch of the third is %v", end.Batch.Status, got, w.Job.Batch)
	}
	if err := withdrawal.CheckBatch(end); err != nil {
		t.Error(err)
	}
}

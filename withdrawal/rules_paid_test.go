package withdrawal_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// M4: the same payment, mined under another hash, is not paid again.
func TestPaidByFilesAnotherHashAndConfirmsByIt(t *testing.T) {
	s := states(t)
	bare := run(t, s["dispatched"], withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"})
	operator, checker := withdrawal.Operator, withdrawal.ConfirmationWorker
	for _, tt := range []struct {
		name   string
		from   withdrawal.Withdrawal
		role   withdrawal.Role
		nonce  uint64 // 0: none
		depth  uint64 // 0: no block
		want   string
		filed  bool
		reason string
	}{
		{"the nonce of what is out, by a worker", s["confirming"], checker, 7, 3, "confirmed", true, ""},
		{"the same, leased for a re-broadcast", s["leased confirming"], checker, 7, 3, "confirmed", true, ""},
		{"the same, prepared", s["prepared"], checker, 7, 3, "confirmed", true, ""},
		{"the same, one block short", s["confirming"], checker, 7, 2, "confirming", true, ""},
		{"the same, by an operator", s["confirming"], operator, 7, 2, "confirming", true, "bumped by hand"},
		{"without a reason", s["confirming"], operator, 7, 2, "invalid", false, ""},
		{"another nonce, by a worker", s["confirming"], checker, 8, 3, "forbidden", false, ""},
		{"no nonce, by a worker", s["confirming"], checker, 0, 3, "forbidden", false, ""},
		{"another nonce, by an operator", s["confirming"], operator, 8, 3, "confirming, review", false, "r"},
		{"a signer's hash alone, by a worker", bare, checker, 7, 3, "forbidden", false, ""},
		{"a signer's hash alone, by an operator", bare, operator, 0, 3, "confirming, review", false, "r"},
		{"pending, by a worker", s["job pending"], checker, 7, 3, "forbidden", false, ""},
		{"pending, by an operator", s["job pending"], operator, 0, 3, "confirmed", true, "paid by hand"},
		{"pending, no block", s["job pending"], operator, 0, 0, "confirming", true, "paid by hand"},
		{"held", s["held"], operator, 0, 3, "confirmed", true, "paid by hand"},
		{"processing", s["processing"], operator, 0, 3, "confirmed", true, "paid by hand"},
		{"dispatched", s["dispatched"], operator, 0, 2, "confirming", true, "found"},
		{"in review", s["review"], operator, 0, 3, "confirmed", true, "found"},
		{"confirming in review", s["confirming review"], operator, 0, 3, "confirming, review", false, "r"},
		{"not sent", s["not sent"], operator, 0, 3, "confirmed", true, "sent after all"},
		{"approved", s["approved"], operator, 0, 1, "incident", false, "r"},
		{"failed", s["failed"], operator, 0, 3, "incident", false, "r"},
		{"cancelled", s["cancelled"], operator, 0, 3, "incident", false, "r"},
		{"completed", s["confirmed"], operator, 0, 3, "incident", false, "r"},
		{"completed, the same nonce, by a worker", s["confirmed"], checker, 7, 3, "incident", false, ""},
		{"completed, below the depth", s["confirmed"], checker, 7, 2, "-", false, ""},
		{"awaits approval", s["pending"], operator, 0, 3, "illegal", false, "r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := paidBy(t0, tt.role, "x")
			e.Nonce, e.HasNonce, e.Reason, e.Block = tt.nonce, tt.nonce > 0, tt.reason, block(max(1, tt.depth))
			if tt.depth == 0 {
				e.Block = withdrawal.Block{}
			}
			e.Reference = tt.from.Job.DispatchRef
			w := expect(t, policy, tt.from, e, tt.want)
			if n := len(w.Txs) - len(tt.from.Txs); (n == 1) != tt.filed {
				t.Fatalf("%d transactions were filed", n)
			}
			refused := tt.want == "forbidden" || tt.want == "invalid" || tt.want == "illegal" || tt.want == "-"
			if mined := w.Request.Mined == "x"; mined != (!tt.filed && !refused) {
				t.Errorf("mined is %q", w.Request.Mined)
			}
			if tt.filed {
				tx := w.Txs[len(w.Txs)-1]
				if tx.Hash != "x" || !tx.ByOutput || w.Job.TxHash != "x" || w.Job.RetryCount < 1 || w.Job.Review || w.Job.Lease.Holder != "" {
					t.Errorf("%+v", w.Job)
				}
				if a := w.Attempt; tt.from.Job.Status == withdrawal.JobProcessing && !tt.from.Job.Review && a.Outcome != statemachine.Unknown {
					t.Errorf("the attempt is %+v", a)
				}
			}
			if tt.want == "confirmed" && (w.Request.FinalTxHash != "x" || w.Job.GasPrice != "7") {
				t.Errorf("final %q, gas %q", w.Request.FinalTxHash, w.Job.GasPrice)
			}
			if refused {
				return
			}
			again, err := policy.Apply(w, e) // the same event
			if err != nil || len(again.Log)+len(again.Incidents) > 0 {
				t.Errorf("again: %v, %v, %v", err, again.Log, again.Incidents)
			}
		})
	}
}

func TestPaidByComparesPayeeAssetAmountAndReference(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*withdrawal.PaidBy)
		want   string
	}{
		"as it is":                  {func(e *withdrawal.PaidBy) {}, "confirmed"},
		"the payee in another form": {func(e *withdrawal.PaidBy) { e.Payee = "0XABC" }, "confirmed"},
		"another payee":             {func(e *withdrawal.PaidBy) { e.Payee = "0xabd" }, "invalid"},
		"another asset":             {func(e *withdrawal.PaidBy) { e.AssetOnChain = asset }, "invalid"},
		"less":                      {func(e *withdrawal.PaidBy) { e.AmountRaw = "99999999999999999999" }, "invalid"},
		"more":                      {func(e *withdrawal.PaidBy) { e.AmountRaw = "100000000000000000001" }, "invalid"},
		"another reference":         {func(e *withdrawal.PaidBy) { e.Reference = "ref2" }, "invalid"},
		"no reference":              {func(e *withdrawal.PaidBy) { e.Reference = "" }, "invalid"},
		"reverted":                  {func(e *withdrawal.PaidBy) { e.Reverted = true }, "invalid"},
		"no hash":                   {func(e *withdrawal.PaidBy) { e.Tx = "" }, "invalid"},
		"negative gas":              {func(e *withdrawal.PaidBy) { e.GasUsed = "-1" }, "invalid"},
		"another request's":         {func(e *withdrawal.PaidBy) {}, "payment taken"},
	} {
		w := states(t)["dispatched"]
		e := paidBy(t0, withdrawal.Operator, "x")
		e.Reference = "ref"
		tt.change(&e)
		if tt.want == "payment taken" {
			w.Owner = owned(job2)
		}
		c, err := policy.Apply(w, e)
		if got := word(c, err); got != tt.want {
			t.Errorf("%s: %s (%v), expected %s", name, got, err, tt.want)
		}
		var taken *withdrawal.TakenError
		if tt.want == "payment taken" && (!errors.As(err, &taken) || taken.ID != job2) {
			t.Errorf("the owner is not named: %v", err)
		}
	}
}

// Beside something that can still be mined the payment waits, and joins the
// file when that is proven dead: it completes by its own receipt.
func TestPaidBesideALiveTransactionJoinsWhenThatIsDead(t *testing.T) {
	last := states(t)["confirming"]
	last.Job.RetryCount = last.Job.MaxRetries
	for name, w := range map[string]withdrawal.Withdrawal{"executions left": states(t)["confirming"], "none left": last} {
		w = expect(t, policy, w, paidBy(t0, withdrawal.Operator, "x"), "confirming, review")
		gone := dead(t0, "tx1", 3, 7)
		gone.By, gone.Other, gone.NotThisPayment = by(withdrawal.Operator, t0), "y", false
		expect(t, policy, w, gone, "invalid")
		gone.Other = "x" // which the record knows to be this payment
		w = expect(t, policy, w, gone, "confirming")
		if len(w.Txs) != 2 || w.Job.TxsDead != 1 || w.Job.TxHash != "x" || w.Strays[0].SettledAt.IsZero() {
			t.Errorf("%s: %+v", name, w.Job)
		}
		expect(t, policy, w, receipt(t0.Add(time.Second), "x", 2), "touch")
		w = expect(t, policy, w, receipt(t0, "x", 3), "confirmed")
		if err := withdrawal.Check(w); err != nil || w.Request.FinalTxHash != "x" {
			t.Error(err)
		}
	}
	// If what was live is mined after all, it was paid twice: a finding until it is settled.
	w := run(t, states(t)["confirming"], paidBy(t0, withdrawal.Operator, "x"), receipt(t0, "tx1", 3))
	if err := withdrawal.Check(w); !errors.Is(err, withdrawal.ErrPaidTwice) || errors.Is(err, statemachine.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	ack := withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "returned by the payee"}
	expect(t, policy, w, withdrawal.Acknowledged{By: ack.By}, "invalid")
	w = run(t, w, ack)
	if err := withdrawal.Check(w); err != nil {
		t.Error(err)
	}
	expect(t, policy, w, ack, "-")
}

// M4: a death certificate names a transaction, so it says what the other one is not.
// A file that workers have filled takes what pays or was sent all the same: else
// the request could be paid again, or never end.
func TestAFullFileTakesWhatPays(t *testing.T) {
	bump := func(w withdrawal.Withdrawal) withdrawal.Rebumped {
		return withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: fmt.Sprint("bump ", len(w.Txs)), Raw: []byte("b"), Nonce: 7, HasNonce: true}
	}
	w := states(t)["prepared"]
	for len(w.Txs) < withdrawal.MaxTxs {
		w = run(t, w, bump(w))
	}
	expect(t, policy, w, bump(w), "invalid")
	out := run(t, w, withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"})
	paid := func(role withdrawal.Role, hash string) withdrawal.PaidBy {
		p := paidBy(t0.Add(time.Second), role, hash)
		p.Nonce, p.HasNonce = 7, true
		return p
	}
	if end := expect(t, policy, out, paid(withdrawal.ConfirmationWorker, "x"), "confirmed"); end.Request.FinalTxHash != "x" {
		t.Errorf("completed by %s", end.Request.FinalTxHash)
	}
	// All of them are dead, and the next execution has nothing to prepare; what
	// was dispatched is found, and answers late.
	again := run(t, out, dead(t0, "tx1", 3, 7))
	at := again.Job.ScheduledAt
	again = run(t, again, withdrawal.Claimed{By: worker(at)})
	expect(t, policy, again, prepared(at, 2, "one more", 8), "invalid")
	again = run(t, again, withdrawal.Dispatched{By: worker(at), Fence: 2, Reference: "ref"})
	expect(t, policy, again, withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "sent"}, "confirming")
	review := run(t, again, withdrawal.Elapsed{By: by(withdrawal.System, again.Job.Lease.Until)})
	sent := notSent(review, again.Job.Lease.Until)
	sent.Sent, sent.Hash = true, "found"
	expect(t, policy, review, sent, "confirming")
	// That has a limit too.
	for len(out.Txs) < 2*withdrawal.MaxTxs {
		early := paid(withdrawal.Operator, fmt.Sprint("x ", len(out.Txs)))
		early.Block = withdrawal.Block{}
		out = run(t, out, early)
	}
	expect(t, policy, out, paid(withdrawal.Operator, "one too many"), "invalid")
}

func TestProvenDeadSaysThatTheOtherOnePaysSomethingElse(t *testing.T) {
	withInput := sentBy(t, "coin", "tx1")
	for _, role := range []withdrawal.Role{withdrawal.ConfirmationWorker, withdrawal.Operator} {
		d := dead(t0, "tx1", 3, 7)
		d.By, d.NotThisPayment = by(role, t0), false
		expect(t, policy, states(t)["confirming"], d, "invalid")
		d.Cause, d.Nonce, d.Input = withdrawal.InputSpent, 0, "coin"
		expect(t, noNonces(), withInput, d, "invalid")
		d.NotThisPayment = true
		expect(t, noNonces(), withInput, d, "pending")
		d.Cause, d.Other, d.NotThisPayment = withdrawal.WindowEnded, "", false
		expect(t, noNonces(), withInput, d, "pending")
	}
}

// M5: a spelling of a hash on file is never another transaction.
func TestASpellingIsNoOtherTransaction(t *testing.T) {
	w := run(t, states(t)["processing"], prepared(t0, 1, "0xabcdef", 7), withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "0xABCDEF"})
	if w.Job.TxHash != "0xabcdef" {
		t.Errorf("the hash is %q", w.Job.TxHash)
	}
	for _, spelling := range []string{"0xABCDEF", "ABCDEF", "abcdef", "0Xabcdef", "0xabcdef"} {
		d := dead(t0, "0xabcdef", 3, 7)
		d.Other = spelling
		expect(t, policy, w, d, "invalid")
		d.Tx, d.Other = spelling, "0x12"
		expect(t, policy, w, d, "pending")
		paid := expect(t, policy, w, receipt(t0, spelling, 3), "confirmed")
		if paid.Request.FinalTxHash != "0xabcdef" {
			t.Errorf("final hash %q", paid.Request.FinalTxHash)
		}
		expect(t, policy, paid, receipt(t0, spelling, 3), "-")
		expect(t, policy, w, withdrawal.Missing{By: checker(t0.Add(time.Second)), Tx: spelling}, "touch")
		e := paidBy(t0, withdrawal.ConfirmationWorker, spelling)
		e.Nonce, e.HasNonce = 7, true
		if w := expect(t, policy, w, e, "confirmed"); len(w.Txs) != 1 { // it is a receipt
			t.Errorf("%d transactions", len(w.Txs))
		}
	}
}

func TestCannotTellParks(t *testing.T) {
	w := states(t)["confirming"]
	e := withdrawal.CannotTell{By: checker(t0), Tx: "tx1", Other: "x", Reason: "no logs"}
	for name, tt := range map[string]struct {
		change func(*withdrawal.CannotTell)
		want   string
	}{
		"nobody can tell":     {func(e *withdrawal.CannotTell) {}, "confirming, review"},
		"the other is ours":   {func(e *withdrawal.CannotTell) { e.Other = "TX1"; e.Tx = "tx1"; e.Other = "tx1" }, "invalid"},
		"no other":            {func(e *withdrawal.CannotTell) { e.Other = "" }, "invalid"},
		"not on file":         {func(e *withdrawal.CannotTell) { e.Tx = "y" }, "invalid"},
		"by an operator":      {func(e *withdrawal.CannotTell) { e.By = by(withdrawal.Operator, t0) }, "forbidden"},
		"of another version":  {func(e *withdrawal.CannotTell) { e.Version = 1 }, "conflict"},
		"of the same version": {func(e *withdrawal.CannotTell) { e.Version = w.Job.Version }, "confirming, review"},
	} {
		e := e
		tt.change(&e)
		if got := word(policy.Apply(w, e)); got != tt.want {
			t.Errorf("%s: %s, expected %s", name, got, tt.want)
		}
	}
	w = run(t, w, e)
	expect(t, policy, w, e, "-")
	// The operator finds that it is the payment, or that it is not.
	op := by(withdrawal.Operator, t0)
	op.Version = w.Job.Version
	found := withdrawal.Resolved{By: op, Job: job1, Sent: true, Hash: "x", Nonce: 7, HasNonce: true, Reason: "the logs"}
	other := found
	other.Nonce = 8
	expect(t, policy, w, other, "invalid") // both could be mined
	found2 := expect(t, policy, w, found, "confirming")
	if len(found2.Txs) != 2 || found2.Job.TxHash != "x" {
		t.Errorf("%+v", found2.Job)
	}
	expect(t, policy, found2, found, "-")
	expect(t, policy, found2, receipt(t0, "x", 3), "confirmed")
	d := dead(t0, "tx1", 3, 7)
	expect(t, policy, w, d, "forbidden") // a mutant: in review a worker may not, though there is a nonce
	d.By = op
	expect(t, policy, w, d, "pending")
	w.Owner = owned(uuid.UUID{1})
	expect(t, policy, w, found, "payment taken")
}

// A payment that is on record beside something live is looked up once nothing of
// that can be mined any more, whatever shows it: also when the live one is cancelled
// or reverts.
func TestAPaymentBesideOneThatIsCancelledCompletesIt(t *testing.T) {
	w := run(t, states(t)["confirming"], paidBy(t0, withdrawal.Operator, "x"))
	if !w.Job.Review || w.Request.Mined != "x" {
		t.Fatalf("%+v", w.Job)
	}
	sent := by(withdrawal.Operator, t0)
	sent.Version = w.Job.Version
	w = run(t, w, withdrawal.Resolved{By: sent, Job: job1, Sent: true, Hash: "tx1", Reason: "it is still live"})
	reverted := receipt(t0, "tx1", 3)
	reverted.Reverted = true
	cancelled := run(t, w, withdrawal.Claimed{By: worker(t0), Fence: 2},
		withdrawal.Rebumped{By: worker(t0), Fence: 2, Hash: "c", Raw: []byte("c"), Nonce: 7, HasNonce: true, Cancel: true})
	for name, tt := range map[string]struct {
		w  withdrawal.Withdrawal
		ev withdrawal.Receipt
	}{
		"reverted":  {w, reverted},
		"cancelled": {cancelled, receipt(t0, "c", 3)},
	} {
		joined := run(t, tt.w, tt.ev)
		if j := &joined.Job; j.Status != withdrawal.JobConfirming || j.TxHash != "x" || len(joined.Live()) != 1 || j.HasNonce || j.GasUsed != "" {
			t.Errorf("%s: %+v", name, j)
		}
		expect(t, policy, joined, tt.ev, "-")
		paid := run(t, joined, receipt(t0, "x", 3))
		if paid.Request.Status != withdrawal.RequestCompleted || paid.Request.FinalTxHash != "x" {
			t.Errorf("%s: %+v", name, paid.Request)
		}
	}
	bare := run(t, states(t)["confirming"], reverted)
	if bare.Request.Status != withdrawal.RequestFailed {
		t.Errorf("nothing else is on record: %+v", bare.Request)
	}
}

// One transaction pays many by its outputs, whichever event says so.
func TestByWhichOutputATransactionOfManyPays(t *testing.T) {
	w := states(t)["review"]
	op := by(withdrawal.Operator, t0)
	op.Version = w.Job.Version
	found := withdrawal.Resolved{By: op, Job: job1, Sent: true, Hash: "y", ByOutput: true, Output: 2, Reason: "paid by hand"}
	imported := withdrawal.Imported{By: by(withdrawal.System, t0), Request: req, User: user, Asset: asset, Chain: chain, ToAddress: "0xabc", Amount: "1",
		Job: job1, AssetOnChain: token, Hash: "y", ByOutput: true, Output: 2, Wallets: wallets()}
	for name, w := range map[string]withdrawal.Withdrawal{"resolved": run(t, w, found), "imported": run(t, withdrawal.Withdrawal{}, imported)} {
		if tx := w.Txs[len(w.Txs)-1]; !tx.ByOutput || tx.Output != 2 {
			t.Errorf("%s: %+v", name, tx)
		}
	}
	if _, byOutput, output, ok := w.Names(found); !ok || !byOutput || output != 2 {
		t.Error("another request's whole transaction is asked for")
	}
	found.ByOutput, imported.ByOutput = false, false
	expect(t, policy, w, found, "invalid")
	expect(t, policy, withdrawal.Withdrawal{}, imported, "invalid")
}

// Whether PaidBy names the nonce at once, or is first said without it, decides nothing: with the nonce it and what is
// live can never both be mined, and it joins the file, at whatever depth.
func TestPaidByWithTheNonceAfterPaidByWithout(t *testing.T) {
	for _, depth := range []uint64{1, 3} {
		without := paidBy(t0, withdrawal.Operator, "x")
		without.Block = block(depth)
		with := without
		with.Nonce, with.HasNonce = 7, true
		other := with
		other.Nonce = 8
		ends := map[string]withdrawal.Withdrawal{}
		for name, said := range map[string][]withdrawal.Event{
			"with": {with}, "with, without": {with, without}, "without, with": {without, with}, "without twice, with": {without, without, with, with},
			"another nonce, with": {other, with},
		} {
			ends[name] = run(t, states(t)["confirming"], said...)
		}
		want := ends["with"]
		if status := want.Job.Status; (status == withdrawal.JobConfirmed) != (depth == 3) {
			t.Fatalf("at depth %d it is %v", depth, status)
		}
		for name, w := range ends {
			if w.Request.Status != want.Request.Status || w.Job.Status != want.Job.Status || w.Job.TxHash != "x" || w.Job.Review != want.Job.Review ||
				len(w.Live()) != len(want.Live()) {
				t.Errorf("%s, depth %d: %v, %v, %s, review %v, %d live", name, depth, w.Request.Status, w.Job.Status, w.Job.TxHash, w.Job.Review, len(w.Live()))
			}
			for _, s := range w.Strays {
				if s.SettledAt.IsZero() {
					t.Errorf("%s, depth %d: a stray is open: %+v", name, depth, s)
				}
			}
			if depth < 3 { // the block that has it goes deep
				w = run(t, w, receipt(t0, "x", 3))
			}
			if err := withdrawal.Check(w); err != nil || w.Request.Status != withdrawal.RequestCompleted {
				t.Errorf("%s, depth %d: %v, %v", name, depth, w.Request.Status, err)
			}
		}
		again := states(t)["confirming"]
		if w := run(t, again, without, without); !w.Job.Review || len(w.Strays) != 1 {
			t.Errorf("without its nonce: %+v, %d strays", w.Job, len(w.Strays))
		}
	}
}

package withdrawal_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// noNonces is a chain whose transactions are exclusive by an input.
func noNonces() withdrawal.Policy {
	p := newPolicy()
	p.Chain.Nonces = false
	return p
}

// sentBy is a confirming job on such a chain, with one transaction per hash.
func sentBy(t *testing.T, input string, hashes ...string) withdrawal.Withdrawal {
	t.Helper()
	s := states(t)["job pending"]
	w := runWith(t, noNonces(), s, withdrawal.Claimed{By: worker(t0), Fence: 1},
		withdrawal.Prepared{By: worker(t0), Fence: 1, Hash: hashes[0], Raw: []byte("a"), Input: input})
	for _, h := range hashes[1:] {
		w = runWith(t, noNonces(), w, withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: h, Raw: []byte("b"), Input: input})
	}
	return runWith(t, noNonces(), w, withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: hashes[len(hashes)-1]})
}

// A proof of death must prove something about every live transaction.
func TestRule6WhatAProofMustSay(t *testing.T) {
	withNonce, withInput, bare := states(t)["confirming"], sentBy(t, "coin", "tx1"), sentBy(t, "", "tx1")
	for _, tt := range []struct {
		name  string
		w     withdrawal.Withdrawal
		cause withdrawal.DeathCause
		role  withdrawal.Role
		other string
		nonce uint64
		input string
		want  string
	}{
		{"the nonce", withNonce, withdrawal.NonceUsed, withdrawal.ConfirmationWorker, "x", 7, "", "pending"},
		{"another nonce", withNonce, withdrawal.NonceUsed, withdrawal.ConfirmationWorker, "x", 8, "", "invalid"},
		{"an input of a transaction with a nonce", withNonce, withdrawal.InputSpent, withdrawal.ConfirmationWorker, "x", 7, "coin", "invalid"},
		{"an operator's input of a transaction with a nonce", withNonce, withdrawal.InputSpent, withdrawal.Operator, "x", 7, "", "invalid"},
		{"the window of a transaction with a nonce", withNonce, withdrawal.WindowEnded, withdrawal.Operator, "", 7, "", "invalid"},
		{"the input", withInput, withdrawal.InputSpent, withdrawal.ConfirmationWorker, "x", 0, "coin", "pending"},
		{"another input", withInput, withdrawal.InputSpent, withdrawal.ConfirmationWorker, "x", 0, "coin2", "invalid"},
		{"no input", withInput, withdrawal.InputSpent, withdrawal.ConfirmationWorker, "x", 0, "", "invalid"},
		{"a nonce of a transaction with an input", withInput, withdrawal.NonceUsed, withdrawal.ConfirmationWorker, "x", 0, "coin", "invalid"},
		{"the window", withInput, withdrawal.WindowEnded, withdrawal.ConfirmationWorker, "", 0, "", "pending"},
		{"the window of the first of two", sentBy(t, "coin", "tx1", "tx2"), withdrawal.WindowEnded, withdrawal.ConfirmationWorker, "", 0, "", "invalid"},
		{"the input of two", sentBy(t, "coin", "tx1", "tx2"), withdrawal.InputSpent, withdrawal.ConfirmationWorker, "x", 0, "coin", "pending"},
		{"a replacement as what was mined", sentBy(t, "coin", "tx1", "tx2"), withdrawal.InputSpent, withdrawal.ConfirmationWorker, "tx2", 0, "coin", "invalid"},
		{"neither, a worker's window", bare, withdrawal.WindowEnded, withdrawal.ConfirmationWorker, "", 0, "", "forbidden"},
		{"neither, a worker's nonce", bare, withdrawal.NonceUsed, withdrawal.ConfirmationWorker, "x", 0, "", "forbidden"},
		{"neither, an operator's window", bare, withdrawal.WindowEnded, withdrawal.Operator, "", 0, "", "pending"},
		{"neither, an operator's nonce", bare, withdrawal.NonceUsed, withdrawal.Operator, "x", 0, "", "pending"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, noNonces(), tt.w, withdrawal.ProvenDead{By: by(tt.role, t0), Block: block(3), Tx: "tx1", Cause: tt.cause,
				Other: tt.other, Nonce: tt.nonce, Input: tt.input, NotThisPayment: true}, tt.want)
		})
	}
	// Nor may what was mined instead be one that is dead already.
	w := runWith(t, noNonces(), withInput, withdrawal.ProvenDead{By: checker(t0), Block: block(3), Tx: "tx1", Cause: withdrawal.WindowEnded})
	at := w.Job.ScheduledAt
	w = runWith(t, noNonces(), w, withdrawal.Claimed{By: worker(at), Fence: 2},
		withdrawal.Prepared{By: worker(at), Fence: 2, Hash: "tx2", Raw: []byte("b"), Input: "coin"}, withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"})
	expect(t, noNonces(), w, withdrawal.ProvenDead{By: checker(at), Block: block(3), Tx: "tx2", Cause: withdrawal.InputSpent, Other: "tx1", Input: "coin"}, "invalid")
}

func TestRule5AReplacementIsExclusiveWithEveryLiveTransaction(t *testing.T) {
	onNonce := states(t)["prepared"]
	onInput := runWith(t, noNonces(), states(t)["job pending"], withdrawal.Claimed{By: worker(t0), Fence: 1},
		withdrawal.Prepared{By: worker(t0), Fence: 1, Hash: "tx1", Raw: []byte("a"), Input: "coin"})
	bare := runWith(t, noNonces(), states(t)["job pending"], withdrawal.Claimed{By: worker(t0), Fence: 1},
		withdrawal.Prepared{By: worker(t0), Fence: 1, Hash: "tx1", Raw: []byte("a")})
	for _, tt := range []struct {
		name     string
		w        withdrawal.Withdrawal
		hasNonce bool
		nonce    uint64
		input    string
		want     string
	}{
		{"the nonce", onNonce, true, 7, "", "processing"},
		{"the next nonce", onNonce, true, 8, "", "invalid"},
		{"both", onNonce, true, 7, "coin", "invalid"},
		{"an input for a nonce", onNonce, false, 0, "coin", "invalid"},
		{"the input", onInput, false, 0, "coin", "processing"},
		{"another input", onInput, false, 0, "coin2", "invalid"},
		{"a nonce for an input", onInput, true, 7, "", "invalid"},
		{"nothing", bare, false, 0, "", "invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, policy, tt.w, withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "tx2", Raw: []byte("b"), Nonce: tt.nonce, HasNonce: tt.hasNonce, Input: tt.input}, tt.want)
		})
	}
	both := prepared(t0, 1, "tx1", 7)
	both.Input = "coin"
	expect(t, policy, states(t)["processing"], both, "invalid")
	// Check compares in the same way.
	w := run(t, onNonce, withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "tx2", Raw: []byte("b"), Nonce: 7, HasNonce: true})
	for name, change := range map[string]func(tx *withdrawal.Tx){
		"another nonce": func(tx *withdrawal.Tx) { tx.Nonce = 8 },
		"no nonce":      func(tx *withdrawal.Tx) { tx.Nonce, tx.HasNonce = 0, false },
	} {
		broken := w
		broken.Txs = slices.Clone(w.Txs)
		for i := range broken.Txs {
			broken.Txs[i].Input = "coin"
		}
		change(&broken.Txs[1])
		if err := withdrawal.Check(broken); err == nil || !strings.Contains(err.Error(), "could both be mined") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The chain shows a payment after the job has ended: an incident, and no other
// job, whether it was requeued already or not. A mined cancellation paid nothing.
func TestRule8WhatWasMinedAfterTheEndIsNotPaidAgain(t *testing.T) {
	last := states(t)["confirming"]
	last.Job.RetryCount = last.Job.MaxRetries
	failed := run(t, last, dead(t0, "tx1", 3, 7))
	requeue := withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}
	requeued := run(t, failed, requeue)
	late := receipt(t0, "tx1", 3)
	if known := expect(t, policy, failed, late, "incident"); known.Request.Mined != "tx1" {
		t.Error("the record does not know that it was mined")
	} else {
		expect(t, policy, known, requeue, "illegal")
	}
	known := expect(t, policy, requeued, late, "incident")
	expect(t, policy, known, enqueued(t0, job2), "illegal")
	if step := policy.Next(known, t0); len(step.Actions) > 0 || step.Party != withdrawal.Operator {
		t.Errorf("it owes %+v, want an operator", step)
	}
	expect(t, policy, known, withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "paid"}, "cancelled")
	expect(t, policy, requeued, enqueued(t0, job2), "pending")
	failed.Txs[0].Cancel = true
	expect(t, policy, expect(t, policy, failed, late, "incident"), requeue, "approved")
	shallow := receipt(t0, "tx1", 2)
	expect(t, policy, expect(t, policy, failed, shallow, "-"), requeue, "approved")
}

// A transaction that was declared dead is mined: it is not paid again.
func TestRule8AWrongProofStopsThePayment(t *testing.T) {
	pending := run(t, states(t)["confirming"], dead(t0, "tx1", 3, 7))
	at := pending.Job.ScheduledAt
	claimed := run(t, pending, withdrawal.Claimed{By: worker(at), Fence: 2})
	dispatched := run(t, claimed, withdrawal.Dispatched{By: worker(at), Fence: 2, Reference: "ref2"})
	review := run(t, dispatched, withdrawal.AttemptFailed{By: worker(at), Fence: 2, Failure: withdrawal.Unclear, Error: "x"})
	prepared2 := run(t, claimed, prepared(at, 2, "tx2", 8))
	confirming := run(t, prepared2, withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"})
	twice := run(t, confirming, dead(at, "tx2", 3, 8))
	later := twice.Job.ScheduledAt
	twiceClaimed := run(t, twice, withdrawal.Claimed{By: worker(later), Fence: 3})
	for _, tt := range []struct {
		name string
		w    withdrawal.Withdrawal
		want string
		hash string // of the job, afterwards
	}{
		{"pending", pending, "confirming, review", "tx1"},
		{"claimed", claimed, "confirming, review", "tx1"},
		{"dispatched", dispatched, "confirming, review", "tx1"},
		{"in review", review, "confirming, review", "tx1"},
		{"another is prepared", prepared2, "confirming, review", "tx2"},
		{"another is out", confirming, "confirming, review", "tx2"},
		{"two were declared dead", twice, "failed", "tx1"},
		{"two were declared dead, claimed", twiceClaimed, "failed", "tx1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shallow := receipt(later, "tx1", 2)
			expect(t, policy, tt.w, shallow, "-")
			reverted := receipt(later, "tx1", 3)
			reverted.Reverted = true
			expect(t, policy, tt.w, reverted, "incident")
			c, err := policy.Apply(tt.w, receipt(later, "tx1", 3))
			if got := word(c, err); got != tt.want || len(c.Incidents) != 1 {
				t.Fatalf("%s, %d incidents, %v", got, len(c.Incidents), err)
			}
			sound(t, c)
			w := c.New
			if w.Job.TxHash != tt.hash || w.Job.Slot.Valid || w.Job.Lease.Holder != "" || w.Job.Rebroadcast || !strings.Contains(w.Job.ErrorMessage, "tx1") {
				t.Errorf("%+v", w.Job)
			}
			again, err := policy.Apply(w, receipt(later, "tx1", 3))
			if err != nil || len(again.Log) > 0 || !same(again.Old, again.New) {
				t.Errorf("again: %v, %v", again.Log, err)
			}
			expect(t, policy, w, withdrawal.Claimed{By: worker(later.Add(time.Hour))}, "illegal")
			op := by(withdrawal.Operator, later)
			op.Version = w.Job.Version
			if w.Job.Status == withdrawal.JobFailed {
				op.Version = 0
				expect(t, policy, w, withdrawal.Requeued{By: op, Job: job1, NotRefunded: true}, "illegal")
				return
			}
			expect(t, policy, w, withdrawal.Resolved{By: op, Job: job1, Reason: "no"}, "illegal")
			gone := dead(later, tt.hash, 3, w.Job.Nonce)
			gone.By = op
			if tt.hash == "tx1" { // the proof that was wrong, sent again
				expect(t, policy, w, gone, "illegal")
			} else {
				expect(t, policy, w, gone, "failed") // in no case pending
			}
			found := run(t, w, withdrawal.Resolved{By: op, Job: job1, Sent: true, Hash: tt.hash, Reason: "seen in two explorers"})
			expect(t, policy, found, receipt(later, tt.hash, 3), "confirmed")
			gone.By = by(withdrawal.Operator, later) // a reorg took it away again
			expect(t, policy, found, gone, "failed")
		})
	}
	// What is out beside it is proven dead in the end: by another transaction, or
	// by the one that was mined, where a signer used the same nonce for both. The
	// request was paid, so that it is never requeued.
	send := func(at time.Time, f int64, hash string) []withdrawal.Event {
		return []withdrawal.Event{withdrawal.Claimed{By: worker(at), Fence: f}, withdrawal.Dispatched{By: worker(at), Fence: f, Reference: hash},
			withdrawal.Broadcast{By: worker(at), Fence: f, Hash: hash}}
	}
	wrong := dead(t0, "tx1", 3, 0)
	wrong.By = by(withdrawal.Operator, t0)
	signer := run(t, run(t, states(t)["job pending"], send(t0, 1, "tx1")...), wrong)
	signer = run(t, signer, send(signer.Job.ScheduledAt, 2, "tx2")...)
	for name, beside := range map[string]withdrawal.Withdrawal{"other": confirming, "tx1": signer} {
		gone := dead(later, "tx2", 3, beside.Job.Nonce)
		gone.By, gone.Other = by(withdrawal.Operator, later), name
		if name == "tx1" {
			expect(t, policy, beside, gone, "invalid") // its receipt comes first
		}
		w := expect(t, policy, run(t, beside, receipt(later, "tx1", 3)), gone, "failed")
		if w.Job.TxHash != "tx1" {
			t.Errorf("the job has hash %q", w.Job.TxHash)
		}
		expect(t, policy, w, withdrawal.Requeued{By: by(withdrawal.Operator, later), Job: job1, NotRefunded: true}, "illegal")
	}
	gone := dead(later, "tx2", 3, 8)
	gone.By, gone.Other = by(withdrawal.Operator, later), "tx1" // of another nonce
	expect(t, policy, run(t, confirming, receipt(later, "tx1", 3)), gone, "invalid")
	// A mined cancellation paid nothing.
	w := run(t, states(t)["prepared"], withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "c", Raw: []byte("c"), Nonce: 7, HasNonce: true, Cancel: true},
		withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "c"}, dead(t0, "c", 3, 7))
	expect(t, policy, w, receipt(t0, "c", 3), "incident")
}

func TestImportNamesItsWallet(t *testing.T) {
	base := withdrawal.Imported{By: by(withdrawal.System, t0), Request: req, User: user, Asset: asset, Chain: chain, ToAddress: "0xabc",
		Amount: "100", Decimals: 18, CreatedAt: t0.Add(1500*time.Nanosecond - time.Second), Job: job1, AssetOnChain: token, Hash: "h", Wallets: wallets()}
	change := func(f func(*withdrawal.Imported)) withdrawal.Imported { e := base; f(&e); return e }
	second := withdrawal.HotWallet{ID: id(9), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	for _, tt := range []struct {
		name string
		ev   withdrawal.Imported
		want string
	}{
		{"a nonce and the wallet", change(func(e *withdrawal.Imported) { e.Nonce, e.HasNonce = 3, true }), "confirming"},
		{"a nonce and two wallets", change(func(e *withdrawal.Imported) { e.Nonce, e.HasNonce, e.Wallets = 3, true, append(wallets(), second) }), "invalid"},
		{"no nonce and two wallets", change(func(e *withdrawal.Imported) { e.Wallets = append(wallets(), second) }), "confirming"},
		{"the greatest nonce", change(func(e *withdrawal.Imported) { e.Nonce, e.HasNonce = withdrawal.MaxNonce, true }), "confirming"},
		{"a nonce beyond it", change(func(e *withdrawal.Imported) { e.Nonce, e.HasNonce = withdrawal.MaxNonce+1, true }), "invalid"},
		{"a nonce without the flag", change(func(e *withdrawal.Imported) { e.Nonce = 3 }), "invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := policy.Apply(withdrawal.Withdrawal{}, tt.ev)
			if got := word(c, err); got != tt.want {
				t.Fatalf("%s (%v), expected %s", got, err, tt.want)
			}
			if err == nil && (!c.New.Wallet.LastUsedAt.IsZero() || !c.Reservations[0].UsedAt.IsZero() || c.New.Request.CreatedAt.Nanosecond() != 1000) {
				t.Errorf("%+v, %+v, created %v", c.New.Wallet, c.Reservations, c.New.Request.CreatedAt)
			}
		})
	}
	stored := run(t, withdrawal.Withdrawal{}, base)
	for name, tt := range map[string]struct {
		f    func(*withdrawal.Imported)
		want [2]string // with a job, without
	}{
		"the same": {func(e *withdrawal.Imported) {}, [2]string{"-", "confirming"}},
		"nothing else": {func(e *withdrawal.Imported) {
			e.User, e.Asset, e.Chain, e.ToAddress, e.Amount = uuid.Nil, uuid.Nil, uuid.Nil, "", ""
		}, [2]string{"-", "confirming"}},
		"another amount":  {func(e *withdrawal.Imported) { e.Amount = "101" }, [2]string{"conflict", "conflict"}},
		"other decimals":  {func(e *withdrawal.Imported) { e.Decimals = 6 }, [2]string{"conflict", "conflict"}},
		"decimals alone":  {func(e *withdrawal.Imported) { e.Amount, e.Decimals = "", 6 }, [2]string{"conflict", "conflict"}},
		"another memo":    {func(e *withdrawal.Imported) { e.Memo = "other" }, [2]string{"conflict", "conflict"}},
		"another address": {func(e *withdrawal.Imported) { e.ToAddress = "0xother" }, [2]string{"conflict", "conflict"}},
		"another asset":   {func(e *withdrawal.Imported) { e.Asset = id(99) }, [2]string{"conflict", "conflict"}},
		"another user":    {func(e *withdrawal.Imported) { e.User = id(99) }, [2]string{"conflict", "conflict"}},
		"another chain":   {func(e *withdrawal.Imported) { e.Chain = id(99) }, [2]string{"conflict", "conflict"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, policy, stored, change(tt.f), tt.want[0])
			expect(t, policy, states(t)["pending"], change(tt.f), tt.want[1])
		})
	}
}

func TestResolvedAgainWithAnotherAnswer(t *testing.T) {
	s := states(t)["review"]
	op := by(withdrawal.Operator, t0)
	op.Version = s.Job.Version
	no := withdrawal.Resolved{By: op, Job: job1, Reason: "proof"}
	yes := withdrawal.Resolved{By: op, Job: job1, Sent: true, Hash: "tx1", Reason: "seen"}
	other := yes
	other.Hash = "tx2"
	sent, unsent := run(t, s, yes), run(t, s, no)
	for i, tt := range []struct {
		w    withdrawal.Withdrawal
		ev   withdrawal.Event
		want string
	}{
		{sent, yes, "-"}, {sent, no, "conflict"}, {sent, other, "conflict"},
		{unsent, no, "-"}, {unsent, yes, "conflict"},
		{run(t, sent, receipt(t0, "tx1", 3)), no, "conflict"},
		{run(t, sent, receipt(t0, "tx1", 3)), yes, "-"},
	} {
		t.Logf("case %d", i)
		expect(t, policy, tt.w, tt.ev, tt.want)
	}
}

// What an operator gives as proof is in the log, also where it ends the job.
func TestTheProofIsInTheLogAtTheLimit(t *testing.T) {
	for _, limit := range []int32{1, 2} {
		e := enqueued(t0, job1)
		e.MaxRetries = limit
		w := run(t, states(t)["approved"], e, withdrawal.Claimed{By: worker(t0), Fence: 1}, withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "r"},
			withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Unclear, Error: "time-out"})
		op := by(withdrawal.Operator, t0)
		op.Version = w.Job.Version
		c, err := policy.Apply(w, withdrawal.Resolved{By: op, Job: job1, Reason: "signer log 4711"})
		if err != nil || c.Log[0].Reason != "signer log 4711" {
			t.Errorf("limit %d: %+v, %v", limit, c.Log, err)
		}
	}
	w := states(t)["confirming"]
	w.Job.RetryCount = w.Job.MaxRetries
	if c, err := policy.Apply(w, dead(t0, "tx1", 3, 7)); err != nil || c.Log[0].Reason != "nonce used by other" {
		t.Errorf("%+v, %v", c.Log, err)
	}
}

func TestRule9ALeaseInConfirmingIsOfUse(t *testing.T) {
	for name, tt := range map[string]struct {
		answer withdrawal.Broadcast
		want   string
	}{
		"no bytes":            {withdrawal.Broadcast{Hash: "tx1"}, "illegal"},
		"bytes to send again": {withdrawal.Broadcast{Hash: "tx1", Raw: []byte("x")}, "touch"},
		"a nonce to replace":  {withdrawal.Broadcast{Hash: "tx1", Nonce: 7, HasNonce: true}, "touch"},
		"an input to replace": {withdrawal.Broadcast{Hash: "tx1", Input: "coin"}, "touch"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.answer.By, tt.answer.Fence = worker(t0), 1
			expect(t, policy, run(t, states(t)["dispatched"], tt.answer), withdrawal.Claimed{By: worker(t0), Fence: 2}, tt.want)
		})
	}
}

func TestRule8AnAnswerFromBeforeTheEnd(t *testing.T) {
	w := states(t)["confirmed"]
	for name, tt := range map[string]struct {
		at      time.Time
		version int64
		want    string
	}{
		"before the end":     {t0.Add(-time.Microsecond), 0, "-"},
		"at the end":         {t0, 0, "incident"},
		"of a version older": {t0, w.Job.Version - 1, "-"},
		"of the version":     {t0, w.Job.Version, "incident"},
	} {
		t.Run(name, func(t *testing.T) {
			m := withdrawal.Missing{By: checker(tt.at), Tx: "tx1"}
			m.Version = tt.version
			expect(t, policy, w, m, tt.want)
		})
	}
}

func TestRule10TheRequesterInAnyForm(t *testing.T) {
	plain := user.String()
	bare := strings.ReplaceAll(plain, "-", "")
	for _, actor := range []string{plain, strings.ToUpper(plain), "urn:uuid:" + plain, "{" + plain + "}", bare, " " + plain + " ", "\t" + bare, " system"} {
		e := withdrawal.Approved{By: by(withdrawal.Approver, t0)}
		e.Actor = actor
		expect(t, policy, states(t)["pending"], e, "forbidden")
	}
	// One approver in two forms is one approver.
	p := newPolicy()
	one := withdrawal.Approved{By: by(withdrawal.Approver, t0)}
	one.Actor = id(77).String()
	w := states(t)["pending"]
	w.Request.ApprovalsNeeded = 2
	w = expect(t, p, w, one, "pending")
	one.Actor = "{" + one.Actor + "}"
	expect(t, p, w, one, "-")
	one.Actor = id(78).String()
	expect(t, p, w, one, "approved")
}

func TestALateReportOfARebroadcast(t *testing.T) {
	leased := states(t)["leased confirming"]
	late := withdrawal.Rebroadcast{By: worker(t0), Fence: 2, Hash: "tx1", Done: true}
	old := late
	old.Fence = 1
	reverted := receipt(t0, "tx1", 3)
	reverted.Reverted = true
	limit := leased
	limit.Job.RetryCount = limit.Job.MaxRetries
	for name, w := range map[string]withdrawal.Withdrawal{
		"confirmed":             run(t, leased, receipt(t0, "tx1", 3)),
		"reverted":              run(t, leased, reverted),
		"proven dead":           run(t, leased, dead(t0, "tx1", 3, 7)),
		"proven dead, the last": run(t, limit, dead(t0, "tx1", 3, 7)),
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, policy, w, late, "-")
			expect(t, policy, w, old, "fenced")
		})
	}
}

// Two were declared dead and a third was dispatched when the first turns out to
// be mined: however the operator ends it, the request is not paid again.
func TestRule8AKnownPaymentOutlivesTheOperatorsAnswer(t *testing.T) {
	pending := run(t, states(t)["confirming"], dead(t0, "tx1", 3, 7))
	at := pending.Job.ScheduledAt
	second := run(t, pending, withdrawal.Claimed{By: worker(at), Fence: 2}, prepared(at, 2, "tx2", 8),
		withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"}, dead(at, "tx2", 3, 8))
	at = second.Job.ScheduledAt
	third := run(t, second, withdrawal.Claimed{By: worker(at), Fence: 3}, withdrawal.Dispatched{By: worker(at), Fence: 3, Reference: "ref3"})
	unclear := withdrawal.AttemptFailed{By: worker(at), Fence: 3, Failure: withdrawal.Unclear, Error: "x"}
	last := third
	last.Job.RetryCount = last.Job.MaxRetries
	for name, w := range map[string]withdrawal.Withdrawal{"processing": third, "in review": run(t, third, unclear), "the last execution, in review": run(t, last, unclear)} {
		w = run(t, w, receipt(at, "tx1", 3))
		op := by(withdrawal.Operator, at)
		op.Version = w.Job.Version
		w = expect(t, policy, w, withdrawal.Resolved{By: op, Job: job1, Reason: "the signer never got it"}, "failed")
		if w.Job.TxHash != "tx1" {
			t.Errorf("%s: the job has hash %q", name, w.Job.TxHash)
		}
		w.Request.Mined, w.Request.Disproved = "", "" // the hash alone is enough
		expect(t, policy, w, withdrawal.Requeued{By: by(withdrawal.Operator, at), Job: job1, NotRefunded: true}, "illegal")
	}
}

// What was told as used at depth, and pays the payee, is not proven dead, in the file or as a stray: unless an
// operator says why it pays nothing. The last word counts.
func TestWhatWasToldAsUsedIsNotProvenDead(t *testing.T) {
	told := func(hash, payee string) []withdrawal.Statement {
		return []withdrawal.Statement{saidUsed(7, hash), {Wallet: hot, Says: withdrawal.SaidPays, Hash: hash, Text: payee}}
	}
	confirming := states(t)["confirming"]
	recovering := states(t)["processing"]
	recovering.Recovering = true
	sent := run(t, recovering, withdrawal.Broadcast{By: worker(t0), Fence: 2, Hash: "tx1"})
	payee := confirming.Request.ToAddress
	gone := dead(t0, "tx1", 3, 7)
	gone.By = by(withdrawal.Operator, t0)
	nothing := gone
	nothing.Other, nothing.Reason = "tx1", "it paid another amount"
	for _, tt := range []struct {
		what string
		w    withdrawal.Withdrawal
		said []withdrawal.Statement
		ev   withdrawal.ProvenDead
		want string // empty: it is dead
	}{
		{"on file, nothing was told", confirming, nil, gone, ""},
		{"on file, told as used", confirming, told("tx1", payee), gone, "invalid"},
		{"on file, told to pay another", confirming, told("tx1", "another"), gone, ""},
		{"on file, corrected", confirming, append(told("tx1", payee), saidUsed(7, "tx1")), gone, ""},
		{"on file, the death was told", confirming, told("other", payee), gone, ""},
		{"a stray, nothing was told", sent, nil, gone, ""},
		{"a stray, told as used", sent, told("tx1", payee), gone, "invalid"},
		{"a stray, looked at", sent, told("tx1", payee), nothing, ""},
	} {
		tt.w.Said = tt.said
		_, err := policy.Apply(tt.w, tt.ev)
		if refused := tt.want != ""; refused != errors.Is(err, statemachine.ErrInvalid) || !refused && err != nil {
			t.Errorf("%s: %v", tt.what, err)
		}
	}
}

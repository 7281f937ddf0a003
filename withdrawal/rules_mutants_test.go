package withdrawal_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// Changes of the rules that no test noticed once.

// Evidence without a block hash is no evidence, even where both are empty.
func TestEvidenceNeedsABlockHash(t *testing.T) {
	s := states(t)["confirming"]
	at := t0.Add(time.Second)
	mined, gone := receipt(at, "tx1", 3), dead(at, "tx1", 3, 7)
	paid := paidBy(at, withdrawal.ConfirmationWorker, "x")
	paid.Nonce, paid.HasNonce = 7, true
	for _, b := range []*withdrawal.Block{&mined.Block, &gone.Block, &paid.Block} {
		b.Hash, b.Canonical = "", ""
	}
	expect(t, policy, s, mined, "touch")
	expect(t, policy, s, gone, "touch")
	expect(t, policy, s, paid, "touch")
}

// A nonce is of one wallet: the same one of another is another.
func TestANonceOfAnotherWalletExcludesNothing(t *testing.T) {
	w := run(t, states(t)["prepared"], withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "tx2", Raw: []byte("b"), Nonce: 7, HasNonce: true})
	w.Txs[0].Wallet = id(99)
	if err := withdrawal.Check(w); err == nil {
		t.Error("two wallets with one nonce are taken for exclusive")
	}
	bump := withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "tx3", Raw: []byte("c"), Nonce: 7, HasNonce: true}
	expect(t, policy, w, bump, "invalid")
	paid := paidBy(t0, withdrawal.ConfirmationWorker, "x")
	paid.Nonce, paid.HasNonce = 7, true
	expect(t, policy, w, paid, "forbidden")
}

// What is dead is not sent again.
func TestADeadTransactionIsNotSentAgain(t *testing.T) {
	w := run(t, states(t)["confirming"], dead(t0, "tx1", 3, 7))
	at := w.Job.ScheduledAt
	w = run(t, w, withdrawal.Claimed{By: worker(at), Fence: 2}, prepared(at, 2, "tx2", 8), withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"})
	w = run(t, w, withdrawal.Missing{By: checker(w.Job.NextCheckAt), Tx: "tx2"})
	at = w.Job.NextCheckAt
	w = run(t, w, withdrawal.Claimed{By: worker(at), Fence: 3})
	expect(t, policy, w, withdrawal.Rebroadcast{By: worker(at), Fence: 3, Hash: "tx1", Done: true}, "invalid")
	expect(t, policy, w, withdrawal.Rebroadcast{By: worker(at), Fence: 3, Hash: "tx2", Done: true}, "touch")
}

// A report is the same one only with the outcome that closed the attempt.
func TestAnAttemptIsClosedWithItsOutcome(t *testing.T) {
	failed := withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Retryable, Error: "x"}
	snoozed := withdrawal.GivenBack{By: worker(t0), Fence: 1, Reason: "x"}
	w := run(t, states(t)["processing"], failed)
	expect(t, policy, w, failed, "-")
	expect(t, policy, w, snoozed, "fenced")
	if w.Attempt.Outcome != statemachine.Failed {
		t.Errorf("%+v", w.Attempt)
	}
	w = run(t, states(t)["prepared"], withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"})
	done := failed
	done.Error = ""
	expect(t, policy, w, done, "fenced") // it was done
}

// The id of a failed job is not used again.
func TestAFailedJobsIDIsNotUsedAgain(t *testing.T) {
	expect(t, policy, states(t)["requeued"], enqueued(t0, job1), "invalid")
	expect(t, policy, states(t)["requeued"], enqueued(t0, job2), "pending")
}

// A snooze lasts up to 30 days, to the microsecond.
func TestASnoozeLastsThirtyDays(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for d, want := range map[time.Duration]string{month: "pending", month + time.Nanosecond: "invalid", month - time.Microsecond: "pending", -1: "invalid"} {
		w := expect(t, policy, states(t)["processing"], withdrawal.GivenBack{By: worker(t0), Fence: 1, For: d}, want)
		if want == "pending" && !w.Job.ScheduledAt.Equal(t0.Add(d)) {
			t.Errorf("%v: scheduled at %v", d, w.Job.ScheduledAt)
		}
	}
	// S16: whole microseconds, so that what is named as due can be claimed then.
	w := run(t, states(t)["processing"], withdrawal.GivenBack{By: worker(t0), Fence: 1, For: time.Second + 999*time.Nanosecond})
	if !w.Job.ScheduledAt.Equal(t0.Add(time.Second)) {
		t.Errorf("scheduled at %v", w.Job.ScheduledAt)
	}
	p := policy
	p.Backoff.JitterPercent = 33
	for k := byte(1); k < 50; k++ {
		a := states(t)["processing"]
		a.Job.ID, a.Attempt.Job = id(k), id(k)
		for i := range a.Txs {
			a.Txs[i].Job = id(k)
		}
		c, err := p.Apply(a, failedAttempt(t0, 1, withdrawal.Retryable))
		if err != nil || c.New.Job.ScheduledAt.Nanosecond()%1000 != 0 {
			t.Fatalf("scheduled at %v, %v", c.New.Job.ScheduledAt, err)
		}
	}
	p.CheckEvery = time.Second + 1
	if err := p.Validate(); err == nil {
		t.Error("a duration finer than a microsecond is accepted")
	}
}

// The age of a payment is that of what was sent first, whoever pays it.
func TestAPaymentUnderAnotherHashKeepsItsAge(t *testing.T) {
	p := paidBy(t0.Add(time.Minute), withdrawal.ConfirmationWorker, "x")
	p.Nonce, p.HasNonce, p.Block = 7, true, block(2)
	if w := expect(t, policy, states(t)["confirming"], p, "confirming"); !w.Job.BroadcastAt.Equal(t0) {
		t.Errorf("broadcast at %v", w.Job.BroadcastAt)
	}
}

// A stray that joined the file and died there does not join again.
func TestAStrayJoinsOnce(t *testing.T) {
	p := paidBy(t0, withdrawal.Operator, "x")
	p.Block = block(2)
	gone := dead(t0, "tx1", 3, 7)
	gone.By = by(withdrawal.Operator, t0)
	w := run(t, states(t)["confirming"], p, gone) // nothing else is live
	if w.Job.TxHash != "x" || w.Strays[0].SettledAt.IsZero() {
		t.Fatalf("%+v", w.Job)
	}
	gone.Tx = "x"
	w = expect(t, policy, w, gone, "pending")
	if len(w.Txs) != 2 || w.Job.Live() {
		t.Errorf("on file are %+v", w.Txs)
	}
	expect(t, policy, w, withdrawal.Claimed{By: worker(w.Job.ScheduledAt)}, "illegal") // it may have been paid
}

// Doubt about what is dead parks nothing.
func TestCannotTellOfADeadTransaction(t *testing.T) {
	w := run(t, states(t)["confirming"], dead(t0, "tx1", 3, 7))
	at := w.Job.ScheduledAt
	w = run(t, w, withdrawal.Claimed{By: worker(at)}, prepared(at, 2, "tx2", 8), withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"})
	expect(t, policy, w, withdrawal.CannotTell{By: checker(at), Tx: "tx1", Other: "x", Reason: "?"}, "-")
	expect(t, policy, w, withdrawal.CannotTell{By: checker(at), Tx: "tx2", Other: "x", Reason: "?"}, "confirming, review")
}

// The nonce that an earlier job's signer tells is of that job's wallet: it
// excludes nothing of this one's.
func TestALateAnswerOfAnEarlierJobHasNoNonce(t *testing.T) {
	e := enqueued(t0, job1)
	e.MaxRetries = 1
	w := run(t, states(t)["approved"], e, withdrawal.Claimed{By: worker(t0)}, withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "ref"},
		withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Unclear, Error: "time-out"})
	w = run(t, w, notSent(w, t0), withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, Reason: "again", NotRefunded: true},
		enqueued(t0, job2), withdrawal.Claimed{By: worker(t0)})
	w = run(t, w, withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "late", Raw: []byte("r"), Nonce: 7, HasNonce: true})
	if tx := w.Txs[0]; tx.HasNonce || w.Job.HasNonce || w.Job.Status != withdrawal.JobConfirming {
		t.Errorf("%+v", tx)
	}
	w = run(t, w, withdrawal.Claimed{By: worker(t0)})
	expect(t, policy, w, withdrawal.Rebumped{By: worker(t0), Fence: w.Job.Lease.Fence, Hash: "bump", Raw: []byte("b"), Nonce: 7, HasNonce: true}, "invalid")
}

// The latest fence that a hold ended is remembered. What comes under an older
// one is refused and changes nothing, whatever it is: nothing of it was out.
func TestReportsUnderFencesThatHoldsEnded(t *testing.T) {
	op := by(withdrawal.Operator, t0)
	w := run(t, states(t)["processing"], withdrawal.Held{By: op}, withdrawal.Released{By: op}, withdrawal.Claimed{By: worker(t0)},
		withdrawal.Held{By: op}, withdrawal.Released{By: op}, withdrawal.Claimed{By: worker(t0)})
	if w.Job.Lease.Fence != 3 || w.Job.RetryCount != 1 {
		t.Fatalf("%+v", w.Job)
	}
	for fence, want := range map[int64]string{1: "fenced", 2: "-"} {
		expect(t, policy, w, failedAttempt(t0, fence, withdrawal.Retryable), want)
		expect(t, policy, w, withdrawal.GivenBack{By: worker(t0), Fence: fence}, want)
		for _, ev := range []withdrawal.Event{prepared(t0, fence, "x", 7), withdrawal.Dispatched{By: worker(t0), Fence: fence, Reference: "r"},
			withdrawal.Broadcast{By: worker(t0), Fence: fence, Hash: "x"}, withdrawal.Rebroadcast{By: worker(t0), Fence: fence, Hash: "x"}} {
			expect(t, policy, w, ev, "fenced")
		}
	}
}

// What is released is offered at once, whatever put it off before.
func TestReleaseOffersAtOnce(t *testing.T) {
	op := by(withdrawal.Operator, t0)
	w := run(t, states(t)["job pending"], withdrawal.PutOff{By: by(withdrawal.System, t0)}, withdrawal.Held{By: op}, withdrawal.Released{By: op})
	if at := w.Job.DueAt(); at.After(t0) {
		t.Errorf("due at %v", at)
	}
}

// What is parked is not sent again, whatever a look-up had asked for.
func TestWhatIsParkedIsNotSentAgain(t *testing.T) {
	at := t0.Add(time.Second)
	w := run(t, states(t)["confirming"], withdrawal.Missing{By: checker(at), Tx: "tx1"})
	if !w.Job.Rebroadcast {
		t.Fatal("it is owed another broadcast")
	}
	w = run(t, w, withdrawal.CannotTell{By: checker(at), Tx: "tx1", Other: "x", Reason: "?"})
	if w.Job.Rebroadcast {
		t.Errorf("%+v", w.Job)
	}
}

// What was sent ends a row of deferrals; a hold, a release and a flag leave the
// time alone from which the wait for a job is measured.
func TestWhatMeasuresAWait(t *testing.T) {
	p := policy
	p.HoldInsufficient = true
	e := failedAttempt(t0, 1, withdrawal.InsufficientBalance)
	w := runWith(t, p, states(t)["processing"], e)
	at := w.Job.ScheduledAt
	w = runWith(t, p, w, withdrawal.Claimed{By: worker(at)}, prepared(at, 2, "tx1", 7), withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx1"})
	if w.Job.Deferrals != 0 {
		t.Errorf("%d deferrals in a row", w.Job.Deferrals)
	}
	op := by(withdrawal.Operator, t0.Add(time.Hour))
	w = run(t, states(t)["approved"], withdrawal.Held{By: op}, withdrawal.Released{By: op})
	paid := paidBy(op.At, withdrawal.Operator, "x")
	if w = run(t, w, paid); !w.Request.UpdatedAt.Equal(t0) || w.Request.Mined == "" {
		t.Errorf("updated at %v", w.Request.UpdatedAt)
	}
}

// What comes from outside passes the law where it is made too.
func TestBoundsOfWhatOperatorsTell(t *testing.T) {
	f := withdrawal.Filler{Wallet: hot, Chain: chain, Hash: "h", Actor: "olga", CreatedAt: t0}
	if _, err := withdrawal.NewFiller(f); err != nil {
		t.Error(err)
	}
	f.CreatedAt = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := withdrawal.NewFiller(f); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a filler of the year 20000: %v", err)
	}
	for name, change := range map[string]func(*withdrawal.HotWallet){ // S15, U3
		"letters":           func(h *withdrawal.HotWallet) { h.BalanceReserved = "abc" },
		"below 0":           func(h *withdrawal.HotWallet) { h.BalanceReserved = "-5" },
		"an exponent":       func(h *withdrawal.HotWallet) { h.BalanceReserved = "1e5" },
		"a NUL":             func(h *withdrawal.HotWallet) { h.Role = "a\x00b" },
		"no UTF-8":          func(h *withdrawal.HotWallet) { h.Status = "\xff" },
		"2 MB":              func(h *withdrawal.HotWallet) { h.Role = strings.Repeat("r", 2<<20) },
		"the year 20000":    func(h *withdrawal.HotWallet) { h.LastUsedAt = f.CreatedAt },
		"the year 5 before": func(h *withdrawal.HotWallet) { h.LastUsedAt = time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		h := wallets()[0]
		if _, err := withdrawal.NewHotWallet(h); err != nil {
			t.Fatal(err)
		}
		change(&h)
		if _, err := withdrawal.NewHotWallet(h); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("a wallet with %s: %v", name, err)
		}
	}
	foreign := withdrawal.Imported{By: by(withdrawal.System, t0), Request: req, User: user, Asset: asset, Chain: chain, ToAddress: "0xabc", Amount: "1", Decimals: 18,
		Job: job1, AssetOnChain: token, Hash: "old", Wallets: []withdrawal.HotWallet{{ID: hot, Chain: id(99), Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}}}
	if _, err := policy.Apply(withdrawal.Withdrawal{}, foreign); !errors.Is(err, withdrawal.ErrNoHotWallet) {
		t.Errorf("an import by a wallet of another chain: %v", err)
	}
	p := policy
	p.HoldInsufficient, p.HoldFor = true, time.Second+1
	if err := p.Validate(); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("HoldFor finer than a microsecond: %v", err)
	}
	p.HoldFor, p.HoldCap = time.Second, time.Hour+1
	if err := p.Validate(); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("HoldCap finer than a microsecond: %v", err)
	}
	var m withdrawal.Mean // S18
	for range 3 {
		m.Add(time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	if got := m.Value(); got <= 0 || got < math.MaxInt64-time.Microsecond {
		t.Errorf("the mean is %v", got)
	}
}

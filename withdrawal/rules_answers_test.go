package withdrawal_test

import (
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// A payment that joined the file and was proven dead was said to be mined: it is never
// forgotten, and a signer's answer beside it is an operator's.
func TestAPaymentThatJoinedAndWasProvenDeadStillStops(t *testing.T) {
	beside := paidBy(t0, withdrawal.Operator, "x")
	beside.Nonce, beside.HasNonce = 9, true
	w := run(t, states(t)["sent unfiled"], beside) // beside what is live: a stray
	settled := dead(t0, "tx0", 3, 0)
	settled.By = by(withdrawal.Operator, t0)
	first, joined := dead(t0, "tx1", 3, 7), dead(t0, "x", 3, 9)
	first.By, joined.By = settled.By, settled.By
	w = run(t, w, settled, first, joined)
	if w.Request.Mined != "x" || w.Request.StraysSent != 0 || w.Job.Status != withdrawal.JobPending || w.Job.Live() {
		t.Fatalf("%+v, %+v", w.Request, w.Job)
	}
	c, err := policy.Apply(w, late(w, "tx9"))
	if err != nil || !c.New.Job.Review || len(c.Incidents) != 1 {
		t.Errorf("%v: %+v", err, c.New.Job)
	}
	// The proof was wrong: that is a version of the request, though the hash was told.
	c, err = policy.Apply(w, receipt(t0, "x", 3))
	if err != nil || c.New.Request.Disproved != "x" || c.New.Request.Version != w.Request.Version+1 || c.New.Request.Told != w.Request.Told {
		t.Errorf("%v: %+v", err, c.New.Request)
	}
}

// Each line says what it is about, and only news after the refund says so.
func TestTheLinesOfARefundedRequest(t *testing.T) {
	w := run(t, unpaid(t)["not sent"], refunded(t0, withdrawal.Operator))
	gone := dead(t0, "h", 3, 0)
	gone.By = by(withdrawal.Operator, t0)
	for _, tt := range []struct {
		ev     withdrawal.Event
		reason string
	}{
		{late(w, "h"), "after the refund refund-1: sent: h"},
		{receipt(t0, "aa", 3), "after the refund refund-1: aa"},
		{acknowledged(t0), "acknowledged: settled"},
		{gone, "settled: h"},
		{receipt(t0, "bb", 3), "after the refund refund-1: bb"},
	} {
		c, err := policy.Apply(w, tt.ev)
		if err != nil || len(c.Log) != 1 || c.Log[0].Reason != tt.reason {
			t.Errorf("%T: %v, %+v, expected %q", tt.ev, err, c.Log, tt.reason)
		}
		w = c.New
	}
}

// An incident names what is on file as the file does, anything else in one form.
func TestTheHashOfAnIncident(t *testing.T) {
	w := run(t, states(t)["processing"], prepared(t0, 1, "0xAB", 7), withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "0xAB"})
	w.Job.RetryCount = w.Job.MaxRetries
	w = run(t, w, dead(t0, "0xAB", 3, 7))
	for told, want := range map[string]string{"ab": "0xAB", "0xCD": "cd"} {
		if c, err := policy.Apply(w, receipt(t0, told, 3)); err != nil || c.Incidents[0].Hash != want {
			t.Errorf("%s: %v, %+v", told, err, c.Incidents)
		}
	}
	longest := receipt(t0, "x", 3)
	longest.Block.Hash = strings.Repeat("b", withdrawal.MaxHash)
	longest.Canonical = longest.Block.Hash
	if c, err := policy.Apply(w, longest); err != nil || len(c.Incidents) != 1 {
		t.Errorf("a block hash of 100 bytes: %v", err)
	}
}

// The nonce of a stray is one of its wallet, if it has one and the wallet is loaded.
func TestTheNonceOfAStray(t *testing.T) {
	w := unpaid(t)["cancelled, not sent"]
	for _, tt := range []struct {
		name     string
		nonce    uint64
		has      bool
		loaded   bool
		expected uint64
	}{{"a nonce", 5, true, true, 6}, {"none", 0, false, true, 0}, {"the wallet is not loaded", 5, true, false, 0}} {
		answer, w := late(w, "h"), w
		answer.Nonce, answer.HasNonce = tt.nonce, tt.has
		w.Wallet = withdrawal.HotWallet{}
		if tt.loaded {
			w.Wallet = wallets()[0]
		}
		if c, err := policy.Apply(w, answer); err != nil || c.New.Wallet.NextNonce != tt.expected {
			t.Errorf("%s: %v, the next is %d", tt.name, err, c.New.Wallet.NextNonce)
		}
	}
}

// A stray is settled once: what was proven dead and is put on file later keeps its end.
func TestAStrayIsSettledOnce(t *testing.T) {
	s := states(t)
	w := s["sent unfiled"]
	gone := dead(t0, "tx0", 3, 0)
	gone.By = by(withdrawal.Operator, t0)
	w = run(t, w, gone)
	first := dead(t0.Add(1), "tx1", 3, 7)
	first.By = gone.By
	w = run(t, w, first)
	end := w.Strays[0].SettledAt
	c, err := policy.Apply(w, paidBy(t0.Add(1000), withdrawal.Operator, "tx0"))
	if err != nil || c.New.Request.StraysSent != 0 || len(c.Strays) != 0 || !c.New.Strays[0].SettledAt.Equal(end) || len(c.Txs) != 1 {
		t.Fatalf("%v: %+v, %+v", err, c.New.Request, c.Strays)
	}
	sound(t, c)

	// In one step: a stray that joins the file at once is one row, that of before another.
	w = s["sent unfiled"]
	foreign := paidBy(t0, withdrawal.Operator, "tx8")
	foreign.Nonce, foreign.HasNonce = 9, true
	w = run(t, w, foreign)
	answer := late(w, "tx8")
	answer.Nonce, answer.HasNonce = w.Job.Nonce, true
	if c, err = policy.Apply(w, answer); err != nil || len(c.Strays) != 2 {
		t.Fatalf("%v: %+v", err, c.Strays)
	}
	sound(t, c)
	for _, row := range c.Strays {
		if row.SettledAt.IsZero() || row.Claim != c.New.Strays[row.Seq-1].Claim || row.Hash != "tx8" {
			t.Errorf("%+v", row)
		}
	}
}

// An answer that comes late closes no execution but the one that is open, and is no
// incident where nothing else may be out. Its parts are within bounds.
func TestALateAnswerAlone(t *testing.T) {
	w := states(t)["not sent"]
	c, err := policy.Apply(w, late(w, "h"))
	if err != nil || len(c.Incidents) != 0 || c.Attempt() != nil || c.New.Job.Review {
		t.Errorf("%v: %+v, %+v", err, c.Incidents, c.Attempt())
	}
	bad := late(w, "h")
	bad.Nonce = 5
	expect(t, policy, w, bad, "invalid")
	bad.Nonce, bad.Raw = 0, make([]byte, withdrawal.MaxRaw+1)
	expect(t, policy, w, bad, "invalid")
}

// What parks a job in review closes no execution again, and its text is bounded.
func TestParkedAgain(t *testing.T) {
	w := states(t)["dispatched"]
	answer := func(hash string) withdrawal.Broadcast {
		w.Owner = owned(job2)
		return withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: hash}
	}
	first := answer("aa")
	c, err := policy.Apply(w, first)
	if err != nil || c.Attempt() == nil || c.Attempt().Outcome != statemachine.Unknown || len(c.New.Dispatches) != 1 {
		t.Fatalf("%v: %+v", err, c.Attempt())
	}
	w = c.New
	second := answer("bb")
	if c, err = policy.Apply(w, second); err != nil || c.Attempt() != nil || len(c.New.Dispatches) != 1 ||
		c.New.Job.Version != w.Job.Version+1 {
		t.Errorf("%v: %+v", err, c.Attempt())
	}
	out := states(t)["confirming"]
	if c, err = policy.Apply(out, withdrawal.CannotTell{By: checker(t0), Tx: "tx1", Other: "other",
		Reason: strings.Repeat("r", withdrawal.MaxText)}); err != nil || len(c.New.Job.ErrorMessage) != withdrawal.MaxText || c.Attempt() != nil {
		t.Errorf("%v: %d bytes, %+v", err, len(c.New.Job.ErrorMessage), c.Attempt())
	}
}

// The hash of another, beside what is out: what an operator let go on is stopped again;
// after the end it is an incident alone.
func TestTakenBesideWhatIsOut(t *testing.T) {
	w := states(t)["sent unfiled"]
	w.Owner = owned(job2)
	w = run(t, w, late(w, "aa"))
	op := by(withdrawal.Operator, t0)
	op.Version = w.Job.Version
	w = run(t, w, withdrawal.Resolved{By: op, Job: w.Job.ID, Sent: true, Hash: "tx1", Reason: "seen"})
	w.Owner = owned(job2)
	again, err := policy.Apply(w, late(w, "aa"))
	if err != nil || w.Job.Review || !again.New.Job.Review || again.New.Request.Version != w.Request.Version {
		t.Errorf("%v: %+v", err, again.New.Job)
	}
	reverted := receipt(t0, "tx1", 3)
	reverted.Reverted = true
	w = run(t, w, reverted)
	w.Owner = owned(job2)
	c, err := policy.Apply(w, late(w, "bb"))
	if err != nil || c.New.Job != w.Job || c.New.Request.Taken != "bb" || !w.Job.Live() {
		t.Errorf("%v: %+v", err, c.New.Request)
	}
}

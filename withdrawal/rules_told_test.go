package withdrawal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// An operator says that what was declared dead pays: nothing is paid before that
// is resolved, however deep the block is that they saw, if they saw one.
func TestAnOperatorsWordOfWhatWasDeclaredDeadStopsThePayment(t *testing.T) {
	s := states(t)
	pending := run(t, s["confirming"], dead(t0, "tx1", 3, 7))
	at := pending.Job.ScheduledAt
	claimed := run(t, pending, withdrawal.Claimed{By: worker(at), Fence: 2})
	prepared2 := run(t, claimed, prepared(at, 2, "tx2", 8))
	confirming := run(t, prepared2, withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"})
	twice := run(t, confirming, dead(at, "tx2", 3, 8))
	last := s["confirming"]
	last.Job.RetryCount = last.Job.MaxRetries
	failed := run(t, last, dead(t0, "tx1", 3, 7))
	requeued := run(t, failed, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true})
	later := twice.Job.ScheduledAt
	for _, tt := range []struct {
		name string
		w    withdrawal.Withdrawal
		want string
	}{
		{"pending", pending, "confirming, review"},
		{"held", run(t, pending, held(at)), "confirming, review"},
		{"claimed", claimed, "confirming, review"},
		{"dispatched", run(t, claimed, withdrawal.Dispatched{By: worker(at), Fence: 2, Reference: "ref2"}), "confirming, review"},
		{"another is prepared", prepared2, "confirming, review"},
		{"another is out", confirming, "confirming, review"},
		{"two were declared dead", twice, "failed"},
		{"failed", failed, "incident"},
		{"requeued", requeued, "incident"},
		{"another has a job", run(t, requeued, enqueued(t0, job2)), "failed"},
	} {
		for depth, b := range map[string]withdrawal.Block{"no block": {}, "below the depth": block(2), "at depth": block(3)} {
			e := paidBy(later, withdrawal.Operator, "tx1")
			e.Block, e.Reference = b, tt.w.Job.DispatchRef
			c, err := policy.Apply(tt.w, e)
			if got := word(c, err); got != tt.want || len(c.Incidents) != 1 || c.Incidents[0].Claim != withdrawal.ClaimMined {
				t.Fatalf("%s, %s: %s, %v, %v", tt.name, depth, got, c.Incidents, err)
			}
			sound(t, c)
			w := c.New
			if w.Request.Mined != "tx1" {
				t.Errorf("%s, %s: mined is %q", tt.name, depth, w.Request.Mined)
			}
			for _, ev := range []withdrawal.Event{withdrawal.Claimed{By: worker(later.Add(time.Hour))}, enqueued(later, id(99)), prepared(at, 2, "tx3", 9),
				withdrawal.Requeued{By: by(withdrawal.Operator, later), Job: w.Job.ID, NotRefunded: true}} {
				if after, err := policy.Apply(w, ev); err == nil && !after.Empty() {
					t.Errorf("%s, %s: %T is taken", tt.name, depth, ev)
				}
			}
			if tt.want != "confirming, review" || w.Job.TxHash != "tx1" {
			} else if depth == "at depth" { // said again it changes nothing, before Resolved
				expect(t, policy, w, e, "-")
			} else if depth == "no block" {
				expect(t, policy, w, e, "touch")
				expect(t, policy, w, receipt(later, "tx1", 3), "confirmed") // the chain says so too
			}
		}
		worker := paidBy(later, withdrawal.ConfirmationWorker, "tx1")
		worker.Block, worker.Reference = block(2), tt.w.Job.DispatchRef
		expect(t, policy, tt.w, worker, "-") // a block that may go says nothing
	}
}

// A replacement that is on file as the end of the payment is shown to pay: it does,
// and is no ground for a refund.
func TestACancellationThatPaysIsThePayment(t *testing.T) {
	w := run(t, states(t)["prepared"], withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "c", Raw: []byte("c"), Nonce: 7, HasNonce: true, Cancel: true},
		withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "c"})
	e := paidBy(t0, withdrawal.Operator, "c")
	if paid := expect(t, policy, w, e, "confirmed"); paid.Request.FinalTxHash != "c" {
		t.Errorf("completed by %q", paid.Request.FinalTxHash)
	} else {
		expect(t, policy, paid, e, "-")
		expect(t, policy, paid, receipt(t0, "c", 3), "-")
	}
	other := e
	other.AmountRaw = "1"
	expect(t, policy, w, other, "invalid")
	failed := expect(t, policy, w, receipt(t0, "c", 3), "failed")
	if known := expect(t, policy, failed, e, "incident"); known.Request.Mined != "c" {
		t.Error("nobody knows that it was paid")
	}
	wrong := expect(t, policy, run(t, w, dead(t0, "c", 3, 7)), e, "confirming, review")
	if wrong.Request.Disproved != "c" {
		t.Error("the proof is not known to be wrong")
	}
}

// What a signer sent was mined and pays nothing, since it reverted or paid another
// amount: an operator says so, and what is live can be proven dead by it.
func TestASentTransactionThatPaysNothingIsSettled(t *testing.T) {
	w := states(t)["sent unfiled"] // tx1 is out with nonce 7, tx0 was sent
	gone := dead(t0, "tx1", 3, 7)
	gone.By, gone.Other = by(withdrawal.Operator, t0), "tx0"
	expect(t, policy, w, gone, "invalid")
	gone.Reason = "it reverted"
	paid := gone
	paid.NotThisPayment = false
	expect(t, policy, w, paid, "invalid")
	byWorker := gone
	byWorker.By = checker(t0)
	expect(t, policy, w, byWorker, "forbidden") // in review
	free := expect(t, policy, w, gone, "pending")
	if free.Request.StraysSent != 0 || free.Strays[0].SettledAt.IsZero() {
		t.Errorf("%+v", free.Strays)
	}
	expect(t, policy, free, withdrawal.Claimed{By: worker(free.Job.ScheduledAt)}, "processing")
	shallow := gone
	shallow.Block = block(2)
	if w := expect(t, policy, w, shallow, "touch"); w.Request.StraysSent != 1 {
		t.Error("a block that may go settles nothing")
	}
	// The stray alone, by itself, with its nonce.
	s := states(t)
	at := s["not sent"].Job.ScheduledAt
	beside := run(t, s["not sent"], withdrawal.Claimed{By: worker(at), Fence: 2}, prepared(at, 2, "tx1", 7), withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx1"})
	sent := late(beside, "h")
	sent.Nonce, sent.HasNonce = 8, true
	other := dead(at, "tx1", 3, 7)
	other.By = by(withdrawal.Operator, at)
	pending := run(t, beside, sent, other)
	expect(t, policy, pending, withdrawal.Claimed{By: worker(pending.Job.ScheduledAt)}, "illegal")
	self := dead(at, "h", 3, 8)
	self.By, self.Other = by(withdrawal.Operator, at), "h"
	expect(t, policy, pending, self, "invalid")
	self.Reason = "it paid another amount"
	c, err := policy.Apply(pending, self)
	if err != nil || c.New.Request.StraysSent != 0 {
		t.Fatalf("%v, %+v", err, c.New.Strays)
	}
	expect(t, policy, c.New, withdrawal.Claimed{By: worker(pending.Job.ScheduledAt)}, "processing")
	// What is on file is never its own death.
	own := dead(t0, "tx1", 3, 7)
	own.By, own.Other, own.Reason = by(withdrawal.Operator, t0), "tx1", "it reverted"
	expect(t, policy, s["confirming"], own, "invalid")
}

// What was declared dead was mined and reverted: it used the nonce of what is live.
func TestADeadTransactionThatRevertedProvesADeath(t *testing.T) {
	// A signer used one nonce for both.
	send := func(at time.Time, f int64, hash string) []withdrawal.Event {
		return []withdrawal.Event{withdrawal.Claimed{By: worker(at), Fence: f}, withdrawal.Dispatched{By: worker(at), Fence: f, Reference: hash},
			withdrawal.Broadcast{By: worker(at), Fence: f, Hash: hash}}
	}
	wrong := dead(t0, "tx1", 3, 0)
	wrong.By = by(withdrawal.Operator, t0)
	w := run(t, run(t, states(t)["job pending"], send(t0, 1, "tx1")...), wrong)
	at := w.Job.ScheduledAt
	w = run(t, w, send(at, 2, "tx2")...)
	gone := dead(at, "tx2", 3, 0)
	gone.By, gone.Other = by(withdrawal.Operator, at), "tx1"
	expect(t, policy, w, gone, "invalid")
	gone.Reason = "it reverted"
	expect(t, policy, w, gone, "pending")
	gone.Other = "tx2"
	expect(t, policy, w, gone, "invalid")
	gone.By, gone.Other = checker(at), "tx1"
	expect(t, policy, w, gone, "forbidden")
}

// What became the payment is none beside it: the other one is, also when it is
// mined last, or was told second.
func TestASecondPaymentIsFoundWhicheverIsKnownFirst(t *testing.T) {
	ack := withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "r"}
	gone := dead(t0, "tx1", 3, 7)
	gone.By, gone.Other, gone.NotThisPayment = by(withdrawal.Operator, t0), "x", false
	w := run(t, states(t)["confirming"], paidBy(t0, withdrawal.Operator, "x"))
	expect(t, policy, w, ack, "illegal") // nobody knows yet by what it is paid
	x := run(t, w, gone, receipt(t0, "x", 3))
	if err := withdrawal.Check(x); err != nil {
		t.Error(err)
	}
	x = run(t, x, ack, receipt(t0, "tx1", 3)) // the proof of its death was wrong
	if err := withdrawal.Check(x); !errors.Is(err, withdrawal.ErrPaidTwice) || x.Request.Mined != "tx1" {
		t.Errorf("mined is %q: %v", x.Request.Mined, err)
	}
	x = run(t, x, ack)
	expect(t, policy, x, receipt(t0, "tx1", 3), "incident")
	if err := withdrawal.Check(x); err != nil {
		t.Error(err)
	}
	// Two others are told of before; the first joins the file.
	y := run(t, w, paidBy(t0, withdrawal.Operator, "y"), gone, receipt(t0, "x", 3))
	if err := withdrawal.Check(y); !errors.Is(err, withdrawal.ErrPaidTwice) {
		t.Errorf("%v", err)
	}
	if err := withdrawal.Check(run(t, y, ack)); err != nil {
		t.Error(err)
	}
	// One of them had been declared dead.
	d := run(t, states(t)["confirming"], dead(t0, "tx1", 3, 7))
	at := d.Job.ScheduledAt
	d = run(t, d, withdrawal.Claimed{By: worker(at), Fence: 2}, prepared(at, 2, "tx2", 8), withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"},
		paidBy(at, withdrawal.Operator, "x"), receipt(at, "tx1", 3))
	end := dead(at, "tx2", 3, 8)
	end.By, end.Other, end.NotThisPayment = by(withdrawal.Operator, at), "x", false
	d = run(t, d, end, receipt(at, "x", 3))
	if err := withdrawal.Check(d); !errors.Is(err, withdrawal.ErrPaidTwice) {
		t.Errorf("mined %q, disproved %q: %v", d.Request.Mined, d.Request.Disproved, err)
	}
}

// The key is in the record: the same event is a no-op, whatever version it was
// decided on. What the record has not is of another version.
func TestTheSameEventOfAnOlderVersionIsANoOp(t *testing.T) {
	s := states(t)
	paid := paidBy(t0, withdrawal.Operator, "x")
	shallow := paid
	shallow.Block = block(2)
	for name, tt := range map[string]struct {
		from withdrawal.Withdrawal
		ev   func(withdrawal.By) withdrawal.Event
		by   withdrawal.By
	}{
		"paid, filed":              {s["job pending"], func(b withdrawal.By) withdrawal.Event { e := shallow; e.By = b; return e }, paid.By},
		"paid, confirmed":          {s["job pending"], func(b withdrawal.By) withdrawal.Event { e := paid; e.By = b; return e }, paid.By},
		"paid, beside what is out": {s["confirming"], func(b withdrawal.By) withdrawal.Event { e := paid; e.By = b; return e }, paid.By},
		"cannot tell": {s["confirming"], func(b withdrawal.By) withdrawal.Event {
			return withdrawal.CannotTell{By: b, Tx: "tx1", Other: "x", Reason: "r"}
		}, checker(t0)},
		"a late answer":                       {s["not sent"], func(b withdrawal.By) withdrawal.Event { e := late(s["not sent"], "h"); e.By = b; return e }, late(s["not sent"], "h").By},
		"a late answer beside something else": {s["sent unfiled"], func(b withdrawal.By) withdrawal.Event { e := late(s["not sent"], "h"); e.By = b; return e }, late(s["not sent"], "h").By},
		"revoked": {s["processing"], func(b withdrawal.By) withdrawal.Event {
			return withdrawal.Revoked{By: b, Revocation: statemachine.Revocation{Holder: "worker-1", Reason: "dead"}}
		}, by(withdrawal.Operator, t0)},
		"elapsed": {s["processing"], func(b withdrawal.By) withdrawal.Event { return withdrawal.Elapsed{By: b} }, by(withdrawal.System, t0.Add(policy.Lease))},
	} {
		t.Run(name, func(t *testing.T) {
			b := tt.by
			b.Version = tt.from.Job.Version
			ev := tt.ev(b)
			b.Version += 5
			expect(t, policy, tt.from, tt.ev(b), "conflict")
			w := run(t, tt.from, ev)
			c, err := policy.Apply(w, ev)
			if err != nil || len(c.Log)+len(c.Incidents) > 0 {
				t.Errorf("again: %v, %v", err, c.Log)
			}
		})
	}
	// What was mined and reverted is on file, and that it pays is another thing.
	w := s["reverted"]
	e := paidBy(t0, withdrawal.Operator, "tx1")
	e.Block, e.Version = withdrawal.Block{}, 1
	if w = expect(t, policy, w, e, "incident"); w.Request.Mined != "tx1" {
		t.Errorf("mined is %q", w.Request.Mined)
	}
}

// No spelling of a hash that is not on file is another incident.
func TestAnIncidentHasOneSpelling(t *testing.T) {
	keys := map[string]bool{}
	for _, spelling := range []string{"0xABCDEF", "abcdef", "0xabcdef"} {
		c, err := policy.Apply(states(t)["failed"], paidBy(t0, withdrawal.Operator, spelling))
		if err != nil || c.New.Request.Mined != spelling {
			t.Fatalf("%v, mined is %q", err, c.New.Request.Mined)
		}
		keys[c.Incidents[0].Hash] = true
	}
	if len(keys) != 1 {
		t.Errorf("%v", keys)
	}
}

// A window that ended is no look at another transaction, so it settles none: what
// a signer sent may still be mined.
func TestTheEndOfAWindowSettlesNothingElse(t *testing.T) {
	w, p := states(t)["not sent"], noNonces()
	at := w.Job.ScheduledAt
	w = runWith(t, p, w, withdrawal.Claimed{By: worker(at), Fence: 2}, withdrawal.Prepared{By: worker(at), Fence: 2, Hash: "tx1", Raw: []byte("a")},
		withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx1"}, late(w, "tx0"))
	ended := withdrawal.ProvenDead{By: by(withdrawal.Operator, at), Block: block(3), Tx: "tx1", Cause: withdrawal.WindowEnded,
		Other: "tx0", NotThisPayment: true, Reason: "it paid another amount"}
	w = runWith(t, p, w, ended)
	if w.Request.StraysSent != 1 || !w.Strays[0].SettledAt.IsZero() {
		t.Errorf("%d sent, %+v", w.Request.StraysSent, w.Strays)
	}
	expect(t, p, w, withdrawal.Claimed{By: worker(w.Job.ScheduledAt)}, "illegal")
}

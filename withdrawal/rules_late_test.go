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

// late is the answer of the first dispatch, long after, by a worker that was restarted.
func late(w withdrawal.Withdrawal, hash string) withdrawal.Broadcast {
	b := withdrawal.By{Actor: "worker-7", Role: withdrawal.WithdrawalWorker, At: t0.Add(48 * time.Hour)}
	return withdrawal.Broadcast{By: b, Fence: 1, Hash: hash, Raw: []byte(hash)}
}

// M6: a dispatch that was declared not sent was sent.
func TestALateAnswerAfterNotSent(t *testing.T) {
	s := states(t)
	pending := s["not sent"]
	at := pending.Job.ScheduledAt
	claimed := run(t, pending, withdrawal.Claimed{By: worker(at), Fence: 2})
	last := s["review"]
	last.Job.RetryCount = last.Job.MaxRetries
	failed := run(t, last, notSent(last, t0))
	requeued := run(t, failed, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true})
	queued := run(t, requeued, enqueued(t0, job2))
	for name, w := range map[string]withdrawal.Withdrawal{"pending": pending, "held": run(t, pending, held(t0)), "a new execution began": claimed, "of an earlier job": queued} {
		t.Run(name, func(t *testing.T) {
			w := expect(t, policy, w, late(w, "h"), "confirming")
			if len(w.Txs) != 1 || w.Job.TxHash != "h" || w.Job.Lease.Holder != "" || w.Job.RetryCount < 1 || w.Request.StraysOnFile != 0 {
				t.Errorf("%+v", w.Job)
			}
			expect(t, policy, w, late(w, "h"), "-")
			expect(t, policy, w, late(w, "h2"), "confirming, review") // a second one
			if name == "a new execution began" {
				if w.Attempt.Outcome != statemachine.Unknown {
					t.Errorf("%+v", w.Attempt)
				}
				expect(t, policy, w, prepared(at, 2, "tx2", 7), "fenced")
			}
			expect(t, policy, w, receipt(at, "h", 3), "confirmed")
		})
	}
	other := late(pending, "h")
	other.Fence = 2
	expect(t, policy, claimed, other, "fenced") // it was never dispatched
	other.Fence = 9
	expect(t, policy, pending, other, "fenced")
	unloaded := pending
	unloaded.Dispatches = nil
	expect(t, policy, unloaded, late(pending, "h"), "invalid")
	forbidden := late(pending, "h")
	forbidden.Role = withdrawal.Operator
	expect(t, policy, pending, forbidden, "forbidden")
}

// Beside something else that is out, or after the end, the answer is an
// incident, and nothing more is paid until it is settled.
func TestALateAnswerBesideSomethingElse(t *testing.T) {
	s := states(t)
	at := s["not sent"].Job.ScheduledAt
	claimed := run(t, s["not sent"], withdrawal.Claimed{By: worker(at), Fence: 2})
	preparedW := run(t, claimed, prepared(at, 2, "tx2", 7))
	dispatched := run(t, claimed, withdrawal.Dispatched{By: worker(at), Fence: 2, Reference: "ref2"})
	confirming := run(t, preparedW, withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx2"})
	last := s["review"]
	last.Job.RetryCount = last.Job.MaxRetries
	failed := run(t, last, notSent(last, t0))
	requeued := run(t, failed, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true})
	for _, tt := range []struct {
		name  string
		w     withdrawal.Withdrawal
		nonce uint64 // 0: not told
		want  string
		filed bool
	}{
		{"another is prepared", preparedW, 0, "confirming, review", false},
		{"another of the same nonce is prepared", preparedW, 7, "confirming, review", true},
		{"another is dispatched", dispatched, 0, "processing, review", false},
		{"another is out", confirming, 8, "confirming, review", false},
		{"another of the same nonce is out", confirming, 7, "confirming, review", true},
		{"completed by another", run(t, confirming, receipt(at, "tx2", 3)), 0, "incident", false},
		{"failed at the last execution", failed, 0, "incident", false},
		{"requeued", requeued, 0, "incident", false},
		{"cancelled", run(t, s["not sent"], withdrawal.Cancelled{By: by(withdrawal.Operator, t0)}), 0, "incident", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := late(tt.w, "h")
			ev.Nonce, ev.HasNonce = tt.nonce, tt.nonce > 0
			c, err := policy.Apply(tt.w, ev)
			if got := word(c, err); got != tt.want || len(c.Incidents) != 1 || c.Incidents[0].Claim != withdrawal.ClaimSent {
				t.Fatalf("%s, %+v, %v", got, c.Incidents, err)
			}
			sound(t, c)
			w := c.New
			if (len(c.Txs) == 1) != tt.filed || w.Request.StraysOnFile != 1 || (w.Request.StraysSent == 0) != tt.filed || w.Request.Version == tt.w.Request.Version {
				t.Errorf("%d filed, %+v", len(c.Txs), w.Request)
			}
			expect(t, policy, w, ev, "-")
			if tt.filed {
				return
			}
			// No step to another payment, in whatever way it comes there.
			if tt.name != "requeued" {
				expect(t, policy, w, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}, "illegal")
			}
			expect(t, policy, w, enqueued(t0, uuid.UUID{7}), map[bool]string{true: "active", false: "illegal"}[w.Request.Status == withdrawal.RequestQueued])
			if w.Request.Status == withdrawal.RequestQueued {
				if w.Job.Live() {
					d := dead(at, "tx2", 3, 7)
					d.By, d.Other = by(withdrawal.Operator, at), "h"
					expect(t, policy, w, d, "invalid") // what is said to be sent for it is no other payment
					d.Other = "foreign"
					w = expect(t, policy, w, d, "pending")
				} else {
					w = expect(t, policy, w, notSent(w, at), "pending")
				}
				if policy.Next(w, w.Job.ScheduledAt).Party != withdrawal.Operator {
					t.Errorf("%+v", w.Job)
				}
				expect(t, policy, w, withdrawal.Claimed{By: worker(w.Job.ScheduledAt)}, "illegal")
			}
			// An operator proves that hash dead.
			gone := dead(at, "h", 3, tt.nonce)
			expect(t, policy, w, gone, "forbidden")
			gone.By = by(withdrawal.Operator, at)
			shallow := gone
			shallow.Block = block(2)
			expect(t, policy, w, shallow, "-")
			gone.NotThisPayment = false
			expect(t, policy, w, gone, "invalid")
			gone.NotThisPayment = true
			w = run(t, w, gone)
			if w.Request.StraysSent != 0 {
				t.Errorf("%+v", w.Request)
			}
			expect(t, policy, w, gone, "-")
			expect(t, policy, w, ev, "-") // no news: it is known and dead
			switch tt.name {
			case "failed at the last execution":
				expect(t, policy, w, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}, "approved")
			case "requeued":
				expect(t, policy, w, enqueued(t0, job2), "pending")
			case "another is out":
				expect(t, policy, w, withdrawal.Claimed{By: worker(w.Job.ScheduledAt)}, "processing")
			}
		})
	}
	// After two dispatches both answers count.
	again := run(t, dispatched, withdrawal.AttemptFailed{By: worker(at), Fence: 2, Failure: withdrawal.Unclear, Error: "x"})
	again = run(t, again, notSent(again, at))
	if len(again.Dispatches) != 2 {
		t.Fatalf("%+v", again.Dispatches)
	}
	w := run(t, again, late(again, "h1"))
	second := late(again, "h2")
	second.Fence = 2
	expect(t, policy, w, second, "confirming, review")
	// Beside one that was sent and is not settled the other is filed, and an operator has it.
	at = again.Job.ScheduledAt
	again = run(t, again, withdrawal.Claimed{By: worker(at), Fence: 3}, prepared(at, 3, "tx3", 7), late(again, "h1"))
	gone := dead(at, "tx3", 3, 7)
	gone.By = by(withdrawal.Operator, at)
	again = run(t, again, gone)
	c, err := policy.Apply(again, second)
	if got := word(c, err); got != "confirming, review" || len(c.Incidents) != 1 || c.Incidents[0].Claim != withdrawal.ClaimSent || c.New.Job.TxHash != "h2" || c.New.Request.StraysSent != 1 {
		t.Errorf("%s, %+v, %+v", got, c.Incidents, c.New.Request)
	}
	// The signer of the second dispatch answers with the hash of the first: it is one transaction.
	w = run(t, dispatched, late(dispatched, "h"))
	answer := withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "h"}
	w = expect(t, policy, w, answer, "confirming")
	if w.Request.StraysSent != 0 || len(w.Txs) != 1 {
		t.Errorf("%+v", w.Request)
	}
}

// A signer answers a dispatch twice, with another hash: the first one's window may end
// and the second be mined.
func TestASecondAnswerOfADispatchIsALateOne(t *testing.T) {
	s := states(t)
	answered := run(t, s["dispatched"], withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "h1"})
	gone := withdrawal.ProvenDead{By: by(withdrawal.Operator, t0), Block: block(3), Tx: "h1", Cause: withdrawal.WindowEnded}
	pending := run(t, answered, gone)
	claimed := run(t, pending, withdrawal.Claimed{By: worker(pending.Job.ScheduledAt), Fence: 2})
	for _, tt := range []struct {
		name string
		w    withdrawal.Withdrawal
		want string
	}{
		{"the first is out", answered, "confirming, review"},
		{"the first is dead", pending, "confirming"},
		{"a new execution began", claimed, "confirming"},
		{"the first has paid", run(t, answered, receipt(t0, "h1", 3)), "incident"},
	} {
		w := expect(t, policy, tt.w, late(tt.w, "h1"), "-") // no news
		w = expect(t, policy, w, late(w, "h2"), tt.want)
		expect(t, policy, w, late(w, "h2"), "-")
		if tt.name == "the first is out" {
			w = expect(t, policy, w, gone, "pending")
			expect(t, policy, w, withdrawal.Claimed{By: worker(w.Job.ScheduledAt)}, "illegal")
		}
	}
}

// A signer that names the transaction of another request has it parked.
func TestAHashThatPaysAnotherRequestIsParked(t *testing.T) {
	s := states(t)
	at := s["not sent"].Job.ScheduledAt
	s["claimed again"] = run(t, s["not sent"], withdrawal.Claimed{By: worker(at), Fence: 2})
	s["prepared again"] = run(t, s["claimed again"], prepared(at, 2, "tx2", 7))
	last := s["review"]
	last.Job.RetryCount = last.Job.MaxRetries
	s["out of executions"] = run(t, last, notSent(last, t0))
	s["ordered again"] = run(t, s["out of executions"], withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true})
	s["held, not sent"], s["held, ordered again"] = run(t, s["not sent"], held(t0)), run(t, s["ordered again"], held(t0))
	s["cancelled, not sent"] = run(t, s["not sent"], withdrawal.Cancelled{By: by(withdrawal.Operator, t0)})
	for name, want := range map[string]string{"dispatched": "processing, review", "review": "processing, review", "not sent": "pending",
		"claimed again": "pending", "prepared again": "confirming, review", "out of executions": "incident", "ordered again": "incident",
		"held, not sent": "incident", "held, ordered again": "incident", "cancelled, not sent": "incident"} {
		for whose, of := range map[string]uuid.UUID{"another request's": job2, "a filler": uuid.Nil} {
			w := s[name]
			w.Owner = owned(of)
			ev := withdrawal.Broadcast{By: worker(at), Fence: 1, Hash: "theirs"}
			c, err := policy.Apply(w, ev)
			if got := word(c, err); got != want || len(c.Txs) > 0 || len(c.Incidents) != 1 || c.Incidents[0].Claim != withdrawal.ClaimTaken {
				t.Errorf("%s, %s: %s, %v", name, whose, got, err)
			}
			sound(t, c)
			// No step to another payment, and what an operator decided before is stale.
			w = c.New
			if w.Request.Version+w.Job.Version == c.Old.Request.Version+c.Old.Job.Version || w.Request.Taken != "theirs" {
				t.Errorf("%s, %s: versions %d and %d", name, whose, w.Request.Version, w.Job.Version)
			}
			for _, next := range []withdrawal.Event{withdrawal.Claimed{By: worker(at.Add(time.Hour))}, enqueued(at, id(99)), withdrawal.Prepared{By: worker(at), Fence: 2}} {
				if after, err := policy.Apply(w, next); err == nil && !after.Empty() {
					t.Errorf("%s, %s: %T is taken", name, whose, next)
				}
			}
			w.Owner = owned(of)
			if again, err := policy.Apply(w, ev); err != nil || len(again.Log) > 0 {
				t.Errorf("%s, %s, again: %v, %v", name, whose, again.Log, err)
			}
		}
	}
	w := s["review"]
	w.Owner = owned(job2)
	op := by(withdrawal.Operator, t0)
	op.Version = w.Job.Version
	expect(t, policy, w, withdrawal.Resolved{By: op, Job: job1, Sent: true, Hash: "theirs", Reason: "r"}, "payment taken")
}

// M7: each fact that forbids a step is a version of the record that the step writes.
func TestFactsMoveVersions(t *testing.T) {
	s := states(t)
	last := s["confirming"]
	last.Job.RetryCount = last.Job.MaxRetries
	failed := run(t, last, dead(t0, "tx1", 3, 7))
	requeued := run(t, failed, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true})
	for name, tt := range map[string]struct {
		w  withdrawal.Withdrawal
		ev withdrawal.Event
	}{
		"mined, failed":        {failed, receipt(t0, "tx1", 3)},
		"mined, requeued":      {requeued, receipt(t0, "tx1", 3)},
		"paid by another":      {requeued, paidBy(t0, withdrawal.Operator, "x")},
		"held":                 {requeued, held(t0)},
		"sent":                 {s["not sent"], late(s["not sent"], "h")},
		"held in execution":    {s["processing"], held(t0)},
		"held while it is out": {s["prepared"], held(t0)},
	} {
		c, err := policy.Apply(tt.w, tt.ev)
		if err != nil {
			t.Fatal(err)
		}
		if c.New.Request.Version == tt.w.Request.Version && c.New.Job.Version == tt.w.Job.Version {
			t.Errorf("%s moves no version", name)
		}
	}
	// An incident of another hash adds one, once.
	w := run(t, failed, receipt(t0, "tx1", 3))
	c, err := policy.Apply(w, receipt(t0, "foreign", 3))
	if err != nil || len(c.Log) != 1 || len(c.Incidents) != 1 || c.New.Request.Mined != "tx1" {
		t.Errorf("%v, %v", err, c.Log)
	}
	c, err = policy.Apply(c.New, receipt(t0, "foreign", 3))
	if err != nil || len(c.Log) > 0 || len(c.Incidents) != 1 || c.New.Request.Mined != "tx1" {
		t.Errorf("%v, %v", err, c.Log)
	}
	// The second line: a flagged request takes no step to a payment.
	for name, ev := range map[string]withdrawal.Event{"job pending": withdrawal.Claimed{By: worker(t0)}, "processing": prepared(t0, 1, "tx1", 7),
		"approved": enqueued(t0, job1)} {
		w := s[name]
		w.Request.Mined = "x"
		expect(t, policy, w, ev, "illegal")
	}
	w = s["processing"]
	w.Request.Mined = "x"
	expect(t, policy, w, withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "r"}, "illegal")
}

// M7: a fact and a step that it forbids exclude each other, whichever of two that
// have read the same is stored first: a save compares the version of the request
// wherever it writes the request or the job, and that of the job where it writes
// the job.
func TestFactsAndStepsExcludeEachOther(t *testing.T) {
	refuses := func(first, second withdrawal.Change) bool {
		request := func(c *withdrawal.Change) bool { return c.New.Request.Version != c.Old.Request.Version }
		job := func(c *withdrawal.Change) bool {
			return c.New.Job.ID != c.Old.Job.ID || c.New.Job.Version != c.Old.Job.Version || c.Touch()
		}
		moved := first.New.Job.ID == first.Old.Job.ID && first.New.Job.Version != first.Old.Job.Version
		return request(&first) && (request(&second) || job(&second)) || moved && job(&second) && second.New.Job.ID == first.New.Job.ID
	}
	s := states(t)
	last := s["confirming"]
	last.Job.RetryCount = last.Job.MaxRetries
	failed := run(t, last, dead(t0, "tx1", 3, 7))
	requeue := withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}
	requeued := run(t, failed, requeue)
	again := run(t, requeued, enqueued(t0, job2))
	mined, paid := receipt(t0, "tx1", 3), paidBy(t0, withdrawal.Operator, "x")
	cancel := withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "no"}
	answer := late(s["not sent"], "h")
	answer.Raw = nil // which nobody can send again
	claim := func(w withdrawal.Withdrawal) withdrawal.Event {
		return withdrawal.Claimed{By: worker(w.Job.ScheduledAt)}
	}
	theirs := func(w withdrawal.Withdrawal) withdrawal.Withdrawal { w.Owner = owned(job2); return w }
	at := func(w withdrawal.Withdrawal) withdrawal.By { // what an operator has looked at
		op := by(withdrawal.Operator, t0)
		op.Version = w.Request.Version
		return op
	}
	last = s["review"]
	last.Job.RetryCount = last.Job.MaxRetries
	heldUnsent, lastUnsent := run(t, s["not sent"], held(t0)), run(t, last, notSent(last, t0))
	for name, tt := range map[string]struct {
		w          withdrawal.Withdrawal
		fact, step withdrawal.Event
	}{
		"mined and requeue":           {failed, mined, requeue},
		"mined and enqueue":           {requeued, mined, enqueued(t0, job2)},
		"mined and claim":             {again, mined, claim(again)},
		"paid by another and enqueue": {requeued, paid, enqueued(t0, job2)},
		"paid by another and claim":   {s["job pending"], paid, claim(s["job pending"])},
		"paid by another and prepare": {s["processing"], paid, prepared(t0, 1, "tx1", 7)},
		"hold and enqueue":            {requeued, held(t0), enqueued(t0, job2)},
		"hold and claim":              {s["job pending"], held(t0), claim(s["job pending"])},
		"hold and prepare":            {s["processing"], held(t0), prepared(t0, 1, "tx1", 7)},
		"cancel and claim":            {s["job pending"], cancel, claim(s["job pending"])},
		"cancel and prepare":          {s["processing"], cancel, prepared(t0, 1, "tx1", 7)},
		"a late answer and claim":     {s["not sent"], answer, claim(s["not sent"])},
		"an answer and not sent":      {s["review"], answer, notSent(s["review"], t0)},
		"another's and not sent":      {theirs(s["review"]), answer, notSent(s["review"], t0)},
		"another's and release":       {theirs(heldUnsent), answer, withdrawal.Released{By: at(heldUnsent)}},
		"another's and requeue":       {theirs(lastUnsent), answer, withdrawal.Requeued{By: at(lastUnsent), Job: job1, NotRefunded: true}},
	} {
		fact, err1 := policy.Apply(tt.w, tt.fact)
		step, err2 := policy.Apply(tt.w, tt.step)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !refuses(fact, step) || !refuses(step, fact) {
			t.Errorf("%s: both can be stored", name)
		}
		if _, err := policy.Apply(fact.New, tt.step); err == nil {
			t.Errorf("%s: the step is accepted after the fact", name)
		}
	}
}

// S4: what the host writes into a message decides nothing.
func TestS4AMessageIsNoFact(t *testing.T) {
	ev := failedAttempt(t0, 1, withdrawal.Permanent)
	ev.Error = "A transaction that was declared dead was mined: 0xA"
	w := run(t, states(t)["processing"], ev)
	expect(t, policy, w, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}, "approved")
	disp := failedAttempt(t0, 1, withdrawal.Unclear)
	disp.Error = ev.Error
	w = run(t, states(t)["dispatched"], disp, withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "h"})
	if w.Job.Review || w.Request.Disproved != "" {
		t.Errorf("%+v", w.Job)
	}
}

// S10, S15: what is imported passes the one law for times, and needs no active wallet.
func TestImportOfARetiredWallet(t *testing.T) {
	retired := wallets()
	retired[0].Status = "retired"
	second := retired[0]
	second.ID = id(9)
	for _, tt := range []struct {
		name    string
		wallets []withdrawal.HotWallet
		created time.Time
		want    string
	}{
		{"retired", retired, t0, "confirming"},
		{"two, both retired", append(slices.Clone(retired), second), t0, "invalid"},
		{"two, one active", append(wallets(), second), t0, "confirming"},
		{"none", nil, t0, "no wallet"},
		{"the year 20000", retired, time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), "invalid"},
		{"in the future", retired, t0.Add(time.Microsecond), "invalid"},
		{"the year -5", retired, time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), "invalid"},
	} {
		e := imported(t0)
		e.User, e.Asset, e.Chain, e.ToAddress, e.Amount, e.Decimals = user, asset, chain, "0xabc", "100", 18
		e.Wallets, e.CreatedAt = tt.wallets, tt.created
		c, err := policy.Apply(withdrawal.Withdrawal{}, e)
		if got := word(c, err); got != tt.want {
			t.Errorf("%s: %s (%v), expected %s", tt.name, got, err, tt.want)
		}
	}
}

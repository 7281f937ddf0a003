package withdrawal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// answering is the policy of a chain whose signers answer within an hour.
func answering(within time.Duration) withdrawal.Policy {
	p := policy
	p.Chain.AnswerWithin = within
	return p
}

func refunded(at time.Time, role withdrawal.Role) withdrawal.Refunded {
	return withdrawal.Refunded{By: by(role, at), Reference: "refund-1", Reason: "the signer's history has nothing"}
}

// unpaid are requests that have ended unpaid, by how.
func unpaid(t *testing.T) map[string]withdrawal.Withdrawal {
	s := states(t)
	last := s["review"]
	last.Job.RetryCount = last.Job.MaxRetries
	out := s["confirming"]
	out.Job.RetryCount = out.Job.MaxRetries
	bumped := run(t, s["leased confirming"], withdrawal.Rebumped{By: worker(t0), Fence: 2, Hash: "tx2", Raw: []byte{2}, Nonce: 7,
		HasNonce: true, Cancel: true})
	cancel := withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "no"}
	return map[string]withdrawal.Withdrawal{
		"rejected": s["rejected"], "cancelled": s["cancelled"], "failed": s["failed"], "reverted": s["reverted"],
		"cancelled, of a job": run(t, s["processing"], cancel), "cancelled, not sent": run(t, s["not sent"], cancel),
		"cancelled by a replacement": run(t, bumped, receipt(t0, "tx2", 3)),
		"proven dead":                run(t, out, dead(t0, "tx1", 3, 7)),
		"not sent":                   run(t, last, notSent(last, t0.Add(time.Second))),
	}
}

// Whoever may refund may from which moment on: a signer that was called has its time.
func TestRefundable(t *testing.T) {
	p := answering(time.Hour)
	for name, w := range unpaid(t) {
		t.Run(name, func(t *testing.T) {
			from := time.Time{}
			for _, d := range w.Dispatches {
				from = d.EndedAt.Add(time.Hour)
			}
			if (len(w.Dispatches) > 0) != strings.Contains(name, "not sent") {
				t.Fatalf("%d dispatches", len(w.Dispatches))
			}
			for _, role := range []withdrawal.Role{withdrawal.System, withdrawal.Operator} {
				if at, err := p.Refundable(w, role, t0); err != nil || !at.Equal(from) {
					t.Errorf("to %v from %v on, %v", role, at, err)
				}
				if from.IsZero() {
					expect(t, p, w, refunded(t0, role), w.Request.Status.String())
					continue
				}
				if at, err := p.Refundable(w, role, from.Add(-time.Microsecond)); err != nil || !at.Equal(from) {
					t.Errorf("just before: %v, %v", at, err)
				}
				expect(t, p, w, refunded(from.Add(-time.Microsecond), role), "illegal")
				if at, err := p.Refundable(w, role, from); err != nil || !at.IsZero() {
					t.Errorf("at that time: %v, %v", at, err)
				}
				expect(t, p, w, refunded(from, role), w.Request.Status.String())
			}
			// No time is enough: an operator alone, who says why.
			if from.IsZero() {
				return
			}
			if _, err := policy.Refundable(w, withdrawal.System, from.Add(1000*time.Hour)); !errors.Is(err, statemachine.ErrForbidden) {
				t.Errorf("to the system: %v", err)
			}
			expect(t, policy, w, refunded(from.Add(1000*time.Hour), withdrawal.System), "forbidden")
			expect(t, policy, w, refunded(t0, withdrawal.Operator), w.Request.Status.String())
		})
	}
}

// Each condition alone forbids it, to the system and, but for what an operator has
// looked at, to an operator too.
func TestNotRefundable(t *testing.T) {
	s := states(t)
	all := unpaid(t)
	for _, tt := range []struct {
		name   string
		of     string
		change func(*withdrawal.Withdrawal)
		// What the system, an operator, and one who has acknowledged it are told.
		system, operator, acknowledged error
	}{
		{"recovering", "failed", func(w *withdrawal.Withdrawal) { w.Recovering = true }, statemachine.ErrIllegal, statemachine.ErrIllegal,
			statemachine.ErrIllegal},
		{"sent", "not sent", func(w *withdrawal.Withdrawal) { w.Request.StraysSent = 1 }, statemachine.ErrIllegal, statemachine.ErrIllegal,
			statemachine.ErrIllegal},
		{"mined", "failed", func(w *withdrawal.Withdrawal) { w.Request.Mined = "x" }, statemachine.ErrIllegal, statemachine.ErrIllegal, nil},
		{"disproved", "failed", func(w *withdrawal.Withdrawal) { w.Request.Disproved = "x" }, statemachine.ErrIllegal, statemachine.ErrIllegal,
			nil},
		{"taken", "cancelled", func(w *withdrawal.Withdrawal) { w.Request.Taken = "x" }, statemachine.ErrIllegal, statemachine.ErrIllegal, nil},
		{"live", "proven dead", func(w *withdrawal.Withdrawal) { w.Job.TxsDead, w.Job.EvidenceHash = 0, "" }, statemachine.ErrIllegal,
			statemachine.ErrIllegal, statemachine.ErrIllegal},
		{"not loaded", "not sent", func(w *withdrawal.Withdrawal) { w.Dispatches = nil }, statemachine.ErrInvalid, statemachine.ErrInvalid,
			statemachine.ErrInvalid},
		{"under way", "failed", func(w *withdrawal.Withdrawal) { w.Job.Status = withdrawal.JobConfirming }, statemachine.ErrIllegal,
			statemachine.ErrIllegal, statemachine.ErrIllegal},
	} {
		w := all[tt.of]
		tt.change(&w)
		acknowledged := w
		acknowledged.Request.Acknowledged = true
		for _, x := range []struct {
			w    withdrawal.Withdrawal
			role withdrawal.Role
			want error
		}{{w, withdrawal.System, tt.system}, {w, withdrawal.Operator, tt.operator}, {acknowledged, withdrawal.Operator, tt.acknowledged},
			{acknowledged, withdrawal.System, tt.system}} {
			_, err := policy.Refundable(x.w, x.role, t0)
			_, err2 := policy.Apply(x.w, refunded(t0, x.role))
			if !errors.Is(err, x.want) || !errors.Is(err2, x.want) {
				t.Errorf("%s, to %v: %v and %v, expected %v", tt.name, x.role, err, err2, x.want)
			}
		}
	}
	for name, w := range s {
		_, err := policy.Refundable(w, withdrawal.System, t0)
		ended := w.Request.Status == withdrawal.RequestFailed || w.Request.Status == withdrawal.RequestRejected ||
			w.Request.Status == withdrawal.RequestCancelled
		switch {
		case name == "refunded" && !errors.Is(err, withdrawal.ErrRefunded), name != "refunded" && ended != (err == nil):
			t.Errorf("%s: %v", name, err)
		}
		for _, role := range []withdrawal.Role{0, withdrawal.Approver, withdrawal.WithdrawalWorker, withdrawal.ConfirmationWorker} {
			var refusal *statemachine.Refusal
			if _, err := policy.Refundable(w, role, t0); !errors.Is(err, statemachine.ErrForbidden) || !errors.As(err, &refusal) ||
				refusal.ID != w.Request.ID.String() || refusal.Event != "Refunded" {
				t.Errorf("%s: to %v: %v", name, role, err)
			}
		}
	}
}

// Each signer has its own time, whichever of them ended last.
func TestRefundableWaitsForEverySigner(t *testing.T) {
	w := unpaid(t)["not sent"]
	first := w.Dispatches[0]
	second := first
	second.Fence, second.EndedAt = 2, first.EndedAt.Add(time.Minute)
	w.Job.Dispatches = 2
	for _, all := range [][]withdrawal.Attempt{{first, second}, {second, first}} {
		w.Dispatches = all
		if at, err := answering(time.Hour).Refundable(w, withdrawal.System, t0); err != nil || !at.Equal(second.EndedAt.Add(time.Hour)) {
			t.Errorf("from %v, %v", at, err)
		}
	}
}

// The key is the reference, the intent is on file, and nothing takes it back.
func TestRefunded(t *testing.T) {
	s := states(t)
	ev := refunded(t0.Add(time.Minute), withdrawal.Operator)
	w := run(t, s["failed"], ev)
	r := w.Request
	if !r.RefundedAt.Equal(ev.At) || r.RefundedBy != "olga" || r.RefundReference != "refund-1" ||
		r.Version != s["failed"].Request.Version+1 || r.UpdatedAt != s["failed"].Request.UpdatedAt {
		t.Errorf("%+v", r)
	}
	c, err := policy.Apply(s["failed"], ev)
	if line := c.Log[0]; err != nil || line.Trigger != "refund" || line.From != "failed" || line.To != "failed" ||
		line.Reason != "refund-1: the signer's history has nothing" {
		t.Errorf("%+v, %v", line, err)
	}
	expect(t, policy, w, ev, "-")
	other := ev
	other.Reference = "refund-2"
	if _, err := policy.Apply(w, other); !errors.Is(err, statemachine.ErrConflict) || !strings.Contains(err.Error(), "refund-1") {
		t.Errorf("another reference: %v", err)
	}
	for name, change := range map[string]func(*withdrawal.Refunded){
		"no reference":           func(e *withdrawal.Refunded) { e.Reference = "" },
		"101 bytes":              func(e *withdrawal.Refunded) { e.Reference = strings.Repeat("r", 101) },
		"an operator, no reason": func(e *withdrawal.Refunded) { e.Reason = "" },
	} {
		bad := ev
		change(&bad)
		if got := word(policy.Apply(s["failed"], bad)); got != "invalid" {
			t.Errorf("%s: %s", name, got)
		}
	}
	longest := refunded(t0, withdrawal.System)
	longest.Reference, longest.Reason = strings.Repeat("r", 100), ""
	expect(t, policy, s["failed"], longest, "failed")
	stale := ev
	stale.Version = s["failed"].Request.Version - 1
	expect(t, policy, s["failed"], stale, "conflict")

	// No order pays it any more.
	requeue := withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}
	expect(t, policy, w, requeue, "refunded")
	if _, err := policy.Apply(w, requeue); !errors.Is(err, statemachine.ErrIllegal) || !strings.Contains(err.Error(), "refund-1") {
		t.Errorf("%v", err)
	}
	requeue.NotRefunded = false
	expect(t, policy, w, requeue, "refunded")
	expect(t, policy, s["failed"], requeue, "invalid") // nobody has looked at the books
}

// What was refunded before a restore is said by an operator, while the chain is recovering.
func TestRefundedAlready(t *testing.T) {
	s := states(t)
	already := refunded(t0, withdrawal.Operator)
	already.Already = true
	expect(t, policy, s["failed"], already, "illegal")
	w := unpaid(t)["not sent"]
	w.Recovering, w.Request.Mined, w.Request.Told = true, "x", "mined:x" // Refundable is not asked
	c, err := policy.Apply(w, already)
	if err != nil || c.New.Request.RefundReference != "refund-1" || !strings.Contains(c.Log[0].Reason, "before the restore") ||
		c.New.Recovering {
		t.Errorf("%+v, %v", c.New.Request, err)
	}
	forbidden := already
	forbidden.By = by(withdrawal.System, t0)
	expect(t, policy, w, forbidden, "forbidden")
	for name, w := range s {
		w.Recovering = true
		if got := word(policy.Apply(w, already)); (got == w.Request.Status.String()) != (w.Request.Status == withdrawal.RequestRejected ||
			w.Request.Status == withdrawal.RequestCancelled ||
			w.Request.Status == withdrawal.RequestFailed && name != "refunded") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A refund that was not made is due again: at the time that Refundable says, soon where
// the host could not post it, once a day where only a person may.
func TestARefundIsDue(t *testing.T) {
	all := unpaid(t)
	off := withdrawal.PutOff{By: by(withdrawal.System, t0.Add(time.Minute))}
	for _, tt := range []struct {
		name   string
		p      withdrawal.Policy
		of     string
		change func(*withdrawal.Withdrawal)
		due    bool
		again  time.Time
	}{
		{"now", policy, "failed", nil, true, off.At.Add(policy.EnqueueEvery)},
		{"cancelled", policy, "cancelled", nil, true, off.At.Add(policy.EnqueueEvery)},
		{"rejected", policy, "rejected", nil, true, off.At.Add(policy.EnqueueEvery)},
		{"its signer may answer", answering(time.Hour), "cancelled, not sent", nil, true, t0.Add(time.Hour)},
		{"its signer may always answer", policy, "cancelled, not sent", nil, true, off.At.Add(24 * time.Hour)},
		{"recovering", policy, "failed", func(w *withdrawal.Withdrawal) { w.Recovering = true }, true, off.At.Add(policy.EnqueueEvery)},
		{"mined", policy, "failed", func(w *withdrawal.Withdrawal) { w.Request.Mined, w.Request.Acknowledged = "x", true }, false, time.Time{}},
		{"disproved", policy, "failed", func(w *withdrawal.Withdrawal) { w.Request.Disproved = "x" }, false, time.Time{}},
		{"taken", policy, "failed", func(w *withdrawal.Withdrawal) { w.Request.Taken = "x" }, false, time.Time{}},
		{"sent", policy, "failed", func(w *withdrawal.Withdrawal) { w.Request.StraysSent = 1 }, false, time.Time{}},
		{"refunded", policy, "failed", func(w *withdrawal.Withdrawal) { w.Request.RefundReference = "x" }, false, time.Time{}},
	} {
		w := all[tt.of]
		if tt.change != nil {
			tt.change(&w)
		}
		if at, ok := withdrawal.DueAt(withdrawal.DueRefund, &w, 0); ok != tt.due || !at.IsZero() {
			t.Errorf("%s: due %v at %v", tt.name, ok, at)
		}
		c, err := tt.p.Apply(w, off)
		if !tt.due {
			if !errors.Is(err, statemachine.ErrIllegal) {
				t.Errorf("%s: put off: %v", tt.name, err)
			}
			continue
		}
		if at, _ := withdrawal.DueAt(withdrawal.DueRefund, &c.New, 0); err != nil || !at.Equal(tt.again) || !c.TouchRequest() {
			t.Errorf("%s: due again at %v, %v", tt.name, at, err)
		}
	}
	for name, w := range states(t) { // of what has not ended unpaid nothing is due
		_, ok := withdrawal.DueAt(withdrawal.DueRefund, &w, 0)
		if _, ended := map[string]bool{"rejected": true, "cancelled": true, "reverted": true, "failed": true}[name]; ok != ended {
			t.Errorf("%s: due %v", name, ok)
		}
	}
	// What was put off for a refund is enqueued at once when it is ordered again, and
	// what was put off before it ended is due at once.
	w := run(t, states(t)["failed"], off, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true})
	if !w.Request.OfferAt.IsZero() {
		t.Errorf("%+v", w.Request)
	}
	w = run(t, w, off, withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "no"})
	if !w.Request.OfferAt.IsZero() {
		t.Errorf("%+v", w.Request)
	}
}

func TestRefundsInListsAndAlerts(t *testing.T) {
	s := states(t)
	paid := run(t, s["refunded"], receipt(t0, "x", 3))
	settled := run(t, paid, withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "r"})
	s["paid"], s["settled"] = paid, settled
	// Paid beside its end: to be refunded, or captured, until an operator has settled it.
	s["cancelled and paid"] = run(t, s["cancelled"], paidBy(t0, withdrawal.Operator, "y"))
	s["cancelled and captured"] = run(t, s["cancelled and paid"], withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "r"})
	var all []withdrawal.Counted
	for name, w := range s {
		toRefund := map[string]bool{"rejected": true, "cancelled": true, "reverted": true, "failed": true, "cancelled and paid": true}[name]
		if (withdrawal.Filter{Kind: withdrawal.ListToRefund}).Has(&w, t0) != toRefund {
			t.Errorf("%s: to refund", name)
		}
		if (withdrawal.Filter{Kind: withdrawal.ListPaidAndRefunded}).Has(&w, t0) != (name == "paid") {
			t.Errorf("%s: paid and refunded", name)
		}
		all = append(all, withdrawal.Counted{Request: w.Request})
	}
	stats := withdrawal.StatsOf(all, t0, time.Hour)
	if stats.PaidAndRefunded != 1 {
		t.Errorf("%d", stats.PaidAndRefunded)
	}
	named := func(s withdrawal.Stats) (n int) {
		for _, a := range withdrawal.Alerts(s, withdrawal.Thresholds{Stuck: 1 << 40, Incidents: 1 << 40, OpenIncidents: 1 << 40,
			NonceGaps: 1 << 40}) {
			if a.Name == "paid and refunded" {
				n++
			}
		}
		return n
	}
	if named(stats) != 1 || named(withdrawal.Stats{}) != 0 {
		t.Error("the limit of the alert is 0")
	}
}

func TestAnswerWithinIsValidated(t *testing.T) {
	for d, valid := range map[time.Duration]bool{0: true, time.Microsecond: true, 90 * 24 * time.Hour: true, -time.Second: false,
		time.Nanosecond: false} {
		one, other := policy, policy
		one.Chain.AnswerWithin = d
		c := policy.Chain
		c.AnswerWithin = d
		other.Chains = map[uuid.UUID]withdrawal.Chain{chain: c}
		for _, p := range []withdrawal.Policy{one, other} {
			if err := p.Validate(); (err == nil) != valid || err != nil && !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("%v: %v", d, err)
			}
		}
	}
}

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
	w.Recovering, w.Request.Mined, w.Request.StraysSent = true, "x", 1 // Refundable is not asked
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

// Evidence is taken as ever; what says that a refunded request was paid is an incident
// that people settle, whatever was known before and in whichever order it comes.
func TestPaidAfterTheRefund(t *testing.T) {
	all := unpaid(t)
	at := t0.Add(48 * time.Hour)
	p := answering(time.Hour)
	foreign := receipt(at, "foreign", 3)
	answer := late(all["not sent"], "h")
	for _, tt := range []struct {
		of    string
		ev    withdrawal.Event
		owner uuid.NullUUID
		claim withdrawal.IncidentClaim
	}{
		{"failed", foreign, uuid.NullUUID{}, withdrawal.ClaimMined},
		{"proven dead", receipt(at, "tx1", 3), uuid.NullUUID{}, withdrawal.ClaimMined},
		{"reverted", paidBy(at, withdrawal.Operator, "x"), uuid.NullUUID{}, withdrawal.ClaimMined},
		{"rejected", paidBy(at, withdrawal.Operator, "x"), uuid.NullUUID{}, withdrawal.ClaimMined},
		{"cancelled", paidBy(at, withdrawal.Operator, "x"), uuid.NullUUID{}, withdrawal.ClaimMined},
		{"cancelled, of a job", foreign, uuid.NullUUID{}, withdrawal.ClaimMined},
		{"cancelled by a replacement", foreign, uuid.NullUUID{}, withdrawal.ClaimMined},
		{"not sent", answer, uuid.NullUUID{}, withdrawal.ClaimSent},
		{"cancelled, not sent", answer, uuid.NullUUID{}, withdrawal.ClaimSent},
		{"not sent", answer, owned(job2), withdrawal.ClaimTaken},
		{"cancelled, not sent", answer, owned(uuid.Nil), withdrawal.ClaimTaken},
	} {
		t.Run(tt.of+" "+tt.claim.String(), func(t *testing.T) {
			w := runWith(t, p, all[tt.of], refunded(t0.Add(2*time.Hour), withdrawal.System))
			w.Owner = tt.owner
			c, err := p.Apply(w, tt.ev)
			if err != nil || len(c.Incidents) != 1 || c.Incidents[0].Claim != tt.claim || c.New.Request.Status != w.Request.Status ||
				c.New.Request.Version != w.Request.Version+1 {
				t.Fatalf("%+v, %v", c.Incidents, err)
			}
			sound(t, c)
			if line := c.Log[len(c.Log)-1]; line.Trigger != "flagged" || !strings.Contains(line.Reason, "after the refund refund-1") {
				t.Errorf("%+v", line)
			}
			if c.New.Request.PaidAfter != c.Incidents[0].Hash || !errors.Is(withdrawal.Check(c.New), withdrawal.ErrPaidAndRefunded) ||
				p.Next(c.New, at).Party != withdrawal.Operator {
				t.Errorf("%+v, %v", c.New.Request, withdrawal.Check(c.New))
			}
			// Told in turn, two hashes move no version.
			w = c.New
			for range 2 {
				for _, hash := range []string{"one", "two"} {
					if c, err := p.Apply(w, paidBy(at, withdrawal.Operator, hash)); err != nil {
						t.Fatal(err)
					} else if w = c.New; w.Request.PaidAfter != "foreign" && w.Request.PaidAfter != c.Old.Request.PaidAfter {
						t.Errorf("%+v", w.Request)
					}
				}
			}
			version := w.Request.Version
			for _, hash := range []string{"one", "two"} {
				w = runWith(t, p, w, paidBy(at, withdrawal.Operator, hash))
			}
			if w.Request.Version != version {
				t.Errorf("version %d, it was %d", w.Request.Version, version)
			}
			// People settle it; what is told of it again is known then.
			settled := runWith(t, p, w, withdrawal.Acknowledged{By: by(withdrawal.Operator, at), Reason: "the user has paid it back"})
			if err := withdrawal.Check(settled); err != nil || p.Next(settled, at).Party != 0 && settled.Request.StraysSent == 0 {
				t.Errorf("%v, %+v", err, p.Next(settled, at))
			}
			settled.Owner = tt.owner
			if again, err := p.Apply(settled, tt.ev); err != nil || len(again.Log) > 0 {
				t.Errorf("again: %v, %+v", err, again.Log)
			}
		})
	}
}

// What an operator had looked at before the refund is news after it once more.
func TestWhatWasAcknowledgedBeforeTheRefundIsNewsAfterIt(t *testing.T) {
	ack := withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "not ours"}
	for name, told := range map[string]withdrawal.Event{"a receipt": receipt(t0, "x", 3), "PaidBy": paidBy(t0, withdrawal.Operator, "x")} {
		w := run(t, states(t)["failed"], told, ack)
		expect(t, policy, w, refunded(t0, withdrawal.System), "illegal")
		w = run(t, w, refunded(t0, withdrawal.Operator))
		if err := withdrawal.Check(w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for again, ev := range map[string]withdrawal.Event{"a receipt": receipt(t0, "x", 3), "PaidBy": paidBy(t0, withdrawal.Operator, "x")} {
			c, err := policy.Apply(w, ev)
			if err != nil || c.New.Request.PaidAfter != "x" || c.New.Request.Acknowledged || len(c.Incidents) != 1 ||
				len(c.New.Strays) > max(1, len(w.Strays)) {
				t.Errorf("%s, then %s: %+v, %v", name, again, c.New.Request, err)
			}
		}
	}
}

// What pays nothing is no news: evidence below its depth, a revert, a transaction that
// ended it, a stray that is proven dead.
func TestWhatPaysNothingAfterTheRefund(t *testing.T) {
	all := unpaid(t)
	reverted := receipt(t0, "tx1", 3)
	reverted.Reverted = true
	for name, tt := range map[string]struct {
		of string
		ev withdrawal.Event
	}{
		"shallow":                   {"failed", receipt(t0, "x", 2)},
		"its own revert":            {"reverted", reverted},
		"its own cancel":            {"cancelled by a replacement", receipt(t0, "tx2", 3)},
		"a revert of a dead one":    {"proven dead", reverted},
		"an answer with a dead one": {"proven dead", withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}},
		"missing":                   {"reverted", withdrawal.Missing{By: checker(t0), Tx: "tx1"}},
	} {
		w := run(t, all[tt.of], refunded(t0, withdrawal.System))
		c, err := policy.Apply(w, tt.ev)
		if err != nil && !errors.Is(err, statemachine.ErrIllegal) || c.New.Request.PaidAfter != "" || len(c.Log) > 0 {
			t.Errorf("%s: %v, %+v", name, err, c.New.Request)
		}
	}
	// A stray that came after the refund is proven dead, as ever.
	p := answering(time.Hour)
	w := runWith(t, p, all["not sent"], refunded(t0.Add(2*time.Hour), withdrawal.System), late(all["not sent"], "h"))
	gone := dead(t0, "h", 3, 0)
	gone.By = by(withdrawal.Operator, t0)
	w = runWith(t, p, w, gone)
	if w.Request.StraysSent != 0 || w.Request.PaidAfter != "h" {
		t.Errorf("%+v", w.Request)
	}
}

// A member of a batch that reverted is refunded; what the batch is told afterwards is
// told to that member, and to the others as before.
func TestARefundedMemberOfABatch(t *testing.T) {
	for name, tell := range map[string]func(b withdrawal.Payout) withdrawal.BatchMined{
		"the version pays after all": func(b withdrawal.Payout) withdrawal.BatchMined {
			return batchMined(t0, "v1", transfers(b.Members, 0, 1)...)
		},
		"another transaction pays": func(b withdrawal.Payout) withdrawal.BatchMined {
			ev := outside(batchMined(t0, "x", transfers(b.Members, 0, 1)...))
			ev.By, ev.Reason = by(withdrawal.Operator, t0), "seen"
			return ev
		},
	} {
		reverted := batchMined(t0, "v1")
		reverted.Reverted = true
		b := runBatch(t, newBatch(t, 3), reverted)
		if at, err := policy.Refundable(b.Members[0], withdrawal.System, t0); err != nil || !at.IsZero() {
			t.Fatalf("%v, %v", at, err)
		}
		b.Members[0] = run(t, b.Members[0], refunded(t0, withdrawal.System))
		b = runBatch(t, b, tell(b))
		paid, other, left := b.Members[0].Request, b.Members[1].Request, b.Members[2].Request
		if paid.PaidAfter == "" || other.PaidAfter != "" || other.Mined == "" || left.Mined != "" ||
			!errors.Is(withdrawal.CheckBatch(b), withdrawal.ErrPaidAndRefunded) {
			t.Errorf("%s: %+v, %+v, %+v", name, paid, other, left)
		}
		b.Members[2].Job.MaxRetries = 0 // what is wrong is said before what people settle
		if err := withdrawal.CheckBatch(b); !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An import says that the old service paid: of what is refunded it is refused, and
// PaidBy tells it.
func TestRefundedIsNotImported(t *testing.T) {
	s := submitted(t0)
	imported := withdrawal.Imported{By: s.By, Request: req, User: user, Asset: asset, Chain: chain, ToAddress: s.ToAddress, Amount: s.Amount,
		Decimals: 18, CreatedAt: t0,
		Job: job2, AssetOnChain: token, Hash: "old", Wallets: wallets()}
	for _, name := range []string{"rejected", "cancelled", "failed"} {
		expect(t, policy, run(t, unpaid(t)[name], refunded(t0, withdrawal.System)), imported, "refunded")
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
	var all []withdrawal.Counted
	for name, w := range s {
		toRefund := map[string]bool{"rejected": true, "cancelled": true, "reverted": true, "failed": true}[name]
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

package withdrawal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

func TestRule9Roles(t *testing.T) {
	s := states(t)
	ap, ww, cw, op, sy := withdrawal.Approver, withdrawal.WithdrawalWorker, withdrawal.ConfirmationWorker, withdrawal.Operator, withdrawal.System
	for _, tt := range []struct {
		from    string
		ev      func(b withdrawal.By) withdrawal.Event
		allowed []withdrawal.Role
	}{
		{"none", func(b withdrawal.By) withdrawal.Event { e := submitted(t0); e.By = b; return e }, []withdrawal.Role{sy}},
		{"pending", func(b withdrawal.By) withdrawal.Event { return withdrawal.Approved{By: b} }, []withdrawal.Role{ap}},
		{"pending", func(b withdrawal.By) withdrawal.Event { return withdrawal.Rejected{By: b} }, []withdrawal.Role{ap}},
		{"pending", func(b withdrawal.By) withdrawal.Event { return withdrawal.Cancelled{By: b} }, []withdrawal.Role{op}},
		{"approved", func(b withdrawal.By) withdrawal.Event { e := enqueued(t0, job1); e.By = b; return e }, []withdrawal.Role{sy}},
		{"failed", func(b withdrawal.By) withdrawal.Event {
			return withdrawal.Requeued{By: b, Job: job1, NotRefunded: true}
		}, []withdrawal.Role{op}},
		{"job pending", func(b withdrawal.By) withdrawal.Event { return withdrawal.Claimed{By: b} }, []withdrawal.Role{ww}},
		{"processing", func(b withdrawal.By) withdrawal.Event { e := prepared(t0, 1, "tx1", 7); e.By = b; return e }, []withdrawal.Role{ww}},
		{"processing", func(b withdrawal.By) withdrawal.Event { return withdrawal.Dispatched{By: b, Fence: 1, Reference: "r"} }, []withdrawal.Role{ww}},
		{"prepared", func(b withdrawal.By) withdrawal.Event { return withdrawal.Broadcast{By: b, Fence: 1, Hash: "tx1"} }, []withdrawal.Role{ww}},
		{"processing", func(b withdrawal.By) withdrawal.Event {
			return withdrawal.AttemptFailed{By: b, Fence: 1, Failure: withdrawal.Retryable}
		}, []withdrawal.Role{ww}},
		{"processing", func(b withdrawal.By) withdrawal.Event { return withdrawal.GivenBack{By: b, Fence: 1} }, []withdrawal.Role{ww}},
		{"leased confirming", func(b withdrawal.By) withdrawal.Event {
			return withdrawal.Rebumped{By: b, Fence: 2, Hash: "x", Raw: []byte("x"), Nonce: 7, HasNonce: true}
		}, []withdrawal.Role{ww}},
		{"leased confirming", func(b withdrawal.By) withdrawal.Event { return withdrawal.Rebroadcast{By: b, Fence: 2, Hash: "tx1"} }, []withdrawal.Role{ww}},
		{"confirming", func(b withdrawal.By) withdrawal.Event { e := receipt(t0, "tx1", 3); e.By = b; return e }, []withdrawal.Role{cw}},
		{"confirming", func(b withdrawal.By) withdrawal.Event { return withdrawal.Looking{By: b} }, []withdrawal.Role{cw}},
		{"confirming", func(b withdrawal.By) withdrawal.Event { return withdrawal.Missing{By: b, Tx: "tx1"} }, []withdrawal.Role{cw}},
		{"confirming", func(b withdrawal.By) withdrawal.Event { e := dead(t0, "tx1", 3, 7); e.By = b; return e }, []withdrawal.Role{cw, op}},
		{"confirming review", func(b withdrawal.By) withdrawal.Event { e := dead(t0, "tx1", 3, 7); e.By = b; return e }, []withdrawal.Role{op}},
		{"review", func(b withdrawal.By) withdrawal.Event {
			b.Version = s["review"].Job.Version
			return withdrawal.Resolved{By: b, Job: job1, Reason: "proof"}
		}, []withdrawal.Role{op}},
		{"processing", func(b withdrawal.By) withdrawal.Event { return withdrawal.Elapsed{By: b} }, []withdrawal.Role{sy}},
	} {
		for _, r := range append(withdrawal.Role(0).Values(), 0, 200) {
			b := withdrawal.By{Actor: "worker-1", Role: r, At: t0}
			ev := tt.ev(b)
			_, err := policy.Apply(s[tt.from], ev)
			allowed := false
			for _, a := range tt.allowed {
				allowed = allowed || a == r
			}
			if allowed != (err == nil) || !allowed && !errors.Is(err, statemachine.ErrForbidden) {
				t.Errorf("%T by %v: %v", ev, r, err)
			}
		}
	}
	// Precedence: role, fence, version, state, input.
	w := s["confirming"]
	ev := prepared(t0, 9, "", 0)
	ev.Role, ev.Version = withdrawal.Approver, 99
	expect(t, policy, w, ev, "forbidden")
	ev.Role = withdrawal.WithdrawalWorker
	expect(t, policy, w, ev, "fenced")
	w = s["leased confirming"]
	ev.Fence = 2
	expect(t, policy, w, ev, "conflict")
	ev.Version = w.Job.Version
	expect(t, policy, w, ev, "illegal")
	w = s["processing"]
	ev.Fence, ev.Version = 1, w.Job.Version
	expect(t, policy, w, ev, "invalid")
}

func TestRule9Requeue(t *testing.T) {
	s := states(t)
	again := withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}
	expect(t, policy, s["reverted"], again, "illegal")
	other := again
	other.Job = job2
	expect(t, policy, s["failed"], other, "conflict")
	w := expect(t, policy, s["failed"], again, "approved")
	expect(t, policy, w, again, "-")
	w = run(t, w, enqueued(t0, job2))
	expect(t, policy, w, again, "illegal")
}

func TestRule11Bounds(t *testing.T) {
	change := func(f func(*withdrawal.Submitted)) withdrawal.Submitted { e := submitted(t0); f(&e); return e }
	for name, tt := range map[string]struct {
		ev   withdrawal.Submitted
		want string
	}{
		"address of 256 characters": {change(func(e *withdrawal.Submitted) { e.ToAddress = strings.Repeat("é", 256) }), "pending"},
		"address of 257 characters": {change(func(e *withdrawal.Submitted) { e.ToAddress = strings.Repeat("a", 257) }), "invalid"},
		"no address":                {change(func(e *withdrawal.Submitted) { e.ToAddress = "" }), "invalid"},
		"address with NUL":          {change(func(e *withdrawal.Submitted) { e.ToAddress = "a\x00" }), "invalid"},
		"address not UTF-8":         {change(func(e *withdrawal.Submitted) { e.ToAddress = "a\xff" }), "invalid"},
		"memo of 1001 characters":   {change(func(e *withdrawal.Submitted) { e.Memo = strings.Repeat("a", 1001) }), "invalid"},
		"no user":                   {change(func(e *withdrawal.Submitted) { e.User = uuid.Nil }), "invalid"},
		"too many decimals":         {change(func(e *withdrawal.Submitted) { e.Amount, e.Decimals = "0.0000001", 6 }), "invalid"},
		"no actor":                  {change(func(e *withdrawal.Submitted) { e.Actor = "" }), "invalid"},
		"actor of 201 bytes":        {change(func(e *withdrawal.Submitted) { e.Actor = strings.Repeat("a", 201) }), "invalid"},
		"no time":                   {change(func(e *withdrawal.Submitted) { e.At = time.Time{} }), "invalid"},
	} {
		t.Run(name, func(t *testing.T) { expect(t, policy, withdrawal.Withdrawal{}, tt.ev, tt.want) })
	}
	e := failedAttempt(t0, 1, withdrawal.Retryable)
	e.Error = strings.Repeat("é\xff\x00", 1000)
	w := run(t, states(t)["processing"], e)
	if m := w.Job.ErrorMessage; len(m) > withdrawal.MaxText || !utf8.ValidString(m) || strings.Contains(m, "\x00") || m == "" {
		t.Errorf("%d bytes", len(m))
	}
	expect(t, policy, w, e, "-")
	big := prepared(t0, 1, "tx1", 7)
	big.Raw = make([]byte, withdrawal.MaxRaw+1)
	expect(t, policy, states(t)["processing"], big, "invalid")
}

func TestRule12TheSameEventAgain(t *testing.T) {
	s := states(t)
	op := by(withdrawal.Operator, t0)
	op.Version = s["review"].Job.Version
	opFound := by(withdrawal.Operator, t0)
	opFound.Version = s["confirming review"].Job.Version
	for i, tt := range []struct {
		from string
		ev   withdrawal.Event
	}{
		{"none", submitted(t0)},
		{"pending", withdrawal.Approved{By: by(withdrawal.Approver, t0)}},
		{"pending", withdrawal.Rejected{By: by(withdrawal.Approver, t0), Reason: "r"}},
		{"pending", withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "r"}},
		{"approved", enqueued(t0, job1)},
		{"failed", withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}},
		{"approved", withdrawal.Imported{By: by(withdrawal.System, t0), Request: req, Job: job1, AssetOnChain: token, Hash: "h", Wallets: wallets()}},
		{"job pending", withdrawal.Claimed{By: worker(t0), Fence: 1}},
		{"confirming", withdrawal.Claimed{By: worker(t0), Fence: 2}},
		{"processing", prepared(t0, 1, "tx1", 7)},
		{"processing", withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "ref"}},
		{"prepared", withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}},
		{"dispatched", withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}},
		{"leased confirming", withdrawal.Rebumped{By: worker(t0), Fence: 2, Hash: "x", Raw: []byte("x"), Nonce: 7, HasNonce: true}},
		{"prepared", withdrawal.Rebumped{By: worker(t0), Fence: 1, Hash: "x", Raw: []byte("x"), Nonce: 7, HasNonce: true}},
		{"processing", failedAttempt(t0, 1, withdrawal.Retryable)},
		{"processing", withdrawal.GivenBack{By: worker(t0), Fence: 1, For: time.Hour}},
		{"leased confirming", withdrawal.Rebroadcast{By: worker(t0), Fence: 2, Hash: "tx1", Done: true}},
		{"confirming", receipt(t0, "tx1", 3)},
		{"confirming", dead(t0, "tx1", 3, 7)},
		{"review", withdrawal.Resolved{By: op, Job: job1, Reason: "proof"}},
		{"review", withdrawal.Resolved{By: op, Job: job1, Sent: true, Hash: "tx1", Reason: "seen"}},
		{"confirming review", withdrawal.Resolved{By: opFound, Job: job1, Sent: true, Hash: "tx1", Reason: "seen"}},
		{"processing", withdrawal.Elapsed{By: by(withdrawal.System, t0.Add(policy.Lease))}},
	} {
		once, err := policy.Apply(s[tt.from], tt.ev)
		if err != nil || once.Empty() {
			t.Errorf("case %d, %T: %v", i, tt.ev, err)
			continue
		}
		twice, err := policy.Apply(once.New, tt.ev)
		if err != nil || !twice.Empty() || !same(twice.Old, twice.New) || twice.Attempt() != nil || len(twice.Txs)+len(twice.Reservations) != 0 {
			t.Errorf("case %d, %T again: %v", i, tt.ev, err)
		}
	}
	changed := submitted(t0)
	changed.Amount = "101"
	expect(t, policy, s["pending"], changed, "illegal")
	expect(t, policy, withdrawal.Withdrawal{}, nil, "invalid")
}

func TestImportBoundaries(t *testing.T) {
	e := withdrawal.Imported{By: by(withdrawal.System, t0), Request: req, User: user, Asset: asset, Chain: chain, ToAddress: "0xabc",
		Amount: "1.000000000000000000", Decimals: 6, CreatedAt: t0.Add(-time.Hour), Job: job1, AssetOnChain: token, Hash: "h", Wallets: wallets()}
	w := expect(t, policy, withdrawal.Withdrawal{}, e, "confirming")
	if w.Request.Status != withdrawal.RequestQueued || w.Request.AmountRaw != "1000000" || w.Job.TxHash != "h" || w.Txs[0].Hash != "h" ||
		!w.Request.CreatedAt.Equal(e.CreatedAt) {
		t.Errorf("%+v", w)
	}
	other := e
	other.Job, other.Hash = job2, "h2"
	expect(t, policy, w, other, "active")
	bad := e
	bad.Hash = ""
	expect(t, policy, withdrawal.Withdrawal{}, bad, "invalid")
	queued := states(t)["approved"]
	queued.Request.Status = withdrawal.RequestQueued
	expect(t, policy, queued, e, "conflict")
	known := e
	known.Amount, known.Decimals = "100", 18
	expect(t, policy, queued, known, "confirming")
	expect(t, policy, w, receipt(t0, "h", 3), "confirmed")
}

func TestReviewIsResolvedByItsVersion(t *testing.T) {
	s := states(t)
	op := by(withdrawal.Operator, t0)
	expect(t, policy, s["review"], withdrawal.Resolved{By: op, Job: job1, Reason: "proof"}, "invalid")
	op.Version = s["review"].Job.Version
	expect(t, policy, s["review"], withdrawal.Resolved{By: op, Job: job1}, "invalid")
	w := expect(t, policy, s["review"], withdrawal.Resolved{By: op, Job: job1, Reason: "proof"}, "pending")
	if w.Job.RetryCount != 1 || !w.Job.ScheduledAt.Equal(t0.Add(time.Minute)) {
		t.Errorf("%+v", w.Job)
	}
	last := s["review"]
	last.Job.RetryCount = last.Job.MaxRetries
	expect(t, policy, last, withdrawal.Resolved{By: op, Job: job1, Reason: "proof"}, "failed")
	op.Version--
	expect(t, policy, s["review"], withdrawal.Resolved{By: op, Job: job1, Reason: "proof"}, "conflict")
	op.Version = s["confirming review"].Job.Version
	expect(t, policy, s["confirming review"], withdrawal.Resolved{By: op, Job: job1, Sent: true, Hash: "another", Reason: "r"}, "invalid")
	w = expect(t, policy, s["confirming review"], withdrawal.Resolved{By: op, Job: job1, Sent: true, Hash: "tx1", Reason: "r"}, "confirming")
	if w.Job.Review || !w.Job.BroadcastAt.Equal(t0) {
		t.Errorf("%+v", w.Job)
	}
}

func TestRefusalReadsLikeASentence(t *testing.T) {
	_, err := policy.Apply(states(t)["pending"], enqueued(t0, job1))
	want := fmt.Sprintf("withdrawal_request %s (pending) refuses Enqueued: illegal in this state", req)
	if err == nil || err.Error() != want {
		t.Errorf("%v, expected %s", err, want)
	}
}

// A submission of a known id with other content is refused, and says what differs, with both values. The same content
// again changes nothing. What is missing is named by its field.
func TestAnotherSubmissionOfAnID(t *testing.T) {
	w := run(t, withdrawal.Withdrawal{}, submitted(t0))
	expect(t, policy, w, submitted(t0.Add(time.Hour)), "-")
	for _, c := range []struct {
		set   func(*withdrawal.Submitted)
		names []string
	}{
		{func(e *withdrawal.Submitted) { e.Request = id(77) }, []string{"request", req.String(), id(77).String()}},
		{func(e *withdrawal.Submitted) { e.User = id(77) }, []string{"user", user.String(), id(77).String()}},
		{func(e *withdrawal.Submitted) { e.Asset = id(77) }, []string{"asset", asset.String(), id(77).String()}},
		{func(e *withdrawal.Submitted) { e.Chain = id(77) }, []string{"chain", chain.String(), id(77).String()}},
		{func(e *withdrawal.Submitted) { e.ToAddress = "0xdef" }, []string{"address", "0xabc", "0xdef"}},
		{func(e *withdrawal.Submitted) { e.Memo = "n" }, []string{"memo", `"m"`, `"n"`}},
		{func(e *withdrawal.Submitted) { e.Amount = "100.5" }, []string{"amount", `"100"`, `"100.5"`}},
		{func(e *withdrawal.Submitted) { e.Amount = "a lot" }, []string{"amount", `"100"`, `"a lot"`}},
		{func(e *withdrawal.Submitted) { e.Decimals = 6 }, []string{"decimals", `"18"`, `"6"`}},
	} {
		e := submitted(t0)
		c.set(&e)
		_, err := policy.ApplyAt(w, e, t0)
		if !errors.Is(err, statemachine.ErrIllegal) {
			t.Errorf("%s: %v", c.names[0], err)
		}
		for _, text := range c.names {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("it does not say %s: %v", text, err)
			}
		}
	}
	forbidden := submitted(t0)
	forbidden.Role = withdrawal.Approver
	imported := withdrawal.Imported{By: forbidden.By, Request: req}
	for _, ev := range []withdrawal.Event{forbidden, imported} {
		if _, err := policy.ApplyAt(withdrawal.Withdrawal{}, ev, t0); !errors.Is(err, statemachine.ErrForbidden) || !strings.Contains(err.Error(), req.String()) {
			t.Errorf("%T: what is refused before it is made is not named: %v", ev, err)
		}
	}
	for name, set := range map[string]func(*withdrawal.Submitted){
		"User":  func(e *withdrawal.Submitted) { e.User = uuid.Nil },
		"Asset": func(e *withdrawal.Submitted) { e.Asset = uuid.Nil }, "Chain": func(e *withdrawal.Submitted) { e.Chain = uuid.Nil },
	} {
		e := submitted(t0)
		set(&e)
		if _, err := policy.ApplyAt(withdrawal.Withdrawal{}, e, t0); !errors.Is(err, statemachine.ErrInvalid) ||
			!strings.Contains(err.Error(), name+" is the zero id") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

package withdrawal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

func acknowledged(at time.Time) withdrawal.Acknowledged {
	return withdrawal.Acknowledged{By: by(withdrawal.Operator, at), Reason: "settled"}
}

// news applies evidence that must reopen what was acknowledged, with a line that names
// the hash, and then tells the same again, in each spelling, which must change nothing.
func news(t *testing.T, w withdrawal.Withdrawal, ev withdrawal.Event, owner uuid.NullUUID) withdrawal.Withdrawal {
	t.Helper()
	spelt := func(form func(string) string) withdrawal.Event {
		switch e := ev.(type) {
		case withdrawal.Receipt:
			e.Tx = form(e.Tx)
			return e
		case withdrawal.PaidBy:
			e.Tx = form(e.Tx)
			return e
		case withdrawal.Broadcast:
			e.Hash = form(e.Hash)
			return e
		}
		return ev
	}
	hash := ""
	spelt(func(s string) string { hash = s; return s })
	w.Owner = owner
	c, err := policy.Apply(w, ev)
	if err != nil || c.New.Request.Version != w.Request.Version+1 || c.New.Request.Acknowledged || len(c.Log) != 1 || len(c.Incidents) != 1 ||
		c.Log[0].Trigger != withdrawal.OnFlagged.String() || !strings.Contains(c.Log[0].Reason, hash) {
		t.Fatalf("%T of %s is no news: %v, %+v, %+v", ev, hash, err, c.Log, c.New.Request)
	}
	sound(t, c)
	if party := policy.Next(c.New, t0).Party; party != withdrawal.Operator {
		t.Errorf("%s: next is %v", hash, party)
	}
	for _, form := range []func(string) string{strings.Clone, strings.ToUpper, func(s string) string { return "0x" + s }} {
		again := c.New
		again.Owner = owner
		if !statemachine.SameHash(form(hash), hash) {
			continue
		}
		if again, err := policy.Apply(again, spelt(form)); err != nil || len(again.Log) > 0 {
			t.Errorf("%s is told again: %v, %+v", form(hash), err, again.Log)
		}
	}
	return c.New
}

// Hashes of which each is news, in their one form.
const txA, txB, txC = "aa", "bb", "cc"

// Whoever refunds has looked at the latest that was told.
func TestFailedPaidByAAcknowledgedPaidByBIsRefundedAfterAnotherLook(t *testing.T) {
	s := states(t)
	last := s["confirming"]
	last.Job.RetryCount = last.Job.MaxRetries
	dead1 := run(t, last, dead(t0, "tx1", 3, 7)) // failed, tx1 was proven dead
	for name, tt := range map[string]struct {
		w    withdrawal.Withdrawal
		a, b withdrawal.Event
	}{
		"told by an operator":              {s["failed"], paidBy(t0, withdrawal.Operator, txA), paidBy(t0, withdrawal.Operator, txB)},
		"told by the chain":                {s["failed"], receipt(t0, txA, 3), receipt(t0, txB, 3)},
		"then a receipt of what was dead":  {dead1, paidBy(t0, withdrawal.Operator, txA), receipt(t0, "tx1", 3)},
		"first a receipt of what was dead": {dead1, receipt(t0, "tx1", 3), paidBy(t0, withdrawal.Operator, txB)},
		"cancelled":                        {s["cancelled"], paidBy(t0, withdrawal.Operator, txA), paidBy(t0, withdrawal.Operator, txB)},
		"rejected":                         {s["rejected"], paidBy(t0, withdrawal.Operator, txA), paidBy(t0, withdrawal.Operator, txB)},
	} {
		t.Run(name, func(t *testing.T) {
			looked := run(t, news(t, tt.w, tt.a, uuid.NullUUID{}), acknowledged(t0))
			decided := refunded(t0, withdrawal.Operator)
			decided.Version = looked.Request.Version
			expect(t, policy, looked, decided, tt.w.Request.Status.String())

			told := news(t, looked, tt.b, uuid.NullUUID{})
			if told.Request.Mined != looked.Request.Mined {
				t.Errorf("mined is %q, it was %q", told.Request.Mined, looked.Request.Mined)
			}
			expect(t, policy, told, decided, "conflict")
			expect(t, policy, told, refunded(t0, withdrawal.Operator), "illegal")
			early := acknowledged(t0)
			early.Version = looked.Request.Version
			expect(t, policy, told, early, "conflict")
			again := run(t, told, acknowledged(t0))
			w := run(t, again, refunded(t0, withdrawal.Operator))
			if err := withdrawal.Check(w); err != nil || w.Request.PaidAfter != "" || policy.Next(w, t0).Party != 0 {
				t.Errorf("%v, %+v", err, w.Request)
			}
			// What was known before the refund is news once more after it: each of the two.
			w = news(t, w, tt.b, uuid.NullUUID{})
			first := w.Request.PaidAfter
			w = news(t, run(t, w, acknowledged(t0)), tt.a, uuid.NullUUID{})
			if first == "" || w.Request.PaidAfter != first {
				t.Errorf("paid after is %q, then %q", first, w.Request.PaidAfter)
			}
		})
	}
}

// Refunded, paid, settled: what is told then is open again, until it is settled too.
func TestRefundedPaidAcknowledgedAndPaidAgainIsOpenAgain(t *testing.T) {
	w := run(t, unpaid(t)["not sent"], refunded(t0, withdrawal.Operator))
	w = news(t, w, receipt(t0, txA, 3), uuid.NullUUID{})
	for _, tt := range []struct {
		what  string
		ev    withdrawal.Event
		owner uuid.NullUUID
		hash  string
	}{
		{"mined, by the chain", receipt(t0, txB, 3), uuid.NullUUID{}, txB},
		{"mined, by an operator", paidBy(t0, withdrawal.Operator, txC), uuid.NullUUID{}, txC},
		{"sent", late(w, "5e47"), uuid.NullUUID{}, "5e47"},
		{"taken", late(w, "7a4e"), owned(job2), "7a4e"},
		{"another taken", late(w, "7a4f"), owned(uuid.Nil), "7a4f"},
		{"mined, of what was sent", paidBy(t0, withdrawal.Operator, "5e47"), uuid.NullUUID{}, "5e47"},
	} {
		w = run(t, w, acknowledged(t0))
		if err := withdrawal.Check(w); err != nil {
			t.Errorf("before %s: %v", tt.what, err)
		}
		w = news(t, w, tt.ev, tt.owner)
		err := withdrawal.Check(w)
		if !errors.Is(err, withdrawal.ErrPaidAndRefunded) || !strings.Contains(fmt.Sprint(err), tt.hash+", after the refund refund-1") {
			t.Errorf("%s: %v", tt.what, err)
		}
		if w.Request.PaidAfter != txA {
			t.Errorf("%s: paid after is %q", tt.what, w.Request.PaidAfter)
		}
		if s := withdrawal.StatsOf([]withdrawal.Counted{{Request: w.Request}}, t0, time.Hour); s.PaidAndRefunded != 1 {
			t.Errorf("%s: %d are counted", tt.what, s.PaidAndRefunded)
		}
	}
}

// Completed, with another payment beside it that is settled: a third is a finding.
func TestCompletedPaidTwiceAcknowledgedAndPaidAgainIsOpenAgain(t *testing.T) {
	s := states(t)
	for name, of := range map[string]func(string) withdrawal.Event{
		"told by the chain":    func(hash string) withdrawal.Event { return receipt(t0, hash, 3) },
		"told by an operator":  func(hash string) withdrawal.Event { return paidBy(t0, withdrawal.Operator, hash) },
		"by both, one of each": nil,
	} {
		if of == nil {
			of = func(hash string) withdrawal.Event {
				if hash == txB {
					return paidBy(t0, withdrawal.Operator, hash)
				}
				return receipt(t0, hash, 3)
			}
		}
		w := s["confirmed"]
		for _, hash := range []string{txA, txB, txC} {
			w = news(t, w, of(hash), uuid.NullUUID{})
			if err := withdrawal.Check(w); !errors.Is(err, withdrawal.ErrPaidTwice) || !strings.Contains(err.Error(), hash+", beside tx1") {
				t.Errorf("%s, %s: %v", name, hash, err)
			}
			if w = run(t, w, acknowledged(t0)); withdrawal.Check(w) != nil || policy.Next(w, t0).Party != 0 {
				t.Errorf("%s, %s is settled: %v", name, hash, withdrawal.Check(w))
			}
		}
		if w.Request.Mined != txA {
			t.Errorf("%s: mined is %q", name, w.Request.Mined)
		}
	}
}

// What a signer names that is another's is news once for each dispatch, in whatever turn.
func TestTwoTakenHashesInTurnAreNewsOnce(t *testing.T) {
	w := unpaid(t)["cancelled, not sent"]
	for _, hash := range []string{txA, txB} {
		w = run(t, news(t, w, late(w, hash), owned(job2)), acknowledged(t0))
	}
	version := w.Request.Version
	for range 2 {
		for _, hash := range []string{txA, txB, "0xAA", "BB"} {
			w.Owner = owned(job2)
			if w = run(t, w, late(w, hash)); w.Request.Version != version || w.Request.Taken != txB || !w.Request.Acknowledged {
				t.Fatalf("%s: %+v", hash, w.Request)
			}
		}
	}
	w.Dispatches = append(w.Dispatches, w.Dispatches[0])
	w.Dispatches[1].Fence = 2
	w.Job.Dispatches = 2
	other := late(w, txA)
	other.Fence = 2
	if w = news(t, w, other, owned(job2)); w.Request.Taken != txA {
		t.Errorf("taken is %q", w.Request.Taken)
	}
	first := late(w, txB)
	w.Owner = owned(job2)
	if c, err := policy.Apply(w, first); err != nil || len(c.Log) > 0 {
		t.Errorf("the first dispatch again: %v, %+v", err, c.Log)
	}
}

// The same under way: in review both are known, whatever the error message says. What an
// operator lets go on is stopped again.
func TestTwoTakenHashesInTurnInReview(t *testing.T) {
	for name, w := range map[string]withdrawal.Withdrawal{"dispatched": states(t)["dispatched"], "confirming": states(t)["sent unfiled"]} {
		answer := func(hash string) withdrawal.Broadcast {
			e := late(w, hash)
			e.By = worker(w.Job.ScheduledAt)
			return e
		}
		for _, hash := range []string{txA, txB} {
			w.Owner = owned(job2)
			job := w.Job.Version
			if w = run(t, w, answer(hash)); !w.Job.Review || w.Job.Version != job+1 || w.Request.Taken != hash {
				t.Fatalf("%s, %s: %+v", name, hash, w.Job)
			}
		}
		for _, hash := range []string{txA, txB, txA} {
			w.Owner = owned(job2)
			if c, err := policy.Apply(w, answer(hash)); err != nil || len(c.Log) > 0 {
				t.Errorf("%s, %s again: %v, %+v", name, hash, err, c.Log)
			}
		}
	}
	w := states(t)["not sent"]
	for range 2 {
		w.Owner = owned(job2)
		if w = run(t, w, late(w, txA)); !w.Request.Held {
			t.Fatalf("%+v", w.Request)
		}
		w.Owner = owned(job2)
		if c, err := policy.Apply(w, late(w, txA)); err != nil || len(c.Log) > 0 {
			t.Errorf("held, again: %v, %+v", err, c.Log)
		}
		w = run(t, w, withdrawal.Released{By: by(withdrawal.Operator, t0)})
	}
}

// A refund of before the restore passes over what is open: it is paid and refunded.
func TestRefundedAlreadyBesideAnIncidentIsPaidAndRefunded(t *testing.T) {
	already := refunded(t0, withdrawal.Operator)
	already.Already = true
	all := unpaid(t)
	taken := all["cancelled, not sent"]
	taken.Owner = owned(job2)
	mined, disproved := run(t, all["failed"], receipt(t0, txA, 3)), run(t, all["proven dead"], receipt(t0, "tx1", 3))
	sent, settled := run(t, all["not sent"], late(all["not sent"], txA)), dead(t0, txA, 3, 0)
	settled.By = by(withdrawal.Operator, t0)
	for _, tt := range []struct {
		name string
		w    withdrawal.Withdrawal
		hash string
	}{
		{"mined", mined, txA},
		{"mined, and another", run(t, mined, acknowledged(t0), receipt(t0, txB, 3)), txB},
		{"declared dead and mined", disproved, "tx1"},
		{"taken", run(t, taken, late(taken, txA)), txA},
		{"sent", sent, txA},
		{"sent, after what is settled and what is mined", run(t, sent, settled, paidBy(t0, withdrawal.Operator, txB), acknowledged(t0),
			late(sent, txC)), txC},
		{"sent, beside what is acknowledged", run(t, sent, receipt(t0, txB, 3), acknowledged(t0)), txA},
		{"acknowledged", run(t, mined, acknowledged(t0)), ""},
		{"sent, and proven dead", run(t, sent, settled), ""},
		{"nothing", all["failed"], ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.w
			w.Recovering = true
			c, err := policy.Apply(w, already)
			if err != nil {
				t.Fatal(err)
			}
			sound(t, c)
			r, finding := c.New.Request, withdrawal.Check(c.New)
			if tt.hash == "" {
				if len(c.Log) != 1 || r.PaidAfter != "" || r.Acknowledged != w.Request.Acknowledged || finding != nil {
					t.Errorf("an ordinary refund: %+v, %v", r, finding)
				}
				return
			}
			if r.PaidAfter != tt.hash || r.Acknowledged || !errors.Is(finding, withdrawal.ErrPaidAndRefunded) ||
				policy.Next(c.New, t0).Party != withdrawal.Operator {
				t.Errorf("%+v, %v", r, finding)
			}
			if len(c.Log) != 2 || c.Log[1].Trigger != withdrawal.OnFlagged.String() || c.Log[1].Reason != "after the refund refund-1: "+tt.hash {
				t.Errorf("%+v", c.Log)
			}
			// It is no news after that; another one is.
			if tt.name == "mined" {
				if again, err := policy.Apply(c.New, receipt(t0, txA, 3)); err != nil || len(again.Log) > 0 {
					t.Errorf("%v, %+v", err, again.Log)
				}
			}
			if after := run(t, c.New, acknowledged(t0)); withdrawal.Check(after) != nil {
				t.Error(withdrawal.Check(after))
			}
			if again, err := policy.Apply(c.New, already); err != nil || !again.Empty() {
				t.Errorf("the refund again: %v", err)
			}
		})
	}
	sent.Strays, sent.Recovering = nil, true
	if _, err := policy.Apply(sent, already); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("not loaded: %v", err)
	}
}

// What a signer named of another's is open, and no second payment.
func TestTakenBesideTheFinalIsNoSecondPayment(t *testing.T) {
	s := states(t)
	settled, at := dead(t0, "tx0", 3, 0), s["sent unfiled"].Job.ScheduledAt
	settled.By = by(withdrawal.Operator, t0)
	w := run(t, s["sent unfiled"], settled, receipt(at, "tx1", 3))
	if w = news(t, w, late(w, txA), owned(job2)); w.Request.Status != withdrawal.RequestCompleted || withdrawal.Check(w) != nil {
		t.Errorf("%v: %v", w.Request.Status, withdrawal.Check(w))
	}
}

// A list that is full of other words hides no payment: the record has it elsewhere.
func TestCheckFindsWhatAFullListHasLost(t *testing.T) {
	full := withdrawal.Told(strings.TrimSuffix(strings.Repeat("taken@1:aa ", withdrawal.MaxTold), " "))
	stray := func(claim withdrawal.IncidentClaim, hash string, settled bool) withdrawal.Stray {
		s := withdrawal.Stray{Request: req, Claim: claim, Hash: hash}
		if settled {
			s.SettledAt = t0
		}
		return s
	}
	for _, tt := range []struct {
		name             string
		mined, disproved string
		strays           []withdrawal.Stray
		found            string
	}{
		{"mined", txA, "", nil, txA},
		{"declared dead and mined", "tx1", txB, nil, txB},
		{"a stray", "tx1", "", []withdrawal.Stray{stray(withdrawal.ClaimMined, txB, true), stray(withdrawal.ClaimMined, txC, false)}, txC},
		{"a stray that joined", "tx1", "", []withdrawal.Stray{stray(withdrawal.ClaimMined, txC, true)}, ""},
		{"a stray that was sent", "tx1", "", []withdrawal.Stray{stray(withdrawal.ClaimSent, txC, false)}, ""},
		{"nothing", "tx1", "", nil, ""},
	} {
		w := states(t)["confirmed"]
		r := &w.Request
		r.Mined, r.Disproved, r.Taken, r.Told, w.Strays, r.StraysOnFile = tt.mined, tt.disproved, txA, full, tt.strays, int32(len(tt.strays))
		if tt.disproved != "" {
			r.DisprovedBy = "olga"
		}
		if strings.HasSuffix(tt.name, "sent") {
			r.StraysSent = 1
		}
		err := withdrawal.Check(w)
		if errors.Is(err, withdrawal.ErrPaidTwice) != (tt.found != "") || err != nil && !strings.Contains(err.Error(), tt.found+", beside tx1") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if r.Told += " taken@1:bb"; !errors.Is(withdrawal.Check(w), statemachine.ErrCorrupt) {
			t.Errorf("%s: the list has %d words: %v", tt.name, withdrawal.MaxTold+1, withdrawal.Check(w))
		}
	}
}

// 32 are remembered. One more opens the request once more: then it is an operator's, and nothing that
// is told moves its version, in whatever turn. An acknowledgement covers it too, and ends the alert;
// what is not remembered is news after that, once for each acknowledgement.
func TestToldIsBounded(t *testing.T) {
	w := states(t)["failed"]
	told := func(i int) withdrawal.Receipt { return receipt(t0, fmt.Sprintf("%02x", i), 3) }
	for i := range withdrawal.MaxTold {
		w = news(t, w, told(i), uuid.NullUUID{})
	}
	w = run(t, w, acknowledged(t0))
	if c, err := policy.Apply(w, told(0)); err != nil || len(c.Log) > 0 {
		t.Errorf("the oldest is known: %v, %+v", err, c.Log)
	}
	w = news(t, w, told(255), uuid.NullUUID{})
	if !w.Request.Told.More() || w.Request.Acknowledged {
		t.Errorf("told is %q, acknowledged %v", w.Request.Told, w.Request.Acknowledged)
	}
	if step := policy.Next(w, t0); step.Party != withdrawal.Operator {
		t.Errorf("it is %v's", step.Party)
	}
	settled := run(t, w, acknowledged(t0))
	if r := &settled.Request; r.Told.More() || !r.Acknowledged || settled.Request.Version != w.Request.Version+1 {
		t.Errorf("settled: %q, %v", r.Told, r.Acknowledged)
	}
	for i := range withdrawal.MaxTold {
		if c, err := policy.Apply(settled, told(i)); err != nil || len(c.Log) > 0 {
			t.Errorf("settled, and %02x is known: %v, %+v", i, err, c.Log)
		}
	}
	for _, i := range []int{255, 254} { // whether one was told before no list remembers
		if again := news(t, settled, told(i), uuid.NullUUID{}); !again.Request.Told.More() || again.Request.Acknowledged {
			t.Errorf("settled, and told %02x: %q", i, again.Request.Told)
		}
	}
	for round := range 2 {
		for i := range withdrawal.MaxTold + 3 {
			c, err := policy.Apply(w, told(i))
			if err != nil || len(c.Log) > 0 || len(c.Incidents) != 1 {
				t.Fatalf("round %d, %02x: %v, %+v, %d incidents", round, i, err, c.Log, len(c.Incidents))
			}
			w = c.New
		}
	}
	recovering := w
	recovering.Recovering = true
	already := withdrawal.Refunded{By: by(withdrawal.Operator, t0), Reference: "r", Reason: "r", Already: true}
	if c, err := policy.Apply(recovering, already); err != nil || c.New.Request.PaidAfter != "1f" {
		t.Errorf("refunded before the restore: paid after is %q, %v", c.New.Request.PaidAfter, err)
	}
}

// What is told in two ways beside a request that has ended, that it was sent and that it was mined,
// leaves one question open, whichever is told first: whether an operator acknowledges what was
// mined.
func TestWhatWasSentAndIsMinedIsSentNoMore(t *testing.T) {
	base := run(t, states(t)["not sent"], withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "r"})
	sent := withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx0"}
	mined := paidBy(t0, withdrawal.Operator, "tx0")
	mined.Block = block(3)
	for name, events := range map[string][]withdrawal.Event{
		"sent first": {sent, mined}, "mined first": {mined, sent}, "again and again": {sent, mined, sent, mined},
		"before the end": nil,
	} {
		base := base
		if events == nil { // beside what is out, which is mined too
			base, events = states(t)["sent unfiled"], []withdrawal.Event{mined, receipt(t0, "tx1", 3)}
		}
		w := run(t, base, events...)
		if name == "before the end" && w.Request.Status != withdrawal.RequestCompleted {
			t.Errorf("it is %v", w.Request.Status)
		}
		if r := &w.Request; r.StraysSent != 0 || r.Mined != "tx0" || r.Acknowledged {
			t.Errorf("%s: %d sent, mined %q, acknowledged %v", name, r.StraysSent, r.Mined, r.Acknowledged)
		}
		for _, ev := range []withdrawal.Event{sent, mined} {
			if c, err := policy.Apply(w, ev); err != nil || len(c.Log) > 0 {
				t.Errorf("%s, %T again: %v, %+v", name, ev, err, c.Log)
			}
		}
		if step := policy.Next(w, t0); step.Party != withdrawal.Operator {
			t.Errorf("%s: it is %v's", name, step.Party)
		}
		if step := policy.Next(run(t, w, acknowledged(t0)), t0); step.Party != 0 {
			t.Errorf("%s: acknowledged, and it is %v's", name, step.Party)
		}
	}
}

// A hash is a text from outside: whatever is in it, it is one word.
func TestToldOfAnyHash(t *testing.T) {
	w := states(t)["failed"]
	for _, hash := range []string{"a b", "a%20b", "a", "mined:a", "a\nb", "a\u00a0b", "b", strings.Repeat(" ", withdrawal.MaxHash),
		"%", ":", "@"} {
		w = news(t, w, receipt(t0, hash, 3), uuid.NullUUID{})
		refund := withdrawal.Refunded{By: by(withdrawal.Operator, t0), Reference: "r", Reason: "r", Already: true}
		open := w
		open.Recovering = true
		if c, err := policy.Apply(open, refund); err != nil || c.New.Request.PaidAfter != hash {
			t.Errorf("%q is %q, %v", hash, c.New.Request.PaidAfter, err)
		}
	}
}

package withdrawal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// What is acknowledged is a version of the request, decided on one that was looked at;
// again it changes nothing, whatever was decided on; of what has not ended nobody says it.
func TestAcknowledgedIsAVersion(t *testing.T) {
	s := states(t)
	mined := run(t, s["failed"], receipt(t0, "x", 3))
	ack := withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "not ours"}
	ack.Version = mined.Request.Version
	done := run(t, mined, ack)
	if r := done.Request; !r.Acknowledged || r.Version != mined.Request.Version+1 || r.UpdatedAt != mined.Request.UpdatedAt {
		t.Errorf("%+v", r)
	}
	expect(t, policy, done, ack, "-")
	stale := ack
	stale.Version--
	expect(t, policy, mined, stale, "conflict")
	for name, of := range map[string]withdrawal.Withdrawal{"approved": s["requeued"], "queued": s["job pending"]} {
		of.Request.Mined = "x"
		if got := word(policy.Apply(of, withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "r"})); got != "illegal" {
			t.Errorf("%s: %s", name, got)
		}
	}
	ack.Version, ack.Reason = 0, ""
	expect(t, policy, mined, ack, "invalid")
}

// What a signer names that is another's is the latest of its answers, and what was
// acknowledged of an earlier one is open again.
func TestWhoseSignerNamedWhatIsAnothersIsNotPaidBeforeAPersonHasSettledIt(t *testing.T) {
	s := states(t)
	at := s["not sent"].Job.ScheduledAt
	last := s["review"]
	last.Job.RetryCount = last.Job.MaxRetries
	failed := run(t, last, notSent(last, t0))
	again := run(t, failed, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true})
	claim, order := withdrawal.Claimed{By: worker(at)}, enqueued(at, id(99))
	requeue := withdrawal.Requeued{By: by(withdrawal.Operator, at), Job: job1, NotRefunded: true}
	for name, c := range map[string]struct {
		of   withdrawal.Withdrawal
		next withdrawal.Event
		do   withdrawal.Do // what Next names again
	}{"a claim": {s["not sent"], claim, withdrawal.DoClaim}, "an order": {again, order, withdrawal.DoEnqueue}, "a requeue": {failed, requeue, 0}} {
		w := c.of
		w.Owner = owned(job2)
		w = run(t, w, withdrawal.Broadcast{By: worker(at), Fence: 1, Hash: "theirs"})
		if w.Request.Held {
			w = run(t, w, withdrawal.Released{By: by(withdrawal.Operator, at), Reason: "r"})
		}
		kind := map[bool]withdrawal.DueKind{true: withdrawal.DueClaim, false: withdrawal.DueEnqueue}[c.do == withdrawal.DoClaim]
		if step := policy.Next(w, at.Add(time.Hour)); step.Party != withdrawal.Operator || len(step.Actions) > 0 {
			t.Errorf("%s: it is %v's, %v", name, step.Party, step.Actions)
		}
		if withdrawal.IsDue(kind, &w, 0, at.Add(time.Hour)) {
			t.Errorf("%s: it is due", name)
		}
		expect(t, policy, w, c.next, "illegal")
		w = run(t, w, withdrawal.Acknowledged{By: by(withdrawal.Operator, at), Reason: "the signer's history shows nothing"})
		if c.do != 0 {
			if step := policy.Next(w, at.Add(time.Hour)); len(step.Actions) != 1 || step.Actions[0].Do != c.do {
				t.Errorf("%s, settled: %+v", name, step)
			}
		}
		run(t, w, c.next)
		w.Owner = owned(job2)
		other := run(t, w, withdrawal.Broadcast{By: worker(at), Fence: 1, Hash: "others"}) // another hash is news
		if other.Request.Held {
			other = run(t, other, withdrawal.Released{By: by(withdrawal.Operator, at), Reason: "r"})
		}
		expect(t, policy, other, c.next, "illegal")
	}
	// Of what may have been paid nothing is settled before the end.
	for _, name := range []string{"sent unfiled", "queued mined"} {
		w, ok := s[name]
		if !ok {
			continue
		}
		w.Request.Taken, w.Request.Told = "theirs", "taken@1:theirs"
		expect(t, policy, w, acknowledged(at), "illegal")
	}
}

func TestTakenIsTheLatest(t *testing.T) {
	w := unpaid(t)["cancelled, not sent"]
	name := func(hash string) {
		t.Helper()
		w.Owner = owned(job2)
		version := w.Request.Version
		if w = run(t, w, late(w, hash)); w.Request.Taken != hash || w.Request.Acknowledged || w.Request.Version != version+1 ||
			policy.Next(w, t0).Party != withdrawal.Operator {
			t.Errorf("%s: %+v", hash, w.Request)
		}
	}
	name("a")
	w = run(t, w, withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "r"})
	if policy.Next(w, t0).Party != 0 {
		t.Error("it is settled")
	}
	name("b")
	w.Owner = owned(job2)
	if c, err := policy.Apply(w, late(w, "b")); err != nil || len(c.Log) > 0 {
		t.Errorf("again: %v, %v", c.Log, err)
	}
	for whose, want := range map[string]string{"another request's": "the hash is that of request " + job2.String() + ": c",
		"a filler's": "the hash is a filler's: c"} {
		w.Owner = owned(job2)
		if whose == "a filler's" {
			w.Owner.UUID = [16]byte{}
		}
		c, err := policy.Apply(w, late(w, "c"))
		if err != nil || c.Log[0].Reason != want {
			t.Errorf("%s: %v, %v", whose, c.Log, err)
		}
	}
}

// What was sent is a fact beside the record, and a line that names it; so is its end.
func TestAStrayIsAFactAndALine(t *testing.T) {
	p := answering(time.Hour)
	w := unpaid(t)["cancelled, not sent"]
	c, err := p.Apply(w, late(w, "h"))
	if err != nil || len(c.Strays) != 1 || c.Strays[0].Hash != "h" || c.Strays[0].Claim != withdrawal.ClaimSent || len(c.Log) != 1 ||
		c.Log[0].Reason != "sent: h" {
		t.Fatalf("%+v, %+v, %v", c.Strays, c.Log, err)
	}
	gone := dead(t0, "h", 3, 0)
	gone.By = by(withdrawal.Operator, t0)
	end, err := p.Apply(c.New, gone)
	if err != nil || len(end.Strays) != 1 || end.Strays[0].SettledAt.IsZero() || len(end.Log) != 1 || end.Log[0].Reason != "settled: h" ||
		end.New.Request.Version != c.New.Request.Version+1 {
		t.Fatalf("%+v, %+v, %v", end.Strays, end.Log, err)
	}
	if c.New.Strays[0].SettledAt != (time.Time{}) {
		t.Error("it is written through")
	}
}

// What an incident says of a block is within bounds.
func TestTheBlockOfAnIncidentIsBounded(t *testing.T) {
	for name, hash := range map[string]string{"101 bytes": strings.Repeat("b", 101), "a NUL": "b\x00"} {
		ev := receipt(t0, "x", 3)
		ev.Block.Hash, ev.Canonical = hash, hash
		if _, err := policy.Apply(states(t)["failed"], ev); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

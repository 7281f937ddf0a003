package withdrawal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

func TestRule8ConfirmationDepth(t *testing.T) {
	at := t0.Add(time.Second)
	for _, threshold := range []uint64{1, 2, 12} {
		p := policy
		p.Chain.Confirmations = threshold
		for depth := max(1, threshold-1); depth <= threshold+1; depth++ {
			want := "confirmed"
			if depth < threshold {
				want = "touch"
			}
			w := expect(t, p, states(t)["confirming"], receipt(at, "tx1", depth), want)
			if depth < threshold && !w.Job.NextCheckAt.Equal(at.Add(p.CheckEvery)) {
				t.Errorf("next check at %v", w.Job.NextCheckAt)
			}
		}
	}
	s := states(t)["confirming"]
	orphan := receipt(at, "tx1", 100)
	orphan.Canonical = "another"
	expect(t, policy, s, orphan, "touch")
	behind := receipt(at, "tx1", 3)
	behind.Head = 9
	expect(t, policy, s, behind, "touch")
	expect(t, withdrawal.Policy{CheckEvery: time.Second}, s, receipt(at, "tx1", 1<<60), "touch")
	expect(t, policy, s, receipt(at, "foreign", 3), "invalid")
	bad := receipt(at, "tx1", 3)
	bad.GasUsed = "-1"
	expect(t, policy, s, bad, "invalid")

	w := expect(t, policy, s, receipt(at, "tx1", 3), "confirmed")
	if w.Job.GasUsed != "21000" || w.Job.GasPrice != "5000000000" || w.Request.Status != withdrawal.RequestCompleted ||
		w.Request.FinalTxHash != "tx1" || !w.Job.ProcessedAt.Equal(at) {
		t.Errorf("%+v", w.Job)
	}
}

func TestRule8TimeFailsNothing(t *testing.T) {
	w := states(t)["confirming"]
	for i := range 1000 {
		at := t0.Add(time.Duration(i) * 24 * time.Hour)
		w = run(t, w, withdrawal.Missing{By: checker(at), Tx: "tx1"}, withdrawal.Missing{By: checker(at), Tx: "tx1", Error: "RPC timeout"},
			withdrawal.Elapsed{By: by(withdrawal.System, at)})
		if w.Job.Status != withdrawal.JobConfirming || !w.Job.Rebroadcast || w.Job.Review {
			t.Fatalf("day %d: %+v", i, w.Job)
		}
	}
	if w.Job.Version != states(t)["confirming"].Job.Version {
		t.Error("look-ups made versions")
	}
	// Without bytes on file it becomes an operator's, at the alert time and not by an RPC error.
	w = run(t, states(t)["dispatched"], withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"})
	alert := t0.Add(policy.AlertAfter)
	expect(t, policy, w, withdrawal.Missing{By: checker(alert.Add(-time.Microsecond)), Tx: "tx1"}, "touch")
	expect(t, policy, w, withdrawal.Missing{By: checker(alert), Tx: "tx1", Error: "RPC timeout"}, "touch")
	expect(t, policy, w, withdrawal.Missing{By: checker(alert), Tx: "tx1"}, "confirming, review")
}

func TestRule8Incidents(t *testing.T) {
	s := states(t)
	claim := func(from string, ev withdrawal.Event) string {
		c, err := policy.Apply(s[from], ev)
		if len(c.Incidents) == 1 && c.Incidents[0].Claim == withdrawal.ClaimMined { // the one line is the flag of the request
			c.New.Request, c.Log = c.Old.Request, c.Log[1:]
		}
		if err != nil || len(c.Incidents) > 1 || !same(c.Old, c.New) || len(c.Log) != 0 {
			t.Errorf("%s, %T: %v", from, ev, err)
			return ""
		}
		if len(c.Incidents) == 0 {
			return ""
		}
		again, _ := policy.Apply(s[from], ev)
		if c.Incidents[0] != again.Incidents[0] {
			t.Error("an incident has no stable key")
		}
		return c.Incidents[0].Claim.String()
	}
	rev := receipt(t0, "tx1", 3)
	rev.Reverted = true
	for i, tt := range []struct {
		from string
		ev   withdrawal.Event
		want string
	}{
		{"confirmed", receipt(t0, "tx1", 3), ""},
		{"confirmed", receipt(t0, "tx1", 30), ""},
		{"confirmed", rev, "reverted"},
		{"confirmed", receipt(t0, "foreign", 3), "mined"},
		{"confirmed", receipt(t0, "foreign", 2), ""},
		{"confirmed", withdrawal.Missing{By: checker(t0), Tx: "tx1"}, "missing"},
		{"confirmed", withdrawal.Missing{By: checker(t0), Tx: "tx1", Error: "RPC"}, ""},
		{"confirmed", dead(t0, "tx1", 3, 7), "dead"},
		{"reverted", rev, ""},
		{"reverted", receipt(t0, "tx1", 3), "mined"},
		{"failed", receipt(t0, "foreign", 3), "mined"},
		{"failed", withdrawal.Missing{By: checker(t0), Tx: "tx1"}, ""},
	} {
		if got := claim(tt.from, tt.ev); got != tt.want {
			t.Errorf("case %d: %q, expected %q", i, got, tt.want)
		}
	}
	expect(t, policy, s["confirmed"], receipt(t0, strings.Repeat("x", withdrawal.MaxHash+1), 3), "invalid")
	// Who leaves At out says it now; a slow look-up from before the end says when it began.
	ended := s["confirmed"].Job.ProcessedAt
	for _, tt := range []struct {
		at, now time.Time
		want    string
	}{
		{time.Time{}, ended.Add(time.Hour), "incident"}, {time.Time{}, ended, "incident"},
		{ended.Add(-time.Microsecond), ended.Add(time.Hour), "-"}, {ended, ended.Add(time.Hour), "incident"},
	} {
		if got := word(policy.ApplyAt(s["confirmed"], withdrawal.Missing{By: checker(tt.at), Tx: "tx1"}, tt.now)); got != tt.want {
			t.Errorf("missing, asked at %v, said at %v: %s", tt.at, tt.now, got)
		}
	}
	// The look-up of a worker is from when it was given out, unless it says another time, also beside the lease of a
	// sender who died, which a clock that was days ahead gave.
	given := ended.Add(-time.Minute)
	for _, lease := range []statemachine.Lease{{}, {Holder: "payer", Fence: 3, Until: given.Add(-time.Hour)},
		{Holder: "payer", Fence: 3, Until: given.Add(96 * time.Hour)}} {
		w := s["confirming"]
		w.Job.Lease, w.Job.NextCheckAt = lease, given.Add(policy.CheckEvery)
		for _, tt := range []struct{ at, want time.Time }{{time.Time{}, given}, {t0, t0}} {
			if e, ok := policy.LookedUp(withdrawal.Missing{By: checker(tt.at), Tx: "tx1"}, &w).(withdrawal.Missing); !ok ||
				!e.At.Equal(tt.want) {
				t.Errorf("asked at %v, expected %v", e.At, tt.want)
			}
		}
		if ev := policy.LookedUp(receipt(time.Time{}, "tx1", 3), &w).(withdrawal.Receipt); !ev.At.IsZero() {
			t.Errorf("a receipt of %v", ev.At)
		}
	}
	over := s["confirmed"] // which a host has read meanwhile
	if e := policy.LookedUp(withdrawal.Missing{By: checker(time.Time{}), Tx: "tx1"}, &over).(withdrawal.Missing); !e.At.IsZero() {
		t.Errorf("of one that has ended it is from %v", e.At)
	}
}

func TestRule8RebroadcastOrder(t *testing.T) {
	a := withdrawal.Job{ID: id(1), Wallet: id(1), Nonce: 1, HasNonce: true, NextCheckAt: t0.Add(time.Second)}
	b := withdrawal.Job{ID: id(9), Wallet: id(1), Nonce: 2, HasNonce: true, NextCheckAt: t0} // a greater id
	c := withdrawal.Job{ID: id(10), Wallet: id(2), NextCheckAt: t0}
	if !withdrawal.LowerNonce(&a, &b) || withdrawal.LowerNonce(&b, &a) || withdrawal.LowerNonce(&a, &a) {
		t.Error("a wallet offers its lowest nonce")
	}
	other := b
	other.Wallet = id(2)
	if withdrawal.LowerNonce(&a, &other) || withdrawal.LowerNonce(&c, &other) || withdrawal.LowerNonce(&other, &c) {
		t.Error("nonces are of one wallet")
	}
	if withdrawal.CompareRebroadcasts(&b, &a) >= 0 || withdrawal.CompareRebroadcasts(&b, &c) >= 0 {
		t.Error("between wallets the next check counts, then the id")
	}
	w := run(t, states(t)["confirming"], withdrawal.Missing{By: checker(t0), Tx: "tx1"})
	step := policy.Next(w, w.Job.NextCheckAt)
	if len(step.Actions) != 2 || step.Actions[1].Do != withdrawal.DoRebroadcast || string(step.Actions[1].Raw) != "tx1" || step.Actions[1].Fence != 2 {
		t.Errorf("%+v", step)
	}
	at := w.Job.NextCheckAt
	w = run(t, w, withdrawal.Claimed{By: worker(at), Fence: 2})
	expect(t, policy, w, withdrawal.Rebroadcast{By: worker(at), Fence: 2, Hash: "other"}, "invalid")
	failed := run(t, w, withdrawal.Rebroadcast{By: worker(at), Fence: 2, Hash: "tx1"})
	done := run(t, w, withdrawal.Rebroadcast{By: worker(at), Fence: 2, Hash: "tx1", Done: true})
	if failed.Job.Rebroadcast || done.Job.Rebroadcast || done.Job.Version != w.Job.Version {
		t.Error("wrong flag")
	}
	expect(t, policy, done, withdrawal.Rebroadcast{By: worker(at), Fence: 2, Hash: "tx1", Done: true}, "-")
}

// A replaced transaction that the node has forgotten is no reason to send again.
func TestRule8OnlyTheNewestIsSentAgain(t *testing.T) {
	w := run(t, states(t)["leased confirming"],
		withdrawal.Rebumped{By: worker(t0), Fence: 2, Hash: "tx2", Raw: []byte("tx2"), Nonce: 7, HasNonce: true},
		withdrawal.Rebroadcast{By: worker(t0), Fence: 2, Hash: "tx2", Done: true},
		withdrawal.Missing{By: checker(t0.Add(time.Second)), Tx: "tx1"})
	if w.Job.Rebroadcast {
		t.Error("the replaced transaction is missed")
	}
	if w = run(t, w, withdrawal.Missing{By: checker(t0.Add(time.Second)), Tx: "tx2"}); !w.Job.Rebroadcast {
		t.Error("the newest transaction is not missed")
	}
}

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

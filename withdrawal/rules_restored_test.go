package withdrawal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// importOf is the transaction that paid the request after the copy was made.
func importOf(hash string) withdrawal.Imported {
	return withdrawal.Imported{By: by(withdrawal.System, t0), Request: req, Job: job2, AssetOnChain: token, Hash: hash, ByOutput: true, Output: 4, Wallets: wallets()}
}

// What the copy has of a request, and what becomes of it when the transaction that paid it is
// told by Imported: while the chain is recovering, and while it is not.
func TestWhatWasPaidAfterTheCopyWasMade(t *testing.T) {
	s := states(t)
	failed := run(t, s["processing"], withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Permanent, Error: "x"})
	requeued := run(t, failed, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true})
	died := run(t, s["confirming"], withdrawal.Elapsed{By: by(withdrawal.System, t0)})
	died.Job.MaxRetries = died.Job.RetryCount
	died = run(t, died, dead(t0, "tx1", 3, 7))
	if died.Request.Status != withdrawal.RequestFailed || len(died.Txs) != 1 {
		t.Fatal("its only execution died, and it is not failed")
	}
	reverted := receipt(t0, "tx1", 3)
	reverted.Reverted = true
	onChain := run(t, s["confirming"], reverted)
	flagged := failed
	flagged.Request.Mined = "elsewhere"
	survived := failed // a signer that survived has spoken of what it sent for the requeued job
	survived.Recovering = true
	survived = run(t, survived, withdrawal.Broadcast{By: worker(t0), Fence: 2, Hash: "x"})
	paid := run(t, failed, paidBy(t0, withdrawal.Operator, "x"))
	both := paid
	both.Recovering = true
	both = run(t, both, withdrawal.Broadcast{By: worker(t0), Fence: 2, Hash: "y"})
	refunded := run(t, s["cancelled"], withdrawal.Refunded{By: by(withdrawal.System, t0), Reference: "r"})
	lacking := died
	lacking.Txs = nil
	same := importOf("x")
	same.Job = job1
	for _, tt := range []struct {
		what     string
		w        withdrawal.Withdrawal
		ev       withdrawal.Imported
		want     error // while it recovers
		wantElse error // while it does not
	}{
		{"it is pending", s["pending"], importOf("x"), nil, nil},
		{"it is approved", s["approved"], importOf("x"), nil, nil},
		{"it is approved after a requeue", requeued, importOf("x"), nil, statemachine.ErrIllegal},
		{"it is failed", failed, importOf("x"), nil, statemachine.ErrIllegal},
		{"it is failed, and what was sent is proven dead", died, importOf("x"), nil, statemachine.ErrIllegal},
		{"the transaction that was proven dead", died, importOf("tx1"), nil, nil}, // it is on file: nothing changes
		{"it reverted, and may still be mined beside another", onChain, importOf("x"), statemachine.ErrIllegal, statemachine.ErrIllegal},
		{"it may have been paid already", flagged, importOf("x"), statemachine.ErrIllegal, statemachine.ErrIllegal},
		{"a survivor says that it was sent", survived, importOf("x"), nil, statemachine.ErrIllegal},
		{"a survivor says that another was sent", survived, importOf("y"), statemachine.ErrIllegal, statemachine.ErrIllegal},
		{"it is said to be mined", paid, importOf("x"), nil, statemachine.ErrIllegal},
		{"another is said to be mined", paid, importOf("y"), statemachine.ErrIllegal, statemachine.ErrIllegal},
		{"it is mined, and another was sent", both, importOf("x"), statemachine.ErrIllegal, statemachine.ErrIllegal},
		{"it has a job", s["job pending"], importOf("x"), withdrawal.ErrActiveJob, withdrawal.ErrActiveJob},
		{"it is cancelled", s["cancelled"], importOf("x"), statemachine.ErrIllegal, statemachine.ErrIllegal},
		{"it is refunded", refunded, importOf("x"), withdrawal.ErrRefunded, withdrawal.ErrRefunded},
		{"the job that failed", failed, same, statemachine.ErrInvalid, statemachine.ErrIllegal},
		{"its transactions are not loaded", lacking, importOf("x"), statemachine.ErrInvalid, statemachine.ErrIllegal},
	} {
		t.Run(tt.what, func(t *testing.T) {
			for recovering, want := range map[bool]error{true: tt.want, false: tt.wantElse} {
				w := tt.w
				w.Recovering = recovering
				c, err := policy.Apply(w, tt.ev)
				if !errors.Is(err, want) {
					t.Fatalf("recovering %v: %v, expected %v", recovering, err, want)
				}
				if err != nil || c.Empty() {
					continue
				}
				sound(t, c)
				n := c.New
				if n.Request.Status != withdrawal.RequestQueued || n.Job.Status != withdrawal.JobConfirming || n.Job.ID != job2 || n.Recovering ||
					len(n.Txs) != len(w.Txs)+1 || len(n.Live()) != 1 || n.Live()[0].Hash != "x" || !n.Live()[0].ByOutput || n.Live()[0].Output != 4 {
					t.Errorf("it is %v with %+v", n.Request.Status, n.Live())
				}
				if n.Request.StraysSent > 0 {
					t.Errorf("it may have been sent still: %+v", n.Strays)
				}
				if done := run(t, n, receipt(t0, "x", 3)); done.Request.Status != withdrawal.RequestCompleted || done.Request.FinalTxHash != "x" {
					t.Errorf("mined, it is %v", done.Request.Status)
				}
			}
		})
	}
}

// Nothing is ordered, reopened, refunded or approved by the policy alone while it is not known what
// was paid.
func TestNothingIsOrderedWhileTheChainRecovers(t *testing.T) {
	s := states(t)
	failed := run(t, s["processing"], withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Permanent, Error: "x"})
	system := by(withdrawal.System, t0)
	for _, tt := range []struct {
		what                  string
		w                     withdrawal.Withdrawal
		ev                    withdrawal.Event
		recovering, unclaimed error
	}{
		{"an order", s["approved"], enqueued(t0, job1), withdrawal.ErrUnsettled, withdrawal.ErrUnclaimed},
		{"a requeue", failed, withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, NotRefunded: true}, withdrawal.ErrUnsettled, withdrawal.ErrUnclaimed},
		{"a refund", s["cancelled"], withdrawal.Refunded{By: system, Reference: "r"}, withdrawal.ErrUnsettled, withdrawal.ErrUnclaimed},
		{"an approval", s["pending"], withdrawal.Approved{By: by(withdrawal.Approver, t0)}, nil, nil},
		{"a cancellation", s["job pending"], withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "x"}, nil, nil},
		{"evidence", s["confirming"], receipt(t0, "tx1", 3), nil, nil},
	} {
		for why, want := range map[string]error{"recovering": tt.recovering, "unclaimed": tt.unclaimed, "neither": nil} {
			w := tt.w
			w.Recovering, w.Unclaimed = why == "recovering", map[bool]string{true: "x:1"}[why == "unclaimed"]
			c, err := policy.Apply(w, tt.ev)
			if !errors.Is(err, want) || err == nil && (c.New.Recovering || c.New.Unclaimed != "") {
				t.Errorf("%s, %s: %v, expected %v", tt.what, why, err, want)
			}
		}
	}
	p := policy
	p.Approval.Enabled, p.Approval.Assets = true, map[uuid.UUID]withdrawal.ApprovalLimits{asset: {Automatic: decimal.NewFromInt(100)}}
	for recovering, want := range map[bool]withdrawal.RequestStatus{true: withdrawal.RequestPending, false: withdrawal.RequestApproved} {
		c, err := p.Apply(withdrawal.Withdrawal{Recovering: recovering}, submitted(t0))
		if err != nil || c.New.Request.Status != want || recovering != (c.New.Request.ApprovalsNeeded == 1) {
			t.Errorf("recovering %v: it is %v, %v", recovering, c.New.Request.Status, err)
		}
		sound(t, c)
	}
}

// A hot wallet that was put after the start of a restored chain gets no job until its bound is said in that generation.
func TestAWalletWithoutABoundGetsNoJob(t *testing.T) {
	approved := states(t)["approved"]
	late := wallets()[0]
	late.LastUsedAt, late.NextNonce = time.Time{}, 0
	other := late
	other.ID, other.LastUsedAt = named("used before"), t0
	bound := func(says withdrawal.Saying, generation int64) []withdrawal.Statement {
		return []withdrawal.Statement{{Wallet: late.ID, Says: says, Generation: generation}}
	}
	for _, tt := range []struct {
		what       string
		generation int64
		wallets    []withdrawal.HotWallet
		said       []withdrawal.Statement
		want       uuid.UUID // zero: it is refused
	}{
		{"nothing was put back", 0, []withdrawal.HotWallet{late}, nil, late.ID},
		{"no bound", 1, []withdrawal.HotWallet{late}, nil, uuid.Nil},
		{"no bound, and another wallet", 1, []withdrawal.HotWallet{late, other}, nil, other.ID},
		{"through", 1, []withdrawal.HotWallet{late, other}, bound(withdrawal.SaidThrough, 1), late.ID},
		{"coins", 1, []withdrawal.HotWallet{late}, bound(withdrawal.SaidCoins, 1), late.ID},
		{"until", 1, []withdrawal.HotWallet{late}, bound(withdrawal.SaidUntil, 2), late.ID},
		{"the bound of an earlier generation", 2, []withdrawal.HotWallet{late}, bound(withdrawal.SaidCoins, 1), uuid.Nil},
		{"another statement", 1, []withdrawal.HotWallet{late}, bound(withdrawal.SaidUsed, 1), uuid.Nil},
		{"the bound of another wallet", 1, []withdrawal.HotWallet{late}, []withdrawal.Statement{{Wallet: other.ID, Says: withdrawal.SaidCoins, Generation: 1}}, uuid.Nil},
	} {
		w, ev := approved, enqueued(t0, job1)
		w.Generation, w.Said, ev.Wallets = tt.generation, tt.said, tt.wallets
		c, err := policy.Apply(w, ev)
		of := new(withdrawal.UnsettledError)
		switch refused := errors.As(err, &of) && errors.Is(err, withdrawal.ErrNoHotWallet); {
		case tt.want == uuid.Nil && (!refused || of.Open != withdrawal.Open{Chain: late.Chain, Wallet: late.ID, Point: withdrawal.OpenBound}):
			t.Errorf("%s: %v, %v", tt.what, c.New.Job.Wallet, err)
		case tt.want != uuid.Nil && (err != nil || c.New.Job.Wallet != tt.want):
			t.Errorf("%s: wallet %v, %v, expected %v", tt.what, c.New.Job.Wallet, err, tt.want)
		}
	}
	used := late
	used.NextNonce = 3
	for _, h := range []withdrawal.HotWallet{used, other} {
		if h.Unbound(nil, 1) {
			t.Errorf("%+v is on file as one that has paid", h)
		}
	}
}

// A stranger has paid a request that had failed: PaidBy, then Acknowledged, ends it. It is due for no refund, and not paid
// again.
func TestAFailedRequestThatAStrangerPaidEnds(t *testing.T) {
	failed := run(t, states(t)["processing"], withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Permanent, Error: "x"})
	if _, err := policy.Refundable(failed, withdrawal.System, t0); err != nil {
		t.Fatal(err)
	}
	paid := run(t, failed, paidBy(t0, withdrawal.Operator, "a stranger's"))
	ended := run(t, paid, withdrawal.Acknowledged{By: by(withdrawal.Operator, t0), Reason: "a stranger has paid it"})
	if r := &ended.Request; r.Status != withdrawal.RequestFailed || r.Mined != "a stranger's" || !r.Acknowledged || !r.OfferAt.IsZero() {
		t.Errorf("it is %+v", r)
	}
	for what, w := range map[string]withdrawal.Withdrawal{"paid": paid, "ended": ended} {
		if at, err := policy.Refundable(w, withdrawal.System, t0.Add(1000*time.Hour)); err == nil {
			t.Errorf("%s: the system refunds it at %v", what, at)
		}
		again := withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: w.Job.ID, NotRefunded: true}
		if _, err := policy.Apply(w, again); !errors.Is(err, statemachine.ErrIllegal) {
			t.Errorf("%s: it is requeued: %v", what, err)
		}
	}
}

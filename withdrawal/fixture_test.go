package withdrawal_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/withdrawal"
)

var (
	t0     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	user   = id(1)
	asset  = id(2)
	chain  = id(3)
	token  = id(4)
	req    = id(5)
	job1   = id(6)
	job2   = id(7)
	hot    = id(8)
	policy = newPolicy()
)

func id(n byte) uuid.UUID { return uuid.UUID{15: n} }

// owned says that another request has a transaction; the zero id is a filler.
func owned(by uuid.UUID) uuid.NullUUID { return uuid.NullUUID{UUID: by, Valid: true} }

func newPolicy() withdrawal.Policy {
	p := withdrawal.DefaultPolicy()
	p.Chain.Confirmations = 3
	return p
}

func by(r withdrawal.Role, at time.Time) withdrawal.By {
	actor := map[withdrawal.Role]string{withdrawal.Approver: "alice", withdrawal.WithdrawalWorker: "worker-1",
		withdrawal.ConfirmationWorker: "confirmer", withdrawal.Operator: "olga", withdrawal.System: "system"}[r]
	return withdrawal.By{Actor: actor, Role: r, At: at}
}

func worker(at time.Time) withdrawal.By { return by(withdrawal.WithdrawalWorker, at) }
func checker(at time.Time) withdrawal.By {
	return by(withdrawal.ConfirmationWorker, at)
}

func wallets() []withdrawal.HotWallet {
	return []withdrawal.HotWallet{{ID: hot, Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}}
}

func submitted(at time.Time) withdrawal.Submitted {
	return withdrawal.Submitted{By: by(withdrawal.System, at), Request: req, User: user, Asset: asset, Chain: chain,
		ToAddress: "0xabc", Memo: "m", Amount: "100", Decimals: 18}
}

func enqueued(at time.Time, job uuid.UUID) withdrawal.Enqueued {
	return withdrawal.Enqueued{By: by(withdrawal.System, at), Job: job, AssetOnChain: token, Priority: withdrawal.Normal, Wallets: wallets()}
}

func prepared(at time.Time, fence int64, hash string, nonce uint64) withdrawal.Prepared {
	return withdrawal.Prepared{By: worker(at), Fence: fence, Hash: hash, Raw: []byte(hash), Nonce: nonce, HasNonce: true,
		ChainNonce: nonce, HasChainNonce: true}
}

// block at height 10 with the given depth.
func block(depth uint64) withdrawal.Block {
	return withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 10 + depth - 1}
}

func receipt(at time.Time, hash string, depth uint64) withdrawal.Receipt {
	return withdrawal.Receipt{By: checker(at), Block: block(depth), Tx: hash, GasUsed: "21000", GasPrice: "5000000000"}
}

func dead(at time.Time, hash string, depth, nonce uint64) withdrawal.ProvenDead {
	return withdrawal.ProvenDead{By: checker(at), Block: block(depth), Tx: hash, Cause: withdrawal.NonceUsed, Other: "other", Nonce: nonce, NotThisPayment: true}
}

// run applies events that must all be accepted and checks each result.
func run(t testing.TB, w withdrawal.Withdrawal, events ...withdrawal.Event) withdrawal.Withdrawal {
	t.Helper()
	return runWith(t, policy, w, events...)
}

func runWith(t testing.TB, p withdrawal.Policy, w withdrawal.Withdrawal, events ...withdrawal.Event) withdrawal.Withdrawal {
	t.Helper()
	for _, ev := range events {
		c, err := p.Apply(w, ev)
		if err != nil {
			t.Fatalf("%T: %v", ev, err)
		}
		sound(t, c)
		w = c.New
	}
	return w
}

// sound checks what holds of every change.
func sound(t testing.TB, c withdrawal.Change) {
	t.Helper()
	if err := withdrawal.Check(c.New); err != nil && !errors.Is(err, withdrawal.ErrPaidTwice) &&
		!errors.Is(err, withdrawal.ErrPaidAndRefunded) {
		t.Fatal(err)
	}
	lines := 0
	if c.New.Request.Version != c.Old.Request.Version {
		lines += int(c.New.Request.Version - c.Old.Request.Version)
	}
	if c.New.Job.ID == c.Old.Job.ID {
		lines += int(c.New.Job.Version - c.Old.Job.Version)
	} else {
		lines += int(c.New.Job.Version)
	}
	if len(c.Log) != lines {
		t.Fatalf("%d lines of log for %d new versions", len(c.Log), lines)
	}
	if !reflect.ValueOf(c).FieldByName("work").IsZero() {
		t.Fatal("a change keeps what only its making needs")
	}
}

// The states of the paired machine, by name, each with its way there.
func states(t testing.TB) map[string]withdrawal.Withdrawal {
	s := map[string]withdrawal.Withdrawal{"none": {}}
	add := func(name, from string, events ...withdrawal.Event) { s[name] = run(t, s[from], events...) }
	add("pending", "none", submitted(t0))
	add("rejected", "pending", withdrawal.Rejected{By: by(withdrawal.Approver, t0), Reason: "no"})
	add("cancelled", "pending", withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "no"})
	add("approved", "pending", withdrawal.Approved{By: by(withdrawal.Approver, t0)})
	add("job pending", "approved", enqueued(t0, job1))
	add("processing", "job pending", withdrawal.Claimed{By: worker(t0), Fence: 1})
	add("prepared", "processing", prepared(t0, 1, "tx1", 7))
	add("dispatched", "processing", withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "ref"})
	add("review", "dispatched", withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Unclear, Error: "time-out"})
	add("confirming", "prepared", withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"})
	add("leased confirming", "confirming", withdrawal.Claimed{By: worker(t0), Fence: 2})
	add("confirming review", "dispatched", withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"},
		withdrawal.Missing{By: checker(t0.Add(policy.AlertAfter)), Tx: "tx1"})
	add("confirmed", "confirming", receipt(t0, "tx1", 3))
	add("reverted", "confirming", func() withdrawal.Receipt { r := receipt(t0, "tx1", 3); r.Reverted = true; return r }())
	add("failed", "processing", withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Permanent, Error: "Invalid destination address"})
	add("requeued", "failed", withdrawal.Requeued{By: by(withdrawal.Operator, t0), Job: job1, Reason: "address fixed", NotRefunded: true})
	add("refunded", "failed", withdrawal.Refunded{By: by(withdrawal.System, t0), Reference: "refund-1"})
	add("held", "job pending", withdrawal.Held{By: by(withdrawal.Operator, t0)})
	add("held out", "prepared", withdrawal.Held{By: by(withdrawal.Operator, t0)})
	add("not sent", "review", notSent(s["review"], t0))
	// The signer answers after another execution has a transaction out.
	at := s["not sent"].Job.ScheduledAt
	add("sent unfiled", "not sent", withdrawal.Claimed{By: worker(at), Fence: 2}, prepared(at, 2, "tx1", 7), withdrawal.Broadcast{By: worker(at), Fence: 2, Hash: "tx1"},
		withdrawal.Broadcast{By: worker(at), Fence: 1, Hash: "tx0"})
	return s
}

// notSent is an operator's proof for a dispatch in review.
func notSent(w withdrawal.Withdrawal, at time.Time) withdrawal.Resolved {
	b := by(withdrawal.Operator, at)
	b.Version = w.Job.Version
	return withdrawal.Resolved{By: b, Job: w.Job.ID, Reason: "the signer has no such reference"}
}

// paidBy is another transaction that pays the request of the fixtures, at depth.
func paidBy(at time.Time, role withdrawal.Role, hash string) withdrawal.PaidBy {
	return withdrawal.PaidBy{By: by(role, at), Block: block(3), Tx: hash, Payee: "0xabc", AssetOnChain: token,
		AmountRaw: "100000000000000000000", GasUsed: "21000", GasPrice: "7", Reason: "seen in the explorer"}
}

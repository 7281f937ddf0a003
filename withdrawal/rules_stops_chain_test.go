package withdrawal_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/withdrawal"
)

// While an unknown outbound of any hot wallet of a chain is not explained, nothing of the chain begins from another
// wallet, and nothing is refunded; what is out goes on, and so does all evidence.
func TestAnUnknownOutboundStopsItsChain(t *testing.T) {
	other := id(77)
	all := states(t)
	stopped := func(name string) withdrawal.Withdrawal {
		w := all[name]
		if w.Job.Status != 0 {
			w.Wallet.Outbound = other
		} else {
			w.Outbound = other
		}
		return w
	}
	again := func(role withdrawal.Role) withdrawal.Refunded {
		return withdrawal.Refunded{By: by(role, t0), Reference: "refund", Reason: "x"}
	}
	for _, tt := range []struct {
		state string
		ev    withdrawal.Event
		back  int // executions that are given back; -1: it is taken
	}{
		{"approved", enqueued(t0, job1), 0},
		{"job pending", withdrawal.Claimed{By: worker(t0), Fence: 1}, 0},
		{"processing", prepared(t0, 1, "tx1", 7), 1},
		{"processing", withdrawal.Dispatched{By: worker(t0), Fence: 1, Reference: "ref"}, 1},
		{"cancelled", again(withdrawal.System), 0},
		{"failed", again(withdrawal.Operator), 0},

		{"prepared", withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}, -1},
		{"dispatched", withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "tx1"}, -1},
		{"confirming", withdrawal.Claimed{By: worker(t0), Fence: 2}, -1},
		{"leased confirming", withdrawal.Rebumped{By: worker(t0), Fence: 2, Hash: "tx2", Raw: []byte("tx2"), Nonce: 7, HasNonce: true}, -1},
		{"leased confirming", withdrawal.Rebroadcast{By: worker(t0), Fence: 2, Hash: "tx1"}, -1},
		{"confirming", withdrawal.Looking{By: checker(t0)}, -1},
		{"confirming", receipt(t0, "tx1", 3), -1},
		{"confirming", dead(t0, "tx1", 3, 7), -1},
		{"job pending", paidBy(t0, withdrawal.Operator, "x"), -1},
		{"job pending", withdrawal.Cancelled{By: by(withdrawal.Operator, t0), Reason: "x"}, -1},
		{"processing", withdrawal.AttemptFailed{By: worker(t0), Fence: 1, Failure: withdrawal.Retryable, Error: "x"}, -1},
	} {
		w := stopped(tt.state)
		c, err := policy.Apply(w, tt.ev)
		of := new(withdrawal.UnsettledError)
		switch {
		case tt.back < 0 && err != nil:
			t.Errorf("%s, %T: %v", tt.state, tt.ev, err)
		case tt.back < 0:
		case !errors.Is(err, withdrawal.ErrUnsettled) || !errors.As(err, &of) || !c.Empty() ||
			of.Open != withdrawal.Open{Chain: chain, Wallet: other, Point: withdrawal.OpenOutbound}:
			t.Errorf("%s, %T: %v", tt.state, tt.ev, err)
		case len(of.Back) != tt.back || len(of.Said) != 0:
			t.Errorf("%s, %T: it gives back %+v, and tells %+v", tt.state, tt.ev, of.Back, of.Said)
		case tt.back > 0 && of.Back[0].For != 0: // what stops the chain holds it, and no time beside
			t.Errorf("%s, %T: it is given back for %v", tt.state, tt.ev, of.Back[0].For)
		}
		w.Outbound, w.Wallet.Outbound = uuid.Nil, uuid.Nil
		if _, err := policy.Apply(w, tt.ev); err != nil {
			t.Errorf("%s, %T, explained: %v", tt.state, tt.ev, err)
		}
	}
	for _, name := range []string{"approved", "job pending"} { // nobody but a person moves it on
		if step := policy.Next(stopped(name), t0); step.Party != withdrawal.Operator || len(step.Actions) > 0 || !step.Due.IsZero() {
			t.Errorf("%s: it owes %+v", name, step)
		}
	}
	if at, err := policy.Refundable(stopped("cancelled"), withdrawal.System, t0); !at.IsZero() || !errors.Is(err, withdrawal.ErrUnsettled) {
		t.Errorf("refundable: %v, %v", at, err)
	}
	put := run(t, stopped("cancelled"), withdrawal.PutOff{By: by(withdrawal.System, t0)})
	if want := t0.Add(policy.EnqueueEvery); !put.Request.OfferAt.Equal(want) {
		t.Errorf("a refund is offered again at %v, expected %v", put.Request.OfferAt, want)
	}
	for _, kind := range withdrawal.DueKind(0).Values() {
		begins := kind == withdrawal.DueClaim || kind == withdrawal.DueEnqueue || kind == withdrawal.DueRefund
		if withdrawal.DueIn(kind, switches.State{}, other) == begins || !withdrawal.DueIn(kind, switches.State{}, uuid.Nil) {
			t.Errorf("%v is offered, or is not", kind)
		}
	}

	members := claimedMembers(t, policy, 2)
	ev := batchPrepared(t0, members)
	for i := range members {
		members[i].Wallet.Outbound = other
	}
	_, err := policy.ApplyBatch(withdrawal.Payout{Members: members}, ev, t0)
	if of := new(withdrawal.UnsettledError); !errors.As(err, &of) || of.Open.Wallet != other || len(of.Back) != 2 || of.Back[1].For != 0 {
		t.Errorf("a batch: %v", err)
	}
}

// Whatever the status of a wallet was, an unknown outbound is its mark, which the first of the marked wallets of a chain gives to all.
func TestTheMarkOfAnUnknownOutbound(t *testing.T) {
	a, b := id(1), id(2)
	for _, status := range []string{withdrawal.WalletActive, "paused", "retired", withdrawal.WalletUnknown} {
		for _, already := range []uuid.UUID{uuid.Nil, a, b} {
			got := withdrawal.HotWallet{ID: b, Status: status, Outbound: already}.Off()
			want := b
			if bytes.Equal(already[:], a[:]) {
				want = a
			}
			if got.Status != withdrawal.WalletUnknown || got.Outbound != want {
				t.Errorf("%s, %v: %+v", status, already, got)
			}
		}
	}
	all := []withdrawal.HotWallet{{ID: a, Status: "paused"}, {ID: b, Role: "cold", Status: withdrawal.WalletUnknown}}
	if got := withdrawal.OutboundOf(all); got != b {
		t.Errorf("%v stops the chain", got)
	}
	if got := withdrawal.OutboundOf(all[:1]); got != uuid.Nil {
		t.Errorf("%v stops the chain", got)
	}
}

package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// again is a chain with nonces whose database is put back more than once. Its clock moves by a second at each call.
type again struct {
	*store.Withdrawals
	t      *testing.T
	sw     *store.Switches
	wallet withdrawal.HotWallet
	now    time.Time
}

var (
	olga    = withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	paying  = withdrawal.By{Actor: "worker", Role: withdrawal.WithdrawalWorker}
	intake  = withdrawal.By{Actor: "intake", Role: withdrawal.System}
	atDepth = withdrawal.Block{Height: 100, Hash: "block", Canonical: "block", Head: 111}
)

func newAgain(t *testing.T) *again {
	t.Helper()
	a := &again{t: t, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	db := memory.New(memory.Options{Now: func() time.Time { a.now = a.now.Add(time.Second); return a.now }})
	var err error
	if a.Withdrawals, err = store.NewWithdrawals(db, withdrawal.DefaultPolicy()); err == nil {
		a.sw, err = store.NewSwitches(db)
	}
	a.wallet = withdrawal.HotWallet{ID: uuid.New(), Chain: uuid.New(), Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	a.ok(err, a.PutHotWallet(context.Background(), intake, a.wallet))
	return a
}

func (a *again) ok(errs ...error) {
	a.t.Helper()
	if err := errors.Join(errs...); err != nil {
		a.t.Fatal(err)
	}
}

// order submits a request and orders it, and sends more events to it.
func (a *again) order(events ...withdrawal.Event) uuid.UUID {
	a.t.Helper()
	id := uuid.New()
	_, err := a.Do(context.Background(), id, append([]withdrawal.Event{
		withdrawal.Submitted{By: intake, Request: id, User: uuid.New(), Asset: uuid.New(), Chain: a.wallet.Chain, ToAddress: "payee", Amount: "5"},
		withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
		withdrawal.Enqueued{By: intake, Job: uuid.New(), AssetOnChain: a.wallet.ID, Priority: withdrawal.Normal}}, events...)...)
	a.ok(err)
	return id
}

func (a *again) restored(generation int64) {
	a.t.Helper()
	_, err := a.sw.Recover(context.Background(), switches.Recovering{By: switches.By{Actor: "olga", Role: switches.Operator},
		Scope: switches.Everything, Level: switches.Send, Generation: generation, Reason: "fail-over"})
	a.ok(err)
}

func (a *again) say(events ...withdrawal.Event) {
	a.t.Helper()
	for _, ev := range events {
		a.ok(a.Say(context.Background(), ev))
	}
}

func (a *again) start() error {
	_, err := a.sw.Start(context.Background(), switches.Started{By: switches.By{Actor: "olga", Role: switches.Operator},
		Scope: switches.Chain(a.wallet.Chain), Recovery: true, Reason: "all is explained"})
	return err
}

// A database that is put back again while it is recovering has a request above a nonce that was never told: the nonce
// stands open until somebody tells what used it, in whichever generation.
func TestPutBackAgainBeforeAllWasTold(t *testing.T) {
	signed := func(nonce uint64, hash string) []withdrawal.Event {
		return []withdrawal.Event{withdrawal.Claimed{By: paying},
			withdrawal.Prepared{By: paying, Fence: 1, Hash: hash, Raw: []byte(hash), Nonce: nonce, HasNonce: true, HasChainNonce: true, ChainNonce: nonce},
			withdrawal.Broadcast{By: paying, Fence: 1, Hash: hash}}
	}
	checker := withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}
	mined := func(hash string) withdrawal.Event {
		return withdrawal.Receipt{By: checker, Tx: hash, Block: atDepth}
	}
	used := func(a *again) withdrawal.Used {
		return withdrawal.Used{By: olga, Wallet: a.wallet.ID, Block: atDepth, Nonce: 1, Tx: "tx-1"}
	}
	for name, tt := range map[string]struct {
		lookUp bool // what is above the gap is completed by a look-up, and not by PaidBy
		told   func(a *again)
		want   error
	}{
		"completed by PaidBy":    {false, func(*again) {}, switches.ErrUnsettled},
		"completed by a look-up": {true, func(*again) {}, switches.ErrUnsettled},
		"told before the second": {true, func(a *again) { a.say(used(a)) }, nil},
		"a filler is on file of it": {true, func(a *again) {
			a.ok(a.PutFiller(context.Background(), withdrawal.Filler{Wallet: a.wallet.ID, Chain: a.wallet.Chain, Nonce: 1, Hash: "f", Actor: "olga", Reason: "x"}))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgain(t)
			ctx := context.Background()
			a.order(append(signed(0, "tx-0"), mined("tx-0"))...)
			a.order() // nonce 1 pays it in the lost span
			var above uuid.UUID
			if tt.lookUp {
				above = a.order(withdrawal.Claimed{By: paying}, withdrawal.Dispatched{By: paying, Fence: 1, Reference: "r"},
					withdrawal.Broadcast{By: paying, Fence: 1, Hash: "tx-2", Nonce: 2, HasNonce: true})
			} else {
				above = a.order()
			}
			a.restored(1)
			tt.told(a)
			completed := mined("tx-2")
			if !tt.lookUp {
				completed = withdrawal.PaidBy{By: olga, Block: atDepth, Tx: "tx-2", Nonce: 2, HasNonce: true, Payee: "payee", AssetOnChain: a.wallet.ID,
					AmountRaw: "5", Reason: "the signer's log"}
			}
			_, err := a.Do(ctx, above, completed)
			a.ok(err)
			a.now = a.now.Add(time.Second)
			copied := a.now
			a.restored(2)
			a.say(withdrawal.BooksRead{By: olga, Chain: a.wallet.Chain, Since: copied, Reason: "the ledger"},
				withdrawal.Bound{By: olga, Wallet: a.wallet.ID, Through: 3, Source: withdrawal.SignerLog, SignerEnded: true, Reason: "line 3"},
				withdrawal.AtDepth{By: olga, Wallet: a.wallet.ID, Block: atDepth, Next: 3})
			if err := a.start(); !errors.Is(err, tt.want) {
				t.Fatalf("%v, expected %v", err, tt.want)
			}
			if tt.want == nil {
				return
			}
			open, err := a.Unsettled(ctx, a.wallet.Chain, 10)
			if err != nil || len(open) == 0 || open[0].Point != withdrawal.OpenUntold || open[0].Number != 1 {
				t.Errorf("open is %v, %v", open, err)
			}
			a.say(used(a), withdrawal.Used{By: olga, Wallet: a.wallet.ID, Block: atDepth, Nonce: 2, Tx: "tx-2"})
			a.ok(a.start())
		})
	}
}

// Where an open request was dispatched, a bound says that what waits at the signer has ended, whatever AnswerWithin is.
func TestABoundOfAWalletThatDispatches(t *testing.T) {
	for _, dispatches := range []bool{false, true} {
		a := newAgain(t)
		if dispatches {
			a.order(withdrawal.Claimed{By: paying}, withdrawal.Dispatched{By: paying, Fence: 1, Reference: "r"})
		}
		a.restored(1)
		bound := withdrawal.Bound{By: olga, Wallet: a.wallet.ID, Source: withdrawal.PayerLog, Reason: "line 1"}
		if err := a.Say(context.Background(), bound); (err != nil) != dispatches {
			t.Errorf("dispatched %v: %v", dispatches, err)
		}
		bound.SignerEnded = true
		a.say(bound)
	}
}

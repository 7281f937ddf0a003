package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
)

var (
	chain, otherChain = named("chain"), named("other chain")
	hot               = named("hot wallet")
	token             = named("token on chain")
	user, asset       = named("user"), named("asset")
)

func named(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

// bank is a service on memory with a clock that the test moves.
type bank struct {
	*store.Withdrawals
	batches *store.Batches
	store   store.Store[store.Unit]
	now     time.Time
	n       int
}

func newBank(t testing.TB, change ...func(*withdrawal.Policy)) *bank {
	t.Helper()
	b := &bank{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.store = memory.New(memory.Options{Now: func() time.Time { return b.now }})
	p := withdrawal.DefaultPolicy()
	p.Chain.Confirmations = 3
	for _, c := range change {
		c(&p)
	}
	b.open(t, b.store, p)
	b.wallet(t, hot, chain)
	return b
}

func (b *bank) open(t testing.TB, s store.Store[store.Unit], p withdrawal.Policy) {
	t.Helper()
	service, err := store.NewBatches(s, p)
	if err != nil {
		t.Fatal(err)
	}
	b.batches, b.Withdrawals = service, service.Withdrawals()
}

func (b *bank) wallet(t testing.TB, id, chain uuid.UUID) {
	t.Helper()
	err := b.PutHotWallet(context.Background(), as(withdrawal.System),
		withdrawal.HotWallet{ID: id, Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive})
	if err != nil {
		t.Fatal(err)
	}
}

func as(role withdrawal.Role) withdrawal.By {
	return withdrawal.By{Actor: role.String(), Role: role}
}

func (b *bank) id(kind string) uuid.UUID {
	b.n++
	return named(fmt.Sprint(kind, b.n))
}

func (b *bank) submission() withdrawal.Submitted {
	return withdrawal.Submitted{By: as(withdrawal.System), Request: b.id("request"), User: user, Asset: asset, Chain: chain, ToAddress: "0xabc", Amount: "1.5", Decimals: 18}
}

func (b *bank) order(withdrawal.Request) withdrawal.Enqueued {
	return withdrawal.Enqueued{By: as(withdrawal.System), Job: b.id("job"), AssetOnChain: token, Priority: withdrawal.Normal}
}

func (b *bank) do(t testing.TB, request uuid.UUID, events ...withdrawal.Event) withdrawal.Withdrawal {
	t.Helper()
	w, err := b.Do(context.Background(), request, events...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (b *bank) approved(t testing.TB) withdrawal.Withdrawal {
	t.Helper()
	s := b.submission()
	return b.do(t, s.Request, s, withdrawal.Approved{By: as(withdrawal.Approver)})
}

func (b *bank) pending(t testing.TB) withdrawal.Withdrawal {
	t.Helper()
	w := b.approved(t)
	return b.do(t, w.Request.ID, b.order(w.Request))
}

// prepared is the next transaction of a claimed job.
func prepared(w *withdrawal.Withdrawal) withdrawal.Prepared {
	p := withdrawal.Prepared{By: as(withdrawal.WithdrawalWorker), Fence: w.Job.Lease.Fence, Raw: []byte("signed"),
		Hash: fmt.Sprintf("tx/%s/%d", w.Job.ID, w.Job.Lease.Fence), Nonce: w.Wallet.NextNonce, HasNonce: true,
		ChainNonce: w.Wallet.NextNonce, HasChainNonce: true}
	p.Actor = w.Job.Lease.Holder
	return p
}

func (b *bank) confirming(t testing.TB) withdrawal.Withdrawal {
	t.Helper()
	w := b.do(t, b.pending(t).Request.ID, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)})
	p := prepared(&w)
	return b.do(t, w.Request.ID, p, withdrawal.Broadcast{By: p.By, Fence: p.Fence, Hash: p.Hash})
}

func mined(hash string) withdrawal.Receipt {
	return withdrawal.Receipt{By: as(withdrawal.ConfirmationWorker), Tx: hash, GasUsed: "21000", GasPrice: "1",
		Block: withdrawal.Block{Height: 1, Hash: "b1", Canonical: "b1", Head: 9}}
}

func refused(t testing.TB, err, sentinel error) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Fatalf("got error %v, expected %v", err, sentinel)
	}
}

func text(t testing.TB, v any) string {
	t.Helper()
	s, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(s)
}

func TestAnInvalidPolicyIsRefused(t *testing.T) {
	_, err := store.NewWithdrawals(memory.New(memory.Options{}), withdrawal.Policy{})
	refused(t, err, statemachine.ErrInvalid)
}

// life is every command of a payment with all its detours, in order.
func life(b *bank) (request uuid.UUID, events []func(withdrawal.Withdrawal) withdrawal.Event) {
	s := b.submission()
	jobs := []uuid.UUID{b.id("job"), b.id("job")}
	order := func(i int) func(withdrawal.Withdrawal) withdrawal.Event {
		return func(withdrawal.Withdrawal) withdrawal.Event {
			return withdrawal.Enqueued{By: as(withdrawal.System), Job: jobs[i], AssetOnChain: token, Priority: withdrawal.High}
		}
	}
	worker := as(withdrawal.WithdrawalWorker)
	claim := func(w withdrawal.Withdrawal) withdrawal.Event {
		b.now = b.now.Add(time.Hour)
		return withdrawal.Claimed{By: worker, Fence: w.Job.Lease.Fence + 1}
	}
	ev := func(ev withdrawal.Event) func(withdrawal.Withdrawal) withdrawal.Event {
		return func(withdrawal.Withdrawal) withdrawal.Event { return ev }
	}
	resolved := func(w withdrawal.Withdrawal) withdrawal.Event {
		r := withdrawal.Resolved{By: as(withdrawal.Operator), Job: w.Job.ID, Reason: "the signer has no such reference"}
		r.Version = w.Job.Version
		return r
	}
	return s.Request, []func(withdrawal.Withdrawal) withdrawal.Event{
		ev(s), ev(withdrawal.Approved{By: as(withdrawal.Approver)}), order(0),
		claim, ev(withdrawal.GivenBack{By: worker, Fence: 1, For: time.Minute, Reason: "busy"}),
		claim, ev(withdrawal.AttemptFailed{By: worker, Fence: 2, Failure: withdrawal.Retryable, Error: "time-out"}),
		claim, ev(withdrawal.Dispatched{By: worker, Fence: 3, Reference: "ref"}), ev(withdrawal.AttemptFailed{By: worker, Fence: 3, Failure: withdrawal.Unclear, Error: "?"}),
		resolved,
		claim, ev(withdrawal.AttemptFailed{By: worker, Fence: 4, Failure: withdrawal.Permanent, Error: "no"}),
		func(w withdrawal.Withdrawal) withdrawal.Event {
			return withdrawal.Requeued{By: as(withdrawal.Operator), Job: jobs[0], Reason: "yes", NotRefunded: true}
		},
		order(1), claim,
		func(w withdrawal.Withdrawal) withdrawal.Event {
			return withdrawal.Prepared{By: worker, Fence: w.Job.Lease.Fence, Hash: "tx1", Raw: []byte{1}, Nonce: 5, HasNonce: true, ChainNonce: 5, HasChainNonce: true}
		},
		func(w withdrawal.Withdrawal) withdrawal.Event {
			return withdrawal.Broadcast{By: worker, Fence: w.Job.Lease.Fence, Hash: "tx1"}
		},
		claim,
		func(w withdrawal.Withdrawal) withdrawal.Event {
			return withdrawal.Rebumped{By: worker, Fence: w.Job.Lease.Fence, Hash: "tx2", Raw: []byte{2}, Nonce: 5, HasNonce: true}
		},
		func(w withdrawal.Withdrawal) withdrawal.Event {
			return withdrawal.Rebroadcast{By: worker, Fence: w.Job.Lease.Fence, Hash: "tx2", Done: true}
		},
		ev(withdrawal.Looking{By: as(withdrawal.ConfirmationWorker)}), ev(withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: "tx2"}),
		ev(mined("tx1")),
		ev(func() withdrawal.Event { r := mined("tx1"); r.Reverted = true; return r }()),
	}
}

func TestEveryCommandMayBeRepeated(t *testing.T) {
	b := newBank(t)
	request, events := life(b)
	var w withdrawal.Withdrawal
	for i, event := range events {
		ev := event(w)
		w = b.do(t, request, ev)
		if err := withdrawal.Check(w); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if again := b.do(t, request, ev); text(t, again) != text(t, w) {
				t.Fatalf("step %d, %T again\ngot  %s\nwant %s", i, ev, text(t, again), text(t, w))
			}
		}
		if stored, err := b.Get(context.Background(), request); err != nil || text(t, stored.Job) != text(t, w.Job) || text(t, stored.Request) != text(t, w.Request) {
			t.Fatalf("step %d, %T: stored is %s, returned %s, %v", i, ev, text(t, stored), text(t, w), err)
		}
	}
	verifyEnd(t, b, w)
}

func verifyEnd(t testing.TB, b *bank, w withdrawal.Withdrawal) {
	t.Helper()
	ctx := context.Background()
	if w.Request.Status != withdrawal.RequestCompleted || w.Request.FinalTxHash != "tx1" {
		t.Fatalf("it ended as %+v", w.Request)
	}
	if incidents, _, err := b.Incidents(ctx, 0, 10); err != nil || len(incidents) != 1 {
		t.Fatalf("incidents are %v, %v", incidents, err)
	}
	for _, id := range []uuid.UUID{w.Request.ID, w.Job.ID, w.Txs[0].Job} {
		if err := b.Verify(ctx, id); err != nil {
			t.Error(err)
		}
	}
	if wallets, err := b.HotWallets(ctx, chain); err != nil || wallets[0].BalanceReserved != "0" {
		t.Errorf("reserved is %v, %v", wallets, err)
	}
}

// unknown is a store whose connection is lost in each commit: before it, after
// it, and then not.
type unknown struct {
	store.Store[store.Unit]
	n int
}

func (u *unknown) Update(ctx context.Context, fn func(store.Unit) error) error {
	u.n++
	lost := fmt.Errorf("commit %d: %w", u.n, store.ErrUnknownCommit)
	switch u.n % 3 {
	case 1:
		if err := u.Store.Update(ctx, func(tx store.Unit) error { return errors.Join(fn(tx), lost) }); !errors.Is(err, lost) {
			return err
		}
		return lost
	case 2:
		if err := u.Store.Update(ctx, fn); err != nil {
			return err
		}
		return lost
	}
	return u.Store.Update(ctx, fn)
}

func TestAfterAnUnknownCommitTheSameCommandEndsWhereItShould(t *testing.T) {
	b := newBank(t)
	u := &unknown{Store: b.store}
	b.open(t, u, b.Policy())
	request, events := life(b)
	var w withdrawal.Withdrawal
	for i, event := range events {
		ev := event(w)
		tries := 0
		for {
			tries++
			var err error
			if w, err = b.Do(context.Background(), request, ev); err == nil {
				break
			}
			if !errors.Is(err, store.ErrUnknownCommit) || tries > 3 {
				t.Fatalf("step %d, %T: %v", i, ev, err)
			}
		}
		if tries != 3 {
			t.Fatalf("step %d was sent %d times", i, tries)
		}
	}
	verifyEnd(t, b, w)
}

func TestSubmissionsCountAgainstTheWindows(t *testing.T) {
	b := newBank(t, func(p *withdrawal.Policy) {
		p.Approval = withdrawal.ApprovalPolicy{Enabled: true, Assets: map[uuid.UUID]withdrawal.ApprovalLimits{asset: {
			Automatic: decimal.NewFromInt(100), Windows: []withdrawal.Window{{Length: time.Hour, Max: decimal.NewFromInt(250)}}}}}
	})
	submit := func(n int) (statuses []withdrawal.RequestStatus) {
		var commands []store.WithdrawalCommand
		for range n {
			s := b.submission()
			s.Amount = "100"
			commands = append(commands, store.WithdrawalCommand{Request: s.Request, Events: []withdrawal.Event{s}})
		}
		ws, err := b.DoAll(context.Background(), commands...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ws {
			statuses = append(statuses, ws[i].Request.Status)
		}
		return statuses
	}
	begun := b.now
	for _, test := range []struct {
		at   time.Duration
		n    int
		want string
	}{
		{0, 3, `["approved","approved","pending"]`}, // in one transaction, at one moment
		{0, 1, `["pending"]`},
		{-time.Minute, 1, `["pending"]`}, // a clock that goes back opens nothing
		{time.Hour, 1, `["pending"]`},    // half-open: an hour ago counts
		{time.Hour + time.Microsecond, 1, `["approved"]`},
	} {
		b.now = begun.Add(test.at)
		if got := text(t, submit(test.n)); got != test.want {
			t.Errorf("at %v: got %s, expected %s", test.at, got, test.want)
		}
	}
}

func TestCommandsThatMakeNoSense(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	w := b.pending(t)
	_, err := b.Do(ctx, named("another"), b.submission())
	refused(t, err, statemachine.ErrInvalid)
	_, err = b.Do(ctx, named("another"), withdrawal.Approved{By: as(withdrawal.Approver)})
	refused(t, err, statemachine.ErrNotFound)
	_, err = b.Do(ctx, named("another"), nil)
	refused(t, err, statemachine.ErrInvalid)
	_, err = b.Do(ctx, named("another")) // no events at all
	refused(t, err, statemachine.ErrNotFound)
	_, err = b.DoAll(ctx, store.WithdrawalCommand{Request: w.Request.ID}, store.WithdrawalCommand{Request: named("another")})
	refused(t, err, statemachine.ErrNotFound)
	_, err = b.Do(ctx, w.Request.ID, nil)
	refused(t, err, statemachine.ErrInvalid)
	twice := store.WithdrawalCommand{Request: w.Request.ID}
	_, err = b.DoAll(ctx, twice, twice)
	refused(t, err, statemachine.ErrInvalid)
	refused(t, b.PutHotWallet(ctx, as(withdrawal.System), withdrawal.HotWallet{ID: hot}), statemachine.ErrInvalid)
	if ws, err := b.DoAll(ctx); err != nil || len(ws) > 0 {
		t.Errorf("no commands: %v, %v", ws, err)
	}
	if again := b.do(t, w.Request.ID); text(t, again) != text(t, w) {
		t.Errorf("no events: %s", text(t, again))
	}
}

func TestOneErrorChangesNothingOfABatch(t *testing.T) {
	b := newBank(t)
	good, bad := b.pending(t), b.approved(t)
	claim := withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)}
	_, err := b.DoAll(context.Background(), store.WithdrawalCommand{Request: good.Request.ID, Events: []withdrawal.Event{claim}},
		store.WithdrawalCommand{Request: bad.Request.ID, Events: []withdrawal.Event{claim}})
	refused(t, err, statemachine.ErrIllegal)
	if w := b.do(t, good.Request.ID); text(t, w) != text(t, good) {
		t.Errorf("changed to %s", text(t, w))
	}
}

func TestAnImportCreatesItsRequest(t *testing.T) {
	b := newBank(t)
	ev := withdrawal.Imported{By: as(withdrawal.System), Request: b.id("request"), User: user, Asset: asset, Chain: chain, ToAddress: "a", Amount: "2", Decimals: 6,
		Job: b.id("job"), AssetOnChain: token, Hash: "old", Nonce: 3, HasNonce: true}
	w := b.do(t, ev.Request, ev)
	if w.Job.Status != withdrawal.JobConfirming || w.Job.Wallet != hot || w.Wallet.NextNonce != 4 || w.Wallet.BalanceReserved != "2000000" {
		t.Errorf("got %s", text(t, w))
	}
	if again := b.do(t, ev.Request, ev); text(t, again) != text(t, w) {
		t.Errorf("again: %s", text(t, again))
	}
}

func TestHeldProvesThatTheAggregateIsCurrent(t *testing.T) {
	b, ctx := newBank(t), context.Background()
	held := func(w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Withdrawal, error) {
		ws, err := b.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: w, Events: []withdrawal.Event{ev}})
		if err != nil {
			return w, err
		}
		return ws[0], nil
	}
	first := b.do(t, b.pending(t).Request.ID, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)})
	second, err := held(first, prepared(&first))
	if err != nil || second.Job.Version != first.Job.Version+1 || text(t, second) != text(t, b.do(t, first.Request.ID)) {
		t.Fatalf("got %s, %v", text(t, second), err)
	}
	again, err := held(first, prepared(&first))
	if err != nil || text(t, again) != text(t, second) {
		t.Fatalf("the same event again: got %s, %v", text(t, again), err)
	}
	_, err = held(first, withdrawal.GivenBack{By: as(withdrawal.WithdrawalWorker), Fence: 1, For: time.Hour})
	refused(t, err, statemachine.ErrConflict)
	_, err = b.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: second}, store.HeldWithdrawal{Withdrawal: second})
	refused(t, err, statemachine.ErrInvalid)

	b.now = b.now.Add(b.Policy().Lease) // the lease ends; nobody has rescued it yet
	_, err = held(second, withdrawal.Broadcast{By: as(withdrawal.WithdrawalWorker), Fence: 1, Hash: second.Job.TxHash})
	refused(t, err, statemachine.ErrFenced)
	rescued := b.do(t, first.Request.ID, withdrawal.Elapsed{By: as(withdrawal.System)})
	_, err = held(second, withdrawal.Broadcast{By: as(withdrawal.WithdrawalWorker), Fence: 1, Hash: "another"})
	refused(t, err, statemachine.ErrFenced)
	if after := b.do(t, first.Request.ID); text(t, after) != text(t, rescued) {
		t.Errorf("a refused event changed it to %s", text(t, after))
	}
}

package sqlstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/storetest"
	"github.com/settlehq/settle/withdrawal"
)

func TestWithdrawals(t *testing.T) {
	suite(t, store.DomainWithdrawals, storetest.Withdrawals[store.Unit])
}

func TestBatches(t *testing.T) { suite(t, store.DomainWithdrawals, storetest.Batches[store.Unit]) }

// bank is a store with the service of withdrawals and one hot wallet.
type bank struct {
	*store.Withdrawals
	*sqlstore.Store
	database
	batches *store.Batches
	ids     atomic.Uint64
	policy  withdrawal.Policy
}

func named(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

var bsc = named("bsc") // has nonces; every other chain has none

func newBank(t testing.TB, d sqlstore.Dialect, wallets ...withdrawal.HotWallet) *bank {
	t.Helper()
	s, db := newStore(t, d)
	return bankOf(t, db, s, append(wallets, withdrawal.HotWallet{ID: named("hot wallet"), Chain: bsc})...)
}

func bankOf(t testing.TB, db database, s *sqlstore.Store, wallets ...withdrawal.HotWallet) *bank {
	t.Helper()
	b := &bank{Store: s, database: db, policy: withdrawal.DefaultPolicy()}
	b.policy.Chain = withdrawal.Chain{Confirmations: 3}
	b.policy.Chains = map[uuid.UUID]withdrawal.Chain{bsc: {Nonces: true, Confirmations: 3}}
	b.serve(t)
	for _, w := range wallets {
		w.Role, w.Status = withdrawal.WalletRoleHot, withdrawal.WalletActive
		if err := b.PutHotWallet(context.Background(), as(withdrawal.System), w); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// reopen opens the store again, under another clock.
func (b *bank) reopen(t testing.TB, now func() time.Time) {
	t.Helper()
	b.database.opts.Now = now
	b.Store = b.database.open(t)
	b.serve(t)
}

func (b *bank) serve(t testing.TB) {
	t.Helper()
	var err error
	if b.batches, err = store.NewBatches(b.Store, b.policy); err != nil {
		t.Fatal(err)
	}
	b.Withdrawals = b.batches.Withdrawals()
}

// id returns a new id, in no order.
func (b *bank) id() (id uuid.UUID) {
	n := b.ids.Add(1)
	binary.BigEndian.PutUint64(id[:8], n*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(id[8:], n)
	return id
}

func as(role withdrawal.Role) withdrawal.By {
	return withdrawal.By{Actor: map[withdrawal.Role]string{withdrawal.Approver: "alice", withdrawal.Operator: "olga"}[role] + role.String(), Role: role}
}

func (b *bank) submission(chain uuid.UUID) withdrawal.Submitted {
	return withdrawal.Submitted{By: as(withdrawal.System), Request: b.id(), User: b.id(), Asset: named("usdt"), Chain: chain,
		ToAddress: "0xABC", Amount: "100", Decimals: 18}
}

func (b *bank) do(t testing.TB, request uuid.UUID, events ...withdrawal.Event) withdrawal.Withdrawal {
	t.Helper()
	w, err := b.Do(context.Background(), request, events...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The ways of one request, on a chain.

func (b *bank) pending(t testing.TB, chain uuid.UUID) withdrawal.Withdrawal {
	t.Helper()
	s := b.submission(chain)
	return b.do(t, s.Request, s, withdrawal.Approved{By: as(withdrawal.Approver)},
		withdrawal.Enqueued{By: as(withdrawal.System), Job: b.id(), AssetOnChain: named("usdt on bsc"), Priority: withdrawal.Normal})
}

func (b *bank) claimed(t testing.TB, chain uuid.UUID) withdrawal.Withdrawal {
	t.Helper()
	return b.do(t, b.pending(t, chain).Request.ID, withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)})
}

func (b *bank) confirming(t testing.TB, chain uuid.UUID) withdrawal.Withdrawal {
	t.Helper()
	w := b.claimed(t, chain)
	return b.do(t, w.Request.ID, prepared(&w), broadcast(&w))
}

func (b *bank) confirmed(t testing.TB, chain uuid.UUID) withdrawal.Withdrawal {
	t.Helper()
	w := b.confirming(t, chain)
	return b.do(t, w.Request.ID, mined(&w))
}

func (b *bank) failed(t testing.TB, chain uuid.UUID) withdrawal.Withdrawal {
	t.Helper()
	w := b.claimed(t, chain)
	return b.do(t, w.Request.ID, withdrawal.AttemptFailed{By: as(withdrawal.WithdrawalWorker), Fence: w.Job.Lease.Fence,
		Failure: withdrawal.Permanent, Error: "Invalid destination address"})
}

func prepared(w *withdrawal.Withdrawal) withdrawal.Prepared {
	p := withdrawal.Prepared{By: as(withdrawal.WithdrawalWorker), Fence: w.Job.Lease.Fence, Hash: "0x" + w.Job.ID.String(), Raw: make([]byte, 110)}
	if w.Job.Slot.Valid {
		p.Nonce, p.HasNonce, p.ChainNonce, p.HasChainNonce = w.Wallet.NextNonce, true, w.Wallet.NextNonce, true
	} else {
		p.Input = w.Job.ID.String()
	}
	if w.Job.Lease.Holder != "" {
		p.Actor = w.Job.Lease.Holder
	}
	return p
}

func broadcast(w *withdrawal.Withdrawal) withdrawal.Broadcast {
	p := prepared(w)
	return withdrawal.Broadcast{By: p.By, Fence: p.Fence, Hash: p.Hash}
}

func mined(w *withdrawal.Withdrawal) withdrawal.Receipt {
	return withdrawal.Receipt{By: as(withdrawal.ConfirmationWorker), Tx: w.Job.TxHash, GasUsed: "21000", GasPrice: "5000000000",
		Block: withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 12}}
}

// All events of a payment in one transaction are one row of each version.
func TestAPaymentInOneTransaction(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newBank(t, d)
		s, job := b.submission(bsc), b.id()
		worker := as(withdrawal.WithdrawalWorker)
		hash := "0x" + job.String()
		w := b.do(t, s.Request, s, withdrawal.Approved{By: as(withdrawal.Approver)},
			withdrawal.Enqueued{By: as(withdrawal.System), Job: job, AssetOnChain: named("usdt on bsc"), Priority: withdrawal.Normal},
			withdrawal.Claimed{By: worker}, withdrawal.Prepared{By: worker, Fence: 1, Hash: hash, Raw: []byte{1}, HasNonce: true, HasChainNonce: true},
			withdrawal.Broadcast{By: worker, Fence: 1, Hash: hash}, mined(&withdrawal.Withdrawal{Job: withdrawal.Job{TxHash: hash}}))
		stored := b.do(t, s.Request)
		if fmt.Sprintf("%+v", stored.Job) != fmt.Sprintf("%+v", w.Job) || stored.Attempt != w.Attempt || stored.Request.Status != withdrawal.RequestCompleted {
			t.Errorf("stored is %+v\nnot %+v", stored, w)
		}
		for _, id := range []uuid.UUID{s.Request, job} {
			if err := b.Verify(context.Background(), id); err != nil {
				t.Error(err)
			}
		}
		stats, err := b.Stats(context.Background(), time.Hour)
		if err != nil || stats.Jobs[withdrawal.JobConfirmed] != 1 || stats.Requests[withdrawal.RequestCompleted] != 1 || stats.Executions != 1 {
			t.Errorf("stats are %+v, %v", stats, err)
		}
	})
}

// Of two changes the merged one is as it was read; the refusal names the slot's
// holder, not the merged one.
func TestRefusalBesideAMergedChange(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		b := newBank(t, d, withdrawal.HotWallet{ID: named("another hot wallet"), Chain: bsc})
		worker, ctx := as(withdrawal.WithdrawalWorker), context.Background()
		a, second := b.pending(t, bsc), b.pending(t, bsc)
		b.pending(t, bsc)
		holder := b.pending(t, bsc)
		if holder.Job.Wallet != second.Job.Wallet || a.Job.Wallet == second.Job.Wallet {
			t.Fatal("the wallets are not used in turn")
		}
		claim := withdrawal.Claimed{By: worker}
		a = b.do(t, a.Request.ID, claim, withdrawal.Dispatched{By: worker, Fence: 1, Reference: "ref"},
			withdrawal.AttemptFailed{By: worker, Fence: 1, Failure: withdrawal.Unclear, Error: "no answer"})
		b.do(t, holder.Request.ID, claim)
		op := as(withdrawal.Operator)
		op.Version, op.At = a.Job.Version, a.Job.CreatedAt.Add(time.Minute)
		later := claim
		later.At = op.At.Add(time.Hour)
		b.reopen(t, func() time.Time { return time.Time{} }) // the events bring their times
		_, err := b.DoAll(ctx, store.WithdrawalCommand{Request: a.Request.ID, Events: []withdrawal.Event{
			withdrawal.Resolved{By: op, Job: a.Job.ID, Reason: "not sent"}, later}},
			store.WithdrawalCommand{Request: second.Request.ID, Events: []withdrawal.Event{later}})
		var taken *withdrawal.TakenError
		if !errors.As(err, &taken) || !errors.Is(err, withdrawal.ErrSlotTaken) || taken.ID != holder.Job.ID {
			t.Errorf("got %v, want the slot's holder %s", err, holder.Job.ID)
		}
	})
}

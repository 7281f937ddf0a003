package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// SelfCheckWithdrawals is [SelfCheck] for a store that has withdrawals. It makes
// one payment with all that money depends on, and compares what comes back: a
// hot wallet with its reservation, a request, a job with its claim (fence, end of
// the lease, slot), a nonce, the signed bytes, the attempt, the trails. Then it
// asks for what must be refused: a change of a version that is stored no longer,
// a second claim, a second job in a slot, a second owner of a nonce, a write in a
// View. Everything is taken back.
//
// It does not look at what takes two transactions at once, a crash or a restore:
// locks, the order of the feed, whether a commit lasts. Package storetest does.
func SelfCheckWithdrawals[T WithdrawalUnit](ctx context.Context, s Store[T]) error {
	c := newPaymentCheck()
	update := func(do func(*paymentChecks) error) error {
		return s.Update(ctx, func(tx T) error {
			if err := do(c.within(tx)); err != nil {
				return err
			}
			return errTakenBack
		})
	}
	var approved withdrawal.Change
	err := selfCheck(ctx, s, probe[T]{
		write: func(tx T) (err error) { approved, err = c.within(tx).pay(); return err },
		left: func(tx T) (bool, error) {
			ws, err := tx.Withdrawals().Get(c.requests[0], c.requests[1])
			if err != nil {
				return false, err
			}
			wallets, err := tx.Withdrawals().HotWallets(c.chain)
			return ws[0].Request.Status != 0 || ws[1].Request.Status != 0 || len(wallets) > 0, err
		},
		stale: func(tx T) error { return tx.Withdrawals().Save(approved) },
	})
	if err != nil {
		return err
	}
	for _, refusal := range []struct {
		what string
		do   func(*paymentChecks) error
		is   []error
	}{
		{"a change of a version that is stored no longer gave", (*paymentChecks).staleSave, []error{statemachine.ErrConflict}},
		{"a second claim of an execution gave", (*paymentChecks).secondClaim, []error{statemachine.ErrConflict, statemachine.ErrFenced}},
		{"a second job in the slot of a wallet gave", (*paymentChecks).secondInSlot, []error{withdrawal.ErrSlotTaken}},
		{"a second owner of a nonce gave", (*paymentChecks).secondOwner, []error{withdrawal.ErrNonceTaken}},
	} {
		err := update(refusal.do)
		is := refusal.is[0]
		for _, other := range refusal.is {
			if errors.Is(err, other) {
				is = other
			}
		}
		if errors.Is(err, errTakenBack) {
			err = nil
		}
		if broken := unless(err, is, refusal.what); broken != nil {
			return broken
		}
	}
	return nil
}

// paymentCheck is what the transactions of a self-check have in common.
type paymentCheck struct {
	policy        withdrawal.Policy
	chain, wallet uuid.UUID
	requests      [2]uuid.UUID
	worker        withdrawal.By
}

func newPaymentCheck() *paymentCheck {
	c := &paymentCheck{policy: withdrawal.DefaultPolicy(), chain: uuid.New(), wallet: uuid.New(), requests: [2]uuid.UUID{uuid.New(), uuid.New()},
		worker: withdrawal.By{Actor: "self-check é世", Role: withdrawal.WithdrawalWorker}}
	c.policy.Chains = map[uuid.UUID]withdrawal.Chain{c.chain: {Nonces: true, Confirmations: 1}}
	return c
}

func (c *paymentCheck) within(tx WithdrawalUnit) *paymentChecks {
	s := &Withdrawals{withdrawalCore{of: withdrawalAggregate(&c.policy)}, payoutCore{of: payoutAggregate(&c.policy)}, c.policy}
	return &paymentChecks{c, s.Within(tx), tx}
}

// paymentChecks are those of one transaction.
type paymentChecks struct {
	*paymentCheck
	service *Withdrawals
	tx      WithdrawalUnit
}

func (c *paymentChecks) do(request uuid.UUID, events ...withdrawal.Event) (withdrawal.Withdrawal, error) {
	return c.service.Do(context.Background(), request, events...)
}

func (c *paymentChecks) by(role withdrawal.Role) withdrawal.By {
	return withdrawal.By{Actor: "self-check " + role.String(), Role: role}
}

// submit stores a request, with values that stores like to change.
func (c *paymentChecks) submit(n int) (withdrawal.Withdrawal, error) {
	return c.do(c.requests[n], withdrawal.Submitted{By: c.by(withdrawal.System), Request: c.requests[n], User: uuid.New(), Asset: uuid.New(),
		Chain: c.chain, ToAddress: "0xé\u4e16", Memo: "", Amount: "12345678901234567890123456789012345678901234567890123456789.000000000000000001", Decimals: 18})
}

// pending stores a request with a job, and the wallet that will pay it.
func (c *paymentChecks) pending(n int) (withdrawal.Withdrawal, error) {
	err := c.tx.Withdrawals().PutHotWallet(withdrawal.HotWallet{ID: c.wallet, Chain: c.chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive})
	if err != nil {
		return withdrawal.Withdrawal{}, err
	}
	if _, err := c.submit(n); err != nil {
		return withdrawal.Withdrawal{}, err
	}
	return c.do(c.requests[n], withdrawal.Approved{By: c.by(withdrawal.Approver)},
		withdrawal.Enqueued{By: c.by(withdrawal.System), Job: uuid.New(), AssetOnChain: uuid.New(), Priority: withdrawal.High})
}

func (c *paymentChecks) claimed(n int) (withdrawal.Withdrawal, error) {
	if _, err := c.pending(n); err != nil {
		return withdrawal.Withdrawal{}, err
	}
	return c.do(c.requests[n], withdrawal.Claimed{By: c.worker})
}

// prepared is the intent to send: a nonce above 2^53, and bytes.
func (c *paymentChecks) prepared(w *withdrawal.Withdrawal, hash string) withdrawal.Prepared {
	const nonce = 1<<53 + 1
	return withdrawal.Prepared{By: c.worker, Fence: w.Job.Lease.Fence, Hash: hash, Raw: []byte{0, 0xff, 0}, Nonce: nonce, HasNonce: true,
		ChainNonce: nonce, HasChainNonce: true}
}

// pay brings a request to its broadcast and compares what is stored. It returns a
// change of the request that is not saved.
func (c *paymentChecks) pay() (change withdrawal.Change, err error) {
	submitted, err := c.submit(1)
	if err == nil {
		err = c.isStored(submitted)
	}
	if err != nil {
		return change, err
	}
	w, err := c.pending(0)
	if err != nil {
		return change, err
	}
	if err := c.due(w, 1); err != nil {
		return change, err
	}
	if w, err = c.do(c.requests[0], withdrawal.Claimed{By: c.worker}); err != nil {
		return change, err
	}
	if err := errors.Join(c.due(w, 0), c.isStored(w), c.lease(w)); err != nil {
		return change, err
	}
	if w, err = c.do(c.requests[0], c.prepared(&w, "0xSelf-Check")); err != nil {
		return change, err
	}
	if err := c.isStored(w); err != nil {
		return change, err
	}
	if w, err = c.do(c.requests[0], withdrawal.Broadcast{By: c.worker, Fence: w.Job.Lease.Fence, Hash: "0xSelf-Check"}); err != nil {
		return change, err
	}
	for _, id := range []uuid.UUID{w.Request.ID, w.Job.ID} {
		if err := c.service.Verify(context.Background(), id); err != nil {
			return change, err
		}
	}
	if err := c.isStored(w); err != nil {
		return change, err
	}
	by := c.by(withdrawal.Approver)
	by.At = submitted.Request.CreatedAt
	return c.policy.Apply(submitted, withdrawal.Approved{By: by})
}

// due requires n executions of the chain that are due, and that they are w's.
func (c *paymentChecks) due(w withdrawal.Withdrawal, n int) error {
	now, err := c.tx.Now()
	if err != nil {
		return err
	}
	found, err := c.tx.Withdrawals().Due(DueWithdrawals{Kind: withdrawal.DueClaim, Chain: c.chain, Now: now, Limit: 10, Sequential: true})
	switch {
	case err != nil:
		return err
	case len(found) != n || n > 0 && found[0].Job.ID != w.Job.ID:
		return broken(fmt.Sprintf("%d executions are due, %d should be", len(found), n))
	}
	return nil
}

// isStored compares an aggregate with what is read, but for the wallet, which
// others move; its reservation and its next nonce are compared by themselves.
func (c *paymentChecks) isStored(w withdrawal.Withdrawal) error {
	loaded, err := c.service.Get(context.Background(), w.Request.ID)
	if err != nil {
		return err
	}
	attempts, err := c.tx.Withdrawals().Attempts(w.Job.ID)
	if err != nil {
		return err
	}
	want, got := w, loaded
	want.Wallet, got.Wallet = withdrawal.HotWallet{}, withdrawal.HotWallet{}
	next := uint64(0)
	for _, tx := range w.Txs {
		next = max(next, tx.Nonce+1)
	}
	switch {
	case plain(want) != plain(got):
		return broken(fmt.Sprintf("stored %s, read %s", plain(want), plain(got)))
	case w.Job.Lease.Fence > 0 && (len(attempts) != 1 || plain(attempts[0]) != plain(w.Attempt)):
		return broken(fmt.Sprintf("stored attempt %s, read %s", plain(w.Attempt), plain(attempts)))
	case w.Job.ID == uuid.Nil:
	case loaded.Wallet.ID != c.wallet || loaded.Wallet.BalanceReserved != w.Job.AmountRaw || loaded.Wallet.NextNonce != next:
		return broken(fmt.Sprintf("the wallet is %s, with %s reserved and next nonce %d it should be", plain(loaded.Wallet), w.Job.AmountRaw, next))
	}
	return withdrawal.Check(loaded)
}

// plain is a record as text: times and decimals that are equal have the same.
func plain(v any) string { return fmt.Sprintf("%+v", v) }

// lease requires that a lease is renewed, under its fence alone, and that it is
// not when it has ended.
func (c *paymentChecks) lease(w withdrawal.Withdrawal) error {
	r, lease := c.tx.Withdrawals(), w.Job.Lease
	moved := lease.Until.Add(time.Minute)
	for _, ask := range []struct {
		what string
		now  time.Time
		JobLease
		lost bool
	}{
		{"held", lease.Until.Add(-time.Microsecond), JobLease{w.Job.ID, lease.Fence, moved}, false},
		{"of another fence", lease.Until.Add(-time.Microsecond), JobLease{w.Job.ID, lease.Fence + 1, moved}, true},
		{"that has ended", moved, JobLease{w.Job.ID, lease.Fence, moved.Add(time.Hour)}, true},
		{"set back", lease.Until, JobLease{w.Job.ID, lease.Fence, lease.Until}, false},
	} {
		lost, err := r.Renew(ask.now, ask.JobLease)
		if err != nil {
			return err
		}
		if slices.Contains(lost, w.Job.ID) != ask.lost {
			return broken("a lease " + ask.what + ": the answer of its renewal is wrong")
		}
		stored, err := c.service.Get(context.Background(), w.Request.ID)
		if err != nil {
			return err
		}
		want := moved
		if ask.what == "set back" {
			want = lease.Until
		}
		if !stored.Job.Lease.Until.Equal(want) {
			return broken(fmt.Sprintf("a lease %s ends at %v and should at %v", ask.what, stored.Job.Lease.Until, want))
		}
	}
	return nil
}

// saves applies two events to the same aggregate and saves both changes.
func (c *paymentChecks) saves(w withdrawal.Withdrawal, first, second withdrawal.Event) error {
	now, err := c.tx.Now()
	if err != nil {
		return err
	}
	for _, ev := range []withdrawal.Event{first, second} {
		change, err := c.policy.ApplyAt(w, ev, now)
		if err == nil {
			err = c.tx.Withdrawals().Save(change)
		}
		if err == nil {
			_, err = c.tx.Withdrawals().Get(w.Request.ID) // write now
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *paymentChecks) staleSave() error {
	w, err := c.submit(0)
	if err != nil {
		return err
	}
	return c.saves(w, withdrawal.Approved{By: c.by(withdrawal.Approver)}, withdrawal.Rejected{By: c.by(withdrawal.Approver), Reason: "self-check"})
}

func (c *paymentChecks) secondClaim() error {
	w, err := c.pending(0)
	if err != nil {
		return err
	}
	other := c.worker
	other.Actor = "another"
	return c.saves(w, withdrawal.Claimed{By: c.worker}, withdrawal.Claimed{By: other})
}

func (c *paymentChecks) secondInSlot() error {
	if _, err := c.claimed(0); err != nil {
		return err
	}
	w, err := c.pending(1)
	if err != nil {
		return err
	}
	return c.saves(w, withdrawal.Claimed{By: c.worker}, withdrawal.Claimed{By: c.worker})
}

func (c *paymentChecks) secondOwner() error {
	w, err := c.claimed(0)
	if err != nil {
		return err
	}
	if _, err := c.do(c.requests[0], c.prepared(&w, "0xfirst"), withdrawal.Broadcast{By: c.worker, Fence: w.Job.Lease.Fence, Hash: "0xfirst"}); err != nil {
		return err
	}
	if w, err = c.claimed(1); err != nil {
		return err
	}
	w.Wallet.NextNonce = 0 // as if it had been read before
	return c.saves(w, c.prepared(&w, "0xsecond"), c.prepared(&w, "0xsecond"))
}

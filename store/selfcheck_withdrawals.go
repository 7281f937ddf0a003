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

// SelfCheckWithdrawals is [SelfCheck] for a store that has withdrawals. It makes one payment with all that money
// depends on, and compares what comes back: a hot wallet with its reservation, a request, a job with its claim (fence,
// end of the lease, slot), a nonce, the signed bytes, the attempt, the trails. Then it tries what must be refused: a
// change of a version that is no longer stored, a second claim, a second job in a slot, a second owner of a nonce, a
// write in a View. Everything is taken back.
//
// It does not check what takes two transactions at once, a crash or a restore: locks, the order of the feed, whether a
// commit lasts. Package storetest does.
func SelfCheckWithdrawals[T WithdrawalUnit](ctx context.Context, s Store[T]) error {
	p := withdrawal.DefaultPolicy()
	chain, wallet, requests := uuid.New(), uuid.New(), [2]uuid.UUID{uuid.New(), uuid.New()}
	p.Chains = map[uuid.UUID]withdrawal.Chain{chain: {Nonces: true, Confirmations: 1}}
	service, err := NewWithdrawals(s, p)
	if err != nil {
		return err
	}
	service.of.signed = nil // the check takes its payments back, so no line says that they are on file
	in := func(do func(*paymentCheck)) func(WithdrawalUnit) error {
		return func(tx WithdrawalUnit) error {
			c := &paymentCheck{service.Within(tx), tx, chain, wallet, requests, nil}
			do(c)
			return c.err
		}
	}
	var approved withdrawal.Change
	return probe[WithdrawalUnit]{update: service.update, view: service.view,
		write: in(func(c *paymentCheck) { approved = c.pay() }),
		left: func(tx WithdrawalUnit) (bool, error) {
			ws, err := tx.Withdrawals().Get(requests[0], requests[1])
			if err != nil {
				return false, err
			}
			wallets, err := tx.HotWallets().OfChain(chain)
			return ws[0].Request.Status != 0 || ws[1].Request.Status != 0 || len(wallets) > 0, err
		},
		stale: func(tx WithdrawalUnit) error { return tx.Withdrawals().Save(approved) },
		refused: []refusal[WithdrawalUnit]{
			outdated(in(func(c *paymentCheck) {
				by := checkedBy(withdrawal.Approver)
				c.saves(c.life(0, submitted), withdrawal.Approved{By: by}, withdrawal.Rejected{By: by, Reason: "self-check"})
			})),
			{"a second claim of an execution", in(func(c *paymentCheck) {
				other := withdrawal.Claimed{By: payer}
				other.Actor = "another"
				c.saves(c.life(0, pending), withdrawal.Claimed{By: payer}, other)
			}), []error{statemachine.ErrConflict, statemachine.ErrFenced}},
			{"a second job in the slot of a wallet", in(func(c *paymentCheck) {
				c.life(0, claimed)
				c.saves(c.life(1, pending), withdrawal.Claimed{By: payer}, withdrawal.Claimed{By: payer})
			}), []error{withdrawal.ErrSlotTaken}},
			{"a second owner of a nonce", in(func(c *paymentCheck) {
				c.sent(c.life(0, claimed), "0xfirst")
				w := c.life(1, claimed)
				w.Wallet.NextNonce = 0 // as if it had been read before
				c.saves(w, intent(&w, "0xsecond"), intent(&w, "0xsecond"))
			}), []error{withdrawal.ErrNonceTaken}},
		},
	}.run(ctx)
}

// paymentCheck is a self-check in one transaction. Nothing more is done after its
// first error.
type paymentCheck struct {
	service       *Withdrawals
	tx            WithdrawalUnit
	chain, wallet uuid.UUID
	requests      [2]uuid.UUID
	err           error
}

func checkedBy(role withdrawal.Role) withdrawal.By {
	return withdrawal.By{Actor: "self-check é世 " + role.String(), Role: role}
}

var payer = checkedBy(withdrawal.WithdrawalWorker)

// intent is the intent to send: a nonce above 2^53, and bytes.
func intent(w *withdrawal.Withdrawal, hash string) withdrawal.Prepared {
	const nonce = 1<<53 + 1
	return withdrawal.Prepared{By: payer, Fence: w.Job.Lease.Fence, Hash: hash, Raw: []byte{0, 0xff, 0}, Nonce: nonce, HasNonce: true,
		ChainNonce: nonce, HasChainNonce: true}
}

// then does the next step, if none has failed.
func (c *paymentCheck) then(step func() error) {
	if c.err == nil {
		c.err = step()
	}
}

// do sends events to a request and compares what is stored.
func (c *paymentCheck) do(n int, events ...withdrawal.Event) (w withdrawal.Withdrawal) {
	c.then(func() (err error) {
		w, err = c.service.Do(context.Background(), c.requests[n], events...)
		return err
	})
	c.isStored(n, w)
	return w
}

// How far a life goes.
const (
	submitted = 1
	pending   = 3
	claimed   = 4
)

// life takes a request so many steps, with values that stores like to change; it
// begins with the wallet that will pay.
func (c *paymentCheck) life(n, steps int) withdrawal.Withdrawal {
	c.then(func() error {
		return c.tx.HotWallets().Put(withdrawal.HotWallet{ID: c.wallet, Chain: c.chain, Role: withdrawal.WalletRoleHot,
			Status: withdrawal.WalletActive})
	})
	system := checkedBy(withdrawal.System)
	w := c.do(n, []withdrawal.Event{withdrawal.Submitted{By: system, Request: c.requests[n], User: uuid.New(), Asset: uuid.New(),
		Chain: c.chain, ToAddress: "0xé\u4e16",
		Amount: "12345678901234567890123456789012345678901234567890123456789.000000000000000001", Decimals: 18},
		withdrawal.Approved{By: checkedBy(withdrawal.Approver)},
		withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: uuid.New(), Priority: withdrawal.High}}[:min(steps, pending)]...)
	if steps == claimed {
		w = c.do(n, withdrawal.Claimed{By: payer})
	}
	return w
}

// sent stores the intent of the first request and its broadcast.
func (c *paymentCheck) sent(w withdrawal.Withdrawal, hash string) withdrawal.Withdrawal {
	c.do(0, intent(&w, hash))
	return c.do(0, withdrawal.Broadcast{By: payer, Fence: w.Job.Lease.Fence, Hash: hash})
}

// pay brings a request to its broadcast and compares what is stored. It returns a
// change of another one that is not saved.
func (c *paymentCheck) pay() (change withdrawal.Change) {
	other := c.life(1, submitted)
	c.due(c.life(0, pending), 1)
	w := c.do(0, withdrawal.Claimed{By: payer})
	c.due(w, 0)
	c.lease(w)
	c.sent(w, "0xSelf-Check")
	for _, id := range []uuid.UUID{w.Request.ID, w.Job.ID} {
		c.then(func() error { return c.service.Verify(context.Background(), id) })
	}
	c.then(func() (err error) {
		change, err = c.service.policy.ApplyAt(other, withdrawal.Approved{By: checkedBy(withdrawal.Approver)}, other.Request.CreatedAt)
		return err
	})
	return change
}

// due requires n executions of the chain that are due, and that they are w's.
func (c *paymentCheck) due(w withdrawal.Withdrawal, n int) {
	c.then(func() error {
		now, err := c.tx.Now()
		if err != nil {
			return err
		}
		found, err := c.tx.Withdrawals().Due(DueWithdrawals{Kind: withdrawal.DueClaim, Chain: c.chain, Now: now, Limit: 10, Sequential: true})
		if err == nil && (len(found) != n || n > 0 && found[0].Job.ID != w.Job.ID) {
			err = broken(fmt.Sprintf("%d executions are due, %d should be", len(found), n))
		}
		return err
	})
}

// isStored compares an aggregate with what is read, except the wallet, which others change meanwhile. The wallet's
// reservation and next nonce are compared separately while only the first request uses it.
func (c *paymentCheck) isStored(n int, w withdrawal.Withdrawal) {
	c.then(func() error {
		loaded, err1 := c.service.Get(context.Background(), w.Request.ID)
		attempts, err2 := c.tx.Withdrawals().Attempts(w.Job.ID)
		if err := errors.Join(err1, err2); err != nil {
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
		case w.Job.ID == uuid.Nil || n > 0:
		case loaded.Wallet.ID != c.wallet || loaded.Wallet.BalanceReserved != w.Job.AmountRaw || loaded.Wallet.NextNonce != next:
			return broken(fmt.Sprintf("the wallet is %s, with %s reserved and next nonce %d it should be",
				plain(loaded.Wallet), w.Job.AmountRaw, next))
		}
		return withdrawal.Check(loaded)
	})
}

// plain is a record as text: times and decimals that are equal have the same.
func plain(v any) string { return fmt.Sprintf("%+v", v) }

// lease requires that a lease is renewed, under its fence alone, and that it is
// not when it has ended.
func (c *paymentCheck) lease(w withdrawal.Withdrawal) {
	end, fence := w.Job.Lease.Until, w.Job.Lease.Fence
	held, moved := end.Add(-time.Microsecond), end.Add(time.Minute)
	for _, ask := range []struct {
		what       string
		now        time.Time
		fence      int64
		until, end time.Time // asked for, and what it is then; it is lost where they differ
	}{
		{"held", held, fence, moved, moved}, {"of another fence", held, fence + 1, end, moved},
		{"that has ended", moved, fence, moved.Add(time.Hour), moved}, {"set back", end, fence, end, end},
	} {
		c.then(func() error {
			lost, err := c.tx.Withdrawals().Renew(ask.now, Lease[uuid.UUID]{w.Job.ID, ask.fence, ask.until})
			if err == nil && slices.Contains(lost, w.Job.ID) == ask.until.Equal(ask.end) {
				err = broken("a lease " + ask.what + ": the answer of its renewal is wrong")
			}
			return err
		})
		if at := c.do(0).Job.Lease.Until; c.err == nil && !at.Equal(ask.end) {
			c.err = broken(fmt.Sprintf("a lease %s ends at %v and should at %v", ask.what, at, ask.end))
		}
	}
}

// saves applies two events to the same aggregate and saves both changes.
func (c *paymentCheck) saves(w withdrawal.Withdrawal, events ...withdrawal.Event) {
	for _, ev := range events {
		c.then(func() error {
			now, err := c.tx.Now()
			if err != nil {
				return err
			}
			change, err := c.service.policy.ApplyAt(w, ev, now)
			if err == nil {
				err = c.tx.Withdrawals().Save(change)
			}
			if err == nil {
				_, err = c.tx.Withdrawals().Get(w.Request.ID) // write now
			}
			return err
		})
	}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// PutHotWallet inserts a wallet that pays, or sets role and status of one.
func (s *Withdrawals) PutHotWallet(ctx context.Context, w withdrawal.HotWallet) error {
	if w.ID == uuid.Nil || w.Chain == uuid.Nil || w.Role == "" || w.Status == "" {
		return fmt.Errorf("%w: a hot wallet has an id, a chain, a role and a status", statemachine.ErrInvalid)
	}
	return s.update(ctx, func(tx WithdrawalTx) error { return tx.Withdrawals().PutHotWallet(w) })
}

// Rescue sends Elapsed to up to n executions whose lease has ended, the longest
// ended first, and returns them as they are stored afterwards. wait is when to
// call it again: zero where more is waiting. An execution whose event is refused
// is left as it is and named in err, and the others are rescued all the same.
//
// The time is the store's, whatever by says, and the version is the stored one.
// A host calls it from one place or from many, in any process.
func (s *Withdrawals) Rescue(ctx context.Context, by withdrawal.By, n int) (rescued []withdrawal.Withdrawal, wait time.Duration, err error) {
	if err := CheckLimit(n); err != nil {
		return nil, 0, err
	}
	by.At, by.Version = time.Time{}, 0
	due := func(tx WithdrawalTx, now time.Time) (due []withdrawal.Withdrawal, err error) {
		q := DueWithdrawals{Kind: withdrawal.DueRescue, Now: now, Limit: n}
		if due, err = tx.Withdrawals().Due(q); err == nil {
			wait, err = s.untilDue(tx, q, len(due))
		}
		return due, err
	}
	rescued, refused, err := s.sweep(ctx, due, func(w *withdrawal.Withdrawal) (uuid.UUID, withdrawal.Event) {
		return w.Request.ID, withdrawal.Elapsed{By: by}
	})
	if err != nil {
		return nil, 0, err
	}
	if len(rescued) == 0 && refused != nil {
		wait = s.policy.Lease // they are due still
	}
	return rescued, wait, refused
}

// EnqueueDue makes jobs for up to n approved requests of a chain, the longest
// waiting first. order is called for each, perhaps more than once, and brings
// what the host decides: actor, job id, asset on chain, priority. Wallets that
// are nil are read here. Requests whose event is refused are left as they are
// and named in err, and up to n others, of the first 10n, are enqueued all the
// same; [withdrawal.ErrNoHotWallet] concerns all of a chain.
//
// wait is when to call it again: zero where more is waiting,
// [withdrawal.Policy.EnqueueEvery] otherwise. A host that has just approved
// something calls it at once, or sends Enqueued itself.
func (s *Withdrawals) EnqueueDue(ctx context.Context, chain uuid.UUID, n int, order func(withdrawal.Request) withdrawal.Enqueued) (enqueued []withdrawal.Withdrawal, wait time.Duration, err error) {
	if chain == uuid.Nil {
		return nil, 0, fmt.Errorf("%w: one chain at a time, so that none without a wallet hides the others", statemachine.ErrInvalid)
	}
	if err := CheckLimit(n); err != nil {
		return nil, 0, err
	}
	var refused []error
	err = s.update(ctx, func(tx WithdrawalTx) error {
		enqueued, refused = nil, nil
		b, err := s.batch(tx)
		if err != nil {
			return err
		}
		seen, wallets := map[uuid.UUID]bool{}, true
		// What is refused stays due, before the others.
		for limit, more := n, true; more; limit = min(n-len(enqueued)+len(refused), MaxPage) {
			due, err := tx.Withdrawals().Due(DueWithdrawals{Kind: withdrawal.DueEnqueue, Chain: chain, Now: b.now, Limit: limit})
			if err != nil {
				return err
			}
			for i := 0; i < len(due) && len(enqueued) < n && wallets; i++ {
				w := &due[i]
				if seen[w.Request.ID] {
					continue
				}
				seen[w.Request.ID] = true
				refusal, err := b.try(w, w.Request.ID, order(w.Request))
				switch {
				case err != nil:
					return err
				case refusal != nil:
					refused = append(refused, refusal)
				default:
					enqueued = append(enqueued, *w)
				}
				wallets = !errors.Is(refusal, withdrawal.ErrNoHotWallet)
			}
			if err := b.save(); err != nil {
				return err
			}
			more = wallets && len(enqueued) < n && len(due) == limit && limit < MaxPage && len(seen) < 10*n
		}
		wait = s.policy.EnqueueEvery
		if len(enqueued) == n {
			wait = 0
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return enqueued, wait, errors.Join(refused...)
}

// untilDue returns how long to wait for more of q: zero where found filled the
// limit, at most the length of a lease otherwise.
func (s *Withdrawals) untilDue(tx WithdrawalTx, q DueWithdrawals, found int) (time.Duration, error) {
	if found >= q.Limit {
		return 0, nil
	}
	next, err := tx.Withdrawals().NextDue(q)
	return pause(found, q.Limit, q.Now, next, s.policy.Lease), err
}

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

// PutHotWallet inserts wallets that pay, or sets role and status of stored ones, all in one transaction. A wallet that
// is switched off begins nothing new in any transaction that begins after the call has returned; payments that are out
// go on. A wallet that [withdrawal.NewHotWallet] refuses is [statemachine.ErrInvalid]. by is an operator, whose call is
// in the journal with one line for each wallet, refused ones too; or the system, as when a host starts, which switches no
// stored wallet on: role and status of a wallet that does not pay stay as they are then. Another role is
// [statemachine.ErrForbidden]. A wallet with an unexplained transaction cannot be switched on,
// nor put off in a way that hides it: [withdrawal.ErrUnsettled], see [withdrawal.Puts].
func (s *Withdrawals) PutHotWallet(ctx context.Context, by withdrawal.By, wallets ...withdrawal.HotWallet) error {
	checked, bad := make([]withdrawal.HotWallet, len(wallets)), withdrawal.PutsWallets(by)
	for i := 0; i < len(wallets) && bad == nil; i++ {
		checked[i], bad = withdrawal.NewHotWallet(wallets[i])
	}
	var lines []statemachine.JournalLine
	for i := range wallets {
		line, person := by.Line()
		line.Domain, line.Machine, line.ID, line.Event = string(DomainWithdrawals), "hot wallet", wallets[i].ID.String(), "PutHotWallet"
		if person {
			lines = append(lines, line)
		}
	}
	if bad != nil && len(lines) == 0 {
		return bad
	}
	return s.update(ctx, func(tx WithdrawalUnit) error {
		err := bad
		for i := 0; i < len(checked) && err == nil; i++ {
			err = put(tx, by, checked[i])
		}
		return keep(tx, time.Time{}, lines, err)
	})
}

func put(tx WithdrawalUnit, by withdrawal.By, w withdrawal.HotWallet) error {
	records, old := tx.HotWallets(), withdrawal.HotWallet{}
	found, err := records.Get(w.ID)
	if len(found) == 1 {
		old = found[0]
	}
	var open []withdrawal.Open
	if err == nil && withdrawal.MustBeExplained(old, w) {
		var known withdrawal.Copy
		if known, err = knownOf(tx, old.Chain, 0); err == nil {
			open, err = withdrawal.Unexplained(known, old.ID, 1)
		}
	}
	if err == nil {
		w, err = withdrawal.Puts(by, old, w, open)
	}
	if err != nil || old.ID != uuid.Nil && old.Role == w.Role && old.Status == w.Status {
		return err
	}
	return records.Put(w)
}

// PutFiller records a transaction of a hot wallet that pays no request, so that no job takes its nonce; see
// [withdrawal.Filler] for one that does pay some. The same filler again changes nothing. CreatedAt is the store's time
// if it is zero. The filler's Actor counts as an operator, so the call is in the journal, refused or not.
func (s *Withdrawals) PutFiller(ctx context.Context, f withdrawal.Filler) error {
	by := withdrawal.By{Actor: f.Actor, Role: withdrawal.Operator}
	return call(ctx, s.update, by, DomainWithdrawals, "hot wallet", f.Wallet.String(), "PutFiller", func(tx WithdrawalUnit) error {
		f := f
		if f.CreatedAt.IsZero() {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			f.CreatedAt = now
		}
		f, err := withdrawal.NewFiller(f)
		if err != nil {
			return err
		}
		of, err := tx.HotWallets().Get(f.Wallet)
		if err == nil && len(of) == 1 { // none the store refuses
			err = f.Fits(of[0])
		}
		if err == nil {
			var said []withdrawal.Statement
			if said, err = tx.HotWallets().Statements(f.Chain, 0); err == nil {
				err = f.Pays(said)
			}
		}
		if err != nil {
			return err
		}
		return tx.HotWallets().PutFiller(f)
	})
}

// FreeNonce returns the nonce for the next transaction of a wallet, of which the
// chain says its next one: the lowest free one, see [withdrawal.FreeNonce].
func (s *Withdrawals) FreeNonce(ctx context.Context, wallet uuid.UUID, chain uint64) (uint64, error) {
	return read(ctx, s.view, func(tx WithdrawalUnit) (uint64, error) {
		owned, err := noncesFrom(tx, wallet, chain)
		taken := make([]uint64, len(owned))
		for i, o := range owned {
			taken[i] = o.Nonce
		}
		return withdrawal.FreeNonce(chain, taken), err
	})
}

func noncesFrom(tx WithdrawalUnit, wallet uuid.UUID, chain uint64) ([]withdrawal.OwnedNonce, error) {
	if chain > withdrawal.MaxNonce {
		return nil, fmt.Errorf("%w: a nonce above 2^63 - 2", statemachine.ErrInvalid)
	}
	return tx.HotWallets().NoncesFrom(wallet, chain)
}

// Gaps returns, for each wallet in chain (its next nonce on the chain), the nonces that nothing holds and that a
// transaction with a higher nonce waits for; at most limit for each: see [withdrawal.Gaps]. A transfer of the wallet to
// itself fills a gap. A gap that a job owns ([withdrawal.ErrNonceTaken]) needs no filler on file: no other job gets the
// nonce.
func (s *Withdrawals) Gaps(ctx context.Context, chain map[uuid.UUID]uint64, limit int) (map[uuid.UUID][]uint64, error) {
	if limit < 1 {
		return nil, fmt.Errorf("%w: %d gaps", statemachine.ErrInvalid, limit)
	}
	return read(ctx, s.view, func(tx WithdrawalUnit) (map[uuid.UUID][]uint64, error) { return gapsOf(tx, chain, limit) })
}

func gapsOf(tx WithdrawalUnit, chain map[uuid.UUID]uint64, limit int) (map[uuid.UUID][]uint64, error) {
	gaps := map[uuid.UUID][]uint64{}
	for wallet, next := range chain {
		owned, err := noncesFrom(tx, wallet, next)
		if err != nil {
			return nil, err
		}
		of := make([]uuid.UUID, len(owned))
		for i, o := range owned {
			of[i] = o.Request
		}
		owners, _, err := readable(tx.Withdrawals().Get, of)
		if err != nil {
			return nil, err
		}
		by := make(map[uuid.UUID]*withdrawal.Withdrawal, len(owners))
		for i := range owners {
			by[owners[i].Request.ID] = &owners[i]
		}
		var held []uint64
		for _, o := range owned {
			// A filler has it, or a request that cannot be read and may have sent it.
			if owner := by[o.Request]; o.Request == uuid.Nil || owner == nil || owner.HoldsNonce(wallet, o.Nonce) {
				held = append(held, o.Nonce)
			}
		}
		if all := withdrawal.Gaps(next, held, limit); len(all) > 0 {
			gaps[wallet] = all
		}
	}
	return gaps, nil
}

// Rescue sends Elapsed to up to n executions whose lease has ended, the longest ended first, and returns them as they
// are stored afterwards. wait is when to call it again: zero if more are waiting. An execution that refuses the event
// is left as it is and named in err, and the others are rescued all the same.
//
// The time is the store's, whatever by says, and the version is the stored one. A host calls Rescue from one place or
// from many, in any process.
func (s *Withdrawals) Rescue(ctx context.Context, by withdrawal.By, n int) (rescued []withdrawal.Withdrawal,
	wait time.Duration, err error) {
	if err := CheckLimit(n); err != nil {
		return nil, 0, err
	}
	by.At, by.Version = time.Time{}, 0
	due := func(tx WithdrawalUnit, now time.Time) (due []withdrawal.Withdrawal, err error) {
		q := DueWithdrawals{Kind: withdrawal.DueRescue, Now: now, Limit: n}
		if due, err = s.due(tx, q); err == nil {
			wait, err = s.untilDue(tx, q, len(due))
		}
		return due, err
	}
	rescued, refused, err := s.sweep(ctx, due, withdrawal.Elapsed{By: by})
	if err != nil {
		return nil, 0, err
	}
	if len(rescued) == 0 && refused != nil {
		wait = s.policy.Lease // they are due still
	}
	return rescued, wait, refused
}

// Revoke gives back at once the requests that a worker holds, as [Batches.Revoke] does for batches. A worker that ended
// or starts anew revokes its own name; an operator revokes any worker that is known to be dead, and gives a reason.
// Revoke does what [Withdrawals.Rescue] does when leases have ended, and also ends leases to send again; what the
// worker does afterwards is [statemachine.ErrFenced]. Revoke returns how many requests it gave back, in transactions of
// at most 100; a refused one is named in err and stops no others.
func (s *Withdrawals) Revoke(ctx context.Context, by withdrawal.By, of statemachine.Revocation) (n int, err error) {
	return s.revokeOf(ctx, uuid.Nil, by, of)
}

func (s *Withdrawals) revokeOf(ctx context.Context, chain uuid.UUID, by withdrawal.By, of statemachine.Revocation) (int, error) {
	ev := withdrawal.Revoked{By: by, Revocation: of}
	if err := of.Check(by.Actor, by.Role == withdrawal.WithdrawalWorker); err != nil {
		return 0, s.unheard(ctx, of.Holder, ev, err)
	}
	return s.revoke(ctx, func(tx WithdrawalUnit, after *withdrawal.Withdrawal, limit int) ([]withdrawal.Withdrawal, error) {
		q := ListWithdrawals{Filter: withdrawal.Filter{Chain: chain, Holder: of.Holder}, Limit: limit}
		if after != nil {
			q.After = &after.Request
		}
		return tx.Withdrawals().List(q)
	}, ev)
}

// EnqueueDue makes jobs for up to n approved requests of a chain, the longest waiting first. order is called for each,
// perhaps more than once, and returns what the host decides: actor, job id, asset on chain, priority. If its Wallets
// are nil, EnqueueDue reads them. A request that refuses its event, also for a job id that exists, is left as it is and
// named in err; others take its place, out of the first 10n. If the wallets that EnqueueDue reads give
// [withdrawal.ErrNoHotWallet], the error concerns the whole chain.
//
// wait is when to call it again: zero if more are waiting, [withdrawal.Policy.EnqueueEvery] otherwise. A host that has
// just approved something calls it at once, or sends Enqueued itself.
func (s *Withdrawals) EnqueueDue(ctx context.Context, chain uuid.UUID, n int,
	order func(withdrawal.Request) withdrawal.Enqueued) (enqueued []withdrawal.Withdrawal, wait time.Duration, err error) {
	if chain == uuid.Nil {
		return nil, 0, fmt.Errorf("%w: one chain at a time, so that none without a wallet hides the others", statemachine.ErrInvalid)
	}
	if err := CheckLimit(n); err != nil {
		return nil, 0, err
	}
	if !s.policy.Begins(chain) {
		return nil, s.policy.EnqueueEvery, nil
	}
	var refused []error
	again := false // an id of a job was not free: each is looked up
	enqueue := func(tx WithdrawalUnit) error {
		enqueued, refused = nil, nil
		b, err := s.batch(tx)
		if err != nil {
			return err
		}
		seen, wallets := map[uuid.UUID]bool{}, true
		// What is refused stays due, before the others.
		for limit, more := n, true; more; limit = min(n-len(enqueued)+len(refused), MaxPage) {
			due, err := s.due(tx, DueWithdrawals{Kind: withdrawal.DueEnqueue, Chain: chain, Now: b.now, Limit: limit})
			if err != nil {
				return err
			}
			for i := 0; i < len(due) && len(enqueued) < n && wallets; i++ {
				w := &due[i]
				if seen[w.Request.ID] {
					continue
				}
				seen[w.Request.ID] = true
				o := order(w.Request)
				var refusal error
				if again {
					refusal, err = jobExists(tx, enqueued, o.Job)
				}
				if err == nil && refusal == nil {
					refusal, err = b.try(w, w.Request.ID, o)
				}
				if err != nil {
					return err
				}
				wallets = o.Wallets != nil || !errors.Is(refusal, withdrawal.ErrNoHotWallet) // which concerns them all
				switch {
				case refusal == nil:
					enqueued = append(enqueued, *w)
					continue
				case wallets:
					if err := s.putOff(b, w); err != nil {
						return err
					}
				}
				refused = append(refused, refusal)
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
	}
	if err = s.update(ctx, enqueue); errors.Is(err, statemachine.ErrConflict) {
		again = true
		err = s.update(ctx, enqueue)
	}
	if err != nil {
		return nil, 0, err
	}
	return enqueued, wait, errors.Join(refused...)
}

// RefundsDue returns up to n requests that the system may refund now ([withdrawal.Policy.Refundable]), the longest due
// first; the caller sends [withdrawal.Refunded] for each in the commit of its posting, or before. A request that is due
// and may not be refunded yet is put off until it may, so that it hides no other; for a request that a caller could not
// post he sends [withdrawal.PutOff]. wait is when to call RefundsDue again: zero if more are waiting, at most
// [withdrawal.Policy.EnqueueEvery].
//
// Requests that only a person may refund are in [withdrawal.ListToRefund].
func (s *Withdrawals) RefundsDue(ctx context.Context, n int) (due []withdrawal.Withdrawal, wait time.Duration, err error) {
	if err := CheckLimit(n); err != nil {
		return nil, 0, err
	}
	err = s.update(ctx, func(tx WithdrawalUnit) error {
		b, err := s.batch(tx)
		if err != nil {
			return err
		}
		q := DueWithdrawals{Kind: withdrawal.DueRefund, Now: b.now, Limit: n}
		early, putOff := true, 0
		for early && putOff < 10*n { // what is put off makes room for others
			found, err := s.due(tx, q)
			if err != nil {
				return err
			}
			due, early = nil, false
			for i := range found {
				w := &found[i]
				if _, err := b.beside.fill(w, withdrawal.Refunded{}); err != nil {
					return err
				}
				if at, why := s.policy.Refundable(*w, withdrawal.System, b.now); why == nil && at.IsZero() {
					due = append(due, *w)
					continue
				}
				early = true
				if err := s.putOff(b, w); err != nil {
					return err
				}
				putOff++
			}
			if err := b.save(); err != nil {
				return err
			}
		}
		next, err := tx.Withdrawals().NextDue(q)
		if wait = pause(len(due), n, b.now, next, s.policy.EnqueueEvery); early {
			wait = 0
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return due, wait, nil
}

// jobExists is the refusal of an order with the id of a job that is stored, or
// that was just made.
func jobExists(tx WithdrawalUnit, enqueued []withdrawal.Withdrawal, job uuid.UUID) (refusal, err error) {
	made := slices.ContainsFunc(enqueued, func(w withdrawal.Withdrawal) bool { return w.Job.ID == job })
	if !made {
		if _, err := tx.Withdrawals().RequestOf(job); errors.Is(err, statemachine.ErrNotFound) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return &statemachine.Refusal{Err: statemachine.ErrConflict, Machine: withdrawal.JobMachine.Name(), ID: job.String(),
		Event:  statemachine.EventName(withdrawal.Enqueued{}),
		Reason: "a job of this id exists"}, nil
}

// putOff has what was refused not offered again at once. That is refused too
// where the record has moved on.
func (s *Withdrawals) putOff(b *withdrawalBatch, w *withdrawal.Withdrawal) error {
	_, err := b.try(w, w.Request.ID, withdrawal.PutOff{By: withdrawal.By{Actor: "settle", Role: withdrawal.System}})
	return err
}

// due returns what is due, and behind it what a clock that was ahead has put off. Of a wallet
// whose slot what is due takes it offers no such one.
func (s *Withdrawals) due(tx WithdrawalUnit, q DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	taken := map[uuid.UUID]bool{}
	return dueAndAhead(func(ahead time.Time, limit int) ([]withdrawal.Withdrawal, error) {
		q := q
		q.Ahead, q.Limit = ahead, limit
		found, err := tx.Withdrawals().Due(q)
		for i := 0; i < len(found) && q.Sequential && ahead.IsZero(); i++ {
			taken[found[i].Job.Wallet] = true
		}
		if !ahead.IsZero() {
			found = slices.DeleteFunc(found, func(w withdrawal.Withdrawal) bool { return taken[w.Job.Wallet] })
		}
		return found, err
	}, q.Now.Add(s.policy.Longest(q.Kind)+q.Grace), q.Limit)
}

// untilDue returns how long to wait for more of q: zero where found filled the
// limit, at most the length of a lease otherwise.
func (s *Withdrawals) untilDue(tx WithdrawalUnit, q DueWithdrawals, found int) (time.Duration, error) {
	if found >= q.Limit {
		return 0, nil
	}
	next, err := tx.Withdrawals().NextDue(q)
	return pause(found, q.Limit, q.Now, next, s.policy.Lease), err
}

package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

// Spend says which coins to select and for how long to lease them.
type Spend struct {
	Wallet   utxo.WalletID
	Tag      *string // owner, nil for all
	Request  coinselect.Request
	Lock     utxo.LockID   // names the lease; not zero
	Duration time.Duration // of the lease, > 0
}

// SelectAndLease chooses coins and leases all of them in one transaction, so two callers never get the same coin. Coins
// that the lock has leased already may be chosen again; its other leases are released. So a call that is repeated holds
// exactly the coins that it returns, and a lock is for one payment only.
//
// Once the payment is submitted its coins are spent, and a repeated call would choose others. A host therefore notes
// that it has paid in the transaction of its [utxo.Submitted] (see [Wallets.Within]), and looks there before it repeats
// the call. To send or consolidate all coins, set [coinselect.Request.All].
//
// While the wallet is recovering after a restore, coins are selected only for a request that pays the wallet itself
// ([coinselect.Request.PaysSelf]); any other is an [utxo.UnsettledError]. The same holds for [utxo.Submitted].
func (s *Wallets) SelectAndLease(ctx context.Context, sp Spend) (sel coinselect.Selection, err error) {
	err = s.leasing(ctx, sp, sp.Request.PayAncestors,
		func(_ WalletUnit, candidates []coinselect.Candidate) (inputs, chosen []wire.OutPoint, err error) {
			sel, err = coinselect.Select(candidates, sp.Request)
			return outpoints(sel), outpoints(sel), err
		})
	return sel, err
}

// BumpAndLease chooses the coins of a child that pays for its parent and leases them, as
// SelectAndLease does. See [coinselect.Bump]; leave the fields that Bump sets in the request
// zero.
func (s *Wallets) BumpAndLease(ctx context.Context, parent chainhash.Hash, sp Spend) (sel coinselect.Selection, err error) {
	err = s.leasing(ctx, sp, true, func(_ WalletUnit, candidates []coinselect.Candidate) (inputs, chosen []wire.OutPoint, err error) {
		sel, err = coinselect.Bump(candidates, parent, sp.Request)
		return outpoints(sel), outpoints(sel), err
	})
	return sel, err
}

// Replacement says which transaction to replace, and for how long to lease the inputs that the
// replacement adds.
type Replacement struct {
	ID      utxo.TxID // the latest version
	Tag     *string   // owner of added coins, nil for all
	Request coinselect.ReplaceRequest
	// Lock names the lease; not zero. It must be the lock of the original payment: the kept coins
	// may still be under its lease, and Submitted takes one lock.
	Lock     utxo.LockID
	Duration time.Duration // of the lease, > 0
}

// ReplaceAndLease builds a transaction that replaces another, and leases the coins that it adds,
// in one transaction. The host signs the replacement and sends [utxo.Submitted] with
// [coinselect.Rewrite.Replaces] and the lock. See [coinselect.ReadOriginal] and
// [coinselect.Replace].
func (s *Wallets) ReplaceAndLease(ctx context.Context, r Replacement) (out coinselect.Rewrite, err error) {
	sp := Spend{Wallet: r.ID.Wallet, Tag: r.Tag, Lock: r.Lock, Duration: r.Duration}
	err = s.leasing(ctx, sp, false, func(tx WalletUnit, candidates []coinselect.Candidate) (inputs, added []wire.OutPoint, err error) {
		original, err := coinselect.ReadOriginal(WalletSource(tx), r.ID)
		if err != nil {
			return nil, nil, err
		}
		out, err = coinselect.Replace(original, candidates, r.Request)
		return outpoints(out.Selection), out.Added, err
	})
	return out, err
}

// leasing lets choose pick the inputs, leases those that choose returns as lease, and releases
// every other lease that an earlier call took under the same lock.
func (s *Wallets) leasing(ctx context.Context, sp Spend, fees bool,
	choose func(WalletUnit, []coinselect.Candidate) (inputs, lease []wire.OutPoint, err error)) error {
	return s.update(ctx, func(tx WalletUnit) error {
		if err := tx.Wallets().Lock(sp.Wallet); err != nil {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		if !sp.Request.PaysSelf(s.policy, sp.Wallet) {
			if err := settled(tx, sp.Wallet); err != nil {
				return err
			}
		}
		candidates, err := coinselect.Candidates(s.policy, WalletSource(tx), coinselect.Query{
			Wallet: sp.Wallet, Tag: sp.Tag, Lock: sp.Lock, At: now, Fees: fees,
		})
		if err != nil {
			return err
		}
		inputs, lease, err := choose(tx, candidates)
		if err != nil {
			return err
		}
		held, err := tx.WalletQueries().LeasesOf(sp.Wallet, sp.Lock)
		if err != nil {
			return err
		}
		var others []wire.OutPoint
		for _, l := range held {
			if l.Active(now) && !slices.Contains(inputs, l.OutPoint) {
				others = append(others, l.OutPoint)
			}
		}
		var events []utxo.Event
		if len(lease) > 0 {
			events = append(events, utxo.OutputsLeased{Wallet: sp.Wallet, OutPoints: lease, Lock: sp.Lock, Duration: sp.Duration})
		}
		if len(others) > 0 {
			events = append(events, utxo.LeasesReleased{Wallet: sp.Wallet, OutPoints: others, Lock: sp.Lock})
		}
		sets, err := s.policy.PlanAll(tx.Wallets(), now, events...)
		if err != nil || len(sets) == 0 {
			return err
		}
		return tx.Wallets().Save(sets...)
	})
}

// settled refuses what would pay somebody else while a wallet is recovering after a restore.
func settled(tx WalletUnit, w utxo.WalletID) error {
	state, err := tx.Switches().Ask(switches.Wallet(int64(w)))
	if err != nil || !state.Recovering {
		return err
	}
	open, err := utxo.Unsettled(WalletSource(tx), w, state.RestoredAt)
	if open == nil {
		open = &utxo.UnsettledError{Wallet: w, Why: "nobody has started it since"}
	}
	return cmp.Or[error](err, open)
}

func outpoints(sel coinselect.Selection) (ops []wire.OutPoint) {
	for _, in := range sel.Inputs {
		ops = append(ops, in.OutPoint)
	}
	return ops
}

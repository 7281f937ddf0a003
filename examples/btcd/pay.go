package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

// payout is a request to pay. Its transactions are versions: at most one of
// those of a round can ever be mined, since each shares an input with all.
type payout struct {
	id     int64
	script []byte
	amount int64 // satoshi; 0 sends all
	round  int64 // the next begins only when those before are dead for good
}

// lock names the leases of a round: the same when it is tried again.
func (p payout) lock() utxo.LockID {
	return sha256.Sum256(fmt.Appendf(nil, "payout %d/%d", p.id, p.round))
}

// leaseTime is how long chosen coins wait for their transaction: longer than a
// service takes to sign, or to be started again.
const leaseTime = 3 * time.Second

// settle moves each open payout one step on.
func (s *service) settle(ctx context.Context) error {
	rows, err := s.db.QueryContext(ctx, "SELECT id, script, amount, round FROM payouts WHERE done = 0 ORDER BY id")
	if err != nil {
		return err
	}
	var open []payout
	for rows.Next() {
		var p payout
		if err := errors.Join(rows.Scan(&p.id, &p.script, &p.amount, &p.round)); err != nil {
			return errors.Join(err, rows.Close())
		}
		open = append(open, p)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	var all error
	for _, p := range open {
		if err := s.step(ctx, p); err != nil && !errors.Is(err, coinselect.ErrInsufficientFunds) {
			all = errors.Join(all, fmt.Errorf("payout %d: %w", p.id, err))
		}
	}
	return all
}

// step looks at the versions of a payout and does what comes next.
func (s *service) step(ctx context.Context, p payout) error {
	hashes, err := column[string](ctx, s.db, "SELECT hash FROM versions WHERE payout = $1 AND round = $2 AND kind <> 'child' ORDER BY rowid",
		p.id, p.round)
	if err != nil {
		return err
	}
	if len(hashes) == 0 {
		return s.pay(ctx, p)
	}
	tip, _, err := s.wallets.Tip(ctx)
	if err != nil {
		return err
	}
	dead := true
	var latest *utxo.Tx
	for _, text := range hashes {
		hash, err := chainhash.NewHashFromStr(text)
		if err != nil {
			return err
		}
		d, err := s.wallets.Detail(ctx, utxo.TxID{Wallet: walletID, Hash: *hash})
		if err != nil {
			return err
		}
		if latest = d.Tx; latest.Confirmed() {
			if tip.Height-latest.Height+1 < depth {
				return nil
			}
			_, err := s.db.ExecContext(ctx, "UPDATE payouts SET done = 1 WHERE id = $1", p.id)
			return err
		}
		if dead = dead && !latest.Live(); dead {
			if dead, err = s.wallets.ProvablyDead(ctx, latest.ID, depth); err != nil {
				return err
			}
		}
	}
	switch {
	case dead: // for good: paying again cannot pay twice
		_, err = s.db.ExecContext(ctx, "UPDATE payouts SET round = round + 1 WHERE id = $1 AND round = $2", p.id, p.round)
		return err
	case latest.Status != utxo.Published:
		return nil
	}
	return s.hurry(ctx, p, latest, len(hashes))
}

// pay selects coins, signs, and stores the transaction with the fact that it
// pays this payout, in one commit. Only then can anybody see it.
func (s *service) pay(ctx context.Context, p payout) error {
	spend := store.Spend{Wallet: walletID, Lock: p.lock(), Duration: leaseTime, Request: coinselect.Request{
		FeeRate: coinselect.FeeRate(1000 + 500*(p.id%5)), ChangeScript: script("change"), Unconfirmed: coinselect.OwnChange,
		PendingParents: true, PayAncestors: true,
	}}
	if p.amount == 0 {
		spend.Request.All, spend.Request.ChangeScript = true, p.script
	} else {
		var err error
		if spend.Request.Payment, err = coinselect.Pay(wire.NewTxOut(p.amount, p.script)); err != nil {
			return err
		}
	}
	sel, err := s.wallets.SelectAndLease(ctx, spend)
	if err != nil {
		return err
	}
	tx := wire.NewMsgTx(2)
	for _, in := range sel.Inputs {
		tx.AddTxIn(&wire.TxIn{PreviousOutPoint: in.OutPoint, Sequence: wire.MaxTxInSequenceNum - 2})
	}
	if p.amount > 0 {
		tx.AddTxOut(wire.NewTxOut(p.amount, p.script))
	}
	if sel.Change > 0 {
		tx.AddTxOut(wire.NewTxOut(sel.Change, spend.Request.ChangeScript))
	}
	if err := signOwn(tx, sel.Inputs); err != nil {
		return err
	}
	return s.submit(ctx, p, "payment", utxo.Submitted{Wallet: walletID, Tx: tx, Lock: p.lock()})
}

// hurry makes the network take notice of a payout that is not mined yet: some
// are replaced twice, for others a child pays. The rest waits.
func (s *service) hurry(ctx context.Context, p payout, latest *utxo.Tx, versions int) error {
	rate := coinselect.FeeRate(5000 * int64(versions+1))
	coins := coinselect.Request{FeeRate: rate, ChangeScript: script("change")}
	switch {
	case p.amount > 0 && p.id%4 == 1 && versions < 3:
		req := coinselect.ReplaceRequest{Coins: coins}
		if n := len(latest.Outputs); n > 0 { // of ours is only the change
			req.Change = &latest.Outputs[n-1].Index
		}
		err := s.replace(ctx, p, latest.ID, req)
		if !errors.Is(err, coinselect.ErrDescendants) {
			return pass(err)
		}
		fallthrough // somebody spends the change: a child pays
	case p.amount > 0 && p.id%4 != 0:
		children, err := column[string](ctx, s.db, "SELECT hash FROM versions WHERE payout = $1 AND round = $2 AND kind = 'child'", p.id, p.round)
		if err != nil || len(children) > 0 || len(latest.Outputs) == 0 {
			return err
		}
		return pass(s.bump(ctx, p, latest.ID.Hash, coins))
	case p.amount == 0 && versions < 2: // what sent all shrinks
		shrink := uint32(0)
		return pass(s.replace(ctx, p, latest.ID, coinselect.ReplaceRequest{Shrink: &shrink, Coins: coins}))
	}
	return nil
}

// pass drops the refusals that leave nothing to do: the transaction is mined
// meanwhile, pays enough, has no coin to spend, or money is short.
func pass(err error) error {
	for _, no := range []error{statemachine.ErrIllegal, coinselect.ErrNoShortfall, coinselect.ErrLowFeeRate, coinselect.ErrInsufficientFunds,
		statemachine.ErrNotFound, coinselect.ErrNotLatest} {
		if errors.Is(err, no) {
			return nil
		}
	}
	return err
}

func (s *service) replace(ctx context.Context, p payout, id utxo.TxID, req coinselect.ReplaceRequest) error {
	r, err := s.wallets.ReplaceAndLease(ctx, store.Replacement{ID: id, Request: req, Lock: p.lock(), Duration: leaseTime})
	if err != nil {
		return err
	}
	if err := signOwn(r.Tx, r.Inputs); err != nil {
		return err
	}
	return s.submit(ctx, p, "replacement", utxo.Submitted{Wallet: walletID, Tx: r.Tx, Replaces: r.Replaces, Lock: p.lock()})
}

func (s *service) bump(ctx context.Context, p payout, parent chainhash.Hash, coins coinselect.Request) error {
	lock := utxo.LockID(sha256.Sum256(append([]byte("child of "), parent[:]...)))
	sel, err := s.wallets.BumpAndLease(ctx, parent, store.Spend{Wallet: walletID, Lock: lock, Duration: leaseTime, Request: coins})
	if err != nil {
		return err
	}
	tx := wire.NewMsgTx(2)
	for _, in := range sel.Inputs {
		tx.AddTxIn(&wire.TxIn{PreviousOutPoint: in.OutPoint, Sequence: wire.MaxTxInSequenceNum - 2})
	}
	tx.AddTxOut(wire.NewTxOut(sel.Change, coins.ChangeScript))
	if err := signOwn(tx, sel.Inputs); err != nil {
		return err
	}
	return s.submit(ctx, p, "child", utxo.Submitted{Wallet: walletID, Tx: tx, Lock: lock})
}

// submit stores what is signed, together with what it is for.
func (s *service) submit(ctx context.Context, p payout, kind string, ev utxo.Submitted) error {
	return s.commit(ctx, func(wallets *store.Wallets, tx *sql.Tx) error {
		if _, err := wallets.Do(ctx, ev); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO versions VALUES ($1, $2, $3, $4)", ev.Tx.TxHash().String(), p.id, p.round, kind)
		return err
	})
}

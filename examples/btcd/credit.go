package main

import (
	"context"
	"database/sql"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// credit gives customers what is deep enough. The feed says when to look; what
// has moved waits, on disk, until it is deep or dead.
func (s *service) credit(ctx context.Context) error {
	var cursor store.Cursor
	if err := s.db.QueryRowContext(ctx, "SELECT cursor FROM feed").Scan(&cursor); err != nil {
		return err
	}
	page, next, err := s.wallets.Follow(ctx, cursor, 1000)
	if err != nil {
		return err
	}
	if next != cursor {
		err := s.commit(ctx, func(_ *store.Wallets, tx *sql.Tx) error {
			for _, line := range page {
				if _, err := tx.ExecContext(ctx, "INSERT INTO waiting VALUES ($1) ON CONFLICT DO NOTHING", line.ID.Hash.String()); err != nil {
					return err
				}
			}
			_, err := tx.ExecContext(ctx, "UPDATE feed SET cursor = $1", string(next))
			return err
		})
		if err != nil {
			return err
		}
	}
	waiting, err := column[string](ctx, s.db, "SELECT hash FROM waiting")
	if err != nil {
		return err
	}
	for _, text := range waiting {
		hash, err := chainhash.NewHashFromStr(text)
		if err != nil {
			return err
		}
		if err := s.look(ctx, utxo.TxID{Wallet: walletID, Hash: *hash}); err != nil {
			return err
		}
	}
	return nil
}

// look credits the coins of a transaction that is deep enough. It reads the
// transaction and the tip in one view. The outpoint is the key of a credit: a
// coin that leaves the chain and comes back is not credited again.
func (s *service) look(ctx context.Context, id utxo.TxID) error {
	var coins []utxo.Output
	wait := false
	err := s.View(ctx, func(tx store.Unit) error {
		txs, err := tx.Wallets().Txs(id)
		if err != nil || len(txs) == 0 {
			return err
		}
		tip, _, err := tx.Wallets().Tip()
		if t := txs[0]; t.Confirmed() && tip.Height-t.Height+1 >= depth {
			coins, wait = t.Outputs, false
		} else {
			coins, wait = nil, t.Live() // one that is dead and comes back is in the feed again
		}
		return err
	})
	if err != nil || wait {
		return err
	}
	return s.commit(ctx, func(_ *store.Wallets, tx *sql.Tx) error {
		for _, c := range coins {
			if c.Tag == "change" {
				continue
			}
			op := wire.OutPoint{Hash: id.Hash, Index: c.Index}
			if _, err := tx.ExecContext(ctx, "INSERT INTO credits VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", op.String(), c.Tag, c.Amount); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM waiting WHERE hash = $1", id.Hash.String())
		return err
	})
}

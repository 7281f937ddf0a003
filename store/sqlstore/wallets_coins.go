package sqlstore

import (
	"database/sql"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// foundCoins collects outputs and completes them with their leases.
type foundCoins struct {
	wallets
	wallet utxo.WalletID
	ids    []int64
	coins  []utxo.Coin
}

const (
	coinColumns = "SELECT u.id, t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, s.tx_hash, t.status, t.block_height, t.is_coinbase FROM "
	spender     = " LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id "
	live        = "t.status IN ('pending', 'published')"
	named       = "WHERE u.wallet_id = $1 AND u.output_index = r.output_index AND u.tx_id = (SELECT n.id FROM @transactions n WHERE n.tx_hash = r.tx_hash AND n.wallet_id = $1)"
	ofTag       = "(CAST($2 AS text) IS NULL OR u.owner_tag = $2)"
)

func (f *foundCoins) scan(rows *sql.Rows) error {
	var id int64
	var height sql.NullInt32
	c := utxo.Coin{Wallet: f.wallet, Height: utxo.Unconfirmed}
	err := rows.Scan(&id, (*hashColumn)(&c.OutPoint.Hash), &c.OutPoint.Index, &c.Amount, &c.Script, &c.Tag, (*hashColumn)(&c.SpentBy),
		&c.Status, &height, &c.Coinbase)
	if err != nil {
		return located(err, "transactions", utxo.TxID{Wallet: f.wallet, Hash: c.OutPoint.Hash})
	}
	if height.Valid {
		c.Height = height.Int32
	}
	f.ids = append(f.ids, id)
	f.coins = append(f.coins, c)
	return nil
}

var leasesOf = statement{text: "SELECT utxo_id, lock_id, expires_at FROM @utxo_leases WHERE wallet_id = $1"}

// list reads outputs of a wallet with their leases, which are few.
func (w wallets) list(id utxo.WalletID, st *statement, set *batch, args ...any) ([]utxo.Coin, error) {
	f := &foundCoins{wallets: w, wallet: id}
	if err := w.read(st, set, f.scan, args...); err != nil {
		return nil, err
	}
	if len(f.coins) == 0 {
		return nil, w.known(id)
	}
	leases := map[int64]utxo.Lease{}
	err := w.read(&leasesOf, nil, func(rows *sql.Rows) error {
		var at int64
		l := utxo.Lease{Wallet: id}
		err := rows.Scan(&at, (*hashColumn)(&l.Lock), (*timeColumn)(&l.Until))
		leases[at] = l
		return err
	}, int64(id))
	if err != nil || len(leases) == 0 {
		return f.coins, err
	}
	for i := range f.coins {
		if l, ok := leases[f.ids[i]]; ok {
			l.OutPoint = f.coins[i].OutPoint
			f.coins[i].Lease = l
		}
	}
	return f.coins, nil
}

var (
	unspent = statement{text: "SELECT u.id, t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, NULL, t.status, t.block_height, t.is_coinbase " +
		"FROM @utxos u JOIN @transactions t ON t.id = u.tx_id WHERE u.wallet_id = $1 AND u.spent_by_tx_id IS NULL AND " +
		live + " AND " + ofTag + " ORDER BY u.tx_id, u.output_index"}
	// Spenders that are in no block are few; the outputs that they spend are
	// found from their inputs.
	watched = statement{text: coinColumns + "@utxos u JOIN @transactions t ON t.id = u.tx_id" + spender +
		"WHERE u.wallet_id = $1 AND " + live + " AND (u.spent_by_tx_id IS NULL OR s.block_height IS NULL) ORDER BY u.tx_id, u.output_index"}
	coinsNamed  = statement{each: "tx_hash bytes, output_index int", text: coinColumns + "@utxos u CROSS JOIN @transactions t" + spender + named + " AND t.id = u.tx_id"}
	outputsFrom = statement{text: coinColumns + "@transactions t CROSS JOIN @utxos u" + spender +
		"WHERE t.wallet_id = $1 AND u.wallet_id = t.wallet_id AND u.tx_id = t.id AND (t.tx_hash, u.output_index) > ($2, $3) " +
		"ORDER BY t.tx_hash, u.output_index LIMIT $4"}
	leasesNamed = statement{each: "tx_hash bytes, output_index int", text: "SELECT r.tx_hash, r.output_index, l.lock_id, l.expires_at " +
		"FROM @utxos u CROSS JOIN @utxo_leases l " + named + " AND l.wallet_id = u.wallet_id AND l.utxo_id = u.id"}
)

// Unspent implements [utxo.Reader].
func (w wallets) Unspent(id utxo.WalletID, tag *string) ([]utxo.Coin, error) {
	return w.list(id, &unspent, nil, int64(id), tagArg(tag))
}

// tagArg is NULL for every owner.
func tagArg(tag *string) any {
	if tag == nil {
		return nil
	}
	return *tag
}

// Watch implements [utxo.Queries].
func (w wallets) Watch(id utxo.WalletID) ([]utxo.Coin, error) {
	return w.list(id, &watched, nil, int64(id))
}

// Coins implements [utxo.Queries].
func (w wallets) Coins(id utxo.WalletID, ops ...wire.OutPoint) ([]utxo.Coin, error) {
	if len(ops) == 0 {
		return nil, w.known(id)
	}
	return w.list(id, &coinsNamed, outpoints(ops), int64(id))
}

// Outputs implements [utxo.Queries].
func (w wallets) Outputs(id utxo.WalletID, after *wire.OutPoint, limit int) ([]utxo.Coin, error) {
	if after == nil {
		after = new(wire.OutPoint)
		return w.list(id, &outputsFrom, nil, int64(id), []byte{}, int64(-1), int64(max(limit, 0)))
	}
	return w.list(id, &outputsFrom, nil, int64(id), after.Hash[:], int64(after.Index), int64(max(limit, 0)))
}

// Leases implements [utxo.Reader].
func (w wallets) Leases(id utxo.WalletID, ops ...wire.OutPoint) ([]utxo.Lease, error) {
	var all []utxo.Lease
	err := w.read(&leasesNamed, outpoints(ops), func(rows *sql.Rows) error {
		l := utxo.Lease{Wallet: id}
		err := rows.Scan((*hashColumn)(&l.OutPoint.Hash), &l.OutPoint.Index, (*hashColumn)(&l.Lock), (*timeColumn)(&l.Until))
		all = append(all, l)
		return err
	}, int64(id))
	if err == nil && len(all) == 0 {
		err = w.known(id)
	}
	return all, err
}

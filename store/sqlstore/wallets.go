package sqlstore

import (
	"database/sql"
	"slices"
	"strconv"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// wallets stores package utxo. The files wallets*.go are the whole domain: this
// one reads what the rules ask, wallets_walk.go the closures, wallets_coins.go
// outputs and money, wallets_history.go what people ask, and wallets_save.go
// writes.
type wallets struct{ *tx }

var (
	_ store.WalletRecords   = wallets{}
	_ store.Feed[utxo.TxID] = wallets{}
)

// Wallets implements [store.WalletUnit].
func (t *tx) Wallets() store.WalletRecords {
	if none, lacks := t.lacks(store.DomainWallets); lacks {
		return store.UnimplementedWallets{Unimplemented: none}
	}
	return wallets{t}
}

// WalletQueries implements [store.WalletUnit].
func (t *tx) WalletQueries() store.WalletQueries {
	if none, lacks := t.lacks(store.DomainWallets); lacks {
		return store.UnimplementedWalletQueries{Unimplemented: none}
	}
	return wallets{t}
}

var (
	lockWallet  = statement{text: "SELECT id FROM @wallets WHERE id = $1 FOR NO KEY UPDATE"}
	lockWallets = statement{text: "SELECT id FROM @wallets ORDER BY id FOR NO KEY UPDATE"}
	lockTip     = statement{text: "SELECT id FROM @chain_tip FOR NO KEY UPDATE"}
)

// Lock implements [store.WalletRecords]. An event that concerns all wallets locks the tip first and then the wallets by
// id, so that two of them cannot deadlock. A wallet that is not open yet has no row; the tip stands for it.
func (w wallets) Lock(scope utxo.WalletID) error {
	w.loaded = nil // what was read before was not under the lock
	if w.store.Dialect == SQLite || w.view {
		return nil
	}
	locked := 0
	count := func(*sql.Rows) error { locked++; return nil }
	if scope != 0 {
		if err := w.read(&lockWallet, nil, count, int64(scope)); err != nil || locked > 0 {
			return err
		}
	}
	err := w.read(&lockTip, nil, count)
	switch {
	case err != nil:
		return err
	case scope != 0: // it may have been opened meanwhile
		return w.read(&lockWallet, nil, count, int64(scope))
	}
	return w.read(&lockWallets, nil, count)
}

const blockColumns = "SELECT block_height, block_hash, prev_hash, block_time FROM @blocks "

var (
	selectTip   = statement{text: blockColumns + "ORDER BY block_height DESC LIMIT 1"}
	blocksNamed = statement{each: "block_hash bytes",
		text: "SELECT b.block_height, b.block_hash, b.prev_hash, b.block_time FROM @blocks b WHERE b.block_hash = r.block_hash"}
	selectBlocks  = statement{text: blockColumns + "WHERE block_height BETWEEN $1 AND $2 ORDER BY block_height"}
	selectWallets = statement{text: "SELECT w.id, w.birth_height, CASE WHEN w.follows_tip THEN (SELECT max(b.block_height) FROM @blocks b) " +
		"ELSE w.scanned_to END, " +
		"w.follows_tip, w.announced FROM @wallets w ORDER BY w.id"}
	selectScans = statement{text: "SELECT s.wallet_id, s.scan_id, s.scanned_to, o.owner_tag FROM @wallet_scans s " +
		"CROSS JOIN @wallet_owners o WHERE o.wallet_id = s.wallet_id AND o.scan_id = s.scan_id ORDER BY s.wallet_id, s.scan_id, o.owner_tag"}
	selectOwners = statement{each: "owner_tag text", text: "SELECT o.owner_tag, o.birth_height FROM @wallet_owners o " +
		"WHERE o.wallet_id = $1 AND o.owner_tag = r.owner_tag"}
	selectRaw = statement{each: "wallet_id int, tx_hash bytes", text: "SELECT t.wallet_id, t.tx_hash, t.raw_tx FROM " +
		"@transactions t WHERE t.tx_hash = r.tx_hash AND t.wallet_id = r.wallet_id"}
)

func (w wallets) blocks(st *statement, set *batch, args ...any) ([]utxo.Block, error) {
	var all []utxo.Block
	err := w.read(st, set, func(rows *sql.Rows) error {
		var b utxo.Block
		err := rows.Scan(&b.Height, (*hashColumn)(&b.Hash), (*hashColumn)(&b.Prev), (*timeColumn)(&b.Time))
		all = append(all, b)
		return err
	}, args...)
	return all, err
}

// Tip implements [utxo.Reader].
func (w wallets) Tip() (utxo.Block, bool, error) {
	all, err := w.blocks(&selectTip, nil)
	if err != nil || len(all) == 0 {
		return utxo.Block{}, false, err
	}
	return all[0], true, nil
}

// BlocksNamed implements [utxo.Reader].
func (w wallets) BlocksNamed(hashes ...chainhash.Hash) ([]utxo.Block, error) {
	return w.blocks(&blocksNamed, hashesOf(hashes))
}

// Blocks implements [utxo.Reader].
func (w wallets) Blocks(from, to int32) ([]utxo.Block, error) {
	return w.blocks(&selectBlocks, nil, int64(from), int64(to))
}

// Wallets implements [utxo.Reader]. A store has few enough to read them all.
func (w wallets) Wallets(ids ...utxo.WalletID) ([]utxo.Wallet, error) {
	var all []utxo.Wallet
	err := w.read(&selectWallets, nil, func(rows *sql.Rows) error {
		var x utxo.Wallet
		err := rows.Scan(&x.ID, &x.Birth, &x.ScannedTo, &x.Follows, &x.Announced)
		all = append(all, x)
		return err
	})
	if err != nil {
		return nil, err
	}
	at := func(id utxo.WalletID) (int, bool) {
		return slices.BinarySearchFunc(all, id, func(x utxo.Wallet, id utxo.WalletID) int { return int(x.ID - id) })
	}
	err = w.read(&selectScans, nil, func(rows *sql.Rows) error {
		var id utxo.WalletID
		var scan utxo.OwnerScan
		var tag string
		if err := rows.Scan(&id, &scan.ID, &scan.ScannedTo, &tag); err != nil {
			return err
		}
		i, ok := at(id)
		if !ok {
			return nil
		}
		behind := &all[i].Behind
		if n := len(*behind); n == 0 || (*behind)[n-1].ID != scan.ID {
			*behind = append(*behind, scan)
		}
		last := &(*behind)[len(*behind)-1]
		last.Tags = append(last.Tags, tag)
		return nil
	})
	if err != nil || len(ids) == 0 {
		return all, err
	}
	named := make([]utxo.Wallet, len(ids))
	for i, id := range ids {
		j, ok := at(id)
		if !ok {
			return nil, unknownWallet(id)
		}
		named[i] = all[j]
	}
	return named, nil
}

// Owners implements [utxo.Reader].
func (w wallets) Owners(id utxo.WalletID, tags ...string) ([]utxo.Owned, error) {
	set := new(batch)
	for _, tag := range tags {
		set.add(tag)
	}
	var all []utxo.Owned
	err := w.read(&selectOwners, set, func(rows *sql.Rows) error {
		o := utxo.Owned{Wallet: id}
		err := rows.Scan(&o.Tag, &o.Birth)
		all = append(all, o)
		return err
	}, int64(id))
	if err == nil && len(all) == 0 {
		err = w.known(id)
	}
	return all, err
}

// known reports an error unless the wallet exists. A read asks only when it
// found nothing.
func (w wallets) known(id utxo.WalletID) error {
	_, err := w.Wallets(id)
	return err
}

func unknownWallet(id utxo.WalletID) error {
	return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "utxo.wallet", ID: strconv.FormatInt(int64(id), 10)}
}

// Raw implements [utxo.Reader].
func (w wallets) Raw(ids ...utxo.TxID) ([][]byte, error) {
	stored := make(map[utxo.TxID][]byte, len(ids))
	err := w.read(&selectRaw, names(ids), func(rows *sql.Rows) error {
		var id utxo.TxID
		var raw []byte
		err := rows.Scan(&id.Wallet, (*hashColumn)(&id.Hash), &raw)
		stored[id] = raw
		return err
	})
	raws := make([][]byte, len(ids))
	for i, id := range ids {
		if raws[i] = stored[id]; raws[i] == nil && err == nil {
			err = unknownTx(id)
		}
	}
	return raws, err
}

func unknownTx(id utxo.TxID) error {
	return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: utxo.TxMachine.Name(), ID: id.String()}
}

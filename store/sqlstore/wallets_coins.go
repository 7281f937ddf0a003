package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// foundCoins collects outputs of a wallet. Each row is scanned to the same
// places, since there may be very many.
type foundCoins struct {
	next   utxo.Coin
	places []any
	chunks [][]utxo.Coin
	n      int

	scripts []byte // of the last coins, where they are packed
}

func coinsOf(id utxo.WalletID) *foundCoins {
	f := new(foundCoins)
	c := &f.next
	c.Wallet = id
	f.places = []any{(*hashColumn)(&c.OutPoint.Hash), (*indexColumn)(&c.OutPoint.Index), &c.Amount, &c.Script, &c.Tag,
		&c.Status, (*heightColumn)(&c.Height), &c.Coinbase, (*hashColumn)(&c.SpentBy)}
	return f
}

const (
	coinColumns = "SELECT t.tx_hash, u.output_index, u.amount, u.script, u.owner_tag, t.status, t.block_height, t.is_coinbase"
	andSpender  = ", s.tx_hash FROM "
	spender     = " LEFT JOIN @transactions s ON s.id = u.spent_by_tx_id "
	live        = "t.status IN ('pending', 'published')"
	named       = "WHERE u.wallet_id = $1 AND u.output_index = r.output_index AND u.tx_id = (SELECT n.id FROM @transactions n WHERE " +
		"n.tx_hash = r.tx_hash AND n.wallet_id = $1)"
	ofTag = "(CAST($2 AS text) IS NULL OR u.owner_tag = $2)"
)

const unspentOf = " FROM @utxos u JOIN @transactions t ON t.id = u.tx_id WHERE u.wallet_id = $1 AND u.spent_by_tx_id IS NULL AND " +
	live + " AND " + ofTag + " ORDER BY u.tx_id, u.output_index"

// packedColumns are coinColumns as a text and octets. SQLite locks its connection for each
// column that is read, several times, which was half the time of a long list.
const packedColumns = "SELECT u.output_index || ' ' || u.amount || ' ' || coalesce(t.block_height, -1) || ' ' || t.is_coinbase || ' ' || " +
	"t.status || ' ' || u.owner_tag, CAST(t.tx_hash || u.script AS BLOB)"

// packedCoin reads the text of packedColumns.
type packedCoin foundCoins

func (f *packedCoin) Scan(src any) error {
	text, _ := src.(string)
	var numbers [4]int64
	for i := range numbers {
		var n string
		var err error
		n, text, _ = strings.Cut(text, " ")
		if numbers[i], err = strconv.ParseInt(n, 10, 64); err != nil {
			return fmt.Errorf("%w: a coin: %w", statemachine.ErrCorrupt, err)
		}
	}
	c := &f.next
	c.OutPoint.Index, c.Amount, c.Height, c.Coinbase = uint32(numbers[0]), numbers[1], int32(numbers[2]), numbers[3] != 0
	status, tag, _ := strings.Cut(text, " ")
	if c.Tag != tag { // else all coins of an owner share one
		c.Tag = strings.Clone(tag)
	}
	return c.Status.Scan(status)
}

// packedBytes reads the octets of packedColumns. Scripts are cut from chunks.
type packedBytes foundCoins

func (f *packedBytes) Scan(src any) error {
	b, _ := src.([]byte)
	hash := &f.next.OutPoint.Hash
	if len(b) < len(hash) {
		return fmt.Errorf("%w: a hash has 32 bytes", statemachine.ErrCorrupt)
	}
	script := b[copy(hash[:], b):]
	if cap(f.scripts)-len(f.scripts) < len(script) {
		f.scripts = make([]byte, 0, max(len(script), 16<<10))
	}
	start := len(f.scripts)
	f.scripts = append(f.scripts, script...)
	f.next.Script = f.scripts[start:len(f.scripts):len(f.scripts)]
	return nil
}

const coinsInAChunk = 512

func (f *foundCoins) scan(rows *sql.Rows) error {
	if err := rows.Scan(f.places...); err != nil {
		return located(err, "transactions", utxo.TxID{Wallet: f.next.Wallet, Hash: f.next.OutPoint.Hash})
	}
	if f.n%coinsInAChunk == 0 {
		f.chunks = append(f.chunks, make([]utxo.Coin, 0, coinsInAChunk))
	}
	last := &f.chunks[len(f.chunks)-1]
	*last = append(*last, f.next)
	f.n++
	return nil
}

const (
	// Both say what is generated from the key or from utxo_id, so that an index with these is enough.
	isLeased = "u.wallet_id = l.wallet_id AND u.tx_id = l.utxo_id / 4294967296 AND u.output_index = l.utxo_id % 4294967296"
	leaseOf  = "l.wallet_id = u.wallet_id AND l.utxo_id = u.tx_id * 4294967296 + u.output_index"
)

const leaseColumns = "SELECT l.wallet_id, t.tx_hash, u.output_index, l.lock_id, l.expires_at, l.leased_at FROM "

var leasesOf = statement{text: leaseColumns + "@utxo_leases l JOIN @utxos u ON " + isLeased +
	" JOIN @transactions t ON t.id = u.tx_id WHERE l.wallet_id = $1"}

func (w wallets) leases(st *statement, set *batch, each func(utxo.Lease), args ...any) error {
	return w.read(st, set, func(rows *sql.Rows) error {
		var l utxo.Lease
		err := rows.Scan(&l.Wallet, (*hashColumn)(&l.OutPoint.Hash), &l.OutPoint.Index, (*hashColumn)(&l.Lock),
			(*timeColumn)(&l.Until), (*timeColumn)(&l.Since))
		each(l)
		return err
	}, args...)
}

// list reads outputs of a wallet with their leases. Those of spent outputs stay,
// so the leases of all outputs of a wallet are never read.
func (w wallets) list(id utxo.WalletID, st *statement, set *batch, args ...any) ([]utxo.Coin, error) {
	f := coinsOf(id)
	live := st == unspent[w.store.Dialect]
	switch {
	case live && w.store.Dialect == SQLite:
		f.places = []any{(*packedCoin)(f), (*packedBytes)(f)}
	case live: // they have no spender
		f.places = f.places[:len(f.places)-1]
	}
	if err := w.read(st, set, f.scan, args...); err != nil {
		return nil, err
	}
	if f.n == 0 {
		return nil, w.known(id)
	}
	coins := slices.Concat(f.chunks...)
	leases := map[wire.OutPoint]*utxo.Lease{}
	of, at := &leasesUnspent, (*batch)(nil)
	if !live {
		ops := make([]wire.OutPoint, len(coins))
		for i := range coins {
			ops[i] = coins[i].OutPoint
		}
		of, at = &leasesNamed, outpoints(ops)
	}
	err := w.leases(of, at, func(l utxo.Lease) { leases[l.OutPoint] = &l }, int64(id))
	if err != nil || len(leases) == 0 {
		return coins, err
	}
	for i := range coins {
		coins[i].Lease = leases[coins[i].OutPoint]
	}
	return coins, nil
}

var (
	unspent = map[Dialect]*statement{SQLite: {text: packedColumns + unspentOf}, Postgres: {text: coinColumns + unspentOf}}
	// Spenders that are in no block are few; the outputs that they spend are
	// found from their inputs.
	watched = statement{text: coinColumns + andSpender + "@utxos u JOIN @transactions t ON t.id = u.tx_id" + spender +
		"WHERE u.wallet_id = $1 AND " + live + " AND (u.spent_by_tx_id IS NULL OR s.block_height IS NULL) ORDER BY u.tx_id, u.output_index"}
	coinsNamed = statement{each: "tx_hash bytes, output_index int",
		text: coinColumns + andSpender + "@utxos u CROSS JOIN @transactions t" + spender + named + " AND t.id = u.tx_id"}
	outputsFrom = statement{text: coinColumns + andSpender + "@transactions t CROSS JOIN @utxos u" + spender +
		"WHERE t.wallet_id = $1 AND u.wallet_id = t.wallet_id AND u.tx_id = t.id AND (t.tx_hash, u.output_index) > ($2, $3) " +
		"ORDER BY t.tx_hash, u.output_index LIMIT $4"}
	leasesUnspent = statement{text: leaseColumns + "@utxos u CROSS JOIN @utxo_leases l JOIN @transactions t ON t.id = u.tx_id " +
		"WHERE u.wallet_id = $1 AND u.spent_by_tx_id IS NULL AND " + leaseOf}
	leasesNamed = statement{each: "tx_hash bytes, output_index int",
		text: "SELECT u.wallet_id, r.tx_hash, r.output_index, l.lock_id, l.expires_at, l.leased_at " +
			"FROM @utxos u CROSS JOIN @utxo_leases l " + named + " AND " + leaseOf}
)

// Unspent implements [utxo.Queries].
func (w wallets) Unspent(id utxo.WalletID, tag *string) ([]utxo.Coin, error) {
	return w.list(id, unspent[w.store.Dialect], nil, int64(id), tagArg(tag))
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
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	if after == nil {
		after = new(wire.OutPoint)
		return w.list(id, &outputsFrom, nil, int64(id), []byte{}, int64(-1), int64(limit))
	}
	return w.list(id, &outputsFrom, nil, int64(id), after.Hash[:], int64(after.Index), int64(limit))
}

var (
	leasesOfLock = statement{text: leasesOf.text + " AND l.lock_id = $2 ORDER BY 2, 3"}
	// Each finds its transaction by the key.
	leasesActive = statement{text: "SELECT l.wallet_id, (SELECT t.tx_hash FROM @transactions t WHERE t.id = l.tx_id), l.output_index, " +
		"l.lock_id, l.expires_at, l.leased_at FROM @utxo_leases l WHERE l.wallet_id = $1 AND l.expires_at > $2 ORDER BY 2, 3"}
)

// LeasesOf implements [utxo.Queries].
func (w wallets) LeasesOf(id utxo.WalletID, lock utxo.LockID) ([]utxo.Lease, error) {
	return w.leasesIn(id, &leasesOfLock, nil, lock[:])
}

// ActiveLeases implements [utxo.Queries].
func (w wallets) ActiveLeases(id utxo.WalletID, now time.Time) ([]utxo.Lease, error) {
	return w.leasesIn(id, &leasesActive, nil, now)
}

// Leases implements [utxo.Reader].
func (w wallets) Leases(id utxo.WalletID, ops ...wire.OutPoint) ([]utxo.Lease, error) {
	return w.leasesIn(id, &leasesNamed, outpoints(ops))
}

// leasesIn reads leases of a wallet, which is the first argument.
func (w wallets) leasesIn(id utxo.WalletID, st *statement, set *batch, args ...any) ([]utxo.Lease, error) {
	var all []utxo.Lease
	err := w.leases(st, set, func(l utxo.Lease) { all = append(all, l) }, append([]any{int64(id)}, args...)...)
	if err == nil && len(all) == 0 {
		err = w.known(id)
	}
	return all, err
}

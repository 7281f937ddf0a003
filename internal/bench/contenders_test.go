package bench

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/btcsuite/btcwallet/walletdb"
	_ "github.com/btcsuite/btcwallet/walletdb/bdb"
	"github.com/btcsuite/btcwallet/wtxmgr"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// wallet is what all of them can do, each call in one commit.
type wallet interface {
	connect(blocks ...block) error
	disconnect(blocks ...block) error // the last ones, in their order
	observe(tip utxo.Block, txs ...tx) error
	balance() (int64, error)               // with one confirmation
	unspent(visit func(coin)) (int, error) // visit may be nil
}

type coin struct {
	hash   [32]byte
	index  uint32
	amount int64
}

// events are the calls of wallet as ours take them.
func events(blocks []block) []utxo.Event {
	var evs []utxo.Event
	for _, b := range blocks {
		evs = append(evs, b.Connected)
	}
	return evs
}

func backwards(blocks []block) []utxo.Event {
	var evs []utxo.Event
	for _, b := range slices.Backward(blocks) {
		evs = append(evs, utxo.Disconnected{Hash: b.Block.Hash, By: utxo.By{At: b.At}})
	}
	return evs
}

type sequence int64

func (s *sequence) sightings(tip utxo.Block, txs []tx) []utxo.Event {
	var evs []utxo.Event
	for _, tx := range txs {
		*s++
		evs = append(evs, utxo.Observed{Txs: []*wire.MsgTx{tx.MsgTx}, Seq: int64(*s), Tip: tip.Hash, By: utxo.By{At: tip.Time}})
	}
	return evs
}

func visitAll[C any](list []C, of func(*C) coin, visit func(coin)) int {
	if visit != nil {
		for i := range list {
			visit(of(&list[i]))
		}
	}
	return len(list)
}

// memory is our ledger.
type memory struct {
	*utxo.Ledger
	seq sequence
}

func newMemory(t testing.TB) *memory {
	m := &memory{Ledger: utxo.NewLedger(policy)}
	if err := m.do(utxo.WalletOpened{Wallet: 1, Birth: 1, By: utxo.By{At: genesis}}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *memory) do(evs ...utxo.Event) error {
	for _, ev := range evs {
		if _, err := m.Do(ev); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) connect(blocks ...block) error           { return m.do(events(blocks)...) }
func (m *memory) disconnect(blocks ...block) error        { return m.do(backwards(blocks)...) }
func (m *memory) observe(tip utxo.Block, txs ...tx) error { return m.do(m.seq.sightings(tip, txs)...) }
func (m *memory) unspent(visit func(coin)) (int, error) {
	coins, err := m.Unspent(1, nil)
	return visitAll(coins, ofCoin, visit), err
}

func (m *memory) balance() (int64, error) {
	b, err := m.Balance(policy, 1, nil, 1, genesis)
	return b.Confirmed, err
}

func ofCoin(c *utxo.Coin) coin { return coin{c.OutPoint.Hash, c.OutPoint.Index, c.Amount} }

// sqlite is our store with its service.
type sqlite struct {
	*store.Wallets
	seq sequence
}

func newSQLite(t testing.TB) *sqlite {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "settle.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	wallets, err := store.NewWallets(s, policy)
	if err != nil {
		t.Fatal(err)
	}
	w := &sqlite{Wallets: wallets}
	if err := w.do(utxo.WalletOpened{Wallet: 1, Birth: 1}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (s *sqlite) do(evs ...utxo.Event) error {
	_, err := s.Do(context.Background(), evs...)
	return err
}

func (s *sqlite) connect(blocks ...block) error           { return s.do(events(blocks)...) }
func (s *sqlite) disconnect(blocks ...block) error        { return s.do(backwards(blocks)...) }
func (s *sqlite) observe(tip utxo.Block, txs ...tx) error { return s.do(s.seq.sightings(tip, txs)...) }

func (s *sqlite) unspent(visit func(coin)) (int, error) {
	coins, err := s.Unspent(context.Background(), 1, nil)
	return visitAll(coins, func(c *store.CoinState) coin { return ofCoin(&c.Coin) }, visit), err
}

func (s *sqlite) balance() (int64, error) {
	b, err := s.Balance(context.Background(), 1, nil, 1)
	return b.Confirmed, err
}

// peer is btcwallet's wtxmgr, called as btcwallet does: insert the transaction,
// then name its outputs that are ours.
type peer struct {
	db  walletdb.DB
	s   *wtxmgr.Store
	tip int32
}

var namespace = []byte("wtxmgr")

func newPeer(t testing.TB) *peer {
	db, err := walletdb.Create("bdb", filepath.Join(t.TempDir(), "wallet.db"), true, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	p := &peer{db: db}
	err = walletdb.Update(db, func(tx walletdb.ReadWriteTx) error {
		ns, err := tx.CreateTopLevelBucket(namespace)
		if err == nil {
			err = wtxmgr.Create(ns)
		}
		if err == nil {
			p.s, err = wtxmgr.Open(ns, &chaincfg.MainNetParams)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *peer) update(fn func(ns walletdb.ReadWriteBucket) error) error {
	return walletdb.Update(p.db, func(tx walletdb.ReadWriteTx) error { return fn(tx.ReadWriteBucket(namespace)) })
}

func (p *peer) view(fn func(ns walletdb.ReadBucket) error) error {
	return walletdb.View(p.db, func(tx walletdb.ReadTx) error { return fn(tx.ReadBucket(namespace)) })
}

func (p *peer) insert(ns walletdb.ReadWriteBucket, meta *wtxmgr.BlockMeta, at time.Time, txs []tx) error {
	for _, tx := range txs {
		rec, err := wtxmgr.NewTxRecordFromMsgTx(tx.old, at)
		if err != nil {
			return err
		}
		if err := p.s.InsertTx(ns, rec, meta); err != nil {
			return err
		}
		for i, out := range rec.MsgTx.TxOut {
			if bytes.Equal(out.PkScript, ours) {
				if err := p.s.AddCredit(ns, rec, meta, uint32(i), false); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *peer) connect(blocks ...block) error {
	return p.update(func(ns walletdb.ReadWriteBucket) error {
		for _, b := range blocks {
			if err := p.insert(ns, &b.meta, b.meta.Time, b.txs); err != nil {
				return err
			}
			p.tip = b.meta.Height
		}
		return nil
	})
}

func (p *peer) disconnect(blocks ...block) error {
	p.tip = blocks[0].meta.Height - 1
	return p.update(func(ns walletdb.ReadWriteBucket) error { return p.s.Rollback(ns, blocks[0].meta.Height) })
}

func (p *peer) observe(tip utxo.Block, txs ...tx) error {
	return p.update(func(ns walletdb.ReadWriteBucket) error { return p.insert(ns, nil, tip.Time, txs) })
}

func (p *peer) balance() (sum int64, err error) {
	err = p.view(func(ns walletdb.ReadBucket) error {
		amount, err := p.s.Balance(ns, 1, p.tip)
		sum = int64(amount)
		return err
	})
	return sum, err
}

func (p *peer) unspent(visit func(coin)) (n int, err error) {
	err = p.view(func(ns walletdb.ReadBucket) error {
		credits, err := p.s.UnspentOutputs(ns)
		n = visitAll(credits, func(c *wtxmgr.Credit) coin { return coin{c.OutPoint.Hash, c.OutPoint.Index, int64(c.Amount)} }, visit)
		return err
	})
	return n, err
}

// trio is one of each, with the same history.
type trio struct {
	chain
	all []wallet
}

func newTrio(t testing.TB) *trio {
	return &trio{all: []wallet{newPeer(t), newMemory(t), newSQLite(t)}}
}

func (t *trio) each(fn func(w wallet) error) error {
	for _, w := range t.all {
		if err := fn(w); err != nil {
			return fmt.Errorf("%T: %w", w, err)
		}
	}
	return nil
}

func (t *trio) connect(blocks ...block) error {
	return t.each(func(w wallet) error { return w.connect(blocks...) })
}

// agree compares balances and coins.
func (t *trio) agree() error {
	var money []int64
	var coins []map[coin]bool
	if err := t.each(func(w wallet) error {
		sum, err := w.balance()
		if err != nil {
			return err
		}
		set := map[coin]bool{}
		n, err := w.unspent(func(c coin) { set[c] = true })
		if n != len(set) {
			err = errors.Join(err, fmt.Errorf("%d coins, %d different ones", n, len(set)))
		}
		money, coins = append(money, sum), append(coins, set)
		return err
	}); err != nil {
		return err
	}
	for i := range t.all {
		if money[i] != money[0] || !maps.Equal(coins[i], coins[0]) {
			return fmt.Errorf("%T has %d in %d coins, %T %d in %d", t.all[0], money[0], len(coins[0]), t.all[i], money[i], len(coins[i]))
		}
	}
	return nil
}

// race is race with the same call on each of the three, which does n things.
func (t *trio) race(b *testing.B, u unit, n int, prepare func() error, run func(w wallet) error) {
	sides := t.sides(n, run)
	race(b, u, prepare, sides[0], sides[1:]...)
}

func (t *trio) sides(n int, run func(w wallet) error) []side {
	sides := make([]side, len(t.all))
	for i, name := range []string{"wtxmgr", "memory", "sqlite"} {
		sides[i] = side{name, n, func() error { return run(t.all[i]) }}
	}
	return sides
}

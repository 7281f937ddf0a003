package sqlstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// chain makes blocks for a wallet: each transaction has one foreign input and
// pays two coins.
type chain struct {
	tip  utxo.Block
	salt uint32
}

func foreign(n uint32) wire.OutPoint {
	return wire.OutPoint{Hash: chainhash.HashH(fmt.Append(nil, "foreign", n))}
}

func (c *chain) next(txs int) utxo.Connected {
	b := utxotest.NewBlock(c.tip.Height+1, c.tip.Hash, 0)
	ev := utxo.Connected{Block: b, By: utxo.By{At: time.Unix(1_700_000_000+int64(b.Height), 0)}}
	for i := range txs {
		c.salt++
		to := utxotest.Script(1, "main")
		ev.Txs = append(ev.Txs, utxotest.NewTx(c.salt, []wire.OutPoint{foreign(c.salt)}, utxotest.Pay(1000, to), utxotest.Pay(2000, to)))
		ev.Positions = append(ev.Positions, int32(i)+1)
	}
	c.tip = b
	return ev
}

// grown is a store with a wallet of n transactions in blocks of 1000.
func grown(b *testing.B, d sqlstore.Dialect, n int) (*sqlstore.Store, database, *chain, *store.Wallets) {
	b.Helper()
	s, db := newStore(b, d)
	ctx := context.Background()
	service := walletsOf(b, s, utxotest.Policy())
	ledger := utxo.NewLedger(utxotest.Policy())
	c := new(chain)
	apply := func(ev utxo.Event) {
		set, err := ledger.Do(ev)
		if err == nil {
			err = s.Update(ctx, func(tx store.Unit) error { return tx.Wallets().Save(set) })
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	apply(utxo.WalletOpened{Wallet: 1, Birth: 1, By: utxo.By{At: utxotest.Start}})
	start := time.Now()
	for range n / 1000 {
		apply(c.next(1000))
	}
	if n > 0 {
		b.Logf("%v: %v for each transaction saved", d, time.Since(start)/time.Duration(n))
		if d == sqlstore.Postgres {
			if _, err := db.Exec("ANALYZE"); err != nil {
				b.Fatal(err)
			}
		}
	}
	return s, db, c, service
}

func dialects(b *testing.B, run func(b *testing.B, d sqlstore.Dialect)) {
	for _, d := range []sqlstore.Dialect{sqlstore.SQLite, sqlstore.Postgres} {
		b.Run(d.String(), func(b *testing.B) { run(b, d) })
	}
}

func perTx(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000/float64(n*b.N), "us/tx")
}

// One commit inserts 100 blocks with 1000 transactions; a second one rolls
// them back.
func BenchmarkInsertAndRollBack(b *testing.B) {
	dialects(b, func(b *testing.B, d sqlstore.Dialect) {
		for _, size := range []int{10_000, 100_000} {
			_, _, c, service := grown(b, d, size)
			ctx := context.Background()
			var undo []utxo.Event
			b.Run(fmt.Sprintf("insert-at-%d", size), func(b *testing.B) {
				for range b.N {
					var events []utxo.Event
					for range 100 {
						ev := c.next(10)
						events = append(events, ev)
						undo = append(undo, utxo.Disconnected{Hash: ev.Block.Hash, By: utxo.By{At: ev.At}})
					}
					if _, err := service.Do(ctx, events...); err != nil {
						b.Fatal(err)
					}
				}
				perTx(b, 1000)
			})
			b.Run(fmt.Sprintf("rollback-at-%d", size), func(b *testing.B) {
				n := 0
				for range b.N {
					var events []utxo.Event
					for len(events) < 100 && len(undo) > 0 {
						events = append(events, undo[len(undo)-1])
						undo = undo[:len(undo)-1]
					}
					n += len(events)
					if _, err := service.Do(ctx, events...); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1000/float64(max(n, 1))*100, "ms/100blocks")
			})
		}
	})
}

func BenchmarkReads(b *testing.B) {
	dialects(b, func(b *testing.B, d sqlstore.Dialect) {
		s, _, c, _ := grown(b, d, 100_000)
		read := func(name string, fn func(w utxo.Source) error) {
			b.Run(name, func(b *testing.B) {
				for range b.N {
					if err := s.View(context.Background(), func(tx store.Unit) error { return fn(store.WalletSource(tx)) }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		read("balance", func(w utxo.Source) error {
			_, err := w.Balance(utxotest.Policy(), 1, nil, 1, time.Now())
			return err
		})
		read("balance-6-confirmations", func(w utxo.Source) error {
			_, err := w.Balance(utxotest.Policy(), 1, nil, 6, time.Now())
			return err
		})
		read("unspent", func(w utxo.Source) error {
			all, err := w.Unspent(1, nil)
			if len(all) != 200_000 {
				return fmt.Errorf("%d coins", len(all))
			}
			return err
		})
		read("history-page", func(w utxo.Source) error {
			_, err := w.History(1, &utxo.HistoryKey{Height: c.tip.Height - 2}, 50)
			return err
		})
		read("spenders-of-1000", func(w utxo.Source) error {
			ops := make([]wire.OutPoint, 1000)
			for i := range ops {
				ops[i] = foreign(uint32(i*50 + 1))
			}
			all, err := w.Spenders(ops...)
			if len(all) != 1000 {
				return fmt.Errorf("%d spenders", len(all))
			}
			return err
		})
	})
}

// A chain of unconfirmed transactions, walked down and up.
func BenchmarkClosures(b *testing.B) {
	dialects(b, func(b *testing.B, d sqlstore.Dialect) {
		for _, depth := range []int{1000, 5000, 20_000} {
			s, _ := newStore(b, d)
			ctx := context.Background()
			set := utxo.ChangeSet{Wallets: []utxo.WalletChange{{New: utxo.Wallet{ID: 1, ScannedTo: -1}}}}
			prev := chainhash.Hash{1}
			var ids []utxo.TxID
			for i := range depth {
				hash := chainhash.HashH(fmt.Append(nil, i))
				id := utxo.TxID{Wallet: 1, Hash: hash}
				ids = append(ids, id)
				set.Inserts = append(set.Inserts, &utxo.Tx{ID: id, Status: utxo.Pending, Height: utxo.Unconfirmed, FirstSeen: time.Now(), Version: 1,
					Raw: make([]byte, 200), Inputs: []wire.OutPoint{{Hash: prev}}, Outputs: []utxo.Output{{Amount: 1, Tag: "main"}}})
				prev = hash
			}
			if err := s.Update(ctx, func(tx store.Unit) error { return tx.Wallets().Save(set) }); err != nil {
				b.Fatal(err)
			}
			walk := func(name string, fn func(w utxo.Source) ([]*utxo.Tx, error)) {
				b.Run(fmt.Sprintf("%s-%d", name, depth), func(b *testing.B) {
					for range b.N {
						if err := s.View(ctx, func(tx store.Unit) error {
							all, err := fn(store.WalletSource(tx))
							if len(all) < depth-1 {
								return fmt.Errorf("%d found: %w", len(all), err)
							}
							return err
						}); err != nil {
							b.Fatal(err)
						}
					}
					perTx(b, depth)
				})
			}
			walk("descendants", func(w utxo.Source) ([]*utxo.Tx, error) { return w.Descendants(ids[0].Hash) })
			walk("ancestors", func(w utxo.Source) ([]*utxo.Tx, error) {
				return w.Ancestors(utxo.NotConfirmed, ids[len(ids)-1].Hash)
			})
		}
	})
}

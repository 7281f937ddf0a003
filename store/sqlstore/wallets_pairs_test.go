package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// Two events about wallets, each by a transaction of its own at READ COMMITTED:
// both have read everything before either writes, and the second is sent while
// the first has not committed. In both orders the answers and the end are those
// of one after the other.
func TestPairsOfWalletTransactionsOnPostgres(t *testing.T) {
	pgtest.Beside(t)
	main1, main2, other := utxotest.Script(1, "main"), utxotest.Script(2, "main"), utxotest.Script(1, "other")
	by := utxo.By{At: utxotest.Start}
	var tip utxo.Block
	salt := uint32(0)
	tx := func(in []wire.OutPoint, outs ...*wire.TxOut) *wire.MsgTx {
		if salt++; in == nil {
			in = []wire.OutPoint{utxotest.External(salt)}
		}
		return utxotest.NewTx(salt, in, outs...)
	}
	block := func(txs ...*wire.MsgTx) utxo.Connected {
		ev := utxo.Connected{Block: utxotest.NewBlock(tip.Height+1, tip.Hash, salt), Txs: txs, By: by}
		for i := range txs {
			ev.Positions = append(ev.Positions, int32(i)+1)
		}
		return ev
	}
	mined := func(ev utxo.Connected) utxo.Connected { tip = ev.Block; return ev }
	seen := func(txs ...*wire.MsgTx) utxo.Event { return utxo.Observed{Txs: txs, Tip: tip.Hash, By: by} }
	leased := func(op wire.OutPoint, lock byte) utxo.Event {
		return utxo.OutputsLeased{Wallet: 1, OutPoints: []wire.OutPoint{op}, Lock: utxo.LockID{lock}, Duration: time.Hour, By: by}
	}
	ops := func(ops ...wire.OutPoint) []wire.OutPoint { return ops }
	out, pay := utxotest.Out, utxotest.Pay
	type pair struct {
		before []utxo.Event
		events [2]utxo.Event
	}
	for name, of := range map[string]func() pair{
		"a foreign parent and its child, in two wallets": func() pair {
			p := tx(nil, pay(9, main1), pay(9, utxotest.Foreign))
			c := tx(ops(out(p, 0), out(p, 1)), pay(5, main2))
			return pair{nil, [2]utxo.Event{seen(p), seen(c)}}
		},
		"a parent in a block and its child in the mempool of the tip before": func() pair {
			p := tx(nil, pay(9, main1))
			return pair{nil, [2]utxo.Event{block(p), seen(tx(ops(out(p, 0)), pay(5, main2)))}}
		},
		"a wallet is opened, from the next block on, and that block": func() pair { // it has no row to lock, the tip stands for it
			ev := mined(block())
			return pair{[]utxo.Event{ev}, [2]utxo.Event{utxo.WalletOpened{Wallet: 3, Birth: ev.Block.Height + 1, By: by}, block()}}
		},
		"a wallet is opened twice, with two births": func() pair {
			return pair{nil, [2]utxo.Event{utxo.WalletOpened{Wallet: 3, Birth: 1, By: by}, utxo.WalletOpened{Wallet: 3, Birth: 2, By: by}}}
		},
		"lease and spend": func() pair {
			f := tx(nil, pay(9, main1))
			return pair{[]utxo.Event{mined(block(f))}, [2]utxo.Event{leased(out(f, 0), 1), utxo.Submitted{Wallet: 1, Tx: tx(ops(out(f, 0)), pay(8, utxotest.Foreign)), By: by}}}
		},
		"two leases": func() pair {
			f := tx(nil, pay(9, main1))
			return pair{[]utxo.Event{mined(block(f))}, [2]utxo.Event{leased(out(f, 0), 1), leased(out(f, 0), 2)}}
		},
		"two spends": func() pair {
			f := tx(nil, pay(9, main1))
			return pair{[]utxo.Event{mined(block(f))}, [2]utxo.Event{
				utxo.Submitted{Wallet: 1, Tx: tx(ops(out(f, 0)), pay(8, utxotest.Foreign)), By: by}, utxo.Submitted{Wallet: 1, Tx: tx(ops(out(f, 0)), pay(7, main1)), By: by}}}
		},
		"two wallets submit a joint payment and a spend of a part of it": func() pair {
			f, g := tx(nil, pay(9, main1)), tx(nil, pay(9, main2))
			return pair{[]utxo.Event{mined(block(f, g))}, [2]utxo.Event{
				utxo.Submitted{Wallet: 1, Tx: tx(ops(out(f, 0), out(g, 0)), pay(8, main1)), By: by}, utxo.Submitted{Wallet: 2, Tx: tx(ops(out(g, 0)), pay(7, main2)), By: by}}}
		},
		"a block with a rival and a spend": func() pair {
			f := tx(nil, pay(9, main1))
			return pair{[]utxo.Event{mined(block(f))}, [2]utxo.Event{block(tx(ops(out(f, 0)), pay(7, main2))), utxo.Submitted{Wallet: 1, Tx: tx(ops(out(f, 0)), pay(8, main1)), By: by}}}
		},
		"a block and a child of what it confirms": func() pair {
			f := tx(nil, pay(9, main1))
			return pair{[]utxo.Event{seen(f)}, [2]utxo.Event{block(f), utxo.Submitted{Wallet: 1, Tx: tx(ops(out(f, 0)), pay(8, main2)), By: by}}}
		},
		"a reorganisation and a lease": func() pair {
			cb := utxotest.NewCoinbase(salt+1, pay(9, main1))
			salt++
			ev := block()
			ev.Txs, ev.Positions = []*wire.MsgTx{cb}, nil
			return pair{[]utxo.Event{mined(ev)}, [2]utxo.Event{utxo.Disconnected{Hash: ev.Block.Hash, By: by}, leased(out(cb, 0), 1)}}
		},
		"a reorganisation and a mempool": func() pair {
			f := tx(nil, pay(9, main1))
			ev := mined(block(f))
			return pair{[]utxo.Event{ev}, [2]utxo.Event{utxo.Disconnected{Hash: ev.Block.Hash, By: by}, seen(tx(ops(f.TxIn[0].PreviousOutPoint), pay(8, main2)))}}
		},
		"given up in one wallet and spent in the other": func() pair {
			p := tx(nil, pay(9, main1), pay(9, main2))
			return pair{[]utxo.Event{seen(p)}, [2]utxo.Event{
				utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: p.TxHash()}, By: by}, utxo.Submitted{Wallet: 2, Tx: tx(ops(out(p, 1)), pay(8, main2)), By: by}}}
		},
		"broadcast and given up": func() pair {
			f := tx(nil, pay(9, main1))
			s := tx(ops(out(f, 0)), pay(8, main2))
			id := utxo.TxID{Wallet: 1, Hash: s.TxHash()}
			return pair{[]utxo.Event{mined(block(f)), utxo.Submitted{Wallet: 1, Tx: s, By: by}}, [2]utxo.Event{utxo.Broadcasted{ID: id, By: by}, utxo.Invalidated{ID: id, By: by}}}
		},
		"broadcast, and a spend by the payee": func() pair {
			f := tx(nil, pay(9, main1))
			s := tx(ops(out(f, 0)), pay(8, main2))
			return pair{[]utxo.Event{mined(block(f)), utxo.Submitted{Wallet: 1, Tx: s, By: by}}, [2]utxo.Event{
				utxo.Broadcasted{ID: utxo.TxID{Wallet: 1, Hash: s.TxHash()}, By: by}, utxo.Submitted{Wallet: 2, Tx: tx(ops(out(s, 0)), pay(7, main2)), By: by}}}
		},
		"an owner announced late and a block": func() pair {
			f := tx(nil, pay(9, other))
			ev := mined(block(f))
			return pair{[]utxo.Event{ev}, [2]utxo.Event{utxo.OwnersAnnounced{Wallet: 1, Tags: []string{"other"}, Birth: ev.Block.Height, By: by}, block(tx(ops(out(f, 0)), pay(8, main1)))}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, swapped := range []bool{false, true} {
				tip = utxo.Block{}
				p := of()
				if swapped {
					slices.Reverse(p.events[:])
				}
				comparePair(t, p.before, p.events)
			}
		})
	}
}

// comparePair sends two events side by side, and to a ledger one after the other.
func comparePair(t *testing.T, before []utxo.Event, events [2]utxo.Event) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	_, db := newStore(t, sqlstore.Postgres)
	s := db.at(t, time.Time{})
	service, ledger := walletsOf(t, s, utxotest.Policy()), utxo.NewLedger(utxotest.Policy())
	opened := []utxo.Event{utxo.WalletOpened{Wallet: 1, Birth: 1, By: utxo.By{At: utxotest.Start}}, utxo.WalletOpened{Wallet: 2, Birth: 1, By: utxo.By{At: utxotest.Start}}}
	for _, ev := range append(opened, before...) {
		if _, err := ledger.Do(ev); err != nil {
			t.Fatal(err)
		}
		if _, err := service.Do(ctx, ev); err != nil {
			t.Fatal(err)
		}
	}
	var hosts [2]*store.Wallets
	var txs [2]*sql.Tx
	for i := range hosts {
		host, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = host.Rollback() }()
		tx, err := s.Within(ctx, host)
		if err != nil {
			t.Fatal(err)
		}
		everything(store.WalletSource(tx), utxotest.Policy(), utxotest.Start)
		hosts[i], txs[i] = service.Within(tx), host
	}
	var want [2]error
	for i, ev := range events {
		_, want[i] = ledger.Do(ev)
	}
	answer := func(i int, err error) {
		if fmt.Sprint(err) != fmt.Sprint(want[i]) {
			t.Errorf("%T, sent as number %d, is answered %v, want %v", events[i], i+1, err, want[i])
		}
	}
	_, err := hosts[0].Do(ctx, events[0])
	answer(0, err)
	second := sendWaiting(t, txs[0], txs[1], func() error { _, err := hosts[1].Do(ctx, events[1]); return err })
	if err := txs[0].Commit(); err != nil {
		t.Fatal(err)
	}
	answer(1, second())
	if err := txs[1].Commit(); err != nil {
		t.Fatal(err)
	}
	err = s.View(ctx, func(tx store.Unit) error {
		got := everything(store.WalletSource(tx), utxotest.Policy(), utxotest.Start)
		for i, line := range everything(ledger, utxotest.Policy(), utxotest.Start) {
			if i >= len(got) || got[i] != line {
				t.Fatalf("after %T and %T the ledger has\n%s, the store\n%s", events[0], events[1], line, got[min(i, len(got)-1)])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

package utxo_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

var benchNow = utxotest.Start

// benchLedger makes a ledger with one wallet and a chain of n transactions with two coins
// each, perBlock transactions in a block.
func benchLedger(tb testing.TB, n, perBlock int) (*utxo.Ledger, utxo.Block, []*wire.MsgTx) {
	tb.Helper()
	l := utxo.NewLedger(utxotest.Policy())
	do(tb, l, utxo.WalletOpened{Wallet: 1})
	var tip utxo.Block
	var txs []*wire.MsgTx
	for i := 0; i < n; i += perBlock {
		block := benchTxs(i, perBlock)
		tip = utxotest.NewBlock(tip.Height+1, tip.Hash, 0)
		do(tb, l, utxo.Connected{Block: tip, Txs: block, By: utxo.By{At: benchNow}})
		txs = append(txs, block...)
	}
	return l, tip, txs
}

// benchTxs builds transactions of a foreign input and two coins each.
func benchTxs(from, n int) []*wire.MsgTx {
	txs := make([]*wire.MsgTx, n)
	for i := range txs {
		var h chainhash.Hash
		binary.LittleEndian.PutUint64(h[:], uint64(from+i)+1)
		txs[i] = utxotest.NewTx(uint32(from+i), []wire.OutPoint{{Hash: h}},
			utxotest.Pay(1000, utxotest.Script(1, "a")), utxotest.Pay(2000, utxotest.Script(1, "b")))
	}
	return txs
}

func do(tb testing.TB, l *utxo.Ledger, ev utxo.Event) utxo.ChangeSet {
	tb.Helper()
	set, err := l.DoAt(ev, benchNow)
	if err = utxotest.Outcome(set, err); err != nil {
		tb.Fatal(err)
	}
	return set
}

func BenchmarkBalance(b *testing.B) {
	l, _, _ := benchLedger(b, 100_000, 1000)
	for b.Loop() {
		if _, err := l.Balance(utxotest.Policy(), 1, nil, 1, benchNow); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnspent(b *testing.B) {
	l, _, _ := benchLedger(b, 100_000, 1000)
	for b.Loop() {
		if coins, err := l.Unspent(1, nil); err != nil || len(coins) != 200_000 {
			b.Fatal(len(coins), err)
		}
	}
}

// BenchmarkConnect inserts 100 blocks of 10 transactions into wallets of two sizes: the
// cost of a block must not depend on the size of the wallet.
func BenchmarkConnect(b *testing.B) {
	for _, size := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("wallet=%d", size), func(b *testing.B) {
			l, tip, _ := benchLedger(b, size, 1000)
			txs := size
			for b.Loop() {
				b.StopTimer()
				blocks := make([][]*wire.MsgTx, 100)
				for i := range blocks {
					blocks[i] = benchTxs(txs, 10)
					txs += 10
				}
				b.StartTimer()
				for _, block := range blocks {
					tip = utxotest.NewBlock(tip.Height+1, tip.Hash, 0)
					do(b, l, utxo.Connected{Block: tip, Txs: block, By: utxo.By{At: benchNow}})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/tx")
		})
	}
}

// BenchmarkDisconnect rolls back 100 blocks of 10 transactions.
func BenchmarkDisconnect(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		l, tip, _ := benchLedger(b, 1000, 10)
		blocks, _ := l.Blocks(0, tip.Height)
		runtime.GC() // what the set-up left behind
		b.StartTimer()
		for i := range blocks {
			do(b, l, utxo.Disconnected{Hash: blocks[len(blocks)-1-i].Hash, By: utxo.By{At: benchNow}})
		}
	}
}

// chain builds n transactions, each spending the one before it.
func chain(from *wire.MsgTx, n int) []*wire.MsgTx {
	txs := make([]*wire.MsgTx, n)
	for i := range txs {
		from = utxotest.NewTx(uint32(i), []wire.OutPoint{utxotest.Out(from, 0)}, utxotest.Pay(1000, utxotest.Script(1, "a")))
		txs[i] = from
	}
	return txs
}

// conflicted returns a ledger with an unconfirmed chain of n descendants, and
// the rival of its first transaction.
func conflicted(tb testing.TB, n int) (*utxo.Ledger, utxo.Event) {
	tb.Helper()
	l, tip, txs := benchLedger(tb, 1, 1)
	for i, tx := range chain(txs[0], n+1) {
		do(tb, l, utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: int64(i + 1), Tip: tip.Hash, By: utxo.By{At: benchNow}})
	}
	rival := utxotest.NewTx(7, []wire.OutPoint{utxotest.Out(txs[0], 0)}, utxotest.Pay(1, utxotest.Foreign))
	next := utxotest.NewBlock(tip.Height+1, tip.Hash, 0)
	return l, utxo.Connected{Block: next, Txs: []*wire.MsgTx{rival}, By: utxo.By{At: benchNow}}
}

// BenchmarkConflict fails a chain of descendants.
func BenchmarkConflict(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("descendants=%d", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				l, ev := conflicted(b, n)
				runtime.GC() // what the set-up left behind
				b.StartTimer()
				do(b, l, ev)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/descendant")
		})
	}
}

// TestMillionDescendants fails a chain of 100,000 transactions (1,000,000 with SETTLE_SOAK)
// and reports how the time compares with that of a chain a tenth as long.
func TestMillionDescendants(t *testing.T) {
	most := 100_000
	if os.Getenv("SETTLE_SOAK") != "" {
		most = 1_000_000 // in 4 GB
	}
	var took [2]time.Duration
	for i, n := range []int{most / 10, most} {
		l, ev := conflicted(t, n)
		start := time.Now()
		set := do(t, l, ev)
		took[i] = time.Since(start)
		if got := len(set.Updates); got != n+1 {
			t.Fatalf("%d transactions failed, want %d", got, n+1)
		}
	}
	t.Logf("%d descendants %v, %d descendants %v", most/10, took[0], most, took[1])
}

// TestLongPendingChain submits a chain of 20,000 transactions: the cost of a submission
// must not grow with the length of the chain before it.
func TestLongPendingChain(t *testing.T) {
	l, _, txs := benchLedger(t, 1, 1)
	start := time.Now()
	for _, tx := range chain(txs[0], 20_000) {
		do(t, l, utxo.Submitted{Wallet: 1, Tx: tx, By: utxo.By{At: benchNow}})
	}
	actions, _, err := utxotest.Policy().Next(l, 1, time.Time{}, benchNow)
	if err != nil || len(actions) != 20_000 || actions[19_999].ID.Hash != chain(txs[0], 20_000)[19_999].TxHash() {
		t.Fatalf("%d actions are owed, want all 20,000, parents first (%v)", len(actions), err)
	}
	t.Logf("20,000 pending transactions took %v", time.Since(start))
}

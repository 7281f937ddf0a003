package utxo_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// smallWallet has one confirmed coin, a payment A with a child, a rival B, and a coinbase
// with a child. Every event can come at any time.
type smallWallet struct {
	fund, a, child, b, coinbase, heir *wire.MsgTx
	base                              utxo.Block
	next                              map[string]utxo.Connected // the possible second blocks
	small                             bool                      // without leases and coinbase
}

func newSmallWallet() *smallWallet {
	own := func(amount int64) *wire.TxOut { return utxotest.Pay(amount, utxotest.Script(1, "a")) }
	spend := func(salt uint32, tx *wire.MsgTx, amount int64) *wire.MsgTx {
		return utxotest.NewTx(salt, []wire.OutPoint{utxotest.Out(tx, 0)}, own(amount))
	}
	w := &smallWallet{base: utxotest.NewBlock(1, chainhash.Hash{}, 0)}
	w.fund = utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, own(100))
	w.a = spend(2, w.fund, 90)
	w.child = spend(3, w.a, 80)
	w.b = spend(4, w.fund, 70)
	w.coinbase = utxotest.NewCoinbase(5, own(50))
	w.heir = spend(6, w.coinbase, 40)
	w.next = map[string]utxo.Connected{}
	for i, block := range []struct {
		name string
		txs  []*wire.MsgTx
	}{{"A", []*wire.MsgTx{w.a}}, {"B", []*wire.MsgTx{w.b}}, {"child and A", []*wire.MsgTx{w.child, w.a}},
		{"coinbase", []*wire.MsgTx{w.coinbase}}} {
		w.next[block.name] = utxo.Connected{Block: utxotest.NewBlock(2, w.base.Hash, uint32(i)), Txs: block.txs}
	}
	return w
}

// events returns everything that may come next, in a fixed order.
func (w *smallWallet) events(l *utxo.Ledger) (names []string, events map[string]utxo.Event) {
	events = map[string]utxo.Event{}
	add := func(name string, ev utxo.Event) {
		if w.small && (strings.HasSuffix(name, "lease") || strings.Contains(name, "lock") ||
			strings.Contains(name, "heir") || strings.Contains(name, "coinbase")) {
			return
		}
		names = append(names, name)
		events[name] = ev
	}
	tip, _, _ := l.Tip()
	snap, _ := l.Snapshot()
	seq := int64(1)
	for _, tx := range snap.Txs {
		seq = max(seq, tx.Seq+1)
	}
	id := func(tx *wire.MsgTx) utxo.TxID { return utxo.TxID{Wallet: 1, Hash: tx.TxHash()} }
	lock := utxo.LockID{1}
	add("submit A", utxo.Submitted{Wallet: 1, Tx: w.a})
	add("submit A with the lock", utxo.Submitted{Wallet: 1, Tx: w.a, Lock: lock})
	add("submit B", utxo.Submitted{Wallet: 1, Tx: w.b})
	add("submit B instead of A", utxo.Submitted{Wallet: 1, Tx: w.b, Replaces: []chainhash.Hash{w.a.TxHash()}})
	add("submit the child", utxo.Submitted{Wallet: 1, Tx: w.child})
	for _, tx := range []struct {
		name string
		msg  *wire.MsgTx
	}{{"A", w.a}, {"B", w.b}, {"the child", w.child}, {"the heir", w.heir}} {
		add("broadcast "+tx.name, utxo.Broadcasted{ID: id(tx.msg)})
		add("observe "+tx.name, utxo.Observed{Txs: []*wire.MsgTx{tx.msg}, Seq: seq, Tip: tip.Hash})
		add("invalidate "+tx.name, utxo.Invalidated{ID: id(tx.msg)})
	}
	for _, name := range []string{"A", "B", "child and A", "coinbase"} {
		add("connect "+name, w.next[name])
	}
	if tip.Height > 1 {
		add("disconnect", utxo.Disconnected{Hash: tip.Hash})
	}
	fund := []wire.OutPoint{utxotest.Out(w.fund, 0)}
	add("lease", utxo.OutputsLeased{Wallet: 1, OutPoints: fund, Lock: lock, Duration: time.Hour})
	add("release", utxo.LeasesReleased{Wallet: 1, OutPoints: fund, Lock: lock})
	return names, events
}

// ledger plays a path from the beginning.
func (w *smallWallet) ledger(path []utxo.Event) *utxo.Ledger {
	l := utxo.NewLedger(utxotest.Policy())
	start := []utxo.Event{utxo.WalletOpened{Wallet: 1}, utxo.Connected{Block: w.base, Txs: []*wire.MsgTx{w.fund}}}
	for _, ev := range append(start, path...) {
		if _, err := l.DoAt(ev, utxotest.Start); err != nil {
			panic(err)
		}
	}
	return l
}

// view is the part of a state that the rules look at. Versions, times and the exact
// sequence numbers are left out.
func view(l *utxo.Ledger) string {
	s, _ := l.Snapshot()
	tip, _, _ := l.Tip()
	var b strings.Builder
	fmt.Fprintln(&b, tip.Hash, s.Replaced, s.Leases)
	bySeq := slices.Clone(s.Txs)
	slices.SortStableFunc(bySeq, func(a, b *utxo.Tx) int { return int(a.Seq - b.Seq) })
	for _, tx := range s.Txs {
		fmt.Fprint(&b, tx.ID, tx.Status, tx.Height, slices.Index(bySeq, tx), tx.Seq > 0)
		for _, out := range tx.Outputs {
			fmt.Fprint(&b, out.SpentBy)
		}
	}
	return b.String()
}

func TestSmallWalletInEveryOrder(t *testing.T) {
	w := newSmallWallet()
	w.small = testing.Short() || os.Getenv("SETTLE_SOAK") == ""
	type state struct {
		path []utxo.Event
		view string
		err  error // an invariant that the state breaks
	}
	audit := func(l *utxo.Ledger) error {
		if err := utxotest.Policy().Audit(l, 1, utxotest.Start); err != nil {
			return err
		}
		s, _ := l.Snapshot()
		for _, tx := range s.Txs {
			trail, err := l.Transitions(tx.ID)
			if err != nil {
				return err
			}
			if err := utxo.Replay(*tx, trail); err != nil {
				return err
			}
		}
		return nil
	}
	confirmed := func(tx *wire.MsgTx) func(state) bool {
		return func(s state) bool {
			for _, ev := range s.path[max(len(s.path)-1, 0):] {
				if c, ok := ev.(utxo.Connected); ok {
					return slices.Contains(c.Txs, tx)
				}
			}
			return false
		}
	}
	seen := map[string]bool{}
	model := explore.Model[state]{
		Init: []state{{view: view(w.ledger(nil))}},
		Next: func(s state, step func(string, state)) {
			l := w.ledger(s.path)
			names, events := w.events(l)
			for _, name := range names {
				set, err := l.DoAt(events[name], utxotest.Start)
				if err != nil || set.Empty() {
					if now := view(l); now != s.view {
						t.Fatalf("%s is refused (%v), but changed something", name, err)
					}
					continue
				}
				to := state{path: append(slices.Clone(s.path), events[name]), view: view(l)}
				fresh := !seen[to.view]
				if fresh {
					seen[to.view] = true
					to.err = audit(l)
				}
				if l.Undo(set); fresh && view(l) != s.view {
					t.Fatalf("%s cannot be undone", name)
				}
				step(name, to)
			}
		},
	}
	result, err := explore.CheckBy(model, func(s state) string { return s.view },
		explore.Valid("every invariant holds, the balance and the audit trails agree", func(s state) error { return s.err }),
		explore.CanFinish("a block with A is accepted from everywhere", confirmed(w.a)),
		explore.CanFinish("a block with B is accepted from everywhere", confirmed(w.b)),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(result)
	want := 38118
	if w.small {
		want = 1382
	}
	if result.States != want {
		t.Errorf("explored %d states, want exactly %d: the rules changed", result.States, want)
	}
}

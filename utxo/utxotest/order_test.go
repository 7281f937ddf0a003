package utxotest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// family is a confirmed funding transaction and five transactions that may come in any
// order: wallets 1 to 3 pay one another, with a foreign parent among the five. bump spends
// the coin that all five descend from.
type family struct {
	fund, bump *wire.MsgTx
	txs        []*wire.MsgTx
}

func newFamily() family {
	own := func(w utxo.WalletID, amount int64) *wire.TxOut {
		return utxotest.Pay(amount, utxotest.Script(w, "main"))
	}
	out := utxotest.Pay(3, utxotest.Foreign)
	ins := func(ops ...wire.OutPoint) []wire.OutPoint { return ops }
	f := family{fund: utxotest.NewTx(1, ins(utxotest.External(1)), own(1, 100), own(2, 100))}
	p1 := utxotest.NewTx(2, ins(utxotest.Out(f.fund, 0)), own(1, 90), out)
	p2 := utxotest.NewTx(3, ins(utxotest.Out(p1, 0)), own(2, 50), own(1, 30))
	p3 := utxotest.NewTx(4, ins(utxotest.Out(p2, 0)), own(3, 40), out)
	foreign := utxotest.NewTx(5, ins(utxotest.External(2)), out, out)
	c := utxotest.NewTx(6, ins(utxotest.Out(foreign, 0), utxotest.Out(p3, 0)), own(1, 20), out)
	f.txs = []*wire.MsgTx{p1, p2, p3, foreign, c}
	f.bump = utxotest.NewTx(7, ins(utxotest.Out(f.fund, 0)), own(1, 95))
	return f
}

// run plays events on a ledger with the funds in block 1.
func (f family) run(t *testing.T, events ...utxo.Event) string {
	t.Helper()
	l := utxo.NewLedger(utxotest.Policy())
	b := utxotest.NewBlock(1, [32]byte{}, 0)
	start := []utxo.Event{
		utxo.WalletOpened{Wallet: 1}, utxo.WalletOpened{Wallet: 2}, utxo.WalletOpened{Wallet: 3},
		utxo.Connected{Block: b, Txs: []*wire.MsgTx{f.fund}},
	}
	for _, ev := range append(start, events...) {
		if o, ok := ev.(utxo.Observed); ok { // at the tip, whatever that is
			tip, _, _ := l.Tip()
			o.Tip = tip.Hash
			ev = o
		}
		if err := utxotest.Outcome(l.DoAt(ev, utxotest.Start)); err != nil {
			t.Fatalf("%s: %v", utxotest.Describe(ev), err)
		}
	}
	s, _ := l.Snapshot()
	if err := utxo.Check(s); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, tx := range s.Txs {
		fmt.Fprintln(&text, tx.ID, tx.Status, tx.Height, tx.Context, tx.Public)
		for _, o := range tx.Outputs {
			fmt.Fprintln(&text, "  ", o.Index, o.Amount, o.Tag, o.SpentBy)
		}
	}
	fmt.Fprintln(&text, s.Replaced)
	for w := range utxo.WalletID(3) {
		b, err := l.Balance(utxotest.Policy(), w+1, nil, 1, utxotest.Start)
		fmt.Fprintf(&text, "%+v %v\n", b, err)
	}
	return text.String()
}

// orders calls each with every order of txs.
func orders(txs []*wire.MsgTx, each func([]*wire.MsgTx)) {
	var next func(n int)
	next = func(n int) {
		if n == len(txs) {
			each(txs)
			return
		}
		for i := n; i < len(txs); i++ {
			txs[n], txs[i] = txs[i], txs[n]
			next(n + 1)
			txs[n], txs[i] = txs[i], txs[n]
		}
	}
	next(0)
}

// same fails unless all texts are equal.
type same struct {
	t     *testing.T
	first string
}

func (s *same) add(order []*wire.MsgTx, text string) {
	s.t.Helper()
	if s.first == "" {
		s.first = text
	}
	if text != s.first {
		var names []string
		for _, tx := range order {
			names = append(names, fmt.Sprint(tx.LockTime))
		}
		s.t.Fatalf("the order %v ends in\n%s\nanother in\n%s", names, text, s.first)
	}
}

func one(tx *wire.MsgTx) utxo.Event { return utxo.Observed{Txs: []*wire.MsgTx{tx}} }

// The order of arrival does not change the end: in one block, in one list, one by one if
// the list is offered once more, and with a block that comes and goes between any two
// arrivals.
func TestTheOrderOfArrivalDoesNotMatter(t *testing.T) {
	f := newFamily()
	prev := utxotest.NewBlock(1, [32]byte{}, 0).Hash
	death := utxo.Connected{Block: utxotest.NewBlock(2, prev, 9), Txs: []*wire.MsgTx{f.bump}}
	for _, end := range []struct {
		name   string
		events []utxo.Event
	}{{"alive", nil}, {"double-spent in a block", []utxo.Event{death}}, {"replaced", []utxo.Event{one(f.bump)}}} {
		t.Run("in one list, "+end.name, func(t *testing.T) {
			s := same{t: t}
			orders(f.txs, func(txs []*wire.MsgTx) {
				s.add(txs, f.run(t, append([]utxo.Event{utxo.Observed{Txs: txs}}, end.events...)...))
			})
		})
		t.Run("one by one and once more, "+end.name, func(t *testing.T) {
			s := same{t: t}
			orders(f.txs, func(txs []*wire.MsgTx) {
				var events []utxo.Event
				for _, tx := range txs {
					events = append(events, one(tx))
				}
				s.add(txs, f.run(t, append(append(events, utxo.Observed{Txs: txs}), end.events...)...))
			})
		})
		t.Run("with a reorg between any two, "+end.name, func(t *testing.T) {
			s := same{t: t}
			orders(f.txs, func(txs []*wire.MsgTx) {
				at := int(txs[0].LockTime+txs[1].LockTime*3+txs[4].LockTime) % 5
				mined := f.txs[:1] // a parent that is confirmed when its children come
				for _, tx := range txs {
					if tx.LockTime == 2 {
						mined = []*wire.MsgTx{tx}
					}
				}
				b := utxotest.NewBlock(2, prev, uint32(at))
				var events []utxo.Event
				for i, tx := range txs {
					if i == at {
						events = append(events, utxo.Connected{Block: b, Txs: mined})
					}
					events = append(events, one(tx))
				}
				events = append(events, utxo.Disconnected{Hash: b.Hash}, utxo.Observed{Txs: txs})
				s.add(txs, f.run(t, append(events, end.events...)...))
			})
		})
	}
	t.Run("in one block", func(t *testing.T) {
		s := same{t: t}
		b := utxotest.NewBlock(2, prev, 1)
		orders(f.txs, func(txs []*wire.MsgTx) { s.add(txs, f.run(t, utxo.Connected{Block: b, Txs: txs})) })
	})
}

// The coins of 200 customers are swept in one transaction, and a chain of 20 payments that
// begins there pays 200 others. A wallet must not get rows of ancestors beyond the direct
// parents.
func TestAncestriesAreNotCopied(t *testing.T) {
	l := utxo.NewLedger(utxotest.Policy())
	do := func(ev utxo.Event) {
		t.Helper()
		if _, err := l.DoAt(ev, utxotest.Start); err != nil {
			t.Fatal(err)
		}
	}
	hot := utxo.WalletID(1000)
	do(utxo.WalletOpened{Wallet: hot})
	var coins []*wire.TxOut
	for i := range 400 {
		do(utxo.WalletOpened{Wallet: utxo.WalletID(i + 1)})
		if i < 200 {
			coins = append(coins, utxotest.Pay(1000, utxotest.Script(utxo.WalletID(i+1), "a")))
		}
	}
	fund := utxotest.NewTx(899, []wire.OutPoint{utxotest.External(0)}, coins...)
	var swept []wire.OutPoint
	for i := range coins {
		swept = append(swept, utxotest.Out(fund, uint32(i)))
	}
	first := utxotest.NewBlock(1, [32]byte{}, 0)
	do(utxo.Connected{Block: first, Txs: []*wire.MsgTx{fund}})
	last := utxotest.NewTx(900, swept, utxotest.Pay(200_000, utxotest.Script(hot, "hot")))
	payouts := []*wire.MsgTx{last}
	for i := range 20 {
		outs := []*wire.TxOut{utxotest.Pay(100_000, utxotest.Script(hot, "hot"))}
		for j := range 10 {
			outs = append(outs, utxotest.Pay(10, utxotest.Script(utxo.WalletID(201+10*i+j), "a")))
		}
		last = utxotest.NewTx(uint32(901+i), []wire.OutPoint{utxotest.Out(last, 0)}, outs...)
		payouts = append(payouts, last)
	}
	do(utxo.Connected{Block: utxotest.NewBlock(2, first.Hash, 0), Txs: payouts})
	s, _ := l.Snapshot()
	inputs := 0
	for _, tx := range s.Txs {
		inputs += len(tx.Inputs)
	}
	// The fund is in 200 wallets, and in the hot wallet as the parent of the sweep. The
	// sweep, with 200 inputs, is in the 201 wallets that it concerns and, as a parent, in
	// the 10 that the first payout pays. Each payout is in the 10 wallets that it pays and
	// in the hot one, and, as a parent, in the 10 of the next payout. If whole ancestries
	// were copied, there would be 82,520 input rows.
	want := 201 + 200*(201+10) + 20*(10+1) + 19*10
	if inputs != want {
		t.Errorf("%d input rows, want %d", inputs, want)
	}
}

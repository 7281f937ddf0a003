package utxo_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

func TestTimesThatNoStoreCanKeepAreRefused(t *testing.T) {
	last := time.Date(9000, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	block := func(at time.Time) utxo.Block {
		b := utxotest.NewBlock(1, chainhash.Hash{}, 0)
		b.Time = at
		return b
	}
	coin := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, utxotest.Pay(5, utxotest.Script(1, "a")))
	first := time.Unix(0, 0)
	for _, c := range []struct {
		rule string
		ev   utxo.Event
		ok   bool
	}{
		{"the last microsecond of 9000", utxo.Connected{Block: block(last), Txs: []*wire.MsgTx{coin}, By: utxo.By{At: last}}, true},
		{"the first microsecond of 1970", utxo.Connected{Block: block(first), Txs: []*wire.MsgTx{coin}, By: utxo.By{At: first}}, true},
		{"a block without a time", utxo.Connected{Block: block(time.Time{}), By: utxo.By{At: benchNow}}, true},
		{"a block in the year 9001", utxo.Connected{Block: block(last.Add(time.Microsecond)), By: utxo.By{At: benchNow}}, false},
		{"a block in the year 1969", utxo.Connected{Block: block(first.Add(-time.Microsecond)), By: utxo.By{At: benchNow}}, false},
		{"an event in the year 9001", utxo.Connected{Block: block(benchNow), By: utxo.By{At: last.Add(time.Microsecond)}}, false},
		{"an event in the year 1969", utxo.Connected{Block: block(benchNow), By: utxo.By{At: first.Add(-time.Microsecond)}}, false},
		{"an event without a time", utxo.WalletOpened{Wallet: 2}, false},
		{"no event", nil, false},
		{"a lease that ends in the year 9001", utxo.OutputsLeased{Wallet: 1, OutPoints: []wire.OutPoint{utxotest.Out(coin, 0)},
			Lock: utxo.LockID{1}, Duration: time.Microsecond, By: utxo.By{At: last}}, false},
	} {
		l := utxo.NewLedger(utxotest.Policy())
		do(t, l, utxo.WalletOpened{Wallet: 1})
		_, err := l.Do(c.ev)
		if c.ok && err != nil || !c.ok && !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", c.rule, err)
		}
	}
}

func TestActorAndRoleAreInEveryLine(t *testing.T) {
	l, tip, txs := benchLedger(t, 1, 1)
	at := benchNow.Add(999 * time.Nanosecond)
	by := utxo.By{Actor: "ann", Role: "operator", At: at}
	id := utxo.TxID{Wallet: 1, Hash: txs[0].TxHash()}
	set := do(t, l, utxo.Disconnected{Hash: tip.Hash, By: by})
	set.Log = append(set.Log, do(t, l, utxo.Labelled{ID: id, Label: "rent", By: by}).Log...)
	for _, line := range set.Log {
		if line.Actor != "ann" || line.Role != "operator" || !line.At.Equal(benchNow.Truncate(time.Microsecond)) {
			t.Errorf("the line is %+v", line)
		}
	}
	if len(set.Log) != 2 {
		t.Errorf("%d lines, want 2", len(set.Log))
	}
	for _, text := range []string{strings.Repeat("a", utxo.MaxActor+1), "\xff", "a\x00b"} {
		for _, by := range []utxo.By{{Actor: text, At: at}, {Role: text, At: at}} {
			if _, err := l.Do(utxo.Labelled{ID: id, Label: "x", By: by}); !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("%.20q: %v", text, err)
			}
		}
	}
	do(t, l, utxo.Labelled{ID: id, Label: "x", By: utxo.By{Actor: strings.Repeat("a", utxo.MaxActor), At: at}})
}

// A lease shorter than a microsecond would be granted and hold nothing, since times are
// kept in whole microseconds.
func TestALeaseLastsAMicrosecondAtLeast(t *testing.T) {
	l, _, txs := benchLedger(t, 1, 1)
	lease := utxo.OutputsLeased{Wallet: 1, OutPoints: []wire.OutPoint{utxotest.Out(txs[0], 0)}, Lock: utxo.LockID{1},
		By: utxo.By{At: benchNow}}
	for _, d := range []time.Duration{-time.Second, 0, 1, 999} {
		lease.Duration = d
		for _, ev := range []utxo.Event{lease, utxo.LeasesRenewed(lease)} {
			if _, err := l.Do(ev); !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("%T for %v: %v", ev, d, err)
			}
		}
	}
	lease.Duration = time.Microsecond
	if set := do(t, l, lease); !set.Leases[0].New.Active(benchNow) {
		t.Errorf("the lease is %v", set.Leases[0].New)
	}
}

func TestTextThatNoStoreCanKeepIsRefused(t *testing.T) {
	l, _, txs := benchLedger(t, 1, 1)
	id := utxo.TxID{Wallet: 1, Hash: txs[0].TxHash()}
	for _, text := range []string{"a\x00b", "\xff"} {
		if _, err := l.Do(utxo.Labelled{ID: id, Label: text, By: utxo.By{At: benchNow}}); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("label %q: %v", text, err)
		}
		p := utxo.Policy{Owner: func([]byte) (utxo.Owner, bool) { return utxo.Owner{Wallet: 1, Tag: text}, true }}
		_, err := p.Plan(l, utxo.Submitted{Wallet: 1, Tx: benchTxs(9, 1)[0], By: utxo.By{At: benchNow}})
		if !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("tag %q: %v", text, err)
		}
	}
	tip, _, _ := l.Tip()
	do(t, l, utxo.Disconnected{Hash: tip.Hash, By: utxo.By{At: benchNow}})
	set := do(t, l, utxo.Invalidated{ID: id, Reason: "rpc: \x00", By: utxo.By{At: benchNow}})
	if got := set.Log[0].Reason; got != "rpc: \uFFFD" {
		t.Errorf("the reason is %q", got)
	}
}

// A child that was observed at sequence number 20 proves its parent at 20: a rival of the
// parent that was observed at 10 comes too late.
func TestAChildsObservationCountsForItsParent(t *testing.T) {
	l, tip, _ := benchLedger(t, 1, 1)
	at := utxotest.External(7)
	parent := utxotest.NewTx(11, []wire.OutPoint{at}, utxotest.Pay(10, utxotest.Script(1, "a")))
	rival := utxotest.NewTx(12, []wire.OutPoint{at}, utxotest.Pay(9, utxotest.Script(1, "a")))
	child := utxotest.NewTx(13, []wire.OutPoint{utxotest.Out(parent, 0)}, utxotest.Pay(8, utxotest.Script(1, "a")))
	for _, seen := range []struct {
		tx  *wire.MsgTx
		seq int64
	}{{parent, 3}, {rival, 5}, {child, 20}} {
		do(t, l, utxo.Observed{Txs: []*wire.MsgTx{seen.tx}, Seq: seen.seq, Tip: tip.Hash, By: utxo.By{At: benchNow}})
	}
	err := utxotest.Outcome(l.Do(utxo.Observed{Txs: []*wire.MsgTx{rival}, Seq: 10, Tip: tip.Hash, By: utxo.By{At: benchNow}}))
	if !errors.Is(err, utxo.ErrStale) {
		t.Errorf("the rival at 10 gives %v, want %v", err, utxo.ErrStale)
	}
	do(t, l, utxo.Observed{Txs: []*wire.MsgTx{rival}, Seq: 21, Tip: tip.Hash, By: utxo.By{At: benchNow}})
}

// Each spender of one transaction with many outputs costs the same, and so does each
// expired lease, however many came before.
func TestWideAndLongHistoriesStayLinear(t *testing.T) {
	l, tip, _ := benchLedger(t, 1, 1)
	const n = 2000
	outs := make([]*wire.TxOut, n)
	for i := range outs {
		outs[i] = utxotest.Pay(10, utxotest.Script(1, "a"))
	}
	wide := utxotest.NewTx(5, []wire.OutPoint{utxotest.External(5)}, outs...)
	do(t, l, utxo.Observed{Txs: []*wire.MsgTx{wide}, Seq: 1, Tip: tip.Hash, By: utxo.By{At: benchNow}})
	start := time.Now()
	for i := range uint32(n) {
		do(t, l, utxo.OutputsLeased{Wallet: 1, OutPoints: []wire.OutPoint{utxotest.Out(wide, i)}, Lock: utxo.LockID{1}, Duration: time.Second,
			By: utxo.By{At: benchNow}})
		do(t, l, utxo.Observed{Txs: []*wire.MsgTx{utxotest.NewTx(i, []wire.OutPoint{utxotest.Out(wide, i)}, utxotest.Pay(1, utxotest.Foreign))},
			Seq: 1, Tip: tip.Hash, By: utxo.By{At: benchNow}})
	}
	t.Logf("%d spenders of one transaction took %v", n, time.Since(start))
	late := benchNow.Add(time.Hour)
	if allocs := testing.AllocsPerRun(100, func() { _, _ = l.Balance(utxotest.Policy(), 1, nil, 1, late) }); allocs != 0 {
		t.Errorf("a balance allocates %v times", allocs)
	}
	var reverse []*wire.MsgTx = chain(wide, n)
	seq := int64(n)
	start = time.Now()
	for i := range reverse {
		seq++
		do(t, l, utxo.Observed{Txs: []*wire.MsgTx{reverse[len(reverse)-1-i]}, Seq: seq, Tip: tip.Hash, By: utxo.By{At: benchNow}})
	}
	t.Logf("a chain of %d that was observed backwards took %v", n, time.Since(start))
}

func TestPolicyWithoutOwnerTakesNoTransactions(t *testing.T) {
	l := utxo.NewLedger(utxo.Policy{})
	do(t, l, utxo.WalletOpened{Wallet: 1})
	tip := utxotest.NewBlock(1, chainhash.Hash{}, 0)
	do(t, l, utxo.Connected{Block: tip, By: utxo.By{At: benchNow}}) // an empty block needs none
	txs := benchTxs(0, 1)
	for _, ev := range []utxo.Event{
		utxo.Connected{Block: utxotest.NewBlock(2, tip.Hash, 0), Txs: txs, By: utxo.By{At: benchNow}},
		utxo.Observed{Txs: []*wire.MsgTx{txs[0]}, Seq: 1, Tip: tip.Hash, By: utxo.By{At: benchNow}},
		utxo.Submitted{Wallet: 1, Tx: txs[0], By: utxo.By{At: benchNow}},
	} {
		if err := utxotest.Outcome(l.Do(ev)); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%T: %v", ev, err)
		}
	}
}

// A hash that is on the chain is no other block, also where it would continue the tip.
func TestAHashOfTheChainIsNoOtherBlock(t *testing.T) {
	b := newDesk(t)
	b.connect()
	first := b.tip
	b.connect()
	again := utxo.Connected{Block: utxo.Block{Height: 3, Hash: first.Hash, Prev: b.tip.Hash}, By: utxo.By{At: utxotest.Start}}
	if _, err := b.Do(again); !errors.Is(err, utxo.ErrChainMismatch) {
		t.Errorf("%v, want %v", err, utxo.ErrChainMismatch)
	}
}

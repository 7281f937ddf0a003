package utxo_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// pays is a transaction of a stranger with these amounts, the first to wallet 1.
func pays(amounts ...int64) *wire.MsgTx {
	tx := utxotest.NewTx(77, ins(utxotest.External(77)))
	for i, amount := range amounts {
		tx.AddTxOut(utxotest.Pay(amount, utxotest.Script(1, fmt.Sprint("a", i))))
	}
	return tx
}

// sized is one of so many bytes.
func sized(bytes int) *wire.MsgTx {
	tx := pays(1)
	script := make([]byte, 100_000)
	tx.AddTxOut(utxotest.Pay(1, script))
	tx.TxOut[1].PkScript = make([]byte, len(script)+bytes-tx.SerializeSize())
	return tx
}

// with spends these outpoints to wallet 1.
func with(ops ...wire.OutPoint) *wire.MsgTx {
	return utxotest.NewTx(78, ops, utxotest.Pay(1, mine('a')))
}

// externals are n outpoints that nobody knows.
func externals(n uint32) (ops []wire.OutPoint) {
	for i := range n {
		ops = append(ops, utxotest.External(100+i))
	}
	return ops
}

// Everything that comes from outside has bounds. The test tries each bound at the last
// value that is accepted and at the first that is refused.
func TestBoundsOfWhatComesIn(t *testing.T) {
	coinbase := utxotest.NewCoinbase(1, utxotest.Pay(1, mine('a')))
	null := wire.OutPoint{Index: wire.MaxPrevOutIndex}
	invalid, conflict, mismatch := statemachine.ErrInvalid, utxo.ErrSelfConflict, utxo.ErrChainMismatch
	deposit := utxotest.NewTx(76, ins(utxotest.External(76)), utxotest.Pay(1, mine('a')), utxotest.Pay(1, mine('b')))
	coin, unborn := out(deposit, 0), utxotest.NewBlock(3, chainhash.Hash{3}, 0)
	first := utxotest.NewBlock(1, chainhash.Hash{}, 0)
	next := func(change func(*utxo.Connected), txs ...*wire.MsgTx) utxo.Event {
		ev := utxo.Connected{Block: utxotest.NewBlock(2, first.Hash, 0), Txs: txs}
		if change != nil {
			change(&ev)
		}
		return ev
	}
	at := func(positions ...int32) func(*utxo.Connected) {
		return func(ev *utxo.Connected) { ev.Positions = positions }
	}
	tags := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint("tag ", i))
		}
		return all
	}
	announced := func(birth int32, tags ...string) utxo.Event {
		return utxo.OwnersAnnounced{Wallet: 1, Birth: birth, Tags: tags}
	}
	leased := func(lock byte, ops ...wire.OutPoint) utxo.Event {
		return utxo.OutputsLeased{Wallet: 1, OutPoints: ops, Lock: utxo.LockID{lock}, Duration: time.Second}
	}
	submitted := func(tx *wire.MsgTx) utxo.Event { return utxo.Submitted{Wallet: 1, Tx: tx} }
	seen := func(seq int64, txs ...*wire.MsgTx) utxo.Event {
		return utxo.Observed{Txs: txs, Seq: seq, Tip: first.Hash}
	}
	labelled := func(label string) utxo.Event {
		return utxo.Labelled{ID: utxo.TxID{Wallet: 1, Hash: deposit.TxHash()}, Label: label}
	}
	revealed := func(index uint32, tag string, birth int32) utxo.Event {
		return utxo.OutputRevealed{ID: utxo.TxID{Wallet: 1, Hash: deposit.TxHash()}, Index: index, Tag: tag, Birth: birth}
	}
	spending := func(pay int64, ops ...wire.OutPoint) *wire.MsgTx {
		return utxotest.NewTx(80, append(ops, coin, out(deposit, 1)), utxotest.Pay(pay, mine('c')))
	}
	tag := strings.Repeat("t", utxo.MaxTag)
	tagged := func(tag string) *wire.MsgTx {
		return utxotest.NewTx(79, externals(1), utxotest.Pay(1, utxotest.Script(1, tag)))
	}
	for _, tt := range []struct {
		name string
		ev   utxo.Event
		want error
	}{
		{"no transaction", submitted(nil), invalid},
		{"no transaction in a mempool", seen(1, nil), invalid},
		{"no inputs", submitted(with()), invalid},
		{"no inputs in a mempool", seen(1, with()), invalid},
		{"no inputs in a block", next(nil, with()), invalid},
		{"no outputs", submitted(pays()), invalid},
		{"no outputs in a mempool", seen(1, pays()), invalid},
		{"a null input before another, as the first of a block", next(nil, with(null, utxotest.External(1))), invalid},
		{"a null input beside another", submitted(with(utxotest.External(1), null)), invalid},
		{"a coinbase", submitted(coinbase), invalid},
		{"a coinbase in a mempool", seen(1, coinbase), invalid},
		{"8 inputs", submitted(with(externals(8)...)), nil},
		{"8 inputs, of which two are one", submitted(with(append(externals(7), utxotest.External(106))...)), conflict},
		{"9 inputs", submitted(with(externals(9)...)), nil},
		{"9 inputs, of which two are one", submitted(with(append(externals(8), utxotest.External(107))...)), conflict},
		{"an amount below 0", submitted(pays(-1)), invalid},
		{"an amount of 0", submitted(pays(0)), nil},
		{"all the money", submitted(pays(utxo.MaxMoney)), nil},
		{"more than all the money", submitted(pays(utxo.MaxMoney + 1)), invalid},
		{"all the money in two", submitted(pays(utxo.MaxMoney-5, 5)), nil},
		{"more than all the money in two", submitted(pays(utxo.MaxMoney-5, 6)), invalid},
		{"two amounts beyond the largest number", submitted(pays(math.MaxInt64, 1)), invalid},
		{"the largest number after another amount", submitted(pays(5, math.MaxInt64)), invalid},
		{"all that two coins bring", submitted(spending(2)), nil},
		{"a satoshi more than two coins bring", submitted(spending(3)), invalid},
		{"a satoshi more than two coins bring, in a mempool", seen(1, spending(3)), nil},
		{"a satoshi more than two coins bring, in a block", next(nil, spending(3)), nil},
		{"all the money, for two coins and one that nobody knows", submitted(spending(utxo.MaxMoney, externals(1)...)), nil},
		{"the last output of a transaction", submitted(with(out(deposit, 1))), nil},
		{"an output behind the last", submitted(with(coin, out(deposit, 2))), invalid},
		{"an output behind the last, for a coin that nobody knows", submitted(with(out(deposit, 2), utxotest.External(1))), invalid},
		{"an output behind the last, in a block", next(nil, with(coin, out(deposit, 2))), nil},
		{"4,000,000 bytes", submitted(sized(4_000_000)), nil},
		{"4,000,001 bytes", submitted(sized(4_000_001)), invalid},
		{"the longest tag", submitted(tagged(tag)), nil},
		{"a tag that is too long", submitted(tagged(tag + "t")), invalid},
		{"an output of a wallet that is not open",
			submitted(utxotest.NewTx(1, externals(1), utxotest.Pay(1, mine('a')), utxotest.Pay(1, utxotest.Script(2, "a")))), invalid},
		{"an output of wallet 0",
			submitted(utxotest.NewTx(1, externals(1), utxotest.Pay(1, mine('a')), utxotest.Pay(1, utxotest.Script(0, "a")))), invalid},
		{"an output of wallet -1",
			submitted(utxotest.NewTx(1, externals(1), utxotest.Pay(1, mine('a')), utxotest.Pay(1, utxotest.Script(-1, "a")))), invalid},
		{"a sequence below 0", seen(-1), invalid},
		{"the last sequence", seen(utxo.MaxSeq, with(externals(1)...)), nil},
		{"a sequence beyond the last", seen(utxo.MaxSeq+1, with(externals(1)...)), invalid},

		{"a block", next(nil, coinbase, with(externals(1)...)), nil},
		{"a block below 0", next(func(ev *utxo.Connected) { ev.Block.Height = -1 }), invalid},
		{"a block without a hash", next(func(ev *utxo.Connected) { ev.Block.Hash = chainhash.Hash{} }), invalid},
		{"positions", next(at(0, 5), coinbase, with(externals(1)...)), nil},
		{"too few positions", next(at(0), coinbase, with(externals(1)...)), invalid},
		{"too many positions", next(at(0, 1, 2), coinbase, with(externals(1)...)), invalid},
		{"a position below 0", next(at(-1, 1), with(externals(1)...), tagged("b")), invalid},
		{"one position of two", next(at(1, 1), with(externals(1)...), pays(1)), invalid},
		{"positions that fall", next(at(2, 1), with(externals(1)...), pays(1)), invalid},
		{"a coinbase behind another transaction", next(nil, with(externals(1)...), coinbase), invalid},
		{"a coinbase at another position", next(at(1), coinbase), invalid},
		{"a transaction twice", next(nil, with(externals(1)...), with(externals(1)...)), invalid},
		{"two spends of one output", next(nil, with(externals(1)...), tagged("b")), invalid},
		{"a block on the chain on another one",
			utxo.Connected{Block: utxo.Block{Height: 1, Hash: first.Hash, Prev: chainhash.Hash{9}}}, mismatch},
		{"a block above a hole", utxo.Connected{Block: unborn}, mismatch},

		{"no owners", announced(1), invalid},
		{"the most owners", announced(1, tags(utxo.MaxOwners)...), nil},
		{"too many owners", announced(1, tags(utxo.MaxOwners+1)...), invalid},
		{"the longest tag of an owner", announced(1, tag), nil},
		{"an owner with a tag that is too long", announced(1, tag+"t"), invalid},
		{"an owner with a tag that is no text", announced(1, "\xff"), invalid},
		{"an owner born at 0", announced(0, "a"), nil},
		{"an owner born below 0", announced(-1, "a"), invalid},
		{"a revealed owner born below 0", revealed(0, "a0", -1), invalid},
		{"a revealed owner with a tag that is too long", revealed(0, tag+"t", 0), invalid},
		{"an output that there is not", revealed(2, "a", 0), invalid},

		{"a lease", leased(1, coin), nil},
		{"a lease without a lock", leased(0, coin), invalid},
		{"a lease of nothing", leased(1), invalid},
		{"a lease of one coin twice", leased(1, coin, coin), invalid},
		{"the longest label", labelled(strings.Repeat("ß", utxo.MaxLabel)), nil},
		{"a label that is too long", labelled(strings.Repeat("ß", utxo.MaxLabel+1)), invalid},
		{"wallet 0", utxo.WalletOpened{Wallet: 0}, invalid},
		{"a wallet born at 0", utxo.WalletOpened{Wallet: 2}, nil},
		{"a wallet born below 0", utxo.WalletOpened{Wallet: 2, Birth: -1}, invalid},
		{"a lease in wallet 0", utxo.OutputsLeased{OutPoints: ins(coin), Lock: utxo.LockID{1}, Duration: time.Second}, invalid},
	} {
		l := utxo.NewLedger(utxotest.Policy())
		do(t, l, utxo.WalletOpened{Wallet: 1, Birth: 1})
		do(t, l, utxo.Connected{Block: first, Txs: []*wire.MsgTx{deposit}})
		before, _ := l.Snapshot()
		err := utxotest.Outcome(l.DoAt(tt.ev, benchNow))
		if tt.want == nil && err != nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if after, _ := l.Snapshot(); tt.want != nil &&
			fmt.Sprint(before.Wallets, before.Blocks, len(before.Txs)) != fmt.Sprint(after.Wallets, after.Blocks, len(after.Txs)) {
			t.Errorf("%s is refused, and something changed", tt.name)
		}
	}
}

// Text that is too long for the trail and times that are too fine for a store are cut;
// after the highest sequence number no further number is drawn.
func TestBoundsOfWhatIsKept(t *testing.T) {
	b := newDesk(t)
	block := b.next()
	block.Block.Time = benchNow.Add(1999 * time.Nanosecond)
	do(t, b.Ledger, block)
	if kept, _, _ := b.Tip(); !kept.Time.Equal(benchNow.Add(time.Microsecond)) {
		t.Errorf("the time of the block is %v", kept.Time)
	}
	b.tip = block.Block
	coin := b.observe(b.tx(nil, mine('a')))
	id := utxo.TxID{Wallet: 1, Hash: coin.TxHash()}
	do(t, b.Ledger, utxo.OutputsLeased{Wallet: 1, OutPoints: ins(out(coin, 0)), Lock: utxo.LockID{1}, Duration: 1999 * time.Nanosecond})
	if held, _ := b.LeasesOf(1, utxo.LockID{1}); len(held) != 1 || !held[0].Until.Equal(benchNow.Add(time.Microsecond)) {
		t.Errorf("the lease is %v", held)
	}
	set := do(t, b.Ledger, utxo.OutputsLeased{Wallet: 1, OutPoints: ins(out(coin, 0)), Lock: utxo.LockID{1}, Duration: time.Microsecond})
	if !set.Empty() {
		t.Errorf("the same lease again changes %+v", set)
	}
	do(t, b.Ledger, utxo.OwnersAnnounced{Wallet: 1, Birth: 1, Tags: []string{"z", "b", "z"}})
	if owners, _ := b.Owners(1, "b", "z"); len(owners) != 2 {
		t.Errorf("the owners are %v", owners)
	}
	if set := do(t, b.Ledger, utxo.Invalidated{ID: id, Reason: strings.Repeat("r", 501)}); len(set.Log[0].Reason) > 500 {
		t.Errorf("the reason has %d bytes", len(set.Log[0].Reason))
	}
	do(t, b.Ledger, b.seen(utxo.MaxSeq, b.tx(nil, mine('a'))))
	if set := do(t, b.Ledger, b.seen(0, b.tx(nil, mine('a')))); set.Seq.New != utxo.MaxSeq+1 {
		t.Errorf("after the last sequence that can be given: %v", set.Seq)
	}
	if _, err := utxo.ProvablyDead(b, id, 0); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("at depth 0: %v", err)
	}
	if _, err := utxo.ProvablyDead(b, utxo.TxID{Wallet: 1}, 1); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("of an unknown transaction: %v", err)
	}
}

// Coins that bring more than the largest number together pay for what they bring.
func TestTheSumOfInputsIsBounded(t *testing.T) {
	const n = math.MaxInt64/utxo.MaxMoney + 2
	for name, of := range map[string][]byte{"own coins": mine('a'), "foreign coins": utxotest.Foreign} {
		l := utxo.NewLedger(utxotest.Policy())
		do(t, l, utxo.WalletOpened{Wallet: 1})
		var deposits []*wire.MsgTx
		var coins []wire.OutPoint
		for i := range uint32(n) {
			tx := utxotest.NewTx(i, ins(utxotest.External(i)), utxotest.Pay(utxo.MaxMoney, of), utxotest.Pay(0, mine('b')))
			deposits, coins = append(deposits, tx), append(coins, out(tx, 0))
		}
		do(t, l, utxo.Observed{Txs: deposits})
		all := utxotest.NewTx(0, coins, utxotest.Pay(utxo.MaxMoney, mine('c')))
		if _, err := l.DoAt(utxo.Submitted{Wallet: 1, Tx: all}, benchNow); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

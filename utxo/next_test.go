package utxo_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// owed says what Next says at a time, and when to ask again.
func (b *desk) owed(p utxo.Policy, last, now time.Time) ([]utxo.Action, time.Time) {
	b.Helper()
	actions, next, err := p.Next(b, 1, last, now)
	if err != nil {
		b.Fatal(err)
	}
	return actions, next
}

func (b *desk) submit(tx *wire.MsgTx, replaces ...*wire.MsgTx) *wire.MsgTx {
	ev := utxo.Submitted{Wallet: 1, Tx: tx}
	for _, old := range replaces {
		ev.Replaces = append(ev.Replaces, old.TxHash())
	}
	do(b, b.Ledger, ev)
	return tx
}

func broadcasts(txs ...*wire.MsgTx) (all []utxo.Action) {
	for _, tx := range txs {
		all = append(all, utxo.Action{Kind: utxo.Broadcast, ID: utxo.TxID{Wallet: 1, Hash: tx.TxHash()}})
	}
	return all
}

// Pending transactions are broadcast parents first, whichever was submitted first, also
// after a restart.
func TestNextBroadcastsParentsFirst(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	parent := b.tx(ins(out(deposit, 0)), mine('a'), mine('a'))
	child := b.tx(ins(out(parent, 0)), mine('a'))
	both := b.tx(ins(out(parent, 1), out(child, 0)), mine('a'))
	for _, tx := range []*wire.MsgTx{both, child, parent} {
		b.submit(tx)
	}
	actions, next := b.owed(utxotest.Policy(), utxotest.Start, utxotest.Start)
	if want := broadcasts(parent, child, both); !reflect.DeepEqual(actions, want) || !next.IsZero() {
		t.Errorf("owed is %v, again at %v, want %v", actions, next, want)
	}
}

// A transaction that a later one is meant to replace is not sent, nor are its descendants;
// when the later one was given up, they are sent again.
func TestNextHoldsWhatIsToBeReplaced(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'), mine('a'), mine('a'))
	b.connect(deposit)
	old := b.submit(b.tx(ins(out(deposit, 1), out(deposit, 0)), mine('a')))
	child := b.submit(b.tx(ins(out(old, 0)), mine('a')))
	grandchild := b.submit(b.tx(ins(out(child, 0)), mine('a')))
	other := b.submit(b.tx(ins(out(deposit, 2)), mine('a')))
	replacement := b.submit(b.tx(ins(out(deposit, 1)), mine('a')), old)
	actions, next := b.owed(utxotest.Policy(), time.Time{}, utxotest.Start.Add(24*time.Hour))
	if want := broadcasts(other, replacement); !reflect.DeepEqual(actions, want) || !next.IsZero() {
		t.Errorf("owed is %v, again at %v, want %v", actions, next, want)
	}
	do(t, b.Ledger, utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: replacement.TxHash()}})
	actions, _ = b.owed(utxotest.Policy(), time.Time{}, utxotest.Start)
	if want := broadcasts(old, child, grandchild, other); !reflect.DeepEqual(actions, want) {
		t.Errorf("after it was given up, owed is %v, want %v", actions, want)
	}
}

// A transaction that another wallet's transaction is meant to replace is not sent either.
// In the test two wallets fund one payment.
func TestNextHoldsWhatAnotherWalletReplaces(t *testing.T) {
	b := newDesk(t)
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 2})
	deposit := b.tx(nil, mine('a'), utxotest.Script(2, "a"))
	b.connect(deposit)
	old := b.tx(ins(out(deposit, 0), out(deposit, 1)), mine('a'), utxotest.Script(2, "a"))
	newer := b.tx(ins(out(deposit, 0), out(deposit, 1)), mine('a'))
	do(t, b.Ledger, utxo.Submitted{Wallet: 2, Tx: old})
	b.submit(old)
	if actions, _ := b.owed(utxotest.Policy(), time.Time{}, utxotest.Start); !reflect.DeepEqual(actions, broadcasts(old)) {
		t.Errorf("what both wallets have is owed by each: %v", actions)
	}
	do(t, b.Ledger, utxo.Submitted{Wallet: 2, Tx: newer, Replaces: []chainhash.Hash{old.TxHash()}})
	if actions, _ := b.owed(utxotest.Policy(), time.Time{}, utxotest.Start); len(actions) > 0 {
		t.Errorf("owed is %v, want nothing", actions)
	}
	actions, _, err := utxotest.Policy().Next(b, 2, time.Time{}, utxotest.Start)
	if err != nil || len(actions) != 1 || actions[0].ID.Hash != newer.TxHash() {
		t.Errorf("the other owes %v, want the later one, %v", actions, err)
	}
}

// An own unconfirmed transaction is sent again once at every multiple of the interval since
// it was first seen.
func TestNextRebroadcastsAtMultiples(t *testing.T) {
	const every = 10 * time.Minute
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	b.observe(b.tx(nil, mine('a'))) // a stranger's: they send it
	own := b.observe(b.tx(ins(out(deposit, 0)), utxotest.Foreign))
	first := benchNow
	after := func(d time.Duration) time.Time { return first.Add(d) }
	policy := utxotest.Policy()
	policy.Rebroadcast = every
	for _, tt := range []struct {
		name      string
		last, now time.Time
		sent      bool
		next      time.Time
	}{
		{"just before the first", time.Time{}, after(every - 1), false, after(every)},
		{"at the first", time.Time{}, after(every), true, after(2 * every)},
		{"at the first, when it was carried out just before", after(every - 1), after(every), true, after(2 * every)},
		{"at the first, when it was carried out", after(every), after(every), false, after(2 * every)},
		{"after the second", after(2*every - 1), after(5 * every / 2), true, after(3 * every)},
		{"after the second, when that was carried out", after(2 * every), after(5 * every / 2), false, after(3 * every)},
		{"after a long rest", after(every), after(100 * every), true, after(101 * every)},
		{"by a clock that was set back", time.Time{}, after(-5 * every / 2), false, after(every)},
	} {
		actions, next := b.owed(policy, tt.last, tt.now)
		var want []utxo.Action
		if tt.sent {
			want = []utxo.Action{{Kind: utxo.Rebroadcast, ID: utxo.TxID{Wallet: 1, Hash: own.TxHash()}}}
		}
		if !reflect.DeepEqual(actions, want) || !next.Equal(tt.next) {
			t.Errorf("%s: %v, again at %v, want %v, again at %v", tt.name, actions, next, want, tt.next)
		}
	}
	if _, next := b.owed(utxotest.Policy(), time.Time{}, first); !next.Equal(after(time.Hour)) {
		t.Errorf("without an interval it is due at %v, want after an hour", next)
	}
	younger := b.tx(nil, mine('a'))
	b.observe(younger)
	later := utxo.Observed{Txs: []*wire.MsgTx{b.tx(ins(out(younger, 0)), utxotest.Foreign)}, Tip: b.tip.Hash}
	if _, err := b.DoAt(later, after(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if actions, next := b.owed(policy, time.Time{}, after(2*time.Minute)); len(actions) > 0 || !next.Equal(after(every)) {
		t.Errorf("of two %v are owed, again at %v, want none before the elder's turn at %v", actions, next, after(every))
	}
	if _, next := b.owed(policy, time.Time{}, after(every+time.Minute)); !next.Equal(after(every + 2*time.Minute)) {
		t.Errorf("after the elder's turn it is due at %v, want the younger's turn", next)
	}
	mined := b.next(own)
	do(t, b.Ledger, mined)
	if _, next := b.owed(policy, time.Time{}, after(2*time.Minute)); !next.Equal(after(2*time.Minute + every)) {
		t.Errorf("with the elder in a block it is due at %v, want the younger's turn", next)
	}
	do(t, b.Ledger, utxo.Disconnected{Hash: mined.Block.Hash})
	if actions, _ := b.owed(policy, time.Time{}, after(every)); len(actions) != 1 || actions[0].ID.Hash != own.TxHash() {
		t.Errorf("with its block gone %v is owed, want the elder again", actions)
	}
}

// What is confirmed, dead, or only context is owed nothing.
func TestNextOwesNothingForTheRest(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'), mine('a'))
	b.connect(deposit)
	mined := b.observe(b.tx(ins(out(deposit, 0)), mine('a')))
	parent := b.tx(nil, utxotest.Foreign)
	pays := b.tx(ins(out(parent, 0)), mine('a'))
	do(t, b.Ledger, utxo.Observed{Txs: []*wire.MsgTx{parent, pays}, Tip: b.tip.Hash}) // a foreign parent is context
	dead := b.submit(b.tx(ins(out(deposit, 1)), mine('a')))
	do(t, b.Ledger, utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: dead.TxHash()}})
	b.connect(mined)
	if actions, next := b.owed(utxotest.Policy(), time.Time{}, benchNow.Add(24*time.Hour)); len(actions) > 0 || !next.IsZero() {
		t.Errorf("owed is %v, again at %v", actions, next)
	}
	if _, _, err := utxotest.Policy().Next(b, 2, time.Time{}, benchNow); utxotest.RefusalName(err) != "not-found" {
		t.Errorf("of an unknown wallet: %v", err)
	}
}

// movingOn is a reader of which the second read sees another moment than the first.
type movingOn struct {
	utxo.Reader
	between func()
}

func (m movingOn) Ancestors(reach utxo.Reach, hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	defer m.between()
	return m.Reader.Ancestors(reach, hashes...)
}

// A transaction that is confirmed between the two reads of ProvablyDead is no rival of its
// own line.
func TestAConfirmationMeanwhileProvesNoDeath(t *testing.T) {
	b := newDesk(t)
	coin := b.tx(nil, mine('a'))
	block := b.next(coin)
	b.connect(coin)
	b.connect()
	parent := b.submit(b.tx(ins(out(coin, 0)), mine('a')))
	child := b.submit(b.tx(ins(out(parent, 0)), mine('a')))
	block.Txs, block.Positions = append(block.Txs, parent), nil
	r := movingOn{b.Ledger, func() { do(t, b.Ledger, block) }}
	if dead, err := utxo.ProvablyDead(r, utxo.TxID{Wallet: 1, Hash: child.TxHash()}, 1); err != nil || dead {
		t.Errorf("dead is %t, %v", dead, err)
	}
}

package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// lockSpy notes which scopes are locked.
type lockSpy struct {
	store.Store[store.Unit]
	locks []utxo.WalletID
}

type spiedTx struct {
	store.Unit
	spy *lockSpy
}

type spiedRecords struct {
	store.WalletRecords
	spy *lockSpy
}

func (s *lockSpy) Update(ctx context.Context, fn func(store.Unit) error) error {
	return s.Store.Update(ctx, func(tx store.Unit) error { return fn(spiedTx{tx, s}) })
}

func (t spiedTx) Wallets() store.WalletRecords { return spiedRecords{t.Unit.Wallets(), t.spy} }

func (r spiedRecords) Lock(scope utxo.WalletID) error {
	r.spy.locks = append(r.spy.locks, scope)
	return r.WalletRecords.Lock(scope)
}

// An event of one wallet is planned under the lock of this wallet, and again under the lock of
// all wallets where the plan rests on unconfirmed transactions of others, or changes them.
func TestAPlanThatConcernsOthersTakesTheLockOfAll(t *testing.T) {
	ctx := context.Background()
	spy := &lockSpy{Store: memory.New(memory.Options{Wallets: utxotest.Policy()})}
	w := walletsOf(t, spy, utxotest.Policy())
	pay := func(salt uint32, in wire.OutPoint, to utxo.WalletID, amount int64) *wire.MsgTx {
		return utxotest.NewTx(salt, []wire.OutPoint{in}, utxotest.Pay(amount, utxotest.Script(to, "main")))
	}
	fund := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, utxotest.Pay(9, utxotest.Script(1, "main")),
		utxotest.Pay(9, utxotest.Script(1, "main")), utxotest.Pay(9, utxotest.Script(2, "main")))
	own := pay(2, utxotest.Out(fund, 0), 1, 8)
	shared := pay(3, utxotest.Out(fund, 1), 2, 8)
	others := pay(4, utxotest.Out(fund, 2), 1, 8)
	child := pay(5, utxotest.Out(shared, 0), 2, 7)
	block := utxotest.NewBlock(1, chainhash.Hash{}, 0)
	id := func(w utxo.WalletID, tx *wire.MsgTx) utxo.TxID { return utxo.TxID{Wallet: w, Hash: tx.TxHash()} }
	for _, c := range []struct {
		rule  string
		ev    utxo.Event
		locks []utxo.WalletID
	}{
		{"a wallet is opened alone", utxo.WalletOpened{Wallet: 1}, []utxo.WalletID{1}},
		{"another too", utxo.WalletOpened{Wallet: 2}, []utxo.WalletID{2}},
		{"a block concerns all", utxo.Connected{Block: block, Txs: []*wire.MsgTx{fund}}, []utxo.WalletID{0}},
		{"a spend of own coins is a wallet's own", utxo.Submitted{Wallet: 1, Tx: own}, []utxo.WalletID{1}},
		{"so is its broadcast", utxo.Broadcasted{ID: id(1, own)}, []utxo.WalletID{1}},
		{"and giving it up", utxo.Invalidated{ID: id(1, own)}, []utxo.WalletID{1}},
		{"a payment to another wallet is its own while it is pending", utxo.Submitted{Wallet: 1, Tx: shared}, []utxo.WalletID{1}},
		{"its broadcast adds a row to the other", utxo.Broadcasted{ID: id(1, shared)}, []utxo.WalletID{1, 0}},
		{"a label rests on nothing else", utxo.Labelled{ID: id(1, shared), Label: "rent"}, []utxo.WalletID{1}},
		{"a child of what another has unconfirmed", utxo.Submitted{Wallet: 2, Tx: child}, []utxo.WalletID{2, 0}},
		{"a spend of another wallet's coin", utxo.Submitted{Wallet: 1, Tx: others}, []utxo.WalletID{1, 0}},
		{"giving up what both have", utxo.Invalidated{ID: id(2, shared)}, []utxo.WalletID{2, 0}},
	} {
		spy.locks = nil
		if _, err := w.Do(ctx, c.ev); err != nil || !slices.Equal(spy.locks, c.locks) {
			t.Errorf("%s: locked %v, want %v (%v)", c.rule, spy.locks, c.locks, err)
		}
	}
	spy.locks = nil
	err := spy.Update(ctx, func(tx store.Unit) error { // in a host's transaction nothing can begin again
		_, err := w.Within(tx).Do(ctx, utxo.Submitted{Wallet: 1, Tx: pay(6, utxotest.Out(fund, 1), 2, 6)},
			utxo.Broadcasted{ID: id(1, pay(6, utxotest.Out(fund, 1), 2, 6))})
		return err
	})
	if err != nil || !slices.Equal(spy.locks, []utxo.WalletID{1, 0, 0}) && !slices.Equal(spy.locks, []utxo.WalletID{1, 0}) {
		t.Errorf("within a transaction: locked %v (%v)", spy.locks, err)
	}
	if err := w.Audit(ctx, 1); err != nil {
		t.Error(err)
	}
}

package coinselect_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"github.com/settlehq/settle/utxo/utxotest"
	"pgregory.net/rapid"
)

// A coin that only another wallet's transaction spends counts as spent until that
// transaction is given up. If it were offered, a payment with it would be refused.
func TestCandidatesOfAnotherWalletsTransactionAreSpent(t *testing.T) {
	policy := utxotest.Policy()
	l := utxo.NewLedger(policy)
	deposit := utxotest.NewTx(1, ins(utxotest.External(1)), utxotest.Pay(1000, utxotest.Script(1, "a")),
		utxotest.Pay(1000, utxotest.Script(1, "a")))
	theirs := utxotest.NewTx(2, ins(utxotest.External(2)), utxotest.Pay(1000, utxotest.Script(2, "a")))
	both := utxotest.NewTx(3, ins(out(deposit, 0), out(theirs, 0)), utxotest.Pay(2000, utxotest.Script(2, "a")))
	states := func(want ...utxo.OutputState) {
		t.Helper()
		list, err := coinselect.Candidates(policy, l, coinselect.Query{Wallet: 1, At: noon})
		var got []utxo.OutputState
		for _, c := range list {
			got = append(got, c.State)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("they are %v, want %v (%v)", got, want, err)
		}
	}
	for _, ev := range []utxo.Event{
		utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.WalletOpened{Wallet: 2, Birth: 1},
		utxo.Connected{Block: utxotest.NewBlock(1, chainhash.Hash{}, 0), Txs: []*wire.MsgTx{deposit, theirs}},
		utxo.Submitted{Wallet: 2, Tx: both},
	} {
		if _, err := l.DoAt(ev, noon); err != nil {
			t.Fatal(err)
		}
	}
	states(utxo.CoinSpent, utxo.CoinConfirmed)
	_, err := l.DoAt(utxo.Submitted{Wallet: 1, Tx: utxotest.NewTx(4, ins(out(deposit, 0)), utxotest.Pay(9, foreign))}, noon)
	if !errors.Is(err, utxo.ErrInputSpent) {
		t.Errorf("its payment: %v", err)
	}
	if _, err := l.DoAt(utxo.Invalidated{ID: utxo.TxID{Wallet: 2, Hash: both.TxHash()}}, noon); err != nil {
		t.Fatal(err)
	}
	states(utxo.CoinConfirmed, utxo.CoinConfirmed)
}

// Whatever happened to the wallets of a store, a coin that is offered can be submitted, and
// a coin that is not offered (spent, dead, immature or on hold) cannot.
func TestWhatIsOfferedCanBeSubmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := utxotest.Histories(30).Draw(t, "history")
		l := utxo.NewLedger(h.Policy)
		now := utxotest.Start
		_ = h.Play(func(ev utxo.Event) error {
			now = utxo.Said(ev).At
			_, _ = l.Do(ev)
			return nil
		})
		wallets, _ := l.Wallets()
		for _, w := range wallets {
			list, err := coinselect.Candidates(h.Policy, l, coinselect.Query{Wallet: w.ID, At: now})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				if c.Replacing {
					continue
				}
				offered := c.State == utxo.CoinConfirmed || c.State == utxo.CoinUnconfirmed || c.State == utxo.CoinPending
				tx := utxotest.NewTx(1<<31, ins(c.OutPoint), utxotest.Pay(c.Amount, foreign))
				if _, err := h.Policy.PlanAt(l, utxo.Submitted{Wallet: w.ID, Tx: tx}, now); (err == nil) != offered {
					t.Errorf("coin %v of wallet %d is %s, its payment: %v", c.OutPoint, w.ID, c.State, err)
				}
			}
		}
	})
}

// A transaction that another wallet's transaction is to replace already is refused as the
// original of a replacement here, since the submission would be refused too.
func TestOriginalThatAnotherWalletReplacesIsNotTheLatest(t *testing.T) {
	l := utxo.NewLedger(utxotest.Policy())
	deposit := utxotest.NewTx(1, ins(utxotest.External(1)), utxotest.Pay(1000, utxotest.Script(1, "a")),
		utxotest.Pay(1000, utxotest.Script(2, "a")))
	old := utxotest.NewTx(2, ins(out(deposit, 0), out(deposit, 1)), utxotest.Pay(900, utxotest.Script(1, "a")),
		utxotest.Pay(900, utxotest.Script(2, "a")))
	newer := utxotest.NewTx(3, ins(out(deposit, 0), out(deposit, 1)), utxotest.Pay(900, foreign))
	id := utxo.TxID{Wallet: 1, Hash: old.TxHash()}
	for _, ev := range []utxo.Event{
		utxo.WalletOpened{Wallet: 1}, utxo.WalletOpened{Wallet: 2},
		utxo.Observed{Txs: []*wire.MsgTx{deposit}}, utxo.Submitted{Wallet: 1, Tx: old}, utxo.Broadcasted{ID: id},
	} {
		if _, err := l.DoAt(ev, noon); err != nil {
			t.Fatal(err)
		}
	}
	if o, err := coinselect.ReadOriginal(l, id); err != nil || len(o.Versions) != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	if _, err := l.DoAt(utxo.Submitted{Wallet: 2, Tx: newer, Replaces: []chainhash.Hash{id.Hash}}, noon); err != nil {
		t.Fatal(err)
	}
	if _, err := coinselect.ReadOriginal(l, id); !errors.Is(err, coinselect.ErrNotLatest) ||
		!strings.Contains(err.Error(), newer.TxHash().String()) {
		t.Errorf("it is answered %v", err)
	}
	if o, err := coinselect.ReadOriginal(l, utxo.TxID{Wallet: 2, Hash: newer.TxHash()}); err != nil ||
		!slices.Equal(o.Versions, []chainhash.Hash{newer.TxHash(), id.Hash}) {
		t.Errorf("the latest: %+v, %v", o, err)
	}
}

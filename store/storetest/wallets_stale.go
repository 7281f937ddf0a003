package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// staleSets: each part of a change set is compared with what it replaces. Of two
// events that were planned on the same state the second is a conflict, and leaves
// nothing behind.
func (w *wallets) staleSets(t *testing.T) {
	b, tx := w.funded(t, 9)
	by := utxo.By{At: utxotest.Start}
	coin := func(i uint32) []wire.OutPoint { return []wire.OutPoint{utxotest.Out(tx, i)} }
	lease := func(i uint32, lock byte, d time.Duration) utxo.Event {
		return utxo.OutputsLeased{Wallet: 1, OutPoints: coin(i), Lock: utxo.LockID{lock}, Duration: d, By: by}
	}
	spend := func(i, salt uint32) utxo.Event {
		return utxo.Submitted{Wallet: 1, Tx: utxotest.NewTx(salt, coin(i), utxotest.Pay(9, utxotest.Foreign)), By: by}
	}
	seen := func(salt uint32) utxo.Event {
		return utxo.Observed{Tip: b.Hash, By: by, Txs: []*wire.MsgTx{utxotest.NewTx(salt, []wire.OutPoint{utxotest.External(salt)}, utxotest.Pay(9, utxotest.Script(1, "a")))}}
	}
	announced := func(tag string) utxo.Event {
		return utxo.OwnersAnnounced{Wallet: 1, Birth: 1, Tags: []string{tag}, By: by}
	}
	w.do(t, lease(1, 1, time.Hour), lease(2, 1, time.Hour))
	for _, tt := range []struct {
		name          string
		first, second utxo.Event
	}{
		{"two spends of a coin", spend(0, 50), spend(0, 51)},
		{"two renewals of a lease", lease(1, 1, 2*time.Hour), lease(1, 1, 3*time.Hour)},
		{"a renewal of a lease and its end", lease(2, 1, 2*time.Hour), utxo.LeasesReleased{Wallet: 1, OutPoints: coin(2), Lock: utxo.LockID{1}, By: by}},
		{"two leases of a coin", lease(3, 1, time.Hour), lease(3, 2, time.Hour)},
		{"two owners who are behind", announced("b"), announced("c")},
		{"two observations", seen(60), seen(61)},
		{"a block on the tip and the end of the tip", utxo.Connected{Block: utxotest.NewBlock(2, b.Hash, 0), By: by}, utxo.Disconnected{Hash: b.Hash, By: by}},
	} {
		first, second := w.planned(t, tt.first), w.planned(t, tt.second)
		w.do(t, tt.first)
		if first.Empty() {
			t.Fatalf("%s: nothing changes", tt.name)
		}
		before := w.snapshot(t)
		err := w.Update(ctx, func(tx store.WalletUnit) error { return tx.Wallets().Save(second) })
		if !errors.Is(err, statemachine.ErrConflict) {
			t.Errorf("%s: the second got %v, want %v", tt.name, err, statemachine.ErrConflict)
		}
		sameSnapshot(t, before, w.snapshot(t))
	}
	next := utxo.Connected{Block: utxotest.NewBlock(3, utxotest.NewBlock(2, b.Hash, 0).Hash, 0), By: by}
	first, rival := w.planned(t, next), next
	rival.Block.Hash = chainhash.Hash{9}
	second := w.planned(t, rival)
	for i, set := range []utxo.ChangeSet{first, second} {
		err := w.Update(ctx, func(tx store.WalletUnit) error { return tx.Wallets().Save(set) })
		if want := map[int]error{1: statemachine.ErrConflict}[i]; !errors.Is(err, want) {
			t.Errorf("block %d at one height: %v, want %v", i+1, err, want)
		}
	}
}

// planned plans an event on what is stored, and stores nothing.
func (w *wallets) planned(t *testing.T, ev utxo.Event) (set utxo.ChangeSet) {
	t.Helper()
	if err := w.View(ctx, func(tx store.WalletUnit) (err error) {
		set, err = utxotest.Policy().PlanAt(tx.Wallets(), ev, utxotest.Start)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return set
}

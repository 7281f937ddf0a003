package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"github.com/settlehq/settle/utxo/utxotest"
)

// replacedAndBumped pays with everything, replaces that, and pays for it by a
// child: what each of them reads is the same on every store.
func (w *wallets) replacedAndBumped(t *testing.T) {
	w.funded(t, 5) // 1000 satoshi each
	w.do(t, utxo.WalletOpened{Wallet: 2, Birth: 1})
	how := func(rate coinselect.FeeRate) coinselect.Request {
		r := selectOne(500)
		r.Payment, r.Algorithm, r.FeeRate, r.LongTermFeeRate, r.DustLimit = coinselect.Payment{}, 0, rate, 1, 100
		r.DustRelay = 1000
		return r
	}
	leased := func(want ...wire.OutPoint) {
		t.Helper()
		var got []wire.OutPoint
		for _, l := range w.snapshot(t).Leases {
			got = append(got, l.OutPoint)
		}
		for _, op := range want {
			if !slices.Contains(got, op) {
				t.Errorf("%s is not leased", op)
			}
		}
		if len(got) != len(want) {
			t.Errorf("leased are %v, want %v", got, want)
		}
	}
	sign := func(tx *wire.MsgTx) *wire.MsgTx {
		for _, in := range tx.TxIn {
			in.Witness = wire.TxWitness{make([]byte, 72), make([]byte, 33)}
		}
		return tx
	}
	build := func(inputs []coinselect.Candidate, outs ...*wire.TxOut) *wire.MsgTx {
		tx := wire.NewMsgTx(2)
		for _, in := range inputs {
			tx.AddTxIn(&wire.TxIn{PreviousOutPoint: in.OutPoint, Sequence: 1})
		}
		for _, o := range outs {
			tx.AddTxOut(o)
		}
		return sign(tx)
	}

	lock := utxo.LockID{1}
	spend := store.Spend{Wallet: 1, Lock: lock, Duration: time.Hour, Request: how(1000)}
	spend.Request.All, spend.Request.MaxInputs = true, 3
	all, err := w.service.SelectAndLease(ctx, spend)
	if err != nil || len(all.Inputs) != 3 || len(all.LeftOut) != 2 {
		t.Fatalf("send all: %+v, %v", all, err)
	}
	var three []wire.OutPoint
	for _, in := range all.Inputs {
		three = append(three, in.OutPoint)
	}
	leased(three...)
	payment := build(all.Inputs, utxotest.Pay(all.Change-500, utxotest.Foreign), utxotest.Pay(300, utxotest.Script(2, "b")),
		utxotest.Pay(200, utxotest.Script(1, "a")))
	id := utxo.TxID{Wallet: 1, Hash: payment.TxHash()}
	w.do(t, utxo.Submitted{Wallet: 1, Tx: payment, Lock: lock}, utxo.Broadcasted{ID: id})
	tip, _, err := w.service.Tip(ctx)
	noError(t, err)
	child := build([]coinselect.Candidate{{Coin: utxo.Coin{OutPoint: utxotest.Out(payment, 1)}}}, utxotest.Pay(250, utxotest.Script(2, "b")))
	w.do(t, utxo.Observed{Txs: []*wire.MsgTx{payment}, Seq: 1, Tip: tip.Hash}, utxo.Observed{Txs: []*wire.MsgTx{child}, Seq: 2, Tip: tip.Hash})

	at := uint32(2)
	replacement := store.Replacement{ID: id, Lock: lock, Duration: time.Hour,
		Request: coinselect.ReplaceRequest{Change: &at, Coins: how(3000)}}
	var descendants *coinselect.DescendantsError
	if _, err := w.service.ReplaceAndLease(ctx, replacement); !errors.As(err, &descendants) ||
		!slices.Equal(descendants.Descendants, []chainhash.Hash{child.TxHash()}) {
		t.Fatalf("the child that wallet 2 alone has: %v", err)
	}
	replacement.Request.Evict = descendants.Descendants
	r, err := w.service.ReplaceAndLease(ctx, replacement)
	if err != nil || len(r.Added) != 1 {
		t.Fatalf("replace: %+v, %v", r, err)
	}
	again, err := w.service.ReplaceAndLease(ctx, replacement)
	if err != nil || !slices.Equal(again.Added, r.Added) {
		t.Errorf("the same again adds %v, %v, not %v", again.Added, err, r.Added)
	}
	leased(append(three, r.Added...)...)
	bump := sign(r.Tx)
	w.do(t, utxo.Submitted{Wallet: 1, Tx: bump, Replaces: r.Replaces, Lock: lock})
	refusedWith(t, errOf(w.service.ReplaceAndLease(ctx, replacement)), coinselect.ErrNotLatest, "there is a later version")

	spend = store.Spend{Wallet: 1, Lock: utxo.LockID{2}, Duration: time.Hour, Request: how(4000)}
	refusedWith(t, errOf(w.service.BumpAndLease(ctx, bump.TxHash(), spend)), coinselect.ErrReplacing, "a child of what may never exist")
	w.do(t, utxo.Broadcasted{ID: utxo.TxID{Wallet: 1, Hash: bump.TxHash()}})
	b, err := w.service.BumpAndLease(ctx, bump.TxHash(), spend)
	own := wire.OutPoint{Hash: bump.TxHash(), Index: at}
	if err != nil || b.Inputs[0].OutPoint != own || b.AncestorFee == 0 || b.Fee != coinselect.FeeRate(4000).Fee(b.Weight)+b.AncestorFee {
		t.Fatalf("bump: %+v, %v", b, err)
	}
	for _, in := range b.Inputs {
		three = append(three, in.OutPoint)
	}
	leased(append(three, r.Added...)...)
}

// takenElsewhere lets wallet 2 submit, and give up, what spends a coin of wallet 1.
func (w *wallets) takenElsewhere(t *testing.T) {
	_, funds := w.funded(t, 2)
	taken := utxotest.NewTx(2, []wire.OutPoint{utxotest.Out(funds, 0), utxotest.External(2)}, utxotest.Pay(500, utxotest.Script(2, "b")))
	w.do(t, utxo.WalletOpened{Wallet: 2, Birth: 1}, utxo.Submitted{Wallet: 2, Tx: taken})
	selected := func(want ...uint32) {
		t.Helper()
		spend := store.Spend{Wallet: 1, Lock: utxo.LockID{1}, Duration: time.Hour, Request: selectOne(500)}
		spend.Request.Payment, spend.Request.Algorithm, spend.Request.All = coinselect.Payment{}, 0, true
		sel, err := w.service.SelectAndLease(ctx, spend)
		var got []uint32
		for _, in := range sel.Inputs {
			got = append(got, in.OutPoint.Index)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("outputs %v are selected, want %v (%v)", got, want, err)
		}
	}
	selected(1)
	w.do(t, utxo.Invalidated{ID: utxo.TxID{Wallet: 2, Hash: taken.TxHash()}})
	selected(0, 1)
	w.do(t, utxo.Observed{Txs: []*wire.MsgTx{taken}, Tip: utxotest.NewBlock(1, chainhash.Hash{}, 0).Hash})
	selected(1)
}

// staleSets: each part of a change set is compared with the stored value that it replaces. Of two events that were
// planned on the same state the second is a conflict, and leaves nothing behind.
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
		return utxo.Observed{Tip: b.Hash, By: by, Txs: []*wire.MsgTx{utxotest.NewTx(salt, []wire.OutPoint{utxotest.External(salt)},
			utxotest.Pay(9, utxotest.Script(1, "a")))}}
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
		{"a renewal of a lease and its end", lease(2, 1, 2*time.Hour), utxo.LeasesReleased{Wallet: 1, OutPoints: coin(2),
			Lock: utxo.LockID{1}, By: by}},
		{"two leases of a coin", lease(3, 1, time.Hour), lease(3, 2, time.Hour)},
		{"two owners who are behind", announced("b"), announced("c")},
		{"two observations", seen(60), seen(61)},
		{"a block on the tip and the end of the tip", utxo.Connected{Block: utxotest.NewBlock(2, b.Hash, 0), By: by},
			utxo.Disconnected{Hash: b.Hash, By: by}},
	} {
		first, second := w.planned(t, tt.first), w.planned(t, tt.second)
		w.do(t, tt.first)
		if first.Empty() {
			t.Fatalf("%s: nothing changes", tt.name)
		}
		before := w.snapshot(t)
		refusedWith(t, w.Update(ctx, func(tx store.WalletUnit) error { return tx.Wallets().Save(second) }),
			statemachine.ErrConflict, tt.name+": the second")
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
func (w *wallets) planned(t *testing.T, ev utxo.Event) utxo.ChangeSet {
	t.Helper()
	return must(read(w.Store, func(tx store.WalletUnit) (utxo.ChangeSet, error) {
		return utxotest.Policy().PlanAt(tx.Wallets(), ev, utxotest.Start)
	}))(t)
}

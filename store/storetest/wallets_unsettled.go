package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"github.com/settlehq/settle/utxo/utxotest"
)

// unsettled: after a restore a wallet pays itself alone, until each coin that may have been spent
// before is spent at depth.
func (w *wallets) unsettled(t *testing.T) {
	now := utxotest.Start
	pass := func(d time.Duration) { now = now.Add(d); dated(w.Store, now) }
	pass(0)
	service := must(store.NewSwitches(w.Store))(t)
	tip, funding := w.funded(t, 2)
	own := utxotest.Script(1, "a")
	start := func() error { return errOf(service.Do(ctx, switches.Wallet(1), endedEvent(switches.Wallet(1)))) }
	selects := func(r coinselect.Request) error {
		return errOf(w.service.SelectAndLease(ctx, store.Spend{Wallet: 1, Lock: utxo.LockID{7}, Duration: time.Minute, Request: r}))
	}
	submits := func(tx *wire.MsgTx) error {
		return errOf(w.service.Do(ctx, utxo.Submitted{Wallet: 1, Tx: tx, Lock: utxo.LockID{7}}))
	}
	block := func(at time.Time, txs ...*wire.MsgTx) {
		t.Helper()
		b := utxotest.NewBlock(tip.Height+1, tip.Hash, 0)
		b.Time = at
		w.do(t, utxo.Connected{Block: b, Txs: txs})
		tip = b
	}
	refused := func(err error, coin wire.OutPoint, what string) {
		t.Helper()
		refusedWith(t, err, switches.ErrUnsettled, what)
		if of := new(utxo.UnsettledError); !errors.As(err, &of) || of.Wallet != 1 || of.Coin != coin {
			t.Errorf("%s: %v, want the coin %v", what, err, coin)
		}
	}
	sweep := selectOne(1)
	sweep.Payment, sweep.All, sweep.Algorithm = coinselect.Payment{}, true, 0

	pass(time.Hour)
	restored := now
	noError(t, errOf(service.Do(ctx, switches.Everything, recoveringEvent(switches.Everything, switches.Send, 1))))
	pass(time.Minute)
	first, none := utxotest.Out(funding, 0), wire.OutPoint{}
	refused(start(), first, "a start")
	refused(selects(selectOne(500)), first, "a selection that pays somebody")
	pays := utxotest.NewTx(3, []wire.OutPoint{first}, utxotest.Pay(500, own), utxotest.Pay(400, utxotest.Foreign))
	refused(submits(pays), none, "what pays somebody")
	noError(t, selects(sweep))
	swept := utxotest.NewTx(4, []wire.OutPoint{first, utxotest.Out(funding, 1)}, utxotest.Pay(1900, own))
	noError(t, submits(swept))
	refused(start(), none, "a start while the sweep is in no block")
	w.do(t, utxo.Broadcasted{ID: utxo.TxID{Wallet: 1, Hash: swept.TxHash()}})
	block(restored.Add(time.Minute), swept)
	for range utxo.SettledDepth - 2 {
		block(now)
	}
	refused(start(), none, "a start while the sweep is not deep")

	// A transaction that nobody submitted since: what it left to the wallet may be spent too.
	stranger := utxotest.NewTx(5, []wire.OutPoint{utxotest.External(5)}, utxotest.Pay(700, own))
	block(restored.Add(2*time.Hour), stranger)
	refused(start(), utxotest.Out(stranger, 0), "a start with a coin of a block that may be from before")
	late := utxotest.NewTx(6, []wire.OutPoint{utxotest.Out(stranger, 0)}, utxotest.Pay(300, utxotest.Foreign), utxotest.Pay(300, own))
	block(restored.Add(3*time.Hour), late)
	refused(start(), utxotest.Out(late, 1), "a start with the change of what was forgotten")
	change := utxotest.NewTx(7, []wire.OutPoint{utxotest.Out(late, 1)}, utxotest.Pay(200, own))
	noError(t, submits(change))
	block(now, change)
	fresh := utxotest.NewTx(8, []wire.OutPoint{utxotest.External(8)}, utxotest.Pay(800, own))
	for range utxo.SettledDepth - 1 {
		refused(start(), none, "a start while the second sweep is not deep")
		block(restored.Add(2*time.Hour + time.Second))
	}
	block(restored.Add(2*time.Hour+time.Second), fresh)
	if open, err := w.service.Unsettled(ctx, 1); open != nil || err != nil {
		t.Fatalf("%v, %v stands open", open, err)
	}
	refused(selects(selectOne(500)), none, "a selection before the start")
	noError(t, start())
	noError(t, selects(selectOne(500)))
	noError(t, submits(utxotest.NewTx(9, []wire.OutPoint{utxotest.Out(swept, 0)}, utxotest.Pay(1000, utxotest.Foreign))))

	// What the copy knew is old, whatever the time of its block says.
	early := utxotest.NewTx(10, []wire.OutPoint{utxotest.External(10)}, utxotest.Pay(700, own))
	block(now.Add(9*time.Hour), early)
	pass(time.Hour)
	noError(t, errOf(service.Do(ctx, switches.Everything, recoveringEvent(switches.Everything, switches.Send, 2))))
	pass(time.Minute)
	rest := []wire.OutPoint{utxotest.Out(change, 0), utxotest.Out(fresh, 0)}
	noError(t, submits(utxotest.NewTx(11, rest, utxotest.Pay(900, own))))
	refused(start(), utxotest.Out(early, 0), "a start with a coin of the copy")
}

// forgotten: the coins of addresses that nobody knows are seen, and are not selected by themselves.
func (w *wallets) forgotten(t *testing.T) {
	tag := utxo.Forgotten
	w.do(t, utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.OwnersAnnounced{Wallet: 1, Tags: []string{tag}, Birth: 1})
	tx := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, utxotest.Pay(1000, utxotest.Script(1, tag)))
	w.do(t, utxo.Connected{Block: utxotest.NewBlock(1, chainhash.Hash{}, 0), Txs: []*wire.MsgTx{tx}})
	if b, err := w.service.Balance(ctx, 1, &tag, 1); err != nil || b.Confirmed != 1000 {
		t.Errorf("%+v, %v", b, err)
	}
	spend := store.Spend{Wallet: 1, Lock: utxo.LockID{7}, Duration: time.Minute, Request: selectOne(500)}
	refusedWith(t, errOf(w.service.SelectAndLease(ctx, spend)), coinselect.ErrInsufficientFunds, "a coin that nobody knows")
	spend.Tag = &tag
	noError(t, errOf(w.service.SelectAndLease(ctx, spend)))
}

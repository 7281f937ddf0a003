package utxotest

import (
	"slices"
	"strings"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// oldTx is a transaction that exists, delivered or not; a new one if there is none.
func (w *world) oldTx() *wire.MsgTx {
	if len(w.txs) == 0 {
		return w.newTx()
	}
	tx := pick(w, w.txs...)
	if w.odds(1, 6) {
		return w.resigned(tx)
	}
	return tx
}

// resigned is a copy of tx with the same hash: some inputs have no witness, some another
// witness.
func (w *world) resigned(tx *wire.MsgTx) *wire.MsgTx {
	other := tx.Copy()
	for _, in := range other.TxIn {
		switch w.number(0, 2) {
		case 0:
			in.Witness = nil
		case 1:
			in.Witness = wire.TxWitness{{byte(w.number(1, 9))}}
		}
	}
	return other
}

// unsigned is a new transaction without its witnesses. The same transaction with its
// witnesses joins those of the universe.
func (w *world) unsigned() *wire.MsgTx {
	tx := w.newTx().Copy()
	for _, in := range tx.TxIn {
		in.Witness = nil
	}
	return tx
}

// stranger is a transaction that spends a foreign output and pays nobody of the store:
// nodes know it, and no wallet does unless it conflicts with a transaction of a wallet.
func (w *world) stranger() *wire.MsgTx {
	var paid []wire.OutPoint
	for _, r := range w.model.rows {
		for i, out := range r.tx.TxOut {
			if string(out.PkScript) == string(Foreign) && out.Value > 0 {
				paid = append(paid, Out(r.tx, uint32(i)))
			}
		}
	}
	if len(paid) == 0 {
		return w.oldTx()
	}
	op := pick(w, paid...)
	w.salt++
	tx := NewTx(w.salt, []wire.OutPoint{op}, Pay(w.worth([]wire.OutPoint{op})-1, Foreign))
	w.txs = append(w.txs, tx)
	return tx
}

func (w *world) newTx() *wire.MsgTx { return w.build() }

// build makes a transaction that spends the given outpoints and up to three others.
func (w *world) build(inputs ...wire.OutPoint) *wire.MsgTx {
	for range w.number(max(0, 1-len(inputs)), 3-len(inputs)) {
		if op := w.input(); !slices.Contains(inputs, op) {
			inputs = append(inputs, op)
		}
	}
	w.salt++
	tx := NewTx(w.salt, inputs, w.outputs(w.worth(inputs))...)
	w.txs = append(w.txs, tx)
	return tx
}

// deposit is the value of a foreign coin and of a coinbase, in satoshi: enough for chains
// of payments that each pay three outputs.
const deposit = 1_000_000_000_000

// worth is what the outpoints bring, those that exist.
func (w *world) worth(inputs []wire.OutPoint) (sum int64) {
	all := slices.Concat(w.txs, w.minted)
	for _, op := range inputs {
		at := slices.IndexFunc(all, func(tx *wire.MsgTx) bool { return tx.TxHash() == op.Hash })
		if at < 0 {
			sum += deposit
		} else if int(op.Index) < len(all[at].TxOut) {
			sum += all[at].TxOut[op.Index].Value
		}
	}
	return sum
}

// input is a coin of a wallet, any output, an outpoint that another transaction spends too,
// an output of a transaction that nobody has seen yet, or a foreign outpoint.
func (w *world) input() wire.OutPoint {
	switch w.number(0, 11) {
	case 0, 1, 2, 3:
		var coins []utxo.Coin
		for _, id := range w.model.walletIDs() {
			coins = append(coins, w.model.Coins(id)...)
		}
		unspent := slices.DeleteFunc(slices.Clone(coins), func(c utxo.Coin) bool {
			return c.SpentBy != none || c.Status != utxo.Pending && c.Status != utxo.Published
		})
		if len(unspent) > 0 && w.odds(4, 5) {
			return pick(w, unspent...).OutPoint
		}
		if len(coins) > 0 {
			return pick(w, coins...).OutPoint
		}
	case 4, 5, 6:
		tx := w.oldOrMinted()
		if tx != nil {
			last := len(tx.TxOut) - 1
			if w.odds(1, 30) {
				last++ // which does not exist
			}
			return Out(tx, uint32(w.number(0, last)))
		}
	case 7, 8, 9:
		if len(w.txs) > 0 {
			return pick(w, w.oldTx().TxIn...).PreviousOutPoint
		}
	case 10:
		w.salt++
		parent := NewTx(w.salt, []wire.OutPoint{External(uint32(w.number(0, 4)))}, w.outputs(deposit)...)
		w.txs = append(w.txs, parent)
		return Out(parent, 0)
	}
	return External(uint32(w.number(0, 4)))
}

func (w *world) oldOrMinted() *wire.MsgTx {
	all := slices.Concat(w.txs, w.minted)
	if len(all) == 0 {
		return nil
	}
	return pick(w, all...)
}

// outputs returns one to three outputs with different amounts. They pay what the inputs
// bring, mostly less a fee, and rarely more.
func (w *world) outputs(worth int64) []*wire.TxOut {
	scripts := [][]byte{Script(1, "main"), Script(1, "main"), Script(1, "side"), Foreign, Foreign, LateScript}
	if w.model.wallet(2) != nil || w.odds(1, 30) {
		scripts = append(scripts, Script(2, "main"), Script(2, "main"))
	}
	if w.model.wallet(3) != nil {
		scripts = append(scripts, Script(3, "main"), Script(3, "main"))
	}
	var outputs []*wire.TxOut
	fee, n := worth, int64(w.number(1, 3))
	for i := range n {
		amount := max(0, worth/n-int64(w.salt)*10-i)
		outputs = append(outputs, Pay(amount, pick(w, scripts...)))
		fee -= amount
	}
	switch w.number(0, 19) {
	case 0, 1:
		outputs[0].Value += fee
	case 2, 3, 4:
		outputs[0].Value += fee + 1
	}
	return outputs
}

// lock is one of three lock ids, most of the time none.
func (w *world) lock() utxo.LockID { return lockID(pick(w, "", "", "k", "l")) }

// coins picks one or two coins of a wallet, rarely something else.
func (w *world) coins(id utxo.WalletID, want func(utxo.Coin) bool) []wire.OutPoint {
	coins := slices.DeleteFunc(w.model.Coins(id), func(c utxo.Coin) bool { return !want(c) })
	var ops []wire.OutPoint
	for range w.number(1, 2) {
		if len(coins) == 0 || w.odds(1, 20) {
			ops = append(ops, Out(w.oldTx(), 0))
		} else {
			ops = append(ops, pick(w, coins...).OutPoint)
		}
	}
	return ops
}

func (w *world) lease() {
	id := w.walletID()
	ops := w.coins(id, func(c utxo.Coin) bool { return c.SpentBy == none || w.odds(1, 5) })
	w.emit(utxo.OutputsLeased{Wallet: id, OutPoints: ops, Lock: lockID(pick(w, "k", "l")), Duration: w.duration(), By: utxo.By{At: w.now}})
}

func (w *world) duration() time.Duration {
	return pick(w, 10*time.Second, 30*time.Second, time.Minute, time.Hour)
}

// leasedCoin picks a wallet and its leased coins.
func (w *world) leasedCoin() (utxo.WalletID, []wire.OutPoint, utxo.LockID) {
	lock := lockID(pick(w, "k", "l"))
	if len(w.model.leases) == 0 || w.odds(1, 8) {
		id := w.walletID()
		return id, w.coins(id, func(utxo.Coin) bool { return true }), lock
	}
	l := pick(w, w.model.leases...)
	if w.odds(3, 4) {
		lock = l.Lock
	}
	return l.Wallet, []wire.OutPoint{l.OutPoint}, lock
}

func (w *world) renew() {
	id, ops, lock := w.leasedCoin()
	w.emit(utxo.LeasesRenewed{Wallet: id, OutPoints: ops, Lock: lock, Duration: w.duration(), By: utxo.By{At: w.now}})
}

func (w *world) release() {
	id, ops, lock := w.leasedCoin()
	w.emit(utxo.LeasesReleased{Wallet: id, OutPoints: ops, Lock: lock, By: utxo.By{At: w.now}})
}

// nonsense sends what no sane host sends.
func (w *world) nonsense() {
	tip, height := w.tip()
	tx, id := w.oldTx(), w.walletID()
	twice := tx.Copy()
	twice.AddTxIn(twice.TxIn[0])
	coinbase := NewCoinbase(w.salt, w.outputs(deposit)...)
	next := NewBlock(height+1, tip, 0)
	w.emit(pick[utxo.Event](w,
		utxo.WalletOpened{Wallet: 0, By: utxo.By{At: w.now}},
		utxo.WalletOpened{Wallet: 1, Birth: -1, By: utxo.By{At: w.now}},
		utxo.WalletOpened{Wallet: id, Birth: 3, By: utxo.By{At: w.now}},
		utxo.Submitted{Wallet: id, By: utxo.By{At: w.now}},
		utxo.Submitted{Wallet: id, Tx: twice, By: utxo.By{At: w.now}},
		utxo.Submitted{Wallet: id, Tx: coinbase, By: utxo.By{At: w.now}},
		utxo.Submitted{Wallet: id, Tx: NewTx(0, []wire.OutPoint{External(99)}), By: utxo.By{At: w.now}},
		utxo.Submitted{Wallet: id, Tx: NewTx(0, []wire.OutPoint{External(99)}, Pay(1, Foreign)), By: utxo.By{At: w.now}},
		utxo.Observed{Txs: []*wire.MsgTx{twice}, Seq: w.seq + 1, Tip: tip, By: utxo.By{At: w.now}},
		utxo.Observed{Txs: []*wire.MsgTx{coinbase}, Seq: w.seq + 1, Tip: tip, By: utxo.By{At: w.now}},
		utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: 0, Tip: tip, By: utxo.By{At: w.now}},
		utxo.Observed{Txs: []*wire.MsgTx{nil}, Seq: w.seq + 1, Tip: tip, By: utxo.By{At: w.now}},
		utxo.Connected{Block: next, Txs: []*wire.MsgTx{coinbase, tx, tx}, By: utxo.By{At: w.now}},
		utxo.Connected{Block: next, Txs: []*wire.MsgTx{tx, coinbase}, By: utxo.By{At: w.now}},
		utxo.Connected{Block: next, Txs: []*wire.MsgTx{coinbase, tx}, Positions: []int32{0}, By: utxo.By{At: w.now}},
		utxo.Connected{Block: next, Txs: []*wire.MsgTx{coinbase, tx, NewTx(1, []wire.OutPoint{tx.TxIn[0].PreviousOutPoint}, Pay(1, Foreign))},
			By: utxo.By{At: w.now}},
		utxo.Connected{Block: NewBlock(height+2, tip, 0), By: utxo.By{At: w.now}},
		utxo.Connected{Block: NewBlock(-1, tip, 0), By: utxo.By{At: w.now}},
		utxo.Disconnected{Hash: next.Hash, By: utxo.By{At: w.now}},
		utxo.Labelled{ID: w.stored(func(*row) bool { return true }), Label: strings.Repeat("ß", utxo.MaxLabel+1), By: utxo.By{At: w.now}},
		utxo.OutputRevealed{ID: w.stored(func(*row) bool { return true }), Index: 9, Tag: "other", By: utxo.By{At: w.now}},
		utxo.OwnersAnnounced{Wallet: id, By: utxo.By{At: w.now}},
		utxo.OwnersAnnounced{Wallet: id, Tags: []string{"main"}, Birth: -1, By: utxo.By{At: w.now}},
		utxo.OutputsLeased{Wallet: id, OutPoints: []wire.OutPoint{External(0)}, Duration: time.Second, By: utxo.By{At: w.now}},
		utxo.OutputsLeased{Wallet: id, Lock: lockID("k"), Duration: time.Second, By: utxo.By{At: w.now}},
		utxo.OutputsLeased{Wallet: id, OutPoints: []wire.OutPoint{External(0)}, Lock: lockID("k"), By: utxo.By{At: w.now}},
		utxo.LeasesRenewed{Wallet: id, OutPoints: []wire.OutPoint{External(0)}, Lock: lockID("k"), By: utxo.By{At: w.now}},
		utxo.LeasesReleased{Wallet: id, Lock: lockID("k"), By: utxo.By{At: w.now}},
	))
}

package utxotest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/utxo"
)

// Histories draws histories of up to the given number of steps, see [NewHistory]. rapid
// draws only a seed. Every choice inside a history is therefore uniform, and
// [History.Shorten] can reduce a failure further than rapid's shrinking of choices, since
// any part of a history is a history.
func Histories(steps int) *rapid.Generator[History] {
	return rapid.Map(rapid.SliceOfN(rapid.Byte(), 8, 8), func(seed []byte) History {
		return NewHistory(binary.BigEndian.Uint64(seed), steps)
	})
}

// NewHistory returns the history of this seed in a small universe: up to three wallets of
// one store that pay one another, a handful of owners and foreign coins, chains that fork,
// leases on a moving clock, and a host that lies now and then. Transactions conflict, form
// chains, replace each other and arrive late or twice. steps bounds the number of things
// that happen; a reorg is one thing and several events.
func NewHistory(seed uint64, steps int) History {
	w := newWorld(rand.New(rand.NewPCG(seed, 0)))
	for range w.number(1, steps) {
		w.step()
	}
	*w.history.late = false
	return w.history
}

// world is the universe of one history while the history is made. Its model knows what is
// true so far, so that most generated events make sense.
type world struct {
	random  *rand.Rand
	history History
	model   *Model
	base    int32            // height of the first block
	txs     []*wire.MsgTx    // all that exist, delivered or not, no coinbases
	minted  []*wire.MsgTx    // all coinbases
	blocks  []utxo.Connected // all blocks, whole
	now     time.Time
	seq     int64
	salt    uint32
}

func newWorld(random *rand.Rand) *world {
	w := &world{random: random, history: newHistory(), now: Start}
	w.model = NewModel(w.history.Policy)
	w.base = pick[int32](w, 0, 1, 1, 7, 100, 91839)
	if w.odds(9, 10) {
		w.open(1)
		if w.odds(3, 4) {
			w.open(2)
			if w.odds(1, 2) {
				w.open(3)
			}
		}
	}
	return w
}

// emit adds an event to the history.
func (w *world) emit(ev utxo.Event) error {
	w.history.Events = append(w.history.Events, ev)
	err := w.model.Apply(ev)
	w.history.follow(ev)
	return err
}

// step lets one thing happen.
func (w *world) step() {
	w.now = w.now.Add(pick(w, 0, time.Microsecond, 10*time.Second, 10*time.Second, 30*time.Second, 10*time.Minute))
	things := []struct {
		weight int
		do     func()
	}{
		{6, func() { w.observe(w.newTx()) }},
		{9, func() { w.observe(w.oldTx()) }},
		{5, w.mempool},
		{7, func() { w.submit(w.newTx()) }},
		{3, func() { w.submit(w.unsigned()) }},
		{1, func() { w.observe(w.stranger()) }},
		{3, func() { w.submit(w.oldTx()) }},
		{5, w.replace},
		{7, w.broadcast},
		{9, func() { w.connect() }},
		{5, w.reorg},
		{1, w.disconnect},
		{3, w.applyAgain},
		{2, w.fill},
		{3, w.invalidate},
		{3, w.reveal},
		{2, w.announce},
		{1, w.label},
		{6, w.lease},
		{2, w.renew},
		{2, w.release},
		{5, w.nonsense},
		{3, w.repeat},
	}
	if w.model.wallet(1) == nil || w.model.wallet(2) == nil {
		things[0].weight, things[0].do = 6, func() { w.open(utxo.WalletID(w.number(1, 2))) }
	}
	total := 0
	for _, thing := range things {
		total += thing.weight
	}
	n := w.number(0, total-1)
	for _, thing := range things {
		if n -= thing.weight; n < 0 {
			thing.do()
			return
		}
	}
}

// number is between low and high, both included.
func (w *world) number(low, high int) int { return low + w.random.IntN(high-low+1) }

// odds is true in n of m cases.
func (w *world) odds(n, m int) bool { return w.number(1, m) <= n }

func pick[T any](w *world, from ...T) T { return from[w.number(0, len(from)-1)] }

func (w *world) tip() (chainhash.Hash, int32) {
	if tip := w.model.tip(); tip != nil {
		return tip.Hash, tip.Height
	}
	return chainhash.Hash{}, -1
}

// walletID is almost always an open one.
func (w *world) walletID() utxo.WalletID {
	if ids := w.model.walletIDs(); len(ids) > 0 && w.odds(39, 40) {
		return pick(w, ids...)
	}
	return utxo.WalletID(w.number(0, 4))
}

// stored picks a stored transaction that satisfies want, else any id.
func (w *world) stored(want func(*row) bool) utxo.TxID {
	rows := slices.DeleteFunc(slices.Clone(w.model.rows), func(r *row) bool { return !want(r) })
	if len(rows) > 0 && w.odds(14, 15) {
		r := pick(w, rows...)
		return utxo.TxID{Wallet: r.wallet, Hash: r.hash}
	}
	return utxo.TxID{Wallet: w.walletID(), Hash: w.oldTx().TxHash()}
}

func (w *world) open(id utxo.WalletID) {
	birth := max(0, w.base+pick[int32](w, -2, 0, 0, 0, 2))
	w.emit(utxo.WalletOpened{Wallet: id, Birth: birth, By: utxo.By{At: w.now}})
}

func (w *world) observe(tx *wire.MsgTx) {
	tip, _ := w.tip()
	if w.odds(1, 15) {
		tip = chainhash.Hash{}
		if len(w.blocks) > 0 && w.odds(2, 3) {
			tip = pick(w, w.blocks...).Block.Hash
		}
	}
	seq := w.seq + 1
	if w.seq > 0 && w.odds(1, 5) {
		seq = int64(w.number(1, int(w.seq)))
	}
	w.seq = max(w.seq, seq)
	if w.model.seq > w.seq && w.odds(2, 3) { // numbers were drawn meanwhile
		w.seq = w.model.seq + 1
		seq = w.seq
	}
	w.emit(utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: seq, Tip: tip, By: utxo.By{At: w.now}})
}

// mempool sends a list of known and new transactions, mostly without conflicts, in any
// order.
func (w *world) mempool() {
	var list []*wire.MsgTx
	for range w.number(1, 5) {
		tx := w.oldTx()
		if w.odds(1, 4) {
			tx = w.newTx()
		}
		conflict := slices.ContainsFunc(list, func(other *wire.MsgTx) bool { return sharesInput(tx, other) })
		if !conflict || w.odds(1, 4) {
			list = append(list, tx)
		}
	}
	tip, _ := w.tip()
	seq := int64(0)
	if w.odds(1, 3) {
		w.seq = max(w.seq, w.model.seq)
		if w.seq == 0 || w.odds(2, 3) { // otherwise it is a part of the last reading
			w.seq++
		}
		seq = w.seq
	}
	w.emit(utxo.Observed{Txs: list, Seq: seq, Tip: tip, By: utxo.By{At: w.now}})
}

func (w *world) submit(tx *wire.MsgTx) {
	w.emit(utxo.Submitted{Wallet: w.walletID(), Tx: tx, Lock: w.lock(), By: utxo.By{At: w.now}})
}

// replace submits a transaction that shares an input with a live unconfirmed one and names
// it in Replaces.
func (w *world) replace() {
	id := w.stored(func(r *row) bool { return r.live() && !r.confirmed() })
	old := w.model.row(id.Wallet, id.Hash)
	if old == nil {
		return
	}
	tx := w.build(pick(w, old.tx.TxIn...).PreviousOutPoint)
	ev := utxo.Submitted{Wallet: id.Wallet, Tx: tx, Lock: w.lock(), By: utxo.By{At: w.now}}
	for _, r := range w.model.rows {
		if r.wallet == id.Wallet && r.live() && sharesInput(r.tx, tx) && w.odds(19, 20) {
			ev.Replaces = append(ev.Replaces, r.hash)
		}
	}
	if w.odds(1, 20) {
		ev.Replaces = append(ev.Replaces, w.oldTx().TxHash())
	}
	w.emit(ev)
}

func (w *world) broadcast() {
	id := w.stored(func(r *row) bool { return r.status == utxo.Pending })
	if w.odds(1, 15) {
		id = w.stored(func(*row) bool { return true })
	}
	w.emit(utxo.Broadcasted{ID: id, By: utxo.By{At: w.now}})
}

func (w *world) invalidate() {
	id := w.stored(func(r *row) bool { return r.live() && !r.confirmed() })
	if w.odds(1, 5) {
		id = w.stored(func(*row) bool { return true })
	}
	w.emit(utxo.Invalidated{ID: id, Reason: "given up", By: utxo.By{At: w.now}})
}

func (w *world) reveal() {
	id := w.stored(func(r *row) bool { return r.wallet == 1 || w.odds(1, 3) })
	tx := w.oldTx()
	if r := w.model.row(id.Wallet, id.Hash); r != nil {
		tx = r.tx
	}
	ev := utxo.OutputRevealed{ID: id, Index: uint32(w.number(0, len(tx.TxOut)-1)), By: utxo.By{At: w.now}}
	ev.Tag = pick(w, "late", "main", "other")
	for i, out := range tx.TxOut {
		if string(out.PkScript) == string(LateScript) && w.odds(3, 4) {
			ev.Index, ev.Tag = uint32(i), "late"
		}
	}
	_, height := w.tip()
	ev.Birth = max(0, height+int32(w.number(-4, 2)))
	w.emit(ev)
}

func (w *world) announce() {
	_, height := w.tip()
	ev := utxo.OwnersAnnounced{Wallet: w.walletID(), Birth: max(0, height+int32(w.number(-5, 2))), By: utxo.By{At: w.now}}
	for range w.number(1, 3) {
		ev.Tags = append(ev.Tags, pick(w, "late", "late", "main", "side", "other"))
	}
	w.emit(ev)
}

func (w *world) label() {
	label := pick(w, "", "rent", "Füße 🦶")
	w.emit(utxo.Labelled{ID: w.stored(func(*row) bool { return true }), Label: label, By: utxo.By{At: w.now}})
}

// repeat sends an event again as it was.
func (w *world) repeat() {
	if len(w.history.Events) > 0 {
		w.emit(pick(w, w.history.Events...))
	}
}

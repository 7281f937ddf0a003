package utxotest

import (
	"slices"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// connect extends the best chain by a block that existed before, if one fits, or by a new
// block. It reports whether the block was accepted.
func (w *world) connect() bool {
	prev, height := w.tip()
	if height < 0 {
		height = w.base - 1
		if height >= 0 {
			prev = NewBlock(height, prev, 0).Hash
		}
	}
	var known []utxo.Connected
	for _, b := range w.blocks {
		if b.Block.Prev == prev && b.Block.Height == height+1 {
			known = append(known, b)
		}
	}
	if len(known) > 0 && w.odds(1, 2) {
		ev := pick(w, known...)
		ev.At = w.now
		return w.emit(ev) == nil
	}
	w.salt++
	return w.deliver(NewBlock(height+1, prev, w.salt))
}

// deliver fills a block and sends it, whole or filtered.
func (w *world) deliver(b utxo.Block) bool {
	ev := utxo.Connected{Block: b, Txs: []*wire.MsgTx{w.coinbase(b.Height)}, By: utxo.By{At: w.now}}
	if _, tip := w.tip(); b.Height > 0 {
		ev.Txs = append(ev.Txs, w.blockTxs()...)
		if b.Height < tip { // nothing that stands on what was mined later
			ev.Txs = slices.DeleteFunc(ev.Txs, w.stands)
		}
	}
	// An honest block is one that the model accepts; transactions are removed from the end
	// until it does.
	if !w.odds(1, 15) {
		for len(ev.Txs) > 1 && w.model.clone().do(ev) != nil {
			ev.Txs = ev.Txs[:len(ev.Txs)-1]
		}
	}
	sent := ev
	if w.odds(1, 6) {
		sent.Txs, sent.Positions = nil, []int32{}
		for i, tx := range ev.Txs {
			if w.odds(2, 3) {
				sent.Txs = append(sent.Txs, tx)
				sent.Positions = append(sent.Positions, int32(i))
			}
		}
	}
	if err := w.emit(sent); err != nil {
		return false
	}
	w.blocks = append(w.blocks, ev)
	return true
}

// coinbase is new, or one of a block that left the chain.
func (w *world) coinbase(height int32) *wire.MsgTx {
	one, of := 1, 5
	if height == 91842 || height == 91880 {
		one, of = 2, 3
	}
	if len(w.minted) > 0 && height > 0 && w.odds(one, of) {
		var orphaned []*wire.MsgTx
		for _, tx := range w.minted {
			if slices.ContainsFunc(w.model.rows, func(r *row) bool { return r.hash == tx.TxHash() && !r.confirmed() }) {
				orphaned = append(orphaned, tx)
			}
		}
		if len(orphaned) > 0 && w.odds(7, 8) {
			return pick(w, orphaned...)
		}
		if height == 91842 || height == 91880 || w.odds(1, 5) {
			return pick(w, w.minted...)
		}
	}
	w.salt++
	tx := NewCoinbase(w.salt, w.outputs(deposit)...)
	w.minted = append(w.minted, tx)
	return tx
}

// blockTxs picks up to four transactions that are in no block, often with their
// unconfirmed parents, in any order.
func (w *world) blockTxs() []*wire.MsgTx {
	var txs []*wire.MsgTx
	add := func(tx *wire.MsgTx) {
		same := func(other *wire.MsgTx) bool { return other == tx || sharesInput(other, tx) }
		if !slices.ContainsFunc(txs, same) {
			txs = append(txs, tx)
		}
	}
	for range w.number(0, 4) {
		tx := w.candidate()
		if w.odds(2, 3) {
			for _, p := range w.txs {
				if isChild(tx, p.TxHash()) && !w.mined(p) {
					add(p)
				}
			}
		}
		add(tx)
	}
	if len(txs) > 1 && w.odds(1, 2) {
		at := w.number(0, len(txs)-1)
		txs = append(slices.Clone(txs[at:]), txs[:at]...)
	}
	return txs
}

// candidate is a transaction for a block: a live one, any known one, a new one.
func (w *world) candidate() *wire.MsgTx {
	if w.odds(1, 4) {
		return w.newTx()
	}
	var waiting []*wire.MsgTx
	for _, r := range w.model.rows {
		if !r.coinbase && !r.confirmed() && (r.live() || w.odds(1, 4)) {
			waiting = append(waiting, r.tx)
		}
	}
	if len(waiting) > 0 && w.odds(2, 3) {
		return pick(w, waiting...)
	}
	tx := w.oldTx()
	for range 3 {
		if !w.mined(tx) {
			break
		}
		tx = w.oldTx()
	}
	return tx
}

func (w *world) mined(tx *wire.MsgTx) bool {
	hash := tx.TxHash()
	return slices.ContainsFunc(w.model.rows, func(r *row) bool { return r.hash == hash && r.confirmed() })
}

// stands reports whether a transaction spends an output of a known one.
func (w *world) stands(tx *wire.MsgTx) bool {
	known := func(p *wire.MsgTx) bool { return isChild(tx, p.TxHash()) }
	return slices.ContainsFunc(w.txs, known) || slices.ContainsFunc(w.minted, known)
}

// disconnect takes the tip away, or tries to with another block.
func (w *world) disconnect() {
	hash, height := w.tip()
	if len(w.blocks) > 0 && w.odds(1, 3) {
		hash = pick(w, w.blocks...).Block.Hash
	}
	if height >= 0 {
		w.emit(utxo.Disconnected{Hash: hash, By: utxo.By{At: w.now}})
	}
}

// reorg takes blocks away and puts others, or the same, in their place.
func (w *world) reorg() {
	depth := w.number(1, 4)
	for range depth {
		hash, height := w.tip()
		if height < 0 {
			break
		}
		w.emit(utxo.Disconnected{Hash: hash, By: utxo.By{At: w.now}})
	}
	for range max(0, depth+w.number(-1, 1)) {
		if !w.connect() {
			return
		}
	}
}

// applyAgain sends a whole block of the best chain once more.
func (w *world) applyAgain() {
	var known []utxo.Connected
	for _, b := range w.blocks {
		if stored := w.model.block(b.Block.Height); stored != nil && stored.Hash == b.Block.Hash {
			known = append(known, b)
		}
	}
	for range w.number(1, 3) {
		if len(known) > 0 {
			ev := pick(w, known...)
			ev.At = w.now
			w.emit(ev)
		}
	}
}

// fill sends a block below the tip that is not on the chain yet, below the base or in a
// hole. Most of the time the block fits.
func (w *world) fill() {
	_, tip := w.tip()
	if tip < 0 {
		return
	}
	lowest := tip
	for _, b := range w.model.blocks {
		lowest = min(lowest, b.Height)
	}
	height := max(0, lowest-int32(w.number(1, 3)))
	if w.odds(1, 4) {
		height = int32(w.number(int(height), int(tip)+2))
	}
	if w.model.block(height) != nil {
		return // it is on the chain
	}
	w.salt++
	b := NewBlock(height, NewBlock(height, [32]byte{}, w.salt).Hash, w.salt)
	if w.odds(1, 6) {
		w.deliver(b)
		return
	}
	if below := w.model.block(height - 1); below != nil {
		b.Prev = below.Hash
	}
	if above := w.model.block(height + 1); above != nil {
		b.Hash = above.Prev
	}
	w.deliver(b)
}

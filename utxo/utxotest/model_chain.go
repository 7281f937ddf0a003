package utxotest

import (
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// tip returns the highest block, or nil.
func (m *Model) tip() *utxo.Block {
	var tip *utxo.Block
	for i := range m.blocks {
		if tip == nil || m.blocks[i].Height > tip.Height {
			tip = &m.blocks[i]
		}
	}
	return tip
}

// tipHeight is the height of the tip, -1 for an empty chain.
func (m *Model) tipHeight() int32 {
	if tip := m.tip(); tip != nil {
		return tip.Height
	}
	return -1
}

func (m *Model) block(height int32) *utxo.Block {
	for i := range m.blocks {
		if m.blocks[i].Height == height {
			return &m.blocks[i]
		}
	}
	return nil
}

// observed handles a list of a mempool. A transaction that is refused does not stop the
// others.
func (m *Model) observed(ev utxo.Observed) error {
	if ev.Seq < 0 || ev.Seq > utxo.MaxSeq {
		return fmt.Errorf("%w: a sequence has bounds", statemachine.ErrInvalid)
	}
	var best chainhash.Hash
	if tip := m.tip(); tip != nil {
		best = tip.Hash
	}
	if ev.Tip != best {
		return fmt.Errorf("%w: it was seen at another tip", utxo.ErrStale)
	}
	seq := ev.Seq
	if seq == 0 {
		seq = m.seq + 1
	}
	m.refused = map[int]error{}
	var out []chainhash.Hash // what was refused
	var good []*wire.MsgTx
	var places []int
	for i, tx := range ev.Txs {
		err := wellFormed(tx)
		if err == nil && isCoinbase(tx) {
			err = fmt.Errorf("%w: no coinbase is in a mempool", statemachine.ErrInvalid)
		}
		if err == nil {
			err = m.checkOwners(tx)
		}
		if err != nil {
			m.refused[i] = err
			if tx != nil {
				out = append(out, tx.TxHash())
			}
		} else if !slices.ContainsFunc(good, func(other *wire.MsgTx) bool { return other.TxHash() == tx.TxHash() }) {
			good, places = append(good, tx), append(places, i)
		}
	}
	steps := m.steps()
	var listed []*fact
	for _, i := range parentsFirst(good) {
		f := m.fact(good[i], ev.At)
		if f.status != 0 && seq <= f.seq {
			if f.status == utxo.Published {
				listed = append(listed, f)
				for _, r := range m.rowsOf(f) {
					if !f.confirmed() && good[i].HasWitness() && lacking(r.bytes) > 0 && !sameBytes(r.bytes, good[i]) {
						r.bytes = good[i].Copy()
						m.moveRow(r, onObserved, r.status)
					}
				}
			}
			continue
		}
		if slices.ContainsFunc(out, func(h chainhash.Hash) bool { return isChild(f.tx, h) }) {
			m.refused[places[i]] = fmt.Errorf("%w: it was refused", utxo.ErrDeadParent)
			out = append(out, f.hash)
			continue
		}
		if slices.ContainsFunc(listed, f.rivalOf) {
			m.refused[places[i]] = fmt.Errorf("%w: by another of the list", utxo.ErrInputSpent)
			out = append(out, f.hash)
			continue
		}
		switch {
		case f.status == utxo.Published && ev.Seq > 0:
			m.move(f, onObserved, utxo.Published)
			f.seq = seq
			if !f.confirmed() {
				m.prove(f, good[i], 0)
			}
		case f.status == utxo.Published && !f.confirmed():
			m.prove(f, good[i], onObserved)
		case f.status != utxo.Published:
			if err := m.place(f, evidence{trigger: onObserved, seq: seq, listed: listed}); err != nil {
				m.refused[places[i]] = err
				out = append(out, f.hash)
				continue
			}
			m.prove(f, good[i], 0)
		}
		m.show1(f)
		listed = append(listed, f)
	}
	m.settle()
	if m.steps() > steps {
		m.seq = max(m.seq, seq)
	}
	return nil
}

// steps counts all steps of all transactions so far.
func (m *Model) steps() int {
	sum := 0
	for _, n := range m.used {
		sum += n
	}
	return sum
}

// ownedIn returns the indexes of the outputs that the policy gives to the wallet and that
// no other wallet has. No output of block 0 is owned.
func (m *Model) ownedIn(w utxo.WalletID, height int32, tx *wire.MsgTx) []uint32 {
	var owned []uint32
	if height == 0 {
		return nil
	}
	for i, out := range tx.TxOut {
		taken := slices.ContainsFunc(m.rows, func(r *row) bool {
			_, has := r.tags[uint32(i)]
			return has && r.wallet != w && r.hash == tx.TxHash()
		})
		if owner, ok := m.owner(out.PkScript); ok && owner.Wallet == w && !taken {
			owned = append(owned, uint32(i))
		}
	}
	return owned
}

// connected: a block joins the best chain, or is applied again.
func (m *Model) connected(ev utxo.Connected) error {
	height := ev.Block.Height
	if height < 0 || ev.Block.Hash == none || ev.Positions != nil && len(ev.Positions) != len(ev.Txs) {
		return fmt.Errorf("%w: a block has a height, a hash, and a position for every transaction", statemachine.ErrInvalid)
	}
	if err := m.fits(ev.Block); err != nil {
		return err
	}
	positions := ev.Positions
	if positions == nil {
		for i := range ev.Txs {
			positions = append(positions, int32(i))
		}
	}
	if err := checkBlock(ev.Txs, positions); err != nil {
		return fmt.Errorf("block %d: %w", height, err)
	}
	if err := m.checkOwners(ev.Txs...); err != nil {
		return err
	}
	if m.block(height) == nil {
		b := ev.Block
		b.Time = micros(b.Time)
		m.blocks = append(m.blocks, b)
	}
	for _, i := range parentsFirst(ev.Txs) {
		f, on := m.show(ev.Txs[i], ev.At), utxo.Trigger(0)
		if f.height == height { // it was there: nothing else of it moves
			on = onConfirmed
		}
		if err := m.confirm(f, height, positions[i]); err != nil {
			return err
		}
		if f.height == height {
			m.prove(f, ev.Txs[i], on)
		}
	}
	m.scanned(height)
	return nil
}

// checkBlock refuses transactions that cannot be in one block.
func checkBlock(txs []*wire.MsgTx, positions []int32) error {
	for i, tx := range txs {
		if err := wellFormed(tx); err != nil {
			return err
		}
		if positions[i] < 0 || i > 0 && positions[i] <= positions[i-1] {
			return fmt.Errorf("%w: the positions do not grow", statemachine.ErrInvalid)
		}
		if isCoinbase(tx) && positions[i] != 0 {
			return fmt.Errorf("%w: a coinbase is not the first transaction", statemachine.ErrInvalid)
		}
		for _, other := range txs[:i] {
			if tx.TxHash() == other.TxHash() || sharesInput(tx, other) {
				return fmt.Errorf("%w: a transaction is there twice, or two spend the same outpoint", statemachine.ErrInvalid)
			}
		}
	}
	return nil
}

// fits checks that a block is on the best chain, or is next on it, or fills a hole below
// the tip without contradicting its neighbours.
func (m *Model) fits(b utxo.Block) error {
	mismatch := func(why string) error {
		return fmt.Errorf("%w: block %d: %s", utxo.ErrChainMismatch, b.Height, why)
	}
	for _, other := range m.blocks {
		if other.Hash == b.Hash && (other.Height != b.Height || other.Prev != b.Prev) {
			return mismatch("it is on the chain at another height, or on another block")
		}
	}
	tip := m.tip()
	if tip == nil {
		return nil
	}
	if known := m.block(b.Height); known != nil {
		if known.Hash != b.Hash {
			return mismatch("another block has this height")
		}
		return nil
	}
	if b.Height > tip.Height+1 {
		return mismatch("it leaves a hole above the tip")
	}
	if below := m.block(b.Height - 1); below != nil && below.Hash != b.Prev {
		return mismatch("its parent is not the block below")
	}
	if above := m.block(b.Height + 1); above != nil && above.Prev != b.Hash {
		return mismatch("it is not the parent of the block above")
	}
	return nil
}

// parentsFirst returns the indexes of txs in the given order, except that the
// parents of a transaction come right before it.
func parentsFirst(txs []*wire.MsgTx) []int {
	var order []int
	var add func(int)
	add = func(i int) {
		if slices.Contains(order, i) {
			return
		}
		for j, other := range txs {
			if isChild(txs[i], other.TxHash()) {
				add(j)
			}
		}
		order = append(order, i)
	}
	for i := range txs {
		add(i)
	}
	return order
}

// reanchors reports the two coinbases of early Bitcoin whose hash occurs twice: at the
// second height the transaction moves to the later block.
func reanchors(r *fact, height int32) bool {
	return r.coinbase && (height == 91842 || height == 91880)
}

// confirm places one transaction at the height of its block.
func (m *Model) confirm(f *fact, height, position int32) error {
	if f.confirmed() && f.height != height {
		if reanchors(f, f.height) && height < f.height {
			m.shown = slices.DeleteFunc(m.shown, func(x *fact) bool { return x == f })
			return nil // its first block is applied again
		}
		if !reanchors(f, height) {
			return fmt.Errorf("%w: %s is at height %d", utxo.ErrConfirmedElsewhere, f.hash, f.height)
		}
	}
	if f.confirmed() && f.height == height {
		return nil
	}
	if err := m.inOrder(f, height); err != nil {
		return err
	}
	trigger := onConfirmed
	if f.status == utxo.Orphaned {
		trigger = onReconfirmed
	}
	return m.place(f, evidence{trigger: trigger, block: true, height: height, position: position})
}

// scanned advances every wallet that waited for exactly this height, and every late owner
// on its own; an owner that has caught up is not behind any more.
func (m *Model) scanned(height int32) {
	for i := range m.wallets {
		w := &m.wallets[i]
		if w.ScannedTo+1 == height {
			w.ScannedTo = height
		}
		for j := range w.Behind {
			if w.Behind[j].ScannedTo+1 == height {
				w.Behind[j].ScannedTo = height
			}
		}
		dropCaughtUp(w, m.tipHeight())
	}
}

// disconnected: the tip leaves the best chain.
func (m *Model) disconnected(ev utxo.Disconnected) error {
	at := slices.IndexFunc(m.blocks, func(b utxo.Block) bool { return b.Hash == ev.Hash })
	if at < 0 {
		return nil
	}
	height := m.blocks[at].Height
	if height != m.tipHeight() {
		return fmt.Errorf("%w: block %d is not the tip", utxo.ErrChainMismatch, height)
	}
	m.blocks = slices.Delete(m.blocks, at, at+1)
	var orphans []*fact
	for _, r := range m.facts {
		if r.height != height {
			continue
		}
		r.height, r.position = utxo.Unconfirmed, 0
		if r.coinbase {
			m.move(r, onOrphaned, utxo.Orphaned)
			orphans = append(orphans, r)
		} else {
			m.move(r, onDisconnect, r.status)
		}
	}
	for _, r := range m.withDescendants(orphans)[len(orphans):] {
		m.move(r, onParentDied, utxo.Failed)
	}
	for i := range m.wallets {
		w := &m.wallets[i]
		if w.ScannedTo >= height {
			w.ScannedTo = max(height-1, w.Birth-1)
		}
		for j := range w.Behind {
			w.Behind[j].ScannedTo = min(w.Behind[j].ScannedTo, height-1)
		}
		to := w.ScannedTo
		if m.block(height-1) != nil {
			to = height - 1
		}
		dropCaughtUp(w, to)
	}
	return nil
}

func dropCaughtUp(w *utxo.Wallet, tip int32) {
	w.Behind = slices.DeleteFunc(w.Behind, func(o utxo.OwnerScan) bool { return o.ScannedTo >= min(w.ScannedTo, tip) })
}

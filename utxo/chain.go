package utxo

import (
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// connect joins a block to the best chain, or applies one of the chain again.
func (pl *plan) connect(ev Connected) error {
	b := ev.Block
	var err error
	if !b.Time.IsZero() { // a host may not know it
		if b.Time, err = statemachine.Time(b.Time); err != nil {
			return err
		}
	}
	if b.Height < 0 || b.Hash == none || ev.Positions != nil && len(ev.Positions) != len(ev.Txs) {
		return invalid("a block needs a height from 0, a hash, and a position for each transaction or none")
	}
	tip, _, err := pl.tip()
	if err != nil {
		return err
	}
	fresh, err := pl.fits(b, tip)
	if err != nil {
		return err
	}
	txs, at, order, err := pl.blockTxs(ev)
	if err != nil {
		return err
	}
	scope, wallets, err := pl.scope(txs)
	if err != nil {
		return err
	}
	if fresh {
		pl.set.Connect = &b
	}
	for _, w := range wallets {
		pl.changeWallet(w, w.scanned(b.Height))
	}
	if len(txs) == 0 {
		return nil
	}
	if err := pl.loadAround(0, txs, at); err != nil {
		return err
	}
	credits := b.Height > 0 // the outputs of block 0 cannot be spent
	keep := pl.kept(txs, at, order, scope, credits)
	records := 0 // few: most of a block concerns no wallet
	for _, ws := range keep {
		records += len(ws)
	}
	pl.expect(records)
	pl.room(2 * records) // and what they spend
	for _, i := range order {
		position := int32(i)
		if ev.Positions != nil {
			position = ev.Positions[i]
		}
		for _, w := range keep[i] {
			if n := pl.get(TxID{w, txs[i].hash}); n != nil && n.tx.Coinbase && reanchors(n.tx.Height) && b.Height < n.tx.Height {
				continue // the earlier block of a duplicated coinbase, applied again
			}
			n, err := pl.node(&txs[i], w, credits)
			if err != nil {
				return err
			}
			if err := pl.confirm(n, b.Height, position); err != nil {
				return err
			}
		}
	}
	return nil
}

// kept returns the wallets that keep a record of each transaction of a block.
// Inside the block a child is relevant for what it spends, and a parent for the
// children that are kept, so the order inside the block does not matter and the
// same block again finds nothing new.
func (pl *plan) kept(txs []seen, at map[chainhash.Hash]int, order []int, scope map[WalletID]bool, credits bool) [][]WalletID {
	keep := make([][]WalletID, len(txs))
	for _, i := range order {
		keep[i] = pl.relevant(&txs[i], scope, credits)
		for _, op := range txs[i].inputs {
			if p, ok := at[op.Hash]; ok && credits {
				for _, o := range txs[p].owners {
					if o.index == op.Index {
						keep[i] = join(keep[i], o.Wallet)
					}
				}
			}
		}
	}
	for _, i := range slices.Backward(order) {
		for _, op := range txs[i].inputs {
			if p, ok := at[op.Hash]; ok {
				keep[p] = join(keep[p], keep[i]...)
			}
		}
	}
	return keep
}

// join adds ids to an ascending list that has each once.
func join(ws []WalletID, more ...WalletID) []WalletID {
	for _, w := range more {
		if at, found := slices.BinarySearch(ws, w); !found {
			ws = slices.Insert(ws, at, w)
		}
	}
	return ws
}

// confirm places a transaction in a block.
func (pl *plan) confirm(n *node, height, position int32) error {
	on := OnConfirmed
	switch {
	case n.tx.Height == height:
		return nil
	case n.tx.Confirmed() && !(n.tx.Coinbase && reanchors(height)):
		return pl.refuse(n, ErrConfirmedElsewhere, fmt.Sprintf("at height %d, now seen at %d", n.tx.Height, height))
	case n.tx.Status == Orphaned:
		on = OnReconfirmed
	}
	if err := pl.inOrder(n, height); err != nil {
		return err
	}
	return pl.place(n, evidence{on: on, height: height, position: position})
}

// reanchors reports the two heights of the main chain whose coinbase repeats
// the hash of an earlier one (the exceptions of BIP 30).
func reanchors(height int32) bool { return height == 91842 || height == 91880 }

// inOrder refuses what no chain can hold, a transaction confirmed below one that
// it descends from: a rollback would orphan what stays confirmed. It looks
// through unconfirmed ancestors; through unconfirmed descendants only where they
// can be in the way, from a coinbase or a transaction that arrives after its
// child, so that confirming a long chain costs nothing extra.
func (pl *plan) inOrder(n *node, height int32) error {
	low, high := height, height // of what n stands on, and of what stands on n
	pl.mark++
	var below []*node
	for _, s := range n.at.kids {
		if s.by.tx.ID.Wallet == n.tx.ID.Wallet && s.by.tx.Live() && s.by.lost != pl.mark {
			s.by.lost = pl.mark
			below = append(below, s.by)
		}
	}
	if high == Unconfirmed && len(below) == 0 {
		return nil
	}
	above, err := pl.withUnconfirmedAncestors(n)
	if err != nil {
		return err
	}
	for _, a := range above {
		for i := range a.from {
			if p := a.parent(i); p != nil {
				low = max(low, p.tx.Height)
			}
		}
	}
	if low == Unconfirmed {
		return nil
	}
	if len(below) > 0 && (n.tx.Coinbase || n.old == nil) {
		if below, err = pl.withDescendants(below); err != nil {
			return err
		}
	}
	for _, d := range below {
		if d.tx.Confirmed() && (high == Unconfirmed || d.tx.Height < high) {
			high = d.tx.Height
		}
	}
	if high == Unconfirmed {
		return nil
	}
	if high < low {
		return invalid("transaction %s would make height %d descend from height %d", n.tx.ID, high, low)
	}
	return nil
}

// fits reports whether b is new to the chain; an error if it does not fit.
func (pl *plan) fits(b Block, tip int32) (fresh bool, err error) {
	near, err := pl.r.Blocks(max(b.Height-1, 0), b.Height+1)
	if err != nil {
		return false, err
	}
	mismatch := func(why string) error {
		return fmt.Errorf("block %d %s: %w: %s", b.Height, b.Hash, ErrChainMismatch, why)
	}
	for _, n := range near {
		switch {
		case n.Height == b.Height && n.Hash == b.Hash:
			return false, nil
		case n.Height == b.Height:
			return false, mismatch("the chain has " + n.Hash.String())
		case n.Height < b.Height && n.Hash != b.Prev:
			return false, mismatch("the block before it is " + n.Hash.String())
		case n.Height > b.Height && n.Prev != b.Hash:
			return false, mismatch("the block after it names another one")
		}
	}
	if tip >= 0 && b.Height > tip+1 {
		return false, mismatch(fmt.Sprintf("the tip is at %d", tip))
	}
	return true, nil
}

// blockTxs inspects the transactions of a block, says where each is, and orders
// them, parents first.
func (pl *plan) blockTxs(ev Connected) (txs []seen, at map[chainhash.Hash]int, order []int, err error) {
	txs = make([]seen, len(ev.Txs))
	at = make(map[chainhash.Hash]int, len(ev.Txs))
	spent := make(map[wire.OutPoint]bool, len(ev.Txs))
	for i, msg := range ev.Txs {
		s, err := pl.inspect(msg)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("block %d, transaction %d: %w", ev.Block.Height, i, err)
		}
		if _, twice := at[s.hash]; twice {
			return nil, nil, nil, invalid("block %d has %s twice", ev.Block.Height, s.hash)
		}
		first := i == 0 && (ev.Positions == nil || ev.Positions[0] == 0)
		if s.coinbase && !first || ev.Positions != nil && (ev.Positions[i] < 0 || i > 0 && ev.Positions[i] <= ev.Positions[i-1]) {
			return nil, nil, nil, invalid("block %d: transaction %s is out of place", ev.Block.Height, s.hash)
		}
		for _, op := range s.inputs {
			if spent[op] {
				return nil, nil, nil, invalid("block %d spends %s twice", ev.Block.Height, op)
			}
			spent[op] = true
		}
		at[s.hash], txs[i] = i, s
	}
	order = topological(len(txs), func(i int, add func(int)) {
		for _, op := range txs[i].inputs {
			if p, ok := at[op.Hash]; ok {
				add(p)
			}
		}
	})
	return txs, at, order, nil
}

// disconnect takes the tip off the best chain. Its transactions lose the
// height; its coinbase is orphaned, and what descends from that fails.
func (pl *plan) disconnect(ev Disconnected) error {
	tip, ok, err := pl.r.Tip()
	if err != nil {
		return err
	}
	if !ok || tip.Hash != ev.Hash {
		b, known, err := pl.r.Block(ev.Hash)
		if err != nil || !known {
			return err
		}
		return fmt.Errorf("block %d %s: %w: disconnect the tip at %d first", b.Height, b.Hash, ErrChainMismatch, tip.Height)
	}
	wallets, err := pl.r.Wallets()
	if err != nil {
		return err
	}
	pl.set.Disconnect = &tip
	for _, w := range wallets {
		pl.changeWallet(w, w.rolledBack(tip.Height))
	}
	txs, err := pl.r.ConfirmedAt(tip.Height)
	if err := pl.load(txs, err); err != nil {
		return err
	}
	pl.expect(len(txs))
	var orphans []*node
	for _, t := range txs {
		n := pl.get(t.ID)
		on := OnDisconnect
		if t.Coinbase {
			on = OnOrphaned
			orphans = append(orphans, n)
		}
		if err := pl.step(n, on, "", func(t *Tx) { t.Height, t.Position = Unconfirmed, 0 }); err != nil {
			return err
		}
	}
	if len(orphans) == 0 {
		return nil
	}
	return pl.orphan(orphans)
}

// orphan fails the live descendants of coinbases that left the chain.
func (pl *plan) orphan(coinbases []*node) error {
	// The store ends its walk at what was confirmed in the same block, so the
	// walk starts from those that are reachable here.
	from, err := pl.withDescendants(coinbases)
	if err != nil || len(from) == len(coinbases) {
		return err
	}
	losers, err := pl.withDescendants(from)
	if err != nil {
		return err
	}
	for _, l := range losers {
		if l.tx.Confirmed() {
			return pl.refuse(l, statemachine.ErrCorrupt, "it is confirmed below the coinbase that it spends")
		}
	}
	return pl.kill(losers[len(coinbases):], func(*node) (Trigger, string) { return OnParentDied, "" })
}

func (pl *plan) changeWallet(old, updated Wallet) {
	if old.ScannedTo != updated.ScannedTo || !slices.Equal(old.Behind, updated.Behind) {
		pl.set.Wallets = append(pl.set.Wallets, WalletChange{old, updated})
	}
}

// scanned returns w after the block at height was matched against it.
func (w Wallet) scanned(height int32) Wallet {
	if w.ScannedTo+1 == height {
		w.ScannedTo = height
	}
	var behind []OwnerScan
	for _, o := range w.Behind {
		if o.ScannedTo+1 == height {
			o.ScannedTo = height
		}
		if o.ScannedTo < w.ScannedTo {
			behind = append(behind, o)
		}
	}
	w.Behind = behind
	return w
}

// rolledBack returns w after the block at height left the chain.
func (w Wallet) rolledBack(height int32) Wallet {
	if w.ScannedTo >= height {
		w.ScannedTo = max(height-1, w.Birth-1)
	}
	var behind []OwnerScan
	for _, o := range w.Behind {
		o.ScannedTo = min(o.ScannedTo, height-1)
		if o.ScannedTo < w.ScannedTo {
			behind = append(behind, o)
		}
	}
	w.Behind = behind
	return w
}

// fallBehind returns w with the owner scanned to no more than height.
func (w Wallet) fallBehind(tag string, height int32) Wallet {
	if height >= w.ScannedTo {
		return w
	}
	at, found := slices.BinarySearchFunc(w.Behind, tag, func(o OwnerScan, t string) int {
		switch {
		case o.Tag < t:
			return -1
		case o.Tag > t:
			return 1
		}
		return 0
	})
	if found && w.Behind[at].ScannedTo <= height {
		return w
	}
	w.Behind = slices.Clone(w.Behind)
	if found {
		w.Behind[at].ScannedTo = height
	} else {
		w.Behind = slices.Insert(w.Behind, at, OwnerScan{tag, height})
	}
	return w
}

// ScannedFor returns the height up to which the owner's coins are complete.
func (w Wallet) ScannedFor(tag string) int32 {
	for _, o := range w.Behind {
		if o.Tag == tag {
			return min(o.ScannedTo, w.ScannedTo)
		}
	}
	return w.ScannedTo
}

package utxo

import (
	"fmt"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/internal/topological"
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
	wallets, open, err := pl.wallets()
	if err != nil {
		return err
	}
	for i := range txs {
		if err := txs[i].known(open); err != nil {
			return err
		}
	}
	if fresh {
		pl.set.Connect = []Block{b}
	}
	for _, w := range wallets {
		pl.changeWallet(w, w.scanned(b.Height, max(tip, b.Height)))
	}
	if len(txs) == 0 {
		return nil
	}
	if err := pl.loadAround(txs, at); err != nil {
		return err
	}
	if err := pl.readShown(txs); err != nil {
		return err
	}
	confirm := func(i int) error {
		position := int32(i)
		if ev.Positions != nil {
			position = ev.Positions[i]
		}
		return pl.confirm(pl.show(&txs[i], onConfirmed), b.Height, position)
	}
	pl.later = untouched(at, txs, confirm)
	for _, i := range order {
		if txs[i].passed = !pl.touches(&txs[i]); !txs[i].passed {
			if err := confirm(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirm places a transaction in a block.
func (pl *plan) confirm(v *vertex, height, position int32) error {
	on := onConfirmed
	switch {
	case v.coinbase && reanchors(v.height) && height < v.height:
		return nil // the earlier block of a duplicated coinbase, applied again
	case v.height == height && v.status != 0:
		if err := pl.prove(v); err != nil {
			return err
		}
		if err := pl.spread([]*vertex{v}); err != nil {
			return err
		}
		return pl.mendAll(v, onConfirmed)
	case v.confirmed() && !(v.coinbase && reanchors(height)):
		return pl.refuse(v, ErrConfirmedElsewhere, fmt.Sprintf("at height %d, now seen at %d", v.height, height))
	case v.status == Orphaned:
		on = onReconfirmed
	}
	if err := pl.inOrder(v, height); err != nil {
		return err
	}
	return pl.place(v, evidence{on: on, height: height, position: position})
}

// reanchors reports the two heights of the main chain whose coinbase repeats
// the hash of an earlier one (the exceptions of BIP 30).
func reanchors(height int32) bool { return height == 91842 || height == 91880 }

// fits reports whether b is new to the chain; an error if it does not fit.
func (pl *plan) fits(b Block, tip int32) (fresh bool, err error) {
	mismatch := func(why string) error {
		return fmt.Errorf("block %d %s: %w: %s", b.Height, b.Hash, ErrChainMismatch, why)
	}
	named, err := pl.r.BlocksNamed(b.Hash)
	if err != nil {
		return false, err
	}
	for _, same := range named {
		if same.Height != b.Height || same.Prev != b.Prev {
			return false, mismatch(fmt.Sprintf("the chain has it at height %d on %s", same.Height, same.Prev))
		}
	}
	near, err := pl.r.Blocks(max(b.Height-1, 0), after(b.Height))
	if err != nil {
		return false, err
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
	if tip >= 0 && b.Height-1 > tip {
		return false, mismatch(fmt.Sprintf("the tip is at %d", tip))
	}
	return true, nil
}

// blockTxs inspects the transactions of a block and returns them, the index of each by
// hash, and an order of indices in which parents come first.
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
	return txs, at, parentsFirst(txs, at), nil
}

// parentsFirst orders transactions that are shown together; at says where each is.
func parentsFirst(txs []seen, at map[chainhash.Hash]int) []int {
	return topological.Order(len(txs), func(i int, add func(int)) {
		for _, op := range txs[i].inputs {
			if p, ok := at[op.Hash]; ok {
				add(p)
			}
		}
	})
}

// disconnect takes the tip off the best chain. The transactions of the block lose their
// height; its coinbase is orphaned, and the descendants of the coinbase fail.
func (pl *plan) disconnect(ev Disconnected) error {
	tip, ok, err := pl.r.Tip()
	if err != nil {
		return err
	}
	if !ok || tip.Hash != ev.Hash {
		named, err := pl.r.BlocksNamed(ev.Hash)
		if err != nil || len(named) == 0 {
			return err
		}
		return fmt.Errorf("block %d %s: %w: disconnect the tip at %d first", named[0].Height, ev.Hash, ErrChainMismatch, tip.Height)
	}
	wallets, err := pl.r.Wallets()
	if err != nil {
		return err
	}
	below, err := pl.r.Blocks(tip.Height-1, tip.Height-1)
	if err != nil {
		return err
	}
	pl.set.Disconnect = []Block{tip}
	for _, w := range wallets {
		pl.changeWallet(w, w.rolledBack(tip.Height, len(below) == 1))
	}
	txs, err := pl.r.ConfirmedAt(tip.Height, tip.Height)
	if err := pl.graph.load(txs, err); err != nil {
		return err
	}
	pl.expect(len(txs))
	var orphans []*vertex
	for _, t := range txs {
		v := pl.graph.vertices[t.ID.Hash]
		if !v.confirmed() {
			continue // another wallet's row of it
		}
		on := onDisconnect
		if v.coinbase {
			on = onOrphaned
			orphans = append(orphans, v)
		}
		if err := pl.move(v, on, "", func(f *facts) { f.height, f.position = Unconfirmed, 0 }); err != nil {
			return err
		}
	}
	if len(orphans) == 0 {
		return nil
	}
	return pl.orphan(orphans)
}

// orphan fails the live descendants of coinbases that left the chain.
func (pl *plan) orphan(coinbases []*vertex) error {
	// Reader.Descendants does not go below a transaction that is stored as confirmed, and
	// those of this block are still stored so. The walk is therefore repeated from all
	// transactions found so far, until it finds no more.
	losers := coinbases
	for n := 0; n < len(losers); {
		n = len(losers)
		var err error
		if losers, err = pl.graph.withDescendants(losers); err != nil {
			return err
		}
	}
	for _, l := range losers {
		if l.confirmed() {
			return pl.refuse(l, statemachine.ErrCorrupt, "it is confirmed below the coinbase that it spends")
		}
	}
	return pl.kill(losers[len(coinbases):], func(*vertex) (Trigger, string) { return onParentDied, "" })
}

package utxo

import (
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// PlanAll plans the events in order. Each event is planned as if the change sets of the
// events before it were stored already. What blocks and mempool lists touch is read once
// for all events, so that the number of reads does not grow with the number of events; a
// conflict may add the reads of its walks through ancestors and descendants.
//
// When an event is refused, PlanAll returns the error, and the last set belongs to the
// refused event: only its [ChangeSet.Wide] is filled in. Nothing is stored.
func (p Policy) PlanAll(r Reader, now time.Time, events ...Event) ([]ChangeSet, error) {
	if len(events) == 1 {
		if _, block := events[0].(Connected); !block {
			set, err := p.PlanAt(r, events[0], now)
			return []ChangeSet{set}, err
		}
	}
	o, err := newOverlay(p, r, events)
	if err != nil {
		return nil, err
	}
	sets := make([]ChangeSet, 0, len(events))
	for _, ev := range events {
		pl := &plan{Policy: p, r: o, graph: newGraph(o), ev: ev, inspected: o.inspected}
		set, err := pl.run(now)
		sets = append(sets, set)
		if err == nil {
			err = o.Apply(set)
		}
		if err != nil {
			return sets, err
		}
	}
	return sets, nil
}

// overlay is a store with the change sets of the batch so far applied to it: a ledger that
// holds everything that was read from the store, each thing read once. [Policy.Plan] reads
// from the overlay as from a store.
type overlay struct {
	*Ledger
	r         Reader
	inspected map[*wire.MsgTx]seen

	read struct { // a row that was read, or is new, is in the ledger
		rows     map[chainhash.Hash]bool // all of a transaction
		children map[chainhash.Hash]bool // all that spends an output of it
		below    map[chainhash.Hash]bool // its live descendants
		above    map[chainhash.Hash]Reach
		spenders map[wire.OutPoint]bool
		edges    map[TxID]bool
		owners   map[Owned]bool          // without a birth
		leases   map[Lease]bool          // without lock and end
		heights  map[int32]bool          // the block there
		named    map[chainhash.Hash]bool // the block of this hash
		matched  map[int32]bool          // what is confirmed there
		seq      bool
	}
}

// newOverlay reads what is around the transactions that events show.
func newOverlay(p Policy, r Reader, events []Event) (*overlay, error) {
	o := &overlay{Ledger: NewLedger(p), r: r, inspected: map[*wire.MsgTx]seen{}}
	o.read.rows, o.read.children, o.read.below = map[chainhash.Hash]bool{}, map[chainhash.Hash]bool{}, map[chainhash.Hash]bool{}
	o.read.above, o.read.spenders, o.read.edges = map[chainhash.Hash]Reach{}, map[wire.OutPoint]bool{}, map[TxID]bool{}
	o.read.owners, o.read.leases = map[Owned]bool{}, map[Lease]bool{}
	o.read.heights, o.read.named, o.read.matched = map[int32]bool{}, map[chainhash.Hash]bool{}, map[int32]bool{}
	o.arrived = 1 << 62 // what is new comes after all that is stored
	tip, ok, err := r.Tip()
	if err != nil {
		return nil, err
	}
	if ok {
		o.block(tip)
	}
	wallets, err := r.Wallets()
	if err != nil {
		return nil, err
	}
	for _, w := range wallets {
		o.putWallet(Wallet{}, w)
	}
	return o, o.readAround(events)
}

// readAround reads the blocks of the events and everything stored next to their
// transactions: rows, parents, children and rivals, and the same around the children.
func (o *overlay) readAround(events []Event) error {
	var named, gone []chainhash.Hash // blocks
	low, high := int32(1<<31-1), int32(-1)
	pl := &plan{Policy: o.policy}
	for _, ev := range events {
		var txs []*wire.MsgTx
		switch ev := ev.(type) {
		case Connected:
			named, txs = append(named, ev.Block.Hash), ev.Txs
			low, high = min(low, ev.Block.Height), max(high, ev.Block.Height)
		case Disconnected:
			named, gone = append(named, ev.Hash), append(gone, ev.Hash)
		case Observed:
			txs = ev.Txs
		}
		for _, msg := range txs {
			if s, err := pl.inspect(msg); err == nil { // else its plan says why
				o.inspected[msg] = s
			}
		}
	}
	if _, err := o.BlocksNamed(named...); err != nil {
		return err
	}
	if high >= low && high-low < maxRange {
		if _, err := o.Blocks(max(low-1, 0), after(high)); err != nil {
			return err
		}
	}
	if err := o.readTop(gone); err != nil {
		return err
	}
	var hashes, parents []chainhash.Hash
	for _, s := range o.inspected {
		hashes = append(hashes, s.hash)
	}
	for _, op := range pl.inputs {
		parents = append(parents, op.Hash)
	}
	kids, err := o.Children(hashes...)
	if err != nil {
		return err
	}
	if err := o.readRows(append(parents, hashes...)); err != nil {
		return err
	}
	if _, err := o.Spenders(pl.inputs...); err != nil || len(kids) == 0 {
		return err
	}
	var ops []wire.OutPoint
	parents, hashes = parents[:0], hashes[:0]
	for _, t := range kids {
		hashes = append(hashes, t.ID.Hash)
		for _, op := range t.Inputs {
			ops, parents = append(ops, op), append(parents, op.Hash)
		}
	}
	if err := o.readRows(parents); err != nil {
		return err
	}
	if _, err := o.Spenders(ops...); err != nil {
		return err
	}
	_, err = o.Descendants(hashes...)
	return err
}

// readTop reads what is confirmed in the blocks that leave the chain, and the blocks below.
func (o *overlay) readTop(gone []chainhash.Hash) error {
	low, found := o.tip, false
	for _, h := range gone {
		if height, stored := o.byBlock[h]; stored {
			low, found = min(low, height), true
		}
	}
	if !found || int(o.tip-low) >= len(gone) { // the plan of one says that it is not the tip
		return nil
	}
	if _, err := o.Blocks(max(low-1, 0), o.tip); err != nil {
		return err
	}
	_, err := o.ConfirmedAt(low, o.tip)
	return err
}

// after is the height after h, or h itself if it is the last that there can be.
func after(h int32) int32 { return max(h, h+1) }

// maxRange is the number of heights of which the blocks are read at once.
const maxRange = 10_000

package utxo

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// block makes a stored block known.
func (o *overlay) block(b Block) {
	if _, known := o.blocks[b.Height]; known || o.read.heights[b.Height] {
		return
	}
	o.read.heights[b.Height] = true
	o.blocks[b.Height], o.byBlock[b.Hash] = b, b.Height
	o.tip = max(o.tip, b.Height)
}

// take makes stored rows known, all that there are of each transaction.
func (o *overlay) take(txs []*Tx, err error) error {
	for _, t := range txs {
		o.read.rows[t.ID.Hash] = true
		o.adopt(t)
	}
	return err
}

// adopt makes a stored row known, unless it is: then it may have changed.
func (o *overlay) adopt(t *Tx) {
	if o.row(t.ID) == nil && o.books[t.ID.Wallet] != nil {
		o.put(t, t.Arrival)
	}
}

// readRows reads the rows of these transactions.
func (o *overlay) readRows(hashes []chainhash.Hash) error {
	var ask []TxID
	for _, h := range hashes {
		if !o.read.rows[h] {
			o.read.rows[h] = true
			ask = append(ask, TxID{Hash: h})
		}
	}
	if len(ask) == 0 {
		return nil
	}
	return o.take(o.r.Txs(ask...))
}

// Apply carries out a change set on what was read.
func (o *overlay) Apply(set ChangeSet) error {
	for _, b := range set.Disconnect { // the ledger looks for the next tip
		below, err := o.Blocks(b.Height-1, b.Height-1)
		if err == nil && len(below) == 0 {
			var all []Block
			all, err = o.r.Blocks(0, b.Height-1)
			for _, b := range all {
				o.block(b)
			}
		}
		if err != nil {
			return err
		}
	}
	return o.Ledger.Apply(set)
}

// Blocks implements [Reader].
func (o *overlay) Blocks(from, to int32) ([]Block, error) {
	known := true
	for h := int64(from); h <= int64(to); h++ { // to may be the last height
		known = known && o.read.heights[int32(h)]
	}
	if !known {
		stored, err := o.r.Blocks(from, to)
		if err != nil {
			return nil, err
		}
		for _, b := range stored {
			o.block(b)
		}
		for h := int64(from); h <= int64(to); h++ {
			o.read.heights[int32(h)] = true
		}
	}
	return o.Ledger.Blocks(from, to)
}

// BlocksNamed implements [Reader]. A hash that the store does not have is not asked for
// twice: a block that joins the chain in this batch is put into the overlay then.
func (o *overlay) BlocksNamed(hashes ...chainhash.Hash) ([]Block, error) {
	var ask []chainhash.Hash
	for _, h := range hashes {
		if !o.read.named[h] {
			o.read.named[h] = true
			ask = append(ask, h)
		}
	}
	if len(ask) > 0 {
		stored, err := o.r.BlocksNamed(ask...)
		if err != nil {
			return nil, err
		}
		for _, b := range stored {
			o.block(b)
		}
	}
	return o.Ledger.BlocksNamed(hashes...)
}

// Txs implements [Reader].
func (o *overlay) Txs(ids ...TxID) ([]*Tx, error) {
	hashes := make([]chainhash.Hash, len(ids))
	for i, id := range ids {
		hashes[i] = id.Hash
	}
	if err := o.readRows(hashes); err != nil {
		return nil, err
	}
	return o.Ledger.Txs(ids...)
}

// Spenders implements [Reader].
func (o *overlay) Spenders(ops ...wire.OutPoint) ([]*Tx, error) {
	var ask []wire.OutPoint
	for _, op := range ops {
		if !o.read.spenders[op] && !o.read.children[op.Hash] {
			o.read.spenders[op] = true
			ask = append(ask, op)
		}
	}
	if len(ask) > 0 {
		if err := o.take(o.r.Spenders(ask...)); err != nil {
			return nil, err
		}
	}
	return o.Ledger.Spenders(ops...)
}

// Children implements [Reader].
func (o *overlay) Children(hashes ...chainhash.Hash) ([]*Tx, error) {
	var ask []chainhash.Hash
	for _, h := range hashes {
		if !o.read.children[h] {
			o.read.children[h] = true
			ask = append(ask, h)
		}
	}
	if len(ask) > 0 {
		if err := o.take(o.r.Children(ask...)); err != nil {
			return nil, err
		}
	}
	return o.Ledger.Children(hashes...)
}

// Descendants implements [Reader]. The store walks through its own state; where the batch
// has changed the graph, the store is asked again from the transactions found so far, until
// it has nothing new.
func (o *overlay) Descendants(hashes ...chainhash.Hash) ([]*Tx, error) {
	for {
		var ask []chainhash.Hash
		walk := func(h chainhash.Hash) {
			if !o.read.below[h] {
				o.read.below[h] = true
				ask = append(ask, h)
			}
		}
		for _, h := range hashes {
			walk(h)
		}
		found, err := o.Ledger.Descendants(hashes...)
		for _, t := range found {
			if !o.vertices[t.ID.Hash].confirmed() {
				walk(t.ID.Hash)
			}
		}
		if err != nil || len(ask) == 0 {
			return found, err
		}
		stored, err := o.r.Descendants(ask...)
		if err := o.take(stored, err); err != nil {
			return nil, err
		}
		ended := map[chainhash.Hash]bool{}
		for _, t := range stored {
			ended[t.ID.Hash] = ended[t.ID.Hash] || t.Confirmed()
		}
		for h, confirmed := range ended {
			o.read.below[h] = o.read.below[h] || !confirmed
		}
	}
}

// Ancestors implements [Reader], as Descendants.
func (o *overlay) Ancestors(reach Reach, hashes ...chainhash.Hash) ([]*Tx, error) {
	for {
		var ask []chainhash.Hash
		walk := func(h chainhash.Hash) {
			if !o.read.rows[h] && o.read.above[h]&reach == 0 {
				o.read.above[h] |= reach
				ask = append(ask, h)
			}
		}
		for _, h := range hashes {
			walk(h)
		}
		found, err := o.Ledger.Ancestors(reach, hashes...)
		for _, t := range found {
			for _, op := range t.Inputs {
				walk(op.Hash)
			}
		}
		if err != nil || len(ask) == 0 {
			return found, err
		}
		stored, err := o.r.Ancestors(reach, ask...)
		if err := o.take(stored, err); err != nil {
			return nil, err
		}
		for _, t := range stored {
			for _, op := range t.Inputs {
				o.read.above[op.Hash] |= reach
			}
		}
	}
}

// Owners implements [Reader].
func (o *overlay) Owners(w WalletID, tags ...string) ([]Owned, error) {
	var ask []string
	for _, tag := range tags {
		if of := (Owned{Wallet: w, Tag: tag}); !o.read.owners[of] {
			o.read.owners[of] = true
			ask = append(ask, tag)
		}
	}
	if b := o.books[w]; b != nil && len(ask) > 0 {
		stored, err := o.r.Owners(w, ask...)
		if err != nil && !errors.Is(err, statemachine.ErrNotFound) { // the batch opens it
			return nil, err
		}
		for _, of := range stored {
			b.owners[of.Tag] = of
		}
	}
	return o.Ledger.Owners(w, tags...)
}

// Leases implements [Reader].
func (o *overlay) Leases(w WalletID, ops ...wire.OutPoint) ([]Lease, error) {
	var ask []wire.OutPoint
	for _, op := range ops {
		if of := (Lease{Wallet: w, OutPoint: op}); !o.read.leases[of] {
			o.read.leases[of] = true
			ask = append(ask, op)
		}
	}
	if o.books[w] != nil && len(ask) > 0 {
		stored, err := o.r.Leases(w, ask...)
		if err != nil && !errors.Is(err, statemachine.ErrNotFound) {
			return nil, err
		}
		for _, l := range stored {
			o.putLease(l)
		}
	}
	return o.Ledger.Leases(w, ops...)
}

// Replacements implements [Reader]. The first call reads the edges of all rows that are
// known by then.
func (o *overlay) Replacements(ids ...TxID) ([]Replacement, error) {
	var ask []TxID
	want := func(id TxID) {
		if !o.read.edges[id] {
			o.read.edges[id] = true
			ask = append(ask, id)
		}
	}
	for _, id := range ids {
		want(id)
	}
	if len(ask) > 0 {
		for e := range o.known() {
			want(e.tx.ID)
		}
		stored, err := o.r.Replacements(ask...)
		if err != nil {
			return nil, err
		}
		for _, r := range stored {
			o.edge(r) // perhaps a second time: the graph keeps one
		}
	}
	return o.Ledger.Replacements(ids...)
}

// Raw implements [Reader]. The first call asks for all that is known by then.
func (o *overlay) Raw(ids ...TxID) ([][]byte, error) {
	if !slices.ContainsFunc(ids, func(id TxID) bool { e := o.row(id); return e != nil && e.raw == nil }) {
		return o.Ledger.Raw(ids...)
	}
	var lack []*keptRow
	var ask []TxID
	for e := range o.known() {
		if e.raw == nil {
			lack, ask = append(lack, e), append(ask, e.tx.ID)
		}
	}
	raws, err := o.r.Raw(ask...)
	if err != nil {
		return nil, err
	}
	for i, e := range lack {
		e.raw = raws[i]
	}
	return o.Ledger.Raw(ids...)
}

// known are all rows that are known.
func (o *overlay) known() iter.Seq[*keptRow] {
	return func(yield func(*keptRow) bool) {
		for _, p := range o.vertices {
			for _, e := range p.rows {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Seq implements [Reader].
func (o *overlay) Seq() (int64, error) {
	if !o.read.seq {
		last, err := o.r.Seq()
		if err != nil {
			return 0, err
		}
		o.read.seq, o.seq = true, last
	}
	return o.seq, nil
}

// ConfirmedAt implements [Reader].
func (o *overlay) ConfirmedAt(from, to int32) ([]*Tx, error) {
	known := true
	for h := int64(from); h <= int64(to); h++ { // to may be the last height
		known = known && o.read.matched[int32(h)]
		o.read.matched[int32(h)] = true
	}
	if !known {
		stored, err := o.r.ConfirmedAt(from, to)
		if err != nil {
			return nil, err
		}
		arrived := func(a, b *Tx) int { return cmp.Compare(a.Arrival, b.Arrival) }
		for _, t := range slices.SortedFunc(slices.Values(stored), arrived) { // as the store has the rows of a transaction
			o.adopt(t)
		}
	}
	return o.Ledger.ConfirmedAt(from, to)
}

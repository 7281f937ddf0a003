package utxo

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

var _ Source = (*Ledger)(nil)

// Tip implements [Reader].
func (l *Ledger) Tip() (Block, bool, error) {
	b, ok := l.blocks[l.tip]
	return b, ok, nil
}

// BlocksNamed implements [Reader].
func (l *Ledger) BlocksNamed(hashes ...chainhash.Hash) ([]Block, error) {
	var all []Block
	for _, hash := range hashes {
		if h, ok := l.byBlock[hash]; ok {
			all = append(all, l.blocks[h])
		}
	}
	return all, nil
}

// Blocks implements [Reader].
func (l *Ledger) Blocks(from, to int32) ([]Block, error) {
	var all []Block
	if int(to)-int(from) > len(l.blocks) {
		for _, h := range sortedKeys(l.blocks) {
			if from <= h && h <= to {
				all = append(all, l.blocks[h])
			}
		}
		return all, nil
	}
	for h := int64(from); h <= int64(to); h++ {
		if b, ok := l.blocks[int32(h)]; ok {
			all = append(all, b)
		}
	}
	return all, nil
}

// Wallets implements [Reader].
func (l *Ledger) Wallets(ids ...WalletID) ([]Wallet, error) {
	if len(ids) == 0 {
		ids = sortedKeys(l.books)
	}
	all := make([]Wallet, len(ids))
	for i, id := range ids {
		b := l.books[id]
		if b == nil {
			return nil, unknownWallet(id)
		}
		if all[i] = b.Wallet; b.Follows {
			all[i].ScannedTo = l.tip
		}
	}
	return all, nil
}

// Owners implements [Reader].
func (l *Ledger) Owners(w WalletID, tags ...string) ([]Owned, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	var all []Owned
	for _, tag := range tags {
		if o, announced := b.owners[tag]; announced {
			all = append(all, o)
		}
	}
	return all, nil
}

// collector gathers transactions, each once.
type collector struct {
	l   *Ledger
	all []*keptRow
}

func (l *Ledger) collector(size int) *collector {
	l.walk++
	return &collector{l, make([]*keptRow, 0, size)}
}

func (c *collector) add(e *keptRow) {
	if e.walk != c.l.walk {
		e.walk = c.l.walk
		c.all = append(c.all, e)
	}
}

func txsOf(found []*keptRow) []*Tx {
	all := make([]*Tx, len(found))
	for i, e := range found {
		all[i] = &e.tx
	}
	return all
}

// Txs implements [Reader].
func (l *Ledger) Txs(ids ...TxID) ([]*Tx, error) {
	c := l.collector(len(ids))
	for _, id := range ids {
		for _, e := range l.stored(id.Hash) {
			if id.Wallet == 0 || id.Wallet == e.tx.ID.Wallet {
				c.add(e)
			}
		}
	}
	return txsOf(c.all), nil
}

// Seq implements [Reader].
func (l *Ledger) Seq() (int64, error) { return l.seq, nil }

// Spenders implements [Reader].
func (l *Ledger) Spenders(ops ...wire.OutPoint) ([]*Tx, error) {
	c := l.collector(len(ops))
	for _, op := range ops {
		for _, k := range l.kids(op.Hash).of(op.Index) {
			c.add(k.by)
		}
	}
	return inArrival(c.all), nil
}

// Children implements [Reader].
func (l *Ledger) Children(hashes ...chainhash.Hash) ([]*Tx, error) {
	c := l.collector(len(hashes))
	for _, h := range hashes {
		for _, k := range l.kids(h) {
			c.add(k.by)
		}
	}
	return inArrival(c.all), nil
}

func inArrival(found []*keptRow) []*Tx {
	if !slices.IsSortedFunc(found, byArrival) {
		slices.SortFunc(found, byArrival)
	}
	return txsOf(found)
}

// walked gathers places, each once, and returns their rows.
type walked struct {
	l   *Ledger
	all []*keptVertex
}

func (l *Ledger) walked(hashes []chainhash.Hash, keep func(*keptVertex) bool) *walked {
	l.walk++
	w := &walked{l, make([]*keptVertex, 0, len(hashes))}
	for _, h := range hashes {
		if p := l.vertices[h]; p != nil && keep(p) {
			w.add(p)
		}
	}
	return w
}

func (w *walked) add(p *keptVertex) {
	if p.walk != w.l.walk {
		p.walk = w.l.walk
		w.all = append(w.all, p)
	}
}

func rowsOf(all []*keptVertex) []*Tx {
	txs := make([]*Tx, 0, len(all))
	for _, p := range all {
		for _, e := range p.rows {
			txs = append(txs, &e.tx)
		}
	}
	return txs
}

// Descendants implements [Reader].
func (l *Ledger) Descendants(hashes ...chainhash.Hash) ([]*Tx, error) {
	w := l.walked(hashes, func(*keptVertex) bool { return true })
	named := len(w.all)
	for i := 0; i < len(w.all); i++ {
		p := w.all[i]
		if i >= named && p.confirmed() {
			continue
		}
		for _, k := range p.kids {
			if k.by.tx.Live() {
				w.add(k.by.at)
			}
		}
	}
	return rowsOf(w.all[named:]), nil
}

// Ancestors implements [Reader].
func (l *Ledger) Ancestors(reach Reach, hashes ...chainhash.Hash) ([]*Tx, error) {
	within := func(p *keptVertex) bool {
		return len(p.rows) > 0 && !slices.ContainsFunc(p.rows, func(e *keptRow) bool { return !reach.Includes(&e.tx) })
	}
	w := l.walked(hashes, within)
	for next := 0; next < len(w.all); next++ {
		for _, p := range w.all[next].rows[0].from {
			if within(p) {
				w.add(p)
			}
		}
	}
	return rowsOf(w.all), nil
}

// ConfirmedAt implements [Reader].
func (l *Ledger) ConfirmedAt(from, to int32) ([]*Tx, error) {
	var all []*Tx
	for h := int64(max(from, 0)); h <= int64(min(to, l.tip)); h++ { // to may be the last height
		for _, e := range l.heights[int32(h)] {
			all = append(all, &e.tx)
		}
	}
	slices.SortFunc(all, func(a, b *Tx) int {
		return cmp.Or(cmp.Compare(a.Height, b.Height), cmp.Compare(a.ID.Wallet, b.ID.Wallet), cmp.Compare(a.Position, b.Position))
	})
	return all, nil
}

// Replacements implements [Reader].
func (l *Ledger) Replacements(ids ...TxID) ([]Replacement, error) {
	var all []Replacement
	for _, id := range ids {
		all = append(all, l.edges[id]...)
	}
	slices.SortFunc(all, compareEdges)
	return slices.Compact(all), nil
}

func compareEdges(a, b Replacement) int {
	return cmp.Or(cmp.Compare(a.Wallet, b.Wallet), bytes.Compare(a.Loser[:], b.Loser[:]), bytes.Compare(a.Winner[:], b.Winner[:]))
}

// Leases implements [Reader].
func (l *Ledger) Leases(w WalletID, ops ...wire.OutPoint) ([]Lease, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	var all []Lease
	for _, op := range ops {
		if lease, ok := b.leases[op]; ok {
			all = append(all, lease)
		}
	}
	return all, nil
}

// Raw implements [Reader].
func (l *Ledger) Raw(ids ...TxID) ([][]byte, error) {
	all := make([][]byte, len(ids))
	for i, id := range ids {
		e := l.row(id)
		if e == nil {
			return nil, notFound(id)
		}
		all[i] = bytes.Clone(e.raw)
	}
	return all, nil
}

// CompareOutPoints orders outpoints by hash bytes and index.
func CompareOutPoints(a, b wire.OutPoint) int {
	return cmp.Or(bytes.Compare(a.Hash[:], b.Hash[:]), cmp.Compare(a.Index, b.Index))
}

package utxo

import (
	"cmp"
	"maps"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// This file holds the indexes of a ledger: transactions by hash and by height, the spenders
// of each output, and the running sums.

// keptVertex is what is stored around one hash, over all wallets, as vertex in a plan.
type keptVertex struct {
	rows []*keptRow      // the transaction itself, one per wallet
	kids spends[keptRow] // the conflict index: who has an output of it as an input
	walk uint64

	oneRow [1]*keptRow // most have no more: room for the first
	oneKid [1]spend[keptRow]
}

// moveTip takes one block off the chain and puts one on, nil for none. Coins that mature by
// this, or become immature again, move between the buckets.
func (l *Ledger) moveTip(off, on *Block) {
	was := l.tip
	if off != nil {
		delete(l.blocks, off.Height)
		delete(l.byBlock, off.Hash)
		if off.Height == l.tip {
			l.tip--
			if _, linked := l.blocks[l.tip]; !linked {
				l.tip = -1
				for h := range l.blocks {
					l.tip = max(l.tip, h)
				}
			}
		}
	}
	if on != nil {
		l.blocks[on.Height] = *on
		l.byBlock[on.Hash] = on.Height
		l.tip = max(l.tip, on.Height)
	}
	m := int64(l.policy.maturity())
	is := l.tip
	lo, hi := int64(min(was, is))-m, int64(max(was, is))-m
	if hi-lo > int64(len(l.heights)) {
		for _, es := range l.heights {
			l.mature(es, was, is)
		}
		return
	}
	for h := lo + 1; h <= hi; h++ {
		l.mature(l.heights[int32(h)], was, is)
	}
}

// mature moves coinbase money between the buckets of two tips.
func (l *Ledger) mature(es []*keptRow, was, is int32) {
	for _, e := range es {
		if e.tx.Coinbase {
			l.tip = was
			l.count(e, -1)
			l.tip = is
			l.count(e, +1)
		}
	}
}

func (l *Ledger) putWallet(old, w Wallet) {
	switch {
	case w.ID == 0:
		delete(l.books, old.ID)
	case l.books[w.ID] == nil:
		l.books[w.ID] = &book{
			Wallet: w, owners: map[string]Owned{}, byTag: map[string]*Balance{}, unconfirmed: map[*keptRow]struct{}{},
			leases: map[wire.OutPoint]Lease{},
		}
	default:
		l.books[w.ID].Wallet = w
	}
}

func (l *Ledger) insert(t *Tx) {
	l.arrived++
	l.put(t, l.arrived)
}

// put keeps a row that arrived at a place among the others.
func (l *Ledger) put(t *Tx, arrival int64) {
	e := l.allRows.new()
	e.tx, e.raw = *t, t.Raw
	e.tx.Raw, e.tx.Arrival = nil, arrival
	e.tx.Outputs = l.allOutputs.cut(len(t.Outputs))
	copy(e.tx.Outputs, t.Outputs)
	e.log = e.twoLines[:0]
	e.at = l.vertex(t.ID.Hash)
	e.at.rows = append(e.at.rows, e)
	e.from = l.allFrom.cut(len(t.Inputs))
	for i, op := range t.Inputs {
		e.from[i] = l.vertex(op.Hash)
		e.from[i].kids = e.from[i].kids.with(op.Index, e, later)
	}
	l.file(e)
	l.count(e, +1)
	l.list(e)
}

func (l *Ledger) remove(e *keptRow) {
	l.count(e, -1)
	l.unfile(e)
	b := l.books[e.tx.ID.Wallet]
	b.listed = slices.DeleteFunc(b.listed, func(x *keptRow) bool { return x == e })
	for _, p := range e.from {
		p.kids = slices.DeleteFunc(p.kids, func(k spend[keptRow]) bool { return k.by == e })
	}
	e.at.rows = slices.DeleteFunc(e.at.rows, func(x *keptRow) bool { return x == e })
	l.arrived--
}

// vertex returns what is stored around a hash, to add to it.
func (l *Ledger) vertex(hash chainhash.Hash) *keptVertex {
	p := l.vertices[hash]
	if p == nil {
		p = l.allVertices.new()
		p.rows, p.kids = p.oneRow[:0], p.oneKid[:0]
		l.vertices[hash] = p
	}
	return p
}

// stored and kids return what is stored around a hash, over all wallets.
func (l *Ledger) stored(hash chainhash.Hash) []*keptRow {
	if p := l.vertices[hash]; p != nil {
		return p.rows
	}
	return nil
}

func (l *Ledger) kids(hash chainhash.Hash) spends[keptRow] {
	if p := l.vertices[hash]; p != nil {
		return p.kids
	}
	return nil
}

// file puts e into the indexes that depend on its state; unfile takes it out.
func (l *Ledger) file(e *keptRow) {
	if e.tx.Confirmed() {
		l.heights[e.tx.Height] = append(l.heights[e.tx.Height], e)
	} else if e.tx.Live() {
		l.books[e.tx.ID.Wallet].unconfirmed[e] = struct{}{}
	}
}

func (l *Ledger) unfile(e *keptRow) {
	if e.tx.Confirmed() {
		at := l.heights[e.tx.Height]
		i := slices.Index(at, e)
		at[i] = at[len(at)-1]
		at[len(at)-1] = nil
		l.heights[e.tx.Height] = at[:len(at)-1]
		if len(at) == 1 {
			delete(l.heights, e.tx.Height)
		}
	} else {
		delete(l.books[e.tx.ID.Wallet].unconfirmed, e)
	}
}

func (l *Ledger) update(e *keptRow, s TxState) {
	l.count(e, -1)
	l.unfile(e)
	e.tx.setState(s)
	l.file(e)
	l.count(e, +1)
	l.list(e)
}

func (l *Ledger) credit(e *keptRow, out Output) {
	l.count(e, -1)
	at := 0
	for at < len(e.tx.Outputs) && e.tx.Outputs[at].Index < out.Index {
		at++
	}
	e.tx.Outputs = slices.Insert(e.tx.Outputs, at, out)
	l.count(e, +1)
	l.list(e)
}

func (l *Ledger) uncredit(e *keptRow, index uint32) {
	l.count(e, -1)
	e.tx.Outputs = slices.DeleteFunc(e.tx.Outputs, func(o Output) bool { return o.Index == index })
	l.count(e, +1)
}

// point sets the live spender of an owned output.
func (l *Ledger) point(e *keptRow, index uint32, to chainhash.Hash) {
	out := e.tx.Output(index)
	l.countOne(e, out, -1)
	out.SpentBy = to
	l.countOne(e, out, +1)
	if to == none {
		l.list(e)
	}
}

func (l *Ledger) edge(r Replacement) {
	for _, id := range []TxID{{r.Wallet, r.Loser}, {r.Wallet, r.Winner}} {
		l.edges[id] = append(l.edges[id], r)
	}
}

func (l *Ledger) dropEdge(r Replacement) {
	for _, id := range []TxID{{r.Wallet, r.Loser}, {r.Wallet, r.Winner}} {
		l.edges[id] = slices.DeleteFunc(l.edges[id], func(x Replacement) bool { return x == r })
		if len(l.edges[id]) == 0 {
			delete(l.edges, id)
		}
	}
}

func (l *Ledger) putLease(lease Lease) {
	b := l.books[lease.Wallet]
	if old, ok := b.leases[lease.OutPoint]; ok {
		at, _ := slices.BinarySearchFunc(b.ends, old, byEnd)
		b.ends = slices.Delete(b.ends, at, at+1)
		delete(b.leases, lease.OutPoint)
	}
	if !lease.Until.IsZero() {
		at, _ := slices.BinarySearchFunc(b.ends, lease, byEnd)
		b.ends = slices.Insert(b.ends, at, lease)
		b.leases[lease.OutPoint] = lease
	}
}

func byEnd(a, b Lease) int {
	return cmp.Or(a.Until.Compare(b.Until), CompareOutPoints(a.OutPoint, b.OutPoint))
}

// list makes sure that the live unspent outputs of e are found by Unspent.
func (l *Ledger) list(e *keptRow) {
	if e.listed || !e.tx.Live() || !slices.ContainsFunc(e.tx.Outputs, func(o Output) bool { return !o.Spent() }) {
		return
	}
	b := l.books[e.tx.ID.Wallet]
	if n := len(b.listed); n > 0 && later(b.listed[n-1], e) {
		b.unsorted = true
	}
	b.listed = append(b.listed, e)
	e.listed = true
}

// available calls each for every live unspent output in order of arrival, and forgets the
// rows that have no such output.
func (b *book) available(each func(*keptRow, *Output)) {
	if b.unsorted {
		slices.SortFunc(b.listed, byArrival)
		b.unsorted = false
	}
	b.listed = slices.DeleteFunc(b.listed, func(e *keptRow) bool {
		e.listed = false
		for i := range e.tx.Outputs {
			if out := &e.tx.Outputs[i]; e.tx.Live() && !out.Spent() {
				e.listed = true
				each(e, out)
			}
		}
		return !e.listed
	})
}

func byArrival(a, b *keptRow) int { return cmp.Compare(a.tx.Arrival, b.tx.Arrival) }
func later(a, b *keptRow) bool    { return a.tx.Arrival > b.tx.Arrival }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

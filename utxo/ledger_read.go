package utxo

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

var _ Source = (*Ledger)(nil)

// Tip implements [Reader].
func (l *Ledger) Tip() (Block, bool, error) {
	b, ok := l.blocks[l.tip]
	return b, ok, nil
}

// Block implements [Reader].
func (l *Ledger) Block(hash chainhash.Hash) (Block, bool, error) {
	h, ok := l.byBlock[hash]
	return l.blocks[h], ok, nil
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
	all []*entry
}

func (l *Ledger) collector(size int) *collector {
	l.walk++
	return &collector{l, make([]*entry, 0, size)}
}

func (c *collector) add(e *entry) {
	if e.walk != c.l.walk {
		e.walk = c.l.walk
		c.all = append(c.all, e)
	}
}

func txsOf(found []*entry) []*Tx {
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

func inArrival(found []*entry) []*Tx {
	if !slices.IsSortedFunc(found, byArrival) {
		slices.SortFunc(found, byArrival)
	}
	return txsOf(found)
}

// walked gathers places, each once, and returns their rows.
type walked struct {
	l   *Ledger
	all []*place
}

func (l *Ledger) walked(hashes []chainhash.Hash, keep func(*place) bool) *walked {
	l.walk++
	w := &walked{l, make([]*place, 0, len(hashes))}
	for _, h := range hashes {
		if p := l.around[h]; p != nil && keep(p) {
			w.add(p)
		}
	}
	return w
}

func (w *walked) add(p *place) {
	if p.walk != w.l.walk {
		p.walk = w.l.walk
		w.all = append(w.all, p)
	}
}

func rowsOf(all []*place) []*Tx {
	txs := make([]*Tx, 0, len(all))
	for _, p := range all {
		for _, e := range p.entries {
			txs = append(txs, &e.tx)
		}
	}
	return txs
}

// Descendants implements [Reader].
func (l *Ledger) Descendants(hashes ...chainhash.Hash) ([]*Tx, error) {
	w := l.walked(hashes, func(*place) bool { return true })
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
	within := func(p *place) bool {
		return len(p.entries) > 0 && !slices.ContainsFunc(p.entries, func(e *entry) bool { return !reach.Includes(&e.tx) })
	}
	w := l.walked(hashes, within)
	for next := 0; next < len(w.all); next++ {
		for _, p := range w.all[next].entries[0].from {
			if within(p) {
				w.add(p)
			}
		}
	}
	return rowsOf(w.all), nil
}

// ConfirmedAt implements [Reader].
func (l *Ledger) ConfirmedAt(height int32) ([]*Tx, error) {
	all := make([]*Tx, 0, len(l.heights[height]))
	for _, e := range l.heights[height] {
		all = append(all, &e.tx)
	}
	slices.SortFunc(all, func(a, b *Tx) int {
		return cmp.Or(cmp.Compare(a.ID.Wallet, b.ID.Wallet), cmp.Compare(a.Position, b.Position))
	})
	return all, nil
}

// LiveUnconfirmed implements [Reader].
func (l *Ledger) LiveUnconfirmed(w WalletID) ([]*Tx, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	found := make([]*entry, 0, len(b.unconfirmed))
	for e := range b.unconfirmed {
		if !e.tx.Context {
			found = append(found, e)
		}
	}
	return inArrival(found), nil
}

// Unspent implements [Reader].
func (l *Ledger) Unspent(w WalletID, tag *string) ([]Coin, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	var coins []Coin
	if tag == nil {
		coins = make([]Coin, 0, b.unspent)
	}
	b.available(func(e *entry, out *Output) {
		if tag == nil || *tag == out.Tag {
			coins = append(coins, b.coin(&e.tx, out))
		}
	})
	return coins, nil
}

func (b *book) coin(t *Tx, out *Output) Coin {
	op := wire.OutPoint{Hash: t.ID.Hash, Index: out.Index}
	c := Coin{
		Wallet: t.ID.Wallet, OutPoint: op, Amount: out.Amount, Script: out.Script, Tag: out.Tag, SpentBy: out.SpentBy,
		Status: t.Status, Height: t.Height, Coinbase: t.Coinbase,
	}
	if lease, ok := b.leases[op]; ok {
		own := lease
		c.Lease = &own
	}
	return c
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

// LeasesOf implements [Queries].
func (l *Ledger) LeasesOf(w WalletID, lock LockID) ([]Lease, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	var all []Lease
	for _, lease := range b.leases {
		if lease.Lock == lock {
			all = append(all, lease)
		}
	}
	slices.SortFunc(all, func(a, b Lease) int {
		return cmp.Or(bytes.Compare(a.OutPoint.Hash[:], b.OutPoint.Hash[:]), cmp.Compare(a.OutPoint.Index, b.OutPoint.Index))
	})
	return all, nil
}

// Raw implements [Reader].
func (l *Ledger) Raw(ids ...TxID) ([][]byte, error) {
	all := make([][]byte, len(ids))
	for i, id := range ids {
		e := l.entry(id)
		if e == nil {
			return nil, notFound(id)
		}
		all[i] = bytes.Clone(e.raw)
	}
	return all, nil
}

// Coins implements [Queries].
func (l *Ledger) Coins(w WalletID, ops ...wire.OutPoint) ([]Coin, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	var coins []Coin
	for _, op := range ops {
		if e := l.entry(TxID{w, op.Hash}); e != nil {
			if out := e.tx.Output(op.Index); out != nil {
				coins = append(coins, b.coin(&e.tx, out))
			}
		}
	}
	return coins, nil
}

// Watch implements [Queries].
func (l *Ledger) Watch(w WalletID) ([]Coin, error) {
	coins, err := l.walletCoins(w, func(e *entry, out *Output) bool {
		if !e.tx.Live() || !out.Spent() {
			return e.tx.Live()
		}
		spender := l.entry(TxID{w, out.SpentBy})
		return spender == nil || !spender.tx.Confirmed()
	})
	return coins, err
}

// Outputs implements [Queries].
func (l *Ledger) Outputs(w WalletID, after *wire.OutPoint, limit int) ([]Coin, error) {
	if err := statemachine.Limit(limit); err != nil {
		return nil, err
	}
	coins, err := l.walletCoins(w, func(e *entry, out *Output) bool {
		return after == nil || CompareOutPoints(wire.OutPoint{Hash: e.tx.ID.Hash, Index: out.Index}, *after) > 0
	})
	slices.SortFunc(coins, func(a, b Coin) int { return CompareOutPoints(a.OutPoint, b.OutPoint) })
	return coins[:min(len(coins), limit)], err
}

// walletCoins returns the owned outputs that keep accepts, in order of arrival.
func (l *Ledger) walletCoins(w WalletID, keep func(*entry, *Output) bool) ([]Coin, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	var coins []Coin
	for _, e := range l.entries(w) {
		for i := range e.tx.Outputs {
			if out := &e.tx.Outputs[i]; keep(e, out) {
				coins = append(coins, b.coin(&e.tx, out))
			}
		}
	}
	return coins, nil
}

// entries returns all of a wallet's transactions in order of arrival.
func (l *Ledger) entries(w WalletID) []*entry {
	var all []*entry
	for _, p := range l.around {
		for _, e := range p.entries {
			if e.tx.ID.Wallet == w {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, byArrival)
	return all
}

// CompareOutPoints orders outpoints by hash bytes and index.
func CompareOutPoints(a, b wire.OutPoint) int {
	return cmp.Or(bytes.Compare(a.Hash[:], b.Hash[:]), cmp.Compare(a.Index, b.Index))
}

// History implements [Queries].
func (l *Ledger) History(w WalletID, after *HistoryKey, limit int) ([]*Tx, error) {
	if err := statemachine.Limit(limit); err != nil {
		return nil, err
	}
	if l.books[w] == nil {
		return nil, unknownWallet(w)
	}
	var all []*Tx
	for _, e := range l.entries(w) {
		if !e.tx.Context && (after == nil || e.tx.Key().Compare(*after) > 0) {
			all = append(all, &e.tx)
		}
	}
	slices.SortFunc(all, func(a, b *Tx) int { return a.Key().Compare(b.Key()) })
	all = all[:min(len(all), limit)]
	for i, t := range all {
		all[i] = t.clone()
	}
	return all, nil
}

// Compare orders keys as the history does: newest first.
func (k HistoryKey) Compare(o HistoryKey) int {
	at := func(h int32) int64 {
		if h == Unconfirmed {
			return 1 << 40
		}
		return int64(h)
	}
	if k.Height == Unconfirmed && o.Height == Unconfirmed {
		return cmp.Or(o.FirstSeen.Compare(k.FirstSeen), bytes.Compare(o.Hash[:], k.Hash[:]))
	}
	return cmp.Or(cmp.Compare(at(o.Height), at(k.Height)), cmp.Compare(o.Position, k.Position))
}

// Transitions implements [Queries].
func (l *Ledger) Transitions(id TxID) ([]statemachine.Transition[TxID], error) {
	e := l.entry(id)
	if e == nil {
		return nil, notFound(id)
	}
	log := make([]statemachine.Transition[TxID], len(e.log))
	for i, line := range e.log {
		log[i] = *line
	}
	return log, nil
}

// Snapshot implements [Queries].
func (l *Ledger) Snapshot() (Snapshot, error) {
	var s Snapshot
	for _, h := range sortedKeys(l.blocks) {
		s.Blocks = append(s.Blocks, l.blocks[h])
	}
	for _, id := range sortedKeys(l.books) {
		b := l.books[id]
		w := b.Wallet
		if w.Follows {
			w.ScannedTo = l.tip
		}
		s.Wallets = append(s.Wallets, w)
		for _, tag := range sortedKeys(b.owners) {
			s.Owners = append(s.Owners, b.owners[tag])
		}
		for _, e := range l.entries(id) {
			t := e.tx.clone()
			t.Raw = e.raw
			s.Txs = append(s.Txs, t)
		}
		for _, lease := range b.leases {
			s.Leases = append(s.Leases, lease)
		}
	}
	for id, edges := range l.edges {
		for _, r := range edges {
			if r.Loser == id.Hash {
				s.Replaced = append(s.Replaced, r)
			}
		}
	}
	s.sort()
	return s, nil
}

func (s *Snapshot) sort() {
	slices.SortFunc(s.Txs, func(a, b *Tx) int {
		return cmp.Or(cmp.Compare(a.ID.Wallet, b.ID.Wallet), bytes.Compare(a.ID.Hash[:], b.ID.Hash[:]))
	})
	slices.SortFunc(s.Replaced, compareEdges)
	slices.SortFunc(s.Leases, func(a, b Lease) int {
		return cmp.Or(cmp.Compare(a.Wallet, b.Wallet), CompareOutPoints(a.OutPoint, b.OutPoint))
	})
}

func (t *Tx) clone() *Tx {
	c := *t
	c.Outputs = slices.Clone(t.Outputs)
	return &c
}

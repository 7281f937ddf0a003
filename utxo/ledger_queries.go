package utxo

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// LiveUnconfirmed implements [Queries].
func (l *Ledger) LiveUnconfirmed(w WalletID) ([]*Tx, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	found := make([]*keptRow, 0, len(b.unconfirmed))
	for e := range b.unconfirmed {
		if !e.tx.Context {
			found = append(found, e)
		}
	}
	return copies(inArrival(found)), nil
}

// PendingElsewhere implements [Queries].
func (l *Ledger) PendingElsewhere(w WalletID) ([]*Tx, error) {
	var found []*keptRow
	for id, b := range l.books {
		for e := range b.unconfirmed {
			if id != w && e.tx.Status == Pending {
				found = append(found, e)
			}
		}
	}
	return copies(inArrival(found)), nil
}

// copies are txs as they are now: a ledger's own move on.
func copies(txs []*Tx) []*Tx {
	for i, t := range txs {
		txs[i] = t.clone()
	}
	return txs
}

// Unspent implements [Queries].
func (l *Ledger) Unspent(w WalletID, tag *string) ([]Coin, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	var coins []Coin
	if tag == nil {
		coins = make([]Coin, 0, b.unspent)
	}
	b.available(func(e *keptRow, out *Output) {
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
	return byOutPoint(all), nil
}

// ActiveLeases implements [Queries].
func (l *Ledger) ActiveLeases(w WalletID, now time.Time) ([]Lease, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	first := len(b.ends) // of the active ones
	for first > 0 && b.ends[first-1].Active(now) {
		first--
	}
	return byOutPoint(slices.Clone(b.ends[first:])), nil
}

func byOutPoint(leases []Lease) []Lease {
	slices.SortFunc(leases, func(a, b Lease) int { return CompareOutPoints(a.OutPoint, b.OutPoint) })
	return leases
}

// Coins implements [Queries].
func (l *Ledger) Coins(w WalletID, ops ...wire.OutPoint) ([]Coin, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	var coins []Coin
	for _, op := range ops {
		if e := l.row(TxID{w, op.Hash}); e != nil {
			if out := e.tx.Output(op.Index); out != nil {
				coins = append(coins, b.coin(&e.tx, out))
			}
		}
	}
	return coins, nil
}

// Watch implements [Queries].
func (l *Ledger) Watch(w WalletID) ([]Coin, error) {
	coins, err := l.walletCoins(w, func(e *keptRow, out *Output) bool {
		if !e.tx.Live() || !out.Spent() {
			return e.tx.Live()
		}
		spender := l.row(TxID{w, out.SpentBy})
		return spender == nil || !spender.tx.Confirmed()
	})
	return coins, err
}

// Outputs implements [Queries].
func (l *Ledger) Outputs(w WalletID, after *wire.OutPoint, limit int) ([]Coin, error) {
	if err := statemachine.Limit(limit); err != nil {
		return nil, err
	}
	coins, err := l.walletCoins(w, func(e *keptRow, out *Output) bool {
		return after == nil || CompareOutPoints(wire.OutPoint{Hash: e.tx.ID.Hash, Index: out.Index}, *after) > 0
	})
	slices.SortFunc(coins, func(a, b Coin) int { return CompareOutPoints(a.OutPoint, b.OutPoint) })
	return coins[:min(len(coins), limit)], err
}

// walletCoins returns the owned outputs that keep accepts, in order of arrival.
func (l *Ledger) walletCoins(w WalletID, keep func(*keptRow, *Output) bool) ([]Coin, error) {
	b := l.books[w]
	if b == nil {
		return nil, unknownWallet(w)
	}
	var coins []Coin
	for _, e := range l.rows(w) {
		for i := range e.tx.Outputs {
			if out := &e.tx.Outputs[i]; keep(e, out) {
				coins = append(coins, b.coin(&e.tx, out))
			}
		}
	}
	return coins, nil
}

// rows returns all of a wallet's transactions in order of arrival.
func (l *Ledger) rows(w WalletID) []*keptRow {
	var all []*keptRow
	for _, p := range l.vertices {
		for _, e := range p.rows {
			if e.tx.ID.Wallet == w {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, byArrival)
	return all
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
	for _, e := range l.rows(w) {
		if !e.tx.Context && (after == nil || e.tx.Key().Compare(*after) > 0) {
			all = append(all, &e.tx)
		}
	}
	slices.SortFunc(all, func(a, b *Tx) int { return a.Key().Compare(b.Key()) })
	return copies(all[:min(len(all), limit)]), nil
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
	e := l.row(id)
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
		for _, e := range l.rows(id) {
			t := e.tx.clone()
			t.Raw, t.Arrival = e.raw, 0
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

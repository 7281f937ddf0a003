package utxo

import (
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/wire/v2"
)

// Merge joins change sets that follow one another into as few sets as a store can write at
// once, with the same result: into one, but blocks that leave the chain are not merged with
// blocks that join it, since these may have the same heights; nor is a set that was not
// planned on those before it. What changes twice changes once, from the first state to the
// last; Log keeps every line. The arguments are not changed.
func Merge(sets ...ChangeSet) []ChangeSet {
	if len(sets) < 2 {
		return sets
	}
	all := make([]ChangeSet, 0, len(sets)) // never grown, so that pointers into it stay valid
	var m *merging
	for i := range sets {
		set := &sets[i]
		if m == nil || !m.precedes(set) {
			all = append(all, ChangeSet{})
			m = newMerging(&all[len(all)-1])
		}
		m.add(set)
	}
	for i := range all { // what came to nothing
		all[i].Sums = slices.DeleteFunc(all[i].Sums, func(s SumChange) bool { return s.Amount == 0 })
		all[i].Leases = slices.DeleteFunc(all[i].Leases, func(c LeaseChange) bool { return c.Old.Until.IsZero() && c.New.Until.IsZero() })
	}
	return all
}

// merging is a merged set with the places of its parts.
type merging struct {
	set      *ChangeSet
	wallets  map[WalletID]int
	owners   map[Owned]int // without a birth
	inserted map[TxID]*Tx  // the set's own copy
	updates  map[TxID]int
	credits  map[coinID]int
	spends   map[coinID]int
	leases   map[coinID]int
	sums     summing
}

type coinID struct {
	wallet WalletID
	op     wire.OutPoint
}

func newMerging(set *ChangeSet) *merging {
	return &merging{
		set: set, wallets: map[WalletID]int{}, owners: map[Owned]int{}, inserted: map[TxID]*Tx{}, updates: map[TxID]int{},
		credits: map[coinID]int{}, spends: map[coinID]int{}, leases: map[coinID]int{},
	}
}

// precedes reports whether s starts from the values that the merged set leaves. Else the
// two cannot be merged, and a store has to compare them one by one.
func (m *merging) precedes(s *ChangeSet) bool {
	switch n := len(m.set.Disconnect); {
	case len(s.Disconnect) == 0 && n == 0:
	case len(s.Disconnect) == 0 || len(m.set.Connect) > 0:
		return false
	case n > 0 && s.Disconnect[0].Height != m.set.Disconnect[n-1].Height-1:
		return false
	}
	for _, c := range s.Wallets {
		if at, again := m.wallets[c.New.ID]; again && (c.Old.ID == 0 || !c.Old.same(m.set.Wallets[at].New)) {
			return false
		}
	}
	for _, c := range s.Owners {
		if at, again := m.owners[Owned{Wallet: c.New.Wallet, Tag: c.New.Tag}]; again && c.Old != m.set.Owners[at].New {
			return false
		}
	}
	for _, t := range s.Inserts {
		if _, updated := m.updates[t.ID]; updated || m.inserted[t.ID] != nil {
			return false
		}
	}
	for i := range s.Updates {
		u := &s.Updates[i]
		if t := m.inserted[u.ID]; t != nil && t.Version != u.FromVersion {
			return false
		}
		if at, again := m.updates[u.ID]; again && m.set.Updates[at].New.Version != u.FromVersion {
			return false
		}
	}
	for _, c := range s.Joined {
		if t := m.inserted[c.ID]; t != nil && t.Output(c.Output.Index) != nil {
			return false
		}
		if _, again := m.credits[coinID{c.ID.Wallet, wire.OutPoint{Hash: c.ID.Hash, Index: c.Output.Index}}]; again {
			return false
		}
	}
	for _, p := range s.Spends {
		id := coinID{p.Wallet, p.OutPoint}
		if t := m.inserted[TxID{p.Wallet, p.OutPoint.Hash}]; t != nil {
			if out := t.Output(p.OutPoint.Index); out == nil || out.SpentBy != p.Old {
				return false
			}
		}
		if at, credited := m.credits[id]; credited && m.set.Joined[at].Output.SpentBy != p.Old {
			return false
		}
		if at, again := m.spends[id]; again && m.set.Spends[at].New != p.Old {
			return false
		}
	}
	for _, c := range s.Leases {
		if at, again := m.leases[coinID{c.New.Wallet, c.New.OutPoint}]; again {
			if held := m.set.Leases[at].New; held != c.Old && !(held.Until.IsZero() && c.Old.Until.IsZero()) {
				return false
			}
		}
	}
	return m.set.Seq == SeqChange{} || s.Seq == SeqChange{} || s.Seq.Old == m.set.Seq.New
}

// add merges a set that the merged one precedes.
func (m *merging) add(s *ChangeSet) {
	set := m.set
	set.Disconnect, set.Connect = append(set.Disconnect, s.Disconnect...), append(set.Connect, s.Connect...)
	for _, c := range s.Wallets {
		if old := once(m.wallets, c.New.ID, &set.Wallets, c); old != nil {
			old.New = c.New
		}
	}
	for _, c := range s.Owners {
		if old := once(m.owners, Owned{Wallet: c.New.Wallet, Tag: c.New.Tag}, &set.Owners, c); old != nil {
			old.New = c.New
		}
	}
	for _, t := range s.Inserts {
		own := *t
		own.Outputs = slices.Clone(t.Outputs)
		m.inserted[t.ID] = &own
		set.Inserts = append(set.Inserts, &own)
	}
	for _, u := range s.Updates {
		if t := m.inserted[u.ID]; t != nil {
			t.setState(u.New)
			if u.Raw != nil {
				t.Raw = u.Raw
			}
		} else if old := once(m.updates, u.ID, &set.Updates, u); old != nil {
			old.New = u.New
			if u.Raw != nil {
				if old.Raw == nil {
					old.OldRaw = u.OldRaw
				}
				old.Raw = u.Raw
			}
		}
	}
	for _, c := range s.Joined {
		if t := m.inserted[c.ID]; t != nil {
			at, _ := slices.BinarySearchFunc(t.Outputs, c.Output.Index, func(o Output, i uint32) int { return cmp.Compare(o.Index, i) })
			t.Outputs = slices.Insert(t.Outputs, at, c.Output)
		} else {
			once(m.credits, coinID{c.ID.Wallet, wire.OutPoint{Hash: c.ID.Hash, Index: c.Output.Index}}, &set.Joined, c)
		}
	}
	for _, p := range s.Spends {
		id := coinID{p.Wallet, p.OutPoint}
		if t := m.inserted[TxID{p.Wallet, p.OutPoint.Hash}]; t != nil {
			t.Output(p.OutPoint.Index).SpentBy = p.New
		} else if at, credited := m.credits[id]; credited {
			set.Joined[at].Output.SpentBy = p.New
		} else if old := once(m.spends, id, &set.Spends, p); old != nil {
			old.New = p.New
		}
	}
	set.Replaced = append(set.Replaced, s.Replaced...)
	set.Declared = append(set.Declared, s.Declared...)
	for _, c := range s.Leases {
		if old := once(m.leases, coinID{c.New.Wallet, c.New.OutPoint}, &set.Leases, c); old != nil {
			old.New = c.New
		}
	}
	for _, c := range s.Sums {
		amount := c.Amount
		c.Amount = 0
		m.sums.changes[m.sums.place(c)].Amount += amount
	}
	set.Sums = m.sums.changes
	switch {
	case set.Seq == SeqChange{}:
		set.Seq = s.Seq
	case s.Seq != SeqChange{}:
		set.Seq.New = s.Seq.New
	}
	set.Log = append(set.Log, s.Log...)
}

// once adds a change, or returns the one that there is of the same key.
func once[K comparable, C any](at map[K]int, key K, all *[]C, c C) *C {
	if i, again := at[key]; again {
		return &(*all)[i]
	}
	at[key] = len(*all)
	*all = append(*all, c)
	return nil
}

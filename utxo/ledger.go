package utxo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// Ledger keeps wallets in memory. It is the reference for every store, and
// enough for a host that replays its chain at start. It is not safe for
// concurrent use, its reads included.
type Ledger struct {
	policy  Policy
	blocks  map[int32]Block
	byBlock map[chainhash.Hash]int32
	tip     int32 // -1 for an empty chain
	books   map[WalletID]*book
	around  map[chainhash.Hash]*place
	heights map[int32][]*entry
	edges   map[TxID][]Replacement // at both ends
	arrived int64
	seq     int64
	walk    uint32 // number of the walk under way

	allEntries slab[entry]
	allPlaces  slab[place]
	allFrom    slab[*place]
	allOutputs slab[Output]
}

// place is what is stored around one hash, over all wallets.
type place struct {
	entries []*entry      // the transaction itself, one per wallet
	kids    spends[entry] // the conflict index: who has an output of it as an input
	walk    uint32

	oneEntry [1]*entry // most have no more: room for the first
	oneKid   [1]spend[entry]
}

// book is one wallet.
type book struct {
	Wallet
	owners      map[string]Owned // announced ones, by tag
	total       Balance          // without leases
	byTag       map[string]*Balance
	unspent     int      // number of live unspent outputs
	listed      []*entry // those with outputs that may be unspent
	unsorted    bool     // listed is out of order
	unconfirmed map[*entry]struct{}
	leases      map[wire.OutPoint]Lease
	ends        []Lease // the same, by end: those that are active are the last
}

// entry is a stored transaction.
type entry struct {
	tx      Tx
	raw     []byte
	arrival int64
	at      *place   // its own
	from    []*place // those of its inputs
	log     []*statemachine.Transition[TxID]
	listed  bool
	walk    uint32

	twoLines [2]*statemachine.Transition[TxID] // room for the first lines of log
}

// NewLedger returns an empty ledger.
func NewLedger(p Policy) *Ledger {
	return &Ledger{
		policy: p, tip: -1,
		blocks: map[int32]Block{}, byBlock: map[chainhash.Hash]int32{}, books: map[WalletID]*book{},
		around: map[chainhash.Hash]*place{}, heights: map[int32][]*entry{}, edges: map[TxID][]Replacement{},
	}
}

// Do plans an event and applies what it changes. An error changes nothing.
func (l *Ledger) Do(ev Event) (ChangeSet, error) { return l.DoAt(ev, time.Time{}) }

// DoAt is [Ledger.Do]; now is the time of an event that has none.
func (l *Ledger) DoAt(ev Event, now time.Time) (ChangeSet, error) {
	set, err := l.policy.PlanAt(l, ev, now)
	if err != nil {
		return ChangeSet{}, err
	}
	return set, l.Apply(set)
}

// Apply carries out a change set, all or nothing. A set that was not planned
// on this state is [statemachine.ErrConflict]. The ledger keeps parts of the
// set: do not change it afterwards.
func (l *Ledger) Apply(set ChangeSet) error {
	at, err := l.current(&set)
	if err != nil {
		return err
	}
	l.moveTip(set.Disconnect, set.Connect)
	for _, c := range set.Wallets {
		l.putWallet(c.Old, c.New)
	}
	for _, c := range set.Owners {
		l.books[c.New.Wallet].owners[c.New.Tag] = c.New
	}
	for _, t := range set.Inserts {
		l.insert(t)
	}
	for i := range set.Updates {
		l.update(at.updates[i], set.Updates[i].New)
	}
	for _, c := range set.Credits {
		l.credit(l.entry(c.ID), c.Output)
	}
	for i, s := range set.Spends {
		l.point(at.spends[i], s.OutPoint.Index, s.New)
	}
	for _, r := range set.Replaced {
		l.edge(r)
	}
	for _, c := range set.Leases {
		l.putLease(c.New)
	}
	l.seq = max(l.seq, set.Seq.New)
	for i := range set.Log {
		e := l.entry(set.Log[i].ID)
		e.log = append(e.log, &set.Log[i])
	}
	return nil
}

// Undo takes back the change set that was applied last.
func (l *Ledger) Undo(set ChangeSet) {
	for _, t := range set.Log {
		e := l.entry(t.ID)
		e.log = e.log[:len(e.log)-1]
	}
	if set.Seq.New > 0 {
		l.seq = set.Seq.Old
	}
	for _, c := range slices.Backward(set.Leases) {
		if c.Old.Until.IsZero() {
			c.Old = Lease{Wallet: c.New.Wallet, OutPoint: c.New.OutPoint}
		}
		l.putLease(c.Old)
	}
	for _, r := range slices.Backward(set.Replaced) {
		l.dropEdge(r)
	}
	for _, s := range slices.Backward(set.Spends) {
		l.point(l.entry(TxID{s.Wallet, s.OutPoint.Hash}), s.OutPoint.Index, s.Old)
	}
	for _, c := range slices.Backward(set.Credits) {
		l.uncredit(l.entry(c.ID), c.Output.Index)
	}
	for _, u := range slices.Backward(set.Updates) {
		l.update(l.entry(u.ID), u.Old)
	}
	for _, t := range slices.Backward(set.Inserts) {
		l.remove(l.entry(t.ID))
	}
	for _, c := range slices.Backward(set.Owners) {
		of := l.books[c.New.Wallet].owners
		if of[c.New.Tag] = c.Old; c.Old == (Owned{}) {
			delete(of, c.New.Tag)
		}
	}
	for _, c := range slices.Backward(set.Wallets) {
		l.putWallet(c.New, c.Old)
	}
	l.moveTip(set.Connect, set.Disconnect)
}

// targets are the entries that the parts of a change set are about, in the same
// order.
type targets struct{ updates, spends []*entry }

// current reports [statemachine.ErrConflict] unless the set fits what is stored.
func (l *Ledger) current(set *ChangeSet) (at targets, err error) {
	conflict := func(what any) (targets, error) { return at, fmt.Errorf("%v: %w", what, statemachine.ErrConflict) }
	if b := set.Disconnect; b != nil && (b.Height != l.tip || l.blocks[l.tip].Hash != b.Hash) {
		return conflict(b.Hash)
	}
	if b := set.Connect; b != nil {
		if _, taken := l.blocks[b.Height]; taken || l.tip >= 0 && b.Height > l.tip+1 {
			return conflict(b.Hash)
		}
	}
	if set.Seq.New > 0 && set.Seq.Old != l.seq {
		return conflict("the observation sequence")
	}
	for _, c := range set.Wallets {
		if b := l.books[c.New.ID]; c.Old.ID == 0 && b != nil || c.Old.ID != 0 && (b == nil || !b.same(c.Old)) {
			return conflict(fmt.Sprintf("wallet %d", c.New.ID))
		}
	}
	for _, c := range set.Owners {
		if b := l.books[c.New.Wallet]; b == nil || b.owners[c.New.Tag] != c.Old {
			return conflict(fmt.Sprintf("owner %q of wallet %d", c.New.Tag, c.New.Wallet))
		}
	}
	for _, t := range set.Inserts {
		if l.entry(t.ID) != nil || l.books[t.ID.Wallet] == nil {
			return conflict(t.ID)
		}
	}
	at.updates = make([]*entry, len(set.Updates))
	for i := range set.Updates {
		u := &set.Updates[i]
		e := l.entry(u.ID)
		if e == nil || e.tx.Version != u.FromVersion {
			return conflict(u.ID)
		}
		at.updates[i] = e
	}
	for _, c := range set.Credits {
		if e := l.entry(c.ID); e == nil || e.tx.Output(c.Output.Index) != nil {
			return conflict(c.ID)
		}
	}
	at.spends = make([]*entry, len(set.Spends))
	for i, s := range set.Spends {
		e := l.entry(TxID{s.Wallet, s.OutPoint.Hash})
		if e == nil {
			return conflict(s.OutPoint)
		}
		if out := e.tx.Output(s.OutPoint.Index); out == nil || out.SpentBy != s.Old {
			return conflict(s.OutPoint)
		}
		at.spends[i] = e
	}
	for _, c := range set.Leases {
		if b := l.books[c.New.Wallet]; b == nil || b.leases[c.New.OutPoint] != c.Old {
			return conflict(c.New.OutPoint)
		}
	}
	return at, nil
}

// entry returns the stored transaction, or nil.
func (l *Ledger) entry(id TxID) *entry {
	if p := l.around[id.Hash]; p != nil {
		return p.in(id.Wallet)
	}
	return nil
}

// in returns the transaction as a wallet knows it, or nil.
func (p *place) in(w WalletID) *entry {
	for _, e := range p.entries {
		if e.tx.ID.Wallet == w {
			return e
		}
	}
	return nil
}

// confirmed says whether any row of the transaction is.
func (p *place) confirmed() bool {
	return slices.ContainsFunc(p.entries, func(e *entry) bool { return e.tx.Confirmed() })
}

// moveTip takes one block off the chain and puts one on, nil for none. What
// matures, or becomes immature again, moves between the buckets.
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
	m := l.policy.maturity()
	is := l.tip
	lo, hi := min(was, is)-m, max(was, is)-m
	if int(hi-lo) > len(l.heights) {
		for _, es := range l.heights {
			l.mature(es, was, is)
		}
		return
	}
	for h := lo + 1; h <= hi; h++ {
		l.mature(l.heights[h], was, is)
	}
}

// mature moves coinbase money between the buckets of two tips.
func (l *Ledger) mature(es []*entry, was, is int32) {
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
			Wallet: w, owners: map[string]Owned{}, byTag: map[string]*Balance{}, unconfirmed: map[*entry]struct{}{}, leases: map[wire.OutPoint]Lease{},
		}
	default:
		l.books[w.ID].Wallet = w
	}
}

func (l *Ledger) insert(t *Tx) {
	l.arrived++
	e := l.allEntries.new()
	e.tx, e.raw, e.arrival = *t, t.Raw, l.arrived
	e.tx.Raw = nil
	e.tx.Outputs = l.allOutputs.cut(len(t.Outputs))
	copy(e.tx.Outputs, t.Outputs)
	e.log = e.twoLines[:0]
	e.at = l.place(t.ID.Hash)
	e.at.entries = append(e.at.entries, e)
	e.from = l.allFrom.cut(len(t.Inputs))
	for i, op := range t.Inputs {
		e.from[i] = l.place(op.Hash)
		e.from[i].kids = e.from[i].kids.with(op.Index, e)
	}
	l.file(e)
	l.count(e, +1)
	l.list(e)
}

func (l *Ledger) remove(e *entry) {
	l.count(e, -1)
	l.unfile(e)
	b := l.books[e.tx.ID.Wallet]
	b.listed = slices.DeleteFunc(b.listed, func(x *entry) bool { return x == e })
	for _, p := range e.from {
		p.kids = slices.DeleteFunc(p.kids, func(k spend[entry]) bool { return k.by == e })
	}
	e.at.entries = slices.DeleteFunc(e.at.entries, func(x *entry) bool { return x == e })
	l.arrived--
}

// place returns what is stored around a hash, to add to it.
func (l *Ledger) place(hash chainhash.Hash) *place {
	p := l.around[hash]
	if p == nil {
		p = l.allPlaces.new()
		p.entries, p.kids = p.oneEntry[:0], p.oneKid[:0]
		l.around[hash] = p
	}
	return p
}

// stored and kids return what is stored around a hash, over all wallets.
func (l *Ledger) stored(hash chainhash.Hash) []*entry {
	if p := l.around[hash]; p != nil {
		return p.entries
	}
	return nil
}

func (l *Ledger) kids(hash chainhash.Hash) spends[entry] {
	if p := l.around[hash]; p != nil {
		return p.kids
	}
	return nil
}

// file puts e into the indexes that depend on its state; unfile takes it out.
func (l *Ledger) file(e *entry) {
	if e.tx.Confirmed() {
		l.heights[e.tx.Height] = append(l.heights[e.tx.Height], e)
	} else if e.tx.Live() {
		l.books[e.tx.ID.Wallet].unconfirmed[e] = struct{}{}
	}
}

func (l *Ledger) unfile(e *entry) {
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

func (l *Ledger) update(e *entry, s TxState) {
	l.count(e, -1)
	l.unfile(e)
	e.tx.setState(s)
	l.file(e)
	l.count(e, +1)
	l.list(e)
}

func (l *Ledger) credit(e *entry, out Output) {
	l.count(e, -1)
	at := 0
	for at < len(e.tx.Outputs) && e.tx.Outputs[at].Index < out.Index {
		at++
	}
	e.tx.Outputs = slices.Insert(e.tx.Outputs, at, out)
	l.count(e, +1)
	l.list(e)
}

func (l *Ledger) uncredit(e *entry, index uint32) {
	l.count(e, -1)
	e.tx.Outputs = slices.DeleteFunc(e.tx.Outputs, func(o Output) bool { return o.Index == index })
	l.count(e, +1)
}

// point sets the live spender of an owned output.
func (l *Ledger) point(e *entry, index uint32, to chainhash.Hash) {
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
func (l *Ledger) list(e *entry) {
	if e.listed || !e.tx.Live() || !slices.ContainsFunc(e.tx.Outputs, func(o Output) bool { return !o.Spent() }) {
		return
	}
	b := l.books[e.tx.ID.Wallet]
	if n := len(b.listed); n > 0 && b.listed[n-1].arrival > e.arrival {
		b.unsorted = true
	}
	b.listed = append(b.listed, e)
	e.listed = true
}

// available calls each for every live unspent output in order of arrival, and
// forgets the entries that have none.
func (b *book) available(each func(*entry, *Output)) {
	if b.unsorted {
		slices.SortFunc(b.listed, byArrival)
		b.unsorted = false
	}
	b.listed = slices.DeleteFunc(b.listed, func(e *entry) bool {
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

func byArrival(a, b *entry) int { return cmp.Compare(a.arrival, b.arrival) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

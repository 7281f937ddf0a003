package utxo

import (
	"fmt"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// Ledger keeps wallets in memory. It is the reference for every store, and enough for a
// host that replays its chain at start. It is not safe for concurrent use, not even for
// concurrent reads.
type Ledger struct {
	policy   Policy
	clock    func() time.Time // nil for none
	blocks   map[int32]Block
	byBlock  map[chainhash.Hash]int32
	tip      int32 // -1 for an empty chain
	books    map[WalletID]*book
	vertices map[chainhash.Hash]*keptVertex
	heights  map[int32][]*keptRow
	edges    map[TxID][]Replacement // at both ends
	arrived  int64
	seq      int64
	walk     uint64 // number of the walk under way

	allRows     slab[keptRow]
	allVertices slab[keptVertex]
	allFrom     slab[*keptVertex]
	allOutputs  slab[Output]
}

// book is one wallet.
type book struct {
	Wallet
	owners      map[string]Owned // announced ones, by tag
	total       Balance          // without leases
	byTag       map[string]*Balance
	unspent     int        // number of live unspent outputs
	listed      []*keptRow // those with outputs that may be unspent
	unsorted    bool       // listed is out of order
	unconfirmed map[*keptRow]struct{}
	leases      map[wire.OutPoint]Lease
	ends        []Lease // the same, by end: those that are active are the last
}

// keptRow is a stored row of one wallet, as row in a plan.
type keptRow struct {
	tx     Tx
	raw    []byte
	at     *keptVertex   // its own
	from   []*keptVertex // those of its inputs
	log    []*statemachine.Transition[TxID]
	listed bool
	walk   uint64

	twoLines [2]*statemachine.Transition[TxID] // room for the first lines of log
}

// NewLedger returns an empty ledger.
func NewLedger(p Policy) *Ledger {
	return &Ledger{
		policy: p, tip: -1,
		blocks: map[int32]Block{}, byBlock: map[chainhash.Hash]int32{}, books: map[WalletID]*book{},
		vertices: map[chainhash.Hash]*keptVertex{}, heights: map[int32][]*keptRow{}, edges: map[TxID][]Replacement{},
	}
}

// SetClock gives the ledger the clock that [Ledger.Do] asks, such as time.Now. Without a
// clock the times of events count, and every event must have one.
func (l *Ledger) SetClock(now func() time.Time) { l.clock = now }

// Do plans an event at the time of the ledger's clock, see [Ledger.SetClock], and applies
// the change set. An error changes nothing.
func (l *Ledger) Do(ev Event) (ChangeSet, error) {
	if l.clock == nil {
		return l.DoAt(ev, time.Time{})
	}
	return l.DoAt(ev, l.clock())
}

// DoAt is [Ledger.Do] at a time of the caller's clock, see [statemachine.EventTime].
func (l *Ledger) DoAt(ev Event, now time.Time) (ChangeSet, error) {
	set, err := l.policy.PlanAt(l, ev, now)
	if err != nil {
		return ChangeSet{}, err
	}
	return set, l.Apply(set)
}

// Apply carries out a change set, all or nothing. A set that was planned on another state
// is [statemachine.ErrConflict]. The ledger keeps parts of the set: do not change it
// afterwards.
func (l *Ledger) Apply(set ChangeSet) error {
	at, err := l.current(&set)
	if err != nil {
		return err
	}
	for i := range set.Disconnect {
		l.moveTip(&set.Disconnect[i], nil)
	}
	for i := range set.Connect {
		l.moveTip(nil, &set.Connect[i])
	}
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
		if raw := set.Updates[i].Raw; raw != nil {
			at.updates[i].raw = raw
		}
	}
	for _, c := range set.Joined {
		l.credit(l.row(c.ID), c.Output)
	}
	for i, s := range set.Spends {
		l.point(at.spends[i], s.OutPoint.Index, s.New)
	}
	for _, r := range set.Replaced {
		l.edge(r)
	}
	for _, r := range set.Declared {
		l.dropEdge(r.byEvidence())
		l.edge(r)
	}
	for _, c := range set.Leases {
		l.putLease(c.New)
	}
	l.seq = max(l.seq, set.Seq.New)
	for i := range set.Log {
		e := l.row(set.Log[i].ID)
		e.log = append(e.log, &set.Log[i])
	}
	return nil
}

// Undo takes back the change set that was applied last.
func (l *Ledger) Undo(set ChangeSet) {
	for _, t := range set.Log {
		e := l.row(t.ID)
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
	for _, r := range slices.Backward(set.Declared) {
		l.dropEdge(r)
		l.edge(r.byEvidence())
	}
	for _, r := range slices.Backward(set.Replaced) {
		l.dropEdge(r)
	}
	for _, s := range slices.Backward(set.Spends) {
		l.point(l.row(TxID{s.Wallet, s.OutPoint.Hash}), s.OutPoint.Index, s.Old)
	}
	for _, c := range slices.Backward(set.Joined) {
		l.uncredit(l.row(c.ID), c.Output.Index)
	}
	for _, u := range slices.Backward(set.Updates) {
		l.update(l.row(u.ID), u.Old)
		if u.Raw != nil {
			l.row(u.ID).raw = u.OldRaw
		}
	}
	for _, t := range slices.Backward(set.Inserts) {
		l.remove(l.row(t.ID))
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
	for i := range slices.Backward(set.Connect) {
		l.moveTip(&set.Connect[i], nil)
	}
	for i := range slices.Backward(set.Disconnect) {
		l.moveTip(nil, &set.Disconnect[i])
	}
}

// targets are the rows that the updates and the spends of a change set are about, in the
// same order.
type targets struct{ updates, spends []*keptRow }

// current reports [statemachine.ErrConflict] unless the set fits what is stored.
func (l *Ledger) current(set *ChangeSet) (at targets, err error) {
	conflict := func(what any) (targets, error) { return at, fmt.Errorf("%v: %w", what, statemachine.ErrConflict) }
	for i, b := range set.Disconnect { // several are one above the other
		if tip := l.tip - int32(i); b.Height != tip || l.blocks[tip].Hash != b.Hash {
			return conflict(b.Hash)
		}
	}
	tip := l.tip
	for _, b := range set.Connect {
		if _, taken := l.blocks[b.Height]; taken || tip >= 0 && b.Height-1 > tip {
			return conflict(b.Hash)
		}
		tip = max(tip, b.Height)
	}
	if set.Seq.New > 0 && set.Seq.Old != l.seq {
		return conflict("the observation sequence")
	}
	for _, c := range set.Wallets {
		if b := l.books[c.New.ID]; c.Old.ID == 0 && b != nil || c.Old.ID != 0 && (b == nil || !b.same(c.Old)) {
			return conflict(fmt.Sprintf("wallet %d", c.New.ID))
		}
	}
	open := func(id WalletID) *book { // the set may open it
		if b := l.books[id]; b != nil || !slices.ContainsFunc(set.Wallets, func(c WalletChange) bool { return c.New.ID == id }) {
			return b
		}
		return new(book)
	}
	for _, c := range set.Owners {
		if b := open(c.New.Wallet); b == nil || b.owners[c.New.Tag] != c.Old {
			return conflict(fmt.Sprintf("owner %q of wallet %d", c.New.Tag, c.New.Wallet))
		}
	}
	for _, t := range set.Inserts {
		if l.row(t.ID) != nil || open(t.ID.Wallet) == nil {
			return conflict(t.ID)
		}
	}
	at.updates = make([]*keptRow, len(set.Updates))
	for i := range set.Updates {
		u := &set.Updates[i]
		e := l.row(u.ID)
		if e == nil || e.tx.Version != u.FromVersion {
			return conflict(u.ID)
		}
		at.updates[i] = e
	}
	for _, c := range set.Joined {
		if e := l.row(c.ID); e == nil || e.tx.Output(c.Output.Index) != nil {
			return conflict(c.ID)
		}
	}
	at.spends = make([]*keptRow, len(set.Spends))
	for i, s := range set.Spends {
		e := l.row(TxID{s.Wallet, s.OutPoint.Hash})
		if e == nil {
			return conflict(s.OutPoint)
		}
		if out := e.tx.Output(s.OutPoint.Index); out == nil || out.SpentBy != s.Old {
			return conflict(s.OutPoint)
		}
		at.spends[i] = e
	}
	for _, r := range set.Declared {
		if e := r.byEvidence(); !slices.Contains(l.edges[TxID{r.Wallet, r.Loser}], e) && !slices.Contains(set.Replaced, e) {
			return conflict(r)
		}
	}
	for _, c := range set.Leases {
		if b := open(c.New.Wallet); b == nil || b.leases[c.New.OutPoint] != c.Old {
			return conflict(c.New.OutPoint)
		}
	}
	return at, nil
}

// row returns the stored row, or nil.
func (l *Ledger) row(id TxID) *keptRow {
	if p := l.vertices[id.Hash]; p != nil {
		return p.in(id.Wallet)
	}
	return nil
}

// in returns the transaction as a wallet knows it, or nil.
func (p *keptVertex) in(w WalletID) *keptRow {
	for _, e := range p.rows {
		if e.tx.ID.Wallet == w {
			return e
		}
	}
	return nil
}

// confirmed says whether any row of the transaction is.
func (p *keptVertex) confirmed() bool {
	return slices.ContainsFunc(p.rows, func(e *keptRow) bool { return e.tx.Confirmed() })
}

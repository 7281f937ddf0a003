package utxotest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// Model is a wallet without any index, cache or running sum: one list of
// transactions that every question walks from end to end. The live spender of
// an output is not stored at all but looked for. An event is applied to a copy,
// which is thrown away if the event is refused.
type Model struct {
	policy  utxo.Policy
	events  []utxo.Event // those accepted, in order
	blocks  []utxo.Block // in order of arrival
	wallets []utxo.Wallet
	rows    []*row // in order of arrival
	edges   []utxo.Replacement
	leases  []utxo.Lease
	used    map[step]int
}

// step is one step of a transaction's status.
type step = statemachine.Edge[utxo.Status, utxo.Trigger]

// row is a transaction as one wallet knows it.
type row struct {
	wallet    utxo.WalletID
	hash      chainhash.Hash
	tx        *wire.MsgTx
	coinbase  bool
	status    utxo.Status
	height    int32
	position  int32
	firstSeen time.Time
	seq       int64
	label     string
	tags      map[uint32]string // owner of each owned output, by index
}

// NewModel returns the wallet of an empty store.
func NewModel(p utxo.Policy) *Model {
	return &Model{policy: p, used: map[step]int{}}
}

// Events returns the accepted events in order.
func (m *Model) Events() []utxo.Event { return m.events }

// Used counts the steps that transactions took since the model was new. The
// extension text of the edges is empty.
func (m *Model) Used() map[statemachine.Edge[utxo.Status, utxo.Trigger]]int { return m.used }

// Apply does what the event says, or refuses it and changes nothing.
func (m *Model) Apply(ev utxo.Event) error {
	next := m.clone()
	if err := next.do(ev); err != nil {
		return fmt.Errorf("%T is refused: %w", ev, err)
	}
	next.events = append(m.events, ev)
	*m = *next
	return nil
}

func (m *Model) clone() *Model {
	c := *m
	c.blocks = slices.Clone(m.blocks)
	c.wallets = slices.Clone(m.wallets)
	for i := range c.wallets {
		c.wallets[i].Behind = slices.Clone(m.wallets[i].Behind)
	}
	c.rows = nil
	for _, r := range m.rows {
		copied := *r
		copied.tags = maps.Clone(r.tags)
		c.rows = append(c.rows, &copied)
	}
	c.used = maps.Clone(m.used)
	c.edges = slices.Clone(m.edges)
	c.leases = slices.Clone(m.leases)
	return &c
}

func (m *Model) do(ev utxo.Event) error {
	switch ev := ev.(type) {
	case utxo.WalletOpened:
		return m.opened(ev)
	case utxo.Submitted:
		return m.submitted(ev)
	case utxo.Broadcasted:
		return m.broadcasted(ev)
	case utxo.Observed:
		return m.observed(ev)
	case utxo.Connected:
		return m.connected(ev)
	case utxo.Disconnected:
		return m.disconnected(ev)
	case utxo.Invalidated:
		return m.invalidated(ev)
	case utxo.OutputRevealed:
		return m.revealed(ev)
	case utxo.Labelled:
		return m.labelled(ev)
	case utxo.OutputsLeased:
		return m.leased(ev)
	case utxo.LeasesRenewed:
		return m.renewed(ev)
	case utxo.LeasesReleased:
		return m.released(ev)
	}
	return fmt.Errorf("%w: unknown event", statemachine.ErrInvalid)
}

// insert stores a transaction that exists in no state yet.
func (m *Model) insert(w utxo.WalletID, tx *wire.MsgTx, at time.Time) *row {
	r := &row{
		wallet: w, hash: tx.TxHash(), tx: tx.Copy(), coinbase: isCoinbase(tx),
		height: utxo.Unconfirmed, firstSeen: micros(at), tags: map[uint32]string{},
	}
	m.rows = append(m.rows, r)
	return r
}

// move gives a transaction its next status and counts the step.
func (m *Model) move(r *row, on utxo.Trigger, to utxo.Status) {
	m.used[step{From: r.status, Trigger: on, To: to}]++
	r.status = to
}

// credit adds the outputs of r that the policy says are the wallet's and that
// are not credited yet. Nothing in block 0 is ever credited.
func (m *Model) credit(r *row) {
	if r.height == 0 {
		return
	}
	added := false
	for i, out := range r.tx.TxOut {
		owner, ok := m.owner(out.PkScript)
		if _, have := r.tags[uint32(i)]; ok && !have && owner.Wallet == r.wallet {
			r.tags[uint32(i)] = owner.Tag
			added = true
		}
	}
	if added && r.status != 0 {
		m.move(r, utxo.OnRevealed, r.status)
	}
}

func (m *Model) owner(script []byte) (utxo.Owner, bool) {
	return m.policy.Owner(script)
}

// checkOwners refuses a transaction with an output of a wallet that is not open.
func (m *Model) checkOwners(txs ...*wire.MsgTx) error {
	for _, tx := range txs {
		for _, out := range tx.TxOut {
			if owner, ok := m.owner(out.PkScript); ok && m.wallet(owner.Wallet) == nil {
				return fmt.Errorf("%w: an output belongs to wallet %d, which is not open", statemachine.ErrInvalid, owner.Wallet)
			}
		}
	}
	return nil
}

func (m *Model) wallet(id utxo.WalletID) *utxo.Wallet {
	for i := range m.wallets {
		if m.wallets[i].ID == id {
			return &m.wallets[i]
		}
	}
	return nil
}

// walletIDs returns the open wallets in order of their ids.
func (m *Model) walletIDs() []utxo.WalletID {
	var ids []utxo.WalletID
	for _, w := range m.wallets {
		ids = append(ids, w.ID)
	}
	slices.Sort(ids)
	return ids
}

func (m *Model) row(w utxo.WalletID, hash chainhash.Hash) *row {
	for _, r := range m.rows {
		if r.wallet == w && r.hash == hash {
			return r
		}
	}
	return nil
}

func (m *Model) mustRow(id utxo.TxID) (*row, error) {
	if r := m.row(id.Wallet, id.Hash); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("%w: transaction %s", statemachine.ErrNotFound, id)
}

func (r *row) live() bool {
	return r.status == utxo.Pending || r.status == utxo.Published
}

func (r *row) dead() bool { return r.status != 0 && !r.live() }

func (r *row) confirmed() bool { return r.height != utxo.Unconfirmed }

// spends reports whether op is an input of r.
func (r *row) spends(op wire.OutPoint) bool { return spends(r.tx, op) }

func spends(tx *wire.MsgTx, op wire.OutPoint) bool {
	for _, in := range tx.TxIn {
		if in.PreviousOutPoint == op && !isNull(op) {
			return true
		}
	}
	return false
}

// childOf reports whether r spends an output of parent, in the same wallet.
func (r *row) childOf(parent *row) bool {
	return r.wallet == parent.wallet && isChild(r.tx, parent.hash)
}

func isChild(tx *wire.MsgTx, parent chainhash.Hash) bool {
	for _, in := range tx.TxIn {
		if in.PreviousOutPoint.Hash == parent && !isNull(in.PreviousOutPoint) {
			return true
		}
	}
	return false
}

// rivalOf reports whether two transactions of one wallet share an input.
func (r *row) rivalOf(other *row) bool {
	return r.wallet == other.wallet && r.hash != other.hash && sharesInput(r.tx, other.tx)
}

func sharesInput(a, b *wire.MsgTx) bool {
	for _, in := range a.TxIn {
		if spends(b, in.PreviousOutPoint) {
			return true
		}
	}
	return false
}

// spentTwice reports whether an outpoint occurs twice among the inputs.
func spentTwice(txs ...*wire.MsgTx) bool {
	seen := map[wire.OutPoint]bool{}
	for _, tx := range txs {
		for _, in := range tx.TxIn {
			if op := in.PreviousOutPoint; !isNull(op) {
				if seen[op] {
					return true
				}
				seen[op] = true
			}
		}
	}
	return false
}

func isNull(op wire.OutPoint) bool {
	return op.Hash == chainhash.Hash{} && op.Index == wire.MaxPrevOutIndex
}

func isCoinbase(tx *wire.MsgTx) bool {
	return len(tx.TxIn) == 1 && isNull(tx.TxIn[0].PreviousOutPoint)
}

// wellFormed says what no transaction may be: nothing, without inputs, without
// outputs, one that spends the null outpoint and is no coinbase, or one that
// spends an outpoint twice.
func wellFormed(tx *wire.MsgTx) error {
	if tx == nil || len(tx.TxIn) == 0 || len(tx.TxOut) == 0 {
		return fmt.Errorf("%w: a transaction has inputs and outputs", statemachine.ErrInvalid)
	}
	for _, in := range tx.TxIn {
		if isNull(in.PreviousOutPoint) && len(tx.TxIn) > 1 {
			return fmt.Errorf("%w: only a coinbase spends the null outpoint", statemachine.ErrInvalid)
		}
	}
	if spentTwice(tx) {
		return fmt.Errorf("%w: %s spends an outpoint twice", utxo.ErrSelfConflict, tx.TxHash())
	}
	return nil
}

func micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Snapshot returns everything that has to be stored, in the order of
// [utxo.Snapshot]. The versions are zero: the model has none.
func (m *Model) Snapshot() utxo.Snapshot {
	var s utxo.Snapshot
	s.Blocks = slices.Clone(m.blocks)
	slices.SortFunc(s.Blocks, func(a, b utxo.Block) int { return cmp.Compare(a.Height, b.Height) })
	for _, id := range m.walletIDs() {
		w := *m.wallet(id)
		w.Behind = slices.Clone(w.Behind)
		slices.SortFunc(w.Behind, func(a, b utxo.OwnerScan) int { return cmp.Compare(a.Tag, b.Tag) })
		s.Wallets = append(s.Wallets, w)
	}
	for _, r := range m.rows {
		s.Txs = append(s.Txs, m.stored(r))
	}
	slices.SortFunc(s.Txs, func(a, b *utxo.Tx) int {
		return cmp.Or(cmp.Compare(a.ID.Wallet, b.ID.Wallet), bytes.Compare(a.ID.Hash[:], b.ID.Hash[:]))
	})
	s.Replaced = slices.Clone(m.edges)
	slices.SortFunc(s.Replaced, func(a, b utxo.Replacement) int {
		return cmp.Or(cmp.Compare(a.Wallet, b.Wallet), bytes.Compare(a.Loser[:], b.Loser[:]), bytes.Compare(a.Winner[:], b.Winner[:]))
	})
	s.Leases = slices.Clone(m.leases)
	slices.SortFunc(s.Leases, func(a, b utxo.Lease) int {
		return cmp.Or(cmp.Compare(a.Wallet, b.Wallet), compareOutPoints(a.OutPoint, b.OutPoint))
	})
	return s
}

func compareOutPoints(a, b wire.OutPoint) int {
	return cmp.Or(bytes.Compare(a.Hash[:], b.Hash[:]), cmp.Compare(a.Index, b.Index))
}

// stored returns the record of one transaction.
func (m *Model) stored(r *row) *utxo.Tx {
	tx := &utxo.Tx{
		ID: utxo.TxID{Wallet: r.wallet, Hash: r.hash}, Status: r.status, Height: r.height, Position: r.position,
		Coinbase: r.coinbase, FirstSeen: r.firstSeen, Seq: r.seq, Label: r.label,
	}
	for _, in := range r.tx.TxIn {
		if !isNull(in.PreviousOutPoint) {
			tx.Inputs = append(tx.Inputs, in.PreviousOutPoint)
		}
	}
	for i, out := range r.tx.TxOut {
		if tag, ok := r.tags[uint32(i)]; ok {
			op := wire.OutPoint{Hash: r.hash, Index: uint32(i)}
			tx.Outputs = append(tx.Outputs, utxo.Output{
				Index: uint32(i), Amount: out.Value, Script: out.PkScript, Tag: tag, SpentBy: m.spentBy(r.wallet, op),
			})
		}
	}
	var raw bytes.Buffer
	if err := r.tx.Serialize(&raw); err == nil {
		tx.Raw = raw.Bytes()
	}
	return tx
}

// spentBy looks for the live spender of an output: the published one, else the
// pending one that came first; the zero hash if there is none.
func (m *Model) spentBy(w utxo.WalletID, op wire.OutPoint) chainhash.Hash {
	for _, r := range m.rows {
		if r.wallet == w && r.status == utxo.Published && r.spends(op) {
			return r.hash
		}
	}
	for _, r := range m.rows {
		if r.wallet == w && r.status == utxo.Pending && r.spends(op) {
			return r.hash
		}
	}
	return chainhash.Hash{}
}

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

// Model is a store of wallets without any index, cache or running sum. It has a list of
// transactions, with what evidence says of each, and a list of the rows that wallets have
// of them; every question walks these lists from end to end. The live spender of an output
// is not stored but looked for. An event is applied to a copy, which is thrown away if the
// event is refused.
type Model struct {
	policy  utxo.Policy
	events  []utxo.Event  // those accepted, in order
	blocks  []utxo.Block  // in order of arrival
	wallets []utxo.Wallet // late owners one by one
	owners  []utxo.Owned
	facts   []*fact // in order of arrival
	rows    []*row  // in order of arrival
	edges   []utxo.Replacement
	leases  []utxo.Lease
	seq     int64
	used    map[step]int
	refused map[int]error // of the last list

	// During one event:
	shown  []*fact                    // what it shows, or proves
	won    [][2]*fact                 // loser and winner
	core   map[*row]bool              // before it
	tags   map[*row]map[uint32]string // before it
	had    map[*fact][]*row           // the rows before it
	before []utxo.Replacement         // the edges before it
}

// step is one step of a transaction's status.
type step = statemachine.Edge[utxo.Status, utxo.Trigger]

// fact is a transaction, the same for all wallets.
type fact struct {
	hash      chainhash.Hash
	tx        *wire.MsgTx // as it was met first; rows have bytes of their own
	proof     *wire.MsgTx // as the event under way shows it, nil where it says nothing of the witnesses
	coinbase  bool
	status    utxo.Status // that of its liveliest row; 0 if nothing is known of it
	height    int32
	position  int32
	firstSeen time.Time
	seq       int64
	public    bool // the network has had it
}

// row is a transaction as one wallet knows it.
type row struct {
	*fact
	wallet utxo.WalletID
	bytes  *wire.MsgTx // with the signatures that the wallet knows of
	status utxo.Status // the fact's, unless it is or was pending
	label  string
	tags   map[uint32]string // owner of each owned output, by index
}

// NewModel returns the wallets of an empty store.
func NewModel(p utxo.Policy) *Model {
	return &Model{policy: p, used: map[step]int{}}
}

// Events returns the accepted events in order.
func (m *Model) Events() []utxo.Event { return m.events }

// Used counts the steps that transactions took since the model was new. The extension text
// of its edges is empty.
func (m *Model) Used() map[statemachine.Edge[utxo.Status, utxo.Trigger]]int { return m.used }

// Refused returns what was refused of the last mempool list, by its place there.
func (m *Model) Refused() map[int]error { return m.refused }

// Apply does what the event says, or refuses it and changes nothing.
func (m *Model) Apply(ev utxo.Event) error {
	next := m.clone()
	m.refused, next.refused = nil, nil
	if err := next.do(ev); err != nil {
		return fmt.Errorf("%T is refused: %w", ev, err)
	}
	next.settle()
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
	c.owners = slices.Clone(m.owners)
	c.facts, c.rows = nil, nil
	same := map[*fact]*fact{}
	for _, f := range m.facts {
		copied := *f
		copied.proof = nil
		c.facts = append(c.facts, &copied)
		same[f] = &copied
	}
	c.shown, c.won, c.core, c.had, c.tags = nil, nil, map[*row]bool{}, map[*fact][]*row{}, map[*row]map[uint32]string{}
	for _, r := range m.rows {
		copied := *r
		copied.fact = same[r.fact]
		copied.tags = maps.Clone(r.tags)
		c.rows = append(c.rows, &copied)
		c.had[copied.fact] = append(c.had[copied.fact], &copied)
		c.tags[&copied] = maps.Clone(r.tags)
	}
	for _, r := range c.rows {
		c.core[r] = c.isCore(r)
	}
	c.used = maps.Clone(m.used)
	c.edges = slices.Clone(m.edges)
	c.before = slices.Clone(m.edges)
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
	case utxo.OwnersAnnounced:
		return m.announced(ev)
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

// fact returns what is known of a transaction, new if that is nothing.
func (m *Model) fact(tx *wire.MsgTx, at time.Time) *fact {
	if f := m.known(tx.TxHash()); f != nil {
		return f
	}
	f := &fact{hash: tx.TxHash(), tx: tx.Copy(), coinbase: isCoinbase(tx), height: utxo.Unconfirmed, firstSeen: micros(at)}
	m.facts = append(m.facts, f)
	return f
}

func (m *Model) known(hash chainhash.Hash) *fact {
	for _, f := range m.facts {
		if f.hash == hash {
			return f
		}
	}
	return nil
}

// show says that an event is evidence of a transaction.
func (m *Model) show(tx *wire.MsgTx, at time.Time) *fact {
	f := m.fact(tx, at)
	m.show1(f)
	return f
}

func (m *Model) show1(f *fact) {
	if !slices.Contains(m.shown, f) {
		m.shown = append(m.shown, f)
	}
}

// move gives a transaction its next status, in all rows, and counts the steps.
func (m *Model) move(f *fact, on utxo.Trigger, to utxo.Status) {
	alive := to == utxo.Pending || to == utxo.Published
	for _, r := range m.rows {
		if r.fact == f && (alive || r.live()) {
			by := on
			if on == onBroadcast && r.dead() {
				by = onProven
			}
			m.moveRow(r, by, to)
		}
	}
	f.status = to
}

func (m *Model) moveRow(r *row, on utxo.Trigger, to utxo.Status) {
	m.used[step{From: r.status, Trigger: on, To: to}]++
	r.status = to
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

func (f *fact) live() bool { return f.status == utxo.Pending || f.status == utxo.Published }

func (f *fact) confirmed() bool { return f.height != utxo.Unconfirmed }

// Snapshot returns everything that has to be stored, in the order of [utxo.Snapshot]. The
// versions are zero, since the model has none.
func (m *Model) Snapshot() utxo.Snapshot {
	var s utxo.Snapshot
	s.Blocks = slices.Clone(m.blocks)
	slices.SortFunc(s.Blocks, func(a, b utxo.Block) int { return cmp.Compare(a.Height, b.Height) })
	for _, id := range m.walletIDs() {
		w := *m.wallet(id)
		w.Behind = slices.Clone(w.Behind)
		tip := m.tip()
		w.Follows = tip != nil && w.ScannedTo == tip.Height
		s.Wallets = append(s.Wallets, w)
	}
	s.Owners = slices.Clone(m.owners)
	slices.SortFunc(s.Owners, func(a, b utxo.Owned) int { return cmp.Or(cmp.Compare(a.Wallet, b.Wallet), cmp.Compare(a.Tag, b.Tag)) })
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
		Coinbase: r.coinbase, FirstSeen: r.firstSeen, Seq: r.seq, Label: r.label, Context: !m.isCore(r), Public: r.public,
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
	if err := r.bytes.Serialize(&raw); err == nil {
		tx.Raw = raw.Bytes()
	}
	return tx
}

// spentBy looks for the live spender of an output: the published one, else the pending one
// that came first; the zero hash if there is none.
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

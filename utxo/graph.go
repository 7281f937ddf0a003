package utxo

import (
	"maps"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// graph is the part of the chain that one event touches, over all wallets of the store: a
// vertex for each transaction, with what evidence says of it, and a row for each wallet
// that has the transaction. The walks go over vertices, so no rule depends on which wallet
// happened to store a transaction.
type graph struct {
	r        Reader
	scope    WalletID // the wallet whose lock is enough, zero for all
	wide     bool     // it was not enough
	vertices map[chainhash.Hash]*vertex
	changed  []*vertex // whose inputs may have another spender now
	fresh    []*row    // new, or with new outputs
	respent  []*row    // stored, with outputs that change
	steps    []step    // one per line of the log
	mark     uint32    // number of the walk under way

	allRows     slab[row]
	allVertices slab[vertex]
	allFrom     slab[*vertex]
}

// vertex is one transaction. A vertex that is known only from an input of another
// transaction has no status and no inputs.
type vertex struct {
	hash chainhash.Hash
	facts
	inputs []wire.OutPoint
	from   []*vertex      // those of its inputs
	kids   spends[vertex] // who has an output of it as an input
	rows   []*row         // one per wallet
	shown  *seen          // as the event, or its raw bytes, show it

	proof     []byte  // the bytes that evidence of the event shows; nil where no row has to change for them
	shownOn   Trigger // by which evidence the event shows it; 0 if it does not
	listed    bool    // the mempool list under way has it
	changed   bool    // is in graph.changed
	parentsIn bool    // its parents are loaded
	rivalsIn  bool    // everything that shares an input with it is loaded
	kidsIn    bool    // everything that spends an output of it is loaded

	lifted, rival, lost uint32 // numbers of the walks that lifted, opposed or lost it
	place               int    // in the lift

	oneRow [1]*row // most have no more: room for the first
	oneKid [1]spend[vertex]
}

// facts are what evidence says of a transaction. They are the same in every row of it,
// except that a pending row is the affair of its wallet alone.
type facts struct {
	status   Status
	height   int32 // of its block, or [Unconfirmed]
	position int32
	seq      int64
	coinbase bool
	public   bool // evidence has spoken, now or before: see [Tx.Public]
}

// row is that of one wallet: what is stored and what it becomes.
type row struct {
	tx  Tx
	old *Tx // nil for a new one

	at   *vertex
	last int // its last line in the log, counted from 1; 0 for none

	oldRaw     []byte // what tx.Raw replaces; nil while the stored bytes stay
	ownOutputs bool   // tx.Outputs is not shared with old any more
	summed     bool   // its sums are in the set
}

// step says whose a line of the log is.
type step struct {
	of     *row
	before int // its line before, counted from 1; 0 for none
}

func newGraph(r Reader) *graph { return &graph{r: r, vertices: map[chainhash.Hash]*vertex{}} }

func (f *facts) live() bool      { return f.status == Pending || f.status == Published }
func (f *facts) confirmed() bool { return f.height != Unconfirmed }

// in returns the row of a wallet, or nil.
func (v *vertex) in(w WalletID) *row {
	for _, n := range v.rows {
		if n.tx.ID.Wallet == w {
			return n
		}
	}
	return nil
}

// owner calls each for the rows that own an output.
func (v *vertex) owner(index uint32, each func(*row, *Output)) {
	for _, n := range v.rows {
		if out := n.tx.Output(index); out != nil {
			each(n, out)
		}
	}
}

// get returns the row of a known transaction, or nil.
func (g *graph) get(id TxID) *row {
	if v := g.vertices[id.Hash]; v != nil {
		return v.in(id.Wallet)
	}
	return nil
}

// vertex returns what is known around a hash, to add to it.
func (g *graph) vertex(hash chainhash.Hash) *vertex {
	v := g.vertices[hash]
	if v == nil {
		v = g.allVertices.new()
		v.hash, v.height = hash, Unconfirmed
		v.rows, v.kids = v.oneRow[:0], v.oneKid[:0]
		g.vertices[hash] = v
	}
	return v
}

// link tells a vertex its inputs.
func (g *graph) link(v *vertex, inputs []wire.OutPoint, coinbase bool) {
	if v.from != nil || coinbase {
		v.coinbase = coinbase
		return
	}
	v.inputs, v.from = inputs, g.allFrom.cut(len(inputs))
	for i, op := range inputs {
		v.from[i] = g.vertex(op.Hash)
		v.from[i].kids = v.from[i].kids.with(op.Index, v, func(*vertex, *vertex) bool { return false })
	}
}

// add returns a new row of v.
func (g *graph) add(v *vertex, tx Tx, old *Tx) *row {
	n := g.allRows.new()
	n.tx, n.old, n.at = tx, old, v
	v.rows = append(v.rows, n)
	if g.scope != 0 && tx.ID.Wallet != g.scope && !tx.Confirmed() {
		g.wide = true
	}
	return n
}

func (g *graph) load(txs []*Tx, err error) error {
	if err != nil {
		return err
	}
	g.room(len(txs))
	for _, t := range txs {
		v := g.vertex(t.ID.Hash)
		if v.in(t.ID.Wallet) != nil {
			continue
		}
		g.add(v, *t, t)
		g.link(v, t.Inputs, t.Coinbase)
		v.learn(t)
	}
	return nil
}

// learn takes the facts of a row into the vertex. The rows of a transaction differ only
// where one is pending, or was given up while it was pending: the vertex then has the facts
// of its liveliest row.
func (v *vertex) learn(t *Tx) {
	if rank(t.Status) > rank(v.status) {
		v.facts = facts{t.Status, t.Height, t.Position, t.Seq, t.Coinbase, t.Public}
	}
}

func rank(s Status) int {
	switch s {
	case 0:
		return 0
	case Published:
		return 3
	case Pending:
		return 2
	}
	return 1
}

// room prepares the graph for n more transactions. Where n is large, it makes one big map
// at once, which is cheaper than many rehashes.
func (g *graph) room(n int) {
	g.allRows.expect(n)
	g.allVertices.expect(n)
	if n > len(g.vertices) {
		bigger := make(map[chainhash.Hash]*vertex, len(g.vertices)+n)
		maps.Copy(bigger, g.vertices)
		g.vertices = bigger
	}
}

// loadRows makes the rows of these transactions known, in every wallet.
func (g *graph) loadRows(hashes []chainhash.Hash) error {
	if len(hashes) == 0 {
		return nil
	}
	ids := make([]TxID, len(hashes))
	for i, h := range hashes {
		ids[i].Hash = h
	}
	return g.load(g.r.Txs(ids...))
}

// loadKids makes everything known that spends one of these.
func (g *graph) loadKids(vs []*vertex) error {
	var hashes []chainhash.Hash
	for _, v := range vs {
		if !v.kidsIn {
			v.kidsIn = true
			hashes = append(hashes, v.hash)
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	return g.load(g.r.Children(hashes...))
}

// loadParents makes the stored parents of these known.
func (g *graph) loadParents(vs []*vertex) error {
	var hashes []chainhash.Hash
	for _, v := range vs {
		if v.parentsIn {
			continue
		}
		v.parentsIn = true
		for i, p := range v.from {
			if len(p.rows) == 0 && p.shown == nil && (i == 0 || v.from[i-1] != p) {
				hashes = append(hashes, p.hash)
			}
		}
	}
	return g.loadRows(hashes)
}

// loadRivals makes everything known that shares an input with one of these.
func (g *graph) loadRivals(vs []*vertex) error {
	inputs := 0
	for _, v := range vs {
		if !v.rivalsIn {
			inputs += len(v.inputs)
		}
	}
	if inputs == 0 {
		return nil
	}
	ops := make([]wire.OutPoint, 0, inputs)
	for _, v := range vs {
		if !v.rivalsIn {
			v.rivalsIn = true
			ops = append(ops, v.inputs...)
		}
	}
	return g.load(g.r.Spenders(ops...))
}

// withDescendants returns these vertices followed by their live descendants, and marks them
// as lost. The walk does not go below a confirmed vertex.
func (g *graph) withDescendants(from []*vertex) ([]*vertex, error) {
	hashes := make([]chainhash.Hash, 0, len(from))
	for _, v := range from {
		if !v.confirmed() {
			hashes = append(hashes, v.hash)
		}
	}
	if len(hashes) > 0 {
		if err := g.load(g.r.Descendants(hashes...)); err != nil {
			return nil, err
		}
	}
	g.mark++
	all := slices.Clone(from)
	for _, v := range all {
		v.lost = g.mark
	}
	for i := 0; i < len(all); i++ {
		v := all[i]
		if v.confirmed() {
			continue
		}
		for _, s := range v.kids {
			if kid := s.by; kid.lost != g.mark && kid.live() {
				kid.lost = g.mark
				all = append(all, kid)
			}
		}
	}
	return all, nil
}

// withUnconfirmedAncestors returns v and its known unconfirmed ancestors, and loads all
// their parents. The walk ends at confirmed ones, which are not returned.
func (g *graph) withUnconfirmedAncestors(v *vertex) ([]*vertex, error) {
	if err := g.loadParents([]*vertex{v}); err != nil {
		return nil, err
	}
	var hashes []chainhash.Hash
	for _, p := range v.from {
		if p.status != 0 && !p.confirmed() {
			hashes = append(hashes, p.hash)
		}
	}
	all := []*vertex{v}
	if len(hashes) == 0 {
		return all, nil
	}
	if err := g.load(g.r.Ancestors(NotConfirmed, hashes...)); err != nil {
		return nil, err
	}
	g.mark++
	v.lost = g.mark
	for next := 0; next < len(all); next++ {
		for _, p := range all[next].from {
			if p.status != 0 && !p.confirmed() && p.lost != g.mark {
				p.lost = g.mark
				all = append(all, p)
			}
		}
	}
	return all, g.loadParents(all)
}

// claimant returns the live transaction that spends an output of a wallet, the zero hash
// for none: a published one before a pending one, then the first to arrive. A pending
// transaction that only another wallet has does not count.
func (v *vertex) claimant(w WalletID, index uint32) chainhash.Hash {
	var first *row
	for _, s := range v.kids.of(index) {
		if n := s.by.in(w); n != nil && n.tx.Live() && (first == nil || n.before(first)) {
			first = n
		}
	}
	if first == nil {
		return none
	}
	return first.tx.ID.Hash
}

// before reports whether n, rather than m, is the spender of an output that both spend: the
// published one is, else the first to arrive. A new row has no arrival number yet and comes
// last.
func (n *row) before(m *row) bool {
	if n.tx.Status != m.tx.Status {
		return n.tx.Status == Published
	}
	return n.tx.Arrival != 0 && (m.tx.Arrival == 0 || n.tx.Arrival < m.tx.Arrival)
}

// moved notes that who spends the inputs of v may have changed.
func (g *graph) moved(v *vertex) {
	if !v.changed {
		v.changed = true
		g.changed = append(g.changed, v)
	}
}

// outputs makes the outputs of n its own before they change.
func (g *graph) outputs(n *row) {
	if !n.ownOutputs {
		n.ownOutputs = true
		n.tx.Outputs = slices.Clone(n.tx.Outputs)
		g.respent = append(g.respent, n)
	}
}

package utxo

import (
	"cmp"
	"maps"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// graph is the part of the store that one event touches: stored transactions
// as they were read, and the changes planned on top of them.
type graph struct {
	r       Reader
	around  map[chainhash.Hash]*vertex
	touched []*node // in the order of their first change
	mark    uint32  // number of the walk under way
}

// vertex is what the graph knows around one hash, over all wallets.
type vertex struct {
	nodes []*node // the transaction itself, one per wallet
	kids  []spend // who has an output of it as an input, in order of arrival
}

type spend struct {
	index uint32 // of the output
	by    *node
}

// node is one transaction: what is stored and what it becomes.
type node struct {
	tx   Tx
	old  *Tx // nil for a new one
	raw  []byte
	done bool // in graph.touched

	ownOutputs bool // tx.Outputs is not shared with old any more
	parentsIn  bool // its parents are loaded
	rivalsIn   bool // everything that shares an input with it is loaded

	lifted, rival, lost uint32 // numbers of the walks that lifted, opposed or lost it
	place               int    // in the lift
}

func newGraph(r Reader) *graph { return &graph{r: r, around: map[chainhash.Hash]*vertex{}} }

// get returns the known transaction, or nil.
func (g *graph) get(id TxID) *node {
	if v := g.around[id.Hash]; v != nil {
		for _, n := range v.nodes {
			if n.tx.ID.Wallet == id.Wallet {
				return n
			}
		}
	}
	return nil
}

// nodes returns the known transactions with a hash, one per wallet.
func (g *graph) nodes(hash chainhash.Hash) []*node {
	if v := g.around[hash]; v != nil {
		return v.nodes
	}
	return nil
}

// kids returns who is known to spend outputs of a hash, over all wallets.
func (g *graph) kids(hash chainhash.Hash) []spend {
	if v := g.around[hash]; v != nil {
		return v.kids
	}
	return nil
}

// spenders calls each for everything known that has op as an input, over all
// wallets.
func (g *graph) spenders(op wire.OutPoint, each func(*node)) {
	for _, s := range g.kids(op.Hash) {
		if s.index == op.Index {
			each(s.by)
		}
	}
}

// parent returns the known transaction of the same wallet that op is an output of.
func (g *graph) parent(n *node, op wire.OutPoint) *node { return g.get(TxID{n.tx.ID.Wallet, op.Hash}) }

func (g *graph) vertex(hash chainhash.Hash) *vertex {
	v := g.around[hash]
	if v == nil {
		v = new(vertex)
		g.around[hash] = v
	}
	return v
}

func (g *graph) add(n *node) {
	v := g.vertex(n.tx.ID.Hash)
	v.nodes = append(v.nodes, n)
	for _, op := range n.tx.Inputs {
		v := g.vertex(op.Hash)
		v.kids = append(v.kids, spend{op.Index, n})
	}
}

func (g *graph) load(txs []*Tx, err error) error {
	if err != nil {
		return err
	}
	unknown := 0
	for _, t := range txs {
		if g.get(t.ID) == nil {
			unknown++
		}
	}
	if unknown > len(g.around) { // one big map instead of many rehashes
		bigger := make(map[chainhash.Hash]*vertex, len(g.around)+2*unknown)
		maps.Copy(bigger, g.around)
		g.around = bigger
	}
	slab := make([]node, 0, unknown)
	for _, t := range txs {
		if g.get(t.ID) == nil {
			slab = append(slab, node{tx: *t, old: t})
			g.add(&slab[len(slab)-1])
		}
	}
	return nil
}

func (g *graph) loadTxs(ids ...TxID) error {
	if len(ids) == 0 {
		return nil
	}
	return g.load(g.r.Txs(ids...))
}

func (g *graph) loadKids(ids ...TxID) error { return g.load(g.r.Children(ids...)) }

// loadParents makes the stored parents of these nodes known.
func (g *graph) loadParents(nodes []*node) error {
	var ids []TxID
	for _, n := range nodes {
		if n.parentsIn {
			continue
		}
		n.parentsIn = true
		for _, op := range n.tx.Inputs {
			if g.parent(n, op) == nil {
				ids = append(ids, TxID{n.tx.ID.Wallet, op.Hash})
			}
		}
	}
	return g.loadTxs(ids...)
}

// loadRivals makes everything known that shares an input with one of these nodes.
func (g *graph) loadRivals(nodes []*node) error {
	var ops []wire.OutPoint
	scope := nodes[0].tx.ID.Wallet
	for _, n := range nodes {
		if n.tx.ID.Wallet != scope {
			scope = 0
		}
		if !n.rivalsIn {
			n.rivalsIn = true
			ops = append(ops, n.tx.Inputs...)
		}
	}
	if len(ops) == 0 {
		return nil
	}
	return g.load(g.r.Spenders(scope, ops...))
}

// withDescendants returns these nodes and their live descendants, parents
// before children within a path, and marks them lost. It does not go on below
// a confirmed one.
func (g *graph) withDescendants(from []*node) ([]*node, error) {
	ids := make([]TxID, 0, len(from))
	for _, n := range from {
		if !n.tx.Confirmed() {
			ids = append(ids, n.tx.ID)
		}
	}
	if len(ids) > 0 {
		if err := g.load(g.r.Descendants(ids...)); err != nil {
			return nil, err
		}
	}
	g.mark++
	all := slices.Clone(from)
	for _, n := range all {
		n.lost = g.mark
	}
	for i := 0; i < len(all); i++ {
		n := all[i]
		if n.tx.Confirmed() {
			continue
		}
		for _, s := range g.kids(n.tx.ID.Hash) {
			if kid := s.by; kid.tx.ID.Wallet == n.tx.ID.Wallet && kid.lost != g.mark && kid.tx.Live() {
				kid.lost = g.mark
				all = append(all, kid)
			}
		}
	}
	return all, nil
}

// withUnconfirmedAncestors returns n and its ancestors up to confirmed ones,
// without these, and makes all their parents known.
func (g *graph) withUnconfirmedAncestors(n *node) ([]*node, error) {
	if err := g.loadParents([]*node{n}); err != nil {
		return nil, err
	}
	var ids []TxID
	for _, op := range n.tx.Inputs {
		if p := g.parent(n, op); p != nil && !p.tx.Confirmed() {
			ids = append(ids, p.tx.ID)
		}
	}
	all := []*node{n}
	if len(ids) == 0 {
		return all, nil
	}
	if err := g.load(g.r.Ancestors(NotConfirmed, ids...)); err != nil {
		return nil, err
	}
	g.mark++
	n.lost = g.mark
	for i := 0; i < len(all); i++ {
		for _, op := range all[i].tx.Inputs {
			if p := g.parent(n, op); p != nil && !p.tx.Confirmed() && p.lost != g.mark {
				p.lost = g.mark
				all = append(all, p)
			}
		}
	}
	return all, g.loadParents(all)
}

func (g *graph) touch(n *node) {
	if !n.done {
		n.done = true
		g.touched = append(g.touched, n)
	}
}

// spend points the owned output at op, if there is one, from old to new. An
// output whose spender is not old keeps it.
func (g *graph) spend(w WalletID, op wire.OutPoint, old, new chainhash.Hash) {
	parent := g.get(TxID{w, op.Hash})
	if parent == nil {
		return
	}
	out := parent.tx.Output(op.Index)
	if out == nil || out.SpentBy != old {
		return
	}
	g.outputs(parent)
	parent.tx.Output(op.Index).SpentBy = new
}

// take points the owned output at op to n, whoever spent it before.
func (g *graph) take(n *node, op wire.OutPoint) {
	if parent := g.parent(n, op); parent != nil {
		if out := parent.tx.Output(op.Index); out != nil {
			g.spend(n.tx.ID.Wallet, op, out.SpentBy, n.tx.ID.Hash)
		}
	}
}

// outputs makes the outputs of n its own before they change.
func (g *graph) outputs(n *node) {
	if !n.ownOutputs {
		n.ownOutputs = true
		n.tx.Outputs = slices.Clone(n.tx.Outputs)
	}
	g.touch(n)
}

// claimant returns the live transaction that an output belongs to, the zero
// hash for none: a published one before a pending one, then the first to arrive.
func (g *graph) claimant(w WalletID, op wire.OutPoint) chainhash.Hash {
	var first *node
	for _, s := range g.kids(op.Hash) {
		if n := s.by; s.index == op.Index && n.tx.ID.Wallet == w && n.tx.Live() &&
			(first == nil || first.tx.Status == Pending && n.tx.Status == Published) {
			first = n
		}
	}
	if first == nil {
		return none
	}
	return first.tx.ID.Hash
}

// credit adds an owned output to n. A known live transaction that spends it
// does so at once.
func (g *graph) credit(n *node, index uint32, out *wire.TxOut, tag string) {
	g.outputs(n)
	op := wire.OutPoint{Hash: n.tx.ID.Hash, Index: index}
	credited := Output{Index: index, Amount: out.Value, Script: out.PkScript, Tag: tag, SpentBy: g.claimant(n.tx.ID.Wallet, op)}
	at, _ := slices.BinarySearchFunc(n.tx.Outputs, index, func(o Output, i uint32) int { return cmp.Compare(o.Index, i) })
	n.tx.Outputs = slices.Insert(n.tx.Outputs, at, credited)
}

// collect writes the difference between what is stored and what is planned.
func (g *graph) collect(set *ChangeSet) {
	set.Updates = make([]TxUpdate, 0, len(g.touched))
	for _, n := range g.touched {
		if n.old == nil {
			t := n.tx
			t.Raw = n.raw
			set.Inserts = append(set.Inserts, &t)
			continue
		}
		if was, is := n.old.state(), n.tx.state(); was != is {
			set.Updates = append(set.Updates, TxUpdate{ID: n.tx.ID, FromVersion: was.Version, Old: was, New: is})
		}
		if !n.ownOutputs {
			continue
		}
		for i := range n.tx.Outputs {
			is := n.tx.Outputs[i]
			was := n.old.Output(is.Index)
			switch {
			case was == nil:
				set.Credits = append(set.Credits, Credit{n.tx.ID, is})
			case was.SpentBy != is.SpentBy:
				op := wire.OutPoint{Hash: n.tx.ID.Hash, Index: is.Index}
				set.Spends = append(set.Spends, Spend{n.tx.ID.Wallet, op, was.SpentBy, is.SpentBy})
			}
		}
	}
}

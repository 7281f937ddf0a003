package utxo

import (
	"cmp"
	"maps"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// graph is the part of the store that one event touches: stored transactions
// as they were read, and the changes planned on top of them.
type graph struct {
	r       Reader
	around  map[chainhash.Hash]*vertex
	steps   []step  // one per line of the log
	respent []*node // stored ones whose outputs change
	mark    uint32  // number of the walk under way

	allNodes    slab[node]
	allVertices slab[vertex]
	allFrom     slab[*vertex]
}

// vertex is what the graph knows around one hash, over all wallets.
type vertex struct {
	nodes []*node      // the transaction itself, one per wallet
	kids  spends[node] // who has an output of it as an input

	oneNode [1]*node // most have no more: room for the first
	oneKid  [1]spend[node]
}

// node is one transaction: what is stored and what it becomes.
type node struct {
	tx  Tx
	old *Tx // nil for a new one

	at   *vertex   // its own
	from []*vertex // those of its inputs
	last int       // its last line in the log, counted from 1; 0 for none

	ownOutputs bool // tx.Outputs is not shared with old any more
	parentsIn  bool // its parents are loaded
	rivalsIn   bool // everything that shares an input with it is loaded

	lifted, rival, lost uint32 // numbers of the walks that lifted, opposed or lost it
	place               int    // in the lift
}

// step says whose a line of the log is.
type step struct {
	of     *node
	before int // its line before, counted from 1; 0 for none
}

func newGraph(r Reader) *graph { return &graph{r: r, around: map[chainhash.Hash]*vertex{}} }

// in returns the transaction as a wallet knows it, or nil.
func (v *vertex) in(w WalletID) *node {
	for _, n := range v.nodes {
		if n.tx.ID.Wallet == w {
			return n
		}
	}
	return nil
}

// parent returns the known transaction of the same wallet that input i spends.
func (n *node) parent(i int) *node { return n.from[i].in(n.tx.ID.Wallet) }

// get returns the known transaction, or nil.
func (g *graph) get(id TxID) *node {
	if v := g.around[id.Hash]; v != nil {
		return v.in(id.Wallet)
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
func (g *graph) kids(hash chainhash.Hash) spends[node] {
	if v := g.around[hash]; v != nil {
		return v.kids
	}
	return nil
}

// spenders returns everything known that has op as an input, over all wallets.
func (g *graph) spenders(op wire.OutPoint) spends[node] { return g.kids(op.Hash).of(op.Index) }

// vertex returns what is known around a hash, to add to it.
func (g *graph) vertex(hash chainhash.Hash) *vertex {
	v := g.around[hash]
	if v == nil {
		v = g.allVertices.new()
		v.nodes, v.kids = v.oneNode[:0], v.oneKid[:0]
		g.around[hash] = v
	}
	return v
}

// add returns a new node for a transaction that is not known yet.
func (g *graph) add(v *vertex, tx Tx, old *Tx) *node {
	n := g.allNodes.new()
	n.tx, n.old, n.at, n.from = tx, old, v, g.allFrom.cut(len(tx.Inputs))
	v.nodes = append(v.nodes, n)
	for i, op := range tx.Inputs {
		n.from[i] = g.vertex(op.Hash)
		n.from[i].kids = n.from[i].kids.with(op.Index, n)
	}
	return n
}

func (g *graph) load(txs []*Tx, err error) error {
	if err != nil {
		return err
	}
	g.room(len(txs))
	for _, t := range txs {
		if v := g.vertex(t.ID.Hash); v.in(t.ID.Wallet) == nil {
			g.add(v, *t, t)
		}
	}
	return nil
}

// room prepares for n more transactions: with one big map instead of many
// rehashes, where they would be the most of it.
func (g *graph) room(n int) {
	g.allNodes.expect(n)
	g.allVertices.expect(n)
	if n > len(g.around) {
		bigger := make(map[chainhash.Hash]*vertex, len(g.around)+n)
		maps.Copy(bigger, g.around)
		g.around = bigger
	}
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
		for i, op := range n.tx.Inputs {
			if n.parent(i) == nil {
				ids = append(ids, TxID{n.tx.ID.Wallet, op.Hash})
			}
		}
	}
	return g.loadTxs(ids...)
}

// loadRivals makes everything known that shares an input with one of these nodes.
func (g *graph) loadRivals(nodes []*node) error {
	inputs := 0
	for _, n := range nodes {
		if !n.rivalsIn {
			inputs += len(n.tx.Inputs)
		}
	}
	if inputs == 0 {
		return nil
	}
	ops := make([]wire.OutPoint, 0, inputs)
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
	return g.load(g.r.Spenders(scope, ops...))
}

// withDescendants returns these nodes and then their live descendants, and
// marks them lost. It does not go on below a confirmed one.
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
		for _, s := range n.at.kids {
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
	for i := range n.from {
		if p := n.parent(i); p != nil && !p.tx.Confirmed() {
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
	for next := 0; next < len(all); next++ {
		for i := range all[next].from {
			if p := all[next].parent(i); p != nil && !p.tx.Confirmed() && p.lost != g.mark {
				p.lost = g.mark
				all = append(all, p)
			}
		}
	}
	return all, g.loadParents(all)
}

// spend points the owned output that input i of n spends, if there is one,
// from old to new. An output whose spender is not old keeps it.
func (g *graph) spend(n *node, i int, old, new chainhash.Hash) {
	if p := n.parent(i); p != nil {
		index := n.tx.Inputs[i].Index
		if out := p.tx.Output(index); out != nil && out.SpentBy == old {
			g.outputs(p)
			p.tx.Output(index).SpentBy = new
		}
	}
}

// take points the owned output that input i of n spends, if there is one, to n,
// whoever spent it before.
func (g *graph) take(n *node, i int) {
	if p := n.parent(i); p != nil {
		if out := p.tx.Output(n.tx.Inputs[i].Index); out != nil {
			g.spend(n, i, out.SpentBy, n.tx.ID.Hash)
		}
	}
}

// outputs makes the outputs of n its own before they change.
func (g *graph) outputs(n *node) {
	if !n.ownOutputs {
		n.ownOutputs = true
		n.tx.Outputs = slices.Clone(n.tx.Outputs)
		g.respent = append(g.respent, n)
	}
}

// claimant returns the live transaction that an output belongs to, the zero
// hash for none: a published one before a pending one, then the first to arrive.
func (v *vertex) claimant(w WalletID, index uint32) chainhash.Hash {
	var first *node
	for _, s := range v.kids.of(index) {
		if n := s.by; n.tx.ID.Wallet == w && n.tx.Live() &&
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
	credited := Output{Index: index, Amount: out.Value, Script: out.PkScript, Tag: tag, SpentBy: n.at.claimant(n.tx.ID.Wallet, index)}
	at, _ := slices.BinarySearchFunc(n.tx.Outputs, index, func(o Output, i uint32) int { return cmp.Compare(o.Index, i) })
	n.tx.Outputs = slices.Insert(n.tx.Outputs, at, credited)
}

// collect writes the difference between what is stored and what is planned.
func (g *graph) collect(set *ChangeSet) {
	g.parentsFirst(set)
	inserts, updates := 0, 0
	for _, s := range g.steps {
		switch {
		case s.before > 0:
		case s.of.old == nil:
			inserts++
		default:
			updates++
		}
	}
	set.Inserts = slices.Grow(set.Inserts, inserts)
	set.Updates = slices.Grow(set.Updates, updates)
	for _, s := range g.steps {
		switch n := s.of; {
		case s.before > 0:
		case n.old == nil:
			set.Inserts = append(set.Inserts, &n.tx)
		default:
			set.Updates = append(set.Updates, TxUpdate{ID: n.tx.ID, FromVersion: n.old.Version, Old: n.old.state(), New: n.tx.state()})
		}
	}
	set.Spends = slices.Grow(set.Spends, len(g.respent))
	for _, n := range g.respent {
		for i := range n.tx.Outputs {
			is := &n.tx.Outputs[i]
			was := n.old.Output(is.Index)
			switch {
			case was == nil:
				set.Credits = append(set.Credits, Credit{n.tx.ID, *is})
			case was.SpentBy != is.SpentBy:
				op := wire.OutPoint{Hash: n.tx.ID.Hash, Index: is.Index}
				set.Spends = append(set.Spends, Spend{n.tx.ID.Wallet, op, was.SpentBy, is.SpentBy})
			}
		}
	}
}

// parentsFirst moves the steps of every transaction behind those of its
// parents. That they are out of order is rare: a descendant that is lost over
// two paths, one longer than the other, or one whose parent a later transaction
// of the same block changes.
func (g *graph) parentsFirst(set *ChangeSet) {
	inOrder := true
	for line, s := range g.steps {
		for i := range s.of.from {
			if p := s.of.parent(i); p != nil && p.last > line {
				inOrder = false
			}
		}
	}
	if inOrder {
		return
	}
	log, steps := set.Log, g.steps
	set.Log, g.steps = make([]statemachine.Transition[TxID], 0, len(log)), make([]step, 0, len(log))
	for _, line := range topological(len(steps), func(line int, add func(int)) {
		s := steps[line]
		if s.before > 0 {
			add(s.before - 1)
		}
		for i := range s.of.from {
			if p := s.of.parent(i); p != nil && p.last > 0 {
				add(p.last - 1)
			}
		}
	}) {
		set.Log, g.steps = append(set.Log, log[line]), append(g.steps, steps[line])
	}
}

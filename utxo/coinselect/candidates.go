package coinselect

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/internal/topological"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// MaxAncestorLimit bounds [Request.AncestorLimit] and [Request.DescendantLimit], and so the
// number of ancestors that a [Candidate] lists and of descendants that are counted.
const MaxAncestorLimit = 64

// Candidate is a live unspent coin with all that [Select] asks about it.
type Candidate struct {
	utxo.Coin
	State         utxo.OutputState // leases of the caller's own lock do not count
	Confirmations int32            // 0 while unconfirmed, 1 in the tip
	// OwnChange: the coin is unconfirmed, and every input of its transaction and of all
	// unconfirmed ancestors spends an owned output, so that nobody else can double-spend
	// the coin.
	OwnChange bool
	// Replacing: the coin's transaction, or an ancestor, is pending and shares an input
	// with another live transaction. Until one of the two wins, the coin may never exist.
	Replacing bool
	// Ancestors are the stored unconfirmed transactions that a spender of the coin descends
	// from, the coin's own transaction included. Parents come first, and the coins of one
	// transaction share the slice. A list of [MaxAncestorLimit] entries may be cut; it
	// exceeds every limit that a request can have.
	Ancestors []Ancestor
	Scanned   bool // wallet and owner are scanned to the tip
}

// Ancestor is an unconfirmed transaction.
type Ancestor struct {
	Hash    chainhash.Hash
	Pending bool // not broadcast yet
	// Fee and Weight are set if the query asked for fees and the value of each input is
	// known. Weight is 0 otherwise.
	Fee, Weight int64
	// Size is in virtual bytes; of what is not signed yet with its signatures.
	Size int64
	// Descendants is the number of live unconfirmed transactions, in whichever wallet, that descend
	// from this one, itself included. Outputs of them that a lock other than the query's has leased
	// count as one more transaction for each lock, which is about to be sent. DescendantsSize is
	// the size of all of them together, in virtual bytes. A count of [MaxAncestorLimit] may be cut;
	// it exceeds every limit that a request can have.
	Descendants     int
	DescendantsSize int64
}

// Query says whose coins to read.
type Query struct {
	Wallet utxo.WalletID
	Tag    *string     // owner, nil for all but [utxo.Forgotten]
	Lock   utxo.LockID // the caller's own leases, zero for none
	At     time.Time   // now, for leases
	Fees   bool        // read the fees of unconfirmed ancestors too, for [Request.PayAncestors]
}

// Candidates reads the coins that [Select] chooses from, also those that Select will
// refuse, in the order of [utxo.Queries]. A coin that is spent by a transaction of another
// wallet which is not broadcast yet is [utxo.CoinSpent] too. Candidates makes at most ten
// reads, three more for fees, and one for each other wallet that unconfirmed ancestors and their descendants pay, whatever the depth and
// the number of coins. Its time is linear in the coins, their unconfirmed ancestors and the inputs of these.
func Candidates(p utxo.Policy, r utxo.Source, q Query) ([]Candidate, error) {
	if q.Wallet <= 0 {
		return nil, invalid("wallet %d", q.Wallet)
	}
	tip, chain, err := r.Tip()
	if err != nil {
		return nil, err
	}
	wallets, err := r.Wallets(q.Wallet)
	if err != nil {
		return nil, err
	}
	coins, err := r.Unspent(q.Wallet, q.Tag)
	if err != nil {
		return nil, err
	}
	if q.Tag == nil { // nobody knows whose these are
		coins = slices.DeleteFunc(coins, func(c utxo.Coin) bool { return c.Tag == utxo.Forgotten })
	}
	others, err := r.PendingElsewhere(q.Wallet)
	if err != nil {
		return nil, err
	}
	taken := map[wire.OutPoint]bool{}
	for _, t := range others {
		for _, op := range t.Inputs {
			taken[op] = true
		}
	}
	kin, err := readKinship(r, q, coins)
	if err != nil {
		return nil, err
	}
	behind := map[string]bool{}
	for _, o := range wallets[0].Behind {
		for _, tag := range o.Tags {
			behind[tag] = o.ScannedTo < tip.Height
		}
	}
	scanned := chain && wallets[0].ScannedTo >= tip.Height
	out := make([]Candidate, len(coins))
	for i, c := range coins {
		out[i] = Candidate{Coin: c, Scanned: scanned && !behind[c.Tag]}
		if c.Lease != nil && c.Lease.Lock == q.Lock {
			c.Lease = nil
		}
		if out[i].State = p.State(c, tip.Height, q.At); taken[c.OutPoint] {
			out[i].State = utxo.CoinSpent
		}
		if c.Height != utxo.Unconfirmed {
			out[i].Confirmations = tip.Height - c.Height + 1
			continue
		}
		if k := kin[c.OutPoint.Hash]; k != nil {
			out[i].OwnChange, out[i].Replacing, out[i].Ancestors = k.own, k.replacing, k.ancestors
		}
	}
	return out, nil
}

// kinship is an unconfirmed transaction with what its coins inherit.
type kinship struct {
	tx        *utxo.Tx
	payer     *payer     // nil if nobody asked
	parents   []*kinship // unconfirmed, each once
	order     int        // topological, parents first
	seenBy    *kinship   // the last child whose parents list it
	own       bool
	replacing bool
	above     []*kinship // with itself, parents first, only for creators of candidates
	ancestors []Ancestor // the same

	size            int64 // of what is above a creator; virtual bytes
	descendants     int
	descendantsSize int64
}

// readKinship reads the unconfirmed ancestors of the coins. For each transaction that
// created a coin it derives whether all its money is the wallet's, and its ancestors.
func readKinship(r utxo.Source, q Query, coins []utxo.Coin) (map[chainhash.Hash]*kinship, error) {
	w, kin := q.Wallet, map[chainhash.Hash]*kinship{}
	var heads []chainhash.Hash
	for _, c := range coins {
		if _, known := kin[c.OutPoint.Hash]; !known && c.Height == utxo.Unconfirmed {
			kin[c.OutPoint.Hash] = nil
			heads = append(heads, c.OutPoint.Hash)
		}
	}
	if len(heads) == 0 {
		return nil, nil
	}
	txs, err := r.Ancestors(utxo.NotConfirmed, heads...)
	if err != nil {
		return nil, err
	}
	nodes := make([]*kinship, 0, len(txs))
	for _, t := range txs { // one row of each: the wallet's own, which has its outputs, before another's
		k := kin[t.ID.Hash]
		switch {
		case k == nil:
			k = &kinship{tx: t, own: true}
			kin[t.ID.Hash] = k
			nodes = append(nodes, k)
		case t.ID.Wallet == w:
			k.tx = t
		}
	}
	for _, head := range heads {
		if kin[head] == nil {
			return nil, fmt.Errorf("%w: coin of transaction %s, which is not stored", statemachine.ErrCorrupt, head)
		}
	}
	// The same order for every store, whatever the order of its answer.
	slices.SortFunc(nodes, func(a, b *kinship) int { return bytes.Compare(a.tx.ID.Hash[:], b.tx.ID.Hash[:]) })
	if err := findOwn(r, w, nodes, kin); err != nil {
		return nil, err
	}
	if err := findReplacing(r, nodes); err != nil {
		return nil, err
	}
	if q.Fees {
		payers, err := readPayers(r, txs)
		if err != nil {
			return nil, err
		}
		for _, k := range nodes {
			k.payer = payers[k.tx.ID.Hash]
		}
	}
	for i, k := range nodes {
		k.order = i
	}
	sorted := topological.Order(len(nodes), func(i int, add func(int)) {
		for _, parent := range nodes[i].parents {
			add(parent.order)
		}
	})
	for order, i := range sorted {
		k := nodes[i]
		k.order = order
		for _, parent := range k.parents {
			k.own = k.own && parent.own
			k.replacing = k.replacing || parent.replacing
		}
	}
	var listed []*kinship
	seen := map[*kinship]bool{}
	for _, head := range heads {
		kin[head].findAncestors()
		for _, k := range kin[head].above {
			if !seen[k] {
				seen[k] = true
				listed = append(listed, k)
			}
		}
	}
	if err := readChains(r, q, listed, txs); err != nil {
		return nil, err
	}
	for _, head := range heads {
		kin[head].listAncestors()
	}
	return kin, nil
}

// findOwn lists the unconfirmed parents of each node, and clears own where an input spends
// an output that the wallet does not own.
func findOwn(r utxo.Reader, w utxo.WalletID, nodes []*kinship, kin map[chainhash.Hash]*kinship) error {
	confirmed := map[chainhash.Hash]*utxo.Tx{}
	var ids []utxo.TxID
	for _, k := range nodes {
		for _, in := range k.tx.Inputs {
			if parent := kin[in.Hash]; parent != nil {
				if parent.seenBy != k {
					parent.seenBy = k
					k.parents = append(k.parents, parent)
				}
			} else if _, asked := confirmed[in.Hash]; !asked {
				confirmed[in.Hash] = nil
				ids = append(ids, utxo.TxID{Wallet: w, Hash: in.Hash})
			}
		}
	}
	if len(ids) > 0 {
		txs, err := r.Txs(ids...)
		if err != nil {
			return err
		}
		for _, t := range txs {
			confirmed[t.ID.Hash] = t
		}
	}
	for _, k := range nodes {
		for _, in := range k.tx.Inputs {
			parent := confirmed[in.Hash]
			if unconfirmed := kin[in.Hash]; unconfirmed != nil {
				parent = unconfirmed.tx
			}
			if parent == nil || parent.ID.Wallet != w || parent.Output(in.Index) == nil {
				k.own = false
				break
			}
		}
	}
	return nil
}

// findReplacing marks the pending transactions that share an input with another live one: a
// declared replacement, and a pending transaction that is to be replaced. A published
// transaction is not marked: its outputs are money until it is replaced.
func findReplacing(r utxo.Reader, nodes []*kinship) error {
	spenders := map[wire.OutPoint]int{} // live ones
	var ops []wire.OutPoint
	for _, k := range nodes {
		if k.tx.Status == utxo.Pending {
			for _, in := range k.tx.Inputs {
				if _, asked := spenders[in]; !asked {
					spenders[in] = 0
					ops = append(ops, in)
				}
			}
		}
	}
	if len(ops) == 0 {
		return nil
	}
	txs, err := r.Spenders(ops...)
	if err != nil {
		return err
	}
	counted := map[chainhash.Hash]bool{}
	for _, t := range txs {
		if !t.Live() || counted[t.ID.Hash] {
			continue
		}
		counted[t.ID.Hash] = true
		for _, in := range t.Inputs {
			if _, asked := spenders[in]; asked {
				spenders[in]++
			}
		}
	}
	for _, k := range nodes {
		k.replacing = k.tx.Status == utxo.Pending &&
			slices.ContainsFunc(k.tx.Inputs, func(in wire.OutPoint) bool { return spenders[in] > 1 })
	}
	return nil
}

// findAncestors collects k and its unconfirmed ancestors, at most MaxAncestorLimit
// transactions. Each parent is listed once, so it looks at less than MaxAncestorLimit
// squared edges.
func (k *kinship) findAncestors() {
	found := []*kinship{k}
	seen := map[*kinship]bool{k: true}
walk:
	for i := 0; i < len(found); i++ {
		for _, parent := range found[i].parents {
			if seen[parent] {
				continue
			}
			if len(found) == MaxAncestorLimit {
				break walk
			}
			seen[parent] = true
			found = append(found, parent)
		}
	}
	slices.SortFunc(found, func(a, b *kinship) int { return cmp.Compare(a.order, b.order) })
	k.above = found
}

// listAncestors describes what is above k.
func (k *kinship) listAncestors() {
	k.ancestors = make([]Ancestor, len(k.above))
	for i, f := range k.above {
		k.ancestors[i] = Ancestor{
			Hash: f.tx.ID.Hash, Pending: f.tx.Status == utxo.Pending,
			Size: f.size, Descendants: f.descendants, DescendantsSize: f.descendantsSize,
		}
		if p := f.payer; p != nil && p.known {
			k.ancestors[i].Fee, k.ancestors[i].Weight = p.fee, p.weight
		}
	}
}

package coinselect

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// maxChainSize bounds a size in virtual bytes that comes from outside.
const maxChainSize = 1 << 40

// chainLimits are the limits of a mempool for unconfirmed transactions that descend from
// one another: -limitancestorcount, -limitancestorsize, -limitdescendantcount and
// -limitdescendantsize of Bitcoin Core. Sizes are in virtual bytes.
type chainLimits struct {
	ancestors      int
	ancestorSize   int64
	descendants    int
	descendantSize int64
}

// noChainLimits accept every set.
var noChainLimits = chainLimits{math.MaxInt, math.MaxInt64, math.MaxInt, math.MaxInt64}

// chains returns the limits of a request; what is left zero is Bitcoin Core's default.
func (req Request) chains() chainLimits {
	return chainLimits{
		ancestors: cmp.Or(req.AncestorLimit, 25), ancestorSize: cmp.Or(req.AncestorSize, 101_000),
		descendants: cmp.Or(req.DescendantLimit, 25), descendantSize: cmp.Or(req.DescendantSize, 101_000),
	}
}

func (c chainLimits) valid() bool {
	return min(c.ancestors, c.descendants) > 0 && max(c.ancestors, c.descendants) <= MaxAncestorLimit &&
		min(c.ancestorSize, c.descendantSize) > 0 && max(c.ancestorSize, c.descendantSize) <= maxChainSize
}

// chained reports whether a has possible sizes and a possible count.
func (a Ancestor) chained() bool {
	return min(a.Size, a.DescendantsSize) >= 0 && max(a.Size, a.DescendantsSize) <= maxChainSize && a.Descendants >= 0
}

// virtual is a weight in virtual bytes, rounded up.
func virtual(weight int64) int64 { return (weight + 3) / 4 }

// tooDeep returns which limit of unconfirmed chains a transaction with these inputs and a
// change output would exceed, zero for none.
func (s *selector) tooDeep(p *pick) Bar {
	if len(p.ancestors) == 0 {
		return 0
	}
	size := virtual(s.weight(p, s.changeWeight))
	if len(p.ancestors) >= s.chains.ancestors || p.above > s.chains.ancestorSize-size {
		return BarAncestors
	}
	for _, a := range p.ancestors {
		if a.below > s.chains.descendantSize-size {
			return BarDescendants
		}
	}
	return 0
}

// alone returns why a mempool would not take a transaction with this input alone.
func (s *selector) alone(in input) Bar {
	p := &pick{ancestors: map[chainhash.Hash]shared{}}
	p.add(in)
	if bar := s.tooDeep(p); bar != 0 {
		return bar
	}
	for _, a := range in.Ancestors {
		if a.Descendants >= s.chains.descendants {
			return BarDescendants
		}
	}
	return 0
}

// limitedBy returns the error of the limit that keeps a request from being paid: the error of the
// ancestor limit or of the descendant limit, if pays reports true once this limit is lifted, else
// that of the number of inputs and the weight.
func (s *selector) limitedBy(pays func() bool) error {
	chains := s.chains
	defer func() { s.chains = chains }()
	s.chains.ancestors, s.chains.ancestorSize = noChainLimits.ancestors, noChainLimits.ancestorSize
	if pays() {
		return ErrTooManyAncestors
	}
	if s.chains = noChainLimits; pays() {
		return ErrTooManyDescendants
	}
	return ErrTooManyInputs
}

// readChains reads the sizes of the unconfirmed transactions that candidates descend from,
// and counts the descendants of each. rows are the rows of these transactions in all wallets.
func readChains(r utxo.Source, q Query, of []*kinship, rows []*utxo.Tx) error {
	hashes := make([]chainhash.Hash, len(of))
	for i, k := range of {
		hashes[i] = k.tx.ID.Hash
	}
	found, err := r.Descendants(hashes...)
	if err != nil {
		return err
	}
	sizes, ahead, err := readAhead(r, q, append(slices.Clone(rows), found...))
	if err != nil {
		return err
	}
	txs := map[chainhash.Hash]*utxo.Tx{}        // one row of each
	children := map[chainhash.Hash][]*utxo.Tx{} // a child is listed for each input
	add := func(t *utxo.Tx) {
		if t.Confirmed() || txs[t.ID.Hash] != nil {
			return
		}
		txs[t.ID.Hash] = t
		for _, op := range t.Inputs {
			children[op.Hash] = append(children[op.Hash], t)
		}
	}
	for _, k := range of {
		add(k.tx)
	}
	for _, t := range found {
		add(t)
	}
	for _, t := range ahead {
		add(t)
	}
	below := make([][]chainhash.Hash, len(of))
	var ask []*utxo.Tx
	for i, k := range of {
		seen := map[chainhash.Hash]bool{k.tx.ID.Hash: true}
		below[i] = []chainhash.Hash{k.tx.ID.Hash}
	walk:
		for at := 0; at < len(below[i]); at++ {
			for _, child := range children[below[i][at]] {
				if len(below[i]) == MaxAncestorLimit {
					break walk
				}
				if !seen[child.ID.Hash] {
					seen[child.ID.Hash] = true
					below[i] = append(below[i], child.ID.Hash)
				}
			}
		}
		for _, hash := range below[i] {
			if _, known := sizes[hash]; !known {
				ask = append(ask, txs[hash])
			}
		}
	}
	if err := readMessages(r, ask, func(hash chainhash.Hash, msg *wire.MsgTx) {
		weight, _ := weigh(msg, nil)
		sizes[hash] = virtual(weight)
	}); err != nil {
		return err
	}
	for i, k := range of {
		k.size, k.descendants = sizes[k.tx.ID.Hash], len(below[i])
		for _, hash := range below[i] {
			k.descendantsSize += sizes[hash]
		}
	}
	return nil
}

// readAhead returns the transactions that are about to be sent: one for each lock, other than the
// query's, that has leased an unspent output of one of the rows. Each gets a hash made of wallet
// and lock, and the inputs that are known. Its size is that of its leased inputs and of two
// outputs; an input of unknown kind counts as P2WPKH.
func readAhead(r utxo.Source, q Query, rows []*utxo.Tx) (sizes map[chainhash.Hash]int64, ahead []*utxo.Tx, err error) {
	coins := map[utxo.WalletID]map[wire.OutPoint]*utxo.Output{} // that nothing spends
	for _, t := range rows {
		for i := range t.Outputs {
			if o := &t.Outputs[i]; !o.Spent() {
				if coins[t.ID.Wallet] == nil {
					coins[t.ID.Wallet] = map[wire.OutPoint]*utxo.Output{}
				}
				coins[t.ID.Wallet][wire.OutPoint{Hash: t.ID.Hash, Index: o.Index}] = o
			}
		}
	}
	sizes = map[chainhash.Hash]int64{}
	for _, w := range slices.Sorted(maps.Keys(coins)) {
		leases, err := r.ActiveLeases(w, q.At)
		if err != nil {
			return nil, nil, err
		}
		inputs, weights := map[utxo.LockID][]wire.OutPoint{}, map[utxo.LockID]int64{}
		for _, l := range leases {
			if w == q.Wallet && l.Lock == q.Lock {
				continue
			}
			weight := int64(P2WPKHInputWeight)
			if o := coins[w][l.OutPoint]; o != nil {
				inputs[l.Lock] = append(inputs[l.Lock], l.OutPoint)
				if known, ok := InputWeight(o.Script); ok {
					weight = known
				}
			}
			weights[l.Lock] += weight
		}
		for lock, ops := range inputs {
			hash := chainhash.HashH(binary.BigEndian.AppendUint64(lock[:], uint64(w)))
			sizes[hash] = virtual(overheadWeight + weights[lock] + 2*outputWeight(make([]byte, 34)))
			ahead = append(ahead, &utxo.Tx{ID: utxo.TxID{Wallet: w, Hash: hash}, Height: utxo.Unconfirmed, Inputs: ops})
		}
	}
	slices.SortFunc(ahead, func(a, b *utxo.Tx) int { return bytes.Compare(a.ID.Hash[:], b.ID.Hash[:]) })
	return sizes, ahead, nil
}

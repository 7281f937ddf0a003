package withdrawaltest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"github.com/settlehq/settle/withdrawal"
)

// A chain that never lies, and is as hostile as one can be: it forgets, mines any
// of the rivals, goes back by less than the depth that counts as final, and may
// be seen as it was before.

// finalDepth is the depth from which a block is never taken back.
const finalDepth = 3

// coin is what exclusive transactions have in common: the nonce of a wallet, or an
// input on a chain without nonces.
type coin struct {
	wallet uuid.UUID
	nonce  uint64
	input  string
}

// simTx is a transaction as the chain knows it.
type simTx struct {
	hash     string
	coin     coin
	pays     uuid.UUID // whose request it pays; zero: nobody's
	reverted bool
}

// view is the chain as somebody saw it.
type view struct{ blocks []*simBlock }

type simBlock struct {
	hash string
	txs  []*simTx
}

type simChain struct {
	*rand.Rand
	nonces  bool
	best    view
	views   []view // earlier ones
	mempool []*simTx
	known   map[string]*simTx
	mined   int // blocks ever made
	floor   int // blocks that were final once
}

// send gives a transaction to the mempool, which may forget it.
func (c *simChain) send(tx *simTx) {
	if old := c.known[tx.hash]; old != nil {
		tx = old
	}
	c.known[tx.hash] = tx
	if !slices.Contains(c.mempool, tx) {
		c.mempool = append(c.mempool, tx)
	}
}

// find says where a transaction is, as seen; nil if it is in no block.
func (v view) find(match func(*simTx) bool) (*simTx, withdrawal.Block) {
	for i, b := range v.blocks {
		for _, tx := range b.txs {
			if match(tx) {
				return tx, withdrawal.Block{Height: uint64(i + 1), Hash: b.hash, Canonical: b.hash, Head: uint64(len(v.blocks))}
			}
		}
	}
	return nil, withdrawal.Block{}
}

func (v view) hash(hash string) (*simTx, withdrawal.Block) {
	return v.find(func(tx *simTx) bool { return tx.hash == hash })
}

// spent says what took a coin.
func (v view) spent(of coin) (*simTx, withdrawal.Block) {
	return v.find(func(tx *simTx) bool { return tx.coin == of })
}

// next is the next nonce of a wallet.
func (v view) next(wallet uuid.UUID) (n uint64) {
	for {
		if tx, _ := v.spent(coin{wallet: wallet, nonce: n}); tx == nil {
			return n
		}
		n++
	}
}

// mine makes a block of any of the transactions that may be in it.
func (c *simChain) mine() {
	c.views = append(c.views, view{slices.Clone(c.best.blocks)})
	c.mined++
	b := &simBlock{hash: fmt.Sprintf("block %d", c.mined)}
	c.best.blocks = append(c.best.blocks, b)
	c.floor = max(c.floor, len(c.best.blocks)-finalDepth+1)
	c.Shuffle(len(c.mempool), func(i, k int) { c.mempool[i], c.mempool[k] = c.mempool[k], c.mempool[i] })
	for again := true; again; {
		again = false
		for _, tx := range c.mempool {
			if rival, _ := c.best.spent(tx.coin); rival != nil || c.nonces && c.best.next(tx.coin.wallet) != tx.coin.nonce || c.IntN(8) == 0 {
				continue
			}
			b.txs = append(b.txs, tx)
			again = true
		}
	}
	c.mempool = slices.DeleteFunc(c.mempool, func(tx *simTx) bool { rival, _ := c.best.spent(tx.coin); return rival != nil })
}

// reorg takes blocks off, of which none was ever final. What was in them is in
// the mempool again, or forgotten.
func (c *simChain) reorg() {
	c.views = append(c.views, view{slices.Clone(c.best.blocks)})
	for range min(1+c.IntN(finalDepth-1), len(c.best.blocks)-c.floor) {
		last := len(c.best.blocks) - 1
		for _, tx := range c.best.blocks[last].txs {
			if c.IntN(4) > 0 {
				c.send(tx)
			}
		}
		c.best.blocks = c.best.blocks[:last]
	}
}

// forget drops one transaction from the mempool.
func (c *simChain) forget() {
	if n := len(c.mempool); n > 0 {
		i := c.IntN(n)
		c.mempool = slices.Delete(c.mempool, i, i+1)
	}
}

// seen is the chain as a node shows it: mostly as it is.
func (c *simChain) seen() view {
	if n := len(c.views); n > 0 && c.IntN(4) == 0 {
		return c.views[max(0, n-1-c.IntN(6))]
	}
	return view{slices.Clone(c.best.blocks)}
}

// paid counts the transactions of the chain that pay a request.
func (v view) paid(request uuid.UUID) (hashes []string) {
	for _, b := range v.blocks {
		for _, tx := range b.txs {
			if tx.pays == request && !tx.reverted {
				hashes = append(hashes, tx.hash)
			}
		}
	}
	return hashes
}

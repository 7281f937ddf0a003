// Package hostile has a chain that never lies, and is as hostile as one can be: it forgets, mines any
// of the rivals, goes back by less than the depth that counts as final, and may be seen as it was
// before. Simulations of hosts send to it.
package hostile

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"github.com/settlehq/settle/withdrawal"
)

// FinalDepth is the depth from which a block is never taken back.
const FinalDepth = 3

// Coin is what exclusive transactions have in common: the nonce of a wallet, or an
// input on a chain without nonces.
type Coin struct {
	Wallet uuid.UUID
	Nonce  uint64
	Input  string
}

// Tx is a transaction as the chain knows it.
type Tx struct {
	Hash     string
	Coin     Coin
	Pays     uuid.UUID // whose request it pays; zero: nobody's
	Reverted bool
}

// View is the chain as somebody saw it.
type View struct{ blocks []*block }

type block struct {
	hash string
	txs  []*Tx
}

// Chain is the chain as it is. Set its first fields, and leave the others alone.
type Chain struct {
	*rand.Rand
	Nonces bool

	best    View
	views   []View // earlier ones
	mempool []*Tx
	known   map[string]*Tx
	mined   int // blocks ever made
	floor   int // blocks that were final once
}

// Send gives a transaction to the mempool, which may forget it.
func (c *Chain) Send(tx *Tx) {
	if c.known == nil {
		c.known = map[string]*Tx{}
	}
	if old := c.known[tx.Hash]; old != nil {
		tx = old
	}
	c.known[tx.Hash] = tx
	if !slices.Contains(c.mempool, tx) {
		c.mempool = append(c.mempool, tx)
	}
}

// Waiting returns the transactions of the mempool.
func (c *Chain) Waiting() []*Tx { return c.mempool }

// find says where a transaction is, as seen; nil if it is in no block.
func (v View) find(match func(*Tx) bool) (*Tx, withdrawal.Block) {
	for i, b := range v.blocks {
		for _, tx := range b.txs {
			if match(tx) {
				return tx, withdrawal.Block{Height: uint64(i + 1), Hash: b.hash, Canonical: b.hash, Head: uint64(len(v.blocks))}
			}
		}
	}
	return nil, withdrawal.Block{}
}

// Tx says where the transaction of a hash is; nil if it is in no block.
func (v View) Tx(hash string) (*Tx, withdrawal.Block) {
	return v.find(func(tx *Tx) bool { return tx.Hash == hash })
}

// Spent says what took a coin.
func (v View) Spent(of Coin) (*Tx, withdrawal.Block) {
	return v.find(func(tx *Tx) bool { return tx.Coin == of })
}

// Next is the next nonce of a wallet.
func (v View) Next(wallet uuid.UUID) (n uint64) {
	for {
		if tx, _ := v.Spent(Coin{Wallet: wallet, Nonce: n}); tx == nil {
			return n
		}
		n++
	}
}

// Mine makes a block of any of the transactions that may be in it.
func (c *Chain) Mine() {
	c.views = append(c.views, c.Best())
	c.mined++
	b := &block{hash: fmt.Sprintf("block %d", c.mined)}
	c.best.blocks = append(c.best.blocks, b)
	c.floor = max(c.floor, len(c.best.blocks)-FinalDepth+1)
	c.Shuffle(len(c.mempool), func(i, k int) { c.mempool[i], c.mempool[k] = c.mempool[k], c.mempool[i] })
	for again := true; again; {
		again = false
		for _, tx := range c.mempool {
			if rival, _ := c.best.Spent(tx.Coin); rival != nil || c.Nonces && c.best.Next(tx.Coin.Wallet) != tx.Coin.Nonce || c.IntN(8) == 0 {
				continue
			}
			b.txs = append(b.txs, tx)
			again = true
		}
	}
	c.mempool = slices.DeleteFunc(c.mempool, func(tx *Tx) bool { rival, _ := c.best.Spent(tx.Coin); return rival != nil })
}

// Reorg takes blocks off, of which none was ever final. What was in them is in
// the mempool again, or forgotten.
func (c *Chain) Reorg() {
	c.views = append(c.views, c.Best())
	for range min(1+c.IntN(FinalDepth-1), len(c.best.blocks)-c.floor) {
		last := len(c.best.blocks) - 1
		for _, tx := range c.best.blocks[last].txs {
			if c.IntN(4) > 0 {
				c.Send(tx)
			}
		}
		c.best.blocks = c.best.blocks[:last]
	}
}

// Forget drops one transaction from the mempool.
func (c *Chain) Forget() {
	if n := len(c.mempool); n > 0 {
		i := c.IntN(n)
		c.mempool = slices.Delete(c.mempool, i, i+1)
	}
}

// Best is the chain as it is.
func (c *Chain) Best() View { return View{slices.Clone(c.best.blocks)} }

// Seen is the chain as a node shows it: mostly as it is.
func (c *Chain) Seen() View {
	if n := len(c.views); n > 0 && c.IntN(4) == 0 {
		return c.views[max(0, n-1-c.IntN(6))]
	}
	return c.Best()
}

// Paid counts the transactions of the chain that pay a request.
func (v View) Paid(request uuid.UUID) (hashes []string) {
	for _, b := range v.blocks {
		for _, tx := range b.txs {
			if tx.Pays == request && !tx.Reverted {
				hashes = append(hashes, tx.Hash)
			}
		}
	}
	return hashes
}

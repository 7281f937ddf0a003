package main

import (
	"context"
	"math/rand/v2"
	"strconv"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/utxo"
)

// paidIn is a payment of a customer, and what the chain has of it.
type paidIn struct {
	tx     *wire.MsgTx
	height int32 // of the block that has it, or what spends its input instead; 0: none has
	dead   bool  // something else spends its input
}

// mined is what a block has of it.
func (p *paidIn) mined() *wire.MsgTx {
	if !p.dead {
		return p.tx
	}
	rival := p.tx.Copy()
	rival.TxOut[0].PkScript = []byte("somebody else")
	return rival
}

// bitcoin is the other chain while it gets so many blocks: customers pay in, blocks leave
// the chain, and what was in them comes back or is spent by somebody else. It returns how
// many payments are in the chain at the end.
func (w *world) bitcoin(ctx context.Context, random *rand.Rand, blocks int) (paid int) {
	const last = 10 // blocks in which nothing new happens: all is deep at the end
	var all []*paidIn
	chain := []utxo.Block{{}}
	for i := 0; i < blocks && !w.over(ctx); i++ {
		ends := i >= blocks-last
		if n := random.IntN(10); n < 7 && len(chain) > 8 && !ends {
			for range n { // up to 6, which is as deep as anything must be
				w.tell(ctx, utxo.Disconnected{Hash: chain[len(chain)-1].Hash})
				chain = chain[:len(chain)-1]
			}
		}
		tip := chain[len(chain)-1]
		var txs []*wire.MsgTx
		if !ends {
			id, err := customer([]string{"ann", "bea", "cid"}[random.IntN(3)])
			if err != nil {
				w.t.Error(err)
			}
			all = append(all, &paidIn{tx: payIn(strconv.Itoa(i), id, 1000+random.Int64N(2e8))})
		}
		for _, p := range all {
			if p.height > tip.Height { // its block is gone
				p.height, p.dead = 0, p.dead || random.IntN(3) == 0
			}
			if p.height == 0 && (ends || random.IntN(3) > 0) {
				p.height = tip.Height + 1
				txs = append(txs, p.mined())
			}
		}
		next := blockOn(tip, txs)
		w.tell(ctx, next)
		chain = append(chain, next.Block)
		children.Pause(ctx, w.watch.withdrawals.Policy().CheckEvery/2)
	}
	for _, p := range all {
		if !p.dead {
			paid++
		}
	}
	w.t.Logf("%d payments in, %d of them lost to somebody else", len(all), len(all)-paid)
	return paid
}

// tell tells the wallets of something, until it is stored.
func (w *world) tell(ctx context.Context, ev utxo.Event) {
	for ; !w.over(ctx); w.pause(ctx) {
		if _, err := w.watch.wallets.Do(ctx, ev); err == nil {
			return
		}
	}
}

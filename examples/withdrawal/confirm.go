package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// checker is the confirmation worker: it tells what the chain says.
type checker struct {
	node *node.Client
	keys signer
	name string
}

func (c *checker) by() withdrawal.By {
	return withdrawal.By{Actor: c.name, Role: withdrawal.ConfirmationWorker}
}

// handle looks up all transactions of a withdrawal that may be mined. It judges
// nothing: how deep is deep enough is for the policy to say.
func (c *checker) handle(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	var missing []withdrawal.Event
	asked := true
	live := w.Live()
	for _, tx := range live {
		found, err := c.node.Transaction(ctx, tx.Hash)
		switch {
		case err != nil: // no answer is no evidence
			asked = false
			missing = append(missing, withdrawal.Missing{By: c.by(), Tx: tx.Hash, Error: err.Error()})
		case found.Height > 0:
			return result(w, withdrawal.Receipt{By: c.by(), Block: block(found), Tx: tx.Hash, Reverted: found.Reverted,
				GasUsed: withdrawal.Raw(strconv.FormatUint(found.GasUsed, 10)), GasPrice: withdrawal.Raw(strconv.FormatUint(found.GasPrice, 10))})
		case !found.Known:
			missing = append(missing, withdrawal.Missing{By: c.by(), Tx: tx.Hash})
		case time.Since(tx.CreatedAt) > bumpAfter: // it has a worker send it again, for more if need be
			missing = append(missing, withdrawal.Missing{By: c.by(), Tx: tx.Hash, Error: "it is in the mempool for long"})
		}
	}
	if asked && len(live) > 0 {
		if dead := c.dead(ctx, live); dead != nil {
			return result(w, dead)
		}
	}
	return result(w, missing...)
}

// dead returns the proof that none of the transactions can be mined: another
// one has used their nonce.
func (c *checker) dead(ctx context.Context, live []withdrawal.Tx) withdrawal.Event {
	tx := live[0]
	used, err := c.node.Nonce(ctx, c.keys.address(tx.Wallet), tx.Nonce)
	ours := slices.ContainsFunc(live, func(t withdrawal.Tx) bool { return t.Hash == used.Hash })
	if err != nil || used.Height == 0 || ours {
		return nil
	}
	return withdrawal.ProvenDead{By: c.by(), Block: block(used), Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: used.Hash, Nonce: tx.Nonce, NotThisPayment: true}
}

func block(f node.Found) withdrawal.Block {
	return withdrawal.Block{Height: f.Height, Hash: f.Block, Canonical: f.Canonical, Head: f.Head}
}

package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// checker is the confirmation worker: it tells what the chain says.
type checker struct {
	node *node.Client
	keys signer
	name string
	now  func() time.Time // this host's clock
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
		case c.now().Sub(tx.CreatedAt) > bumpAfter: // it has a worker send it again, for more if need be
			missing = append(missing, withdrawal.Missing{By: c.by(), Tx: tx.Hash, Error: "it is in the mempool for long"})
		}
	}
	if asked && len(live) > 0 {
		if instead := c.instead(ctx, &w); instead != nil {
			return result(w, instead)
		}
	}
	return result(w, missing...)
}

// instead says what another transaction that used the nonce means. It may be the
// same payment under a hash that is not on file, bumped in another wallet or
// malleated: its hash alone proves nothing of the payment.
func (c *checker) instead(ctx context.Context, w *withdrawal.Withdrawal) withdrawal.Event {
	live := w.Live()
	tx := live[0]
	used, err := c.node.Nonce(ctx, c.keys.address(tx.Wallet), tx.Nonce)
	ours := slices.ContainsFunc(live, func(t withdrawal.Tx) bool { return statemachine.SameHash(t.Hash, used.Hash) })
	if err != nil || used.Height == 0 || ours {
		return nil
	}
	switch paysIt(w, &used) {
	case yes:
		return withdrawal.PaidBy{By: c.by(), Block: block(used), Tx: used.Hash, Payee: used.Tx.To, AssetOnChain: w.Job.AssetOnChain,
			AmountRaw: withdrawal.Raw(used.Tx.Amount), Nonce: tx.Nonce, HasNonce: true,
			GasUsed: withdrawal.Raw(strconv.FormatUint(used.GasUsed, 10)), GasPrice: withdrawal.Raw(strconv.FormatUint(used.GasPrice, 10))}
	case no:
		return withdrawal.ProvenDead{By: c.by(), Block: block(used), Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: used.Hash, Nonce: tx.Nonce,
			NotThisPayment: true}
	}
	return withdrawal.CannotTell{By: c.by(), Tx: tx.Hash, Other: used.Hash, Reason: "it has part of payee, asset, amount and reference"}
}

type answer int

const (
	unclear answer = iota
	yes
	no
)

// paysIt compares payee, asset, amount and reference. All alike: it is the
// payment. None of payee and reference alike, or nothing transferred: it is
// not. Anything else nobody can tell from here.
func paysIt(w *withdrawal.Withdrawal, other *node.Found) answer {
	if other.Tx == nil || other.Reverted {
		return no
	}
	symbol, err := symbolOf(w.Job.AssetOnChain)
	payee, reference := statemachine.SameHash(other.Tx.To, w.Job.ToAddress), other.Tx.Reference == w.Request.ID.String()
	switch {
	case err != nil:
		return unclear
	case payee && reference && other.Tx.Asset == symbol && other.Tx.Amount == string(w.Job.AmountRaw):
		return yes
	case !payee && !reference:
		return no
	}
	return unclear
}

func block(f node.Found) withdrawal.Block {
	return withdrawal.Block{Height: f.Height, Hash: f.Block, Canonical: f.Canonical, Head: f.Head}
}

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
	switch output, says := paysIt(w, &used); says {
	case yes:
		return withdrawal.PaidBy{By: c.by(), Block: block(used), Tx: used.Hash, Output: output, Payee: w.Job.ToAddress,
			AssetOnChain: w.Job.AssetOnChain,
			AmountRaw:    w.Job.AmountRaw, Nonce: tx.Nonce, HasNonce: true,
			GasUsed: withdrawal.Raw(strconv.FormatUint(used.GasUsed, 10)), GasPrice: withdrawal.Raw(strconv.FormatUint(used.GasPrice, 10))}
	case no:
		return withdrawal.ProvenDead{By: c.by(), Block: block(used), Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: used.Hash, Nonce: tx.Nonce,
			NotThisPayment: true}
	}
	return withdrawal.CannotTell{By: c.by(), Tx: tx.Hash, Other: used.Hash,
		Reason: "it has part of payee, asset, amount and reference, or twice"}
}

type answer int

const (
	unclear answer = iota
	yes
	no
)

// paysIt compares payee, asset, amount and reference of every transfer. If one transfer is alike in all four, and no
// other has the reference, it is the payment, by that output. If none has the payee or the reference, or nothing is
// transferred, it is not the payment. In any other case nobody can tell from here.
func paysIt(w *withdrawal.Withdrawal, other *node.Found) (output uint32, says answer) {
	if other.Tx == nil || other.Reverted {
		return 0, no
	}
	symbol, err := symbolOf(w.Job.AssetOnChain)
	alike, named, part := 0, 0, 0
	for i, t := range other.Tx.Transfers() {
		payee, reference := statemachine.SameHash(t.To, w.Job.ToAddress), t.Reference == w.Request.ID.String()
		if payee && reference && t.Asset == symbol && t.Amount == string(w.Job.AmountRaw) {
			alike++
			output = uint32(i)
		}
		if reference {
			named++
		}
		if payee || reference {
			part++
		}
	}
	switch {
	case err != nil:
		return 0, unclear
	case alike == 1 && named == 1:
		return output, yes
	case part == 0:
		return 0, no
	}
	return 0, unclear
}

func block(f node.Found) withdrawal.Block {
	return withdrawal.Block{Height: f.Height, Hash: f.Block, Canonical: f.Canonical, Head: f.Head}
}

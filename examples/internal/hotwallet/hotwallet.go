// Package hotwallet pays withdrawals from a hot wallet on the simulated chain of examples/withdrawal/node, and says
// what the chain shows of them. Its two handlers are those of worker.Run in the examples that pay each request alone.
package hotwallet

import (
	"context"
	"crypto/ed25519"
	"slices"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// GasPrice is that of every payment; examples/withdrawal replaces payments for a higher one.
const GasPrice = 10

// Wallet is a hot wallet with its node. A host has the key in a signer, and never in its program.
type Wallet struct {
	Withdrawals *store.Withdrawals
	Node        *node.Client
	ID          uuid.UUID
	Key         ed25519.PrivateKey
	Symbol      string    // of what it pays, on the chain
	Asset       uuid.UUID // the same in the requests
}

func (h *Wallet) address() string { return node.Address(h.Key.Public().(ed25519.PublicKey)) }

func say(w withdrawal.Withdrawal, events ...withdrawal.Event) store.HeldWithdrawal {
	return store.HeldWithdrawal{Withdrawal: w, Events: events}
}

// Pay signs a payment, stores it, and only then sends it. Whatever kills it between two lines, the record says how to
// go on.
func (h *Wallet) Pay(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	by, fence := withdrawal.By{Actor: w.Job.Lease.Holder, Role: withdrawal.WithdrawalWorker}, w.Job.Lease.Fence
	if w.Job.Status == withdrawal.JobConfirming { // the node has lost the transaction: it gets the same bytes again
		for _, tx := range slices.Backward(w.Live()) {
			if len(tx.Raw) > 0 { // a copy that somebody else has made has no bytes on file
				return say(w, withdrawal.Rebroadcast{By: by, Fence: fence, Hash: tx.Hash, Done: h.Node.Send(ctx, tx.Raw) == nil})
			}
		}
		return say(w)
	}
	failed := func(w withdrawal.Withdrawal, kind withdrawal.Failure, err error) store.HeldWithdrawal {
		return say(w, withdrawal.AttemptFailed{By: by, Fence: fence, Failure: kind, Error: err.Error()})
	}
	account, err := h.Node.Account(ctx, h.address())
	if err != nil {
		return failed(w, withdrawal.Retryable, err)
	}
	nonce, err := h.Withdrawals.FreeNonce(ctx, h.ID, account.Nonce)
	if err != nil {
		return failed(w, withdrawal.Retryable, err)
	}
	raw, hash, err := node.Sign(h.Key, node.Tx{Nonce: nonce, To: w.Job.ToAddress, Asset: h.Symbol, Amount: string(w.Job.AmountRaw),
		GasPrice: GasPrice, Reference: w.Request.ID.String()})
	if err != nil {
		return failed(w, withdrawal.Permanent, err)
	}
	stored, err := h.Withdrawals.DoHeld(ctx, say(w, withdrawal.Prepared{By: by, Fence: fence, Hash: hash, Raw: raw,
		Nonce: nonce, HasNonce: true, ChainNonce: account.Nonce, HasChainNonce: true}))
	if err != nil { // stored or not, nothing was sent: the lease ends, and the record says how to go on
		return say(w)
	}
	if err := h.Node.Send(ctx, raw); err != nil { // a time-out is no failure: the transaction will be looked up
		return failed(stored[0], withdrawal.Unclear, err)
	}
	return say(stored[0], withdrawal.Broadcast{By: by, Fence: fence, Hash: hash})
}

// Look says what the chain shows of a payment. It judges nothing: how deep is deep enough is for the policy to say.
func (h *Wallet) Look(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	by, tx := withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}, w.Live()[len(w.Live())-1]
	var used node.Found
	var err error
	if tx.HasNonce { // which transaction was mined with it
		used, err = h.Node.Nonce(ctx, h.address(), tx.Nonce)
	}
	if err == nil && used.Height == 0 {
		used, err = h.Node.Transaction(ctx, tx.Hash)
	}
	switch {
	case err != nil: // no answer is no evidence
		return say(w, withdrawal.Missing{By: by, Tx: tx.Hash, Error: err.Error()})
	case !used.Known:
		return say(w, withdrawal.Missing{By: by, Tx: tx.Hash})
	case used.Height == 0: // the node has it, and no block yet
		return say(w)
	}
	for _, live := range w.Live() {
		if statemachine.SameHash(live.Hash, used.Hash) {
			return say(w, withdrawal.Receipt{By: by, Block: Block(&used), Tx: live.Hash, Reverted: used.Reverted})
		}
	}
	// Another transaction has the nonce. It may be the same payment under another hash.
	switch is, partly := h.paysIt(&w.Request, &used); {
	case is:
		return say(w, withdrawal.PaidBy{By: by, Block: Block(&used), Tx: used.Hash, Payee: w.Job.ToAddress, AssetOnChain: h.Asset,
			AmountRaw: w.Job.AmountRaw, Nonce: tx.Nonce, HasNonce: true})
	case partly:
		return say(w, withdrawal.CannotTell{By: by, Tx: tx.Hash, Other: used.Hash, Reason: "it has part of payee, amount and reference"})
	}
	return say(w, withdrawal.ProvenDead{By: by, Block: Block(&used), Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: used.Hash,
		Nonce: tx.Nonce, NotThisPayment: true})
}

// paysIt compares what was mined with what was asked for: all of it, or part of it.
func (h *Wallet) paysIt(r *withdrawal.Request, f *node.Found) (all, part bool) {
	if f.Tx == nil || f.Reverted {
		return false, false
	}
	payee, reference := statemachine.SameHash(f.Tx.To, r.ToAddress), f.Tx.Reference == r.ID.String()
	amount := f.Tx.Asset == h.Symbol && f.Tx.Amount == string(r.AmountRaw)
	return payee && reference && amount && len(f.Tx.More) == 0, payee || reference
}

// Block is where a transaction was found.
func Block(f *node.Found) withdrawal.Block {
	return withdrawal.Block{Height: f.Height, Hash: f.Block, Canonical: f.Canonical, Head: f.Head}
}

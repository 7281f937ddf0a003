package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// The chain of the example and what it moves: bitcoins that are wrapped there. A host has
// many of each.
const (
	symbol   = "BTC"
	decimals = 8
	gasPrice = 10 // of every payment; examples/withdrawal replaces payments for a higher one
)

var (
	chainID   = statemachine.ID("chain", "demonstration")
	asset     = statemachine.ID("asset", symbol)
	hotWallet = statemachine.ID("wallet", "hot")
)

// payingWallet is what the service says of the hot wallet at each start. Where it was switched off since somebody
// else has paid with its key, the system does not switch it on.
var payingWallet = withdrawal.HotWallet{ID: hotWallet, Chain: chainID, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}

// key signs for the hot wallet. A host has it in a signer, and never in its program.
var key = func() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("the coins of the demonstration chain are worth nothing"))
	return ed25519.NewKeyFromSeed(seed[:])
}()

var hotAddress = node.Address(key.Public().(ed25519.PublicKey))

// workers are the handlers of [worker.Run]: they do what a withdrawal owes outside of the
// database. Whatever kills one between two lines, the record says how to go on.
type workers struct {
	withdrawals *store.Withdrawals
	node        *node.Client
}

func say(w withdrawal.Withdrawal, events ...withdrawal.Event) store.HeldWithdrawal {
	return store.HeldWithdrawal{Withdrawal: w, Events: events}
}

// pay signs a payment, stores it, and only then sends it.
func (k *workers) pay(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	by, fence := withdrawal.By{Actor: w.Job.Lease.Holder, Role: withdrawal.WithdrawalWorker}, w.Job.Lease.Fence
	if w.Job.Status == withdrawal.JobConfirming { // the node has lost the transaction: it gets the same bytes again
		for _, tx := range slices.Backward(w.Live()) {
			if len(tx.Raw) > 0 { // a copy that somebody else has made has no bytes on file
				return say(w, withdrawal.Rebroadcast{By: by, Fence: fence, Hash: tx.Hash, Done: k.node.Send(ctx, tx.Raw) == nil})
			}
		}
		return say(w)
	}
	failed := func(w withdrawal.Withdrawal, kind withdrawal.Failure, err error) store.HeldWithdrawal {
		return say(w, withdrawal.AttemptFailed{By: by, Fence: fence, Failure: kind, Error: err.Error()})
	}
	account, err := k.node.Account(ctx, hotAddress)
	if err != nil {
		return failed(w, withdrawal.Retryable, err)
	}
	nonce, err := k.withdrawals.FreeNonce(ctx, hotWallet, account.Nonce)
	if err != nil {
		return failed(w, withdrawal.Retryable, err)
	}
	raw, hash, err := node.Sign(key, node.Tx{Nonce: nonce, To: w.Job.ToAddress, Asset: symbol, Amount: string(w.Job.AmountRaw),
		GasPrice: gasPrice, Reference: w.Request.ID.String()})
	if err != nil {
		return failed(w, withdrawal.Permanent, err)
	}
	stored, err := k.withdrawals.DoHeld(ctx, say(w, withdrawal.Prepared{By: by, Fence: fence, Hash: hash, Raw: raw,
		Nonce: nonce, HasNonce: true, ChainNonce: account.Nonce, HasChainNonce: true}))
	if err != nil { // stored or not, nothing was sent: the lease ends, and the record says how to go on
		return say(w)
	}
	if err := k.node.Send(ctx, raw); err != nil { // a time-out is no failure: the transaction will be looked up
		return failed(stored[0], withdrawal.Unclear, err)
	}
	return say(stored[0], withdrawal.Broadcast{By: by, Fence: fence, Hash: hash})
}

// newest is the live transaction of a confirming withdrawal that was signed last.
func newest(w *withdrawal.Withdrawal) withdrawal.Tx {
	live := w.Live()
	return live[len(live)-1]
}

// look says what the chain shows of a payment. It judges nothing: how deep is deep enough
// is for the policy to say.
func (k *workers) look(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	by, tx := withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}, newest(&w)
	var used node.Found
	var err error
	if tx.HasNonce { // which transaction was mined with it
		used, err = k.node.Nonce(ctx, hotAddress, tx.Nonce)
	}
	if err == nil && used.Height == 0 {
		used, err = k.node.Transaction(ctx, tx.Hash)
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
			return say(w, withdrawal.Receipt{By: by, Block: block(&used), Tx: live.Hash, Reverted: used.Reverted})
		}
	}
	// Another transaction has the nonce. It may be the same payment under another hash.
	switch is, partly := paysIt(&w.Request, &used); {
	case is:
		return say(w, withdrawal.PaidBy{By: by, Block: block(&used), Tx: used.Hash, Payee: w.Job.ToAddress, AssetOnChain: asset,
			AmountRaw: w.Job.AmountRaw, Nonce: tx.Nonce, HasNonce: true})
	case partly:
		return say(w, withdrawal.CannotTell{By: by, Tx: tx.Hash, Other: used.Hash, Reason: "it has part of payee, amount and reference"})
	}
	return say(w, withdrawal.ProvenDead{By: by, Block: block(&used), Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: used.Hash,
		Nonce: tx.Nonce, NotThisPayment: true})
}

// paysIt compares what was mined with what was asked for: all of it, or part of it.
func paysIt(r *withdrawal.Request, f *node.Found) (all, part bool) {
	if f.Tx == nil || f.Reverted {
		return false, false
	}
	payee, reference := statemachine.SameHash(f.Tx.To, r.ToAddress), f.Tx.Reference == r.ID.String()
	amount := f.Tx.Asset == symbol && f.Tx.Amount == string(r.AmountRaw)
	return payee && reference && amount && len(f.Tx.More) == 0, payee || reference
}

func block(f *node.Found) withdrawal.Block {
	return withdrawal.Block{Height: f.Height, Hash: f.Block, Canonical: f.Canonical, Head: f.Head}
}

// errNode: nobody knows what the chain shows, for now.
var errNode = errors.New("the node does not answer")

// used is the word of an operator about the transaction that has used a nonce of the hot wallet, with
// what the chain shows of it. Where a chain that became shorter has left the nonce free again, a transfer
// of the wallet to itself uses it: what had it before can then never be mined.
func used(ctx context.Context, n *node.Client, by withdrawal.By, nonce uint64, reason string) (withdrawal.Event, error) {
	found, err := n.Nonce(ctx, hotAddress, nonce)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errNode, err)
	case found.Height == 0:
		raw, _, err := node.Sign(key, node.Tx{Nonce: nonce, To: hotAddress, Asset: node.GasAsset, Amount: "0", GasPrice: 10 * gasPrice,
			Reference: "uses the nonce"})
		if err == nil {
			err = n.Send(ctx, raw)
		}
		return nil, fmt.Errorf("%w: nonce %d is free again, a transfer to the wallet itself takes it, say it again: %w", statemachine.ErrIllegal,
			nonce, err)
	case found.Block != found.Canonical || found.Head+1 < found.Height+node.Finality:
		return nil, fmt.Errorf("%w: nonce %d is not used deep enough yet, say it again", statemachine.ErrIllegal, nonce)
	}
	u := withdrawal.Used{By: by, Wallet: hotWallet, Tx: found.Hash, Block: block(&found), Nonce: nonce,
		Reverted: found.Reverted, Reason: reason}
	if found.Tx != nil && !found.Reverted {
		for i, t := range found.Tx.Transfers() {
			u.Transfers = append(u.Transfers, withdrawal.UsedTransfer{Own: t.To == hotAddress, Transfer: withdrawal.Transfer{Output: uint32(i),
				Payee: t.To, AssetOnChain: statemachine.ID("asset", t.Asset), AmountRaw: withdrawal.Raw(t.Amount)}})
		}
	}
	return u, nil
}

// whose is the word of an operator about a transfer that nobody has explained: the request that its reference
// names is paid by it, else it is unclaimed, and the request is zero.
func whose(ctx context.Context, n *node.Client, by withdrawal.By, o *withdrawal.Open, reason string) (uuid.UUID, withdrawal.Event, error) {
	found, err := n.Transaction(ctx, o.Hash)
	if err != nil || found.Tx == nil {
		return uuid.Nil, nil, fmt.Errorf("%w: %w", errNode, err)
	}
	of := found.Tx.Transfers()[o.Number]
	pays := withdrawal.Transfer{Output: uint32(o.Number), Payee: of.To, AssetOnChain: statemachine.ID("asset", of.Asset),
		AmountRaw: withdrawal.Raw(of.Amount)}
	if request, err := uuid.Parse(of.Reference); err == nil {
		return request, withdrawal.PaidBy{By: by, Block: block(&found), Tx: o.Hash, Output: pays.Output, Payee: pays.Payee,
			AssetOnChain: pays.AssetOnChain, AmountRaw: pays.AmountRaw, Reason: reason}, nil
	}
	return uuid.Nil, withdrawal.Unclaimed{By: by, Wallet: o.Wallet, Tx: o.Hash, Transfer: pays, Reason: reason}, nil
}

// paidBy is the word of an operator that a transaction paid a request, with what the chain
// shows of it. It names no nonce, since a payment of another request may have been signed
// with the same one.
func paidBy(ctx context.Context, n *node.Client, by withdrawal.By, hash, reason string) (withdrawal.Event, error) {
	found, err := n.Transaction(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNode, err)
	}
	if found.Tx == nil || found.Reverted || found.Tx.Asset != symbol {
		return nil, fmt.Errorf("%w: the chain shows no payment %.100q", statemachine.ErrInvalid, hash)
	}
	if found.Block != found.Canonical || found.Head+1 < found.Height+node.Finality { // the book has no posting that takes a payment back
		return nil, fmt.Errorf("%w: the payment is not deep enough yet, say it again", statemachine.ErrIllegal)
	}
	return withdrawal.PaidBy{By: by, Block: block(&found), Tx: found.Hash, Payee: found.Tx.To, AssetOnChain: asset,
		AmountRaw: withdrawal.Raw(found.Tx.Amount), Reason: reason}, nil
}

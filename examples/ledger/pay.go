package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/internal/hotwallet"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// The chain of the example and what it moves: bitcoins that are wrapped there. A host has
// many of each.
const (
	symbol   = "BTC"
	decimals = 8
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
		raw, _, err := node.Sign(key, node.Tx{Nonce: nonce, To: hotAddress, Asset: node.GasAsset, Amount: "0", GasPrice: 10 * hotwallet.GasPrice,
			Reference: "uses the nonce"})
		if err == nil {
			err = n.Send(ctx, raw)
		}
		return nil, fmt.Errorf("%w: nonce %d is free again, a transfer to the wallet itself takes it, say it again: %w", statemachine.ErrIllegal,
			nonce, err)
	case found.Block != found.Canonical || found.Head+1 < found.Height+node.Finality:
		return nil, fmt.Errorf("%w: nonce %d is not used deep enough yet, say it again", statemachine.ErrIllegal, nonce)
	}
	u := withdrawal.Used{By: by, Wallet: hotWallet, Tx: found.Hash, Block: hotwallet.Block(&found), Nonce: nonce,
		Reverted: found.Reverted, Reason: reason}
	if found.Tx != nil && !found.Reverted {
		for i, t := range found.Tx.Transfers() {
			if t.Amount == "0" { // a transfer of nothing pays nobody: [used] sends one to take a free nonce
				continue
			}
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
		return request, withdrawal.PaidBy{By: by, Block: hotwallet.Block(&found), Tx: o.Hash, Output: pays.Output, Payee: pays.Payee,
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
	return withdrawal.PaidBy{By: by, Block: hotwallet.Block(&found), Tx: found.Hash, Payee: found.Tx.To, AssetOnChain: asset,
		AmountRaw: withdrawal.Raw(found.Tx.Amount), Reason: reason}, nil
}

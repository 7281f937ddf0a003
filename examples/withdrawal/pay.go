package main

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// bumpAfter is how long a transaction may wait at today's price of gas, and
// maxGasPrice the highest price that is ever paid.
const (
	bumpAfter   = 500 * time.Millisecond
	maxGasPrice = 10_000
)

// payer is the withdrawal worker: it signs and sends.
type payer struct {
	*store.Withdrawals
	node *node.Client
	keys signer
	name string
	now  func() time.Time // this host's clock, which may be wrong: it judges no lease
}

func (p *payer) by() withdrawal.By {
	return withdrawal.By{Actor: p.name, Role: withdrawal.WithdrawalWorker}
}

// handle does what a claimed withdrawal owes, one action after another. Each
// intent is stored before its effect, so whatever kills the worker between two
// lines, the record says how to go on.
func (p *payer) handle(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	if w.Job.Status == withdrawal.JobConfirming {
		return p.again(ctx, w)
	}
	policy := p.Policy()
	given := policy.GivenAt(&w) // by the store's clock, which gave the lease
	for {
		owed := policy.Next(w, given).Actions
		if len(owed) != 1 {
			return result(w)
		}
		switch a := owed[0]; a.Do {
		case withdrawal.DoPay:
			intent := p.sign(ctx, &w, a)
			if _, signed := intent.(withdrawal.Prepared); !signed {
				return result(w, intent)
			}
			held, err := p.DoHeld(ctx, result(w, intent))
			if err != nil { // stored or not: nothing is sent
				return result(w, p.failed(&w, withdrawal.Unclear, err))
			}
			w = held[0]
		case withdrawal.DoBroadcast:
			if err := p.node.Send(ctx, a.Raw); err != nil { // sent or not: it will be looked up
				return result(w, p.failed(&w, withdrawal.Unclear, err))
			}
			return result(w, withdrawal.Broadcast{By: p.by(), Fence: a.Fence, Hash: a.Hashes[0]})
		default: // not this worker's
			return result(w)
		}
	}
}

// sign returns Prepared with the signed payment, or why there is none.
func (p *payer) sign(ctx context.Context, w *withdrawal.Withdrawal, owed withdrawal.Action) withdrawal.Event {
	status, err := p.node.Status(ctx)
	if err != nil {
		return p.failed(w, withdrawal.Retryable, err)
	}
	account, err := p.node.Account(ctx, p.keys.address(w.Job.Wallet))
	if err != nil {
		return p.failed(w, withdrawal.Retryable, err)
	}
	symbol, err := symbolOf(w.Job.AssetOnChain)
	if err != nil {
		return p.failed(w, withdrawal.Permanent, err)
	}
	if have, ok := new(big.Int).SetString(account.Balances[symbol], 10); !ok || have.Cmp(w.Job.AmountRaw.Int()) < 0 {
		return p.failed(w, withdrawal.InsufficientBalance, fmt.Errorf("the hot wallet has too little %s", symbol))
	}
	nonce, err := p.FreeNonce(ctx, w.Job.Wallet, account.Nonce)
	if err != nil {
		return p.failed(w, withdrawal.Retryable, err)
	}
	raw, hash, err := p.keys.sign(&w.Job, nonce, min(status.GasPrice, maxGasPrice))
	if err != nil {
		return p.failed(w, withdrawal.Permanent, err)
	}
	return withdrawal.Prepared{By: p.by(), Fence: owed.Fence, Hash: hash, Raw: raw, Nonce: nonce, HasNonce: true,
		ChainNonce: account.Nonce, HasChainNonce: true}
}

func (p *payer) failed(w *withdrawal.Withdrawal, kind withdrawal.Failure, err error) withdrawal.Event {
	return withdrawal.AttemptFailed{By: p.by(), Fence: w.Job.Lease.Fence, Failure: kind, Error: err.Error()}
}

// again sends the bytes on file once more, or a replacement where they pay too
// little for the gas.
func (p *payer) again(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	report := withdrawal.Rebroadcast{By: p.by(), Fence: w.Job.Lease.Fence, Hash: w.Job.TxHash}
	if bump := p.bump(ctx, &w); bump != nil {
		held, err := p.DoHeld(ctx, result(w, bump))
		if err != nil {
			return result(w, report)
		}
		w = held[0]
	}
	live := w.Live()
	for i := len(live) - 1; i >= 0; i-- { // a copy that somebody else made may have no bytes on file
		if len(live[i].Raw) > 0 {
			report.Hash, report.Done = live[i].Hash, p.node.Send(ctx, live[i].Raw) == nil
			break
		}
	}
	return result(w, report)
}

// bump returns a replacement with the same nonce if one is needed: the newest
// transaction is the next of its wallet, has waited, and pays too little.
func (p *payer) bump(ctx context.Context, w *withdrawal.Withdrawal) withdrawal.Event {
	newest := w.Live()[len(w.Live())-1]
	tx, err := node.Parse(newest.Raw)
	if err != nil || p.now().Sub(newest.CreatedAt) < bumpAfter {
		return nil
	}
	status, err := p.node.Status(ctx)
	if err != nil || status.GasPrice <= tx.GasPrice || status.GasPrice > maxGasPrice {
		return nil
	}
	account, err := p.node.Account(ctx, tx.From())
	if err != nil || account.Nonce != newest.Nonce {
		return nil
	}
	price := max(status.GasPrice, tx.GasPrice+tx.GasPrice/10+1) // or the node does not take it
	raw, hash, err := p.keys.sign(&w.Job, newest.Nonce, price)
	if err != nil {
		return nil
	}
	return withdrawal.Rebumped{By: p.by(), Fence: w.Job.Lease.Fence, Hash: hash, Raw: raw, Nonce: newest.Nonce, HasNonce: true}
}

func result(w withdrawal.Withdrawal, events ...withdrawal.Event) store.HeldWithdrawal {
	return store.HeldWithdrawal{Withdrawal: w, Events: events}
}

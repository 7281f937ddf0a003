package main

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// payer has the handlers that the shop brings: settle calls them, and stores what they return.
type payer struct {
	*shop
	node *chain
}

// pay sends one job. What is signed is stored before it is sent: whoever dies in between has left the record behind.
func (p payer) pay(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	by, fence := withdrawal.By{Actor: w.Job.Lease.Holder, Role: withdrawal.WithdrawalWorker}, w.Job.Lease.Fence
	if w.Job.Status == withdrawal.JobConfirming { // the node has lost the transaction: it gets the same bytes again
		tx := w.Live()[0]
		return say(w, withdrawal.Rebroadcast{By: by, Fence: fence, Hash: tx.Hash, Done: p.node.send(ctx, tx.Raw) == nil})
	}
	hash, raw := p.node.sign(w.Job)
	stored, err := p.withdrawals.DoHeld(ctx, say(w, withdrawal.Prepared{By: by, Fence: fence, Hash: hash, Raw: raw}))
	if err != nil { // nothing was sent; once the lease has ended, the record says how to go on
		slog.Error("not prepared", "request", w.Request.ID, "error", err)
		return say(w)
	}
	if err := p.node.send(ctx, raw); err != nil { // a time-out is no failure: the transaction will be looked up
		return say(stored[0], withdrawal.AttemptFailed{By: by, Fence: fence, Failure: withdrawal.Unclear, Error: err.Error()})
	}
	return say(stored[0], withdrawal.Broadcast{By: by, Fence: fence, Hash: hash})
}

// look says what the chain shows of what was sent.
func (p payer) look(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
	by, missing := withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}, []withdrawal.Event(nil)
	for _, tx := range w.Live() { // whichever is mined pays
		block, found, err := p.node.mined(ctx, tx.Hash)
		switch {
		case err != nil: // no answer is no evidence
			return say(w, withdrawal.Missing{By: by, Tx: tx.Hash, Error: err.Error()})
		case found:
			return say(w, withdrawal.Receipt{By: by, Tx: tx.Hash, Block: block})
		}
		missing = append(missing, withdrawal.Missing{By: by, Tx: tx.Hash})
	}
	return say(w, missing...)
}

func say(w withdrawal.Withdrawal, events ...withdrawal.Event) store.HeldWithdrawal {
	return store.HeldWithdrawal{Withdrawal: w, Events: events}
}

// order makes the job of an approved request. Ordered twice, it is the same job.
func order(r withdrawal.Request) withdrawal.Enqueued {
	job := uuid.NewSHA1(r.ID, strconv.AppendInt(nil, r.Version, 10))
	return withdrawal.Enqueued{By: house, Job: job, AssetOnChain: r.Asset}
}

// run orders, pays and looks up, until ctx ends.
func (p payer) run(ctx context.Context) error {
	return p.withdrawals.Run(ctx, store.RunWithdrawals{Chains: []uuid.UUID{chainID}, Pay: p.pay, Look: p.look, Order: order})
}

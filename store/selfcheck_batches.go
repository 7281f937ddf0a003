package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// SelfCheckBatches is [SelfCheck] for a store that has batches, beside [SelfCheckWithdrawals]. It
// pays two requests by one transaction, replaces it by one that pays the second alone, and compares
// what comes back: the batch with its lease, the signed bytes of both versions, the members, the
// trail. Then it asks for what must be refused: a change of a version that is stored no longer, a
// batch with a member that has moved meanwhile, a second owner of its nonce, a write in a View.
// Everything is taken back.
func SelfCheckBatches[T BatchUnit](ctx context.Context, s Store[T]) error {
	chain, wallet, batch := uuid.New(), uuid.New(), uuid.New()
	p := withdrawal.DefaultPolicy()
	p.Chains = map[uuid.UUID]withdrawal.Chain{chain: {Nonces: true, Confirmations: 1}}
	service, err := NewBatches(s, p)
	if err != nil {
		return err
	}
	service.of.signed, service.members.of.signed = nil, nil // as in SelfCheckWithdrawals
	begin := func(tx BatchUnit) *batchCheck {
		c := &batchCheck{service: service.Within(tx), tx: tx, id: batch}
		c.paymentCheck = paymentCheck{c.service.members, tx, chain, wallet, [2]uuid.UUID{uuid.New(), uuid.New()}, nil}
		return c
	}
	return probeOf(&service.payoutCore, batch, func(tx BatchUnit) (withdrawal.BatchChange, error) {
		c := begin(tx)
		stale := c.together()
		return stale, c.err
	}, refusal[BatchUnit]{"a batch with a member that has moved", func(tx BatchUnit) error {
		c := begin(tx)
		members := c.claimed()
		made := c.change(withdrawal.Payout{Members: members}, prepareTogether(batch, members))
		c.paymentCheck.do(1, withdrawal.Held{By: checkedBy(withdrawal.Operator), Reason: "self-check"})
		c.then(func() error { return tx.Batches().Save(made) })
		return c.err
	}, []error{statemachine.ErrConflict}}, refusal[BatchUnit]{"a second owner of the nonce of a batch", func(tx BatchUnit) error {
		begin(tx).together()
		c := begin(tx)
		w := c.life(1, claimed)
		w.Wallet.NextNonce = 0 // as if it had been read before
		c.saves(w, intent(&w, "0xsecond"))
		return c.err
	}, []error{withdrawal.ErrNonceTaken}}).run(ctx)
}

// batchCheck is a self-check of batches in one transaction.
type batchCheck struct {
	paymentCheck
	service *Batches
	tx      BatchUnit
	id      uuid.UUID
}

// claimed brings two requests to a claim of one worker.
func (c *batchCheck) claimed() (members []withdrawal.Withdrawal) {
	c.life(0, claimed)
	c.life(1, pending)
	c.paymentCheck.do(1, withdrawal.Claimed{By: payer, Behind: true})
	c.then(func() (err error) {
		members, err = c.tx.Withdrawals().Get(c.requests[0], c.requests[1])
		return err
	})
	return members
}

// prepareTogether is the intent to pay all members by one transaction.
func prepareTogether(batch uuid.UUID, members []withdrawal.Withdrawal) withdrawal.BatchPrepared {
	var first withdrawal.Withdrawal
	if len(members) > 0 {
		first = members[0]
	}
	one := intent(&first, "0xSelf-Check")
	return withdrawal.BatchPrepared{By: payer, Batch: batch, Pays: payAll(members), Hash: one.Hash, Raw: one.Raw,
		Nonce: one.Nonce, HasNonce: true,
		ChainNonce: one.ChainNonce, HasChainNonce: true}
}

func payAll(members []withdrawal.Withdrawal) (all []withdrawal.Pay) {
	for i := range members {
		m := &members[i]
		all = append(all, withdrawal.Pay{Request: m.Request.ID, Fence: m.Job.Lease.Fence, Transfer: withdrawal.Transfer{Output: uint32(i),
			Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Job.AmountRaw}})
	}
	return all
}

// together stores a batch and its second version, and returns a change of the first one that is not
// saved.
func (c *batchCheck) together() (stale withdrawal.BatchChange) {
	b := c.do(prepareTogether(c.id, c.claimed()))
	if c.err != nil {
		return stale
	}
	by := payer
	by.Version = b.Batch.Version
	replaced := withdrawal.BatchReplaced{By: by, Fence: b.Batch.Lease.Fence, Hash: "0xreplaced",
		Raw: []byte{1, 0}, Pays: payAll(b.Members)[1:]}
	stale = c.change(b, replaced)
	b = c.do(replaced)
	c.renews(&b.Batch)
	c.then(func() error { return c.service.Verify(context.Background(), c.id) })
	return stale
}

func (c *batchCheck) change(b withdrawal.Payout, ev withdrawal.BatchEvent) (change withdrawal.BatchChange) {
	c.then(func() error {
		now, err := c.tx.Now()
		if err == nil {
			change, err = c.service.policy.ApplyBatch(b, ev, now)
		}
		return err
	})
	return change
}

// do sends an event to the batch and compares what is stored, but for the wallets of its members,
// which others move.
func (c *batchCheck) do(ev withdrawal.BatchEvent) (b withdrawal.Payout) {
	c.then(func() (err error) {
		if b, err = c.service.Do(context.Background(), c.id, ev); err != nil {
			return err
		}
		read, err1 := c.service.Get(context.Background(), c.id)
		found, err2 := c.service.ByHash(context.Background(), b.Batch.TxHash)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		text := func(p withdrawal.Payout) string {
			p.Members = slices.Clone(p.Members)
			for i := range p.Members {
				p.Members[i].Wallet = withdrawal.HotWallet{}
			}
			return plain(p)
		}
		if text(read) != text(b) || !slices.Contains(found, c.id) {
			return broken(fmt.Sprintf("stored batch %s, read %s, by its hash %v", text(b), text(read), found))
		}
		return withdrawal.CheckBatch(read)
	})
	return b
}

// renews requires that the lease of a batch is renewed under its fence alone.
func (c *batchCheck) renews(b *withdrawal.Batch) {
	for fence, held := range map[int64]bool{b.Lease.Fence: true, b.Lease.Fence + 1: false} {
		c.then(func() error {
			lost, err := c.tx.Batches().Renew(b.Lease.Until.Add(-time.Microsecond), Lease[uuid.UUID]{b.ID, fence, b.Lease.Until})
			if err == nil && slices.Contains(lost, b.ID) == held {
				err = broken(fmt.Sprintf("the answer to a renewal of a batch under fence %d, of %d, is wrong", fence, b.Lease.Fence))
			}
			return err
		})
	}
}

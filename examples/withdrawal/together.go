package main

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// builder is the withdrawal worker that pays several requests by one transaction.
type builder struct {
	*payer
	batches *store.Batches
}

// handle signs one transaction for what was claimed together, or sends one again.
func (p *builder) handle(ctx context.Context, work store.BatchWork) store.BatchResult {
	if len(work.Members) == 0 {
		return p.again(ctx, work.Payout)
	}
	e, why := p.sign(ctx, work.Members)
	if e == nil {
		return p.giveBack(work.Members, why)
	}
	b, err := p.batches.Do(ctx, e.Batch, *e)
	switch {
	case isRefusal(err): // nothing is on file: one was held, or cancelled
		return p.giveBack(work.Members, err)
	case err != nil: // on file or not: nothing is sent by this hand
		return store.BatchResult{}
	}
	return p.send(ctx, &b.Batch, e.Raw, e.Hash)
}

func (p *builder) giveBack(members []withdrawal.Withdrawal, why error) (r store.BatchResult) {
	for i := range members {
		r.Members = append(r.Members, result(members[i], withdrawal.GivenBack{By: p.by(), Fence: members[i].Job.Lease.Fence,
			For: 100 * time.Millisecond, Reason: why.Error()}))
	}
	return r
}

// send reports Done, or not: either way it is looked up.
func (p *builder) send(ctx context.Context, b *withdrawal.Batch, raw []byte, hash string) store.BatchResult {
	err := p.node.Send(ctx, raw)
	return store.BatchResult{Batch: b.ID, Events: []withdrawal.BatchEvent{withdrawal.BatchSent{By: p.by(), Fence: b.Lease.Fence,
		Hash: hash, Done: err == nil}}}
}

// sign pays all of them, or nobody: the funds of the sample are ample.
func (p *builder) sign(ctx context.Context, members []withdrawal.Withdrawal) (*withdrawal.BatchPrepared, error) {
	lead := &members[0].Job
	status, err := p.node.Status(ctx)
	if err != nil {
		return nil, err
	}
	account, err := p.node.Account(ctx, p.keys.address(lead.Wallet))
	if err != nil {
		return nil, err
	}
	need := map[string]*big.Int{}
	for i := range members {
		symbol, err := symbolOf(members[i].Job.AssetOnChain)
		if err != nil {
			return nil, err
		}
		if need[symbol] == nil {
			need[symbol] = new(big.Int)
		}
		need[symbol].Add(need[symbol], members[i].Job.AmountRaw.Int())
		if have, ok := new(big.Int).SetString(account.Balances[symbol], 10); !ok || have.Cmp(need[symbol]) < 0 {
			return nil, fmt.Errorf("the hot wallet has too little %s", symbol)
		}
	}
	nonce, err := p.FreeNonce(ctx, lead.Wallet, account.Nonce)
	if err != nil {
		return nil, err
	}
	raw, hash, err := p.keys.sign(lead, nonce, min(status.GasPrice, maxGasPrice), members[1:]...)
	if err != nil {
		return nil, err
	}
	return &withdrawal.BatchPrepared{By: p.by(), Batch: uuid.New(), Pays: paysOf(members), Hash: hash, Raw: raw, Nonce: nonce, HasNonce: true,
		ChainNonce: account.Nonce, HasChainNonce: true}, nil
}

// paysOf are the transfers of a transaction in its order.
func paysOf(members []withdrawal.Withdrawal) (all []withdrawal.Pay) {
	for i := range members {
		m := &members[i]
		all = append(all, withdrawal.Pay{Request: m.Request.ID, Fence: m.Job.Lease.Fence, Transfer: withdrawal.Transfer{Output: uint32(i),
			Payee: m.Job.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Job.AmountRaw}})
	}
	return all
}

// again sends the newest version once more, or a replacement for more gas. The replacement drops members that
// are held and, while gas is dear, members without priority: they are pending again once a version without
// them is mined. A version that pays a member which an operator has is replaced at once, if need be by one
// that pays nobody.
func (p *builder) again(ctx context.Context, b withdrawal.Payout) store.BatchResult {
	newest := b.Txs[len(b.Txs)-1]
	e := p.replacement(ctx, &b, newest)
	switch {
	case e == nil && len(b.Unwanted()) > 0: // asked for again when the lease has ended
		return store.BatchResult{}
	case e != nil:
		if _, err := p.batches.Do(ctx, b.Batch.ID, *e); err != nil { // somebody else's, or over
			return store.BatchResult{}
		}
		newest.Raw, newest.Hash = e.Raw, e.Hash
	}
	return p.send(ctx, &b.Batch, newest.Raw, newest.Hash)
}

func (p *builder) replacement(ctx context.Context, b *withdrawal.Payout, newest withdrawal.BatchTx) *withdrawal.BatchReplaced {
	tx, err := node.Parse(newest.Raw)
	stopped := len(b.Unwanted()) > 0
	if err != nil || !stopped && p.now().Sub(newest.CreatedAt) < bumpAfter {
		return nil
	}
	status, err := p.node.Status(ctx)
	if err != nil || status.GasPrice > maxGasPrice {
		return nil
	}
	account, err := p.node.Account(ctx, tx.From())
	if err != nil || account.Nonce != b.Batch.Nonce {
		return nil
	}
	dear := status.GasPrice > tx.GasPrice
	var keep []withdrawal.Withdrawal
	for _, m := range b.Payable() {
		if !m.Request.Held && !(dear && m.Job.Priority == withdrawal.Low) {
			keep = append(keep, m)
		}
	}
	if !stopped && (len(keep) == 0 || !dear && len(keep) == len(tx.Transfers())) {
		return nil
	}
	price := max(status.GasPrice, tx.GasPrice+tx.GasPrice/10+1) // or the node does not take it
	raw, hash, err := p.keys.cancel(&b.Batch, price)
	if len(keep) > 0 {
		raw, hash, err = p.keys.sign(&keep[0].Job, b.Batch.Nonce, price, keep[1:]...)
	}
	if err != nil {
		return nil
	}
	by := p.by()
	by.Version = b.Batch.Version
	return &withdrawal.BatchReplaced{By: by, Fence: b.Batch.Lease.Fence, Pays: paysOf(keep), Hash: hash, Raw: raw}
}

// watcher is the confirmation worker of batches.
type watcher checker

func (c *watcher) handle(ctx context.Context, work store.BatchWork) store.BatchResult {
	b := &work.Payout
	by := withdrawal.By{Actor: c.name, Role: withdrawal.ConfirmationWorker}
	say := func(ev withdrawal.BatchEvent) store.BatchResult {
		return store.BatchResult{Batch: b.Batch.ID, Events: []withdrawal.BatchEvent{ev}}
	}
	used, err := c.node.Nonce(ctx, c.keys.address(b.Batch.Wallet), b.Batch.Nonce)
	if err != nil { // no answer is no evidence
		return say(withdrawal.BatchMissing{By: by, Error: err.Error()})
	}
	if used.Height > 0 { // a version, the same transfers under another hash, or another transaction
		transfers, told := shown(b, &used)
		if !told {
			return say(withdrawal.BatchCannotTell{By: by, Other: used.Hash, Reason: "it pays a member in part, or another's reference to its payee"})
		}
		return say(withdrawal.BatchMined{By: by, Block: block(used), Tx: used.Hash, Reverted: used.Reverted, Transfers: transfers,
			GasUsed: withdrawal.Raw(strconv.FormatUint(used.GasUsed, 10)), GasPrice: withdrawal.Raw(strconv.FormatUint(used.GasPrice, 10)),
			Nonce: b.Batch.Nonce, HasNonce: true, Looked: true})
	}
	newest := b.Txs[len(b.Txs)-1]
	found, err := c.node.Transaction(ctx, newest.Hash)
	if err == nil && found.Known && c.now().Sub(newest.CreatedAt) <= bumpAfter {
		return say(withdrawal.BatchLooking{By: by})
	}
	return say(withdrawal.BatchMissing{By: by}) // or in the mempool for long: it is sent again, for more if need be
}

// shown returns the transfers of a mined transaction. For a version of the batch these are all of its
// transfers. For another transaction they are those that pay members, as [paysIt] compares them; told is
// false if that cannot be told of a member.
func shown(b *withdrawal.Payout, f *node.Found) (all []withdrawal.Transfer, told bool) {
	if f.Tx == nil || f.Reverted {
		return nil, true
	}
	if slices.ContainsFunc(b.Txs, func(v withdrawal.BatchTx) bool { return statemachine.SameHash(v.Hash, f.Hash) }) {
		for i, t := range f.Tx.Transfers() {
			all = append(all, withdrawal.Transfer{Output: uint32(i), Payee: t.To, AssetOnChain: assets[t.Asset].id(t.Asset),
				AmountRaw: withdrawal.Raw(t.Amount)})
		}
		return all, true
	}
	for i := range b.Members {
		switch output, says := paysIt(&b.Members[i], f); says {
		case yes:
			j := &b.Members[i].Job
			all = append(all, withdrawal.Transfer{Output: output, Payee: j.ToAddress, AssetOnChain: j.AssetOnChain, AmountRaw: j.AmountRaw})
		case unclear:
			return nil, false
		}
	}
	return all, true
}

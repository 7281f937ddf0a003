package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// operators are the people of a chaotic run: one who cancels, holds and releases
// what they like, one who bumps payments in another wallet with the same keys,
// and one who is wrong. What the last one says must be refused.
type operators struct {
	service *store.Withdrawals
	node    *node.Client
	keys    signer
	idle    time.Duration // at least, between two things that they do

	cancelled, held, bumped, refused, explained atomic.Int64
	taken                                       atomic.Pointer[string] // what was wrong and was taken
}

func operator(name string) withdrawal.By {
	return withdrawal.By{Actor: name, Role: withdrawal.Operator}
}

func (o *operators) work(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		children.Pause(ctx, o.idle+time.Duration(random.Int64N(int64(3*o.idle))))
		page, err := o.service.Requests(ctx, withdrawal.RequestQueued, nil, 100)
		if err != nil || len(page) == 0 {
			continue
		}
		w, err := o.service.Get(ctx, page[random.IntN(len(page))].ID)
		if err != nil {
			continue
		}
		switch n := random.IntN(10); {
		case n == 0:
			o.do(ctx, &w, withdrawal.Cancelled{By: operator("olga"), Reason: "the user asked"}, &o.cancelled)
		case n < 3:
			o.do(ctx, &w, withdrawal.Held{By: operator("olga"), Reason: "fraud?"}, &o.held)
			children.Pause(ctx, 2*o.idle)
			o.release(context.WithoutCancel(ctx), &w)
		case n < 7:
			o.bump(ctx, &w)
		default:
			o.wrong(ctx, &w)
		}
	}
}

func (o *operators) do(ctx context.Context, w *withdrawal.Withdrawal, ev withdrawal.Event, count *atomic.Int64) {
	if _, err := o.service.Do(ctx, w.Request.ID, ev); err == nil {
		count.Add(1)
	}
}

// release ends a hold, for as long as it takes.
func (o *operators) release(ctx context.Context, w *withdrawal.Withdrawal) {
	for range 100 {
		_, err := o.service.Do(ctx, w.Request.ID, withdrawal.Released{By: operator("olga")})
		if err == nil || errors.Is(err, statemachine.ErrIllegal) { // or it is over
			return
		}
		children.Pause(ctx, 100*time.Millisecond)
	}
}

// releaseAll ends the holds of operators who are gone: of a run that was killed.
func (o *operators) releaseAll(ctx context.Context) error {
	for _, status := range []withdrawal.RequestStatus{withdrawal.RequestPending, withdrawal.RequestApproved, withdrawal.RequestQueued} {
		for after := (*withdrawal.Request)(nil); ; {
			page, err := o.service.Requests(ctx, status, after, 100)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for i := range page {
				if page[i].Held {
					_, err := o.service.Do(ctx, page[i].ID, withdrawal.Released{By: operator("olga"), Reason: "a new run"})
					if err != nil && !isRefusal(err) {
						return err
					}
				}
			}
			after = &page[len(page)-1]
		}
	}
	return nil
}

// explain is the person who is called when somebody else has sent with the key of a hot wallet, which is off
// then. Here that is known to be harmless; elsewhere the person finds out first who has the key, and whether
// the database was put back.
func (o *operators) explain(ctx context.Context) {
	for ; ctx.Err() == nil; children.Pause(ctx, 10*o.idle) {
		stats, err := o.service.Stats(ctx, time.Hour)
		if err != nil || len(stats.WalletsOff) == 0 {
			continue
		}
		open, err := o.service.Unsettled(ctx, chainID, 100)
		if err != nil {
			continue
		}
		for i := range open {
			o.tell(ctx, &open[i])
		}
		for _, w := range stats.WalletsOff { // refused while something is not explained
			if err := o.service.PutHotWallet(ctx, operator("olga"), payingWallet(w)); err == nil {
				o.explained.Add(1)
			}
		}
	}
}

// tell says what the chain shows of an open point; what is not deep is refused, and told later.
func (o *operators) tell(ctx context.Context, open *withdrawal.Open) {
	var ev withdrawal.Event
	found, err := o.node.Transaction(ctx, open.Hash)
	output := uint32(open.Number)
	switch {
	case open.Point == withdrawal.OpenUntold:
		ev = o.used(ctx, open.Wallet, open.Number)
	case open.Point == withdrawal.OpenPayee: // a payment of ours names its request, and this one names none
		ev = withdrawal.Dropped{By: operator("olga"), Wallet: open.Wallet, Tx: open.Hash, Output: output,
			Reason: "the fault of the demonstration"}
	case err != nil || found.Tx == nil:
	default:
		of := found.Tx.Transfers()[output]
		pays := withdrawal.Transfer{Output: output, Payee: of.To, AssetOnChain: asset{}.id(of.Asset), AmountRaw: withdrawal.Raw(of.Amount)}
		if request, err := uuid.Parse(of.Reference); err == nil {
			_, err := o.service.Do(ctx, request, withdrawal.PaidBy{By: operator("olga"), Block: block(found), Tx: open.Hash, Output: output,
				Payee: pays.Payee, AssetOnChain: pays.AssetOnChain, AmountRaw: pays.AmountRaw, Reason: "its reference"})
			if !errors.Is(err, statemachine.ErrNotFound) {
				return
			}
		}
		ev = withdrawal.Unclaimed{By: operator("olga"), Wallet: open.Wallet, Tx: open.Hash, Transfer: pays,
			Reason: "the fault of the demonstration"}
	}
	if ev != nil {
		_ = o.service.Say(ctx, ev)
	}
}

// used is the word about what has used a nonce; nil where nothing is known. Where a chain that became shorter has left
// the nonce free again, a transfer of the wallet to itself takes it: what had it can then never be mined.
func (o *operators) used(ctx context.Context, wallet uuid.UUID, nonce uint64) withdrawal.Event {
	found, err := o.node.Nonce(ctx, o.keys.address(wallet), nonce)
	if err != nil {
		return nil
	}
	if found.Height == 0 {
		if raw, _, err := o.keys.cancel(&withdrawal.Batch{Wallet: wallet, Nonce: nonce}, 1000); err == nil {
			_ = o.node.Send(ctx, raw)
		}
		return nil
	}
	ev := withdrawal.Used{By: operator("olga"), Wallet: wallet, Tx: found.Hash, Block: block(found), Nonce: nonce,
		Reverted: found.Reverted, Reason: "the fault of the demonstration"}
	if found.Tx != nil && !found.Reverted {
		for i, t := range found.Tx.Transfers() {
			if t.Amount == "0" { // a transfer of nothing, such as a cancellation, pays nobody
				continue
			}
			ev.Transfers = append(ev.Transfers, withdrawal.UsedTransfer{Own: t.To == o.keys.address(wallet), Transfer: withdrawal.Transfer{
				Output: uint32(i), Payee: t.To, AssetOnChain: asset{}.id(t.Asset), AmountRaw: withdrawal.Raw(t.Amount)}})
		}
	}
	return ev
}

// bump signs the same transfer with five times the gas price, and tells nobody.
func (o *operators) bump(ctx context.Context, w *withdrawal.Withdrawal) {
	live := w.Live()
	if len(live) == 0 || len(live[0].Raw) == 0 {
		return
	}
	tx, err := node.Parse(live[0].Raw)
	if err != nil {
		return
	}
	raw, _, err := o.keys.sign(&w.Job, live[0].Nonce, 5*tx.GasPrice)
	if err == nil && o.node.Send(ctx, raw) == nil {
		o.bumped.Add(1)
	}
}

// wrong says what is not so.
func (o *operators) wrong(ctx context.Context, w *withdrawal.Withdrawal) {
	by := operator("wrong")
	deep := withdrawal.Block{Height: 1, Hash: "made up", Canonical: "made up", Head: 1 << 20}
	lies := []withdrawal.Event{
		withdrawal.Acknowledged{By: by, Reason: "never mind"},
		withdrawal.Requeued{By: by, Job: w.Job.ID, NotRefunded: true},
		withdrawal.PaidBy{By: by, Block: deep, Tx: "0x0123", Payee: "somebody else", AssetOnChain: w.Job.AssetOnChain,
			AmountRaw: w.Job.AmountRaw, Reason: "I think so"},
		withdrawal.PaidBy{By: by, Block: deep, Tx: "0x0123", Payee: w.Job.ToAddress, AssetOnChain: w.Job.AssetOnChain,
			AmountRaw: "1", Reason: "in part"},
	}
	if live := w.Live(); len(live) > 0 {
		tx := live[0]
		lies = append(lies,
			withdrawal.Cancelled{By: by, Reason: "it is out, but still"},
			withdrawal.ProvenDead{By: by, Block: deep, Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: strings.ToUpper(tx.Hash[2:]),
				Nonce: tx.Nonce, NotThisPayment: true},
			withdrawal.ProvenDead{By: by, Block: deep, Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: "0x0123", Nonce: tx.Nonce},
			withdrawal.ProvenDead{By: by, Block: deep, Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: "0x0123",
				Nonce: tx.Nonce + 1, NotThisPayment: true})
	}
	for _, lie := range lies {
		before, err := o.service.Get(ctx, w.Request.ID)
		if err != nil {
			return
		}
		switch _, err := o.service.Do(ctx, w.Request.ID, lie); {
		case err == nil:
			after, err := o.service.Get(ctx, w.Request.ID)
			stopped := after.Request.Status == withdrawal.RequestCancelled // what was out has been proven dead: it is a right
			if err == nil && !stopped && (after.Job.Version != before.Job.Version ||
				after.Request.Mined != before.Request.Mined) && o.theirs(ctx, w) {
				text := fmt.Sprintf("%T of request %s", lie, w.Request.ID)
				o.taken.CompareAndSwap(nil, &text)
			}
		case isRefusal(err):
			o.refused.Add(1)
		}
	}
}

// theirs reports whether the wrong operator made a version of the record.
func (o *operators) theirs(ctx context.Context, w *withdrawal.Withdrawal) bool {
	for _, id := range [][16]byte{w.Request.ID, w.Job.ID} {
		trail, err := o.service.Trail(ctx, id)
		if err != nil {
			continue
		}
		for _, line := range trail {
			if line.Actor == "wrong" {
				return true
			}
		}
	}
	return false
}

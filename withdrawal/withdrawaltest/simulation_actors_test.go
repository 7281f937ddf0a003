package withdrawaltest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/hostile"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// work is one step of a worker: it takes something, goes on with it, is slow, or
// dies and forgets what it had.
func (x *simulation) work(h *hand) {
	ctx := context.Background()
	switch {
	case h.item == nil:
		x.turn(h)
		return
	case !x.calm && x.IntN(12) == 0:
		x.say("%s dies", h.by.Actor)
		h.item = nil
		return
	case !x.calm && x.IntN(3) == 0:
		return
	case !x.calm && x.IntN(6) == 0:
		var lost *worker.LostError
		if err := h.source.Renew(ctx, []worker.Item[withdrawal.Withdrawal]{*h.item}); errors.As(err, &lost) {
			h.item = nil
		} else if x.must(err) {
			h.until = x.real().Add(x.policy.Lease)
		}
		return
	}
	if w := h.item.Work; h.by.Role == withdrawal.ConfirmationWorker {
		x.turn(h, x.evidence(&w, h.by, x.seen())...)
	} else if !x.real().Add(h.skew).Before(h.until) { // by its own clock
		x.ends["lease lost"]++
		h.item = nil
	} else if w.Job.Status == withdrawal.JobConfirming {
		x.sendAgain(h)
	} else {
		x.execute(h)
	}
}

// turn gives the result of what is in hand and takes something else.
func (x *simulation) turn(h *hand, events ...withdrawal.Event) {
	var done []store.HeldWithdrawal
	if h.item != nil {
		for _, ev := range events {
			x.say("%v by %s: %T %+v", h.item.Work.Request.ID[1], h.by.Actor, ev, ev)
		}
		done = append(done, store.HeldWithdrawal{Withdrawal: h.item.Work, Events: events})
	}
	h.item = nil
	items, _, err := h.source.Turn(context.Background(), done, 1)
	if x.must(err) && len(items) > 0 {
		h.item, h.until = &items[0], x.real().Add(x.policy.Lease)
	}
}

// held stores a step of what is in hand; a worker who is refused lets go.
func (x *simulation) held(h *hand, ev withdrawal.Event) bool {
	x.say("%v by %s: %T %+v", h.item.Work.Request.ID[1], h.by.Actor, ev, ev)
	lease := x.get(h.item.Work.Request.ID).Job.Lease
	ws, err := x.s.DoHeld(context.Background(), store.HeldWithdrawal{Withdrawal: h.item.Work, Events: []withdrawal.Event{ev}})
	if !x.must(err) {
		h.item = nil
		return false
	}
	// A renewal while the clock was behind has shortened the lease that is stored, and not that of the copy: both count,
	// since nobody has claimed it, which would be another version.
	if had := h.item.Work.Job.Lease; had.Fence != lease.Fence || !x.now.Before(lease.Until) && !x.now.Before(had.Until) {
		x.t.Errorf("%T by %s is stored, and its lease was %+v", ev, h.by.Actor, lease)
	}
	h.item.Work = ws[0]
	return true
}

// seen is what a node shows, which may be behind.
func (x *simulation) seen() hostile.View {
	if x.calm {
		return x.chain.Best()
	}
	return x.chain.Seen()
}

// execute goes on with an execution: what is owed is what the record says.
func (x *simulation) execute(h *hand) {
	w := &h.item.Work
	fence := w.Job.Lease.Fence
	failed := func(f withdrawal.Failure) withdrawal.Event {
		return withdrawal.AttemptFailed{By: h.by, Fence: fence, Failure: f, Error: "e"}
	}
	step := x.policy.Next(*w, x.policy.GivenAt(w))
	if len(step.Actions) == 0 { // the signer has been called
		if x.calm || x.IntN(3) == 0 {
			x.turn(h, failed(withdrawal.Unclear))
		}
		return
	}
	if a := step.Actions[0]; a.Do == withdrawal.DoBroadcast {
		x.transmit(x.txs[a.Hashes[0]])
		if x.IntN(3) > 0 {
			x.turn(h, withdrawal.Broadcast{By: h.by, Fence: fence, Hash: a.Hashes[0]})
		} else {
			x.turn(h, failed(withdrawal.Unclear))
		}
		return
	}
	switch k := x.IntN(14); {
	case x.calm:
	case k == 0:
		x.turn(h, failed(withdrawal.Retryable))
		return
	case k == 1:
		x.turn(h, failed(withdrawal.InsufficientBalance))
		return
	case k == 2:
		x.turn(h, withdrawal.GivenBack{By: h.by, Fence: fence, For: time.Duration(x.IntN(2)) * time.Minute})
		return
	}
	if x.signer {
		ref := fmt.Sprintf("ref %d/%d", w.Job.ID[1:3], fence)
		if x.held(h, withdrawal.Dispatched{By: h.by, Fence: fence, Reference: ref}) {
			x.inbox = append(x.inbox, func() { x.sign(ref, w.Request.ID, w.Job.Wallet, fence) })
		}
		return
	}
	ev := withdrawal.Prepared{By: h.by, Fence: fence}
	of := hostile.Coin{Wallet: w.Job.Wallet}
	if x.chain.Nonces {
		ev.HasNonce, ev.HasChainNonce, ev.ChainNonce = true, true, x.seen().Next(w.Job.Wallet)
		free, err := x.s.FreeNonce(context.Background(), w.Job.Wallet, ev.ChainNonce)
		x.must(err)
		ev.Nonce, of.Nonce = free, free
	} else {
		ev.Input = fmt.Sprint("coin ", x.made)
		of.Input = ev.Input
	}
	tx := x.newTx(of, w.Request.ID)
	ev.Hash, ev.Raw = tx.Hash, []byte(tx.Hash)
	x.held(h, ev)
}

// sendAgain sends what is on file once more, or replaces it.
func (x *simulation) sendAgain(h *hand) {
	w := &h.item.Work
	live := w.Live()
	if !x.calm && x.IntN(3) == 0 {
		old := x.txs[live[len(live)-1].Hash]
		of := old.Coin
		if x.IntN(6) == 0 { // a worker that is wrong: both could be mined
			if x.chain.Nonces {
				of.Nonce++
			} else {
				of.Input = fmt.Sprint("another coin ", x.made)
			}
		}
		tx := x.newTx(of, w.Request.ID)
		ev := withdrawal.Rebumped{By: h.by, Fence: w.Job.Lease.Fence, Hash: tx.Hash, Raw: []byte(tx.Hash), Nonce: tx.Coin.Nonce, HasNonce: x.chain.Nonces, Input: tx.Coin.Input,
			Cancel: x.IntN(4) == 0}
		if ev.Cancel {
			tx.Pays = uuid.Nil
		}
		if !x.held(h, ev) {
			return
		}
		x.ends["rebumped"]++
		if ev.Cancel {
			x.ends["cancelled by a replacement"]++
		}
	}
	for _, tx := range h.item.Work.Live() {
		if x.IntN(2) == 0 || x.calm {
			x.transmit(x.txs[tx.Hash])
		}
	}
	x.turn(h, withdrawal.Rebroadcast{By: h.by, Fence: h.item.Work.Job.Lease.Fence, Hash: live[len(live)-1].Hash, Done: x.IntN(2) == 0})
}

// transmit sends a transaction, which may arrive later.
func (x *simulation) transmit(tx *hostile.Tx) {
	x.inbox = append(x.inbox, func() { x.chain.Send(tx) })
}

// sign is the call of a signer that also sends, once per reference. Its answer
// comes whenever it comes, from whoever waited for it.
func (x *simulation) sign(ref string, request, wallet uuid.UUID, fence int64) {
	if x.refused[ref] {
		return
	}
	tx := x.signed[ref]
	if tx == nil {
		of := hostile.Coin{Wallet: wallet}
		if x.chain.Nonces {
			of.Nonce = max(x.next[wallet], x.chain.Best().Next(wallet))
			x.next[wallet] = of.Nonce + 1
		} else {
			of.Input = "coin of " + ref
		}
		tx = x.newTx(of, request)
		x.signed[ref] = tx
	}
	x.transmit(tx)
	ev := withdrawal.Broadcast{By: x.hands[x.IntN(2)].by, Fence: fence, Hash: tx.Hash, Raw: []byte(tx.Hash), Nonce: tx.Coin.Nonce, HasNonce: x.chain.Nonces, Input: tx.Coin.Input}
	var answer func()
	answer = func() {
		before := x.get(request)
		if !x.do(request, ev) {
			if x.lost { // it is said again
				x.inbox = append(x.inbox, answer)
				return
			}
			ev.Nonce, ev.HasNonce = 0, false
			x.do(request, ev)
		}
		if after := x.get(request); before.Job.Status != withdrawal.JobProcessing && after.Job.Version > before.Job.Version || before.Job.Review && !after.Job.Review {
			x.ends["answered late"]++
		}
	}
	x.inbox = append(x.inbox, answer)
}

// evidence is what a view says of a job: the truth, as of then.
func (x *simulation) evidence(w *withdrawal.Withdrawal, by withdrawal.By, v hostile.View) (all []withdrawal.Event) {
	for _, on := range w.Live() {
		if tx, b := v.Tx(on.Hash); tx != nil {
			if tx.Reverted {
				x.ends["reverted"]++
			}
			return []withdrawal.Event{withdrawal.Receipt{By: by, Block: b, Tx: tx.Hash, Reverted: tx.Reverted, GasUsed: "1", GasPrice: "1"}}
		}
	}
	for _, on := range w.Live() {
		other, b := v.Spent(x.txs[on.Hash].Coin)
		switch {
		case other == nil:
			all = append(all, withdrawal.Missing{By: by, Tx: on.Hash})
		case other.Pays == w.Request.ID && !other.Reverted && by.Role == withdrawal.ConfirmationWorker && x.IntN(4) == 0:
			x.ends["cannot tell"]++
			return []withdrawal.Event{withdrawal.CannotTell{By: by, Tx: on.Hash, Other: other.Hash, Reason: "r"}}
		case other.Pays == w.Request.ID && !other.Reverted:
			x.ends["paid by another"]++
			return []withdrawal.Event{withdrawal.PaidBy{By: by, Block: b, Tx: other.Hash, Payee: w.Request.ToAddress, AssetOnChain: w.Job.AssetOnChain, AmountRaw: w.Request.AmountRaw,
				Reference: w.Job.DispatchRef, Nonce: other.Coin.Nonce, HasNonce: x.chain.Nonces, Input: other.Coin.Input, GasUsed: "1", GasPrice: "1", Reason: "seen"}}
		default:
			x.ends["proven dead"]++
			cause := withdrawal.InputSpent
			if x.chain.Nonces {
				cause = withdrawal.NonceUsed
			}
			return []withdrawal.Event{withdrawal.ProvenDead{By: by, Block: b, Tx: on.Hash, Cause: cause, Other: other.Hash, Nonce: other.Coin.Nonce, Input: other.Coin.Input, NotThisPayment: true}}
		}
	}
	return all
}

// operate is what an operator does to a request, at any moment; once it is calm,
// what is asked of one.
func (x *simulation) operate(id uuid.UUID) {
	w, by := x.get(id), withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	if w.Wallet.ID != uuid.Nil && !w.Wallet.Pays() && (x.calm || x.IntN(4) == 0) { // somebody else may have the key
		x.explain(by, w.Wallet)
	}
	if w.Job.Review {
		x.resolve(&w, by)
		return
	}
	k := x.IntN(12)
	switch {
	case w.Request.Held && (x.calm || k < 4):
		x.do(id, withdrawal.Released{By: by})
	case x.calm:
	case k < 3:
		if x.do(id, withdrawal.Held{By: by, Reason: "h"}) {
			x.ends["held"]++
		}
	case k == 3:
		x.do(id, withdrawal.Cancelled{By: by, Reason: "c"})
	case k == 4:
		x.do(id, withdrawal.Revoked{By: by, Revocation: statemachine.Revocation{Holder: x.hands[x.IntN(2)].by.Actor, Reason: "dead"}})
	case k == 5:
		wallet := x.wallets[x.IntN(2)]
		if x.IntN(2) == 0 {
			wallet.Status = "disabled"
		}
		x.must(x.s.PutHotWallet(context.Background(), by, wallet))
	case w.Request.Status == withdrawal.RequestFailed:
		if x.do(id, withdrawal.Requeued{By: by, Job: w.Job.ID, Reason: "r", NotRefunded: true}) {
			x.ends["requeued"]++
		}
	}
}

// explain says what the chain shows of a wallet that is off, and whom it pays, as far as it is deep, and
// switches the wallet on.
func (x *simulation) explain(by withdrawal.By, wallet withdrawal.HotWallet) {
	ctx, chain := context.Background(), x.chain.Best()
	wallet.Status = withdrawal.WalletActive
	for last := (withdrawal.Open{}); ; {
		err := x.s.PutHotWallet(ctx, by, wallet)
		of := new(withdrawal.UnsettledError)
		if !errors.As(err, &of) {
			if x.must(err) {
				x.ends["explained"]++
			}
			return
		}
		o := of.Open
		x.say("open: %v", o)
		tx, b := chain.Spent(hostile.Coin{Wallet: wallet.ID, Nonce: o.Number})
		if o.Point != withdrawal.OpenUntold {
			tx, b = chain.Tx(o.Hash)
		}
		if o == last || tx == nil {
			return
		}
		last = o
		used := withdrawal.Used{By: by, Wallet: wallet.ID, Tx: tx.Hash, Block: b, Nonce: o.Number, Reverted: tx.Reverted}
		pays := withdrawal.Transfer{Payee: "nobody", AssetOnChain: uuid.UUID{5}, AmountRaw: "1"}
		if tx.Pays != uuid.Nil {
			w := x.get(tx.Pays)
			pays = withdrawal.Transfer{Payee: w.Request.ToAddress, AssetOnChain: w.Job.AssetOnChain, AmountRaw: w.Request.AmountRaw}
			if s := w.Request.Status; o.Point == withdrawal.OpenTransfer && s != withdrawal.RequestCompleted && s != withdrawal.RequestCancelled {
				x.do(tx.Pays, withdrawal.PaidBy{By: by, Block: b, Tx: tx.Hash, Payee: pays.Payee, AssetOnChain: pays.AssetOnChain, AmountRaw: pays.AmountRaw,
					Nonce: tx.Coin.Nonce, HasNonce: true, Reason: "seen"})
				continue
			}
		}
		if o.Point == withdrawal.OpenUntold {
			if !tx.Reverted {
				used.Transfers = []withdrawal.UsedTransfer{{Transfer: pays}}
			}
			x.must(x.s.Say(ctx, used))
			continue
		}
		x.must(x.s.Say(ctx, withdrawal.Unclaimed{By: by, Wallet: wallet.ID, Tx: tx.Hash, Transfer: pays, Reason: "no payment of ours"}))
		x.must(x.s.Say(ctx, withdrawal.Dropped{By: by, Wallet: wallet.ID, Tx: tx.Hash, Reason: "no payment of ours"}))
	}
}

// resolve ends a review by what the operator finds out, which is true: one who
// says that nothing was sent has the signer refuse the reference for ever.
func (x *simulation) resolve(w *withdrawal.Withdrawal, by withdrawal.By) {
	by.Version = w.Job.Version
	found := withdrawal.Resolved{By: by, Job: w.Job.ID, Reason: "r"}
	if !w.Job.Live() {
		if tx := x.signed[w.Job.DispatchRef]; tx != nil {
			found.Sent, found.Hash, found.Raw, found.Nonce, found.HasNonce, found.Input = true, tx.Hash, []byte(tx.Hash), tx.Coin.Nonce, x.chain.Nonces, tx.Coin.Input
			x.ends["found sent"]++
		} else {
			x.refused[w.Job.DispatchRef] = true
			x.ends["not sent"]++
		}
		x.do(w.Request.ID, found)
		return
	}
	by.Version = 0
	for _, ev := range x.evidence(w, by, x.chain.Best()) {
		switch ev.(type) {
		case withdrawal.PaidBy, withdrawal.ProvenDead:
			x.do(w.Request.ID, ev)
			return
		}
	}
	live := w.Live()
	found.Sent, found.Hash = true, live[len(live)-1].Hash
	x.do(w.Request.ID, found)
}

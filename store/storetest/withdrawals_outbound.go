package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// outbounds looks at the unknown outbounds of one hot wallet of a chain.
type outbounds struct {
	*withdrawals
	t          *testing.T
	chain, hot uuid.UUID
}

func (w *withdrawals) outbounds(t *testing.T) outbounds {
	chain := w.payingChain(t)
	return outbounds{w, t, chain, must(w.service.HotWallets(ctx, chain))(t)[0].ID}
}

// open requires what is open, in the statistics of the chain and of all.
func (o outbounds) open(what string, want ...withdrawal.UnknownOutbound) {
	o.t.Helper()
	for _, of := range []uuid.UUID{{}, o.chain} {
		var got []withdrawal.UnknownOutbound
		for _, u := range o.stats(o.t, start, time.Hour, of).UnknownOutbound {
			if u.Wallet == o.hot {
				got = append(got, u)
			}
		}
		same(o.t, what, got, want)
	}
	if of := o.stats(o.t, start, time.Hour, o.id()).UnknownOutbound; len(of) > 0 {
		o.t.Errorf("%s: of another chain %v", what, of)
	}
}

// off requires that the wallet is switched off by an unknown outbound, which the statistics name and
// the system's word does not end, or is active.
func (o outbounds) off(what string, is bool) {
	o.t.Helper()
	setup := withdrawal.HotWallet{ID: o.hot, Chain: o.chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	noError(o.t, o.service.PutHotWallet(ctx, role(withdrawal.System), setup))
	for _, of := range []uuid.UUID{{}, o.chain, o.id()} {
		named := slices.Contains(o.stats(o.t, start, time.Hour, of).WalletsOff, o.hot)
		if want := is && (of == uuid.Nil || of == o.chain); named != want {
			o.t.Errorf("%s: of chain %v the wallet is named as off: %v", what, of, named)
		}
	}
	wallets := must(o.service.HotWallets(ctx, o.chain))(o.t)
	if got := wallets[0].Status; (got == withdrawal.WalletUnknown) != is || !is && got != withdrawal.WalletActive {
		o.t.Errorf("%s: the wallet is %s", what, got)
	}
}

// unsettled requires the refusal that names the first unknown nonce.
func (o outbounds) unsettled(what string, err error, nonce uint64) {
	o.t.Helper()
	of := new(withdrawal.UnsettledError)
	if !errors.As(err, &of) || !errors.Is(err, withdrawal.ErrUnsettled) || of.Open.Point != withdrawal.OpenUntold ||
		of.Open.Number != nonce || of.Open.Wallet != o.hot {
		o.t.Errorf("%s: %v", what, err)
	}
}

// used says what has used a nonce, and switches the wallet on.
func (o outbounds) used(nonce uint64, hash string) {
	o.t.Helper()
	noError(o.t, o.service.Say(ctx, withdrawal.Used{By: by(withdrawal.Operator, start), Wallet: o.hot,
		Block: block(5), Tx: hash, Nonce: nonce}))
	o.open("told as used")
	on := withdrawal.HotWallet{ID: o.hot, Chain: o.chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	noError(o.t, o.service.PutHotWallet(ctx, operatorAt(start), on))
	o.off("switched on by an operator", false)
}

// unknownOutbound: a nonce of a hot wallet that was used by a transaction on no file is told by a
// payment that is refused and by a death; each switches the wallet off, and is open until
// it is told as used, or is a filler's.
func (w *withdrawals) unknownOutbound(t *testing.T) {
	o := w.outbounds(t)
	chain, hot := o.chain, o.hot
	a := w.confirming(t, chain, start)
	b := w.processing(t, chain, start)
	waits := w.pending(t, chain, start)
	ahead := prepared(&b, start)
	ahead.Nonce, ahead.ChainNonce = 2, 2
	refusedWith(t, w.service.Say(ctx, withdrawal.Used{By: by(withdrawal.Operator, start), Wallet: hot, Block: block(5), Tx: "a thief's",
		Nonce: 1}), statemachine.ErrIllegal, "used, and nothing is unknown")
	o.unsettled("a payment above the file", errOf(w.service.Do(ctx, b.Request.ID, ahead)), 1)
	one := withdrawal.UnknownOutbound{Wallet: hot, Nonce: 1}
	o.open("after a payment above the file", one)
	o.off("after a payment above the file", true)
	if got := w.get(t, b.Request.ID); got.Job.Version != b.Job.Version || len(got.Txs) > 0 {
		t.Errorf("the payment has written %+v", got.Job)
	}
	refusedWith(t, errOf(w.service.Do(ctx, waits.Request.ID, withdrawal.Claimed{By: workerAt(start)})),
		withdrawal.ErrOnHold, "a claim of the wallet")
	causes := w.service.Policy().ByCause([]withdrawal.Withdrawal{w.get(t, waits.Request.ID)}, start)
	if len(causes) != 1 || causes[0].Cause.Wallet != hot || causes[0].Cause.Reason != "its wallet is hot_wallet, unknown outbound" {
		t.Errorf("it waits for %+v", causes)
	}
	if due := w.due(t, store.DueWithdrawals{Kind: withdrawal.DueClaim, Chain: chain, Now: start, Limit: 10}); len(due) > 0 {
		t.Errorf("%d are due", len(due))
	}
	w.switchOn(t, hot)
	_, err := w.service.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: w.get(t, b.Request.ID), Events: []withdrawal.Event{ahead}})
	o.unsettled("again, of a worker that has it", err, 1)
	o.open("told twice", one)
	o.off("told twice", true)

	o.used(1, "a thief's")
	ahead.Nonce, ahead.ChainNonce = 3, 3
	o.unsettled("one more was used", errOf(w.service.Do(ctx, b.Request.ID, ahead)), 2)
	noError(t, w.service.PutFiller(ctx, withdrawal.Filler{Wallet: hot, Chain: chain, Nonce: 2, Hash: "0xF2", Actor: "olga",
		Reason: "sent by hand", CreatedAt: start}))
	o.open("a filler has it")
	w.switchOn(t, hot)
	w.do(t, b.Request.ID, ahead, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: ahead.Hash})
	o.off("paid", false)

	// A transaction of another request, or a filler, is known. What nobody knows is told with its hash.
	dead := withdrawal.ProvenDead{By: by(withdrawal.ConfirmationWorker, start), Block: block(5), Tx: a.Job.TxHash,
		Cause: withdrawal.NonceUsed, Other: "f2",
		Nonce: 0, NotThisPayment: true}
	w.do(t, a.Request.ID, dead)
	o.open("a filler was mined")
	o.off("a filler was mined", false)
	dead.Tx, dead.Nonce, dead.Other = ahead.Hash, 3, "a rival"
	b = w.do(t, b.Request.ID, dead)
	o.open("a death", withdrawal.UnknownOutbound{Wallet: hot, Nonce: 3, Hash: "a rival"})
	o.off("a death", true)
	if b.Wallet.Status != withdrawal.WalletUnknown {
		t.Errorf("the aggregate has a wallet that is %s", b.Wallet.Status)
	}
	o.used(3, "a rival")
}

// unknownOutbound: a batch asks the same as a payment, and its nonce is told once for all members.
func (w *batches) unknownOutbound(t *testing.T) {
	o := w.outbounds(t)
	o.confirming(t, o.chain, start) // nonce 0
	members := []withdrawal.Withdrawal{o.processing(t, o.chain, start)}
	members = append(members, w.do(t, w.pending(t, o.chain, start).Request.ID, withdrawal.Claimed{By: workerAt(start), Behind: true}))
	batch := batchOf(w.id(), start, members...)
	batch.Nonce, batch.ChainNonce = 2, 2
	o.unsettled("a batch above the file", errOf(w.batches.Do(ctx, batch.Batch, batch)), 1)
	o.open("a batch above the file", withdrawal.UnknownOutbound{Wallet: o.hot, Nonce: 1})
	o.off("a batch above the file", true)
	o.used(1, "1")
	must(w.batches.Do(ctx, batch.Batch, batch))(t)
	mined := withdrawal.BatchMined{By: by(withdrawal.ConfirmationWorker, start), Block: block(5), Tx: "another rival", Nonce: 2,
		HasNonce: true, Looked: true}
	must(w.batches.Do(ctx, batch.Batch, mined))(t)
	o.open("a batch", withdrawal.UnknownOutbound{Wallet: o.hot, Nonce: 2, Hash: "another rival"})
	o.off("a batch", true)
}

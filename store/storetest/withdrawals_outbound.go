package storetest

import (
	"errors"
	"slices"
	"strings"
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
	o.on("told as used")
}

// on has an operator switch the wallet on.
func (o outbounds) on(what string) {
	o.t.Helper()
	on := withdrawal.HotWallet{ID: o.hot, Chain: o.chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	noError(o.t, o.service.PutHotWallet(ctx, operatorAt(start), on), what)
	o.off(what, false)
}

// unknownOutbound: a transaction on no file has used a nonce of a hot wallet. A refused payment above that nonce shows
// it, and so does a death. Each switches the wallet off, and the nonce stays open until an operator says what used it
// or records a filler.
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
	pays := withdrawal.Transfer{Output: 1, Payee: waits.Request.ToAddress, AssetOnChain: tokenOnChain, AmountRaw: waits.Request.AmountRaw}
	thief := withdrawal.Used{By: by(withdrawal.Operator, start), Wallet: hot, Block: block(5), Tx: "a thief's", Nonce: 1,
		Transfers: []withdrawal.UsedTransfer{{Transfer: pays}}}
	unclaimed := withdrawal.Unclaimed{By: by(withdrawal.Operator, start), Wallet: hot, Tx: "a thief's", Transfer: pays, Reason: "x"}
	refusedWith(t, w.service.Say(ctx, unclaimed), statemachine.ErrIllegal, "unclaimed, and nothing is unknown")
	rolled := errors.New("the host rolls back")
	err := w.Update(ctx, func(tx store.WithdrawalUnit) error {
		o.unsettled("a payment in a transaction of the host", errOf(w.service.Within(tx).Do(ctx, b.Request.ID, ahead)), 1)
		return rolled
	})
	if err == nil {
		t.Error("a refused payment is committed")
	}
	o.off("rolled back, nothing is kept, and the next payment tells it again", false)
	o.unsettled("a payment above the file", errOf(w.service.Do(ctx, b.Request.ID, ahead)), 1)
	one := withdrawal.UnknownOutbound{Wallet: hot, Nonce: 1}
	o.open("after a payment above the file", one)
	o.off("after a payment above the file", true)
	if got := w.get(t, b.Request.ID); got.Job.Status != withdrawal.JobPending || got.Job.RetryCount != 0 || len(got.Txs) > 0 ||
		!strings.Contains(got.Attempt.Error, "was the database put back?") {
		t.Errorf("the payment is not given back: %+v, %+v", got.Job, got.Attempt)
	}
	reported := withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Retryable, Error: "x"}
	noError(t, errOf(w.service.Do(ctx, b.Request.ID, reported)), "its worker reports the refusal: ")
	refusedWith(t, errOf(w.service.Do(ctx, waits.Request.ID, withdrawal.Claimed{By: workerAt(start)})),
		withdrawal.ErrOnHold, "a claim of the wallet")
	causes := w.service.Policy().ByCause([]withdrawal.Withdrawal{w.get(t, waits.Request.ID)}, start)
	if len(causes) != 1 || causes[0].Cause.Wallet != hot || causes[0].Cause.Reason != "its wallet is hot_wallet, unknown outbound" {
		t.Errorf("it waits for %+v", causes)
	}
	if due := w.due(t, store.DueWithdrawals{Kind: withdrawal.DueClaim, Chain: chain, Now: start, Limit: 10}); len(due) > 0 {
		t.Errorf("%d are due", len(due))
	}
	stays := func(what string, point withdrawal.OpenPoint, number uint64) {
		t.Helper()
		on := withdrawal.HotWallet{ID: hot, Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
		err, of := w.service.PutHotWallet(ctx, operatorAt(start), on), new(withdrawal.UnsettledError)
		if !errors.As(err, &of) || of.Open.Point != point || of.Open.Number != number || of.Open.Wallet != hot {
			t.Errorf("%s: %v", what, err)
		}
		if all := must(w.service.Unsettled(ctx, chain, 10))(t); len(all) == 0 || of.Open != all[0] {
			t.Errorf("%s: open is %v", what, all)
		}
		o.off(what, true)
	}
	stays("the nonce is not told", withdrawal.OpenUntold, 1)
	noError(t, w.service.Say(ctx, thief))
	stays("its transfer is not explained", withdrawal.OpenTransfer, 1)
	noError(t, w.service.Say(ctx, unclaimed))
	stays("a request that it may have paid is queued", withdrawal.OpenPayee, 1)
	w.do(t, waits.Request.ID, withdrawal.PaidBy{By: by(withdrawal.Operator, start), Block: block(5), Tx: "a thief's", Output: 1,
		Payee: pays.Payee, AssetOnChain: tokenOnChain, AmountRaw: pays.AmountRaw, Reason: "the thief is ours"})
	o.on("told, and paid")
	if all := must(w.service.Unsettled(ctx, chain, 10))(t); len(all) > 0 {
		t.Errorf("open is %v", all)
	}

	w.do(t, b.Request.ID, withdrawal.Claimed{By: workerAt(start), Fence: 2})
	ahead.Fence, ahead.Nonce, ahead.ChainNonce = 2, 4, 4
	_, err = w.service.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: w.get(t, b.Request.ID), Events: []withdrawal.Event{ahead}})
	o.unsettled("two more were used, of a worker that has it", err, 2)
	o.open("both are told", withdrawal.UnknownOutbound{Wallet: hot, Nonce: 2}, withdrawal.UnknownOutbound{Wallet: hot, Nonce: 3})
	noError(t, w.service.PutFiller(ctx, withdrawal.Filler{Wallet: hot, Chain: chain, Nonce: 2, Hash: "0xF2", Actor: "olga",
		Reason: "sent by hand", CreatedAt: start}))
	stays("a filler has one", withdrawal.OpenUntold, 3)
	o.used(3, "another thief's")
	w.do(t, b.Request.ID, withdrawal.Claimed{By: workerAt(start), Fence: 3})
	ahead.Fence = 3
	b = w.do(t, b.Request.ID, ahead, withdrawal.Broadcast{By: workerAt(start), Fence: 3, Hash: ahead.Hash})
	o.off("paid", false)

	// A transaction of another request, or a filler, is known. What nobody knows is told with its hash.
	dead := withdrawal.ProvenDead{By: by(withdrawal.ConfirmationWorker, start), Block: block(5), Tx: a.Job.TxHash,
		Cause: withdrawal.NonceUsed, Other: "f2",
		Nonce: 0, NotThisPayment: true}
	w.do(t, a.Request.ID, dead)
	o.open("a filler was mined")
	o.off("a filler was mined", false)
	dead.Tx, dead.Nonce, dead.Other = ahead.Hash, 4, "a rival"
	b = w.do(t, b.Request.ID, dead)
	o.open("a death", withdrawal.UnknownOutbound{Wallet: hot, Nonce: 4, Hash: "a rival"})
	o.off("a death", true)
	if b.Wallet.Status != withdrawal.WalletUnknown {
		t.Errorf("the aggregate has a wallet that is %s", b.Wallet.Status)
	}
	o.used(4, "a rival")
}

// outboundStopsTheChain: an unknown outbound of one wallet stops all wallets of its chain, those too that somebody has
// held since before, until it is explained and an operator has said so; no status hides it. Another chain goes on.
func (w *withdrawals) outboundStopsTheChain(t *testing.T) {
	o := w.outbounds(t)
	other := withdrawal.HotWallet{ID: w.id(), Chain: o.chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	w.putWallet(t, other)
	order := func() withdrawal.Enqueued {
		ev := w.enqueued(start, withdrawal.Normal)
		ev.Wallets = []withdrawal.HotWallet{other}
		return ev
	}
	job := func() withdrawal.Withdrawal { return w.do(t, w.approved(t, o.chain, start).Request.ID, order()) }
	approved, cancelled, waits := w.approved(t, o.chain, start), w.approved(t, o.chain, start), job()
	w.do(t, cancelled.Request.ID, withdrawal.Cancelled{By: operatorAt(start), Reason: "x"})
	out := job()
	out = w.do(t, out.Request.ID, withdrawal.Claimed{By: workerAt(start)})
	begun := prepared(&out, start)
	begun.Nonce, begun.ChainNonce = 0, 0
	out = w.do(t, out.Request.ID, begun, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: begun.Hash})
	held := job()
	held = w.do(t, held.Request.ID, withdrawal.Claimed{By: workerAt(start)})
	next := prepared(&held, start)
	next.Nonce, next.ChainNonce = 1, 1

	victim := w.confirming(t, o.chain, start)
	if victim.Job.Wallet != o.hot {
		t.Fatalf("it is paid from %v", victim.Job.Wallet)
	}
	death := withdrawal.ProvenDead{By: by(withdrawal.ConfirmationWorker, start), Block: block(5), Tx: victim.Job.TxHash,
		Cause: withdrawal.NonceUsed, Other: "a thief's", NotThisPayment: true}
	// The claim is after the death in one transaction, of an aggregate that was read before it.
	_, err := w.service.DoAll(ctx, store.WithdrawalCommand{Request: victim.Request.ID, Events: []withdrawal.Event{death}},
		store.WithdrawalCommand{Request: waits.Request.ID, Events: []withdrawal.Event{withdrawal.Claimed{By: workerAt(start)}}})
	refusedWith(t, err, withdrawal.ErrUnsettled, "a claim beside the death")
	w.do(t, victim.Request.ID, death)

	stops := func(what string, err error) {
		t.Helper()
		of := new(withdrawal.UnsettledError)
		if !errors.As(err, &of) || of.Open != (withdrawal.Open{Chain: o.chain, Wallet: o.hot, Point: withdrawal.OpenOutbound}) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refund := withdrawal.Refunded{By: by(withdrawal.System, start), Reference: "refund " + cancelled.Request.ID.String()}
	looks := func(what string) {
		t.Helper()
		stops(what+": an order", errOf(w.service.Do(ctx, approved.Request.ID, order())))
		stops(what+": a claim", errOf(w.service.Do(ctx, waits.Request.ID, withdrawal.Claimed{By: workerAt(start)})))
		stops(what+": a refund", errOf(w.service.Do(ctx, cancelled.Request.ID, refund)))
		for _, kind := range []withdrawal.DueKind{withdrawal.DueClaim, withdrawal.DueEnqueue, withdrawal.DueRefund} {
			q := store.DueWithdrawals{Kind: kind, Chain: o.chain, Now: start.Add(time.Hour), Limit: 10}
			if due := w.due(t, q); len(due) > 0 {
				t.Errorf("%s: %d are due to %v", what, len(due), kind)
			}
		}
	}
	looks("told")
	_, err = w.service.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: held, Events: []withdrawal.Event{next}})
	stops("a payment that was held before", err)
	if got := w.get(t, held.Request.ID); got.Job.Status != withdrawal.JobPending || got.Job.RetryCount != 0 || got.Wallet.Outbound != o.hot {
		t.Errorf("it is not given back: %+v, %+v", got.Job, got.Wallet)
	}
	w.do(t, out.Request.ID, withdrawal.Missing{By: by(withdrawal.ConfirmationWorker, start), Tx: begun.Hash},
		withdrawal.Claimed{By: workerAt(start)}, withdrawal.Rebroadcast{By: workerAt(start), Fence: 2, Hash: begun.Hash})

	for _, status := range []string{"paused", "retired", withdrawal.WalletActive} {
		hide := withdrawal.HotWallet{ID: o.hot, Chain: o.chain, Role: withdrawal.WalletRoleHot, Status: status}
		refusedWith(t, w.service.PutHotWallet(ctx, operatorAt(start), hide), withdrawal.ErrUnsettled, "it is put as "+status)
		noError(t, w.service.PutHotWallet(ctx, role(withdrawal.System), hide))
		looks("put as " + status)
	}
	used := withdrawal.Used{By: operatorAt(start), Wallet: o.hot, Block: block(5), Tx: "a thief's"}
	noError(t, w.service.Say(ctx, used))
	looks("explained")
	if open, off := must(w.service.Unsettled(ctx, o.chain, 10))(t), w.stats(t, start, time.Hour, o.chain).WalletsOff; len(open) > 0 ||
		!slices.Equal(off, []uuid.UUID{o.hot}) {
		t.Errorf("explained, %v is open, and the alert names %v", open, off)
	}
	retired := withdrawal.HotWallet{ID: o.hot, Chain: o.chain, Role: withdrawal.WalletRoleHot, Status: "retired"}
	noError(t, w.service.PutHotWallet(ctx, operatorAt(start), retired))
	used.Transfers = []withdrawal.UsedTransfer{{Transfer: withdrawal.Transfer{Payee: "0xNobody", AssetOnChain: tokenOnChain, AmountRaw: "1"}}}
	noError(t, w.service.Say(ctx, used))
	looks("told otherwise")
	used.Transfers[0].Own = true
	noError(t, w.service.Say(ctx, used))
	noError(t, w.service.PutHotWallet(ctx, operatorAt(start), retired))
	w.do(t, approved.Request.ID, order())
	w.do(t, waits.Request.ID, withdrawal.Claimed{By: workerAt(start)})
	w.do(t, cancelled.Request.ID, refund)
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
	for i := range members {
		if got := w.get(t, members[i].Request.ID); got.Job.Status != withdrawal.JobPending || got.Job.RetryCount != 0 {
			t.Errorf("member %d of the batch is not given back: %+v", i, got.Job)
		}
	}
	o.used(1, "1")
	for i := range members {
		members[i] = w.do(t, members[i].Request.ID, withdrawal.Claimed{By: workerAt(start), Behind: i > 0})
		batch.Pays[i].Fence = members[i].Job.Lease.Fence
	}
	must(w.batches.Do(ctx, batch.Batch, batch))(t)
	mined := withdrawal.BatchMined{By: by(withdrawal.ConfirmationWorker, start), Block: block(5), Tx: "another rival", Nonce: 2,
		HasNonce: true, Looked: true}
	must(w.batches.Do(ctx, batch.Batch, mined))(t)
	o.open("a batch", withdrawal.UnknownOutbound{Wallet: o.hot, Nonce: 2, Hash: "another rival"})
	o.off("a batch", true)
}

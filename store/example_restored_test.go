package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// transfer is one output of a transaction, as the chain shows it, and the request that
// an operator has found for it in the service's own books.
type transfer struct {
	withdrawal.Transfer
	request withdrawal.Submitted
}

// bringIn tells a store that was restored from a copy of a transaction of the wallet that it
// has forgotten, and that is mined at depth: each request that the transaction pays is looked
// up and confirmed by it, and none is paid again. The chain is paused meanwhile. bringIn may
// be broken off and called again.
func bringIn(ctx context.Context, w *store.Withdrawals, hash string, nonce uint64, wallet withdrawal.HotWallet, paid []transfer) error {
	system := withdrawal.By{Actor: "restore", Role: withdrawal.System}
	operator := withdrawal.By{Actor: "desk", Role: withdrawal.Operator}
	for i, t := range paid {
		r := t.request
		known, err := w.Get(ctx, r.Request)
		if err != nil && !errors.Is(err, statemachine.ErrNotFound) {
			return err
		}
		first := i == 0
		if !first { // a nonce of a wallet is of one job
			nonce = 0
		}
		var ev withdrawal.Event = withdrawal.PaidBy{By: operator, Tx: hash, Output: t.Output, Payee: t.Payee, AssetOnChain: t.AssetOnChain,
			AmountRaw: t.AmountRaw, Nonce: nonce, HasNonce: first, Reason: "paid before the restore"}
		if known.Job.Status == 0 { // it has had no job
			ev = withdrawal.Imported{By: system, Request: r.Request, User: r.User, Asset: r.Asset, Chain: r.Chain, ToAddress: r.ToAddress,
				Memo: r.Memo, Amount: r.Amount, Decimals: r.Decimals, Job: uuid.New(), AssetOnChain: t.AssetOnChain,
				Hash: hash, ByOutput: true, Output: t.Output,
				Nonce: nonce, HasNonce: first, Wallets: []withdrawal.HotWallet{wallet}}
		}
		if _, err := w.Do(ctx, r.Request, ev); err != nil {
			return err
		}
	}
	return nil
}

// spent is the transaction that has used a nonce of the wallet, as the chain shows it at depth.
type spent struct {
	hash      string
	transfers int // all that it pays but change; 0: it pays nobody
}

// mayBegin says whether the wallet may pay again, and else the lowest nonce that stands in the
// way. from is the first nonce that the copy does not know as used at depth, and signed is one above the
// highest that the wallet may have signed before the restore: the signer's log says it. A node's
// pending transactions are never asked: what a node does not show may still be mined. So each of these
// nonces must be used at depth, and each transfer of what used it must be on file of a request.
func mayBegin(ctx context.Context, w *store.Withdrawals, from, signed uint64, chain map[uint64]spent) (open uint64, ok bool, err error) {
	for n := from; n < signed; n++ {
		tx, used := chain[n]
		if !used {
			return n, false, nil
		}
		paid, err := w.ByHash(ctx, tx.hash)
		if err != nil || len(paid) < tx.transfers {
			return n, false, err
		}
	}
	return 0, true, nil
}

// The signer's log says that the wallet signed the nonces 7 and 8 after the copy was made. Nonce 7
// is mined: a batch of four. In the copy one of its requests is queued, one is approved, one waits
// for approval, and one does not exist. Nonce 8 was signed, nobody knows whether it was sent, and no
// node shows it: it may still be mined, so nothing is paid before a transfer of the wallet to itself
// has used the nonce at depth.
func ExampleWithdrawals_restored() {
	ctx := context.Background()
	chain, asset := uuid.New(), uuid.New()
	db := memory.New(memory.Options{})
	policy := withdrawal.DefaultPolicy()
	before, err := store.NewWithdrawals(db, policy)
	if err != nil {
		log.Fatal(err)
	}
	wallet := withdrawal.HotWallet{ID: uuid.New(), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	if err := before.PutHotWallet(ctx, wallet); err != nil {
		log.Fatal(err)
	}
	system := withdrawal.By{Actor: "intake", Role: withdrawal.System}
	var paid []transfer
	for i := range uint32(4) {
		r := withdrawal.Submitted{By: system, Request: uuid.New(), User: uuid.New(), Asset: asset, Chain: chain,
			ToAddress: fmt.Sprint("payee-", i), Amount: "5"}
		life := []withdrawal.Event{r, withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
			withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: asset, Priority: withdrawal.Normal}}
		if _, err := before.Do(ctx, r.Request, life[:3-i]...); i < 3 && err != nil {
			log.Fatal(err)
		}
		paid = append(paid, transfer{withdrawal.Transfer{Output: i, Payee: r.ToAddress, AssetOnChain: asset, AmountRaw: "5"}, r})
	}

	policy.Chain.Paused = true // nothing begins until all is explained
	w, err := store.NewWithdrawals(db, policy)
	if err != nil {
		log.Fatal(err)
	}
	onChain := map[uint64]spent{7: {"tx-7", len(paid)}}
	ask := func(when string) {
		open, ok, err := mayBegin(ctx, w, 7, 9, onChain)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(when+":", ok, open)
	}
	ask("at first")
	if err := bringIn(ctx, w, "tx-7", 7, wallet, paid[:3]); err != nil {
		log.Fatal(err)
	}
	ask("three of four are told")
	if err := bringIn(ctx, w, "tx-7", 7, wallet, paid); err != nil { // what was told already changes nothing
		log.Fatal(err)
	}
	ask("all are told")
	onChain[8] = spent{hash: "tx-8"} // a transfer of the wallet to itself, at depth
	if err := w.PutFiller(ctx, withdrawal.Filler{Chain: chain, Wallet: wallet.ID, Nonce: 8, Hash: "tx-8", Actor: "desk",
		Reason: "signed before the restore, never seen"}); err != nil {
		log.Fatal(err)
	}
	ask("nonce 8 is used")

	// Look-ups go on, each request by its own receipt.
	for _, t := range paid {
		checker := withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}
		done, err := w.Do(ctx, t.request.Request, withdrawal.Receipt{By: checker, Tx: "tx-7",
			Block: withdrawal.Block{Height: 1, Hash: "block", Canonical: "block", Head: 12}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Payee, done.Request.Status)
	}
	// Output:
	// at first: false 7
	// three of four are told: false 7
	// all are told: false 8
	// nonce 8 is used: true 0
	// payee-0 completed
	// payee-1 completed
	// payee-2 completed
	// payee-3 completed
}

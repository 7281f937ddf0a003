package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// The wallet has nonces. The signer's log says that it signed up to nonce 4 after the copy was made. In
// the copy nonce 0 is known, and five requests are a..e: a is queued, b is approved, c waits for
// approval, d has failed, and e is not in the copy at all. What happened after the copy, as the chain shows it:
//
//	nonce 1  nobody has ever seen it: a gap, before which nothing above it is mined
//	nonce 2  a batch that pays a, b and c; an earlier version of it paid d too, which was dropped
//	nonce 3  pays d: it was requeued
//	nonce 4  pays e
func ExampleWithdrawals_Say() {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	chain, asset := uuid.New(), uuid.New()
	db := memory.New(memory.Options{})
	w, err := store.NewWithdrawals(db, withdrawal.DefaultPolicy())
	check(err)
	chains, err := store.NewSwitches(db)
	check(err)
	wallet := withdrawal.HotWallet{ID: uuid.New(), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	check(w.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System}, wallet))
	system := withdrawal.By{Actor: "intake", Role: withdrawal.System}
	desk := withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	worker := withdrawal.By{Actor: "worker", Role: withdrawal.WithdrawalWorker}
	checker := withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}
	deep := withdrawal.Block{Height: 100, Hash: "block", Canonical: "block", Head: 111}

	// What the copy has.
	do := func(id uuid.UUID, events ...withdrawal.Event) withdrawal.Withdrawal {
		got, err := w.Do(ctx, id, events...)
		check(err)
		return got
	}
	submitted := func(payee string) withdrawal.Submitted {
		return withdrawal.Submitted{By: system, Request: uuid.New(), User: uuid.New(), Asset: asset, Chain: chain, ToAddress: payee, Amount: "5"}
	}
	approved := withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}}
	ordered := func() withdrawal.Enqueued {
		return withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: asset, Priority: withdrawal.Normal}
	}
	known := submitted("earlier")
	do(known.Request, known, approved, ordered(), withdrawal.Claimed{By: worker},
		withdrawal.Prepared{By: worker, Fence: 1, Hash: "tx-0", Raw: []byte("0"), HasNonce: true, HasChainNonce: true},
		withdrawal.Broadcast{By: worker, Fence: 1, Hash: "tx-0"}, withdrawal.Receipt{By: checker, Tx: "tx-0", Block: deep})
	a, b, c, d, e := submitted("a"), submitted("b"), submitted("c"), submitted("d"), submitted("e")
	do(a.Request, a, approved, ordered())
	do(b.Request, b, approved)
	do(c.Request, c)
	do(d.Request, d, approved, ordered(), withdrawal.Claimed{By: worker}, withdrawal.AttemptFailed{By: worker, Fence: 1, Failure: withdrawal.Permanent, Error: "no gas"})
	copied := time.Now()

	// Step 2: sqlstore.Restored does this, and more.
	_, err = chains.Recover(ctx, switches.Recovering{By: switches.By{Actor: "olga", Role: switches.Operator}, Scope: switches.Everything,
		Level: switches.Send, Generation: 1, Reason: "fail-over 02:14"})
	check(err)
	start := func() error {
		_, err := chains.Start(ctx, switches.Started{By: switches.By{Actor: "olga", Role: switches.Operator}, Scope: switches.Chain(chain),
			Recovery: true, Reason: "all is explained"})
		return err
	}
	say := func(events ...withdrawal.Event) { // and show the first point that is open then
		for _, ev := range events {
			check(w.Say(ctx, ev))
		}
		var open *withdrawal.UnsettledError
		if err := start(); errors.As(err, &open) {
			fmt.Println(open.Open.Point, open.Open.Number)
		} else {
			check(err)
		}
	}
	at := func(output uint32, r withdrawal.Submitted) withdrawal.UsedTransfer {
		return withdrawal.UsedTransfer{Transfer: withdrawal.Transfer{Output: output, Payee: r.ToAddress, AssetOnChain: asset, AmountRaw: "5"}}
	}
	used := func(n uint64, hash string, transfers ...withdrawal.UsedTransfer) withdrawal.Used {
		return withdrawal.Used{By: desk, Wallet: wallet.ID, Block: deep, Nonce: n, Tx: hash, Transfers: transfers}
	}
	imported := func(hash string, output uint32, r withdrawal.Submitted) {
		do(r.Request, withdrawal.Imported{By: system, Request: r.Request, User: r.User, Asset: r.Asset, Chain: chain, ToAddress: r.ToAddress, Amount: r.Amount,
			Job: uuid.New(), AssetOnChain: asset, Hash: hash, ByOutput: true, Output: output, Wallets: []withdrawal.HotWallet{wallet}})
	}

	// Steps 3 to 6.
	say(withdrawal.BooksRead{By: desk, Chain: chain, Since: copied, Reason: "ledger of the night"})
	say(withdrawal.Bound{By: desk, Wallet: wallet.ID, Through: 5, Source: withdrawal.SignerLog, Reason: "line 88231"})
	// A transfer of the wallet to itself has nonce 1: what waited behind it is mined by now.
	check(w.PutFiller(ctx, withdrawal.Filler{Chain: chain, Wallet: wallet.ID, Nonce: 1, Hash: "tx-1", Actor: "olga", Reason: "signed, never seen"}))
	say(withdrawal.AtDepth{By: desk, Wallet: wallet.ID, Block: deep, Next: 5}, used(1, "tx-1"))
	say(used(2, "tx-2", at(0, a), at(1, b), at(2, c)), used(3, "tx-3", at(0, d)), used(4, "tx-4", at(0, e)))
	do(a.Request, withdrawal.PaidBy{By: desk, Tx: "tx-2", Output: 0, Payee: "a", AssetOnChain: asset, AmountRaw: "5", Reason: "in the signer's log"})
	say() // one of three is told
	imported("tx-2", 1, b)
	imported("tx-2", 2, c)
	say()
	imported("tx-3", 0, d) // it had failed
	imported("tx-4", 0, e) // it is not in the copy
	say()                  // Step 7: it is started

	// Look-ups complete each, and the next one is paid.
	for hash, paid := range map[string][]withdrawal.Submitted{"tx-2": {a, b, c}, "tx-3": {d}, "tx-4": {e}} {
		for _, r := range paid {
			if got := do(r.Request, withdrawal.Receipt{By: checker, Tx: hash, Block: deep}); got.Request.Status != withdrawal.RequestCompleted {
				fmt.Println(r.ToAddress, got.Request.Status)
			}
		}
	}
	next := submitted("f")
	do(next.Request, next, approved, ordered(), withdrawal.Claimed{By: worker})
	got := do(next.Request, withdrawal.Prepared{By: worker, Fence: 1, Hash: "tx-5", Raw: []byte("5"), Nonce: 5, HasNonce: true, ChainNonce: 5, HasChainNonce: true},
		withdrawal.Broadcast{By: worker, Fence: 1, Hash: "tx-5"}, withdrawal.Receipt{By: checker, Tx: "tx-5", Block: deep})
	fmt.Println(next.ToAddress, got.Request.Status)
	// Output:
	// bound 0
	// nonce 1
	// untold 2
	// transfer 0
	// transfer 1
	// transfer 0
	// f completed
}

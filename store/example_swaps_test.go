package store_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
)

// USDC comes in and is paid out as USDD. A service runs worker.Run over
// SwapDeposits.Work and SwapCredits.Work, in as many processes as it likes, and a watcher
// that reports what came in and what the vault sent.
func ExampleSwapDeposits_Work() {
	ctx, db, policy := context.Background(), memory.New(memory.Options{}), swap.DefaultPolicy()
	policy.USDCQuarantineAccount, policy.USDDQuarantineAccount = "solana-quarantine", "nexus-quarantine"
	swaps, err := store.NewSwaps(db, policy)
	if err != nil {
		log.Fatal(err)
	}
	watcher := swap.By{Actor: "watcher", Role: swap.Observer}
	for _, chain := range swap.Chain(0).Values() { // nothing goes out before the vault's own history is known
		_, scan, err := swaps.Waterline(ctx, chain, true)
		if err != nil {
			log.Fatal(err)
		}
		// What the vault has sent since scan.From goes to swaps.Outbound here.
		scan.From, scan.Complete, scan.Tip = scan.Began.Add(-time.Hour), true, scan.Began
		if _, err := swaps.Scanned(ctx, chain, true, scan); err != nil {
			log.Fatal(err)
		}
	}
	_, err = swaps.Deposits.Do(ctx, "5sig", swap.Observed{By: watcher, ID: "5sig", Amount: 10_000_000, From: "alice", Time: time.Now(), Success: true, Finalized: true})
	if err != nil {
		log.Fatal(err)
	}

	// pay does what a deposit owes, one thing at a time. What it has begun and not
	// answered is looked up later, by anybody, and never sent again.
	name := worker.NewName("payer") // no other process has it
	source, me := swaps.Deposits.Work(name), swap.By{Actor: name, Role: swap.Worker}
	pay := func(ctx context.Context, d swap.Deposit) store.HeldDeposit {
		for {
			step, _, err := swaps.Deposits.Next(ctx, d.ID)
			if err != nil || len(step.Tasks) == 0 {
				return source.Release(d)
			}
			var ev swap.Event
			switch task := step.Tasks[0]; task.Do {
			case swap.FetchMemo:
				ev = swap.MemoFetched{By: me, Memos: []string{"nexus:carol"}} // from a node
			case swap.CheckAccount:
				ev = swap.AccountChecked{By: me, State: swap.AccountUsable}
			case swap.Begin: // the intent is on file first; a reference number is drawn with it
				d, err = swaps.Deposits.Do(ctx, d.ID, swap.Begun{By: me, Fence: d.Lease.Fence, Number: task.Number, Action: task.Action})
				if err != nil {
					return source.Release(d)
				}
				fmt.Printf("send %s to %s with reference %d\n", swap.FormatAmount(task.Net), task.Account, d.Intents[0].Reference)
				// Unknown where no answer came; Failed only if nobody can have executed it.
				ev = swap.Answered{By: me, Fence: d.Lease.Fence, Number: task.Number, Outcome: statemachine.Done, TxID: "ab12"}
			default:
				return source.Release(d)
			}
			if d, err = swaps.Deposits.Do(ctx, d.ID, ev); err != nil {
				return source.Release(d)
			}
		}
	}
	due, _, err := source.Turn(ctx, nil, 10) // worker.Run(ctx, source, pay, options) does both
	for _, item := range due {
		if err == nil {
			_, _, err = source.Turn(ctx, []store.HeldDeposit{pay(ctx, item.Work)}, 0)
		}
	}
	if err != nil {
		log.Fatal(err)
	}

	// The watcher reads the vault's own history for ever. Ten confirmations are final.
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "ab12", Reference: 1, Amount: 9_890_000, Destination: "carol", Token: "USDD", Confirmations: 10}
	if err := swaps.Outbound(ctx, watcher, seen); err != nil {
		log.Fatal(err)
	}
	d, err := swaps.Deposits.Get(ctx, "5sig")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: %+v\n", d.Status, d.Money())
	// Output:
	// send 9.890000 to carol with reference 1
	// debit_confirmed: {Deposited:10000000 PaidOut:9890000 Refunded:0 Quarantined:0 Fees:110000 Held:0 GivenBack:0 Excess:0}
}

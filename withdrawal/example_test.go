package withdrawal_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/withdrawal"
)

// A withdrawal from submission to confirmation. The worker crashes after it
// has sent the transaction and before it could say so; the record alone tells
// what to do.
func Example() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	by := func(actor string, role withdrawal.Role) withdrawal.By {
		return withdrawal.By{Actor: actor, Role: role, At: now}
	}
	chain := uuid.MustParse("00000000-0000-4000-8000-000000000001")
	wallet := withdrawal.HotWallet{ID: uuid.MustParse("00000000-0000-4000-8000-000000000002"), Chain: chain,
		Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	policy := withdrawal.DefaultPolicy()

	var w withdrawal.Withdrawal // a host loads and stores it in a transaction
	apply := func(ev withdrawal.Event) {
		c, err := policy.Apply(w, ev)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, line := range c.Log {
			fmt.Printf("%s: %s -> %s (%s)\n", line.Machine, line.From, line.To, line.Trigger)
		}
		w = c.New
	}

	apply(withdrawal.Submitted{By: by("api", withdrawal.System), Request: uuid.MustParse("00000000-0000-4000-8000-000000000003"),
		User: uuid.MustParse("00000000-0000-4000-8000-000000000004"), Asset: uuid.MustParse("00000000-0000-4000-8000-000000000005"),
		Chain: chain, ToAddress: "0xABC", Amount: "100.5", Decimals: 18})
	apply(withdrawal.Approved{By: by("alice", withdrawal.Approver)})
	apply(withdrawal.Enqueued{By: by("scheduler", withdrawal.System), Job: uuid.MustParse("00000000-0000-4000-8000-000000000006"),
		AssetOnChain: uuid.MustParse("00000000-0000-4000-8000-000000000007"), Priority: withdrawal.Normal, Wallets: []withdrawal.HotWallet{wallet}})
	apply(withdrawal.Claimed{By: by("worker-1", withdrawal.WithdrawalWorker)})
	apply(withdrawal.Prepared{By: by("worker-1", withdrawal.WithdrawalWorker), Fence: 1, Hash: "0xDEF", Raw: []byte("signed"),
		HasNonce: true, HasChainNonce: true}) // the first of the account

	now = now.Add(policy.Lease) // worker-1 is gone
	fmt.Println("owed:", policy.Next(w, now).Actions[0].Do)
	apply(withdrawal.Elapsed{By: by("scheduler", withdrawal.System)})
	for _, a := range policy.Next(w, now).Actions {
		fmt.Println("owed:", a.Do, a.Hashes)
	}

	apply(withdrawal.Receipt{By: by("confirmer", withdrawal.ConfirmationWorker), Tx: "0xDEF",
		Block: withdrawal.Block{Height: 100, Hash: "0x1", Canonical: "0x1", Head: 111}, GasUsed: "21000", GasPrice: "5000000000"})
	fmt.Println(w.Request.Amount, w.Request.Status, w.Request.FinalTxHash)
	// Output:
	// withdrawal_request:  -> pending (submit)
	// withdrawal_request: pending -> approved (approve)
	// withdrawal_job:  -> pending (enqueue)
	// withdrawal_request: approved -> queued (enqueue)
	// withdrawal_job: pending -> processing (claim)
	// withdrawal_job: processing -> processing (prepare)
	// owed: rescue
	// withdrawal_job: processing -> confirming (unknown)
	// owed: look up [0xDEF]
	// owed: rebroadcast [0xDEF]
	// withdrawal_job: confirming -> confirmed (confirm)
	// withdrawal_request: queued -> completed (job confirmed)
	// 100.5 completed 0xDEF
}

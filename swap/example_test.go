package swap_test

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// One deposit, from its sighting to its payment. Each change would be stored
// before the next step.
func Example() {
	p := swap.DefaultPolicy()
	p.USDCQuarantineAccount, p.USDDQuarantineAccount = "solana-quarantine", "nexus-quarantine"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	house := swap.Control{SolanaScanned: true, NexusScanned: true} // what went out before is known
	observer := swap.By{Actor: "poller", Role: swap.Observer}
	worker := swap.By{Actor: "payer-1", Role: swap.Worker}

	var d swap.Deposit
	do := func(ev swap.Event) {
		c, err := p.ApplyDeposit(d, ev, now)
		if err != nil {
			fmt.Println(err)
			return
		}
		d = c.New
		fmt.Println(d.Status)
	}
	do(swap.Observed{By: observer, ID: "5sig", Amount: 10_000_000, From: "alice", Time: now, Success: true, Finalized: true})
	do(swap.Claimed{By: worker})
	do(swap.MemoFetched{By: worker, Memos: []string{"nexus:bob"}})
	do(swap.AccountChecked{By: worker, State: swap.AccountUsable})
	task := p.NextDeposit(d, house, now).Tasks[0]
	fmt.Println("owed:", task.Do, swap.FormatAmount(task.Net), "to", task.Account)
	do(swap.Begun{By: worker, Fence: d.Lease.Fence, Number: task.Number, Action: task.Action, Reference: 1, Control: house})
	// The debit is sent now, and the answer is lost.
	do(swap.Answered{By: worker, Fence: d.Lease.Fence, Number: 1, Outcome: statemachine.Unknown})
	fmt.Println("owed:", p.NextDeposit(d, house, now).Tasks[0].Do)
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "tx", Reference: 1, Amount: task.Net, Destination: "bob", Token: "USDD", Confirmations: 10}
	do(swap.Looked{By: worker, Number: 1, Finding: swap.LookFound, Seen: seen})
	do(swap.Looked{By: worker, Number: 1, Finding: swap.LookFound, Seen: seen})
	fmt.Printf("%+v\n", d.Money())

	// Output:
	// detected
	// detected
	// ready for processing
	// ready for processing
	// owed: begin 9.890000 to bob
	// ready for processing
	// ready for processing
	// owed: look up
	// debited, awaiting confirmation
	// debit_confirmed
	// {Deposited:10000000 PaidOut:9890000 Refunded:0 Quarantined:0 Fees:110000 Held:0 GivenBack:0 Excess:0}
}

package refresh_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// A sync job of one wallet finds a transfer, which gets a watcher. A host loads and stores the
// wallet under a lock of its row; in this example the wallet is a value.
func Example() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	by := func(actor string, role refresh.Role) refresh.By { return refresh.By{Actor: actor, Role: role, At: now} }
	config := refresh.DefaultPolicy()
	job := uuid.MustParse("00000000-0000-4000-8000-000000000001")

	var w refresh.Work
	apply := func(ev refresh.Event) refresh.Change {
		c, err := config.Apply(w, ev)
		if err != nil {
			fmt.Println(err)
		}
		for _, line := range c.Log {
			fmt.Printf("%s: %s -> %s (%s)\n", line.Machine, line.From, line.To, line.Trigger)
		}
		w = c.New
		return c
	}

	apply(refresh.Enqueued{By: by("api", refresh.API), Job: job, Cause: refresh.Sync,
		Credentials: refresh.Credentials{XpubVan: "xpub1", XpubCol: "xpub2", MasterFingerprint: "f00dbabe"}})
	apply(refresh.SlotClaimed{By: by("worker-1", refresh.Orchestrator), Slot: 1})

	fmt.Println("owed:", config.Next(w, now).Do)
	apply(refresh.JobClaimed{By: by("worker-1", refresh.Worker), Slot: 1, Lock: 1})
	// The worker refreshes the wallet and lists its transfers.
	waiting := refresh.Transfer{Recipient: "utxob:1", Asset: "rgb:2", Status: refresh.WaitingCounterparty,
		Kind: refresh.ReceiveBlind, HasIndex: true}
	held := refresh.Fences{Slot: 1, Job: job, Fence: 1, Lock: 1}
	apply(refresh.JobDone{By: by("worker-1", refresh.Worker), Fences: held,
		Listing: refresh.Listing{Answered: now, Transfers: []refresh.Transfer{waiting}}})

	fmt.Println("owed:", config.Next(w, now).Do)
	settled := waiting
	settled.Status = refresh.TransferSettled
	now = now.Add(10 * time.Second)
	apply(refresh.Looked{By: by("worker-1", refresh.Worker), Slot: 1, Lock: 2, Began: now,
		Listing: refresh.Listing{Answered: now, Transfers: []refresh.Transfer{settled}}})

	now = now.Add(config.LockTTL) // worker-1 is gone
	_, err := config.Apply(w, refresh.RoundEnded{By: by("worker-1", refresh.Worker), Slot: 1, End: refresh.EndIdle, WorkSeq: 1})
	fmt.Println(err != nil, statemachine.ErrFenced)
	// Output:
	// refresh_wallet:  -> unserved (first job)
	// refresh_job:  -> pending (enqueue)
	// refresh_wallet: unserved -> served (claim slot)
	// owed: job
	// refresh_job: pending -> processing (claim)
	// refresh_watcher:  -> watching (transfer listed)
	// refresh_job: processing -> completed (complete)
	// owed: tick
	// refresh_watcher: watching -> settled (transfer settled)
	// true fenced off: the lease is no longer yours
}

package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// flakyNexus executes what arrives, loses every third debit before that and every
// fourth answer behind it.
type flakyNexus struct {
	mu    sync.Mutex
	calls int
	paid  map[string][]swap.Sighting // by account
}

func (n *flakyNexus) debit(in swap.Intent) (string, statemachine.Outcome) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	if n.calls%3 == 0 {
		return "", statemachine.Unknown
	}
	id := fmt.Sprintf("%x", 1<<20+n.calls)
	n.paid[in.Destination] = append(n.paid[in.Destination], swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: id, Reference: in.Reference, Amount: in.Net,
		Destination: in.Destination, Token: "USDD", Confirmations: 10})
	if n.calls%4 == 0 {
		return "", statemachine.Unknown
	}
	return id, statemachine.Done
}

func (n *flakyNexus) look(in swap.Intent) (swap.Sighting, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.paid[in.Destination] {
		if s.Reference == in.Reference {
			return s, true
		}
	}
	return swap.Sighting{}, false
}

// Two workers against a node that loses messages, one of which panics now and then and
// is stopped in the middle, in virtual time: each deposit is paid once.
func TestTwoWorkersPayEachDepositOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const deposits = 40
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		all, err := store.NewSwaps(memory.New(memory.Options{}), swaptest.Policy())
		if err != nil {
			t.Fatal(err)
		}
		for _, chain := range swap.Chain(0).Values() {
			_, scan, err := all.Waterline(ctx, chain, true)
			scan.From, scan.Complete, scan.Tip = scan.Began.Add(-time.Hour), true, scan.Began
			if err == nil {
				_, err = all.Scanned(ctx, chain, true, scan)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for k := range deposits {
			id := fmt.Sprint("sig", k)
			_, err := all.Deposits.Do(ctx, id, swap.Observed{By: swap.By{Actor: "watcher", Role: swap.Observer}, ID: id, Amount: 10_000_000, From: "alice", Time: time.Now(), Success: true, Finalized: true})
			if err != nil {
				t.Fatal(err)
			}
		}
		node := &flakyNexus{paid: map[string][]swap.Sighting{}}
		var calls sync.Map // of handlers, by worker
		handle := func(name string, source store.DepositSource) func(context.Context, swap.Deposit) store.HeldDeposit {
			me := swap.By{Actor: name, Role: swap.Worker}
			return func(ctx context.Context, d swap.Deposit) store.HeldDeposit {
				n, _ := calls.LoadOrStore(name+d.ID, new(int))
				*n.(*int)++ // one at a time for an item
				for range 8 {
					step, now, err := all.Deposits.Next(ctx, d.ID)
					if err != nil || len(step.Tasks) == 0 {
						return source.Release(d)
					}
					var ev swap.Event
					switch task := step.Tasks[0]; task.Do {
					case swap.FetchMemo:
						ev = swap.MemoFetched{By: me, Memos: []string{"nexus:account-" + d.ID}}
					case swap.CheckAccount:
						ev = swap.AccountChecked{By: me, State: swap.AccountUsable}
					case swap.Begin:
						if d, err = all.Deposits.Do(ctx, d.ID, swap.Begun{By: me, Fence: d.Lease.Fence, Number: task.Number, Action: task.Action}); err != nil {
							return source.Release(d)
						}
						if name == "unsteady" && *n.(*int)%2 == 0 {
							panic("between the intent and the send")
						}
						txid, outcome := node.debit(d.Intents[task.Number-1])
						ev = swap.Answered{By: me, Fence: d.Lease.Fence, Number: task.Number, Outcome: outcome, TxID: txid, Reason: "as the node says"}
					case swap.LookUp:
						in := d.Intents[task.Number-1]
						look := swap.Looked{By: me, Number: task.Number, Finding: swap.LookMissing, View: swap.View{From: in.At.Add(-time.Hour), Asked: now, ByID: true, Before: 9, After: 9, CannotLand: now.After(in.SendBy)}}
						if s, ok := node.look(in); ok {
							look.Finding, look.Seen = swap.LookFound, s
						}
						ev = look
					default:
						ev = swap.Elapsed{By: me}
					}
					version := d.Version
					if d, err = all.Deposits.Do(ctx, d.ID, ev); err != nil || d.Version == version {
						return source.Release(d)
					}
				}
				return source.Release(d)
			}
		}
		var group sync.WaitGroup
		run := func(ctx context.Context, name string) {
			source := all.Deposits.Work(name)
			group.Go(func() {
				err := worker.Run(ctx, source, handle(name, source), worker.Options[swap.Deposit, store.HeldDeposit]{Concurrency: 4})
				if err != nil {
					t.Error(name, err)
				}
			})
		}
		first, leave := context.WithCancel(ctx)
		run(first, "unsteady")
		run(ctx, "steady")
		time.Sleep(7 * time.Minute)
		leave()
		time.Sleep(4 * time.Hour)
		stop()
		group.Wait()
		ended := map[swap.DepositStatus]int{}
		for k := range deposits {
			d, err := all.Deposits.Get(context.Background(), fmt.Sprint("sig", k))
			if err != nil {
				t.Fatal(err)
			}
			ended[d.Status]++
			if err := swap.CheckDeposit(d); err != nil {
				t.Error(err)
			}
			if n := len(node.paid["account-"+d.ID]); n != 1 && d.Status == swap.DepositProcessed || n > 1 || n == 1 && d.Status != swap.DepositProcessed {
				t.Errorf("%s is %v and was paid %d times", d.ID, d.Status, n)
			}
			if len(d.Discrepancies) > 0 {
				t.Errorf("%s: %+v", d.ID, d.Discrepancies)
			}
		}
		if ended[swap.DepositProcessed] < deposits*3/4 || node.calls <= deposits {
			t.Errorf("they end as %v after %d calls", ended, node.calls)
		}
	})
}

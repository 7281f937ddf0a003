package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// Who says that swaps were restored, and up to which number, is in the journal where that is a
// person, refused or not; nobody but a person and the system may.
func TestARestoreOfSwapsIsTold(t *testing.T) {
	ctx, s := context.Background(), memory.New(memory.Options{})
	swaps, err := store.NewSwaps(s, swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	by := func(r swap.Role) swap.By { return swap.By{Actor: "olga", Role: r} }
	calls := map[string]func(swap.By) error{
		"Restored":    func(by swap.By) error { _, err := swaps.Restored(ctx, by); return err },
		"Seed":        func(by swap.By) error { _, err := swaps.Seed(ctx, by, 7); return err },
		"MissingSaid": func(by swap.By) error { _, err := swaps.MissingSaid(ctx, by); return err },
		"BooksRead":   func(by swap.By) error { _, err := swaps.BooksRead(ctx, by); return err },
		"Seed too":    func(by swap.By) error { _, err := swaps.Seed(ctx, by, swap.MaxReference+1); return err },
	}
	told := 0
	for _, c := range []struct {
		call, want string
		by         swap.By
		err        error
	}{
		{"Restored", "Restored done", by(swap.Operator), nil}, {"Seed", "Seed done", by(swap.Operator), nil},
		{"Seed too", "Seed invalid", by(swap.Operator), statemachine.ErrInvalid},
		{"MissingSaid", "MissingSaid done", by(swap.Operator), nil}, {"BooksRead", "BooksRead done", by(swap.Operator), nil},
		{"MissingSaid", "", by(swap.Observer), statemachine.ErrForbidden}, {"BooksRead", "", by(swap.System), statemachine.ErrForbidden},
		{"Restored", "", by(swap.System), nil}, {"MissingSaid", "", by(swap.System), nil}, {"Seed", "", by(swap.System), nil},
		{"Restored", "", by(swap.Worker), statemachine.ErrForbidden}, {"Seed", "", by(swap.Observer), statemachine.ErrForbidden},
		{"Restored", "", swap.By{Role: swap.System}, statemachine.ErrInvalid},
	} {
		before, _ := swaps.Control(ctx)
		if err := calls[c.call](c.by); !errors.Is(err, c.err) {
			t.Errorf("%s by %v: %v", c.call, c.by, err)
		}
		if now, _ := swaps.Control(ctx); c.err != nil && now != before {
			t.Errorf("%s by %v is refused, and changes %+v", c.call, c.by, now)
		}
		lines, _, err := store.NewJournal(s).Page(ctx, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		if c.want != "" {
			told++
		}
		if len(lines) != told {
			t.Fatalf("%s by %v: %d lines, expected %d", c.call, c.by, len(lines), told)
		}
		if last := lines[len(lines)-1]; c.want != "" && (last.Event+" "+last.Outcome != c.want || last.Actor != "olga") {
			t.Errorf("%s: the journal has %+v", c.call, last)
		}
	}
}

// After a restore a direction is started once the finished items of before are stored, the books
// were read, and a scan of each history of the vault counts; what came in before waits.
func TestADirectionIsStartedAfterItsRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := context.Background(), memory.New(memory.Options{})
		policy := swaptest.Policy()
		swaps, err1 := store.NewSwaps(s, policy)
		switched, err2 := store.NewSwitches(s)
		olga, by := switches.By{Actor: "olga", Role: switches.Operator}, swap.By{Actor: "olga", Role: swap.Operator}
		_, err3 := switched.Recover(ctx, switches.Recovering{By: olga, Scope: switches.Everything, Level: switches.Send, Generation: 1, Reason: "restored"})
		c, err4 := swaps.Restored(ctx, by)
		if err := errors.Join(err1, err2, err3, err4); err != nil || c.Reference != uint64(c.RecoveredAt.Unix())<<20 {
			t.Fatalf("%+v, %v", c, err)
		}
		came := swap.Observed{By: swap.By{Actor: "watcher", Role: swap.Observer}, ID: "sig1", Amount: 10_000_000, From: "alice", Time: time.Now(), Success: true, Finalized: true}
		observed := func() error { _, err := swaps.Deposits.Do(ctx, came.ID, came); return err }
		started := func(d swap.Direction) error {
			_, err := switched.Start(ctx, switches.Started{By: olga, Scope: swap.Scope(d), Recovery: true, Reason: "all is said"})
			return err
		}
		if err := observed(); !errors.Is(err, swap.ErrUnsettled) {
			t.Errorf("what came in before: %v", err)
		}
		time.Sleep(policy.WaterlineMargin + policy.Lease + policy.CallTimeout + time.Second)
		scanned := func(chain swap.Chain) error {
			_, scan, err := swaps.Waterline(ctx, chain, true)
			scan.From, scan.Complete, scan.Tip = came.Time, true, time.Now()
			_, err2 := swaps.Scanned(ctx, chain, true, scan)
			return errors.Join(err, err2)
		}
		for k, step := range []func() error{
			func() error { _, err := swaps.MissingSaid(ctx, by); return err }, func() error { _, err := swaps.BooksRead(ctx, by); return err },
			func() error { return scanned(swap.Solana) }, func() error { return scanned(swap.Nexus) },
		} {
			for _, d := range swap.Direction(0).Values() {
				if err := started(d); !errors.Is(err, swap.ErrUnsettled) {
					t.Errorf("%v, after %d steps: %v", d, k, err)
				}
			}
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(observed(), started(swap.ToUSDD), started(swap.ToUSDC)); err != nil {
			t.Error(err)
		}
	})
}

// The service asks the record whether an item that is requeued was looked back for.
func TestWhatIsBehindIsNotRequeued(t *testing.T) { synctest.Test(t, behindIsNotRequeued) }

func behindIsNotRequeued(t *testing.T) {
	ctx := t.Context()
	swaps, err := store.NewSwaps(memory.New(memory.Options{}), swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	by := func(r swap.Role) swap.By { return swap.By{Actor: "olga", Role: r} }
	do := func(events ...swap.Event) swap.Deposit {
		t.Helper()
		d, err := swaps.Deposits.Do(ctx, "sig1", events...)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := do(swap.Observed{By: by(swap.Observer), ID: "sig1", Amount: 10_000_000, From: "alice", Time: time.Now(), Success: true, Finalized: true},
		swap.PaidBy{By: by(swap.Operator), Action: swap.Quarantine, TxID: "moved", Reason: "by hand"})
	found := swap.Looked{By: by(swap.Worker), Number: 1, Finding: swap.LookFound, Seen: swaptest.Sighting(&d.Intents[0], true)}
	do(found, found)
	time.Sleep(time.Hour)
	late := by(swap.Operator)
	late.At = time.Now()
	do(swap.NotSent{By: late, Number: 1, Reason: "it was another's"})
	if _, err := swaps.Restored(ctx, by(swap.Operator)); err != nil {
		t.Fatal(err)
	}
	requeued := swap.Requeued{By: by(swap.Operator), Reason: "once more"}
	if _, err := swaps.Deposits.Do(ctx, "sig1", requeued); !errors.Is(err, swap.ErrUnsettled) {
		t.Errorf("behind a restore: %v", err)
	}
}

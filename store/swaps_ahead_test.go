package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// What the store's clock put off while it was far ahead, and what it leased then, is the work of
// the next worker once the clock is right, in both directions.
func TestNoSwapWaitsForAClockThatWasAhead(t *testing.T) {
	ctx, start := context.Background(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, leased := range []bool{false, true} {
		now := start.Add(100 * 24 * time.Hour)
		s := memory.New(memory.Options{Now: func() time.Time { return now }})
		swaps, err := store.NewSwaps(s, swaptest.Policy())
		if err != nil {
			t.Fatal(err)
		}
		seen := swap.Observed{By: swap.By{Actor: "observer", Role: swap.Observer},
			Amount: 10_000_000, From: "alice", Time: now, Success: true, Finalized: true}
		d, c := seen, seen
		d.ID, c.ID, c.To, c.Owner = "sig1", "ab1", "treasury", "bob"
		if _, err = swaps.Deposits.Do(ctx, d.ID, d); err == nil {
			_, err = swaps.Credits.Do(ctx, c.ID, c)
		}
		if err != nil {
			t.Fatal(err)
		}
		take := func(name string) int {
			deposits, _, err1 := swaps.Deposits.Work(name).Turn(ctx, nil, 5)
			credits, _, err2 := swaps.Credits.Work(name).Turn(ctx, nil, 5)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			return len(deposits) + len(credits)
		}
		if leased && take("first") != 2 {
			t.Fatal("what was observed is not due")
		}
		if now = start; take("second") != 2 {
			t.Errorf("leased %v: it waits for a clock that was ahead", leased)
		}
		if take("third") != 0 {
			t.Errorf("leased %v: it is taken twice", leased)
		}
		for of, changed := range map[string]func() (swap.Item, error){
			"deposit": func() (swap.Item, error) { d, err := swaps.Deposits.Get(ctx, d.ID); return d.Item, err },
			"credit":  func() (swap.Item, error) { c, err := swaps.Credits.Get(ctx, c.ID); return c.Item, err },
		} {
			i, err := changed()
			latest := now.Add(swaps.Policy().RefundTimeout + time.Hour)
			if err != nil || i.Entered.After(now) || i.OverdueAt.After(latest) ||
				statemachine.Ahead(now, i.Lease.Until, swaptest.Policy().Lease) {
				t.Errorf("a %s that was leased, %v: %+v, %v", of, leased, i, err)
			}
		}
	}
}

package store_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// What cannot start is refused before anything is claimed, and the error names it; what runs
// works on both directions and reads both chains until its context ends.
func TestRunSwaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		swaps, err := store.NewSwaps(memory.New(memory.Options{}), swaptest.Policy())
		if err != nil {
			t.Fatal(err)
		}
		observer := swap.By{Actor: "watcher", Role: swap.Observer}
		d := swap.Observed{By: observer, ID: "sig1", Amount: 10_000_000, From: "alice", Time: time.Now(), Success: true, Finalized: true}
		c := d
		c.ID, c.To, c.Owner = "ab", "treasury", "bob"
		_, err1 := swaps.Deposits.Do(t.Context(), d.ID, d)
		_, err2 := swaps.Credits.Do(t.Context(), c.ID, c)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		var deposits, credits, scans atomic.Int64
		run := func() store.RunSwaps {
			return store.RunSwaps{Name: "worker",
				Deposit: func(_ context.Context, d swap.Deposit) store.HeldDeposit {
					deposits.Add(1)
					return swaps.Deposits.Work("worker").Release(d)
				},
				Credit: func(_ context.Context, c swap.Credit) store.HeldCredit {
					credits.Add(1)
					return swaps.Credits.Work("worker").Release(c)
				},
				Scan: func(_ context.Context, chain swap.Chain) (time.Duration, error) {
					scans.Add(1 << (32 * (chain - swap.Solana)))
					return time.Minute, nil
				}}
		}
		for name, tt := range map[string]struct {
			change func(*store.RunSwaps)
			want   string
		}{
			"nobody for deposits":            {func(r *store.RunSwaps) { r.Deposit = nil }, "RunSwaps.Deposit"},
			"nobody for credits":             {func(r *store.RunSwaps) { r.Credit = nil }, "RunSwaps.Credit"},
			"calls that fit into no lease":   {func(r *store.RunSwaps) { r.CallTimeout = time.Hour }, "CallTimeout"},
			"too many at once":               {func(r *store.RunSwaps) { r.Concurrency = 10_001 }, "Concurrency"},
			"a name that is too long for it": {func(r *store.RunSwaps) { r.Name = strings.Repeat("n", 201) }, ""},
		} {
			r := run()
			tt.change(&r)
			if err := swaps.Run(t.Context(), r); !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := deposits.Load() + credits.Load() + scans.Load(); n != 0 {
			t.Errorf("something began all the same: %d", n)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if err := swaps.Run(ctx, run()); err != nil {
			t.Error(err)
		}
		if n := scans.Load(); deposits.Load() == 0 || credits.Load() == 0 || n>>32 == 0 || n&(1<<32-1) == 0 {
			t.Errorf("%d deposits, %d credits, scans %x", deposits.Load(), credits.Load(), n)
		}
		left, err := swaps.Deposits.Get(t.Context(), d.ID)
		if err != nil || left.Lease.Holder != "" {
			t.Errorf("a lease is left behind: %+v, %v", left.Lease, err)
		}
	})
}

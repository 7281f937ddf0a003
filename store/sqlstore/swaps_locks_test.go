package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// Orders for many deposits at once, each in an order of its own, never wait in a circle.
func TestSavesOfDepositsDoNotDeadlock(t *testing.T) {
	const deposits, rounds = 30, 30
	ctx := context.Background()
	_, base := newStore(t, sqlstore.Postgres)
	all, err := store.NewSwaps(impatient(t, base.opts), swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, deposits)
	for i := range ids {
		ids[i] = fmt.Sprint("sig", i)
		o := swap.Observed{By: swap.By{Actor: "o", Role: swap.Observer}, ID: ids[i], Amount: 10_000_000, From: "alice", Time: time.Now(), Success: true, Finalized: true}
		if _, err := all.Deposits.Do(ctx, ids[i], o); err != nil {
			t.Fatal(err)
		}
	}
	var saved atomic.Int64
	err = atOnce(6, func(n int) error {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for round := range rounds {
			oscar := swap.By{Actor: "oscar", Role: swap.Operator}
			ev := swap.Event(swap.Held{By: oscar, Reason: "x"})
			if round%2 == 1 {
				ev = swap.Released{By: oscar, Reason: "x"}
			}
			commands := make([]store.SwapCommand, deposits)
			for i, at := range r.Perm(deposits) {
				commands[i] = store.SwapCommand{ID: ids[at], Events: []swap.Event{ev}}
			}
			switch _, err := all.Deposits.DoAll(ctx, commands...); {
			case err == nil:
				saved.Add(1)
			case errors.Is(err, store.ErrRetry):
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if saved.Load() == 0 {
		t.Error("nothing was saved")
	}
}

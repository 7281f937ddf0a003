package store_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/swap/swaptest"
)

// What takes a lease says how short it is, so that a worker whose calls outlast it
// does not begin: see [worker.Source].
func TestSourcesSayHowLongTheyLease(t *testing.T) {
	b := newBank(t)
	p := b.Policy()
	swaps, err := store.NewSwaps(memory.New(memory.Options{}), swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		source interface{ ShortestLease() time.Duration }
		want   time.Duration
	}{
		"payments":             {b.Payments(chain, "w"), p.Lease},
		"payments together":    {b.batches.Payments(chain, "w", 2), p.Lease},
		"look-ups":             {b.Lookups(chain, "c"), p.CheckEvery},
		"look-ups of together": {b.batches.Lookups(chain, "c"), p.CheckEvery},
		"deposits":             {swaps.Deposits.Work("w"), swaptest.Policy().Lease},
		"credits":              {swaps.Credits.Work("w"), swaptest.Policy().Lease},
	} {
		if got := of.source.ShortestLease(); got != of.want {
			t.Errorf("%s: %v, expected %v", name, got, of.want)
		}
	}
}

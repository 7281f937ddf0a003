package store_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap/swaptest"
)

// What takes a lease says how short it is, so that a worker whose calls outlast it
// does not begin: see [worker.Leasing].
func TestSourcesSayHowLongTheyLease(t *testing.T) {
	b := newBank(t)
	p := b.Policy()
	swaps, err := store.NewSwaps(memory.New(memory.Options{}), swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		source any
		want   time.Duration
	}{
		"payments":             {b.Payments(chain, "w"), p.Lease},
		"payments together":    {b.BatchPayments(chain, "w", 2), p.Lease},
		"look-ups":             {b.Lookups(chain, "c"), p.CheckEvery},
		"look-ups of together": {b.BatchLookups(chain, "c"), p.CheckEvery},
		"deposits":             {swaps.Deposits.Work("w"), swaptest.Policy().Lease},
		"credits":              {swaps.Credits.Work("w"), swaptest.Policy().Lease},
	} {
		if s, ok := of.source.(worker.Leasing); !ok || s.ShortestLease() != of.want {
			t.Errorf("%s: %v, expected %v", name, of.source, of.want)
		}
	}
}

package store_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/store/worker"
)

// What takes a lease says how short it is, so that a worker whose calls outlast it
// does not begin: see [worker.Leasing].
func TestSourcesOfPaymentsSayHowLongTheyLease(t *testing.T) {
	b := newBank(t)
	p := b.Policy()
	for name, of := range map[string]struct {
		source any
		want   time.Duration
	}{
		"payments":             {b.Payments(chain, "w"), p.Lease},
		"payments together":    {b.BatchPayments(chain, "w", 2), p.Lease},
		"look-ups of together": {b.BatchLookups(chain, "c"), p.CheckEvery},
	} {
		if s, ok := of.source.(worker.Leasing); !ok || s.ShortestLease() != of.want {
			t.Errorf("%s: %v, expected %v", name, of.source, of.want)
		}
	}
}

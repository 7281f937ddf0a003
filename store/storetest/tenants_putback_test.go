package storetest

import (
	"os"
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// Copies at every commit, in memory, where one takes milliseconds, and what is not the procedure.
func TestACopyOfAnyCommitChargesEachDebtOnce(t *testing.T) {
	open := func(testing.TB) store.Store[store.TenantUnit] {
		return timedTenants[store.Unit](memory.New(memory.Options{}))
	}
	lives, steps := uint64(20), 80
	if os.Getenv("SETTLE_SOAK") != "" {
		lives = 100
	}
	copiesOfCharges(t, open, lives, steps, 10*steps, "")
	copiesOfCharges(t, open, 3, steps, 10*steps, skipsRestored, skipsBooks)
}

package storetest

import (
	"os"
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

func swapsInMemory(testing.TB) store.Store[store.SwapUnit] {
	return timedSwaps[store.Unit](memory.New(memory.Options{}))
}

// Copies at every commit, in memory, where one takes milliseconds, and what is not the procedure.
func TestACopyOfAnyCommitPaysEachSwapOnce(t *testing.T) {
	histories, steps := uint64(2), 25
	if os.Getenv("SETTLE_SOAK") != "" {
		histories, steps = 10, 60
	}
	copiesOfSwaps(t, swapsInMemory, histories, steps, steps, "")
	copiesOfSwaps(t, swapsInMemory, 1, steps, steps, skipsRestored, skipsMissing, saysLatest)
}

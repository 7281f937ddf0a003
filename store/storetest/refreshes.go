package storetest

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// Refreshes proves the refreshes of a store.
func Refreshes[T store.RefreshTx](t *testing.T, open func(testing.TB) store.Store[T]) {
	rules := []struct {
		rule string
		test func(*testing.T, *refreshes[T])
	}{}
	versioned(t, func(t *testing.T) *refreshSubject[T] { return versionedRefreshes(newRefreshes(t, open(t))) })
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) { r.test(t, newRefreshes(t, open(t))) })
	}
	t.Run("random histories store the same as the memory adapter", func(t *testing.T) {
		randomHistories(t, versionedRefreshes(newRefreshes(t, open(t))), versionedRefreshes(newRefreshes[store.Tx](t, memory.New(memory.Options{}))))
	})
}

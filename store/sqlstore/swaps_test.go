package sqlstore_test

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/storetest"
)

func TestSwaps(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		storetest.Swaps(t, func(tb testing.TB) store.Store[store.Unit] {
			return emptyStore(tb, d)
		})
	})
}

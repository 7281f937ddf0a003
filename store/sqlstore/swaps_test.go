package sqlstore_test

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/storetest"
)

func TestSwaps(t *testing.T) {
	suite(t, store.DomainSwaps, storetest.Swaps[store.Unit])
}

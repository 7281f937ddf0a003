package storetest_test

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/storetest"
	"github.com/settlehq/settle/utxo/utxotest"
)

func TestWalletsInMemory(t *testing.T) {
	storetest.Wallets(t, func(testing.TB) store.Store[store.Unit] {
		return memory.New(memory.Options{Wallets: utxotest.Policy()})
	})
}

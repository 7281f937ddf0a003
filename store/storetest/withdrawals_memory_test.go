package storetest_test

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/storetest"
)

func TestMemoryWithdrawals(t *testing.T) {
	storetest.Withdrawals(t, func(testing.TB) store.Store[store.Unit] { return memory.New(memory.Options{}) })
}

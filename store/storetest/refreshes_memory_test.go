package storetest_test

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/storetest"
)

func TestMemoryRefreshes(t *testing.T) {
	storetest.Refreshes(t, func(testing.TB) store.Store[store.Unit] { return memory.New(memory.Options{}) })
}

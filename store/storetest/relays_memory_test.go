package storetest_test

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/storetest"
)

func TestMemoryRelays(t *testing.T) {
	storetest.Relays(t, func(testing.TB) store.Store[store.Unit] { return memory.New(memory.Options{}) })
}

func TestMemoryTenants(t *testing.T) {
	storetest.Tenants(t, func(testing.TB) store.Store[store.Unit] { return memory.New(memory.Options{}) })
}

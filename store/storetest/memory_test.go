package storetest_test

import (
	"context"
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/storetest"
	"github.com/settlehq/settle/utxo/utxotest"
)

func inMemory(testing.TB) store.Store[store.Unit] {
	return memory.New(memory.Options{Wallets: utxotest.Policy()})
}

// alone is the transaction of a host that pays each request alone: nothing of batches is in reach.
type alone struct{ store.WithdrawalUnit }

type aloneStore struct{ of store.Store[store.Unit] }

func (s aloneStore) Update(ctx context.Context, fn func(alone) error) error {
	return s.of.Update(ctx, func(tx store.Unit) error { return fn(alone{tx}) })
}

func (s aloneStore) View(ctx context.Context, fn func(alone) error) error {
	return s.of.View(ctx, func(tx store.Unit) error { return fn(alone{tx}) })
}

// A host that does not batch implements nothing for batches.
func TestMemoryWithdrawals(t *testing.T) {
	if _, is := any(alone{}).(store.BatchUnit); is {
		t.Fatal("the transaction has batches")
	}
	storetest.Withdrawals(t, func(tb testing.TB) store.Store[alone] { return aloneStore{inMemory(tb)} })
}

func TestWalletsInMemory(t *testing.T) { storetest.Wallets(t, inMemory) }
func TestMemoryProcesses(t *testing.T) { storetest.Processes(t, inMemory) }
func TestMemorySwitches(t *testing.T)  { storetest.Switches(t, inMemory) }
func TestMemoryBatches(t *testing.T)   { storetest.Batches(t, inMemory) }
func TestMemoryRefreshes(t *testing.T) { storetest.Refreshes(t, inMemory) }
func TestMemoryRelays(t *testing.T)    { storetest.Relays(t, inMemory) }
func TestMemoryTenants(t *testing.T)   { storetest.Tenants(t, inMemory) }
func TestMemorySwaps(t *testing.T)     { storetest.Swaps(t, inMemory) }

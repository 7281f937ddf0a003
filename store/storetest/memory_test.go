package storetest_test

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/storetest"
	"github.com/settlehq/settle/utxo/utxotest"
)

func inMemory(testing.TB) store.Store[store.Unit] {
	return memory.New(memory.Options{Wallets: utxotest.Policy()})
}

func TestWalletsInMemory(t *testing.T)   { storetest.Wallets(t, inMemory) }
func TestMemoryProcesses(t *testing.T)   { storetest.Processes(t, inMemory) }
func TestMemorySwitches(t *testing.T)    { storetest.Switches(t, inMemory) }
func TestMemoryWithdrawals(t *testing.T) { storetest.Withdrawals(t, inMemory) }
func TestMemoryRefreshes(t *testing.T)   { storetest.Refreshes(t, inMemory) }
func TestMemoryRelays(t *testing.T)      { storetest.Relays(t, inMemory) }
func TestMemoryTenants(t *testing.T)     { storetest.Tenants(t, inMemory) }
func TestMemorySwaps(t *testing.T)       { storetest.Swaps(t, inMemory) }

// Package storetest proves that a store keeps the rules of package store. Run it from a test of the adapter; a failure
// prints the rule that is broken.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(tb testing.TB) store.Store[store.Unit] { return open(tb) })
//	}
//
// open returns a new, empty store for each call, and arranges with tb.Cleanup for its end. An adapter of one domain
// runs that domain's suite alone:
//
//	func TestStore(t *testing.T) {
//		storetest.Withdrawals(t, func(tb testing.TB) store.Store[*mine.Unit] { return open(tb) })
//	}
//
// Without package testing, at the start of a service, there is [store.SelfCheck], and for one domain
// [store.SelfCheckWithdrawals] or [store.SelfCheckWallets].
//
// # What it cannot prove
//
// Test these where you can break the database:
//
//   - A change survives a power cut once Update has returned nil. See to it that a commit is flushed (SQLite in WAL
//     mode: synchronous=FULL; PostgreSQL: synchronous_commit not off), since an intent that is lost after its effect is
//     paid again.
//   - An error of the commit itself is reported, and as [store.ErrUnknownCommit] where the commit may have landed.
//   - Nobody changes the audit trail behind the store's back: refuse UPDATE and DELETE of its rows in the database.
//   - A row that cannot be read does not keep Due from the others.
package storetest

import (
	"testing"

	"github.com/settlehq/settle/store"
)

// Run proves a store of all domains.
func Run(t *testing.T, open func(testing.TB) store.Store[store.Unit]) {
	t.Run("processes", func(t *testing.T) { Processes(t, open) })
	t.Run("switches", func(t *testing.T) { Switches(t, open) })
	t.Run("wallets", func(t *testing.T) { Wallets(t, open) })
	t.Run("withdrawals", func(t *testing.T) { Withdrawals(t, open) })
	t.Run("batches", func(t *testing.T) { Batches(t, open) })
	t.Run("refreshes", func(t *testing.T) { Refreshes(t, open) })
	t.Run("relays", func(t *testing.T) { Relays(t, open) })
	t.Run("tenants", func(t *testing.T) { Tenants(t, open) })
	t.Run("swaps", func(t *testing.T) { Swaps(t, open) })
}

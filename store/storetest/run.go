// Package storetest proves that a store keeps the rules of package store. Run
// it from a test of the adapter; a failure prints the rule that is broken.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(tb testing.TB) store.Store[store.Tx] { return open(tb) })
//	}
//
// open returns a new, empty store for each call, and arranges with tb.Cleanup
// for its end. An adapter of one domain runs that domain's suite alone, such as
// [Wallets].
package storetest

import (
	"testing"

	"github.com/settlehq/settle/store"
)

// Run proves a store of all domains.
func Run(t *testing.T, open func(testing.TB) store.Store[store.Tx]) {
	t.Run("wallets", func(t *testing.T) { Wallets(t, open) })
	t.Run("withdrawals", func(t *testing.T) { Withdrawals(t, open) })
}

package storetest_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/storetest"
)

// A store of your own is proven by a test of your own: each rule is one subtest with an
// empty store. A store that keeps withdrawals alone calls Withdrawals in the place of Run.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestStore(t *testing.T)
		storetest.Run(t, func(t testing.TB) store.Store[store.Unit] {
			return memory.New(memory.Options{Now: time.Now}) // yours, without any rows
		})
	}
}

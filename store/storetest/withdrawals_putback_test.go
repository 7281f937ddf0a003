package storetest

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// Who tells less than the truth after a restore pays twice.
func TestWhatIsNotToldAfterARestoreIsPaidTwice(t *testing.T) {
	w := newWithdrawals(t, timedWithdrawals[store.Unit](memory.New(memory.Options{})))
	live(w.Store)
	w.copies(t, 2, 24, "", lieLatest, lieBound, lieUntold)
}

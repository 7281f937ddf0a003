package storetest

import (
	"os"
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// Who tells less than the truth after a restore pays twice.
func TestWhatIsNotToldAfterARestoreIsPaidTwice(t *testing.T) {
	w := newBatches(t, timedBatches[store.Unit](memory.New(memory.Options{})))
	live(w.Store)
	w.copies(t, 2, 24, "", lieLatest, lieBound, lieUntold)
}

// Copies by the thousand, in memory, where one takes milliseconds.
func TestManyCopiesPayEachRequestOnce(t *testing.T) {
	if os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("SETTLE_SOAK is not set")
	}
	w := newBatches(t, timedBatches[store.Unit](memory.New(memory.Options{})))
	live(w.Store)
	w.copies(t, 10, 40, "")
}

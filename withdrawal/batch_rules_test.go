package withdrawal_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// A batch has at most 100 versions: the 101st is refused.
func TestABatchHasAtMostAHundredVersions(t *testing.T) {
	b := newBatch(t, 1)
	for n := 2; n <= withdrawal.MaxTxs; n++ {
		b = runBatch(t, b, batchReplaced(t0, b, fmt.Sprint("v", n)))
	}
	if c, err := policy.ApplyBatch(b, batchReplaced(t0, b, "one more"), t0); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
		t.Fatalf("after %d: %v", len(b.Txs), err)
	}
}

// What is a version of the batch pays what the batch says: nobody needs to tell.
func TestNobodyCannotTellOfAVersion(t *testing.T) {
	b := newBatch(t, 2)
	for _, hash := range []string{"v1", ""} {
		if c, err := policy.ApplyBatch(b, withdrawal.BatchCannotTell{By: checker(t0), Other: hash}, t0); !errors.Is(err, statemachine.ErrInvalid) || !c.Empty() {
			t.Errorf("%q: %v", hash, err)
		}
	}
}

// A version in a block of the chain is not sent again, though it is not deep yet; in
// a block that is no longer of the chain it is.
func TestABatchInABlockIsNotSentAgain(t *testing.T) {
	missing := runBatch(t, newBatch(t, 2), withdrawal.BatchMissing{By: checker(t0)})
	gone := batchMined(t0, "v1")
	gone.Block = block(2)
	gone.Canonical = "another"
	mined := batchMined(t0, "v1")
	mined.Block = block(2)
	for _, tt := range []struct {
		ev   withdrawal.BatchMined
		want bool
	}{{gone, true}, {mined, false}} {
		if got := runBatch(t, missing, tt.ev); got.Batch.Rebroadcast != tt.want || got.Batch.Status != withdrawal.BatchConfirming {
			t.Errorf("in block %+v: to be sent again is %v, in %v", tt.ev.Block, got.Batch.Rebroadcast, got.Batch.Status)
		}
	}
}

// A member that may have been paid beside the record is not paid by another version,
// also when no operator has it.
func TestAFlaggedMemberIsNotPaidByAnotherVersion(t *testing.T) {
	b := newBatch(t, 2)
	b.Members = slices.Clone(b.Members)
	b.Members[1].Request.StraysSent = 1
	if c, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v2", 0, 1), t0); !errors.Is(err, statemachine.ErrIllegal) || !c.Empty() {
		t.Fatal(err)
	}
	if c, err := policy.ApplyBatch(b, batchReplaced(t0, b, "v2", 0), t0); err != nil || c.Empty() {
		t.Fatalf("without it: %v", err)
	}
}

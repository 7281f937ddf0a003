package withdrawal_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/withdrawal"
)

// Which nonce Prepared may have: the wallet's next on file, the chain's next if
// it was told (-1: not), and the policy's gap.
func TestRule4Nonce(t *testing.T) {
	for _, tt := range []struct {
		name        string
		nonce, file uint64
		chain       int64
		gap         uint64
		want        string
	}{
		{"the next on file", 8, 8, -1, 0, "processing"},
		{"below the next on file, the chain's unknown", 7, 8, -1, 0, "nonce used"},
		{"above the next on file, the chain's unknown", 9, 8, -1, 0, "nonce gap"},
		{"nothing on file, the chain's unknown", 0, 0, -1, 0, "invalid"},
		{"nothing on file, the chain's", 702, 0, 702, 0, "processing"},
		{"nothing on file, a gap", 705, 0, 702, 0, "nonce gap"},
		{"nothing on file, below the chain's", 701, 0, 702, 0, "nonce used"},
		{"a gap is filled", 702, 706, 702, 0, "processing"},
		{"a gap is filled above the chain's next", 704, 706, 702, 0, "processing"},
		{"below the chain's, above the file's", 9, 8, 10, 0, "nonce used"},
		{"the chain is ahead", 10, 8, 10, 0, "processing"},
		{"above both", 11, 8, 10, 0, "nonce gap"},
		{"above both, within the gap of the policy", 12, 8, 10, 2, "processing"},
		{"above both, beyond the gap of the policy", 13, 8, 10, 2, "nonce gap"},
		{"the greatest, far away", withdrawal.MaxNonce, 8, 8, 0, "nonce gap"},
		{"the greatest, in turn", withdrawal.MaxNonce, withdrawal.MaxNonce, -1, 0, "processing"},
		{"beyond the greatest", withdrawal.MaxNonce + 1, withdrawal.MaxNonce + 1, -1, 0, "invalid"},
		{"after the greatest was imported the chain's counts", 8, withdrawal.MaxNonce + 1, 8, 0, "processing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy
			p.Chain.NonceGap = tt.gap
			w := states(t)["processing"]
			w.Wallet.NextNonce = tt.file
			ev := prepared(t0, 1, "tx1", tt.nonce)
			ev.ChainNonce, ev.HasChainNonce = uint64(max(tt.chain, 0)), tt.chain >= 0
			w = expect(t, p, w, ev, tt.want)
			if tt.want == "processing" && (w.Job.Nonce != tt.nonce || !w.Job.HasNonce || w.Wallet.NextNonce != max(tt.file, tt.nonce+1)) {
				t.Errorf("%+v", w.Wallet)
			}
		})
	}
	none := prepared(t0, 1, "tx1", 0)
	none.HasNonce = false
	expect(t, policy, states(t)["processing"], none, "invalid")
	far := prepared(t0, 1, "tx1", 5)
	far.ChainNonce = math.MaxUint64
	expect(t, policy, states(t)["processing"], far, "invalid")
}

// Signers that choose, imports and payments by hand skip the rule of the gap.
func TestRule6WhoChoosesSkipsTheGap(t *testing.T) {
	w := states(t)["dispatched"]
	w.Wallet.NextNonce = 3
	w = expect(t, policy, w, withdrawal.Broadcast{By: worker(t0), Fence: 1, Hash: "h", Nonce: 900, HasNonce: true}, "confirming")
	if w.Wallet.NextNonce != 901 {
		t.Errorf("%+v", w.Wallet)
	}
	w = states(t)["job pending"]
	w.Wallet.NextNonce = 3
	paid := paidBy(t0, withdrawal.Operator, "x")
	paid.Nonce, paid.HasNonce = 900, true
	expect(t, policy, w, paid, "confirmed")
}

func TestFreeNonceAgainstAScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		taken := rapid.SliceOfDistinct(rapid.Uint64Range(0, 12), rapid.ID).Draw(t, "taken")
		slices.Sort(taken)
		chain := rapid.Uint64Range(0, 12).Draw(t, "chain")
		want := chain
		for slices.Contains(taken, want) {
			want++
		}
		if got := withdrawal.FreeNonce(chain, taken); got != want {
			t.Fatalf("%d, expected %d", got, want)
		}
	})
}

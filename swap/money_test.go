package swap_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/swap"
)

// The formula as it is written, in big rationals.
func naiveNet(f swap.Fees, amount uint64) uint64 {
	a := new(big.Rat).SetInt(new(big.Int).SetUint64(amount))
	fee := new(big.Rat).Mul(a, big.NewRat(int64(f.BasisPoints), 10_000))
	net := new(big.Rat).Sub(new(big.Rat).Sub(a, new(big.Rat).SetInt(new(big.Int).SetUint64(f.Flat))), fee)
	if net.Sign() <= 0 {
		return 0
	}
	return new(big.Int).Quo(net.Num(), net.Denom()).Uint64() // positive, so this floors
}

func TestNetAgreesWithTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := swap.Fees{BasisPoints: rapid.Uint64Range(0, 10_000).Draw(t, "bps"), Flat: rapid.OneOf(rapid.Uint64Range(0, 1_000_000), rapid.Uint64Range(0, swap.MaxAmount)).Draw(t, "flat")}
		amount := rapid.OneOf(rapid.Uint64Range(1, 2_000_000), rapid.Uint64Range(1, swap.MaxAmount)).Draw(t, "amount")
		net, fee := f.Net(amount)
		if want := naiveNet(f, amount); net != want || net+fee != amount {
			t.Fatalf("%+v of %d: %d + %d, expected %d", f, amount, net, fee, want)
		}
	})
}

func TestAmounts(t *testing.T) {
	for text, want := range map[string]uint64{"0.000001": 1, "1": 1_000_000, "10.5": 10_500_000, "9223372036854.775807": swap.MaxAmount, "000.100101": 100_101, ".5": 500_000, "1.": 1_000_000} {
		if got, err := swap.ParseAmount(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), expected %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0.0000001", "1e3", "-1", "+1", "9223372036854.775808", "1.2.3", " 1", "NaN", "0x1", strings.Repeat("1", 51)} {
		if got, err := swap.ParseAmount(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	for units, want := range map[uint64]string{1: "0.000001", 0: "0.000000", 1_000_000: "1.000000", swap.MaxAmount: "9223372036854.775807"} {
		if got := swap.FormatAmount(units); got != want {
			t.Errorf("%d is %q, expected %q", units, got, want)
		}
	}
}

func TestOutboundMemos(t *testing.T) {
	for _, c := range []struct {
		memo string
		d    swap.Direction
		a    swap.Action
		id   string
	}{
		{"nexus_txid:abc", swap.ToUSDC, swap.Send, "abc"},
		{"nexus_txid:abc:1", swap.ToUSDC, swap.Send, "abc:1"},
		{"processedTxid:abc", swap.ToUSDC, swap.Send, "abc"},
		{"refundSig:abc invalid memo", swap.ToUSDD, swap.Refund, "abc"},
		{"refundSig:abc", swap.ToUSDD, swap.Refund, "abc"},
		{"quarantinedSig:abc\tx", swap.ToUSDD, swap.Quarantine, "abc"},
	} {
		if d, a, id, ok := swap.ReadMemo(c.memo); !ok || d != c.d || a != c.a || id != c.id {
			t.Errorf("%q names %v %v %q %v", c.memo, d, a, id, ok)
		}
	}
	for _, memo := range []string{"", "abc", "nexus_txid: abc", "NEXUS_TXID:abc", "nexus_txid:", " nexus_txid:abc", "refundsig:abc", "refundSig: abc"} {
		if d, a, id, ok := swap.ReadMemo(memo); ok {
			t.Errorf("%q names %v %v %q", memo, d, a, id)
		}
	}
	for _, r := range swap.RefundReason(0).Values() {
		if len(r.String()) > 64 {
			t.Errorf("%q is too long", r)
		}
	}
}

func FuzzMemos(f *testing.F) {
	for _, s := range []string{"nexus:carol", "nexus_txid:abc", "refundSig:abc why", "nexus:", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := swap.ParseMemo(s); err == nil {
			if again, err := swap.ParseMemo("nexus:" + a); err != nil || again != a || strings.ContainsAny(a, ": \t\n") || len(a) > swap.MaxMemoAddress {
				t.Errorf("%q is read as %q", s, a)
			}
		}
		if d, a, id, ok := swap.ReadMemo(s); ok {
			reason := swap.RefundReason(0)
			d2, a2, id2, ok := swap.ReadMemo(swap.WriteMemo(a, id, reason))
			if !ok || d2 != d || a2 != a || id2 != id {
				t.Errorf("%q names %q, and the memo of that names %q", s, id, id2)
			}
		}
	})
}

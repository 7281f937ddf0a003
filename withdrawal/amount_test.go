package withdrawal_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

func TestRule11Amounts(t *testing.T) {
	for _, tt := range []struct {
		text     string
		decimals int32
		human    string
		raw      withdrawal.Raw
	}{
		{"100.0", 18, "100", "100000000000000000000"},
		{"10000000000", 18, "10000000000", "10000000000000000000000000000"},
		{"0.000000000000000000000001", 24, "0.000000000000000000000001", "1"},
		{"1", 0, "1", "1"},
		{"1.000", 0, "1", "1"},
		{"0.50", 1, "0.5", "5"},
		{"0.0000001", 6, "", ""},
		{"1.5", 0, "", ""},
		{"", 6, "", ""}, {"0", 6, "", ""}, {"0.000", 6, "", ""}, {"-1", 6, "", ""}, {"+1", 6, "", ""}, {"1e3", 6, "", ""}, {"1E3", 6, "", ""},
		{".5", 6, "", ""}, {"1.", 6, "", ""}, {".", 6, "", ""}, {"01", 6, "", ""}, {"1.2.3", 6, "", ""}, {" 1", 6, "", ""}, {"1 ", 6, "", ""},
		{"1,5", 6, "", ""}, {"0x1", 6, "", ""}, {"NaN", 6, "", ""}, {"Infinity", 6, "", ""}, {"١", 6, "", ""}, {"1\x00", 6, "", ""}, {"1_000", 6, "", ""},
		{"1", -1, "", ""}, {"1", 78, "", ""},
		{strings.Repeat("9", 78), 0, strings.Repeat("9", 78), withdrawal.Raw(strings.Repeat("9", 78))},
		{strings.Repeat("9", 78), 1, "", ""}, {strings.Repeat("9", 79), 0, "", ""}, {"1" + strings.Repeat("0", 200), 0, "", ""},
	} {
		human, raw, err := withdrawal.ParseAmount(tt.text, tt.decimals)
		if tt.raw == "" {
			if !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("%q of %d decimals: %v, %v", tt.text, tt.decimals, raw, err)
			}
			continue
		}
		if err != nil || raw != tt.raw || human.String() != tt.human || !raw.Human(tt.decimals).Equal(human) {
			t.Errorf("%q of %d decimals: %v, %v, %v", tt.text, tt.decimals, human, raw, err)
		}
	}
}

// The naive way: multiply with big integers.
func TestAmountsAgreeWithMultiplication(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9]{1,12}(\.[0-9]{1,12})?`).Draw(t, "text")
		decimals := rapid.Int32Range(0, 20).Draw(t, "decimals")
		_, raw, err := withdrawal.ParseAmount(text, decimals)
		want := decimal.RequireFromString(text).Mul(decimal.NewFromBigInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil), 0))
		plain := len(text) == 1 || text[0] != '0' || text[1] == '.'
		if ok := plain && want.IsPositive() && want.IsInteger(); ok != (err == nil) || ok && raw != withdrawal.Raw(want.BigInt().String()) {
			t.Fatalf("%s: %s, %v, expected %v", text, raw, err, want)
		}
	})
}

func TestRawAgreesWithBigIntegers(t *testing.T) {
	draw := func(t *rapid.T, name string) withdrawal.Raw {
		return withdrawal.Raw(rapid.StringMatching(`0|-?[1-9][0-9]{0,76}`).Draw(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		if got := a.Cmp(b); got != a.Int().Cmp(b.Int()) {
			t.Fatalf("%s compares %d with %s", a, got, b)
		}
		sum := a.Add(b)
		if want := new(big.Int).Add(a.Int(), b.Int()).String(); string(sum) != want {
			t.Fatalf("%s + %s = %s", a, b, sum)
		}
		if sum.Add(b.Neg()) != a || a.Neg().Neg() != a || a.Neg().Sign() != -a.Sign() {
			t.Fatalf("%s - %s is not %s", sum, b, a)
		}
		text, err := json.Marshal(a)
		var back withdrawal.Raw
		if err != nil || json.Unmarshal(text, &back) != nil || back != a {
			t.Fatalf("%s became %s", a, back)
		}
	})
	most := withdrawal.Raw(strings.Repeat("9", 78))
	sum := most.Add("1")
	text, err := json.Marshal(withdrawal.Stats{GasUsed: sum})
	var back withdrawal.Stats
	if err != nil || json.Unmarshal(text, &back) != nil || back.GasUsed != sum || sum.Valid() {
		t.Errorf("a sum of two became %s, %v", text, err)
	}
	for _, bad := range []string{"-0", "00", "01", "1.0", "1e3", "+1", " 1", "-", strings.Repeat("1", 98)} {
		var r withdrawal.Raw
		if err := r.UnmarshalText([]byte(bad)); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func FuzzParseAmount(f *testing.F) {
	f.Add("100.5", int32(18))
	f.Add("1e3", int32(6))
	f.Fuzz(func(t *testing.T, text string, decimals int32) {
		human, raw, err := withdrawal.ParseAmount(text, decimals)
		if err != nil {
			return
		}
		if !raw.Valid() || raw.Sign() != 1 || !raw.Human(decimals).Equal(human) {
			t.Errorf("%q: %v, %v", text, human, raw)
		}
		again, raw2, err := withdrawal.ParseAmount(human.String(), decimals)
		if err != nil || raw2 != raw || again.String() != human.String() {
			t.Errorf("%q is not stable: %v, %v", text, again, err)
		}
	})
}

package withdrawal

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/settlehq/settle/statemachine"
)

const (
	// MaxDigits bounds a Raw: 78 digits hold every 256-bit integer.
	MaxDigits = 78
	// maxSumDigits bounds a sum of at most 2^63 amounts, such as
	// HotWallet.BalanceReserved.
	maxSumDigits = MaxDigits + 19
	// MaxDecimals bounds the decimals of an asset.
	MaxDecimals = 77
)

// Raw is an integer of base units as canonical decimal text: an optional minus,
// no leading zero, no "-0". An amount has at most MaxDigits digits, a sum may have more.
// It is exact, comparable with ==, and a string to every store. Empty means absent and
// counts as zero.
type Raw string

// ParseRaw accepts canonical text of at most MaxDigits digits only.
func ParseRaw(s string) (Raw, error) { return parseRaw(s, MaxDigits) }

func parseRaw(s string, most int) (Raw, error) {
	digits := strings.TrimPrefix(s, "-")
	if !isDigits(digits) || len(digits) > most || digits[0] == '0' && s != "0" {
		return "", fmt.Errorf("%w: %.100q is not an integer of at most %d digits", statemachine.ErrInvalid, s, most)
	}
	return Raw(s), nil
}

// RawOf returns v.
func RawOf(v int64) Raw { return Raw(fmt.Sprint(v)) }

// Valid reports whether r is absent, or an amount: canonical and of at most MaxDigits digits.
func (r Raw) Valid() bool { return r.within(MaxDigits) }

func (r Raw) within(digits int) bool {
	_, err := parseRaw(string(r), digits)
	return r == "" || err == nil
}

// UnmarshalText accepts canonical text, of a sum too, and empty text (absent).
func (r *Raw) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*r = ""
		return nil
	}
	v, err := parseRaw(string(text), maxSumDigits)
	if err != nil {
		return err
	}
	*r = v
	return nil
}

// MarshalText returns the text.
func (r Raw) MarshalText() ([]byte, error) {
	if !r.within(maxSumDigits) {
		return nil, fmt.Errorf("%w: %.100q is not an integer", statemachine.ErrInvalid, string(r))
	}
	return []byte(r), nil
}

// Sign is -1, 0 or 1.
func (r Raw) Sign() int {
	switch {
	case r == "" || r == "0":
		return 0
	case r[0] == '-':
		return -1
	}
	return 1
}

// Cmp compares numerically: -1, 0 or 1. Both must be canonical; it allocates nothing.
func (r Raw) Cmp(o Raw) int {
	if d := r.Sign() - o.Sign(); d != 0 {
		return max(-1, min(1, d))
	}
	if r.Sign() == 0 {
		return 0
	}
	d := len(r) - len(o)
	if d == 0 {
		d = strings.Compare(string(r), string(o))
	}
	return r.Sign() * max(-1, min(1, d))
}

// Neg returns -r.
func (r Raw) Neg() Raw {
	switch r.Sign() {
	case -1:
		return r[1:]
	case 1:
		return "-" + r
	}
	return r
}

// Add returns r + o. It may have more than MaxDigits digits.
func (r Raw) Add(o Raw) Raw { return Raw(new(big.Int).Add(r.int(), o.int()).String()) }

// Int returns r as a new big integer.
func (r Raw) Int() *big.Int { return r.int() }

func (r Raw) int() *big.Int {
	v := new(big.Int)
	if r != "" {
		v.SetString(string(r), 10)
	}
	return v
}

// ParseAmount reads a positive amount for people: "100", "0.5". Digits with at
// most one point between digits; no sign, no exponent, no superfluous leading
// zero, no space. It returns the amount without trailing zeros and, exactly,
// human x 10^decimals. An amount that is finer than the asset is refused,
// never rounded.
func ParseAmount(text string, decimals int32) (human decimal.Decimal, raw Raw, err error) {
	refuse := func(why string) (decimal.Decimal, Raw, error) {
		return decimal.Decimal{}, "", fmt.Errorf("%w: amount %.100q %s", statemachine.ErrInvalid, text, why)
	}
	if decimals < 0 || decimals > MaxDecimals {
		return refuse(fmt.Sprintf("of an asset with %d decimals: 0 to %d are possible", decimals, MaxDecimals))
	}
	whole, frac, point := strings.Cut(text, ".")
	if len(text) > 2*MaxDigits || !isDigits(whole) || point && !isDigits(frac) || len(whole) > 1 && whole[0] == '0' {
		return refuse("is not a plain decimal number")
	}
	frac = strings.TrimRight(frac, "0")
	if len(frac) > int(decimals) {
		return refuse(fmt.Sprintf("has more than %d decimals", decimals))
	}
	digits := strings.TrimLeft(whole+frac+strings.Repeat("0", int(decimals)-len(frac)), "0")
	if digits == "" {
		return refuse("is not positive")
	}
	if len(digits) > MaxDigits {
		return refuse(fmt.Sprintf("has more than %d digits in base units", MaxDigits))
	}
	if frac != "" {
		whole += "." + frac
	}
	human, err = decimal.NewFromString(whole)
	if err != nil {
		return refuse("is not a plain decimal number")
	}
	return human, Raw(digits), nil
}

// Human returns r / 10^decimals, exactly and without trailing zeros.
func (r Raw) Human(decimals int32) decimal.Decimal {
	return canonical(decimal.NewFromBigInt(r.int(), -decimals))
}

// canonical returns the one representation of d that its text parses into.
func canonical(d decimal.Decimal) decimal.Decimal {
	return decimal.RequireFromString(d.String())
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

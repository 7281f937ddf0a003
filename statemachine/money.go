package statemachine

import (
	"fmt"
	"math/big"
	"strings"
)

// Money is how much of one asset is under way, in its base units. Each domain says what
// it counts; Review, Unknown and Stuck are shares of Open and overlap, unless the domain
// says otherwise.
type Money struct {
	Open    Sum // has begun and has not ended
	Review  Sum // rests with a person
	Unknown Sum // may have been paid, and nobody knows it
	Stuck   Sum // waits for longer than it should
}

// Add adds one amount to Open and to what else it is.
func (m *Money) Add(amount Sum, review, unknown, stuck bool) {
	m.Open = m.Open.Add(amount)
	if review {
		m.Review = m.Review.Add(amount)
	}
	if unknown {
		m.Unknown = m.Unknown.Add(amount)
	}
	if stuck {
		m.Stuck = m.Stuck.Add(amount)
	}
}

// Sum is an exact sum of amounts, an integer of any length as canonical decimal text. It
// is comparable with ==: zero is empty, and written as "0".
type Sum string

// SumOf returns n.
func SumOf(n int64) Sum { return sumOf(big.NewInt(n)) }

// ParseSum reads an integer in decimal digits, with a minus or without a sign. Anything
// else is [ErrInvalid]; empty text is 0.
func ParseSum(text string) (Sum, error) {
	digits := strings.TrimPrefix(text, "-")
	if strings.Trim(digits, "0123456789") != "" || digits == "" && text != "" {
		return "", fmt.Errorf("%w: %.100q is not an integer", ErrInvalid, text)
	}
	return sumOf(Sum(text).int()), nil
}

// Add returns s + o.
func (s Sum) Add(o Sum) Sum {
	return sumOf(new(big.Int).Add(s.int(), o.int()))
}

func (s Sum) int() *big.Int {
	n, ok := new(big.Int).SetString(s.String(), 10)
	if !ok {
		panic(fmt.Sprintf("statemachine: %.100q is no sum", string(s)))
	}
	return n
}

func sumOf(n *big.Int) Sum {
	if n.Sign() == 0 {
		return ""
	}
	return Sum(n.String())
}

// String is the number; "0" for the zero value.
func (s Sum) String() string {
	if s == "" {
		return "0"
	}
	return string(s)
}

// MarshalText returns the number; "0" for the zero value.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [ParseSum].
func (s *Sum) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSum(string(text))
	return err
}

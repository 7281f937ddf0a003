package growthtest

import (
	"fmt"
	"slices"
	"testing"
)

// said keeps what a test would have failed with.
type said struct {
	testing.TB
	text string
}

func (s *said) Helper()                        {}
func (s *said) Errorf(format string, a ...any) { s.text = fmt.Sprintf(format, a...) }

// Linear work and a sort pass, and quadratic work does not.
func TestAlmostLinear(t *testing.T) {
	const n = 1 << 13
	sum := 0
	input := func(n int) []int {
		all := make([]int, n)
		for i := range all {
			all[i] = i * 7919 % n
		}
		return all
	}
	for name, tt := range map[string]struct {
		do    func([]int)
		fails bool
	}{
		"a sum":  {func(all []int) { sum += len(slices.Repeat(all, 8)) }, false},
		"a sort": {func(all []int) { slices.Sort(slices.Clone(all)) }, false},
		"all pairs": {func(all []int) {
			for _, a := range all {
				for _, b := range all {
					sum += a ^ b
				}
			}
		}, true},
	} {
		s := &said{TB: t}
		if AlmostLinear(s, n, input, tt.do); (s.text != "") != tt.fails {
			t.Errorf("%s: %q", name, s.text)
		}
	}
}

package fixedtest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func draws(n int) (test func(*rapid.T), seen *[]int) {
	seen = new([]int)
	return func(t *rapid.T) {
		for range n {
			*seen = append(*seen, rapid.IntRange(0, 1<<40).Draw(t, "n"))
		}
	}, seen
}

func TestTheSameInputsEachTime(t *testing.T) {
	test, first := draws(5)
	Run(t, 3, test)
	One(t, 256, test)
	again, second := draws(5)
	Run(t, 3, again)
	One(t, 256, again)
	if len(*first) != 20 || !slices.Equal(*first, *second) {
		t.Errorf("draws of %v, and of %v", *first, *second)
	}
	if slices.Equal((*first)[:5], (*first)[15:]) {
		t.Errorf("the inputs 0 and 256 are one: %v", *first)
	}
}

func TestFails(t *testing.T) {
	large := func(t *rapid.T) {
		if n := rapid.IntRange(0, 7).Draw(t, "n"); n == 7 {
			t.Fatal("seven")
		}
	}
	failed := 0
	for seed := range 100 {
		if Fails(seed, large) {
			failed++
		}
	}
	if failed == 0 || failed == 100 {
		t.Errorf("%d of 100 runs fail", failed)
	}
	Finds(t, 100, large)
	inner := new(testing.T)
	if Finds(inner, 100, func(*rapid.T) {}); !inner.Failed() {
		t.Error("a test that never fails is found")
	}
}

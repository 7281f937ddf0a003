package memory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The set against a sorted slice.
func TestOrderedAgreesWithASortedSlice(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var set ordered[int]
	var naive []string
	for step := range 5000 {
		key := fmt.Sprint(rnd.IntN(300))
		i, found := slices.BinarySearch(naive, key)
		if found {
			naive = slices.Delete(naive, i, i+1)
			set.remove(key)
		} else {
			naive = slices.Insert(naive, i, key)
			set.insert(key, len(key))
		}
		set.remove("no such key")
		start, limit := fmt.Sprint(rnd.IntN(300)), rnd.IntN(20)+1
		var got []string
		set.from(start, func(key string, v int) bool {
			if v != len(key) {
				t.Fatalf("%s has the value of another key: %d", key, v)
			}
			got = append(got, key)
			return len(got) < limit
		})
		i, _ = slices.BinarySearch(naive, start)
		if want := naive[i:min(i+limit, len(naive))]; !slices.Equal(got, want) {
			t.Fatalf("step %d, from %s: got %v, expected %v", step, start, got, want)
		}
	}
}

func TestAfterIsTheFirstKeyBehindAPrefix(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\x00": "a\x01", "a\xff": "b", "a\xff\xff": "b", "\xff": "\xff"} {
		if got := after(prefix); got != want {
			t.Errorf("after %q: got %q, expected %q", prefix, got, want)
		}
	}
}

package statemachine_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
)

func TestBackoffDelay(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	capped := statemachine.Backoff{Base: time.Second, Cap: 10 * time.Second}
	for _, c := range []struct {
		rule string
		b    statemachine.Backoff
		n    int
		hash uint64
		want time.Duration
	}{
		{"the first delay is the base", capped, 0, 0, time.Second},
		{"it doubles", capped, 1, 0, 2 * time.Second},
		{"just below the cap", capped, 3, 0, 8 * time.Second},
		{"the cap holds", capped, 4, 0, 10 * time.Second},
		{"a negative n counts as zero", capped, -1, 0, time.Second},
		{"the most negative n counts as zero", capped, math.MinInt, 0, time.Second},
		{"a huge n gives the cap", capped, math.MaxInt, 0, 10 * time.Second},
		{"n past the word size gives the cap", capped, 64, 0, 10 * time.Second},
		{"a base above the cap gives the cap", statemachine.Backoff{Base: time.Minute, Cap: time.Second}, 0, 0, time.Second},
		{"no base is no delay", statemachine.Backoff{Cap: time.Second}, 5, math.MaxUint64, 0},
		{"a negative base is no delay", statemachine.Backoff{Base: -1}, 5, 0, 0},
		{"no cap: the last power that fits", statemachine.Backoff{Base: 1}, 62, 0, 1 << 62},
		{"no cap: the first that does not fit", statemachine.Backoff{Base: 1}, 63, 0, longest},
		{"no cap: a base near the longest", statemachine.Backoff{Base: 1 << 62}, 0, 0, 1 << 62},
		{"no cap: a base near the longest, twice", statemachine.Backoff{Base: 1 << 62}, 1, 0, longest},
		{"no cap: the longest base", statemachine.Backoff{Base: longest}, 0, 0, longest},
		{"a negative cap is no cap", statemachine.Backoff{Base: 1, Cap: -1}, 2, 0, 4},
		{"hash zero takes nothing away", statemachine.Backoff{Base: 1000, JitterPercent: 100}, 0, 0, 1000},
		{"half the hash range takes half the jitter", statemachine.Backoff{Base: 1 << 20, JitterPercent: 50}, 0, 1 << 63, 1<<20 - 1<<18 + 1},
		{"no jitter ignores the hash", statemachine.Backoff{Base: 1000}, 0, math.MaxUint64, 1000},
		{"full jitter never reaches below zero", statemachine.Backoff{Base: 1000, JitterPercent: 100}, 0, math.MaxUint64, 2},
		{"full jitter of the longest delay", statemachine.Backoff{Base: longest, JitterPercent: 100}, 0, math.MaxUint64, 9},
		{"a percentage above 100 counts as 100", statemachine.Backoff{Base: 1000, JitterPercent: 255}, 0, math.MaxUint64, 2},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := c.b.Delay(c.n, c.hash); got != c.want {
				t.Errorf("%+v.Delay(%d, %d) = %d, want %d", c.b, c.n, c.hash, got, c.want)
			}
		})
	}
}

// The same rule in big integers, for any input.
func TestBackoffAgreesWithBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := statemachine.Backoff{
			Base:          time.Duration(rapid.Int64().Draw(t, "base")),
			Cap:           time.Duration(rapid.Int64().Draw(t, "cap")),
			JitterPercent: rapid.Uint8().Draw(t, "percent"),
		}
		n, hash := rapid.IntRange(-2, 70).Draw(t, "n"), rapid.Uint64().Draw(t, "hash")
		if rapid.Bool().Draw(t, "anything") {
			n = rapid.Int().Draw(t, "any n")
		}

		most := big.NewInt(0)
		if b.Base > 0 {
			most.Lsh(big.NewInt(int64(b.Base)), uint(min(max(n, 0), 64)))
			limit := big.NewInt(math.MaxInt64)
			if b.Cap > 0 {
				limit.SetInt64(int64(b.Cap))
			}
			if most.Cmp(limit) > 0 {
				most = limit
			}
		}
		least := new(big.Int).Mul(most, big.NewInt(100-int64(min(b.JitterPercent, 100))))
		least.Quo(least, big.NewInt(100))

		if got := b.Delay(n, 0); got != time.Duration(most.Int64()) {
			t.Fatalf("without jitter %d, want %d", got, most)
		}
		got := b.Delay(n, hash)
		if big.NewInt(int64(got)).Cmp(least) < 0 || int64(got) > most.Int64() {
			t.Fatalf("%d is outside [%d, %d]", got, least, most)
		}
		if got != b.Delay(n, hash) {
			t.Fatal("the same hash gives another delay")
		}
		if hash > 0 && b.Delay(n, hash-1) < got {
			t.Fatal("a higher hash gives a longer delay")
		}
	})
}

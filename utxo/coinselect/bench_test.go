package coinselect_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo/coinselect"
)

// many returns n confirmed coins of 10,000 to 10,000,000 satoshi.
func many(n int) []coinselect.Candidate {
	random := rand.New(rand.NewPCG(7, 7))
	pool := make([]coinselect.Candidate, n)
	for i := range pool {
		pool[i] = coin(uint32(i), 10_000+random.Int64N(9_990_000))
		pool[i].Confirmations = 1 + random.Int32N(1000)
	}
	return pool
}

func BenchmarkSelect(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		pool := many(n)
		for _, a := range everyAlgorithm {
			b.Run(fmt.Sprintf("%s/%d", a, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := coinselect.Select(pool, pay(30_000_000, with(a))); err != nil && !errors.Is(err, coinselect.ErrNoChangeless) {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkSelectFails takes the longest way: every algorithm looks at all coins, and then
// the search does.
func BenchmarkSelectFails(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		pool := many(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				_, err := coinselect.Select(pool, pay(10_000_000_000, with(coinselect.Auto), func(r *coinselect.Request) { r.MaxInputs = 200 }))
				if err == nil {
					b.Fatal("must fail")
				}
			}
		})
	}
}

func BenchmarkCandidates(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		d := newDesk(b)
		scripts := slices.Repeat([][]byte{mine('a')}, n)
		d.connect(d.tx(nil, scripts[:n/2]...))
		d.observe(d.tx(nil, scripts[n/2:]...))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				list, err := coinselect.Candidates(d.policy, d.Ledger, coinselect.Query{Wallet: 1, At: noon})
				if err != nil || len(list) != n {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

// TestCandidatesOfDeepChain: depth costs no stack.
func TestCandidatesOfDeepChain(t *testing.T) {
	const depth = 20_000
	d := newDesk(t)
	deposit := d.tx(nil, mine('a'))
	d.connect(deposit)
	last := out(deposit, 0)
	for range depth {
		last = out(d.observe(d.tx([]wire.OutPoint{last}, mine('a'))), 0)
	}
	c, ok := d.candidates()[last]
	if !ok || !c.OwnChange || len(c.Ancestors) != coinselect.MaxAncestorLimit {
		t.Errorf("own change %v, %d ancestors", c.OwnChange, len(c.Ancestors))
	}
}

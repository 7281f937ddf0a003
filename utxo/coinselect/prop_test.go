package coinselect_test

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"pgregory.net/rapid"
)

// naive decides by trying every subset, in the words of the specification.
type naive struct {
	pool []coinselect.Candidate
	req  coinselect.Request
	// above[i] are the transactions that transaction i descends from, and i itself. The
	// last byte of a hash is the number of its transaction.
	above   [6][]int
	pending []bool
}

func (n naive) inputWeight(c coinselect.Candidate) int64 {
	switch string(c.Script) {
	case string(p2wpkh):
		return 272
	case string(p2tr):
		return 230
	case string(p2pkh):
		return 593
	}
	return 0
}

func (n naive) selectable(c coinselect.Candidate) bool {
	pending := slices.ContainsFunc(c.Ancestors, func(a coinselect.Ancestor) bool { return a.Pending })
	limit := n.req.AncestorLimit
	if limit == 0 {
		limit = 25
	}
	confirmed := c.State == utxo.CoinConfirmed && c.Confirmations >= n.req.MinConfirmations
	unconfirmed := (c.State == utxo.CoinUnconfirmed || c.State == utxo.CoinPending) &&
		(n.req.Unconfirmed == coinselect.AnyUnconfirmed || n.req.Unconfirmed == coinselect.OwnChange && c.OwnChange) &&
		(n.req.PendingParents || !pending) && len(c.Ancestors)+1 <= limit && n.chained(c)
	for _, a := range c.Ancestors {
		if n.req.DescendantLimit > 0 && a.Descendants+1 > n.req.DescendantLimit || a.Descendants+1 > 25 && n.req.DescendantLimit == 0 {
			return confirmed
		}
	}
	return (confirmed || unconfirmed) && c.Scanned && !c.Replacing && !slices.Contains(n.req.Exclude, c.OutPoint) &&
		(n.req.Tag == nil || *n.req.Tag == c.Tag) && n.inputWeight(c) > 0 && c.Amount > n.fee(n.inputWeight(c))
}

// chained says whether a mempool takes what spends these coins, as far as sizes go.
func (n naive) chained(set ...coinselect.Candidate) bool {
	size := func(limit int64) int64 {
		if limit == 0 {
			return 101_000
		}
		return limit
	}
	weight, above, below := 34+n.req.Payment.Weight+4+4*int64(8+1+len(n.req.ChangeScript)), map[chainhash.Hash]int64{}, int64(0)
	for _, c := range set {
		weight += n.inputWeight(c)
		for _, a := range c.Ancestors {
			above[a.Hash], below = a.Size, max(below, a.DescendantsSize)
		}
	}
	sum := int64(0)
	for _, of := range above {
		sum += of
	}
	own := (weight + 3) / 4
	return len(above) == 0 || sum+own <= size(n.req.AncestorSize) && below+own <= size(n.req.DescendantSize)
}

func (n naive) tier(c coinselect.Candidate) int {
	pending := slices.ContainsFunc(c.Ancestors, func(a coinselect.Ancestor) bool { return a.Pending })
	switch {
	case c.State == utxo.CoinConfirmed, slices.Contains(n.req.Pinned, c.OutPoint):
		return 0
	case !c.OwnChange:
		return 3
	case pending:
		return 2
	}
	return 1
}

// fee is the rate times the weight in virtual bytes, rounded up twice.
func (n naive) fee(weight int64) int64 {
	vsize := weight / 4
	if weight%4 > 0 {
		vsize++
	}
	millis := int64(n.req.FeeRate) * vsize
	if millis%1000 > 0 {
		millis += 1000
	}
	return millis / 1000
}

// sums returns, for a set of coins: the excess over what it must pay and what a change
// output would get, in satoshi; its waste without change, in 1/4000 satoshi; its tier; and
// whether it is within the limits.
func (n naive) sums(set []coinselect.Candidate) (s sums) {
	weight, amount, ancestors := int64(0), int64(0), map[chainhash.Hash]bool{}
	for _, c := range set {
		weight += n.inputWeight(c)
		amount += c.Amount
		s.tier = max(s.tier, n.tier(c))
		for _, a := range c.Ancestors {
			ancestors[a.Hash] = true
		}
	}
	total := 34 + n.req.Payment.Weight + 4 + weight // fewer than 253 inputs
	change := 4 * int64(8+1+len(n.req.ChangeScript))
	s.excess = amount - n.req.Payment.Amount - n.fee(total)
	s.change = amount - n.req.Payment.Amount - n.fee(total+change)
	s.waste = int64(n.req.FeeRate-n.longTerm())*weight + 4000*s.excess
	limit := n.req.AncestorLimit
	if limit == 0 {
		limit = 25
	}
	s.within = (n.req.MaxInputs == 0 || len(set) <= n.req.MaxInputs) && (len(ancestors) == 0 || len(ancestors)+1 <= limit) &&
		n.chained(set...) && total+change <= max(n.req.MaxWeight, 400_000*btoi(n.req.MaxWeight == 0))
	return s
}

type sums struct {
	excess, change, waste int64
	tier                  int
	within                bool
}

// minChange is what the documentation of DustLimit says.
func (n naive) minChange() int64 {
	if n.req.DustLimit > 0 {
		return n.req.DustLimit
	}
	dust := map[int]int64{22: 294, 34: 330, 25: 546}[len(n.req.ChangeScript)]
	spend := int64(n.longTerm()) * n.inputWeight(coinselect.Candidate{Coin: utxo.Coin{Script: n.req.ChangeScript}})
	for dust*4000 <= spend {
		dust++
	}
	return dust
}

func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (n naive) longTerm() coinselect.FeeRate {
	if n.req.LongTermFeeRate == 0 {
		return 10_000
	}
	return n.req.LongTermFeeRate
}

func (n naive) costOfChange() int64 {
	change := coinselect.Candidate{Coin: utxo.Coin{Script: n.req.ChangeScript}}
	return int64(n.req.FeeRate)*4*int64(8+1+len(n.req.ChangeScript)) + int64(n.longTerm())*n.inputWeight(change)
}

// best is what a search over all subsets finds.
type best struct {
	pays       bool // some set does, limits aside
	tier       int  // lowest of a set that pays within the limits, 4 for none
	exactTier  int  // the same without change
	exactWaste int64
}

func (n naive) best() best {
	b := best{tier: 4, exactTier: 4}
	var usable []coinselect.Candidate
	for _, c := range n.pool {
		if n.selectable(c) {
			usable = append(usable, c)
		}
	}
	for mask := range 1 << len(usable) {
		var set []coinselect.Candidate
		pinned := 0
		for i, c := range usable {
			if mask>>i&1 == 1 {
				set = append(set, c)
				if slices.Contains(n.req.Pinned, c.OutPoint) {
					pinned++
				}
			}
		}
		sum := n.sums(set)
		if pinned < len(n.req.Pinned) || sum.excess < 0 {
			continue
		}
		b.pays = true
		if !sum.within {
			continue
		}
		b.tier = min(b.tier, sum.tier)
		if n.needless(set) {
			continue // branch and bound ends above it
		}
		if 4000*sum.excess <= n.costOfChange() && sum.change < n.minChange() &&
			(sum.tier < b.exactTier || sum.tier == b.exactTier && sum.waste < b.exactWaste) {
			b.exactTier, b.exactWaste = sum.tier, sum.waste
		}
	}
	return b
}

// needless reports whether the set pays without one of its inputs.
func (n naive) needless(set []coinselect.Candidate) bool {
	for i, c := range set {
		if !slices.Contains(n.req.Pinned, c.OutPoint) && n.sums(slices.Delete(slices.Clone(set), i, i+1)).excess >= 0 {
			return true
		}
	}
	return false
}

// verify checks everything that holds for each result.
func (n naive) verify(t *rapid.T, s coinselect.Selection) {
	sum, weight, seen := int64(0), 34+n.req.Payment.Weight+4, map[wire.OutPoint]bool{}
	var parents []chainhash.Hash
	for i, c := range s.Inputs {
		if seen[c.OutPoint] || !n.selectable(c) {
			t.Fatalf("input %v is listed twice or not selectable", c)
		}
		if i < len(n.req.Pinned) && c.OutPoint != n.req.Pinned[i] {
			t.Fatalf("input %d is not the pinned one", i)
		}
		seen[c.OutPoint] = true
		sum += c.Amount
		weight += n.inputWeight(c)
		for _, a := range c.Ancestors {
			if a.Pending && !slices.Contains(parents, a.Hash) {
				parents = append(parents, a.Hash)
			}
		}
	}
	for i, hash := range s.Parents {
		for _, a := range n.above[hash[31]] {
			if n.pending[a] && !slices.Contains(s.Parents[:i+1], chainhash.Hash{31: byte(a)}) {
				t.Fatalf("broadcast %v, but %d comes before %d", s.Parents, a, hash[31])
			}
		}
	}
	want := n.sums(s.Inputs)
	if !want.within || len(parents) != len(s.Parents) || len(s.Inputs) < len(n.req.Pinned) {
		t.Fatalf("limits exceeded, wrong parents or a pinned coin is missing: %v", s)
	}
	waste := want.waste
	if s.Change > 0 {
		weight += 4 * int64(8+1+len(n.req.ChangeScript))
		waste += n.costOfChange() - 4000*want.excess
	}
	floor := new(big.Int).Div(big.NewInt(waste), big.NewInt(4000)).Int64() // Euclidean: floor for a positive divisor
	switch made := want.change >= n.minChange(); {
	case sum != n.req.Payment.Amount+s.Fee+s.Change:
		t.Fatalf("%d in, %d paid, %d fee, %d change", sum, n.req.Payment.Amount, s.Fee, s.Change)
	case s.Weight != weight:
		t.Fatalf("weight %d, want %d", s.Weight, weight)
	case made && s.Change != want.change, !made && s.Change != 0:
		t.Fatalf("change %d of %d, the smallest is %d", s.Change, want.change, n.minChange())
	case made && s.Fee != n.fee(weight), s.Fee < n.fee(weight):
		t.Fatalf("fee %d for %d virtual bytes", s.Fee, (weight+3)/4)
	case s.Waste != floor:
		t.Fatalf("waste %d, want %d", s.Waste, floor)
	case len(s.LeftOut) > 0 || s.AncestorFee != 0:
		t.Fatalf("left out %v, for ancestors %d", s.LeftOut, s.AncestorFee)
	}
}

// drawSelection makes a small problem that is often just solvable.
func drawSelection(t *rapid.T) naive {
	n := naive{}
	txs := len(n.above)
	for i := range txs {
		list := map[int]bool{i: true}
		for _, p := range rapid.SliceOfN(rapid.IntRange(0, max(i-1, 0)), 0, 2).Draw(t, "parents") {
			for _, a := range n.above[p] {
				list[a] = true
			}
		}
		for a := range txs {
			if list[a] {
				n.above[i] = append(n.above[i], a)
			}
		}
	}
	n.pending = rapid.SliceOfN(rapid.Bool(), txs, txs).Draw(t, "pending")
	sizes := rapid.SliceOfN(rapid.Int64Range(100, 300), txs, txs).Draw(t, "sizes")
	below := rapid.SliceOfN(rapid.IntRange(1, 4), txs, txs).Draw(t, "descendants")
	rate := rapid.SampledFrom([]coinselect.FeeRate{0, 1, 1000, 7919, 10_000, 50_001}).Draw(t, "rate")
	usually := rapid.IntRange(0, 9)
	entangled := rapid.Bool().Draw(t, "entangled")                             // many shared ancestors
	rough := rapid.SampledFrom([]int64{1, 500, 1000, 10_000}).Draw(t, "rough") // amounts that resemble each other
	for i := range rapid.IntRange(0, 9).Draw(t, "coins") {
		c := coin(uint32(i), rapid.Int64Range(0, 40_000).Draw(t, "amount")/rough*rough+700)
		c.Script = rapid.SampledFrom([][]byte{p2wpkh, p2wpkh, p2tr, p2pkh, p2wsh}).Draw(t, "script")
		c.Confirmations = rapid.Int32Range(1, 7).Draw(t, "confirmations")
		c.Tag = rapid.SampledFrom([]string{"", "", "", "other"}).Draw(t, "tag")
		c.Scanned = usually.Draw(t, "scanned") > 0
		kind := usually.Draw(t, "state")
		if entangled {
			kind = max(1, kind/3)
		}
		switch kind {
		case 0:
			c.State = rapid.SampledFrom(utxo.CoinConfirmed.Values()[2:]).Draw(t, "other state")
			if c.State != utxo.CoinPending {
				break
			}
			fallthrough
		case 1, 2, 3:
			c.State, c.Confirmations = utxo.CoinUnconfirmed, 0
			c.OwnChange, c.Replacing = rapid.Bool().Draw(t, "own"), usually.Draw(t, "replacing") == 0
			tx := rapid.IntRange(0, txs-1).Draw(t, "tx")
			for _, a := range n.above[tx] {
				c.Ancestors = append(c.Ancestors, coinselect.Ancestor{
					Hash: chainhash.Hash{31: byte(a)}, Pending: n.pending[a],
					Size: sizes[a], Descendants: below[a], DescendantsSize: sizes[a] * int64(below[a]),
				})
			}
			if n.pending[tx] {
				c.State = utxo.CoinPending
			}
		}
		n.pool = append(n.pool, c)
	}
	tag := ""
	n.req = pay(294, func(r *coinselect.Request) {
		r.FeeRate = rate
		r.LongTermFeeRate = rapid.SampledFrom([]coinselect.FeeRate{0, 1000, 50_000}).Draw(t, "long term")
		r.ChangeScript = rapid.SampledFrom([][]byte{p2wpkh, p2tr, p2pkh}).Draw(t, "change")
		r.DustLimit = rapid.SampledFrom([]int64{0, 0, 1, 5000}).Draw(t, "dust limit")
		r.Unconfirmed = rapid.SampledFrom([]coinselect.Unconfirmeds{0, coinselect.OwnChange, coinselect.AnyUnconfirmed,
			coinselect.AnyUnconfirmed}).Draw(t, "unconfirmed")
		if r.Unconfirmed == 0 {
			r.MinConfirmations = rapid.Int32Range(0, 4).Draw(t, "min")
		}
		r.PendingParents = rapid.Bool().Draw(t, "pending parents")
		r.AncestorLimit = rapid.SampledFrom([]int{0, 0, 1, 2, 3, 4, 5}).Draw(t, "ancestor limit")
		r.AncestorSize = rapid.SampledFrom([]int64{0, 0, 0, 500, 800}).Draw(t, "ancestor size")
		r.DescendantLimit = rapid.SampledFrom([]int{0, 0, 0, 2, 4}).Draw(t, "descendant limit")
		r.DescendantSize = rapid.SampledFrom([]int64{0, 0, 0, 700, 1000}).Draw(t, "descendant size")
		if entangled {
			r.Unconfirmed, r.MinConfirmations, r.PendingParents = coinselect.AnyUnconfirmed, 0, true
			r.AncestorLimit = rapid.IntRange(3, 5).Draw(t, "tight ancestor limit")
		}
		r.MaxInputs = rapid.SampledFrom([]int{0, 0, 1, 2, 3, 5}).Draw(t, "max inputs")
		r.MaxWeight = rapid.SampledFrom([]int64{0, 0, 0, 700, 1000, 1500, 2000}).Draw(t, "max weight")
		if usually.Draw(t, "one owner") == 0 {
			r.Tag = &tag
		}
	})
	target := int64(0)
	for _, c := range n.pool {
		if n.selectable(c) && usually.Draw(t, "in target") < 5 {
			target += c.Amount - int64(rate)*n.inputWeight(c)/4000
		}
		switch usually.Draw(t, "coin control") {
		case 0:
			n.req.Exclude = append(n.req.Exclude, c.OutPoint)
		case 1:
			if n.selectable(c) {
				n.req.Pinned = append(n.req.Pinned, c.OutPoint)
			}
		}
	}
	n.req.Payment.Amount = max(294, target-int64(rate)*170/4000-rapid.Int64Range(-100, 2000).Draw(t, "slack"))
	return n
}

func TestSelectAgainstEverySubset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawSelection(t)
		want := n.best()
		free := n.req.MaxWeight == 0 && n.req.MaxInputs == 0 && n.req.Unconfirmed == 0 // no packing problem
		for _, a := range everyAlgorithm {
			n.req.Algorithm, n.req.Random = a, rand.NewPCG(1, 2)
			s, err := coinselect.Select(n.pool, n.req)
			var e *coinselect.Error
			if err == nil {
				n.verify(t, s)
			} else if !errors.As(err, &e) {
				t.Fatal(err)
			} else if (e.Err == coinselect.ErrInsufficientFunds) == want.pays && len(n.req.Pinned) == 0 {
				t.Fatalf("%s: %v, but a set pays: %v", a, err, want.pays)
			}
			got := n.sums(s.Inputs)
			switch solvable := want.tier < 4; {
			case err == nil && !solvable:
				t.Fatalf("%s solves what cannot be solved: %v", a, s)
			case a == coinselect.BranchAndBound:
				if (err == nil) != (want.exactTier < 4) {
					t.Fatalf("%v, but the best changeless set is of tier %d", err, want.exactTier)
				}
				if err == nil && (s.Change != 0 || got.tier != want.exactTier || got.waste != want.exactWaste) {
					t.Fatalf("change %d, tier %d, waste %d, want 0, %d, %d", s.Change, got.tier, got.waste, want.exactTier, want.exactWaste)
				}
			case a == coinselect.Auto || free:
				if (err == nil) != solvable || solvable && got.tier != want.tier {
					t.Fatalf("%s: %v and tier %d, want tier %d", a, err, got.tier, want.tier)
				}
			}
		}
	})
}

func TestSelectAutoIsTheLeastWasteful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawSelection(t)
		n.req.Unconfirmed, n.req.MinConfirmations = 0, 0 // one tier
		n.req.Pinned = nil
		n.req.Random = rand.NewPCG(1, 2)
		auto, err := coinselect.Select(n.pool, n.req)
		for _, a := range everyAlgorithm[1:] {
			n.req.Algorithm, n.req.Random = a, rand.NewPCG(1, 2)
			if s, err2 := coinselect.Select(n.pool, n.req); err2 == nil && (err != nil || s.Waste < auto.Waste) {
				t.Fatalf("auto: %v %v; %s: %v", auto, err, a, s)
			}
		}
	})
}

// TestSelectIgnoresDust: coins that cost as much as they bring change the result of no
// algorithm, given the same random numbers.
func TestSelectIgnoresDust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawSelection(t)
		n.req.FeeRate = max(n.req.FeeRate, 1000)
		for _, a := range everyAlgorithm {
			n.req.Algorithm, n.req.Random = a, rand.NewPCG(1, 2)
			clean, err := coinselect.Select(n.pool, n.req)
			pool := slices.Clone(n.pool)
			for i := range rapid.IntRange(1, 20).Draw(t, "dust coins") {
				limit := int64(n.req.FeeRate) * 272 / 4000 // worthless at the most
				c := coin(uint32(100+i), rapid.Int64Range(0, limit).Draw(t, "dust"))
				pool = slices.Insert(pool, rapid.IntRange(0, len(pool)).Draw(t, "at"), c)
			}
			n.req.Random = rand.NewPCG(1, 2)
			dusty, err2 := coinselect.Select(pool, n.req)
			if (err == nil) != (err2 == nil) || !reflect.DeepEqual(clean, dusty) {
				t.Fatalf("%s: %v %v; with dust %v %v", a, clean, err, dusty, err2)
			}
		}
	})
}

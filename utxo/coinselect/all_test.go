package coinselect_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"pgregory.net/rapid"
)

// sweep asks for all coins at 10 satoshi per virtual byte. A transaction without inputs
// weighs 34 + 4 + 4 + 124 units, an input 272.
func sweep(change ...func(*coinselect.Request)) coinselect.Request {
	req := coinselect.Request{All: true, ChangeScript: p2wpkh, FeeRate: 10_000}
	for _, f := range change {
		f(&req)
	}
	return req
}

func TestSelectAllTakesWhatIsWorthItAndNamesTheRest(t *testing.T) {
	pool := []coinselect.Candidate{
		coin(1, 50_000), coin(2, 681), coin(3, 680), coin(4, 90_000, state(utxo.CoinLeased)), coin(5, 70_000, state(utxo.CoinImmature)),
		coin(6, 40_000, unconfirmed(true, 1)), coin(7, 30_000, unconfirmed(false, 2)), coin(8, 9_000, script(p2wsh)),
	}
	s, err := coinselect.Select(pool, sweep(func(r *coinselect.Request) { r.Unconfirmed = coinselect.OwnChange }))
	if err != nil {
		t.Fatal(err)
	}
	// 166 + 3*272 = 982 units, 246 virtual bytes.
	if !slices.Equal(amounts(s), []int64{50_000, 681, 40_000}) || s.Weight != 982 || s.Fee != 2460 || s.Change != 88_221 {
		t.Errorf("inputs %v, weight %d, fee %d, change %d", amounts(s), s.Weight, s.Fee, s.Change)
	}
	want := map[int64]coinselect.Bar{
		680: coinselect.BarUneconomic, 90_000: coinselect.BarLeased, 70_000: coinselect.BarImmature, 30_000: coinselect.BarUnconfirmed,
		9_000: coinselect.BarNoWeight,
	}
	for _, l := range s.LeftOut {
		if want[l.Amount] != l.Bar {
			t.Errorf("%d satoshi are left out: %s", l.Amount, l.Bar)
		}
		delete(want, l.Amount)
	}
	if len(want) > 0 {
		t.Errorf("not named: %v", want)
	}
}

func TestSelectAllWithinLimits(t *testing.T) {
	large := coins(1000, 5000, 3000, 4000, 2000)
	for name, c := range map[string]struct {
		pool  []coinselect.Candidate
		limit func(*coinselect.Request)
		taken []int64
		left  map[int64]coinselect.Bar
	}{
		"count": {large, func(r *coinselect.Request) { r.MaxInputs = 3 }, []int64{5000, 4000, 3000},
			map[int64]coinselect.Bar{2000: coinselect.BarNoRoom, 1000: coinselect.BarNoRoom}},
		"weight": {large, func(r *coinselect.Request) { r.MaxWeight = 166 + 2*272 }, []int64{5000, 4000},
			map[int64]coinselect.Bar{3000: coinselect.BarNoRoom, 2000: coinselect.BarNoRoom, 1000: coinselect.BarNoRoom}},
		"a lighter one still fits": {[]coinselect.Candidate{coin(1, 9000), coin(2, 8000), coin(3, 900, script(p2tr))},
			func(r *coinselect.Request) { r.MaxWeight = 166 + 272 + 271 }, []int64{9000, 900}, map[int64]coinselect.Bar{8000: coinselect.BarNoRoom}},
		"ancestors": {[]coinselect.Candidate{coin(1, 9000, unconfirmed(true, 1, 2)), coin(2, 8000, unconfirmed(true, 3)),
			coin(3, 7000, unconfirmed(true, 2))},
			func(r *coinselect.Request) { r.Unconfirmed, r.AncestorLimit = coinselect.OwnChange, 3 }, []int64{9000, 7000},
			map[int64]coinselect.Bar{8000: coinselect.BarAncestors}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := coinselect.Select(c.pool, sweep(c.limit))
			if err != nil {
				t.Fatal(err)
			}
			got := amounts(s)
			slices.SortFunc(got, func(a, b int64) int { return int(b - a) })
			if !slices.Equal(got, c.taken) {
				t.Errorf("took %v, want %v", got, c.taken)
			}
			for _, l := range s.LeftOut {
				if c.left[l.Amount] != l.Bar {
					t.Errorf("%d left out: %s, want %s", l.Amount, l.Bar, c.left[l.Amount])
				}
			}
			if len(s.LeftOut) != len(c.left) {
				t.Errorf("%d left out, want %d", len(s.LeftOut), len(c.left))
			}
		})
	}
}

// TestSelectAllCountsInputs: the 253rd input costs 680 satoshi as every other does, and 20
// more for the two virtual bytes by which the count of inputs grows.
func TestSelectAllCountsInputs(t *testing.T) {
	for _, c := range []struct {
		last  int64
		taken int
	}{{700, 252}, {701, 253}} {
		var pool []coinselect.Candidate
		for i := range 252 {
			pool = append(pool, coin(uint32(i), 10_000))
		}
		s, err := coinselect.Select(append(pool, coin(252, c.last)), sweep())
		if err != nil || len(s.Inputs) != c.taken || len(s.LeftOut) != 253-c.taken {
			t.Errorf("a 253rd coin of %d: %d inputs, %v, %v", c.last, len(s.Inputs), s.LeftOut, err)
		}
	}
}

// TestSelectCountsWholeVirtualBytes: an input of 57.5 virtual bytes costs 2,875 or 2,900
// satoshi, depending on rounding. A coin is worth spending only above the higher cost.
func TestSelectCountsWholeVirtualBytes(t *testing.T) {
	for amount, left := range map[int64]int{2900: 1, 2901: 0} {
		s, err := coinselect.Select([]coinselect.Candidate{coin(1, 90_000), coin(2, amount, script(p2tr))},
			sweep(func(r *coinselect.Request) { r.FeeRate = 50_000 }))
		if err != nil || len(s.LeftOut) != left {
			t.Errorf("a coin of %d: left out %v, %v", amount, s.LeftOut, err)
		}
	}
	// A fee of exactly that of the weight.
	for payment, want := range map[int64]error{10_000_000 - 5500: nil, 10_000_000 - 5499: coinselect.ErrInsufficientFunds} {
		s, err := coinselect.Select(coins(10_000_000), pay(payment, func(r *coinselect.Request) { r.FeeRate = 50_000 }))
		if !errors.Is(err, want) || err == nil && (s.Weight != 438 || s.Fee != coinselect.FeeRate(50_000).Fee(438) || s.Change != 0) {
			t.Errorf("a payment of %d: %+v, %v", payment, s, err)
		}
	}
	// The first coin pays alone. Together with 252 coins that each bring a satoshi it does
	// not, since the 253rd input costs 2,000 more. MaxWeight is too small for one input and
	// change, so the error must name the weight and not the funds.
	at := func(r *coinselect.Request) { r.FeeRate, r.MaxWeight = 1_000_000, 561 }
	pool := []coinselect.Candidate{coin(0, 10_110_000)}
	for i := range uint32(252) {
		pool = append(pool, coin(i+1, 68_001))
	}
	if _, err := coinselect.Select(pool, pay(10_000_000, at)); !errors.Is(err, coinselect.ErrTooManyInputs) {
		t.Errorf("a coin pays, but is too heavy: %v", err)
	}
	if _, err := coinselect.Select(pool, pay(10_000_253, at)); !errors.Is(err, coinselect.ErrInsufficientFunds) {
		t.Errorf("nothing pays: %v", err)
	}
}

func TestSelectAllAtTheDustLimit(t *testing.T) {
	// One input: 438 units, 1100 satoshi; P2WPKH dust is 294.
	for _, c := range []struct {
		amount, limit int64
		err           error
	}{
		{1393, 0, coinselect.ErrInsufficientFunds}, {1394, 0, nil}, {2099, 1000, coinselect.ErrInsufficientFunds}, {2100, 1000, nil},
		{1101, 1, coinselect.ErrInsufficientFunds}, {1393, 293, coinselect.ErrInsufficientFunds}, {1394, 293, nil}, // the payee's output is dust
	} {
		s, err := coinselect.Select(coins(c.amount), sweep(func(r *coinselect.Request) { r.DustLimit = c.limit }))
		if !errors.Is(err, c.err) || err == nil && s.Change != max(c.limit, 294) {
			t.Errorf("%d: %v, %d left", c.amount, err, s.Change)
		}
	}
	_, err := coinselect.Select(coins(3000, 3000), sweep(func(r *coinselect.Request) { r.MaxInputs, r.DustLimit = 1, 4000 }))
	if !errors.Is(err, coinselect.ErrTooManyInputs) {
		t.Errorf("two coins would do, one may be taken: %v", err)
	}
}

// Where a limit keeps an existing sum from being sent, the error names the limit: the
// ancestors, if the sum could be sent without their limit, else the number of inputs.
func TestSelectAllSaysWhichLimitIsInTheWay(t *testing.T) {
	pool := []coinselect.Candidate{coin(1, 3000, unconfirmed(true, 1)), coin(2, 3000, unconfirmed(true, 2))}
	for _, c := range []struct {
		name   string
		inputs int
		err    error
	}{{"ancestors alone", 0, coinselect.ErrTooManyAncestors}, {"both", 1, coinselect.ErrTooManyInputs}} {
		_, err := coinselect.Select(pool, sweep(func(r *coinselect.Request) {
			r.Unconfirmed, r.AncestorLimit, r.MaxInputs, r.DustLimit = coinselect.OwnChange, 2, c.inputs, 4000
		}))
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSelectAllPaysBeside(t *testing.T) {
	p, _ := coinselect.Pay(wire.NewTxOut(30_000, p2tr))
	s, err := coinselect.Select(coins(50_000, 40_000), sweep(func(r *coinselect.Request) { r.Payment, r.ChangeScript = p, p2wsh }))
	if err != nil || s.Change != 60_000-s.Fee || s.Weight != 34+4+4+2*272+4*43+4*43 || s.Fee != 10*((s.Weight+3)/4) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSelectAllRefusals(t *testing.T) {
	pool := coins(50_000)
	for name, req := range map[string]coinselect.Request{
		"an algorithm":           sweep(with(coinselect.LargestFirst)),
		"random numbers":         sweep(func(r *coinselect.Request) { r.Random = rand.NewPCG(1, 2) }),
		"no script":              sweep(func(r *coinselect.Request) { r.ChangeScript = nil }),
		"a script of a megabyte": sweep(func(r *coinselect.Request) { r.ChangeScript = make([]byte, 1<<20) }),
		"nothing asked":          {ChangeScript: p2wpkh, FeeRate: 1000},
		"changeless": {ChangeScript: p2wpkh, FeeRate: 1000, Pinned: []wire.OutPoint{outPoint(1)},
			Algorithm: coinselect.BranchAndBound},
	} {
		if _, err := coinselect.Select(pool, req); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := coinselect.Select(append(pool, pool...), sweep()); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a coin listed twice: %v", err)
	}
}

// TestSelectAllAgainstEverySubset: without limits no set of coins sends more than the
// selection; within limits the request is refused only if no set pays, and no coin that is
// left out could be added.
func TestSelectAllAgainstEverySubset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawSelection(t)
		n.req.All, n.req.Pinned = true, nil
		if rapid.Bool().Draw(t, "to nobody else") {
			n.req.Payment = coinselect.Payment{Weight: 4}
		}
		out := 4 * int64(8+1+len(n.req.ChangeScript))
		sends := func(set []coinselect.Candidate) int64 {
			sum, weight := -n.req.Payment.Amount, 34+4+n.req.Payment.Weight+out
			for _, c := range set {
				sum, weight = sum+c.Amount, weight+n.inputWeight(c)
			}
			return sum - n.fee(weight)
		}
		within := func(set []coinselect.Candidate) bool {
			return n.sums(set).within
		}
		var usable []coinselect.Candidate
		for _, c := range n.pool {
			if n.selectable(c) {
				usable = append(usable, c)
			}
		}
		most, dust := int64(0), map[int]int64{22: 294, 34: 330, 25: 546}[len(n.req.ChangeScript)]
		if n.req.DustLimit > 0 {
			dust = max(dust, n.req.DustLimit)
		}
		for mask := range 1 << len(usable) {
			var set []coinselect.Candidate
			for i, c := range usable {
				if mask>>i&1 == 1 {
					set = append(set, c)
				}
			}
			if within(set) {
				most = max(most, sends(set))
			}
		}
		s, err := coinselect.Select(n.pool, n.req)
		if err != nil {
			var e *coinselect.Error
			if !errors.As(err, &e) || most >= dust || (e.Err == coinselect.ErrInsufficientFunds) != (sends(usable) < dust) {
				t.Fatalf("%v, but %d could be sent, %d without limits", err, most, sends(usable))
			}
			return
		}
		if s.Change != sends(s.Inputs) || s.Change > most || s.Change < dust || !within(s.Inputs) {
			t.Fatalf("sends %d of %d, dust is %d", s.Change, most, dust)
		}
		named := map[wire.OutPoint]bool{}
		for _, l := range s.LeftOut {
			named[l.OutPoint] = true
			if l.Bar != coinselect.BarNoRoom && l.Bar != coinselect.BarAncestors && l.Bar != coinselect.BarDescendants {
				continue
			}
			for _, c := range usable {
				if c.OutPoint == l.OutPoint && within(append(slices.Clone(s.Inputs), c)) {
					t.Fatalf("%v is left out (%s), but fits", c.OutPoint, l.Bar)
				}
			}
		}
		if len(named)+len(s.Inputs) != len(n.pool) {
			t.Fatalf("%d of %d coins are accounted for", len(named)+len(s.Inputs), len(n.pool))
		}
		for i := range s.Inputs {
			if sends(slices.Delete(slices.Clone(s.Inputs), i, i+1)) >= s.Change {
				t.Fatalf("input %d loses money", i)
			}
		}
	})
}

// TestSelectAllPacks: between 760 and 1,030 weight units remain beside the output. They
// hold one P2PKH coin or two P2WPKH coins, and only the two bring 1,000 and the fee.
func TestSelectAllPacks(t *testing.T) {
	pool := []coinselect.Candidate{coin(1, 900, script(p2pkh)), coin(2, 700), coin(3, 700)}
	for _, c := range []struct {
		weight, dust int64
		taken        []int64
		err          error
	}{
		{709, 1000, nil, coinselect.ErrTooManyInputs},
		{710, 1000, []int64{700, 700}, nil},
		{758, 1000, []int64{700, 700}, nil},
		{759, 1000, []int64{700, 700}, nil},
		{760, 1000, []int64{700, 700}, nil},
		{1030, 1000, []int64{700, 700}, nil},
		{1031, 1000, []int64{900, 700}, nil},
		{1303, 1000, []int64{900, 700, 700}, nil},
		{1030, 1222, []int64{700, 700}, nil},
		{1030, 1223, nil, coinselect.ErrTooManyInputs},
		{1030, 0, []int64{900}, nil},
	} {
		s, err := coinselect.Select(pool, sweep(func(r *coinselect.Request) { r.FeeRate, r.MaxWeight, r.DustLimit = 1000, c.weight, c.dust }))
		if !errors.Is(err, c.err) || !slices.Equal(amounts(s), c.taken) || err == nil && len(s.LeftOut)+len(s.Inputs) != len(pool) {
			t.Errorf("%d units, %d wanted: %v, left out %v, %v", c.weight, c.dust, amounts(s), s.LeftOut, err)
		}
	}
}

// TestSelectPaysForAncestorsOnce: at 10 satoshi per virtual byte an ancestor of 400 weight
// units owes 1000 satoshi.
func TestSelectPaysForAncestorsOnce(t *testing.T) {
	below := func(fee int64, hashes ...byte) func(*coinselect.Candidate) {
		return func(c *coinselect.Candidate) {
			c.State, c.Confirmations, c.OwnChange = utxo.CoinUnconfirmed, 0, true
			for _, h := range hashes {
				c.Ancestors = append(c.Ancestors, coinselect.Ancestor{Hash: chainhash.Hash{31: h}, Fee: fee, Weight: 400})
			}
		}
	}
	for _, c := range []struct {
		name string
		pool []coinselect.Candidate
		want int64
	}{
		{"below the rate", []coinselect.Candidate{coin(1, 200_000, below(300, 1))}, 700},
		{"one satoshi below", []coinselect.Candidate{coin(1, 200_000, below(999, 1))}, 1},
		{"at the rate", []coinselect.Candidate{coin(1, 200_000, below(1000, 1))}, 0},
		{"above the rate, which helps nobody", []coinselect.Candidate{coin(1, 200_000, below(5000, 1), below(400, 2))}, 600},
		{"two of one coin", []coinselect.Candidate{coin(1, 200_000, below(300, 1, 2))}, 1400},
		{"shared by two coins", []coinselect.Candidate{coin(1, 90_000, below(300, 1, 2)), coin(2, 90_000, below(300, 1, 3))}, 2100},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := pay(100_000, func(r *coinselect.Request) { r.Unconfirmed, r.PayAncestors = coinselect.OwnChange, true })
			s, err := coinselect.Select(c.pool, req)
			if err != nil || s.AncestorFee != c.want || s.Fee != 10*((s.Weight+3)/4)+c.want {
				t.Errorf("%d for ancestors, fee %d of weight %d, %v; want %d", s.AncestorFee, s.Fee, s.Weight, err, c.want)
			}
			req.PayAncestors = false
			if s, err := coinselect.Select(c.pool, req); err != nil || s.AncestorFee != 0 || s.Fee != 10*((s.Weight+3)/4) {
				t.Errorf("who does not ask pays nothing: %d, %v", s.AncestorFee, err)
			}
		})
	}
	unknown := []coinselect.Candidate{coin(1, 200_000, unconfirmed(true, 1))}
	req := pay(100_000, func(r *coinselect.Request) { r.Unconfirmed, r.PayAncestors = coinselect.OwnChange, true })
	if _, err := coinselect.Select(unknown, req); !errors.Is(err, coinselect.ErrUnknownFee) {
		t.Errorf("an unknown fee: %v", err)
	}
	req.Pinned = []wire.OutPoint{outPoint(1)}
	var pinned *coinselect.PinnedError
	if _, err := coinselect.Select(unknown, req); !errors.As(err, &pinned) || pinned.Err != coinselect.ErrUnknownFee {
		t.Errorf("an unknown fee of a pinned coin: %v", err)
	}
	// What a pinned coin pays for is paid for.
	req = pay(60_000, func(r *coinselect.Request) {
		r.Unconfirmed, r.PayAncestors, r.Pinned = coinselect.OwnChange, true, []wire.OutPoint{outPoint(1)}
	})
	if s, err := coinselect.Select([]coinselect.Candidate{coin(1, 61_420, below(0, 1)), coin(2, 1361, below(0, 1))}, req); err != nil ||
		len(s.Inputs) != 2 || s.AncestorFee != 1000 {
		t.Errorf("%+v, %v", s, err)
	}
	// A coin of 1,680 brings nothing after its input and what its ancestor lacks.
	for amount, bar := range map[int64]coinselect.Bar{1680: coinselect.BarUneconomic, 1681: 0} {
		s, err := coinselect.Select([]coinselect.Candidate{coin(1, 90_000), coin(2, amount, below(0, 1))},
			sweep(func(r *coinselect.Request) { r.Unconfirmed, r.PayAncestors = coinselect.OwnChange, true }))
		if err != nil || (len(s.LeftOut) == 1) != (bar != 0) || bar != 0 && s.LeftOut[0].Bar != bar {
			t.Errorf("a coin of %d: %v, %v", amount, s.LeftOut, err)
		}
	}
}

// TestSelectAncestorsAgainstEverySubset: with coins that share ancestors below the rate,
// Select reports insufficient funds only if no set of coins that are worth spending pays.
func TestSelectAncestorsAgainstEverySubset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawSelection(t)
		n.req.Unconfirmed, n.req.PendingParents, n.req.MinConfirmations, n.req.PayAncestors = coinselect.AnyUnconfirmed, true, 0, true
		n.req.Pinned, n.req.MaxInputs, n.req.MaxWeight, n.req.AncestorLimit = nil, 0, 0, 0
		n.req.AncestorSize, n.req.DescendantSize = 0, 0
		fees, weights := map[byte]int64{}, map[byte]int64{}
		for i := range byte(6) {
			fees[i], weights[i] = rapid.Int64Range(0, 6000).Draw(t, "fee"), rapid.SampledFrom([]int64{0, 401, 438, 800, 1203}).Draw(t, "weight")
		}
		lacks := map[byte]int64{}
		for i, w := range weights {
			lacks[i] = max(0, n.fee(w)-fees[i])
		}
		var usable []coinselect.Candidate
		for i := range n.pool {
			c, own, known := &n.pool[i], int64(0), true
			for j, a := range c.Ancestors {
				h := a.Hash[31]
				c.Ancestors[j].Fee, c.Ancestors[j].Weight = fees[h], weights[h]
				own, known = own+lacks[h], known && weights[h] > 0
			}
			if n.selectable(*c) && known && c.Amount > n.fee(n.inputWeight(*c))+own {
				usable = append(usable, *c)
			}
		}
		owed := func(set []coinselect.Candidate) (sum int64) {
			seen := map[byte]bool{}
			for _, c := range set {
				for _, a := range c.Ancestors {
					if !seen[a.Hash[31]] {
						seen[a.Hash[31]] = true
						sum += lacks[a.Hash[31]]
					}
				}
			}
			return sum
		}
		solvable := false
		for mask := range 1 << len(usable) {
			var set []coinselect.Candidate
			for i, c := range usable {
				if mask>>i&1 == 1 {
					set = append(set, c)
				}
			}
			solvable = solvable || n.sums(set).excess >= owed(set)
		}
		for _, a := range everyAlgorithm {
			n.req.Algorithm, n.req.Random = a, rand.NewPCG(1, 2)
			s, err := coinselect.Select(n.pool, n.req)
			if err != nil {
				if solvable && (a != coinselect.BranchAndBound || errors.Is(err, coinselect.ErrInsufficientFunds)) {
					t.Fatalf("%s: %v, but a set pays", a, err)
				}
				continue
			}
			sums := n.sums(s.Inputs)
			made := sums.change-owed(s.Inputs) >= n.minChange()
			switch {
			case s.AncestorFee != owed(s.Inputs):
				t.Fatalf("%s pays %d for ancestors, they lack %d", a, s.AncestorFee, owed(s.Inputs))
			case made && s.Change != sums.change-owed(s.Inputs), !made && s.Change != 0, made && a == coinselect.BranchAndBound:
				t.Fatalf("%s: change %d, want %d", a, s.Change, sums.change-owed(s.Inputs))
			case s.Change == 0 && s.Fee != n.fee(s.Weight)+owed(s.Inputs)+sums.excess-owed(s.Inputs):
				t.Fatalf("%s: fee %d", a, s.Fee)
			}
			for _, c := range s.Inputs {
				if !slices.ContainsFunc(usable, func(u coinselect.Candidate) bool { return u.OutPoint == c.OutPoint }) {
					t.Fatalf("%s: %v is not worth spending", a, c.OutPoint)
				}
			}
		}
	})
}

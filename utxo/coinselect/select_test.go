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
)

// Scripts of the kinds that tell their input weight, and one that does not.
var (
	p2wpkh = append([]byte{0, 20}, make([]byte, 20)...)
	p2tr   = append([]byte{0x51, 32}, make([]byte, 32)...)
	p2pkh  = append(append([]byte{0x76, 0xa9, 20}, make([]byte, 20)...), 0x88, 0xac)
	p2wsh  = append([]byte{0, 32}, make([]byte, 32)...)
)

func outPoint(n uint32) wire.OutPoint {
	return wire.OutPoint{Hash: chainhash.Hash{byte(n), byte(n >> 8), byte(n >> 16)}, Index: n % 3}
}

// coin is a confirmed candidate; change says what else it is.
func coin(n uint32, amount int64, change ...func(*coinselect.Candidate)) coinselect.Candidate {
	c := coinselect.Candidate{
		Coin:  utxo.Coin{Wallet: 1, OutPoint: outPoint(n), Amount: amount, Script: p2wpkh, Status: utxo.Published},
		State: utxo.CoinConfirmed, Confirmations: 6, Scanned: true,
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func coins(amounts ...int64) (out []coinselect.Candidate) {
	for i, a := range amounts {
		out = append(out, coin(uint32(i+1), a))
	}
	return out
}

func state(s utxo.OutputState) func(*coinselect.Candidate) {
	return func(c *coinselect.Candidate) { c.State = s }
}

func script(s []byte) func(*coinselect.Candidate) {
	return func(c *coinselect.Candidate) { c.Script = s }
}

// unconfirmed descends from these transactions; a negative one is not broadcast.
func unconfirmed(own bool, ancestors ...int) func(*coinselect.Candidate) {
	return func(c *coinselect.Candidate) {
		c.State, c.Confirmations, c.OwnChange = utxo.CoinUnconfirmed, 0, own
		for _, a := range ancestors {
			c.Ancestors = append(c.Ancestors, coinselect.Ancestor{Hash: chainhash.Hash{31: byte(max(a, -a))}, Pending: a < 0})
			if a < 0 {
				c.State = utxo.CoinPending
			}
		}
	}
}

// pay asks for an amount to one P2WPKH output at 10 satoshi per virtual byte, which is the
// long-term rate too. An input costs 680 satoshi, a transaction without inputs 422.5: (32 +
// 2 + 4 + 4 + 124 + 3) / 4 * 10.
func pay(amount int64, change ...func(*coinselect.Request)) coinselect.Request {
	p, err := coinselect.Pay(wire.NewTxOut(amount, p2wpkh))
	if err != nil {
		panic(err)
	}
	req := coinselect.Request{Payment: p, ChangeScript: p2wpkh, FeeRate: 10_000}
	for _, f := range change {
		f(&req)
	}
	return req
}

func with(a coinselect.Algorithm) func(*coinselect.Request) {
	return func(r *coinselect.Request) { r.Algorithm, r.Random = a, rand.NewPCG(1, 2) }
}

func amounts(s coinselect.Selection) (out []int64) {
	for _, c := range s.Inputs {
		out = append(out, c.Amount)
	}
	return out
}

func TestSelectFeeAndChange(t *testing.T) {
	// With one input (438 weight units, 110 virtual bytes) a payment of 100,000 takes
	// 101,100 satoshi. A change output costs 310, and has to get more than 680 to be worth
	// it.
	for _, c := range []struct {
		name              string
		amount            int64
		fee, change, kept int64 // kept: waste
		err               error
	}{
		{"one satoshi short", 101_099, 0, 0, 0, coinselect.ErrInsufficientFunds},
		{"just enough", 101_100, 1100, 0, 0, nil},
		{"excess goes to the fee", 101_200, 1200, 0, 100, nil},
		{"largest excess without change", 102_090, 2090, 0, 990, nil},
		{"smallest change", 102_091, 1410, 681, 990, nil},
		{"change", 200_000, 1410, 98_590, 990, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := coinselect.Select(coins(c.amount), pay(100_000))
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if err == nil && (s.Fee != c.fee || s.Change != c.change || s.Waste != c.kept) {
				t.Errorf("fee %d, change %d, waste %d, want %d, %d, %d", s.Fee, s.Change, s.Waste, c.fee, c.change, c.kept)
			}
		})
	}
}

func TestSelectDustLimit(t *testing.T) {
	cheap := func(r *coinselect.Request) { r.LongTermFeeRate = 1 } // so that dust alone limits change
	for _, c := range []struct {
		name   string
		script []byte
		limit  int64
		want   int64 // smallest change
	}{
		{"P2WPKH", p2wpkh, 0, 294},
		{"P2TR", p2tr, 0, 330},
		{"P2PKH", p2pkh, 0, 546},
		{"the host's", p2wpkh, 1000, 1000},
		{"the host's, below what spending it costs", p2wpkh, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := pay(100_000, cheap, func(r *coinselect.Request) {
				r.ChangeScript, r.DustLimit, r.FeeRate = c.script, c.limit, 4000 // a satoshi for a weight unit
				r.Algorithm = coinselect.LargestFirst
			})
			least := int64(0)
			for amount := int64(100_000); amount < 103_000; amount++ {
				if s, err := coinselect.Select(coins(amount), req); err == nil && s.Change > 0 && least == 0 {
					least = s.Change
				}
			}
			if least != c.want {
				t.Errorf("smallest change %d, want %d", least, c.want)
			}
		})
	}
}

func TestSelectAlgorithms(t *testing.T) {
	pool := []coinselect.Candidate{
		coin(1, 50_000), coin(2, 101_150, func(c *coinselect.Candidate) { c.Confirmations = 3 }),
		coin(3, 900_000, func(c *coinselect.Candidate) { c.Confirmations = 2 }),
		coin(4, 60_000, func(c *coinselect.Candidate) { c.Confirmations = 9 }),
	}
	for _, c := range []struct {
		algorithm coinselect.Algorithm
		found     coinselect.Algorithm
		want      []int64
	}{
		{coinselect.LargestFirst, coinselect.LargestFirst, []int64{900_000}},
		{coinselect.OldestFirst, coinselect.OldestFirst, []int64{50_000, 60_000}},
		{coinselect.BranchAndBound, coinselect.BranchAndBound, []int64{101_150}},
		{coinselect.Auto, coinselect.BranchAndBound, []int64{101_150}},
		{0, coinselect.BranchAndBound, []int64{101_150}},
	} {
		t.Run(c.algorithm.String(), func(t *testing.T) {
			s, err := coinselect.Select(pool, pay(100_000, with(c.algorithm)))
			if err != nil || !slices.Equal(amounts(s), c.want) || s.Algorithm != c.found {
				t.Errorf("%s took %v, %v; want %s to take %v", s.Algorithm, amounts(s), err, c.found, c.want)
			}
		})
	}
	t.Run("single random draw", func(t *testing.T) {
		firsts := map[wire.OutPoint]bool{}
		for seed := range uint64(50) {
			s, err := coinselect.Select(pool, pay(1000, func(r *coinselect.Request) {
				r.Algorithm, r.Random = coinselect.SingleRandomDraw, rand.NewPCG(seed, 0)
			}))
			if err != nil || len(s.Inputs) != 1 {
				t.Fatal(s, err)
			}
			firsts[s.Inputs[0].OutPoint] = true
		}
		if len(firsts) != len(pool) {
			t.Errorf("drew %d of %d coins", len(firsts), len(pool))
		}
	})
	t.Run("least waste without change", func(t *testing.T) {
		s, err := coinselect.Select(coins(101_500, 101_150, 101_700), pay(100_000, with(coinselect.BranchAndBound)))
		if err != nil || !slices.Equal(amounts(s), []int64{101_150}) {
			t.Error(amounts(s), err)
		}
	})
	t.Run("no changeless set", func(t *testing.T) {
		_, err := coinselect.Select(coins(150_000), pay(100_000, with(coinselect.BranchAndBound)))
		if !errors.Is(err, coinselect.ErrNoChangeless) || errors.Is(err, coinselect.ErrInsufficientFunds) {
			t.Error(err)
		}
	})
	t.Run("high rates save inputs, low rates use them up", func(t *testing.T) {
		pool := coins(20_000, 20_000, 20_000, 20_000, 20_000, 20_000, 200_000)
		high, err1 := coinselect.Select(pool, pay(100_000, func(r *coinselect.Request) { r.FeeRate = 50_000 }))
		low, err2 := coinselect.Select(pool, pay(100_000, func(r *coinselect.Request) { r.FeeRate, r.Random = 1000, rand.NewPCG(3, 3) }, with(0)))
		if err1 != nil || err2 != nil || len(high.Inputs) != 1 || len(low.Inputs) <= 1 {
			t.Errorf("%v %v at a high rate, %v %v at a low one", amounts(high), err1, amounts(low), err2)
		}
	})
}

func TestSelectBars(t *testing.T) {
	tag := "alice"
	for _, c := range []struct {
		name  string
		coin  coinselect.Candidate
		bar   coinselect.Bar
		err   error
		allow func(*coinselect.Request) // lifts the bar, if anything does
	}{
		{"dead", coin(1, 200_000, state(utxo.CoinDead)), coinselect.BarDead, utxo.ErrDeadParent, nil},
		{"dead with its coinbase", coin(1, 200_000, state(utxo.CoinRecoverable)), coinselect.BarDead, utxo.ErrDeadParent, nil},
		{"spent", coin(1, 200_000, state(utxo.CoinSpent)), coinselect.BarSpent, utxo.ErrInputSpent, nil},
		{"leased", coin(1, 200_000, state(utxo.CoinLeased)), coinselect.BarLeased, statemachine.ErrHeld, nil},
		{"immature", coin(1, 200_000, state(utxo.CoinImmature)), coinselect.BarImmature, utxo.ErrImmature, nil},
		{"replacing", coin(1, 200_000, unconfirmed(true, -1), func(c *coinselect.Candidate) { c.Replacing = true }), coinselect.BarReplacing,
			coinselect.ErrReplacing, nil},
		{"unscanned", coin(1, 200_000, func(c *coinselect.Candidate) { c.Scanned = false }), coinselect.BarUnscanned,
			coinselect.ErrUnscanned, nil},
		{"not broadcast", coin(1, 200_000, unconfirmed(true, -1)), coinselect.BarNotBroadcast, coinselect.ErrNotBroadcast,
			func(r *coinselect.Request) { r.PendingParents, r.Unconfirmed = true, coinselect.OwnChange }},
		{"not broadcast and foreign", coin(1, 200_000, unconfirmed(false, -1)), coinselect.BarNotBroadcast, coinselect.ErrNotBroadcast,
			func(r *coinselect.Request) { r.PendingParents, r.Unconfirmed = true, coinselect.AnyUnconfirmed }},
		{"own unconfirmed change", coin(1, 200_000, unconfirmed(true, 1)), coinselect.BarUnconfirmed, coinselect.ErrUnconfirmed,
			func(r *coinselect.Request) { r.Unconfirmed = coinselect.OwnChange }},
		{"foreign unconfirmed", coin(1, 200_000, unconfirmed(false, 1)), coinselect.BarUnconfirmed, coinselect.ErrUnconfirmed,
			func(r *coinselect.Request) { r.Unconfirmed = coinselect.AnyUnconfirmed }},
		{"unknown weight", coin(1, 200_000, script(p2wsh)), coinselect.BarNoWeight, coinselect.ErrNoWeight,
			func(r *coinselect.Request) { r.InputWeight = func([]byte) (int64, bool) { return 500, true } }},
		{"uneconomic", coin(1, 680), coinselect.BarUneconomic, coinselect.ErrUneconomic, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := []coinselect.Candidate{c.coin, coin(2, 500)}
			_, err := coinselect.Select(pool, pay(100_000))
			var e *coinselect.Error
			if !errors.As(err, &e) || e.Err != coinselect.ErrInsufficientFunds || e.Barred[c.bar] == 0 {
				t.Fatalf("got %v", err)
			}
			if alone := c.bar > coinselect.BarUneconomic; errors.Is(err, c.err) != alone {
				t.Errorf("%v matches %q: %v", err, c.err, !alone)
			}
			pin := func(r *coinselect.Request) { r.Pinned = []wire.OutPoint{c.coin.OutPoint} }
			var p *coinselect.PinnedError
			if _, err = coinselect.Select(append(pool, coin(3, 900_000)), pay(100_000, pin)); !errors.As(err, &p) || p.OutPoint != c.coin.OutPoint ||
				!errors.Is(err, c.err) {
				t.Errorf("pinned: got %v, want %v", err, c.err)
			}
			if c.allow != nil {
				if s, err := coinselect.Select(pool, pay(100_000, c.allow)); err != nil || len(s.Inputs) != 1 {
					t.Errorf("allowed: %v, %v", s, err)
				}
			}
		})
	}
	for name, c := range map[string]struct {
		bar    coinselect.Bar
		change func(*coinselect.Request)
	}{
		"excluded":    {coinselect.BarExcluded, func(r *coinselect.Request) { r.Exclude = []wire.OutPoint{outPoint(1)} }},
		"other owner": {coinselect.BarOtherOwner, func(r *coinselect.Request) { r.Tag = &tag }},
		"young":       {coinselect.BarUnconfirmed, func(r *coinselect.Request) { r.MinConfirmations = 7 }},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := coinselect.Select(coins(200_000), pay(100_000, c.change))
			var e *coinselect.Error
			if !errors.As(err, &e) || e.Barred[c.bar] == 0 {
				t.Error(err)
			}
		})
	}
	if _, err := coinselect.Select(coins(200_000), pay(100_000, func(r *coinselect.Request) { r.MinConfirmations = 6 })); err != nil {
		t.Errorf("confirmations at the minimum: %v", err)
	}
}

func TestSelectError(t *testing.T) {
	pool := []coinselect.Candidate{coin(1, 60_680), coin(2, 40_103, state(utxo.CoinImmature)),
		coin(3, 45_680, state(utxo.CoinLeased)), coin(4, 100)}
	_, err := coinselect.Select(pool, pay(99_003)) // needs 99,423: 420 beside the inputs
	if !errors.Is(err, utxo.ErrImmature) || !errors.Is(err, statemachine.ErrHeld) || errors.Is(err, coinselect.ErrUnscanned) ||
		errors.Is(err, coinselect.ErrTooManyInputs) {
		t.Error("each of two bars alone is in the way:", err)
	}
	if _, err = coinselect.Select(pool, pay(99_004)); errors.Is(err, utxo.ErrImmature) || !errors.Is(err, statemachine.ErrHeld) {
		t.Error("only leased coins would do:", err)
	}
	const want = "coin selection: insufficient funds: 99424 satoshi needed, 60000 selectable, 100 uneconomic, 45000 leased, 39423 immature"
	if err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

package coinselect_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

var everyAlgorithm = coinselect.Auto.Values()

func TestSelectTiers(t *testing.T) {
	pool := []coinselect.Candidate{
		coin(1, 900_000, unconfirmed(false, 1)), coin(2, 400_000, unconfirmed(true, -2)),
		coin(3, 300_000, unconfirmed(true, 3)), coin(4, 200_000),
	}
	allow := func(r *coinselect.Request) { r.Unconfirmed, r.PendingParents = coinselect.AnyUnconfirmed, true }
	for _, c := range []struct {
		name   string
		amount int64
		worst  uint32 // the last coin that it takes to get there
	}{
		{"confirmed coins suffice", 150_000, 4},
		{"own change before what is not broadcast", 450_000, 3},
		{"not broadcast before foreign", 850_000, 2},
		{"foreign at last", 1_700_000, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := coinselect.Select(pool, pay(c.amount, allow, with(coinselect.OldestFirst)))
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range s.Inputs {
				if slices.IndexFunc(pool, func(p coinselect.Candidate) bool { return p.OutPoint == in.OutPoint }) < int(c.worst)-1 {
					t.Errorf("took %v", amounts(s))
				}
			}
		})
	}
}

func TestSelectParentsAreOrdered(t *testing.T) {
	pool := []coinselect.Candidate{
		coin(1, 60_000, unconfirmed(true, 1, -2, -3)), coin(2, 60_000, unconfirmed(true, -2, -4, -5)), coin(3, 60_000, unconfirmed(true, -2)),
	}
	s, err := coinselect.Select(pool,
		pay(170_000, func(r *coinselect.Request) { r.Unconfirmed, r.PendingParents = coinselect.OwnChange, true }))
	want := []chainhash.Hash{{31: 2}, {31: 3}, {31: 4}, {31: 5}}
	if err != nil || !slices.Equal(s.Parents, want) {
		t.Errorf("broadcast %v first, %v", s.Parents, err)
	}
}

func TestSelectInputLimit(t *testing.T) {
	pool := coins(10_000, 20_000, 30_000, 40_000, 50_000)
	for _, a := range everyAlgorithm {
		if a == coinselect.BranchAndBound {
			continue
		}
		t.Run(a.String(), func(t *testing.T) {
			limit := func(n int) func(*coinselect.Request) {
				return func(r *coinselect.Request) { r.MaxInputs = n }
			}
			// The three largest bring 120,000 - 3 * 680 - 423.
			if s, err := coinselect.Select(pool, pay(117_500, with(a), limit(3))); err != nil ||
				!slices.Equal(amounts(s), []int64{30_000, 40_000, 50_000}) {
				t.Errorf("at the limit: %v, %v", amounts(s), err)
			}
			_, err := coinselect.Select(pool, pay(117_600, with(a), limit(3)))
			if !errors.Is(err, coinselect.ErrTooManyInputs) || errors.Is(err, coinselect.ErrInsufficientFunds) {
				t.Errorf("above the limit: %v", err)
			}
			// 32 + 2 + 4 + 4 + 124 + 3 * 272 and 124 for change.
			weight := func(w int64) func(*coinselect.Request) {
				return func(r *coinselect.Request) { r.MaxWeight = w }
			}
			if _, err := coinselect.Select(pool, pay(117_500, with(a), weight(1106))); err != nil {
				t.Errorf("at the weight limit: %v", err)
			}
			if _, err := coinselect.Select(pool, pay(117_500, with(a), weight(1105))); !errors.Is(err, coinselect.ErrTooManyInputs) {
				t.Errorf("above the weight limit: %v", err)
			}
		})
	}
}

func TestSelectPacksUnderTheWeightLimit(t *testing.T) {
	// The largest coin is so heavy that only the two others fit together.
	pool := []coinselect.Candidate{coin(1, 80_000, script(p2pkh)), coin(2, 60_000), coin(3, 60_000)}
	req := pay(110_000, func(r *coinselect.Request) { r.MaxWeight = 290 + 2*272 })
	s, err := coinselect.Select(pool, req)
	if err != nil || !slices.Equal(amounts(s), []int64{60_000, 60_000}) {
		t.Errorf("%v, %v", amounts(s), err)
	}
}

func TestSelectAncestorLimit(t *testing.T) {
	chain := func(from, n int) (a []int) {
		for i := range n {
			a = append(a, from+i)
		}
		return a
	}
	allow := func(limit int) func(*coinselect.Request) {
		return func(r *coinselect.Request) { r.Unconfirmed, r.AncestorLimit = coinselect.OwnChange, limit }
	}
	for _, c := range []struct {
		name  string
		limit int
		pool  []coinselect.Candidate
		err   error
	}{
		{"24 ancestors", 0, []coinselect.Candidate{coin(1, 200_000, unconfirmed(true, chain(1, 24)...))}, nil},
		{"25 ancestors", 0, []coinselect.Candidate{coin(1, 200_000, unconfirmed(true, chain(1, 25)...))}, coinselect.ErrTooManyAncestors},
		{"63 ancestors, the most", 64, []coinselect.Candidate{coin(1, 200_000, unconfirmed(true, chain(1, 63)...))}, nil},
		{"64 ancestors, perhaps cut", 64, []coinselect.Candidate{coin(1, 200_000, unconfirmed(true, chain(1, 64)...))},
			coinselect.ErrTooManyAncestors},
		{"24 together", 0,
			[]coinselect.Candidate{coin(1, 60_000, unconfirmed(true, chain(1, 12)...)), coin(2, 60_000, unconfirmed(true, chain(13, 12)...))}, nil},
		{"25 together", 0, []coinselect.Candidate{coin(1, 60_000, unconfirmed(true, chain(1, 12)...)),
			coin(2, 60_000, unconfirmed(true, chain(13, 13)...))}, coinselect.ErrTooManyAncestors},
		{"shared ones count once", 0,
			[]coinselect.Candidate{coin(1, 60_000, unconfirmed(true, chain(1, 20)...)), coin(2, 60_000, unconfirmed(true, chain(5, 20)...))}, nil},
		{"another pair fits", 0, []coinselect.Candidate{
			coin(1, 80_000, unconfirmed(true, chain(1, 24)...)),
			coin(2, 60_000, unconfirmed(true, 31)), coin(3, 60_000, unconfirmed(true, 32)),
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := coinselect.Select(c.pool, pay(100_000, allow(c.limit))); !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
		})
	}
}

func TestSelectSkipsWhatIsTooDeepTogether(t *testing.T) {
	pool := []coinselect.Candidate{
		coin(1, 90_000, unconfirmed(true, 1, 2)), coin(2, 80_000, unconfirmed(true, 1, 3, 4)),
		coin(3, 70_000, unconfirmed(true, 5, 6)), coin(4, 60_000, unconfirmed(true, 2)),
	}
	for _, a := range []coinselect.Algorithm{coinselect.LargestFirst, coinselect.Auto} {
		s, err := coinselect.Select(pool, pay(140_000, with(a), func(r *coinselect.Request) {
			r.Unconfirmed, r.AncestorLimit = coinselect.OwnChange, 4
		}))
		if err != nil || !slices.Equal(amounts(s), []int64{90_000, 60_000}) {
			t.Errorf("%s: %v, %v", a, amounts(s), err)
		}
	}
}

func TestSelectPinned(t *testing.T) {
	pool := coins(30_000, 200_000, 40_000)
	pin := func(n ...uint32) func(*coinselect.Request) {
		return func(r *coinselect.Request) {
			for _, n := range n {
				r.Pinned = append(r.Pinned, outPoint(n))
			}
		}
	}
	for _, a := range everyAlgorithm {
		if a == coinselect.BranchAndBound {
			continue
		}
		s, err := coinselect.Select(pool, pay(60_000, with(a), pin(3, 1)))
		if err != nil || !slices.Equal(amounts(s), []int64{40_000, 30_000}) {
			t.Errorf("%s: pinned coins suffice, in the order asked: %v, %v", a, amounts(s), err)
		}
		s, err = coinselect.Select(pool, pay(100_000, with(a), pin(3)))
		if err != nil || s.Inputs[0].Amount != 40_000 {
			t.Errorf("%s: pinned coin comes first: %v, %v", a, amounts(s), err)
		}
	}
	_, err := coinselect.Select(pool, pay(60_000, pin(9)))
	if want := "coin selection: pinned input " + outPoint(9).String() +
		": not found"; !errors.Is(err, statemachine.ErrNotFound) || err.Error() != want {
		t.Errorf("no candidate: %v, want %s", err, want)
	}
	_, err = coinselect.Select(pool, pay(60_000, pin(1, 2), func(r *coinselect.Request) { r.MaxInputs = 1 }))
	if !errors.Is(err, coinselect.ErrTooManyInputs) {
		t.Errorf("too many pinned: %v", err)
	}
	_, err = coinselect.Select(pool, pay(60_000, pin(1), func(r *coinselect.Request) { r.Exclude = r.Pinned }))
	if !errors.Is(err, coinselect.ErrExcluded) {
		t.Errorf("pinned and excluded: %v", err)
	}
}

func TestSelectRefusesBadInput(t *testing.T) {
	set := func(f func(*coinselect.Request)) coinselect.Request { return pay(1000, f) }
	ok := coins(100_000)
	for name, c := range map[string]struct {
		pool []coinselect.Candidate
		req  coinselect.Request
	}{
		"nothing to pay":              {ok, set(func(r *coinselect.Request) { r.Payment.Amount = 0 })},
		"negative payment":            {ok, set(func(r *coinselect.Request) { r.Payment.Amount = -1 })},
		"more than all money":         {ok, set(func(r *coinselect.Request) { r.Payment.Amount = 21e14 + 1 })},
		"payment without weight":      {ok, set(func(r *coinselect.Request) { r.Payment.Weight = 0 })},
		"payment of endless weight":   {ok, set(func(r *coinselect.Request) { r.Payment.Weight = math.MaxInt64 })},
		"negative rate":               {ok, set(func(r *coinselect.Request) { r.FeeRate = -1 })},
		"rate above the bound":        {ok, set(func(r *coinselect.Request) { r.FeeRate = coinselect.MaxFeeRate + 1 })},
		"negative long-term rate":     {ok, set(func(r *coinselect.Request) { r.LongTermFeeRate = -1 })},
		"endless long-term rate":      {ok, set(func(r *coinselect.Request) { r.LongTermFeeRate = math.MaxInt64 })},
		"negative inputs":             {ok, set(func(r *coinselect.Request) { r.MaxInputs = -1 })},
		"negative weight":             {ok, set(func(r *coinselect.Request) { r.MaxWeight = -1 })},
		"weight above a block":        {ok, set(func(r *coinselect.Request) { r.MaxWeight = 4_000_001 })},
		"negative ancestors":          {ok, set(func(r *coinselect.Request) { r.AncestorLimit = -1 })},
		"ancestors above the bound":   {ok, set(func(r *coinselect.Request) { r.AncestorLimit = coinselect.MaxAncestorLimit + 1 })},
		"negative dust limit":         {ok, set(func(r *coinselect.Request) { r.DustLimit = -1 })},
		"dust limit above the bound":  {ok, set(func(r *coinselect.Request) { r.DustLimit = coinselect.MaxDustLimit + 1 })},
		"negative confirmations":      {ok, set(func(r *coinselect.Request) { r.MinConfirmations = -1 })},
		"confirmed and unconfirmed":   {ok, set(func(r *coinselect.Request) { r.MinConfirmations, r.Unconfirmed = 1, coinselect.OwnChange })},
		"unknown unconfirmed rule":    {ok, set(func(r *coinselect.Request) { r.Unconfirmed = 9 })},
		"unknown algorithm":           {ok, set(func(r *coinselect.Request) { r.Algorithm = 9 })},
		"draw without random numbers": {ok, set(func(r *coinselect.Request) { r.Algorithm = coinselect.SingleRandomDraw })},
		"no change script":            {ok, set(func(r *coinselect.Request) { r.ChangeScript = nil })},
		"change of unknown weight":    {ok, set(func(r *coinselect.Request) { r.ChangeScript = p2wsh })},
		"input lighter than possible": {ok, set(func(r *coinselect.Request) { r.InputWeight = func([]byte) (int64, bool) { return 163, true } })},
		"input heavier than a block": {ok,
			set(func(r *coinselect.Request) { r.InputWeight = func([]byte) (int64, bool) { return math.MaxInt64, true } })},
		"pinned twice":               {ok, set(func(r *coinselect.Request) { r.Pinned = []wire.OutPoint{outPoint(1), outPoint(1)} })},
		"too many candidates":        {make([]coinselect.Candidate, coinselect.MaxCandidates+1), pay(1000)},
		"negative coin":              {coins(-1), pay(1000)},
		"coins above all money":      {coins(21e14, 1), pay(1000)},
		"coin without a state":       {[]coinselect.Candidate{coin(1, 5000, state(0))}, pay(1000)},
		"unconfirmed without itself": {[]coinselect.Candidate{coin(1, 5000, unconfirmed(true))}, pay(1000)},
		"pending without itself":     {[]coinselect.Candidate{coin(1, 5000, unconfirmed(true, 1), state(utxo.CoinPending))}, pay(1000)},
		"listed twice":               {[]coinselect.Candidate{coin(1, 5000), coin(1, 5000)}, pay(6000)},
		"pinned and listed twice": {[]coinselect.Candidate{coin(1, 5000), coin(1, 5000)},
			set(func(r *coinselect.Request) { r.Pinned = []wire.OutPoint{outPoint(1)} })},
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := coinselect.Select(c.pool, c.req); !errors.Is(err, statemachine.ErrInvalid) || !reflect.ValueOf(s).IsZero() {
				t.Errorf("got %v, %v", s, err)
			}
		})
	}
	for name, outs := range map[string][]*wire.TxOut{
		"nil":      {nil},
		"negative": {wire.NewTxOut(-1, p2tr)},
		"too much": {wire.NewTxOut(21e14, p2tr), wire.NewTxOut(1, p2tr)},
		"too big":  {wire.NewTxOut(1, make([]byte, 1_000_000))},
	} {
		if _, err := coinselect.Pay(outs...); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("pay %s: %v", name, err)
		}
	}
}

// TestSelectAllMoney is at the bounds of the arithmetic.
func TestSelectAllMoney(t *testing.T) {
	for _, rate := range []coinselect.FeeRate{0, 1, coinselect.MaxFeeRate} {
		for _, a := range everyAlgorithm {
			req := pay(21e14, with(a), func(r *coinselect.Request) { r.FeeRate, r.LongTermFeeRate = rate, coinselect.MaxFeeRate })
			_, err := coinselect.Select(coins(21e14), req)
			if ok := err == nil; ok != (rate == 0) || !ok && !errors.Is(err, coinselect.ErrInsufficientFunds) {
				t.Errorf("%s at %d: %v", a, rate, err)
			}
		}
	}
}

// TestSelectWeight compares the weight of a selection with that of a transaction that is
// signed with the largest signatures.
func TestSelectWeight(t *testing.T) {
	for _, c := range []struct {
		name    string
		scripts [][]byte
		inputs  int
	}{
		{"P2WPKH", [][]byte{p2wpkh}, 3}, {"P2TR", [][]byte{p2tr}, 3}, {"P2PKH", [][]byte{p2pkh}, 3}, {"mixed", [][]byte{p2wpkh, p2tr, p2pkh}, 9},
		{"252 inputs", [][]byte{p2wpkh}, 252}, {"253 inputs", [][]byte{p2wpkh}, 253},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := pay(50_000)
			var pool []coinselect.Candidate
			for i := range c.inputs {
				pool = append(pool, coin(uint32(i), 90_000, script(c.scripts[i%len(c.scripts)])))
				req.Pinned = append(req.Pinned, outPoint(uint32(i)))
			}
			s, err := coinselect.Select(pool, req)
			if err != nil || len(s.Inputs) != c.inputs || s.Change == 0 {
				t.Fatalf("%d inputs, change %d, %v", len(s.Inputs), s.Change, err)
			}
			tx, legacy := wire.NewMsgTx(2), 0
			for _, in := range s.Inputs {
				txIn := wire.NewTxIn(&in.OutPoint, nil, nil)
				switch len(in.Script) {
				case len(p2wpkh):
					txIn.Witness = wire.TxWitness{make([]byte, 72), make([]byte, 33)}
				case len(p2tr):
					txIn.Witness = wire.TxWitness{make([]byte, 64)}
				default:
					legacy++
					txIn.SignatureScript = make([]byte, 1+72+1+33)
				}
				tx.AddTxIn(txIn)
			}
			tx.AddTxOut(wire.NewTxOut(1, p2wpkh))
			tx.AddTxOut(wire.NewTxOut(s.Change, p2wpkh))
			weight := int64(3*tx.SerializeSizeStripped() + tx.SerializeSize())
			if legacy == c.inputs {
				weight += 2 + int64(legacy) // the witness that an all-legacy transaction saves
			}
			if s.Weight != weight || s.Fee != req.FeeRate.Fee(weight) {
				t.Errorf("weight %d, fee %d, want %d, %d", s.Weight, s.Fee, weight, req.FeeRate.Fee(weight))
			}
		})
	}
}

func TestSelectIgnoresTheOrderOfCandidates(t *testing.T) {
	pool := coins(20_000, 20_000, 20_000, 50_000, 50_000, 70_000, 70_000)
	for _, a := range everyAlgorithm {
		first, err := coinselect.Select(pool, pay(68_500, with(a)))
		for range 20 {
			mixed := slices.Clone(pool)
			rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			again, err2 := coinselect.Select(mixed, pay(68_500, with(a)))
			if !reflect.DeepEqual(first, again) || (err == nil) != (err2 == nil) {
				t.Fatalf("%s: %v, then %v", a, amounts(first), amounts(again))
			}
		}
	}
}

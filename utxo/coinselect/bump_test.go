package coinselect_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"pgregory.net/rapid"
)

func (b *till) bump(parent *wire.MsgTx, rate coinselect.FeeRate) (coinselect.Selection, error) {
	b.Helper()
	candidates, err := coinselect.Candidates(b.policy, b.Ledger, coinselect.Query{Wallet: 1, At: noon, Fees: true})
	if err != nil {
		b.Fatal(err)
	}
	return coinselect.Bump(candidates, parent.TxHash(), atRate(rate))
}

// child is the transaction of a bump.
func (b *till) child(s coinselect.Selection) *wire.MsgTx {
	var in []wire.OutPoint
	for _, c := range s.Inputs {
		in = append(in, c.OutPoint)
	}
	return b.tx(in, pays(1, s.Change))
}

// A child of one input and one output has 110 virtual bytes and costs 1100 satoshi at 10
// satoshi per virtual byte; a parent of one input and two outputs has 141 and costs 1410.
func TestBumpPaysWhatTheAncestorsLack(t *testing.T) {
	for _, c := range []struct {
		name  string
		fees  []int64 // of a chain, the parent last
		lacks int64
		err   error
	}{
		{"a parent that paid nothing", []int64{0}, 1410, nil},
		{"one satoshi short of the rate", []int64{1409}, 1, nil},
		{"a parent at the rate", []int64{1410}, 0, coinselect.ErrNoShortfall},
		{"a grandparent as well", []int64{410, 1000}, 1410, nil},
		{"a rich grandparent helps nobody", []int64{9000, 1000}, 410, nil},
		{"a rich parent helps nobody", []int64{1000, 9000}, 410, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTill(t)
			last, value := b.fund(100_000)[0], int64(100_000)
			var parent *wire.MsgTx
			for _, fee := range c.fees {
				value -= 5000 + fee
				parent = b.observe(b.tx([]wire.OutPoint{last}, pays(1, value), pays(9, 5000)))
				last = wire.OutPoint{Hash: parent.TxHash()}
			}
			s, err := b.bump(parent, 10_000)
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if err == nil && (s.AncestorFee != c.lacks || s.Fee != 1100+c.lacks || s.Change != value-s.Fee || len(s.Inputs) != 1) {
				t.Errorf("%d for ancestors, fee %d, %d of %d left", s.AncestorFee, s.Fee, s.Change, value)
			}
		})
	}
}

func TestBumpAddsCoinsOnlyIfItMust(t *testing.T) {
	// The coin's own input, the output, what the parent lacks, and dust.
	for coin, added := range map[int64]int{1410 + 1100 + 294: 0, 1410 + 1100 + 293: 1} {
		b := newTill(t)
		from := b.fund(5000+coin, 8000, 9000)
		b.observe(b.tx(nil, pays(1, 70_000))) // unconfirmed coins are not added
		parent := b.observe(b.tx(from[:1], pays(9, 5000), pays(1, coin)))
		s, err := b.bump(parent, 10_000)
		if err != nil || len(s.Inputs) != 1+added || added > 0 && s.Inputs[1].Amount != 9000 {
			t.Errorf("a coin of %d: %v, %v", coin, s.Inputs, err)
		}
	}
}

func TestBumpSpendsTheCheapestCoin(t *testing.T) {
	of := func(script []byte) func(*coinselect.Candidate) {
		return func(c *coinselect.Candidate) {
			c.Script, c.State, c.Confirmations, c.OutPoint.Hash = script, utxo.CoinUnconfirmed, 0, chainhash.Hash{31: 1}
			c.Ancestors = []coinselect.Ancestor{{Hash: chainhash.Hash{31: 1}, Weight: 400}}
		}
	}
	pool := []coinselect.Candidate{coin(1, 50_000, of(p2pkh)), coin(2, 50_000, of(p2tr)), coin(3, 50_000, of(p2wpkh))}
	req := atRate(20_000)
	if s, err := coinselect.Bump(pool, chainhash.Hash{31: 1}, req); err != nil || string(s.Inputs[0].Script) != string(p2tr) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestBumpRefusals(t *testing.T) {
	b := newTill(t)
	from := b.fund(100_000, 90_000)
	if _, err := b.bump(b.tx(nil, pays(1, 1)), 10_000); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	foreign := b.observe(b.tx(nil, pays(1, 50_000)))
	if _, err := b.bump(foreign, 10_000); !errors.Is(err, coinselect.ErrUnknownFee) {
		t.Errorf("a parent of unknown fee: %v", err)
	}
	invented := b.observe(b.tx(b.fund(1000), pays(1, 50_000)))
	if _, err := b.bump(invented, 10_000); !errors.Is(err, coinselect.ErrUnknownFee) {
		t.Errorf("a parent that pays more than it has: %v", err)
	}
	parent := b.observe(b.tx(from[:1], pays(1, 99_000), pays(9, 900)))
	b.do(utxo.OutputsLeased{Wallet: 1, OutPoints: []wire.OutPoint{{Hash: parent.TxHash()}}, Lock: utxo.LockID{1}, Duration: 1e9})
	if _, err := b.bump(parent, 10_000); !errors.Is(err, statemachine.ErrHeld) {
		t.Errorf("its coin is leased: %v", err)
	}
	all := b.observe(b.tx(from[1:], pays(9, 89_000)))
	if _, err := b.bump(all, 10_000); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("no coin of ours: %v", err)
	}
	b.connect(parent)
	if _, err := b.bump(parent, 10_000); !errors.Is(err, statemachine.ErrIllegal) {
		t.Errorf("confirmed: %v", err)
	}
	for name, change := range map[string]func(*coinselect.Request){
		"a payment":         func(r *coinselect.Request) { r.Payment.Amount = 1 },
		"all":               func(r *coinselect.Request) { r.All = true },
		"pinned coins":      func(r *coinselect.Request) { r.Pinned = from },
		"unconfirmed coins": func(r *coinselect.Request) { r.Unconfirmed = coinselect.OwnChange },
	} {
		req := atRate(1000)
		change(&req)
		if _, err := coinselect.Bump(nil, parent.TxHash(), req); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBumpAgainstThePackage: in a random graph of own transactions, some of them pending,
// the child pays its own rate and, once, what each ancestor lacks of the rate. So the
// package without the ancestors above the rate has the rate. Pending ancestors are
// broadcast parents first.
func TestBumpAgainstThePackage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newTill(t)
		free := b.fund(40_000, 50_000, 60_000)
		pending := map[chainhash.Hash]bool{}
		var chain []*wire.MsgTx
		for range rapid.IntRange(1, 6).Draw(rt, "transactions") {
			n := rapid.IntRange(1, min(2, len(free))).Draw(rt, "inputs")
			var in []wire.OutPoint
			sum := int64(0)
			for range n {
				at := rapid.IntRange(0, len(free)-1).Draw(rt, "input")
				in, sum = append(in, free[at]), sum+b.worth[free[at]]
				free = slices.Delete(free, at, at+1)
			}
			sum -= rapid.Int64Range(0, 3000).Draw(rt, "fee")
			if sum < 2000 {
				break
			}
			tx := b.tx(in, pays(1, sum/3), pays(1, sum-sum/3))
			if rapid.Bool().Draw(rt, "pending") {
				b.do(utxo.Submitted{Wallet: 1, Tx: tx})
				pending[tx.TxHash()] = true
				b.pool = append(b.pool, tx)
			} else {
				b.observe(tx)
				for hash := range b.ancestors(tx) {
					delete(pending, hash) // a child proves its parents
				}
			}
			chain = append(chain, tx)
			free = append(free, wire.OutPoint{Hash: tx.TxHash()}, wire.OutPoint{Hash: tx.TxHash(), Index: 1})
		}
		if len(chain) == 0 {
			return
		}
		parent := rapid.SampledFrom(chain).Draw(rt, "parent")
		rate := coinselect.FeeRate(rapid.Int64Range(500, 30_000).Draw(rt, "rate"))
		s, err := b.bump(parent, rate)
		if err != nil {
			spent := !slices.ContainsFunc(free, func(op wire.OutPoint) bool { return op.Hash == parent.TxHash() })
			lacks := b.lacks(b.ancestors(parent), rate)
			if spent != errors.Is(err, statemachine.ErrNotFound) || errors.Is(err, coinselect.ErrNoShortfall) != (!spent && lacks == 0) {
				rt.Fatalf("%v; coins spent %v, ancestors lack %d", err, spent, lacks)
			}
			return
		}
		child := b.child(s)
		above := b.ancestors(child)
		if s.AncestorFee != b.lacks(above, rate) || s.Fee != b.fee(child) || s.Fee != rate.Fee(s.Weight)+s.AncestorFee {
			rt.Fatalf("%d for ancestors that lack %d, fee %d, said %d", s.AncestorFee, b.lacks(above, rate), b.fee(child), s.Fee)
		}
		fees, size := b.fee(child), vsize(child)
		for _, tx := range above {
			if b.fee(tx)*1000 < int64(rate)*vsize(tx) {
				fees, size = fees+b.fee(tx), size+vsize(tx)
			}
		}
		if fees*1000 < int64(rate)*size {
			rt.Fatalf("the package pays %d for %d virtual bytes", fees, size)
		}
		sent := map[chainhash.Hash]bool{}
		for _, hash := range s.Parents {
			for above := range b.ancestors(above[hash]) {
				if pending[above] && above != hash && !sent[above] {
					rt.Fatalf("%s is broadcast before its ancestor %s", hash, above)
				}
			}
			sent[hash] = true
		}
		for hash := range above {
			if pending[hash] != sent[hash] {
				rt.Fatalf("%s is pending: %v, to be broadcast: %v", hash, pending[hash], sent[hash])
			}
		}
	})
}

// ancestors are the unconfirmed ones of tx, and tx itself if it is known.
func (b *till) ancestors(tx *wire.MsgTx) map[chainhash.Hash]*wire.MsgTx {
	found := map[chainhash.Hash]*wire.MsgTx{}
	var walk func(*wire.MsgTx)
	walk = func(tx *wire.MsgTx) {
		for _, p := range b.pool {
			if p.TxHash() == tx.TxHash() {
				found[p.TxHash()] = p
			} else if found[p.TxHash()] == nil &&
				slices.ContainsFunc(tx.TxIn, func(in *wire.TxIn) bool { return in.PreviousOutPoint.Hash == p.TxHash() }) {
				walk(p)
			}
		}
	}
	walk(tx)
	return found
}

func (b *till) lacks(txs map[chainhash.Hash]*wire.MsgTx, rate coinselect.FeeRate) (sum int64) {
	for _, tx := range txs {
		sum += max(0, (int64(rate)*vsize(tx)+999)/1000-b.fee(tx))
	}
	return sum
}

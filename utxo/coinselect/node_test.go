package coinselect_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

// The first figures are those of Bitcoin Core's GetDustThreshold at 3000 satoshi per 1000
// virtual bytes; the others follow from the sizes of output and input at another rate.
func TestSelectRefusesDust(t *testing.T) {
	p2sh := append(append([]byte{0xa9, 20}, make([]byte, 20)...), 0x87)
	anchor := []byte{0x51, 2, 0x4e, 0x73}
	data := append([]byte{0x6a, 20}, make([]byte, 20)...)
	for _, c := range []struct {
		name   string
		script []byte
		relay  coinselect.FeeRate
		least  int64
	}{
		{"P2WPKH", p2wpkh, 0, 294},
		{"P2WSH", p2wsh, 0, 330},
		{"P2TR", p2tr, 0, 330},
		{"P2PKH", p2pkh, 0, 546},
		{"P2SH", p2sh, 0, 540},
		{"pay to anchor", anchor, 0, 240},
		{"a witness program one byte too long", append([]byte{0x51, 41}, make([]byte, 41)...), 0, 3 * (8 + 1 + 43 + 148)},
		{"P2WPKH at another rate", p2wpkh, 1001, 99},
		{"P2WPKH, where nodes relay anything", p2wpkh, 1, 1},
		{"data", data, 0, 0},
		{"more than a script may have", make([]byte, 10_001), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			relay := max(c.relay, 0)
			if relay == 0 {
				relay = coinselect.DefaultDustRelay
			}
			if got := coinselect.DustThreshold(c.script, relay); got != c.least {
				t.Fatalf("dust below %d, want %d", got, c.least)
			}
			for amount := max(c.least-1, 0); amount <= c.least+1; amount++ {
				p, err := coinselect.Pay(wire.NewTxOut(5000, p2tr), wire.NewTxOut(amount, c.script), wire.NewTxOut(6000, p2tr))
				if err != nil {
					t.Fatal(err)
				}
				for _, all := range []bool{false, true} {
					_, err = coinselect.Select(coins(100_000, 900_000), coinselect.Request{
						Payment: p, ChangeScript: p2wpkh, FeeRate: 1000, DustRelay: c.relay, All: all,
					})
					var dust *coinselect.DustError
					if amount >= c.least {
						if err != nil {
							t.Errorf("%d satoshi: %v", amount, err)
						}
					} else if !errors.As(err, &dust) || *dust != (coinselect.DustError{Output: 1, Amount: amount, Least: c.least}) ||
						!errors.Is(err, coinselect.ErrDust) || !errors.Is(err, statemachine.ErrInvalid) {
						t.Errorf("%d satoshi: %v", amount, err)
					}
				}
			}
		})
	}
	for _, relay := range []coinselect.FeeRate{-1, coinselect.MaxFeeRate + 1} {
		_, err := coinselect.Select(coins(100_000), pay(1000, func(r *coinselect.Request) { r.DustRelay = relay }))
		if !errors.Is(err, statemachine.ErrInvalid) || errors.Is(err, coinselect.ErrDust) {
			t.Errorf("a dust relay fee of %d: %v", relay, err)
		}
	}
	// An amount that the host has set is none that Pay has looked at.
	if _, err := coinselect.Select(coins(100_000), pay(293, func(r *coinselect.Request) { r.Payment.Amount = 50_000 })); err != nil {
		t.Error(err)
	}
	// Change obeys the same rate.
	for _, c := range []struct{ amount, change int64 }{{1000 + 1410 + 979, 0}, {1000 + 1410 + 980, 980}} {
		s, err := coinselect.Select(coins(c.amount), pay(1000, func(r *coinselect.Request) { r.DustRelay = 10_000 }))
		if err != nil || s.Change != c.change {
			t.Errorf("a coin of %d: change %d, %v, want %d", c.amount, s.Change, err, c.change)
		}
	}
}

// A payee of an original is named by its place there, change counted.
func TestReplaceRefusesDust(t *testing.T) {
	b := newTill(t)
	original := b.observe(b.tx(b.fund(100_000), pays(1, 49_000), pays(9, 293), pays(9, 50_000)))
	req := coinselect.ReplaceRequest{Change: index(0), Coins: atRate(20_000)}
	_, err := b.replace(original, req)
	var dust *coinselect.DustError
	if !errors.As(err, &dust) || dust.Output != 1 || dust.Least != 294 {
		t.Errorf("got %v", err)
	}
	req.Coins.DustRelay = 2900
	if _, err := b.replace(original, req); err != nil {
		t.Errorf("a node that relays it: %v", err)
	}
}

// below is an ancestor of a coin with its size, and what hangs on it.
func below(size int64, descendants int, descendantsSize int64) func(*coinselect.Candidate) {
	return func(c *coinselect.Candidate) {
		unconfirmed(true, int(c.OutPoint.Hash[0]))(c)
		a := &c.Ancestors[0]
		a.Size, a.Descendants, a.DescendantsSize = size, descendants, descendantsSize
	}
}

// A payment with one input has 290 + 272 units, 141 virtual bytes with change.
func TestSelectChainLimits(t *testing.T) {
	const own = 141
	for _, c := range []struct {
		name string
		pool []coinselect.Candidate
		err  error
	}{
		{"the 24th child", []coinselect.Candidate{coin(1, 200_000, below(200, 24, 5000))}, nil},
		{"the 25th child", []coinselect.Candidate{coin(1, 200_000, below(200, 25, 5000))}, coinselect.ErrTooManyDescendants},
		{"the 26th child", []coinselect.Candidate{coin(1, 200_000, below(200, 26, 5000))}, coinselect.ErrTooManyDescendants},
		{"the last byte of descendants", []coinselect.Candidate{coin(1, 200_000, below(200, 2, 101_000-own))}, nil},
		{"a byte more of descendants", []coinselect.Candidate{coin(1, 200_000, below(200, 2, 101_001-own))}, coinselect.ErrTooManyDescendants},
		{"the last byte of ancestors", []coinselect.Candidate{coin(1, 200_000, below(101_000-own, 1, 200))}, nil},
		{"a byte more of ancestors", []coinselect.Candidate{coin(1, 200_000, below(101_001-own, 1, 200))}, coinselect.ErrTooManyAncestors},
		{"another coin", []coinselect.Candidate{coin(1, 200_000, below(200, 25, 5000)), coin(2, 150_000, below(200, 24, 5000))}, nil},
		// Two inputs have 209 virtual bytes.
		{"the last byte of two", []coinselect.Candidate{coin(1, 60_000, below(60_000, 1, 200)), coin(2, 60_000, below(40_791, 1, 200))}, nil},
		{"a byte more of two", []coinselect.Candidate{
			coin(1, 60_000, below(60_000, 1, 200)), coin(2, 60_000, below(40_792, 1, 200)),
		}, coinselect.ErrTooManyAncestors},
		{"a pair that fits, behind one that does not", []coinselect.Candidate{
			coin(1, 80_000, below(60_000, 1, 200)), coin(2, 70_000, below(45_000, 1, 200)), coin(3, 60_000, below(40_000, 1, 200)),
		}, nil},
		{"a byte more than the descendants of two leave", []coinselect.Candidate{
			coin(1, 60_000, below(200, 2, 101_000-208)), coin(2, 60_000, below(200, 2, 400)),
		}, coinselect.ErrTooManyDescendants},
	} {
		t.Run(c.name, func(t *testing.T) {
			allow := func(r *coinselect.Request) { r.Unconfirmed = coinselect.OwnChange }
			if _, err := coinselect.Select(c.pool, pay(100_000, allow)); !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			if c.err == nil {
				return
			}
			pinned := pay(100_000, allow)
			for _, in := range c.pool {
				pinned.Pinned = append(pinned.Pinned, in.OutPoint)
			}
			if _, err := coinselect.Select(c.pool, pinned); !errors.Is(err, c.err) {
				t.Errorf("pinned: got %v, want %v", err, c.err)
			}
		})
	}
	for name, f := range map[string]func(*coinselect.Request){
		"descendants below":   func(r *coinselect.Request) { r.DescendantLimit = -1 },
		"descendants above":   func(r *coinselect.Request) { r.DescendantLimit = coinselect.MaxAncestorLimit + 1 },
		"ancestor size":       func(r *coinselect.Request) { r.AncestorSize = -1 },
		"endless ancestors":   func(r *coinselect.Request) { r.AncestorSize = 1 << 62 },
		"descendant size":     func(r *coinselect.Request) { r.DescendantSize = -1 },
		"endless descendants": func(r *coinselect.Request) { r.DescendantSize = 1 << 62 },
	} {
		if _, err := coinselect.Select(coins(200_000), pay(100_000, f)); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []coinselect.Candidate{
		coin(1, 200_000, below(-1, 1, 1)), coin(1, 200_000, below(1, -1, 1)), coin(1, 200_000, below(1, 1, 1<<62)),
	} {
		if _, err := coinselect.Select([]coinselect.Candidate{bad}, pay(100_000)); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%+v: %v", bad.Ancestors, err)
		}
	}
}

// Send-all passes over a coin whose chain is full, and says so.
func TestSelectAllPassesOverFullChains(t *testing.T) {
	pool := []coinselect.Candidate{coin(1, 200_000, below(200, 25, 5000)), coin(2, 50_000), coin(3, 100_000, below(200, 1, 101_000-111))}
	s, err := coinselect.Select(pool, sweep(func(r *coinselect.Request) { r.Unconfirmed = coinselect.OwnChange }))
	if err != nil || len(s.Inputs) != 1 || s.Inputs[0].Amount != 50_000 || len(s.LeftOut) != 2 ||
		s.LeftOut[0].Bar != coinselect.BarDescendants || s.LeftOut[1].Bar != coinselect.BarDescendants {
		t.Errorf("took %v, left out %v, %v", amounts(s), s.LeftOut, err)
	}
}

// Forty coins of one unconfirmed transaction are offered, and a node accepts 24 children
// beside the transaction. Pending children count, and children in another wallet too.
func TestChildrenThatANodeTakes(t *testing.T) {
	b := newTill(t)
	var outs []*wire.TxOut
	for range 38 {
		outs = append(outs, pays(1, 50_000))
	}
	outs = append(outs, pays(2, 50_000))
	parent := b.observe(b.tx(b.fund(3_000_000), outs...))
	b.observe(b.tx([]wire.OutPoint{{Hash: parent.TxHash(), Index: 38}}, pays(2, 49_000)))
	req := pay(20_000, func(r *coinselect.Request) { r.ChangeScript, r.Unconfirmed = pkh(1), coinselect.OwnChange })
	spend := func() (coinselect.Selection, error) {
		candidates, err := coinselect.Candidates(b.policy, b.Ledger, coinselect.Query{Wallet: 1, At: noon})
		if err != nil {
			t.Fatal(err)
		}
		return coinselect.Select(candidates, req)
	}
	var children []*wire.MsgTx
	for n := 1; n < 24; n++ {
		s, err := spend()
		if err != nil || len(s.Inputs) != 1 || s.Inputs[0].OutPoint.Hash != parent.TxHash() {
			t.Fatalf("child %d: %v, %v", n+1, s, err)
		}
		tx := b.tx([]wire.OutPoint{s.Inputs[0].OutPoint}, pays(9, 20_000))
		b.do(utxo.Submitted{Wallet: 1, Tx: tx})
		if children = append(children, tx); n%2 == 0 {
			b.do(utxo.Broadcasted{ID: utxo.TxID{Wallet: 1, Hash: tx.TxHash()}})
		}
	}
	_, err := spend()
	var e *coinselect.Error
	if !errors.Is(err, coinselect.ErrTooManyDescendants) || !errors.As(err, &e) ||
		e.Err != coinselect.ErrInsufficientFunds || e.Barred[coinselect.BarDescendants] == 0 {
		t.Fatalf("the 25th child: %v", err)
	}
	if _, err := b.bump(parent, 50_000); !errors.Is(err, coinselect.ErrTooManyDescendants) {
		t.Errorf("a 25th child that pays for its parent: %v", err)
	}
	b.do(utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: children[3].TxHash()}})
	if _, err := spend(); err != nil {
		t.Errorf("with one child less: %v", err)
	}
	b.do(utxo.Submitted{Wallet: 1, Tx: b.tx([]wire.OutPoint{{Hash: parent.TxHash(), Index: 37}}, pays(9, 20_000))})
	if _, err := spend(); err == nil {
		t.Error("full again")
	}
	b.connect(parent)
	if _, err := spend(); err != nil {
		t.Errorf("with the parent in a block: %v", err)
	}
}

// A lease stands for a child that is on its way: 24 payments are chosen of one unconfirmed transaction before any of
// them is submitted, and no 25th. A lock has one child, however many coins it has leased; the caller's own counts not, and
// none counts once its lease has ended. A lease of another wallet counts, and what is submitted counts once.
func TestALeaseCountsAsAChild(t *testing.T) {
	b := newTill(t)
	outs := []*wire.TxOut{pays(2, 50_000)}
	for range 39 {
		outs = append(outs, pays(1, 50_000))
	}
	parent := b.observe(b.tx(b.fund(3_000_000), outs...))
	lease := func(w utxo.WalletID, lock byte, d time.Duration, index ...uint32) {
		ev := utxo.OutputsLeased{Wallet: w, Lock: utxo.LockID{lock}, Duration: d, By: utxo.By{At: noon}}
		for _, i := range index {
			ev.OutPoints = append(ev.OutPoints, wire.OutPoint{Hash: parent.TxHash(), Index: i})
		}
		b.do(ev)
	}
	req := pay(20_000, func(r *coinselect.Request) { r.ChangeScript, r.Unconfirmed = pkh(1), coinselect.OwnChange })
	spend := func(lock byte, at time.Time) (coinselect.Selection, error) {
		candidates, err := coinselect.Candidates(b.policy, b.Ledger, coinselect.Query{Wallet: 1, At: at, Lock: utxo.LockID{lock}})
		if err != nil {
			t.Fatal(err)
		}
		return coinselect.Select(candidates, req)
	}
	lease(2, 1, time.Hour, 0)
	for n := byte(2); n <= 24; n++ {
		s, err := spend(n, noon)
		if err != nil {
			t.Fatalf("child %d: %v", n, err)
		}
		lease(1, n, time.Hour, s.Inputs[0].OutPoint.Index)
	}
	if _, err := spend(25, noon); !errors.Is(err, coinselect.ErrTooManyDescendants) {
		t.Errorf("the 25th child: %v", err)
	}
	if _, err := spend(24, noon); err != nil {
		t.Errorf("the 24th child once more: %v", err)
	}
	if _, err := spend(25, noon.Add(time.Hour)); err != nil {
		t.Errorf("after the leases: %v", err)
	}
	var free []uint32 // by no lock
	for i := range uint32(40) {
		held, err := b.Leases(1, wire.OutPoint{Hash: parent.TxHash(), Index: i})
		if err == nil && len(held) == 0 && i > 0 {
			free = append(free, i)
		}
	}
	lease(1, 24, time.Hour, free[:3]...)
	b.do(utxo.LeasesReleased{Wallet: 2, Lock: utxo.LockID{1}, OutPoints: []wire.OutPoint{{Hash: parent.TxHash()}}})
	if _, err := spend(25, noon); err != nil {
		t.Errorf("with 23 leases: %v", err)
	}
	tx := b.tx([]wire.OutPoint{{Hash: parent.TxHash(), Index: free[0]}, {Hash: parent.TxHash(), Index: free[1]}}, pays(9, 20_000))
	b.do(utxo.LeasesReleased{Wallet: 1, Lock: utxo.LockID{24}, OutPoints: []wire.OutPoint{{Hash: parent.TxHash(), Index: free[2]}}})
	for i := range uint32(40) { // what the lock holds beside is given back
		op := wire.OutPoint{Hash: parent.TxHash(), Index: i}
		if held, _ := b.Leases(1, op); len(held) == 1 && held[0].Lock == (utxo.LockID{24}) && !slices.Contains(free, i) {
			b.do(utxo.LeasesReleased{Wallet: 1, Lock: utxo.LockID{24}, OutPoints: []wire.OutPoint{op}})
		}
	}
	b.do(utxo.Submitted{Wallet: 1, Tx: tx, Lock: utxo.LockID{24}, By: utxo.By{At: noon}})
	if _, err := spend(25, noon); err != nil {
		t.Errorf("what was leased and is submitted counts once: %v", err)
	}
}

// A child that is in a block hangs on nothing, though its parent was not seen in one.
func TestChildInABlockIsNotCounted(t *testing.T) {
	b := newTill(t)
	parent := b.observe(b.tx(b.fund(200_000), pays(1, 90_000), pays(1, 90_000)))
	b.connect(b.tx([]wire.OutPoint{{Hash: parent.TxHash(), Index: 1}}, pays(9, 80_000)))
	candidates, err := coinselect.Candidates(b.policy, b.Ledger, coinselect.Query{Wallet: 1, At: noon})
	if err != nil || len(candidates) != 1 || candidates[0].Ancestors[0].Descendants != 1 {
		t.Errorf("%+v, %v", candidates, err)
	}
}

// A parent that lacks its signature is weighed as if it had one, by the kind of output that
// it spends. Where this kind does not tell the weight, Bump refuses.
func TestBumpWeighsWhatIsNotSigned(t *testing.T) {
	weigh := func(signed bool) (coinselect.Selection, error) {
		b := newTill(t)
		in := b.fund(100_000)
		parent := b.tx(in, pays(1, 99_900))
		if !signed {
			parent.TxIn[0].Witness = nil
		}
		b.do(utxo.Submitted{Wallet: 1, Tx: parent})
		return b.bump(parent, 10_000)
	}
	signed, err := weigh(true)
	if err != nil || signed.AncestorFee == 0 {
		t.Fatal(signed, err)
	}
	unsigned, err := weigh(false)
	if err != nil || unsigned.AncestorFee != signed.AncestorFee || unsigned.Inputs[0].Ancestors[0].Size != signed.Inputs[0].Ancestors[0].Size {
		t.Errorf("unsigned: %+v, %v; signed: %+v", unsigned, err, signed)
	}
	b := newTill(t)
	owned := utxo.Policy{Owner: func(s []byte) (utxo.Owner, bool) { return utxo.Owner{Wallet: 1}, len(s) == 34 || len(s) == 22 }}
	b.Ledger, b.policy, b.tip, b.height = utxo.NewLedger(owned), owned, chainhash.Hash{}, 0
	b.do(utxo.WalletOpened{Wallet: 1, Birth: 1})
	deposit := b.tx(nil, wire.NewTxOut(100_000, p2wsh))
	b.connect(deposit)
	parent := b.tx([]wire.OutPoint{{Hash: deposit.TxHash()}}, pays(1, 99_900))
	parent.TxIn[0].Witness = nil
	b.do(utxo.Submitted{Wallet: 1, Tx: parent})
	if _, err := b.bump(parent, 10_000); !errors.Is(err, coinselect.ErrUnknownFee) {
		t.Errorf("a parent of unknown weight: %v", err)
	}
}

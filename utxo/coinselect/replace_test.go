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
)

func index(i uint32) *uint32 { return &i }

func atRate(rate coinselect.FeeRate) coinselect.Request {
	return coinselect.Request{FeeRate: rate, ChangeScript: pkh(1)}
}

// One input, two outputs: 141 virtual bytes, 562 units. An input is 68 more.
func TestReplaceLowersTheChangeFirst(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    int64
		rate      coinselect.FeeRate
		fee, left int64
		added     int
		err       error
	}{
		{"at the same rate", 50_000, 1000, 0, 0, 0, coinselect.ErrLowFeeRate},
		{"a little more: the relay of itself is what it costs", 50_000, 1001, 282, 49_859, 0, nil},
		{"at twice the rate the same", 50_000, 2000, 282, 49_859, 0, nil},
		{"more", 50_000, 10_000, 1410, 48_731, 0, nil},
		{"to the dust limit", 1563, 10_000, 1410, 294, 0, nil},
		{"below it there is no change", 1562, 10_000, 1703, 0, 0, nil},
		{"without change, exactly", 959, 10_000, 1100, 0, 0, nil},
		{"one satoshi short: an input", 958, 10_000, 2090, 80_000 + 958 + 141 - 2090, 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTill(t)
			b.fund(80_000)
			from := b.fund(100_000 + c.change + 141)
			original := b.observe(b.tx(from, pays(9, 100_000), pays(1, c.change)))
			req := coinselect.ReplaceRequest{Change: index(1), Coins: atRate(c.rate)}
			req.Coins.DustLimit = 294
			r, err := b.replace(original, req)
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if r.Fee != c.fee || r.Change != c.left || len(r.Added) != c.added {
				t.Errorf("fee %d, change %d, %d inputs added, want %d, %d, %d", r.Fee, r.Change, len(r.Added), c.fee, c.left, c.added)
			}
			if why := b.accept(sign(r.Tx)); why != "" {
				t.Error(why)
			}
			if !slices.Equal(r.Replaces, []chainhash.Hash{original.TxHash()}) || r.Tx.TxIn[0].PreviousOutPoint != from[0] ||
				r.Tx.LockTime != original.LockTime {
				t.Errorf("%+v", r)
			}
			b.do(utxo.Submitted{Wallet: 1, Tx: r.Tx, Replaces: r.Replaces})
		})
	}
}

func TestReplaceKeepsSequencesAndSignalsItself(t *testing.T) {
	b := newTill(t)
	from := b.fund(1600, 50_000)
	original := b.tx(from[:1], pays(9, 1000))
	original.TxIn[0].Sequence = 7
	b.observe(original)
	for _, out := range original.TxOut {
		b.worth[wire.OutPoint{Hash: original.TxHash()}] = out.Value
	}
	r, err := b.replace(original, coinselect.ReplaceRequest{Coins: atRate(20_000)})
	if err != nil || len(r.Added) != 1 || r.Tx.TxIn[0].Sequence != 7 || r.Tx.TxIn[1].Sequence != wire.MaxTxInSequenceNum-2 {
		t.Errorf("%+v, %v", r, err)
	}
	for sequence, signals := range map[uint32]bool{wire.MaxTxInSequenceNum - 2: true, wire.MaxTxInSequenceNum - 1: false} {
		tx := b.tx(b.fund(5000), pays(9, 1000))
		tx.TxIn[0].Sequence = sequence
		b.do(utxo.Submitted{Wallet: 1, Tx: tx})
		if o, err := coinselect.ReadOriginal(b.Ledger, utxo.TxID{Wallet: 1, Hash: tx.TxHash()}); err != nil || o.Signals != signals {
			t.Errorf("sequence %x signals %v, %v", sequence, o.Signals, err)
		}
	}
}

// TestReplaceReadsWhatNobodyOwns: the value of an input that no wallet owns is known as
// soon as the transaction that it spends is stored.
func TestReplaceReadsWhatNobodyOwns(t *testing.T) {
	b := newTill(t)
	deposit := b.tx(nil, pays(1, 50_000), pays(9, 10_000))
	b.connect(deposit)
	joint := b.observe(b.tx([]wire.OutPoint{{Hash: deposit.TxHash()}, {Hash: deposit.TxHash(), Index: 1}}, pays(9, 40_000), pays(1, 19_000)))
	if r, err := b.replace(joint, coinselect.ReplaceRequest{Change: index(1), Coins: atRate(10_000)}); err != nil || r.Fee != 2090 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReplaceShrinksAPayeeOnlyIfAsked(t *testing.T) {
	b := newTill(t)
	from := b.fund(100_000)
	all := b.observe(b.tx(from, pays(9, 99_890))) // 110 virtual bytes
	if _, err := b.replace(all, coinselect.ReplaceRequest{Coins: atRate(5000)}); !errors.Is(err, coinselect.ErrInsufficientFunds) {
		t.Errorf("no coin is left to pay with: %v", err)
	}
	r, err := b.replace(all, coinselect.ReplaceRequest{Shrink: index(0), Coins: atRate(5000)})
	if err != nil || r.Fee != 550 || r.Change != 99_450 || len(r.Tx.TxOut) != 1 || r.Tx.TxOut[0].Value != 99_450 ||
		r.Tx.TxOut[0].PkScript[2] != 9 {
		t.Fatalf("%+v, %v", r, err)
	}
	if why := b.accept(sign(r.Tx)); why != "" {
		t.Error(why)
	}
	b.fund(40_000)
	if r, err = b.replace(all, coinselect.ReplaceRequest{Shrink: index(0), Coins: atRate(5000)}); err != nil || len(r.Added) != 0 {
		t.Errorf("a payee shrinks and inputs are added: %v, %v", r.Added, err)
	}
	if r, err = b.replace(all, coinselect.ReplaceRequest{Coins: atRate(5000)}); err != nil || len(r.Added) != 1 ||
		r.Tx.TxOut[0].Value != 99_890 {
		t.Errorf("a payee keeps all: %v, %v", r, err)
	}
	small := b.observe(b.tx(b.fund(2110), pays(9, 2000)))
	_, err = b.replace(small, coinselect.ReplaceRequest{Shrink: index(0), Coins: atRate(20_000)})
	if !errors.Is(err, coinselect.ErrInsufficientFunds) {
		t.Errorf("a payee that shrinks to nothing is not helped by coins: %v", err)
	}
	if _, err = b.replace(small, coinselect.ReplaceRequest{Coins: atRate(20_000)}); err != nil {
		t.Errorf("a coin would do: %v", err)
	}
	// Down to dust, and no further: 110 virtual bytes at this rate leave 294.
	for rate, want := range map[coinselect.FeeRate]error{906_418: nil, 906_419: coinselect.ErrInsufficientFunds} {
		if _, err = b.replace(all, coinselect.ReplaceRequest{Shrink: index(0), Coins: atRate(rate)}); !errors.Is(err, want) {
			t.Errorf("rate %d: %v, want %v", rate, err, want)
		}
	}
}

func TestReplaceEvictsDescendantsOnlyByName(t *testing.T) {
	b := newTill(t)
	from := b.fund(100_000)
	original := b.observe(b.tx(from, pays(2, 50_000), pays(1, 49_859)))
	at := func(tx *wire.MsgTx, i uint32) []wire.OutPoint { return []wire.OutPoint{{Hash: tx.TxHash(), Index: i}} }
	own := b.observe(b.tx(at(original, 1), pays(9, 40_000), pays(1, 5859)))      // pays 4000
	theirs := b.observe(b.tx(at(original, 0), pays(9, 20_000), pays(2, 29_000))) // pays 1000, of wallet 2 alone
	below := b.observe(b.tx(at(theirs, 1), pays(9, 28_900)))                     // pays 100
	req := coinselect.ReplaceRequest{Change: index(1), Coins: atRate(2000)}
	_, err := b.replace(original, req)
	var e *coinselect.DescendantsError
	if !errors.As(err, &e) || !errors.Is(err, coinselect.ErrDescendants) || len(e.Descendants) != 3 {
		t.Fatalf("%v", err)
	}
	for _, tx := range []*wire.MsgTx{own, theirs, below} {
		if !slices.Contains(e.Descendants, tx.TxHash()) {
			t.Errorf("%s is not named", tx.TxHash())
		}
	}
	req.Evict = e.Descendants[1:]
	if _, err = b.replace(original, req); !errors.Is(err, coinselect.ErrDescendants) {
		t.Errorf("one is not named: %v", err)
	}
	req.Evict = e.Descendants
	r, err := b.replace(original, req)
	if err != nil || r.Fee != 141+4000+1000+100+141 {
		t.Fatalf("fee %d, %v", r.Fee, err)
	}
	if why := b.accept(sign(r.Tx)); why != "" {
		t.Error(why)
	}
	r.Tx.TxOut[1].Value++
	if why := b.accept(r.Tx); why == "" {
		t.Error("it pays more than it must")
	}
}

func TestReplaceEvictsAHundred(t *testing.T) {
	for descendants, want := range map[int]error{99: nil, 100: coinselect.ErrTooManyEvicted} {
		b := newTill(t)
		from := b.fund(10_000_000)
		original := b.observe(b.tx(from, pays(9, 50_000), pays(1, 9_900_000)))
		req := coinselect.ReplaceRequest{Change: index(1), Coins: atRate(500_000)}
		last, value := wire.OutPoint{Hash: original.TxHash(), Index: 1}, int64(9_900_000)
		for range descendants {
			value -= 200
			child := b.observe(b.tx([]wire.OutPoint{last}, pays(1, value)))
			last = wire.OutPoint{Hash: child.TxHash()}
			req.Evict = append(req.Evict, last.Hash)
		}
		if _, err := b.replace(original, req); !errors.Is(err, want) {
			t.Errorf("%d descendants: %v, want %v", descendants, err, want)
		}
	}
}

func TestReplaceRefusesByState(t *testing.T) {
	b := newTill(t)
	from := b.fund(100_000, 100_000)
	req := coinselect.ReplaceRequest{Change: index(1), Coins: atRate(20_000)}
	original := b.observe(b.tx(from[:1], pays(9, 50_000), pays(1, 49_000)))
	if _, err := b.replace(b.tx(nil, pays(1, 1)), req); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	stranger := b.observe(b.tx(nil, pays(9, 50_000), pays(1, 49_000)))
	if _, err := b.replace(stranger, req); !errors.Is(err, statemachine.ErrInvalid) || !errors.Is(err, coinselect.ErrUnknownFee) {
		t.Errorf("an input of unknown value: %v", err)
	}
	r, err := b.replace(original, req)
	if err != nil {
		t.Fatal(err)
	}
	bump := sign(r.Tx)
	b.do(utxo.Submitted{Wallet: 1, Tx: bump, Replaces: r.Replaces})
	b.worth[wire.OutPoint{Hash: bump.TxHash(), Index: 1}] = bump.TxOut[1].Value
	if _, err := b.replace(original, req); !errors.Is(err, coinselect.ErrNotLatest) {
		t.Errorf("there is a later version: %v", err)
	}
	// While both live, the latest owes what either of them paid, not the sum.
	for rate, want := range map[coinselect.FeeRate]error{20_000: coinselect.ErrLowFeeRate, 20_001: nil} {
		req.Coins.FeeRate = rate
		if _, err := b.replace(bump, req); !errors.Is(err, want) {
			t.Errorf("at %d: %v, want %v", rate, err, want)
		}
	}
	req.Coins.FeeRate = 20_001
	r2, err := b.replace(bump, req)
	if err != nil || r2.Fee != 2820+141 || !slices.Contains(r2.Replaces, original.TxHash()) || !slices.Contains(r2.Replaces, bump.TxHash()) {
		t.Fatalf("fee %d, replaces %v, %v", r2.Fee, r2.Replaces, err)
	}
	b.do(utxo.Submitted{Wallet: 1, Tx: sign(r2.Tx), Replaces: r2.Replaces})
	b.connect(r2.Tx)
	for name, tx := range map[string]*wire.MsgTx{"confirmed": r2.Tx, "dead": original} {
		if _, err := b.replace(tx, req); !errors.Is(err, statemachine.ErrIllegal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReplaceAnOlderVersionThatPaysMore: an older version that the host's own replacement
// did not name counts as well, as long as it is live.
func TestReplaceAnOlderVersionThatPaysMore(t *testing.T) {
	b := newTill(t)
	from := b.fund(100_000)
	dear := b.observe(b.tx(from, pays(9, 50_000), pays(1, 40_000))) // 141 virtual bytes, 70,921
	cheap := b.tx(from, pays(9, 50_000), pays(1, 49_000))
	b.do(utxo.Submitted{Wallet: 1, Tx: cheap, Replaces: []chainhash.Hash{dear.TxHash()}})
	for rate, want := range map[coinselect.FeeRate]error{70_921: coinselect.ErrLowFeeRate, 70_922: nil} {
		r, err := b.replace(cheap, coinselect.ReplaceRequest{Change: index(1), Coins: atRate(rate)})
		if !errors.Is(err, want) || err == nil && r.Fee != 10_000+141 {
			t.Errorf("at %d: fee %d, %v, want %v", rate, r.Fee, err, want)
		}
	}
}

func TestReplaceRefusesBadRequests(t *testing.T) {
	b := newTill(t)
	from := b.fund(100_000, 50_000)
	original := b.observe(b.tx(from[:1], pays(9, 50_000), pays(1, 49_000)))
	payment, _ := coinselect.Pay(pays(9, 1))
	for name, change := range map[string]func(*coinselect.ReplaceRequest){
		"no such output":     func(r *coinselect.ReplaceRequest) { r.Change = index(2) },
		"change and payee":   func(r *coinselect.ReplaceRequest) { r.Shrink = index(0) },
		"another payment":    func(r *coinselect.ReplaceRequest) { r.Coins.Payment = payment },
		"all":                func(r *coinselect.ReplaceRequest) { r.Coins.All = true },
		"unconfirmed coins":  func(r *coinselect.ReplaceRequest) { r.Coins.Unconfirmed = coinselect.OwnChange },
		"pending coins":      func(r *coinselect.ReplaceRequest) { r.Coins.PendingParents = true },
		"pinned coins":       func(r *coinselect.ReplaceRequest) { r.Coins.Pinned = from[1:] },
		"ancestors":          func(r *coinselect.ReplaceRequest) { r.Coins.PayAncestors = true },
		"a negative rate":    func(r *coinselect.ReplaceRequest) { r.Coins.FeeRate = -1 },
		"an impossible rate": func(r *coinselect.ReplaceRequest) { r.Coins.FeeRate = coinselect.MaxFeeRate + 1 },
	} {
		req := coinselect.ReplaceRequest{Change: index(1), Coins: atRate(20_000)}
		change(&req)
		if _, err := b.replace(original, req); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := coinselect.Replace(coinselect.Original{}, nil, coinselect.ReplaceRequest{Coins: atRate(1000)})
	if !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("an original that nobody read: %v", err)
	}
	noWeight := coinselect.ReplaceRequest{Change: index(1), Coins: atRate(20_000)}
	noWeight.Coins.InputWeight = func(s []byte) (int64, bool) { return 272, s[19] == 1 }
	noWeight.Coins.ChangeScript = append(pkh(1)[:19], 1, 0, 0)
	if _, err := b.replace(original, noWeight); !errors.Is(err, coinselect.ErrNoWeight) {
		t.Errorf("an input of unknown weight: %v", err)
	}
}

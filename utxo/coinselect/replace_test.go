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

// till is a ledger of wallets 1 and 2 that knows, beside it, what every output is worth.
type till struct {
	testing.TB
	*utxo.Ledger
	policy utxo.Policy
	height int32
	tip    chainhash.Hash
	seq    int64
	salt   uint32
	worth  map[wire.OutPoint]int64
	pool   []*wire.MsgTx // live and unconfirmed
	coins  map[wire.OutPoint]bool
}

func newTill(t testing.TB) *till {
	policy := utxo.Policy{Owner: func(s []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: utxo.WalletID(s[2])}, len(s) == 22 && (s[2] == 1 || s[2] == 2)
	}}
	b := &till{TB: t, Ledger: utxo.NewLedger(policy), policy: policy, worth: map[wire.OutPoint]int64{}, coins: map[wire.OutPoint]bool{}}
	b.do(utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.WalletOpened{Wallet: 2, Birth: 1})
	return b
}

func (b *till) do(events ...utxo.Event) {
	b.Helper()
	for _, ev := range events {
		if _, err := b.DoAt(ev, noon); err != nil {
			b.Fatal(err)
		}
	}
}

func pkh(wallet byte) []byte                     { return append([]byte{0, 20, wallet}, make([]byte, 19)...) }
func pays(wallet byte, amount int64) *wire.TxOut { return wire.NewTxOut(amount, pkh(wallet)) }
func vsize(tx *wire.MsgTx) int64                 { return int64(3*tx.SerializeSizeStripped()+tx.SerializeSize()+3) / 4 }
func shares(a, b *wire.MsgTx) bool {
	return slices.ContainsFunc(a.TxIn, func(in *wire.TxIn) bool { return spends(b, in.PreviousOutPoint) })
}
func spends(tx *wire.MsgTx, op wire.OutPoint) bool {
	return slices.ContainsFunc(tx.TxIn, func(in *wire.TxIn) bool { return in.PreviousOutPoint == op })
}

// sign gives each input a witness of the largest size.
func sign(tx *wire.MsgTx) *wire.MsgTx {
	for _, in := range tx.TxIn {
		in.Witness = wire.TxWitness{make([]byte, 72), make([]byte, 33)}
	}
	return tx
}

// tx spends outpoints, or one that nobody knows.
func (b *till) tx(in []wire.OutPoint, outs ...*wire.TxOut) *wire.MsgTx {
	tx := wire.NewMsgTx(2)
	b.salt++
	tx.LockTime = b.salt
	if in == nil {
		in = []wire.OutPoint{{Hash: chainhash.HashH([]byte("unknown")), Index: b.salt}}
	}
	for _, op := range in {
		tx.AddTxIn(&wire.TxIn{PreviousOutPoint: op, Sequence: wire.MaxTxInSequenceNum - 2})
	}
	for i, o := range outs {
		tx.AddTxOut(o)
		b.worth[wire.OutPoint{Hash: tx.TxHash(), Index: uint32(i)}] = o.Value
	}
	for i, o := range tx.TxOut {
		b.worth[wire.OutPoint{Hash: tx.TxHash(), Index: uint32(i)}] = o.Value
	}
	return sign(tx)
}

func (b *till) fee(tx *wire.MsgTx) (fee int64) {
	for _, in := range tx.TxIn {
		worth, ok := b.worth[in.PreviousOutPoint]
		if !ok {
			b.Fatalf("nobody knows what %v is worth", in.PreviousOutPoint)
		}
		fee += worth
	}
	for _, o := range tx.TxOut {
		fee -= o.Value
	}
	return fee
}

func (b *till) connect(txs ...*wire.MsgTx) {
	b.Helper()
	b.height++
	block := utxo.Block{Height: b.height, Prev: b.tip, Hash: chainhash.Hash{byte(b.height), 9}, Time: noon}
	b.tip = block.Hash
	coinbase := b.tx([]wire.OutPoint{{Index: wire.MaxPrevOutIndex}}, wire.NewTxOut(1, p2tr))
	b.do(utxo.Connected{Block: block, Txs: append([]*wire.MsgTx{coinbase}, txs...)})
	for _, tx := range txs {
		for i, o := range tx.TxOut {
			b.coins[wire.OutPoint{Hash: tx.TxHash(), Index: uint32(i)}] = o.PkScript[2] == 1
		}
		b.pool = slices.DeleteFunc(b.pool, func(p *wire.MsgTx) bool { return p.TxHash() == tx.TxHash() })
	}
}

// fund confirms coins of wallet 1.
func (b *till) fund(amounts ...int64) (ops []wire.OutPoint) {
	b.Helper()
	var outs []*wire.TxOut
	for _, a := range amounts {
		outs = append(outs, pays(1, a))
	}
	tx := b.tx(nil, outs...)
	b.connect(tx)
	for i := range outs {
		ops = append(ops, wire.OutPoint{Hash: tx.TxHash(), Index: uint32(i)})
	}
	return ops
}

func (b *till) observe(tx *wire.MsgTx) *wire.MsgTx {
	b.Helper()
	b.seq++
	b.do(utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: b.seq, Tip: b.tip})
	b.pool = append(b.pool, tx)
	return tx
}

func (b *till) replace(tx *wire.MsgTx, req coinselect.ReplaceRequest) (coinselect.Rewrite, error) {
	o, err := coinselect.ReadOriginal(b.Ledger, utxo.TxID{Wallet: 1, Hash: tx.TxHash()})
	if err != nil {
		return coinselect.Rewrite{}, err
	}
	candidates, err := coinselect.Candidates(b.policy, b.Ledger, coinselect.Query{Wallet: 1, At: noon})
	if err != nil {
		return coinselect.Rewrite{}, err
	}
	return coinselect.Replace(o, candidates, req)
}

// accept is the mempool's policy, in its own words: what is wrong with a
// replacement, "" if nothing.
func (b *till) accept(tx *wire.MsgTx) string {
	var direct, evicted []*wire.MsgTx
	for _, p := range b.pool {
		if shares(p, tx) {
			direct = append(direct, p)
		}
	}
	evicted = slices.Clone(direct)
	for i := 0; i < len(evicted); i++ {
		for _, p := range b.pool {
			for j := range evicted[i].TxOut {
				if op := (wire.OutPoint{Hash: evicted[i].TxHash(), Index: uint32(j)}); spends(p, op) && !slices.Contains(evicted, p) {
					evicted = append(evicted, p)
				}
			}
		}
	}
	fees := int64(0)
	for _, p := range evicted {
		fees += b.fee(p)
	}
	fee, size := b.fee(tx), vsize(tx)
	for _, in := range tx.TxIn {
		op := in.PreviousOutPoint
		if !b.coins[op] && !slices.ContainsFunc(direct, func(p *wire.MsgTx) bool { return spends(p, op) }) {
			return "a new unconfirmed input"
		}
		if slices.ContainsFunc(evicted, func(p *wire.MsgTx) bool { return p.TxHash() == op.Hash }) {
			return "it spends what it evicts"
		}
	}
	for _, p := range direct {
		if fee*1000/size <= b.fee(p)*1000/vsize(p) {
			return "the rate is not above a direct rival's"
		}
	}
	switch {
	case len(direct) == 0:
		return "it replaces nothing"
	case fee < fees:
		return "the fee is below that of what is evicted"
	case fee-fees < size:
		return "it does not pay for its own relay"
	case len(evicted) > 100:
		return "too many are evicted"
	}
	return ""
}

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
			if !slices.Equal(r.Replaces, []chainhash.Hash{original.TxHash()}) || r.Tx.TxIn[0].PreviousOutPoint != from[0] || r.Tx.LockTime != original.LockTime {
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

// TestReplaceReadsWhatNobodyOwns: the value of an input is known as soon as its
// transaction is stored.
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
	if err != nil || r.Fee != 550 || r.Change != 99_450 || len(r.Tx.TxOut) != 1 || r.Tx.TxOut[0].Value != 99_450 || r.Tx.TxOut[0].PkScript[2] != 9 {
		t.Fatalf("%+v, %v", r, err)
	}
	if why := b.accept(sign(r.Tx)); why != "" {
		t.Error(why)
	}
	b.fund(40_000)
	if r, err = b.replace(all, coinselect.ReplaceRequest{Shrink: index(0), Coins: atRate(5000)}); err != nil || len(r.Added) != 0 {
		t.Errorf("a payee shrinks and inputs are added: %v, %v", r.Added, err)
	}
	if r, err = b.replace(all, coinselect.ReplaceRequest{Coins: atRate(5000)}); err != nil || len(r.Added) != 1 || r.Tx.TxOut[0].Value != 99_890 {
		t.Errorf("a payee keeps all: %v, %v", r, err)
	}
	small := b.observe(b.tx(b.fund(2110), pays(9, 2000)))
	if _, err = b.replace(small, coinselect.ReplaceRequest{Shrink: index(0), Coins: atRate(20_000)}); !errors.Is(err, coinselect.ErrInsufficientFunds) {
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

// TestReplaceAnOlderVersionThatPaysMore: what the host's own replacement forgot
// counts as well, as long as it lives.
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
	if _, err := coinselect.Replace(coinselect.Original{}, nil, coinselect.ReplaceRequest{Coins: atRate(1000)}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("an original that nobody read: %v", err)
	}
	noWeight := coinselect.ReplaceRequest{Change: index(1), Coins: atRate(20_000)}
	noWeight.Coins.InputWeight = func(s []byte) (int64, bool) { return 272, s[19] == 1 }
	noWeight.Coins.ChangeScript = append(pkh(1)[:19], 1, 0, 0)
	if _, err := b.replace(original, noWeight); !errors.Is(err, coinselect.ErrNoWeight) {
		t.Errorf("an input of unknown weight: %v", err)
	}
}

// TestReplaceAgainstTheMempool: what is built is accepted and keeps inputs and
// payees; what is refused for lack of money no set of confirmed coins could pay.
func TestReplaceAgainstTheMempool(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newTill(t)
		amount := rapid.Int64Range(300, 60_000)
		funds := b.fund(rapid.SliceOfN(amount, 1, 5).Draw(rt, "funds")...)
		n := rapid.IntRange(1, min(2, len(funds))).Draw(rt, "inputs")
		in := funds[:n]
		spare := int64(0)
		for _, op := range in {
			spare += b.worth[op]
		}
		spare -= rapid.Int64Range(100, 1500).Draw(rt, "fee")
		if spare < 600 {
			return
		}
		payee := rapid.Int64Range(300, spare).Draw(rt, "payee")
		outs := []*wire.TxOut{pays(rapid.SampledFrom([]byte{1, 2, 9}).Draw(rt, "to"), payee)}
		if spare-payee >= 294 {
			outs = append(outs, pays(1, spare-payee))
		}
		original := b.observe(b.tx(in, outs...))
		req := coinselect.ReplaceRequest{Coins: atRate(coinselect.FeeRate(rapid.Int64Range(900, 30_000).Draw(rt, "rate")))}
		req.Coins.DustLimit = 294
		if len(outs) == 2 {
			req.Change = index(1)
		} else if rapid.Bool().Draw(rt, "shrink") {
			req.Shrink = index(0)
		}
		if out := rapid.IntRange(-1, len(outs)-1).Draw(rt, "child of"); out >= 0 && outs[out].PkScript[2] != 9 && outs[out].Value > 700 {
			child := b.observe(b.tx([]wire.OutPoint{{Hash: original.TxHash(), Index: uint32(out)}}, pays(outs[out].PkScript[2], outs[out].Value-rapid.Int64Range(50, 400).Draw(rt, "child's fee"))))
			req.Evict = append(req.Evict, child.TxHash())
		}
		r, err := b.replace(original, req)
		if err == nil {
			tx := sign(r.Tx)
			if why := b.accept(tx); why != "" {
				rt.Fatalf("%s: %+v", why, r)
			}
			if b.fee(tx) != r.Fee || vsize(tx) != (r.Weight+3)/4 && r.Change > 0 || b.fee(tx)*1000 < int64(req.Coins.FeeRate)*vsize(tx) {
				rt.Fatalf("fee %d of %d virtual bytes, said %d of %d units", b.fee(tx), vsize(tx), r.Fee, r.Weight)
			}
			for i, op := range in {
				if tx.TxIn[i].PreviousOutPoint != op {
					rt.Fatalf("input %v is gone", op)
				}
			}
			if req.Shrink == nil && (tx.TxOut[0].Value != payee || string(tx.TxOut[0].PkScript) != string(outs[0].PkScript)) {
				rt.Fatalf("the payee gets %d of %d", tx.TxOut[0].Value, payee)
			}
			if req.Shrink != nil && len(r.Added) > 0 {
				rt.Fatal("a payee shrinks and inputs are added")
			}
			b.do(utxo.Submitted{Wallet: 1, Tx: tx, Replaces: r.Replaces})
		}
		if errors.Is(err, coinselect.ErrLowFeeRate) {
			if int64(req.Coins.FeeRate) > b.fee(original)*1000/vsize(original) {
				rt.Fatal(err)
			}
			return
		}
		// Every set of the confirmed coins that bring more than their fee.
		rest := funds[n:]
		if req.Shrink != nil {
			rest = nil
		}
		possible, lean := false, len(r.Added) == 0
		for mask := range 1 << len(rest) {
			tx := wire.NewMsgTx(2)
			for i, op := range append(slices.Clone(in), rest...) {
				if i < n || mask>>(i-n)&1 == 1 {
					tx.AddTxIn(wire.NewTxIn(&op, nil, nil))
				}
			}
			tx.AddTxOut(outs[0])
			if req.Shrink != nil {
				tx.TxOut[0] = pays(outs[0].PkScript[2], 294)
			}
			sign(tx)
			if b.accept(tx) == "" && b.fee(tx)*1000 >= int64(req.Coins.FeeRate)*vsize(tx) {
				possible = true
				lean = lean || mask == 0
			}
		}
		if possible != (err == nil) || err == nil && lean != (len(r.Added) == 0) {
			rt.Fatalf("%v, added %v; possible %v, without another input %v", err, r.Added, possible, lean)
		}
	})
}

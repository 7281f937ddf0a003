package coinselect_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"github.com/settlehq/settle/utxo/utxotest"
	"pgregory.net/rapid"
)

var (
	noon    = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	foreign = append([]byte{0, 20}, make([]byte, 20)...)
)

// mine returns the script of an owner of wallet 1.
func mine(tag byte) []byte { return append([]byte{0, 20, 1, tag}, make([]byte, 18)...) }

// desk is a ledger of wallet 1 with a chain.
type desk struct {
	testing.TB
	*utxo.Ledger
	policy utxo.Policy
	salt   uint32
	tip    utxo.Block
	txs    []*wire.MsgTx // of the tip
}

func newDesk(t testing.TB) *desk {
	policy := utxo.Policy{Owner: func(s []byte) (utxo.Owner, bool) {
		if len(s) != 22 || s[2] != 1 {
			return utxo.Owner{}, false
		}
		return utxo.Owner{Wallet: 1, Tag: string(s[3:4])}, true
	}}
	b := &desk{TB: t, Ledger: utxo.NewLedger(policy), policy: policy}
	b.do(utxo.WalletOpened{Wallet: 1, Birth: 1, By: utxo.By{At: noon}})
	return b
}

func (b *desk) do(ev utxo.Event) {
	b.Helper()
	if err := utxotest.Outcome(b.Do(ev)); err != nil {
		b.Fatal(err)
	}
}

// tx spends the outpoints, or one that nobody knows, to the scripts.
func (b *desk) tx(in []wire.OutPoint, scripts ...[]byte) *wire.MsgTx {
	tx := wire.NewMsgTx(2)
	b.salt++
	if in == nil {
		in = []wire.OutPoint{{Hash: chainhash.HashH([]byte("unknown")), Index: b.salt}}
	}
	for _, op := range in {
		tx.AddTxIn(wire.NewTxIn(&op, nil, nil))
	}
	for _, s := range scripts {
		tx.AddTxOut(wire.NewTxOut(100_000, s))
	}
	tx.LockTime = b.salt
	return sign(tx)
}

func (b *desk) connect(txs ...*wire.MsgTx) {
	b.Helper()
	height := b.tip.Height + 1
	b.tip = utxo.Block{Height: height, Prev: b.tip.Hash, Hash: chainhash.Hash{byte(height), 7}, Time: noon}
	coinbase := b.tx([]wire.OutPoint{{Index: wire.MaxPrevOutIndex}}, foreign)
	b.txs = append([]*wire.MsgTx{coinbase}, txs...)
	b.do(utxo.Connected{Block: b.tip, Txs: b.txs, By: utxo.By{At: noon}})
}

func (b *desk) observe(tx *wire.MsgTx) *wire.MsgTx {
	b.Helper()
	b.do(utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: 1, Tip: b.tip.Hash, By: utxo.By{At: noon}})
	return tx
}

func (b *desk) submit(tx *wire.MsgTx, replaces ...*wire.MsgTx) *wire.MsgTx {
	b.Helper()
	ev := utxo.Submitted{Wallet: 1, Tx: tx, By: utxo.By{At: noon}}
	for _, r := range replaces {
		ev.Replaces = append(ev.Replaces, r.TxHash())
	}
	b.do(ev)
	return tx
}

func (b *desk) candidates(change ...func(*coinselect.Query)) map[wire.OutPoint]coinselect.Candidate {
	b.Helper()
	q := coinselect.Query{Wallet: 1, At: noon}
	for _, f := range change {
		f(&q)
	}
	list, err := coinselect.Candidates(b.policy, b.Ledger, q)
	if err != nil {
		b.Fatal(err)
	}
	m := map[wire.OutPoint]coinselect.Candidate{}
	for _, c := range list {
		m[c.OutPoint] = c
	}
	return m
}

func out(tx *wire.MsgTx, i uint32) wire.OutPoint { return wire.OutPoint{Hash: tx.TxHash(), Index: i} }
func ins(ops ...wire.OutPoint) []wire.OutPoint   { return ops }

func TestCandidatesOwnChange(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'), mine('a'), mine('b'))
	b.connect(deposit)
	own := b.observe(b.tx(ins(out(deposit, 0)), foreign, mine('a')))
	ownAgain := b.submit(b.tx(ins(out(own, 1), out(deposit, 1)), mine('a')))
	shared := b.observe(b.tx(ins(out(deposit, 2), wire.OutPoint{Index: 5}), mine('a')))
	after := b.observe(b.tx(ins(out(shared, 0)), mine('a')))
	incoming := b.observe(b.tx(nil, mine('a')))
	got := b.candidates()
	for _, c := range []struct {
		name      string
		tx        *wire.MsgTx
		own       bool
		state     utxo.OutputState
		ancestors []*wire.MsgTx
	}{
		{"change of own change, not broadcast", ownAgain, true, utxo.CoinPending, []*wire.MsgTx{own, ownAgain}},
		{"own after shared inputs", after, false, utxo.CoinUnconfirmed, []*wire.MsgTx{shared, after}},
		{"incoming", incoming, false, utxo.CoinUnconfirmed, []*wire.MsgTx{incoming}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ancestors []coinselect.Ancestor
			for i, a := range c.ancestors {
				size := vsize(a)
				for _, child := range c.ancestors[i+1:] {
					size += vsize(child)
				}
				ancestors = append(ancestors, coinselect.Ancestor{
					Hash: a.TxHash(), Pending: a == ownAgain, Size: vsize(a), Descendants: len(c.ancestors) - i, DescendantsSize: size,
				})
			}
			g, ok := got[out(c.tx, 0)]
			if !ok || g.OwnChange != c.own || g.State != c.state || g.Confirmations != 0 || g.Replacing || !slices.Equal(g.Ancestors, ancestors) {
				t.Errorf("got %+v", g)
			}
		})
	}
	if len(got) != 3 {
		t.Errorf("%d coins", len(got))
	}
}

func TestCandidatesConfirmed(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'), mine('b'))
	b.connect(deposit)
	b.connect()
	c := b.candidates()[out(deposit, 0)]
	if c.Confirmations != 2 || c.State != utxo.CoinConfirmed || !c.Scanned || c.Ancestors != nil {
		t.Errorf("got %+v", c)
	}
	tag := "b"
	if got := b.candidates(func(q *coinselect.Query) { q.Tag = &tag }); len(got) != 1 || got[out(deposit, 1)].Tag != tag {
		t.Errorf("of owner b: %v", got)
	}
}

func TestCandidatesLease(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	b.do(utxo.OutputsLeased{Wallet: 1, OutPoints: ins(out(deposit, 0)), Lock: utxo.LockID{1}, Duration: time.Minute, By: utxo.By{At: noon}})
	for _, c := range []struct {
		name string
		lock utxo.LockID
		at   time.Time
		want utxo.OutputState
	}{
		{"without a lock", utxo.LockID{}, noon, utxo.CoinLeased},
		{"of another", utxo.LockID{2}, noon, utxo.CoinLeased},
		{"of the caller", utxo.LockID{1}, noon, utxo.CoinConfirmed},
		{"in its last microsecond", utxo.LockID{}, noon.Add(time.Minute - time.Microsecond), utxo.CoinLeased},
		{"expired", utxo.LockID{}, noon.Add(time.Minute), utxo.CoinConfirmed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := b.candidates(func(q *coinselect.Query) { q.Lock, q.At = c.lock, c.at })[out(deposit, 0)]
			if got.State != c.want || got.Lease.Lock != (utxo.LockID{1}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestCandidatesReplacing(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'), mine('a'))
	b.connect(deposit)
	old := b.observe(b.tx(ins(out(deposit, 0)), mine('a'), mine('b')))
	child := b.submit(b.tx(ins(out(old, 1)), mine('a')))
	bump := b.submit(b.tx(ins(out(deposit, 0), utxotest.External(1)), mine('a'), mine('b')), old)
	other := b.submit(b.tx(ins(out(deposit, 1)), mine('a')))
	got := b.candidates()
	for name, c := range map[string]struct {
		op   wire.OutPoint
		want bool
	}{
		"the replacement":           {out(bump, 0), true},
		"what is to be replaced":    {out(old, 0), false}, // published: money until it is replaced
		"a child of that":           {out(child, 0), false},
		"another pending":           {out(other, 0), false},
		"the replacement's other":   {out(bump, 1), true},
		"confirmed, not in the way": {out(deposit, 0), false},
	} {
		if g := got[c.op]; g.Replacing != c.want {
			t.Errorf("%s: replacing is %v", name, g.Replacing)
		}
	}
	below := b.submit(b.tx(ins(out(bump, 1)), mine('a')))
	if !b.candidates()[out(below, 0)].Replacing {
		t.Error("a child of the replacement is not replacing")
	}
	b.do(utxo.Broadcasted{ID: utxo.TxID{Wallet: 1, Hash: bump.TxHash()}, By: utxo.By{At: noon}})
	if got := b.candidates(); got[out(bump, 0)].Replacing || got[out(below, 0)].Replacing {
		t.Error("still replacing after it was placed")
	}
}

func TestCandidatesScanned(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'), foreign)
	b.connect(deposit)
	b.do(utxo.OutputRevealed{ID: utxo.TxID{Wallet: 1, Hash: deposit.TxHash()}, Index: 1, Tag: "late", Birth: 1, By: utxo.By{At: noon}})
	got := b.candidates()
	if !got[out(deposit, 0)].Scanned || got[out(deposit, 1)].Scanned {
		t.Errorf("owner a is scanned to the tip, owner late is not: %+v", got)
	}
	b.do(utxo.Connected{Block: b.tip, Txs: b.txs, By: utxo.By{At: noon}})
	if !b.candidates()[out(deposit, 1)].Scanned {
		t.Error("owner late is not scanned after the block was applied again")
	}
}

func TestCandidatesRefusals(t *testing.T) {
	b := newDesk(t)
	for w, want := range map[utxo.WalletID]error{0: statemachine.ErrInvalid, -1: statemachine.ErrInvalid, 9: statemachine.ErrNotFound} {
		if _, err := coinselect.Candidates(b.policy, b.Ledger, coinselect.Query{Wallet: w, At: noon}); !errors.Is(err, want) {
			t.Errorf("wallet %d: %v", w, err)
		}
	}
	early := b.submit(b.tx(nil, mine('a')))
	if b.candidates()[out(early, 0)].Scanned {
		t.Error("scanned without a chain")
	}
}

// counted counts the reads of a Reader, and fails the one named.
type counted struct {
	utxo.Source
	reads int
	fail  int
}

var errRead = errors.New("the store is away")

func (c *counted) read() error {
	if c.reads++; c.reads == c.fail {
		return errRead
	}
	return nil
}

func (c *counted) Tip() (utxo.Block, bool, error) {
	if err := c.read(); err != nil {
		return utxo.Block{}, false, err
	}
	return c.Source.Tip()
}

func (c *counted) Wallets(ids ...utxo.WalletID) ([]utxo.Wallet, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.Source.Wallets(ids...)
}

func (c *counted) Unspent(w utxo.WalletID, tag *string) ([]utxo.Coin, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.Source.Unspent(w, tag)
}

func (c *counted) Ancestors(r utxo.Reach, hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.Source.Ancestors(r, hashes...)
}

func (c *counted) Txs(ids ...utxo.TxID) ([]*utxo.Tx, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.Source.Txs(ids...)
}

func (c *counted) Spenders(ops ...wire.OutPoint) ([]*utxo.Tx, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.Source.Spenders(ops...)
}

func (c *counted) Descendants(hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.Source.Descendants(hashes...)
}

func (c *counted) ActiveLeases(w utxo.WalletID, now time.Time) ([]utxo.Lease, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.Source.ActiveLeases(w, now)
}

func (c *counted) Raw(ids ...utxo.TxID) ([][]byte, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.Source.Raw(ids...)
}

func TestCandidatesReadInBatches(t *testing.T) {
	b := newDesk(t)
	scripts := make([][]byte, 50)
	for i := range scripts {
		scripts[i] = mine('a')
	}
	deposit := b.tx(nil, scripts...)
	b.connect(deposit)
	for i := range uint32(50) {
		last := out(deposit, i)
		for range 100 {
			last = out(b.submit(b.tx(ins(last), mine('a'))), 0)
		}
	}
	r := &counted{Source: b.Ledger}
	list, err := coinselect.Candidates(b.policy, r, coinselect.Query{Wallet: 1, At: noon})
	if err != nil || len(list) != 50 || len(list[0].Ancestors) != coinselect.MaxAncestorLimit || r.reads != 9 {
		t.Fatalf("%d coins with %d reads, %v", len(list), r.reads, err)
	}
	for fail := 1; fail <= 9; fail++ {
		_, err := coinselect.Candidates(b.policy, &counted{Source: b.Ledger, fail: fail}, coinselect.Query{Wallet: 1, At: noon})
		if !errors.Is(err, errRead) {
			t.Errorf("read %d failed, got %v", fail, err)
		}
	}
}

// TestCandidatesAgainstRecursion compares with a walk for each coin alone.
func TestCandidatesAgainstRecursion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newDesk(t)
		deposit := b.tx(nil, mine('a'), mine('b'), mine('a'), foreign, mine('a'))
		b.connect(deposit)
		open := []wire.OutPoint{out(deposit, 0), out(deposit, 1), out(deposit, 2), out(deposit, 3)}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		for range rapid.IntRange(0, 15).Draw(rt, "txs") {
			in := []wire.OutPoint{}
			for range 1 + random.IntN(3) {
				i := random.IntN(len(open))
				if slices.Contains(in, open[i]) {
					continue
				}
				in = append(in, open[i])
				if random.IntN(10) > 0 { // else a rival
					open = slices.Delete(open, i, i+1)
				}
				if len(open) == 0 {
					break
				}
			}
			scripts := [][]byte{mine('a'), mine('b'), foreign}[:1+random.IntN(3)]
			tx := b.tx(in, scripts...)
			var err error
			if random.IntN(4) == 0 {
				err = utxotest.Outcome(b.Do(utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: 1, Tip: b.tip.Hash, By: utxo.By{At: noon}}))
			} else {
				ev := utxo.Submitted{Wallet: 1, Tx: tx, By: utxo.By{At: noon}}
				rivals, _ := b.Spenders(in...)
				for _, r := range rivals {
					if r.Live() && !slices.Contains(ev.Replaces, r.ID.Hash) {
						ev.Replaces = append(ev.Replaces, r.ID.Hash)
					}
				}
				_, err = b.Do(ev)
			}
			if err == nil {
				for i := range tx.TxOut {
					open = append(open, out(tx, uint32(i)))
				}
			}
			if len(open) == 0 {
				break
			}
		}
		var leases []utxo.OutputsLeased
		coins := b.candidates()
		for _, op := range slices.SortedFunc(maps.Keys(coins), utxo.CompareOutPoints) { // lock 1 is the caller's, the leases of lock 2 have ended
			if lock := byte(random.IntN(6)); lock > 0 && coins[op].State != utxo.CoinSpent {
				ev := utxo.OutputsLeased{Wallet: 1, OutPoints: []wire.OutPoint{op}, Lock: utxo.LockID{lock}, Duration: time.Hour, By: utxo.By{At: noon}}
				if lock == 2 {
					ev.By.At = noon.Add(-time.Hour)
				}
				b.do(ev)
				leases = append(leases, ev)
			}
		}
		for op, c := range b.candidates(func(q *coinselect.Query) { q.Lock = utxo.LockID{1} }) {
			if c.Height != utxo.Unconfirmed {
				continue
			}
			own, replacing, above := b.recurse(op.Hash)
			if c.OwnChange != own || c.Replacing != replacing || len(c.Ancestors) != len(above) {
				rt.Fatalf("got %+v, want own %v, replacing %v, above %v", c, own, replacing, above)
			}
			for i, a := range c.Ancestors {
				_, _, closed := b.recurse(a.Hash)
				for hash := range closed {
					if !slices.ContainsFunc(c.Ancestors[:i+1], func(a coinselect.Ancestor) bool { return a.Hash == hash }) {
						rt.Fatalf("%s is not before its child %s", hash, a.Hash)
					}
				}
				if above[a.Hash] != a.Pending {
					rt.Fatalf("%s pending: %v", a.Hash, a.Pending)
				}
				below, size := b.below(a.Hash)
				for lock := byte(3); lock < 6; lock++ {
					inputs, hangs := int64(0), false
					for _, l := range leases {
						if l.Lock[0] == lock {
							inputs, hangs = inputs+1, hangs || slices.Contains(below, l.OutPoints[0].Hash)
						}
					}
					if hangs {
						hash := chainhash.Hash{31: lock}
						below, size[hash] = append(below, hash), (4*8+2+inputs*272+2*4*43+3)/4
					}
				}
				if a.Size != size[a.Hash] || a.Descendants != len(below) || a.DescendantsSize != sum(size) {
					rt.Fatalf("%s has %d descendants of %d virtual bytes, want %v of %v", a.Hash, a.Descendants, a.DescendantsSize, below, size)
				}
			}
		}
	})
}

// below walks down from a transaction; size has the virtual bytes of what it finds.
func (b *desk) below(hash chainhash.Hash) (found []chainhash.Hash, size map[chainhash.Hash]int64) {
	found, size = []chainhash.Hash{hash}, map[chainhash.Hash]int64{}
	for i := 0; i < len(found); i++ {
		raws, err := b.Raw(utxo.TxID{Wallet: 1, Hash: found[i]})
		if err != nil {
			b.Fatal(err)
		}
		tx, _ := utxo.ParseTx(raws[0])
		size[found[i]] = vsize(tx)
		kids, _ := b.Children(found[i])
		for _, kid := range kids {
			if kid.Live() && !kid.Confirmed() && !slices.Contains(found, kid.ID.Hash) {
				found = append(found, kid.ID.Hash)
			}
		}
	}
	return found, size
}

func sum(of map[chainhash.Hash]int64) (total int64) {
	for _, n := range of {
		total += n
	}
	return total
}

// recurse walks up from a transaction. It returns whether all inputs are owned, whether a
// pending replacement is among the ancestors, and the ancestors, each with whether it is
// pending.
func (b *desk) recurse(hash chainhash.Hash) (own, replacing bool, above map[chainhash.Hash]bool) {
	txs, _ := b.Txs(utxo.TxID{Wallet: 1, Hash: hash})
	if len(txs) == 0 {
		return false, false, nil
	}
	tx := txs[0]
	if tx.Confirmed() {
		return true, false, nil
	}
	own, above = true, map[chainhash.Hash]bool{hash: tx.Status == utxo.Pending}
	for _, in := range tx.Inputs {
		parents, _ := b.Txs(utxo.TxID{Wallet: 1, Hash: in.Hash})
		own = own && len(parents) == 1 && parents[0].Output(in.Index) != nil
		parentOwn, parentReplacing, more := b.recurse(in.Hash)
		own, replacing = own && parentOwn, replacing || parentReplacing
		for h, pending := range more {
			above[h] = pending
		}
		rivals, _ := b.Spenders(in)
		for _, r := range rivals {
			replacing = replacing || tx.Status == utxo.Pending && r.Live() && r.ID.Hash != hash
		}
	}
	return own, replacing, above
}

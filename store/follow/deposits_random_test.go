package follow

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// A chain is made at random, of transactions that spend the same coins and one another's
// outputs, with reorganisations of any depth, an operator, a wallet that is opened late,
// and processes that are killed. What the host has is compared with a naive count of the
// test's own chain, which asks nothing of the store.

// coin is what the count has of an output.
type coin struct {
	tx       *wire.MsgTx
	owner    utxo.Owner
	amount   int64
	height   int32 // that it was last counted in
	credited bool
	round    int64
}

type random struct {
	*exchange
	*rand.Rand
	pool    []*wire.MsgTx // all but coinbases
	coins   map[wire.OutPoint]*coin
	dropped []utxo.Connected
	scanned int // how many blocks the third wallet has seen, from the first on
	seen    struct{ credits, reversals, orphans, again, words, cuts int }
}

func newRandom(x *exchange, seed uint64) *random {
	r := &random{exchange: x, Rand: rand.New(rand.NewPCG(seed, 0)), coins: map[wire.OutPoint]*coin{}}
	out := func() *wire.TxOut {
		w, tag := utxo.WalletID(1+r.IntN(3)), []string{"ann", "ben", "change"}[r.IntN(3)]
		return utxotest.Pay(1+r.Int64N(5), utxotest.Script(w, tag))
	}
	outs := func() []*wire.TxOut {
		all := []*wire.TxOut{to("change", 1)} // so that each is a transaction of wallet 1
		for range 1 + r.IntN(3) {
			all = append(all, out())
		}
		return all
	}
	for family := range uint32(5) {
		for range 3 {
			x.salt++
			parent := utxotest.NewTx(x.salt, []wire.OutPoint{utxotest.External(family)}, outs()...)
			r.pool = append(r.pool, parent)
			x.salt++
			child := []wire.OutPoint{utxotest.Out(parent, 0)}
			if other := r.pool[r.IntN(len(r.pool))]; r.IntN(3) == 0 && other != parent {
				child = append(child, utxotest.Out(other, 1))
			}
			r.pool = append(r.pool, utxotest.NewTx(x.salt, child, outs()...))
		}
	}
	x.policy.From = map[utxo.WalletID]int32{2: 4}
	x.restart()
	return r
}

// mined are the transactions of the best chain, with their heights, and what they spend.
func (r *random) mined() (heights map[chainhash.Hash]int32, spent map[wire.OutPoint]chainhash.Hash) {
	heights, spent = map[chainhash.Hash]int32{}, map[wire.OutPoint]chainhash.Hash{}
	for _, b := range r.chain {
		for _, tx := range b.Txs {
			heights[tx.TxHash()] = b.Block.Height
			for _, in := range tx.TxIn {
				spent[in.PreviousOutPoint] = tx.TxHash()
			}
		}
	}
	return heights, spent
}

// grow mines a block of what fits, or one that has left the chain.
func (r *random) grow() {
	if b := len(r.dropped) - 1; b >= 0 && r.IntN(3) == 0 && r.dropped[b].Block.Prev == r.tip().Hash {
		r.do(r.dropped[b])
		r.chain, r.dropped = append(r.chain, r.dropped[b]), r.dropped[:b]
		r.follow()
		return
	}
	heights, spent := r.mined()
	var block []*wire.MsgTx
	if r.IntN(2) == 0 {
		r.salt++
		block = append(block, utxotest.NewCoinbase(r.salt, to("ann", 3), to("change", 3)))
	}
	for range 1 + r.IntN(3) {
		tx := r.pool[r.IntN(len(r.pool))]
		if lost := r.lost(heights); len(lost) > 0 && r.IntN(3) > 0 { // its rival, sooner than another one
			family := lost[r.IntN(len(lost))].TxIn[0].PreviousOutPoint
			for tx.TxIn[0].PreviousOutPoint != family {
				tx = r.pool[r.IntN(len(r.pool))]
			}
		}
		_, fits := heights[tx.TxHash()]
		for fits = !fits; fits; fits = false {
			for _, in := range tx.TxIn {
				_, taken := spent[in.PreviousOutPoint]
				_, parent := heights[in.PreviousOutPoint.Hash]
				fits = fits && !taken && (parent || in.PreviousOutPoint.Hash == utxotest.External(0).Hash)
			}
			if fits {
				block = append(block, tx)
				heights[tx.TxHash()] = 0
				for _, in := range tx.TxIn {
					spent[in.PreviousOutPoint] = tx.TxHash()
				}
			}
		}
	}
	r.connect(block...)
	r.follow()
}

// follow lets the third wallet see the new tip, if it has seen all before it.
func (r *random) follow() {
	if n := len(r.chain); r.third && r.scanned == n-1 {
		r.scanned = n
	}
}

// reorganise drops up to n blocks.
func (r *random) reorganise(n int) {
	for range min(len(r.chain), n) {
		r.do(utxo.Disconnected{Hash: r.tip().Hash})
		r.dropped = append(r.dropped, r.chain[len(r.chain)-1])
		r.chain = r.chain[:len(r.chain)-1]
	}
	r.scanned = min(r.scanned, len(r.chain))
}

// lost are the credited transactions that are in no block, but for coinbases.
func (r *random) lost(heights map[chainhash.Hash]int32) (txs []*wire.MsgTx) {
	for _, tx := range r.pool {
		for i := range tx.TxOut {
			c := r.coins[utxotest.Out(tx, uint32(i))]
			if _, in := heights[tx.TxHash()]; !in && c != nil && c.credited {
				txs = append(txs, tx)
				break
			}
		}
	}
	return txs
}

// move lets one thing happen.
func (r *random) move() {
	r.t.Helper()
	switch n := r.IntN(20); {
	case n < 12:
		r.grow()
	case n < 15:
		r.reorganise(1 + r.IntN(3*depth))
	case n < 16: // another chain takes over
		r.reorganise(depth + 1 + r.IntN(3))
		for range depth {
			r.grow()
		}
	case n < 17:
		r.do(utxo.Observed{Txs: []*wire.MsgTx{r.pool[r.IntN(len(r.pool))], r.pool[r.IntN(len(r.pool))]}, Tip: r.tip().Hash})
	case n < 18 && !r.third:
		r.third = true
		r.do(utxo.WalletOpened{Wallet: 3, Birth: 1})
	case n < 18 && len(r.chain) > 0:
		r.scanned = len(r.chain)
		for _, b := range r.chain {
			r.do(b)
		}
	case n == 19 && r.IntN(2) == 0:
		page, err := ShakenDeposits(r.t.Context(), r.store, nil, 5)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(page) == 0 {
			return
		}
		op := page[r.IntN(len(page))].OutPoint
		c := r.coins[op]
		_, err = ReverseDeposit(r.t.Context(), r.store, op, "olga", "a throw of dice", r.credit)
		heights, _ := r.mined()
		if height, in := heights[c.tx.TxHash()]; errors.Is(err, statemachine.ErrIllegal) && in && r.tip().Height-height+1 >= depth {
			return // the coin is in a block again since the consumer filed its deposit as shaken
		}
		if err != nil {
			r.t.Fatal(err)
		}
		c.credited = false
		r.seen.words++
	}
}

// count brings the naive count to the chain as it is.
func (r *random) count() {
	heights, spent := r.mined()
	tip := r.tip().Height
	for _, b := range r.chain {
		for _, tx := range b.Txs {
			for i, out := range tx.TxOut {
				op := utxotest.Out(tx, uint32(i))
				o, _ := utxotest.Policy().Owner(out.PkScript)
				if r.coins[op] == nil && o.Tag != "change" && (o.Wallet != 3 || r.third) && (o.Wallet != 2 || b.Block.Height >= 4) {
					r.coins[op] = &coin{tx: tx, owner: o, amount: out.Value}
				}
			}
		}
	}
	for _, c := range r.coins {
		coinbase := c.tx.TxIn[0].PreviousOutPoint.Hash == chainhash.Hash{}
		height, in := heights[c.tx.TxHash()]
		if in {
			c.height = height
		}
		switch {
		case in && !c.credited && c.amount >= 2 && tip-height+1 >= depth && (!coinbase || tip-height >= 3) &&
			(c.owner.Wallet != 3 || r.scanned == len(r.chain)) &&
			(c.owner.Wallet != 2 || height >= 4 || c.round > 0): // a coin that was credited once does not depend on From
			c.credited = true
			c.round++
			r.seen.credits++
			if c.round > 1 {
				r.seen.again++
			}
		case !in && c.credited && coinbase && tip-c.height+1 >= depth:
			c.credited = false
			r.seen.orphans++
		case !in && c.credited && !coinbase && r.dead(c.tx, heights, spent):
			c.credited = false
			r.seen.reversals++
		}
	}
}

// dead: an input of a transaction, or of an ancestor that is in no block, is spent by
// another one that is deep.
func (r *random) dead(tx *wire.MsgTx, heights map[chainhash.Hash]int32, spent map[wire.OutPoint]chainhash.Hash) bool {
	for _, in := range tx.TxIn {
		if by, ok := spent[in.PreviousOutPoint]; ok && r.tip().Height-heights[by]+1 >= depth {
			return true
		}
		for _, parent := range r.pool {
			if _, mined := heights[parent.TxHash()]; parent.TxHash() == in.PreviousOutPoint.Hash && !mined && r.dead(parent, heights, spent) {
				return true
			}
		}
	}
	return false
}

// compare holds what the host has against the count: the sum of each output, and how
// many postings made it.
func (r *random) compare() error {
	type posted struct{ sum, facts int64 }
	got := map[string]posted{}
	rows, err := r.db.Query("SELECT outpoint, sum(amount), count(*) FROM " + r.credits + " GROUP BY outpoint")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var op string
		var p posted
		if err := rows.Scan(&op, &p.sum, &p.facts); err != nil {
			return err
		}
		got[op] = p
	}
	for op, c := range r.coins {
		want := posted{0, 2 * c.round}
		if c.credited {
			want = posted{c.amount, 2*c.round - 1}
		}
		if got[op.String()] != want {
			return fmt.Errorf("of %s, %d satoshi to %v in block %d, the host has %+v, want %+v",
				op, c.amount, c.owner, c.height, got[op.String()], want)
		}
		delete(got, op.String())
	}
	if len(got) > 0 {
		return fmt.Errorf("the host has %v, which nobody was paid", got)
	}
	return rows.Err()
}

// work lets the consumer do all that it can, sometimes after another process of it was
// killed at a statement.
func (r *random) work() error {
	if r.IntN(4) == 0 {
		s, process, closed := r.cut()
		other, err := newDeposits(s, Consumer{Lines: 3}, r.policy, r.credit)
		if err != nil {
			return err
		}
		r.r.release(r.t.Context())
		r.r.fence = 0
		process.Cut(1+r.IntN(60), r.IntN(2) == 0, "")
		if settle(r.t.Context(), other) != nil {
			r.seen.cuts++
		}
		closed()
		r.pass(time.Minute) // its lease
	}
	if err := settle(r.t.Context(), r.r); err != nil {
		return err
	}
	r.count()
	return r.compare()
}

// Deposits on random chains against the naive count: of 10 seeds on SQLite and 3 on
// PostgreSQL with SETTLE_SOAK=1, else of 2 and 1.
func TestRandomChains(t *testing.T) {
	soak := os.Getenv("SETTLE_SOAK") != ""
	seeds := map[sqlstore.Dialect]int{sqlstore.SQLite: 2, sqlstore.Postgres: 1}
	if soak {
		seeds = map[sqlstore.Dialect]int{sqlstore.SQLite: 10, sqlstore.Postgres: 3}
	}
	for d, n := range seeds {
		t.Run(d.String(), func(t *testing.T) {
			var total struct{ credits, reversals, orphans, again, words, cuts int }
			for seed := range n {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					r := newRandom(newExchange(newHost(t, d)), uint64(seed))
					for i := range 70 {
						r.move()
						if r.IntN(3) == 0 {
							continue
						}
						if err := r.work(); err != nil {
							t.Fatalf("after %d things: %v", i+1, err)
						}
					}
					r.check()
					total.credits += r.seen.credits
					total.reversals += r.seen.reversals
					total.orphans += r.seen.orphans
					total.again += r.seen.again
					total.words += r.seen.words
					total.cuts += r.seen.cuts
				})
			}
			t.Logf("%+v", total)
			if soak && min(total.credits/50, total.reversals, total.orphans, total.again, total.words, total.cuts) == 0 {
				t.Errorf("it does too little: %+v", total)
			}
		})
	}
}

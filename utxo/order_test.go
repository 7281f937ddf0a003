package utxo_test

import (
	"slices"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo/utxotest"
)

// Dead transactions are listed parents first, however many paths lead to them and however
// long each path is.
func TestLosersAreListedParentsFirst(t *testing.T) {
	for _, c := range []struct {
		name   string
		losers func(b *desk, first *wire.MsgTx) []*wire.MsgTx // below first, as they are observed
	}{
		{"a chain", func(b *desk, first *wire.MsgTx) []*wire.MsgTx {
			child := b.tx(ins(out(first, 0)), mine('a'))
			return []*wire.MsgTx{child, b.tx(ins(out(child, 0)), mine('a'))}
		}},
		{"a child that is a grandchild too", func(b *desk, first *wire.MsgTx) []*wire.MsgTx {
			child := b.tx(ins(out(first, 1)), mine('a'))
			return []*wire.MsgTx{child, b.tx(ins(out(first, 0), out(child, 0)), mine('a'))}
		}},
		{"the same with outputs the other way round", func(b *desk, first *wire.MsgTx) []*wire.MsgTx {
			child := b.tx(ins(out(first, 0)), mine('a'))
			return []*wire.MsgTx{child, b.tx(ins(out(first, 1), out(child, 0)), mine('a'))}
		}},
		{"what comes after such a child", func(b *desk, first *wire.MsgTx) []*wire.MsgTx {
			child := b.tx(ins(out(first, 1)), mine('a'))
			both := b.tx(ins(out(first, 0), out(child, 0)), mine('a'))
			return []*wire.MsgTx{child, both, b.tx(ins(out(both, 0)), mine('a'))}
		}},
		{"a child of every one of a long chain", func(b *desk, first *wire.MsgTx) []*wire.MsgTx {
			var all []*wire.MsgTx
			from := out(first, 1)
			spent := ins(out(first, 0))
			for range 1000 {
				link := b.tx(ins(from), mine('a'), mine('a'))
				all, from, spent = append(all, link), out(link, 1), append(spent, out(link, 0))
			}
			return append(all, b.tx(spent, mine('a')))
		}},
		{"a child of the last of a wide family", func(b *desk, first *wire.MsgTx) []*wire.MsgTx {
			wide := b.tx(ins(out(first, 1)), slices.Repeat([][]byte{mine('a')}, 1000)...)
			all := []*wire.MsgTx{wide}
			from := ins(out(first, 0))
			for i := range uint32(1000) {
				kid := b.tx(ins(out(wide, i)), mine('a'))
				all, from = append(all, kid), append(from, out(kid, 0))
			}
			return append(all, b.tx(from, mine('a')))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newDesk(t)
			deposit := b.tx(nil, mine('a'))
			b.connect(deposit)
			first := b.observe(b.tx(ins(out(deposit, 0)), mine('a'), mine('b')))
			losers := append([]*wire.MsgTx{first}, c.losers(b, first)...)
			for _, tx := range losers[1:] {
				b.observe(tx)
			}
			rival := b.tx(ins(out(deposit, 0)), utxotest.Foreign)
			set, err := b.DoAt(b.seen(2, rival), utxotest.Start)
			if err != nil {
				t.Fatal(err)
			}
			if len(set.Updates) != len(losers) || len(set.Log) != len(losers)+1 || set.Log[0].ID.Hash != rival.TxHash() {
				t.Fatalf("%d updates and %d lines, want %d losers, and a line for the winner before theirs", len(set.Updates),
					len(set.Log), len(losers))
			}
			inputs := map[chainhash.Hash][]*wire.TxIn{}
			for _, tx := range losers {
				inputs[tx.TxHash()] = tx.TxIn
			}
			place := map[chainhash.Hash]int{}
			for i, u := range set.Updates {
				place[u.ID.Hash] = i
				if set.Log[i+1].ID != u.ID {
					t.Fatalf("update %d is of %s, line %d of %s", i, u.ID, i+1, set.Log[i+1].ID)
				}
			}
			for hash, in := range inputs {
				for _, in := range in {
					if parent := in.PreviousOutPoint.Hash; inputs[parent] != nil && place[parent] >= place[hash] {
						t.Fatalf("%s is at %d, its parent %s at %d", hash, place[hash], parent, place[parent])
					}
				}
			}
		})
	}
}

// A block may hold a transaction and kill a child of it before the block's order comes to
// the transaction itself. The change set still lists the parent first.
func TestABlockListsParentsBeforeTheLosersAmongTheirChildren(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	parent := b.observe(b.tx(nil, mine('a')))
	loser := b.observe(b.tx(ins(out(deposit, 0), out(parent, 0)), mine('a')))
	winner := b.tx(ins(out(deposit, 0)), utxotest.Foreign)
	set, err := b.DoAt(b.next(winner, parent), utxotest.Start)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Updates) != 2 || set.Updates[0].ID.Hash != parent.TxHash() || set.Updates[1].ID.Hash != loser.TxHash() {
		t.Errorf("the updates are %+v, want the parent's before the loser's", set.Updates)
	}
	if len(set.Log) != 3 || set.Log[2].ID.Hash != loser.TxHash() {
		t.Errorf("the log is %+v, want the loser's line last", set.Log)
	}
}

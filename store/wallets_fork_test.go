package store_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

func TestFork(t *testing.T) {
	ctx := context.Background()
	branch := func(below []utxo.Block, salt uint32, to int32) []utxo.Block {
		all := append([]utxo.Block(nil), below...)
		for h := int32(len(all)); h <= to; h++ {
			prev := chainhash.Hash{}
			if h > 0 {
				prev = all[h-1].Hash
			}
			all = append(all, utxotest.NewBlock(h, prev, salt))
		}
		return all
	}
	ours := branch(nil, 0, 250)
	at := func(blocks []utxo.Block) func(context.Context, int32) (chainhash.Hash, bool, error) {
		return func(_ context.Context, h int32) (chainhash.Hash, bool, error) {
			if int(h) >= len(blocks) {
				return chainhash.Hash{}, false, nil
			}
			return blocks[h].Hash, true, nil
		}
	}
	stored := func(from, to int32) *store.Wallets {
		s := walletsOf(t, memory.New(memory.Options{}), utxotest.Policy())
		events := []utxo.Event{utxo.WalletOpened{Wallet: 1, Birth: 9}, utxo.WalletOpened{Wallet: 2, Birth: 7}}
		for h := from; h <= to; h++ {
			events = append(events, utxo.Connected{Block: ours[h]})
		}
		if _, err := s.Do(ctx, events...); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		name     string
		from, to int32
		node     []utxo.Block
		want     int32
	}{
		{"nothing is stored: the oldest birth", 1, 0, ours, 6},
		{"the same tip", 5, 250, ours, 250},
		{"a node that is ahead", 5, 200, ours, 200},
		{"a node that is behind", 5, 250, ours[:121], 120},
		{"another tip", 5, 250, branch(ours[:250], 1, 260), 249},
		{"a fork deeper than one read", 5, 250, branch(ours[:31], 1, 260), 30},
		{"a fork at the base", 5, 250, branch(ours[:6], 1, 260), 5},
		{"nothing in common", 5, 250, branch(ours[:5], 1, 260), -1},
		{"a node of another chain that is shorter", 5, 250, branch(nil, 1, 3), -1},
	} {
		got, err := stored(c.from, c.to).Fork(ctx, at(c.node))
		if err != nil || got != c.want {
			t.Errorf("%s: %d, %v, want %d", c.name, got, err, c.want)
		}
	}
	// The node comes back to our chain after it was asked for the tip.
	calls := 0
	other := branch(ours[:240], 1, 260)
	got, err := stored(5, 250).Fork(ctx, func(ctx context.Context, h int32) (chainhash.Hash, bool, error) {
		if calls++; calls <= 11 {
			return at(other)(ctx, h)
		}
		return at(ours)(ctx, h)
	})
	if err != nil || got != 250 {
		t.Errorf("a node that moved during the walk: %d, %v, want 250", got, err)
	}
	_, err = stored(5, 250).Fork(ctx, func(ctx context.Context, h int32) (chainhash.Hash, bool, error) {
		calls++
		hash, ok, _ := at(ours)(ctx, h)
		hash[0] ^= byte(calls & 1)
		return hash, ok, nil
	})
	if err != nil && !errors.Is(err, utxo.ErrStale) {
		t.Errorf("a node that never rests: %v", err)
	}
	gone := errors.New("gone")
	_, err = stored(5, 250).Fork(ctx, func(context.Context, int32) (chainhash.Hash, bool, error) { return chainhash.Hash{}, false, gone })
	if !errors.Is(err, gone) {
		t.Errorf("a node that is away: %v", err)
	}
}

// A range of heights is bounded as a page is.
func TestBlocksOfAtMostAPage(t *testing.T) {
	ctx := context.Background()
	s := walletsOf(t, memory.New(memory.Options{}), utxotest.Policy())
	block := utxotest.NewBlock(store.MaxPage-1, chainhash.Hash{}, 0)
	if _, err := s.Do(ctx, utxo.Connected{Block: block}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		from, to int32
		found    int
		want     error
	}{
		{0, store.MaxPage - 1, 1, nil},
		{0, store.MaxPage, 0, statemachine.ErrInvalid},
		{0, math.MaxInt32, 0, statemachine.ErrInvalid},
		{math.MinInt32, math.MaxInt32, 0, statemachine.ErrInvalid},
		{math.MaxInt32, math.MaxInt32, 0, nil},
		{block.Height + 1, block.Height, 0, nil},
	} {
		if blocks, err := s.Blocks(ctx, tt.from, tt.to); !errors.Is(err, tt.want) || len(blocks) != tt.found {
			t.Errorf("%d to %d: %d blocks, %v", tt.from, tt.to, len(blocks), err)
		}
	}
}

// walletsOf is the service of wallets.
func walletsOf(t testing.TB, s store.Store[store.Unit], p utxo.Policy) *store.Wallets {
	t.Helper()
	w, err := store.NewWallets(s, p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

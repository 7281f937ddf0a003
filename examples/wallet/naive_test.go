package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"
)

// decodeFile cuts a block file into frames, without the package that is tested.
func decodeFile(t testing.TB, data []byte) (frames [][]byte, blocks []*wire.MsgBlock) {
	t.Helper()
	for len(data) >= 8 && data[0] == 0xf9 {
		n := 8 + int(binary.LittleEndian.Uint32(data[4:]))
		block := new(wire.MsgBlock)
		if err := block.Deserialize(bytes.NewReader(data[8:n])); err != nil {
			t.Fatal(err)
		}
		frames, blocks, data = append(frames, data[:n:n]), append(blocks, block), data[n:]
	}
	return frames, blocks
}

// count is the slow, obvious second implementation of the whole program.
func count(blocks []*wire.MsgBlock, owns func(script []byte) bool) state {
	type output struct {
		amount   int64
		height   int
		coinbase bool
	}
	unspent := map[wire.OutPoint]output{}
	var s state
	for height, block := range blocks {
		s.Tip = tip{int32(height), block.BlockHash().String()}
		if height == 0 {
			continue
		}
		for i, tx := range block.Transactions {
			ours := false
			for _, in := range tx.TxIn {
				if _, ok := unspent[in.PreviousOutPoint]; ok {
					delete(unspent, in.PreviousOutPoint)
					ours = true
				}
			}
			for n, out := range tx.TxOut {
				if owns(out.PkScript) {
					unspent[wire.OutPoint{Hash: tx.TxHash(), Index: uint32(n)}] = output{out.Value, height, i == 0}
					ours = true
				}
			}
			if ours {
				s.Transactions++
			}
		}
	}
	s.Unspent = len(unspent)
	for _, out := range unspent {
		if out.coinbase && len(blocks)-1-out.height < 100 {
			s.Balance.Immature += out.amount
		} else {
			s.Balance.Confirmed += out.amount
		}
	}
	return s
}

// busiest returns scripts that occur most often, and one that occurs once.
func busiest(blocks []*wire.MsgBlock, limit int) []string {
	uses := map[string]int{}
	for _, block := range blocks[1:] {
		for _, tx := range block.Transactions {
			for _, out := range tx.TxOut {
				uses[string(out.PkScript)]++
			}
		}
	}
	var found []string
	for range limit {
		best := ""
		for script, n := range uses {
			if best == "" || n > uses[best] || n == uses[best] && script < best {
				best = script
			}
		}
		delete(uses, best)
		found = append(found, best)
	}
	return found
}

func TestAgreesWithANaiveCount(t *testing.T) {
	t.Parallel()
	_, blocks := decodeFile(t, firstBlocks)
	scripts := busiest(blocks, 12)
	t.Run("all", func(t *testing.T) {
		onEachStore(t, func(t *testing.T, run runner) {
			want := count(blocks, func([]byte) bool { return true })
			if got := run.end(t, "-watch", "all"); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	})
	for i, script := range scripts {
		t.Run(fmt.Sprintf("script %d", i), func(t *testing.T) {
			want := count(blocks, func(s []byte) bool { return string(s) == script })
			if got := inMemory().end(t, "-watch", fmt.Sprintf("%x", script)); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
	t.Run("several scripts", func(t *testing.T) {
		onEachStore(t, func(t *testing.T, run runner) {
			set, args := map[string]bool{}, []string{}
			for _, script := range scripts {
				set[script] = true
				args = append(args, "-watch", fmt.Sprintf("%x", script))
			}
			want := count(blocks, func(s []byte) bool { return set[string(s)] })
			if got := run.end(t, args...); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	})
}

// SETTLE_BLOCKS names a longer block file, such as all 14,132 blocks of
// blockchain/testdata/blk_0_to_14131.dat in module github.com/btcsuite/btcd.
func TestAgreesWithANaiveCountOfALongerFile(t *testing.T) {
	name := os.Getenv("SETTLE_BLOCKS")
	if name == "" {
		t.Skip("SETTLE_BLOCKS does not name a block file")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, blocks := decodeFile(t, data)
	t.Run("all", func(t *testing.T) {
		onEachStore(t, func(t *testing.T, run runner) {
			want := count(blocks, func([]byte) bool { return true })
			if got := run.end(t, "-blocks", name, "-watch", "all"); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	})
	for i, script := range busiest(blocks, 5) {
		t.Run(fmt.Sprintf("script %d", i), func(t *testing.T) {
			onEachStore(t, func(t *testing.T, run runner) {
				want := count(blocks, func(s []byte) bool { return string(s) == script })
				if got := run.end(t, "-blocks", name, "-watch", fmt.Sprintf("%x", script)); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
		})
	}
}

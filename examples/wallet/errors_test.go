package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/examples/wallet/blockfile"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/utxo"
)

// A file that is broken at block 171 gives an error that names the block and
// its offset; what comes before it is committed, and the whole file continues
// there.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	frames, blocks := decodeFile(t, firstBlocks)
	const at = 171
	offset := len(bytes.Join(frames[:at], nil))
	edited := func(edit func(frame []byte) []byte) [][]byte {
		c := slices.Clone(frames)
		c[at] = edit(bytes.Clone(c[at]))
		return c
	}
	double := func(block *wire.MsgBlock) []byte { // a block that spends one output twice
		c := block.Copy()
		payment := blocks[170].Transactions[1].Copy()
		again := payment.Copy()
		again.LockTime++
		c.Transactions = append(c.Transactions, payment, again)
		return encode(t, c)
	}
	for _, test := range []struct {
		name   string
		frames [][]byte
		want   error
		each   bool // on each store, not only in memory
	}{
		{"cut in the header", append(frames[:at:at], frames[at][:5]), blockfile.ErrTruncated, false},
		{"cut in the block", append(frames[:at:at], frames[at][:100]), blockfile.ErrTruncated, false},
		{"wrong magic", edited(func(f []byte) []byte { f[1]++; return f }), blockfile.ErrMagic, false},
		{"length 0", edited(func(f []byte) []byte { clear(f[4:8]); return f }), blockfile.ErrLength, false},
		{"impossible length", edited(func(f []byte) []byte { f[7] = 1; return f }), blockfile.ErrLength, false},
		{"another amount", edited(func(f []byte) []byte { f[len(f)-100]++; return f }), blockfile.ErrMerkleRoot, false},
		{"another number of transactions", edited(func(f []byte) []byte { f[88]++; return f }), blockfile.ErrBlock, false},
		{"block 172 before 171", slices.Concat(frames[:at], [][]byte{frames[at+1], frames[at]}, frames[at+2:]), utxo.ErrChainMismatch, true},
		{"block 171 is missing", slices.Delete(slices.Clone(frames), at, at+1), utxo.ErrChainMismatch, false},
		{"block 170 twice", slices.Insert(slices.Clone(frames), at, frames[at-1]), utxo.ErrChainMismatch, false},
		{"block 0 again", slices.Insert(slices.Clone(frames), at, frames[0]), utxo.ErrChainMismatch, false},
		{"another version", edited(func(f []byte) []byte { f[8]++; return f }), blockfile.ErrWork, true},
		{"another time", edited(func(f []byte) []byte { f[8+68]++; return f }), blockfile.ErrWork, false},
		{"other bits", edited(func(f []byte) []byte { f[8+72]++; return f }), blockfile.ErrWork, false},
		{"easier bits", edited(func(f []byte) []byte { f[8+75] = 0x20; return f }), blockfile.ErrWork, false},
		{"another nonce", edited(func(f []byte) []byte { f[8+79]++; return f }), blockfile.ErrWork, false},
		{"another block before it", edited(func(f []byte) []byte { f[8+4]++; return f }), blockfile.ErrWork, false},
		{"a block that nobody has mined", edited(func([]byte) []byte { return double(blocks[at]) }), blockfile.ErrWork, false},
	} {
		check := func(t *testing.T, run runner) {
			broken := file(t, test.frames...)
			for _, attempt := range []string{"first", "second"} {
				var stdout bytes.Buffer
				err := run(t.Context(), &stdout, io.Discard, "-json", "-blocks", broken)
				var where *blockfile.Error
				if !errors.Is(err, test.want) || !errors.As(err, &where) || where.Index != at || where.Offset != int64(offset) {
					t.Fatalf("the %s run: %v", attempt, err)
				}
				if want := fmt.Sprintf("%s: block 171 at offset %d: ", broken, offset); !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%q does not start with %q", err, want)
				}
				if stdout.Len() > 0 {
					t.Errorf("it printed %s", &stdout)
				}
			}
			if got := run.end(t, "-blocks", file(t, frames[:10]...)); got.Tip.Height != at-1 || got.Balance.Confirmed != 40e8 {
				t.Errorf("it kept %+v", got)
			}
			if got := run.end(t); got.Tip.Height != 300 || got.Balance.Confirmed != 18e8 {
				t.Errorf("it continued to %+v", got)
			}
		}
		t.Run(test.name, func(t *testing.T) {
			if test.each {
				onEachStore(t, check)
			} else {
				check(t, inMemory())
			}
		})
	}
}

// encode frames a block, with the merkle root that its transactions have.
func encode(t *testing.T, block *wire.MsgBlock) []byte {
	t.Helper()
	file := func() []byte {
		var raw bytes.Buffer
		if err := block.Serialize(&raw); err != nil {
			t.Fatal(err)
		}
		n := raw.Len()
		return append([]byte{0xf9, 0xbe, 0xb4, 0xd9, byte(n), byte(n >> 8), byte(n >> 16), 0}, raw.Bytes()...)
	}
	_, err := blockfile.NewReader(bytes.NewReader(file())).Next()
	if !errors.Is(err, blockfile.ErrMerkleRoot) {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(err.Error(), "header: ")
	root, err := hex.DecodeString(text[:64])
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(root)
	copy(block.Header.MerkleRoot[:], root)
	return file()
}

func TestAFileStartsWithBlock0(t *testing.T) {
	frames, _ := decodeFile(t, firstBlocks)
	err := inMemory()(t.Context(), io.Discard, io.Discard, "-blocks", file(t, frames[1:]...))
	if !errors.Is(err, utxo.ErrChainMismatch) || !strings.Contains(err.Error(), "block 0 at offset 0: ") {
		t.Error(err)
	}
}

func TestAFileWithoutBlocks(t *testing.T) {
	onEachStore(t, func(t *testing.T, run runner) {
		want := state{Tip: tip{Height: -1}}
		if got := run.end(t, "-blocks", file(t, make([]byte, 1000))); got != want {
			t.Errorf("%+v", got)
		}
	})
}

func TestRefusals(t *testing.T) {
	frames, _ := decodeFile(t, firstBlocks)
	db := filepath.Join(t.TempDir(), "wallet.db")
	run := on(db)
	before := run.end(t)
	short := file(t, frames[:200]...)
	noDatabase := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(noDatabase, bytes.Repeat([]byte("not a database. "), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"another script than the database's", []string{"-watch", "51"}, "it was filled with -watch " + block9Coinbase + "; use the same flags, or another database"},
		{"all instead of the database's script", []string{"-watch", "all"}, "it was filled with -watch " + block9Coinbase},
		{"one script more", []string{"-watch", block9Coinbase, "-watch", "51"}, "it was filled with -watch " + block9Coinbase},
		{"a script that is no hex", []string{"-watch", "block9"}, "neither an output script in hex nor all"},
		{"an empty script", []string{"-watch", ""}, "neither an output script in hex nor all"},
		{"all and a script", []string{"-watch", "all", "-watch", "51"}, "-watch all leaves nothing"},
		{"a reorg of more blocks than there are", []string{"-reorg", "302"}, "-reorg 302: the chain has only 301 blocks"},
		{"a negative reorg", []string{"-reorg", "-1"}, "-reorg -1: a number of blocks is not negative"},
		{"a reorg that the file cannot undo", []string{"-reorg", "5", "-blocks", short}, "-reorg 5: the chain has 301 blocks, and the file, with 200"},
		{"an argument too many", []string{"blocks.dat"}, `unexpected argument "blocks.dat"`},
		{"an unknown flag", []string{"-fast"}, "flag provided but not defined"},
		{"a block file that is missing", []string{"-blocks", db + ".missing"}, "wallet.db.missing: no such file"},
		{"a directory as block file", []string{"-blocks", t.TempDir()}, "is a directory"},
		{"a directory as database", []string{"-db", t.TempDir()}, "open "},
		{"another file as database", []string{"-db", noDatabase}, "notes.txt: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := run(t.Context(), io.Discard, io.Discard, test.args...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q in it", err, test.want)
			}
			if got := run.end(t, "-reorg", "0"); got != before {
				t.Errorf("it changed the database to %+v", got)
			}
		})
	}
	t.Run("the default reorg leaves a longer chain alone", func(t *testing.T) {
		if got := run.end(t, "-blocks", short); got != before {
			t.Errorf("%+v, want %+v", got, before)
		}
	})
	t.Run("the same script in capitals, twice", func(t *testing.T) {
		if got := run.end(t, "-watch", strings.ToUpper(block9Coinbase), "-watch", block9Coinbase); got != before {
			t.Errorf("%+v, want %+v", got, before)
		}
	})
}

// A database that fails is not a fault of the file.
func TestABrokenDatabaseIsNotBlamedOnTheFile(t *testing.T) {
	broken := &failingStore{Store: memory.New(memory.Options{})}
	var watch watchSet
	if err := watch.complete(); err != nil {
		t.Fatal(err)
	}
	service, err := store.NewWallets[store.Unit](broken, watch.policy())
	if err != nil {
		t.Fatal(err)
	}
	w := &wallet{store: broken, service: service, out: io.Discard, log: io.Discard}
	if _, err := w.service.Do(t.Context(), utxo.WalletOpened{Wallet: walletID}); err != nil {
		t.Fatal(err)
	}
	broken.err = errors.New("database disk image is malformed")
	_, err = w.replay(t.Context())
	var file *blockfile.Error
	if !errors.Is(err, broken.err) || errors.As(err, &file) || !strings.HasPrefix(err.Error(), "store block 0: ") {
		t.Errorf("%v", err)
	}
}

// failingStore writes nothing once it has an error.
type failingStore struct {
	store.Store[store.Unit]
	err error
}

func (s *failingStore) Update(ctx context.Context, fn func(store.Unit) error) error {
	if s.err != nil {
		return s.err
	}
	return s.Store.Update(ctx, fn)
}

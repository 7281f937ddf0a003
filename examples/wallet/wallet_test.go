package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store/memory"
)

// asProgram makes the test binary the program itself, so that a test can kill it.
const asProgram = "SETTLE_TEST_RUN_WALLET"

func TestMain(m *testing.M) {
	os.Exit(pgtest.MainOr(m, asProgram, main))
}

// A runner runs the program again and again on one database.
type runner func(ctx context.Context, stdout, stderr io.Writer, args ...string) error

// onEachStore runs a test on memory, SQLite and PostgreSQL.
func onEachStore(t *testing.T, test func(t *testing.T, run runner)) {
	t.Run("memory", func(t *testing.T) { test(t, inMemory()) })
	t.Run("sqlite", func(t *testing.T) { test(t, on(filepath.Join(t.TempDir(), "a wallet?.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, on(postgres(t))) })
}

func inMemory() runner {
	db := memory.New(memory.Options{})
	return func(ctx context.Context, stdout, stderr io.Writer, args ...string) error {
		o, err := parse(args, stderr)
		if err != nil {
			return err
		}
		return show(ctx, db, o, stdout, stderr)
	}
}

// on runs the program on the database that -db names.
func on(db string) runner {
	return func(ctx context.Context, stdout, stderr io.Writer, args ...string) error {
		return run(ctx, append([]string{"-db", db}, args...), stdout, stderr)
	}
}

// postgres returns the URL of an empty database.
func postgres(t *testing.T) string {
	t.Helper()
	return pgtest.Empty(t, "pgx", pgtest.URL(t))
}

// end runs the program to its end and returns what -json prints.
func (run runner) end(t *testing.T, args ...string) state {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), &stdout, &stderr, append(args, "-json")...); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	decoder := json.NewDecoder(&stdout)
	decoder.DisallowUnknownFields()
	var s state
	if err := decoder.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(io.MultiReader(decoder.Buffered(), &stdout)); len(bytes.TrimSpace(rest)) > 0 {
		t.Fatalf("after the object: %s", rest)
	}
	return s
}

// file writes a block file.
func file(t *testing.T, frames ...[]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "blk00000.dat")
	if err := os.WriteFile(name, bytes.Join(frames, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The script of block 9's coinbase made the first payment of all, to Hal
// Finney, and four more.
func TestTheFirstPayments(t *testing.T) {
	t.Parallel()
	frames, blocks := decodeFile(t, firstBlocks)
	onEachStore(t, func(t *testing.T, run runner) {
		for _, fact := range []struct {
			height, btc int64
			txs         int
		}{
			{8, 0, 0}, {9, 50, 1}, {169, 50, 1}, {170, 40, 2}, {180, 40, 2}, {181, 30, 3},
			{182, 29, 4}, {183, 28, 5}, {247, 28, 5}, {248, 18, 6}, {300, 18, 6},
		} {
			got := run.end(t, "-blocks", file(t, frames[:fact.height+1]...), "-reorg", "0")
			want := state{Tip: tip{int32(fact.height), blocks[fact.height].BlockHash().String()}, Transactions: fact.txs}
			if fact.btc > 0 {
				want.Unspent = 1
				want.Balance.Confirmed = fact.btc * 1e8
			}
			if fact.height == 9 {
				want.Balance.Confirmed, want.Balance.Immature = 0, want.Balance.Confirmed
			}
			if got != want {
				t.Fatalf("at height %d: %+v, want %+v", fact.height, got, want)
			}
		}
	})
}

func TestMaturityIsCountedFromTheTip(t *testing.T) {
	frames, _ := decodeFile(t, firstBlocks)
	run := inMemory()
	for _, height := range []int{108, 109} {
		got := run.end(t, "-blocks", file(t, frames[:height+1]...)).Balance
		if mature := height-9 >= 100; (got.Confirmed > 0) != mature || (got.Immature > 0) == mature {
			t.Errorf("at height %d: %+v", height, got)
		}
	}
}

func TestJSONHasTheDocumentedShape(t *testing.T) {
	var stdout bytes.Buffer
	if err := on(filepath.Join(t.TempDir(), "wallet.db"))(t.Context(), &stdout, io.Discard, "-json"); err != nil {
		t.Fatal(err)
	}
	const want = `{"tip":{"height":300,"hash":"0000000062b69e4a2c3312a5782d7798b0711e9ebac065cd5d19f946439f8609"},` +
		`"transactions":6,"unspent":1,"balance":{"confirmed":1800000000,"unconfirmed":0,"immature":0,"pending":0,"leased":0}}` + "\n"
	if stdout.String() != want {
		t.Errorf("%s, want %s", &stdout, want)
	}
}

func TestTextIsBoundedAndShowsTheReorg(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-watch", "all"}, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	said, _, _ := strings.Cut(stderr.String(), "\n")
	if _, err := os.Stat(strings.TrimPrefix(said, "the database is ")); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"305 unspent, in order of arrival", "and 295 more", "307 transactions, newest first", "and 297 more",
		"the last 120 blocks leave the chain", "6 transactions are unconfirmed again, 120 coinbases are orphaned",
		"3960.00000000 confirmed, 40.00000000 unconfirmed, 5000.00000000 immature", "the wallet is what it was before",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &stdout)
		}
	}
	if lines := strings.Count(stdout.String(), "\n"); lines > 60 {
		t.Errorf("%d lines", lines)
	}
}

func TestReorgOfEveryDepth(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, run runner) {
		want := run.end(t, "-watch", "all", "-reorg", "0")
		for _, n := range []int{1, 2, 100, 101, 301} {
			if got := run.end(t, "-watch", "all", "-reorg", fmt.Sprint(n)); got != want {
				t.Errorf("after a reorg of %d: %+v, want %+v", n, got, want)
			}
		}
	})
}

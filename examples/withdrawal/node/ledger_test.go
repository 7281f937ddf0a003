package node

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// The chain after a restart is the chain before it, whatever happened on it.
func TestRestartContinues(t *testing.T) {
	path := newLedger(t)
	random := rand.New(rand.NewPCG(1, 2))
	var before *Node
	for round := range 4 {
		n := open(t, path, Faults{Seed: uint64(round), Reorg: 300, Usurp: 200, Drop: 50, Spike: 50})
		if before != nil {
			if n.chain.Head() != before.chain.Head() || n.chain.BlockHash(n.chain.Head()) != before.chain.BlockHash(before.chain.Head()) {
				t.Fatal("the chain is another one")
			}
			for _, a := range []string{address(0), address(1), payee} {
				if n.chain.Balance(a, "USDX").Cmp(before.chain.Balance(a, "USDX")) != 0 || n.chain.nonces[a] != before.chain.nonces[a] {
					t.Fatalf("account %s differs", a)
				}
			}
		}
		for range 25 {
			from := byte(random.IntN(2))
			_, _ = n.accept(payment(t, from, n.chain.nonces[address(from)]+random.Uint64N(2), baseFee*(1+random.Uint64N(20)), "1"))
			ticks(t, n, 1)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		before = n
	}
	if before.chain.Reorgs == 0 || before.chain.Balance(payee, "USDX").Sign() == 0 {
		t.Error("nothing happened")
	}
}

func TestFinalBlocksStay(t *testing.T) {
	n := open(t, newLedger(t), Faults{Reorg: 500})
	final := map[uint64]string{}
	for range 150 {
		ticks(t, n, 1)
		for height, hash := range final {
			if n.chain.BlockHash(height) != hash {
				t.Fatalf("block %d left the chain at depth %d", height, Finality)
			}
		}
		for height := uint64(1); height+Finality <= n.chain.Head()+1; height++ {
			final[height] = n.chain.BlockHash(height)
		}
	}
	if n.chain.Reorgs < 30 || len(final) < 10 {
		t.Errorf("%d reorganisations, %d final blocks", n.chain.Reorgs, len(final))
	}
}

func TestLedgerCutByACrash(t *testing.T) {
	path := newLedger(t)
	n := open(t, path, Faults{})
	if _, err := n.accept(payment(t, 0, 0, baseFee, "10")); err != nil {
		t.Fatal(err)
	}
	ticks(t, n, 3)
	n.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	for cut := len(lines[0]); cut < len(whole); cut += 31 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := Open(Config{Ledger: path})
		if err != nil {
			t.Fatalf("cut at byte %d: %v", cut, err)
		}
		ticks(t, n, 1)
		n.Close()
		if _, err := Read(path); err != nil {
			t.Fatalf("cut at byte %d, then continued: %v", cut, err)
		}
	}
}

func TestLedgerThatCannotBeTrue(t *testing.T) {
	path := newLedger(t)
	n := open(t, path, Faults{})
	for nonce := range uint64(2) {
		if _, err := n.accept(payment(t, 0, nonce, baseFee, "10")); err != nil {
			t.Fatal(err)
		}
		ticks(t, n, 1)
	}
	n.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"empty":              {"", 1},
		"no genesis":         {lines[1], 1},
		"two of them":        {lines[0] + lines[0], 2},
		"a block missing":    {lines[0] + lines[2] + "\n", 2},
		"a block twice":      {lines[0] + lines[1] + lines[1], 3},
		"amount changed":     {lines[0] + strings.Replace(lines[1], `\"amount\":\"10\"`, "", 1) + strings.Replace(lines[2], `"amount":"10"`, `"amount":"99"`, 1) + "\n", 3},
		"not JSON":           {lines[0] + "block\n", 2},
		"an unknown line":    {lines[0] + "{\"more\":1}\n", 2},
		"reorg below final":  {lines[0] + "{\"reorg\":{\"to\":7}}\n", 2},
		"a line without end": {strings.Repeat("x", maxLine+1), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path)
			var at *LineError
			if !errors.As(err, &at) || at.Line != c.line {
				t.Errorf("%v, want an error in line %d", err, c.line)
			}
		})
	}
}

func TestOneNodePerLedger(t *testing.T) {
	path := newLedger(t)
	open(t, path, Faults{})
	if _, _, err := openLedger(path, 0); err == nil {
		t.Error("a second node has the same ledger")
	}
}

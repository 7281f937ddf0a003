package node

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var payee = "0x" + strings.Repeat("ab", 20)

func key(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(append(make([]byte, ed25519.SeedSize-1), n))
}

func address(n byte) string { return Address(key(n).Public().(ed25519.PublicKey)) }

// newLedger makes a ledger with two accounts that have funds.
func newLedger(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger")
	g := Genesis{ID: "test", Accounts: map[string]map[string]string{}}
	for n := range byte(2) {
		g.Accounts[address(n)] = map[string]string{GasAsset: "1000000000", "USDX": "1000"}
	}
	if err := Create(path, g); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string, f Faults) *Node {
	t.Helper()
	n, err := Open(Config{Ledger: path, BlockEvery: time.Millisecond, Faults: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func payment(t *testing.T, from byte, nonce, price uint64, amount string) []byte {
	t.Helper()
	raw, _, err := Sign(key(from), Tx{Nonce: nonce, To: payee, Asset: "USDX", Amount: amount, GasPrice: price, Reference: "r"})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func ticks(t *testing.T, n *Node, count int) {
	t.Helper()
	for range count {
		if err := n.Tick(); err != nil {
			t.Fatal(err)
		}
	}
}

func code(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestNoncesAreMinedInOrderAndOnce(t *testing.T) {
	n := open(t, newLedger(t), Faults{})
	for _, nonce := range []uint64{2, 0, 1, 1} { // the same bytes again are no error
		if _, err := n.accept(payment(t, 0, nonce, baseFee, "10")); err != nil {
			t.Fatal(err)
		}
	}
	ticks(t, n, 1)
	if got := n.chain.Balance(payee, "USDX").String(); got != "30" {
		t.Errorf("the payee has %s, want 30", got)
	}
	if _, err := n.accept(payment(t, 0, 1, baseFee, "10")); err != nil {
		t.Errorf("what is mined, sent again: %v", err)
	}
	if _, err := n.accept(payment(t, 0, 1, baseFee, "11")); code(err) != CodeNonceTooLow {
		t.Errorf("another transaction of a used nonce: %v", err)
	}
	if _, err := n.accept(payment(t, 0, 3, baseFee, "5000")); code(err) != CodeFunds {
		t.Errorf("more than there is: %v", err)
	}
}

func TestReplacementNeedsAHigherFee(t *testing.T) {
	n := open(t, newLedger(t), Faults{})
	low, high := payment(t, 0, 0, 5, "10"), payment(t, 0, 0, 50, "10")
	if _, err := n.accept(low); err != nil {
		t.Fatal(err)
	}
	ticks(t, n, 3)
	if f := n.find(HashOf(low)); !f.Known || f.Height != 0 {
		t.Errorf("a fee below the price is mined: %+v", f)
	}
	if _, err := n.accept(payment(t, 0, 0, 5, "11")); code(err) != CodeUnderpriced {
		t.Errorf("the same fee: %v", err)
	}
	if _, err := n.accept(high); err != nil {
		t.Fatal(err)
	}
	ticks(t, n, 1)
	if n.find(HashOf(low)).Known || n.find(HashOf(high)).Height == 0 {
		t.Error("the replacement must be mined, and the replaced transaction be gone")
	}
}

func TestForgedAndOddTransactionsAreRefused(t *testing.T) {
	good := string(payment(t, 0, 0, baseFee, "10"))
	for name, raw := range map[string]string{
		"another amount":   strings.Replace(good, `"amount":"10"`, `"amount":"11"`, 1),
		"another key":      strings.Replace(good, good[8:16], "AAAAAAAA", 1),
		"spaces":           strings.Replace(good, ":", ": ", 1),
		"an unknown field": `{"more":1,` + good[1:],
		"no signature":     good[:strings.Index(good, `,"signature"`)] + "}",
		"a negative value": strings.Replace(good, `"amount":"10"`, `"amount":"-1"`, 1),
		"too long":         good + strings.Repeat(" ", MaxRaw),
		"nothing":          "",
	} {
		if _, err := Parse([]byte(raw)); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

// Each fault leaves the caller without the truth, and the node with it.
func TestFaultsOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		faults Faults
		done   bool // the transaction is in the mempool all the same
		answer bool // the caller got the node's answer
	}{
		"error":   {Faults{Errors: 1000}, false, true},
		"slow":    {Faults{Slow: 1000}, true, false},
		"lost":    {Faults{Lost: 1000}, true, false},
		"garbled": {Faults{Garbled: 1000}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := open(t, newLedger(t), Faults{})
			server := httptest.NewUnstartedServer(n)
			server.Config.ErrorLog = nil
			server.Start()
			defer server.Close()
			client := NewClient(server.URL, 200*time.Millisecond)
			if err := client.Misbehave(t.Context(), c.faults); err != nil {
				t.Fatal(err)
			}
			raw := payment(t, 0, 0, baseFee, "10")
			err := client.Send(t.Context(), raw)
			var refused *Error
			if err == nil || errors.As(err, &refused) != c.answer {
				t.Errorf("the caller got %v", err)
			}
			if err := client.Misbehave(t.Context(), Faults{}); err != nil {
				t.Fatal(err)
			}
			if f, err := client.Transaction(t.Context(), HashOf(raw)); err != nil || f.Known != c.done {
				t.Errorf("afterwards it is %+v, %v", f, err)
			}
		})
	}
}

func TestOddCallsAreRefused(t *testing.T) {
	n := open(t, newLedger(t), Faults{})
	server := httptest.NewServer(n)
	defer server.Close()
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"not JSON":       {"pay me", http.StatusBadRequest},
		"too long":       {strings.Repeat("[", maxMessage+1), http.StatusBadRequest},
		"unknown method": {`{"id":1,"method":"mint","params":{}}`, http.StatusOK},
		"odd params":     {`{"id":1,"method":"send","params":[]}`, http.StatusOK},
		"odd raw":        {`{"id":1,"method":"send","params":{"raw":17}}`, http.StatusOK},
	} {
		reply, err := http.Post(server.URL, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		var answer response
		if reply.StatusCode == http.StatusOK {
			err = json.NewDecoder(reply.Body).Decode(&answer)
		}
		reply.Body.Close()
		if err != nil || reply.StatusCode != c.status || c.status == http.StatusOK && answer.Error == nil {
			t.Errorf("%s: %d, %+v, %v", name, reply.StatusCode, answer, err)
		}
	}
}

// A usurped nonce is another's: the payment can never be mined.
func TestUsurpedNonce(t *testing.T) {
	n := open(t, newLedger(t), Faults{Usurp: 1000})
	raw := payment(t, 0, 0, baseFee, "10")
	if _, err := n.accept(raw); err != nil {
		t.Fatal(err)
	}
	ticks(t, n, 1)
	used := n.find(n.chain.spent[slot{address(0), 0}])
	if used.Height != 1 || used.Hash == HashOf(raw) || n.chain.Balance(payee, "USDX").Sign() != 0 {
		t.Errorf("%+v", used)
	}
	if _, err := n.accept(raw); code(err) != CodeNonceTooLow {
		t.Errorf("the payment afterwards: %v", err)
	}
}

func TestMineEndsWithItsContext(t *testing.T) {
	n := open(t, newLedger(t), Faults{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := n.Mine(ctx); err != nil {
		t.Error(err)
	}
}

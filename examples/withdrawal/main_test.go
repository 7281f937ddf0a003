package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// asProgram makes the test binary the program itself, so that tests can start
// its processes and kill them.
const asProgram = "SETTLE_TEST_RUN_WITHDRAWAL"

func TestMain(m *testing.M) {
	os.Exit(pgtest.MainOr(m, asProgram, main))
}

// office is the whole program in this process, on any store.
type office struct {
	*coordinator
	t      *testing.T
	db     store.Store[store.Unit]
	client *node.Client
	chain  *node.Node
}

// newOffice runs a node on a ledger. Every transaction that it is sent must be
// on file by then.
func newOffice(t *testing.T, db store.Store[store.Unit], ledger, batch string, faults node.Faults) *office {
	t.Helper()
	p := pace{lease: 30 * time.Second, patience: 10 * time.Second, block: 20 * time.Millisecond}
	if faults != (node.Faults{}) {
		p.lease, p.patience = time.Second, 200*time.Millisecond
	}
	batches, err := store.NewBatches(db, p.policy())
	if err != nil {
		t.Fatal(err)
	}
	service := batches.Withdrawals()
	c := &coordinator{options: options{ledger: ledger}, pace: p, batches: batches, service: service, log: io.Discard, started: time.Now()}
	if c.rows, c.refused, err = readBatch("test", strings.NewReader(batch)); err != nil {
		t.Fatal(err)
	}
	if c.genesis, err = openLedger(t.Context(), service, ledger, 4); err != nil {
		t.Fatal(err)
	}
	n, err := node.Open(node.Config{Ledger: ledger, BlockEvery: p.block, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	o := &office{coordinator: c, t: t, db: db, chain: n}
	server := httptest.NewServer(o.onFileFirst(n))
	t.Cleanup(server.Close)
	o.client = node.NewClient(server.URL, p.patience)
	return o
}

// onFileFirst fails the test for a payment that is sent before its intent is
// stored.
func (o *office) onFileFirst(n *node.Node) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if raw, found := sentRaw(body); found {
			tx, err := node.Parse(raw)
			if err != nil {
				o.t.Errorf("the node is sent what is not a transaction: %v", err)
			}
			ctx, of := context.WithoutCancel(r.Context()), uuid.MustParse(tx.Reference)
			stored, err := o.service.Get(ctx, of)
			onFile := false
			for _, t := range stored.Txs {
				onFile = onFile || t.Hash == node.HashOf(raw)
			}
			if tx.Amount == "0" { // of a batch, and pays nobody
				var b withdrawal.Payout
				b, err = o.batches.Get(ctx, of)
				onFile = err == nil && b.Batch.TxHash == node.HashOf(raw)
			}
			if err != nil || !onFile {
				o.t.Errorf("request %s: %s is sent and not on file (%v)", tx.Reference, node.HashOf(raw), err)
			}
		}
		n.ServeHTTP(w, r)
	})
}

// sentRaw returns the bytes of a send call.
func sentRaw(body []byte) ([]byte, bool) {
	var call struct {
		Method string `json:"method"`
		Params struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"params"`
	}
	err := json.Unmarshal(body, &call)
	return call.Params.Raw, err == nil && call.Method == "send"
}

// work lets workers pay until everything is finished, and proves it.
func (o *office) work(workers int) *report {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), 9*time.Minute) // only what hangs reaches it
	defer cancel()
	working, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		if err := o.chain.Mine(working); err != nil {
			o.t.Error(err)
		}
	})
	for i := range workers {
		wg.Go(func() {
			err := work(working, o.batches, o.client, fmt.Sprint("worker-", i), o.skew(i), 0, slog.New(slog.DiscardHandler))
			if err != nil {
				o.t.Error(err)
			}
		})
	}
	wg.Go(func() { o.clerk(working) })
	desk := operators{service: o.service, node: o.client, keys: demoKeys, idle: 10 * time.Millisecond}
	wg.Go(func() { desk.explain(working) }) // somebody else has the keys, which switches a wallet off until a person explains it
	if err := errors.Join(o.intake(ctx), o.finish(ctx, o.client), o.settle(ctx, o.client)); err != nil {
		o.t.Error(err)
	}
	return o.proven(ctx)
}

func (o *office) proven(ctx context.Context) *report {
	o.t.Helper()
	r, err := o.report(ctx, o.db)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, c := range r.Proof {
		if !c.Holds {
			o.t.Errorf("it does not hold that %s: %s", c.Claim, c.Detail)
		}
	}
	return r
}

func inMemory() store.Store[store.Unit] { return memory.New(memory.Options{}) }

func onSQLite(t *testing.T) store.Store[store.Unit] {
	t.Helper()
	db, err := program.Open(t.Context(), filepath.Join(t.TempDir(), "withdrawal.db"), program.Options{Before: program.Migrate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestEverythingIsPaidOnceWithFaults(t *testing.T) {
	for name, c := range map[string]struct {
		open func(t *testing.T) store.Store[store.Unit]
		rows int
	}{
		"memory": {func(*testing.T) store.Store[store.Unit] { return inMemory() }, 120},
		"sqlite": {onSQLite, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := chaosFaults
			faults.Seed, faults.Slow = 7, 5
			o := newOffice(t, c.open(t), filepath.Join(t.TempDir(), "ledger"), generated(c.rows), faults)
			o.chaos = true // sets the clocks of the hosts apart
			r := o.work(3)
			if r.Requests["completed"] != c.rows {
				t.Errorf("%v of %d", r.Requests, c.rows)
			}
			t.Logf("%d rows in %.1f s: attempts %v, signed %d, bumped %d, dead %d, faults %+v",
				c.rows, r.Run.Seconds, r.Attempts, r.Transactions, r.Bumped, r.Dead, r.Run.Faults)
		})
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	db, ledger := inMemory(), filepath.Join(t.TempDir(), "ledger")
	o := newOffice(t, db, ledger, sampleBatch, node.Faults{})
	r := o.work(2)
	needed := naiveApprovals(o.rows)
	if got := [3]int{r.Approvals[0], r.Approvals[1], r.Approvals[2]}; got != needed {
		t.Errorf("approvals %v, want %v", got, needed)
	}
	if r.Requests["completed"] != len(o.rows)-2 || r.Failures["Transaction reverted"] != 2 {
		t.Errorf("%v, %v", r.Requests, r.Failures)
	}
	if r.Attempts["done"] != len(o.rows) || len(r.Attempts) != 1 {
		t.Errorf("without faults each is tried once, not %v", r.Attempts)
	}

	// The same batch again pays nothing, on the same chain, and changes nothing.
	before := versions(t, o)
	o.chain.Close()
	again := newOffice(t, db, ledger, sampleBatch, node.Faults{})
	if r2 := again.work(2); r2.Transactions != r.Transactions || r2.Assets[0] != r.Assets[0] || r2.Assets[1] != r.Assets[1] {
		t.Errorf("%+v, then %+v", r, r2)
	}
	for id, version := range versions(t, again) {
		if before[id] != version {
			t.Errorf("request %s went from version %d to %d", id, before[id], version)
		}
	}
}

func versions(t *testing.T, o *office) map[uuid.UUID]int64 {
	t.Helper()
	found := map[uuid.UUID]int64{}
	err := each(t.Context(), o.db, o.service, func(w everything, err error) {
		found[w.Request.ID] = w.Request.Version<<32 + w.Job.Version
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A database that has paid on one chain does not go on on another.
func TestAnotherLedgerIsRefused(t *testing.T) {
	db := inMemory()
	newOffice(t, db, filepath.Join(t.TempDir(), "ledger"), header+good, node.Faults{})
	service, err := store.NewWithdrawals(db, steady.policy())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openLedger(t.Context(), service, filepath.Join(t.TempDir(), "ledger"), 4); err == nil {
		t.Error("it is accepted")
	}
}

// The proof finds what it is there to find.
func TestProofFails(t *testing.T) {
	t.Parallel()
	o := newOffice(t, inMemory(), filepath.Join(t.TempDir(), "ledger"), generated(3), node.Faults{})
	o.work(1)
	// Somebody with the keys pays a request once more, and something that is none.
	wallet := hotWallets(o.genesis.ID, 1)[0]
	for _, reference := range []string{o.rows[0].Request.String(), "a present"} {
		account, err := o.client.Account(t.Context(), demoKeys.address(wallet))
		if err != nil {
			t.Fatal(err)
		}
		raw, _, err := node.Sign(demoKeys.key(wallet), node.Tx{Nonce: account.Nonce, To: goodTo, Asset: "USDX", Amount: "5", GasPrice: 10, Reference: reference})
		if err != nil {
			t.Fatal(err)
		}
		recorder := httptest.NewRecorder()
		o.chain.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(fmt.Sprintf(`{"id":1,"method":"send","params":{"raw":%s}}`, raw))))
		if err := o.chain.Tick(); err != nil || recorder.Code != http.StatusOK {
			t.Fatal(err, recorder.Code)
		}
	}
	r, err := o.report(t.Context(), o.db)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, c := range r.Proof {
		if !c.Holds {
			failed++
		}
	}
	if r.Pass || failed != 3 {
		t.Errorf("%+v", r.Proof)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-workers", "0"}, {"-wallets", "99"}, {"-timeout", "0s"}, {"more"}, {"-db", "postgres://x"}, {"-unknown"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	err := run(t.Context(), []string{"worker"}, strings.NewReader(""), io.Discard, io.Discard)
	if err == nil {
		t.Error("a worker without a configuration starts")
	}
}

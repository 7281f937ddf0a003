package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// outside sends bytes that no worker has made.
func (o *office) outside(raw json.RawMessage) {
	o.t.Helper()
	recorder := httptest.NewRecorder()
	o.chain.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(fmt.Sprintf(`{"id":1,"method":"send","params":{"raw":%s}}`, raw))))
	if recorder.Code != http.StatusOK || strings.Contains(recorder.Body.String(), "error") {
		o.t.Fatal(recorder.Body.String())
	}
}

// The same payment is mined under a hash that nobody has put on file: bumped in
// another wallet with the same keys, malleated, or made by hand with another payment before
// it. It is paid once.
func TestThePaymentUnderAnotherHashIsPaidOnce(t *testing.T) {
	for _, how := range []string{"bumped", "malleated", "by hand, with another one"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			o, request := byHand(t)
			w := o.eventually(request, "confirming", confirming)
			switch how {
			case "bumped":
				tx, err := node.Parse(w.Txs[0].Raw)
				if err != nil {
					t.Fatal(err)
				}
				raw, _, err := demoKeys.sign(&w.Job, tx.Nonce, 5*tx.GasPrice)
				if err != nil {
					t.Fatal(err)
				}
				o.outside(raw)
			case "by hand, with another one":
				tx, err := node.Parse(w.Txs[0].Raw)
				if err != nil {
					t.Fatal(err)
				}
				tx.GasPrice *= 5
				tx.More = []node.Transfer{{To: tx.To, Asset: tx.Asset, Amount: tx.Amount, Reference: tx.Reference}}
				tx.To, tx.Amount, tx.Reference = "0x00000000000000000000000000000000000000aa", "0", "another"
				raw, _, err := node.Sign(demoKeys.key(w.Job.Wallet), tx)
				if err != nil {
					t.Fatal(err)
				}
				o.outside(raw)
			default:
				o.misbehave(node.Faults{Salt: 1000})
			}
			o.ticks(node.Finality)
			w = o.eventually(request, "completed", completed)
			if len(w.Txs) != 2 || w.Request.FinalTxHash != w.Txs[1].Hash || w.Request.FinalTxHash == w.Txs[0].Hash {
				t.Errorf("final %s of %d transactions", w.Request.FinalTxHash, len(w.Txs))
			}
			o.ticks(2 * node.Finality)
			o.proven(t.Context())
		})
	}
}

// Another transaction of the nonce that is alike only in part is an operator's.
func TestWhatNobodyCanTellIsParked(t *testing.T) {
	for name, change := range map[string]func(*node.Tx){
		"no reference":  func(tx *node.Tx) { tx.Reference = "" },
		"another payee": func(tx *node.Tx) { tx.To = "0x00000000000000000000000000000000000000aa" },
		"less":          func(tx *node.Tx) { tx.Amount = "1" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, request := byHand(t)
			w := o.eventually(request, "confirming", confirming)
			tx, err := node.Parse(w.Txs[0].Raw)
			if err != nil {
				t.Fatal(err)
			}
			tx.GasPrice *= 5
			change(&tx)
			raw, _, err := node.Sign(demoKeys.key(w.Job.Wallet), tx)
			if err != nil {
				t.Fatal(err)
			}
			o.outside(raw)
			o.ticks(node.Finality)
			w = o.eventually(request, "parked", func(w withdrawal.Withdrawal) bool { return w.Job.Review })
			o.ticks(node.Finality)
			if len(w.Txs) != 1 {
				t.Errorf("%d transactions", len(w.Txs))
			}
			r, err := o.report(t.Context(), o.db)
			if err != nil || r.Pass { // it is not finished: an operator has it
				t.Errorf("pass %v, %v", r.Pass, err)
			}
		})
	}
}

func TestPaysIt(t *testing.T) {
	w := withdrawal.Withdrawal{Request: withdrawal.Request{ID: statemachine.ID("request", "r")},
		Job: withdrawal.Job{AssetOnChain: assets["USDX"].id("USDX"), ToAddress: goodTo, AmountRaw: "5"}}
	tx := node.Tx{To: strings.ToUpper(goodTo), Asset: "USDX", Amount: "5", Reference: w.Request.ID.String()}
	theirs := node.Tx{To: "0xaa", Asset: "USDX", Amount: "5", Reference: "another"}
	among := func(tx *node.Tx, all ...node.Tx) { // tx makes all of these
		first := all[0]
		first.More = nil
		for _, t := range all[1:] {
			first.More = append(first.More, node.Transfer{To: t.To, Asset: t.Asset, Amount: t.Amount, Reference: t.Reference})
		}
		*tx = first
	}
	for name, tt := range map[string]struct {
		change func(*node.Found)
		want   answer
	}{
		"alike":               {func(f *node.Found) {}, yes},
		"the second of three": {func(f *node.Found) { among(f.Tx, theirs, *f.Tx, theirs) }, yes},
		"beside another payment to the payee": {func(f *node.Found) {
			also := theirs
			also.To = goodTo
			among(f.Tx, *f.Tx, also)
		}, yes},
		"twice":                     {func(f *node.Found) { among(f.Tx, *f.Tx, *f.Tx) }, unclear},
		"the second another amount": {func(f *node.Found) { ours := *f.Tx; ours.Amount = "4"; among(f.Tx, theirs, ours) }, unclear},
		"the second another payee":  {func(f *node.Found) { ours := *f.Tx; ours.To = "0xaa"; among(f.Tx, theirs, ours) }, unclear},
		"one in full, one in part":  {func(f *node.Found) { ours := *f.Tx; ours.Amount = "4"; among(f.Tx, *f.Tx, ours) }, unclear},
		"two other payments":        {func(f *node.Found) { among(f.Tx, theirs, theirs) }, no},
		"reverted":                  {func(f *node.Found) { f.Reverted = true }, no},
		"nothing":                   {func(f *node.Found) { f.Tx = nil }, no},
		"another payment":           {func(f *node.Found) { f.Tx.To, f.Tx.Reference = "0xaa", "another" }, no},
		"another amount":            {func(f *node.Found) { f.Tx.Amount = "4" }, unclear},
		"another asset":             {func(f *node.Found) { f.Tx.Asset = "ETHX" }, unclear},
		"another payee":             {func(f *node.Found) { f.Tx.To = "0xaa" }, unclear},
		"another reference":         {func(f *node.Found) { f.Tx.Reference = "" }, unclear},
	} {
		copied := tx
		found := node.Found{Known: true, Height: 1, Tx: &copied}
		tt.change(&found)
		output, got := paysIt(&w, &found)
		b := withdrawal.Payout{Members: []withdrawal.Withdrawal{w}, Txs: []withdrawal.BatchTx{{Hash: "ours"}}}
		if all, told := shown(&b, &found); told != (tt.want != unclear) || len(all) == 1 != (tt.want == yes) {
			t.Errorf("%s: of a batch %v, %v", name, all, told)
		}
		if got != tt.want || got == yes && found.Tx.Transfers()[output].Reference != w.Request.ID.String() {
			t.Errorf("%s: %v by output %d, not %v", name, got, output, tt.want)
		}
	}
}

// A version of the batch that a member has left shows what it pays, whoever else has
// the payee of that member.
func TestAVersionOfABatchShowsAllThatItPays(t *testing.T) {
	left := withdrawal.Withdrawal{Request: withdrawal.Request{ID: statemachine.ID("request", "left")},
		Job: withdrawal.Job{AssetOnChain: assets["USDX"].id("USDX"), ToAddress: goodTo, AmountRaw: "5"}}
	b := withdrawal.Payout{Members: []withdrawal.Withdrawal{left}, Txs: []withdrawal.BatchTx{{Hash: "ours"}}}
	found := node.Found{Known: true, Height: 1, Hash: "ours", Tx: &node.Tx{To: goodTo, Asset: "USDX", Amount: "5", Reference: "another member"}}
	if all, told := shown(&b, &found); !told || len(all) != 1 {
		t.Errorf("of a version %v, %v", all, told)
	}
	found.Hash = "theirs"
	if all, told := shown(&b, &found); told {
		t.Errorf("of another transaction %v, %v", all, told)
	}
}

// S8: a host whose clock is off by more than a lease works all the same.
func TestClocksThatAreApart(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-3 * steady.lease, 3 * steady.lease} {
		o := newOffice(t, inMemory(), filepath.Join(t.TempDir(), "ledger"), generated(20), node.Faults{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- work(ctx, o.batches, o.client, "off", skew, 0, slog.New(slog.DiscardHandler)) }()
		r := o.work(1)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if r.Attempts["done"] != 20 || len(r.Attempts) != 1 {
			t.Errorf("with a clock off by %v the attempts are %v", skew, r.Attempts)
		}
	}
}

// Operators who cancel, hold, bump in another wallet, and are wrong.
func TestOperators(t *testing.T) {
	t.Parallel()
	o := newOffice(t, inMemory(), filepath.Join(t.TempDir(), "ledger"), generated(120), node.Faults{})
	server := httptest.NewServer(o.chain) // the other wallet has no files of ours
	defer server.Close()
	o.operators.service, o.operators.node, o.operators.keys = o.service, node.NewClient(server.URL, time.Second), demoKeys
	o.operators.idle = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); o.operators.work(ctx, rand.New(rand.NewPCG(7, 7))) }()
	r := o.work(2)
	stop()
	<-done
	t.Logf("%+v, %v", r.Run.People, r.Requests)
	if p := r.Run.People; p.Refused == 0 || p.Held+p.Cancelled+p.Bumped == 0 {
		t.Errorf("nobody did anything: %+v", p)
	}
}

// A run in which valid requests fail, or in which nothing was asked for, proves
// nothing.
func TestWhatIsNoPass(t *testing.T) {
	o := newOffice(t, inMemory(), filepath.Join(t.TempDir(), "ledger"), generated(1), node.Faults{})
	ctx := t.Context()
	if err := o.intake(ctx); err != nil {
		t.Fatal(err)
	}
	k := &clerk{o.service, nil}
	if _, err := k.round(ctx); err != nil {
		t.Fatal(err)
	}
	request := o.rows[0].Request
	by := withdrawal.By{Actor: "w", Role: withdrawal.WithdrawalWorker, At: time.Now()}
	for {
		w, err := o.service.Get(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		if w.Request.Status == withdrawal.RequestFailed {
			break
		}
		by.At = w.Job.ScheduledAt
		for _, ev := range []withdrawal.Event{withdrawal.Claimed{By: by}, withdrawal.AttemptFailed{By: by, Fence: w.Job.Lease.Fence + 1, Failure: withdrawal.Retryable, Error: "x"}} {
			c, err := o.service.Policy().Apply(w, ev) // the store's clock would make the test wait
			if err == nil {
				err = o.db.Update(ctx, func(tx store.Unit) error { return tx.Withdrawals().Save(c) })
			}
			if err != nil {
				t.Fatal(err)
			}
			w = c.New
		}
	}
	for name, c := range map[string]*coordinator{"retries are used up": o.coordinator,
		"every row is refused": {options: o.options, batches: o.batches, service: o.service, refused: []*RowError{{1, "amount", nil}}, started: time.Now()}} {
		r, err := c.report(ctx, o.db)
		if err != nil || r.Pass {
			t.Errorf("%s: pass %v, %v", name, r.Pass, err)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/internal/hotwallet"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/withdrawal"
)

// asProgram makes the test binary the program itself, so that a test can kill it.
const asProgram = "SETTLE_TEST_RUN_LEDGER"

func TestMain(m *testing.M) {
	os.Exit(pgtest.MainOr(m, asProgram, main))
}

// databases make an empty one, and name it.
var databases = map[string]func(t *testing.T) string{
	"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "ledger.db") },
	"postgres": func(t *testing.T) string { return pgtest.Empty(t, "pgx", pgtest.URL(t)) },
}

// world is what is outside of the service: the chain, the callers, and whoever looks at
// the book beside it.
type world struct {
	t     *testing.T
	chain *node.Node
	watch *service // has connections of its own
	// ask sends a request to the service until there is an answer, and returns its status.
	ask func(ctx context.Context, method, path string, in, out any) int
	// before, if it is not nil, is called before the order of a number, from 0.
	before func(ctx context.Context, i int)

	mu     sync.Mutex
	byHand map[string]bool // what somebody paid although it was refunded
	orders []*order
	audits int
}

type order struct {
	ID                   uuid.UUID
	Customer, To, Amount string
	taken                bool // else its customer had too little
}

func newWorld(t *testing.T, chainFile string, faults node.Faults, every time.Duration) *world {
	t.Helper()
	if err := node.Create(chainFile, genesis); err != nil {
		t.Fatal(err)
	}
	n, err := node.Open(node.Config{Ledger: chainFile, BlockEvery: every, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, chain: n, byHand: map[string]bool{}}
}

// observe opens the database as another process does.
func (w *world) observe(ctx context.Context, db string, lease time.Duration) {
	w.t.Helper()
	var err error
	if w.watch, err = open(ctx, db, policy(lease), slog.New(slog.DiscardHandler)); err != nil {
		w.t.Fatal(err)
	}
}

// check holds the book against the records and against the chain. It may be called at any
// moment, while everything goes on.
func (w *world) check(ctx context.Context) audit {
	w.t.Helper()
	a, err := w.watch.audit(ctx)
	if err != nil {
		w.t.Errorf("audit: %v", err)
	}
	for _, wrong := range a.Wrong {
		w.t.Error(wrong)
	}
	if a.Held != a.Open {
		w.t.Errorf("%d are held, and %d open", a.Held, a.Open)
	}
	posted := w.postings(ctx) // before the chain, which only goes on
	paid, final := w.payments()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.audits++
	for request, kinds := range posted {
		of := paid[request]
		switch {
		case kinds["capture"] && (len(of) == 0 || of[0].Height > final):
			w.t.Errorf("request %s is booked as paid, and the chain, final up to %d, shows %+v", request, final, of)
		case kinds["release"] && len(of) > 0 && !w.byHand[request]:
			w.t.Errorf("request %s is given back, and paid", request)
		}
	}
	for request, of := range paid {
		if len(of) > 1 && !w.byHand[request] {
			w.t.Errorf("request %s is paid %d times", request, len(of))
		}
	}
	return a
}

// postings are the kinds of postings of each request.
func (w *world) postings(ctx context.Context) map[string]map[string]bool {
	of := map[string]map[string]bool{}
	rows, err := w.watch.conn.QueryContext(ctx, "SELECT subject, kind FROM postings WHERE kind <> 'fund'")
	if err != nil {
		w.t.Errorf("postings: %v", err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var subject, kind string
		if err := rows.Scan(&subject, &kind); err != nil {
			w.t.Errorf("postings: %v", err)
		}
		if of[subject] == nil {
			of[subject] = map[string]bool{}
		}
		of[subject][kind] = true
	}
	if err := rows.Err(); err != nil {
		w.t.Errorf("postings: %v", err)
	}
	return of
}

// payments are what the chain shows of each request, and up to which height nothing leaves.
func (w *world) payments() (of map[string][]node.Place, final uint64) {
	of = map[string][]node.Place{}
	w.chain.Look(func(c *node.Chain) {
		final = c.Final()
		for _, p := range c.Transactions() {
			if !p.Foreign && !p.Reverted && p.Tx.Amount != "0" { // a transfer of nothing takes a free nonce, see used
				of[p.Tx.Reference] = append(of[p.Tx.Reference], p)
			}
		}
	})
	return of, final
}

// ended looks at everything once nothing is left to do: each order that was taken is paid
// once or given back once, each other one is nowhere.
func (w *world) ended(ctx context.Context) {
	w.t.Helper()
	a := w.check(ctx)
	posted := w.postings(ctx)
	paid, _ := w.payments()
	captured, released, refused := 0, 0, 0
	for _, o := range w.orders {
		id := o.ID.String()
		of := posted[id]
		delete(paid, id)
		switch byHand := w.byHand[id]; {
		case !o.taken && len(of) == 0:
			refused++
		case of["capture"] && !of["release"] && !byHand:
			captured++
		case of["release"] && of["capture"] == byHand:
			released++
		default:
			w.t.Errorf("order %s: taken %v, %v, by hand %v", id, o.taken, of, byHand)
		}
	}
	if len(paid) > 0 {
		w.t.Errorf("nobody has asked for %v", paid)
	}
	if a.Requests != captured+released || a.Ended != a.Requests || a.Held != 0 {
		w.t.Errorf("%+v", a)
	}
	reversed := 0
	for _, of := range posted {
		if of["reversed"] {
			reversed++
		}
	}
	w.t.Logf("%d paid, %d given back (%d of them paid by hand), %d refused; %d deposits reversed; %d audits",
		captured, released, len(w.byHand), refused, reversed, w.audits)
}

// traffic is what callers and operators do, until all is over.
func (w *world) traffic(ctx context.Context, random *rand.Rand, orders int) {
	customers := []string{"ann", "bea", "cid"}
	for _, name := range customers { // too little for all that they ask for
		gift := map[string]string{"key": "gift to " + name, "amount": strconv.Itoa(1 + orders/6)}
		w.must(http.StatusOK, w.ask(ctx, "POST", "/customers/"+name+"/fund", gift, nil))
	}
	for i := range orders {
		if w.before != nil {
			w.before(ctx, i)
		}
		o := &order{ID: seeded(random), Customer: customers[random.IntN(3)], To: fmt.Sprintf("0x%040x", i+1),
			Amount: fmt.Sprintf("0.%02d", 1+random.IntN(99))}
		switch random.IntN(8) {
		case 0:
			o.To = node.Reverting
		case 1:
			o.Amount = "1" + o.Amount[1:] // above what needs nobody
		}
		w.mu.Lock()
		w.orders = append(w.orders, o)
		w.mu.Unlock()
		status := w.ask(ctx, "POST", "/withdrawals", o, nil)
		o.taken = status == http.StatusOK
		if !o.taken {
			w.must(http.StatusPaymentRequired, status)
		}
		for range random.IntN(3) {
			w.meddle(ctx, random, w.orders[random.IntN(len(w.orders))])
		}
	}
	for _, o := range w.orders {
		if o.taken {
			w.toItsEnd(ctx, random, o)
		}
	}
	for a := w.check(ctx); a.Ended < a.Requests && !w.over(ctx); a = w.check(ctx) {
		w.pause(ctx)
	}
	w.settleByHand(ctx)
}

// everything goes on at once, until all is over.
func (w *world) everything(ctx context.Context, seed uint64, orders int) {
	paid := make(chan int)
	go func() { paid <- w.bitcoin(ctx, rand.New(rand.NewPCG(seed, 3)), 2*orders) }()
	over := make(chan struct{})
	gone := make(chan struct{})
	go func() { w.watchWallet(ctx, over); close(gone) }()
	w.traffic(ctx, rand.New(rand.NewPCG(seed, 1)), orders)
	close(over)
	<-gone
	for want := <-paid; w.check(ctx).Credited != want && !w.over(ctx); {
		w.pause(ctx)
	}
}

// over ends what waits: the test ends, or has failed.
func (w *world) over(ctx context.Context) bool { return ctx.Err() != nil || w.t.Failed() }

func (w *world) pause(ctx context.Context) {
	children.Pause(ctx, w.watch.withdrawals.Policy().CheckEvery)
}

// watchWallet is a person who looks at the alerts: where somebody has paid with the key of the hot wallet
// beside the service, as whoever pays by hand does, the wallet is off until the transactions are explained.
func (w *world) watchWallet(ctx context.Context, over <-chan struct{}) {
	for ; !w.over(ctx); w.pause(ctx) {
		select {
		case <-over:
			return
		default:
		}
		if w.alerted(ctx, "unknown outbound") {
			status := w.ask(ctx, "POST", "/hotwallet/explain", map[string]string{"actor": "olga", "reason": "a test"}, nil)
			if status != http.StatusConflict { // not deep enough yet
				w.must(http.StatusOK, status)
			}
		}
	}
}

// alerted asks whether there is an alert of a name.
func (w *world) alerted(ctx context.Context, name string) bool {
	var alerts []string
	w.must(http.StatusOK, w.ask(ctx, "GET", "/alerts", nil, &alerts))
	return slices.ContainsFunc(alerts, func(a string) bool { return strings.HasPrefix(a, name) })
}

// toItsEnd waits for the end of an order. Of those that are given back some are paid all
// the same, by a person who knows nothing of the book.
func (w *world) toItsEnd(ctx context.Context, random *rand.Rand, o *order) {
	for !w.over(ctx) {
		var v view
		w.must(http.StatusOK, w.ask(ctx, "GET", "/withdrawals/"+o.ID.String(), nil, &v))
		switch {
		case v.Paid != "":
			return
		case v.Refunded != "":
			if o.To != node.Reverting && random.IntN(3) > 0 {
				w.payByHand(ctx, o)
			}
			return
		case v.Status == withdrawal.RequestPending:
			w.say(ctx, o, "approve", "")
		}
		w.pause(ctx)
	}
}

// payByHand pays an order with the key of the hot wallet, and tells the service of it
// once that is final.
func (w *world) payByHand(ctx context.Context, o *order) {
	id := o.ID.String()
	w.mu.Lock()
	w.byHand[id] = true
	w.mu.Unlock()
	client := w.chain.Client(w.watch.withdrawals.Policy().Lease / 10)
	_, amount, err := withdrawal.ParseAmount(o.Amount, decimals)
	if err != nil {
		w.t.Error(err)
	}
	var signed node.Tx
	var raw []byte
	for ; !w.over(ctx); w.pause(ctx) {
		account, err := client.Account(ctx, hotAddress)
		if err != nil {
			continue
		}
		paid, final := w.payments()
		if of := paid[id]; len(of) > 0 {
			if of[0].Height <= final {
				if w.say(ctx, o, "paid", of[0].Hash) == http.StatusOK { // else the chain is shorter at the moment
					return
				}
			}
			continue
		}
		if raw == nil || account.Nonce > signed.Nonce { // no other payment of it can be mined any more
			signed = node.Tx{Nonce: account.Nonce, To: o.To, Asset: symbol, Amount: string(amount), GasPrice: 20 * hotwallet.GasPrice, Reference: id}
			if raw, _, err = node.Sign(key, signed); err != nil {
				w.t.Error(err)
			}
		}
		_ = client.Send(ctx, raw) // taken or not: the chain will show it
	}
}

// settleByHand: what was paid beside the book has an alert until a person has settled it,
// and is in the book.
func (w *world) settleByHand(ctx context.Context) {
	alerted := func() bool { return w.alerted(ctx, "paid and refunded") }
	if alerted() != (len(w.byHand) > 0) {
		w.t.Errorf("%d orders are paid and refunded, that there is an alert is %v", len(w.byHand), alerted())
	}
	for _, o := range w.orders {
		for w.byHand[o.ID.String()] && !w.postings(ctx)[o.ID.String()]["capture"] && !w.over(ctx) {
			w.pause(ctx)
		}
		if w.byHand[o.ID.String()] {
			w.must(http.StatusOK, w.say(ctx, o, "acknowledge", ""))
		}
	}
	if alerted() {
		w.t.Error("the alert stands, and all is settled")
	}
}

// meddle does something to an order, at the wrong moment more often than not.
func (w *world) meddle(ctx context.Context, random *rand.Rand, o *order) {
	if !o.taken {
		return
	}
	switch random.IntN(9) {
	case 0: // an answer was lost: the same again
		w.must(http.StatusOK, w.ask(ctx, "POST", "/withdrawals", o, nil))
	case 1: // another order with the same id
		other := *o
		other.Amount = "0.5" + o.Amount[2:]
		w.must(http.StatusConflict, w.ask(ctx, "POST", "/withdrawals", other, nil))
	case 2, 8:
		w.say(ctx, o, "cancel", "")
	case 3:
		w.say(ctx, o, "reject", "")
	case 4:
		w.say(ctx, o, "approve", "")
	case 5:
		w.say(ctx, o, "acknowledge", "")
	case 6:
		var v view
		w.must(http.StatusOK, w.ask(ctx, "GET", "/withdrawals/"+o.ID.String(), nil, &v))
		status := w.say(ctx, o, "requeue", "")
		if v.Refunded != "" {
			w.must(http.StatusConflict, status)
		}
	case 7:
		children.Pause(ctx, time.Duration(random.Int64N(int64(w.watch.withdrawals.Policy().CheckEvery))))
	}
}

// say has a person say something: it is taken, or refused since it is not the moment.
func (w *world) say(ctx context.Context, o *order, event, tx string) int {
	in := map[string]string{"actor": "olga", "reason": "a test", "tx": tx}
	status := w.ask(ctx, "POST", "/withdrawals/"+o.ID.String()+"/"+event, in, nil)
	if status != http.StatusOK && status != http.StatusConflict {
		w.t.Errorf("%s: %d", event, status)
	}
	return status
}

func (w *world) must(want, status int) {
	w.t.Helper()
	if status != want && status != 0 { // 0: the test is over
		w.t.Errorf("the answer is %d and not %d", status, want)
	}
}

// seeded is an id of a random order.
func seeded(random *rand.Rand) (id uuid.UUID) {
	for i := range id {
		id[i] = byte(random.Uint32())
	}
	return id
}

func body(in any) []byte {
	if in == nil {
		return nil
	}
	text, _ := json.Marshal(in) // plain data
	return text
}

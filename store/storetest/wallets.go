package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
	"github.com/settlehq/settle/utxo/utxotest"
)

// Wallets proves the wallets of a store.
func Wallets[T store.WalletUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	timed := func(tb testing.TB) store.Store[store.WalletUnit] { return timedWallets(open(tb)) }
	opened := func(t *testing.T) *wallets {
		s := timed(t)
		live(s)
		return &wallets{s, must(store.NewWallets(s, utxotest.Policy()))(t)}
	}
	versioned(t, func(t *testing.T) *txSubject { return versionedTxs(t, opened(t)) }, nil)
	type of = *wallets
	prove(t, opened, []rule[of]{
		{"values come back exactly", of.exactValues},
		{"what people say, done or refused, is in the journal, and nothing else is", of.journal},
		{"paging is by key and stable under writes", of.paging},
		{"the feed has each line of what concerns a wallet once, and no context", of.walletFeed},
		{"an unknown wallet or transaction is not found", of.notFound},
		{"readers never see half of a block", of.halfCommits},
		{"each part of a change is stored only on what it was planned on", of.staleSets},
		{"concurrent selections never share a coin", of.sharedCoins},
		{"a selection that is repeated holds what it returns and nothing else", of.repeatedSelection},
		{"a coin that only another wallet's transaction takes is not selected", of.takenElsewhere},
		{"a replacement and a child lease what they add and nothing else", of.replacedAndBumped},
		{"after a restore a wallet pays itself alone, until what may have been spent is spent at depth", of.unsettled},
		{"a coin of a forgotten address is not selected by itself", of.forgotten},
	})
	t.Run("random histories store the same as the memory ledger", func(t *testing.T) { histories(t, timed) })
	t.Run("scenarios end as they say", func(t *testing.T) { scenarios(t, timed) })
}

// wallets is one store under test.
type wallets struct {
	store.Store[store.WalletUnit]
	service *store.Wallets
}

func (w *wallets) do(t testing.TB, events ...utxo.Event) {
	t.Helper()
	must(w.service.Do(ctx, events...))(t)
}

func (w *wallets) snapshot(t testing.TB) utxo.Snapshot {
	t.Helper()
	return must(read(w.Store, func(tx store.WalletUnit) (utxo.Snapshot, error) { return tx.WalletQueries().Snapshot() }))(t)
}

// funded opens wallet 1 and gives it n coins of 1000 satoshi in one block.
func (w *wallets) funded(t testing.TB, n int) (utxo.Block, *wire.MsgTx) {
	t.Helper()
	outs := make([]*wire.TxOut, n)
	for i := range outs {
		outs[i] = utxotest.Pay(1000, utxotest.Script(1, "a"))
	}
	tx := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, outs...)
	b := utxotest.NewBlock(1, chainhash.Hash{}, 0)
	w.do(t, utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.Connected{Block: b, Txs: []*wire.MsgTx{tx}, By: utxo.By{At: utxotest.Start}})
	return b, tx
}

func (w *wallets) exactValues(t *testing.T) {
	dated(w.Store, utxotest.Start)
	big := make([]byte, 64<<10)
	for i := range big {
		big[i] = byte(i)
	}
	large := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(0), utxotest.External(1<<32 - 2)},
		utxotest.Pay(21_000_000*100_000_000, utxotest.Script(1, "ключ \U0001F511 '\"\\%")),
		utxotest.Pay(0, utxotest.Script(1, "")),
		utxotest.Pay(0, big))
	times := []time.Time{time.Unix(0, 1000).UTC(), time.Date(9000, 12, 31, 23, 59, 59, 999999000, time.UTC)}
	b := utxotest.NewBlock(1<<31-1, chainhash.HashH([]byte("prev")), 0)
	b.Time = times[1]
	id := utxo.TxID{Wallet: 1, Hash: large.TxHash()}
	events := []utxo.Event{
		utxo.WalletOpened{Wallet: 1, Birth: 1<<31 - 1},
		utxo.Connected{Block: b, Txs: []*wire.MsgTx{large}, Positions: []int32{1<<31 - 1}, By: utxo.By{At: times[0]}},
		// again, at the last height
		utxo.Connected{Block: b, Txs: []*wire.MsgTx{large}, Positions: []int32{1<<31 - 1}, By: utxo.By{At: times[0]}},
		utxo.Labelled{ID: id, Label: strings.Repeat("\U0001F600", utxo.MaxLabel), By: utxo.By{At: utxotest.Start}},
		utxo.OutputsLeased{Wallet: 1, OutPoints: []wire.OutPoint{utxotest.Out(large, 0)}, Lock: utxo.LockID{31: 255},
			Duration: time.Microsecond, By: utxo.By{At: utxotest.Start}},
	}
	want := utxo.NewLedger(utxotest.Policy())
	for _, ev := range events {
		must(want.DoAt(ev, utxotest.Start))(t)
		w.do(t, ev)
	}
	snap, _ := want.Snapshot()
	sameSnapshot(t, snap, w.snapshot(t))
	noError(t, w.sameReads(want, times[1]))
	d, err := w.service.Detail(ctx, id)
	if err != nil || len(d.Tx.Raw) != large.SerializeSize() {
		t.Fatalf("the detail has %d raw bytes, want %d (%v)", len(d.Tx.Raw), large.SerializeSize(), err)
	}
}

// sameSnapshot compares two snapshots but for the numbers of arrival, which each store
// gives itself.
func sameSnapshot(t testing.TB, want, got utxo.Snapshot) {
	t.Helper()
	for _, s := range []*utxo.Snapshot{&want, &got} {
		s.Txs = slices.Clone(s.Txs)
		for i, tx := range s.Txs {
			one := *tx
			one.Arrival = 0
			s.Txs[i] = &one
		}
	}
	same(t, "what is stored", got, want)
}

func (w *wallets) walletFeed(t *testing.T) {
	tip, tx := w.funded(t, 2)
	head, err := w.service.Head(ctx)
	if err != nil || head == "" {
		t.Fatalf("the head is %q, %v", head, err)
	}
	parent := utxotest.NewTx(2, []wire.OutPoint{utxotest.External(2)}, utxotest.Pay(9, utxotest.Foreign))
	child := utxotest.NewTx(3, []wire.OutPoint{utxotest.Out(parent, 0)}, utxotest.Pay(8, utxotest.Script(1, "a")))
	rival := utxotest.NewTx(4, []wire.OutPoint{utxotest.External(2)}, utxotest.Pay(7, utxotest.Foreign))
	by := utxo.By{Actor: "node", Role: "feed", At: utxotest.Start}
	w.do(t, utxo.Observed{Txs: []*wire.MsgTx{child, parent}, Tip: tip.Hash, By: by},
		utxo.Observed{Txs: []*wire.MsgTx{rival}, Tip: tip.Hash, By: by},
		utxo.Disconnected{Hash: tip.Hash}, utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: tx.TxHash()}, Reason: "given up"})
	read := func(from store.Cursor, limit int) (lines []string, last store.Cursor) {
		for {
			page, next, err := w.service.Follow(ctx, from, limit)
			if err != nil || len(page) > limit || len(page) == 0 && next != from {
				t.Fatalf("a page of %d is %v, %q, %v", limit, page, next, err)
			}
			if len(page) == 0 {
				return lines, from
			}
			for _, l := range page {
				lines = append(lines, fmt.Sprintf("%s %d %s %s %s %s%s", l.ID.Hash, l.Version, l.Trigger, l.To, l.Actor, l.Role, l.Reason))
			}
			from = next
		}
	}
	line := func(of *wire.MsgTx, rest string) string { return of.TxHash().String() + " " + rest }
	want := []string{
		line(tx, "1 confirmed published  "), line(child, "1 observed published node feed"),
		line(child, "2 parent_died failed node feed"), line(tx, "2 block_disconnected published  "), line(tx, "3 invalidated failed  given up"),
	}
	for limit := range 4 {
		if got, _ := read("", limit+1); !reflect.DeepEqual(got, want) {
			t.Fatalf("by pages of %d the feed is\n%s\nwant\n%s", limit+1, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if got, _ := read(head, 10); !reflect.DeepEqual(got, want[1:]) {
		t.Fatalf("from the head the feed is %v", got)
	}
	if txs, err := w.service.History(ctx, 1, nil, 10); err != nil || len(txs) != 2 {
		t.Fatalf("the history has %d transactions, want the two without context (%v)", len(txs), err)
	}
	if d, err := w.service.Detail(ctx, utxo.TxID{Wallet: 1, Hash: parent.TxHash()}); err != nil || !d.Tx.Context ||
		d.Tx.Status != utxo.Replaced {
		t.Fatalf("the detail of the parent is %+v, %v", d.Tx, err)
	}
}

func (w *wallets) paging(t *testing.T) {
	tip, _ := w.funded(t, 5)
	for i := range uint32(6) {
		w.do(t, utxo.Observed{Txs: []*wire.MsgTx{utxotest.NewTx(100+i, []wire.OutPoint{utxotest.External(100 + i)},
			utxotest.Pay(7, utxotest.Script(1, "b")))},
			Seq: int64(i + 1), Tip: tip.Hash, By: utxo.By{At: utxotest.Start.Add(time.Duration(i/2) * time.Second)}})
	}
	all, err := w.service.History(ctx, 1, nil, 1000)
	if err != nil || len(all) != 7 {
		t.Fatalf("the history has %d transactions, want 7 (%v)", len(all), err)
	}
	var after *utxo.HistoryKey
	for i := range all {
		page, err := w.service.History(ctx, 1, after, 1)
		if err != nil || len(page) != 1 || page[0].ID != all[i].ID {
			t.Fatalf("page %d is %v, want %v (%v)", i+1, page, all[i].ID, err)
		}
		if i > 0 && all[i-1].Key().Compare(all[i].Key()) >= 0 {
			t.Fatalf("transaction %d of the history is out of order", i+1)
		}
		key := page[0].Key()
		after = &key
		// Something newer does not disturb the pages behind it.
		w.do(t, utxo.Observed{Txs: []*wire.MsgTx{utxotest.NewTx(200+uint32(i), []wire.OutPoint{utxotest.External(200 + uint32(i))},
			utxotest.Pay(7, utxotest.Script(1, "b")))},
			Seq: int64(i + 50), Tip: tip.Hash, By: utxo.By{At: utxotest.Start.Add(time.Hour)}})
	}
	inPages(t, "outputs", must(w.service.Outputs(ctx, 1, nil, 1000))(t), func(after *store.CoinState, _ int) ([]store.CoinState, error) {
		if after == nil {
			return w.service.Outputs(ctx, 1, nil, 1)
		}
		return w.service.Outputs(ctx, 1, &after.OutPoint, 1)
	})
}

func (w *wallets) notFound(t *testing.T) {
	w.funded(t, 1)
	id := utxo.TxID{Wallet: 1}
	refusedWith(t, errOf(w.service.Balance(ctx, 1, nil, -1)), statemachine.ErrInvalid, "a balance with -1 confirmations")
	for name, err := range map[string]error{
		"Balance": errOf(w.service.Balance(ctx, 9, nil, 1)), "Unspent": errOf(w.service.Unspent(ctx, 9, nil)),
		"History": errOf(w.service.History(ctx, 9, nil, 1)),
		"Detail":  errOf(w.service.Detail(ctx, id)), "Trail": errOf(w.service.Trail(ctx, id)), "Stats": errOf(w.service.Stats(ctx, 9)),
		"Labelled": errOf(w.service.Do(ctx, utxo.Labelled{ID: id, Label: "x"})),
		"OutputsLeased": errOf(w.service.Do(ctx, utxo.OutputsLeased{Wallet: 9, OutPoints: make([]wire.OutPoint, 1),
			Lock: utxo.LockID{1}, Duration: time.Second})),
	} {
		refusedWith(t, err, statemachine.ErrNotFound, name)
	}
}

func (w *wallets) halfCommits(t *testing.T) {
	reading, cancel := context.WithCancel(ctx)
	b, tx := w.funded(t, 20)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for reading.Err() == nil {
				err := w.View(ctx, func(tx store.WalletUnit) error {
					snap, err := tx.WalletQueries().Snapshot()
					if err != nil {
						return err
					}
					return utxo.Check(snap)
				})
				if err != nil {
					t.Errorf("a reader sees: %v", err)
					return
				}
			}
		})
	}
	for range 25 {
		w.do(t, utxo.Disconnected{Hash: b.Hash})
		w.do(t, utxo.Connected{Block: b, Txs: []*wire.MsgTx{tx}})
	}
	cancel()
	readers.Wait()
}

func (w *wallets) sharedCoins(t *testing.T) {
	const workers, each = 8, 5
	w.funded(t, workers*each)
	taken := make([][]coinselect.Candidate, workers)
	noError(t, errors.Join(atOnce(workers, func(i int) error {
		for round := range each {
			sel, err := w.service.SelectAndLease(ctx, store.Spend{Wallet: 1, Lock: utxo.LockID{byte(i), byte(round), 1},
				Duration: time.Hour, Request: selectOne(500)})
			if err != nil {
				return err
			}
			taken[i] = append(taken[i], sel.Inputs...)
		}
		return nil
	})...))
	coins := map[wire.OutPoint]bool{}
	for _, in := range slices.Concat(taken...) {
		if coins[in.OutPoint] {
			t.Errorf("%s was given out twice", in.OutPoint)
		}
		coins[in.OutPoint] = true
	}
	_, err := w.service.SelectAndLease(ctx, store.Spend{
		Wallet: 1, Lock: utxo.LockID{255}, Duration: time.Hour, Request: selectOne(500),
	})
	if err == nil || len(coins) != workers*each {
		t.Errorf("%d coins were given out and the next selection gives %v, want all %d and a refusal", len(coins), err, workers*each)
	}
}

// selectOne asks for a payment that one coin of the tests covers, at no fee.
func selectOne(amount int64) coinselect.Request {
	payment, err := coinselect.Pay(utxotest.Pay(amount, utxotest.Foreign))
	if err != nil {
		panic(err)
	}
	return coinselect.Request{
		Algorithm: coinselect.LargestFirst, Payment: payment, ChangeScript: utxotest.Script(1, "a"),
		InputWeight: func([]byte) (int64, bool) { return 272, true },
	}
}

func (w *wallets) repeatedSelection(t *testing.T) {
	b, _ := w.funded(t, 2)
	spend := store.Spend{Wallet: 1, Lock: utxo.LockID{7}, Duration: time.Hour, Request: selectOne(500)}
	chosen := func() wire.OutPoint {
		t.Helper()
		sel, err := w.service.SelectAndLease(ctx, spend)
		if err != nil || len(sel.Inputs) != 1 {
			t.Fatalf("selected %v, %v", sel.Inputs, err)
		}
		held := w.snapshot(t).Leases
		if len(held) != 1 || held[0].OutPoint != sel.Inputs[0].OutPoint {
			t.Fatalf("selected %s, leased are %v", sel.Inputs[0].OutPoint, held)
		}
		return held[0].OutPoint
	}
	dust := spend
	dust.Request = selectOne(coinselect.DustThreshold(utxotest.Foreign, coinselect.DefaultDustRelay) - 1)
	refusedWith(t, errOf(w.service.SelectAndLease(ctx, dust)), coinselect.ErrDust, "a payee that no node relays")
	if held := w.snapshot(t).Leases; len(held) != 0 {
		t.Errorf("leased for a payee that no node relays: %v", held)
	}
	first := chosen() // and the answer is lost
	larger := utxotest.NewTx(2, []wire.OutPoint{utxotest.External(2)}, utxotest.Pay(5000, utxotest.Script(1, "a")))
	w.do(t, utxo.Connected{Block: utxotest.NewBlock(2, b.Hash, 0), Txs: []*wire.MsgTx{larger}, By: utxo.By{At: utxotest.Start}})
	if second := chosen(); second == first {
		t.Fatal("the larger coin was not chosen: the rule is not tested")
	}
}

// journal: each event that a person says of wallets is one line of the journal, whether it
// changed something, nothing, or was refused; what others say is none.
func (w *wallets) journal(t *testing.T) {
	read, heard, n := readJournal(w.Store), map[string]int{}, 0
	roles := []string{"operator", "approver", "node", ""}
	say := func(ev utxo.Event, role string) {
		said := reflect.New(reflect.TypeOf(ev)).Elem()
		said.Set(reflect.ValueOf(ev))
		by := said.FieldByName("By").Addr().Interface().(*utxo.By)
		by.Actor, by.Role, by.Trace, by.Via = "olga", role, fmt.Sprint("trace ", n), "console"
		sets, err := w.service.Do(ctx, said.Interface().(utxo.Event))
		if !statemachine.Person(role) {
			read.has(t, "a node")
			return
		}
		line := statemachine.JournalLine{Actor: "olga", Role: by.Role, Domain: string(store.DomainWallets), Machine: "utxo.wallet",
			ID:    fmt.Sprint(utxo.Scope(ev)),
			Event: statemachine.EventName(ev), Outcome: "done", Trace: by.Trace, Via: "console"}
		if id := utxo.Names(ev); id.Wallet != 0 {
			line.Machine, line.ID = utxo.TxMachine.Name(), id.String()
		}
		switch {
		case err != nil:
			line.Outcome, line.Error = string(statemachine.CodeOf(err)), statemachine.Bounded(err.Error(), 1000)
			heard["refused"]++
		case sets[0].Empty():
			line.Outcome = "already so"
		}
		heard[line.Outcome]++
		read.has(t, line.Event, line)
	}
	for seed := range uint64(3) { // the later ones in the world of the first
		noError(t, utxotest.NewHistory(seed, 60).Play(func(ev utxo.Event) error {
			n++
			say(ev, roles[n%len(roles)])
			return nil
		}))
	}
	for _, ev := range utxo.Events() {
		say(ev, "operator")
	}
	if heard["done"] == 0 || heard["already so"] == 0 || heard["refused"] == 0 {
		t.Errorf("heard: %v", heard)
	}
}

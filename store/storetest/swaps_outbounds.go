package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

func (db *swaps) drawnOnce(t *testing.T) {
	s := db.deposits
	var ids []string
	for range concurrentAttempts {
		id := s.newID()
		s.do(t, id, arrived(swap.ToUSDD, id)...)
		ids = append(ids, id)
	}
	for k, err := range atOnce(len(ids), func(k int) error {
		_, err := s.service.Do(ctx, ids[k], begun(swap.ToUSDD, ids[k]))
		return err
	}) {
		if err != nil {
			t.Fatalf("%s: %v", ids[k], err)
		}
	}
	seen := map[uint64]bool{}
	for _, id := range ids {
		d := s.get(t, id)
		seen[d.Intents[0].Reference] = true
	}
	if len(seen) != len(ids) || seen[0] {
		t.Fatalf("%d items drew %v", len(ids), seen)
	}
	for n := range uint64(len(ids)) {
		if !seen[n+1] {
			t.Errorf("number %d was skipped", n+1)
		}
	}
	// Of one call, too, also behind a number that an event of it shows.
	shown := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "n500", Reference: 500, Amount: 5}
	all := []store.SwapCommand{{ID: ids[0], Events: []swap.Event{swap.Outbound{By: swapBy(swap.Observer, "scanner"), Seen: shown}}}}
	for range 2 {
		id := s.newID()
		s.do(t, id, arrived(swap.ToUSDD, id)...)
		all = append(all, store.SwapCommand{ID: id, Events: []swap.Event{begun(swap.ToUSDD, id)}})
	}
	got, err := db.service.Deposits.DoAll(ctx, all...)
	if err != nil || got[1].Intents[0].Reference != 501 || got[2].Intents[0].Reference != 502 {
		t.Errorf("one call drew %+v, %v", got, err)
	}
}

// referenceOnce: the counter refuses a number first, and below it the store does.
func (db *swaps) referenceOnce(t *testing.T) {
	s := db.deposits
	counter := func() uint64 {
		c := must(read(db.Store, func(tx store.SwapUnit) (swap.Control, error) { return tx.SwapHouse().Control(false) }))(t)
		return c.Reference
	}
	first := s.newID()
	s.do(t, first, arrived(swap.ToUSDD, first)...)
	ev := begun(swap.ToUSDD, first)
	ev.Reference = 77
	s.do(t, first, ev)
	if n := counter(); n != 77 {
		t.Errorf("the counter is at %d", n)
	}
	s.do(t, first, ev) // the same again
	ev.Reference = 0
	s.do(t, first, ev)
	if n := counter(); n != 77 {
		t.Errorf("an intent that is on file drew %d", n)
	}
	id := s.newID()
	d := s.do(t, id, arrived(swap.ToUSDD, id)...)
	ev = begun(swap.ToUSDD, id)
	ev.Reference = 77
	refusedWith(t, errOf(s.service.Do(ctx, id, ev)), statemachine.ErrConflict, "a number at the counter")
	ev.Control = swap.Control{SolanaScanned: true, NexusScanned: true}
	refusedWith(t, s.save(s.change(t, d, ev)), statemachine.ErrConflict, "a number of another intent")
}

// signatureOnce: one transaction is one intent's.
func (db *swaps) signatureOnce(t *testing.T) {
	s := db.credits
	first, second := s.newID(), s.newID()
	s.do(t, first, append(arrived(swap.ToUSDC, first), begun(swap.ToUSDC, first))...)
	s.do(t, second, arrived(swap.ToUSDC, second)...)
	ev := begun(swap.ToUSDC, second)
	ev.Signature = begun(swap.ToUSDC, first).Signature
	refusedWith(t, errOf(s.service.Do(ctx, second, ev)), statemachine.ErrConflict, "a signature of another intent")
	s.do(t, second, begun(swap.ToUSDC, second))
}

func (db *swaps) namedOutbound(t *testing.T) {
	observer := swapBy(swap.Observer, "scanner")
	for _, of := range swap.Direction(0).Values() {
		f := db.filing(t, claim{of, swap.Send})
		i, err := f.do(begun(of, f.id))
		if err == nil {
			err = db.service.Outbound(ctx, observer, swaptest.Sighting(&i.Intents[0], false))
		}
		if err != nil {
			t.Fatal(err)
		}
		if i, err = f.do(); err != nil || !i.Intents[0].Landed() || i.Intents[0].Final {
			t.Errorf("the %v has %+v, %v", of, i.Intents, err)
		}
		misfit := swaptest.Sighting(&i.Intents[0], false)
		misfit.TxID, misfit.Of = "misfit", "another" // whose it is the service alone says
		misfit.Amount++
		if i, err = f.do(swap.Outbound{By: observer, Seen: misfit}); err != nil || len(i.Discrepancies) != 1 ||
			strings.Contains(i.Discrepancies[0].Text, "another") {
			t.Errorf("the %v has %+v, %v", of, i.Discrepancies, err)
		}
	}
	for range 2 {
		for _, loose := range []swap.Sighting{{VaultSigned: true, Chain: swap.Nexus, TxID: "n9", Reference: 99, Amount: 5},
			{VaultSigned: true, Chain: swap.Solana, TxID: "s9", Memo: "rent", Amount: 6},
			{VaultSigned: true, Chain: swap.Solana, TxID: "s10", Memo: "refundSig:unknown", Amount: 7},
			{Chain: swap.Solana, TxID: "dust", Memo: "refundSig:unknown", Amount: 8}} {
			noError(t, db.service.Outbound(ctx, observer, loose))
		}
	}
	// The counter goes on above what was seen on the chain.
	if c, err := db.service.Control(ctx); err != nil || c.Reference != 99 {
		t.Errorf("the counter is at %d, %v", c.Reference, err)
	}
	for _, lie := range []swap.Sighting{{Chain: swap.Nexus, TxID: "n10", Reference: 1000, Amount: 5},
		{VaultSigned: true, Chain: swap.Nexus, TxID: "n9", Reference: 98, Amount: 5},
		{VaultSigned: true, Chain: swap.Solana, TxID: "failed", Memo: "rent", Amount: 5, Errored: true}} {
		noError(t, db.service.Outbound(ctx, observer, lie))
	}
	after := "named3"
	if d, err := db.service.Deposits.Do(ctx, after, append(arrived(swap.ToUSDD, after), begun(swap.ToUSDD, after))...); err != nil ||
		d.Intents[0].Reference != 100 {
		t.Errorf("drew %+v, %v", d.Intents, err)
	}
	// Whoever shows it: a row that is rebuilt, held or finished, a look-up, an item's history.
	lost := arrival(swap.ToUSDD, "lost")
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "n200", Reference: 200, Amount: 9_890_000, Destination: "carol",
		Token: "USDD", Confirmations: 99}
	rebuilt := swap.Recovered{By: swapBy(swap.System, "recovery"), Observed: lost, Memo: "nexus:carol", Action: swap.Send, Seen: seen}
	held := rebuilt
	held.Observed.ID, held.Action, held.Seen.Reference = "lost2", 0, 210
	look, line := swap.Looked{By: swapBy(swap.Worker, "w"), Number: 1, Finding: swap.LookFound, Seen: seen},
		swap.Outbound{By: observer, Seen: seen}
	look.Seen.TxID, line.Seen.TxID = "n220", "n230"
	look.Seen.Reference, line.Seen.Reference = 220, 230
	for k, ev := range []swap.Event{rebuilt, held, look, line} {
		id := "lost"
		if k == 1 {
			id = "lost2"
		}
		must(db.service.Deposits.Do(ctx, id, ev, ev))(t)
		if c, err := db.service.Control(ctx); err != nil || c.Reference != uint64(200+10*k) {
			t.Errorf("%T leaves the counter at %d, %v", ev, c.Reference, err)
		}
	}
	// What a person has paid and filed names nobody: it is that item's.
	f := db.filing(t, claim{swap.ToUSDD, swap.Refund})
	byHand := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "byhand", Memo: "thanks", Amount: 9_900_000, Destination: "alice",
		Token: "USDC", Finalized: true}
	must(f.do(f.paidBy(byHand.TxID)))(t)
	f2 := db.filing(t, claim{swap.ToUSDC, swap.Refund})
	must(f2.do(f2.paidBy("ab99")))(t)
	for f, seen := range map[*filing]swap.Sighting{&f: byHand, &f2: {VaultSigned: true, Chain: swap.Nexus, TxID: "0xAB99", Reference: 180,
		Amount: 9_999_000, Destination: "alice", Token: "USDD", Confirmations: 99}} {
		err := db.service.Outbound(ctx, observer, seen)
		if d, id, err2 := db.service.Named(ctx, seen); err != nil || err2 != nil || id != f.id || d != f.d {
			t.Errorf("it is of %v %q, %v, %v", d, id, err, err2)
		}
		if i, err := f.do(); err != nil || !i.Intents[0].Landed() {
			t.Errorf("the %v has %+v, %v", f.d, i.Intents, err)
		}
	}
	page, _, err := db.service.Discrepancies(ctx, 0, 100)
	page = slices.DeleteFunc(page, func(d swap.Discrepancy) bool { return d.Item == "lost" || d.Key == "misfit" })
	if err != nil || len(page) != 3 || slices.ContainsFunc(page,
		func(d swap.Discrepancy) bool { return d.Kind != swap.UnattributedOutbound }) {
		t.Errorf("recorded are %+v, %v", page, err)
	}
}

// claims are the outbounds that an operator may file, by chain.
var claims = map[swap.Chain][]claim{
	swap.Nexus:  {{swap.ToUSDD, swap.Send}, {swap.ToUSDC, swap.Refund}},
	swap.Solana: {{swap.ToUSDC, swap.Send}, {swap.ToUSDD, swap.Refund}},
}

type claim struct {
	d swap.Direction
	a swap.Action
}

// filing is an item that is ready to be paid, and how its operator files a
// transaction for it.
type filing struct {
	id  string
	do  func(events ...swap.Event) (*swap.Item, error)
	put func(events ...swap.Event) func() error // decided now, saved when it is called
	claim
}

func (db *swaps) filing(t *testing.T, c claim) filing {
	if c.d == swap.ToUSDD {
		return filingOf(t, db.deposits, c, func(d *swap.Deposit) *swap.Item { return &d.Item })
	}
	return filingOf(t, db.credits, c, func(c *swap.Credit) *swap.Item { return &c.Item })
}

func filingOf[A any](t *testing.T, s *swapSubject[A], c claim, head func(*A) *swap.Item) filing {
	a := s.make(t, &s.stages[1])
	return filing{claim: c, id: s.id(&a),
		do: func(events ...swap.Event) (*swap.Item, error) {
			a, err := s.service.Do(ctx, s.id(&a), events...)
			return head(&a), err
		},
		put: func(events ...swap.Event) func() error {
			change := s.change(t, s.get(t, s.id(&a)), events[0])
			return func() error { return s.save(change) }
		}}
}

func (f filing) paidBy(txid string) swap.PaidBy {
	by := swapBy(swap.Operator, "oscar")
	by.At = start.Add(time.Hour)
	return swap.PaidBy{By: by, Action: f.a, TxID: txid, Reason: "by hand"}
}

// claimedOnce: of all items in both directions one is paid by a transaction that
// operators file.
func (db *swaps) claimedOnce(t *testing.T) {
	n := 0
	for chain, all := range claims {
		for _, first := range all {
			for _, second := range all {
				a, b := db.filing(t, first), db.filing(t, second)
				n++
				txid, again := fmt.Sprintf("ab%d", n), fmt.Sprintf("0xAB%d", n)
				if chain == swap.Solana {
					again = txid
				}
				what := fmt.Sprintf("%s of a %v and of a %v", txid, first.d, second.d)
				late := b.put(b.paidBy(again)) // decided before the other was stored
				before, err1 := b.do()
				_, err2 := a.do(a.paidBy(txid))
				_, err3 := a.do(a.paidBy(again)) // the same again
				noError(t, errors.Join(err1, err2, err3))
				refusedWith(t, late(), statemachine.ErrConflict, what)
				refusedWith(t, errOf(b.do(b.paidBy(again))), statemachine.ErrConflict, what)
				if now, err := b.do(); err != nil || now.Version != before.Version || len(now.Intents) > 0 {
					t.Errorf("%s: the second is at %d, %+v, %v", what, now.Version, now.Intents, err)
				}
				// The first was a mistake, and is taken back: now it may be the second's.
				wrong := swap.NotSent{By: a.paidBy("").By, Number: 1, Reason: "by mistake"}
				wrong.At = wrong.At.Add(time.Hour)
				must(a.do(wrong))(t)
				must(b.do(b.paidBy(again)))(t)
				both := []filing{db.filing(t, first), db.filing(t, second)}
				oneOf(t, atOnce(2, func(k int) error {
					_, err := both[k].do(both[k].paidBy(txid + "c"))
					return err
				}), statemachine.ErrConflict)
			}
		}
	}
}

// ownedOutbound: what was sent for one item and is filed for another is found to be
// the first one's, whoever was first.
func (db *swaps) ownedOutbound(t *testing.T) {
	for n, second := range append(claims[swap.Nexus], claims[swap.Nexus]...) {
		a, b := db.filing(t, claim{swap.ToUSDD, swap.Send}), db.filing(t, second)
		txid := fmt.Sprintf("cd%d", n)
		sent := must(a.do(begun(a.d, a.id)))(t)
		in := sent.Intents[0]
		steps := []func() error{
			func() error { _, err := b.do(b.paidBy(txid)); return err },
			func() error {
				_, err := a.do(swap.Answered{By: swapBy(swap.Worker, "worker"), Fence: 1, Number: 1, Outcome: statemachine.Done, TxID: txid})
				return err
			},
		}
		if n >= len(claims[swap.Nexus]) {
			slices.Reverse(steps)
		}
		noError(t, errors.Join(steps[0](), steps[1]()))
		filed, _ := b.do()
		seen := swaptest.Sighting(&in, true)
		seen.TxID, seen.Amount = txid, filed.Intents[0].Net
		worker := swapBy(swap.Worker, "worker")
		for _, ev := range []swap.Event{swap.Looked{By: worker, Number: 1, Finding: swap.LookFound, Seen: seen},
			swap.Outbound{By: swapBy(swap.Observer, "scanner"), Seen: seen}} {
			now, err := b.do(ev)
			if err != nil || now.Hold.Kind != swap.ByMismatch || len(now.Discrepancies) != 1 ||
				!strings.Contains(now.Discrepancies[0].Text, a.id) || now.Intents[0].Landed() {
				t.Errorf("a %v, filed with the transaction of another: %+v, %v", second.d, now, err)
			}
		}
		seen.Amount = in.Net
		look := swap.Looked{By: worker, Number: 1, Finding: swap.LookFound, Seen: seen}
		if now, err := a.do(look, look); err != nil || !now.Intents[0].Final || len(now.Discrepancies) > 0 {
			t.Errorf("the one that it was sent for: %+v, %v", now, err)
		}
	}
}

// contestedOutbound: an intent is answered with a second transaction that an operator has filed for another item. The
// second transaction is stored with the intent's item, and a discrepancy names the other item; after not_sent at the
// other item, the transaction belongs to the first.
func (db *swaps) contestedOutbound(t *testing.T) {
	for n, other := range claims[swap.Nexus] {
		a, b := db.filing(t, claim{swap.ToUSDD, swap.Send}), db.filing(t, other)
		first, second := fmt.Sprintf("ef%d", n), fmt.Sprintf("ff%d", n)
		worker := swapBy(swap.Worker, "worker")
		_, err := b.do(b.paidBy(second))
		sent, err2 := a.do(begun(a.d, a.id), swap.Answered{By: worker, Fence: 1, Number: 1, Outcome: statemachine.Done, TxID: first})
		noError(t, errors.Join(err, err2))
		in := sent.Intents[0]
		seen := swaptest.Sighting(&in, true)
		seen.TxID = second
		now, err := a.do(swap.Outbound{By: swapBy(swap.Observer, "scanner"), Seen: seen})
		if err != nil || len(now.Intents) != 2 || now.Intents[1].Claim != "" || len(now.Discrepancies) != 2 ||
			now.Discrepancies[1].Kind != swap.Contested || !strings.Contains(now.Discrepancies[1].Text, b.id) {
			t.Fatalf("a %v filed it: %+v, %v", other.d, now, err)
		}
		order := a.paidBy(second)
		if _, err = a.do(order); !errors.Is(err, statemachine.ErrConflict) || !strings.Contains(err.Error(), b.id) {
			t.Errorf("it is refused without the name of its item: %v", err)
		}
		wrong := swap.NotSent{By: b.paidBy("").By, Number: 1, Reason: "by mistake"}
		wrong.At = wrong.At.Add(time.Hour)
		if _, err = b.do(wrong); err == nil {
			now, err = a.do(swap.Looked{By: worker, Number: 2, Finding: swap.LookFound, Seen: seen})
		}
		if err != nil || now.Intents[1].Claim != "nexus "+second {
			t.Errorf("after not_sent: %+v, %v", now, err)
		}
		refusedWith(t, errOf(b.do(b.paidBy(second))), statemachine.ErrConflict, "what the first has now")
	}
}

// branchedOutbound: a transaction has the reference of one item and is not what this item pays, since two time lines
// have drawn the number. The transaction names no item until a person has filed it for another one. The first item is
// held, and gets the evidence whoever has filed it. Once a person has said not_sent of it at the first item, it belongs
// to the other.
func (db *swaps) branchedOutbound(t *testing.T) {
	scanner, worker := swapBy(swap.Observer, "scanner"), swapBy(swap.Worker, "worker")
	refund := swap.Begun{By: worker, Fence: 1, Number: 1, Action: swap.Refund}
	for n, has := range claims[swap.Nexus] {
		for m, second := range claims[swap.Nexus] {
			x, y := db.filing(t, has), db.filing(t, second)
			begin := []swap.Event{begun(x.d, x.id)}
			if x.d == swap.ToUSDC {
				begin = []swap.Event{swap.AccountChecked{By: worker, State: swap.AccountClosed}, refund}
			}
			i := must(x.do(begin...))(t)
			seen := swaptest.Sighting(&i.Intents[0], true)
			named := func(want string, what string) {
				t.Helper()
				if _, id, err := db.service.Named(ctx, seen); err != nil || id != want {
					t.Errorf("%s: it names %q, %v", what, id, err)
				}
			}
			named(x.id, "what the item with the number pays")
			seen.TxID, seen.Amount = fmt.Sprintf("ba%d%d", n, m), seen.Amount-1
			named("", "what it does not pay")
			order := y.paidBy(seen.TxID)
			order.Amount = seen.Amount
			for filed := range 2 { // a person may file it first
				if filed == (n+m)%2 {
					must(y.do(order))(t)
				} else {
					noError(t, db.service.Outbound(ctx, scanner, seen))
				}
			}
			if i, err := x.do(); err != nil || i.Hold.Kind != swap.ByMismatch {
				t.Errorf("the item with the number: %+v, %v", i, err)
			}
			named(y.id, "what was filed")
			for _, denied := range []bool{false, true} {
				if denied {
					must(x.do(swap.NotSent{By: order.By, TxID: seen.TxID, Reason: "it is another's"}))(t)
				}
				noError(t, db.service.Outbound(ctx, scanner, seen))
				if i, err := y.do(); err != nil || i.Intents[0].Landed() != denied {
					t.Errorf("a %v that has paid, denied %v: %+v, %v", y.d, denied, i, err)
				}
			}
			if i, err := x.do(); err != nil || i.Hold.Kind != 0 {
				t.Errorf("the item with the number, after not_sent: %+v, %v", i, err)
			}
			if x.d != swap.ToUSDD {
				continue
			}
			// A row is rebuilt without a number that is on file.
			lost := swap.Recovered{By: swapBy(swap.System, "recovery"), Observed: arrival(swap.ToUSDD, fmt.Sprint("gone", m)), Memo: "nexus:carol",
				Action: swap.Send, Seen: seen}
			lost.Seen.TxID = fmt.Sprintf("bb%d%d", n, m)
			if d, err := db.service.Deposits.Do(ctx, lost.Observed.ID, lost); err != nil || d.Hold.Kind != swap.ByRecovery {
				t.Errorf("rebuilt: %+v, %v", d, err)
			}
		}
	}
}

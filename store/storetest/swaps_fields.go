package storetest

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// depositFields takes deposits through every field that a step can move.
func (db *swaps) depositFields(t *testing.T) {
	l := newLife(t, db.deposits)
	l.records = func(d *swap.Deposit) map[string]any { return map[string]any{"Deposit": *d} }
	swapFields(l, swap.ToUSDD)
	l.end(append(fixedOfItem("Deposit.Item"), "Deposit.Item.Collecting"), map[string]any{"Deposit": swap.Deposit{}}, nil)
}

func (db *swaps) creditFields(t *testing.T) {
	l := newLife(t, db.credits)
	l.records = func(c *swap.Credit) map[string]any { return map[string]any{"Credit": *c} }
	swapFields(l, swap.ToUSDC)
	l.end(append(fixedOfItem("Credit.Item"), "Credit.To", "Credit.Owner"), map[string]any{"Credit": swap.Credit{}}, nil)
}

func fixedOfItem(item string) (all []string) {
	for _, name := range []string{"ID", "Amount", "From", "At", "Stored", "PausedBefore"} {
		all = append(all, item+"."+name)
	}
	return all
}

// swapFields: an item that is paid, one that is kept as fee, one that is refunded
// after a loss, one whose refund is lost, and one from before a lost database.
func swapFields[A any](l *life[store.SwapUnit, string, string, A, swap.Event, swap.Change[A]], d swap.Direction) {
	head := func() *swap.Item { return any(&l.a).(swap.Record).Head() }
	l.follow = func(A, *swap.Change[A]) {}
	l.compareMore = func(store.SwapUnit, string) error { return nil }
	by := func(r swap.Role) swap.By { b := swapBy(r, "é"+r.String()); b.At = l.tick(); return b }
	house := swap.Control{SolanaScanned: start, NexusScanned: start, PausedFor: time.Minute}
	fresh := func(change func(*swap.Observed)) {
		l.t.Helper()
		var none A
		l.a = none
		o := arrival(d, l.newID())
		o.By, o.Control = by(swap.Observer), house
		if change != nil {
			change(&o)
		}
		l.do(o)
	}
	claim := func() {
		l.t.Helper()
		for head().Lease.Held(l.now) || l.now.Before(head().DueAt()) {
			l.later()
		}
		l.do(swap.Claimed{By: by(swap.Worker)})
	}
	order := func(o swap.Order) {
		l.t.Helper()
		l.do(swap.Ordered{By: by(swap.Operator), Order: o, Reason: "because"})
	}
	ready := func() {
		l.t.Helper()
		fresh(nil)
		if d == swap.ToUSDC {
			l.do(swap.Confirmations{By: by(swap.Observer), Count: 2})
			claim()
			l.do(swap.MappingLooked{By: by(swap.Worker), Asked: l.now, Finding: swap.MappingMissing}, swap.MappingLooked{By: by(swap.Worker), Finding: swap.MappingFound, TxID: head().ID, Owner: "bob", Account: "bob-é"})
			return
		}
		claim()
		l.do(swap.MemoFetched{By: by(swap.Worker), Failed: true}, swap.MemoFetched{By: by(swap.Worker), Memos: []string{"nexus:carolé"}})
	}
	begin := func(a swap.Action) {
		l.t.Helper()
		if !head().Lease.Held(l.now.Add(time.Minute)) {
			claim()
		}
		if a == swap.Send {
			l.do(swap.AccountChecked{By: by(swap.Worker), State: swap.AccountUsable})
		}
		ev := swap.Begun{By: by(swap.Worker), Fence: head().Lease.Fence, Number: int64(len(head().Intents)) + 1, Action: a, Control: house}
		if (a == swap.Send) == (d == swap.ToUSDD) {
			ev.Reference = 500 + swapIDs.Add(1)
		} else {
			ev.Signature, ev.Raw, ev.LastValid = "sig"+head().ID+"0123456789"[len(head().Intents):], []byte{0, 255}, 1000
		}
		l.do(ev)
	}
	latest := func() swap.Intent { return head().Intents[len(head().Intents)-1] }
	answer := func(o statemachine.Outcome) {
		l.t.Helper()
		id := latest().Signature
		if id == "" {
			id = "n" + head().ID
		}
		l.do(swap.Answered{By: by(swap.Worker), Fence: head().Lease.Fence, Number: latest().Number, Outcome: o, TxID: id, Reason: "said"})
	}
	look := func(found bool) {
		l.t.Helper()
		in := latest()
		ev := swap.Looked{By: by(swap.Worker), Number: in.Number, Finding: swap.LookMissing, View: swap.View{From: in.At.Add(-time.Hour), Asked: l.now, ByID: true, ByMemo: true, Before: 2000, After: 2000, CannotLand: true}}
		if found {
			ev.Finding, ev.Seen = swap.LookFound, swaptest.Sighting(&in, true)
		}
		l.do(ev)
	}
	ready() // paid
	begin(swap.Send)
	answer(statemachine.Done)
	look(true)

	ready() // held and released, failed, refunded, lost, quarantined
	order(swap.HoldItem)
	order(swap.Release)
	begin(swap.Send)
	answer(statemachine.Unknown)
	l.later()
	look(false)
	order(swap.OrderRefund)
	begin(swap.Refund)
	answer(statemachine.Failed)
	l.later()
	look(false)
	if d == swap.ToUSDC {
		begin(swap.Refund)
		answer(statemachine.Done)
		l.later()
		look(false)
		order(swap.Requeue)
	}
	order(swap.OrderQuarantine)
	begin(swap.Quarantine)
	answer(statemachine.Done)
	l.later()
	look(false)
	order(swap.Requeue)

	fresh(func(o *swap.Observed) { o.Amount = 1 }) // kept as fee; from before a lost database
	if d == swap.ToUSDC {
		l.do(swap.Confirmations{By: by(swap.Observer), Count: 2})
	} else {
		claim()
		l.do(swap.MemoFetched{By: by(swap.Worker), Memos: []string{"nexus:carol"}}, swap.Elapsed{By: by(swap.System), Control: house})
	}
	fresh(func(o *swap.Observed) { o.Control.RecoveredAt = start.Add(1000 * time.Hour) })
	l.later()
	view := swap.View{From: head().At.Add(-25 * time.Hour), Asked: l.now, ByID: true, ByMemo: true, Before: 1, After: 1, CannotLand: true}
	l.do(swap.Looked{By: by(swap.Worker), Finding: swap.LookMissing, View: view, Nexus: view, Control: swap.Control{RecoveredAt: start}})
	if d == swap.ToUSDC { // vanished and dropped; collecting, then quarantined and found to be paid
		l.do(swap.Confirmations{By: by(swap.Observer), Asked: l.now, Gone: true}, swap.Confirmations{By: by(swap.Observer), Asked: l.now, Count: 1})
		fresh(nil)
		l.do(swap.Confirmations{By: by(swap.Observer), Count: 2})
		claim()
		l.do(swap.MappingLooked{By: by(swap.Worker), Asked: l.now, Finding: swap.MappingMissing})
		l.later()
		l.do(swap.Elapsed{By: by(swap.System), Control: house}, swap.MappingLooked{By: by(swap.Worker), Asked: l.now, Finding: swap.MappingMissing})
		begin(swap.Refund)
		answer(statemachine.Failed)
		order(swap.OrderQuarantine)
		answer(statemachine.Done)
	}
}

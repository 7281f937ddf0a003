package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// swapService is the service of a direction.
type swapService[A any] interface {
	service[string, string, A, swap.Event]
	Revoke(context.Context, swap.By, statemachine.Revocation) (int, error)
	List(ctx context.Context, place swap.Place, after string, limit int) ([]A, error)
	Audit(ctx context.Context, after string, limit int) (string, error)
}

type swapSubject[A any] = subject[store.SwapUnit, string, string, A, swap.Event, swap.Change[A]]

func newDeposits(t *testing.T, db store.Store[store.SwapUnit]) *swapSubject[swap.Deposit] {
	p := swaptest.Policy()
	s := must(store.NewSwapDeposits(db, p))(t)
	held := func(ctx context.Context, d swap.Deposit, events []swap.Event) ([]swap.Deposit, error) {
		return s.DoHeld(ctx, store.HeldDeposit{Deposit: d, Events: events})
	}
	return newSwapSubject(t, db, s, func(tx store.SwapUnit) service[string, string, swap.Deposit, swap.Event] { return s.Within(tx) },
		func(tx store.SwapUnit) store.SwapRecords[swap.Deposit] { return tx.Deposits() }, held, p.ApplyDeposit, swap.CheckDeposit, swap.ToUSDD,
		func(name string) source { return sourceOf(s.Work(name)) })
}

func newCredits(t *testing.T, db store.Store[store.SwapUnit]) *swapSubject[swap.Credit] {
	p := swaptest.Policy()
	s := must(store.NewSwapCredits(db, p))(t)
	held := func(ctx context.Context, c swap.Credit, events []swap.Event) ([]swap.Credit, error) {
		return s.DoHeld(ctx, store.HeldCredit{Credit: c, Events: events})
	}
	return newSwapSubject(t, db, s, func(tx store.SwapUnit) service[string, string, swap.Credit, swap.Event] { return s.Within(tx) },
		func(tx store.SwapUnit) store.SwapRecords[swap.Credit] { return tx.Credits() }, held, p.ApplyCredit, swap.CheckCredit, swap.ToUSDC,
		func(name string) source { return sourceOf(s.Work(name)) })
}

// swapIDs make ids that no other item of the process has.
var swapIDs atomic.Uint64

func newSwapSubject[A any](t *testing.T, db store.Store[store.SwapUnit], s swapService[A],
	within func(store.SwapUnit) service[string, string, A, swap.Event], rows func(store.SwapUnit) store.SwapRecords[A],
	held func(context.Context, A, []swap.Event) ([]A, error), apply func(A, swap.Event, time.Time) (swap.Change[A], error),
	check func(A) error, d swap.Direction, work func(string) source) *swapSubject[A] {
	scanHouse(t, db)
	head := func(a *A) *swap.Item { return any(a).(swap.Record).Head() }
	stages := swapStages[A](d)
	of := &swapSubject[A]{
		Store: db, service: s, within: within,
		records: func(tx store.SwapUnit) records[string, string, A, swap.Change[A]] { return rows(tx) },
		held: func(ctx context.Context, a A, events ...swap.Event) (A, error) {
			all, err := held(ctx, a, events)
			if err != nil {
				return a, err
			}
			return all[0], nil
		},
		apply: func(a A, ev swap.Event) (swap.Change[A], error) { return apply(a, ev, time.Time{}) },
		check: check,
		states: func(a *A) []stored[string] {
			if i := head(a); i.Version > 0 {
				return []stored[string]{{i.ID, i.Version, any(a).(swap.Record).State()}}
			}
			return nil
		},
		newID:  func() string { return fmt.Sprintf("item%08d", swapIDs.Add(1)) },
		id:     func(a *A) string { return head(a).ID },
		stages: stages,
		speech: &speech[string, A, swap.Event]{store.DomainSwaps, map[swap.Direction]string{swap.ToUSDD: swap.DepositMachine.Name(),
			swap.ToUSDC: swap.CreditMachine.Name()}[d],
			// of a credit alone
			slices.DeleteFunc(swap.Events(), func(ev swap.Event) bool { return d == swap.ToUSDD && statemachine.EventName(ev) == "Dropped" }),
			func(ev swap.Event) uint8 { return uint8(swap.Speakers(ev)) }, swapLives[A](d)},
		outside: map[string]func(*A){
			"holder":   func(a *A) { head(a).Lease.Holder += "x" },
			"due time": func(a *A) { head(a).CheckAt = head(a).CheckAt.Add(tick) },
			"fence":    func(a *A) { head(a).Lease.Fence-- },
		},
		lease: func(a *A) *statemachine.Lease { return &head(a).Lease },
		renew: func(tx store.SwapUnit, now time.Time, a *A, fence int64, until time.Time) (bool, error) {
			lost, err := rows(tx).Renew(now, store.Lease[string]{ID: head(a).ID, Fence: fence, Until: until})
			return len(lost) > 0, err
		},
		revoke: func(ctx context.Context, of statemachine.Revocation) (int, error) {
			return s.Revoke(ctx, swap.By{Actor: "op", Role: swap.Operator}, of)
		},
		world: func(tx store.SwapUnit) (map[string]any, error) {
			all := map[string]any{}
			var errs []error
			for _, place := range swap.Place(0).Values() {
				page, err := rows(tx).List(place, "", 1000)
				all[place.String()] = page
				errs = append(errs, err)
			}
			notes, _, err1 := tx.SwapHouse().Discrepancies(0, 1000)
			control, err2 := tx.SwapHouse().Control(false)
			all["Discrepancies"], all["Control"] = notes, control
			return all, errors.Join(append(errs, err1, err2)...)
		},
		money: swapMoney(rows, d),
		due: []dueKind[store.SwapUnit, A]{{name: "work",
			find: func(tx store.SwapUnit, now time.Time, limit int) ([]A, error) { return rows(tx).Due(now, limit) },
			next: func(tx store.SwapUnit, now time.Time) (time.Time, error) { return rows(tx).NextDue(now) },
			ahead: func(tx store.SwapUnit, latest time.Time, limit int) ([]A, error) {
				return rows(tx).Overslept(latest, limit)
			},
			at:      func(a *A) (time.Time, bool) { at := head(a).DueAt(); return at, !at.IsZero() },
			compare: func(a, b *A) int { return swap.CompareDue(head(a), head(b)) }}},
		draw: func(rt *rapid.T) history[string, A, swap.Event] {
			n := swapIDs.Add(1)
			first := swaptest.Arrivals(d).Draw(rt, "arrival")
			first.ID = fmt.Sprintf("drawn%08d", n)
			adversary := &swaptest.Adversary{Now: swaptest.Start, Salt: first.ID, Base: 1_000_000 + 1000*n}
			return history[string, A, swap.Event]{id: first.ID, steps: 40, next: func(a *A) swap.Event {
				if head(a).Version == 0 {
					return first
				}
				return adversary.Next(rt, any(a).(swap.Record))
			}}
		},
		lists: []list[store.SwapUnit, string, A]{{"HeldBy", func(tx store.SwapUnit, _ time.Time, after string, limit int) ([]string, error) {
			return rows(tx).HeldBy("worker", after, limit)
		}, func(a *A, _ time.Time) bool { return head(a).Lease.Holder == "worker" }, nil}},
		limits: map[string]func(int) error{
			"List":  func(n int) error { return errOf(s.List(ctx, swap.Unprocessed, "", n)) },
			"Audit": func(n int) error { return errOf(s.Audit(ctx, "", n)) },
			"Discrepancies": func(n int) error {
				return db.View(ctx, func(tx store.SwapUnit) error { _, _, err := tx.SwapHouse().Discrepancies(0, n); return err })
			},
		},
		numbered: map[string]func(int64) error{
			"Discrepancies": func(after int64) error {
				return db.View(ctx, func(tx store.SwapUnit) error { _, _, err := tx.SwapHouse().Discrepancies(after, 1); return err })
			},
		},
		source:    work,
		selfCheck: func(ctx context.Context) error { return store.SelfCheckSwaps(ctx, db) },
	}
	of.owed = func(t testing.TB) A {
		id := of.newID()
		events := []swap.Event{arrival(d, id)}
		if d == swap.ToUSDC {
			events = append(events, swap.Confirmations{By: swapBy(swap.Observer, "observer"), Count: 2})
		}
		return of.do(t, id, events...)
	}
	return of
}

// scanHouse lets things go out.
func scanHouse(t failer, db store.Store[store.SwapUnit]) {
	t.Helper()
	noError(t, db.Update(ctx, func(tx store.SwapUnit) error {
		old, err := tx.SwapHouse().Control(true)
		if err != nil || !old.Recovering() {
			return err
		}
		return tx.SwapHouse().SaveControl(old, old.Scanned(swap.Solana).Scanned(swap.Nexus))
	}))
}

func swapBy(r swap.Role, actor string) swap.By { return swap.By{Actor: actor, Role: r, At: start} }

// arrival of an item of a direction.
func arrival(d swap.Direction, id string) swap.Observed {
	o := swap.Observed{By: swapBy(swap.Observer, "observer"), ID: id, Amount: 10_000_000, From: "alice", Time: start.Truncate(time.Second),
		Success: true, Finalized: true}
	if d == swap.ToUSDC {
		o.To, o.Owner = "treasury", "bob"
	}
	return o
}

// arrived are the events that make an item ready to be paid.
func arrived(d swap.Direction, id string) []swap.Event {
	w := swapBy(swap.Worker, "worker")
	if d == swap.ToUSDD {
		return []swap.Event{arrival(d, id), swap.Claimed{By: w}, swap.MemoFetched{By: w, Memos: []string{"nexus:carol"}},
			swap.AccountChecked{By: w, State: swap.AccountUsable}}
	}
	return []swap.Event{arrival(d, id), swap.Confirmations{By: swapBy(swap.Observer, "observer"), Count: 2}, swap.Claimed{By: w},
		swap.MappingLooked{By: w, Finding: swap.MappingFound, TxID: id, Owner: "bob", Account: "bob-usdc"},
		swap.AccountChecked{By: w, State: swap.AccountUsable}}
}

// begun is the first intent of a send. A deposit's draws its reference.
func begun(d swap.Direction, id string) swap.Begun {
	ev := swap.Begun{By: swapBy(swap.Worker, "worker"), Fence: 1, Number: 1, Action: swap.Send}
	if d == swap.ToUSDC {
		ev.Signature, ev.Raw, ev.LastValid = "sig of "[:3]+id, []byte{0, 1, 2}, 1000
	}
	return ev
}

// settled are the events that end a begun send.
func settled(d swap.Direction, id string) []swap.Event {
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "sig" + id, Memo: "nexus_txid:" + id, Amount: 9_490_000,
		Destination: "bob-usdc", Token: "USDC", Finalized: true}
	answered := swap.Answered{By: swapBy(swap.Worker, "worker"), Fence: 1, Number: 1, Outcome: statemachine.Done, TxID: "sig" + id}
	return []swap.Event{answered, swap.GivenBack{By: swapBy(swap.Worker, "worker"), Fence: 1},
		swap.Looked{By: swapBy(swap.Worker, "worker"), Number: 1, Finding: swap.LookFound,
			Seen: seen}}[:map[swap.Direction]int{swap.ToUSDC: 3, swap.ToUSDD: 2}[d]]
}

// swapStages: new, ready under a lease, and paid. Rivals have seen outbounds in
// its name that are none of its intents.
func swapStages[A any](d swap.Direction) []stage[string, A, swap.Event] {
	id := func(a *A) string { return any(a).(swap.Record).Head().ID }
	rivals := func(a *A, i int) swap.Event {
		memo := swap.WriteMemo(map[swap.Direction]swap.Action{swap.ToUSDD: swap.Refund, swap.ToUSDC: swap.Send}[d], id(a), 0)
		return swap.Outbound{By: swapBy(swap.Observer, "observer"), Seen: swap.Sighting{VaultSigned: true, Chain: swap.Solana,
			TxID: fmt.Sprint("foreign", i), Memo: memo, Amount: 1, Token: "USDC"}}
	}
	back := func(*A) []swap.Event {
		return []swap.Event{swap.Held{By: swapBy(swap.Operator, "operator"), Reason: "because"},
			swap.Released{By: swapBy(swap.Operator, "operator")}}
	}
	claim := func(*A) swap.Event {
		b := swapBy(swap.Worker, "claimer")
		b.At = start.Add(100 * time.Hour)
		return swap.Claimed{By: b}
	}
	return []stage[string, A, swap.Event]{{
		name: "a new item", events: func(id string) []swap.Event { return []swap.Event{arrival(d, id)} },
		rivals: rivals, back: back, claim: claim,
	}, {
		name: "an item under way", events: func(id string) []swap.Event { return arrived(d, id) }, rivals: rivals, back: back, claim: claim,
		touch: func(a *A, at time.Time) swap.Event {
			b := swapBy(swap.Worker, "reader")
			if b.At = at; at.Before(any(a).(swap.Record).Head().CheckAt) { // only what is due is put off
				b.At = any(a).(swap.Record).Head().CheckAt
			}
			return swap.AccountChecked{By: b, State: swap.AccountUsable}
		},
	}, {
		name: "a paid item", rivals: rivals,
		events: func(id string) []swap.Event { return append(append(arrived(d, id), begun(d, id)), settled(d, id)...) },
	}}
}

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
	for _, name := range []string{"ID", "Amount", "From", "At", "Stored"} {
		all = append(all, item+"."+name)
	}
	return all
}

// swapFields: an item that is paid, one that is kept as fee, one that is refunded
// after a loss, one whose refund is lost, one that is given back by hand, and one from before a lost database.
func swapFields[A any](l *life[store.SwapUnit, string, string, A, swap.Event, swap.Change[A]], d swap.Direction) {
	head := func() *swap.Item { return any(&l.a).(swap.Record).Head() }
	by := func(r swap.Role) swap.By { b := swapBy(r, "é"+r.String()); b.At = l.tick(); return b }
	house := swap.Control{SolanaScanned: true, NexusScanned: true}
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
	ready := func() {
		l.t.Helper()
		fresh(nil)
		if d == swap.ToUSDC {
			l.do(swap.Confirmations{By: by(swap.Observer), Count: 2})
			claim()
			l.do(swap.MappingLooked{By: by(swap.Worker), Asked: l.now, Finding: swap.MappingMissing},
				swap.MappingLooked{By: by(swap.Worker), Finding: swap.MappingFound, TxID: head().ID, Owner: "bob", Account: "bob-é"})
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
		miss := func() swap.Looked {
			return swap.Looked{By: by(swap.Worker), Number: in.Number, Finding: swap.LookMissing,
				View: swap.View{From: in.At.Add(-time.Hour), Asked: l.now, ByID: true, ByMemo: true, Before: 2000, After: 2000, CannotLand: true}}
		}
		if found {
			ev := miss()
			ev.Finding, ev.Seen = swap.LookFound, swaptest.Sighting(&in, true)
			l.do(ev)
			return
		}
		for n := 0; n < 12 && latest().Proof == 0; n++ { // of which the first proves it on Solana
			l.do(miss())
			l.now = l.now.Add(50 * time.Second)
		}
	}
	ready() // paid
	begin(swap.Send)
	answer(statemachine.Done)
	look(true)

	ready() // held and released, failed, refunded, lost, quarantined
	l.do(swap.Held{By: by(swap.Operator), Reason: "because"})
	l.do(swap.Released{By: by(swap.Operator), Reason: "because"})
	begin(swap.Send)
	answer(statemachine.Unknown)
	l.later()
	look(false)
	l.do(swap.RefundOrdered{By: by(swap.Operator), Reason: "because"})
	begin(swap.Refund)
	answer(statemachine.Failed)
	l.later()
	look(false)
	if d == swap.ToUSDC {
		begin(swap.Refund)
		answer(statemachine.Done)
		l.later()
		look(false)
		l.do(swap.Requeued{By: by(swap.Operator), Reason: "because"})
	}
	l.do(swap.QuarantineOrdered{By: by(swap.Operator), Reason: "because"})
	for range 2 { // lost, moved once more, lost again, given back by hand
		if head().Lost != 0 {
			l.do(swap.Requeued{By: by(swap.Operator), Reason: "because"})
		}
		begin(swap.Quarantine)
		answer(statemachine.Done)
		l.later()
		look(false)
	}
	l.do(swap.Settled{By: by(swap.Operator), Reference: "refund é", Reason: "because"})

	fresh(func(o *swap.Observed) { o.Amount = 1 }) // kept as fee; from before a lost database
	if d == swap.ToUSDC {
		l.do(swap.Confirmations{By: by(swap.Observer), Count: 2})
	} else {
		claim()
		l.do(swap.MemoFetched{By: by(swap.Worker), Memos: []string{"nexus:carol"}}, swap.Elapsed{By: by(swap.System), Control: house})
	}
	fresh(func(o *swap.Observed) {
		o.Control.Generation = 1
		o.Control.RecoveredAt, o.Control.MissingSaid = start.Add(1000*time.Hour), start.Add(1000*time.Hour)
	})
	l.later()
	view := swap.View{From: head().At.Add(-25 * time.Hour), Asked: l.now, ByID: true, ByMemo: true, Before: 1, After: 1, CannotLand: true}
	l.do(swap.Looked{By: by(swap.Worker), Finding: swap.LookMissing, View: view, Nexus: view,
		Control: swap.Control{Generation: 1, RecoveredAt: start}})
	if d == swap.ToUSDC { // vanished and dropped; collecting, then quarantined and found to be paid
		l.do(swap.Confirmations{By: by(swap.Observer), Asked: l.now, Gone: true},
			swap.Confirmations{By: by(swap.Observer), Asked: l.now, Count: 1})
		fresh(nil)
		l.do(swap.Confirmations{By: by(swap.Observer), Count: 2})
		claim()
		l.do(swap.MappingLooked{By: by(swap.Worker), Asked: l.now, Finding: swap.MappingMissing})
		l.later()
		l.do(swap.Elapsed{By: by(swap.System), Control: house}, swap.MappingLooked{By: by(swap.Worker), Asked: l.now,
			Finding: swap.MappingMissing})
		begin(swap.Refund)
		answer(statemachine.Failed)
		l.do(swap.QuarantineOrdered{By: by(swap.Operator), Reason: "because"})
		answer(statemachine.Done)
	}
}

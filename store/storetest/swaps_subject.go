package storetest

import (
	"context"
	"errors"
	"fmt"
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
	Audit(ctx context.Context, place swap.Place, after string, limit int) (string, error)
}

type swapSubject[A any] = subject[store.SwapUnit, string, string, A, swap.Event, swap.Change[A]]

func newDeposits(t *testing.T, db store.Store[store.SwapUnit]) *swapSubject[swap.Deposit] {
	p := swaptest.Policy()
	s := must(store.NewDeposits(db, p))(t)
	held := func(ctx context.Context, d swap.Deposit, events []swap.Event) ([]swap.Deposit, error) {
		return s.Held(ctx, store.HeldDeposit{Deposit: d, Events: events})
	}
	return newSwapSubject(t, db, s, func(tx store.SwapUnit) service[string, string, swap.Deposit, swap.Event] { return s.Within(tx) }, func(tx store.SwapUnit) store.SwapRecords[swap.Deposit] { return tx.Deposits() }, held, p.ApplyDeposit, swap.CheckDeposit, swap.ToUSDD, func(name string) source { return sourceOf(s.Work(name)) })
}

func newCredits(t *testing.T, db store.Store[store.SwapUnit]) *swapSubject[swap.Credit] {
	p := swaptest.Policy()
	s := must(store.NewCredits(db, p))(t)
	held := func(ctx context.Context, c swap.Credit, events []swap.Event) ([]swap.Credit, error) {
		return s.Held(ctx, store.HeldCredit{Credit: c, Events: events})
	}
	return newSwapSubject(t, db, s, func(tx store.SwapUnit) service[string, string, swap.Credit, swap.Event] { return s.Within(tx) }, func(tx store.SwapUnit) store.SwapRecords[swap.Credit] { return tx.Credits() }, held, p.ApplyCredit, swap.CheckCredit, swap.ToUSDC, func(name string) source { return sourceOf(s.Work(name)) })
}

// swapIDs make ids that no other item of the process has.
var swapIDs atomic.Uint64

func newSwapSubject[A any](t *testing.T, db store.Store[store.SwapUnit], s swapService[A], within func(store.SwapUnit) service[string, string, A, swap.Event], rows func(store.SwapUnit) store.SwapRecords[A],
	held func(context.Context, A, []swap.Event) ([]A, error), apply func(A, swap.Event, time.Time) (swap.Change[A], error), check func(A) error, d swap.Direction, work func(string) source) *swapSubject[A] {
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
		outside: map[string]func(*A){
			"holder":   func(a *A) { head(a).Lease.Holder += "x" },
			"due time": func(a *A) { head(a).CheckAt = head(a).CheckAt.Add(tick) },
			"fence":    func(a *A) { head(a).Lease.Fence-- },
		},
		lease: func(a *A) *statemachine.Lease { return &head(a).Lease },
		renew: func(tx store.SwapUnit, now time.Time, a *A, fence int64, until time.Time) (bool, error) {
			lost, err := rows(tx).Renew(now, store.SwapLease{ID: head(a).ID, Fence: fence, Until: until})
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
		due: []dueKind[store.SwapUnit, A]{{name: "work",
			find:    func(tx store.SwapUnit, now time.Time, limit int) ([]A, error) { return rows(tx).Due(now, limit) },
			next:    func(tx store.SwapUnit, now time.Time) (time.Time, error) { return rows(tx).NextDue(now) },
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
			"Audit": func(n int) error { return errOf(s.Audit(ctx, swap.Unprocessed, "", n)) },
			"Discrepancies": func(n int) error {
				return db.View(ctx, func(tx store.SwapUnit) error { _, _, err := tx.SwapHouse().Discrepancies(0, n); return err })
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
		return tx.SwapHouse().SaveControl(old, old.Scanned(swap.Solana, start).Scanned(swap.Nexus, start))
	}))
}

func swapBy(r swap.Role, actor string) swap.By { return swap.By{Actor: actor, Role: r, At: start} }

// arrival of an item of a direction.
func arrival(d swap.Direction, id string) swap.Observed {
	o := swap.Observed{By: swapBy(swap.Observer, "observer"), ID: id, Amount: 10_000_000, From: "alice", Time: start.Truncate(time.Second), Success: true, Finalized: true}
	if d == swap.ToUSDC {
		o.To, o.Owner = "treasury", "bob"
	}
	return o
}

// arrived are the events that make an item ready to be paid.
func arrived(d swap.Direction, id string) []swap.Event {
	w := swapBy(swap.Worker, "worker")
	if d == swap.ToUSDD {
		return []swap.Event{arrival(d, id), swap.Claimed{By: w}, swap.MemoFetched{By: w, Memos: []string{"nexus:carol"}}, swap.AccountChecked{By: w, State: swap.AccountUsable}}
	}
	return []swap.Event{arrival(d, id), swap.Confirmations{By: swapBy(swap.Observer, "observer"), Count: 2}, swap.Claimed{By: w},
		swap.MappingLooked{By: w, Finding: swap.MappingFound, TxID: id, Owner: "bob", Account: "bob-usdc"}, swap.AccountChecked{By: w, State: swap.AccountUsable}}
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
	seen := swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: "sig" + id, Memo: "nexus_txid:" + id, Amount: 9_490_000, Destination: "bob-usdc", Token: "USDC", Finalized: true}
	answered := swap.Answered{By: swapBy(swap.Worker, "worker"), Fence: 1, Number: 1, Outcome: statemachine.Done, TxID: "sig" + id}
	return []swap.Event{answered, swap.Released{By: swapBy(swap.Worker, "worker"), Fence: 1},
		swap.Looked{By: swapBy(swap.Worker, "worker"), Number: 1, Finding: swap.LookFound, Seen: seen}}[:map[swap.Direction]int{swap.ToUSDC: 3, swap.ToUSDD: 2}[d]]
}

// swapStages: new, ready under a lease, and paid. Rivals have seen outbounds in
// its name that are none of its intents.
func swapStages[A any](d swap.Direction) []stage[string, A, swap.Event] {
	id := func(a *A) string { return any(a).(swap.Record).Head().ID }
	rivals := func(a *A, i int) swap.Event {
		memo := swap.WriteMemo(map[swap.Direction]swap.Action{swap.ToUSDD: swap.Refund, swap.ToUSDC: swap.Send}[d], id(a), 0)
		return swap.Outbound{By: swapBy(swap.Observer, "observer"), Seen: swap.Sighting{VaultSigned: true, Chain: swap.Solana, TxID: fmt.Sprint("foreign", i), Memo: memo, Amount: 1, Token: "USDC"}}
	}
	back := func(*A) []swap.Event {
		return []swap.Event{swap.Ordered{By: swapBy(swap.Operator, "operator"), Order: swap.HoldItem, Reason: "because"},
			swap.Ordered{By: swapBy(swap.Operator, "operator"), Order: swap.Release}}
	}
	claim := func(*A) swap.Event {
		b := swapBy(swap.Worker, "claimer")
		b.At = start.Add(100 * time.Hour)
		return swap.Claimed{By: b}
	}
	return []stage[string, A, swap.Event]{{
		name: "a new item", events: func(id string) []swap.Event { return []swap.Event{arrival(d, id)} }, rivals: rivals, back: back, claim: claim,
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

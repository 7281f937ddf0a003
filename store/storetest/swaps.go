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
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// Swaps proves the swaps of a store, in both directions.
func Swaps[T store.SwapUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	t.Run("deposits", func(t *testing.T) {
		swapItems(t, func(t *testing.T) *swapSubject[T, swap.Deposit] { return newDeposits(t, open(t)) },
			func(t *testing.T) *swapSubject[store.Unit, swap.Deposit] {
				return newDeposits[store.Unit](t, memory.New(memory.Options{}))
			})
	})
	t.Run("credits", func(t *testing.T) {
		swapItems(t, func(t *testing.T) *swapSubject[T, swap.Credit] { return newCredits(t, open(t)) },
			func(t *testing.T) *swapSubject[store.Unit, swap.Credit] {
				return newCredits[store.Unit](t, memory.New(memory.Options{}))
			})
	})
	for _, r := range []struct {
		rule string
		test func(*testing.T, store.Store[T])
	}{
		{"a reference number is drawn once, by many at once", drawnOnce[T]},
		{"a reference number is in one intent", referenceOnce[T]},
		{"a signature is in one intent", signatureOnce[T]},
		{"an item of a restored copy is not paid before a look back", restoredStore[T]},
		{"the control row and waterlines are compared and swapped", houseVersions[T]},
		{"a discrepancy is recorded once, in order, until somebody deals with it", discrepancies[T]},
		{"a waterline waits for the oldest unprocessed item", oldestItem[T]},
		{"statistics count what the domain counts", swapStatistics[T]},
		{"an outbound is stored with the item that it names", namedOutbound[T]},
		{"replaying everything from a lowered waterline has no effect", replayed[T]},
		{"an item that fails for ever holds up no other", holdsUpNoOther[T]},
		{"limits of 0, below it, or enormous are refused by every method", swapLimits[T]},
		{"the self-check passes and leaves nothing", swapSelfCheck[T]},
		{"every field of a deposit comes back", func(t *testing.T, s store.Store[T]) { depositFields(t, newDeposits(t, s)) }},
		{"every field of a credit comes back", func(t *testing.T, s store.Store[T]) { creditFields(t, newCredits(t, s)) }},
	} {
		t.Run(r.rule, func(t *testing.T) { r.test(t, open(t)) })
	}
}

// revoking is a service that gives back what a worker holds.
type revoking interface {
	Revoke(context.Context, swap.By, statemachine.Revocation) (int, error)
}

type (
	swapSubject[T store.Clock, A any] = subject[T, string, string, A, swap.Event, swap.Change[A]]
	swapService[A any]                = service[string, string, A, swap.Event]
)

func swapItems[T store.SwapUnit, A any](t *testing.T, open func(*testing.T) *swapSubject[T, A], reference func(*testing.T) *swapSubject[store.Unit, A]) {
	versioned(t, open)
	t.Run("an item is in exactly one table, and moves in one commit", func(t *testing.T) { oneTable(t, open(t)) })
	t.Run("random histories store the same as the memory adapter", func(t *testing.T) { randomHistories(t, open(t), reference(t)) })
}

func newDeposits[T store.SwapUnit](t *testing.T, db store.Store[T]) *swapSubject[T, swap.Deposit] {
	p := swaptest.Policy()
	s, err := store.NewDeposits(db, p)
	if err != nil {
		t.Fatal(err)
	}
	held := func(ctx context.Context, d swap.Deposit, events []swap.Event) ([]swap.Deposit, error) {
		return s.Held(ctx, store.HeldDeposit{Deposit: d, Events: events})
	}
	return newSwapSubject(t, db, s, func(tx T) swapService[swap.Deposit] { return s.Within(tx) }, func(tx T) swapRecords[swap.Deposit] { return tx.Deposits() }, held, p.ApplyDeposit, swap.CheckDeposit, swap.ToUSDD)
}

func newCredits[T store.SwapUnit](t *testing.T, db store.Store[T]) *swapSubject[T, swap.Credit] {
	p := swaptest.Policy()
	s, err := store.NewCredits(db, p)
	if err != nil {
		t.Fatal(err)
	}
	held := func(ctx context.Context, c swap.Credit, events []swap.Event) ([]swap.Credit, error) {
		return s.Held(ctx, store.HeldCredit{Credit: c, Events: events})
	}
	return newSwapSubject(t, db, s, func(tx T) swapService[swap.Credit] { return s.Within(tx) }, func(tx T) swapRecords[swap.Credit] { return tx.Credits() }, held, p.ApplyCredit, swap.CheckCredit, swap.ToUSDC)
}

// swapRecords is what both directions are, see [store.DepositRecords].
type swapRecords[A any] interface {
	records[string, string, A, swap.Change[A]]
	Due(now time.Time, limit int) ([]A, error)
	NextDue(now time.Time) (time.Time, error)
	List(place swap.Place, after string, limit int) ([]A, error)
	Renew(now time.Time, leases ...store.SwapLease) (lost []string, err error)
}

// swapIDs make ids that no other item of the process has.
var swapIDs atomic.Uint64

func newSwapSubject[T store.SwapUnit, A any](t *testing.T, db store.Store[T], s swapService[A], within func(T) swapService[A], rows func(T) swapRecords[A],
	held func(context.Context, A, []swap.Event) ([]A, error), apply func(A, swap.Event, time.Time) (swap.Change[A], error), check func(A) error, d swap.Direction) *swapSubject[T, A] {
	scanHouse(t, db)
	head := func(a *A) *swap.Item { return any(a).(swap.Record).Head() }
	stages := swapStages[A](d)
	return &swapSubject[T, A]{
		Store: db, service: s, within: within,
		records: func(tx T) records[string, string, A, swap.Change[A]] { return rows(tx) },
		held: func(ctx context.Context, a A, events ...swap.Event) (A, error) {
			all, err := held(ctx, a, events)
			if err != nil {
				return a, err
			}
			return all[0], nil
		},
		apply: func(a A, ev swap.Event) (swap.Change[A], error) { return apply(a, ev, start) },
		parts: func(c *swap.Change[A]) (old, now *A, log *[]statemachine.Transition[string]) {
			return &c.Old, &c.New, &c.Log
		},
		empty: (*swap.Change[A]).Empty,
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
		renew: func(tx T, now time.Time, a *A, fence int64, until time.Time) (bool, error) {
			lost, err := rows(tx).Renew(now, store.SwapLease{ID: head(a).ID, Fence: fence, Until: until})
			return len(lost) > 0, err
		},
		revoke: func(ctx context.Context, of statemachine.Revocation) (int, error) {
			return s.(revoking).Revoke(ctx, swap.By{Actor: "op", Role: swap.Operator}, of)
		},
		world: func(tx T) (map[string]any, error) {
			all := map[string]any{}
			var errs []error
			for _, place := range swap.Place(0).Values() {
				page, err := rows(tx).List(place, "", 1000)
				all[place.String()] = page
				errs = append(errs, err)
			}
			notes, _, err := tx.SwapHouse().Discrepancies(0, 1000)
			all["Discrepancies"] = notes
			return all, errors.Join(append(errs, err)...)
		},
		due: []dueKind[T, string, A]{{name: "work",
			find:    func(tx T, now time.Time, limit int) ([]A, error) { return rows(tx).Due(now, limit) },
			next:    func(tx T, now time.Time) (time.Time, error) { return rows(tx).NextDue(now) },
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
	}
}

// scanHouse lets things go out.
func scanHouse[T store.SwapUnit](t failer, db store.Store[T]) {
	t.Helper()
	err := db.Update(ctx, func(tx T) error {
		old, err := tx.SwapHouse().Control(true)
		if err != nil || !old.Recovering() {
			return err
		}
		return tx.SwapHouse().SaveControl(old, old.Scanned(swap.Solana, start).Scanned(swap.Nexus, start))
	})
	if err != nil {
		t.Fatal(err)
	}
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

// oneTable takes an item through its life and looks into all four tables after
// each event.
func oneTable[T store.SwapUnit, A any](t *testing.T, s *swapSubject[T, A]) {
	for _, g := range s.stages {
		a := s.make(t, &g)
		places := 0
		err := s.View(ctx, func(tx T) error {
			world, err := s.world(tx)
			for _, place := range swap.Place(0).Values() {
				for _, other := range world[place.String()].([]A) {
					if s.id(&other) == s.id(&a) {
						places++
						if any(&a).(swap.Record).Place() != place {
							t.Errorf("%s is in %v, not in %v", g.name, place, any(&a).(swap.Record).Place())
						}
					}
				}
			}
			return err
		})
		if err != nil || places != 1 {
			t.Errorf("%s is in %d tables (%v)", g.name, places, err)
		}
		// An id that is in another table already is not created again.
		var none A
		again := s.change(t, none, g.events(s.id(&a))[0])
		refusedWith(t, s.save(again), statemachine.ErrConflict, "a second one of an id in any table")
	}
}

func drawnOnce[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	s := newDeposits(t, db)
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
}

// referenceOnce: the counter refuses a number first, and below it the store does.
func referenceOnce[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	s := newDeposits(t, db)
	counter := func() uint64 {
		c, err := read(db, func(tx T) (swap.Control, error) { return tx.SwapHouse().Control(false) })
		if err != nil {
			t.Fatal(err)
		}
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
	_, err := s.service.Do(ctx, id, ev)
	refusedWith(t, err, statemachine.ErrConflict, "a number at the counter")
	ev.Control = swap.Control{SolanaScanned: start, NexusScanned: start}
	refusedWith(t, s.save(s.change(t, d, ev)), statemachine.ErrConflict, "a number of another intent")
}

// signatureOnce: one transaction is one intent's.
func signatureOnce[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	s := newCredits(t, db)
	first, second := s.newID(), s.newID()
	s.do(t, first, append(arrived(swap.ToUSDC, first), begun(swap.ToUSDC, first))...)
	s.do(t, second, arrived(swap.ToUSDC, second)...)
	ev := begun(swap.ToUSDC, second)
	ev.Signature = begun(swap.ToUSDC, first).Signature
	_, err := s.service.Do(ctx, second, ev)
	refusedWith(t, err, statemachine.ErrConflict, "a signature of another intent")
	s.do(t, second, begun(swap.ToUSDC, second))
}

// restoredStore: a copy is taken up again. What it shows as ready is not paid
// before it was looked back for, in either direction.
func restoredStore[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	ds, cs := newDeposits(t, db), newCredits(t, db)
	d, c := ds.newID(), cs.newID()
	ds.do(t, d, arrived(swap.ToUSDD, d)...)
	cs.do(t, c, arrived(swap.ToUSDC, c)...)
	err := db.Update(ctx, func(tx T) error {
		old, err := tx.SwapHouse().Control(true)
		if err != nil {
			return err
		}
		return tx.SwapHouse().SaveControl(old, old.Restored(start.Add(tick)).Scanned(swap.Solana, start.Add(time.Hour)).Scanned(swap.Nexus, start.Add(time.Hour)))
	})
	if err != nil {
		t.Fatal(err)
	}
	looked := swap.Looked{By: swapBy(swap.Worker, "worker"), Finding: swap.LookMissing, View: swap.View{From: start.Add(-time.Hour), ByID: true, ByMemo: true, Before: 1, After: 1, CannotLand: true}}
	begin := func(b swap.Begun) swap.Begun { // the lease is held still
		b.At = start.Add(time.Minute)
		return b
	}
	_, err = ds.service.Do(ctx, d, begin(begun(swap.ToUSDD, d)))
	refusedWith(t, err, statemachine.ErrHeld, "a deposit of a copy")
	_, err = cs.service.Do(ctx, c, begin(begun(swap.ToUSDC, c)))
	refusedWith(t, err, statemachine.ErrHeld, "a credit of a copy")
	before := ds.do(t, d, looked) // too early: a sender of before may still send
	if before.LookedBack.After(start) {
		t.Errorf("looked back until %v", before.LookedBack)
	}
	looked.At = start.Add(time.Hour)
	if now := ds.do(t, d, looked); !now.LookedBack.Equal(looked.At) {
		t.Errorf("looked back until %v", now.LookedBack)
	}
	cs.do(t, c, looked)
	ds.do(t, d, begin(begun(swap.ToUSDD, d)))
	cs.do(t, c, begin(begun(swap.ToUSDC, c)))
}

// replayed: after a waterline was lowered, all that came in and went out is seen
// again, by chains that know the ends.
func replayed[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	ds, cs := newDeposits(t, db), newCredits(t, db)
	all, err := store.NewSwaps(db, swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	d, c := ds.make(t, &ds.stages[2]), cs.make(t, &cs.stages[2])
	observer := swapBy(swap.Observer, "scanner")
	replay := func() {
		t.Helper()
		_, err1 := all.Deposits.Do(ctx, d.ID, arrival(swap.ToUSDD, d.ID))
		_, err2 := all.Credits.Do(ctx, c.ID, arrival(swap.ToUSDC, c.ID), swap.Confirmations{By: observer, Count: 99})
		errs := []error{err1, err2}
		for _, in := range append(d.Intents[:1:1], c.Intents...) {
			seen := swap.Sighting{VaultSigned: true, Chain: in.Chain, TxID: in.TxID, Memo: in.Memo, Reference: in.Reference, Amount: in.Net, Destination: in.Destination, Token: "USDD", Confirmations: 99, Finalized: true}
			if in.Chain == swap.Solana {
				seen.Token = "USDC"
			}
			errs = append(errs, all.Outbound(ctx, observer, seen))
		}
		for _, chain := range swap.Chain(0).Values() {
			for _, own := range []bool{false, true} {
				_, err := all.Scanned(ctx, chain, own, swap.Scan{Began: start, From: start.Add(-24 * time.Hour), Complete: true, Tip: start})
				errs = append(errs, err)
			}
		}
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	lines := func() (out []string) {
		for _, chain := range swap.Chain(0).Values() {
			for _, own := range []bool{false, true} {
				w, _, err := all.Waterline(ctx, chain, own)
				if err != nil || w.At.IsZero() {
					t.Fatal(w, err)
				}
				out = append(out, w.At.String())
				err = db.Update(ctx, func(tx T) error {
					lower := w
					lower.At, lower.Version = start.Add(-24*time.Hour), w.Version+1
					return tx.SwapHouse().SaveWaterline(w, lower)
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		return out
	}
	replay()
	replay() // now the outbounds are final, too
	before := []any{ds.snapshot(t, d.ID), cs.snapshot(t, c.ID), lines()}
	replay()
	same(t, "after a replay", []any{ds.snapshot(t, d.ID), cs.snapshot(t, c.ID), lines()}, before)
	if d = ds.get(t, d.ID); d.Status != swap.DepositProcessed || len(d.Discrepancies) > 0 {
		t.Errorf("the deposit is %v, %+v", d.Status, d.Discrepancies)
	}
}

// holdsUpNoOther: the oldest item of which nothing ever comes is claimed, given
// back, and left alone for a while.
func holdsUpNoOther[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	all, err := store.NewSwaps(db, swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"bad", "good", "late"}
	for k, id := range ids {
		o := arrival(swap.ToUSDD, id)
		o.Time = o.Time.Add(time.Duration(k-10) * time.Second)
		if _, err := all.Deposits.Do(ctx, id, o); err != nil {
			t.Fatal(err)
		}
	}
	work := all.Deposits.Work("worker")
	var done []store.HeldDeposit
	for k, want := range append(ids, "") {
		items, _, err := work.Turn(ctx, done, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(items) > 0 {
			got = items[0].Key
		}
		if got != want {
			t.Fatalf("turn %d claims %q, expected %q", k, got, want)
		}
		switch want {
		case "bad":
			done = []store.HeldDeposit{work.Release(items[0].Work)}
		case "good":
			done = []store.HeldDeposit{work.Panicked(items[0].Work, "boom")}
		case "late": // a stale result of another worker's
			stale := items[0].Work
			stale.Version--
			stale.Lease.Fence--
			done = []store.HeldDeposit{{Deposit: stale, Events: []swap.Event{swap.Ordered{By: swapBy(swap.Worker, "worker"), Order: swap.HoldItem, Reason: "no worker may"}}}}
			if _, _, err := work.Turn(ctx, done, 1); err == nil {
				t.Error("a worker's order was taken")
			}
			done = nil
		}
	}
}

// read runs fn in a View.
func read[T, R any](db store.Store[T], fn func(T) (R, error)) (r R, err error) {
	err = db.View(ctx, func(tx T) error {
		r, err = fn(tx)
		return err
	})
	return r, err
}

func houseVersions[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	control := func() swap.Control {
		c, err := read(db, func(tx T) (swap.Control, error) { return tx.SwapHouse().Control(false) })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	old := control()
	now, err := old.Pause("oscar", start)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Restored(start.Add(time.Hour)).Scanned(swap.Solana, start.Add(2*time.Hour)).Scanned(swap.Nexus, start.Add(3*time.Hour))
	if now, err = now.Seed(41); err != nil {
		t.Fatal(err)
	}
	now.PausedFor = 5 * time.Minute
	save := func() error {
		return db.Update(ctx, func(tx T) error { return tx.SwapHouse().SaveControl(old, now) })
	}
	if err := save(); err != nil {
		t.Fatal(err)
	}
	same(t, "the control row", control(), now)
	refusedWith(t, save(), statemachine.ErrConflict, "a stale control row")
	if db.View(ctx, func(tx T) error { return tx.SwapHouse().SaveControl(now, now.Restored(start.Add(9*time.Hour))) }) == nil {
		t.Error("a view writes the control row")
	}
	var seen atomic.Int64
	for _, err := range atOnce(concurrentAttempts, func(int) error {
		return db.Update(ctx, func(tx T) error {
			c, err := tx.SwapHouse().Control(true)
			if err != nil {
				return err
			}
			next, err := c.Draw()
			if err != nil {
				return err
			}
			seen.Add(1)
			return tx.SwapHouse().SaveControl(c, next)
		})
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if c := control(); c.Reference != 41+uint64(concurrentAttempts) {
		t.Errorf("%d draws end at %d", concurrentAttempts, c.Reference)
	}

	for _, own := range []bool{false, true} {
		w, err := read(db, func(tx T) (swap.Waterline, error) { return tx.SwapHouse().Waterline(swap.Nexus, own) })
		if err != nil || !w.At.IsZero() || w.Chain != swap.Nexus || w.Own != own {
			t.Fatalf("a new waterline is %+v, %v", w, err)
		}
		for k := range 2 {
			next := w
			next.At, next.Version = start.Add(time.Duration(k)*time.Hour), w.Version+1
			put := func() error { return db.Update(ctx, func(tx T) error { return tx.SwapHouse().SaveWaterline(w, next) }) }
			if err := put(); err != nil {
				t.Fatal(err)
			}
			if err := put(); err == nil {
				t.Error("a stale waterline is written")
			}
			w, err = read(db, func(tx T) (swap.Waterline, error) { return tx.SwapHouse().Waterline(swap.Nexus, own) })
			if err != nil {
				t.Fatal(err)
			}
			same(t, "a waterline", w, next)
		}
	}
}

func discrepancies[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	s := newDeposits(t, db)
	id := s.newID()
	s.do(t, id, arrival(swap.ToUSDD, id))
	other := arrival(swap.ToUSDD, id)
	other.Amount++
	s.do(t, id, other)
	s.do(t, id, other)
	loose := swap.Unattributed(swap.Sighting{Chain: swap.Nexus, TxID: "n1", Amount: 5}, swapBy(swap.Observer, "observer"))
	for range 2 {
		if err := db.Update(ctx, func(tx T) error { return tx.SwapHouse().Note(loose) }); err != nil {
			t.Fatal(err)
		}
	}
	page := func() []swap.Discrepancy {
		all, err := read(db, func(tx T) (all []swap.Discrepancy, err error) {
			cursor := int64(0)
			for {
				one, next, err := tx.SwapHouse().Discrepancies(cursor, 1)
				if err != nil || len(one) == 0 {
					return all, err
				}
				all, cursor = append(all, one...), next
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := page()
	if len(all) != 2 || all[0].Kind != swap.InboundChanged || all[0].Item != id {
		t.Fatalf("recorded are %+v", all)
	}
	same(t, "one of no item", all[1], loose)
	house, err := store.NewSwaps(db, swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"oscar", "somebody later"} {
		if err := house.Acknowledge(ctx, who, loose); err != nil {
			t.Fatal(err)
		}
	}
	if got := page()[1]; got.ClosedBy != "oscar" || got.ClosedAt.IsZero() {
		t.Errorf("closed: %+v", got)
	}
	loose.Key = "no such thing"
	refusedWith(t, house.Acknowledge(ctx, "oscar", loose), statemachine.ErrNotFound, "one that was not recorded")
	refusedWith(t, house.Acknowledge(ctx, "oscar", all[0]), statemachine.ErrIllegal, "one of an item")
	d := s.do(t, id, swap.Ordered{By: swapBy(swap.Operator, "oscar"), Order: swap.Acknowledge, Number: 1, Reason: "a fork"})
	if all = page(); all[0].ClosedBy != "oscar" || !all[0].ClosedAt.Equal(start) || d.Discrepancies[0] != all[0] {
		t.Errorf("dealt with: %+v", all[0])
	}
}

func oldestItem[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	d, c := newDeposits(t, db), newCredits(t, db)
	oldest := func(of swap.Direction, vanished time.Time) time.Time {
		at, err := read(db, func(tx T) (time.Time, error) {
			if of == swap.ToUSDD {
				return tx.Deposits().Oldest(vanished)
			}
			return tx.Credits().Oldest(vanished)
		})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if at := oldest(swap.ToUSDD, start); !at.IsZero() {
		t.Errorf("nothing is as old as %v", at)
	}
	for k := range 3 {
		for _, of := range []swap.Direction{swap.ToUSDD, swap.ToUSDC} {
			o := arrival(of, fmt.Sprint("old", k))
			o.Time = start.Truncate(time.Second).Add(-time.Duration(3-k) * time.Hour)
			if of == swap.ToUSDD {
				d.do(t, o.ID, o)
			} else {
				c.do(t, o.ID, o)
			}
		}
	}
	want := func(of swap.Direction, vanished time.Time, hours int) {
		t.Helper()
		if at := oldest(of, vanished); !at.Equal(start.Truncate(time.Second).Add(-time.Duration(hours) * time.Hour)) {
			t.Errorf("the oldest %v is of %v", of, at)
		}
	}
	want(swap.ToUSDD, start, 3)
	want(swap.ToUSDC, start, 3)
	c.do(t, "old0", swap.Confirmations{By: swapBy(swap.Observer, "observer"), Gone: true})
	want(swap.ToUSDC, start, 3)
	want(swap.ToUSDC, start.Add(tick), 2)
}

func swapStatistics[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	d, c := newDeposits(t, db), newCredits(t, db)
	ds, cs := d.population(t), c.population(t)
	ended := d.newID() // at least one has ended, and has a discrepancy
	micro, changed := arrival(swap.ToUSDD, ended), arrival(swap.ToUSDD, ended)
	micro.Amount = 5
	worker := swapBy(swap.Worker, "worker")
	d.do(t, ended, micro, swap.Claimed{By: worker}, swap.MemoFetched{By: worker, Memos: []string{"nexus:carol"}}, swap.Elapsed{By: worker}, changed)
	ds = append(ds, ended)
	now := swaptest.Start.Add(30 * time.Hour)
	for _, window := range []time.Duration{time.Hour, 20 * time.Hour, 1000 * time.Hour} {
		tally := swap.NewTally(now, window)
		deposits, err := read(db, func(tx T) ([]swap.Deposit, error) { return tx.Deposits().Get(ds...) })
		if err != nil {
			t.Fatal(err)
		}
		credits, err := read(db, func(tx T) ([]swap.Credit, error) { return tx.Credits().Get(cs...) })
		if err != nil {
			t.Fatal(err)
		}
		for k := range deposits {
			tally.Deposit(&deposits[k])
			for n := range deposits[k].Discrepancies {
				tally.Discrepancy(&deposits[k].Discrepancies[n])
			}
		}
		for k := range credits {
			tally.Credit(&credits[k])
			for n := range credits[k].Discrepancies {
				tally.Discrepancy(&credits[k].Discrepancies[n])
			}
		}
		got, err := read(db, func(tx T) (swap.Stats, error) { return tx.SwapHouse().Stats(now, window) })
		if err != nil {
			t.Fatal(err)
		}
		want := tally.Stats()
		same(t, "the statistics", got, want)
		if want.Backlog == 0 || want.Ended() == 0 && window > 100*time.Hour || want.Discrepancies == 0 || want.Overdue == 0 || want.Held == 0 {
			t.Errorf("this counts too little: %+v", want)
		}
	}
}

func namedOutbound[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	scanHouse(t, db)
	all, err := store.NewSwaps(db, swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	observer := swapBy(swap.Observer, "scanner")
	for _, of := range []swap.Direction{swap.ToUSDD, swap.ToUSDC} {
		id := fmt.Sprintf("named%d", of)
		var in swap.Intent
		if of == swap.ToUSDD {
			d, err := all.Deposits.Do(ctx, id, append(arrived(of, id), begun(of, id))...)
			if err != nil {
				t.Fatal(err)
			}
			in = d.Intents[0]
		} else {
			c, err := all.Credits.Do(ctx, id, append(arrived(of, id), begun(of, id))...)
			if err != nil {
				t.Fatal(err)
			}
			in = c.Intents[0]
		}
		seen := swap.Sighting{VaultSigned: true, Chain: in.Chain, TxID: in.Signature, Memo: in.Memo, Reference: in.Reference, Amount: in.Net, Destination: in.Destination, Token: "USDC"}
		if in.Chain == swap.Nexus {
			seen.TxID, seen.Token = "nexus-tx", "USDD"
		}
		if err := all.Outbound(ctx, observer, seen); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := all.Deposits.Get(ctx, "named1"); err != nil || d.Status != swap.DepositDebited {
		t.Errorf("the deposit is %v, %v", d.Status, err)
	}
	if c, err := all.Credits.Get(ctx, "named2"); err != nil || c.Status != swap.CreditAwaiting {
		t.Errorf("the credit is %v, %v", c.Status, err)
	}
	for range 2 {
		for _, loose := range []swap.Sighting{{VaultSigned: true, Chain: swap.Nexus, TxID: "n9", Reference: 99, Amount: 5}, {VaultSigned: true, Chain: swap.Solana, TxID: "s9", Memo: "rent", Amount: 6},
			{VaultSigned: true, Chain: swap.Solana, TxID: "s10", Memo: "refundSig:unknown", Amount: 7}, {Chain: swap.Solana, TxID: "dust", Memo: "refundSig:unknown", Amount: 8}} {
			if err := all.Outbound(ctx, observer, loose); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The counter goes on above what was seen on the chain.
	if c, err := all.Control(ctx); err != nil || c.Reference != 99 {
		t.Errorf("the counter is at %d, %v", c.Reference, err)
	}
	for _, lie := range []swap.Sighting{{Chain: swap.Nexus, TxID: "n10", Reference: 1000, Amount: 5}, {VaultSigned: true, Chain: swap.Nexus, TxID: "n9", Reference: 98, Amount: 5}} {
		if err := all.Outbound(ctx, observer, lie); err != nil {
			t.Fatal(err)
		}
	}
	after := "named3"
	if d, err := all.Deposits.Do(ctx, after, append(arrived(swap.ToUSDD, after), begun(swap.ToUSDD, after))...); err != nil || d.Intents[0].Reference != 100 {
		t.Errorf("drew %+v, %v", d.Intents, err)
	}
	page, _, err := all.Discrepancies(ctx, 0, 100)
	if err != nil || len(page) != 3 || slices.ContainsFunc(page, func(d swap.Discrepancy) bool { return d.Kind != swap.UnattributedOutbound }) {
		t.Errorf("recorded are %+v, %v", page, err)
	}
}

func swapLimits[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	all, err := store.NewSwaps(db, swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, -1, store.MaxPage + 1, 1 << 62} {
		for name, call := range map[string]func() error{
			"Due": func() error {
				return db.Update(ctx, func(tx T) error { _, err := tx.Deposits().Due(start, n); return err })
			},
			"List":          func() error { _, err := all.Credits.List(ctx, swap.Unprocessed, "", n); return err },
			"Audit":         func() error { _, err := all.Deposits.Audit(ctx, swap.Unprocessed, "", n); return err },
			"Follow":        func() error { _, _, err := all.Deposits.Follow(ctx, "", n); return err },
			"Discrepancies": func() error { _, _, err := all.Discrepancies(ctx, 0, n); return err },
			"Turn": func() error {
				if n == 0 {
					return statemachine.ErrInvalid // it stores results alone
				}
				_, _, err := all.Credits.Work("w").Turn(ctx, nil, n)
				return err
			},
		} {
			refusedWith(t, call(), statemachine.ErrInvalid, fmt.Sprint(name, " of ", n))
		}
	}
	for _, window := range []time.Duration{0, -1, 1 << 62} {
		if _, err := all.Stats(ctx, window); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("statistics of %v: %v", window, err)
		}
	}
}

func swapSelfCheck[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	if err := store.SelfCheckSwaps(ctx, db); err != nil {
		t.Fatal(err)
	}
	c, err := read(db, func(tx T) (swap.Control, error) { return tx.SwapHouse().Control(false) })
	if err != nil || c.Version != 0 || !c.Recovering() {
		t.Errorf("it left %+v, %v", c, err)
	}
}

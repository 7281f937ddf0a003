package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// Swaps proves the swaps of a store, in both directions.
func Swaps[T store.SwapUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	swapRules(t, func(tb testing.TB) store.Store[store.SwapUnit] { return timedSwaps(open(tb)) })
}

func swapRules[T store.SwapUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	t.Run("deposits", func(t *testing.T) {
		swapItems(t, func(t *testing.T) *swapSubject[T, swap.Deposit] { return newDeposits(t, open(t)) },
			func(t *testing.T) *swapSubject[store.SwapUnit, swap.Deposit] {
				return newDeposits(t, timedSwaps(memory.New(memory.Options{})))
			})
	})
	t.Run("credits", func(t *testing.T) {
		swapItems(t, func(t *testing.T) *swapSubject[T, swap.Credit] { return newCredits(t, open(t)) },
			func(t *testing.T) *swapSubject[store.SwapUnit, swap.Credit] {
				return newCredits(t, timedSwaps(memory.New(memory.Options{})))
			})
	})
	for _, r := range []struct {
		rule string
		test func(*testing.T, store.Store[T])
	}{
		{"a reference number is drawn once, by many at once", drawnOnce[T]},
		{"a reference number is in one intent", referenceOnce[T]},
		{"a signature is in one intent", signatureOnce[T]},
		{"a transaction that was filed pays for one item", claimedOnce[T]},
		{"a transaction that was sent for another item proves nothing", ownedOutbound[T]},
		{"what was filed for another item refuses no evidence", contestedOutbound[T]},
		{"a reference of another time line names nobody, and a person says whose it is", branchedOutbound[T]},
		{"what is asked for one key is of that key alone", ownKeys[T]},
		{"an item of a restored copy is not paid before a look back", restoredStore[T]},
		{"the control row and waterlines are compared and swapped", houseVersions[T]},
		{"a discrepancy is recorded once, in order, until somebody deals with it", discrepancies[T]},
		{"each table is asked, and written as it was read", everyTable[T]},
		{"one discrepancy is closed, by all of its key", closedAlone[T]},
		{"a waterline waits for the oldest unprocessed item", oldestItem[T]},
		{"a scan is of the store's clock, and an outbound of who saw it", scansOfTheStore[T]},
		{"statistics count what the domain counts", swapStatistics[T]},
		{"an outbound is stored with the item that it names", namedOutbound[T]},
		{"replaying everything from a lowered waterline has no effect", replayed[T]},
		{"an item that fails for ever holds up no other", holdsUpNoOther[T]},
		{"a worker claims, renews and gives back", workers[T]},
		{"limits of 0, below it, or enormous are refused by every method", swapLimits[T]},
		{"the self-check passes and leaves nothing", swapSelfCheck[T]},
		{"every field of a deposit comes back", func(t *testing.T, s store.Store[T]) { depositFields(t, newDeposits(t, s)) }},
		{"every field of a credit comes back", func(t *testing.T, s store.Store[T]) { creditFields(t, newCredits(t, s)) }},
	} {
		t.Run(r.rule, func(t *testing.T) { r.test(t, open(t)) })
	}
}

func swapItems[T store.SwapUnit, A any](t *testing.T, open func(*testing.T) *swapSubject[T, A], reference func(*testing.T) *swapSubject[store.SwapUnit, A]) {
	versioned(t, open)
	t.Run("an item is in exactly one table, and moves in one commit", func(t *testing.T) { oneTable(t, open(t)) })
	t.Run("random histories store the same as the memory adapter", func(t *testing.T) { randomHistories(t, open(t), reference(t)) })
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

// holdsUpNoOther: the oldest item of which nothing ever comes is claimed, given
// back, and left alone for a while.
func holdsUpNoOther[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	live(db)
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

// workers claim, renew and give back in either direction.
func workers[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	live(db)
	ds, cs := newDeposits(t, db), newCredits(t, db)
	d, c := ds.newID(), cs.newID()
	ds.do(t, d, arrival(swap.ToUSDD, d))
	cs.do(t, c, arrival(swap.ToUSDC, c), swap.Confirmations{By: swapBy(swap.Observer, "observer"), Count: 2})
	all, err := store.NewSwaps(db, swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	givesBack(t, all.Deposits.Work("worker"), func() statemachine.Lease { return ds.get(t, d).Lease })
	givesBack(t, all.Credits.Work("worker"), func() statemachine.Lease { return cs.get(t, c).Lease })
}

func givesBack[A, H any](t *testing.T, w interface {
	worker.Source[A, H]
	Release(A) H
}, lease func() statemachine.Lease) {
	items, _, err := w.Turn(ctx, nil, 1)
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	was, until := lease(), items[0].Until
	if was.Until.Sub(until).Abs() > time.Minute {
		t.Errorf("the worker is told of %v, stored is %v", until, was.Until)
	}
	if err := w.Renew(ctx, items); err != nil || lease().Until.Before(was.Until) {
		t.Errorf("renewed: %+v, it was %+v, %v", lease(), was, err)
	}
	if _, _, err := w.Turn(ctx, []H{w.Release(items[0].Work)}, 0); err != nil || lease().Holder != "" {
		t.Errorf("given back: %+v, %v", lease(), err)
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

func swapLimits[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	all, err := store.NewSwaps(db, swaptest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	limited(t, map[string]func(int) error{
		"Due": func(n int) error {
			return db.Update(ctx, func(tx T) error { _, err := tx.Deposits().Due(start, n); return err })
		},
		"List":          func(n int) error { _, err := all.Credits.List(ctx, swap.Unprocessed, "", n); return err },
		"Audit":         func(n int) error { _, err := all.Deposits.Audit(ctx, swap.Unprocessed, "", n); return err },
		"Follow":        func(n int) error { _, _, err := all.Deposits.Follow(ctx, "", n); return err },
		"Discrepancies": func(n int) error { _, _, err := all.Discrepancies(ctx, 0, n); return err },
	}, map[string]func(int) error{
		"Turn": func(n int) error { _, _, err := all.Credits.Work("w").Turn(ctx, nil, n); return err },
	})
	for _, place := range []swap.Place{0, 5} {
		_, err := all.Deposits.List(ctx, place, "", 1)
		refusedWith(t, err, statemachine.ErrInvalid, "a list of no table")
		_, err = all.Deposits.Audit(ctx, place, "", 1)
		refusedWith(t, err, statemachine.ErrInvalid, "an audit of no table")
	}
	for _, window := range []time.Duration{0, -1, 1 << 62} {
		if _, err := all.Stats(ctx, window); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("statistics of %v: %v", window, err)
		}
	}
}

func swapSelfCheck[T store.SwapUnit](t *testing.T, db store.Store[T]) {
	live(db)
	if err := store.SelfCheckSwaps(ctx, db); err != nil {
		t.Fatal(err)
	}
	c, err := read(db, func(tx T) (swap.Control, error) { return tx.SwapHouse().Control(false) })
	if err != nil || c.Version != 0 || !c.Recovering() {
		t.Errorf("it left %+v, %v", c, err)
	}
}

package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// Swaps proves the swaps of a store, in both directions.
func Swaps[T store.SwapUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	opened := func(t *testing.T) *swaps { return newSwaps(t, timedSwaps(open(t))) }
	inMemory := func(t *testing.T) *swaps { return newSwaps(t, timedSwaps(memory.New(memory.Options{}))) }
	t.Run("deposits", func(t *testing.T) {
		swapItems(t, func(t *testing.T) *swapSubject[swap.Deposit] { return opened(t).deposits },
			func(t *testing.T) *swapSubject[swap.Deposit] { return inMemory(t).deposits })
	})
	t.Run("credits", func(t *testing.T) {
		swapItems(t, func(t *testing.T) *swapSubject[swap.Credit] { return opened(t).credits },
			func(t *testing.T) *swapSubject[swap.Credit] { return inMemory(t).credits })
	})
	t.Run("a copy of any commit pays each item once, by the procedure", func(t *testing.T) {
		copiesOfSwaps(t, func(t testing.TB) store.Store[store.SwapUnit] { return timedSwaps(open(t)) }, uint64(usual(1, 4)), usual(25, 60),
			usual(3, 30), "")
	})
	type of = *swaps
	prove(t, opened, []rule[of]{
		{"a reference number is drawn once, by many at once", of.drawnOnce},
		{"a reference number is in one intent", of.referenceOnce},
		{"a signature is in one intent", of.signatureOnce},
		{"a transaction that was filed pays for one item", of.claimedOnce},
		{"a transaction that was sent for another item proves nothing", of.ownedOutbound},
		{"what was filed for another item refuses no evidence", of.contestedOutbound},
		{"a reference of another time line names nobody, and a person says whose it is", of.branchedOutbound},
		{"what is asked for one key is of that key alone", of.ownKeys},
		{"an item of a restored copy is not paid before a look back", of.restoredStore},
		{"a direction that is stopped begins no outbound, the other goes on, and what was begun is answered", of.stopped},
		{"the control row and waterlines are compared and swapped", of.houseVersions},
		{"a discrepancy is recorded once, in order, until somebody deals with it", of.discrepancies},
		{"each table is asked, and written as it was read", of.everyTable},
		{"one discrepancy is closed, by all of its key", of.closedAlone},
		{"a waterline waits for the oldest unprocessed item", of.oldestItem},
		{"a scan is of the store's clock, and an outbound of who saw it", of.scansOfTheStore},
		{"statistics count what the domain counts", of.swapStatistics},
		{"an outbound is stored with the item that it names", of.namedOutbound},
		{"replaying everything from a lowered waterline has no effect", of.replayed},
		{"an item that fails for ever holds up no other", of.holdsUpNoOther},
		{"a list of no table and statistics of no time are refused", of.bounds},
		{"every field of a deposit comes back", of.depositFields},
		{"every field of a credit comes back", of.creditFields},
	})
}

// swaps is one store under test.
type swaps struct {
	store.Store[store.SwapUnit]
	deposits *swapSubject[swap.Deposit]
	credits  *swapSubject[swap.Credit]
	service  *store.Swaps
}

func newSwaps(t *testing.T, db store.Store[store.SwapUnit]) *swaps {
	service := must(store.NewSwaps(db, swaptest.Policy()))(t)
	return &swaps{db, newDeposits(t, db), newCredits(t, db), service}
}

func swapItems[A any](t *testing.T, open, memory func(*testing.T) *swapSubject[A]) {
	versioned(t, open, memory)
	t.Run("an item is in exactly one table, and moves in one commit", func(t *testing.T) { oneTable(t, open(t)) })
}

// oneTable takes an item through its life and looks into all four tables after
// each event.
func oneTable[A any](t *testing.T, s *swapSubject[A]) {
	for _, g := range s.stages {
		a := s.make(t, &g)
		places := 0
		err := s.View(ctx, func(tx store.SwapUnit) error {
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
	}
}

// holdsUpNoOther: the oldest item of which nothing ever comes is claimed, given
// back, and left alone for a while.
func (db *swaps) holdsUpNoOther(t *testing.T) {
	live(db.Store)
	ids := []string{"bad", "good", "late"}
	for k, id := range ids {
		o := arrival(swap.ToUSDD, id)
		o.Time = o.Time.Add(time.Duration(k-10) * time.Second)
		must(db.service.Deposits.Do(ctx, id, o))(t)
	}
	work := db.service.Deposits.Work("worker")
	var done []store.HeldDeposit
	for k, want := range append(ids, "") {
		items, _, err := work.Turn(ctx, done, 1)
		noError(t, err)
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
			done = []store.HeldDeposit{{Deposit: stale, Events: []swap.Event{swap.Held{By: swapBy(swap.Worker, "worker"), Reason: "no worker may"}}}}
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

func (db *swaps) bounds(t *testing.T) {
	for _, place := range []swap.Place{0, 5} {
		refusedWith(t, errOf(db.service.Deposits.List(ctx, place, "", 1)), statemachine.ErrInvalid, "a list of no table")
		refusedWith(t, errOf(db.service.Deposits.Audit(ctx, "nowhere/", 1)), statemachine.ErrInvalid, "an audit of no table")
	}
	for _, window := range []time.Duration{0, -1, 1 << 62} {
		if _, err := db.service.Stats(ctx, window); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("statistics of %v: %v", window, err)
		}
	}
}

package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// restoredStore: a copy is taken up again. What it shows as ready is not paid
// before it was looked back for, in either direction.
func (db *swaps) restoredStore(t *testing.T) {
	ds, cs := db.deposits, db.credits
	d, c := ds.newID(), cs.newID()
	ds.do(t, d, arrived(swap.ToUSDD, d)...)
	cs.do(t, c, arrived(swap.ToUSDC, c)...)
	noError(t, db.Update(ctx, func(tx store.SwapUnit) error {
		old, err := tx.SwapHouse().Control(true)
		if err != nil {
			return err
		}
		return tx.SwapHouse().SaveControl(old, old.Restored(start.Add(tick)).Scanned(swap.Solana, start.Add(time.Hour)).Scanned(swap.Nexus, start.Add(time.Hour)))
	}))
	view := swap.View{From: start.Add(-25 * time.Hour), Asked: start, ByID: true, ByMemo: true, Before: 1, After: 1, CannotLand: true}
	looked := swap.Looked{By: swapBy(swap.Worker, "worker"), Finding: swap.LookMissing, View: view, Nexus: view}
	begin := func(b swap.Begun) swap.Begun { // the lease is held still
		b.At = start.Add(time.Minute)
		return b
	}
	refusedWith(t, errOf(ds.service.Do(ctx, d, begin(begun(swap.ToUSDD, d)))), statemachine.ErrHeld, "a deposit of a copy")
	refusedWith(t, errOf(cs.service.Do(ctx, c, begin(begun(swap.ToUSDC, c)))), statemachine.ErrHeld, "a credit of a copy")
	before := ds.do(t, d, looked) // too early: a sender of before may still send
	if before.LookedBack.After(start) {
		t.Errorf("looked back until %v", before.LookedBack)
	}
	looked.At, looked.View.Asked, looked.Nexus.Asked = start.Add(time.Hour), start.Add(time.Hour), start.Add(time.Hour)
	ds.do(t, d, ds.stages[0].back(&before)...)
	// what it is told by, the control row, is not in the event
	refusedWith(t, errOf(ds.held(ctx, before, looked)), statemachine.ErrConflict, "a look back of a stale copy, which is not stored")
	if now := ds.do(t, d, looked); !now.LookedBack.Equal(looked.At) {
		t.Errorf("looked back until %v", now.LookedBack)
	}
	cs.do(t, c, looked)
	ds.do(t, d, begin(begun(swap.ToUSDD, d)))
	cs.do(t, c, begin(begun(swap.ToUSDC, c)))
}

// replayed: after a waterline was lowered, all that came in and went out is seen
// again, by chains that know the ends.
func (db *swaps) replayed(t *testing.T) {
	ds, cs := db.deposits, db.credits
	d, c := ds.make(t, &ds.stages[2]), cs.make(t, &cs.stages[2])
	observer := swapBy(swap.Observer, "scanner")
	replay := func() {
		t.Helper()
		_, err1 := db.service.Deposits.Do(ctx, d.ID, arrival(swap.ToUSDD, d.ID))
		_, err2 := db.service.Credits.Do(ctx, c.ID, arrival(swap.ToUSDC, c.ID), swap.Confirmations{By: observer, Count: 99})
		errs := []error{err1, err2}
		for _, in := range append(d.Intents[:1:1], c.Intents...) {
			errs = append(errs, db.service.Outbound(ctx, observer, swaptest.Sighting(&in, true)))
		}
		for _, chain := range swap.Chain(0).Values() {
			for _, own := range []bool{false, true} {
				_, err := db.service.Scanned(ctx, chain, own, swap.Scan{Began: start, From: start.Add(-24 * time.Hour), Complete: true, Tip: start})
				errs = append(errs, err)
			}
		}
		noError(t, errors.Join(errs...))
	}
	lines := func() (out []string) {
		for _, chain := range swap.Chain(0).Values() {
			for _, own := range []bool{false, true} {
				w, _, err := db.service.Waterline(ctx, chain, own)
				if err != nil || w.At.IsZero() {
					t.Fatal(w, err)
				}
				out = append(out, w.At.String())
				noError(t, db.Update(ctx, func(tx store.SwapUnit) error {
					lower := w
					lower.At, lower.Version = start.Add(-24*time.Hour), w.Version+1
					return tx.SwapHouse().SaveWaterline(w, lower)
				}))
			}
		}
		return out
	}
	live(db.Store)
	replay()
	replay() // now the outbounds are final, too
	before := []any{ds.snapshot(t, d.ID), cs.snapshot(t, c.ID), lines()}
	replay()
	same(t, "after a replay", []any{ds.snapshot(t, d.ID), cs.snapshot(t, c.ID), lines()}, before)
	if d = ds.get(t, d.ID); d.Status != swap.DepositProcessed || len(d.Discrepancies) > 0 {
		t.Errorf("the deposit is %v, %+v", d.Status, d.Discrepancies)
	}
}

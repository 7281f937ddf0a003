package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
)

// ownKeys: what is asked for one key is of that key alone: a deposit and a credit may
// have the same id, numbers and transactions lie beside one another.
func (db *swaps) ownKeys(t *testing.T) {
	p := swaptest.Policy()
	p.MaxAttempts = 1
	all := must(store.NewSwaps(db.Store, p))(t)
	const id = "ab12"
	other := arrival(swap.ToUSDD, id)
	other.Amount++
	send := begun(swap.ToUSDD, id)
	send.Reference = 50
	must(all.Deposits.Do(ctx, id, append(arrived(swap.ToUSDD, id), send, other)...))(t)
	must(all.Credits.Do(ctx, id, arrived(swap.ToUSDC, id)...))(t)
	if c, err := all.Credits.Get(ctx, id); err != nil || len(c.Intents)+len(c.Discrepancies) > 0 {
		t.Errorf("a credit has what a deposit of its id has: %+v, %v", c, err)
	}
	if d, err := all.Deposits.Get(ctx, id); err != nil || len(d.Intents) != 1 || len(d.Discrepancies) != 1 {
		t.Errorf("the deposit: %+v, %v", d, err)
	}
	must(all.Credits.Do(ctx, id, swap.PaidBy{By: swapBy(swap.Operator, "oscar"), Action: swap.Refund, TxID: "b5", Reason: "x"}))(t)
	noError(t, db.View(ctx, func(tx store.SwapUnit) error {
		for n, want := range map[uint64]swap.Direction{49: 0, 50: swap.ToUSDD, 51: 0} {
			if d, got, err := tx.SwapHouse().OfReference(n); err != nil || d != want || (got == id) != (want != 0) {
				t.Errorf("reference %d is of %v %q, %v", n, d, got, err)
			}
		}
		for claim, want := range map[string]swap.Direction{"nexus b4": 0, "nexus b5": swap.ToUSDC, "nexus b6": 0, "solana b5": 0, "": 0} {
			if d, got, err := tx.SwapHouse().OfClaim(claim); err != nil || d != want || (got == id) != (want != 0) {
				t.Errorf("%q is of %v %q, %v", claim, d, got, err)
			}
		}
		return nil
	}))
	noError(t, db.Update(ctx, func(tx store.SwapUnit) error {
		w := swap.Waterline{Chain: swap.Nexus, Own: true}
		to := w
		to.At, to.Version = start, 1
		return tx.SwapHouse().SaveWaterline(w, to)
	}))
	for _, chain := range swap.Chain(0).Values() {
		if w, _, err := all.Waterline(ctx, chain, true); err != nil || w.At.IsZero() != (chain == swap.Solana) {
			t.Errorf("%v: %+v, %v", chain, w, err)
		}
	}
	must(all.Deposits.Do(ctx, id, swap.Answered{By: swapBy(swap.Worker, "worker"), Fence: 1, Number: 1,
		Outcome: statemachine.Done, TxID: "c7"}))(t)
	if c, err := all.Credits.Get(ctx, id); err != nil || c.Intents[0].TxID != "b5" || c.Intents[0].Landed() {
		t.Errorf("an answer to a deposit's intent changed a credit's: %+v, %v", c.Intents, err)
	}
	// What was read is the reader's own.
	kept := must(all.Deposits.Get(ctx, id))(t)
	before := text(t, kept)
	kept.Intents[0].TxID, kept.Discrepancies[0].Text = "x", "x"
	kept = must(all.Deposits.Get(ctx, id))(t)
	same(t, "after its reader wrote to it", text(t, kept), before)
	// A quarantine that failed for good holds the waterline back no longer.
	w, failed := swapBy(swap.Worker, "worker"), arrival(swap.ToUSDD, "failed")
	failed.Time = failed.Time.Add(-time.Hour)
	oldest := func(want time.Time) {
		t.Helper()
		if at, err := read(db.Store, func(tx store.SwapUnit) (time.Time,
			error) {
			return tx.Deposits().Oldest(start)
		}); err != nil || !at.Equal(want) {
			t.Errorf("the oldest is of %v, %v", at, err)
		}
	}
	must(all.Deposits.Do(ctx, failed.ID, failed, swap.Claimed{By: w}, swap.MemoFetched{By: w, Memos: []string{"hello"}},
		swap.QuarantineOrdered{By: swapBy(swap.Operator, "oscar"), Reason: "x"},
		swap.Begun{By: w, Fence: 1, Number: 1, Action: swap.Quarantine, Signature: "move", LastValid: 9}))(t)
	oldest(failed.Time)
	must(all.Deposits.Do(ctx, failed.ID, swap.Answered{By: w, Fence: 1, Number: 1, Outcome: statemachine.Failed}))(t)
	oldest(failed.Time.Add(time.Hour))
	// An alert ends with the one that a person has dealt with.
	open := func() int64 {
		return int64(must(all.Stats(ctx, time.Hour))(t).Discrepancies)
	}
	were := open()
	must(all.Deposits.Do(ctx, id, swap.Acknowledged{By: swapBy(swap.Operator, "oscar"), Number: 1, Reason: "seen"}))(t)
	if after := open(); were == 0 || after != were-1 {
		t.Errorf("%d discrepancies are open, they were %d", after, were)
	}
}

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
		return tx.SwapHouse().SaveControl(old, old.Restored(start.Add(tick)).Scanned(swap.Solana).Scanned(swap.Nexus))
	}))
	view := swap.View{From: start.Add(-25 * time.Hour), Asked: start, ByID: true, ByMemo: true, Before: 1, After: 1, CannotLand: true}
	looked := swap.Looked{By: swapBy(swap.Worker, "worker"), Finding: swap.LookMissing, View: view, Nexus: view}
	begin := func(b swap.Begun) swap.Begun { // the lease is held still
		b.At = start.Add(time.Minute)
		return b
	}
	refusedWith(t, errOf(ds.service.Do(ctx, d, begin(begun(swap.ToUSDD, d)))), switches.ErrUnsettled, "a deposit of a copy")
	refusedWith(t, errOf(cs.service.Do(ctx, c, begin(begun(swap.ToUSDC, c)))), switches.ErrUnsettled, "a credit of a copy")
	before := ds.do(t, d, looked) // too early: a sender of before may still send
	generation := must(db.service.Control(ctx))(t).Generation
	if before.LookedBack == generation {
		t.Errorf("looked back in generation %d", before.LookedBack)
	}
	looked.At, looked.View.Asked, looked.Nexus.Asked = start.Add(time.Hour), start.Add(time.Hour), start.Add(time.Hour)
	ds.do(t, d, ds.stages[0].back(&before)...)
	// what it is told by, the control row, is not in the event
	refusedWith(t, errOf(ds.held(ctx, before, looked)), statemachine.ErrConflict, "a look back of a stale copy, which is not stored")
	if now := ds.do(t, d, looked); now.LookedBack != generation {
		t.Errorf("looked back in generation %d", now.LookedBack)
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

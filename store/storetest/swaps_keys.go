package storetest

import (
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine"
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
	must(all.Credits.Do(ctx, id, swap.Ordered{By: swapBy(swap.Operator, "oscar"), Order: swap.PaidBy, Action: swap.Refund, TxID: "b5", Reason: "x"}))(t)
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
	must(all.Deposits.Do(ctx, id, swap.Answered{By: swapBy(swap.Worker, "worker"), Fence: 1, Number: 1, Outcome: statemachine.Done, TxID: "c7"}))(t)
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
		if at, err := read(db.Store, func(tx store.SwapUnit) (time.Time, error) { return tx.Deposits().Oldest(start) }); err != nil || !at.Equal(want) {
			t.Errorf("the oldest is of %v, %v", at, err)
		}
	}
	must(all.Deposits.Do(ctx, failed.ID, failed, swap.Claimed{By: w}, swap.MemoFetched{By: w, Memos: []string{"hello"}},
		swap.Ordered{By: swapBy(swap.Operator, "oscar"), Order: swap.OrderQuarantine, Reason: "x"},
		swap.Begun{By: w, Fence: 1, Number: 1, Action: swap.Quarantine, Signature: "move", LastValid: 9}))(t)
	oldest(failed.Time)
	must(all.Deposits.Do(ctx, failed.ID, swap.Answered{By: w, Fence: 1, Number: 1, Outcome: statemachine.Failed}))(t)
	oldest(failed.Time.Add(time.Hour))
	// An alert ends with the one that a person has dealt with.
	open := func() int64 {
		return int64(must(all.Stats(ctx, time.Hour))(t).Discrepancies)
	}
	were := open()
	must(all.Deposits.Do(ctx, id, swap.Ordered{By: swapBy(swap.Operator, "oscar"), Order: swap.Acknowledge, Number: 1, Reason: "seen"}))(t)
	if after := open(); were == 0 || after != were-1 {
		t.Errorf("%d discrepancies are open, they were %d", after, were)
	}
}

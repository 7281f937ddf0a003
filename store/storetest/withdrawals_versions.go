package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

func concurrentEnqueues[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	for range 5 {
		request := w.approved(t, evm, start).Request.ID
		events := make([]withdrawal.Enqueued, concurrentAttempts)
		for i := range events {
			events[i] = w.enqueued(start, withdrawal.Normal)
		}
		errs := atOnce(len(events), func(i int) error {
			_, err := w.service.Do(ctx, request, events[i])
			return err
		})
		winner := oneOf(t, errs, withdrawal.ErrActiveJob, statemachine.ErrConflict)
		a := w.get(t, request)
		equalIDs(t, "the winner's job is stored", []uuid.UUID{a.Job.ID}, []uuid.UUID{events[winner].Job})
		if err := withdrawal.Check(a); err != nil {
			t.Fatal(err)
		}
		_, err := w.service.Do(ctx, request, w.enqueued(start, withdrawal.Normal))
		taken(t, err, withdrawal.ErrActiveJob, a.Job.ID)
	}
}

func activeJob[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	old := w.pending(t, evm, start)
	// As if the rule of package withdrawal were forgotten.
	forged := old
	forged.Request.Status, forged.Job = withdrawal.RequestApproved, withdrawal.Job{}
	second := w.enqueued(start, withdrawal.Normal)
	second.Wallets = []withdrawal.HotWallet{old.Wallet}
	for _, state := range []withdrawal.Event{nil, withdrawal.Claimed{By: workerAt(start)}} {
		if state != nil {
			w.do(t, old.Request.ID, state)
		}
		taken(t, w.save(w.change(t, forged, second)), withdrawal.ErrActiveJob, old.Job.ID)
	}
	a := w.do(t, old.Request.ID, withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Permanent, Error: "bad address"},
		withdrawal.Requeued{By: by(withdrawal.Operator, start), Job: old.Job.ID, Reason: "corrected"}, second)
	if a.Job.ID != second.Job || a.Job.Status != withdrawal.JobPending {
		t.Fatalf("a failed job is not active, and the latest is %+v", a.Job)
	}
	same(t, "the latest job", w.get(t, old.Request.ID).Job, a.Job)
	if err := w.service.Verify(ctx, old.Job.ID); err != nil {
		t.Fatal("the trail of the first job: ", err)
	}
}

func slots[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	chain, hot := w.id(), w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: chain})
	first, second := w.pending(t, chain, start), w.pending(t, chain, start)
	w.do(t, first.Request.ID, withdrawal.Claimed{By: workerAt(start)})
	claim := w.change(t, second, withdrawal.Claimed{By: workerAt(start)})
	taken(t, w.save(claim), withdrawal.ErrSlotTaken, first.Job.ID)
	w.do(t, first.Request.ID, withdrawal.Snoozed{By: workerAt(start), Fence: 1, For: time.Hour})
	if err := w.save(claim); err != nil {
		t.Fatal("the slot is free again: ", err)
	}
	free := []withdrawal.Withdrawal{w.processing(t, utxos, start), w.processing(t, utxos, start)}
	if free[0].Job.Slot.Valid || free[0].Job.Wallet != free[1].Job.Wallet {
		t.Fatal("a chain without nonces has no slots")
	}
}

func duplicateTxs[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	a := w.processing(t, utxos, start)
	c := w.change(t, a, prepared(&a, start))
	if err := w.save(c); err != nil {
		t.Fatal(err)
	}
	// As if a job had forgotten what it has on file.
	for _, forge := range []func(*withdrawal.Tx){func(tx *withdrawal.Tx) { tx.Hash = "another" }, func(tx *withdrawal.Tx) { tx.Seq = 2 }} {
		again := w.change(t, c.New, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: c.New.Job.TxHash})
		again.Txs = []withdrawal.Tx{c.Txs[0]}
		forge(&again.Txs[0])
		refusedWith(t, w.save(again), statemachine.ErrConflict, "a transaction that is on file")
	}
	same(t, "transactions on file", w.get(t, a.Request.ID).Txs, c.Txs)
}

func incidents[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	a := w.confirming(t, evm, start)
	a = w.do(t, a.Request.ID, receipt(&a, start, 3))
	evidence := receipt(&a, start.Add(time.Hour), 5)
	evidence.Reverted = true
	other := evidence
	other.Block.Hash, other.Block.Canonical = "b11", "b11"
	for range 2 {
		w.do(t, a.Request.ID, evidence)
		w.do(t, a.Request.ID, other)
	}
	same(t, "after incidents", w.get(t, a.Request.ID).Job, a.Job)
	all, cursor, err := w.service.Incidents(ctx, 0, 10)
	if err != nil || len(all) != 2 || all[0].BlockHash != "b10" || all[1].BlockHash != "b11" {
		t.Fatalf("incidents are %+v, %v", all, err)
	}
	first, one, err := w.service.Incidents(ctx, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	second, two, err := w.service.Incidents(ctx, one, 10)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "pages of one incident", append(first, second...), all)
	if rest, end, err := w.service.Incidents(ctx, two, 10); err != nil || len(rest) > 0 || end != cursor {
		t.Fatalf("after the last page: %v, cursor %d of %d, %v", rest, end, cursor, err)
	}
}

func concurrentWindows[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	requests := make([]uuid.UUID, concurrentAttempts)
	for i := range requests {
		requests[i] = w.id()
	}
	var approved atomic.Int32
	for i, err := range atOnce(len(requests), func(i int) error {
		ev := submission(requests[i], evm, time.Time{})
		ev.Asset, ev.Amount = limitedAsset, "100"
		a, err := w.service.Submit(ctx, ev)
		if err == nil && a.Request.Status == withdrawal.RequestApproved {
			approved.Add(1)
		}
		return err
	}) {
		if err != nil {
			t.Fatalf("submission %d: %v", i, err)
		}
	}
	if approved.Load() != 2 {
		t.Fatalf("%d of 100 each were approved automatically, the window holds 250", approved.Load())
	}
}

func reservations[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	ids := make([]uuid.UUID, 16)
	for i := range ids {
		ids[i] = w.approved(t, utxos, start).Request.ID
	}
	for _, err := range atOnce(len(ids), func(i int) error {
		_, err := w.service.Do(ctx, ids[i], w.enqueued(start.Add(time.Duration(i)*time.Minute), withdrawal.Normal))
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	wallet := w.get(t, ids[0]).Wallet
	if wallet.BalanceReserved != "24000000000000000000" || !wallet.LastUsedAt.Equal(start.Add(15*time.Minute)) {
		t.Fatalf("16 jobs of 1.5 reserve %s, last used %v", wallet.BalanceReserved, wallet.LastUsedAt)
	}
	at := start.Add(time.Hour)
	for _, err := range atOnce(len(ids), func(i int) error {
		_, err := w.service.Do(ctx, ids[i], withdrawal.Claimed{By: workerAt(at)},
			withdrawal.AttemptFailed{By: workerAt(at), Fence: 1, Failure: withdrawal.Permanent, Error: "no"})
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if wallet = w.get(t, ids[0]).Wallet; wallet.BalanceReserved != "0" {
		t.Fatalf("after the end of all jobs %s is reserved", wallet.BalanceReserved)
	}
}

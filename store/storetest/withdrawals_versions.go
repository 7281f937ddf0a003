package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

func staleVersions[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	old := w.approved(t, evm, start)
	stale := w.change(t, old, withdrawal.Cancelled{By: by(withdrawal.Operator, start)})
	current := w.do(t, old.Request.ID, w.enqueued(start, withdrawal.Normal))
	refusedWith(t, w.save(stale), statemachine.ErrConflict, "a change of an old request")

	staleClaim := w.change(t, current, withdrawal.Claimed{By: workerAt(start)})
	w.do(t, old.Request.ID, withdrawal.Claimed{By: withdrawal.By{Actor: worker2, Role: withdrawal.WithdrawalWorker, At: start}})
	refusedWith(t, w.save(staleClaim), statemachine.ErrConflict, "a change of an old job")

	unknown := w.change(t, withdrawal.Withdrawal{}, submission(w.id(), evm, start)).New // never saved
	approval := w.change(t, unknown, withdrawal.Approved{By: by(withdrawal.Approver, start)})
	refusedWith(t, w.save(approval), statemachine.ErrConflict, "a change of a request that is not stored")
	if a := w.get(t, old.Request.ID); a.Job.Lease.Holder != worker2 || a.Job.Version != 2 {
		t.Fatalf("a refused change was stored: %+v", a.Job)
	}
}

func leaveAndReturn[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	old := w.pending(t, utxos, start)
	stale := w.change(t, old, withdrawal.Claimed{By: workerAt(start.Add(time.Hour))})
	back := w.do(t, old.Request.ID, withdrawal.Claimed{By: workerAt(start)}, withdrawal.Snoozed{By: workerAt(start), Fence: 1})
	if back.Job.Status != old.Job.Status || back.Job.RetryCount != old.Job.RetryCount {
		t.Fatal("the job has not come back")
	}
	refusedWith(t, w.save(stale), statemachine.ErrConflict, "a change from before")
}

// atOnce runs n functions at the same time and returns their errors.
func atOnce(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	ready := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-ready
			errs[i] = fn(i)
		})
	}
	close(ready)
	group.Wait()
	return errs
}

// oneOf requires that exactly one succeeded, and the others failed with one of
// the sentinels. It returns the winner.
func oneOf(t testing.TB, errs []error, sentinels ...error) (winner int) {
	t.Helper()
	winner = -1
	for i, err := range errs {
		known := false
		for _, s := range sentinels {
			known = known || errors.Is(err, s)
		}
		switch {
		case err == nil && winner >= 0:
			t.Fatalf("writers %d and %d both won", winner, i)
		case err == nil:
			winner = i
		case !known:
			t.Fatalf("writer %d: got error %v, expected one of %v", i, err, sentinels)
		}
	}
	if winner < 0 {
		t.Fatalf("nobody won: %v", errs)
	}
	return winner
}

func oneWriter[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	for range 5 {
		old := w.pending(t, utxos, start)
		changes := make([]withdrawal.Change, concurrentAttempts)
		for i := range changes {
			changes[i] = w.change(t, old, withdrawal.Claimed{By: workerAt(start.Add(time.Duration(i) * time.Second))})
		}
		winner := oneOf(t, atOnce(len(changes), func(i int) error { return w.save(changes[i]) }), statemachine.ErrConflict)
		same(t, "the winner's job", w.get(t, old.Request.ID).Job, changes[winner].New.Job)
	}
}

func staleTouches[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	old := w.confirming(t, evm, start)
	looking := withdrawal.Looking{By: by(withdrawal.ConfirmationWorker, start.Add(time.Hour))}
	first := w.change(t, old, looking)
	if !first.Touch() {
		t.Fatal("looking is no touch")
	}
	if err := w.save(first); err != nil {
		t.Fatal(err)
	}
	leased := w.do(t, old.Request.ID, withdrawal.Claimed{By: workerAt(start.Add(time.Hour))})
	if leased.Job.Version != old.Job.Version || leased.Job.Lease.Fence != old.Job.Lease.Fence+1 {
		t.Fatalf("a claim in confirming is a touch with the next fence: %+v", leased.Job)
	}
	refusedWith(t, w.save(first), statemachine.ErrFenced, "a touch under the old fence")
	bumped := w.do(t, old.Request.ID, withdrawal.Rebumped{By: workerAt(start.Add(time.Hour)), Fence: leased.Job.Lease.Fence, Hash: "bump", Raw: []byte{9},
		Nonce: leased.Job.Nonce, HasNonce: true})
	looking.At = looking.At.Add(time.Hour)
	refusedWith(t, w.save(w.change(t, leased, looking)), statemachine.ErrConflict, "a touch of the old version")
	same(t, "after refused touches", w.get(t, old.Request.ID), bumped)
}

func staleFence[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	old := w.confirming(t, evm, start)
	evidence := receipt(&old, start, 3)
	stale := w.change(t, old, evidence)
	w.do(t, old.Request.ID, withdrawal.Claimed{By: workerAt(start)})
	refusedWith(t, w.save(stale), statemachine.ErrFenced, "a change that would bring an old fence back")
	if a := w.do(t, old.Request.ID, evidence); a.Job.Lease.Fence != 2 || a.Job.Status != withdrawal.JobConfirmed {
		t.Fatalf("the evidence on what is stored gave %+v", a.Job)
	}
}

func (w *withdrawals[T]) renew(t testing.TB, now time.Time, leases ...store.JobLease) (lost []uuid.UUID) {
	t.Helper()
	err := w.Update(ctx, func(tx T) (err error) {
		lost, err = tx.Withdrawals().Renew(now, leases...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lost
}

func renewals[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	held, other := w.processing(t, evm, start), w.processing(t, utxos, start)
	end := held.Job.Lease.Until
	lease := func(a *withdrawal.Withdrawal, fence int64) store.JobLease {
		return store.JobLease{Job: a.Job.ID, Fence: fence, Until: end.Add(time.Hour)}
	}
	unknown := store.JobLease{Job: w.id(), Fence: 1, Until: end}
	lost := w.renew(t, end.Add(-time.Microsecond), lease(&held, 1), lease(&other, 2), unknown)
	if len(lost) != 2 || lost[0] == lost[1] || lost[0] == held.Job.ID || lost[1] == held.Job.ID {
		t.Fatalf("lost are %v, expected those of another fence (%v) and of an unknown job (%v)", lost, other.Job.ID, unknown.Job)
	}
	want := held
	want.Job.Lease.Until = end.Add(time.Hour)
	same(t, "a renewed lease, and nothing else", w.get(t, held.Request.ID), want)
	same(t, "a lease that was not renewed", w.get(t, other.Request.ID), other)
	equalIDs(t, "a lease that has just ended is lost", w.renew(t, end, lease(&other, 1)), []uuid.UUID{other.Job.ID})
	if trail, err := w.service.Trail(ctx, held.Job.ID); err != nil || len(trail) != int(held.Job.Version) {
		t.Fatalf("a renewal left a line: %v, %v", trail, err)
	}
}

func renewedThenSaved[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	held := w.processing(t, evm, start)
	renewed := held.Job.Lease.Until.Add(time.Hour)
	if lost := w.renew(t, start, store.JobLease{Job: held.Job.ID, Fence: 1, Until: renewed}); len(lost) > 0 {
		t.Fatal("lost", lost)
	}
	a, err := w.service.Held(ctx, store.HeldWithdrawal{Withdrawal: held, Events: []withdrawal.Event{prepared(&held, start)}})
	if err != nil {
		t.Fatal(err)
	}
	if stored := w.get(t, held.Request.ID); !stored.Job.Lease.Until.Equal(renewed) || stored.Job.Version != a[0].Job.Version {
		t.Fatalf("the lease ends at %v, it was renewed until %v", stored.Job.Lease.Until, renewed)
	}
	b := prepared(&held, start)
	out := w.do(t, held.Request.ID, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: b.Hash})
	if !out.Job.Lease.Until.IsZero() || !w.get(t, held.Request.ID).Job.Lease.Until.IsZero() {
		t.Fatal("a released lease has no end")
	}
	again := w.do(t, held.Request.ID, withdrawal.Claimed{By: workerAt(start)})
	if stored := w.get(t, held.Request.ID).Job.Lease; stored.Fence != 2 || !stored.Until.Equal(again.Job.Lease.Until) {
		t.Fatalf("the next claim is stored as %+v", stored)
	}
}

func concurrentEnqueues[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
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

func activeJob[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
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

func slots[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
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

func nonces[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	chain, hot := w.id(), w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: chain})
	first := w.processing(t, chain, start)
	out := prepared(&first, start)
	out.Nonce = 7
	first = w.do(t, first.Request.ID, out, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: out.Hash}, withdrawal.Claimed{By: workerAt(start)})
	first = w.do(t, first.Request.ID, withdrawal.Rebumped{By: workerAt(start), Fence: 2, Hash: "bump", Raw: []byte{4}, Nonce: 7, HasNonce: true})
	second := w.processing(t, chain, start)
	if second.Wallet.NextNonce != 8 {
		t.Fatalf("the next nonce is %d after one of 7", second.Wallet.NextNonce)
	}
	blind := second
	blind.Wallet = withdrawal.HotWallet{} // as if the wallet had not been loaded
	clash := prepared(&second, start)
	clash.Nonce = 7
	taken(t, w.save(w.change(t, blind, clash)), withdrawal.ErrNonceTaken, first.Job.ID)
	clash.Nonce = 8
	second = w.do(t, second.Request.ID, clash)
	if len(second.Txs) != 1 || w.get(t, second.Request.ID).Wallet.NextNonce != 9 {
		t.Fatalf("after nonce 8: %+v", second.Wallet)
	}
}

func duplicateTxs[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
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

func incidents[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
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

func concurrentSubmissions[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	for range 5 {
		request := w.id()
		for _, err := range atOnce(concurrentAttempts, func(int) error {
			_, err := w.service.Submit(ctx, submission(request, evm, start))
			return err
		}) {
			if err != nil && !errors.Is(err, statemachine.ErrConflict) {
				t.Fatal(err)
			}
		}
		if a := w.get(t, request); a.Request.Version != 1 {
			t.Fatalf("it is at version %d", a.Request.Version)
		}
	}
}

func concurrentWindows[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
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

func reservations[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
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

// touchAfterRelease: version and fence are the same before and after the end of
// a re-broadcast.
func touchAfterRelease[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	old := w.confirming(t, evm, start)
	missing := withdrawal.Missing{By: by(withdrawal.ConfirmationWorker, start.Add(time.Minute)), Tx: old.Job.TxHash}
	w.do(t, old.Request.ID, missing)
	at := start.Add(time.Hour)
	leased := w.do(t, old.Request.ID, withdrawal.Claimed{By: workerAt(at)})
	released := w.do(t, old.Request.ID, withdrawal.Rebroadcast{By: workerAt(at), Fence: 2, Hash: old.Job.TxHash, Done: true})
	if leased.Job.Version != released.Job.Version || leased.Job.Lease.Fence != released.Job.Lease.Fence {
		t.Skip("a re-broadcast moves the version")
	}
	stale := w.change(t, leased, withdrawal.Looking{By: by(withdrawal.ConfirmationWorker, at.Add(time.Second))})
	if !stale.Touch() {
		t.Fatal("looking is no touch")
	}
	refusedWith(t, w.save(stale), statemachine.ErrConflict, "a touch from before the release")
	same(t, "after a refused touch", w.get(t, old.Request.ID).Job, released.Job)
}

// heldAgain is what a caller does after [store.ErrUnknownCommit].
func heldAgain[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	held := w.processing(t, evm, start)
	command := store.HeldWithdrawal{Withdrawal: held, Events: []withdrawal.Event{prepared(&held, start)}}
	var first []withdrawal.Withdrawal
	for range 2 {
		got, err := w.service.Held(ctx, command)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		same(t, "the same event of the same aggregate", got, first)
	}
	other := prepared(&held, start)
	other.Hash = "another"
	command.Events = []withdrawal.Event{other}
	_, err := w.service.Held(ctx, command)
	refusedWith(t, err, statemachine.ErrConflict, "another event of an old aggregate")
	same(t, "after all", w.get(t, held.Request.ID), first[0])
}

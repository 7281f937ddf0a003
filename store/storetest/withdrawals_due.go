package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

func dueClaims[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	job := func(p withdrawal.Priority, at time.Time) uuid.UUID {
		return w.do(t, w.approved(t, utxos, start).Request.ID, w.enqueued(at, p)).Job.ID
	}
	later, low := job(withdrawal.Normal, start.Add(tick)), job(withdrawal.Low, start)
	first, second := job(withdrawal.Normal, start), job(withdrawal.Normal, start)
	high, future := job(withdrawal.High, start.Add(tick)), job(withdrawal.High, start.Add(time.Hour))
	foreign := w.pending(t, evm, start).Job.ID
	q := store.DueWithdrawals{Kind: withdrawal.DueClaim, Chain: utxos, Now: start, Limit: 10}
	for _, test := range []struct {
		now  time.Duration
		want []uuid.UUID
	}{
		{-tick, nil},
		{0, []uuid.UUID{first, second, low}},
		{tick, []uuid.UUID{high, first, second, later, low}},
		{time.Hour - tick, []uuid.UUID{high, first, second, later, low}},
		{time.Hour, []uuid.UUID{high, future, first, second, later, low}},
	} {
		q.Now = start.Add(test.now)
		equalIDs(t, fmt.Sprintf("due at start + %v", test.now), jobIDs(w.due(t, q)), test.want)
	}
	q.Limit = 3
	found := w.due(t, q)
	equalIDs(t, "the first three", jobIDs(found), []uuid.UUID{high, future, first})
	for i := range found {
		same(t, "what is due is what Get returns", found[i], w.get(t, found[i].Request.ID))
	}
	q.Chain, q.Limit = uuid.Nil, 10
	equalIDs(t, "of every chain", jobIDs(w.due(t, q)), []uuid.UUID{high, future, first, second, foreign, later, low})
	q.Now = q.Now.In(elsewhere)
	equalIDs(t, "at a time of another zone", jobIDs(w.due(t, q)), []uuid.UUID{high, future, first, second, foreign, later, low})
	q.Limit = 0
	err := w.Update(ctx, func(tx T) error {
		_, err := tx.Withdrawals().Due(q)
		return err
	})
	refusedWith(t, err, statemachine.ErrInvalid, "a Limit of 0")
	q.Limit = 10
	w.neverDue(t, q)
	w.pending(t, evm, start.Add(tick+time.Minute)) // of another chain
	q.Chain = utxos
	for now, want := range map[time.Duration]time.Duration{-tick: tick, 0: tick, tick: time.Hour - tick, time.Hour: -1} {
		q.Now = start.Add(now)
		if got := w.nextDue(t, q); got != want {
			t.Errorf("at start + %v the next is due in %v, expected %v", now, got, want)
		}
	}
}

// elsewhere is a zone with another day.
var elsewhere = time.FixedZone("elsewhere", 13*60*60)

// neverDue asks for a chain where nothing is.
func (w *withdrawals[T]) neverDue(t testing.TB, q store.DueWithdrawals) {
	t.Helper()
	q.Chain, q.Now = w.id(), start.Add(-24*time.Hour)
	if got := w.nextDue(t, q); got != -1 {
		t.Errorf("on a chain without work something is due in %v", got)
	}
	equalIDs(t, "on a chain without work", jobIDs(w.due(t, q)), nil)
}

func sequentialClaims[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	var jobs []withdrawal.Withdrawal // alternating between the two wallets
	for i := range 6 {
		jobs = append(jobs, w.pending(t, evm, start.Add(time.Duration(i)*time.Second)))
	}
	urgent := w.do(t, w.approved(t, evm, start).Request.ID, w.enqueued(start.Add(time.Minute), withdrawal.High))
	if jobs[0].Job.Wallet != evmHot1 || jobs[1].Job.Wallet != evmHot2 || urgent.Job.Wallet != evmHot1 {
		t.Fatal("the wallets are not used in turn")
	}
	q := store.DueWithdrawals{Kind: withdrawal.DueClaim, Chain: evm, Now: start.Add(time.Hour), Limit: 10, Sequential: true}
	equalIDs(t, "the first of each wallet", jobIDs(w.due(t, q)), []uuid.UUID{urgent.Job.ID, jobs[1].Job.ID})
	w.do(t, urgent.Request.ID, withdrawal.Claimed{By: workerAt(q.Now)})
	equalIDs(t, "none of a taken wallet", jobIDs(w.due(t, q)), []uuid.UUID{jobs[1].Job.ID})
	q.Limit = 2
	free := w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: free, Chain: evm})
	var queue []withdrawal.Withdrawal
	for range 3 {
		queue = append(queue, w.do(t, w.approved(t, evm, start).Request.ID, w.enqueuedOn(start.Add(-2*time.Hour),
			withdrawal.HotWallet{ID: free, Chain: evm, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive})))
	}
	equalIDs(t, "a wallet whose queue is longer than the limit, and the next wallet", jobIDs(w.due(t, q)), []uuid.UUID{queue[0].Job.ID, jobs[1].Job.ID})
	w.do(t, queue[0].Request.ID, withdrawal.Claimed{By: workerAt(q.Now)})
	q.Limit = 10
	w.do(t, jobs[1].Request.ID, withdrawal.Claimed{By: workerAt(q.Now)})
	equalIDs(t, "both are taken", jobIDs(w.due(t, q)), nil)
	w.do(t, urgent.Request.ID, withdrawal.Snoozed{By: workerAt(q.Now), Fence: 1, For: time.Hour})
	equalIDs(t, "the next of a wallet that is free again", jobIDs(w.due(t, q)), []uuid.UUID{jobs[0].Job.ID})
	w.do(t, jobs[0].Request.ID, withdrawal.Claimed{By: workerAt(q.Now)}, withdrawal.Dispatched{By: workerAt(q.Now), Fence: 1, Reference: "ref"},
		withdrawal.AttemptFailed{By: workerAt(q.Now), Fence: 1, Failure: withdrawal.Unclear, Error: "no answer"})
	equalIDs(t, "a review takes no slot", jobIDs(w.due(t, q)), []uuid.UUID{jobs[2].Job.ID})
}

func dueRebroadcasts[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	var all []withdrawal.Withdrawal
	add := func(hot uuid.UUID, nonce uint64) withdrawal.Withdrawal {
		e := w.enqueued(start, withdrawal.Normal)
		e.Wallets = []withdrawal.HotWallet{{ID: hot, Chain: evm, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}}
		a := w.do(t, w.approved(t, evm, start).Request.ID, e, withdrawal.Claimed{By: workerAt(start)})
		p := prepared(&a, start)
		p.Nonce, p.ChainNonce, p.HasChainNonce = nonce, nonce, true
		a.Wallet.NextNonce = 0
		a = w.do(t, a.Request.ID, p, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: p.Hash},
			withdrawal.Missing{By: by(withdrawal.ConfirmationWorker, start), Tx: p.Hash})
		all = append(all, a)
		return a
	}
	first, second := evmHot1, evmHot2
	if string(second[:]) < string(first[:]) {
		first, second = second, first
	}
	d, a, b := add(second, 1), add(first, 9), add(first, 10)
	review := w.contradicted(t, start)
	if !review.Job.Rebroadcast || !review.Job.Review {
		t.Fatalf("this is a re-broadcast in review: %+v", review.Job)
	}
	done := w.confirming(t, utxos, start) // owed nothing
	due := a.Job.NextCheckAt
	q := store.DueWithdrawals{Kind: withdrawal.DueRebroadcast, Chain: evm, Now: due, Limit: 10}
	// Each wallet offers its lowest, wallets by the next check of that, then id.
	order := []uuid.UUID{d.Job.ID, a.Job.ID}
	equalIDs(t, "at the next check", jobIDs(w.due(t, q)), order)
	q.Chain = uuid.Nil
	equalIDs(t, "of every chain", jobIDs(w.due(t, q)), order)
	q.Now = due.Add(-tick)
	equalIDs(t, "before the next check", jobIDs(w.due(t, q)), nil)
	if got := w.nextDue(t, q); got != tick {
		t.Errorf("the next is due in %v", got)
	}
	w.neverDue(t, q)
	q.Now = due
	claimed := w.do(t, a.Request.ID, withdrawal.Claimed{By: workerAt(due)})
	equalIDs(t, "of a wallet whose lowest is leased the next", jobIDs(w.due(t, q)), []uuid.UUID{d.Job.ID, b.Job.ID})
	q.Now = claimed.Job.Lease.Until
	equalIDs(t, "a lease that has ended", jobIDs(w.due(t, q)), order)
	q.Now = due
	if got := w.nextDue(t, q); got != claimed.Job.Lease.Until.Sub(due) {
		t.Errorf("the next is due in %v", got)
	}
	w.do(t, a.Request.ID, withdrawal.Rebroadcast{By: workerAt(due), Fence: 2, Hash: a.Job.TxHash, Done: true})
	q.Now, q.Limit = due.Add(time.Hour), 1
	equalIDs(t, "the first that is still owed", jobIDs(w.due(t, q)), order[:1])
	q.Limit = 10
	equalIDs(t, "what is owed no more makes room", jobIDs(w.due(t, q)), []uuid.UUID{d.Job.ID, b.Job.ID})
	q.Limit = 1
	q = store.DueWithdrawals{Kind: withdrawal.DueCheck, Chain: review.Job.Chain, Now: review.Job.NextCheckAt, Limit: 1, Grace: time.Hour}
	equalIDs(t, "a review is looked up without a grace", jobIDs(w.due(t, q)), []uuid.UUID{review.Job.ID})
	if done.Job.Rebroadcast {
		t.Fatal("a broadcast that the node took is owed nothing")
	}
}

func dueChecks[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	var want []uuid.UUID
	for range 3 {
		want = append(want, w.confirming(t, utxos, start).Job.ID)
	}
	early := w.confirming(t, utxos, start.Add(-time.Second))
	missing := w.confirming(t, utxos, start.Add(-time.Minute))
	missing = w.do(t, missing.Request.ID, withdrawal.Missing{By: by(withdrawal.ConfirmationWorker, start.Add(-time.Minute)), Tx: missing.Job.TxHash})
	w.processing(t, utxos, start)
	q := store.DueWithdrawals{Kind: withdrawal.DueCheck, Now: start.Add(w.policy.CheckEvery), Limit: 10, Grace: time.Minute + tick}
	all := append([]uuid.UUID{early.Job.ID}, want...)
	equalIDs(t, "by next check and id", jobIDs(w.due(t, q)), all)
	if got := w.nextDue(t, q); got != tick {
		t.Errorf("the re-broadcast is left to the workers for %v more", got)
	}
	q.Grace = time.Minute
	equalIDs(t, "a re-broadcast after its grace", jobIDs(w.due(t, q)), append([]uuid.UUID{missing.Job.ID}, all...))
	q.Grace, q.Now, q.Chain = 0, q.Now.Add(-tick), utxos
	equalIDs(t, "one moment before", jobIDs(w.due(t, q)), []uuid.UUID{missing.Job.ID, early.Job.ID})
	if got := w.nextDue(t, q); got != tick {
		t.Errorf("the next is due in %v", got)
	}
	q.Limit = 1
	equalIDs(t, "the first", jobIDs(w.due(t, q)), []uuid.UUID{missing.Job.ID})
	looked := w.do(t, missing.Request.ID, withdrawal.Looking{By: by(withdrawal.ConfirmationWorker, q.Now)})
	equalIDs(t, "what is looked up starves nothing", jobIDs(w.due(t, q)), []uuid.UUID{early.Job.ID})
	q.Now, q.Limit = looked.Job.NextCheckAt, 10
	if got := jobIDs(w.due(t, q)); got[len(got)-1] != missing.Job.ID {
		t.Errorf("after its check time it is due again, got %v", got)
	}
	w.neverDue(t, q)
	q.Chain = evm
	equalIDs(t, "of another chain", jobIDs(w.due(t, q)), nil)
}

func dueRescues[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	late := w.processing(t, utxos, start.Add(tick))
	first, second := w.processing(t, utxos, start), w.processing(t, evm, start)
	review := w.processing(t, utxos, start)
	w.do(t, review.Request.ID, withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "ref"},
		withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Unclear, Error: "no answer"})
	end := first.Job.Lease.Until
	q := store.DueWithdrawals{Kind: withdrawal.DueRescue, Now: end.Add(-tick), Limit: 10}
	equalIDs(t, "while the leases are held", jobIDs(w.due(t, q)), nil)
	if got := w.nextDue(t, q); got != tick {
		t.Errorf("the first ends in %v", got)
	}
	q.Now = end
	equalIDs(t, "when the leases end", jobIDs(w.due(t, q)), []uuid.UUID{first.Job.ID, second.Job.ID})
	w.neverDue(t, q)
	q.Now = end.Add(tick)
	equalIDs(t, "by the end of the lease", jobIDs(w.due(t, q)), []uuid.UUID{first.Job.ID, second.Job.ID, late.Job.ID})
	w.renew(t, start, store.JobLease{Job: first.Job.ID, Fence: 1, Until: end.Add(time.Hour)})
	equalIDs(t, "a renewed lease is not due", jobIDs(w.due(t, q)), []uuid.UUID{second.Job.ID, late.Job.ID})
	q.Chain = evm
	equalIDs(t, "of one chain", jobIDs(w.due(t, q)), []uuid.UUID{second.Job.ID})
}

func dueEnqueues[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	last := w.id() // created first
	w.do(t, last, submission(last, evm, start.Add(-time.Hour)))
	late := w.do(t, last, withdrawal.Approved{By: by(withdrawal.Approver, start.Add(time.Second))})
	first, second := w.approved(t, evm, start), w.approved(t, evm, start)
	w.approved(t, utxos, start)
	w.pending(t, evm, start)
	pending := w.id()
	w.do(t, pending, submission(pending, evm, start))
	q := store.DueWithdrawals{Kind: withdrawal.DueEnqueue, Chain: evm, Now: start, Limit: 2}
	equalIDs(t, "approved requests without a job", requestIDs(w.due(t, q)), []uuid.UUID{first.Request.ID, second.Request.ID})
	q.Limit = 10
	found := w.due(t, q)
	equalIDs(t, "by the time of approval", requestIDs(found), []uuid.UUID{first.Request.ID, second.Request.ID, late.Request.ID})
	same(t, "what is due is what Get returns", found[0], w.get(t, first.Request.ID))
	if got := w.nextDue(t, q); got != -1 {
		t.Errorf("nothing is scheduled, got %v", got)
	}
}

// contradicted makes a request of a chain of its own whose dead transaction was
// mined: it is in review with another transaction out, whose bytes are on file.
func (w *withdrawals[T]) contradicted(t testing.TB, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	chain := w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: chain})
	a := w.confirming(t, chain, at)
	checker := by(withdrawal.ConfirmationWorker, at)
	dead := receipt(&a, at, 9)
	a = w.do(t, a.Request.ID, withdrawal.ProvenDead{By: checker, Tx: dead.Tx, Cause: withdrawal.NonceUsed, Other: "another", NotThisPayment: true, Nonce: a.Job.Nonce, Block: dead.Block})
	at = a.Job.ScheduledAt
	a = w.do(t, a.Request.ID, withdrawal.Claimed{By: workerAt(at)})
	p := prepared(&a, at)
	p.Hash = "second"
	a = w.do(t, a.Request.ID, p, withdrawal.Broadcast{By: workerAt(at), Fence: p.Fence, Hash: p.Hash})
	dead.At, checker.At = at, at
	return w.do(t, a.Request.ID, dead, withdrawal.Missing{By: checker, Tx: p.Hash})
}

// concurrentClaims: sources of many workers on one queue.
func concurrentClaims[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	const jobs = 60
	for range jobs {
		w.pending(t, utxos, start)
	}
	var mu sync.Mutex
	claimed := map[uuid.UUID]string{}
	total := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(claimed)
	}
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, err := range atOnce(concurrentAttempts, func(i int) error {
		name := fmt.Sprint("worker-", i)
		source := w.service.Payments(utxos, name)
		for bounded.Err() == nil {
			items, _, err := source.Turn(bounded, nil, 4)
			if err != nil {
				return fmt.Errorf("with %d of %d jobs claimed: %w", total(), jobs, err)
			}
			mu.Lock()
			for _, item := range items {
				j := &item.Work.Job
				if other, twice := claimed[j.ID]; twice || j.Lease.Holder != name || j.Lease.Fence != 1 {
					t.Errorf("%s claimed %s under %+v, it was claimed by %q", name, j.ID, j.Lease, other)
				}
				claimed[j.ID] = name
			}
			all := len(claimed) == jobs
			mu.Unlock()
			if all {
				return nil
			}
		}
		return fmt.Errorf("only %d of %d jobs were claimed", total(), jobs)
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// handOver: a slot goes from one job to another in one Save, in any order.
func (w *withdrawals) handOver(t *testing.T) {
	chain := w.payingChain(t)
	holder, next := w.processing(t, chain, start), w.pending(t, chain, start)
	at := start
	for range 4 {
		give := w.change(t, holder, withdrawal.GivenBack{By: workerAt(at), Fence: holder.Job.Lease.Fence})
		take := w.change(t, next, withdrawal.Claimed{By: workerAt(at)})
		changes := []withdrawal.Change{take, give}
		if at.Second()%2 == 0 {
			changes = []withdrawal.Change{give, take}
		}
		noError(t, w.save(changes...))
		same(t, "who gave the slot", w.get(t, give.New.Request.ID).Job, give.New.Job)
		same(t, "who took the slot", w.get(t, take.New.Request.ID).Job, take.New.Job)
		holder, next = w.get(t, take.New.Request.ID), w.get(t, give.New.Request.ID)
		at = at.Add(time.Second)
	}
	w.do(t, holder.Request.ID, withdrawal.GivenBack{By: workerAt(at), Fence: holder.Job.Lease.Fence})
	holder = w.get(t, holder.Request.ID)
	first, second := w.change(t, holder, withdrawal.Claimed{By: workerAt(at)}), w.change(t, next, withdrawal.Claimed{By: workerAt(at)})
	taken(t, w.save(first, second), withdrawal.ErrSlotTaken, holder.Job.ID)
	same(t, "after two claims of one slot", w.get(t, holder.Request.ID), holder)
}

// nonceAfterEnd: a nonce is taken for ever, whatever became of its job.
func (w *withdrawals) nonceAfterEnd(t *testing.T) {
	chain := w.payingChain(t)
	var owners []uuid.UUID
	for nonce := range uint64(3) {
		a := w.confirming(t, chain, start)
		owners = append(owners, a.Job.ID)
		r := receipt(&a, start, 3)
		var end withdrawal.Event = r // confirmed
		switch nonce {
		case 1: // failed
			r.Reverted = true
			end = r
		case 2: // pending again: the job's row has no nonce
			end = withdrawal.ProvenDead{By: r.By, Tx: a.Job.TxHash, Cause: withdrawal.NonceUsed, Other: "another", NotThisPayment: true,
				Nonce: nonce, Block: r.Block}
		}
		a = w.do(t, a.Request.ID, end)
		w.switchOn(t, a.Job.Wallet)
		if next := w.get(t, a.Request.ID).Wallet.NextNonce; a.Txs[0].Nonce != nonce || next != nonce+1 {
			t.Fatalf("after nonce %d, whose job is %v, the next is %d", a.Txs[0].Nonce, a.Job.Status, next)
		}
	}
	late := w.processing(t, chain, start)
	blind := late
	blind.Wallet = withdrawal.HotWallet{} // as if the wallet had not been loaded
	for nonce, owner := range owners {
		clash := prepared(&late, start)
		clash.Nonce, clash.ChainNonce = uint64(nonce), 0
		taken(t, w.save(w.change(t, blind, clash)), withdrawal.ErrNonceTaken, owner)
	}
	same(t, "after refused nonces", w.get(t, late.Request.ID), late)

	other := w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: other})
	free := w.processing(t, other, start)
	if free.Wallet.NextNonce != 0 {
		t.Fatalf("the first nonce of a wallet is %d", free.Wallet.NextNonce)
	}
	p := prepared(&free, start)
	p.Hash = owners[0].String() // as a transaction of another request has it
	w.do(t, free.Request.ID, p)
}

// reserved: reservations are differences.
func (w *withdrawals) reserved(t *testing.T) {
	chain, hot := w.id(), w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: chain})
	first := w.pending(t, chain, start)
	a := w.approved(t, chain, start)
	e := w.enqueued(start.Add(-time.Hour), withdrawal.Normal)
	e.Wallets = []withdrawal.HotWallet{first.Wallet}
	c := w.change(t, a, e)
	c.New.Wallet.BalanceReserved = "77"
	c.Reservations = append(c.Reservations, withdrawal.Reservation{Wallet: hot, Job: first.Job.ID, Amount: "5"})
	noError(t, w.save(c))
	if got := w.get(t, a.Request.ID).Wallet; got.BalanceReserved != "3000000000000000005" || !got.LastUsedAt.Equal(start) {
		t.Fatalf("two jobs of 1.5 and a reservation of 5 reserve %s; last used at %v, an earlier use moves nothing",
			got.BalanceReserved, got.LastUsedAt)
	}
	b := w.approved(t, chain, start)
	c = w.change(t, b, w.enqueuedOn(start, first.Wallet))
	c.Reservations[0].Wallet = w.id()
	refusedWith(t, w.save(c), statemachine.ErrNotFound, "a reservation of an unknown wallet")
	same(t, "after a reservation that was refused", w.get(t, b.Request.ID), b)
	// The sum orders wallets, and refuses no payment: two of the greatest are one digit longer.
	var greatest []withdrawal.Withdrawal
	for range 2 {
		s := submission(w.id(), chain, start)
		s.Amount, s.Decimals = strings.Repeat("9", withdrawal.MaxDigits), 0
		greatest = append(greatest, w.do(t, s.Request, s, withdrawal.Approved{By: by(withdrawal.Approver, start)},
			w.enqueued(start, withdrawal.Normal)))
	}
	wallet := w.get(t, greatest[1].Request.ID).Wallet
	if len(wallet.BalanceReserved) != withdrawal.MaxDigits+1 || wallet.BalanceReserved != greatest[1].Wallet.BalanceReserved {
		t.Errorf("two of the greatest amounts reserve %s, and %s was returned", wallet.BalanceReserved, greatest[1].Wallet.BalanceReserved)
	}
	if err := w.service.PutHotWallet(ctx, role(withdrawal.System), wallet); err != nil {
		t.Error(err)
	}
	w.do(t, greatest[0].Request.ID, withdrawal.Cancelled{By: operatorAt(start), Reason: "not wanted"})
	w.do(t, greatest[1].Request.ID, withdrawal.Cancelled{By: operatorAt(start), Reason: "not wanted"})
	if got := w.get(t, first.Request.ID).Wallet.BalanceReserved; got != "3000000000000000005" {
		t.Errorf("when they have ended %s is reserved", got)
	}
}

func (w *withdrawals) enqueuedOn(at time.Time, wallet withdrawal.HotWallet) withdrawal.Enqueued {
	e := w.enqueued(at, withdrawal.Normal)
	e.Wallets = []withdrawal.HotWallet{wallet}
	return e
}

// jobInsertedOnce: the id of a job that exists is never written over.
func (w *withdrawals) jobInsertedOnce(t *testing.T) {
	old := w.processing(t, evm, start)
	failed := w.do(t, old.Request.ID, withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Permanent, Error: "no"},
		withdrawal.Requeued{By: by(withdrawal.Operator, start), Job: old.Job.ID, Reason: "again", NotRefunded: true})
	for _, a := range []withdrawal.Withdrawal{failed, w.approved(t, evm, start)} {
		e := w.enqueuedOn(start, failed.Wallet)
		c := w.change(t, a, e)
		c.New.Job.ID, c.Old.Job.ID = failed.Job.ID, uuid.Nil
		for i := range c.Log {
			if c.Log[i].ID == e.Job {
				c.Log[i].ID = failed.Job.ID
			}
		}
		refusedWith(t, w.save(c), statemachine.ErrConflict, "a new job with the id of a failed one")
		same(t, "after another job of its id", w.get(t, failed.Request.ID).Job, failed.Job)
	}

	unknown := w.change(t, withdrawal.Withdrawal{}, submission(w.id(), evm, start)).New // never saved
	unknown.Request.Status = withdrawal.RequestApproved
	c := w.change(t, unknown, w.enqueuedOn(start, failed.Wallet))
	c.Old.Request.Version, c.New.Request.Version = 0, 0 // as if only the job were new
	c.Log = slices.DeleteFunc(c.Log, func(l statemachine.Transition[uuid.UUID]) bool { return l.ID != c.New.Job.ID })
	refusedWith(t, w.save(c), statemachine.ErrNotFound, "a job of a request that does not exist")
}

// closedOnce: an execution is closed once, and its beginning stays.
func (w *withdrawals) closedOnce(t *testing.T) {
	a := w.processing(t, utxos, start)
	c := w.change(t, a, withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Retryable, Error: "no"})
	want := c.New.Attempt
	c.New.Attempt.Worker, c.New.Attempt.StartedAt = "nobody", start.Add(-time.Hour)
	if err := w.save(c); err == nil {
		attempts := must(w.service.Attempts(ctx, a.Job.ID))(t)
		same(t, "an execution that was closed", attempts, []withdrawal.Attempt{want})
		a = w.get(t, a.Request.ID)
	} else { // refused as a whole is as good
		a = w.do(t, a.Request.ID, withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Retryable, Error: "no"})
	}
	again := w.change(t, a, withdrawal.Claimed{By: workerAt(start.Add(24 * time.Hour))})
	again.New.Attempt = want
	again.New.Attempt.Error = "something else"
	refusedWith(t, w.save(again), statemachine.ErrConflict, "another end of a closed execution")
	same(t, "after it", w.get(t, a.Request.ID), a)
}

func (w *withdrawals) withdrawalViews(t *testing.T) {
	hot := withdrawal.HotWallet{ID: w.id(), Chain: evm, Role: "r", Status: "s"}
	refusedWith(t, w.View(ctx, func(tx store.WithdrawalUnit) error { return tx.HotWallets().Put(hot) }),
		statemachine.ErrIllegal, "PutHotWallet in a View")
}

func (w *withdrawals) ownWithdrawals(t *testing.T) {
	request, pending := w.id(), w.pending(t, utxos, start)
	noError(t, w.Update(ctx, func(tx store.WithdrawalUnit) error {
		s := w.service.Within(tx)
		must(s.Do(ctx, pending.Request.ID, withdrawal.Claimed{By: workerAt(start)}))(t)
		due := must(tx.Withdrawals().Due(store.DueWithdrawals{Kind: withdrawal.DueClaim, Chain: utxos, Now: start, Limit: 1}))(t)
		if len(due) > 0 {
			t.Errorf("due after its claim: %+v", due)
		}
		done := must(s.Do(ctx, request, submission(request, evm, start)))(t)
		loaded := must(s.Get(ctx, request))(t)
		same(t, "a request that was saved just now", loaded.Request, done.Request)
		sums := must(tx.Withdrawals().Usage(aUser, anAsset, []withdrawal.Window{{Length: time.Hour}}, start.Add(tick)))(t)
		same(t, "the sum with a request that was saved just now", sums.Sums, []string{"3"})
		return errOf(s.Do(ctx, request, withdrawal.Approved{By: by(withdrawal.Approver, start)}))
	}))
	if a := w.get(t, request); a.Request.Status != withdrawal.RequestApproved || a.Request.Version != 2 {
		t.Fatalf("two saves in one update ended in %v at version %d", a.Request.Status, a.Request.Version)
	}
}

func (w *withdrawals) unknownWithdrawals(t *testing.T) {
	known := w.approved(t, evm, start)
	same(t, "the attempts of an unknown job", must(w.service.Attempts(ctx, w.id()))(t), []withdrawal.Attempt(nil))
	same(t, "the wallets of an unknown chain", must(w.service.HotWallets(ctx, w.id()))(t), []withdrawal.HotWallet(nil))
	for what, id := range map[string]uuid.UUID{"an unknown job": w.id(), "a request's id": known.Request.ID} {
		refusedWith(t, errOf(w.service.RequestOf(ctx, id)), statemachine.ErrNotFound, what)
	}
}

func (w *withdrawals) activeJob(t *testing.T) {
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
		withdrawal.Requeued{By: by(withdrawal.Operator, start), Job: old.Job.ID, Reason: "corrected", NotRefunded: true}, second)
	if a.Job.ID != second.Job || a.Job.Status != withdrawal.JobPending {
		t.Fatalf("a failed job is not active, and the latest is %+v", a.Job)
	}
	same(t, "the latest job", w.get(t, old.Request.ID).Job, a.Job)
	noError(t, w.service.Verify(ctx, old.Job.ID), "the trail of the first job")
}

func (w *withdrawals) slots(t *testing.T) {
	chain := w.payingChain(t)
	first, second := w.pending(t, chain, start), w.pending(t, chain, start)
	w.do(t, first.Request.ID, withdrawal.Claimed{By: workerAt(start)})
	claim := w.change(t, second, withdrawal.Claimed{By: workerAt(start)})
	taken(t, w.save(claim), withdrawal.ErrSlotTaken, first.Job.ID)
	w.do(t, first.Request.ID, withdrawal.GivenBack{By: workerAt(start), Fence: 1, For: time.Hour})
	noError(t, w.save(claim), "the slot is free again")
	free := []withdrawal.Withdrawal{w.processing(t, utxos, start), w.processing(t, utxos, start)}
	if free[0].Job.Slot.Valid || free[0].Job.Wallet != free[1].Job.Wallet {
		t.Fatal("a chain without nonces has no slots")
	}
}

func (w *withdrawals) duplicateTxs(t *testing.T) {
	a := w.processing(t, utxos, start)
	c := w.change(t, a, prepared(&a, start))
	noError(t, w.save(c))
	// As if a job had forgotten what it has on file.
	for _, forge := range []func(*withdrawal.Tx){func(tx *withdrawal.Tx) { tx.Hash = "another" }, func(tx *withdrawal.Tx) { tx.Seq = 2 }} {
		again := w.change(t, c.New, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: c.New.Job.TxHash})
		again.Txs = []withdrawal.Tx{c.Txs[0]}
		forge(&again.Txs[0])
		refusedWith(t, w.save(again), statemachine.ErrConflict, "a transaction that is on file")
	}
	same(t, "transactions on file", w.get(t, a.Request.ID).Txs, c.Txs)
}

// incidents: each one of a change is stored, once.
func (w *withdrawals) incidents(t *testing.T) {
	a := w.confirming(t, evm, start)
	a = w.do(t, a.Request.ID, receipt(&a, start, 3))
	evidence := receipt(&a, start.Add(time.Hour), 5)
	evidence.Reverted = true
	c := w.change(t, a, evidence)
	want := append(c.Incidents, c.Incidents[0])
	want[1].BlockHash = "b11"
	c.Incidents = want
	noError(t, w.save(c))
	for range 2 {
		w.do(t, a.Request.ID, evidence)
	}
	same(t, "after incidents", w.get(t, a.Request.ID).Job, a.Job)
	for _, limit := range []int{1, 10} {
		same(t, "incidents", everyPage(t, limit, w.service.Incidents), want)
	}
	// Of another version of the request it may have been no incident alone.
	evidence.Canonical, evidence.Hash = "b12", "b12"
	c = w.change(t, a, evidence)
	foreign := receipt(&a, start, 3)
	foreign.Tx = "foreign"
	b := w.do(t, a.Request.ID, foreign)
	if b.Request.Version == a.Request.Version || len(c.Log) > 0 {
		t.Fatalf("request at version %d, lines %v", b.Request.Version, c.Log)
	}
	refusedWith(t, w.save(c), statemachine.ErrConflict, "an incident that was decided on an earlier version")
}

// everyPage reads a numbered list to its end.
func everyPage[V any](t testing.TB, limit int, read func(context.Context, int64, int) ([]V, int64, error)) (all []V) {
	t.Helper()
	for cursor := int64(0); ; {
		page, next, err := read(ctx, cursor, limit)
		noError(t, err)
		if len(page) > limit || len(page) == 0 && next != cursor {
			t.Fatalf("a page of %d, of %d at most, moves the cursor from %d to %d", len(page), limit, cursor, next)
		}
		if len(page) == 0 {
			return all
		}
		all, cursor = append(all, page...), next
	}
}

func (w *withdrawals) concurrentWindows(t *testing.T) {
	live(w.Store)
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

func (w *withdrawals) reservations(t *testing.T) {
	ids := make([]uuid.UUID, 16)
	for i := range ids {
		ids[i] = w.approved(t, utxos, start).Request.ID
	}
	noError(t, errors.Join(atOnce(len(ids), func(i int) error {
		_, err := w.service.Do(ctx, ids[i], w.enqueued(start.Add(time.Duration(i)*time.Minute), withdrawal.Normal))
		return err
	})...))
	wallet := w.get(t, ids[0]).Wallet
	if wallet.BalanceReserved != "24000000000000000000" || !wallet.LastUsedAt.Equal(start.Add(15*time.Minute)) {
		t.Fatalf("16 jobs of 1.5 reserve %s, last used %v", wallet.BalanceReserved, wallet.LastUsedAt)
	}
	at := start.Add(time.Hour)
	noError(t, errors.Join(atOnce(len(ids), func(i int) error {
		_, err := w.service.Do(ctx, ids[i], withdrawal.Claimed{By: workerAt(at)},
			withdrawal.AttemptFailed{By: workerAt(at), Fence: 1, Failure: withdrawal.Permanent, Error: "no"})
		return err
	})...))
	if wallet = w.get(t, ids[0]).Wallet; wallet.BalanceReserved != "0" {
		t.Fatalf("after the end of all jobs %s is reserved", wallet.BalanceReserved)
	}
}

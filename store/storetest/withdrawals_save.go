package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// handOver: a slot goes from one job to another in one Save, in any order.
func (w *withdrawals) handOver(t *testing.T) {
	chain := w.payingChain(t)
	holder, next := w.processing(t, chain, start), w.pending(t, chain, start)
	at := start
	for range 4 {
		give := w.change(t, holder, withdrawal.Snoozed{By: workerAt(at), Fence: holder.Job.Lease.Fence})
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
	w.do(t, holder.Request.ID, withdrawal.Snoozed{By: workerAt(at), Fence: holder.Job.Lease.Fence})
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
			end = withdrawal.ProvenDead{By: r.By, Tx: a.Job.TxHash, Cause: withdrawal.NonceUsed, Other: "another", NotThisPayment: true, Nonce: nonce, Block: r.Block}
		}
		a = w.do(t, a.Request.ID, end)
		if next := w.get(t, a.Request.ID).Wallet.NextNonce; a.Txs[0].Nonce != nonce || next != nonce+1 {
			t.Fatalf("after nonce %d, whose job is %v, the next is %d", a.Txs[0].Nonce, a.Job.Status, next)
		}
	}
	late := w.processing(t, chain, start)
	blind := late
	blind.Wallet = withdrawal.HotWallet{} // as if the wallet had not been loaded
	for nonce, owner := range owners {
		clash := prepared(&late, start)
		clash.Nonce = uint64(nonce)
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
		t.Fatalf("two jobs of 1.5 and a reservation of 5 reserve %s; last used at %v, an earlier use moves nothing", got.BalanceReserved, got.LastUsedAt)
	}
	b := w.approved(t, chain, start)
	c = w.change(t, b, w.enqueuedOn(start, first.Wallet))
	c.Reservations[0].Wallet = w.id()
	refusedWith(t, w.save(c), statemachine.ErrNotFound, "a reservation of an unknown wallet")
	same(t, "after a reservation that was refused", w.get(t, b.Request.ID), b)
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
		withdrawal.Requeued{By: by(withdrawal.Operator, start), Job: old.Job.ID, Reason: "again"})
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

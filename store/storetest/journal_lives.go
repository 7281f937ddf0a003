package storetest

import (
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
	"github.com/settlehq/settle/withdrawal"
)

// Lives in which people send the events that no stage of a domain contains, for the law of
// the journal.

func (w *withdrawals) lives() []func(uuid.UUID, func(...withdrawal.Event) withdrawal.Withdrawal) {
	type say = func(...withdrawal.Event) withdrawal.Withdrawal
	op := operatorAt(start)
	stages := w.stages()
	made := func(name string, id uuid.UUID) []withdrawal.Event {
		for i := range stages {
			if stages[i].name == name {
				return stages[i].events(id)
			}
		}
		panic("no stage is called " + name)
	}
	unclear := func(id uuid.UUID, say say) withdrawal.Withdrawal {
		say(made("a job in processing", id)...)
		return say(withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "ref of " + id.String()},
			withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Unclear, Error: "no answer"})
	}
	return []func(uuid.UUID, say){
		func(id uuid.UUID, say say) {
			say(made("a submitted request", id)...)
			say(withdrawal.Rejected{By: by(withdrawal.Approver, start), Reason: "no"})
		},
		func(id uuid.UUID, say say) {
			say(made("an approved request", id)...)
			held := withdrawal.Held{By: op, Reason: "fraud?"}
			say(held, held, withdrawal.Released{By: op}, withdrawal.Cancelled{By: op, Reason: "fraud"})
		},
		func(id uuid.UUID, say say) {
			a := say(made("a failed request", id)...)
			say(withdrawal.Requeued{By: op, Job: a.Job.ID, Reason: "again", NotRefunded: true})
		},
		func(id uuid.UUID, say say) {
			say(made("a failed request", id)...)
			say(withdrawal.Refunded{By: op, Reference: "refund of " + id.String(), Reason: "asked for"})
		},
		func(id uuid.UUID, say say) {
			a := say(made("a job that is sent", id)...)
			e := dead(a.Job.TxHash)
			e.By, e.Input = op, "input of "+id.String()
			say(e)
		},
		func(id uuid.UUID, say say) {
			a := say(made("a job that is sent", id)...)
			e := paidBy(&a, "by hand "+id.String(), start)
			e.Reason = "seen"
			say(e)
		},
		func(id uuid.UUID, say say) {
			say(made("a job in processing", id)...)
			say(withdrawal.Revoked{By: op, Revocation: statemachine.Revocation{Holder: worker1, Reason: "it is dead"}})
		},
		func(id uuid.UUID, say say) {
			a := unclear(id, say)
			say(notSent(&a, start), withdrawal.PutOff{By: by(withdrawal.System, start)})
		},
		func(id uuid.UUID, say say) { // it failed, and was mined after all
			for _, ev := range made("a job that is sent", id) {
				if e, ok := ev.(withdrawal.Enqueued); ok {
					e.MaxRetries = 1
					ev = e
				}
				say(ev)
			}
			e := dead("transaction 0" + id.String())
			e.By, e.Input = op, "input of "+id.String()
			say(e, withdrawal.Receipt{By: by(withdrawal.ConfirmationWorker, start), Tx: e.Tx, GasUsed: "1", GasPrice: "1", Block: block(8)},
				withdrawal.Acknowledged{By: op, Reason: "settled"})
		},
	}
}

func (p *pool) lives() []func(uuid.UUID, func(...withdrawal.BatchEvent) withdrawal.Payout) {
	type say = func(...withdrawal.BatchEvent) withdrawal.Payout
	sent := p.stages()[1]
	return []func(uuid.UUID, say){
		func(id uuid.UUID, say say) {
			b := say(sent.events(id)...)
			e := minedBatch(&b, start.Add(time.Minute), b.Batch.TxHash, 0)
			e.Reason = "seen"
			say(e)
		},
		func(id uuid.UUID, say say) {
			b := say(p.stages()[0].events(id)...)
			say(withdrawal.BatchRevoked{By: operatorAt(start), Revocation: statemachine.Revocation{Holder: b.Batch.Lease.Holder,
				Reason: "it is dead"}})
		},
	}
}

func refreshLives(r *refreshes) []func(string, func(...refresh.Event) refresh.Work) {
	type say = func(...refresh.Event) refresh.Work
	op := refreshBy(refresh.Operator)
	return []func(string, say){
		func(xpub string, say say) {
			say(enqueuedJob(xpub, 0, refresh.Sync, "", ""))
			w := say(refresh.Locked{By: op, Fence: 1})
			say(refresh.Unlocked{By: op, Fence: w.Lock.Lease.Fence})
		},
		func(xpub string, say say) {
			say(enqueuedJob(xpub, 0, refresh.Sync, "", ""), refresh.SlotClaimed{By: refreshBy(refresh.Orchestrator), Slot: r.slot()},
				refresh.Revoked{By: op, Revocation: statemachine.Revocation{Holder: "w1", Reason: "it is dead"}})
		},
	}
}

func relayLives() []func(string, func(...relaysync.Event) relaysync.Sync) {
	type say = func(...relaysync.Event) relaysync.Sync
	op := relayBy(relaysync.Operator, start)
	due, syncing, clean := relayStages()[0].events, relayStages()[1].events, relayStages()[2].events
	return []func(string, say){
		func(id string, say say) {
			say(due(id)...)
			say(relayUpdated(start, "b"), relaysync.Deactivated{By: op}, relaysync.Activated{By: op}, relaysync.Deleted{By: op})
		},
		func(id string, say say) {
			say(clean(id)...)
			say(relaysync.Recreated{By: op, Reason: "lost"})
		},
		func(id string, say say) {
			say(clean(id)...)
			say(relaysync.Retried{By: op, Reason: "again"})
		},
		func(id string, say say) { // made by a clock that was ahead
			say(relayCreated(id, start.Add(100*time.Hour)), relaysync.Reconciled{By: op})
		},
		func(id string, say say) {
			say(syncing(id)...)
			say(relaysync.Revoked{By: op, Revocation: statemachine.Revocation{Holder: reactor1, Reason: "it is dead"}})
		},
	}
}

func tenantLives() []func(string, func(...dunning.Event) dunning.Account) {
	type say = func(...dunning.Event) dunning.Account
	op := dunningBy(dunning.Operator, start)
	return []func(string, say){
		func(id string, say say) {
			say(enrolled(id, dunning.NWC), dunning.MethodSet{By: op, Method: dunning.Manual}, dunning.Provisioned{By: op},
				issued(id+"-a"), issued(id+"-b"),
				dunning.Amended{By: op, Invoice: id + "-a", Amount: 60}, dunning.Voided{By: op, Invoice: id + "-b"})
			paid := func(payment string) dunning.Paid {
				return dunning.Paid{By: op, Invoice: id + "-a", Method: dunning.Manual, Payment: payment}
			}
			a := say(paid("p1"), paid("p2"))
			say(dunning.Acknowledged{By: op, Invoice: id + "-a", Key: a.Invoice(id + "-a").Overpayments()[0], Reason: "given back"})
		},
		func(id string, say say) {
			say(tenantStages()[3].events(id)...)
			say(dunning.Reinstated{By: dunningBy(dunning.Operator, start.Add(8*24*time.Hour))})
		},
		func(id string, say say) {
			say(tenantStages()[2].events(id)...)
			say(dunning.Resolved{By: op, Invoice: id + "-invoice", Key: id + "-invoice/0", Outcome: statemachine.Done,
				Reason: "the provider says so"})
		},
	}
}

func swapLives[A any](d swap.Direction) []func(string, func(...swap.Event) A) {
	type say = func(...swap.Event) A
	op := swapBy(swap.Operator, "oscar")
	held, released := swap.Held{By: op, Reason: "because"}, swap.Released{By: op, Reason: "because"}
	return []func(string, say){
		func(id string, say say) {
			say(arrival(d, id))
			if d == swap.ToUSDC {
				say(swap.Confirmations{By: swapBy(swap.Observer, "observer"), Count: 2})
			}
			say(held, held, released, swap.RefundOrdered{By: op, Reason: "because"}, swap.QuarantineOrdered{By: op, Reason: "because"})
			if d == swap.ToUSDD { // it goes there by a transaction
				w := swapBy(swap.Worker, "worker")
				w.At = start.Add(time.Hour)
				a := say(swap.Claimed{By: w}, swap.Begun{By: w, Fence: 1, Number: 1, Action: swap.Quarantine, Signature: "sig" + id,
					Raw: []byte{1}, LastValid: 1000},
					swap.Answered{By: w, Fence: 1, Number: 1, Outcome: statemachine.Done, TxID: "sig" + id})
				in := any(&a).(swap.Record).Head().Intents[0]
				say(swap.Looked{By: w, Number: 1, Finding: swap.LookFound, Seen: swaptest.Sighting(&in, true)})
			}
			say(swap.Settled{By: op, Reference: "refund 1", Reason: "because"})
		},
		func(id string, say say) {
			o := arrival(d, id)
			other := o
			other.Amount++
			say(o, other, swap.Acknowledged{By: op, Number: 1, Reason: "because"})
			action := swap.Quarantine // a requeue leads back from it
			if d == swap.ToUSDC {
				action = swap.Refund
				say(swap.Confirmations{By: swapBy(swap.Observer, "observer"), Count: 2})
			}
			a := say(swap.PaidBy{By: op, Action: action, TxID: "paid" + id, Reason: "because"})
			in := any(&a).(swap.Record).Head().Intents[0]
			found := swap.Looked{By: swapBy(swap.Worker, "worker"), Number: 1, Finding: swap.LookFound, Seen: swaptest.Sighting(&in, true)}
			say(found, found) // the second ends it
			late := op
			late.At = start.Add(time.Hour)
			say(swap.NotSent{By: late, Number: 1, Reason: "because"}, swap.Requeued{By: op, Reason: "because"})
		},
		func(id string, say say) {
			if d == swap.ToUSDC {
				say(arrival(d, id), swap.Confirmations{By: swapBy(swap.Observer, "observer"), Asked: start, Gone: true},
					swap.Dropped{By: op, Reason: "because"})
			}
		},
		func(id string, say say) {
			a := say(arrived(d, id)...)
			holder := any(&a).(swap.Record).Head().Lease.Holder
			say(swap.Revoked{By: op, Revocation: statemachine.Revocation{Holder: holder, Reason: "it is dead"}})
		},
	}
}

package withdrawal_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settlehq/settle/withdrawal"
)

// The steps of the model: what workers, house and chain may do next.

func (r rules) worker(w world, i int, step func(string, world)) {
	name := fmt.Sprintf("worker %d ", i+1)
	me := w.workers[i]
	j := &w.rec.Job
	who := worker(t0)
	who.Actor = name
	if who.At = j.ClaimedAt; who.At.IsZero() {
		who.At = t0
	}
	if j.Status == withdrawal.JobConfirming && j.Lease.Holder != "" {
		who.At = j.Lease.Until.Add(-1000)
	}
	emit := func(what string, to world, next actor) {
		to.workers[i] = next
		step(name+what, to)
	}
	// send stores an event and goes on if it was accepted; else the worker
	// drops the work.
	send := func(what string, from world, ev withdrawal.Event, next actor) {
		to, ok := r.store(from, ev)
		if ok {
			emit(what, to, next)
			return
		}
		refused := w
		refused.heard = to.heard
		emit(what+", refused", refused, actor{})
	}
	fail := func(f withdrawal.Failure) {
		send("reports "+f.String(), w, withdrawal.AttemptFailed{By: who, Fence: me.fence, Failure: f, Error: "x"}, actor{})
	}
	if me.phase != idle {
		emit("crashes", w, actor{})
	}
	switch me.phase {
	case idle:
		ev := withdrawal.Claimed{By: who, Fence: j.Lease.Fence + 1}
		switch {
		case j.Status == withdrawal.JobPending:
			ev.At = j.ScheduledAt
			send("claims", w, ev, actor{phase: claimed, fence: ev.Fence})
		case j.Status == withdrawal.JobConfirming && !j.Review && (j.Rebroadcast || r.rebump && w.bumps == 0):
			ev.At = j.NextCheckAt
			if ev.At.Before(j.Lease.Until) {
				ev.At = j.Lease.Until
			}
			send("claims a re-broadcast", w, ev, actor{phase: toResend, fence: ev.Fence})
		}
	case claimed:
		if r.dispatch {
			send("dispatches", w, withdrawal.Dispatched{By: who, Fence: me.fence, Reference: fmt.Sprint(j.ID, me.fence)}, actor{phase: toCall, fence: me.fence})
		} else if to, n := w.sign(w.freeNonce(r.lies), modelTx{}); n >= 0 {
			send("prepares "+hashOf(n), to, withdrawal.Prepared{By: who, Fence: me.fence, Hash: hashOf(n), Raw: []byte{byte(n)}, Nonce: uint64(to.txs[n].nonce), HasNonce: true,
				ChainNonce: uint64(w.mined()), HasChainNonce: true},
				actor{phase: toSend, fence: me.fence, tx: n})
		}
		fail(withdrawal.Retryable)
		fail(withdrawal.Permanent)
		send("snoozes", w, withdrawal.GivenBack{By: who, Fence: me.fence}, actor{})
	case toSend:
		to := w
		to.announce(me.tx)
		emit("sends "+hashOf(me.tx), to, actor{phase: toReport, fence: me.fence, tx: me.tx})
		fail(withdrawal.Permanent)
		send("stops gracefully", w, withdrawal.GivenBack{By: who, Fence: me.fence}, actor{})
	case toCall:
		if me.fence <= w.void {
			emit("is refused by the signer", w, actor{})
		} else if to, n := w.sign(w.mined(), modelTx{onlyThem: true, ref: me.fence}); n >= 0 {
			to.announce(n)
			emit("has the signer send "+hashOf(n), to, actor{phase: toReport, fence: me.fence, tx: n})
		}
		fail(withdrawal.Unclear)
		send("stops gracefully", w, withdrawal.GivenBack{By: who, Fence: me.fence}, actor{})
	case toReport:
		ev := withdrawal.Broadcast{By: who, Fence: me.fence, Hash: hashOf(me.tx)}
		send("reports "+hashOf(me.tx), w, ev, actor{})
		if to, ok := r.store(w, ev); ok {
			emit("reports "+hashOf(me.tx)+" and misses the answer", to, me)
		}
		fail(withdrawal.Unclear)
		fail(withdrawal.Permanent)
		if to, n := w.sign(w.mined(), modelTx{onlyThem: true, ref: me.fence}); r.twice && i == 0 && w.bumps == 0 && n >= 0 {
			to.bumps++
			to.announce(n)
			emit("has the signer send "+hashOf(n)+" too", to, actor{phase: toReport, fence: me.fence, tx: n})
		}
	case toResend:
		to := w
		if live := w.rec.Live(); len(live) > 0 && len(live[len(live)-1].Raw) > 0 {
			n := int8(live[len(live)-1].Hash[0] - 'A')
			to.announce(n)
			emit("sends "+hashOf(n)+" again", to, actor{phase: toReportRe, fence: me.fence, tx: n})
		} else {
			emit("finds nothing to send", w, actor{})
		}
		for _, cancel := range []bool{false, true} {
			if !r.rebump || w.bumps > 0 || !j.HasNonce {
				continue
			}
			if to, n := w.sign(int8(j.Nonce), modelTx{cancel: cancel}); n >= 0 {
				to.bumps++
				send(fmt.Sprintf("rebumps with %s, cancel %v", hashOf(n), cancel), to, withdrawal.Rebumped{By: who, Fence: me.fence, Hash: hashOf(n), Raw: []byte{byte(n)},
					Nonce: uint64(to.txs[n].nonce), HasNonce: true, Cancel: cancel}, me)
			}
		}
	case toReportRe:
		send("reports the re-broadcast", w, withdrawal.Rebroadcast{By: who, Fence: me.fence, Hash: hashOf(me.tx), Done: true}, actor{})
	}
}

// freeNonce is the nonce to offer: the lowest free one on the chain and on file.
// freeNonce is the nonce to use; reuse takes that of a dead transaction which is not used.
func (w *world) freeNonce(reuse bool) int8 {
	var taken []uint64
	for i, tx := range w.rec.Txs {
		if reuse && i < int(w.rec.Job.TxsDead) && tx.Nonce >= uint64(w.mined()) {
			return int8(tx.Nonce)
		}
		taken = append(taken, tx.Nonce)
	}
	slices.Sort(taken)
	return int8(withdrawal.FreeNonce(uint64(w.mined()), slices.Compact(taken)))
}

// sign makes a transaction; n is -1 if the model has no room.
func (w world) sign(nonce int8, tx modelTx) (to world, n int8) {
	if w.signed == modelTxs || int(nonce) >= len(w.foreign) {
		return w, -1
	}
	tx.nonce = nonce
	w.txs[w.signed] = tx
	w.signed++
	return w, w.signed - 1
}

// announce brings tx to the node, which keeps it unless its nonce is used.
func (w *world) announce(n int8) {
	if w.txs[n].place == nowhere && w.minedAt(w.txs[n].nonce) == nowhere {
		w.txs[n].place = mempool
	}
}

// house is time, the operator and the confirmation worker.
func (r rules) house(w world, step func(string, world)) {
	j := &w.rec.Job
	send := func(what string, ev withdrawal.Event) {
		if to, ok := r.store(w, ev); ok {
			step(what, to)
		}
	}
	if j.Status == withdrawal.JobProcessing && !j.Review {
		send("the lease ends", withdrawal.Elapsed{By: by(withdrawal.System, j.Lease.Until)})
	}
	op := by(withdrawal.Operator, t0)
	op.Version = j.Version
	if j.Review {
		found := false
		for n := range w.signed {
			if tx := w.txs[n]; tx.ref == j.Lease.Fence && tx.onlyThem {
				found = true
				send("the operator finds "+hashOf(n), withdrawal.Resolved{By: op, Job: j.ID, Sent: true, Hash: hashOf(n), Reason: "r"})
			}
		}
		if r.unsent && !w.lie.told {
			to := w
			to.lie.told = true
			if to, ok := r.store(to, withdrawal.Resolved{By: op, Job: j.ID, Reason: "r"}); ok {
				step("the operator is wrong: nothing was sent", to)
			}
		}
		if !found {
			to := w
			to.void = j.Lease.Fence // the proof: the signer voids the reference
			if to, ok := r.store(to, withdrawal.Resolved{By: op, Job: j.ID, Reason: "r"}); ok {
				step("the operator proves that nothing was sent", to)
			}
		}
	}
	r.outside(w, step)
	if r.refunds {
		r.bookkeeper(w, step)
	}
	if w.rec.Request.Status == withdrawal.RequestFailed && w.jobs < r.maxJobs && !r.stale {
		op.Version = 0
		if to, ok := r.store(w, withdrawal.Requeued{By: op, Job: j.ID, NotRefunded: true}); ok {
			if to, ok := r.store(to, enqueued(t0, id(100+byte(w.jobs)))); ok {
				to.jobs++
				step("the operator requeues", to)
			}
		}
	}
	if r.lies {
		r.lie(w, step)
	}
	if j.Status != withdrawal.JobConfirming {
		return
	}
	who := checker(j.NextCheckAt)
	for _, tx := range w.rec.Live() {
		b := withdrawal.Block{Height: 5, Hash: "b", Canonical: "b", Head: 5}
		if tx.Hash == twinHash {
			if w.foreign[w.twin-1] == final {
				b.Head = 6
			}
			send("the chain shows the twin", withdrawal.Receipt{By: who, Block: b, Tx: tx.Hash})
			continue
		}
		n := int8(tx.Hash[0] - 'A')
		m := w.txs[n]
		if m.place >= shallow {
			if m.place == final || r.shallowOK {
				b.Head = 6
			}
			send("the chain shows "+tx.Hash, withdrawal.Receipt{By: who, Block: b, Tx: tx.Hash, Reverted: m.reverted})
		}
		late := who
		if len(tx.Raw) == 0 {
			late.At = j.BroadcastAt.Add(r.policy.AlertAfter)
		}
		misses := "the node misses "
		if m.place >= shallow || m.place == mempool && w.minedAt(m.nonce) == nowhere {
			misses = "the node says that it misses "
		}
		send(misses+tx.Hash, withdrawal.Missing{By: late, Tx: tx.Hash})
		if r.careless && m.place == final {
			b.Head = 6
			send("the host takes another spelling for another transaction", withdrawal.ProvenDead{By: who, Block: b, Tx: tx.Hash, Cause: withdrawal.NonceUsed,
				Other: "0x" + strings.ToLower(tx.Hash), Nonce: tx.Nonce, NotThisPayment: true})
		}
		if w.foreign[m.nonce] == final && (w.twin != m.nonce+1 || r.hashesOnly) {
			b.Head = 6
			by := who
			if j.Review {
				by = op
			}
			send(tx.Hash+" is proven dead", withdrawal.ProvenDead{By: by, Block: b, Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: "foreign", Nonce: tx.Nonce, NotThisPayment: true})
		}
	}
}

// lie is one wrong proof of death, what the chain shows of it later, and the
// operator who finds that the transaction is mined after all.
func (r rules) lie(w world, step func(string, world)) {
	j := &w.rec.Job
	op := by(withdrawal.Operator, j.ScheduledAt)
	op.Version = j.Version
	b := withdrawal.Block{Height: 5, Hash: "b", Canonical: "b", Head: 6}
	for i, tx := range w.rec.Txs {
		n := int8(tx.Hash[0] - 'A')
		mined := w.txs[n].place == final
		send := func(what string, from world, ev withdrawal.Event) {
			if to, ok := r.store(from, ev); ok {
				step(what+tx.Hash, to)
			}
		}
		switch dead := i < int(j.TxsDead); {
		case dead && mined:
			send("the chain shows the dead ", w, withdrawal.Receipt{By: checker(j.ScheduledAt), Block: b, Tx: tx.Hash})
			if r.told && !w.lie.incident {
				paid := r.paid(&w, tx.Hash, by(withdrawal.Operator, j.ScheduledAt), w.txs[n].nonce)
				paid.Block = withdrawal.Block{}
				send("the operator says that it is paid by the dead ", w, paid)
			}
		case !dead && j.Review && w.rival(n) >= 0:
			send("the operator sees mined instead of ", w, withdrawal.ProvenDead{By: op, Block: b, Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: hashOf(w.rival(n)), Nonce: tx.Nonce, NotThisPayment: true})
		case !dead && mined && j.Review:
			send("the operator sees mined ", w, withdrawal.Resolved{By: op, Job: j.ID, Sent: true, Hash: tx.Hash, Reason: "r"})
		case !dead && !w.lie.told && w.foreign[w.txs[n].nonce] != final:
			who := checker(j.ScheduledAt)
			if j.Review || !tx.HasNonce {
				who = op
			}
			to := w
			to.lie.told = true
			send("it is a lie that nothing can mine ", to, withdrawal.ProvenDead{By: who, Block: b, Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: "foreign", Nonce: tx.Nonce, NotThisPayment: true})
		}
	}
}

// rival is another transaction of ours with the nonce of n, mined at depth; or -1.
func (w *world) rival(n int8) int8 {
	for i, tx := range w.txs[:w.signed] {
		if int8(i) != n && tx.nonce == w.txs[n].nonce && tx.place == final {
			return int8(i)
		}
	}
	return -1
}

// chain mines, buries, undoes and drops.
func (r rules) chain(w world, step func(string, world)) {
	next := w.mined()
	for n := range w.signed {
		tx := w.txs[n]
		to := w
		switch {
		case tx.place == mempool && tx.nonce == next:
			to.txs[n].place = shallow
			step(hashOf(n)+" is mined", to)
			if r.revert && !tx.cancel {
				to.txs[n].reverted = true
				step(hashOf(n)+" is mined and reverts", to)
			}
		case tx.place == shallow:
			to.txs[n].place = final
			step(hashOf(n)+" is buried", to)
			if w.reorgs == 0 && tx.nonce == next-1 {
				to.reorgs++
				to.txs[n].place, to.txs[n].reverted = mempool, false
				step("a reorg returns "+hashOf(n), to)
				to.txs[n].place = nowhere
				step("a reorg drops "+hashOf(n), to)
			}
		}
		if tx.place == mempool && w.drops == 0 {
			to := w
			to.drops++
			to.txs[n].place = nowhere
			step("the node drops "+hashOf(n), to)
		}
	}
	if next == 0 { // once, somebody else uses the account's first nonce
		to := w
		to.foreign[0] = shallow
		step("a foreign transaction is mined", to)
	}
	// After a lie a nonce may stay open that nobody uses: the alert for a
	// transaction that is not confirmed names the operator.
	if int(next) < len(w.foreign) && (w.rec.Job.Review || w.lie.told) && (w.rec.Job.Live() || w.rec.Request.StraysSent > 0) {
		to := w
		to.foreign[next] = shallow
		step("the operator burns the next nonce", to)
	}
	for n := range w.foreign {
		if w.foreign[n] == shallow {
			to := w
			to.foreign[n] = final
			step("the foreign transaction is buried", to)
		}
	}
}

package withdrawal_test

import (
	"slices"

	"github.com/settlehq/settle/withdrawal"
)

// What comes from outside of the model's workers: the payment under an unknown
// hash, an operator who stops it, and somebody who writes what they decided on
// an earlier record.

// twinHash is the hash of the same payment that was bumped in another wallet.
const twinHash = "X"

func (r rules) outside(w world, step func(string, world)) {
	j := &w.rec.Job
	op := by(withdrawal.Operator, j.ScheduledAt)
	try := func(what string, from world, ev withdrawal.Event) {
		if to, ok := r.store(from, ev); ok {
			step(what, to)
		}
	}
	if r.stop && w.stops < 2 {
		to := w
		to.stops++
		try("the operator cancels", to, withdrawal.Cancelled{By: op, Reason: "r"})
		try("the operator holds", to, withdrawal.Held{By: op})
	}
	if r.stop && w.rec.Request.Held {
		try("the operator releases", w, withdrawal.Released{By: op})
	}
	if r.twins {
		r.twin(w, step)
	}
	block := withdrawal.Block{Height: 5, Hash: "b", Canonical: "b", Head: 6}
	for _, s := range w.rec.Strays {
		n := int8(s.Hash[0] - 'A')
		switch {
		case s.Claim != withdrawal.ClaimSent || !s.SettledAt.IsZero():
		case w.txs[n].place == final:
			try("the operator sees paid by "+s.Hash, w, r.paid(&w, s.Hash, op, w.txs[n].nonce))
		case !w.possible(n):
			try("the operator sees that nothing can mine "+s.Hash, w, withdrawal.ProvenDead{By: op, Block: block, Tx: s.Hash,
				Cause: withdrawal.NonceUsed, Other: "other", Nonce: s.Nonce, NotThisPayment: true})
		}
	}
	for n := range w.signed { // what nobody has reported, an operator finds by its payee
		known := slices.ContainsFunc(w.rec.Txs, func(tx withdrawal.Tx) bool { return tx.Hash == hashOf(n) })
		if !r.unsent && !r.twice || w.txs[n].place != final || known {
			continue
		}
		try("the operator finds that "+hashOf(n)+" paid it", w, r.paid(&w, hashOf(n), op, w.txs[n].nonce))
		for _, tx := range w.rec.Live() {
			if w.txs[tx.Hash[0]-'A'].nonce == w.txs[n].nonce {
				try("the operator sees the nonce of "+tx.Hash+" used by "+hashOf(n), w, withdrawal.ProvenDead{By: op, Block: block, Tx: tx.Hash,
					Cause: withdrawal.NonceUsed, Other: hashOf(n), Nonce: tx.Nonce})
			}
		}
	}
	if r.stale {
		r.reader(w, step)
	}
}

// paid is evidence that another transaction pays the request, at depth.
func (r rules) paid(w *world, hash string, by withdrawal.By, nonce int8) withdrawal.PaidBy {
	e := withdrawal.PaidBy{By: by, Block: withdrawal.Block{Height: 5, Hash: "b", Canonical: "b", Head: 6}, Tx: hash, Payee: w.rec.Request.ToAddress,
		AssetOnChain: w.rec.Job.AssetOnChain, AmountRaw: w.rec.Request.AmountRaw, Reference: w.rec.Job.DispatchRef, Reason: "r"}
	if w.rec.Job.HasNonce {
		e.Nonce, e.HasNonce = uint64(nonce), true
	}
	return e
}

// twin: a transaction of ours that is signed is bumped in another wallet, mined,
// and learnt by whoever can tell, at one block or at depth.
func (r rules) twin(w world, step func(string, world)) {
	j := &w.rec.Job
	next := w.mined()
	for n := range w.signed {
		if w.twin == 0 && w.txs[n].nonce == next && w.txs[n].place <= mempool && !w.txs[n].cancel {
			to := w
			to.twin, to.foreign[next] = next+1, shallow
			step("a twin of "+hashOf(n)+" is mined", to)
			break
		}
	}
	if w.twin == 0 || r.hashesOnly {
		return
	}
	try := func(what string, ev withdrawal.Event) {
		if to, ok := r.store(w, ev); ok {
			step(what, to)
		}
	}
	nonce := w.twin - 1
	checker, op := checker(j.NextCheckAt), by(withdrawal.Operator, j.ScheduledAt)
	for _, who := range []withdrawal.By{checker, op} {
		paid := r.paid(&w, twinHash, who, nonce)
		if w.foreign[nonce] == shallow {
			paid.Head = 5
		}
		try(who.Actor+" sees paid by the twin", paid)
	}
	for _, tx := range w.rec.Live() {
		if tx.Hash == twinHash || w.foreign[nonce] != final {
			continue
		}
		try("nobody can tell", withdrawal.CannotTell{By: checker, Tx: tx.Hash, Other: twinHash, Reason: "r"})
		op.Version = j.Version
		if !tx.HasNonce || tx.Nonce == uint64(nonce) { // what the record knows to be the payment took the nonce
			try("the operator sees the nonce of "+tx.Hash+" used by the twin", withdrawal.ProvenDead{By: op, Block: withdrawal.Block{Height: 5, Hash: "b", Canonical: "b", Head: 6},
				Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: twinHash, Nonce: tx.Nonce})
		}
	}
}

// reader reads at any moment, and writes at a later one what they decided then:
// a job, an execution, or evidence.
func (r rules) reader(w world, step func(string, world)) {
	if w.snap == nil && w.reads == 0 {
		to := w
		to.reads++
		to.snap, to.known = w.rec, w.heard
		step("somebody reads", to)
	}
	op := by(withdrawal.Operator, t0)
	for _, stale := range []bool{false, true} {
		rec, put, who := w.rec, r.store, ""
		if stale {
			if rec, put, who = w.snap, r.write, ", as it was read"; rec == nil {
				continue
			}
		}
		try := func(what string, from world, ev withdrawal.Event) {
			if to, ok := put(from, ev); ok {
				step(what+who, to)
			}
		}
		if r.refunds && stale {
			r.refund(w, rec, try)
		}
		switch {
		case rec.Request.Status == withdrawal.RequestFailed && w.jobs < r.maxJobs:
			try("the operator requeues", w, withdrawal.Requeued{By: op, Job: rec.Job.ID, NotRefunded: true})
		case rec.Request.Status == withdrawal.RequestApproved && w.jobs < r.maxJobs:
			to := w
			to.jobs++
			try("it is enqueued", to, enqueued(t0, id(100+byte(w.jobs))))
		case rec.Job.Review && stale && !w.lie.told:
			to := w
			to.lie.told, op.Version = true, rec.Job.Version
			try("the operator is wrong: nothing was sent", to, withdrawal.Resolved{By: op, Job: rec.Job.ID, Reason: "r"})
		case rec.Job.Status == withdrawal.JobPending && stale:
			ev := withdrawal.Claimed{By: worker(rec.Job.ScheduledAt), Fence: rec.Job.Lease.Fence + 1}
			ev.Actor = "worker 2 "
			to := w
			to.workers[1] = actor{phase: claimed, fence: ev.Fence}
			try("worker 2 claims", to, ev)
		}
		for i, tx := range rec.Txs {
			if n := int8(tx.Hash[0] - 'A'); stale && i < int(rec.Job.TxsDead) && w.txs[n].place == final {
				try("the chain shows the dead "+tx.Hash, w, withdrawal.Receipt{By: checker(rec.Job.ScheduledAt),
					Block: withdrawal.Block{Height: 5, Hash: "b", Canonical: "b", Head: 6}, Tx: tx.Hash})
			}
		}
	}
}

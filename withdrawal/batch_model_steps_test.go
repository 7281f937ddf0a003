package withdrawal_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/withdrawal"
)

func batchActor(name string, at time.Time) withdrawal.By {
	return withdrawal.By{Actor: name, Role: withdrawal.WithdrawalWorker, At: at}
}

// build is the worker that pays both together.
func (r batchRules) build(w batchWorld, step func(string, batchWorld)) {
	me := w.builder
	if me.phase != idle {
		to := w
		to.builder = batchWorker{}
		step("the builder crashes", to)
	}
	switch me.phase {
	case idle:
		to, first := w.say(0, withdrawal.Claimed{By: batchActor("builder", w.rec.members[0].Job.ScheduledAt)})
		to, second := to.say(1, withdrawal.Claimed{By: batchActor("builder", w.rec.members[1].Job.ScheduledAt), Behind: true})
		if first && second && w.rec.members[0].Job.Status == withdrawal.JobPending && w.rec.members[1].Job.Status == withdrawal.JobPending && w.rec.batch.Batch.Status == 0 && !w.slotTaken() {
			to.builder = batchWorker{phase: claimed, fence: [2]int64{to.rec.members[0].Job.Lease.Fence, to.rec.members[1].Job.Lease.Fence}}
			step("the builder claims both", to)
		}
	case claimed:
		kinds := []int8{3}
		if r.leaves {
			kinds = []int8{3 | leavesOut}
		}
		for _, kind := range kinds {
			to, n := w.sign(batchModelTx{nonce: w.freeNonce(), pays: kind, batch: true})
			if n < 0 {
				continue
			}
			b := w.rec.payout()
			e := batchPrepared(t0, b.Members)
			e.By = batchActor("builder", b.Members[0].Job.ClaimedAt)
			e.Hash, e.Raw, e.Nonce, e.ChainNonce = hashOf(n), []byte{byte(n)}, uint64(to.txs[n].nonce), uint64(w.mined())
			e.Pays[0].Fence, e.Pays[1].Fence = me.fence[0], me.fence[1]
			if to, ok := r.sayBatch(to, w.rec, e); ok {
				to.builder = batchWorker{phase: toSend, tx: n}
				step("the builder prepares "+e.Hash, to)
			}
		}
	case toSend:
		to := w
		to.announce(me.tx)
		to.builder = batchWorker{}
		step("the builder sends "+hashOf(me.tx), to)
	}
}

func (w *batchWorld) slotTaken() bool {
	return w.rec.members[0].Job.Slot.Valid || w.rec.members[1].Job.Slot.Valid
}

func (w *batchWorld) freeNonce() int8 {
	var taken []uint64
	for _, m := range w.rec.members {
		for _, tx := range m.Txs {
			taken = append(taken, tx.Nonce)
		}
	}
	slices.Sort(taken)
	return int8(withdrawal.FreeNonce(uint64(w.mined()), slices.Compact(taken)))
}

// alone is the worker that pays one request by its own transaction.
func (r batchRules) alone(w batchWorld, step func(string, batchWorld)) {
	me := w.solo
	by := func() withdrawal.By { return batchActor("solo", w.rec.members[me.who].Job.ClaimedAt) }
	if me.phase != idle {
		to := w
		to.solo = batchWorker{}
		step("the solo worker crashes", to)
	}
	switch me.phase {
	case idle:
		for i := range w.rec.members {
			j := &w.rec.members[i].Job
			if i == 0 && w.rec.batch.Batch.Status == 0 || w.slotTaken() || j.Status != withdrawal.JobPending { // fewer states: what it does first the other may do
				continue
			}
			if to, ok := w.say(i, withdrawal.Claimed{By: batchActor("solo", j.ScheduledAt)}); ok {
				to.solo = batchWorker{phase: claimed, who: int8(i)}
				to.solo.fence[i] = to.rec.members[i].Job.Lease.Fence
				step(fmt.Sprintf("the solo worker claims %d", i+1), to)
			}
		}
	case claimed:
		to, n := w.sign(batchModelTx{nonce: w.freeNonce(), pays: 1 << me.who})
		if n < 0 {
			return
		}
		ev := withdrawal.Prepared{By: by(), Fence: me.fence[me.who], Hash: hashOf(n), Raw: []byte{byte(n)}, Nonce: uint64(to.txs[n].nonce), HasNonce: true, ChainNonce: uint64(w.mined()), HasChainNonce: true}
		if to, ok := to.say(int(me.who), ev); ok {
			to.solo.phase, to.solo.tx = toSend, n
			step("the solo worker prepares "+hashOf(n), to)
		}
	case toSend:
		to := w
		to.announce(me.tx)
		to.solo.phase = toReport
		step("the solo worker sends "+hashOf(me.tx), to)
	case toReport:
		if to, ok := w.say(int(me.who), withdrawal.Broadcast{By: by(), Fence: me.fence[me.who], Hash: hashOf(me.tx)}); ok {
			to.solo = batchWorker{}
			step("the solo worker reports "+hashOf(me.tx), to)
		}
	}
}

// replace is somebody who pays fewer by another version, on what they read.
func (r batchRules) replace(w batchWorld, step func(string, batchWorld)) {
	if w.rec.batch.Batch.Status != withdrawal.BatchConfirming && w.snap == nil || w.bumps > 0 {
		return
	}
	from := w.rec
	if r.stale {
		if w.snap == nil {
			to := w
			to.snap = w.rec
			step("somebody reads", to)
			return
		}
		from = w.snap
	}
	for _, which := range [][]int{{0}, {1}, {}} {
		var set int8
		for _, i := range which {
			set |= 1 << i
		}
		if r.more && set == 1 {
			set = 3
		}
		to, n := w.sign(batchModelTx{nonce: int8(from.batch.Batch.Nonce), pays: set, batch: true})
		if n < 0 {
			continue
		}
		from, at := from.claimed()
		e := batchReplaced(at, from.payout(), hashOf(n), which...)
		to.bumps++
		to.snap = nil
		if to, ok := r.sayBatch(to, from, e); ok {
			if r.forgets {
				rec := *to.rec
				for i := range rec.members {
					if j := &rec.members[i].Job; !slices.Contains(which, i) && j.Status == withdrawal.JobConfirming {
						j.Status, j.TxsDead, j.Batch, j.TxHash, j.HasNonce, j.Nonce = withdrawal.JobPending, j.TxsOnFile, [16]byte{}, "", false, 0
						j.NextCheckAt, j.BroadcastAt = time.Time{}, time.Time{}
					}
				}
				to.rec = &rec
			}
			step(fmt.Sprintf("%s replaces it and pays %v", e.Hash, which), to)
		}
	}
}

// claimed is what a worker reads who has waited for the end of the lease that
// somebody had: who holds it, and until when, makes no other state.
func (r *batchRecords) claimed() (*batchRecords, time.Time) {
	at := freeAt(r.payout())
	read := *r
	if c, err := batchPolicy.ApplyBatch(r.payout(), withdrawal.BatchClaimed{By: worker(at)}, time.Time{}); err == nil {
		read.batch.Batch.Lease = c.New.Batch.Lease
	}
	return &read, at
}

// house is time, the operator and the confirmation worker, who tell the truth.
func (r batchRules) house(w batchWorld, step func(string, batchWorld)) {
	op := by(withdrawal.Operator, t0)
	for i := range w.rec.members {
		j := &w.rec.members[i].Job
		m := &w.rec.members[i]
		say := func(what string, ev withdrawal.Event) {
			if to, ok := w.say(i, ev); ok {
				step(fmt.Sprintf("%s %d", what, i+1), to)
			}
		}
		if j.Status == withdrawal.JobProcessing {
			say("the lease ends:", withdrawal.Elapsed{By: by(withdrawal.System, j.Lease.Until)})
		}
		if r.stop && w.stops == 0 {
			if to, ok := w.say(i, withdrawal.Cancelled{By: op}); ok {
				to.stops++
				step(fmt.Sprintf("the operator cancels %d", i+1), to)
			}
		}
		b := withdrawal.Block{Height: 5, Hash: "b", Canonical: "b", Head: 6}
		if r.elsewhere && i == 0 {
			r.operate(w, b, step)
		}
		for _, tx := range m.Live() {
			switch tx.Hash {
			case "x":
				continue // said to the batch
			case "e":
				say("the chain shows e for", withdrawal.Receipt{By: checker(t0), Block: b, Tx: "e"})
				continue
			}
			n := tx.Hash[0] - 'A'
			at := w.txs[n]
			switch {
			case r.bare && at.batch && at.place == final:
				rec := *w.rec
				mm := &rec.members[i]
				for k := range mm.Txs {
					mm.Txs = slices.Clone(mm.Txs)
					mm.Txs[k].Batch = [16]byte{}
				}
				mm.Job.Batch = [16]byte{}
				to := w
				to.rec = &rec
				if to, ok := to.say(i, withdrawal.Receipt{By: checker(t0), Block: b, Tx: tx.Hash}); ok {
					step("a bare receipt", to)
				}
			case (!at.batch || m.Job.Batch == [16]byte{}) && at.place == final:
				say("the chain shows "+tx.Hash+" for", withdrawal.Receipt{By: checker(t0), Block: b, Tx: tx.Hash})
			case (!at.batch || m.Job.Batch == [16]byte{} && !m.Job.Review && w.paid(i, final) == w.paidElsewhere(i)) && w.minedAt(at.nonce) == final:
				say(tx.Hash+" is dead for", withdrawal.ProvenDead{By: checker(t0), Block: b, Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: "foreign", Nonce: tx.Nonce, NotThisPayment: true})
			}
			if at.batch && at.place == final && m.Job.Review && m.Job.Batch == [16]byte{} && at.paid()&(1<<i) == 0 {
				say("the operator finds it left out:", withdrawal.ProvenDead{By: op, Block: b, Tx: tx.Hash, Cause: withdrawal.LeftOut})
			}
		}
	}
	if w.rec.batch.Batch.Status == 0 {
		return
	}
	nonce := int8(w.rec.batch.Batch.Nonce)
	for _, depth := range []uint64{1, 2} {
		e := batchMined(t0, "")
		e.Block = withdrawal.Block{Height: 5, Hash: "b", Canonical: "b", Head: 4 + depth}
		deep := shallow
		if depth == 2 {
			deep = final
		}
		pays := int8(0)
		for n, tx := range w.txs[:w.signed] {
			if tx.nonce == nonce && tx.batch && tx.place >= deep {
				e.Tx, pays = hashOf(int8(n)), tx.paid()
			}
		}
		if w.foreign[nonce] >= deep {
			e.Tx, e.HasNonce, e.Nonce, e.Looked = "x", true, uint64(nonce), true
			if w.twin && nonce == 0 {
				pays = 1
			}
		}
		for i := range w.rec.members {
			if m := &w.rec.members[i]; pays&(1<<i) != 0 {
				e.Transfers = append(e.Transfers, transferOf(m, uint32(i)))
			}
		}
		if e.Tx == "" {
			continue
		}
		if to, ok := r.sayBatch(w, w.rec, e); ok {
			step(fmt.Sprintf("the chain shows %s, %d deep", e.Tx, depth), to)
		}
	}
	if to, ok := r.sayBatch(w, w.rec, withdrawal.BatchMissing{By: checker(t0)}); ok {
		step("the node misses it", to)
	}
	r.owed(w, step)
	for n := range w.signed { // an older version may be sent at any time, by whoever has it
		if slices.ContainsFunc(w.rec.batch.Txs, func(t withdrawal.BatchTx) bool { return t.Hash == hashOf(n) }) && w.txs[n].place == nowhere {
			to := w
			to.announce(n)
			if to.txs[n].place != nowhere {
				step("somebody sends "+hashOf(n), to)
			}
		}
	}
}

// owed is the worker of the batch, who does what the record asks for.
func (r batchRules) owed(w batchWorld, step func(string, batchWorld)) {
	b := w.rec.payout()
	for _, a := range batchPolicy.NextBatch(b, freeAt(b)).Actions {
		switch {
		case a.Do == withdrawal.DoRebroadcast || a.Do == withdrawal.DoReplace && r.deaf:
			to := w
			n := int8(b.Batch.TxHash[0] - 'A')
			to.announce(n)
			to.resent = to.resent || w.elsewhere > 0 && w.txs[n].paid()&1 != 0
			step("it is sent again", to)
		case a.Do == withdrawal.DoReplace:
			var which []int
			var set int8
			for _, m := range b.Payable() {
				i := int(m.Request.ID[15] - 100)
				which, set = append(which, i), set|1<<i
			}
			if to, n := w.sign(batchModelTx{nonce: int8(b.Batch.Nonce), pays: set, batch: true}); n >= 0 {
				from, at := w.rec.claimed()
				if to, ok := r.sayBatch(to, from, batchReplaced(at, from.payout(), hashOf(n), which...)); ok {
					step(fmt.Sprintf("%s replaces what is stopped and pays %v", hashOf(n), which), to)
				}
			}
		}
	}
}

// operate is an operator who knows that request 1 was paid by another wallet, and
// who says of its review that the batch was sent; who tells the truth of what is
// mined.
func (r batchRules) operate(w batchWorld, b withdrawal.Block, step func(string, batchWorld)) {
	m := &w.rec.members[0]
	op := by(withdrawal.Operator, t0)
	if w.elsewhere == 0 && w.rec.batch.Batch.Status == withdrawal.BatchConfirming {
		to, ok := w.say(0, withdrawal.PaidBy{By: op, Block: b, Tx: "e", Payee: m.Request.ToAddress, AssetOnChain: token, AmountRaw: m.Request.AmountRaw, Reason: "seen"})
		if to.elsewhere = 1; ok {
			step("the operator says that 1 is paid elsewhere", to)
		}
	}
	if !m.Job.Review {
		return
	}
	op.Version = m.Job.Version
	if w.elsewhere == 1 {
		to, ok := w.say(0, withdrawal.Resolved{By: op, Job: m.Job.ID, Sent: true, Hash: m.Job.TxHash, Reason: "it was sent"})
		if to.elsewhere = 2; ok {
			step("the operator says that 1 was sent", to)
		}
	}
	for n, tx := range w.txs[:w.signed] {
		if tx.place == final && tx.nonce == int8(m.Job.Nonce) && tx.paid()&1 == 0 {
			if to, ok := w.say(0, withdrawal.ProvenDead{By: op, Block: b, Tx: m.Job.TxHash, Cause: withdrawal.NonceUsed, Other: hashOf(int8(n)), Nonce: m.Job.Nonce, NotThisPayment: true}); ok {
				step("the operator says that 1 is dead by "+hashOf(int8(n)), to)
			}
		}
	}
	if tx := w.foreign[0]; tx == final && m.Job.Nonce == 0 {
		if to, ok := w.say(0, withdrawal.ProvenDead{By: op, Block: b, Tx: m.Job.TxHash, Cause: withdrawal.NonceUsed, Other: "x", Nonce: 0, NotThisPayment: true}); ok {
			step("the operator says that 1 is dead by x", to)
		}
	}
}

// chain mines, undoes, and may let another transaction of the account in.
func (r batchRules) chain(w batchWorld, step func(string, batchWorld)) {
	next := w.mined()
	for n, tx := range w.txs[:w.signed] {
		switch {
		case tx.place == mempool && tx.nonce == next:
			to := w
			to.txs[n].place = shallow
			for k := range to.txs[:w.signed] {
				if k != n && to.txs[k].nonce == next && to.txs[k].place == mempool {
					to.txs[k].place = nowhere
				}
			}
			step("mined "+hashOf(int8(n)), to)
		case tx.place == shallow:
			if tx.nonce == 0 || w.minedAt(0) == final {
				to := w
				to.txs[n].place = final
				step("deep "+hashOf(int8(n)), to)
			}
			if w.reorgs == 0 && (tx.nonce == 1 || w.minedAt(1) == nowhere) {
				to := w
				to.txs[n].place = nowhere
				to.reorgs++
				step("undone "+hashOf(int8(n)), to)
			}
		}
	}
	if next == 0 && w.rec.batch.Batch.Status != 0 && w.foreign[0] == nowhere {
		for _, twin := range []bool{false, true} {
			if twin && !r.twins {
				continue
			}
			to := w
			to.foreign[0], to.twin = shallow, twin
			step("another transaction of the account", to)
		}
	}
	if w.foreign[0] == shallow {
		to := w
		to.foreign[0] = final
		step("deep: another", to)
		if w.reorgs == 0 && w.minedAt(1) == nowhere {
			to := w
			to.foreign[0], to.twin = nowhere, false
			to.reorgs++
			step("undone: another", to)
		}
	}
}

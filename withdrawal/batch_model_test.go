package withdrawal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/withdrawal"
)

// The model of batches: two requests, a worker that pays them together and may
// crash or fall asleep between any two steps, a worker that pays what is pending
// alone, somebody who replaces the batch by what they read earlier, an operator,
// a confirmation worker, and a chain with one account. Each step is applied to
// what is stored; what was decided on an earlier record is stored only where no
// version has moved. What the oracle counts it counts on the chain, not in the
// records: each request is paid exactly once.
type batchWorld struct {
	rec     *batchRecords
	snap    *batchRecords // what somebody read and has not written yet
	txs     [4]batchModelTx
	signed  int8
	foreign [2]place // another transaction of the account with this nonce
	twin    bool     // it pays request 1 if its nonce is 0
	builder batchWorker
	solo    batchWorker
	reorgs  int8
	bumps   int8
	stops   int8
	// Another wallet has paid request 1, at depth, and an operator has said so: 1;
	// and then that the batch was sent, as if that was the answer: 2.
	elsewhere int8
	resent    bool // what the record then knew was sent again all the same
}

type batchRecords struct {
	batch   withdrawal.Payout // without Members
	members [2]withdrawal.Withdrawal
}

func (r *batchRecords) payout() withdrawal.Payout {
	b := r.batch
	b.Members = r.members[:]
	return b
}

type batchModelTx struct {
	place place
	nonce int8
	pays  int8 // set of requests; 4: of a contract that leaves request 2 out
	batch bool
}

type batchWorker struct {
	phase phase
	fence [2]int64
	who   int8 // the request of a solo worker
	tx    int8
}

const leavesOut = 4

func (tx batchModelTx) paid() int8 {
	if tx.pays&leavesOut != 0 {
		return tx.pays & 1
	}
	return tx.pays
}

type batchRules struct {
	leaves    bool // the contract may leave out request 2
	more      bool // a version with request 1 on its file pays both
	twins     bool // the foreign transaction with nonce 0 may pay request 1
	stale     bool // somebody replaces by what they read earlier
	stop      bool // the operator cancels
	elsewhere bool // another wallet pays request 1, and an operator says so, and later that the batch was sent
	// Broken libraries and hosts, which the oracle has to find.
	forgets bool // a dropped member is pending at once
	bare    bool // members are confirmed by a bare receipt
	blind   bool // records are written over without comparing versions
	deaf    bool // what is stopped is sent again
}

func (w *batchWorld) minedAt(n int8) place {
	if w.foreign[n] >= shallow {
		return w.foreign[n]
	}
	for _, tx := range w.txs[:w.signed] {
		if tx.nonce == n && tx.place >= shallow {
			return tx.place
		}
	}
	return nowhere
}

func (w *batchWorld) mined() (n int8) {
	for n < 2 && w.minedAt(n) != nowhere {
		n++
	}
	return n
}

func (w *batchWorld) sign(tx batchModelTx) (to batchWorld, n int8) {
	to = *w
	if int(w.signed) == len(w.txs) || tx.nonce > 1 {
		return to, -1
	}
	to.txs[w.signed] = tx
	to.signed++
	return to, w.signed
}

func (w *batchWorld) announce(n int8) {
	if w.txs[n].place == nowhere && w.minedAt(w.txs[n].nonce) == nowhere {
		w.txs[n].place = mempool
	}
}

// paid counts what is or was mined for a request, so deep.
func (w *batchWorld) paid(i int, deep place) (n int) {
	for _, tx := range w.txs[:w.signed] {
		if tx.place >= deep && tx.paid()&(1<<i) != 0 {
			n++
		}
	}
	if i == 0 && w.twin && w.foreign[0] >= deep {
		n++
	}
	return n + w.paidElsewhere(i)
}

func (w *batchWorld) paidElsewhere(i int) int {
	if i == 0 && w.elsewhere > 0 {
		return 1
	}
	return 0
}

func (w batchWorld) String() string {
	return fmt.Sprintf("%s, batch %v, requests %v and %v, txs %v, foreign %v, builder %v, solo %v", where(w.rec.payout()), w.rec.batch.Batch.Status,
		w.rec.members[0].Request.Status, w.rec.members[1].Request.Status, w.txs[:w.signed], w.foreign, w.builder, w.solo)
}

type batchKey struct {
	rec, snap string
	world     batchWorld
}

func (r *batchRecords) key(now *batchRecords) string {
	if r == nil {
		return ""
	}
	k := fmt.Sprint(r.batch.Batch.Status, len(r.batch.Txs), r.batch.Batch.TxHash, r.batch.Batch.Version == now.batch.Batch.Version)
	for i := range r.members {
		w := &r.members[i]
		k += fmt.Sprint("|", w.Request.Status, w.Job.Status, w.Job.RetryCount, w.Job.Review, w.Job.TxsDead, w.Job.Lease.Holder, w.Job.Slot.Valid, w.Job.Batch[15], w.Request.Mined, w.Job.EvidenceHash,
			w.Request.Version == now.members[i].Request.Version && w.Job.Version == now.members[i].Job.Version)
		for _, tx := range w.Txs {
			k += tx.Hash
		}
	}
	return k
}

func (w batchWorld) key() batchKey {
	k := batchKey{w.rec.key(w.rec), w.snap.key(w.rec), w}
	k.world.rec, k.world.snap = nil, nil
	for _, a := range []*batchWorker{&k.world.builder, &k.world.solo} {
		for i := range a.fence {
			if a.fence[i] != 0 && a.fence[i] == w.rec.members[i].Job.Lease.Fence {
				a.fence[i] = 1
			} else if a.fence[i] != 0 {
				a.fence[i] = 2
			}
		}
	}
	return k
}

var batchPolicy = func() withdrawal.Policy {
	p := newPolicy()
	p.MaxRetries = 2
	p.Chain.Confirmations = 2
	p.Backoff.Base = time.Microsecond
	return p
}()

// say sends an event to one request; ok is false for a refusal.
func (w batchWorld) say(i int, ev withdrawal.Event) (batchWorld, bool) {
	c, err := batchPolicy.Apply(w.rec.members[i], ev)
	if err != nil || c.Empty() {
		return w, false
	}
	rec := *w.rec
	rec.members[i] = c.New
	w.rec = &rec
	return w, true
}

// sayBatch sends an event to the batch as it was read; the change is stored if
// nothing that it writes has moved.
func (r batchRules) sayBatch(w batchWorld, from *batchRecords, ev withdrawal.BatchEvent) (batchWorld, bool) {
	c, err := batchPolicy.ApplyBatch(from.payout(), ev, time.Time{})
	if err != nil || c.Empty() {
		return w, false
	}
	rec := *w.rec
	if !r.blind && c.Old.Batch.Version != rec.batch.Batch.Version {
		return w, false
	}
	rec.batch = c.New
	rec.batch.Members = nil
	for _, m := range c.Members {
		i := int(m.New.Request.ID[15] - 100)
		now := &rec.members[i]
		if !r.blind && (m.Old.Request.Version != now.Request.Version || m.Old.Job.Version != now.Job.Version) {
			return w, false
		}
		*now = m.New
	}
	w.rec = &rec
	return w, true
}

func (r batchRules) model(t testing.TB) explore.Model[batchWorld] {
	m := claimedMembers(t, batchPolicy, 2)
	var rec batchRecords
	for i := range m { // as they were before their claim
		rec.members[i] = runWith(t, batchPolicy, m[i], withdrawal.GivenBack{By: worker(t0), Fence: 1})
	}
	return explore.Model[batchWorld]{Init: []batchWorld{{rec: &rec}}, Limit: 2 << 20, Next: func(w batchWorld, step func(string, batchWorld)) {
		r.build(w, step)
		r.alone(w, step)
		r.replace(w, step)
		r.house(w, step)
		r.chain(w, step)
	}}
}

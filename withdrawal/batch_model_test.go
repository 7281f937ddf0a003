package withdrawal_test

import (
	"errors"
	"fmt"
	"slices"
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
	leaves bool // the contract may leave out request 2
	twins  bool // the foreign transaction with nonce 0 may pay request 1
	stale  bool // somebody replaces by what they read earlier
	stop   bool // the operator cancels
	// Broken libraries and hosts, which the oracle has to find.
	forgets bool // a dropped member is pending at once
	bare    bool // members are confirmed by a bare receipt
	blind   bool // records are written over without comparing versions
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
	if w.twin && i == 0 && w.foreign[0] >= deep {
		n++
	}
	return n
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
	c, err := batchPolicy.ApplyBatch(from.payout(), ev, t0)
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
		rec.members[i] = runWith(t, batchPolicy, m[i], withdrawal.Snoozed{By: worker(t0), Fence: 1})
	}
	return explore.Model[batchWorld]{Init: []batchWorld{{rec: &rec}}, Limit: 2 << 20, Next: func(w batchWorld, step func(string, batchWorld)) {
		r.build(w, step)
		r.alone(w, step)
		r.replace(w, step)
		r.house(w, step)
		r.chain(w, step)
	}}
}

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
		to, n := w.sign(batchModelTx{nonce: int8(from.batch.Batch.Nonce), pays: set, batch: true})
		if n < 0 {
			continue
		}
		e := batchReplaced(t0, from.payout(), hashOf(n), which...)
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
		for _, tx := range m.Live() {
			b := withdrawal.Block{Height: 5, Hash: "b", Canonical: "b", Head: 6}
			if tx.Hash == "x" {
				continue // said to the batch
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
			case !at.batch && at.place == final:
				say("the chain shows "+tx.Hash+" for", withdrawal.Receipt{By: checker(t0), Block: b, Tx: tx.Hash})
			case !at.batch && w.minedAt(at.nonce) == final:
				say(tx.Hash+" is dead for", withdrawal.ProvenDead{By: checker(t0), Block: b, Tx: tx.Hash, Cause: withdrawal.NonceUsed, Other: "foreign", Nonce: tx.Nonce, NotThisPayment: true})
			case at.batch && at.place == final && m.Job.Review && m.Job.Batch == [16]byte{}:
				if at.paid()&(1<<i) == 0 {
					say("the operator finds it left out:", withdrawal.ProvenDead{By: op, Block: b, Tx: tx.Hash, Cause: withdrawal.LeftOut})
				}
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
	if b := &w.rec.batch; b.Batch.Rebroadcast {
		to := w
		to.announce(int8(b.Batch.TxHash[0] - 'A'))
		step("it is sent again", to)
	}
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

func (w *batchWorld) done(i int) bool {
	switch w.rec.members[i].Request.Status {
	case withdrawal.RequestCompleted, withdrawal.RequestFailed, withdrawal.RequestCancelled:
		return true
	}
	return false
}

// possible reports whether a transaction is mined or may still be.
func (w *batchWorld) possible(tx batchModelTx) bool {
	return tx.place >= shallow || w.minedAt(tx.nonce) != final
}

func batchProperties() []explore.Property[batchWorld] {
	each := func(holds func(w *batchWorld, i int) bool) func(batchWorld) bool {
		return func(w batchWorld) bool { return holds(&w, 0) && holds(&w, 1) }
	}
	return []explore.Property[batchWorld]{
		explore.Always("no request is paid twice", each(func(w *batchWorld, i int) bool { return w.paid(i, shallow) <= 1 })),
		explore.Always("no two transactions that pay one request can both be mined", each(func(w *batchWorld, i int) bool {
			for a := range w.txs[:w.signed] {
				for b := range a {
					x, y := w.txs[a], w.txs[b]
					if x.paid()&y.paid()&(1<<i) != 0 && x.nonce != y.nonce && w.possible(x) && w.possible(y) && w.stored(a) && w.stored(b) {
						return false
					}
				}
			}
			return true
		})),
		explore.Always("completed is paid, at depth, by its final transaction", each(func(w *batchWorld, i int) bool {
			r := &w.rec.members[i].Request
			switch {
			case r.Status != withdrawal.RequestCompleted:
				return true
			case r.FinalTxHash == "x":
				return w.twin && i == 0 && w.foreign[0] == final
			}
			tx := w.txs[r.FinalTxHash[0]-'A']
			return tx.place == final && tx.paid()&(1<<i) != 0
		})),
		explore.Always("failed or cancelled is not paid, and cannot be", each(func(w *batchWorld, i int) bool {
			if s := w.rec.members[i].Request.Status; s != withdrawal.RequestFailed && s != withdrawal.RequestCancelled {
				return true
			}
			for n, tx := range w.txs[:w.signed] {
				if tx.paid()&(1<<i) != 0 && w.possible(tx) && w.stored(n) {
					return false
				}
			}
			return w.paid(i, shallow) == 0
		})),
		explore.Valid("the records are sound", func(w batchWorld) error {
			if err := withdrawal.CheckBatch(w.rec.payout()); !errors.Is(err, withdrawal.ErrPaidTwice) {
				return err
			}
			return nil
		}),
		explore.Always("somebody is named, or a moment", each(func(w *batchWorld, i int) bool {
			s := batchPolicy.Next(w.rec.members[i], t0)
			return w.done(i) || s.Party != 0
		})),
	}
}

// stored reports whether transaction n is on file: what is not is never sent.
func (w *batchWorld) stored(n int) bool {
	for i := range w.rec.members {
		if slices.ContainsFunc(w.rec.members[i].Txs, func(tx withdrawal.Tx) bool { return tx.Hash == hashOf(int8(n)) }) {
			return true
		}
	}
	return false
}

func TestBatchModel(t *testing.T) {
	both := func(w batchWorld) bool {
		return w.rec.members[0].Request.Status == withdrawal.RequestCompleted && w.rec.members[1].Request.Status == withdrawal.RequestCompleted
	}
	for _, tt := range []struct {
		name  string
		rules batchRules
	}{
		{"drops, crashes, reorgs", batchRules{}},
		{"on what was read earlier", batchRules{stale: true}},
		{"a contract that leaves one out", batchRules{leaves: true}},
		{"another transaction that pays one", batchRules{twins: true, stop: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			properties := append(batchProperties(),
				explore.Reachable("both are paid", both),
				explore.Reachable("a dropped one is paid alone", func(w batchWorld) bool {
					return w.rec.batch.Batch.Status != 0 && both(w) && w.rec.members[0].Request.FinalTxHash != w.rec.members[1].Request.FinalTxHash
				}))
			result, err := explore.CheckBy(tt.rules.model(t), batchWorld.key, properties...)
			if err != nil {
				t.Fatalf("%v\n%v", result, err)
			}
			t.Log(result)
		})
	}
}

// The oracle finds libraries that are broken.
func TestBatchModelFindsFaults(t *testing.T) {
	for name, rules := range map[string]batchRules{
		"a dropped member is pending at once": {forgets: true},
		"a bare receipt confirms":             {leaves: true, bare: true},
		"versions are not compared":           {stale: true, blind: true},
	} {
		result, err := explore.CheckBy(rules.model(t), batchWorld.key, batchProperties()...)
		if found := new(explore.Counterexample[batchWorld]); !errors.As(err, &found) {
			t.Errorf("%s: %v, %v", name, result, err)
		}
	}
}

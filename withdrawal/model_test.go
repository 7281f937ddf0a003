package withdrawal_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/withdrawal"
)

// The model: one request, two workers, a signer, an operator, a confirmation
// worker and a chain with one account whose transactions are numbered. Every
// step of a worker is separate: it may crash, stop for ever, or go on with what
// it remembers long after its lease was taken over. Each event is applied to
// the stored record, as a store does in a transaction; an event from a stale
// snapshot would not even get there.
//
// Times are not part of a state: a worker acts while its lease is held, unless
// Elapsed came first, which may be at any moment.
type world struct {
	rec     *withdrawal.Withdrawal // stored; never written through
	workers [2]actor
	txs     [modelTxs]modelTx // ours: all that were ever signed
	signed  int8
	foreign [3]place // another transaction of the account with this nonce
	void    int64    // the signer refuses references up to this fence
	reorgs  int8
	drops   int8
	bumps   int8
	jobs    int8
	lie     lie
	twin    int8                   // foreign[twin-1] is the same payment under a hash that we do not know; 0: none is
	snap    *withdrawal.Withdrawal // what somebody has read and not written yet; never written through
	heard   int8                   // set of ours, by index: the library was told that they were sent
	known   int8                   // those of them that whoever has read it knew of
	begun   bool                   // an execution began after it was told of one that it does not know
	books   books
	stops   int8 // of the operator
	reads   int8
}

// lie is what became of the one wrong proof of death that a run may have.
type lie struct {
	told     bool
	incident bool // the chain showed it mined, and that was recorded
	operated bool // then an operator resolved the review
	went     bool // then another execution began, or another transaction was put on file
}

const modelTxs = 4

// actor is what a worker remembers.
type actor struct {
	phase phase
	fence int64
	tx    int8 // index of the transaction it works on
}

type phase int8

const (
	idle       phase = iota
	claimed          // holds the lease, as far as it knows
	toSend           // Prepared is stored
	toCall           // Dispatched is stored
	toReport         // sent
	toResend         // holds the lease in confirming
	toReportRe       // sent again
)

// place is where a transaction is.
type place int8

const (
	nowhere place = iota // signed at most
	mempool
	shallow // mined, may be undone
	final   // mined at depth
)

type modelTx struct {
	place    place
	nonce    int8
	reverted bool
	cancel   bool
	onlyThem bool  // the signer has the bytes, we do not
	ref      int64 // fence of the dispatch
}

// rules is what a run may do, and how a broken library would behave.
type rules struct {
	policy     withdrawal.Policy
	maxJobs    int8
	dispatch   bool // workers use a signer that also sends
	rebump     bool
	revert     bool
	lies       bool // one proof of death may be wrong
	told       bool // an operator says that what was declared dead paid, without a block
	anothers   bool // a signer names what is another request's
	unsent     bool // one answer "not sent" may be wrong
	twice      bool // a signer may sign again for one reference, and tell
	twins      bool // the payment may be mined under an unknown hash
	stale      bool // somebody writes what they decided on an earlier record
	stop       bool // an operator cancels, holds and releases
	refunds    bool // a bookkeeper gives the money back
	gossip     bool // after the end an operator says of two other hashes that they paid it
	trusting   bool // broken: the bookkeeper does not ask Refundable
	quiet      bool // the chain undoes and drops nothing
	hashesOnly bool // broken: the host compares hashes, and not what was paid
	careless   bool // the host takes another spelling for another transaction
	shallowOK  bool // broken: depth 1 is final
	apply      func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error)
}

func newRules() rules {
	p := withdrawal.DefaultPolicy()
	p.MaxRetries = 2
	p.Chain.Confirmations = 2
	return rules{policy: p, maxJobs: 1,
		apply: func(p withdrawal.Policy, w withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Change, error) {
			return p.Apply(w, ev)
		}}
}

func hashOf(i int8) string { return string(rune('A' + i)) }

// key leaves out times, versions and texts: nothing that a step decides by. Of
// fences it keeps whether they are the current one, so that claims without end
// are finitely many states.
type key struct {
	request   withdrawal.RequestStatus
	job       withdrawal.JobStatus
	retries   int32
	holder    string
	dispatch  bool
	review    bool
	again     bool
	onFile    int32
	dead      int32
	nextNonce uint64
	hashes    string
	world     world
	// After a lie the rules look at these too.
	txHash, evidence string
	paidByDead       bool

	flags string
	snap  snapKey
}

// snapKey is what still counts of what somebody has read: nothing once the
// request has another version, since every save compares that.
type snapKey struct {
	any, sameJob bool
	request      withdrawal.RequestStatus
	job          withdrawal.JobStatus
	more         string
}

func (w *world) snapKey() (k snapKey) {
	s, now := w.snap, w.rec
	if s == nil || s.Request.Version != now.Request.Version {
		return k
	}
	return snapKey{true, s.Job.ID == now.Job.ID && s.Job.Version == now.Job.Version, s.Request.Status, s.Job.Status, flags(s) + fmt.Sprint(s.Job.RetryCount, s.Job.Review, len(s.Txs), s.Job.TxsDead, s.Job.Dispatches)}
}

func flags(w *withdrawal.Withdrawal) string {
	r := &w.Request
	open := ""
	for _, s := range w.Strays {
		if open += s.Claim.String() + s.Hash; !s.SettledAt.IsZero() {
			open += "."
		}
	}
	return fmt.Sprint(r.Held, r.Mined != "", r.StraysSent, open, r.Taken != "", r.Acknowledged, r.RefundReference != "",
		r.PaidAfter != "", toldOf(w))
}

// toldOf is what was told, with the number of a dispatch in the place of its fence.
func toldOf(w *withdrawal.Withdrawal) string {
	told := string(w.Request.Told)
	for i, d := range w.Dispatches {
		told = strings.ReplaceAll(told, fmt.Sprintf("@%d:", d.Fence), fmt.Sprintf("@dispatch %d:", i))
	}
	words := strings.Fields(strings.ReplaceAll(told, fmt.Sprintf("@%d:", w.Job.Lease.Fence), "@now:"))
	slices.Sort(words) // their order decides nothing but which one is named
	return strings.Join(words, " ")
}

func (w world) key() key {
	j := &w.rec.Job
	k := key{request: w.rec.Request.Status, job: j.Status, retries: j.RetryCount, holder: j.Lease.Holder,
		dispatch: !j.DispatchedAt.IsZero(), review: j.Review, again: j.Rebroadcast, onFile: j.TxsOnFile, dead: j.TxsDead,
		nextNonce: w.rec.Wallet.NextNonce, world: w}
	for _, tx := range w.rec.Txs {
		k.hashes += tx.Hash
	}
	if w.lie.told {
		k.txHash, k.evidence = j.TxHash, j.EvidenceHash
		k.paidByDead = w.rec.Request.Disproved != ""
	}
	k.flags, k.snap = flags(w.rec), w.snapKey()
	k.world.rec, k.world.snap, k.world.void = nil, nil, 0
	for i := range k.world.workers {
		f := &k.world.workers[i].fence
		switch {
		case *f == 0:
		case *f == j.Lease.Fence:
			*f = 1
		case w.dispatchedUnder(*f):
			*f = 4
		case *f <= w.void:
			*f = 2
		default:
			*f = 3
		}
	}
	for n := range w.signed {
		if ref := &k.world.txs[n].ref; *ref == j.Lease.Fence {
			*ref = 1
		} else if w.dispatchedUnder(*ref) {
			*ref = 4
		} else {
			*ref = 0
		}
	}
	return k
}

func (w world) String() string {
	j := &w.rec.Job
	return fmt.Sprintf("request %v, job %v (fence %d, review %v, %d of %d dead), workers %v, ours %v, foreign %v",
		w.rec.Request.Status, j.Status, j.Lease.Fence, j.Review, j.TxsDead, j.TxsOnFile, w.workers, w.txs[:w.signed], w.foreign)
}

// dispatchedUnder reports whether the answer of a fence would still be news.
func (w *world) dispatchedUnder(fence int64) bool {
	for _, d := range w.rec.Dispatches {
		if d.Fence == fence {
			return true
		}
	}
	return false
}

// mined is how many nonces of the account are used.
func (w *world) mined() int8 {
	n := int8(0)
	for n < int8(len(w.foreign)) && w.minedAt(n) != nowhere {
		n++
	}
	return n
}

// minedAt is how deep the nonce is used.
func (w *world) minedAt(n int8) place {
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

// possible reports whether tx i is mined or may still be.
func (w *world) possible(i int8) bool {
	tx := w.txs[i]
	return tx.place >= shallow || w.minedAt(tx.nonce) != final
}

// model lists every step that may come next.
func model(r rules) explore.Model[world] {
	first := withdrawal.Withdrawal{}
	for _, ev := range []withdrawal.Event{submitted(t0), withdrawal.Approved{By: by(withdrawal.Approver, t0)}, enqueued(t0, job1)} {
		c, err := r.policy.Apply(first, ev)
		if err != nil {
			panic(err)
		}
		first = c.New
	}
	init := world{rec: &first, jobs: 1}
	if r.lies || r.quiet { // one kind of trouble at a time
		init.reorgs, init.drops = 1, 1
	}
	return explore.Model[world]{Init: []world{init}, Limit: 8 << 20, Next: func(w world, step func(string, world)) {
		for i := range w.workers {
			if i == 0 || !r.stale || w.workers[i].phase != idle {
				r.worker(w, i, step)
			}
		}
		r.house(w, step)
		r.chain(w, step)
	}}
}

// store applies an event to the stored record; ok is false for a refusal.
func (r rules) store(w world, ev withdrawal.Event) (world, bool) {
	rec := *w.rec
	if e, ok := ev.(withdrawal.Broadcast); ok && r.anothers && rec.NamesOthers(e.Hash) {
		rec.Owner.Valid = true
	}
	c, err := r.apply(r.policy, rec, ev)
	if r.unsent || r.twice {
		w.hears(ev)
	}
	if err != nil {
		return w, false
	}
	if _, ok := ev.(withdrawal.Resolved); ok && r.anothers { // an operator has looked
		w.heard = 0
	}
	w.begins(ev, &c)
	if r.refunds {
		w.books.follow(&w, ev, &c)
	}
	w.rec = &c.New
	if r.lies {
		w.lie.follow(ev, &c)
	}
	return w, true
}

// hears notes what the library was told, taken or refused.
func (w *world) hears(ev withdrawal.Event) {
	if e, ok := ev.(withdrawal.Broadcast); ok {
		w.heard |= 1 << (e.Hash[0] - 'A')
	}
}

// begins notes an execution that goes on although the library was told of a
// transaction that is not on file.
func (w *world) begins(ev withdrawal.Event, c *withdrawal.Change) {
	switch ev.(type) {
	case withdrawal.Claimed, withdrawal.Prepared, withdrawal.Dispatched:
	default:
		return
	}
	for n := range w.signed {
		known := slices.ContainsFunc(c.New.Txs, func(tx withdrawal.Tx) bool { return tx.Hash == hashOf(n) })
		w.begun = w.begun || w.heard&(1<<n) != 0 && !known && c.New.Job.Status == withdrawal.JobProcessing && w.possible(n)
	}
}

// write is store for what somebody decided on what they have read: every save
// compares the version of the request, and that of the job if it writes it.
func (r rules) write(w world, ev withdrawal.Event) (world, bool) {
	if w.snap == nil {
		return w, false
	}
	c, err := r.apply(r.policy, *w.snap, ev)
	if err != nil || c.Empty() {
		return w, false
	}
	now := *w.rec
	writesJob := c.New.Job.ID != c.Old.Job.ID || c.New.Job.Version != c.Old.Job.Version || c.Touch()
	if c.Old.Request.Version != now.Request.Version || writesJob && (c.Old.Job.ID != now.Job.ID || c.Old.Job.Version != now.Job.Version) {
		return w, false
	}
	if _, ok := ev.(withdrawal.Resolved); ok && r.anothers {
		w.heard &^= w.known
	}
	w.begins(ev, &c)
	if r.refunds {
		w.books.follow(&w, ev, &c)
	}
	stored := c.New
	if !writesJob {
		stored = now
		stored.Request, stored.Strays = c.New.Request, c.New.Strays
	}
	if c.New.Request.Version == now.Request.Version { // facts that no version covers stay as they are
		stored.Request = now.Request
	}
	w.rec, w.snap = &stored, nil
	return w, true
}

func (l *lie) follow(ev withdrawal.Event, c *withdrawal.Change) {
	if l.incident && len(c.Log) > 0 {
		switch ev.(type) {
		case withdrawal.Resolved:
			l.operated = true
		case withdrawal.Claimed, withdrawal.Prepared, withdrawal.Dispatched, withdrawal.Rebumped:
			l.went = true
		}
	}
	_, told := ev.(withdrawal.PaidBy) // of what was declared dead
	l.incident = l.incident || told || len(c.Incidents) > 0 && c.Incidents[0].Claim != withdrawal.ClaimNotDead
}

package withdrawaltest

import (
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// Adversary draws the next event for a withdrawal: mostly one that the record may accept, often one that it must refuse
// or has had. It keeps the events that it sent, to send them again. The zero value is ready for use, by one test at a
// time.
type Adversary struct {
	Now    time.Time // grows; starts at Start
	Prefix string    // of the hashes that it makes up: two requests have no transaction in common
	sent   []withdrawal.Event
	n      int // transactions made
}

// Next draws an event for w. Wallets are what an enqueue may choose from.
func (a *Adversary) Next(t *rapid.T, w withdrawal.Withdrawal, wallets []withdrawal.HotWallet) withdrawal.Event {
	if a.Now.IsZero() {
		a.Now = Start
	}
	a.pass(t, &w)
	if len(a.sent) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
		return rapid.SampledFrom(a.sent).Draw(t, "event again")
	}
	ev := a.draw(t, &w, wallets)
	if _, ok := ev.(withdrawal.Enqueued); !ok { // an earlier job's id is refused by the store's primary key
		a.sent = append(a.sent, ev)
	}
	return ev
}

// pass lets time go on, often exactly to a due time or just before it.
func (a *Adversary) pass(t *rapid.T, w *withdrawal.Withdrawal) {
	moments := []time.Time{a.Now, a.Now.Add(time.Second), w.Job.Lease.Until, w.Job.Lease.Until.Add(-time.Microsecond), w.Job.ScheduledAt,
		w.Job.NextCheckAt, a.Now.Add(2 * time.Hour)}
	if m := rapid.SampledFrom(moments).Draw(t, "moment"); m.After(a.Now) {
		a.Now = m
	}
}

func (a *Adversary) by(t *rapid.T, role withdrawal.Role) withdrawal.By {
	actors := map[withdrawal.Role][]string{withdrawal.Approver: {"alice", "bob", "system"},
		withdrawal.WithdrawalWorker:   {"worker-1", "worker-2"},
		withdrawal.ConfirmationWorker: {"confirmer"}, withdrawal.Operator: {"olga"}, withdrawal.System: {"system"}}
	by := withdrawal.By{Actor: rapid.SampledFrom(actors[role]).Draw(t, "actor"), Role: role, At: a.Now}
	if rapid.IntRange(0, 49).Draw(t, "wrong role") == 0 {
		by.Role = rapid.SampledFrom(append(withdrawal.Role(0).Values(), 0)).Draw(t, "role")
	}
	return by
}

// worker is the holder of the lease, mostly, with its fence.
func (a *Adversary) worker(t *rapid.T, w *withdrawal.Withdrawal) (withdrawal.By, int64) {
	by := a.by(t, withdrawal.WithdrawalWorker)
	fence := w.Job.Lease.Fence
	if rapid.IntRange(0, 9).Draw(t, "late") == 0 {
		fence -= rapid.Int64Range(-1, 2).Draw(t, "fence")
	} else if w.Job.Lease.Holder != "" {
		by.Actor = w.Job.Lease.Holder
	}
	return by, fence
}

func (a *Adversary) draw(t *rapid.T, w *withdrawal.Withdrawal, wallets []withdrawal.HotWallet) withdrawal.Event {
	r, j := &w.Request, &w.Job
	system := func() withdrawal.By { return a.by(t, withdrawal.System) }
	operator := func() withdrawal.By { return a.by(t, withdrawal.Operator) }
	checker := func() withdrawal.By { return a.by(t, withdrawal.ConfirmationWorker) }
	hash := a.hash(t, w)
	by, fence := a.worker(t, w)
	nonce, hasNonce, input := w.Wallet.NextNonce, rapid.Bool().Draw(t, "nonce"), ""
	if !hasNonce {
		nonce, input = 0, "out:0"
	}
	replaced, cause := "out:0", withdrawal.InputSpent
	if j.HasNonce {
		replaced, cause = "", withdrawal.NonceUsed
	}
	chainNonce, told := nonce, hasNonce && (nonce == 0 || rapid.Bool().Draw(t, "chain nonce"))
	fresh := func() string { a.n++; return fmt.Sprintf("%stx%d", a.Prefix, a.n) }
	draws := []func() withdrawal.Event{
		func() withdrawal.Event { return withdrawal.Approved{By: a.by(t, withdrawal.Approver)} },
		func() withdrawal.Event {
			return withdrawal.Enqueued{By: system(), Job: UUIDs().Draw(t, "job"), AssetOnChain: r.Asset,
				Priority: withdrawal.Normal, Wallets: wallets}
		},
		func() withdrawal.Event { return withdrawal.Claimed{By: a.by(t, withdrawal.WithdrawalWorker)} },
		func() withdrawal.Event {
			return withdrawal.Prepared{By: by, Fence: fence, Hash: fresh(), Raw: []byte{1}, Nonce: nonce, HasNonce: hasNonce, Input: input,
				ChainNonce: chainNonce, HasChainNonce: told}
		},
		func() withdrawal.Event {
			return withdrawal.Dispatched{By: by, Fence: fence, Reference: fmt.Sprint("ref", fence)}
		},
		func() withdrawal.Event { return withdrawal.Broadcast{By: by, Fence: fence, Hash: hash} },
		func() withdrawal.Event {
			return withdrawal.AttemptFailed{By: by, Fence: fence, Failure: rapid.SampledFrom(withdrawal.Failure(0).Values()).Draw(t, "failure"),
				Error: "e"}
		},
		func() withdrawal.Event { return withdrawal.GivenBack{By: by, Fence: fence, For: time.Minute} },
		func() withdrawal.Event {
			return withdrawal.Rebumped{By: by, Fence: fence, Hash: fresh(), Raw: []byte{2}, Nonce: j.Nonce, HasNonce: j.HasNonce, Input: replaced,
				Cancel: rapid.Bool().Draw(t, "cancel")}
		},
		func() withdrawal.Event { return withdrawal.Rebroadcast{By: by, Fence: fence, Hash: hash, Done: true} },
		func() withdrawal.Event {
			return withdrawal.Receipt{By: checker(), Block: block(t), Tx: hash, Reverted: rapid.IntRange(0, 4).Draw(t, "reverted") == 0,
				GasUsed: "21000", GasPrice: "1"}
		},
		func() withdrawal.Event { return withdrawal.Missing{By: checker(), Tx: hash} },
		func() withdrawal.Event {
			return withdrawal.ProvenDead{By: rapid.SampledFrom([]withdrawal.By{checker(), operator()}).Draw(t, "by"), Block: block(t), Tx: hash,
				Cause: rapid.SampledFrom(append(withdrawal.DeathCause(0).Values(), cause, cause, cause, cause)).Draw(t, "cause"), Other: "foreign",
				Nonce: j.Nonce, Input: replaced,
				NotThisPayment: rapid.IntRange(0, 9).Draw(t, "looked at") > 0}
		},
		func() withdrawal.Event {
			b := operator()
			b.Version = j.Version
			return withdrawal.Resolved{By: b, Job: j.ID, Sent: rapid.Bool().Draw(t, "sent"), Hash: hash, Reason: "proof"}
		},
		func() withdrawal.Event { return withdrawal.Elapsed{By: system()} },
		func() withdrawal.Event { return withdrawal.Requeued{By: operator(), Job: j.ID, NotRefunded: true} },
		func() withdrawal.Event { return withdrawal.Held{By: operator(), Reason: "h"} },
		func() withdrawal.Event { return withdrawal.Released{By: operator()} },
		func() withdrawal.Event {
			return withdrawal.Broadcast{By: a.by(t, withdrawal.WithdrawalWorker), Fence: rapid.Int64Range(1,
				max(1, j.Lease.Fence)).Draw(t, "late fence"),
				Hash: fmt.Sprintf("%slate%d", a.Prefix, rapid.IntRange(0, 2).Draw(t, "late hash")), Input: replaced}
		},
		func() withdrawal.Event { return a.paidBy(t, w, replaced) },
		func() withdrawal.Event {
			return withdrawal.CannotTell{By: checker(), Tx: hash, Other: "foreign", Reason: "c"}
		},
		func() withdrawal.Event { return withdrawal.PutOff{By: system()} },
		func() withdrawal.Event { return withdrawal.Acknowledged{By: operator(), Reason: "a"} },
		func() withdrawal.Event {
			return withdrawal.Revoked{By: rapid.SampledFrom([]withdrawal.By{by, operator()}).Draw(t, "who"),
				Revocation: statemachine.Revocation{Holder: j.Lease.Holder, Reason: "dead"}}
		},
		func() withdrawal.Event { // the bookkeeper gives back whatever may be given back
			return withdrawal.Refunded{By: rapid.SampledFrom([]withdrawal.By{system(), system(), operator()}).Draw(t, "bookkeeper"), Reason: "r",
				Reference: fmt.Sprintf("%srefund%d", a.Prefix, rapid.IntRange(0, 9).Draw(t, "reference")/9), Already: rapid.IntRange(0, 19).Draw(t,
					"already") == 0}
		},
	}
	switch k := even(t, 400, "kind"); {
	case k == 0:
		return rapid.SampledFrom([]withdrawal.Event{withdrawal.Rejected{By: a.by(t, withdrawal.Approver)},
			withdrawal.Cancelled{By: operator()}}).Draw(t, "stop event")
	case k < 100:
		return draws[rapid.IntRange(0, len(draws)-1).Draw(t, "event")]()
	}
	return draws[rapid.SampledFrom(fitting(w)).Draw(t, "fitting event")]()
}

// even draws 0 to n-1, each as often, for n up to 1,000: the ranges of rapid prefer
// small numbers, so that what should be rare would end most runs.
func even(t *rapid.T, n int, what string) (k int) {
	for range 16 {
		k *= 2
		if rapid.Bool().Draw(t, what) {
			k++
		}
	}
	return k % n
}

// fitting lists which draws the state may accept.
func fitting(w *withdrawal.Withdrawal) []int {
	switch j := &w.Job; {
	case w.Request.RefundReference != "": // told late, and again once somebody has looked
		return []int{10, 12, 15, 18, 18, 19, 19, 22, 22, 24}
	case w.Request.Status != withdrawal.RequestQueued && w.Request.StraysSent > 0:
		return []int{12, 15, 24}
	case w.Request.Told != "" && w.Request.Acknowledged: // told more before an operator refunds it
		return []int{10, 18, 19, 24, 24}
	case w.Request.Told != "" && w.Request.Status != withdrawal.RequestQueued && w.Request.Status != withdrawal.RequestApproved:
		return []int{19, 22, 22, 24}
	case w.Request.Status != withdrawal.RequestQueued:
		return []int{0, 1, 15, 0, 1, 15, 0, 1, 15, 0, 1, 15, 16, 17, 17, 17, 18, 24}
	case w.Request.Held:
		return []int{17}
	case j.Review:
		return []int{12, 13, 12, 13, 18, 19}
	case j.Status == withdrawal.JobPending && len(w.Txs) > 0:
		return []int{2, 2, 2, 18, 19, 19}
	case j.Status == withdrawal.JobPending && j.Dispatches > 0:
		return []int{2, 2, 2, 18}
	case j.Status == withdrawal.JobPending:
		return []int{2, 2, 2, 2, 2, 16, 19, 21}
	case j.Status == withdrawal.JobProcessing:
		return []int{3, 4, 4, 5, 5, 6, 7, 8, 14, 16, 18, 23}
	}
	return []int{2, 8, 9, 10, 11, 11, 12, 12, 12, 19, 20, 23}
}

// paidBy says that another transaction paid, which is mostly true of the request.
func (a *Adversary) paidBy(t *rapid.T, w *withdrawal.Withdrawal, input string) withdrawal.Event {
	j := &w.Job
	e := withdrawal.PaidBy{By: a.by(t, rapid.SampledFrom([]withdrawal.Role{withdrawal.ConfirmationWorker,
		withdrawal.Operator}).Draw(t, "teller")), Block: block(t),
		Tx: a.payment(t, w), Payee: w.Request.ToAddress, AssetOnChain: j.AssetOnChain,
		AmountRaw: w.Request.AmountRaw, Reference: j.DispatchRef, Nonce: j.Nonce, HasNonce: j.HasNonce, Input: input, Reason: "p"}
	switch rapid.IntRange(0, 9).Draw(t, "payment") {
	case 0:
		e.AmountRaw = "1"
	case 1:
		e.Nonce, e.HasNonce, e.Input = 0, false, ""
	case 2:
		e.Reverted = true
	case 3:
		e.Block = withdrawal.Block{}
	}
	return e
}

// payment is the hash of what paid: mostly one that is not on file, else one that
// is, dead or not.
func (a *Adversary) payment(t *rapid.T, w *withdrawal.Withdrawal) string {
	hashes := []string{fmt.Sprintf("%spaid%d", a.Prefix, rapid.IntRange(0, 2).Draw(t, "paid hash"))}
	for _, tx := range w.Txs {
		if !tx.Cancel { // which pays nobody
			hashes = append(hashes, tx.Hash)
		}
	}
	return rapid.SampledFrom(hashes).Draw(t, "payment hash")
}

// hash is mostly of a transaction on file.
func (a *Adversary) hash(t *rapid.T, w *withdrawal.Withdrawal) string {
	hashes := []string{"foreign"}
	for _, tx := range w.Txs {
		hashes = append(hashes, tx.Hash, tx.Hash)
	}
	if !w.Job.DispatchedAt.IsZero() {
		hashes = append(hashes, fmt.Sprintf("%ssigned%d", a.Prefix, w.Job.Lease.Fence))
	}
	return rapid.SampledFrom(hashes).Draw(t, "hash")
}

func block(t *rapid.T) withdrawal.Block {
	b := withdrawal.Block{Height: rapid.Uint64Range(1, 3).Draw(t, "height")}
	b.Hash = fmt.Sprintf("block%d", b.Height)
	b.Canonical = rapid.SampledFrom([]string{b.Hash, b.Hash, b.Hash, "another"}).Draw(t, "canonical")
	b.Head = b.Height + rapid.Uint64Range(0, 5).Draw(t, "depth")
	return b
}

// Apply is what is tested: [withdrawal.Policy.Apply], or a service that stores
// the change and reads it again.
type Apply func(ev withdrawal.Event, w withdrawal.Withdrawal) (withdrawal.Change, error)

// Run sends n events to a new withdrawal and checks every answer with a [History]. An event under an old fence must be
// refused, and something must be stored.
func Run(t *rapid.T, n int, apply Apply) {
	first := Submissions().Draw(t, "submission")
	wallets := Wallets(first.Chain).Draw(t, "wallets")
	var h History
	var a Adversary
	w := withdrawal.Withdrawal{}
	for i := range n {
		var ev withdrawal.Event = first
		if i > 0 {
			ev = a.Next(t, w, wallets)
		}
		c, err := apply(ev, w)
		if _, want := fencing.Apply(w, ev); errors.Is(want, statemachine.ErrFenced) && err == nil {
			t.Fatalf("step %d, %T: it comes under an old fence and is not refused", i, ev)
		}
		if err == nil && !c.Empty() && late(w.Job.Lease, ev) {
			t.Fatalf("step %d, %T %+v: it moves what %+v holds", i, ev, ev, w.Job.Lease)
		}
		if e, ok := ev.(withdrawal.Broadcast); ok && errors.Is(err, statemachine.ErrFenced) && h.dispatched(e.Fence) {
			t.Fatalf("step %d, %T %+v: the answer of a dispatch goes unheard", i, ev, ev)
		}
		if err := h.Add(c, err); err != nil {
			t.Fatalf("step %d, %T %+v: %v", i, ev, ev, err)
		}
		if what := unheeded(ev, &c.New); err == nil && what != "" {
			t.Fatalf("step %d, %T %+v: %s, and nothing stops the next payment: %+v", i, ev, ev, what, c.New.Job)
		}
		if w = c.New; w.Request.Status == 0 {
			t.Fatalf("step %d, %T: nothing is stored (%v)", i, ev, err)
		}
		again, err2 := apply(ev, w)
		if err == nil && err2 == nil && !again.Empty() && !repeatable(ev, &again) {
			t.Fatalf("step %d, %T is taken twice", i, ev)
		}
		if err := h.Add(again, err2); err != nil {
			t.Fatalf("step %d, %T again: %v", i, ev, err)
		}
		w = again.New
	}
}

// fencing is any policy: who holds which fence does not depend on it.
var fencing = withdrawal.DefaultPolicy()

// late reports whether a step that is its holder's alone comes from somebody else,
// or after the end of the lease.
func late(l statemachine.Lease, ev withdrawal.Event) bool {
	fence, by := int64(0), withdrawal.By{}
	switch e := ev.(type) {
	case withdrawal.Prepared:
		fence, by = e.Fence, e.By
	case withdrawal.Dispatched:
		fence, by = e.Fence, e.By
	case withdrawal.Rebumped:
		fence, by = e.Fence, e.By
	case withdrawal.Rebroadcast:
		fence, by = e.Fence, e.By
	case withdrawal.GivenBack:
		fence, by = e.Fence, e.By
	default:
		return false
	}
	return fence != l.Fence || by.Actor != l.Holder || !by.At.Before(l.Until)
}

// unheeded says of what an event told, and it was taken, that another payment may
// begin all the same; empty if none may.
func unheeded(ev withdrawal.Event, w *withdrawal.Withdrawal) string {
	hash, what, answer := "", "", false
	switch e := ev.(type) {
	case withdrawal.PaidBy:
		if hash, what = e.Tx, "an operator says that it was paid"; e.Role != withdrawal.Operator {
			return ""
		}
	case withdrawal.Broadcast:
		hash, what, answer = e.Hash, "a signer says that it was sent", true
	default:
		return ""
	}
	stopped := w.Request.Held || w.Job.Review || w.Request.Mined != "" || w.Request.StraysSent > 0
	// An answer is no proof against a death, and after the end an incident alone.
	over := withdrawal.RequestMachine.Terminal(w.Request.Status) || w.Request.Status == withdrawal.RequestFailed
	stopped = stopped || answer && over
	for i, tx := range w.Txs {
		stopped = stopped || statemachine.SameHash(tx.Hash, hash) && (i >= int(w.Job.TxsDead) || answer)
	}
	for _, s := range w.Strays {
		stopped = stopped || statemachine.SameHash(s.Hash, hash)
	}
	if stopped {
		return ""
	}
	return what
}

// repeatable: events without a key. A claim without a fence takes the next.
func repeatable(ev withdrawal.Event, again *withdrawal.Change) bool {
	switch e := ev.(type) {
	case withdrawal.Claimed:
		return e.Fence == 0
	case withdrawal.Elapsed, withdrawal.Receipt, withdrawal.Missing, withdrawal.ProvenDead, withdrawal.PaidBy:
		return true // an incident is answered again; its key makes it one
	case withdrawal.Broadcast:
		return len(again.Log) == 0
	}
	return false
}

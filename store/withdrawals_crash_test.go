package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// ledger is a node: it knows what was sent to it, and mines it when told to.
type ledger struct {
	sent  map[string]bool
	paid  map[uuid.UUID]string // by request: the transaction that was mined
	mined map[string]bool
	nonce map[uint64]string // what was mined under a nonce
}

func newLedger() *ledger {
	return &ledger{map[string]bool{}, map[uuid.UUID]string{}, map[string]bool{}, map[uint64]string{}}
}

// crash is how a process of these tests ends.
type crash struct{}

// process is a host that keeps nothing between two steps but the name of the
// request: what to do next it asks the store.
type process struct {
	*bank
	t      *testing.T
	node   *ledger
	name   string
	left   int // steps until the crash; negative: never
	signed int
}

// step is called before each effect and each commit, and after them.
func (p *process) step() {
	if p.left == 0 {
		panic(crash{})
	}
	p.left--
}

func (p *process) commit(request uuid.UUID, events ...withdrawal.Event) {
	p.step()
	if _, err := p.Do(context.Background(), request, events...); err != nil {
		p.t.Fatal(err)
	}
	p.step()
}

func (p *process) send(w *withdrawal.Withdrawal, hash string) {
	p.step()
	p.node.sent[hash] = true
	p.step()
	for _, tx := range w.Txs { // it is mined at once
		if _, used := p.node.nonce[tx.Nonce]; tx.Hash == hash && !used {
			if other := p.node.paid[tx.Request]; other != "" {
				p.t.Fatalf("request %s was paid by %s and by %s", tx.Request, other, hash)
			}
			p.node.paid[tx.Request], p.node.mined[hash], p.node.nonce[tx.Nonce] = hash, true, hash
		}
	}
	p.step()
}

// run works until the request is completed or the process crashes.
func (p *process) run(submission withdrawal.Submitted) (completed bool) {
	defer func() {
		if c := recover(); c != nil {
			if _, ok := c.(crash); !ok {
				panic(c)
			}
		}
	}()
	request := submission.Request
	worker := withdrawal.By{Actor: p.name, Role: withdrawal.WithdrawalWorker}
	p.commit(request, submission)
	for range 100 {
		w := p.do(p.t, request)
		if w.Request.Status == withdrawal.RequestCompleted {
			return true
		}
		step, _, err := p.Next(context.Background(), request)
		if err != nil {
			p.t.Fatal(err)
		}
		if step.Party == withdrawal.Approver {
			p.commit(request, withdrawal.Approved{By: as(withdrawal.Approver)})
			continue
		}
		for _, a := range step.Actions {
			p.act(a, w, worker)
		}
		if len(step.Actions) == 0 || w.Job.Lease.Holder != "" && w.Job.Lease.Holder != p.name {
			if step.Due.IsZero() {
				p.t.Fatalf("nobody moves %s", text(p.t, w))
			}
			p.now = step.Due // another's lease, or a pause
		}
	}
	p.t.Fatal("it never ends")
	return false
}

func (p *process) act(a withdrawal.Action, w withdrawal.Withdrawal, worker withdrawal.By) {
	mine := w.Job.Lease.Holder == p.name
	switch {
	case a.Do == withdrawal.DoEnqueue:
		p.commit(a.Request, p.order(w.Request))
	case a.Do == withdrawal.DoClaim:
		p.commit(a.Request, withdrawal.Claimed{By: worker, Fence: a.Fence})
	case a.Do == withdrawal.DoPay && mine:
		p.step() // sign; every signature is another one
		p.signed++
		p.commit(a.Request, withdrawal.Prepared{By: worker, Fence: a.Fence, Hash: fmt.Sprintf("%s-%d", p.name, p.signed), Raw: []byte{1}, Nonce: a.NextNonce, HasNonce: true,
			ChainNonce: a.NextNonce, HasChainNonce: true})
	case a.Do == withdrawal.DoBroadcast && mine:
		p.send(&w, a.Hashes[0])
		p.commit(a.Request, withdrawal.Broadcast{By: worker, Fence: a.Fence, Hash: a.Hashes[0]})
	case a.Do == withdrawal.DoLookUp:
		p.step()
		for _, hash := range a.Hashes {
			if p.node.mined[hash] {
				p.commit(a.Request, mined(hash))
			} else {
				p.commit(a.Request, withdrawal.Missing{By: as(withdrawal.ConfirmationWorker), Tx: hash})
			}
		}
	case a.Do == withdrawal.DoRebroadcast:
		w, err := p.Get(context.Background(), a.Request)
		if err != nil || w.Job.Status != withdrawal.JobConfirming || !w.Job.Rebroadcast {
			return // the look-up of the same step has found it
		}
		p.commit(a.Request, withdrawal.Claimed{By: worker, Fence: a.Fence})
		p.send(&w, a.Hashes[0])
		p.commit(a.Request, withdrawal.Rebroadcast{By: worker, Fence: a.Fence, Hash: a.Hashes[0], Done: true})
	case a.Do == withdrawal.DoRescue:
		p.step()
		if _, _, err := p.Rescue(context.Background(), as(withdrawal.System), 1); err != nil {
			p.t.Fatal(err)
		}
		p.step()
	}
}

// A process dies at each step of a payment in turn, and its successor at each
// of its first steps; a third goes on from the store alone.
func TestACrashBetweenAnyTwoStepsPaysOnce(t *testing.T) {
	first := 0
	for whole := false; !whole; first++ {
		for second := range 12 {
			b := newBank(t)
			node, submission := newLedger(), b.submission()
			done := false
			for i, left := range []int{first, second, -1} {
				p := &process{bank: b, t: t, node: node, name: fmt.Sprint("process-", i), left: left}
				if done = p.run(submission); done {
					whole = i == 0 // a payment has no more steps
					break
				}
			}
			w := b.do(t, submission.Request)
			if !done || w.Request.FinalTxHash != node.paid[submission.Request] || !node.mined[w.Request.FinalTxHash] {
				t.Fatalf("crashes at %d and %d: the node paid %q, stored is %s", first, second, node.paid[submission.Request], text(t, w))
			}
			if err := withdrawal.Check(w); err != nil {
				t.Fatal(err)
			}
			for _, id := range []uuid.UUID{w.Request.ID, w.Job.ID} {
				if err := b.Verify(context.Background(), id); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if first < 15 {
		t.Fatalf("a payment has only %d points to crash at", first)
	}
}

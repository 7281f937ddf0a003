package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

type (
	payoutService                = service[uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent]
	payoutSubject[T store.Clock] = subject[T, uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange]
	payoutStage                  = stage[uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent]
)

// batchService is the part of the service that is of batches.
type batchService struct{ *store.Withdrawals }

func (s batchService) Do(ctx context.Context, id uuid.UUID, events ...withdrawal.BatchEvent) (withdrawal.Payout, error) {
	return s.Batch(ctx, id, events...)
}
func (s batchService) Get(ctx context.Context, id uuid.UUID) (withdrawal.Payout, error) {
	return s.GetBatch(ctx, id)
}
func (s batchService) Trail(ctx context.Context, id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return s.BatchTrail(ctx, id)
}

// batchRecords are the batches among the records.
type batchRecords struct{ store.WithdrawalRecords }

func (r batchRecords) Get(ids ...uuid.UUID) ([]withdrawal.Payout, error) { return r.Batches(ids...) }
func (r batchRecords) Save(changes ...withdrawal.BatchChange) error {
	return r.SaveBatches(changes...)
}

// versionedPayouts says how to make batches, for the rules of any versioned
// record.
func versionedPayouts[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) *payoutSubject[T] {
	size := 160
	if strings.Contains(t.Name(), "while_others_write") { // the rule that makes most of them
		size = 400
	}
	pool := w.newPool(t, size)
	s := &payoutSubject[T]{
		Store:   w.Store,
		service: batchService{w.service},
		within:  func(tx T) payoutService { return batchService{w.service.Within(tx)} },
		records: func(tx T) records[uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchChange] {
			return batchRecords{tx.Withdrawals()}
		},
		apply: func(b withdrawal.Payout, ev withdrawal.BatchEvent) (withdrawal.BatchChange, error) {
			if e, ok := ev.(withdrawal.BatchPrepared); ok && b.Batch.Status == 0 {
				b.Members = nil
				for _, p := range e.Pays {
					a, ok := pool.as[p.Request]
					if !ok {
						a = w.get(t, p.Request)
					}
					b.Members = append(b.Members, a)
				}
			}
			return w.policy.ApplyBatch(b, ev, time.Time{})
		},
		parts: func(c *withdrawal.BatchChange) (old, now *withdrawal.Payout, log *[]statemachine.Transition[uuid.UUID]) {
			return &c.Old, &c.New, &c.Log
		},
		empty: (*withdrawal.BatchChange).Empty,
		check: withdrawal.CheckBatch,
		states: func(b *withdrawal.Payout) (all []stored[uuid.UUID]) {
			if b.Batch.Status != 0 {
				all = append(all, stored[uuid.UUID]{b.Batch.ID, b.Batch.Version, b.Batch.Status.String()})
			}
			return all
		},
		newID:  w.id,
		id:     func(b *withdrawal.Payout) uuid.UUID { return b.Batch.ID },
		stages: pool.stages(),
		outside: map[string]func(*withdrawal.Payout){
			"next check":  func(b *withdrawal.Payout) { b.Batch.NextCheckAt = b.Batch.NextCheckAt.Add(tick) },
			"rebroadcast": func(b *withdrawal.Payout) { b.Batch.Rebroadcast = !b.Batch.Rebroadcast },
		},
		also:       func(t testing.TB) []withdrawal.Payout { return w.owed(t, start) },
		sharedFeed: true,
		draw: func(*rapid.T) history[uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent] {
			return history[uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent]{} // the stages are all that there is
		},
		older:     func(b *withdrawal.Payout) { b.Batch.Version-- },
		sentinels: []error{withdrawal.ErrNonceTaken, withdrawal.ErrPaymentTaken, withdrawal.ErrInBatch},
	}
	for _, kind := range withdrawal.BatchDue(0).Values() {
		q := store.DueBatches{Kind: kind, Grace: grace}
		k := dueKind[T, uuid.UUID, withdrawal.Payout]{
			name: kind.String(),
			find: func(tx T, now time.Time, limit int) ([]withdrawal.Payout, error) {
				q := q
				q.Now, q.Limit = now, limit
				return tx.Withdrawals().DueBatches(q)
			},
			next: func(tx T, now time.Time) (time.Time, error) {
				q := q
				q.Now = now
				return tx.Withdrawals().NextDueBatch(q)
			},
			at:      func(b *withdrawal.Payout) (time.Time, bool) { return withdrawal.BatchDueAt(kind, &b.Batch, grace) },
			compare: func(a, b *withdrawal.Payout) int { return withdrawal.CompareDueBatches(&a.Batch, &b.Batch) },
		}
		if kind == withdrawal.DueBatchSend {
			k.hides = func(a, b *withdrawal.Payout) bool { return withdrawal.LowerBatch(&a.Batch, &b.Batch) }
		}
		s.due = append(s.due, k)
	}
	return s
}

// pool is claimed jobs for batches, since a batch is also made within a
// transaction, in which no other can make them.
type pool struct {
	mu   sync.Mutex
	as   map[uuid.UUID]withdrawal.Withdrawal
	free []withdrawal.Withdrawal
	fill func(n int)
}

func (w *withdrawals[T]) newPool(t testing.TB, size int) *pool {
	p := &pool{as: map[uuid.UUID]withdrawal.Withdrawal{}}
	p.fill = func(n int) {
		commands := make([]store.WithdrawalCommand, n)
		for i := range commands {
			id := w.id()
			commands[i] = store.WithdrawalCommand{Request: id, Events: []withdrawal.Event{submission(id, utxos, start), withdrawal.Approved{By: by(withdrawal.Approver, start)},
				w.enqueued(start, withdrawal.Normal), withdrawal.Claimed{By: workerAt(start)}}}
		}
		if _, err := w.service.DoAll(ctx, commands...); err != nil {
			t.Error(err)
		}
		for i := range commands {
			a, err := w.service.Get(ctx, commands[i].Request)
			if err != nil {
				t.Error(err)
			}
			p.as[a.Request.ID], p.free = a, append(p.free, a)
		}
	}
	p.fill(size)
	return p
}

// stages: a batch that is not sent, and one that is.
func (p *pool) stages() []payoutStage {
	made := func(id uuid.UUID) []withdrawal.BatchEvent {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.free) < 2 {
			p.fill(80) // not within a transaction
		}
		members := p.free[:2]
		p.free = p.free[2:]
		return []withdrawal.BatchEvent{batchOf(id, start, members...)}
	}
	mined := func(b *withdrawal.Payout, i int) withdrawal.BatchEvent {
		e := minedBatch(b, start, b.Batch.TxHash, 0)
		e.GasUsed, e.Block.Hash = withdrawal.Raw(fmt.Sprint(21000+i)), fmt.Sprint("b", i)
		e.Canonical = e.Block.Hash
		return e
	}
	touch := func(b *withdrawal.Payout, at time.Time) withdrawal.BatchEvent {
		return withdrawal.BatchLooking{By: by(withdrawal.ConfirmationWorker, at)}
	}
	return []payoutStage{
		{name: "a batch on file", events: made, touch: touch, rivals: mined},
		{name: "a batch that was sent", touch: touch,
			events: func(id uuid.UUID) []withdrawal.BatchEvent {
				all := made(id)
				return append(all, withdrawal.BatchSent{By: workerAt(start.Add(time.Minute)), Hash: all[0].(withdrawal.BatchPrepared).Hash, Done: true})
			},
			rivals: func(b *withdrawal.Payout, i int) withdrawal.BatchEvent {
				e := replacedBatch(b, start, fmt.Sprint("replacement ", i), i%2)
				return e
			}},
	}
}

// batchOf pays claimed jobs by one transaction, by their order.
func batchOf(id uuid.UUID, at time.Time, members ...withdrawal.Withdrawal) withdrawal.BatchPrepared {
	e := withdrawal.BatchPrepared{By: workerAt(at), Batch: id, Hash: "batch " + id.String(), Raw: []byte{4, 0, 255}}
	e.Pays = paysOf(members)
	if m := &members[0]; m.Job.Slot.Valid {
		e.Nonce, e.HasNonce, e.HasChainNonce = m.Wallet.NextNonce, true, m.Wallet.NextNonce == 0
	} else {
		e.Input = "input of " + id.String()
	}
	return e
}

func paysOf(members []withdrawal.Withdrawal) (all []withdrawal.Pay) {
	for i := range members {
		m := &members[i]
		all = append(all, withdrawal.Pay{Request: m.Request.ID, Fence: m.Job.Lease.Fence, Transfer: withdrawal.Transfer{Output: uint32(i),
			Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Request.AmountRaw}})
	}
	return all
}

// replacedBatch pays one member.
func replacedBatch(b *withdrawal.Payout, at time.Time, hash string, member int) withdrawal.BatchReplaced {
	who := workerAt(at)
	who.Version = b.Batch.Version
	return withdrawal.BatchReplaced{By: who, Hash: hash + " of " + b.Batch.ID.String(), Raw: []byte{1}, Pays: paysOf(b.Members)[member : member+1]}
}

// minedBatch shows what a version pays to those that have it on file, from the
// n-th member on.
func minedBatch(b *withdrawal.Payout, at time.Time, hash string, from int) withdrawal.BatchMined {
	e := withdrawal.BatchMined{By: by(withdrawal.ConfirmationWorker, at), Tx: hash, GasUsed: "90000", GasPrice: "5",
		Block: withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 12}}
	for i := from; i < len(b.Members); i++ {
		m := &b.Members[i]
		if output, ok := b.Pays(hash, m); ok {
			e.Transfers = append(e.Transfers, withdrawal.Transfer{Output: output, Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain, AmountRaw: m.Request.AmountRaw})
		}
	}
	return e
}

// owed makes three batches of one wallet, and one of another, that are owed a
// broadcast: the higher the nonce, the longer.
func (w *withdrawals[T]) owed(t testing.TB, at time.Time) (all []withdrawal.Payout) {
	t.Helper()
	for _, of := range []int{3, 1} {
		hot := withdrawal.HotWallet{ID: w.id(), Chain: w.id()}
		w.putWallet(t, hot)
		for i := range of {
			e := batchOf(w.id(), at, w.behindOf(t, hot.Chain, 2)...)
			b, err := w.service.Batch(ctx, e.Batch, e, withdrawal.BatchMissing{By: by(withdrawal.ConfirmationWorker, at.Add(time.Duration(of-i)*time.Minute))})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
	}
	return all
}

// batchesOverdue: those of a chain, and all, are counted from just after their check.
func batchesOverdue[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	all := w.owed(t, start)
	for _, now := range []time.Time{start, all[2].Batch.NextCheckAt, all[2].Batch.NextCheckAt.Add(tick), all[0].Batch.NextCheckAt.Add(tick)} {
		for _, chain := range []uuid.UUID{{}, all[0].Batch.Chain, all[3].Batch.Chain} {
			want := withdrawal.Stats{At: now}
			for i := range all {
				if chain == uuid.Nil || chain == all[i].Batch.Chain {
					want.CountBatch(&all[i].Batch)
				}
			}
			err := w.View(ctx, func(tx T) error {
				got, err := tx.Withdrawals().Stats(now, time.Hour, chain)
				if got.BatchesOverdue != want.BatchesOverdue || got.Stuck() != got.BatchesOverdue {
					t.Errorf("%d batches are overdue at %v and %d stuck, by the domain %d", got.BatchesOverdue, now, got.Stuck(), want.BatchesOverdue)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// behind claims n jobs of a wallet of its own, the others behind the first one.
func (w *withdrawals[T]) behind(t testing.TB, n int) []withdrawal.Withdrawal {
	t.Helper()
	hot := withdrawal.HotWallet{ID: w.id(), Chain: w.id()}
	w.putWallet(t, hot)
	return w.behindOf(t, hot.Chain, n)
}

func (w *withdrawals[T]) behindOf(t testing.TB, chain uuid.UUID, n int) (members []withdrawal.Withdrawal) {
	t.Helper()
	for i := range n {
		a := w.pending(t, chain, start)
		members = append(members, w.do(t, a.Request.ID, withdrawal.Claimed{By: workerAt(start), Behind: i > 0}))
	}
	for i := range members { // with the wallet as it is now
		members[i] = w.get(t, members[i].Request.ID)
	}
	return members
}

// batched is the life of a request in a batch.
func (f *fields[T]) batched() {
	f.t.Helper()
	f.begin(anAsset, f.w.id())
	f.approve("alice")
	f.enqueue()
	f.claim()
	c, err := f.w.policy.ApplyBatch(withdrawal.Payout{Members: []withdrawal.Withdrawal{f.a}}, batchOf(f.w.id(), f.tick(), f.a), f.now)
	if err == nil {
		err = f.Update(ctx, func(tx T) error { return tx.Withdrawals().SaveBatches(c) })
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.saved(f.a, &c.Members[0], "in a batch")
}

// everyBatchField takes two batches through their lives.
func everyBatchField[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	l := newLife(t, versionedPayouts(t, w))
	l.records = func(b *withdrawal.Payout) map[string]any { return map[string]any{"Batch": b.Batch} }
	l.follow = func(_ withdrawal.Payout, c *withdrawal.BatchChange) {
		for i := range c.Txs {
			l.note("BatchTx", nil, c.Txs[i])
		}
		for i := range l.a.Members { // whose wallets have rows of their own
			l.a.Members[i].Wallet = w.get(t, l.a.Members[i].Request.ID).Wallet
		}
	}
	l.compareMore = func(tx T, what string) error {
		for i := range l.a.Members {
			got, err := tx.Withdrawals().Get(l.a.Members[i].Request.ID)
			if err != nil {
				return err
			}
			same(t, what+": a member", got[0], l.a.Members[i])
			inUTC(t, what, reflect.ValueOf(got[0]))
		}
		return nil
	}
	for _, members := range [][]withdrawal.Withdrawal{w.behind(t, 3), {w.processing(t, utxos, start), w.processing(t, utxos, start)}} {
		l.a = withdrawal.Payout{}
		l.now = start
		first := batchOf(w.id(), l.tick(), members...)
		if first.HasNonce {
			first.Nonce, first.ChainNonce, first.HasChainNonce = 7, 7, true
		}
		l.do(first)
		l.do(withdrawal.BatchSent{By: by(withdrawal.WithdrawalWorker, l.tick()), Hash: first.Hash, Done: true},
			withdrawal.BatchMissing{By: by(withdrawal.ConfirmationWorker, l.tick())})
		l.do(replacedBatch(&l.a, l.tick(), "v2", 1))
		l.do(minedBatch(&l.a, l.tick(), l.a.Batch.TxHash, 0))
		for i, m := range l.a.Members {
			if paid := m.Request.Status == withdrawal.RequestCompleted; paid != (i == 1) || !paid && m.Job.Status != withdrawal.JobPending {
				t.Fatalf("member %d is %v, its job %v", i, m.Request.Status, m.Job.Status)
			}
		}
	}
	l.end(strings.Fields("Batch.ID Batch.Chain Batch.Wallet Batch.Owner Batch.Nonce Batch.HasNonce Batch.Input Batch.Members Batch.CreatedAt"),
		map[string]any{"Batch": withdrawal.Batch{}}, map[string]any{"BatchTx": withdrawal.BatchTx{}})
}

// batchWithMembers: of a stale member nothing is stored, and of a refused one
// neither.
func batchWithMembers[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	op := by(withdrawal.Operator, start)
	members := w.behind(t, 3)
	e := batchOf(w.id(), start, members...)
	c, err := w.policy.ApplyBatch(withdrawal.Payout{Members: members}, e, start)
	if err != nil {
		t.Fatal(err)
	}
	held := w.do(t, members[2].Request.ID, withdrawal.Held{By: op})
	refusedWith(t, w.Update(ctx, func(tx T) error { return tx.Withdrawals().SaveBatches(c) }), statemachine.ErrConflict, "a batch with a member that was held meanwhile")
	if _, err := w.service.Batch(ctx, e.Batch, e); !errors.Is(err, statemachine.ErrFenced) {
		t.Fatalf("a batch with a held member: %v", err)
	}
	for i, m := range append(members[:2:2], held) {
		same(t, fmt.Sprint("member ", i, " after a batch that was refused"), w.get(t, m.Request.ID), m)
	}
	if _, err := w.service.GetBatch(ctx, e.Batch); !errors.Is(err, statemachine.ErrNotFound) {
		t.Fatalf("a batch that was refused: %v", err)
	}
	e.Pays = e.Pays[:2]
	b, err := w.service.Batch(ctx, e.Batch, e)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.service.Batch(ctx, e.Batch, e); err != nil || again.Batch.Version != b.Batch.Version {
		t.Fatalf("the same again: %v, version %d", err, again.Batch.Version)
	}
	// One member moves between the look-up and the save of the end.
	end, err := w.policy.ApplyBatch(b, minedBatch(&b, start, e.Hash, 0), start)
	if err != nil {
		t.Fatal(err)
	}
	moved := w.do(t, members[1].Request.ID, withdrawal.PaidBy{By: op, Block: withdrawal.Block{Height: 9, Hash: "b9", Canonical: "b9", Head: 12}, Tx: "elsewhere",
		Payee: members[1].Request.ToAddress, AssetOnChain: tokenOnChain, AmountRaw: members[1].Request.AmountRaw, Reason: "seen"})
	refusedWith(t, w.Update(ctx, func(tx T) error { return tx.Withdrawals().SaveBatches(end) }), statemachine.ErrConflict, "the end of a batch with a member that moved")
	now, err := w.service.GetBatch(ctx, e.Batch)
	if err != nil || now.Batch.Status != withdrawal.BatchConfirming || now.Members[0].Request.Status != withdrawal.RequestQueued {
		t.Fatalf("half of an end is stored: %v, %v, %v", err, now.Batch.Status, now.Members[0].Request.Status)
	}
	same(t, "the member that moved", now.Members[1], moved)
	if due := w.due(t, store.DueWithdrawals{Kind: withdrawal.DueCheck, Chain: b.Batch.Chain, Now: start.Add(time.Hour), Limit: 10}); len(due) > 0 {
		t.Fatalf("%d members of a batch are looked up alone", len(due))
	}
	if _, err := w.service.AuditBatches(ctx, uuid.Nil, 100); err != nil {
		t.Fatal(err)
	}
	if ids, err := w.service.AuditBatches(ctx, e.Batch, 100); err != nil || ids != uuid.Nil {
		t.Fatalf("behind the last one: %v, %v", ids, err)
	}
}

// batchNonce: all members have the nonce, and one job owns it.
func batchNonce[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	members := w.behind(t, 3)
	b, err := w.service.Batch(ctx, w.id(), func() withdrawal.BatchEvent {
		e := batchOf(w.id(), start, members...)
		e.Nonce, e.ChainNonce, e.HasChainNonce = 5, 5, true
		return e
	}())
	if !errors.Is(err, statemachine.ErrInvalid) {
		t.Fatalf("another id than the event's: %v", err)
	}
	e := batchOf(w.id(), start, members...)
	e.Nonce, e.ChainNonce, e.HasChainNonce = 5, 5, true
	if b, err = w.service.Batch(ctx, e.Batch, e); err != nil {
		t.Fatal(err)
	}
	if b.Batch.Owner != members[0].Job.ID {
		t.Fatalf("the owner is %v", b.Batch.Owner)
	}
	if free, err := w.service.FreeNonce(ctx, b.Batch.Wallet, 5); err != nil || free != 6 {
		t.Fatalf("free is %d, %v", free, err)
	}
	other := w.do(t, w.pending(t, b.Batch.Chain, start).Request.ID, withdrawal.Claimed{By: workerAt(start)})
	taken := func(err error, what string) {
		t.Helper()
		var by *withdrawal.TakenError
		if !errors.Is(err, withdrawal.ErrNonceTaken) || !errors.As(err, &by) || by.ID != b.Batch.Owner {
			t.Errorf("%s: %v, expected that job %v owns it", what, err, b.Batch.Owner)
		}
	}
	p := prepared(&other, start)
	p.Nonce, p.ChainNonce, p.HasChainNonce = 5, 5, true
	_, err = w.service.Do(ctx, other.Request.ID, p)
	taken(err, "a payment alone with the nonce of a batch")
	second := batchOf(w.id(), start, other)
	second.Nonce, second.ChainNonce, second.HasChainNonce = 5, 5, true
	_, err = w.service.Batch(ctx, second.Batch, second)
	taken(err, "another batch with the nonce")
	// An output of a transaction pays one request, whoever says so.
	second.Nonce, second.ChainNonce, second.Hash = 6, 6, e.Hash
	if _, err = w.service.Batch(ctx, second.Batch, second); !errors.Is(err, withdrawal.ErrPaymentTaken) {
		t.Errorf("the transaction of another batch, by the same output: %v", err)
	}
	// What is mined instead pays a member by an output that is another's: an
	// operator has the member, and the others are decided.
	p.Nonce, p.ChainNonce = 6, 6
	x := w.do(t, other.Request.ID, p, withdrawal.Broadcast{By: workerAt(start), Fence: p.Fence, Hash: p.Hash})
	gone := withdrawal.BatchMined{By: by(withdrawal.ConfirmationWorker, start), Tx: x.Job.TxHash, Nonce: 5, HasNonce: true, Looked: true,
		Block: withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 12}}
	for i := range b.Members {
		gone.Transfers = append(gone.Transfers, paysOf(b.Members)[i].Transfer)
	}
	if b, err = w.service.Batch(ctx, b.Batch.ID, gone); err != nil || b.Batch.Status != withdrawal.BatchFailed {
		t.Fatalf("%v, %v", err, b.Batch.Status)
	}
	for i := range b.Members {
		if j := &b.Members[i].Job; !j.Review || j.Batch != uuid.Nil {
			t.Errorf("member %d, paid by the transaction of another request: %v, review %v", i, j.Status, j.Review)
		}
	}
}

// batchInstead: members that own no nonce are paid, each by an output, by a
// transaction that is no version and has the nonce of the batch.
func batchInstead[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	e := batchOf(w.id(), start, w.behind(t, 3)...)
	b, err := w.service.Batch(ctx, e.Batch, e, withdrawal.BatchCannotTell{By: by(withdrawal.ConfirmationWorker, start), Other: "instead"})
	if err != nil {
		t.Fatal(err)
	}
	op := by(withdrawal.Operator, start)
	op.Version = b.Members[2].Job.Version
	w.do(t, b.Members[2].Request.ID, withdrawal.Resolved{By: op, Job: b.Members[2].Job.ID, Sent: true, Hash: "instead", Nonce: e.Nonce, HasNonce: true, Reason: "seen"})
	instead := withdrawal.BatchMined{By: by(withdrawal.ConfirmationWorker, start), Tx: "instead", Nonce: e.Nonce, HasNonce: true, Looked: true,
		Block: withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 12}}
	for _, p := range paysOf(b.Members) {
		instead.Transfers = append(instead.Transfers, p.Transfer)
	}
	if b, err = w.service.Batch(ctx, e.Batch, instead); err != nil {
		t.Fatal(err)
	}
	if m := b.Members; !m[0].Job.Review || !m[1].Job.Review || m[2].Request.FinalTxHash != "instead" {
		t.Errorf("the one that an operator named has it whole: %v, %v, %v", m[0].Job.Status, m[1].Job.Status, m[2].Job.Status)
	}
	e = batchOf(w.id(), start, w.behind(t, 3)...)
	if b, err = w.service.Batch(ctx, e.Batch, e); err != nil {
		t.Fatal(err)
	}
	instead.Tx = "another" // which pays two of three twins
	twins := instead
	twins.Transfers = twins.Transfers[1:]
	if b, err = w.service.Batch(ctx, e.Batch, twins); err != nil || b.Batch.Status != withdrawal.BatchFailed {
		t.Fatalf("%v: %v", err, b.Batch.Status)
	}
	for i := range b.Members[1:] { // an operator knows which
		m, pay := &b.Members[i+1], &twins.Transfers[i]
		got := w.do(t, m.Request.ID, withdrawal.PaidBy{By: by(withdrawal.Operator, start), Block: instead.Block, Tx: "another", Output: pay.Output, Payee: pay.Payee,
			AssetOnChain: pay.AssetOnChain, AmountRaw: pay.AmountRaw, Nonce: e.Nonce, HasNonce: true, Reason: "seen"})
		if got.Request.FinalTxHash != "another" {
			t.Errorf("out of its batch: %v", got.Job.Status)
		}
	}
	e = batchOf(w.id(), start, w.behind(t, 3)...)
	if _, err = w.service.Batch(ctx, e.Batch, e); err != nil {
		t.Fatal(err)
	}
	instead.Tx = "a third"
	if b, err = w.service.Batch(ctx, e.Batch, instead); err != nil || b.Members[0].Request.FinalTxHash != "a third" || b.Members[2].Request.FinalTxHash != "a third" {
		t.Fatalf("%v: %v, %v", err, b.Members[0].Job.Status, b.Members[2].Job.Status)
	}
}

// batchClaims: several workers claim groups at once.
func batchClaims[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	hot := withdrawal.HotWallet{ID: w.id(), Chain: w.id()}
	w.putWallet(t, hot)
	w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: hot.Chain})
	const jobs = 9
	for range jobs {
		w.pending(t, hot.Chain, start)
	}
	var mu sync.Mutex
	owner := map[uuid.UUID]int{}
	groups := 0
	atOnce(4, func(i int) error {
		source := w.service.BatchPayments(hot.Chain, fmt.Sprint("builder-", i), 4)
		items, _, err := source.Turn(ctx, nil, 3)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, item := range items {
			groups++
			for k, m := range item.Work.Members {
				if other, twice := owner[m.Job.ID]; twice {
					t.Errorf("job %v is claimed by %d and %d", m.Job.ID, other, i)
				}
				owner[m.Job.ID] = i
				if m.Job.Slot.Valid != (k == 0) || m.Job.Wallet != item.Work.Members[0].Job.Wallet || item.Key != m.Job.Wallet.String() {
					t.Errorf("member %d of wallet %v holds slot %v, key %s", k, m.Job.Wallet, m.Job.Slot, item.Key)
				}
			}
			if len(item.Work.Members) > 4 {
				t.Errorf("%d members", len(item.Work.Members))
			}
		}
		return nil
	})
	if groups != 2 || len(owner) < 2 || len(owner) > 8 {
		t.Fatalf("%d groups of %d jobs, of two wallets and 9 jobs by at most 4", groups, len(owner))
	}
	for name, size := range map[string]int{"none": 0, "too many": withdrawal.MaxMembers + 1} {
		if _, _, err := w.service.BatchPayments(hot.Chain, "b", size).Turn(ctx, nil, 1); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// batchHistories: workers, an operator and a chain, some of them late.
func batchHistories[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	service, err := store.NewWithdrawals(w.Store, withdrawaltest.BatchPolicy())
	if err != nil {
		t.Fatal(err)
	}
	for seed := range usual(2, 40) {
		fixedRandom(t, seed, func(rt *rapid.T) { withdrawaltest.RunBatches(rt, 40, service) })
	}
}

// batchWorkers: two builders, one of which crashes at times, pay 30 requests of
// one wallet; a confirmation worker shows what was sent.
func batchWorkers[T store.WithdrawalUnit](t *testing.T, w *withdrawals[T]) {
	hot := withdrawal.HotWallet{ID: w.id(), Chain: w.id()}
	w.putWallet(t, hot)
	const jobs = 30
	var requests []uuid.UUID
	for range jobs {
		requests = append(requests, w.pending(t, hot.Chain, time.Time{}).Request.ID)
	}
	builder := w.service.BatchPayments(hot.Chain, "builder", 7)
	lookups := w.service.BatchLookups(hot.Chain, "looker")
	sent := map[string]bool{}
	var built []store.BatchResult
	for round := range 40 {
		items, _, err := builder.Turn(ctx, built, 2)
		if err != nil {
			t.Fatal(err)
		}
		built = nil
		for _, item := range items {
			if item.Work.Members == nil {
				t.Fatal("what was sent is sent again")
			}
			if round%3 == 2 { // given back
				built = append(built, builder.Release(item.Work))
				continue
			}
			e := batchOf(w.id(), time.Time{}, item.Work.Members...)
			e.Actor = "builder"
			b, err := w.service.Batch(ctx, e.Batch, e)
			if err != nil {
				t.Fatal(err)
			}
			sent[b.Batch.TxHash] = true
			built = append(built, store.BatchResult{Batch: e.Batch, Events: []withdrawal.BatchEvent{withdrawal.BatchSent{By: workerAt(time.Time{}), Hash: e.Hash, Done: true}}})
		}
	}
	if _, _, err := builder.Turn(ctx, built, 0); err != nil {
		t.Fatal(err)
	}
	if items, _, err := lookups.Turn(ctx, nil, 10); err != nil || len(items) > 0 {
		t.Fatalf("%v: %d batches are looked up at once", err, len(items))
	}
	err := w.Update(ctx, func(tx T) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		due, err := tx.Withdrawals().DueBatches(store.DueBatches{Kind: withdrawal.DueBatchCheck, Chain: hot.Chain, Now: now.Add(time.Hour), Limit: 100})
		if len(due) != len(sent) {
			t.Errorf("%d batches are due, %d were sent", len(due), len(sent))
		}
		for i := range due {
			if _, err := w.service.Within(tx).Batch(ctx, due[i].Batch.ID, minedBatch(&due[i], time.Time{}, due[i].Batch.TxHash, 0)); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	paid := map[string]int{}
	for _, id := range requests {
		a := w.get(t, id)
		if a.Request.Status != withdrawal.RequestCompleted || !sent[a.Request.FinalTxHash] {
			t.Errorf("%v is %v by %q", id, a.Request.Status, a.Request.FinalTxHash)
		}
		paid[a.Request.FinalTxHash]++
	}
	if len(paid) != len(sent) || len(sent) > 6 {
		t.Errorf("%d transactions pay %d requests", len(sent), jobs)
	}
	if _, err := w.service.AuditBatches(ctx, uuid.Nil, 100); err != nil {
		t.Error(err)
	}
}

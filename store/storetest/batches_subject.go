package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

type (
	payoutService = service[uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent]
	payoutSubject = subject[store.BatchUnit, uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent, withdrawal.BatchChange]
	payoutStage   = stage[uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent]
)

// batchService is the service of batches, whose lines are in the feed of withdrawals.
type batchService struct {
	*store.Batches
	follows
}

type follows interface {
	Follow(context.Context, store.Cursor, int) ([]statemachine.Transition[uuid.UUID], store.Cursor, error)
	Head(context.Context) (store.Cursor, error)
}

// versionedPayouts says how to make batches, for the rules of any versioned
// record.
func versionedPayouts(t *testing.T, w *batches) *payoutSubject {
	size := 24
	// that make batches within a transaction
	for rule, members := range map[string]int{"while_others_write": usual(160, 400), "leaves_no_trace": 80, "ends_the_update": 40} {
		if strings.Contains(t.Name(), rule) {
			size = members
		}
	}
	pool := w.newPool(t, size)
	s := &payoutSubject{
		Store:   w.db,
		service: batchService{w.batches, w.service},
		within: func(tx store.BatchUnit) payoutService {
			return batchService{w.batches.Within(tx), w.service.Within(tx)}
		},
		records: func(tx store.BatchUnit) records[uuid.UUID, uuid.UUID, withdrawal.Payout, withdrawal.BatchChange] {
			return tx.Batches()
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
		speech: &speech[uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent]{store.DomainWithdrawals,
			withdrawal.BatchMachine.Name(), withdrawal.BatchEvents(),
			func(ev withdrawal.BatchEvent) uint8 { return uint8(withdrawal.BatchSpeakers(ev)) }, pool.lives()},
		outside: map[string]func(*withdrawal.Payout){
			"next check":  func(b *withdrawal.Payout) { b.Batch.NextCheckAt = b.Batch.NextCheckAt.Add(tick) },
			"rebroadcast": func(b *withdrawal.Payout) { b.Batch.Rebroadcast = !b.Batch.Rebroadcast },
			"holder":      func(b *withdrawal.Payout) { b.Batch.Lease.Holder += "x" },
			"fence":       func(b *withdrawal.Payout) { b.Batch.Lease.Fence-- },
		},
		lease: func(b *withdrawal.Payout) *statemachine.Lease { return &b.Batch.Lease },
		renew: func(tx store.BatchUnit, now time.Time, b *withdrawal.Payout, fence int64, until time.Time) (bool, error) {
			lost, err := tx.Batches().Renew(now, store.Lease[uuid.UUID]{ID: b.Batch.ID, Fence: fence, Until: until})
			return len(lost) > 0, err
		},
		revoke: func(ctx context.Context, of statemachine.Revocation) (int, error) {
			by := withdrawal.By{Actor: "op", Role: withdrawal.Operator}
			if n, err := w.service.Revoke(ctx, by, of); n > 0 || err != nil {
				pool.free = nil // they were given back too
				if err != nil {
					return 0, err
				}
			}
			return w.batches.Revoke(ctx, by, of)
		},
		also: func(t testing.TB, add func(withdrawal.Payout)) {
			for _, b := range w.owed(t, start) {
				add(b)
			}
		},
		lists: []list[store.BatchUnit, uuid.UUID, withdrawal.Payout]{{"IDs", func(tx store.BatchUnit, _ time.Time, after uuid.UUID,
			limit int) ([]uuid.UUID, error) {
			return tx.Batches().IDs(after, limit)
		}, func(*withdrawal.Payout, time.Time) bool { return true }, nil}},
		limits: map[string]func(int) error{
			"List":  func(n int) error { return errOf(w.batches.List(ctx, store.ListBatches{Limit: n})) },
			"Audit": func(n int) error { return errOf(w.batches.Audit(ctx, "", n)) },
		},
		overdue: &overdue[store.BatchUnit, withdrawal.Payout]{
			states: unfinished(withdrawal.BatchMachine),
			until:  func(*withdrawal.Payout) time.Duration { return withdrawal.DefaultThresholds().BatchWait },
			alerts: func(tx store.BatchUnit, now time.Time) ([]string, error) {
				names, err := waiting(tx, now)
				return slices.DeleteFunc(names, func(name string) bool { return name != "batch wait" }), err // jobs of others wait too
			},
		},
		sharedFeed: true,
		selfCheck:  func(ctx context.Context) error { return store.SelfCheckBatches(ctx, w.db) },
		draw: func(*rapid.T) history[uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent] {
			return history[uuid.UUID, withdrawal.Payout, withdrawal.BatchEvent]{} // the stages are all that there is
		},
		older:     func(b *withdrawal.Payout) { b.Batch.Version-- },
		sentinels: []error{withdrawal.ErrNonceTaken, withdrawal.ErrPaymentTaken, withdrawal.ErrInBatch},
	}
	for _, kind := range withdrawal.BatchDue(0).Values() {
		q := store.DueBatches{Kind: kind, Grace: grace}
		k := dueKind[store.BatchUnit, withdrawal.Payout]{
			name: kind.String(),
			find: func(tx store.BatchUnit, now time.Time, limit int) ([]withdrawal.Payout, error) {
				q := q
				q.Now, q.Limit = now, limit
				return tx.Batches().Due(q)
			},
			next: func(tx store.BatchUnit, now time.Time) (time.Time, error) {
				q := q
				q.Now = now
				return tx.Batches().NextDue(q)
			},
			ahead: func(tx store.BatchUnit, later time.Time, limit int) ([]withdrawal.Payout, error) {
				q := q
				q.Now, q.Ahead, q.Limit = start, later, limit
				return tx.Batches().Due(q)
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

// batch sends events to a batch.
func (w *batches) batch(t testing.TB, id uuid.UUID, events ...withdrawal.BatchEvent) withdrawal.Payout {
	t.Helper()
	return must(w.batches.Do(ctx, id, events...))(t)
}

// pool is claimed jobs for batches, since a batch is also made within a
// transaction, in which no other can make them.
type pool struct {
	mu   sync.Mutex
	as   map[uuid.UUID]withdrawal.Withdrawal
	free []withdrawal.Withdrawal
	fill func(n int)
}

func (w *batches) newPool(t testing.TB, size int) *pool {
	p := &pool{as: map[uuid.UUID]withdrawal.Withdrawal{}}
	p.fill = func(n int) {
		commands, ids := make([]store.WithdrawalCommand, n), make([]uuid.UUID, n)
		for i := range commands {
			ids[i] = w.id()
			commands[i] = store.WithdrawalCommand{Request: ids[i], Events: []withdrawal.Event{submission(ids[i], utxos, start),
				withdrawal.Approved{By: by(withdrawal.Approver, start)},
				w.enqueued(start, withdrawal.Normal), withdrawal.Claimed{By: workerAt(start)}}}
		}
		_, err1 := w.service.DoAll(ctx, commands...)
		made, err2 := read(w.db, func(tx store.BatchUnit) ([]withdrawal.Withdrawal, error) { return tx.Withdrawals().Get(ids...) })
		if err := errors.Join(err1, err2); err != nil { // of any goroutine
			t.Error(err)
		}
		for _, a := range made {
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
			p.fill(24) // not within a transaction
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
		{name: "a batch on file", events: made, touch: touch, rivals: func(b *withdrawal.Payout, i int) withdrawal.BatchEvent {
			return replacedBatch(b, start, fmt.Sprint("replacement ", i), i%2)
		}},
		{name: "a batch that was sent", touch: touch,
			events: func(id uuid.UUID) []withdrawal.BatchEvent {
				all := made(id)
				return append(all, withdrawal.BatchSent{By: workerAt(start.Add(time.Minute)), Fence: 1,
					Hash: all[0].(withdrawal.BatchPrepared).Hash, Done: true})
			},
			claim: func(b *withdrawal.Payout) withdrawal.BatchEvent {
				return withdrawal.BatchClaimed{By: workerAt(start.Add(time.Minute))}
			},
			rivals: mined},
	}
}

// batchOf pays claimed jobs by one transaction, by their order.
func batchOf(id uuid.UUID, at time.Time, members ...withdrawal.Withdrawal) withdrawal.BatchPrepared {
	e := withdrawal.BatchPrepared{By: workerAt(at), Batch: id, Hash: "batch " + id.String(), Raw: []byte{4, 0, 255}}
	e.Pays = paysOf(members)
	if m := &members[0]; m.Job.Slot.Valid {
		e.Nonce, e.HasNonce, e.ChainNonce, e.HasChainNonce = m.Wallet.NextNonce, true, m.Wallet.NextNonce, true
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
	return withdrawal.BatchReplaced{By: who, Fence: b.Batch.Lease.Fence, Hash: hash + " of " + b.Batch.ID.String(), Raw: []byte{1},
		Pays: paysOf(b.Members)[member : member+1]}
}

// minedBatch shows what a version pays to those that have it on file, from the
// n-th member on.
func minedBatch(b *withdrawal.Payout, at time.Time, hash string, from int) withdrawal.BatchMined {
	e := withdrawal.BatchMined{By: by(withdrawal.ConfirmationWorker, at), Tx: hash, GasUsed: "90000", GasPrice: "5",
		Block: withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 12}}
	for i := from; i < len(b.Members); i++ {
		m := &b.Members[i]
		if output, ok := b.Pays(hash, m); ok {
			e.Transfers = append(e.Transfers, withdrawal.Transfer{Output: output, Payee: m.Request.ToAddress, AssetOnChain: m.Job.AssetOnChain,
				AmountRaw: m.Request.AmountRaw})
		}
	}
	return e
}

// insteadOf is another transaction with the nonce of a batch, which pays its members.
func insteadOf(b *withdrawal.Payout, hash string) withdrawal.BatchMined {
	e := withdrawal.BatchMined{By: by(withdrawal.ConfirmationWorker, start), Tx: hash, Nonce: b.Batch.Nonce, HasNonce: true, Looked: true,
		Block: withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 12}}
	for _, p := range paysOf(b.Members) {
		e.Transfers = append(e.Transfers, p.Transfer)
	}
	return e
}

// owed makes three batches of one wallet, and one of another, that are owed a
// broadcast: the higher the nonce, the longer.
func (w *batches) owed(t testing.TB, at time.Time) (all []withdrawal.Payout) {
	t.Helper()
	for _, of := range []int{3, 1} {
		chain := w.payingChain(t)
		for i := range of {
			e := batchOf(w.id(), at, w.behindOf(t, chain, 2)...)
			b := w.batch(t, e.Batch, e, withdrawal.BatchMissing{By: by(withdrawal.ConfirmationWorker, at.Add(time.Duration(of-i)*time.Minute))})
			all = append(all, b)
		}
	}
	return all
}

// behind claims n jobs of a wallet of its own, the others behind the first one.
func (w *batches) behind(t testing.TB, n int) []withdrawal.Withdrawal {
	t.Helper()
	chain := w.payingChain(t)
	return w.behindOf(t, chain, n)
}

func (w *batches) behindOf(t testing.TB, chain uuid.UUID, n int) (members []withdrawal.Withdrawal) {
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

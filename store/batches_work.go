package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
)

// BatchWork is work on many requests at once: Members that were claimed together,
// to be paid by one transaction; or a batch under way. One of the two is empty.
type BatchWork struct {
	Members []withdrawal.Withdrawal // of one wallet; on a chain with nonces the first holds its slot
	Payout  withdrawal.Payout       // to be sent again, replaced, or looked up
}

// BatchResult is what became of it: events of the batch, and of members that were
// not paid, such as [withdrawal.GivenBack] and [withdrawal.AttemptFailed].
type BatchResult struct {
	Batch   uuid.UUID
	Events  []withdrawal.BatchEvent
	Members []HeldWithdrawal
}

// BatchSource is work on batches for [worker.Run].
type BatchSource interface {
	worker.Source[BatchWork, BatchResult]
}

// Payments is the work of a withdrawal worker that pays up to size requests of one chain by one transaction, 1 to
// [withdrawal.MaxMembers]. It runs beside [Withdrawals.Payments]: only Withdrawals.Payments sends again what was paid
// alone, as after a crash. In the same way only [Withdrawals.Lookups], beside [Batches.Lookups], looks up a member that
// has left its batch. Half of a claim goes to batches that are owed a broadcast or a replacement; claims of one item
// alternate. Withdrawals.Payments begins payments too. Where only batches are to begin, take it from a second service
// on the same store whose policy has the chain Paused: that service sends again, and begins nothing.
//
// The handler of members signs one transaction for them and stores it with [Batches.Do] ([withdrawal.BatchPrepared])
// before it sends anything, then returns [withdrawal.BatchSent], under the lease that the batch then has. A batch with
// members that [withdrawal.Payout.Unwanted] names is not sent again: the handler signs a version without them, stores
// it with [withdrawal.BatchReplaced] and sends this version, or returns nothing and is asked again when the lease has
// ended. A worker that has claimed a batch owes this although [withdrawal.Policy.NextBatch] does not say so, since
// NextBatch names it only while nobody has the claim.
//
// A member that the handler cannot pay it leaves out, and returns GivenBack or AttemptFailed for it. If BatchPrepared
// is refused, the handler sends nothing, and makes another transaction for the members that are left, provided that the
// first one is among them. A member with [withdrawal.MaxTxs] transactions on file makes BatchPrepared refuse all
// members: it goes alone, or to an operator. A member that the handler does not mention waits for the end of its lease.
// The item is lost once none of its members is leased or signed any more.
//
// Leases belong to name. [Withdrawals.Payments] may have the same name if it is of the service that
// [Batches.Withdrawals] returns. The key of members is the wallet on a chain with nonces, else the first job; the key
// of a batch that is to be sent again is the batch.
func (s *Batches) Payments(chain uuid.UUID, name string, size int) BatchSource {
	return &batchPayments{batchResults{s}, s.runs.holds(name, chain.String()), s.members.payments(chain, name), size}
}

// batchResults stores what workers found out about batches.
type batchResults struct{ *Batches }

// store saves the results before anything new is claimed. A result that was saved already changes nothing. A member
// whose event is refused, such as one whose lease has ended, is named in err, and the others are saved all the same.
func (r batchResults) store(ctx context.Context, done []BatchResult) error {
	var members []HeldWithdrawal
	var batches, refused []error
	var commands []withdrawalCommand // what members have taken
	for _, d := range done {
		members = append(members, d.Members...)
		if len(d.Events) > 0 {
			_, err := r.Do(ctx, d.Batch, d.Events...)
			if no := new(statemachine.Refusal); err != nil && !errors.As(err, &no) {
				return err
			}
			batches = append(batches, err) // its members are saved all the same
		}
	}
	if len(members) == 0 {
		return errors.Join(batches...)
	}
	var stored []withdrawal.Withdrawal
	err := r.members.update(ctx, func(tx WithdrawalUnit) error {
		refused, commands = nil, make([]withdrawalCommand, len(members))
		b, err := r.members.batch(tx)
		if err != nil {
			return err
		}
		ids := mapped(members, func(h *HeldWithdrawal) uuid.UUID { return h.Withdrawal.Request.ID })
		if stored, err = tx.Withdrawals().Get(ids...); err != nil {
			return err
		}
		for i := range stored {
			for _, ev := range members[i].Events {
				refusal, err := b.try(&stored[i], ids[i], ev)
				if err != nil {
					return err
				}
				if refused = append(refused, refusal); refusal == nil {
					commands[i].events = append(commands[i].events, ev)
				}
			}
		}
		return b.save()
	})
	r.members.signed(ctx, commands, stored, err)
	return cmp.Or(err, errors.Join(append(batches, refused...)...))
}

// claim claims, or puts off, what is due of batches.
func (r batchResults) claim(b *payoutBatch, q DueBatches, ev withdrawal.BatchEvent,
	lease time.Duration) ([]worker.Item[BatchWork], time.Duration, error) {
	q.Now = b.now
	return claim(b, claims[withdrawal.Payout, withdrawal.BatchEvent, BatchWork]{
		due: func() ([]withdrawal.Payout, error) {
			return dueAndAhead(func(ahead time.Time, limit int) ([]withdrawal.Payout, error) {
				q := q
				q.Ahead, q.Limit = ahead, limit
				return b.tx.Batches().Due(q)
			}, q.Now.Add(r.policy.LongestOfBatch(q.Kind)+q.Grace), q.Limit)
		},
		next:  func() (time.Time, error) { return b.tx.Batches().NextDue(q) },
		claim: ev, lease: lease, most: r.policy.Lease, saved: true,
		item: func(p *withdrawal.Payout, _ time.Time) (string, BatchWork) {
			return p.Batch.ID.String(), BatchWork{Payout: *p}
		},
	}, q.Limit)
}

type batchPayments struct {
	batchResults
	holder // of batches
	one    *payments
	size   int
}

func (p *batchPayments) Turn(ctx context.Context, done []BatchResult, n int) (all []worker.Item[BatchWork], next time.Time, err error) {
	if err := p.Check(); err != nil {
		return nil, next, err
	}
	if err := p.sized(); err != nil {
		return nil, next, err
	}
	p.one.begin()
	if err := p.store(ctx, done); err != nil || n == 0 {
		return nil, next, err
	}
	for range 3 { // another worker may take a wallet between the look at its slot and the claim
		all, next, err = items(ctx, &p.payoutCore, p.holder, nil, n, func(b *payoutBatch) ([]worker.Item[BatchWork], time.Duration,
			error) {
			return p.both(b, n)
		})
		if !errors.Is(err, withdrawal.ErrSlotTaken) {
			break
		}
	}
	if n == 1 && len(all) == 1 {
		p.one.again.Store(all[0].Work.Members == nil)
	}
	return all, next, err
}

func (p *batchPayments) sized() error {
	if p.one.chain == uuid.Nil || p.size < 1 || p.size > withdrawal.MaxMembers {
		return fmt.Errorf("%w: batches are of one chain, of 1 to %d requests", statemachine.ErrInvalid, withdrawal.MaxMembers)
	}
	return nil
}

// both claims batches that are owed a broadcast, and groups of requests.
func (p *batchPayments) both(b *payoutBatch, n int) (all []worker.Item[BatchWork], wait time.Duration, err error) {
	wait = p.policy.Lease
	resend := func(limit int) (err error) {
		q := DueBatches{Kind: withdrawal.DueBatchSend, Chain: p.one.chain, Limit: limit}
		items, until, err := p.claim(b, q, withdrawal.BatchClaimed{By: p.one.by()}, p.policy.Lease)
		all, wait = append(all, items...), min(wait, until)
		return err
	}
	share := withdrawal.RebroadcastShare(n, p.one.again.Load())
	if !p.policy.Begins(p.one.chain) { // what is out goes on
		share = n
	}
	if share > 0 {
		err = resend(share)
	}
	if err != nil || len(all) == n || !p.policy.Begins(p.one.chain) {
		return all, wait, err
	}
	groups, until, err := p.build(b.tx, n-len(all))
	all, wait = append(all, groups...), min(wait, until)
	if err == nil && len(all) == 0 && share == 0 {
		err = resend(1)
	}
	return all, wait, err
}

// build claims groups of requests.
func (p *batchPayments) build(tx WithdrawalUnit, limit int) (all []worker.Item[BatchWork], wait time.Duration, err error) {
	b, err := p.members.batch(tx)
	if err != nil {
		return nil, 0, err
	}
	q := DueWithdrawals{Kind: withdrawal.DueClaim, Chain: p.one.chain, Now: b.now, Sequential: p.one.nonces, Limit: limit}
	leads, err := p.members.due(tx, q)
	if err != nil {
		return nil, 0, err
	}
	claimed := map[uuid.UUID]bool{}
	for i := range leads {
		if claimed[leads[i].Request.ID] {
			continue
		}
		members, err := p.take(b, nil, &leads[i], claimed)
		if err != nil {
			return nil, 0, err
		}
		if len(members) == 0 {
			continue
		}
		if p.size > 1 {
			if err := b.save(); err != nil { // what is claimed is due no more
				return nil, 0, err
			}
			rest, err := p.members.due(tx, DueWithdrawals{Kind: withdrawal.DueClaim, Chain: p.one.chain, Now: b.now,
				Wallet: members[0].Job.Wallet, Limit: p.size - 1})
			if err != nil {
				return nil, 0, err
			}
			for k := range rest {
				if members, err = p.take(b, members, &rest[k], claimed); err != nil {
					return nil, 0, err
				}
			}
		}
		all = append(all, worker.Item[BatchWork]{Key: p.one.key(&members[0].Job), Until: b.began.Add(p.policy.Lease),
			Work: BatchWork{Members: members}})
	}
	if err := b.save(); err != nil {
		return nil, 0, err
	}
	wait, err = p.members.untilDue(tx, q, len(leads))
	return all, wait, err
}

// take claims one more for members, behind the first one. What is refused is put
// off.
func (p *batchPayments) take(b *withdrawalBatch, members []withdrawal.Withdrawal, w *withdrawal.Withdrawal,
	claimed map[uuid.UUID]bool) ([]withdrawal.Withdrawal, error) {
	refused, err := b.try(w, w.Request.ID, withdrawal.Claimed{By: p.one.by(), Behind: len(members) > 0})
	if err != nil {
		return members, err
	}
	if refused != nil {
		return members, p.members.putOff(b, w)
	}
	claimed[w.Request.ID] = true
	return append(members, *w), nil
}

// ShortestLease implements [worker.Source].
func (p *batchPayments) ShortestLease() time.Duration { return p.policy.Lease }

func (p *batchPayments) Renew(ctx context.Context, items []worker.Item[BatchWork]) error {
	began := time.Now()
	gone := map[string]bool{}
	err := p.update(ctx, func(tx BatchUnit) error {
		clear(gone)
		now, err := tx.Now()
		if err != nil {
			return err
		}
		if err := p.renewMembers(tx, now, items, gone); err != nil {
			return err
		}
		var leases []Lease[uuid.UUID]
		for i := range items {
			if b := &items[i].Work.Payout.Batch; b.ID != uuid.Nil {
				leases = append(leases, Lease[uuid.UUID]{ID: b.ID, Fence: b.Lease.Fence, Until: now.Add(p.policy.Lease)})
			}
		}
		if len(leases) == 0 {
			return nil
		}
		lost, err := tx.Batches().Renew(now, leases...)
		for _, batch := range lost {
			gone[batch.String()] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	return renewed(items, began.Add(p.policy.Lease), func(i *worker.Item[BatchWork]) bool { return gone[i.Key] })
}

// renewMembers renews the leases of members. An item of which no member is leased
// any more, nor signed under the lease that it had, is lost.
func (p *batchPayments) renewMembers(tx WithdrawalUnit, now time.Time, items []worker.Item[BatchWork], gone map[string]bool) error {
	var leases []Lease[uuid.UUID]
	var requests []uuid.UUID
	for i := range items {
		for _, w := range items[i].Work.Members {
			leases = append(leases, Lease[uuid.UUID]{ID: w.Job.ID, Fence: w.Job.Lease.Fence, Until: now.Add(p.policy.Lease)})
			requests = append(requests, w.Request.ID)
			gone[items[i].Key] = true
		}
	}
	if len(leases) == 0 {
		return nil
	}
	lost, err := tx.Withdrawals().Renew(now, leases...)
	if err != nil {
		return err
	}
	stored, err := tx.Withdrawals().Get(requests...)
	if err != nil {
		return err
	}
	for i := range items {
		for range items[i].Work.Members {
			j, l := &stored[0].Job, leases[0]
			if signed := j.ID == l.ID && j.Lease.Fence == l.Fence && j.Batch != uuid.Nil; signed || !slices.Contains(lost, l.ID) {
				delete(gone, items[i].Key)
			}
			stored, leases = stored[1:], leases[1:]
		}
	}
	return nil
}

// Revoke implements [worker.Revoking].
func (p *batchPayments) Revoke(ctx context.Context) error {
	batches := p.end(func() (int, error) {
		return p.revokeOf(ctx, p.one.chain, p.one.by(), statemachine.Revocation{Holder: p.name})
	})
	return errors.Join(batches, p.one.Revoke(ctx))
}

func (p *batchPayments) Release(w BatchWork) (r BatchResult) {
	for _, m := range w.Members {
		r.Members = append(r.Members, p.one.Release(m))
	}
	return p.notSent(w, r)
}

// notSent gives the lease of a batch back: it is sent when a look-up misses it again.
func (p *batchPayments) notSent(w BatchWork, r BatchResult) BatchResult {
	if b := &w.Payout.Batch; b.ID != uuid.Nil {
		r.Batch, r.Events = b.ID, []withdrawal.BatchEvent{withdrawal.BatchSent{By: p.one.by(), Fence: b.Lease.Fence, Hash: b.TxHash}}
	}
	return r
}

func (p *batchPayments) Panicked(w BatchWork, value any) (r BatchResult) {
	for _, m := range w.Members {
		r.Members = append(r.Members, p.one.Panicked(m, value))
	}
	return p.notSent(w, r)
}

// Lookups is the work of a confirmation worker on the batches of one chain, or of every chain for the zero id, as
// [Withdrawals.Lookups] is on requests.
//
// The handler looks all versions up. It returns [withdrawal.BatchMined] of the version that is in a block, with all
// outputs or transfers that its receipt shows, or of another transaction that has the nonce or input;
// [withdrawal.BatchCannotTell]; or [withdrawal.BatchMissing]. The key is the batch.
func (s *Batches) Lookups(chain uuid.UUID, name string) BatchSource {
	return &batchLookups{batchResults{s}, lookups{s.members, holder{name: name}, chain}}
}

type batchLookups struct {
	batchResults
	one lookups
}

func (l *batchLookups) Turn(ctx context.Context, done []BatchResult, n int) (all []worker.Item[BatchWork], next time.Time, err error) {
	if err := l.Check(); err != nil {
		return nil, next, err
	}
	if err := l.store(ctx, done); err != nil || n == 0 {
		return nil, next, err
	}
	return items(ctx, &l.payoutCore, l.one.holder, nil, n, func(b *payoutBatch) ([]worker.Item[BatchWork], time.Duration, error) {
		q := DueBatches{Kind: withdrawal.DueBatchCheck, Chain: l.one.chain, Limit: n, Grace: l.policy.CheckEvery}
		return l.claim(b, q, withdrawal.BatchLooking{By: l.one.by()}, l.policy.CheckEvery)
	})
}

// Check implements [worker.Checked].
func (l *batchLookups) Check() error { return l.one.Check() }

// ShortestLease implements [worker.Source].
func (l *batchLookups) ShortestLease() time.Duration { return l.policy.CheckEvery }

// Renew puts the next check off once more. A batch that confirms no longer is lost.
func (l *batchLookups) Renew(ctx context.Context, items []worker.Item[BatchWork]) error {
	return extend(ctx, &l.payoutCore, items, l.policy.CheckEvery, func(w *BatchWork) *withdrawal.Payout { return &w.Payout },
		withdrawal.BatchEvent(withdrawal.BatchLooking{By: l.one.by()}),
		func(_, is *withdrawal.Payout) bool { return is.Batch.Status == withdrawal.BatchConfirming })
}

// Release lets it be done when the next check is due again.
func (l *batchLookups) Release(BatchWork) BatchResult { return BatchResult{} }

// Panicked does what Release does: nothing was learnt.
func (l *batchLookups) Panicked(BatchWork, any) BatchResult { return BatchResult{} }

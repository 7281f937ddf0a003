package memory

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// keyBatch is that of batches under way: chain next_check_at; keyBatchID of all.
const (
	keyBatch   = "b"
	keyBatchID = "i"
)

func batchKeys(b *withdrawal.Batch) []string {
	keys := []string{keyBatchID + idKey(b.ID)}
	if b.Status == withdrawal.BatchConfirming {
		keys = append(keys, keyBatch+idKey(b.Chain)+timeKey(b.NextCheckAt)+idKey(b.ID))
	}
	return keys
}

// Batches implements [store.BatchUnit].
func (t *tx) Batches() store.BatchRecords { return batches{withdrawals{t.store.withdrawals, t}} }

// batches are the tables of withdrawals as records of batches.
type batches struct{ withdrawals }

// Get implements [store.BatchRecords].
func (w batches) Get(ids ...uuid.UUID) ([]withdrawal.Payout, error) {
	return inOrderOf(ids, w.payout)
}

func (w withdrawals) payout(id uuid.UUID) (p withdrawal.Payout) {
	b := w.batches.at[id]
	if b == nil {
		return p
	}
	p.Batch, p.Txs = *b, slices.Clone(w.batchTxs[id])
	for i := range p.Txs {
		p.Txs[i].Raw = bytes.Clone(p.Txs[i].Raw)
	}
	for _, request := range w.membersOf[id] {
		p.Members = append(p.Members, w.aggregate(request))
	}
	return p
}

// addMember keeps that a request has a transaction of a batch on file.
func (w withdrawals) addMember(batch, request uuid.UUID) {
	all := w.membersOf[batch]
	i, known := slices.BinarySearchFunc(all, request, compareIDs)
	if !known {
		set(w.tx, w.membersOf, batch, slices.Insert(slices.Clone(all), i, request))
	}
}

// Save implements [store.BatchRecords].
func (w batches) Save(changes ...withdrawal.BatchChange) error {
	if err := w.tx.writes(); err != nil {
		return err
	}
	var members []withdrawal.Change
	for i := range changes {
		if err := w.saveBatch(&changes[i]); err != nil {
			return w.tx.fail(err)
		}
		members = append(members, changes[i].Members...)
	}
	return w.withdrawals.Save(members...)
}

func (w withdrawals) saveBatch(c *withdrawal.BatchChange) error {
	if err := c.Complete(); err != nil {
		return err
	}
	old, now := &c.Old.Batch, c.New.Batch
	stored := w.batches.at[now.ID]
	if old.Version > 0 && stored != nil && stored.Version == old.Version {
		if err := sameLease(withdrawal.BatchMachine.Name(), now.ID, stored.Lease, old.Lease, &now.Lease); err != nil {
			return err
		}
		if !stored.NextCheckAt.Equal(old.NextCheckAt) || stored.Rebroadcast != old.Rebroadcast {
			return conflict(withdrawal.BatchMachine.Name(), now.ID, "its next check was moved")
		}
	}
	if c.Touch() || old.Version != now.Version {
		if err := w.batches.save(w.tx, old.Version, &now); err != nil {
			return err
		}
	}
	for _, t := range c.Txs {
		all := w.batchTxs[t.Batch]
		if int(t.Seq) != len(all)+1 {
			return conflict(withdrawal.BatchMachine.Name(), t.Batch, "version %d is on file, or the one before is not", t.Seq)
		}
		set(w.tx, w.batchTxs, t.Batch, append(all[:len(all):len(all)], t))
	}
	if old.Version == 0 && now.HasNonce {
		if err := w.takeNonce(now.Wallet, now.Nonce, nonceOwner{job: now.Owner}); err != nil {
			return err
		}
	}
	return w.add(w.tx, c.Log)
}

// Due implements [store.BatchRecords].
func (w batches) Due(q store.DueBatches) (found []withdrawal.Payout, err error) {
	if err := w.tx.writes(); err != nil {
		return nil, err // it locks
	}
	if !q.Kind.Valid() {
		return nil, fmt.Errorf("%w: due batches of kind %v", statemachine.ErrInvalid, q.Kind)
	}
	var due []withdrawal.Batch
	w.confirmingBatches(q.Chain, func(b *withdrawal.Batch) {
		if at, ok := withdrawal.BatchDueAt(q.Kind, b, q.Grace); ok && asked(at, q.Now, q.Ahead) && w.offers(q.Kind, b) {
			due = append(due, *b)
		}
	})
	if q.Kind == withdrawal.DueBatchSend {
		lowest := map[uuid.UUID]withdrawal.Batch{}
		for _, b := range due {
			if low, is := lowest[b.Wallet]; !is || withdrawal.LowerBatch(&b, &low) {
				lowest[b.Wallet] = b
			}
		}
		due = slices.DeleteFunc(due, func(b withdrawal.Batch) bool {
			low := lowest[b.Wallet]
			return withdrawal.LowerBatch(&low, &b)
		})
	}
	if due, err = firstOf(due, q.Limit, func(a, b withdrawal.Batch) int { return withdrawal.CompareDueBatches(&a, &b) }); err != nil {
		return nil, err
	}
	return inOrderOf(due, func(b withdrawal.Batch) withdrawal.Payout { return w.payout(b.ID) })
}

// NextDue implements [store.BatchRecords].
func (w batches) NextDue(q store.DueBatches) (next time.Time, err error) {
	w.confirmingBatches(q.Chain, func(b *withdrawal.Batch) {
		if at, ok := withdrawal.BatchDueAt(q.Kind, b, q.Grace); ok && at.After(q.Now) && w.offers(q.Kind, b) &&
			(next.IsZero() || at.Before(next)) {
			next = at
		}
	})
	return next, nil
}

// offers reports whether the switch of a batch's chain offers what is due of a kind.
func (w withdrawals) offers(kind withdrawal.BatchDue, b *withdrawal.Batch) bool {
	return withdrawal.BatchDueIn(kind, w.tx.store.switches.state(switches.Chain(b.Chain)))
}

func (w withdrawals) confirmingBatches(chain uuid.UUID, visit func(*withdrawal.Batch)) {
	prefix := keyBatch
	if chain != uuid.Nil {
		prefix += idKey(chain)
	}
	w.batches.scan(prefix, prefix, func(_ string, b *withdrawal.Batch) bool { visit(b); return true })
}

// Renew implements [store.BatchRecords].
func (w batches) Renew(now time.Time, leases ...store.Lease[uuid.UUID]) ([]uuid.UUID, error) {
	return renewAll(w.tx, w.batches, now, leases, func(b *withdrawal.Batch) *statemachine.Lease { return &b.Lease })
}

// List implements [store.BatchRecords]. It reads everything.
func (w batches) List(q store.ListBatches) ([]withdrawal.Payout, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	order := withdrawal.CompareListedBatches
	if q.Backwards {
		order = func(a, b *withdrawal.Batch) int { return withdrawal.CompareListedBatches(b, a) }
	}
	var page []withdrawal.Payout
	for id, b := range w.batches.at {
		if p := w.payout(id); (q.After == nil || order(b, q.After) > 0) && q.HasBatch(&p, q.Now) {
			page = append(page, p)
		}
	}
	return firstOf(page, q.Limit, func(a, b withdrawal.Payout) int { return order(&a.Batch, &b.Batch) })
}

// ByHash implements [store.BatchRecords].
func (w batches) ByHash(hash string) (found []uuid.UUID, err error) {
	for id, txs := range w.batchTxs {
		if slices.ContainsFunc(txs, func(t withdrawal.BatchTx) bool { return statemachine.SameHash(t.Hash, hash) }) {
			found = append(found, id)
		}
	}
	return firstOf(found, store.MaxPage, compareIDs)
}

// IDs implements [store.BatchRecords].
func (w batches) IDs(after uuid.UUID, limit int) (page []uuid.UUID, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	w.batches.scan(keyBatchID, keyBatchID+idKey(after)+"\x00", func(_ string, b *withdrawal.Batch) bool {
		page = append(page, b.ID)
		return len(page) < limit
	})
	return page, nil
}

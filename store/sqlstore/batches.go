package sqlstore

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

var (
	selectBatches = statement{once: true, each: "id uuid", text: "SELECT " + batchTable.columns("x.") +
		" FROM @withdrawal_batches x WHERE x.id = r.id"}
	// Versions are never changed, so those that the batch counts are what it had
	// at the moment when it was read.
	selectVersions = statement{once: true, each: "id uuid, on_file int", text: "SELECT " + batchTxTable.columns("t.") +
		" FROM @withdrawal_batch_txs t WHERE t.batch_id = r.id AND t.seq <= r.on_file"}
	selectMembers = statement{once: true, each: "id uuid",
		text: "SELECT DISTINCT t.batch_id, t.withdrawal_request_id FROM @withdrawal_txs t WHERE t.batch_id = r.id"}
	batchIDs = statement{text: "SELECT x.id FROM @withdrawal_batches x WHERE x.id > $1 ORDER BY x.id LIMIT $2"}
)

// batches are the tables of withdrawals as records of batches, which commit with their members.
type batches struct{ withdrawals }

// Batches implements [store.BatchUnit].
func (t *tx) Batches() store.BatchRecords {
	if none, lacks := t.lacks(store.DomainWithdrawals); lacks {
		return store.UnimplementedBatches{Unimplemented: none}
	}
	return batches{t.withdrawals()}
}

// Get implements [store.BatchRecords].
func (w batches) Get(ids ...uuid.UUID) ([]withdrawal.Payout, error) {
	all := make([]withdrawal.Payout, len(ids))
	set, versions := new(batch), new(batch)
	for _, id := range ids {
		set.add(id)
	}
	stored := map[uuid.UUID]*withdrawal.Payout{}
	err := batchTable.read(w.tx, &selectBatches, set, func(b *withdrawal.Batch) {
		stored[b.ID] = &withdrawal.Payout{Batch: *b}
		versions.add(b.ID, b.TxsOnFile)
	})
	if err != nil || len(stored) == 0 {
		return all, err
	}
	err = batchTxTable.read(w.tx, &selectVersions, versions, func(t *withdrawal.BatchTx) {
		stored[t.Batch].Txs = append(stored[t.Batch].Txs, *t)
	})
	if err != nil {
		return nil, err
	}
	if err := w.loadMembers(set, stored); err != nil {
		return nil, err
	}
	for _, p := range stored {
		slices.SortFunc(p.Txs, func(a, b withdrawal.BatchTx) int { return int(a.Seq - b.Seq) })
	}
	for i, id := range ids {
		if p := stored[id]; p != nil {
			all[i] = *p
		}
	}
	return all, nil
}

// loadMembers adds the requests that have a transaction of a batch on file.
func (w withdrawals) loadMembers(set *batch, stored map[uuid.UUID]*withdrawal.Payout) error {
	var requests, of []uuid.UUID
	var batch, request uuid.UUID
	err := w.read(&selectMembers, set, func(rows *sql.Rows) error {
		err := rows.Scan(&batch, &request)
		of, requests = append(of, batch), append(requests, request)
		return err
	})
	if err != nil {
		return err
	}
	members, err := w.Get(requests...)
	if err != nil {
		return err
	}
	for i := range members {
		p := stored[of[i]]
		p.Members = append(p.Members, members[i])
	}
	for _, p := range stored {
		slices.SortFunc(p.Members, func(a, b withdrawal.Withdrawal) int { return withdrawal.CompareMembers(&a, &b) })
	}
	return nil
}

// Save implements [store.BatchRecords].
func (w batches) Save(changes ...withdrawal.BatchChange) error {
	var members []withdrawal.Change
	for i := range changes {
		members = append(members, changes[i].Members...)
	}
	return w.saveAll(withdrawal.BatchMachine.Name(), changes, members)
}

// addBatch sorts the change of a batch into its rows. Its nonce is its owner's.
func (s *changeset) addBatch(c *withdrawal.BatchChange) {
	o, n := &c.Old.Batch, &c.New.Batch
	if n.Version != o.Version || c.Touch() {
		s.batches.add(o, n)
	}
	if o.Version == 0 && n.HasNonce {
		s.nonces.add(n.Wallet, int64(n.Nonce), n.Owner)
	}
	for i := range c.Txs {
		batchTxTable.insertRow(&s.versions, &c.Txs[i])
	}
	s.log = append(s.log, c.Log...)
}

const owedBatch = "x.rebroadcast"

// Of a wallet with nonces the lowest that is due.
var lowestBatch = "x.status = 'confirming' AND " + owedBatch + " AND " + sendAgainAt("x") +
	" <= {now} AND NOT EXISTS (SELECT 1 FROM @withdrawal_batches l " +
	"WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND l.nonce < " +
	"x.nonce AND " + sendAgainAt("l") + " <= {now})"

// dueBatches are the kinds of [withdrawal.BatchDue].
var dueBatches = map[withdrawal.BatchDue]*dueWork{
	withdrawal.DueBatchSend: newDue(due{from: "@withdrawal_batches x", owner: "x.id",
		where: "x.status = 'confirming' AND " + owedBatch, at: sendAgainAt("x"),
		first: lowestBatch, firstFrom: "@withdrawal_batches x", order: "x.next_check_at, x.id", filters: []string{"x.chain_id"},
		off: stoppedAt(scopeOfChain, switches.Send)}),
	withdrawal.DueBatchCheck: newDue(due{from: "@withdrawal_batches x", owner: "x.id", where: "x.status = 'confirming'",
		at: "x.next_check_at", later: owedBatch,
		order: "x.next_check_at, x.id", filters: []string{"x.chain_id"}}),
}

// Due implements [store.BatchRecords].
func (w batches) Due(q store.DueBatches) ([]withdrawal.Payout, error) {
	found, _, err := dueOf(w.tx, withdrawal.BatchMachine.Name(), dueBatches[q.Kind], q.Now, q.Ahead, q.Grace,
		q.Limit, w.Get, given(q.Chain)...)
	return found, err
}

// NextDue implements [store.BatchRecords].
func (w batches) NextDue(q store.DueBatches) (time.Time, error) {
	return dueBatches[q.Kind].nextDue(w.tx, q.Now, q.Grace, given(q.Chain)...)
}

var batchLeases = leaseTable(batchTable)

// Renew implements [store.BatchRecords].
func (w batches) Renew(now time.Time, held ...store.Lease[uuid.UUID]) (lost []uuid.UUID, err error) {
	return renew(w.tx, batchLeases, withdrawal.BatchMachine.Name(), now, held)
}

// listedBatches are the conditions of a list of batches by its kind. $4 to $6 are
// chain, wallet and holder, NULL for any; $7 is now.
var listedBatches = func() map[listKey]*statement {
	member := "x.status = 'confirming' AND EXISTS (SELECT 1 FROM @withdrawal_queue j JOIN @withdrawal_requests q ON q.id = " +
		"j.withdrawal_request_id WHERE j.batch_id = x.id AND "
	all := map[listKey]*statement{}
	for by, where := range map[string]string{
		heldBatches:                          "x.lease_holder = $6", // by its index
		withdrawal.ListKind(0).String():      anyHolder,
		withdrawal.ListOpen.String():         "x.status = 'confirming' AND " + anyHolder,
		withdrawal.ListReview.String():       member + "j.review) AND " + anyHolder,
		withdrawal.ListHeld.String():         member + "q.held) AND " + anyHolder,
		withdrawal.ListLeaseEnded.String():   "x.status = 'confirming' AND x.lease_until <= $7 AND " + anyHolder,
		withdrawal.ListCheckOverdue.String(): "x.status = 'confirming' AND x.next_check_at < $7 AND " + anyHolder,
	} {
		for _, backwards := range []bool{false, true} {
			all[listKey{by, backwards}] = &statement{text: listText("SELECT x.id FROM @withdrawal_batches x WHERE "+where+
				" AND (x.chain_id = $4 OR $4 IS NULL) "+
				"AND (x.operation_wallet_address_id = $5 OR $5 IS NULL)", "x.", backwards)}
		}
	}
	return all
}()

const (
	heldBatches = "of a holder"
	anyHolder   = "(x.lease_holder = $6 OR $6 IS NULL)"
)

// List implements [store.BatchRecords].
func (w batches) List(q store.ListBatches) ([]withdrawal.Payout, error) {
	if err := cmp.Or(store.CheckLimit(q.Limit), q.Check()); err != nil || q.User != uuid.Nil || hasEnded(q.Kind) {
		return nil, err
	}
	var after *withdrawal.Request
	if q.After != nil {
		after = &withdrawal.Request{ID: q.After.ID, CreatedAt: q.After.CreatedAt}
	}
	args := append(placeOf(after, q.Backwards), int64(q.Limit), maybe(&q.Chain), maybe(&q.Wallet), maybe(&q.Holder))
	if q.Kind == withdrawal.ListLeaseEnded || q.Kind == withdrawal.ListCheckOverdue {
		args = append(args, q.Now)
	}
	by := q.Kind.String()
	if q.Kind == 0 && q.Holder != "" {
		by = heldBatches
	}
	ids, err := firstColumn[uuid.UUID](w.tx, listedBatches[listKey{by, q.Backwards}], args...)
	if err != nil {
		return nil, err
	}
	all, _, err := readable(w.tx, ids, w.Get)
	return all, err
}

// What the index has is in lower case; whether a form is, Go says.
var versionsByHash = statement{text: fmt.Sprintf("SELECT DISTINCT t.batch_id, t.tx_hash FROM @withdrawal_batch_txs t WHERE "+
	"lower(t.tx_hash) IN (lower($1), '0x' || lower($1)) "+
	"ORDER BY 1 LIMIT %d", store.MaxPage)}

// ByHash implements [store.BatchRecords].
func (w batches) ByHash(hash string) (found []uuid.UUID, err error) {
	var batch uuid.UUID
	var as string
	err = w.read(&versionsByHash, nil, func(rows *sql.Rows) error {
		err := rows.Scan(&batch, &as)
		if err == nil && statemachine.SameHash(as, hash) {
			found = append(found, batch)
		}
		return err
	}, statemachine.HashForm(hash))
	return slices.Compact(found), err
}

// IDs implements [store.BatchRecords].
func (w batches) IDs(after uuid.UUID, limit int) (page []uuid.UUID, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	err = w.read(&batchIDs, nil, func(rows *sql.Rows) error {
		var id uuid.UUID
		err := rows.Scan(&id)
		page = append(page, id)
		return err
	}, after.String(), int64(limit))
	return page, err
}

package sqlstore

import (
	"database/sql"
	"slices"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// withdrawals stores package withdrawal. The files withdrawals*.go are the
// whole domain: this one loads aggregates, withdrawals_due.go finds what is due,
// withdrawals_save.go writes, withdrawals_wallets.go knows wallets and users,
// withdrawals_lists.go and withdrawals_stats.go are what people ask.
type withdrawals struct{ *tx }

var _ store.WithdrawalRecords = withdrawals{}

// Withdrawals implements [store.WithdrawalTx].
func (t *tx) Withdrawals() store.WithdrawalRecords { return withdrawals{t} }

var (
	// One statement reads all versioned records of an aggregate, so that they
	// are of one moment. The attempt is that of the job's fence.
	selectAggregates = statement{once: true, each: "id uuid", text: "SELECT " + requestTable.columns("q.") + ", " + jobTable.columns("j.") + ", " +
		attemptTable.columns("a.") + ", " + hotWalletTable.columns("w.") + ", m.nonce, i.id IS NOT NULL FROM @withdrawal_requests q " +
		"LEFT JOIN @withdrawal_queue j ON j.withdrawal_request_id = q.id AND j.number = " +
		"(SELECT max(l.number) FROM @withdrawal_queue l WHERE l.withdrawal_request_id = q.id) " +
		"LEFT JOIN @withdrawal_attempts a ON a.job_id = j.id AND a.fence = j.lease_fence " +
		"LEFT JOIN @operation_wallet_addresses w ON w.id = j.operation_wallet_address_id " +
		"LEFT JOIN @withdrawal_nonces m ON m.operation_wallet_address_id = w.id AND m.nonce = " +
		"(SELECT max(o.nonce) FROM @withdrawal_nonces o WHERE o.operation_wallet_address_id = w.id) " +
		"LEFT JOIN @withdrawal_incidents i ON i.id = (SELECT min(f.id) FROM @withdrawal_incidents f " +
		"WHERE f.withdrawal_request_id = q.id AND f.claim = '" + withdrawal.ClaimMined + "') WHERE q.id = r.id"}

	// Transactions are never changed, so those that the job counts are what it
	// had at the moment when it was read.
	selectTxs = statement{once: true, each: "id uuid, on_file int", text: "SELECT " + txTable.columns("t.") +
		" FROM @withdrawal_txs t WHERE t.withdrawal_request_id = r.id AND t.seq <= r.on_file"}

	selectRequestOf = statement{text: "SELECT withdrawal_request_id FROM @withdrawal_queue WHERE id = $1"}
)

// Get implements [store.WithdrawalRecords].
func (w withdrawals) Get(requests ...uuid.UUID) ([]withdrawal.Withdrawal, error) {
	found := make([]withdrawal.Withdrawal, len(requests))
	if len(requests) == 0 {
		return found, nil
	}
	ids := new(batch)
	for _, id := range requests {
		ids.add(id)
	}
	stored := make(map[uuid.UUID]*withdrawal.Withdrawal, len(requests))
	var row withdrawal.Withdrawal
	var last nonceField
	last.n, last.has = new(uint64), new(bool)
	fields := slices.Concat(requestTable.cells(&row.Request), jobTable.cells(&row.Job), attemptTable.cells(&row.Attempt), hotWalletTable.cells(&row.Wallet), []any{last, &row.Mined})
	err := w.read(&selectAggregates, ids, func(rows *sql.Rows) error {
		row = withdrawal.Withdrawal{}
		if err := rows.Scan(fields...); err != nil {
			return locatedIn(err, &row)
		}
		if *last.has {
			row.Wallet.NextNonce = *last.n + 1
		}
		one := row
		stored[row.Request.ID] = &one
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := w.loadTxs(stored); err != nil {
		return nil, err
	}
	for i, id := range requests {
		if a := stored[id]; a != nil {
			found[i] = *a
		}
	}
	return found, nil
}

// locatedIn names the row in which an unknown text was met: the last
// of the joined ones that has been reached.
func locatedIn(err error, row *withdrawal.Withdrawal) error {
	switch {
	case row.Attempt.Job != uuid.Nil:
		return located(err, "withdrawal_attempts", row.Attempt.Job)
	case row.Job.ID != uuid.Nil:
		return located(err, "withdrawal_queue", row.Job.ID)
	}
	return located(err, "withdrawal_requests", row.Request.ID)
}

// loadTxs adds the transactions, by Seq.
func (w withdrawals) loadTxs(stored map[uuid.UUID]*withdrawal.Withdrawal) error {
	set := new(batch)
	for id, a := range stored {
		if a.Job.TxsOnFile > 0 {
			set.add(id, a.Job.TxsOnFile)
		}
	}
	if set.len() == 0 {
		return nil
	}
	err := txTable.read(w.tx, &selectTxs, set, func(t *withdrawal.Tx) {
		if a := stored[t.Request]; a != nil {
			a.Txs = append(a.Txs, *t)
		}
	})
	for _, a := range stored {
		slices.SortFunc(a.Txs, func(a, b withdrawal.Tx) int { return int(a.Seq - b.Seq) })
	}
	return err
}

// RequestOf implements [store.WithdrawalRecords].
func (w withdrawals) RequestOf(job uuid.UUID) (uuid.UUID, error) {
	var request uuid.UUID
	err := w.read(&selectRequestOf, nil, func(rows *sql.Rows) error { return rows.Scan(&request) }, job.String())
	if err == nil && request == uuid.Nil {
		err = &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: withdrawal.JobMachine.Name(), ID: job.String()}
	}
	return request, err
}

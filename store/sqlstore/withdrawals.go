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

// Withdrawals implements [store.WithdrawalUnit].
func (t *tx) Withdrawals() store.WithdrawalRecords { return withdrawals{t} }

var (
	// One statement reads all versioned records of an aggregate, so that they
	// are of one moment. The attempt is that of the job's fence.
	selectAggregates = statement{once: true, each: "id uuid", text: "SELECT " + requestTable.columns("q.") + ", " + jobTable.columns("j.") + ", " +
		attemptTable.columns("a.") + ", " + hotWalletTable.columns("w.") + ", " + lastNonces + " FROM @withdrawal_requests q " +
		"LEFT JOIN @withdrawal_queue j ON j.withdrawal_request_id = q.id AND j.number = " +
		"(SELECT max(l.number) FROM @withdrawal_queue l WHERE l.withdrawal_request_id = q.id) " +
		"LEFT JOIN @withdrawal_attempts a ON a.job_id = j.id AND a.fence = j.lease_fence " +
		"LEFT JOIN @operation_wallet_addresses w ON w.id = j.operation_wallet_address_id " + withNonces +
		"WHERE q.id = r.id"}

	// Transactions are never changed, so those that the job counts are what it
	// had at the moment when it was read.
	selectTxs = statement{once: true, each: "id uuid, on_file int", text: "SELECT " + txTable.columns("t.") +
		" FROM @withdrawal_txs t WHERE t.withdrawal_request_id = r.id AND t.seq <= r.on_file"}

	selectStrays = statement{once: true, each: "id uuid, on_file int", text: "SELECT " + strayTable.columns("t.") +
		" FROM @withdrawal_strays t WHERE t.withdrawal_request_id = r.id AND t.seq <= r.on_file"}
	// The attempts of all jobs that were dispatched and not answered.
	selectDispatches = statement{once: true, each: "id uuid", text: "SELECT r.id, " + attemptTable.columns("t.") +
		" FROM @withdrawal_queue j JOIN @withdrawal_attempts t ON t.job_id = j.id WHERE j.withdrawal_request_id = r.id " +
		"AND t.dispatched_at IS NOT NULL AND t.ended_at IS NOT NULL AND t.outcome <> 'done'"}

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
	wallet, next := walletCells(&row.Wallet)
	fields := slices.Concat(requestTable.cells(&row.Request), jobTable.cells(&row.Job), attemptTable.cells(&row.Attempt), wallet)
	err := w.read(&selectAggregates, ids, func(rows *sql.Rows) error {
		row = withdrawal.Withdrawal{}
		if err := rows.Scan(fields...); err != nil {
			return locatedIn(err, &row)
		}
		next()
		one := row
		stored[row.Request.ID] = &one
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, more := range []func(map[uuid.UUID]*withdrawal.Withdrawal) error{w.loadTxs, w.loadStrays, w.loadDispatches} {
		if err := more(stored); err != nil {
			return nil, err
		}
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

// loadStrays adds the strays, by Seq.
func (w withdrawals) loadStrays(stored map[uuid.UUID]*withdrawal.Withdrawal) error {
	set := new(batch)
	for id, a := range stored {
		if a.Request.StraysOnFile > 0 {
			set.add(id, a.Request.StraysOnFile)
		}
	}
	if set.len() == 0 {
		return nil
	}
	err := strayTable.read(w.tx, &selectStrays, set, func(s *withdrawal.Stray) { stored[s.Request].Strays = append(stored[s.Request].Strays, *s) })
	for _, a := range stored {
		slices.SortFunc(a.Strays, func(a, b withdrawal.Stray) int { return int(a.Seq - b.Seq) })
	}
	return err
}

// loadDispatches adds the dispatches that were not answered, by fence. One that
// ended after the job was read is left out.
func (w withdrawals) loadDispatches(stored map[uuid.UUID]*withdrawal.Withdrawal) error {
	set := new(batch)
	for id, a := range stored {
		if a.Job.Dispatches > 0 {
			set.add(id)
		}
	}
	if set.len() == 0 {
		return nil
	}
	var request uuid.UUID
	var row withdrawal.Attempt
	fields := append([]any{always(&request)}, attemptTable.cells(&row)...)
	err := w.read(&selectDispatches, set, func(rows *sql.Rows) error {
		err := rows.Scan(fields...)
		if a := stored[request]; err == nil {
			a.Dispatches = append(a.Dispatches, row)
		}
		return err
	})
	for _, a := range stored {
		slices.SortFunc(a.Dispatches, func(a, b withdrawal.Attempt) int { return int(a.Fence - b.Fence) })
		a.Dispatches = a.Dispatches[:min(len(a.Dispatches), int(a.Job.Dispatches))]
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

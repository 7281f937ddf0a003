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
type withdrawals struct{ feed[uuid.UUID] }

var _ store.WithdrawalRecords = withdrawals{}

// Withdrawals implements [store.WithdrawalUnit].
func (t *tx) Withdrawals() store.WithdrawalRecords {
	if none, lacks := t.lacks(store.DomainWithdrawals); lacks {
		return store.UnimplementedWithdrawals{Unimplemented: none}
	}
	return t.withdrawals()
}

func (t *tx) withdrawals() withdrawals {
	return withdrawals{feed[uuid.UUID]{t, uuid.Parse, withdrawalMachines}}
}

var (
	// One statement reads all versioned records of an aggregate, so that they
	// are of one moment. The attempt is that of the job's fence.
	selectAggregates = statement{once: true, each: "id uuid", text: "SELECT " + requestTable.columns("q.") + ", " + jobTable.columns("j.") +
		", " +
		attemptTable.columns("a.") + ", " + hotWalletTable.columns("w.") + ", " + lastNonces + " FROM @withdrawal_requests q " +
		"LEFT JOIN @withdrawal_queue j ON j.withdrawal_request_id = q.id AND j.number = " +
		"(SELECT max(l.number) FROM @withdrawal_queue l WHERE l.withdrawal_request_id = q.id) " +
		"LEFT JOIN @withdrawal_attempts a ON a.job_id = j.id AND a.fence = j.lease_fence " +
		"LEFT JOIN @operation_wallet_addresses w ON w.id = j.operation_wallet_address_id " + withNonces +
		"WHERE q.id = r.id"}

	// The parts of a request. The request counts them, so that parts which came after the request was read are left
	// out. Transactions are never changed; dispatches are the attempts of all its jobs that were dispatched and have
	// ended.
	selectTxs = statement{once: true, each: "id uuid, n int", text: "SELECT r.id, " + txTable.columns("t.") +
		" FROM @withdrawal_txs t WHERE t.withdrawal_request_id = r.id AND t.seq <= r.n"}
	selectStrays = statement{once: true, each: "id uuid, n int", text: "SELECT r.id, " + strayTable.columns("t.") +
		" FROM @withdrawal_strays t WHERE t.withdrawal_request_id = r.id AND t.seq <= r.n"}
	selectDispatches = statement{once: true, each: "id uuid, n int", text: "SELECT r.id, " + attemptTable.columns("t.") +
		" FROM @withdrawal_queue j JOIN @withdrawal_attempts t ON t.job_id = j.id WHERE j.withdrawal_request_id = r.id AND r.n > 0 " +
		"AND t.dispatched_at IS NOT NULL AND t.ended_at IS NOT NULL"}

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
	err = inTurn(
		func() error {
			return parts(w, txTable, &selectTxs, stored, func(a *withdrawal.Withdrawal) (*[]withdrawal.Tx, int32) { return &a.Txs, a.Job.TxsOnFile },
				func(a, b withdrawal.Tx) int { return int(a.Seq - b.Seq) })
		},
		func() error {
			return parts(w, strayTable, &selectStrays, stored, func(a *withdrawal.Withdrawal) (*[]withdrawal.Stray,
				int32) {
				return &a.Strays, a.Request.StraysOnFile
			},
				func(a, b withdrawal.Stray) int { return int(a.Seq - b.Seq) })
		},
		func() error {
			return parts(w, attemptTable, &selectDispatches, stored, func(a *withdrawal.Withdrawal) (*[]withdrawal.Attempt,
				int32) {
				return &a.Dispatches, a.Job.Dispatches
			},
				func(a, b withdrawal.Attempt) int { return int(a.Fence - b.Fence) })
		})
	if err != nil {
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

// parts adds to aggregates the rows that st finds, in their order: of says where
// they belong and how many the aggregate counts.
func parts[R any](w withdrawals, t *table[R], st *statement, stored map[uuid.UUID]*withdrawal.Withdrawal,
	of func(*withdrawal.Withdrawal) (*[]R, int32), order func(a, b R) int) error {
	set := new(batch)
	for id, a := range stored {
		if _, n := of(a); n > 0 {
			set.add(id, n)
		}
	}
	var request uuid.UUID
	var row R
	fields := append([]any{always(&request)}, t.cells(&row)...)
	err := w.read(st, set, func(rows *sql.Rows) error {
		if err := rows.Scan(fields...); err != nil {
			return t.located(err, &row)
		}
		all, _ := of(stored[request])
		*all = append(*all, row)
		return nil
	})
	for _, a := range stored {
		all, n := of(a)
		slices.SortFunc(*all, order)
		*all = (*all)[:min(len(*all), int(n))]
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

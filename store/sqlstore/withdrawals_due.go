package sqlstore

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// rankOf is the place of a priority in a claim, as the indexes have it.
func rankOf(table string) string {
	return "(CASE " + table + ".priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END)"
}

// Conditions on a row x. $1 is the limit, $2 the time that makes it due.
const (
	mayRebroadcast = "x.status = 'confirming' AND x.rebroadcast AND NOT x.review"
	dueRebroadcast = mayRebroadcast + " AND x.next_check_at <= $2 AND (x.lease_until IS NULL OR x.lease_until <= $2)"
	// $3 is the time less the grace.
	dueCheck  = "x.status = 'confirming' AND x.next_check_at <= $2 AND (NOT x.rebroadcast OR x.review OR x.next_check_at <= $3)"
	mayRescue = "x.status = 'processing' AND NOT x.review"
)

// Of a wallet whose slot is free, the first job. It must still be pending when
// its row is locked; another claimer's is skipped with its wallet. That is asked
// in a way that no partial index answers: the row is to be found by its key.
var firstOfWallet = "upper(x.status) = 'PENDING' AND x.id = (SELECT f.id FROM @withdrawal_queue f WHERE f.status = 'pending' " +
	"AND f.operation_wallet_address_id = w.id AND f.scheduled_at <= $2 ORDER BY " + rankOf("f") + ", f.scheduled_at, f.id LIMIT 1) " +
	"AND NOT EXISTS (SELECT 1 FROM @withdrawal_queue h WHERE h.slot = w.id)"

type dueKey struct {
	kind                 store.DueKind
	sequential, oneChain bool
	dialect              Dialect
}

var dueStatements = func() map[dueKey]*statement {
	const (
		jobs     = "SELECT x.withdrawal_request_id FROM @withdrawal_queue x WHERE "
		wallets  = "SELECT x.withdrawal_request_id FROM @operation_wallet_addresses w CROSS JOIN @withdrawal_queue x WHERE "
		requests = "SELECT x.id FROM @withdrawal_requests x WHERE "
	)
	claims := rankOf("x") + ", x.scheduled_at, x.id"
	all := map[dueKey]*statement{}
	for _, q := range []struct {
		dueKey
		text, chain, order string
	}{
		{dueKey{kind: store.DueClaim}, jobs + "x.status = 'pending' AND x.scheduled_at <= $2", "x.chain_id = $3", claims},
		{dueKey{kind: store.DueClaim, sequential: true}, wallets + firstOfWallet, "w.chain_id = $3", claims},
		{dueKey{kind: store.DueRebroadcast}, jobs + dueRebroadcast, "x.chain_id = $3", "x.operation_wallet_address_id, coalesce(x.nonce, 0), x.id"},
		{dueKey{kind: store.DueCheck}, jobs + dueCheck, "x.chain_id = $4", "x.next_check_at, x.id"},
		{dueKey{kind: store.DueRescue}, jobs + mayRescue + " AND x.lease_until <= $2", "x.chain_id = $3", "x.lease_until, x.id"},
		{dueKey{kind: store.DueEnqueue}, requests + "x.status = 'approved'", "x.chain_id = $2", "x.updated_at, x.id"},
	} {
		for _, q.oneChain = range []bool{false, true} {
			text := q.text
			if q.oneChain {
				text += " AND " + q.chain
			}
			text += " ORDER BY " + q.order + " LIMIT $1"
			q.dialect = SQLite
			all[q.dueKey] = &statement{text: text}
			q.dialect = Postgres
			all[q.dueKey] = &statement{text: text + " FOR NO KEY UPDATE OF x SKIP LOCKED"}
		}
	}
	return all
}()

// Due implements [store.WithdrawalRecords]. On PostgreSQL two claimers may look
// at a wallet before either has its slot; then the unique index of the slots
// gives it to one, and the other's update runs again.
func (w withdrawals) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	if w.view {
		return nil, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: withdrawal.JobMachine.Name(), Event: "due", Reason: "a View locks nothing"}
	}
	key := dueKey{q.Kind, q.Sequential && q.Kind == store.DueClaim, q.Chain != uuid.Nil, w.store.Dialect}
	st := dueStatements[key]
	if st == nil || q.Limit < 1 {
		return nil, fmt.Errorf("%w: %d of due work of kind %v", statemachine.ErrInvalid, q.Limit, q.Kind)
	}
	limit := q.Limit
	for {
		requests, err := w.dueRequests(st, key, q, limit)
		if err != nil {
			return nil, err
		}
		found, err := w.readable(requests)
		if bad := len(requests) - len(found); err != nil || bad == 0 || len(requests) < limit || len(found) >= q.Limit || limit >= 10*q.Limit {
			return found[:min(len(found), q.Limit)], err
		}
		limit = q.Limit + len(requests) - len(found) // those that cannot be read stay due, before others
	}
}

// readable returns the aggregates that can be read. One that cannot, such as a
// row with a status of a later version, must not stop the others.
func (w withdrawals) readable(requests []uuid.UUID) ([]withdrawal.Withdrawal, error) {
	all, err := w.Get(requests...)
	if err == nil || w.err != nil { // or the database itself has failed
		return all, err
	}
	all = nil
	for _, id := range requests {
		one, err := w.Get(id)
		switch {
		case err == nil:
			all = append(all, one...)
		case w.err != nil:
			return nil, err
		}
	}
	return all, nil
}

// dueRequests locks what is due.
func (w withdrawals) dueRequests(st *statement, key dueKey, q store.DueWithdrawals, limit int) (requests []uuid.UUID, err error) {
	args := []any{int64(limit)}
	if q.Kind != store.DueEnqueue {
		args = append(args, q.Now)
	}
	if q.Kind == store.DueCheck {
		args = append(args, q.Now.Add(-q.Grace))
	}
	if key.oneChain {
		args = append(args, q.Chain.String())
	}
	err = w.read(st, nil, func(rows *sql.Rows) error {
		var id uuid.UUID
		err := rows.Scan(&id)
		requests = append(requests, id)
		return err
	}, args...)
	return requests, err
}

type nextKey struct {
	what     string
	oneChain bool
}

// nextStatements ask for the earliest moment after $1; $2 is the chain. A claim
// is asked for once for each priority, from the index.
var nextStatements = func() map[nextKey]*statement {
	const owed = "(CASE WHEN x.lease_until > x.next_check_at THEN x.lease_until ELSE x.next_check_at END)"
	all := map[nextKey]*statement{}
	for what, text := range map[string]string{
		"claim": "SELECT min((SELECT min(x.scheduled_at) FROM @withdrawal_queue x WHERE x.status = 'pending' AND x.scheduled_at > $1{chain} " +
			"AND " + rankOf("x") + " = p.rank)) FROM (SELECT 0 AS rank UNION ALL SELECT 1 UNION ALL SELECT 2) p",
		"rebroadcast": "SELECT min(" + owed + ") FROM @withdrawal_queue x WHERE " + mayRebroadcast + " AND " + owed + " > $1{chain}",
		"check": "SELECT min(x.next_check_at) FROM @withdrawal_queue x WHERE x.status = 'confirming' AND x.next_check_at > $1 " +
			"AND (NOT x.rebroadcast OR x.review){chain}",
		"after grace": "SELECT min(x.next_check_at) FROM @withdrawal_queue x WHERE " + mayRebroadcast + " AND x.next_check_at > $1{chain}",
		"rescue":      "SELECT min(x.lease_until) FROM @withdrawal_queue x WHERE " + mayRescue + " AND x.lease_until > $1{chain}",
	} {
		all[nextKey{what, false}] = &statement{text: strings.Replace(text, "{chain}", "", 1)}
		all[nextKey{what, true}] = &statement{text: strings.Replace(text, "{chain}", " AND x.chain_id = $2", 1)}
	}
	return all
}()

// NextDue implements [store.WithdrawalRecords].
func (w withdrawals) NextDue(q store.DueWithdrawals) (time.Time, error) {
	if q.Kind == store.DueEnqueue { // an approved request is due at once
		return time.Time{}, nil
	}
	next, err := w.earliest(q.Kind.String(), q.Chain, q.Now)
	if q.Kind != store.DueCheck || err != nil {
		return next, err
	}
	later, err := w.earliest("after grace", q.Chain, q.Now.Add(-q.Grace))
	if later.IsZero() || !next.IsZero() && next.Before(later.Add(q.Grace)) {
		return next, err
	}
	return later.Add(q.Grace), err
}

func (w withdrawals) earliest(what string, chain uuid.UUID, after time.Time) (at time.Time, err error) {
	args := []any{after}
	if chain != uuid.Nil {
		args = append(args, chain.String())
	}
	err = w.read(nextStatements[nextKey{what, chain != uuid.Nil}], nil, func(rows *sql.Rows) error { return rows.Scan(maybe(&at)) }, args...)
	return at, err
}

var jobLeases = leaseTable(jobTable)

// Renew implements [store.WithdrawalRecords].
func (w withdrawals) Renew(now time.Time, held ...store.JobLease) (lost []uuid.UUID, err error) {
	all := make([]renewal[uuid.UUID], len(held))
	for i, l := range held {
		all[i] = renewal[uuid.UUID]{l.Job, l.Fence, l.Until}
	}
	return renew(w.tx, jobLeases, withdrawal.JobMachine.Name(), now, all)
}

package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// rankOf is the place of a priority in a claim, from 0, as the indexes have it.
func rankOf(table string) string {
	all := withdrawal.Priority(0).Values()
	slices.SortFunc(all, func(a, b withdrawal.Priority) int {
		return withdrawal.CompareClaims(&withdrawal.Job{Priority: a}, &withdrawal.Job{Priority: b})
	})
	text := "(CASE " + table + ".priority"
	for i, p := range all[:len(all)-1] {
		text += fmt.Sprintf(" WHEN '%v' THEN %d", p, i)
	}
	return fmt.Sprintf("%s ELSE %d END)", text, len(all)-1)
}

const (
	owedBroadcast = "x.rebroadcast AND NOT x.review"
	jobRows       = "@withdrawal_queue x"
	requestOfJob  = "x.withdrawal_request_id"

	// A request that no operator has stopped, and that nobody says was paid.
	goesOn = "NOT q.held AND q.mined IS NULL AND q.strays_sent = 0"
)

// claimAt is when a pending job may be claimed.
func claimAt(table string) string {
	return "(CASE WHEN " + table + ".offer_at > " + table + ".scheduled_at THEN " + table + ".offer_at ELSE " + table + ".scheduled_at END)"
}

// claimable are pending jobs of requests that go on. The request is asked by a
// scalar query: a planner that makes a join of EXISTS reads all requests for
// each job, as long as it believes that the table is small.
func claimable(table string) string {
	return table + ".status = 'pending' AND (SELECT " + goesOn + " FROM @withdrawal_requests q WHERE q.id = " + table + ".withdrawal_request_id)"
}

// pays is whether a hot wallet begins payments.
func pays(table string) string {
	return table + ".role = '" + withdrawal.WalletRoleHot + "' AND " + table + ".status = '" + withdrawal.WalletActive + "'"
}

// Of a wallet whose slot is free, the first job. It must still be pending when
// its row is locked; another claimer's is skipped with its wallet. That is asked
// in a way that no partial index answers: the row is to be found by its key.
var firstOfWallet = "upper(x.status) = 'PENDING' AND " + pays("w") + " AND x.id = (SELECT f.id FROM @withdrawal_queue f WHERE " + claimable("f") + " " +
	"AND f.operation_wallet_address_id = w.id AND " + claimAt("f") + " <= {now} ORDER BY " + rankOf("f") + ", " + claimAt("f") + ", f.id LIMIT 1) " +
	"AND NOT EXISTS (SELECT 1 FROM @withdrawal_queue h WHERE h.slot = w.id)"

// sendAgainAt is when a job may be sent again.
func sendAgainAt(table string) string {
	return "(CASE WHEN " + table + ".lease_until > " + table + ".next_check_at THEN " + table + ".lease_until ELSE " + table + ".next_check_at END)"
}

// Of a wallet with nonces the lowest that is due, found by its index for each row.
var lowestOfWallet = "x.status = 'confirming' AND " + owedBroadcast + " AND " + sendAgainAt("x") + " <= {now} AND (x.nonce IS NULL OR x.id = (SELECT l.id FROM @withdrawal_queue l " +
	"WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review " +
	"AND l.nonce IS NOT NULL AND " + sendAgainAt("l") + " <= {now} ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1))"

// dueWithdrawals are the kinds of [withdrawal.DueKind].
var dueWithdrawals = map[withdrawal.DueKind]due{
	withdrawal.DueClaim: {from: jobRows, owner: requestOfJob,
		where: claimable("x") + " AND (SELECT " + pays("w") + " FROM @operation_wallet_addresses w WHERE w.id = x.operation_wallet_address_id)", at: claimAt("x"),
		rank: rankOf("x"), ranks: len(withdrawal.Priority(0).Values()), order: claimAt("x") + ", x.id"},
	withdrawal.DueRebroadcast: {from: jobRows, owner: requestOfJob, where: "x.status = 'confirming' AND " + owedBroadcast,
		at: sendAgainAt("x"), first: lowestOfWallet, firstFrom: jobRows, order: "x.next_check_at, x.id"},
	withdrawal.DueCheck:  {from: jobRows, owner: requestOfJob, where: "x.status = 'confirming' AND x.batch_id IS NULL", at: "x.next_check_at", later: owedBroadcast, order: "x.next_check_at, x.id"},
	withdrawal.DueRescue: {from: jobRows, owner: requestOfJob, where: "x.status = 'processing' AND NOT x.review", at: "x.lease_until", order: "x.lease_until, x.id"},
	withdrawal.DueEnqueue: {from: "@withdrawal_requests x", owner: "x.id", where: "x.status = 'approved' AND " + strings.ReplaceAll(goesOn, "q.", "x."),
		at: "coalesce(x.offer_at, '1970-01-01 00:00:00.000000')", order: "x.updated_at, x.id"},
}

type dueKey struct {
	kind                 withdrawal.DueKind
	sequential, oneChain bool
	dialect              Dialect
	oneWallet            bool
}

var dueStatements = func() map[dueKey]*statement {
	all := map[dueKey]*statement{}
	for kind, d := range dueWithdrawals {
		for _, dialect := range []Dialect{SQLite, Postgres} {
			all[dueKey{kind, false, false, dialect, false}] = d.find(dialect)
			all[dueKey{kind, false, true, dialect, false}] = d.find(dialect, "x.chain_id")
			if kind == withdrawal.DueClaim {
				all[dueKey{kind, false, true, dialect, true}] = d.find(dialect, "x.chain_id", "x.operation_wallet_address_id")
				d := d
				d.first, d.firstFrom = firstOfWallet, "@operation_wallet_addresses w CROSS JOIN @withdrawal_queue x"
				all[dueKey{kind, true, false, dialect, false}] = d.find(dialect)
				all[dueKey{kind, true, true, dialect, false}] = d.find(dialect, "w.chain_id")
			}
		}
	}
	return all
}()

// Due implements [store.WithdrawalRecords]. On PostgreSQL two claimers may look
// at a wallet before either has its slot; then the unique index of the slots
// gives it to one, and the other's update runs again.
func (w withdrawals) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	key := dueKey{q.Kind, q.Sequential && q.Kind == withdrawal.DueClaim, q.Chain != uuid.Nil, w.store.Dialect, q.Wallet != uuid.Nil}
	st := dueStatements[key]
	if st == nil {
		return nil, fmt.Errorf("%w: due work of kind %v", statemachine.ErrInvalid, q.Kind)
	}
	args := []any{q.Now}
	if q.Kind == withdrawal.DueCheck {
		args = append(args, q.Now.Add(-q.Grace))
	}
	if key.oneChain {
		args = append(args, q.Chain.String())
	}
	if key.oneWallet {
		args = append(args, q.Wallet.String())
	}
	return dueOf(w.tx, withdrawal.JobMachine.Name(), st, q.Limit, w.Get, args...)
}

type nextKey struct {
	kind           withdrawal.DueKind
	late, oneChain bool
}

var nextStatements = func() map[nextKey]*statement {
	all := map[nextKey]*statement{}
	for kind, d := range dueWithdrawals {
		for _, late := range []bool{false, true} {
			if d.at != "" && (!late || d.later != "") {
				all[nextKey{kind, late, false}] = d.next(late)
				all[nextKey{kind, late, true}] = d.next(late, "x.chain_id")
			}
		}
	}
	return all
}()

// NextDue implements [store.WithdrawalRecords].
func (w withdrawals) NextDue(q store.DueWithdrawals) (next time.Time, err error) {
	for _, late := range []bool{false, true} {
		st, grace := nextStatements[nextKey{q.Kind, late, q.Chain != uuid.Nil}], time.Duration(0)
		if st == nil { // nothing is due later than it says
			continue
		}
		if late {
			grace = q.Grace
		}
		args := []any{q.Now.Add(-grace)}
		if q.Chain != uuid.Nil {
			args = append(args, q.Chain.String())
		}
		at, err := w.nextDue(st, args...)
		if err != nil {
			return next, err
		}
		if at = at.Add(grace); at.After(q.Now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
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

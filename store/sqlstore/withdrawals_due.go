package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine/switches"
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
	goesOn = "NOT q.held AND q.mined IS NULL AND q.strays_sent = 0 AND (q.taken IS NULL OR q.acknowledged)"
	// A request that the host has given nothing back of, that nobody has settled as paid
	// beside its end, and that the system may refund.
	unrefunded   = "x.status IN ('failed', 'cancelled', 'rejected') AND x.refund_reference IS NULL"
	toRefund     = unrefunded + " AND NOT (x.acknowledged AND x.mined IS NOT NULL)"
	awaitsRefund = unrefunded + " AND x.mined IS NULL AND x.disproved IS NULL AND x.taken IS NULL AND x.strays_sent = 0"
	offerAt      = "coalesce(x.offer_at, '1970-01-01 00:00:00.000000')"
)

// claimAt is when a pending job may be claimed.
func claimAt(table string) string {
	return "(CASE WHEN " + table + ".offer_at > " + table + ".scheduled_at THEN " + table + ".offer_at ELSE " + table + ".scheduled_at END)"
}

// putOffAhead says of pending jobs what [withdrawal.IsAhead] says. Its first condition
// follows from the others, and is what an index answers.
func putOffAhead(table string) string {
	return strings.ReplaceAll("(CASE WHEN x.offer_at > x.scheduled_from THEN x.offer_at ELSE x.scheduled_from END) > {now} AND "+claimAt("x")+
		" > {now} "+
		"AND (x.scheduled_at <= {now} OR x.scheduled_at = x.scheduled_from OR x.scheduled_from > {ahead}) "+
		"AND (x.offer_at IS NULL OR x.offer_at <= {now} OR x.offer_at > {ahead})", "x.", table+".")
}

// claimable are pending jobs of requests that go on. The request is asked by a
// scalar query: a planner that makes a join of EXISTS reads all requests for
// each job, as long as it believes that the table is small.
func claimable(table string) string {
	return table + ".status = 'pending' AND (SELECT " + goesOn + " FROM @withdrawal_requests q WHERE q.id = " + table +
		".withdrawal_request_id)"
}

// pays is whether a hot wallet begins payments.
func pays(table string) string {
	return table + ".role = '" + withdrawal.WalletRoleHot + "' AND " + table + ".status = '" + withdrawal.WalletActive + "'"
}

// firstOfWallet is the first job of a wallet whose slot is free. It must still be pending when its row is locked; if
// another claimer has it, it is skipped together with its wallet. "Pending" is compared in a way that no partial index
// answers, so that the row is found by its key.
var firstOfWallet = "upper(x.status) = 'PENDING' AND " + pays("w") + " AND x.id = (SELECT f.id FROM @withdrawal_queue f WHERE " +
	claimable("f") + " " +
	"AND f.operation_wallet_address_id = w.id AND " + claimAt("f") + " <= {now} ORDER BY " + rankOf("f") + ", " + claimAt("f") +
	", f.id LIMIT 1) " +
	"AND NOT EXISTS (SELECT 1 FROM @withdrawal_queue h WHERE h.slot = w.id)"

// Of what a clock that was ahead has put off it is the first job of a wallet, too.
var firstAheadOfWallet = claimable("x") + " AND w.id = x.operation_wallet_address_id AND " + pays("w") + " AND " + putOffAhead("x") + " " +
	"AND x.id = (SELECT f.id FROM @withdrawal_queue f WHERE " + claimable("f") +
	" AND f.operation_wallet_address_id = x.operation_wallet_address_id " +
	"AND " + putOffAhead("f") + " ORDER BY " + rankOf("f") + ", " + claimAt("f") + ", f.id LIMIT 1) " +
	"AND NOT EXISTS (SELECT 1 FROM @withdrawal_queue h WHERE h.slot = x.operation_wallet_address_id)"

// sendAgainAt is when a job may be sent again.
func sendAgainAt(table string) string {
	return "(CASE WHEN " + table + ".lease_until > " + table + ".next_check_at THEN " + table + ".lease_until ELSE " + table +
		".next_check_at END)"
}

// Of a wallet with nonces the lowest that is due, found by its index for each row.
var lowestOfWallet = "x.status = 'confirming' AND " + owedBroadcast + " AND " + sendAgainAt("x") +
	" <= {now} AND (x.nonce IS NULL OR x.id = (SELECT l.id FROM @withdrawal_queue l " +
	"WHERE l.operation_wallet_address_id = x.operation_wallet_address_id AND l.status = 'confirming' AND l.rebroadcast AND NOT l.review " +
	"AND l.nonce IS NOT NULL AND " + sendAgainAt("l") + " <= {now} ORDER BY coalesce(l.nonce, 0), l.id LIMIT 1))"

// scopeOfChain is the scope of a chain, see [due].off.
const scopeOfChain = "'chain/' || {of}"

// orOutbound is a condition, or that a wallet stops the chain, see [withdrawal.OutboundOf].
func orOutbound(off string) string {
	return "(" + off + " OR EXISTS (SELECT 1 FROM @operation_wallet_addresses u WHERE u.chain_id = {of} AND u.status = '" +
		withdrawal.WalletUnknown + "'))"
}

var claimableOfPayer = claimable("x") + " AND (SELECT " + pays("w") +
	" FROM @operation_wallet_addresses w WHERE w.id = x.operation_wallet_address_id)"

// claims are of any number of a hot wallet, sequentialClaims of one at a time.
var (
	claims = due{from: jobRows, owner: requestOfJob,
		where: claimableOfPayer, at: claimAt("x"),
		rank: rankOf("x"), ranks: len(withdrawal.Priority(0).Values()), order: claimAt("x") + ", x.id",
		filters: []string{"x.chain_id", "x.operation_wallet_address_id"}, off: orOutbound(stoppedAt(scopeOfChain, switches.Begin)),
		putOff: claimableOfPayer + " AND " + putOffAhead("x"), putOffFrom: jobRows}
	sequentialClaims = func() *dueWork {
		d := claims
		d.first, d.firstFrom, d.filters = firstOfWallet, "@operation_wallet_addresses w CROSS JOIN @withdrawal_queue x", []string{"w.chain_id"}
		d.putOff, d.putOffFrom = firstAheadOfWallet, "@withdrawal_queue x CROSS JOIN @operation_wallet_addresses w"
		return newDue(d)
	}()
)

// dueWithdrawals are the kinds of [withdrawal.DueKind].
var dueWithdrawals = func() map[withdrawal.DueKind]*dueWork {
	all := map[withdrawal.DueKind]*dueWork{withdrawal.DueClaim: newDue(claims)}
	for kind, d := range map[withdrawal.DueKind]due{
		withdrawal.DueRebroadcast: {from: jobRows, owner: requestOfJob, where: "x.status = 'confirming' AND " + owedBroadcast,
			at: sendAgainAt("x"), first: lowestOfWallet, firstFrom: jobRows, order: "x.next_check_at, x.id",
			off: stoppedAt(scopeOfChain, switches.Send)},
		withdrawal.DueCheck: {from: jobRows, owner: requestOfJob, where: "x.status = 'confirming' AND x.batch_id IS NULL", at: "x.next_check_at",
			later: owedBroadcast, order: "x.next_check_at, x.id"},
		withdrawal.DueRescue: {from: jobRows, owner: requestOfJob, where: "x.status = 'processing' AND NOT x.review", at: "x.lease_until",
			order: "x.lease_until, x.id"},
		withdrawal.DueEnqueue: {from: "@withdrawal_requests x", owner: "x.id",
			where: "x.status = 'approved' AND " + strings.ReplaceAll(goesOn, "q.", "x."),
			at:    offerAt, order: "x.updated_at, x.id", off: orOutbound(stoppedAt(scopeOfChain, switches.Begin))},
		withdrawal.DueRefund: {from: "@withdrawal_requests x", owner: "x.id", where: awaitsRefund, at: offerAt,
			order: offerAt + ", x.updated_at, x.id", off: orOutbound(recoveringAt(scopeOfChain))},
	} {
		d.filters = []string{"x.chain_id"}
		all[kind] = newDue(d)
	}
	return all
}()

// given are the values of filters by ids, of which zero is none.
func given(ids ...uuid.UUID) (filters []any) {
	for _, id := range ids {
		if id != uuid.Nil {
			filters = append(filters, id.String())
		}
	}
	return filters
}

// Due implements [store.WithdrawalRecords]. On PostgreSQL two claimers may look at a wallet before either has its slot;
// then the unique index of the slots gives the slot to one of them, and the other's update runs again.
func (w withdrawals) Due(q store.DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	what := dueWithdrawals[q.Kind]
	switch {
	case q.Wallet != uuid.Nil && q.Chain == uuid.Nil: // it is of one chain
		what = nil
	case q.Sequential && q.Kind == withdrawal.DueClaim:
		what = sequentialClaims
	}
	found, _, err := dueOf(w.tx, withdrawal.JobMachine.Name(), what, q.Now, q.Ahead, q.Grace, q.Limit, w.Get, given(q.Chain, q.Wallet)...)
	return found, err
}

// NextDue implements [store.WithdrawalRecords].
func (w withdrawals) NextDue(q store.DueWithdrawals) (time.Time, error) {
	return dueWithdrawals[q.Kind].nextDue(w.tx, q.Now, q.Grace, given(q.Chain)...)
}

var jobLeases = leaseTable(jobTable)

// Renew implements [store.WithdrawalRecords].
func (w withdrawals) Renew(now time.Time, held ...store.Lease[uuid.UUID]) (lost []uuid.UUID, err error) {
	return renew(w.tx, jobLeases, withdrawal.JobMachine.Name(), now, held)
}

package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"testing"

	"github.com/settlehq/settle/withdrawal"
)

// paying is what withdrawals do every day, for one dialect.
func paying(d Dialect) map[string]*statement {
	all := map[string]*statement{
		"selectAggregates": &selectAggregates, "selectTxs": &selectTxs, "selectRequestOf": &selectRequestOf, "selectUsage": &selectUsage,
		"renew": &jobLeases.renew, "lost leases": &jobLeases.lost, "attemptsOf": &attemptsOf, "incidents": &incidentRows.behind,
		"requestsOf": &requestsOf, "requestsOfAll": requestsOfAll, "update requests": &requestTable.updateOne, "update jobs": &jobTable.updateOne,
		"touch jobs": &jobTable.touchOne, "insert jobs": &jobTable.insertOne, "saveAttempts": &saveAttempts, "insertNonces": &insertNonces,
		"insert txs": &txTable.insertOne, "active job": &jobTable.holdersNow[0], "holder of a slot": &jobTable.holdersNow[1], "ownerOf": &ownerOf, "job as stored": &jobTable.storedNow,
		"countRequests": countRequests[false], "countRequests of a chain": countRequests[true], "countJobs": countJobs[false], "countJobs of a chain": countJobs[true], "requestsEnded": requestsEnded[false], "requestsEnded of a chain": requestsEnded[true], "requestsApproved": requestsApproved[false], "requestsApproved of a chain": requestsApproved[true],
		"jobsConfirmed": jobsConfirmed[false], "jobsConfirmed of a chain": jobsConfirmed[true], "attemptsStarted": attemptsStarted[false], "attemptsStarted of a chain": attemptsStarted[true], "selectWalletsOf": &selectWalletsOf,
	}
	for of, one := range map[string]bool{"": false, " of a chain": true} {
		all["paid and refunded"+of], all["oldest to refund"+of], all["batches that confirm"+of] = countPaidAndRefunded[one], oldestToRefund[one], countBatches[one]
		all["money"+of], all["oldest queued"+of] = sumMoney[d][one], oldestQueued[one]
	}
	if d == Postgres {
		all["lock jobs"], all["lock requests"], all["lock wallets"] = &jobTable.inOrder, &requestTable.inOrder, lockReserved[d]
	}
	when := func(kind any, w *dueWork, from int) { // claims are of one chain
		for n := from; n <= len(w.filters); n++ {
			all[fmt.Sprintf("due %v, %d filters", kind, n)] = w.found[d][n]
			all[fmt.Sprintf("due later %v, %d filters", kind, n)] = w.ahead[d][n]
			if kind != "sequential claim" {
				all[fmt.Sprintf("next %v, %d filters", kind, n)] = w.soon[n]
			}
			if w.later != "" {
				all[fmt.Sprintf("next %v, late, %d filters", kind, n)] = w.after[n]
			}
		}
	}
	for kind, w := range dueWithdrawals {
		if kind != withdrawal.DueClaim {
			when(kind, w, 0)
		}
	}
	when(withdrawal.DueClaim, dueWithdrawals[withdrawal.DueClaim], 1)
	when("sequential claim", sequentialClaims, 1)
	for kind, w := range dueBatches {
		when(fmt.Sprint("batch to ", kind), w, 0)
	}
	for _, backwards := range []bool{false, true} {
		all[fmt.Sprint("batches of a holder, backwards ", backwards)] = listedBatches[listKey{heldBatches, backwards}]
	}
	all["batches"], all["versions"], all["members"], all["batch ids"] = &selectBatches, &selectVersions, &selectMembers, &batchIDs
	all["update batches"], all["touch batches"], all["batch as stored"] = &batchTable.updateOne, &batchTable.touchOne, &batchTable.storedNow
	for key, st := range listStatements {
		all[fmt.Sprintf("list by %q, backwards %v", key.by, key.backwards)] = st
	}
	all["open incidents"], all["a known incident"], all["acknowledgements"] = &openIncidents, &knownIncident, &acknowledgementsOf
	all["jobs of a request"], all["requests of a hash"] = &jobsOfRequest, &requestsByHash
	for name, text := range asked {
		all[name] = &statement{text: text}
	}
	return all
}

// asked is what people ask: the monitoring queries of the source document, and
// the support desk's about a hash.
var asked = map[string]string{
	"pending withdrawals": "SELECT COUNT(*) FROM @withdrawal_requests WHERE status = 'pending'",
	"active jobs":         "SELECT COUNT(*) FROM @withdrawal_queue WHERE status IN ('pending', 'processing', 'confirming')",
	"failed jobs": "SELECT id, withdrawal_request_id, error_message, retry_count FROM @withdrawal_queue WHERE status = 'failed' " +
		"ORDER BY created_at DESC LIMIT 10",
	"to confirm":   "SELECT * FROM @withdrawal_queue WHERE status = 'confirming' AND tx_hash IS NOT NULL",
	"stuck jobs":   "SELECT id, status, created_at, error_message FROM @withdrawal_queue WHERE status = 'processing' AND created_at < $1",
	"tx of a hash": "SELECT * FROM @withdrawal_txs WHERE tx_hash = $1",
}

var wholeWithdrawals = regexp.MustCompile(`Seq Scan on (withdrawal_(requests|queue|txs|attempts|nonces|payments|batches|batch_txs)|transitions)\b|Index Cond: \(id = \(SubPlan 1\)\)\s+Filter: \(status|(?m)SCAN (q|j|a|m|l|t|x|f|h|n|p|withdrawal_\w+|transitions)$`)

// onceOver are the statements that, planned for empty tables, read a table once
// and not once for each row.
var onceOver = regexp.MustCompile(`^(attemptsStarted|list by "held"|list by "paid and refunded"|paid and refunded|due (later )?sequential claim)`)

var withdrawalPlans = plans{paying, wholeWithdrawals, onceOver, fillWithdrawals}

// fillWithdrawals makes a history of paid withdrawals, without statistics.
func fillWithdrawals(t *testing.T, conn *sql.Conn, syn syntax, n int) {
	t.Helper()
	id := func(space string) string {
		return "'" + space + "0000000-0000-0000-0000-' || substr('000000000000' || key, -12)"
	}
	series, at, no, empty := fmt.Sprintf("(SELECT key FROM json_each('[' || substr(replace(hex(zeroblob(%d)), '00', ',1'), 2) || ']'))", n), "'2026-01-01 00:00:00.000000'", "0", "x''"
	if syn.Dialect == Postgres {
		id = func(space string) string {
			return "('" + space + "0000000-0000-0000-0000-' || lpad(key::text, 12, '0'))::uuid"
		}
		series, at, no, empty = fmt.Sprintf("generate_series(0, %d) AS s(key)", n-1), "now()", "false", "''::bytea"
	}
	const wallet = "'f0000000-0000-0000-0000-000000000000'"
	for _, text := range []string{
		"INSERT INTO @operation_wallet_addresses (id, chain_id, role, status) VALUES (" + wallet + ", 'b0000000-0000-0000-0000-000000000000', 'hot_wallet', 'active')",
		"INSERT INTO @withdrawal_requests (id, user_id, asset_id, chain_id, to_address, memo, amount, amount_raw, decimals, status, requested_by, " +
			"approvals_needed, close_reason, approved_at, queued_at, final_tx_hash, version, created_at, updated_at) SELECT " + id("1") + ", " + id("2") + ", " +
			wallet + ", 'b0000000-0000-0000-0000-000000000000', 'to', '', '1', '1', 0, 'completed', 'system', 0, '', " + at + ", " + at + ", 'tx', 4, " + at + ", " + at + " FROM " + series,
		"INSERT INTO @withdrawal_queue (id, withdrawal_request_id, number, chain_id, asset_on_chain_id, operation_wallet_address_id, to_address, " +
			"amount_raw, amount_human, status, priority, retry_count, max_retries, scheduled_at, scheduled_from, lease_fence, txs_on_file, txs_dead, tx_hash, review, " +
			"resolved_version, broadcast_at, rebroadcast, evidence_height, evidence_hash, processed_at, version, created_at) SELECT " +
			id("3") + ", " + id("1") + ", 1, 'b0000000-0000-0000-0000-000000000000', " + wallet + ", " + wallet + ", 'to', '1', '1', 'confirmed', 'normal', 1, 5, " + at + ", " + at + ", 1, 1, 0, 'tx', " +
			no + ", 0, " + at + ", " + no + ", 1, 'b', " + at + ", 5, " + at + " FROM " + series,
		"INSERT INTO @withdrawal_txs (withdrawal_request_id, seq, job_id, tx_hash, raw_tx, operation_wallet_address_id, nonce, is_cancel, created_at) SELECT " +
			id("1") + ", 1, " + id("3") + ", 'tx', " + empty + ", " + wallet + ", key, " + no + ", " + at + " FROM " + series,
		"INSERT INTO @withdrawal_nonces SELECT " + wallet + ", key, " + id("3") + " FROM " + series,
		"INSERT INTO @withdrawal_attempts (job_id, fence, worker, started_at, ended_at, outcome) SELECT " + id("3") + ", 1, 'w', " + at + ", " + at + ", 'done' FROM " + series,
		"INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) " +
			"SELECT 0, 'withdrawal_job', CAST(id AS text), 1, '', 'enqueue', 'pending', created_at, '', '', '' FROM @withdrawal_queue",
	} {
		if _, err := conn.ExecContext(context.Background(), syn.expand(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

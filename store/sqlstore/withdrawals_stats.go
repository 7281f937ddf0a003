package sqlstore

import (
	"cmp"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

type countKey struct{ record, status string }

// addCounts adds to a row that no other transaction writes, so that counting
// never waits and adds nothing to the order of locks: on PostgreSQL to the first
// of some shards that is free, or to one of the server process's own.
var addCounts = func() map[Dialect]*statement {
	all := map[Dialect]*statement{}
	for d, shard := range map[Dialect]string{SQLite: "0", Postgres: "coalesce((SELECT s.n FROM generate_series(0, 31) AS s(n) " +
		"WHERE pg_try_advisory_xact_lock(hashtext('settle counts @'), s.n) LIMIT 1), 1000 + pg_backend_pid())"} {
		all[d] = &statement{once: true, rows: "record text, status text, n int",
			text: "INSERT INTO @withdrawal_counts (record, status, shard, n) " +
				"SELECT r.record, r.status, " + shard +
				", r.n FROM {rows} WHERE true ON CONFLICT (record, status, shard) DO UPDATE SET n = @withdrawal_counts.n + excluded.n"}
	}
	return all
}()

// countRequest counts a request in or out, in states where it may stay for ever:
// for all chains, and for its own.
func (s *changeset) countRequest(chain uuid.UUID, status withdrawal.RequestStatus, n int64) {
	s.count("request", chain, status.String(), n, status == withdrawal.RequestFailed || withdrawal.RequestMachine.Terminal(status))
}

func (s *changeset) countJob(chain uuid.UUID, status withdrawal.JobStatus, n int64) {
	s.count("job", chain, status.String(), n, withdrawal.JobMachine.Terminal(status))
}

func (s *changeset) count(record string, chain uuid.UUID, status string, n int64, ended bool) {
	if ended {
		s.counts[countKey{record, status}] += n
		s.counts[countKey{record + " " + chain.String(), status}] += n
	}
}

// writeCounts is the last write of a commit.
func (s *changeset) writeCounts() error {
	if len(s.counts) == 0 {
		return nil
	}
	keys := make([]countKey, 0, len(s.counts))
	for key := range s.counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b countKey) int {
		return cmp.Or(cmp.Compare(a.record, b.record), cmp.Compare(a.status, b.status))
	})
	rows := new(batch)
	for _, key := range keys {
		rows.add(key.record, key.status, s.counts[key])
	}
	return s.allLater("withdrawal counts", addCounts[s.store.Dialect], rows)
}

// perChain is a statement for all chains, and for one, whose id is the last
// parameter: {chain c} is then the condition on column c.
func perChain(text string) map[bool]*statement {
	n := 1
	for strings.Contains(text, fmt.Sprintf("$%d", n)) {
		n++
	}
	one := chainMark.ReplaceAllStringFunc(text, func(mark string) string {
		return fmt.Sprintf(" AND %s = $%d", mark[len("{chain "):len(mark)-1], n)
	})
	return map[bool]*statement{false: {text: chainMark.ReplaceAllString(text, "")}, true: {text: one}}
}

var chainMark = regexp.MustCompile(`\{chain [\w.]+\}`)

// The numbers of rows in states that are soon left, and of the others from
// withdrawal_counts; what ended in [$1, $2) from its index.
var (
	countEnded = statement{text: "SELECT record, status, CAST(sum(n) AS {int}) FROM @withdrawal_counts WHERE record IN ($1, $2) GROUP " +
		"BY record, status"}
	countRequests = perChain("SELECT status, count(*), min(created_at), min(updated_at), max(created_at), max(updated_at) FROM " +
		"@withdrawal_requests " +
		"WHERE status IN ('pending', 'approved', 'queued'){chain chain_id} GROUP BY status")
	// Those that are due, at $1 or, of look-ups, before.
	countJobs = perChain("SELECT 'pending', count(*), min(CASE WHEN " + dueWithdrawals[withdrawal.DueClaim].is("$1") +
		" THEN x.scheduled_at END), 0, NULL, 0, max(x.scheduled_from) " +
		"FROM @withdrawal_queue x WHERE x.status = 'pending'{chain x.chain_id} UNION ALL " +
		"SELECT 'processing', count(*), NULL, coalesce(sum(CASE WHEN " + dueWithdrawals[withdrawal.DueRescue].is("$1") + " THEN 1 END), 0), " +
		inReview + ", max(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END) FROM @withdrawal_queue x WHERE x.status = " +
		"'processing'{chain x.chain_id} UNION ALL " +
		"SELECT 'confirming', count(*), min(x.broadcast_at), coalesce(sum(CASE WHEN " + dueWithdrawals[withdrawal.DueCheck].is("$1") +
		" AND x.next_check_at < $1 THEN 1 END), 0), " +
		inReview + ", max(CASE WHEN x.review AND x.claimed_at > x.broadcast_at THEN x.claimed_at ELSE x.broadcast_at END) FROM " +
		"@withdrawal_queue x WHERE x.status = 'confirming'{chain x.chain_id}")
	countBatches = perChain("SELECT coalesce(sum(CASE WHEN x.next_check_at < $1 THEN 1 END), 0), min(x.created_at), max(x.created_at) " +
		"FROM @withdrawal_batches x WHERE " +
		dueBatches[withdrawal.DueBatchCheck].where + "{chain x.chain_id}")
	oldestToRefund = perChain("SELECT (SELECT min(x.updated_at) FROM @withdrawal_requests x WHERE " + toRefund + "{chain x.chain_id}), " +
		"(SELECT max(x.updated_at) FROM @withdrawal_requests x WHERE " + toRefund + "{chain x.chain_id})")
	countPaidAndRefunded = perChain("SELECT count(*) FROM @withdrawal_requests x WHERE " + paidAndRefunded + "{chain x.chain_id}")
	// As [withdrawal.UnknownOutbounds] has it; the statement's own repetitions are left out behind it.
	unknownOutbounds = perChain("SELECT x.operation_wallet_address_id, x.number, x.tx_hash FROM @withdrawal_statements x " +
		"WHERE x.says = 'unknown outbound' AND NOT EXISTS (SELECT 1 FROM @withdrawal_statements u WHERE u.says = 'used' " +
		"AND u.operation_wallet_address_id = x.operation_wallet_address_id AND u.number = x.number AND u.id > x.id) " +
		"AND NOT EXISTS (SELECT 1 FROM @withdrawal_fillers f " +
		"WHERE f.operation_wallet_address_id = x.operation_wallet_address_id AND f.nonce = x.number) " +
		"AND NOT (x.tx_hash = '' AND EXISTS (SELECT 1 FROM @withdrawal_nonces n " +
		"WHERE n.operation_wallet_address_id = x.operation_wallet_address_id AND n.nonce = x.number)){chain x.chain_id} ORDER BY x.id")
	walletsOff = perChain("SELECT x.id FROM @operation_wallet_addresses x WHERE x.status = 'unknown outbound'{chain x.chain_id} " +
		"ORDER BY x.id LIMIT " + strconv.Itoa(withdrawal.MaxGaps))
	countIncidents = perChain("SELECT count(*) FROM @withdrawal_incidents i JOIN @withdrawal_requests q ON q.id = i.withdrawal_request_id " +
		"WHERE i.at >= $1 AND i.at < $2{chain q.chain_id}")
	// SQLite takes the index of the jobs under way only for the very condition that the index has. The status of the request
	// follows from that of the job, and keeps PostgreSQL from reading all requests.
	oldestQueued = perChain("SELECT min(q.queued_at), max(q.queued_at) FROM @withdrawal_queue x JOIN @withdrawal_requests q ON q.id = " +
		"x.withdrawal_request_id " +
		"WHERE x.status IN ('pending', 'processing', 'confirming') AND x.status <> 'confirming' AND q.status = 'queued'{chain x.chain_id}")

	sumMoney = func() map[Dialect]map[bool]*statement {
		const asked = "SELECT q.chain_id, q.asset_id, q.decimals, coalesce(x.review, false), " + maybePaid +
			", coalesce({stuck}, false), {sum} " +
			"FROM @withdrawal_requests q LEFT JOIN @withdrawal_queue x ON x.withdrawal_request_id = q.id " +
			"AND x.status IN ('pending', 'processing', 'confirming') " +
			"LEFT JOIN @withdrawal_batches b ON b.id = x.batch_id AND b.status = 'confirming' AND x.status = 'confirming' " +
			"WHERE q.status IN ('pending', 'approved', 'queued'){chain q.chain_id}"
		text := strings.Replace(asked, "{stuck}", dueWithdrawals[withdrawal.DueRescue].is("$1")+" OR "+
			dueWithdrawals[withdrawal.DueCheck].is("$1")+" AND x.next_check_at < $1 OR b.next_check_at < $1", 1)
		return map[Dialect]map[bool]*statement{
			SQLite: perChain(strings.Replace(text, "{sum}", "q.amount_raw", 1)),
			Postgres: perChain(strings.Replace(text, "{sum}", "CAST(sum(CAST(q.amount_raw AS numeric)) AS text)", 1) +
				" GROUP BY 1, 2, 3, 4, 5, 6"),
		}
	}()

	requestsEnded = perChain("SELECT status, count(*) FROM @withdrawal_requests " +
		"WHERE status IN ('completed', 'failed') AND updated_at >= $1 AND updated_at < $2{chain chain_id} GROUP BY status")
	requestsApproved = perChain("SELECT created_at, approved_at FROM @withdrawal_requests WHERE approved_at >= $1 AND approved_at < " +
		"$2{chain chain_id}")
	jobsConfirmed = perChain("SELECT broadcast_at, processed_at, gas_used FROM @withdrawal_queue " +
		"WHERE processed_at >= $1 AND processed_at < $2 AND status = 'confirmed'{chain chain_id}")
	attemptsStarted = perChain("SELECT count(*), coalesce(sum(CASE WHEN EXISTS (SELECT 1 FROM @withdrawal_attempts p " +
		"WHERE p.job_id = a.job_id AND p.fence < a.fence) THEN 1 ELSE 0 END), 0) FROM @withdrawal_attempts a JOIN @withdrawal_queue x ON x.id " +
		"= a.job_id WHERE a.started_at >= $1 AND a.started_at < $2{chain x.chain_id}")
)

// maybePaid: a request q of which nobody knows whether it is paid, with its job x.
const maybePaid = "(x.dispatched_at IS NOT NULL OR q.strays_sent > 0 OR q.mined IS NOT NULL " +
	"OR q.disproved IS NOT NULL OR q.taken IS NOT NULL)"

// paidAndRefunded: people have to settle a payment beside the refund of x.
const paidAndRefunded = "x.paid_after IS NOT NULL AND NOT x.acknowledged"

const inReview = "min(CASE WHEN x.review THEN coalesce(x.claimed_at, x.broadcast_at) END), coalesce(sum(CASE WHEN x.review THEN 1 END), 0)"

// Stats implements [store.WithdrawalRecords]. It reads what is under way and
// what ended in the window, and nothing that grows with history.
func (w withdrawals) Stats(now time.Time, window time.Duration, chain uuid.UUID) (withdrawal.Stats, error) {
	s := withdrawal.Stats{At: now, Requests: map[withdrawal.RequestStatus]int64{}, Jobs: map[withdrawal.JobStatus]int64{}}
	from := now.Add(-window)
	var approval, confirmation withdrawal.Mean
	one, of := chain != uuid.Nil, ""
	if one {
		of = " " + chain.String()
	}
	asks := []struct {
		st   map[bool]*statement
		args []any
		scan func(*sql.Rows) error
	}{
		{map[bool]*statement{false: &countEnded, true: &countEnded}, []any{"request" + of, "job" + of},
			func(rows *sql.Rows) error { return scanEnded(rows, &s) }},
		{countRequests, nil, func(rows *sql.Rows) error { return scanRequests(rows, &s) }},
		{countJobs, []any{now}, func(rows *sql.Rows) error { return scanJobs(rows, &s) }},
		{countBatches, []any{now}, func(rows *sql.Rows) error { return scanWait(rows, &s, &s.OldestBatch, &s.BatchesOverdue) }},
		{oldestToRefund, nil, func(rows *sql.Rows) error { return scanWait(rows, &s, &s.OldestToRefund) }},
		{countIncidents, []any{from, now}, func(rows *sql.Rows) error { return rows.Scan(&s.Incidents) }},
		{countOpenIncidents, nil, func(rows *sql.Rows) error { return rows.Scan(&s.OpenIncidents) }},
		{countPaidAndRefunded, nil, func(rows *sql.Rows) error { return rows.Scan(&s.PaidAndRefunded) }},
		{unknownOutbounds, nil, func(rows *sql.Rows) error {
			var u withdrawal.UnknownOutbound
			err := rows.Scan(always(&u.Wallet), always(&u.Nonce), always(&u.Hash))
			if len(s.UnknownOutbound) < withdrawal.MaxGaps && !slices.Contains(s.UnknownOutbound, u) {
				s.UnknownOutbound = append(s.UnknownOutbound, u)
			}
			return err
		}},
		{walletsOff, nil, func(rows *sql.Rows) error {
			s.WalletsOff = append(s.WalletsOff, uuid.Nil)
			return rows.Scan(always(&s.WalletsOff[len(s.WalletsOff)-1]))
		}},
		{oldestQueued, nil, func(rows *sql.Rows) error { return scanWait(rows, &s, &s.OldestQueued) }},
		{sumMoney[w.store.Dialect], []any{now}, func(rows *sql.Rows) error { return scanMoney(rows, &s) }},
		{requestsEnded, []any{from, now}, func(rows *sql.Rows) error {
			var status withdrawal.RequestStatus
			var n int64
			err := rows.Scan(&status, &n)
			s.Ended += n
			if status == withdrawal.RequestCompleted {
				s.Completed = n
			}
			return err
		}},
		{requestsApproved, []any{from, now}, func(rows *sql.Rows) error {
			var created, approved time.Time
			err := rows.Scan(always(&created), always(&approved))
			approval.Add(created, approved)
			return err
		}},
		{jobsConfirmed, []any{from, now}, func(rows *sql.Rows) error {
			var sent, ended time.Time
			var gas withdrawal.Raw
			if err := rows.Scan(always(&sent), always(&ended), maybe(&gas)); err != nil {
				return err
			}
			confirmation.Add(sent, ended)
			s.GasJobs++
			s.GasUsed = s.GasUsed.Add(gas)
			return nil
		}},
		{attemptsStarted, []any{from, now}, func(rows *sql.Rows) error { return rows.Scan(&s.Executions, &s.Retries) }},
	}
	for i, a := range asks {
		if one && i > 0 { // the first one has its chain in the names of the counts
			a.args = append(a.args, chain.String())
		}
		if err := w.read(a.st[one], nil, a.scan, a.args...); err != nil {
			return s, err
		}
	}
	s.ApprovalTime, s.ConfirmationTime = approval.Value(), confirmation.Value()
	return s, nil
}

// scanWait scans columns, and behind them the oldest and the latest time of what waits.
func scanWait(rows *sql.Rows, s *withdrawal.Stats, oldest *time.Time, columns ...any) error {
	var latest time.Time
	err := rows.Scan(append(columns, maybe(oldest), maybe(&latest))...)
	waitsSince(s, latest)
	return err
}

func waitsSince(s *withdrawal.Stats, latest time.Time) {
	if latest.After(s.Latest) {
		s.Latest = latest
	}
}

func scanMoney(rows *sql.Rows, s *withdrawal.Stats) error {
	var of withdrawal.Money
	var review, unknown, stuck bool
	var sum string
	if err := rows.Scan(always(&of.Chain), always(&of.Asset), &of.Decimals, &review, &unknown, &stuck, &sum); err != nil {
		return err
	}
	amount, err := statemachine.ParseSum(sum)
	if err == nil {
		s.AddMoney(of, amount, review, unknown, stuck)
	}
	return err
}

func scanEnded(rows *sql.Rows, s *withdrawal.Stats) error {
	var key countKey
	var n int64
	if err := rows.Scan(&key.record, &key.status, &n); err != nil || n == 0 {
		return err
	}
	if strings.HasPrefix(key.record, "job") {
		var status withdrawal.JobStatus
		err := status.Scan(key.status)
		s.Jobs[status] = n
		return err
	}
	var status withdrawal.RequestStatus
	err := status.Scan(key.status)
	s.Requests[status] = n
	return err
}

func scanRequests(rows *sql.Rows, s *withdrawal.Stats) error {
	var status withdrawal.RequestStatus
	var n int64
	var created, updated, lastCreated, lastUpdated time.Time
	err := rows.Scan(&status, &n, maybe(&created), maybe(&updated), maybe(&lastCreated), maybe(&lastUpdated))
	s.Requests[status] = n
	switch status {
	case withdrawal.RequestPending:
		s.OldestPending = created
		waitsSince(s, lastCreated)
	case withdrawal.RequestApproved:
		s.OldestApproved = updated
		waitsSince(s, lastUpdated)
	}
	return err
}

func scanJobs(rows *sql.Rows, s *withdrawal.Stats) error {
	var status withdrawal.JobStatus
	var n, late, inReview int64
	var oldest, review, latest time.Time
	err := rows.Scan(&status, &n, maybe(&oldest), &late, maybe(&review), &inReview, maybe(&latest))
	waitsSince(s, latest)
	if n > 0 {
		s.Jobs[status] = n
	}
	switch status {
	case withdrawal.JobPending:
		s.OldestJob = oldest
	case withdrawal.JobProcessing:
		s.LeaseExpired = late
	case withdrawal.JobConfirming:
		s.OldestSent, s.CheckOverdue = oldest, late
	}
	s.InReview += inReview
	if !review.IsZero() && (s.OldestReview.IsZero() || review.Before(s.OldestReview)) {
		s.OldestReview = review
	}
	return err
}

package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"testing"
)

// refreshing is what refreshes do all the time, for one dialect.
func refreshing(d Dialect) map[string]*statement {
	all := map[string]*statement{
		"heads": lockedHeads[d], "free": freeHeads[d], "locks": &walletLocksOf, "job": &refreshJobOf, "watchers by id": &watchersByID,
		"slots": &servedSlots, "waiting": &waitingWallets, "recoverable": &recoverableWallets, "ahead": &aheadWallets, "wallets": &allRefreshWallets, "sweep": sweepLocks[d],
		"held by": &refreshesHeld, "jobs": &allRefreshJobs, "jobs of a status": &refreshJobsOf, "watching": &watchingWatchers, "ended": &watchersEnded, "ended open": &watchersOpen, "failed": &failedByWallet,
		"take locks": &takeLocks, "free locks": &freeLocks, "renew slots": &refreshSlotLeases.renew, "renew jobs": &refreshJobLeases.renew,
		"renew locks": &walletLockLeases.renew, "lost slots": &refreshSlotLeases.lost, "lost jobs": &refreshJobLeases.lost, "lost locks": &walletLockLeases.lost,
		"update wallets": &refreshWalletTable.updateOne, "touch wallets": &refreshWalletTable.touchOne, "insert wallets": &refreshWalletTable.insertOne,
		"update jobs": &refreshJobTable.updateOne, "touch jobs": &refreshJobTable.touchOne, "insert jobs": &refreshJobTable.insertOne,
		"update watchers": &watcherTable.updateOne, "touch watchers": &watcherTable.touchOne, "insert watchers": &watcherTable.insertOne,
		"slot holder": &refreshWalletTable.holdersNow[0], "recovery holder": &refreshJobTable.holdersNow[0],
	}
	for set, st := range jobsOfSet {
		all[fmt.Sprint("jobs of set ", set)] = st
	}
	for set, st := range watchersOfSet {
		all[fmt.Sprint("watchers of set ", set)] = st
	}
	return all
}

// wholeRefreshes: a table is read from end to end, or by an index that is not of
// what is live.
var wholeRefreshes = regexp.MustCompile(`Seq Scan on (refresh_(wallets|jobs|watchers)|transitions)\b|(?m)SCAN (x|w|h|refresh_\w+)$`)

// While the tables are empty some read them once; waiting joins those that have
// work with those that nobody serves, of which there are few until there are statistics,
// and ahead finds whom somebody serves as slots does.
var refreshPlans = plans{refreshing, wholeRefreshes, regexp.MustCompile(`^(free|heads|slots|ahead|waiting|watchers by id)$`), fillRefreshes}

// fillRefreshes makes a history of wallets that are done, and on PostgreSQL the
// statistics that the server makes by itself.
func fillRefreshes(t *testing.T, conn *sql.Conn, syn syntax, n int) {
	t.Helper()
	id := func(space string) string {
		return "'" + space + "0000000-0000-0000-0000-' || substr('000000000000' || key, -12)"
	}
	series, at, no := fmt.Sprintf("(SELECT key FROM json_each('[' || substr(replace(hex(zeroblob(%d)), '00', ',1'), 2) || ']'))", n), "'2026-01-01 00:00:00.000000'", "0"
	if syn.Dialect == Postgres {
		id = func(space string) string {
			return "('" + space + "0000000-0000-0000-0000-' || lpad(key::text, 12, '0'))::uuid"
		}
		series, at, no = fmt.Sprintf("generate_series(0, %d) AS s(key)", n-1), "now()", "false"
	}
	for _, text := range []string{
		"INSERT INTO @refresh_wallets (id, xpub_van, status, work_seq, unserved_since, lease_fence, hung_rounds, version, created_at) SELECT " +
			id("1") + ", 'w' || key, 'unserved', 1, " + at + ", 1, 0, 1, " + at + " FROM " + series,
		"INSERT INTO @refresh_jobs (job_id, xpub_van, xpub_col, master_fingerprint, trigger, status, attempts, available_at, lease_fence, seq, created_at, processed_at, end_seq, version) SELECT " +
			id("2") + ", 'w' || key, 'c', 'f', 'sync', 'completed', 1, " + at + ", 1, 1, " + at + ", " + at + ", 1, 3 FROM " + series,
		"INSERT INTO @refresh_watchers (id, xpub_van, xpub_col, master_fingerprint, recipient_id, provisional, status, expires_at, refresh_count, next_at, cancel_tried, " +
			"ended_at, end_seq, end_reason, version, created_at) SELECT " + id("3") + ", 'w' || key, 'c', 'f', 'r', " + no + ", 'settled', " + at + ", 1, " + at + ", " + no + ", " +
			at + ", 1, 'transfer', 2, " + at + " FROM " + series,
		"INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) " +
			"SELECT 0, 'refresh_job', CAST(job_id AS text), 1, '', 'enqueue', 'pending', created_at, '', '', '' FROM @refresh_jobs",
	} {
		if _, err := conn.ExecContext(context.Background(), syn.expand(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if syn.Dialect == Postgres {
		for _, table := range []string{"refresh_wallets", "refresh_jobs", "refresh_watchers"} {
			if _, err := conn.ExecContext(context.Background(), syn.expand("ANALYZE @"+table)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

package sqlstore

import (
	"database/sql"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
)

var (
	lockSlots   = statement{text: "SELECT pg_advisory_xact_lock(hashtextextended('settle refresh slots', 0))"}
	servedSlots = statement{text: "SELECT x.xpub_van, x.slot, x.lease_holder, x.lease_fence, x.lease_until FROM @refresh_wallets x " +
		"WHERE x.slot IS NOT NULL ORDER BY x.slot"}
)

// Slots implements [store.RefreshRecords].
func (r refreshes) Slots() (all []refresh.Slot, err error) {
	if err := r.writes("slots"); err != nil {
		return nil, err
	}
	if r.store.Dialect == Postgres {
		if err := r.read(&lockSlots, nil, func(*sql.Rows) error { return nil }); err != nil {
			return nil, err
		}
	}
	err = r.read(&servedSlots, nil, func(rows *sql.Rows) error {
		var s refresh.Slot
		err := rows.Scan(&s.XpubVan, &s.Number, &s.Lease.Holder, &s.Lease.Fence, (*timeColumn)(&s.Lease.Until))
		all = append(all, s)
		return err
	})
	return all, err
}

// waitingWallets is [refresh.Wallet.Candidate] as one statement: per wallet the oldest due time, not before not_before
// except for a provisional expiry; then the later one of this time and the release. The wallet's columns are read only
// to see that they can be read.
var waitingWallets = statement{text: "SELECT q.xpub_van, q.since, " + refreshWalletTable.columns("q.") + " FROM (" +
	"SELECT p.*, CASE WHEN p.oldest < p.unserved_since THEN p.unserved_since ELSE p.oldest END AS since FROM (" +
	"SELECT w.*, d.watching, CASE WHEN d.lapse < d.due OR d.lapse < w.not_before THEN d.lapse " +
	"WHEN d.due < w.not_before THEN w.not_before ELSE d.due END AS oldest FROM @refresh_wallets w JOIN (" +
	"SELECT l.xpub_van, min(l.due) AS due, min(l.lapse) AS lapse, max(l.watching) AS watching FROM (" +
	"SELECT x.xpub_van, " + dueTicks.at + " AS due, CASE WHEN x.provisional THEN " + expiries.at + " END AS lapse, 1 AS watching " +
	"FROM " + dueTicks.from + " WHERE " + dueTicks.where +
	" UNION ALL SELECT x.xpub_van, " + pendingJobs.at + ", NULL, 0 FROM " + pendingJobs.from + " WHERE " + pendingJobs.where +
	" UNION ALL SELECT x.xpub_van, " + leftJobs.at + ", NULL, 0 FROM " + leftJobs.from + " WHERE " + leftJobs.where +
	") l GROUP BY l.xpub_van) d ON d.xpub_van = w.xpub_van WHERE w.status = 'unserved') p) q " +
	"WHERE q.since <= $1 OR q.watching = 1 AND (q.not_before IS NULL OR q.not_before <= $1) ORDER BY q.since, q.xpub_van LIMIT $2"}

// Waiting implements [store.RefreshRecords].
func (r refreshes) Waiting(now time.Time, limit int) (all []refresh.Candidate, unreadable []error, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, nil, err
	}
	var w refresh.Wallet
	wallet := refreshWalletTable.cells(&w)
	err = r.read(&waitingWallets, nil, func(rows *sql.Rows) error {
		var c refresh.Candidate
		if err := rows.Scan(append([]any{&c.XpubVan, (*timeColumn)(&c.Since)}, wallet...)...); err != nil {
			unreadable = append(unreadable, located(err, "a time of refresh wallet", c.XpubVan))
		} else {
			all = append(all, c)
		}
		return nil
	}, now, int64(limit))
	if err == nil {
		r.store.unread.note(refresh.WalletMachine.Name(), "waiting", unreadable)
	}
	return all, unreadable, err
}

var (
	recoverableWallets = statement{text: "SELECT DISTINCT x.xpub_van FROM @refresh_watchers x WHERE " + watching + " AND x.expires_at > $3 " +
		"AND x.xpub_van > $1 ORDER BY x.xpub_van LIMIT $2"}
	refreshesHeld = statement{text: "SELECT x.xpub_van FROM @refresh_wallets x WHERE x.lease_holder = $3 AND x.xpub_van > $1 " +
		"UNION SELECT x.xpub_van FROM @refresh_jobs x WHERE x.lease_holder = $3 AND x.xpub_van > $1 " +
		"UNION SELECT x.xpub_van FROM @wallet_locks x WHERE x.holder = $3 AND x.xpub_van > $1 ORDER BY 1 LIMIT $2"}
	allRefreshWallets = statement{text: "SELECT x.xpub_van FROM @refresh_wallets x WHERE x.xpub_van > $1 ORDER BY x.xpub_van LIMIT $2"}
	allRefreshJobs    = refreshJobTable.page("", "x.created_at", "x.job_id")
	refreshJobsOf     = refreshJobTable.page("x.status = $4", "x.created_at", "x.job_id")
	watchingWatchers  = watcherTable.page(watching, "x.xpub_van", "x.recipient_id")
	watchersEnded     = watcherTable.page("x.end_reason = $4", "x.xpub_van", "x.recipient_id")
	watchersOpen      = watcherTable.page("x.end_reason = $4"+unsettled, "x.xpub_van", "x.recipient_id")
)

// HeldBy implements [store.RefreshRecords].
func (r refreshes) HeldBy(holder, after string, limit int) ([]string, error) {
	return r.ids(&refreshesHeld, after, limit, holder)
}

// Recoverable implements [store.RefreshRecords].
func (r refreshes) Recoverable(now time.Time, after string, limit int) ([]string, error) {
	return r.ids(&recoverableWallets, after, limit, now)
}

// aheadWallets is [refresh.Latest.Passed], of all rows.
var aheadWallets = statement{text: "SELECT x.xpub_van FROM @refresh_wallets x WHERE x.slot IS NOT NULL AND x.lease_until > $3 AND " +
	"x.xpub_van > $1 " +
	"UNION SELECT x.xpub_van FROM @wallet_locks x WHERE x.expires_at > $3 AND x.xpub_van > $1 " +
	leftJobs.ahead("$3") + pendingJobs.ahead("$4") + firstJobs.ahead("$8") + dueTicks.ahead("$5") +
	"UNION SELECT w.xpub_van FROM @refresh_wallets w WHERE (w.not_before > $6 OR w.unserved_since > $7) AND w.xpub_van > $1 AND w.xpub_van " +
	"IN (" +
	"SELECT x.xpub_van FROM @refresh_jobs x WHERE " + liveJobs + " UNION SELECT x.xpub_van FROM @refresh_watchers x WHERE " + watching + ") " +
	"ORDER BY 1 LIMIT $2"}

var firstJobs = due{from: pendingJobs.from, where: pendingJobs.where + " AND x.attempts = 0", at: pendingJobs.at}

// ahead is the part of aheadWallets for what is due later than a time.
func (d due) ahead(latest string) string {
	return "UNION SELECT x.xpub_van FROM " + d.from + " WHERE " + d.where + " AND " + d.at + " > " + latest + " AND x.xpub_van > $1 "
}

// Ahead implements [store.RefreshRecords].
func (r refreshes) Ahead(l refresh.Latest, after string, limit int) ([]string, error) {
	return r.ids(&aheadWallets, after, limit, l.Lease, l.Available, l.Next, l.NotBefore, l.Unserved, l.First)
}

// Wallets implements [store.RefreshRecords].
func (r refreshes) Wallets(after string, limit int) ([]string, error) {
	return r.ids(&allRefreshWallets, after, limit)
}

// Jobs implements [store.RefreshRecords].
func (r refreshes) Jobs(status refresh.JobStatus, after *refresh.Job, limit int) ([]refresh.Job, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	if after == nil {
		after = new(refresh.Job)
	}
	args := []any{after.CreatedAt, after.ID.String(), int64(limit)}
	if status == 0 {
		return refreshJobTable.find(r.tx, &allRefreshJobs, nil, args...)
	}
	return refreshJobTable.find(r.tx, &refreshJobsOf, nil, append(args, status.String())...)
}

// Watchers implements [store.RefreshRecords].
func (r refreshes) Watchers(reason refresh.EndReason, after *refresh.Watcher, limit int) ([]refresh.Watcher, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	if after == nil {
		after = new(refresh.Watcher)
	}
	args := []any{after.XpubVan, after.Recipient, int64(limit)}
	st := &watchersEnded
	switch reason {
	case 0:
		return watcherTable.find(r.tx, &watchingWatchers, nil, args...)
	case refresh.EndOpen:
		st = &watchersOpen
	}
	return watcherTable.find(r.tx, st, nil, append(args, reason.String())...)
}

// The first three are the source's own monitoring.
var (
	refreshCounts  = statement{text: "SELECT x.status, COUNT(*) FROM @refresh_jobs x GROUP BY x.status"}
	watcherCounts  = statement{text: "SELECT x.status, COUNT(*) FROM @refresh_watchers x GROUP BY x.status"}
	refreshNumbers = statement{text: "SELECT (SELECT COUNT(*) FROM @wallet_locks), " +
		"(SELECT COUNT(*) FROM @refresh_wallets x WHERE x.slot IS NOT NULL AND x.lease_until > $1), " +
		"(SELECT min(x.created_at) FROM @refresh_jobs x WHERE " + liveJobs + " AND x.created_at <= $1), " +
		"(SELECT max(n.created_at) FROM (SELECT x.created_at FROM @refresh_jobs x WHERE " + liveJobs +
		" UNION ALL SELECT x.created_at FROM @refresh_watchers x WHERE " + watching + ") n), " +
		pendingJobs.number("min("+pendingJobs.at+")") + dueTicks.number("min("+dueTicks.at+")") + leftJobs.number("COUNT(*)") +
		leftJobs.number("min("+leftJobs.at+")") +
		expiries.number("COUNT(*)") + expiries.number("min("+expiries.at+")") +
		"(SELECT x.xpub_van FROM " + expiries.from + " WHERE " + expiries.is("$1") + " ORDER BY " + expiries.order + " LIMIT 1), " +
		"(SELECT COUNT(*) FROM @refresh_watchers x WHERE x.end_reason = 'expired_open'" + unsettled + "), " +
		"(SELECT COUNT(*) FROM @refresh_watchers x WHERE " + watching + " AND x.refused IS NOT NULL), " +
		"(SELECT COUNT(*) FROM @refresh_wallets x WHERE x.hung_rounds > 0)"}
	failedByWallet = statement{text: "SELECT x.xpub_van, COUNT(*), COUNT(*) OVER () FROM @refresh_jobs x WHERE x.status = 'failed'" +
		unsettled + " GROUP BY x.xpub_van ORDER BY COUNT(*) DESC, x.xpub_van LIMIT $1"}
)

// number is a number of what is due at $1, of several.
func (d due) number(what string) string {
	return "(SELECT " + what + " FROM " + d.from + " WHERE " + d.is("$1") + "), "
}

// unsettled is true of x unless a job that was made after its end has refreshed its wallet.
const unsettled = " AND NOT EXISTS (SELECT 1 FROM @refresh_jobs p WHERE p.xpub_van = x.xpub_van AND p.seq > x.end_seq" +
	" AND p.status = 'completed' AND (p.trigger <> 'invoice_created' OR p.asset_id IS NOT NULL))"

// counts reads the number of each status.
func counts[S ~uint8](n map[S]int64) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var status S
		var k int64
		err := rows.Scan(&status, &k)
		n[status] = k
		return err
	}
}

// Stats implements [store.RefreshRecords].
func (r refreshes) Stats(now time.Time) (s refresh.Stats, err error) {
	s = refresh.Stats{At: now, Jobs: map[refresh.JobStatus]int64{}, Watchers: map[refresh.WatcherStatus]int64{}}
	for _, q := range []struct {
		st   *statement
		scan func(*sql.Rows) error
		args []any
	}{
		{&refreshCounts, counts(s.Jobs), nil},
		{&watcherCounts, counts(s.Watchers), nil},
		{&refreshNumbers, func(rows *sql.Rows) error {
			return rows.Scan(&s.Locks, &s.Served, maybe(&s.OldestLive), maybe(&s.Newest), maybe(&s.OldestJob), maybe(&s.OldestWatcher),
				&s.LeaseExpired, maybe(&s.OldestLapse),
				&s.PastExpiry, maybe(&s.OldestExpiry), maybe(&s.PastExpiryOf), &s.ExpiredOpen, &s.Refused, &s.Hung)
		}, []any{now}},
		{&failedByWallet, func(rows *sql.Rows) error {
			var c refresh.WalletCount
			err := rows.Scan(&c.XpubVan, &c.Count, &s.FailedWallets)
			s.Failed = append(s.Failed, c)
			return err
		}, []any{int64(refresh.MaxFailed)}},
	} {
		if err := r.read(q.st, nil, q.scan, q.args...); err != nil {
			return s, err
		}
	}
	return s, nil
}
